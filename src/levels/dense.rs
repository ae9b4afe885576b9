//! The dense level: every coordinate of one axis under every parent, and so no arrays.

use std::ops::Range;

use openwork_ops::structure::Index;
use openwork_ops::structure::keys::Order;

use super::build::Builder;
use super::level::{Above, Kind, Level, LevelOf};
use super::pattern::Dim;
use super::segments::Segments;
use super::validate::Check;
use crate::base::error::{self, Result};

/// A dense level.
pub(super) struct Dense;

/// Where a dense level may stand.
pub(super) fn may_stand(is_last: bool) -> std::result::Result<(), &'static str> {
    if is_last { Err("is dense and the last: give its axis as a value axis instead") } else { Ok(()) }
}

/// A level of this kind, if there are no arrays.
pub(super) fn of_arrays<A>(arrays: Vec<A>) -> Option<LevelOf<A>> {
    arrays.is_empty().then_some(LevelOf::Dense)
}

/// The level of sorted keys: no arrays, but a position for every coordinate.
///
/// # Errors
/// If there are more positions than can be counted.
pub(super) fn append(builder: &mut Builder<'_>) -> Result<Level> {
    builder.multiply()?;
    Ok(Level::Dense)
}

impl<'a> Kind<'a> for Dense {
    fn under(&self, parents: Range<usize>, dims: &[Dim]) -> (Level, Range<usize>) {
        let size = dims[0].size;
        (Level::Dense, parents.start * size..parents.end * size)
    }

    fn locate(&self, parents: Vec<usize>, tuple: &[usize], dims: &[Dim]) -> Vec<usize> {
        parents.into_iter().map(|p| p * dims[0].size + tuple[0]).collect()
    }

    fn linearize(&self, weights: &[u64], dims: &[Dim], above: Option<Above<'_>>, range: Range<usize>, out: &mut [u64]) {
        let (size, weight) = (dims[0].size, weights[0]);
        let parents = range.start / size..range.end.div_ceil(size);
        let first = parents.start;
        let mut bases = vec![0; parents.len()];
        if let Some(above) = above {
            above(parents, &mut bases);
        }
        for (i, base) in bases.into_iter().enumerate() {
            let start = (first + i) * size;
            let part = range.start.max(start)..range.end.min(start + size);
            let mut value = base.wrapping_add(weight.wrapping_mul((part.start - start) as u64));
            for o in &mut out[part.start - range.start..part.end - range.start] {
                *o = value;
                value = value.wrapping_add(weight);
            }
        }
    }

    fn segments<I: Index>(&self) -> Option<Segments<'a, I>> {
        None
    }

    fn check(&self, check: &Check) -> Result<usize> {
        let positions = check.parents.checked_mul(check.sizes[0]);
        positions
            .ok_or_else(|| error::layout(format_args!("level {}: dense levels exceed 2^64 positions", check.level)))
    }

    fn order(&self) -> Option<Order> {
        Some(Order::Strict)
    }
}
