//! The constituent arrays of a tensor, for writers and other libraries.

use crate::base::mapped::Mapped;
use openwork_ops::structure::Index;
use openwork_ops::with_index;

use crate::levels::indices::Indices;
use crate::levels::names::ArrayName;
use crate::tensor::Tensor;
use crate::tensor::index_array::LevelData;

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
        Some(s.pattern.levels.mapped(|level| level.map(&mut |name, a| array(name, a))))
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
