//! Softmax over slices that lie in storage one after the other: all of it in one pass over blocks of them, or, where they are few and
//! long, step by step in parts that threads share.

use crate::base::mapped::{Chosen, Mapped};
use openwork_ops::reduce::ReduceKernels;
use openwork_ops::softmax::{self, Rows, RowsKernel, Steps};
use openwork_ops::{DType, ReduceOp, Scalar};

use super::SliceWise;
use super::beside::fill_over;
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, count};
use crate::base::trace::aside;
use crate::engine::blocks::{self, Source};
use crate::engine::fold::map_scalars;
use crate::engine::slices::Split;
use crate::tensor::fill::fill_of;
use crate::tensor::{Sparse, Storage, Tensor};

/// Elements of a part of a long row: those of both operand and result stay in a second-level cache.
const PART: usize = 1 << 14;

/// Whether rows are few and long: threads share each of them.
fn are_long(rows: usize, elements: usize) -> bool {
    const MANY: usize = 16;
    rows < MANY && elements > GRAIN
}

impl SliceWise {
    /// Softmax or its logarithm, if slices lie together in storage and are many.
    pub(super) fn in_rows(&self, log: bool) -> Result<Option<Tensor>> {
        let Some(kernel) = softmax::rows(self.tensor.dtype()) else { return Ok(None) };
        let kept: Vec<usize> = (0..self.tensor.ndim()).chosen(|a| !self.axes.contains(a));
        match &self.tensor.storage {
            Storage::Strided(s) => self.strided_rows(s, &kept, kernel, log),
            Storage::Sparse(s) => self.sparse_rows(s, &kept, kernel, log),
        }
    }

    fn strided_rows(&self, s: &Strided, kept: &[usize], kernel: RowsKernel, log: bool) -> Result<Option<Tensor>> {
        let order: Vec<usize> = kept.iter().chain(&self.axes).copied().collect();
        let rows = count(&kept.mapped(|&a| s.shape[a]));
        let permuted = s.permute(&order);
        // Long rows whose elements lie apart are left to the elementwise ops, which go through them as they lie.
        if are_long(rows, s.len()) && !permuted.is_contiguous() {
            return Ok(None);
        }
        let ends: Vec<usize> = (0..=rows).map(|r| r * (s.len() / rows)).collect();
        let (out, _) = run(kernel, &permuted.dense_bytes()?, &ends, None, s.dtype, log)?;
        let mut back = vec![0; order.len()];
        order.iter().enumerate().for_each(|(i, &a)| back[a] = i);
        Ok(Some(Tensor::from_strided(Strided::new(out, s.dtype, permuted.shape).permute(&back))))
    }

    fn sparse_rows(&self, s: &Sparse, kept: &[usize], kernel: RowsKernel, log: bool) -> Result<Option<Tensor>> {
        let split = Split::new(&s.pattern, kept);
        if split.block != 1 || !split.in_order() {
            return Ok(None);
        }
        let runs = split.runs();
        let rows = runs.ends.len() - 1;
        // Long rows over a fill are left to the elementwise ops as well.
        if runs.order.is_some() || s.fill_values().is_some() && are_long(rows, s.nse()) {
            return Ok(None);
        }
        let per_row = split.per_row;
        let ends = if per_row == 1 { runs.ends.clone() } else { runs.ends.iter().map(|e| e * per_row).collect() };
        let values = split.rows_of(&s.values);
        let bytes = values.dense_bytes()?;
        // Values in the order of the rows, seen again in their own.
        let own = |out: Buffer| {
            let mut back = vec![0; values.ndim()];
            split.order.iter().enumerate().for_each(|(i, &a)| back[a] = i);
            Strided::new(out, s.dtype(), values.shape.clone()).permute(&back)
        };
        let Some(fill) = s.fill_values() else {
            let (out, _) = run(kernel, &bytes, &ends, None, s.dtype(), log)?;
            return Ok(Some(Sparse { values: own(out), ..s.clone() }.into()));
        };
        let k: f64 = self.axes.iter().map(|&a| s.shape[a] as f64).product();
        let over_kept = Strided { shape: kept.iter().map(|&a| s.shape[a]).collect(), ..fill.permute(kept) };
        let pattern = aside(|| split.result_pattern(kept, &runs.layout, &runs.words))?;
        let pattern = std::sync::Arc::new(pattern);
        let shape = split.shape(rows);
        let fills = blocks::collect(rows, Source::at(&over_kept, &pattern), s.dtype())?;
        let times: Vec<f64> = ends.windows(2).map(|e| k - (e[1] - e[0]) as f64).collect();
        let (out, fills) = run(kernel, &bytes, &ends, Some((&fills.dense_bytes()?, &times)), s.dtype(), log)?;
        let alone = map_scalars(&over_kept.unbroadcast(), s.dtype(), |f| of_equals(f, k, log))?;
        let alone = fill_of(&alone.broadcast(&over_kept.shape));
        let slices =
            Sparse { shape: over_kept.shape, pattern, values: Strided::new(fills, s.dtype(), shape), fill: alone };
        let slices = Tensor::from(slices).expand_dims(&self.axes)?;
        let fill = aside(|| fill_over(s, slices))?;
        Ok(Some(Sparse { values: own(out), fill, ..s.clone() }.into()))
    }
}

