//! Folds: sums, products and extremes of rows of values, whatever positions these belong to.

use crate::base::mapped::Mapped;
use std::ops::Range;

use openwork_ops::reduce::{Compensated, Gives, ROWS_AT_ONCE, ReduceKernels, ReduceTyping};
use openwork_ops::{BinaryOp, DType, ReduceOp, Scalar};

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::parallel;
use crate::base::strided::{Strided, count, dense_len};
use crate::engine::blocks::{self, Kernel};

/// Columns that narrow rows have together which lie beside each other, and columns that loops take at once: what is left goes one by one.
const NARROW: usize = 1024;
const AT_ONCE: usize = 32;

/// Rows of as many elements that are folded in one call.
const FEW_ROWS: usize = 512;

/// Columns from which on threads share them, not the rows.
const WIDE: usize = 1 << 11;

/// Elements of a share of the rows, and shares at most: each has a table as long as a row.
const SHARE: usize = 1 << 16;
const SHARES: usize = 16;

/// A fold of one input dtype.
pub(crate) struct Fold {
    pub(crate) op: ReduceOp,
    pub(crate) typing: ReduceTyping,
    pub(crate) kernels: ReduceKernels,
}

impl Fold {
    pub(crate) fn new(op: ReduceOp, dtype: DType) -> Result<Fold> {
        let unsupported = || error::dtype(&[dtype], "the op is not defined for this dtype; cast first");
        let typing = op.typing(dtype).ok_or_else(unsupported)?;
        let kernels = op.kernels(typing).ok_or_else(unsupported)?;
        Ok(Fold { op, typing, kernels })
    }

    /// The same fold, of which a float sum starts from −0: the sum of one −0 is −0, and no other sum ends there.
    pub(crate) fn starting_at_minus_zero(&self) -> Fold {
        let mut fold = Fold { ..*self };
        if matches!(fold.op, ReduceOp::Sum | ReduceOp::Mean) && fold.typing.acc.is_inexact() {
            fold.kernels.identity = Scalar::Complex128(openwork_ops::c128::new(-0.0, -0.0)).cast(fold.typing.acc);
        }
        fold
    }

    /// Folds each of `offsets.len() - 1` runs of contiguous input elements.
    pub(crate) fn segments(&self, values: &[u8], offsets: &[usize]) -> Result<Buffer> {
        let (from, to) = (self.typing.input.size(), self.typing.acc.size());
        let n = offsets.len() - 1;
        let elements = offsets[n] - offsets[0];
        let grain = (parallel::GRAIN * n / elements.max(1)).clamp(1, parallel::GRAIN);
        Buffer::filled(n * to, to, |acc| {
            parallel::for_chunks_mut(acc, to, grain, &|first, acc| {
                let own = &offsets[first..=first + acc.len() / to];
                self.fill_identity(acc);
                let part = &values[own[0] * from..own[own.len() - 1] * from];
                if own[0] == 0 {
                    self.kernels.segments(part, own, acc);
                } else {
                    let relative: Vec<usize> = own.mapped(|o| o - own[0]);
                    self.kernels.segments(part, &relative, acc);
                }
            });
        })
    }

    /// Folds rows of `k` elements.
    fn rows(&self, values: &[u8], k: usize, results: usize) -> Result<Buffer> {
        let (row, to) = (k * self.typing.input.size(), self.typing.acc.size());
        let grain = (parallel::GRAIN / k.max(1)).max(1);
        // Where a few rows end, for all of them.
        let most = grain.min(results).min(FEW_ROWS);
        let ends: Vec<usize> = (0..=most).map(|i| i * k).collect();
        Buffer::filled(results * to, to, |acc| {
            parallel::for_chunks_mut(acc, to, grain, &|first, acc| {
                self.fill_identity(acc);
                for (i, acc) in acc.chunks_mut(most * to).enumerate() {
                    let (start, rows) = (first + i * most, acc.len() / to);
                    self.kernels.segments(&values[start * row..(start + rows) * row], &ends[..=rows], acc);
                }
            });
        })
    }

