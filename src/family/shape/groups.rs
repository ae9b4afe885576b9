//! Elements of one axis chosen among sorted coordinates. What agrees in the axes before it is a group, which stays in its place; what
//! agrees in that axis as well is a run, which moves as a whole. So nothing is sorted but the runs of a group, if at all.

use std::ops::Range;

use openwork_ops::structure::{Index, IndexSlice};
use openwork_ops::with_index;

use super::along::{Along, Places, fits};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::levels::fibres::agreeing;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::Sparse;

/// Where the elements with a coordinate go.
enum Goal<'a> {
    Step {
        start: u64,
        step: i64,
        len: u64,
    },
    Roll {
        by: u64,
        len: u64,
    },
    Without(&'a [u64]),
    Repeat(u64),
    /// To these places, which rise with the coordinates where the flag says so.
    List(Places, bool),
    /// Of each coordinate one place, or [`NOWHERE`]: they rise with the coordinates.
    Table(Vec<u64>),
}

const NOWHERE: u64 = u64::MAX;

impl Goal<'_> {
    /// Whether what has a greater coordinate goes behind.
    fn rises(&self) -> bool {
        match self {
            Goal::Step { step, .. } => *step > 0,
            Goal::Roll { .. } => false,
            Goal::List(_, rises) => *rises,
            Goal::Without(_) | Goal::Repeat(_) | Goal::Table(_) => true,
        }
    }

    #[inline(always)]
    fn places(&self, c: u64, mut put: impl FnMut(u64)) {
        match *self {
            Goal::Step { start, step: 1, len } => {
                let place = c.wrapping_sub(start);
                if place < len {
                    put(place);
                }
            }
            Goal::Step { start, step, len } => {
                let away = if step > 0 { c.wrapping_sub(start) } else { start.wrapping_sub(c) };
                let is_before = if step > 0 { c < start } else { c > start };
                let by = step.unsigned_abs();
                let (place, rest) = if by == 1 { (away, 0) } else { (away / by, away % by) };
                if !is_before && rest == 0 && place < len {
                    put(place);
                }
            }
            Goal::Roll { by, len } => {
                let place = c + by;
                put(if place < len { place } else { place - len });
            }
            Goal::Without(gone) => {
                if let Err(before) = gone.binary_search(&c) {
                    put(c - before as u64);
                }
            }
            Goal::Repeat(times) => (c * times..(c + 1) * times).for_each(put),
            Goal::List(ref places, _) => places.of(c).iter().for_each(|&place| put(place)),
            Goal::Table(ref table) if table[c as usize] != NOWHERE => put(table[c as usize]),
            Goal::Table(_) => {}
        }
    }
}

/// The chosen elements of the axis that is the level dimension numbered `place` of a canonical tensor of coordinates. `dims` are those of the
/// result.
///
/// Cost: O(nse + result), and a sort of the runs of each group where a list is in no order.
pub(super) fn chosen(s: &Sparse, place: usize, choice: &Along<'_>, dims: &[Dim]) -> Result<(Pattern, Strided)> {
    let p = &s.pattern;
    let [Level::Sparse { indices: columns, .. }] = &p.levels[..] else {
        return Err(error::layout("coordinates are one level"));
    };
    let (n, size) = (p.positions, s.shape[dims[place].axis]);
    let goal = match *choice {
        Along::Step { start, step, len } => Goal::Step { start: start as u64, step: step as i64, len: len as u64 },
        Along::Roll { by, len } => Goal::Roll { by: by as u64, len: len as u64 },
        Along::Without { gone, .. } => Goal::Without(gone),
        Along::Repeat { times, .. } => {
            fits(&s.shape, n.checked_mul(times))?;
            Goal::Repeat(times as u64)
        }
        Along::List(list) if size / 4 <= n && list.windows(2).all(|pair| pair[0] < pair[1]) => {
            let mut table = vec![NOWHERE; size];
            (0..).zip(list).for_each(|(place, &c)| table[c as usize] = place);
            Goal::Table(table)
        }
        Along::List(list) => Goal::List(Places::new(size, list, n), list.windows(2).all(|pair| pair[0] <= pair[1])),
    };
    let sizes = || dims[..p.level_dims].iter().map(|d| d.size);
    let wide = p.is_wide() || needs_64_bits(0, sizes());
    let columns = columns.mapped(|column| column.widened(wide));
    let groups = with_index!(columns[place].as_slice(), own => Groups::of(own, &columns, place, goal.rises()));
    let counts = with_index!(columns[place].as_slice(), own => groups.counts(own, &goal, size));
    let total = fits(&s.shape, counts.iter().try_fold(0usize, |sum, &own| sum.checked_add(own)))?;
    let (columns, wide) = if !wide && needs_64_bits(total, sizes()) {
        (columns.mapped(|column| column.widened(true)), true)
    } else {
        (columns, wide)
    };
    let put = if wide { put::<u64> } else { put::<u32> };
    let (to, from) = put(&groups, &columns, &counts, total, &goal);
    let gathered = |d: usize| if d == place { to.clone() } else { gathered(&columns[d], from.as_slice()) };
    let mut indices = (0..columns.len()).mapped(gathered);
    if wide && !needs_64_bits(total, sizes()) {
        indices = indices.mapped(|column| column.narrowed().unwrap_or_else(|| column.clone()));
    }
    let values = convert::gather_at(&s.values, from.as_slice())?;
    let levels = vec![Level::Sparse { pointers: None, indices, ordered: true, unique: true }];
    Ok((Pattern { levels, dims: dims.to_vec(), level_dims: p.level_dims, positions: total }, values))
}

