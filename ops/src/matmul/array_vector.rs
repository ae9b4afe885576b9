//! Products of the rows of an array with a vector: of each row, or of all of them in sum. Terms are added in blocks, so that the error
//! does not grow with all of them; which blocks there are says the shape alone, and so results have the same bits at every level.

use std::ops::{Add, Mul, Range};

use crate::dtype::{c64, c128};
use crate::simd::{self, Loop};

/// Numbers whose products are added in their own dtype.
pub trait Number: Copy + Default + Add<Output = Self> + Mul<Output = Self> {}
impl Number for f32 {}
impl Number for f64 {}
impl Number for c64 {}
impl Number for c128 {}

/// Rows of an array. The elements of each lie beside each other; those of row `r` begin at `at + r · step`.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    /// All elements of the array, and of others.
    pub elements: &'a [T],
    /// Where the first row begins.
    pub at: usize,
    /// How much further each next row begins.
    pub step: isize,
}

impl<'a, T> Rows<'a, T> {
    /// Some elements of a row.
    #[inline(always)]
    pub(super) fn part(&self, r: usize, columns: Range<usize>) -> &'a [T] {
        let at = self.at.wrapping_add_signed(r as isize * self.step);
        &self.elements[at + columns.start..at + columns.end]
    }

    /// Some rows of `n` elements as one slice, if they follow each other.
    #[inline(always)]
    pub(super) fn together(&self, rows: Range<usize>, n: usize) -> Option<&'a [T]> {
        (self.step == n as isize).then(|| self.part(rows.start, 0..rows.len() * n))
    }
}

/// Elements of a row up to which loops are written out.
pub const NARROW: usize = 8;
/// Rows of a block.
const ROWS: usize = 512;
/// Rows that are added at once, and columns whose sums stay in the first-level cache meanwhile.
const AT_ONCE: usize = 4;
const COLUMNS: usize = 1024;

/// `out[r] = Σ array[rows.start + r, c] · v[c]`, of rows that follow each other and have at most [`NARROW`] elements. Whether they do, and
/// have: else nothing is done.
pub fn dots<T: Number>(array: Rows<'_, T>, rows: Range<usize>, v: &[T], out: &mut [T]) -> bool {
    match array.together(rows, v.len()) {
        Some(elements) if v.len() <= NARROW => simd::narrowly_vectorised(Dots { elements, v, out }),
        _ => return false,
    }
    true
}

struct Dots<'a, T> {
    elements: &'a [T],
    v: &'a [T],
    out: &'a mut [T],
}

impl<T: Number> Loop for Dots<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Dots { elements, v, out } = self;
        match v.len() {
            1 => of_narrow::<T, 1>(elements, v, out),
            2 => of_narrow::<T, 2>(elements, v, out),
            3 => of_narrow::<T, 3>(elements, v, out),
            4 => of_narrow::<T, 4>(elements, v, out),
            5 => of_narrow::<T, 5>(elements, v, out),
            6 => of_narrow::<T, 6>(elements, v, out),
            7 => of_narrow::<T, 7>(elements, v, out),
            _ => of_narrow::<T, NARROW>(elements, v, out),
        }
    }
}

#[inline(always)]
fn of_narrow<T: Number, const N: usize>(elements: &[T], v: &[T], out: &mut [T]) {
    let Some(v) = v.first_chunk::<N>() else { return };
    for (out, row) in out.iter_mut().zip(elements.as_chunks::<N>().0) {
        let mut sum = row[0] * v[0];
        for c in 1..N {
            sum = sum + row[c] * v[c];
        }
        *out = sum;
    }
}

/// `out[c] = Σ u[r - rows.start] · array[r, first + c]`, over some rows.
pub fn sums<T: Number>(array: Rows<'_, T>, rows: Range<usize>, first: usize, u: &[T], out: &mut [T]) {
    simd::narrowly_vectorised(Sums { array, rows, first, u, out });
}

struct Sums<'a, T> {
    array: Rows<'a, T>,
    rows: Range<usize>,
    first: usize,
    u: &'a [T],
    out: &'a mut [T],
}

impl<T: Number> Loop for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Sums { array, rows, first, u, out } = self;
        match (out.len(), array.together(rows.clone(), out.len())) {
            (1, Some(elements)) => in_narrow::<T, 1>(elements, u, out),
            (2, Some(elements)) => in_narrow::<T, 2>(elements, u, out),
            (3, Some(elements)) => in_narrow::<T, 3>(elements, u, out),
            (4, Some(elements)) => in_narrow::<T, 4>(elements, u, out),
            (5, Some(elements)) => in_narrow::<T, 5>(elements, u, out),
            (6, Some(elements)) => in_narrow::<T, 6>(elements, u, out),
            (7, Some(elements)) => in_narrow::<T, 7>(elements, u, out),
            (NARROW, Some(elements)) => in_narrow::<T, NARROW>(elements, u, out),
            _ => {
                for (out, first) in out.chunks_mut(COLUMNS).zip((first..).step_by(COLUMNS)) {
                    out.fill(T::default());
                    for (u, start) in u.chunks(ROWS).zip(rows.clone().step_by(ROWS)) {
                        let mut block = [T::default(); COLUMNS];
                        let block = &mut block[..out.len()];
                        of_block(array, start, first, u, block);
                        out.iter_mut().zip(block).for_each(|(out, sum)| *out = *out + *sum);
                    }
                }
            }
        }
    }
}

