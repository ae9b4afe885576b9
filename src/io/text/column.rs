//! Arrays that grow by the parts that threads made.
//!
//! Parts and arrays carry their element type as data: the loops that collect them are compiled once.

use bytemuck::Zeroable;

use super::entries::{Indices, Values};
use crate::base::buffer::zeroed_vec;
use crate::base::parallel;
use crate::tensor::index_array::IndexArray;

/// Elements of one of the types that text is parsed into.
pub(in crate::io) enum Array {
    U32(Vec<u32>),
    U64(Vec<u64>),
    I64(Vec<i64>),
    F64(Vec<f64>),
    Pairs(Vec<[f64; 2]>),
    /// So many entries without a value.
    Units(usize),
}

macro_rules! each {
    ($array:expr, $vec:ident => $do:expr, $count:ident => $units:expr) => {
        match $array {
            Array::U32($vec) => $do,
            Array::U64($vec) => $do,
            Array::I64($vec) => $do,
            Array::F64($vec) => $do,
            Array::Pairs($vec) => $do,
            Array::Units($count) => $units,
        }
    };
}

impl Array {
    pub(in crate::io) fn len(&self) -> usize {
        each!(self, vec => vec.len(), count => *count)
    }

    /// Bytes of an element.
    fn width(&self) -> usize {
        match self {
            Array::U32(_) => 4,
            Array::U64(_) | Array::I64(_) | Array::F64(_) => 8,
            Array::Pairs(_) => 16,
            Array::Units(_) => 0,
        }
    }

    pub(in crate::io) fn bytes(&self) -> &[u8] {
        each!(self, vec => bytemuck::cast_slice(vec), _count => &[])
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        each!(self, vec => bytemuck::cast_slice_mut(vec), _count => &mut [])
    }

    /// No indices yet, with room for so many; `None` if memory does not suffice.
    pub(in crate::io) fn indices(wide: bool, room: usize) -> Option<Array> {
        fn reserved<T>(room: usize) -> Option<Vec<T>> {
            let mut vec = Vec::new();
            vec.try_reserve_exact(room).ok()?;
            Some(vec)
        }
        Some(if wide { Array::U64(reserved(room)?) } else { Array::U32(reserved(room)?) })
    }

    /// Adds an index, whose low bits are kept: it is checked against a size that fits before. A branch per index that
    /// always goes one way is cheaper than every parser compiled for both widths.
    #[inline(always)]
    pub(in crate::io) fn push_index(&mut self, index: u64) {
        match self {
            Array::U32(indices) => indices.push(index as u32),
            Array::U64(indices) => indices.push(index),
            _ => debug_assert!(false, "values are no indices"),
        }
    }

    /// So many zeros of the same type; `None` if memory does not suffice.
    fn zeroed(&self, len: usize) -> Option<Array> {
        Some(match self {
            Array::U32(_) => Array::U32(zeros(len)?),
            Array::U64(_) => Array::U64(zeros(len)?),
            Array::I64(_) => Array::I64(zeros(len)?),
            Array::F64(_) => Array::F64(zeros(len)?),
            Array::Pairs(_) => Array::Pairs(zeros(len)?),
            Array::Units(_) => Array::Units(len),
        })
    }

    /// Adds zeros up to a length; `None` if memory does not suffice.
    fn grow(&mut self, len: usize) -> Option<()> {
        fn longer<T: Zeroable + Clone>(vec: &mut Vec<T>, len: usize) -> Option<()> {
            vec.try_reserve_exact(len.saturating_sub(vec.len())).ok()?;
            vec.resize(len, T::zeroed());
            Some(())
        }
        each!(self, vec => longer(vec, len), count => {
            *count = len;
            Some(())
        })
    }

    fn truncate(&mut self, len: usize) {
        fn shorter<T>(vec: &mut Vec<T>, len: usize) {
            vec.truncate(len);
            if vec.capacity() - vec.len() > vec.len() / 4 {
                vec.shrink_to_fit();
            }
        }
        each!(self, vec => shorter(vec, len), count => *count = len);
    }

