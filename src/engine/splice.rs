//! A few stored elements put in the place of others: what stays is copied as it lies, in runs, and nothing is merged or sorted.

use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

use openwork_ops::structure::Index;
use openwork_ops::with_index;

use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::Sparse;

/// Stored elements for each place that is looked up, from which on a look at all of them takes longer (`benches/order.rs`, `places`); and
/// where so few are stored that they lie in the first-level cache.
const FEW: usize = 32;
const FEW_IN_CACHE: usize = 4;
const IN_CACHE: usize = 1 << 12;

/// Elements that go from one segment, and those that come in their place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edit {
    pub(crate) segment: usize,
    /// The position from which on they go, or before which others come.
    pub(crate) at: usize,
    pub(crate) goes: usize,
    pub(crate) comes: usize,
}

/// What comes, in the order in which it is stored.
pub(crate) struct Coming<'a> {
    /// For each dimension of the last level, the coordinate along it; `None` where all that comes stands where what goes did.
    pub(crate) columns: Option<&'a [Vec<u64>]>,
    pub(crate) values: &'a [u8],
}

/// A tensor whose elements can be put in the place of others: tuples in order, each once, in segments below dense levels, if any; not
/// blocks, nor rows of value axes.
pub(crate) struct Spliced<'a> {
    s: &'a Sparse,
    pointers: Option<&'a Indices>,
    indices: &'a [Indices],
}

