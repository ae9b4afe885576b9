//! Two sparse operands that store a handful of elements, as tensors in loops over small parts do: what the engine does,
//! in one pass over memory of the stack. At ten elements each that takes a quarter fewer instructions (`benches/pointwise.rs`).

use openwork_ops::Scalar;
use openwork_ops::structure::IndexSlice;
use openwork_ops::structure::gather::gather_rows_or;
use openwork_ops::structure::merge::Keep;

use super::plan::Plan;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::engine::join::Role;
use crate::engine::sides::Side;
use crate::levels::coiterate::{self, Chosen, PLACES};
use crate::levels::level::LevelKind;
use crate::tensor::fill::Background;
use crate::tensor::{Sparse, Tensor};

/// Both over patterns of the same levels that are merged, if together they store no more than positions have room
/// without memory of their own.
///
/// # Errors
/// If memory cannot hold the result.
pub(super) fn merged(plan: &Plan<'_, '_>) -> Result<Option<Tensor>> {
    let pass = &plan.function.pass;
    let ([a, b], &[of_a, of_b]) = (plan.sides, pass.computes) else { return Ok(None) };
    let (Some(x), Some(y)) = (a.stored.as_deref(), b.stored.as_deref()) else { return Ok(None) };
    if x.nse() + y.nse() > PLACES
        || (x.dtype(), y.dtype()) != (of_a, of_b)
        || !is_plain(x, plan.shape)
        || !is_plain(y, plan.shape)
    {
        return Ok(None);
    }
    let (Some(beside_a), Some(beside_b)) = (beside(a, x), beside(b, y)) else { return Ok(None) };
    let (Some(values_a), Some(values_b)) = (x.values.contiguous_bytes(), y.values.contiguous_bytes()) else {
        return Ok(None);
    };
    if !x.pattern.has_levels_of(&y.pattern) || x.pattern.is_same(&y.pattern) {
        return Ok(None);
    }
    let (keep, a_first) = match (a.role, b.role) {
        (Role::Any, Role::Any) => (Keep::UNION, true),
        (Role::Every, Role::Every) => (Keep::INTERSECTION, true),
        (Role::Every, Role::Any) => (Keep { left: true, right: false }, true),
        (Role::Any, Role::Every) => (Keep { left: true, right: false }, false),
        (Role::Look, _) | (_, Role::Look) => return Ok(None),
    };
    let (first, second) = if a_first { (x, y) } else { (y, x) };
    let mut chosen = Chosen::none();
    let merged = coiterate::merge_narrow(&first.pattern, &second.pattern, keep, &mut chosen);
    let Some(merged) = merged else { return Ok(None) };
    let (at_a, at_b) = if a_first { (&chosen.left, &chosen.right) } else { (&chosen.right, &chosen.left) };
    // Where only the first's positions are kept, its pattern is the result's.
    let pattern = if keep.left && !keep.right { first.pattern.clone() } else { merged.into() };
    let (mut room_a, mut room_b) = ([0u128; PLACES], [0u128; PLACES]);
    let blocks = [
        gathered(values_a, of_a.size(), at_a, beside_a, &mut room_a),
        gathered(values_b, of_b.size(), at_b, beside_b, &mut room_b),
    ];
    let (n, width) = (pattern.positions, pass.out.size());
    let buffer = Buffer::overwritten(n * width, width, |out| pass.kernel.on_blocks(&blocks, out))?;
    let values = Strided::new(buffer, pass.out, &[n][..]);
    Ok(Some(Sparse { shape: plan.shape.into(), pattern, values, fill: plan.fill.clone().into() }.into()))
}

/// Whether it stores single elements of the shape, in order, in levels that are merged.
pub(super) fn is_plain(s: &Sparse, shape: &[usize]) -> bool {
    s.shape == shape
        && s.pattern.level_dims == s.pattern.dims.len()
        && s.pattern.is_canonical()
        && s.pattern.levels.iter().all(|l| l.kind() != LevelKind::Singleton)
}

/// The one value that a side is where it stores nothing; any, where it is absent there and so are the results.
pub(super) fn beside(side: &Side<'_>, s: &Sparse) -> Option<Scalar> {
    match &side.rest {
        Background::Undefined => Some(Scalar::zero(s.dtype())),
        Background::Scalar(value) => Some(*value),
        Background::Array(_) => None,
    }
}

/// The selected elements, and another where none is.
fn gathered<'r>(source: &[u8], size: usize, select: &[u32], or: Scalar, room: &'r mut [u128; PLACES]) -> &'r [u8] {
    let out = &mut bytemuck::cast_slice_mut(room)[..select.len() * size];
    gather_rows_or(source, size, IndexSlice::U32(select), &or.to_bytes().0[..size], out);
    out
}
