//! Dot products of the rows of one array with those of another, each with its own: along rows, or down columns. Terms are added in
//! blocks and in lanes, so that the error does not grow with all of them; which there are says the shape alone, and so results have the same bits
//! at every level.

use std::ops::Range;

use super::array_vector::Rows;
use crate::dtype::{Element, c64, c128};
use crate::simd::{self, Loop};

/// What dot products are made of.
pub trait Term: Element + Default {
    /// What terms are added as: floats in `f64`, integers in their own width, where they wrap.
    type Sum: Copy + Default + Send;
    /// Whether sums are the same in any order. Of loops that say nothing of lanes compilers make vectors then.
    const IS_EXACT: bool = false;
    /// `sum + self · other`.
    fn plus(self, other: Self, sum: Self::Sum) -> Self::Sum;
    /// The sum of two sums.
    fn both(a: Self::Sum, b: Self::Sum) -> Self::Sum;
    /// A sum as an element, rounded once: that of products with the conjugates of the elements on the left, if these are meant.
    fn rounded(sum: Self::Sum, conjugates: bool) -> Self;
    /// Adds products to the sums of their lanes.
    #[inline(always)]
    fn add_lanes(a: &[[Self; LANES]], b: &[[Self; LANES]], lanes: &mut [Self::Sum; LANES]) {
        add_products(a, b, lanes);
    }
}

#[inline(always)]
fn add_products<T: Term>(a: &[[T; LANES]], b: &[[T; LANES]], lanes: &mut [T::Sum; LANES]) {
    for (a, b) in a.iter().zip(b) {
        for i in 0..LANES {
            lanes[i] = a[i].plus(b[i], lanes[i]);
        }
    }
}

macro_rules! integers {
    ($($ty:ty),+) => {$(
        impl Term for $ty {
            type Sum = $ty;
            const IS_EXACT: bool = true;
            #[inline(always)]
            fn plus(self, other: $ty, sum: $ty) -> $ty {
                sum.wrapping_add(self.wrapping_mul(other))
            }
            #[inline(always)]
            fn both(a: $ty, b: $ty) -> $ty {
                a.wrapping_add(b)
            }
            #[inline(always)]
            fn rounded(sum: $ty, _: bool) -> $ty {
                sum
            }
        }
    )+};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! floats {
    ($($ty:ty $(: $add_lanes:item)?;)+) => {$(
        impl Term for $ty {
            type Sum = f64;
            #[inline(always)]
            fn plus(self, other: $ty, sum: f64) -> f64 {
                sum + f64::from(self) * f64::from(other)
            }
            #[inline(always)]
            fn both(a: f64, b: f64) -> f64 {
                a + b
            }
            #[inline(always)]
            fn rounded(sum: f64, _: bool) -> $ty {
                sum as $ty
            }
            $($add_lanes)?
        }
    )+};
}
floats! {
    f32:
        /// In `f32` for some terms, whose sum is then added in `f64`: to widen each would take as long as all else.
        #[inline(always)]
        fn add_lanes(a: &[[f32; LANES]], b: &[[f32; LANES]], lanes: &mut [f64; LANES]) {
            let before = *lanes;
            for (a, b) in a.chunks(RUN).zip(b.chunks(RUN)) {
                let mut run = [0.0; LANES];
                for (a, b) in a.iter().zip(b) {
                    for i in 0..LANES {
                        run[i] += a[i] * b[i];
                    }
                }
                for i in 0..LANES {
                    lanes[i] += f64::from(run[i]);
                }
            }
            // Beyond the range of f32 on the way: once more in f64.
            let mut rest = 0.0;
            for lane in lanes.iter() {
                rest += 0.0 * lane;
            }
            if rest != 0.0 {
                *lanes = before;
                add_products(a, b, lanes);
            }
        };
    f64;
}

/// Sums of the products of the parts of complex numbers: what both their product and that with a conjugate are made of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OfParts {
    /// Of real parts, and of imaginary ones.
    alike: [f64; 2],
    /// Of real parts with imaginary ones, and of imaginary parts with real ones.
    crossed: [f64; 2],
}

