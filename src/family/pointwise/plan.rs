//! The plan of a binary op with a sparse operand: what the fill is, which positions are stored, where values come from.

use std::borrow::Cow;
use std::sync::Arc;

use openwork_ops::registry::{Side, Typing};
use openwork_ops::structure::merge::Keep;
use openwork_ops::{BinaryOp, DType, Kind, ReduceOp, Scalar, identity};

use crate::base::context::{self, NanPolicy};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::shape::broadcast_shapes;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::engine::blocks::{self, Kernel, Selected, Source};
use crate::engine::convert;
use crate::engine::convert::cast_sparse;
use crate::levels::coiterate;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::pattern::Pattern;
use crate::tensor::fill::{self, Background, Fill, fill_of};
use crate::tensor::{Sparse, Storage, Tensor};

/// One operand as the plan sees it.
pub(crate) struct Side2<'a> {
    /// Stored elements, if it is sparse: canonical and of the result's shape.
    pub(crate) stored: Option<Cow<'a, Sparse>>,
    pub(crate) background: Background,
}

impl Side2<'_> {
    /// The constant that unstored elements are, if there are any and they are one value.
    pub(super) fn constant_fill(&self) -> Option<Scalar> {
        self.stored.as_ref()?;
        constant(self.background.values()?)
    }

    fn stored_finite(&self) -> bool {
        self.stored.as_ref().is_none_or(|s| all_finite(&s.values))
    }

    /// Whether it is a strided operand as large as the shape.
    pub(super) fn is_full(&self, shape: &[usize]) -> bool {
        self.background.values().is_some_and(|v| v.unbroadcast().len() as u128 == elements(shape))
    }

    /// Every element of the shape.
    ///
    /// # Errors
    /// If the fill is undefined, or memory cannot hold them.
    pub(crate) fn dense(&self) -> Result<Strided> {
        match (&self.stored, self.background.values()) {
            (Some(x), Some(fill)) => convert::to_strided(x, fill),
            (None, Some(values)) => {
                convert::dense_len(&values.shape, values.dtype)?;
                Ok(values.clone())
            }
            (_, None) => Err(error::absent("an undefined fill has no dense form")),
        }
    }
}

/// The shape of a fill without the axes along which it does not vary: those of size 1.
pub(super) fn core_of(fill: &Strided) -> Vec<usize> {
    fill.unbroadcast().shape
}

