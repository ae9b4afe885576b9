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

/// Where a merge writes, from the front: per kept coordinate its position on either side ([`Index::NONE`] if
/// absent), and for single coordinates the coordinate. The slices are of one length, no shorter than what is kept.
#[derive(Debug)]
pub struct Selection<'a, I> {
    /// Positions on the left.
    pub left: &'a mut [I],
    /// Positions on the right.
    pub right: &'a mut [I],
    /// Coordinates; may be empty for [`merge_tuples`].
    pub coords: &'a mut [I],
}

/// Merges one pair of segments of single coordinates; gives how many were kept.
pub fn merge_segment<I: Index>(
    left: &[I],
    left_range: Range<usize>,
    right: &[I],
    right_range: Range<usize>,
    keep: Keep,
    out: &mut Selection<'_, I>,
) -> usize {
    let room = (left_range.len() + right_range.len()).min(out.left.len());
    let (to_left, to_right, to_coord) = (&mut out.left[..room], &mut out.right[..room], &mut out.coords[..room]);
    let (mut i, mut j, mut k) = (left_range.start, right_range.start, 0);
    // Write always, advance by what was kept: the one branch is foreseeable, it fails only past the last one kept.
    while i < left_range.end && j < right_range.end {
        let (x, y) = (left[i], right[j]);
        let (from_left, from_right) = (x <= y, y <= x);
        if k < room {
            to_left[k] = if from_left { I::new(i) } else { I::NONE };
            to_right[k] = if from_right { I::new(j) } else { I::NONE };
            to_coord[k] = if from_left { x } else { y };
        }
        let kept = (from_left & from_right) | (from_left & keep.left) | (from_right & keep.right);
        k += usize::from(kept);
        i += usize::from(from_left);
        j += usize::from(from_right);
    }
    if keep.left {
        for (i, &x) in (i..).zip(&left[i..left_range.end]) {
            (to_left[k], to_right[k], to_coord[k]) = (I::new(i), I::NONE, x);
            k += 1;
        }
    }
    if keep.right {
        for (j, &y) in (j..).zip(&right[j..right_range.end]) {
            (to_left[k], to_right[k], to_coord[k]) = (I::NONE, I::new(j), y);
            k += 1;
        }
    }
    k
}

/// Segments of single coordinates: from each pointer to the next, less the pointer at which coordinates begin.
#[derive(Clone, Copy, Debug)]
pub struct Segmented<'a, I> {
    /// One more than there are segments, rising.
    pub pointers: &'a [I],
    /// The pointer at which coordinates begin, perhaps before the first of these.
    pub base: usize,
    /// The coordinates of these segments and perhaps of others.
    pub coords: &'a [I],
}

impl<I: Index> Segmented<'_, I> {
    /// Where the first segment begins.
    pub fn start(&self) -> usize {
        self.pointers.first().map_or(0, |p| p.get() - self.base)
    }

    /// Where each segment ends.
    fn ends(&self) -> impl Iterator<Item = usize> {
        let base = self.base;
        self.pointers.iter().skip(1).map(move |p| p.get() - base)
    }
}

/// Merges as many pairs of segments as both sides and `ends` have, writes where each ends in the result, and gives how
/// many coordinates were kept, for which there is room.
pub fn merge_segments<I: Index>(
    left: Segmented<'_, I>,
    right: Segmented<'_, I>,
    keep: Keep,
    out: &mut Selection<'_, I>,
    ends: &mut [I],
) -> usize {
    let room = out.left.len();
    let (to_left, to_right, to_coord) = (&mut *out.left, &mut out.right[..room], &mut out.coords[..room]);
    let (x, y) = (left.coords, right.coords);
    let (mut i, mut j, mut k) = (left.start(), right.start(), 0);
    for ((left_end, right_end), end) in left.ends().zip(right.ends()).zip(ends) {
        while i < left_end && j < right_end && k < room {
            let (from_left, from_right) = (x[i] <= y[j], y[j] <= x[i]);
            to_left[k] = if from_left { I::new(i) } else { I::NONE };
            to_right[k] = if from_right { I::new(j) } else { I::NONE };
            to_coord[k] = if from_left { x[i] } else { y[j] };
            let kept = (from_left & from_right) | (from_left & keep.left) | (from_right & keep.right);
            k += usize::from(kept);
            i += usize::from(from_left);
            j += usize::from(from_right);
        }
        if keep.left {
            while i < left_end {
                (to_left[k], to_right[k], to_coord[k]) = (I::new(i), I::NONE, x[i]);
                (i, k) = (i + 1, k + 1);
            }
        }
        if keep.right {
            while j < right_end {
                (to_left[k], to_right[k], to_coord[k]) = (I::NONE, I::new(j), y[j]);
                (j, k) = (j + 1, k + 1);
            }
        }
        (i, j) = (left_end, right_end);
        *end = I::new(k);
    }
    k
}

