//! Index and pointer arrays, as constructors take them and tensors give them.

use std::ops::Range;

use openwork_ops::DType;
use openwork_ops::structure::{Index, IndexSlice, IndexVec};

use crate::base::error::{self, Result};
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::levels::indices::Indices;
use crate::levels::level::LevelOf;
use crate::tensor::{Tensor, trace};

/// An index or pointer array given to a constructor: `Vec` of `u32`, `u64`, `i32`, `i64` or `usize`, or a
/// one-dimensional integer tensor. Signed and unsigned 32- and 64-bit vectors and tensors are taken without a copy after
/// one check, unless another library may write a tensor's memory ([`IndexArray::share`]).
#[derive(Clone, Debug)]
pub struct IndexArray(std::result::Result<Indices, String>);

/// The largest entry.
fn most<T: Copy + Ord + Send + Sync>(values: &[T]) -> Option<T> {
    let first = *values.first()?;
    // One pass without branches, of which the compiler makes vectors: `max` of an iterator is none.
    let of = |r: Range<usize>| values[r].iter().fold(first, |most, &value| Ord::max(most, value));
    parallel::map_chunks(values.len(), 1 << 18, &of).into_iter().max()
}

/// What all entries are below.
fn limit_of<T: Copy + Ord + Into<u64> + Send + Sync>(values: &[T]) -> u64 {
    most(values).map_or(0, |most| most.into().saturating_add(1))
}

macro_rules! index_array {
    ($($ty:ty as $to:ty => $variant:ident),*) => {$(
        impl From<Vec<$ty>> for IndexArray {
            fn from(values: Vec<$ty>) -> IndexArray {
                // All values below 2^31 (2^63) are the same bytes signed and unsigned; negative ones are above.
                let values: Vec<$to> = bytemuck::allocation::cast_vec(values);
                let limit = limit_of(&values);
                if limit > 1 << (<$to>::BITS - 1) {
                    let at = values.iter().position(|&v| v >> (<$to>::BITS - 1) != 0).unwrap_or(0);
                    return IndexArray(Err(format!("entry {at} is {}, out of range", values[at] as $ty)));
                }
                IndexArray(Ok(Indices::from(IndexVec::$variant(values)).known_below(limit)))
            }
        }
    )*};
}
index_array!(i32 as u32 => U32, i64 as u64 => U64, u64 as u64 => U64, usize as u64 => U64);

impl From<Vec<u32>> for IndexArray {
    fn from(values: Vec<u32>) -> IndexArray {
        let limit = limit_of(&values);
        let vec = if limit > 1 << 31 {
            IndexVec::U64(values.into_iter().map(u64::from).collect())
        } else {
            IndexVec::U32(values)
        };
        IndexArray(Ok(Indices::from(vec).known_below(limit)))
    }
}

/// Shares the memory of 32- and 64-bit integers in order without gaps, unless another library may write it; else
/// copies, in 32 bits where all entries fit.
impl From<&Tensor> for IndexArray {
    fn from(values: &Tensor) -> IndexArray {
        index_array_of(values, false)
    }
}

/// An index array of a tensor; `trusting` shares memory that another library may write.
fn index_array_of(values: &Tensor, trusting: bool) -> IndexArray {
    let Some(s) = values.strided().filter(|s| s.ndim() == 1 && s.dtype.is_int()) else {
        return IndexArray(Err(format!(
            "a one-dimensional strided integer tensor is needed, this is {}",
            values.summary()
        )));
    };
    let shared = (s.is_contiguous() && s.dtype.size() >= 4 && (trusting || !s.buffer.may_change())).then(|| {
        let size = s.dtype.size();
        let range = if s.len() == 0 { 0..0 } else { s.offset * size..(s.offset + s.len()) * size };
        Indices::of_buffer(s.buffer.slice(range), size == 8)
    });
    if let Some(indices) = shared {
        let (limit, bits) = match indices.as_slice() {
            IndexSlice::U32(s) => (limit_of(s), 31),
            IndexSlice::U64(s) => (limit_of(s), 63),
        };
        if limit <= 1 << bits {
            return IndexArray(Ok(indices.known_below(limit)));
        }
    }
    let dtype = match s.dtype {
        DType::U32 | DType::I64 | DType::U64 => s.dtype,
        _ => DType::I32,
    };
    let copied = s.cast(dtype);
    let copied = match copied.to_contiguous() {
        Ok(copied) => copied,
        Err(e) => return IndexArray(Err(e.to_string())),
    };
    match dtype {
        DType::I32 => copied.typed::<i32>().unwrap_or_default().to_vec().into(),
        DType::U32 => copied.typed::<u32>().unwrap_or_default().to_vec().into(),
        DType::I64 => {
            let entries = copied.typed::<i64>().unwrap_or_default();
            narrowed(bytemuck::cast_slice(entries)).unwrap_or_else(|| entries.to_vec().into())
        }
        _ => {
            let entries = copied.typed::<u64>().unwrap_or_default();
            narrowed(entries).unwrap_or_else(|| entries.to_vec().into())
        }
    }
}

