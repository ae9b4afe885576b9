//! Reading: slices, lists, masks.

use std::borrow::Cow;
use std::sync::Arc;

use openwork_ops::structure::merge::Keep;
use openwork_ops::structure::{Index as _, IndexVec};
use openwork_ops::{DType, Element, with_index};

use super::listed::Listed;
use super::pick::{is_few, pick};
use super::{Index, Made, Resolved, Taken};
use crate::base::axes::{Axes, Axis};
use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::mapped::sort_short;
use crate::base::strided::{Strided, count};
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::family::shape::along::{self, Along};
use crate::family::shape::coo_dims;
use crate::levels::coiterate;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::Level;
use crate::levels::pattern::Pattern;
use crate::levels::retain::Kept;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::tensor::{Sparse, Tensor};

/// # Indexing: slices, lists, masks
impl Tensor {
    /// The elements that integers, ranges, [`NewAxis`](Index::NewAxis) and [`Ellipsis`](Index::Ellipsis) name; see
    /// [`s!`](crate::s!). Axes that are not named are taken whole.
    ///
    /// A view where no index must move, as [`Tensor::narrow`]; the layout stays (blocks that are cut are taken apart),
    /// but for integers on sparse axes, which leave coordinates. Absent elements stay absent. Cost: at most O(nse) for each axis
    /// that is cut; a negative step on a sparse axis sorts.
    ///
    /// ```
    /// use openwork::{Layout, s, tensor};
    /// let x = tensor![[1, 0, 2], [0, 0, 3], [4, 5, 0]; Layout::Csr, 0]?;
    /// assert_eq!(x.slice(s![1.., 0..2])?.to_vec::<i32>()?, [0, 0, 4, 5]);
    /// assert_eq!(x.slice(s![-1])?.to_vec::<i32>()?, [4, 5, 0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are more items than axes, an index or range is out of bounds, a step is 0, or an item is a list or
    /// mask.
    #[doc(alias("getitem"))]
    pub fn slice(&self, items: impl AsRef<[Index]>) -> Result<Tensor> {
        let call = trace::call("slice", &[self]);
        let items = items.as_ref();
        if let Some(at) = items.iter().position(|i| matches!(i, Index::List(_) | Index::Mask(_))) {
            let why = format!("item {at} is a list or mask: slice takes integers and ranges, index takes all");
            return Err(error::invalid("indices", why));
        }
        call.end(self.indexed(items))
    }

    /// The elements that integers, ranges, lists and masks name.
    ///
    /// One list chooses along its axis, and the layout stays. Several, and integers beside them, broadcast against each other
    /// and name elements together, as in NumPy: their axes stand where the items did if those are side by side, and come first
    /// otherwise; the result is COO over what was sparse. So two lists or masks choose elements in pairs; a block of rows and
    /// columns takes two calls, `x.index(s![rows])?.index(s![.., columns])?`. Absent elements stay absent. Cost: O(nse + what
    /// is listed), and a sort where the order changes.
    ///
    /// ```
    /// use openwork::{Layout, s, tensor};
    /// let x = tensor![[1, 0, 2], [0, 0, 3], [4, 5, 0]; Layout::Csr, 0]?;
    /// assert_eq!(x.index(s![[2, 0], ..])?.to_vec::<i32>()?, [4, 5, 0, 1, 0, 2]); // two rows
    /// assert_eq!(x.index(s![[2, 0], [1, 2]])?.to_vec::<i32>()?, [5, 2]); // two elements
    /// assert_eq!(x.index(s![tensor![false, true, false], ..])?.shape(), [1, 3]); // a mask
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::slice`] otherwise, or if lists do not broadcast or are not of integers, or a mask has another
    /// shape than its axes.
    pub fn index(&self, items: impl AsRef<[Index]>) -> Result<Tensor> {
        let call = trace::call("index", &[self]);
        call.end(self.indexed(items.as_ref()))
    }

    /// The listed elements of one axis.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(x.index_select(vec![2, 0], 1)?.to_vec::<i32>()?, [3, 1, 6, 4]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, the indices are not a vector of integers, or one is out of bounds.
    pub fn index_select(&self, indices: impl Into<Index>, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("index_select", &[self]);
        let (indices, axis) = (indices.into(), axis.into());
        if let Index::List(list) = &indices
            && list.ndim() != 1
        {
            return Err(error::shape(&[list.shape()], "indices are a vector"));
        }
        call.end(taken(self, indices, &axis.into()))
    }

    /// The listed elements of one axis, or (`..`) of the flattened tensor. A list of several axes leaves these in place of
    /// the one.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(x.take(vec![1, 1], 0)?.to_vec::<i32>()?, [4, 5, 6, 4, 5, 6]);
    /// assert_eq!(x.take(vec![5, 0], ..)?.to_vec::<i32>()?, [6, 1]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, the indices are not integers, or one is out of bounds.
    pub fn take(&self, indices: impl Into<Index>, axis: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("take", &[self]);
        call.end(taken(self, indices.into(), &axis.into()))
    }

    /// Removes the listed elements along one axis.
    ///
    /// ```
    /// use openwork::tensor;
    /// assert_eq!(tensor![[1, 2, 3], [4, 5, 6]].delete(vec![1], 1)?.to_vec::<i32>()?, [1, 3, 4, 6]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, the indices are not integers, or one is out of bounds.
    pub fn delete(&self, indices: impl Into<Index>, axis: impl Into<Axis>) -> Result<Tensor> {
        self.deleted(indices.into(), axis.into())
    }

