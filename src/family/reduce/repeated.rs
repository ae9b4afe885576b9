//! Reductions of arrays that repeat their elements, as broadcasting makes them: each counts as often as it occurs, as the
//! fill of a sparse tensor does, and is looked at once.

use crate::base::mapped::Mapped;
use openwork_ops::ReduceOp;

use super::sparse::check_count;
use super::varying;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, count, dense_len};
use crate::engine::fold::{Fold, map_scalars};
use crate::engine::sides::all_finite;

/// Folds an array over `axes` (with `k` elements together), along some of which it repeats; `None` if it does so along
/// none, or if the fold does not say what copies come to.
pub(super) fn repeated(fold: &Fold, s: &Strided, kept: &[usize], axes: &[usize], k: u128) -> Result<Option<Strided>> {
    let repeats = |&a: &usize| s.strides[a] == 0 && s.shape[a] > 1;
    if s.shape.contains(&0) || !axes.iter().any(repeats) {
        return Ok(None);
    }
    let shape: Vec<usize> = kept.mapped(|&a| s.shape[a]);
    let core = s.unbroadcast();
    let over_kept: Vec<usize> = kept.mapped(|&a| core.shape[a]);
    let acc = if axes.iter().all(|&a| core.shape[a] == 1) {
        check_count(fold, &core, k)?;
        copies(fold, &core.permute(&[kept, axes].concat()).reshape(&over_kept)?, k)?
    } else if fold.op.extreme().is_some() || matches!(fold.op, ReduceOp::Any | ReduceOp::All) {
        fold.strided_acc(&core, kept, axes)?
    } else if !fold.op.is_sum_like() {
        return Ok(None);
    } else if !fold.typing.acc.is_inexact() {
        varying::integer_totals(fold, s, kept, axes)?
    } else if all_finite(&core) {
        varying::float_totals(fold, s, kept, axes)?
    } else {
        return Ok(None);
    };
    Ok(Some(fold.finish(&acc, k)?.broadcast(&shape).to_contiguous()?.into_owned()))
}

/// The fold of `k` copies of each element.
fn copies(fold: &Fold, values: &Strided, k: u128) -> Result<Strided> {
    let copies = |v: openwork_ops::Scalar| (fold.kernels.nfold)(v.cast(fold.typing.input), k);
    if values.len() <= GRAIN {
        return map_scalars(values, fold.typing.acc, copies);
    }
    let (dense, size) = (values.to_contiguous()?, fold.typing.acc.size());
    dense_len(&values.shape, fold.typing.acc)?;
    let buffer = Buffer::build(count(&values.shape) * size, |out| {
        parallel::for_chunks_mut(out, size, GRAIN, &|start, out| {
            for (i, o) in out.chunks_exact_mut(size).enumerate() {
                o.copy_from_slice(&copies(dense.at_offset(dense.offset + start + i)).to_bytes().0[..size]);
            }
        });
    })?;
    Ok(Strided::new(buffer, fold.typing.acc, values.shape.clone()))
}
