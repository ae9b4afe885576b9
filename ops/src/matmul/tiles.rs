//! Tiles of a row of a product in registers of 512 and of 256 bits: what a compiler makes of the loops in `vector` has half of
//! that, or too few sums at once. The same operations in the same order, and so the same bits. Of a matrix of 1024 columns that
//! stores a tenth, times one that lies in the second cache, 32 columns take 0.79 of the time, 128 to 512 take 0.91 to 0.96.
#![allow(unsafe_code)] // vector instructions, called once the CPU was asked; places are those that `vector` has looked up

use std::arch::x86_64::*;

use super::source::Source;
use super::vector::{NEAR, RUN, Row};
use crate::simd::prefetch_stream;

/// Registers of one width and what is done with them.
///
/// # Safety
/// The CPU must have what the type says, for every function; those that take a pointer read or write
/// [`SINGLES`](Registers::SINGLES) or [`DOUBLES`](Registers::DOUBLES) elements there. `stream` goes to the beginning of a line.
pub(super) trait Registers {
    /// Of `f32`, of as many `f64`, half as many in each of two registers, and of `f64` in one.
    type Singles: Copy;
    type Doubles: Copy;

    const SINGLES: usize;
    const DOUBLES: usize;

    unsafe fn no_singles() -> Self::Singles;
    unsafe fn no_doubles() -> Self::Doubles;
    /// `sum + x · y[..]`, rounded twice.
    unsafe fn add_singles(sum: Self::Singles, x: f32, y: *const f32) -> Self::Singles;
    unsafe fn add_doubles(sum: Self::Doubles, x: f64, y: *const f64) -> Self::Doubles;
    /// `sum + x · y` of each element, rounded twice.
    unsafe fn add_products(sum: Self::Singles, x: Self::Singles, y: Self::Singles) -> Self::Singles;
    unsafe fn add_double_products(sum: Self::Doubles, x: Self::Doubles, y: Self::Doubles) -> Self::Doubles;
    /// The first `n` elements, at most a register's, and zeros.
    unsafe fn load_singles(from: *const f32, n: usize) -> Self::Singles;
    unsafe fn load_doubles(from: *const f64, n: usize) -> Self::Doubles;
    /// Adds a run to sums.
    unsafe fn widen(sums: &mut [Self::Doubles; 2], run: Self::Singles);
    unsafe fn is_finite(sum: Self::Doubles) -> bool;
    unsafe fn round(sums: [Self::Doubles; 2]) -> Self::Singles;
    /// Sixteen lanes, in as many registers as there are for them of these, added to the four lanes that each is a multiple of four from.
    unsafe fn quarter(lanes: [Self::Doubles; 4]) -> __m256d;
    unsafe fn store_singles(to: *mut f32, from: Self::Singles, stream: bool);
    unsafe fn store_doubles(to: *mut f64, from: Self::Doubles, stream: bool);
}

/// AVX-512 F and DQ.
pub(super) struct Wide;

/// AVX2.
pub(super) struct Narrow;

/// The functions of [`Registers`] for one width, each with the features that it needs.
macro_rules! registers {
    ($type:ty, $features:literal, $singles:ty: $n:literal, $doubles:ty: $m:literal, {
        $($name:ident($($argument:ident: $of:ty),*) $(-> $out:ty)? $body:block)*
    }) => {
        impl Registers for $type {
            type Singles = $singles;
            type Doubles = $doubles;
            const SINGLES: usize = $n;
            const DOUBLES: usize = $m;
            $(
                #[inline]
                #[target_feature(enable = $features)]
                unsafe fn $name($($argument: $of),*) $(-> $out)? {
                    // SAFETY: the promise of the caller of each.
                    #[allow(unused_unsafe)]
                    unsafe { $body }
                }
            )*
        }
    };
}

