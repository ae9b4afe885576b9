//! The constituent arrays of a tensor, for writers and other libraries.

use openwork_ops::structure::{Index, IndexSlice};
use openwork_ops::{DType, with_index};

use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::levels::indices::Indices;
use crate::levels::names::ArrayName;
use crate::tensor::Tensor;
use crate::tensor::construct::{IndexArray, LevelData};
use crate::tensor::trace;

impl IndexArray {
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

/// # Taking apart and putting together: levels and their arrays
impl Tensor {
    /// The levels of a sparse tensor with their arrays, as [`Tensor::from_parts`] takes them: with
    /// [`Tensor::level_spec`], [`Tensor::stored_values`] and [`Tensor::fill`] they make the tensor again. `None` for a
    /// strided tensor.
    ///
    /// Arrays are shared, not copied; pointers are copied where they do not start at 0 (a window of rows).
    #[doc(alias("indptr", "crow_indices", "col_indices"))]
    pub fn levels(&self) -> Option<Vec<LevelData>> {
        let s = self.sparse()?;
        let array = |name, a: &Indices| match name {
            ArrayName::Pointers(_) => rebased(a).into(),
            ArrayName::Indices(_) => a.clone().into(),
        };
        Some(s.pattern.levels.iter().map(|level| level.map(&mut |name, a| array(name, a))).collect())
    }
}

/// Pointers that start at 0.
fn rebased(pointers: &Indices) -> Indices {
    fn typed<I: Index>(p: &[I]) -> Indices {
        let base = p[0].get();
        I::vec(p.iter().map(|v| I::new(v.get() - base)).collect()).into()
    }
    if pointers.len() == 0 || pointers.get(0) == 0 {
        return pointers.clone();
    }
    with_index!(pointers.as_slice(), p => typed(p))
}
