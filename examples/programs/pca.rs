//! Principal components of a matrix that is never centred in memory: `x - mean` has a fill per column.

use openwork::{Result, Tensor};

use super::Report;
use super::data::{counts, weights};

pub fn run() -> Result<Report> {
    let x = counts(40, 12)?.log1p()?;
    let z = x.standardize(0.0, 0)?; // sparse, with the fill -mean / std of each column
    let zt = z.t()?;

    // Power iteration on zᵀ z.
    let mut v = weights(12, 1, 1)?;
    let mut length = 0.0;
    for _ in 0..200 {
        let w: Tensor = zt.matmul(&z.matmul(&v)?)?;
        length = w.vector_norm(2.0, ..)?.item_as::<f64>()?;
        v = (w / length)?;
    }
    Ok(vec![
        ("stored of 480", z.nse() as f64),
        ("greatest singular value", length.sqrt()),
        ("variance explained", length / (40.0 * 12.0)),
        ("mean of a column", z.mean(0)?.abs()?.max(..)?.item_as::<f64>()?),
    ])
}
