//! Asking for memory before it is needed, where the CPU does not foresee it.
#![allow(unsafe_code)] // prefetches

use std::ops::{Deref, Range};

use crate::structure::Index;

/// Asks for the cache lines of `N` elements from place `at` on; of none where the place is beyond the end.
#[inline(always)]
pub(crate) fn prefetch<T, const N: usize>(elements: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    if at < elements.len() {
        ask::<{ std::arch::x86_64::_MM_HINT_T0 }, T, N>(elements, at);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, at);
}

/// The same of elements that come from far, and are needed later: into the second cache. Many more lines are on their way to it at once
/// than the first keeps account of, which makes scattered reads twice as fast on Zen 4. That a place is one of `elements` is not asked,
/// which would take longer than to ask for memory in vain.
#[inline(always)]
pub(crate) fn prefetch_far<T, const N: usize>(elements: &[T], at: usize) {
    #[cfg(target_arch = "x86_64")]
    ask::<{ std::arch::x86_64::_MM_HINT_T1 }, T, N>(elements, at);
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (elements, at);
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ask<const HINT: i32, T, const N: usize>(elements: &[T], at: usize) {
    let first = elements.as_ptr().wrapping_add(at).cast::<i8>();
    for line in 0..(N * size_of::<T>()).div_ceil(64) {
        // SAFETY: a prefetch reads nothing and cannot fault, wherever it points.
        unsafe { std::arch::x86_64::_mm_prefetch::<HINT>(first.wrapping_add(64 * line)) };
    }
}

/// Whether elements are more than a second cache holds.
pub(crate) const fn is_far<T>(elements: &[T]) -> bool {
    size_of_val(elements) > 1 << 20
}

/// Bytes of a stream that are asked for ahead of what is read.
const SOON: usize = 1 << 11;

/// Asks for what a loop that reads elements one after the other will come to, at `from` now: where it goes elsewhere in between, the
/// CPU does not foresee that. There may be nothing at that place.
#[inline(always)]
pub(crate) fn prefetch_stream<T>(from: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing and cannot fault, wherever it points.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast::<i8>().wrapping_add(SOON)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = from;
}

/// Gives `f` each value in a range, and of a table the entry that its key names. Values and keys are asked for ahead, and entries where
/// keys go `all_over` the table: the CPU does not look far enough ahead by itself (sums of columns took 1.3 to 1.5 times as long).
#[inline(always)]
pub(crate) fn in_stream<T, A>(
    values: &[T],
    keys: &[u32],
    range: Range<usize>,
    (table, all_over): (&mut [A], bool),
    mut f: impl FnMut(&mut A, &T),
) {
    const LINE: usize = 16;
    const AHEAD: usize = 16 * LINE;
    let mut at = range.start;
    while at < range.end {
        let end = range.end.min(at + LINE);
        prefetch::<u32, LINE>(keys, at + AHEAD);
        prefetch::<T, LINE>(values, at + AHEAD);
        if all_over && let Some(keys) = keys.get(at + AHEAD / 2..at + AHEAD / 2 + LINE) {
            keys.iter().for_each(|&key| prefetch_far::<A, 1>(table, key as usize));
        }
        values[at..end].iter().zip(&keys[at..end]).for_each(|(value, &key)| f(&mut table[key as usize], value));
        at = end;
    }
}

/// Whether indices go all over a table that is far.
pub(crate) fn all_over<I: Index, T>(indices: &[I], table: &[T]) -> bool {
    is_far(table) && are_scattered(indices, GROUP)
}

/// Whether indices of rows of so many elements go all over a table that is far.
pub(crate) fn rows_all_over<I: Index, T>(indices: &[I], table: &[T], row: usize) -> bool {
    is_far(table) && are_scattered(indices, (GROUP / row.max(1)).max(1))
}

/// What indices that come later name in a table, asked for: see [`prefetch_far`].
pub(crate) struct Later<'a, I> {
    indices: &'a [I],
    asked: usize,
}

impl<'a, I: Index> Later<'a, I> {
    /// Indices between the one that is met and the last that is asked for.
    const AHEAD: usize = 128;
    const TOGETHER: usize = 16;

