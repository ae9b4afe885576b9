//! The law for comparing whole tensors: storage does not matter.

use openwork::{Fill, Layout, Tensor, with_densify_budget};

use super::bridge::{dense, scalar_of};
use super::cells::{Cell, Store};
use super::families::Family;
use super::gen_::{Sample, generate};
use super::nary::partner;
use super::oracle::{self, OType, OValue, Oracle};
use super::pointwise::Mode;
use super::rng::Rng;
use super::values::{Data, value};

pub const FAMILY: Family = Family {
    name: "compare",
    ops: &["equal", "allclose", "same_meaning"],
    rounds: 4000,
    check: |op, cell, seed| {
        let rng = &mut Rng::new(seed ^ 0x44);
        let x = generate(cell, seed, if rng.one_in(2) { Data::Special } else { Data::Small });
        let (tensor, model) = other(&x, cell, rng);
        // With a budget of 0: what is compared never becomes dense.
        Mode::Exact.run(|| with_densify_budget(0, || check(op, &x, &tensor, &model, rng)))
    },
};

/// A tensor that means the same, or almost, or something else.
fn other(x: &Sample, cell: &Cell, rng: &mut Rng) -> (Tensor, Oracle) {
    match rng.below(4) {
        0 => {
            let y = partner(cell, cell.dtype, rng, Data::Small);
            (y.tensor, y.model)
        }
        1 => (stored_otherwise(x.tensor.clone(), &x.model, rng), x.model.clone()),
        _ => {
            let mut model = x.model.clone();
            if rng.one_in(2) && !model.data.is_empty() {
                let at = rng.below(model.data.len());
                if model.data[at].is_some() {
                    model.data[at] = Some(value(rng, model.dtype, Data::Special));
                }
            }
            let made = of_model(&model, rng);
            (stored_otherwise(made, &model, rng), model)
        }
    }
}

/// A tensor of a model, stored from the dense one.
fn of_model(model: &Oracle, rng: &mut Rng) -> Tensor {
    let dense = dense(model);
    if !model.undefined {
        let fill = model.data.first().copied().flatten().unwrap_or(OValue::Int(0).cast(model.dtype));
        return if rng.one_in(3) { dense } else { dense.to_sparse(Layout::Coo, scalar_of(model.dtype, fill)).unwrap() };
    }
    let present = model.data.iter().map(|v| OValue::Bool(v.is_some())).map(Some).collect();
    let present = super::bridge::dense(&Oracle::new(&model.shape, OType::Bool, present));
    dense.mask(&present).unwrap()
}

/// Another layout and another fill, where the tensor can have them.
fn stored_otherwise(x: Tensor, model: &Oracle, rng: &mut Rng) -> Tensor {
    Mode::Exact.run(|| {
        let mut x = x;
        if x.fill().is_some_and(|f| !f.is_undefined()) && rng.one_in(2) {
            let fill = value(rng, model.dtype, Data::Special);
            x = x.with_fill(Fill::Scalar(scalar_of(model.dtype, fill))).unwrap();
        }
        for _ in 0..3 {
            let store = *rng.pick(&Store::ALL);
            let Some(spec) = store.spec(&model.shape) else { continue };
            // Rows of value axes cannot hold the absent, nor single ones anything but one element.
            if let Ok(y) = x.to_levels(&spec) {
                return y;
            }
        }
        x
    })
}

fn check(op: &str, x: &Sample, tensor: &Tensor, model: &Oracle, rng: &mut Rng) -> Result<(), String> {
    let nan = rng.one_in(2);
    let (got, back, want) = match op {
        "equal" => {
            let same = |a: OValue, b: OValue| a == b || (nan && a.is_nan() && b.is_nan());
            let equal = |a: &Tensor, b: &Tensor| if nan { a.equal_nan(b) } else { a.equal(b) };
            (equal(&x.tensor, tensor), equal(tensor, &x.tensor), oracle::agree(&x.model, model, same))
        }
        "allclose" => {
            if x.model.shape != model.shape {
                return Ok(()); // it broadcasts, which the elementwise isclose shows
            }
            let same = |a: OValue, b: OValue| close(a, b, 0.25, 0.5, nan);
            let got = if nan { x.tensor.allclose_nan(tensor, 0.25, 0.5) } else { x.tensor.allclose(tensor, 0.25, 0.5) };
            let itself = tensor.allclose_nan(tensor, 0.0, 0.0);
            (got, itself.map(|all| all == oracle::agree(&x.model, model, same)), oracle::agree(&x.model, model, same))
        }
        _ => {
            let got = x.tensor.same_meaning(tensor);
            (
                got,
                tensor.same_meaning(&x.tensor),
                x.model.dtype == model.dtype && oracle::agree(&x.model, model, identical),
            )
        }
    };
    match (got, back) {
        (Ok(got), Ok(back)) if got == want && (back == want || op == "allclose") => Ok(()),
        (got, back) => {
            Err(format!("{} with {}: {want} expected, got {got:?}, {back:?} the other way", x.tensor, tensor))
        }
    }
}

/// The same bit for bit, NaN like NaN.
fn identical(a: OValue, b: OValue) -> bool {
    let bits = |a: f64, b: f64| (a.is_nan() && b.is_nan()) || a.to_bits() == b.to_bits();
    match (a, b) {
        (OValue::Float(a), OValue::Float(b)) => bits(a, b),
        (OValue::Complex(a, b), OValue::Complex(c, d)) => bits(a, c) && bits(b, d),
        (a, b) => a == b,
    }
}

/// `|a - b| <= atol + rtol |b|`.
pub fn close(a: OValue, b: OValue, rtol: f64, atol: f64, equal_nan: bool) -> bool {
    if a.is_nan() || b.is_nan() {
        return equal_nan && a.is_nan() && b.is_nan();
    }
    if a == b {
        return true;
    }
    let (distance, size) = match (a, b) {
        (OValue::Bool(_), OValue::Bool(b)) => (1.0, f64::from(u8::from(b))),
        (OValue::Int(a), OValue::Int(b)) => ((a - b).abs() as f64, b.abs() as f64),
        (OValue::Float(a), OValue::Float(b)) => ((a - b).abs(), b.abs()),
        (OValue::Complex(a, b), OValue::Complex(c, d)) => ((a - c).hypot(b - d), c.hypot(d)),
        other => panic!("{other:?}"),
    };
    size.is_finite() && distance <= atol + rtol * size
}
