//! What an op's entry says besides its closures: how dtypes go in and come out, its algebra, and on
//! what values it is tested.

use crate::dtype::{DType, DTypeKind};

/// The dtypes of one application: operands are cast to `compute`, the kernel gives `out`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Typing {
    /// What the kernel reads.
    pub compute: DType,
    /// What the kernel writes.
    pub out: DType,
}

impl Typing {
    /// The same dtype in and out.
    pub const fn same(dtype: DType) -> Typing {
        Typing { compute: dtype, out: dtype }
    }
}

/// The dtype rules that the tables of unary and binary ops name: for the operand's dtype, or that in which two meet.
pub(crate) mod typing {
    use super::{DType, DTypeKind, Typing};

    pub(crate) const fn any(dtype: DType) -> Option<Typing> {
        Some(Typing::same(dtype))
    }
    pub(crate) const fn number(dtype: DType) -> Option<Typing> {
        if matches!(dtype, DType::Bool) { None } else { any(dtype) }
    }
    pub(crate) const fn real(dtype: DType) -> Option<Typing> {
        if dtype.is_complex() { None } else { any(dtype) }
    }
    pub(crate) const fn real_number(dtype: DType) -> Option<Typing> {
        if dtype.is_complex() { None } else { number(dtype) }
    }
    pub(crate) const fn int(dtype: DType) -> Option<Typing> {
        if dtype.is_int() { any(dtype) } else { None }
    }
    pub(crate) const fn bits(dtype: DType) -> Option<Typing> {
        if matches!(dtype.kind(), DTypeKind::Bool | DTypeKind::Int) { any(dtype) } else { None }
    }
    /// Any dtype in; the real part's dtype out.
    pub(crate) const fn part(dtype: DType) -> Option<Typing> {
        Some(Typing { compute: dtype, out: dtype.real() })
    }
    /// Exact dtypes are taken as floats: see [`DType::to_inexact`].
    pub(crate) const fn inexact(dtype: DType) -> Option<Typing> {
        any(dtype.to_inexact())
    }
    pub(crate) const fn inexact_part(dtype: DType) -> Option<Typing> {
        part(dtype.to_inexact())
    }
    pub(crate) const fn inexact_real(dtype: DType) -> Option<Typing> {
        real(dtype.to_inexact())
    }
    pub(crate) const fn predicate(dtype: DType) -> Option<Typing> {
        Some(Typing { compute: dtype, out: DType::Bool })
    }
    pub(crate) const fn real_predicate(dtype: DType) -> Option<Typing> {
        if dtype.is_complex() { None } else { predicate(dtype) }
    }
}

/// A kernel over one operand: reads a block of `compute` elements, writes as many `out` elements.
pub type UnaryKernel = fn(x: &[u8], out: &mut [u8]);

/// A kernel over two operands: each a block of as many elements as it writes, or one of them a single element, which then stands
/// beside all of the other.
pub type BinaryKernel = fn(a: &[u8], b: &[u8], out: &mut [u8]);

/// On which side of a binary op a special element stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `f(z, x)`.
    Left,
    /// `f(x, z)`.
    Right,
    /// Both.
    Both,
}

/// An element `z` with `f(z, x) = f(z, y)` for all `x`, `y`: what it meets does not matter, so an
/// unstored `z` needs no look at the other operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annihilator {
    /// The element, as a small integer.
    pub element: i8,
    /// Where it stands.
    pub side: Side,
    /// Whether this holds for NaN and infinities too. Where it does not (`0 * inf`), the exception for
    /// unstored zeros applies (see the crate `openwork`'s `NanPolicy`).
    pub exact: bool,
}

/// The finite values on which an op is tested beside the special ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    /// Small values of both signs.
    Any,
    /// Values above zero (`log`, `sqrt` and the base of `pow`).
    Positive,
    /// Small counts, for shifts and exponents on the right.
    SmallRight,
}
