//! Assigning to a window: what is stored in it goes, what is stored of the value comes.

use std::borrow::Cow;
use std::sync::Arc;

use super::put::{Given, spread, undefined, value_of};
use super::{Index, Made, Resolved, Taken};
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::mapped::{Chosen, Mapped};
use crate::engine::convert;
use crate::family::pointwise::Operand;
use crate::family::shape::along::{self, Along, unblocked};
use crate::family::shape::join::{self, Piece};
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::pattern::{Part, Pattern};
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Assigning: ranges
impl Tensor {
    /// A copy with other elements at what integers and ranges name; see [`Tensor::slice`].
    ///
    /// The value, a tensor or a number, broadcasts to the shape that `slice` gives, and takes this tensor's dtype, which
    /// has to hold it. The layout stays (blocks and value axes that are cut are taken apart). Where the value's fill is this
    /// tensor's, only what is stored costs: O(nse of both); a strided value is stored where it differs from the
    /// fill. Elements that broadcasting repeats, or that another fill stands for, are stored within the densify
    /// budget. Absent elements of the value make absent ones.
    ///
    /// ```
    /// use openwork::{Layout, s, tensor};
    /// let x = tensor![[1, 0, 2], [0, 0, 3]; Layout::Csr, 0]?;
    /// let y = x.slice_assign(s![.., 1..], &tensor![[7, 0]])?;
    /// assert_eq!((y.nse(), y.to_vec::<i32>()?), (3, vec![1, 7, 0, 0, 7, 0]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::slice`], or if the value does not broadcast or fit, the densify budget is exceeded, or absent
    /// elements are assigned where the fill is defined or all is stored.
    pub fn slice_assign<'a>(&self, items: impl AsRef<[Index]>, value: impl Into<Operand<'a>>) -> Result<Tensor> {
        let call = trace::call("slice_assign", &[self]);
        let resolved = Resolved::new(self.shape(), items.as_ref())?;
        if resolved.lists.is_some() {
            let why = "a list or mask: slice_assign takes integers and ranges, index_put takes all";
            return Err(error::invalid("indices", why));
        }
        let value = value_of(self, value.into())?;
        call.end(assign(self, &resolved, &value))
    }
}

impl Resolved {
    /// The axes of which only a part is named. There are no lists.
    pub(super) fn cut(&self, shape: &[usize]) -> Vec<usize> {
        let whole = |a: usize| matches!(self.taken[a], Taken::Step { start: 0, step: 1, len } if len == shape[a]);
        (0..shape.len()).chosen(|&a| !whole(a))
    }

    /// Start, step and length along an axis.
    fn along(&self, axis: usize) -> (usize, isize, usize) {
        match self.taken[axis] {
            Taken::At(at) => (at, 1, 1),
            Taken::Step { start, step, len } => (start, step, len),
            Taken::List(_) => (0, 1, 0), // there are none
        }
    }
}

/// The index has no lists; the value has the tensor's dtype.
pub(super) fn assign(x: &Tensor, resolved: &Resolved, value: &Tensor) -> Result<Tensor> {
    let s = match &x.storage {
        Storage::Strided(s) => return super::strided::put(s, resolved, value, None),
        Storage::Sparse(s) => s,
    };
    if resolved.taken.iter().all(|t| matches!(t, Taken::At(_) | Taken::Step { len: 1, .. })) {
        return super::boxes::put(s, resolved, value, None).map(Into::into);
    }
    let window = resolved.window();
    let given = value.size();
    // In the shape of the window: without new axes, with those that integers dropped.
    let mut value = spread(value, &resolved.shape())?;
    let new: Vec<usize> = resolved.made.iter().enumerate().filter(|(_, m)| **m == Made::New).map(|(i, _)| i).collect();
    value = if new.is_empty() { value } else { value.squeeze(&new)? };
    for axis in (0..resolved.taken.len()).filter(|&a| matches!(resolved.taken[a], Taken::At(_))) {
        value = value.expand_dims(axis)?;
    }
    debug_assert_eq!(value.shape(), window);
    let x_undefined = undefined(x);
    if undefined(&value) && !x_undefined {
        if value.coalesce()?.nse() as u128 != value.size() {
            let why = "absent elements are assigned, but only a tensor with undefined fill has absent elements";
            return Err(error::absent(why));
        }
        value = value.replace_fill(openwork_ops::Scalar::zero(x.dtype()))?; // all is stored: nobody sees it
    }
    into_sparse(s, resolved, value, given).map(Into::into)
}

