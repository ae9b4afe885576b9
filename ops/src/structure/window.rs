//! A window of the coordinates in each segment of a compressed level.

use std::ops::Range;

use super::index::Index;

/// For each segment (`pointers` count from `base`; coordinates rise in each), where its coordinates inside `window` begin
/// and end.
pub fn within<I: Index>(pointers: &[I], base: usize, indices: &[I], window: &Range<usize>, out: &mut [[I; 2]]) {
    for (o, ends) in out.iter_mut().zip(pointers.windows(2)) {
        let (start, end) = (ends[0].get() - base, ends[1].get() - base);
        let segment = &indices[start..end];
        let first = segment.partition_point(|i| i.get() < window.start);
        let len = segment[first..].partition_point(|i| i.get() < window.end);
        *o = [I::new(start + first), I::new(start + first + len)];
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