    fn deleted(&self, indices: Index, axis: Axis) -> Result<Tensor> {
        let call = trace::call("delete", &[self]);
        let axis = axis.of(self.ndim())?;
        let resolved = Resolved::new(&self.shape()[axis..=axis], &[indices])?;
        let mut gone = match resolved.taken.into_iter().next() {
            Some(Taken::At(at)) => vec![at as u64],
            Some(Taken::List(list)) => list.to_vec(),
            Some(Taken::Step { start, step, len }) => {
                along::fits(self.shape(), Some(len))?;
                (0..len as isize).map(|i| start.wrapping_add_signed(step * i) as u64).collect()
            }
            None => Vec::new(),
        };
        gone.sort_unstable();
        gone.dedup();
        let choice = Along::Without { gone: &gone, len: self.shape()[axis] - gone.len() };
        let out = along::along(self, axis, &choice)?;
        Ok(call.done(out))
    }

    fn indexed(&self, items: &[Index]) -> Result<Tensor> {
        if let (Some(x), [Index::Mask(mask)]) = (self.strided(), items)
            && let Some(mask) = mask.strided()
            && let Some(out) = masked(x, mask)?
        {
            return Ok(out);
        }
        if let (Some(x), [Index::Mask(mask)]) = (self.sparse(), items)
            && let Some(mask) = mask.sparse()
            && let Some(out) = marked(x, mask)?
        {
            return Ok(out.into());
        }
        if let (Some(x), [Index::List(list)]) = (self.strided(), items)
            && let Some(listed) = Listed::new(x, list)
            && let Some(out) = listed.read()?
        {
            return Ok(Tensor::from_strided(out));
        }
        let resolved = Resolved::new(self.shape(), items)?;
        let out = read(self, &resolved)?;
        debug_assert_eq!(out.shape(), resolved.shape());
        Ok(out)
    }
}

/// The rows of an array that a mask over its first axes names. `None` where shapes do not fit, which is said elsewhere, and
/// where the array repeats elements, which need not be copied.
fn masked(x: &Strided, mask: &Strided) -> Result<Option<Tensor>> {
    let repeats = x.strides.iter().zip(&*x.shape).any(|(&stride, &n)| stride == 0 && n > 1);
    if mask.ndim() == 0 || !x.shape.starts_with(&mask.shape) || mask.len() == 0 || repeats {
        return Ok(None);
    }
    raise(Work::Specialised);
    let bytes = mask.dense_bytes()?;
    let kept = Kept::new(bool::from_bytes(&bytes));
    let rest = &x.shape[mask.ndim()..];
    let (shape, row) = ([&[kept.len()], rest].concat(), count(rest) * x.dtype.size());
    let source = x.dense_bytes()?;
    let buffer = Buffer::filled(kept.len() * row, x.dtype.size(), |out| kept.copy(&source, row, out))?;
    Ok(Some(Tensor::from_strided(Strided::new(buffer, x.dtype, shape))))
}

/// The elements that a mask marks that stores what it marks, in C order, as a vector: what is stored of them, over the same fill. `None`
/// of rows of values, where a fill varies, and where a shape does not fit, which is said elsewhere.
fn marked(x: &Sparse, mask: &Sparse) -> Result<Option<Sparse>> {
    let is_false_elsewhere = match &mask.fill {
        Fill::Undefined => true,
        Fill::Scalar(fill) => fill.is_zero(),
        Fill::Array(_) => false,
    };
    let is_plain = |s: &Sparse| s.pattern.value_dims().is_empty() && s.pattern.is_unique();
    let fits = !x.shape.is_empty() && mask.dtype() == DType::Bool && x.shape == mask.shape;
    if !fits || !is_false_elsewhere || !is_plain(x) || !is_plain(mask) || matches!(x.fill, Fill::Array(_)) {
        return Ok(None);
    }
    let p = &x.pattern;
    let bytes = mask.values.dense_bytes()?;
    let marks = bool::from_bytes(&bytes);
    if p.is_same(&mask.pattern) || p.has_equal_arrays(&mask.pattern) {
        // As comparisons with a number give it: all are stored.
        raise(Work::Specialised);
        if p.is_in_c_order() {
            let kept = Kept::new(marks);
            let (n, size) = (kept.len(), x.dtype().size());
            let source = x.values.dense_bytes()?;
            let buffer = Buffer::filled(n * size, size, |out| kept.copy(&source, size, out))?;
            return vector(None, n, Strided::new(buffer, x.dtype(), &[n][..]), &x.fill).map(Some);
        }
        if p.is_canonical() {
            let chosen = convert::retain_rows(x, marks)?;
            let chosen = in_c_order(&chosen)?;
            return vector(None, chosen.pattern.positions, chosen.values.clone(), &x.fill).map(Some);
        }
    }
    let mask = in_c_order(mask)?;
    let bytes = mask.values.dense_bytes()?;
    let mask = convert::retain_rows(&mask, bool::from_bytes(&bytes))?;
    let x = in_c_order(x)?;
    let merged = coiterate::merge(&mask.pattern, &x.pattern, Keep { left: true, right: false });
    let stored: (Vec<u64>, Vec<u64>) = with_index!(merged.right.as_slice(), right => {
        let found = (0u64..).zip(right).filter(|(_, p)| !p.is_none());
        found.map(|(i, p)| (i, p.get() as u64)).unzip()
    });
    let (places, from) = stored;
    let values = convert::gather_values(&x.values, &IndexVec::U64(from))?;
    vector(Some(places), mask.pattern.positions, values, &x.fill).map(Some)
}

