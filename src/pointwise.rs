//! Elementwise ops: one plan for every layout, fill and dtype.
//!
//! The result's fill is the op run on the operands' fills. A strided operand beside a sparse one is
//! nothing but a fill that varies; so `x - x.mean(0)` keeps the pattern of `x` and gets a fill per column.

use std::borrow::Cow;
use std::sync::Arc;

use openwork_ops::registry::{Side, Typing};
use openwork_ops::structure::merge::Keep;
use openwork_ops::{BinaryOp, DType, Kind, Number, ReduceOp, Scalar, UnaryOp, identity, promote};

use crate::blocks::{self, Kernel, Selected, Source};
use crate::coiterate;
use crate::context::{self, NanPolicy, Path, Step};
use crate::convert;
use crate::error::{self, Result};
use crate::faults::{self, Fault};
use crate::fill::{Background, Fill, fill_of};
use crate::layout::{Layout, LevelSpec};
use crate::pattern::Pattern;
use crate::strided::Strided;
use crate::tensor::{Sparse, Storage, Tensor};

/// The right-hand side of a binary op: a tensor, or a Rust number that takes the tensor's dtype where its
/// kind allows (see [`Number`]).
#[derive(Clone)]
pub enum Operand<'a> {
    /// A tensor, with its dtype.
    Tensor(Cow<'a, Tensor>),
    /// A number, weakly typed.
    Number(Number),
}

impl<'a> From<&'a Tensor> for Operand<'a> {
    fn from(tensor: &'a Tensor) -> Operand<'a> {
        Operand::Tensor(Cow::Borrowed(tensor))
    }
}

impl From<Tensor> for Operand<'_> {
    fn from(tensor: Tensor) -> Self {
        Operand::Tensor(Cow::Owned(tensor))
    }
}

macro_rules! operand_from {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Operand<'_> {
            fn from(value: $ty) -> Self {
                Operand::Number(value.into())
            }
        }
    )*};
}
operand_from!(
    bool,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    openwork_ops::f16,
    openwork_ops::bf16,
    f32,
    f64,
    openwork_ops::c64,
    openwork_ops::c128,
    Scalar
);

impl Tensor {
    /// Applies a registered unary op. The result has the same pattern; its fill is the op of the fill.
    ///
    /// Cost: O(nse + size of the fill).
    ///
    /// # Errors
    /// If the op is not defined for the dtype.
    pub fn unary(&self, op: UnaryOp) -> Result<Tensor> {
        let unsupported =
            || error::dtype(op.name(), &[self.dtype()], "the op is not defined for this dtype; cast first");
        let typing = op.typing(self.dtype()).ok_or_else(unsupported)?;
        let kernel = Kernel::Unary(op.kernel(typing.compute).ok_or_else(unsupported)?);
        let apply = |x: &Strided| blocks::map_strided(&[x], typing.compute, typing.out, kernel);
        let (out, path) = match &self.storage {
            Storage::Strided(s) => (Tensor::from_strided(apply(s)), Path::Strided),
            Storage::Sparse(s) => {
                // Duplicates mean their sum, which negation alone commutes with.
                let s = if s.pattern.is_unique() || op == UnaryOp::Neg {
                    Cow::Borrowed(&**s)
                } else {
                    Cow::Owned(convert::coalesce(op.name(), s, ReduceOp::Sum)?)
                };
                let fill = match s.background() {
                    Background::Undefined => Fill::Undefined,
                    Background::Values(values) if faults::is(Fault::UnaryKeepsFill) => {
                        fill_of(&values.cast(typing.out))
                    }
                    Background::Values(values) => fill_of(&apply(&values)),
                };
                let out = Sparse { shape: s.shape.clone(), pattern: s.pattern.clone(), values: apply(&s.values), fill };
                (out.into(), Path::Values)
            }
        };
        record(op.name(), path, &[self], &out);
        Ok(out)
    }

