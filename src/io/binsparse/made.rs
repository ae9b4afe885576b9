//! Arrays that other libraries do not save as such: coordinates that follow from what they do save.

use crate::base::mapped::Mapped;
use crate::io::fault::{Res, bad};

/// Coordinates, and which values go with them, of what is stored in another way.
#[derive(Debug)]
pub(crate) enum Made {
    /// Diagonals of a matrix, one behind the other.
    Diagonals(Vec<Diagonal>),
    /// A tensor as a compressed matrix of some of its axes by the others.
    Folded(Folded),
}

/// The part of a diagonal that lies in the matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Diagonal {
    row: u64,
    col: u64,
    count: u64,
    /// Where its values are among all that are saved.
    at: u64,
}

/// What is known of such a matrix.
#[derive(Debug)]
pub(crate) struct Folded {
    /// Per axis of the tensor: whether pointers are over it, how far apart its elements are in the matrix, and its size if
    /// there is an axis before it on its side.
    axes: Vec<(bool, u64, Option<u64>)>,
    pointers: Vec<u64>,
    indices: Vec<u64>,
}

/// The diagonals of a matrix by how far they are from the main one; of each as many values are saved, by columns.
pub(crate) fn diagonals(shape: [u64; 2], offsets: &[i64], saved: [u64; 2]) -> Res<(Made, u64)> {
    let [rows, cols] = shape;
    let [lines, width] = saved;
    if lines != offsets.len() as u64 {
        return bad(format_args!("{lines} lines of values for {} diagonals", offsets.len()));
    }
    let (mut out, mut nse) = (Vec::with_capacity(offsets.len()), 0_u64);
    for (line, &offset) in offsets.iter().enumerate() {
        let away = offset.unsigned_abs();
        let (row, col) = if offset < 0 { (away, 0) } else { (0, away) };
        // Values of columns that are not saved are 0, and those beyond the matrix are none.
        let end = cols.min(width);
        let count = rows.saturating_sub(row).min(end.saturating_sub(col));
        out.push(Diagonal { row, col, count, at: line as u64 * width + col });
        nse += count;
    }
    Ok((Made::Diagonals(out), nse))
}

/// A matrix whose rows are some axes of a tensor and whose columns are the others.
pub(crate) fn folded(shape: &[u64], compressed: &[u64], pointers: Vec<u64>, indices: Vec<u64>) -> Res<Made> {
    let is_row = |axis: usize| compressed.contains(&(axis as u64));
    let known = (0..shape.len()).filter(|&axis| is_row(axis)).count();
    if known != compressed.len() || known == 0 || known == shape.len() {
        return bad(format_args!("compressed axes {compressed:?} of the shape {shape:?}"));
    }
    // On each side axes follow each other in the order in which they are named, the others in that of the tensor.
    let mut axes = vec![(false, 1, None); shape.len()];
    let mut rows = 1_u64;
    let others: Vec<u64> = (0..shape.len()).filter(|&axis| !is_row(axis)).map(|axis| axis as u64).collect();
    for (side, is_of_rows) in [(compressed, true), (&others[..], false)] {
        let mut stride = 1_u64;
        for (place, &axis) in side.iter().enumerate().rev() {
            let Some((slot, &size)) = axes.get_mut(axis as usize).zip(shape.get(axis as usize)) else { continue };
            *slot = (is_of_rows, stride, (place > 0).then_some(size));
            stride = match stride.checked_mul(size.max(1)) {
                Some(stride) => stride,
                None => {
                    return bad(format_args!("a matrix for the shape {shape:?} with compressed axes {compressed:?}"));
                }
            };
            if is_of_rows {
                rows = rows.saturating_mul(size);
            }
        }
    }
    let rising = pointers.windows(2).all(|pair| pair[0] <= pair[1]);
    let ends = (pointers.first(), pointers.last()) == (Some(&0), Some(&(indices.len() as u64)));
    if pointers.len() as u64 != rows.saturating_add(1) || !rising || !ends {
        return bad(format_args!("pointers that do not go from 0 to {} in {rows} rows", indices.len()));
    }
    Ok(Made::Folded(Folded { axes, pointers, indices }))
}

/// Which axis an array has the coordinates of.
fn axis_of(name: &str) -> Option<usize> {
    name.strip_prefix("indices_")?.parse().ok()
}

impl Made {
    /// Elements that are stored.
    pub(crate) fn len(&self) -> u64 {
        match self {
            Made::Diagonals(diagonals) => diagonals.iter().map(|diagonal| diagonal.count).sum(),
            Made::Folded(folded) => folded.indices.len() as u64,
        }
    }

    /// Whether it is coordinates.
    pub(crate) fn has(&self, name: &str) -> bool {
        axis_of(name).is_some()
    }

    /// Whether values are not saved one behind the other.
    pub(crate) fn picks(&self) -> bool {
        matches!(self, Made::Diagonals(_))
    }

    /// The coordinates of some elements along an axis, of 64 bits each.
    pub(crate) fn read(&self, name: &str, start: u64, out: &mut [u8]) {
        let axis = axis_of(name).unwrap_or(0);
        let mut slots = out.chunks_exact_mut(8);
        let mut put = |value: u64| {
            if let Some(slot) = slots.next() {
                slot.copy_from_slice(&value.to_ne_bytes());
            }
        };
        match self {
            Made::Diagonals(diagonals) => {
                let mut before = 0;
                for diagonal in diagonals {
                    let skipped = start.saturating_sub(before).min(diagonal.count);
                    let first = if axis == 0 { diagonal.row } else { diagonal.col };
                    (skipped..diagonal.count).for_each(|at| put(first + at));
                    before += diagonal.count;
                }
            }
            Made::Folded(Folded { axes, pointers, indices }) => {
                let Some(&(is_of_rows, stride, size)) = axes.get(axis) else { return };
                // Of the row that the element is in, which the next ones are in or behind.
                let mut row = pointers.partition_point(|&end| end <= start).saturating_sub(1);
                for (at, &col) in indices.iter().enumerate().skip(start as usize) {
                    while pointers.get(row + 1).is_some_and(|&end| end <= at as u64) {
                        row += 1;
                    }
                    let place = if is_of_rows { row as u64 } else { col } / stride;
                    put(size.map_or(place, |size| place % size.max(1)));
                }
            }
        }
    }

    /// Copies some values out of all that are saved; each has so many bytes.
    pub(crate) fn pick(&self, saved: &[u8], item: usize, from: usize, out: &mut [u8]) {
        let Made::Diagonals(diagonals) = self else { return };
        let (mut before, end) = (0, from + out.len());
        for diagonal in diagonals {
            let (at, bytes) = (diagonal.at as usize * item, diagonal.count as usize * item);
            let (begin, stop) = (before.max(from), (before + bytes).min(end));
            if begin < stop {
                let source = saved.get(at + begin - before..at + stop - before);
                if let (Some(source), Some(target)) = (source, out.get_mut(begin - from..stop - from)) {
                    target.copy_from_slice(source);
                }
            }
            before += bytes;
        }
    }
}

/// Places for coordinates that are made.
pub(crate) fn places(axes: usize) -> Vec<super::foreign::Place> {
    (0..axes).mapped(|_| super::foreign::Place { stored: String::new(), part: None })
}

#[cfg(test)]
#[path = "tests/made.rs"]
mod tests;
