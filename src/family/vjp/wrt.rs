//! The operand by which a gradient is taken: its pattern, its fill, and what of a whole gradient falls on each.

use openwork_ops::{BinaryOp, DType, Scalar};

use super::gradient::Gradient;
use crate::base::axes::keep;
use crate::base::context::{self, NanPolicy};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::{Chosen, Mapped};
use crate::base::strided::Strided;
use crate::engine::blocks::collect;
use crate::engine::convert;
use crate::engine::join::{Role, join};
use crate::engine::sides::Side;
use crate::engine::slices::is_few;
use crate::family::index::Index;
use crate::levels::layout::Layout;
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor};

/// The dtype in which gradients are computed: half precision as `float32`.
pub(super) fn wide(dtype: DType) -> DType {
    if matches!(dtype, DType::F16 | DType::BF16) { DType::F32 } else { dtype }
}

/// A cotangent for a result of this shape and dtype, in the dtype of computation. One whose fill is 0 has that left out:
/// what is not stored adds nothing.
pub(super) fn cotangent(given: &Tensor, shape: &[usize], dtype: DType) -> Result<Tensor> {
    if given.shape() != shape {
        let why = "the cotangent needs the shape of the op's result, which is the second of these";
        return Err(error::shape(&[given.shape(), shape], why));
    }
    if !dtype.is_inexact() {
        let why = format!("the op's result is {dtype}, which cannot vary a little: it has no gradient");
        return Err(error::dtype(&[dtype], why));
    }
    if given.dtype() != dtype {
        let why = "the cotangent needs the dtype of the op's result, which is the second of these; cast it";
        return Err(error::dtype(&[given.dtype(), dtype], why));
    }
    let g = given.coalesce()?.cast(wide(dtype))?;
    let is_zero = g.fill().and_then(Fill::as_scalar).is_some_and(Scalar::is_zero);
    let annihilates = context::nan_policy() == NanPolicy::ZeroAnnihilates;
    Ok(if is_zero && annihilates { g.stored() } else { g })
}

/// The tensor with 0 for what is absent.
pub(super) fn filled(x: &Tensor) -> Result<Tensor> {
    if is_undefined(x) { x.replace_fill(Scalar::zero(x.dtype())) } else { Ok(x.clone()) }
}

pub(super) fn is_undefined(x: &Tensor) -> bool {
    x.fill().is_some_and(Fill::is_undefined)
}

/// Sums what broadcasting has repeated, back to the shape that was broadcast.
pub(super) fn summed_to(x: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if x.shape() == shape {
        return Ok(x.clone());
    }
    let lead = x.ndim() - shape.len();
    let repeated: Vec<usize> = (0..x.ndim()).chosen(|&d| d < lead || (shape[d - lead] == 1 && x.shape()[d] != 1));
    let sum = if repeated.is_empty() { x.clone() } else { x.sum(keep(&repeated))? };
    let lead: Vec<usize> = (0..lead).collect();
    if lead.is_empty() { Ok(sum) } else { sum.squeeze(&lead) }
}

/// What becomes of elements, of the cotangent there and of what is constant along slices.
pub(super) type Pull<'a> = &'a dyn Fn(&Tensor, &Tensor, &[Tensor]) -> Result<Tensor>;

/// The same elements in the structure of the operand, of which they are all.
fn restored(made: Sparse, own: &Sparse) -> Result<Tensor> {
    if made.pattern.is_same(&own.pattern) {
        return Ok(made.into());
    }
    let made = convert::convert(&made, &own.pattern.spec())?;
    let same = made.values.shape == own.values.shape;
    Ok(if same { Sparse { values: made.values, fill: Fill::Undefined, ..own.clone() } } else { made }.into())
}

/// An operand.
pub(super) struct Wrt {
    /// The operand's dtype, which its gradient has.
    dtype: DType,
    /// In order, without duplicates, in the dtype of computation.
    pub(super) x: Tensor,
}

impl Wrt {
    pub(super) fn new(given: &Tensor) -> Result<Wrt> {
        let dtype = given.dtype();
        if !dtype.is_inexact() {
            let why = "integers and bools cannot vary a little and have no gradient; cast the operand to a float before the op";
            return Err(error::dtype(&[dtype], why));
        }
        Ok(Wrt { dtype, x: given.coalesce()?.cast(wide(dtype))? })
    }

