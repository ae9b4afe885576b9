//! Scans: running sums, products and extremes along an axis, and differences.
//!
//! A scan changes every element after a stored one. So the axis becomes dense in slices that store something; in the
//! others the scan is that of the fill, which is a fill that varies along the axis.

use std::sync::Arc;

use openwork_ops::cast::cast_block;
use openwork_ops::reduce::{ROWS_BESIDE, ReduceTyping, ScanKernels, ScanOp};
use openwork_ops::structure::gather::{repeat, scatter_offsets};
use openwork_ops::{DType, Scalar};

use crate::base::axes::Axis;
use crate::base::buffer::Buffer;
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, c_strides, count};
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::engine::slices::Slices;
use crate::engine::value_rows::{along_values, with_rows};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Running sums and products, differences
impl Tensor {
    /// Running sums along an axis.
    ///
    /// Integers are summed as `int64` or `uint64`, and wrap. The axis becomes dense
    /// in the slices that store something; elsewhere the result is its fill, which is constant where the scan of the fill
    /// is (sums of 0). If every slice stores something, the result is strided. With an undefined fill, sums of the stored
    /// elements, at the places of these.
    ///
    /// Cost: O(nse), a sort where storage order is not that of the slices, and the elements that the result stores.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1, 2, 3], [10, 20, 30]];
    /// assert_eq!(x.cumulative_sum(1)?.to_vec::<i64>()?, [1, 3, 6, 10, 30, 60]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, or the result stores more elements than the operand and these exceed the densify
    /// budget.
    #[doc(alias = "cumsum")]
    pub fn cumulative_sum(&self, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("cumulative_sum", &[self]);
        call.end(scan(ScanOp::Sum, self, None, false, axis.into()))
    }

    /// Running sums of the elements as `dtype`, which is the dtype of the result: [`Tensor::cumulative_sum`].
    ///
    /// # Errors
    /// As [`Tensor::cumulative_sum`].
    pub fn cumulative_sum_as(&self, dtype: DType, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("cumulative_sum_as", &[self]);
        call.end(scan(ScanOp::Sum, self, Some(dtype), false, axis.into()))
    }

    /// Running sums with a 0 before the first, so that the axis is longer by one: [`Tensor::cumulative_sum`].
    ///
    /// # Errors
    /// As [`Tensor::cumulative_sum`], or if the fill is undefined, which has no initial element.
    #[doc(alias = "include_initial")]
    pub fn cumulative_sum_with_initial(&self, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("cumulative_sum_with_initial", &[self]);
        call.end(scan(ScanOp::Sum, self, None, true, axis.into()))
    }

    /// Running products along an axis: as [`Tensor::cumulative_sum`].
    ///
    /// # Errors
    /// As [`Tensor::cumulative_sum`].
    #[doc(alias = "cumprod")]
    pub fn cumulative_prod(&self, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("cumulative_prod", &[self]);
        call.end(scan(ScanOp::Prod, self, None, false, axis.into()))
    }

    /// Running products of the elements as `dtype`, which is the dtype of the result: [`Tensor::cumulative_prod`].
    ///
    /// # Errors
    /// As [`Tensor::cumulative_prod`].
    pub fn cumulative_prod_as(&self, dtype: DType, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("cumulative_prod_as", &[self]);
        call.end(scan(ScanOp::Prod, self, Some(dtype), false, axis.into()))
    }

    /// Running products with a 1 before the first, so that the axis is longer by one: [`Tensor::cumulative_prod`].
    ///
    /// # Errors
    /// As [`Tensor::cumulative_prod`], or if the fill is undefined, which has no initial element.
    #[doc(alias = "include_initial")]
    pub fn cumulative_prod_with_initial(&self, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("cumulative_prod_with_initial", &[self]);
        call.end(scan(ScanOp::Prod, self, None, true, axis.into()))
    }

    /// The greatest element so far along an axis; NaN from the first NaN on. Fill and cost as [`Tensor::cumulative_sum`].
    ///
    /// # Errors
    /// As [`Tensor::cumulative_sum`]; if the dtype is complex.
    pub fn cummax(&self, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("cummax", &[self]);
        call.end(scan(ScanOp::Max, self, None, false, axis.into()))
    }

    /// The least element so far along an axis; NaN from the first NaN on. Fill and cost as [`Tensor::cumulative_sum`].
    ///
    /// # Errors
    /// As [`Tensor::cummax`].
    pub fn cummin(&self, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("cummin", &[self]);
        call.end(scan(ScanOp::Min, self, None, false, axis.into()))
    }

