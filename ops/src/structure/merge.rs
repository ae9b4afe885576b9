//! Co-iteration of two sorted segments: which stored elements of either side make an element of the
//! result, and where they stand.

use std::cmp::Ordering;
use std::ops::Range;

use super::index::Index;

/// Which coordinates of two segments the result keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Coordinates of the left side alone.
    pub left: bool,
    /// Coordinates of the right side alone.
    pub right: bool,
}

impl Keep {
    /// Either side: a sum.
    pub const UNION: Keep = Keep { left: true, right: true };
    /// Both sides: a product.
    pub const INTERSECTION: Keep = Keep { left: false, right: false };
}

/// What a merge writes: per kept coordinate its position on either side ([`Index::NONE`] if absent), and
/// for single coordinates the coordinate.
#[derive(Debug)]
pub struct Selection<I> {
    /// Positions on the left.
    pub left: Vec<I>,
    /// Positions on the right.
    pub right: Vec<I>,
    /// Coordinates, written by [`merge_segment`] only.
    pub coords: Vec<I>,
    /// How many are written.
    pub len: usize,
}

impl<I: Index> Selection<I> {
    /// With room for `most` coordinates: the summed lengths of all segments to be merged into it.
    pub fn with_room(most: usize) -> Selection<I> {
        Selection { left: vec![I::default(); most], right: vec![I::default(); most], coords: vec![I::default(); most], len: 0 }
    }

    /// Cuts the arrays to what was written.
    pub fn finish(mut self) -> Selection<I> {
        for v in [&mut self.left, &mut self.right, &mut self.coords] {
            v.truncate(self.len);
        }
        self
    }
}

/// Merges one pair of segments of single coordinates into `out`, which has room for both.
pub fn merge_segment<I: Index>(left: &[I], left_range: Range<usize>, right: &[I], right_range: Range<usize>, keep: Keep, out: &mut Selection<I>) {
    let most = left_range.len() + right_range.len();
    let room = out.len..out.len + most;
    let (to_left, to_right, to_coord) = (&mut out.left[room.clone()], &mut out.right[room.clone()], &mut out.coords[room]);
    let (mut i, mut j, mut k) = (left_range.start, right_range.start, 0);
    // Branch-free: always write, advance by what was kept.
    while i < left_range.end && j < right_range.end {
        let (x, y) = (left[i], right[j]);
        let (from_left, from_right) = (x <= y, y <= x);
        to_left[k] = if from_left { I::new(i) } else { I::NONE };
        to_right[k] = if from_right { I::new(j) } else { I::NONE };
        to_coord[k] = if from_left { x } else { y };
        let kept = (from_left & from_right) | (from_left & keep.left) | (from_right & keep.right);
        k += usize::from(kept);
        i += usize::from(from_left);
        j += usize::from(from_right);
    }
    if keep.left {
        for i in i..left_range.end {
            (to_left[k], to_right[k], to_coord[k]) = (I::new(i), I::NONE, left[i]);
            k += 1;
        }
    }
    if keep.right {
        for j in j..right_range.end {
            (to_left[k], to_right[k], to_coord[k]) = (I::NONE, I::new(j), right[j]);
            k += 1;
        }
    }
    out.len += k;
}

/// Merges one pair of segments of coordinate tuples, one slice per tuple element.
pub fn merge_tuples<I: Index>(left: &[&[I]], left_range: Range<usize>, right: &[&[I]], right_range: Range<usize>, keep: Keep, out: &mut Selection<I>) {
    let compare = |i: usize, j: usize| {
        let unequal = left.iter().zip(right).map(|(l, r)| l[i].cmp(&r[j])).find(|o| o.is_ne());
        unequal.unwrap_or(Ordering::Equal)
    };
    let (mut i, mut j) = (left_range.start, right_range.start);
    loop {
        let order = match (i < left_range.end, j < right_range.end) {
            (false, false) => return,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (true, true) => compare(i, j),
        };
        let kept = match order {
            Ordering::Equal => true,
            Ordering::Less => keep.left,
            Ordering::Greater => keep.right,
        };
        let (from_left, from_right) = (order.is_le(), order.is_ge());
        if kept {
            out.left[out.len] = if from_left { I::new(i) } else { I::NONE };
            out.right[out.len] = if from_right { I::new(j) } else { I::NONE };
            out.len += 1;
        }
        i += usize::from(from_left);
        j += usize::from(from_right);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(a: &[u32], b: &[u32], keep: Keep) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
        let mut out = Selection::with_room(a.len() + b.len());
        merge_segment(a, 0..a.len(), b, 0..b.len(), keep, &mut out);
        let mut tuples = Selection::with_room(a.len() + b.len());
        merge_tuples(&[a], 0..a.len(), &[b], 0..b.len(), keep, &mut tuples);
        let (out, tuples) = (out.finish(), tuples.finish());
        assert_eq!((&out.left, &out.right), (&tuples.left, &tuples.right));
        (out.coords, out.left, out.right)
    }

    #[test]
    fn keeps_what_is_asked() {
        const N: u32 = u32::NONE;
        let (a, b) = ([1, 3, 5], [0, 3, 4, 5, 9]);
        assert_eq!(run(&a, &b, Keep::UNION).0, [0, 1, 3, 4, 5, 9]);
        assert_eq!(run(&a, &b, Keep::INTERSECTION), (vec![3, 5], vec![1, 2], vec![1, 3]));
        assert_eq!(run(&a, &b, Keep { left: true, right: false }), (vec![1, 3, 5], vec![0, 1, 2], vec![N, 1, 3]));
        assert_eq!(run(&[], &b, Keep { left: true, right: false }).0, []);
    }
}
