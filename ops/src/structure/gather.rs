//! Moving elements and rows by their width in bytes.

use std::ops::Range;

use super::index::{Index, IndexSlice};
use crate::simd;
use crate::with_index;

/// `out[i] = source[select[i]]` over rows of `row` bytes. Every selected row is in range.
pub fn gather_rows(source: &[u8], row: usize, select: IndexSlice<'_>, out: &mut [u8]) {
    with_index!(select, s => gather_typed(source, row, s, out));
}

fn gather_typed<I: Index>(source: &[u8], row: usize, select: &[I], out: &mut [u8]) {
    match row {
        0 => {}
        1 => gather_wide::<1, I>(source, select, out),
        2 => gather_wide::<2, I>(source, select, out),
        4 => gather_wide::<4, I>(source, select, out),
        8 => gather_wide::<8, I>(source, select, out),
        16 => gather_wide::<16, I>(source, select, out),
        _ => {
            let ahead = ahead(source, row);
            for (e, (o, i)) in out.chunks_exact_mut(row).zip(select).enumerate() {
                if let Some(later) = select.get(e.saturating_add(ahead)) {
                    ask_row(source, row, later.get());
                }
                let start = i.get() * row;
                o.copy_from_slice(&source[start..start + row]);
            }
        }
    }
}

/// Rows of so many bytes after the one that is moved, of which the next is asked for; none where all are near.
fn ahead(rows: &[u8], row: usize) -> usize {
    if simd::is_far(rows) { (ASKED / row).clamp(4, 32) } else { usize::MAX }
}

/// Bytes of rows that are on their way at once, and those of a row that are asked for: the CPU foresees the others.
const ASKED: usize = 8 << 10;
const BEGINNING: usize = 256;

/// Asks for row `at`, wherever that is.
#[inline(always)]
fn ask_row(rows: &[u8], row: usize, at: usize) {
    let start = at.wrapping_mul(row);
    (0..row.min(BEGINNING)).step_by(64).for_each(|line| simd::prefetch_far::<u8, 1>(rows, start.wrapping_add(line)));
}

fn gather_wide<const W: usize, I: Index>(source: &[u8], select: &[I], out: &mut [u8]) {
    let (source, _) = source.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    simd::in_parts(select, source, |source, part| {
        out[part.clone()].iter_mut().zip(&select[part]).for_each(|(o, i)| *o = source[i.get()]);
    });
}

/// `out[i] = source[list[i]]` over rows of `row` bytes, negative numbers counted from the end; whether all are inside: the others
/// are left out. Somebody else may write to the list: each number is read once, and what was read is looked at.
pub fn gather_inside(source: &[u8], row: usize, list: &[i64], out: &mut [u8]) -> bool {
    match row {
        0 => list.is_empty(),
        1 => gather_inside_wide::<1>(source, list, out),
        2 => gather_inside_wide::<2>(source, list, out),
        4 => gather_inside_wide::<4>(source, list, out),
        8 => gather_inside_wide::<8>(source, list, out),
        16 => gather_inside_wide::<16>(source, list, out),
        _ => {
            let (rows, ahead) = (source.len() / row, ahead(source, row));
            out.chunks_exact_mut(row).zip(list).enumerate().fold(true, |inside, (e, (o, &i))| {
                if let Some(&later) = list.get(e.saturating_add(ahead)) {
                    ask_row(source, row, later as usize);
                }
                let found = place(i, rows).and_then(|at| source.get(at * row..(at + 1) * row));
                found.map(|found| o.copy_from_slice(found)).is_some() & inside
            })
        }
    }
}

fn gather_inside_wide<const W: usize>(source: &[u8], list: &[i64], out: &mut [u8]) -> bool {
    let ((source, _), (out, _)) = (source.as_chunks::<W>(), out.as_chunks_mut::<W>());
    let mut inside = true;
    let list = &list[..list.len().min(out.len())];
    simd::in_parts(bytemuck::cast_slice::<i64, u64>(list), source, |source, part| {
        for (o, &i) in out[part.clone()].iter_mut().zip(&list[part]) {
            match place(i, source.len()) {
                Some(at) => *o = source[at],
                None => inside = false,
            }
        }
    });
    inside
}

