//! The merge of two levels: on one thread from end to end, on several in pieces that are put in their places as they come.

use std::ops::Range;

use openwork_ops::structure::Index;
use openwork_ops::structure::merge::{self, Keep, Segmented, Selection};

use super::Chosen;
use crate::base::faults::{self, Fault};
use crate::base::parallel;
use crate::base::turns::{cut, in_turns};
use crate::levels::segments::{Bounds, Segments};

/// Pieces of segments to merge: several whole parents, or a part of one large segment.
pub(super) enum Task {
    Parents(Range<usize>),
    Part(Range<usize>, Range<usize>),
}

/// Two sides of one level.
pub(super) struct Both<'a, I> {
    pub(super) left: &'a Segments<'a, I>,
    pub(super) right: &'a Segments<'a, I>,
    pub(super) keep: Keep,
}

impl<'a, I: Index> Both<'a, I> {
    /// Both, where every parent has a segment of single coordinates.
    pub(super) fn in_order(&self) -> Option<[Segmented<'a, I>; 2]> {
        let segmented = |s: &Segments<'a, I>| match (s.bounds, &s.columns[..]) {
            (Bounds::Pointers(pointers), &[coords]) => {
                Some(Segmented { pointers, base: pointers.first().map_or(0, |p| p.get()), coords })
            }
            _ => None,
        };
        Some([segmented(self.left)?, segmented(self.right)?])
    }

    /// The most that segments of so many entries can keep.
    pub(super) fn most(&self, l: usize, r: usize) -> usize {
        match (self.keep.left, self.keep.right) {
            (true, true) => l + r,
            (true, false) => l,
            (false, true) => r,
            (false, false) => l.min(r),
        }
    }

    fn merge(&self, l: Range<usize>, r: Range<usize>, out: &mut Selection<'_, I>) -> usize {
        match (&self.left.columns[..], &self.right.columns[..]) {
            ([left], [right]) => merge::merge_segment(left, l, right, r, self.keep, out),
            (left, right) => merge::merge_tuples(left, l, right, r, self.keep, out),
        }
    }

    /// Merges the segments of some parents, writes where each one's part ends, and gives how much was kept.
    fn merge_parents(
        &self,
        in_order: Option<[Segmented<'a, I>; 2]>,
        parents: Range<usize>,
        segment: SegmentOf<'_>,
        out: &mut Selection<'_, I>,
        ends: &mut [I],
    ) -> usize {
        if let Some([left, right]) = in_order {
            let of = |s: Segmented<'a, I>| Segmented { pointers: &s.pointers[parents.start..=parents.end], ..s };
            return merge::merge_segments(of(left), of(right), self.keep, out, ends);
        }
        let mut done = 0;
        for (parent, end) in parents.zip(ends) {
            let (l, r) = segment(parent);
            done += self.merge(l, r, &mut rest(out, done));
            *end = I::new(done);
        }
        done
    }
}

/// The part from `start` on.
fn rest<'a, I>(room: &'a mut Selection<'_, I>, start: usize) -> Selection<'a, I> {
    Selection { left: &mut room.left[start..], right: &mut room.right[start..], coords: &mut room.coords[start..] }
}

pub(super) type SegmentOf<'a> = &'a (dyn Fn(usize) -> (Range<usize>, Range<usize>) + Sync);

/// On one thread: into room for all that may be kept, then cut to what was.
pub(super) fn one_pass<I: Index>(
    both: &Both<'_, I>,
    in_order: Option<[Segmented<'_, I>; 2]>,
    count: usize,
    segment: SegmentOf<'_>,
    chosen: &mut Chosen<I>,
    ends: &mut [I],
) {
    let most = match in_order {
        Some(_) => both.most(both.left.len(), both.right.len()),
        None => (0..count).map(segment).map(|(l, r)| both.most(l.len(), r.len())).sum(),
    };
    chosen.make_room(most);
    let mut out = chosen.room();
    let done = both.merge_parents(in_order, 0..count, segment, &mut out, &mut ends[1..]);
    chosen.truncate(done);
}

/// What one task keeps, in memory of its own.
struct Piece<I> {
    left: Vec<I>,
    right: Vec<I>,
    coords: Vec<I>,
    /// Where each parent's part ends.
    ends: Vec<I>,
    /// How much is kept.
    len: usize,
}

impl<I> Default for Piece<I> {
    fn default() -> Self {
        Piece { left: Vec::new(), right: Vec::new(), coords: Vec::new(), ends: Vec::new(), len: 0 }
    }
}

/// The part of the result that is not made yet.
struct Room<'a, I> {
    chosen: Selection<'a, I>,
    ends: &'a mut [I],
    /// How much stands before it.
    start: usize,
}

impl<'a, I> Room<'a, I> {
    fn cut(&mut self, piece: &Piece<I>) -> Room<'a, I> {
        let Selection { left, right, coords } = &mut self.chosen;
        let chosen =
            Selection { left: cut(left, piece.len), right: cut(right, piece.len), coords: cut(coords, piece.len) };
        let start = self.start;
        self.start += piece.len;
        Room { chosen, ends: cut(&mut self.ends, piece.ends.len()), start }
    }
}