impl<'a> Spliced<'a> {
    /// `None` of another tensor, and where so many places are not few beside what is stored.
    pub(crate) fn new(s: &'a Sparse, places: usize) -> Option<Spliced<'a>> {
        let p = &*s.pattern;
        let (Level::Sparse { pointers, indices, .. }, above) = p.levels.split_last()? else { return None };
        let is_plain = above.iter().all(|level| matches!(level, Level::Dense))
            && p.level_dims == p.dims.len()
            && p.dims.iter().all(|d| d.part == Part::Whole)
            && p.is_canonical();
        let few = if p.positions <= IN_CACHE { FEW_IN_CACHE } else { FEW };
        let is_few = places.checked_mul(few).is_some_and(|n| n <= p.positions);
        (is_plain && is_few && !indices.is_empty()).then_some(Spliced { s, pointers: pointers.as_ref(), indices })
    }

    /// The dimensions of dense levels, and those of the tuples.
    pub(crate) fn dims(&self) -> (&'a [Dim], &'a [Dim]) {
        let dims = self.s.pattern.level_dims();
        dims.split_at(dims.len() - self.indices.len())
    }

    /// The positions of a segment.
    pub(crate) fn segment(&self, segment: usize) -> Range<usize> {
        match self.pointers {
            None => 0..self.s.pattern.positions,
            Some(pointers) => {
                let base = pointers.get(0);
                pointers.get(segment) - base..pointers.get(segment + 1) - base
            }
        }
    }

    /// The first of some positions of a segment whose tuple is not less than this one, and whether it is this one.
    pub(crate) fn find(&self, within: Range<usize>, tuple: &[u64]) -> (usize, bool) {
        let (mut low, mut high, mut found) = (within.start, within.end, false);
        while low < high {
            let middle = low.midpoint(high);
            let own = self.indices.iter().zip(tuple).map(|(column, &c)| (column.get(middle) as u64).cmp(&c));
            match own.fold(Ordering::Equal, Ordering::then) {
                Ordering::Less => low = middle + 1,
                order => (high, found) = (middle, order == Ordering::Equal),
            }
        }
        (low, found)
    }

    /// The tensor in which what some edits say has gone and come. They are in the order of what is stored.
    ///
    /// `None` where the arrays would need another width.
    ///
    /// Cost: a copy of what is stored, and the edits.
    pub(crate) fn with(&self, edits: &[Edit], coming: Coming<'_>) -> Result<Option<Sparse>> {
        raise(Work::Specialised);
        let (s, p) = (self.s, &*self.s.pattern);
        let runs = Runs::new(edits, p.positions);
        let values = if s.values.strides[0] == 0 && coming.values.is_empty() {
            Strided { shape: [runs.len][..].into(), ..s.values.clone() } // an iso tensor: rows are alike
        } else {
            let source = s.values.dense_bytes()?;
            Strided::new(runs.copied(&source, coming.values, s.dtype().size())?, s.dtype(), vec![runs.len])
        };
        let Some(columns) = coming.columns else { return Ok(Some(Sparse { values, ..s.clone() })) };
        let base = self.pointers.map_or(0, |pointers| pointers.get(0));
        let is_too_much = |own: &Indices, most: usize| !own.is_wide() && needs_64_bits(most, []);
        let beyond = self.indices.iter().zip(columns).any(|(own, new)| {
            let most = new.iter().max().map_or(0, |&most| most as usize);
            is_too_much(own, most)
        });
        if beyond || self.pointers.is_some_and(|own| is_too_much(own, base + runs.len)) {
            return Ok(None);
        }
        let mut indices = Vec::with_capacity(columns.len());
        for (own, new) in self.indices.iter().zip(columns) {
            indices.push(with_index!(own.as_slice(), own => runs.column(own, new))?);
        }
        let pointers = match self.pointers {
            Some(own) => Some(with_index!(own.as_slice(), own => shifted(own, edits))?),
            None => None,
        };
        let mut levels = p.levels[..p.levels.len() - 1].to_vec();
        levels.push(Level::Sparse { pointers, indices, ordered: true, unique: true });
        let pattern = Pattern { levels, dims: p.dims.clone(), level_dims: p.level_dims, positions: runs.len };
        Ok(Some(Sparse { shape: s.shape.clone(), pattern: Arc::new(pattern), values, fill: s.fill.clone() }))
    }
}

/// Pointers moved by what comes and goes in the segments before.
fn shifted<I: Index>(own: &[I], edits: &[Edit]) -> Result<Indices> {
    let mut shifts = vec![0isize];
    let mut shift = 0;
    shifts.extend(edits.iter().map(|edit| {
        shift += if faults::is(Fault::EditsUnshifted) { 0 } else { edit.comes as isize - edit.goes as isize };
        shift
    }));
    let width = size_of::<I>();
    let buffer = Buffer::filled(size_of_val(own), width, |out| {
        parallel::for_chunks_mut(out, width, GRAIN, &|first, out| {
            let out: &mut [I] = bytemuck::cast_slice_mut(out);
            let (mut at, end) = (first, first + out.len());
            let mut edit = edits.partition_point(|edit| edit.segment < first);
            while at < end {
                let stop = edits.get(edit).map_or(end, |edit| (edit.segment + 1).min(end));
                for (out, own) in out[at - first..stop - first].iter_mut().zip(&own[at..stop]) {
                    *out = I::new(own.get().wrapping_add_signed(shifts[edit]));
                }
                at = stop;
                edit += 1;
            }
        });
    })?;
    Ok(Indices::of_buffer(buffer, width == size_of::<u64>()))
}

/// Elements that follow each other in the result, and in what they are copied from.
#[derive(Clone, Copy)]
struct Run {
    /// Where they begin in the result.
    start: usize,
    from: usize,
    is_new: bool,
}

/// All of a result.
struct Runs {
    runs: Vec<Run>,
    len: usize,
}

impl Runs {
    fn new(edits: &[Edit], stored: usize) -> Runs {
        let (mut runs, mut len, mut from, mut new) = (Vec::with_capacity(2 * edits.len() + 1), 0, 0, 0);
        for edit in edits {
            runs.push(Run { start: len, from, is_new: false });
            len += edit.at - from;
            runs.push(Run { start: len, from: new, is_new: true });
            (len, new) = (len + edit.comes, new + edit.comes);
            from = edit.at + edit.goes;
        }
        runs.push(Run { start: len, from, is_new: false });
        Runs { runs, len: len + stored - from }
    }

    fn column<I: Index>(&self, own: &[I], new: &[u64]) -> Result<Indices> {
        let new: Vec<I> = new.mapped(|&c| I::new(c as usize));
        let buffer = self.copied(bytemuck::cast_slice(own), bytemuck::cast_slice(&new), size_of::<I>())?;
        Ok(Indices::of_buffer(buffer, size_of::<I>() == size_of::<u64>()))
    }

    fn copied(&self, own: &[u8], new: &[u8], width: usize) -> Result<Buffer> {
        Buffer::filled(self.len * width, width, |out| {
            parallel::for_chunks_mut(out, width, GRAIN, &|first, out| {
                let (mut at, end) = (first, first + out.len() / width);
                let mut run = self.runs.partition_point(|run| run.start <= first) - 1;
                while at < end {
                    let Run { start, from, is_new } = self.runs[run];
                    let stop = self.runs.get(run + 1).map_or(self.len, |next| next.start).min(end);
                    let source = if is_new { new } else { own };
                    let from = (from + at - start) * width;
                    let to = &mut out[(at - first) * width..(stop - first) * width];
                    to.copy_from_slice(&source[from..from + to.len()]);
                    (at, run) = (stop, run + 1);
                }
            });
        })
    }
}
