//! A window along one axis.

use crate::base::mapped::Mapped;
use std::ops::Range;
use std::sync::Arc;

use openwork_ops::structure::{Index, IndexVec, window};
use openwork_ops::with_index;

use super::held::{Held, Stepped};
use crate::base::axes::Axis;
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::engine::unblock::unblocked;
use crate::levels::build::{self, SortedKeys};
use crate::levels::counted::Counted;
use crate::levels::indices::Indices;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::{Level, LevelKind, freed};
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::levels::sort;
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Shape: a window of one axis
impl Tensor {
    /// A window of one axis: the elements `range` of it.
    ///
    /// A view where no index must move: strided tensors, value axes, and the outermost axis where its level is dense
    /// (rows of CSR, columns of CSC, batches, rows of whole blocks of BSR). Then pointers, indices and values are windows of
    /// the same memory. Where that level is sorted (rows of COO and DCSR) only its coordinates inside the range are copied.
    /// Columns of CSR (rows of CSC) copy a stretch of each segment, at O(pointers · log + what is copied). Elsewhere the
    /// stored elements inside the range are copied, at O(nse). A range that cuts blocks gives coordinates (COO), at the cost
    /// of the blocks it meets.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1, 0, 2], [0, 0, 3], [4, 5, 0]; Layout::Csr, 0]?;
    /// let rows = x.narrow(1..3, 0)?; // a view
    /// assert_eq!((rows.layout(), rows.to_vec::<i32>()?), (Layout::Csr, vec![0, 0, 3, 4, 5, 0]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, or the range is not inside it.
    #[doc(alias("select"))]
    pub fn narrow(&self, range: Range<usize>, axis: impl Into<Axis>) -> Result<Tensor> {
        self.window(range, axis.into())
    }

    fn window(&self, range: Range<usize>, axis: Axis) -> Result<Tensor> {
        let call = trace::call("narrow", &[self]);
        let axis = axis.of(self.ndim())?;
        let size = self.shape()[axis];
        if range.start > range.end || range.end > size {
            let why = format!("{}..{} is not inside axis {axis} of size {size}", range.start, range.end);
            return Err(error::invalid("range", why));
        }
        let out = match &self.storage {
            _ if range == (0..size) => self.clone(),
            Storage::Strided(s) => Tensor::from_strided(s.narrow(axis, range)),
            Storage::Sparse(s) => match view(s, axis, &range) {
                Some(out) => out.into(),
                None => copied(s, axis, std::slice::from_ref(&range))?
                    .pop()
                    .ok_or_else(|| error::layout("one window is one part"))?,
            },
        };
        Ok(call.done(out))
    }
}

fn narrowed_shape(s: &Sparse, axis: usize, range: &Range<usize>) -> Vec<usize> {
    let mut shape = s.shape.to_vec();
    shape[axis] = range.len();
    shape
}

fn narrowed_fill(s: &Sparse, axis: usize, range: &Range<usize>) -> Fill {
    match (&s.fill, s.fill_values()) {
        (Fill::Array(_), Some(values)) if !s.shape.contains(&0) && !range.is_empty() => {
            fill_of(&values.narrow(axis, range.clone()))
        }
        (Fill::Array(values), _) => Fill::Scalar(openwork_ops::Scalar::zero(values.dtype())), // nothing is left
        (fill, _) => fill.clone(),
    }
}

/// The dimensions with another size along one axis, of which they hold whole blocks.
pub(super) fn narrowed_dims(p: &Pattern, axis: usize, size: usize) -> Vec<Dim> {
    p.dims.mapped(|d| match d.part {
        Part::Whole | Part::Div(_) if d.axis == axis => Dim { size: size / along(*d), ..*d },
        _ => *d,
    })
}

/// Indices of an axis to each one of its dimension.
fn along(d: Dim) -> usize {
    if let Part::Div(size) = d.part { size } else { 1 }
}

/// A range of an axis in indices of this dimension, if these are those of its elements or blocks, and none of them is cut.
fn in_steps(d: Dim, axis: usize, range: &Range<usize>) -> Option<Range<usize>> {
    let step = along(d);
    let is_whole =
        !matches!(d.part, Part::Mod(_)) && range.start.is_multiple_of(step) && range.end.is_multiple_of(step);
    let before = if faults::is(Fault::BlocksWindowed) && step > 1 { range.start / step } else { 0 };
    (d.axis == axis && is_whole).then(|| range.start / step - before..range.end / step - before)
}

