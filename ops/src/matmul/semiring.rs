//! Semirings: how terms of a product are multiplied and added.

use crate::binary::BinaryOp;
use crate::dtype::DType;
use crate::reduce::{ReduceKernels, ReduceOp};
use crate::registry::{BinaryKernel, Side};
use crate::scalar::Scalar;

/// The sum ⊕ of a semiring: associative, commutative, with an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Plus {
    /// `a + b`; or, for bool.
    Sum,
    /// `a * b`; and, for bool.
    Prod,
    /// The lesser; NaN if one is.
    Min,
    /// The greater; NaN if one is.
    Max,
    /// Whether one is not zero.
    Or,
    /// Whether both are not zero.
    And,
    /// Whether one of two bools is true, and the other is not.
    Xor,
}

impl Plus {
    /// Every sum.
    pub const ALL: [Plus; 7] = [Plus::Sum, Plus::Prod, Plus::Min, Plus::Max, Plus::Or, Plus::And, Plus::Xor];

    /// The name in that of a semiring: `plus`, `times`, `min`, `max`, `or`, `and`, `xor`.
    ///
    /// ```
    /// use openwork_ops::matmul::Plus;
    /// assert_eq!(Plus::ALL.map(Plus::name), ["plus", "times", "min", "max", "or", "and", "xor"]);
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Plus::Sum => "plus",
            Plus::Prod => "times",
            Plus::Min => "min",
            Plus::Max => "max",
            Plus::Or => "or",
            Plus::And => "and",
            Plus::Xor => "xor",
        }
    }

    /// The fold of elements of `dtype`, and the dtype of what it gives; `None` if it is not defined for them.
    pub(super) fn fold(self, dtype: DType) -> Option<(ReduceKernels, DType)> {
        let (op, out) = match (self, dtype) {
            (Plus::Sum, DType::Bool) | (Plus::Or, _) => (ReduceOp::Any, DType::Bool),
            (Plus::Prod, DType::Bool) | (Plus::And, _) => (ReduceOp::All, DType::Bool),
            (Plus::Xor, DType::Bool) | (Plus::Sum, _) => (ReduceOp::Sum, dtype),
            (Plus::Xor, _) => return None,
            (Plus::Prod, _) => (ReduceOp::Prod, dtype),
            (Plus::Min, _) => (ReduceOp::Min, dtype),
            (Plus::Max, _) => (ReduceOp::Max, dtype),
        };
        Some((op.kernels(op.typing(dtype)?)?, out))
    }
}

/// The product ⊗ of a semiring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Times {
    /// An op of the registry.
    Op(BinaryOp),
    /// The element of the left operand.
    First,
    /// The element of the right operand.
    Second,
    /// 1 for each pair that meets, as `int64` for bool.
    Pair,
}

impl From<BinaryOp> for Times {
    fn from(op: BinaryOp) -> Times {
        Times::Op(op)
    }
}

/// How a product is computed of pairs of elements of two dtypes that were promoted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pairs {
    Kernel(BinaryKernel),
    Left,
    Right,
    One,
}