registers!(Wide, "avx512f,avx512dq", __m512: 16, __m512d: 8, {
    no_singles() -> __m512 { _mm512_setzero_ps() }
    no_doubles() -> __m512d { _mm512_setzero_pd() }
    add_singles(sum: __m512, x: f32, y: *const f32) -> __m512 {
        _mm512_add_ps(sum, _mm512_mul_ps(_mm512_set1_ps(x), _mm512_loadu_ps(y)))
    }
    add_doubles(sum: __m512d, x: f64, y: *const f64) -> __m512d {
        _mm512_add_pd(sum, _mm512_mul_pd(_mm512_set1_pd(x), _mm512_loadu_pd(y)))
    }
    add_products(sum: __m512, x: __m512, y: __m512) -> __m512 {
        _mm512_add_ps(sum, _mm512_mul_ps(x, y))
    }
    add_double_products(sum: __m512d, x: __m512d, y: __m512d) -> __m512d {
        _mm512_add_pd(sum, _mm512_mul_pd(x, y))
    }
    load_singles(from: *const f32, n: usize) -> __m512 {
        if n == 16 { _mm512_loadu_ps(from) } else { _mm512_maskz_loadu_ps(((1u32 << n) - 1) as u16, from) }
    }
    load_doubles(from: *const f64, n: usize) -> __m512d {
        if n == 8 { _mm512_loadu_pd(from) } else { _mm512_maskz_loadu_pd(((1u32 << n) - 1) as u8, from) }
    }
    widen(sums: &mut [__m512d; 2], run: __m512) {
        sums[0] = _mm512_add_pd(sums[0], _mm512_cvtps_pd(_mm512_castps512_ps256(run)));
        sums[1] = _mm512_add_pd(sums[1], _mm512_cvtps_pd(_mm512_extractf32x8_ps::<1>(run)));
    }
    is_finite(sum: __m512d) -> bool {
        _mm512_cmp_pd_mask::<_CMP_LT_OQ>(_mm512_abs_pd(sum), _mm512_set1_pd(f64::INFINITY)) == 0xff
    }
    round(sums: [__m512d; 2]) -> __m512 {
        let low = _mm512_castps256_ps512(_mm512_cvtpd_ps(sums[0]));
        _mm512_insertf32x8::<1>(low, _mm512_cvtpd_ps(sums[1]))
    }
    quarter(lanes: [__m512d; 4]) -> __m256d {
        let eight = _mm512_add_pd(lanes[0], lanes[1]);
        _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd::<1>(eight))
    }
    store_singles(to: *mut f32, from: __m512, stream: bool) {
        if stream { _mm512_stream_ps(to, from) } else { _mm512_storeu_ps(to, from) }
    }
    store_doubles(to: *mut f64, from: __m512d, stream: bool) {
        if stream { _mm512_stream_pd(to, from) } else { _mm512_storeu_pd(to, from) }
    }
});

registers!(Narrow, "avx2", __m256: 8, __m256d: 4, {
    no_singles() -> __m256 { _mm256_setzero_ps() }
    no_doubles() -> __m256d { _mm256_setzero_pd() }
    add_singles(sum: __m256, x: f32, y: *const f32) -> __m256 {
        _mm256_add_ps(sum, _mm256_mul_ps(_mm256_set1_ps(x), _mm256_loadu_ps(y)))
    }
    add_doubles(sum: __m256d, x: f64, y: *const f64) -> __m256d {
        _mm256_add_pd(sum, _mm256_mul_pd(_mm256_set1_pd(x), _mm256_loadu_pd(y)))
    }
    add_products(sum: __m256, x: __m256, y: __m256) -> __m256 {
        _mm256_add_ps(sum, _mm256_mul_ps(x, y))
    }
    add_double_products(sum: __m256d, x: __m256d, y: __m256d) -> __m256d {
        _mm256_add_pd(sum, _mm256_mul_pd(x, y))
    }
    load_singles(from: *const f32, n: usize) -> __m256 {
        if n == 8 { return _mm256_loadu_ps(from); }
        let places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        _mm256_maskload_ps(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(n as i32), places))
    }
    load_doubles(from: *const f64, n: usize) -> __m256d {
        if n == 4 { return _mm256_loadu_pd(from); }
        let places = _mm256_setr_epi64x(0, 1, 2, 3);
        _mm256_maskload_pd(from, _mm256_cmpgt_epi64(_mm256_set1_epi64x(n as i64), places))
    }
    widen(sums: &mut [__m256d; 2], run: __m256) {
        sums[0] = _mm256_add_pd(sums[0], _mm256_cvtps_pd(_mm256_castps256_ps128(run)));
        sums[1] = _mm256_add_pd(sums[1], _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(run)));
    }
    is_finite(sum: __m256d) -> bool {
        let size = _mm256_andnot_pd(_mm256_set1_pd(-0.0), sum);
        _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LT_OQ>(size, _mm256_set1_pd(f64::INFINITY))) == 0xf
    }
    round(sums: [__m256d; 2]) -> __m256 {
        _mm256_set_m128(_mm256_cvtpd_ps(sums[1]), _mm256_cvtpd_ps(sums[0]))
    }
    quarter(lanes: [__m256d; 4]) -> __m256d {
        _mm256_add_pd(_mm256_add_pd(lanes[0], lanes[2]), _mm256_add_pd(lanes[1], lanes[3]))
    }
    store_singles(to: *mut f32, from: __m256, stream: bool) {
        if stream { _mm256_stream_ps(to, from) } else { _mm256_storeu_ps(to, from) }
    }
    store_doubles(to: *mut f64, from: __m256d, stream: bool) {
        if stream { _mm256_stream_pd(to, from) } else { _mm256_storeu_pd(to, from) }
    }
});

