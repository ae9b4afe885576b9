//! Complex numbers as pairs of reals, and back, without moving a number.

use std::sync::Arc;

use openwork_ops::DType;

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::strided::{Strided, dense_len};
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Complex numbers as pairs
impl Tensor {
    /// Real and imaginary parts along a new last axis of size 2. A view: nothing is copied; of a sparse tensor the new
    /// axis is a value axis, and a complex fill becomes a fill array over it.
    ///
    /// # Errors
    /// If the dtype is not complex.
    pub fn view_as_real(&self) -> Result<Tensor> {
        let call = trace::call("view_as_real", &[self]);
        let part = match self.dtype() {
            DType::Complex64 => DType::F32,
            DType::Complex128 => DType::F64,
            other => return Err(error::dtype(&[other], "only complex numbers have two parts")),
        };
        let split = |s: &Strided| {
            let shape = s.shape.iter().copied().chain([2]).collect();
            let strides = s.strides.iter().map(|s| 2 * s).chain([1]).collect();
            Strided { buffer: s.buffer.clone(), dtype: part, shape, strides, offset: 2 * s.offset }
        };
        let out = match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(split(s)),
            Storage::Sparse(s) => {
                // Duplicates mean their sum, which parts keep.
                let mut shape = s.shape.clone();
                shape.push(2);
                let dims = s.pattern.dims.iter().copied().chain([Dim::whole(s.ndim(), 2)]).collect();
                let pattern = Arc::new(Pattern { dims, ..(*s.pattern).clone() });
                let fill = match &s.fill_values() {
                    None => Fill::Undefined,
                    Some(values) => fill_of(&split(values)),
                };
                Sparse { shape, pattern, values: split(&s.values), fill }.into()
            }
        };
        Ok(call.done(out))
    }

    /// Pairs along the last axis as complex numbers, the last axis dropped: the inverse of [`Tensor::view_as_real`]. A view
    /// where the parts lie side by side; else they are moved together, and a last axis whose coordinates are stored becomes
    /// a value axis first.
    ///
    /// # Errors
    /// If the dtype is not float32 or float64, the last axis is not of size 2, or an element of a pair is absent.
    pub fn view_as_complex(&self) -> Result<Tensor> {
        let call = trace::call("view_as_complex", &[self]);
        let whole = match self.dtype() {
            DType::F32 => DType::Complex64,
            DType::F64 => DType::Complex128,
            other => return Err(error::dtype(&[other], "pairs of float32 or float64 are needed; cast first")),
        };
        if self.shape().last() != Some(&2) {
            return Err(error::shape(&[self.shape()], "the last axis must have size 2"));
        }
        let join = |s: &Strided| -> Result<Strided> {
            let n = s.ndim() - 1;
            let even = s.strides[..n].iter().zip(&s.shape).all(|(&d, &size)| size <= 1 || d % 2 == 0);
            let adjacent = s.strides[n] == 1 && s.offset.is_multiple_of(2) && even;
            let s = if adjacent { s.clone() } else { fresh(s)? };
            let strides = s.strides[..n].iter().map(|s| s / 2).collect();
            Ok(Strided { buffer: s.buffer, dtype: whole, shape: s.shape[..n].into(), strides, offset: s.offset / 2 })
        };
        let out = match &self.storage {
            Storage::Strided(s) => Tensor::from_strided(join(s)?),
            Storage::Sparse(s) if s.pattern.value_dims().last() != Some(&Dim::whole(s.ndim() - 1, 2)) => {
                // Pairs come together as rows of a hybrid.
                return call.end(
                    self.to_layout(crate::levels::layout::Layout::HybridCoo { dense_dims: 1 })?.view_as_complex(),
                );
            }
            Storage::Sparse(s) => {
                let n = s.ndim() - 1;
                let dims = s.pattern.dims[..s.pattern.dims.len() - 1].to_vec();
                let pattern = Arc::new(Pattern { dims, ..(*s.pattern).clone() });
                let fill = match &s.fill_values() {
                    None => Fill::Undefined,
                    Some(values) => {
                        // Constant axes stay constant: only what varies is joined.
                        let core = values.unbroadcast();
                        let pairs: Vec<usize> = core.shape[..n].iter().copied().chain([2]).collect();
                        fill_of(&join(&core.broadcast(&pairs))?.broadcast(&s.shape[..n]))
                    }
                };
                Sparse { shape: s.shape[..n].into(), pattern, values: join(&s.values)?, fill }.into()
            }
        };
        Ok(call.done(out))
    }
}

/// A copy in C order that starts a buffer.
fn fresh(s: &Strided) -> Result<Strided> {
    let n = dense_len(&s.shape, s.dtype)?;
    let buffer = Buffer::build(n * s.dtype.size(), |out| s.read(0, out))?;
    Ok(Strided::new(buffer, s.dtype, s.shape.clone()))
}
