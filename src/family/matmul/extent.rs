//! How large and how small elements are, in one pass.

use std::cell::OnceCell;

use openwork_ops::matmul::Extent;
use openwork_ops::{DType, Element, Scalar};

use crate::base::parallel;
use crate::base::strided::Strided;
use crate::tensor::{Storage, Tensor};

/// Elements of one piece of work.
const GRAIN: usize = 1 << 16;

/// The extent of an array's elements. Of large ones it is found once and kept with their memory.
fn of(values: &Strided) -> Extent {
    if !values.dtype.is_inexact() {
        return Extent::NOTHING;
    }
    // In the order of memory: it is all the same here.
    let core = values.in_order_of_memory().core();
    let core = match core.dtype {
        DType::F64 | DType::Complex128 | DType::F32 | DType::Complex64 => core,
        _ => core.cast(DType::F32),
    };
    let size = core.dtype.size();
    let bytes = core.contiguous_bytes().unwrap_or_default();
    core.buffer.extent(core.offset * size..core.offset * size + bytes.len(), core.dtype, || match core.dtype {
        DType::F64 | DType::Complex128 => over(f64::from_bytes(bytes), &Extent::of_f64),
        _ => over(f32::from_bytes(bytes), &Extent::of_f32),
    })
}

fn over<T: Sync>(parts: &[T], of: &(dyn Fn(&[T]) -> Extent + Sync)) -> Extent {
    let pieces = parallel::map_chunks(parts.len(), GRAIN, &|range| of(&parts[range]));
    pieces.into_iter().fold(Extent::NOTHING, Extent::and)
}

/// An operand of which each pass is made once, and only if it is asked for.
pub(super) struct Looked<'a> {
    pub(super) tensor: &'a Tensor,
    stored: OnceCell<Extent>,
    fill: OnceCell<Extent>,
}

impl<'a> Looked<'a> {
    pub(super) fn new(tensor: &'a Tensor) -> Looked<'a> {
        Looked { tensor, stored: OnceCell::new(), fill: OnceCell::new() }
    }

    /// Of the elements that are there.
    pub(super) fn stored(&self) -> Extent {
        *self.stored.get_or_init(|| match &self.tensor.storage {
            Storage::Strided(s) => of(s),
            Storage::Sparse(s) => of(&s.values),
        })
    }

    /// Of the fill, if there is one.
    pub(super) fn fill(&self) -> Extent {
        *self.fill.get_or_init(|| match self.tensor.sparse() {
            Some(s) if s.fill.as_scalar().is_some_and(Scalar::is_zero) => Extent::NOTHING,
            s => s.and_then(|s| s.fill_values()).map_or(Extent::NOTHING, |fill| of(&fill)),
        })
    }
}

#[cfg(test)]
#[path = "tests/extent.rs"]
mod tests;
