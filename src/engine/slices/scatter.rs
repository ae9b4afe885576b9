//! Folds into a table: an accumulator per kept coordinate, where these are few.

use crate::base::mapped::Mapped;
use std::ops::Range;
use std::sync::Arc;

use openwork_ops::reduce::{self, Compensated, Turns};
use openwork_ops::structure::buckets::KeyBuckets;
use openwork_ops::structure::choose;
use openwork_ops::structure::gather::select_by_key;
use openwork_ops::structure::window;
use openwork_ops::structure::{Index, IndexSlice, IndexVec};
use openwork_ops::{DType, Scalar, with_index};

use super::cut::Split;
use super::groups::{Groups, Need, sizes};
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::pages::{STREAMED, Scratch};
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::engine::distribute::{self, Elements};
use crate::engine::fold::Fold;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};

/// Positions that are folded at a time: their keys stay in the first-level cache.
const PIECE: usize = 1 << 12;

/// The longest piece: places in one are numbers of 32 bits.
const LONG: usize = 1 << 31;

/// A table of more accumulators may be cut into parts: smaller ones are in the cache, where cutting gains nothing.
const CUT: usize = 1 << 17;

/// Bytes of a stretch of a table to which terms are distributed, about, and stretches at most.
const STRETCH: usize = 1 << 18;
const STRETCHES: usize = 1 << 11;

/// Terms of a row, on average, of which those of a part are looked for: they lie together.
const LONG_ROW: usize = 32;

/// Parts of a table at most: every one looks at all keys or rows.
const PARTS: usize = 16;

/// Terms for each accumulator of a table of which several are filled, each by a share of the terms; and those from which on two are.
const SHARE: usize = 8;
const TWO: usize = 7;
/// Terms for each eight bytes of such tables where their number does not show in results.
const EXACT: usize = 4;
/// Terms of a share at least, and shares at most.
const SHARED: usize = 1 << 16;
const SHARES: usize = 16;

/// Positions that are looked at to say where a table is cut: so many runs of so many.
const SAMPLE: [usize; 2] = [256, 16];
/// Of so many runs one goes to several parts, at most, where it pays to ask to which parts each piece goes.
const FAR: usize = 4;

/// An accumulator for every index of the kept dimensions.
pub(crate) struct Table {
    /// In C order of the kept dimensions as the levels have them.
    pub(crate) acc: Strided,
    /// Axes of these dimensions.
    pub(crate) axes: Vec<usize>,
    /// How many elements each has, if anybody needs that.
    pub(crate) counts: Vec<u32>,
    /// What one is with nothing folded into it.
    identity: Scalar,
}

impl Table {
    /// Puts a value where nothing was folded that leaves a trace.
    pub(crate) fn put_empty(&mut self, empty: Scalar) {
        let ((from, width), (to, _)) = (self.identity.to_bytes(), empty.to_bytes());
        if from[..width] == to[..width] {
            return;
        }
        fn replace<const W: usize>(acc: &mut [u8], from: &[u8], to: &[u8]) {
            let (acc, from, to) = (acc.as_chunks_mut::<W>().0, from.as_chunks::<W>().0, to.as_chunks::<W>().0);
            if let (Some(from), Some(to)) = (from.first(), to.first()) {
                acc.iter_mut().for_each(|a| *a = if a == from { *to } else { *a });
            }
        }
        let Some(bytes) = self.acc.buffer.unique_mut() else { return };
        parallel::for_chunks_mut(bytes, width, parallel::GRAIN, &|_, acc| match width {
            1 => replace::<1>(acc, &from, &to),
            2 => replace::<2>(acc, &from, &to),
            4 => replace::<4>(acc, &from, &to),
            8 => replace::<8>(acc, &from, &to),
            _ => replace::<16>(acc, &from, &to),
        });
    }

