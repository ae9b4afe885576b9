//! The two types that functions are computed in, and the bits of them that this takes.

use std::ops::BitOr;

use super::angles::Angles;
use super::arc::Arcs;
use super::error::Errors;
use super::exponential::Exponentials;
use super::logarithm::Logarithms;
use crate::binary::element::FloorDiv;
use crate::dtype::Element;

/// `f32` or `f64`. A function of either is computed in the same steps, with as many terms and with such constants as that type is
/// worth. Polynomials of `f32` are Chebyshev interpolations of what they stand for, worked out with 60 digits and rounded.
pub(super) trait Float:
    Element + FloorDiv + num_traits::Float + Exponentials + Logarithms + Angles + Arcs + Errors
{
    /// Flags as wide as a number, so that a lane of vectors has one of each: no bit or all.
    type Flag: Copy + Default + BitOr<Output = Self::Flag> + PartialEq;
    const ZERO: Self;
    const HALF: Self;
    const ONE: Self;
    const TWO: Self;
    /// The least normal number.
    const LEAST: Self;
    /// The greatest finite one.
    const MOST: Self;
    /// Adding this to a number below a quarter of it rounds that to an integer, half to even, which the low bits of the sum hold in
    /// two's complement: such a sum is what is called `shifted` here.
    const ROUND: Self;
    /// Beyond this two roundings may move a number by more than a half.
    const COUNTED: Self;
    /// The float that is nearest.
    fn of(wide: f64) -> Self;
    fn wide(self) -> f64;
    /// Two to the power of the integer of a `shifted`, for one of normal numbers.
    fn power_of_two(shifted: Self) -> Self;
    /// Whether the integer of a `shifted` is odd.
    fn is_odd(shifted: Self) -> bool;
    /// With the other sign if the second bit of the integer of a `shifted` is set.
    fn negated_in_lower_half(self, shifted: Self) -> Self;
    /// With the other sign if that is asked for.
    fn negated_if(self, negative: bool) -> Self;
    /// A flag of what is above another number, and of NaN.
    fn not_up_to(self, greatest: Self) -> Self::Flag;
    /// A flag of what is another number or above it, and of NaN.
    fn not_below(self, end: Self) -> Self::Flag;
    /// A flag of what does not lie between two that are not negative, and is neither: one condition, by bits. Two at once become branches, which
    /// keep loops from becoming vector code.
    fn not_within(self, least: Self, greatest: Self) -> Self::Flag;
    /// A flag of what lies between two that are not negative, and is neither; of none where the second is not the greater. One condition as well.
    fn between(self, below: Self, above: Self) -> Self::Flag;
    /// A positive normal number as `2^k · (1 + f)` with `1 + f` between √½ and √2: `k` and `f`.
    fn split(self) -> (Self, Self);
}

macro_rules! float {
    ($ty:ty, $bits:ty, mantissa $mantissa:literal, bias $bias:literal, root $root:literal) => {
        impl Float for $ty {
            type Flag = $bits;
            const ZERO: $ty = 0.0;
            const HALF: $ty = 0.5;
            const ONE: $ty = 1.0;
            const TWO: $ty = 2.0;
            const LEAST: $ty = <$ty>::MIN_POSITIVE;
            const MOST: $ty = <$ty>::MAX;
            const ROUND: $ty = 1.5 * (1u64 << $mantissa) as $ty;
            const COUNTED: $ty = (1u64 << ($mantissa - 1)) as $ty;
            #[inline(always)]
            fn of(wide: f64) -> $ty {
                wide as $ty
            }
            #[inline(always)]
            fn wide(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn power_of_two(shifted: $ty) -> $ty {
                <$ty>::from_bits(shifted.to_bits().wrapping_add($bias) << $mantissa)
            }
            #[inline(always)]
            fn is_odd(shifted: $ty) -> bool {
                shifted.to_bits() & 1 != 0
            }
            #[inline(always)]
            fn negated_in_lower_half(self, shifted: $ty) -> $ty {
                <$ty>::from_bits(self.to_bits() ^ ((shifted.to_bits() & 2) << (<$bits>::BITS - 2)))
            }
            #[inline(always)]
            fn negated_if(self, negative: bool) -> $ty {
                <$ty>::from_bits(self.to_bits() ^ (<$bits>::from(negative) << (<$bits>::BITS - 1)))
            }
            #[inline(always)]
            fn not_up_to(self, greatest: $ty) -> $bits {
                if self <= greatest { 0 } else { !0 }
            }
            #[inline(always)]
            fn not_below(self, end: $ty) -> $bits {
                if self < end { 0 } else { !0 }
            }
            #[inline(always)]
            fn not_within(self, least: $ty, greatest: $ty) -> $bits {
                let above = self.to_bits().wrapping_sub(least.to_bits());
                if above <= greatest.to_bits() - least.to_bits() { 0 } else { !0 }
            }
            #[inline(always)]
            fn between(self, below: $ty, above: $ty) -> $bits {
                let between = above.to_bits().saturating_sub(below.to_bits().saturating_add(1));
                if self.to_bits().wrapping_sub(below.to_bits()).wrapping_sub(1) < between { !0 } else { 0 }
            }
            #[inline(always)]
            fn split(self) -> ($ty, $ty) {
                const ONE: $bits = $bias << $mantissa;
                const ROOT: $bits = $root;
                const MANTISSA: $bits = (1 << $mantissa) - 1;
                let moved = self.to_bits().wrapping_add(ONE - ROOT);
                // The biased exponent as a float: the bits of the power of two whose last bit is 1, plus it.
                const WHOLE: $ty = (1u64 << $mantissa) as $ty;
                let exponent = <$ty>::from_bits(WHOLE.to_bits() | (moved >> $mantissa)) - (WHOLE + $bias as $ty);
                (exponent, <$ty>::from_bits((moved & MANTISSA) + ROOT) - 1.0)
            }
        }
    };
}

float!(f64, u64, mantissa 52, bias 1023, root 0x3fe6_a09e_0000_0000);
float!(f32, u32, mantissa 23, bias 127, root 0x3f35_04f3);
