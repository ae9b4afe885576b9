//! Special functions of one real number, in double precision: `f32` goes through `f64` and is rounded once. The
//! polynomials are in `coefficients`; what surrounds them are the reflections, recurrences and asymptotic series of
//! the NIST Digital Library of Mathematical Functions (chapters 5 and 7), whose equations the comments name.
//! They are not inlined into the loops of the ops: a call costs little beside them, compiling them twice does.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI, LN_2, PI};

use super::coefficients as table;

/// Real numbers, computed in `f64`.
pub(crate) trait Precise: Copy {
    /// Widens, applies, rounds.
    fn precisely(self, f: fn(f64) -> f64) -> Self;
}

impl Precise for f64 {
    #[inline(always)]
    fn precisely(self, f: fn(f64) -> f64) -> f64 {
        f(self)
    }
}

impl Precise for f32 {
    #[inline(always)]
    fn precisely(self, f: fn(f64) -> f64) -> f32 {
        f(f64::from(self)) as f32
    }
}

/// `sqrt(a² + b²)` within an ulp, infinite if one is: numbers whose squares would leave the range are scaled by a power of two, which
/// is exact. All of it is arithmetic and choices, so that loops over it become vector code.
#[inline(always)]
pub(crate) fn hypot(a: f64, b: f64) -> f64 {
    const LARGE: f64 = f64::from_bits((1023 + 500) << 52); // 2⁵⁰⁰
    const SMALL: f64 = f64::from_bits((1023 - 400) << 52);
    const UP: f64 = f64::from_bits((1023 + 600) << 52);
    const DOWN: f64 = f64::from_bits((1023 - 600) << 52);
    let (a, b) = (a.abs(), b.abs());
    let most = if a > b { a } else { b };
    let (scale, back) = if most > LARGE { (DOWN, UP) } else { (1.0, 1.0) };
    let (scale, back) = if most < SMALL { (UP, DOWN) } else { (scale, back) };
    let (x, y) = (a * scale, b * scale);
    let found = (x * x + y * y).sqrt() * back;
    if (a == f64::INFINITY) | (b == f64::INFINITY) { f64::INFINITY } else { found }
}

/// Floats that can be made finite.
pub(crate) trait Finite: Copy {
    /// 0 for NaN, the end of the range for an infinity.
    fn finite(self) -> Self;
}

macro_rules! finite {
    ($($ty:ty),+) => {$(
        impl Finite for $ty {
            #[inline(always)]
            fn finite(self) -> $ty {
                if self.is_nan() { <$ty>::default() } else { self.clamp(<$ty>::MIN, <$ty>::MAX) }
            }
        }
    )+};
}
finite!(half::f16, half::bf16, f32, f64);

/// `c[0] + x * (c[1] + x * (…))`.
fn polynomial(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// `erf(x)` for `x` within ±0.5.
fn erf_near_zero(x: f64) -> f64 {
    x + x * polynomial(x * x - 0.125, &table::ERF)
}

/// `exp(-x²)`, for which the rounding of `x²` is made good.
fn exp_minus_square(x: f64) -> f64 {
    let square = x * x;
    let lost = x.mul_add(x, -square);
    (-square).exp() * (1.0 - lost)
}

/// `exp(x²) erfc(x)`, which varies little, for `x` of at least 0.5.
fn scaled_erfc(x: f64) -> f64 {
    polynomial((x - table::ERFCX_MIDDLE) / (x + table::ERFCX_MIDDLE), &table::ERFCX) / (1.0 + 2.0 * x)
}

/// `erfc(x)` for `x` of at least 0.5. From 28 on it is less than the least number.
fn erfc_above(x: f64) -> f64 {
    if x > 28.0 { 0.0 } else { exp_minus_square(x) * scaled_erfc(x) }
}

/// The error function (DLMF 7.2.1).
#[inline(never)]
pub(crate) fn erf(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x.abs() < 0.5 {
        erf_near_zero(x)
    } else {
        (1.0 - erfc_above(x.abs())).copysign(x)
    }
}

/// The complementary error function `1 - erf(x)` (DLMF 7.2.2), without its cancellation.
#[inline(never)]
pub(crate) fn erfc(x: f64) -> f64 {
    if x.is_nan() {
        x
    } else if x.abs() < 0.5 {
        1.0 - erf_near_zero(x)
    } else if x > 0.0 {
        erfc_above(x)
    } else {
        2.0 - erfc_above(-x)
    }
}

/// What 1 / √2 lost to rounding.
pub(crate) const FRAC_1_SQRT_2_LOW: f64 = -4.833_646_656_726_457e-17;

/// `x Φ(x)`, where `Φ(x) = erfc(-x / √2) / 2` is the normal distribution. In the left tail `erfc` magnifies the
/// rounding of its argument, which is made good by its derivative.
#[inline(never)]
pub(crate) fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return -0.0;
    }
    let u = -x * FRAC_1_SQRT_2;
    if x > 0.0 {
        return x - 0.5 * x.min(40.0) * erfc(-u); // infinite numbers lack 0 of themselves
    }
    if !(u > 0.5 && u < 28.0) {
        return 0.5 * x * erfc(u);
    }
    let lost = (-x).mul_add(FRAC_1_SQRT_2, -u) - x * FRAC_1_SQRT_2_LOW;
    0.5 * x * (scaled_erfc(u) - lost * FRAC_2_SQRT_PI) * exp_minus_square(u)
}