    /// The differences of neighbouring elements along an axis, taken `n` times: each time the axis becomes shorter by one, down to none.
    ///
    /// Sparse, with at most twice the stored elements each time; the fill is the difference of the fills.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![1, 4, 9, 16];
    /// assert_eq!(x.diff(1, 0)?.to_vec::<i32>()?, [3, 5, 7]);
    /// assert_eq!(x.diff(2, 0)?.to_vec::<i32>()?, [2, 2]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, or the dtype is bool.
    pub fn diff(&self, n: usize, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("diff", &[self]);
        let axis = axis.into().of(self.ndim())?;
        if self.dtype() == DType::Bool {
            return Err(error::dtype(&[DType::Bool], "booleans have no difference; cast first, or use ne"));
        }
        let mut out = self.clone();
        for _ in 0..n.min(self.shape()[axis]) {
            let size = out.shape()[axis];
            let later = out.narrow(1..size, axis)?;
            out = later.sub(&out.narrow(0..size - 1, axis)?)?;
        }
        Ok(call.done(out))
    }
}

/// Columns that are scanned together, and elements of a piece: what lies between dtypes stays in the first-level cache.
const COLUMNS: usize = 512;
const PIECE: usize = 1 << 10;

/// Elements of rows that are scanned many at a time.
const SHORT: usize = 1 << 12;

/// A scan of one dtype.
struct Scan {
    typing: ReduceTyping,
    kernels: ScanKernels,
    /// The element before the first.
    initial: Option<Scalar>,
}

fn scan(scan: ScanOp, x: &Tensor, dtype: Option<DType>, with_initial: bool, axis: Axis) -> Result<Tensor> {
    let axis = axis.of(x.ndim())?;
    let x = match dtype {
        Some(dtype) => &x.cast(dtype)?,
        None => x,
    };
    let unsupported = || error::dtype(&[x.dtype()], "the op is not defined for this dtype; cast first");
    let typing = scan.typing(x.dtype()).ok_or_else(unsupported)?;
    let kernels = scan.kernels(typing).ok_or_else(unsupported)?;
    let identity = scan.fold().kernels(typing).map(|k| k.identity);
    let scan = Scan { typing, kernels, initial: identity.filter(|_| with_initial) };
    let out = match &x.storage {
        Storage::Strided(array) => Tensor::from_strided(scan.along(array, axis)?),
        Storage::Sparse(s) => match scan.in_rows(x, axis)? {
            Some(out) => out.into(),
            None => scan.in_slices(&Slices::of(x, &[axis])?, s)?,
        },
    };
    let out = match dtype {
        Some(dtype) => out.cast(dtype)?,
        None => out,
    };
    Ok(out)
}

/// Groups of slices that are near each other, by which of them are the first, and the number of all: a long one has its own, others
/// together are about as much work.
fn in_groups(ends: &[usize]) -> Vec<usize> {
    let (mut cuts, mut begun) = (vec![0], ends[0]);
    for (slice, own) in ends.windows(2).enumerate() {
        if own[1] - own[0] >= GRAIN && cuts[cuts.len() - 1] < slice {
            cuts.push(slice);
            begun = own[0];
        }
        if own[1] - begun >= GRAIN || slice + 2 == ends.len() {
            cuts.push(slice + 1);
            begun = own[1];
        }
    }
    cuts
}

impl Scan {
    fn in_slices(&self, slices: &Slices, s: &Sparse) -> Result<Tensor> {
        // Slices have no duplicates.
        let s = slices.source().unwrap_or(s);
        if slices.is_undefined() { Ok(self.stored(slices, s)?.into()) } else { self.filled(slices, s) }
    }

    /// Along an axis that rows of values hold, each by itself. `None` of any other tensor.
    fn in_rows(&self, x: &Tensor, axis: usize) -> Result<Option<Sparse>> {
        let Some((s, place)) = along_values(x, axis)? else { return Ok(None) };
        if s.shape.contains(&0) || (s.fill.is_undefined() && self.initial.is_some()) {
            return Ok(None); // the one has no rows to speak of, the other is refused
        }
        let fill = match s.fill_values() {
            Some(fill) => self.background(axis, &s.shape, &fill)?,
            None => Fill::Undefined,
        };
        let values = self.along(&s.values, place)?;
        Ok(Some(with_rows(&s, values, fill)))
    }

