//! What an index names of the stored elements, and a tensor without it: at the cost of what is stored, however many
//! elements are named.

use openwork_ops::identity;
use openwork_ops::{DType, ReduceOp};

use super::pick::Tuples;
use super::{Resolved, Taken};
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::engine::blocks::{self, Kernel, Source};
use crate::engine::convert;
use crate::engine::splice::{Coming, Edit, Spliced};
use crate::family::shape::triangle::in_levels;
use crate::levels::pattern::Dim;
use crate::tensor::Sparse;

/// A linear form over the coordinates of what is stored, given a weight for each axis.
type Form<'a> = &'a dyn Fn(&[u64]) -> Vec<u64>;

/// The tensor without what the index names: nothing is stored for it. Blocks and value axes that are cut are taken apart.
pub(super) fn without(s: &Sparse, resolved: &Resolved) -> Result<Sparse> {
    if let Some(out) = spliced(s, resolved)? {
        return Ok(out);
    }
    let s = in_levels(s, &resolved.cut(&s.shape))?;
    let form = |weights: &[u64]| s.pattern.linearize_all(&s.pattern.level_weights(weights));
    let mut keep = named(resolved, &s.shape, s.pattern.positions, &form);
    keep.iter_mut().for_each(|k| *k = !*k);
    convert::retain_rows(&s, &keep)
}

/// As [`without`], where what goes lies in few stretches: each is looked up. `None` elsewhere.
fn spliced(s: &Sparse, resolved: &Resolved) -> Result<Option<Sparse>> {
    let dims = s.pattern.level_dims();
    let Some((last, outer)) = dims.split_last() else { return Ok(None) };
    if dims.len() != s.ndim() || resolved.shape().contains(&0) {
        return Ok(None);
    }
    let is_listed = |d: &Dim| matches!(resolved.taken[d.axis], Taken::List(_));
    // Lists that are one tuple after the other name no box.
    let Some((low, 1, len)) = resolved.rising(last.axis) else { return Ok(None) };
    let places = outer.iter().try_fold(1usize, |n, d| n.checked_mul(resolved.many(d.axis)));
    let lists = outer.iter().filter(|d| is_listed(d)).count();
    let (Some(places), 0..=1) = (places, lists) else { return Ok(None) };
    let Some(all) = Spliced::new(s, places) else { return Ok(None) };
    let taken: Vec<Vec<u64>> = outer.mapped(|d| resolved.named(d.axis));
    let (of_segments, _) = all.dims();
    let mut edits = Vec::with_capacity(places);
    let mut tuple = vec![0; dims.len() - of_segments.len()];
    let end = tuple.len() - 1;
    let mut at = vec![0; outer.len()];
    'boxes: loop {
        let coordinate = |dim: usize| taken[dim][at[dim]];
        let segment = (0..of_segments.len()).fold(0, |s, dim| s * dims[dim].size + coordinate(dim) as usize);
        for dim in of_segments.len()..outer.len() {
            tuple[dim - of_segments.len()] = coordinate(dim);
        }
        let within = all.segment(segment);
        let mut from = |coordinate: usize| {
            tuple[end] = coordinate as u64;
            all.find(within.clone(), &tuple).0
        };
        let (start, stop) = (from(low), from(low + len));
        if start < stop {
            edits.push(Edit { segment, at: start, goes: stop - start, comes: 0 });
        }
        let mut dim = outer.len();
        loop {
            let Some(next) = dim.checked_sub(1) else { break 'boxes };
            dim = next;
            at[dim] += 1;
            if at[dim] < taken[dim].len() {
                break;
            }
            at[dim] = 0;
        }
    }
    if edits.is_empty() {
        return Ok(Some(s.clone()));
    }
    all.with(&edits, Coming { columns: Some(&vec![Vec::new(); tuple.len()]), values: &[] })
}

impl Resolved {
    /// What is taken of an axis, its first element first: that one, the step, and how many there are; `None` of a list.
    fn rising(&self, axis: usize) -> Option<(usize, usize, usize)> {
        match self.taken[axis] {
            Taken::At(at) => Some((at, 1, 1)),
            Taken::Step { start, step, len } if step < 0 => {
                let apart = step.unsigned_abs();
                Some((start - apart * len.saturating_sub(1), if len == 1 { 1 } else { apart }, len))
            }
            Taken::Step { start, step, len } => Some((start, if len == 1 { 1 } else { step.unsigned_abs() }, len)),
            Taken::List(_) => None,
        }
    }