    /// As row or column indices; none if these are values.
    pub(in crate::io) fn into_indices(self) -> Indices {
        match self {
            Array::U32(indices) => Indices::U32(indices),
            Array::U64(indices) => Indices::U64(indices),
            _ => {
                debug_assert!(false, "values are no indices");
                Indices::U32(Vec::new())
            }
        }
    }

    pub(in crate::io) fn into_index_array(self) -> IndexArray {
        match self.into_indices() {
            Indices::U32(indices) => IndexArray::from(indices),
            Indices::U64(indices) => IndexArray::from(indices),
        }
    }

    /// As values; unsigned if these are indices.
    pub(in crate::io) fn into_values(self) -> Values {
        match self {
            Array::U32(values) => Values::Unsigned(values.into_iter().map(u64::from).collect()),
            Array::U64(values) => Values::Unsigned(values),
            Array::I64(values) => Values::Integer(values),
            Array::F64(values) => Values::Real(values),
            Array::Pairs(values) => Values::Complex(values),
            Array::Units(count) => Values::Pattern(count),
        }
    }
}

fn zeros<T: Zeroable + Clone>(len: usize) -> Option<Vec<T>> {
    let mut probe: Vec<T> = Vec::new();
    probe.try_reserve_exact(len).ok()?;
    drop(probe);
    Some(zeroed_vec(len))
}

/// An array that is allocated once where its length is known beforehand.
pub(in crate::io) struct Column {
    data: Array,
    len: usize,
}

impl Column {
    /// An empty column of the type of `like` with room for `expected` elements; `None` if memory does not suffice.
    pub(in crate::io) fn new(like: &Array, expected: usize) -> Option<Column> {
        Some(Column { data: like.zeroed(expected)?, len: 0 })
    }

    /// The same elements in 64 bits; `None` if memory does not suffice.
    pub(in crate::io) fn widen(&mut self) -> Option<()> {
        if let Array::U32(narrow) = &self.data {
            let mut wide: Vec<u64> = zeros(narrow.len())?;
            wide.iter_mut().zip(narrow).for_each(|(wide, &narrow)| *wide = narrow.into());
            self.data = Array::U64(wide);
        }
        Some(())
    }

    /// Adds parts of these lengths, whose bytes `fill` writes; `None` if memory does not suffice.
    pub(in crate::io) fn append(&mut self, lengths: &[usize], fill: &(dyn Fn(usize, &mut [u8]) + Sync)) -> Option<()> {
        let width = self.data.width();
        let (mut count, mut ends) = (0_usize, Vec::with_capacity(lengths.len()));
        for &length in lengths {
            count = count.checked_add(length)?;
            ends.push(count.checked_mul(width)?);
        }
        let wanted = self.len.checked_add(count)?;
        if wanted > self.data.len() {
            self.data.grow(wanted.max(self.data.len().saturating_mul(2)))?;
        }
        if width > 0 {
            let fresh = self.data.bytes_mut().get_mut(self.len * width..wanted * width)?;
            parallel::for_pieces_mut(fresh, &ends, fill);
        }
        self.len = wanted;
        Some(())
    }

    /// A column of these elements.
    pub(in crate::io) fn of(data: Array) -> Column {
        Column { len: data.len(), data }
    }

    pub(in crate::io) fn into_array(mut self) -> Array {
        self.data.truncate(self.len);
        self.data
    }
}

/// Copies as many bytes as there are on both sides.
pub(in crate::io) fn copy(from: &[u8], to: &mut [u8]) {
    let length = from.len().min(to.len());
    if let (Some(to), Some(from)) = (to.get_mut(..length), from.get(..length)) {
        to.copy_from_slice(from);
    }
}

/// How many entries to make room for: as many as declared, or as the text can hold if that is less; none where its
/// length is not known.
pub(in crate::io) fn room(remaining: Option<u64>, listed: u64, shortest: usize) -> usize {
    // The last line may lack its end.
    let possible = remaining.map_or(0, |bytes| bytes.saturating_add(1) / shortest.max(1) as u64);
    usize::try_from(listed.min(possible)).unwrap_or(0)
}
