//! Ops of one operand: the table, and what it says about each op.

pub(crate) mod coefficients;
pub(crate) mod complex;
pub mod special;
#[cfg(test)]
mod tests;

use self::complex::Wide;
use self::special::{Finite, Precise};
use crate::derivative::{Derivative, derivative, expr};
use crate::dtype::DType;
use crate::groups::{group, map_at_level, pick, unary_line};
use crate::registry::{Domain, Typing, UnaryKernel, typing};
use crate::simd::{self, complex as parts};

/// The bit of a float of half precision that is its sign.
const SIGN: u16 = 1 << 15;

fn copy(x: &[u8], out: &mut [u8]) {
    out.copy_from_slice(x);
}

/// Zero bytes: 0 of any dtype, and false.
fn zeros(_: &[u8], out: &mut [u8]) {
    out.fill(0);
}

fn trues(_: &[u8], out: &mut [u8]) {
    out.fill(1);
}

/// Makes the registry of the table: `$d` is a dollar sign, for the macro that this writes.
macro_rules! unary_table {
    ($d:tt $(
        #[doc = $doc:literal]
        $op:ident { name: $name:ident, domain: $domain:ident, typing: $typing:ident,
            derivative: $derivative:tt, kernels: {
            $($group:ident $kind:tt $kernel:expr),+ $(,)?
        } }
    )+) => {
        /// An op of one operand.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum UnaryOp { $(#[doc = $doc] $op),+ }

        impl UnaryOp {
            /// Every op, in the order of the table.
            pub const ALL: &'static [UnaryOp] = &[$(UnaryOp::$op),+];

            /// The name: that of the tensor's method.
            pub const fn name(self) -> &'static str {
                match self { $(UnaryOp::$op => stringify!($name)),+ }
            }

            /// One line of documentation.
            pub const fn doc(self) -> &'static str {
                match self { $(UnaryOp::$op => $doc.trim_ascii()),+ }
            }

            /// The finite values on which the op is tested.
            pub const fn domain(self) -> Domain {
                match self { $(UnaryOp::$op => Domain::$domain),+ }
            }

            /// What the op computes in and gives for a dtype; `None` if it is not defined for it.
            pub fn typing(self, dtype: DType) -> Option<Typing> {
                match self { $(UnaryOp::$op => typing::$typing(dtype)),+ }
            }

            /// What becomes of a gradient by the op's result.
            pub const fn derivative(self) -> Derivative {
                match self { $(UnaryOp::$op => const { derivative!($derivative) }),+ }
            }

            /// The kernel for a compute dtype that [`UnaryOp::typing`] gives; `None` for some others.
            pub fn kernel(self, compute: DType) -> Option<UnaryKernel> {
                match self { $(UnaryOp::$op => {
                    fn lookup(compute: DType) -> Option<UnaryKernel> {
                        $(unary_line!($kind $group, compute, $kernel);)+
                        None
                    }
                    lookup(compute)
                }),+ }
            }
        }

        /// Calls a macro with `(Variant, method_name, "doc"),` for every unary op, to declare
        /// something per op without naming the ops again.
        #[macro_export]
        macro_rules! for_each_unary {
            ($d($d callback:tt)+) => { $d($d callback)+! { $(($op, $name, $doc),)+ } };
        }
    };
}

