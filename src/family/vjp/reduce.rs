//! Registered reductions.

use openwork_ops::{BinaryOp, DType, ReduceOp, Scalar, UnaryOp};

use super::gradient::Gradient;
use super::wrt::{Wrt, cotangent, filled};
use crate::base::axes::{Axes, keep};
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::tensor::{Tensor, trace};

/// A reduction whose gradient is asked for.
pub(super) struct Slices {
    pub(super) wrt: Wrt,
    /// The cotangent, with the reduced axes at size 1.
    pub(super) g: Tensor,
    pub(super) axes: Vec<usize>,
}

impl Slices {
    /// Of a reduction whose results have this dtype.
    pub(super) fn new(x: &Tensor, axes: &Axes, out: DType, given: &Tensor) -> Result<Slices> {
        let wrt = Wrt::new(x)?;
        let keeps = axes.keeps();
        let axes = axes.of(x.ndim())?;
        let kept = |&d: &usize| keeps || !axes.contains(&d);
        let shape: Vec<usize> =
            (0..x.ndim()).filter(kept).map(|d| if axes.contains(&d) { 1 } else { x.shape()[d] }).collect();
        let g = cotangent(given, &shape, out)?;
        let g = if keeps || axes.is_empty() { g } else { g.expand_dims(&axes)? };
        Ok(Slices { wrt, g, axes })
    }

    pub(super) fn keep(&self) -> Axes {
        keep(&self.axes)
    }

    /// The shape of the results, with the reduced axes at size 1.
    fn shape(&self) -> Vec<usize> {
        let whole = self.wrt.x.shape();
        (0..whole.len()).map(|d| if self.axes.contains(&d) { 1 } else { whole[d] }).collect()
    }

    /// How many elements each slice has: those that are there, of a tensor with an undefined fill.
    pub(super) fn count(&self) -> Result<Tensor> {
        if self.wrt.is_undefined() {
            return self.wrt.x.is_stored()?.cast(DType::F64)?.sum(self.keep());
        }
        let n = self.axes.iter().fold(1.0, |n, &d| n * self.wrt.x.shape()[d] as f64);
        Ok(Tensor::scalar(n))
    }

    /// How many elements of each slice a condition holds for, beside what is constant along slices.
    pub(super) fn matches(&self, slices: &[&Tensor], condition: Condition<'_>) -> Result<Tensor> {
        let number = |x: &Tensor, slices: &[Tensor]| condition(x, slices)?.cast(DType::F64);
        let stored = number(&self.wrt.stored(), &self.wrt.beside_all(slices)?)?;
        let stored = filled(&stored.sum(self.keep())?)?;
        let Some(fill) = self.wrt.fill() else { return Ok(stored) };
        self.wrt.may_meet(&fill, &self.g)?;
        let of_fill = number(&fill, &slices.mapped(|&slice| slice.clone()))?;
        match self.wrt.unstored_to(&of_fill, &self.shape())? {
            Some(unstored) => stored.add(&unstored),
            None => Ok(stored),
        }
    }

    /// The gradient of a reduction that picks elements which `condition` compares with its result: they share the cotangent
    /// evenly.
    pub(super) fn of_matches(
        &self,
        picked: &Tensor,
        condition: Condition<'_>,
        sign: &dyn Fn(&Tensor) -> Result<Tensor>,
    ) -> Result<Gradient> {
        let dtype = self.g.dtype();
        let count = self.matches(&[picked], condition)?.cast(dtype)?;
        self.wrt.of_each(&self.g, &[picked, &count], &|x, g, slices| {
            condition(x, slices)?.cast(dtype)?.mul(g.div(&slices[1])?)?.mul(sign(x)?)
        })
    }
}

/// What holds for elements beside what is constant along slices.
pub(super) type Condition<'a> = &'a dyn Fn(&Tensor, &[Tensor]) -> Result<Tensor>;

/// The gradient by the operand of a registered reduction.
///
/// Sums give each element the cotangent of its slice, means that divided by the number of elements; products what the other
/// elements multiply to, also where one is 0. Equal greatest (least) elements share the cotangent evenly, unstored
/// ones among them (PyTorch's `amax`). Absent elements are none of a slice.
///
/// Cost: O(nse of the operand and of the cotangent).
///
/// ```
/// use openwork::{Layout, ReduceOp, tensor, vjp};
/// let x = tensor![[3.0, 0.0, 3.0], [0.0, -1.0, 0.0]; Layout::Csr, 0.0]?;
/// let by = vjp::reduce(ReduceOp::Max, &x, 1, &tensor![1.0, 1.0])?;
/// assert_eq!(by.stored.values::<f64>()?, [0.5, 0.5, 0.0]);
/// assert_eq!(by.fill, Some(1.0.into())); // of the second row the two zeros are the greatest
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the op gives counts or truth values, an axis is wrong, the operand is of integers or bools, or the cotangent has not the
/// shape and the dtype of the op's result; as the op.
pub fn reduce(op: ReduceOp, x: &Tensor, axes: impl Into<Axes>, cotangent: &Tensor) -> Result<Gradient> {
    of_reduction(op, x, &axes.into(), cotangent)
}

fn of_reduction(op: ReduceOp, x: &Tensor, axes: &Axes, given: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::reduce", &[x, given]);
    let typing = op.typing(x.dtype());
    let typing =
        typing.ok_or_else(|| error::dtype(&[x.dtype()], format_args!("{} is not defined for this", op.name())))?;
    let slices = || Slices::new(x, axes, typing.out, given);
    call.end(match op {
        ReduceOp::Sum => slices().and_then(|s| s.wrt.of_whole(&s.g)),
        ReduceOp::Mean => slices().and_then(|s| {
            let count = s.count()?.cast(s.g.dtype())?;
            s.wrt.of_whole(&s.g.div(&count)?)
        }),
        ReduceOp::Prod => slices().and_then(|s| product(&s)),
        ReduceOp::Max | ReduceOp::Min => slices().and_then(|s| {
            let extreme = s.wrt.x.reduce(op, s.keep())?;
            s.of_matches(&extreme, &|x, slices| x.eq(&slices[0]), &|_| Tensor::scalar(1.0).cast(s.g.dtype()))
        }),
        _ => {
            let why = format!("{} has no derivative: it gives counts or truth values", op.name());
            Err(error::invalid("op", why))
        }
    })
}

/// Of a product each element gets what the others multiply to: that of a slice without zeros divided by the element; where one
/// is 0, it alone gets that of the others.
fn product(s: &Slices) -> Result<Gradient> {
    let x = &s.wrt.x;
    let zero = Scalar::zero(x.dtype());
    let zeros = s.matches(&[], &|x, _| x.eq(zero))?;
    let of_others = filled(&x.eq(zero)?.where_(Scalar::one(x.dtype()), x)?.prod(s.keep())?)?;
    let at_zero = zeros.eq(1.0)?.where_(&of_others, zero)?;
    let none = zeros.eq(0.0)?;
    s.wrt.of_each(&s.g, &[&of_others, &at_zero, &none], &|x, g, slices| {
        let elsewhere = slices[2].where_(slices[0].binary(BinaryOp::Div, x)?, zero)?;
        let slope = x.eq(zero)?.where_(&slices[1], &elsewhere)?;
        g.mul(if slope.dtype().is_complex() { slope.unary(UnaryOp::Conj)? } else { slope })
    })
}
