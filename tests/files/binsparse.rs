//! Binsparse files: files of other writers, broken files, round trips, mutants.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod common;

#[path = "binsparse/build.rs"]
mod build;
#[cfg(feature = "hdf5")]
#[path = "binsparse/damaged_h5.rs"]
mod damaged_h5;
#[path = "binsparse/facts.rs"]
mod facts;
#[path = "binsparse/golden.rs"]
mod golden;
#[cfg(feature = "hdf5")]
#[path = "binsparse/golden_h5.rs"]
mod golden_h5;
#[cfg(feature = "hdf5")]
#[path = "binsparse/h5.rs"]
mod h5;
#[cfg(feature = "hdf5")]
#[path = "binsparse/hostile.rs"]
mod hostile;
#[path = "binsparse/lenient.rs"]
mod lenient;
#[path = "binsparse/mutants.rs"]
mod mutants;
#[cfg(feature = "hdf5")]
#[path = "binsparse/mutants_h5.rs"]
mod mutants_h5;
#[path = "binsparse/refused.rs"]
mod refused;
#[path = "binsparse/round_trip.rs"]
mod round_trip;

use common::folder;
