//! The law as a library of checks: `dense(op(A, B, …)) == op(dense(A), dense(B), …)`.
//!
//! Every check builds tensors from a cell (storage, fill, dtype, shape) and a seed, and compares what the
//! library gives with the oracle and with the library's own strided computation. `tests/law.rs` runs the
//! checks and `tests/faults.rs` proves that they can fail.

#![allow(dead_code)]
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

pub mod big;
pub mod bridge;
pub mod cells;
pub mod compare;
pub mod composed;
pub mod custom;
pub mod facts;
pub mod families;
pub mod forms;
#[path = "gen.rs"]
pub mod gen_;
pub mod grid;
pub mod index;
pub mod levels;
pub mod matmul;
pub mod nary;
pub mod numbers;
#[path = "../oracle/mod.rs"]
pub mod oracle;
pub mod order;
pub mod parts;
pub mod pointwise;
pub mod rearrange;
pub mod reduce;
pub mod report;
pub mod rng;
pub mod sample;
pub mod scan;
pub mod shape;
pub mod softmax;
pub mod statistics;
pub mod storage;
pub mod typing;
pub mod values;
