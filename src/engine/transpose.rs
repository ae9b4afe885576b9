//! CSR to CSC and back: a counting sort, values moved with their indices.

use std::ops::Range;
use std::sync::Arc;

use openwork_ops::structure::Index;
use openwork_ops::structure::transpose::{self, Buckets, Passes, Rows, STRETCH};
use openwork_ops::with_index;

use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::memory;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::Sparse;

/// Elements of a part, at least.
const PART: usize = 1 << 17;

/// Parts of a matrix for each thread: rows and columns are cut by what they store, where that is known.
const PARTS_A_THREAD: usize = 2;

/// The levels of compressed rows, or columns.
pub(super) const COMPRESSED: [LevelKind; 2] = [LevelKind::Dense, LevelKind::Sparse { rank: 1 }];

/// The other order of levels of a canonical CSR or CSC matrix; `None` for anything else.
///
/// Cost: O(nse + rows + columns). One or two words of 32 bits and a value per element beside the result, where rows jump across the
/// columns.
pub(crate) fn swap_compressed(s: &Sparse, kinds: &[LevelKind], dims: &[Dim]) -> Option<Sparse> {
    let from = &s.pattern;
    let [Level::Dense, Level::Sparse { pointers: Some(pointers), indices, .. }] = &from.levels[..] else { return None };
    let is_swap = kinds == COMPRESSED
        && from.dims.len() == 2
        && dims.len() == 2
        && dims[0] == from.dims[1]
        && dims[1] == from.dims[0];
    if !is_swap || s.values.strides[0] == 0 {
        return None; // an iso tensor moves indices only, which the road by keys does
    }
    let minor = dims[0].size;
    // Pointers are made twice. Where there is no room for them, the road by keys says so.
    if !memory::has_room(minor.checked_add(1)?, 16) {
        return None;
    }
    let values = s.values.to_contiguous().ok()?;
    let bytes = values.contiguous_bytes()?;
    let mut level = None;
    let buffer = Buffer::filled_of_held(bytes.len(), s.dtype().size(), |out| {
        level = with_index!(pointers.as_slice(), p => {
            let base = p.first().map_or(0, |first| first.get());
            let rows = Rows { pointers: p, base, indices: indices[0].typed(), values: bytes, width: s.dtype().size(), first: 0 };
            swapped(rows, minor, out)
        });
    });
    let pattern =
        Pattern { levels: vec![Level::Dense, level?], dims: dims.to_vec(), level_dims: 2, positions: from.positions };
    let values = Strided::new(buffer, s.dtype(), s.values.shape.clone());
    Some(Sparse { shape: s.shape.clone(), pattern: Arc::new(pattern), values, fill: s.fill.clone() })
}

/// The level of the columns, and the values in their order.
fn swapped<I: Index>(rows: Rows<'_, I>, minor: usize, out: &mut [u8]) -> Option<Level> {
    let major = rows.pointers.len().checked_sub(1)?;
    let mut swapped = Scratch::any(rows.indices.len());
    let out = (&mut swapped[..], out);
    let buckets = || Buckets::new(major, minor, rows.indices.len(), rows.width);
    let pointers = if is_by_rows(&rows, minor) {
        by_rows(rows, minor, out)
    } else if jumps(rows.indices, rows.width, minor)
        && let Some(buckets) = buckets()
    {
        by_buckets(rows, minor, buckets, out)
    } else {
        directly(rows, minor, out)
    };
    let level = Level::Sparse {
        pointers: Some(I::vec(pointers).into()),
        indices: vec![swapped.into()],
        ordered: true,
        unique: true,
    };
    Some(level)
}

/// Elements that are looked at, one after the other, and in how many places.
const RUN: usize = 1 << 14;
const RUNS: usize = 4;

/// Columns that successive elements of a local matrix go to at most, by sixteens: a line of counters.
const NEAR: usize = 1 << 10;

/// Bytes of a result up to which it stays in a cache, so that it does not matter where elements go; and up to which one thread is done
/// before several have looked at all of it.
const CACHED: usize = 24 << 20;
const SMALL: usize = 8 << 20;

/// Columns whose ends, a line each of indices and of values, stay in the first-level cache.
const FEW: usize = 1 << 9;

/// Bytes of a result: as many indices, with values of `width` bytes.
fn bytes_of<I>(indices: &[I], width: usize) -> usize {
    indices.len().saturating_mul(width + size_of::<I>())
}

/// Whether each thread is to put some rows to its own part of every column: there are few columns, or the result stays in a cache and
/// they have many elements.
fn is_by_rows<I: Index>(rows: &Rows<'_, I>, minor: usize) -> bool {
    let is_cached = bytes_of(rows.indices, rows.width) <= CACHED;
    if parallel::threads() == 1 {
        // One thread goes directly while it can.
        return minor <= FEW && !is_cached;
    }
    work_of(rows) >= 2 * PART && (minor <= FEW || (is_cached && minor <= rows.indices.len() / 16))
}

