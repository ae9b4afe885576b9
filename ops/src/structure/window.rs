//! A window of the coordinates in each segment of a compressed level.

use std::ops::Range;

use super::index::{Index, IndexSlice};
use crate::with_index;

/// For each segment (`pointers` count from `base`; coordinates rise in each), where its coordinates inside `window` begin
/// and end.
pub fn within<I: Index>(pointers: &[I], base: usize, indices: &[I], window: &Range<usize>, out: &mut [[I; 2]]) {
    for (o, ends) in out.iter_mut().zip(pointers.windows(2)) {
        let (start, end) = (ends[0].get() - base, ends[1].get() - base);
        if start == end {
            *o = [I::new(start), I::new(end)];
            continue;
        }
        let segment = &indices[start..end];
        let first = segment.partition_point(|i| i.get() < window.start);
        let len = segment[first..].partition_point(|i| i.get() < window.end);
        *o = [I::new(start + first), I::new(start + first + len)];
    }
}

/// As [`within`], for the window that begins where another one ended and ends before `end`: `parts` are that one's, and
/// become its own.
pub fn following<I: Index>(pointers: &[I], base: usize, indices: &[I], end: usize, parts: &mut [[I; 2]]) {
    for (part, ends) in parts.iter_mut().zip(pointers.windows(2)) {
        let start = part[1].get();
        let rest = &indices[start..ends[1].get() - base];
        // Mostly near, so it is looked for in stretches that double.
        let mut reach = 1;
        while reach < rest.len() && rest[reach - 1].get() < end {
            reach *= 2;
        }
        let low = reach / 2;
        let len = low + rest[low.min(rest.len())..reach.min(rest.len())].partition_point(|i| i.get() < end);
        *part = [I::new(start), I::new(start + len)];
    }
}

/// Where a window begins and ends in one segment after the other, in all of which it is about as far from the start.
struct Windows {
    window: Range<usize>,
    /// As parts of the length of the last segment.
    ends: [f64; 2],
}

impl Windows {
    fn new(window: Range<usize>) -> Windows {
        Windows { window, ends: [0.5; 2] }
    }

    /// Where they are in a segment, in which they rise.
    fn find<I: Index>(&mut self, segment: &[I]) -> Range<usize> {
        let length = segment.len() as f64;
        let [start, end] = self.ends.map(|part| (part * length) as usize);
        let start = if self.window.start == 0 { 0 } else { from(segment, self.window.start, start) };
        let end = from(segment, self.window.end, end).max(start);
        if !segment.is_empty() {
            self.ends = [start as f64 / length, end as f64 / length];
        }
        start..end
    }
}

/// How many indices are below `bound`, which are about `near`: looked for in stretches that double.
fn from<I: Index>(segment: &[I], bound: usize, near: usize) -> usize {
    let (mut low, mut high, mut reach) = (near.min(segment.len()), near.min(segment.len()), 8);
    while low > 0 && segment[low - 1].get() >= bound {
        (low, high) = (low.saturating_sub(reach), low);
        reach *= 2;
    }
    while high < segment.len() && segment[high].get() < bound {
        (low, high) = (high, (high + reach).min(segment.len()));
        reach *= 2;
    }
    low + segment[low..high].partition_point(|i| i.get() < bound)
}

/// Moves the indices of a window in each segment, less its start, and their elements of `width` bytes to `room`, and hands them on each time it
/// is full, and in the end. Indices rise in each segment, which begins where `pointers[s] - pointers[0]` says.
pub fn select(
    pointers: IndexSlice<'_>,
    indices: &[u32],
    (values, width): (&[u8], usize),
    window: Range<u32>,
    (own_indices, own_values): (&mut [u32], &mut [u8]),
    take: &mut dyn FnMut(&[u8], &[u32]),
) {
    let (mut n, mut windows) = (0, Windows::new(window.start as usize..window.end as usize));
    with_index!(pointers, pointers => for ends in pointers.windows(2) {
        let start = ends[0].get() - pointers[0].get();
        let own = windows.find(&indices[start..ends[1].get() - pointers[0].get()]);
        let mut left = start + own.start..start + own.end;
        while !left.is_empty() {
            let some = left.start..left.end.min(left.start + own_indices.len() - n);
            left.start = some.end;
            let own = n..n + some.len();
            let from = &indices[some.clone()];
            own_indices[own.clone()].iter_mut().zip(from).for_each(|(own, i)| *own = i - window.start);
            own_values[own.start * width..own.end * width]
                .copy_from_slice(&values[some.start * width..some.end * width]);
            n = own.end;
            if n == own_indices.len() {
                take(&own_values[..n * width], own_indices);
                n = 0;
            }
        }
    });
    take(&own_values[..n * width], &own_indices[..n]);
}

