//! The operands of an elementwise op as the engine sees them: what each stores, what it is everywhere else, and when
//! what they are everywhere else is as large as a dense result.

use crate::base::mapped::Mapped;
use std::ops::Deref;

use openwork_ops::{DType, ReduceOp, Scalar, identity};

use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::shape::elements;
use crate::base::strided::Strided;
use crate::engine::blocks::Source;
use crate::engine::convert;
use crate::engine::join::{Place, Role};
use crate::levels::pattern::Pattern;
use crate::tensor::fill::Background;
use crate::tensor::{Sparse, Storage, Tensor};

/// One operand.
pub(crate) struct Side<'a> {
    /// Stored elements, if it is sparse, without duplicates. Of its own shape until it is spread.
    pub(crate) stored: Option<Stored<'a>>,
    /// What all else is, over the result's shape. A strided operand is nothing but a fill that varies.
    pub(crate) rest: Background,
    pub(crate) role: Role,
    pub(super) place: Place,
}

/// What an operand stores: its own, or made for the op. (A `Cow` would make room for the latter in every operand.)
pub(crate) enum Stored<'a> {
    Own(&'a Sparse),
    Made(Box<Sparse>),
}

impl Deref for Stored<'_> {
    type Target = Sparse;

    fn deref(&self) -> &Sparse {
        match self {
            Stored::Own(s) => s,
            Stored::Made(s) => s,
        }
    }
}

impl<'a> From<&'a Sparse> for Stored<'a> {
    fn from(own: &'a Sparse) -> Stored<'a> {
        Stored::Own(own)
    }
}

impl From<Sparse> for Stored<'_> {
    fn from(made: Sparse) -> Self {
        Stored::Made(Box::new(made))
    }
}

impl Stored<'_> {
    fn into_sparse(self) -> Sparse {
        match self {
            Stored::Own(s) => s.clone(),
            Stored::Made(s) => *s,
        }
    }
}

/// Whether a sparse vector that repeats may become part of the fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AsFill {
    Always,
    /// Where NaN and infinities count in a fill, and do not where they are stored.
    IfFinite,
    Never,
}