/// Entries of an array at given places.
pub(super) fn gathered(source: &Indices, from: IndexSlice<'_>) -> Indices {
    fn typed<I: Index, F: Index>(source: &[I], from: &[F]) -> Indices {
        let mut out = Scratch::<I>::any(from.len());
        parallel::for_chunks_mut(&mut out, 1, GRAIN, &|first, out| {
            out.iter_mut().zip(&from[first..]).for_each(|(out, from)| *out = source[from.get()]);
        });
        out.into()
    }
    with_index!(source.as_slice(), source => with_index!(from, from => typed(source, from)))
}

/// Where groups and runs begin, and groups put together to pieces of about equal work.
struct Groups {
    /// In how many coordinates each tuple agrees with the one before it.
    agreeing: Scratch<u8>,
    place: u8,
    /// Whether no two elements are of one run.
    is_last: bool,
    pieces: Vec<Range<usize>>,
}

impl Groups {
    fn of<I: Index>(own: &[I], columns: &[Indices], place: usize, rises: bool) -> Groups {
        let (n, is_last) = (own.len(), place + 1 == columns.len());
        // Of tuples that differ, the last coordinate says nothing about runs.
        let leading = &columns[..if is_last { place } else { place + 1 }];
        let agreeing = agreeing(&leading.mapped(|c| c.typed::<I>()), n);
        let mut groups = Groups { agreeing, place: place as u8, is_last, pieces: Vec::new() };
        let mut begun = 0;
        while begun < n {
            // Runs that rise keep their order whatever group they are of.
            let last = n.min(begun + GRAIN) - 1;
            let end = if rises { groups.end_of_run(last, n) } else { groups.end_of_group(last, n) };
            groups.pieces.push(begun..end);
            begun = end;
        }
        groups
    }

    fn end_of_group(&self, at: usize, stop: usize) -> usize {
        (at + 1..stop).find(|&i| self.agreeing[i] < self.place).unwrap_or(stop)
    }

    fn end_of_run(&self, at: usize, stop: usize) -> usize {
        if self.is_last {
            return at + 1;
        }
        (at + 1..stop).find(|&i| self.agreeing[i] <= self.place).unwrap_or(stop)
    }

    fn start_of_run(&self, at: usize, first: usize) -> usize {
        let goes_on = |&i: &usize| !self.is_last && i > first && self.agreeing[i] > self.place;
        at - (0..=at).rev().take_while(goes_on).count()
    }

