//! Values put into a sparse tensor at sets of rows, columns, …: what is stored there goes, and what is stored of the values
//! comes. No element is looked at for being named alone.

use crate::base::mapped::Mapped;
use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::{ReduceOp, Scalar, with_index};

use super::choose::read;
use super::put::{Given, spread, undefined};
use super::{Made, Resolved, Taken, erase, points};
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::strided::{c_strides, count};
use crate::engine::convert;
use crate::family::shape::join;
use crate::levels::layout::{Layout, LevelSpec};
use crate::levels::sort;
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::{Sparse, Tensor};

/// A copy with values, which broadcast, at what the index names; added to what is there with a fold.
pub(super) fn put(s: &Sparse, resolved: &Resolved, value: &Tensor, fold: Option<ReduceOp>) -> Result<Sparse> {
    let shape = resolved.shape();
    let spread = spread(value, &shape)?;
    if shape.contains(&0) {
        return Ok(s.clone());
    }
    if resolved.taken.iter().all(|t| !matches!(t, Taken::Step { len, .. } if *len != 1)) {
        let columns: Vec<Vec<u64>> = (0..s.ndim()).mapped(|axis| resolved.points(axis));
        return points::put(s, &columns, &Given::of(&spread, count(&shape), fold)?);
    }
    let patch = patch(s, resolved, value, &spread, fold)?;
    let base = match fold {
        Some(_) => s.clone(),
        None => erase::covered(s, resolved)?,
    };
    if patch.pattern.positions == 0 {
        return Ok(base);
    }
    let columns: Vec<Vec<u64>> = (0..s.ndim()).mapped(|axis| resolved.places(axis, &patch));
    let values = patch.values.reshape(&[patch.pattern.positions])?;
    points::put(&base, &columns, &Given { values: Some(values), absent: Vec::new(), fold })
}

/// What has to be stored of the values: COO over the shape of the index.
fn patch(s: &Sparse, resolved: &Resolved, value: &Tensor, spread: &Tensor, fold: Option<ReduceOp>) -> Result<Sparse> {
    let shape = spread.shape();
    let zero = Scalar::zero(s.dtype());
    let (mut value, mut spread) = (value.clone(), spread.clone());
    if undefined(&value) && !s.fill.is_undefined() && fold.is_none() {
        if value.coalesce()?.nse() as u128 != value.size() && !resolved.is_covered(&spread, &s.shape)? {
            let why = "an absent value is assigned, but only a tensor with undefined fill has absent elements";
            return Err(error::absent(why));
        }
        (value, spread) = (value.replace_fill(zero)?, spread.replace_fill(zero)?); // all is stored: nobody sees it
    }
    // What need not be stored: the fill that is there, or a sum's zero.
    let fill = match (&s.fill, s.fill_values(), fold) {
        (Fill::Undefined, ..) => Fill::Undefined,
        (_, _, Some(_)) => Fill::Scalar(zero),
        (Fill::Array(_), Some(fill), None) => {
            let fill = read(&Tensor::from_strided(fill), resolved)?;
            fill.strided().map_or(Fill::Scalar(zero), fill_of)
        }
        (fill, ..) => fill.clone(),
    };
    let coo = |shape: &[usize]| LevelSpec::of_layout(Layout::Coo, shape);
    let own = |axis: usize| (axis + value.ndim()).checked_sub(shape.len()).map_or(1, |a| value.shape()[a]);
    let repeated: Vec<usize> = (0..shape.len()).filter(|&a| own(a) != shape[a]).map(|a| shape[a]).collect();
    let within_budget = |stored: usize| {
        let mut all = vec![stored];
        all.extend(&repeated);
        let times = all.iter().fold(1u128, |n, &s| n.saturating_mul(s as u128));
        if times <= resolved.lists.as_ref().map_or(0, |shape| count(shape)) as u128 {
            return Ok(()); // no more than the lists have
        }
        context::may_densify(&all, s.dtype().size(), || {
            let what = match value.strided().map(fill_of) {
                Some(Fill::Scalar(value)) => value.to_string(),
                _ => "the value".to_string(),
            };
            format!("{what} is not the fill, and is stored for every element that it is repeated to")
        })
    };
    let mut patch = if repeated.is_empty() || matches!(fill, Fill::Array(_)) {
        if !repeated.is_empty() {
            within_budget(usize::try_from(value.size()).unwrap_or(usize::MAX))?;
        }
        join::refilled(&spread, fill, &coo(shape)?)?.into_owned()
    } else {
        let few = join::refilled(&value, fill, &coo(value.shape())?)?.into_owned();
        within_budget(few.pattern.positions)?;
        let all = Tensor::from(few).broadcast_to(shape)?;
        let Some(all) = all.sparse() else { return Err(error::layout("stored values are sparse")) };
        all.clone()
    };
    if fold.is_none()
        && let Some(last) = resolved.lasts(&s.shape)
    {
        let places = resolved.list_places(&patch);
        let keep: Vec<bool> = places.iter().map(|&k| last[k as usize]).collect();
        patch = convert::retain_rows(&patch, &keep)?;
    }
    Ok(patch)
}

