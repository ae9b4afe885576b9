//! Any number of operands over one pattern: where each of them stands at every position of a common one.

use std::borrow::Cow;
use std::sync::Arc;

use openwork_ops::structure::merge::Keep;
use openwork_ops::structure::{Index, IndexVec};
use openwork_ops::{DType, ReduceOp, Scalar, with_index};

use super::plan::{Side2, constant, is_cheaper_as_fill};
use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::engine::blocks::{Selected, Source};
use crate::engine::convert;
use crate::levels::coiterate;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::Indices;
use crate::levels::pattern::Pattern;
use crate::tensor::fill::Background;
use crate::tensor::{Sparse, Storage, Tensor};

/// What an operand's positions mean to the common pattern. A strided operand has none, whatever its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Only positions that it stores are kept: it is absent elsewhere.
    Every,
    /// All its positions are kept.
    Any,
    /// It is looked up at positions that others give.
    Look,
}

/// Where an operand has the element of each position of the common pattern.
enum Place {
    /// At the same position.
    Same,
    /// At the position selected, or nowhere.
    At(Indices),
    /// In its background: it is strided.
    Beside,
}

/// Operands over one pattern.
pub(crate) struct Joined<'a> {
    pub(crate) pattern: Arc<Pattern>,
    sides: Vec<(Side2<'a>, Place)>,
}

impl<'a> Side2<'a> {
    /// An operand, broadcast to the shape and coalesced. A sparse vector may become a background.
    pub(crate) fn of(x: &'a Tensor, shape: &[usize]) -> Result<Side2<'a>> {
        let sparse = match &x.storage {
            Storage::Strided(s) => return Ok(Side2::strided(s, shape)),
            Storage::Sparse(s) => &**s,
        };
        let canonical = |s: &'a Sparse| -> Result<Cow<'a, Sparse>> {
            if s.pattern.is_canonical() {
                return Ok(Cow::Borrowed(s));
            }
            convert::coalesce(s, ReduceOp::Sum).map(Cow::Owned)
        };
        if sparse.shape == shape {
            let stored = canonical(sparse)?;
            return Ok(Side2 { background: stored.background(), stored: Some(stored) });
        }
        let lead = shape.len() - sparse.shape.len();
        let nothing_repeats = shape[lead..] == sparse.shape[..] && shape[..lead].iter().all(|&n| n == 1);
        if let (Background::Values(fill), false, true) =
            (sparse.background(), nothing_repeats, is_cheaper_as_fill(x, shape, x.dtype()))
        {
            return Ok(Side2::strided(&convert::to_strided(sparse, &fill)?, shape));
        }
        let wide = if nothing_repeats {
            (0..lead).try_fold(x.clone(), |t, _| t.expand_dims(0))?
        } else {
            x.broadcast_to(shape)?
        };
        match &wide.storage {
            Storage::Strided(s) => Ok(Side2::strided(s, shape)),
            Storage::Sparse(s) => {
                let stored = convert::coalesce(s, ReduceOp::Sum)?;
                Ok(Side2 { background: stored.background(), stored: Some(Cow::Owned(stored)) })
            }
        }
    }

    fn strided(s: &Strided, shape: &[usize]) -> Side2<'a> {
        Side2 { stored: None, background: Background::Values(s.broadcast(shape)) }
    }

    /// Whether unstored elements are absent.
    pub(crate) fn is_undefined(&self) -> bool {
        self.background.values().is_none()
    }
}

/// Brings operands of one shape over one pattern; `None` if none of them gives positions. With `single`, each
/// position is one element: then single ones can be dropped.
pub(crate) fn join<'a>(
    shape: &[usize],
    sides: Vec<Side2<'a>>,
    roles: &[Role],
    single: bool,
) -> Result<Option<Joined<'a>>> {
    let mut order: Vec<usize> = (0..sides.len()).filter(|&i| sides[i].stored.is_some()).collect();
    order.sort_by_key(|&i| roles[i] as u8);
    if order.first().is_none_or(|&i| roles[i] == Role::Look) {
        return Ok(None);
    }
    let sides = alike(shape, sides, single)?;
    let pattern_of = |i: usize| sides[i].stored.as_ref().map(|s| s.pattern.clone());
    let mut places: Vec<Place> = sides.iter().map(|_| Place::Beside).collect();
    let mut common: Option<Arc<Pattern>> = None;
    let any_every = order.iter().any(|&i| roles[i] == Role::Every);
    for (done, &i) in order.iter().enumerate() {
        let Some(pattern) = pattern_of(i) else { continue };
        let Some(current) = common.clone() else {
            places[i] = Place::Same;
            common = Some(pattern);
            continue;
        };
        if current.is_same(&pattern) {
            places[i] = Place::Same;
            continue;
        }
        let keep = match roles[i] {
            Role::Every => Keep { left: false, right: false },
            Role::Any => Keep { left: true, right: !any_every },
            Role::Look => Keep { left: true, right: false },
        };
        let merged = coiterate::merge(&current, &pattern, keep);
        places[i] = Place::At(merged.right);
        if keep.left && !keep.right {
            continue; // the pattern is what it was
        }
        for &j in &order[..done] {
            places[j] = match std::mem::replace(&mut places[j], Place::Beside) {
                Place::Same => Place::At(merged.left.clone()),
                Place::At(select) => Place::At(through(&merged.left, &select)),
                Place::Beside => Place::Beside,
            };
        }
        common = Some(Arc::new(merged.pattern));
    }
    Ok(common.map(|pattern| Joined { pattern, sides: sides.into_iter().zip(places).collect() }))
}