/// By coordinates in C order: those of permuted axes are in another.
fn in_c_order(s: &Sparse) -> Result<Cow<'_, Sparse>> {
    if s.pattern.is_in_c_order() {
        return convert::to_named(s, Layout::Coo);
    }
    convert::convert(s, &LevelSpec::of_layout(Layout::Coo, &s.shape)?).map(Cow::Owned)
}

/// A vector of `n` elements that stores some at these places, or all.
fn vector(places: Option<Vec<u64>>, n: usize, values: Strided, fill: &Fill) -> Result<Sparse> {
    let places = places.unwrap_or_else(|| (0..n as u64).collect());
    let positions = places.len();
    let indices = Indices::of_width(places, needs_64_bits(positions, [n]));
    let level = Level::Sparse { pointers: None, indices: vec![indices], ordered: true, unique: true };
    let pattern = Pattern { levels: vec![level], dims: coo_dims(&[n]), level_dims: 1, positions };
    Ok(Sparse { shape: (&[n][..]).into(), pattern: Arc::new(pattern), values, fill: fill.clone() })
}

fn taken(x: &Tensor, indices: Index, axis: &Axes) -> Result<Tensor> {
    if !matches!(indices, Index::List(_)) {
        return Err(error::invalid("indices", "a list of integers is needed; index takes all else"));
    }
    let Some(axis) = axis.unkept()?.one_or_all(x.ndim())? else {
        return taken(&x.flatten()?, indices, &Axes::from(0));
    };
    let mut items = vec![Index::from(..); axis];
    items.push(indices);
    x.indexed(&items)
}

/// The axes of a tensor as it stores them: a window of the outermost one is a view, or a few coordinates, and leaves little to search.
fn outermost_first(x: &Tensor) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..x.ndim()).collect();
    if let Some(s) = x.sparse() {
        sort_short(&mut axes, |axis| s.pattern.dims.iter().position(|d| d.axis == *axis));
    }
    axes
}

/// What an index chooses.
pub(super) fn read(x: &Tensor, resolved: &Resolved) -> Result<Tensor> {
    let mut out = x.clone();
    for axis in outermost_first(x) {
        match resolved.taken[axis] {
            Taken::At(at) => out = out.narrow(at..at + 1, axis)?,
            Taken::Step { start, step: 1, len } => out = out.narrow(start..start + len, axis)?,
            Taken::Step { start, step, len } => out = along::along(&out, axis, &Along::Step { start, step, len })?,
            Taken::List(_) => {}
        }
    }
    let mut axes = resolved.listed();
    let lists: Vec<&[u64]> =
        resolved.taken.iter().filter_map(|t| if let Taken::List(l) = t { Some(&l[..]) } else { None }).collect();
    // How many axes of the tensor stand before the lists' in the result.
    let at = resolved.made.iter().take_while(|m| **m != Made::Lists).filter(|m| matches!(m, Made::Axis(_))).count();
    match (&axes[..], &lists[..]) {
        ([], _) => {}
        (&[axis], [list]) if axis == at && !is_few(&out, axis, list.len()) => {
            out = along::along(&out, axis, &Along::List(list))?;
        }
        _ => {
            out = pick(&out, &axes, &lists, at)?;
            axes = vec![at];
        }
    }
    let gone: Vec<usize> =
        resolved.taken.iter().enumerate().filter(|(_, t)| matches!(t, Taken::At(_))).map(|(a, _)| a).collect();
    if !gone.is_empty() {
        out = out.squeeze(&gone)?;
    }
    // The lists' axis in the shape of the lists, and new axes.
    if let Some(shape) = resolved.lists.as_ref().filter(|shape| shape.len() != 1) {
        let at = if axes.len() == 1 { at } else { 0 };
        let mut all = out.shape().to_vec();
        all.splice(at..at + 1, shape.iter().copied());
        out = out.reshape(&all)?;
    }
    let mut axis = 0;
    for made in &resolved.made {
        match made {
            Made::New => out = out.expand_dims(axis)?,
            Made::Lists => axis += resolved.lists.as_ref().map_or(0, Vec::len),
            Made::Axis(_) => {}
        }
        axis += usize::from(*made != Made::Lists);
    }
    Ok(out)
}
