//! The law for functions of the caller's.

use openwork::{Tensor, with_densify_budget};

use super::cells::Cell;
use super::families::Family;
use super::gen_::{Sample, generate};
use super::oracle::{Expected, OType, OValue, Oracle, indices, ravel};
use super::pointwise::agrees;
use super::reduce::over;
use super::rng::Rng;
use super::values::Data;

pub const FAMILY: Family =
    Family { name: "custom", ops: &["reduce_with"], rounds: 4000, check: |_, c, s| reduce_with(c, s) };

/// One function per dtype: exclusive or, and the larger one.
fn reduce_with(cell: &Cell, seed: u64) -> Result<(), String> {
    let dtype = if seed.is_multiple_of(2) { OType::I64 } else { OType::F64 };
    let cell = Cell { dtype, ..cell.clone() };
    if !cell.suits() {
        return Ok(());
    }
    let x = generate(&cell, seed, Data::Any);
    let rng = &mut Rng::new(seed ^ 0x55);
    let axes: Vec<usize> = (0..cell.shape.len()).filter(|_| rng.one_in(2)).collect();
    let keepdims = rng.one_in(2);
    let signed: Vec<isize> = axes.iter().map(|&a| a as isize).collect();
    let run = |x: &Tensor| match dtype {
        OType::I64 => x.reduce_with(0i64, |a, b| a ^ b, over(Some(&signed), keepdims)),
        _ => x.reduce_with(f64::NEG_INFINITY, larger, over(Some(&signed), keepdims)),
    };
    let want = wanted(&x, &axes, keepdims);
    let got = run(&x.tensor).map_err(|e| format!("over {axes:?}: {e}"))?;
    agrees("the oracle", &want, &got).map_err(|e| format!("over {axes:?}: {e}"))?;
    match with_densify_budget(0, || run(&x.tensor)) {
        Err(e) if !matches!(e.kind(), openwork::ErrorKind::Densify { .. }) => Err(format!("budget 0: {e}")),
        _ => Ok(()),
    }
}

fn larger(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) + 0.0 }
}

fn wanted(x: &Sample, axes: &[usize], keepdims: bool) -> Expected {
    let m = &x.model;
    let reduced: Vec<usize> = (0..m.ndim()).map(|a| if axes.contains(&a) { 1 } else { m.shape[a] }).collect();
    let mut data: Vec<Option<OValue>> = match (m.undefined, m.dtype) {
        (true, _) => vec![None; reduced.iter().product()],
        (false, OType::I64) => vec![Some(OValue::Int(0)); reduced.iter().product()],
        (false, _) => vec![Some(OValue::Float(f64::NEG_INFINITY)); reduced.iter().product()],
    };
    for (at, value) in indices(&m.shape).iter().zip(&m.data) {
        let to: Vec<usize> = at.iter().enumerate().map(|(a, &i)| if axes.contains(&a) { 0 } else { i }).collect();
        let slot = &mut data[ravel(&to, &reduced)];
        *slot = match (*slot, *value) {
            (slot, None) => slot,
            (None, Some(OValue::Float(v))) => Some(OValue::Float(larger(f64::NEG_INFINITY, v))),
            (None, value) => value,
            (Some(OValue::Int(a)), Some(OValue::Int(b))) => Some(OValue::Int(a ^ b)),
            (Some(OValue::Float(a)), Some(OValue::Float(b))) => Some(OValue::Float(larger(a, b))),
            other => panic!("{other:?}"),
        };
    }
    let shape: Vec<usize> =
        if keepdims { reduced } else { (0..m.ndim()).filter(|a| !axes.contains(a)).map(|a| m.shape[a]).collect() };
    Oracle::new(&shape, m.dtype, data).with_undefined(m.undefined).into()
}