/// Where Stirling's series begins: eight terms of it are enough.
pub(crate) const STIRLING: f64 = 10.0;

/// `sin(π x)`, where `x` is not an integer, and `x` less the nearest integer.
fn sin_pi(x: f64) -> (f64, f64) {
    let rest = x - x.round();
    ((PI * rest).sin(), rest)
}

/// The logarithm of `|Γ(x)|`; infinite at the poles.
#[inline(never)]
pub(crate) fn lgamma(x: f64) -> f64 {
    if x >= 0.0 {
        lgamma_above(x)
    } else if x.is_nan() {
        x
    } else if x == x.trunc() {
        f64::INFINITY // a pole; numbers past 2^53 are integers
    } else if x > -0.25 {
        lgamma_above(1.0 + x) - (-x).ln() // DLMF 5.5.1
    } else {
        // Γ(x) Γ(-x) = -π / (x sin(πx)) (DLMF 5.5.3)
        (PI / (x * sin_pi(x).0).abs()).ln() - lgamma_above(-x)
    }
}

/// `lgamma(x)` for `x` of at least 0.
fn lgamma_above(x: f64) -> f64 {
    if x < 0.75 {
        lgamma_above(1.0 + x) - x.ln() // DLMF 5.5.1
    } else if x < 2.0 {
        (x - 1.0) * (x - 2.0) * polynomial(x - 1.375, &table::LGAMMA_1) + 0.0 // no -0 for 1
    } else if x < 3.0 {
        (x - 2.0) * polynomial(x - 2.5, &table::LGAMMA_2)
    } else if x < STIRLING {
        // DLMF 5.5.1 down to between 2 and 3
        let (mut rest, mut product) = (x, 1.0);
        while rest >= 3.0 {
            rest -= 1.0;
            product *= rest;
        }
        lgamma_above(rest) + product.ln()
    } else {
        if x.is_infinite() { x } else { stirling(x, x.ln()) }
    }
}

/// `lgamma(x)` for `x` of at least [`STIRLING`], whose logarithm is `log`.
#[inline(always)]
pub(crate) fn stirling(x: f64, log: f64) -> f64 {
    // DLMF 5.11.1: B(2k) / (2k (2k - 1) x^(2k - 1))
    const TERMS: [f64; 8] = [
        1.0 / 12.0,
        -1.0 / 360.0,
        1.0 / 1_260.0,
        -1.0 / 1_680.0,
        1.0 / 1_188.0,
        -691.0 / 360_360.0,
        1.0 / 156.0,
        -3_617.0 / 122_400.0,
    ];
    const LN_ROOT_2_PI: f64 = 0.918_938_533_204_672_8;
    let inverse = 1.0 / x;
    let series = polynomial(inverse * inverse, &TERMS) / x;
    (x - 0.5) * (log - 1.0) + (series + (LN_ROOT_2_PI - 0.5))
}

/// The logarithmic derivative of `Γ`. At 0 it is infinite, with the sign of what comes before; at negative integers NaN.
#[inline(never)]
pub(crate) fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        f64::INFINITY.copysign(-x)
    } else if x > 0.0 {
        digamma_above(x)
    } else if x == x.trunc() || x.is_nan() {
        f64::NAN
    } else {
        // DLMF 5.5.4; the tangent has the period 1 in x
        digamma_above(1.0 - x) - PI / (PI * sin_pi(x).1).tan()
    }
}