impl<'a> Side<'a> {
    /// An operand that broadcasts to the shape, cast to `via` first if given.
    pub(crate) fn new(x: &'a Tensor, shape: &[usize], via: Option<DType>) -> Result<Side<'a>> {
        let s = match &x.storage {
            Storage::Strided(s) => return Ok(Side::strided(s, shape, via)),
            Storage::Sparse(s) => &**s,
        };
        if s.pattern.is_unique() {
            return Ok(Side::sparse(s.into(), shape, via));
        }
        Ok(Side::sparse(convert::coalesce(s, ReduceOp::Sum)?.into(), shape, via))
    }

    /// A sparse operand whose duplicates, if it has any, need not be merged.
    pub(crate) fn sparse(s: Stored<'a>, shape: &[usize], via: Option<DType>) -> Side<'a> {
        let s = match via {
            Some(dtype) if dtype != s.dtype() => convert::cast_sparse(&s, dtype).into(),
            _ => s,
        };
        let rest = Background::of(&s.fill, shape);
        Side { stored: Some(s), rest, role: Role::Any, place: Place::Beside }
    }

    fn strided(s: &Strided, shape: &[usize], via: Option<DType>) -> Side<'a> {
        let rest = match (s.constant_value(), shape.contains(&0)) {
            (Some(value), false) => Background::Scalar(value),
            _ => Background::Array(Box::new(s.broadcast(shape))),
        };
        let rest = match via {
            Some(dtype) => rest.cast(dtype),
            None => rest,
        };
        Side { stored: None, rest, role: Role::Any, place: Place::Beside }
    }

    /// An operand spread over the shape: see [`Side::spread`].
    pub(crate) fn spread_over(x: &'a Tensor, shape: &[usize]) -> Result<Side<'a>> {
        let mut side = Side::new(x, shape, None)?;
        side.spread(shape, x.dtype(), AsFill::Always)?;
        Ok(side)
    }

    /// Whether it is sparse and repeats over the shape.
    pub(crate) fn repeats(&self, shape: &[usize]) -> bool {
        self.stored.as_ref().is_some_and(|s| s.shape != shape)
    }

    /// Whether unstored elements are absent.
    pub(crate) fn is_undefined(&self) -> bool {
        self.rest.is_undefined()
    }

    /// The constant that unstored elements are, if there are any and they are one value.
    pub(crate) fn constant_fill(&self) -> Option<Scalar> {
        self.stored.as_ref()?;
        self.rest.scalar()
    }

    /// Whether what is stored is finite as elements of `dtype`.
    pub(crate) fn is_stored_finite(&self, dtype: DType) -> bool {
        self.stored.as_ref().is_none_or(|s| all_finite_as(&s.values, dtype))
    }

    /// Whether all else is as large as the shape.
    pub(crate) fn is_full(&self, shape: &[usize]) -> bool {
        self.rest_len() == elements(shape)
    }

    /// Elements of all else, each counted once.
    fn rest_len(&self) -> u64 {
        match &self.rest {
            Background::Undefined => 0,
            Background::Scalar(_) => 1,
            Background::Array(values) => values.core_len() as u64,
        }
    }

    /// Brings a sparse operand to the shape: a vector becomes part of the fill where that is cheaper than its repetition,
    /// and allowed. `dtype` is what it will be read as.
    pub(crate) fn spread(&mut self, shape: &[usize], dtype: DType, as_fill: AsFill) -> Result<()> {
        let Some(s) = self.stored.take_if(|s| s.shape != shape) else { return Ok(()) };
        let lead = shape.len() - s.shape.len();
        if shape[lead..] == s.shape[..] && shape[..lead].iter().all(|&n| n == 1) {
            // Only new axes of size 1: nothing repeats.
            let padded = (0..lead).try_fold(Tensor::from(s.into_sparse()), |t, _| t.expand_dims(0))?;
            return self.become_tensor(padded, shape);
        }
        let fill =
            if as_fill != AsFill::Never && is_cheaper_as_fill(&s, shape, dtype) { s.fill_values() } else { None };
        if let Some(fill) = fill {
            if convert::dense_len(&s.shape, s.dtype()).is_err() {
                // What it would store if it were repeated is more still.
                context::may_densify(shape, dtype.size(), || {
                    format!("a vector of shape {:?} is repeated over what the other operand stores", s.shape)
                })?;
            }
            let values = convert::to_strided(&s, &fill)?;
            if as_fill == AsFill::Always || all_finite(&values.cast(dtype)) {
                *self = Side::strided(&values, shape, None);
                return Ok(());
            }
        }
        let wide = Tensor::from(s.into_sparse()).broadcast_to(shape)?;
        self.become_tensor(wide, shape)
    }

    fn become_tensor(&mut self, x: Tensor, shape: &[usize]) -> Result<()> {
        *self = match x.storage {
            Storage::Strided(s) => Side::strided(&s, shape, None),
            Storage::Sparse(s) => Side::sparse(convert::coalesce(&s, ReduceOp::Sum)?.into(), shape, None),
        };
        Ok(())
    }

    /// Every element of the shape.
    ///
    /// # Errors
    /// If the fill is undefined, or memory cannot hold them.
    pub(crate) fn dense(&self, shape: &[usize]) -> Result<Strided> {
        let Some(rest) = self.rest.spread(shape) else {
            return Err(error::absent("an undefined fill has no dense form"));
        };
        match &self.stored {
            Some(x) => convert::to_strided(x, &rest),
            None => {
                convert::dense_len(shape, rest.dtype)?;
                Ok(rest.into_owned())
            }
        }
    }

    /// The elements in the order of the pattern that the operands were joined over. Where it stores none they are all else,
    /// or `absent` where that is undefined.
    pub(crate) fn source<'s>(&'s self, pattern: &'s Pattern, absent: Option<Scalar>) -> Result<Source<'s>> {
        let beside = |dtype: DType| match &self.rest {
            Background::Undefined => Source::Constant(absent.unwrap_or(Scalar::zero(dtype))),
            Background::Scalar(value) => Source::Constant(*value),
            Background::Array(values) => Source::at(&**values, pattern),
        };
        match (&self.stored, &self.place) {
            (Some(s), Place::Same) => Ok(Source::values(&s.values)),
            (Some(s), Place::At(select)) => Source::select(&s.values, pattern.block(), select, beside(s.dtype())),
            (stored, _) => Ok(beside(stored.as_ref().map_or(DType::Bool, |s| s.dtype()))),
        }
    }
}

/// Whether elements are finite once cast to the `dtype` in which they meet others: of integers, `float16` makes infinities.
pub(crate) fn all_finite_as(values: &Strided, dtype: DType) -> bool {
    if dtype == DType::F16 && values.dtype.is_int() { all_finite(&values.cast(dtype)) } else { all_finite(values) }
}

/// Whether no element is NaN or infinite. Cost: a pass over the elements, each looked at once.
pub(crate) fn all_finite(values: &Strided) -> bool {
    !values.dtype.is_inexact()
        || identity::all_finite(values.dtype, values.core().contiguous_bytes().unwrap_or_default())
}

/// A sparse vector along one axis is cheaper as a fill than repeated along the others, if its dense form fits the
/// budget, or is no longer than what repeating would store.
fn is_cheaper_as_fill(s: &Sparse, shape: &[usize], dtype: DType) -> bool {
    let size = elements(&s.shape);
    let lead = shape.len() - s.ndim();
    let times = (0..shape.len()).filter(|&d| d < lead || s.shape[d - lead] != shape[d]).map(|d| shape[d]);
    let repeated = times.fold(s.nse() as u64, |n, size| n.saturating_mul(size as u64));
    let bytes = size.saturating_mul(dtype.size() as u64);
    s.shape.iter().filter(|&&n| n > 1).count() <= 1 && (bytes <= context::densify_budget() || size <= repeated)
}

/// The shape of the fill that the backgrounds give together, before it is computed: 1 along the axes on which none of them
/// varies.
pub(crate) fn core_of(shape: &[usize], sides: &[Side<'_>]) -> Vec<usize> {
    let varies = |d: usize| sides.iter().any(|s| s.rest.varies(d));
    (0..shape.len()).mapped(|d| if varies(d) { shape[d] } else { shape[d].min(1) })
}

/// Whether a result whose fill has this shape is dense: full along more than one axis that a level holds, or beside a
/// strided operand of the result's size.
pub(crate) fn is_dense(shape: &[usize], core: &[usize], sides: &[Side<'_>]) -> bool {
    let cells = elements(core);
    if cells <= 1 || sides.len() == 1 {
        return false; // the fill of one operand is there already
    }
    let patterns = sides.iter().filter_map(|s| s.stored.as_ref()).filter(|s| s.shape == shape).map(|s| &s.pattern);
    let Some(pattern) = patterns.min_by_key(|p| p.value_dims().len()) else { return true };
    let in_levels = |axis: usize| pattern.level_dims().iter().any(|d| d.axis == axis);
    let of_levels = (0..shape.len()).filter(|&axis| core[axis] > 1 && in_levels(axis)).count();
    let strided = |s: &Side<'_>| s.stored.is_none() && s.rest_len() == cells;
    of_levels > 1 || (cells == elements(shape) && sides.iter().any(strided))
}

/// Whether a result with a fill of this shape may be strided: free where an operand already is as large, else within budget.
///
/// # Errors
/// If it exceeds the budget, or memory cannot hold it.
pub(crate) fn may_be_dense(shape: &[usize], out: DType, core: &[usize], sides: &[Side<'_>]) -> Result<()> {
    if !sides.iter().any(|s| s.is_full(shape)) {
        context::may_densify(shape, out.size(), || {
            let of = |s: &Side<'_>| match &s.rest {
                Background::Undefined => "undefined".into(),
                _ => format!("{:?}", core_of(shape, std::slice::from_ref(s))),
            };
            let fills: Vec<String> = sides.mapped(of);
            format!(
                "the fills {} together give a fill of shape {core:?}, which varies along more than one sparse axis",
                fills.join(" and ")
            )
        })?;
    }
    convert::dense_len(shape, out).map(|_| ())
}