    /// The accumulators into which anything was folded, or into which it left a trace.
    pub(super) fn groups(self, split: &Split<'_>, kept: &[usize]) -> Result<Groups> {
        let size = self.acc.len();
        let room = zeroed_vec(size);
        let touched = if self.counts.is_empty() {
            let (identity, width) = self.identity.to_bytes();
            choose::unlike(self.acc.buffer.bytes(), &identity[..width], room)
        } else {
            choose::which(&self.counts, room, |&n| n > 0)
        };
        let counts = touched.iter().take(self.counts.len()).map(|&i| self.counts[i as usize].into()).collect();
        let pattern = match split.dims[..] {
            [dim] => line(kept, dim, &touched),
            _ => {
                let places: Vec<u64> = touched.iter().map(|&i| i.into()).collect();
                let (layout, words) = convert::unravel(&places, &sizes(&split.dims));
                split.result_pattern(kept, &layout, &words)?
            }
        };
        let acc = self.acc.reshape(&[size])?;
        let acc = if touched.len() == size { acc } else { convert::gather_values(&acc, &IndexVec::U32(touched))? };
        Ok(Groups { pattern, acc, counts })
    }
}

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

/// The rows that a table is filled from, if terms lie in rows long enough to look in each for those of a part.
fn long_rows<'a>(pattern: &'a Pattern, keys: &Keys<'_>) -> Option<&'a Indices> {
    let Some(Level::Sparse { pointers: Some(pointers), indices, ordered: true, .. }) = pattern.levels.last() else {
        return None;
    };
    let is_long = pattern.positions / LONG_ROW >= pointers.len();
    (indices.len() == 1 && is_long && matches!(keys, Keys::Own(_))).then_some(pointers)
}

/// Where a part of a table ends, and, if each has terms of its own, those.
#[derive(PartialEq, Eq)]
struct End {
    key: usize,
    term: Option<usize>,
}

/// Where a table is cut, and whether the terms of most pieces go to one part.
struct Cuts {
    ends: Vec<End>,
    are_near: bool,
}

/// A part of a table, and the terms among which are those that go there; if they are apart, no others.
struct Part<'a> {
    keys: Range<u32>,
    terms: Range<usize>,
    apart: bool,
    /// The least and greatest key of each piece, if known: of a part that is not the whole.
    extents: &'a [[u32; 2]],
}

