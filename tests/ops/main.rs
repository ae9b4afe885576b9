//! Ops by family: values by hand, what they refuse, huge shapes; which path they take, and that threads change nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod accuracy;
mod arguments;
mod array_fills;
mod arrays;
mod arrays_beside;
mod bands;
mod catalogue;
mod einsum;
mod few_places;
mod elementwise;
mod gradients;
mod graphs;
mod grids;
mod indexing;
mod into;
#[cfg(feature = "faer")]
mod factors;
mod linalg;
mod linalg_data;
mod matmul;
mod many;
mod many_axes;
mod many_columns;
mod many_slices;
mod matmul_fills;
mod merged;
mod misuse;
mod order;
mod outermost;
mod paths;
mod peak;
mod prepared;
mod programs;
mod reduce_repeated;
mod reduce_varying;
mod results;
mod scattered;
mod semirings;
mod scans;
mod short_axes;
mod sides;
mod small_blocks;
mod sorted_runs;
mod sparsify;
#[cfg(feature = "faer")]
mod spectra;
mod stretches;
mod softmax;
mod there_here;
mod threads;
