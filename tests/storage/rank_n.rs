//! Level structures by the names of other systems, tensors as their arrays, and bundles of parts.

#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

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

use common::folder;
