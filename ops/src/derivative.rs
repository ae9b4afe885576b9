//! Derivatives of the ops of the tables, as small expressions over other ops: nothing is compiled for them.
//!
//! Conventions are PyTorch's. For complex numbers the gradient of a real loss is its derivative by the real part plus `i`
//! times that by the imaginary part, so that a step against it descends; the cotangent of a holomorphic `f` is multiplied by
//! the conjugate of `f'`.

use crate::{BinaryOp, UnaryOp};

/// A function of an op's operands, of its result and of the cotangent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expr {
    /// The operand, or the left one of two.
    Left,
    /// The right operand.
    Right,
    /// The op's result.
    Out,
    /// The gradient by the op's result.
    Cotangent,
    /// A number of the dtype that is computed in.
    Number(f64),
    /// `i`; 0 in a real dtype.
    ImaginaryUnit,
    /// An op of one operand.
    Unary(UnaryOp, &'static Expr),
    /// An op of two.
    Binary(BinaryOp, &'static Expr, &'static Expr),
    /// The second where the first is true, else the third.
    Where(&'static Expr, &'static Expr, &'static Expr),
    /// The derivative of the digamma function.
    Trigamma(&'static Expr),
}

/// What becomes of the gradient by an op's result on its way to one of the operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Derivative {
    /// There is none: the result is no number that can vary, or jumps with the operand.
    None,
    /// It is lost: the op is constant between jumps.
    Zero,
    /// It is multiplied by the conjugate of this.
    Partial(&'static Expr),
    /// It becomes this, in which it occurs.
    Pullback(&'static Expr),
    /// Of complex numbers it becomes this; of real ones it is lost.
    OfComplex(&'static Expr),
}

/// An expression: `x` or `a`, `b`, `y` for the result, `g` for the cotangent, `i`, `nan`, a literal, a constant of
/// `std::f64::consts`, `[Op e]`, `[Op e e]`, `[Where e e e]`, `[Trigamma e]`.
macro_rules! expr {
    (x) => {
        $crate::derivative::Expr::Left
    };
    (a) => {
        $crate::derivative::Expr::Left
    };
    (b) => {
        $crate::derivative::Expr::Right
    };
    (y) => {
        $crate::derivative::Expr::Out
    };
    (g) => {
        $crate::derivative::Expr::Cotangent
    };
    (i) => {
        $crate::derivative::Expr::ImaginaryUnit
    };
    (nan) => {
        $crate::derivative::Expr::Number(f64::NAN)
    };
    ([Where $c:tt $a:tt $b:tt]) => {
        $crate::derivative::Expr::Where(&expr!($c), &expr!($a), &expr!($b))
    };
    ([Trigamma $a:tt]) => {
        $crate::derivative::Expr::Trigamma(&expr!($a))
    };
    ([$op:ident $a:tt]) => {
        $crate::derivative::Expr::Unary($crate::UnaryOp::$op, &expr!($a))
    };
    ([$op:ident $a:tt $b:tt]) => {
        $crate::derivative::Expr::Binary($crate::BinaryOp::$op, &expr!($a), &expr!($b))
    };
    ($n:literal) => {
        $crate::derivative::Expr::Number($n)
    };
    ($c:ident) => {
        $crate::derivative::Expr::Number(std::f64::consts::$c)
    };
}

/// A derivative: `none`, `zero`, `(pull e)`, `(complex e)`, or an expression for what the cotangent is multiplied by.
macro_rules! derivative {
    (none) => {
        $crate::derivative::Derivative::None
    };
    (zero) => {
        $crate::derivative::Derivative::Zero
    };
    ((pull $e:tt)) => {
        $crate::derivative::Derivative::Pullback(&expr!($e))
    };
    ((complex $e:tt)) => {
        $crate::derivative::Derivative::OfComplex(&expr!($e))
    };
    ($e:tt) => {
        $crate::derivative::Derivative::Partial(&expr!($e))
    };
}

pub(crate) use {derivative, expr};
