//! Dot products of sparse rows with a vector, in sixteen lanes: lane `i` sums terms `i`, `i + 16`, … in `f64`, and lanes are
//! added in pairs a half apart. And the sums of sparse rows times a number each. The same bits come out with gather and
//! scatter instructions and without.
#![allow(unsafe_code)] // gathers and scatters touch what indices point at, once these were compared with the length

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::Range;

use super::columns::Columns;
use super::stencils::Stencil;
use super::term::Term;
use super::typed::Typed;
#[cfg(target_arch = "x86_64")]
use super::{alike, loads, stencils};
use crate::simd::Later;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Level, gathers_are_slow, is_far, level, prefetch_stream};

/// Lanes of a sum.
pub(super) const LANES: usize = 16;

/// A float of which a CPU can gather eight.
pub(super) trait Lanes: Term {
    fn wide(self) -> f64;
    fn round(sum: f64) -> Self;

    /// Adds the products of eight elements and those of `b` at the places in `at` to four lanes and four.
    ///
    /// # Safety
    /// The CPU must have AVX2. Elements in `mask` must be readable, and their places be places of `b`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn add8(mask: __m256i, from: *const Self, at: __m256i, b: &[Self], sums: &mut [__m256d; 2]);

    /// The same of eight elements that are all there: a gather without a mask is faster.
    ///
    /// # Safety
    /// As [`Lanes::add8`], for all of them.
    #[cfg(target_arch = "x86_64")]
    unsafe fn add_all8(from: *const Self, at: __m256i, b: &[Self], sums: &mut [__m256d; 2]);

    /// The lanes in `mask` of four elements, with zeros in the others.
    ///
    /// # Safety
    /// The CPU must have AVX2, and lanes in the mask must be readable.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load4(mask: __m128i, from: *const Self) -> __m256d;

    /// Four elements.
    ///
    /// # Safety
    /// The CPU must have AVX2, and all four must be readable.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load(from: *const Self) -> __m256d;

    /// Four elements as doubles.
    ///
    /// # Safety
    /// The CPU must have AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn four(of: [Self; 4]) -> __m256d;

    /// Writes four sums.
    ///
    /// # Safety
    /// The CPU must have AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn store4(sums: __m256d, to: &mut [Self; 4]);

    /// The lanes in `mask` of eight elements.
    ///
    /// # Safety
    /// The CPU must have AVX-512 F and VL, and lanes in the mask must be readable.
    #[cfg(target_arch = "x86_64")]
    unsafe fn load8(mask: __mmask8, from: *const Self) -> __m512d;

    /// The elements of `b` at the places in `at`, in the lanes in `mask`.
    ///
    /// # Safety
    /// The CPU must have AVX-512 F and VL, and places in the mask must be places of `b`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn gather8(mask: __mmask8, at: __m256i, b: &[Self]) -> __m512d;
}