/// `out[list[i]] = source[i]`, else as [`gather_inside`]; of a place that is named several times the last row counts.
pub fn scatter_inside(source: &[u8], row: usize, list: &[i64], out: &mut [u8]) -> bool {
    match row {
        0 => list.is_empty(),
        1 => scatter_inside_wide::<1>(source, list, out),
        2 => scatter_inside_wide::<2>(source, list, out),
        4 => scatter_inside_wide::<4>(source, list, out),
        8 => scatter_inside_wide::<8>(source, list, out),
        16 => scatter_inside_wide::<16>(source, list, out),
        _ => {
            let (rows, ahead) = (out.len() / row, ahead(out, row));
            source.chunks_exact(row).zip(list).enumerate().fold(true, |inside, (e, (s, &i))| {
                if let Some(&later) = list.get(e.saturating_add(ahead)) {
                    ask_row(out, row, later as usize);
                }
                let found = place(i, rows).and_then(|at| out.get_mut(at * row..(at + 1) * row));
                found.map(|found| found.copy_from_slice(s)).is_some() & inside
            })
        }
    }
}

fn scatter_inside_wide<const W: usize>(source: &[u8], list: &[i64], out: &mut [u8]) -> bool {
    let ((source, _), (out, _)) = (source.as_chunks::<W>(), out.as_chunks_mut::<W>());
    let mut inside = true;
    let list = &list[..list.len().min(source.len())];
    simd::in_parts(bytemuck::cast_slice::<i64, u64>(list), out, |out, part| {
        for (s, &at) in source[part.clone()].iter().zip(&list[part]) {
            match place(at, out.len()) {
                Some(at) => out[at] = *s,
                None => inside = false,
            }
        }
    });
    inside
}

/// Counted from the front, if it is one of `size` places.
#[inline(always)]
fn place(at: i64, size: usize) -> Option<usize> {
    // What is before the first wraps around and is beyond the last.
    let front = (at as usize).wrapping_add(if at < 0 { size } else { 0 });
    (front < size).then_some(front)
}

/// Rows of `row` bytes, each `times` times: from the `at`th of all these on.
pub fn repeat_rows(source: &[u8], row: usize, times: usize, at: usize, out: &mut [u8]) {
    match row {
        1 => repeat_wide::<1>(source, times, at, out),
        2 => repeat_wide::<2>(source, times, at, out),
        4 => repeat_wide::<4>(source, times, at, out),
        8 => repeat_wide::<8>(source, times, at, out),
        16 => repeat_wide::<16>(source, times, at, out),
        _ => {
            for (i, o) in out.chunks_exact_mut(row.max(1)).enumerate() {
                o.copy_from_slice(&source[(at + i) / times * row..][..row]);
            }
        }
    }
}

fn repeat_wide<const W: usize>(source: &[u8], times: usize, at: usize, out: &mut [u8]) {
    let ((source, _), (out, _)) = (source.as_chunks::<W>(), out.as_chunks_mut::<W>());
    let begun = (at.next_multiple_of(times) - at).min(out.len());
    let (head, out) = out.split_at_mut(begun);
    head.iter_mut().for_each(|o| *o = source[at / times]);
    let source = &source[(at + begun) / times..];
    match times {
        2 => repeat_few::<W, 2>(source, out),
        3 => repeat_few::<W, 3>(source, out),
        4 => repeat_few::<W, 4>(source, out),
        _ => out.chunks_mut(times).zip(source).for_each(|(o, x)| o.fill(*x)),
    }
}

