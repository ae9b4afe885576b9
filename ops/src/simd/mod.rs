//! Functions that are worth vector code of their own: an element at a time in plain Rust, compiled for
//! the CPU features that are detected at run time.
//!
//! A result depends on its element alone, not on the place in a block: each vector lane does the same
//! IEEE operations as the scalar code for the rest of a block, and both vector widths do the same.

mod ahead;
mod elementary;
mod level;
mod past;
mod power;
#[cfg(target_arch = "x86_64")]
pub(crate) mod quicksort;

pub(crate) use ahead::{
    Later, all_over, in_parts, in_stream, is_far, prefetch, prefetch_far, prefetch_stream, rows_all_over,
};
pub use level::{Level, gathers_are_slow, level, set_level, set_slow_gathers};
pub(crate) use level::{
    Loop, run as vectorised, run_above as vectorised_above, run_narrow as narrowly_vectorised,
    run_narrow_above as narrowly_vectorised_above,
};
pub use past::copy_past_caches;
pub use power::{pow_f32, pow_f64};

use std::marker::PhantomData;

use crate::dtype::Element;
use elementary::{Atan, Expm1, Log, Log1p, Tanh};

/// A function of a float whose common case is branch-free arithmetic with fused multiply-adds.
trait Function {
    /// Whether `fast` holds for an argument: for none that is NaN.
    fn within(x: f64) -> bool;
    fn fast(x: f64) -> f64;
    /// The same for an argument and a result of `f32`: within 2^-42 of itself, so that rounding is all but once.
    #[inline(always)]
    fn fast_narrow(x: f64) -> f64 {
        Self::fast(x)
    }
    /// For every other argument, and for CPUs without fused multiply-add.
    fn exact(x: f64) -> f64;
}

/// `f32` and `f64`; both are computed as `f64`.
trait Float: Element {
    fn wide(self) -> f64;
    fn round(wide: f64) -> Self;
    /// A function in as many digits as this type is worth.
    fn fast<F: Function>(x: f64) -> f64;
}

impl Float for f64 {
    #[inline(always)]
    fn wide(self) -> f64 {
        self
    }
    #[inline(always)]
    fn round(wide: f64) -> f64 {
        wide
    }
    #[inline(always)]
    fn fast<F: Function>(x: f64) -> f64 {
        F::fast(x)
    }
}

impl Float for f32 {
    #[inline(always)]
    fn wide(self) -> f64 {
        f64::from(self)
    }
    #[inline(always)]
    fn round(wide: f64) -> f32 {
        wide as f32
    }
    #[inline(always)]
    fn fast<F: Function>(x: f64) -> f64 {
        F::fast_narrow(x)
    }
}

/// Elements between two looks for arguments past the limit.
const CHUNK: usize = 256;

#[inline(always)]
fn run<F: Function, T: Float>(x: &[T], out: &mut [T]) {
    for (x, out) in x.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
        let mut beyond = 0u64;
        for (o, x) in out.iter_mut().zip(x) {
            let x = x.wide();
            beyond |= u64::from(!F::within(x));
            *o = T::round(T::fast::<F>(x));
        }
        if beyond != 0 {
            repair::<F, T>(x, out);
        }
    }
}

#[cold]
#[inline(never)]
fn repair<F: Function, T: Float>(x: &[T], out: &mut [T]) {
    for (o, x) in out.iter_mut().zip(x) {
        let x = x.wide();
        if !F::within(x) {
            *o = T::round(F::exact(x));
        }
    }
}

/// [`run`] over a block.
struct Fast<'a, F, T> {
    x: &'a [T],
    out: &'a mut [T],
    function: PhantomData<F>,
}

impl<F: Function, T: Float> Loop for Fast<'_, F, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        run::<F, T>(self.x, self.out);
    }
}

fn apply<F: Function, T: Float>(x: &[u8], out: &mut [u8]) {
    let (x, out) = (T::from_bytes(x), T::from_bytes_mut(out));
    debug_assert_eq!(x.len(), out.len());
    // Fused multiply-add is part of every level but that of plain x86-64.
    if level() > Level::Baseline || cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
        vectorised(Fast { x, out, function: PhantomData::<F> });
    } else {
        for (o, x) in out.iter_mut().zip(x) {
            *o = T::round(F::exact(x.wide()));
        }
    }
}

/// Adding this to a number below 2^51 rounds it to an integer, half to even, which the low bits of the
/// sum hold in two's complement.
const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// `c[0] + x * (c[1] + x * (…))`.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, coefficients[i]);
    }
    sum
}

/// The quadrant of `x` (modulo 4, in the low bits) and what is left of it, as a sum of two floats, the
/// first within ±π/4 and the second below its rounding. Cody and Waite's reduction: π/2 in three floats,
/// of which the first product cancels without rounding.
#[inline(always)]
fn reduce_angle(x: f64) -> (u64, f64, f64) {
    const FRAC_PI_2: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123_233_995_736_766e-17, -1.497_384_904_859_169_8e-33];
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
    const FIRST: f64 = -0.166_666_666_666_666_32;
    const REST: [f64; 5] = [
        8.333_333_333_322_49e-3,
        -1.984_126_982_985_795e-4,
        2.755_731_370_707_006_8e-6,
        -2.505_076_025_340_686_3e-8,
        1.589_690_995_211_55e-10,
    ];
    let square = x * x;
    let cube = square * x;
    let tail = 0.5f64.mul_add(low, -(cube * polynomial(square, &REST)));
    x - cube.mul_add(-FIRST, square.mul_add(tail, -low))
}

