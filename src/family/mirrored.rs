//! Whether a compressed matrix is its own mirror image, told without transposing it.

use openwork_ops::structure::{Index, IndexSlice, gather};
use openwork_ops::with_index;

use super::facts::{count_true, same};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::levels::layout::Layout;
use crate::levels::level::Level;
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor};

/// Whether a square CSR or CSC matrix, whose elements are stored once and in order and have one fill at most, is symmetric;
/// `None` where its structure alone does not say, or it is stored in another way.
///
/// Cost: O(nse).
pub(super) fn is_symmetric(s: &Sparse) -> Result<Option<bool>> {
    let is_known =
        matches!(s.pattern.layout(&s.shape), Layout::Csr | Layout::Csc) && s.ndim() == 2 && s.pattern.is_canonical();
    let (true, Some(Level::Sparse { pointers: Some(pointers), indices, .. })) = (is_known, s.pattern.levels.last())
    else {
        return Ok(None);
    };
    let (false, [indices]) = (matches!(s.fill, Fill::Array(_)), &indices[..]) else { return Ok(None) };
    let pairs = with_index!(pointers.as_slice(), p => with_index!(indices.as_slice(), i => pairs(p, i)));
    let Some((below, above)) = pairs else {
        // An element that is alone may still be the same as the fill.
        return Ok(s.fill.is_undefined().then_some(false));
    };
    let met = same(&elements(s, &below)?, &elements(s, &above)?)?;
    Ok(Some(count_true(&met) == below.len() as u128))
}

/// Elements below the diagonal and, in the same order, their mirror images; `None` if one has none. As rows are walked down,
/// the elements of a row to the right of the diagonal are met one after the other.
fn pairs<P: Index, I: Index>(pointers: &[P], indices: &[I]) -> Option<(Vec<u64>, Vec<u64>)> {
    let (base, rows) = (pointers[0].get(), pointers.len() - 1);
    let row = |r: usize| pointers[r].get() - base..pointers[r + 1].get() - base;
    let mut next = Vec::with_capacity(rows);
    let (mut diagonal, mut below, mut above) = (0, Vec::new(), Vec::new());
    for i in 0..rows {
        let of = row(i);
        let left = indices[of.clone()].partition_point(|j| j.get() < i);
        for e in of.start..of.start + left {
            let j = indices[e].get();
            let image: usize = next[j];
            if image == row(j).end || indices[image].get() != i {
                return None;
            }
            next[j] = image + 1;
            below.push(e as u64);
            above.push(image as u64);
        }
        let has_own = indices[of.start + left..of.end].first().is_some_and(|j| j.get() == i);
        diagonal += usize::from(has_own);
        next.push(of.start + left + usize::from(has_own));
    }
    (2 * below.len() + diagonal == indices.len()).then_some((below, above))
}

/// Some of the stored elements, as a vector.
fn elements(s: &Sparse, which: &[u64]) -> Result<Tensor> {
    let (dtype, values) = (s.dtype(), s.values.dense_bytes()?);
    let out = Buffer::build(which.len() * dtype.size(), |out| {
        gather::gather_rows(&values, dtype.size(), IndexSlice::U64(which), out);
    })?;
    Ok(Tensor::from_strided(Strided::new(out, dtype, vec![which.len()])))
}

#[cfg(test)]
#[path = "tests/mirrored.rs"]
mod tests;
