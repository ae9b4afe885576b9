//! The law for unary and binary ops.

use openwork::{BinaryOp, NanPolicy, Tensor, UnaryOp, with_densify_budget, with_nan_policy};
use openwork_ops::Domain;

use super::bridge::{background, dense, meaning};
use super::cells::Cell;
use super::gen_::{Sample, generate};
use super::oracle::{self, Expected, Oracle, Refused};
use super::values::Data;

/// Finite data under the default policy, or all data under the exact one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Finite,
    Exact,
}

impl Mode {
    pub fn run<R>(self, f: impl FnOnce() -> R) -> R {
        let policy = if self == Mode::Exact { NanPolicy::Exact } else { NanPolicy::ZeroAnnihilates };
        with_nan_policy(policy, || with_densify_budget(u64::MAX, f))
    }

    /// The data of the left and the right operand.
    pub fn data(self, domain: Domain) -> [Data; 2] {
        match (self, domain) {
            (Mode::Exact, _) => [Data::Special; 2],
            (_, Domain::Any) => [Data::Any; 2],
            (_, Domain::Positive) => [Data::Positive, Data::Any],
            (_, Domain::SmallRight) => [Data::Any, Data::Small],
        }
    }
}

pub fn unary(op: UnaryOp, cell: &Cell, seed: u64, mode: Mode) -> Result<(), String> {
    let x = generate(cell, seed, mode.data(op.domain())[0]);
    let want = oracle::unary(op.name(), &x.model);
    let got = mode.run(|| x.tensor.unary(op));
    let Some((want, got)) = both(want, got)? else { return Ok(()) };
    let got_meaning = agrees("the oracle", &want, &got)?;
    let plain = dense(&x.model).unary(op).map_err(|e| format!("strided: {e}"))?;
    bit_for_bit(&got_meaning, &meaning(&plain)?)?;
    let fill = x.fill.map(|f| oracle::unary(op.name(), &f).unwrap());
    fill_is(&got, fill)
}

/// The operands of a binary op and what it should give.
pub fn binary(op: BinaryOp, cells: [&Cell; 2], seed: u64, mode: Mode) -> Result<(), String> {
    let data = mode.data(op.domain());
    let [a, b] = [generate(cells[0], seed, data[0]), generate(cells[1], seed ^ 0x5555, data[1])];
    pair(op, &a, &b, mode)
}

/// A tensor and its square, which shares its pattern.
pub fn with_square(op: BinaryOp, cell: &Cell, seed: u64, mode: Mode) -> Result<(), String> {
    let x = generate(cell, seed, mode.data(op.domain())[0]);
    let tensor = mode.run(|| x.tensor.square()).map_err(|e| format!("square: {e}"))?;
    let fill = background(&tensor)?;
    let square = Sample { model: meaning(&tensor)?, fill, tensor };
    // The square of duplicates is that of their sum, of which the pattern is another.
    pair(op, &x, &square, mode)
}

pub fn pair(op: BinaryOp, a: &Sample, b: &Sample, mode: Mode) -> Result<(), String> {
    let want = oracle::binary(op.name(), &a.model, &b.model);
    let got = mode.run(|| a.tensor.binary(op, &b.tensor));
    let Some((want, got)) = both(want, got)? else { return Ok(()) };
    let got_meaning = agrees("the oracle", &want, &got)?;
    let plain = dense(&a.model).binary(op, dense(&b.model)).map_err(|e| format!("strided: {e}"))?;
    bit_for_bit(&got_meaning, &meaning(&plain)?)?;
    if a.fill.is_some() || b.fill.is_some() {
        nothing_dense_unasked(op, a, b, mode)?;
    }
    // A sparse operand that is broadcast may have become a fill itself.
    let kept = |x: &Sample| x.fill.is_none() || x.model.shape == got.shape();
    if !kept(a) || !kept(b) {
        return Ok(());
    }
    let of = |x: &Sample| x.fill.clone().unwrap_or_else(|| x.model.clone());
    fill_is(&got, Some(oracle::binary(op.name(), &of(a), &of(b)).unwrap()))
}

/// With a budget of 0, two sparse operands give a sparse result or the error that says why not.
fn nothing_dense_unasked(op: BinaryOp, a: &Sample, b: &Sample, mode: Mode) -> Result<(), String> {
    let got = mode.run(|| with_densify_budget(0, || a.tensor.binary(op, &b.tensor)));
    match got {
        Ok(t) if t.is_strided() && a.fill.is_some() && b.fill.is_some() => {
            if full_fill(&a.tensor) || full_fill(&b.tensor) || t.size() == 0 {
                return Ok(()); // a fill as large as the tensor is dense already
            }
            Err("budget 0: strided from sparse operands".to_string())
        }
        Ok(_) => Ok(()),
        Err(e) if matches!(e.kind(), openwork::ErrorKind::Densify { .. }) => Ok(()),
        Err(e) => Err(format!("budget 0: {e}")),
    }
}

/// Whether the fill is an array as large as the tensor: dense already.
pub fn full_fill(x: &Tensor) -> bool {
    matches!(x.fill(), Some(openwork::Fill::Array(f)) if f.nse() as u128 == x.size())
}

/// Both refuse, or both give something.
pub fn both(
    want: Result<Expected, Refused>,
    got: openwork::Result<Tensor>,
) -> Result<Option<(Expected, Tensor)>, String> {
    match (want, got) {
        (Err(_), Err(_)) => Ok(None),
        (Ok(want), Ok(got)) => Ok(Some((want, got))),
        (Ok(_), Err(e)) => Err(format!("error: {e}")),
        (Err(why), Ok(got)) => Err(format!("{why}, but got {:?} {}", got.shape(), got.dtype())),
    }
}

/// The meaning of a result, after comparing it.
pub fn agrees(whom: &str, want: &Expected, got: &Tensor) -> Result<Oracle, String> {
    let got_meaning = meaning(got).map_err(|e| format!("result in {}: {e}", got.layout()))?;
    oracle::compare(want, &got_meaning).map_err(|e| format!("{whom}, result in {}: {e}", got.layout()))?;
    Ok(got_meaning)
}

/// Where an element is present it is that of the strided computation.
pub fn bit_for_bit(got: &Oracle, strided: &Oracle) -> Result<(), String> {
    let mut want = strided.clone();
    want.data.iter_mut().zip(&got.data).filter(|(_, g)| g.is_none()).for_each(|(w, _)| *w = None);
    oracle::compare(&want.into(), got).map_err(|e| format!("strided operands: {e}"))
}

/// The fill of a sparse result is the op of the fills.
pub fn fill_is(got: &Tensor, want: Option<Expected>) -> Result<(), String> {
    match (background(got)?, want) {
        (Some(fill), Some(want)) => oracle::compare(&want, &fill).map_err(|e| format!("fill: {e}")),
        (Some(_), None) => Err("sparse from strided".to_string()),
        (None, _) => Ok(()),
    }
}
