//! Arrays beside each other, and in a frame: each piece of the result is written once, by any thread.

use std::borrow::Cow;

use openwork_ops::structure::{columns, gather};
use openwork_ops::{DType, Scalar};

use crate::base::buffer::{BYTES, Buffer};
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, count};
use crate::engine::convert;

/// Bytes of the pieces of a row that are worth to be written each by itself.
const LONG: usize = 4096;

/// Bytes of the longest rows of which the frame is written whole, and then what it frames: to fill each end takes longer.
const SHORT: usize = 32;

/// Joins arrays of one dtype along an axis, of which the shape of all together is given.
///
/// # Errors
/// If memory cannot hold the result.
pub(crate) fn joined(parts: &[&Strided], axis: usize, shape: &[usize]) -> Result<Strided> {
    let dtype = parts[0].dtype;
    let size = dtype.size();
    let n = convert::dense_len(shape, dtype)?;
    if n == 0 {
        return empty(dtype, shape); // other sizes together may be any
    }
    let parts: Vec<&Strided> = parts.iter().copied().filter(|part| part.len() > 0).collect();
    let inner = count(&shape[axis + 1..]);
    let row = shape[axis] * inner;
    let buffer = Buffer::filled(n * size, size.max(BYTES), |out| {
        if row * size / parts.len() >= LONG {
            in_pieces(&parts, axis, row, inner, out);
        } else {
            parallel::for_chunks_mut(out, row * size, (GRAIN / row.max(1)).max(1), &|first, out| {
                side_by_side(&parts, axis, (row, inner), first, out);
            });
        }
    })?;
    Ok(Strided::new(buffer, dtype, shape.to_vec()))
}

/// An array of no elements.
fn empty(dtype: DType, shape: &[usize]) -> Result<Strided> {
    Ok(Strided::new(Buffer::empty(), dtype, shape.to_vec()))
}

/// Every part of every row by itself.
fn in_pieces(parts: &[&Strided], axis: usize, row: usize, inner: usize, out: &mut [u8]) {
    let size = parts[0].dtype.size();
    let mut pieces = Vec::new();
    for (r, mut out) in out.chunks_exact_mut(row * size).enumerate() {
        for part in parts {
            let width = part.shape[axis] * inner;
            let own;
            (own, out) = std::mem::take(&mut out).split_at_mut(width * size);
            let starts = (r * width..).step_by(GRAIN);
            pieces.extend(own.chunks_mut(GRAIN * size).zip(starts).map(|(own, start)| (*part, start, own)));
        }
    }
    if are_short(&pieces) {
        return pieces.into_iter().for_each(|(part, start, own)| part.read(start, own));
    }
    parallel::for_each(pieces, &|_, (part, start, own): (&Strided, usize, &mut [u8])| part.read(start, own));
}

/// Whether to wake another thread takes longer than to write all pieces.
fn are_short(pieces: &[(&Strided, usize, &mut [u8])]) -> bool {
    pieces.iter().map(|(part, _, own)| own.len() / part.dtype.size()).sum::<usize>() <= 4 * GRAIN
}

/// Some rows from the `first` on, which have `row` elements each, part after part.
fn side_by_side(parts: &[&Strided], axis: usize, (row, inner): (usize, usize), first: usize, out: &mut [u8]) {
    let size = parts[0].dtype.size();
    let rows = out.len() / (row * size);
    if let ([a, b], 2) = (parts, row)
        && let (Some((of_a, 1)), Some((of_b, 1))) = (apart(a, axis), apart(b, axis))
    {
        // Of one column each.
        let [a, b] = [(a, of_a), (b, of_b)].map(|(x, at)| &x.buffer.bytes()[(at + first) * size..][..rows * size]);
        if columns::in_turn(a, b, size, out) {
            return;
        }
    }
    let (mut at, mut room) = (0, Vec::new());
    for part in parts {
        let width = part.shape[axis] * inner;
        let (source, step) = match apart(part, axis) {
            Some((offset, step)) => (&part.buffer.bytes()[(offset + first * step) * size..], step),
            None => {
                room.resize(rows * width * size, 0);
                part.read(first * width, &mut room);
                (&room[..], width)
            }
        };
        columns::put(source, [step * size, width * size], out, row * size, at * size);
        at += width;
    }
}

/// Where the first row of an array is, and how many elements further the next, where rows, of the axes from `axis` on, lie as such and
/// equally far apart.
fn apart(x: &Strided, axis: usize) -> Option<(usize, usize)> {
    let of_one = |a: &usize| x.shape[*a] == 1;
    let mut width = 1;
    for a in (axis..x.ndim()).rev().filter(|a| !of_one(a)) {
        if x.strides[a] != width {
            return None;
        }
        width *= x.shape[a] as isize;
    }
    let (mut step, mut next) = (width, None);
    for a in (0..axis).rev().filter(|a| !of_one(a)) {
        match next {
            None => step = x.strides[a],
            Some(next) if x.strides[a] == next => {}
            Some(_) => return None,
        }
        next = Some(x.strides[a] * x.shape[a] as isize);
    }
    (step >= width).then_some((x.offset, step as usize))
}

