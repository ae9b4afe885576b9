//! Terms that are added to a part of a table.

use std::ops::Range;

use openwork_ops::reduce::{self, Compensated};
use openwork_ops::structure::gather::select_by_key;
use openwork_ops::structure::window;

use super::Terms;
use super::keys::{Keys, Room};
use crate::base::pages::Scratch;
use crate::engine::fold::Fold;

/// Positions that are folded at a time: their keys stay in the first-level cache.
pub(super) const PIECE: usize = 1 << 12;

/// The longest piece: places in one are numbers of 32 bits.
pub(super) const LONG: usize = 1 << 31;

/// A part of a table, and the terms among which are those that go there; if they are apart, no others.
pub(super) struct Part<'a> {
    pub(super) keys: Range<u32>,
    pub(super) terms: Range<usize>,
    pub(super) apart: bool,
    /// The least and greatest key of each piece, if known: of a part that is not the whole.
    pub(super) extents: &'a [[u32; 2]],
}

/// Where terms go.
enum Accumulators<'a> {
    Plain(&'a mut [u8]),
    Compensated(Compensated, reduce::Table<'a>),
}

impl Terms<'_> {
    /// Folds the terms of a part, and counts them if there is room for counts.
    pub(super) fn fold_part(
        &self,
        Part { keys: range, terms, apart, extents }: Part<'_>,
        acc: &mut [u8],
        counts: &mut [u32],
    ) {
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

    pub(super) fn compensated(&self) -> Option<Compensated> {
        Compensated::of(self.fold.op, self.fold.typing.input)
    }

    /// Lets `fill` add terms to a part of the table, or to all of it; they are counted if there is room for counts.
    pub(super) fn filled(&self, acc: &mut [u8], counts: &mut [u32], fill: impl FnOnce(&mut Sums<'_>)) {
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
pub(super) struct Sums<'a> {
    fold: &'a Fold,
    accumulators: Accumulators<'a>,
    counts: &'a mut [u32],
}

impl Sums<'_> {
    pub(super) fn add(&mut self, values: &[u8], keys: &[u32]) {
        match &mut self.accumulators {
            Accumulators::Compensated(kernels, table) => (kernels.scatter)(values, keys, table),
            Accumulators::Plain(acc) => self.fold.kernels.scatter(values, keys, acc),
        }
        if !self.counts.is_empty() {
            keys.iter().for_each(|&k| self.counts[k as usize] += 1);
        }
    }
}