/// `digamma(x)` for `x` above 0.
fn digamma_above(x: f64) -> f64 {
    if x < 1.0 {
        digamma_above(1.0 + x) - 1.0 / x // DLMF 5.5.2
    } else if x < 3.0 {
        const ROOT: [f64; 2] = [1.461_632_144_968_362_2, 9.549_995_429_965_697e-17];
        ((x - ROOT[0]) - ROOT[1]) * polynomial(x - 2.0, &table::DIGAMMA)
    } else if x < STIRLING {
        // DLMF 5.5.2 down to between 2 and 3
        let (mut rest, mut sum) = (x, 0.0);
        while rest >= 3.0 {
            rest -= 1.0;
            sum += 1.0 / rest;
        }
        digamma_above(rest) + sum
    } else {
        // DLMF 5.11.2: B(2k) / (2k x^2k)
        const TERMS: [f64; 8] = [
            1.0 / 12.0,
            -1.0 / 120.0,
            1.0 / 252.0,
            -1.0 / 240.0,
            1.0 / 132.0,
            -691.0 / 32_760.0,
            1.0 / 12.0,
            -3_617.0 / 8_160.0,
        ];
        let square = (1.0 / x) * (1.0 / x);
        x.ln() - (0.5 / x + square * polynomial(square, &TERMS))
    }
}

/// `log Γ_p(x) = p (p - 1) / 4 log π + Σ log Γ(x - i / 2)` over `i` below `p` (DLMF 35.3.4), for `x > (p - 1) / 2`; NaN
/// elsewhere.
pub fn mvlgamma(p: u32, x: f64) -> f64 {
    let p = f64::from(p);
    if x.is_nan() || x <= (p - 1.0) / 2.0 {
        return f64::NAN;
    }
    let (mut sum, mut i) = (p * (p - 1.0) / 4.0 * PI.ln(), 0.0);
    while i < p {
        sum += lgamma(x - i / 2.0);
        i += 1.0;
    }
    sum
}

/// The derivative of order `n` of `digamma`. At 0 and negative integers, the poles, it is infinite for odd `n`, which
/// has one sign on both sides, and NaN for even `n`.
pub fn polygamma(n: u32, x: f64) -> f64 {
    if n == 0 {
        return digamma(x);
    }
    let even = n.is_multiple_of(2);
    if x.is_nan() || x == f64::NEG_INFINITY {
        f64::NAN
    } else if x == f64::INFINITY {
        0.0
    } else if x <= 0.0 && x == x.trunc() {
        if even { f64::NAN } else { f64::INFINITY }
    } else if x < -32.0 {
        // DLMF 5.15.6; derivatives of the cotangent are polynomials of it: d/dx P(cot πx) = -π (1 + cot²) P'(cot)
        let (sin, cot) = (sin_pi(x).0, 1.0 / (PI * sin_pi(x).1).tan());
        let mut derivative = vec![0.0, 1.0];
        for _ in 0..n - 1 {
            derivative = cotangent_step(&derivative);
        }
        // The last step by 1 + cot² = 1 / sin², which does not overflow before the result does.
        let last: f64 = derivative.iter().enumerate().skip(1).rev().fold(0.0, |sum, (k, c)| sum * cot + k as f64 * c);
        let term = -PI.powi(n as i32 + 1) * last / (sin * sin);
        if even { polygamma(n, 1.0 - x) - term } else { -polygamma(n, 1.0 - x) - term }
    } else {
        // DLMF 5.15.1
        let size = factorial(n) * zeta(n + 1, x);
        if even { -size } else { size }
    }
}

/// The coefficients of `-(1 + c²) P'(c)`.
fn cotangent_step(p: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; p.len() + 1];
    for (k, c) in p.iter().enumerate().skip(1) {
        out[k - 1] -= k as f64 * c;
        out[k + 1] -= k as f64 * c;
    }
    out
}

fn factorial(n: u32) -> f64 {
    (2..=n.min(171)).fold(1.0, |product, k| product * f64::from(k)) // from 171 on infinite
}

/// The Hurwitz zeta function `Σ (x + k)^-s` over `k >= 0`, for `s` of at least 2: terms until `x + k` is large enough for
/// the rest to be Euler and Maclaurin's series (DLMF 25.11.5).
fn zeta(s: u32, x: f64) -> f64 {
    // B(2k) / (2k)!
    const TERMS: [f64; 10] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30_240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
        1.0 / 74_724_249_600.0,
        -3_617.0 / 10_670_622_842_880_000.0,
        43_867.0 / 5_109_094_217_170_944_000.0,
        -174_611.0 / 802_857_662_698_291_200_000.0,
    ];
    let power = |x: f64| x.powi(-(s.min(1 << 20) as i32));
    let s = f64::from(s);
    let far = 12.0f64.max(s);
    let (mut x, mut sum) = (x, 0.0);
    while x < far {
        let term = power(x);
        sum += term;
        if x > 1.0 && term <= sum.abs() * 1e-18 {
            return sum; // what follows is less still
        }
        x += 1.0;
    }
    let at = power(x);
    sum += at * (x / (s - 1.0) + 0.5);
    // s (s + 1) … (s + 2k - 2) / x^(2k - 1)
    let mut factor = s * at / x;
    for (k, term) in TERMS.iter().enumerate() {
        let step = factor * term;
        sum += step;
        if step.abs() < sum.abs() * 1e-18 {
            break;
        }
        let m = 2.0 * k as f64 + s;
        factor *= (m + 1.0) * (m + 2.0) / (x * x);
    }
    sum
}