fn repeat_few<const W: usize, const N: usize>(source: &[[u8; W]], out: &mut [[u8; W]]) {
    let (whole, rest) = out.as_chunks_mut::<N>();
    whole.iter_mut().zip(source).for_each(|(o, x)| *o = [*x; N]);
    if let Some(x) = source.get(whole.len()) {
        rest.fill(*x);
    }
}

/// Runs of rows of `row` bytes one after the other: run `r` begins at row `starts[r]` of the source, and ends at row
/// `ends[r] - begin` of `out`. Runs that lie anywhere are asked for ahead.
pub fn copy_runs<I: Index>(source: &[u8], row: usize, starts: &[I], ends: &[I], begin: usize, mut out: &mut [u8]) {
    const AHEAD: usize = 24;
    let mut begin = begin;
    for (r, (&start, &end)) in starts.iter().zip(ends).enumerate() {
        if let Some(next) = starts.get(r + AHEAD) {
            simd::prefetch_far::<u8, 192>(source, next.get() * row);
        }
        let part;
        (part, out) = std::mem::take(&mut out).split_at_mut((end.get() - begin) * row);
        let from = start.get() * row;
        part.copy_from_slice(&source[from..from + part.len()]);
        begin = end.get();
    }
}

/// Rows of a matrix that lies by columns: `out[r · columns + c]` is element `at + r + c · step` of the source, of `width` bytes
/// each. A few rows and columns at a time: what one row has read of the source is there for the next.
pub fn rows_of_columns(source: &[u8], at: usize, step: isize, columns: usize, width: usize, out: &mut [u8]) {
    fn wide<const W: usize>(source: &[u8], at: usize, step: isize, columns: usize, out: &mut [u8]) {
        const ROWS: usize = 8;
        const COLUMNS: usize = 32;
        let (source, out) = (source.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
        for (block, out) in out.chunks_mut(ROWS * columns).enumerate() {
            let at = at + block * ROWS;
            for first in (0..columns).step_by(COLUMNS) {
                for (r, row) in out.chunks_exact_mut(columns).enumerate() {
                    let end = columns.min(first + COLUMNS);
                    for (c, o) in (first..end).zip(&mut row[first..end]) {
                        *o = source[(at + r).wrapping_add_signed(c as isize * step)];
                    }
                }
            }
        }
    }
    if columns == 0 {
        return;
    }
    match width {
        1 => wide::<1>(source, at, step, columns, out),
        2 => wide::<2>(source, at, step, columns, out),
        4 => wide::<4>(source, at, step, columns, out),
        8 => wide::<8>(source, at, step, columns, out),
        _ => wide::<16>(source, at, step, columns, out),
    }
}

/// Moves elements of `width` bytes whose keys are in `range` to the front of `out`, in order, with their keys less its
/// start; both of `out` are as long as `keys`. Returns how many they are.
pub fn select_by_key(
    keys: &[u32],
    values: &[u8],
    width: usize,
    range: Range<u32>,
    out: (&mut [u32], &mut [u8]),
) -> usize {
    match width {
        1 => select_wide::<1>(keys, values, range, out),
        2 => select_wide::<2>(keys, values, range, out),
        4 => select_wide::<4>(keys, values, range, out),
        8 => select_wide::<8>(keys, values, range, out),
        16 => select_wide::<16>(keys, values, range, out),
        _ => 0,
    }
}

fn select_wide<const W: usize>(keys: &[u32], values: &[u8], range: Range<u32>, out: (&mut [u32], &mut [u8])) -> usize {
    let (values, _) = values.as_chunks::<W>();
    let (out_keys, (out_values, _)) = (out.0, out.1.as_chunks_mut::<W>());
    let mut n = 0;
    for (&key, value) in keys.iter().zip(values) {
        // Each is written, and the next one over it if it is not wanted: a branch would be a guess.
        let own = key.wrapping_sub(range.start);
        (out_keys[n], out_values[n]) = (own, *value);
        n += usize::from(own < range.end - range.start);
    }
    n
}

/// As [`gather_rows`], with `fallback` (one row) where nothing is selected ([`Index::NONE`]).
pub fn gather_rows_or(source: &[u8], row: usize, select: IndexSlice<'_>, fallback: &[u8], out: &mut [u8]) {
    with_index!(select, s => match row {
        1 => gather_or_wide::<1, _>(source, s, fallback, out),
        2 => gather_or_wide::<2, _>(source, s, fallback, out),
        4 => gather_or_wide::<4, _>(source, s, fallback, out),
        8 => gather_or_wide::<8, _>(source, s, fallback, out),
        16 => gather_or_wide::<16, _>(source, s, fallback, out),
        _ => gather_or_any(source, row, s, fallback, out),
    });
}

fn gather_or_wide<const W: usize, I: Index>(source: &[u8], select: &[I], fallback: &[u8], out: &mut [u8]) {
    let (source, _) = source.as_chunks::<W>();
    let (fallback, _) = fallback.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    let Some(fallback) = fallback.first() else { return };
    for (o, &i) in out.iter_mut().zip(select) {
        // A choice between two addresses, not a branch: unions miss at random.
        *o = *source.get(i.get()).unwrap_or(fallback);
    }
}

fn gather_or_any<I: Index>(source: &[u8], row: usize, select: &[I], fallback: &[u8], out: &mut [u8]) {
    if row == 0 {
        return;
    }
    for (o, &i) in out.chunks_exact_mut(row).zip(select) {
        if i == I::NONE {
            o.copy_from_slice(fallback);
        } else {
            let start = i.get() * row;
            o.copy_from_slice(&source[start..start + row]);
        }
    }
}

/// `out[i] = source[offsets[i]]` over elements of `width` bytes; offsets count elements and are in range.
pub fn gather_offsets(source: &[u8], width: usize, offsets: &[u64], out: &mut [u8]) {
    gather_rows(source, width, IndexSlice::U64(offsets), out);
}

/// `out[offsets[i]] = source[i]` over elements of `width` bytes; offsets are in range.
pub fn scatter_offsets(source: &[u8], width: usize, offsets: &[u64], out: &mut [u8]) {
    match width {
        1 => scatter_wide::<1>(source, offsets, out),
        2 => scatter_wide::<2>(source, offsets, out),
        4 => scatter_wide::<4>(source, offsets, out),
        8 => scatter_wide::<8>(source, offsets, out),
        _ => scatter_wide::<16>(source, offsets, out),
    }
}

/// Compressed rows into rows of `columns` elements of `width` bytes: entry `e` of row `r`, which begins at `pointers[r] - pointers[0]`,
/// goes to column `indices[e]`, which is in range.
pub fn scatter_to_rows<I: Index>(
    pointers: &[I],
    indices: &[I],
    source: &[u8],
    width: usize,
    columns: usize,
    out: &mut [u8],
) {
    fn wide<const W: usize, I: Index>(pointers: &[I], indices: &[I], source: &[u8], columns: usize, out: &mut [u8]) {
        let (source, out) = (source.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
        let base = pointers[0].get();
        for (ends, out) in pointers.windows(2).zip(out.chunks_exact_mut(columns)) {
            let own = ends[0].get() - base..ends[1].get() - base;
            indices[own.clone()].iter().zip(&source[own]).for_each(|(j, s)| out[j.get()] = *s);
        }
    }
    if columns == 0 {
        return;
    }
    match width {
        1 => wide::<1, I>(pointers, indices, source, columns, out),
        2 => wide::<2, I>(pointers, indices, source, columns, out),
        4 => wide::<4, I>(pointers, indices, source, columns, out),
        8 => wide::<8, I>(pointers, indices, source, columns, out),
        _ => wide::<16, I>(pointers, indices, source, columns, out),
    }
}

fn scatter_wide<const W: usize>(source: &[u8], offsets: &[u64], out: &mut [u8]) {
    let (source, _) = source.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    let offsets = &offsets[..offsets.len().min(source.len())];
    simd::in_parts(offsets, out, |out, part| {
        source[part.clone()].iter().zip(&offsets[part]).for_each(|(s, &o)| out[o as usize] = *s);
    });
}

/// `out[offsets[i]] = source[i]` over rows of any number of bytes; offsets count rows and are in range.
pub fn scatter_rows(source: &[u8], row: usize, offsets: &[u64], out: &mut [u8]) {
    match row {
        0 => {}
        1 | 2 | 4 | 8 | 16 => scatter_offsets(source, row, offsets, out),
        _ => {
            let ahead = ahead(out, row);
            for (e, (s, &o)) in source.chunks_exact(row).zip(offsets).enumerate() {
                if let Some(&later) = offsets.get(e.saturating_add(ahead)) {
                    ask_row(out, row, later as usize);
                }
                let start = o as usize * row;
                out[start..start + row].copy_from_slice(s);
            }
        }
    }
}

/// The rows of `row` bytes that `keep` marks, in order; `out` has room for them and no more.
pub fn keep_rows(keep: &[bool], source: &[u8], row: usize, out: &mut [u8]) {
    match row {
        0 => {}
        1 => keep_wide::<1>(keep, source, out),
        2 => keep_wide::<2>(keep, source, out),
        4 => keep_wide::<4>(keep, source, out),
        8 => keep_wide::<8>(keep, source, out),
        16 => keep_wide::<16>(keep, source, out),
        _ => {
            let kept = source.chunks_exact(row).zip(keep).filter(|(_, keep)| **keep);
            for (o, (s, _)) in out.chunks_exact_mut(row).zip(kept) {
                o.copy_from_slice(s);
            }
        }
    }
}

fn keep_wide<const W: usize>(keep: &[bool], source: &[u8], out: &mut [u8]) {
    let (source, _) = source.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    let mut n = 0;
    for (element, &keep) in source.iter().zip(keep) {
        // Each is written, and the next one over it if it is not wanted: a branch would be a guess. Once all that are
        // wanted stand there, no place is left.
        let Some(slot) = out.get_mut(n) else { return };
        *slot = *element;
        n += usize::from(keep);
    }
}

/// Fills a block with copies of one element.
pub fn repeat(element: &[u8], out: &mut [u8]) {
    fn wide<const W: usize>(element: &[u8], out: &mut [u8]) {
        let (element, _) = element.as_chunks::<W>();
        if let Some(e) = element.first() {
            out.as_chunks_mut::<W>().0.fill(*e);
        }
    }
    match element.len() {
        1 => wide::<1>(element, out),
        2 => wide::<2>(element, out),
        4 => wide::<4>(element, out),
        8 => wide::<8>(element, out),
        _ => wide::<16>(element, out),
    }
}

/// Rows of a matrix that lies with steps: `out[r · columns + c]` is element `at + r · steps[0] + c · steps[1]` of the source, of
/// `width` bytes each. For short rows, of which many are made at once.
pub fn rows(source: &[u8], at: usize, steps: [isize; 2], columns: usize, width: usize, out: &mut [u8]) {
    fn wide<const W: usize>(source: &[u8], at: usize, steps: [isize; 2], columns: usize, out: &mut [u8]) {
        let (source, out) = (source.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
        stepped(source, at, steps, columns, out);
    }
    if columns == 0 {
        return;
    }
    match width {
        1 => wide::<1>(source, at, steps, columns, out),
        2 => wide::<2>(source, at, steps, columns, out),
        4 => wide::<4>(source, at, steps, columns, out),
        8 => wide::<8>(source, at, steps, columns, out),
        _ => wide::<16>(source, at, steps, columns, out),
    }
}

/// As [`rows`], of elements that lie further by as many times a step as `beyond` says of each.
pub fn rows_beyond(
    source: &[u8],
    at: usize,
    steps: [isize; 2],
    columns: usize,
    beyond: (isize, &[u64]),
    width: usize,
    out: &mut [u8],
) {
    const AHEAD: usize = 32;
    fn wide<const W: usize>(
        source: &[u8],
        at: usize,
        steps: [isize; 2],
        columns: usize,
        (step, places): (isize, &[u64]),
        out: &mut [u8],
    ) {
        let (source, out) = (source.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
        // Elements all over memory are asked for ahead: some further in the row, or in one of the next rows.
        let [rows_ahead, ahead] = if columns > AHEAD { [0, AHEAD] } else { [AHEAD / columns, 0] };
        let later = rows_ahead as isize * steps[0] + ahead as isize * steps[1];
        let ahead = if simd::is_far(source) { rows_ahead * columns + ahead } else { places.len() };
        let rows = out.chunks_exact_mut(columns).enumerate();
        for (r, row) in rows {
            let (at, first) = (at.wrapping_add_signed(r as isize * steps[0]), r * columns);
            for (c, o) in row.iter_mut().enumerate() {
                let beside = at.wrapping_add_signed(c as isize * steps[1]);
                if let Some(&place) = places.get(first + c + ahead) {
                    simd::prefetch_far::<[u8; W], 1>(source, beside.wrapping_add_signed(later + place as isize * step));
                }
                *o = source[beside.wrapping_add_signed(places[first + c] as isize * step)];
            }
        }
    }
    if columns == 0 {
        return;
    }
    match width {
        1 => wide::<1>(source, at, steps, columns, beyond, out),
        2 => wide::<2>(source, at, steps, columns, beyond, out),
        4 => wide::<4>(source, at, steps, columns, beyond, out),
        8 => wide::<8>(source, at, steps, columns, beyond, out),
        _ => wide::<16>(source, at, steps, columns, beyond, out),
    }
}

#[inline(always)]
fn stepped<T: Copy>(source: &[T], at: usize, [step, inner]: [isize; 2], columns: usize, out: &mut [T]) {
    for (r, row) in out.chunks_exact_mut(columns).enumerate() {
        let at = at.wrapping_add_signed(r as isize * step);
        match inner {
            0 => row.fill(source[at]),
            1 => row.copy_from_slice(&source[at..at + columns]),
            -1 => {
                let turned = source[at + 1 - columns..=at].iter().rev();
                row.iter_mut().zip(turned).for_each(|(o, element)| *o = *element);
            }
            2 => {
                // The last has none beside it.
                let (pairs, last) = source[at..at + 2 * columns - 1].as_chunks::<2>();
                row.iter_mut().zip(pairs).for_each(|(o, pair)| *o = pair[0]);
                row[columns - 1] = last[0];
            }
            _ => row.iter_mut().enumerate().for_each(|(c, o)| {
                *o = source[at.wrapping_add_signed(c as isize * inner)];
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_of_a_range_of_keys_keep_their_order() {
        let keys = [7, 3, 0, 9, 4, 7, 2, u32::MAX];
        for width in [1, 2, 4, 8, 16] {
            let values: Vec<u8> = (0..keys.len() * width).map(|i| i as u8).collect();
            let (mut out_keys, mut out_values) = (vec![0; keys.len()], vec![0; values.len()]);
            let n = select_by_key(&keys, &values, width, 3..8, (&mut out_keys, &mut out_values));
            assert_eq!(out_keys[..n], [4, 0, 1, 4]);
            let rows: Vec<u8> = [0, 1, 4, 5].iter().flat_map(|r| values[r * width..(r + 1) * width].to_vec()).collect();
            assert_eq!(out_values[..n * width], rows);
        }
    }
    #[test]
    fn elements_beyond_those_of_rows() {
        // Near, and so many that they are asked for ahead.
        for (width, n) in [1, 2, 4, 8, 16].into_iter().flat_map(|width| [(width, 2000), (width, 3 << 20)]) {
            let source: Vec<u8> = (0..n * width).map(|i: usize| (i.wrapping_mul(0x9e37_79b1) >> 11) as u8).collect();
            for (rows, columns, at, steps, step) in
                [(40, 3, 7, [9, 1], 2), (3, 50, 1900, [-20, -3], -1), (9, 33, 5, [1, 0], 11), (1, 1, 0, [0, 0], 1)]
            {
                let places: Vec<u64> = (0..rows * columns).map(|i| (i * 7919 % 64) as u64).collect();
                let mut out = vec![0; places.len() * width];
                rows_beyond(&source, at, steps, columns, (step, &places), width, &mut out);
                for (i, (found, &place)) in out.chunks_exact(width).zip(&places).enumerate() {
                    let from = at as isize
                        + (i / columns) as isize * steps[0]
                        + (i % columns) as isize * steps[1]
                        + place as isize * step;
                    assert_eq!(*found, source[from as usize * width..][..width], "{width} {n} {columns} {i}");
                }
            }
        }
    }
    #[test]
    fn short_rows_come_with_any_steps() {
        for (count, columns, at, steps) in [
            (9, 5, 3, [1, 0]),
            (9, 5, 3, [40, 1]),
            (4, 8, 900, [-12, -3]),
            (6, 17, 700, [-40, -1]),
            (6, 17, 3, [50, 2]),
            (7, 1, 0, [0, 0]),
            (3, 0, 0, [1, 1]),
        ] {
            for width in [1, 2, 4, 8, 16] {
                let source: Vec<u8> = (0..1500 * width).map(|i| (i % 251) as u8).collect();
                let mut out = vec![0; count * columns * width];
                rows(&source, at, steps, columns, width, &mut out);
                for (i, found) in out.chunks_exact(width).enumerate() {
                    let (r, c) = ((i / columns) as isize, (i % columns) as isize);
                    let from = at.wrapping_add_signed(r * steps[0] + c * steps[1]);
                    assert_eq!(found, &source[from * width..(from + 1) * width], "{count} {columns} {i}");
                }
            }
        }
    }
    #[test]
    fn matrices_by_columns_come_by_rows() {
        for (rows, columns, at, step) in
            [(19, 70, 0, 19), (8, 33, 5, 40), (3, 1, 2, 9), (10, 40, 1000, -12), (4, 0, 0, 1)]
        {
            for width in [1, 2, 4, 8, 16] {
                let source: Vec<u8> = (0..1500 * width).map(|i| (i % 251) as u8).collect();
                let mut out = vec![0; rows * columns * width];
                rows_of_columns(&source, at, step, columns, width, &mut out);
                for (i, found) in out.chunks_exact(width).enumerate() {
                    let from = (at + i / columns).wrapping_add_signed((i % columns) as isize * step);
                    assert_eq!(found, &source[from * width..(from + 1) * width], "{rows} {columns} {i}");
                }
            }
        }
    }
    #[test]
    fn marked_rows_are_kept_in_order_and_put_back() {
        for (keep, kept) in [
            (vec![true, false, true, true, false, false], vec![0, 2, 3]),
            (vec![false; 6], vec![]),
            (vec![true; 6], vec![0, 1, 2, 3, 4, 5]),
        ] {
            for row in [0, 1, 2, 3, 4, 8, 16, 24] {
                let source: Vec<u8> = (0..6 * row).map(|i| i as u8).collect();
                let mut out = vec![0; kept.len() * row];
                keep_rows(&keep, &source, row, &mut out);
                let wanted: Vec<u8> = kept.iter().flat_map(|r| source[r * row..(r + 1) * row].to_vec()).collect();
                assert_eq!(out, wanted);
                let mut back = vec![0; 6 * row];
                scatter_rows(&out, row, &kept.iter().map(|&r| r as u64).collect::<Vec<_>>(), &mut back);
                for (r, at) in kept.iter().enumerate() {
                    assert_eq!(back[at * row..(at + 1) * row], out[r * row..(r + 1) * row]);
                }
            }
        }
    }
}
