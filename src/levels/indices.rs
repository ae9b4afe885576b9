//! Index and pointer arrays: shared memory of one width, with what is known of its entries.

use openwork_ops::structure::{Index, IndexSlice, IndexVec};

use crate::base::buffer::Buffer;
use crate::base::pages::Scratch;

/// A shared index or pointer array, `u32` or `u64`.
#[derive(Clone, Debug)]
pub(crate) struct Indices {
    buffer: Buffer,
    wide: bool,
    /// What every entry is known to be below.
    limit: u64,
}

/// What all entries are below, by their width: their bytes are the same number signed and unsigned.
const fn limit_of_width(wide: bool) -> u64 {
    if wide { 1 << 63 } else { 1 << 31 }
}

/// Whether arrays that the library makes need 64 bits: for so many positions, over dimensions of these sizes. The one
/// rule, so that all arrays of a tensor share one width.
pub(crate) fn needs_64_bits(positions: usize, sizes: impl IntoIterator<Item = usize>) -> bool {
    let limit = limit_of_width(false) as usize;
    positions >= limit || sizes.into_iter().any(|size| size > limit)
}

impl Indices {
    /// Shares a buffer of entries that are known to fit: below 2^31, or 2^63 where `wide`.
    pub(crate) fn of_buffer(buffer: Buffer, wide: bool) -> Indices {
        Indices { buffer, wide, limit: limit_of_width(wide) }
    }

    /// A copy of a few entries of the library's own making.
    pub(crate) fn of_few<I: Index>(entries: &[I]) -> Indices {
        Indices::of_buffer(Buffer::of_few(bytemuck::cast_slice(entries)), size_of::<I>() == size_of::<u64>())
    }

    /// With the limit that a pass over the entries has found.
    pub(crate) fn known_below(self, limit: u64) -> Indices {
        debug_assert!((0..self.len()).all(|i| (self.get(i) as u64) < limit));
        Indices { limit, ..self }
    }

    /// What every entry is known to be below, without a look at them: they may be further below.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    pub(crate) fn as_slice(&self) -> IndexSlice<'_> {
        if self.wide { IndexSlice::U64(self.buffer.typed()) } else { IndexSlice::U32(self.buffer.typed()) }
    }

    pub(crate) fn typed<I: Index>(&self) -> &[I] {
        I::of(self.as_slice()).unwrap_or(&[])
    }

    pub(crate) fn len(&self) -> usize {
        self.as_slice().len()
    }

    pub(crate) fn get(&self, i: usize) -> usize {
        self.as_slice().get(i)
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.wide
    }

    pub(crate) fn slice(&self, range: std::ops::Range<usize>) -> Indices {
        let width = if self.wide { 8 } else { 4 };
        Indices { buffer: self.buffer.slice(range.start * width..range.end * width), ..*self }
    }

    /// The same array, 64 bits wide where `wide`.
    pub(crate) fn widened(&self, wide: bool) -> Indices {
        if self.wide || !wide { self.clone() } else { self.as_slice().to_vec(true).into() }
    }

    /// The same array, 32 bits wide; `None` if an entry does not fit.
    pub(crate) fn narrowed(&self) -> Option<Indices> {
        match self.as_slice() {
            IndexSlice::U32(_) => Some(self.clone()),
            IndexSlice::U64(s) if s.iter().fold(0, |all, v| all | v) < limit_of_width(false) => {
                Some(IndexVec::U32(s.iter().map(|&entry| entry as u32).collect()).into())
            }
            IndexSlice::U64(_) => None,
        }
    }

    pub(crate) fn is_same(&self, other: &Indices) -> bool {
        self.buffer.is_same(&other.buffer)
    }
}

impl From<IndexVec> for Indices {
    fn from(vec: IndexVec) -> Indices {
        match vec {
            IndexVec::U32(v) => Indices::of_buffer(Buffer::of_keys(v), false),
            IndexVec::U64(v) => Indices::of_buffer(Buffer::from_vec(v), true),
        }
    }
}

impl<I: Index> From<Scratch<I>> for Indices {
    fn from(entries: Scratch<I>) -> Indices {
        Indices::of_buffer(Buffer::from_block(entries.into_block()), size_of::<I>() == size_of::<u64>())
    }
}
