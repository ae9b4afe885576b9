//! Joined along an inner axis: the segments of compressed rows side by side, and rows of values.

use std::borrow::Cow;
use std::sync::Arc;

use openwork_ops::structure::Index;
use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::with_index;

use super::groups::gathered;
use super::join::{Piece, Stretch, agree, appended, iso, join_values, joined_fill, strided};
use crate::base::buffer::Buffer;
use crate::base::error::{Error, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::strided::{DenseBytes, Strided};
use crate::engine::convert;
use crate::engine::value_rows::place_of;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::layout::LevelSpec;
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::levels::{build, sort};
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor};

/// Whether two fills of one shape are the same elements, where one varies along an axis and the other does not.
fn are_equal(a: &Strided, b: &Strided) -> Result<bool> {
    let (a, b) = (a.unbroadcast(), b.unbroadcast());
    let shape: Vec<usize> = a.shape.iter().zip(&b.shape).map(|(&a, &b)| a.max(b)).collect();
    Ok(*a.broadcast(&shape).dense_bytes()? == *b.broadcast(&shape).dense_bytes()?)
}

/// Parts that store the same positions, joined along an axis of their rows of values. `None` of others, and where one would have to
/// store what its fill differs by.
pub(super) fn along_values(parts: &[Tensor], axis: usize, shape: &[usize]) -> Result<Option<Sparse>> {
    let Some(sparse) = parts.iter().map(Tensor::sparse).collect::<Option<Vec<_>>>() else { return Ok(None) };
    let first = sparse[0];
    let Some(place) = place_of(first, axis) else { return Ok(None) };
    let as_wide = |s: &Sparse| {
        let dims = s.pattern.dims.mapped(|d| if d.axis == axis { Dim { size: shape[axis], ..*d } } else { *d });
        Pattern { dims, ..(*s.pattern).clone() }
    };
    let pattern = as_wide(first);
    if shape.contains(&0) || sparse[1..].iter().any(|s| !as_wide(s).has_equal_arrays(&pattern)) {
        return Ok(None);
    }
    let fill = if sparse.iter().all(|s| s.fill.is_undefined()) {
        Fill::Undefined
    } else if sparse.iter().any(|s| s.fill.is_undefined()) {
        return Ok(None);
    } else {
        let with_elements: Vec<&Sparse> = sparse.iter().copied().filter(|s| !s.shape.contains(&0)).collect();
        // What is wrong with fills is said where parts are joined by coordinates.
        let Ok(Some(fill)) = joined_fill(parts, &with_elements, axis, shape, &pattern.spec()) else { return Ok(None) };
        let (all, mut at) = (fill.spread(shape), 0);
        for s in sparse.iter().filter(|s| !s.shape.contains(&0)) {
            let own = all.as_ref().map(|all| all.narrow(axis, at..at + s.shape[axis]));
            at += s.shape[axis];
            let is_own = |(a, b): (Strided, Strided)| Ok::<_, Error>(agree(&a, &b) || are_equal(&a, &b)?);
            if !s.fill_values().zip(own).map_or(Ok(false), is_own)? {
                return Ok(None);
            }
        }
        fill
    };
    let is_first = |s: &Sparse| faults::is(Fault::RowsOfFirst) && s.shape == first.shape;
    let rows: Vec<Tensor> =
        sparse.mapped(|s| Tensor::from_strided(if is_first(s) { &first.values } else { &s.values }.clone()));
    let values = strided(&rows, place, &pattern.stored_shape())?;
    Ok(Some(Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill }))
}

