//! Elements moved along axes: flip, roll, repeat, tile, split and unstack, and other orders of the axes.

use crate::base::mapped::{Mapped, repeated};
use std::sync::Arc;

use super::along::{self, Along};
use super::{join, product, window};
use crate::base::axes::{Axes, Axis};
use crate::base::error::{self, Result};
use crate::base::integers::Integers;
use crate::base::memory;
use crate::engine::convert;
use crate::levels::layout::LevelSpec;
use crate::levels::level::LevelKind;
use crate::levels::pattern::Part;
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

/// Bytes of a tensor that shares its arrays with many others.
const ONE_OF_MANY: usize = 512;

/// # Shape: elements moved along axes
impl Tensor {
    /// Moves axes to other places; the others keep their order. Free, as [`Tensor::permute_dims`].
    ///
    /// # Errors
    /// If an axis is out of range or given twice, or the two lists are of unequal length.
    #[doc(alias("movedim"))]
    pub fn moveaxis(&self, source: impl Into<Axes>, destination: impl Into<Axes>) -> Result<Tensor> {
        self.moved(&source.into(), &destination.into())
    }

    fn moved(&self, source: &Axes, destination: &Axes) -> Result<Tensor> {
        let call = trace::call("moveaxis", &[self]);
        let n = self.ndim();
        let source = source.unkept()?.ordered(n)?;
        let destination = destination.unkept()?.ordered(n)?;
        if source.len() != destination.len() {
            let why = format!("{} axes for {} in `source`: as many are needed", destination.len(), source.len());
            return Err(error::invalid("destination", why));
        }
        let mut order: Vec<Option<usize>> = vec![None; n];
        let mut moved = vec![false; n];
        for (&from, &to) in source.iter().zip(&destination) {
            order[to] = Some(from);
            moved[from] = true;
        }
        let mut rest = (0..n).filter(|&a| !moved[a]);
        let order: Vec<usize> = order.into_iter().filter_map(|place| place.or_else(|| rest.next())).collect();
        call.end(self.permute_dims(&order))
    }

