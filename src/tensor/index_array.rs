//! Index and pointer arrays, as constructors take them and tensors give them.

use openwork_ops::DType;
use openwork_ops::structure::{Index, IndexSlice, IndexVec};

use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::levels::indices::{Indices, limit_of, most};
use crate::levels::level::LevelOf;
use crate::tensor::{Tensor, trace};

/// An index or pointer array given to a constructor: `Vec` of `u32`, `u64`, `i32`, `i64` or `usize`, or a
/// one-dimensional integer tensor. Those of 32 bits, signed and unsigned, are taken without a copy after one check, unless another
/// library may write a tensor's memory ([`IndexArray::share`]). Those of 64 bits are copied into 32 where all entries fit, which
/// halves the memory and pays at the first product, and taken as they are where not.
#[derive(Clone, Debug)]
pub struct IndexArray(std::result::Result<Indices, String>);

macro_rules! index_array {
    ($($ty:ty as $to:ty),*) => {$(
        impl From<Vec<$ty>> for IndexArray {
            fn from(values: Vec<$ty>) -> IndexArray {
                // All values below 2^31 (2^63) are the same bytes signed and unsigned; negative ones are above.
                let values: Vec<$to> = bytemuck::allocation::cast_vec(values);
                let limit = limit_of(&values);
                if limit > 1 << (<$to>::BITS - 1) {
                    let at = values.iter().position(|&v| v >> (<$to>::BITS - 1) != 0).unwrap_or(0);
                    return IndexArray(Err(format!("entry {at} is {}, out of range", values[at] as $ty)));
                }
                IndexArray(Ok(<$to>::held(values, limit).known_below(limit)))
            }
        }
    )*};
}
index_array!(i32 as u32, i64 as u64, u64 as u64, usize as u64);

/// Entries that a vector holds.
trait Held: Sized {
    /// They are below `limit`.
    fn held(entries: Vec<Self>, limit: u64) -> Indices;
}

impl Held for u32 {
    fn held(entries: Vec<u32>, _limit: u64) -> Indices {
        IndexVec::U32(entries).into()
    }
}

impl Held for u64 {
    fn held(entries: Vec<u64>, limit: u64) -> Indices {
        if limit <= 1 << 31 { Indices::narrow(&entries) } else { IndexVec::U64(entries).into() }
    }
}

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

/// Shares the memory of 32-bit integers in order without gaps, and of 64-bit ones that do not fit in 32 bits, unless another library
/// may write it; else copies, in 32 bits where all entries fit.
impl From<&Tensor> for IndexArray {
    fn from(values: &Tensor) -> IndexArray {
        index_array_of(values, false, false)
    }
}

/// An index array of a tensor. `wide` shares entries of 64 bits though they fit in 32; `trusting` memory that another library may
/// write.
fn index_array_of(values: &Tensor, wide: bool, trusting: bool) -> IndexArray {
    let Some(s) = values.strided().filter(|s| s.ndim() == 1 && s.dtype.is_int()) else {
        return IndexArray(Err(format!(
            "a one-dimensional strided integer tensor is needed, this is {}",
            values.summary()
        )));
    };
    if s.is_contiguous() && s.dtype.size() >= 4 && (trusting || !s.buffer.may_change()) {
        let size = s.dtype.size();
        let range = if s.len() == 0 { 0..0 } else { s.offset * size..(s.offset + s.len()) * size };
        let indices = Indices::of_buffer(s.buffer.slice(range), size == 8);
        let (limit, most) = match indices.as_slice() {
            IndexSlice::U32(s) => (limit_of(s), 1 << 31),
            IndexSlice::U64(s) => (limit_of(s), 1 << 63),
        };
        if size == 8 && limit <= 1 << 31 && !wide {
            return IndexArray(Ok(Indices::narrow(indices.typed()).known_below(limit)));
        }
        if limit <= most {
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
    if most(entries).is_some_and(|most| most >= 1 << 31) {
        return None;
    }
    // Checked as copied.
    let narrow = Indices::narrow(entries);
    let limit = limit_of(narrow.typed::<u32>());
    (limit <= 1 << 31).then(|| IndexArray(Ok(narrow.known_below(limit))))
}

impl From<Indices> for IndexArray {
    fn from(indices: Indices) -> IndexArray {
        IndexArray(Ok(indices))
    }
}

impl IndexArray {
    /// As `IndexArray::from`, sharing memory even where its owner, another library or a file, could write it, and where 64 bits would
    /// fit in 32: the twin for arrays that a safe function copies.
    ///
    /// # Safety
    /// Nobody may write the memory while the index array, or a tensor made of it, lives: entries are checked once, and
    /// kernels rely on them.
    #[allow(unsafe_code)] // declares a contract, performs nothing unsafe itself
    pub unsafe fn share(values: &Tensor) -> IndexArray {
        index_array_of(values, true, true)
    }

    /// As `IndexArray::from`, of the width that entries have in memory that nobody may write.
    pub(crate) fn as_it_lies(values: &Tensor) -> IndexArray {
        index_array_of(values, true, false)
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
