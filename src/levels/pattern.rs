//! Patterns: a list of levels, and a map from their dimensions to the tensor's axes.

use std::ops::Range;

use openwork_ops::structure::Index;
use openwork_ops::structure::keys::{self, KeyLayout, Order};
use openwork_ops::with_index;

use crate::base::parallel;
use crate::base::trace::{Work, raise};
use crate::levels::level::{Indices, Level, LevelKind};

/// Which part of a tensor axis a dimension of the pattern holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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
        self.value_dims().iter().map(|d| d.size).collect()
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

    /// Elements per position.
    pub(crate) fn block(&self) -> usize {
        self.value_dims().iter().map(|d| d.size).product()
    }

    pub(crate) fn kinds(&self) -> Vec<LevelKind> {
        self.levels.iter().map(Level::kind).collect()
    }

    /// Whether tuples rise and do not repeat: what co-iteration needs.
    pub(crate) fn is_canonical(&self) -> bool {
        self.levels.iter().all(|l| l.is_ordered() && l.is_unique())
    }

    /// Whether no coordinate tuple repeats.
    pub(crate) fn is_unique(&self) -> bool {
        self.levels.iter().all(Level::is_unique)
    }

    pub(crate) fn is_wide(&self) -> bool {
        self.levels.iter().flat_map(Level::arrays).any(Indices::is_wide)
    }

    /// Whether both have the same levels over the same dimensions, whatever the arrays hold.
    pub(crate) fn has_levels_of(&self, other: &Pattern) -> bool {
        self.dims == other.dims
            && self.levels.len() == other.levels.len()
            && self.levels.iter().zip(&other.levels).all(|(a, b)| a.kind() == b.kind())
    }

    /// Whether both are the same pattern in the same memory: then values alone need looking at.
    pub(crate) fn is_same(&self, other: &Pattern) -> bool {
        self.positions == other.positions
            && self.dims == other.dims
            && self.level_dims == other.level_dims
            && self.levels.len() == other.levels.len()
            && self.levels.iter().zip(&other.levels).all(|(a, b)| {
                a.kind() == b.kind()
                    && a.arrays().count() == b.arrays().count()
                    && a.arrays().zip(b.arrays()).all(|(x, y)| x.is_same(y))
            })
    }

    /// Whether both are the same pattern, in whatever memory.
    pub(crate) fn has_equal_arrays(&self, other: &Pattern) -> bool {
        let equal = |a: &Indices, b: &Indices| a.is_same(b) || a.as_slice() == b.as_slice();
        self.positions == other.positions
            && self.dims == other.dims
            && self.kinds() == other.kinds()
            && self.levels.iter().zip(&other.levels).all(|(a, b)| {
                (a.is_ordered(), a.is_unique()) == (b.is_ordered(), b.is_unique())
                    && a.arrays().count() == b.arrays().count()
                    && a.arrays().zip(b.arrays()).all(|(a, b)| equal(a, b))
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
        self.levels.iter().map(first).collect()
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
        let dims = dims - level.kind().rank();
        let parents_of = |parents: Range<usize>| {
            let mut values = vec![0; parents.len()];
            self.linearize_levels(levels - 1, dims, weights, parents, &mut values);
            values
        };
        match level {
            Level::Dense => {
                let (size, w) = (self.dims[dims].size, weights[dims]);
                let parents = range.start / size..range.end.div_ceil(size);
                let first = parents.start;
                for (i, base) in parents_of(parents).into_iter().enumerate() {
                    let start = (first + i) * size;
                    let part = range.start.max(start)..range.end.min(start + size);
                    let mut value = base.wrapping_add(w.wrapping_mul((part.start - start) as u64));
                    for o in &mut out[part.start - range.start..part.end - range.start] {
                        *o = value;
                        value = value.wrapping_add(w);
                    }
                }
            }
            Level::Sparse { pointers, indices, .. } => {
                match pointers {
                    None => out.fill(0),
                    Some(_) if weights[..dims].iter().all(|&w| w == 0) => out.fill(0),
                    Some(pointers) => {
                        let pointers = pointers.as_slice();
                        let base = pointers.get(0);
                        let parents =
                            pointers.upper_bound(base + range.start) - 1..pointers.lower_bound(base + range.end);
                        let values = parents_of(parents.clone());
                        with_index!(pointers, p => {
                            for (ends, &value) in p[parents.start..=parents.end].windows(2).zip(&values) {
                                let start = (ends[0].get() - base).max(range.start) - range.start;
                                let end = (ends[1].get() - base).min(range.end) - range.start;
                                out[start..end].fill(value);
                            }
                        });
                    }
                }
                for (d, index) in indices.iter().enumerate() {
                    add_scaled(&index.slice(range.clone()), weights[dims + d], out);
                }
            }
            Level::Singleton { indices } => {
                self.linearize_levels(levels - 1, dims, weights, range.clone(), out);
                add_scaled(&indices.slice(range), weights[dims], out);
            }
        }
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

    /// Weights over the level dimensions for given weights of the tensor's axes.
    pub(crate) fn level_weights(&self, axis_weights: &[u64]) -> Vec<u64> {
        self.level_dims().iter().map(|d| axis_weights[d.axis].wrapping_mul(d.step() as u64)).collect()
    }

    /// What each element of a row adds to a linear form with these weights of the tensor's axes.
    pub(crate) fn value_offsets(&self, axis_weights: &[u64]) -> Vec<u64> {
        let mut out = vec![0u64];
        for d in self.value_dims() {
            let w = axis_weights[d.axis].wrapping_mul(d.step() as u64);
            out = out
                .iter()
                .flat_map(|&base| (0..d.size as u64).map(move |i| base.wrapping_add(w.wrapping_mul(i))))
                .collect();
        }
        out
    }

    /// The coordinates of every position along one tensor axis, as far as the levels hold it.
    pub(crate) fn axis_coordinates(&self, axis: usize, ndim: usize) -> Vec<u64> {
        let mut weights = vec![0; ndim];
        weights[axis] = 1;
        self.linearize_all(&self.level_weights(&weights))
    }

    /// Sort keys of all positions over the level dimensions in their own order.
    pub(crate) fn own_keys(&self) -> (KeyLayout, Vec<Vec<u64>>) {
        let layout = KeyLayout::new(&self.level_dims().iter().map(|d| d.size).collect::<Vec<_>>());
        let words = (0..layout.word_bits.len())
            .map(|word| {
                let weights: Vec<u64> =
                    layout.fields.iter().map(|f| if f.word == word { f.weight() } else { 0 }).collect();
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

fn add_scaled(index: &Indices, weight: u64, out: &mut [u64]) {
    if weight == 0 {
        return;
    }
    with_index!(index.as_slice(), s => for (o, &i) in out.iter_mut().zip(s) {
        *o = o.wrapping_add(weight.wrapping_mul(i.get() as u64));
    });
}
