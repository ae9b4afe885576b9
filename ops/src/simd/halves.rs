//! Half-precision types: blocks are widened to `f32`, computed there, and rounded once.
#![allow(unsafe_code)] // functions compiled for a CPU feature are called once it was detected

use bytemuck::Pod;
use half::{bf16, f16};

#[cfg(target_arch = "x86_64")]
use super::{Level, level};
use super::{Loop, vectorised};
use crate::dtype::Element;

/// A type of half precision. Conversions of one element work on bits, without branches.
pub(crate) trait Half: Element + Pod {
    fn widened(self) -> f32;
    /// To the nearest, half to even.
    fn rounded(wide: f32) -> Self;
    fn widen_all(from: &[Self], to: &mut [f32]) {
        vectorised(Each { from, to, convert: Self::widened });
    }
    fn round_all(from: &[f32], to: &mut [Self]) {
        vectorised(Each { from, to, convert: Self::rounded });
    }
}

struct Each<'a, A, B, F> {
    from: &'a [A],
    to: &'a mut [B],
    convert: F,
}

impl<A: Copy, B, F: Fn(A) -> B> Loop for Each<'_, A, B, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.to.iter_mut().zip(self.from).for_each(|(to, from)| *to = (self.convert)(*from));
    }
}

/// Eight at a time by the instructions that x86-64 has for it. The `half` crate uses them too, but by a call for each eight.
#[cfg(target_arch = "x86_64")]
mod eights {
    use std::arch::x86_64::*;

    use half::f16;

    use super::Half;

    #[target_feature(enable = "avx,f16c")]
    pub(super) fn widen(from: &[f16], to: &mut [f32]) {
        let ((eights, rest), (wide, wide_rest)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
        for (from, to) in eights.iter().zip(wide) {
            *to = bytemuck::cast(_mm256_cvtph_ps(bytemuck::cast(*from)));
        }
        wide_rest.iter_mut().zip(rest).for_each(|(to, from)| *to = from.widened());
    }

    #[target_feature(enable = "avx,f16c")]
    pub(super) fn round(from: &[f32], to: &mut [f16]) {
        let ((eights, rest), (narrow, narrow_rest)) = (from.as_chunks::<8>(), to.as_chunks_mut::<8>());
        for (from, to) in eights.iter().zip(narrow) {
            *to = bytemuck::cast(_mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(bytemuck::cast(*from)));
        }
        narrow_rest.iter_mut().zip(rest).for_each(|(to, from)| *to = f16::rounded(*from));
    }
}

/// The bits of the magnitude of a float.
const MAGNITUDE: u32 = 0x7fff_ffff;
const INFINITY: u32 = 0x7f80_0000;

impl Half for f16 {
    #[cfg(target_arch = "x86_64")]
    fn widen_all(from: &[f16], to: &mut [f32]) {
        if level() == Level::Baseline {
            return vectorised(Each { from, to, convert: f16::widened });
        }
        // SAFETY: every level but the baseline includes F16C and AVX, and the level in use is at most that of the CPU.
        unsafe { eights::widen(from, to) }
    }
    #[cfg(target_arch = "x86_64")]
    fn round_all(from: &[f32], to: &mut [f16]) {
        if level() == Level::Baseline {
            return vectorised(Each { from, to, convert: f16::rounded });
        }
        // SAFETY: as above.
        unsafe { eights::round(from, to) }
    }
    #[inline(always)]
    fn widened(self) -> f32 {
        /// By how much the biases of both exponents differ.
        const BIAS: u32 = 112 << 23;
        let bits = u32::from(self.to_bits());
        let magnitude = (bits & 0x7fff) << 13;
        // Of infinity and NaN the exponent is moved on to the last one; a number below the normal ones is what it adds to the first of these.
        let is_past = magnitude >= 31 << 23;
        let quiet = u32::from(magnitude > 31 << 23) << 22;
        let moved = (magnitude + BIAS + if is_past { BIAS } else { 0 }) | quiet;
        const FIRST: u32 = BIAS + (1 << 23);
        let small = (f32::from_bits(magnitude + FIRST) - f32::from_bits(FIRST)).to_bits();
        let wide = if magnitude < 1 << 23 { small } else { moved };
        f32::from_bits(wide | (bits & 0x8000) << 16)
    }

    #[inline(always)]
    fn rounded(wide: f32) -> f16 {
        const BIAS: u32 = 112 << 10;
        /// The least normal number, as `f32`.
        const LEAST: u32 = 113 << 23;
        let bits = wide.to_bits();
        let magnitude = bits & MAGNITUDE;
        // What is too great reaches the bits of infinity; below normal numbers the sum with a half has the spacing that is wanted.
        let normal = ((magnitude + 0xfff + (magnitude >> 13 & 1)) >> 13).wrapping_sub(BIAS).min(0x7c00);
        let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
        let finite = if magnitude < LEAST { small } else { normal };
        let nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
        let narrow = if magnitude > INFINITY { nan } else { finite };
        f16::from_bits((narrow | (bits >> 16 & 0x8000)) as u16)
    }
}

impl Half for bf16 {
    #[inline(always)]
    fn widened(self) -> f32 {
        let bits = u32::from(self.to_bits()) << 16;
        let quiet = u32::from(bits & MAGNITUDE > INFINITY) << 22;
        f32::from_bits(bits | quiet)
    }

    #[inline(always)]
    fn rounded(wide: f32) -> bf16 {
        let bits = wide.to_bits();
        let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
        let nan = bits >> 16 | 0x40;
        bf16::from_bits((if bits & MAGNITUDE > INFINITY { nan } else { rounded }) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Level, set_level};
    use super::*;

    /// A conversion of the `half` crate and its inverse.
    type Theirs<H> = (fn(u16) -> H, fn(H) -> f32, fn(f32) -> H, fn(H) -> u16);

    /// All numbers there are, and floats about each and about the middles between them, beside the `half` crate.
    fn check<H: Half>((of_bits, widen, round, bits): Theirs<H>) {
        let all: Vec<H> = (0..=u16::MAX).map(of_bits).collect();
        let mut wide = vec![0f32; all.len()];
        H::widen_all(&all, &mut wide);
        for (ours, theirs) in wide.iter().zip(all.iter().map(|&h| widen(h))) {
            assert_eq!(ours.to_bits(), theirs.to_bits());
        }
        let mut some = wide.clone();
        for pair in wide.windows(2) {
            // Half in place of the sum, which may be past the range.
            let middle = pair[0] * 0.5 + pair[1] * 0.5;
            some.extend([pair[0].next_up(), pair[0].next_down(), middle, middle.next_up(), middle.next_down()]);
        }
        some.extend((0..1 << 20).map(|i: u32| f32::from_bits(i.wrapping_mul(0x9e37_79b9))));
        some.extend([65_519.996, 65_520.0, f32::MAX, 3.4e38, -1e-45, 2.98e-8, 2.980_232_3e-8, f32::NAN]);
        let mut narrow = vec![of_bits(0); some.len()];
        H::round_all(&some, &mut narrow);
        for (x, ours) in some.into_iter().zip(narrow) {
            let theirs = round(x);
            assert_eq!(bits(ours), bits(theirs), "{x:e}");
        }
    }

    #[test]
    fn as_the_crate_converts_at_every_level() {
        for level in Level::ALL {
            set_level(Some(level));
            check::<f16>((f16::from_bits, f16::to_f32, f16::from_f32, f16::to_bits));
            check::<bf16>((bf16::from_bits, bf16::to_f32, bf16::from_f32, bf16::to_bits));
        }
        set_level(None);
    }
}
