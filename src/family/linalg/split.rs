//! A sparse matrix whose fill is not zero, made ready to be multiplied often: what it stores less its fill, which is one
//! pass, and the fill, which is a row or a column.
//!
//! The matrix product takes fills off in a way that no element is rounded away beside a fill that is far larger. That is
//! looked at anew in every product and takes several times as long as the product with what is stored. An iterative method
//! needs products to rounding of the largest terms, and gets them in one pass.

use openwork_ops::{DType, UnaryOp};

use super::operator::Operator;
use crate::base::axes::keep;
use crate::base::error::Result;
use crate::tensor::Tensor;

/// `stored + fill`, the one with the fill 0, the other of one row, of one column, or of both.
struct Split {
    stored: Tensor,
    fill: Tensor,
    adjoint: Tensor,
}

/// The two parts of a matrix; `None` where it is multiplied as it is: its fill is zero, varies along both axes, is undefined
/// or not finite, or there is none.
pub(super) fn of(a: &Tensor) -> Result<Option<Box<dyn Operator>>> {
    // Half precision would round what is stored less the fill.
    let is_exact = matches!(a.dtype(), DType::F32 | DType::F64 | DType::Complex64 | DType::Complex128);
    let (Some(fill), true) = (a.fill(), a.ndim() == 2 && is_exact) else { return Ok(None) };
    let fill = match (fill.as_scalar(), fill.as_array()) {
        (Some(value), _) if !value.is_zero() => Tensor::scalar(value).reshape([1, 1])?,
        (None, Some(values)) => {
            let rows = if values.ndim() == 2 { values.shape()[0] } else { 1 };
            values.reshape([rows, values.shape().last().copied().unwrap_or(1)])?
        }
        _ => return Ok(None),
    };
    if !fill.shape().contains(&1) || !fill.unary(UnaryOp::Isfinite)?.all(..)?.item_as::<bool>()? {
        return Ok(None);
    }
    let stored = a.sub(&fill)?;
    let is_zero = stored.fill().is_some_and(|f| f.as_scalar().is_some_and(|f| f.is_zero()));
    let adjoint = fill.matrix_transpose()?;
    let adjoint = if a.dtype().is_complex() { adjoint.unary(UnaryOp::Conj)? } else { adjoint };
    Ok(is_zero.then(|| Box::new(Split { stored, fill, adjoint }) as Box<dyn Operator>))
}

/// A row or column of a matrix, repeated, times a vector or several.
fn background(fill: &Tensor, x: &Tensor) -> Result<Tensor> {
    if fill.shape()[1] == 1 { fill.matmul(&x.sum(keep(0))?) } else { fill.matmul(x) }
}

impl Operator for Split {
    fn shape(&self) -> [usize; 2] {
        Operator::shape(&self.stored)
    }

    fn dtype(&self) -> DType {
        self.stored.dtype()
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.stored.matmul(x)?.add(&background(&self.fill, x)?)
    }

    fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
        self.stored.apply_adjoint(x)?.add(&background(&self.adjoint, x)?)
    }
}
