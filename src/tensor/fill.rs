//! Fill values: what an unstored element is.

use std::borrow::Cow;
use std::fmt;

use openwork_ops::{DType, Scalar, bf16, c64, c128, f16};

use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::tensor::Tensor;

/// What the unstored elements of a sparse tensor are.
///
/// A number converts into a scalar fill; constructors check that it fits the tensor's dtype.
#[derive(Clone, Debug)]
#[non_exhaustive]
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

    /// The one value, if that is what the fill is.
    ///
    /// ```
    /// use openwork::{Fill, tensor};
    /// let x = tensor![1.0, 0.0; openwork::Layout::Coo, 0.0]?;
    /// assert_eq!(x.fill().and_then(Fill::as_scalar), Some(0.0.into()));
    /// assert_eq!(x.fill(), Some(&Fill::from(0.0))); // fills compare, too
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn as_scalar(&self) -> Option<Scalar> {
        if let Fill::Scalar(value) = self { Some(*value) } else { None }
    }

    /// The strided tensor that the fill is, if it varies.
    pub fn as_array(&self) -> Option<&Tensor> {
        if let Fill::Array(values) = self { Some(values) } else { None }
    }

    /// Whether unstored elements are absent.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Fill::Undefined)
    }

    /// The fill as an array of the tensor's shape, with strides 0 along the axes on which it is constant: it takes no more
    /// memory than the fill. `None` if the fill is undefined.
    pub(crate) fn spread(&self, shape: &[usize]) -> Option<Strided> {
        match self {
            Fill::Undefined => None,
            Fill::Scalar(value) => Some(Strided::constant(*value, shape)),
            Fill::Array(values) => values.strided().map(|values| values.broadcast(shape)), // a validated fill is strided
        }
    }
}

/// Fills are equal that mean the same for every tensor: scalars of one dtype and value (NaN like NaN, −0 like 0), arrays
/// of one dtype, shape and elements, undefined ones. An array is no scalar, though its elements be all alike.
impl PartialEq for Fill {
    fn eq(&self, other: &Fill) -> bool {
        match (self, other) {
            (Fill::Scalar(a), Fill::Scalar(b)) => a.same(*b),
            (Fill::Array(a), Fill::Array(b)) => match (a.strided(), b.strided()) {
                (Some(a), Some(b)) => a.dtype == b.dtype && a.shape == b.shape && elements_are_same(a, b),
                _ => false, // a fill is strided
            },
            (Fill::Undefined, Fill::Undefined) => true,
            _ => false,
        }
    }
}

impl Eq for Fill {}

