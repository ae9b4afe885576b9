//! Elements of one axis, chosen and put in another order: what flip, repeat, slices with a step and index lists share.
//!
//! Segments of rows are copied whole, those of columns renumbered, coordinates put in their new order group by group; the fill is chosen
//! from likewise.

use crate::base::mapped::Mapped;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use openwork_ops::structure::columns;
use openwork_ops::structure::gather::{gather_rows, repeat_rows};
use openwork_ops::structure::keys::{self, KeyLayout};
use openwork_ops::structure::{Index, IndexSlice, IndexVec};
use openwork_ops::{DType, ReduceOp, Scalar, with_index};

use crate::base::buffer::{BYTES, Buffer, zeroed_vec};
use crate::base::error::{self, Result};
use crate::base::memory;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, count, dense_len};
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::engine::value_rows::{place_of, with_rows};
use crate::family::shape::held::{Held, Stepped};
use crate::family::shape::runs::Runs;
use crate::family::shape::{along_segments, groups};
use crate::levels::build::{self, SortedKeys};
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::{Level, LevelKind, freed};
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::levels::sort;
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::{Sparse, Storage, Tensor};

/// What an axis of the result takes from the same axis of the operand. Everything named is inside.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Along<'a> {
    /// `start`, `start + step`, …: `len` elements.
    Step { start: usize, step: isize, len: usize },
    /// Each element so many times.
    Repeat { times: usize, len: usize },
    /// Element `i` is element `list[i]`.
    List(&'a [u64]),
    /// Element `i` goes to `i + by`, and those that would go beyond `len` to the front.
    Roll { by: usize, len: usize },
    /// All but these, which rise: `len` elements.
    Without { gone: &'a [u64], len: usize },
}

impl Along<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Along::Step { len, .. }
            | Along::Repeat { len, .. }
            | Along::Roll { len, .. }
            | Along::Without { len, .. } => *len,
            Along::List(list) => list.len(),
        }
    }

    /// Which element of the operand element `i` is.
    #[inline]
    pub(super) fn source(&self, i: usize) -> usize {
        match *self {
            Along::Step { start, step, .. } => start.wrapping_add_signed(step.wrapping_mul(i as isize)),
            Along::Repeat { times, .. } => i / times,
            Along::List(list) => list[i] as usize,
            Along::Roll { by, len } => {
                if i < by {
                    i + len - by
                } else {
                    i - by
                }
            }
            Along::Without { gone, .. } => {
                // So many are gone before it: those of which the places, without the gone, do not exceed it.
                let (mut low, mut high) = (0, gone.len());
                while low < high {
                    let middle = low.midpoint(high);
                    if gone[middle] as usize - middle <= i { low = middle + 1 } else { high = middle }
                }
                i + low
            }
        }
    }
}

/// The chosen elements of one axis, on any storage.
pub(crate) fn along(x: &Tensor, axis: usize, choice: &Along<'_>) -> Result<Tensor> {
    match &x.storage {
        Storage::Strided(s) => {
            let mut shape = s.shape.clone();
            shape[axis] = choice.len();
            dense_len(&shape, s.dtype)?;
            Ok(Tensor::from_strided(strided(s, axis, choice)?))
        }
        Storage::Sparse(s) => sparse(s, axis, choice).map(Tensor::from),
    }
}

/// Elements of a list that are few enough for all rows to be gone through in one loop.
const SHORT: usize = 64;

