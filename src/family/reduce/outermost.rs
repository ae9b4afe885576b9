//! Where extremes are in columns of rows that are stored whole, as arrays and hybrid tensors store them: rows go by once, in order, and
//! no element gets a key of its place.

use std::ops::Range;
use std::sync::Arc;

use openwork_ops::{DType, Scalar, order};

use super::order::Outward;
use crate::base::buffer::zeroed_vec;
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::mapped::{Chosen, Mapped};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, count};
use crate::engine::convert;
use crate::engine::slices::{Split, ordered, reduced};
use crate::levels::pattern::Part;
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor};

/// Elements whose keys are made at a time: they stay in the first-level cache.
const AT_ONCE: usize = 1024;

/// Elements of a share of the rows, shares at most, and rows of one at least: shares have a table as long as a row each.
const SHARE: usize = 1 << 17;
const SHARES: usize = 16;
const ROWS: usize = 8;

/// Rows so short that several have their keys made at once.
const SHORT: usize = 32;

/// Columns of an array whose slices are looked at one by one, and from which on threads share the columns, so many each.
const NARROW: usize = 16;
const WIDE: usize = 8 * AT_ONCE;

/// Rows of elements, all of which are present.
struct Rows<'a> {
    bytes: &'a [u8],
    dtype: DType,
    /// Elements of a row.
    block: usize,
    greatest: bool,
}

impl Rows<'_> {
    /// How far out an element with this key is, NaN furthest.
    fn rank(&self, key: u64) -> u64 {
        Outward { dtype: self.dtype, greatest: self.greatest }.rank(key)
    }

    /// For each of some columns the greatest rank among some rows, and the row in which it comes first.
    fn best(&self, rows: Range<usize>, columns: Range<usize>) -> Vec<(u64, usize)> {
        let (block, size) = (self.block, self.dtype.size());
        let mut best = vec![(0, rows.start); columns.len()];
        // Several short rows at a time, or a part of a long one.
        let tall = if columns.len() == block { (AT_ONCE / block).max(1) } else { 1 };
        let mut keys = [0; AT_ONCE];
        for start in rows.clone().step_by(tall) {
            let end = (start + tall).min(rows.end);
            for from in columns.clone().step_by(AT_ONCE) {
                let width = AT_ONCE.min(columns.end - from);
                let (first, n) = (start * block + from, (end - start) * width);
                let keys = &mut keys[..n];
                order::keys(self.dtype, &self.bytes[first * size..(first + n) * size], keys);
                for (row, keys) in (start..end).zip(keys.chunks_exact(width)) {
                    for (best, &key) in best[from - columns.start..][..width].iter_mut().zip(keys) {
                        let rank = self.rank(key);
                        if rank > best.0 {
                            *best = (rank, row);
                        }
                    }
                }
            }
        }
        best
    }

    /// Of each row from `first` on the place of its greatest rank.
    fn best_of_each(&self, first: usize, found: &mut [i64]) {
        let (n, size) = (self.block, self.dtype.size());
        let mut keys = [0; AT_ONCE];
        for (part, found) in found.chunks_mut(AT_ONCE / n).enumerate() {
            let start = (first + part * (AT_ONCE / n)) * n;
            let keys = &mut keys[..found.len() * n];
            order::keys(self.dtype, &self.bytes[start * size..(start + keys.len()) * size], keys);
            for (found, keys) in found.iter_mut().zip(keys.chunks_exact(n)) {
                let mut best = (self.rank(keys[0]), 0);
                for (place, &key) in keys.iter().enumerate().skip(1) {
                    let rank = self.rank(key);
                    best = if rank > best.0 { (rank, place as i64) } else { best };
                }
                *found = best.1;
            }
        }
    }

    /// The same, of shares of the rows on several threads.
    fn best_of_shares(&self, rows: Range<usize>) -> Vec<(u64, usize)> {
        let n = rows.len();
        let shares = (n.saturating_mul(self.block) / SHARE).min(n / ROWS).clamp(1, SHARES);
        let parts = parallel::map_chunks(n, n.div_ceil(shares), &|part| {
            self.best(rows.start + part.start..rows.start + part.end, 0..self.block)
        });
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            for (all, part) in all.iter_mut().zip(part) {
                *all = if part.0 > all.0 { part } else { *all };
            }
        }
        all
    }
}

