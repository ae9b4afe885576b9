//! Complex arithmetic that `num_complex` leaves to its user: without needless overflow.

use std::f64::consts::{FRAC_PI_2, LN_2, LN_10, LOG2_E};

use super::special;
use crate::dtype::{c64, c128};

/// Functions of `complex64` are computed in `complex128` and rounded once.
pub(crate) trait Wide: Copy {
    /// Widens, applies, rounds.
    fn through(self, f: impl Fn(c128) -> c128) -> Self;
    /// The same for two operands.
    fn through2(self, other: Self, f: impl Fn(c128, c128) -> c128) -> Self;
}

impl Wide for c128 {
    #[inline(always)]
    fn through(self, f: impl Fn(c128) -> c128) -> c128 {
        f(self)
    }
    #[inline(always)]
    fn through2(self, other: c128, f: impl Fn(c128, c128) -> c128) -> c128 {
        f(self, other)
    }
}

impl Wide for c64 {
    #[inline(always)]
    fn through(self, f: impl Fn(c128) -> c128) -> c64 {
        narrow(f(widen(self)))
    }
    #[inline(always)]
    fn through2(self, other: c64, f: impl Fn(c128, c128) -> c128) -> c64 {
        narrow(f(widen(self), widen(other)))
    }
}

fn widen(x: c64) -> c128 {
    c128::new(f64::from(x.re), f64::from(x.im))
}

fn narrow(x: c128) -> c64 {
    c64::new(x.re as f32, x.im as f32)
}

