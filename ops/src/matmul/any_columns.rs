//! Compressed columns times a dense matrix, as [`columns`](super::columns) does for floats, for every other dtype: each stored element
//! adds a row of the dense matrix to a row of the result.

use std::ops::Range;

use super::term::Term;
use super::typed::{Typed, slice, slice_mut};
use super::{Grid, Rows};
use crate::simd::{Loop, narrowly_vectorised};

/// The type of [`Kernels::add_columns`](super::Kernels::add_columns): row `r` of `left`, which holds column `r` of the sparse matrix in
/// 32-bit indices, meets `n` columns of row `r` of `panel`, and entry `i` of it goes to `acc[i · n..][..n]`. What lies beyond the last column of the panel
/// takes part, in columns of the result beyond the last; `n` is one of [`PANELS`].
pub type AddColumns = fn(left: Rows<'_>, rows: Range<usize>, panel: Grid<'_>, n: usize, acc: &mut [u8]);

/// Widths of the panels of columns that [`AddColumns`] takes.
pub const PANELS: [usize; 6] = [1, 2, 3, 4, 8, 16];

pub(super) fn add<T: Term>(left: Rows<'_>, rows: Range<usize>, panel: Grid<'_>, n: usize, acc: &mut [u8]) {
    debug_assert!(PANELS.contains(&n));
    let (left, stride) = (Typed::<T, u32>::new(left), panel.row);
    let work = Work { left, rows, panel: slice::<T>(panel.values), stride, acc: slice_mut::<T::Acc>(acc) };
    match n {
        1 => narrowly_vectorised(Of::<T, 1>(work)),
        2 => narrowly_vectorised(Of::<T, 2>(work)),
        3 => narrowly_vectorised(Of::<T, 3>(work)),
        4 => narrowly_vectorised(Of::<T, 4>(work)),
        8 => narrowly_vectorised(Of::<T, 8>(work)),
        _ => narrowly_vectorised(Of::<T, 16>(work)),
    }
}

struct Work<'a, T: Term> {
    left: Typed<'a, T, u32>,
    rows: Range<usize>,
    panel: &'a [T],
    /// From a row of the panel to the next.
    stride: usize,
    acc: &'a mut [T::Acc],
}

/// Panels of `N` columns.
struct Of<'a, T: Term, const N: usize>(Work<'a, T>);

impl<T: Term, const N: usize> Loop for Of<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Work { left, rows, panel, stride, acc } = self.0;
        let acc = acc.as_chunks_mut::<N>().0;
        let mut later = left.later(&rows, acc);
        let (first, is_idle) = (left.start(rows.start), later.is_idle());
        for r in rows {
            let (indices, values) = left.row(r);
            if indices.is_empty() {
                continue;
            }
            // Beyond the end of the matrix there are zeros.
            let (from, mut row) = (&panel[r * stride..], [T::zeroed(); N]);
            match from.first_chunk() {
                Some(all) => row = *all,
                None => row[..from.len()].copy_from_slice(from),
            }
            let one = |acc: &mut [[T::Acc; N]], &i: &u32, x: T| T::add_row(&mut acc[i as usize], x, &row);
            if is_idle {
                indices.iter().zip(values).for_each(|(i, &x)| one(acc, i, x));
                continue;
            }
            let met = left.start(r) - first;
            for (e, (i, &x)) in indices.iter().zip(values).enumerate() {
                later.reach(met + e, acc);
                one(acc, i, x);
            }
        }
    }
}