/// Adds rows from `start` on, so many as there are factors.
#[inline(always)]
fn of_block<T: Number>(array: Rows<'_, T>, start: usize, first: usize, u: &[T], out: &mut [T]) {
    let n = out.len();
    let row = |r: usize| array.part(start + r, first..first + n);
    let (fours, last) = u.as_chunks::<AT_ONCE>();
    for (f, u) in fours.iter().enumerate() {
        let [a, b, c, d] = [0, 1, 2, 3].map(|i| row(AT_ONCE * f + i));
        for (j, out) in out.iter_mut().enumerate() {
            *out = *out + ((u[0] * a[j] + u[1] * b[j]) + (u[2] * c[j] + u[3] * d[j]));
        }
    }
    for (r, &u) in (AT_ONCE * fours.len()..).zip(last) {
        out.iter_mut().zip(row(r)).for_each(|(out, x)| *out = *out + u * *x);
    }
}

/// Several rows side by side, each with sums of its own.
#[inline(always)]
fn in_narrow<T: Number, const N: usize>(elements: &[T], u: &[T], out: &mut [T]) {
    let mut total = [T::default(); N];
    for (rows, u) in elements.as_chunks::<N>().0.chunks(ROWS).zip(u.chunks(ROWS)) {
        let mut sums = [[T::default(); N]; AT_ONCE];
        let ((fours, last), (u, last_u)) = (rows.as_chunks::<AT_ONCE>(), u.as_chunks::<AT_ONCE>());
        let last: [(&[[T; N]], &[T]); 1] = [(last, last_u)];
        for (rows, u) in fours.iter().map(|rows| &rows[..]).zip(u.iter().map(|u| &u[..])).chain(last) {
            for (sums, (row, &u)) in sums.iter_mut().zip(rows.iter().zip(u)) {
                for c in 0..N {
                    sums[c] = sums[c] + u * row[c];
                }
            }
        }
        for c in 0..N {
            total[c] = total[c] + ((sums[0][c] + sums[1][c]) + (sums[2][c] + sums[3][c]));
        }
    }
    out.copy_from_slice(&total);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, set_level};

    /// Whole numbers, whose sums are exact in any order.
    fn number(i: usize) -> i64 {
        (i.wrapping_mul(0x9e37_79b1) >> 7) as i64 % 17 - 8
    }

    fn same<T: Number + PartialEq + std::fmt::Debug>(of: impl Fn(i64) -> T) {
        for (m, n) in (1..=40).map(|n| (41 - n, n)).chain([(1, 9000), (3, 5000), (1200, 3), (1100, 20), (7, 2500)]) {
            // Rows that follow each other, that lie apart, and that go backwards.
            for (at, step) in [(5, n as isize), (2, n as isize + 3), ((m - 1) * n + 1, -(n as isize))] {
                let elements: Vec<T> = (0..m * (n + 3) + 10).map(|i| of(number(i))).collect();
                let array = Rows { elements: &elements, at, step };
                let element = |r: usize, c: usize| number(at.wrapping_add_signed(r as isize * step) + c);
                let (v, u) = (|c: usize| number(c + 77), |r: usize| number(3 * r + 5));
                let vs: Vec<T> = (0..n).map(|c| of(v(c))).collect();
                let us: Vec<T> = (0..m).map(|r| of(u(r))).collect();
                let of_row = |r: usize| of((0..n).map(|c| element(r, c) * v(c)).sum());
                let of_columns = |c: usize, rows: Range<usize>| of(rows.map(|r| u(r) * element(r, c)).sum());
                for level in Level::ALL {
                    set_level(Some(level));
                    for rows in [0..m, m / 3..m] {
                        let mut out = vec![of(1); rows.len()];
                        let is_done = dots(array, rows.clone(), &vs, &mut out);
                        assert_eq!(is_done, n <= NARROW && step == n as isize);
                        let wanted: Vec<T> = rows.clone().map(of_row).collect();
                        assert!(!is_done || out == wanted, "{m} {n} {step}");
                        for first in [0, n / 3] {
                            let mut out = vec![of(1); n - first];
                            sums(array, rows.clone(), first, &us[rows.clone()], &mut out);
                            let wanted: Vec<T> = (first..n).map(|c| of_columns(c, rows.clone())).collect();
                            assert_eq!(out, wanted, "{m} {n} {step} {rows:?} {first}");
                        }
                    }
                }
                set_level(None);
            }
        }
    }

    #[test]
    fn sums_of_whole_numbers_are_exact() {
        same(|x| x as f64);
        same(|x| x as f32);
        same(|x| c64::new(x as f32, 0.0));
    }

    #[test]
    fn complex_numbers_and_long_sums() {
        let i = c128::new(0.0, 1.0);
        let array = Rows { elements: &[i, c128::new(2.0, 3.0)], at: 0, step: 2 };
        let mut out = [c128::default()];
        assert!(dots(array, 0..1, &[i, c128::new(1.0, -1.0)], &mut out));
        assert_eq!(out, [c128::new(4.0, 1.0)]);
        // A plain sum of as many terms is off by several hundredths.
        let elements = vec![0.1f32; 3 << 20];
        let close = |x: f32| (f64::from(x) / (f64::from(0.1f32) * f64::from(3 << 20)) - 1.0).abs() < 1e-4;
        let mut out = [0.0; 3];
        sums(Rows { elements: &elements, at: 0, step: 3 }, 0..1 << 20, 0, &vec![1.0; 1 << 20], &mut out);
        assert!(out.iter().all(|x| close(3.0 * x)), "{out:?}");
    }
}
