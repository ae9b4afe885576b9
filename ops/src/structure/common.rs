//! What segments of indices have in common.

use super::index::{Index, IndexSlice};
use crate::with_index;

/// Whether some index is in every segment, if `most` steps tell: those of the first are looked for in the others, until none is left.
///
/// Indices rise in each segment; segment `s` begins where `pointers[s] - pointers[0]` says.
pub fn is_any_in_all(pointers: IndexSlice<'_>, indices: IndexSlice<'_>, most: usize) -> Option<bool> {
    with_index!(pointers, pointers => with_index!(indices, indices => common(pointers, indices, most)))
}

fn common<P: Index, I: Index>(pointers: &[P], indices: &[I], most: usize) -> Option<bool> {
    let start = pointers.first()?.get();
    let mut segments = pointers.windows(2).map(|ends| &indices[ends[0].get() - start..ends[1].get() - start]);
    let first = segments.next()?;
    let mut left = most.checked_sub(first.len())?;
    let mut common = first.to_vec();
    for segment in segments {
        let (few, many) = if segment.len() < common.len() { (segment, &common[..]) } else { (&common[..], segment) };
        left = left.checked_sub(few.len() * (many.len() + 1).ilog2() as usize)?;
        common = few.iter().copied().filter(|i| many.binary_search(i).is_ok()).collect();
        if common.is_empty() {
            return Some(false);
        }
    }
    Some(!common.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_every_segment() {
        let of = |pointers: &[u32], indices: &[u64], most| {
            is_any_in_all(IndexSlice::U32(pointers), IndexSlice::U64(indices), most)
        };
        let indices = [1, 3, 5, 9, 3, 9, 0, 2, 3, 4, 9, 9];
        assert_eq!(of(&[0, 4, 6, 11, 12], &indices, 1000), Some(true));
        assert_eq!(of(&[7, 11, 13, 17], &indices, 1000), Some(true)); // 3
        assert_eq!(of(&[0, 4, 6, 8], &indices, 1000), Some(false));
        assert_eq!(of(&[0, 4, 6, 11], &indices, 1000), Some(true));
        assert_eq!(of(&[0, 4, 4, 6], &indices, 1000), Some(false));
        assert_eq!(of(&[0, 0], &[], 1000), Some(false));
        assert_eq!(of(&[0, 4], &indices, 1000), Some(true));
        // No segments; too many steps.
        assert_eq!(of(&[0], &[], 1000), None);
        assert_eq!(of(&[0, 4, 6, 11, 12], &indices, 3), None);
        assert_eq!(of(&[0, 4, 6, 11, 12], &indices, 9), None);
    }
}