    /// What is stored, of a sparse operand; the operand, of a strided one.
    pub(super) fn stored(&self) -> Tensor {
        self.x.stored()
    }

    pub(super) fn is_strided(&self) -> bool {
        self.x.is_strided()
    }

    pub(super) fn is_undefined(&self) -> bool {
        is_undefined(&self.x)
    }

    /// The fill, if there is one, in the dtype of computation: an array as large as it varies, without axes for a scalar.
    pub(super) fn fill(&self) -> Option<Tensor> {
        match self.x.fill()? {
            Fill::Undefined => None,
            Fill::Scalar(value) => Some(Tensor::scalar(*value)),
            Fill::Array(values) => Some((**values).clone()),
        }
    }

    /// The elements of a tensor, which broadcasts to the operand, where the operand stores some: the operand's pattern and an
    /// undefined fill. What the tensor has not is 0. Of a strided operand every element.
    pub(super) fn at(&self, g: &Tensor) -> Result<Tensor> {
        let mut g = filled(g)?;
        let Some(own) = self.x.sparse() else {
            return g.to_dense()?.broadcast_to(self.x.shape());
        };
        if let Some(s) = g.sparse() {
            if s.pattern.is_same(&own.pattern) && s.shape == own.shape {
                return Ok(g.stored());
            }
            if s.shape != own.shape {
                if !is_few(&s.shape, own.nse()) {
                    return self.looked_up(&g);
                }
                g = g.to_dense()?;
            }
        }
        if faults::is(Fault::CotangentFillLost) && !g.is_strided() {
            g = g.replace_fill(Scalar::zero(g.dtype()))?;
        }
        let shape = own.shape.clone();
        let present = Sparse { fill: Fill::Undefined, ..own.clone() };
        let mut sides = [Side::sparse((&present).into(), &shape, None), Side::spread_over(&g, &shape)?];
        (sides[0].role, sides[1].role) = (Role::Every, Role::Look);
        let Some(pattern) = join(&shape, &mut sides, false)? else {
            return Ok(self.x.stored()); // a sparse operand gives positions
        };
        let elements = collect(pattern.positions * pattern.block(), sides[1].source(&pattern, None)?, g.dtype())?;
        let of = |positions: usize, rows: &[usize]| {
            let mut shape = vec![positions];
            shape.extend_from_slice(rows);
            shape
        };
        let values = elements.reshape(&of(pattern.positions, &pattern.value_shape()))?;
        restored(Sparse { shape, pattern, values, fill: Fill::Undefined }, own)
    }

    /// As [`Wrt::at`], for a sparse tensor that repeats: its elements are looked up by coordinates.
    fn looked_up(&self, g: &Tensor) -> Result<Tensor> {
        let g = g.atleast_nd(self.x.ndim())?;
        let places = self.x.is_stored()?.to_layout(Layout::Coo)?;
        let columns = places.indices()?;
        let items = (0..g.ndim()).try_mapped(|d| match g.shape()[d] {
            1 => Ok(Index::At(0)),
            _ => columns.index(&[Index::from(..), Index::from(d)]).map(Index::List),
        })?;
        let values = g.index(&items)?.to_dense()?;
        match (places.sparse(), self.x.sparse(), values.strided()) {
            (Some(places), Some(own), Some(values)) => {
                let values = values.reshape(&[places.pattern.positions])?;
                restored(Sparse { values, fill: Fill::Undefined, ..places.clone() }, own)
            }
            _ => Ok(values),
        }
    }

    /// A tensor that is constant along slices, as it is best taken together with what is stored.
    fn beside(&self, slice: &Tensor) -> Result<Tensor> {
        if self.is_strided() || slice.is_strided() { Ok(slice.clone()) } else { self.at(slice) }
    }

    /// The same for several.
    pub(super) fn beside_all(&self, slices: &[&Tensor]) -> Result<Vec<Tensor>> {
        slices.try_mapped(|slice| self.beside(slice))
    }

