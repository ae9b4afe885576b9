//! Kernels for `f32` and `f64` over 32-bit indices, compiled for vector instructions: sparse rows times a dense matrix.
//!
//! What limits them is how many rows of the dense matrix are on their way from memory at once. So a row of the result is
//! made in tiles of columns that stay in registers, in as few instructions as possible, and rows of the dense matrix are
//! asked for some elements ahead. Every element is summed in storage order (dot products: in sixteen lanes), so its bits
//! depend neither on the tile nor on the cut into pieces nor on the instructions.
#![allow(unsafe_code)] // places in the dense matrix are read unchecked once the greatest of a row was compared with its length

use std::ops::Range;

use super::eights::Lanes;
use super::few_columns::{self, Sided};
use super::lanes;
use super::source::{Source, Whole};
use super::stencils::Sides;
#[cfg(target_arch = "x86_64")]
use super::tiles;
use super::typed::{Typed, slice, slice_mut};
use super::{Grid, Rows};
use crate::simd::{Level, Loop, all_over, level, prefetch, prefetch_far, vectorised};
use crate::structure::IndexSlice;

/// Stored elements whose rows of the dense matrix are asked for ahead: of narrow matrices, and of wide ones.
const AHEAD: [usize; 2] = [32, 8];

/// The same of rows that come into the second cache; with AVX2 rows of 2 KiB and more are asked for as [`AHEAD`] of wide ones, in
/// 0.7 to 1.0 of the time (Zen 3).
const LATER: [usize; 2] = [64, 32];

/// The same where rows of the dense matrix are a multiple of [`PAGE`] bytes apart: the same columns of all of them compete for
/// twelve lines of the first cache, or eight. A product with 512 columns of `f64` takes nine tenths of the time at AVX-512; slower
/// loops have no more rows on their way than fit.
const CLASHING: usize = 3;
const PAGE: usize = 4096;

/// Bytes of a panel: columns of the dense matrix that all rows of a piece go through before the next, where its elements are met
/// [`OFTEN`] times and more.
const PANEL: usize = 4 << 20;
const OFTEN: usize = 4;

/// Bytes of a row of the widest panel, and columns of the narrowest.
const WIDEST: usize = 1 << 10;

/// Bytes of a row of the narrowest panel with AVX-512: of 192 products took up to twice as long. Dense matrices of less than 16 MiB stay
/// whole there.
const LEAST_512: usize = 1 << 9;

/// Bytes of a dense matrix that is near enough for rows not to be asked for ahead: what that costs in instructions is a quarter
/// of the time where rows are short.
const SMALL: usize = 512 << 10;

/// What rows of the dense matrix that come later need: not to be asked for; to be asked for, since not all are near; the same into
/// the second cache, since they are far and met in no order.
pub(super) const NEAR: u8 = 0;
pub(super) const FAR: u8 = 1;
pub(super) const SCATTERED: u8 = 2;

/// Rows whose indices are compared with the size of the dense matrix at once.
pub(super) const TOGETHER: usize = 8;

/// Columns of rows whose indices are the same that are made at once.
const PAIRED: usize = 32;

/// Columns up to which a matrix is narrow, and most that are made at once.
const NARROW: usize = 32;
const TILE: usize = 64;

/// A float with loops of its own, for terms that are made of elements as `S` says.
pub(super) trait Float<S = Whole>: Lanes {
    /// `N` columns of a row of the product, rounded: the sum of `values[e] · b[indices[e] · stride + column..][..N]`.
    ///
    /// # Safety
    /// `column + N` is at most the number of columns that the row was made for.
    unsafe fn tile<const N: usize, const AWAY: u8>(row: &Row<'_, Self, S>, column: usize) -> [Self; N];

    /// The same in `out`, for 32 and 64 columns, in registers of 512 bits (`WIDE`) or of 256.
    ///
    /// # Safety
    /// As above; the CPU must have AVX-512 F and DQ, or AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn in_registers<const N: usize, const WIDE: bool, const AWAY: u8>(
        row: &Row<'_, Self, S>,
        column: usize,
        out: &mut [Self],
    );

    /// Up to 31 columns in registers of 512 bits, the last of them in part, if there is such a loop; says whether there is.
    ///
    /// # Safety
    /// `column` and the length of `out` together are at most the number of columns that the row was made for; the CPU must have
    /// AVX-512 F and DQ.
    #[cfg(target_arch = "x86_64")]
    unsafe fn in_part<const AWAY: u8>(_row: &Row<'_, Self, S>, _column: usize, _out: &mut [Self]) -> bool {
        false
    }
}