    /// Of all these indices, if the table is far and they go all over it; else of none.
    pub(crate) fn of<T>(indices: &'a [I], table: &[T]) -> Later<'a, I> {
        Later { indices: if all_over(indices, table) { indices } else { &[] }, asked: 0 }
    }

    /// Whether there is nothing to ask for.
    pub(crate) fn is_idle(&self) -> bool {
        self.indices.is_empty()
    }

    /// Asks for what comes soon after index `at`.
    #[inline(always)]
    pub(crate) fn reach<T>(&mut self, at: usize, table: &[T]) {
        while self.asked < at + Self::AHEAD
            && let Some(indices) = self.indices.get(self.asked..self.asked + Self::TOGETHER)
        {
            indices.iter().for_each(|k| prefetch_far::<T, 1>(table, k.get()));
            self.asked += Self::TOGETHER;
        }
    }

    /// The same before a row of so many indices from `at` on is gone through: of as many of these as the second cache is sure to keep.
    #[inline(always)]
    pub(crate) fn reach_row<T>(&mut self, at: usize, len: usize, table: &[T]) {
        if !self.is_idle() {
            self.reach(at + len.min(16 * Self::AHEAD), table);
        }
    }
}

/// Gives `f` the table and all indices, part by part where what these name in it is to be asked for.
#[inline(always)]
pub(crate) fn in_parts<I: Index, T, S: Deref<Target = [T]>>(
    indices: &[I],
    mut table: S,
    mut f: impl FnMut(&mut S, Range<usize>),
) {
    let mut later = Later::of(indices, &table);
    let part = if later.is_idle() { indices.len().max(1) } else { Later::<I>::TOGETHER };
    for start in (0..indices.len()).step_by(part) {
        later.reach(start, &table);
        f(&mut table, start..indices.len().min(start + part));
    }
}

/// Indices that are looked at, one after the other, and in how many places: a call that is made often has few of them.
const LOOKED_AT: [usize; 2] = [64, 2];

/// Elements that are named together: of numbers a page.
const GROUP: usize = 512;

/// Whether what indices name lies all over memory: of those beside each other more than every eighth names another group.
fn are_scattered<I: Index>(indices: &[I], group: usize) -> bool {
    let bits = group.ilog2();
    let [window, places] = LOOKED_AT;
    let step = (indices.len() / places).max(window);
    let (mut looked, mut groups) = (0, 0);
    for indices in indices.chunks(step).map(|part| &part[..part.len().min(window)]) {
        // A bit for each group, of which some share one.
        let met = indices.iter().fold(0u64, |met, k| met | 1 << (k.get() >> bits & 63));
        looked += indices.len();
        groups += met.count_ones() as usize;
    }
    8 * groups > looked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_gives_each_value_in_the_range_with_its_key() {
        let (values, keys): (Vec<u64>, Vec<u32>) = (0..600).map(|i| (u64::from(i) * 3, i * 7)).unzip();
        let mut table: Vec<usize> = (0..4200).collect();
        for range in [0..0, 5..5, 0..1, 3..18, 0..16, 1..33, 590..600, 0..600, 600..600] {
            let mut given = Vec::new();
            in_stream(&values, &keys, range.clone(), (&mut table, range.len() % 2 == 0), |key, &value| {
                given.push((value, *key))
            });
            let wanted: Vec<(u64, usize)> = range.map(|i| (i as u64 * 3, i * 7)).collect();
            assert_eq!(given, wanted);
        }
    }

    #[test]
    fn indices_all_over_memory_are_scattered() {
        let all = |f: &dyn Fn(u32) -> u32| -> Vec<u32> { (0..100_000).map(f).collect() };
        assert!(are_scattered(&all(&|i| i.wrapping_mul(0x9e37_79b1) >> 12), GROUP));
        assert!(!are_scattered(&all(&|i| i), GROUP));
        // Every twentieth of rows: those of one element lie near each other, those of eight do not.
        let far = vec![0u8; (1 << 20) + 1];
        let step = all(&|i| i * 20);
        assert!(!rows_all_over(&step, &far, 1) && rows_all_over(&step, &far, 8) && rows_all_over(&step, &far, 5000));
        assert!(!rows_all_over(&step, &far[1..], 8) && !rows_all_over(&all(&|i| i), &far, 32));
        // A grid: a row has its own place, and those beside it along three axes.
        let beside = [0, 9900, 9999, 10_000, 10_001, 10_100, 20_000];
        assert!(!are_scattered(&all(&|i| i / 7 + beside[i as usize % 7]), GROUP));
        assert!(!are_scattered::<u32>(&[], GROUP));
    }

    #[test]
    fn all_indices_come_in_parts_and_in_order() {
        let spread = |i: u32| i.wrapping_mul(0x9e37_79b1) >> 14;
        for (n, size) in [(0, 1 << 18), (1, 1 << 18), (130, 1 << 18), (1000, 1 << 18), (1000, 1000)] {
            let indices: Vec<u32> = (0..n).map(|i| spread(i) % size).collect();
            let mut table = vec![0u64; size as usize];
            let (mut met, mut parts) = (Vec::new(), 0);
            in_parts(&indices, &mut table[..], |table, part| {
                parts += 1;
                for &i in &indices[part] {
                    table[i as usize] += 1;
                    met.push(i);
                }
            });
            assert_eq!(met, indices);
            // Two megabytes are far.
            let asked = if size > 1000 { Later::<u32>::TOGETHER } else { n.max(1) as usize };
            assert_eq!(parts, met.len().div_ceil(asked));
            assert_eq!(table.iter().sum::<u64>(), u64::from(n));
        }
    }

    #[test]
    fn what_comes_soon_is_asked_for_once() {
        let (indices, table): (Vec<u32>, _) = ((0..2000).map(|i| i * 1000 % (1 << 18)).collect(), vec![0u64; 1 << 18]);
        let mut later = Later::of(&indices, &table);
        assert!(!later.is_idle() && Later::of(&indices, &table[..1000]).is_idle());
        let mut asked = Vec::new();
        for at in [0, 1, 15, 16, 17, 300] {
            later.reach(at, &table);
            asked.push(later.asked);
        }
        assert_eq!(asked, [128, 144, 144, 144, 160, 432]);
        later.reach_row(400, 100_000, &table);
        assert_eq!(later.asked, 2000);
    }
}
