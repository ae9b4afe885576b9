//! Folds into a table: an accumulator per kept coordinate, where these are few.

mod cuts;
mod keys;
mod sums;
mod table;

use std::ops::Range;
use std::sync::Arc;

use openwork_ops::DType;
use openwork_ops::reduce::{self, Compensated, Turns};
use openwork_ops::structure::IndexSlice;
use openwork_ops::structure::buckets::KeyBuckets;

use self::cuts::{Cuts, End};
use self::keys::{Keys, Room, long_rows};
use self::sums::{LONG, Part};
pub(crate) use self::table::Table;
use super::cut::Split;
use super::groups::{Need, sizes};
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::distribute::Elements;
use crate::engine::fold::Fold;
use crate::levels::indices::Indices;

/// Bytes of a stretch of a table to which terms are distributed, about, and stretches at most.
const STRETCH: usize = 1 << 18;
const STRETCHES: usize = 1 << 11;

/// Terms for each accumulator of a table of which several are filled, each by a share of the terms; and those from which on two are.
const SHARE: usize = 8;
const TWO: usize = 7;
/// Terms for each eight bytes of such tables where their number does not show in results.
const EXACT: usize = 4;
/// Terms of a share at least, and shares at most.
const SHARED: usize = 1 << 16;
const SHARES: usize = 16;

/// Folds rows of one element each into a table of `size` accumulators.
///
/// Where accumulators have many terms, each of a few tables is given a share of them, in storage order, and the tables are
/// folded in theirs: how many does not depend on the threads, so results do not either. Whole numbers and truth values come to the
/// same in any order, and have a table for each thread.
pub(super) fn scatter(fold: &Fold, split: &Split<'_>, values: &Strided, size: usize, need: Need) -> Result<Table> {
    let fold = fold.starting_at_minus_zero();
    let pattern = split.pattern;
    let bytes = values.dense_bytes()?;
    let log2 = if need == Need::Folds { split.log2_of_reduced() } else { 0.0 };
    let keys = Keys::new(pattern, &split.dims);
    let all = Terms { fold: &fold, rows: long_rows(pattern, &keys), keys, values: &bytes, size, log2 };
    let counted = if need == Need::Counts { size } else { 0 };
    let shares = shares(pattern.positions, size, fold.typing.acc);
    let (acc, counts) =
        if shares > 1 { all.shared(pattern.positions, shares, counted)? } else { all.cut(pattern.positions, counted)? };
    let axes = split.dims.mapped(|d| d.axis);
    let acc = Strided::new(acc, fold.typing.acc, sizes(&split.dims));
    Ok(Table { acc, axes, counts, identity: fold.kernels.identity })
}

/// In how many shares so many terms are folded into a table of so many accumulators.
fn shares(positions: usize, size: usize, acc: DType) -> usize {
    let most = (positions / SHARED).min(SHARES);
    if !acc.is_inexact() {
        let words = (size * acc.size() / size_of::<u64>()).max(1);
        return parallel::threads().min(positions / (EXACT * words)).min(most).max(1);
    }
    let wanted = (positions + SHARE * size / 2) / (SHARE * size).max(1);
    wanted.max(if positions >= TWO * size { 2 } else { 1 }).clamp(1, most.max(1))
}

/// What is folded.
struct Terms<'a> {
    fold: &'a Fold,
    keys: Keys<'a>,
    /// Where rows begin and end in which keys rise, if these are long.
    rows: Option<&'a Indices>,
    values: &'a [u8],
    /// Of the table.
    size: usize,
    /// The logarithm of how many elements are reduced to one.
    log2: f64,
}

