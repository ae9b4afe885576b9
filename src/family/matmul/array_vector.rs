//! Products of a strided matrix and a vector, in any order of memory that has elements of rows or of columns beside each other.

use std::ops::Range;

use openwork_ops::Element;
use openwork_ops::matmul::array_vector::{Number, Rows, dots, sums};

use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::Strided;

/// Products of numbers in a share of a result's terms, and shares at most: how many says the shape alone, as they say in which order
/// terms are added.
const SHARE: usize = 1 << 16;
const SHARES: usize = 16;

/// Results from which on threads share them, not the terms of each: where these lie beside each other, and where results do.
const SEVERAL: usize = 16;
const MANY: usize = 1 << 11;

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

/// The sums over one axis of a matrix, of its elements times those of a vector: for each index of the other axis.
fn of_matrix<T: Number + Element>(x: &Strided, [kept, summed]: [usize; 2], v: &[T]) -> Result<Option<Buffer>> {
    let (n, k) = (x.shape[kept], x.shape[summed]);
    let is_beside = |axis: usize| x.strides[axis] == 1 || x.shape[axis] == 1;
    let array = |axis: usize| Rows { elements: T::from_bytes(x.buffer.bytes()), at: x.offset, step: x.strides[axis] };
    if is_beside(summed) {
        let array = array(kept);
        let of = |results: Range<usize>, terms: Range<usize>, out: &mut [T]| {
            dots(array, results, terms.start, &v[terms], out);
        };
        return in_shares(n, k, SEVERAL, &of).map(Some);
    }
    if is_beside(kept) {
        let array = array(summed);
        let of = |results: Range<usize>, terms: Range<usize>, out: &mut [T]| {
            sums(array, terms.clone(), results.start, &v[terms], out);
        };
        return in_shares(n, k, MANY, &of).map(Some);
    }
    Ok(None)
}

/// Some of the results, of some of their terms.
type Part<'a, T> = &'a (dyn Fn(Range<usize>, Range<usize>, &mut [T]) + Sync);

/// `n` results of `k` terms each: threads share the results, or the terms where results are fewer than `many`.
fn in_shares<T: Number + Element>(n: usize, k: usize, many: usize, of: Part<'_, T>) -> Result<Buffer> {
    let shares = if n < many { (n * k / SHARE).min(k).clamp(1, SHARES) } else { 1 };
    Buffer::build(n * T::DTYPE.size(), |out| {
        let out = T::from_bytes_mut(out);
        if shares == 1 {
            parallel::for_chunks_mut(out, 1, (parallel::GRAIN / k).max(many / 4), &|first, out| {
                of(first..first + out.len(), 0..k, out);
            });
            return;
        }
        let parts = parallel::map_chunks(k, k.div_ceil(shares), &|terms| {
            let mut part = vec![T::default(); n];
            of(0..n, terms, &mut part);
            part
        });
        for part in parts {
            out.iter_mut().zip(part).for_each(|(out, sum)| *out = *out + sum);
        }
    })
}