/// Elements, or rows that take as long to go through.
fn work_of<I>(rows: &Rows<'_, I>) -> usize {
    rows.indices.len().max(rows.pointers.len() / 4)
}

/// Whether the way by buckets pays: the result is larger than a cache, and successive elements go to many columns or all over them.
fn jumps<I: Index>(indices: &[I], width: usize, minor: usize) -> bool {
    let cached = if parallel::threads() == 1 { CACHED } else { SMALL };
    if bytes_of(indices, width) <= cached {
        return false;
    }
    let near = NEAR.min(minor.div_ceil(16) / 4);
    let far = |run: usize| {
        let start = run * (indices.len() - RUN) / RUNS;
        let mut seen: Vec<u64> = indices[start..start + RUN].iter().map(|j| (j.get() / 16) as u64).collect();
        seen.sort_unstable();
        seen.dedup();
        seen.len() > near
    };
    (0..RUNS).filter(|&run| far(run)).count() * 2 > RUNS
}

/// Cuts indices and values of `width` bytes in parts that end there.
fn cut<'a, I>(
    (mut a, mut b): (&'a mut [I], &'a mut [u8]),
    width: usize,
    ends: &[usize],
) -> Vec<(&'a mut [I], &'a mut [u8])> {
    let (mut parts, mut start) = (Vec::with_capacity(ends.len()), 0);
    for &end in ends {
        let (of_a, of_b);
        (of_a, a) = a.split_at_mut(end - start);
        (of_b, b) = b.split_at_mut((end - start) * width);
        parts.push((of_a, of_b));
        start = end;
    }
    parts
}

/// Every thread puts the elements of some rows to its part of each column.
fn by_rows<I: Index>(rows: Rows<'_, I>, minor: usize, (mut indices, mut values): (&mut [I], &mut [u8])) -> Vec<I> {
    let slices = row_slices(&rows, parallel::threads().min(work_of(&rows) / PART).max(1));
    let mut counts = vec![zeroed_vec::<I>(minor); slices.len()];
    parallel::for_each(counts.iter_mut().collect(), &|slice, counts: &mut Vec<I>| {
        transpose::count(rows.part(slices[slice].clone()), 0..minor, true, counts);
    });
    let mut pointers = Vec::with_capacity(minor + 1);
    let mut parts: Vec<Vec<_>> = slices.iter().map(|_| Vec::with_capacity(minor)).collect();
    let mut start = 0;
    for column in 0..minor {
        pointers.push(I::new(start));
        for (part, counts) in parts.iter_mut().zip(&counts) {
            let n = counts[column].get();
            let (of_indices, of_values);
            (of_indices, indices) = indices.split_at_mut(n);
            (of_values, values) = values.split_at_mut(n * rows.width);
            part.push((of_indices, of_values));
            start += n;
        }
    }
    pointers.push(I::new(start));
    let each = transpose::by_rows(rows.width);
    parallel::for_each(parts, &|slice, columns| each(rows.part(slices[slice].clone()), columns));
    pointers
}

/// Every thread puts the elements of some columns to their places.
fn directly<I: Index>(rows: Rows<'_, I>, minor: usize, out: (&mut [I], &mut [u8])) -> Vec<I> {
    // A part for each thread, as every part looks at every row: that takes longer than all of a small result.
    let is_small = bytes_of(rows.indices, rows.width) <= SMALL;
    let ends = column_ends(rows.indices, if is_small { 1 } else { parallel::threads() }, minor);
    let all = ends.len() == 1;
    let columns = |part: usize| if part == 0 { 0..ends[0] } else { ends[part - 1]..ends[part] };
    let n = rows.pointers.len() - 1;
    let mut extents = if all { Vec::new() } else { vec![(0, 0); n.div_ceil(STRETCH)] };
    parallel::for_chunks_mut(&mut extents, 1, parallel::GRAIN / STRETCH, &|first, part| rows.extents(first, part));
    let stretches = |part: usize| transpose::stretches(&extents, n, columns(part));
    let mut pointers = zeroed_vec::<I>(minor + 1);
    parallel::for_pieces_mut(&mut pointers[..minor], &ends, &|part, counts| {
        for (stretch, all) in stretches(part) {
            transpose::count(rows.part(stretch), columns(part), all, counts);
        }
    });
    // Where each part ends in the result.
    let counted = |part: usize| pointers[columns(part)].iter().map(|count| count.get()).sum::<usize>();
    let mut out_ends: Vec<usize> = (0..ends.len()).map(counted).collect();
    for part in 1..out_ends.len() {
        out_ends[part] += out_ends[part - 1];
    }
    pointers[minor] = I::new(rows.indices.len());
    let mut next = Scratch::<I>::any(minor);
    let (mut parts, mut rest) = (Vec::with_capacity(ends.len()), (&mut pointers[..minor], &mut next[..]));
    for (part, out) in cut(out, rows.width, &out_ends).into_iter().enumerate() {
        let (own, next);
        (own, rest.0) = rest.0.split_at_mut(columns(part).len());
        (next, rest.1) = rest.1.split_at_mut(columns(part).len());
        parts.push((own, next, out));
    }
    let direct = transpose::direct(rows.width);
    parallel::for_each(parts, &|part, (pointers, next, out)| {
        let start = if part == 0 { 0 } else { out_ends[part - 1] };
        transpose::accumulate(pointers, start);
        for (next, pointer) in next.iter_mut().zip(pointers) {
            *next = I::new(pointer.get() - start);
        }
        for (stretch, all) in stretches(part) {
            direct(rows.part(stretch), columns(part), all, next, (&mut *out.0, &mut *out.1));
        }
    });
    pointers
}

