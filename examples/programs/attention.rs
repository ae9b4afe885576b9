//! Attention where a mask allows it: what the mask leaves out is never computed, and softmax skips it.

use openwork::{Layout, Product, Result, Tensor};

use super::Report;
use super::data::weights;

/// Which keys a query may look at: its own block of `size` and the one before.
fn mask(length: usize, size: usize) -> Result<Tensor> {
    let seen = |q: usize, k: usize| k / size == q / size || k / size + 1 == q / size;
    let all = (0..length).flat_map(|q| (0..length).map(move |k| seen(q, k))).collect();
    Tensor::from_vec([length, length], all)?.to_sparse(Layout::Bsr { block: [size, size] }, false)
}

pub fn run() -> Result<Report> {
    let (length, width) = (32, 8);
    let (q, k, v) = (weights(length, width, 1)?, weights(length, width, 2)?, weights(length, width, 3)?);
    let seen = mask(length, 4)?;
    let scores = (q.matmul_with(&k.t()?, Product::default().mask(&seen))? / (width as f64).sqrt())?;
    let attention = scores.softmax(1)?; // rows sum to 1 over what is present
    let out = attention.replace_fill(0.0)?.matmul(&v)?;
    Ok(vec![
        ("present of 1024", attention.nse() as f64),
        ("first attention", attention.get([0, 0])?.map_or(f64::NAN, |a| a.to::<f64>())),
        ("sum of results", out.sum(..)?.item_as::<f64>()?),
        ("norm of results", out.vector_norm(2.0, ..)?.item_as::<f64>()?),
    ])
}