impl Times {
    /// The name in that of a semiring: `times`, `plus`, `first`, …; of other ops that of their method.
    ///
    /// ```
    /// use openwork_ops::BinaryOp;
    /// use openwork_ops::matmul::Times;
    /// assert_eq!([Times::First.name(), Times::Op(BinaryOp::Mul).name(), Times::Op(BinaryOp::Hypot).name()], ["first", "times", "hypot"]);
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            Times::Op(BinaryOp::Mul) => "times",
            Times::Op(BinaryOp::Add) => "plus",
            Times::Op(BinaryOp::Minimum) => "min",
            Times::Op(BinaryOp::Maximum) => "max",
            Times::Op(BinaryOp::LogicalAnd) => "and",
            Times::Op(BinaryOp::LogicalOr) => "or",
            Times::Op(op) => op.name(),
            Times::First => "first",
            Times::Second => "second",
            Times::Pair => "pair",
        }
    }

    /// What operands of a dtype are cast to, what of them is made, and how.
    pub(super) fn of(self, dtype: DType) -> Option<(DType, DType, Pairs)> {
        match self {
            Times::Op(op) => {
                let typing = op.typing(dtype)?;
                Some((typing.compute, typing.out, Pairs::Kernel(op.kernel(typing.compute)?)))
            }
            Times::First => Some((dtype, dtype, Pairs::Left)),
            Times::Second => Some((dtype, dtype, Pairs::Right)),
            Times::Pair => Some((dtype, if dtype == DType::Bool { DType::I64 } else { dtype }, Pairs::One)),
        }
    }

    /// What the product is wherever the operand on a side is `element`, and whether that holds beside NaN and infinity
    /// too; `None` if the other operand matters.
    fn absorbed(self, element: Scalar, side: Side) -> Option<(Scalar, bool)> {
        let dtype = element.dtype();
        let is_largest = |plus: Plus| plus.fold(dtype).is_some_and(|(fold, _)| fold.identity.same(element));
        match (self, side) {
            (Times::First, Side::Left) | (Times::Second, Side::Right) => Some((element, true)),
            (Times::Op(BinaryOp::Add), _) if dtype.is_float() && !element.is_finite() && !element.is_nan() => {
                Some((element, false))
            }
            (Times::Op(BinaryOp::Maximum), _) if is_largest(Plus::Min) => Some((element, !dtype.is_inexact())),
            (Times::Op(BinaryOp::Minimum), _) if is_largest(Plus::Max) => Some((element, !dtype.is_inexact())),
            (Times::Op(op), _) => {
                let (compute, out, _) = self.of(dtype)?;
                let own = element.cast(compute);
                let is_it = |a: &&crate::Annihilator| {
                    (a.side == side || a.side == Side::Both) && own.same(Scalar::I8(a.element).cast(compute))
                };
                let annihilator = op.annihilators().iter().find(is_it)?;
                let (bytes, size) = own.to_bytes();
                let mut result = [0; 16];
                op.kernel(compute)?(&bytes[..size], &bytes[..size], &mut result[..out.size()]);
                let exact = annihilator.exact || !dtype.is_inexact();
                Some((Scalar::from_bytes(out, &result[..out.size()]), exact))
            }
            _ => None,
        }
    }
}

/// Two ops that take the place of `+` and `*` in a matrix product: `c[i, j] = ⊕ over k of (a[i, k] ⊗ b[k, j])`.
///
/// The predefined ones bear the names that GraphBLAS gives them. ⊕ must be associative and commutative and have an
/// identity, which all of [`Plus`] do; ⊗ may be any op of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Semiring {
    /// ⊕.
    pub plus: Plus,
    /// ⊗.
    pub times: Times,
}