/// Where columns are cut so that parts have about as many elements.
pub(crate) fn column_ends<I: Index>(indices: &[I], parts: usize, minor: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    if parts > 1 && !indices.is_empty() {
        let step = (indices.len() / (1 << 12)).max(1);
        let mut sample: Vec<usize> = indices.iter().step_by(step).map(|j| j.get()).collect();
        sample.sort_unstable();
        ends.extend((1..parts).map(|part| sample[part * sample.len() / parts]));
        ends.dedup();
        ends.retain(|&end| end > 0);
    }
    ends.push(minor);
    ends
}

/// Rows by buckets of columns, then each bucket by columns.
fn by_buckets<I: Index>(rows: Rows<'_, I>, minor: usize, buckets: Buckets, out: (&mut [I], &mut [u8])) -> Vec<I> {
    let Passes { words, distribute, collect } = Passes::new(rows.width, buckets.is_narrow());
    let n = rows.indices.len();
    let wanted = (parallel::threads() * PARTS_A_THREAD).min(n / PART).max(1);
    let slices = row_slices(&rows, if parallel::threads() == 1 { 1 } else { wanted });
    let start_of = |row: usize| rows.pointers[row].get() - rows.base;
    let mut staged = Scratch::<u32>::any(n.saturating_mul(words));
    let mut offsets = vec![Vec::new(); slices.len()];
    let ends: Vec<usize> = slices.iter().map(|rows| start_of(rows.end)).collect();
    let (mut work, mut rest, mut start) = (Vec::with_capacity(slices.len()), &mut staged[..], 0);
    for (end, offsets) in ends.into_iter().zip(&mut offsets) {
        let own;
        (own, rest) = rest.split_at_mut((end - start) * words);
        work.push((own, offsets));
        start = end;
    }
    parallel::for_each(work, &|slice, (staged, offsets)| {
        *offsets = distribute(rows.part(slices[slice].clone()), buckets, staged);
    });
    // Where each bucket ends in the result.
    let mut ends = Vec::with_capacity(buckets.count);
    let mut end = 0;
    for b in 0..buckets.count {
        end += offsets.iter().map(|o| o[b + 1] - o[b]).sum::<usize>();
        ends.push(end);
    }
    let mut pointers = zeroed_vec::<I>(minor + 1);
    pointers[minor] = I::new(n);
    let (mut work, mut rest) = (Vec::with_capacity(buckets.count), &mut pointers[..minor]);
    for (b, out) in cut(out, rows.width, &ends).into_iter().enumerate() {
        let own;
        (own, rest) = rest.split_at_mut(buckets.columns(b, minor).len());
        work.push((own, out));
    }
    parallel::for_each(work, &|b, (next, out)| {
        let pieces: Vec<_> = slices
            .iter()
            .zip(&offsets)
            .map(|(rows, offsets)| {
                let start = start_of(rows.start);
                &staged[(start + offsets[b]) * words..(start + offsets[b + 1]) * words]
            })
            .collect();
        let start = if b == 0 { 0 } else { ends[b - 1] };
        collect(&pieces, buckets.row_bits, start, next, out);
    });
    pointers
}

/// Rows cut so that slices store about as much.
fn row_slices<I: Index>(rows: &Rows<'_, I>, wanted: usize) -> Vec<Range<usize>> {
    let (n, last) = (rows.indices.len(), rows.pointers.len() - 1);
    let mut slices = Vec::with_capacity(wanted);
    let mut start = 0;
    for slice in 1..=wanted {
        let target = rows.base + (n as u128 * slice as u128 / wanted as u128) as usize;
        let end = if slice == wanted { last } else { rows.pointers.partition_point(|p| p.get() < target).min(last) };
        slices.push(start..end.max(start));
        start = end.max(start);
    }
    slices
}
