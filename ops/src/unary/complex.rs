//! Complex arithmetic that `num_complex` leaves to its user: without needless overflow.

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