    /// Elements of a row of `n` in the result.
    fn length(&self, n: usize) -> usize {
        n + usize::from(self.initial.is_some())
    }

    /// Scans an array along its last axis.
    fn last_axis(&self, x: &Strided) -> Result<Strided> {
        self.along(x, x.ndim() - 1)
    }

    /// Scans an array along one axis. The result lies in the order of the array.
    fn along(&self, x: &Strided, axis: usize) -> Result<Strided> {
        let order = if x.is_contiguous() { (0..x.ndim()).collect() } else { x.axes_by_stride() };
        let place = order.iter().position(|&a| a == axis).unwrap_or(axis);
        let x = x.permute(&order);
        let (n, groups, block) = (x.shape[place], count(&x.shape[..place]), count(&x.shape[place + 1..]));
        let (mut shape, length) = (x.shape.clone(), self.length(n));
        shape[place] = length;
        let all = convert::dense_len(&shape, self.typing.out)?;
        let (bytes, from, to) = (x.dense_bytes()?, x.dtype.size(), self.typing.out.size());
        // Threads share groups, or the columns of each.
        let columns = if groups >= parallel::threads() || n.saturating_mul(block) < 2 * GRAIN {
            COLUMNS
        } else {
            block / parallel::threads()
        };
        let (columns, group) = (columns.clamp(COLUMNS / 8, COLUMNS).min(block.max(1)), length.saturating_mul(block));
        let buffer = Buffer::filled(all * to, to, |out| {
            if out.is_empty() {
                return;
            }
            if block == 1 && n <= SHORT && self.initial.is_none() {
                return parallel::for_chunks_mut(out, n * to, (GRAIN / n).max(ROWS_BESIDE), &|first, out| {
                    self.each_row(x.dtype, &bytes[first * n * from..][..out.len() / to * from], n, out);
                });
            }
            if columns >= block {
                return parallel::for_chunks_mut(out, group * to, (GRAIN / group.max(1)).max(1), &|first, out| {
                    let mut columns = Columns::of(self, x.dtype, block, n * block);
                    for (g, out) in (first..).zip(out.chunks_exact_mut(group * to)) {
                        let out = columns.begin(out);
                        columns.go_on(&bytes[g * n * block * from..(g + 1) * n * block * from], out);
                    }
                });
            }
            let mut parts = Vec::with_capacity(groups * block.div_ceil(columns));
            for (g, out) in out.chunks_exact_mut(group * to).enumerate() {
                let first = parts.len();
                parts.extend((0..block).step_by(columns).map(|column| (g, column, Vec::with_capacity(length))));
                for row in out.chunks_exact_mut(block * to) {
                    parts[first..]
                        .iter_mut()
                        .zip(row.chunks_mut(columns * to))
                        .for_each(|(part, out)| part.2.push(out));
                }
            }
            parallel::for_each(parts, &|_, (g, column, rows)| {
                let width = columns.min(block - column);
                let mut columns = Columns::of(self, x.dtype, width, width);
                let mut from =
                    (g * n..).map(|row| &bytes[(row * block + column) * from..(row * block + column + width) * from]);
                for (i, out) in rows.into_iter().enumerate() {
                    let rest = if i == 0 { columns.begin(out) } else { out };
                    if !rest.is_empty()
                        && let Some(row) = from.next()
                    {
                        columns.go_on(row, rest);
                    }
                }
            });
        })?;
        let mut back: Vec<usize> = (0..order.len()).collect();
        back.sort_by_key(|&a| order[a]);
        Ok(Strided::new(buffer, self.typing.out, shape).permute(&back))
    }

    /// An undefined fill: the stored elements of each slice, which stay where they are.
    fn stored(&self, slices: &Slices, s: &Sparse) -> Result<Sparse> {
        if self.initial.is_some() {
            let why = "the fill is undefined: an initial element would be the only one in slices that store nothing";
            return Err(error::invalid("include_initial", why));
        }
        let (values, from, to) = (&slices.values, slices.values.dtype.size(), self.typing.out.size());
        let cuts = in_groups(&slices.ends);
        let ends = cuts[1..].mapped(|&slice| slices.ends[slice] * to);
        let bytes = values.dense_bytes()?;
        let buffer = Buffer::filled(values.len() * to, to, |out| {
            parallel::for_pieces_mut(out, &ends, &|group, out| {
                let own = &slices.ends[cuts[group]..=cuts[group + 1]];
                let bytes = &bytes[own[0] * from..own[own.len() - 1] * from];
                match own {
                    [_, _] => Columns::of(self, values.dtype, 1, out.len() / to).go_on(bytes, out),
                    _ => self.each_slice(values.dtype, bytes, own, out),
                }
            });
        })?;
        let scanned = Strided::new(buffer, self.typing.out, vec![values.len()]);
        let values = match &slices.order {
            None => scanned,
            Some(order) => {
                let places: Vec<u64> = (0..order.len()).map(|i| order.as_slice().get(i) as u64).collect();
                let bytes = scanned.dense_bytes()?;
                let buffer = Buffer::build(bytes.len(), |out| {
                    scatter_offsets(&bytes, self.typing.out.size(), &places, out);
                })?;
                Strided::new(buffer, self.typing.out, vec![places.len()])
            }
        };
        Ok(Sparse { values: values.reshape(&s.values.shape)?, ..s.clone() })
    }

