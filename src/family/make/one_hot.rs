//! Labels as rows that have a one at the label.

use openwork_ops::{DType, ReduceOp, Scalar};

use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::levels::layout::LevelSpec;
use crate::levels::level::LevelKind;
use crate::levels::pattern::Part;
use crate::tensor::fill::Fill;
use crate::tensor::index_array::LevelData;
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
            let places = checked(s, classes)?;
            let n = places.len();
            let dims = (0..=s.ndim()).map(|axis| (axis, Part::Whole)).collect();
            let mut kinds = vec![LevelKind::Dense; s.ndim()];
            kinds.push(LevelKind::Sparse { rank: 1 });
            let mut levels = vec![LevelData::Dense; s.ndim()];
            let pointers = (s.ndim() > 0).then(|| (0..=n as u64).collect::<Vec<_>>().into());
            levels.push(LevelData::Sparse { pointers, indices: vec![places.into()], ordered: true, unique: true });
            let shape: Vec<usize> = s.shape.iter().copied().chain([classes]).collect();
            let ones = Tensor::from_strided(Strided::constant(Scalar::I64(1), &[n]));
            Tensor::from_parts(&shape, levels, &LevelSpec { levels: kinds, dims }, &ones, 0i64)
        }
        Storage::Sparse(s) => {
            // Of duplicates the sum is the label.
            let s = convert::coalesce(s, ReduceOp::Sum)?;
            checked(&s.values, classes)?;
            match &s.fill {
                Fill::Array(values) if (s.nse() as u128) < labels.size() => {
                    shown(&s, values, classes)?;
                }
                Fill::Scalar(value) if (s.nse() as u128) < labels.size() => {
                    checked(&Strided::constant(*value, &[1]), classes)?;
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
    let Some(Err(wrong)) = fill.strided().map(|labels| checked(labels, classes)) else { return Ok(()) };
    let labels = fill.cast(DType::I64)?;
    let outside = labels.lt(0)?.logical_or(&labels.ge(i64::try_from(classes).unwrap_or(i64::MAX))?)?;
    let values = Strided::constant(Scalar::Bool(false), &s.values.shape);
    let seen = Tensor::from(Sparse { values, fill: Fill::array(outside), ..s.clone() });
    if seen.any(..)?.item()? == Scalar::Bool(true) { Err(wrong) } else { Ok(()) }
}

/// The labels, which are in `0..classes`.
fn checked(labels: &Strided, classes: usize) -> Result<Vec<u64>> {
    let size = labels.dtype.size();
    let bytes = labels.dense_bytes()?;
    let mut out = Vec::with_capacity(labels.len());
    for element in bytes.chunks_exact(size) {
        let label = Scalar::from_bytes(labels.dtype, element).as_integer().unwrap_or(-1);
        match u64::try_from(label).ok().filter(|&l| l < classes as u64) {
            Some(label) => out.push(label),
            None => {
                let why = format!("there is a label {label}, allowed are those of 0..{classes}");
                return Err(error::invalid("self", why));
            }
        }
    }
    Ok(out)
}
