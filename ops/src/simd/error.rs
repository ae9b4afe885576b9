//! The error function and what is made of it, by the expansions of `coefficients`.

use std::f64::consts::FRAC_2_SQRT_PI;

use super::exponential::reduced_exponential;
use super::float::Float;
use super::logarithm::{Log, of_unit};
use super::{Function, polynomial};
use crate::unary::{coefficients as table, special};

/// What error functions of a type are made of.
pub(super) trait Errors: Sized + 'static {
    /// From here on the error function is 1.
    const END: Self;
    /// Up to here the complementary one is a normal number.
    const LEAST_ERFC: Self;
    /// From here on it is 0.
    const NO_ERFC: Self;
    /// Up to this magnitude of a negative number its product with the normal distribution is a normal number.
    const LEAST_GELU: Self;
    /// From this one on it is 0.
    const NO_GELU: Self;
    const ERF: &'static [Self];
    const ERFCX: &'static [Self];
    const GELU: &'static [Self];
    const GELU_SCALE: Self;
    /// The inverse of the error function, of a number of 0 to 1, without 1.
    fn inverse_of_erf(self) -> Self;
}

impl Errors for f64 {
    const END: f64 = 6.0;
    const LEAST_ERFC: f64 = 26.0;
    const NO_ERFC: f64 = 28.0;
    const LEAST_GELU: f64 = 37.5;
    const NO_GELU: f64 = 40.0;
    const ERF: &'static [f64] = &table::ERF;
    const ERFCX: &'static [f64] = &table::ERFCX;
    const GELU: &'static [f64] = &table::GELU;
    const GELU_SCALE: f64 = 6.0;
    /// One of Halley's steps from an approximation good to six digits, which triples them.
    #[inline(always)]
    fn inverse_of_erf(self) -> f64 {
        let a = self;
        let rest = 1.0 - a; // exact where it matters, from a half on
        let w = -Log::fast(rest * (1.0 + a));
        let tail = polynomial(w.sqrt() - ERFINV_TAIL_MIDDLE, &table::ERFINV_TAIL);
        let y = a * if w > ERFINV_END { tail } else { polynomial(w - ERFINV_MIDDLE, &table::ERFINV) };
        let (near_zero, above) = parts(y, y);
        let erfc = if y < SMALL { 1.0 - near_zero } else { above };
        let off = if a < 0.5 { near_zero - a } else { rest - erfc };
        let step = off / (FRAC_2_SQRT_PI * minus_square(y));
        let value = y - step / y.mul_add(step, 1.0);
        // Of numbers this small it is a multiple, and not all of them have digits for a step.
        if a < 1e-9 { a / FRAC_2_SQRT_PI } else { value }
    }
}

impl Errors for f32 {
    const END: f32 = 4.0;
    const LEAST_ERFC: f32 = 9.0;
    const NO_ERFC: f32 = 11.0;
    const LEAST_GELU: f32 = 13.0;
    const NO_GELU: f32 = 16.0;
    const ERF: &'static [f32] = &table::ERF_F32;
    const ERFCX: &'static [f32] = &table::ERFCX_F32;
    const GELU: &'static [f32] = &table::GELU_F32;
    const GELU_SCALE: f32 = 4.0;
    /// By expansions good to all digits of this type.
    #[inline(always)]
    fn inverse_of_erf(self) -> f32 {
        let w = -Log::fast((1.0 - self) * (1.0 + self));
        let tail = polynomial(w.sqrt() - table::ERFINV_TAIL_F32_MIDDLE, &table::ERFINV_TAIL_F32);
        let near = polynomial(w - ERFINV_MIDDLE as f32, &table::ERFINV_F32);
        self * if w > ERFINV_END as f32 { tail } else { near }
    }
}

/// Of smaller magnitudes the error function has a series of its own.
const SMALL: f64 = 0.5;

/// Where the expansions of the inverse have their middles, and up to where the first holds.
const ERFINV_MIDDLE: f64 = 3.125;
const ERFINV_TAIL_MIDDLE: f64 = 4.3;
const ERFINV_END: f64 = 6.25;

