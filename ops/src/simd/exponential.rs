//! The exponential, the hyperbolic functions, and others that are made of these.

use super::float::Float;
use super::{Function, polynomial};
use crate::unary::special;

/// What exponentials of a type are made of.
pub(super) trait Exponentials: Sized + 'static {
    /// Up to this magnitude `exp` and its inverse are normal numbers.
    const LARGE: Self;
    /// Below this `exp(x) - 1` is -1.
    const NOTHING: Self;
    /// From here on `exp` is infinite, and its inverse from the second on 0.
    const OVER: Self;
    const UNDER: Self;
    /// Where `exp2` and its inverse are normal numbers.
    const LARGE_POWER: Self;
    /// From here on it is infinite, and its inverse 0.
    const UNDER_POWER: Self;
    /// ln(2) in two floats.
    const LN_2: [Self; 2];
    /// `(exp(x) - 1 - x) / x²` within ±ln(2)/2.
    const TERMS: &'static [Self];
    /// `e` to the power of `first + n · LN_2[1]` within ±ln(2)/2.
    fn exponential_of_rest(first: Self, n: Self) -> Self;
    /// Two to the power of `rest`, within ±½.
    fn power_of_rest(rest: Self) -> Self;
}

/// Taylor's terms `1 / k!` from 2 on: factorials of so few are exact.
const fn inverse_factorials<const N: usize>() -> [f64; N] {
    let (mut terms, mut factorial, mut i) = ([0.0; N], 1.0, 0);
    while i < N {
        factorial *= (i + 2) as f64;
        terms[i] = 1.0 / factorial;
        i += 1;
    }
    terms
}

impl Exponentials for f64 {
    const LARGE: f64 = 708.0;
    const NOTHING: f64 = -60.0;
    const OVER: f64 = 710.0;
    const UNDER: f64 = 746.0;
    const LARGE_POWER: f64 = 1020.0;
    const UNDER_POWER: f64 = 1080.0;
    const LN_2: [f64; 2] = [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17];
    const TERMS: &'static [f64] = &inverse_factorials::<12>();
    #[inline(always)]
    fn exponential_of_rest(first: f64, n: f64) -> f64 {
        let (high, tail) = parts_of_rest(first, n);
        1.0 + (high + tail)
    }
    #[inline(always)]
    fn power_of_rest(rest: f64) -> f64 {
        let high = rest * f64::LN_2[0];
        let low = rest.mul_add(f64::LN_2[1], rest.mul_add(f64::LN_2[0], -high));
        1.0 + (high + beyond_one(high, low))
    }
}

impl Exponentials for f32 {
    const LARGE: f32 = 87.0;
    const NOTHING: f32 = -30.0;
    const OVER: f32 = 89.0;
    const UNDER: f32 = 104.0;
    const LARGE_POWER: f32 = 125.0;
    const UNDER_POWER: f32 = 152.0;
    const LN_2: [f32; 2] = [std::f32::consts::LN_2, -1.904_654_3e-9];
    const TERMS: &'static [f32] = &[0.5, 0.166_665_76, 0.041_666_556, 0.008_363_195, 0.001_392_620_4];
    #[inline(always)]
    fn exponential_of_rest(first: f32, n: f32) -> f32 {
        let x = n.mul_add(f32::LN_2[1], first);
        x.mul_add(x.mul_add(polynomial(x, f32::TERMS), 1.0), 1.0)
    }
    #[inline(always)]
    fn power_of_rest(rest: f32) -> f32 {
        const TERMS: [f32; 6] =
            [f32::LN_2[0], 0.240_226_5, 0.055_503_57, 0.009_618_083, 0.001_339_086_3, 0.000_154_531_63];
        rest.mul_add(polynomial(rest, &TERMS), 1.0)
    }
}

/// `-n` of `2^n`, the power of two that is nearest to `e` to the power of `x`, and that `n`.
#[inline(always)]
fn nearest_power<R: Float>(x: R) -> (R, R) {
    let shifted = x.mul_add(R::of(std::f64::consts::LOG2_E), R::ROUND);
    (-(shifted - R::ROUND), shifted)
}

