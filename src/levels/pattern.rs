//! Patterns: a list of levels, and a map from their dimensions to the tensor's axes.

use crate::base::mapped::{Mapped, sums};
use std::ops::Range;

use openwork_ops::DType;
use openwork_ops::structure::keys::{self, KeyLayout, Order};

use super::layout::{self, Layout, LevelSpec};
use super::level::{Above, Level, LevelKind};
use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::pages::Scratch;
use crate::base::strided::{Strided, dense_len};
use crate::base::trace::{Work, raise};
use crate::base::{parallel, shape};

/// Which part of a tensor axis a dimension of the pattern holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Part {
    /// The axis itself.
    Whole,
    /// `axis / block`.
    Div(usize),
    /// `axis % block`.
    Mod(usize),
}

/// One dimension of a pattern: a level's or a value axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Dim {
    /// The tensor axis.
    pub(crate) axis: usize,
    pub(crate) part: Part,
    pub(crate) size: usize,
}

impl Dim {
    pub(crate) fn whole(axis: usize, size: usize) -> Dim {
        Dim { axis, part: Part::Whole, size }
    }

    /// What one step along this dimension adds to the coordinate on its axis.
    pub(crate) fn step(self) -> usize {
        if let Part::Div(block) = self.part { block } else { 1 }
    }

    /// Where an element of the tensor is along it.
    pub(crate) fn coordinate(self, index: &[usize]) -> usize {
        match self.part {
            Part::Whole => index[self.axis],
            Part::Div(block) => index[self.axis] / block,
            Part::Mod(block) => index[self.axis] % block,
        }
    }
}

/// All the indices of a sparse tensor.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) levels: Vec<Level>,
    /// The levels' dimensions in order, then the value axes.
    pub(crate) dims: Vec<Dim>,
    /// How many of `dims` belong to levels.
    pub(crate) level_dims: usize,
    /// Positions of the last level: rows of values.
    pub(crate) positions: usize,
}

impl Pattern {
    pub(crate) fn level_dims(&self) -> &[Dim] {
        &self.dims[..self.level_dims]
    }

    pub(crate) fn value_dims(&self) -> &[Dim] {
        &self.dims[self.level_dims..]
    }

    /// Sizes of the value axes.
    pub(crate) fn value_shape(&self) -> Vec<usize> {
        self.value_dims().mapped(|d| d.size)
    }

    /// The shape of values: positions, then the value axes.
    pub(crate) fn stored_shape(&self) -> Vec<usize> {
        let mut shape = Vec::with_capacity(1 + self.value_dims().len());
        shape.push(self.positions);
        for d in self.value_dims() {
            shape.push(d.size);
        }
        shape
    }

    /// Elements per position; more than memory has only where there is no position.
    pub(crate) fn block(&self) -> usize {
        shape::product(self.value_dims().iter().map(|d| d.size))
    }

    pub(crate) fn kinds(&self) -> Vec<LevelKind> {
        self.levels.mapped(Level::kind)
    }

    /// Whether tuples rise and do not repeat: what co-iteration needs.
    pub(crate) fn is_canonical(&self) -> bool {
        self.levels.iter().all(|l| l.is_ordered() && l.is_unique())
    }

    /// Whether no coordinate tuple repeats.
    pub(crate) fn is_unique(&self) -> bool {
        self.levels.iter().all(Level::is_unique)
    }

    /// Whether stored elements come in C order of the tensor.
    pub(crate) fn is_in_c_order(&self) -> bool {
        self.is_canonical()
            && self.dims.iter().map(|d| (d.axis, d.part)).eq((0..self.dims.len()).map(|a| (a, Part::Whole)))
    }

    /// The level structure, without the arrays.
    pub(crate) fn spec(&self) -> LevelSpec {
        LevelSpec { levels: self.kinds(), dims: self.dims.mapped(|d| (d.axis, d.part)) }
    }