fn into_sparse(s: &Sparse, resolved: &Resolved, value: Tensor, given: u128) -> Result<Sparse> {
    let window = resolved.window();
    let cut = resolved.cut(&s.shape);
    let fill = along::map_fill(s, &window, |values| {
        (0..window.len()).try_fold(values.clone(), |v, axis| {
            let (start, step, len) = resolved.along(axis);
            along::strided(&v, axis, &Along::Step { start, step, len })
        })
    })?;
    let value = repeated(value, &fill, given)?;
    let mut spec = if s.pattern.dims.iter().any(|d| cut.contains(&d.axis)) { unblocked(s)? } else { s.pattern.spec() };
    let of_values = &spec.dims[spec.level_dims()..];
    // Rows of value axes can neither be cut nor hold absent elements.
    let partial = s.fill.is_undefined() && value.sparse().is_some() && !of_values.is_empty();
    if partial || of_values.iter().any(|d| cut.contains(&d.0)) {
        spec = LevelSpec::of_layout(Layout::Coo, &s.shape)?;
    }
    spec = spec.freed();
    let own = super::erase::without(&convert::convert(s, &spec)?, resolved)?;
    let value = join::refilled(&value, fill, &spec)?;
    if value.pattern.positions == 0 {
        return Ok(own);
    }
    let n = s.ndim();
    if is_laid(&own, &value) {
        let columns: Vec<Vec<u64>> = (0..n).mapped(|axis| {
            let (start, step, _) = resolved.along(axis);
            let mut column = value.pattern.axis_coordinates(axis, n);
            column.iter_mut().for_each(|c| *c = start.wrapping_add_signed(step * *c as isize) as u64);
            column
        });
        let values = value.values.reshape(&[value.pattern.positions])?;
        return super::points::laid(&own, &columns, &Given { values: Some(values), absent: Vec::new(), fold: None });
    }
    let (starts, steps) = (0..n).map(|a| resolved.along(a)).map(|(start, step, _)| (start, step)).unzip();
    let pieces = [
        Piece { sparse: Cow::Owned(own), offset: vec![0; n], step: vec![1; n] },
        Piece { sparse: value, offset: starts, step: steps },
    ];
    join::place(&s.shape, &spec, &pieces, s.fill.clone())
}

/// Whether what comes is laid over what is there, at the cost of a merge at most: places of both together are sorted.
fn is_laid(own: &Sparse, value: &Sparse) -> bool {
    let of = [own, value].map(|s| &s.pattern);
    let is_whole = |p: &Arc<Pattern>| p.value_dims().is_empty() && p.dims.iter().all(|d| d.part == Part::Whole);
    of.into_iter().all(is_whole) && own.pattern.is_canonical() && value.pattern.positions <= own.pattern.positions / 2
}

/// A strided value that broadcasting has repeated: nothing is stored of one that is the fill; else the budget decides.
fn repeated(value: Tensor, fill: &Fill, given: u128) -> Result<Tensor> {
    let Some(v) = value.strided().filter(|_| value.size() > given) else { return Ok(value) };
    if let (Some(one), Some(fill)) = (crate::tensor::fill::single(v), fill.spread(&v.shape))
        && crate::tensor::fill::single(&fill).is_some_and(|f| f.same(one))
    {
        return Tensor::full(&v.shape, one, Layout::Coo);
    }
    context::may_densify(&v.shape, v.dtype.size(), || {
        let what = match fill_of(v) {
            Fill::Scalar(value) => value.to_string(),
            _ => "the value".to_string(),
        };
        format!("{what} is not the fill, and is stored for every element that it is repeated to")
    })?;
    Ok(value)
}
