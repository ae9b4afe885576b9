//! Stored elements by the coordinates that a reduction keeps.

use crate::base::mapped::Mapped;
use openwork_ops::DType;
use openwork_ops::structure::IndexVec;

use super::cut::Split;
use super::leading::{Leading, leading};
use super::result::is_few;
use super::scatter::{Table, scatter};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::engine::fold::Fold;
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::Sparse;

/// Stored elements folded by kept coordinates.
pub(crate) struct Groups {
    /// Kept coordinates of each group: over the kept level dimensions, sorted; axes are numbered as in the result.
    pub(crate) pattern: Pattern,
    /// Shape (groups, kept value axes…).
    pub(crate) acc: Strided,
    /// Stored elements in each group, per kept value element; empty if nobody needs them.
    pub(crate) counts: Vec<u64>,
}

/// What a caller needs to know of groups, beside their folds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// How many elements each has.
    Counts,
    /// Nothing: groups that fold to the identity may even be left out.
    Folds,
}

impl Split<'_> {
    /// Folds values over runs of positions (`ends`, in this order if one is given): a row of `block` accumulators each.
    pub(crate) fn fold_runs(
        &self,
        fold: &Fold,
        values: &Strided,
        ends: &[usize],
        order: Option<&IndexVec>,
    ) -> Result<Buffer> {
        let mut values = self.rows_of(&values.cast(fold.typing.input));
        if let Some(order) = order {
            values = convert::gather_values(&values, order)?;
        }
        let (per_row, bytes) = (self.per_row, values.dense_bytes()?);
        if self.block != 1 {
            rows(fold, &bytes, ends, per_row, self.block)
        } else if self.dims.is_empty() && ends.len() == 2 {
            Ok(fold.all(&bytes))
        } else if per_row == 1 {
            fold.segments(&bytes, ends)
        } else {
            fold.segments(&bytes, &ends.iter().map(|r| r * per_row).collect::<Vec<_>>())
        }
    }
}

pub(crate) fn sizes(dims: &[Dim]) -> Vec<usize> {
    dims.mapped(|d| d.size)
}

/// Folds values over the reduced value axes, then positions by their kept coordinates.
pub(crate) fn group(fold: &Fold, s: &Sparse, values: &Strided, kept: &[usize], need: Need) -> Result<Groups> {
    let split = Split::new(&s.pattern, kept);
    let per_row = split.per_row;
    if let Some(size) = table_size(&split) {
        let rows = split.rows_of(&values.cast(fold.typing.input));
        return scatter(fold, &split, &rows, size, need)?.groups(&split, kept);
    }
    let counted = |ends: &[usize]| match need {
        Need::Counts => ends.windows(2).map(|run| ((run[1] - run[0]) * per_row) as u64).collect(),
        Need::Folds => Vec::new(),
    };
    if let Some(Leading { ends, columns }) = leading(&split) {
        let n = ends.len() - 1;
        let acc = split.fold_runs(fold, values, &ends, None)?;
        let level = Level::Sparse { pointers: None, indices: columns, ordered: true, unique: true };
        let pattern =
            Pattern { levels: vec![level], level_dims: split.dims.len(), dims: split.result_dims(kept), positions: n };
        return Ok(Groups { pattern, acc: Strided::new(acc, fold.typing.acc, split.shape(n)), counts: counted(&ends) });
    }
    let runs = split.stored_runs();
    let ends = &runs.ends;
    let n = ends.len() - 1;
    let acc = split.fold_runs(fold, values, ends, runs.order.as_ref())?;
    let counts = counted(ends);
    let pattern = split.result_pattern(kept, &runs.layout, &runs.words)?;
    Ok(Groups { pattern, acc: Strided::new(acc, fold.typing.acc, split.shape(n)), counts })
}

/// The size of a table over the kept dimensions, where folding into one pays: these do not come first, and are few.
fn table_size(split: &Split<'_>) -> Option<usize> {
    let positions = split.pattern.positions;
    let folds = !split.in_order() && split.value_dims.is_empty() && split.per_row == 1;
    let size = split.dims.iter().try_fold(1usize, |n, d| n.checked_mul(d.size))?;
    let few = is_few(&[size], positions) && size.max(positions) <= u32::MAX as usize;
    (folds && few).then_some(size)
}

/// Folds values into a table over the kept axes, where that is how they are folded.
pub(crate) fn table(fold: &Fold, s: &Sparse, kept: &[usize], need: Need) -> Result<Option<Table>> {
    let split = Split::new(&s.pattern, kept);
    if split.dims.iter().any(|d| d.part != Part::Whole) {
        return Ok(None);
    }
    let Some(size) = table_size(&split) else { return Ok(None) };
    let rows = split.rows_of(&s.values.cast(fold.typing.input));
    scatter(fold, &split, &rows, size, need).map(Some)
}

/// Folds runs of rows of `block` elements, `per_row` of them per position.
fn rows(fold: &Fold, bytes: &[u8], runs: &[usize], per_row: usize, block: usize) -> Result<Buffer> {
    // Where nothing is stored, a row may be longer than memory.
    let bytes_of = |dtype: DType| block.saturating_mul(dtype.size());
    let (from, to) = (bytes_of(fold.typing.input), bytes_of(fold.typing.acc));
    Buffer::build((runs.len() - 1).saturating_mul(to), |acc| {
        parallel::for_chunks_mut(acc, to, 256, &|first, acc| {
            for (i, row) in acc.chunks_exact_mut(to).enumerate() {
                let own = runs[first + i] * per_row..runs[first + i + 1] * per_row;
                fold.accumulate_rows(own.map(|r| &bytes[r * from..(r + 1) * from]), row);
            }
        });
    })
}