/// The chosen elements of one axis of an array: a view where they are evenly spaced, else a copy. Axes along which the
/// array does not vary stay so.
pub(crate) fn strided(x: &Strided, axis: usize, choice: &Along<'_>) -> Result<Strided> {
    let (n, len) = (x.shape[axis], choice.len());
    let mut view = x.clone();
    view.shape[axis] = len;
    if n <= 1 || x.strides[axis] == 0 {
        view.strides[axis] = 0;
        return Ok(view);
    }
    if let Along::Step { start, step, .. } = *choice {
        view.offset = view.offset.wrapping_add_signed(if len == 0 { 0 } else { start as isize * x.strides[axis] });
        view.strides[axis] *= step;
        return Ok(view);
    }
    let core = x.unbroadcast();
    let outer = count(&core.shape[..axis]);
    let inner = count(&core.shape[axis + 1..]).saturating_mul(x.dtype.size());
    dense_len(&[len], DType::U64)?;
    let list = match choice {
        Along::List(list) => Cow::Borrowed(*list),
        Along::Repeat { .. } => Cow::Borrowed(&[][..]),
        _ => Cow::Owned((0..len).map(|i| choice.source(i) as u64).collect()),
    };
    let source = core.dense_bytes()?;
    let mut shape = core.shape.clone();
    shape[axis] = len;
    let n_bytes = dense_len(&shape, x.dtype)? * x.dtype.size();
    let buffer = Buffer::filled(n_bytes, x.dtype.size().max(BYTES), |out| {
        if n_bytes > 0 && (1..SHORT).contains(&list.len()) {
            let grain = (GRAIN / len).max(1);
            return parallel::for_chunks_mut(out, len * inner, grain, &|first, out| {
                columns::choose(&source[first * n * inner..], n, &list, inner, out);
            });
        }
        let grain = (GRAIN * x.dtype.size() / inner.max(1)).max(1);
        parallel::for_chunks_mut(out, inner, grain, &|start, mut out| {
            if let Along::Repeat { times, .. } = *choice {
                // The arrays that lie one after the other are repeated as one.
                return repeat_rows(&source, inner, times, start, out);
            }
            let mut at = start;
            while !out.is_empty() {
                // Up to the end of the list, of one of the arrays that lie one after the other.
                let (o, i) = (at / len, at % len);
                let count = (len - i).min(out.len() / inner);
                let part;
                (part, out) = std::mem::take(&mut out).split_at_mut(count * inner);
                let own = &source[o * n * inner..(o + 1) * n * inner];
                match *choice {
                    Along::Repeat { times, .. } => repeat_rows(own, inner, times, i, part),
                    _ => gather_rows(own, inner, IndexSlice::U64(&list[i..i + count]), part),
                }
                at += count;
            }
        });
    })?;
    debug_assert_eq!(outer * len * inner, n_bytes);
    Ok(Strided::new(buffer, x.dtype, shape).broadcast(&view.shape))
}

/// A fill of another shape, mapped as the elements are.
pub(crate) fn map_fill(s: &Sparse, shape: &[usize], f: impl FnOnce(&Strided) -> Result<Strided>) -> Result<Fill> {
    Ok(match (&s.fill, s.fill_values()) {
        (Fill::Array(_), Some(values)) if !s.shape.contains(&0) && !shape.contains(&0) => fill_of(&f(&values)?),
        (Fill::Array(values), _) => Fill::Scalar(Scalar::zero(values.dtype())), // of no element
        (fill, _) => fill.clone(),
    })
}

/// Levels that hold every axis whole: where there are blocks, block rows become rows and block columns columns, or all
/// becomes coordinates.
pub(crate) fn unblocked(s: &Sparse) -> Result<LevelSpec> {
    let mut spec = s.pattern.spec();
    if spec.dims.iter().all(|d| d.1 == Part::Whole) {
        return Ok(spec);
    }
    let compressed = spec.levels.split_last().is_some_and(|(last, above)| {
        *last == (LevelKind::Sparse { rank: 1 }) && above.iter().all(|l| *l == LevelKind::Dense)
    });
    if !compressed || s.pattern.level_dims().iter().any(|d| matches!(d.part, Part::Mod(_))) {
        return LevelSpec::of_layout(Layout::Coo, &s.shape);
    }
    spec.dims.retain(|d| !matches!(d.1, Part::Mod(_)));
    spec.dims.iter_mut().for_each(|d| d.1 = Part::Whole);
    Ok(spec)
}

/// The same tensor without duplicates, in levels that hold the axes whole.
pub(crate) fn whole<'a>(s: &'a Sparse, axes: &[usize]) -> Result<Cow<'a, Sparse>> {
    if s.pattern.dims.iter().any(|d| axes.contains(&d.axis) && d.part != Part::Whole) {
        return convert::convert(s, &unblocked(s)?).map(Cow::Owned);
    }
    if s.pattern.is_canonical() { Ok(Cow::Borrowed(s)) } else { convert::coalesce(s, ReduceOp::Sum).map(Cow::Owned) }
}

