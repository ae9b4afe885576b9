//! Reductions of sparse tensors.

use crate::base::mapped::{Chosen, Mapped, repeated};
use std::borrow::Cow;
use std::sync::Arc;

use openwork_ops::reduce::Gives;
use openwork_ops::structure::common::is_any_in_all;
use openwork_ops::{ReduceOp, Scalar};

use super::order;
use super::rows::{in_order, rows};
use super::unstored::{constant_scalar, is_idempotent, is_neutral, with_unstored};
use super::varying::varying;
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::strided::{Shape, Strided, count};
use crate::base::trace::{Work, raise};
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::engine::fold::{Fold, map_scalars};
use crate::engine::sides::all_finite;
use crate::engine::slices::{Groups, Need, Table, group, is_few, reduced, table};
use crate::engine::unblock::unblocked;
use crate::engine::value_rows::place_of;
use crate::levels::indices::Indices;
use crate::levels::level::{Level, LevelKind};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::{Sparse, Tensor};

/// Elements for each step that is taken to find out that no line of them is whole, so that nobody has to count them.
const STEPS: usize = 16;

/// Reduces over `axes` (with `k` elements together), keeping `kept`.
pub(super) fn reduce(fold: &Fold, s: &Sparse, kept: &[usize], axes: &[usize], k: u128) -> Result<Tensor> {
    let op = fold.op.name();
    let s = if s.pattern.is_unique() { Cow::Borrowed(s) } else { Cow::Owned(convert::coalesce(s, ReduceOp::Sum)?) };
    let s = match along_rows(&s, kept)? {
        Some(rows) => Cow::Owned(rows),
        None => s,
    };
    if kept.is_empty()
        && let Fill::Scalar(value) = s.fill
    {
        return in_one(fold, &s, value, k).map(Tensor::from_strided);
    }
    if let Some(out) = over_levels(fold, &s, kept, axes, k)? {
        return Ok(Tensor::from_strided(out));
    }
    if let Fill::Scalar(value) = s.fill
        && let Some(out) = over_neutral(fold, &s, value, kept, axes, k)?
    {
        return Ok(Tensor::from_strided(out));
    }
    let fill = match s.fill_values() {
        None if faults::is(Fault::AbsentAsZero) => Strided::constant(Scalar::zero(s.dtype()), &s.shape),
        None => return undefined(fold, &s, kept),
        Some(fill) => fill,
    };
    let varies = axes.iter().any(|&a| fill.strides[a] != 0 && fill.shape[a] > 1);
    if !varies {
        return constant(fold, &s, &fill, kept, axes, k);
    }
    let finite = || !fold.typing.acc.is_inexact() || all_finite(&fill);
    if fold.op.is_sum_like() && finite() {
        return varying(fold, &s, &fill, kept, axes, k);
    }
    if k > 0
        && let Some(out) = order::varying(fold, &s, axes)?
    {
        return Ok(out);
    }
    context::may_densify(&s.shape, s.dtype().size(), || {
        format!("the fill varies along a reduced axis, and {op} cannot take elements away")
    })?;
    let dense = convert::to_strided(&s, &fill)?;
    Ok(Tensor::from_strided(fold.strided(&dense, kept, axes)?))
}

/// A matrix by coordinates or listed rows in compressed rows, where a result for each row is wanted; one in blocks where one is wanted for
/// each row or column.
fn along_rows(s: &Sparse, kept: &[usize]) -> Result<Option<Sparse>> {
    match kept {
        [_] if s.pattern.block_rows().is_some() => Ok(unblocked(s)),
        [axis] if s.pattern.dims.first().is_some_and(|d| d.axis == *axis) => convert::by_rows(s),
        _ => Ok(None),
    }
}

/// All elements in one, of which those that are not stored are one value: what [`constant`] gives, without groups.
fn in_one(fold: &Fold, s: &Sparse, fill: Scalar, k: u128) -> Result<Strided> {
    raise(Work::Specialised);
    check_count(fold, &Strided::constant(fill, &[]), k)?;
    let acc = if s.pattern.positions == 0 {
        Strided::constant((fold.kernels.nfold)(fill.cast(fold.typing.input), k), &[])
    } else {
        let values = s.values.cast(fold.typing.input);
        let stored = Strided::new(fold.all(&values.dense_bytes()?), fold.typing.acc, &[][..]);
        with_unstored(fold, stored, &|| Ok(Strided::constant(fill, &[])), &|_| s.nse() as u64, 1, k)?
    };
    fold.finish(&acc, k)
}

