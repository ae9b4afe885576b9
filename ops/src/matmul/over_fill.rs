//! Sparse rows of `f64` over a fill times a dense matrix, in one pass: differences are made as they are needed, and the
//! background joins a row while it is near.
//!
//! With a fill `f` beneath an element `v`, a row of the product is the sum of `(v - f) · b` over what is stored, and a background that
//! is the same for every row but for a factor. A difference is rounded, which costs little beside what the sum's other terms are
//! rounded by as long as `v` is not far smaller than `f` ([`Easy`]). Elements that are stay whole, and `f · b` is taken
//! off the background exactly before that joins, in sums of two floats. And such rows as columns of a matrix times a dense one, where
//! hard elements are told.
#![allow(unsafe_code)] // fills are read unchecked once the greatest column of a few rows was compared with their number

use std::cell::Cell;
use std::ops::Range;

use super::beneath::Met;
use super::columns::{AHEAD, Panelled};
use super::double::Double;
use super::over_fill_vector as one;
use super::source::{Easy, Fills, Less, Source, greatest};
use super::typed::{Typed, slice, slice_mut};
use super::vector::{self, FAR, Group, NEAR, SCATTERED, TOGETHER};
use super::{Grid, Rows};
use crate::simd::{Loop, level, prefetch, vectorised};
use crate::structure::IndexSlice;

/// A matrix over a fill beside what its background adds to each row of a product.
#[derive(Debug)]
pub struct OverFill {
    fills: Vec<f64>,
    easy: Easy,
    along: Along,
    /// The background's row, in two parts.
    row: [Vec<f64>; 2],
}

/// Along which axis a fill varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// One for each row; the background of a row is so many times the one that is given.
    Rows,
    /// One for each column.
    Columns,
    /// One for all.
    Nothing,
}

impl OverFill {
    /// Finite fills, as many as `along` says. An element whose fill is more than `limit` times as large is hard. `background` is
    /// a row of accumulators of [`Carrier::Double`](super::Carrier::Double).
    pub fn new(fills: &[f64], along: Along, limit: f64, background: &[u8]) -> OverFill {
        let row: &[Double] = slice(background);
        OverFill {
            easy: Easy::new(fills, limit),
            fills: fills.to_vec(),
            along,
            row: [row.iter().map(|d| d.hi).collect(), row.iter().map(|d| d.lo).collect()],
        }
    }

    /// Those beneath row `r`, at least `reaches` if there is one for each column.
    #[inline(always)]
    fn of_row(&self, r: usize, reaches: usize) -> Fills<'_> {
        match self.along {
            Along::Columns => Fills::Columns(&self.fills[..self.fills.len().max(reaches)]),
            Along::Rows => Fills::One(&self.fills[r]),
            Along::Nothing => Fills::One(&self.fills[0]),
        }
    }

    /// How often the background's row joins row `r`.
    #[inline(always)]
    fn factor(&self, r: usize) -> f64 {
        if self.along == Along::Rows { self.fills[r] } else { 1.0 }
    }

    pub(super) fn fills(&self) -> &[f64] {
        &self.fills
    }

    /// The axis along which fills vary.
    pub fn along(&self) -> Along {
        self.along
    }

    /// Writes rows of the product of compressed rows of 32-bit indices with a dense matrix, whose columns lie side by side, over
    /// what `out` holds.
    pub fn multiply(&self, left: Rows<'_>, rows: Range<usize>, right: Grid<'_>, out: &mut [u8]) {
        debug_assert!(matches!(left.indices, IndexSlice::U32(_)));
        let (left, b, n) = (Typed::<f64, u32>::new(left), slice::<f64>(right.values), self.row[0].len());
        if n == 0 {
            return;
        }
        let group = Group::new(left, &rows, (b, right.row), n, level());
        vectorised(Work { over: self, group, rows, out: slice_mut(out) });
    }
}