/// Where the least or the greatest element is along an axis of an array: each index of the axes before it has rows of its own. `None`
/// along the last axis where its rows are long, and where rows are narrow or do not lie in order.
fn of_array(x: &Strided, axis: usize, greatest: bool) -> Result<Option<Tensor>> {
    let [groups, n, block] = [&x.shape[..axis], &x.shape[axis..=axis], &x.shape[axis + 1..]].map(count);
    let are_short = block == 1 && n <= SHORT;
    if x.len() == 0 || n == 1 || (block < NARROW && !are_short) || !x.is_contiguous() {
        return Ok(None);
    }
    ordered(x.dtype)?;
    let bytes = x.dense_bytes()?;
    let rows = Rows { bytes: &bytes, dtype: x.dtype, block: if are_short { n } else { block }, greatest };
    let mut found = zeroed_vec::<i64>(groups * block);
    let kept: Vec<usize> = (0..x.ndim()).chosen(|&a| a != axis).mapped(|&a| x.shape[a]);
    if are_short {
        parallel::for_chunks_mut(&mut found, 1, (GRAIN / n).max(1), &|first, found| rows.best_of_each(first, found));
        return Ok(Some(Tensor::from_strided(Strided::from_vec(found, kept))));
    }
    let put = |found: &mut [i64], best: Vec<(u64, usize)>, first: usize| {
        found.iter_mut().zip(best).for_each(|(found, (_, row))| *found = (row - first) as i64);
    };
    if block >= WIDE {
        for (group, found) in found.chunks_exact_mut(block).enumerate() {
            parallel::for_chunks_mut(found, 1, WIDE, &|start, found| {
                put(found, rows.best(group * n..(group + 1) * n, start..start + found.len()), group * n);
            });
        }
    } else {
        parallel::for_chunks_mut(&mut found, 1, (GRAIN / (n * block)).max(1) * block, &|start, found| {
            for (group, found) in (start / block..).zip(found.chunks_exact_mut(block)) {
                put(found, rows.best_of_shares(group * n..(group + 1) * n), group * n);
            }
        });
    }
    Ok(Some(Tensor::from_strided(Strided::from_vec(found, kept))))
}

/// Where the least or the greatest element is along an axis that the levels hold, where each position has a row of values
/// along other axes; `None` of other tensors, and where the fill is an array.
///
/// # Errors
/// If the dtype has no order, or memory cannot hold the result.
pub(super) fn in_columns(x: &Tensor, axis: usize, greatest: bool) -> Result<Option<Tensor>> {
    let s = match (x.strided(), x.sparse()) {
        (Some(s), _) => return of_array(s, axis, greatest),
        (_, Some(s)) => s,
        _ => return Ok(None),
    };
    let fill = match &s.fill {
        Fill::Scalar(value) => Some(*value),
        Fill::Undefined => None,
        Fill::Array(_) => return Ok(None),
    };
    let p = &s.pattern;
    let (in_levels, whole) =
        (p.level_dims().iter().any(|d| d.axis == axis), p.dims.iter().all(|d| d.part == Part::Whole));
    if p.value_dims().is_empty() || !in_levels || !whole || s.nse() == 0 || !p.is_canonical() {
        return Ok(None);
    }
    ordered(s.dtype())?;
    let kept: Vec<usize> = (0..x.ndim()).chosen(|&a| a != axis);
    let split = Split::new(p, &kept);
    let runs = split.stored_runs();
    let mut places = p.axis_coordinates(axis, x.ndim());
    let mut values = split.rows_of(&s.values);
    if let Some(order) = &runs.order {
        values = convert::gather_values(&values, order)?;
        let found = Strided::from_vec(places, vec![p.positions]);
        places = convert::gather_values(&found, order)?.typed::<u64>().unwrap_or_default().to_vec();
    }
    let bytes = values.dense_bytes()?;
    let rows = Rows { bytes: &bytes, dtype: s.dtype(), block: split.block, greatest };
    let fill_rank = fill.filter(|_| !faults::is(Fault::OutermostStored)).map(|value| rows.rank(key_of(value)));
    let n = runs.ends.len() - 1;
    let grain = (GRAIN * n / s.nse()).clamp(1, GRAIN);
    let parts = parallel::map_chunks(n, grain, &|groups| {
        let mut found = Vec::with_capacity(groups.len() * rows.block);
        for g in groups {
            let own = runs.ends[g]..runs.ends[g + 1];
            let beside =
                fill_rank.filter(|_| own.len() < x.shape()[axis]).map(|rank| (rank, gap(&places[own.clone()])));
            for (rank, row) in rows.best_of_shares(own) {
                let at = places[row];
                found.push(match beside {
                    Some((fill, gap)) if fill == rank => at.min(gap),
                    Some((fill, gap)) if fill > rank => gap,
                    _ => at,
                } as i64); // below the size of an axis
            }
        }
        found
    });
    let mut found = zeroed_vec::<i64>(n * rows.block);
    let mut rest = &mut found[..];
    for part in parts {
        let (own, after) = rest.split_at_mut(part.len());
        own.copy_from_slice(&part);
        rest = after;
    }
    let pattern = Arc::new(split.result_pattern(&kept, &runs.layout, &runs.words)?);
    let shape: Vec<usize> = (0..kept.len()).map(|i| x.shape()[kept[i]]).collect();
    // Where nothing is stored the first element is as good as any.
    let fill = if fill.is_some() { Fill::Scalar(Scalar::I64(0)) } else { Fill::Undefined };
    let values = Strided::from_vec(found, split.shape(n));
    reduced(Sparse { shape: shape.into(), pattern, values, fill }, s.nse()).map(Some)
}

/// The key of one value.
pub(super) fn key_of(value: Scalar) -> u64 {
    let (bytes, size) = value.to_bytes();
    let mut word = [0u128];
    let place: &mut [u8] = &mut bytemuck::cast_slice_mut(&mut word)[..size];
    place.copy_from_slice(&bytes[..size]); // aligned
    let mut key = [0];
    order::keys(value.dtype(), place, &mut key);
    key[0]
}

/// The first place that is not among these, which rise.
fn gap(places: &[u64]) -> u64 {
    let first = places.iter().zip(0..).find(|(place, i)| **place != *i);
    first.map_or(places.len() as u64, |(_, i)| i)
}
