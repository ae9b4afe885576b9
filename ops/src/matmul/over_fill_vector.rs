//! Rows of `f64` over a fill times a vector, and times a number each. As in [`lanes`](super::lanes): a sum has sixteen lanes, and the same
//! bits come out with gather and scatter instructions and without.
#![allow(unsafe_code)] // gathers and scatters touch what indices point at, once these were compared with the lengths

use std::cell::Cell;

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::eights::{LANES, Lanes};
use super::lanes::added_in_halves;
use super::source::{Easy, Fills};
#[cfg(target_arch = "x86_64")]
use crate::simd::{Level, gathers_are_slow, level, prefetch_stream};

/// What is done with a row. The numbers of hard elements go to `hard`.
pub(super) struct Rows<'a> {
    pub(super) easy: Easy,
    pub(super) hard: &'a [Cell<u32>],
}

impl Rows<'_> {
    /// The dot product of a row with a vector, and how many hard elements it met.
    #[inline(always)]
    pub(super) fn dot(&self, indices: &[u32], values: &[f64], fills: Fills<'_>, b: &[f64]) -> (f64, usize) {
        #[cfg(target_arch = "x86_64")]
        // Gathers take indices as signed.
        if level() == Level::Avx512 && b.len() <= i32::MAX as usize {
            // SAFETY: the level in use is at most that of the CPU.
            if let Some(done) = unsafe { self.dot512(indices, values, fills, b) } {
                return done;
            }
        }
        let mut sums = [0.0; LANES];
        let found =
            fills.terms(self.easy, (indices, values), self.hard, |e, k, x| sums[e % LANES] += x * b[k as usize]);
        (added_in_halves(sums), found)
    }

    /// Adds the terms of a row times a factor to `acc`, the term in column `i` to `acc[i]`. Says how many elements are hard.
    #[inline(always)]
    pub(super) fn add(&self, indices: &[u32], values: &[f64], fills: Fills<'_>, factor: f64, acc: &mut [f64]) -> usize {
        #[cfg(target_arch = "x86_64")]
        // Scatters take indices as signed.
        if level() == Level::Avx512 && !gathers_are_slow() && acc.len() <= i32::MAX as usize {
            // SAFETY: the level in use is at most that of the CPU.
            if let Some(found) = unsafe { self.add512(indices, values, fills, factor, acc) } {
                return found;
            }
        }
        fills.terms(self.easy, (indices, values), self.hard, |_, i, x| acc[i as usize] += x * factor)
    }

    /// `None` if an index is not below the length of `b`, or there are fewer fills.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    fn dot512(&self, indices: &[u32], values: &[f64], fills: Fills<'_>, b: &[f64]) -> Option<(f64, usize)> {
        let n = indices.len().min(values.len());
        let len = self.length(fills, b)?;
        let mut sums = [_mm512_setzero_pd(); 2];
        let (mut e, mut found) = (0, 0);
        while e < n {
            for sum in &mut sums {
                let mask = if n - e >= 8 { !0 } else { ((1u32 << (n - e)) - 1) as __mmask8 };
                let (k, x) = (indices.as_ptr().wrapping_add(e), values.as_ptr().wrapping_add(e));
                prefetch_stream(k);
                prefetch_stream(x);
                // SAFETY: lanes in the mask are elements from `e` on, below `n`; others are not read.
                let (at, x) = unsafe { (_mm256_maskz_loadu_epi32(mask, k.cast()), _mm512_maskz_loadu_pd(mask, x)) };
                if _mm256_mask_cmpge_epu32_mask(mask, at, len) != 0 {
                    return None;
                }
                // SAFETY: all places in the mask are below the length of `b` and the number of fills.
                let (term, y) = unsafe {
                    let term = self.terms512(mask, at, x, fills, e, &mut found);
                    (term, _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), mask, at, b.as_ptr()))
                };
                *sum = _mm512_mask_add_pd(*sum, mask, *sum, _mm512_mul_pd(term, y));
                e += 8;
                if e >= n {
                    break;
                }
            }
        }
        // SAFETY: this function's features.
        Some((unsafe { f64::in_halves_wide(sums) }, found))
    }

    /// `None`, and nothing is done, if columns do not rise, or one is not below the length of `acc`, or there are fewer fills.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    fn add512(&self, indices: &[u32], values: &[f64], fills: Fills<'_>, factor: f64, acc: &mut [f64]) -> Option<usize> {
        let n = indices.len().min(values.len());
        let len = self.length(fills, acc)?;
        let rises = indices.windows(2).all(|pair| pair[0] < pair[1]);
        if !rises || indices.last().is_some_and(|&last| last as usize >= acc.len()) {
            return None;
        }
        let factor = _mm512_set1_pd(factor);
        let (mut e, mut found) = (0, 0);
        while e < n {
            let mask = if n - e >= 8 { !0 } else { ((1u32 << (n - e)) - 1) as __mmask8 };
            let (k, x) = (indices.as_ptr().wrapping_add(e), values.as_ptr().wrapping_add(e));
            prefetch_stream(k);
            prefetch_stream(x);
            // SAFETY: lanes in the mask are elements from `e` on, below `n`; others are not read. Their columns rise, so each is
            // there once, and the last was compared with the length of `acc`, which is at most the number of fills.
            unsafe {
                let (at, x) = (_mm256_maskz_loadu_epi32(mask, k.cast()), _mm512_maskz_loadu_pd(mask, x));
                debug_assert!(_mm256_mask_cmpge_epu32_mask(mask, at, len) == 0);
                let term = self.terms512(mask, at, x, fills, e, &mut found);
                let sums = _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), mask, at, acc.as_ptr());
                let sums = _mm512_add_pd(sums, _mm512_mul_pd(term, factor));
                _mm512_mask_i32scatter_pd::<8>(acc.as_mut_ptr(), mask, at, sums);
            }
            e += 8;
        }
        Some(found)
    }

    /// The length of `b` in every lane, if there is a fill for each of its elements.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    fn length(&self, fills: Fills<'_>, b: &[f64]) -> Option<__m256i> {
        let is_enough = match fills {
            Fills::Columns(fills) => fills.len() >= b.len(),
            Fills::One(_) => true,
        };
        is_enough.then(|| _mm256_set1_epi32(b.len() as u32 as i32))
    }

    /// The terms of eight elements from number `e` on. Hard ones are numbered from `found` on.
    ///
    /// # Safety
    /// The CPU must have AVX-512 F, DQ and VL, and there must be a fill for each of the columns in the mask, which are at most
    /// what an `i32` holds.
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx512f,avx512dq,avx512vl")]
    unsafe fn terms512(
        &self,
        mask: __mmask8,
        at: __m256i,
        x: __m512d,
        fills: Fills<'_>,
        e: usize,
        found: &mut usize,
    ) -> __m512d {
        let size = _mm512_abs_pd(x);
        // SAFETY: the caller's promise.
        let (fill, mut hard) = unsafe {
            match fills {
                Fills::One(&fill) => {
                    let least = _mm512_set1_pd(self.easy.least(fill));
                    (_mm512_set1_pd(fill), _mm512_mask_cmp_pd_mask::<_CMP_NGE_UQ>(mask, size, least))
                }
                Fills::Columns(fills) => {
                    let fill = _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), mask, at, fills.as_ptr());
                    let mut hard = _mm512_mask_cmp_pd_mask::<_CMP_NGE_UQ>(mask, size, _mm512_set1_pd(self.easy.most()));
                    if hard != 0 {
                        let room = _mm512_mul_pd(size, _mm512_set1_pd(self.easy.limit()));
                        hard = _mm512_mask_cmp_pd_mask::<_CMP_NLE_UQ>(hard, _mm512_abs_pd(fill), room);
                    }
                    (fill, hard)
                }
            }
        };
        let term = _mm512_mask_sub_pd(x, !hard, x, fill);
        while hard != 0 {
            if let Some(place) = self.hard.get(*found) {
                place.set(e as u32 + hard.trailing_zeros());
            }
            *found += 1;
            hard &= hard - 1;
        }
        term
    }
}
