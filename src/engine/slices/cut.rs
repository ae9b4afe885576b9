//! The one way in which what is stored is brought together by its coordinates along kept axes: keys of the coordinates,
//! sorted where they do not come sorted, cut where they change. Rows that a level keeps together are cut where its pointers
//! say, and nothing is read.

use crate::base::mapped::Mapped;
use openwork_ops::structure::keys::{KeyLayout, Order, order_of};
use openwork_ops::structure::{Index, IndexVec};

use super::groups::sizes;
use super::leading::leading;
use crate::base::error::Result;
use crate::base::few::Few;
use crate::base::pages::Scratch;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::base::{parallel, shape};
use crate::engine::convert;
use crate::levels::build::{self, SortedKeys};
use crate::levels::indices::Indices;
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Pattern};
use crate::levels::sort;

/// What a pattern stores, in order of its coordinates along some dimensions, of which the first are kept.
pub(super) struct Cut {
    pub(super) layout: KeyLayout,
    /// The coordinates of each.
    pub(super) words: Vec<Vec<u64>>,
    /// Which each was in storage order, if that is another.
    pub(super) order: Option<IndexVec>,
    /// Where each run of equal kept coordinates begins, and the end of the last.
    pub(super) ends: Vec<usize>,
}

impl Cut {
    /// Of positions, or of stored elements, by keys of some dimensions, the first `kept` of which they are cut by. Those that
    /// come `sorted` need no look at their order.
    pub(super) fn new(keys: (KeyLayout, Vec<Vec<u64>>), kept: usize, sorted: bool) -> Cut {
        let (layout, mut words) = keys;
        let mut order = None;
        if !sorted {
            raise(Work::Engine);
        }
        if !sorted && order_of(&words) == Order::Unsorted {
            let sorted = sort::sort_keys(&layout, words);
            (words, order) = (sorted.words, Some(sorted.order));
        }
        let ends = if kept == layout.fields.len() {
            sort::runs(&words)
        } else {
            let keys = SortedKeys::new(&layout, &words);
            let mut ends = keys.heads(kept);
            ends.push(words.first().map_or(0, Vec::len));
            ends
        };
        Cut { layout, words, order, ends }
    }

    /// The coordinates of each run.
    pub(super) fn heads(&self) -> Vec<Vec<u64>> {
        self.words.mapped(|w| sort::pick(w, &self.ends[..self.ends.len() - 1]))
    }
}

/// Which dimensions of a pattern are kept, those of its levels and those of its values.
pub(crate) struct Split<'a> {
    pub(super) pattern: &'a Pattern,
    /// Of the levels.
    pub(crate) dims: Vec<Dim>,
    /// Of the values.
    pub(crate) value_dims: Vec<Dim>,
    /// Axes of the values: positions, reduced ones, kept ones.
    pub(crate) order: Few<usize, 4>,
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
        let mut order = Few::repeat(0, 1);
        fold.iter().chain(&keep).for_each(|i| order.push(i + 1));
        Split {
            pattern,
            dims: pattern.level_dims().iter().copied().filter(is_kept).collect(),
            value_dims: keep.mapped(|&i| of_values[i]),
            order,
            per_row: shape::product(fold.iter().map(|&i| of_values[i].size)),
            block: shape::product(keep.iter().map(|&i| of_values[i].size)),
        }
    }

    /// Values of the pattern as rows of `per_row` times `block` elements.
    pub(crate) fn rows_of(&self, values: &Strided) -> Strided {
        values.permute(&self.order)
    }

    /// The logarithm of the number of elements that are reduced to one.
    pub(super) fn log2_of_reduced(&self) -> f64 {
        let reduced = self.pattern.dims.iter().filter(|d| !self.dims.contains(d) && !self.value_dims.contains(d));
        reduced.map(|d| (d.size as f64).log2()).sum()
    }

    /// Kept dimensions that come first in storage order need no sorting.
    pub(crate) fn in_order(&self) -> bool {
        let dims = &self.pattern.level_dims()[..self.dims.len()];
        dims.is_empty() || (self.pattern.is_canonical() && self.dims == dims)
    }

    /// Positions by their kept coordinates, with the empty segments of compressed ones.
    pub(crate) fn runs(&self) -> Runs {
        let Some(ends) = self.row_ends() else { return self.cut() };
        let rows: Vec<u64> = (0..ends.len() as u64 - 1).collect();
        let (layout, words) = convert::unravel(&rows, &sizes(&self.dims));
        Runs { layout, words, ends: ends.to_vec(), order: None }
    }

    /// Only the runs that have positions.
    pub(crate) fn stored_runs(&self) -> Runs {
        let Some(pointers) = self.pointers() else {
            let runs = if self.dims.is_empty() { self.runs() } else { self.cut() };
            debug_assert!(runs.ends.windows(2).all(|run| run[0] < run[1]));
            return runs;
        };
        let (rows, ends) = openwork_ops::with_index!(pointers.as_slice(), p => stored(p));
        let (layout, words) = convert::unravel(&rows, &sizes(&self.dims));
        Runs { layout, words, ends, order: None }
    }

    fn cut(&self) -> Runs {
        let cut = Cut::new(convert::keys(self.pattern, &self.dims), self.dims.len(), self.in_order());
        Runs { words: cut.heads(), layout: cut.layout, ends: cut.ends, order: cut.order }
    }

    /// Where the segments under the dense levels begin and end, if exactly these are kept and one sparse level follows:
    /// the pointers, with the empty segments. All positions together, if nothing is kept.
    pub(crate) fn row_ends(&self) -> Option<Scratch<usize>> {
        let Split { pattern, dims, .. } = self;
        if dims.is_empty() {
            let runs = usize::from(pattern.positions > 0);
            let mut ends = Scratch::any(1 + runs);
            ends[0] = 0;
            ends[runs] = pattern.positions;
            return Some(ends);
        }
        self.pointers().map(ends_of)
    }

    /// Those of the one sparse level under dense ones, if exactly these are kept.
    fn pointers(&self) -> Option<&'a Indices> {
        let (last, above) = self.pattern.levels.split_last()?;
        let Level::Sparse { pointers: Some(pointers), .. } = last else { return None };
        let dense = above.iter().all(|l| l.kind() == LevelKind::Dense) && above.len() == self.dims.len();
        (dense && !above.is_empty() && self.dims[..] == self.pattern.level_dims()[..above.len()]).then_some(pointers)
    }

    /// The pattern of a result with these level coordinates, over all kept dimensions.
    pub(crate) fn result_pattern(&self, kept: &[usize], layout: &KeyLayout, words: &[Vec<u64>]) -> Result<Pattern> {
        let keys = SortedKeys::new(layout, words);
        build::build(&[LevelKind::Sparse { rank: self.dims.len() }], self.result_dims(kept), &keys)
    }

    /// All kept dimensions, their axes numbered as in the result.
    pub(super) fn result_dims(&self, kept: &[usize]) -> Vec<Dim> {
        let number = |d: &Dim| Dim { axis: kept.iter().position(|&a| a == d.axis).unwrap_or(d.axis), ..*d };
        self.dims.iter().chain(&self.value_dims).map(number).collect()
    }

    /// The shape of values over `n` groups.
    pub(crate) fn shape(&self, n: usize) -> Vec<usize> {
        [n].into_iter().chain(sizes(&self.value_dims)).collect()
    }
}

