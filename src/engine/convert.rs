//! Conversion between any two layouts, coalescing, and the ways between sparse and strided.

use crate::base::mapped::{Chosen, Mapped, partition_point};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use openwork_ops::structure::gather::{scatter_offsets, scatter_to_rows};
use openwork_ops::structure::keys::{KeyLayout, Order, order_of};
use openwork_ops::structure::{Index, IndexSlice, IndexVec};
use openwork_ops::{DType, Element, ReduceOp, identity, with_index};

use crate::base::buffer::{BYTES, Buffer, zeroed_vec};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
pub(crate) use crate::base::memory::dense_len;
use crate::base::pages::Scratch;
use crate::base::strided::Strided;
use crate::base::trace::{self, Work, raise};
use crate::base::{memory, parallel, shape};
use crate::engine::across::across;
use crate::engine::blocks::{self, Kernel, Source};
use crate::engine::recompress::{self, listed, listed_across, recompressed, recompressed_and_swapped, regrouped};
pub(crate) use crate::engine::sparsify::from_strided;
use crate::engine::transpose::swap_compressed;
use crate::engine::unblock::unblocked;
use crate::engine::{distribute, fold};
use crate::levels::build::{self, SortedKeys};
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::{Level, LevelKind, freed};
use crate::levels::pattern::{Dim, Part, Pattern, RowForm};
use crate::levels::retain::{self, Kept};
use crate::levels::sort;
use crate::tensor::Sparse;
use crate::tensor::fill::{Fill, fill_of};

/// A weighted dimension: one term of a linear form over coordinates.
type Term = (Dim, u64);

/// `Σ weight · part(coordinate)` for every position, or for every stored element with its value axes.
fn form(pattern: &Pattern, terms: &[Term], elements: bool) -> Vec<u64> {
    let mut weights = vec![0u64; pattern.dims.len()];
    let mut indirect = Vec::new();
    for &(dim, w) in terms {
        let same = |d: &Dim| (d.axis, d.part) == (dim.axis, dim.part);
        if dim.part == Part::Whole {
            for (weight, d) in weights.iter_mut().zip(&pattern.dims).filter(|(_, d)| d.axis == dim.axis) {
                *weight = weight.wrapping_add(w.wrapping_mul(d.step() as u64));
            }
        } else if let Some(d) = pattern.dims.iter().position(same) {
            weights[d] = weights[d].wrapping_add(w);
        } else {
            indirect.push((dim, w));
        }
    }
    let (of_levels, of_values) = weights.split_at(pattern.level_dims);
    let mut out = if elements && !of_values.is_empty() {
        let row = RowForm::new(pattern.value_dims().iter().map(|d| d.size).zip(of_values.iter().copied()).collect());
        let mut out = zeroed_vec(pattern.positions * row.len());
        parallel::for_chunks_mut(&mut out, 1, parallel::GRAIN, &|start, out| {
            pattern.linearize_elements(of_levels, &row, start, out);
        });
        out
    } else {
        pattern.linearize_all(of_levels)
    };
    for (dim, w) in indirect {
        let whole = Dim { part: Part::Whole, ..dim };
        let coordinates = form(pattern, &[(whole, 1)], elements);
        for (o, c) in out.iter_mut().zip(coordinates) {
            let part = match dim.part {
                Part::Whole => c,
                Part::Div(b) => c / b as u64,
                Part::Mod(b) => c % b as u64,
            };
            *o = o.wrapping_add(w.wrapping_mul(part));
        }
    }
    out
}

/// Sort keys over `dims`, which the levels hold, of every position of a pattern.
pub(crate) fn keys(pattern: &Pattern, dims: &[Dim]) -> (KeyLayout, Vec<Vec<u64>>) {
    keys_of(pattern, dims, false)
}

