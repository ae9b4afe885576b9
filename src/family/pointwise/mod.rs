//! Elementwise ops: one plan for every layout, fill and dtype.
//!
//! The result's fill is the op run on the operands' fills. A strided operand beside a sparse one is
//! nothing but a fill that varies; so `x - x.mean(0)` keeps the pattern of `x` and gets a fill per column.

mod composed;
mod handful;
mod select;
mod union;
mod map;
mod by_index;
mod interp;
mod plan;
mod lookup;
mod valued;

use std::borrow::Cow;

use openwork_ops::{BinaryOp, DType, Number, ReduceOp, Scalar, UnaryOp, promote};

pub use self::composed::Limit;
use self::plan::Function;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::strided::Strided;
use crate::engine::blocks::{Kernel, ManyKernel, Pass};
use crate::engine::convert;
use crate::tensor::trace;
use crate::tensor::{Storage, Tensor};

/// The right-hand side of a binary op: a tensor, or a Rust number that takes the tensor's dtype where its
/// kind allows (see [`Number`]).
#[derive(Clone)]
#[non_exhaustive]
pub enum Operand<'a> {
    /// A tensor, with its dtype.
    Tensor(Cow<'a, Tensor>),
    /// A number, weakly typed.
    Number(Number),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Operand<'a> {
        Operand::Tensor(Cow::Borrowed(tensor))
    }
}

impl From<Tensor> for Operand<'_> {
    fn from(tensor: Tensor) -> Self {
        Operand::Tensor(Cow::Owned(tensor))
    }
}

macro_rules! operand_from {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Operand<'_> {
            fn from(value: $ty) -> Self {
                Operand::Number(value.into())
            }
        }
    )*};
}
operand_from!(
    bool,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    openwork_ops::f16,
    openwork_ops::bf16,
    f32,
    f64,
    openwork_ops::c64,
    openwork_ops::c128,
    Scalar
);

/// # Computing: registered elementwise ops
impl Tensor {
    /// Applies a registered unary op. The result has the same pattern; its fill is the op of the fill.
    ///
    /// Cost: O(nse + size of the fill).
    ///
    /// # Errors
    /// If the op is not defined for the dtype.
    pub fn unary(&self, op: UnaryOp) -> Result<Tensor> {
        let call = trace::call(op.name(), &[self]);
        let unsupported = || error::dtype(&[self.dtype()], "the op is not defined for this dtype; cast first");
        let typing = op.typing(self.dtype()).ok_or_else(unsupported)?;
        let kernel = Kernel::Unary(op.kernel(typing.compute).ok_or_else(unsupported)?);
        let computes = [typing.compute];
        let function = Function::new(Pass { computes: &computes, out: typing.out, kernel });
        call.end(match &self.storage {
            // Duplicates mean their sum, which negation alone commutes with.
            Storage::Sparse(s) if op == UnaryOp::Neg => function.on_stored(s),
            _ => function.apply(&[self]),
        })
    }

    /// Applies a registered binary op with full broadcasting and dtype promotion.
    ///
    /// The fill of the result is the op of the fills; stored are the positions where the result may differ
    /// from it. Cost: O(nse of both + size of the result's fill).
    ///
    /// # Errors
    /// If shapes do not broadcast, dtypes do not promote or do not have the op, or the result is not sparse
    /// and exceeds the densify budget.
    pub fn binary<'a>(&self, op: BinaryOp, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        match other.into() {
            Operand::Tensor(other) => {
                let call = trace::call(op.name(), &[self, &other]);
                let dtypes = [self.dtype(), other.dtype()];
                let why = "no dtype holds the values of both; cast one side";
                let common = promote(dtypes[0], dtypes[1]).ok_or_else(|| error::dtype(&dtypes, why))?;
                let common = if faults::is(Fault::PromotedToLeft) { dtypes[0] } else { common };
                call.end(binary(op, self, &other, common))
            }
            Operand::Number(number) => binary_number(op, self, number, false),
        }
    }

    /// `number op self`: the number stands on the left.
    ///
    /// # Errors
    /// As [`Tensor::binary`].
    pub fn binary_from(&self, op: BinaryOp, number: impl Into<Number>) -> Result<Tensor> {
        binary_number(op, self, number.into(), true)
    }
}

fn binary_number(op: BinaryOp, x: &Tensor, number: Number, reverse: bool) -> Result<Tensor> {
    let common = number.meets(x.dtype());
    let fitted = number.scalar().fit(common);
    let scalar = Tensor::from_strided(Strided::constant(fitted.unwrap_or(Scalar::zero(common)), &[]));
    let (a, b) = if reverse { (&scalar, x) } else { (x, &scalar) };
    let call = trace::call(op.name(), &[a, b]);
    fitted.map_err(error::does_not_fit)?;
    call.end(binary(op, a, b, common))
}

fn binary(op: BinaryOp, a: &Tensor, b: &Tensor, common: DType) -> Result<Tensor> {
    let unsupported =
        || error::dtype(&[a.dtype(), b.dtype()], format_args!("the op is not defined for {common}; cast first"));
    let typing = op.typing(common).ok_or_else(unsupported)?;
    let kernel = Kernel::Binary(op.kernel(typing.compute).ok_or_else(unsupported)?);
    let function = Function {
        pass: Pass { computes: &[typing.compute; 2], out: typing.out, kernel },
        via: (common != typing.compute).then_some(common),
        op: Some(op),
        annihilators: op.annihilators(),
    };
    function.apply(&[a, b])
}

/// A function of elements of which nothing is known but its kernel, on tensors that broadcast.
fn of_kernel(computes: &[DType], out: DType, kernel: ManyKernel<'_>, operands: &[&Tensor]) -> Result<Tensor> {
    Function::new(Pass { computes, out, kernel: Kernel::Many(kernel) }).apply(operands)
}

/// A tensor whose duplicates are summed.
fn coalesced(x: &Tensor) -> Result<Tensor> {
    match x.sparse() {
        Some(s) if !s.pattern.is_unique() => Ok(convert::coalesce(s, ReduceOp::Sum)?.into()),
        _ => Ok(x.clone()),
    }
}
