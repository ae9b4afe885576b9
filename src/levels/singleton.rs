//! The singleton level: exactly one coordinate under every parent.

use std::ops::Range;

use openwork_ops::structure::Index;
use openwork_ops::structure::keys::Order;

use super::build::Builder;
use super::indices::Indices;
use super::level::{Above, Kind, Level, LevelKind, LevelOf};
use super::names::{ArrayLen, ArrayName, ArrayRule};
use super::pattern::Dim;
use super::segments::{Bounds, Segments};
use super::sparse::add_scaled;
use super::validate::Check;
use crate::base::error::{self, Result};

/// A singleton level over its array.
pub(super) struct Singleton<'a> {
    pub(super) indices: &'a Indices,
}

/// Below coordinates it is one more of their tuples.
pub(super) fn joined(above: LevelKind) -> Option<LevelKind> {
    if let LevelKind::Sparse { rank } = above { Some(LevelKind::Sparse { rank: rank + 1 }) } else { None }
}

/// One spelling per structure.
pub(super) fn may_stand(above: Option<LevelKind>) -> std::result::Result<(), &'static str> {
    match above.and_then(joined) {
        Some(_) => Err("is a singleton right after a sparse level: raise that level's rank instead"),
        None => Ok(()),
    }
}

pub(super) fn array_rules(first: usize) -> Vec<ArrayRule> {
    vec![ArrayRule { name: ArrayName::Indices(first), len: ArrayLen::Parents, optional: false }]
}

pub(super) fn of_arrays<A>(mut arrays: Vec<A>) -> Option<LevelOf<A>> {
    let indices = arrays.pop().filter(|_| arrays.is_empty())?;
    Some(LevelOf::Singleton { indices })
}

/// The level of sorted keys, of which every parent has exactly one.
///
/// # Errors
/// If some parent has none or several.
pub(super) fn append(builder: &mut Builder<'_>) -> Result<Level> {
    let heads = builder.heads(1).unwrap_or_else(|| (0..builder.keys.len()).collect());
    let parents = builder.parents_of(Some(&heads));
    if parents.len() != builder.count || parents.iter().enumerate().any(|(i, &p)| p != i as u64) {
        let why = format!("level {} is a singleton, but not every parent has exactly one coordinate", builder.level);
        return Err(error::layout(why));
    }
    let indices = builder.column(builder.dim, Some(&heads));
    builder.enter(heads.len(), Some(heads));
    Ok(Level::Singleton { indices })
}

impl<'a> Kind<'a> for Singleton<'a> {
    fn under(&self, parents: Range<usize>, _: &[Dim]) -> (Level, Range<usize>) {
        (Level::Singleton { indices: self.indices.slice(parents.clone()) }, parents)
    }

    fn locate(&self, parents: Vec<usize>, tuple: &[usize], _: &[Dim]) -> Vec<usize> {
        parents.into_iter().filter(|&p| self.indices.get(p) == tuple[0]).collect()
    }

    fn linearize(&self, weights: &[u64], _: &[Dim], above: Option<Above<'_>>, range: Range<usize>, out: &mut [u64]) {
        match above {
            Some(above) => above(range.clone(), out),
            None => out.fill(0),
        }
        add_scaled(&self.indices.slice(range), weights[0], out);
    }

    fn segments<I: Index>(&self) -> Option<Segments<'a, I>> {
        Some(Segments { bounds: Bounds::One, columns: std::iter::once(self.indices.typed()).collect() })
    }

    fn check(&self, check: &Check) -> Result<usize> {
        let name = ArrayName::Indices(check.first);
        check.length(name, self.indices, check.parents, "one per parent")?;
        check.in_range(name, self.indices)?;
        Ok(check.parents)
    }

    fn order(&self) -> Option<Order> {
        Some(Order::Strict)
    }
}
