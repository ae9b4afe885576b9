//! What an index names of the stored elements, and a tensor without it: at the cost of what is stored, however many
//! elements are named.

use openwork_ops::identity;
use openwork_ops::{DType, ReduceOp};

use super::pick::Tuples;
use super::{Resolved, Taken};
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::engine::blocks::{self, Kernel, Source};
use crate::engine::convert;
use crate::family::shape::triangle::in_levels;
use crate::tensor::Sparse;

/// A linear form over the coordinates of what is stored, given a weight for each axis.
type Form<'a> = &'a dyn Fn(&[u64]) -> Vec<u64>;

/// The tensor without what the index names: nothing is stored for it. Blocks and value axes that are cut are taken apart.
pub(super) fn without(s: &Sparse, resolved: &Resolved) -> Result<Sparse> {
    let s = in_levels(s, &resolved.cut(&s.shape))?;
    let form = |weights: &[u64]| s.pattern.linearize_all(&s.pattern.level_weights(weights));
    let mut keep = named(resolved, &s.shape, s.pattern.positions, &form);
    keep.iter_mut().for_each(|k| *k = !*k);
    convert::retain_rows(&s, &keep)
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
