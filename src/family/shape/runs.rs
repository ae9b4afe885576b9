//! Stretches of what compressed segments hold, copied one after the other: chosen rows, and parts of rows.

use std::ops::Range;

use openwork_ops::structure::gather::copy_runs;
use openwork_ops::structure::{Index, IndexSlice};
use openwork_ops::with_index;

use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, count, dense_len};
use crate::levels::counted::Counted;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::Sparse;

/// Runs that hold something, of which none begins where the one before it ends.
pub(super) struct Runs<O> {
    /// Where each begins in the source, and ends in the copy.
    starts: Scratch<O>,
    ends: Scratch<O>,
    /// Where each segment of the copy ends, after 0: a run may be of several.
    pointers: Scratch<O>,
}

/// Segments of one piece of work, and of those that are asked for at a time.
const SEGMENTS: usize = GRAIN / 8;
const AT_ONCE: usize = 256;

/// Writes where each of some segments begins and ends in the source.
pub(super) type Stretches<'a> = &'a (dyn Fn(Range<usize>, &mut [[usize; 2]]) + Sync);

impl<O: Index> Runs<O> {
    /// Of `n` segments, each a stretch of the source, whose places are numbers of this width. `Err` with their total if that is
    /// none.
    pub(super) fn new(n: usize, stretches: Stretches<'_>) -> std::result::Result<Runs<O>, usize> {
        let cuts: Vec<usize> = (0..n).step_by(SEGMENTS).map(|first| n.min(first + SEGMENTS)).collect();
        // Room for a run of each segment, of which little is used where most are empty or go on.
        let (mut starts, mut ends) = (Scratch::<O>::any(n), Scratch::<O>::any(n));
        let room = starts.chunks_mut(SEGMENTS).zip(ends.chunks_mut(SEGMENTS)).collect();
        let (counted, found) = Counted::with(&cuts, room, &|segments, out, (starts, ends): (&mut [_], &mut [_])| {
            let mut block = [[0; 2]; AT_ONCE];
            // The run that goes on, of which the first is none.
            let (mut runs, mut start, mut behind, mut total) = (0, O::NONE, usize::MAX, 0usize);
            for (out, first) in out.chunks_mut(AT_ONCE).zip(segments.step_by(AT_ONCE)) {
                let block = &mut block[..out.len()];
                stretches(first..first + out.len(), block);
                for (&mut [begin, end], out) in block.iter_mut().zip(out) {
                    let is_new = begin != behind && begin < end;
                    total += end - begin;
                    let until = O::new(total.min(O::NONE.get()));
                    *out = until;
                    runs += usize::from(is_new);
                    start = if is_new { O::new(begin) } else { start };
                    behind = if begin < end { end } else { behind };
                    // Before the first, over which the first is written.
                    let at = runs.saturating_sub(1);
                    (starts[at], ends[at]) = (start, until);
                }
            }
            (total, runs)
        });
        let total = counted.total();
        if total >= O::NONE.get() {
            return Err(total);
        }
        let mut runs = 0;
        for ((&own, &begin), first) in found.iter().zip(&counted.begins).zip((0..n).step_by(SEGMENTS)) {
            starts.copy_within(first..first + own, runs);
            ends.copy_within(first..first + own, runs);
            ends[runs..runs + own].iter_mut().for_each(|end| *end = O::new(end.get() + begin));
            runs += own;
        }
        starts.truncate(runs);
        ends.truncate(runs);
        Ok(Runs { starts, ends, pointers: counted.pointers() })
    }

    /// How much is copied.
    pub(super) fn total(&self) -> usize {
        self.ends.last().map_or(0, |end| end.get())
    }

    /// The pattern with these segments of its last level, and dimensions of these sizes, and their values;
    /// `None` if that level has no segments.
    pub(super) fn cut(self, s: &Sparse, dims: &[Dim]) -> Result<Option<(Pattern, Strided)>> {
        let Some((Level::Sparse { indices, .. }, above)) = s.pattern.levels.split_last() else { return Ok(None) };
        let (level_dims, positions) = (s.pattern.level_dims, self.total());
        let wide = is_wide(s, dims, positions);
        let values = self.values(&s.values)?;
        let indices = indices.mapped(|i| self.indices(i.widened(wide).as_slice()));
        let pointers = Indices::from(self.pointers).widened(wide);
        let level = Level::Sparse { pointers: Some(pointers), indices, ordered: true, unique: true };
        let mut levels = above.to_vec();
        levels.push(level);
        let pattern = Pattern { levels, dims: dims.to_vec(), level_dims, positions };
        Ok(Some((pattern, values)))
    }

    /// Rows of the copy from the `first` on, as many as there is room for.
    fn copy(&self, source: &[u8], row: usize, first: usize, out: &mut [u8]) {
        let stop = first + out.len() / row;
        let (at, last) =
            (self.ends.partition_point(|end| end.get() <= first), self.ends.partition_point(|end| end.get() < stop));
        let from = |place: usize, run: usize| &source[(self.starts[run].get() + place - self.begin_of(run)) * row..];
        if at == last {
            return out.copy_from_slice(&from(first, at)[..out.len()]);
        }
        // The rest of one run, several whole ones, and what fits of the last.
        let (rest, out) = out.split_at_mut((self.ends[at].get() - first) * row);
        let (whole, begun) = out.split_at_mut((self.begin_of(last) - self.ends[at].get()) * row);
        rest.copy_from_slice(&from(first, at)[..rest.len()]);
        let (starts, ends) = (&self.starts[at + 1..last], &self.ends[at + 1..last]);
        copy_runs(source, row, starts, ends, self.ends[at].get(), whole);
        begun.copy_from_slice(&from(self.begin_of(last), last)[..begun.len()]);
    }

    fn begin_of(&self, run: usize) -> usize {
        if run == 0 { 0 } else { self.ends[run - 1].get() }
    }

    fn indices(&self, source: IndexSlice<'_>) -> Indices {
        with_index!(source, s => self.typed(s))
    }

    fn typed<I: Index>(&self, source: &[I]) -> Indices {
        let mut out = Scratch::<I>::any(self.total());
        let source = bytemuck::cast_slice(source);
        parallel::for_chunks_mut(&mut out, 1, GRAIN, &|first, out| {
            self.copy(source, size_of::<I>(), first, bytemuck::cast_slice_mut(out));
        });
        out.into()
    }

    fn values(&self, values: &Strided) -> Result<Strided> {
        let mut shape = values.shape.clone();
        shape[0] = self.total();
        if values.strides[0] == 0 && values.shape[0] > 0 {
            return Ok(Strided { shape, ..values.clone() });
        }
        let row = count(&values.shape[1..]).saturating_mul(values.dtype.size());
        let source = values.dense_bytes()?;
        dense_len(&shape, values.dtype)?;
        let buffer = Buffer::filled(self.total() * row, values.dtype.size(), |out| {
            let grain = GRAIN * size_of::<f64>() / row.max(size_of::<f64>());
            parallel::for_chunks_mut(out, row, grain, &|first, out| self.copy(&source, row, first, out));
        })?;
        Ok(Strided::new(buffer, values.dtype, shape))
    }
}

/// Whether so many elements in dimensions of these sizes need wide indices: all arrays of a pattern are of one width.
fn is_wide(s: &Sparse, dims: &[Dim], positions: usize) -> bool {
    needs_64_bits(positions, dims[..s.pattern.level_dims].iter().map(|d| d.size)) || s.pattern.is_wide()
}
