//! The one way of every elementwise op: shape, fill, a kernel written for these operands if there is one, the engine, or a
//! dense result within budget.

use crate::base::mapped::Mapped;
use std::borrow::Cow;

use openwork_ops::registry::Side as Standing;
use openwork_ops::{Annihilator, BinaryOp, DType, DTypeKind, Scalar};

use super::{handful, lookup, valued};
use crate::base::context::{self, NanPolicy};
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::shape::broadcast_shapes;
use crate::base::strided::{Shape, Strided};
use crate::base::trace::{Work, raise};
use crate::engine::blocks::Pass;
use crate::engine::join::{Role, align, join};
use crate::engine::sides::{AsFill, Side, all_finite_as, core_of, is_dense, may_be_dense};
use crate::levels::layout::Layout;
use crate::tensor::fill::{Background, Fill, fill_of};
use crate::tensor::{Sparse, Storage, Tensor};

/// An elementwise function of any number of operands: its dtypes and its kernel, and what is known of it.
#[derive(Clone, Copy)]
pub(crate) struct Function<'a> {
    pub(crate) pass: Pass<'a>,
    /// A dtype that operands take before the one in which they are computed, where casting them straight to that would
    /// give another number: an integer that wraps or rounds on the way.
    pub(crate) via: Option<DType>,
    /// The op of two operands that it is, if it is one.
    pub(crate) op: Option<BinaryOp>,
    /// Elements beside which the others do not matter.
    pub(crate) annihilators: &'static [Annihilator],
}

/// A function on operands, with what has been found out about the result.
pub(super) struct Plan<'p, 'a> {
    pub(super) function: &'p Function<'p>,
    pub(super) shape: &'p [usize],
    /// With their roles. One that repeats is not spread yet.
    pub(super) sides: &'p [Side<'a>],
    pub(super) fill: &'p Background,
}

/// A kernel written for some operands and layouts; `None` where it declines.
type Specialised = fn(&Plan<'_, '_>) -> Result<Option<Tensor>>;

/// What is tried before the engine, in this order, and how far each goes: the engine's way for small operands is none of
/// its own.
const SPECIALISED: [(Specialised, Work); 3] =
    [(lookup::fewer_axes_beside, Work::Specialised), (handful::merged, Work::Engine), (valued::merged, Work::Engine)];

impl Plan<'_, '_> {
    fn specialised(&self) -> Result<Option<Tensor>> {
        for (kernel, work) in SPECIALISED {
            if let Some(out) = kernel(self)? {
                raise(work);
                return Ok(Some(out));
            }
        }
        Ok(None)
    }
}