    /// Applies a registered binary op with full broadcasting and dtype promotion.
    ///
    /// The fill of the result is the op of the fills; stored are the positions where the result may differ
    /// from it. Cost: O(nse of both + size of the result's fill).
    ///
    /// # Errors
    /// If shapes do not broadcast, dtypes do not promote or do not have the op, or the result is not sparse
    /// and exceeds the densify budget.
    pub fn binary<'a>(&self, op: BinaryOp, other: impl Into<Operand<'a>>) -> Result<Tensor> {
        match other.into() {
            Operand::Tensor(other) => {
                let dtypes = [self.dtype(), other.dtype()];
                let why = "no dtype holds the values of both; cast one side";
                let common = promote(dtypes[0], dtypes[1]).ok_or_else(|| error::dtype(op.name(), &dtypes, why))?;
                let common = if faults::is(Fault::PromotedToLeft) { dtypes[0] } else { common };
                binary(op, self, &other, common)
            }
            Operand::Number(number) => binary_number(op, self, number, false),
        }
    }

    /// `number op self`: the number stands on the left.
    ///
    /// # Errors
    /// As [`Tensor::binary`].
    pub fn binary_from(&self, op: BinaryOp, number: impl Into<Number>) -> Result<Tensor> {
        binary_number(op, self, number.into(), true)
    }
}

fn binary_number(op: BinaryOp, x: &Tensor, number: Number, reverse: bool) -> Result<Tensor> {
    let common = number.meets(x.dtype());
    let value = number.scalar().fit(common).map_err(error::does_not_fit(op.name()))?;
    let scalar = Tensor::from_strided(Strided::constant(value, &[]));
    if reverse { binary(op, &scalar, x, common) } else { binary(op, x, &scalar, common) }
}

/// The broadcast shape of two shapes.
pub(crate) fn broadcast_shapes(op: &'static str, a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    let ndim = a.len().max(b.len());
    let size = |s: &[usize], d: usize| if d + s.len() < ndim { 1 } else { s[d + s.len() - ndim] };
    let axis = |d| match (size(a, d), size(b, d)) {
        (x, y) if x == y || y == 1 => Ok(x),
        (1, y) => Ok(y),
        (x, y) => Err(error::shape(
            op,
            &[a, b],
            format!("sizes {x} and {y} do not broadcast (counted from the last, axis {})", ndim - d),
        )),
    };
    (0..ndim).map(axis).collect()
}

/// One operand as the plan sees it.
struct Side2<'a> {
    /// Stored elements, if it is sparse: canonical and of the result's shape.
    stored: Option<Cow<'a, Sparse>>,
    background: Background,
}

impl Side2<'_> {
    /// The constant that unstored elements are, if there are any and they are one value.
    fn constant_fill(&self) -> Option<Scalar> {
        self.stored.as_ref()?;
        constant(self.background.values()?)
    }

    fn stored_finite(&self) -> bool {
        self.stored.as_ref().is_none_or(|s| all_finite(&s.values))
    }
}

fn constant(values: &Strided) -> Option<Scalar> {
    let core = values.unbroadcast();
    (core.len() == 1).then(|| core.at_offset(core.offset))
}

fn all_finite(values: &Strided) -> bool {
    !values.dtype.is_inexact() || identity::all_finite(values.dtype, &values.unbroadcast().dense_bytes())
}

fn binary(op: BinaryOp, a: &Tensor, b: &Tensor, common: DType) -> Result<Tensor> {
    let unsupported =
        || error::dtype(op.name(), &[a.dtype(), b.dtype()], format!("the op is not defined for {common}; cast first"));
    let typing = op.typing(common).ok_or_else(unsupported)?;
    let kernel = Kernel::Binary(op.kernel(typing.compute).ok_or_else(unsupported)?);
    let shape = broadcast_shapes(op.name(), a.shape(), b.shape())?;
    if let (Some(x), Some(y)) = (a.strided(), b.strided()) {
        let out = map2(&x.broadcast(&shape), &y.broadcast(&shape), common, typing, kernel);
        let out = Tensor::from_strided(out);
        record(op.name(), Path::Strided, &[a, b], &out);
        return Ok(out);
    }
    let plan = Plan { op, typing, common, kernel, shape };
    let left = plan.side(a, Side::Left)?;
    let right = plan.side(b, Side::Right)?;
    let (out, path) = plan.run(&left, &right)?;
    record(op.name(), path, &[a, b], &out);
    Ok(out)
}

/// Two arrays of one shape, through the promoted dtype into the compute dtype.
fn map2(a: &Strided, b: &Strided, common: DType, typing: Typing, kernel: Kernel) -> Strided {
    // Blocks cast straight to the compute dtype: the same as through the common one, except where an
    // integer would wrap or round on the way.
    let narrow = |x: &Strided| if x.dtype == common || common == typing.compute { x.clone() } else { x.cast(common) };
    blocks::map_strided(&[&narrow(a), &narrow(b)], typing.compute, typing.out, kernel)
}