/// Coordinates joined along an axis that storage order does not follow first: what agrees in the axes before it is put together, part
/// by part. `None` where blocks divide an axis, and where the axes before it are too long for keys of one word.
pub(super) fn interleaved(
    pieces: &[Piece<'_>],
    axis: usize,
    shape: &[usize],
    spec: &LevelSpec,
) -> Result<Option<Sparse>> {
    let rank = spec.level_dims();
    let place = spec.dims[..rank].iter().position(|&dim| dim == (axis, Part::Whole));
    let Some(place) = place.filter(|_| spec.dims.iter().all(|dim| dim.1 == Part::Whole)) else { return Ok(None) };
    let sizes: Vec<usize> = spec.dims[..rank].iter().map(|dim| shape[dim.0]).collect();
    let layout = KeyLayout::new(&sizes[..place]);
    let &[bits] = &layout.word_bits[..] else { return Ok(None) };
    let coordinates = LevelSpec { levels: vec![LevelKind::Sparse { rank }], dims: spec.dims.clone() };
    let listed = |piece: &Piece<'_>| {
        let sparse = Cow::Owned(convert::convert(&piece.sparse, &coordinates)?);
        Ok::<_, Error>(Piece { sparse, offset: piece.offset.clone(), step: piece.step.clone() })
    };
    let pieces = pieces.try_mapped(listed)?;
    let positions = pieces.iter().map(|piece| piece.sparse.pattern.positions).sum();
    let weights: Vec<u64> = (0..rank).map(|d| layout.fields.get(d).map_or(0, |field| field.weight())).collect();
    let keys = pieces.mapped(|piece| piece.sparse.pattern.linearized(&weights));
    let (dims, wide) = (coordinates.resolve(shape)?, needs_64_bits(positions, sizes));
    let (indices, values) = match in_stretches(&pieces, &keys, bits, (axis, place), wide) {
        Some(joined) => joined,
        None => {
            let order = sort::merged(keys, bits);
            let column = |d: usize| {
                let stretches = pieces.iter().filter_map(|piece| {
                    let add = if d == place { piece.offset[axis] as isize } else { 0 };
                    Some(Stretch { array: column_of(piece, d)?, skip: 0, add })
                });
                gathered(&appended(&stretches.collect::<Vec<_>>(), wide), order.as_slice())
            };
            ((0..rank).mapped(column), convert::gather_at(&join_values(&pieces)?, order.as_slice())?)
        }
    };
    let levels = vec![Level::Sparse { pointers: None, indices, ordered: true, unique: true }];
    let pattern = Pattern { levels, dims, level_dims: rank, positions };
    let fill = Fill::Undefined; // whose the caller knows
    convert::convert(&Sparse { shape: shape.into(), pattern: Arc::new(pattern), values, fill }, spec).map(Some)
}

/// A column of a part's coordinates, or of its last level's.
fn column_of<'p>(piece: &'p Piece<'_>, d: usize) -> Option<&'p Indices> {
    let Some(Level::Sparse { indices, .. }) = piece.sparse.pattern.levels.last() else { return None };
    indices.get(d)
}

