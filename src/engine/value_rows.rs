//! Rows of values as one array: what is done along the axes of a row is done to all rows at once, and the pattern stays.

use std::borrow::Cow;
use std::sync::Arc;

use openwork_ops::ReduceOp;

use super::convert;
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor};

/// Along which axis of its values a sparse tensor holds one of its own; `None` where levels hold that, and of blocks.
pub(crate) fn place_of(s: &Sparse, axis: usize) -> Option<usize> {
    s.pattern.value_dims().iter().position(|d| (d.axis, d.part) == (axis, Part::Whole)).map(|place| place + 1)
}

/// The tensor, without duplicates, and where its values hold the axis.
pub(crate) fn along_values(x: &Tensor, axis: usize) -> Result<Option<(Cow<'_, Sparse>, usize)>> {
    let Some((s, place)) = x.sparse().and_then(|s| Some((s, place_of(s, axis)?))) else { return Ok(None) };
    let is_plain = s.pattern.is_unique();
    Ok(Some((if is_plain { Cow::Borrowed(s) } else { Cow::Owned(convert::coalesce(s, ReduceOp::Sum)?) }, place)))
}

/// The same rows, of which one axis may have another size.
pub(crate) fn with_rows(s: &Sparse, values: Strided, fill: Fill) -> Sparse {
    let mut shape = s.shape.clone();
    let levels = s.pattern.level_dims;
    let dims = s.pattern.dims.iter().enumerate().map(|(d, &dim)| {
        let size = if d < levels { dim.size } else { values.shape[d - levels + 1] };
        if dim.part == Part::Whole {
            shape[dim.axis] = size;
        }
        Dim { size, ..dim }
    });
    let pattern = Pattern { dims: dims.collect(), ..(*s.pattern).clone() };
    Sparse { shape, pattern: Arc::new(pattern), values, fill }
}

/// The same rows without some of their axes, and the tensor without those.
pub(crate) fn with_shorter_rows(s: &Sparse, axes: &[usize], values: Strided, fill: Fill) -> Sparse {
    let before = |axis: usize| axes.iter().filter(|&&gone| gone < axis).count();
    let is_kept = |d: &&Dim| !axes.contains(&d.axis);
    let dims = s.pattern.dims.iter().filter(is_kept).map(|d| Dim { axis: d.axis - before(d.axis), ..*d });
    let pattern = Pattern { dims: dims.collect(), ..(*s.pattern).clone() };
    let shape = (0..s.ndim()).filter(|axis| !axes.contains(axis)).map(|axis| s.shape[axis]).collect();
    Sparse { shape, pattern: Arc::new(pattern), values, fill }
}