/// Folds of rows of values over each other, where axes of rows alone are kept; a defined fill is one value along the others.
fn over_levels(fold: &Fold, s: &Sparse, kept: &[usize], axes: &[usize], k: u128) -> Result<Option<Strided>> {
    let places = |axes: &[usize]| axes.iter().map(|&axis| place_of(s, axis)).collect::<Option<Vec<_>>>();
    let (Some(of_kept), Some(fill)) = (places(kept), s.fill_values()) else { return Ok(None) };
    let is_one = |&a: &usize| fill.strides[a] == 0 || fill.shape[a] <= 1;
    if s.pattern.value_dims().is_empty() || s.values.len() == 0 || !axes.iter().all(is_one) {
        return Ok(None);
    }
    raise(Work::Specialised);
    let others: Vec<usize> = (0..s.values.ndim()).chosen(|place| !of_kept.contains(place));
    let acc = fold.strided_acc(&s.values, &of_kept, &others)?;
    let mut over_kept = fill.permute(kept);
    over_kept.shape = acc.shape.clone();
    check_count(fold, &over_kept.unbroadcast(), k)?;
    let each = (s.nse() / acc.len()) as u64;
    let acc = with_unstored(fold, acc, &|| Ok(over_kept.clone()), &|_| each, 1, k)?;
    fold.finish(&acc, k).map(Some)
}

/// The few folds of a tensor of which unstored elements leave them as they are: what [`constant`] gives, without an array for the
/// fill.
fn over_neutral(
    fold: &Fold,
    s: &Sparse,
    fill: Scalar,
    kept: &[usize],
    axes: &[usize],
    k: u128,
) -> Result<Option<Strided>> {
    let shape: Shape = kept.iter().map(|&a| s.shape[a]).collect();
    if shape.contains(&0) || !is_few(&shape, s.nse()) || !is_neutral(fold, fill) {
        return Ok(None);
    }
    // What adds nothing to a count needs no look at how much there is.
    if let Some(out) = rows(fold, s, None, kept, axes, k)? {
        return Ok(Some(out));
    }
    let Some(mut table) = table(fold, s, kept, Need::Folds)? else { return Ok(None) };
    table.put_empty((fold.kernels.nfold)(fill.cast(fold.typing.input), k));
    Ok(Some(in_order(fold.finish(&table.acc, k)?, &table.axes, kept)))
}

/// A fill that is one value along every reduced axis.
fn constant(fold: &Fold, s: &Sparse, fill: &Strided, kept: &[usize], axes: &[usize], k: u128) -> Result<Tensor> {
    let shape: Vec<usize> = kept.mapped(|&a| s.shape[a]);
    // The fill over the kept axes: any index along the reduced ones will do.
    let mut over_kept = fill.permute(kept);
    over_kept.shape = shape[..].into();
    let core = over_kept.unbroadcast();
    check_count(fold, &core, k)?;
    let need = if leaves_folds(fold, s, &core, kept, k) { Need::Folds } else { Need::Counts };
    if is_few(&shape, s.nse()) {
        if let Some(out) = rows(fold, s, Some(fill), kept, axes, k)? {
            return Ok(Tensor::from_strided(out));
        }
        if let Some(table) = table(fold, s, kept, need)? {
            return Ok(Tensor::from_strided(whole(fold, table, &over_kept, kept, k)?));
        }
    }
    let empty = map_scalars(&core, fold.typing.acc, |v| (fold.kernels.nfold)(v.cast(fold.typing.input), k))?;
    let empty = Strided { shape: core.shape.clone(), ..empty }.broadcast(&shape);
    let Groups { pattern, acc, counts } = group(fold, s, &s.values, kept, need)?;
    let pattern = Arc::new(pattern);
    let (n, block) = (acc.len(), pattern.block());
    let count = |i: usize| counts.get(i).copied().unwrap_or(0);
    let fills = || match constant_scalar(&core) {
        Some(value) => Ok(Strided::constant(value, &[n])),
        None => blocks::collect(n, Source::at(&over_kept, &pattern), s.dtype()),
    };
    let acc = with_unstored(fold, acc, &fills, &count, block, k)?;
    let values = fold.finish(&acc, k)?;
    let fill = fill_of(&fold.finish(&empty, k)?);
    reduced(Sparse { shape: shape.into(), pattern, values, fill }, s.nse())
}

