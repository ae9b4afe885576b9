//! Tests on real inputs: a published network, matrices from public collections, files of other writers.
//!
//! The inputs lie in the folder that `OPENWORK_DATA` names, by default `../shared/data` seen from this package. A test
//! whose folder is not there passes, and writes `SKIPPED <test>: <folder> not found` straight to standard error: the
//! test harness does not capture that, so that a plain `cargo test` shows it. `.ci/run` searches the output for the
//! word and fails where the data folder exists.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

use std::io::Write;
use std::path::{Path, PathBuf};

#[path = "real_data/cells.rs"]
mod cells;
#[path = "real_data/golden.rs"]
mod golden;
#[path = "real_data/graphs.rs"]
mod graphs;
#[path = "real_data/matrices.rs"]
mod matrices;
#[path = "real_data/network.rs"]
mod network;
#[path = "real_data/triplets.rs"]
mod triplets;

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
