//! Matrix products.
//!
//! An operand is what it stores plus a background: the fill, or all of a strided tensor. With `A = S + F` and
//! `B = T + G` (stored elements counted from the fill beneath them) the product is `S·T + S·G + F·T + F·G`,
//! and each of the four is a kernel over rows (`plan`). Beside fills the first runs on floats as they are but for
//! elements that this would round away (`split`), and the rest becomes few rows and columns (`fills`). Where nothing
//! of it varies along both output axes except `S·T`, the result is sparse with the rest as its fill.

mod dot;
pub(crate) mod forms;
mod plan;
pub(crate) mod prepare;
mod any_columns;
mod array_dots;
mod array_vector;
mod assemble;
pub(crate) mod chain;
mod columns;
pub(crate) mod contract;
mod dense;
mod extent;
mod fibers;
mod fills;
mod mask;
mod merged;
mod one_row;
mod operand;
mod outer;
mod over_fill;
mod rows;
pub(crate) mod semiring;
mod small_blocks;
mod sparse;
mod split;
mod value_rows;

use openwork_ops::matmul::{Carrier, Semiring};
use openwork_ops::{DType, Scalar, Side, promote};

use self::extent::Looked;
use crate::base::context::{self, NanPolicy};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::shape::{self, broadcast_shapes};
use crate::base::strided::{Shape, Strided};
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::levels::layout::Layout;
use crate::levels::pattern::Dim;
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor, trace};

/// # Matrix products
impl Tensor {
    /// The matrix product over the last two axes, leading axes broadcast. A vector on the left is a row and on
    /// the right a column, and its axis is left out of the result.
    ///
    /// dtype: the promotion of both. Integers wrap in it, bool is or-and, floats of sparse operands accumulate
    /// in `f64` or better and are rounded once; of `f32` a dozen terms are added in `f32` first.
    ///
    /// Layouts: strided if an operand is; else that of `self` where it has a name for the result (`Csr` otherwise). `Coo`
    /// instead where neither operand has pointers for the rows and these are far more than the stored elements, or the
    /// columns, if it would be `Csc`. Fill: `0` for two zero fills; an array where the background varies along one output
    /// axis (a left fill that is scalar or of shape `(1, K)` beside a zero fill, or the mirror image); a result
    /// whose background varies along both is strided, within the densify budget. Products with an undefined
    /// fill skip absent terms, and an element without terms is absent. Beside a defined fill a
    /// row exists whole or not at all; if all do, the product is strided.
    ///
    /// An unstored zero makes a term zero whatever it meets (see [`NanPolicy`]). Elsewhere NaN and infinity
    /// beside a fill other than zero are computed densely, within the budget.
    ///
    /// Cost: O(products of stored elements that meet), for sparse by strided O(nse · columns); row-major
    /// layouts on both sides (or column-major ones) need no conversion. A fill other than zero adds O(elements of
    /// the result and of the operands), whatever is stored, but for one that varies along both axes of its matrix,
    /// which costs what a dense matrix would; stored elements far smaller than the fill beneath them cost a few
    /// times as much as others (RFC 2).
    ///
    /// ```
    /// use openwork::{Layout, Tensor};
    /// let a = Tensor::from_triplets([2, 3], vec![0i64, 1], vec![2, 0], vec![2.0, 5.0], 0.0)?;
    /// let x = Tensor::from_vec([3], vec![1.0, 10.0, 100.0])?;
    /// assert_eq!(a.matmul(&x)?.values::<f64>()?, [200.0, 5.0]);
    /// assert_eq!(a.matmul(&a.matrix_transpose()?)?.layout(), Layout::Coo);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an operand is 0-d, the contracted lengths differ, batch axes do not broadcast, dtypes do not
    /// promote, or the result is not sparse and exceeds the densify budget.
    pub fn matmul(&self, other: &Tensor) -> Result<Tensor> {
        let call = trace::call("matmul", &[self, other]);
        call.end(multiply(self, other, Semiring::PLUS_TIMES, None, false))
    }
}

/// In what a product is computed.
#[derive(Clone, Copy)]
struct Way {
    /// Of both operands.
    dtype: DType,
    /// Without a fill that takes part.
    carrier: Carrier,
    semiring: Semiring,
    /// Whether the product is wanted strided, whatever its operands are.
    is_dense: bool,
}

impl Way {
    fn output(&self) -> DType {
        self.carrier.output(self.dtype)
    }

    fn zero(&self) -> Scalar {
        self.carrier.zero(self.dtype)
    }

