//! The loops over matrices and rows: which rows meet which, in pieces that threads share.

use std::ops::Range;
use std::sync::Arc;

use openwork_ops::matmul::{Carrier, Finish, Grid, Listed, Mask, Out, Product, Rows, Run, Stencil, has_panels};
use openwork_ops::structure::{Index, IndexSlice};
use openwork_ops::with_index;

use super::mask::Wanted;
use super::operand::{Field, Stored, batch_strides, offset};
use super::over_fill::Terms;
use super::sparse;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::strided::count;
use crate::base::turns::{cut, in_turns};
use crate::base::{memory, parallel};
use crate::levels::indices::needs_64_bits;

/// The parts of a product that one pass computes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Parts {
    /// Stored elements with stored elements.
    pub(super) stored: bool,
    /// Stored elements on the left with the background on the right.
    pub(super) rows: bool,
    /// The background on the left with stored elements on the right.
    pub(super) columns: bool,
    /// Background with background.
    pub(super) backgrounds: bool,
}

/// One pass over a product: its operands, and the shape it is computed in, which is 1 along an axis where
/// nothing in it varies.
pub(super) struct Pass<'a> {
    pub(super) carrier: Carrier,
    pub(super) parts: Parts,
    pub(super) batch: Vec<usize>,
    pub(super) m: usize,
    pub(super) k: usize,
    pub(super) n: usize,
    /// The left operand; for products with stored elements on the right, its columns may be places in the
    /// rows listed there.
    pub(super) left: Option<&'a Stored>,
    pub(super) left_against: Option<&'a Stored>,
    /// Where the left operand has no terms: what makes them. It meets the background on the right and nothing else.
    pub(super) left_terms: Option<Terms<'a>>,
    pub(super) right: Option<&'a Stored>,
    pub(super) left_field: Option<&'a Field>,
    pub(super) right_field: Option<&'a Field>,
    /// What accumulators start from.
    pub(super) init: Option<&'a Field>,
    /// Which elements are wanted of what meets.
    pub(super) mask: Option<&'a Wanted>,
}

/// Bytes of accumulators at a time.
pub(super) const BLOCK: usize = 1 << 16;

/// Columns up to which a few rows of sums are kept beside the result without asking for room.
pub(super) const WIDEST: usize = 1 << 14;

/// Multiply-adds in one piece of work.
pub(super) const WORK: usize = 1 << 18;

/// Where rows are made.
#[derive(Default)]
struct Room<'a> {
    /// For accumulators, where these are not the elements.
    scratch: Vec<u128>,
    /// Whether elements are best written past the caches.
    stream: bool,
    /// Rows of the left operand whose columns need not be read.
    stencils: &'a [Stencil],
}

