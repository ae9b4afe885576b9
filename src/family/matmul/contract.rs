//! Products over any axes of two tensors: permuted and merged into matrices, and the product's axes taken apart again.

use openwork_ops::matmul::{Carrier, Semiring, Times};
use openwork_ops::{Side, promote};
use std::sync::Arc;

use super::Way;
use super::fibers::Fibers;
use super::semiring::{Product, adds_nothing};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::{Chosen, Mapped};
use crate::base::shape;
use crate::base::trace::{Work, raise};

use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor};

/// Which axes of two tensors are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joined {
    /// Pairs of axes that stay.
    pub(crate) batch: Vec<[usize; 2]>,
    /// Pairs of axes that are summed over.
    pub(crate) inner: Vec<[usize; 2]>,
}

impl Joined {
    /// The other axes of an operand.
    fn free(&self, ndim: usize, side: usize) -> Vec<usize> {
        (0..ndim).chosen(|axis| !self.batch.iter().chain(&self.inner).any(|pair| pair[side] == *axis))
    }

    fn of_side(pairs: &[[usize; 2]], side: usize) -> Vec<usize> {
        pairs.mapped(|pair| pair[side])
    }
}

/// The product of two tensors, perhaps where a mask of its shape is true. Its axes are those that both share, then those
/// of the left operand alone, then those of the right one alone; sizes of joined axes must be equal.
///
/// Where rows of a sparse operand are made of several axes and the other one is strided, the result stores those rows that
/// the sparse one does.
pub(crate) fn contract(
    x: &Tensor,
    y: &Tensor,
    joined: &Joined,
    semiring: Semiring,
    mask: Option<&Tensor>,
) -> Result<Tensor> {
    if mask.is_none()
        && let Some(out) = by_fibers(x, y, joined, semiring)?
    {
        return Ok(out);
    }
    let batch = joined.batch.len();
    let free = [joined.free(x.ndim(), 0), joined.free(y.ndim(), 1)];
    let left = matrices(x, &Joined::of_side(&joined.batch, 0), &free[0], &Joined::of_side(&joined.inner, 0))?;
    let right = matrices(y, &Joined::of_side(&joined.batch, 1), &Joined::of_side(&joined.inner, 1), &free[1])?;
    let mut whole = Vec::with_capacity(batch + free[0].len() + free[1].len());
    whole.extend(joined.batch.iter().map(|pair| x.shape()[pair[0]]));
    whole.extend(free[0].iter().map(|&a| x.shape()[a]));
    whole.extend(free[1].iter().map(|&a| y.shape()[a]));
    let out = match mask {
        None => left.matmul_with(&right, semiring)?,
        Some(mask) => {
            let order: Vec<usize> = (0..mask.ndim()).collect();
            let (lead, rest) = order.split_at(batch);
            let (rows, columns) = rest.split_at(free[0].len());
            let mask = matrices(mask, lead, rows, columns)?;
            left.matmul_with(&right, Product::from(semiring).mask(&mask))?
        }
    };
    if free.iter().any(|own| own.len() > 1) {
        return out.reshape(&whole);
    }
    let empty: Vec<usize> = (0..2).chosen(|&side| free[side].is_empty()).mapped(|side| batch + side);
    if empty.is_empty() { Ok(out) } else { out.squeeze(&empty) }
}

/// A tensor as matrices: axes that stay, then those of rows merged into one and those of columns into another.
fn matrices(x: &Tensor, batch: &[usize], rows: &[usize], columns: &[usize]) -> Result<Tensor> {
    let order = [batch, rows, columns].concat();
    let is_in_order = order.iter().enumerate().all(|(i, &axis)| i == axis);
    let x = if is_in_order { x.clone() } else { x.permute_dims(order)? };
    let sizes = x.shape();
    let (lead, rest) = sizes.split_at(batch.len());
    let (of_rows, of_columns) = rest.split_at(rows.len());
    if rows.len() <= 1 && columns.len() <= 1 {
        let missing = [rows.is_empty(), columns.is_empty()];
        let new = (0..2).chosen(|&side| missing[side]).mapped(|side| batch.len() + side);
        return if new.is_empty() { Ok(x) } else { x.expand_dims(new) };
    }
    let merged = |sizes: &[usize]| {
        sizes.iter().try_fold(1usize, |n, &size| n.checked_mul(size)).ok_or_else(|| {
            let why =
                format!("axes of sizes {sizes:?}, which the product takes as one, have more elements than an axis can");
            error::shape(&[x.shape()], why)
        })
    };
    let mut shape = lead.to_vec();
    shape.push(merged(of_rows)?);
    shape.push(merged(of_columns)?);
    x.reshape(&shape)
}

