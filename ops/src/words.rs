//! Words of 32 or 64 bits in rising order: by vectors or a radix sort, rows of words, and merging what was sorted in parts. Keys of up to 32 bits
//! ([`crate::narrow`]) are words, alone or above the number of each: then a sort is stable, and its result says where each key was.

use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use crate::simd::quicksort;
use crate::simd::{Level, Loop, level, vectorised};
use crate::structure::sort::{Digits, radix_pass};

/// A word.
pub trait Word: Digits + Ord + Send + Sync + bytemuck::Pod {
    /// Sorts each of the rows of `n` words, few enough for a network of exchanges.
    fn sort_rows(rows: &mut [Self], n: usize);
    /// Sorts words by vectors, where the CPU has AVX-512; else does nothing and gives `false`.
    fn sort_by_vectors(words: &mut [Self]) -> bool;
    /// One step of that, as [`crate::ranking::divide`] makes it.
    fn divide(words: &mut [Self]) -> Option<(usize, usize)>;
    /// The lower bits of a number.
    fn new(word: u64) -> Self;
    /// The number that the bits are.
    fn get(self) -> u64;
}

macro_rules! words {
    ($($ty:ty: $lanes:literal;)+) => {$(
        impl Word for $ty {
            fn sort_rows(rows: &mut [Self], n: usize) {
                crate::short_rows::network::<$ty, $lanes>(rows, n);
            }
            #[cfg(target_arch = "x86_64")]
            fn sort_by_vectors(words: &mut [$ty]) -> bool {
                quicksort::sort(words, &mut [])
            }
            #[cfg(target_arch = "x86_64")]
            fn divide(words: &mut [$ty]) -> Option<(usize, usize)> {
                quicksort::divide(words, &mut [])
            }
            #[cfg(not(target_arch = "x86_64"))]
            fn sort_by_vectors(_: &mut [$ty]) -> bool {
                false
            }
            #[cfg(not(target_arch = "x86_64"))]
            fn divide(_: &mut [$ty]) -> Option<(usize, usize)> {
                None
            }
            #[inline(always)]
            fn new(word: u64) -> $ty {
                word as $ty
            }
            #[inline(always)]
            fn get(self) -> u64 {
                self.into()
            }
        }
    )+};
}
words! { u32: 16; u64: 8; }

/// Bits that one pass looks at: a pass less of 32 bits is worth more than counters that leave the first-level cache some room.
const DIGIT: u32 = 11;

/// Whether words that differ in so many bits are sorted by vectors ([`Word::divide`]): a single pass takes less time.
pub fn is_by_vectors(bits: &Range<u32>) -> bool {
    #[cfg(target_arch = "x86_64")]
    return bits.len() > DIGIT as usize && quicksort::is_possible();
    #[cfg(not(target_arch = "x86_64"))]
    false
}

/// Sorts words that differ in some of their bits, or rise in those below: in place, or into `room`, which has as many.
pub fn sort<T: Word>(words: &mut [T], room: &mut [T], bits: Range<u32>, to_room: bool) {
    let mut is_in_room = false;
    let is_done = words.is_sorted() || (is_by_vectors(&bits) && T::sort_by_vectors(words));
    if !is_done {
        let passes = bits.len().div_ceil(DIGIT as usize) as u32;
        let digit = (bits.len() as u32).div_ceil(passes.max(1));
        for pass in 0..passes {
            let (from, to) = if is_in_room { (&*room, &mut *words) } else { (&*words, &mut *room) };
            let shift = bits.start + pass * digit;
            is_in_room ^= radix_pass::<T, { 1 << DIGIT }>(from, to, shift, digit.min(bits.end - shift));
        }
    }
    match (is_in_room, to_room) {
        (false, true) => room.copy_from_slice(words),
        (true, false) => words.copy_from_slice(room),
        _ => {}
    }
}

/// The longest rows that exchanges sort soonest, side by side: CPUs compare vectors of 64 bits, and at the baseline any, by several
/// instructions. With AVX-512 vectors sort a row.
fn longest<T: Word>() -> usize {
    match (size_of::<T>(), level()) {
        (4, Level::Avx512) => 32,
        (4, Level::Avx2) => 1024,
        (_, Level::Avx512) => 8,
        _ => 16,
    }
}

/// The longest rows for which a radix sort has too many counters.
const FEW: usize = 512;

/// A row that vectors did not sort.
fn by_others<T: Word>(row: &mut [T]) -> Option<&mut [T]> {
    if T::sort_by_vectors(row) { None } else { Some(row) }
}

