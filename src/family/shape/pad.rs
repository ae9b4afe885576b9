//! A frame of new elements around a tensor.

use crate::base::mapped::Mapped;
use openwork_ops::Scalar;

use super::along::{self, Along};
use super::arrays;
use super::join::{self, Piece};
use crate::base::error::{self, Result};
use crate::levels::layout::{Layout, LevelSpec};
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;
use crate::tensor::trace;

/// What [`Tensor::pad`] puts around a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Pad {
    /// Zero (false); nothing, where the fill is undefined.
    Blank,
    /// One value, which has to fit the dtype.
    Value(Scalar),
    /// The outermost elements again.
    Edge,
    /// The elements beside the outermost ones, mirrored: `3 2 | 1 2 3 | 2 1`.
    Reflect,
    /// The elements of the other end: `2 3 | 1 2 3 | 1 2`.
    Wrap,
}

impl<T: Into<Scalar>> From<T> for Pad {
    fn from(value: T) -> Pad {
        Pad::Value(value.into())
    }
}

/// # Shape: a border around
impl Tensor {
    /// This tensor with a border around it: `widths[i]` says how many elements come before and after it along axis `i`.
    ///
    /// Sparse: where the frame is what the fill is, only coordinates are shifted and the layout stays (blocks are taken apart; COO for
    /// slices by the million, as [`Tensor::concat`] says).
    /// Another value makes the fill vary along the axis, as in [`Tensor::concat`]; along two sparse axes no fill can,
    /// so that the smaller part is stored, within the densify budget.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1, 2], [3, 4]];
    /// assert_eq!(x.pad(&[(0, 0), (1, 2)], 9)?.to_vec::<i32>()?, [9, 1, 2, 9, 9, 9, 3, 4, 9, 9]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is not one pair of widths for each axis, the value does not fit the dtype, the budget is exceeded,
    /// an axis becomes too long, or has too few elements: `Edge` needs one, `Wrap` as many as are added at either
    /// end, `Reflect` one more.
    pub fn pad(&self, widths: &[(usize, usize)], pad: impl Into<Pad>) -> Result<Tensor> {
        let call = trace::call("pad", &[self]);
        let out = padded(self, widths, pad.into())?;
        Ok(call.done(out))
    }
}

fn padded(x: &Tensor, widths: &[(usize, usize)], pad: Pad) -> Result<Tensor> {
    if widths.len() != x.ndim() {
        let why = format!("{} pairs for a tensor with {} axes: one for each is needed", widths.len(), x.ndim());
        return Err(error::invalid("widths", why));
    }
    let mut shape = x.shape().to_vec();
    for (axis, (n, &(before, after))) in shape.iter_mut().zip(widths).enumerate() {
        let sum = n.checked_add(before).and_then(|n| n.checked_add(after));
        *n = sum.ok_or_else(|| {
            let why = format!("({before}, {after}) makes axis {axis} of size {n} exceed the largest size");
            error::invalid("widths", why)
        })?;
    }
    if shape == x.shape() {
        return Ok(x.clone());
    }
    let undefined = x.fill().is_some_and(Fill::is_undefined);
    let value = match pad {
        Pad::Blank if undefined => None,
        Pad::Blank => Some(Scalar::zero(x.dtype())),
        Pad::Value(value) => Some(value.fit(x.dtype()).map_err(error::does_not_fit)?),
        _ => return (0..widths.len()).try_fold(x.clone(), |x, axis| around(&x, axis, widths[axis], pad)),
    };
    if let Some(s) = x.sparse() {
        // A tensor without elements has no fill that anybody could see.
        let empty = s.shape.contains(&0) && !undefined;
        let target = match (value, &s.fill) {
            (None, Fill::Undefined) => Some(Fill::Undefined),
            (Some(v), _) if empty => Some(Fill::Scalar(v)),
            (Some(v), Fill::Scalar(f)) if f.same(v) => Some(s.fill.clone()),
            _ => None,
        };
        if let Some(fill) = target {
            let mut spec = along::unblocked(s)?;
            if spec.dims[spec.level_dims()..].iter().any(|d| widths[d.0] != (0, 0)) {
                spec = LevelSpec::of_layout(Layout::Coo, &shape)?;
            }
            spec = join::spared(spec.freed(), &shape, std::slice::from_ref(x))?;
            let offset = widths.mapped(|w| w.0);
            let pieces =
                [Piece { sparse: join::refilled(x, fill.clone(), &spec)?, offset, step: vec![1; widths.len()] }];
            return Ok(join::place(&shape, &spec, &pieces, fill)?.into());
        }
    }
    let value = value.unwrap_or(Scalar::zero(x.dtype()));
    if let Some(x) = x.strided() {
        return Ok(Tensor::from_strided(arrays::framed(x, widths, &shape, value)?));
    }
    // A sum of frames, one axis after the other.
    let mut out = x.clone();
    for (axis, &(before, after)) in widths.iter().enumerate().filter(|(_, w)| **w != (0, 0)) {
        let frame = |width: usize| {
            let mut shape = out.shape().to_vec();
            shape[axis] = width;
            Tensor::full(&shape, value, Layout::Coo)
        };
        let (before, after) = (frame(before)?, frame(after)?);
        let parts = [&before, &out, &after];
        // The tensor itself comes first where the layout is chosen: an empty frame has none to offer.
        out = join::concat_like(&parts, axis, 1)?;
    }
    Ok(out)
}

/// One axis with elements of its own before and after it.
fn around(x: &Tensor, axis: usize, (before, after): (usize, usize), pad: Pad) -> Result<Tensor> {
    if (before, after) == (0, 0) {
        return Ok(x.clone());
    }
    let n = x.shape()[axis];
    let needed = match pad {
        Pad::Reflect => before.max(after) + 1,
        Pad::Wrap => before.max(after),
        _ => 1,
    };
    if n < needed {
        let why = format!("({before}, {after}) for axis {axis} of size {n}: {pad:?} needs a size of at least {needed}");
        return Err(error::invalid("widths", why));
    }
    let take = |start: usize, step: isize, len: usize| along::along(x, axis, &Along::Step { start, step, len });
    let edge = |at: usize, times: usize| {
        let one = x.narrow(at..at + 1, axis)?;
        along::along(&one, axis, &Along::Repeat { times, len: times })
    };
    let (front, back) = match pad {
        Pad::Reflect => (take(before, -1, before)?, take((n - 2).min(n), -1, after)?),
        Pad::Wrap => (take(n - before, 1, before)?, take(0, 1, after)?),
        _ => (edge(0, before)?, edge(n - 1, after)?),
    };
    join::concat_like(&[&front, x, &back], axis, 1)
}
