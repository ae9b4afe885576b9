//! Reductions that keep exactly the dense levels: a row of results, as long as the pointers.

use super::sparse::axes_are_inner;
use super::unstored::with_unstored;
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::strided::Strided;
use crate::engine::fold::Fold;
use crate::engine::slices::Split;
use crate::levels::pattern::Part;
use crate::tensor::Sparse;

/// The reduction of `k` elements each, if no more than the dense levels (and value axes) is kept. The fill is constant along
/// `axes`.
pub(super) fn rows(
    fold: &Fold,
    s: &Sparse,
    fill: &Strided,
    kept: &[usize],
    axes: &[usize],
    k: u128,
) -> Result<Option<Strided>> {
    if !axes_are_inner(s, kept, axes) {
        return Ok(None);
    }
    let split = Split::new(&s.pattern, kept);
    let dims: Vec<_> = split.dims.iter().chain(&split.value_dims).copied().collect();
    if dims.len() != kept.len() || dims.iter().any(|d| d.part != Part::Whole) {
        return Ok(None);
    }
    let Some(ends) = split.row_ends() else { return Ok(None) };
    let acc = split.fold_runs(fold, &s.values, &ends, None)?;
    let shape: Vec<usize> = dims.mapped(|d| d.size);
    let order: Vec<usize> = dims.mapped(|d| d.axis);
    let counts = |i: usize| ((ends[i + 1] - ends[i]) * split.per_row) as u64;
    let acc = Strided::new(acc, fold.typing.acc, shape);
    let acc = with_unstored(fold, acc, &|| Ok(fill.permute(&order)), &counts, split.block, k)?;
    let back: Vec<usize> = kept.iter().filter_map(|a| order.iter().position(|o| o == a)).collect();
    Ok(Some(fold.finish(&acc, k)?.permute(&back)))
}