impl OverFill {
    /// Adds columns of a sparse matrix times a panel of a dense one, as [`columns_panel`](super::Kernels::columns_panel) does: row `r`
    /// of `left` holds column `r` of the sparse matrix. Where the last column of the panel `is_spare`, what becomes of it is of no
    /// use. `met` is given the hard elements over fills other than zero, if it is given.
    pub fn add_columns(
        &self,
        left: Rows<'_>,
        rows: Range<usize>,
        (panel, is_spare): (super::Columns<'_>, bool),
        acc: &mut [f64],
        met: Option<&mut Vec<Met>>,
    ) {
        debug_assert!(matches!(left.indices, IndexSlice::U32(_)));
        let work = Columns { over: self, left: Typed::new(left), rows, panel, acc, met };
        if is_spare && panel.width > 1 && self.along == Along::Columns {
            Panel::<true>(work).of_width(panel.width);
        } else {
            Panel::<false>(work).of_width(panel.width);
        }
    }
}

struct Columns<'a> {
    over: &'a OverFill,
    left: Typed<'a, f64, u32>,
    rows: Range<usize>,
    panel: super::Columns<'a>,
    acc: &'a mut [f64],
    met: Option<&'a mut Vec<Met>>,
}

/// In a panel that has a column to `SPARE` the fill beneath a row of the result lies there: what is read with the row is near.
struct Panel<'a, const SPARE: bool>(Columns<'a>);

impl<const SPARE: bool> Panelled for Panel<'_, SPARE> {
    #[inline(always)]
    fn run<const N: usize>(self) {
        let Columns { over, left, rows, panel, acc, mut met } = self.0;
        let (first, end) = (left.start(rows.start), left.start(rows.end));
        let (acc, _) = acc.as_chunks_mut::<N>();
        let mut later = left.later(&rows, acc);
        let mut hard: Vec<Cell<u32>> = Vec::new();
        if SPARE {
            for (acc, &fill) in acc.iter_mut().zip(&over.fills) {
                acc[N - 1] = fill;
            }
        }
        for r in rows {
            let start = left.start(r);
            let (indices, values) = left.row(r);
            let ahead = if later.is_idle() { &left.indices[start..end] } else { &[] };
            if hard.len() < indices.len() {
                hard.resize(indices.len(), Cell::new(0));
            }
            let mut y = panel.row::<N>(r);
            if SPARE {
                // Elements are finite here, so this leaves the fill as it is.
                y[N - 1] = 0.0;
            }
            let fills = over.of_row(r, acc.len());
            let found = if N == 1 {
                later.reach_row(start - first, indices.len(), acc);
                let of = one::Rows { easy: over.easy, hard: &hard };
                of.add(indices, values, fills, y[0], acc.as_flattened_mut())
            } else {
                // SAFETY: there are as many fills as rows of accumulators, and each column is looked up in these first.
                let less = unsafe { fills.less(over.easy, &hard) };
                for (e, (&i, &x)) in indices.iter().zip(values).enumerate() {
                    if let Some(&next) = ahead.get(e + AHEAD) {
                        prefetch::<[f64; N], 1>(acc, next as usize);
                    }
                    later.reach(start - first + e, acc);
                    let out = &mut acc[i as usize];
                    let x = if SPARE { less.over(e, out[N - 1], x) } else { (&less).term(e, i, x) };
                    for j in 0..N {
                        out[j] += x * y[j];
                    }
                }
                less.found()
            };
            let Some(met) = met.as_mut().filter(|_| found > 0) else { continue };
            for e in &hard[..found] {
                let row = indices[e.get() as usize];
                // Beneath NaN may be a zero.
                if fills.of(row) != 0.0 {
                    met.push(Met { row, with: r as u32 });
                }
            }
        }
    }
}

struct Work<'a> {
    over: &'a OverFill,
    group: Group<'a, f64>,
    rows: Range<usize>,
    out: &'a mut [f64],
}

impl Loop for Work<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        match self.group.away() {
            NEAR => self.all::<NEAR>(),
            FAR => self.all::<FAR>(),
            _ => self.all::<SCATTERED>(),
        }
    }
}