impl Lanes for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn round(sum: f64) -> f64 {
        sum
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add8(mask: __m256i, from: *const f64, at: __m256i, b: &[f64], sums: &mut [__m256d; 2]) {
        for ((i, mask), (at, sum)) in halves(mask).into_iter().enumerate().zip(halves(at).into_iter().zip(sums)) {
            let mask = _mm256_cvtepi32_epi64(mask);
            // SAFETY: the caller's promise.
            let (x, y) = unsafe {
                let x = _mm256_maskload_pd(from.wrapping_add(4 * i), mask);
                let mask = _mm256_castsi256_pd(mask);
                (x, _mm256_mask_i32gather_pd::<8>(_mm256_setzero_pd(), b.as_ptr(), at, mask))
            };
            *sum = _mm256_add_pd(*sum, _mm256_mul_pd(x, y));
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add_all8(from: *const f64, at: __m256i, b: &[f64], sums: &mut [__m256d; 2]) {
        for ((i, at), sum) in halves(at).into_iter().enumerate().zip(sums) {
            // SAFETY: the caller's promise.
            let (x, y) = unsafe { (_mm256_loadu_pd(from.add(4 * i)), _mm256_i32gather_pd::<8>(b.as_ptr(), at)) };
            *sum = _mm256_add_pd(*sum, _mm256_mul_pd(x, y));
        }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load4(mask: __m128i, from: *const f64) -> __m256d {
        // SAFETY: the caller's promise.
        unsafe { _mm256_maskload_pd(from, _mm256_cvtepi32_epi64(mask)) }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load(from: *const f64) -> __m256d {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_pd(from) }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn four([a, b, c, d]: [f64; 4]) -> __m256d {
        _mm256_setr_pd(a, b, c, d)
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store4(sums: __m256d, to: &mut [f64; 4]) {
        // SAFETY: there is room for four.
        unsafe { _mm256_storeu_pd(to.as_mut_ptr(), sums) }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn load8(mask: __mmask8, from: *const f64) -> __m512d {
        // SAFETY: the caller's promise.
        unsafe { _mm512_maskz_loadu_pd(mask, from) }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn gather8(mask: __mmask8, at: __m256i, b: &[f64]) -> __m512d {
        // SAFETY: the caller's promise.
        unsafe { _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), mask, at, b.as_ptr()) }
    }
}

impl Lanes for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn round(sum: f64) -> f32 {
        sum as f32
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add8(mask: __m256i, from: *const f32, at: __m256i, b: &[f32], sums: &mut [__m256d; 2]) {
        // SAFETY: the caller's promise.
        let (x, y) = unsafe {
            let x = _mm256_maskload_ps(from, mask);
            (x, _mm256_mask_i32gather_ps::<4>(_mm256_setzero_ps(), b.as_ptr(), at, _mm256_castsi256_ps(mask)))
        };
        add_widened(x, y, sums);
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add_all8(from: *const f32, at: __m256i, b: &[f32], sums: &mut [__m256d; 2]) {
        // SAFETY: the caller's promise.
        let (x, y) = unsafe { (_mm256_loadu_ps(from), _mm256_i32gather_ps::<4>(b.as_ptr(), at)) };
        add_widened(x, y, sums);
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load4(mask: __m128i, from: *const f32) -> __m256d {
        // SAFETY: the caller's promise.
        _mm256_cvtps_pd(unsafe { _mm_maskload_ps(from, mask) })
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load(from: *const f32) -> __m256d {
        // SAFETY: the caller's promise.
        _mm256_cvtps_pd(unsafe { _mm_loadu_ps(from) })
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn four([a, b, c, d]: [f32; 4]) -> __m256d {
        _mm256_cvtps_pd(_mm_setr_ps(a, b, c, d))
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store4(sums: __m256d, to: &mut [f32; 4]) {
        // SAFETY: there is room for four.
        unsafe { _mm_storeu_ps(to.as_mut_ptr(), _mm256_cvtpd_ps(sums)) }
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn load8(mask: __mmask8, from: *const f32) -> __m512d {
        // SAFETY: the caller's promise.
        _mm512_cvtps_pd(unsafe { _mm256_maskz_loadu_ps(mask, from) })
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn gather8(mask: __mmask8, at: __m256i, b: &[f32]) -> __m512d {
        // SAFETY: the caller's promise.
        _mm512_cvtps_pd(unsafe { _mm256_mmask_i32gather_ps::<4>(_mm256_setzero_ps(), mask, at, b.as_ptr()) })
    }
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn halves(of: __m256i) -> [__m128i; 2] {
    [_mm256_castsi256_si128(of), _mm256_extracti128_si256::<1>(of)]
}

/// Adds products of `f32`, which are exact in `f64`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn add_widened(x: __m256, y: __m256, sums: &mut [__m256d; 2]) {
    let low = |of| _mm256_cvtps_pd(_mm256_castps256_ps128(of));
    let high = |of| _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(of));
    sums[0] = _mm256_add_pd(sums[0], _mm256_mul_pd(low(x), low(y)));
    sums[1] = _mm256_add_pd(sums[1], _mm256_mul_pd(high(x), high(y)));
}

/// Rows for each element beside which most rows are empty.
const MOSTLY: usize = 4;

/// The dot products of rows of which most are empty: of several beside each other that all are, one look says so.
fn dots_of_few<T: Lanes>(left: &Typed<'_, T, u32>, rows: Range<usize>, b: &[T], out: &mut [T]) {
    const BLOCK: usize = 16;
    for (out, first) in out.chunks_mut(BLOCK).zip(rows.step_by(BLOCK)) {
        let ends = &left.pointers[first..=first + out.len()];
        if ends[0] == ends[out.len()] {
            out.fill(T::round(0.0));
            continue;
        }
        for ((out, ends), r) in out.iter_mut().zip(ends.windows(2)).zip(first..) {
            *out = T::round(0.0);
            if ends[0] < ends[1] {
                let (indices, values) = left.row(r);
                *out = T::round(dot(indices, values, b));
            }
        }
    }
}

/// Bytes of a vector that is neither near nor far, and elements of rows that meet such a one: where a gather takes longer than loads
/// one by one, it has more on their way at once, and long rows come sooner by it.
#[cfg(target_arch = "x86_64")]
const BETWEEN: usize = 1 << 19;
#[cfg(target_arch = "x86_64")]
const LONG: usize = 32;

/// The dot product of each of some rows with a vector.
pub(super) fn dots<T: Lanes>(
    left: &Typed<'_, T, u32>,
    stencils: &[Stencil],
    rows: Range<usize>,
    b: &[T],
    out: &mut [T],
) {
    let stored = left.start(rows.end) - left.start(rows.start);
    if MOSTLY * stored < rows.len() {
        return dots_of_few(left, rows, b, out);
    }
    #[cfg(target_arch = "x86_64")]
    // Gathers take indices as signed.
    if b.len() <= i32::MAX as usize {
        if !stencils.is_empty() && level() >= Level::Avx2 {
            // SAFETY: the level in use is at most that of the CPU.
            let others = |rows, out: &mut [T]| unsafe { dots256(left, rows, b, out, |_| {}) };
            // SAFETY: as above.
            return unsafe { stencils::dots(left, stencils, rows, b, out, others) };
        }
        let (later, are_slow) = (left.later(&rows, b), gathers_are_slow());
        let is_between = size_of_val(b) > BETWEEN && !is_far(b) && stored > LONG * rows.len();
        // SAFETY: the level in use is at most that of the CPU.
        if are_slow
            && later.is_idle()
            && level() >= Level::Avx2
            && unsafe { alike::dots(left, rows.clone(), b, out, |rows, out| dots256(left, rows, b, out, |_| {})) }
        {
            return;
        }
        match (level(), later.is_idle()) {
            // SAFETY: the level in use is at most that of the CPU.
            (Level::Avx512, true) if !are_slow || is_between => {
                return unsafe { dots512(left, rows, b, out, |_| {}) };
            }
            // SAFETY: as above.
            (Level::Avx512, false) if !are_slow => return unsafe { dots512(left, rows, b, out, asking(later, b)) },
            // SAFETY: as above.
            (Level::Avx2 | Level::Avx512, true) => return unsafe { dots256(left, rows, b, out, |_| {}) },
            // SAFETY: as above.
            (Level::Avx2 | Level::Avx512, false) => return unsafe { dots256(left, rows, b, out, asking(later, b)) },
            (Level::Baseline, _) => {}
        }
    }
    let (mut later, first) = (left.later(&rows, b), left.start(rows.start));
    for (out, r) in out.iter_mut().zip(rows) {
        let (indices, values) = left.row(r);
        later.reach_row(left.start(r) - first, indices.len(), b);
        *out = T::round(dot(indices, values, b));
    }
}

/// Asks for what comes soon after each entry that it is given.
#[cfg(target_arch = "x86_64")]
fn asking<T>(mut later: Later<'_, u32>, b: &[T]) -> impl FnMut(usize) {
    move |at| later.reach(at, b)
}

/// `look` is told how many entries were met, before more are.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn dots512<T: Lanes>(
    left: &Typed<'_, T, u32>,
    rows: Range<usize>,
    b: &[T],
    out: &mut [T],
    mut look: impl FnMut(usize),
) {
    let mut start = left.start(rows.start);
    let first = start;
    for (out, &end) in out.iter_mut().zip(&left.pointers[rows.start + 1..=rows.end]) {
        let end = end as usize - left.base;
        let (indices, values) = (&left.indices[start..end], &left.values[start..end]);
        let met = start - first;
        start = end;
        // An index beyond the vector: the safe loop says so as any slice does.
        *out = T::round(dot512(indices, values, b, |e| look(met + e)).unwrap_or_else(|| dot(indices, values, b)));
    }
}

/// `look` is told how many entries were met, before more are.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots256<T: Lanes>(
    left: &Typed<'_, T, u32>,
    rows: Range<usize>,
    b: &[T],
    out: &mut [T],
    mut look: impl FnMut(usize),
) {
    if gathers_are_slow() {
        return loads::dots(left, rows, b, out, look);
    }
    let mut start = left.start(rows.start);
    let first = start;
    for (out, &end) in out.iter_mut().zip(&left.pointers[rows.start + 1..=rows.end]) {
        let end = end as usize - left.base;
        let (indices, values) = (&left.indices[start..end], &left.values[start..end]);
        let met = start - first;
        start = end;
        *out = T::round(dot256(indices, values, b, |e| look(met + e)).unwrap_or_else(|| dot(indices, values, b)));
    }
}

/// Eight of these from place `8 - n` on are a mask of the first `n` of eight lanes.
#[cfg(target_arch = "x86_64")]
static FIRST: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

/// A mask of the first `n` of four lanes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn first(n: usize) -> __m128i {
    let masks: &[i32; 4] = FIRST[8 - n.min(4)..].first_chunk().unwrap_or(&[0; 4]);
    bytemuck::cast(*masks)
}

/// `None` if an index is not below the length of `b`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn dot256<T: Lanes>(indices: &[u32], values: &[T], b: &[T], mut look: impl FnMut(usize)) -> Option<f64> {
    // Lanes without an element have place 0, which an empty vector has not.
    if b.is_empty() {
        return indices.is_empty().then_some(0.0);
    }
    let n = indices.len().min(values.len());
    let last = _mm256_set1_epi32((b.len() - 1) as u32 as i32);
    let is_beyond = |at| _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(at, last), last)) != -1;
    let mut sums = [[_mm256_setzero_pd(); 2]; 2];
    let mut e = 0;
    while n - e >= LANES {
        look(e);
        for sums in &mut sums {
            let (k, x) = (indices.as_ptr().wrapping_add(e), values.as_ptr().wrapping_add(e));
            prefetch_stream(k);
            prefetch_stream(x);
            // SAFETY: eight elements from `e` on, below `n`.
            let at = unsafe { _mm256_loadu_si256(k.cast()) };
            if is_beyond(at) {
                return None;
            }
            // SAFETY: as above; all places are below the length of `b`.
            unsafe { T::add_all8(x, at, b, sums) };
            e += 8;
        }
    }
    look(e);
    for sums in &mut sums {
        let left = (n - e).min(8);
        if left == 0 {
            break;
        }
        let (k, x) = (indices.as_ptr().wrapping_add(e), values.as_ptr().wrapping_add(e));
        // SAFETY: eight of the mask; lanes in it are elements from `e` on, below `n`; others are not read.
        let (mask, at) = unsafe {
            let mask = _mm256_loadu_si256(FIRST[8 - left..].as_ptr().cast());
            (mask, _mm256_maskload_epi32(k.cast(), mask))
        };
        if is_beyond(at) {
            return None;
        }
        // SAFETY: as above; all places in the mask are below the length of `b`.
        unsafe { T::add8(mask, x, at, b, sums) };
        e += left;
    }
    let [low, high] = sums;
    let four = _mm256_add_pd(_mm256_add_pd(low[0], high[0]), _mm256_add_pd(low[1], high[1]));
    let two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd::<1>(four));
    Some(_mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two)))
}

/// `None` if an index is not below the length of `b`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn dot512<T: Lanes>(indices: &[u32], values: &[T], b: &[T], mut look: impl FnMut(usize)) -> Option<f64> {
    let n = indices.len().min(values.len());
    let len = _mm256_set1_epi32(b.len() as u32 as i32);
    let mut sums = [_mm512_setzero_pd(); 2];
    let mut e = 0;
    while e < n {
        look(e);
        for sum in &mut sums {
            let mask = if n - e >= 8 { !0 } else { ((1u32 << (n - e)) - 1) as __mmask8 };
            let (k, x) = (indices.as_ptr().wrapping_add(e), values.as_ptr().wrapping_add(e));
            prefetch_stream(k);
            prefetch_stream(x);
            // SAFETY: lanes in the mask are elements from `e` on, below `n`; others are not read.
            let (at, x) = unsafe { (_mm256_maskz_loadu_epi32(mask, k.cast()), T::load8(mask, x)) };
            if _mm256_mask_cmpge_epu32_mask(mask, at, len) != 0 {
                return None;
            }
            // SAFETY: all places in the mask are below the length of `b`.
            let y = unsafe { T::gather8(mask, at, b) };
            *sum = _mm512_mask_add_pd(*sum, mask, *sum, _mm512_mul_pd(x, y));
            e += 8;
            if e >= n {
                break;
            }
        }
    }
    Some(in_halves(sums))
}

/// The sum of sixteen lanes, added in pairs a half apart.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn in_halves(lanes: [__m512d; 2]) -> f64 {
    let eight = _mm512_add_pd(lanes[0], lanes[1]);
    let four = _mm256_add_pd(_mm512_castpd512_pd256(eight), _mm512_extractf64x4_pd::<1>(eight));
    let two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd::<1>(four));
    _mm_cvtsd_f64(two) + _mm_cvtsd_f64(_mm_unpackhi_pd(two, two))
}

