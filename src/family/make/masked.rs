//! Dense values beside a mask of what is stored: the bitmap of GraphBLAS, the masked array of NumPy.

use crate::base::mapped::Mapped;
use openwork_ops::structure::IndexVec;
use openwork_ops::{DType, Scalar};

use crate::base::error::{self, Result};
use crate::base::strided::c_strides;
use crate::engine::convert;
use crate::levels::layout::{Layout, LevelSpec};
use crate::tensor::fill::{self, Fill};
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

/// # Making tensors: a mask beside dense values
impl Tensor {
    /// The elements of a strided tensor that a mask chooses, stored in a layout; all else is the fill. With a mask
    /// like `x.abs()?.gt(1e-6)?` it drops what is small.
    ///
    /// `mask` is a strided bool tensor that broadcasts to the shape. Cost: O(size).
    ///
    /// ```
    /// use openwork::{Fill, Layout, Tensor};
    /// let x = Tensor::from_vec([2, 2], vec![1.0, 0.01, 0.0, 5.0])?;
    /// let kept = x.to_sparse_where(&x.gt(0.1)?, Layout::Csr, 0.0)?;
    /// assert_eq!(kept.values::<f64>()?, [1.0, 5.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If either is not strided, the mask is not bool or does not broadcast, the layout does not suit the shape or has
    /// value axes (their rows are stored whole), or the fill does not fit.
    pub fn to_sparse_where(&self, mask: &Tensor, layout: Layout, fill: impl Into<Fill>) -> Result<Tensor> {
        let call = trace::call("to_sparse_where", &[self, mask]);
        let (Some(values), Some(chosen)) = (self.strided(), mask.strided()) else {
            let why = format!("{} beside a mask {}: both must be strided", self.summary(), mask.summary());
            return Err(error::layout(why));
        };
        if chosen.dtype != DType::Bool {
            return Err(error::dtype(&[chosen.dtype], "the mask must be bool; compare with != 0 first"));
        }
        let fill = fill::check(fill.into(), &values.shape, values.dtype)?;
        let spec = LevelSpec::of_layout(layout, &values.shape)?;
        if spec.level_dims() != values.ndim() {
            return Err(error::layout(format_args!(
                "{layout} has value axes, which store rows whole; choose coo or csr"
            )));
        }
        let mask = mask.broadcast_to(&values.shape)?;
        let Some(chosen) = mask.strided() else { return Err(error::layout("the mask is not strided")) };
        // The pattern of what the mask chooses, then the values at it.
        let pattern = convert::from_strided(chosen, &spec, Scalar::Bool(false).into())?.pattern;
        let weights: Vec<u64> = c_strides(&values.shape).mapped(|&w| w as u64);
        let at = pattern.linearize_all(&pattern.level_weights(&weights));
        let flat = values.reshape(&[values.len()])?;
        let values = convert::gather_values(&flat, &IndexVec::U64(at))?;
        Ok(call.done(Sparse { shape: self.shape().into(), pattern, values, fill }.into()))
    }

    /// Dense values, and a bool mask of what is stored: the bitmap form. Where nothing is stored the values are the
    /// fill, or zero if it is undefined. Both are strided; densifying is explicit here, so the densify budget does not apply.
    ///
    /// # Errors
    /// If the dense form does not fit in memory.
    pub fn to_bitmap(&self) -> Result<(Tensor, Tensor)> {
        let call = trace::call("to_bitmap", &[self]);
        let mask = self.is_stored()?.to_dense()?;
        Ok(call.done((self.to_dense_with(Scalar::zero(self.dtype()))?, mask)))
    }
}

#[cfg(test)]
#[path = "tests/masked.rs"]
mod tests;
