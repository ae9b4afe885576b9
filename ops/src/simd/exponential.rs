//! The exponential, the hyperbolic functions, and others that are made of these.

use super::{Function, ROUND, polynomial};
use crate::unary::special;

/// Up to here results and powers of two stay normal numbers.
pub(super) const LARGE_EXPONENT: f64 = 708.0;

/// Below this magnitude `log1p(x)`, `expm1(x)`, `sinh(x)` and `tanh(x)` are `x`.
pub(super) const TINY: f64 = 1.0 / (1u64 << 54) as f64;

/// What `x` has beyond the nearest integer, which is exact, and two to the power of that.
#[inline(always)]
fn beyond_integer(x: f64) -> (f64, f64) {
    let shifted = x + ROUND;
    (x - (shifted - ROUND), f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52))
}

/// `-n` of `2^n`, the power of two that is nearest to `e` to the power of `x`, and that power.
#[inline(always)]
fn power_of_two(x: f64) -> (f64, f64) {
    let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUND);
    (-(shifted - ROUND), f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52))
}

/// ln(2) in two floats.
const LN_2: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];

/// The parts of `e` to the power of `x`: `2^n`, and what a Taylor polynomial within ±ln(2)/2, where its 14 terms suffice, has
/// beyond the one, as a sum of two floats.
#[inline(always)]
pub(super) fn exponent(x: f64) -> (f64, f64, f64) {
    let (n, power) = power_of_two(x);
    let first = n.mul_add(LN_2[0], x);
    let high = n.mul_add(LN_2[1], first);
    let low = n.mul_add(LN_2[1], first - high);
    (power, high, beyond_one(high, low))
}

/// `e` to the power of `x + low`, where `low` is small but may be greater than the rounding of `x`.
#[inline(always)]
pub(super) fn reduced_exponential(x: f64, low: f64) -> f64 {
    let (n, power) = power_of_two(x);
    let first = n.mul_add(LN_2[0], x);
    // Either may be the greater: Knuth's sum.
    let second = n.mul_add(LN_2[1], low);
    let high = first + second;
    let moved = high - first;
    let low = (first - (high - moved)) + (second - moved);
    (1.0 + (high + beyond_one(high, low))) * power
}

/// `1 / k!` from `k = first` on: factorials of so few are exact.
const fn inverse_factorials<const N: usize>(first: usize) -> [f64; N] {
    let (mut terms, mut factorial, mut k) = ([0.0; N], 1.0, 0);
    while k < first + N {
        if k > 1 {
            factorial *= k as f64;
        }
        if k >= first {
            terms[k - first] = 1.0 / factorial;
        }
        k += 1;
    }
    terms
}

/// What `e` to the power of `high + low` has beyond `1 + high`, by a Taylor polynomial.
#[inline(always)]
fn beyond_one(high: f64, low: f64) -> f64 {
    const TERMS: [f64; 12] = inverse_factorials(2);
    (high * high).mul_add(polynomial(high, &TERMS), low)
}

/// `e` to the power of `x`.
#[inline(always)]
pub(super) fn exponential(x: f64) -> f64 {
    let (power, high, tail) = exponent(x);
    (1.0 + (high + tail)) * power
}

/// `e` to the power of `x` within ±ln(2)/2, where `f32` is wanted: eleven terms of the series.
#[inline(always)]
fn series_narrow(x: f64) -> f64 {
    const TERMS: [f64; 11] = inverse_factorials(0);
    polynomial(x, &TERMS)
}

