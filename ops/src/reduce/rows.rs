//! Folds of many short runs of floats by vector instructions: no branch depends on how long a run is, up to
//! [`AT_ONCE`]. The lanes, their order and so the bits are those of the plain loops.
#![allow(unsafe_code)] // loads read slices up to their ends, once the CPU was asked for the instructions

use std::arch::x86_64::*;

use super::kernels::SHORT;
use crate::simd::{Level, level};

/// Elements that are looked at for every run, be there as many or not: the most; less where all runs are shorter.
const AT_ONCE: usize = 32;

/// A fold that eight lanes do at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    Sum,
    Least,
    Greatest,
}

/// Elements that are folded as `f64`, and what folds are kept as.
pub(super) trait Wide: Copy + Default {
    fn wide(self) -> f64;
    fn of(wide: f64) -> Self;
    /// Four elements.
    ///
    /// # Safety
    /// The CPU must have AVX2, and all four must be readable.
    unsafe fn load4(from: *const Self) -> __m256d;
}

impl Wide for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn of(wide: f64) -> f64 {
        wide
    }
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn load4(from: *const f64) -> __m256d {
        // SAFETY: the caller's promise.
        unsafe { _mm256_loadu_pd(from) }
    }
}

impl Wide for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self.into()
    }
    /// Of one of its elements, which it is again.
    #[inline(always)]
    fn of(wide: f64) -> f32 {
        wide as f32
    }
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
pub(super) fn fold<T: Wide, A: Wide>(
    lanes: Lanes,
    values: &[T],
    offsets: &[usize],
    acc: &mut [A],
    long: &dyn Fn(usize, usize) -> A,
) -> bool {
    if level() < Level::Avx2 {
        return false;
    }
    // SAFETY: the level in use is at most that of the CPU.
    unsafe {
        match lanes {
            Lanes::Sum => at_once::<T, A, { Lanes::Sum as u8 }>(values, offsets, acc, long),
            Lanes::Least => at_once::<T, A, { Lanes::Least as u8 }>(values, offsets, acc, long),
            Lanes::Greatest => at_once::<T, A, { Lanes::Greatest as u8 }>(values, offsets, acc, long),
        }
    }
    true
}

#[target_feature(enable = "avx2")]
fn at_once<T: Wide, A: Wide, const OP: u8>(
    values: &[T],
    offsets: &[usize],
    acc: &mut [A],
    long: &dyn Fn(usize, usize) -> A,
) {
    // Most often one of the first is longer, if any is.
    let any_beyond = |n: usize| offsets.windows(2).any(|ends| ends[1] - ends[0] > n);
    if any_beyond(16) {
        fold256::<T, A, OP, AT_ONCE>(values, offsets, acc, long);
    } else if any_beyond(8) {
        fold256::<T, A, OP, 16>(values, offsets, acc, long);
    } else {
        fold256::<T, A, OP, 8>(values, offsets, acc, long);
    }
}

#[target_feature(enable = "avx2")]
fn fold256<T: Wide, A: Wide, const OP: u8, const N: usize>(
    values: &[T],
    offsets: &[usize],
    acc: &mut [A],
    long: &dyn Fn(usize, usize) -> A,
) {
    for (slot, ends) in acc.iter_mut().zip(offsets.windows(2)) {
        let (start, end) = (ends[0], ends[1]);
        let own = if end - start <= SHORT { short::<T, OP, N>(values, start, end) } else { long(start, end).wide() };
        let (all, own) = (_mm256_set1_pd(slot.wide()), _mm256_set1_pd(own));
        *slot = A::of(_mm256_cvtsd_f64(combine::<OP>(all, own)));
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn short<T: Wide, const OP: u8, const N: usize>(values: &[T], start: usize, end: usize) -> f64 {
    let none = _mm256_set1_pd(match OP {
        op if op == Lanes::Least as u8 => f64::INFINITY,
        op if op == Lanes::Greatest as u8 => f64::NEG_INFINITY,
        _ => -0.0,
    });
    let mut lanes = [none; 2];
    let mut at = start;
    loop {
        let n = (end - at).min(N);
        let last;
        let block = match values[at..].first_chunk::<N>() {
            Some(block) => block,
            None => {
                last = padded(&values[at..at + n]);
                &last
            }
        };
        let masks = &FIRST[AT_ONCE - n..][..N];
        for four in 0..N / 4 {
            // SAFETY: so many times four are as many as both have.
            let (x, mask) = unsafe {
                (T::load4(block.as_ptr().add(4 * four)), _mm256_loadu_pd(masks.as_ptr().add(4 * four).cast()))
            };
            lanes[four % 2] = combine::<OP>(lanes[four % 2], _mm256_blendv_pd(none, x, mask));
        }
        at += N;
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
fn padded<T: Wide, const N: usize>(run: &[T]) -> [T; N] {
    let mut all = [T::default(); N];
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
