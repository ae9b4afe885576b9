//! What formats of other libraries have no words for, said the same way for all of them.

use crate::Tensor;
use crate::base::error::{self, Error};
use crate::tensor::fill::Fill;
use openwork_ops::{DType, Scalar};

/// That a format has no words for something.
#[cold]
pub(super) fn refused(format: &str, what: &str) -> Error {
    error::layout(format_args!("{format} cannot hold {what}"))
}

/// A fill that is not one value.
pub(super) fn fill_of_many(x: &Tensor) -> Option<String> {
    match x.fill()? {
        Fill::Undefined => Some("the undefined fill (replace_fill gives absent elements a value)".to_owned()),
        Fill::Array(_) => Some("a fill that is an array (to_dense has all elements)".to_owned()),
        Fill::Scalar(_) => None,
    }
}

/// A fill other than 0, bit for bit: -0 is another one.
pub(super) fn fill_other_than_zero(x: &Tensor) -> Option<String> {
    match x.fill()? {
        Fill::Scalar(fill) if fill.to_bytes() != Scalar::zero(x.dtype()).to_bytes() => {
            Some(format!("the fill {fill}, which is not 0 (to_dense has all elements; with_fill(0) stores them)"))
        }
        _ => fill_of_many(x),
    }
}

/// Half-precision floats; `bfloat16` alone where a format has the others.
pub(super) fn half_precision(x: &Tensor, known: &[DType]) -> Option<String> {
    let dtype = x.dtype();
    (matches!(dtype, DType::F16 | DType::BF16) && !known.contains(&dtype))
        .then(|| format!("the dtype {dtype} (cast to float32)"))
}

/// Coordinates that repeat or do not rise.
pub(super) fn unordered(x: &Tensor) -> Option<String> {
    (!x.is_coalesced()).then(|| "repeated or unordered coordinates (coalesce)".to_owned())
}