/// The power of two that is nearest to `e` to the power of `x`, as a shifted integer, and what is left of `x`: the sum of the second and
/// `LN_2[1]` times the third.
#[inline(always)]
fn rest<R: Float>(x: R) -> (R, R, R) {
    let (n, shifted) = nearest_power(x);
    (shifted, n.mul_add(R::LN_2[0], x), n)
}

/// Such a rest, and what `e` to the power of it has beyond it and one.
#[inline(always)]
fn parts_of_rest<R: Float>(first: R, n: R) -> (R, R) {
    let high = n.mul_add(R::LN_2[1], first);
    let low = n.mul_add(R::LN_2[1], first - high);
    (high, beyond_one(high, low))
}

/// `e` to the power of `x + low`, where `low` is small but may be greater than the rounding of `x`; of an `x` up to [`Exponentials::LARGE`].
#[inline(always)]
pub(super) fn reduced_exponential<R: Float>(x: R, low: R) -> R {
    let (n, shifted) = nearest_power(x);
    let first = n.mul_add(R::LN_2[0], x);
    // Either may be the greater: Knuth's sum.
    let second = n.mul_add(R::LN_2[1], low);
    let high = first + second;
    let moved = high - first;
    let low = (first - (high - moved)) + (second - moved);
    (R::ONE + (high + beyond_one(high, low))) * R::power_of_two(shifted)
}

/// What `e` to the power of `high + low` has beyond `1 + high`, by a polynomial.
#[inline(always)]
fn beyond_one<R: Float>(high: R, low: R) -> R {
    (high * high).mul_add(polynomial(high, R::TERMS), low)
}

/// `e` to the power of `x`, up to [`Exponentials::LARGE`].
#[inline(always)]
pub(super) fn exponential<R: Float>(x: R) -> R {
    let (shifted, first, n) = rest(x);
    R::exponential_of_rest(first, n) * R::power_of_two(shifted)
}

/// `exp(x) - 1` up to [`Exponentials::LARGE`], but for the sign of zero: as the exponential, of which the one is taken off before the power of two is put on.
#[inline(always)]
pub(super) fn less_one<R: Float>(x: R) -> R {
    let (shifted, first, n) = rest(if x < R::NOTHING { R::NOTHING } else { x });
    let (high, tail) = parts_of_rest(first, n);
    let power = R::power_of_two(shifted);
    // `power - 1` is exact for small exponents, and the sum with `power · high` is kept with its error.
    let (scaled, one_less) = (power * high, power - R::ONE);
    // (Dekker's sum: but where the power is 1, and nothing is lost, the first is the greater).
    let sum = one_less + scaled;
    sum + power.mul_add(tail, scaled - (sum - one_less))
}

pub(super) struct Exp;
impl Function for Exp {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::LARGE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        exponential(x)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        let value = if x >= R::OVER { R::infinity() } else { fast };
        if x <= -R::UNDER { R::ZERO } else { value }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.abs().between(R::LARGE, R::UNDER)
    }
    fn exact(x: f64) -> f64 {
        x.exp()
    }
}

pub(super) struct Exp2;
impl Function for Exp2 {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::LARGE_POWER)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let shifted = x + R::ROUND;
        // What is beyond the nearest integer is exact.
        R::power_of_rest(x - (shifted - R::ROUND)) * R::power_of_two(shifted)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        let value = if x >= R::UNDER_POWER { R::infinity() } else { fast };
        if x <= -R::UNDER_POWER { R::ZERO } else { value }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.abs().between(R::LARGE_POWER, R::UNDER_POWER)
    }
    fn exact(x: f64) -> f64 {
        x.exp2()
    }
}

/// Numerator and denominator of the logistic sigmoid of `x`, of the exponential of what is not above 0.
#[inline(always)]
fn logistic<R: Float>(x: R) -> (R, R) {
    let power = exponential(-x.abs());
    (if x < R::ZERO { power } else { R::ONE }, R::ONE + power)
}