/// Sort keys over `dims` of every stored element.
///
/// # Errors
/// If memory has no room for an index per element: elements of an iso tensor may be many more than its bytes.
pub(crate) fn element_keys(s: &Sparse, dims: &[Dim]) -> Result<(KeyLayout, Vec<Vec<u64>>)> {
    let p = &s.pattern;
    // Keys, and their like while they are sorted.
    let width = 8 * (p.dims.len() + 4);
    let instead = "choose a layout that keeps rows of values whole, or take a part of the tensor first";
    memory::room(&s.shape, "an index of every stored element", &[p.positions, p.block()], width, instead)?;
    Ok(keys_of(p, dims, true))
}

/// How many low bits of keys over `dims` are settled by the order in which elements are stored: that of the `stored` dimensions. Where the
/// first few of `dims` are alike, storage order is that of the stored ones left, the first of which may be the rest of `dims`.
fn settled(pattern: &Pattern, stored: &[Dim], dims: &[Dim], layout: &KeyLayout) -> u32 {
    if !pattern.is_canonical() || layout.word_bits.len() != 1 {
        return 0;
    }
    let is_settled = |&first: &usize| {
        let (alike, rest) = dims.split_at(first);
        let left = stored.iter().filter(|dim| !alike.contains(dim));
        rest.iter().eq(left.take(rest.len()))
    };
    let first = (0..dims.len()).find(is_settled).unwrap_or(dims.len());
    layout.fields[first..].iter().map(|field| field.bits).sum()
}

fn keys_of(pattern: &Pattern, dims: &[Dim], elements: bool) -> (KeyLayout, Vec<Vec<u64>>) {
    raise(Work::Engine);
    let mut layout = KeyLayout::new(&dims.mapped(|d| d.size));
    layout.settled = settled(pattern, if elements { &pattern.dims } else { pattern.level_dims() }, dims, &layout);
    let words = (0..layout.word_bits.len())
        .map(|word| {
            let terms: Vec<Term> = dims
                .iter()
                .zip(&layout.fields)
                .filter(|(_, f)| f.word == word)
                .map(|(&d, f)| (d, f.weight()))
                .collect();
            form(pattern, &terms, elements)
        })
        .collect();
    (layout, words)
}

/// Converts to another level structure; the result is ordered and unique. Duplicates are summed.
pub(crate) fn convert(s: &Sparse, spec: &LevelSpec) -> Result<Sparse> {
    let is_canonical = s.pattern.is_canonical();
    if is_canonical && s.pattern.has_spec(spec) {
        return Ok(s.clone());
    }
    let dims = spec.resolve(&s.shape)?;
    if is_canonical && let Some(done) = swap_compressed(s, &spec.levels, &dims) {
        raise(Work::Engine);
        return Ok(done);
    }
    if is_canonical
        && let Some(done) = recompressed(s, &spec.levels, &dims)
            .or_else(|| recompressed_and_swapped(s, &spec.levels, &dims))
            .or_else(|| listed(s, &spec.levels, &dims))
            .or_else(|| listed_across(s, &spec.levels, &dims))
            .or_else(|| regrouped(s, &spec.levels, &dims))
            .or_else(|| across(s, &spec.levels, &dims))
    {
        raise(Work::Engine);
        return Ok(done);
    }
    if dims.iter().all(|d| d.part == Part::Whole)
        && let Some(rows) = unblocked(s)
    {
        raise(Work::Engine);
        return convert(&rows, spec);
    }
    let level_dims = spec.level_dims();
    let (wanted, have) = (&dims[level_dims..], s.pattern.value_dims());
    let from: Option<Vec<usize>> = wanted.iter().map(|d| have.iter().position(|h| h == d)).collect();
    match from {
        Some(from) if wanted.len() == have.len() => {
            let axes: Vec<usize> = std::iter::once(0).chain(from.iter().map(|d| d + 1)).collect();
            rows_to(s, s.values.permute(&axes), &spec.levels, dims, ReduceOp::Sum)
        }
        _ => elements_to(&coalesce(s, ReduceOp::Sum)?, &spec.levels, dims),
    }
}

/// A matrix of sorted coordinates or listed rows in compressed rows, where that is quick: see [`recompress::by_rows`].
pub(crate) fn by_rows(s: &Sparse) -> Result<Option<Sparse>> {
    recompress::by_rows(s, s.pattern.positions).map(|spec| convert(s, &spec)).transpose()
}

