//! Compressed columns times a dense matrix, for floats: each stored element adds a row of the dense matrix to a row of the
//! result.

use std::ops::Range;

use super::Rows;
use super::eights::Lanes;
use super::lanes;
use super::typed::Typed;
use crate::simd::{Loop, prefetch, vectorised};
use crate::structure::transpose::within;
use crate::structure::{Index, IndexSlice};

/// Stored elements whose rows of the result are asked for ahead.
pub(super) const AHEAD: usize = 32;

/// Widths of the panels of columns that [`Kernels::columns_panel`](super::Kernels::columns_panel) takes.
pub const WIDTHS: [usize; 6] = [1, 4, 8, 16, 24, 32];

/// Some columns of a dense matrix, the elements of a row side by side.
#[derive(Clone, Copy, Debug)]
pub struct Columns<'a> {
    /// From the first column of the first row on. What lies beyond the last column takes part, where a panel is wider, in columns of the
    /// result beyond the last.
    pub values: &'a [f64],
    /// From a row to the next, in elements.
    pub stride: usize,
    /// One of [`WIDTHS`].
    pub width: usize,
}

impl Columns<'_> {
    /// `N` elements of row `r`; beyond the end of the matrix there are zeros.
    #[inline(always)]
    pub(super) fn row<const N: usize>(&self, r: usize) -> [f64; N] {
        let from = &self.values[r * self.stride..];
        match from.first_chunk() {
            Some(row) => *row,
            None => {
                let mut row = [0.0; N];
                row[..from.len()].copy_from_slice(from);
                row
            }
        }
    }
}

/// Work on a panel of columns, compiled for each of [`WIDTHS`].
pub(super) trait Panelled {
    /// Does it, for panels of `N` columns.
    fn run<const N: usize>(self);

    /// Does it in vectors, for panels of that many columns.
    fn of_width(self, width: usize)
    where
        Self: Sized,
    {
        match width {
            1 => vectorised(OfWidth::<Self, 1>(self)),
            4 => vectorised(OfWidth::<Self, 4>(self)),
            8 => vectorised(OfWidth::<Self, 8>(self)),
            16 => vectorised(OfWidth::<Self, 16>(self)),
            24 => vectorised(OfWidth::<Self, 24>(self)),
            _ => vectorised(OfWidth::<Self, 32>(self)),
        }
    }
}

struct OfWidth<W, const N: usize>(W);

impl<W: Panelled, const N: usize> Loop for OfWidth<W, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.run::<N>();
    }
}

/// Adds columns of a sparse matrix times some of a dense one: row `r` of `left`, which holds column `r` of the sparse matrix, meets
/// row `r` of `panel`, and entry `i` of it goes to `acc[i · width..][..width]`. Of a band, whose entries rise in each row, only those in it
/// are taken, and `acc` begins where it does.
pub(super) fn add<T: Lanes>(
    left: Rows<'_>,
    rows: Range<usize>,
    band: Option<Range<usize>>,
    panel: Columns<'_>,
    acc: &mut [f64],
) {
    match left.indices {
        IndexSlice::U32(_) => {
            let left = Typed::<T, u32>::new(left);
            match (panel.width, band) {
                (1, None) => lanes::add_rows(&left, rows, panel, acc),
                (width, None) => Work { left, rows, panel, acc }.of_width(width),
                (width, Some(band)) => Banded { left, rows, band, panel, acc }.of_width(width),
            }
        }
        IndexSlice::U64(_) => {
            let left = Typed::<T, u64>::new(left);
            let first = band.as_ref().map_or(0, |band| band.start);
            for r in rows {
                let (indices, values) = left.row(r);
                let own = band.as_ref().map_or(0..indices.len(), |band| within(indices, band));
                for (&i, &x) in indices[own.clone()].iter().zip(&values[own]) {
                    let out = &mut acc[(i.get() - first) * panel.width..][..panel.width];
                    let y = &panel.values[r * panel.stride..];
                    out.iter_mut().zip(y).for_each(|(o, y)| *o += x.wide() * y);
                }
            }
        }
    }
}

struct Work<'a, T> {
    left: Typed<'a, T, u32>,
    rows: Range<usize>,
    panel: Columns<'a>,
    acc: &'a mut [f64],
}

impl<T: Lanes> Panelled for Work<'_, T> {
    #[inline(always)]
    fn run<const N: usize>(self) {
        let Work { left, rows, panel, acc } = self;
        let (first, end) = (left.start(rows.start), left.start(rows.end));
        let (acc, _) = acc.as_chunks_mut::<N>();
        let mut later = left.later(&rows, acc);
        for r in rows {
            let start = left.start(r);
            let (indices, values) = left.row(r);
            let ahead = if later.is_idle() { &left.indices[start..end] } else { &[] };
            let y = panel.row::<N>(r);
            for (e, (&i, &x)) in indices.iter().zip(values).enumerate() {
                if let Some(&next) = ahead.get(e + AHEAD) {
                    prefetch::<[f64; N], 1>(acc, next as usize);
                }
                later.reach(start - first + e, acc);
                let x = x.wide();
                let out = &mut acc[i as usize];
                for j in 0..N {
                    out[j] += x * y[j];
                }
            }
        }
    }
}

/// What of some rows lies in a band.
struct Banded<'a, T> {
    left: Typed<'a, T, u32>,
    rows: Range<usize>,
    band: Range<usize>,
    panel: Columns<'a>,
    acc: &'a mut [f64],
}

impl<T: Lanes> Panelled for Banded<'_, T> {
    #[inline(always)]
    fn run<const N: usize>(self) {
        let Banded { left, rows, band, panel, acc } = self;
        let end = left.start(rows.end);
        let (acc, _) = acc.as_chunks_mut::<N>();
        for r in rows {
            let (indices, values) = left.row(r);
            let own = within(indices, &band);
            if own.is_empty() {
                continue;
            }
            let y = panel.row::<N>(r);
            if N == 1 {
                // A vector: as without a band.
                let acc = (acc.as_flattened_mut(), band.start);
                lanes::add_row(&indices[own.clone()], &values[own], y[0], acc, |_, _| {});
                continue;
            }
            let ahead = &left.indices[left.start(r) + own.start..end];
            for (e, (&i, &x)) in indices[own.clone()].iter().zip(&values[own]).enumerate() {
                if let Some(&next) = ahead.get(e + AHEAD) {
                    prefetch::<[f64; N], 1>(acc, (next as usize).wrapping_sub(band.start));
                }
                let x = x.wide();
                let out = &mut acc[i as usize - band.start];
                for j in 0..N {
                    out[j] += x * y[j];
                }
            }
        }
    }
}