/// The core of the fill that operands give together, before it is computed.
pub(super) fn core_of_all(shape: &[usize], sides: &[&Side2<'_>]) -> Vec<usize> {
    let varies = |d: usize| sides.iter().filter_map(|s| s.background.values()).any(|v| v.strides[d] != 0);
    (0..shape.len()).map(|d| if varies(d) { shape[d] } else { shape[d].min(1) }).collect()
}

fn elements(shape: &[usize]) -> u128 {
    shape.iter().fold(1u128, |n, &s| n.saturating_mul(s as u128))
}

/// Whether a result whose fill has this core is dense: full along more than one axis that a level holds, or beside a
/// strided operand of the result's size.
pub(super) fn is_dense(shape: &[usize], core: &[usize], sides: &[&Side2<'_>]) -> bool {
    let full = |axis: usize| core[axis] > 1;
    if elements(core) <= 1 {
        return false;
    }
    let patterns = sides.iter().filter_map(|s| s.stored.as_ref()).map(|s| &s.pattern);
    let Some(pattern) = patterns.min_by_key(|p| p.value_dims().len()) else { return true };
    let of_levels = (0..shape.len()).filter(|&x| full(x) && pattern.level_dims().iter().any(|d| d.axis == x)).count();
    let all = |s: &&Side2<'_>| {
        s.stored.is_none() && s.background.values().is_some_and(|v| v.unbroadcast().len() as u128 == elements(core))
    };
    of_levels > 1 || (elements(core) == elements(shape) && sides.iter().copied().any(|s| all(&s)))
}

/// Whether a result with this fill may be strided: free where an operand already is as large, else within budget.
pub(super) fn may_be_dense(shape: &[usize], out: DType, sides: &[&Side2<'_>], core: &[usize]) -> Result<()> {
    if !sides.iter().any(|s| s.is_full(shape)) {
        context::may_densify(shape, out.size(), || {
            let of = |s: &&Side2<'_>| {
                s.background.values().map_or_else(|| "undefined".into(), |v| format!("{:?}", v.unbroadcast().shape))
            };
            let fills: Vec<String> = sides.iter().map(of).collect();
            format!(
                "the fills {} together give a fill of shape {core:?}, which varies along more than one sparse axis",
                fills.join(" and ")
            )
        })?;
    }
    convert::dense_len(shape, out).map(|_| ())
}

pub(crate) fn constant(values: &Strided) -> Option<Scalar> {
    let core = values.unbroadcast();
    (core.len() == 1).then(|| core.at_offset(core.offset))
}

fn all_finite(values: &Strided) -> bool {
    !values.dtype.is_inexact() || identity::all_finite(values.dtype, &values.unbroadcast().dense_bytes())
}

pub(super) fn binary(op: BinaryOp, a: &Tensor, b: &Tensor, common: DType) -> Result<Tensor> {
    let unsupported =
        || error::dtype(&[a.dtype(), b.dtype()], format!("the op is not defined for {common}; cast first"));
    let typing = op.typing(common).ok_or_else(unsupported)?;
    let kernel = Kernel::Binary(op.kernel(typing.compute).ok_or_else(unsupported)?);
    let shape = broadcast_shapes(a.shape(), b.shape())?;
    if let (Some(x), Some(y)) = (a.strided(), b.strided()) {
        let out = map2(&x.broadcast(&shape), &y.broadcast(&shape), common, typing, kernel);
        let out = Tensor::from_strided(out);
        return Ok(out);
    }
    let plan = Plan { op, typing, common, kernel, shape };
    let looked_up = match plan.looked_up(a, b, Side::Right)? {
        None => plan.looked_up(b, a, Side::Left)?,
        done => done,
    };
    if let Some(out) = looked_up {
        return Ok(out);
    }
    let left = plan.side(a, Side::Left)?;
    let right = plan.side(b, Side::Right)?;
    let out = plan.run(&left, &right)?;
    Ok(out)
}

/// Two arrays of one shape, through the promoted dtype into the compute dtype.
fn map2(a: &Strided, b: &Strided, common: DType, typing: Typing, kernel: Kernel<'_>) -> Strided {
    // Blocks cast straight to the compute dtype: the same as through the common one, except where an
    // integer would wrap or round on the way.
    let narrow = |x: &Strided| if x.dtype == common || common == typing.compute { x.clone() } else { x.cast(common) };
    blocks::map_strided(&[&narrow(a), &narrow(b)], typing.compute, typing.out, kernel)
}

/// One application: the op, its dtypes, kernel and broadcast shape.
pub(super) struct Plan {
    pub(super) op: BinaryOp,
    pub(super) typing: Typing,
    pub(super) common: DType,
    pub(super) kernel: Kernel<'static>,
    pub(super) shape: Vec<usize>,
}

impl Plan {
    /// Prepares an operand: broadcast, coalesced, its fill spread over the shape.
    fn side<'a>(&self, x: &'a Tensor, side: Side) -> Result<Side2<'a>> {
        let sparse = match &x.storage {
            Storage::Strided(s) => {
                return Ok(Side2 {
                    stored: None,
                    background: Background::Values(s.broadcast(&self.shape).cast(self.common)),
                });
            }
            Storage::Sparse(s) => &**s,
        };
        if sparse.shape == self.shape {
            let stored = if sparse.pattern.is_canonical() {
                Cow::Borrowed(sparse)
            } else {
                Cow::Owned(convert::coalesce(sparse, ReduceOp::Sum)?)
            };
            let stored = self.in_common(stored);
            return Ok(Side2 { background: stored.background(), stored: Some(stored) });
        }
        // Only new axes of size 1: nothing repeats.
        let lead = self.shape.len() - sparse.shape.len();
        if self.shape[lead..] == sparse.shape[..] && self.shape[..lead].iter().all(|&n| n == 1) {
            let padded = (0..lead).try_fold(x.clone(), |t, _| t.expand_dims(0))?;
            return self.side_of(padded);
        }
        // Not where its unstored zeros annihilate: a fill element would count as a value.
        let small = is_cheaper_as_fill(x, &self.shape, self.common);
        let annihilates =
            sparse.background().values().and_then(constant).is_some_and(|f| self.is_annihilator(f, side).is_some());
        if let (Background::Values(fill), true, false) = (sparse.background(), small, annihilates) {
            if convert::dense_len(&sparse.shape, sparse.dtype()).is_err() {
                // What it would store if it were repeated is more still.
                context::may_densify(&self.shape, self.common.size(), || {
                    format!("a vector of shape {:?} is repeated over what the other operand stores", sparse.shape)
                })?;
            }
            let values = convert::to_strided(sparse, &fill)?;
            // Beside an unstored zero, a NaN counts if it is the fill and not if it is stored: then the two must stay apart.
            if self.op.annihilators().iter().all(|a| a.exact) || all_finite(&values.cast(self.common)) {
                return self.side_of(Tensor::from_strided(values));
            }
        }
        self.side_of(x.broadcast_to(&self.shape)?)
    }

    /// A tensor of the result's shape, or a strided one that broadcasts to it.
    fn side_of<'a>(&self, x: Tensor) -> Result<Side2<'a>> {
        match x.storage {
            Storage::Strided(s) => {
                let values = s.broadcast(&self.shape).cast(self.common);
                Ok(Side2 { stored: None, background: Background::Values(values) })
            }
            Storage::Sparse(s) => {
                let stored = convert::coalesce(&s, ReduceOp::Sum)?;
                let stored = self.in_common(Cow::Owned(stored));
                Ok(Side2 { background: stored.background(), stored: Some(stored) })
            }
        }
    }

    /// Values and fill in the common dtype, where blocks could not cast them without detour.
    pub(super) fn in_common<'a>(&self, s: Cow<'a, Sparse>) -> Cow<'a, Sparse> {
        if s.dtype() == self.common {
            return s;
        }
        Cow::Owned(cast_sparse(&s, self.common))
    }

    /// Whether `value` on this side annihilates; `Some(exact)` says whether it does for all values.
    fn is_annihilator(&self, value: Scalar, side: Side) -> Option<bool> {
        let hit = |a: &&openwork_ops::Annihilator| {
            (a.side == side || a.side == Side::Both) && value.same(Scalar::I8(a.element).cast(value.dtype()))
        };
        let exact_dtype = matches!(self.typing.compute.kind(), Kind::Bool | Kind::Int);
        self.op.annihilators().iter().find(hit).map(|a| a.exact || exact_dtype)
    }

    /// Whether the unstored elements of `fill_side` make the result constant beside what `other` stores.
    pub(super) fn annihilates_stored(&self, fill_side: &Side2<'_>, side: Side, other: &Side2<'_>) -> bool {
        let Some(exact) = fill_side.constant_fill().and_then(|f| self.is_annihilator(f, side)) else { return false };
        exact
            || faults::is(Fault::NanAnnihilated)
            || context::nan_policy() == NanPolicy::ZeroAnnihilates
            || other.stored_finite()
    }

    /// What an annihilator gives, whatever it meets.
    pub(super) fn annihilated(&self, value: Scalar, side: Side) -> Strided {
        let one = Strided::constant(Scalar::one(self.common), &self.shape);
        let z = Strided::constant(value, &self.shape);
        let (l, r) = if side == Side::Left { (&z, &one) } else { (&one, &z) };
        map2(l, r, self.common, self.typing, self.kernel)
    }

    /// The op of the backgrounds. It is as large as they are together: whether that is too large has been asked.
    pub(super) fn fill(&self, a: &Side2<'_>, b: &Side2<'_>) -> Background {
        let (Some(x), Some(y)) = (a.background.values(), b.background.values()) else { return Background::Undefined };
        if let Some(fill) = self.annihilated_fill(a, b) {
            return Background::Values(fill);
        }
        let y = if faults::is(Fault::BinaryFillOfLeft) { x } else { y };
        Background::Values(map2(x, y, self.common, self.typing, self.kernel))
    }

    /// The core of the fill that two operands give, where it has to be computed.
    pub(super) fn core_of_fill(&self, a: &Side2<'_>, b: &Side2<'_>) -> Vec<usize> {
        let known = a.is_undefined() || b.is_undefined() || self.annihilated_fill(a, b).is_some();
        if known { vec![1; self.shape.len()] } else { core_of_all(&self.shape, &[a, b]) }
    }

    /// The fill where one side's annihilates the other's.
    fn annihilated_fill(&self, a: &Side2<'_>, b: &Side2<'_>) -> Option<Strided> {
        let (x, y) = (a.background.values()?, b.background.values()?);
        for (mine, side, other, values) in [(a, Side::Left, b, y), (b, Side::Right, a, x)] {
            let Some(fill) = mine.constant_fill() else { continue };
            let Some(exact) = self.is_annihilator(fill, side) else { continue };
            // An unstored zero beside a strided operand's elements; beside a fill only if that is finite.
            let beside_elements = other.stored.is_none() && context::nan_policy() == NanPolicy::ZeroAnnihilates;
            if exact || beside_elements || (constant(values).is_none() && all_finite(values)) {
                return Some(self.annihilated(fill, side));
            }
        }
        None
    }

    fn run(&self, a: &Side2<'_>, b: &Side2<'_>) -> Result<Tensor> {
        // Two fills that are small may give a large one: that is refused before it is computed.
        let core = self.core_of_fill(a, b);
        if is_dense(&self.shape, &core, &[a, b]) {
            may_be_dense(&self.shape, self.typing.out, &[a, b], &core)?;
        }
        let fill = match self.fill(a, b) {
            // `0 / rows` varies in name only, and would keep the next op from staying sparse.
            Background::Values(values) => match fill::single(&values) {
                Some(value) => Background::Values(Strided::constant(value, &self.shape)),
                None => Background::Values(values),
            },
            undefined => undefined,
        };
        // A position may be dropped only if the fill is what the annihilator gives: not where the fill is undefined (the
        // position would be absent) or came of an annihilator beside NaN.
        let annihilates =
            |fill_side: &Side2<'_>, side, other: &Side2<'_>| self.drops_stored(&fill, fill_side, side, other);
        let keep = Keep {
            left: b.background.values().is_some() && !annihilates(b, Side::Right, a),
            right: a.background.values().is_some() && !annihilates(a, Side::Left, b),
        };
        let keep = if faults::is(Fault::IntersectionForUnion) { Keep { left: false, right: false } } else { keep };
        if let Background::Values(values) = &fill
            && is_dense(&self.shape, &core_of(values), &[a, b])
        {
            return self.densify(a, b, values);
        }
        let (pattern, left, right) = match (&a.stored, &b.stored) {
            (Some(x), Some(y)) if x.pattern.is_same(&y.pattern) => {
                (x.pattern.clone(), Source::values(&x.values), Source::values(&y.values))
            }
            (Some(x), Some(y)) => {
                let (x, y) = self.alike(x, y)?;
                let merged = coiterate::merge(&x.pattern, &y.pattern, keep);
                let pattern = Arc::new(merged.pattern);
                let left = selected(&x, &a.background, &pattern, Selected(merged.left));
                let right = selected(&y, &b.background, &pattern, Selected(merged.right));
                (pattern, left, right)
            }
            (Some(x), None) => (x.pattern.clone(), Source::values(&x.values), beside(&b.background, &x.pattern)),
            (None, Some(y)) => (y.pattern.clone(), beside(&a.background, &y.pattern), Source::values(&y.values)),
            (None, None) => {
                // Both became backgrounds (two vectors along different axes): dense, or there is no plan.
                return match &fill {
                    Background::Values(values) => self.densify(a, b, values),
                    Background::Undefined => Err(error::layout("no operand has a pattern")),
                };
            }
        };
        let values = self.values(&pattern, left, right);
        let fill = match &fill {
            Background::Undefined => Fill::Undefined,
            Background::Values(values) => fill_of(values),
        };
        let out = Sparse { shape: self.shape.clone(), pattern, values, fill };
        Ok(out.into())
    }

    pub(super) fn values(&self, pattern: &Arc<Pattern>, left: Source, right: Source) -> Strided {
        blocks::values(pattern, &[left, right], &[self.typing.compute; 2], self.typing.out, self.kernel)
    }

    /// The result as a strided tensor: free where an operand already is one of that size, else within budget.
    fn densify(&self, a: &Side2<'_>, b: &Side2<'_>, fill: &Strided) -> Result<Tensor> {
        may_be_dense(&self.shape, self.typing.out, &[a, b], &core_of(fill))?;
        let (x, y) = (a.dense()?, b.dense()?);
        let out = map2(&x, &y, self.common, self.typing, self.kernel);
        Ok(Tensor::from_strided(out))
    }

    /// Brings two sparse operands to one level structure.
    fn alike<'s>(&self, x: &'s Sparse, y: &'s Sparse) -> Result<(Cow<'s, Sparse>, Cow<'s, Sparse>)> {
        let (from_x, from_y) = (x.pattern.spec(), y.pattern.spec());
        let (dims_x, dims_y) = (x.pattern.value_dims(), y.pattern.value_dims());
        let undefined = x.fill.is_undefined() || y.fill.is_undefined();
        let mut spec = if undefined && dims_x != dims_y {
            // A row of value axes cannot hold absent elements.
            LevelSpec::of_layout(Layout::Coo, &self.shape)?
        } else if dims_x.len() <= dims_y.len() {
            from_x.clone()
        } else {
            from_y.clone()
        };
        spec.levels = convert::without_singletons(spec.levels);
        let to = |s: &'s Sparse, have: &LevelSpec| -> Result<Cow<'s, Sparse>> {
            if *have == spec { Ok(Cow::Borrowed(s)) } else { convert::convert(s, &spec).map(Cow::Owned) }
        };
        Ok((to(x, &from_x)?, to(y, &from_y)?))
    }
}

