//! Sums, differences and products of two sparse operands over compressed rows or columns, in one pass over what they store: positions
//! on either side, from which the engine takes elements, are as much to write and to read again as the operands
//! (`benches/pointwise.rs`).

use openwork_ops::structure::merge::Keep;

use super::handful::{beside, is_plain};
use super::plan::Plan;
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::engine::join::Role;
use crate::levels::coiterate::{self, Operand};
use crate::tensor::{Sparse, Tensor};

/// Both over different patterns of the same levels, by the op's own kernel, if it has one for this dtype.
pub(super) fn merged(plan: &Plan<'_, '_>) -> Result<Option<Tensor>> {
    Ok(pair(plan))
}

fn pair(plan: &Plan<'_, '_>) -> Option<Tensor> {
    let pass = &plan.function.pass;
    let ([a, b], &[compute, of_b]) = (plan.sides, pass.computes) else { return None };
    let keep = match (a.role, b.role) {
        (Role::Any, Role::Any) => Keep::UNION,
        (Role::Every, Role::Every) => Keep::INTERSECTION,
        _ => return None,
    };
    let kernel = plan.function.op?.merge_kernel(compute, keep)?;
    let (x, y) = (a.stored.as_deref()?, b.stored.as_deref()?);
    if [x.dtype(), y.dtype(), of_b, pass.out] != [compute; 4] || !is_plain(x, plan.shape) || !is_plain(y, plan.shape) {
        return None;
    }
    let (beside_a, beside_b) = (beside(a, x)?, beside(b, y)?);
    let (values_a, values_b) = (x.values.contiguous_bytes()?, y.values.contiguous_bytes()?);
    let are_equal = || x.pattern.is_same(&y.pattern) || x.pattern.has_equal_arrays(&y.pattern);
    if !x.pattern.has_levels_of(&y.pattern) || are_equal() {
        return None;
    }
    let operands = [
        Operand { pattern: &x.pattern, values: values_a, beside: beside_a },
        Operand { pattern: &y.pattern, values: values_b, beside: beside_b },
    ];
    let (pattern, values) = coiterate::merge_values(operands, keep, compute.size(), kernel)?;
    let values = Strided::new(values, compute, &[pattern.positions][..]);
    Some(Sparse { shape: plan.shape.into(), pattern: pattern.into(), values, fill: plan.fill.clone().into() }.into())
}
