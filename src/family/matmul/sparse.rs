//! Products of two sparse matrices of floats over zeros, by rows.
//!
//! The terms of each row are counted first: they bound what it stores, so that rows are cut into pieces of like work and
//! results are written where they stay. On one thread every piece goes straight to its place; on more, pieces are made in
//! waves beside each other and moved there. Which rows are in a piece changes no bit of them.

use std::ops::Range;
use std::sync::Mutex;

use openwork_ops::DType;
use openwork_ops::matmul::{Accumulator, Carrier, Out, SparseRows};
use openwork_ops::structure::IndexSlice;

use super::operand::Stored;
use crate::base::buffer::Buffer;
use crate::base::pages::Scratch;
use crate::base::{interrupt, memory, parallel};
use crate::levels::indices::needs_64_bits;
use crate::levels::level::Indices;

/// Terms in a piece.
const TERMS: usize = 1 << 17;

/// Pieces in a wave, for each thread.
const WAVE: usize = 4;

/// Columns, at most: each thread has a sum for every one.
const COLUMNS: usize = 1 << 26;

/// The rows of a product.
pub(super) struct Product {
    pub(super) pointers: Indices,
    pub(super) columns: Indices,
    pub(super) values: Buffer,
}

/// All rows of one matrix times one matrix of `n` columns, without a background, of elements of `dtype`; `None` where this
/// kernel does not fit the operands, or the result might not fit into memory.
pub(super) fn product(left: &Stored, right: &Stored, n: usize, carrier: Carrier, dtype: DType) -> Option<Product> {
    let kernel = carrier.kernels().sparse_rows()?;
    let is_fit = |s: &Stored| s.ids.is_none() && s.batch.is_empty() && !s.is_wide();
    // What the kernel writes are its terms.
    let is_own = matches!((carrier, dtype), (Carrier::Float, DType::F64) | (Carrier::Single, DType::F32));
    if !is_own || !is_fit(left) || !is_fit(right) || n > COLUMNS {
        return None;
    }
    let bounds = bounds(left, right, n);
    let most = *bounds.last()? as usize;
    let (m, size) = (left.len(), dtype.size());
    if needs_64_bits(most, [m, n]) || !memory::is_free(most.checked_mul(4 + size)?) {
        return None;
    }
    let run = Run { left, right, n, size, kernel, bounds: &bounds, spare: Mutex::new(Vec::new()) };
    Some(run.all(most))
}

/// How many entries at most the rows before each row have.
fn bounds(left: &Stored, right: &Stored, n: usize) -> Vec<u64> {
    let m = left.len();
    // The slices once: asking an array for them costs more than what is read.
    let (IndexSlice::U32(indices), IndexSlice::U32(starts), IndexSlice::U32(of_right)) =
        (left.indices.as_slice(), left.pointers.as_slice(), right.pointers.as_slice())
    else {
        return Vec::new();
    };
    let base = left.pointers.get(0);
    let mut bounds = vec![0u64; m + 1];
    parallel::for_chunks_mut(&mut bounds[1..], 1, 1 << 12, &|first, out| {
        for (ends, out) in starts[first..].windows(2).zip(out) {
            let row = &indices[ends[0] as usize - base..ends[1] as usize - base];
            let terms: usize = row.iter().map(|&k| (of_right[k as usize + 1] - of_right[k as usize]) as usize).sum();
            *out = terms.min(n) as u64;
        }
    });
    let mut end = 0;
    for bound in &mut bounds {
        end += *bound;
        *bound = end;
    }
    bounds
}

struct Run<'a> {
    left: &'a Stored,
    right: &'a Stored,
    n: usize,
    size: usize,
    kernel: SparseRows,
    bounds: &'a [u64],
    /// Accumulators that no thread uses at the moment.
    spare: Mutex<Vec<Accumulator>>,
}

/// What a piece of a wave is made in.
struct Stage {
    rows: Range<usize>,
    columns: Scratch<u32>,
    values: Scratch<u8>,
    len: usize,
}

