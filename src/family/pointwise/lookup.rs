//! A sparse vector, matrix or tensor of fewer axes beside a sparse tensor over whose other axes it repeats, where only the tensor's own
//! positions can be stored in the result: it is looked up at these, never repeated.

use std::borrow::Cow;

use openwork_ops::structure::Index;
use openwork_ops::{DType, ReduceOp, Scalar};

use super::plan::Plan;
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::mapped::{Chosen, Mapped};
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::engine::join::Role;
use crate::engine::sides::{Side, core_of};
use crate::levels::layout::Layout;
use crate::levels::pattern::{Dim, Pattern};
use crate::levels::retain::Kept;
use crate::tensor::fill::Background;
use crate::tensor::{Sparse, Tensor};

/// `x op v` or `v op x`, if `v` is sparse and repeats along `x` and the result stores nothing where `x` does not: `x` is undefined there,
/// or its fill annihilates.
pub(super) fn fewer_axes_beside(plan: &Plan<'_, '_>) -> Result<Option<Tensor>> {
    let [a, b] = plan.sides else { return Ok(None) };
    if a.role != Role::Every && b.role != Role::Every {
        return Ok(None);
    }
    let v_first = a.repeats(plan.shape);
    let (x, v) = if v_first { (b, a) } else { (a, b) };
    let (Some(s), Some(vector)) = (&x.stored, &v.stored) else { return Ok(None) };
    if s.shape != plan.shape || x.role != Role::Every || !v.repeats(plan.shape) {
        return Ok(None);
    }
    let lead = plan.shape.len() - vector.ndim();
    let real: Vec<usize> = (0..vector.ndim()).chosen(|&d| vector.shape[d] > 1);
    let &[d] = &real[..] else {
        return if real.is_empty() { Ok(None) } else { in_order_beside(plan, s, (v, vector), v_first) };
    };
    // Rows of value axes cannot lose single elements: the vector's axis must be whole in a level.
    if !s.pattern.level_dims().contains(&Dim::whole(lead + d, plan.shape[lead + d])) {
        return Ok(None);
    }
    if core_of(plan.shape, plan.sides).iter().filter(|&&n| n > 1).count() > 1 {
        return Ok(None); // stored elements of both take part
    }
    // The vector's dense form is the table that is looked up: no longer than the pattern, or within budget.
    let bytes = (vector.shape[d] as u128).saturating_mul(1 + vector.dtype().size() as u128);
    if vector.shape[d] > s.nse() && bytes > u128::from(context::densify_budget()) {
        return Ok(None);
    }
    at_positions(plan, s, vector, v.role == Role::Every, v_first).map(Some)
}

/// The op at the positions of `s`, or at those of them where the vector stores something.
fn at_positions(plan: &Plan<'_, '_>, s: &Sparse, vector: &Sparse, stored_only: bool, v_first: bool) -> Result<Tensor> {
    let absent = || Strided::constant(Scalar::zero(vector.dtype()), &vector.shape);
    let fill = vector.fill_values().unwrap_or_else(absent);
    let table = convert::to_strided(vector, &fill)?.broadcast(plan.shape);
    let kept = if stored_only {
        let stored = Tensor::from(vector.clone()).is_stored()?;
        let Some(stored) = stored.sparse() else { return Err(error::layout("is_stored is sparse")) };
        let none = Strided::constant(Scalar::Bool(false), &vector.shape);
        let presence = convert::to_strided(stored, &none)?.broadcast(plan.shape);
        let s = convert::coalesce(s, ReduceOp::Sum)?;
        let block = s.pattern.block();
        let mask = blocks::collect(s.nse(), Source::at(&presence, &s.pattern), DType::Bool)?;
        let mask = mask.buffer.bytes();
        let keep: Vec<usize> = (0..s.pattern.positions).chosen(|&p| block > 0 && mask[p * block] != 0);
        Cow::Owned(convert::select_rows(&s, &keep)?)
    } else {
        Cow::Borrowed(s)
    };
    let (own, other) = (Source::values(&kept.values), Source::at(&table, &kept.pattern));
    let sources = if v_first { [other, own] } else { [own, other] };
    let values = plan.function.pass.values(&kept.pattern, &sources)?;
    let fill = plan.fill.clone().into();
    Ok(Sparse { shape: plan.shape.into(), pattern: kept.pattern.clone(), values, fill }.into())
}