impl Resolved {
    /// Whether what counts is there: of places that lists name more than once, the last values.
    fn is_covered(&self, values: &Tensor, shape: &[usize]) -> Result<bool> {
        let Some(last) = self.lasts(shape) else { return Ok(false) };
        let stored = values.coalesce()?.to_layout(Layout::Coo)?;
        let Some(stored) = stored.sparse() else { return Ok(true) };
        let there = self.list_places(stored).iter().filter(|&&k| last[k as usize]).count() as u128;
        let counting = last.iter().filter(|&&is_last| is_last).count() as u128;
        Ok(there == values.size() / (last.len() as u128).max(1) * counting)
    }

    /// The coordinates along an axis of what an index names that takes one element of each axis, or lists.
    fn points(&self, axis: usize) -> Vec<u64> {
        let n = self.lists.as_ref().map_or(1, |shape| count(shape));
        match &self.taken[axis] {
            Taken::At(at) => vec![*at as u64; n],
            Taken::Step { start, .. } => vec![*start as u64; n],
            Taken::List(list) => list.to_vec(),
        }
    }

    /// The axis of the index' shape at which something made begins.
    fn place_of(&self, wanted: Made) -> usize {
        let axes = |made: &Made| if *made == Made::Lists { self.lists.as_ref().map_or(0, Vec::len) } else { 1 };
        self.made.iter().take_while(|made| **made != wanted).map(axes).sum()
    }

    /// Of what is stored over the shape of the index: its coordinates along an axis of the tensor.
    fn places(&self, axis: usize, patch: &Sparse) -> Vec<u64> {
        match &self.taken[axis] {
            Taken::At(at) => vec![*at as u64; patch.pattern.positions],
            Taken::Step { start, step, .. } => {
                let mut at = patch.pattern.axis_coordinates(self.place_of(Made::Axis(axis)), patch.ndim());
                at.iter_mut().for_each(|c| *c = start.wrapping_add_signed(step * *c as isize) as u64);
                at
            }
            Taken::List(list) => {
                let mut at = self.list_places(patch);
                at.iter_mut().for_each(|c| *c = list[*c as usize]);
                at
            }
        }
    }

    /// Of what is stored over the shape of the index: its places in the lists.
    fn list_places(&self, patch: &Sparse) -> Vec<u64> {
        let mut weights = vec![0; patch.ndim()];
        let own = self.lists.as_deref().unwrap_or_default();
        let first = self.place_of(Made::Lists);
        for (weight, stride) in weights[first..].iter_mut().zip(c_strides(own)) {
            *weight = stride as u64;
        }
        patch.pattern.linearize_all(&patch.pattern.level_weights(&weights))
    }

    /// For each place of the lists, whether it is the last that names its tuple of coordinates; `None` if all are.
    fn lasts(&self, shape: &[usize]) -> Option<Vec<bool>> {
        let (axes, lists) = self.lists();
        let n = lists.first()?.len();
        let layout = KeyLayout::new(&axes.mapped(|&a| shape[a]));
        let mut words = vec![vec![0u64; n]; layout.word_bits.len()];
        for (field, list) in layout.fields.iter().zip(&lists) {
            for (word, &c) in words[field.word].iter_mut().zip(*list) {
                *word = word.wrapping_add(field.weight().wrapping_mul(c));
            }
        }
        let sorted = sort::sort_keys(&layout, words);
        let runs = sort::runs(&sorted.words);
        if runs.len() == n + 1 {
            return None;
        }
        let mut last = vec![false; n];
        with_index!(sorted.order.as_slice(), o => {
            for &end in &runs[1..] {
                last[openwork_ops::structure::Index::get(o[end - 1])] = true;
            }
        });
        Some(last)
    }
}