/// A float of which two rows may be made at once whose indices are the same.
pub(super) trait Paired: Float + Sides + Sided {
    /// [`PAIRED`] columns of a row and of one with the same indices and other values, if there is such a loop; says whether there is.
    ///
    /// # Safety
    /// `column +` [`PAIRED`] is at most the number of columns that the row was made for, and both parts of `out` have as many; the
    /// CPU must have AVX-512 F and DQ.
    #[cfg(target_arch = "x86_64")]
    unsafe fn of_two<const AWAY: u8>(
        _row: &Row<'_, Self>,
        _second: &[Self],
        _column: usize,
        _out: [&mut [Self]; 2],
    ) -> bool {
        false
    }
}

/// A row of the sparse matrix beside the dense one, in which all places that its indices name were found to be.
pub(super) struct Row<'a, T, S = Whole> {
    pub(super) indices: &'a [u32],
    pub(super) values: &'a [T],
    /// What makes a term of an element.
    pub(super) source: S,
    /// The indices of this row and of those after it, to look ahead.
    ahead: &'a [u32],
    distance: usize,
    b: &'a [T],
    stride: usize,
    /// Whether sums go past the caches.
    pub(super) stream: bool,
}

impl<'a, T, S> Row<'a, T, S> {
    /// Asks for what will be needed `distance` elements after element `e`, `times` `N` columns, if that is far.
    #[inline(always)]
    pub(super) fn look<const N: usize, const AWAY: u8>(&self, times: usize, e: usize, column: usize) {
        if AWAY != NEAR
            && let Some(k) = self.ahead.get(e + self.distance)
        {
            let at = *k as usize * self.stride + column;
            match AWAY {
                FAR => (0..times).for_each(|i| prefetch::<T, N>(self.b, at + i * N)),
                _ => (0..times).for_each(|i| prefetch_far::<T, N>(self.b, at + i * N)),
            }
        }
    }

    /// Where the columns from `column` on of row `k` of the dense matrix begin.
    ///
    /// # Safety
    /// `k` is one of the row's indices, `column` at most the number of columns that the row was made for; then as many as
    /// are left of them are readable.
    #[inline(always)]
    pub(super) unsafe fn from(&self, k: u32, column: usize) -> *const T {
        let at = k as usize * self.stride + column;
        debug_assert!(at <= self.b.len());
        // SAFETY: `Group::checked` has compared the end of the last place with the length, and this one is not after it.
        unsafe { self.b.as_ptr().add(at) }
    }

    /// `N` columns of row `k` of the dense matrix.
    ///
    /// # Safety
    /// As [`Row::from`], and there are `N`.
    #[inline(always)]
    pub(super) unsafe fn at<const N: usize>(&self, k: u32, column: usize) -> &'a [T; N] {
        // SAFETY: the caller's promise.
        unsafe { &*self.from(k, column).cast::<[T; N]>() }
    }
}

