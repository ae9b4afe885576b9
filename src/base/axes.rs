//! Axes as arguments: one, several, a range or all of them, and whether a reduction keeps them.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::base::error::{self, ErrorKind, Result};
use crate::base::mapped::Mapped;
use crate::base::trace;

/// One axis, made from an integer; a negative one counts from the last axis.
///
/// Every method that works along one axis takes `impl Into<Axis>`:
///
/// ```
/// use openwork::Tensor;
///
/// let x = Tensor::from_vec([2, 3], vec![3, 1, 2, 6, 5, 4])?;
/// assert_eq!(x.sort(1)?.values::<i32>()?, [1, 2, 3, 4, 5, 6]);
/// assert_eq!(x.sort(-1)?.values::<i32>()?, [1, 2, 3, 4, 5, 6]);
/// let last = x.ndim() - 1;
/// assert_eq!(x.sort(last)?.values::<i32>()?, [1, 2, 3, 4, 5, 6]);
/// # Ok::<(), openwork::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Axis(isize);

/// Some axes of a tensor: one, several, a range, or all of them. Negative ones count from the last axis.
///
/// Every method that works along several axes takes `impl Into<Axes>`:
///
/// | written | axes |
/// |---|---|
/// | `0`, `-1`, `x.ndim() - 1` | one |
/// | `[0, 2]`, `&[0, 2]`, a slice, a `Vec`, a reference to one | several |
/// | `1..`, `..2`, `1..=2`, `..-1` | a range; both ends must exist |
/// | `..` | all |
/// | [`Axes::none()`] | none |
/// | [`keep`]`(0)`, `keep([0, 1])`, `keep(..)` | the same, and a reduction leaves them with size 1 (`keepdims`) |
///
/// Integers are `i32`, `i64`, `isize` or `usize`. An axis may not be given twice.
///
/// ```
/// use openwork::{Layout, Tensor, keep};
///
/// let x = Tensor::random([4, 5, 6], 0.3, 0.0, Layout::Csf, 1)?;
/// assert_eq!(x.sum(0)?.shape(), [5, 6]);
/// assert_eq!(x.sum([0, -1])?.shape(), [5]);
/// assert_eq!(x.sum(1..)?.shape(), [4]);
/// assert_eq!(x.sum(..)?.ndim(), 0);
/// let centred = (&x - x.mean(keep([1, 2]))?)?;
/// assert_eq!(centred.shape(), [4, 5, 6]);
/// # Ok::<(), openwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Axes {
    which: Which,
    keep: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Which {
    One(isize),
    Several(Vec<isize>),
    /// From one axis to another, or to the last.
    Range(isize, Option<isize>),
    All,
}

/// These axes, which a reduction leaves in the result with size 1 (NumPy's and PyTorch's `keepdims`), so that it
/// broadcasts against its operand.
///
/// ```
/// use openwork::{Tensor, keep};
///
/// let x = Tensor::from_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// assert_eq!(x.sum(keep(1))?.shape(), [2, 1]);
/// assert_eq!(x.sum(keep(..))?.shape(), [1, 1]);
/// assert_eq!((&x / x.sum(keep(1))?)?.shape(), [2, 3]);
/// # Ok::<(), openwork::Error>(())
/// ```
#[doc(alias = "keepdims")]
#[doc(alias = "keepdim")]
pub fn keep(axes: impl Into<Axes>) -> Axes {
    Axes { keep: true, ..axes.into() }
}

impl Axis {
    /// The axis counted from the front.
    pub(crate) fn of(self, ndim: usize) -> Result<usize> {
        let front = if self.0 < 0 { self.0 as i128 + ndim as i128 } else { self.0 as i128 };
        if (0..ndim as i128).contains(&front) {
            return Ok(front as usize);
        }
        let why = if ndim == 0 { "it has none".to_string() } else { format!("allowed are -{ndim}..={}", ndim - 1) };
        Err(ErrorKind::Axis { op: trace::op(), axis: self.0, ndim, why }.into())
    }
}

impl Axes {
    /// No axis at all: a reduction over none gives each element by itself.
    pub fn none() -> Axes {
        Which::Several(Vec::new()).into()
    }

    /// Whether a reduction keeps the axes with size 1.
    pub(crate) fn keeps(&self) -> bool {
        self.keep
    }

    /// The axes counted from the front, in rising order.
    pub(crate) fn of(&self, ndim: usize) -> Result<Vec<usize>> {
        let mut axes = self.ordered(ndim)?;
        axes.sort_unstable();
        Ok(axes)
    }

    /// The axes counted from the front, in the order given, each once.
    pub(crate) fn ordered(&self, ndim: usize) -> Result<Vec<usize>> {
        match &self.which {
            Which::All => Ok((0..ndim).collect()),
            Which::One(axis) => Ok(vec![Axis(*axis).of(ndim)?]),
            Which::Range(start, end) => range(*start, *end, ndim),
            Which::Several(given) => {
                let mut out = Vec::with_capacity(given.len().min(ndim));
                for &axis in given {
                    let front = Axis(axis).of(ndim)?;
                    if out.contains(&front) {
                        return Err(ErrorKind::Axis { op: trace::op(), axis, ndim, why: "given twice".into() }.into());
                    }
                    out.push(front);
                }
                Ok(out)
            }
        }
    }

    /// The axes counted from the front, in the order given and as often: for what goes along one after the other.
    pub(crate) fn listed(&self, ndim: usize) -> Result<Vec<usize>> {
        match &self.which {
            Which::Several(given) => given.try_mapped(|&axis| Axis(axis).of(ndim)),
            _ => self.ordered(ndim),
        }
    }

