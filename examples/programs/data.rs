//! Small data made by a formula, so that other systems can make the same.

use openwork::{Layout, Result, Tensor};

/// How all of it is stored.
pub const LAYOUT: Layout = Layout::Csr;

/// A number below 1009 for each pair.
pub fn hash(i: usize, j: usize) -> usize {
    (i * 73 + j * 179 + i * j * 31) % 1009
}

/// Counts: three in ten are other than 0.
pub fn counts(rows: usize, columns: usize) -> Result<Tensor> {
    let count = |i, j| if hash(i, j) % 10 < 3 { (1 + hash(i, j) % 7) as f64 } else { 0.0 };
    let all = (0..rows).flat_map(|i| (0..columns).map(move |j| count(i, j))).collect();
    Tensor::from_vec([rows, columns], all)?.to_sparse(LAYOUT, 0.0)
}

/// A strided matrix of numbers between −0.5 and 0.5.
pub fn weights(rows: usize, columns: usize, seed: usize) -> Result<Tensor> {
    let weight = |i, j| hash(i + seed, j + 3 * seed) as f64 / 1009.0 - 0.5;
    Tensor::from_vec([rows, columns], (0..rows).flat_map(|i| (0..columns).map(move |j| weight(i, j))).collect())
}

/// The adjacency of an undirected graph without loops: a ring, and about two in ten of the other edges.
pub fn graph(nodes: usize) -> Result<Tensor> {
    let linked = |i: usize, j: usize| {
        let (low, high) = (i.min(j), i.max(j));
        low != high && (high - low == 1 || high - low == nodes - 1 || hash(low, high) % 10 < 2)
    };
    let all = (0..nodes).flat_map(|i| (0..nodes).map(move |j| f64::from(u8::from(linked(i, j))))).collect();
    Tensor::from_vec([nodes, nodes], all)?.to_sparse(LAYOUT, 0.0)
}
