//! Products of two sparse matrices over zeros, by rows.
//!
//! The terms of each row are counted first: they bound what it stores, so that rows are cut into pieces of like work and
//! results are written where they stay. On one thread, and where one piece holds all, every piece goes straight to its place;
//! on more, smaller ones are made in memory that stays in the cache, and copied there in turn. Which rows are in a piece
//! changes no bit of them.

use std::cell::Cell;
use std::ops::Range;
use std::sync::Mutex;

use openwork_ops::matmul::{Accumulator, Carrier, Out, SparseRows};
use openwork_ops::structure::IndexSlice;
use openwork_ops::{DType, DTypeKind};

use super::operand::Stored;
use crate::base::buffer::Buffer;
use crate::base::pages::Scratch;
use crate::base::turns::{cut, in_turns, put};
use crate::base::{interrupt, memory, parallel};
use crate::levels::indices::needs_64_bits;
use crate::levels::level::Indices;

/// Terms in a piece, on one thread and on more.
const TERMS: [usize; 2] = [1 << 17, 1 << 15];

/// Columns and bytes of sums, at most: each thread has a sum for every column.
const COLUMNS: usize = 1 << 26;
const SUMS: usize = 1 << 29;

thread_local! {
    /// An accumulator of few columns that an earlier product left as it found it: to make one costs more than a small product.
    static SPARE: Cell<Option<Accumulator>> = const { Cell::new(None) };
}

/// Bytes of sums of an accumulator that is kept, at most.
const SPARED: usize = 1 << 15;

/// The rows of a product.
pub(super) struct Product {
    pub(super) pointers: Indices,
    pub(super) columns: Indices,
    pub(super) values: Buffer,
}

/// Whether what the kernel writes are its terms.
pub(super) fn is_own(carrier: Carrier, dtype: DType) -> bool {
    let kind = dtype.kind();
    match carrier {
        Carrier::Bool => kind == DTypeKind::Bool,
        Carrier::Bits8 | Carrier::Bits16 | Carrier::Bits32 | Carrier::Bits64 => kind != DTypeKind::Bool,
        Carrier::Single => dtype == DType::F32,
        Carrier::Float => dtype == DType::F64,
        Carrier::ComplexSingle => dtype == DType::Complex64,
        Carrier::Complex => dtype == DType::Complex128,
        Carrier::Double | Carrier::ComplexDouble | Carrier::Blocks(_) => false,
    }
}

/// All rows of matrices times matrices of `n` columns, without a background, of elements of `dtype`. Matrix `i` on the left meets
/// the rows from `firsts[i]` on. `None` where this kernel does not fit the operands, or the result might not fit into memory.
pub(super) fn product(
    left: &Stored,
    right: &Stored,
    firsts: &[usize],
    n: usize,
    carrier: Carrier,
    dtype: DType,
) -> Option<Product> {
    let kernel = carrier.kernels().sparse_rows()?;
    let is_fit = |s: &Stored| s.ids.is_none() && !s.is_wide();
    if !is_own(carrier, dtype) || !is_fit(left) || !is_fit(right) || n > COLUMNS || n * carrier.acc_size() > SUMS {
        return None;
    }
    let bounds = bounds(left, right, firsts, n);
    let most = *bounds.last()? as usize;
    let (m, size) = (left.len(), dtype.size());
    if needs_64_bits(most, [m, n]) || !memory::is_free(most.checked_mul(4 + size)?) {
        return None;
    }
    let run = Run {
        left,
        right,
        firsts,
        n,
        size,
        acc: carrier.acc_size(),
        kernel,
        bounds: &bounds,
        spare: Mutex::new(Vec::new()),
    };
    Some(run.all(most))
}

/// How many entries at most the rows before each row have.
fn bounds(left: &Stored, right: &Stored, firsts: &[usize], n: usize) -> Vec<u64> {
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
        for ((r, ends), out) in (first..).zip(starts[first..].windows(2)).zip(out) {
            let row = &indices[ends[0] as usize - base..ends[1] as usize - base];
            let of_right = if firsts.len() == 1 { of_right } else { &of_right[firsts[r / left.rows]..] };
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
    /// The rows on the right that each matrix on the left meets.
    firsts: &'a [usize],
    n: usize,
    /// Bytes of an element, and of a sum.
    size: usize,
    acc: usize,
    kernel: SparseRows,
    bounds: &'a [u64],
    /// Accumulators that no thread uses at the moment.
    spare: Mutex<Vec<Accumulator>>,
}

/// What a piece is made in.
#[derive(Default)]
struct Stage {
    counts: Vec<u32>,
    columns: Vec<u32>,
    /// Bytes, of which those of each element lie where it can be read.
    values: Vec<u128>,
    len: usize,
}

impl Stage {
    fn place<'a>(&self, out: &mut Out<'a>, size: usize) -> Out<'a> {
        Out {
            counts: cut(&mut out.counts, self.counts.len()),
            columns: cut(&mut out.columns, self.len),
            values: cut(&mut out.values, self.len * size),
        }
    }

    fn values(&self, size: usize) -> &[u8] {
        &bytemuck::cast_slice(&self.values)[..self.len * size]
    }
}

