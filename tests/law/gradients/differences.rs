//! Gradients beside differences: each stored element and each element of a fill is moved a little, in `float64`, and what the
//! op makes of it followed. Values are away from where ops jump or bend.

use std::collections::BTreeSet;

use openwork::{BinaryOp, DType, Fill, Result, Tensor, UnaryOp, c128};
use openwork_ops::derivative::Derivative;

use super::cases::{Case, KINDS, any_case};
use super::{Numbers, numbers};

use crate::cells::{Cell, FillKind};
use crate::gen_::generate;
use crate::oracle::{OType, OValue};
use crate::pointwise::Mode;
use crate::report::Report;
use crate::rng::Rng;
use crate::sample::cell_of_shape;
use crate::values::Data;

/// The step. Differences of four points have an error of its fourth power, against what elements of a slice are apart: where
/// these are nearly equal `std` bends.
const STEP: f64 = 4e-7;

/// Where an op is smooth: magnitudes, and whether signs are drawn.
fn smooth(name: &str) -> ((f64, f64), bool) {
    match name {
        "acosh" => ((1.3, 2.0), false),
        "sqrt" | "rsqrt" | "reciprocal" | "log" | "log2" | "log10" | "log1p" | "logit" | "lgamma" | "digamma"
        | "erfinv" | "pow" | "xlogy" => ((0.4, 0.8), false),
        "round" => ((0.1, 0.4), true),
        "prod" => ((0.4, 1.4), true),
        _ => ((0.2, 0.8), true),
    }
}

fn drawn(rng: &mut Rng, name: &str, dtype: OType) -> OValue {
    let ((low, high), signed) = smooth(name);
    let mut one = || {
        let x = low + (high - low) * ((rng.next() >> 11) as f64 / (1u64 << 53) as f64);
        if signed && rng.one_in(2) { -x } else { x }
    };
    if dtype.is_complex() { OValue::Complex(one(), one()) } else { OValue::Float(one()) }
}

/// A strided tensor of numbers.
fn made(shape: &[usize], dtype: DType, data: &[(f64, f64)]) -> Tensor {
    if dtype.is_complex() {
        Tensor::from_vec(shape, data.iter().map(|&(re, im)| c128::new(re, im)).collect::<Vec<_>>()).unwrap()
    } else {
        Tensor::from_vec(shape, data.iter().map(|&(re, _)| re).collect::<Vec<_>>()).unwrap()
    }
}

/// What of a tensor may be moved.
struct Parameters {
    x: Tensor,
    values: Numbers,
    fill: Option<(Vec<usize>, Numbers)>,
}

impl Parameters {
    /// Of a tensor of a cell, with values of its own.
    fn drawn(cell: &Cell, name: &str, rng: &mut Rng) -> Parameters {
        let x = generate(cell, rng.next(), Data::Any).tensor.coalesce().unwrap();
        let random = |n: usize, rng: &mut Rng| -> Numbers {
            (0..n).map(|_| super::parts(drawn(rng, name, cell.dtype))).collect()
        };
        let values = random(x.stored_values().size() as usize, rng);
        let fill = match x.fill() {
            None | Some(Fill::Undefined) => None,
            Some(Fill::Array(f)) => Some((f.shape().to_vec(), random(f.size() as usize, rng))),
            Some(_) => Some((Vec::new(), random(1, rng))),
        };
        Parameters { x, values, fill }
    }

    fn tensor(&self) -> Tensor {
        let dtype = self.x.dtype();
        let values = made(self.x.stored_values().shape(), dtype, &self.values);
        if self.x.is_strided() {
            return values;
        }
        let fill = match &self.fill {
            None => Fill::Undefined,
            Some((shape, one)) if shape.is_empty() => Fill::Scalar(made(&[], dtype, one).item().unwrap()),
            Some((shape, all)) => Fill::array(made(shape, dtype, all)),
        };
        self.x.with_stored_values(&values, fill).unwrap()
    }
}

/// The loss of which `g` is the gradient by the op's result.
fn loss(y: &Tensor, g: &Tensor) -> f64 {
    let (y, g) = (numbers(y).unwrap(), numbers(g).unwrap());
    y.iter().zip(&g).map(|(y, g)| y.0 * g.0 + y.1 * g.1).sum()
}

