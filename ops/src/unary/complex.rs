//! Complex arithmetic that `num_complex` leaves to its user: without needless overflow.

use std::f64::consts::{FRAC_PI_2, LN_2, LN_10, LOG2_E};

use super::special;
use crate::dtype::{c64, c128};

/// Functions of `complex64` are computed in `complex128` and rounded once.
pub(crate) trait Wide: Copy {
    /// Widens, applies, rounds.
    fn through(self, f: impl FnMut(c128) -> c128) -> Self;
    /// The absolute value, which overflows and underflows where it is too large or too small and not before; infinite if a part is.
    type Part;
    fn norm(self) -> Self::Part;
}

impl Wide for c128 {
    #[inline(always)]
    fn through(self, mut f: impl FnMut(c128) -> c128) -> c128 {
        f(self)
    }
    type Part = f64;
    #[inline(always)]
    fn norm(self) -> f64 {
        special::hypot(self.re, self.im)
    }
}

impl Wide for c64 {
    #[inline(always)]
    fn through(self, mut f: impl FnMut(c128) -> c128) -> c64 {
        narrow(f(widen(self)))
    }
    type Part = f32;
    /// No square of a part leaves the range of `f64`, and each is exact.
    #[inline(always)]
    fn norm(self) -> f32 {
        let c128 { re, im } = widen(self);
        let norm = (re * re + im * im).sqrt() as f32;
        if re.is_infinite() | im.is_infinite() { f32::INFINITY } else { norm }
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
        if scale.is_infinite() && b.re.is_finite() {
            return div(a * 0.5, b * 0.5);
        }
        c128::new((a.re + a.im * ratio) / scale, (a.im - a.re * ratio) / scale)
    } else {
        let ratio = b.re / b.im;
        let scale = b.re * ratio + b.im;
        if scale.is_infinite() && b.im.is_finite() {
            return div(a * 0.5, b * 0.5);
        }
        c128::new((a.re * ratio + a.im) / scale, (a.im * ratio - a.re) / scale)
    }
}

/// `x / |x|`, and 0 for 0.
#[inline(always)]
pub(crate) fn sign(x: c128) -> c128 {
    // So that the modulus is not past the range; without a branch, for loops that become vector code.
    let scale = if size(x) > f64::MAX / 2.0 { 0.5 } else { 1.0 };
    let (re, im) = (x.re * scale, x.im * scale);
    let norm = special::hypot(re, im);
    let of = |part: f64| if norm == 0.0 { 0.0 } else { part / norm };
    c128::new(of(re), of(im))
}

/// The natural logarithm. Near the unit circle `ln |x|` is the logarithm of almost 1, so `|x|² - 1` is formed with what
/// its roundings drop (Dekker's exact products) and goes through `ln_1p`.
pub(crate) fn ln(x: c128) -> c128 {
    let (re, im) = (x.re.abs(), x.im.abs());
    let (large, small) = if re >= im { (re, im) } else { (im, re) };
    let square = large * large + small * small;
    if !(0.5..2.0).contains(&square) {
        let norm = large.hypot(small);
        let of_norm = if norm.is_finite() || large.is_infinite() {
            norm.ln()
        } else {
            (0.5 * large).hypot(0.5 * small).ln() + LN_2
        };
        return c128::new(of_norm, x.im.atan2(x.re));
    }
    c128::new(0.5 * square_plus(-1.0, large, small).ln_1p(), x.im.atan2(x.re))
}

/// `c + x² + y²`, with what its roundings drop: the sum may be far smaller than its terms.
fn square_plus(c: f64, x: f64, y: f64) -> f64 {
    let (p, q) = (x * x, y * y);
    let ((first, first_low), (p_low, q_low)) = (two_sum(c, p), (x.mul_add(x, -p), y.mul_add(y, -q)));
    let (sum, low) = two_sum(first, q);
    sum + (low + first_low + p_low + q_low)
}

/// A sum and what its rounding drops (Knuth).
#[inline(always)]
pub(crate) fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// `by` times a real power `power(x)`, taken in steps: where the power alone is past the range, `by` may bring it back.
fn times_power(by: c128, power: fn(f64) -> f64, mut x: f64) -> c128 {
    let mut out = by;
    // A part of `by` is at least 2^-1074, so what is past the range after three steps stays there.
    for _ in 0..3 {
        if x > STEP {
            x -= STEP;
            out *= power(STEP);
        }
    }
    out * power(x)
}

/// `exp(STEP)` leaves room below the greatest float, and half of it is `sinh` and `cosh`.
const STEP: f64 = 700.0;

/// `e` to the power of `x`. Parts that are not finite are as in Annex G of C99, here and in the functions below.
#[inline(never)]
pub(crate) fn exp(x: c128) -> c128 {
    if x.im == 0.0 {
        c128::new(x.re.exp(), x.im)
    } else if x.im.is_finite() {
        let (sin, cos) = x.im.sin_cos();
        times_power(c128::new(cos, sin), f64::exp, x.re)
    } else if x.re == f64::NEG_INFINITY {
        c128::new(0.0, 0.0)
    } else {
        c128::new(if x.re == f64::INFINITY { x.re } else { f64::NAN }, f64::NAN)
    }
}

