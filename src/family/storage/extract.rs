//! What a tensor holds, handed to the program: all elements as a vector, one as a Rust number, the places of what is
//! stored.

use crate::base::mapped::Mapped;
use openwork_ops::{Cast, Element};

use crate::base::error::{self, Result};
use crate::engine::convert::dense_len;
use crate::levels::pattern::Part;
use crate::tensor::Tensor;
use crate::tensor::trace;

/// # Looking into: all elements, all coordinates
impl Tensor {
    /// Every element in C order, whatever the layout: stored ones and those that are the fill.
    ///
    /// Of a strided tensor whose elements lie in order, [`Tensor::values`] gives the same without a copy; of a sparse one
    /// that gives the stored elements alone. Densifying is explicit here, so the densify budget does not apply.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[0.0, 1.0], [2.0, 0.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.to_vec::<f64>()?, [0.0, 1.0, 2.0, 0.0]);
    /// assert_eq!(x.values::<f64>()?, [1.0, 2.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `T` is not the element type, an element is absent, or memory does not hold them all.
    #[doc(alias = "tolist")]
    #[doc(alias = "numpy")]
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        const CHUNK: usize = 1 << 12;
        let call = trace::call("to_vec", &[self]);
        if self.dtype() != T::DTYPE {
            let why = "the vector asked for has another element type; cast first";
            return Err(error::dtype(&[self.dtype(), T::DTYPE], why));
        }
        let n = dense_len(self.shape(), T::DTYPE)?;
        let mut out: Vec<T> = Vec::new();
        if out.try_reserve_exact(n).is_err() {
            let why = format!("{n} elements of {} do not fit in memory", T::DTYPE);
            return Err(error::shape(&[self.shape()], why));
        }
        let dense = self.to_dense()?;
        let Some(s) = dense.strided() else { return Err(error::layout("a dense tensor is strided")) };
        if let Some(values) = s.typed::<T>() {
            out.extend_from_slice(values);
            call.done(());
            return Ok(out);
        }
        let mut words = vec![0u128; (CHUNK * T::DTYPE.size()).div_ceil(16)];
        let bytes = bytemuck::cast_slice_mut::<u128, u8>(&mut words);
        for start in (0..n).step_by(CHUNK) {
            let part = &mut bytes[..CHUNK.min(n - start) * T::DTYPE.size()];
            s.read(start, part);
            out.extend_from_slice(T::from_bytes(part));
        }
        call.done(());
        Ok(out)
    }

    /// The only element of a tensor with one element, as a Rust number that holds it: `x.sum(..)?.item_as::<f64>()?`.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![1i64, 2, 3];
    /// assert_eq!(x.sum(..)?.item_as::<f64>()?, 6.0);
    /// assert!(x.mean(..)?.mul(1.25)?.item_as::<i32>().is_err()); // 2.5
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::item`]; if the type cannot hold the element: integers and bool hold it exactly, floats rounded but not
    /// overflowing. [`Scalar::to`](crate::Scalar::to) casts instead.
    pub fn item_as<T: Cast>(&self) -> Result<T> {
        let call = trace::call("item_as", &[self]);
        let item = self.item()?.fit(T::DTYPE).map_err(error::does_not_fit)?;
        Ok(call.done(item).to())
    }

    /// The coordinates of what is stored, `int64`: row `i` belongs to row `i` of [`Tensor::stored_values`], and has a
    /// column for each axis, in order, but for the value axes of a hybrid tensor. Duplicates are not added up.
    ///
    /// A column, or a part of it, goes wherever indices do:
    ///
    /// ```
    /// use openwork::{Layout, s, tensor};
    /// let x = tensor![[0.0, 1.0], [2.0, 3.0]; Layout::Csr, 0.0]?;
    /// let at = x.indices()?;
    /// assert_eq!(at.to_vec::<i64>()?, [0, 1, 1, 0, 1, 1]);
    /// let weights = tensor![10.0, 20.0];
    /// let of_row = weights.index_select(at.slice(s![.., 0])?, 0)?; // one for each stored element
    /// let scaled = x.with_stored_values(&(x.stored_values() * of_row)?, 0.0)?;
    /// assert_eq!(scaled.to_vec::<f64>()?, [0.0, 10.0, 40.0, 60.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// Cost: O(nse · axes). [`Tensor::argwhere`] gives the places of elements that are not 0, stored or not.
    ///
    /// # Errors
    /// If the tensor is strided, which stores every element; if the layout has blocks, whose positions are no elements
    /// (convert to `Layout::Coo`); or memory does not hold the result.
    #[doc(alias = "_indices")]
    #[doc(alias = "coords")]
    pub fn indices(&self) -> Result<Tensor> {
        let call = trace::call("indices", &[self]);
        let Some(s) = self.sparse() else {
            return Err(error::layout(
                "a strided tensor stores every element and has no indices; to_sparse makes some",
            ));
        };
        if s.pattern.dims.iter().any(|d| d.part != Part::Whole) {
            let why = format!("positions of {} are blocks, not elements; convert to coo", self.layout());
            return Err(error::layout(why));
        }
        let mut axes: Vec<usize> = s.pattern.level_dims().mapped(|d| d.axis);
        axes.sort_unstable();
        Ok(call.done(Tensor::from_strided(s.pattern.coordinates(&axes, &s.shape)?)))
    }
}
