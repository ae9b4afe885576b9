//! The floats that dot products with a vector are made of, and eight lanes of them in vector instructions.
#![allow(unsafe_code)] // vector instructions, called once the CPU was asked; gathers touch what indices point at, which were compared with the length

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::{Add, Mul};

#[cfg(target_arch = "x86_64")]
use super::lanes::{first, first8};
use super::term::Term;
use super::vector::RUN;

/// Lanes of a sum.
pub(super) const LANES: usize = 16;

/// A float of which a CPU can gather eight.
pub(super) trait Lanes: Term<Acc = f64> + Default + Add<Output = Self> + Mul<Output = Self> {
    /// Terms of a row that are summed in this type; sums of so many are added in `f64`.
    const PIECE: usize;

    fn wide(self) -> f64;

    /// Eight lanes in registers of 256 bits.
    #[cfg(target_arch = "x86_64")]
    type Eight: Copy;

    /// Eight zeros.
    ///
    /// # Safety
    /// This and all below: the CPU must have AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn none8() -> Self::Eight;
    #[cfg(target_arch = "x86_64")]
    unsafe fn products8(x: Self::Eight, y: Self::Eight) -> Self::Eight;
    #[cfg(target_arch = "x86_64")]
    unsafe fn sums8(a: Self::Eight, b: Self::Eight) -> Self::Eight;
    /// Those of `of` that are in the mask, and zeros.
    #[cfg(target_arch = "x86_64")]
    unsafe fn only8(mask: __m256i, of: Self::Eight) -> Self::Eight;
    /// The sum of the lanes, added in pairs a half apart.
    #[cfg(target_arch = "x86_64")]
    unsafe fn in_halves8(of: Self::Eight) -> f64;
    #[cfg(target_arch = "x86_64")]
    unsafe fn eight(of: [Self; 8]) -> Self::Eight;
    /// Eight elements.
    ///
    /// # Safety
    /// All of them must be readable.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load8(from: *const Self) -> Self::Eight;
    /// The elements in the mask, with zeros for the others.
    ///
    /// # Safety
    /// Those in the mask must be readable.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load_some8(mask: __m256i, from: *const Self) -> Self::Eight;
    /// The elements of `b` at eight places: a gather without a mask is faster.
    ///
    /// # Safety
    /// They must be places of `b`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn gather8(at: __m256i, b: &[Self]) -> Self::Eight;
    /// The same at the places in the mask, with zeros for the others.
    ///
    /// # Safety
    /// Places in the mask must be places of `b`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn gather_some8(mask: __m256i, at: __m256i, b: &[Self]) -> Self::Eight;

    /// The sum of the products of `N` elements, at most eight, with as many of `met`, after which there are zeros.
    ///
    /// # Safety
    /// `N` elements must be readable.
    #[cfg(target_arch = "x86_64")]
    unsafe fn dot_few<const N: usize>(row: *const Self, met: [Self; 8]) -> f64;

    /// Eight lanes in a register of up to 512 bits.
    #[cfg(target_arch = "x86_64")]
    type Wide: Copy;

    /// Eight zeros.
    ///
    /// # Safety
    /// This and all below: the CPU must have AVX-512 F and VL.
    #[cfg(target_arch = "x86_64")]
    unsafe fn none_wide() -> Self::Wide;
    /// Adds to lanes the products of the elements in the mask and those of `b` at the places in `at`.
    ///
    /// # Safety
    /// Elements in the mask must be readable, and their places be places of `b`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn add_some_wide(sums: Self::Wide, mask: __mmask8, from: *const Self, at: __m256i, b: &[Self])
    -> Self::Wide;
    /// The sum of sixteen lanes, added in pairs a half apart.
    #[cfg(target_arch = "x86_64")]
    unsafe fn in_halves_wide(of: [Self::Wide; 2]) -> f64;
    /// The elements in the mask as doubles, with zeros for the others.
    ///
    /// # Safety
    /// Those in the mask must be readable.
    #[cfg(target_arch = "x86_64")]
    unsafe fn doubles(mask: __mmask8, from: *const Self) -> __m512d;
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn halves(of: __m256i) -> [__m128i; 2] {
    [_mm256_castsi256_si128(of), _mm256_extracti128_si256::<1>(of)]
}

impl Lanes for f64 {
    const PIECE: usize = usize::MAX;

    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }

