//! Three questions to a graph, asked of its adjacency matrix.

use openwork::{Result, Tensor, keep};

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

/// How many steps each node is from the first one.
fn levels(a: &Tensor) -> Result<Vec<i64>> {
    let n = a.shape()[0];
    let mut level = vec![-1; n];
    let mut frontier = Tensor::from_entries([n], [([0], 1.0)], 0.0)?; // sparse: a step costs the edges that leave it
    for depth in 0.. {
        let reached = frontier.prune()?.indices()?.to_vec::<i64>()?;
        let new: Vec<i64> = reached.into_iter().filter(|&v| level[v as usize] < 0).collect();
        if new.is_empty() {
            break;
        }
        new.iter().for_each(|&v| level[v as usize] = depth);
        let ones = Tensor::from_vec([new.len()], vec![1.0; new.len()])?;
        frontier = Tensor::coo([n], vec![new], &ones, 0.0)?.matmul(a)?;
    }
    Ok(level)
}

pub fn run() -> Result<Report> {
    let a = graph(40)?;
    let (rank, steps) = pagerank(&a)?;
    let level = levels(&a)?;
    // A triangle has an edge between the ends of two: counted once below the diagonal.
    let l = a.tril(-1)?;
    let triangles = (l.matmul(&l)? * &l)?.sum(..)?.item_as::<f64>()?;
    Ok(vec![
        ("edges", a.nse() as f64 / 2.0),
        ("greatest rank", rank.max(..)?.item_as::<f64>()?),
        ("that node", rank.argmax(0)?.item_as::<f64>()?),
        ("converged within 60 steps", f64::from(u8::from(steps <= 60))),
        ("depth", level.iter().copied().max().unwrap_or(-1) as f64),
        ("sum of levels", level.iter().sum::<i64>() as f64),
        ("triangles", triangles),
    ])
}