/// `a / b`, scaled so that no intermediate overflows before the result does (R. L. Smith, "Algorithm
/// 116: complex division", 1962). Division by zero divides both parts by zero.
pub(crate) fn div(a: c128, b: c128) -> c128 {
    if b.re.abs() >= b.im.abs() {
        if b.re == 0.0 {
            return c128::new(a.re / b.re, a.im / b.re);
        }
        let ratio = b.im / b.re;
        let scale = b.re + b.im * ratio;
        c128::new((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale)
    } else {
        let ratio = b.re / b.im;
        let scale = b.re * ratio + b.im;
        c128::new((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale)
    }
}

/// `x / |x|`, and 0 for 0.
pub(crate) fn sign(x: c128) -> c128 {
    let norm = x.re.hypot(x.im);
    if norm == 0.0 { c128::new(0.0, 0.0) } else { c128::new(x.re / norm, x.im / norm) }
}

/// The natural logarithm. Near the unit circle `ln |x|` is the logarithm of almost 1, so `|x|² - 1` is formed with what
/// its roundings drop (Dekker's exact products) and goes through `ln_1p`.
pub(crate) fn ln(x: c128) -> c128 {
    let (large, small) = (x.re.abs().max(x.im.abs()), x.re.abs().min(x.im.abs()));
    let square = large * large + small * small;
    if !(0.5..2.0).contains(&square) {
        return x.ln();
    }
    let (p, q) = (large * large, small * small);
    let (p_low, q_low) = (large.mul_add(large, -p), small.mul_add(small, -q));
    let near = p - 1.0; // exact: p lies in 0.25..2, and below 0.5 the sum with q is far from 1
    let sum = near + q;
    let of_q = sum - near;
    let low = (near - (sum - of_q)) + (q - of_q);
    c128::new(0.5 * (sum + (low + p_low + q_low)).ln_1p(), x.im.atan2(x.re))
}

/// `tanh`, which tends to ±1 where `cosh` overflows.
pub(crate) fn tanh(x: c128) -> c128 {
    const SATURATED: f64 = 20.0; // tanh(20) rounds to 1
    if x.re.abs() > SATURATED && x.im.is_finite() {
        // The imaginary part is sin(2 im) / (cosh(2 re) + cos(2 im)), and the cosine drowns.
        let im = 4.0 * x.im.sin() * x.im.cos() * (-2.0 * x.re.abs()).exp();
        c128::new(1f64.copysign(x.re), im)
    } else {
        x.tanh()
    }
}

/// `tan(x) = -i tanh(i x)`.
pub(crate) fn tan(x: c128) -> c128 {
    let t = tanh(c128::new(-x.im, x.re));
    c128::new(t.im, -t.re)
}

/// `a` to the power of `b`. As in the real case `x^0 = 1` for every `x`; otherwise `0^x = 0`.
pub(crate) fn pow(a: c128, b: c128) -> c128 {
    let zero = c128::new(0.0, 0.0);
    if b == zero {
        c128::new(1.0, 0.0)
    } else if a == zero {
        zero
    } else {
        (b * ln(a)).exp()
    }
}

/// The principal square root, each part to a few roundings and with the sign of zeros (W. Kahan, "Branch cuts for
/// complex elementary functions", 1987).
#[inline(never)]
pub(crate) fn sqrt(x: c128) -> c128 {
    // Scaled so that the modulus neither overflows nor sinks among the subnormals; 0 and what is not finite pass.
    let size = x.re.abs().max(x.im.abs());
    let (scale, root) = if size > 1e300 {
        (0.062_5, 4.0)
    } else if size < 1e-290 {
        (2f64.powi(200), 2f64.powi(-100))
    } else {
        (1.0, 1.0)
    };
    let (re, im) = (x.re * scale, x.im * scale);
    let norm = re.hypot(im);
    let large = (0.5 * (re.abs() + norm)).sqrt();
    if large == 0.0 {
        return c128::new(0.0, x.im);
    }
    let small = 0.5 * im / large;
    if re >= 0.0 {
        c128::new(large * root, small * root)
    } else {
        c128::new(small.abs() * root, large.copysign(im) * root)
    }
}

/// `1 / sqrt(x)`.
#[inline(never)]
pub(crate) fn rsqrt(x: c128) -> c128 {
    div(1.0.into(), sqrt(x))
}

/// The logarithm to base 2.
#[inline(never)]
pub(crate) fn log2(x: c128) -> c128 {
    ln(x) * LOG2_E
}

/// The logarithm to base 10.
#[inline(never)]
pub(crate) fn log10(x: c128) -> c128 {
    ln(x) / LN_10
}

/// `2` to the power of `x`. The angle is formed with what its rounding drops.
#[inline(never)]
pub(crate) fn exp2(x: c128) -> c128 {
    const LOW: f64 = 2.319_046_813_846_299_6e-17; // what ln 2 lost to rounding
    let angle = x.im * LN_2;
    let low = x.im.mul_add(LN_2, -angle) + x.im * LOW;
    let (power, (sin, cos)) = (x.re.exp2(), angle.sin_cos());
    if x.im == 0.0 {
        return c128::new(power, x.im);
    }
    c128::new(power * (cos - low * sin), power * (sin + low * cos))
}

/// `exp(x) - 1`. The real part is `expm1(re) cos(im)` less `1 - cos(im)`, which is `2 sin²(im / 2)`.
#[inline(never)]
pub(crate) fn exp_m1(x: c128) -> c128 {
    let (sin, cos) = x.im.sin_cos();
    let half = (0.5 * x.im).sin();
    let im = if x.im == 0.0 { x.im } else { x.re.exp() * sin };
    c128::new(x.re.exp_m1() * cos - 2.0 * half * half, im)
}

/// `log(1 + x)`. Near 0 the modulus enters as `|1 + x|² - 1`.
#[inline(never)]
pub(crate) fn ln_1p(x: c128) -> c128 {
    if x.re.abs().max(x.im.abs()) < 0.5 {
        let square = x.re.mul_add(x.re, x.im * x.im);
        c128::new(0.5 * 2f64.mul_add(x.re, square).ln_1p(), x.im.atan2(1.0 + x.re))
    } else {
        ln(c128::new(1.0 + x.re, x.im))
    }
}

/// The square roots of `1 - x` and `1 + x`. Zeros keep their signs, which choose the side of a branch cut.
fn roots(x: c128) -> (c128, c128) {
    (sqrt(c128::new(1.0 - x.re, -x.im)), sqrt(c128::new(1.0 + x.re, x.im)))
}

/// The inverse of the sine. This and the next three are by Kahan's formulas, whose sums do not cancel (W. Kahan,
/// "Branch cuts for complex elementary functions", 1987).
#[inline(never)]
pub(crate) fn asin(x: c128) -> c128 {
    let (minus, plus) = roots(x);
    let re = x.re.atan2(minus.re * plus.re - minus.im * plus.im);
    c128::new(re, special::asinh(minus.re * plus.im - minus.im * plus.re))
}

/// The inverse of the cosine.
#[inline(never)]
pub(crate) fn acos(x: c128) -> c128 {
    let (minus, plus) = roots(x);
    c128::new(2.0 * minus.re.atan2(plus.re), special::asinh(plus.re * minus.im - plus.im * minus.re))
}

/// The inverse of the hyperbolic sine: `-i asin(i x)`.
#[inline(never)]
pub(crate) fn asinh(x: c128) -> c128 {
    let turned = asin(c128::new(-x.im, x.re));
    c128::new(turned.im, -turned.re)
}

/// The inverse of the hyperbolic cosine.
#[inline(never)]
pub(crate) fn acosh(x: c128) -> c128 {
    let (minus, plus) = (sqrt(c128::new(x.re - 1.0, x.im)), sqrt(c128::new(x.re + 1.0, x.im)));
    c128::new(special::asinh(minus.re * plus.re + minus.im * plus.im), 2.0 * minus.im.atan2(plus.re))
}

/// The inverse of the hyperbolic tangent, for a real part of at least 0, from which the other half follows.
#[inline(never)]
pub(crate) fn atanh(x: c128) -> c128 {
    let (re, im) = (x.re.abs(), x.im);
    let near = 1.0 - re;
    let distance = near * near + im * im;
    let of_re = if distance > 0.0 {
        0.25 * (4.0 * re / distance).ln_1p()
    } else if im == 0.0 {
        f64::INFINITY
    } else {
        0.5 * (LN_2 - im.abs().ln()) // the square of the distance is no number
    };
    let of_im = if re.is_infinite() || im.is_infinite() {
        FRAC_PI_2.copysign(im)
    } else {
        0.5 * (2.0 * im).atan2(near * (1.0 + re) - im * im)
    };
    c128::new(of_re.copysign(x.re), of_im)
}

/// The inverse of the tangent: `-i atanh(i x)`.
#[inline(never)]
pub(crate) fn atan(x: c128) -> c128 {
    let turned = atanh(c128::new(-x.im, x.re));
    c128::new(turned.im, -turned.re)
}