    /// Of the product of the transposes.
    fn swapped(&self) -> Way {
        let carrier = if faults::is(Fault::SidesUnswapped) { self.carrier } else { self.carrier.swapped() };
        Way { carrier, ..*self }
    }

    fn is_sum(&self) -> bool {
        !matches!(self.carrier, Carrier::Blocks(_))
    }
}

/// The product over a semiring, where the bool mask is true; strided at once if that is wanted and none of it is absent.
fn multiply(x: &Tensor, y: &Tensor, semiring: Semiring, mask: Option<&Tensor>, is_dense: bool) -> Result<Tensor> {
    let dtypes = [x.dtype(), y.dtype()];
    let why = "no dtype holds the values of both; cast one side";
    let dtype = promote(dtypes[0], dtypes[1]).ok_or_else(|| error::dtype(&dtypes, why))?;
    let carrier = Carrier::of_semiring(semiring, dtype).ok_or_else(|| {
        let why = format!("{} is not defined for {dtype}; cast the operands, or choose other ops", semiring.name());
        error::dtype(&dtypes, why)
    })?;
    let way = Way { dtype, carrier, semiring, is_dense };
    let shapes = [x.shape(), y.shape()];
    if x.ndim() == 0 || y.ndim() == 0 {
        return Err(error::shape(&shapes, "a 0-d tensor has no matrix product; multiply elementwise"));
    }
    let matrix = |x: &Tensor, axis: usize| if x.ndim() == 1 { Some(x.expanded_at(axis)) } else { None };
    let (a, b) = (matrix(x, 0), matrix(y, 1));
    let (a, b) = (a.as_ref().unwrap_or(x), b.as_ref().unwrap_or(y));
    let (k, also) = (a.shape()[a.ndim() - 1], b.shape()[b.ndim() - 2]);
    if k != also {
        let why =
            format!("the last axis of the left operand has {k} elements, the matching axis of the right one {also}");
        return Err(error::shape(&shapes, why));
    }
    let batches = [&a.shape()[..a.ndim() - 2], &b.shape()[..b.ndim() - 2]];
    let batch = broadcast_shapes(batches[0], batches[1])
        .map_err(|_| error::shape(&shapes, "the axes before the last two do not broadcast"))?;
    let mut drop = Shape::repeat(0, 0);
    if x.ndim() == 1 {
        drop.push(batch.len());
    }
    if y.ndim() == 1 {
        drop.push(batch.len() + 1);
    }
    let cast = |x: &Tensor| if x.dtype() == dtype { Ok(None) } else { x.cast(dtype).map(Some) };
    let (left, right) = (cast(a)?, cast(b)?);
    let (a, b) = (left.as_ref().unwrap_or(a), right.as_ref().unwrap_or(b));
    let out = match mask {
        None => product(a, b, way, &batch)?,
        Some(given) => {
            let whole: Vec<usize> =
                batch.iter().copied().chain([a.shape()[a.ndim() - 2], b.shape()[b.ndim() - 1]]).collect();
            let mut own = whole.clone();
            drop.iter().rev().for_each(|&axis| {
                own.remove(axis);
            });
            if broadcast_shapes(given.shape(), &own).ok().as_deref() != Some(&own[..]) {
                return Err(error::shape(&[given.shape(), &own], "the mask does not broadcast to the product"));
            }
            let is_repeated = given.is_strided() && given.size() < shape::elements(&own).into();
            if is_repeated && !a.is_strided() && !b.is_strided() {
                // Along axes that may be huge: looked up at what the product has.
                let out = product(a, b, way, &batch)?;
                return without(out, &drop)?.mask(given);
            }
            if drop.is_empty() && mask::is_for_each(given, &whole) {
                return mask::product(a, b, way, &batch, given);
            }
            let mask = given.broadcast_to(&own)?.reshape(&whole)?;
            mask::product(a, b, way, &batch, &mask)?
        }
    };
    without(out, &drop)
}

/// Without some axes of size 1.
fn without(out: Tensor, axes: &[usize]) -> Result<Tensor> {
    match out.strided() {
        _ if axes.is_empty() => Ok(out),
        None => out.squeeze(axes),
        Some(s) => {
            let kept: Shape = (0..s.ndim()).filter(|axis| !axes.contains(axis)).collect();
            Ok(Tensor::from_strided(s.permute(&kept)))
        }
    }
}

