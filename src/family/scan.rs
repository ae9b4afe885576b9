//! Scans: running sums, products and extremes along an axis, and differences.
//!
//! A scan changes every element after a stored one. So the axis becomes dense in slices that store something; in the
//! others the scan is that of the fill, which is a fill that varies along the axis.

use std::sync::Arc;

use openwork_ops::reduce::{ReduceTyping, ScanKernel, ScanOp};
use openwork_ops::structure::gather::scatter_offsets;
use openwork_ops::{DType, Scalar};

use crate::base::axes::Axis;
use crate::base::buffer::Buffer;
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, c_strides, count};
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::engine::slices::Slices;
use crate::engine::value_rows::{along_values, with_rows};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

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

/// A scan of one dtype.
struct Scan {
    typing: ReduceTyping,
    kernel: ScanKernel,
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
    let kernel = scan.kernel(typing.acc).ok_or_else(unsupported)?;
    let identity = scan.fold().kernels(typing).map(|k| k.identity);
    let scan = Scan { typing, kernel, initial: identity.filter(|_| with_initial) };
    let out = match scan.in_rows(x, axis)? {
        Some(out) => out.into(),
        None => scan.in_slices(&Slices::of(x, &[axis])?)?,
    };
    let out = match dtype {
        Some(dtype) => out.cast(dtype)?,
        None => out,
    };
    Ok(out)
}

impl Scan {
    fn in_slices(&self, slices: &Slices) -> Result<Tensor> {
        Ok(match slices.source() {
            None => Tensor::from_strided(self.strided(slices)?),
            Some(s) if slices.is_undefined() => self.stored(slices, s)?.into(),
            Some(s) => self.filled(slices, s)?,
        })
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
        let values = self.last_axis(&s.values.axis_last(place))?.axis_back(place);
        Ok(Some(with_rows(&s, values, fill)))
    }

    /// Elements of a row of `n` in the result.
    fn length(&self, n: usize) -> usize {
        n + usize::from(self.initial.is_some())
    }

    /// Scans rows of `length` accumulators.
    fn rows(&self, rows: &mut [u8], length: usize) {
        let row = length * self.typing.acc.size();
        parallel::for_chunks_mut(rows, row, (GRAIN / length.max(1)).max(1), &|_, rows| {
            rows.chunks_exact_mut(row).for_each(self.kernel);
        });
    }

    /// Rows `0..n` of accumulators with the initial element, if there is one, and zeros after.
    fn begun(&self, rows: &mut [u8], length: usize) {
        if let Some(initial) = self.initial {
            let (bytes, size) = initial.to_bytes();
            rows.chunks_exact_mut(length * size).for_each(|row| row[..size].copy_from_slice(&bytes[..size]));
        }
    }

    /// Scans an array along its last axis.
    fn last_axis(&self, x: &Strided) -> Result<Strided> {
        let (Some((&n, outer)), size) = (x.shape.split_last(), self.typing.acc.size()) else { return Ok(x.clone()) };
        let (length, rows) = (self.length(n), count(outer));
        let x = x.cast(self.typing.input).cast(self.typing.acc);
        let bytes = x.dense_bytes()?;
        let buffer = Buffer::build(rows * length * size, |out| {
            self.begun(out, length);
            let skip = (length - n) * size;
            parallel::for_chunks_mut(out, length * size, (GRAIN / length.max(1)).max(1), &|first, out| {
                let from = bytes[first * n * size..].chunks_exact((n * size).max(1));
                out.chunks_exact_mut(length * size).zip(from).for_each(|(to, from)| to[skip..].copy_from_slice(from));
            });
            self.rows(out, length);
        })?;
        let shape: Vec<usize> = outer.iter().copied().chain([length]).collect();
        Ok(Strided::new(buffer, self.typing.acc, shape).cast(self.typing.out))
    }

    fn strided(&self, slices: &Slices) -> Result<Strided> {
        let shape: Vec<usize> = slices.kept_shape().into_iter().chain([slices.length as usize]).collect();
        Ok(slices.placed(&self.last_axis(&slices.values.reshape(&shape)?)?))
    }

    /// An undefined fill: the stored elements of each slice, which stay where they are.
    fn stored(&self, slices: &Slices, s: &Sparse) -> Result<Sparse> {
        if self.initial.is_some() {
            let why = "the fill is undefined: an initial element would be the only one in slices that store nothing";
            return Err(error::invalid("include_initial", why));
        }
        let values = slices.values.cast(self.typing.input).cast(self.typing.acc);
        let size = self.typing.acc.size();
        let ends: Vec<usize> = slices.ends[1..].iter().map(|e| e * size).collect();
        let bytes = values.dense_bytes()?;
        let buffer = Buffer::build(values.len() * size, |out| {
            out.copy_from_slice(&bytes);
            parallel::for_pieces_mut(out, &ends, &|_, row| (self.kernel)(row));
        })?;
        let scanned = Strided::new(buffer, self.typing.acc, vec![values.len()]).cast(self.typing.out);
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