/// A table of folds with what is not stored, as the result.
fn whole(fold: &Fold, mut table: Table, over_kept: &Strided, kept: &[usize], k: u128) -> Result<Strided> {
    let place = |axes: &[usize], a: &usize| axes.iter().position(|b| b == a);
    let order: Vec<usize> = table.axes.iter().filter_map(|a| place(kept, a)).collect();
    let axes = std::mem::take(&mut table.axes);
    let fills = over_kept.permute(&order);
    let acc = match constant_scalar(&fills).filter(|&v| is_neutral(fold, v)) {
        Some(v) => {
            table.put_empty((fold.kernels.nfold)(v.cast(fold.typing.input), k));
            table.acc
        }
        None => {
            let Table { acc, counts, .. } = table;
            let count = |i: usize| counts.get(i).copied().unwrap_or(0).into();
            with_unstored(fold, acc, &|| Ok(fills.clone()), &count, 1, k)?
        }
    };
    Ok(in_order(fold.finish(&acc, k)?, &axes, kept))
}

/// Whether exactly the dense levels of a pattern are kept: then the result is as long as its pointers.
pub(super) fn axes_are_inner(s: &Sparse, kept: &[usize], axes: &[usize]) -> bool {
    let p = &s.pattern;
    let dense = p.levels.iter().take_while(|l| l.kind() == LevelKind::Dense).count();
    dense > 0
        && p.level_dims()[..dense].iter().all(|d| kept.contains(&d.axis))
        && p.level_dims()[dense..].iter().all(|d| axes.contains(&d.axis))
}

/// Whether what the stored elements of a slice fold to is all there is to know: the fill changes no fold, or the same way
/// however often it occurs, and it occurs in every slice.
fn leaves_folds(fold: &Fold, s: &Sparse, fill: &Strided, kept: &[usize], k: u128) -> bool {
    let some_unstored = || {
        k > s.nse() as u128
            || match &s.pattern.levels[..] {
                [Level::Dense, Level::Sparse { pointers: Some(p), indices, ordered, .. }]
                    if !kept.contains(&s.pattern.dims[0].axis) =>
                {
                    let p = p.as_slice();
                    let is_any_whole = |indices: &Indices| is_any_in_all(p, indices.as_slice(), s.nse() / STEPS);
                    p.has_empty() || (*ordered && indices.len() == 1 && is_any_whole(&indices[0]) == Some(false))
                }
                _ => false,
            }
    };
    let value = constant_scalar(fill);
    value.is_some_and(|v| is_neutral(fold, v) || (is_idempotent(fold, v) && some_unstored()))
}

/// Counts are exact: a number of elements beyond what the result holds is an error.
pub(super) fn check_count(fold: &Fold, fill: &Strided, k: u128) -> Result<()> {
    if fold.op.gives() != Gives::Count || k <= i64::MAX as u128 {
        return Ok(());
    }
    let dense = fill.to_contiguous()?;
    if (0..dense.len()).all(|i| dense.at_offset(dense.offset + i).is_zero()) {
        return Ok(());
    }
    Err(error::invalid("self", format_args!("{k} elements with a fill that is not zero: the count does not fit int64")))
}

/// An undefined fill: only what is stored counts.
fn undefined(fold: &Fold, s: &Sparse, kept: &[usize]) -> Result<Tensor> {
    let groups = group(fold, s, &s.values, kept, Need::Counts)?;
    let shape: Vec<usize> = kept.mapped(|&a| s.shape[a]);
    let pattern = Arc::new(groups.pattern);
    if fold.op.gives() == Gives::Count {
        let values = groups.acc.cast(fold.typing.out);
        let out = Sparse { shape: shape.into(), pattern, values, fill: Fill::Scalar(Scalar::zero(fold.typing.out)) };
        return reduced(out, s.nse());
    }
    // A group of positions without elements (a value axis of size 0) has nothing in it either.
    let keep: Vec<usize> = (0..pattern.positions).chosen(|&p| groups.counts[p] > 0);
    let values = if fold.op.gives() == Gives::Mean {
        let block = count(&groups.acc.shape[1..]);
        let counts: Vec<f64> = repeated(groups.counts.iter().map(|&c| (c as f64, block)));
        fold.divide(&groups.acc, &Strided::from_vec(counts, groups.acc.shape.clone()).cast(fold.typing.acc))?
    } else {
        groups.acc.cast(fold.typing.out)
    };
    let out = Sparse { shape: shape.into(), pattern, values, fill: Fill::Undefined };
    convert::select_rows(&out, &keep).map(Into::into)
}
