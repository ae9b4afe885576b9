//! Tensors of 10^5 stored elements, which are cut into chunks: every op gives at sampled places what it gives on the
//! strided tensor, and those of the registry what the oracle does.

use openwork::{Axes, BinaryOp, DType, Fill, Layout, ReduceOp, Scalar, Tensor, UnaryOp, parallel, with_densify_budget};

use super::bridge::{otype_of, strided, value_of};
use super::oracle::{self, Expected, OValue, Oracle};
use super::report::Report;
use super::rng::Rng;
use super::support_table::ops::{self, Op};
use super::support_table::table::LAYOUTS;

/// The size of both axes: many rows, not a multiple of a block.
const N: usize = 702;

/// Left out: products whose results take gigabytes; and ops of what is stored, which is more of a strided tensor than of a
/// sparse one with the same meaning.
const LEFT_OUT: [&str; 5] = ["kron", "khatri_rao", "apply_stored", "select", "select_values"];

/// How many places of a result are looked at, besides those where chunks may meet.
const PLACES: usize = 150;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beneath {
    Zero,
    Value,
    Rows,
}

/// A matrix as entries over a fill, and every element of it.
struct Matrix {
    sparse: Tensor,
    elements: Vec<OValue>,
    dense: Tensor,
    /// Flat places of stored elements where one chunk may end and another begin.
    seams: Vec<usize>,
}

impl Matrix {
    fn new(layout: Layout, beneath: Beneath, dtype: DType, seed: u64) -> Matrix {
        let mut rng = Rng::new(seed);
        let at: Vec<usize> = (0..N * N).filter(|_| rng.below(9) < 2).collect();
        assert!(at.len() > 100_000);
        let small = |n: usize| if dtype.is_unsigned() || dtype == DType::Bool { n as i32 } else { n as i32 - 4 };
        let numbers: Vec<i32> = at.iter().map(|_| small(rng.below(11))).collect();
        // Products of a line stay below the largest float64: beyond, the order of factors decides what they are.
        let of_row = |i: usize| if small(0) < 0 { (i % 5) as i32 - 2 } else { (i % 5) as i32 };
        let cast = |v: Vec<i32>, shape: &[usize]| Tensor::from_vec(shape, v).unwrap().cast(dtype).unwrap();
        let fill = match beneath {
            Beneath::Zero => Fill::Scalar(Scalar::zero(dtype)),
            Beneath::Value => Fill::Scalar(Scalar::one(dtype)),
            Beneath::Rows => Fill::array(cast((0..N).map(of_row).collect(), &[N, 1])),
        };
        let mut all: Vec<i32> = match beneath {
            Beneath::Zero => vec![0; N * N],
            Beneath::Value => vec![1; N * N],
            Beneath::Rows => (0..N * N).map(|i| of_row(i / N)).collect(),
        };
        at.iter().zip(&numbers).for_each(|(&i, &v)| all[i] = v);
        let otype = otype_of(dtype);
        let element = |&v: &i32| OValue::Int(v.into()).cast(otype);
        let elements: Vec<OValue> = all.iter().map(element).collect();
        let indices = vec![at.iter().map(|i| i / N).collect::<Vec<_>>(), at.iter().map(|i| i % N).collect()];
        let values = cast(numbers, &[at.len()]);
        let coo = Tensor::coo([N, N], indices, &values, fill).unwrap();
        let seams = (1..at.len() / 4096).flat_map(|k| [at[k * 4096 - 1], at[k * 4096]]).collect();
        let dense = strided(&[N, N], otype, &elements);
        Matrix { sparse: coo.to_layout(layout).unwrap(), elements, dense, seams }
    }

    fn at(&self, places: &[usize]) -> Oracle {
        let values = places.iter().map(|&i| Some(self.elements[i])).collect();
        Oracle::new(&[places.len()], otype_of(self.dense.dtype()), values)
    }

    /// Row or column `i`.
    fn line(&self, axis: usize, i: usize) -> Oracle {
        let places: Vec<usize> = (0..N).map(|j| if axis == 0 { j * N + i } else { i * N + j }).collect();
        self.at(&places)
    }
}

/// The elements of a tensor at flat places in C order.
fn read(x: &Tensor, places: &[usize]) -> Result<Vec<Option<OValue>>, String> {
    let one = |&i: &usize| x.get(oracle::unravel(i, x.shape())).map(|v| v.map(value_of)).map_err(|e| e.to_string());
    places.iter().map(one).collect()
}

fn places(rng: &mut Rng, size: usize, seams: &[usize]) -> Vec<usize> {
    let seams = seams.iter().copied().filter(|&i| i < size);
    seams.chain((0..PLACES.min(size)).map(|_| rng.below(size))).collect()
}

fn parts(v: OValue) -> [f64; 2] {
    match v {
        OValue::Bool(b) => [f64::from(b), 0.0],
        OValue::Int(i) => [i as f64, 0.0],
        OValue::Float(x) => [x, 0.0],
        OValue::Complex(re, im) => [re, im],
    }
}

