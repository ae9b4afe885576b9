//! Level structures by the names of other systems, tensors as their arrays, and bundles of parts.

mod arrays;
mod bundles;
mod files;
mod mutants;
mod names;
mod samples;

use crate::common::folder;
