//! Two sparse operands over compressed rows or columns, or coordinates, in one pass over what they store: positions on either side, from
//! which the engine takes elements, are as much to write and to read again as the operands (`benches/pointwise.rs`).

use openwork_ops::Scalar;
use openwork_ops::binary::MergeKernel;
use openwork_ops::structure::merge::Keep;

use super::handful::is_plain;
use super::plan::Plan;
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::engine::blocks::Kernel;
use crate::engine::join::Role;
use crate::engine::{convert, recompress};
use crate::levels::coiterate::{self, Elsewhere, Operand};
use crate::tensor::fill::Background;
use crate::tensor::{Sparse, Tensor};

/// Both over different patterns of the same levels, of which all coordinates are kept or those of both. Rows that are listed get a
/// pointer each on the way, where that is quick.
///
/// # Errors
/// If memory cannot hold the values of one in order, or in the dtype that the op computes in.
pub(super) fn merged(plan: &Plan<'_, '_>) -> Result<Option<Tensor>> {
    let Some(suited) = suited(plan) else { return Ok(None) };
    let [x, y] = suited.stored;
    let positions = x.pattern.positions + y.pattern.positions;
    let by_rows = |s: &Sparse| recompress::by_rows(s, positions).filter(|_| s.pattern.levels.len() == 2);
    let merged = match (by_rows(x), by_rows(y)) {
        (Some(rows), Some(_)) => {
            let (x, y) = (convert::convert(x, &rows)?, convert::convert(y, &rows)?);
            let listed = suited.stored[0].pattern.spec();
            suited.merged(plan, [&x, &y])?.map(|merged| convert::convert(&merged, &listed)).transpose()?
        }
        _ => suited.merged(plan, [x, y])?,
    };
    Ok(merged.map(Tensor::from))
}

impl Suited<'_> {
    /// Of what both store, in levels that are merged.
    fn merged(&self, plan: &Plan<'_, '_>, [x, y]: [&Sparse; 2]) -> Result<Option<Sparse>> {
        let (keep, compute) = (self.keep, plan.function.pass.computes[0]);
        // One value for all, as identities have, or in another order.
        let (of_x, of_y) = (x.values.cast(compute), y.values.cast(compute));
        let (values_x, values_y) = (of_x.dense_bytes()?, of_y.dense_bytes()?);
        let dtype = plan.function.pass.out;
        let rests = self.rests.map(|rest| rest.clone().cast(compute));
        // Where only what both store is kept, and where results are absent, any will do.
        let elsewhere = rests.each_ref().map(|rest| match rest {
            Background::Array(array) if keep == Keep::UNION => Elsewhere::Array(array),
            other => Elsewhere::One(other.scalar().unwrap_or_else(|| Scalar::zero(compute))),
        });
        let operands = [
            Operand { pattern: &x.pattern, values: &values_x, beside: elsewhere[0] },
            Operand { pattern: &y.pattern, values: &values_y, beside: elsewhere[1] },
        ];
        let Some((pattern, values)) = coiterate::merge_values(operands, keep, dtype.size(), self.kernel) else {
            return Ok(None);
        };
        let values = Strided::new(values, dtype, &[pattern.positions][..]);
        let fill = plan.fill.clone().into();
        Ok(Some(Sparse { shape: plan.shape.into(), pattern: pattern.into(), values, fill }))
    }
}

/// A kernel for some operands, and what it keeps; what each stores, and what it is elsewhere.
struct Suited<'p> {
    kernel: MergeKernel,
    keep: Keep,
    stored: [&'p Sparse; 2],
    rests: [&'p Background; 2],
}

fn suited<'p>(plan: &Plan<'p, '_>) -> Option<Suited<'p>> {
    let pass = &plan.function.pass;
    let ([a, b], &[compute, of_b], Kernel::Binary(kernel)) = (plan.sides, pass.computes, pass.kernel) else {
        return None;
    };
    let keep = match (a.role, b.role) {
        (Role::Any, Role::Any) => Keep::UNION,
        (Role::Every, Role::Every) => Keep::INTERSECTION,
        _ => return None,
    };
    let (x, y) = (a.stored.as_deref()?, b.stored.as_deref()?);
    let are_alike = is_plain(x, plan.shape) && is_plain(y, plan.shape) && x.pattern.has_levels_of(&y.pattern);
    // Of one pattern, values are all that is looked at.
    let are_equal = || x.pattern.is_same(&y.pattern) || x.pattern.has_equal_arrays(&y.pattern);
    if of_b != compute || !are_alike || are_equal() {
        return None;
    }
    let fused = plan.function.op.filter(|_| pass.out == compute).and_then(|op| op.merge_kernel(compute, keep));
    let kernel = fused.or_else(|| MergeKernel::side_by_side(kernel, compute, pass.out, keep))?;
    Some(Suited { kernel, keep, stored: [x, y], rests: [&a.rest, &b.rest] })
}