/// Sorts each of the rows of `n` words as [`sort`] does; `room` is for it to use.
pub fn sort_rows<T: Word>(rows: &mut [T], n: usize, bits: Range<u32>, room: &mut Vec<T>) {
    // What does not depend on words does not gain where they are in order; to find one that is not takes no time.
    if rows.chunks_exact(n).all(<[T]>::is_sorted) {
        return;
    }
    if n <= longest::<T>() {
        return T::sort_rows(rows, n);
    }
    rows.chunks_exact_mut(n).for_each(|row| sort_row(row, bits.clone(), room));
}

/// Words of the shortest row that vectors sort sooner than the standard library, which puts one after the other where it belongs.
const FIVE: usize = 5;

/// Sorts one row as [`sort`] does; `room` is for it to use.
pub fn sort_row<T: Word>(row: &mut [T], bits: Range<u32>, room: &mut Vec<T>) {
    if row.len() < FIVE {
        row.sort_unstable();
    } else if row.len() <= FEW {
        by_others(row).into_iter().for_each(<[T]>::sort_unstable);
    } else {
        room.resize(row.len(), T::zeroed());
        sort(row, room, bits, false);
    }
}

/// What two rising lists have in all, in order.
pub fn merge<T: Word>(a: &[T], b: &[T], out: &mut [T]) {
    let (mut i, mut j, mut n) = (0, 0, 0);
    while i < a.len() && j < b.len() && n < out.len() {
        let is_second = b[j] < a[i];
        out[n] = if is_second { b[j] } else { a[i] };
        (i, j, n) = (i + usize::from(!is_second), j + usize::from(is_second), n + 1);
    }
    for (out, &word) in out[n..].iter_mut().zip(a[i..].iter().chain(&b[j..])) {
        *out = word;
    }
}

/// How many words are not the one before them, which is given for the first.
pub fn distinct<T: Word>(words: &[T], before: Option<T>) -> usize {
    let Some(&first) = words.first() else { return 0 };
    usize::from(before != Some(first)) + vectorised(Changes { words })
}

struct Changes<'a, T> {
    words: &'a [T],
}

impl<T: Word> Loop for Changes<'_, T> {
    type Output = usize;
    #[inline(always)]
    fn run(self) -> usize {
        self.words.iter().zip(&self.words[1..]).filter(|(a, b)| a != b).count()
    }
}

/// Brings the words that are not the one before them, which is given for the first, to the front, and says how many these are.
pub fn keep_distinct<T: Word>(words: &mut [T], before: Option<T>) -> usize {
    let Some(&first) = words.first() else { return 0 };
    let (mut n, mut last) = (usize::from(before != Some(first)), first);
    for i in 1..words.len() {
        // Written where it stays, or where the next is written.
        let word = words[i];
        words[n] = word;
        n += usize::from(word != last);
        last = word;
    }
    n
}

