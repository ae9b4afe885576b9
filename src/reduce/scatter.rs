//! Folds into a table: an accumulator per kept coordinate, where these are few.

use openwork_ops::reduce::{Compensated, Table};
use openwork_ops::structure::{IndexSlice, IndexVec};

use super::Fold;
use super::groups::{Groups, Need, Split, sizes};
use crate::buffer::{Buffer, zeroed_vec};
use crate::convert;
use crate::error::Result;
use crate::level::{Indices, Level};
use crate::pattern::{Dim, Pattern};
use crate::strided::Strided;

/// Positions that are folded at a time: their keys stay in the first-level cache.
const PIECE: usize = 1 << 12;

/// Folds rows of one element each into a table of `size` accumulators, in storage order.
pub(super) fn scatter(
    fold: &Fold,
    split: &Split<'_>,
    values: &Strided,
    kept: &[usize],
    size: usize,
    need: Need,
) -> Result<Groups> {
    let fold = fold.starting_at_minus_zero();
    let (pattern, width) = (split.pattern, fold.typing.input.size());
    let keys = Keys::new(pattern, &split.dims);
    let bytes = values.dense_bytes();
    let mut counts = zeroed_vec::<u32>(if need == Need::Counts { size } else { 0 });
    let compensated = Compensated::of(fold.op, fold.typing.input);
    let acc = Buffer::build(size * fold.typing.acc.size(), |acc| {
        let mut table = compensated.map(|kernels| {
            // Where the fill is defined, unstored elements are terms as well.
            let few = Table::few(if need == Need::Folds { split.log2_of_reduced() } else { 0.0 });
            let mut recent = zeroed_vec::<f64>(kernels.parts * size);
            recent.fill(-0.0);
            let (terms, pairs) = (zeroed_vec(size), zeroed_vec(2 * kernels.parts * size));
            Table { recent, terms, pairs, few }
        });
        if table.is_none() {
            fold.fill_identity(acc);
        }
        let mut scratch = Scratch::default();
        for start in (0..pattern.positions).step_by(PIECE) {
            let end = (start + PIECE).min(pattern.positions);
            let keys = keys.read(start..end, &mut scratch);
            let values = &bytes[start * width..end * width];
            match (compensated, &mut table) {
                (Some(kernels), Some(table)) => (kernels.scatter)(values, keys, table),
                _ => (fold.kernels.scatter)(values, keys, acc),
            }
            if need == Need::Counts {
                keys.iter().for_each(|&k| counts[k as usize] += 1);
            }
        }
        if let Some(table) = table {
            table.finish(acc);
        }
    });
    let width = fold.typing.acc.size();
    let (identity, _) = fold.kernels.identity.to_bytes();
    let used = |i: usize| match need {
        Need::Counts => counts[i] > 0,
        Need::Folds => acc.bytes()[i * width..(i + 1) * width] != identity[..width],
    };
    let mut touched = Vec::with_capacity(size.min(pattern.positions));
    touched.extend((0..size as u64).filter(|&i| used(i as usize)));
    let counts =
        if need == Need::Counts { touched.iter().map(|&i| counts[i as usize].into()).collect() } else { Vec::new() };
    let pattern = match split.dims[..] {
        [dim] => line(kept, dim, &touched),
        _ => {
            let (layout, words) = convert::unravel(&touched, &sizes(&split.dims));
            split.result_pattern(fold.op.name(), kept, &layout, &words)?
        }
    };
    let acc = Strided::new(acc, fold.typing.acc, vec![size]);
    let acc = if touched.len() == size { acc } else { convert::gather_values(&acc, &IndexVec::U64(touched)) };
    Ok(Groups { pattern, acc, counts })
}

/// The pattern of a result over one axis with these coordinates.
fn line(kept: &[usize], dim: Dim, coordinates: &[u64]) -> Pattern {
    let axis = kept.iter().position(|&a| a == dim.axis).unwrap_or(dim.axis);
    let indices = if dim.size > 1 << 31 {
        IndexVec::U64(coordinates.to_vec())
    } else {
        IndexVec::U32(coordinates.iter().map(|&i| i as u32).collect())
    };
    let level = Level::Sparse { pointers: None, indices: vec![indices.into()], ordered: true, unique: true };
    Pattern { levels: vec![level], dims: vec![Dim { axis, ..dim }], level_dims: 1, positions: coordinates.len() }
}

/// Where each position goes in the table.
enum Keys<'a> {
    /// As an index array has it.
    Own(&'a Indices),
    /// A linear form over the coordinates.
    Form(&'a Pattern, Vec<u64>),
}

#[derive(Default)]
struct Scratch {
    wide: Vec<u64>,
    narrow: Vec<u32>,
}

impl<'a> Keys<'a> {
    fn new(pattern: &'a Pattern, kept: &[Dim]) -> Keys<'a> {
        if let ([dim], Some(Level::Sparse { indices, .. })) = (kept, pattern.levels.last())
            && let of_last = &pattern.level_dims()[pattern.level_dims - indices.len()..]
            && let Some(own) = of_last.iter().position(|d| d == dim)
            && !indices[own].is_wide()
        {
            return Keys::Own(&indices[own]);
        }
        let mut weights = vec![0u64; pattern.level_dims];
        let mut step = 1u64;
        for (d, w) in pattern.level_dims().iter().zip(&mut weights).rev() {
            if kept.contains(d) {
                *w = step;
                step = step.wrapping_mul(d.size as u64);
            }
        }
        Keys::Form(pattern, weights)
    }

    fn read<'s>(&'s self, range: std::ops::Range<usize>, scratch: &'s mut Scratch) -> &'s [u32] {
        match self {
            Keys::Own(indices) => match indices.as_slice() {
                IndexSlice::U32(own) => &own[range],
                IndexSlice::U64(_) => &[], // not taken
            },
            Keys::Form(pattern, weights) => {
                scratch.wide.resize(range.len(), 0);
                pattern.linearize(weights, range, &mut scratch.wide);
                scratch.narrow.clear();
                scratch.narrow.extend(scratch.wide.iter().map(|&o| o as u32));
                &scratch.narrow
            }
        }
    }
}
