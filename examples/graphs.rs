//! Six questions to a graph, asked of its adjacency matrix: `cargo run --release --example graphs -- [FILE.mtx [ROUNDS]]`.
//!
//! An edge from `i` to `j` is an element at `(i, j)`, its weight; where there is no edge there is nothing (an undefined fill).
//! None of the functions says how the matrix is stored. `tests/ops/graphs.rs` compares their answers with networkx's, in several
//! layouts. References: Kepner and Gilbert, "Graph Algorithms in the Language of Linear Algebra", 2011; each function names its
//! own.

use std::time::Instant;

use openwork::io::matrix_market;
use openwork::{DType, Fill, Layout, Product, Result, Semiring, Tensor};

/// The share of time a walk spends at each node, which at each step follows an edge out with probability `damping`, by weight,
/// and else, or where no edge leads out, starts anew anywhere (Page, Brin, Motwani and Winograd, 1999).
pub fn pagerank(edges: &Tensor, damping: f64) -> Result<Tensor> {
    let n = edges.shape()[0] as f64;
    let leaving = edges.replace_fill(0.0)?.sum(1)?.to_dense()?;
    let follow = (edges / leaving.expand_dims(1)?)?.replace_fill(0.0)?.t()?;
    let stuck = leaving.eq(0.0)?.cast(DType::F64)?;
    let mut rank = Tensor::full([edges.shape()[0]], 1.0 / n, Layout::Strided)?;
    for _ in 0..1000 {
        let anew = (1.0 - damping + damping * rank.dot(&stuck)?.to::<f64>()) / n;
        let next = ((follow.matmul(&rank)? * damping)? + anew)?;
        let moved = (&next - &rank)?.abs()?.sum(..)?.item_as::<f64>()?;
        rank = next;
        if moved < 1e-14 {
            break;
        }
    }
    Ok(rank)
}

/// How many edges lead from one node to each; absent where none do. Each step costs the edges that leave the last one's nodes,
/// or, with `into` (the edges turned around, in rows: `edges` itself if they go both ways) and few nodes left to find beside those
/// found last, the edges that lead into the few (Beamer, Asanović and Patterson, 2012).
pub fn levels(edges: &Tensor, into: Option<&Tensor>, source: usize) -> Result<Tensor> {
    // Rows that ask are gathered first, each edge of theirs, which must pay.
    const FEW: usize = 4;
    let n = edges.shape()[0];
    let mut frontier = Tensor::from_entries([edges.shape()[0]], [([source], true)], Fill::Undefined)?;
    let mut levels = Tensor::empty(frontier.shape(), DType::I64, Layout::Coo, Fill::Undefined)?;
    for depth in 0.. {
        if frontier.nse() == 0 {
            break;
        }
        levels = frontier.is_stored()?.where_(depth, &levels)?;
        let unseen = levels.is_stored()?.logical_not()?;
        frontier = match into.filter(|_| (n - levels.nse()) * FEW < frontier.nse()) {
            Some(into) => {
                // Each node that is left asks whether an edge comes from there.
                let left = unseen.argwhere()?.reshape([n - levels.nse()])?;
                let found = into.index_select(&left, 0)?.matmul_with(&frontier, Semiring::ANY_PAIR)?;
                let found = left.take(&found.indices()?, 0)?;
                let each = Tensor::ones([found.shape()[0]], DType::Bool, Layout::Strided)?;
                Tensor::from_index_matrix([n], &found, &each, Fill::Undefined)?
            }
            None => frontier.matmul_with(edges, Product::from(Semiring::ANY_PAIR).mask(&unseen))?,
        };
    }
    Ok(levels)
}

/// The least sum of weights on a way from one node to each, infinite where there is none: only nodes that came nearer are
/// looked at again (Bellman and Ford's way). Weights are not negative.
pub fn distances(edges: &Tensor, source: usize) -> Result<Tensor> {
    const NEVER: f64 = f64::INFINITY;
    let mut nearer = Tensor::from_entries([edges.shape()[0]], [([source], 0.0)], NEVER)?;
    let mut distances = nearer.to_dense()?;
    while nearer.nse() > 0 {
        let reached = nearer.stored().matmul_with(edges, Semiring::MIN_PLUS)?;
        nearer = reached.lt(&distances)?.where_(&reached, NEVER)?.replace_fill(NEVER)?.prune()?;
        distances = distances.minimum(&nearer)?;
    }
    Ok(distances)
}

/// A number for each node, the least node that edges join it with, whichever way they go: those with one number are a component.
/// Edges that go one way only are given turned around as well (`into`). Besides passing numbers on along edges, each node asks the
/// one that its number names (as FastSV does: Zhang, Azad and Hu, 2020), so that long paths are halved.
pub fn components(edges: &Tensor, into: Option<&Tensor>) -> Result<Tensor> {
    // Weights do not count: what is stored is an edge, here as a number, since that is what products are of.
    let number = |edges: &Tensor| edges.is_stored()?.cast(DType::I64).map(|ways| ways.stored());
    let ways = [Some(edges), into].into_iter().flatten().map(number).collect::<Result<Vec<_>>>()?;
    let mut least = Tensor::arange(0, edges.shape()[0] as i64, 1)?;
    loop {
        let mut next = least.clone();
        for ways in &ways {
            let heard = ways.matmul_with(&next, Semiring::MIN_SECOND)?.replace_fill(i64::MAX)?;
            next = next.minimum(&heard)?.to_dense()?;
        }
        let next = next.take(&next, 0)?;
        if next.equal(&least)? {
            return Ok(least);
        }
        least = next;
    }
}

