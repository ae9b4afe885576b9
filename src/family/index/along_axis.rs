//! One index for each element of the result, along one axis: take_along_axis, gather, scatter.

use crate::base::mapped::Mapped;
use openwork_ops::ReduceOp;

use super::pick::pick;
use super::put::{Given, value_of};
use super::{List, all_bounded, integers};
use crate::base::axes::Axis;
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::memory;
use crate::base::parallel;
use crate::base::shape::broadcast_shapes;
use crate::base::strided::{Strided, c_order, count, dense_len};
use crate::engine::convert;
use crate::family::pointwise::Operand;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Storage, Tensor};

/// # Indexing: one index per element along an axis
impl Tensor {
    /// Gathers one element per index: `out[…, i, …] = self[…, indices[…, i, …], …]`. The other axes broadcast.
    ///
    /// Sparse: the result is COO with the fill, if that is one value; an array fill gives as many values as there are
    /// indices, which is dense, within the densify budget. Cost: O(nse + number of indices), and a sort.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[10, 30, 20], [60, 40, 50]];
    /// let at = x.argmax(openwork::keep(1))?;
    /// assert_eq!(x.take_along_axis(&at, 1)?.to_vec::<i32>()?, [30, 60]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, there are not as many axes, other axes do not broadcast, the indices are
    /// not integers, one is out of bounds, or the densify budget is exceeded.
    #[doc(alias("take_along_dim"))]
    pub fn take_along_axis(&self, indices: &Tensor, axis: impl Into<Axis>) -> Result<Tensor> {
        self.taken_along(indices, axis.into())
    }

    fn taken_along(&self, indices: &Tensor, axis: Axis) -> Result<Tensor> {
        let call = trace::call("take_along_axis", &[self, indices]);
        let axis = axis.of(self.ndim())?;
        same_rank(self, indices)?;
        let without = |s: &[usize]| [&s[..axis], &s[axis + 1..]].concat();
        let mut common = broadcast_shapes(&without(self.shape()), &without(indices.shape()))?;
        common.insert(axis, self.shape()[axis]);
        let x = self.broadcast_to(&common)?;
        common[axis] = indices.shape()[axis];
        if common.contains(&0) {
            // Repeated no times, a wrong index would go unseen.
            all_bounded(&integers(indices)?, axis, self.shape()[axis])?;
        }
        call.end(picked(self, &x, &indices.broadcast_to(&common)?, axis))
    }

    /// Gathers one element per index: `out[…, i, …] = self[…, index[…, i, …], …]`. `index` may be smaller than the tensor along the
    /// other axes; nothing broadcasts. Else as [`Tensor::take_along_axis`].
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[10, 30, 20], [60, 40, 50]];
    /// let chosen = x.gather(&tensor![[2, 0], [1, 1]], 1)?;
    /// assert_eq!(chosen.to_vec::<i32>()?, [20, 10, 40, 40]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::take_along_axis`], or if `index` is larger along another axis.
    pub fn gather(&self, index: &Tensor, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("gather", &[self, index]);
        let axis = axis.into().of(self.ndim())?;
        inside(self, index, axis)?;
        call.end(picked(self, self, index, axis))
    }

    /// A copy with `self[…, index[…, i, …], …] = src[…, i, …]`. `src` has the shape of `index`, or is a number. Where
    /// a place is named several times the last value counts. An absent value makes its element absent.
    ///
    /// Dtype, layout and cost as [`Tensor::index_put`].
    ///
    /// ```
    /// use openwork::{DType, Layout, Tensor, tensor};
    /// let x = Tensor::zeros([2, 3], DType::I32, Layout::Strided)?;
    /// let y = x.scatter(&tensor![[2, 0], [1, 1]], &tensor![[7, 8], [9, 10]], 1)?;
    /// assert_eq!(y.to_vec::<i32>()?, [8, 0, 7, 0, 10, 0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, `index` has other axes or is larger along another one, its elements are not integers or
    /// out of bounds, or `src` has another shape or does not fit the dtype.
    pub fn scatter<'a>(&self, index: &Tensor, src: impl Into<Operand<'a>>, axis: impl Into<Axis>) -> Result<Tensor> {
        let src = src.into();
        let call = trace::call("scatter", &operands(self, index, &src));
        call.end(scatter(self, index, src, None, axis.into()))
    }

    /// As [`Tensor::scatter`], but all values that name a place meet there by a reduction (sum, prod, max or min), and
    /// meet what was there, unless that is absent. Absent values add nothing.
    ///
    /// ```
    /// use openwork::{ReduceOp, tensor};
    /// let x = tensor![100, 200];
    /// let y = x.scatter_reduce(&tensor![1, 0, 1], &tensor![1, 2, 3], ReduceOp::Sum, 0)?;
    /// assert_eq!(y.to_vec::<i32>()?, [102, 204]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::scatter`], or if the reduction is none of the four.
    #[doc(alias("scatter_add"))]
    pub fn scatter_reduce<'a>(
        &self,
        index: &Tensor,
        src: impl Into<Operand<'a>>,
        reduce: ReduceOp,
        axis: impl Into<Axis>,
    ) -> Result<Tensor> {
        let src = src.into();
        let call = trace::call("scatter_reduce", &operands(self, index, &src));
        call.end(scatter(self, index, src, Some(reduce), axis.into()))
    }
}

/// The tensors among the operands.
fn operands<'t>(x: &'t Tensor, index: &'t Tensor, src: &'t Operand<'_>) -> Vec<&'t Tensor> {
    let mut all = vec![x, index];
    if let Operand::Tensor(src) = src {
        all.push(src);
    }
    all
}

