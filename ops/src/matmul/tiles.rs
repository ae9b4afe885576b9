//! Tiles of a row of a product for AVX-512, in registers of 512 bits: what a compiler makes of the loops in `vector` has half of
//! that, or too few sums at once. The same operations in the same order, and so the same bits. Of a matrix of 1024 columns that
//! stores a tenth, times one that lies in the second cache, 32 columns take 0.79 of the time, 128 to 512 take 0.91 to 0.96.
#![allow(unsafe_code)] // vector instructions, called once the CPU was asked; places are those that `vector` has looked up

use std::arch::x86_64::*;

use super::vector::{RUN, Row};

/// `16 · C` columns of a row of the product from `column` on, rounded to `out`, in runs of [`RUN`] terms, `R` of them at once, so that
/// no sum waits for the one before. `false` where a sum is not finite: nothing is written then.
///
/// # Safety
/// The CPU must have AVX-512 F and DQ. `column + 16 · C` is at most the number of columns that the row was made for, and `out`
/// has `16 · C` elements.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn tile<const C: usize, const R: usize, const FAR: bool>(
    row: &Row<'_, f32>,
    column: usize,
    out: &mut [f32],
) -> bool {
    debug_assert!(out.len() == 16 * C);
    let mut sums = [[_mm512_setzero_pd(); 2]; C];
    let (groups, rest) = row.values.as_chunks::<RUN>();
    let (group_indices, rest_indices) = row.indices.as_chunks::<RUN>();
    let mut e = 0;
    let (all, left) = groups.as_chunks::<R>();
    let (all_indices, left_indices) = group_indices.as_chunks::<R>();
    for (values, indices) in all.iter().zip(all_indices) {
        let mut runs = [[_mm512_setzero_ps(); C]; R];
        for t in 0..RUN {
            for r in 0..R {
                row.look::<16, FAR>(C, e + r * RUN + t, column);
                // SAFETY: an index of the row; the caller's promise.
                unsafe { term(&mut runs[r], row, column, values[r][t], indices[r][t]) };
            }
        }
        for run in &runs {
            add(&mut sums, run);
        }
        e += R * RUN;
    }
    let left = left.iter().map(|v| &v[..]).chain([rest]);
    let left_indices = left_indices.iter().map(|k| &k[..]).chain([rest_indices]);
    for (values, indices) in left.zip(left_indices) {
        let mut run = [_mm512_setzero_ps(); C];
        for (&x, &k) in values.iter().zip(indices) {
            row.look::<16, FAR>(C, e, column);
            // SAFETY: as above.
            unsafe { term(&mut run, row, column, x, k) };
            e += 1;
        }
        add(&mut sums, &run);
    }
    let (infinite, mut finite) = (_mm512_set1_pd(f64::INFINITY), 0xff);
    for sum in &sums {
        for half in sum {
            finite &= _mm512_cmp_pd_mask::<_CMP_LT_OQ>(_mm512_abs_pd(*half), infinite);
        }
    }
    if finite != 0xff {
        return false;
    }
    let stream = row.stream && is_line(out);
    for (sum, out) in sums.iter().zip(out.as_chunks_mut::<16>().0) {
        let whole = _mm512_castps256_ps512(_mm512_cvtpd_ps(sum[0]));
        let whole = _mm512_insertf32x8::<1>(whole, _mm512_cvtpd_ps(sum[1]));
        let to = out.as_mut_ptr();
        // SAFETY: sixteen elements, at the beginning of a line where it streams.
        unsafe { if stream { _mm512_stream_ps(to, whole) } else { _mm512_storeu_ps(to, whole) } };
    }
    true
}

/// 32 columns of a row of the product from `column` on.
///
/// # Safety
/// The CPU must have AVX-512 F. `column + 32` is at most the number of columns that the row was made for, and `out` has 32
/// elements.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn doubles<const FAR: bool>(row: &Row<'_, f64>, column: usize, out: &mut [f64]) {
    debug_assert!(out.len() == 32);
    let mut sums = [_mm512_setzero_pd(); 4];
    for (e, (&x, &k)) in row.values.iter().zip(row.indices).enumerate() {
        row.look::<32, FAR>(1, e, column);
        let x = _mm512_set1_pd(x);
        // SAFETY: an index of the row; the caller's promise.
        let from = unsafe { row.from(k, column) };
        for (c, sum) in sums.iter_mut().enumerate() {
            // SAFETY: as above, for all 32.
            let y = unsafe { _mm512_loadu_pd(from.add(8 * c)) };
            *sum = _mm512_add_pd(*sum, _mm512_mul_pd(x, y));
        }
    }
    let stream = row.stream && is_line(out);
    for (sum, out) in sums.into_iter().zip(out.as_chunks_mut::<8>().0) {
        let to = out.as_mut_ptr();
        // SAFETY: eight elements, at the beginning of a line where it streams.
        unsafe { if stream { _mm512_stream_pd(to, sum) } else { _mm512_storeu_pd(to, sum) } };
    }
}

/// Whether elements begin where a line of the cache does.
fn is_line<T>(out: &[T]) -> bool {
    out.as_ptr().addr().is_multiple_of(64)
}

/// Lets no thread see what is written after this before what was streamed.
pub(super) fn all_written() {
    // SAFETY: every CPU of the architecture has the instruction, which touches no memory of ours.
    unsafe { _mm_sfence() };
}

/// Adds a term to a run.
///
/// # Safety
/// As [`tile`]; `k` is one of the row's indices.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn term<const C: usize>(run: &mut [__m512; C], row: &Row<'_, f32>, column: usize, x: f32, k: u32) {
    let x = _mm512_set1_ps(x);
    // SAFETY: the caller's promise.
    let from = unsafe { row.from(k, column) };
    for (c, run) in run.iter_mut().enumerate() {
        // SAFETY: as above, for all 16 · C.
        let y = unsafe { _mm512_loadu_ps(from.add(16 * c)) };
        *run = _mm512_add_ps(*run, _mm512_mul_ps(x, y));
    }
}

/// Adds a run to sums.
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
fn add<const C: usize>(sums: &mut [[__m512d; 2]; C], run: &[__m512; C]) {
    for (sum, run) in sums.iter_mut().zip(run) {
        sum[0] = _mm512_add_pd(sum[0], _mm512_cvtps_pd(_mm512_castps512_ps256(*run)));
        sum[1] = _mm512_add_pd(sum[1], _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(*run)));
    }
}