impl<'f> Function<'f> {
    /// A function of which nothing more is known.
    pub(crate) fn new(pass: Pass<'f>) -> Function<'f> {
        Function { pass, via: None, op: None, annihilators: &[] }
    }

    /// The function on every element of tensors that broadcast. An element exists where it does in all operands.
    pub(crate) fn apply(&self, operands: &[&Tensor]) -> Result<Tensor> {
        if let [Tensor { storage: Storage::Sparse(s) }] = operands
            && s.pattern.is_unique()
        {
            return self.on_stored(s);
        }
        let shape = common_shape(operands)?;
        if operands.iter().all(|x| x.is_strided()) {
            return Ok(Tensor::from_strided(self.on_strided(operands, &shape)?));
        }
        let side = |x| Side::new(x, &shape, self.via);
        match *operands {
            [x] => self.on_sides(&mut [side(x)?], shape),
            [a, b] => self.on_sides(&mut [side(a)?, side(b)?], shape),
            _ => self.on_sides(&mut operands.try_mapped(|x| side(x))?, shape),
        }
    }

    /// Of one operand: on what is stored and on the fill. The pattern stays.
    pub(super) fn on_stored(&self, s: &Sparse) -> Result<Tensor> {
        debug_assert!(self.via.is_none(), "only beside another operand");
        let fill = match &s.fill {
            fill if faults::is(Fault::UnaryKeepsFill) => Background::of(fill, &s.shape).cast(self.pass.out).into(),
            Fill::Undefined => Fill::Undefined,
            Fill::Scalar(value) => Fill::Scalar(self.pass.on_scalars(&[*value])),
            fill @ Fill::Array(_) => match fill.spread(&s.shape) {
                Some(values) => fill_of(&self.pass.on_arrays(&[&values])?),
                None => Fill::Undefined,
            },
        };
        let values = self.pass.on_arrays(&[&s.values])?;
        Ok(Sparse { shape: s.shape.clone(), pattern: s.pattern.clone(), values, fill }.into())
    }

    /// On strided operands that broadcast to the shape.
    fn on_strided(&self, operands: &[&Tensor], shape: &[usize]) -> Result<Strided> {
        match *operands {
            [Tensor { storage: Storage::Strided(a) }, Tensor { storage: Storage::Strided(b) }] => {
                self.pass.on_arrays(&[&self.wide(a, shape), &self.wide(b, shape)])
            }
            _ => {
                let arrays: Vec<Cow<'_, Strided>> =
                    operands.iter().filter_map(|x| x.strided()).map(|x| self.wide(x, shape)).collect();
                self.on_arrays(&arrays)
            }
        }
    }

    /// An operand as it is met.
    fn wide<'x>(&self, x: &'x Strided, shape: &[usize]) -> Cow<'x, Strided> {
        let x = if x.shape == shape { Cow::Borrowed(x) } else { Cow::Owned(x.broadcast(shape)) };
        match self.via {
            Some(dtype) if dtype != x.dtype => Cow::Owned(x.cast(dtype)),
            _ => x,
        }
    }

    fn on_arrays(&self, arrays: &[Cow<'_, Strided>]) -> Result<Strided> {
        match arrays {
            [a, b] => self.pass.on_arrays(&[a, b]),
            all => self.pass.on_arrays(&all.mapped(|a| &**a)),
        }
    }

    /// On operands of which one at least is sparse.
    pub(super) fn on_sides(&self, sides: &mut [Side<'_>], shape: Shape) -> Result<Tensor> {
        if sides.iter().any(|s| s.repeats(&shape)) {
            let beside_whole = sides.iter().any(|s| s.stored.is_some() && !s.repeats(&shape));
            if beside_whole && !is_dense(&shape, &core_of(&shape, sides), sides) {
                let fill = self.fill(&shape, sides)?;
                self.assign_roles(sides, &fill);
                if let Some(done) = (Plan { function: self, shape: &shape, sides, fill: &fill }).specialised()? {
                    return Ok(done);
                }
            }
            for (i, side) in sides.iter_mut().enumerate() {
                let dtype = self.via.unwrap_or(self.pass.computes[i]);
                let as_fill = self.as_fill(i, side);
                side.spread(&shape, dtype, as_fill)?;
            }
        }
        let fill = self.fill(&shape, sides)?;
        self.assign_roles(sides, &fill);
        if let Some(done) = (Plan { function: self, shape: &shape, sides, fill: &fill }).specialised()? {
            return Ok(done);
        }
        if are_apart(sides) {
            // Kernels are for operands of one level structure, and the engine brings them to one in any case.
            align(&shape, sides, false)?;
            if let Some(done) = (Plan { function: self, shape: &shape, sides, fill: &fill }).specialised()? {
                return Ok(done);
            }
        }
        self.by_engine(sides, fill, shape)
    }

    /// The function of the backgrounds. Fills that are small may give a large one: that is refused before it is computed.
    pub(super) fn fill(&self, shape: &[usize], sides: &[Side<'_>]) -> Result<Background> {
        if sides.iter().any(Side::is_undefined) {
            return Ok(Background::Undefined);
        }
        if let Some(value) = self.annihilated_fill(sides) {
            return Ok(Background::Scalar(value));
        }
        let rest = |i: usize| &sides[if faults::is(Fault::BinaryFillOfLeft) && i == 1 { 0 } else { i }].rest;
        match (rest(0), sides.len()) {
            (x, 1) if faults::is(Fault::UnaryKeepsFill) => return Ok(x.clone().cast(self.pass.out)),
            (Background::Scalar(x), 1) => return Ok(Background::Scalar(self.pass.on_scalars(&[*x]))),
            (Background::Scalar(x), 2) => {
                if let Background::Scalar(y) = rest(1) {
                    return Ok(Background::Scalar(self.pass.on_scalars(&[*x, *y])));
                }
            }
            _ => {}
        }
        let core = core_of(shape, sides);
        if is_dense(shape, &core, sides) {
            may_be_dense(shape, self.pass.out, &core, sides)?;
        }
        let arrays: Vec<Cow<'_, Strided>> = (0..sides.len()).filter_map(|i| rest(i).spread(shape)).collect();
        Ok(Background::of_array(self.on_arrays(&arrays)?).settled())
    }

    /// What each operand's positions are to the result's: an element of which is absent, or annihilates, where it stores
    /// none, drops them.
    fn assign_roles(&self, sides: &mut [Side<'_>], fill: &Background) {
        for i in 0..sides.len() {
            let every =
                sides[i].is_undefined() || self.drops_stored(i, sides, fill) || faults::is(Fault::IntersectionForUnion);
            sides[i].role = if every { Role::Every } else { Role::Any };
        }
    }

    /// Whether positions beside an unstored element of operand `i` would get what the result's fill is: not where that is
    /// undefined, and they would be absent, nor where it came of an annihilator beside NaN.
    fn drops_stored(&self, i: usize, sides: &[Side<'_>], fill: &Background) -> bool {
        let Some(value) = sides[i].constant_fill() else { return false };
        let Some(exact) = self.annihilates(i, value) else { return false };
        let finite = || sides.iter().enumerate().all(|(j, s)| j == i || s.is_stored_finite(self.meets(j)));
        fill.scalar().is_some_and(|f| f.same(self.annihilated(i, value)))
            && (exact
                || faults::is(Fault::NanAnnihilated)
                || context::nan_policy() == NanPolicy::ZeroAnnihilates
                || finite())
    }

    /// Whether `value` as operand `i` makes the others not matter; `Some(exact)` says whether also NaN and infinities.
    fn annihilates(&self, i: usize, value: Scalar) -> Option<bool> {
        if self.annihilators.is_empty() {
            return None;
        }
        let standing = if i == 0 { Standing::Left } else { Standing::Right };
        let compute = self.pass.computes[i];
        let value = value.cast(self.meets(i));
        let exact_dtype = matches!(compute.kind(), DTypeKind::Bool | DTypeKind::Int);
        let is_it = |a: &&Annihilator| {
            (a.side == Standing::Both || a.side == standing) && value.same(Scalar::I8(a.element).cast(value.dtype()))
        };
        self.annihilators.iter().find(is_it).map(|a| a.exact || exact_dtype)
    }

    /// The dtype in which operand `i` meets the others.
    fn meets(&self, i: usize) -> DType {
        self.via.unwrap_or(self.pass.computes[i])
    }

    /// What an annihilator gives, whatever it meets.
    fn annihilated(&self, i: usize, value: Scalar) -> Scalar {
        let one = |j: usize| Scalar::one(self.meets(j));
        match (self.pass.computes.len(), i) {
            (2, 0) => self.pass.on_scalars(&[value, one(1)]),
            (2, _) => self.pass.on_scalars(&[one(0), value]),
            (n, _) => {
                let operands: Vec<Scalar> = (0..n).mapped(|j| if j == i { value } else { one(j) });
                self.pass.on_scalars(&operands)
            }
        }
    }

    /// The fill where one operand's annihilates the others': an unstored zero beside a strided operand's elements; beside a
    /// fill only if that is finite.
    fn annihilated_fill(&self, sides: &[Side<'_>]) -> Option<Scalar> {
        if self.annihilators.is_empty() {
            return None;
        }
        let by_policy = |s: &Side<'_>| s.stored.is_none() && context::nan_policy() == NanPolicy::ZeroAnnihilates;
        let finite =
            |j, s: &Side<'_>| matches!(&s.rest, Background::Array(values) if all_finite_as(values, self.meets(j)));
        sides.iter().enumerate().find_map(|(i, side)| {
            let value = side.constant_fill()?;
            let exact = self.annihilates(i, value)?;
            let mut others = sides.iter().enumerate().filter(|(j, _)| *j != i);
            (exact || others.all(|(j, s)| by_policy(s) || finite(j, s))).then(|| self.annihilated(i, value))
        })
    }

    /// Whether a sparse vector that repeats may become part of the fill. Where its unstored zeros annihilate, it may not: an
    /// element of a fill counts as a value. Nor may a NaN, which counts beside an unstored zero if it is the fill.
    fn as_fill(&self, i: usize, side: &Side<'_>) -> AsFill {
        if side.constant_fill().is_some_and(|f| self.annihilates(i, f).is_some()) {
            AsFill::Never
        } else if self.annihilators.iter().all(|a| a.exact) {
            AsFill::Always
        } else {
            AsFill::IfFinite
        }
    }

    /// The result with this fill, at the positions that the roles give.
    pub(super) fn by_engine(&self, sides: &mut [Side<'_>], fill: Background, shape: Shape) -> Result<Tensor> {
        if let Background::Array(values) = &fill {
            let core = values.unbroadcast().shape;
            if is_dense(&shape, &core, sides) {
                may_be_dense(&shape, self.pass.out, &core, sides)?;
                let dense = |s: &Side<'_>| s.dense(&shape).map(Cow::Owned);
                let arrays = sides.try_mapped(dense)?;
                return Ok(Tensor::from_strided(self.on_arrays(&arrays)?));
            }
        }
        let Some(pattern) = join(&shape, sides, false)? else {
            return Tensor::empty(&shape, self.pass.out, Layout::Coo, fill); // nothing but fills
        };
        let source = |s| Side::source(s, &pattern, None);
        let values = match &*sides {
            [x] => self.pass.values(&pattern, &[source(x)?])?,
            [a, b] => self.pass.values(&pattern, &[source(a)?, source(b)?])?,
            all => self.pass.values(&pattern, &all.try_mapped(source)?)?,
        };
        if !sides.iter().all(Side::reads_no_index) {
            raise(Work::Engine);
        }
        Ok(Sparse { shape, pattern, values, fill: fill.into() }.into())
    }
}

/// Whether they are two sparse operands in different level structures.
fn are_apart(sides: &[Side<'_>]) -> bool {
    let [a, b] = sides else { return false };
    matches!((&a.stored, &b.stored), (Some(x), Some(y)) if !x.pattern.has_levels_of(&y.pattern))
}

/// The shape to which all operands broadcast.
pub(crate) fn common_shape(operands: &[&Tensor]) -> Result<Shape> {
    match operands {
        [x] => Ok(x.shape().into()),
        [a, b] => broadcast_shapes(a.shape(), b.shape()),
        all => all.iter().try_fold(Shape::from(&[][..]), |shape, x| broadcast_shapes(&shape, x.shape())),
    }
}
