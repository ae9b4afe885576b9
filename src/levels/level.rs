//! Levels: the index arrays that say which coordinates a pattern holds.

use openwork_ops::structure::{Index, IndexSlice, IndexVec};

use crate::base::buffer::Buffer;

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

impl Indices {
    /// Shares a buffer of entries that are known to fit: below 2^31, or 2^63 where `wide`.
    pub(crate) fn of_buffer(buffer: Buffer, wide: bool) -> Indices {
        Indices { buffer, wide, limit: limit_of_width(wide) }
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

    /// Whether every entry is below 2^31 (2^63), so that its bytes are the same number signed and unsigned.
    pub(crate) fn is_small(&self) -> bool {
        match self.as_slice() {
            IndexSlice::U32(s) => s.iter().fold(0, |all, v| all | v) < 1 << 31,
            IndexSlice::U64(s) => s.iter().fold(0, |all, v| all | v) < 1 << 63,
        }
    }

    pub(crate) fn is_same(&self, other: &Indices) -> bool {
        self.buffer.is_same(&other.buffer)
    }
}

impl From<IndexVec> for Indices {
    fn from(vec: IndexVec) -> Indices {
        match vec {
            IndexVec::U32(v) => Indices::of_buffer(Buffer::from_vec(v), false),
            IndexVec::U64(v) => Indices::of_buffer(Buffer::from_vec(v), true),
        }
    }
}

/// One level of a pattern. Positions of a level number its coordinates in storage order; the root has one.
#[derive(Clone, Debug)]
pub(crate) enum Level {
    /// Every coordinate of one axis under every parent: no arrays.
    Dense,
    /// Under parent `p`, the tuples `indices[..][pointers[p] - pointers[0]..pointers[p + 1] - pointers[0]]`.
    /// At the root, where there is one parent, pointers may be left out. Rank 0 has pointers alone.
    Sparse { pointers: Option<Indices>, indices: Vec<Indices>, ordered: bool, unique: bool },
    /// Exactly one coordinate under every parent.
    Singleton { indices: Indices },
}

/// The kind of a level, without its arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LevelKind {
    /// Every coordinate of one axis is present.
    Dense,
    /// Segments of tuples over `rank` axes. Rank 0 repeats its parent: no axis, several values.
    Sparse {
        /// Number of axes.
        rank: usize,
    },
    /// Exactly one coordinate per parent.
    Singleton,
}

impl LevelKind {
    /// How many axes the level covers.
    pub const fn rank(self) -> usize {
        match self {
            LevelKind::Dense | LevelKind::Singleton => 1,
            LevelKind::Sparse { rank } => rank,
        }
    }
}

impl Level {
    pub(crate) fn kind(&self) -> LevelKind {
        match self {
            Level::Dense => LevelKind::Dense,
            Level::Sparse { indices, .. } => LevelKind::Sparse { rank: indices.len() },
            Level::Singleton { .. } => LevelKind::Singleton,
        }
    }

    /// Whether tuples rise within each segment.
    pub(crate) fn is_ordered(&self) -> bool {
        if let Level::Sparse { ordered, .. } = self { *ordered } else { true }
    }

    /// Whether no tuple repeats within a segment.
    pub(crate) fn is_unique(&self) -> bool {
        if let Level::Sparse { unique, .. } = self { *unique } else { true }
    }

    /// Every array of the level.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &Indices> {
        let (pointers, indices): (Option<&Indices>, &[Indices]) = match self {
            Level::Dense => (None, &[]),
            Level::Sparse { pointers, indices, .. } => (pointers.as_ref(), indices),
            Level::Singleton { indices } => (None, std::slice::from_ref(indices)),
        };
        pointers.into_iter().chain(indices)
    }
}