struct Plan {
    op: BinaryOp,
    typing: Typing,
    common: DType,
    kernel: Kernel,
    shape: Vec<usize>,
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
                Cow::Owned(convert::coalesce(self.op.name(), sparse, ReduceOp::Sum)?)
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
        // A vector along one axis is cheaper as a fill than repeated along the others: if its dense form fits the budget, or
        // is no longer than what repeating would store. Not where its unstored zeros annihilate: a fill element would count
        // as a value.
        let real_axes = sparse.shape.iter().filter(|&&n| n > 1).count();
        let result = self.shape.iter().fold(1u128, |n, &s| n.saturating_mul(s as u128));
        let repeated = (x.nse() as u128).saturating_mul(result / x.size().max(1));
        let bytes = x.size().saturating_mul(self.common.size() as u128);
        let small = real_axes <= 1 && (bytes <= u128::from(context::densify_budget()) || x.size() <= repeated);
        let annihilates =
            sparse.background().values().and_then(constant).is_some_and(|f| self.is_annihilator(f, side).is_some());
        if let (Background::Values(fill), true, false) = (sparse.background(), small, annihilates) {
            let values = convert::to_strided(self.op.name(), sparse, &fill)?;
            // Beside an unstored zero, a NaN counts if it is the fill and not if it is stored: then the two must stay apart.
            if self.op.annihilators().iter().all(|a| a.exact) || all_finite(&values) {
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
                let stored = convert::coalesce(self.op.name(), &s, ReduceOp::Sum)?;
                let stored = self.in_common(Cow::Owned(stored));
                Ok(Side2 { background: stored.background(), stored: Some(stored) })
            }
        }
    }

    /// Values and fill in the common dtype, where blocks could not cast them without detour.
    fn in_common<'a>(&self, s: Cow<'a, Sparse>) -> Cow<'a, Sparse> {
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
    fn annihilates_stored(&self, fill_side: &Side2<'_>, side: Side, other: &Side2<'_>) -> bool {
        let Some(exact) = fill_side.constant_fill().and_then(|f| self.is_annihilator(f, side)) else { return false };
        exact
            || faults::is(Fault::NanAnnihilated)
            || context::nan_policy() == NanPolicy::ZeroAnnihilates
            || other.stored_finite()
    }

    /// What an annihilator gives, whatever it meets.
    fn annihilated(&self, value: Scalar, side: Side) -> Strided {
        let one = Strided::constant(Scalar::one(self.common), &self.shape);
        let z = Strided::constant(value, &self.shape);
        let (l, r) = if side == Side::Left { (&z, &one) } else { (&one, &z) };
        map2(l, r, self.common, self.typing, self.kernel)
    }

    /// The op of the backgrounds.
    fn fill(&self, a: &Side2<'_>, b: &Side2<'_>) -> Background {
        let (Some(x), Some(y)) = (a.background.values(), b.background.values()) else { return Background::Undefined };
        for (mine, side, other, values) in [(a, Side::Left, b, y), (b, Side::Right, a, x)] {
            let Some(fill) = mine.constant_fill() else { continue };
            let Some(exact) = self.is_annihilator(fill, side) else { continue };
            // An unstored zero beside a strided operand's elements; beside a fill only if that is finite.
            let beside_elements = other.stored.is_none() && context::nan_policy() == NanPolicy::ZeroAnnihilates;
            if exact || beside_elements || (constant(values).is_none() && all_finite(values)) {
                return Background::Values(self.annihilated(fill, side));
            }
        }
        let y = if faults::is(Fault::BinaryFillOfLeft) { x } else { y };
        Background::Values(map2(x, y, self.common, self.typing, self.kernel))
    }

    fn run(&self, a: &Side2<'_>, b: &Side2<'_>) -> Result<(Tensor, Path)> {
        let fill = self.fill(a, b);
        // A position may be dropped only if the fill is what the annihilator gives: not where the fill is undefined (the
        // position would be absent) or came of an annihilator beside NaN.
        let filled = fill.values().and_then(constant);
        let annihilates = |fill_side: &Side2<'_>, side, other: &Side2<'_>| {
            let given = fill_side.constant_fill().and_then(|z| constant(&self.annihilated(z, side)));
            filled.zip(given).is_some_and(|(f, g)| f.same(g)) && self.annihilates_stored(fill_side, side, other)
        };
        let keep = Keep {
            left: b.background.values().is_some() && !annihilates(b, Side::Right, a),
            right: a.background.values().is_some() && !annihilates(a, Side::Left, b),
        };
        let keep = if faults::is(Fault::IntersectionForUnion) { Keep { left: false, right: false } } else { keep };
        if let Background::Values(values) = &fill
            && self.is_dense(values, a, b)
        {
            return self.densify(a, b, values);
        }
        let (pattern, left, right, path) = match (&a.stored, &b.stored) {
            (Some(x), Some(y)) if x.pattern.is_same(&y.pattern) => {
                (x.pattern.clone(), Source::values(&x.values), Source::values(&y.values), Path::Values)
            }
            (Some(x), Some(y)) => {
                let (x, y) = self.alike(x, y)?;
                let merged = coiterate::merge(&x.pattern, &y.pattern, keep);
                let pattern = Arc::new(merged.pattern);
                let left = selected(&x, &a.background, &pattern, Selected(merged.left));
                let right = selected(&y, &b.background, &pattern, Selected(merged.right));
                (pattern, left, right, Path::Engine)
            }
            (Some(x), None) => {
                (x.pattern.clone(), Source::values(&x.values), beside(&b.background, &x.pattern), Path::Engine)
            }
            (None, Some(y)) => {
                (y.pattern.clone(), beside(&a.background, &y.pattern), Source::values(&y.values), Path::Engine)
            }
            (None, None) => {
                // Both became backgrounds (two vectors along different axes): dense, or there is no plan.
                return match &fill {
                    Background::Values(values) => self.densify(a, b, values),
                    Background::Undefined => Err(error::layout(self.op.name(), "no operand has a pattern")),
                };
            }
        };
        let values = self.values(&pattern, left, right);
        let path = if path == Path::Engine
            && (constant_or_none(&a.background, a) && constant_or_none(&b.background, b))
            && a.stored.is_some() != b.stored.is_some()
        {
            Path::Values // a scalar operand: no index was read
        } else {
            path
        };
        let fill = match &fill {
            Background::Undefined => Fill::Undefined,
            Background::Values(values) => fill_of(values),
        };
        let out = Sparse { shape: self.shape.clone(), pattern, values, fill };
        Ok((out.into(), path))
    }

    fn values(&self, pattern: &Arc<Pattern>, left: Source, right: Source) -> Strided {
        let mut shape = vec![pattern.positions];
        shape.extend(pattern.value_shape());
        let full = |s: &Source| match s {
            Source::Constant(value) => Some(Strided::constant(*value, &shape)),
            Source::Strided(values) if values.shape == shape => Some(values.clone()),
            _ => None,
        };
        if let (Some(x), Some(y)) = (full(&left), full(&right)) {
            return blocks::map_strided(&[&x, &y], self.typing.compute, self.typing.out, self.kernel);
        }
        let n = shape.iter().product();
        let buffer = blocks::run(n, &[left, right], self.typing.compute, self.typing.out, self.kernel);
        Strided::new(buffer, self.typing.out, shape)
    }

    /// Whether a fill with these values is as large as the tensor: full along more than one axis that a
    /// level holds, or beside a strided operand of the result's size.
    fn is_dense(&self, fill: &Strided, a: &Side2<'_>, b: &Side2<'_>) -> bool {
        let core = fill.unbroadcast();
        let full = |axis: usize| core.shape[axis] > 1;
        if core.len() <= 1 {
            return false;
        }
        let Some(pattern) =
            [a, b].iter().filter_map(|s| s.stored.as_ref()).map(|s| &s.pattern).min_by_key(|p| p.value_dims().len())
        else {
            return true;
        };
        let of_levels =
            (0..self.shape.len()).filter(|&x| full(x) && pattern.level_dims().iter().any(|d| d.axis == x)).count();
        let all = |s: &&Side2<'_>| {
            s.stored.is_none() && s.background.values().is_some_and(|v| v.unbroadcast().len() == core.len())
        };
        let as_large = core.len() == self.shape.iter().product::<usize>();
        of_levels > 1 || (as_large && [a, b].iter().any(all))
    }

    /// The result as a strided tensor: free where an operand already is one of that size, else within budget.
    fn densify(&self, a: &Side2<'_>, b: &Side2<'_>, fill: &Strided) -> Result<(Tensor, Path)> {
        let full = |s: &Side2<'_>| {
            s.background
                .values()
                .is_some_and(|v| v.unbroadcast().len() as u128 == self.shape.iter().map(|&n| n as u128).product())
        };
        if !full(a) && !full(b) {
            context::may_densify(self.op.name(), &self.shape, self.typing.out.size(), || {
                let core = fill.unbroadcast().shape;
                let of = |s: &Side2<'_>| {
                    s.background.values().map_or_else(|| "undefined".into(), |v| format!("{:?}", v.unbroadcast().shape))
                };
                format!(
                    "the fills {} and {} together give a fill of shape {core:?}, which varies along more than one sparse axis",
                    of(a),
                    of(b)
                )
            })?;
        }
        let dense = |s: &Side2<'_>| -> Result<Strided> {
            match (&s.stored, s.background.values()) {
                (Some(x), Some(fill)) => convert::to_strided(self.op.name(), x, fill),
                (None, Some(values)) => Ok(values.clone()),
                (_, None) => Err(error::absent(self.op.name(), "an undefined fill has no dense form")),
            }
        };
        let n = convert::dense_len(self.op.name(), &self.shape, self.typing.out)?;
        let (x, y) = (dense(a)?, dense(b)?);
        debug_assert_eq!(n, x.len());
        let out = map2(&x, &y, self.common, self.typing, self.kernel);
        Ok((Tensor::from_strided(out), Path::Densified))
    }

    /// Brings two sparse operands to one level structure.
    fn alike<'s>(&self, x: &'s Sparse, y: &'s Sparse) -> Result<(Cow<'s, Sparse>, Cow<'s, Sparse>)> {
        let (from_x, from_y) = (x.pattern.spec(), y.pattern.spec());
        let (dims_x, dims_y) = (x.pattern.value_dims(), y.pattern.value_dims());
        let undefined = x.fill.is_undefined() || y.fill.is_undefined();
        let mut spec = if undefined && dims_x != dims_y {
            // A row of value axes cannot hold absent elements.
            LevelSpec::of_layout(self.op.name(), Layout::Coo, &self.shape)?
        } else if dims_x.len() <= dims_y.len() {
            from_x.clone()
        } else {
            from_y.clone()
        };
        spec.levels = convert::without_singletons(spec.levels);
        let to = |s: &'s Sparse, have: &LevelSpec| -> Result<Cow<'s, Sparse>> {
            if *have == spec {
                Ok(Cow::Borrowed(s))
            } else {
                convert::convert(self.op.name(), s, &spec).map(Cow::Owned)
            }
        };
        Ok((to(x, &from_x)?, to(y, &from_y)?))
    }
}

