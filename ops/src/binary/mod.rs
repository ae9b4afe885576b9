//! Ops of two operands of one dtype: the table, and what it says about each op.

mod clamp;
mod division;
pub(crate) mod element;
mod merged;
mod powers;
#[cfg(test)]
mod tests;

pub use self::clamp::clamp;
use self::element::{
    Divisors, Neighbour, above, and, below, both, either, equal, greater, lesser, not_above, not_below, one, or,
    quotient, unequal, xor,
};
pub use self::merged::{Beside, MergeKernel, Merged, Stored};
use crate::derivative::{Derivative, derivative, expr};
use crate::dtype::DType;
use crate::groups::{binary_line, group, pick};
use crate::registry::{Annihilator, BinaryKernel, Domain, Side, Typing, typing};
use crate::simd;

/// An annihilator on both sides that holds for every other operand.
const fn exact(element: i8) -> Annihilator {
    Annihilator { element, side: Side::Both, exact: true }
}

/// Makes the registry of the table: `$d` is a dollar sign, for the macro that this writes.
macro_rules! binary_table {
    ($d:tt $(
        #[doc = $doc:literal]
        $op:ident {
            name: $name:ident, symbol: $symbol:expr, domain: $domain:ident, typing: $typing:ident,
            commutative: $commutative:literal, annihilators: $annihilators:expr,
            derivatives: ($left:tt, $right:tt),
            kernels: { $($group:ident $kind:tt $kernel:expr),+ $(,)? }
        }
    )+) => {
        /// An op of two operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum BinaryOp { $(#[doc = $doc] $op),+ }

        impl BinaryOp {
            /// Every op, in the order of the table.
            pub const ALL: &'static [BinaryOp] = &[$(BinaryOp::$op),+];

            /// The name: that of the tensor's method.
            pub const fn name(self) -> &'static str {
                match self { $(BinaryOp::$op => stringify!($name)),+ }
            }

            /// The infix symbol, where the array API has one.
            pub const fn symbol(self) -> Option<&'static str> {
                match self { $(BinaryOp::$op => $symbol),+ }
            }

            /// One line of documentation.
            pub const fn doc(self) -> &'static str {
                match self { $(BinaryOp::$op => $doc.trim_ascii()),+ }
            }

            /// The finite values on which the op is tested.
            pub const fn domain(self) -> Domain {
                match self { $(BinaryOp::$op => Domain::$domain),+ }
            }

            /// Whether `f(a, b) = f(b, a)`.
            pub const fn is_commutative(self) -> bool {
                match self { $(BinaryOp::$op => $commutative),+ }
            }

            /// The elements beside which the other operand does not matter, in the dtypes the op is
            /// defined for; an inexact one (see [`Annihilator::exact`]) is exact for bool and integers.
            pub const fn annihilators(self) -> &'static [Annihilator] {
                match self { $(BinaryOp::$op => const { &$annihilators }),+ }
            }

            /// What the op computes in and gives for operands that meet in `promoted`; `None` if it is
            /// not defined for that dtype.
            pub fn typing(self, promoted: DType) -> Option<Typing> {
                match self { $(BinaryOp::$op => typing::$typing(promoted)),+ }
            }

            /// What becomes of a gradient by the op's result on its way to the left and to the right operand.
            pub const fn derivatives(self) -> [Derivative; 2] {
                match self { $(BinaryOp::$op => const { [derivative!($left), derivative!($right)] }),+ }
            }

            /// The kernel for a compute dtype that [`BinaryOp::typing`] gives; `None` for some others.
            pub fn kernel(self, compute: DType) -> Option<BinaryKernel> {
                match self { $(BinaryOp::$op => {
                    fn lookup(compute: DType) -> Option<BinaryKernel> {
                        $(binary_line!($kind $group, compute, $kernel);)+
                        None
                    }
                    lookup(compute)
                }),+ }
            }
        }

        /// Calls a macro with `(Variant, method_name, "doc"),` for every binary op, to declare
        /// something per op without naming the ops again.
        #[macro_export]
        macro_rules! for_each_binary {
            ($d($d callback:tt)+) => { $d($d callback)+! { $(($op, $name, $doc),)+ } };
        }
    };
}