impl<I: Index> Piece<I> {
    fn copy(&self, to: Room<'_, I>) {
        to.chosen.left.copy_from_slice(&self.left[..self.len]);
        to.chosen.right.copy_from_slice(&self.right[..self.len]);
        to.chosen.coords.copy_from_slice(&self.coords[..self.len]);
        for (to_end, end) in to.ends.iter_mut().zip(&self.ends) {
            *to_end = I::new(to.start + end.get());
        }
    }
}

/// On several threads: tasks merge into memory that stays in the cache, from which each piece goes to where it belongs.
pub(super) fn by_tasks<I: Index>(
    both: &Both<'_, I>,
    in_order: Option<[Segmented<'_, I>; 2]>,
    tasks: &[Task],
    segment: SegmentOf<'_>,
    chosen: &mut Chosen<I>,
    ends: &mut [I],
) {
    let room_of = |task: &Task| match task {
        Task::Part(l, r) => both.most(l.len(), r.len()),
        Task::Parents(parents) if let Some(sides) = in_order => {
            let [l, r] = sides.map(|s| s.pointers[parents.end].get() - s.pointers[parents.start].get());
            both.most(l, r)
        }
        Task::Parents(parents) => parents.clone().map(segment).map(|(l, r)| both.most(l.len(), r.len())).sum(),
    };
    let rooms: Vec<usize> = tasks.iter().map(room_of).collect();
    chosen.make_room(rooms.iter().sum());
    let make = |t: usize, piece: &mut Piece<I>| {
        let room = rooms[t];
        for v in [&mut piece.left, &mut piece.right, &mut piece.coords] {
            v.resize(room.max(v.len()), I::default());
        }
        let Piece { left, right, coords, ends, .. } = piece;
        let mut out = Selection { left: &mut left[..room], right: &mut right[..room], coords: &mut coords[..room] };
        ends.clear();
        piece.len = match &tasks[t] {
            Task::Part(l, r) => both.merge(l.clone(), r.clone(), &mut out),
            Task::Parents(parents) => {
                ends.resize(parents.len(), I::default());
                both.merge_parents(in_order, parents.clone(), segment, &mut out, ends)
            }
        };
    };
    let room = Room { chosen: chosen.room(), ends: &mut ends[1..], start: 0 };
    let done = in_turns(tasks.len(), room, &make, &|room, piece| room.cut(piece), &|piece, to| piece.copy(to)).start;
    if let (Some(end), [Task::Part(..), ..]) = (ends.get_mut(1), tasks) {
        *end = I::new(done); // one segment, cut in parts
    }
    chosen.truncate(done);
}

/// Cuts the work at segments (or inside one large segment at equal tuples) into pieces of similar size; `None` where
/// one pass on one thread is best.
pub(super) fn tasks<I: Index>(
    both: &Both<'_, I>,
    in_order: Option<[Segmented<'_, I>; 2]>,
    count: usize,
    segment: SegmentOf<'_>,
) -> Option<Vec<Task>> {
    let Both { left, right, .. } = both;
    if left.len() + right.len() + count < 2 * parallel::GRAIN || parallel::threads() == 1 {
        return None; // how the work is cut changes no result
    }
    if count == 1 {
        let (l, r) = segment(0);
        let long = l.len() + r.len() > 2 * parallel::GRAIN && !left.columns.is_empty();
        return long.then(|| parts(left, right, l, r));
    }
    const WORK: usize = parallel::GRAIN / 2;
    let (mut out, mut start, mut work) = (Vec::new(), 0, 0);
    if let Some(sides) = in_order {
        // What stands before each parent rises: no parent is looked at on its own.
        let before = |i: usize| i + sides.iter().map(|s| s.pointers[i].get() - s.base).sum::<usize>();
        while start < count {
            let goal = before(start) + WORK;
            let (mut low, mut high) = (start + 1, count);
            while low < high {
                let middle = low.midpoint(high);
                if before(middle) < goal { low = middle + 1 } else { high = middle }
            }
            out.push(Task::Parents(start..low));
            start = low;
        }
        return (out.len() > 1).then_some(out);
    }
    for i in 0..count {
        let (l, r) = segment(i);
        work += l.len() + r.len() + 1;
        if work >= WORK {
            out.push(Task::Parents(start..i + 1));
            (start, work) = (i + 1, 0);
        }
    }
    if start < count {
        out.push(Task::Parents(start..count));
    }
    (out.len() > 1).then_some(out)
}

/// Cuts one pair of long segments where a tuple of the left side begins.
fn parts<I: Index>(left: &Segments<'_, I>, right: &Segments<'_, I>, l: Range<usize>, r: Range<usize>) -> Vec<Task> {
    let (mut out, mut l0, mut r0) = (Vec::new(), l.start, r.start);
    let mut cut = l.start + parallel::GRAIN;
    while cut < l.end {
        let below = |j: usize| {
            right
                .columns
                .iter()
                .zip(&*left.columns)
                .map(|(rc, lc)| rc[j].cmp(&lc[cut]))
                .find(|o| o.is_ne())
                .is_some_and(|o| o.is_lt())
        };
        let (mut low, mut high) = (r0, r.end);
        while low < high {
            let mid = low.midpoint(high);
            if below(mid) { low = mid + 1 } else { high = mid }
        }
        out.push(Task::Part(l0..cut, r0..if faults::is(Fault::PartLost) { r0 } else { low }));
        (l0, r0) = (cut, low);
        cut += parallel::GRAIN;
    }
    out.push(Task::Part(l0..l.end, r0..r.end));
    out
}
