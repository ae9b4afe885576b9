//! Products of two vectors, which are one number.

use openwork_ops::{Scalar, UnaryOp};

use super::array_dots;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::shape::broadcast_shapes;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::tensor::{Tensor, trace};

/// # Products to a number
impl Tensor {
    /// The sum of the products of two vectors' elements: [`Tensor::matmul`] of a row and a column.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let (x, y) = (tensor![1.0, 0.0, 3.0; Layout::Coo, 0.0]?, tensor![2.0, 5.0, 4.0]);
    /// assert_eq!(x.dot(&y)?.to::<f64>(), 14.0);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If either is not a vector, their lengths differ, or dtypes do not promote; if fills are undefined and no element
    /// is there in both, so that the product is absent.
    #[doc(alias = "inner")]
    pub fn dot(&self, other: &Tensor) -> Result<Scalar> {
        let call = trace::call("dot", &[self, other]);
        call.end(product(self, other))
    }

    /// The sum of the products of the elements of two tensors of one shape, those of `self` conjugated: the inner product
    /// of complex vectors, whose product with itself is the square of their norm.
    ///
    /// ```
    /// use openwork::{c128, tensor};
    /// let (x, y) = (tensor![c128::new(0.0, 2.0)], tensor![c128::new(1.0, 1.0)]);
    /// assert_eq!(x.vdot(&y)?, c128::new(2.0, -2.0).into()); // conj(x) y
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the shapes differ; else as [`Tensor::dot`], and as [`Tensor::flatten`] for tensors that are no vectors.
    pub fn vdot(&self, other: &Tensor) -> Result<Scalar> {
        let call = trace::call("vdot", &[self, other]);
        if self.shape() != other.shape() {
            return Err(error::shape(&[self.shape(), other.shape()], "both need the same shape"));
        }
        let flat = |x: &Tensor| if x.ndim() == 1 { Ok(x.clone()) } else { x.flatten() };
        let (x, y) = (flat(self)?, flat(other)?);
        call.end(of_conjugate(&x.expand_dims(0)?, &y.expand_dims(1)?)?.item())
    }
}

/// The products of rows, conjugated, with columns: matrices that broadcast.
pub(super) fn of_conjugate(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_complex() {
        return x.matmul(y);
    }
    let own = |x: &Tensor| x.shape()[..x.ndim() - 2].to_vec();
    if let (Some(a), Some(b), Ok(batch)) = (x.strided(), y.strided(), broadcast_shapes(&own(x), &own(y)))
        && a.dtype == b.dtype
    {
        let shape = [&batch[..], &[1, 1]].concat();
        convert::dense_len(&shape, a.dtype)?;
        let full = |x: &Strided| x.broadcast(&[&batch[..], &x.shape[x.ndim() - 2..]].concat());
        if let Some(out) = array_dots::product(&full(a), &full(b), &shape, !faults::is(Fault::PartsUnconjugated))? {
            raise(Work::Specialised);
            return Ok(Tensor::from_strided(out));
        }
    }
    x.unary(UnaryOp::Conj)?.matmul(y)
}

fn product(a: &Tensor, b: &Tensor) -> Result<Scalar> {
    match (a.shape(), b.shape()) {
        ([m], [n]) if m == n => a.matmul(b)?.item(),
        _ => Err(error::shape(&[a.shape(), b.shape()], "two vectors of one length are needed; matmul takes matrices")),
    }
}