    /// Scans some slices, of a few elements in all.
    fn each_slice(&self, dtype: DType, bytes: &[u8], ends: &[usize], out: &mut [u8]) {
        let (elements, acc) = (out.len() / self.typing.out.size(), self.typing.acc);
        let [mut before, mut after] = self.room(dtype, elements);
        self.in_pieces(dtype, elements, [&mut before, &mut after], bytes, out, &mut |values, out| {
            for own in ends.windows(2).filter(|own| own[0] < own[1]) {
                let at = (own[0] - ends[0]) * acc.size()..(own[1] - ends[0]) * acc.size();
                (self.kernels.rows)(&values[at.clone()], own[1] - own[0], &mut out[at]);
            }
        });
    }

    /// Scans rows of `n` elements, each by itself.
    fn each_row(&self, dtype: DType, values: &[u8], n: usize, out: &mut [u8]) {
        let piece = (PIECE / n).max(ROWS_BESIDE) * n;
        let [mut before, mut after] = self.room(dtype, piece.min(out.len() / self.typing.out.size()));
        self.in_pieces(dtype, piece, [&mut before, &mut after], values, out, &mut |values, out| {
            (self.kernels.rows)(values, n, out);
        });
    }

    /// Room for elements of `dtype` as accumulators, and for as many that become elements of the result: none where they are that.
    fn room(&self, dtype: DType, elements: usize) -> [Vec<u128>; 2] {
        let acc = self.typing.acc;
        [dtype, self.typing.out]
            .map(|other| vec![0; if other == acc { 0 } else { (elements * acc.size()).div_ceil(16) }])
    }

    /// A defined fill: dense rows where something is stored.
    fn filled(&self, slices: &Slices, s: &Sparse) -> Result<Tensor> {
        let (n, groups) = (slices.length as usize, slices.len());
        let (Some(fill), Some(pattern)) = (slices.fill(), slices.pattern_along(n)) else {
            return Ok(s.clone().into());
        };
        slices.may_fill(self.length(n), self.typing.acc)?;
        let background = self.background(slices.axes[0], &slices.shape, fill)?;
        let beneath = blocks::collect(groups * n, Source::at(fill, &Arc::new(pattern)), s.dtype())?;
        let mut rows = Strided { shape: vec![groups, n].into(), strides: c_strides(&[groups, n]).into(), ..beneath };
        let positions = slices.positions();
        let within = |g: usize| {
            let positions = &positions;
            (slices.ends[g]..slices.ends[g + 1]).map(move |e| (g * n) as u64 + positions.of(e) as u64)
        };
        let places: Vec<u64> = (0..groups).flat_map(within).collect();
        if let Some(bytes) = rows.buffer.unique_mut() {
            scatter_offsets(&slices.values.dense_bytes()?, s.dtype().size(), &places, bytes);
        }
        slices.along(self.last_axis(&rows)?, background)
    }