impl Pass<'_> {
    /// The matrix of an operand that takes part in matrix `b` of the product.
    fn matrix_of(&self, side: Option<&Stored>, b: usize) -> usize {
        match side {
            Some(s) if !self.batch.is_empty() && s.batch != self.batch => {
                offset(&self.batch, &batch_strides(&s.batch), b)
            }
            _ => b,
        }
    }

    pub(super) fn left_matrix(&self, b: usize) -> usize {
        self.matrix_of(self.left, b)
    }

    fn right_matrix(&self, b: usize) -> usize {
        self.matrix_of(self.right, b)
    }

    fn field_offset(&self, field: &Field, b: usize) -> usize {
        offset(&self.batch, &field.strides[..field.strides.len() - 2], b)
    }

    /// About how many multiply-adds a row takes.
    pub(super) fn work_per_row(&self) -> usize {
        let per_row = |s: Option<&Stored>| s.map_or(0, |s| s.nse() / s.len().max(1) + 1);
        let (left, right) = (per_row(self.left), per_row(self.right));
        let part = |on: bool, work: usize| if on { work } else { 0 };
        part(self.parts.stored, left.saturating_mul(right))
            + part(self.parts.rows, left.saturating_mul(self.n))
            + part(self.parts.columns, self.right.map_or(0, Stored::nse))
            + part(self.parts.backgrounds, self.k.saturating_mul(self.n))
            + self.n
    }

    /// Every row of every matrix, dense, `width` bytes an element.
    pub(super) fn all_rows(&self, finish: Finish<'_>, width: usize) -> Result<Buffer> {
        let rows = count(&self.batch).saturating_mul(self.m);
        let row = self.n * width;
        Buffer::streamed(rows * row, width, |out, stream| {
            if row == 0 {
                return;
            }
            let stencils = self.stencils();
            let stencils = stencils.as_deref().unwrap_or(&[]);
            let ends: Vec<usize> = self.dense_pieces(rows).into_iter().map(|end| end * row).collect();
            parallel::for_pieces_mut(out, &ends, &|piece, out| {
                let mut at = piece.checked_sub(1).map_or(0, |before| ends[before] / row);
                let end = ends[piece] / row;
                let mut rest = out;
                let mut room = Room { scratch: Vec::new(), stream, stencils };
                while at < end {
                    let (b, i) = (at / self.m, at % self.m);
                    let count = (self.m - i).min(end - at);
                    let (part, tail) = rest.split_at_mut(count * row);
                    let left = self.left_matrix(b) * self.m + i;
                    self.rows(b, i, left..left + count, &mut room, finish, part);
                    (rest, at) = (tail, at + count);
                }
            });
        })
    }

    /// Stretches of rows whose columns need not be read, where vectors are multiplied, and not for the first time.
    fn stencils(&self) -> Option<Arc<[Stencil]>> {
        let left = self.left.filter(|_| self.n == 1 && self.parts.rows && self.left_terms.is_none())?;
        let (IndexSlice::U32(pointers), IndexSlice::U32(indices)) = (left.pointers.as_slice(), left.indices.as_slice())
        else {
            return None;
        };
        if !matches!(self.carrier, Carrier::Single | Carrier::Float) || !Stencil::is_of_use() {
            return None;
        }
        left.indices.buffer().stencils(left.len(), || Stencil::all(pointers, indices).into())
    }

    /// The accumulators of the one row of the one matrix, where only backgrounds take part, over an axis so long that its parts
    /// are summed apart, then added in order; `None` of any other pass.
    pub(super) fn long_row(&self) -> Option<Buffer> {
        let Parts { stored, rows, columns, backgrounds } = self.parts;
        // Each part has accumulators of its own.
        const MOST: usize = 16;
        let part = (WORK / self.n.max(1)).max(self.k.div_ceil(MOST)).max(1);
        let is_one =
            backgrounds && !(stored || rows || columns) && self.init.is_none() && self.batch.is_empty() && self.m == 1;
        let (x, y) = (self.left_field?.grid(0), self.right_field?.grid(0));
        if !is_one || !(1..=WIDEST).contains(&self.n) || self.k < 2 * part {
            return None;
        }
        let (kernels, size) = (self.carrier.kernels(), self.carrier.term_size());
        let sums = parallel::map_chunks(self.k, part, &|range| {
            let mut acc = vec![0u128; (self.n * self.carrier.acc_size()).div_ceil(16)];
            let bytes = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut acc)[..self.n * self.carrier.acc_size()];
            self.carrier.clear(bytes);
            let x = Grid { values: &x.values[range.start * x.col * size..], ..x };
            let y = Grid { values: &y.values[range.start * y.row * size..], ..y };
            kernels.dense_dense(x, 0..1, y, range.len(), self.n, bytes);
            acc
        });
        let n = self.n * self.carrier.acc_size();
        let mut parts = sums.into_iter();
        let mut total = parts.next()?;
        let total = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut total)[..n];
        for part in parts {
            kernels.add(Grid { values: &bytemuck::cast_slice::<u128, u8>(&part)[..n], row: 0, col: 1 }, self.n, total);
        }
        Buffer::build(n, |out| out.copy_from_slice(total)).ok()
    }

    /// Stored elements of a piece in which a kernel may go through a large dense matrix by panels of columns: so many that each row of it
    /// is met several times, in a few pieces for each thread. Where there are fewer, 0.
    fn panel_work(&self, left: &Stored) -> usize {
        const MET: usize = 8;
        const PIECES: usize = 4;
        // A fraction of a second: an interrupt is seen between pieces.
        const MOST: usize = 1 << 29;
        let work = (left.nse() / (PIECES * parallel::threads())).min(MOST / self.n.max(1));
        let is_plain = matches!(self.carrier, Carrier::Single | Carrier::Float) && self.left_terms.is_none();
        let has_panels = is_plain && self.batch.is_empty() && has_panels(self.k, self.n, self.carrier.term_size());
        if has_panels && work / MET >= self.k { work } else { 0 }
    }

    /// Where pieces of similar work end that are made of whole rows of all matrices.
    fn dense_pieces(&self, rows: usize) -> Vec<usize> {
        let Some(left) = self.left.filter(|l| self.parts.rows && l.ids.is_none() && rows > 0) else {
            // Rows of arrays are multiplied a few together, if there are enough for threads.
            let grain = (WORK / self.work_per_row().max(1)).max(4.min(rows / 16)).max(1);
            return (1..=rows.div_ceil(grain)).map(|piece| (piece * grain).min(rows)).collect();
        };
        // A row is worth what it stores, and what is written of it.
        let work = (WORK / self.n).max(1 << 10).max(self.panel_work(left));
        if self.batch.is_empty() && left.nse() + rows <= work {
            return vec![rows];
        }
        let (mut ends, mut carried) = (Vec::new(), 0);
        for b in 0..count(&self.batch) {
            let first = self.left_matrix(b) * self.m;
            let cost = |i: usize| left.start(first + i) - left.start(first) + i;
            let mut i = 0;
            while i < self.m {
                let goal = (cost(i) + work).saturating_sub(carried);
                let (mut low, mut high) = (i + 1, self.m);
                while low < high {
                    let middle = low.midpoint(high);
                    if cost(middle) < goal { low = middle + 1 } else { high = middle }
                }
                carried = if cost(low) < goal { carried + cost(low) - cost(i) } else { 0 };
                i = low;
                if carried == 0 {
                    ends.push(b * self.m + i);
                }
            }
        }
        if ends.last() != Some(&rows) {
            ends.push(rows);
        }
        ends
    }

    /// The rows of the left operand with these numbers, dense: `(matrix of the product, row)`.
    pub(super) fn listed_rows(&self, rows: &[(usize, usize)], finish: Finish<'_>, width: usize) -> Result<Buffer> {
        let row = self.n * width;
        Buffer::build(rows.len() * row, |out| {
            let grain = (WORK / self.work_per_row().max(1)).max(1);
            parallel::for_chunks_mut(out, row, grain, &|first, mut out| {
                let mut rows = &rows[first..first + out.len() / row];
                let (mut room, mut whole) = (Room::default(), Vec::new());
                while let Some(&(b, start)) = rows.first() {
                    let (own, rest) = rows.split_at(together(rows, row));
                    let (part, tail) = out.split_at_mut(own.len() * row);
                    let span = own[own.len() - 1].1 + 1 - start;
                    if span == own.len() {
                        self.rows(b, 0, start..start + span, &mut room, finish, part);
                    } else {
                        // Rows between them are computed as well, and dropped.
                        whole.resize((span * row).div_ceil(16), 0u128);
                        let whole = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut whole)[..span * row];
                        self.rows(b, 0, start..start + span, &mut room, finish, whole);
                        for (&(_, r), part) in own.iter().zip(part.chunks_exact_mut(row)) {
                            part.copy_from_slice(&whole[(r - start) * row..][..row]);
                        }
                    }
                    (rows, out) = (rest, tail);
                }
            });
        })
    }

    /// Consecutive rows of matrix `b`, from row `i` on, finished into `out`.
    fn rows(&self, b: usize, i: usize, left: Range<usize>, room: &mut Room<'_>, finish: Finish<'_>, out: &mut [u8]) {
        if let (Some(x), Some(y), true) = (self.left, self.right_field, self.is_rounded_at_once(out.len() / left.len()))
        {
            let y = y.grid(self.field_offset(y, b));
            if let Some(Terms::InKernel(over)) = self.left_terms {
                return over.multiply(left, y, out);
            }
            if let Some(Terms::AtHand(terms)) = self.left_terms {
                let (kernels, row, mut rest) = (self.carrier.kernels(), out.len() / left.len(), out);
                terms.each(left, true, &mut |x, rows| {
                    let (part, tail) = std::mem::take(&mut rest).split_at_mut(rows.len() * row);
                    if !kernels.sparse_dense_rounded(x, rows.clone(), y, self.n, part, room.stream) {
                        part.fill(0);
                        kernels.sparse_dense(x, rows, y, self.n, part);
                    }
                    rest = tail;
                });
                return;
            }
            let x = Rows { stencils: room.stencils, ..x.view() };
            if self.carrier.kernels().sparse_dense_rounded(x, left.clone(), y, self.n, out, room.stream) {
                return;
            }
        }
        let row = self.n * self.carrier.acc_size();
        let per_block = (BLOCK / row).max(1);
        let width = out.len() / left.len().max(1);
        let mut done = 0;
        for out in out.chunks_mut(per_block * width) {
            let count = out.len() / width;
            room.scratch.resize((count * row).div_ceil(16), 0);
            let acc = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut room.scratch)[..count * row];
            self.carrier.clear(acc);
            self.accumulate(b, i + done..i + done + count, left.start + done..left.start + done + count, acc);
            finish(acc, out);
            done += count;
        }
    }

    /// Whether rows, of so many bytes when they are finished, are sums of stored elements with the background on the right
    /// and nothing else, in the dtype of the terms.
    fn is_rounded_at_once(&self, row: usize) -> bool {
        let Parts { stored, rows, columns, backgrounds } = self.parts;
        let only = rows && !(stored || columns || backgrounds) && self.init.is_none();
        only && !self.carrier.is_wide() && row == self.n * self.carrier.term_size()
    }

    /// Adds all parts of some rows to zeroed accumulators.
    pub(super) fn accumulate(&self, b: usize, rows: Range<usize>, left: Range<usize>, acc: &mut [u8]) {
        let kernels = self.carrier.kernels();
        if let Some(init) = self.init {
            let grid = init.grid(self.field_offset(init, b));
            for (i, row) in acc.chunks_exact_mut(self.n * init.size).enumerate() {
                for (j, slot) in row.chunks_exact_mut(init.size).enumerate() {
                    let at = ((rows.start + i) * grid.row + j * grid.col) * init.size;
                    slot.copy_from_slice(&grid.values[at..at + init.size]);
                }
            }
        }
        let fields = [self.left_field, self.right_field].map(|f| f.map(|f| f.grid(self.field_offset(f, b))));
        if let (Some(x), Some(y), true) = (self.left_against.or(self.left), self.right, self.parts.stored) {
            let first = if y.ids.is_some() { 0 } else { self.right_matrix(b) * y.rows };
            kernels.sparse_sparse(x.view(), left.clone(), y.view(), first, self.n, acc);
        }
        if let (Some(x), Some(y), true) = (self.left, fields[1], self.parts.rows) {
            kernels.sparse_dense(x.view(), left, y, self.n, acc);
        }
        if let (Some(x), Some(y), true) = (fields[0], self.right, self.parts.columns) {
            let (matrix, first) = (self.right_matrix(b), (self.right_matrix(b) * y.rows) as u64);
            let of = y.matrix(matrix);
            let ids = y.ids.as_ref().map(|ids| (first, &ids[of.clone()]));
            kernels.dense_sparse(x, rows.clone(), Listed { all: y.view(), rows: of, ids }, self.n, acc);
        }
        if let (Some(x), Some(y), true) = (fields[0], fields[1], self.parts.backgrounds) {
            kernels.dense_dense(x, rows, y, self.k, self.n, acc);
        }
    }

    /// Only what meets: rows of the left operand (all of every matrix, or the listed ones) in order.
    pub(super) fn sparse_rows(&self, finish: Finish<'_>, width: usize) -> Vec<Product> {
        let (Some(left), Some(right)) = (self.left_against.or(self.left), self.right) else { return Vec::new() };
        let total = match &left.ids {
            Some(ids) => ids.len(),
            None => count(&self.batch).saturating_mul(self.m),
        };
        if let Some(row) = self.one_row(left, right, finish, width) {
            return vec![row];
        }
        let pieces = match parallel::threads() {
            1 => vec![0..total; usize::from(total > 0)], // joining costs a copy
            _ => self.pieces(left, total, WORK),
        };
        parallel::map_chunks(pieces.len(), 1, &|piece| {
            self.piece(left, right, pieces[piece.start].clone(), finish, width)
        })
    }

    /// [`Pass::sparse_rows`] of one matrix that has all its rows, under a mask of places: these bound what it has, so that each piece
    /// goes where it stays once it is made, and little is there twice. `None` of others.
    pub(super) fn masked_rows(&self, finish: Finish<'_>, width: usize) -> Option<sparse::Product> {
        let (left, right, mask) = (self.left_against.or(self.left)?, self.right?, self.mask?);
        let is_fit = |s: &Stored| s.ids.is_none() && !s.is_wide();
        let most = mask.rows.nse();
        if !self.batch.is_empty()
            || mask.is_complement
            || self.init.is_some()
            || !(is_fit(left) && is_fit(right) && is_fit(&mask.rows))
            || needs_64_bits(most, [self.m, self.n])
            || !memory::is_free(most.checked_mul(size_of::<u32>() + width)?)
        {
            return None;
        }
        // With one thread nobody is idle while another works: larger pieces, each of which makes accumulators ready.
        let least = if parallel::threads() == 1 { (8 * WORK).max(32 * self.n) } else { WORK };
        let pieces = self.pieces(left, self.m, least);
        let mut ends = Scratch::<u32>::any(self.m + 1);
        ends[0] = 0;
        let (mut columns, mut values) = (Scratch::<u32>::any(most), Scratch::<u8>::any(most * width));
        let room = Out { counts: &mut ends[1..], columns: &mut columns, values: &mut values };
        let make = |i: usize, made: &mut Option<Product>| {
            *made = None; // whose memory it takes
            *made = Some(self.piece(left, right, pieces[i].clone(), finish, width));
        };
        let copy = |made: &Option<Product>, out: Out<'_>| {
            let Some(made) = made else { return };
            out.counts.iter_mut().zip(&made.counts).for_each(|(to, &count)| *to = count as u32);
            with_index!(made.columns.as_slice(), all => {
                out.columns.iter_mut().zip(all).for_each(|(to, j)| *to = j.get() as u32);
            });
            out.values.copy_from_slice(&made.values);
        };
        let left_over = in_turns(pieces.len(), room, &make, &place_of, &copy).columns.len();
        columns.truncate(most - left_over);
        values.truncate((most - left_over) * width);
        let mut end = 0;
        for count in ends.iter_mut() {
            end += *count;
            *count = end;
        }
        let values = Buffer::from_block(values.into_block());
        Some(sparse::Product { pointers: ends.into(), columns: columns.into(), values })
    }

    /// Some rows of what meets.
    fn piece(&self, left: &Stored, right: &Stored, rows: Range<usize>, finish: Finish<'_>, width: usize) -> Product {
        let listed = self.mask.map(|mask| {
            let number = |at: usize| left.ids.as_ref().map_or(at, |ids| ids[at] as usize);
            rows.clone().mapped(|at| mask.row(number(at)))
        });
        let mut runs = Vec::new();
        let mut at = rows.start;
        while at < rows.end {
            let (b, i, count) = match &left.ids {
                None => (at / self.m, at % self.m, (self.m - at % self.m).min(rows.end - at)),
                Some(ids) => {
                    let b = ids[at] as usize / self.m;
                    let end = ids[at..rows.end].partition_point(|&id| id as usize / self.m == b);
                    (b, 0, end)
                }
            };
            let start = if left.ids.is_some() { at } else { self.left_matrix(b) * self.m + i };
            let init = self.init.map(|f| {
                // Listed rows are not at their places in a field, which then does not vary along them.
                let skip = if left.ids.is_some() { 0 } else { i * f.grid(0).row };
                f.grid(self.field_offset(f, b) + skip)
            });
            let first = if right.ids.is_some() { 0 } else { self.right_matrix(b) * right.rows };
            let mask = self.mask.zip(listed.as_ref()).map(|(mask, listed)| Mask {
                columns: mask.rows.indices.as_slice(),
                rows: &listed[at - rows.start..][..count],
                is_complement: mask.is_complement,
                is_total: mask.is_total,
            });
            runs.push(Run { left: start..start + count, right: first, init, mask });
            at += count;
        }
        self.carrier.kernels().gustavson(left.view(), &runs, right.view(), self.n, finish, width)
    }

    /// Cuts rows into pieces of similar work. A row's result does not depend on the piece it is in.
    fn pieces(&self, left: &Stored, total: usize, least: usize) -> Vec<Range<usize>> {
        let per_entry = self.right.map_or(1, |r| r.nse() / r.len().max(1) + 1);
        // A piece has its own accumulators, `n` of them.
        let work = (least.max(4 * self.n)) / per_entry + 1;
        let (mut out, mut start, mut sum) = (Vec::new(), 0, 0);
        let is_whole = left.ids.is_some() || self.batch.is_empty();
        with_index!(left.pointers.as_slice(), pointers => {
            for r in 0..total {
                let own = if is_whole { r } else { self.left_matrix(r / self.m) * self.m + r % self.m };
                sum += pointers[own + 1].get() - pointers[own].get() + 1;
                if sum >= work {
                    out.push(start..r + 1);
                    (start, sum) = (r + 1, 0);
                }
            }
        });
        if start < total {
            out.push(start..total);
        }
        out
    }
}

/// Takes the place of a piece off the room.
fn place_of<'a>(room: &mut Out<'a>, made: &Option<Product>) -> Out<'a> {
    let [rows, entries, bytes] = made.as_ref().map_or([0; 3], |p| [p.counts.len(), p.columns.len(), p.values.len()]);
    Out {
        counts: cut(&mut room.counts, rows),
        columns: cut(&mut room.columns, entries),
        values: cut(&mut room.values, bytes),
    }
}

/// How many of the first of these rows, of so many bytes each, are best computed at one time: those side by side, and short
/// rows with gaps between them that hold no more rows than they are.
fn together(rows: &[(usize, usize)], row: usize) -> usize {
    const SHORT: usize = 64;
    let Some(&(b, start)) = rows.first() else { return 0 };
    let fits = |i: usize, r: usize| if row <= SHORT { r - start <= 2 * i } else { r - start == i };
    let most = BLOCK / row.clamp(1, BLOCK);
    1 + rows.iter().enumerate().skip(1).take(most).take_while(|&(i, &(of, r))| of == b && fits(i, r)).count()
}
