//! Folds of many short runs of floats by vector instructions: no branch depends on how long a run is, up to
//! [`AT_ONCE`]. The lanes, their order and so the bits are those of the plain loops.
#![allow(unsafe_code)] // loads read slices up to their ends, once the CPU was asked for the instructions

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
pub(super) trait Wide: Copy + Default {
    /// Four elements.
    ///
    /// # Safety
    /// The CPU must have AVX2, and all four must be readable.
    unsafe fn load4(from: *const Self) -> __m256d;
}

impl Wide for f64 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load4(from: *const f64) -> __m256d {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_pd(from) }
    }
}

impl Wide for f32 {
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load4(from: *const f32) -> __m256d {
        // SAFETY: the caller's promise.
        _mm256_cvtps_pd(unsafe { _mm_loadu_ps(from) })
    }
}

/// [`AT_ONCE`] of these from place `AT_ONCE - n` on are a mask of the first `n` elements. All that are looked at are loaded, and those of
/// the run chosen by it: loads by a mask, of AVX-512 as well, took more than twice as long on Zen 5.
static FIRST: [u64; 2 * AT_ONCE] = {
    let mut first = [0; 2 * AT_ONCE];
    let mut i = 0;
    while i < AT_ONCE {
        first[i] = u64::MAX;
        i += 1;
    }
    first
};

/// Combines `acc[r]` with the fold of `values[offsets[r]..offsets[r + 1]]`, that of a long run being `long` of its place.
/// `false`, and nothing done, on a CPU without the instructions.
pub(super) fn fold<T: Wide>(
    lanes: Lanes,
    values: &[T],
    offsets: &[usize],
    acc: &mut [f64],
    long: &dyn Fn(usize, usize) -> f64,
) -> bool {
    if level() < Level::Avx2 {
        return false;
    }
    // SAFETY: the level in use is at most that of the CPU.
    unsafe {
        match lanes {
            Lanes::Sum => fold256::<T, { Lanes::Sum as u8 }>(values, offsets, acc, long),
            Lanes::Least => fold256::<T, { Lanes::Least as u8 }>(values, offsets, acc, long),
            Lanes::Greatest => fold256::<T, { Lanes::Greatest as u8 }>(values, offsets, acc, long),
        }
    }
    true
}

#[target_feature(enable = "avx2")]
fn fold256<T: Wide, const OP: u8>(
    values: &[T],
    offsets: &[usize],
    acc: &mut [f64],
    long: &dyn Fn(usize, usize) -> f64,
) {
    for (slot, ends) in acc.iter_mut().zip(offsets.windows(2)) {
        let (start, end) = (ends[0], ends[1]);
        let own = if end - start <= SHORT { short::<T, OP>(values, start, end) } else { long(start, end) };
        let (all, own) = (_mm256_set1_pd(*slot), _mm256_set1_pd(own));
        *slot = _mm256_cvtsd_f64(combine::<OP>(all, own));
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn short<T: Wide, const OP: u8>(values: &[T], start: usize, end: usize) -> f64 {
    let none = _mm256_set1_pd(match OP {
        op if op == Lanes::Least as u8 => f64::INFINITY,
        op if op == Lanes::Greatest as u8 => f64::NEG_INFINITY,
        _ => -0.0,
    });
    let mut lanes = [none; 2];
    let mut at = start;
    loop {
        let n = (end - at).min(AT_ONCE);
        let last;
        let block = match values[at..].first_chunk::<AT_ONCE>() {
            Some(block) => block,
            None => {
                last = padded(&values[at..at + n]);
                &last
            }
        };
        let masks = &FIRST[AT_ONCE - n..][..AT_ONCE];
        for four in 0..AT_ONCE / 4 {
            // SAFETY: eight times four are as many as both have.
            let (x, mask) = unsafe {
                (T::load4(block.as_ptr().add(4 * four)), _mm256_loadu_pd(masks.as_ptr().add(4 * four).cast()))
            };
            lanes[four % 2] = combine::<OP>(lanes[four % 2], _mm256_blendv_pd(none, x, mask));
        }
        at += AT_ONCE;
        if at >= end {
            break;
        }
    }
    let four = combine::<OP>(lanes[0], lanes[1]);
    let two = combine::<OP>(four, _mm256_permute2f128_pd::<0x11>(four, four));
    _mm256_cvtsd_f64(combine::<OP>(two, _mm256_permute_pd::<0b1111>(two)))
}

/// A run at the end of all elements, and others that no mask has.
#[cold]
fn padded<T: Wide>(run: &[T]) -> [T; AT_ONCE] {
    let mut all = [T::default(); AT_ONCE];
    all[..run.len()].copy_from_slice(run);
    all
}

/// Lane by lane what the plain loops do to two accumulators.
#[inline]
#[target_feature(enable = "avx2")]
fn combine<const OP: u8>(a: __m256d, b: __m256d) -> __m256d {
    // The second one where neither is beyond the other, and the first where it is not a number.
    let or_nan = |best| _mm256_blendv_pd(best, a, _mm256_cmp_pd::<_CMP_UNORD_Q>(a, a));
    match OP {
        op if op == Lanes::Least as u8 => or_nan(_mm256_min_pd(a, b)),
        op if op == Lanes::Greatest as u8 => or_nan(_mm256_max_pd(a, b)),
        _ => _mm256_add_pd(a, b),
    }
}
