//! Labels as rows that have a one at the label.

use openwork_ops::structure::Index;
use openwork_ops::{DType, ReduceOp, Scalar};

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::parallel;
use crate::base::strided::{Shape, Strided};
use crate::engine::convert;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::fill::Fill;
use crate::tensor::index_array::IndexArray;
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Making tensors: one-hot
impl Tensor {
    /// Replaces each integer by a row of `classes` elements that is 1 at that index and 0 elsewhere: a new last axis,
    /// `int64`.
    ///
    /// Of strided labels the result is CSR (with as many leading axes as there are), and stores one element for each label,
    /// all of them the same memory. Of sparse labels it is sparse: the fill's row is the fill, and the rows of stored labels
    /// are stored whole, at O(nse · classes). The row of an absent label is absent.
    ///
    /// ```
    /// use openwork::tensor;
    /// let y = tensor![2, 0].one_hot(3)?;
    /// assert_eq!(y.to_vec::<i64>()?, [0, 0, 1, 1, 0, 0]);
    /// assert_eq!(y.nse(), 2);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtype is no integer, or a label is not in `0..classes`.
    pub fn one_hot(&self, classes: usize) -> Result<Tensor> {
        let call = trace::call("one_hot", &[self]);
        call.end(one_hot(self, classes))
    }
}

fn one_hot(labels: &Tensor, classes: usize) -> Result<Tensor> {
    if !labels.dtype().is_int() {
        return Err(error::dtype(&[labels.dtype()], "labels are integers; cast them"));
    }
    match &labels.storage {
        Storage::Strided(s) => {
            let n = s.len();
            let places = IndexArray::from(&Tensor::from_strided(s.reshape(&[n])?));
            let Some(places) = places.as_indices().filter(|places| places.limit() <= classes as u64) else {
                check(s, classes)?;
                return Err(error::invalid("self", "there is a label that is too large for an index"));
            };
            let shape: Shape = s.shape.iter().copied().chain([classes]).collect();
            let wide = places.is_wide() || needs_64_bits(n, shape.iter().copied());
            let pointers = (s.ndim() > 0).then(|| counted(n, wide));
            let level = Level::Sparse { pointers, indices: vec![places.widened(wide)], ordered: true, unique: true };
            let mut levels = vec![Level::Dense; s.ndim()];
            levels.push(level);
            let dims: Vec<Dim> = shape.iter().enumerate().map(|(axis, &size)| Dim::whole(axis, size)).collect();
            let pattern = Pattern { level_dims: dims.len(), levels, dims, positions: n };
            let values = Strided::constant(Scalar::I64(1), &[n]);
            Ok(Sparse { shape, pattern: pattern.into(), values, fill: Fill::Scalar(Scalar::I64(0)) }.into())
        }
        Storage::Sparse(s) => {
            // Of duplicates the sum is the label.
            let s = convert::coalesce(s, ReduceOp::Sum)?;
            check(&s.values, classes)?;
            match &s.fill {
                Fill::Array(values) if (s.nse() as u128) < labels.size() => {
                    shown(&s, values, classes)?;
                }
                Fill::Scalar(value) if (s.nse() as u128) < labels.size() => {
                    check(&Strided::constant(*value, &[1]), classes)?;
                }
                _ => {}
            }
            let places = Tensor::arange(0, i64::try_from(classes).unwrap_or(i64::MAX), 1)?;
            Tensor::from(s).cast(DType::I64)?.expand_dims(-1)?.eq(&places)?.cast(DType::I64)
        }
    }
}

/// Refuses labels of a fill, but those that stored ones stand over wherever they would be.
fn shown(s: &Sparse, fill: &Tensor, classes: usize) -> Result<()> {
    let Some(Err(wrong)) = fill.strided().map(|labels| check(labels, classes)) else { return Ok(()) };
    let labels = fill.cast(DType::I64)?;
    let outside = labels.lt(0)?.logical_or(&labels.ge(i64::try_from(classes).unwrap_or(i64::MAX))?)?;
    let values = Strided::constant(Scalar::Bool(false), &s.values.shape);
    let seen = Tensor::from(Sparse { values, fill: Fill::array(outside), ..s.clone() });
    if seen.any(..)?.item()? == Scalar::Bool(true) { Err(wrong) } else { Ok(()) }
}

/// The numbers from 0 up to `last`.
fn counted(last: usize, wide: bool) -> Indices {
    fn counted<I: Index>(last: usize) -> Buffer {
        let width = size_of::<I>();
        Buffer::filled_of_held((last + 1) * width, width, |out| {
            parallel::for_chunks_mut(out, width, parallel::GRAIN, &|first, out| {
                let out: &mut [I] = bytemuck::cast_slice_mut(out);
                out.iter_mut().zip(first..).for_each(|(out, i)| *out = I::new(i));
            });
        })
    }
    Indices::of_buffer(if wide { counted::<u64>(last) } else { counted::<u32>(last) }, wide)
}

/// Labels have to be in `0..classes`.
fn check(labels: &Strided, classes: usize) -> Result<()> {
    let size = labels.dtype.size();
    let bytes = labels.dense_bytes()?;
    for element in bytes.chunks_exact(size) {
        let label = Scalar::from_bytes(labels.dtype, element).as_integer().unwrap_or(-1);
        if !(0..classes as i128).contains(&label) {
            return Err(error::invalid(
                "self",
                format_args!("there is a label {label}, allowed are those of 0..{classes}"),
            ));
        }
    }
    Ok(())
}
