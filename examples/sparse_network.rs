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
//! cargo run --release --example sparse_network -- DATA_DIR --save net.safetensors
//! cargo run --release --example sparse_network -- DATA_DIR --load net.safetensors
//! ```
//! Its own network is made so that some images die out and others do not: a result that is all zero, constant, or that has
//! no row or every row left would agree with anything, and is a failure. What comes out is compared with the same network
//! as strided tensors, and with a plain loop over `ndarray` arrays that this library has no part in.
//!
//! Layouts: strided, coo, csr, csc, csf. `--save` keeps images, weights and the active rows in one file
//! (`.safetensors`, or `.h5` with the feature `hdf5`) as they are stored; `--load` takes them from there, and the answer
//! must be the one that was saved.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use ndarray::{Array2, Axis, Ix2};
use openwork::io::matrix_market;
use openwork::io::state_dict::{Archive, StateDict};
use openwork::{DType, Layout, Tensor, explain};

const LAYERS: usize = 30;
const NEURONS: usize = 1024;
const IMAGES: usize = 1200;
const BIAS: f64 = -0.3;
const CEILING: f64 = 32.0;

/// How far results of another order of summation may be apart. Elements go up to 32, and a row on the verge of dying out
/// multiplies what was rounded away.
const TOLERANCE: f32 = 0.05;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// What the command line asks for.
#[derive(Default)]
struct Arguments {
    data: Option<PathBuf>,
    layout: Option<Layout>,
    save: Option<PathBuf>,
    load: Option<PathBuf>,
}

fn main() -> ExitCode {
    match arguments().and_then(|a| run(&a)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("sparse_network: {e}");
            ExitCode::from(2)
        }
    }
}

fn arguments() -> Fallible<Arguments> {
    let mut out = Arguments::default();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--save" => out.save = Some(value()?.into()),
            "--load" => out.load = Some(value()?.into()),
            "--layout" => {
                let name = value()?;
                out.layout = Some(match name.as_str() {
                    "strided" => Layout::Strided,
                    "coo" => Layout::Coo,
                    "csr" => Layout::Csr,
                    "csc" => Layout::Csc,
                    "csf" => Layout::Csf,
                    _ => return Err(format!("--layout {name:?}: choose strided, coo, csr, csc or csf").into()),
                });
            }
            _ if arg.starts_with("--") => {
                return Err(format!("unknown option {arg}; known are --layout, --save and --load").into());
            }
            _ => out.data = Some(arg.into()),
        }
    }
    Ok(out)
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
        let nonzero = y.count_nonzero(..)?.item()?;
        let share = nonzero.to::<f64>() / y.size() as f64;
        let fill = y.fill().map_or_else(|| "none".to_string(), |f| f.to_string());
        println!("layer {:2}: {:8.2} ms, density {share:.4}, fill {fill}", i + 1, seconds * 1e3);
    }
    Ok(y)
}

/// The rows in which anything is left.
fn active_rows(y: &Tensor) -> openwork::Result<Vec<usize>> {
    let active = y.any(1)?.to_dense()?.to_contiguous()?;
    Ok(active.values::<bool>()?.iter().enumerate().filter(|(_, a)| **a).map(|(row, _)| row).collect())
}