/// The product of tensors with at least two axes and one dtype.
fn product(a: &Tensor, b: &Tensor, way: Way, batch: &[usize]) -> Result<Tensor> {
    let result: Shape = batch.iter().copied().chain([a.shape()[a.ndim() - 2], b.shape()[b.ndim() - 1]]).collect();
    let (x, y) = if way.is_sum() {
        let (a, b) = (Looked::new(a), Looked::new(b));
        (densified(&a, &b, &result)?, densified(&b, &a, &result)?)
    } else {
        (semiring::densified(a, b, way, Side::Left)?, semiring::densified(b, a, way, Side::Right)?)
    };
    raise(Work::Specialised);
    let (a, b) = (x.as_ref().unwrap_or(a), y.as_ref().unwrap_or(b));
    if let (Some(x), Some(y)) = (a.strided(), b.strided()) {
        return Ok(Tensor::from_strided(dense::product(x, y, way, &result)?));
    }
    if way.is_sum() {
        if let Some(rows) = in_rows(a, b)? {
            return product(&rows, b, way, &[])?.reshape(&result);
        }
        if let Some(out) = small_blocks::product(a, b, way.dtype)? {
            return Ok(out);
        }
        if let Some(out) = columns::product(a, b, way.dtype)? {
            return Ok(out);
        }
        if let Some(out) = any_columns::product(a, b, way)? {
            return Ok(out);
        }
        if batch.is_empty() {
            if let Some(out) = value_rows::product(a, b, way)? {
                return Ok(out);
            }
            if let Some(out) = outer::product(a, b, way.dtype)? {
                return Ok(out);
            }
        }
    }
    let out = if is_transposed(a, b) {
        let out = plan::product(&b.matrix_transpose()?, &a.matrix_transpose()?, way.swapped(), batch, None)?;
        out.matrix_transpose()?
    } else {
        plan::product(a, b, way, batch, None)?
    };
    in_layout(a.layout(), out)
}

/// The rows of several matrices in one, where all meet one matrix over the same fill: it is summed once then, not for each of them.
fn in_rows(a: &Tensor, b: &Tensor) -> Result<Option<Tensor>> {
    let Some(s) = a.sparse().filter(|s| s.ndim() > 2 && b.ndim() == 2 && !s.shape.contains(&0)) else {
        return Ok(None);
    };
    let is_same = match &s.fill {
        Fill::Undefined => false,
        Fill::Scalar(fill) => !fill.is_zero(),
        Fill::Array(values) => values.shape()[..s.ndim() - 1].iter().all(|&n| n == 1),
    };
    let Some(rows) = s.shape[..s.ndim() - 1].iter().try_fold(1usize, |n, &m| n.checked_mul(m)).filter(|_| is_same)
    else {
        return Ok(None);
    };
    a.reshape([rows, s.shape[s.ndim() - 1]]).map(Some)
}

/// A product in the layout that its left operand's asks for.
fn in_layout(left: Layout, out: Tensor) -> Result<Tensor> {
    match (left, out.sparse(), out.fill()) {
        // Absent rows or columns: kept whole.
        (_, Some(s), _) if !s.pattern.value_dims().is_empty() => Ok(out),
        (Layout::Strided, ..) | (_, None, _) => Ok(out),
        (layout, Some(s), _) => {
            let layout = match named(layout, out.ndim()) {
                // Rows so many beside what is stored that a pointer for each would be most of it, or more than memory holds.
                Layout::Csr if layout != Layout::Csr && operand::is_hyper_sparse(s) => Layout::Coo,
                Layout::Csc if operand::has_many_columns(s) => Layout::Coo,
                layout => layout,
            };
            if out.layout() == layout { Ok(out) } else { out.to_layout(layout) }
        }
    }
}

/// The layout of a sparse product whose left operand has this one.
fn named(left: Layout, ndim: usize) -> Layout {
    match left {
        Layout::Coo | Layout::Csf | Layout::Csc => left,
        Layout::Dcsr | Layout::Dcsc if ndim == 2 => left,
        Layout::Bsc { .. } => Layout::Csc,
        _ => Layout::Csr,
    }
}

