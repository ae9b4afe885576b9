//! Short lists made of short lists, with one loop per pair of types.

use std::ops::Range;

/// What `iter().map(f).collect()` gives, for lists of metadata: axes, sizes, operands. The iterators' way is compiled
/// anew for every closure, some ten functions each time; this one calls `f` through a pointer, so it is not for data.
pub(crate) trait Mapped<'a, T> {
    fn mapped<B>(self, f: impl FnMut(T) -> B) -> Vec<B>;
}

impl<'a, T> Mapped<'a, &'a T> for &'a [T] {
    #[inline]
    fn mapped<B>(self, mut f: impl FnMut(&'a T) -> B) -> Vec<B> {
        of_slice(self, &mut f)
    }
}

impl Mapped<'_, usize> for Range<usize> {
    #[inline]
    fn mapped<B>(self, mut f: impl FnMut(usize) -> B) -> Vec<B> {
        of_range(self, &mut f)
    }
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
