//! Binary ops over the union of what is there, with a default for each side.

use openwork_ops::{BinaryOp, Number, Scalar, promote};

use super::plan::common_shape;
use crate::base::error::{self, Result};
use crate::engine::blocks::{Kernel, Pass};
use crate::engine::join::join;
use crate::engine::sides::Side;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

/// # Computing: a default for each side
impl Tensor {
    /// A binary op where at least one operand has an element: where only one has, the other's default takes part
    /// (GraphBLAS's `eWiseUnion`). Every other op treats the absent as absorbing; this one fills gaps.
    ///
    /// Only undefined fills have gaps: with two of them the result's fill is undefined; with one, or none, the result is
    /// that of [`Tensor::binary`] after [`Tensor::replace_fill`] of the undefined one with its default. Shapes broadcast.
    ///
    /// Cost: O(nse of both).
    ///
    /// ```
    /// use openwork::{BinaryOp, Fill, Tensor};
    /// let a = Tensor::coo([4], vec![vec![0, 1]], &Tensor::from_vec([2], vec![5, 6])?, Fill::Undefined)?;
    /// let b = Tensor::coo([4], vec![vec![1, 3]], &Tensor::from_vec([2], vec![1, 2])?, Fill::Undefined)?;
    /// let c = a.union(BinaryOp::Sub, &b, 0, 10)?;
    /// assert_eq!(c.values::<i32>()?, [-5, 5, -2]); // 5 - 10, 6 - 1, 0 - 2
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If shapes do not broadcast, dtypes do not promote or do not have the op, a default does not fit its operand's
    /// dtype, or the result is not sparse and exceeds the densify budget.
    pub fn union(
        &self,
        op: BinaryOp,
        other: &Tensor,
        left_default: impl Into<Number>,
        right_default: impl Into<Number>,
    ) -> Result<Tensor> {
        let call = trace::call("union", &[self, other]);
        let fit = |n: Number, x: &Tensor| n.scalar().fit(x.dtype()).map_err(error::does_not_fit);
        let defaults = [fit(left_default.into(), self)?, fit(right_default.into(), other)?];
        let gaps = |x: &Tensor| x.fill().is_some_and(Fill::is_undefined);
        if !gaps(self) || !gaps(other) {
            let filled = |x: &Tensor, value: Scalar| if gaps(x) { x.replace_fill(value) } else { Ok(x.clone()) };
            return call.end(filled(self, defaults[0])?.binary(op, &filled(other, defaults[1])?));
        }
        let dtypes = [self.dtype(), other.dtype()];
        let why = "no dtype holds the values of both; cast one side";
        let common = promote(dtypes[0], dtypes[1]).ok_or_else(|| error::dtype(&dtypes, why))?;
        let unsupported =
            || error::dtype(&dtypes, format_args!("{} is not defined for {common}; cast first", op.name()));
        let typing = op.typing(common).ok_or_else(unsupported)?;
        let kernel = op.kernel(typing.compute).ok_or_else(unsupported)?;
        let shape = common_shape(&[self, other])?;
        // Through the common dtype, as every binary op.
        let operands = [self.cast(common)?, other.cast(common)?];
        let mut sides = [Side::spread_over(&operands[0], &shape)?, Side::spread_over(&operands[1], &shape)?];
        let Some(pattern) = join(&shape, &mut sides, true)? else {
            return Err(error::layout("no operand has a pattern"));
        };
        let source = |i: usize| sides[i].source(&pattern, Some(defaults[i].cast(common)));
        let sources = [source(0)?, source(1)?];
        let pass = Pass { computes: &[typing.compute; 2], out: typing.out, kernel: Kernel::Binary(kernel) };
        let values = pass.values(&pattern, &sources)?;
        let out = Sparse { shape, pattern: pattern.clone(), values, fill: Fill::Undefined }.into();
        Ok(call.done(out))
    }
}