/// Converts to a layout by name; see [`convert`].
pub(crate) fn to_named(s: &Sparse, layout: Layout) -> Result<Cow<'_, Sparse>> {
    if s.pattern.is_canonical() && s.pattern.layout(&s.shape) == layout {
        return Ok(Cow::Borrowed(s));
    }
    convert(s, &LevelSpec::of_layout(layout, &s.shape)?).map(Cow::Owned)
}

/// A compressed copy of a canonical matrix in whose last level an axis is, if that comes first in storage: what slices along it store
/// lies together. `None` for anything else.
pub(crate) fn turned(s: &Sparse, axis: usize) -> Result<Option<Sparse>> {
    let spec = s.pattern.spec();
    let [first, last] = spec.dims[..] else { return Ok(None) };
    let is_compressed =
        spec.level_dims() == 2 && spec.levels.iter().any(|level| matches!(level, LevelKind::Sparse { .. }));
    // Pointers over the other axis are not to be many beside what is stored.
    let is_long = s.shape[last.0] / 4 > s.nse();
    if !s.pattern.is_canonical() || !is_compressed || first != (axis, Part::Whole) || last.1 != Part::Whole || is_long {
        return Ok(None);
    }
    let spec = LevelSpec { levels: vec![LevelKind::Dense, LevelKind::Sparse { rank: 1 }], dims: vec![last, first] };
    convert(s, &spec).map(Some)
}

/// Sorts and merges duplicates with `fold` (bool: `Sum` is "or"), keeping the level structure.
pub(crate) fn coalesce(s: &Sparse, fold: ReduceOp) -> Result<Sparse> {
    if s.pattern.is_canonical() {
        return Ok(s.clone());
    }
    rows_to(s, s.values.clone(), &s.pattern.kinds(), s.pattern.dims.clone(), fold)
}

/// The road that keeps rows of values whole: sort the keys, merge equal ones, build levels.
fn rows_to(s: &Sparse, values: Strided, kinds: &[LevelKind], dims: Vec<Dim>, op: ReduceOp) -> Result<Sparse> {
    let level_dims: usize = kinds.iter().map(|k| k.rank()).sum();
    let op = if faults::is(Fault::DuplicatesDropped) { ReduceOp::Max } else { op };
    let mut layout = KeyLayout::new(&dims[..level_dims].mapped(|d| d.size));
    layout.settled = settled(&s.pattern, s.pattern.level_dims(), &dims[..level_dims], &layout);
    if let Some(done) = distribute::merged(&s.pattern, &layout, &dims[..level_dims], &values, op)? {
        let words = [done.keys];
        let keys = SortedKeys::new(&layout, &words);
        let pattern = build::build(kinds, dims, &keys)?;
        return Ok(Sparse {
            shape: s.shape.clone(),
            pattern: Arc::new(pattern),
            values: done.values,
            fill: s.fill.clone(),
        });
    }
    let (layout, mut words) = keys(&s.pattern, &dims[..level_dims]);
    let mut values = values;
    let order = order_of(&words);
    if order == Order::Unsorted && !faults::is(Fault::NotSorted) {
        if values.strides[0] == 0 {
            words = sort::sort_keys(&layout, words).words; // an iso tensor: rows are alike
        } else {
            let row = crate::base::strided::count(&values.shape[1..]) * values.dtype.size();
            let sorted = sort::sort_rows(&layout, words, &values.dense_bytes()?, row);
            words = sorted.0;
            values = Strided::new(sorted.1, values.dtype, values.shape.clone());
        }
    }
    if order != Order::Strict {
        let runs = sort::runs(&words);
        let (n, firsts) = (values.shape[0], &runs[..runs.len() - 1]);
        if firsts.len() < n {
            values = fold::merge_rows(op, &values, &runs)?;
            words = words.mapped(|w| sort::pick(w, firsts));
        }
    }
    let keys = SortedKeys::new(&layout, &words);
    let pattern = build::build(kinds, dims, &keys)?;
    Ok(Sparse { shape: s.shape.clone(), pattern: Arc::new(pattern), values, fill: s.fill.clone() })
}

