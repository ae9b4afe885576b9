//! Swapping the two levels of a compressed matrix: a counting sort by the minor coordinate, stable, so that the major
//! coordinates come out sorted.
//!
//! Two ways. Directly: every element goes to its place, which is quick while neighbours go near each other ([`direct`], for a
//! range of columns, so that several threads can share the work). By buckets of columns: a pass that writes few streams, then
//! a counting sort in each bucket, which stays in the cache ([`Passes`]); for matrices whose rows jump across all columns.
//!
//! Values are bytes, of a width that only the loops know at compile time: whoever calls them is compiled once.

use std::ops::Range;

use super::index::Index;
use crate::simd;

/// A compressed matrix, or some rows of one, to be read.
#[derive(Clone, Copy)]
pub struct Rows<'a, I> {
    /// Where each row begins and ends; `base` is taken off.
    pub pointers: &'a [I],
    /// What the first element is in the pointers.
    pub base: usize,
    /// The column of each element; they rise in each row.
    pub indices: &'a [I],
    /// The value of each element, of `width` bytes.
    pub values: &'a [u8],
    /// Bytes of a value.
    pub width: usize,
    /// The number of the first row.
    pub first: usize,
}

impl<'a, I: Index> Rows<'a, I> {
    /// Number, and elements, of each row; `W` is the width.
    #[inline]
    fn each<const W: usize>(self) -> impl Iterator<Item = (usize, &'a [I], &'a [[u8; W]])> {
        debug_assert_eq!(W, self.width);
        let values = self.values.as_chunks().0;
        self.pointers.windows(2).enumerate().map(move |(i, ends)| {
            let range = ends[0].get() - self.base..ends[1].get() - self.base;
            (self.first + i, &self.indices[range.clone()], &values[range])
        })
    }

    /// Some of these rows.
    pub fn part(self, rows: Range<usize>) -> Rows<'a, I> {
        let (start, end) = (self.pointers[rows.start].get(), self.pointers[rows.end].get());
        let range = start - self.base..end - self.base;
        Rows {
            pointers: &self.pointers[rows.start..=rows.end],
            base: start,
            indices: &self.indices[range.clone()],
            values: &self.values[range.start * self.width..range.end * self.width],
            width: self.width,
            first: self.first + rows.start,
        }
    }

    /// From which column on, and up to which, the elements of stretches of [`STRETCH`] rows are, from so many stretches on.
    pub fn extents(self, first: usize, out: &mut [(usize, usize)]) {
        let of = |pointers: &'a [I]| pointers[first * STRETCH..].chunks(STRETCH);
        for (out, (starts, ends)) in out.iter_mut().zip(of(self.pointers).zip(of(&self.pointers[1..]))) {
            *out = (usize::MAX, 0);
            for (start, end) in starts.iter().zip(ends) {
                if let [from, .., to] | [from @ to] = &self.indices[start.get() - self.base..end.get() - self.base] {
                    *out = (out.0.min(from.get()), out.1.max(to.get() + 1));
                }
            }
        }
    }
}

/// Rows of which it is asked together where their elements are.
pub const STRETCH: usize = 1 << 7;

/// The rows, of so many, that may have elements in these columns, and whether all that they have are there; what follows each other and
/// is alike is one. Without [`Rows::extents`] these are all rows, and all that they have.
pub fn stretches(extents: &[(usize, usize)], rows: usize, columns: Range<usize>) -> Vec<(Range<usize>, bool)> {
    let mut stretches: Vec<(Range<usize>, bool)> = Vec::new();
    if extents.is_empty() {
        stretches.push((0..rows, true));
    }
    for (i, &(from, to)) in extents.iter().enumerate() {
        if from >= columns.end || to <= columns.start {
            continue;
        }
        let own = i * STRETCH..((i + 1) * STRETCH).min(rows);
        let all = from >= columns.start && to <= columns.end;
        match stretches.last_mut() {
            Some((last, same)) if last.end == own.start && *same == all => last.end = own.end,
            _ => stretches.push((own, all)),
        }
    }
    stretches
}