/// Copies the parts of segments that [`within`] found, coordinates less `shift`, and their rows of `row` bytes.
pub fn copy<I: Index>(
    parts: &[[I; 2]],
    shift: usize,
    row: usize,
    (indices, values): (&[I], &[u8]),
    (out_indices, out_values): (&mut [I], &mut [u8]),
) {
    let mut at = 0;
    for part in parts {
        let (start, end) = (part[0].get(), part[1].get());
        if start == end {
            continue;
        }
        let to = at + end - start;
        for (o, i) in out_indices[at..to].iter_mut().zip(&indices[start..end]) {
            *o = I::new(i.get() - shift);
        }
        if row == 8 && end - start <= 8 {
            // A call per row would cost more than the few rows it moves.
            let rows = values[start * 8..end * 8].as_chunks::<8>().0;
            out_values[at * 8..to * 8].as_chunks_mut::<8>().0.iter_mut().zip(rows).for_each(|(o, v)| *o = *v);
        } else {
            out_values[at * row..to * row].copy_from_slice(&values[start * row..end * row]);
        }
        at = to;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_after_another_is_found_from_there() {
        let indices: Vec<u32> = (0..40).map(|i| i * 3 / 2).chain([5]).chain(7..9).collect();
        let pointers = [10u32, 50, 50, 51, 53];
        for ends in [[0, 1, 2, 60], [3, 3, 30, 59], [10, 11, 40, 100]] {
            let (mut got, mut start) = ([[0u32; 2]; 4], 0);
            within(&pointers, 10, &indices, &(0..0), &mut got);
            for end in ends {
                following(&pointers, 10, &indices, end, &mut got);
                let mut expected = [[0u32; 2]; 4];
                within(&pointers, 10, &indices, &(start..end), &mut expected);
                assert_eq!(got, expected, "{start}..{end}");
                start = end;
            }
        }
    }

    #[test]
    fn windows_of_segments_moved_together() {
        // Segments of very different lengths, one empty, with gaps.
        let lengths = [0, 500, 3, 1, 0, 90, 700, 40];
        let (mut pointers, mut indices) = (vec![5u32], Vec::new());
        for (s, &length) in lengths.iter().enumerate() {
            indices.extend((0..length).map(|i| i * (1 + s as u32 % 3) + 7 * s as u32 % 11));
            pointers.push(5 + indices.len() as u32);
        }
        let values: Vec<u16> = (0..indices.len() as u16).collect();
        for window in [0..1, 0..300, 40..41, 10..10, 250..800, 600..5000, 0..5000] {
            let wanted = indices.iter().zip(&values).filter(|(i, _)| window.contains(*i));
            let wanted: Vec<(u32, u16)> = wanted.map(|(i, v)| (i - window.start, *v)).collect();
            for room in [1, 7, 64, 4096] {
                let (mut own_indices, mut own_values, mut found) = (vec![0; room], vec![0u16; room], Vec::new());
                let own = (&mut own_indices[..], bytemuck::cast_slice_mut(&mut own_values));
                let from = (bytemuck::cast_slice(&values), 2);
                select(IndexSlice::U32(&pointers), &indices, from, window.clone(), own, &mut |values, indices| {
                    let values: Vec<u16> = bytemuck::pod_collect_to_vec(values);
                    found.extend(indices.iter().copied().zip(values));
                });
                assert!(found == wanted, "{window:?} {room}");
            }
        }
    }
}