macro_rules! complex {
    ($($ty:ty: $part:ty),+) => {$(
        impl Term for $ty {
            type Sum = OfParts;
            #[inline(always)]
            fn plus(self, other: $ty, OfParts { alike, crossed }: OfParts) -> OfParts {
                let (a, b) = ([self.re, self.im].map(f64::from), [other.re, other.im].map(f64::from));
                OfParts {
                    alike: [alike[0] + a[0] * b[0], alike[1] + a[1] * b[1]],
                    crossed: [crossed[0] + a[0] * b[1], crossed[1] + a[1] * b[0]],
                }
            }
            #[inline(always)]
            fn both(a: OfParts, b: OfParts) -> OfParts {
                OfParts {
                    alike: [a.alike[0] + b.alike[0], a.alike[1] + b.alike[1]],
                    crossed: [a.crossed[0] + b.crossed[0], a.crossed[1] + b.crossed[1]],
                }
            }
            #[inline(always)]
            fn rounded(OfParts { alike, crossed }: OfParts, conjugates: bool) -> $ty {
                let (re, im) = match conjugates {
                    false => (alike[0] - alike[1], crossed[0] + crossed[1]),
                    true => (alike[0] + alike[1], crossed[0] - crossed[1]),
                };
                <$ty>::new(re as $part, im as $part)
            }
            /// Parts as they lie, beside those of the other operand and beside these turned.
            #[inline(always)]
            fn add_lanes(a: &[[$ty; LANES]], b: &[[$ty; LANES]], lanes: &mut [OfParts; LANES]) {
                let (mut alike, mut crossed) = ([[0.0; 2]; LANES], [[0.0; 2]; LANES]);
                for (a, b) in a.iter().zip(b) {
                    for i in 0..LANES {
                        let (a, b) = ([a[i].re, a[i].im].map(f64::from), [b[i].re, b[i].im].map(f64::from));
                        for part in 0..2 {
                            alike[i][part] += a[part] * b[part];
                            crossed[i][part] += a[part] * b[1 - part];
                        }
                    }
                }
                for i in 0..LANES {
                    lanes[i] = Self::both(lanes[i], OfParts { alike: alike[i], crossed: crossed[i] });
                }
            }
        }
    )+};
}
complex!(c64: f32, c128: f64);

/// Terms of a block, and lanes that they are added in.
const BLOCK: usize = 512;
const LANES: usize = 16;
/// Terms of a lane that `f32` are added for in `f32`: an error of 9 half units, where `2 log2(n + 1)` units are allowed, at least 8.
const RUN: usize = 8;
/// Elements of a row up to which loops are written out.
const NARROW: usize = 8;
/// Columns whose sums stay in the first-level cache.
const COLUMNS: usize = 512;
/// Rows that are added at once.
const AT_ONCE: usize = 4;

/// `out[i] = Σ a[rows.start + i, c] · b[rows.start + i, c]`, over `k` elements of each row; those of `a` conjugated, if `conjugates`.
pub fn of_rows<T: Term>(a: Rows<'_, T>, b: Rows<'_, T>, rows: Range<usize>, k: usize, conjugates: bool, out: &mut [T]) {
    debug_assert_eq!(rows.len(), out.len());
    simd::vectorised(OfRows { a, b, rows, k, conjugates, out });
}

/// `Σ a[c] · b[c]`, over a part of two rows.
pub fn of_part<T: Term>(a: &[T], b: &[T]) -> T::Sum {
    debug_assert_eq!(a.len(), b.len());
    simd::vectorised(OfPart { a, b })
}

struct OfPart<'a, T> {
    a: &'a [T],
    b: &'a [T],
}

impl<T: Term> Loop for OfPart<'_, T> {
    type Output = T::Sum;

    #[inline(always)]
    fn run(self) -> T::Sum {
        of_row(self.a, self.b)
    }
}

struct OfRows<'a, T> {
    a: Rows<'a, T>,
    b: Rows<'a, T>,
    rows: Range<usize>,
    k: usize,
    conjugates: bool,
    out: &'a mut [T],
}

impl<T: Term> Loop for OfRows<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let OfRows { a, b, rows, k, conjugates, out } = self;
        if let (1..=NARROW, Some(a), Some(b)) = (k, a.together(rows.clone(), k), b.together(rows.clone(), k)) {
            return match k {
                1 => narrow::<T, 1>(a, b, conjugates, out),
                2 => narrow::<T, 2>(a, b, conjugates, out),
                3 => narrow::<T, 3>(a, b, conjugates, out),
                4 => narrow::<T, 4>(a, b, conjugates, out),
                5 => narrow::<T, 5>(a, b, conjugates, out),
                6 => narrow::<T, 6>(a, b, conjugates, out),
                7 => narrow::<T, 7>(a, b, conjugates, out),
                _ => narrow::<T, NARROW>(a, b, conjugates, out),
            };
        }
        for (out, r) in out.iter_mut().zip(rows) {
            let (a, b) = (a.part(r, 0..k), b.part(r, 0..k));
            *out = T::rounded(if k < LANES { in_turn(a, b) } else { of_row(a, b) }, conjugates);
        }
    }
}