fn scatter(x: &Tensor, index: &Tensor, src: Operand<'_>, reduce: Option<ReduceOp>, axis: Axis) -> Result<Tensor> {
    let axis = axis.of(x.ndim())?;
    inside(x, index, axis)?;
    let src = match value_of(x, src)? {
        number if number.ndim() == 0 => number.broadcast_to(index.shape())?,
        src => src,
    };
    if src.shape() != index.shape() {
        return Err(error::shape(&[index.shape(), src.shape()], "src needs the shape of index, or is a number"));
    }
    match &x.storage {
        Storage::Strided(s) => {
            let in_order = Strided { strides: c_order(&s.shape), offset: 0, ..s.clone() };
            let (named, first, step) = along(&in_order, index, axis)?;
            let mut offsets = zeroed_vec(named.len());
            parallel::for_chunks_mut(&mut offsets, 1, parallel::GRAIN, &|start, offsets| {
                first.offsets_beyond(start, step, &named[start..], offsets);
            });
            let given = Given::of(&src, named.len(), reduce)?;
            super::strided::at(s, offsets, given)
        }
        Storage::Sparse(s) => {
            let (n, columns) = columns(x, index, axis)?;
            Ok(super::points::put(s, &columns, &Given::of(&src, n, reduce)?)?.into())
        }
    }
}

fn same_rank(x: &Tensor, index: &Tensor) -> Result<()> {
    if x.ndim() == index.ndim() {
        return Ok(());
    }
    Err(error::shape(&[x.shape(), index.shape()], "the indices need as many axes as the tensor"))
}

/// Whether the index is no larger than the tensor along other axes.
fn inside(x: &Tensor, index: &Tensor, axis: usize) -> Result<()> {
    same_rank(x, index)?;
    if (0..x.ndim()).any(|d| d != axis && index.shape()[d] > x.shape()[d]) {
        let why = format!("the index may be larger than the tensor only along axis {axis}");
        return Err(error::shape(&[x.shape(), index.shape()], why));
    }
    Ok(())
}

/// How many elements the index has, if there is room for so many numbers of each.
fn room(index: &Tensor, numbers: usize) -> Result<usize> {
    let (width, instead) = (size_of::<u64>() * numbers, "take fewer at a time");
    memory::room(index.shape(), "a list of the places that the indices name", index.shape(), width, instead)
}

/// The coordinates that each element of the index names: a column for each axis.
fn columns(x: &Tensor, index: &Tensor, axis: usize) -> Result<(usize, Vec<Vec<u64>>)> {
    let n = room(index, x.ndim() + 1)?;
    let named = all_bounded(&integers(index)?, axis, x.shape()[axis])?;
    // Each coordinate stands as often as the axes behind it have elements, and all of them again and again.
    let own = |d: usize| {
        let (times, size) = (count(&index.shape()[d + 1..]), index.shape()[d]);
        let mut column = zeroed_vec(n);
        parallel::for_chunks_mut(
            &mut column,
            times.max(1),
            (parallel::GRAIN / times.max(1)).max(1),
            &|first, column| {
                for (i, run) in (first..).zip(column.chunks_exact_mut(times)) {
                    run.fill((i % size) as u64);
                }
            },
        );
        column
    };
    Ok((n, (0..x.ndim()).mapped(|d| if d == axis { named.to_vec() } else { own(d) })))
}

/// Which elements the indices name along the axis, where its first is for each of them, and the step from one to the next.
fn along(x: &Strided, index: &Tensor, axis: usize) -> Result<(List, Strided, isize)> {
    room(index, 2)?;
    let named = all_bounded(&integers(index)?, axis, x.shape[axis])?;
    let mut first = Strided { shape: index.shape().into(), ..x.clone() };
    let step = std::mem::take(&mut first.strides[axis]);
    Ok((named, first, step))
}

/// What the indices name of an array that is no smaller than they along other axes.
fn picked_strided(x: &Strided, index: &Tensor, axis: usize) -> Result<Strided> {
    let (shape, size) = (index.shape(), x.dtype.size());
    let (named, first, step) = along(x, index, axis)?;
    let buffer = Buffer::filled(dense_len(shape, x.dtype)? * size, size, |out| {
        parallel::for_chunks_mut(out, size, parallel::GRAIN, &|start, out| {
            first.read_beyond(start, step, &named[start..start + out.len() / size], out);
        });
    })?;
    Ok(Strided::new(buffer, x.dtype, shape))
}

fn picked(given: &Tensor, x: &Tensor, index: &Tensor, axis: usize) -> Result<Tensor> {
    if let Storage::Strided(s) = &x.storage {
        return Ok(Tensor::from_strided(picked_strided(s, index, axis)?));
    }
    let (n, columns) = columns(x, index, axis)?;
    let axes: Vec<usize> = (0..x.ndim()).collect();
    let lists: Vec<&[u64]> = columns.mapped(|c| &c[..]);
    let flat = pick(x, &axes, &lists, 0)?;
    let flat = match (flat.sparse(), flat.fill()) {
        (Some(s), Some(Fill::Array(_))) => {
            context::may_densify(index.shape(), s.dtype().size(), || {
                format!("the fill {} is another at each index", given.fill().map_or_else(String::new, Fill::to_string))
            })?;
            let dense = match s.fill_values() {
                Some(fill) => convert::to_strided(s, &fill)?,
                None => Strided::constant(openwork_ops::Scalar::zero(s.dtype()), &[n]), // it is an array
            };
            Tensor::from_strided(dense)
        }
        _ => flat,
    };
    flat.reshape(index.shape())
}