pub(super) struct Sigmoid;
impl Function for Sigmoid {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::LARGE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let (above, below) = logistic(x);
        above / below
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        let value = if x >= R::LARGE { R::ONE } else { fast };
        if x <= -R::UNDER { R::ZERO } else { value }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        (-x).between(R::LARGE, R::UNDER)
    }
    fn exact(x: f64) -> f64 {
        // Below the limit `exp(-x)` may overflow where the result is subnormal; the 1 is nothing beside it.
        if x < -f64::LARGE { x.exp() } else { 1.0 / (1.0 + (-x).exp()) }
    }
}

pub(super) struct Expm1;
impl Function for Expm1 {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.not_up_to(R::LARGE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        less_one(x).copysign(x)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x >= R::OVER { R::infinity() } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.between(R::LARGE, R::OVER)
    }
    fn exact(x: f64) -> f64 {
        x.exp_m1()
    }
}

pub(super) struct Tanh;
impl Function for Tanh {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::infinity())
    }
    /// From `exp(-2 |x|) - 1`.
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let less_one = less_one(R::of(-2.0) * x.abs());
        (-less_one / (R::TWO + less_one)).copysign(x)
    }
    #[inline(always)]
    fn rare<R: Float>(_: R) -> R::Flag {
        R::Flag::default()
    }
    fn exact(x: f64) -> f64 {
        x.tanh()
    }
}

pub(super) struct Sinh;
impl Function for Sinh {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::LARGE)
    }
    /// From `exp(|x|) - 1`.
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let less_one = less_one(x.abs());
        (R::HALF * (less_one + less_one / (R::ONE + less_one))).copysign(x)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x.abs() >= R::OVER + R::ONE { R::infinity().copysign(x) } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.abs().between(R::LARGE, R::OVER + R::ONE)
    }
    fn exact(x: f64) -> f64 {
        x.sinh()
    }
}

pub(super) struct Cosh;
impl Function for Cosh {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::LARGE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let power = exponential(x.abs());
        R::HALF.mul_add(power, R::HALF / power)
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x.abs() >= R::OVER + R::ONE { R::infinity() } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        x.abs().between(R::LARGE, R::OVER + R::ONE)
    }
    fn exact(x: f64) -> f64 {
        x.cosh()
    }
}

pub(super) struct Silu;
impl Function for Silu {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        (x + R::LARGE).not_within(R::ZERO, R::TWO * R::LARGE)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let (above, below) = logistic(x);
        x * above / below
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        let value = if x >= R::LARGE { x } else { fast };
        if x <= -R::UNDER - R::of(14.0) { -R::ZERO } else { value }
    }
    #[inline(always)]
    fn rare<R: Float>(x: R) -> R::Flag {
        (-x).between(R::LARGE, R::UNDER + R::of(14.0))
    }
    fn exact(x: f64) -> f64 {
        special::silu(x)
    }
}

pub(super) struct Elu;
impl Function for Elu {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        (-x).not_up_to(R::infinity())
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        let below = less_one(x);
        if x < R::ZERO { below } else { x }
    }
    #[inline(always)]
    fn rare<R: Float>(_: R) -> R::Flag {
        R::Flag::default()
    }
    fn exact(x: f64) -> f64 {
        if x < 0.0 { x.exp_m1() } else { x }
    }
}

pub(super) struct Softsign;
impl Function for Softsign {
    #[inline(always)]
    fn outside<R: Float>(x: R) -> R::Flag {
        x.abs().not_up_to(R::MOST)
    }
    #[inline(always)]
    fn fast<R: Float>(x: R) -> R {
        x / (R::ONE + x.abs())
    }
    #[inline(always)]
    fn end<R: Float>(x: R, fast: R) -> R {
        if x.is_infinite() { R::ONE.copysign(x) } else { fast }
    }
    #[inline(always)]
    fn rare<R: Float>(_: R) -> R::Flag {
        R::Flag::default()
    }
    fn exact(x: f64) -> f64 {
        special::softsign(x)
    }
}
