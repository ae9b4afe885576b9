//! Stored elements by the coordinates that a reduction keeps.

use openwork_ops::reduce::Compensated;
use openwork_ops::structure::IndexVec;
use openwork_ops::structure::keys::{KeyLayout, Order, order_of};

use super::Fold;
use crate::buffer::{Buffer, zeroed_vec};
use crate::build::{self, SortedKeys};
use crate::error::Result;
use crate::level::{Level, LevelKind};
use crate::pattern::{Dim, Pattern};
use crate::strided::Strided;
use crate::tensor::Sparse;
use crate::{convert, parallel, sort};

/// Stored elements folded by kept coordinates.
pub(super) struct Groups {
    /// Kept coordinates of each group: over the kept level dimensions, sorted; axes are numbered as in the result.
    pub(super) pattern: Pattern,
    /// Shape (groups, kept value axes…).
    pub(super) acc: Strided,
    /// Stored elements in each group, per kept value element.
    pub(super) counts: Vec<u64>,
}

/// Which dimensions of a pattern a reduction keeps.
pub(crate) struct Split<'a> {
    pattern: &'a Pattern,
    /// Of the levels.
    dims: Vec<Dim>,
    /// Of the values.
    value_dims: Vec<Dim>,
    /// Axes of the values: positions, reduced ones, kept ones.
    order: Vec<usize>,
    /// Elements that are folded in each position's row, for each of `block` that are kept.
    pub(super) per_row: usize,
    pub(super) block: usize,
}