impl<S: Source> Float<S> for f64 {
    #[inline(always)]
    unsafe fn tile<const N: usize, const AWAY: u8>(row: &Row<'_, f64, S>, column: usize) -> [f64; N] {
        let mut sum = [0.0; N];
        row.source.begin();
        for (e, (&x, &k)) in row.values.iter().zip(row.indices).enumerate() {
            row.look::<N, AWAY>(1, e, column);
            let x = row.source.term(e, k, x);
            // SAFETY: an index of the row; the caller's promise.
            let y = unsafe { row.at::<N>(k, column) };
            for i in 0..N {
                sum[i] += x * y[i];
            }
        }
        sum
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn in_registers<const N: usize, const WIDE: bool, const AWAY: u8>(
        row: &Row<'_, f64, S>,
        column: usize,
        out: &mut [f64],
    ) {
        for (i, out) in out.chunks_exact_mut(32).enumerate() {
            let column = column + 32 * i;
            // SAFETY: the caller's promise.
            unsafe {
                match WIDE {
                    true => tiles::wide_doubles::<S, AWAY>(row, column, out),
                    false => tiles::narrow_doubles::<S, AWAY>(row, column, out),
                }
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn in_part<const AWAY: u8>(row: &Row<'_, f64, S>, column: usize, out: &mut [f64]) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            match out.len().div_ceil(8) {
                0 => {}
                1 => tiles::some_doubles::<1, S, AWAY>(row, column, out),
                2 => tiles::some_doubles::<2, S, AWAY>(row, column, out),
                3 => tiles::some_doubles::<3, S, AWAY>(row, column, out),
                4 => tiles::some_doubles::<4, S, AWAY>(row, column, out),
                _ => return false,
            }
        }
        true
    }
}

impl Paired for f64 {
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn of_two<const AWAY: u8>(row: &Row<'_, f64>, second: &[f64], column: usize, out: [&mut [f64]; 2]) -> bool {
        // SAFETY: the caller's promise.
        unsafe { tiles::two_doubles::<AWAY>(row, second, column, out) };
        true
    }
}

impl Paired for f32 {}

/// Terms that are summed in `f32` before they are added in `f64`. With the rounding of products and of the result that is an
/// error of 13 half units for 12 terms, where `2 log2(n + 1)` units are allowed.
pub(super) const RUN: usize = 12;

/// Columns up to which a tile has registers and time left for two runs at once.
const FEW: usize = 16;

impl Float for f32 {
    #[inline(always)]
    unsafe fn tile<const N: usize, const AWAY: u8>(row: &Row<'_, f32>, column: usize) -> [f32; N] {
        let mut sum = [0.0f64; N];
        let mut e = 0;
        let (mut rest, mut rest_indices) = (row.values, row.indices);
        if N <= FEW {
            // Of few columns two runs side by side: one alone would wait for each of its sums.
            let (pairs, few) = row.values.as_chunks::<{ 2 * RUN }>();
            let (pair_indices, few_indices) = row.indices.as_chunks::<{ 2 * RUN }>();
            for (values, indices) in pairs.iter().zip(pair_indices) {
                let (mut one, mut two) = ([0.0f32; N], [0.0f32; N]);
                for t in 0..RUN {
                    row.look::<N, AWAY>(1, e + t, column);
                    row.look::<N, AWAY>(1, e + RUN + t, column);
                    // SAFETY: indices of the row; the caller's promise.
                    let (y, z) = unsafe { (row.at::<N>(indices[t], column), row.at::<N>(indices[RUN + t], column)) };
                    for i in 0..N {
                        one[i] += values[t] * y[i];
                    }
                    for i in 0..N {
                        two[i] += values[RUN + t] * z[i];
                    }
                }
                for run in [one, two] {
                    for i in 0..N {
                        sum[i] += f64::from(run[i]);
                    }
                }
                e += 2 * RUN;
            }
            (rest, rest_indices) = (few, few_indices);
        }
        for (values, indices) in rest.chunks(RUN).zip(rest_indices.chunks(RUN)) {
            let mut run = [0.0f32; N];
            for (&x, &k) in values.iter().zip(indices) {
                row.look::<N, AWAY>(1, e, column);
                // SAFETY: an index of the row; the caller's promise.
                let y = unsafe { row.at::<N>(k, column) };
                for i in 0..N {
                    run[i] += x * y[i];
                }
                e += 1;
            }
            for i in 0..N {
                sum[i] += f64::from(run[i]);
            }
        }
        let out = rounded(sum);
        // Beyond the range of f32 on the way: once more in f64.
        // SAFETY: the caller's promise.
        if sum.iter().all(|s| s.is_finite()) { out } else { unsafe { in_f64(row, column) } }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn in_registers<const N: usize, const WIDE: bool, const AWAY: u8>(
        row: &Row<'_, f32>,
        column: usize,
        out: &mut [f32],
    ) {
        // SAFETY: the caller's promise.
        let is_done = unsafe {
            match (N, WIDE) {
                (64, true) => tiles::wide_singles::<true, AWAY>(row, column, out),
                (64, false) => tiles::narrow_singles::<true, AWAY>(row, column, out),
                (_, true) => tiles::wide_singles::<false, AWAY>(row, column, out),
                (_, false) => tiles::narrow_singles::<false, AWAY>(row, column, out),
            }
        };
        if !is_done {
            // SAFETY: as above.
            out.copy_from_slice(&unsafe { in_f64::<N>(row, column) });
        }
    }
}

/// A plain loop: the closure of `map` would be compiled for any CPU, and called.
#[inline(always)]
fn rounded<const N: usize>(sums: [f64; N]) -> [f32; N] {
    let mut out = [0.0; N];
    for i in 0..N {
        out[i] = sums[i] as f32;
    }
    out
}

/// # Safety
/// As [`Float::tile`].
#[cold]
#[inline(never)]
pub(super) unsafe fn in_f64<const N: usize>(row: &Row<'_, f32>, column: usize) -> [f32; N] {
    let mut sum = [0.0f64; N];
    for (&x, &k) in row.values.iter().zip(row.indices) {
        // SAFETY: an index of the row; the caller's promise.
        let y = unsafe { row.at::<N>(k, column) };
        for i in 0..N {
            sum[i] += f64::from(x) * f64::from(y[i]);
        }
    }
    rounded(sum)
}

/// Writes rows of the product of compressed rows of 32-bit indices with a dense matrix whose columns lie side by side.
pub(super) fn sparse_dense<T: Paired>(
    left: Rows<'_>,
    rows: Range<usize>,
    right: Grid<'_>,
    n: usize,
    (out, stream): (&mut [u8], bool),
) {
    debug_assert!(matches!(left.indices, IndexSlice::U32(_)));
    let stencils = left.stencils;
    let (left, b, out) = (Typed::<T, u32>::new(left), slice::<T>(right.values), slice_mut::<T>(out));
    if n == 1 && right.row == 1 {
        return lanes::dots(&left, stencils, rows, b, out);
    }
    vectorised(SparseDense { left, rows, b, stride: right.row, n, out, level: level(), stream });
}

struct SparseDense<'a, T> {
    left: Typed<'a, T, u32>,
    rows: Range<usize>,
    b: &'a [T],
    stride: usize,
    n: usize,
    out: &'a mut [T],
    level: Level,
    /// Whether sums go past the caches.
    stream: bool,
}

impl<T: Paired> Loop for SparseDense<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        // What lies in the cache need not be asked for, and that costs in instructions.
        let SparseDense { left, b, stride, n, level, .. } = self;
        let group = Group::new(left, &self.rows, (b, stride), n, level);
        let panel = group.panel();
        if panel < n {
            // Other rows of the piece met them before.
            return self.panels(group, panel);
        }
        match group.away() {
            NEAR => self.rows::<NEAR>(group),
            FAR => self.rows::<FAR>(group),
            _ => self.rows::<SCATTERED>(group),
        }
    }
}

