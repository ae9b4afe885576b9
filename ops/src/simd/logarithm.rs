//! Logarithms, the inverses of the hyperbolic functions, and others that are made of logarithms.

use std::f64::consts::{LOG2_E, LOG10_E};

use super::exponential::{LARGE_EXPONENT, TINY, exponential, exponential_narrow};
use super::{Function, polynomial, power};
use crate::unary::special;

/// ln(2) in two floats, of which the first has trailing zeros: products with exponents are exact.
pub(super) const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// A positive normal number as `2^k · (1 + f)` with `1 + f` between √½ and √2: `k` and `f`.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    const SQRT_HALF: u64 = 0x3fe6_a09e_0000_0000;
    const MANTISSA: u64 = 0x000f_ffff_ffff_ffff;
    let moved = x.to_bits().wrapping_add(ONE - SQRT_HALF);
    // The biased exponent as a float: the bits of 2^52 plus it.
    let exponent = f64::from_bits(0x4330_0000_0000_0000 | (moved >> 52)) - (4_503_599_627_370_496.0 + 1023.0);
    (exponent, f64::from_bits((moved & MANTISSA) + SQRT_HALF) - 1.0)
}

/// `k · ln(2) + ln(1 + f) + low`: the polynomial of fdlibm's `__ieee754_log` in `s = f / (2 + f)`.
#[inline(always)]
pub(super) fn logarithm(k: f64, f: f64, low: f64) -> f64 {
    const COEFFICIENTS: [f64; 7] = [
        6.666_666_666_666_735e-1,
        3.999_999_999_940_942e-1,
        2.857_142_874_366_239e-1,
        2.222_219_843_214_978_4e-1,
        1.818_357_216_161_805e-1,
        1.531_383_769_920_937_3e-1,
        1.479_819_860_511_658_6e-1,
    ];
    let s = f / (2.0 + f);
    let square = s * s;
    let half = 0.5 * f * f;
    let rest = square * polynomial(square, &COEFFICIENTS);
    // The small terms first.
    let tail = s.mul_add(half + rest, k.mul_add(LN_2[1], low));
    k.mul_add(LN_2[0], f - (half - tail))
}

/// `k · ln(2) + ln(1 + f)` where `f32` is wanted: the series of the inverse hyperbolic tangent of `f / (2 + f)`.
#[inline(always)]
fn logarithm_narrow(k: f64, f: f64) -> f64 {
    const COEFFICIENTS: [f64; 7] = [2.0 / 3.0, 2.0 / 5.0, 2.0 / 7.0, 2.0 / 9.0, 2.0 / 11.0, 2.0 / 13.0, 2.0 / 15.0];
    let s = f / (2.0 + f);
    let square = s * s;
    k.mul_add(std::f64::consts::LN_2, s * square.mul_add(polynomial(square, &COEFFICIENTS), 2.0))
}

pub(super) struct Log;
impl Function for Log {
    #[inline(always)]
    fn within(x: f64) -> bool {
        (f64::MIN_POSITIVE..=f64::MAX).contains(&x)
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (k, f) = split(x);
        logarithm(k, f, 0.0)
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        let (k, f) = split(x);
        logarithm_narrow(k, f)
    }
    fn exact(x: f64) -> f64 {
        x.ln()
    }
}

pub(super) struct Log2;
impl Function for Log2 {
    #[inline(always)]
    fn within(x: f64) -> bool {
        Log::within(x)
    }
    /// Exact for powers of two: of them the logarithm of the mantissa is 0.
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (k, f) = split(x);
        logarithm(0.0, f, 0.0).mul_add(LOG2_E, k)
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        let (k, f) = split(x);
        logarithm_narrow(0.0, f).mul_add(LOG2_E, k)
    }
    fn exact(x: f64) -> f64 {
        x.log2()
    }
}

pub(super) struct Log10;
impl Function for Log10 {
    #[inline(always)]
    fn within(x: f64) -> bool {
        Log::within(x)
    }
    /// In two floats, so that it is exact for powers of ten.
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        /// What `LOG10_E` lost to rounding.
        const LOW: f64 = 1.098_319_650_216_765e-17;
        let (high, low) = power::logarithm(x);
        let product = high * LOG10_E;
        product + high.mul_add(LOW, low.mul_add(LOG10_E, high.mul_add(LOG10_E, -product)))
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        Log::fast_narrow(x) * LOG10_E
    }
    fn exact(x: f64) -> f64 {
        x.log10()
    }
}

