//! Lists of integers as arguments: one of them, or several.

/// One integer or several, as [`Tensor::roll`](crate::Tensor::roll) and [`Tensor::repeat`](crate::Tensor::repeat) take
/// them: `1`, `[1, -2]`, `&[1, -2]`, a slice, a `Vec`, or a reference to one, of `i32`, `i64`, `isize` or `usize`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Integers(Vec<i64>);

impl Integers {
    /// The integers.
    pub(crate) fn as_slice(&self) -> &[i64] {
        &self.0
    }
}

/// An integer that no `i64` holds is out of any range.
fn wide(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}

macro_rules! from_integers {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Integers {
            fn from(value: $ty) -> Integers {
                Integers(vec![wide(value)])
            }
        }
        impl<const N: usize> From<[$ty; N]> for Integers {
            fn from(values: [$ty; N]) -> Integers {
                values.as_slice().into()
            }
        }
        impl<const N: usize> From<&[$ty; N]> for Integers {
            fn from(values: &[$ty; N]) -> Integers {
                values.as_slice().into()
            }
        }
        impl From<&[$ty]> for Integers {
            fn from(values: &[$ty]) -> Integers {
                Integers(values.iter().copied().map(wide).collect())
            }
        }
        impl From<Vec<$ty>> for Integers {
            fn from(values: Vec<$ty>) -> Integers {
                values.as_slice().into()
            }
        }
        impl From<&Vec<$ty>> for Integers {
            fn from(values: &Vec<$ty>) -> Integers {
                values.as_slice().into()
            }
        }
    )*};
}
from_integers!(i32, i64, isize, usize);

#[cfg(test)]
mod tests {
    use super::Integers;

    #[test]
    fn forms() {
        let of = |given: Integers| given.as_slice().to_vec();
        assert_eq!(of(3.into()), [3]);
        assert_eq!(of((-3).into()), [-3]);
        assert_eq!(of([1, -2].into()), [1, -2]);
        assert_eq!(of((&[1, -2]).into()), [1, -2]);
        assert_eq!(of(vec![1usize, 2].into()), [1, 2]);
        assert_eq!(of((&vec![1isize, 2]).into()), [1, 2]);
        assert_eq!(of((&[1i64, 2][..]).into()), [1, 2]);
        assert_eq!(of(usize::MAX.into()), [i64::MAX]);
    }
}
