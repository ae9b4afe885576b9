//! libtorch: tensors given to PyTorch's library and taken from it, through the crate [`tch`]. Needs the feature `torch`,
//! which nothing else turns on, and libtorch 2.13: `tests/torch/setup.sh` puts it into a folder and prints the two variables
//! that cargo needs.
//!
//! [`Tensor::from_torch`] takes a tensor over, [`Tensor::to_torch`] gives one away, [`Tensor::with_torch`] lends one. The
//! layout is the same on the other side: strided, COO (hybrid, uncoalesced), CSR, CSC, BSR and BSC, the last four with
//! batches and dense axes. So are the element types, of which libtorch by way of `tch` lacks `uint16`, `uint32` and
//! `uint64`, and we the quantised ones, `float8` and `complex32`.
//!
//! ```
//! use openwork::{Layout, tensor};
//! use tch::Kind;
//!
//! let x = tensor![[1.0, 0.0], [2.0, 3.0]; Layout::Csr, 0.0]?;
//! let t = x.to_torch()?; // a CSR tensor of libtorch's
//! let y = t.matmul(&tch::Tensor::from_slice2(&[[1.0f64], [10.0]]));
//! let y = openwork::Tensor::from_torch(&y, 0.0)?; // libtorch's memory
//! assert_eq!(y.to_vec::<f64>()?, [1.0, 32.0]);
//!
//! let rows = openwork::Tensor::from_torch(&t.to_sparse(None, None::<i64>, None), 0.0)?;
//! assert_eq!((rows.layout(), t.kind()), (Layout::Coo, Kind::Double));
//! # Ok::<(), openwork::Error>(())
//! ```
//!
//! # What is copied, and why
//!
//! | from libtorch | [`from_torch`](Tensor::from_torch) | [`from_torch_shared`](Tensor::from_torch_shared) (`unsafe`) |
//! |---|---|---|
//! | strided: elements | shared, any strides | shared, any strides |
//! | strided: truth values | copied: libtorch could write any byte | copied |
//! | strided: conjugate or negative views, oneDNN | computed, then shared: the memory holds other numbers | the same |
//! | COO, CSR, CSC, BSR, BSC: values | shared | shared |
//! | COO: coordinates | copied: libtorch could write them after they were checked | shared, a row per axis |
//! | CSR, CSC, BSR, BSC: pointers, indices | copied, for the same reason | shared |
//! | batches: pointers | made anew: ours count through all batches | made anew |
//!
//! Copied indices take 32 bits each where all of them fit, shared ones what they have.
//!
//! | to libtorch | [`to_torch`](Tensor::to_torch) | [`with_torch`](Tensor::with_torch) (`unsafe`) |
//! |---|---|---|
//! | memory that came from libtorch | shared: a view of libtorch's own | shared |
//! | strided: elements | copied: nothing says when libtorch is done with them | lent; copied where a stride is negative |
//! | COO, CSR, CSC, BSR, BSC: values | copied | lent; copied where they are not in order without gaps |
//! | COO: coordinates | copied: libtorch wants one matrix of 64 bits | copied; lent with one axis and 64 bits |
//! | CSR, CSC, BSR, BSC: pointers, indices | copied to 64 bits, or to their own with [`ToTorch::narrow_indices`] | lent, 32 bits where they have 32 |
//! | batches: pointers | made anew, and only if all batches store as much: libtorch knows no others | made anew |
//! | pointers that do not start at 0 (a window of rows) | made anew | made anew |
//! | compressed, not coalesced | coalesced: libtorch wants order | coalesced |
//!
//! `tch` gives no way to hand memory over together with what frees it, so `to_torch` has to copy.
//!
//! # Fill
//!
//! To libtorch an unstored element is zero. Any other fill is an error unless [`ToTorch::fill`] says what becomes of it;
//! [`Tensor::to_torch_masked`] gives values and a mask. Taking over, the caller says what unstored elements are: `0.0` is
//! what libtorch means; its own `softmax` of sparse tensors means [`Fill::Undefined`], and `-∞` in its words.
//!
//! # Threads
//!
//! libtorch writes its memory when it likes. A tensor over shared memory shows what is written there, as a DLPack tensor does.
//! It must not be written while an op of ours runs on it, or a slice of its elements is borrowed: on one thread the second
//! takes an in-place op of `tch` beside a slice that is kept.