/// Columns of a panel of a dense matrix of so many rows and columns, of elements of so many bytes. `None` where it is not gone through
/// panel by panel.
fn panel(level: Level, rows: usize, n: usize, size: usize) -> Option<usize> {
    let columns = (PANEL / rows.max(1)).min(WIDEST) / size / NARROW * NARROW;
    let (least, large) = if level == Level::Avx512 { (LEAST_512 / size, 4 * PANEL) } else { (1, 2 * PANEL + 1) };
    (columns >= least && rows.saturating_mul(n).saturating_mul(size) >= large).then_some(columns)
}

/// Whether rows of floats that meet each row of a dense matrix several times go through it by panels of columns, where they are given
/// together: one of so many rows and columns, of elements of so many bytes.
pub fn has_panels(rows: usize, columns: usize, size: usize) -> bool {
    panel(level(), rows, columns, size).is_some_and(|panel| panel < columns)
}

/// Whether rows of the dense matrix need not be asked for ahead.
pub(super) fn is_near<T>(b: &[T]) -> bool {
    size_of_val(b) <= SMALL
}

impl<T: Paired> SparseDense<'_, T> {
    /// Panel by panel of so many columns.
    #[inline(always)]
    fn panels(self, group: Group<'_, T>, panel: usize) {
        let SparseDense { rows, n, out, level, stream, .. } = self;
        let b = group.checked(rows.clone());
        for column in (0..n).step_by(panel) {
            let end = n.min(column + panel);
            for (r, out) in rows.clone().zip(out.chunks_exact_mut(n)) {
                let row = &Row { stream, ..group.row::<Whole, NEAR>(r, b, Whole) };
                columns_from::<T, Whole, NEAR>(row, level, column, &mut out[..end]);
            }
        }
        #[cfg(target_arch = "x86_64")]
        if stream {
            tiles::all_written();
        }
    }

    #[inline(always)]
    fn rows<const AWAY: u8>(self, group: Group<'_, T>) {
        let SparseDense { rows, n, out, level, stream, .. } = self;
        if few_columns::WIDTHS.contains(&n) {
            return few_columns::products::<T, AWAY>(group, rows, out);
        }
        for (i, out) in out.chunks_mut(n * TOGETHER).enumerate() {
            let first = rows.start + i * TOGETHER;
            let last = rows.end.min(first + TOGETHER);
            let b = group.checked(first..last);
            let (mut r, mut rest) = (first, out);
            while r < last {
                let row = &Row { stream, ..group.row::<Whole, AWAY>(r, b, Whole) };
                let are_two = n >= PAIRED && level == Level::Avx512 && r + 1 < last && group.are_alike(r);
                let (own, tail) = rest.split_at_mut(if are_two { 2 * n } else { n });
                rest = tail;
                if are_two {
                    let second = &Row { stream, ..group.row::<Whole, AWAY>(r + 1, b, Whole) };
                    let (a, b) = own.split_at_mut(n);
                    let from = of_two::<T, AWAY>(row, second.values, a, b);
                    columns_from::<T, Whole, AWAY>(row, level, from, a);
                    columns_from::<T, Whole, AWAY>(second, level, from, b);
                    r += 2;
                } else {
                    columns_from::<T, Whole, AWAY>(row, level, 0, own);
                    r += 1;
                }
            }
        }
        #[cfg(target_arch = "x86_64")]
        if stream {
            tiles::all_written();
        }
    }
}

