//! Slices that need no key of every element: of tensors that store rows of values, as hybrid ones do, of which positions are put in
//! order, elements are not; and along the last axis of what is stored, where slices lie one after the other.

use std::sync::Arc;

use super::cut::Split;
use super::{Keyed, Slices};
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::levels::pattern::Part;
use crate::tensor::Sparse;

impl Slices {
    /// Of a canonical tensor. Whoever asks for places gets those of slices along value axes alone, which store every element, and
    /// along the last level alone, which lists them. `None` where elements of a slice do not lie in C order of the reduced axes, or
    /// the fill varies along these and rows of values lie on it.
    pub(super) fn of_rows(
        s: &Sparse,
        kept: &[usize],
        axes: &[usize],
        length: u128,
        places: bool,
    ) -> Result<Option<Slices>> {
        let p = &s.pattern;
        if p.dims.iter().any(|d| d.part != Part::Whole) || s.nse() == 0 {
            return Ok(None);
        }
        let in_levels = p.level_dims().iter().any(|d| axes.contains(&d.axis));
        let in_order = p.dims.iter().map(|d| d.axis).filter(|axis| axes.contains(axis)).eq(axes.iter().copied());
        let fill = s.fill_values();
        let varies = fill.as_ref().is_some_and(|fill| axes.iter().any(|&a| fill.strides[a] != 0 && fill.shape[a] > 1));
        let is_single = p.value_dims().is_empty();
        if !in_order || (varies && !is_single) {
            return Ok(None);
        }
        let split = Split::new(p, kept);
        let is_along = is_single && axes.len() == 1;
        let listed =
            p.levels.last().filter(|l| is_along && l.kind().rank() > 0).and_then(|l| l.arrays().last().cloned());
        if (places && in_levels && listed.is_none()) || (is_single && !split.in_order()) {
            return Ok(None);
        }
        let runs = split.stored_runs();
        let rows = split.rows_of(&s.values);
        let rows = match &runs.order {
            Some(order) => convert::gather_values(&rows, order)?,
            None => rows,
        };
        let values = of_groups(&rows, &split, &runs.ends)?;
        let mut ends = Vec::with_capacity((runs.ends.len() - 1) * split.block + 1);
        ends.push(0);
        let mut end = 0;
        for run in runs.ends.windows(2) {
            for _ in 0..split.block {
                end += (run[1] - run[0]) * split.per_row;
                ends.push(end);
            }
        }
        let pattern = Arc::new(split.result_pattern(kept, &runs.layout, &runs.words)?);
        let (source, layout, is_whole) = (s.clone(), runs.layout, !in_levels);
        let sparse = Keyed { source, layout, words: Vec::new(), listed, pattern, fill, is_whole };
        let (kept, axes, shape) = (kept.to_vec(), axes.to_vec(), s.shape.to_vec());
        Ok(Some(Slices { kept, axes, shape, length, ends, values, order: None, sparse: Some(sparse) }))
    }
}

/// The elements of groups of positions, in each group for one kept element after the other: `rows` are positions, reduced and
/// kept axes of values.
fn of_groups(rows: &Strided, split: &Split<'_>, ends: &[usize]) -> Result<Strided> {
    let n = convert::dense_len(&rows.shape, rows.dtype)?;
    let reduced = rows.ndim() - split.value_dims.len();
    let axes: Vec<usize> = (reduced..rows.ndim()).chain(0..reduced).collect();
    let groups = ends.len() - 1;
    let values = match groups {
        _ if split.block == 1 => rows.to_contiguous()?.into_owned(),
        1 => rows.permute(&axes).to_contiguous()?.into_owned(),
        _ => {
            // Groups in pieces of about as many elements.
            let mut firsts = vec![0];
            for g in 1..groups {
                if (ends[g] - ends[firsts[firsts.len() - 1]]) * split.block * split.per_row >= GRAIN {
                    firsts.push(g);
                }
            }
            firsts.push(groups);
            let row = split.block * split.per_row * rows.dtype.size();
            let pieces = firsts[1..].mapped(|&g| ends[g] * row);
            let buffer = Buffer::filled(n * rows.dtype.size(), rows.dtype.size(), |out| {
                parallel::for_pieces_mut(out, &pieces, &|piece, mut out| {
                    for g in firsts[piece]..firsts[piece + 1] {
                        let own;
                        (own, out) = std::mem::take(&mut out).split_at_mut((ends[g + 1] - ends[g]) * row);
                        rows.narrow(0, ends[g]..ends[g + 1]).permute(&axes).read(0, own);
                    }
                });
            })?;
            return Ok(Strided::new(buffer, rows.dtype, &[n][..]));
        }
    };
    values.reshape(&[n])
}