binary_table! { $
    /// `a + b`. Integers wrap; or, for bool.
    Add {
        name: add, symbol: Some("+"), domain: Any, typing: any, commutative: true, annihilators: [],
        derivatives: (1.0, 1.0),
        kernels: {
            bool: or,
            bits => |a, b| a.wrapping_add(b),
            float => |a, b| a + b,
            complex => |a, b| a + b,
        }
    }
    /// `a - b`. Integers wrap.
    Sub {
        name: sub, symbol: Some("-"), domain: Any, typing: number, commutative: false, annihilators: [],
        derivatives: (1.0, [Neg 1.0]),
        kernels: {
            bits => |a, b| a.wrapping_sub(b),
            float => |a, b| a - b,
            complex => |a, b| a - b,
        }
    }
    /// `a * b`. Integers wrap; and, for bool.
    Mul {
        name: mul, symbol: Some("*"), domain: Any, typing: any, commutative: true,
        annihilators: [Annihilator { element: 0, side: Side::Both, exact: false }],
        derivatives: (b, a),
        kernels: {
            bool: and,
            bits => |a, b| a.wrapping_mul(b),
            float => |a, b| a * b,
            complex by element::product::<T>,
        }
    }
    /// `a / b`, the true quotient: a float for integers.
    Div {
        name: div, symbol: Some("/"), domain: Any, typing: inexact, commutative: false, annihilators: [],
        derivatives: ([Reciprocal b], [Neg [Div y b]]),
        kernels: {
            float by quotient::<T>,
            complex by simd::complex::divide::<T>,
        }
    }
    /// The quotient rounded down; 0 for integers divided by 0.
    FloorDivide {
        name: floor_divide, symbol: Some("//"), domain: Any, typing: real_number, commutative: false,
        annihilators: [],
        derivatives: (zero, zero),
        kernels: {
            int by division::floor_divide::<T>,
            f32: simd::floor_divide_f32,
            f64: simd::floor_divide_f64,
        }
    }
    /// `a - floor(a / b) * b`, which has the sign of `b`; 0 for integers divided by 0.
    Remainder {
        name: remainder, symbol: Some("%"), domain: Any, typing: real_number, commutative: false,
        annihilators: [],
        derivatives: (1.0, [Neg [FloorDivide a b]]),
        kernels: {
            int by division::remainder::<T>,
            f32: simd::remainder_f32,
            f64: simd::remainder_f64,
        }
    }
    /// The remainder of the quotient cut to an integer, which has the sign of `a`; 0 for integers divided by 0.
    Fmod {
        name: fmod, symbol: None, domain: Any, typing: real_number, commutative: false, annihilators: [],
        derivatives: (1.0, [Neg [Trunc [Div a b]]]),
        kernels: {
            int by division::cut_remainder::<T>,
            f32: simd::fmod_f32,
            f64: simd::fmod_f64,
        }
    }
    /// The greatest common divisor; `|a|` for `b = 0`. Integers wrap.
    Gcd {
        name: gcd, symbol: None, domain: Any, typing: int, commutative: true, annihilators: [exact(1)],
        derivatives: (none, none),
        kernels: { int => |a, b| a.gcd(b) }
    }
    /// The least common multiple; 0 for `b = 0`. Integers wrap.
    Lcm {
        name: lcm, symbol: None, domain: Any, typing: int, commutative: true, annihilators: [exact(0)],
        derivatives: (none, none),
        kernels: { int => |a, b| a.lcm(b) }
    }
    /// `a` to the power of `b`, 1 for `b = 0`. Integers wrap and truncate. Complex `0^b`: 0 for `Re b > 0`, ∞ below, NaN else.
    Pow {
        name: pow, symbol: Some("**"), domain: Positive, typing: number, commutative: false,
        annihilators: [Annihilator { element: 0, side: Side::Right, exact: true }],
        derivatives: (
            [Where [Eq b 0.0] 0.0 [Mul b [Pow a [Sub b 1.0]]]],
            [Where [LogicalAnd [Eq a 0.0] [Ge [Real b] [Real 0.0]]] 0.0 [Mul y [Log a]]]
        ),
        kernels: {
            int by powers::powers::<T>,
            f32: simd::pow_f32,
            f64: simd::pow_f64,
            complex by simd::complex::power::<T>,
        }
    }
    /// The greater of `a` and `b`; NaN if one is.
    Maximum {
        name: maximum, symbol: None, domain: Any, typing: real, commutative: true, annihilators: [],
        derivatives: ([Where [Eq a b] 0.5 [Where [Lt a b] 0.0 1.0]], [Where [Eq a b] 0.5 [Where [Gt a b] 0.0 1.0]]),
        kernels: {
            bool: or,
            int => |a, b| a.max(b),
            float by greater::<T>,
        }
    }
    /// The lesser of `a` and `b`; NaN if one is.
    Minimum {
        name: minimum, symbol: None, domain: Any, typing: real, commutative: true, annihilators: [],
        derivatives: ([Where [Eq a b] 0.5 [Where [Gt a b] 0.0 1.0]], [Where [Eq a b] 0.5 [Where [Lt a b] 0.0 1.0]]),
        kernels: {
            bool: and,
            int => |a, b| a.min(b),
            float by lesser::<T>,
        }
    }
    /// The greater of `a` and `b`; of NaN and a number the number.
    Fmax {
        name: fmax, symbol: None, domain: Any, typing: real, commutative: true, annihilators: [],
        derivatives: ([Where [LogicalOr [Ge a b] [Isnan b]] 1.0 0.0], [Where [LogicalOr [Ge a b] [Isnan b]] 0.0 1.0]),
        kernels: {
            exact as BinaryOp::Maximum,
            float => |a, b| if a > b || b.is_nan() { a } else { b },
        }
    }
    /// The lesser of `a` and `b`; of NaN and a number the number.
    Fmin {
        name: fmin, symbol: None, domain: Any, typing: real, commutative: true, annihilators: [],
        derivatives: ([Where [LogicalOr [Le a b] [Isnan b]] 1.0 0.0], [Where [LogicalOr [Le a b] [Isnan b]] 0.0 1.0]),
        kernels: {
            exact as BinaryOp::Minimum,
            float => |a, b| if a < b || b.is_nan() { a } else { b },
        }
    }
    /// The angle of the point `(b, a)`, between −π and π.
    Atan2 {
        name: atan2, symbol: None, domain: Any, typing: inexact_real, commutative: false, annihilators: [],
        derivatives: (
            // At the origin there is no angle: 0, so that what is stored nowhere does not spoil a fill.
            [Where [LogicalAnd [Eq a 0.0] [Eq b 0.0]] 0.0 [Div b [Add [Square a] [Square b]]]],
            [Where [LogicalAnd [Eq a 0.0] [Eq b 0.0]] 0.0 [Neg [Div a [Add [Square a] [Square b]]]]]
        ),
        kernels: { f32: simd::atan2_f32, f64: simd::atan2_f64 }
    }
    /// `sqrt(a * a + b * b)` without needless overflow.
    Hypot {
        name: hypot, symbol: None, domain: Any, typing: inexact_real, commutative: true, annihilators: [],
        derivatives: ([Div a y], [Div b y]),
        kernels: { f32: simd::hypot_f32, f64: simd::hypot_f64 }
    }
    /// The magnitude of `a` with the sign of `b`.
    Copysign {
        name: copysign, symbol: None, domain: Any, typing: inexact_real, commutative: false, annihilators: [],
        derivatives: ([Where [Eq a 0.0] 0.0 [Div y a]], zero),
        kernels: { float => |a, b| a.copysign(b) }
    }
    /// The float next to `a` in the direction of `b`.
    Nextafter {
        name: nextafter, symbol: None, domain: Any, typing: inexact_real, commutative: false, annihilators: [],
        derivatives: (none, none),
        kernels: { each_float => |a, b| a.next_after(b) }
    }
    /// `log(exp(a) + exp(b))`, without overflow.
    Logaddexp {
        name: logaddexp, symbol: None, domain: Any, typing: inexact_real, commutative: true, annihilators: [],
        derivatives: ([Sigmoid [Sub a b]], [Sigmoid [Sub b a]]),
        kernels: { f32: simd::logaddexp_f32, f64: simd::logaddexp_f64 }
    }
    /// `a * log(b)`, and 0 for `a = 0`, but NaN for NaN.
    Xlogy {
        name: xlogy, symbol: None, domain: Any, typing: inexact_real, commutative: false,
        annihilators: [Annihilator { element: 0, side: Side::Left, exact: false }],
        derivatives: ((pull [Where [LogicalAnd [Eq a 0.0] [Le b 0.0]] 0.0 [Xlogy g b]]), [Div a b]),
        kernels: { f32: simd::xlogy_f32, f64: simd::xlogy_f64 }
    }
    /// The step function: 0 for `a` below 0 or NaN, `b` for 0, 1 above.
    Heaviside {
        name: heaviside, symbol: None, domain: Any, typing: real, commutative: false,
        annihilators: [Annihilator { element: 1, side: Side::Left, exact: true }],
        derivatives: (zero, [Where [Eq a 0.0] 1.0 0.0]),
        kernels: {
            bool: or,
            int => |a, b| if a == 0 { b } else { T::from(a > 0) },
            float => |a, b| if a == 0.0 { b } else if a > 0.0 { 1.0 } else { 0.0 },
        }
    }
    /// Whether `a == b`.
    Eq {
        name: eq, symbol: Some("=="), domain: Any, typing: predicate, commutative: true, annihilators: [],
        derivatives: (none, none),
        kernels: {
            bool => |a, b| a == b,
            bits by equal::<T>,
            float by equal::<T>,
            complex => |a, b| a == b,
        }
    }
    /// Whether `a != b`.
    Ne {
        name: ne, symbol: Some("!="), domain: Any, typing: predicate, commutative: true, annihilators: [],
        derivatives: (none, none),
        kernels: {
            bool => |a, b| a != b,
            bits by unequal::<T>,
            float by unequal::<T>,
            complex => |a, b| a != b,
        }
    }
    /// Whether `a < b`.
    Lt {
        name: lt, symbol: Some("<"), domain: Any, typing: real_predicate, commutative: false, annihilators: [],
        derivatives: (none, none),
        kernels: {
            bool => |a, b| !a & b,
            int by below::<T>,
            float by below::<T>,
        }
    }
    /// Whether `a <= b`.
    Le {
        name: le, symbol: Some("<="), domain: Any, typing: real_predicate, commutative: false, annihilators: [],
        derivatives: (none, none),
        kernels: {
            bool => |a, b| !a | b,
            int by not_above::<T>,
            float by not_above::<T>,
        }
    }
    /// Whether `a > b`.
    Gt {
        name: gt, symbol: Some(">"), domain: Any, typing: real_predicate, commutative: false, annihilators: [],
        derivatives: (none, none),
        kernels: {
            bool => |a, b| a & !b,
            int by above::<T>,
            float by above::<T>,
        }
    }
    /// Whether `a >= b`.
    Ge {
        name: ge, symbol: Some(">="), domain: Any, typing: real_predicate, commutative: false, annihilators: [],
        derivatives: (none, none),
        kernels: {
            bool => |a, b| a | !b,
            int by not_below::<T>,
            float by not_below::<T>,
        }
    }
    /// Whether both are not zero. NaN is not zero.
    LogicalAnd {
        name: logical_and, symbol: None, domain: Any, typing: predicate, commutative: true,
        annihilators: [exact(0)],
        derivatives: (none, none),
        kernels: {
            bool: and,
            bits by both::<T>,
            float by both::<T>,
            complex by both::<T>,
        }
    }
    /// Whether one is not zero. NaN is not zero.
    LogicalOr {
        name: logical_or, symbol: None, domain: Any, typing: predicate, commutative: true,
        annihilators: [exact(1)],
        derivatives: (none, none),
        kernels: {
            bool: or,
            bits by either::<T>,
            float by either::<T>,
            complex by either::<T>,
        }
    }
    /// Whether one is zero and the other is not. NaN is not zero.
    LogicalXor {
        name: logical_xor, symbol: None, domain: Any, typing: predicate, commutative: true, annihilators: [],
        derivatives: (none, none),
        kernels: {
            bool: xor,
            bits by one::<T>,
            float by one::<T>,
            complex by one::<T>,
        }
    }
    /// Bit by bit, and.
    BitwiseAnd {
        name: bitwise_and, symbol: Some("&"), domain: Any, typing: bits, commutative: true,
        annihilators: [exact(0)],
        derivatives: (none, none),
        kernels: { bool: and, bits => |a, b| a & b }
    }
    /// Bit by bit, or.
    BitwiseOr {
        name: bitwise_or, symbol: Some("|"), domain: Any, typing: bits, commutative: true, annihilators: [],
        derivatives: (none, none),
        kernels: { bool: or, bits => |a, b| a | b }
    }
    /// Bit by bit, exclusive or.
    BitwiseXor {
        name: bitwise_xor, symbol: Some("^"), domain: Any, typing: bits, commutative: true, annihilators: [],
        derivatives: (none, none),
        kernels: { bool: xor, bits => |a, b| a ^ b }
    }
    /// `a * 2^b`: bits shifted up; 0 for `b` negative or past the width.
    BitwiseLeftShift {
        name: bitwise_left_shift, symbol: Some("<<"), domain: SmallRight, typing: int, commutative: false,
        annihilators: [Annihilator { element: 0, side: Side::Left, exact: true }],
        derivatives: (none, none),
        // A negative count is a large unsigned one.
        kernels: { bits => |a, b| if b < T::BITS as T { a << b } else { 0 } }
    }
    /// `a / 2^b` rounded down: bits shifted down; 0 (−1 for negative `a`) for `b` negative or past the width.
    BitwiseRightShift {
        name: bitwise_right_shift, symbol: Some(">>"), domain: SmallRight, typing: int, commutative: false,
        annihilators: [Annihilator { element: 0, side: Side::Left, exact: true }],
        derivatives: (none, none),
        kernels: {
            signed => |a, b| a >> if (0..T::BITS as T).contains(&b) { b } else { T::BITS as T - 1 },
            unsigned => |a, b| if b < T::BITS as T { a >> b } else { 0 },
        }
    }
}
