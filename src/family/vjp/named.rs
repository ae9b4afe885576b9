//! Functions by the names of ops.

use openwork_ops::{BinaryOp, ReduceOp, UnaryOp};

use super::gradient::{Gradient, Gradients};
use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::family::pointwise::Operand;
use crate::tensor::Tensor;

macro_rules! named {
    (unary: $($name:ident $op:ident),+; binary: $($two:ident $binary:ident),+; reduce: $($fold:ident $reduce:ident),+;) => {
        $(
            #[doc = concat!("[`unary`](super::unary) of [`", stringify!($name), "`](Tensor::", stringify!($name), ").")]
            ///
            /// # Errors
            /// As [`unary`](super::unary).
            pub fn $name(x: &Tensor, cotangent: &Tensor) -> Result<Gradient> {
                super::unary(UnaryOp::$op, x, cotangent)
            }
        )+
        $(
            #[doc = concat!("[`binary`](super::binary) of [`", stringify!($two), "`](Tensor::", stringify!($two), ").")]
            ///
            /// # Errors
            /// As [`binary`](super::binary).
            pub fn $two<'a>(a: &Tensor, b: impl Into<Operand<'a>>, cotangent: &Tensor) -> Result<Gradients> {
                super::binary(BinaryOp::$binary, a, b, cotangent)
            }
        )+
        $(
            #[doc = concat!("[`reduce`](super::reduce()) by [`", stringify!($fold), "`](Tensor::", stringify!($fold), ").")]
            ///
            /// # Errors
            /// As [`reduce`](super::reduce()).
            pub fn $fold(x: &Tensor, axes: impl Into<Axes>, cotangent: &Tensor) -> Result<Gradient> {
                super::reduce(ReduceOp::$reduce, x, axes, cotangent)
            }
        )+

        /// The ops that have a function of their name.
        #[cfg(test)]
        pub(super) const NAMED: (&[UnaryOp], &[BinaryOp]) = (&[$(UnaryOp::$op),+], &[$(BinaryOp::$binary),+]);
    };
}

named! {
    unary: neg Neg, abs Abs, square Square, sqrt Sqrt, rsqrt Rsqrt, reciprocal Reciprocal, exp Exp, exp2 Exp2,
        expm1 Expm1, log Log, log2 Log2, log10 Log10, log1p Log1p, sin Sin, cos Cos, tan Tan, sinh Sinh, cosh Cosh,
        tanh Tanh, asin Asin, acos Acos, atan Atan, asinh Asinh, acosh Acosh, atanh Atanh, deg2rad Deg2rad,
        rad2deg Rad2deg, sigmoid Sigmoid, hardsigmoid Hardsigmoid, softsign Softsign, logit Logit, softplus Softplus,
        silu Silu, gelu Gelu, relu Relu, leaky_relu LeakyRelu, elu Elu, erf Erf, erfc Erfc, erfinv Erfinv,
        lgamma Lgamma, digamma Digamma, nan_to_num NanToNum, conj Conj, real Real, imag Imag, sign Sign, angle Angle;
    binary: add Add, sub Sub, mul Mul, div Div, pow Pow, remainder Remainder, fmod Fmod, maximum Maximum,
        minimum Minimum, fmax Fmax, fmin Fmin, atan2 Atan2, hypot Hypot, copysign Copysign, logaddexp Logaddexp,
        xlogy Xlogy, heaviside Heaviside;
    reduce: sum Sum, mean Mean, prod Prod, max Max, min Min;
}

#[cfg(test)]
mod tests {
    use openwork_ops::derivative::Derivative;
    use openwork_ops::{BinaryOp, UnaryOp};

    use super::NAMED;

    #[test]
    fn every_op_whose_gradient_is_not_lost_has_its_name() {
        let varies = |d: Derivative| !matches!(d, Derivative::None | Derivative::Zero);
        for &op in UnaryOp::ALL {
            assert_eq!(NAMED.0.contains(&op), varies(op.derivative()), "{op:?}");
        }
        for &op in BinaryOp::ALL {
            assert_eq!(NAMED.1.contains(&op), op.derivatives().into_iter().any(varies), "{op:?}");
        }
    }
}