fn run(arguments: &Arguments) -> Fallible<bool> {
    let Arguments { data, layout, save, load } = arguments;
    let start = Instant::now();
    let model = match load {
        Some(file) => Model::load(file, *layout)?,
        None => {
            let (images, weights) = match data {
                Some(folder) => read_network(folder)?,
                None => make_network(1)?,
            };
            Model { images, weights, rows: None }.stored_as(layout.unwrap_or(Layout::Csr))?
        }
    };
    println!("read in {:.2} s; running as {}", start.elapsed().as_secs_f64(), model.images.layout());
    let start = Instant::now();
    let y = infer(&model.images, &model.weights)?;
    println!("{LAYERS} layers in {:.2} s", start.elapsed().as_secs_f64());
    let rows = active_rows(&y)?;
    let mut agree = true;
    if let Some(saved) = &model.rows {
        agree = *saved == rows;
        println!("{} rows active, {} the saved answer", rows.len(), if agree { "as" } else { "NOT as" });
    }
    let result = array(&y)?;
    if let Some(folder) = data {
        proves_something(&result, &rows, 0.0)?;
        let published = read_categories(folder)?;
        let found = published.iter().filter(|r| rows.contains(r)).count();
        let extra = rows.len() - found;
        println!("{found} of {}, {extra} extra", published.len());
        agree &= found == published.len() && extra == 0;
    } else {
        proves_something(&result, &rows, 0.05)?;
        println!("{} of {IMAGES} rows active", rows.len());
        println!("the same network as strided:");
        let strided = model.stored_as(Layout::Strided)?;
        let dense = array(&infer(&strided.images, &strided.weights)?)?;
        agree &= compare(&result, &dense, "strided");
        println!("the same network as a plain loop over arrays:");
        let start = Instant::now();
        let arrays = model.weights.iter().map(array).collect::<Fallible<Vec<_>>>()?;
        let plain = plain(&array(&model.images)?, &arrays);
        println!("{LAYERS} layers in {:.2} s", start.elapsed().as_secs_f64());
        agree &= compare(&result, &plain, "the plain loop");
    }
    if let Some(file) = save {
        Model { rows: Some(rows), ..model }.save(file)?;
        println!("saved to {}, {} bytes", file.display(), std::fs::metadata(file)?.len());
    }
    Ok(agree)
}

/// An error where a result would agree with that of any program: where nothing or everything is left, or all the same.
/// Of the rows at least `share` have to be active, and as many not.
fn proves_something(result: &Array2<f32>, rows: &[usize], share: f64) -> Fallible<()> {
    let (all, least) = (result.nrows(), (share * result.nrows() as f64).max(1.0));
    let (active, dead) = (rows.len() as f64, (all - rows.len()) as f64);
    if active < least || dead < least {
        return Err(format!("{active} of {all} rows are active: such a result proves nothing").into());
    }
    let (low, high) = result.iter().fold((f32::MAX, f32::MIN), |(low, high), &v| (low.min(v), high.max(v)));
    let between = result.iter().filter(|&&v| v != low && v != high).count();
    if share > 0.0 && between < all {
        return Err(format!("all but {between} elements are {low} or {high}: such a result proves nothing").into());
    }
    Ok(())
}

/// Whether two results have the same rows active and nearly the same elements; says so.
fn compare(ours: &Array2<f32>, other: &Array2<f32>, name: &str) -> bool {
    let active = |y: &Array2<f32>| y.map_axis(Axis(1), |row| row.iter().any(|&v| v != 0.0));
    // Not a number is no agreement.
    let difference =
        ours.iter().zip(other).map(|(a, b)| (a - b).abs()).fold(0.0, |m: f32, d| if d <= m { m } else { d });
    let agree = ours.dim() == other.dim() && difference <= TOLERANCE && active(ours) == active(other);
    let verdict = if agree { "agree" } else { "DISAGREE" };
    println!("the largest difference from {name} is {difference:e}: they {verdict}");
    agree
}

/// The elements as an array.
fn array(x: &Tensor) -> Fallible<Array2<f32>> {
    Ok(x.to_dense()?.to_contiguous()?.view::<f32>()?.into_dimensionality::<Ix2>()?.to_owned())
}

/// All layers by loops over arrays.
fn plain(images: &Array2<f32>, weights: &[Array2<f32>]) -> Array2<f32> {
    let mut y = images.clone();
    for w in weights {
        let mut next = Array2::zeros((y.nrows(), w.ncols()));
        for (row, mut sums) in y.outer_iter().zip(next.outer_iter_mut()) {
            for (&value, weights) in row.iter().zip(w.outer_iter()) {
                if value != 0.0 {
                    sums.scaled_add(value, &weights);
                }
            }
            sums.mapv_inplace(|sum| (sum + BIAS as f32).clamp(0.0, CEILING as f32));
        }
        y = next;
    }
    y
}