macro_rules! semirings {
    ($($(#[doc = $doc:literal])+ $name:ident = $plus:ident, $times:expr;)+) => {
        impl Semiring {
            $($(#[doc = $doc])+ pub const $name: Semiring = Semiring { plus: Plus::$plus, times: $times };)+

            /// The predefined ones.
            pub const ALL: &'static [Semiring] = &[$(Semiring::$name),+];
        }
    };
}

semirings! {
    /// The usual product; or of ands, for bool.
    PLUS_TIMES = Sum, Times::Op(BinaryOp::Mul);
    /// The shortest way: the least sum.
    MIN_PLUS = Min, Times::Op(BinaryOp::Add);
    /// The longest way: the greatest sum.
    MAX_PLUS = Max, Times::Op(BinaryOp::Add);
    /// The likeliest way: the greatest product.
    MAX_TIMES = Max, Times::Op(BinaryOp::Mul);
    /// The least product.
    MIN_TIMES = Min, Times::Op(BinaryOp::Mul);
    /// The way whose greatest step is least.
    MIN_MAX = Min, Times::Op(BinaryOp::Maximum);
    /// The widest way: the greatest of the narrowest steps.
    MAX_MIN = Max, Times::Op(BinaryOp::Minimum);
    /// Whether a pair has two elements that are not zero: reachability.
    OR_AND = Or, Times::Op(BinaryOp::LogicalAnd);
    /// Whether all pairs have an element that is not zero.
    AND_OR = And, Times::Op(BinaryOp::LogicalOr);
    /// Sums and products modulo 2, of bools.
    XOR_AND = Xor, Times::Op(BinaryOp::LogicalAnd);
    /// The sum of the left elements of pairs.
    PLUS_FIRST = Sum, Times::First;
    /// The sum of the right elements of pairs.
    PLUS_SECOND = Sum, Times::Second;
    /// The number of pairs.
    PLUS_PAIR = Sum, Times::Pair;
    /// The sum of sums of pairs.
    PLUS_PLUS = Sum, Times::Op(BinaryOp::Add);
    /// The sum of the lesser elements of pairs.
    PLUS_MIN = Sum, Times::Op(BinaryOp::Minimum);
    /// The sum of the greater elements of pairs.
    PLUS_MAX = Sum, Times::Op(BinaryOp::Maximum);
    /// The least left element of pairs.
    MIN_FIRST = Min, Times::First;
    /// The least right element of pairs.
    MIN_SECOND = Min, Times::Second;
    /// The greatest left element of pairs.
    MAX_FIRST = Max, Times::First;
    /// The greatest right element of pairs.
    MAX_SECOND = Max, Times::Second;
    /// 1 where a pair meets. GraphBLAS calls it `any_pair`: of equal elements any one will do.
    ANY_PAIR = Max, Times::Pair;
}

impl Semiring {
    /// A semiring of two ops.
    ///
    /// ```
    /// use openwork_ops::BinaryOp;
    /// use openwork_ops::matmul::{Plus, Semiring, Times};
    /// let farthest = Semiring::new(Plus::Max, BinaryOp::Hypot);
    /// assert_eq!(farthest.name(), "max_hypot");
    /// assert_eq!(Semiring::new(Plus::Sum, Times::Pair), Semiring::PLUS_PAIR);
    /// ```
    pub fn new(plus: Plus, times: impl Into<Times>) -> Semiring {
        Semiring { plus, times: times.into() }
    }

    /// The name, `min_plus` for the least sum; `any_pair` for [`Semiring::ANY_PAIR`].
    ///
    /// ```
    /// use openwork_ops::matmul::Semiring;
    /// assert_eq!((Semiring::MIN_PLUS.name(), Semiring::ANY_PAIR.name()), ("min_plus".into(), "any_pair".into()));
    /// ```
    pub fn name(self) -> String {
        if self == Semiring::ANY_PAIR {
            return "any_pair".into();
        }
        format!("{}_{}", self.plus.name(), self.times.name())
    }

    /// Whether terms with this element on a side add nothing, whatever they meet, and whether that holds beside NaN and
    /// infinity too; `None` if they may add something. Elements that a sparse operand does not store can be left out if they
    /// are such.
    ///
    /// ```
    /// use openwork_ops::Side;
    /// use openwork_ops::matmul::Semiring;
    /// assert_eq!(Semiring::PLUS_TIMES.skips(0.0.into(), Side::Left), Some(false)); // but for 0 times NaN
    /// assert_eq!(Semiring::MIN_PLUS.skips(f64::INFINITY.into(), Side::Left), Some(false));
    /// assert_eq!(Semiring::MIN_PLUS.skips(0.0.into(), Side::Left), None);
    /// ```
    pub fn skips(self, element: Scalar, side: Side) -> Option<bool> {
        let (absorbed, exact) = self.times.absorbed(element, side)?;
        let (fold, _) = self.plus.fold(absorbed.dtype())?;
        absorbed.cast(fold.identity.dtype()).same(fold.identity).then_some(exact)
    }
}