/// Rising keys, each with a number.
#[derive(Clone, Copy, Debug)]
pub struct Numbered<'a, I> {
    /// The keys.
    pub keys: &'a [u64],
    /// As many numbers.
    pub numbers: &'a [I],
}

impl<'a, I: Index> Numbered<'a, I> {
    /// Some of them, which there are.
    pub fn part(self, range: Range<usize>) -> Numbered<'a, I> {
        Numbered { keys: &self.keys[range.clone()], numbers: &self.numbers[range] }
    }

    /// How many of the first `at` of both lists, merged, are of this one.
    pub fn among(self, other: Numbered<'_, I>, at: usize) -> usize {
        let (mut low, mut high) = (at.saturating_sub(other.keys.len()), at.min(self.keys.len()));
        while low < high {
            let middle = low.midpoint(high);
            if self.keys[middle] <= other.keys[at - middle - 1] { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Merges both lists, for all of which there is room; of keys that are equal those of this one come first.
    pub fn merge(self, other: Numbered<'_, I>, keys: &mut [u64], numbers: &mut [I]) {
        let (left, right) = (self.keys, other.keys);
        let (of_left, of_right) = (&self.numbers[..left.len()], &other.numbers[..right.len()]);
        let (mut i, mut j, mut k) = (0, 0, 0);
        while i < left.len() && j < right.len() && k < keys.len() && k < numbers.len() {
            let from_left = left[i] <= right[j];
            keys[k] = if from_left { left[i] } else { right[j] };
            numbers[k] = if from_left { of_left[i] } else { of_right[j] };
            i += usize::from(from_left);
            j += usize::from(!from_left);
            k += 1;
        }
        let rest = k + left.len() - i;
        keys[k..rest].copy_from_slice(&left[i..]);
        numbers[k..rest].copy_from_slice(&of_left[i..]);
        keys[rest..].copy_from_slice(&right[j..]);
        numbers[rest..].copy_from_slice(&of_right[j..]);
    }
}

/// How the next tuples of two segments compare; `None` when both have ended.
fn compare<I: Index>(left: &[&[I]], i: Option<usize>, right: &[&[I]], j: Option<usize>) -> Option<Ordering> {
    match (i, j) {
        (None, None) => None,
        (Some(_), None) => Some(Ordering::Less),
        (None, Some(_)) => Some(Ordering::Greater),
        (Some(i), Some(j)) => {
            let unequal = left.iter().zip(right).map(|(l, r)| l[i].cmp(&r[j])).find(|o| o.is_ne());
            Some(unequal.unwrap_or(Ordering::Equal))
        }
    }
}

/// Walks two segments of coordinate tuples in step and gives `step(order, i, j)` for each distinct tuple.
fn walk<I: Index>(
    left: &[&[I]],
    left_range: Range<usize>,
    right: &[&[I]],
    right_range: Range<usize>,
    mut step: impl FnMut(Ordering, usize, usize),
) {
    let (mut i, mut j) = (left_range.start, right_range.start);
    let within = |at: usize, range: &Range<usize>| (at < range.end).then_some(at);
    while let Some(order) = compare(left, within(i, &left_range), right, within(j, &right_range)) {
        step(order, i, j);
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
}

/// Runs `$body` with `$left` and `$right` as functions that give tuples as one number each, which compares as they do: where
/// they are pairs or threes of 32 bits, as most are. `None` for others.
macro_rules! with_numbers {
    ($left:expr, $right:expr, |$l:ident, $r:ident| $body:expr) => {
        match ($left, $right) {
            ([a, b], [c, d]) if size_of::<I>() == 4 => {
                let $l = |i: usize| (a[i].get() as u64) << 32 | b[i].get() as u64;
                let $r = |j: usize| (c[j].get() as u64) << 32 | d[j].get() as u64;
                Some($body)
            }
            ([a, b, c], [d, e, f]) if size_of::<I>() == 4 => {
                let three = |x: I, y: I, z: I| (x.get() as u128) << 64 | (y.get() as u128) << 32 | z.get() as u128;
                let $l = |i: usize| three(a[i], b[i], c[i]);
                let $r = |j: usize| three(d[j], e[j], f[j]);
                Some($body)
            }
            _ => None,
        }
    };
}

/// As [`merge_segment`], of numbers that are not written.
fn merge_numbers<I: Index, K: Ord>(
    left: impl Fn(usize) -> K,
    left_range: Range<usize>,
    right: impl Fn(usize) -> K,
    right_range: Range<usize>,
    keep: Keep,
    out: &mut Selection<'_, I>,
) -> usize {
    let room = (left_range.len() + right_range.len()).min(out.left.len());
    let (to_left, to_right) = (&mut out.left[..room], &mut out.right[..room]);
    let (mut i, mut j, mut k) = (left_range.start, right_range.start, 0);
    while i < left_range.end && j < right_range.end {
        let (x, y) = (left(i), right(j));
        let (from_left, from_right) = (x <= y, y <= x);
        if k < room {
            to_left[k] = if from_left { I::new(i) } else { I::NONE };
            to_right[k] = if from_right { I::new(j) } else { I::NONE };
        }
        let kept = (from_left & from_right) | (from_left & keep.left) | (from_right & keep.right);
        k += usize::from(kept);
        i += usize::from(from_left);
        j += usize::from(from_right);
    }
    for i in if keep.left { i..left_range.end } else { 0..0 } {
        (to_left[k], to_right[k]) = (I::new(i), I::NONE);
        k += 1;
    }
    for j in if keep.right { j..right_range.end } else { 0..0 } {
        (to_left[k], to_right[k]) = (I::NONE, I::new(j));
        k += 1;
    }
    k
}

/// Merges one pair of segments of coordinate tuples, one slice per tuple element; gives how many were kept.
pub fn merge_tuples<I: Index>(
    left: &[&[I]],
    left_range: Range<usize>,
    right: &[&[I]],
    right_range: Range<usize>,
    keep: Keep,
    out: &mut Selection<'_, I>,
) -> usize {
    let merged =
        with_numbers!(left, right, |l, r| merge_numbers(l, left_range.clone(), r, right_range.clone(), keep, out));
    if let Some(merged) = merged {
        return merged;
    }
    let mut k = 0;
    walk(left, left_range, right, right_range, |order, i, j| {
        let kept = match order {
            Ordering::Equal => true,
            Ordering::Less => keep.left,
            Ordering::Greater => keep.right,
        };
        if kept {
            out.left[k] = if order.is_le() { I::new(i) } else { I::NONE };
            out.right[k] = if order.is_ge() { I::new(j) } else { I::NONE };
            k += 1;
        }
    });
    k
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(a: &[u32], b: &[u32], keep: Keep) -> (Vec<u32>, Vec<u32>, Vec<u32>) {
        let most = a.len() + b.len();
        let (mut left, mut right, mut coords) = (vec![7; most], vec![7; most], vec![7; most]);
        let mut out = Selection { left: &mut left, right: &mut right, coords: &mut coords };
        let n = merge_segment(a, 0..a.len(), b, 0..b.len(), keep, &mut out);
        [&mut left, &mut right, &mut coords].into_iter().for_each(|v| v.truncate(n));
        let (mut l, mut r) = (vec![7; n], vec![7; n]);
        let mut tuples = Selection { left: &mut l, right: &mut r, coords: &mut [] };
        assert_eq!(n, merge_tuples(&[a], 0..a.len(), &[b], 0..b.len(), keep, &mut tuples));
        assert_eq!((&left, &right), (&l, &r));
        (coords, left, right)
    }

    #[test]
    fn all_segments_as_one_by_one() {
        let (a, b) = ([5u32, 1, 4, 9, 0, 2], [1u32, 2, 9, 0, 7, 2]);
        // The first pointers are not 0: the arrays are parts of larger ones.
        let (p, q) = ([3u32, 4, 7, 7, 9], [10u32, 10, 13, 15, 16]);
        for (left, right) in [(true, true), (false, false), (true, false), (false, true)] {
            let keep = Keep { left, right };
            let (mut l, mut r, mut c, mut ends) = ([7; 12], [7; 12], [7; 12], [7; 4]);
            let mut out = Selection { left: &mut l, right: &mut r, coords: &mut c };
            let (x, y) =
                (Segmented { pointers: &p, base: 3, coords: &a }, Segmented { pointers: &q, base: 10, coords: &b });
            let n = merge_segments(x, y, keep, &mut out, &mut ends);
            // The last two of them alone.
            let (x, y) = (Segmented { pointers: &p[2..], ..x }, Segmented { pointers: &q[2..], ..y });
            let (mut l2, mut r2, mut c2, mut ends2) = ([7; 12], [7; 12], [7; 12], [7; 2]);
            let mut out = Selection { left: &mut l2, right: &mut r2, coords: &mut c2 };
            let m = merge_segments(x, y, keep, &mut out, &mut ends2);
            assert_eq!((&l2[..m], &r2[..m], &c2[..m]), (&l[n - m..n], &r[n - m..n], &c[n - m..n]), "{keep:?}");
            assert_eq!(ends2.map(|end| end as usize + n - m), [ends[2] as usize, n]);
            let (mut l1, mut r1, mut c1, mut done) = ([7; 12], [7; 12], [7; 12], 0);
            for s in 0..4 {
                let of = |p: &[u32; 5]| (p[s] - p[0]) as usize..(p[s + 1] - p[0]) as usize;
                let mut out = Selection { left: &mut l1[done..], right: &mut r1[done..], coords: &mut c1[done..] };
                done += merge_segment(&a, of(&p), &b, of(&q), keep, &mut out);
                assert_eq!(ends[s] as usize, done, "{keep:?}");
            }
            assert_eq!((n, &l[..n], &r[..n], &c[..n]), (done, &l1[..n], &r1[..n], &c1[..n]), "{keep:?}");
        }
    }

    #[test]
    fn tuples_of_any_rank_and_width_are_kept_alike() {
        let (a, b) = ([1u32, 1, 2, 2, 9], [1u32, 2, 2, 7, 9]);
        let (a1, b1) = ([0u32, 4, 0, 3, 1], [4u32, 1, 3, 0, 1]);
        let ends = [5u32; 5];
        let wide = |c: &[u32]| c.iter().map(|&i| u64::from(i)).collect::<Vec<u64>>();
        for (left, right) in [(true, true), (false, false), (true, false), (false, true)] {
            let keep = Keep { left, right };
            let pairs = tuples::<u32>(&[&a, &a1], &[&b, &b1], keep);
            assert_eq!(pairs, tuples::<u32>(&[&a, &a1, &ends], &[&b, &b1, &ends], keep));
            assert_eq!(pairs, tuples::<u32>(&[&ends, &a, &ends, &a1], &[&ends, &b, &ends, &b1], keep));
            assert_eq!(pairs, tuples::<u64>(&[&wide(&a), &wide(&a1)], &[&wide(&b), &wide(&b1)], keep));
        }
        let both = tuples::<u32>(&[&a, &a1], &[&b, &b1], Keep::INTERSECTION);
        assert_eq!(both, [(1, 0), (3, 2), (4, 4)]);
    }

    fn tuples<I: Index>(left: &[&[I]], right: &[&[I]], keep: Keep) -> Vec<(usize, usize)> {
        let (n, m) = (left[0].len(), right[0].len());
        let (mut l, mut r) = (vec![I::default(); n + m], vec![I::default(); n + m]);
        let mut out = Selection { left: &mut l, right: &mut r, coords: &mut [] };
        let count = merge_tuples(left, 0..n, right, 0..m, keep, &mut out);
        [&mut l, &mut r].into_iter().for_each(|v| v.truncate(count));
        let place = |i: I| if i == I::NONE { usize::MAX } else { i.get() };
        l.into_iter().map(place).zip(r.into_iter().map(place)).collect()
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
