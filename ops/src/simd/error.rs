//! The error function and what is made of it, by the expansions of `coefficients`.

use std::f64::consts::{FRAC_1_SQRT_2, FRAC_2_SQRT_PI};

use super::exponential::{exponential_narrow, reduced_exponential};
use super::logarithm::Log;
use super::{Function, polynomial};
use crate::unary::coefficients::{ERF, ERF_NARROW, ERFCX, ERFCX_MIDDLE, ERFCX_NARROW, ERFINV, ERFINV_TAIL};
use crate::unary::special;

/// From here on the error function is 1.
const ALL: f64 = 6.0;
/// Up to here the complementary one is a normal number.
const LEAST: f64 = 26.0;
/// Of smaller magnitudes the error function has a series of its own.
const SMALL: f64 = 0.5;

/// Where the expansions of the inverse have their middles, and up to where the first holds.
const ERFINV_MIDDLE: f64 = 3.125;
const ERFINV_TAIL_MIDDLE: f64 = 4.3;
const ERFINV_END: f64 = 6.25;

/// `exp(a²) erfc(a)` for `a` of at least a half, by a polynomial in `(a - 7/2) / (a + 7/2)`, which the whole axis is mapped to
/// (Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x²) erfc x in 0 ≤ x < ∞", 1981).
#[inline(always)]
fn scaled<const N: usize>(a: f64, coefficients: &[f64; N]) -> f64 {
    polynomial((a - ERFCX_MIDDLE) / (a + ERFCX_MIDDLE), coefficients) / (1.0 + 2.0 * a)
}

/// `exp(-a²)`, for which the rounding of `a²` is made good.
#[inline(always)]
fn minus_square(a: f64) -> f64 {
    let square = a * a;
    reduced_exponential(-square, a.mul_add(-a, square))
}

/// `erf(x)` for a small magnitude.
#[inline(always)]
fn series(x: f64) -> f64 {
    x.mul_add(polynomial(x.mul_add(x, -0.125), &ERF), x)
}

/// What `erf` and `erfc` are made of, for the magnitude `a` of `x`: `erf(x)` if that is small, else `erfc(a)`.
#[inline(always)]
fn parts(x: f64, a: f64) -> (f64, f64) {
    (series(x), scaled(a, &ERFCX) * minus_square(a))
}

/// The same where `f32` is wanted, of which the square is exact; beyond what the expansion is for, `exp` leaves nothing of it.
#[inline(always)]
fn parts_narrow(x: f64, a: f64) -> (f64, f64) {
    (x * polynomial(x * x, &ERF_NARROW), scaled(a, &ERFCX_NARROW) * exponential_narrow(-a * a))
}

#[inline(always)]
fn erf(x: f64, (near_zero, above): (f64, f64)) -> f64 {
    if x.abs() < SMALL { near_zero } else { (1.0 - above).copysign(x) }
}

#[inline(always)]
fn erfc(x: f64, (near_zero, above): (f64, f64)) -> f64 {
    let large = if x < 0.0 { 2.0 - above } else { above };
    if x.abs() < SMALL { 1.0 - near_zero } else { large }
}

pub(super) struct Erf;
impl Function for Erf {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= f64::INFINITY
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        erf(x, parts(x, x.abs().min(ALL)))
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        erf(x, parts_narrow(x, x.abs().min(ALL)))
    }
    fn exact(x: f64) -> f64 {
        special::erf(x)
    }
}

pub(super) struct Erfc;
impl Function for Erfc {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x <= LEAST
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        erfc(x, parts(x, x.abs().min(LEAST)))
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        erfc(x, parts_narrow(x, x.abs().min(LEAST)))
    }
    fn exact(x: f64) -> f64 {
        special::erfc(x)
    }
}

pub(super) struct Gelu;
impl Function for Gelu {
    #[inline(always)]
    fn within(x: f64) -> bool {
        (-LEAST..=f64::MAX).contains(&x)
    }
    /// As [`special::gelu`]: in the left tail `erfc` magnifies the rounding of its argument, which is made good by its derivative.
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let u = -x * FRAC_1_SQRT_2;
        let a = u.abs().min(LEAST);
        let power = minus_square(a);
        let scaled = scaled(a, &ERFCX);
        let lost = (-x).mul_add(FRAC_1_SQRT_2, -u) - x * special::FRAC_1_SQRT_2_LOW;
        let tail = (scaled - lost * FRAC_2_SQRT_PI) * power;
        0.5 * x * erfc(u, (series(u), if u > 0.0 { tail } else { scaled * power }))
    }
    /// In digits enough for `f32` without that.
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        let u = -x * FRAC_1_SQRT_2;
        0.5 * x * erfc(u, parts_narrow(u, u.abs().min(LEAST)))
    }
    fn exact(x: f64) -> f64 {
        special::gelu(x)
    }
}

/// One of Halley's steps from an approximation good to six digits, which triples them. `parts` of it are those of the error function.
#[inline(always)]
fn inverse(
    x: f64,
    log: impl Fn(f64) -> f64,
    parts: impl Fn(f64) -> (f64, f64),
    minus_square: impl Fn(f64) -> f64,
) -> f64 {
    let a = x.abs();
    let rest = 1.0 - a; // exact where it matters, from a half on
    let w = -log(rest * (1.0 + a));
    let tail = polynomial(w.sqrt() - ERFINV_TAIL_MIDDLE, &ERFINV_TAIL);
    let y = a * if w > ERFINV_END { tail } else { polynomial(w - ERFINV_MIDDLE, &ERFINV) };
    let (near_zero, above) = parts(y);
    let erfc = if y < SMALL { 1.0 - near_zero } else { above };
    let off = if a < 0.5 { near_zero - a } else { rest - erfc };
    let step = off / (FRAC_2_SQRT_PI * minus_square(y));
    let value = y - step / y.mul_add(step, 1.0);
    // Of numbers this small it is a multiple, and not all of them have digits for a step.
    (if a < 1e-9 { a / FRAC_2_SQRT_PI } else { value }).copysign(x)
}

pub(super) struct Erfinv;
impl Function for Erfinv {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() < 1.0
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        inverse(x, Log::fast, |y| parts(y, y), minus_square)
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        inverse(x, Log::fast_narrow, |y| parts_narrow(y, y), |y| exponential_narrow(-y * y))
    }
    fn exact(x: f64) -> f64 {
        special::erfinv(x)
    }
}