/// Rows `order[i]` of values; an iso tensor stays one.
pub(crate) fn gather_values(values: &Strided, order: &IndexVec) -> Result<Strided> {
    gather_at(values, order.as_slice())
}

/// As [`gather_values`], with the rows in a slice.
pub(crate) fn gather_at(values: &Strided, order: IndexSlice<'_>) -> Result<Strided> {
    let mut shape = values.shape.clone();
    let n = order.len();
    if values.strides[0] == 0 && values.shape[0] > 0 {
        shape[0] = n;
        return Ok(Strided { shape, ..values.clone() });
    }
    let dense = values.to_contiguous()?;
    let bytes = dense.contiguous_bytes().unwrap_or_default();
    shape[0] = 1;
    let row = crate::base::strided::count(&shape) * values.dtype.size();
    shape[0] = n;
    let first = if faults::is(Fault::GatherFirstRow) { vec![0; n] } else { Vec::new() };
    let order = if faults::is(Fault::GatherFirstRow) { IndexSlice::U64(&first) } else { order };
    dense_len(&shape, values.dtype)?;
    let width = values.dtype.size().max(BYTES);
    let buffer = Buffer::filled(n * row, width, |out| sort::gather(bytes, row, order, out))?;
    Ok(Strided::new(buffer, values.dtype, shape))
}

/// The road through single elements, where value axes change. The tensor has no duplicates.
fn elements_to(s: &Sparse, kinds: &[LevelKind], dims: Vec<Dim>) -> Result<Sparse> {
    let level_dims: usize = kinds.iter().map(|k| k.rank()).sum();
    let (layout, mut words) = element_keys(s, &dims[..level_dims])?;
    if dims.len() == level_dims {
        return single_elements(s, kinds, dims, (&layout, words));
    }
    let value_shape: Vec<usize> = dims[level_dims..].mapped(|d| d.size);
    let block = shape::product(value_shape.iter().copied());
    let strides = crate::base::strided::c_strides(&value_shape);
    let terms: Vec<Term> = dims[level_dims..].iter().zip(strides).map(|(&d, s)| (d, s as u64)).collect();
    let slots = form(&s.pattern, &terms, true);
    let n = slots.len();
    let order = match order_of(&words) {
        Order::Unsorted => {
            let sorted = sort::sort_keys(&layout, words);
            words = sorted.words;
            Some(sorted.order)
        }
        _ => None,
    };
    let runs = sort::runs(&words);
    let heads = &runs[..runs.len() - 1];
    if s.fill.is_undefined() && heads.len() * block != n {
        let why = format!(
            "{n} stored elements do not fill {} whole rows of {block}, and with an undefined fill a row cannot hold absent elements",
            heads.len()
        );
        return Err(error::layout(why));
    }
    let dtype = s.dtype();
    let what = format!("a row of {block} values for each of {} stored coordinates", heads.len());
    let all = memory::room(&s.shape, &what, &[heads.len(), block], dtype.size(), "choose coo")?;
    words = words.mapped(|w| sort::pick(w, heads));
    let pattern = Arc::new(build::build(kinds, dims, &SortedKeys::new(&layout, &words))?);
    // Where each sorted element goes: its row, and its slot in the row.
    let mut targets = vec![0u64; n];
    for (row, &head) in heads.iter().enumerate() {
        for (i, target) in targets[head..runs[row + 1]].iter_mut().enumerate() {
            let element = order.as_ref().map_or(head + i, |o| o.as_slice().get(head + i));
            *target = (row * block) as u64 + slots[element];
        }
    }
    let flat = s.values.reshape(&[n])?;
    let sorted = match &order {
        Some(order) => gather_values(&flat, order)?,
        None => flat,
    };
    let sorted = sorted.to_contiguous()?;
    let mut shape = vec![heads.len()];
    shape.extend(value_shape);
    let values = overlay_fill(s.fill_values().as_ref(), &pattern, all, dtype, |out| {
        scatter_offsets(sorted.contiguous_bytes().unwrap_or_default(), dtype.size(), &targets, out);
    })?;
    Ok(Sparse { shape: s.shape.clone(), pattern, values: Strided::new(values, dtype, shape), fill: s.fill.clone() })
}

