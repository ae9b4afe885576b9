//! Reductions of the elements that are not NaN.
//!
//! NaN is replaced by what changes nothing, in stored elements and the fill alike; the pattern stays. Dtypes without NaN
//! have the plain op.

use openwork_ops::{DType, ReduceOp, Scalar, order};

use crate::base::axes::Axes;
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::engine::blocks::{self, Kernel};
use crate::engine::convert;
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Reducing: without NaN
impl Tensor {
    /// The sum of the elements that are not NaN; 0 where there are no others. See [`Tensor::sum`].
    ///
    /// # Errors
    /// As [`Tensor::reduce`].
    pub fn nansum(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        let axes = &axes.into();
        let call = trace::call("nansum", &[self]);
        call.end(unless_nan(self.sum(axes)?, || with_nan_as(self, 0.0)?.sum(axes)))
    }

    /// The product of the elements that are not NaN; 1 where there are no others. See [`Tensor::prod`].
    ///
    /// # Errors
    /// As [`Tensor::reduce`].
    pub fn nanprod(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        let axes = &axes.into();
        let call = trace::call("nanprod", &[self]);
        call.end(unless_nan(self.prod(axes)?, || with_nan_as(self, 1.0)?.prod(axes)))
    }

    /// The least of the elements that are not NaN; NaN where there are no others. See [`Tensor::min`].
    ///
    /// # Errors
    /// As [`Tensor::reduce`].
    pub fn nanmin(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        let axes = &axes.into();
        let call = trace::call("nanmin", &[self]);
        let others = || nan_where_none(with_nan_as(self, f64::INFINITY)?.min(axes)?, self, axes);
        call.end(unless_nan(self.min(axes)?, others))
    }

    /// The greatest of the elements that are not NaN; NaN where there are no others. See [`Tensor::max`].
    ///
    /// # Errors
    /// As [`Tensor::reduce`].
    pub fn nanmax(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        let axes = &axes.into();
        let call = trace::call("nanmax", &[self]);
        let others = || nan_where_none(with_nan_as(self, f64::NEG_INFINITY)?.max(axes)?, self, axes);
        call.end(unless_nan(self.max(axes)?, others))
    }

    /// The mean of the elements that are not NaN; NaN where there are no others. See [`Tensor::mean`].
    ///
    /// # Errors
    /// As [`Tensor::reduce`].
    pub fn nanmean(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        let axes = &axes.into();
        let call = trace::call("nanmean", &[self]);
        let out = self.dtype();
        if !out.is_inexact() {
            return call.end(self.mean(axes));
        }
        let wide = if out.is_complex() { DType::Complex128 } else { DType::F64 };
        let others = || with_nan_as(&self.cast(wide)?, 0.0)?.sum(axes)?.div(&counted(self, axes)?)?.cast(out);
        call.end(unless_nan(self.mean(axes)?, others))
    }
}

/// The fold of all elements, of which NaN becomes NaN: where there is none, no element was one. Else the fold of the others.
fn unless_nan(all: Tensor, others: impl FnOnce() -> Result<Tensor>) -> Result<Tensor> {
    let is_any = all.dtype().is_inexact() && all.isnan()?.count_nonzero(..)?.item()? != Scalar::I64(0);
    if is_any { others() } else { Ok(all) }
}

/// The tensor with NaN replaced by a number.
pub(super) fn with_nan_as(x: &Tensor, value: f64) -> Result<Tensor> {
    replaced(x, Scalar::F64(value))
}

/// The complex tensor with NaN in both parts where it is in one.
pub(super) fn spread(z: &Tensor) -> Result<Tensor> {
    replaced(z, Scalar::Complex128(openwork_ops::c128::new(f64::NAN, f64::NAN)))
}

fn replaced(x: &Tensor, value: Scalar) -> Result<Tensor> {
    let dtype = x.dtype();
    let Some(kernel) = order::replace_nan(dtype) else { return Ok(x.clone()) };
    let value = value.cast(dtype);
    let replace = |x: &Strided| {
        blocks::map_strided(&[x, &Strided::constant(value, &x.shape)], dtype, dtype, Kernel::Binary(kernel))
    };
    Ok(match &x.storage {
        Storage::Strided(s) => Tensor::from_strided(replace(s)?),
        Storage::Sparse(s) => {
            let s = convert::coalesce(s, ReduceOp::Sum)?;
            let fill = match s.fill_values() {
                None => Fill::Undefined,
                Some(values) => fill_of(&replace(&values)?),
            };
            Sparse { fill, values: replace(&s.values)?, ..s }.into()
        }
    })
}

/// How many elements are not NaN, as `float64`.
pub(super) fn counted(x: &Tensor, axes: &Axes) -> Result<Tensor> {
    x.isnan()?.logical_not()?.sum_as(DType::F64, axes)
}

/// NaN where every element is; `found` elsewhere.
fn nan_where_none(found: Tensor, x: &Tensor, axes: &Axes) -> Result<Tensor> {
    if !x.dtype().is_inexact() {
        return Ok(found);
    }
    // 0 by the count is 0, or NaN where there is nothing to count; an infinity stays what it is.
    let nothing = Tensor::scalar(0.0).div(&counted(x, axes)?)?.cast(x.dtype())?;
    found.add(&nothing)
}
