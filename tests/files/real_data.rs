//! Tests on real inputs: a published network, matrices from public collections, files of other writers.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

mod common;

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

use common::folder;