/// `inner[outer[p]]`, and nothing where either is.
fn through(outer: &Indices, inner: &Indices) -> Indices {
    fn typed<O: Index, I: Index>(outer: &[O], inner: &[I]) -> Vec<I> {
        outer.iter().map(|&p| if p == O::NONE { I::NONE } else { inner[p.get()] }).collect()
    }
    let composed: IndexVec =
        with_index!(inner.as_slice(), i => with_index!(outer.as_slice(), o => Index::vec(typed(o, i))));
    composed.into()
}

/// Brings the sparse ones to one level structure: that with the fewest value axes, the first of several.
fn alike<'a>(shape: &[usize], sides: Vec<Side2<'a>>, single: bool) -> Result<Vec<Side2<'a>>> {
    let stored: Vec<&Sparse> = sides.iter().filter_map(|s| s.stored.as_deref()).collect();
    let Some(least) = stored.iter().min_by_key(|s| s.pattern.value_dims().len()) else { return Ok(sides) };
    let rows = least.pattern.value_dims();
    if (!single || rows.is_empty()) && stored.iter().all(|s| s.pattern.is_same(&stored[0].pattern)) {
        return Ok(sides);
    }
    let undefined = stored.iter().any(|s| s.fill.is_undefined());
    let mixed = stored.iter().any(|s| s.pattern.value_dims() != rows);
    let mut spec = if (single && !rows.is_empty()) || (undefined && mixed) {
        LevelSpec::of_layout(Layout::Coo, shape)?
    } else {
        least.pattern.spec()
    };
    spec.levels = convert::without_singletons(spec.levels);
    let to = |side: Side2<'a>| -> Result<Side2<'a>> {
        let Some(s) = side.stored else { return Ok(side) };
        let s = if s.pattern.spec() == spec { s } else { Cow::Owned(convert::convert(&s, &spec)?) };
        Ok(Side2 { stored: Some(s), background: side.background })
    };
    sides.into_iter().map(to).collect()
}

impl Joined<'_> {
    /// The elements of an operand, in the order of the pattern. Where it stores none they are its background, or
    /// `absent` where it has none.
    pub(crate) fn source(&self, i: usize, absent: Option<Scalar>) -> Source {
        let (side, place) = &self.sides[i];
        let beside = |dtype: DType| match side.background.values() {
            Some(values) => Source::at(values, &self.pattern),
            None => Source::Constant(absent.unwrap_or(Scalar::zero(dtype))),
        };
        match (&side.stored, place) {
            (Some(s), Place::Same) => Source::values(&s.values),
            (Some(s), Place::At(select)) => Source::Select {
                values: s.values.to_contiguous().into_owned(),
                row: self.pattern.block(),
                select: Selected(select.clone()),
                fallback: Box::new(beside(s.dtype())),
            },
            (stored, _) => beside(stored.as_ref().map_or(DType::Bool, |s| s.dtype())),
        }
    }

    /// Whether an operand has an element at each position; `None` where it has one at all.
    pub(crate) fn presence(&self, i: usize) -> Option<Vec<bool>> {
        let (side, place) = &self.sides[i];
        match place {
            Place::At(select) if side.is_undefined() => {
                Some(with_index!(select.as_slice(), s => s.iter().map(|&p| p.get() != none(&p)).collect()))
            }
            _ => None,
        }
    }

    /// Whether values alone were looked at: one pattern, and numbers.
    pub(crate) fn reads_no_index(&self) -> bool {
        self.sides.iter().all(|(side, place)| match place {
            Place::Same => true,
            Place::At(_) => false,
            Place::Beside => side.background.values().and_then(constant).is_some(),
        })
    }
}

fn none<I: Index>(_: &I) -> usize {
    I::NONE.get()
}
