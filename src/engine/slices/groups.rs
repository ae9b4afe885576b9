//! Stored elements by the coordinates that a reduction keeps.

use openwork_ops::structure::IndexVec;
use openwork_ops::structure::keys::{KeyLayout, Order, order_of};

use super::scatter::scatter;
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::base::{parallel, shape};
use crate::engine::convert;
use crate::engine::fold::Fold;
use crate::levels::build::{self, SortedKeys};
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Pattern};
use crate::levels::sort;
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

/// Which dimensions of a pattern a reduction keeps.
pub(crate) struct Split<'a> {
    pub(crate) pattern: &'a Pattern,
    /// Of the levels.
    pub(crate) dims: Vec<Dim>,
    /// Of the values.
    pub(crate) value_dims: Vec<Dim>,
    /// Axes of the values: positions, reduced ones, kept ones.
    pub(crate) order: Vec<usize>,
    /// Elements that are folded in each position's row, for each of `block` that are kept.
    pub(crate) per_row: usize,
    pub(crate) block: usize,
}

impl<'a> Split<'a> {
    pub(crate) fn new(pattern: &'a Pattern, kept: &[usize]) -> Split<'a> {
        raise(Work::Specialised);
        let is_kept = |d: &Dim| kept.contains(&d.axis);
        let of_values = pattern.value_dims();
        let (keep, fold): (Vec<usize>, Vec<usize>) = (0..of_values.len()).partition(|&i| is_kept(&of_values[i]));
        Split {
            pattern,
            dims: pattern.level_dims().iter().copied().filter(is_kept).collect(),
            value_dims: keep.iter().map(|&i| of_values[i]).collect(),
            order: [0].into_iter().chain(fold.iter().chain(&keep).map(|i| i + 1)).collect(),
            per_row: shape::product(fold.iter().map(|&i| of_values[i].size)),
            block: shape::product(keep.iter().map(|&i| of_values[i].size)),
        }
    }

    /// Values of the pattern as rows of `per_row` times `block` elements.
    pub(crate) fn rows_of(&self, values: &Strided) -> Strided {
        values.permute(&self.order)
    }

    /// The logarithm of the number of elements that are reduced to one.
    pub(crate) fn log2_of_reduced(&self) -> f64 {
        let reduced = self.pattern.dims.iter().filter(|d| !self.dims.contains(d) && !self.value_dims.contains(d));
        reduced.map(|d| (d.size as f64).log2()).sum()
    }

    /// Kept dimensions that come first in storage order need no sorting.
    pub(crate) fn in_order(&self) -> bool {
        let dims = &self.pattern.level_dims()[..self.dims.len()];
        dims.is_empty() || (self.pattern.is_canonical() && self.dims == dims)
    }

    /// Positions by their kept coordinates.
    pub(crate) fn runs(&self) -> Runs {
        if let Some(ends) = row_runs(self.pattern, &self.dims) {
            let rows: Vec<u64> = (0..ends.len() as u64 - 1).collect();
            let (layout, words) = convert::unravel(&rows, &sizes(&self.dims));
            return Runs { layout, words, ends, order: None };
        }
        let (layout, mut words) = convert::keys(self.pattern, &self.dims);
        let mut order = None;
        if !self.in_order() && order_of(&words) == Order::Unsorted {
            let sorted = sort::sort_keys(&layout, words);
            (words, order) = (sorted.words, Some(sorted.order));
        }
        let ends = sort::runs(&words);
        let words = words.iter().map(|w| sort::pick(w, &ends[..ends.len() - 1])).collect();
        Runs { layout, words, ends, order }
    }

    /// The pattern of a result with these level coordinates, over all kept dimensions.
    pub(crate) fn result_pattern(&self, kept: &[usize], layout: &KeyLayout, words: &[Vec<u64>]) -> Result<Pattern> {
        let number = |d: &Dim| Dim { axis: kept.iter().position(|&a| a == d.axis).unwrap_or(d.axis), ..*d };
        let dims = self.dims.iter().chain(&self.value_dims).map(number).collect();
        let keys = SortedKeys { layout, words, unique: true };
        build::build(&[LevelKind::Sparse { rank: self.dims.len() }], dims, &keys)
    }

    /// Folds values over runs of positions (`ends`, in this order if one is given): a row of `block` accumulators each.
    pub(crate) fn fold_runs(&self, fold: &Fold, values: &Strided, ends: &[usize], order: Option<&IndexVec>) -> Buffer {
        let mut values = self.rows_of(&values.cast(fold.typing.input));
        if let Some(order) = order {
            values = convert::gather_values(&values, order);
        }
        let (per_row, bytes) = (self.per_row, values.dense_bytes());
        if self.block != 1 {
            rows(fold, &bytes, ends, per_row, self.block)
        } else if self.dims.is_empty() && ends.len() == 2 {
            fold.all(&bytes)
        } else if per_row == 1 {
            fold.segments(&bytes, ends)
        } else {
            fold.segments(&bytes, &ends.iter().map(|r| r * per_row).collect::<Vec<_>>())
        }
    }

    /// The shape of values over `n` groups.
    pub(crate) fn shape(&self, n: usize) -> Vec<usize> {
        [n].into_iter().chain(sizes(&self.value_dims)).collect()
    }
}

/// Positions in runs of equal kept coordinates.
pub(crate) struct Runs {
    pub(crate) layout: KeyLayout,
    /// Coordinates of each run, sorted.
    pub(crate) words: Vec<Vec<u64>>,
    /// Where each run begins, and the end of the last.
    pub(crate) ends: Vec<usize>,
    /// The positions in the order of the runs, if that is not storage order.
    pub(crate) order: Option<IndexVec>,
}

pub(crate) fn sizes(dims: &[Dim]) -> Vec<usize> {
    dims.iter().map(|d| d.size).collect()
}

/// Folds values over the reduced value axes, then positions by their kept coordinates.
pub(crate) fn group(fold: &Fold, s: &Sparse, values: &Strided, kept: &[usize], need: Need) -> Result<Groups> {
    let split = Split::new(&s.pattern, kept);
    let per_row = split.per_row;
    let few = split.dims.iter().try_fold(1usize, |n, d| n.checked_mul(d.size));
    let few =
        few.filter(|&n| n <= (4 * s.pattern.positions).max(1 << 16) && n.max(s.pattern.positions) <= u32::MAX as usize);
    if let (Some(size), false, true, 1) = (few, split.in_order(), split.value_dims.is_empty(), per_row) {
        return scatter(fold, &split, &split.rows_of(&values.cast(fold.typing.input)), kept, size, need);
    }
    let runs = split.runs();
    let ends = &runs.ends;
    let n = ends.len() - 1;
    let acc = split.fold_runs(fold, values, ends, runs.order.as_ref());
    let counts = ends.windows(2).map(|run| ((run[1] - run[0]) * per_row) as u64).collect();
    let pattern = split.result_pattern(kept, &runs.layout, &runs.words)?;
    Ok(Groups { pattern, acc: Strided::new(acc, fold.typing.acc, split.shape(n)), counts })
}

/// Where the segments under the dense levels begin and end, if exactly these are kept and one sparse level follows:
/// the pointers, with the empty segments. All positions together, if nothing is kept.
pub(crate) fn row_runs(pattern: &Pattern, dims: &[Dim]) -> Option<Vec<usize>> {
    if dims.is_empty() {
        return Some(if pattern.positions == 0 { vec![0] } else { vec![0, pattern.positions] });
    }
    let (last, above) = pattern.levels.split_last()?;
    let Level::Sparse { pointers: Some(pointers), .. } = last else { return None };
    let dense = above.iter().all(|l| l.kind() == LevelKind::Dense) && above.len() == dims.len();
    if !dense || dims != &pattern.level_dims()[..dims.len()] {
        return None;
    }
    let mut runs = zeroed_vec::<usize>(pointers.len());
    openwork_ops::with_index!(pointers.as_slice(), p => {
        use openwork_ops::structure::Index;
        let base = p[0].get();
        runs.iter_mut().zip(p).for_each(|(r, p)| *r = p.get() - base);
    });
    Some(runs)
}

/// Folds runs of rows of `block` elements, `per_row` of them per position.
fn rows(fold: &Fold, bytes: &[u8], runs: &[usize], per_row: usize, block: usize) -> Buffer {
    let (from, to) = (block * fold.typing.input.size(), block * fold.typing.acc.size());
    Buffer::build((runs.len() - 1) * to, |acc| {
        parallel::for_chunks_mut(acc, to, 256, &|first, acc| {
            for (i, row) in acc.chunks_exact_mut(to).enumerate() {
                let own = runs[first + i] * per_row..runs[first + i + 1] * per_row;
                fold.accumulate_rows(own.map(|r| &bytes[r * from..(r + 1) * from]), row);
            }
        });
    })
}