/// The cosine of `x + low` for `x` within ±π/4: the polynomial of fdlibm's `__kernel_cos`.
#[inline(always)]
fn cos_polynomial(x: f64, low: f64) -> f64 {
    const REST: [f64; 6] = [
        4.166_666_666_666_66e-2,
        -1.388_888_888_887_411e-3,
        2.480_158_728_947_673e-5,
        -2.755_731_435_139_066_3e-7,
        2.087_572_321_298_175e-9,
        -1.135_964_755_778_819_5e-11,
    ];
    let square = x * x;
    let half = 0.5 * square;
    let head = 1.0 - half;
    let tail = square.mul_add(square * polynomial(square, &REST), -(x * low));
    head + (((1.0 - head) - half) + tail)
}

/// The sine of the angle moved on by `quadrants`.
#[inline(always)]
fn sine(x: f64, quadrants: u64) -> f64 {
    let (quadrant, x, low) = reduce_angle(x);
    let quadrant = quadrant.wrapping_add(quadrants);
    let (sin, cos) = (sin_polynomial(x, low), cos_polynomial(x, low));
    let value = if quadrant & 1 == 0 { sin } else { cos };
    f64::from_bits(value.to_bits() ^ ((quadrant & 2) << 62))
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
fn exponent(x: f64) -> (f64, f64, f64) {
    let (n, power) = power_of_two(x);
    let first = n.mul_add(LN_2[0], x);
    let high = n.mul_add(LN_2[1], first);
    let low = n.mul_add(LN_2[1], first - high);
    (power, high, beyond_one(high, low))
}

/// `e` to the power of `x + low`, where `low` is small but may be greater than the rounding of `x`.
#[inline(always)]
fn reduced_exponential(x: f64, low: f64) -> f64 {
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
fn exponential(x: f64) -> f64 {
    let (power, high, tail) = exponent(x);
    (1.0 + (high + tail)) * power
}

/// `e` to the power of `x`, where `f32` is wanted: eleven terms of the series.
#[inline(always)]
fn exponential_narrow(x: f64) -> f64 {
    const TERMS: [f64; 11] = inverse_factorials(0);
    let (n, power) = power_of_two(x);
    polynomial(n.mul_add(LN_2[0], x), &TERMS) * power
}

/// Reducing a larger angle takes π to more digits.
const LARGE_ANGLE: f64 = 1_048_576.0;

/// Up to here results and powers of two stay normal numbers.
const LARGE_EXPONENT: f64 = 708.0;

struct Sin;
impl Function for Sin {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_ANGLE
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        sine(x, 0)
    }
    fn exact(x: f64) -> f64 {
        x.sin()
    }
}

struct Cos;
impl Function for Cos {
    #[inline(always)]
    fn within(x: f64) -> bool {
        x.abs() <= LARGE_ANGLE
    }
    #[inline(always)]
    fn fast(x: f64) -> f64 {
        sine(x, 1)
    }
    fn exact(x: f64) -> f64 {
        x.cos()
    }
}

struct Exp;
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

struct Sigmoid;
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

macro_rules! functions {
    ($($function:ident, $what:literal: $f32:ident $f64:ident;)+) => {$(
        #[doc = concat!("The ", $what, " of a block of `f32`: computed in `f64` and rounded once.")]
        pub fn $f32(x: &[u8], out: &mut [u8]) {
            apply::<$function, f32>(x, out);
        }
        #[doc = concat!("The ", $what, " of a block of `f64`.")]
        pub fn $f64(x: &[u8], out: &mut [u8]) {
            apply::<$function, f64>(x, out);
        }
    )+};
}

functions! {
    Sin, "sine": sin_f32 sin_f64;
    Cos, "cosine": cos_f32 cos_f64;
    Exp, "exponential": exp_f32 exp_f64;
    Sigmoid, "logistic sigmoid": sigmoid_f32 sigmoid_f64;
    Log, "natural logarithm": log_f32 log_f64;
    Log1p, "logarithm of one more": log1p_f32 log1p_f64;
    Expm1, "exponential less one": expm1_f32 expm1_f64;
    Tanh, "hyperbolic tangent": tanh_f32 tanh_f64;
    Atan, "inverse tangent": atan_f32 atan_f64;
}

/// Rounding functions: one instruction where the CPU has SSE4.1, a call per element else.
macro_rules! roundings {
    ($($name:ident: $ty:ty => $method:ident;)+) => {$(
        #[doc = concat!("`", stringify!($method), "` of each of a block of `", stringify!($ty), "`.")]
        pub fn $name(x: &[u8], out: &mut [u8]) {
            struct Rounded<'a>(&'a [$ty], &'a mut [$ty]);
            impl Loop for Rounded<'_> {
                type Output = ();
                #[inline(always)]
                fn run(self) {
                    for (o, x) in self.1.iter_mut().zip(self.0) {
                        *o = x.$method();
                    }
                }
            }
            let (x, out) = (<$ty>::from_bytes(x), <$ty>::from_bytes_mut(out));
            debug_assert_eq!(x.len(), out.len());
            narrowly_vectorised(Rounded(x, out));
        }
    )+};
}

roundings! {
    floor_f32: f32 => floor;
    floor_f64: f64 => floor;
    ceil_f32: f32 => ceil;
    ceil_f64: f64 => ceil;
    trunc_f32: f32 => trunc;
    trunc_f64: f64 => trunc;
    round_f32: f32 => round_ties_even;
    round_f64: f64 => round_ties_even;
}

#[cfg(test)]
mod tests;