/// How many triangles there are in a graph whose edges go both ways: each is counted once, at its edge below the diagonal, and
/// no product is formed elsewhere (Azad, Buluç and Gilbert, 2015).
pub fn triangles(edges: &Tensor) -> Result<f64> {
    let below = edges.tril(-1)?;
    let pairs = below.matmul_with(&below, Product::from(Semiring::PLUS_PAIR).mask(&below.is_stored()?))?;
    pairs.sum(..)?.item_as()
}

/// How many of all shortest paths between others go through each node, those between two nodes together counting 1, from some
/// sources to all nodes (Brandes, 2001): one row for each source, and whole levels of all searches at a time.
pub fn betweenness(edges: &Tensor, sources: &[usize]) -> Result<Tensor> {
    let (n, rows) = (edges.shape()[0], sources.len());
    // With absent elements nothing is counted where no path leads.
    let one = edges.is_stored()?.cast(DType::F64)?.to_layout(Layout::Csr)?.stored();
    let start = sources.iter().enumerate().map(|(row, &source)| ([row, source], 1.0));
    // Paths from the source to each node, level by level.
    let mut levels = vec![Tensor::from_entries([rows, n], start, Fill::Undefined)?.to_layout(Layout::Csr)?];
    let mut paths = levels[0].replace_fill(0.0)?;
    loop {
        let unseen = paths.is_stored()?.logical_not()?;
        let next = levels[levels.len() - 1].matmul_with(&one, Product::default().mask(&unseen))?;
        if next.nse() == 0 {
            break;
        }
        paths = (&paths + next.replace_fill(0.0)?)?;
        levels.push(next);
    }
    // What depends on each node: of what depends on nodes of the next level, and these, the share of its paths.
    let back = if edges.is_structure_symmetric()? { one } else { one.t()?.to_layout(Layout::Csr)? };
    let mut through = Tensor::zeros([rows, n], DType::F64, Layout::Csr)?;
    for pair in levels[1..].windows(2).rev() {
        let share = ((&through + 1.0)? / &pair[1])?;
        let sum = share.matmul_with(&back, Product::default().mask(&pair[0].is_stored()?))?;
        through = (&through + (sum * &pair[0])?.replace_fill(0.0)?)?;
    }
    through.sum(0)?.to_dense()
}

/// A graph of `n` nodes with about `degree` edges at each, of weights below 1.
fn made(n: usize, degree: f64) -> Result<Tensor> {
    let half = Tensor::random([n, n], degree / 2.0 / n as f64, 0.0, Layout::Csr, 7)?;
    both_ways(&half)
}

/// Edges between different nodes, each both ways, whatever the fill.
pub fn both_ways(edges: &Tensor) -> Result<Tensor> {
    let both = edges.maximum(&edges.t()?)?;
    Ok((both.tril(-1)? + both.triu(1)?)?.to_layout(edges.layout())?.stored())
}

fn main() -> Result<()> {
    let edges = match std::env::args().nth(1) {
        Some(file) => both_ways(&matrix_market::read(file)?.to_layout(Layout::Csr)?.cast(DType::F64)?)?,
        None => made(100_000, 10.0)?,
    };
    let rounds = std::env::args().nth(2).and_then(|n| n.parse().ok()).unwrap_or(1);
    let n = edges.shape()[0];
    println!("{n} nodes, {} edges", edges.nse() / 2);
    let tell = |what: &str, answer: &dyn Fn() -> Result<String>| {
        let mut best = f64::INFINITY;
        for round in 1..=rounds {
            let start = Instant::now();
            let answer = answer()?;
            best = best.min(start.elapsed().as_secs_f64() * 1e3);
            if round == rounds {
                println!("{what:36} {answer:>24} {best:8.1} ms");
            }
        }
        Ok(())
    };
    tell("the node with the greatest rank", &|| Ok(pagerank(&edges, 0.85)?.argmax(0)?.item()?.to_string()))?;
    tell("steps to the farthest node", &|| Ok(levels(&edges, Some(&edges), 0)?.max(..)?.item()?.to_string()))?;
    tell("the greatest distance", &|| {
        let far = distances(&edges, 0)?;
        Ok(far.isfinite()?.where_(&far, 0.0)?.max(..)?.item()?.to_string())
    })?;
    tell("components", &|| Ok(components(&edges, None)?.unique_values()?.size().to_string()))?;
    tell("triangles", &|| Ok(triangles(&edges)?.to_string()))?;
    let sources: Vec<usize> = (0..n.min(16)).collect();
    tell("the node most paths lead through", &|| Ok(betweenness(&edges, &sources)?.argmax(0)?.item()?.to_string()))
}
