//! A tensor beside one that has size 1 along some axes, over which its fill does not vary: the result keeps the pattern,
//! and its fill stays constant along these axes.

use openwork_ops::structure::IndexVec;
use openwork_ops::{BinaryOp, Scalar};

use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::mapped::Chosen;
use crate::base::strided::Strided;
use crate::engine::blocks::{self, Kernel, Source};
use crate::engine::convert;
use crate::engine::slices::{self, Split};
use crate::levels::level::LevelKind;
use crate::tensor::fill::{self, Fill, fill_of};
use crate::tensor::{Sparse, Storage, Tensor};

/// `x op r` for the `family`'s sake. `r` is a reduction of `x` (or of what has its pattern) over `axes`, which it has with
/// size 1, in the same dtype.
pub(super) fn beside(op: BinaryOp, x: &Tensor, r: &Tensor, axes: &[usize]) -> Result<Tensor> {
    let Some(s) = x.sparse() else { return x.binary(op, r) };
    let dtype = openwork_ops::promote(s.dtype(), r.dtype());
    let typing = dtype.and_then(|d| op.typing(d));
    let kernel = typing.and_then(|t| op.kernel(t.compute));
    let (Some(typing), Some(kernel)) = (typing, kernel) else {
        return Err(error::dtype(&[x.dtype(), r.dtype()], format_args!("{} is not defined for these", op.name())));
    };
    let sources = [Source::values(&s.values), values_at(s, r, axes)?];
    let values = blocks::run(s.nse(), &sources, typing.compute, typing.out, Kernel::Binary(kernel))?;
    let values = Strided::new(values, typing.out, s.values.shape.clone());
    let fill = match s.fill_values() {
        None => Fill::Undefined,
        Some(fill) => result_fill(op, s, &fill, r)?,
    };
    Ok(Sparse { values, fill, ..s.clone() }.into())
}

/// What `r` has at every stored element of `s`, in the order of the values.
fn values_at<'a>(s: &'a Sparse, r: &Tensor, axes: &[usize]) -> Result<Source<'a>> {
    let t = match &r.storage {
        Storage::Strided(r) => return Ok(at_coordinates(s, r)),
        Storage::Sparse(t) => t,
    };
    // A table over all slices, where these are few: so few that their reduction may have left out some (see `group`).
    if slices::is_few(&t.shape, s.nse()) {
        let absent = Strided::constant(Scalar::zero(t.dtype()), &t.shape);
        let fill = t.fill_values().unwrap_or(absent);
        return Ok(at_coordinates(s, &convert::to_strided(t, &fill)?));
    }
    let kept: Vec<usize> = (0..s.ndim()).chosen(|a| !axes.contains(a));
    let runs = Split::new(&s.pattern, &kept).runs();
    // Where absent elements count for nothing, `r` lacks the slices that have none.
    let all = runs.ends.len() - 1 == t.pattern.positions;
    let mut of_position = vec![0u64; s.pattern.positions];
    let mut run = 0;
    for ends in runs.ends.windows(2).filter(|ends| all || ends[0] < ends[1]) {
        for p in ends[0]..ends[1] {
            of_position[runs.order.as_ref().map_or(p, |o| o.as_slice().get(p))] = run;
        }
        run += 1;
    }
    if run != t.pattern.positions as u64 {
        return Err(error::layout("the reduced tensor has other slices than the tensor"));
    }
    let rows = convert::gather_values(&t.values, &IndexVec::U64(of_position))?;
    let dims = s.pattern.value_dims();
    let from = |d: &crate::levels::pattern::Dim| {
        t.pattern.value_dims().iter().position(|e| (e.axis, e.part) == (d.axis, d.part))
    };
    let strides = dims.iter().map(|d| from(d).filter(|_| d.size > 1).map_or(0, |i| stride(&rows, i + 1)));
    let rows = Strided {
        strides: std::iter::once(rows.strides[0]).chain(strides).collect(),
        shape: s.values.shape.clone(),
        ..rows
    };
    Ok(Source::Strided(rows.into()))
}

/// The stride along an axis, 0 where the size is 1.
fn stride(x: &Strided, axis: usize) -> isize {
    if x.shape[axis] == 1 { 0 } else { x.strides[axis] }
}

fn at_coordinates<'a>(s: &'a Sparse, r: &Strided) -> Source<'a> {
    Source::at(r.broadcast(&s.shape), &s.pattern)
}

/// `fill op r`: a scalar if it is the same in every slice, else an array that has size 1 along the reduced axes.
fn result_fill(op: BinaryOp, s: &Sparse, fill: &Strided, r: &Tensor) -> Result<Fill> {
    let over_slices = Strided { shape: r.shape().into(), ..fill.clone() };
    let out = Tensor::from_strided(over_slices.unbroadcast()).binary(op, r)?;
    fill_over(s, out)
}

/// A fill with these elements, one for each slice: a scalar if they are the same. Like the result of a reduction an array of
/// few is free; one that is large beside what is stored needs the budget.
pub(super) fn fill_over(s: &Sparse, out: Tensor) -> Result<Fill> {
    let f = match &out.storage {
        Storage::Strided(f) => return Ok(fill_of(&f.broadcast(&s.shape))),
        Storage::Sparse(f) => f,
    };
    let rest = f.fill_values().and_then(|fill| fill::single(&fill));
    let stored = fill::single(&f.values).filter(|_| f.nse() > 0);
    let covered = f.nse() as u128 == out.size();
    match (stored, rest) {
        (Some(value), _) if covered => return Ok(Fill::Scalar(value)),
        (None, Some(rest)) if f.nse() == 0 => return Ok(Fill::Scalar(rest)),
        (Some(value), Some(rest)) if value.same(rest) => return Ok(Fill::Scalar(rest)),
        _ => {}
    }
    // Over the dense levels it is no longer than the pointers.
    let dense: usize = s.pattern.levels.iter().take_while(|l| l.kind() == LevelKind::Dense).count();
    let inner = s.pattern.level_dims()[dense..].iter().all(|d| f.shape[d.axis] == 1);
    let free = (inner && dense > 0) || slices::is_few(&f.shape, s.nse());
    if !free {
        context::may_densify(&f.shape, f.dtype().size(), || {
            format!(
                "unstored elements differ from slice to slice, which takes a fill of shape {:?}; stored() leaves them out",
                f.shape
            )
        })?;
    }
    let Some(rest) = f.fill_values() else {
        return Err(error::absent("a defined fill beside absent slices"));
    };
    Ok(fill_of(&convert::to_strided(f, &rest)?.broadcast(&s.shape)))
}