    /// Where new axes of a tensor with `ndim` others are in the result, in rising order.
    pub(crate) fn placed(&self, ndim: usize) -> Result<Vec<usize>> {
        let new = match &self.which {
            Which::One(_) => 1,
            Which::Several(axes) => axes.len(),
            Which::All | Which::Range(..) => {
                return Err(error::invalid("axes", "a range names axes that are there: list the new ones"));
            }
        };
        self.of(ndim.saturating_add(new))
    }

    /// The one axis there is, or `None` for `..`: the tensor in C order.
    pub(crate) fn one_or_all(&self, ndim: usize) -> Result<Option<usize>> {
        if self.which == Which::All {
            return Ok(None);
        }
        match self.ordered(ndim)?[..] {
            [axis] => Ok(Some(axis)),
            ref several => {
                let why =
                    format!("{} axes are given, allowed is one, or `..` for the tensor in C order", several.len());
                Err(error::invalid("axis", why))
            }
        }
    }

    /// The same axes, where none is reduced away and so none can be kept.
    pub(crate) fn unkept(&self) -> Result<&Axes> {
        if self.keep {
            let why = "keep(..) is for reductions, and this op leaves every axis where it is: give the axes alone";
            return Err(error::invalid("axes", why));
        }
        Ok(self)
    }

    /// Whether these are all axes because none was named.
    pub(crate) fn is_all(&self) -> bool {
        self.which == Which::All
    }
}

fn range(start: isize, end: Option<isize>, ndim: usize) -> Result<Vec<usize>> {
    let front = |at: isize| if at < 0 { at as i128 + ndim as i128 } else { at as i128 };
    let (first, last) = (front(start), end.map_or(ndim as i128, front));
    if first < 0 || first > last || last > ndim as i128 {
        let end = end.map_or_else(String::new, |e| e.to_string());
        let why = format!(
            "{start}..{end} is no range of the {ndim} axes: allowed are ends from 0 to {ndim} that do not fall, or \
             negative ones that count from the last axis"
        );
        return Err(error::invalid("axes", why));
    }
    Ok((first as usize..last as usize).collect())
}

impl From<Which> for Axes {
    fn from(which: Which) -> Axes {
        Axes { which, keep: false }
    }
}

impl From<Axis> for Axes {
    fn from(axis: Axis) -> Axes {
        Which::One(axis.0).into()
    }
}

impl From<&Axes> for Axes {
    fn from(axes: &Axes) -> Axes {
        axes.clone()
    }
}

impl From<RangeFull> for Axes {
    fn from(_: RangeFull) -> Axes {
        Which::All.into()
    }
}

impl<A: Into<Axis>> FromIterator<A> for Axes {
    fn from_iter<I: IntoIterator<Item = A>>(axes: I) -> Axes {
        Which::Several(axes.into_iter().map(|a| a.into().0).collect()).into()
    }
}

/// The axis after the last one of an inclusive range: `..=-1` ends where the axes do.
fn past(end: isize) -> Option<isize> {
    if end == -1 { None } else { Some(end.saturating_add(1)) }
}

macro_rules! from_integers {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Axis {
            fn from(axis: $ty) -> Axis {
                // What no machine index holds is out of any range.
                Axis(isize::try_from(axis).unwrap_or(isize::MAX))
            }
        }
        impl From<$ty> for Axes {
            fn from(axis: $ty) -> Axes {
                Axis::from(axis).into()
            }
        }
        impl<const N: usize> From<[$ty; N]> for Axes {
            fn from(axes: [$ty; N]) -> Axes {
                axes.into_iter().collect()
            }
        }
        impl<const N: usize> From<&[$ty; N]> for Axes {
            fn from(axes: &[$ty; N]) -> Axes {
                axes.iter().copied().collect()
            }
        }
        impl From<&[$ty]> for Axes {
            fn from(axes: &[$ty]) -> Axes {
                axes.iter().copied().collect()
            }
        }
        impl From<Vec<$ty>> for Axes {
            fn from(axes: Vec<$ty>) -> Axes {
                axes.into_iter().collect()
            }
        }
        impl From<&Vec<$ty>> for Axes {
            fn from(axes: &Vec<$ty>) -> Axes {
                axes.iter().copied().collect()
            }
        }
        impl From<Range<$ty>> for Axes {
            fn from(axes: Range<$ty>) -> Axes {
                Which::Range(Axis::from(axes.start).0, Some(Axis::from(axes.end).0)).into()
            }
        }
        impl From<RangeFrom<$ty>> for Axes {
            fn from(axes: RangeFrom<$ty>) -> Axes {
                Which::Range(Axis::from(axes.start).0, None).into()
            }
        }
        impl From<RangeTo<$ty>> for Axes {
            fn from(axes: RangeTo<$ty>) -> Axes {
                Which::Range(0, Some(Axis::from(axes.end).0)).into()
            }
        }
        impl From<RangeInclusive<$ty>> for Axes {
            fn from(axes: RangeInclusive<$ty>) -> Axes {
                Which::Range(Axis::from(*axes.start()).0, past(Axis::from(*axes.end()).0)).into()
            }
        }
        impl From<RangeToInclusive<$ty>> for Axes {
            fn from(axes: RangeToInclusive<$ty>) -> Axes {
                Which::Range(0, past(Axis::from(axes.end).0)).into()
            }
        }
    )*};
}
from_integers!(i32, i64, isize, usize);

#[cfg(test)]
#[path = "tests/axes.rs"]
mod tests;