fn elements_are_same(a: &Strided, b: &Strided) -> bool {
    const BLOCK: usize = 256;
    let (dtype, size) = (a.dtype, a.dtype.size());
    let value = |bytes: &[u8]| Scalar::from_bytes(dtype, bytes);
    let (mut x, mut y) = (vec![0u8; BLOCK * size], vec![0u8; BLOCK * size]);
    (0..a.len()).step_by(BLOCK).all(|start| {
        let bytes = BLOCK.min(a.len() - start) * size;
        let (x, y) = (&mut x[..bytes], &mut y[..bytes]);
        a.read(start, x);
        b.read(start, y);
        x == y || x.chunks_exact(size).zip(y.chunks_exact(size)).all(|(x, y)| value(x).same(value(y)))
    })
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

/// An array fill, as [`Fill::array`].
impl From<Tensor> for Fill {
    fn from(values: Tensor) -> Fill {
        Fill::array(values)
    }
}

/// An array fill, as [`Fill::array`]; the values are shared.
impl From<&Tensor> for Fill {
    fn from(values: &Tensor) -> Fill {
        Fill::array(values.clone())
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

/// A fill as the elementwise engine sees it: one value stays one, and takes no memory.
#[derive(Clone, Debug)]
pub(crate) enum Background {
    /// Unstored elements are absent.
    Undefined,
    Scalar(Scalar),
    /// Of the tensor's shape; strides 0 along the axes on which the fill is constant.
    Array(Box<Strided>),
}

impl Background {
    pub(crate) fn of(fill: &Fill, shape: &[usize]) -> Background {
        match fill {
            Fill::Undefined => Background::Undefined,
            Fill::Scalar(value) => Background::Scalar(*value),
            Fill::Array(_) => fill.spread(shape).map_or(Background::Undefined, Background::varying),
        }
    }

    fn varying(values: Strided) -> Background {
        Background::Array(Box::new(values))
    }

    /// A broadcast array: one value where it repeats a single element.
    pub(crate) fn of_array(values: Strided) -> Background {
        match values.constant_value() {
            Some(value) => Background::Scalar(value),
            None => Background::varying(values),
        }
    }

    pub(crate) fn is_undefined(&self) -> bool {
        matches!(self, Background::Undefined)
    }

    /// The one value that it is.
    pub(crate) fn scalar(&self) -> Option<Scalar> {
        if let Background::Scalar(value) = self { Some(*value) } else { None }
    }

    /// Whether it differs along an axis of the shape.
    pub(crate) fn varies(&self, axis: usize) -> bool {
        matches!(self, Background::Array(values) if values.shape[axis] > 1 && values.strides[axis] != 0)
    }

    /// As an array of the tensor's shape.
    pub(crate) fn spread(&self, shape: &[usize]) -> Option<Cow<'_, Strided>> {
        match self {
            Background::Undefined => None,
            Background::Scalar(value) => Some(Cow::Owned(Strided::constant(*value, shape))),
            Background::Array(values) => Some(Cow::Borrowed(values)),
        }
    }

    pub(crate) fn cast(self, dtype: DType) -> Background {
        match self {
            Background::Undefined => Background::Undefined,
            Background::Scalar(value) => Background::Scalar(value.cast(dtype)),
            Background::Array(values) => Background::varying(values.cast(dtype)),
        }
    }

    /// What varies in name only is one value: an array would keep the next op from staying sparse. O(size of the array).
    pub(crate) fn settled(self) -> Background {
        match &self {
            Background::Array(values) => single(values).map_or(self, Background::Scalar),
            _ => self,
        }
    }
}

/// Of a settled background.
impl From<Background> for Fill {
    fn from(background: Background) -> Fill {
        match background {
            Background::Undefined => Fill::Undefined,
            Background::Scalar(value) => Fill::Scalar(value),
            Background::Array(values) => Fill::array(Tensor::from_strided(values.unbroadcast())),
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
    let same = core.len() == 1
        || core.core().contiguous_bytes().unwrap_or_default().chunks_exact(size).all(|e| e == &bytes[..size]);
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
                    format_args!("an array fill must be strided, this one is {}", values.layout()),
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
            Ok(fill_of(&array.reshape(&full)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Fill;
    use crate::{Tensor, tensor};

    #[test]
    fn equality() {
        let array = |x: Tensor| Fill::array(x);
        let (a, b) = (array(tensor![[1.0, f64::NAN]]), array(tensor![[1.0, f64::NAN]]));
        assert_eq!(a, b);
        assert_eq!(array(tensor![[0.0, 1.0]]), array(tensor![[-0.0, 1.0]]));
        assert_eq!(Fill::from(f64::NAN), f64::NAN.into());
        assert_eq!(Fill::from(0.0), Fill::from(-0.0));
        assert_eq!(Fill::Undefined, Fill::Undefined);
        let different = [a, array(tensor![1.0, f64::NAN]), array(tensor![[1.0f32, 2.0]]), 1.0.into(), 1i64.into()];
        for (i, x) in different.iter().enumerate() {
            assert_eq!(different.iter().filter(|y| *y == x).count(), 1, "{i}");
            assert_ne!(*x, Fill::Undefined);
        }
        assert_eq!(Fill::from(2.0).as_scalar(), Some(2.0.into()));
        assert!(Fill::Undefined.as_scalar().is_none() && different[0].as_scalar().is_none());
    }
}