impl<'a> Split<'a> {
    pub(crate) fn new(pattern: &'a Pattern, kept: &[usize]) -> Split<'a> {
        let is_kept = |d: &Dim| kept.contains(&d.axis);
        let of_values = pattern.value_dims();
        let (keep, fold): (Vec<usize>, Vec<usize>) = (0..of_values.len()).partition(|&i| is_kept(&of_values[i]));
        Split {
            pattern,
            dims: pattern.level_dims().iter().copied().filter(is_kept).collect(),
            value_dims: keep.iter().map(|&i| of_values[i]).collect(),
            order: [0].into_iter().chain(fold.iter().chain(&keep).map(|i| i + 1)).collect(),
            per_row: fold.iter().map(|&i| of_values[i].size).product(),
            block: keep.iter().map(|&i| of_values[i].size).product(),
        }
    }

    /// Values of the pattern as rows of `per_row` times `block` elements.
    pub(super) fn rows_of(&self, values: &Strided) -> Strided {
        values.permute(&self.order)
    }

    /// Kept dimensions that come first in storage order need no sorting.
    fn in_order(&self) -> bool {
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
        let (layout, mut words) = convert::keys(self.pattern, &self.dims, false);
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
    pub(super) fn pattern(
        &self,
        fold: &Fold,
        kept: &[usize],
        layout: &KeyLayout,
        words: &[Vec<u64>],
    ) -> Result<Pattern> {
        let number = |d: &Dim| Dim { axis: kept.iter().position(|&a| a == d.axis).unwrap_or(d.axis), ..*d };
        let dims = self.dims.iter().chain(&self.value_dims).map(number).collect();
        let keys = SortedKeys { layout, words, unique: true };
        build::build(fold.op.name(), &[LevelKind::Sparse { rank: self.dims.len() }], dims, &keys)
    }

    /// The shape of values over `n` groups.
    pub(super) fn shape(&self, n: usize) -> Vec<usize> {
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

fn sizes(dims: &[Dim]) -> Vec<usize> {
    dims.iter().map(|d| d.size).collect()
}

/// Folds values over the reduced value axes, then positions by their kept coordinates.
pub(super) fn group(fold: &Fold, s: &Sparse, values: &Strided, kept: &[usize]) -> Result<Groups> {
    let split = Split::new(&s.pattern, kept);
    let (per_row, block) = (split.per_row, split.block);
    let mut values = split.rows_of(&values.cast(fold.typing.input));
    let few = split.dims.iter().try_fold(1usize, |n, d| n.checked_mul(d.size));
    let few = few.filter(|&n| n <= (4 * s.pattern.positions).max(1 << 16));
    if let (Some(size), false, true, 1) = (few, split.in_order(), split.value_dims.is_empty(), per_row) {
        return scatter(fold, &split, &values, kept, size);
    }
    let runs = split.runs();
    if let Some(order) = &runs.order {
        values = convert::gather_values(&values, order);
    }
    let ends = &runs.ends;
    let n = ends.len() - 1;
    let bytes = values.dense_bytes();
    let acc = if block == 1 {
        if split.dims.is_empty() && n == 1 {
            fold.all(&bytes)
        } else if per_row == 1 {
            fold.segments(&bytes, ends)
        } else {
            fold.segments(&bytes, &ends.iter().map(|r| r * per_row).collect::<Vec<_>>())
        }
    } else {
        rows(fold, &bytes, ends, per_row, block)
    };
    let counts = ends.windows(2).map(|run| ((run[1] - run[0]) * per_row) as u64).collect();
    let pattern = split.pattern(fold, kept, &runs.layout, &runs.words)?;
    Ok(Groups { pattern, acc: Strided::new(acc, fold.typing.acc, split.shape(n)), counts })
}

/// Where the segments under the dense levels begin and end, if exactly these are kept and one sparse level follows:
/// the pointers, with the empty segments. All positions together, if nothing is kept.
fn row_runs(pattern: &Pattern, dims: &[Dim]) -> Option<Vec<usize>> {
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

/// Folds into an accumulator per kept coordinate, where these are few.
fn scatter(fold: &Fold, split: &Split<'_>, values: &Strided, kept: &[usize], size: usize) -> Result<Groups> {
    let (pattern, dims) = (split.pattern, &split.dims);
    let mut weights = vec![0u64; pattern.level_dims];
    let mut step = 1u64;
    for (d, w) in pattern.level_dims().iter().zip(&mut weights).rev() {
        if dims.contains(d) {
            *w = step;
            step = step.wrapping_mul(d.size as u64);
        }
    }
    let mut counts = vec![0u64; size];
    let width = fold.typing.input.size();
    let bytes = values.dense_bytes();
    let acc = Buffer::build(size * fold.typing.acc.size(), |acc| {
        fold.fill_identity(acc);
        let compensated = Compensated::of(fold.op, fold.typing.input);
        let mut low = Vec::<u128>::new();
        if compensated.is_some() {
            low = zeroed_vec(acc.len().div_ceil(16));
        }
        let low = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut low);
        let mut offsets = vec![0u64; parallel::GRAIN];
        let mut narrow = vec![0u32; parallel::GRAIN];
        for start in (0..pattern.positions).step_by(parallel::GRAIN) {
            let end = (start + parallel::GRAIN).min(pattern.positions);
            let (offsets, narrow) = (&mut offsets[..end - start], &mut narrow[..end - start]);
            pattern.linearize(&weights, start..end, offsets);
            for (k, &o) in narrow.iter_mut().zip(&*offsets) {
                *k = o as u32;
                counts[o as usize] += 1;
            }
            let values = &bytes[start * width..end * width];
            match compensated {
                Some(kernels) => (kernels.scatter)(values, narrow, acc, low),
                None => (fold.kernels.scatter)(values, narrow, acc),
            }
        }
        if compensated.is_some() {
            let n = acc.len();
            Compensated::finish(acc, &low[..n]);
        }
    });
    let touched: Vec<usize> = (0..size).filter(|&i| counts[i] > 0).collect();
    let order = IndexVec::U64(touched.iter().map(|&i| i as u64).collect());
    let acc = convert::gather_values(&Strided::new(acc, fold.typing.acc, vec![size]), &order);
    let places: Vec<u64> = touched.iter().map(|&i| i as u64).collect();
    let (layout, words) = convert::unravel(&places, &sizes(dims));
    let pattern = split.pattern(fold, kept, &layout, &words)?;
    Ok(Groups { pattern, acc, counts: sort::pick(&counts, &touched) })
}