/// 64 (`TWICE`) or 32 columns of a row of the product from `column` on, rounded to `out`. `false` where a sum is not finite: nothing
/// is written then.
///
/// # Safety
/// The CPU must have AVX-512 F and DQ. `column` and the length of `out`, which is that many, together are at most the number of
/// columns that the row was made for.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn wide_singles<const TWICE: bool, const AWAY: u8>(
    row: &Row<'_, f32>,
    column: usize,
    out: &mut [f32],
) -> bool {
    // Four sums are on their way at once, so that none waits for the one before: of 32 columns those of two runs.
    // SAFETY: the caller's promise.
    unsafe {
        match TWICE {
            true => singles::<Wide, 4, 1, AWAY>(row, column, out),
            false => singles::<Wide, 2, 2, AWAY>(row, column, out),
        }
    }
}

/// The same in narrow registers.
///
/// # Safety
/// The CPU must have AVX2; the rest as there.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn narrow_singles<const TWICE: bool, const AWAY: u8>(
    row: &Row<'_, f32>,
    column: usize,
    out: &mut [f32],
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        match TWICE {
            true => singles::<Narrow, 8, 1, AWAY>(row, column, out),
            false => singles::<Narrow, 4, 2, AWAY>(row, column, out),
        }
    }
}

/// 32 columns of a row of the product from `column` on.
///
/// # Safety
/// The CPU must have AVX-512 F and DQ. `column + 32` is at most the number of columns that the row was made for, and `out` has 32
/// elements.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn wide_doubles<S: Source, const AWAY: u8>(row: &Row<'_, f64, S>, column: usize, out: &mut [f64]) {
    // SAFETY: the caller's promise.
    unsafe { doubles::<Wide, S, 4, AWAY>(row, column, out) }
}

/// The same in narrow registers.
///
/// # Safety
/// The CPU must have AVX2; the rest as there.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn narrow_doubles<S: Source, const AWAY: u8>(row: &Row<'_, f64, S>, column: usize, out: &mut [f64]) {
    // SAFETY: the caller's promise.
    unsafe { doubles::<Narrow, S, 8, AWAY>(row, column, out) }
}

