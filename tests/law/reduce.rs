//! The law for reductions.

use openwork::{Axes, ReduceOp, keep, with_densify_budget};

use super::bridge::{dense, dtype_of, meaning};
use super::cells::Cell;
use super::gen_::generate;
use super::oracle::{self, Expected, OValue, Oracle};
use super::pointwise::{Mode, agrees, bit_for_bit, both};
use super::values::Data;

/// Every set of axes of a tensor of that rank.
pub fn axis_sets(ndim: usize) -> Vec<Vec<usize>> {
    (0..1usize << ndim).map(|set| (0..ndim).filter(|a| set >> a & 1 == 1).collect()).collect()
}

/// Axes as an argument (`None`: all), kept or not.
pub fn over(axes: Option<&[isize]>, keepdims: bool) -> Axes {
    let axes = axes.map_or(Axes::from(..), Axes::from);
    if keepdims { keep(axes) } else { axes }
}

pub fn reduce(op: ReduceOp, cell: &Cell, axes: &[usize], keepdims: bool, seed: u64, mode: Mode) -> Result<(), String> {
    let x = generate(cell, seed, if mode == Mode::Exact { Data::Summable } else { Data::Any });
    let want = oracle::reduce(op.name(), &x.model, axes, keepdims);
    let signed: Vec<isize> = axes.iter().map(|&a| a as isize).collect();
    let given = if axes.len() == cell.shape.len() && seed.is_multiple_of(2) { None } else { Some(&signed[..]) };
    let got = mode.run(|| x.tensor.reduce(op, over(given, keepdims)));
    let budget_zero = mode.run(|| with_densify_budget(0, || x.tensor.reduce(op, over(given, keepdims))));
    if let Err(e) = budget_zero
        && got.is_ok()
        && !matches!(e.kind(), openwork::ErrorKind::Densify { .. })
    {
        return Err(format!("budget 0: {e}"));
    }
    let Some((want, got)) = both(want, got)? else { return Ok(()) };
    let want = tolerated(op, want, &x.model);
    let got_meaning = agrees("the oracle", &want, &got)?;
    if x.model.undefined {
        return Ok(());
    }
    let plain = mode.run(|| dense(&x.model).reduce(op, over(given, keepdims))).map_err(|e| format!("strided: {e}"))?;
    agrees("strided", &want, &plain)?;
    let exact = matches!(op, ReduceOp::Min | ReduceOp::Max | ReduceOp::Any | ReduceOp::All | ReduceOp::CountNonzero);
    if exact || got.dtype().is_int() {
        bit_for_bit(&got_meaning, &meaning(&plain)?)?;
    }
    if dtype_of(want.value.dtype) != got.dtype() { Err("dtype".to_string()) } else { Ok(()) }
}

/// Products of special values may overflow in one order of their factors and not in another, and formulas
/// for complex products differ in what becomes NaN: nothing is expected then.
fn tolerated(op: ReduceOp, mut want: Expected, x: &Oracle) -> Expected {
    let doubtful = |v: &OValue| match *v {
        OValue::Float(x) => x.abs() > 1000.0,
        OValue::Complex(re, im) => !re.is_finite() || !im.is_finite() || re.abs() > 1000.0 || im.abs() > 1000.0,
        _ => false,
    };
    if op == ReduceOp::Prod && x.data.iter().flatten().any(doubtful) {
        want.slack.fill(f64::INFINITY);
    }
    want
}
