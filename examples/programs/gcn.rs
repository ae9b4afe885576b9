//! A graph network of two layers: `Â relu(Â X W₁) W₂`, its loss, its gradient, and a step downhill.

use openwork::{Result, Tensor, keep};

use super::Report;
use super::data::{graph, weights};

/// The adjacency with loops, normalised on both sides.
fn normalised(a: &Tensor) -> Result<Tensor> {
    let n = a.shape()[0];
    let a = (a + Tensor::eye(n, a.dtype(), a.layout())?)?;
    let scale = a.sum(1)?.rsqrt()?;
    (&a * scale.expand_dims(1)?)? * &scale
}

/// The loss (mean negative log-likelihood of the classes), and its gradients by both weights.
fn step(a: &Tensor, x: &Tensor, w1: &Tensor, w2: &Tensor, truth: &Tensor) -> Result<(f64, Tensor, Tensor)> {
    let hidden = a.matmul(&x.matmul(w1)?)?;
    let active = hidden.relu()?;
    let inner = a.matmul(&active)?;
    let logp = inner.matmul(w2)?.log_softmax(1)?;
    let loss = -(&logp * truth)?.sum(..)?.item_as::<f64>()? / x.shape()[0] as f64;

    let d = ((logp.exp()? - truth)? / x.shape()[0] as f64)?;
    let dw2 = inner.t()?.matmul(&d)?;
    let dactive = a.t()?.matmul(&d.matmul(&w2.t()?)?)?;
    let dhidden = (dactive * hidden.gt(0.0)?)?;
    Ok((loss, x.t()?.matmul(&a.t()?.matmul(&dhidden)?)?, dw2))
}

pub fn run() -> Result<Report> {
    let a = normalised(&graph(24)?)?;
    let (x, w1, w2) = (weights(24, 5, 1)?, weights(5, 6, 2)?, weights(6, 3, 3)?);
    let classes: Tensor = (0..24i64).map(|i| i % 3).collect();
    let truth = classes.one_hot(3)?.cast(x.dtype())?;

    let (before, d1, d2) = step(&a, &x, &w1, &w2, &truth)?;
    let (after, ..) = step(&a, &x, &(&w1 - (&d1 * 0.5))?, &(&w2 - (&d2 * 0.5))?, &truth)?;
    Ok(vec![
        ("loss", before),
        ("gradient by the first weights", d1.vector_norm(2.0, ..)?.item_as::<f64>()?),
        ("gradient by the second weights", d2.vector_norm(2.0, ..)?.item_as::<f64>()?),
        ("loss after a step", after),
        ("greatest row sum", a.sum(keep(1))?.max(..)?.item_as::<f64>()?),
    ])
}