/// `e` to the power of `x`, where `f32` is wanted.
#[inline(always)]
pub(super) fn exponential_narrow(x: f64) -> f64 {
    let (n, power) = power_of_two(x);
    series_narrow(n.mul_add(LN_2[0], x)) * power
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

/// `exp(x) - 1` where `f32` is wanted: eleven terms of the series beyond the one.
#[inline(always)]
fn less_one_narrow(x: f64) -> f64 {
    const TERMS: [f64; 11] = inverse_factorials(1);
    let (n, power) = power_of_two(x);
    let rest = n.mul_add(LN_2[0], x);
    power.mul_add(rest * polynomial(rest, &TERMS), power - 1.0)
}

/// The hyperbolic tangent of `x` from `exp(-2 |x|) - 1`.
#[inline(always)]
fn tangent(less_one: f64, x: f64) -> f64 {
    (-less_one / (2.0 + less_one)).copysign(x)
}

pub(super) struct Exp;
impl Function for Exp {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_EXPONENT
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        exponential(x)
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        exponential_narrow(x)
    }
    fn exact(x: f64) -> f64 {
        x.exp()
    }
}

pub(super) struct Exp2;
impl Function for Exp2 {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= 1020.0
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let (rest, power) = beyond_integer(x);
        let high = rest * LN_2[0];
        let low = rest.mul_add(LN_2[1], rest.mul_add(LN_2[0], -high));
        (1.0 + (high + beyond_one(high, low))) * power
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        let (rest, power) = beyond_integer(x);
        series_narrow(rest * LN_2[0]) * power
    }
    fn exact(x: f64) -> f64 {
        x.exp2()
    }
}

pub(super) struct Sigmoid;
impl Function for Sigmoid {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_EXPONENT
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        1.0 / (1.0 + exponential(-x))
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        1.0 / (1.0 + exponential_narrow(-x))
    }
    fn exact(x: f64) -> f64 {
        // Below the limit `exp(-x)` may overflow where the result is subnormal; the 1 is nothing beside it.
        if x < -LARGE_EXPONENT { x.exp() } else { 1.0 / (1.0 + (-x).exp()) }
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
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        less_one_narrow(x)
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
        let value = tangent(less_one(-2.0 * x.abs()), x);
        if x.abs() < TINY { x } else { value }
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        tangent(less_one_narrow(-2.0 * x.abs()), x)
    }
    fn exact(x: f64) -> f64 {
        x.tanh()
    }
}

/// The hyperbolic sine of `x` from `exp(|x|) - 1`.
#[inline(always)]
fn sine(less_one: f64, x: f64) -> f64 {
    (0.5 * (less_one + less_one / (1.0 + less_one))).copysign(x)
}

pub(super) struct Sinh;
impl Function for Sinh {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_EXPONENT
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let value = sine(less_one(x.abs()), x);
        if x.abs() < TINY { x } else { value }
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        sine(less_one_narrow(x.abs()), x)
    }
    fn exact(x: f64) -> f64 {
        x.sinh()
    }
}

pub(super) struct Cosh;
impl Function for Cosh {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_EXPONENT
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let power = exponential(x.abs());
        0.5f64.mul_add(power, 0.5 / power)
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        let power = exponential_narrow(x.abs());
        0.5f64.mul_add(power, 0.5 / power)
    }
    fn exact(x: f64) -> f64 {
        x.cosh()
    }
}

pub(super) struct Silu;
impl Function for Silu {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_EXPONENT
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        x / (1.0 + exponential(-x))
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        x / (1.0 + exponential_narrow(-x))
    }
    fn exact(x: f64) -> f64 {
        special::silu(x)
    }
}

pub(super) struct Elu;
impl Function for Elu {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x >= -LARGE_EXPONENT
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        let below = Expm1::fast(x);
        if x < 0.0 { below } else { x }
    }
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        let below = less_one_narrow(x);
        if x < 0.0 { below } else { x }
    }
    fn exact(x: f64) -> f64 {
        if x < 0.0 { x.exp_m1() } else { x }
    }
}

pub(super) struct Softsign;
impl Function for Softsign {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= f64::MAX
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        x / (1.0 + x.abs())
    }
    fn exact(x: f64) -> f64 {
        special::softsign(x)
    }
}