    #[cfg(target_arch = "x86_64")]
    type Eight = [__m256d; 2];

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn none8() -> [__m256d; 2] {
        [_mm256_setzero_pd(); 2]
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn products8(x: [__m256d; 2], y: [__m256d; 2]) -> [__m256d; 2] {
        [_mm256_mul_pd(x[0], y[0]), _mm256_mul_pd(x[1], y[1])]
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn sums8(a: [__m256d; 2], b: [__m256d; 2]) -> [__m256d; 2] {
        [_mm256_add_pd(a[0], b[0]), _mm256_add_pd(a[1], b[1])]
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn only8(mask: __m256i, of: [__m256d; 2]) -> [__m256d; 2] {
        let [low, high] = halves(mask);
        let only = |mask, of| _mm256_and_pd(of, _mm256_castsi256_pd(_mm256_cvtepi32_epi64(mask)));
        [only(low, of[0]), only(high, of[1])]
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn in_halves8(of: [__m256d; 2]) -> f64 {
        let four = _mm256_add_pd(of[0], of[1]);
        let two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd::<1>(four));
        _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two))
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn eight([a, b, c, d, e, f, g, h]: [f64; 8]) -> [__m256d; 2] {
        [_mm256_setr_pd(a, b, c, d), _mm256_setr_pd(e, f, g, h)]
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load8(from: *const f64) -> [__m256d; 2] {
        // SAFETY: the caller's promise.
        unsafe { [_mm256_loadu_pd(from), _mm256_loadu_pd(from.add(4))] }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load_some8(mask: __m256i, from: *const f64) -> [__m256d; 2] {
        let [low, high] = halves(mask);
        // SAFETY: the caller's promise.
        let load = |mask, from| unsafe { _mm256_maskload_pd(from, _mm256_cvtepi32_epi64(mask)) };
        [load(low, from), load(high, from.wrapping_add(4))]
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn gather8(at: __m256i, b: &[f64]) -> [__m256d; 2] {
        let [low, high] = halves(at);
        // SAFETY: the caller's promise.
        unsafe { [_mm256_i32gather_pd::<8>(b.as_ptr(), low), _mm256_i32gather_pd::<8>(b.as_ptr(), high)] }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn gather_some8(mask: __m256i, at: __m256i, b: &[f64]) -> [__m256d; 2] {
        let gather = |mask, at| {
            let mask = _mm256_castsi256_pd(_mm256_cvtepi32_epi64(mask));
            // SAFETY: the caller's promise.
            unsafe { _mm256_mask_i32gather_pd::<8>(_mm256_setzero_pd(), b.as_ptr(), at, mask) }
        };
        let ([low, high], [low_at, high_at]) = (halves(mask), halves(at));
        [gather(low, low_at), gather(high, high_at)]
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn dot_few<const N: usize>(row: *const f64, [a, b, c, d, e, f, g, h]: [f64; 8]) -> f64 {
        // SAFETY: the caller's promise: four elements begin at `row`, and the rest after them.
        let some = |n, from| unsafe { _mm256_maskload_pd(from, _mm256_cvtepi32_epi64(first(n))) };
        let low = _mm256_mul_pd(some(N, row), _mm256_setr_pd(a, b, c, d));
        let four = if N <= 4 {
            low
        } else {
            _mm256_add_pd(low, _mm256_mul_pd(some(N - 4, row.wrapping_add(4)), _mm256_setr_pd(e, f, g, h)))
        };
        let two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd::<1>(four));
        // Lanes without an element are 0: no sum is −0.
        _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two)) + 0.0
    }

    #[cfg(target_arch = "x86_64")]
    type Wide = __m512d;

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn none_wide() -> __m512d {
        _mm512_setzero_pd()
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn add_some_wide(sums: __m512d, mask: __mmask8, from: *const f64, at: __m256i, b: &[f64]) -> __m512d {
        // SAFETY: the caller's promise.
        let (x, y) = unsafe {
            let x = _mm512_maskz_loadu_pd(mask, from);
            (x, _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), mask, at, b.as_ptr()))
        };
        _mm512_add_pd(sums, _mm512_mul_pd(x, y))
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn in_halves_wide(of: [__m512d; 2]) -> f64 {
        let eight = _mm512_add_pd(of[0], of[1]);
        // SAFETY: the CPU has AVX2 as well.
        unsafe { f64::in_halves8([_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd::<1>(eight)]) }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn doubles(mask: __mmask8, from: *const f64) -> __m512d {
        // SAFETY: the caller's promise.
        unsafe { _mm512_maskz_loadu_pd(mask, from) }
    }
}

impl Lanes for f32 {
    /// With those of products and of pairs of lanes an error of 16 half units at most; of a single step 5, and of a single term one, where
    /// `2 log2(n + 1)` units are allowed.
    const PIECE: usize = RUN * LANES;

    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }

    #[cfg(target_arch = "x86_64")]
    type Eight = __m256;

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn none8() -> __m256 {
        _mm256_setzero_ps()
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn products8(x: __m256, y: __m256) -> __m256 {
        _mm256_mul_ps(x, y)
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn sums8(a: __m256, b: __m256) -> __m256 {
        _mm256_add_ps(a, b)
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn only8(mask: __m256i, of: __m256) -> __m256 {
        _mm256_and_ps(of, _mm256_castsi256_ps(mask))
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn in_halves8(of: __m256) -> f64 {
        let four = _mm_add_ps(_mm256_castps256_ps128(of), _mm256_extractf128_ps::<1>(of));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        f64::from(_mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two))))
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn eight([a, b, c, d, e, f, g, h]: [f32; 8]) -> __m256 {
        _mm256_setr_ps(a, b, c, d, e, f, g, h)
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load8(from: *const f32) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_ps(from) }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load_some8(mask: __m256i, from: *const f32) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_maskload_ps(from, mask) }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn gather8(at: __m256i, b: &[f32]) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_i32gather_ps::<4>(b.as_ptr(), at) }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn gather_some8(mask: __m256i, at: __m256i, b: &[f32]) -> __m256 {
        // SAFETY: the caller's promise.
        unsafe { _mm256_mask_i32gather_ps::<4>(_mm256_setzero_ps(), b.as_ptr(), at, _mm256_castsi256_ps(mask)) }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn dot_few<const N: usize>(row: *const f32, met: [f32; 8]) -> f64 {
        // SAFETY: the caller's promise.
        let products = unsafe { f32::products8(f32::load_some8(first8(N), row), f32::eight(met)) };
        // SAFETY: as above.
        unsafe { f32::in_halves8(products) + 0.0 }
    }

    #[cfg(target_arch = "x86_64")]
    type Wide = __m256;

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn none_wide() -> __m256 {
        _mm256_setzero_ps()
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn add_some_wide(sums: __m256, mask: __mmask8, from: *const f32, at: __m256i, b: &[f32]) -> __m256 {
        // SAFETY: the caller's promise.
        let (x, y) = unsafe {
            let x = _mm256_maskz_loadu_ps(mask, from);
            (x, _mm256_mmask_i32gather_ps::<4>(_mm256_setzero_ps(), mask, at, b.as_ptr()))
        };
        _mm256_add_ps(sums, _mm256_mul_ps(x, y))
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn in_halves_wide(of: [__m256; 2]) -> f64 {
        // SAFETY: the CPU has AVX2 as well.
        unsafe { f32::in_halves8(_mm256_add_ps(of[0], of[1])) }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn doubles(mask: __mmask8, from: *const f32) -> __m512d {
        // SAFETY: the caller's promise.
        _mm512_cvtps_pd(unsafe { _mm256_maskz_loadu_ps(mask, from) })
    }
}
