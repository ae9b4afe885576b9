//! Where a table is cut into parts, one for each thread.

use openwork_ops::structure::Index;
use openwork_ops::with_index;

use super::Terms;
use super::keys::{Room, extent};
use super::sums::PIECE;
use crate::base::pages::STREAMED;
use crate::base::parallel;

/// A table of more accumulators may be cut into parts: smaller ones are in the cache, where cutting gains nothing.
const CUT: usize = 1 << 17;

/// Parts of a table at most: every one looks at all keys or rows.
const PARTS: usize = 16;

/// Positions that are looked at to say where a table is cut: so many runs of so many.
const SAMPLE: [usize; 2] = [256, 16];

/// Of so many runs one goes to several parts, at most, where it pays to ask to which parts each piece goes.
const FAR: usize = 4;

/// Where a part of a table ends, and, if each has terms of its own, those.
#[derive(PartialEq, Eq)]
pub(super) struct End {
    pub(super) key: usize,
    pub(super) term: Option<usize>,
}

/// Where a table is cut, and whether the terms of most pieces go to one part.
pub(super) struct Cuts {
    pub(super) ends: Vec<End>,
    pub(super) are_near: bool,
}

impl Terms<'_> {
    /// Whether terms that follow each other go to places far from each other, in a table that is in no cache, and several threads share
    /// it: one alone is as quick where it asks for places ahead, and so are several where the last cache holds the table.
    pub(super) fn is_scattered(&self, positions: usize) -> bool {
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

    /// Where the table is cut, so that parts have about as many terms. An accumulator gets its terms in storage order in any
    /// part, so that results do not depend on this: it is left out on one thread.
    pub(super) fn cuts(&self, positions: usize) -> Cuts {
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
    pub(super) fn extents(&self, positions: usize) -> Vec<[u32; 2]> {
        let pieces = parallel::map_chunks(positions, parallel::GRAIN, &|terms| {
            let mut scratch = Room::default();
            let piece = |start: usize| start..(start + PIECE).min(terms.end);
            let starts = terms.clone().step_by(PIECE);
            starts.map(|start| extent(self.keys.read(piece(start), 0, &mut scratch))).collect::<Vec<_>>()
        });
        pieces.concat()
    }
}
