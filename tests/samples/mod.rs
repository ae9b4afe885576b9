//! Tensors of every storage, fill and dtype, made from a seed, each with what the oracle takes for it.
//!
//! A [`cells::Cell`] says storage, fill, dtype and shape; [`gen_::generate`] makes the tensor.

#![allow(dead_code)] // each test program uses some of it

pub mod bridge;
pub mod cells;
#[path = "gen.rs"]
pub mod gen_;
pub mod levels;
#[path = "../oracle/mod.rs"]
pub mod oracle;
pub mod values;

use crate::common::rng;
