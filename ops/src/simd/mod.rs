//! Functions that are worth vector code of their own: an element at a time in plain Rust, compiled for
//! the CPU features that are detected at run time.
//!
//! A result depends on its element alone, not on the place in a block: each vector lane does the same
//! IEEE operations as the scalar code for the rest of a block, and both vector widths do the same.

mod ahead;
mod angles;
mod arc;
pub(crate) mod complex;
mod error;
mod exponential;
mod float;
mod gamma;
mod halves;
#[cfg(target_arch = "x86_64")]
mod key_lanes;
mod level;
mod logarithm;
mod pairs;
mod past;
mod power;
#[cfg(target_arch = "x86_64")]
pub(crate) mod quicksort;
mod quotients;

pub(crate) use ahead::{
    Later, all_over, in_parts, in_stream, is_far, prefetch, prefetch_far, prefetch_stream, rows_all_over,
};
pub(crate) use halves::Half;
pub use level::{Level, gathers_are_slow, level, set_level, set_slow_gathers};
pub(crate) use level::{
    Loop, lie_together, run as vectorised, run_above as vectorised_above, run_narrow as narrowly_vectorised,
    run_narrow_above as narrowly_vectorised_above,
};
pub(crate) use pairs::angle;
pub use pairs::{
    atan2_f32, atan2_f64, floor_divide_f32, floor_divide_f64, fmod_f32, fmod_f64, hypot_f32, hypot_f64, logaddexp_f32,
    logaddexp_f64, pow_f32, pow_f64, remainder_f32, remainder_f64, xlogy_f32, xlogy_f64,
};
pub use past::copy_past_caches;

use std::marker::PhantomData;

use crate::dtype::Element;
use angles::{Cos, Sin, Tan};
use arc::{Acos, Asin, Atan};
use error::{Erf, Erfc, Erfinv, Gelu};
use exponential::{Cosh, Elu, Exp, Exp2, Expm1, Sigmoid, Silu, Sinh, Softsign, Tanh};
use float::Float;
use gamma::Lgamma;
use logarithm::{Acosh, Asinh, Atanh, Log, Log1p, Log2, Log10, Logit, Softplus};

/// A function of a float whose common case is branch-free arithmetic with fused multiply-adds.
trait Function {
    /// A flag of each argument for which `fast` does not hold: of all that are NaN.
    fn outside<R: Float>(x: R) -> R::Flag;
    fn fast<R: Float>(x: R) -> R;
    /// What it is where its ends are, which many arguments may be: zeros, infinities, and all for which it is 0, infinite or not a number. Of
    /// others what `fast` gave. NaN need not be thought of.
    #[inline(always)]
    fn end<R: Float>(_x: R, fast: R) -> R {
        fast
    }
    /// A flag of each argument that is not NaN for which neither holds: few, so that they are taken one by one. Others may have it if `exact` gives
    /// the same bits.
    fn rare<R: Float>(x: R) -> R::Flag;
    /// For these, and for CPUs without fused multiply-add.
    fn exact(x: f64) -> f64;
}

/// Elements between two looks for arguments for which [`Function::fast`] does not hold.
const CHUNK: usize = 256;

#[inline(always)]
fn run<F: Function, R: Float>(x: &[R], out: &mut [R]) {
    for (x, out) in x.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
        let mut outside = R::Flag::default();
        for (o, &x) in out.iter_mut().zip(x) {
            outside = outside | F::outside(x);
            *o = F::fast(x);
        }
        if outside != R::Flag::default() {
            mend::<F, R>(x, out);
        }
    }
}

/// Takes the arguments for which `fast` does not hold, for a chunk of its results.
#[inline(always)]
fn mend<F: Function, R: Float>(x: &[R], out: &mut [R]) {
    let mut rare = R::Flag::default();
    for (o, &x) in out.iter_mut().zip(x) {
        rare = rare | F::rare(x);
        let end = F::end(x, *o);
        *o = if x.is_nan() { x } else { end };
    }
    if rare != R::Flag::default() {
        repair::<F, R>(x, out);
    }
}

