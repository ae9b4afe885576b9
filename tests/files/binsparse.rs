//! Binsparse files: files of other writers, broken files, round trips, mutants.

mod damaged_h5;
mod facts;
mod forms_h5;
pub mod golden;
mod golden_h5;
mod h5;
#[cfg(feature = "hdf5")]
mod hostile;
mod lenient;
mod mutants;
#[cfg(feature = "hdf5")]
mod mutants_h5;
mod npy_folder;
mod refused;
mod round_trip;
mod scaleoffset;

use crate::common::folder;
