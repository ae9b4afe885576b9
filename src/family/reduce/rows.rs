//! Reductions that keep exactly the dense levels: a row of results, as long as the pointers.

use super::sparse::axes_are_inner;
use super::unstored::with_unstored;
use crate::base::error::Result;
use crate::base::strided::{Shape, Strided};
use crate::engine::fold::Fold;
use crate::engine::slices::Split;
use crate::levels::pattern::Part;
use crate::tensor::Sparse;

/// The reduction of `k` elements each, if no more than the dense levels (and value axes) is kept. The fill is constant along
/// `axes`; `None` is one that leaves folds as they are.
pub(super) fn rows(
    fold: &Fold,
    s: &Sparse,
    fill: Option<&Strided>,
    kept: &[usize],
    axes: &[usize],
    k: u128,
) -> Result<Option<Strided>> {
    if !axes_are_inner(s, kept, axes) {
        return Ok(None);
    }
    let split = Split::new(&s.pattern, kept);
    let dims = || split.dims.iter().chain(&split.value_dims);
    if dims().count() != kept.len() || dims().any(|d| d.part != Part::Whole) {
        return Ok(None);
    }
    let Some(ends) = split.row_ends() else { return Ok(None) };
    let acc = split.fold_runs(fold, &s.values, &ends, None)?;
    let (shape, order): (Shape, Shape) = (dims().map(|d| d.size).collect(), dims().map(|d| d.axis).collect());
    let mut acc = Strided::new(acc, fold.typing.acc, shape);
    if let Some(fill) = fill {
        let counts = |i: usize| ((ends[i + 1] - ends[i]) * split.per_row) as u64;
        acc = with_unstored(fold, acc, &|| Ok(fill.permute(&order)), &counts, split.block, k)?;
    }
    Ok(Some(in_order(fold.finish(&acc, k)?, &order, kept)))
}

/// An array over these axes with its axes as they are in `kept`.
pub(super) fn in_order(out: Strided, axes: &[usize], kept: &[usize]) -> Strided {
    if axes == kept {
        return out;
    }
    let back: Shape = kept.iter().filter_map(|a| axes.iter().position(|b| b == a)).collect();
    out.permute(&back)
}
