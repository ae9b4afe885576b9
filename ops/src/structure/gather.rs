//! Moving elements and rows by their width in bytes.

use super::index::{Index, IndexSlice};
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
            for (o, &i) in out.chunks_exact_mut(row).zip(select) {
                let start = i.get() * row;
                o.copy_from_slice(&source[start..start + row]);
            }
        }
    }
}

fn gather_wide<const W: usize, I: Index>(source: &[u8], select: &[I], out: &mut [u8]) {
    let (source, _) = source.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    for (o, &i) in out.iter_mut().zip(select) {
        *o = source[i.get()];
    }
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

fn scatter_wide<const W: usize>(source: &[u8], offsets: &[u64], out: &mut [u8]) {
    let (source, _) = source.as_chunks::<W>();
    let (out, _) = out.as_chunks_mut::<W>();
    for (s, &o) in source.iter().zip(offsets) {
        out[o as usize] = *s;
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
