//! Reductions by order: where the least element is, and which one is in the middle.
//!
//! All of them look at a slice as ranks among its stored elements, its fill as often as it is unstored, and, where the
//! fill varies, the fill sorted once less what is stored over. Nothing becomes dense.

use std::ops::Range;

use openwork_ops::reduce::Extreme;
use openwork_ops::{DType, Scalar, order};

use super::foremost;
use super::outermost::in_columns;
use super::short;
use crate::base::axes::Axes;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::{Chosen, Mapped};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, zeros};
use crate::engine::fold::Fold;
use crate::engine::slices::{Ranked, Rest, Selected, Slice, Slices, Sorted, number_of, ordered, reduced, values_of};
use crate::engine::value_rows::{along_values, with_shorter_rows};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

/// What a quantile is that falls between two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Interpolation {
    /// On the line between them.
    #[default]
    Linear,
    /// The lower.
    Lower,
    /// The higher.
    Higher,
    /// The nearer; of two as near, the one at the even place.
    Nearest,
    /// Half way.
    Midpoint,
}

/// # Reducing: extremes, medians, quantiles
impl Tensor {
    /// Where the least element is along one axis, or (`..`) in C order among all: `int64`.
    ///
    /// The first of several, stored or not; the first NaN, if there is one. With an undefined fill, the first least stored
    /// element; absent where there is none.
    ///
    /// The result has one element per slice, in the layout of [`Tensor::reduce`]. Cost: O(nse), plus
    /// a sort where storage order is not that of the slices, and sorting the fill once where it varies along the axis.
    ///
    /// # Errors
    /// If the axis is out of range, the dtype is complex, the slices have no elements, or an index does not fit `int64`.
    pub fn argmin(&self, axis: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("argmin", &[self]);
        call.end(extreme(self, &axis.into(), false))
    }

