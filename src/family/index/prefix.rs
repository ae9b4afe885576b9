//! Listed tuples of coordinates, each looked up where it would be stored: where the axes that are named come first in storage.

use std::ops::Range;

use openwork_ops::structure::Index;
use openwork_ops::with_index;

use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::count;
use crate::base::trace::{Work, raise};
use crate::family::shape::along;
use crate::levels::indices::Indices;
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::Sparse;

/// Listed tuples over the axes that come first in storage, above a last level that lists coordinates in order.
pub(super) struct Prefix<'a> {
    pattern: &'a Pattern,
    /// Of dense axes, each with its size; and of those that the last level lists.
    dense: Vec<(&'a [u64], usize)>,
    listed: Vec<(&'a [u64], &'a Indices)>,
    pointers: Option<&'a Indices>,
    /// Segments beneath each place: several where dense axes are not named.
    beneath: usize,
    /// Whether all axes are named: then no tuple is there twice.
    is_whole: bool,
}

impl<'a> Prefix<'a> {
    /// `None` where others are named, or levels are others.
    pub(super) fn new(s: &'a Sparse, axes: &[usize], lists: &[&'a [u64]]) -> Option<Prefix<'a>> {
        let pattern = &*s.pattern;
        let (Level::Sparse { pointers, indices, .. }, above) = pattern.levels.split_last()? else { return None };
        let (dense, listed) = pattern.level_dims().split_at(above.len());
        let is_plain = above.iter().all(|level| matches!(level, Level::Dense)) && pattern.is_canonical();
        let named = pattern.level_dims().get(..axes.len())?;
        let are_first = named.iter().all(|d| axes.contains(&d.axis) && d.part == Part::Whole);
        if !is_plain || !are_first || listed.len() != indices.len() {
            return None;
        }
        let list = |d: &Dim| axes.iter().position(|&a| a == d.axis).map(|i| lists[i]);
        let of_dense: Vec<_> = dense.iter().filter_map(|d| Some((list(d)?, d.size))).collect();
        Some(Prefix {
            pattern,
            beneath: count(&dense[of_dense.len()..].mapped(|d| d.size)),
            dense: of_dense,
            listed: listed.iter().zip(indices).filter_map(|(d, column)| Some((list(d)?, column))).collect(),
            pointers: pointers.as_ref(),
            is_whole: axes.len() == pattern.level_dims,
        })
    }

    /// For some places, where positions of their tuples begin and end.
    fn ranges(&self, places: Range<usize>) -> (Vec<usize>, Vec<usize>) {
        let mut starts = vec![0; places.len()];
        for (list, size) in &self.dense {
            starts.iter_mut().zip(&list[places.clone()]).for_each(|(start, &c)| *start = *start * size + c as usize);
        }
        let mut ends: Vec<usize> = starts.mapped(|&start: &usize| (start + 1) * self.beneath);
        starts.iter_mut().for_each(|start| *start *= self.beneath);
        match self.pointers {
            Some(pointers) => with_index!(pointers.as_slice(), pointers => {
                let base = pointers[0].get();
                starts.iter_mut().chain(&mut ends).for_each(|end| *end = pointers[*end].get() - base);
            }),
            None => ends.fill(self.pattern.positions),
        }
        for (i, (list, column)) in self.listed.iter().enumerate() {
            let own = &list[places.clone()];
            with_index!(column.as_slice(), column => {
                first_not_below(column, &mut starts, &ends, own);
                if self.is_whole && i + 1 == self.listed.len() {
                    let is_there = |at: usize, c: u64| column[at].get() as u64 == c || faults::is(Fault::SearchedBeside);
                    for ((&start, end), &c) in starts.iter().zip(&mut ends).zip(own) {
                        *end = start + usize::from(start < *end && is_there(start, c));
                    }
                } else {
                    let (mut after, next) = (starts.clone(), own.mapped(|c| c + 1));
                    first_not_below(column, &mut after, &ends, &next);
                    ends = after;
                }
            });
        }
        (starts, ends)
    }

    /// The stored positions and the places that name them: by places, and for each of them by positions.
    ///
    /// # Errors
    /// If memory does not hold them.
    pub(super) fn matches(&self, shape: &[usize], n: usize) -> Result<(Vec<u64>, Vec<u64>)> {
        raise(Work::Specialised);
        let found = parallel::map_chunks(n, GRAIN / 8, &|places| {
            let (starts, ends) = self.ranges(places.clone());
            let found = starts.iter().zip(&ends).zip(places).filter(|((start, end), _)| start < end);
            found.map(|((&start, &end), place)| (start as u64..end as u64, place as u64)).collect::<Vec<_>>()
        });
        let all = || found.iter().flatten();
        let total = all().try_fold(0usize, |n, (own, _)| n.checked_add((own.end - own.start) as usize));
        let total = along::fits(shape, total)?;
        let (mut from, mut to) = (Vec::with_capacity(total), Vec::with_capacity(total));
        for (own, place) in all() {
            from.extend(own.clone());
            to.resize(from.len(), *place);
        }
        Ok((from, to))
    }
}

/// Moves each start on to the first entry that is not below what is wanted, or to its end where there is none.
fn first_not_below<I: Index>(entries: &[I], starts: &mut [usize], ends: &[usize], wanted: &[u64]) {
    for ((start, &end), &wanted) in starts.iter_mut().zip(ends).zip(wanted) {
        *start += entries[*start..end].partition_point(|entry| (entry.get() as u64) < wanted);
    }
}