/// The network, what goes into it, and what came out if that is known.
struct Model {
    images: Tensor,
    weights: Vec<Tensor>,
    rows: Option<Vec<usize>>,
}

impl Model {
    fn stored_as(&self, layout: Layout) -> openwork::Result<Model> {
        let weights = self.weights.iter().map(|w| w.to_layout(layout)).collect::<openwork::Result<_>>()?;
        Ok(Model { images: self.images.to_layout(layout)?, weights, rows: self.rows.clone() })
    }

    fn save(&self, file: &Path) -> Fallible<()> {
        let mut dict = StateDict::new();
        for (i, w) in self.weights.iter().enumerate() {
            dict.insert(format!("layers/{i}/weight"), w.clone())?;
        }
        dict.insert("images", self.images.clone())?;
        let rows: Vec<u64> = self.rows.iter().flatten().map(|&row| row as u64).collect();
        dict.insert("active_rows", Tensor::from_vec([rows.len()], rows)?)?;
        dict.metadata_mut().insert("bias".into(), BIAS.into());
        dict.metadata_mut().insert("ceiling".into(), CEILING.into());
        Ok(dict.save(file)?)
    }

    /// Reads a saved network, stored as it was or in the layout asked for.
    fn load(file: &Path, layout: Option<Layout>) -> Fallible<Model> {
        let archive = Archive::open(file)?;
        for (key, wanted) in [("bias", BIAS), ("ceiling", CEILING)] {
            let found = archive.metadata().get(key).and_then(|v| v.as_f64());
            if found != Some(wanted) {
                return Err(format!("{}: the {key} is {found:?}, this program's is {wanted}", file.display()).into());
            }
        }
        let images = archive.tensor("images")?;
        let weights: openwork::Result<_> = (0..LAYERS).map(|i| archive.tensor(&format!("layers/{i}/weight"))).collect();
        let rows = archive.tensor("active_rows")?.values::<u64>()?.iter().map(|&row| row as usize).collect();
        let model = Model { images, weights: weights?, rows: Some(rows) };
        Ok(layout.map_or(Ok(None), |layout| model.stored_as(layout).map(Some))?.unwrap_or(model))
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

/// A network of the same shape: 32 weights into and out of each neuron. Three in five are 1/4 and the others -1/4: what is
/// bright enough to pass the bias grows from layer to layer up to the ceiling, and the rest dies out. Images have between
/// none and a fifth of their pixels set.
fn make_network(seed: u64) -> Fallible<(Tensor, Vec<Tensor>)> {
    let mut random = seed;
    let mut next = || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize
    };
    let (mut rows, mut cols) = (Vec::new(), Vec::new());
    for image in 0..IMAGES {
        for pixel in 0..NEURONS {
            if next() % (5 * IMAGES) < image {
                rows.push(image as u32);
                cols.push(pixel as u32);
            }
        }
    }
    let lit = vec![1.0f32; rows.len()];
    let images = Tensor::from_triplets([IMAGES, NEURONS], rows, cols, lit, 0.0)?;
    let mut weights = Vec::with_capacity(LAYERS);
    for _ in 0..LAYERS {
        // Odd multipliers permute the neurons; 32 offsets give every neuron as many sources.
        let (multiplier, first) = (2 * next() + 1, next());
        let (mut rows, mut cols, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for neuron in 0..NEURONS {
            for k in 0..32 {
                rows.push(neuron as u32);
                cols.push(((neuron.wrapping_mul(multiplier).wrapping_add(first) + 31 * k) % NEURONS) as u32);
                values.push(if next() % 5 < 3 { 0.25f32 } else { -0.25 });
            }
        }
        weights.push(Tensor::from_triplets([NEURONS, NEURONS], rows, cols, values, 0.0)?);
    }
    Ok((images, weights))
}
