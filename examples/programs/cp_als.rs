//! A sparse tensor of three axes as a sum of two outer products, by alternating least squares.

use openwork::{Layout, Result, Tensor, einsum};

use super::Report;
use super::data::{hash, weights};

/// The tensor times the factors of all axes but one, for each axis.
const PRODUCTS: [&str; 3] = ["ijk,jr,kr->ir", "ijk,ir,kr->jr", "ijk,ir,jr->kr"];

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

    let mut factors = [weights(8, 2, 1)?, weights(7, 2, 2)?, weights(6, 2, 3)?];
    let mut fit = 0.0;
    for _ in 0..20 {
        for mode in 0..3 {
            let [a, b] = [(1, 2), (0, 2), (0, 1)].map(|(a, b)| [&factors[a], &factors[b]])[mode];
            let gram = einsum("ir,is,jr,js->rs", &[a, a, b, b])?;
            let m = einsum(PRODUCTS[mode], &[&x, a, b])?;
            factors[mode] = divided(&m, &gram)?;
            if mode == 2 {
                // |x - y|² = |x|² - 2⟨x, y⟩ + |y|²
                let c = &factors[2];
                let number = |equation, operands: &[&Tensor]| einsum(equation, operands)?.item_as::<f64>();
                let (size, inner) = (number("ijk,ijk->", &[&x, &x])?, number("ir,ir->", &[&m, c])?);
                let own = number("rs,ir,is->", &[&gram, c, c])?;
                fit = 1.0 - ((size - 2.0 * inner + own) / size).sqrt();
            }
        }
    }
    Ok(vec![("stored of 336", x.nse() as f64), ("fit", fit)])
}