    /// The name of the layout.
    pub(crate) fn layout(&self, shape: &[usize]) -> Layout {
        // A call on a small matrix asks some ten times.
        if let ([Level::Dense, Level::Sparse { indices, .. }], [first, second], [_, _]) =
            (&self.levels[..], &self.dims[..], shape)
            && indices.len() == 1
            && (first.part, second.part) == (Part::Whole, Part::Whole)
        {
            return if first.axis < second.axis { Layout::Csr } else { Layout::Csc };
        }
        layout::name(self.levels.iter().map(Level::kind), self.dims.iter().map(|d| (d.axis, d.part)), shape)
    }

    /// Whether this is the level structure.
    pub(crate) fn has_spec(&self, spec: &LevelSpec) -> bool {
        self.levels.iter().map(Level::kind).eq(spec.levels.iter().copied())
            && self.dims.iter().map(|d| (d.axis, d.part)).eq(spec.dims.iter().copied())
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.levels.iter().any(Level::is_wide)
    }

    /// Whether both have the same levels over the same dimensions, whatever the arrays hold.
    pub(crate) fn has_levels_of(&self, other: &Pattern) -> bool {
        self.dims == other.dims
            && self.levels.len() == other.levels.len()
            && self.levels.iter().zip(&other.levels).all(|(a, b)| a.kind() == b.kind())
    }

    /// The same pattern with all arrays of one width: 64 bits where `wide`, or any array is.
    pub(crate) fn of_one_width(self, wide: bool) -> Pattern {
        let wide = wide || self.is_wide();
        let levels = self.levels.mapped(|l| l.map(&mut |_, a| a.widened(wide)));
        Pattern { levels, ..self }
    }

    /// The same pattern with all arrays of one width. Where they differ, that is 32 bits if all entries fit: pointers of 64
    /// bits, as some writers make them, do not make indices twice as large.
    pub(crate) fn of_common_width(self) -> Pattern {
        let narrow = self.levels.iter().flat_map(Level::arrays).any(|array| !array.is_wide());
        if !narrow || !self.is_wide() {
            return self;
        }
        let mut fit = true;
        let narrowed = self.levels.mapped(|level| {
            level.map(&mut |_, array| {
                let narrowed = if fit { array.narrowed() } else { None };
                fit &= narrowed.is_some();
                narrowed.unwrap_or_else(|| array.clone())
            })
        });
        if fit { Pattern { levels: narrowed, ..self } } else { self.of_one_width(true) }
    }

    /// The positions that hold a coordinate tuple, in order: at most one unless the pattern has duplicates.
    ///
    /// Cost: a binary search per level; O(positions) where coordinates are not in order.
    pub(crate) fn locate(&self, tuple: &[usize]) -> Vec<usize> {
        let mut found = vec![0];
        for (level, first) in self.levels.iter().zip(self.first_dims()) {
            let own = first..first + level.kind().rank();
            found = level.locate(found, &tuple[own.clone()], &self.dims[own]);
        }
        found
    }

    /// Whether both are the same pattern in the same memory: then values alone need looking at.
    pub(crate) fn is_same(&self, other: &Pattern) -> bool {
        std::ptr::eq(self, other)
            || (self.positions == other.positions
                && self.level_dims == other.level_dims
                && self.levels.len() == other.levels.len()
                // From the last on, which has arrays: patterns that differ do so there.
                && self.levels.iter().zip(&other.levels).rev().all(|(a, b)| a.shares_arrays_of(b))
                && self.dims == other.dims)
    }

    /// Whether both are the same pattern, in whatever memory.
    pub(crate) fn has_equal_arrays(&self, other: &Pattern) -> bool {
        let looked_at = if faults::is(Fault::PointersForPatterns) { 1 } else { usize::MAX };
        self.positions == other.positions
            && self.dims == other.dims
            && self.kinds() == other.kinds()
            && self.levels.iter().zip(&other.levels).all(|(a, b)| {
                (a.is_ordered(), a.is_unique()) == (b.is_ordered(), b.is_unique())
                    && a.arrays().count() == b.arrays().count()
                    && a.arrays().zip(b.arrays()).take(looked_at).all(|(a, b)| a.is_equal(b))
            })
    }

    /// First dimension of each level.
    pub(crate) fn first_dims(&self) -> Vec<usize> {
        let mut next = 0;
        let first = |l: &Level| {
            let d = next;
            next += l.kind().rank();
            d
        };
        self.levels.mapped(first)
    }