/// A window for which nothing but coordinates need be copied.
fn view(s: &Sparse, axis: usize, range: &Range<usize>) -> Option<Sparse> {
    values_window(s, axis, range).or_else(|| root_window(s, axis, range))
}

/// A window of a value axis.
fn values_window(s: &Sparse, axis: usize, range: &Range<usize>) -> Option<Sparse> {
    let place = s.pattern.value_dims().iter().position(|d| (d.axis, d.part) == (axis, Part::Whole))?;
    let pattern = Pattern { dims: narrowed_dims(&s.pattern, axis, range.len()), ..(*s.pattern).clone() };
    Some(Sparse {
        shape: narrowed_shape(s, axis, range).into(),
        pattern: Arc::new(pattern),
        values: s.values.narrow(place + 1, range.clone()),
        fill: narrowed_fill(s, axis, range),
    })
}

/// A window of the outermost level, if that is dense or sorted: every array below it is cut, none is copied but the coordinates
/// along the axis of one that is sorted.
fn root_window(s: &Sparse, axis: usize, range: &Range<usize>) -> Option<Sparse> {
    let p = &s.pattern;
    let steps = in_steps(*p.dims.first()?, axis, range)?;
    let (root, mut window) = match p.levels.first()? {
        Level::Dense => (Level::Dense, steps),
        Level::Sparse { pointers: None, indices, ordered: true, unique } => sorted_window(indices, *unique, &steps)?,
        _ => return None,
    };
    let mut levels = vec![root];
    for (level, first) in p.levels.iter().zip(p.first_dims()).skip(1) {
        let (level, below) = level.under(window, &p.dims[first..]);
        levels.push(level);
        window = below;
    }
    let dims = narrowed_dims(p, axis, range.len());
    let pattern = Pattern { levels, dims, level_dims: p.level_dims, positions: window.len() };
    Some(Sparse {
        shape: narrowed_shape(s, axis, range).into(),
        pattern: Arc::new(pattern),
        values: s.values.narrow(0, window),
        fill: narrowed_fill(s, axis, range),
    })
}

fn views(s: &Sparse, axis: usize, ranges: &[Range<usize>]) -> Option<Vec<Sparse>> {
    ranges.iter().map(|range| view(s, axis, range)).collect()
}

/// The part of sorted tuples whose first coordinates are in a range, and which they are.
fn sorted_window(indices: &[Indices], unique: bool, range: &Range<usize>) -> Option<(Level, Range<usize>)> {
    let (first, others) = indices.split_first()?;
    let (window, first): (_, Indices) = with_index!(first.as_slice(), all => {
        let below = |end: usize| all.partition_point(|c| c.get() < end);
        let window = below(range.start)..below(range.end);
        let moved = all[window.clone()].iter().map(|c| Index::new(c.get() - range.start)).collect();
        (window, same_type(all, moved).into())
    });
    let others = others.iter().map(|array| array.slice(window.clone()));
    let indices = std::iter::once(first).chain(others).collect();
    Some((Level::Sparse { pointers: None, indices, ordered: true, unique }, window))
}

pub(super) fn same_type<I: Index>(_: &[I], entries: Vec<I>) -> IndexVec {
    I::vec(entries)
}

/// Windows of the last level, if that is compressed under dense ones: a stretch of each segment is copied.
fn segments_windows(s: &Sparse, axis: usize, ranges: &[Range<usize>]) -> Option<Vec<Sparse>> {
    let p = &s.pattern;
    let (Level::Sparse { pointers: Some(pointers), indices, ordered: true, unique }, above) = p.levels.split_last()?
    else {
        return None;
    };
    let own = *p.dims.get(p.level_dims - 1)?;
    let steps: Vec<Range<usize>> = ranges.iter().map(|range| in_steps(own, axis, range)).collect::<Option<_>>()?;
    if indices.len() != 1 || above.iter().any(|l| l.kind() != LevelKind::Dense) {
        return None;
    }
    let iso = s.values.strides[0] == 0;
    let row = if iso { 0 } else { p.block() * s.dtype().size() };
    let dense = if iso { None } else { Some(s.values.dense_bytes().ok()?) };
    let values = (dense.as_deref().unwrap_or_default(), row);
    let found = with_index!(pointers.as_slice(), p => copy_segments(p, indices[0].typed(), values, &steps, *unique));
    let window = |((level, values), range): ((Level, Buffer), &Range<usize>)| {
        let mut shape = s.values.shape.clone();
        shape[0] = if let Level::Sparse { indices, .. } = &level { indices[0].len() } else { 0 };
        let positions = shape[0];
        let values = if iso { Strided { shape, ..s.values.clone() } } else { Strided::new(values, s.dtype(), shape) };
        let levels = above.iter().cloned().chain([level]).collect();
        let dims = narrowed_dims(p, axis, range.len());
        let pattern = Arc::new(Pattern { levels, dims, level_dims: p.level_dims, positions });
        Sparse { shape: narrowed_shape(s, axis, range).into(), pattern, values, fill: narrowed_fill(s, axis, range) }
    };
    Some(found.into_iter().zip(ranges).map(window).collect())
}

