//! Sums for wanted elements of a product of dense matrices, for floats: a dot product of two rows for each.

use super::kernels::{slice, slice_mut};
use super::lanes::Lanes;
use super::{Grid, WantedRow};
use crate::simd::{Loop, prefetch, vectorised};

/// Elements whose rows of the right operand are asked for ahead.
const AHEAD: usize = 32;

/// Lanes of a sum: term `i` goes to lane `i % 16`, and lanes are added in pairs a half apart.
const LANES: usize = 16;

/// Adds to one accumulator for each wanted element the dot product of a row of the left operand with one of the right
/// operand's transpose.
pub(super) fn add<T: Lanes>([a, b]: [Grid<'_>; 2], columns: &[u32], rows: &[WantedRow], k: usize, acc: &mut [u8]) {
    let (x, y) = (slice::<T>(a.values), slice::<T>(b.values));
    vectorised(Sampled { x, x_stride: a.row, y, y_stride: b.row, columns, rows, k, acc: slice_mut(acc) });
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
}

impl<T: Lanes> Loop for Sampled<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Sampled { x, x_stride, y, y_stride, columns, rows, k, mut acc } = self;
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
                *acc += dot(x, y);
            }
        }
    }
}

#[inline(always)]
fn dot<T: Lanes>(x: &[T], y: &[T]) -> f64 {
    let mut sums = [0.0; LANES];
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    for (x, y) in xs.iter().zip(ys) {
        for i in 0..LANES {
            sums[i] += x[i].wide() * y[i].wide();
        }
    }
    for (sum, (x, y)) in sums.iter_mut().zip(x_rest.iter().zip(y_rest)) {
        *sum += x.wide() * y.wide();
    }
    let mut half = LANES / 2;
    while half > 0 {
        for i in 0..half {
            sums[i] += sums[i + half];
        }
        half /= 2;
    }
    sums[0]
}
