//! Logarithms, the inverses of the hyperbolic functions, and others that are made of logarithms.

use super::exponential::exponential;
use super::float::Float;
use super::{Function, polynomial};
use crate::unary::special;

/// What logarithms of a type are made of.
pub(super) trait Logarithms: Sized + 'static {
    /// ln(2) in two floats, of which the first has trailing zeros: products with exponents are exact.
    const SHORT_LN_2: [Self; 2];
    /// `k · ln(2) + ln(1 + f) + low`.
    fn logarithm(k: Self, f: Self, low: Self) -> Self;
    /// `ln(1 + f)` times the logarithm of `e` to another base, which is given in two floats; and `low`.
    fn to_base(f: Self, base: [Self; 2], low: Self) -> Self;
    /// What 1/3 in two floats has beyond the first, and how many of the terms that follow in the series of the inverse hyperbolic tangent a
    /// logarithm in two floats takes.
    const THIRD_LOW: Self;
    const REST: &'static [Self];
    /// log₂(e) and log₁₀(e) in two floats.
    const LOG2_E: [Self; 2];
    const LOG10_E: [Self; 2];
    /// log₁₀(2) in two floats, as [`Logarithms::SHORT_LN_2`].
    const SHORT_LOG10_2: [Self; 2];
}

impl Logarithms for f64 {
    const SHORT_LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
    const THIRD_LOW: f64 = 1.850_371_707_708_594e-17;
    const REST: &'static [f64] = &[
        1.0 / 5.0,
        1.0 / 7.0,
        1.0 / 9.0,
        1.0 / 11.0,
        1.0 / 13.0,
        1.0 / 15.0,
        1.0 / 17.0,
        1.0 / 19.0,
        1.0 / 21.0,
        1.0 / 23.0,
        1.0 / 25.0,
        1.0 / 27.0,
    ];
    const LOG2_E: [f64; 2] = [std::f64::consts::LOG2_E, 2.035_527_374_093_103_3e-17];
    const LOG10_E: [f64; 2] = [std::f64::consts::LOG10_E, 1.098_319_650_216_765e-17];
    const SHORT_LOG10_2: [f64; 2] = [3.010_299_956_639_528_3e-1, 2.836_339_455_104_496_4e-14];
    /// The small terms first.
    #[inline(always)]
    fn logarithm(k: f64, f: f64, low: f64) -> f64 {
        let (tail, half) = beyond_mantissa(f, k.mul_add(f64::SHORT_LN_2[1], low));
        k.mul_add(f64::SHORT_LN_2[0], f - (half - tail))
    }
    #[inline(always)]
    fn to_base(f: f64, [high_e, low_e]: [f64; 2], low: f64) -> f64 {
        let (tail, half) = beyond_mantissa(f, 0.0);
        f.mul_add(high_e, (tail - half).mul_add(high_e, f.mul_add(low_e, low)))
    }
}

/// What `ln(1 + f)` has beyond `f`, as what is added to it and what is taken off, as fdlibm's `__ieee754_log` by way of `s = f / (2 + f)`; `low`
/// is added to the small one.
#[inline(always)]
fn beyond_mantissa(f: f64, low: f64) -> (f64, f64) {
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
    (s.mul_add(half + rest, low), half)
}

impl Logarithms for f32 {
    const SHORT_LN_2: [f32; 2] = [0.693_145_75, 1.428_606_8e-6];
    const THIRD_LOW: f32 = -9.934_108e-9;
    const REST: &'static [f32] = &[1.0 / 5.0, 1.0 / 7.0, 1.0 / 9.0, 1.0 / 11.0, 1.0 / 13.0];
    const LOG2_E: [f32; 2] = [std::f32::consts::LOG2_E, 1.925_963e-8];
    const LOG10_E: [f32; 2] = [std::f32::consts::LOG10_E, -1.010_305e-8];
    const SHORT_LOG10_2: [f32; 2] = [3.010_254e-1, 4.605_039e-6];
    #[inline(always)]
    fn logarithm(k: f32, f: f32, low: f32) -> f32 {
        let tail = (f * f).mul_add(polynomial(f, &BEYOND_MANTISSA), k.mul_add(f32::SHORT_LN_2[1], low));
        k.mul_add(f32::SHORT_LN_2[0], f + tail)
    }
    #[inline(always)]
    fn to_base(f: f32, [high_e, low_e]: [f32; 2], low: f32) -> f32 {
        let tail = f * f * polynomial(f, &BEYOND_MANTISSA);
        f.mul_add(high_e, tail.mul_add(high_e, f.mul_add(low_e, low)))
    }
}

/// `(ln(1 + f) - f) / f²`: of so few digits a polynomial takes less than a division.
const BEYOND_MANTISSA: [f32; 9] = [
    -0.499_999_88,
    0.333_333_46,
    -0.250_015_8,
    0.200_009_39,
    -0.166_083_7,
    0.141_996_5,
    -0.132_660_31,
    0.128_066_11,
    -0.074_511_86,
];

/// A logarithm of 0, or of what is below it.
#[inline(always)]
fn pole_or_nan<R: Float>(is_pole: bool) -> R {
    if is_pole { R::neg_infinity() } else { R::nan() }
}

pub(super) struct Log;
impl Function for Log {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.not_within(R::LEAST, R::MOST)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let (k, f) = x.split();
        R::logarithm(k, f, R::ZERO)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        let value = if x <= R::ZERO { pole_or_nan(x == R::ZERO) } else { fast };
        if x == R::infinity() { x } else { value }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.between(R::ZERO, R::LEAST)
    }
    fn exact(x: f64) -> f64 {
        x.ln()
    }
}