#[inline(always)]
fn narrow<T: Term, const N: usize>(a: &[T], b: &[T], conjugates: bool, out: &mut [T]) {
    for ((out, a), b) in out.iter_mut().zip(a.as_chunks::<N>().0).zip(b.as_chunks::<N>().0) {
        let mut sum = T::Sum::default();
        for c in 0..N {
            sum = a[c].plus(b[c], sum);
        }
        *out = T::rounded(sum, conjugates);
    }
}

#[inline(always)]
fn in_turn<T: Term>(a: &[T], b: &[T]) -> T::Sum {
    let mut sum = T::Sum::default();
    for (&a, &b) in a.iter().zip(b) {
        sum = a.plus(b, sum);
    }
    sum
}

#[inline(always)]
fn of_row<T: Term>(a: &[T], b: &[T]) -> T::Sum {
    if const { T::IS_EXACT } {
        return in_turn(a, b);
    }
    let mut total = T::Sum::default();
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let ((a, a_last), (b, b_last)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        let ((fours_a, a_last), (fours_b, b_last)) = (a_last.as_chunks::<4>(), b_last.as_chunks::<4>());
        let mut four = [T::Sum::default(); 4];
        for (a, b) in fours_a.iter().zip(fours_b) {
            for i in 0..4 {
                four[i] = a[i].plus(b[i], four[i]);
            }
        }
        let four = T::both(T::both(four[0], four[2]), T::both(four[1], four[3]));
        let mut last = T::both(four, in_turn(a_last, b_last));
        if !a.is_empty() {
            let mut lanes = [T::Sum::default(); LANES];
            T::add_lanes(a, b, &mut lanes);
            simd::lie_together(&mut lanes);
            let mut n = LANES / 2;
            while n > 0 {
                for i in 0..n {
                    lanes[i] = T::both(lanes[i], lanes[i + n]);
                }
                n /= 2;
            }
            last = T::both(lanes[0], last);
        }
        total = T::both(total, last);
    }
    total
}

/// `sums[i] = Σ a[r, columns.start + i] · b[r, columns.start + i]`, over some rows.
pub fn of_columns<T: Term>(
    a: Rows<'_, T>,
    b: Rows<'_, T>,
    rows: Range<usize>,
    columns: Range<usize>,
    sums: &mut [T::Sum],
) {
    debug_assert_eq!(columns.len(), sums.len());
    simd::vectorised(OfColumns { a, b, rows, columns, sums });
}

struct OfColumns<'a, T: Term> {
    a: Rows<'a, T>,
    b: Rows<'a, T>,
    rows: Range<usize>,
    columns: Range<usize>,
    sums: &'a mut [T::Sum],
}

impl<T: Term> Loop for OfColumns<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let OfColumns { a, b, rows, columns, sums } = self;
        let n = columns.len();
        if let (0, 1..=NARROW, Some(a), Some(b)) =
            (columns.start, n, a.together(rows.clone(), n), b.together(rows.clone(), n))
        {
            return match n {
                1 => side_by_side::<T, 1>(a, b, sums),
                2 => side_by_side::<T, 2>(a, b, sums),
                3 => side_by_side::<T, 3>(a, b, sums),
                4 => side_by_side::<T, 4>(a, b, sums),
                5 => side_by_side::<T, 5>(a, b, sums),
                6 => side_by_side::<T, 6>(a, b, sums),
                7 => side_by_side::<T, 7>(a, b, sums),
                _ => side_by_side::<T, NARROW>(a, b, sums),
            };
        }
        for (sums, first) in sums.chunks_mut(COLUMNS).zip(columns.step_by(COLUMNS)) {
            sums.fill(T::Sum::default());
            for start in rows.clone().step_by(BLOCK) {
                let mut block = [T::Sum::default(); COLUMNS];
                let block = &mut block[..sums.len()];
                add_rows(a, b, start..rows.end.min(start + BLOCK), first, block);
                for (sum, &of_block) in sums.iter_mut().zip(&*block) {
                    *sum = T::both(*sum, of_block);
                }
            }
        }
    }
}