/// The same for what varies along several axes: its elements are found by their places in C order, in a table of all where that is not
/// much longer than what is stored, else by a search. `None` where stored elements of both take part, rows of values are stored, or
/// what is repeated is so little that it is merged sooner.
fn in_order_beside(
    plan: &Plan<'_, '_>,
    x: &Sparse,
    (side, v): (&Side<'_>, &Sparse),
    v_first: bool,
) -> Result<Option<Tensor>> {
    let (shape, stored_only) = (plan.shape, side.role == Role::Every);
    let lead = shape.len() - v.ndim();
    let sizes = (0..shape.len()).mapped(|d| if d < lead { 1 } else { v.shape[d - lead] });
    let mut weights = vec![0u64; shape.len()];
    let mut cells = 1u64;
    for d in (0..shape.len()).rev().filter(|&d| sizes[d] > 1) {
        weights[d] = cells;
        let Some(more) = cells.checked_mul(sizes[d] as u64) else { return Ok(None) };
        cells = more;
    }
    let times: u128 = (0..shape.len()).filter(|&d| sizes[d] != shape[d]).map(|d| shape[d] as u128).product();
    let is_little = stored_only && (v.nse() as u128).saturating_mul(times) <= x.nse() as u128 / 4;
    let varying = core_of(shape, plan.sides).iter().filter(|&&n| n > 1).count();
    if is_little || varying > 1 || x.pattern.level_dims != x.pattern.dims.len() || u32::try_from(v.nse()).is_err() {
        return Ok(None);
    }
    let x = if stored_only && !x.pattern.is_canonical() {
        Cow::Owned(convert::coalesce(x, ReduceOp::Sum)?)
    } else {
        Cow::Borrowed(x)
    };
    let v = convert::to_named(v, Layout::Coo)?;
    raise(Work::Engine);
    let keys = v.pattern.linearized(&v.pattern.level_weights(&weights[lead..]));
    let select = found(&x.pattern, &x.pattern.level_weights(&weights), &keys, cells);
    let (kept, select) = if stored_only {
        let mut keep = vec![false; select.len()];
        parallel::for_chunks_mut(&mut keep, 1, GRAIN, &|start, keep| {
            keep.iter_mut().zip(&select[start..]).for_each(|(keep, &at)| *keep = at != u32::NONE);
        });
        let own = Kept::new(&keep).indices(&select.into());
        (Cow::Owned(convert::retain_rows(&x, &keep)?), own)
    } else {
        (x, select.into())
    };
    let beside = match &side.rest {
        Background::Undefined => Source::Constant(Scalar::zero(v.dtype())),
        Background::Scalar(value) => Source::Constant(*value),
        Background::Array(values) => Source::at(&**values, &kept.pattern),
    };
    let (own, other) = (Source::values(&kept.values), Source::select(&v.values, 1, &select, beside)?);
    let sources = if v_first { [other, own] } else { [own, other] };
    let values = plan.function.pass.values(&kept.pattern, &sources)?;
    let fill = plan.fill.clone().into();
    Ok(Some(Sparse { shape: shape.into(), pattern: kept.pattern.clone(), values, fill }.into()))
}

/// For each position of a pattern, which of some rising keys, all below `cells`, its linear form with these weights is, or none.
///
/// Cost: O(positions) where a table of all cells is not much longer than what is looked up, else O(positions · log keys) at most.
fn found(pattern: &Pattern, weights: &[u64], keys: &[u64], cells: u64) -> Scratch<u32> {
    /// Cells of a table for each key and each position.
    const PER_KEY: usize = 4;
    /// Positions whose places are computed at a time.
    const PIECE: usize = 1 << 12;
    let most = (keys.len() + pattern.positions).saturating_mul(PER_KEY);
    let table = usize::try_from(cells).ok().filter(|&cells| cells <= most).map(|cells| {
        let mut table = vec![u32::NONE; cells];
        (0..).zip(keys).for_each(|(i, &key)| table[key as usize] = i);
        table
    });
    let mut out = Scratch::any(pattern.positions);
    parallel::for_chunks_mut(&mut out, 1, GRAIN, &|start, out| {
        let (mut room, mut near) = ([0; PIECE], 0);
        for (first, out) in (start..).step_by(PIECE).zip(out.chunks_mut(PIECE)) {
            let own = &mut room[..out.len()];
            pattern.linearize(weights, first..first + own.len(), own);
            match &table {
                Some(table) => out.iter_mut().zip(&*own).for_each(|(out, &key)| *out = table[key as usize]),
                None => out.iter_mut().zip(&*own).for_each(|(out, &key)| {
                    near = lower_bound(keys, key, near);
                    *out = if keys.get(near) == Some(&key) { near as u32 } else { u32::NONE };
                }),
            }
        }
    });
    out
}

/// The first of some rising keys that is not less, looked for from `near` on, ever further.
fn lower_bound(keys: &[u64], key: u64, near: usize) -> usize {
    let is_less = |at: usize| keys.get(at).is_some_and(|&k| k < key);
    let (mut low, mut step) = (if near > 0 && !is_less(near - 1) { 0 } else { near }, 1);
    while is_less(low + step - 1) {
        (low, step) = (low + step, 2 * step);
    }
    let high = keys.len().min(low + step);
    low + keys[low..high].partition_point(|&k| k < key)
}