/// Whether the product of the transposes, transposed, is the better one to compute: rows of which operand
/// the kernels walk.
fn is_transposed(a: &Tensor, b: &Tensor) -> bool {
    const FEW: usize = 4;
    let by_columns = |t: &Tensor| {
        matches!(t.layout(), Layout::Csc | Layout::Dcsc | Layout::Bsc { .. }) || t.ndim() == 2 && is_along(t, 1)
    };
    let undefined = |t: &Tensor| t.fill().is_some_and(|f| f.is_undefined());
    match (a.is_strided(), b.is_strided()) {
        // Over a fill there is a kernel for few columns as well.
        (true, _) => undefined(b) || by_columns(b) || a.shape()[a.ndim() - 2] > FEW || is_over_fill(b),
        (_, true) => !undefined(a) && by_columns(a) && b.shape()[b.ndim() - 1] <= FEW && !is_over_fill(a),
        _ if undefined(a) != undefined(b) => undefined(b),
        // The operand that stores far more is taken as it is stored; else so that the result comes in the layout of the left one.
        _ => match (by_columns(a), by_columns(b)) {
            (true, false) => b.nse() / 4 <= a.nse(),
            (false, true) => a.nse() < b.nse() / 4,
            (both, _) => both,
        },
    }
}

/// Whether a sparse matrix is stored in order along an axis, row by row (0) or column by column (1), so that pointers for all of
/// them are quickly made.
fn is_along(t: &Tensor, axis: usize) -> bool {
    let whole = |axis| Dim::whole(axis, t.shape()[axis]);
    t.sparse().is_some_and(|s| {
        let p = &s.pattern;
        p.dims == [whole(axis), whole(1 - axis)]
            && p.level_dims == 2
            && p.is_canonical()
            && t.shape()[axis] / 4 <= p.positions
    })
}

/// Whether a matrix of floats has a fill other than zero.
fn is_over_fill(x: &Tensor) -> bool {
    let is_float = x.dtype().is_inexact() && !x.dtype().is_complex() && x.ndim() == 2;
    is_float && x.sparse().is_some_and(|s| !s.fill.is_undefined() && !is_over_zeros(s))
}

/// A sparse operand as a strided one, where NaN or infinity keeps products of its fill from being taken
/// apart.
fn densified(looked: &Looked<'_>, other: &Looked<'_>, result: &[usize]) -> Result<Option<Tensor>> {
    let x = looked.tensor;
    if !x.dtype().is_inexact() || x.size() == 0 {
        return Ok(None);
    }
    let Some(s) = x.sparse().filter(|s| !s.fill.is_undefined()) else { return Ok(None) };
    let finite = |looked: &Looked<'_>| looked.stored().is_finite;
    let fill = other.fill().is_finite;
    let why = if is_over_zeros(s) {
        if !fill {
            "an unstored zero meets a fill that is NaN or infinite"
        } else if context::nan_policy() == NanPolicy::Exact && !finite(other) {
            "an unstored zero meets NaN or infinity, and the policy is NanPolicy::Exact"
        } else {
            return Ok(None);
        }
    } else if !(fill && looked.fill().is_finite && finite(looked) && finite(other)) {
        "NaN or infinity takes part, and a fill is not zero"
    } else if !is_separable(looked, other) {
        "the fill is too large beside stored elements to be taken off them and added again"
    } else {
        return Ok(None);
    };
    context::may_densify(&s.shape, s.dtype().size(), || why.into())?;
    if !other.tensor.is_strided() {
        context::may_densify(result, s.dtype().size(), || why.into())?;
    }
    let Some(background) = s.fill_values() else { return Ok(None) };
    convert::to_strided(s, &background).map(|values| Some(Tensor::from_strided(values)))
}

/// Whether products of stored elements less their fills, and of the fills, add up to the accuracy of the dtype
/// in sums of two `f64`: fills must not be larger than stored elements by more than the bits to spare.
fn is_separable(x: &Looked<'_>, other: &Looked<'_>) -> bool {
    let (mut ratio, mut largest) = (1.0, x.tensor.shape()[x.tensor.ndim() - 1] as f64);
    for side in [x, other] {
        let (stored, fill) = (side.stored(), side.fill());
        ratio *= (fill.high / stored.low).max(1.0);
        largest *= fill.high.max(stored.high);
    }
    ratio < x.tensor.dtype().epsilon() * 2f64.powi(98) && largest < 1e290
}

/// Whether every unstored element is zero.
fn is_over_zeros(s: &Sparse) -> bool {
    match &s.fill {
        Fill::Scalar(value) => value.is_zero(),
        fill => fill.spread(&s.shape).is_some_and(|values| is_zero(&values.unbroadcast())),
    }
}

/// Whether every element is zero.
fn is_zero(values: &Strided) -> bool {
    let core = values.core();
    let bytes = core.contiguous_bytes().unwrap_or_default();
    let size = values.dtype.size();
    if core.len() > 1 && bytes.iter().all(|&b| b == 0) {
        return true;
    }
    bytes.chunks_exact(size).all(|b| Scalar::from_bytes(values.dtype, b).is_zero())
}
