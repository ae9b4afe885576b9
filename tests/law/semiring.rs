//! The law for products over semirings, and with masks: the oracle multiplies and folds by the ops one after the other.

use openwork::{BinaryOp, Layout, Plus, Product, Semiring, Times};

use super::cells::Cell;
use super::gen_::generate;
use super::oracle::{self, Expected, OType, OValue, Oracle, Refused};
use super::pointwise::{Mode, agrees, both};
use super::rng::Rng;
use super::values::Data;

/// A predefined semiring, or one of two ops.
pub fn any(rng: &mut Rng) -> Semiring {
    if rng.one_in(4) {
        let ops = [BinaryOp::Sub, BinaryOp::Eq, BinaryOp::Maximum, BinaryOp::Div, BinaryOp::BitwiseXor, BinaryOp::Lt];
        return Semiring::new(*rng.pick(&Plus::ALL), *rng.pick(&ops));
    }
    *rng.pick(Semiring::ALL)
}

/// The product by ops on the dense meanings: ⊗ over `(batch, m, k, n)`, ⊕ over `k`.
fn expected(a: &Oracle, b: &Oracle, semiring: Semiring) -> Result<Expected, Refused> {
    if semiring == Semiring::PLUS_TIMES {
        return oracle::matmul(a, b);
    }
    let shape = oracle::matmul_shape(&a.shape, &b.shape)?;
    let dtype = oracle::promote(a.dtype, b.dtype).ok_or(Refused::Promotion)?;
    let rows = if a.ndim() == 1 { a.expand_dims(0)? } else { a.clone() };
    let columns = if b.ndim() == 1 { b.expand_dims(1)? } else { b.clone() };
    let left = rows.cast(dtype).expand_dims(rows.ndim())?;
    let right = columns.cast(dtype).expand_dims(columns.ndim() - 2)?;
    let pairs = match semiring.times {
        Times::Op(op) => oracle::binary(op.name(), &left, &right)?.value,
        other => {
            let whole = oracle::broadcast_shapes(&left.shape, &right.shape)?;
            let [x, y] = [left.broadcast_to(&whole)?, right.broadcast_to(&whole)?];
            let counts = if dtype.is_bool() { OType::I64 } else { dtype };
            let one = Oracle::from_f64(&[], counts, &[1.0]).data[0];
            let data = x.data.iter().zip(&y.data).map(|(&x, &y)| match other {
                Times::First => x.filter(|_| y.is_some()),
                Times::Second => y.filter(|_| x.is_some()),
                _ => one.filter(|_| x.is_some() && y.is_some()),
            });
            let of = if other == Times::Pair { counts } else { dtype };
            Oracle { shape: whole.clone(), dtype: of, data: data.collect(), undefined: x.undefined || y.undefined }
        }
    };
    let of = pairs.dtype;
    let axis = pairs.ndim() - 2;
    let fold = match semiring.plus {
        Plus::Sum if of.is_bool() => "any",
        Plus::Prod if of.is_bool() => "all",
        Plus::Xor if !of.is_bool() => return Err(Refused::Promotion),
        Plus::Sum | Plus::Xor => "sum",
        Plus::Prod => "prod",
        Plus::Min => "min",
        Plus::Max => "max",
        Plus::Or => "any",
        Plus::And => "all",
        other => panic!("the oracle has no {other:?}"),
    };
    let mut sum = oracle::reduce(fold, &pairs, &[axis], false)?;
    match semiring.plus {
        Plus::Xor => {
            let odd = |v: &Option<OValue>| v.map(|v| OValue::Bool(matches!(v, OValue::Int(n) if n % 2 != 0)));
            sum.value.data = sum.value.data.iter().map(odd).collect();
            sum.value.dtype = OType::Bool;
        }
        // Not the wider dtype of sums and products.
        Plus::Sum | Plus::Prod if !of.is_bool() => sum.value = sum.value.cast(of),
        _ => {}
    }
    sum.value.shape = shape;
    // Rounding of what is folded, and of what it gives.
    if sum.value.dtype.is_int() || sum.value.dtype.is_bool() {
        (sum.slack.iter_mut()).for_each(|s| *s = 0.0);
    }
    Ok(sum)
}

pub fn matmul_with(
    cells: [&Cell; 2],
    semiring: Semiring,
    mask: Option<&Cell>,
    seed: u64,
    mode: Mode,
) -> Result<(), String> {
    let data = if mode == Mode::Exact { Data::Summable } else { Data::Any };
    let [a, b] = [generate(cells[0], seed, data), generate(cells[1], seed ^ 0x5555, data)];
    let mut want = expected(&a.model, &b.model, semiring);
    let mask = mask.map(|cell| generate(cell, seed ^ 0x77, Data::Any));
    if let (Some(mask), Ok(want)) = (&mask, &mut want) {
        let whole = mask.model.broadcast_to(&want.value.shape).map_err(|e| format!("mask: {e}"))?;
        for (value, chosen) in want.value.data.iter_mut().zip(&whole.data) {
            *value = value.filter(|_| chosen.is_some_and(|c| c.truth()));
        }
        for (slack, value) in want.slack.iter_mut().zip(&want.value.data) {
            *slack = if value.is_some() { *slack } else { 0.0 };
        }
        want.value.undefined = true;
    }
    let product = match &mask {
        Some(mask) => Product::from(semiring).mask(&mask.tensor),
        None => Product::from(semiring),
    };
    let got = mode.run(|| a.tensor.matmul_with(&b.tensor, product.clone()));
    // No element is the least of none; there the identity is given.
    let inner = a.model.shape.last().copied();
    if matches!(semiring.plus, Plus::Min | Plus::Max) && inner == Some(0) {
        return Ok(());
    }
    let Some((want, got)) = both(want, got)? else { return Ok(()) };
    let want = super::matmul::tolerated(want, mode);
    agrees("the oracle", &want, &got)?;
    // The same in a layout that is asked for: strided without a sparse product before it, where nothing is absent.
    let is_whole = want.value.data.iter().all(Option::is_some);
    let layout = if is_whole { Layout::Strided } else { Layout::Coo };
    let got =
        mode.run(|| a.tensor.matmul_with(&b.tensor, product.layout(layout))).map_err(|e| format!("{layout}: {e}"))?;
    if got.layout() != layout {
        return Err(format!("{layout} was asked for, {} is given", got.layout()));
    }
    agrees("the oracle, in a layout of choice", &want, &got)?;
    Ok(())
}
