//! A sparse vector beside a sparse tensor over whose other axes it repeats, where only the tensor's own positions can be
//! stored in the result: the vector is looked up at these, never repeated.

use std::borrow::Cow;

use openwork_ops::{DType, ReduceOp, Scalar};

use super::plan::Plan;
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::mapped::Chosen;
use crate::base::strided::Strided;
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::engine::join::Role;
use crate::engine::sides::core_of;
use crate::levels::pattern::Dim;
use crate::tensor::{Sparse, Tensor};

/// `x op v` or `v op x`, if `v` is a sparse vector that repeats along `x` and the result stores nothing where `x` does not:
/// `x` is undefined there, or its fill annihilates.
pub(super) fn vector_beside(plan: &Plan<'_, '_>) -> Result<Option<Tensor>> {
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
    let mut real = (0..vector.ndim()).filter(|&d| vector.shape[d] > 1);
    let (Some(d), None) = (real.next(), real.next()) else { return Ok(None) };
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
