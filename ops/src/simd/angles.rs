//! Sine, cosine and tangent.

use super::{Function, ROUND, polynomial};

/// π/2 in three floats.
const FRAC_PI_2: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];

/// Coefficients of fdlibm's `__kernel_sin`: of the cube, and of higher powers from the fifth on.
const SIN_3: f64 = -0.166_666_666_666_666_32;
const SIN: [f64; 5] = [
    8.333_333_333_322_49e-3,
    -1.984_126_982_985_795e-4,
    2.755_731_370_707_006_8e-6,
    -2.505_076_025_340_686_3e-8,
    1.589_690_995_211_55e-10,
];

/// Those of its `__kernel_cos`, from the fourth power on.
const COS: [f64; 6] = [
    4.166_666_666_666_66e-2,
    -1.388_888_888_887_411e-3,
    2.480_158_728_947_673e-5,
    -2.755_731_435_139_066_3e-7,
    2.087_572_321_298_175e-9,
    -1.135_964_755_778_819_5e-11,
];

/// The quadrant of `x` (modulo 4, in the low bits) and what is left of it, as a sum of two floats, the
/// first within ±π/4 and the second below its rounding. Cody and Waite's reduction: π/2 in three floats,
/// of which the first product cancels without rounding.
#[inline(always)]
fn reduce_angle(x: f64) -> (u64, f64, f64) {
    let shifted = x.mul_add(std::f64::consts::FRAC_2_PI, ROUND);
    let n = -(shifted - ROUND); // less the quadrant
    let first = n.mul_add(FRAC_PI_2[0], x);
    // The second product may cancel the first difference: keep the error of both steps (Knuth's sum).
    let product = n * FRAC_PI_2[1];
    let high = first + product;
    let moved = high - first;
    let lost = (first - (high - moved)) + (product - moved) + n.mul_add(FRAC_PI_2[1], -product);
    (shifted.to_bits(), high, n.mul_add(FRAC_PI_2[2], lost))
}

/// The sine of `x + low` for `x` within ±π/4: the polynomial of fdlibm's `__kernel_sin`.
#[inline(always)]
fn sin_polynomial(x: f64, low: f64) -> f64 {
    let square = x * x;
    let cube = square * x;
    let tail = 0.5f64.mul_add(low, -(cube * polynomial(square, &SIN)));
    x - cube.mul_add(-SIN_3, square.mul_add(tail, -low))
}

/// The cosine of `x + low` for `x` within ±π/4: the polynomial of fdlibm's `__kernel_cos`.
#[inline(always)]
fn cos_polynomial(x: f64, low: f64) -> f64 {
    let square = x * x;
    let half = 0.5 * square;
    let head = 1.0 - half;
    let tail = square.mul_add(square * polynomial(square, &COS), -(x * low));
    head + (((1.0 - head) - half) + tail)
}

/// Sine and cosine of `x` within ±π/4 where `f32` is wanted: the same polynomials, whose terms need not be added with care.
#[inline(always)]
fn narrow_polynomials(x: f64) -> (f64, f64) {
    let square = x * x;
    let sin = (square * x).mul_add(square.mul_add(polynomial(square, &SIN), SIN_3), x);
    let cos = (square * square).mul_add(polynomial(square, &COS), 0.5f64.mul_add(-square, 1.0));
    (sin, cos)
}

/// The quadrant, and sine and cosine of what is left of an angle.
#[inline(always)]
fn both(x: f64) -> (u64, f64, f64) {
    let (quadrant, x, low) = reduce_angle(x);
    (quadrant, sin_polynomial(x, low), cos_polynomial(x, low))
}

/// The same for an angle of `f32`, none of which is so near a multiple of π/2 that its third part would show.
#[inline(always)]
fn both_narrow(x: f64) -> (u64, f64, f64) {
    let shifted = x.mul_add(std::f64::consts::FRAC_2_PI, ROUND);
    let n = -(shifted - ROUND);
    let (sin, cos) = narrow_polynomials(n.mul_add(FRAC_PI_2[1], n.mul_add(FRAC_PI_2[0], x)));
    (shifted.to_bits(), sin, cos)
}

/// The sine of an angle moved on by `quadrants`, of which these are the parts.
#[inline(always)]
fn sine((quadrant, sin, cos): (u64, f64, f64), quadrants: u64) -> f64 {
    let quadrant = quadrant.wrapping_add(quadrants);
    let value = if quadrant & 1 == 0 { sin } else { cos };
    f64::from_bits(value.to_bits() ^ ((quadrant & 2) << 62))
}

/// The tangent of an angle of which these are the parts.
#[inline(always)]
fn tangent((quadrant, sin, cos): (u64, f64, f64)) -> f64 {
    let is_even = quadrant & 1 == 0;
    (if is_even { sin } else { -cos }) / (if is_even { cos } else { sin })
}

/// Reducing a larger angle takes π to more digits.
const LARGE_ANGLE: f64 = 1_048_576.0;

pub(super) struct Sin;
impl Function for Sin {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_ANGLE
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        sine(both(x), 0)
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        sine(both_narrow(x), 0)
    }
    fn exact(x: f64) -> f64 {
        x.sin()
    }
}

pub(super) struct Cos;
impl Function for Cos {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_ANGLE
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        sine(both(x), 1)
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        sine(both_narrow(x), 1)
    }
    fn exact(x: f64) -> f64 {
        x.cos()
    }
}

pub(super) struct Tan;
impl Function for Tan {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_ANGLE
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        tangent(both(x))
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        tangent(both_narrow(x))
    }
    fn exact(x: f64) -> f64 {
        x.tan()
    }
}