mod export;
mod import;
mod memory;

pub use memory::held;

use crate::base::error::Result;
use crate::tensor::trace;
use crate::{Fill, Scalar, Tensor};
use import::Indices;
use memory::Crossing;

/// What becomes of unstored elements that are not zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FillAs {
    /// An error.
    #[default]
    Unchanged,
    /// They become zero.
    Zero,
    /// Every element is stored, if that fits the [densify budget](crate::with_densify_budget): a strided tensor.
    Dense,
}

/// How a tensor is given to libtorch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ToTorch {
    /// What becomes of unstored elements that are not zero.
    pub fill: FillAs,
    /// A layout that libtorch lacks becomes the nearest one: DCSR becomes CSR, DCSC CSC, every other one COO. Without, it
    /// is an error.
    pub nearest: bool,
    /// Indices of CSR, CSC, BSR and BSC keep their 32 bits where they have them; else they get 64, as PyTorch makes its own.
    pub narrow_indices: bool,
}

/// # Exchanging: libtorch
impl Tensor {
    /// A tensor of libtorch's, in the layout it has there. Its memory is shared, for as long as either side needs it, but
    /// for indices, which are copied and checked: see [the table](crate::exchange::torch). Unstored elements are `fill`; a
    /// strided tensor has none.
    ///
    /// ```
    /// use openwork::{Fill, Tensor};
    /// let t = tch::Tensor::from_slice(&[0.0f32, 2.0, 0.0]).to_sparse(None, None::<i64>, None);
    /// let x = Tensor::from_torch(&t, 0.0)?;
    /// assert_eq!((x.nse(), x.to_vec::<f32>()?), (1, vec![0.0, 2.0, 0.0]));
    /// assert!(Tensor::from_torch(&t, Fill::Undefined)?.get([0])?.is_none());
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the tensor is undefined, not on the CPU, quantised, nested, of an element type that tensors do not have, or tracks
    /// gradients (`detach()` it); if its indices are out of range or its pointers fall, which libtorch does not look at; if
    /// the fill does not fit.
    ///
    /// Cost: O(1) for a strided tensor, O(bytes of the indices) for a sparse one.
    pub fn from_torch(torch: &tch::Tensor, fill: impl Into<Fill>) -> Result<Tensor> {
        let call = trace::call("from_torch", &[]);
        call.gives(import::tensor(torch, fill.into(), Indices::Copied))
    }

    /// As [`Tensor::from_torch`], sharing indices too: the twin of the safe function, which copies them. They are checked
    /// once.
    ///
    /// # Errors
    /// As [`Tensor::from_torch`].
    ///
    /// # Safety
    /// Nobody may write the indices of the tensor while what results, or a tensor made of it, lives: kernels rely on them.
    #[allow(unsafe_code)] // declares a contract
    pub unsafe fn from_torch_shared(torch: &tch::Tensor, fill: impl Into<Fill>) -> Result<Tensor> {
        let call = trace::call("from_torch", &[]);
        call.gives(import::tensor(torch, fill.into(), Indices::Shared))
    }

    /// The tensor for libtorch, in the layout it has here, as a copy; what lies in libtorch's memory already is shared.
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let x = Tensor::random([100, 80], 0.1, 0.0, Layout::Csc, 1)?;
    /// let t = x.to_torch()?;
    /// assert_eq!(t.size(), [100, 80]);
    /// assert_eq!(t.ccol_indices().size(), [81]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the fill is not zero, libtorch lacks the element type or the layout (see [`Tensor::to_torch_with`]), or a size
    /// exceeds 2⁶³.
    pub fn to_torch(&self) -> Result<tch::Tensor> {
        let call = trace::call("to_torch", &[self]);
        call.gives(export::tensor(self, &ToTorch::default(), &Crossing::Copied))
    }