    /// How many elements each piece has in the result, of an axis of so many.
    fn counts<I: Index>(&self, own: &[I], goal: &Goal<'_>, size: usize) -> Vec<usize> {
        let mut counts = vec![0; self.pieces.len()];
        parallel::for_each(self.pieces.iter().zip(&mut counts).collect(), &|_, (piece, count): (&Range<_>, &mut _)| {
            *count = match *goal {
                Goal::Repeat(times) => piece.len() * times as usize,
                Goal::Roll { .. } => piece.len(),
                Goal::Step { step: 1 | -1, len, .. } if len as usize == size => piece.len(),
                Goal::Table(ref table) if self.is_last => {
                    own[piece.clone()].iter().map(|c| usize::from(table[c.get()] != NOWHERE)).sum()
                }
                _ => {
                    let mut count = 0usize;
                    let mut at = piece.start;
                    while at < piece.end {
                        let end = self.end_of_run(at, piece.end);
                        goal.places(own[at].get() as u64, |_| count = count.saturating_add(end - at));
                        at = end;
                    }
                    count
                }
            };
        });
        counts
    }
}

/// The places of all elements of the result along the axis, and which stored element each of them is.
fn put<I: Index>(
    groups: &Groups,
    columns: &[Indices],
    counts: &[usize],
    total: usize,
    goal: &Goal<'_>,
) -> (Indices, Indices) {
    let own = columns[groups.place as usize].typed::<I>();
    let (mut to, mut from) = (Scratch::<I>::any(total), Scratch::<I>::any(total));
    let (mut rest, mut rest_from, mut items) = (&mut to[..], &mut from[..], Vec::with_capacity(counts.len()));
    for (piece, &count) in groups.pieces.iter().zip(counts) {
        let (own, others) = rest.split_at_mut(count);
        let (own_from, others_from) = rest_from.split_at_mut(count);
        items.push((piece.clone(), own, own_from));
        (rest, rest_from) = (others, others_from);
    }
    parallel::for_each(items, &|_, (piece, to, from)| put_piece(groups, own, piece, goal, to, from));
    (to.into(), from.into())
}

fn put_piece<I: Index>(groups: &Groups, own: &[I], piece: Range<usize>, goal: &Goal<'_>, to: &mut [I], from: &mut [I]) {
    let mut filled = 0;
    if let (Goal::Table(table), true) = (goal, groups.is_last) {
        for (at, c) in piece.clone().zip(&own[piece]) {
            // Each is written, and the next one over it if it goes nowhere: a branch would be a guess.
            let (place, Some(to), Some(from)) = (table[c.get()], to.get_mut(filled), from.get_mut(filled)) else {
                return;
            };
            (*to, *from) = (I::new(place.min(I::NONE.get() as u64) as usize), I::new(at));
            filled += usize::from(place != NOWHERE);
        }
        return;
    }
    let mut put = |place: u64, run: Range<usize>| {
        let end = filled + run.len();
        let place = I::new(place as usize);
        for ((to, from), at) in to[filled..end].iter_mut().zip(&mut from[filled..end]).zip(run) {
            (*to, *from) = (place, I::new(at));
        }
        filled = end;
    };
    let (mut begun, rises) = (piece.start, goal.rises());
    // From the last run to the first no list is needed.
    let falls = matches!(goal, Goal::Step { step: ..0, .. });
    let mut runs: Vec<(u64, Range<usize>)> = Vec::new();
    while begun < piece.end {
        let end = if rises { piece.end } else { groups.end_of_group(begun, piece.end) };
        let group = std::mem::replace(&mut begun, end)..end;
        if falls {
            let mut stop = end;
            while stop > group.start {
                let at = groups.start_of_run(stop - 1, group.start);
                goal.places(own[at].get() as u64, |place| put(place, at..stop));
                stop = at;
            }
            continue;
        }
        let mut at = group.start;
        while at < end {
            let stop = groups.end_of_run(at, end);
            let run = at..stop;
            goal.places(own[at].get() as u64, |place| match rises {
                true => put(place, run.clone()),
                false => runs.push((place, run.clone())),
            });
            at = stop;
        }
        if runs.windows(2).all(|pair| pair[0].0 > pair[1].0) {
            runs.reverse();
        } else if !faults::is(Fault::RunsUnordered) {
            runs.sort_by_key(|run| run.0);
        }
        runs.drain(..).for_each(|(place, run)| put(place, run));
    }
}