/// A tensor without duplicates to one without value axes, by the keys of its elements: they keep their number, and only move.
fn single_elements(
    s: &Sparse,
    kinds: &[LevelKind],
    dims: Vec<Dim>,
    (layout, mut words): (&KeyLayout, Vec<Vec<u64>>),
) -> Result<Sparse> {
    let flat = s.values.reshape(&[s.nse()])?;
    let values = match order_of(&words) {
        Order::Unsorted => {
            let sorted = sort::sort_keys(layout, words);
            words = sorted.words;
            gather_values(&flat, &sorted.order)?
        }
        _ => flat,
    };
    let pattern = Arc::new(build::build(kinds, dims, &SortedKeys::new(layout, &words))?);
    Ok(Sparse { shape: s.shape.clone(), pattern, values, fill: s.fill.clone() })
}

/// A buffer of the fill at every element of a pattern, over which `write` puts what is stored.
fn overlay_fill(
    fill: Option<&Strided>,
    pattern: &Arc<Pattern>,
    n: usize,
    dtype: DType,
    write: impl FnOnce(&mut [u8]),
) -> Result<Buffer> {
    let Some(fill) = fill else { return Buffer::build(n * dtype.size(), write) };
    let filled = blocks::collect(n, Source::at(fill, pattern), dtype)?;
    let mut buffer = filled.buffer;
    if let Some(bytes) = buffer.unique_mut() {
        write(bytes);
    }
    Ok(buffer)
}

/// Elements that are written to their places at a time.
const SCATTERED: usize = 1 << 20;

/// Elements of a dense result that are written at a time, and how many stored ones of them.
const STRETCH: usize = 1 << 16;
const SOME: usize = 1 << 9;