/// What becomes of a slice of `k` times the same.
fn of_equals(fill: Scalar, k: f64, log: bool) -> Scalar {
    let value = match (fill.is_finite(), log) {
        (false, _) => f64::NAN,
        (true, true) => -k.ln(),
        (true, false) => 1.0 / k,
    };
    Scalar::F64(value).cast(fill.dtype())
}

/// Rows in pieces of about equal length, in parallel: the values, and the fills.
fn run(
    kernel: RowsKernel,
    values: &[u8],
    ends: &[usize],
    fills: Option<(&[u8], &[f64])>,
    dtype: DType,
    log: bool,
) -> Result<(Buffer, Buffer)> {
    let (size, rows) = (dtype.size(), ends.len() - 1);
    if fills.is_none()
        && are_long(rows, ends[rows])
        && let (Some(steps), Some(adding)) = (softmax::steps(dtype), sums())
    {
        return Ok((in_parts(steps, &adding, values, ends, size, log)?, Buffer::empty()));
    }
    let mut cuts = vec![0];
    while let Some(&first) = cuts.last().filter(|&&c| c < rows) {
        // At least a row, at most a grain of them, of about a grain of elements.
        let enough = ends[first + 1..].partition_point(|&e| e - ends[first] < GRAIN) + 1;
        cuts.push((first + enough.min(GRAIN)).min(rows));
    }
    let mut of_fills = None;
    let out = Buffer::filled(ends[rows] * size, size, |out| {
        let made = Buffer::filled(fills.map_or(0, |_| rows * size), size, |made| {
            let (mut out, mut made, mut items) = (out, made, Vec::with_capacity(cuts.len()));
            for cut in cuts.windows(2) {
                let (piece, rest) = out.split_at_mut((ends[cut[1]] - ends[cut[0]]) * size);
                let (fill, others) = made.split_at_mut(if fills.is_some() { (cut[1] - cut[0]) * size } else { 0 });
                items.push((cut[0]..cut[1], piece, fill));
                (out, made) = (rest, others);
            }
            parallel::for_each(items, &|_, (range, piece, made)| {
                let start = ends[range.start];
                let mut own = zeroed_vec::<usize>(range.len() + 1);
                own.iter_mut().zip(&ends[range.start..]).for_each(|(o, e)| *o = e - start);
                let values = &values[start * size..start * size + piece.len()];
                let (fills, times) = fills.map_or((&[][..], &[][..]), |(fills, times)| {
                    (&fills[range.start * size..range.end * size], &times[range])
                });
                kernel(Rows { values, ends: &own, fills, times, log }, piece, made);
            });
        });
        of_fills = Some(made);
    })?;
    Ok((out, of_fills.unwrap_or_else(|| Ok(Buffer::empty()))?))
}

fn sums() -> Option<ReduceKernels> {
    ReduceOp::Sum.kernels(ReduceOp::Sum.typing(DType::F64)?)
}

/// Few long rows, step by step, in parts that depend on the rows alone, so that threads do not matter.
fn in_parts(
    steps: Steps,
    adding: &ReduceKernels,
    values: &[u8],
    ends: &[usize],
    size: usize,
    log: bool,
) -> Result<Buffer> {
    // The bytes of each part, and its row.
    let (mut parts, mut cuts, mut rows) = (Vec::new(), Vec::new(), vec![0]);
    for (row, ends) in ends.windows(2).enumerate() {
        for start in (ends[0]..ends[1]).step_by(PART) {
            let end = (start + PART).min(ends[1]);
            parts.push((row, start * size..end * size));
            cuts.push(end * size);
        }
        rows.push(parts.len());
    }
    let mut greatest = vec![f64::NEG_INFINITY; ends.len() - 1];
    let of_parts = parallel::map_chunks(parts.len(), 1, &|i| (steps.greatest)(&values[parts[i.start].1.clone()]));
    for ((row, _), of_part) in parts.iter().zip(of_parts) {
        greatest[*row] = of_part.max(greatest[*row]);
    }
    Buffer::filled(values.len(), size, |out| {
        let mut of_parts = vec![0.0; parts.len()];
        let (mut rest, mut items) = (&mut *out, Vec::with_capacity(parts.len()));
        for ((row, part), sum) in parts.iter().zip(&mut of_parts) {
            let (own, others) = rest.split_at_mut(part.len());
            items.push((greatest[*row], &values[part.clone()], own, sum));
            rest = others;
        }
        parallel::for_each(items, &|_, (greatest, values, out, sum)| {
            *sum = (steps.exponentials)(values, greatest, out);
        });
        let mut sums = vec![0.0; greatest.len()];
        adding.segments(bytemuck::cast_slice(&of_parts), &rows, bytemuck::cast_slice_mut(&mut sums));
        parallel::for_pieces_mut(out, &cuts, &|i, out| {
            let (row, part) = &parts[i];
            if log {
                (steps.logarithms)(&values[part.clone()], greatest[*row], sums[*row], out);
            } else {
                (steps.quotients)(sums[*row], out);
            }
        });
    })
}