/// The inverse of the error function; infinite at ±1, NaN outside. An approximation by elementary functions (Winitzki),
/// good to two or three digits, and three of Halley's steps, each of which triples them.
#[inline(never)]
pub(crate) fn erfinv(x: f64) -> f64 {
    const A: f64 = 0.147;
    let a = x.abs();
    if a >= 1.0 || x.is_nan() {
        return if a == 1.0 { f64::INFINITY.copysign(x) } else { f64::NAN };
    }
    if a < 1e-9 {
        return x / FRAC_2_SQRT_PI;
    }
    let rest = 1.0 - a; // exact where it matters, from a half on
    let log = (rest * (1.0 + a)).ln();
    let half = 2.0 / (PI * A) + 0.5 * log;
    let mut y = (log / -A / (half + (half * half - log / A).sqrt())).sqrt();
    for _ in 0..3 {
        let off = if a < 0.5 { erf(y) - a } else { rest - erfc(y) };
        let step = off / (FRAC_2_SQRT_PI * exp_minus_square(y));
        y -= step / (1.0 + y * step);
    }
    y.copysign(x)
}

/// `x / (1 + |x|)`, and its limit ±1 at ±∞.
#[inline(never)]
pub(crate) fn softsign(x: f64) -> f64 {
    if x.is_infinite() { 1f64.copysign(x) } else { x / (1.0 + x.abs()) }
}

/// `log(x / (1 - x))`; near a half the logarithm of almost 1 goes through `ln_1p`.
#[inline(never)]
pub(crate) fn logit(x: f64) -> f64 {
    if (0.25..=0.75).contains(&x) { ((2.0 * x - 1.0) / (1.0 - x)).ln_1p() } else { (x / (1.0 - x)).ln() }
}

/// `x / (1 + exp(-x))`, and its limit 0 at −∞.
#[inline(never)]
pub(crate) fn silu(x: f64) -> f64 {
    if x >= 0.0 {
        x / (1.0 + (-x).exp())
    } else if x > -700.0 {
        let power = x.exp();
        x * power / (1.0 + power)
    } else if x > -1000.0 {
        let root = (0.5 * x).exp(); // whose square may be subnormal
        x * root * root
    } else if x.is_nan() {
        x
    } else {
        -0.0
    }
}

/// `log(1 + exp(x))`.
#[inline(never)]
pub(crate) fn softplus(x: f64) -> f64 {
    if x > 0.0 { x + (-x).exp().ln_1p() } else { x.exp().ln_1p() }
}

/// The inverse of `sinh`.
#[inline(never)]
pub(crate) fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let value = if a > 1e9 {
        a.ln() + LN_2
    } else {
        let square = a * a;
        (a + square / (1.0 + (1.0 + square).sqrt())).ln_1p()
    };
    value.copysign(x)
}

/// The inverse of `cosh`; NaN below 1. Near 1 it goes through the distance to 1, which is exact.
#[inline(never)]
pub(crate) fn acosh(x: f64) -> f64 {
    if x > 1e9 {
        x.ln() + LN_2
    } else if x < 1.0 {
        f64::NAN
    } else {
        let above = x - 1.0;
        (above + (above * (x + 1.0)).sqrt()).ln_1p()
    }
}

/// The inverse of `tanh`; NaN outside ±1.
#[inline(never)]
pub(crate) fn atanh(x: f64) -> f64 {
    let a = x.abs();
    (0.5 * (2.0 * a / (1.0 - a)).ln_1p()).copysign(x)
}

/// `log(exp(a) + exp(b))`, without overflow.
#[inline(never)]
pub(crate) fn logaddexp(a: f64, b: f64) -> f64 {
    if a == b {
        return a + LN_2; // infinities too
    }
    let (less, more) = if a < b { (a, b) } else { (b, a) };
    if more.is_nan() || less.is_nan() { f64::NAN } else { more + (less - more).exp().ln_1p() }
}

/// `a log(b)`, where 0 is 0 whatever the logarithm, but for NaN.
#[inline(never)]
pub(crate) fn xlogy(a: f64, b: f64) -> f64 {
    if a == 0.0 && !b.is_nan() { 0.0 } else { a * b.ln() }
}
