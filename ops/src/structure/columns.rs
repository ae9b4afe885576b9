//! Some columns of many short rows at once: one loop for all of them, not a call for each.

use std::ops::Range;

/// A width that loops know, so that to copy an element, or a few, is a load and a store.
macro_rules! by_width {
    ($width:expr, $wide:ident($($arg:expr),*), $other:expr) => {
        match $width {
            1 => $wide::<1>($($arg),*),
            2 => $wide::<2>($($arg),*),
            4 => $wide::<4>($($arg),*),
            8 => $wide::<8>($($arg),*),
            16 => $wide::<16>($($arg),*),
            24 => $wide::<24>($($arg),*),
            32 => $wide::<32>($($arg),*),
            _ => $other,
        }
    };
}

/// Puts `width` bytes of each row of the source, which begin `step` bytes apart, at byte `at` of each row of `row` bytes.
pub fn put(source: &[u8], [step, width]: [usize; 2], out: &mut [u8], row: usize, at: usize) {
    fn wide<const W: usize>(source: &[u8], step: usize, out: &mut [u8], row: usize, at: usize) {
        for (out, own) in out.chunks_exact_mut(row).zip(source.chunks(step)) {
            if let (Some(place), Some(own)) = (out[at..].first_chunk_mut::<W>(), own.first_chunk()) {
                *place = *own;
            }
        }
    }
    if width == 0 {
        return;
    }
    by_width!(width, wide(source, step, out, row, at), {
        for (out, own) in out.chunks_exact_mut(row).zip(source.chunks(step)) {
            out[at..at + width].copy_from_slice(&own[..width]);
        }
    });
}

/// Two arrays of elements of `width` bytes, element by element in turn; `false` for other widths than elements have.
pub fn in_turn(a: &[u8], b: &[u8], width: usize, out: &mut [u8]) -> bool {
    fn wide<const W: usize>(a: &[u8], b: &[u8], out: &mut [u8]) -> bool {
        let (a, b, out) = (a.as_chunks::<W>().0, b.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
        out.as_chunks_mut::<2>().0.iter_mut().zip(a).zip(b).for_each(|((out, a), b)| *out = [*a, *b]);
        true
    }
    by_width!(width, wide(a, b, out), false)
}

/// Fills some bytes of each row of `row` bytes with copies of an element.
pub fn fill(element: &[u8], out: &mut [u8], row: usize, range: Range<usize>) {
    fn wide<const W: usize>(element: &[u8], out: &mut [u8], row: usize, range: Range<usize>) {
        let Some(&element) = element.first_chunk::<W>() else { return };
        for out in out.chunks_exact_mut(row) {
            out[range.clone()].as_chunks_mut::<W>().0.iter_mut().for_each(|place| *place = element);
        }
    }
    by_width!(element.len(), wide(element, out, row, range), ());
}

/// The columns of a list of each of several rows of `n` elements, of `width` bytes each. Every column of the list is in range.
pub fn choose(source: &[u8], n: usize, list: &[u64], width: usize, out: &mut [u8]) {
    // As many as loops that know the number have.
    fn few<const W: usize, const N: usize>(source: &[[u8; W]], n: usize, list: [u64; N], out: &mut [[u8; W]]) {
        for (out, own) in out.as_chunks_mut::<N>().0.iter_mut().zip(source.chunks_exact(n)) {
            *out = list.map(|column| own[column as usize]);
        }
    }
    fn wide<const W: usize>(source: &[u8], n: usize, list: &[u64], out: &mut [u8]) {
        let (source, out) = (source.as_chunks::<W>().0, out.as_chunks_mut::<W>().0);
        match *list {
            _ if W > 8 => {}
            [a] => return few(source, n, [a], out),
            [a, b] => return few(source, n, [a, b], out),
            [a, b, c] => return few(source, n, [a, b, c], out),
            [a, b, c, d] => return few(source, n, [a, b, c, d], out),
            _ => {}
        }
        for (out, own) in out.chunks_exact_mut(list.len()).zip(source.chunks_exact(n)) {
            out.iter_mut().zip(list).for_each(|(place, &column)| *place = own[column as usize]);
        }
    }
    if n == 0 || width == 0 || list.is_empty() {
        return;
    }
    by_width!(width, wide(source, n, list, out), {
        for (out, own) in out.chunks_exact_mut(list.len() * width).zip(source.chunks_exact(n * width)) {
            for (place, &column) in out.chunks_exact_mut(width).zip(list) {
                place.copy_from_slice(&own[column as usize * width..][..width]);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_arrays_in_turn() {
        for width in [1, 2, 4, 8, 16] {
            let bytes = |from: u8| (0..7 * width as u8).map(|i| i + from).collect::<Vec<u8>>();
            let (a, b, mut out) = (bytes(0), bytes(128), vec![0; 14 * width]);
            assert!(in_turn(&a, &b, width, &mut out));
            for (i, out) in out.chunks_exact(2 * width).enumerate() {
                assert_eq!(out, [&a[i * width..][..width], &b[i * width..][..width]].concat());
            }
        }
        assert!(!in_turn(&[], &[], 3, &mut []));
    }

    #[test]
    fn columns_of_rows_of_any_width() {
        for width in [0, 1, 2, 3, 4, 8, 16, 24, 32, 40] {
            for rows in [0, 1, 5] {
                let source: Vec<u8> = (0..rows * width).map(|i| i as u8 + 1).collect();
                let row = width + 7;
                let mut out = vec![0; rows * row];
                put(&source, [width, width], &mut out, row, 3);
                for r in 0..rows {
                    let own = &out[r * row..(r + 1) * row];
                    assert_eq!(own[3..3 + width], source[r * width..(r + 1) * width]);
                    assert!(own[..3].iter().chain(&own[3 + width..]).all(|&b| b == 0));
                }
                // Rows that are further apart, the last one up to its end.
                let apart = [&source[..], &[0; 9]].concat();
                let step = width + 2;
                let held = &apart[..rows * step - usize::from(rows > 0) * 2];
                let mut out = vec![0; rows * row];
                put(held, [step, width], &mut out, row, 7);
                for r in 0..rows {
                    assert_eq!(out[r * row + 7..(r + 1) * row], held[r * step..r * step + width]);
                }
                let source: Vec<u8> = (0..rows * 3 * width).map(|i| (i * 7) as u8).collect();
                let element = |r: usize, c: usize| &source[(r * 3 + c) * width..(r * 3 + c + 1) * width];
                for columns in 0..=5 {
                    let list = &[2u64, 0, 2, 1, 0][..columns];
                    let mut out = vec![0; rows * columns * width];
                    choose(&source, 3, list, width, &mut out);
                    let of_row = |r: usize| list.iter().flat_map(move |&c| element(r, c as usize).to_vec());
                    assert_eq!(out, (0..rows).flat_map(of_row).collect::<Vec<u8>>());
                }
            }
        }
        for width in [1, 2, 4, 8, 16] {
            let element: Vec<u8> = (1..=width as u8).collect();
            let mut out = vec![0; 3 * 5 * width];
            fill(&element, &mut out, 5 * width, width..3 * width);
            let zeros = |n: usize| vec![0; n * width];
            let row = [zeros(1), element.repeat(2), zeros(2)].concat();
            assert_eq!(out, row.repeat(3));
        }
    }
}