/// Equal, but for the last bits of sums taken in another order.
fn close(a: Option<OValue>, b: Option<OValue>) -> bool {
    let near =
        |x: f64, y: f64| x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= 1e-9 * (1.0 + x.abs().max(y.abs()));
    match (a, b) {
        (Some(a), Some(b)) => parts(a).iter().zip(parts(b)).all(|(&x, y)| near(x, y)),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// The sparse result at sampled places is the strided one there.
fn as_strided(op: &Op, m: &Matrix, rng: &mut Rng) -> Result<(), String> {
    let run = |x: &Tensor| with_densify_budget(u64::MAX, || (op.run)(x)).map_err(|e| e.to_string());
    let (want, got) = match (run(&m.dense), run(&m.sparse)) {
        (Err(_), Err(_)) => return Ok(()),
        (want, got) => (want.map_err(|e| format!("strided: {e}"))?, got?),
    };
    if (want.shape(), want.dtype()) != (got.shape(), got.dtype()) {
        let (w, g) = ((want.shape(), want.dtype()), (got.shape(), got.dtype()));
        return Err(format!("strided gives {w:?}, this {g:?}"));
    }
    let places = places(rng, want.size() as usize, &m.seams);
    let (a, b) = (read(&want, &places)?, read(&got, &places)?);
    match (0..places.len()).find(|&i| !close(a[i], b[i])) {
        None => Ok(()),
        Some(i) => {
            let at = oracle::unravel(places[i], want.shape());
            Err(format!("at {at:?}: strided gives {:?}, {} {:?}", a[i], got.layout(), b[i]))
        }
    }
}

/// What the oracle says of a registered op at sampled places.
fn as_the_oracle(op: &Op, m: &Matrix, rng: &mut Rng) -> Result<(), String> {
    let text = |e: openwork::Error| e.to_string();
    let at = places(rng, N * N, &m.seams);
    let turned: Vec<usize> = at.iter().map(|&i| i % N * N + i / N).collect();
    let compare = |want: Result<Expected, oracle::Refused>, got: &[Option<OValue>]| match want {
        Ok(want) => oracle::compare_data(&want, got),
        Err(e) => Err(format!("the oracle: {e}")),
    };
    with_densify_budget(u64::MAX, || {
        if let Some(&unary) = UnaryOp::ALL.iter().find(|o| o.name() == op.name) {
            let got = m.sparse.unary(unary).map_err(text)?;
            compare(oracle::unary(op.name, &m.at(&at)), &read(&got, &at)?)
        } else if let Some(&binary) = BinaryOp::ALL.iter().find(|o| o.name() == op.name) {
            let got = m.sparse.binary(binary, m.sparse.t().map_err(text)?).map_err(text)?;
            compare(oracle::binary(op.name, &m.at(&at), &m.at(&turned)), &read(&got, &at)?)
        } else if let Some(&fold) = ReduceOp::ALL.iter().find(|o| o.name() == op.name) {
            for axis in [0, 1] {
                let got = m.sparse.reduce(fold, Axes::from(axis)).map_err(text)?;
                for i in [0, 1, N / 2, N - 1, rng.below(N)] {
                    let want = oracle::reduce(op.name, &m.line(axis as usize, i), &[0], false);
                    compare(want, &read(&got, &[i])?).map_err(|e| format!("axis {axis}, slice {i}: {e}"))?;
                }
            }
            Ok(())
        } else {
            Ok(())
        }
    })
}

fn cases(rounds: usize, seed: u64) -> Report {
    let (mut report, mut rng) = (Report::new(), Rng::new(seed));
    let mut made: Vec<((Layout, Beneath, DType), Matrix)> = Vec::new();
    for _ in 0..rounds {
        // One matrix of each dtype at a time: they are large.
        made.clear();
        let (layout, beneath) = (*rng.pick(&LAYOUTS), *rng.pick(&[Beneath::Zero, Beneath::Value, Beneath::Rows]));
        for op in ops::all().iter().filter(|op| !LEFT_OUT.contains(&op.name)) {
            let key = (layout, beneath, op.dtype);
            if !made.iter().any(|m| m.0 == key) {
                made.push((key, Matrix::new(layout, beneath, op.dtype, rng.next())));
            }
            let Some((_, m)) = made.iter().find(|m| m.0 == key) else { continue };
            let mut own = Rng::new(rng.next());
            let what = || format!("{} of {layout} over {beneath:?}", op.label);
            report.case(op.name, &[], what, || {
                as_strided(op, m, &mut own)?;
                as_the_oracle(op, m, &mut own)
            });
        }
    }
    report
}

#[test]
fn medium() {
    parallel::with_threads(2, || cases(1, 20_240_301)).unwrap().finish("medium");
}

/// Rounds enough for every layout and fill to be drawn.
#[test]
#[ignore = "minutes"]
fn medium_many() {
    parallel::with_threads(2, || cases(24, 20_240_302)).unwrap().finish("medium, many");
}