    /// Folds all of a block into one accumulator: chunks of a fixed size, merged in order.
    pub(crate) fn all(&self, values: &[u8]) -> Buffer {
        const CHUNK: usize = 1 << 17;
        let from = self.typing.input.size();
        let chunk = |range: Range<usize>| {
            let mut acc = self.one_identity();
            self.kernels.fold(&values[range.start * from..range.end * from], bytes_of(&mut acc, self.typing.acc));
            acc
        };
        let n = values.len() / from;
        if n <= CHUNK {
            let (mut acc, mut part) = (self.one_identity(), chunk(0..n));
            let acc = bytes_of(&mut acc, self.typing.acc);
            (self.kernels.merge)(acc, bytes_of(&mut part, self.typing.acc));
            return Buffer::of_few(acc);
        }
        // What the first elements say, no others can change.
        if matches!(self.op, ReduceOp::Any | ReduceOp::All) {
            let mut first = chunk(0..CHUNK >> 3);
            let acc = bytes_of(&mut first, self.typing.acc);
            if acc == [u8::from(self.op == ReduceOp::Any)] {
                return Buffer::of_few(acc);
            }
        }
        let parts = parallel::map_chunks(n, CHUNK, &chunk);
        Buffer::of_held(self.typing.acc.size(), |acc| {
            self.fill_identity(acc);
            for mut part in parts {
                (self.kernels.merge)(acc, bytes_of(&mut part, self.typing.acc));
            }
        })
    }

    pub(crate) fn fill_identity(&self, acc: &mut [u8]) {
        let (bytes, size) = self.kernels.identity.to_bytes();
        openwork_ops::structure::gather::repeat(&bytes[..size], acc);
    }

    fn one_identity(&self) -> [u128; 1] {
        let mut acc = [0u128];
        self.fill_identity(bytes_of(&mut acc, self.typing.acc));
        acc
    }

    /// Folds a strided array over `axes`; accumulators become results.
    pub(crate) fn strided(&self, s: &Strided, kept: &[usize], axes: &[usize]) -> Result<Strided> {
        let acc = self.strided_acc(s, kept, axes)?;
        let n = axes.iter().fold(1u128, |n, &a| n * s.shape[a] as u128);
        self.finish(&acc, n)
    }

    /// Whether the fold of one element is that element: a sum of floats makes +0 of −0.
    fn keeps_one(&self) -> bool {
        self.typing.input == self.typing.acc
            && match self.op {
                ReduceOp::Max | ReduceOp::Min | ReduceOp::Prod | ReduceOp::Any | ReduceOp::All => true,
                ReduceOp::Sum => self.typing.acc.is_int(),
                _ => false,
            }
    }

    /// The accumulators over the kept axes.
    pub(crate) fn strided_acc(&self, s: &Strided, kept: &[usize], axes: &[usize]) -> Result<Strided> {
        let shape: Vec<usize> = kept.mapped(|&a| s.shape[a]);
        let (results, k) = (count(&shape), count(&axes.mapped(|&a| s.shape[a])));
        let s = s.cast(self.typing.input);
        if k == 1 && self.keeps_one() {
            return Ok(Strided { strides: s.strides.at(kept), shape: shape.into(), ..s });
        }
        let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
        let buffer = if results == 1 {
            self.all(&s.permute(&order).dense_bytes()?)
        } else if k == 1 {
            self.leading(&s.permute(&order).dense_bytes()?, k, results)?
        } else if axes.iter().chain(kept).copied().eq(0..s.ndim()) && k > 0 && s.is_contiguous() {
            self.leading(&s.dense_bytes()?, k, results)?
        } else if let Some(groups) = groups_in_order(&s, axes)
            && k > 0
        {
            self.grouped(&s.dense_bytes()?, groups, k, results / groups)?
        } else {
            dense_len(&[results], DType::U64)?; // no elements may make any number of results
            self.rows(&s.permute(&order).dense_bytes()?, k, results)?
        };
        Ok(Strided::new(buffer, self.typing.acc, shape))
    }

