//! A network that PyTorch's library trained, taken over without a copy, pruned to a tenth of its weights, trained on sparse, saved,
//! loaded, and run sparse: beside libtorch's own dense and sparse products.
//!
//! ```sh
//! eval "$(tests/torch/setup.sh)"
//! cargo run --release --features torch --example torch_prune
//! ```

use std::error::Error;
use std::time::Instant;

use openwork::io::state_dict::StateDict;
use openwork::{Layout, Tensor, UnaryOp, parallel, vjp};
use tch::nn::{Adam, Module, ModuleT, OptimizerConfig, VarStore, linear, seq};
use tch::{Device, Kind, Tensor as Torch};

const POINTS: i64 = 1024;
const FEATURES: i64 = 256;
const HIDDEN: i64 = 1024;
const CLASSES: i64 = 4;
const NAMES: [&str; 3] = ["first", "second", "third"];

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// Points of a square seen by waves across it, and which of four regions each is in: two rings, each in two halves.
fn data(seed: i64) -> (Torch, Torch) {
    tch::manual_seed(7);
    let waves = Torch::randn([2, FEATURES], (Kind::Float, Device::Cpu)) * 2.0;
    let shifts = Torch::rand([FEATURES], (Kind::Float, Device::Cpu)) * 6.0;
    tch::manual_seed(seed);
    let points = Torch::rand([POINTS, 2], (Kind::Float, Device::Cpu)) * 2.0 - 1.0;
    let (x, y) = (points.select(1, 0), points.select(1, 1));
    let outer = x.hypot(&y).gt(0.75).to_kind(Kind::Int64);
    let upper = (&x * &y).gt(0.0).to_kind(Kind::Int64);
    ((points.matmul(&waves) + shifts).sin(), outer * 2 + upper)
}

/// A layer: what it multiplies by, from the left, and what it adds to each column.
struct Layer {
    weight: Tensor,
    bias: Tensor,
}

/// Scores of points, which are columns; with what each layer was given and gave, for the way back.
fn forward(layers: &[Layer], x: &Tensor) -> openwork::Result<(Tensor, Vec<[Tensor; 3]>)> {
    let mut given = x.clone();
    let mut seen = Vec::new();
    for (i, layer) in layers.iter().enumerate() {
        let product = layer.weight.matmul(&given)?;
        let sum = product.add(&layer.bias)?;
        let next = if i + 1 < layers.len() { sum.relu()? } else { sum.clone() };
        seen.push([given, product, sum]);
        given = next;
    }
    Ok((given, seen))
}

/// Scores alone, each layer's written over its product.
fn scores(layers: &[Layer], x: &Tensor) -> openwork::Result<Tensor> {
    let mut given = x.clone();
    for (i, layer) in layers.iter().enumerate() {
        given = layer.weight.matmul(&given)?;
        given.add_assign(&layer.bias)?;
        if i + 1 < layers.len() {
            given.unary_assign(UnaryOp::Relu)?;
        }
    }
    Ok(given)
}

/// A step of gradient descent at the weights that are stored; gives the loss before it.
fn step(layers: &mut [Layer], x: &Tensor, truth: &Tensor, rate: f32) -> openwork::Result<f64> {
    let (scores, seen) = forward(layers, x)?;
    let likely = scores.log_softmax(0)?;
    let n = x.shape()[1] as f32;
    let loss = (&likely * truth)?.sum(..)?.item_as::<f64>()? / -f64::from(n);
    let mut by = vjp::log_softmax(&scores, 0, &truth.div(-n)?)?.stored;
    for (i, (layer, [given, product, sum])) in layers.iter_mut().zip(&seen).enumerate().rev() {
        if i + 1 < seen.len() {
            by = vjp::relu(sum, &by)?.stored;
        }
        let by_bias = vjp::add(product, &layer.bias, &by)?.right()?;
        let by_product = vjp::matmul(&layer.weight, given, &by)?;
        let by_weight = by_product.left()?;
        if i > 0 {
            by = by_product.right()?.stored;
        }
        layer.weight = layer.weight.sub(by_weight.stored.mul(rate)?)?;
        layer.bias = layer.bias.sub(by_bias.stored.mul(rate)?)?;
    }
    Ok(loss)
}

fn accuracy(layers: &[Layer], x: &Tensor, classes: &Tensor) -> openwork::Result<f64> {
    scores(layers, x)?.argmax(0)?.eq(classes)?.mean(..)?.item_as()
}

/// The tenth of the weights that is greatest; the others are not stored.
fn pruned(w: &Tensor) -> openwork::Result<Tensor> {
    let size = w.abs()?;
    w.to_sparse_where(&size.ge(size.quantile(0.9, ..)?)?, Layout::Csr, 0.0)
}

/// The best of many runs, in microseconds.
fn best<T>(mut run: impl FnMut() -> Outcome<T>) -> Outcome<f64> {
    run()?;
    let mut least = f64::INFINITY;
    let start = Instant::now();
    while start.elapsed().as_secs_f64() < 0.7 {
        let one = Instant::now();
        run()?;
        least = least.min(one.elapsed().as_secs_f64());
    }
    Ok(least * 1e6)
}

fn main() -> Outcome<()> {
    tch::set_num_threads(1);
    parallel::with_threads(1, run)?
}