/// How many elements each of these columns has, into zeros.
pub fn count<I: Index>(rows: Rows<'_, I>, columns: Range<usize>, all: bool, counts: &mut [I]) {
    let add = |counts: &mut [I], indices: &[I]| {
        for &j in indices {
            let slot = &mut counts[j.get() - columns.start];
            *slot = I::new(slot.get() + 1);
        }
    };
    if all {
        return simd::in_parts(rows.indices, counts, |counts, part| add(counts, &rows.indices[part]));
    }
    for ends in rows.pointers.windows(2) {
        let indices = &rows.indices[ends[0].get() - rows.base..ends[1].get() - rows.base];
        add(counts, &indices[within(indices, &columns)]);
    }
}

/// Which elements of a row, whose columns rise, lie in some columns.
#[inline]
pub(crate) fn within<I: Index>(indices: &[I], columns: &Range<usize>) -> Range<usize> {
    let (Some(first), Some(last)) = (indices.first(), indices.last()) else { return 0..0 };
    if first.get() >= columns.end || last.get() < columns.start {
        return 0..0;
    }
    let start = if first.get() >= columns.start { 0 } else { indices.partition_point(|j| j.get() < columns.start) };
    let end = if last.get() < columns.end { indices.len() } else { indices.partition_point(|j| j.get() < columns.end) };
    start..end
}

/// Where the next element of each goes, from how many each has: what is before it, beginning at `start`. Gives the end.
pub fn accumulate<I: Index>(counts: &mut [I], start: usize) -> usize {
    counts.iter_mut().fold(start, |at, count| {
        let n = count.get();
        *count = I::new(at);
        at + n
    })
}

/// Puts the elements of some columns (`all`: of every one) to their places. `next` holds where each column begins in `out`.
pub type Direct<I> =
    fn(rows: Rows<'_, I>, columns: Range<usize>, all: bool, next: &mut [I], out: (&mut [I], &mut [u8]));

/// [`Direct`] for values of so many bytes: one, two, four, eight or sixteen.
pub fn direct<I: Index>(width: usize) -> Direct<I> {
    match width {
        1 => directly::<1, I>,
        2 => directly::<2, I>,
        4 => directly::<4, I>,
        8 => directly::<8, I>,
        _ => directly::<16, I>,
    }
}

/// Indices and values, known to be as many: a place is checked once for both.
#[inline(always)]
fn of_one_length<'a, const W: usize, I>(out: (&'a mut [I], &'a mut [u8])) -> (&'a mut [I], &'a mut [[u8; W]]) {
    let n = out.0.len();
    (out.0, &mut out.1.as_chunks_mut().0[..n])
}

fn directly<const W: usize, I: Index>(
    rows: Rows<'_, I>,
    columns: Range<usize>,
    all: bool,
    next: &mut [I],
    out: (&mut [I], &mut [u8]),
) {
    let (rows_out, values_out) = of_one_length::<W, I>(out);
    for (i, indices, values) in rows.each::<W>() {
        let part = if all { 0..indices.len() } else { within(indices, &columns) };
        let major = I::new(i);
        for (&j, v) in indices[part.clone()].iter().zip(&values[part]) {
            let slot = &mut next[j.get() - columns.start];
            let at = slot.get();
            rows_out[at] = major;
            values_out[at] = *v;
            *slot = I::new(at + 1);
        }
    }
}

