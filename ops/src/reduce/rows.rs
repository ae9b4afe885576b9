//! Folds of many short runs of floats with masked vector instructions: no branch depends on how long a run is, up to
//! [`AT_ONCE`]. The lanes, their order and so the bits are those of the plain loops.
#![allow(unsafe_code)] // masked loads read a slice up to its end, once the CPU was asked for the instructions

use std::arch::x86_64::*;

use super::kernels::SHORT;
use crate::simd::{Level, level};

/// Elements that are looked at for every run, be there as many or not.
const AT_ONCE: usize = 32;

/// A fold that eight lanes do at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    Sum,
    Least,
    Greatest,
}

/// Elements that are folded as `f64`.
pub(super) trait Wide: Copy {
    /// The lanes in `mask` of eight elements; others are zero.
    ///
    /// # Safety
    /// The CPU must have AVX-512 F and VL, and lanes in the mask must be readable.
    unsafe fn load8(mask: __mmask8, from: *const Self) -> __m512d;
}

impl Wide for f64 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn load8(mask: __mmask8, from: *const f64) -> __m512d {
        // SAFETY: the caller's promise.
        unsafe { _mm512_maskz_loadu_pd(mask, from) }
    }
}

impl Wide for f32 {
    #[inline]
    #[target_feature(enable = "avx512f,avx512vl")]
    unsafe fn load8(mask: __mmask8, from: *const f32) -> __m512d {
        // SAFETY: the caller's promise.
        _mm512_cvtps_pd(unsafe { _mm256_maskz_loadu_ps(mask, from) })
    }
}

/// Combines `acc[r]` with the fold of `values[offsets[r]..offsets[r + 1]]`, that of a long run being `long` of its place.
/// `false`, and nothing done, on a CPU without the instructions.
pub(super) fn fold<T: Wide>(
    lanes: Lanes,
    values: &[T],
    offsets: &[usize],
    acc: &mut [f64],
    long: &dyn Fn(usize, usize) -> f64,
) -> bool {
    if level() != Level::Avx512 {
        return false;
    }
    // SAFETY: the level in use is at most that of the CPU.
    unsafe {
        match lanes {
            Lanes::Sum => fold512::<T, { Lanes::Sum as u8 }>(values, offsets, acc, long),
            Lanes::Least => fold512::<T, { Lanes::Least as u8 }>(values, offsets, acc, long),
            Lanes::Greatest => fold512::<T, { Lanes::Greatest as u8 }>(values, offsets, acc, long),
        }
    }
    true
}

#[target_feature(enable = "avx512f,avx512vl")]
fn fold512<T: Wide, const OP: u8>(
    values: &[T],
    offsets: &[usize],
    acc: &mut [f64],
    long: &dyn Fn(usize, usize) -> f64,
) {
    for (slot, ends) in acc.iter_mut().zip(offsets.windows(2)) {
        let (start, end) = (ends[0], ends[1]);
        let own = if end - start <= SHORT { short::<T, OP>(&values[start..end]) } else { long(start, end) };
        let (all, own) = (_mm512_set1_pd(*slot), _mm512_set1_pd(own));
        *slot = _mm512_cvtsd_f64(combine::<OP>(all, own));
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn short<T: Wide, const OP: u8>(run: &[T]) -> f64 {
    let mut lanes = _mm512_set1_pd(match OP {
        op if op == Lanes::Least as u8 => f64::INFINITY,
        op if op == Lanes::Greatest as u8 => f64::NEG_INFINITY,
        _ => -0.0,
    });
    let mut at = 0;
    loop {
        let rest = run.len() - at;
        let mask = if rest >= AT_ONCE { u32::MAX } else { (1 << rest) - 1 };
        for (eight, mask) in mask.to_le_bytes().into_iter().enumerate() {
            // SAFETY: lanes in the mask are elements before the end; others are not read.
            let block = unsafe { T::load8(mask, run.as_ptr().wrapping_add(at + 8 * eight)) };
            lanes = _mm512_mask_mov_pd(lanes, mask, combine::<OP>(lanes, block));
        }
        at += AT_ONCE;
        if at >= run.len() {
            break;
        }
    }
    let halves = |lanes, other| combine::<OP>(lanes, other);
    let lanes = halves(lanes, _mm512_shuffle_f64x2::<0b11_10_11_10>(lanes, lanes));
    let lanes = halves(lanes, _mm512_shuffle_f64x2::<0b01_01_01_01>(lanes, lanes));
    _mm512_cvtsd_f64(halves(lanes, _mm512_permute_pd::<0xff>(lanes)))
}

/// Lane by lane what the plain loops do to two accumulators.
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn combine<const OP: u8>(a: __m512d, b: __m512d) -> __m512d {
    // The second one where neither is beyond the other, and the first where it is not a number.
    let or_nan = |best| _mm512_mask_mov_pd(best, _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(a, a), a);
    match OP {
        op if op == Lanes::Least as u8 => or_nan(_mm512_min_pd(a, b)),
        op if op == Lanes::Greatest as u8 => or_nan(_mm512_max_pd(a, b)),
        _ => _mm512_add_pd(a, b),
    }
}