    /// The sums of a tensor, which broadcasts to the operand, over the unstored elements that share a place of the shape;
    /// `None` without a defined fill. Along axes on which neither varies unstored elements are counted.
    pub(super) fn unstored_to(&self, g: &Tensor, shape: &[usize]) -> Result<Option<Tensor>> {
        if self.fill().is_none() {
            return Ok(None);
        }
        let (n, whole) = (self.x.ndim(), self.x.shape());
        let g = filled(g)?.atleast_nd(n)?;
        let own = |d: usize| if d < n - shape.len() { 1 } else { shape[d - (n - shape.len())] };
        let alone: Vec<usize> = (0..n).chosen(|&d| g.shape()[d] == 1 && own(d) == 1);
        let stored = self.x.is_stored()?;
        let stored = if faults::is(Fault::StoredInFill) { stored.logical_xor(&stored)? } else { stored };
        let terms = if alone.is_empty() {
            stored.where_(Scalar::zero(g.dtype()), &g)?
        } else {
            let all = alone.iter().fold(1.0, |n, &d| n * whole[d] as f64);
            let unstored = stored.cast(DType::F64)?.sum(keep(&alone))?.binary_from(BinaryOp::Sub, all)?;
            unstored.gt(0.0)?.where_(g.mul(&unstored)?, 0.0)?
        };
        let rest: Vec<usize> = (0..n).chosen(|&d| own(d) == 1 && terms.shape()[d] != 1);
        let sums = if rest.is_empty() { terms } else { terms.sum(keep(&rest))? };
        sums.reshape(shape).map(Some)
    }

    /// As [`Wrt::unstored_to`], in the shape of the fill.
    pub(super) fn unstored(&self, g: &Tensor) -> Result<Option<Tensor>> {
        match self.fill() {
            Some(fill) => self.unstored_to(g, fill.shape())?.map(|sums| sums.to_dense()).transpose(),
            None => Ok(None),
        }
    }

    /// The gradient, of what its stored elements and the fill get.
    pub(super) fn done(&self, stored: &Tensor, fill: Option<Tensor>) -> Result<Gradient> {
        let stored = self.at(stored)?.cast(self.dtype)?;
        let is_defined = !self.is_strided() && !self.is_undefined();
        let stored = if is_defined { stored.replace_fill(Scalar::zero(self.dtype))? } else { stored };
        let fill = match fill {
            None => None,
            Some(fill) => {
                let fill = fill.cast(self.dtype)?;
                Some(if fill.ndim() == 0 { Fill::Scalar(fill.item()?) } else { Fill::array(fill) })
            }
        };
        Ok(Gradient { stored, fill })
    }

    /// The gradient, of the whole gradient by each element.
    pub(super) fn of_whole(&self, g: &Tensor) -> Result<Gradient> {
        self.done(g, self.unstored(g)?)
    }

    /// The gradient of which each element is a function of the operand's element, of the cotangent there and of tensors that
    /// are constant along slices.
    pub(super) fn of_each(&self, g: &Tensor, slices: &[&Tensor], pull: Pull<'_>) -> Result<Gradient> {
        let here = if self.is_strided() { g.clone() } else { self.at(g)? };
        let stored = pull(&self.stored(), &here, &self.beside_all(slices)?)?;
        let fill = match self.fill() {
            None => None,
            Some(fill) => {
                self.may_meet(&fill, g)?;
                self.unstored(&pull(&fill, &filled(g)?, &slices.mapped(|&slice| slice.clone()))?)?
            }
        };
        self.done(&stored, fill)
    }

    /// Whether an array fill may meet what varies along other axes: together they are as large as a dense operand.
    pub(super) fn may_meet(&self, fill: &Tensor, other: &Tensor) -> Result<()> {
        let n = self.x.ndim();
        let varies = |x: &Tensor, d: usize| d + x.ndim() >= n && x.shape()[d + x.ndim() - n] != 1;
        let by = |x: &Tensor, y: &Tensor| (0..n).any(|d| varies(x, d) && !varies(y, d));
        if by(fill, other) && by(other, fill) {
            context::may_densify(self.x.shape(), self.x.dtype().size(), || {
                "the gradient by a fill that varies along axes on which slices do not is computed for every element"
                    .into()
            })?;
        }
        Ok(())
    }

    /// No element matters.
    pub(super) fn zero(&self) -> Result<Gradient> {
        let zero = Strided::constant(Scalar::zero(self.x.dtype()), &[]);
        self.of_whole(&Tensor::from_strided(zero))
    }
}