/// The part of each segment in each window: its level, and the rows of values.
fn copy_segments<I: Index>(
    pointers: &[I],
    indices: &[I],
    (values, row): (&[u8], usize),
    ranges: &[Range<usize>],
    unique: bool,
) -> Vec<(Level, Buffer)> {
    let base = pointers[0].get();
    let n = pointers.len() - 1;
    let mut parts = Scratch::<[I; 2]>::any(n);
    // Segments differ in length: pieces of a few thousand even that out.
    let grain = GRAIN / 8;
    let cuts: Vec<usize> = (0..n).step_by(GRAIN).map(|first| n.min(first + GRAIN)).collect();
    let mut out = Vec::with_capacity(ranges.len());
    for (w, range) in ranges.iter().enumerate() {
        // What begins where the window before it ended need not be looked for.
        let follows = w > 0 && ranges[w - 1].end == range.start;
        parallel::for_chunks_mut(&mut parts, 1, grain, &|first, out| {
            let pointers = &pointers[first..=first + out.len()];
            if follows {
                window::following(pointers, base, indices, range.end, out);
            } else {
                window::within(pointers, base, indices, range, out);
            }
        });
        let counted = Counted::<I>::new(&cuts, &|segments, ends| {
            let mut total = 0;
            for (end, part) in ends.iter_mut().zip(&parts[segments]) {
                total += part[1].get() - part[0].get();
                *end = I::new(total);
            }
            total
        });
        let kept = counted.total();
        let new = counted.pointers();
        let mut out_indices = Scratch::<I>::any(kept);
        let buffer = Buffer::filled_of_held(kept * row, row, |out| {
            let (mut to, mut rest, mut items) = (&mut out_indices[..], out, Vec::new());
            for first in (0..n).step_by(grain) {
                let last = (first + grain).min(n);
                let len = new[last].get() - new[first].get();
                let (own, others) = to.split_at_mut(len);
                let (rows, other_rows) = rest.split_at_mut(len * row);
                items.push((first..last, own, rows));
                (to, rest) = (others, other_rows);
            }
            parallel::for_each(items, &|_, (segments, own, rows)| {
                window::copy(&parts[segments], range.start, row, (indices, values), (own, rows));
            });
        });
        let (pointers, indices) = (new.into(), out_indices.into());
        out.push((Level::Sparse { pointers: Some(pointers), indices: vec![indices], ordered: true, unique }, buffer));
    }
    out
}

/// Copies what is stored inside each of several windows along one axis, which follow one another.
fn copied(s: &Sparse, axis: usize, ranges: &[Range<usize>]) -> Result<Vec<Tensor>> {
    if let Some(parts) = segments_windows(s, axis, ranges) {
        raise(Work::Specialised);
        return Ok(parts.into_iter().map(Into::into).collect());
    }
    // By pointers, and back to what lists rows or coordinates. Parts of blocks come as coordinates.
    let is_cut = s.pattern.dims.iter().any(|d| d.axis == axis && d.part != Part::Whole);
    if let ([range], true) = (ranges, is_cut)
        && let Some((part, within)) = blocks_around(s, axis, range)
    {
        return copied(&part, axis, &[within]);
    }
    let spec = if is_cut { LevelSpec::of_layout(Layout::Coo, &s.shape)? } else { s.pattern.spec() };
    let rows = if is_cut { unblocked(s) } else { convert::by_rows(s)? };
    let by_rows = |rows: &Sparse| views(rows, axis, ranges).or_else(|| segments_windows(rows, axis, ranges));
    match rows.as_ref().and_then(by_rows) {
        Some(parts) => {
            raise(Work::Specialised);
            parts.try_mapped(|part| convert::convert(part, &spec).map(Into::into))
        }
        None if is_cut => stored_inside(&convert::convert(s, &spec)?, axis, ranges),
        None => stored_inside(&convert::coalesce(s, openwork_ops::ReduceOp::Sum)?, axis, ranges),
    }
}

