//! Sine, cosine and tangent.

use super::float::Float;
use super::{Function, polynomial};

/// What functions of angles of a type are made of.
pub(super) trait Angles: Sized + 'static {
    /// π/2 in three floats.
    const QUADRANT: [Self; 3];
    /// Reducing a larger angle takes π to more digits.
    const LARGE_ANGLE: Self;
    /// Coefficients of sine, within ±π/4: of the cube, and of higher powers from the fifth on.
    const SIN_3: Self;
    const SIN: &'static [Self];
    /// Those of cosine, from the fourth power on.
    const COS: &'static [Self];
    /// The tangent of an angle from what [`reduce_angle`] gives.
    fn tangent(parts: (Self, Self, Self)) -> Self;
}

/// Those of fdlibm's `__kernel_sin` and `__kernel_cos`.
impl Angles for f64 {
    const QUADRANT: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
    const LARGE_ANGLE: f64 = 1_048_576.0;
    const SIN_3: f64 = -0.166_666_666_666_666_32;
    const SIN: &'static [f64] = &[
        8.333_333_333_322_49e-3,
        -1.984_126_982_985_795e-4,
        2.755_731_370_707_006_8e-6,
        -2.505_076_025_340_686_3e-8,
        1.589_690_995_211_55e-10,
    ];
    const COS: &'static [f64] = &[
        4.166_666_666_666_66e-2,
        -1.388_888_888_887_411e-3,
        2.480_158_728_947_673e-5,
        -2.755_731_435_139_066_3e-7,
        2.087_572_321_298_175e-9,
        -1.135_964_755_778_819_5e-11,
    ];
    #[inline(always)]
    fn tangent((quadrant, x, low): (f64, f64, f64)) -> f64 {
        let (sin, cos) = (sin_polynomial(x, low), cos_polynomial(x, low));
        let is_odd = f64::is_odd(quadrant);
        (if is_odd { -cos } else { sin }) / (if is_odd { sin } else { cos })
    }
}

impl Angles for f32 {
    /// The first is below π/2, so that the second is positive: otherwise -0 would lose its sign.
    const QUADRANT: [f32; 3] = [std::f32::consts::FRAC_PI_2.next_down(), 7.549_79e-8, -1.715_124_5e-15];
    const LARGE_ANGLE: f32 = 131_072.0;
    const SIN_3: f32 = -0.166_666_67;
    const SIN: &'static [f32] = &[0.008_333_332, -0.000_198_399_62, 2.723_416_2e-6];
    const COS: &'static [f32] = &[0.041_666_664, -0.001_388_824_1, 2.453_493_1e-5];
    /// By a polynomial of its own, which is shorter than those of both.
    #[inline(always)]
    fn tangent((quadrant, x, low): (f32, f32, f32)) -> f32 {
        const TAN: [f32; 7] =
            [0.333_333_34, 0.133_331_87, 0.054_003_88, 0.021_548_923, 0.010_208_888, 0.000_801_155_8, 0.004_065_345];
        let square = x * x;
        // As a difference, which leaves zeros their sign.
        let tangent = x - (x * square).mul_add(-polynomial(square, &TAN), -low.mul_add(square, low));
        let is_odd = f32::is_odd(quadrant);
        (if is_odd { -1.0 } else { tangent }) / (if is_odd { tangent } else { 1.0 })
    }
}

/// The quadrant of `x` (in the low bits) and what is left of it, as a sum of two floats, the
/// first within ±π/4 and the second below its rounding. Cody and Waite's reduction: π/2 in three floats,
/// of which the first product cancels without rounding.
#[inline(always)]
pub(super) fn reduce_angle<R: Float>(x: R) -> (R, R, R) {
    let shifted = x.mul_add(R::of(std::f64::consts::FRAC_2_PI), R::ROUND);
    let n = -(shifted - R::ROUND); // less the quadrant
    let first = n.mul_add(R::QUADRANT[0], x);
    // The second product may cancel the first difference: keep the error of both steps (Knuth's sum).
    let product = n * R::QUADRANT[1];
    let high = first + product;
    let moved = high - first;
    let lost = (first - (high - moved)) + (product - moved) + n.mul_add(R::QUADRANT[1], -product);
    (shifted, high, n.mul_add(R::QUADRANT[2], lost))
}

/// The sine of `x + low` for `x` within ±π/4, in the order of fdlibm's `__kernel_sin`.
#[inline(always)]
fn sin_polynomial<R: Float>(x: R, low: R) -> R {
    let square = x * x;
    let cube = square * x;
    let tail = R::HALF.mul_add(low, -(cube * polynomial(square, R::SIN)));
    x - cube.mul_add(-R::SIN_3, square.mul_add(tail, -low))
}

/// The cosine of `x + low` for `x` within ±π/4, in the order of fdlibm's `__kernel_cos`.
#[inline(always)]
fn cos_polynomial<R: Float>(x: R, low: R) -> R {
    let square = x * x;
    let half = R::HALF * square;
    let head = R::ONE - half;
    let tail = square.mul_add(square * polynomial(square, R::COS), -(x * low));
    head + (((R::ONE - head) - half) + tail)
}

/// The quadrant, and sine and cosine of what is left of an angle.
#[inline(always)]
fn both<R: Float>(x: R) -> (R, R, R) {
    let (quadrant, x, low) = reduce_angle(x);
    (quadrant, sin_polynomial(x, low), cos_polynomial(x, low))
}

/// The sine and the cosine of an angle up to [`Angles::LARGE_ANGLE`].
#[inline(always)]
pub(super) fn sin_cos<R: Float>(x: R) -> (R, R) {
    let (quadrant, sin, cos) = both(x);
    (sine((quadrant, sin, cos)), sine((quadrant + R::ONE, sin, cos)))
}

/// The sine of an angle of which these are the parts.
#[inline(always)]
fn sine<R: Float>((quadrant, sin, cos): (R, R, R)) -> R {
    let value = if R::is_odd(quadrant) { cos } else { sin };
    value.negated_in_lower_half(quadrant)
}

pub(super) struct Sin;
impl Function for Sin {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::LARGE_ANGLE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        sine(both(x))
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x.is_infinite() { R::nan() } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.abs().between(R::LARGE_ANGLE, R::infinity())
    }
    fn exact(x: f64) -> f64 {
        x.sin()
    }
}

pub(super) struct Cos;
impl Function for Cos {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::LARGE_ANGLE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let (quadrant, sin, cos) = both(x);
        sine((quadrant + R::ONE, sin, cos))
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x.is_infinite() { R::nan() } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.abs().between(R::LARGE_ANGLE, R::infinity())
    }
    fn exact(x: f64) -> f64 {
        x.cos()
    }
}

pub(super) struct Tan;
impl Function for Tan {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::LARGE_ANGLE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        R::tangent(reduce_angle(x))
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x.is_infinite() { R::nan() } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.abs().between(R::LARGE_ANGLE, R::infinity())
    }
    fn exact(x: f64) -> f64 {
        x.tan()
    }
}