#[cold]
#[inline(never)]
fn repair<F: Function, R: Float>(x: &[R], out: &mut [R]) {
    for (o, &x) in out.iter_mut().zip(x) {
        if F::rare(x) != R::Flag::default() {
            *o = R::of(F::exact(x.wide()));
        }
    }
}

/// [`run`] over a block.
struct Fast<'a, F, R> {
    x: &'a [R],
    out: &'a mut [R],
    function: PhantomData<F>,
}

impl<F: Function, R: Float> Loop for Fast<'_, F, R> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        run::<F, R>(self.x, self.out);
    }
}

fn apply<F: Function, R: Float>(x: &[u8], out: &mut [u8]) {
    let (x, out) = (R::from_bytes(x), R::from_bytes_mut(out));
    debug_assert_eq!(x.len(), out.len());
    if let Err(work) = above_baseline(Fast { x, out, function: PhantomData::<F> }) {
        for (o, x) in work.out.iter_mut().zip(work.x) {
            *o = R::of(F::exact(x.wide()));
        }
    }
}

/// Runs a loop that takes fused multiply-adds, or gives it back where there are none: they are part of every level but that of plain x86-64.
#[inline(always)]
fn above_baseline<L: Loop<Output = ()>>(work: L) -> Result<(), L> {
    let Err(work) = vectorised_above(work) else { return Ok(()) };
    if !cfg!(any(target_arch = "aarch64", target_feature = "fma")) {
        return Err(work);
    }
    work.run();
    Ok(())
}

/// `c[0] + x * (c[1] + x * (…))`.
#[inline(always)]
fn polynomial<R: Float>(x: R, coefficients: &[R]) -> R {
    let mut sum = coefficients[coefficients.len() - 1];
    let mut i = coefficients.len() - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, coefficients[i]);
    }
    sum
}

macro_rules! functions {
    ($($function:ident, $what:literal: $f32:ident $f64:ident;)+) => {$(
        #[doc = concat!("The ", $what, " of a block of `f32`.")]
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
    Tan, "tangent": tan_f32 tan_f64;
    Asin, "inverse sine": asin_f32 asin_f64;
    Acos, "inverse cosine": acos_f32 acos_f64;
    Atan, "inverse tangent": atan_f32 atan_f64;
    Exp, "exponential": exp_f32 exp_f64;
    Exp2, "power of two": exp2_f32 exp2_f64;
    Expm1, "exponential less one": expm1_f32 expm1_f64;
    Log, "natural logarithm": log_f32 log_f64;
    Log2, "logarithm to base 2": log2_f32 log2_f64;
    Log10, "logarithm to base 10": log10_f32 log10_f64;
    Log1p, "logarithm of one more": log1p_f32 log1p_f64;
    Sinh, "hyperbolic sine": sinh_f32 sinh_f64;
    Cosh, "hyperbolic cosine": cosh_f32 cosh_f64;
    Tanh, "hyperbolic tangent": tanh_f32 tanh_f64;
    Asinh, "inverse hyperbolic sine": asinh_f32 asinh_f64;
    Acosh, "inverse hyperbolic cosine": acosh_f32 acosh_f64;
    Atanh, "inverse hyperbolic tangent": atanh_f32 atanh_f64;
    Sigmoid, "logistic sigmoid": sigmoid_f32 sigmoid_f64;
    Logit, "inverse of the sigmoid": logit_f32 logit_f64;
    Softplus, "logarithm of one more than the exponential": softplus_f32 softplus_f64;
    Softsign, "quotient by one more than its magnitude": softsign_f32 softsign_f64;
    Silu, "product with its sigmoid": silu_f32 silu_f64;
    Gelu, "product with the normal distribution": gelu_f32 gelu_f64;
    Elu, "exponential linear unit": elu_f32 elu_f64;
    Erf, "error function": erf_f32 erf_f64;
    Erfc, "complementary error function": erfc_f32 erfc_f64;
    Erfinv, "inverse of the error function": erfinv_f32 erfinv_f64;
    Lgamma, "logarithm of the gamma function": lgamma_f32 lgamma_f64;
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