fn check(case: &Case, rng: &mut Rng) -> std::result::Result<(), String> {
    let name = case.name.trim_start_matches("vjp of ");
    let mut operands: Vec<Parameters> = Vec::new();
    for (i, cell) in case.cells.iter().enumerate() {
        if cell.dtype == OType::Bool {
            let x = generate(cell, rng.next(), Data::Any).tensor;
            operands.push(Parameters { x, values: Vec::new(), fill: None });
        } else {
            let name = if name == "xlogy" && i == 0 { "any" } else { name };
            operands.push(Parameters::drawn(cell, name, rng));
        }
    }
    let tensors = |operands: &[Parameters]| -> Vec<Tensor> {
        operands.iter().map(|p| if p.x.dtype() == DType::Bool { p.x.clone() } else { p.tensor() }).collect()
    };
    let run = |operands: &[Parameters]| -> Result<Tensor> {
        let all = tensors(operands);
        Mode::Finite.run(|| (case.op)(&all.iter().collect::<Vec<_>>()))
    };
    let Ok(y) = run(&operands) else { return Ok(()) };
    let out = crate::bridge::otype_of(y.dtype());
    let cell = loop {
        if let Some(cell) = cell_of_shape(rng, out, y.shape())
            && !matches!(cell.fill, FillKind::Nan | FillKind::Infinity | FillKind::Special)
        {
            break cell;
        }
    };
    let g = generate(&cell, rng.next(), Data::Any).tensor;
    let all = tensors(&operands);
    let by = Mode::Finite.run(|| (case.vjp)(&all.iter().collect::<Vec<_>>(), &g)).map_err(|e| format!("error: {e}"))?;
    for (&i, by) in case.operands.iter().zip(&by) {
        let stored = numbers(&by.stored.stored_values().to_contiguous().unwrap())?;
        let fill = match &by.fill {
            None => Vec::new(),
            Some(Fill::Array(f)) => numbers(f)?,
            Some(Fill::Scalar(v)) => vec![super::parts(crate::bridge::value_of(*v))],
            Some(other) => return Err(format!("{other:?}")),
        };
        let counts = (operands[i].values.len(), operands[i].fill.as_ref().map_or(0, |f| f.1.len()));
        if (stored.len(), fill.len()) != counts {
            return Err(format!("{counts:?} parameters, {} and {} gradients", stored.len(), fill.len()));
        }
        let complex = operands[i].x.dtype().is_complex();
        for place in 0..counts.0 + counts.1 {
            for part in 0..1 + usize::from(complex) {
                let at = |operands: &mut Vec<Parameters>, by: f64| {
                    let own = &mut operands[i];
                    let number = match place.checked_sub(counts.0) {
                        None => &mut own.values[place],
                        Some(place) => &mut own.fill.as_mut().unwrap().1[place],
                    };
                    let (re, im) = *number;
                    *number = if part == 0 { (re + by, im) } else { (re, im + by) };
                    let moved = run(operands).map(|y| loss(&y, &g));
                    let own = &mut operands[i];
                    match place.checked_sub(counts.0) {
                        None => own.values[place] = (re, im),
                        Some(place) => own.fill.as_mut().unwrap().1[place] = (re, im),
                    }
                    moved.map_err(|e| e.to_string())
                };
                let mut d = |n: f64| -> std::result::Result<f64, String> {
                    Ok(at(&mut operands, n * STEP)? - at(&mut operands, -n * STEP)?)
                };
                let want = (8.0 * d(1.0)? - d(2.0)?) / (12.0 * STEP);
                let got = if place < counts.0 { stored[place] } else { fill[place - counts.0] };
                let got = if part == 0 { got.0 } else { got.1 };
                if (got - want).abs() > 2e-6 * (1.0 + want.abs()) {
                    let of = if place < counts.0 { "stored" } else { "fill" };
                    return Err(format!(
                        "by {of} {place} part {part} of operand {i}, {}: {want} by differences, got {got}; cotangent {g}",
                        all[i]
                    ));
                }
            }
        }
    }
    Ok(())
}

/// Ops at which a small step says nothing: they pick or share among equal elements, which unstored ones are.
fn bends(name: &str) -> bool {
    matches!(name, "min" | "vector_norm" | "max")
}

/// Rounds after which every op has been met.
pub const ROUNDS: usize = 300;

pub fn sampled(report: &mut Report, rng: &mut Rng, rounds: usize) {
    let mut compared = BTreeSet::new();
    for _ in 0..rounds {
        for kind in KINDS {
            // Of many ops.
            let times = if matches!(kind, "unary" | "binary") { 8 } else { 1 };
            for _ in 0..times {
                compared.extend(case(report, kind, rng.next()));
            }
        }
        if report.is_full() {
            return;
        }
    }
    if rounds >= ROUNDS {
        report.case("every op", &[], String::new, || all_compared(&compared));
    }
}

/// The case of a seed, if there is one, and its name.
pub fn case(report: &mut Report, kind: &'static str, seed: u64) -> Option<String> {
    let case = any_case(kind, &mut Rng::new(seed)).and_then(|case| widened(kind, case))?;
    let what = || format!("{:?} {seed:#x}", case.cells);
    report.case(&case.name, &[], what, || check(&case, &mut Rng::new(seed ^ 0x99)));
    Some(case.name)
}

/// The case in `float64` or its complex numbers, if it has a gradient and bends nowhere.
fn widened(kind: &str, mut case: Case) -> Option<Case> {
    let complex = case.cells.iter().any(|c| c.dtype.is_complex());
    for cell in &mut case.cells {
        cell.dtype = match cell.dtype {
            OType::Bool => OType::Bool,
            _ if complex => OType::Complex128,
            _ => OType::F64,
        };
    }
    let is_shared = |c: &Cell| c.fill != FillKind::Undefined && !c.store.is_strided();
    let bent = bends(case.name.trim_start_matches("vjp of ")) && case.cells.iter().any(is_shared);
    (case.differentiable && kind != "cast" && !bent && case.cells.iter().all(Cell::suits)).then_some(case)
}

/// Every registered op that has a derivative is among these.
fn all_compared(names: &BTreeSet<String>) -> std::result::Result<(), String> {
    let unary = UnaryOp::ALL.iter().filter(|op| op.derivative() != Derivative::None).map(|op| op.name());
    let binary = BinaryOp::ALL.iter().filter(|op| !op.derivatives().contains(&Derivative::None)).map(|op| op.name());
    let missing: Vec<&str> = unary.chain(binary).filter(|name| !names.contains(&format!("vjp of {name}"))).collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("not compared: {missing:?}")) }
}
