//! Logarithms, `exp(x) - 1`, the hyperbolic and the inverse tangent.

use super::{Function, exponent, polynomial};

/// ln(2) in two floats, of which the first has trailing zeros: products with exponents are exact.
pub(super) const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];

/// Below this magnitude `log1p(x)`, `expm1(x)` and `tanh(x)` are `x`.
const TINY: f64 = 1.0 / (1u64 << 54) as f64;

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

/// `exp(x) - 1`: as the exponential, of which the one is taken off before the power of two is put on.
#[inline(always)]
fn less_one(x: f64) -> f64 {
    let (power, high, tail) = exponent(x);
    // `power - 1` is exact for small exponents, and the sum with `power · high` is kept with its error.
    let (scaled, one_less) = (power * high, power - 1.0);
    let sum = one_less + scaled;
    let of_scaled = sum - one_less;
    let lost = (one_less - (sum - of_scaled)) + (scaled - of_scaled);
    sum + power.mul_add(tail, lost)
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

pub(super) struct Log1p;
impl Function for Log1p {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x > -1.0 && x <= f64::MAX
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        // What the sum rounds away (Knuth) moves the logarithm by its part of the sum.
        let sum = 1.0 + x;
        let of_x = sum - 1.0;
        let lost = (1.0 - (sum - of_x)) + (x - of_x);
        let (k, f) = split(sum);
        let log = logarithm(k, f, lost / sum);
        if x.abs() < TINY { x } else { log }
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        /// Below it the sum with one would lose what is wanted, and four terms of the series are enough.
        const SMALL: f64 = 1.0 / (1u64 << 10) as f64;
        let (k, f) = split(1.0 + x);
        let few = x * polynomial(x, &[1.0, -1.0 / 2.0, 1.0 / 3.0, -1.0 / 4.0]);
        let log = logarithm_narrow(k, f);
        if x.abs() < SMALL { few } else { log }
    }
    fn exact(x: f64) -> f64 {
        x.ln_1p()
    }
}

pub(super) struct Expm1;
impl Function for Expm1 {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= 708.0
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let value = less_one(x);
        if x.abs() < TINY { x } else { value }
    }
    fn exact(x: f64) -> f64 {
        x.exp_m1()
    }
}

pub(super) struct Tanh;
impl Function for Tanh {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= 350.0
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let value = less_one(-2.0 * x.abs());
        let value = (-value / (2.0 + value)).copysign(x);
        if x.abs() < TINY { x } else { value }
    }
    fn exact(x: f64) -> f64 {
        x.tanh()
    }
}

pub(super) struct Atan;
impl Function for Atan {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= f64::MAX
    }
    /// fdlibm's `atan`: the angle less that of 0, ½, 1, 3/2 or ∞, whichever is near, by a polynomial.
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        const COEFFICIENTS: [f64; 11] = [
            3.333_333_333_333_293e-1,
            -1.999_999_999_987_648_3e-1,
            1.428_571_427_250_346_6e-1,
            -1.111_111_040_546_235_6e-1,
            9.090_887_133_436_507e-2,
            -7.691_876_205_044_83e-2,
            6.661_073_137_387_531e-2,
            -5.833_570_133_790_573_5e-2,
            4.976_877_994_615_932e-2,
            -3.653_157_274_421_691_6e-2,
            1.628_582_011_536_578_2e-2,
        ];
        // The angle in two floats, and numerator and denominator of the tangent of what is left.
        const NEAR: [[f64; 2]; 4] = [
            [4.636_476_090_008_061e-1, 2.269_877_745_296_168_7e-17],
            [std::f64::consts::FRAC_PI_4, 3.061_616_997_868_383e-17],
            [9.827_937_232_473_29e-1, 1.390_331_103_123_099_8e-17],
            [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17],
        ];
        let a = x.abs();
        let (mut angle, mut above, mut below) = ([0.0; 2], a, 1.0);
        let mut take = |from: f64, of: [f64; 2], n: f64, d: f64| {
            let is = a >= from;
            angle = [if is { of[0] } else { angle[0] }, if is { of[1] } else { angle[1] }];
            (above, below) = (if is { n } else { above }, if is { d } else { below });
        };
        take(0.4375, NEAR[0], 2.0f64.mul_add(a, -1.0), 2.0 + a);
        take(0.6875, NEAR[1], a - 1.0, a + 1.0);
        take(1.1875, NEAR[2], a - 1.5, 1.5f64.mul_add(a, 1.0));
        take(2.4375, NEAR[3], -1.0, a);
        let t = above / below;
        let square = t * t;
        let tail = t.mul_add(square * polynomial(square, &COEFFICIENTS), -angle[1]);
        (angle[0] - (tail - t)).copysign(x)
    }
    fn exact(x: f64) -> f64 {
        x.atan()
    }
}