impl Terms<'_> {
    /// One table, of which every thread fills a part.
    fn cut(&self, positions: usize, counted: usize) -> Result<(Buffer, Vec<u32>)> {
        let width = self.fold.typing.acc.size();
        let mut counts = zeroed_vec::<u32>(counted);
        if self.is_scattered(positions) {
            let fill = |acc: &mut [u8]| self.by_stretches(positions, acc, &mut counts);
            let acc = Buffer::filled(self.size * width, width, fill)?;
            return Ok((acc, counts));
        }
        let Cuts { ends, are_near } = self.cuts(positions);
        let extents = if are_near && self.rows.is_none() { self.extents(positions) } else { Vec::new() };
        let acc = Buffer::filled(self.size * width, width, |mut acc| {
            let (mut counts, mut start, mut first) = (&mut counts[..], 0, 0);
            let mut parts = Vec::with_capacity(ends.len());
            for End { key, term } in ends {
                let n = key - start;
                let (own, own_counts);
                (own, acc) = std::mem::take(&mut acc).split_at_mut(n * width);
                (own_counts, counts) = std::mem::take(&mut counts).split_at_mut(if counted > 0 { n } else { 0 });
                let part = Part {
                    keys: start as u32..key as u32,
                    terms: first..term.unwrap_or(positions),
                    apart: term.is_some(),
                    extents: &extents,
                };
                parts.push((part, own, own_counts));
                (start, first) = (key, term.unwrap_or(0));
            }
            parallel::for_each(parts, &|_, (part, acc, counts)| self.fold_part(part, acc, counts));
        })?;
        Ok((acc, counts))
    }

    /// Fills a table a stretch at a time, which a near cache holds, after the terms were distributed over these.
    fn by_stretches(&self, positions: usize, acc: &mut [u8], mut counts: &mut [u32]) {
        let (from, to) = (self.fold.typing.input.size(), self.fold.typing.acc.size());
        let low_bits = (STRETCH / to).max(self.size.next_power_of_two() / STRETCHES).ilog2();
        let stretch = 1 << low_bits;
        let buckets = KeyBuckets { low_bits, count: self.size.div_ceil(stretch) };
        let elements = Elements { keys: &self.keys, bytes: self.values, width: from, buckets };
        let (mut lows, mut rows) = (Scratch::<u32>::any(positions), Scratch::<u8>::any(positions * from));
        let parts = elements.parts(&mut lows, &mut rows);
        let mut work = Vec::with_capacity(buckets.count);
        for acc in acc.chunks_mut(stretch * to) {
            let n = if counts.is_empty() { 0 } else { acc.len() / to };
            let own;
            (own, counts) = std::mem::take(&mut counts).split_at_mut(n);
            work.push((acc, own));
        }
        parallel::for_each(work, &|b, (acc, counts)| {
            self.filled(acc, counts, |sums| {
                for part in &parts {
                    let (lows, rows) = part.of_bucket(b);
                    sums.add(rows, lows);
                }
            });
        });
    }

    /// When the sums of each share have a few terms, if they are corrected then and that is known or worth finding out: it is kept
    /// beside the keys.
    fn turns(&self, shares: &[Range<usize>]) -> Option<(Compensated, Arc<[Turns]>)> {
        let kernels = Compensated::of(self.fold.op, self.fold.typing.input)?;
        let Keys::Own(indices) = self.keys else { return None };
        let IndexSlice::U32(keys) = indices.as_slice() else { return None };
        // Each term of a small table is added with its correction, which takes no longer.
        if kernels.parts * self.size <= reduce::Table::SMALL || shares.iter().any(|share| share.len() > LONG) {
            return None;
        }
        let key = [shares.len(), self.size, Turns::few(self.log2)];
        let look = || {
            let of = |share: usize| {
                let own = shares[share].clone();
                Turns::of(&keys[own], self.size, self.log2, (zeroed_vec, zeroed_vec))
            };
            parallel::map_chunks(shares.len(), 1, &|share| of(share.start)).into()
        };
        Some((kernels, indices.buffer().turns(key, look)?))
    }

    /// A table for each share of the terms, folded together in order.
    fn shared(&self, positions: usize, shares: usize, counted: usize) -> Result<(Buffer, Vec<u32>)> {
        let (bytes, whole) = (self.size * self.fold.typing.acc.size(), 0..self.size as u32);
        let of = |share: usize| (positions as u128 * share as u128 / shares as u128) as usize;
        let terms: Vec<Range<usize>> = (0..shares).mapped(|share| of(share)..of(share + 1));
        let turns = if counted == 0 { self.turns(&terms) } else { None };
        let mut tables = Scratch::<u8>::any(shares * bytes);
        let mut counts = zeroed_vec::<u32>(shares * counted);
        let (mut rest, mut rest_of_counts) = (&mut tables[..], &mut counts[..]);
        let mut work = Vec::with_capacity(shares);
        for terms in terms {
            let (own, own_counts);
            (own, rest) = rest.split_at_mut(bytes);
            (own_counts, rest_of_counts) = rest_of_counts.split_at_mut(counted);
            work.push((terms, own, own_counts));
        }
        parallel::for_each(work, &|share, (terms, acc, counts)| {
            let Some((kernels, turns)) = &turns else {
                return self.fold_part(Part { keys: whole.clone(), terms, apart: false, extents: &[] }, acc, counts);
            };
            let width = self.fold.typing.input.size();
            let values = &self.values[terms.start * width..terms.end * width];
            (kernels.in_turns)(values, self.keys.read(terms, 0, &mut Room::default()), &turns[share], acc);
        });
        for share in 1..shares {
            let (first, own) = counts.split_at_mut(share * counted);
            first.iter_mut().zip(&own[..counted]).for_each(|(all, own)| *all += own);
        }
        counts.truncate(counted);
        let width = self.fold.typing.acc.size();
        let acc = Buffer::build(bytes, |acc| {
            parallel::for_chunks_mut(acc, width, parallel::GRAIN, &|start, acc| {
                let part = start * width..start * width + acc.len();
                let own = |share: usize| &tables[share * bytes..][part.clone()];
                self.fold.merge_tables((0..shares).map(own), acc);
            });
        })?;
        Ok((acc, counts))
    }
}