    /// Where the greatest element is along one axis, or (`..`) in C order among all: as [`Tensor::argmin`].
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 5.0], [-1.0, 0.0, -2.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.argmax(1)?.to_vec::<i64>()?, [2, 1]); // row 1: the unstored 0 is the greatest
    /// assert_eq!(x.argmax(..)?.item_as::<i64>()?, 2);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::argmin`].
    pub fn argmax(&self, axis: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("argmax", &[self]);
        call.end(extreme(self, &axis.into(), true))
    }

    /// The least and the greatest element: [`Tensor::min`] and [`Tensor::max`].
    ///
    /// # Errors
    /// As [`Tensor::min`].
    pub fn aminmax(&self, axes: impl Into<Axes>) -> Result<(Tensor, Tensor)> {
        let axes = &axes.into();
        let call = trace::call("aminmax", &[self]);
        Ok(call.done((self.min(axes)?, self.max(axes)?)))
    }

    /// The middle element over some axes, or the lower of the two middle ones, as in PyTorch
    /// ([`Tensor::quantile`] of 0.5 is the mean of both); NaN if there is one. The dtype stays.
    ///
    /// Absent elements do not count; absent where there are no others. Fill and cost as [`Tensor::argmin`].
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[1.0, 0.0, 5.0], [4.0, 6.0, 0.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.median(1)?.to_vec::<f64>()?, [1.0, 4.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or given twice, the dtype is complex, or the slices have no elements.
    pub fn median(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("median", &[self]);
        call.end(median(self, &axes.into(), false))
    }

    /// The median of the elements that are not NaN; NaN where there are no others.
    ///
    /// # Errors
    /// As [`Tensor::median`].
    pub fn nanmedian(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("nanmedian", &[self]);
        call.end(median(self, &axes.into(), true))
    }

    /// The element below which lies a share `q` of the others over some axes: at place `q · (n − 1)` of `n`
    /// elements in order, on the line between two where the place is between them; NaN if there is one. Integers and
    /// bool give floats: see [dtypes](crate::guide::dtypes).
    ///
    /// Absent elements do not count; absent where there are no others. Fill and cost as [`Tensor::argmin`].
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![3.0, 1.0, 2.0, 10.0];
    /// assert_eq!(x.quantile(0.5, ..)?.item()?, 2.5.into());
    /// assert_eq!(x.quantile(1.0, ..)?.item()?, 10.0.into());
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `q` is not in 0..=1, an axis is out of range or given twice, the dtype is complex, or the slices have no
    /// elements.
    #[doc(alias("percentile"))]
    pub fn quantile(&self, q: f64, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("quantile", &[self]);
        call.end(quantile(self, q, Interpolation::Linear, &axes.into(), false))
    }

    /// As [`Tensor::quantile`], with another rule for a place between two elements.
    ///
    /// # Errors
    /// As [`Tensor::quantile`].
    pub fn quantile_with(&self, q: f64, interpolation: Interpolation, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("quantile_with", &[self]);
        call.end(quantile(self, q, interpolation, &axes.into(), false))
    }

    /// The quantile of the elements that are not NaN; NaN where there are no others.
    ///
    /// # Errors
    /// As [`Tensor::quantile`].
    pub fn nanquantile(&self, q: f64, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("nanquantile", &[self]);
        call.end(quantile(self, q, Interpolation::Linear, &axes.into(), true))
    }

    /// As [`Tensor::nanquantile`], with another rule for a place between two elements.
    ///
    /// # Errors
    /// As [`Tensor::quantile`].
    pub fn nanquantile_with(&self, q: f64, interpolation: Interpolation, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("nanquantile_with", &[self]);
        call.end(quantile(self, q, interpolation, &axes.into(), true))
    }

    /// The most frequent element over some axes; the least of several equally frequent ones. NaN is one element,
    /// greater than any number; so is 0, of either sign.
    ///
    /// Absent elements do not count; absent where there are no others. Fill and cost as [`Tensor::argmin`].
    ///
    /// # Errors
    /// As [`Tensor::median`].
    pub fn mode(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("mode", &[self]);
        let (axes, most) = (&axes.into(), |slice: &Slice<'_>, _: &[u8], _| most_frequent(slice));
        let in_rows = in_rows(self, axes, &|x, axes| by_key(x, axes, true, &most))?;
        call.end(in_rows.map_or_else(|| by_key(self, axes, true, &most), Ok))
    }
}

/// The slices of a tensor, if they have at least one element each.
fn slices_of(x: &Tensor, mut slices: Slices) -> Result<Slices> {
    let results = !slices.kept_shape().contains(&0);
    if slices.length == 0 && results && !slices.is_undefined() {
        return Err(error::shape(&[x.shape()], "of no elements is undefined: an axis has size 0"));
    }
    slices.forget_order();
    Ok(slices)
}

/// Whether there is NaN among the elements.
fn has_nan(sorted: &Sorted<'_>, dtype: DType) -> bool {
    order::has_nan(dtype) && sorted.rank(order::NAN - 1) < sorted.present()
}

/// The least or the greatest element; NaN if there is one.
fn outermost(slice: &Slice<'_>, greatest: bool, dtype: DType) -> u64 {
    // One more than each key makes NaN the least.
    let shift = u64::from(order::has_nan(dtype) && !greatest);
    let fill = match slice.rest {
        Rest::Varying(of_fill) => match slice.outermost_unstored(of_fill, true) {
            // NaN, which is the greatest key.
            Some(key) if greatest || (shift == 1 && key == order::NAN) => Some(key),
            _ => slice.outermost_unstored(of_fill, greatest),
        },
        Rest::Constant { key } if slice.unstored() > 0 => Some(key),
        _ => None,
    };
    let keys = slice.keys.iter().copied().chain(fill).map(|k| k.wrapping_add(shift));
    let best = if greatest { keys.max() } else { keys.min() };
    best.unwrap_or_default().wrapping_sub(shift)
}

/// Which end of the order is looked for.
#[derive(Clone, Copy)]
pub(super) struct Outward {
    pub(super) dtype: DType,
    pub(super) greatest: bool,
}

impl Outward {
    /// How far out a key is, NaN furthest.
    pub(super) fn rank(self, key: u64) -> u64 {
        let shift = u64::from(order::has_nan(self.dtype) && !self.greatest);
        let flip = if self.greatest { 0 } else { u64::MAX };
        key.wrapping_add(shift) ^ flip
    }
}

/// The first of the elements that are furthest out, and its key.
pub(super) fn first_stored(elements: &[u8], outward: Outward) -> Option<(usize, u64)> {
    let Outward { dtype, greatest } = outward;
    let size = dtype.size();
    let among = |range: Range<usize>| {
        let found = openwork_ops::outermost::first(dtype, &elements[range.start * size..range.end * size], greatest);
        found.map(|(at, key)| (range.start + at, key))
    };
    let better = |a: (usize, u64), b: (usize, u64)| if outward.rank(b.1) > outward.rank(a.1) { b } else { a };
    let n = elements.len() / size;
    match n {
        0..=GRAIN => among(0..n),
        _ => parallel::map_chunks(n, GRAIN, &among).into_iter().flatten().reduce(better),
    }
}

/// Where the least or the greatest element comes first, in a slice with at most one value of the fill.
fn first_outermost(slice: &Slice<'_>, elements: &[u8], greatest: bool, dtype: DType) -> Option<u128> {
    let outward = Outward { dtype, greatest };
    let rank = |key: u64| outward.rank(key);
    let stored = first_stored(elements, outward);
    let unstored = match slice.rest {
        Rest::Constant { .. } if faults::is(Fault::OutermostStored) => None,
        Rest::Constant { key } if slice.unstored() > 0 => Some(key),
        _ => None,
    };
    match (stored, unstored) {
        (Some((at, key)), Some(fill)) if key == fill => Some(slice.position(at).min(slice.gap(0))),
        (Some((at, key)), Some(fill)) if rank(key) > rank(fill) => Some(slice.position(at)),
        (Some((at, _)), None) => Some(slice.position(at)),
        (_, Some(_)) => Some(slice.gap(0)),
        (None, None) => None,
    }
}

fn extreme(x: &Tensor, axis: &Axes, greatest: bool) -> Result<Tensor> {
    let axes = match axis.one_or_all(x.ndim())? {
        Some(axis) => vec![axis],
        None => (0..x.ndim()).collect(),
    };
    if let [along] = axes[..]
        && let Some(out) = in_columns(x, along, greatest)?
    {
        return if axis.keeps() { out.expand_dims(along) } else { Ok(out) };
    }
    if let Some(alone) = of_one_each(x, &axes)? {
        return with_axes(zeros(alone.shape())?, axis, &axes);
    }
    let int64 = |at: u128| {
        i64::try_from(at).map_err(|_| {
            error::invalid("self", format_args!("the index {at} does not fit int64: name an axis, or reshape"))
        })
    };
    if axes.len() == x.ndim()
        && let Some(at) = foremost::place(x, greatest)?
    {
        let found = Strided::from_vec(vec![int64(at.into())?], vec![1]);
        let empty = Strided::constant(Scalar::I64(0), &[]);
        let slices = Slices::in_any_order(x, &axes)?;
        return slices.folded(found, slices.fill().is_some().then_some(empty), axis.keeps());
    }
    let slices = slices_of(x, Slices::with_positions(x, &axes)?)?;
    let (found, empty) = Ranked::fold_by(&slices, false, &|slice, elements| {
        let at = match slice.rest {
            Rest::Varying(_) => slice.first(outermost(slice, greatest, x.dtype())),
            _ => first_outermost(slice, elements, greatest, x.dtype()),
        };
        int64(at.unwrap_or_default())
    })?;
    let n = found.len();
    slices.folded(Strided::from_vec(found, vec![n]), empty, axis.keeps())
}

/// One element of each slice, given by its key. There are keys of the slice's elements, or those alone.
fn by_key(
    x: &Tensor,
    axes: &Axes,
    keyed: bool,
    f: &(dyn Fn(&Slice<'_>, &[u8], DType) -> u64 + Sync),
) -> Result<Tensor> {
    let slices = slices_of(x, Slices::in_any_order(x, &axes.of(x.ndim())?)?)?;
    let dtype = x.dtype();
    let (found, empty) = Ranked::fold_by(&slices, keyed, &|slice, elements| Ok(f(slice, elements, dtype)))?;
    let n = found.len();
    let values = values_of(dtype, &Strided::from_vec(found, vec![n]));
    slices.folded(values, empty.map(|e| values_of(dtype, &e)), axes.keeps())
}

/// The elements of a slice by their places in order: a few are selected; where the fill varies, all are sorted.
pub(super) enum Places<'a> {
    Selected(Selected<'a>),
    Sorted(Sorted<'a>),
    /// The keys of all, in order.
    All(&'a [u64]),
    /// The keys of the first `stored`, in order: before so many of them stand `unstored` elements with the key of the fill.
    Few {
        keys: [u64; FEW],
        stored: usize,
        before: usize,
        unstored: u128,
        fill: u64,
    },
}

/// Stored elements of a slice that are put in order at once: to select among them takes longer.
const FEW: usize = 16;

impl<'a> Places<'a> {
    /// Of a slice that stores these elements; those near the share `near` of all may be asked for at little cost.
    fn of(slice: &Slice<'a>, elements: &'a [u8], dtype: DType, near: f64) -> Places<'a> {
        if let Some(few) = Places::few(slice, elements, dtype) {
            return few;
        }
        let selected = Selected::of(slice, elements, dtype, near);
        selected.map_or_else(|| Places::Sorted(slice.sorted()), Places::Selected)
    }

    fn few(slice: &Slice<'a>, elements: &[u8], dtype: DType) -> Option<Places<'a>> {
        let stored = elements.len() / dtype.size();
        let fill = match slice.rest {
            _ if stored > FEW => return None,
            Rest::Varying(_) => return None,
            Rest::None => u64::MAX,
            Rest::Constant { key } => key,
        };
        let mut keys = [0; FEW];
        order::keys(dtype, elements, &mut keys[..stored]);
        keys[..stored].sort_unstable();
        let before = keys[..stored].partition_point(|&key| key < fill);
        Some(Places::Few { keys, stored, before, unstored: slice.unstored(), fill })
    }

    /// How many elements count: all; or those that are not NaN; none at all if one is NaN.
    fn counted(&self, dtype: DType, skip_nan: bool) -> u128 {
        let (present, nans) = match self {
            Places::Selected(s) => s.present(),
            Places::Sorted(s) => {
                (s.present(), if has_nan(s, dtype) { s.present() - s.rank(order::NAN - 1) } else { 0 })
            }
            Places::All(keys) => {
                let is_nan = |&&key: &&u64| order::has_nan(dtype) && key == order::NAN;
                (keys.len() as u128, keys.iter().rev().take_while(is_nan).count() as u128)
            }
            Places::Few { keys, stored, unstored, fill, .. } => {
                let is_nan = |key: &u64| order::has_nan(dtype) && *key == order::NAN;
                let nans = keys[..*stored].iter().filter(|key| is_nan(key)).count() as u128;
                (*stored as u128 + unstored, nans + if is_nan(fill) { *unstored } else { 0 })
            }
        };
        if nans > 0 && !skip_nan { 0 } else { present - nans }
    }

    fn select(&mut self, k: u128) -> u64 {
        match self {
            Places::Selected(s) => s.select(k),
            Places::Sorted(s) => s.select(k),
            Places::All(keys) => keys[k as usize],
            &mut Places::Few { keys, before, unstored, fill, .. } => match k.checked_sub(before as u128) {
                None => keys[k as usize],
                Some(at) if at < unstored => fill,
                Some(at) => keys[before + (at - unstored) as usize],
            },
        }
    }
}

/// The elements of a strided tensor whose slices over these axes have one each: it is the first of them, and in the middle.
fn of_one_each(x: &Tensor, axes: &[usize]) -> Result<Option<Tensor>> {
    if !x.strided().is_some_and(|s| s.len() > 0 && axes.iter().all(|&axis| s.shape[axis] == 1)) {
        return Ok(None);
    }
    ordered(x.dtype())?;
    x.squeeze(axes).map(Some)
}

/// What was found over some axes of a strided tensor, with these where they are kept.
fn with_axes(found: Strided, axes: &Axes, of: &[usize]) -> Result<Tensor> {
    let found = Tensor::from_strided(found);
    if axes.keeps() { found.expand_dims(of) } else { Ok(found) }
}

/// What `f` gives of rows of values along an axis that they hold, where the fill is one element along it. `None` of any other tensor.
fn in_rows(x: &Tensor, axes: &Axes, f: &dyn Fn(&Tensor, &Axes) -> Result<Tensor>) -> Result<Option<Tensor>> {
    let of = axes.of(x.ndim())?;
    let [axis] = of[..] else { return Ok(None) };
    let Some((s, place)) = along_values(x, axis)?.filter(|(s, _)| s.values.len() > 0) else { return Ok(None) };
    let fill = match s.fill_values().map(|fill| fill.unbroadcast()) {
        None => Fill::Undefined,
        Some(core) if core.shape[axis] > 1 => return Ok(None),
        Some(core) => {
            let found = f(&Tensor::from_strided(core), &Axes::from(axis))?;
            let shape: Vec<usize> = (0..x.ndim()).chosen(|&a| a != axis).mapped(|&a| x.shape()[a]);
            found.strided().map_or(Fill::Undefined, |found| fill_of(&found.broadcast(&shape)))
        }
    };
    let rows = f(&Tensor::from_strided(s.values.clone()), &Axes::from(place))?;
    let Some(values) = rows.strided() else { return Ok(None) };
    let out = reduced(with_shorter_rows(&s, &of, values.clone(), fill), s.nse())?;
    if axes.keeps() { out.expand_dims(&of).map(Some) } else { Ok(Some(out)) }
}

fn median(x: &Tensor, axes: &Axes, skip_nan: bool) -> Result<Tensor> {
    if let Some(out) = in_rows(x, axes, &|x, axes| median(x, axes, skip_nan))? {
        return Ok(out);
    }
    let (dtype, of) = (x.dtype(), axes.of(x.ndim())?);
    if let Some(alone) = of_one_each(x, &of)? {
        return if axes.keeps() { Ok(x.clone()) } else { Ok(alone) };
    }
    let middle = |places: &mut Places<'_>| match places.counted(dtype, skip_nan) {
        0 => order::NAN,
        n => places.select((n - 1) / 2),
    };
    if let Some(found) = short::in_order(x, &of, &middle)? {
        return with_axes(values_of(dtype, &found), axes, &of);
    }
    by_key(x, axes, false, &|slice, elements, dtype| middle(&mut Places::of(slice, elements, dtype, 0.5)))
}

fn quantile(x: &Tensor, q: f64, interpolation: Interpolation, axes: &Axes, skip_nan: bool) -> Result<Tensor> {
    if !(0.0..=1.0).contains(&q) {
        return Err(error::invalid("q", format_args!("{q} is given, allowed is 0 to 1")));
    }
    if let Some(out) = in_rows(x, axes, &|x, axes| quantile(x, q, interpolation, axes, skip_nan))? {
        return Ok(out);
    }
    let (dtype, out, of) = (x.dtype(), x.dtype().to_inexact(), axes.of(x.ndim())?);
    if let Some(alone) = of_one_each(x, &of)? {
        return if axes.keeps() { x.cast(out) } else { alone.cast(out) };
    }
    let quantile = |places: &mut Places<'_>| match places.counted(dtype, skip_nan) {
        0 => f64::NAN,
        n => interpolated(places, n, q, interpolation, dtype),
    };
    if let Some(found) = short::in_order(x, &of, &quantile)? {
        return with_axes(found.cast(out), axes, &of);
    }
    let slices = slices_of(x, Slices::in_any_order(x, &of)?)?;
    let (found, empty) =
        Ranked::fold_by(&slices, false, &|slice, elements| Ok(quantile(&mut Places::of(slice, elements, dtype, q))))?;
    let n = found.len();
    let values = Strided::from_vec(found, vec![n]).cast(out);
    slices.folded(values, empty.map(|e| e.cast(out)), axes.keeps())
}

fn interpolated(places: &mut Places<'_>, n: u128, q: f64, interpolation: Interpolation, dtype: DType) -> f64 {
    let place = q * (n - 1) as f64;
    let (below, share) = (place.floor(), place - place.floor());
    let mut at = |k: u128| number_of(dtype, places.select(k.min(n - 1)));
    let k = below as u128;
    let share = match interpolation {
        _ if share == 0.0 => return at(k),
        Interpolation::Lower => return at(k),
        Interpolation::Higher => return at(k + 1),
        Interpolation::Nearest => return at(place.round_ties_even() as u128),
        Interpolation::Midpoint => 0.5,
        Interpolation::Linear => share,
    };
    let (low, high) = (at(k), at(k + 1));
    // Neither infinity less itself, nor the difference of numbers at both ends of the range.
    if low == high { low } else { low * (1.0 - share) + high * share }
}

/// How often a key occurs, then which is the least: more is better.
fn most_frequent(slice: &Slice<'_>) -> u64 {
    let sorted = slice.sorted();
    let count = |key: u64| sorted.rank(key) - key.checked_sub(1).map_or(0, |below| sorted.rank(below));
    let mut best = (0, 0);
    let mut consider = |key: u64| {
        let n = count(key);
        if n > best.0 || (n == best.0 && key < best.1) {
            best = (n, key);
        }
    };
    sorted.stored.chunk_by(|a, b| a == b).for_each(|run| consider(run[0]));
    match slice.rest {
        Rest::None => {}
        Rest::Constant { key } => consider(key),
        Rest::Varying(order) => order.sorted.chunk_by(|a, b| a.0 == b.0).for_each(|run| consider(run[0].0)),
    }
    best.1
}

/// A minimum, a maximum, `any` or `all` over axes along which the fill varies.
pub(super) fn varying(fold: &Fold, s: &Sparse, axes: &[usize]) -> Result<Option<Tensor>> {
    let Some(extreme) = fold.op.extreme() else { return Ok(None) };
    let x = Tensor::from(s.clone()).cast(fold.typing.acc)?;
    let slices = Slices::in_any_order(&x, axes)?;
    let (found, empty) =
        Ranked::fold(&slices, &|slice: &Slice<'_>| Ok(outermost(slice, extreme == Extreme::Greatest, x.dtype())))?;
    let n = found.len();
    let values = values_of(x.dtype(), &Strided::from_vec(found, vec![n]));
    slices.folded(values, empty.map(|e| values_of(x.dtype(), &e)), false).map(Some)
}