    /// `out[p - range.start] = Σ weight_d · coordinate_d(p)`, wrapping, over the level dimensions, for the
    /// positions of the last level in `range`. The one way in which coordinates are read: dense offsets,
    /// sort keys and single coordinates are all linear forms.
    ///
    /// Cost: O(range + parents of the range).
    pub(crate) fn linearize(&self, weights: &[u64], range: Range<usize>, out: &mut [u64]) {
        debug_assert_eq!(weights.len(), self.level_dims);
        debug_assert_eq!(range.len(), out.len());
        self.linearize_levels(self.levels.len(), self.level_dims, weights, range, out);
    }

    fn linearize_levels(&self, levels: usize, dims: usize, weights: &[u64], range: Range<usize>, out: &mut [u64]) {
        if range.is_empty() {
            return;
        }
        let Some(level) = levels.checked_sub(1).map(|l| &self.levels[l]) else {
            out.fill(0);
            return;
        };
        let first = dims - level.kind().rank();
        let mut above = |parents: Range<usize>, out: &mut [u64]| {
            self.linearize_levels(levels - 1, first, weights, parents, out);
        };
        let counts = weights[..first].iter().any(|&w| w != 0);
        let above = counts.then_some(&mut above as Above<'_>);
        level.linearize(&weights[first..dims], &self.dims[first..dims], above, range, out);
    }

    /// The linear form over all positions.
    pub(crate) fn linearize_all(&self, weights: &[u64]) -> Vec<u64> {
        raise(Work::Engine);
        let mut out = crate::base::buffer::zeroed_vec(self.positions);
        parallel::for_chunks_mut(&mut out, 1, parallel::GRAIN, &|start, out| {
            self.linearize(weights, start..start + out.len(), out);
        });
        out
    }

    /// As [`Pattern::linearize_all`], in memory of a temporary.
    pub(crate) fn linearized(&self, weights: &[u64]) -> Scratch<u64> {
        let mut out = Scratch::any(self.positions);
        parallel::for_chunks_mut(&mut out, 1, parallel::GRAIN, &|start, out| {
            self.linearize(weights, start..start + out.len(), out);
        });
        out
    }

    /// As [`Pattern::linearize`] for stored elements from `start` on, with what `row` adds for each place of a row.
    pub(crate) fn linearize_elements(&self, weights: &[u64], row: &RowForm, start: usize, out: &mut [u64]) {
        let (block, end) = (row.len(), start + out.len());
        if block == 1 {
            return self.linearize(weights, start..end, out);
        }
        if out.is_empty() {
            return;
        }
        let rows = start / block..end.div_ceil(block);
        let mut bases = vec![0; rows.len()];
        self.linearize(weights, rows.clone(), &mut bases);
        let (mut at, mut rest) = (start % block, out);
        for base in bases {
            let (own, more) = rest.split_at_mut(rest.len().min(block - at));
            for (i, o) in own.iter_mut().enumerate() {
                *o = base.wrapping_add(row.at(at + i));
            }
            (at, rest) = (0, more);
        }
    }

    /// Weights over the level dimensions for given weights of the tensor's axes.
    pub(crate) fn level_weights(&self, axis_weights: &[u64]) -> Vec<u64> {
        self.level_dims().mapped(|d| axis_weights[d.axis].wrapping_mul(d.step() as u64))
    }

    /// What each element of a row adds to a linear form with these weights of the tensor's axes.
    pub(crate) fn row_form(&self, axis_weights: &[u64]) -> RowForm {
        let weights = self.value_dims().iter().map(|d| axis_weights[d.axis].wrapping_mul(d.step() as u64));
        RowForm::new(self.value_dims().iter().map(|d| d.size).zip(weights).collect())
    }

    /// The coordinates of every position along one tensor axis, as far as the levels hold it.
    pub(crate) fn axis_coordinates(&self, axis: usize, ndim: usize) -> Vec<u64> {
        let mut weights = vec![0; ndim];
        weights[axis] = 1;
        self.linearize_all(&self.level_weights(&weights))
    }

    /// The coordinates of every position along some of the tensor's axes, as far as the levels hold them: an `int64` matrix with a row
    /// for each position.
    ///
    /// # Errors
    /// If memory cannot hold it, or an axis is longer than `int64` counts.
    pub(crate) fn coordinates(&self, axes: &[usize], shape: &[usize]) -> Result<Strided> {
        raise(Work::Engine);
        if let Some(&axis) = axes.iter().find(|&&a| i64::try_from(shape[a]).is_err()) {
            return Err(error::shape(&[shape], format_args!("axis {axis} is longer than int64 counts")));
        }
        let n = dense_len(&[self.positions, axes.len()], DType::I64)?;
        let weights = axes.mapped(|&axis| {
            let mut weights = vec![0; shape.len()];
            weights[axis] = 1;
            self.level_weights(&weights)
        });
        let out = Buffer::filled(n * size_of::<i64>(), size_of::<i64>(), |out| {
            let columns = axes.len();
            let rows = bytemuck::cast_slice_mut::<u8, i64>(out);
            parallel::for_chunks_mut(rows, columns, parallel::GRAIN, &|start, out| {
                let mut own = [0; 1 << 9];
                for (i, out) in out.chunks_mut(own.len() * columns).enumerate() {
                    let first = start + i * own.len();
                    let own = &mut own[..out.len() / columns];
                    for (c, weights) in weights.iter().enumerate() {
                        self.linearize(weights, first..first + own.len(), own);
                        out.chunks_exact_mut(columns).zip(&*own).for_each(|(row, &at)| row[c] = at as i64);
                    }
                }
            });
        })?;
        Ok(Strided::new(out, DType::I64, vec![self.positions, axes.len()]))
    }

    /// Sort keys of all positions over the level dimensions in their own order.
    pub(crate) fn own_keys(&self) -> (KeyLayout, Vec<Vec<u64>>) {
        let layout = KeyLayout::new(&self.level_dims().mapped(|d| d.size));
        let words = (0..layout.word_bits.len())
            .map(|word| {
                let weights: Vec<u64> = layout.fields.mapped(|f| if f.word == word { f.weight() } else { 0 });
                self.linearize_all(&weights)
            })
            .collect();
        (layout, words)
    }

    /// How the positions are ordered, by looking.
    pub(crate) fn order(&self) -> Order {
        keys::order_of(&self.own_keys().1)
    }
}

/// What each element of a row adds to a linear form: one entry per place of a row, of which a table is kept that is
/// small however long rows are.
#[derive(Clone, Debug)]
pub(crate) struct RowForm {
    /// Sizes and weights of the value axes that the table does not cover, the innermost last.
    outer: Vec<(usize, u64)>,
    table: Vec<u64>,
    len: usize,
    /// Whether all elements of a row add the same.
    is_one: bool,
}

/// Entries of the table of a [`RowForm`] at most.
const TABLE: usize = 1 << 16;

impl RowForm {
    /// Of value axes with these sizes and weights.
    pub(crate) fn new(mut axes: Vec<(usize, u64)>) -> RowForm {
        let len = shape::product(axes.iter().map(|a| a.0));
        let is_one = axes.iter().all(|a| a.1 == 0);
        let mut table = vec![0u64];
        while let Some(&(size, weight)) = axes.last().filter(|a| a.0 <= TABLE / table.len().max(1)) {
            table = sums(&(0..size).mapped(|i| weight.wrapping_mul(i as u64)), &table);
            axes.pop();
        }
        RowForm { outer: axes, table, len, is_one }
    }

    /// Elements of a row.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether all elements of a row add the same.
    pub(crate) fn is_one(&self) -> bool {
        self.is_one
    }

    /// What element `i` of a row adds.
    #[inline]
    pub(crate) fn at(&self, i: usize) -> u64 {
        if self.outer.is_empty() {
            return self.table[i];
        }
        let (mut rest, mut sum) = (i / self.table.len(), self.table[i % self.table.len()]);
        for &(size, weight) in self.outer.iter().rev() {
            sum = sum.wrapping_add(weight.wrapping_mul((rest % size) as u64));
            rest /= size;
        }
        sum
    }
}

#[cfg(test)]
#[path = "tests/pattern.rs"]
mod tests;