/// The columns and values of coordinates joined, where rising keys of so many bits say what is put together: the stretches of each key
/// are copied. `None` where keys that none has would be gone through.
fn in_stretches(
    pieces: &[Piece<'_>],
    keys: &[Scratch<u64>],
    bits: u32,
    (axis, place): (usize, usize),
    wide: bool,
) -> Option<(Vec<Indices>, Strided)> {
    let positions: usize = keys.iter().map(|keys| keys.len()).sum();
    let rows =
        1usize.checked_shl(bits).filter(|rows| rows.checked_mul(pieces.len()).is_some_and(|n| n / 4 <= positions))?;
    let pointers = |keys: &Scratch<u64>| build::pointers(keys.len(), |i| keys[i], rows, wide);
    let pointers = keys.iter().map(pointers).collect::<Option<Vec<_>>>()?;
    let rank = pieces.first()?.sparse.pattern.level_dims;
    let mut values = None;
    let columns = (0..rank).map(|d| {
        let of = |(piece, pointers): (&Piece<'_>, &Indices)| {
            Some((pointers.clone(), column_of(piece, d)?.clone(), if d == place { piece.offset[axis] } else { 0 }))
        };
        let arrays = pieces.iter().zip(&pointers).map(of).collect::<Option<Vec<_>>>()?;
        let found = joined(pieces, arrays, wide, d == place)?;
        values = found.values.or(values.take());
        Some(found.columns)
    });
    let columns = columns.collect::<Option<Vec<_>>>()?;
    Some((columns, values?))
}

/// Joined along a dense axis below another: what each part has under a node above it is copied as it lies.
pub(super) fn under_dense(pieces: &[Piece<'_>], axis: usize, shape: &[usize]) -> Option<(Pattern, Strided)> {
    let p = &pieces.first()?.sparse.pattern;
    let (Level::Sparse { pointers: Some(_), indices, .. }, above) = p.levels.split_last()? else { return None };
    let dense = p.dims.get(..above.len())?;
    let at = dense.iter().position(|d| (d.axis, d.part) == (axis, Part::Whole)).filter(|&at| at > 0)?;
    if indices.len() != 1 || above.iter().any(|level| !matches!(level, Level::Dense)) {
        return None;
    }
    let nodes = |dims: &[Dim]| dims.iter().map(|d| d.size).product::<usize>();
    let (outer, inner) = (nodes(&dense[..at]), nodes(&dense[at + 1..]));
    let mut dims = p.dims.clone();
    dims[at].size = shape[axis];
    let positions: usize = pieces.iter().map(|piece| piece.sparse.pattern.positions).sum();
    let wide = needs_64_bits(positions, dims[..p.level_dims].iter().map(|d| d.size));
    let sizes = pieces.mapped(|piece| piece.sparse.shape[axis] * inner);
    let own_pointers = |piece: &Piece<'_>| match piece.sparse.pattern.levels.last() {
        Some(Level::Sparse { pointers: Some(pointers), .. }) => of_width(pointers, wide),
        _ => None,
    };
    let fine = pieces.iter().map(own_pointers).collect::<Option<Vec<_>>>()?;
    fn every<I: Index>(pointers: &[I], step: usize, outer: usize) -> Indices {
        let mut out = Scratch::<I>::any(outer + 1);
        out.iter_mut().enumerate().for_each(|(n, out)| *out = pointers[n * step]);
        out.into()
    }
    let coarse = fine.iter().zip(&sizes).map(|(fine, &step)| with_index!(fine.as_slice(), p => every(p, step, outer)));
    let arrays = coarse.zip(pieces).map(|(coarse, piece)| Some((coarse, column_of(piece, 0)?.clone(), 0)));
    let found = joined(pieces, arrays.collect::<Option<Vec<_>>>()?, wide, true)?;
    // Where each segment ends: those of every part under one node after the other.
    fn finer<I: Index>(parts: &[Indices], sizes: &[usize], outer: usize) -> Indices {
        let parts: Vec<&[I]> = parts.mapped(|part| part.typed());
        let mut out = Scratch::<I>::any(outer * sizes.iter().sum::<usize>() + 1);
        let (mut rest, mut end) = (&mut out[1..], 0);
        for n in 0..outer {
            for (part, &size) in parts.iter().zip(sizes) {
                let (own, others) = std::mem::take(&mut rest).split_at_mut(size);
                let from = &part[n * size..=(n + 1) * size];
                own.iter_mut().zip(&from[1..]).for_each(|(out, p)| *out = I::new(end + p.get() - from[0].get()));
                end += from[size].get() - from[0].get();
                rest = others;
            }
        }
        out[0] = I::default();
        out.into()
    }
    let pointers = if wide { finer::<u64>(&fine, &sizes, outer) } else { finer::<u32>(&fine, &sizes, outer) };
    let last = Level::Sparse { pointers: Some(pointers), indices: vec![found.columns], ordered: true, unique: true };
    let levels = above.iter().cloned().chain([last]).collect();
    Some((Pattern { levels, dims, level_dims: p.level_dims, positions }, found.values?))
}

/// Compressed rows joined along the columns: the segments of each row one after the other.
pub(super) fn side_by_side(pieces: &[Piece<'_>], axis: usize, shape: &[usize]) -> Option<(Pattern, Strided)> {
    let first = &pieces.first()?.sparse;
    let p = &first.pattern;
    let above = p.levels.split_last()?.1;
    let own = p.dims.get(p.level_dims - 1).is_some_and(|d| (d.axis, d.part) == (axis, Part::Whole));
    if !own || above.is_empty() || above.iter().any(|l| l.kind() != LevelKind::Dense) {
        return None;
    }
    let positions = pieces.iter().map(|p| p.sparse.pattern.positions).sum();
    let mut dims = p.dims.clone();
    dims[p.level_dims - 1].size = shape[axis];
    let wide = needs_64_bits(positions, dims[..p.level_dims].iter().map(|d| d.size));
    let arrays = pieces.iter().map(|piece| {
        let Some(Level::Sparse { pointers: Some(pointers), indices, .. }) = piece.sparse.pattern.levels.last() else {
            return None;
        };
        let [columns] = &indices[..] else { return None };
        Some((pointers.clone(), columns.clone(), piece.offset[axis]))
    });
    let found = joined(pieces, arrays.collect::<Option<Vec<_>>>()?, wide, true)?;
    let last =
        Level::Sparse { pointers: Some(found.pointers), indices: vec![found.columns], ordered: true, unique: true };
    let levels = above.iter().cloned().chain([last]).collect();
    Some((Pattern { levels, dims, level_dims: p.level_dims, positions }, found.values?))
}

/// An array with all entries of a width, if they fit.
fn of_width(array: &Indices, wide: bool) -> Option<Indices> {
    if wide { Some(array.widened(true)) } else { array.narrowed() }
}

/// Segments of several parts joined.
struct Joined {
    pointers: Indices,
    columns: Indices,
    values: Option<Strided>,
}

/// As many segments as each part has, joined: their pointers, their coordinates and what is added to these. With the values, if asked for.
fn joined(
    pieces: &[Piece<'_>],
    arrays: Vec<(Indices, Indices, usize)>,
    wide: bool,
    with_values: bool,
) -> Option<Joined> {
    let first = &pieces.first()?.sparse;
    let mut shape = first.values.shape.clone();
    shape[0] = pieces.iter().map(|piece| piece.sparse.pattern.positions).sum();
    convert::dense_len(&shape, first.dtype()).ok()?;
    let iso = iso(pieces);
    let row = if iso.is_some() || !with_values { 0 } else { first.pattern.block() * first.dtype().size() };
    let mut parts = Vec::with_capacity(pieces.len());
    for ((pointers, columns, shift), piece) in arrays.into_iter().zip(pieces) {
        let values = if row == 0 { None } else { Some(piece.sparse.values.dense_bytes().ok()?) };
        parts.push(Segments {
            pointers: of_width(&pointers, wide)?,
            columns: of_width(&columns, wide)?,
            values,
            shift,
        });
    }
    let join = if wide { joined_typed::<u64> } else { joined_typed::<u32> };
    let (pointers, columns, buffer) = join(&parts, shape[0], row, first.dtype().size())?;
    let values = match iso {
        _ if !with_values => None,
        Some(one) => Some(Strided { shape, ..one }),
        None => Some(Strided::new(buffer, first.dtype(), shape)),
    };
    Some(Joined { pointers, columns, values })
}

/// The last level of a part, its rows of values, and what is added to its coordinates.
struct Segments<'a> {
    pointers: Indices,
    columns: Indices,
    values: Option<DenseBytes<'a>>,
    shift: usize,
}

/// Pointers, coordinates and values of as many segments as each part has, joined.
fn joined_typed<I: Index>(
    parts: &[Segments<'_>],
    total: usize,
    row: usize,
    size: usize,
) -> Option<(Indices, Indices, Buffer)> {
    let of: Vec<(&[I], &[I])> = parts.mapped(|p| (p.pointers.typed(), p.columns.typed()));
    let n = of.first()?.0.len().checked_sub(1)?;
    let mut ends = Scratch::<I>::any(n + 1);
    parallel::for_chunks_mut(&mut ends, 1, parallel::GRAIN, &|first, ends| {
        ends.fill(I::default());
        for (pointers, _) in &of {
            let own = ends.iter_mut().zip(&pointers[first..]);
            own.for_each(|(end, pointer)| *end = I::new(end.get() + pointer.get() - pointers[0].get()));
        }
    });
    let mut columns = Scratch::<I>::any(total);
    let buffer = Buffer::filled(total * row, size, |out| {
        let (mut to, mut rest, mut items) = (&mut columns[..], out, Vec::new());
        let grain = parallel::GRAIN / 8;
        for first in (0..n).step_by(grain) {
            let last = (first + grain).min(n);
            let len = ends[last].get() - ends[first].get();
            let (own, others) = to.split_at_mut(len);
            let (rows, other_rows) = rest.split_at_mut(len * row);
            items.push((first..last, own, rows));
            (to, rest) = (others, other_rows);
        }
        parallel::for_each(items, &|_, (segments, columns, rows)| {
            let mut at = 0;
            for r in segments {
                for ((pointers, from), part) in of.iter().zip(parts) {
                    let segment = pointers[r].get() - pointers[0].get()..pointers[r + 1].get() - pointers[0].get();
                    if segment.is_empty() {
                        continue;
                    }
                    let end = at + segment.len();
                    for (to, from) in columns[at..end].iter_mut().zip(&from[segment.clone()]) {
                        *to = I::new(from.get() + part.shift);
                    }
                    if let Some(values) = &part.values {
                        rows[at * row..end * row].copy_from_slice(&values[segment.start * row..segment.end * row]);
                    }
                    at = end;
                }
            }
        });
    });
    Some((ends.into(), columns.into(), buffer.ok()?))
}
