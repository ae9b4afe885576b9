//! `ndarray` arrays as strided tensors, and tensors as views and arrays.

use crate::base::mapped::Mapped;
use ndarray::{Array, ArrayBase, ArrayViewD, Axis, Data, Dimension, IxDyn, RawData, ShapeBuilder};
use openwork_ops::Element;

use crate::base::error::{self, Error, Result};
use crate::tensor::Tensor;
use crate::tensor::trace;

/// # Exchanging: `ndarray`
impl Tensor {
    /// The elements of a strided tensor as an `ndarray` view, without copying, with whatever strides they have.
    ///
    /// For the stored values of a sparse tensor take the view of [`Tensor::stored_values`].
    ///
    /// ```
    /// use openwork::Tensor;
    /// let x = Tensor::from_vec([2, 3], vec![1, 2, 3, 4, 5, 6])?.permute_dims(&[1, 0])?;
    /// assert_eq!(x.view::<i32>()?[[2, 1]], 6);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the tensor is sparse, or `T` is not its element type.
    pub fn view<T: Element>(&self) -> Result<ArrayViewD<'_, T>> {
        let Some(s) = self.strided() else {
            let why = format!("a view needs a strided tensor, this one is {}; use to_dense() first", self.layout());
            return Err(error::layout(why));
        };
        if s.dtype != T::DTYPE {
            return Err(error::dtype(&[s.dtype, T::DTYPE], "the view asked for has another element type; cast first"));
        }
        // ndarray takes strides upwards from the lowest element; axes that run down are turned round afterwards.
        let down = |d: usize| s.strides[d] < 0 && s.shape[d] > 0;
        let lowest =
            (0..s.ndim()).filter(|&d| down(d)).map(|d| (s.shape[d] - 1) as isize * s.strides[d]).sum::<isize>();
        let start = (s.offset as isize + lowest) as usize;
        let strides: Vec<usize> = s.strides.mapped(|s| s.unsigned_abs());
        let data: &[T] = s.buffer.typed();
        let data = if s.shape.contains(&0) { &[] } else { &data[start..] };
        let mut view = ArrayViewD::from_shape(IxDyn(&s.shape).strides(IxDyn(&strides)), data)
            .map_err(|e| error::layout(format_args!("ndarray does not take strides {:?}: {e}", s.strides)))?;
        (0..s.ndim()).filter(|&d| down(d)).for_each(|d| view.invert_axis(Axis(d)));
        Ok(view)
    }
}

/// A strided tensor over the array's memory, without copying; any memory order.
///
/// ```
/// use ndarray::array;
/// use openwork::Tensor;
/// assert_eq!(Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]).shape(), [2, 2]);
/// ```
impl<T: Element, D: Dimension> From<Array<T, D>> for Tensor {
    fn from(array: Array<T, D>) -> Tensor {
        Tensor::from_ndarray(array)
    }
}

/// A strided tensor over a copy of the elements.
impl<T: Element, S: Data<Elem = T> + RawData, D: Dimension> From<&ArrayBase<S, D>> for Tensor {
    fn from(array: &ArrayBase<S, D>) -> Tensor {
        Tensor::from_ndarray(array.to_owned())
    }
}

/// Every element of a tensor, of whatever layout, as an array in C order: [`Tensor::to_vec`] with the shape.
///
/// ```
/// use ndarray::{Array2, ArrayD};
/// use openwork::{Layout, tensor};
/// let x = tensor![[1.0, 0.0], [0.0, 2.0]; Layout::Csr, 0.0]?;
/// let a: Array2<f64> = Array2::try_from(&x)?;
/// assert_eq!(a.sum(), 3.0);
/// assert!(ArrayD::<f32>::try_from(&x).is_err()); // cast first
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::to_vec`], or if the array has a fixed number of axes and the tensor another.
impl<T: Element, D: Dimension> TryFrom<&Tensor> for Array<T, D> {
    type Error = Error;
    fn try_from(x: &Tensor) -> Result<Array<T, D>> {
        let call = trace::call("try_from", &[x]);
        if let Some(n) = D::NDIM.filter(|&n| n != x.ndim()) {
            let why = format!("the array asked for has {n} axes");
            return Err(error::shape(&[x.shape()], why));
        }
        let wrong = |e| error::shape(&[x.shape()], format_args!("ndarray does not take the shape: {e}"));
        let array = Array::from_shape_vec(IxDyn(x.shape()), x.to_vec()?).map_err(wrong)?;
        let array = array.into_dimensionality().map_err(wrong)?;
        call.done(());
        Ok(array)
    }
}

#[cfg(test)]
#[path = "tests/ndarray.rs"]
mod tests;