impl Run<'_> {
    fn most(&self, rows: &Range<usize>) -> usize {
        (self.bounds[rows.end] - self.bounds[rows.start]) as usize
    }

    /// Consecutive rows of so many terms.
    fn pieces(&self, terms: usize) -> Vec<Range<usize>> {
        let m = self.left.len();
        let (mut pieces, mut start) = (Vec::new(), 0);
        while start < m {
            let goal = self.bounds[start] + terms as u64;
            let end = self.bounds.partition_point(|&b| b < goal).clamp(start + 1, m);
            pieces.push(start..end);
            start = end;
        }
        pieces
    }

    fn piece(&self, rows: Range<usize>, acc: &mut Accumulator, out: Out<'_>) -> usize {
        if self.firsts.len() == 1 {
            return (self.kernel)(self.left.view(), rows, self.right.view(), self.firsts[0], acc, out);
        }
        let (mut start, mut done, mut counts) = (rows.start, 0, out.counts);
        while start < rows.end {
            let matrix = start / self.left.rows;
            let end = rows.end.min((matrix + 1) * self.left.rows);
            let (columns, values) = (&mut out.columns[done..], &mut out.values[done * self.size..]);
            let of_matrix = Out { counts: cut(&mut counts, end - start), columns, values };
            let first = self.firsts[matrix];
            done += (self.kernel)(self.left.view(), start..end, self.right.view(), first, acc, of_matrix);
            start = end;
        }
        done
    }

    fn all(&self, most: usize) -> Product {
        let (m, size) = (self.left.len(), self.size);
        let mut counts = Scratch::<u32>::any(m + 1);
        counts[0] = 0;
        let (mut columns, mut values) = (Scratch::<u32>::any(most), Scratch::<u8>::any(most * size));
        let mut len = 0;
        if parallel::threads() == 1 || most <= TERMS[1] {
            let spare = SPARE.take().and_then(|spare| spare.of_columns(self.n, self.acc));
            let mut acc = spare.unwrap_or_else(|| Accumulator::new(self.n, self.acc));
            let mut piece = |rows: Range<usize>| {
                interrupt::check();
                let of_rows = &mut counts[rows.start + 1..=rows.end];
                let room = self.most(&rows);
                let (columns, values) = (&mut columns[len..len + room], &mut values[len * size..(len + room) * size]);
                len += self.piece(rows, &mut acc, Out { counts: of_rows, columns, values });
            };
            if most <= TERMS[1] {
                piece(0..m)
            } else {
                self.pieces(TERMS[0]).into_iter().for_each(piece)
            }
            if acc.room() <= SPARED {
                SPARE.set(Some(acc));
            }
        } else {
            let pieces = self.pieces(TERMS[1]);
            let make = |i: usize, stage: &mut Stage| self.staged(&pieces[i], stage);
            let past_caches = [columns.is_streamed(), values.is_streamed()];
            let copy = |stage: &Stage, out: Out<'_>| {
                out.counts.copy_from_slice(&stage.counts);
                put(&stage.columns[..stage.len], out.columns, past_caches[0]);
                put(stage.values(size), out.values, past_caches[1]);
            };
            let out = Out { counts: &mut counts[1..], columns: &mut columns, values: &mut values };
            len = most - in_turns(pieces.len(), out, &make, &|out, stage| stage.place(out, size), &copy).columns.len();
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

    /// Makes a piece in memory of its own.
    fn staged(&self, rows: &Range<usize>, stage: &mut Stage) {
        let room = self.most(rows);
        stage.counts.clear();
        stage.counts.resize(rows.len(), 0);
        stage.columns.resize(room.max(stage.columns.len()), 0);
        stage.values.resize((room * self.size).div_ceil(16).max(stage.values.len()), 0);
        let values = &mut bytemuck::cast_slice_mut(&mut stage.values)[..room * self.size];
        let out = Out { counts: &mut stage.counts, columns: &mut stage.columns[..room], values };
        let spare = parallel::lock(&self.spare).pop();
        let mut acc = spare.unwrap_or_else(|| Accumulator::new(self.n, self.acc));
        stage.len = self.piece(rows.clone(), &mut acc, out);
        parallel::lock(&self.spare).push(acc);
    }
}
