//! Columns of a sparse matrix times rows of another: a sum of outer products, in an accumulator for each place of the result.

use std::ops::Range;

use super::Rows;
use super::eights::Lanes;
use super::typed::Typed;

/// Rows that are added before it is asked whether every place has a sum.
const LOOK: usize = 1 << 9;

/// Adds the outer products of rows `rows` of `left`, each of which holds a column of the matrix on the left, and of the same rows of
/// `right`, to `sums` of `n` columns, and marks places that have a sum with 1. Indices are of 32 bits.
///
/// Terms of one place are added in the order of rows.
pub(super) fn add<T: Lanes>(
    left: Rows<'_>,
    right: Rows<'_>,
    rows: Range<usize>,
    n: usize,
    sums: &mut [f64],
    is_stored: &mut [u8],
) {
    let (left, right) = (Typed::<T, u32>::new(left), Typed::<T, u32>::new(right));
    let mut is_full = false;
    for (i, r) in rows.enumerate() {
        if i % LOOK == LOOK - 1 && !is_full {
            is_full = !is_stored.contains(&0);
        }
        let (is, xs) = left.row(r);
        if is.is_empty() {
            continue;
        }
        let (js, ys) = right.row(r);
        for (&i, &x) in is.iter().zip(xs) {
            let (x, at) = (x.wide(), i as usize * n);
            let sums = &mut sums[at..at + n];
            js.iter().zip(ys).for_each(|(&j, &y)| sums[j as usize] += x * y.wide());
            if !is_full {
                let is_stored = &mut is_stored[at..at + n];
                js.iter().for_each(|&j| is_stored[j as usize] = 1);
            }
        }
    }
}

/// Writes the sums that are there row by row, and how many each row has. Gives the number of all.
pub(super) fn write<T: Lanes>(
    sums: &[f64],
    is_stored: &[u8],
    n: usize,
    counts: &mut [u32],
    columns: &mut [u32],
    values: &mut [u8],
) -> usize {
    let values = super::typed::slice_mut::<T>(values);
    let mut len = 0;
    for ((sums, is_stored), count) in sums.chunks_exact(n).zip(is_stored.chunks_exact(n)).zip(counts) {
        let before = len;
        for (j, _) in is_stored.iter().enumerate().filter(|(_, is)| **is != 0) {
            (columns[len], values[len]) = (j as u32, T::round(sums[j]));
            len += 1;
        }
        *count = (len - before) as u32;
    }
    len
}
