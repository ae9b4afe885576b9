//! Tests on real inputs: a published network, matrices from public collections, files of other writers.

mod cells;
mod golden;
mod graphs;
mod matrices;
mod network;
mod triplets;

use crate::common::folder;
