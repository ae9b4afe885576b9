//! Sparse rows times a dense matrix of two to eight columns, compiled for vector instructions.
//!
//! Of so few columns an addition waits for the one before it, so every fourth stored element goes to sums of its own. Rows that
//! are far are asked for ahead, as [`Row`] does for wider matrices.
#![allow(unsafe_code)] // places in the dense matrix are read unchecked once the greatest of a row was compared with its length

use std::ops::{Range, RangeInclusive};

use super::eights::Lanes;
use super::source::Whole;
use super::vector::{Group, RUN, Row, TOGETHER, in_f64};

/// Columns of a dense matrix that are made so.
pub(super) const WIDTHS: RangeInclusive<usize> = 2..=8;

/// Parts of a row that are summed apart.
const SIDES: usize = 4;

/// These rows of the product, one after the other in `out`; the matrix of the group has as many columns as [`WIDTHS`] says.
#[inline(always)]
pub(super) fn products<T: Sided, const AWAY: u8>(group: Group<'_, T>, rows: Range<usize>, out: &mut [T]) {
    match group.n {
        2 => of_width::<T, 2, AWAY>(group, rows, out),
        3 => of_width::<T, 3, AWAY>(group, rows, out),
        4 => of_width::<T, 4, AWAY>(group, rows, out),
        5 => of_width::<T, 5, AWAY>(group, rows, out),
        6 => of_width::<T, 6, AWAY>(group, rows, out),
        7 => of_width::<T, 7, AWAY>(group, rows, out),
        8 => of_width::<T, 8, AWAY>(group, rows, out),
        _ => debug_assert!(false, "no such width"),
    }
}

#[inline(always)]
fn of_width<T: Sided, const N: usize, const AWAY: u8>(group: Group<'_, T>, rows: Range<usize>, out: &mut [T]) {
    let out = out.as_chunks_mut::<N>().0;
    for (out, first) in out.chunks_mut(TOGETHER).zip(rows.clone().step_by(TOGETHER)) {
        let last = rows.end.min(first + TOGETHER);
        let b = group.checked(first..last);
        for (out, r) in out.iter_mut().zip(first..last) {
            // SAFETY: the group was made for `N` columns.
            *out = unsafe { in_sides::<T, N, AWAY>(&group.row::<Whole, AWAY>(r, b, Whole)) };
        }
    }
}

/// All `N` columns of a row of the product with a matrix that has no more.
///
/// # Safety
/// The row was made for `N` columns.
#[inline(always)]
unsafe fn in_sides<T: Sided, const N: usize, const AWAY: u8>(row: &Row<'_, T>) -> [T; N] {
    let mut sum = [0.0f64; N];
    let mut e = 0;
    for (values, indices) in row.values.chunks(T::PIECE_OF_SIDE).zip(row.indices.chunks(T::PIECE_OF_SIDE)) {
        let mut sides = [[T::default(); N]; SIDES];
        let ((fours, rest), (four_indices, rest_indices)) = (values.as_chunks::<SIDES>(), indices.as_chunks::<SIDES>());
        for (x, k) in fours.iter().zip(four_indices) {
            for side in 0..SIDES {
                row.look::<N, AWAY>(1, e + side, 0);
                // SAFETY: an index of the row; the caller's promise.
                let y = unsafe { row.at::<N>(k[side], 0) };
                for i in 0..N {
                    sides[side][i] = sides[side][i] + x[side] * y[i];
                }
            }
            e += SIDES;
        }
        for (&x, &k) in rest.iter().zip(rest_indices) {
            row.look::<N, AWAY>(1, e, 0);
            // SAFETY: as above.
            let y = unsafe { row.at::<N>(k, 0) };
            for i in 0..N {
                sides[0][i] = sides[0][i] + x * y[i];
            }
            e += 1;
        }
        for i in 0..N {
            sum[i] += (sides[0][i].wide() + sides[2][i].wide()) + (sides[1][i].wide() + sides[3][i].wide());
        }
    }
    let mut out = [T::default(); N];
    for i in 0..N {
        out[i] = T::round(sum[i]);
    }
    // SAFETY: the caller's promise.
    if sum.iter().all(|s| s.is_finite()) { out } else { unsafe { T::again(row, out) } }
}

/// A float of which few columns are summed in [`in_sides`].
pub(super) trait Sided: Lanes {
    /// Stored elements whose products are summed in this type.
    const PIECE_OF_SIDE: usize;
    /// What is not finite, summed in `f64` if it was not.
    ///
    /// # Safety
    /// As [`in_sides`].
    unsafe fn again<const N: usize>(row: &Row<'_, Self>, out: [Self; N]) -> [Self; N];
}

impl Sided for f64 {
    const PIECE_OF_SIDE: usize = usize::MAX;
    #[inline(always)]
    unsafe fn again<const N: usize>(_: &Row<'_, f64>, out: [f64; N]) -> [f64; N] {
        out
    }
}

impl Sided for f32 {
    const PIECE_OF_SIDE: usize = SIDES * RUN;
    #[inline(always)]
    unsafe fn again<const N: usize>(row: &Row<'_, f32>, _: [f32; N]) -> [f32; N] {
        // SAFETY: the caller's promise.
        unsafe { in_f64(row, 0) }
    }
}