/// What is stored inside each of several windows along one axis, which follow one another: of a tensor without duplicates.
fn stored_inside(s: &Sparse, axis: usize, ranges: &[Range<usize>]) -> Result<Vec<Tensor>> {
    /// As many windows, each of which looks at all that is stored, are cut faster than by keys.
    const FEW: usize = 4;
    if ranges.len() <= FEW
        && let Some(held) = Held::of(&s.pattern, axis)
    {
        let window = |range: &Range<usize>| {
            let (pattern, values) = held.chosen(s, axis, Stepped { start: range.start, step: 1, len: range.len() })?;
            let (shape, fill) = (narrowed_shape(s, axis, range).into(), narrowed_fill(s, axis, range));
            Ok(Sparse { shape, pattern: Arc::new(pattern), values, fill }.into())
        };
        return ranges.try_mapped(window);
    }
    cut(s, axis, ranges)
}

/// The blocks that a range of an axis meets, where those are not all, and the range in these.
fn blocks_around(s: &Sparse, axis: usize, range: &Range<usize>) -> Option<(Sparse, Range<usize>)> {
    let size = s.pattern.dims.iter().find(|d| d.axis == axis && matches!(d.part, Part::Div(_))).map(|d| along(*d))?;
    let start = range.start - range.start % size;
    let around = start..range.end.next_multiple_of(size);
    let is_less = around != (0..s.shape[axis]) && around != *range;
    let part = || view(s, axis, &around).or_else(|| segments_windows(s, axis, std::slice::from_ref(&around))?.pop());
    is_less.then(part)?.map(|part| (part, range.start - start..range.end - start))
}

/// Several windows along one axis, one after the other, each as [`Tensor::narrow`] gives it. Where that copies what is
/// stored, all are copied in one pass.
pub(super) fn windows(x: &Tensor, axis: usize, ranges: &[Range<usize>]) -> Result<Vec<Tensor>> {
    match x.sparse() {
        Some(s) if ranges.len() > 1 => match views(s, axis, ranges) {
            Some(parts) => Ok(parts.into_iter().map(Into::into).collect()),
            None => copied(s, axis, ranges),
        },
        _ => ranges.iter().map(|range| x.narrow(range.clone(), axis)).collect(),
    }
}

/// The same of many windows, by keys. Cost: O(nse + windows).
fn cut(s: &Sparse, axis: usize, ranges: &[Range<usize>]) -> Result<Vec<Tensor>> {
    // The positions of each window, in order: counted, then put there.
    let coordinates = s.pattern.axis_coordinates(axis, s.ndim());
    let window = |c: u64| {
        let w = ranges.partition_point(|r| r.end as u64 <= c);
        (w < ranges.len() && ranges[w].start as u64 <= c).then_some(w)
    };
    let mut ends = vec![0usize; ranges.len() + 1];
    coordinates.iter().filter_map(|&c| window(c)).for_each(|w| ends[w + 1] += 1);
    for w in 0..ranges.len() {
        ends[w + 1] += ends[w];
    }
    let mut next = ends.clone();
    let mut positions = zeroed_vec::<u64>(ends[ranges.len()]);
    for (p, &c) in coordinates.iter().enumerate() {
        if let Some(w) = window(c) {
            positions[next[w]] = p as u64;
            next[w] += 1;
        }
    }
    let (layout, words) = s.pattern.own_keys();
    let field = s.pattern.level_dims().iter().position(|d| d.axis == axis).map(|d| layout.fields[d]);
    let part = |(w, range): (usize, &Range<usize>)| {
        let own = &positions[ends[w]..ends[w + 1]];
        let mut words: Vec<Vec<u64>> = words.iter().map(|word| own.mapped(|&p| word[p as usize])).collect();
        // Coordinates shrink by the start of the window: so do their fields.
        if let Some(field) = field {
            let shift = field.weight().wrapping_mul(range.start as u64);
            words[field.word].iter_mut().for_each(|w| *w = w.wrapping_sub(shift));
        }
        debug_assert_eq!(sort::runs(&words).len(), own.len() + 1);
        let keys = SortedKeys::new(&layout, &words);
        let dims = narrowed_dims(&s.pattern, axis, range.len());
        let pattern = build::build(&freed(s.pattern.kinds()), dims, &keys)?;
        let values = convert::gather_values(&s.values, &IndexVec::U64(own.to_vec()))?;
        let (shape, fill) = (narrowed_shape(s, axis, range), narrowed_fill(s, axis, range));
        Ok(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill }.into())
    };
    ranges.iter().enumerate().map(part).collect()
}