/// The logarithm of one more than `x`, which is above −1.
#[inline(always)]
pub(super) fn of_one_more(x: f64) -> f64 {
    // What the sum rounds away (Knuth) moves the logarithm by its part of the sum.
    let sum = 1.0 + x;
    let of_x = sum - 1.0;
    let lost = (1.0 - (sum - of_x)) + (x - of_x);
    let (k, f) = split(sum);
    let log = logarithm(k, f, lost / sum);
    if x.abs() < TINY { x } else { log }
}

/// The same where `f32` is wanted.
#[inline(always)]
pub(super) fn of_one_more_narrow(x: f64) -> f64 {
    /// Below it the sum with one would lose what is wanted, and four terms of the series are enough.
    const SMALL: f64 = 1.0 / (1u64 << 10) as f64;
    let (k, f) = split(1.0 + x);
    let few = x * polynomial(x, &[1.0, -1.0 / 2.0, 1.0 / 3.0, -1.0 / 4.0]);
    let log = logarithm_narrow(k, f);
    if x.abs() < SMALL { few } else { log }
}

pub(super) struct Log1p;
impl Function for Log1p {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x > -1.0 && x <= f64::MAX
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        of_one_more(x)
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        of_one_more_narrow(x)
    }
    fn exact(x: f64) -> f64 {
        x.ln_1p()
    }
}

/// Of greater numbers the inverse hyperbolic sine and cosine are logarithms of twice the number.
const LARGE: f64 = 1e9;

/// What is one less than `exp(asinh(a))`.
#[inline(always)]
fn of_asinh(a: f64) -> f64 {
    let square = a * a;
    a + square / (1.0 + (1.0 + square).sqrt())
}

pub(super) struct Asinh;
impl Function for Asinh {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        of_one_more(of_asinh(x.abs())).copysign(x)
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        of_one_more_narrow(of_asinh(x.abs())).copysign(x)
    }
    fn exact(x: f64) -> f64 {
        special::asinh(x)
    }
}

/// What is one less than `exp(acosh(x))`, from the distance to 1, which is exact near it.
#[inline(always)]
fn of_acosh(x: f64) -> f64 {
    let above = x - 1.0;
    above + (above * (x + 1.0)).sqrt()
}

pub(super) struct Acosh;
impl Function for Acosh {
    #[inline(always)]
    fn within(x: f64) -> bool {
        (1.0..=LARGE).contains(&x)
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        of_one_more(of_acosh(x))
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        of_one_more_narrow(of_acosh(x))
    }
    fn exact(x: f64) -> f64 {
        special::acosh(x)
    }
}

/// What is one less than `exp(2 atanh(a))`.
#[inline(always)]
fn of_atanh(a: f64) -> f64 {
    2.0 * a / (1.0 - a)
}

pub(super) struct Atanh;
impl Function for Atanh {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() < 1.0
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        (0.5 * of_one_more(of_atanh(x.abs()))).copysign(x)
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        (0.5 * of_one_more_narrow(of_atanh(x.abs()))).copysign(x)
    }
    fn exact(x: f64) -> f64 {
        special::atanh(x)
    }
}

pub(super) struct Softplus;
impl Function for Softplus {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_EXPONENT
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        x.max(0.0) + of_one_more(exponential(-x.abs()))
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        x.max(0.0) + of_one_more_narrow(exponential_narrow(-x.abs()))
    }
    fn exact(x: f64) -> f64 {
        special::softplus(x)
    }
}

pub(super) struct Logit;
impl Function for Logit {
    #[inline(always)]
    fn within(x: f64) -> bool {
        (f64::MIN_POSITIVE..1.0).contains(&x)
    }
    /// Near a half it is the logarithm of almost 1, whose distance to 1 is found first.
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let near = of_one_more((2.0 * x - 1.0) / (1.0 - x));
        let far = Log::fast(x / (1.0 - x));
        if (x - 0.5).abs() <= 0.25 { near } else { far }
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        let near = of_one_more_narrow((2.0 * x - 1.0) / (1.0 - x));
        let far = Log::fast_narrow(x / (1.0 - x));
        if (x - 0.5).abs() <= 0.25 { near } else { far }
    }
    fn exact(x: f64) -> f64 {
        special::logit(x)
    }
}
