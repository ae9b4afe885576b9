//! What a tensor is: wrong and awkward input, shapes and fills at their limits, windows, level structures, facts, memory
//! that is kept.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../common/mod.rs"]
mod common;

mod edge_cases;
mod huge;
mod huge_views;
mod kept_memory;
mod narrow;
mod shapes;
mod matrix_facts;
mod systems;
mod undefined;
mod wrong_input;