/// The product of a sparse tensor, whose rows are made of several axes, and a strided one: a row for each that stores
/// something, the rest sums of nothing. `None` where that is not so.
fn by_fibers(x: &Tensor, y: &Tensor, joined: &Joined, semiring: Semiring) -> Result<Option<Tensor>> {
    if !joined.batch.is_empty() || joined.inner.is_empty() {
        return Ok(None);
    }
    if x.is_strided() && is_commutative(semiring) {
        // The mirror image, with the axes of the left operand in front again.
        let turned = Joined { inner: joined.inner.mapped(|&[a, b]| [b, a]), ..Joined::default() };
        let (own, other) = (x.ndim() - joined.inner.len(), y.ndim() - joined.inner.len());
        let Some(out) = by_fibers_of(y, x, &turned, semiring)? else { return Ok(None) };
        let order: Vec<usize> = (other..other + own).chain(0..other).collect();
        return out.permute_dims(order).map(Some);
    }
    by_fibers_of(x, y, joined, semiring)
}

fn by_fibers_of(x: &Tensor, y: &Tensor, joined: &Joined, semiring: Semiring) -> Result<Option<Tensor>> {
    let free = joined.free(x.ndim(), 0);
    let Some(dtype) = promote(x.dtype(), y.dtype()) else { return Ok(None) };
    let (Some(carrier), true, true, true) =
        (Carrier::of_semiring(semiring, dtype), x.sparse().is_some(), y.is_strided(), free.len() > 1)
    else {
        return Ok(None);
    };
    let way = Way { dtype, carrier, semiring, is_dense: false };
    let x = x.cast(dtype)?;
    let Some(s) = x.sparse() else { return Ok(None) };
    let is_absent = s.fill.is_undefined();
    // Of terms over an axis of size 0 there are none, whether or not rows are stored.
    let inner = shape::elements(&joined.inner.mapped(|pair| x.shape()[pair[0]]));
    if inner == 0
        || x.size() == 0
        || y.size() == 0
        || !(is_absent || adds_nothing(&x, &y.cast(dtype)?, way, Side::Left))
    {
        return Ok(None);
    }
    let (columns, inner) = (joined.free(y.ndim(), 1), Joined::of_side(&joined.inner, 0));
    let fibers = match Fibers::across(s, &free, &inner, shape::product(columns.iter().map(|&a| y.shape()[a])))? {
        None => Fibers::along(&x, &free, &inner)?,
        across => across,
    };
    let Some(fibers) = fibers else { return Ok(None) };
    let right = matrices(y, &[], &Joined::of_side(&joined.inner, 1), &columns)?;
    let right = if fibers.times == 1 {
        right
    } else {
        let (own, columns) = (right.shape()[0], right.shape()[1]);
        right.broadcast_to([fibers.times, own, columns])?.reshape([fibers.times * own, columns])?
    };
    raise(Work::Specialised);
    let rows = fibers.rows.matmul_with(&right, semiring)?;
    let Some(values) = rows.strided() else { return Ok(None) };
    let mut sizes = vec![fibers.rows.shape()[0]];
    sizes.extend(columns.iter().map(|&a| y.shape()[a]));
    let values = values.reshape(&sizes)?;
    let shape: Vec<usize> = free.iter().map(|&a| x.shape()[a]).chain(columns.iter().map(|&a| y.shape()[a])).collect();
    let mut dims = fibers.dims;
    dims.extend((free.len()..shape.len()).map(|axis| Dim::whole(axis, shape[axis])));
    let pattern = Pattern { levels: fibers.levels, dims, level_dims: free.len(), positions: fibers.rows.shape()[0] };
    let fill = if is_absent { Fill::Undefined } else { Fill::Scalar(way.zero()) };
    let fill = if faults::is(Fault::FibersAbsent) { Fill::Undefined } else { fill };
    Ok(Some(Sparse { shape: shape[..].into(), pattern: Arc::new(pattern), values, fill }.into()))
}

/// Whether ⊗ gives the same in either order.
pub(crate) fn is_commutative(semiring: Semiring) -> bool {
    match semiring.times {
        Times::Op(op) => op.is_commutative(),
        Times::Pair => true,
        _ => false,
    }
}