/// The columns of `C` registers, in runs of [`RUN`] terms, `R` of them at once.
///
/// # Safety
/// The CPU must have what `V` says; the rest as [`wide_singles`].
#[inline(always)]
unsafe fn singles<V: Registers, const C: usize, const R: usize, const AWAY: u8>(
    row: &Row<'_, f32>,
    column: usize,
    out: &mut [f32],
) -> bool {
    debug_assert!(out.len() == V::SINGLES * C);
    let lines = V::SINGLES * C / 16;
    // SAFETY: the CPU has what `V` says; indices are those of the row; there are as many columns as the registers hold.
    unsafe {
        let mut sums = [[V::no_doubles(); 2]; C];
        let (groups, rest) = row.values.as_chunks::<RUN>();
        let (group_indices, rest_indices) = row.indices.as_chunks::<RUN>();
        let mut e = 0;
        let (all, left) = groups.as_chunks::<R>();
        let (all_indices, left_indices) = group_indices.as_chunks::<R>();
        for (values, indices) in all.iter().zip(all_indices) {
            let mut runs = [[V::no_singles(); C]; R];
            for t in 0..RUN {
                for r in 0..R {
                    row.look::<16, AWAY>(lines, e + r * RUN + t, column);
                    let from = row.from(indices[r][t], column);
                    for (c, run) in runs[r].iter_mut().enumerate() {
                        *run = V::add_singles(*run, values[r][t], from.add(V::SINGLES * c));
                    }
                }
            }
            for run in runs {
                for (sums, run) in sums.iter_mut().zip(run) {
                    V::widen(sums, run);
                }
            }
            e += R * RUN;
        }
        let left = left.iter().map(|v| &v[..]).chain([rest]);
        let left_indices = left_indices.iter().map(|k| &k[..]).chain([rest_indices]);
        for (values, indices) in left.zip(left_indices) {
            let mut run = [V::no_singles(); C];
            for (&x, &k) in values.iter().zip(indices) {
                row.look::<16, AWAY>(lines, e, column);
                let from = row.from(k, column);
                for (c, run) in run.iter_mut().enumerate() {
                    *run = V::add_singles(*run, x, from.add(V::SINGLES * c));
                }
                e += 1;
            }
            for (sums, run) in sums.iter_mut().zip(run) {
                V::widen(sums, run);
            }
        }
        let mut is_finite = true;
        for sum in &sums {
            is_finite &= V::is_finite(sum[0]) & V::is_finite(sum[1]);
        }
        if is_finite {
            let stream = row.stream && is_line(out);
            for (sum, out) in sums.into_iter().zip(out.chunks_exact_mut(V::SINGLES)) {
                V::store_singles(out.as_mut_ptr(), V::round(sum), stream);
            }
        }
        is_finite
    }
}

/// The columns of `C` registers.
///
/// # Safety
/// The CPU must have what `V` says; the rest as [`wide_doubles`].
#[inline(always)]
unsafe fn doubles<V: Registers, S: Source, const C: usize, const AWAY: u8>(
    row: &Row<'_, f64, S>,
    column: usize,
    out: &mut [f64],
) {
    debug_assert!(out.len() == V::DOUBLES * C);
    // SAFETY: the CPU has what `V` says; indices are those of the row; there are as many columns as the registers hold.
    unsafe {
        let mut sums = [V::no_doubles(); C];
        row.source.begin();
        for (e, (&x, &k)) in row.values.iter().zip(row.indices).enumerate() {
            row.look::<32, AWAY>(1, e, column);
            let x = row.source.term(e, k, x);
            let from = row.from(k, column);
            for (c, sum) in sums.iter_mut().enumerate() {
                *sum = V::add_doubles(*sum, x, from.add(V::DOUBLES * c));
            }
        }
        let stream = row.stream && is_line(out);
        for (sum, out) in sums.into_iter().zip(out.chunks_exact_mut(V::DOUBLES)) {
            V::store_doubles(out.as_mut_ptr(), sum, stream);
        }
    }
}