fn run() -> Outcome<()> {
    // Trained in libtorch.
    let ((x, classes), (other_x, other_classes)) = (data(1), data(2));
    let store = VarStore::new(Device::Cpu);
    let root = store.root();
    let net = seq()
        .add(linear(&root / NAMES[0], FEATURES, HIDDEN, Default::default()))
        .add_fn(|x| x.relu())
        .add(linear(&root / NAMES[1], HIDDEN, HIDDEN, Default::default()))
        .add_fn(|x| x.relu())
        .add(linear(&root / NAMES[2], HIDDEN, CLASSES, Default::default()));
    let mut adam = Adam::default().build(&store, 1e-3)?;
    for _ in 0..60 {
        let loss = net.forward(&x).cross_entropy_for_logits(&classes);
        adam.backward_step(&loss);
    }
    let dense = net.batch_accuracy_for_logits(&other_x, &other_classes, Device::Cpu, POINTS);
    println!("trained by libtorch: accuracy {dense:.3} on points it has not seen");

    // Taken over without a copy.
    let mut weights = store.variables();
    let mut taken = Vec::new();
    for name in NAMES {
        let of = |part: &str| format!("{name}.{part}");
        let weight = weights.remove(&of("weight")).ok_or("no weight")?.detach();
        let bias = weights.remove(&of("bias")).ok_or("no bias")?.detach().unsqueeze(1);
        let ours = Tensor::from_torch(&weight, 0.0)?;
        assert_eq!(ours.values::<f32>()?.as_ptr().addr(), weight.data_ptr().addr());
        taken.push((weight, Layer { weight: ours, bias: Tensor::from_torch(&bias, 0.0)? }));
    }
    let [x, other_x] = [x.transpose(0, 1), other_x.transpose(0, 1)].map(|x| Tensor::from_torch(&x, 0.0));
    let (x, other_x) = (x?.to_contiguous()?, other_x?.to_contiguous()?);
    let truth = Tensor::from_torch(&classes.one_hot(CLASSES).to_kind(Kind::Float).transpose(0, 1), 0.0)?;
    let other_classes = Tensor::from_torch(&other_classes, 0)?;

    // Pruned, and trained on where weights are left.
    let mut layers = Vec::new();
    let mut bytes = 0;
    for (_, layer) in &taken {
        bytes += layer.weight.nbytes() + layer.bias.nbytes();
        layers.push(Layer { weight: pruned(&layer.weight)?, bias: layer.bias.clone() });
    }
    println!("pruned to a tenth:   accuracy {:.3}", accuracy(&layers, &other_x, &other_classes)?);
    let start = Instant::now();
    let mut losses = Vec::new();
    for _ in 0..60 {
        losses.push(step(&mut layers, &x, &truth, 0.2)?);
    }
    let kept = accuracy(&layers, &other_x, &other_classes)?;
    let (first, last) = (losses[0], losses[losses.len() - 1]);
    println!(
        "trained on sparse:   accuracy {kept:.3}, loss {first:.4} to {last:.4} in {} steps of {:.0} ms",
        losses.len(),
        start.elapsed().as_secs_f64() * 1e3 / losses.len() as f64
    );

    // Saved and loaded.
    let path = std::env::temp_dir().join(format!("openwork-torch-prune-{}.safetensors", std::process::id()));
    let mut model = StateDict::new();
    for (name, layer) in NAMES.iter().zip(&layers) {
        model.insert(format!("{name}.weight"), layer.weight.clone())?;
        model.insert(format!("{name}.bias"), layer.bias.clone())?;
    }
    model.save(&path)?;
    let size = std::fs::metadata(&path)?.len();
    let model = StateDict::load(&path)?;
    std::fs::remove_file(&path)?;
    println!("saved:               {size} bytes, beside {bytes} dense");
    for (name, layer) in NAMES.iter().zip(&mut layers) {
        layer.weight = model.tensor(&format!("{name}.weight"))?.clone();
        layer.bias = model.tensor(&format!("{name}.bias"))?.clone();
    }
    assert_eq!(accuracy(&layers, &other_x, &other_classes)?, kept);

    // Run sparse, beside libtorch's dense and sparse products of the same weights.
    println!(
        "\nmicroseconds for a batch, one thread:\n\n| points | here, sparse | libtorch, dense | libtorch, sparse CSR |\n|--:|--:|--:|--:|"
    );
    let strided: Vec<(Torch, Torch)> = layers
        .iter()
        .map(|l| Ok((l.weight.to_dense()?.to_torch()?, l.bias.to_torch()?)))
        .collect::<openwork::Result<_>>()?;
    let sparse: Vec<(Torch, Torch)> =
        layers.iter().map(|l| Ok((l.weight.to_torch()?, l.bias.to_torch()?))).collect::<openwork::Result<_>>()?;
    for points in [1, 8, 32, 128, 512] {
        let some = other_x.narrow(0..points, 1)?.to_contiguous()?;
        let torch = some.to_torch()?;
        let theirs = |layers: &[(Torch, Torch)]| {
            let mut given = torch.shallow_clone();
            for (i, (weight, bias)) in layers.iter().enumerate() {
                given = weight.matmul(&given).g_add_(bias);
                if i + 1 < layers.len() {
                    given = given.relu_();
                }
            }
            given
        };
        let ours = scores(&layers, &some)?;
        for other in [theirs(&strided), theirs(&sparse)] {
            assert!(ours.allclose(&Tensor::from_torch(&other, 0.0)?, 1e-3, 1e-3)?);
        }
        let here = best(|| Ok(scores(&layers, &some)?))?;
        let dense = tch::no_grad(|| best(|| Ok(theirs(&strided))))?;
        let csr = tch::no_grad(|| best(|| Ok(theirs(&sparse))))?;
        println!("| {points} | {here:.0} | {dense:.0} | {csr:.0} |");
    }
    Ok(())
}