/// Adds the products of some rows, from a column on.
#[inline(always)]
fn add_rows<T: Term>(a: Rows<'_, T>, b: Rows<'_, T>, rows: Range<usize>, first: usize, sums: &mut [T::Sum]) {
    let n = sums.len();
    let pair = |r: usize| (&a.part(r, first..first + n)[..n], &b.part(r, first..first + n)[..n]);
    let mut r = rows.start;
    while r + AT_ONCE <= rows.end {
        let [p, q, s, t] = [pair(r), pair(r + 1), pair(r + 2), pair(r + 3)];
        for (j, sum) in sums.iter_mut().enumerate() {
            let none = T::Sum::default();
            let two = T::both(p.0[j].plus(p.1[j], none), q.0[j].plus(q.1[j], none));
            let others = T::both(s.0[j].plus(s.1[j], none), t.0[j].plus(t.1[j], none));
            *sum = T::both(*sum, T::both(two, others));
        }
        r += AT_ONCE;
    }
    for r in r..rows.end {
        let (a, b) = pair(r);
        for ((sum, &a), &b) in sums.iter_mut().zip(a).zip(b) {
            *sum = a.plus(b, *sum);
        }
    }
}

/// Several rows side by side, each with sums of its own.
#[inline(always)]
fn side_by_side<T: Term, const N: usize>(a: &[T], b: &[T], sums: &mut [T::Sum]) {
    let mut total = [T::Sum::default(); N];
    for (a, b) in a.as_chunks::<N>().0.chunks(BLOCK).zip(b.as_chunks::<N>().0.chunks(BLOCK)) {
        let mut own = [[T::Sum::default(); N]; AT_ONCE];
        let ((a, a_last), (b, b_last)) = (a.as_chunks::<AT_ONCE>(), b.as_chunks::<AT_ONCE>());
        for (a, b) in a.iter().zip(b) {
            for i in 0..AT_ONCE {
                for c in 0..N {
                    own[i][c] = a[i][c].plus(b[i][c], own[i][c]);
                }
            }
        }
        for (a, b) in a_last.iter().zip(b_last) {
            for c in 0..N {
                own[0][c] = a[c].plus(b[c], own[0][c]);
            }
        }
        for c in 0..N {
            total[c] = T::both(total[c], T::both(T::both(own[0][c], own[1][c]), T::both(own[2][c], own[3][c])));
        }
    }
    sums.copy_from_slice(&total);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, set_level};

    /// Small whole numbers, whose sums are exact in any order.
    fn number(i: usize) -> i64 {
        (i.wrapping_mul(0x9e37_79b1) >> 7) as i64 % 9 - 4
    }

    fn same<T: Term + PartialEq + std::fmt::Debug>(of: impl Fn(i64) -> T) {
        for (m, n) in (1..=40).map(|n| (41 - n, n)).chain([(2, 1500), (1200, 3), (1100, 20), (7, 700), (1, 1), (5, 0)])
        {
            // Rows that follow each other, that lie apart, that go backwards, and one over and over.
            for (at, step) in [(5, n as isize), (2, n as isize + 3), ((m - 1) * n + 1, -(n as isize)), (3, 0)] {
                let elements: Vec<T> = (0..m * (n + 3) + 10).map(|i| of(number(i))).collect();
                let others: Vec<T> = (0..m * n + 10).map(|i| of(number(i + 977))).collect();
                let (a, b) =
                    (Rows { elements: &elements, at, step }, Rows { elements: &others, at: 4, step: n as isize });
                let term = |r: usize, c: usize| {
                    number(at.wrapping_add_signed(r as isize * step) + c) * number(4 + r * n + c + 977)
                };
                for level in Level::ALL {
                    set_level(Some(level));
                    for rows in [0..m, m / 3..m] {
                        let mut out = vec![of(1); rows.len()];
                        of_rows(a, b, rows.clone(), n, false, &mut out);
                        let wanted: Vec<T> = rows.clone().map(|r| of((0..n).map(|c| term(r, c)).sum())).collect();
                        assert_eq!(out, wanted, "rows of {m} {n} {step} {rows:?}");
                        for first in [0, n / 3] {
                            let mut sums = vec![T::Sum::default(); n - first];
                            of_columns(a, b, rows.clone(), first..n, &mut sums);
                            let out: Vec<T> = sums.into_iter().map(|sum| T::rounded(sum, false)).collect();
                            let wanted: Vec<T> =
                                (first..n).map(|c| of(rows.clone().map(|r| term(r, c)).sum())).collect();
                            assert_eq!(out, wanted, "columns of {m} {n} {step} {rows:?} {first}");
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
        same(|x| c128::new(0.0, x as f64) * c128::new(0.0, -1.0));
        same(|x| x as i8);
        same(|x| x as u16);
        same(|x| x as i32);
        same(|x| x as u64);
    }

    #[test]
    fn both_parts_of_complex_numbers_and_conjugates() {
        fn check<T: Term + PartialEq + std::fmt::Debug + num_traits::Num>(
            of: impl Fn(f64, f64) -> T,
            conjugate: fn(T) -> T,
        ) {
            for k in (1..=40).chain([100, 511, 1500]) {
                let some = |seed: usize| -> Vec<T> {
                    (0..3 * k).map(|i| of(number(i + seed) as f64, number(3 * i + seed + 1) as f64)).collect()
                };
                let (x, y) = (some(0), some(977));
                let rows = |elements| Rows { elements, at: 0, step: k as isize };
                for conjugates in [false, true] {
                    let own = |x: T| if conjugates { conjugate(x) } else { x };
                    let wanted =
                        [0, 1, 2].map(|r| (r * k..(r + 1) * k).fold(T::zero(), |sum, i| sum + own(x[i]) * y[i]));
                    for level in Level::ALL {
                        set_level(Some(level));
                        let mut out = [T::one(); 3];
                        of_rows(rows(&x), rows(&y), 0..3, k, conjugates, &mut out);
                        assert_eq!(out, wanted, "{k}");
                        assert_eq!(T::rounded(of_part(&x[..k], &y[..k]), conjugates), wanted[0], "{k}");
                        let mut sums = [T::Sum::default(); 2];
                        of_columns(
                            rows(&x),
                            rows(&y),
                            0..3,
                            k / 2..k / 2 + 2.min(k - k / 2),
                            &mut sums[..2.min(k - k / 2)],
                        );
                        let column = (0..3).fold(T::zero(), |sum, r| sum + own(x[r * k + k / 2]) * y[r * k + k / 2]);
                        assert_eq!(T::rounded(sums[0], conjugates), column, "{k}");
                    }
                    set_level(None);
                }
            }
        }
        check(|re, im| c64::new(re as f32, im as f32), |x| x.conj());
        check(c128::new, |x| x.conj());
        check(|re, _| re, |x| x);
    }

    /// Those along rows go by runs of `f32`, which may go beyond its range on the way; those down columns are rounded once.
    #[test]
    fn sums_of_singles_go_by_f64() {
        const N: usize = 1 << 20;
        let dot = |x: &[f32], y: &[f32]| {
            let (a, b) = (Rows { elements: x, at: 0, step: 0 }, Rows { elements: y, at: 0, step: 0 });
            let mut out = [0.0];
            of_rows(a, b, 0..1, x.len(), false, &mut out);
            out[0]
        };
        let (ones, tenths) = (vec![1.0f32; N], vec![0.1f32; N]);
        let exact = f64::from(0.1f32) * N as f64;
        assert!((f64::from(dot(&ones, &tenths)) - exact).abs() <= 5.0 * f64::from(f32::EPSILON) * exact);
        let down = |elements| Rows { elements, at: 0, step: 1 };
        let mut sums = [0.0];
        of_columns(down(&ones), down(&tenths), 0..N, 0..1, &mut sums);
        assert_eq!(sums[0] as f32, exact as f32);
        // 2 · 10³⁸ four times in a lane, and then taken off again.
        let great: Vec<f32> = (0..8 * LANES).map(|i| if i < 4 * LANES { 2e38 } else { -2e38 }).collect();
        assert_eq!(dot(&great, &ones[..8 * LANES]), 0.0);
        assert_eq!(dot(&great[..4 * LANES], &ones[..4 * LANES]), f32::INFINITY);
        let mut beside = great;
        beside[5] = f32::NAN;
        assert!(dot(&beside, &ones[..8 * LANES]).is_nan());
    }
}
