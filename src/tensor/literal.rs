//! Tensors from what the language has: arrays, vectors, iterators, and the literal [`tensor!`](crate::tensor!).

use openwork_ops::{Element, bf16, c64, c128, f16};

use crate::base::error::{Error, Result};
use crate::base::strided::Strided;
use crate::tensor::Tensor;

mod sealed {
    pub trait Sealed {}
}

/// An element, or an array of what is nested: what [`Tensor`] converts from. Sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither an element type of tensors nor an array of them",
    note = "elements are bool, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64 and c128",
    note = "rows of a `Vec<Vec<T>>` may differ in length: use `Tensor::try_from`"
)]
pub trait Nested: sealed::Sealed + Sized {
    /// The element type.
    type Item: Element;
    /// Appends the sizes of the axes.
    #[doc(hidden)]
    fn shape(out: &mut Vec<usize>);
    /// Appends the elements in C order.
    #[doc(hidden)]
    fn elements(self, out: &mut Vec<Self::Item>);
}

macro_rules! elements {
    ($($ty:ty),*) => {$(
        impl sealed::Sealed for $ty {}
        impl Nested for $ty {
            type Item = $ty;
            fn shape(_: &mut Vec<usize>) {}
            fn elements(self, out: &mut Vec<$ty>) {
                out.push(self);
            }
        }
    )*};
}
elements!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, c64, c128);

impl<A: sealed::Sealed, const N: usize> sealed::Sealed for [A; N] {}

impl<A: Nested, const N: usize> Nested for [A; N] {
    type Item = A::Item;
    fn shape(out: &mut Vec<usize>) {
        out.push(N);
        A::shape(out);
    }
    fn elements(self, out: &mut Vec<A::Item>) {
        self.into_iter().for_each(|a| a.elements(out));
    }
}

/// Rows one after the other, as an axis before those of a row.
fn stacked<A: Nested>(rows: impl ExactSizeIterator<Item = A>) -> Tensor {
    let mut shape = vec![rows.len()];
    A::shape(&mut shape);
    let mut data = Vec::with_capacity(rows.len());
    rows.for_each(|row| row.elements(&mut data));
    Tensor::from_strided(Strided::from_vec(data, shape))
}

/// A strided tensor with an axis for each level of nesting.
///
/// ```
/// use openwork::Tensor;
/// assert_eq!(Tensor::from([1.0, 2.0]).shape(), [2]);
/// assert_eq!(Tensor::from([[1i64, 2, 3], [4, 5, 6]]).shape(), [2, 3]);
/// ```
impl<A: Nested, const N: usize> From<[A; N]> for Tensor {
    fn from(rows: [A; N]) -> Tensor {
        stacked(rows.into_iter())
    }
}

/// A strided tensor of the elements, or of rows of equal length.
impl<A: Nested> From<Vec<A>> for Tensor {
    fn from(rows: Vec<A>) -> Tensor {
        stacked(rows.into_iter())
    }
}

/// A strided tensor of a copy of the elements, or of rows of equal length.
impl<A: Nested + Clone> From<&[A]> for Tensor {
    fn from(rows: &[A]) -> Tensor {
        stacked(rows.iter().cloned())
    }
}

/// A strided matrix of rows, which must be of one length: [`Tensor::from_rows`].
impl<T: Nested<Item = T> + Element> TryFrom<Vec<Vec<T>>> for Tensor {
    type Error = Error;
    fn try_from(rows: Vec<Vec<T>>) -> Result<Tensor> {
        Tensor::from_rows(&rows)
    }
}

/// A strided vector of the elements. Stored elements with their indices make a sparse tensor by
/// [`Tensor::from_entries`], which takes the shape and the fill beside them.
///
/// ```
/// use openwork::Tensor;
/// let squares: Tensor = (0..4).map(|i| i * i).collect();
/// assert_eq!(squares.values::<i32>()?, [0, 1, 4, 9]);
/// # Ok::<(), openwork::Error>(())
/// ```
impl<A: Nested> FromIterator<A> for Tensor {
    fn from_iter<I: IntoIterator<Item = A>>(rows: I) -> Tensor {
        rows.into_iter().collect::<Vec<A>>().into()
    }
}

/// A tensor written out, one pair of brackets for each axis.
///
/// Alone it is strided, and a [`Tensor`]. With a layout and a fill behind a semicolon it stores the elements that are
/// not the fill, as [`Tensor::to_sparse`] does, and is a [`Result`](crate::Result), since a layout may not suit the
/// number of axes and a fill may not fit the elements.
///
/// Literals have Rust's types: `1.0` is `f64`, `1` is `i32`, `1i64` says another. An entry may be any expression.
///
/// ```
/// use openwork::{Layout, tensor};
///
/// let x = tensor![[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]];
/// assert_eq!((x.shape(), x.layout()), (&[2, 3][..], Layout::Strided));
///
/// let a = tensor![[1.0, 0.0, 0.0], [0.0, 0.0, 2.0]; Layout::Csr, 0.0]?;
/// assert_eq!((a.nse(), a.layout()), (2, Layout::Csr));
/// assert!(a.equal(&x)?);
/// # Ok::<(), openwork::Error>(())
/// ```
#[macro_export]
macro_rules! tensor {
    ($($row:expr),+ $(,)?) => { $crate::Tensor::from([$($row),+]) };
    ($($row:expr),+ $(,)?; $layout:expr, $fill:expr $(,)?) => {
        $crate::Tensor::from([$($row),+]).to_sparse($layout, $fill)
    };
}

#[cfg(test)]
#[path = "tests/literal.rs"]
mod tests;