/// 32 columns of a row and of one with the same indices and other values: what is read of the dense matrix serves both.
///
/// # Safety
/// The CPU must have AVX-512 F and DQ. `column + 32` is at most the number of columns that the row was made for, and both parts of `out`
/// have 32 elements.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn two_doubles<const AWAY: u8>(
    row: &Row<'_, f64>,
    second: &[f64],
    column: usize,
    out: [&mut [f64]; 2],
) {
    const C: usize = 4;
    debug_assert!(out.iter().all(|out| out.len() == 8 * C));
    // SAFETY: indices are those of the row; there are as many columns as the registers of a row hold.
    unsafe {
        let mut sums = [[_mm512_setzero_pd(); C]; 2];
        for (e, ((x, z), &k)) in row.values.iter().zip(second).zip(row.indices).enumerate() {
            row.look::<32, AWAY>(1, e, column);
            if AWAY != NEAR {
                prefetch_stream(x);
                prefetch_stream(z);
            }
            let from = row.from(k, column);
            let [of_x, of_z] = &mut sums;
            for (c, (of_x, of_z)) in of_x.iter_mut().zip(of_z).enumerate() {
                *of_x = Wide::add_doubles(*of_x, *x, from.add(8 * c));
                *of_z = Wide::add_doubles(*of_z, *z, from.add(8 * c));
            }
        }
        for (sums, out) in sums.into_iter().zip(out) {
            let stream = row.stream && is_line(out);
            for (c, sum) in sums.into_iter().enumerate() {
                Wide::store_doubles(out.as_mut_ptr().add(8 * c), sum, stream);
            }
        }
    }
}

/// Up to 31 columns in `C` registers of 512 bits, of the last of them those that are left.
///
/// # Safety
/// The CPU must have AVX-512 F and DQ. `column` and the length of `out`, which is more than `8 · (C - 1)` and at most `8 · C`,
/// together are at most the number of columns that the row was made for.
#[target_feature(enable = "avx512f,avx512dq")]
pub(super) unsafe fn some_doubles<const C: usize, S: Source, const AWAY: u8>(
    row: &Row<'_, f64, S>,
    column: usize,
    out: &mut [f64],
) {
    debug_assert!(out.len().div_ceil(8) == C);
    let last = 8 * (C - 1);
    let mask = 0xff_u8 >> (8 * C - out.len());
    // SAFETY: indices are those of the row; what is in the mask, and the registers before it, are columns of the row and of `out`;
    // of others nothing is read or written.
    unsafe {
        let mut sums = [_mm512_setzero_pd(); C];
        row.source.begin();
        for (e, (&x, &k)) in row.values.iter().zip(row.indices).enumerate() {
            row.look::<8, AWAY>(C, e, column);
            let x = row.source.term(e, k, x);
            let from = row.from(k, column);
            for (c, sum) in sums.iter_mut().enumerate().take(C - 1) {
                *sum = Wide::add_doubles(*sum, x, from.add(8 * c));
            }
            let y = _mm512_maskz_loadu_pd(mask, from.add(last));
            sums[C - 1] = _mm512_add_pd(sums[C - 1], _mm512_mul_pd(_mm512_set1_pd(x), y));
        }
        let to = out.as_mut_ptr();
        for (c, &sum) in sums.iter().enumerate().take(C - 1) {
            _mm512_storeu_pd(to.add(8 * c), sum);
        }
        store_some(to.add(last), sums[C - 1], out.len() - last);
    }
}

/// The first `n` lanes: all of them, or in pieces of four, two and one. Stores with a mask take as long as several dozen steps on some
/// CPUs: a product with 16 columns of one element a row took three times as long.
///
/// # Safety
/// The CPU must have AVX-512 F, and `n` elements, at most eight, be writable.
#[target_feature(enable = "avx512f")]
unsafe fn store_some(to: *mut f64, lanes: __m512d, n: usize) {
    // SAFETY: the caller's promise; pieces end where the elements do.
    unsafe {
        if n == 8 {
            return _mm512_storeu_pd(to, lanes);
        }
        let (mut at, mut four) = (0, _mm512_castpd512_pd256(lanes));
        if n & 4 != 0 {
            _mm256_storeu_pd(to, four);
            (at, four) = (4, _mm512_extractf64x4_pd::<1>(lanes));
        }
        let mut two = _mm256_castpd256_pd128(four);
        if n & 2 != 0 {
            _mm_storeu_pd(to.add(at), two);
            (at, two) = (at + 2, _mm256_extractf128_pd::<1>(four));
        }
        if n & 1 != 0 {
            _mm_store_sd(to.add(at), two);
        }
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