/// The dense form. The tensor has a defined background (its own, or one the caller gives).
///
/// # Errors
/// If the dense form does not fit in memory.
pub(crate) fn to_strided(s: &Sparse, background: &Strided) -> Result<Strided> {
    let s = if s.pattern.is_canonical() { Cow::Borrowed(s) } else { Cow::Owned(coalesce(s, ReduceOp::Sum)?) };
    let dtype = s.dtype();
    let n = dense_len(&s.shape, dtype)?;
    trace::densified(n as u64);
    let strides: Vec<u64> = crate::base::strided::c_strides(&s.shape).mapped(|&x| x as u64);
    let (weights, row) = (s.pattern.level_weights(&strides), s.pattern.row_form(&strides));
    let (values, size, nse) = (s.values.dense_bytes()?, dtype.size(), s.nse());
    let core = background.unbroadcast();
    let zero = core.len() == 1 && core.at_offset(core.offset).to_bytes().0 == [0; 16];
    let fill = |start: usize, out: &mut [u8]| if zero { out.fill(0) } else { background.read(start, out) };
    let places = |elements: Range<usize>, places: &mut [u64]| {
        s.pattern.linearize_elements(&weights, &row, elements.start, &mut places[..elements.len()]);
    };
    let is_matrix = s.pattern.dims.iter().enumerate().all(|(axis, d)| *d == Dim::whole(axis, s.shape[axis]));
    if let ([Level::Dense, Level::Sparse { pointers: Some(pointers), indices, .. }], true) =
        (&s.pattern.levels[..], is_matrix)
        && let ([indices], &[rows, columns]) = (&indices[..], &s.shape[..])
        && (rows / 4 >= parallel::threads() || columns <= STRETCH)
    {
        // Some rows at a time: they are filled, and what is stored in them written, while they are in the cache.
        let buffer = Buffer::filled(n * size, size, |out| {
            let grain = (STRETCH / columns.max(1)).max(1);
            with_index!(pointers.as_slice(), pointers => {
                let (base, indices) = (pointers[0].get(), indices.typed());
                parallel::for_chunks_mut(out, columns * size, grain, &|first, out| {
                    fill(first * columns, out);
                    let ends = &pointers[first..=first + out.len() / (columns * size)];
                    let own = ends[0].get() - base..ends[ends.len() - 1].get() - base;
                    let values = &values[own.start * size..own.end * size];
                    let ends = if faults::is(Fault::RowsUnscattered) { &ends[1..] } else { ends };
                    scatter_to_rows(ends, &indices[own], values, size, columns, out);
                });
            });
        })?;
        return Ok(Strided::new(buffer, dtype, s.shape.clone()));
    }
    if s.pattern.is_in_c_order() {
        // A stretch of the result at a time: it is filled, and what is stored in it written, while it is in the cache.
        let buffer = Buffer::filled(n * size, size, |out| {
            let place = |element: usize| {
                let mut place = [0];
                places(element..element + 1, &mut place);
                place[0] as usize
            };
            parallel::for_chunks_mut(out, size, STRETCH, &|start, out| {
                fill(start, out);
                let first = |at: usize| partition_point(nse, |element| place(element) < at);
                let (mut at, end) = (first(start), first(start + out.len() / size));
                let mut own = [0; SOME];
                while at < end {
                    let own = &mut own[..SOME.min(end - at)];
                    places(at..at + own.len(), own);
                    own.iter_mut().for_each(|place| *place -= start as u64);
                    scatter_offsets(&values[at * size..(at + own.len()) * size], size, own, out);
                    at += own.len();
                }
            });
        })?;
        return Ok(Strided::new(buffer, dtype, s.shape.clone()));
    }
    let buffer = Buffer::build(n * size, |out| {
        if !zero {
            parallel::for_chunks_mut(out, size, parallel::GRAIN, &fill);
        }
        // Places of a part of the elements at a time, however many there are.
        let mut room = Scratch::any(nse.min(SCATTERED));
        for start in (0..nse).step_by(SCATTERED) {
            let room = &mut room[..SCATTERED.min(nse - start)];
            parallel::for_chunks_mut(room, 1, parallel::GRAIN, &|from, out| {
                places(start + from..start + from + out.len(), out);
            });
            scatter_offsets(&values[start * size..], size, room, out);
        }
    })?;
    Ok(Strided::new(buffer, dtype, s.shape.clone()))
}

/// Keys of C-order positions in a dense space.
pub(crate) fn unravel(positions: &[u64], shape: &[usize]) -> (KeyLayout, Vec<Vec<u64>>) {
    let layout = KeyLayout::new(shape);
    let mut words = Vec::with_capacity(layout.word_bits.len());
    for w in 0..layout.word_bits.len() {
        let mut word = zeroed_vec::<u64>(positions.len());
        parallel::for_chunks_mut(&mut word, 1, parallel::GRAIN, &|start, word| {
            unravel_word(&positions[start..start + word.len()], shape, &layout, w, word);
        });
        words.push(word);
    }
    (layout, words)
}

/// One word of these keys. Positions near each other differ in their last coordinate only, which needs no division.
fn unravel_word(positions: &[u64], shape: &[usize], layout: &KeyLayout, w: usize, word: &mut [u64]) {
    let (Some(&last), Some(field)) = (shape.last(), layout.fields.last()) else { return };
    let shift = if field.word == w { Some(field.shift) } else { None };
    // Where the last coordinate is 0, and the key there.
    let (mut base, mut of_base, mut is_known) = (0, 0, false);
    for (word, &p) in word.iter_mut().zip(positions) {
        if !is_known || p.wrapping_sub(base) >= last as u64 {
            let mut rest = p / last as u64;
            (base, of_base, is_known) = (p - p % last as u64, 0, true);
            for (field, &size) in layout.fields.iter().zip(shape).rev().skip(1) {
                if field.word == w {
                    of_base |= (rest % size as u64).checked_shl(field.shift).unwrap_or(0);
                }
                rest /= size as u64;
            }
        }
        *word = of_base | shift.map_or(0, |shift| (p - base).checked_shl(shift).unwrap_or(0));
    }
}

