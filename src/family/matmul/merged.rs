//! Sparse products beside a fill: rows of easy elements, which hold every place of the result, and those of hard
//! elements and the background, which join them.

use crate::base::mapped::Mapped;
use openwork_ops::matmul::{Carrier, Finish, Grid, Product};
use openwork_ops::structure::IndexSlice;

/// Rows of products, one after the other.
struct Cursor<'a> {
    pieces: std::slice::Iter<'a, Product>,
    piece: Option<&'a Product>,
    row: usize,
    entry: usize,
}

impl<'a> Cursor<'a> {
    fn new(pieces: &'a [Product]) -> Cursor<'a> {
        let mut pieces = pieces.iter();
        let piece = pieces.next();
        Cursor { pieces, piece, row: 0, entry: 0 }
    }

    /// Columns and accumulators of the next row.
    fn next(&mut self, size: usize) -> Option<(IndexSlice<'a>, &'a [u8])> {
        while self.piece?.counts.len() == self.row {
            (self.piece, self.row, self.entry) = (self.pieces.next(), 0, 0);
        }
        let piece = self.piece?;
        let end = self.entry + piece.counts[self.row];
        let row = (piece.columns.as_slice().range(self.entry..end), &piece.values[self.entry * size..end * size]);
        (self.row, self.entry) = (self.row + 1, end);
        Some(row)
    }
}

/// Rows of a plain carrier with what is added to them: rows of its doubled carrier, whose places they have too, and the
/// background at a row, from its first column on.
pub(super) fn merged<'a>(
    plain: Vec<Product>,
    carrier: Carrier,
    exact: &[Vec<Product>],
    background: &dyn Fn(usize) -> Option<Grid<'a>>,
    finish: Finish<'_>,
    width: usize,
) -> Vec<Product> {
    let (wide, small) = (carrier.doubled(), carrier.acc_size());
    let (kernels, size) = (wide.kernels(), wide.acc_size());
    let mut cursors: Vec<Cursor<'_>> = exact.mapped(|pieces| Cursor::new(pieces));
    let (mut out, mut row, mut scratch) = (Vec::new(), 0, Vec::<u128>::new());
    for piece in plain {
        let mut values = vec![0u8; piece.columns.len() * width];
        let mut start = 0;
        for &count in &piece.counts {
            let end = start + count;
            let columns = piece.columns.as_slice().range(start..end);
            scratch.clear();
            scratch.resize((count * size).div_ceil(16), 0);
            let acc = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut scratch)[..count * size];
            if let Some(grid) = background(row) {
                for (e, slot) in acc.chunks_exact_mut(size).enumerate() {
                    let at = columns.get(e) * grid.col * size;
                    slot.copy_from_slice(&grid.values[at..at + size]);
                }
            }
            for cursor in &mut cursors {
                let Some((own, terms)) = cursor.next(size) else { continue };
                let mut place = 0;
                for (e, term) in terms.chunks_exact(size).enumerate() {
                    while columns.get(place) < own.get(e) {
                        place += 1;
                    }
                    let slot = &mut acc[place * size..(place + 1) * size];
                    kernels.add(Grid { values: term, row: 0, col: 1 }, 1, slot);
                }
            }
            if count > 0 {
                wide.add_plain(&piece.values[start * small..end * small], acc);
                finish(acc, &mut values[start * width..end * width]);
            }
            (start, row) = (end, row + 1);
        }
        out.push(Product { values, ..piece });
    }
    out
}