fn constant_or_none(background: &Background, side: &Side2<'_>) -> bool {
    side.stored.is_some() || background.values().and_then(constant).is_some()
}

/// What a strided operand has at the positions of a pattern.
fn beside(background: &Background, pattern: &Arc<Pattern>) -> Source {
    match background.values() {
        Some(values) => Source::at(values, pattern),
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

/// Values and fill cast, pattern shared.
pub(crate) fn cast_sparse(s: &Sparse, dtype: DType) -> Sparse {
    let fill = match &s.fill {
        Fill::Undefined => Fill::Undefined,
        Fill::Scalar(value) => Fill::Scalar(value.cast(dtype)),
        Fill::Array(values) => match values.strided() {
            Some(values) => fill_of(&values.cast(dtype)),
            None => s.fill.clone(),
        },
    };
    let via = if faults::is(Fault::CastThroughInt8) { DType::I8 } else { dtype };
    Sparse { shape: s.shape.clone(), pattern: s.pattern.clone(), values: s.values.cast(via).cast(dtype), fill }
}

/// Records a step for [`context::explain`].
pub(crate) fn record(op: &'static str, path: Path, operands: &[&Tensor], result: &Tensor) {
    context::record(|| Step {
        op,
        path,
        operands: operands.iter().map(|t| t.summary()).collect(),
        result: result.summary(),
    });
}