    /// Folds each of some groups of `k` rows of `block` elements into one row: where the axes lie between others.
    fn grouped(&self, values: &[u8], groups: usize, k: usize, block: usize) -> Result<Buffer> {
        let (row, to) = (block * self.typing.input.size(), block * self.typing.acc.size());
        let of = |group: usize| &values[group * k * row..(group + 1) * k * row];
        if k * block >= 2 * SHARE {
            let each = (0..groups).map(|group| self.leading(of(group), k, block)).collect::<Result<Vec<Buffer>>>()?;
            return Buffer::filled(groups * to, self.typing.acc.size(), |acc| {
                acc.chunks_exact_mut(to).zip(&each).for_each(|(acc, own)| acc.copy_from_slice(own.bytes()));
            });
        }
        Buffer::filled(groups * to, self.typing.acc.size(), |acc| {
            parallel::for_chunks_mut(acc, to, (parallel::GRAIN / (k * block)).max(1), &|first, acc| {
                for (group, acc) in (first..).zip(acc.chunks_exact_mut(to)) {
                    self.accumulate_rows(of(group).chunks_exact(row), acc);
                }
            });
        })
    }

    /// Folds `k` rows of `results` elements into one row.
    ///
    /// Narrow rows lie beside each other in wider ones. Where these are not so wide that threads share their columns, each of up to 16
    /// shares of the rows is folded by itself: how many says the data alone.
    fn leading(&self, values: &[u8], k: usize, results: usize) -> Result<Buffer> {
        let beside = (NARROW / results.max(1)).clamp(1, k);
        let evenly = AT_ONCE >> results.trailing_zeros().min(AT_ONCE.ilog2());
        let beside = if beside > evenly { beside - beside % evenly } else { beside };
        let (tall, wide) = (k / beside, beside * results);
        let shares = if results < WIDE { (tall * wide / SHARE).clamp(1, SHARES) } else { 1 };
        if beside * shares == 1 || results == 0 {
            return self.down(values, k, results);
        }
        let (from, to) = (self.typing.input.size(), self.typing.acc.size());
        let table = |rows: &[u8], columns: usize| {
            let mut acc = vec![0u128; (columns * to).div_ceil(16)];
            let rows = rows.chunks_exact(columns * from);
            self.accumulate_rows(rows, &mut bytemuck::cast_slice_mut(&mut acc)[..columns * to]);
            (acc, columns * to)
        };
        let (wholes, rest) = values.split_at(tall * wide * from);
        let mut tables = parallel::map_chunks(tall, tall.div_ceil(shares), &|rows| {
            table(&wholes[rows.start * wide * from..rows.end * wide * from], wide)
        });
        if !rest.is_empty() && !faults::is(Fault::RestUnfolded) {
            tables.push(table(rest, results));
        }
        Buffer::filled(results * to, to, |acc| {
            let rows = tables.iter().flat_map(|(table, bytes)| {
                bytemuck::cast_slice::<u128, u8>(table)[..*bytes].chunks_exact(results * to)
            });
            self.merge_tables(rows, acc);
        })
    }

    /// Folds `k` rows of `results` elements into one row, in order: each chunk of columns goes down all rows, and a thread has one at
    /// least, where there is work for it.
    fn down(&self, values: &[u8], k: usize, results: usize) -> Result<Buffer> {
        let row = results * self.typing.input.size();
        Buffer::filled(results * self.typing.acc.size(), self.typing.acc.size(), |acc| {
            let (from, to) = (self.typing.input.size(), self.typing.acc.size());
            let each = if k * results < 2 * parallel::GRAIN { results } else { results.div_ceil(parallel::threads()) };
            let most = (parallel::GRAIN / k).clamp(WIDE / 2, WIDE);
            parallel::for_chunks_mut(acc, to, each.next_multiple_of(64).clamp(64, most), &|first, acc| {
                let n = acc.len() / to;
                let rows = (0..k).map(|r| &values[r * row + first * from..r * row + (first + n) * from]);
                self.accumulate_rows(rows, acc);
            });
        })
    }