/// Keeps the rows for which `keep` holds. The tensor is ordered and unique.
pub(crate) fn select_rows(s: &Sparse, keep: &[usize]) -> Result<Sparse> {
    raise(Work::Engine);
    if keep.len() == s.pattern.positions {
        return Ok(s.clone());
    }
    let mut marked = vec![false; s.pattern.positions];
    keep.iter().for_each(|&k| marked[k] = true);
    retain_rows(s, &marked)
}

/// Keeps the rows that are marked. The tensor is ordered and unique.
///
/// Cost: O(nse) and one copy.
pub(crate) fn retain_rows(s: &Sparse, keep: &[bool]) -> Result<Sparse> {
    raise(Work::Engine);
    let kept = Kept::new(keep);
    if kept.len() == keep.len() {
        return Ok(s.clone());
    }
    let pattern = match retain::retain(&s.pattern, &kept) {
        Some(pattern) => pattern,
        None => {
            let (layout, words) = s.pattern.own_keys();
            let rows: Vec<usize> = (0..keep.len()).chosen(|&p| keep[p]);
            let words: Vec<Vec<u64>> = words.mapped(|w| sort::pick(w, &rows));
            let keys = SortedKeys::new(&layout, &words);
            build::build(&freed(s.pattern.kinds()), s.pattern.dims.clone(), &keys)?
        }
    };
    let mut shape = s.values.shape.clone();
    shape[0] = kept.len();
    let values = if s.values.strides[0] == 0 {
        Strided { shape, ..s.values.clone() } // an iso tensor: rows are alike
    } else {
        let row = crate::base::strided::count(&shape[1..]) * s.dtype().size();
        let source = s.values.dense_bytes()?;
        let filled = Buffer::filled(kept.len() * row, s.dtype().size(), |out| kept.copy(&source, row, out))?;
        Strided::new(filled, s.dtype(), shape)
    };
    Ok(Sparse { shape: s.shape.clone(), pattern: Arc::new(pattern), values, fill: s.fill.clone() })
}

/// Drops rows in which every element is the same as the fill.
pub(crate) fn prune(s: &Sparse) -> Result<Sparse> {
    let s = coalesce(s, ReduceOp::Sum)?;
    let Some(fill) = s.fill_values() else { return Ok(s) };
    let sources = [Source::values(&s.values), Source::at(&fill, &s.pattern)];
    let not_equal = openwork_ops::BinaryOp::Ne.kernel(s.dtype()).filter(|_| faults::is(Fault::PrunedByNotEqual));
    let differs = Kernel::Binary(not_equal.unwrap_or(identity::differs(s.dtype())));
    let mask = blocks::run(s.nse(), &sources, s.dtype(), DType::Bool, differs)?;
    let (mask, block) = (mask.bytes(), s.pattern.block());
    if block == 1 {
        return retain_rows(&s, bool::from_bytes(mask));
    }
    let mut keep = vec![false; s.pattern.positions];
    parallel::for_chunks_mut(&mut keep, 1, parallel::GRAIN, &|start, keep| {
        for (keep, p) in keep.iter_mut().zip(start..) {
            *keep = mask[p * block..(p + 1) * block].contains(&1);
        }
    });
    retain_rows(&s, &keep)
}

/// Values and fill cast, pattern shared.
pub(crate) fn cast_sparse(s: &Sparse, dtype: DType) -> Sparse {
    let fill = match &s.fill {
        Fill::Undefined => Fill::Undefined,
        Fill::Scalar(value) => Fill::Scalar(value.cast(dtype)),
        Fill::Array(values) => match values.strided() {
            Some(values) => fill_of(&values.cast(dtype)),
            None => s.fill.clone(),
        },
    };
    let via = if faults::is(Fault::CastThroughInt8) { DType::I8 } else { dtype };
    Sparse { shape: s.shape.clone(), pattern: s.pattern.clone(), values: s.values.cast(via).cast(dtype), fill }
}