/// Rows of a sparse matrix up to row `end` that meet a dense one of `n` columns.
pub(super) struct Group<'a, T> {
    pub(super) left: Typed<'a, T, u32>,
    first: usize,
    end: usize,
    pub(super) b: &'a [T],
    pub(super) stride: usize,
    pub(super) n: usize,
    pub(super) level: Level,
}

impl<'a, T: Lanes> Group<'a, T> {
    /// Of these rows and `n` columns of a matrix, in which a row begins `stride` elements after the one before.
    pub(super) fn new(
        left: Typed<'a, T, u32>,
        rows: &Range<usize>,
        (b, stride): (&'a [T], usize),
        n: usize,
        level: Level,
    ) -> Group<'a, T> {
        Group { left, first: rows.start, end: rows.end, b, stride, n, level }
    }

    /// How far what one pass meets of the dense matrix is: [`NEAR`], [`FAR`] or [`SCATTERED`].
    pub(super) fn away(&self) -> u8 {
        if is_near(self.b) {
            return NEAR;
        }
        let met = self.b.len() / self.stride.max(1) * self.n.min(TILE);
        let indices = &self.left.indices[self.left.start(self.first)..self.left.start(self.end)];
        if all_over(indices, &self.b[..met.min(self.b.len())]) { SCATTERED } else { FAR }
    }

    /// Columns of the dense matrix that rows are to go through before others: as many as there are, if that is no better.
    #[inline(always)]
    fn panel(&self) -> usize {
        let rows = self.b.len() / self.stride.max(1);
        let met = self.left.start(self.end) - self.left.start(self.first);
        let panel = panel(self.level, rows, self.n, size_of::<T>());
        panel.filter(|_| met >= rows.saturating_mul(OFTEN)).unwrap_or(self.n)
    }

    /// The dense matrix, once the last place that some rows name was looked up in it, and none need be later.
    #[inline(always)]
    pub(super) fn checked(&self, rows: Range<usize>) -> &'a [T] {
        let (start, after) = (self.left.start(rows.start), self.left.start(rows.end));
        let greatest = self.left.indices[start..after].iter().fold(0, |greatest, &k| k.max(greatest)) as usize;
        let reaches = if start == after { 0 } else { greatest.saturating_mul(self.stride).saturating_add(self.n) };
        &self.b[..self.b.len().max(reaches)]
    }

    /// Whether row `r` and the next have the same indices.
    #[inline(always)]
    fn are_alike(&self, r: usize) -> bool {
        let ((own, _), (next, _)) = (self.left.row(r), self.left.row(r + 1));
        own.first() == next.first() && own == next
    }

    /// Row `r` beside the matrix in which its places were looked up.
    #[inline(always)]
    pub(super) fn row<S, const AWAY: u8>(&self, r: usize, checked: &'a [T], source: S) -> Row<'a, T, S> {
        let is_clashing = self.level == Level::Avx512 && (self.stride * size_of::<T>()).is_multiple_of(PAGE);
        let distance = match AWAY {
            SCATTERED if self.level == Level::Avx2 && self.n * size_of::<T>() >= PAGE / 2 => AHEAD[1],
            SCATTERED => LATER[usize::from(self.n > NARROW)],
            _ if is_clashing => CLASHING,
            _ => AHEAD[usize::from(self.n > NARROW)],
        };
        let (indices, values) = self.left.row(r);
        let ahead = if AWAY != NEAR { &self.left.indices[self.left.start(r)..self.left.start(self.end)] } else { &[] };
        Row { indices, values, source, ahead, distance, b: checked, stride: self.stride, stream: false }
    }
}