pub(super) struct Log2;
impl Function for Log2 {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        Log::outside(x)
    }
    /// Exact for powers of two: of them the logarithm of the mantissa is 0.
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let (k, f) = x.split();
        k + R::to_base(f, R::LOG2_E, R::ZERO)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        Log::end(x, fast)
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        Log::rare(x)
    }
    fn exact(x: f64) -> f64 {
        x.log2()
    }
}

pub(super) struct Log10;
impl Function for Log10 {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        Log::outside(x)
    }
    /// Exact for powers of ten: what is rounded before the last sum is far below that.
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let (k, f) = x.split();
        let [short, low] = R::SHORT_LOG10_2;
        k.mul_add(short, R::to_base(f, R::LOG10_E, k * low))
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        Log::end(x, fast)
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        Log::rare(x)
    }
    fn exact(x: f64) -> f64 {
        x.log10()
    }
}

/// The logarithm of one more than `x`, which is above −1; but for the sign of zero.
#[inline(always)]
pub(super) fn of_one_more<R: Float>(x: R) -> R {
    // What the sum rounds away (Knuth) moves the logarithm by its part of the sum.
    let sum = R::ONE + x;
    let of_x = sum - R::ONE;
    let lost = (R::ONE - (sum - of_x)) + (x - of_x);
    let (k, f) = sum.split();
    R::logarithm(k, f, lost / sum)
}

pub(super) struct Log1p;
impl Function for Log1p {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        (R::ONE + x).not_within(R::LEAST, R::MOST)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        of_one_more(x).copysign(x)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        let value = if x <= -R::ONE { pole_or_nan(x == -R::ONE) } else { fast };
        if x == R::infinity() { x } else { value }
    }
    #[inline(always)]
    fn rare<R: Float>(_: R) -> R::Flag {
        R::Flag::default()
    }
    fn exact(x: f64) -> f64 {
        x.ln_1p()
    }
}

/// Of greater numbers the inverse hyperbolic sine and cosine are logarithms of twice the number.
pub(super) const LARGE: f64 = 1e9;

/// What is one less than `exp(asinh(a))`.
#[inline(always)]
fn of_asinh<R: Float>(a: R) -> R {
    let square = a * a;
    a + square / (R::ONE + (R::ONE + square).sqrt())
}

pub(super) struct Asinh;
impl Function for Asinh {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::of(LARGE))
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        of_one_more(of_asinh(x.abs())).copysign(x)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x.is_infinite() { x } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.abs().between(R::of(LARGE), R::infinity())
    }
    fn exact(x: f64) -> f64 {
        special::asinh(x)
    }
}

/// What is one less than `exp(acosh(x))`, from the distance to 1, which is exact near it.
#[inline(always)]
fn of_acosh<R: Float>(x: R) -> R {
    let above = x - R::ONE;
    above + (above * (x + R::ONE)).sqrt()
}

pub(super) struct Acosh;
impl Function for Acosh {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.not_within(R::ONE, R::of(LARGE))
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        of_one_more(of_acosh(x))
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        let value = if x < R::ONE { R::nan() } else { fast };
        if x == R::infinity() { x } else { value }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.between(R::of(LARGE), R::infinity())
    }
    fn exact(x: f64) -> f64 {
        special::acosh(x)
    }
}

/// What is one less than `exp(2 atanh(a))`.
#[inline(always)]
fn of_atanh<R: Float>(a: R) -> R {
    R::TWO * a / (R::ONE - a)
}

/// `fast`, but infinite where `x` is 1 or −1, and no number beyond.
#[inline(always)]
pub(super) fn of_unit<R: Float>(x: R, fast: R) -> R {
    let value = if x.abs() == R::ONE { R::infinity().copysign(x) } else { fast };
    if x.abs() > R::ONE { R::nan() } else { value }
}

pub(super) struct Atanh;
impl Function for Atanh {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_below(R::ONE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        (R::HALF * of_one_more(of_atanh(x.abs()))).copysign(x)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        of_unit(x, fast)
    }
    #[inline(always)]
    fn rare<R: Float>(_: R) -> R::Flag {
        R::Flag::default()
    }
    fn exact(x: f64) -> f64 {
        special::atanh(x)
    }
}

pub(super) struct Softplus;
impl Function for Softplus {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::LARGE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        x.max(R::ZERO) + of_one_more(exponential(-x.abs()))
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        let value = if x >= R::LARGE { x } else { fast };
        if x <= -R::UNDER { R::ZERO } else { value }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        (-x).between(R::LARGE, R::UNDER)
    }
    fn exact(x: f64) -> f64 {
        special::softplus(x)
    }
}

pub(super) struct Logit;
impl Function for Logit {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.not_within(R::LEAST, R::ONE - R::HALF * R::epsilon())
    }
    /// Near a half it is the logarithm of almost 1, whose distance to 1 is found first.
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let near = of_one_more((R::TWO * x - R::ONE) / (R::ONE - x));
        let far = Log::fast(x / (R::ONE - x));
        if (x - R::HALF).abs() <= R::of(0.25) { near } else { far }
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        let value = if x <= R::ZERO { pole_or_nan(x == R::ZERO) } else { fast };
        if x >= R::ONE { -pole_or_nan::<R>(x == R::ONE) } else { value }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.between(R::ZERO, R::LEAST)
    }
    fn exact(x: f64) -> f64 {
        special::logit(x)
    }
}
