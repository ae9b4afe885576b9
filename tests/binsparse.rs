//! Binsparse files: files of other writers, broken files, round trips, mutants.
//!
//! Files of other writers lie in the folder that `OPENWORK_DATA` names, by default `../shared/data` seen from this
//! package; without it those tests say `SKIPPED` on standard error, which the harness does not capture.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::io::Write;
use std::path::{Path, PathBuf};

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

/// A folder of the data, or `None` after saying that the test is skipped.
fn folder(test: &str, name: &str) -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let path = std::env::var_os("OPENWORK_DATA").map_or_else(default, PathBuf::from).join(name);
    if path.is_dir() {
        return Some(path);
    }
    let line = format!("SKIPPED {test}: {} not found\n", path.display());
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}