/// Where terms go.
enum Accumulators<'a> {
    Plain(&'a mut [u8]),
    Compensated(Compensated, reduce::Table<'a>),
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

    /// Whether terms that follow each other go to places far from each other, in a table that is in no cache, and several threads share
    /// it: one alone is as quick where it asks for places ahead, and so are several where the last cache holds the table.
    fn is_scattered(&self, positions: usize) -> bool {
        let is_large =
            self.size * self.fold.typing.acc.size() >= STREAMED && positions >= CUT && parallel::threads() > 1;
        if !is_large || self.keys.leading().is_some() || self.rows.is_some() {
            return false;
        }
        let [runs, run] = SAMPLE;
        let mut scratch = Room::default();
        let starts = (0..runs).map(|i| i * (positions - run) / runs);
        let far = starts.filter(|&start| {
            let [least, greatest] = extent(self.keys.read(start..start + run, 0, &mut scratch));
            (greatest - least) as usize > CUT
        });
        far.count() * FAR > runs
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

    /// Where the table is cut, so that parts have about as many terms. An accumulator gets its terms in storage order in any
    /// part, so that results do not depend on this: it is left out on one thread.
    fn cuts(&self, positions: usize) -> Cuts {
        let parts = parallel::threads().min(PARTS);
        let (mut ends, mut are_near) = (Vec::new(), false);
        if parts > 1 && self.size > CUT && positions >= CUT {
            // Terms that come in order of their keys' first part: each thread looks at its own.
            if let Some((first, step)) = self.keys.leading() {
                with_index!(first.as_slice(), first => {
                    for part in 1..parts {
                        let own = first[part * positions / parts];
                        let term = first.partition_point(|&i| i < own);
                        if term > 0 {
                            ends.push(End { key: own.get() * step, term: Some(term) });
                        }
                    }
                });
                ends.dedup();
                ends.push(End { key: self.size, term: Some(positions) });
                return Cuts { ends, are_near };
            }
            let [runs, run] = SAMPLE;
            let (mut sample, mut scratch) = (Vec::with_capacity(runs * run), Room::default());
            for start in (0..runs).map(|i| i * (positions - run) / runs) {
                sample.extend_from_slice(self.keys.read(start..start + run, 0, &mut scratch));
            }
            let extents: Vec<[u32; 2]> = sample.chunks(run).map(extent).collect();
            sample.sort_unstable();
            ends.extend((1..parts).map(|i| End { key: sample[i * sample.len() / parts] as usize, term: None }));
            ends.dedup();
            ends.retain(|end| end.key > 0);
            let is_cut = |[least, greatest]: &&[u32; 2]| {
                ends.iter().any(|end| (*least as usize) < end.key && end.key <= *greatest as usize)
            };
            are_near = !ends.is_empty() && extents.iter().filter(is_cut).count() * FAR < runs;
        }
        ends.push(End { key: self.size, term: None });
        Cuts { ends, are_near }
    }

    /// The least and greatest key of each piece.
    fn extents(&self, positions: usize) -> Vec<[u32; 2]> {
        let pieces = parallel::map_chunks(positions, parallel::GRAIN, &|terms| {
            let mut scratch = Room::default();
            let piece = |start: usize| start..(start + PIECE).min(terms.end);
            let starts = terms.clone().step_by(PIECE);
            starts.map(|start| extent(self.keys.read(piece(start), 0, &mut scratch))).collect::<Vec<_>>()
        });
        pieces.concat()
    }

    /// Folds the terms of a part, and counts them if there is room for counts.
    fn fold_part(&self, Part { keys: range, terms, apart, extents }: Part<'_>, acc: &mut [u8], counts: &mut [u32]) {
        let width = self.fold.typing.input.size();
        let whole = range.len() == self.size || apart;
        let base = if apart { range.start } else { 0 };
        // Long pieces pay where keys need no place of their own; some elements are made others of first, which takes memory.
        let long = whole && counts.is_empty() && matches!(self.keys, Keys::Own(_));
        let piece = match self.compensated() {
            Some(_) if long => terms.len().min(LONG),
            None if long => 4 * PIECE,
            _ => PIECE,
        };
        let mut scratch = Room::default();
        let (mut own_keys, mut own_values) = (Vec::new(), Vec::new());
        if !whole {
            (own_keys, own_values) = (vec![0; piece], vec![0u128; (piece * width).div_ceil(16)]);
        }
        let own_values: &mut [u8] = bytemuck::cast_slice_mut(&mut own_values);
        if let (Some(rows), false) = (self.rows, whole) {
            let (keys, room) = (self.keys.read(terms, 0, &mut scratch), (&mut own_keys[..], own_values));
            return self.filled(acc, counts, |sums| {
                let add = &mut |values: &[u8], keys: &[u32]| sums.add(values, keys);
                window::select(rows.as_slice(), keys, (self.values, width), range, room, add);
            });
        }
        self.filled(acc, counts, |sums| {
            for start in terms.clone().step_by(piece.max(1)) {
                let end = (start + piece).min(terms.end);
                let is_inside = match extents.get(start / PIECE) {
                    Some([least, greatest]) if *greatest < range.start || range.end <= *least => continue,
                    Some([least, greatest]) => range.start <= *least && *greatest < range.end,
                    None => false,
                };
                let mut keys = self.keys.read(start..end, base, &mut scratch);
                let mut values = &self.values[start * width..end * width];
                if is_inside {
                    own_keys.iter_mut().zip(keys).for_each(|(own, key)| *own = key - range.start);
                    keys = &own_keys[..end - start];
                } else if !whole {
                    let n = select_by_key(keys, values, width, range.clone(), (&mut own_keys, own_values));
                    (keys, values) = (&own_keys[..n], &own_values[..n * width]);
                }
                sums.add(values, keys);
            }
        });
    }

    fn compensated(&self) -> Option<Compensated> {
        Compensated::of(self.fold.op, self.fold.typing.input)
    }

    /// Lets `fill` add terms to a part of the table, or to all of it; they are counted if there is room for counts.
    fn filled(&self, acc: &mut [u8], counts: &mut [u32], fill: impl FnOnce(&mut Sums<'_>)) {
        let (mut counts_of_sums, mut pairs);
        let accumulators = match self.compensated() {
            Some(kernels) => {
                let entries = acc.len() / self.fold.typing.acc.size();
                let (bytes, numbers) = reduce::Table::room(&kernels, entries, kernels.parts * self.size);
                (counts_of_sums, pairs) = (Scratch::<u8>::any(bytes), Scratch::<f64>::any(numbers));
                let room = (&mut counts_of_sums[..], &mut pairs[..]);
                Accumulators::Compensated(kernels, reduce::Table::new(&kernels, acc, self.log2, room))
            }
            None => {
                self.fold.fill_identity(acc);
                Accumulators::Plain(acc)
            }
        };
        let mut sums = Sums { fold: self.fold, accumulators, counts };
        fill(&mut sums);
        if let Accumulators::Compensated(_, table) = sums.accumulators {
            table.finish();
        }
    }
}

/// What is being filled.
struct Sums<'a> {
    fold: &'a Fold,
    accumulators: Accumulators<'a>,
    counts: &'a mut [u32],
}

impl Sums<'_> {
    fn add(&mut self, values: &[u8], keys: &[u32]) {
        match &mut self.accumulators {
            Accumulators::Compensated(kernels, table) => (kernels.scatter)(values, keys, table),
            Accumulators::Plain(acc) => self.fold.kernels.scatter(values, keys, acc),
        }
        if !self.counts.is_empty() {
            keys.iter().for_each(|&k| self.counts[k as usize] += 1);
        }
    }
}

/// The least and the greatest key.
fn extent(keys: &[u32]) -> [u32; 2] {
    keys.iter().fold([u32::MAX, 0], |[least, greatest], &key| [least.min(key), greatest.max(key)])
}

/// The pattern of a result over one axis with these coordinates.
fn line(kept: &[usize], dim: Dim, coordinates: &[u32]) -> Pattern {
    let axis = kept.iter().position(|&a| a == dim.axis).unwrap_or(dim.axis);
    let indices = if needs_64_bits(coordinates.len(), [dim.size]) {
        IndexVec::U64(coordinates.iter().map(|&i| i.into()).collect())
    } else {
        IndexVec::U32(coordinates.to_vec())
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
struct Room {
    wide: Vec<u64>,
    narrow: Vec<u32>,
}

impl distribute::Keys for Keys<'_> {
    type Key = u32;
    type Room = Room;

    fn of<'a>(&'a self, range: Range<usize>, room: &'a mut Room) -> &'a [u32] {
        self.read(range, 0, room)
    }
}

impl<'a> Keys<'a> {
    fn new(pattern: &'a Pattern, kept: &[Dim]) -> Keys<'a> {
        let of_last: &[Indices] = match pattern.levels.last() {
            Some(Level::Sparse { indices, .. }) => indices,
            Some(Level::Singleton { indices }) => std::slice::from_ref(indices),
            _ => &[],
        };
        if let ([dim], indices) = (kept, of_last)
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

    /// Those of some positions, less `base`, which is 0 for an array's own.
    fn read<'s>(&'s self, range: Range<usize>, base: u32, scratch: &'s mut Room) -> &'s [u32] {
        match self {
            Keys::Own(indices) => match indices.as_slice() {
                IndexSlice::U32(own) => &own[range],
                IndexSlice::U64(_) => &[], // not taken
            },
            Keys::Form(pattern, weights) => {
                let narrow = &mut scratch.narrow;
                narrow.clear();
                narrow.resize(range.len(), base.wrapping_neg());
                if let [Level::Sparse { pointers: None, indices, .. }] = &pattern.levels[..]
                    && indices.iter().all(|column| !column.is_wide())
                {
                    // A key fits, so what is beyond 32 bits on the way does not matter.
                    for (column, &weight) in indices.iter().zip(weights).filter(|(_, weight)| **weight != 0) {
                        let own = &column.typed::<u32>()[range.clone()];
                        narrow.iter_mut().zip(own).for_each(|(key, &i)| {
                            *key = key.wrapping_add(i.wrapping_mul(weight as u32));
                        });
                    }
                    return narrow;
                }
                scratch.wide.resize(range.len(), 0);
                pattern.linearize(weights, range, &mut scratch.wide);
                narrow.iter_mut().zip(&scratch.wide).for_each(|(key, &o)| *key = key.wrapping_add(o as u32));
                narrow
            }
        }
    }

    /// The first column of coordinates that are in its order, and what a step along it adds to a key.
    fn leading(&self) -> Option<(&Indices, usize)> {
        let Keys::Form(pattern, weights) = self else { return None };
        let ([Level::Sparse { pointers: None, indices, .. }], true) = (&pattern.levels[..], pattern.is_canonical())
        else {
            return None;
        };
        let (first, &step) = (indices.first()?, weights.first()?);
        (step > 0).then_some((first, step as usize))
    }
}
