//! Elements that bits mark, taken out of an array with their coordinates.

use std::iter;

use super::choose::Bits;
use super::index::Index;

/// What eight bytes of 0 or 1 are multiplied by, for the highest byte of the product to have the lowest bit of each.
const TOGETHER: u64 = 0x0102_0408_1020_4080;

/// The bits of some bytes, each 0 or 1: sixty-four a word, from the lowest bit of the first word on.
pub fn pack(bytes: &[u8], words: &mut [u64]) {
    debug_assert_eq!(words.len(), bytes.len().div_ceil(64));
    for (word, bytes) in words.iter_mut().zip(bytes.chunks(64)) {
        let (eights, rest) = bytes.as_chunks::<8>();
        let of_eights = eights.iter().map(|&eight| u64::from_le_bytes(eight).wrapping_mul(TOGETHER) >> 56);
        *word = of_eights.zip((0..).step_by(8)).fold(0, |word, (bits, at)| word | bits << at);
        let of_rest = rest.iter().zip(8 * eights.len()..);
        *word = of_rest.fold(*word, |word, (&byte, at)| word | u64::from(byte) << at);
    }
}

/// Calls `each` with the number of every bit that is set, in order.
#[inline(always)]
pub fn each_marked(words: &[u64], mut each: impl FnMut(usize)) {
    for (first, &word) in (0..).step_by(64).zip(words) {
        Bits(word).for_each(|bit| each(first + bit));
    }
}

/// Part of an array of elements of some width in bytes, of which a bit says whether each is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Marked<'a> {
    /// As [`pack`] makes them; those after the last element are clear.
    pub marks: &'a [u64],
    /// The elements.
    pub elements: &'a [u8],
    /// Bytes of each.
    pub width: usize,
    /// The number of the first among those of the whole array.
    pub first: usize,
    /// How many elements a row has.
    pub columns: usize,
    /// How many are wanted before the first.
    pub before: usize,
}

/// Where what is wanted is written: there is room for no more.
#[derive(Debug)]
pub struct Taken<'a, I> {
    /// Where each stands in its row.
    pub coords: &'a mut [I],
    /// The elements.
    pub elements: &'a mut [u8],
    /// For every row that ends in the part: how many are wanted up to there.
    pub ends: &'a mut [I],
}

impl Marked<'_> {
    /// Takes what is wanted.
    pub fn take<I: Index>(self, out: Taken<'_, I>) {
        match self.width {
            0 => self.each(out.coords, out.ends, |_, _| {}),
            1 => self.wide::<1, I>(out),
            2 => self.wide::<2, I>(out),
            4 => self.wide::<4, I>(out),
            8 => self.wide::<8, I>(out),
            16 => self.wide::<16, I>(out),
            w => self.each(out.coords, out.ends, |to, from| {
                out.elements[to * w..][..w].copy_from_slice(&self.elements[from * w..][..w]);
            }),
        }
    }

    fn wide<const W: usize, I: Index>(self, out: Taken<'_, I>) {
        let (from, to) = (self.elements.as_chunks::<W>().0, out.elements.as_chunks_mut::<W>().0);
        self.each(out.coords, out.ends, |at, i| {
            if let (Some(to), Some(from)) = (to.get_mut(at), from.get(i)) {
                *to = *from;
            }
        });
    }

    /// Writes coordinates and ends, and calls `copy` with the place of each element that is wanted and its number in the part.
    #[inline(always)]
    fn each<I: Index>(self, coords: &mut [I], ends: &mut [I], mut copy: impl FnMut(usize, usize)) {
        let columns = self.columns.max(1);
        // Where the row begins and ends, counted from the first element of the part.
        let mut begin = 0usize.wrapping_sub(self.first % columns);
        let mut end = begin.wrapping_add(columns);
        let (mut at, mut ends) = (0, ends.iter_mut());
        for (first, &word) in (0..).step_by(64).zip(self.marks) {
            let is_in_row = first + 64 <= end;
            for bit in Bits(word) {
                let i = first + bit;
                // In rows longer than a word hardly ever asked.
                while !is_in_row && i >= end {
                    if let Some(end) = ends.next() {
                        *end = I::new(self.before + at);
                    }
                    (begin, end) = (end, end + columns);
                }
                let Some(coordinate) = coords.get_mut(at) else { return };
                *coordinate = I::new(i.wrapping_sub(begin));
                copy(at, i);
                at += 1;
            }
        }
        ends.zip(iter::repeat(I::new(self.before + at))).for_each(|(end, all)| *end = all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<I: Index>(n: usize, columns: usize, width: usize, part: usize, is_wanted: &dyn Fn(usize) -> bool) {
        let wanted: Vec<usize> = (0..n).filter(|&i| is_wanted(i)).collect();
        let elements: Vec<u8> = (0..n * width).map(|i| (i * 7 + i / 256) as u8).collect();
        let mut coords = vec![I::NONE; wanted.len()];
        let (mut taken, mut ends) = (vec![0xee; wanted.len() * width], vec![I::NONE; n / columns]);
        let mut before = 0;
        for start in (0..n).step_by(part) {
            let end = n.min(start + part);
            let bytes: Vec<u8> = (start..end).map(|i| u8::from(is_wanted(i))).collect();
            let mut marks = vec![u64::MAX; bytes.len().div_ceil(64)];
            pack(&bytes, &mut marks);
            let mut told = Vec::new();
            each_marked(&marks, |i| told.push(start + i));
            let own = wanted.iter().filter(|i| (start..end).contains(i)).count();
            assert_eq!(told, wanted[before..before + own]);
            let elements = &elements[start * width..end * width];
            let out = Taken {
                coords: &mut coords[before..before + own],
                elements: &mut taken[before * width..(before + own) * width],
                ends: &mut ends[start / columns..end / columns],
            };
            Marked { marks: &marks, elements, width, first: start, columns, before }.take(out);
            before += own;
        }
        let case = format!("{n} elements of {width} bytes in rows of {columns}, {part} at a time");
        let found: Vec<usize> = coords.iter().map(|c| c.get()).collect();
        assert_eq!(found, wanted.iter().map(|i| i % columns).collect::<Vec<_>>(), "{case}");
        let of = |i: &usize| elements[i * width..(i + 1) * width].to_vec();
        assert_eq!(taken, wanted.iter().flat_map(of).collect::<Vec<_>>(), "{case}");
        let found: Vec<usize> = ends.iter().map(|end| end.get()).collect();
        let up_to = |row: usize| wanted.iter().filter(|&&i| i < (row + 1) * columns).count();
        assert_eq!(found, (0..n / columns).map(up_to).collect::<Vec<_>>(), "{case}");
    }

    #[test]
    fn what_is_marked_is_taken_with_its_column_and_rows_end_where_they_do() {
        let mix = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
        for (rows, columns) in [(1, 1), (300, 1), (100, 3), (9, 64), (5, 65), (3, 200), (1, 1000), (2, 500)] {
            for part in [rows * columns, 64, 100, 1] {
                for (k, width) in [1, 2, 4, 8, 16, 3, 0].into_iter().enumerate() {
                    let n = rows * columns;
                    check::<u32>(n, columns, width, part, &|i| mix(i + k) % 3 == 0);
                    check::<u64>(n, columns, width, part, &|i| mix(i + k) % 97 == 0);
                    check::<u32>(n, columns, width, part, &|_| k % 2 == 0);
                }
            }
        }
    }
}