/// `exp(a²) erfc(a)` for `a` of at least a half, by a polynomial in `(a - 7/2) / (a + 7/2)`, which the whole axis is mapped to
/// (Shepherd and Laframboise, "Chebyshev approximation of (1 + 2x) exp(x²) erfc x in 0 ≤ x < ∞", 1981).
#[inline(always)]
fn scaled<R: Float>(a: R) -> R {
    let middle = R::of(table::ERFCX_MIDDLE);
    polynomial((a - middle) / (a + middle), R::ERFCX) / (R::ONE + R::TWO * a)
}

/// `exp(-a²)`, for which the rounding of `a²` is made good.
#[inline(always)]
fn minus_square<R: Float>(a: R) -> R {
    let square = a * a;
    reduced_exponential(-square, a.mul_add(-a, square))
}

/// `erf(x)` for a small magnitude.
#[inline(always)]
fn series<R: Float>(x: R) -> R {
    x.mul_add(polynomial(x.mul_add(x, R::of(-0.125)), R::ERF), x)
}

/// What `erf` and `erfc` are made of, for the magnitude `a` of `x`: `erf(x)` if that is small, else `erfc(a)`.
#[inline(always)]
fn parts<R: Float>(x: R, a: R) -> (R, R) {
    (series(x), scaled(a) * minus_square(a))
}

#[inline(always)]
fn erf<R: Float>(x: R, (near_zero, above): (R, R)) -> R {
    if x.abs() < R::of(SMALL) { near_zero } else { (R::ONE - above).copysign(x) }
}

#[inline(always)]
fn erfc<R: Float>(x: R, (near_zero, above): (R, R)) -> R {
    let large = if x < R::ZERO { R::TWO - above } else { above };
    if x.abs() < R::of(SMALL) { R::ONE - near_zero } else { large }
}

pub(super) struct Erf;
impl Function for Erf {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::infinity())
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        erf(x, parts(x, x.abs().min(R::END)))
    }
    #[inline(always)]
    fn rare<R: Float>(_: R) -> R::Flag {
        R::Flag::default()
    }
    fn exact(x: f64) -> f64 {
        special::erf(x)
    }
}

pub(super) struct Erfc;
impl Function for Erfc {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.not_up_to(R::LEAST_ERFC)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        erfc(x, parts(x, x.abs().min(R::LEAST_ERFC)))
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x >= R::NO_ERFC { R::ZERO } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.between(R::LEAST_ERFC, R::NO_ERFC)
    }
    fn exact(x: f64) -> f64 {
        special::erfc(x)
    }
}

pub(super) struct Gelu;
impl Function for Gelu {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        (x + R::LEAST_GELU).not_within(R::ZERO, R::MOST)
    }
    /// What it lacks of `max(x, 0)` depends on the magnitude `a` alone: `a erfc(a / √2) / 2`, which is `exp(-a² / 2)` and `a / (a + scale)`
    /// times a polynomial in the latter, which all of the axis is mapped to (as [`scaled`]). No argument is multiplied by √½, so nothing is lost that
    /// the tail would magnify.
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let a = x.abs().min(R::LEAST_GELU);
        let square = a * a;
        let lost = a.mul_add(a, -square);
        let power = reduced_exponential(-R::HALF * square, -R::HALF * lost);
        let inverse = R::ONE / (a + R::GELU_SCALE);
        // No product on the way is less than the last.
        let lacking = a * (inverse * polynomial(a.mul_add(inverse, -R::HALF), R::GELU)) * power;
        (if x > R::ZERO { x - lacking } else { lacking }).copysign(x)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x == R::infinity() {
            x
        } else if x <= -R::NO_GELU {
            -R::ZERO
        } else {
            fast
        }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        (-x).between(R::LEAST_GELU, R::NO_GELU)
    }
    fn exact(x: f64) -> f64 {
        special::gelu(x)
    }
}

pub(super) struct Erfinv;
impl Function for Erfinv {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_below(R::ONE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        x.abs().inverse_of_erf().copysign(x)
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
        special::erfinv(x)
    }
}