    /// Folds rows of equal length elementwise into `acc`, one after the other.
    pub(crate) fn accumulate_rows<'r>(&self, rows: impl ExactSizeIterator<Item = &'r [u8]>, acc: &mut [u8]) {
        self.fill_identity(acc);
        let Some(kernels) = Compensated::of(self.op, self.typing.input).filter(|_| rows.len() > Compensated::FEW)
        else {
            return a_few_at_once(rows, |rows| self.kernels.accumulate(rows, acc));
        };
        let mut low = vec![0u128; acc.len().div_ceil(16)];
        let low = &mut bytemuck::cast_slice_mut(&mut low)[..acc.len()];
        a_few_at_once(rows, |rows| (kernels.accumulate)(rows, acc, low));
        Compensated::finish(acc, low);
    }

    /// Folds accumulators of several tables into one of each, in order: floats with a correction, so that this adds no more
    /// than two roundings.
    pub(crate) fn merge_tables<'r>(&self, tables: impl Iterator<Item = &'r [u8]>, acc: &mut [u8]) {
        self.fill_identity(acc);
        match Compensated::of(self.op, self.typing.acc) {
            None => tables.for_each(|table| (self.kernels.merge)(acc, table)),
            Some(kernels) => {
                let mut low = vec![0u128; acc.len().div_ceil(16)];
                let low = &mut bytemuck::cast_slice_mut(&mut low)[..acc.len()];
                a_few_at_once(tables, |rows| (kernels.accumulate)(rows, acc, low));
                Compensated::finish(acc, low);
            }
        }
    }

    /// Accumulators to results: the mean divides by the number of elements, and the dtype is the op's.
    pub(crate) fn finish(&self, acc: &Strided, n: u128) -> Result<Strided> {
        if self.op.gives() != Gives::Mean {
            return Ok(acc.cast(self.typing.out));
        }
        self.divide(acc, &Strided::constant(Scalar::F64(n as f64), &acc.shape))
    }

    /// The mean from sums and counts; complex sums part by part, so that NaN stays in its part.
    pub(crate) fn divide(&self, acc: &Strided, counts: &Strided) -> Result<Strided> {
        let Some(kernel) = BinaryOp::Div.kernel(DType::F64) else { return Ok(acc.clone()) };
        let divide = |x: &Strided, n: &Strided| {
            blocks::map_strided(&[x, &n.cast(DType::F64)], DType::F64, DType::F64, Kernel::Binary(kernel))
        };
        if acc.dtype != DType::Complex128 {
            return Ok(divide(acc, counts)?.cast(self.typing.out));
        }
        let shape: Vec<usize> = acc.shape.iter().copied().chain([2]).collect();
        let strides = acc.strides.iter().map(|s| 2 * s).chain([1]).collect();
        let shape = shape.into();
        let parts = Strided { dtype: DType::F64, shape, strides, offset: 2 * acc.offset, buffer: acc.buffer.clone() };
        let mut counts = counts.clone();
        counts.shape.push(2);
        counts.strides.push(0);
        let out = divide(&*parts.to_contiguous()?, &counts)?;
        let out = out.to_contiguous()?.into_owned();
        let whole = Strided { offset: out.offset / 2, dtype: DType::Complex128, ..out };
        let shape = acc.shape.clone();
        Ok(Strided { strides: crate::base::strided::c_strides(&shape).into(), shape, ..whole }.cast(self.typing.out))
    }
}

