//! Bytes of operands as slices of their types.

use std::ops::Range;

use super::Rows;
use super::term::Term;
use crate::simd::Later;
use crate::structure::Index;

pub(super) fn slice<T: bytemuck::Pod>(bytes: &[u8]) -> &[T] {
    // An empty slice may lie anywhere, which the cast would refuse.
    if bytes.is_empty() { &[] } else { bytemuck::cast_slice(bytes) }
}

pub(super) fn slice_mut<T: bytemuck::Pod>(bytes: &mut [u8]) -> &mut [T] {
    if bytes.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(bytes) }
}

/// [`Rows`] with their types.
#[derive(Clone, Copy)]
pub(super) struct Typed<'a, T, I> {
    pub(super) pointers: &'a [I],
    pub(super) base: usize,
    pub(super) indices: &'a [I],
    pub(super) values: &'a [T],
}

impl<'a, T: Term, I: Index> Typed<'a, T, I> {
    pub(super) fn new(rows: Rows<'a>) -> Typed<'a, T, I> {
        let of = |s| I::of(s).unwrap_or(&[]);
        Typed { pointers: of(rows.pointers), base: rows.base, indices: of(rows.indices), values: slice(rows.values) }
    }

    #[inline(always)]
    pub(super) fn range(&self, r: usize) -> (usize, usize) {
        (self.pointers[r].get() - self.base, self.pointers[r + 1].get() - self.base)
    }

    /// Entries before row `r`, which may be the one after the last.
    #[inline(always)]
    pub(super) fn start(&self, r: usize) -> usize {
        self.pointers[r].get() - self.base
    }

    /// What entries of some rows meet in a table, to be asked for.
    pub(super) fn later<A>(&self, rows: &Range<usize>, table: &[A]) -> Later<'a, I> {
        Later::of(&self.indices[self.start(rows.start)..self.start(rows.end)], table)
    }

    #[inline(always)]
    pub(super) fn length(&self, r: usize) -> usize {
        let (start, end) = self.range(r);
        end - start
    }

    #[inline(always)]
    pub(super) fn row(&self, r: usize) -> (&'a [I], &'a [T]) {
        let (start, end) = self.range(r);
        (&self.indices[start..end], &self.values[start..end])
    }
}
