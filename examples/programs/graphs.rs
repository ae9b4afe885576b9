//! Questions to a graph, asked of its adjacency matrix.

use openwork::{BinaryOp, DType, Fill, Layout, Product, Result, Semiring, Tensor, keep};

use super::Report;
use super::data::graph;

/// PageRank with damping 0.85; the number of steps beside it.
fn pagerank(a: &Tensor) -> Result<(Tensor, usize)> {
    let n = a.shape()[0] as f64;
    let to = (a / a.sum(keep(1)))?.t()?;
    let mut rank = Tensor::from_vec([a.shape()[0]], vec![1.0 / n; a.shape()[0]])?;
    for step in 1.. {
        let next = ((to.matmul(&rank)? * 0.85)? + 0.15 / n)?;
        let moved = (&next - &rank)?.abs()?.sum(..)?.item_as::<f64>()?;
        rank = next;
        if moved < 1e-12 {
            return Ok((rank, step));
        }
    }
    Ok((rank, 0))
}

/// How many steps each node is from the first one; absent where no path leads.
fn levels(a: &Tensor) -> Result<Tensor> {
    let mut frontier = Tensor::from_entries([a.shape()[0]], [([0], true)], Fill::Undefined)?;
    let mut levels = Tensor::empty(frontier.shape(), DType::I64, Layout::Coo, Fill::Undefined)?;
    for depth in 0.. {
        if frontier.nse() == 0 {
            break;
        }
        levels = frontier.is_stored()?.where_(depth, &levels)?;
        let unseen = levels.is_stored()?.logical_not()?;
        // A step costs the edges that leave the frontier.
        frontier = frontier.matmul_with(a, Product::from(Semiring::ANY_PAIR).mask(&unseen))?;
    }
    Ok(levels)
}

/// The length of the shortest path from the first node to each, where an edge from `i` to `j` has the length `1 + i j % 7`.
fn distances(a: &Tensor) -> Result<Tensor> {
    let ways = a.index_map(|at, _: f64| (1 + at[0] * at[1] % 7) as f64)?;
    let mut distance = Tensor::from_entries([a.shape()[0]], [([0], 0.0)], Fill::Undefined)?;
    loop {
        let step = Product::from(Semiring::MIN_PLUS).accumulate(&distance, BinaryOp::Minimum);
        let next = distance.matmul_with(&ways, step)?;
        if next.equal(&distance)? {
            return Ok(distance);
        }
        distance = next;
    }
}

pub fn run() -> Result<Report> {
    let a = graph(40)?;
    let (rank, steps) = pagerank(&a)?;
    // Where there is no edge, there is nothing.
    let edges = a.stored();
    let (level, distance) = (levels(&edges)?, distances(&edges)?);
    // A triangle has an edge between the ends of two: counted once below the diagonal, at edges only.
    let l = edges.tril(-1)?;
    let pairs = l.matmul_with(&l, Product::from(Semiring::PLUS_PAIR).mask(&l.is_stored()?))?;
    let triangles = pairs.sum(..)?.item_as::<f64>()?;
    Ok(vec![
        ("edges", a.nse() as f64 / 2.0),
        ("greatest rank", rank.max(..)?.item_as::<f64>()?),
        ("that node", rank.argmax(0)?.item_as::<f64>()?),
        ("converged within 60 steps", f64::from(u8::from(steps <= 60))),
        ("depth", level.max(..)?.item_as::<f64>()?),
        ("sum of levels", level.sum(..)?.item_as::<f64>()?),
        ("greatest distance", distance.max(..)?.item_as::<f64>()?),
        ("sum of distances", distance.sum(..)?.item_as::<f64>()?),
        ("triangles", triangles),
    ])
}
