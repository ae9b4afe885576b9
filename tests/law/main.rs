//! The law: a layout changes cost, never answers: `dense(op(A, B, …)) == op(dense(A), dense(B), …)`.
//!
//! Every check builds tensors from a cell (storage, fill, dtype, shape) and a seed, and compares what the library gives
//! with the oracle and with the library's own strided computation. `faults` proves that the checks can fail, and
//! `support_table` holds a page of the guide to what the library does.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/memory.rs"]
#[allow(unsafe_code)]
mod memory;
#[path = "../samples/mod.rs"]
mod samples;

mod big;
mod compare;
mod composed;
mod custom;
mod einsum;
mod facts;
mod families;
#[cfg(feature = "planted-faults")]
mod faults;
mod forms;
mod found;
mod gradients;
mod grid;
mod huge;
mod index;
mod matmul;
mod medium;
mod nary;
mod numbers;
mod order;
mod parts;
mod pointwise;
mod products;
mod rearrange;
mod reduce;
mod report;
mod run;
mod sample;
mod scan;
mod semiring;
mod shape;
mod short;
mod softmax;
mod statistics;
mod storage;
mod support_table;
mod typing;

use common::rng;
use samples::{bridge, cells, gen_, oracle, values};

#[global_allocator]
static ALLOCATOR: memory::Watched = memory::Watched;