/// `sinh x`, or for the other arguments a function that differs from it by turns: `(sinh re cos im, cosh re sin im)`.
#[inline(never)]
pub(crate) fn sinh(x: c128) -> c128 {
    if x.im == 0.0 {
        return c128::new(x.re.sinh(), x.im);
    }
    let (sin, cos) = x.im.sin_cos();
    if x.re == 0.0 {
        c128::new(if cos < 0.0 { -x.re } else { x.re }, sin)
    } else if x.re.abs() <= STEP {
        c128::new(x.re.sinh() * cos, x.re.cosh() * sin)
    } else {
        grown(x, cos.copysign(cos * x.re), sin)
    }
}

/// The hyperbolic cosine: `(cosh re cos im, sinh re sin im)`.
#[inline(never)]
pub(crate) fn cosh(x: c128) -> c128 {
    if x.im == 0.0 {
        return c128::new(x.re.cosh(), if x.re < 0.0 { -x.im } else { x.im });
    }
    let (sin, cos) = x.im.sin_cos();
    if x.re == 0.0 {
        c128::new(cos, if sin < 0.0 { -x.re } else { x.re })
    } else if x.re.abs() <= STEP {
        c128::new(x.re.cosh() * cos, x.re.sinh() * sin)
    } else {
        grown(x, cos, sin.copysign(sin * x.re))
    }
}

/// `exp(|re|) / 2 * (a, b)`: where `sinh` and `cosh` are the same but for signs.
fn grown(x: c128, a: f64, b: f64) -> c128 {
    if x.re.is_infinite() && !x.im.is_finite() {
        return c128::new(x.re, f64::NAN);
    }
    times_power(c128::new(a, b) * (0.5 * STEP.exp()), f64::exp, x.re.abs() - STEP)
}

/// The hyperbolic tangent. By the tangent of the imaginary part, of which only squares and one are added: nothing cancels
/// near the poles (W. Kahan, "Branch cuts for complex elementary functions", 1987). It tends to ±1 where `cosh` overflows.
#[inline(never)]
pub(crate) fn tanh(x: c128) -> c128 {
    const SATURATED: f64 = 20.0; // tanh(20) rounds to 1
    if x.im == 0.0 {
        c128::new(x.re.tanh(), x.im)
    } else if x.re.abs() > SATURATED && (x.im.is_finite() || x.re.is_infinite()) {
        // The imaginary part is sin(2 im) / (cosh(2 re) + cos(2 im)), and the cosine drowns.
        let im = 4.0 * x.im.sin() * x.im.cos() * (-2.0 * x.re.abs()).exp();
        c128::new(1f64.copysign(x.re), if im.is_nan() { 0f64.copysign(x.im) } else { im })
    } else {
        let tan = x.im.tan();
        if x.re == 0.0 {
            return c128::new(x.re, tan);
        }
        let (sinh, of_cos) = (x.re.sinh(), 1.0 + tan * tan);
        let below = 1.0 + of_cos * sinh * sinh;
        c128::new(of_cos * x.re.cosh() * sinh / below, tan / below)
    }
}

/// `a` to the power of `b`. As in the real case `x^0 = 1` for every `x`. `0^b` is 0 for a positive real part of `b`, whatever
/// the other; for a negative one it is infinite without a direction, as `1 / 0` is; else it has no value.
#[inline(never)]
pub(crate) fn pow(a: c128, b: c128) -> c128 {
    let zero = c128::new(0.0, 0.0);
    if b == zero {
        c128::new(1.0, 0.0)
    } else if b == c128::new(0.5, 0.0) {
        sqrt(a)
    } else if a == zero {
        match b.re {
            re if re > 0.0 && b.im.is_finite() => zero,
            re if re < 0.0 && b.im.is_finite() => c128::new(f64::INFINITY, f64::NAN),
            _ => c128::new(f64::NAN, f64::NAN),
        }
    } else if b.im != 0.0 {
        exp(b * ln(a))
    } else if let Some(power) = whole_power(a, b.re) {
        power
    } else if a.im == 0.0 && a.re > 0.0 {
        c128::new(a.re.powf(b.re), a.im * b.re)
    } else {
        exp(ln(a) * b.re)
    }
}

/// The greater of both parts, without signs.
#[inline(always)]
fn size(x: c128) -> f64 {
    x.re.abs().max(x.im.abs())
}

/// Each part to three roundings.
#[inline(always)]
pub(crate) fn square(x: c128) -> c128 {
    c128::new((x.re - x.im) * (x.re + x.im), 2.0 * x.re * x.im)
}

/// The greatest whole exponent whose power is made of products.
pub(crate) const MOST: f64 = 64.0;