/// A copy in 32 bits, if all entries fit; negative ones, as unsigned numbers, do not.
fn narrowed(entries: &[u64]) -> Option<IndexArray> {
    let fit = most(entries).is_none_or(|most| most < 1 << 31);
    fit.then(|| entries.iter().map(|&entry| entry as u32).collect::<Vec<u32>>().into())
}

impl From<Indices> for IndexArray {
    fn from(indices: Indices) -> IndexArray {
        IndexArray(Ok(indices))
    }
}

impl IndexArray {
    /// As `IndexArray::from`, sharing memory even where its owner, another library or a file, could write it: the
    /// twin for arrays that a safe function copies.
    ///
    /// # Safety
    /// Nobody may write the memory while the index array, or a tensor made of it, lives: entries are checked once, and
    /// kernels rely on them.
    #[allow(unsafe_code)] // declares a contract, performs nothing unsafe itself
    pub unsafe fn share(values: &Tensor) -> IndexArray {
        index_array_of(values, true)
    }

    /// Entries of 32 bits where all of them fit.
    pub(crate) fn narrowest(entries: Vec<u64>) -> IndexArray {
        if entries.iter().any(|&entry| entry >= 1 << 31) {
            return entries.into();
        }
        entries.into_iter().map(|entry| entry as u32).collect::<Vec<u32>>().into()
    }

    pub(crate) fn as_indices(&self) -> Option<&Indices> {
        self.0.as_ref().ok()
    }

    pub(crate) fn checked(&self) -> Result<&Indices> {
        self.0.as_ref().map_err(|why| error::invalid("self", why.clone()))
    }

    pub(super) fn take(self, name: impl std::fmt::Display) -> Result<Indices> {
        self.0.map_err(|why| error::invalid(name, why))
    }

    /// The entries as `u32`, if that is their width.
    pub fn as_u32(&self) -> Option<&[u32]> {
        self.slice().and_then(|s| u32::of(s))
    }

    /// The entries as `u64`, if that is their width.
    pub fn as_u64(&self) -> Option<&[u64]> {
        self.slice().and_then(|s| u64::of(s))
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.slice().map_or(0, |s| s.len())
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The entries as a one-dimensional tensor of `uint32` or `uint64`, without copying.
    ///
    /// # Errors
    /// If the array was made of something that is no index array; the constructors say the same.
    pub fn to_tensor(&self) -> Result<Tensor> {
        self.as_tensor(false)
    }

    /// The entries as a one-dimensional tensor of `int32` or `int64`, which are the same bytes, without copying.
    ///
    /// # Errors
    /// As [`IndexArray::to_tensor`].
    pub fn to_signed_tensor(&self) -> Result<Tensor> {
        self.as_tensor(true)
    }

    fn as_tensor(&self, signed: bool) -> Result<Tensor> {
        let call = trace::call("IndexArray::to_tensor", &[]);
        let indices = self.checked()?;
        let dtype = match (indices.is_wide(), signed) {
            (false, false) => DType::U32,
            (false, true) => DType::I32,
            (true, false) => DType::U64,
            (true, true) => DType::I64,
        };
        Ok(call.given(Tensor::from_strided(Strided::new(indices.buffer().clone(), dtype, vec![indices.len()]))))
    }

    fn slice(&self) -> Option<IndexSlice<'_>> {
        self.as_indices().map(Indices::as_slice)
    }
}

/// One level with its arrays, for [`Tensor::from_parts`].
pub type LevelData = LevelOf<IndexArray>;