    /// How many elements of an axis are named at most.
    fn many(&self, axis: usize) -> usize {
        match &self.taken[axis] {
            Taken::At(_) => 1,
            Taken::Step { len, .. } => *len,
            Taken::List(list) => list.len(),
        }
    }

    /// The elements of an axis that are named, each once, in order.
    fn named(&self, axis: usize) -> Vec<u64> {
        match (&self.taken[axis], self.rising(axis)) {
            (_, Some((first, step, len))) => (0..len as u64).map(|i| first as u64 + i * step as u64).collect(),
            (Taken::List(list), _) => {
                let mut all = list.to_vec();
                all.sort_unstable();
                all.dedup();
                all
            }
            _ => Vec::new(),
        }
    }
}

/// The tensor with its fill, which is defined, where the index names elements, in the levels it has. Positions at which
/// the fill is all that is left go.
pub(super) fn covered(s: &Sparse, resolved: &Resolved) -> Result<Sparse> {
    let in_values = |axis: &usize| s.pattern.value_dims().iter().any(|d| d.axis == *axis);
    if !resolved.cut(&s.shape).iter().any(in_values) {
        return without(s, resolved);
    }
    let s = convert::coalesce(s, ReduceOp::Sum)?;
    let Some(fill) = s.fill_values() else { return without(&s, resolved) };
    let block = s.pattern.block();
    let form = |weights: &[u64]| {
        let (of_levels, within) = (s.pattern.level_weights(weights), s.pattern.row_form(weights));
        let mut out = zeroed_vec(s.nse());
        parallel::for_chunks_mut(&mut out, 1, GRAIN, &|first, out| {
            s.pattern.linearize_elements(&of_levels, &within, first, out);
        });
        out
    };
    let named = named(resolved, &s.shape, s.nse(), &form);
    let (size, n) = (s.dtype().size(), s.nse());
    let values = s.values.dense_bytes()?;
    let fills = blocks::collect(n, Source::at(&fill, &s.pattern), s.dtype())?;
    let fills = fills.dense_bytes()?;
    let buffer = Buffer::build(n * size, |out| {
        for (i, element) in out.chunks_exact_mut(size).enumerate() {
            let from = if named[i] { &fills } else { &values };
            element.copy_from_slice(&from[i * size..(i + 1) * size]);
        }
    })?;
    let values = Strided::new(buffer, s.dtype(), s.values.shape.clone());
    let sources = [Source::values(&values), Source::at(&fill, &s.pattern)];
    let differs = blocks::run(n, &sources, s.dtype(), DType::Bool, Kernel::Binary(identity::differs(s.dtype())))?;
    let differs = differs.bytes();
    let keep: Vec<bool> = (0..s.pattern.positions)
        .map(|p| {
            let row = p * block..(p + 1) * block;
            !named[row.clone()].contains(&true) || differs[row].iter().any(|&d| d != 0)
        })
        .collect();
    convert::retain_rows(&Sparse { values, ..s }, &keep)
}

/// Marks the stored elements that the index names; there are `n`.
fn named(resolved: &Resolved, shape: &[usize], n: usize, form: Form<'_>) -> Vec<bool> {
    // An empty window names nothing, whatever axes are whole.
    let mut named = vec![!resolved.shape().contains(&0); n];
    if !named.contains(&true) {
        return named;
    }
    for axis in resolved.cut(shape) {
        let (start, step, len) = match resolved.taken[axis] {
            Taken::At(at) => (at, 1, 1),
            Taken::Step { start, step, len } => (start, step, len),
            Taken::List(_) => continue,
        };
        // The same elements with a rising step.
        let apart = step.unsigned_abs() as u64;
        let reach = apart * (len as u64 - 1);
        let low = if step < 0 { start as u64 - reach } else { start as u64 };
        let mut weights = vec![0; shape.len()];
        weights[axis] = 1;
        let coordinates = form(&weights);
        parallel::for_chunks_mut(&mut named, 1, GRAIN, &|first, named| {
            for (named, &c) in named.iter_mut().zip(&coordinates[first..]) {
                let away = c.wrapping_sub(low);
                *named &= away <= reach && (apart == 1 || away.is_multiple_of(apart));
            }
        });
    }
    let (axes, lists) = resolved.lists();
    if !axes.is_empty() {
        let tuples = Tuples::new(shape, &axes, &lists, n, form);
        parallel::for_chunks_mut(&mut named, 1, GRAIN, &|first, named| {
            for (i, named) in named.iter_mut().enumerate() {
                *named = *named && !tuples.places(first + i).is_empty();
            }
        });
    }
    named
}
