//! Level structures by the names of other systems, tensors as their arrays, and bundles of parts.
//!
//! Files of other writers lie in the folder that `OPENWORK_DATA` names, by default `../shared/data` seen from this
//! package; without it those tests say `SKIPPED` on standard error, which the harness does not capture.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Write;
use std::path::{Path, PathBuf};

#[path = "rank_n/arrays.rs"]
mod arrays;
#[path = "rank_n/bundles.rs"]
mod bundles;
#[path = "rank_n/files.rs"]
mod files;
#[path = "rank_n/mutants.rs"]
mod mutants;
#[path = "rank_n/names.rs"]
mod names;
#[path = "rank_n/samples.rs"]
mod samples;

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
