//! A sparse tensor of three axes as a sum of two outer products, by alternating least squares.

use openwork::{Layout, Result, Tensor};

use super::Report;
use super::data::{hash, weights};

/// The tensor times the factors of all axes but one: a gather, a product, and a sum over equal coordinates.
fn mttkrp(x: &Tensor, factors: &[Tensor], mode: usize) -> Result<Tensor> {
    let at = x.indices()?; // a row of coordinates for each stored value
    let column = |axis: usize| at.index_select(vec![axis], 1)?.flatten();
    let mut terms = x.stored_values().expand_dims(1)?;
    for axis in (0..3).filter(|&a| a != mode) {
        terms = (terms * factors[axis].index_select(column(axis)?, 0)?)?;
    }
    // Rows with one coordinate in common are added: duplicates mean their sum.
    let rows = vec![column(mode)?.to_vec::<i64>()?];
    Tensor::coo([x.shape()[mode], terms.shape()[1]], rows, &terms, 0.0)?.to_dense()
}

/// `m · g⁻¹` for a symmetric 2 × 2 matrix.
fn divided(m: &Tensor, g: &Tensor) -> Result<Tensor> {
    let g = g.to_vec::<f64>()?;
    let determinant = g[0] * g[3] - g[1] * g[2];
    m.matmul(&(Tensor::from([[g[3], -g[1]], [-g[2], g[0]]]) / determinant)?)
}

pub fn run() -> Result<Report> {
    let shape = [8, 7, 6];
    let entry = |i: usize, j: usize, k: usize| if hash(i * 7 + j, k) % 10 < 3 { 1.0 + (i + j + k) as f64 } else { 0.0 };
    let all = (0..8).flat_map(|i| (0..7).flat_map(move |j| (0..6).map(move |k| entry(i, j, k)))).collect();
    let x = Tensor::from_vec(shape, all)?.to_sparse(Layout::Csf, 0.0)?;

    let mut factors = vec![weights(8, 2, 1)?, weights(7, 2, 2)?, weights(6, 2, 3)?];
    let mut fit = 0.0;
    for _ in 0..20 {
        for mode in 0..3 {
            let others: Vec<&Tensor> = (0..3).filter(|&a| a != mode).map(|a| &factors[a]).collect();
            let gram = (others[0].t()?.matmul(others[0])? * others[1].t()?.matmul(others[1])?)?;
            let m = mttkrp(&x, &factors, mode)?;
            factors[mode] = divided(&m, &gram)?;
            if mode == 2 {
                // |x - y|² = |x|² - 2⟨x, y⟩ + |y|²
                let size = x.vdot(&x)?.to::<f64>();
                let inner = (&m * &factors[2])?.sum(..)?.item_as::<f64>()?;
                let own = (gram * factors[2].t()?.matmul(&factors[2])?)?.sum(..)?.item_as::<f64>()?;
                fit = 1.0 - ((size - 2.0 * inner + own) / size).sqrt();
            }
        }
    }
    Ok(vec![("stored of 336", x.nse() as f64), ("fit", fit)])
}
