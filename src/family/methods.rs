//! One method per registered op of one and of two operands, and the operators.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use openwork_ops::{BinaryOp, Number, Scalar, UnaryOp, bf16, c64, c128, f16, for_each_binary, for_each_unary};

use crate::base::error::Result;
use crate::family::pointwise::Operand;
use crate::tensor::Tensor;

macro_rules! unary_methods {
    ($(($op:ident, $name:ident, $doc:literal),)*) => {
        /// # Computing: functions of each element
        ///
        /// See [`Tensor::unary`] for fill, cost and errors.
        impl Tensor {
            $(
                #[doc = $doc]
                #[doc = example!($name)]
                ///
                /// # Errors
                /// As [`Tensor::unary`].
                pub fn $name(&self) -> Result<Tensor> {
                    self.unary(UnaryOp::$op)
                }
            )*
        }
    };
}
for_each_unary!(unary_methods);

macro_rules! binary_methods {
    ($(($op:ident, $name:ident, $doc:literal),)*) => {
        /// # Computing: functions of two tensors, or of a tensor and a number
        ///
        /// Shapes broadcast and dtypes promote: see [`Tensor::binary`] for fill, cost and errors.
        impl Tensor {
            $(
                #[doc = $doc]
                #[doc = example!($name)]
                ///
                /// # Errors
                /// As [`Tensor::binary`].
                pub fn $name<'a>(&self, other: impl Into<Operand<'a>>) -> Result<Tensor> {
                    self.binary(BinaryOp::$op, other)
                }
            )*
        }
    };
}
for_each_binary!(binary_methods);

/// What an operator takes on its right: a tensor, a number, or the `Result` of an expression. With a tensor on the
/// right, the left may be a `Result` too, so that `(&a + &b) * &c` needs one `?` at its end.
pub trait IntoOperand<'a> {
    /// The operand, or the error of the expression that was to give it.
    fn into_operand(self) -> Result<Operand<'a>>;
}

macro_rules! into_operand {
    ($($ty:ty),*) => {$(
        impl<'a> IntoOperand<'a> for $ty {
            fn into_operand(self) -> Result<Operand<'a>> {
                Ok(self.into())
            }
        }
    )*};
}
into_operand!(Tensor, &'a Tensor, Scalar, bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128);

impl<'a> IntoOperand<'a> for Result<Tensor> {
    fn into_operand(self) -> Result<Operand<'a>> {
        self.map(Into::into)
    }
}

macro_rules! operator {
    ($($trait:ident $method:ident $op:ident),* $(,)?) => {$(
        impl<'a, R: IntoOperand<'a>> $trait<R> for &Tensor {
            type Output = Result<Tensor>;
            fn $method(self, other: R) -> Result<Tensor> {
                self.binary(BinaryOp::$op, other.into_operand()?)
            }
        }
        impl<'a, R: IntoOperand<'a>> $trait<R> for Tensor {
            type Output = Result<Tensor>;
            fn $method(self, other: R) -> Result<Tensor> {
                self.binary(BinaryOp::$op, other.into_operand()?)
            }
        }
        impl $trait<&Tensor> for Result<Tensor> {
            type Output = Result<Tensor>;
            fn $method(self, other: &Tensor) -> Result<Tensor> {
                self?.binary(BinaryOp::$op, other)
            }
        }
        impl $trait<Tensor> for Result<Tensor> {
            type Output = Result<Tensor>;
            fn $method(self, other: Tensor) -> Result<Tensor> {
                self?.binary(BinaryOp::$op, other)
            }
        }
    )*};
}

operator! {
    Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Remainder,
    BitAnd bitand BitwiseAnd, BitOr bitor BitwiseOr, BitXor bitxor BitwiseXor,
    Shl shl BitwiseLeftShift, Shr shr BitwiseRightShift,
}

/// Operators with a number on the left: `1.0 - &x`. Numbers are weak, so one type of each kind says all; a second one would
/// leave the type of a literal open, and `(1.0 - &x)?` would not compile without a suffix.
macro_rules! operator_from_number {
    ($($ty:ty),*) => {$(
        operator_from_number!($ty: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div);
    )*};
    ($ty:ty: $($trait:ident $method:ident $op:ident),*) => {$(
        impl $trait<&Tensor> for $ty {
            type Output = Result<Tensor>;
            fn $method(self, other: &Tensor) -> Result<Tensor> {
                other.binary_from(BinaryOp::$op, Number::from(self))
            }
        }
        impl $trait<Tensor> for $ty {
            type Output = Result<Tensor>;
            fn $method(self, other: Tensor) -> Result<Tensor> {
                other.binary_from(BinaryOp::$op, Number::from(self))
            }
        }
    )*};
}
operator_from_number!(i64, f64, Scalar);

impl Neg for &Tensor {
    type Output = Result<Tensor>;
    fn neg(self) -> Result<Tensor> {
        self.unary(UnaryOp::Neg)
    }
}

impl Neg for Tensor {
    type Output = Result<Tensor>;
    fn neg(self) -> Result<Tensor> {
        self.unary(UnaryOp::Neg)
    }
}

impl Not for &Tensor {
    type Output = Result<Tensor>;
    fn not(self) -> Result<Tensor> {
        self.unary(UnaryOp::BitwiseNot)
    }
}

impl Not for Tensor {
    type Output = Result<Tensor>;
    fn not(self) -> Result<Tensor> {
        self.unary(UnaryOp::BitwiseNot)
    }
}
