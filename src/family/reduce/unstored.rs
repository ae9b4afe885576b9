//! What unstored elements add to folds of stored ones: the fill, as often as it occurs.

use openwork_ops::Scalar;

use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::fold::Fold;

/// Whether copies of a fill leave a fold as it is, or all come to one.
pub(super) fn is_neutral(fold: &Fold, fill: Scalar) -> bool {
    let fill = fill.cast(fold.typing.input);
    (fold.kernels.nfold)(fill, 1).same((fold.kernels.nfold)(fill, 0))
}

/// Whether any number of copies of a fill but none folds to the same.
pub(super) fn is_idempotent(fold: &Fold, fill: Scalar) -> bool {
    let fill = fill.cast(fold.typing.input);
    (fold.kernels.nfold)(fill, 1).same((fold.kernels.nfold)(fill, 2))
}

/// The one value of a fill, if it has just one.
pub(super) fn constant_scalar(fill: &Strided) -> Option<Scalar> {
    let core = fill.unbroadcast();
    (core.len() == 1).then(|| core.at_offset(core.offset))
}

/// Folds `k - counts(i / block)` copies of `fills()[i]` into accumulator `i`. The fills have the accumulators' elements, in C
/// order; they are asked for only where they matter.
pub(super) fn with_unstored(
    fold: &Fold,
    mut acc: Strided,
    fills: &dyn Fn() -> Result<Strided>,
    counts: &(dyn Fn(usize) -> u64 + Sync),
    block: usize,
    k: u128,
) -> Result<Strided> {
    let fills = fills()?;
    let constant = constant_scalar(&fills);
    let (n, size) = (acc.len(), fold.typing.acc.size());
    if n == 0 || constant.is_some_and(|v| is_neutral(fold, v)) {
        return Ok(acc);
    }
    let more = u128::from(faults::is(Fault::UnstoredCountedOnceMore));
    let unstored = |i: usize| k - u128::from(counts(i / block.max(1))) + more;
    let nfold = |v: Scalar, n: u128| (fold.kernels.nfold)(v.cast(fold.typing.input), n).to_bytes().0;
    let dense = if constant.is_some() { fills } else { fills.to_contiguous()?.into_owned() };
    let once = constant.filter(|&v| is_idempotent(fold, v)).map(|v| [nfold(v, 0), nfold(v, 1)]);
    let add = |first: usize, acc: &mut [u8]| {
        let mut added = vec![0u128; acc.len().div_ceil(16)];
        let added = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut added)[..acc.len()];
        if let Some(once) = &once {
            let is_any = |i: usize| unstored(first + i) > 0;
            match size {
                1 => either::<1>(once, &is_any, added),
                2 => either::<2>(once, &is_any, added),
                4 => either::<4>(once, &is_any, added),
                8 => either::<8>(once, &is_any, added),
                _ => either::<16>(once, &is_any, added),
            }
            return (fold.kernels.merge)(acc, added);
        }
        let mut last = None;
        for (i, out) in added.chunks_exact_mut(size).enumerate() {
            let n = unstored(first + i);
            let bytes = match constant {
                Some(v) => match last {
                    Some((m, bytes)) if m == n => bytes,
                    _ => nfold(v, n),
                },
                None => nfold(dense.at_offset(dense.offset + first + i), n),
            };
            last = Some((n, bytes));
            out.copy_from_slice(&bytes[..size]);
        }
        (fold.kernels.merge)(acc, added);
    };
    if acc.buffer.unique_mut().is_none() {
        acc = Strided::from_bytes(&acc.dense_bytes()?, acc.dtype, &acc.shape)?;
    }
    if let Some(bytes) = acc.buffer.unique_mut() {
        parallel::for_chunks_mut(bytes, size, parallel::GRAIN, &add);
    }
    Ok(acc)
}

/// Writes the second of two elements of `W` bytes where something is so, and the first elsewhere.
fn either<const W: usize>(of: &[[u8; 16]; 2], is_so: &impl Fn(usize) -> bool, out: &mut [u8]) {
    let of = of.map(|bytes| std::array::from_fn::<u8, W, _>(|i| bytes[i]));
    for (i, out) in out.as_chunks_mut::<W>().0.iter_mut().enumerate() {
        *out = of[usize::from(is_so(i))];
    }
}
