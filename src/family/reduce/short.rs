//! Elements of short slices of arrays by their places in order: keys of many slices are made at once, and each slice's are sorted.

use openwork_ops::{Element, order, short_rows};

use super::order::Places;
use crate::base::buffer::zeroed_vec;
use crate::base::error::Result;
use crate::base::mapped::{Chosen, Mapped};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, dense_len};
use crate::engine::slices::ordered;
use crate::tensor::Tensor;

/// The longest slices: of longer ones a few elements are found sooner by selection.
const LONGEST: usize = 128;

/// What `f` makes of each of several short slices of a strided tensor over some axes, in the shape of the kept ones; `None` of other
/// tensors, and where there is one slice, or nothing in any.
///
/// # Errors
/// If the dtype has no order, or memory cannot hold the elements in order.
pub(super) fn in_order<T: Element + bytemuck::Zeroable>(
    x: &Tensor,
    axes: &[usize],
    f: &(dyn Fn(&mut Places<'_>) -> T + Sync),
) -> Result<Option<Strided>> {
    let Some(s) = x.strided().filter(|s| s.len() > 0) else { return Ok(None) };
    let kept = (0..s.ndim()).chosen(|axis| !axes.contains(axis));
    let shape = kept.mapped(|&axis| s.shape[axis]);
    let results = dense_len(&shape, T::DTYPE)?;
    let n = s.len() / results;
    if results == 1 || n > LONGEST {
        return Ok(None);
    }
    let dtype = s.dtype;
    ordered(dtype)?;
    let slices = s.permute(&[&kept, axes].concat());
    let bytes = slices.dense_bytes()?;
    let row = n * dtype.size();
    let mut found = zeroed_vec::<T>(results);
    // Keys of a piece stay in the second-level cache.
    parallel::for_chunks_mut(&mut found, 1, (GRAIN / 2 / n).max(1), &|first, found| {
        let mut keys = zeroed_vec(found.len() * n);
        order::keys(dtype, &bytes[first * row..][..found.len() * row], &mut keys);
        short_rows::sort(&mut keys, n);
        for (found, keys) in found.iter_mut().zip(keys.chunks_exact(n)) {
            *found = f(&mut Places::All(keys));
        }
    });
    Ok(Some(Strided::from_vec(found, shape)))
}
