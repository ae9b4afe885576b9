//! Products of every element with every other: outer and kron.

use crate::base::mapped::{Mapped, sums};
use std::sync::Arc;

use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::{DTypeKind, identity, promote};

use super::along;
use crate::base::context::{self, NanPolicy};
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::levels::level::LevelKind;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

/// # Outer and Kronecker products
impl Tensor {
    /// Every element times every element of another tensor: axes of the first, then of the second.
    ///
    /// Two sparse tensors with fill 0 (or both with undefined fill) give COO, a product for each pair of stored elements;
    /// others go by the rules of elementwise products of `self`, with axes of size 1 behind its own, and `other`. Under
    /// [`NanPolicy::Exact`] an unstored zero beside a stored NaN or infinity counts.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![1, 2].outer(&tensor![10, 20, 30])?;
    /// assert_eq!((x.shape(), x.to_vec::<i32>()?), (&[2, 3][..], vec![10, 20, 30, 20, 40, 60]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtypes do not promote or have no product, or the result is too large or not sparse and exceeds the
    /// densify budget.
    #[doc(alias("ger"))]
    pub fn outer(&self, other: &Tensor) -> Result<Tensor> {
        let call = trace::call("outer", &[self, other]);
        let out = match pairs(self, other)? {
            Some(out) => {
                raise(Work::Specialised);
                out
            }
            None => {
                let shape: Vec<usize> = self.shape().iter().copied().chain(vec![1; other.ndim()]).collect();
                self.reshape(&shape)?.mul(other)?
            }
        };
        Ok(call.done(out))
    }

    /// The Kronecker product: a block for each element of `self`, which is `other` times that element. The tensor with fewer axes
    /// gets new ones in front.
    ///
    /// Fill and cost as [`Tensor::outer`]; the result of sparse tensors is COO.
    ///
    /// ```
    /// use openwork::{DType, Layout, Tensor, tensor};
    /// let x = Tensor::eye(2, DType::I32, Layout::Csr)?.kron(&tensor![[1, 2]; Layout::Csr, 0]?)?;
    /// assert_eq!((x.shape(), x.to_vec::<i32>()?), (&[2, 4][..], vec![1, 2, 0, 0, 0, 0, 1, 2]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::outer`], or if an axis becomes too long.
    #[doc(alias("kronecker"))]
    pub fn kron(&self, other: &Tensor) -> Result<Tensor> {
        let call = trace::call("kron", &[self, other]);
        let n = self.ndim().max(other.ndim());
        let (a, b) = (self.atleast_nd(n)?, other.atleast_nd(n)?);
        let mut shape = Vec::with_capacity(n);
        for (&x, &y) in a.shape().iter().zip(b.shape()) {
            let why = format!("sizes {x} and {y} multiplied exceed the largest size");
            shape.push(x.checked_mul(y).ok_or_else(|| crate::base::error::shape(&[self.shape(), other.shape()], why))?);
        }
        let order = (0..2 * n).mapped(|d| (d / 2 + d % 2 * n) as isize);
        let out = a.outer(&b)?.permute_dims(&order)?.reshape(&shape)?;
        Ok(call.done(out))
    }
}

/// The products of all pairs of stored elements, where all others are what the fill of the product is.
fn pairs(a: &Tensor, b: &Tensor) -> Result<Option<Tensor>> {
    let (Some(x), Some(y)) = (a.sparse(), b.sparse()) else { return Ok(None) };
    let zero = |s: &Sparse| matches!(s.fill, Fill::Scalar(f) if f.is_zero());
    let undefined = x.fill.is_undefined() && y.fill.is_undefined();
    let blank = undefined || (zero(x) && zero(y));
    if !blank {
        return Ok(None);
    }
    // An integer can be infinite in the common dtype: beyond the largest float16.
    let common = promote(a.dtype(), b.dtype());
    let finite = |v: &Strided| {
        let v = v.unbroadcast().cast(common.unwrap_or(v.dtype));
        matches!(v.dtype.kind(), DTypeKind::Bool | DTypeKind::Int)
            || identity::all_finite(v.dtype, v.core().contiguous_bytes().unwrap_or_default())
    };
    let exact = context::nan_policy() == NanPolicy::Exact;
    if exact && !undefined && !(finite(&x.values) && finite(&y.values)) {
        return Ok(None);
    }
    let (x, y) = (super::to_coo(x)?, super::to_coo(y)?);
    let shape: Vec<usize> = x.shape.iter().chain(&y.shape).copied().collect();
    let (n, m) = (x.pattern.positions, y.pattern.positions);
    let total = along::fits(&shape, n.checked_mul(m))?;
    let column = |s: &Sparse, size: [usize; 2]| s.values.reshape(&size).map(Tensor::from_strided);
    let values = column(&x, [n, 1])?.mul(column(&y, [1, m])?)?.reshape([total])?;
    let fill = match (&x.fill, &y.fill) {
        (Fill::Scalar(f), Fill::Scalar(g)) => {
            let product = Tensor::scalar(*f).mul(Tensor::scalar(*g))?;
            Fill::Scalar(product.item()?)
        }
        _ => Fill::Undefined,
    };
    let layout = KeyLayout::new(&shape);
    let part = |s: &Sparse, first: usize, w: usize| {
        let fields = &layout.fields[first..first + s.ndim()];
        let weights: Vec<u64> = fields.mapped(|f| if f.word == w { f.weight() } else { 0 });
        s.pattern.linearize_all(&weights)
    };
    let words = (0..layout.word_bits.len()).map(|w| {
        let (left, right) = (part(&x, 0, w), part(&y, x.ndim(), w));
        sums(&left, &right)
    });
    let kinds = vec![LevelKind::Sparse { rank: shape.len() }];
    let from = (0..total as u64).collect();
    let (pattern, order) = along::rebuild(kinds, super::coo_dims(&shape), &layout, words.collect(), from)?;
    let values = values.strided().map(|v| convert::gather_values(v, &order)).transpose()?;
    let Some(values) = values else { return Ok(None) };
    Ok(Some(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill }.into()))
}