/// A pattern and the rows of values it takes, from keys in any order, each with the row it came from. No key repeats.
pub(crate) fn rebuild(
    kinds: Vec<LevelKind>,
    dims: Vec<Dim>,
    layout: &KeyLayout,
    mut words: Vec<Vec<u64>>,
    from: Vec<u64>,
) -> Result<(Pattern, IndexVec)> {
    let mut order = IndexVec::U64(from);
    if keys::order_of(&words) == keys::Order::Unsorted {
        let sorted = sort::sort_keys(layout, words);
        words = sorted.words;
        order = with_index!(order.as_slice(), from => {
            with_index!(sorted.order.as_slice(), o => IndexVec::U64(o.iter().map(|&i| from[i.get()].get() as u64).collect()))
        });
    }
    debug_assert_ne!(keys::order_of(&words), keys::Order::Unsorted);
    let keys = SortedKeys::new(layout, &words);
    Ok((build::build(&freed(kinds), dims, &keys)?, order))
}

/// Bytes of a key and a position, before and after they are sorted.
const KEYED: usize = 24;

/// Whether that many copied keys and positions fit in memory, else the error.
pub(crate) fn fits(shape: &[usize], copies: Option<usize>) -> Result<usize> {
    copies.filter(|&n| memory::has_room(n, KEYED)).ok_or_else(|| {
        let count = copies.map_or(u128::MAX, |n| n as u128);
        memory::refused(shape, "an index of all copies of stored elements", count, KEYED, "repeat or choose fewer")
    })
}

fn sparse(s: &Sparse, axis: usize, choice: &Along<'_>) -> Result<Sparse> {
    let mut shape = s.shape.clone();
    shape[axis] = choice.len();
    let fill = map_fill(s, &shape, |values| strided(values, axis, choice))?;
    let resized = |p: &Pattern| -> Vec<Dim> {
        p.dims.mapped(|d| if d.axis == axis { Dim { size: choice.len(), ..*d } } else { *d })
    };
    if let Some(place) = place_of(s, axis) {
        let mut value_shape = s.values.shape.clone();
        value_shape[place] = choice.len();
        dense_len(&value_shape, s.dtype())?;
        return Ok(with_rows(s, strided(&s.values, place, choice)?, fill));
    }
    let positions = s.pattern.positions;
    if choice.len() / 4 <= positions
        && let Some(rows) = convert::by_rows(s)?
    {
        // By pointers, and back to what lists rows or coordinates.
        let chosen = sparse(&rows, axis, choice)?;
        return convert::convert(&chosen, &s.pattern.spec().freed());
    }
    let s = whole(s, &[axis])?;
    let dims = resized(&s.pattern);
    let by_segments = match root_rows(&s, axis, choice, &dims)? {
        None => along_segments::chosen(&s, axis, choice, &dims)?,
        rows => rows,
    };
    if let Some((pattern, values)) = by_segments {
        raise(Work::Specialised);
        return Ok(Sparse { shape, pattern: Arc::new(pattern), values, fill });
    }
    let Some(place) = s.pattern.level_dims().iter().position(|d| d.axis == axis) else {
        return Err(error::layout(format_args!("no level holds axis {axis}")));
    };
    raise(Work::Engine);
    if let Along::Step { start, step: step @ 1.., len } = *choice
        && let Some(held) = Held::of(&s.pattern, axis)
    {
        let (pattern, values) = held.chosen(&s, axis, Stepped { start, step: step.unsigned_abs(), len })?;
        return Ok(Sparse { shape, pattern: Arc::new(pattern), values, fill });
    }
    // By sorted coordinates, and back.
    let spec = s.pattern.spec().freed();
    let coordinates =
        LevelSpec { levels: vec![LevelKind::Sparse { rank: s.pattern.level_dims }], dims: spec.dims.clone() };
    let (pattern, values) = groups::chosen(&convert::convert(&s, &coordinates)?, place, choice, &dims)?;
    convert::convert(&Sparse { shape, pattern: Arc::new(pattern), values, fill }, &spec)
}

/// Where each value stands in a list.
pub(crate) struct Places {
    /// The places, those of one value together and rising.
    places: Vec<u64>,
    lookup: Lookup,
}

