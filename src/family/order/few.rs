//! The first few elements of long rows: what cannot be among them is dropped before anything else is done.

use openwork_ops::{order, ranking};

use crate::base::error::Result;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::engine::slices::{Split, keys_of};
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;

/// A tensor whose rows along an axis store, if they store many elements, only the first `limit` of them in order. The first
/// `limit` elements of each slice, and where they are, stay the same. `None` where rows are not kept together, or hold too
/// few elements for it to pay.
///
/// Only rows of which so many elements come before the fill lose some: of others the places of the fill are asked for.
pub(super) fn shortened(x: &Tensor, axis: usize, limit: usize, descending: bool) -> Result<Option<Tensor>> {
    let Some(s) = x.sparse() else { return Ok(None) };
    let flip = if descending { u64::MAX } else { 0 };
    let fill = match &s.fill {
        Fill::Undefined => None,
        Fill::Scalar(fill) if order::is_ordered(s.dtype()) => Some(*fill),
        _ => return Ok(None),
    };
    if limit == 0 || !order::is_ordered(s.dtype()) || !s.pattern.is_canonical() || s.values.shape.len() != 1 {
        return Ok(None);
    }
    let fill = match fill {
        Some(fill) => keys_of(&Strided::constant(fill, &[1]))?.first().map(|key| key ^ flip),
        None => None,
    };
    let kept: Vec<usize> = (0..x.ndim()).filter(|&a| a != axis).collect();
    let Some(ends) = Split::new(&s.pattern, &kept).row_ends() else { return Ok(None) };
    let (rows, n) = (ends.len() - 1, s.pattern.positions);
    if n < rows.saturating_mul(limit).saturating_mul(4) {
        return Ok(None);
    }
    let (dtype, elements) = (s.dtype(), s.values.dense_bytes()?);
    let grain = (GRAIN * rows / n.max(1)).clamp(1, GRAIN);
    let parts = parallel::map_chunks(rows, grain, &|range| {
        let (mut keys, mut keep, mut few) = (Vec::new(), Vec::new(), Vec::new());
        for own in range.map(|row| ends[row]..ends[row + 1]) {
            if own.len() <= limit {
                keep.extend(own);
                continue;
            }
            keys.resize(own.len(), 0);
            order::keys(dtype, &elements[own.start * dtype.size()..own.end * dtype.size()], &mut keys);
            ranking::first_few(&keys, flip, limit, &mut few);
            if fill.is_some_and(|fill| few.iter().any(|few| few.0 >= fill)) {
                keep.extend(own);
            } else {
                keep.extend(few.iter().map(|few| own.start + few.1));
            }
        }
        keep
    });
    let mut keep = vec![false; n];
    parts.into_iter().flatten().for_each(|e| keep[e] = true);
    Ok(Some(convert::retain_rows(s, &keep)?.into()))
}