impl Run<'_> {
    fn most(&self, rows: &Range<usize>) -> usize {
        (self.bounds[rows.end] - self.bounds[rows.start]) as usize
    }

    /// Consecutive rows of like work.
    fn pieces(&self) -> Vec<Range<usize>> {
        let m = self.left.len();
        let (mut pieces, mut start) = (Vec::new(), 0);
        while start < m {
            let goal = self.bounds[start] + TERMS as u64;
            let end = self.bounds.partition_point(|&b| b < goal).clamp(start + 1, m);
            pieces.push(start..end);
            start = end;
        }
        pieces
    }

    fn piece(&self, rows: Range<usize>, acc: &mut Accumulator, out: Out<'_>) -> usize {
        (self.kernel)(self.left.view(), rows, self.right.view(), 0, acc, out)
    }

    fn all(&self, most: usize) -> Product {
        let (m, size) = (self.left.len(), self.size);
        let mut counts = Scratch::<u32>::any(m + 1);
        counts[0] = 0;
        let (mut columns, mut values) = (Scratch::<u32>::any(most), Scratch::<u8>::any(most * size));
        let (mut len, mut own) = (0, None);
        let pieces = self.pieces();
        let threads = parallel::threads();
        for wave in pieces.chunks(if threads == 1 { 1 } else { WAVE * threads }) {
            interrupt::check();
            let [Some(first), Some(last)] = [wave.first(), wave.last()] else { continue };
            let of_wave = &mut counts[first.start + 1..=last.end];
            if let [rows] = wave {
                let room = self.most(rows);
                let (columns, values) = (&mut columns[len..len + room], &mut values[len * size..(len + room) * size]);
                let acc = own.get_or_insert_with(|| Accumulator::new(self.n));
                len += self.piece(rows.clone(), acc, Out { counts: of_wave, columns, values });
                continue;
            }
            let stages = self.wave(wave, of_wave);
            let ends: Vec<usize> = stages
                .iter()
                .scan(0, |end, stage| {
                    *end += stage.len;
                    Some(*end)
                })
                .collect();
            let total = ends.last().copied().unwrap_or(0);
            parallel::for_pieces_mut(&mut columns[len..len + total], &ends, &|i, out| {
                out.copy_from_slice(&stages[i].columns[..out.len()]);
            });
            let ends: Vec<usize> = ends.iter().map(|end| end * size).collect();
            parallel::for_pieces_mut(&mut values[len * size..(len + total) * size], &ends, &|i, out| {
                out.copy_from_slice(&stages[i].values[..out.len()]);
            });
            len += total;
        }
        columns.truncate(len);
        values.truncate(len * size);
        let mut end = 0;
        for count in counts.iter_mut() {
            end += *count;
            *count = end;
        }
        Product { pointers: counts.into(), columns: columns.into(), values: Buffer::from_block(values.into_block()) }
    }

    /// The pieces of a wave beside each other.
    fn wave(&self, wave: &[Range<usize>], counts: &mut [u32]) -> Vec<Stage> {
        let mut work = Vec::with_capacity(wave.len());
        let mut rest = counts;
        for rows in wave {
            let (own, tail) = rest.split_at_mut(rows.len());
            let room = self.most(rows);
            let stage = Stage {
                rows: rows.clone(),
                columns: Scratch::any(room),
                values: Scratch::any(room * self.size),
                len: 0,
            };
            work.push((stage, own));
            rest = tail;
        }
        let done = Mutex::new(Vec::with_capacity(wave.len()));
        parallel::for_each(work, &|i, (mut stage, counts)| {
            let (columns, values) = (&mut stage.columns[..], &mut stage.values[..]);
            let taken = parallel::lock(&self.spare).pop();
            let mut acc = taken.unwrap_or_else(|| Accumulator::new(self.n));
            stage.len = self.piece(stage.rows.clone(), &mut acc, Out { counts, columns, values });
            parallel::lock(&self.spare).push(acc);
            parallel::lock(&done).push((i, stage));
        });
        let mut done = done.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        done.sort_unstable_by_key(|&(i, _)| i);
        done.into_iter().map(|(_, stage)| stage).collect()
    }
}
