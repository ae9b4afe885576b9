//! Memory whose size an argument decides: asked for before it is used, so that a shape too large is an error and not
//! the end of the process.

use crate::base::buffer::Buffer;
use crate::base::error::{self, Error, Result};

/// Whether `count` entries of `width` bytes each can be had.
pub(crate) fn has_room(count: usize, width: usize) -> bool {
    count.checked_mul(width).is_some_and(Buffer::is_possible)
}

/// The error that memory has no room for `what`, `count` entries of `width` bytes, of a tensor of this shape; `instead`
/// is what to do.
pub(crate) fn refused(shape: &[usize], what: &str, count: u128, width: usize, instead: &str) -> Error {
    let bytes = count.saturating_mul(width as u128);
    error::shape(&[shape], format!("{what} takes {bytes} bytes and does not fit in memory: {instead}"))
}

/// Checks that there is memory for the product of `counts` entries of `width` bytes each, and gives their number.
///
/// # Errors
/// See [`refused`].
pub(crate) fn room(shape: &[usize], what: &str, counts: &[usize], width: usize, instead: &str) -> Result<usize> {
    let all = counts.iter().try_fold(1usize, |n, &c| n.checked_mul(c)).filter(|&n| has_room(n, width));
    all.ok_or_else(|| {
        let count = counts.iter().fold(1u128, |n, &c| n.saturating_mul(c as u128));
        refused(shape, what, count, width, instead)
    })
}