/// The same without gathers.
#[inline(always)]
pub(super) fn dot<T: Lanes>(indices: &[u32], values: &[T], b: &[T]) -> f64 {
    if indices.len() <= FEW {
        return dot_few(indices, values, b);
    }
    let mut sums = [0.0; LANES];
    let ((ks, k_rest), (xs, x_rest)) = (indices.as_chunks::<LANES>(), values.as_chunks::<LANES>());
    for (k, x) in ks.iter().zip(xs) {
        for i in 0..LANES {
            sums[i] += x[i].wide() * b[k[i] as usize].wide();
        }
    }
    for ((sum, &k), &x) in sums.iter_mut().zip(k_rest).zip(x_rest) {
        *sum += x.wide() * b[k as usize].wide();
    }
    added_in_halves(sums)
}

#[inline(always)]
fn added_in_halves<const N: usize>(mut lanes: [f64; N]) -> f64 {
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] += lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// Terms of a row that are written out, a loop for each number of them.
pub(super) const FEW: usize = 8;

/// The same of up to [`FEW`] elements, each loaded by itself: no lane waits in memory for others to be added to it.
#[inline(always)]
fn dot_few<T: Lanes>(indices: &[u32], values: &[T], b: &[T]) -> f64 {
    match indices.len() {
        0 => 0.0,
        1 => dot_of::<T, 1>(indices, values, b),
        2 => dot_of::<T, 2>(indices, values, b),
        3 => dot_of::<T, 3>(indices, values, b),
        4 => dot_of::<T, 4>(indices, values, b),
        5 => dot_of::<T, 5>(indices, values, b),
        6 => dot_of::<T, 6>(indices, values, b),
        7 => dot_of::<T, 7>(indices, values, b),
        _ => dot_of::<T, FEW>(indices, values, b),
    }
}