/// An array in a frame of `value`: `widths` are how many elements come before it and behind it along each axis, of which there is one
/// at least; `shape` is that of the result.
///
/// # Errors
/// If memory cannot hold the result.
pub(super) fn framed(x: &Strided, widths: &[(usize, usize)], shape: &[usize], value: Scalar) -> Result<Strided> {
    let (dtype, size) = (x.dtype, x.dtype.size());
    let n = convert::dense_len(shape, dtype)?;
    if n == 0 {
        return empty(dtype, shape);
    }
    let x: Cow<'_, Strided> = x.to_contiguous()?;
    let source = x.contiguous_bytes().unwrap_or_default();
    let element = &value.to_bytes().0[..size];
    let last = shape.len() - 1;
    let (row, own, before) = (shape[last], x.shape[last], widths[last].0);
    let buffer = Buffer::filled(n * size, size.max(BYTES), |out| {
        let bytes = row * size;
        parallel::for_chunks_mut(out, bytes, (GRAIN / row.max(1)).max(1), &|first, mut out| {
            let mut r = first;
            while !out.is_empty() {
                let (count, from) = Rows { x: &x, widths, shape }.at(r);
                let part;
                let end = (count * bytes).min(out.len());
                (part, out) = std::mem::take(&mut out).split_at_mut(end);
                r += count;
                let Some(from) = from.filter(|_| own > 0) else {
                    gather::repeat(element, part);
                    continue;
                };
                if bytes <= SHORT {
                    gather::repeat(element, part);
                } else {
                    columns::fill(element, part, bytes, 0..before * size);
                    columns::fill(element, part, bytes, (before + own) * size..bytes);
                }
                columns::put(&source[from * own * size..], [own * size; 2], part, bytes, before * size);
            }
        });
    })?;
    Ok(Strided::new(buffer, dtype, shape.to_vec()))
}

/// The rows of an array in a frame, along its last axis.
struct Rows<'a> {
    x: &'a Strided,
    widths: &'a [(usize, usize)],
    shape: &'a [usize],
}

impl Rows<'_> {
    /// How many rows from the `r`-th on are of one kind, and the number of the first of them in the array, if they are in it.
    fn at(&self, r: usize) -> (usize, Option<usize>) {
        let Some(along) = self.shape.len().checked_sub(2) else { return (1, Some(0)) };
        let (mut outer, i) = (r / self.shape[along], r % self.shape[along]);
        let ((before, _), n) = (self.widths[along], self.x.shape[along]);
        let (mut number, mut is_inside) = (0, true);
        let mut weight = if faults::is(Fault::FrameShifted) { 0 } else { n };
        for axis in (0..along).rev() {
            let i = (outer % self.shape[axis]).wrapping_sub(self.widths[axis].0);
            outer /= self.shape[axis];
            if i >= self.x.shape[axis] {
                is_inside = false;
                break;
            }
            number += i * weight;
            weight *= self.x.shape[axis];
        }
        match i.checked_sub(before) {
            _ if !is_inside => (self.shape[along] - i, None),
            None => (before - i, None),
            Some(i) if i < n => (n - i, Some(number + i)),
            Some(_) => (self.shape[along] - i, None),
        }
    }
}

/// The elements of the last two axes on one side of a diagonal, zero on the other.
///
/// # Errors
/// If memory cannot hold the result.
pub(super) fn triangle(x: &Strided, offset: isize, lower: bool) -> Result<Strided> {
    let total = convert::dense_len(&x.shape, x.dtype)?;
    let size = x.dtype.size();
    let [.., rows, columns] = x.shape[..] else { return Ok(x.clone()) };
    if total == 0 {
        return empty(x.dtype, &x.shape);
    }
    let source = x.dense_bytes()?;
    let row = columns * size;
    let edge = offset as i128 + i128::from(lower);
    // How many rows from the `r`-th on are cut alike, and how many columns of each are left of the cut.
    let run = |r: usize| {
        let i = r % rows;
        match (i as i128 + edge).clamp(0, columns as i128) as usize {
            0 => ((1 - edge).clamp(i as i128 + 1, rows as i128) as usize - i, 0),
            cut if cut == columns => (rows - i, cut),
            cut => (1, cut),
        }
    };
    let buffer = Buffer::filled(total * size, size.max(BYTES), |out| {
        parallel::for_chunks_mut(out, row, (GRAIN / columns.max(1)).max(1), &|first, mut out| {
            let mut r = first;
            while !out.is_empty() {
                let (count, cut) = run(r);
                let part;
                let end = (count * row).min(out.len());
                (part, out) = std::mem::take(&mut out).split_at_mut(end);
                let source = &source[r * row..][..part.len()];
                let at = if cut == columns { part.len() } else { cut * size };
                let (left, right) = part.split_at_mut(at);
                let (kept, zero, from) =
                    if lower { (left, right, &source[..at]) } else { (right, left, &source[at..]) };
                kept.copy_from_slice(from);
                zero.fill(0);
                r += count;
            }
        });
    })?;
    Ok(Strided::new(buffer, x.dtype, x.shape.clone()))
}