/// The columns of two rows whose indices are the same, as many as are made at once with AVX-512; says how many these are.
#[inline(always)]
fn of_two<T: Paired, const AWAY: u8>(row: &Row<'_, T>, second: &[T], a: &mut [T], b: &mut [T]) -> usize {
    let mut at = 0;
    #[cfg(target_arch = "x86_64")]
    while at + PAIRED <= a.len() {
        let out = [&mut a[at..at + PAIRED], &mut b[at..at + PAIRED]];
        // SAFETY: columns of the row; the caller asked for the level.
        if !unsafe { T::of_two::<AWAY>(row, second, at, out) } {
            break;
        }
        at += PAIRED;
    }
    at
}

/// The columns of a row from one on.
#[inline(always)]
pub(super) fn columns_from<T: Float<S>, S, const AWAY: u8>(
    row: &Row<'_, T, S>,
    level: Level,
    mut at: usize,
    out: &mut [T],
) {
    match level {
        Level::Avx512 => {
            at = in_tiles::<T, S, 64, 512, AWAY>(row, at, out);
            at = in_tiles::<T, S, 32, 512, AWAY>(row, at, out);
            // SAFETY: columns of the row; the level in use has AVX-512.
            #[cfg(target_arch = "x86_64")]
            if unsafe { T::in_part::<AWAY>(row, at, &mut out[at..]) } {
                return;
            }
        }
        Level::Avx2 => {
            at = in_tiles::<T, S, 64, 256, AWAY>(row, at, out);
            at = in_tiles::<T, S, 32, 256, AWAY>(row, at, out);
        }
        Level::Baseline => at = in_tiles::<T, S, 32, 0, AWAY>(row, at, out),
    }
    at = in_tiles::<T, S, 16, 0, AWAY>(row, at, out);
    at = in_tiles::<T, S, 8, 0, AWAY>(row, at, out);
    at = in_tiles::<T, S, 4, 0, AWAY>(row, at, out);
    in_tiles::<T, S, 1, 0, AWAY>(row, at, out);
}

/// One tile of [`in_tiles`]. No closure: one that is not inlined is code of the baseline.
#[inline(always)]
fn one_tile<T: Float<S>, S, const N: usize, const BITS: usize, const AWAY: u8>(
    row: &Row<'_, T, S>,
    at: usize,
    out: &mut [T],
) {
    #[cfg(target_arch = "x86_64")]
    match BITS {
        // SAFETY: columns of the row; the level in use has AVX-512.
        512 => return unsafe { T::in_registers::<N, true, AWAY>(row, at, out) },
        // SAFETY: as above; it has AVX2.
        256 => return unsafe { T::in_registers::<N, false, AWAY>(row, at, out) },
        _ => {}
    }
    // SAFETY: columns of the row.
    out.copy_from_slice(&unsafe { T::tile::<N, AWAY>(row, at) });
}

/// Fills the row, which was made for as many columns, in tiles of `N` from column `at` on, and says where they end. A last tile
/// goes over columns that are done, where that saves two or more passes. `BITS` are those of the registers that a tile is written
/// out for, or 0: what the compiler makes of it.
#[inline(always)]
fn in_tiles<T: Float<S>, S, const N: usize, const BITS: usize, const AWAY: u8>(
    row: &Row<'_, T, S>,
    mut at: usize,
    out: &mut [T],
) -> usize {
    while at + N <= out.len() {
        one_tile::<T, S, N, BITS, AWAY>(row, at, &mut out[at..at + N]);
        at += N;
    }
    let left = out.len() - at;
    if left > N / 2 && out.len() >= N {
        at = out.len() - N;
        one_tile::<T, S, N, BITS, AWAY>(row, at, &mut out[at..]);
        at = out.len();
    }
    at
}