    /// As [`Tensor::to_torch`], with a way for fills and layouts that libtorch lacks.
    ///
    /// ```
    /// use openwork::exchange::torch::{FillAs, ToTorch};
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0], [0.0, 0.0]; Layout::Dcsr, 0.0]?;
    /// assert!(x.to_torch().is_err()); // libtorch has no DCSR
    /// let t = x.to_torch_with(&ToTorch { nearest: true, ..ToTorch::default() })?;
    /// assert_eq!(t.crow_indices().size(), [3]);
    ///
    /// let y = (&x + 1.0)?; // unstored elements are 1
    /// let t = y.to_torch_with(&ToTorch { fill: FillAs::Dense, ..ToTorch::default() })?;
    /// assert_eq!(Vec::<f64>::try_from(t.reshape([-1])).ok(), Some(vec![2.0, 1.0, 1.0, 1.0]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::to_torch`], for what the options do not allow; with [`FillAs::Dense`] if the densify budget is exceeded
    /// or elements are absent.
    pub fn to_torch_with(&self, options: &ToTorch) -> Result<tch::Tensor> {
        let call = trace::call("to_torch", &[self]);
        call.gives(export::tensor(self, options, &Crossing::Copied))
    }

    /// What is stored, and where: values with zero for what is not stored, and truth values that say what is. Both have the
    /// layout and the coordinates of the tensor, coalesced. It is how a tensor with undefined fill, or any fill but zero, goes over
    /// without becoming dense.
    ///
    /// # Errors
    /// As [`Tensor::to_torch`], apart from the fill.
    pub fn to_torch_masked(&self) -> Result<(tch::Tensor, tch::Tensor)> {
        let call = trace::call("to_torch_masked", &[self]);
        let x = self.coalesce()?;
        let mask = x.is_stored()?;
        let values = if x.is_strided() { x } else { x.replace_fill(Scalar::zero(x.dtype()))? };
        let options = ToTorch::default();
        let pair = export::tensor(&values, &options, &Crossing::Copied)
            .and_then(|values| Ok((values, export::tensor(&mask, &options, &Crossing::Copied)?)));
        call.gives(pair)
    }

    /// Lends the tensor to libtorch for the time that `f` runs, without a copy where libtorch can take the memory as it
    /// lies: see [the table](crate::exchange::torch).
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let x = Tensor::random([100, 80], 0.1, 0.0, Layout::Csr, 1)?;
    /// // SAFETY: the sum is a tensor of its own; nothing of `t` leaves, and nothing writes to it.
    /// let sum = unsafe { x.with_torch(|t| t.sum(None::<tch::Kind>))? };
    /// assert!((x.sum(..)?.item_as::<f64>()? - sum.double_value(&[])).abs() < 1e-12);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::to_torch`].
    ///
    /// # Safety
    /// `f` must not write to the tensor it is given, nor let it, a clone, a view or a part of it (`values()`,
    /// `crow_indices()`, what autograd saved) outlive the call: the memory is ours, other tensors may share it, and it may be
    /// gone afterwards.
    #[allow(unsafe_code)] // declares a contract
    pub unsafe fn with_torch<R>(&self, f: impl FnOnce(&tch::Tensor) -> R) -> Result<R> {
        let call = trace::call("with_torch", &[self]);
        let lent = Crossing::lending();
        let t = export::tensor(self, &ToTorch::default(), &lent)?;
        let out = call.given(f(&t));
        drop(t);
        drop(lent); // not before
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use tch::Device;

    #[test]
    fn only_main_memory_is_read() {
        assert!(super::import::on_cpu(Device::Cpu).is_ok());
        let error = super::import::on_cpu(Device::Cuda(0)).unwrap_err().to_string();
        assert!(error.contains("Cuda(0)") && error.contains("to_device(Device::Cpu)"), "{error}");
    }
}
