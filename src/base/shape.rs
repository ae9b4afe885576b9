//! Arithmetic of shapes.

use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::strided::Shape;

/// The number of elements, at most `u64::MAX`.
pub(crate) fn elements(shape: &[usize]) -> u64 {
    shape.iter().try_fold(1u64, |n, &s| n.checked_mul(s as u64)).unwrap_or_else(|| {
        // A product that overflows may still be of no elements.
        if shape.contains(&0) { 0 } else { u64::MAX }
    })
}

/// Sizes as this machine counts, if it does.
pub(crate) fn fitting(shape: &[u64]) -> Option<Vec<usize>> {
    shape.try_mapped(|&n| usize::try_from(n)).ok()
}

/// The product of sizes, saturating: of more elements than memory has, none is stored.
pub(crate) fn product(sizes: impl IntoIterator<Item = usize>) -> usize {
    // A size of 0 may come after the product has grown too large.
    let (product, is_empty) =
        sizes.into_iter().fold((1usize, false), |(n, empty), s| (n.saturating_mul(s), empty | (s == 0)));
    if is_empty { 0 } else { product }
}

/// The broadcast shape of two shapes.
pub(crate) fn broadcast_shapes(a: &[usize], b: &[usize]) -> Result<Shape> {
    if a == b {
        return Ok(a.into());
    }
    let ndim = a.len().max(b.len());
    let size = |s: &[usize], d: usize| if d + s.len() < ndim { 1 } else { s[d + s.len() - ndim] };
    let axis = |d| match (size(a, d), size(b, d)) {
        (x, y) if x == y || y == 1 => Ok(x),
        (1, y) => Ok(y),
        // Of shapes of unequal length, the same axis has one name counted from the end.
        (x, y) => {
            let axis = if a.len() == b.len() { d as isize } else { d as isize - ndim as isize };
            Err(error::shape(&[a, b], format_args!("sizes {x} and {y} of axis {axis} do not broadcast")))
        }
    };
    (0..ndim).map(axis).collect()
}