/// Where the greater part of what was multiplied again and again is not near the ends of the range.
pub(crate) const RANGE: [f64; 2] = [1e-290, 1e290];

pub(crate) fn is_within_range(x: c128) -> bool {
    (RANGE[0]..=RANGE[1]).contains(&size(x))
}

/// A whole power by squares and products, which gives whole numbers exactly. `None` for powers that take long, and for what comes near
/// the ends of the range.
fn whole_power(a: c128, n: f64) -> Option<c128> {
    if n.fract() != 0.0 || n.abs() > MOST {
        return None;
    }
    let (mut rest, mut factor, mut power) = (n.abs() as u32, a, None);
    loop {
        if rest & 1 == 1 {
            power = Some(power.map_or(factor, |power| power * factor));
        }
        rest >>= 1;
        if rest == 0 {
            break;
        }
        factor = square(factor);
    }
    let power = power.filter(|&power| is_within_range(power))?;
    Some(if n < 0.0 { div(1.0.into(), power) } else { power })
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
    if im.is_infinite() {
        return c128::new(f64::INFINITY, im);
    }
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
    if x.im == 0.0 {
        return c128::new(x.re.exp2(), x.im);
    } else if !x.im.is_finite() {
        return exp(x);
    }
    let angle = x.im * LN_2;
    let ((sin, cos), (low_sin, low_cos)) = (angle.sin_cos(), (x.im.mul_add(LN_2, -angle) + x.im * LOW).sin_cos());
    times_power(c128::new(cos * low_cos - sin * low_sin, sin * low_cos + cos * low_sin), f64::exp2, x.re)
}

/// `exp(x) - 1`. The real part is `expm1(re) cos(im)` less `1 - cos(im)`, which is `2 sin²(im / 2)`.
#[inline(never)]
pub(crate) fn exp_m1(x: c128) -> c128 {
    if x.re > STEP {
        return exp(x);
    }
    let (sin, cos) = x.im.sin_cos();
    let half = (0.5 * x.im).sin();
    let im = if x.im == 0.0 { x.im } else { x.re.exp() * sin };
    c128::new(x.re.exp_m1() * cos - 2.0 * half * half, im)
}

/// `log(1 + x)`. Near 0 the modulus enters as `|1 + x|² - 1`.
#[inline(never)]
pub(crate) fn ln_1p(x: c128) -> c128 {
    if x.re.abs().max(x.im.abs()) < 0.5 {
        c128::new(0.5 * square_plus(2.0 * x.re, x.re, x.im).ln_1p(), x.im.atan2(1.0 + x.re))
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
    let beside = if x.re.is_infinite() { x.im.abs() } else { minus.re * plus.re - minus.im * plus.im };
    let re = x.re.atan2(beside);
    c128::new(re, special::asinh(minus.re * plus.im - minus.im * plus.re))
}

/// The inverse of the cosine.
#[inline(never)]
pub(crate) fn acos(x: c128) -> c128 {
    let (minus, plus) = roots(x);
    let re = if x.im.is_infinite() { x.im.abs().atan2(x.re) } else { 2.0 * minus.re.atan2(plus.re) };
    c128::new(re, special::asinh(plus.re * minus.im - plus.im * minus.re))
}

/// The inverse of the hyperbolic cosine.
#[inline(never)]
pub(crate) fn acosh(x: c128) -> c128 {
    let (minus, plus) = (sqrt(c128::new(x.re - 1.0, x.im)), sqrt(c128::new(x.re + 1.0, x.im)));
    let im = if x.im.is_infinite() { x.im.atan2(x.re) } else { 2.0 * minus.im.atan2(plus.re) };
    c128::new(special::asinh(minus.re * plus.re + minus.im * plus.im), im)
}

/// The inverse of the hyperbolic tangent, for a real part of at least 0, from which the other half follows.
#[inline(never)]
pub(crate) fn atanh(x: c128) -> c128 {
    let (re, im) = (x.re.abs(), x.im);
    let near = 1.0 - re;
    let distance = near * near + im * im;
    let (of_re, of_im) = if distance == f64::INFINITY {
        // Far out it is 1 / x, a quarter turn on.
        let half = (0.5 * re).hypot(0.5 * im);
        let of_re = if half.is_infinite() { 0.0 } else { 0.25 * (re / half) / half };
        (of_re, if im.is_nan() { im } else { FRAC_PI_2.copysign(im) })
    } else if distance <= f64::MIN_POSITIVE / f64::EPSILON {
        // Beside a pole, where the square of the distance has few digits or none; ∞ at it.
        (0.5 * (LN_2 - near.hypot(im).ln()), 0.5 * (2.0 * im).atan2(near * (1.0 + re)))
    } else {
        (0.25 * (4.0 * re / distance).ln_1p(), 0.5 * (2.0 * im).atan2(near * (1.0 + re) - im * im))
    };
    c128::new(of_re.copysign(x.re), of_im)
}