    /// Swaps two axes. Free, as [`Tensor::permute_dims`].
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[[1, 2], [3, 4]]]; // shape [1, 2, 2]
    /// assert_eq!(x.swapaxes(0, 2)?.shape(), [2, 2, 1]);
    /// assert_eq!(x.swapaxes(1, 2)?.to_vec::<i32>()?, [1, 3, 2, 4]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range.
    #[doc(alias("transpose", "swapdims"))]
    pub fn swapaxes(&self, a: impl Into<Axis>, b: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("swapaxes", &[self]);
        let n = self.ndim();
        let (a, b) = (a.into().of(n)?, b.into().of(n)?);
        let mut order: Vec<usize> = (0..n).collect();
        order.swap(a, b);
        call.end(self.permute_dims(&order))
    }

    /// All elements along one axis, in C order: see [`Tensor::reshape`].
    ///
    /// # Errors
    /// If an axis cannot be that long, or as [`Tensor::reshape`].
    #[doc(alias("ravel"))]
    pub fn flatten(&self) -> Result<Tensor> {
        let call = trace::call("flatten", &[self]);
        let size = product(self.shape()).and_then(|n| usize::try_from(n).ok());
        let size = size.ok_or_else(|| error::shape(&[self.shape()], "no axis can hold that many elements"))?;
        call.end(self.reshape([size]))
    }

    /// Adds axes of size 1 in front until there are `ndim`. Free.
    ///
    /// # Errors
    /// No argument makes it fail; it returns `Result` as every op does.
    pub fn atleast_nd(&self, ndim: usize) -> Result<Tensor> {
        let call = trace::call("atleast_nd", &[self]);
        call.end((self.ndim()..ndim).try_fold(self.clone(), |t, _| t.expand_dims(0)))
    }

    /// The elements in reverse order along some axes.
    ///
    /// Strided: a view. Sparse: the layout stays (blocks are taken apart). Cost: O(nse + rows).
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(x.flip(1)?.to_vec::<i32>()?, [3, 2, 1, 6, 5, 4]);
    /// assert_eq!(x.flip(..)?.to_vec::<i32>()?, [6, 5, 4, 3, 2, 1]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or given twice.
    #[doc(alias("fliplr", "flipud"))]
    pub fn flip(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        self.flipped(&axes.into())
    }

    fn flipped(&self, axes: &Axes) -> Result<Tensor> {
        let call = trace::call("flip", &[self]);
        let axes = axes.unkept()?.of(self.ndim())?;
        let mut out = self.clone();
        for axis in axes {
            let len = out.shape()[axis];
            if len > 1 {
                out = along::along(&out, axis, &Along::Step { start: len - 1, step: -1, len })?;
            }
        }
        Ok(call.done(out))
    }

    /// Shifts the elements along some axes; those that leave at one end come back at the other: one shift
    /// for each axis; those of an axis that is given twice add up. `..` rolls the tensor as if it had one axis, by one shift.
    ///
    /// Sparse: the layout stays (blocks are taken apart). Cost: O(nse + rows).
    ///
    /// ```
    /// use openwork::tensor;
    /// assert_eq!(tensor![1, 2, 3, 4].roll(1, 0)?.to_vec::<i32>()?, [4, 1, 2, 3]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range, or there are not as many shifts as axes.
    pub fn roll(&self, shifts: impl Into<Integers>, axes: impl Into<Axes>) -> Result<Tensor> {
        self.rolled(shifts.into().as_slice(), &axes.into())
    }

    fn rolled(&self, shifts: &[i64], axes: &Axes) -> Result<Tensor> {
        let call = trace::call("roll", &[self]);
        if axes.unkept()?.is_all() {
            if shifts.len() != 1 {
                let why = format!("{} are given, along all axes together one is needed", shifts.len());
                return Err(error::invalid("shifts", why));
            }
            return call.end(self.flatten()?.rolled(shifts, &Axes::from(0))?.reshape(self.shape()));
        }
        let axes = axes.listed(self.ndim())?;
        if shifts.len() != axes.len() {
            let why = format!("{} are given for {} axes: as many are needed", shifts.len(), axes.len());
            return Err(error::invalid("shifts", why));
        }
        let mut out = self.clone();
        for (&shift, &axis) in shifts.iter().zip(&axes) {
            let n = self.shape()[axis];
            let by = if n == 0 { 0 } else { i128::from(shift).rem_euclid(n as i128) as usize };
            if by > 0 {
                out = unblocked(&out, axis)?;
                let coordinates =
                    |s: &Sparse| s.ndim() > 2 && s.pattern.levels.iter().all(|l| l.kind() != LevelKind::Dense);
                if out.sparse().is_some_and(coordinates) {
                    out = along::along(&out, axis, &Along::Roll { by, len: n })?;
                    continue;
                }
                let listed = out.sparse().filter(|s| s.pattern.dims.first().is_some_and(|d| d.axis != axis));
                // By pointers, and back to what lists rows or coordinates.
                let rows = listed.map(convert::by_rows).transpose()?.flatten().map(Tensor::from);
                let parts = window::windows(rows.as_ref().unwrap_or(&out), axis, &[0..n - by, n - by..n])?;
                let joined = join::concat(&[&parts[1], &parts[0]], axis)?;
                out = match (joined.sparse(), listed.filter(|_| rows.is_some())) {
                    (Some(joined), Some(listed)) => convert::convert(joined, &listed.pattern.spec())?.into(),
                    _ => joined,
                };
            }
        }
        Ok(call.done(out))
    }

    /// Repeats each element along an axis, or (`..`) of the flattened tensor: `repeats` is one count for all, or a list
    /// with one for each.
    ///
    /// Sparse: the layout stays (blocks are taken apart). Cost: O(nse of the result).
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![1, 2];
    /// assert_eq!(x.repeat(2, 0)?.to_vec::<i32>()?, [1, 1, 2, 2]);
    /// assert_eq!(x.repeat([3, 1], 0)?.to_vec::<i32>()?, [1, 1, 1, 2]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, the number of counts is neither 1 nor the axis' size, or the result is too
    /// large.
    #[doc(alias("repeat_interleave"))]
    pub fn repeat(&self, repeats: impl Into<Integers>, axis: impl Into<Axes>) -> Result<Tensor> {
        self.repeated(repeats.into().as_slice(), &axis.into())
    }

    fn repeated(&self, repeats: &[i64], axis: &Axes) -> Result<Tensor> {
        let call = trace::call("repeat", &[self]);
        let counts = repeats.try_mapped(|&r| usize::try_from(r).map_err(|_| r));
        let repeats =
            &counts.map_err(|r| error::invalid("repeats", format_args!("{r} is given, allowed are counts from 0")))?;
        let Some(axis) = axis.unkept()?.one_or_all(self.ndim())? else {
            return call.end(self.flatten()?.repeat(repeats, 0));
        };
        let n = self.shape()[axis];
        let too_long = || error::shape(&[self.shape()], format_args!("repeated, axis {axis} exceeds the largest size"));
        let list;
        let choice = match repeats[..] {
            [times] => {
                let len = n.checked_mul(times).ok_or_else(too_long)?;
                Along::Repeat { times, len }
            }
            _ if repeats.len() == n => {
                let total = repeats.iter().try_fold(0usize, |sum, &r| sum.checked_add(r)).ok_or_else(too_long)?;
                along::fits(self.shape(), Some(total))?;
                list = repeated((0..).zip(repeats.iter().copied()));
                Along::List(&list)
            }
            _ => {
                let why =
                    format!("{} counts for axis {axis} of size {n}: one is needed, or one for each", repeats.len());
                return Err(error::invalid("repeats", why));
            }
        };
        let out = along::along(self, axis, &choice)?;
        Ok(call.done(out))
    }

    /// Lays copies of the tensor side by side: `repeats[i]` of them along axis `i`. The shorter of shape and `repeats`
    /// is filled up with ones in front.
    ///
    /// ```
    /// use openwork::tensor;
    /// assert_eq!(tensor![1, 2].tile([2, 2])?.to_vec::<i32>()?, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// Layout and fill as [`Tensor::concat`] of the copies. Cost: in proportion to the result, for each axis with copies.
    ///
    /// # Errors
    /// If the result is too large.
    pub fn tile(&self, repeats: impl AsRef<[usize]>) -> Result<Tensor> {
        let (call, repeats) = (trace::call("tile", &[self]), repeats.as_ref());
        let mut out = self.atleast_nd(repeats.len())?;
        let lead = out.ndim() - repeats.len();
        for (axis, &times) in repeats.iter().enumerate() {
            let axis = lead + axis;
            if times == 0 {
                out = out.narrow(0..0, axis)?;
            } else if times > 1 {
                let nse = out.nse().checked_mul(times);
                along::fits(out.shape(), nse)?;
                along::fits(out.shape(), Some(times))?;
                out = tiled(&out, times, axis)?;
            }
        }
        Ok(call.done(out))
    }

    /// Cuts an axis into parts of the given sizes; each as [`Tensor::narrow`] gives it, all in one pass over what is
    /// stored where that has to be copied: O(nse + parts).
    ///
    /// ```
    /// use openwork::tensor;
    /// let parts = tensor![1, 2, 3, 4, 5].split([2, 3], 0)?;
    /// assert_eq!(parts[0].to_vec::<i32>()?, [1, 2]);
    /// assert_eq!(parts[1].to_vec::<i32>()?, [3, 4, 5]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, or the sizes do not add up to it.
    #[doc(alias("chunk", "array_split"))]
    pub fn split(&self, sizes: impl AsRef<[usize]>, axis: impl Into<Axis>) -> Result<Vec<Tensor>> {
        let (call, sizes) = (trace::call("split", &[self]), sizes.as_ref());
        let a = axis.into().of(self.ndim())?;
        let n = self.shape()[a];
        if sizes.iter().try_fold(0usize, |sum, &s| sum.checked_add(s)) != Some(n) {
            let why = format!("{sizes:?} do not add up to {n}, the size of axis {a}");
            return Err(error::invalid("sizes", why));
        }
        let mut start = 0;
        let range = |&size: &usize| {
            start += size;
            start - size..start
        };
        call.end(window::windows(self, a, &sizes.mapped(range)))
    }

    /// Cuts an axis before each of the given indices, which must not decrease: `tensor_split(&[2, 5], 0)` gives the elements
    /// `..2`, `2..5` and `5..`. Each as [`Tensor::narrow`] gives it.
    ///
    /// # Errors
    /// If the axis is out of range, or the indices fall or go beyond it.
    pub fn tensor_split(&self, indices: impl AsRef<[usize]>, axis: impl Into<Axis>) -> Result<Vec<Tensor>> {
        let (call, indices) = (trace::call("tensor_split", &[self]), indices.as_ref());
        let a = axis.into().of(self.ndim())?;
        let n = self.shape()[a];
        let ends = indices.iter().chain([&n]);
        let starts = [&0].into_iter().chain(indices);
        let range = |(&start, &end): (&usize, &usize)| {
            if start > end || end > n {
                let why = format!("{indices:?} must not fall, nor exceed {n}, the size of axis {a}");
                return Err(error::invalid("indices", why));
            }
            Ok(start..end)
        };
        let ranges = starts.zip(ends).map(range).collect::<Result<Vec<_>>>()?;
        call.end(window::windows(self, a, &ranges))
    }

    /// A tensor for each index of an axis, without that axis. Sparse: views of one another where the axis is the
    /// outermost dense level (matrices of batched CSR); else all are cut from one tensor sorted by that axis, and are
    /// COO.
    ///
    /// ```
    /// use openwork::tensor;
    /// let columns = tensor![[1, 2], [3, 4], [5, 6]].unstack(1)?;
    /// assert_eq!((columns.len(), columns[1].to_vec::<i32>()?), (2, vec![2, 4, 6]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, or memory has no room for a tensor per index.
    #[doc(alias("unbind"))]
    pub fn unstack(&self, axis: impl Into<Axis>) -> Result<Vec<Tensor>> {
        self.unstacked(axis.into())
    }

    fn unstacked(&self, axis: Axis) -> Result<Vec<Tensor>> {
        let call = trace::call("unstack", &[self]);
        let a = axis.of(self.ndim())?;
        let instead = "take the ones that are needed by index_select or narrow";
        memory::room(self.shape(), "a tensor for each index of the axis", &[self.shape()[a]], ONE_OF_MANY, instead)?;
        let mut x = unblocked(self, a)?;
        if let Some(s) = x.sparse() {
            let p = &s.pattern;
            let at_root = p.levels.first().map(|l| l.kind()) == Some(LevelKind::Dense) && p.dims[0].axis == a;
            let of_values = p.value_dims().iter().any(|d| d.axis == a);
            if !at_root && !of_values && x.shape()[a] > 1 {
                let others: Vec<(usize, Part)> = if p.value_dims().iter().all(|d| d.part == Part::Whole) {
                    let mut axes: Vec<usize> = p.level_dims().iter().map(|d| d.axis).filter(|&o| o != a).collect();
                    axes.sort_unstable();
                    axes.into_iter().chain(p.value_dims().iter().map(|d| d.axis)).map(|a| (a, Part::Whole)).collect()
                } else {
                    (0..x.ndim()).filter(|&o| o != a).map(|a| (a, Part::Whole)).collect()
                };
                let rank = if p.value_dims().iter().all(|d| d.part == Part::Whole) {
                    others.len() - p.value_dims().len()
                } else {
                    others.len()
                };
                let dims = [(a, Part::Whole)].into_iter().chain(others).collect();
                let spec = LevelSpec { levels: vec![LevelKind::Dense, LevelKind::Sparse { rank }], dims };
                x = convert::convert(s, &spec)?.into();
            }
        }
        call.end((0..x.shape()[a]).map(|i| x.narrow(i..i + 1, a)?.squeeze(a)).collect())
    }
}

/// A tensor so many times along an axis. Many copies are joined from copies that are joined before, or what each part costs
/// would be most of the time and memory: those take at most a seventh of the result.
fn tiled(x: &Tensor, times: usize, axis: usize) -> Result<Tensor> {
    const STEP: usize = 8;
    let mut longer = vec![(1_usize, x.clone())];
    while let Some((size, last)) = longer.last().filter(|(size, _)| size.saturating_mul(STEP * STEP) <= times) {
        let next = join::concat(&[last; STEP], axis)?;
        longer.push((size * STEP, next));
    }
    let (mut parts, mut left) = (Vec::new(), times);
    for (size, part) in longer.iter().rev() {
        parts.extend(std::iter::repeat_n(part, left / size));
        left %= size;
    }
    join::concat(&parts, axis)
}

/// The same tensor in levels that hold the axis whole.
fn unblocked(x: &Tensor, axis: usize) -> Result<Tensor> {
    match x.sparse() {
        Some(s) if s.pattern.dims.iter().any(|d| d.axis == axis && d.part != Part::Whole) => {
            Ok(Tensor { storage: crate::tensor::Storage::Sparse(Arc::new(along::whole(s, &[axis])?.into_owned())) })
        }
        _ => Ok(x.clone()),
    }
}