#[inline(always)]
fn dot_of<T: Lanes, const N: usize>(indices: &[u32], values: &[T], b: &[T]) -> f64 {
    // Adding -0.0 changes nothing, which the compiler knows, so lanes without a term cost nothing. A sum that began with 0.0 is never -0.0.
    let mut lanes = [-0.0; FEW];
    for i in 0..N {
        lanes[i] = values[i].wide() * b[indices[i] as usize].wide();
    }
    added_in_halves(lanes) + 0.0
}

/// Adds row `r` times the first element of row `r` of `factors` to `acc`, for each of some rows: entry `i` of the row to `acc[i]`.
pub(super) fn add_rows<T: Lanes>(left: &Typed<'_, T, u32>, rows: Range<usize>, factors: Columns<'_>, acc: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    // Scatters take indices as signed.
    if level() == Level::Avx512 && !gathers_are_slow() && acc.len() <= i32::MAX as usize {
        // SAFETY: the level in use is at most that of the CPU.
        return unsafe { add_rows512(left, rows, factors, acc) };
    }
    let (mut later, first) = (left.later(&rows, acc), left.start(rows.start));
    for r in rows {
        let (indices, values) = left.row(r);
        let factor = factors.values[r * factors.stride];
        if later.is_idle() {
            add_row(indices, values, factor, (acc, 0), |_, _| {});
        } else {
            let met = left.start(r) - first;
            add_row(indices, values, factor, (acc, 0), |e, acc| later.reach(met + e, acc));
        }
    }
}

