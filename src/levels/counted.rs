//! Pointers of segments whose lengths are counted piece by piece, in parallel.

use std::ops::Range;

use openwork_ops::structure::Index;

use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};

/// Segments that are counted: where each ends within its piece, until [`Counted::pointers`] says where it does in all.
pub(crate) struct Counted<'a, O> {
    ends: Scratch<O>,
    /// Where each piece of segments ends.
    cuts: &'a [usize],
    /// How much stands before each piece, and before what would come after the last.
    pub(crate) begins: Vec<usize>,
}

/// Cuts segments (`pointers` are theirs) into pieces that take about equally long: of a grain of segments and entries
/// together. Gives where each piece ends.
pub(crate) fn cuts<I: Index>(pointers: &[I]) -> Vec<usize> {
    let (n, base) = (pointers.len() - 1, pointers[0].get());
    let (mut cuts, mut begun) = (Vec::new(), 0);
    while begun < n {
        let goal = begun + pointers[begun].get() - base + GRAIN;
        // The work before each segment rises with it.
        let (mut low, mut high) = (begun + 1, n.min(begun + GRAIN));
        while low < high {
            let middle = low.midpoint(high);
            if middle + pointers[middle].get() - base < goal { low = middle + 1 } else { high = middle }
        }
        cuts.push(low);
        begun = low;
    }
    cuts
}

impl<'a, O: Index> Counted<'a, O> {
    /// `count` writes where each of some segments would end if the first of them began at 0, or [`Index::NONE`] where that is too
    /// much for this width, and says what they have together.
    pub(crate) fn new(cuts: &'a [usize], count: &(dyn Fn(Range<usize>, &mut [O]) -> usize + Sync)) -> Counted<'a, O> {
        Counted::with(cuts, vec![(); cuts.len()], &|segments, ends, ()| (count(segments, ends), 0)).0
    }

    /// As [`Counted::new`], with something of its own for each piece, and a number that it gives.
    pub(crate) fn with<E: Send>(
        cuts: &'a [usize],
        own: Vec<E>,
        count: &(dyn Fn(Range<usize>, &mut [O], E) -> (usize, usize) + Sync),
    ) -> (Counted<'a, O>, Vec<usize>) {
        let n = cuts.last().copied().unwrap_or(0);
        let mut ends = Scratch::<O>::any(n + 1);
        ends[0] = O::new(0);
        let mut found = vec![(0, 0); cuts.len()];
        let (mut rest, mut items, mut begun) = (&mut ends[1..], Vec::with_capacity(cuts.len()), 0);
        for ((&cut, found), own) in cuts.iter().zip(&mut found).zip(own) {
            let ends;
            (ends, rest) = rest.split_at_mut(cut - begun);
            items.push((begun..cut, ends, own, found));
            begun = cut;
        }
        parallel::for_each(items, &|_, (segments, ends, own, found)| *found = count(segments, ends, own));
        let (mut begins, mut total) = (vec![0], 0usize);
        for (count, _) in &found {
            total = total.saturating_add(*count);
            begins.push(total);
        }
        (Counted { ends, cuts, begins }, found.into_iter().map(|(_, number)| number).collect())
    }

    /// What all segments have.
    pub(crate) fn total(&self) -> usize {
        self.begins.last().copied().unwrap_or(0)
    }

    /// The pointers of all segments. Their total is one of this width.
    pub(crate) fn pointers(mut self) -> Scratch<O> {
        parallel::for_pieces_mut(&mut self.ends[1..], self.cuts, &|piece, ends| {
            let begin = self.begins[piece];
            if begin > 0 {
                ends.iter_mut().for_each(|end| *end = O::new(end.get() + begin));
            }
        });
        self.ends
    }
}

#[cfg(test)]
#[path = "tests/counted.rs"]
mod tests;