/// How many groups of rows these axes have that lie between others, of an array in C order whose rows are not narrow.
fn groups_in_order(s: &Strided, axes: &[usize]) -> Option<usize> {
    let (first, end) = (*axes.first()?, axes.last()? + 1);
    let are_between = axes.iter().copied().eq(first..end) && count(&s.shape[end..]) >= AT_ONCE / 2;
    (are_between && s.is_contiguous()).then(|| count(&s.shape[..first])).filter(|&groups| groups > 0)
}

/// As many rows as go by in one pass over the accumulators, again and again.
fn a_few_at_once<'r>(mut rows: impl Iterator<Item = &'r [u8]>, mut f: impl FnMut(&[&[u8]])) {
    let mut few: [&[u8]; ROWS_AT_ONCE] = [&[]; ROWS_AT_ONCE];
    loop {
        let mut n = 0;
        while n < ROWS_AT_ONCE
            && let Some(row) = rows.next()
        {
            few[n] = row;
            n += 1;
        }
        if n == 0 {
            return;
        }
        f(&few[..n]);
    }
}

/// The first bytes of an aligned word, as one accumulator.
fn bytes_of(word: &mut [u128; 1], dtype: DType) -> &mut [u8] {
    &mut bytemuck::cast_slice_mut(word)[..dtype.size()]
}

/// Folds runs of rows (`runs[i]..runs[i + 1]`) into one row each, in the values' own dtype.
pub(crate) fn merge_rows(fold: ReduceOp, values: &Strided, runs: &[usize]) -> Result<Strided> {
    let dtype = values.dtype;
    let fold = Fold::new(fold, dtype)?.starting_at_minus_zero();
    if fold.typing.input != dtype || fold.op.gives() != Gives::Total {
        return Err(error::invalid("fold", format_args!("{} does not fold duplicates", fold.op.name())));
    }
    let n = runs.len() - 1;
    let block = count(&values.shape[1..]);
    let bytes = values.dense_bytes()?;
    let mut shape = values.shape.clone();
    shape[0] = n;
    let buffer = if block == 1 {
        fold.segments(&bytes, runs)?
    } else {
        let (from, to) = (block.saturating_mul(dtype.size()), block.saturating_mul(fold.typing.acc.size()));
        Buffer::build(n * to, |acc| {
            if to == 0 {
                return;
            }
            for (run, row) in runs.windows(2).zip(acc.chunks_exact_mut(to)) {
                fold.accumulate_rows((run[0]..run[1]).map(|p| &bytes[p * from..(p + 1) * from]), row);
            }
        })?
    };
    Ok(Strided::new(buffer, fold.typing.acc, shape).cast(dtype))
}

/// The sum of a few values of one dtype, in that dtype (bool: or).
pub(crate) fn sum_scalars(dtype: DType, values: &[Scalar]) -> Result<Scalar> {
    let bytes = values.mapped(|v| v.to_bytes().0[..dtype.size()].to_vec()).concat();
    let buffer = Buffer::build(bytes.len(), |out| out.copy_from_slice(&bytes))?;
    let rows = Strided::new(buffer, dtype, vec![values.len()]);
    Ok(merge_rows(ReduceOp::Sum, &rows, &[0, values.len()])?.get(&[0]))
}

/// A function of every element, one at a time: for a few.
pub(crate) fn map_scalars(values: &Strided, dtype: DType, f: impl Fn(Scalar) -> Scalar) -> Result<Strided> {
    let dense = values.to_contiguous()?;
    let size = dtype.size();
    let buffer = Buffer::build(dense.len() * size, |out| {
        for (i, o) in out.chunks_exact_mut(size).enumerate() {
            o.copy_from_slice(&f(dense.at_offset(dense.offset + i)).to_bytes().0[..size]);
        }
    })?;
    Ok(Strided::new(buffer, dtype, values.shape.clone()))
}