/// Adds a row to sums, the first of which is that of column `first`. What comes next of the row is asked for: scattered stores keep the
/// CPU from seeing the streams. `look` is told how many entries were met, before more are.
#[inline(always)]
pub(super) fn add_row<T: Lanes>(
    indices: &[u32],
    values: &[T],
    factor: f64,
    (acc, first): (&mut [f64], usize),
    mut look: impl FnMut(usize, &[f64]),
) {
    let ((blocks, indices), (of_blocks, values)) = (indices.as_chunks::<8>(), values.as_chunks::<8>());
    for (e, (indices, values)) in blocks.iter().zip(of_blocks).enumerate() {
        look(8 * e, acc);
        prefetch_stream(indices.as_ptr());
        prefetch_stream(values.as_ptr());
        indices.iter().zip(values).for_each(|(&i, x)| acc[i as usize - first] += x.wide() * factor);
    }
    look(8 * blocks.len(), acc);
    indices.iter().zip(values).for_each(|(&i, x)| acc[i as usize - first] += x.wide() * factor);
}

/// Eight sums are on their way from memory at once, where the plain loop waits for what it stored before.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn add_rows512<T: Lanes>(left: &Typed<'_, T, u32>, rows: Range<usize>, factors: Columns<'_>, acc: &mut [f64]) {
    let len = _mm256_set1_epi32(acc.len() as u32 as i32);
    for r in rows {
        let (indices, values) = left.row(r);
        let single = factors.values[r * factors.stride];
        let factor = _mm512_set1_pd(single);
        let mut e = 0;
        while e < indices.len() {
            let n = (indices.len() - e).min(8);
            let mask = ((1u32 << n) - 1) as __mmask8;
            prefetch_stream(indices.as_ptr().wrapping_add(e));
            prefetch_stream(values.as_ptr().wrapping_add(e));
            // SAFETY: lanes in the mask are `n` elements from `e` on; others are not read.
            let (at, x) = unsafe {
                let at = _mm256_maskz_loadu_epi32(mask, indices.as_ptr().add(e).cast());
                (at, T::load8(mask, values[e..e + n].as_ptr()))
            };
            // Lane by lane the index before it, 0 before the first: rising ones differ from each other.
            let before = _mm256_alignr_epi32::<7>(at, _mm256_setzero_si256());
            let falls = _mm256_mask_cmple_epu32_mask(mask & !1, at, before);
            if _mm256_mask_cmpge_epu32_mask(mask, at, len) | falls != 0 {
                add_row(&indices[e..e + n], &values[e..e + n], single, (&mut *acc, 0), |_, _| {});
            } else {
                // SAFETY: all places in the mask are below the length of `acc`, and each is there once.
                unsafe {
                    let sums = _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), mask, at, acc.as_ptr());
                    let sums = _mm512_add_pd(sums, _mm512_mul_pd(x, factor));
                    _mm512_mask_i32scatter_pd::<8>(acc.as_mut_ptr(), mask, at, sums);
                }
            }
            e += n;
        }
    }
}