enum Lookup {
    /// Where the places of value `v` begin; one more entry than there are values.
    Table(Vec<u64>),
    /// The values, sorted.
    Sorted(Vec<u64>),
}

impl Places {
    /// Of a list of values below `n`, to be asked `asked` times.
    pub(crate) fn new(n: usize, list: &[u64], asked: usize) -> Places {
        if n <= 4 * (list.len() + asked) + 1024 {
            let mut starts = vec![0u64; n + 1];
            list.iter().for_each(|&v| starts[v as usize + 1] += 1);
            for v in 0..n {
                starts[v + 1] += starts[v];
            }
            let mut next = starts.clone();
            let mut places = zeroed_vec(list.len());
            for (i, &v) in list.iter().enumerate() {
                places[next[v as usize] as usize] = i as u64;
                next[v as usize] += 1;
            }
            return Places { places, lookup: Lookup::Table(starts) };
        }
        let sorted = sort::sort_keys(&KeyLayout::new(&[n]), vec![list.to_vec()]);
        let places = with_index!(sorted.order.as_slice(), o => o.iter().map(|&i| i.get() as u64).collect());
        Places { places, lookup: Lookup::Sorted(sorted.words.into_iter().flatten().collect()) }
    }

    pub(crate) fn of(&self, value: u64) -> &[u64] {
        match &self.lookup {
            Lookup::Table(starts) => &self.places[starts[value as usize] as usize..starts[value as usize + 1] as usize],
            Lookup::Sorted(values) => {
                let start = values.partition_point(|&v| v < value);
                let end = start + values[start..].partition_point(|&v| v == value);
                &self.places[start..end]
            }
        }
    }
}

/// The outermost axis, if its level is dense and all levels but the last are: segments are copied whole.
fn root_rows(s: &Sparse, axis: usize, choice: &Along<'_>, dims: &[Dim]) -> Result<Option<(Pattern, Strided)>> {
    let Some((Level::Sparse { pointers: Some(pointers), .. }, above)) = s.pattern.levels.split_last() else {
        return Ok(None);
    };
    if above.is_empty() || above.iter().any(|l| l.kind() != LevelKind::Dense) || dims[0].axis != axis {
        return Ok(None);
    }
    let inner = count(&dims[1..above.len()].mapped(|d| d.size));
    let too_many = || error::shape(&[&s.shape], "the rows of the result do not fit in memory: choose coo");
    let parents = choice.len().checked_mul(inner).filter(|&n| Buffer::is_possible(n.saturating_mul(16)));
    let parents = parents.ok_or_else(too_many)?;
    with_index!(pointers.as_slice(), p => chosen_rows(s, dims, p, (choice, inner), parents))
}

/// Rows of the choice, each of `inner` segments: `parents` of these together.
fn chosen_rows<I: Index>(
    s: &Sparse,
    dims: &[Dim],
    pointers: &[I],
    (choice, inner): (&Along<'_>, usize),
    parents: usize,
) -> Result<Option<(Pattern, Strided)>> {
    let base = pointers[0].get();
    let stretch = |of: usize| [pointers[of].get() - base, pointers[of + 1].get() - base];
    let stretches = |segments: Range<usize>, out: &mut [[usize; 2]]| match (choice, inner) {
        (Along::List(list), 1) => {
            out.iter_mut().zip(&list[segments]).for_each(|(out, &of)| *out = stretch(of as usize));
        }
        (Along::Step { .. }, 1) => out.iter_mut().zip(segments).for_each(|(out, i)| *out = stretch(choice.source(i))),
        _ => out.iter_mut().zip(segments).for_each(|(out, i)| {
            *out = stretch(choice.source(i / inner) * inner + i % inner);
        }),
    };
    match Runs::<I>::new(parents, &stretches) {
        Ok(runs) => {
            fits(&s.shape, Some(runs.total()))?;
            runs.cut(s, dims)
        }
        Err(total) => {
            fits(&s.shape, Some(total))?;
            let runs = Runs::<u64>::new(parents, &stretches);
            runs.map_err(|total| error::shape(&[&s.shape], format_args!("{total} elements are too many")))?.cut(s, dims)
        }
    }
}
