//! Inference of a sparse neural network, by code that does not know how anything is stored.
//!
//! The Sparse Deep Neural Network Graph Challenge (<https://graphchallenge.mit.edu/challenges>): 1200 images of
//! 32 × 32 pixels go through 30 layers `Y = min(relu(Y · W − 0.3), 32)`; the images with anything left in the last
//! `Y` are the answer. Adding −0.3 to a sparse tensor does not store more elements: it moves the fill from 0 to −0.3,
//! and `relu` moves it back.
//!
//! ```text
//! cargo run --release --example sparse_network                                   a network of its own, from a seed
//! cargo run --release --example sparse_network -- DATA_DIR --layout csr          the published network and answer
//! ```
//! Layouts: strided, coo, csr, csc, csf.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use openwork::io::matrix_market;
use openwork::{DType, Layout, Tensor, explain};

const LAYERS: usize = 30;
const NEURONS: usize = 1024;
const IMAGES: usize = 1200;
const BIAS: f64 = -0.3;
const CEILING: f64 = 32.0;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match arguments().and_then(|(data, layout)| run(data.as_deref(), layout)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("sparse_network: {e}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Fallible<(Option<PathBuf>, Layout)> {
    let (mut data, mut layout) = (None, Layout::Csr);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        if arg != "--layout" {
            data = Some(PathBuf::from(arg));
            continue;
        }
        let name = args.next().unwrap_or_default();
        layout = match name.as_str() {
            "strided" => Layout::Strided,
            "coo" => Layout::Coo,
            "csr" => Layout::Csr,
            "csc" => Layout::Csc,
            "csf" => Layout::Csf,
            _ => return Err(format!("--layout {name:?}: choose strided, coo, csr, csc or csf").into()),
        };
    }
    Ok((data, layout))
}

/// One layer. This is all the numerical code there is.
fn layer(y: &Tensor, weights: &Tensor) -> openwork::Result<Tensor> {
    y.matmul(weights)?.add(BIAS)?.relu()?.minimum(CEILING)?.prune()
}

fn infer(images: &Tensor, weights: &[Tensor]) -> openwork::Result<Tensor> {
    let mut y = images.clone();
    for (i, w) in weights.iter().enumerate() {
        let start = Instant::now();
        let (next, steps) = explain(|| layer(&y, w));
        y = next?;
        let seconds = start.elapsed().as_secs_f64();
        if i == 0 {
            println!("how the first layer was carried out:");
            steps.iter().for_each(|step| println!("  {step}"));
        }
        let nonzero = y.count_nonzero(None, false)?.item()?;
        let share = nonzero.to::<f64>() / y.size() as f64;
        let fill = y.fill().map_or_else(|| "none".to_string(), |f| f.to_string());
        println!("layer {:2}: {:8.2} ms, density {share:.4}, fill {fill}", i + 1, seconds * 1e3);
    }
    Ok(y)
}

/// The rows in which anything is left.
fn active_rows(y: &Tensor) -> openwork::Result<Vec<usize>> {
    let active = y.any(Some(&[1]), false)?.to_dense()?.to_contiguous();
    Ok(active.values::<bool>()?.iter().enumerate().filter(|(_, a)| **a).map(|(row, _)| row).collect())
}

fn run(data: Option<&Path>, layout: Layout) -> Fallible<bool> {
    let start = Instant::now();
    let (images, weights) = match data {
        Some(folder) => read_network(folder)?,
        None => make_network(1)?,
    };
    println!("read in {:.2} s; running as {layout}", start.elapsed().as_secs_f64());
    let store = |x: &Tensor, layout| x.to_layout(layout);
    let weights_as = |layout| weights.iter().map(|w| store(w, layout)).collect::<openwork::Result<Vec<_>>>();
    let start = Instant::now();
    let y = infer(&store(&images, layout)?, &weights_as(layout)?)?;
    println!("{LAYERS} layers in {:.2} s", start.elapsed().as_secs_f64());
    let rows = active_rows(&y)?;
    match data {
        Some(folder) => {
            let published = read_categories(folder)?;
            let found = published.iter().filter(|r| rows.contains(r)).count();
            let extra = rows.len() - found;
            println!("{found} of {}, {extra} extra", published.len());
            Ok(found == published.len() && extra == 0)
        }
        None => {
            println!("the same network as strided:");
            let dense = infer(&store(&images, Layout::Strided)?, &weights_as(Layout::Strided)?)?;
            let difference = y.sub(&dense)?.abs()?.max(None, false)?.item()?.to::<f64>();
            let agree = difference <= 1e-2 && rows == active_rows(&dense)?;
            println!("{} rows active, largest difference from strided {difference:e}", rows.len());
            println!("{}", if agree { "sparse and strided agree" } else { "sparse and strided DISAGREE" });
            Ok(agree)
        }
    }
}

fn read_network(folder: &Path) -> Fallible<(Tensor, Vec<Tensor>)> {
    let read = |name: &str| -> openwork::Result<Tensor> { matrix_market::read(folder.join(name))?.cast(DType::F32) };
    let images = read("sparse-images-1024_subset.mtx")?;
    let weights = (1..=LAYERS).map(|l| read(&format!("n1024-l{l}.mtx"))).collect::<openwork::Result<Vec<_>>>()?;
    for (i, w) in weights.iter().enumerate() {
        if w.shape() != [NEURONS, NEURONS] {
            return Err(format!("layer {} has shape {:?}", i + 1, w.shape()).into());
        }
    }
    println!("{} images, {LAYERS} layers of {} weights", images.shape()[0], weights[0].nse());
    Ok((images, weights))
}

/// The published answer: a pattern with one column.
fn read_categories(folder: &Path) -> Fallible<Vec<usize>> {
    let categories = matrix_market::read(folder.join("neuron1024-l120-categories_subset.mtx"))?;
    let mut rows: Vec<usize> = categories.iter_stored().map(|(index, _)| index[0]).collect();
    rows.sort_unstable();
    Ok(rows)
}

/// A network of the same shape: 32 weights of 1/16 into and out of each neuron, images with a tenth of the pixels set.
fn make_network(seed: u64) -> Fallible<(Tensor, Vec<Tensor>)> {
    let pixels = Tensor::random(&[IMAGES, NEURONS], 0.1, 0.0, Layout::Coo, seed)?;
    let images = pixels.is_stored()?.cast(DType::F32)?;
    let mut random = seed;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize
    };
    let mut weights = Vec::with_capacity(LAYERS);
    for _ in 0..LAYERS {
        // Odd multipliers permute the neurons; 32 offsets give every neuron as many sources.
        let (multiplier, first) = (2 * next() + 1, next());
        let (mut rows, mut cols) = (Vec::new(), Vec::new());
        for neuron in 0..NEURONS {
            for k in 0..32 {
                rows.push(neuron as u32);
                cols.push(((neuron.wrapping_mul(multiplier).wrapping_add(first) + 31 * k) % NEURONS) as u32);
            }
        }
        let values = vec![0.0625f32; rows.len()];
        weights.push(Tensor::from_triplets([NEURONS, NEURONS], rows, cols, values, 0.0)?);
    }
    Ok((images, weights))
}
