//! Index and pointer arrays: shared memory of one width, with what is known of its entries.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use openwork_ops::structure::{Index, IndexSlice, IndexVec};

use crate::base::buffer::Buffer;
use crate::base::pages::Scratch;
use crate::base::parallel;

/// Bytes of two arrays that are compared at once.
const PIECE: usize = 1 << 18;

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

/// The largest entry.
pub(crate) fn most<T: Copy + Ord + Send + Sync>(entries: &[T]) -> Option<T> {
    let first = *entries.first()?;
    // One pass without branches, of which the compiler makes vectors: `max` of an iterator is none.
    let of = |r: Range<usize>| entries[r].iter().fold(first, |most, &entry| Ord::max(most, entry));
    parallel::map_chunks(entries.len(), 1 << 18, &of).into_iter().max()
}

/// What all entries are below.
pub(crate) fn limit_of<T: Copy + Ord + Into<u64> + Send + Sync>(entries: &[T]) -> u64 {
    most(entries).map_or(0, |most| most.into().saturating_add(1))
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

    pub(crate) fn slice(&self, range: Range<usize>) -> Indices {
        let width = if self.wide { 8 } else { 4 };
        Indices { buffer: self.buffer.slice(range.start * width..range.end * width), ..*self }
    }

    /// The same array, 64 bits wide where `wide`.
    pub(crate) fn widened(&self, wide: bool) -> Indices {
        if self.wide || !wide { self.clone() } else { self.as_slice().to_vec(true).into() }
    }

    /// The same array, 32 bits wide; `None` if an entry does not fit.
    pub(crate) fn narrowed(&self) -> Option<Indices> {
        let IndexSlice::U64(entries) = self.as_slice() else { return Some(self.clone()) };
        let limit = if self.limit <= limit_of_width(false) { self.limit } else { limit_of(entries) };
        (limit <= limit_of_width(false)).then(|| Indices::narrow(entries).known_below(limit))
    }

    /// Entries of this width; of the narrow one all are below 2^31.
    pub(crate) fn of_width(entries: Vec<u64>, wide: bool) -> Indices {
        if wide { IndexVec::U64(entries).into() } else { Indices::narrow(&entries) }
    }

    /// A copy of entries that are below 2^31, 32 bits wide.
    pub(crate) fn narrow(entries: &[u64]) -> Indices {
        let width = size_of::<u32>();
        let buffer = Buffer::filled_of_held(entries.len() * width, width, |out| {
            parallel::for_chunks_mut(out, width, parallel::GRAIN, &|first, out| {
                let out: &mut [u32] = bytemuck::cast_slice_mut(out);
                out.iter_mut().zip(&entries[first..]).for_each(|(out, &entry)| *out = entry as u32);
            });
        });
        Indices::of_buffer(buffer, false)
    }

    pub(crate) fn is_same(&self, other: &Indices) -> bool {
        self.buffer.is_same(&other.buffer)
    }

    /// Whether both have the same entries in the same width, in whatever memory.
    ///
    /// Cost: up to the first that differs, and a piece.
    pub(crate) fn is_equal(&self, other: &Indices) -> bool {
        if self.is_same(other) {
            return true;
        }
        let (a, b) = (self.buffer.bytes(), other.buffer.bytes());
        if self.wide != other.wide || a.len() != b.len() {
            return false;
        }
        let differ = AtomicBool::new(false);
        parallel::map_chunks(a.len(), PIECE, &|range| {
            if !differ.load(Ordering::Relaxed) && a[range.clone()] != b[range] {
                differ.store(true, Ordering::Relaxed);
            }
        });
        !differ.into_inner()
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
