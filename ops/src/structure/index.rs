//! Index widths: `u32` while every value is below 2³¹, else `u64`.

use std::fmt::Debug;

use bytemuck::Pod;

/// An index or pointer width.
pub trait Index: Pod + Ord + Debug + Default + Send + Sync {
    /// Stands for "no position" in selections; no position reaches it.
    const NONE: Self;
    /// Whether it stands for no position.
    #[inline(always)]
    fn is_none(self) -> bool {
        self == Self::NONE
    }
    /// As a machine index.
    fn get(self) -> usize;
    /// From a machine index that is known to fit.
    fn new(value: usize) -> Self;
    /// Wraps a vector of this width.
    fn vec(values: Vec<Self>) -> IndexVec;
    /// Borrows a slice of this width.
    fn slice(values: &[Self]) -> IndexSlice<'_>;
    /// The slice, if it has this width.
    fn of(slice: IndexSlice<'_>) -> Option<&[Self]>;
}

macro_rules! index {
    ($($ty:ty => $variant:ident),*) => {$(
        impl Index for $ty {
            const NONE: $ty = <$ty>::MAX;
            #[inline(always)]
            fn get(self) -> usize {
                self as usize
            }
            #[inline(always)]
            fn new(value: usize) -> $ty {
                debug_assert!(value as u64 <= <$ty>::MAX as u64);
                value as $ty
            }
            fn vec(values: Vec<$ty>) -> IndexVec {
                IndexVec::$variant(values)
            }
            fn slice(values: &[$ty]) -> IndexSlice<'_> {
                IndexSlice::$variant(values)
            }
            fn of(slice: IndexSlice<'_>) -> Option<&[$ty]> {
                if let IndexSlice::$variant(s) = slice { Some(s) } else { None }
            }
        }
    )*};
}
index!(u32 => U32, u64 => U64);

/// A borrowed index array of either width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum IndexSlice<'a> {
    /// 32-bit.
    U32(&'a [u32]),
    /// 64-bit.
    U64(&'a [u64]),
}

/// An owned index array of either width.
#[derive(Clone, Debug, PartialEq)]
pub enum IndexVec {
    /// 32-bit.
    U32(Vec<u32>),
    /// 64-bit.
    U64(Vec<u64>),
}

/// Runs `$body` with `$s` bound to the typed slice of an [`IndexSlice`].
#[macro_export]
macro_rules! with_index {
    ($slice:expr, $s:ident => $body:expr) => {
        match $slice {
            $crate::structure::IndexSlice::U32($s) => $body,
            $crate::structure::IndexSlice::U64($s) => $body,
        }
    };
}

impl<'a> IndexSlice<'a> {
    /// Some of the entries, which there are.
    pub fn range(self, range: std::ops::Range<usize>) -> IndexSlice<'a> {
        match self {
            IndexSlice::U32(s) => IndexSlice::U32(&s[range]),
            IndexSlice::U64(s) => IndexSlice::U64(&s[range]),
        }
    }
}

impl IndexSlice<'_> {
    /// Number of entries.
    pub fn len(&self) -> usize {
        with_index!(*self, s => s.len())
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Entry `i`.
    #[inline]
    pub fn get(&self, i: usize) -> usize {
        with_index!(*self, s => s[i].get())
    }

    /// Bytes of one entry.
    pub fn width(&self) -> usize {
        if matches!(self, IndexSlice::U32(_)) { 4 } else { 8 }
    }

    /// A copy, widened to 64 bits where `wide`.
    pub fn to_vec(&self, wide: bool) -> IndexVec {
        match (self, wide) {
            (IndexSlice::U32(s), false) => IndexVec::U32(s.to_vec()),
            (IndexSlice::U32(s), true) => IndexVec::U64(s.iter().map(|&v| u64::from(v)).collect()),
            (IndexSlice::U64(s), _) => IndexVec::U64(s.to_vec()),
        }
    }

    /// The first `i` with `self[i] > value`, in an array that does not decrease.
    pub fn upper_bound(&self, value: usize) -> usize {
        with_index!(*self, s => s.partition_point(|&v| v.get() <= value))
    }

    /// The first `i` with `self[i] >= value`, in an array that does not decrease.
    pub fn lower_bound(&self, value: usize) -> usize {
        with_index!(*self, s => s.partition_point(|&v| v.get() < value))
    }

    /// Whether two neighbours are equal: as pointers, whether some segment is empty.
    pub fn has_empty(&self) -> bool {
        with_index!(*self, s => s.windows(2).any(|ends| ends[0] == ends[1]))
    }
}

impl IndexVec {
    /// Borrows.
    pub fn as_slice(&self) -> IndexSlice<'_> {
        match self {
            IndexVec::U32(v) => IndexSlice::U32(v),
            IndexVec::U64(v) => IndexSlice::U64(v),
        }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