/// A sparse vector along one axis is cheaper as a fill than repeated along the others, if its dense form fits the
/// budget, or is no longer than what repeating would store.
pub(super) fn is_cheaper_as_fill(x: &Tensor, shape: &[usize], dtype: DType) -> bool {
    let real_axes = x.shape().iter().filter(|&&n| n > 1).count();
    let result = shape.iter().fold(1u128, |n, &s| n.saturating_mul(s as u128));
    let repeated = (x.nse() as u128).saturating_mul(result / x.size().max(1));
    let bytes = x.size().saturating_mul(dtype.size() as u128);
    real_axes <= 1 && (bytes <= u128::from(context::densify_budget()) || x.size() <= repeated)
}

/// What a strided operand has at the positions of a pattern.
fn beside(background: &Background, pattern: &Arc<Pattern>) -> Source {
    match background.values() {
        Some(values) => {
            if constant(values).is_none() {
                raise(Work::Engine); // the pattern says where to look
            }
            Source::at(values, pattern)
        }
        None => Source::Constant(Scalar::Bool(false)),
    }
}

/// What a sparse operand has at the positions of a merged pattern.
fn selected(s: &Sparse, background: &Background, pattern: &Arc<Pattern>, select: Selected) -> Source {
    let fallback = match background.values() {
        Some(values) => Source::at(values, pattern),
        None => Source::Constant(Scalar::zero(s.dtype())), // never selected
    };
    Source::Select {
        values: s.values.to_contiguous().into_owned(),
        row: s.pattern.block(),
        select,
        fallback: Box::new(fallback),
    }
}