/// Where segments begin, counted from the first, and the end of the last.
fn ends_of(pointers: &Indices) -> Scratch<usize> {
    let mut ends = Scratch::any(pointers.len());
    openwork_ops::with_index!(pointers.as_slice(), p => {
        let base = p[0].get();
        parallel::for_chunks_mut(&mut ends, 1, parallel::GRAIN, &|first, ends| {
            ends.iter_mut().zip(&p[first..]).for_each(|(end, p)| *end = p.get() - base);
        });
    });
    ends
}

/// Where runs of positions begin that differ in the last of the levels' dimensions alone, and the end of the last one, some of them
/// empty: of a canonical pattern whose last level is sparse.
pub(crate) fn last_runs(pattern: &Pattern) -> Option<Scratch<usize>> {
    let Some(Level::Sparse { pointers, indices, .. }) = pattern.levels.last().filter(|_| pattern.is_canonical()) else {
        return None;
    };
    if let (Some(pointers), [_]) = (pointers, &indices[..]) {
        raise(Work::Specialised);
        return Some(ends_of(pointers));
    }
    let (_, above) = pattern.level_dims().split_last()?;
    let split = Split::new(pattern, &above.mapped(|d| d.axis));
    if above.is_empty() { split.row_ends() } else { leading(&split).map(|leading| leading.ends) }
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

/// The segments that have something: which they are, where the first begins, and where each ends.
fn stored<I: Index>(pointers: &[I]) -> (Vec<u64>, Vec<usize>) {
    const AT_ONCE: usize = 256;
    let (base, n) = (pointers[0].get(), pointers.len() - 1);
    let parts = parallel::map_chunks(n, parallel::GRAIN, &|range| {
        let (mut rows, mut ends) = (Vec::new(), Vec::new());
        let (mut some_rows, mut some_ends) = ([0; AT_ONCE], [0; AT_ONCE]);
        let mut start = pointers[range.start].get();
        for (first, block) in range.clone().step_by(AT_ONCE).zip(pointers[range.start + 1..=range.end].chunks(AT_ONCE))
        {
            let mut found = 0;
            for (row, end) in (first..).zip(block) {
                // Written in any case, and the next one over it if there is nothing: a branch would be a guess.
                (some_rows[found], some_ends[found]) = (row as u64, end.get() - base);
                found += usize::from(start < end.get());
                start = end.get();
            }
            rows.extend_from_slice(&some_rows[..found]);
            ends.extend_from_slice(&some_ends[..found]);
        }
        (rows, ends)
    });
    let found = parts.iter().map(|part| part.0.len()).sum();
    let (mut rows, mut ends) = (Vec::with_capacity(found), Vec::with_capacity(found + 1));
    ends.push(0);
    for (own, own_ends) in parts {
        rows.extend(own);
        ends.extend(own_ends);
    }
    (rows, ends)
}
