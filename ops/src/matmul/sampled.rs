//! Sums for wanted elements of a product of dense matrices, for floats: a dot product of two rows for each.

use super::lanes::{LANES, Lanes};
use super::typed::{slice, slice_mut};
use super::{Grid, WantedRow};
use crate::simd::{Level, Loop, level, prefetch, vectorised};

/// Elements whose rows of the right operand are asked for ahead.
const AHEAD: usize = 32;

/// Adds to one accumulator for each wanted element the dot product of a row of the left operand with one of the right
/// operand's transpose.
pub(super) fn add<T: Lanes>([a, b]: [Grid<'_>; 2], columns: &[u32], rows: &[WantedRow], k: usize, acc: &mut [u8]) {
    let (x, y) = (slice::<T>(a.values), slice::<T>(b.values));
    let (acc, level) = (slice_mut(acc), level());
    vectorised(Sampled { x, x_stride: a.row, y, y_stride: b.row, columns, rows, k, acc, level });
}

struct Sampled<'a, T> {
    x: &'a [T],
    x_stride: usize,
    y: &'a [T],
    y_stride: usize,
    columns: &'a [u32],
    rows: &'a [WantedRow],
    k: usize,
    acc: &'a mut [f64],
    level: Level,
}

impl<T: Lanes> Loop for Sampled<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Sampled { x, x_stride, y, y_stride, columns, rows, k, mut acc, level } = self;
        for row in rows {
            let ahead = &columns[row.columns.start..];
            let (own, rest) = acc.split_at_mut(row.columns.len());
            acc = rest;
            let x = &x[row.left * x_stride..][..k];
            for (e, acc) in own.iter_mut().enumerate() {
                if let Some(&next) = ahead.get(e + AHEAD) {
                    let at = (row.first + next as usize) * y_stride;
                    prefetch::<T, 16>(y, at);
                    if k > 16 {
                        prefetch::<T, 16>(y, at + 16);
                    }
                }
                let y = &y[(row.first + ahead[e] as usize) * y_stride..][..k];
                *acc += dot(level, x, y);
            }
        }
    }
}

/// Term `i` goes to lane `i % 16`, and lanes are added in pairs a half apart.
#[inline(always)]
fn dot<T: Lanes>(level: Level, x: &[T], y: &[T]) -> f64 {
    let mut sums = [0.0; LANES];
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    T::add_products(level, xs, ys, &mut sums);
    if !x_rest.is_empty() {
        // Beside zeros, so that lanes stay in registers: a term of zeros changes no sum.
        let (mut x, mut y) = ([T::zeroed(); LANES], [T::zeroed(); LANES]);
        x[..x_rest.len()].copy_from_slice(x_rest);
        y[..y_rest.len()].copy_from_slice(y_rest);
        T::add_products(level, &[x], &[y], &mut sums);
    }
    let sum = in_pairs(&sums);
    // Beyond the range of f32 on the way: once more in f64.
    if sum.is_finite() { sum } else { in_f64(x, y) }
}

#[inline(always)]
fn in_pairs(sums: &[f64; LANES]) -> f64 {
    let eight: [f64; 8] = std::array::from_fn(|i| sums[i] + sums[i + 8]);
    let four: [f64; 4] = std::array::from_fn(|i| eight[i] + eight[i + 4]);
    (four[0] + four[2]) + (four[1] + four[3])
}

#[cold]
#[inline(never)]
fn in_f64<T: Lanes>(x: &[T], y: &[T]) -> f64 {
    let mut sums = [0.0; LANES];
    for (i, (x, y)) in x.iter().zip(y).enumerate() {
        sums[i % LANES] += x.wide() * y.wide();
    }
    in_pairs(&sums)
}
