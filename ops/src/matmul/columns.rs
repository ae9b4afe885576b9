//! Compressed columns times a dense matrix, for floats: each stored element adds a row of the dense matrix to a row of the
//! result.

use std::ops::Range;

use super::Rows;
use super::lanes::{self, Lanes};
use super::typed::Typed;
use crate::simd::{Loop, prefetch, vectorised};
use crate::structure::{Index, IndexSlice};

/// Stored elements whose rows of the result are asked for ahead.
const AHEAD: usize = 32;

/// Widths of the panels of columns that [`Kernels::columns_panel`](super::Kernels::columns_panel) takes.
pub const WIDTHS: [usize; 5] = [1, 4, 8, 16, 32];

/// Adds columns of a sparse matrix times a panel of a dense one: row `r` of `left`, which holds column `r` of the sparse
/// matrix, meets `panel[r · width..][..width]`, and entry `i` of it goes to `acc[i · width..][..width]`.
pub(super) fn add<T: Lanes>(left: Rows<'_>, rows: Range<usize>, panel: &[f64], width: usize, acc: &mut [f64]) {
    match left.indices {
        IndexSlice::U32(_) => {
            let left = Typed::<T, u32>::new(left);
            let work = Columns { left, rows, panel, acc };
            match width {
                1 => lanes::add_rows(&work.left, work.rows, work.panel, work.acc),
                4 => vectorised(Panel::<T, 4>(work)),
                8 => vectorised(Panel::<T, 8>(work)),
                16 => vectorised(Panel::<T, 16>(work)),
                _ => vectorised(Panel::<T, 32>(work)),
            }
        }
        IndexSlice::U64(_) => {
            let left = Typed::<T, u64>::new(left);
            for r in rows {
                let (indices, values) = left.row(r);
                for (&i, &x) in indices.iter().zip(values) {
                    let out = &mut acc[i.get() * width..][..width];
                    let y = &panel[r * width..][..width];
                    out.iter_mut().zip(y).for_each(|(o, y)| *o += x.wide() * y);
                }
            }
        }
    }
}

struct Columns<'a, T> {
    left: Typed<'a, T, u32>,
    rows: Range<usize>,
    panel: &'a [f64],
    acc: &'a mut [f64],
}

struct Panel<'a, T, const N: usize>(Columns<'a, T>);

impl<T: Lanes, const N: usize> Loop for Panel<'_, T, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Columns { left, rows, panel, acc } = self.0;
        let end = left.start(rows.end);
        let (panel, _) = panel.as_chunks::<N>();
        let (acc, _) = acc.as_chunks_mut::<N>();
        for r in rows {
            let start = left.start(r);
            let (indices, values) = left.row(r);
            let ahead = &left.indices[start..end];
            let y = panel[r];
            for (e, (&i, &x)) in indices.iter().zip(values).enumerate() {
                if let Some(&next) = ahead.get(e + AHEAD) {
                    prefetch::<[f64; N], 1>(acc, next as usize);
                }
                let x = x.wide();
                let out = &mut acc[i as usize];
                for j in 0..N {
                    out[j] += x * y[j];
                }
            }
        }
    }
}
