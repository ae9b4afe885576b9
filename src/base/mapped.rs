//! Short lists made of short lists, with one loop per pair of types.

use std::ops::Range;

/// What `iter().map(f).collect()` gives, for lists of metadata: axes, sizes, operands. The iterators' way is compiled
/// anew for every closure, some ten functions each time; this one calls `f` through a pointer, so it is not for data.
pub(crate) trait Mapped<'a, T> {
    fn mapped<B>(self, f: impl FnMut(T) -> B) -> Vec<B>;

    /// What `iter().map(f).collect::<Result<_, _>>()` gives; for data too.
    fn try_mapped<B, E>(self, f: impl FnMut(T) -> Result<B, E>) -> Result<Vec<B>, E>;
}

impl<'a, T> Mapped<'a, &'a T> for &'a [T] {
    #[inline]
    fn mapped<B>(self, mut f: impl FnMut(&'a T) -> B) -> Vec<B> {
        of_slice(self, &mut f)
    }

    fn try_mapped<B, E>(self, mut f: impl FnMut(&'a T) -> Result<B, E>) -> Result<Vec<B>, E> {
        let mut made = Vec::with_capacity(self.len());
        for x in self {
            made.push(f(x)?);
        }
        Ok(made)
    }
}

impl Mapped<'_, usize> for Range<usize> {
    #[inline]
    fn mapped<B>(self, mut f: impl FnMut(usize) -> B) -> Vec<B> {
        of_range(self, &mut f)
    }

    /// Takes memory as it goes: what is counted may end the list early.
    fn try_mapped<B, E>(self, mut f: impl FnMut(usize) -> Result<B, E>) -> Result<Vec<B>, E> {
        let mut made = Vec::new();
        for i in self {
            made.push(f(i)?);
        }
        Ok(made)
    }
}

/// What `filter(f).collect()` gives, in a loop that pushes; for data too.
pub(crate) trait Chosen<T> {
    fn chosen(self, f: impl FnMut(&T) -> bool) -> Vec<T>;
}

impl<T> Chosen<T> for Range<T>
where
    Range<T>: Iterator<Item = T>,
{
    fn chosen(self, mut f: impl FnMut(&T) -> bool) -> Vec<T> {
        let mut chosen = Vec::new();
        for i in self {
            if f(&i) {
                chosen.push(i);
            }
        }
        chosen
    }
}

/// Sorts a list with an entry per axis, level or thread, keeping the order of equals: in quadratic time, by a fraction of the
/// code that a sort of the standard library is for each type.
pub(crate) fn sort_short<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    for sorted in 1..list.len() {
        let mut at = sorted;
        while at > 0 && key(&list[at]) < key(&list[at - 1]) {
            list.swap(at, at - 1);
            at -= 1;
        }
    }
}

/// Each value as often as is said beside it.
pub(crate) fn repeated<T: Copy>(each: impl Iterator<Item = (T, usize)>) -> Vec<T> {
    let mut all = Vec::new();
    for (value, times) in each {
        all.resize(all.len() + times, value);
    }
    all
}

/// All sums of an entry of the outer list and one of the inner list, modulo 2^64.
pub(crate) fn sums(outer: &[u64], inner: &[u64]) -> Vec<u64> {
    let mut sums = Vec::with_capacity(outer.len() * inner.len());
    for o in outer {
        sums.extend(inner.iter().map(|i| o.wrapping_add(*i)));
    }
    sums
}

fn of_slice<'a, T, B>(from: &'a [T], f: &mut dyn FnMut(&'a T) -> B) -> Vec<B> {
    let mut made = Vec::with_capacity(from.len());
    for x in from {
        made.push(f(x));
    }
    made
}

fn of_range<B>(from: Range<usize>, f: &mut dyn FnMut(usize) -> B) -> Vec<B> {
    let mut made = Vec::with_capacity(from.len());
    for i in from {
        made.push(f(i));
    }
    made
}

/// How many of the first `n` there are for which something holds that holds for none after them.
pub(crate) fn partition_point(n: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut start, mut end) = (0, n);
    while start < end {
        let middle = start + (end - start) / 2;
        if holds(middle) { start = middle + 1 } else { end = middle }
    }
    start
}