unary_table! { $
    /// `-x`. Integers wrap.
    Neg { name: neg, domain: Any, typing: number,
        derivative: [Neg 1.0], kernels: {
        bits => |x| x.wrapping_neg(),
        half => |x| T::from_bits(x.to_bits() ^ SIGN),
        float => |x| -x,
        complex => |x| -x,
    } }
    /// The absolute value; real for complex `x`. Integers wrap.
    Abs { name: abs, domain: Any, typing: part,
        derivative: (pull [Mul g [Sign x]]), kernels: {
        bool: copy,
        unsigned: copy,
        signed => |x| x.wrapping_abs(),
        half => |x| T::from_bits(x.to_bits() & !SIGN),
        float => |x| x.abs(),
        complex by |x, out| map_at_level::<T, _>(x, out, Wide::norm),
    } }
    /// The sign: −1, 0 or 1, NaN for NaN; `x / |x|` for complex `x`.
    Sign { name: sign, domain: Any, typing: number,
        derivative: (complex [Where [Eq x 0.0] 0.0 [Div [Sub g [Mul y [Real [Mul [Conj y] g]]]] [Abs x]]]), kernels: {
        signed => |x| T::from(x > 0) - T::from(x < 0),
        unsigned => |x| T::from(x != 0),
        float by |x, out| map_at_level::<T, T>(x, out, |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x }),
        complex by |x, out| map_at_level::<T, _>(x, out, |x| x.through(complex::sign)),
    } }
    /// `x * x`. Integers wrap.
    Square { name: square, domain: Any, typing: any,
        derivative: [Mul 2.0 x], kernels: {
        bool: copy,
        bits => |x| x.wrapping_mul(x),
        float => |x| x * x,
        complex => |x| x * x,
    } }
    /// The square root; for complex `x` the one with a real part of at least 0.
    Sqrt { name: sqrt, domain: Positive, typing: inexact,
        derivative: [Div 0.5 y], kernels: {
        float by |x, out| map_at_level::<T, T>(x, out, T::sqrt),
        complex by parts::map::<T, parts::Sqrt>,
    } }
    /// `1 / sqrt(x)`.
    Rsqrt { name: rsqrt, domain: Positive, typing: inexact,
        derivative: [Neg [Mul 0.5 [Mul y [Square y]]]], kernels: {
        float by |x, out| map_at_level::<T, T>(x, out, |x| 1.0 / x.sqrt()),
        complex by parts::map::<T, parts::Rsqrt>,
    } }
    /// `1 / x`.
    Reciprocal { name: reciprocal, domain: Positive, typing: inexact,
        derivative: [Neg [Square y]], kernels: {
        float by |x, out| map_at_level::<T, T>(x, out, |x| 1.0 / x),
        complex by parts::map::<T, parts::Reciprocal>,
    } }
    /// `e` to the power of `x`.
    Exp { name: exp, domain: Any, typing: inexact,
        derivative: y, kernels: {
        f32: simd::exp_f32,
        f64: simd::exp_f64,
        complex by parts::map::<T, parts::Exp>,
    } }
    /// `2` to the power of `x`.
    Exp2 { name: exp2, domain: Any, typing: inexact,
        derivative: [Mul LN_2 y], kernels: {
        f32: simd::exp2_f32,
        f64: simd::exp2_f64,
        complex by parts::map::<T, parts::Exp2>,
    } }
    /// `exp(x) - 1`, accurate near 0.
    Expm1 { name: expm1, domain: Any, typing: inexact,
        derivative: [Add y 1.0], kernels: {
        f32: simd::expm1_f32,
        f64: simd::expm1_f64,
        complex by parts::map::<T, parts::Expm1>,
    } }
    /// The natural logarithm.
    Log { name: log, domain: Positive, typing: inexact,
        derivative: [Reciprocal x], kernels: {
        f32: simd::log_f32,
        f64: simd::log_f64,
        complex by parts::map::<T, parts::Log>,
    } }
    /// The logarithm to base 2.
    Log2 { name: log2, domain: Positive, typing: inexact,
        derivative: [Div LOG2_E x], kernels: {
        f32: simd::log2_f32,
        f64: simd::log2_f64,
        complex by parts::map::<T, parts::Log2>,
    } }
    /// The logarithm to base 10.
    Log10 { name: log10, domain: Positive, typing: inexact,
        derivative: [Div LOG10_E x], kernels: {
        f32: simd::log10_f32,
        f64: simd::log10_f64,
        complex by parts::map::<T, parts::Log10>,
    } }
    /// `log(1 + x)`, accurate near 0.
    Log1p { name: log1p, domain: Positive, typing: inexact,
        derivative: [Reciprocal [Add x 1.0]], kernels: {
        f32: simd::log1p_f32,
        f64: simd::log1p_f64,
        complex by parts::map::<T, parts::Log1p>,
    } }
    /// The sine.
    Sin { name: sin, domain: Any, typing: inexact,
        derivative: [Cos x], kernels: {
        f32: simd::sin_f32,
        f64: simd::sin_f64,
        complex by parts::map::<T, parts::Turned<parts::Sinh>>,
    } }
    /// The cosine.
    Cos { name: cos, domain: Any, typing: inexact,
        derivative: [Neg [Sin x]], kernels: {
        f32: simd::cos_f32,
        f64: simd::cos_f64,
        complex by parts::map::<T, parts::Cos>,
    } }
    /// The tangent.
    Tan { name: tan, domain: Any, typing: inexact,
        derivative: [Add 1.0 [Square y]], kernels: {
        f32: simd::tan_f32,
        f64: simd::tan_f64,
        complex by parts::map::<T, parts::Turned<parts::Tanh>>,
    } }
    /// The hyperbolic sine.
    Sinh { name: sinh, domain: Any, typing: inexact,
        derivative: [Cosh x], kernels: {
        f32: simd::sinh_f32,
        f64: simd::sinh_f64,
        complex by parts::map::<T, parts::Sinh>,
    } }
    /// The hyperbolic cosine.
    Cosh { name: cosh, domain: Any, typing: inexact,
        derivative: [Sinh x], kernels: {
        f32: simd::cosh_f32,
        f64: simd::cosh_f64,
        complex by parts::map::<T, parts::Cosh>,
    } }
    /// The hyperbolic tangent.
    Tanh { name: tanh, domain: Any, typing: inexact,
        derivative: [Sub 1.0 [Square y]], kernels: {
        f32: simd::tanh_f32,
        f64: simd::tanh_f64,
        complex by parts::map::<T, parts::Tanh>,
    } }
    /// The inverse of the sine: between −π/2 and π/2, NaN outside ±1; for complex `x` cut along the real axis outside ±1.
    Asin { name: asin, domain: Any, typing: inexact,
        derivative: [Rsqrt [Mul [Sub 1.0 x] [Add 1.0 x]]], kernels: {
        f32: simd::asin_f32,
        f64: simd::asin_f64,
        complex by parts::map::<T, parts::Asin>,
    } }
    /// The inverse of the cosine: between 0 and π, NaN outside ±1; for complex `x` cut as `asin`.
    Acos { name: acos, domain: Any, typing: inexact,
        derivative: [Neg [Rsqrt [Mul [Sub 1.0 x] [Add 1.0 x]]]], kernels: {
        f32: simd::acos_f32,
        f64: simd::acos_f64,
        complex by parts::map::<T, parts::Acos>,
    } }
    /// The inverse of the tangent: between −π/2 and π/2; for complex `x` cut along the imaginary axis outside ±i.
    Atan { name: atan, domain: Any, typing: inexact,
        derivative: [Reciprocal [Add 1.0 [Square x]]], kernels: {
        f32: simd::atan_f32,
        f64: simd::atan_f64,
        complex by parts::map::<T, parts::Turned<parts::Atanh>>,
    } }
    /// The inverse of the hyperbolic sine; for complex `x` cut along the imaginary axis outside ±i.
    Asinh { name: asinh, domain: Any, typing: inexact,
        derivative: [Rsqrt [Add 1.0 [Square x]]], kernels: {
        f32: simd::asinh_f32,
        f64: simd::asinh_f64,
        complex by parts::map::<T, parts::Turned<parts::Asin>>,
    } }
    /// The inverse of the hyperbolic cosine, NaN below 1; for complex `x` cut along the real axis below 1.
    Acosh { name: acosh, domain: Positive, typing: inexact,
        derivative: [Mul [Rsqrt [Sub x 1.0]] [Rsqrt [Add x 1.0]]], kernels: {
        f32: simd::acosh_f32,
        f64: simd::acosh_f64,
        complex by parts::map::<T, parts::Acosh>,
    } }
    /// The inverse of the hyperbolic tangent, NaN outside ±1; for complex `x` cut along the real axis outside ±1.
    Atanh { name: atanh, domain: Any, typing: inexact,
        derivative: [Reciprocal [Mul [Sub 1.0 x] [Add 1.0 x]]], kernels: {
        f32: simd::atanh_f32,
        f64: simd::atanh_f64,
        complex by parts::map::<T, parts::Atanh>,
    } }
    /// `x` in degrees, in radians: `x * (π / 180)`.
    Deg2rad { name: deg2rad, domain: Any, typing: inexact_real,
        derivative: 0.017453292519943295, kernels: {
        float => |x| x.to_radians(),
    } }
    /// `x` in radians, in degrees: `x * (180 / π)`.
    Rad2deg { name: rad2deg, domain: Any, typing: inexact_real,
        derivative: 57.29577951308232, kernels: {
        float => |x| x.to_degrees(),
    } }
    /// `1 / (1 + exp(-x))`.
    Sigmoid { name: sigmoid, domain: Any, typing: inexact_real,
        derivative: [Mul y [Sigmoid [Neg x]]], kernels: {
        f32: simd::sigmoid_f32,
        f64: simd::sigmoid_f64,
    } }
    /// A line for `sigmoid`: `x / 6 + 1 / 2`, at least 0 and at most 1.
    Hardsigmoid { name: hardsigmoid, domain: Any, typing: inexact_real,
        derivative: [Where [Lt [Abs x] 3.0] 0.16666666666666666 0.0], kernels: {
        float by |x, out| map_at_level::<T, T>(x, out, |x| if x.is_nan() { x } else { (x + 3.0).clamp(0.0, 6.0) / 6.0 }),
    } }
    /// `x / (1 + |x|)`; its limits ±1 for ±∞.
    Softsign { name: softsign, domain: Any, typing: inexact_real,
        derivative: [Reciprocal [Square [Add 1.0 [Abs x]]]], kernels: {
        f32: simd::softsign_f32,
        f64: simd::softsign_f64,
    } }
    /// `log(x / (1 - x))`, the inverse of `sigmoid`; NaN outside 0 to 1.
    Logit { name: logit, domain: Any, typing: inexact_real,
        derivative: [Where [Le [Abs [Sub x 0.5]] 0.5] [Reciprocal [Mul x [Sub 1.0 x]]] nan], kernels: {
        f32: simd::logit_f32,
        f64: simd::logit_f64,
    } }
    /// `log(1 + exp(x))`.
    Softplus { name: softplus, domain: Any, typing: inexact_real,
        derivative: [Sigmoid x], kernels: {
        f32: simd::softplus_f32,
        f64: simd::softplus_f64,
    } }
    /// `x * sigmoid(x)`; 0, its limit, for −∞.
    Silu { name: silu, domain: Any, typing: inexact_real,
        derivative: [Mul [Sigmoid x] [Add 1.0 [Mul x [Sigmoid [Neg x]]]]], kernels: {
        f32: simd::silu_f32,
        f64: simd::silu_f64,
    } }
    /// `x * (1 + erf(x / sqrt(2))) / 2`; 0, its limit, for −∞.
    Gelu { name: gelu, domain: Any, typing: inexact_real,
        derivative: [Add [Mul 0.5 [Erfc [Neg [Mul FRAC_1_SQRT_2 x]]]] [Mul [Mul 0.3989422804014327 x] [Exp [Neg [Mul 0.5 [Square x]]]]]], kernels: {
        f32: simd::gelu_f32,
        f64: simd::gelu_f64,
    } }
    /// `max(x, 0)`; NaN stays.
    Relu { name: relu, domain: Any, typing: real,
        derivative: [Where [Le x 0.0] 0.0 1.0], kernels: {
        bool: copy,
        unsigned: copy,
        signed => |x| x.max(0),
        float => |x| if x <= 0.0 { 0.0 } else { x },
    } }
    /// `x`, or `0.01 * x` below 0.
    LeakyRelu { name: leaky_relu, domain: Any, typing: inexact_real,
        derivative: [Where [Gt x 0.0] 1.0 0.01], kernels: {
        float => |x| if x < 0.0 { 0.01 * x } else { x },
    } }
    /// `x`, or `exp(x) - 1` below 0.
    Elu { name: elu, domain: Any, typing: inexact_real,
        derivative: [Where [Gt x 0.0] 1.0 [Exp x]], kernels: {
        f32: simd::elu_f32,
        f64: simd::elu_f64,
    } }
    /// The error function: `2 / sqrt(π)` times the integral of `exp(-t * t)` from 0 to `x`.
    Erf { name: erf, domain: Any, typing: inexact_real,
        derivative: [Mul FRAC_2_SQRT_PI [Exp [Neg [Square x]]]], kernels: {
        f32: simd::erf_f32,
        f64: simd::erf_f64,
    } }
    /// `1 - erf(x)`, accurate where `erf(x)` is almost 1.
    Erfc { name: erfc, domain: Any, typing: inexact_real,
        derivative: [Neg [Mul FRAC_2_SQRT_PI [Exp [Neg [Square x]]]]], kernels: {
        f32: simd::erfc_f32,
        f64: simd::erfc_f64,
    } }
    /// The inverse of `erf`; ±∞ for ±1, NaN outside.
    Erfinv { name: erfinv, domain: Any, typing: inexact_real,
        derivative: [Mul 0.886226925452758 [Exp [Square y]]], kernels: {
        f32: simd::erfinv_f32,
        f64: simd::erfinv_f64,
    } }
    /// The logarithm of the absolute value of the gamma function; ∞ at 0 and negative integers.
    Lgamma { name: lgamma, domain: Any, typing: inexact_real,
        derivative: [Digamma x], kernels: {
        f32: simd::lgamma_f32,
        f64: simd::lgamma_f64,
    } }
    /// The derivative of `lgamma`; ∓∞ at ±0 and NaN at negative integers.
    Digamma { name: digamma, domain: Any, typing: inexact_real,
        derivative: [Trigamma x], kernels: {
        float => |x| x.precisely(special::digamma),
    } }
    /// The greatest integer that is at most `x`.
    Floor { name: floor, domain: Any, typing: real_number,
        derivative: zero, kernels: {
        int: copy,
        f32: simd::floor_f32,
        f64: simd::floor_f64,
    } }
    /// The least integer that is at least `x`.
    Ceil { name: ceil, domain: Any, typing: real_number,
        derivative: zero, kernels: {
        int: copy,
        f32: simd::ceil_f32,
        f64: simd::ceil_f64,
    } }
    /// The integer part of `x`.
    Trunc { name: trunc, domain: Any, typing: real_number,
        derivative: zero, kernels: {
        int: copy,
        f32: simd::trunc_f32,
        f64: simd::trunc_f64,
    } }
    /// The nearest integer; the even one of two.
    Round { name: round, domain: Any, typing: real_number,
        derivative: zero, kernels: {
        int: copy,
        f32: simd::round_f32,
        f64: simd::round_f64,
    } }
    /// Whether `x`, or a part of it, is NaN.
    Isnan { name: isnan, domain: Any, typing: predicate,
        derivative: none, kernels: {
        exact: zeros,
        float by |x, out| map_at_level::<T, _>(x, out, T::is_nan),
        complex => |x| x.is_nan(),
    } }
    /// Whether `x`, or a part of it, is infinite.
    Isinf { name: isinf, domain: Any, typing: predicate,
        derivative: none, kernels: {
        exact: zeros,
        float by |x, out| map_at_level::<T, _>(x, out, T::is_infinite),
        complex => |x| x.re.is_infinite() || x.im.is_infinite(),
    } }
    /// Whether `x` is neither NaN nor infinite.
    Isfinite { name: isfinite, domain: Any, typing: predicate,
        derivative: none, kernels: {
        exact: trues,
        float by |x, out| map_at_level::<T, _>(x, out, T::is_finite),
        complex => |x| x.is_finite(),
    } }
    /// Whether `x` is ∞.
    Isposinf { name: isposinf, domain: Any, typing: real_predicate,
        derivative: none, kernels: {
        exact: zeros,
        float => |x| x == T::INFINITY,
    } }
    /// Whether `x` is −∞.
    Isneginf { name: isneginf, domain: Any, typing: real_predicate,
        derivative: none, kernels: {
        exact: zeros,
        float => |x| x == T::NEG_INFINITY,
    } }
    /// Whether the sign of `x` is minus: for floats the sign bit, that of −0 and NaN too.
    Signbit { name: signbit, domain: Any, typing: real_predicate,
        derivative: none, kernels: {
        bool: zeros,
        unsigned: zeros,
        signed => |x| x < 0,
        float by |x, out| map_at_level::<T, _>(x, out, T::is_sign_negative),
    } }
    /// `x` with 0 for NaN, and the greatest and the least finite number for ±∞; in each part of complex `x`.
    NanToNum { name: nan_to_num, domain: Any, typing: any,
        derivative: (pull [Where [Isfinite x] g 0.0]), kernels: {
        exact: copy,
        each_float => |x| x.finite(),
        complex => |x| T::new(x.re.finite(), x.im.finite()),
    } }
    /// Whether `x` is zero (false). NaN is not.
    LogicalNot { name: logical_not, domain: Any, typing: predicate,
        derivative: none, kernels: {
        bool => |x| !x,
        bits by |x, out| map_at_level::<T, _>(x, out, |x| x == 0),
        float by |x, out| map_at_level::<T, _>(x, out, |x| x == 0.0),
        complex => |x| x.re == 0.0 && x.im == 0.0,
    } }
    /// Every bit flipped; not, for bool.
    BitwiseNot { name: bitwise_not, domain: Any, typing: bits,
        derivative: none, kernels: {
        bool => |x| !x,
        bits => |x| !x,
    } }
    /// The angle of complex `x`, between −π and π; for real `x` π below 0, else 0.
    Angle { name: angle, domain: Any, typing: inexact_part,
        derivative: (complex [Where [Eq x 0.0] 0.0 [Mul g [Div i [Conj x]]]]), kernels: {
        float => |x| if x < 0.0 { std::f64::consts::PI as T } else if x.is_nan() { x } else { 0.0 },
        complex by simd::angle::<T>,
    } }
    /// The complex conjugate.
    Conj { name: conj, domain: Any, typing: any,
        derivative: (pull [Conj g]), kernels: {
        real: copy,
        complex => |x| x.conj(),
    } }
    /// The real part.
    Real { name: real, domain: Any, typing: part,
        derivative: (pull g), kernels: {
        real: copy,
        complex => |x| x.re,
    } }
    /// The imaginary part: 0 for real `x`.
    Imag { name: imag, domain: Any, typing: part,
        derivative: (pull [Mul i g]), kernels: {
        real: zeros,
        complex => |x| x.im,
    } }
}
