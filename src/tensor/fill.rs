//! Fill values: what an unstored element is.

use std::fmt;

use openwork_ops::{DType, Scalar, bf16, c64, c128, f16};

use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::tensor::Tensor;

/// What the unstored elements of a sparse tensor are.
///
/// A number converts into a scalar fill; constructors check that it fits the tensor's dtype.
#[derive(Clone, Debug)]
pub enum Fill {
    /// One value.
    Scalar(Scalar),
    /// A strided tensor that broadcasts to the tensor's shape: each axis has the tensor's size or 1.
    Array(Box<Tensor>),
    /// No value: unstored elements are absent.
    Undefined,
}

impl Fill {
    /// An array fill.
    pub fn array(values: Tensor) -> Fill {
        Fill::Array(Box::new(values))
    }

    /// Whether unstored elements are absent.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Fill::Undefined)
    }
}

macro_rules! fill_from {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Fill {
            fn from(value: $ty) -> Fill {
                Fill::Scalar(value.into())
            }
        }
    )*};
}
fill_from!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128);

impl From<Scalar> for Fill {
    fn from(value: Scalar) -> Fill {
        Fill::Scalar(value)
    }
}

impl fmt::Display for Fill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fill::Scalar(value) => value.fmt(f),
            Fill::Array(values) => write!(f, "array{:?}", values.shape()),
            Fill::Undefined => f.write_str("undefined"),
        }
    }
}

/// A fill as the engines see it: defined values are always strided and broadcast to the full shape.
#[derive(Clone, Debug)]
pub(crate) enum Background {
    Undefined,
    /// Shape of the tensor; strides 0 along the axes on which the fill is constant.
    Values(Strided),
}

impl Background {
    pub(crate) fn of(fill: &Fill, shape: &[usize]) -> Background {
        match fill {
            Fill::Undefined => Background::Undefined,
            Fill::Scalar(value) => Background::Values(Strided::constant(*value, shape)),
            Fill::Array(values) => match values.strided() {
                Some(values) => Background::Values(values.broadcast(shape)),
                None => Background::Undefined, // a validated fill is strided
            },
        }
    }

    pub(crate) fn values(&self) -> Option<&Strided> {
        match self {
            Background::Undefined => None,
            Background::Values(values) => Some(values),
        }
    }
}

/// The fill that a broadcast strided array stands for: a scalar where its elements are the same bits.
pub(crate) fn fill_of(values: &Strided) -> Fill {
    match single(values) {
        Some(value) => Fill::Scalar(value),
        None => Fill::array(Tensor::from_strided(values.unbroadcast())),
    }
}

/// The one value of an array whose elements are all the same bits. O(stored elements of the array).
pub(crate) fn single(values: &Strided) -> Option<Scalar> {
    let core = values.unbroadcast();
    if core.len() == 0 {
        return Some(Scalar::zero(values.dtype)); // of no element
    }
    let first = core.at_offset(core.offset);
    let (bytes, size) = first.to_bytes();
    let same = core.len() == 1 || core.dense_bytes().chunks_exact(size).all(|e| e == &bytes[..size]);
    same.then_some(first)
}

/// Checks a fill for a tensor of this shape and dtype and gives it that dtype.
pub(crate) fn check(fill: Fill, shape: &[usize], dtype: DType) -> Result<Fill> {
    match fill {
        Fill::Undefined => Ok(Fill::Undefined),
        Fill::Scalar(value) => value.fit(dtype).map(Fill::Scalar).map_err(error::does_not_fit),
        Fill::Array(values) => {
            let Some(array) = values.strided() else {
                return Err(error::invalid(
                    "fill",
                    format!("an array fill must be strided, this one is {}", values.layout()),
                ));
            };
            let fits = array.ndim() <= shape.len() && {
                let lead = shape.len() - array.ndim();
                array.shape.iter().zip(&shape[lead..]).all(|(&f, &s)| f == s || f == 1)
            };
            if !fits {
                return Err(error::shape(
                    &[shape, &array.shape],
                    "each axis of an array fill must have the tensor's size or 1",
                ));
            }
            if array.dtype != dtype {
                return Err(error::dtype(&[dtype, array.dtype], "an array fill must have the tensor's dtype; cast it"));
            }
            if array.shape.contains(&0) {
                return Ok(Fill::Scalar(Scalar::zero(dtype))); // no element of the tensor is unstored
            }
            let lead = vec![1; shape.len() - array.ndim()];
            let full: Vec<usize> = lead.into_iter().chain(array.shape.iter().copied()).collect();
            Ok(fill_of(&array.reshape(&full)))
        }
    }
}