/// The loop that puts elements of some rows to their columns, each of which has room for just those.
pub type ByRows<I> = fn(rows: Rows<'_, I>, columns: Vec<(&mut [I], &mut [u8])>);

/// The loop for values of so many bytes: one, two, four, eight or sixteen.
pub fn by_rows<I: Index>(width: usize) -> ByRows<I> {
    match width {
        1 => to_columns::<1, I>,
        2 => to_columns::<2, I>,
        4 => to_columns::<4, I>,
        8 => to_columns::<8, I>,
        _ => to_columns::<16, I>,
    }
}

fn to_columns<const W: usize, I: Index>(rows: Rows<'_, I>, columns: Vec<(&mut [I], &mut [u8])>) {
    // What is left of each column.
    let mut left: Vec<_> =
        columns.into_iter().map(|(rows, values)| (rows.iter_mut(), values.as_chunks_mut::<W>().0.iter_mut())).collect();
    for (i, indices, values) in rows.each::<W>() {
        let major = I::new(i);
        for (&j, v) in indices.iter().zip(values) {
            let (rows, values) = &mut left[j.get()];
            if let (Some(row), Some(value)) = (rows.next(), values.next()) {
                *row = major;
                *value = *v;
            }
        }
    }
}

/// How columns are put together to buckets: `1 << shift` each, and the bits of a row in a packed word.
#[derive(Clone, Copy)]
pub struct Buckets {
    /// The logarithm of the columns of a bucket.
    pub shift: u32,
    /// Number of buckets.
    pub count: usize,
    /// Bits of a row's number.
    pub row_bits: u32,
}

/// Bytes of an element and its index that a bucket is to have at most, so that sorting it stays in the second-level cache.
const BUCKET: usize = 1 << 18;

/// Buckets at most: each is a stream that is written.
const MOST: usize = 1 << 10;

impl Buckets {
    /// For a matrix of so many rows, columns and elements of `width` bytes; `None` where a column and a row do not fit a word.
    pub fn new(rows: usize, columns: usize, elements: usize, width: usize) -> Option<Buckets> {
        let wanted = (elements.saturating_mul(width + 4) / BUCKET).clamp(1, MOST);
        let bits = |n: usize| usize::BITS - n.saturating_sub(1).leading_zeros();
        let shift = bits(columns.div_ceil(wanted).max(1));
        let row_bits = bits(rows).max(1);
        (shift + row_bits <= 64).then_some(Buckets { shift, count: columns.div_ceil(1 << shift).max(1), row_bits })
    }

    /// Whether the number of an entry fits one word.
    pub fn is_narrow(self) -> bool {
        self.shift + self.row_bits <= 32
    }

    /// The columns of a bucket.
    pub fn columns(self, bucket: usize, all: usize) -> Range<usize> {
        (bucket << self.shift).min(all)..((bucket + 1) << self.shift).min(all)
    }
}

/// An element on its way: its column within the bucket and its row as one number, and its value behind. Together, so that a
/// bucket is one stream.
///
/// The value of `W` bytes fills whole words; the number takes those that are left, one or two.
type Entry<const K: usize> = [u32; K];

/// The two passes of the way by buckets, for values of one width and numbers of one or two words.
pub struct Passes<I> {
    /// Words of an element on its way.
    pub words: usize,
    /// Writes the elements of rows bucket by bucket, in order in each. Gives where buckets begin and end, in elements.
    pub distribute: fn(rows: Rows<'_, I>, buckets: Buckets, staged: &mut [u32]) -> Vec<usize>,
    /// Sorts what was written to one bucket, given in pieces in the order of rows: `next` has an entry per column of the bucket
    /// and is told where each begins, from `start` on; `out` is for the bucket's elements alone.
    pub collect: fn(pieces: &[&[u32]], row_bits: u32, start: usize, next: &mut [I], out: (&mut [I], &mut [u8])),
}

impl<I: Index> Passes<I> {
    /// For values of so many bytes: one, two, four, eight or sixteen.
    pub fn new(width: usize, is_narrow: bool) -> Passes<I> {
        match (width, is_narrow) {
            (1, true) => Passes::of::<1, 2>(),
            (1, false) => Passes::of::<1, 3>(),
            (2, true) => Passes::of::<2, 2>(),
            (2, false) => Passes::of::<2, 3>(),
            (4, true) => Passes::of::<4, 2>(),
            (4, false) => Passes::of::<4, 3>(),
            (8, true) => Passes::of::<8, 3>(),
            (8, false) => Passes::of::<8, 4>(),
            (_, true) => Passes::of::<16, 5>(),
            (_, false) => Passes::of::<16, 6>(),
        }
    }

    fn of<const W: usize, const K: usize>() -> Passes<I> {
        Passes { words: K, distribute: distribute::<W, K, I>, collect: collect::<W, K, I> }
    }
}

/// Words of the number in an entry.
const fn words_of_number<const W: usize, const K: usize>() -> usize {
    K - W.div_ceil(4)
}

#[inline(always)]
fn number<const W: usize, const K: usize>(entry: &Entry<K>) -> u64 {
    match const { words_of_number::<W, K>() } {
        1 => u64::from(entry[0]),
        _ => u64::from(entry[0]) | u64::from(entry[1]) << 32,
    }
}

fn distribute<const W: usize, const K: usize, I: Index>(
    rows: Rows<'_, I>,
    buckets: Buckets,
    staged: &mut [u32],
) -> Vec<usize> {
    let staged: &mut [Entry<K>] = staged.as_chunks_mut().0;
    let mut offsets = vec![0usize; buckets.count + 1];
    for &j in rows.indices {
        offsets[(j.get() >> buckets.shift) + 1] += 1;
    }
    for b in 0..buckets.count {
        offsets[b + 1] += offsets[b];
    }
    let mut next = offsets.clone();
    let low = (1usize << buckets.shift) - 1;
    for (i, indices, values) in rows.each::<W>() {
        for (&j, v) in indices.iter().zip(values) {
            let slot = &mut next[j.get() >> buckets.shift];
            let mut entry = [0; K];
            let number = (((j.get() & low) as u64) << buckets.row_bits) | i as u64;
            let words = const { words_of_number::<W, K>() };
            entry[0] = number as u32;
            if words > 1 {
                entry[1] = (number >> 32) as u32;
            }
            bytemuck::bytes_of_mut(&mut entry)[4 * words..4 * words + W].copy_from_slice(v);
            staged[*slot] = entry;
            // The line after this one, which the stream of this bucket comes to.
            simd::prefetch::<Entry<K>, 1>(staged, *slot + 64 / size_of::<Entry<K>>());
            *slot += 1;
        }
    }
    offsets
}

/// Entries that are counted together.
const TOGETHER: usize = 16;

fn collect<const W: usize, const K: usize, I: Index>(
    pieces: &[&[u32]],
    row_bits: u32,
    start: usize,
    next: &mut [I],
    out: (&mut [I], &mut [u8]),
) {
    let (rows_out, values_out) = of_one_length::<W, I>(out);
    let mut counts = vec![I::default(); next.len()];
    let mut at = 0;
    for entries in pieces.iter().flat_map(|piece| piece.as_chunks::<K>().0.chunks(TOGETHER)) {
        // What is written next, at random, is on its way meanwhile.
        simd::prefetch::<I, TOGETHER>(rows_out, at);
        simd::prefetch::<[u8; W], TOGETHER>(values_out, at);
        at += entries.len();
        for entry in entries {
            let count = &mut counts[(number::<W, K>(entry) >> row_bits) as usize];
            *count = I::new(count.get() + 1);
        }
    }
    let mut at = 0;
    for (count, next) in counts.iter_mut().zip(next) {
        *next = I::new(start + at);
        at += std::mem::replace(count, I::new(at)).get();
    }
    let row = (1u64 << row_bits) - 1;
    for piece in pieces {
        for entry in piece.as_chunks::<K>().0 {
            let number = number::<W, K>(entry);
            let slot = &mut counts[(number >> row_bits) as usize];
            let (at, value) = (slot.get(), 4 * const { words_of_number::<W, K>() });
            rows_out[at] = I::new((number & row) as usize);
            values_out[at].copy_from_slice(&bytemuck::bytes_of(entry)[value..value + W]);
            *slot = I::new(at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_reach_columns_are_found() {
        // Two elements in each row, one after the other, but for some that are empty; the last stretch is short.
        let n = 3 * STRETCH + 5;
        let (mut pointers, mut indices) = (vec![7u32], Vec::new());
        for r in 0..n as u32 {
            if !(130..400).contains(&r) || r % 2 == 0 {
                indices.extend([r + 1, r + 4]);
            }
            pointers.push(7 + indices.len() as u32);
        }
        let values = vec![0; indices.len()];
        let rows = Rows { pointers: &pointers, base: 7, indices: &indices, values: &values, width: 1, first: 0 };
        let mut extents = vec![(0, 0); 4];
        rows.extents(0, &mut extents[..1]);
        rows.extents(1, &mut extents[1..]);
        let s = STRETCH;
        assert_eq!(extents, [(1, s + 4), (s + 1, 2 * s + 3), (2 * s + 1, 3 * s + 3), (3 * s + 1, 3 * s + 9)]);
        assert_eq!(stretches(&extents, n, 0..n + 9), [(0..n, true)]);
        assert_eq!(stretches(&extents, n, 0..s), [(0..s, false)]);
        assert_eq!(stretches(&extents, n, 0..s + 4), [(0..s, true), (s..2 * s, false)]);
        assert_eq!(stretches(&extents, n, s + 4..n + 4), [(s..2 * s, false), (2 * s..n, true)]);
        assert_eq!(stretches(&extents, n, n + 9..n + 10), []);
        assert_eq!(stretches(&[], n, 3..4), [(0..n, true)]);
        // No rows reach any column.
        let mut none = [(3, 3)];
        Rows { pointers: &[0u32; 4], base: 0, indices: &[], values: &[], width: 1, first: 0 }.extents(0, &mut none);
        assert_eq!(stretches(&none, 3, 0..9), []);
    }
}