/// Where bytes come in rising order of what they are with the bits of `flip` changed, counted from `first` on: equal ones as they stand.
pub fn places_of_bytes(bytes: &[u8], flip: u8, first: u64, out: &mut [u64]) {
    // Equal bytes often follow each other: one counter would wait for itself.
    let mut counts = [[0usize; 256]; 2];
    let (pairs, rest) = bytes.as_chunks::<2>();
    for pair in pairs {
        counts[0][usize::from(pair[0])] += 1;
        counts[1][usize::from(pair[1])] += 1;
    }
    rest.iter().for_each(|&byte| counts[0][usize::from(byte)] += 1);
    let (mut next, mut n) = ([0; 256], 0);
    for rank in 0..=255u8 {
        let byte = usize::from(rank ^ flip);
        next[byte] = n;
        n += counts[0][byte] + counts[1][byte];
    }
    for (&byte, number) in bytes.iter().zip(first..) {
        let next = &mut next[usize::from(byte)];
        out[*next] = number;
        *next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::set_level;

    /// Numbers of several kinds, of `bits` bits: spread, few different ones, rising, falling, equal, with the greatest of all.
    fn kinds(n: usize, bits: u32) -> [Vec<u64>; 6] {
        let greatest = u64::MAX >> (64 - bits);
        let spread = |k: usize| (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits);
        let rising = |k: usize| (k as u64 * (greatest / n.max(1) as u64)).min(greatest);
        [
            (0..n).map(spread).collect(),
            (0..n).map(|k| spread(k) % 3).collect(),
            (0..n).map(rising).collect(),
            (0..n).rev().map(rising).collect(),
            vec![greatest / 2; n],
            (0..n).map(|k| if k % 5 < 2 { greatest } else { spread(k) % 50 }).collect(),
        ]
    }

    fn check<T: Word + std::fmt::Debug>(words: &[u64], n: usize, bits: Range<u32>) {
        let words: Vec<T> = words.iter().map(|&word| T::new(word)).collect();
        let mut wanted = words.clone();
        wanted.chunks_exact_mut(n.max(1)).for_each(|row| row.sort_unstable());
        let mut own = words.clone();
        sort_rows(&mut own, n, bits.clone(), &mut vec![T::new(7); 3]);
        assert_eq!(own, wanted, "rows of {n}, bits {bits:?}");
        for to_room in [false, true] {
            let (mut own, mut room) = (words[..n].to_vec(), vec![T::new(7); n]);
            sort(&mut own, &mut room, bits.clone(), to_room);
            assert_eq!(if to_room { room } else { own }, wanted[..n], "{n}, bits {bits:?}");
        }
    }

    #[test]
    fn rows_beside_those_of_the_standard_library() {
        for level in Level::ALL {
            set_level(Some(level));
            for n in (1..40).chain([
                63, 64, 65, 127, 128, 129, 255, 256, 257, 300, 511, 512, 513, 1000, 1023, 1024, 1025, 5000, 20_011,
            ]) {
                let rows = [1, 17][usize::from(n < 100)];
                for bits in [1, 8, 11, 12, 16, 22, 23, 32] {
                    for words in kinds(rows * n, bits) {
                        check::<u32>(&words, n, 0..bits);
                        let numbered =
                            |shift| words.iter().zip(0..).map(move |(word, i)| word << shift | (i % n as u64));
                        check::<u64>(&numbered(32).collect::<Vec<_>>(), n, 32..32 + bits);
                        if bits <= 16 {
                            check::<u32>(&numbered(16).collect::<Vec<_>>(), n, 16..16 + bits);
                        }
                    }
                }
            }
        }
        set_level(None);
    }

    #[test]
    fn a_step_leaves_lesser_and_greater_ones() {
        fn check<T: Word + std::fmt::Debug>(words: &[u64]) {
            let words: Vec<T> = words.iter().map(|&word| T::new(word)).collect();
            let mut own = words.clone();
            let Some((below, above)) = T::divide(&mut own) else {
                return assert!(words.len() < 600 || level() < Level::Avx512, "{}", words.len());
            };
            let is_equal = |own: &[T]| own.windows(2).all(|pair| pair[0] == pair[1]);
            assert!(below <= above && above <= own.len() && is_equal(&own[below..above]));
            let least = |own: &[T]| own.iter().min().copied();
            assert!(own[..below].iter().all(|&word| Some(word) < least(&own[below..])));
            assert!(own[..above].iter().all(|&word| least(&own[above..]).is_none_or(|least| word < least)));
            let mut wanted = words;
            wanted.sort_unstable();
            own.sort_unstable();
            assert_eq!(own, wanted);
        }
        for n in [0, 1, 255, 256, 511, 512, 599, 600, 1000, 2047, 2048, 5003, 70_001] {
            for words in kinds(n, 32) {
                check::<u32>(&words);
                check::<u64>(&words);
            }
        }
    }

    #[test]
    fn two_lists_are_merged() {
        for (n, m) in [(0, 0), (0, 3), (3, 0), (1, 1), (50, 1), (1, 50), (300, 301)] {
            for (mut a, mut b) in kinds(n, 32).into_iter().zip(kinds(m, 31)) {
                a.sort_unstable();
                b.sort_unstable();
                let mut wanted = [&a[..], &b].concat();
                wanted.sort_unstable();
                let mut out = vec![1; n + m];
                merge(&a, &b, &mut out);
                assert_eq!(out, wanted);
            }
        }
    }

    #[test]
    fn distinct_words_beside_the_standard_library() {
        for n in [0, 1, 2, 15, 16, 17, 33, 1000] {
            for mut words in kinds(n, 31) {
                words.sort_unstable();
                for before in [None, words.first().copied(), Some(1 << 40)] {
                    let mut wanted = words.clone();
                    wanted.dedup();
                    wanted.retain(|&word| Some(word) != before);
                    assert_eq!(distinct(&words, before), wanted.len());
                    let mut own = words.clone();
                    let kept = keep_distinct(&mut own, before);
                    assert_eq!(own[..kept], wanted);
                }
            }
        }
    }

    #[test]
    fn places_of_bytes_beside_a_stable_sort() {
        for n in [0, 1, 2, 3, 255, 256, 1001] {
            for flip in [0, 0x80, 0x7f, 0xff] {
                for words in kinds(n, 8) {
                    let bytes: Vec<u8> = words.into_iter().map(|word| word as u8).collect();
                    let mut wanted: Vec<u64> = (5..5 + n as u64).collect();
                    wanted.sort_by_key(|&i| bytes[i as usize - 5] ^ flip);
                    let mut out = vec![1; n];
                    places_of_bytes(&bytes, flip, 5, &mut out);
                    assert_eq!(out, wanted, "{n} {flip}");
                }
            }
        }
    }
}
