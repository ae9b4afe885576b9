//! A network of two layers, trained, pruned to a tenth of its weights, and trained on at the places that are left: masked
//! gradient descent. Training does not know whether weights are strided or sparse.

use openwork::{DType, Layout, Result, Tensor, vjp};

use super::Report;

const POINTS: usize = 600;
const FEATURES: usize = 32;
const HIDDEN: usize = 64;
const CLASSES: usize = 4;

struct Network {
    weights: [Tensor; 2],
    biases: [Tensor; 2],
}

/// Points of a square by waves across it, and which of four regions each is in: two rings, each in two halves.
fn data() -> Result<(Tensor, Tensor)> {
    let points = ((Tensor::rand([POINTS, 2], 1)? * 2.0) - &Tensor::scalar(1.0))?;
    let waves = Tensor::randn([2, FEATURES], 2)?.mul(2.0)?;
    let shifts = Tensor::rand([FEATURES], 3)?.mul(6.0)?;
    let (x, y) = (points.index_select(vec![0], 1)?.flatten()?, points.index_select(vec![1], 1)?.flatten()?);
    let outer = x.hypot(&y)?.gt(0.75)?.cast(DType::I64)?;
    let upper = x.mul(&y)?.gt(0.0)?.cast(DType::I64)?;
    let class = ((outer * 2)? + &upper)?;
    Ok((points.matmul(&waves)?.add(&shifts)?.sin()?, class.one_hot(CLASSES)?.to_dense()?.cast(DType::F64)?))
}

/// A step of gradient descent; gives the loss before it.
fn step(net: &mut Network, x: &Tensor, truth: &Tensor, rate: f64) -> Result<f64> {
    let [w1, w2] = &net.weights;
    let [b1, b2] = &net.biases;
    let product = x.matmul(w1)?;
    let hidden = product.add(b1)?;
    let active = hidden.relu()?;
    let mixed = active.matmul(w2)?;
    let scores = mixed.add(b2)?;
    let likely = scores.log_softmax(1)?;
    let n = x.shape()[0] as f64;
    let loss = -(&likely * truth)?.sum(..)?.item_as::<f64>()? / n;

    // Backwards: each op takes the gradient by its result to its operands.
    let g = vjp::log_softmax(&scores, 1, &truth.div(-n)?)?.stored;
    let by_scores = vjp::add(&mixed, b2, &g)?;
    let by_mixed = vjp::matmul(&active, w2, &g)?;
    let g = vjp::relu(&hidden, &by_mixed.left()?.stored)?.stored;
    let by_hidden = vjp::add(&product, b1, &g)?;
    let by_product = vjp::matmul(x, w1, &g)?;
    let down = |w: &Tensor, by: vjp::Gradient| w - by.stored.mul(rate);
    net.weights = [down(w1, by_product.right()?)?, down(w2, by_mixed.right()?)?];
    net.biases = [down(b1, by_hidden.right()?)?, down(b2, by_scores.right()?)?];
    Ok(loss)
}

/// The share of points whose greatest score is that of their class.
fn accuracy(net: &Network, x: &Tensor, truth: &Tensor) -> Result<f64> {
    let hidden = x.matmul(&net.weights[0])?.add(&net.biases[0])?.relu()?;
    let scores = hidden.matmul(&net.weights[1])?.add(&net.biases[1])?;
    scores.argmax(1)?.eq(&truth.argmax(1)?)?.mean(..)?.item_as()
}

/// The weights of greatest magnitude, a share of all; the others are not stored.
fn pruned(w: &Tensor, share: f64) -> Result<Tensor> {
    let size = w.abs()?;
    let least = size.quantile(1.0 - share, ..)?;
    w.to_sparse_where(&size.ge(&least)?, Layout::Csr, 0.0)
}

pub fn run() -> Result<Report> {
    let (x, truth) = data()?;
    let mut net = Network {
        weights: [Tensor::randn([FEATURES, HIDDEN], 4)?.mul(0.2)?, Tensor::randn([HIDDEN, CLASSES], 5)?.mul(0.2)?],
        biases: [
            Tensor::zeros([HIDDEN], DType::F64, Layout::Strided)?,
            Tensor::zeros([CLASSES], DType::F64, Layout::Strided)?,
        ],
    };
    let first = step(&mut net, &x, &truth, 0.5)?;
    for _ in 0..400 {
        step(&mut net, &x, &truth, 0.5)?;
    }
    let trained = accuracy(&net, &x, &truth)?;

    net.weights = [pruned(&net.weights[0], 0.1)?, pruned(&net.weights[1], 0.1)?];
    let cut = accuracy(&net, &x, &truth)?;
    let places = [net.weights[0].indices()?, net.weights[1].indices()?];
    let before = step(&mut net, &x, &truth, 0.5)?;
    let mut after = before;
    for _ in 0..600 {
        after = step(&mut net, &x, &truth, 0.5)?;
    }
    let same =
        net.weights.iter().zip(&places).all(|(w, at)| w.indices().is_ok_and(|now| now.equal(at).unwrap_or(false)));
    Ok(vec![
        ("loss at first", first),
        ("accuracy, dense", trained),
        ("accuracy, pruned", cut),
        ("loss, pruned", before),
        ("loss, trained on", after),
        ("accuracy, trained on", accuracy(&net, &x, &truth)?),
        ("weights stored", (net.weights[0].nse() + net.weights[1].nse()) as f64),
        ("pattern kept", f64::from(u8::from(same))),
    ])
}
