//! Any number of operands over one pattern: where each of them stands at every position of a common one.

use std::sync::Arc;

use openwork_ops::structure::merge::Keep;
use openwork_ops::structure::{Index, IndexVec};
use openwork_ops::{ReduceOp, with_index};

use crate::base::error::Result;
use crate::engine::convert;
use crate::engine::sides::Side;
use crate::levels::coiterate;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::level::{Indices, LevelKind};
use crate::levels::pattern::Pattern;
use crate::tensor::Sparse;
use crate::tensor::fill::Background;

/// What an operand's positions mean to the common pattern. A strided operand has none, whatever its role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Only positions that it stores are kept: elsewhere it is absent, or makes the result what the fill is.
    Every,
    /// All its positions are kept.
    Any,
    /// It is looked up at positions that others give.
    Look,
}

/// Where an operand has the element of each position of the common pattern.
#[derive(Clone)]
pub(crate) enum Place {
    /// In what it is where it stores nothing: it is strided, or not joined yet.
    Beside,
    /// At the same position.
    Same,
    /// At the position selected, or nowhere.
    At(Indices),
}

/// Brings operands of one shape over one pattern, by their roles; `None` if none of them gives positions. With `single`,
/// each position is one element and they are in order: then single ones can be dropped.
pub(crate) fn join(shape: &[usize], sides: &mut [Side<'_>], single: bool) -> Result<Option<Arc<Pattern>>> {
    if sides.iter().all(|s| s.stored.is_none() || s.role == Role::Look) {
        return Ok(None);
    }
    align(shape, sides, single)?;
    let any_every = sides.iter().any(|s| s.stored.is_some() && s.role == Role::Every);
    let mut common: Option<Arc<Pattern>> = None;
    for role in [Role::Every, Role::Any, Role::Look] {
        for i in 0..sides.len() {
            let Some(stored) = sides[i].stored.as_ref().filter(|_| sides[i].role == role) else { continue };
            let Some(current) = &common else {
                common = Some(stored.pattern.clone());
                sides[i].place = Place::Same;
                continue;
            };
            if current.is_same(&stored.pattern) || current.has_equal_arrays(&stored.pattern) {
                sides[i].place = Place::Same;
                continue;
            }
            // One with the pattern of one that was joined, as `x > 0` has that of `x`, is where that is.
            let twin = |s: &&Side<'_>| {
                !matches!(s.place, Place::Beside)
                    && s.stored.as_ref().is_some_and(|joined| joined.pattern.is_same(&stored.pattern))
            };
            if let Some(place) = sides.iter().find(twin).map(|twin| twin.place.clone()) {
                sides[i].place = place;
                continue;
            }
            let keep = match role {
                Role::Every => Keep { left: false, right: false },
                Role::Any => Keep { left: true, right: !any_every },
                Role::Look => Keep { left: true, right: false },
            };
            let merged = coiterate::merge(current, &stored.pattern, keep);
            if !keep.left || keep.right {
                sides.iter_mut().for_each(|side| side.moved(&merged.left));
                common = Some(Arc::new(merged.pattern));
            }
            sides[i].place = Place::At(merged.right);
        }
    }
    Ok(common)
}

impl Side<'_> {
    /// The common pattern is another: its position `p` was `from[p]`.
    fn moved(&mut self, from: &Indices) {
        self.place = match std::mem::replace(&mut self.place, Place::Beside) {
            Place::Beside => Place::Beside,
            Place::Same => Place::At(from.clone()),
            Place::At(select) => Place::At(through(from, &select)),
        };
    }

    /// Whether it has an element at each position of the common pattern; `None` where it has one at all.
    pub(crate) fn presence(&self) -> Option<Vec<bool>> {
        match &self.place {
            Place::At(select) if self.is_undefined() => {
                Some(with_index!(select.as_slice(), s => s.iter().map(|p| !p.is_none()).collect()))
            }
            _ => None,
        }
    }

    /// Whether no index has to be read for its elements: it has the common pattern, or is a number.
    pub(crate) fn reads_no_index(&self) -> bool {
        match self.place {
            Place::Same => true,
            Place::At(_) => false,
            Place::Beside => matches!(self.rest, Background::Scalar(_)),
        }
    }
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

/// Brings the sparse ones to one level structure, in order: that with the fewest value axes, the first of several.
/// Where all have one pattern, it may be in any order.
pub(crate) fn align(shape: &[usize], sides: &mut [Side<'_>], single: bool) -> Result<()> {
    let mut stored = sides.iter().filter_map(|s| s.stored.as_deref());
    let Some(first) = stored.next() else { return Ok(()) };
    if !single && stored.all(|s| s.pattern.is_same(&first.pattern)) {
        return Ok(());
    }
    let all = || sides.iter().filter_map(|s| s.stored.as_deref());
    let least =
        all().fold(first, |a, b| if b.pattern.value_dims().len() < a.pattern.value_dims().len() { b } else { a });
    let rows = least.pattern.value_dims();
    let undefined = all().any(|s| s.fill.is_undefined());
    let mixed = all().any(|s| s.pattern.value_dims() != rows);
    let of_elements = (single && !rows.is_empty()) || (undefined && mixed);
    let singletons = || least.pattern.levels.iter().any(|l| l.kind() == LevelKind::Singleton);
    if !of_elements && !singletons() && all().all(|s| s.pattern.has_levels_of(&least.pattern)) {
        return each_stored(sides, &|s| {
            let in_order = s.pattern.is_canonical();
            if in_order { Ok(None) } else { convert::coalesce(s, ReduceOp::Sum).map(Some) }
        });
    }
    let mut spec = if of_elements { LevelSpec::of_layout(Layout::Coo, shape)? } else { least.pattern.spec() };
    spec = spec.freed();
    each_stored(sides, &|s| convert::convert(s, &spec).map(Some))
}

/// Replaces what is stored where there is a replacement.
fn each_stored(sides: &mut [Side<'_>], f: &dyn Fn(&Sparse) -> Result<Option<Sparse>>) -> Result<()> {
    for side in sides {
        if let Some(s) = &mut side.stored
            && let Some(other) = f(s)?
        {
            *s = other.into();
        }
    }
    Ok(())
}
