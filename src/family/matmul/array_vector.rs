//! Products of a strided matrix and a vector, in any order of memory that has elements of rows or of columns beside each other.

use openwork_ops::Element;
use openwork_ops::matmul::array_vector::{NARROW, Number, Rows, dots, sums};

use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::Strided;

/// Products of numbers in a share of a result's terms, and shares at most: how many says the shape alone, as they say in which order
/// terms are added.
pub(super) const SHARE: usize = 1 << 16;
pub(super) const SHARES: usize = 16;

/// Results from which on threads share them, not the terms of each.
pub(super) const MANY: usize = 1 << 11;

/// Rows that are worth being added by loops of our own.
const TALL: usize = 64;

/// The product in `shape` of two arrays that are matrices on their last two axes, of which one is a row or a column. `None` of others,
/// of several matrices, and where neither rows nor columns have their elements beside each other.
pub(super) fn product<T: Number + Element>(a: &Strided, b: &Strided, shape: &[usize]) -> Result<Option<Strided>> {
    let lead = shape.len() - 2;
    if shape[..lead].iter().any(|&n| n != 1) {
        return Ok(None);
    }
    let (matrix, [long, short], vector) = match shape[lead..] {
        [_, 1] => (a, [lead, lead + 1], b),
        [1, _] => (b, [lead + 1, lead], a),
        _ => return Ok(None),
    };
    let vector = vector.dense_bytes()?;
    let Some(out) = of_matrix::<T>(matrix, [long, short], T::from_bytes(&vector))? else { return Ok(None) };
    Ok(Some(Strided::new(out, T::DTYPE, shape)))
}

/// The sums over one axis of a matrix, of its elements times those of a vector: for each index of the other axis. `None` where products
/// of matrices take less.
fn of_matrix<T: Number + Element>(x: &Strided, [kept, summed]: [usize; 2], v: &[T]) -> Result<Option<Buffer>> {
    let (n, k) = (x.shape[kept], x.shape[summed]);
    let is_beside = |axis: usize| x.strides[axis] == 1 || x.shape[axis] == 1;
    let array = |axis: usize| Rows { elements: T::from_bytes(x.buffer.bytes()), at: x.offset, step: x.strides[axis] };
    let size = T::DTYPE.size();
    if is_beside(summed) && k <= NARROW && x.strides[kept] == k as isize {
        let rows = array(kept);
        let of = |first: usize, out: &mut [T]| {
            let is_done = dots(rows, first..first + out.len(), v, out);
            debug_assert!(is_done, "rows are narrow and follow each other");
        };
        return Buffer::build(n * size, |out| {
            parallel::for_chunks_mut(T::from_bytes_mut(out), 1, parallel::GRAIN / k, &of);
        })
        .map(Some);
    }
    // Complex numbers gain where rows are narrow.
    let is_wide = n > NARROW && T::DTYPE.is_complex();
    if is_beside(kept) && k >= TALL && n > 1 && !is_wide {
        return in_shares(array(summed), n, k, v).map(Some);
    }
    Ok(None)
}

/// The sum of `k` rows of `n` elements, each times its own number: threads share the columns, or the rows where columns are few.
fn in_shares<T: Number + Element>(rows: Rows<'_, T>, n: usize, k: usize, v: &[T]) -> Result<Buffer> {
    let shares = if n < MANY { (n * k / SHARE).min(k).clamp(1, SHARES) } else { 1 };
    Buffer::build(n * T::DTYPE.size(), |out| {
        let out = T::from_bytes_mut(out);
        if shares == 1 {
            let grain = (parallel::GRAIN / k).max(MANY / 4);
            parallel::for_chunks_mut(out, 1, grain, &|first, out| sums(rows, 0..k, first, v, out));
            return;
        }
        let parts = parallel::map_chunks(k, k.div_ceil(shares), &|terms| {
            let mut part = vec![T::default(); n];
            sums(rows, terms.clone(), 0, &v[terms], &mut part);
            part
        });
        for part in parts {
            out.iter_mut().zip(part).for_each(|(out, sum)| *out = *out + sum);
        }
    })
}
