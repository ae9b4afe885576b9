//! A window of the coordinates in each segment of a compressed level.

use std::ops::Range;

use super::index::Index;

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
}