    /// The scan of the fill, as a fill.
    fn background(&self, axis: usize, shape: &[usize], fill: &Strided) -> Result<Fill> {
        let (n, last) = (shape[axis], shape.len() - 1);
        let mut full = fill.unbroadcast().axis_last(axis);
        let mut shape = shape.to_vec();
        shape[axis] = self.length(n);
        if full.strides[last] == 0 || full.shape[last] == 1 {
            // Two steps tell whether a scan of equal elements moves at all.
            full.shape[last] = n.min(2);
            full.strides[last] = 0;
            let first = self.last_axis(&full)?;
            let length = first.shape[last];
            let step = |i: usize| first.narrow(last, i..i + 1).core();
            let moves = (1..length).any(|i| step(i).contiguous_bytes() != step(0).contiguous_bytes());
            if !moves && length > 0 {
                let one = first.narrow(last, 0..1).axis_back(axis);
                return Ok(fill_of(&one.broadcast(&shape)));
            }
            full.shape[last] = n;
        }
        // Along one axis a fill is cheap; along several it is as large as what it stands for.
        if full.shape[..last].iter().any(|&n| n > 1) {
            context::may_densify(&full.shape, self.typing.out.size(), || {
                format!("the running results of the fill vary along axis {axis} and along others")
            })?;
        }
        convert::dense_len(&full.shape, self.typing.acc)?;
        let scanned = self.last_axis(&full)?.axis_back(axis);
        Ok(if scanned.len() == 0 {
            Fill::Scalar(Scalar::zero(self.typing.out))
        } else {
            fill_of(&scanned.broadcast(&shape))
        })
    }
}

/// The scan of some columns, of which so many rows were met.
struct Columns<'a> {
    scan: &'a Scan,
    dtype: DType,
    width: usize,
    has_begun: bool,
    /// What the kernel keeps of the rows before.
    state: Vec<u128>,
    /// A piece as accumulators, before and after, where operand and result have other dtypes.
    before: Vec<u128>,
    after: Vec<u128>,
}

impl<'a> Columns<'a> {
    /// None of the rows of `width` elements of `dtype` yet, which are `elements` together.
    fn of(scan: &'a Scan, dtype: DType, width: usize, elements: usize) -> Columns<'a> {
        let acc = scan.typing.acc;
        let [before, after] = scan.room(dtype, PIECE.max(width).min(elements));
        let state = vec![0; (2 * width * acc.size()).div_ceil(16)];
        Columns { scan, dtype, width, has_begun: false, state, before, after }
    }

    /// Begins anew: the initial elements are written, if there are any. What is left of the rows of the result.
    fn begin<'o>(&mut self, out: &'o mut [u8]) -> &'o mut [u8] {
        self.has_begun &= faults::is(Fault::ScansGoOn);
        let Some(initial) = self.scan.initial else { return out };
        let (bytes, size) = initial.cast(self.scan.typing.out).to_bytes();
        let (first, rest) = out.split_at_mut(self.width * size);
        repeat(&bytes[..size], first);
        rest
    }

    /// Scans more rows.
    fn go_on(&mut self, rows: &[u8], out: &mut [u8]) {
        let (width, row) = (self.width.max(1), self.width * self.scan.typing.acc.size());
        let (kernel, has_begun) = (self.scan.kernels.columns, &mut self.has_begun);
        let state = &mut bytemuck::cast_slice_mut(&mut self.state)[..2 * row];
        let (before, after) = (&mut self.before, &mut self.after);
        let piece = (PIECE / width).max(1) * width;
        self.scan.in_pieces(self.dtype, piece, [before, after], rows, out, &mut |values, out| {
            let mut first = 0;
            if !*has_begun {
                // The first elements as they are: not even −0 changes.
                (*has_begun, first) = (true, row);
                out[..row].copy_from_slice(&values[..row]);
                state[..row].copy_from_slice(&values[..row]);
                state[row..].fill(0);
            }
            kernel(&values[first..], state, &mut out[first..]);
        });
    }
}

impl Scan {
    /// Gives pieces of elements as accumulators, and where the accumulators go that become elements of the result. There is room for
    /// both where these have other dtypes.
    fn in_pieces(
        &self,
        dtype: DType,
        piece: usize,
        [before, after]: [&mut [u128]; 2],
        values: &[u8],
        out: &mut [u8],
        f: &mut dyn FnMut(&[u8], &mut [u8]),
    ) {
        let ReduceTyping { acc, out: result, .. } = self.typing;
        let (before, after) =
            (bytemuck::cast_slice_mut::<u128, u8>(before), bytemuck::cast_slice_mut::<u128, u8>(after));
        for (values, out) in values.chunks(piece * dtype.size()).zip(out.chunks_mut(piece * result.size())) {
            let bytes = values.len() / dtype.size() * acc.size();
            let values = if dtype == acc {
                values
            } else {
                cast_block(dtype, values, acc, &mut before[..bytes]);
                &before[..bytes]
            };
            if result == acc {
                f(values, out);
            } else {
                f(values, &mut after[..bytes]);
                cast_block(acc, &after[..bytes], result, out);
            }
        }
    }
}