impl Work<'_> {
    #[inline(always)]
    fn all<const AWAY: u8>(self) {
        let Work { over, group, rows, out } = self;
        let (n, level) = (group.n, group.level);
        let mut hard: Vec<Cell<u32>> = Vec::new();
        // The sums of a few rows stay here until the background joins them, which it may have to do exactly. What was written a moment
        // ago for one row would be waited for.
        let mut sums = vec![0.0; n * TOGETHER.min(rows.len())];
        let (mut later, begin) = (group.left.later(&rows, group.b), group.left.start(rows.start));
        for (i, out) in out.chunks_mut(n * TOGETHER).enumerate() {
            let first = rows.start + i * TOGETHER;
            let last = rows.end.min(first + TOGETHER);
            let b = group.checked(first..last);
            let (start, after) = (group.left.start(first), group.left.start(last));
            let reaches = match over.along {
                Along::Columns => greatest(&group.left.indices[start..after]),
                _ => 0,
            };
            if hard.len() < after - start {
                hard.resize(after - start, Cell::new(0));
            }
            let mut found = [0; TOGETHER];
            for ((r, sums), found) in (first..last).zip(sums.chunks_exact_mut(n)).zip(&mut found) {
                let (indices, values) = group.left.row(r);
                let (fills, hard) = (over.of_row(r, reaches), &hard[group.left.start(r) - start..][..indices.len()]);
                if n == 1 && group.stride == 1 {
                    let of = one::Rows { easy: over.easy, hard };
                    later.reach_row(group.left.start(r) - begin, indices.len(), b);
                    (sums[0], *found) = of.dot(indices, values, fills, b);
                } else {
                    // SAFETY: the greatest column was compared with the number of fills.
                    let less = unsafe { fills.less(over.easy, hard) };
                    let row = &group.row::<&Less<'_>, AWAY>(r, b, &less);
                    vector::columns_from::<f64, &Less<'_>, AWAY>(row, level, 0, sums);
                    *found = less.found();
                }
            }
            for (((r, out), sums), found) in
                (first..last).zip(out.chunks_exact_mut(n)).zip(sums.chunks_exact(n)).zip(found)
            {
                let (indices, _) = group.left.row(r);
                let hard = &hard[group.left.start(r) - start..][..found];
                let (background, factor, fills) =
                    ([&over.row[0][..], &over.row[1]], over.factor(r), over.of_row(r, reaches));
                Join { background, factor, fills, hard, indices, b, stride: group.stride }.all(sums, out);
            }
        }
    }
}

/// What joins the sums of a row.
struct Join<'a> {
    background: [&'a [f64]; 2],
    factor: f64,
    fills: Fills<'a>,
    /// Hard elements of the row, and the columns of all.
    hard: &'a [Cell<u32>],
    indices: &'a [u32],
    b: &'a [f64],
    stride: usize,
}

/// Columns at a time.
const WIDE: usize = 8;

impl Join<'_> {
    #[inline(always)]
    fn all(&self, sums: &[f64], out: &mut [f64]) {
        let mut at = 0;
        while at + WIDE <= out.len() {
            self.some::<WIDE>(at, sums, out);
            at += WIDE;
        }
        if at < out.len() && out.len() >= WIDE {
            // Over columns that are done: they become the same once more.
            return self.some::<WIDE>(out.len() - WIDE, sums, out);
        }
        while at < out.len() {
            self.some::<1>(at, sums, out);
            at += 1;
        }
    }

    #[inline(always)]
    fn some<const N: usize>(&self, at: usize, sums: &[f64], out: &mut [f64]) {
        let [hi, lo] = self.background.map(|part| &part[at..at + N]);
        let (mut high, mut low) = ([0.0; N], [0.0; N]);
        for i in 0..N {
            // The product of a sum of two and a float.
            let product = hi[i] * self.factor;
            let rest = hi[i].mul_add(self.factor, -product) + lo[i] * self.factor;
            (high[i], low[i]) = (product, rest);
        }
        for e in self.hard {
            let k = self.indices[e.get() as usize];
            let (fill, y) = (self.fills.of(k), &self.b[k as usize * self.stride + at..][..N]);
            for i in 0..N {
                let sum = Double { hi: high[i], lo: low[i] }.mul_add(-fill, y[i]);
                (high[i], low[i]) = (sum.hi, sum.lo);
            }
        }
        let (sums, out) = (&sums[at..at + N], &mut out[at..at + N]);
        for i in 0..N {
            out[i] = Double { hi: high[i], lo: low[i] }.plus(sums[i]).round();
        }
    }
}
