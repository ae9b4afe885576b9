//! Strided tensors as `ndarray` views.

use ndarray::{ArrayViewD, Axis, IxDyn, ShapeBuilder};
use openwork_ops::Element;

use crate::base::error::{self, Result};
use crate::tensor::Tensor;

impl Tensor {
    /// The elements of a strided tensor as an `ndarray` view, without copying, with whatever strides they have.
    ///
    /// For the stored values of a sparse tensor take the view of [`Tensor::stored_values`].
    ///
    /// ```
    /// use openwork::Tensor;
    /// let x = Tensor::from_vec(&[2, 3], vec![1, 2, 3, 4, 5, 6])?.permute_dims(&[1, 0])?;
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
        let strides: Vec<usize> = s.strides.iter().map(|s| s.unsigned_abs()).collect();
        let data: &[T] = s.buffer.typed();
        let data = if s.shape.contains(&0) { &[] } else { &data[start..] };
        let mut view = ArrayViewD::from_shape(IxDyn(&s.shape).strides(IxDyn(&strides)), data)
            .map_err(|e| error::layout(format!("ndarray does not take strides {:?}: {e}", s.strides)))?;
        (0..s.ndim()).filter(|&d| down(d)).for_each(|d| view.invert_axis(Axis(d)));
        Ok(view)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, array};

    #[test]
    fn round_trip_in_any_memory_order() {
        let mut a: Array2<f64> = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
        a.invert_axis(Axis(1));
        for a in [a.clone(), a.reversed_axes()] {
            let x = Tensor::from_ndarray(a.clone());
            assert_eq!(x.view::<f64>().unwrap(), a.view().into_dyn());
            assert_eq!(x.to_contiguous().values::<f64>().unwrap(), a.iter().copied().collect::<Vec<_>>());
        }
        let wide = Tensor::scalar(3.0).broadcast_to(&[2, 2]).unwrap();
        assert_eq!(wide.view::<f64>().unwrap().sum(), 12.0);
        assert!(x_error().contains("float64"));
    }

    fn x_error() -> String {
        Tensor::scalar(3.0).view::<f32>().unwrap_err().to_string()
    }
}
