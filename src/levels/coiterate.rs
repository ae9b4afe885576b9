//! Co-iteration: the pattern of an elementwise result from the patterns of two operands with the same
//! level structure, and where each of its positions comes from.

use std::ops::{Deref, DerefMut, Range};

use openwork_ops::structure::Index;
use openwork_ops::structure::merge::{self, Keep, Segmented, Selection};

use crate::base::faults::{self, Fault};
use crate::base::few::Few;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::trace::{Work, raise};
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::Level;
use crate::levels::pattern::Pattern;
use crate::levels::segments::{Bounds, Segments};

/// A merged pattern, and the position on either side (or [`Index::NONE`]) of each of its positions.
pub(crate) struct Merged<P> {
    pub(crate) pattern: Pattern,
    pub(crate) left: P,
    pub(crate) right: P,
}

/// Merges two canonical patterns over the same dimensions: dense levels where the other has them, and else of the same
/// ranks.
pub(crate) fn merge(a: &Pattern, b: &Pattern, keep: Keep) -> Merged<Indices> {
    fn shared<I: Index>(merged: Merged<Places<I>>) -> Merged<Indices> {
        Merged { pattern: merged.pattern, left: merged.left.into(), right: merged.right.into() }
    }
    match merge_narrow(a, b, keep) {
        Some(merged) => shared(merged),
        None => shared(merge_typed::<u64>(&a.clone().of_one_width(true), &b.clone().of_one_width(true), keep)),
    }
}

/// The same where no array is wide; positions that are few take no memory of their own.
pub(crate) fn merge_narrow(a: &Pattern, b: &Pattern, keep: Keep) -> Option<Merged<Places<u32>>> {
    raise(Work::Engine);
    let wide = a.is_wide() || b.is_wide() || needs_64_bits(a.positions + b.positions, []);
    (!wide).then(|| merge_typed::<u32>(a, b, keep))
}

/// The parents whose children are merged next.
enum Pairs<I> {
    /// Parents `0..n` of both sides, each with its equal.
    Same(usize),
    /// Positions on either side.
    List(Places<I>, Places<I>),
}

/// How many positions are few.
pub(crate) const PLACES: usize = 32;

/// Positions, without memory of their own if they are few.
pub(crate) enum Places<I> {
    Few(Few<I, PLACES>),
    Many(Scratch<I>),
}

impl<I: Index> Places<I> {
    /// Room for so many: what a merge does not write may be anything.
    fn room(n: usize) -> Places<I> {
        if n <= PLACES { Places::Few(Few::repeat(I::default(), n)) } else { Places::Many(Scratch::any(n)) }
    }

    fn truncate(&mut self, n: usize) {
        match self {
            Places::Few(all) => all.truncate(n),
            Places::Many(all) => all.truncate(n),
        }
    }
}

impl<I: Index> Deref for Places<I> {
    type Target = [I];

    fn deref(&self) -> &[I] {
        match self {
            Places::Few(all) => all,
            Places::Many(all) => all,
        }
    }
}

impl<I: Index> DerefMut for Places<I> {
    fn deref_mut(&mut self) -> &mut [I] {
        match self {
            Places::Few(all) => all,
            Places::Many(all) => all,
        }
    }
}

impl<I: Index> From<Places<I>> for Indices {
    fn from(places: Places<I>) -> Indices {
        match places {
            Places::Few(all) => all.into(),
            Places::Many(all) => all.into(),
        }
    }
}

fn merge_typed<I: Index>(a: &Pattern, b: &Pattern, keep: Keep) -> Merged<Places<I>> {
    let mut pairs: Pairs<I> = Pairs::Same(1);
    let mut levels = Vec::with_capacity(a.levels.len());
    let mut dim = 0;
    for (la, lb) in a.levels.iter().zip(&b.levels) {
        match (la.segments(), lb.segments()) {
            (Some(left), Some(right)) => {
                let (level, selection) = merge_level(&left, &right, &pairs, keep);
                levels.push(level);
                pairs = Pairs::List(selection.left, selection.right);
            }
            // Neither has segments: both have every coordinate.
            _ => {
                pairs = dense_children(pairs, a.dims[dim].size);
                levels.push(Level::Dense);
            }
        }
        dim += la.kind().rank();
    }
    let (left, right) = match pairs {
        Pairs::List(left, right) => (left, right),
        Pairs::Same(n) => {
            let all = || {
                let mut all = Places::room(n);
                all.iter_mut().enumerate().for_each(|(i, p)| *p = I::new(i));
                all
            };
            (all(), all())
        }
    };
    let pattern = Pattern { levels, dims: a.dims.clone(), level_dims: a.level_dims, positions: left.len() };
    Merged { pattern, left, right }
}

fn dense_children<I: Index>(pairs: Pairs<I>, size: usize) -> Pairs<I> {
    let children = |parents: &[I]| {
        let mut out = Places::room(parents.len() * size);
        for (children, &p) in out.chunks_mut(size.max(1)).zip(parents) {
            for (i, child) in children.iter_mut().enumerate() {
                *child = if p == I::NONE { p } else { I::new(p.get() * size + i) };
            }
        }
        out
    };
    match pairs {
        Pairs::Same(n) => Pairs::Same(n * size),
        Pairs::List(left, right) => Pairs::List(children(&left), children(&right)),
    }
}

/// Pieces of segments to merge: several whole parents, or a part of one large segment.
enum Task {
    Parents(Range<usize>),
    Part(Range<usize>, Range<usize>),
}

/// Two sides of one level.
struct Both<'a, I> {
    left: &'a Segments<'a, I>,
    right: &'a Segments<'a, I>,
    keep: Keep,
}

impl<'a, I: Index> Both<'a, I> {
    /// Both, where every parent has a segment of single coordinates.
    fn in_order(&self) -> Option<[Segmented<'a, I>; 2]> {
        let segmented = |s: &Segments<'a, I>| match (s.bounds, &s.columns[..]) {
            (Bounds::Pointers(pointers), &[coords]) => Some(Segmented { pointers, coords }),
            _ => None,
        };
        Some([segmented(self.left)?, segmented(self.right)?])
    }

    fn count(&self, l: Range<usize>, r: Range<usize>) -> usize {
        match (&self.left.columns[..], &self.right.columns[..]) {
            ([left], [right]) => merge::count_segment(&left[l], &right[r], self.keep),
            (left, right) => merge::count_tuples(left, l, right, r, self.keep),
        }
    }

    fn merge(&self, l: Range<usize>, r: Range<usize>, out: &mut Selection<'_, I>) -> usize {
        match (&self.left.columns[..], &self.right.columns[..]) {
            ([left], [right]) => merge::merge_segment(left, l, right, r, self.keep, out),
            (left, right) => merge::merge_tuples(left, l, right, r, self.keep, out),
        }
    }
}

/// The arrays that a merge of one level gives.
struct Chosen<I> {
    left: Places<I>,
    right: Places<I>,
    coords: Places<I>,
}

impl<I: Index> Chosen<I> {
    fn with_room(n: usize) -> Chosen<I> {
        Chosen { left: Places::room(n), right: Places::room(n), coords: Places::room(n) }
    }

    /// All of it, to write to.
    fn room(&mut self) -> Selection<'_, I> {
        Selection { left: &mut self.left, right: &mut self.right, coords: &mut self.coords }
    }
}

/// The part from `start` on.
fn rest<'a, I>(room: &'a mut Selection<'_, I>, start: usize) -> Selection<'a, I> {
    Selection { left: &mut room.left[start..], right: &mut room.right[start..], coords: &mut room.coords[start..] }
}

fn merge_level<I: Index>(
    left: &Segments<'_, I>,
    right: &Segments<'_, I>,
    pairs: &Pairs<I>,
    keep: Keep,
) -> (Level, Chosen<I>) {
    let pointers = left.has_parents() || right.has_parents();
    let count = match pairs {
        Pairs::Same(n) => *n,
        Pairs::List(l, _) => l.len(),
    };
    let listed = match pairs {
        Pairs::Same(_) => None,
        Pairs::List(l, r) => Some((&l[..], &r[..])),
    };
    let segment = |i: usize| match listed {
        None => (left.of(i), right.of(i)),
        Some((l, r)) => (left.of_listed(l[i]), right.of_listed(r[i])),
    };
    let both = Both { left, right, keep };
    let (mut chosen, ends) = match tasks(&both, count, &segment) {
        None => one_pass(&both, pairs, count, &segment),
        Some(tasks) => two_passes(&both, &tasks, count, &segment),
    };
    let indices = match &left.columns[..] {
        [_] => vec![Indices::from(std::mem::replace(&mut chosen.coords, Places::room(0)))],
        columns => columns.iter().zip(&*right.columns).map(|(l, r)| choose(l, r, &chosen).into()).collect(),
    };
    let level = Level::Sparse { pointers: pointers.then(|| ends.into()), indices, ordered: true, unique: true };
    (level, chosen)
}

type SegmentOf<'a> = &'a (dyn Fn(usize) -> (Range<usize>, Range<usize>) + Sync);

/// On one thread: into room for all of both sides, then cut to what was kept.
fn one_pass<I: Index>(
    both: &Both<'_, I>,
    pairs: &Pairs<I>,
    count: usize,
    segment: SegmentOf<'_>,
) -> (Chosen<I>, Places<I>) {
    let in_order = both.in_order().filter(|_| matches!(pairs, Pairs::Same(_)));
    let most = match in_order {
        Some(_) => both.left.len() + both.right.len(),
        None => (0..count).map(segment).map(|(l, r)| l.len() + r.len()).sum(),
    };
    let mut chosen = Chosen::with_room(most);
    let mut ends = Places::room(count + 1);
    ends[0] = I::default();
    let mut out = chosen.room();
    let mut done = 0;
    if let Some([left, right]) = in_order {
        done = merge::merge_segments(left, right, both.keep, &mut out, &mut ends[1..]);
    } else {
        for (i, end) in ends[1..].iter_mut().enumerate() {
            let (l, r) = segment(i);
            done += both.merge(l, r, &mut rest(&mut out, done));
            *end = I::new(done);
        }
    }
    for v in [&mut chosen.left, &mut chosen.right, &mut chosen.coords] {
        v.truncate(done);
    }
    (chosen, ends)
}

/// On several threads: count what each task keeps, then write where it belongs.
fn two_passes<I: Index>(
    both: &Both<'_, I>,
    tasks: &[Task],
    count: usize,
    segment: SegmentOf<'_>,
) -> (Chosen<I>, Places<I>) {
    let counts = parallel::map_chunks(tasks.len(), 1, &|t| match &tasks[t.start] {
        Task::Part(l, r) => vec![both.count(l.clone(), r.clone())],
        Task::Parents(parents) => parents.clone().map(segment).map(|(l, r)| both.count(l, r)).collect(),
    });
    let mut ends = Places::room(count + 1);
    ends[0] = I::default();
    let (mut total, mut at, slots) = (0, 1, &mut ends[..]);
    for of_task in &counts {
        for n in of_task {
            total += n;
            slots[at] = I::new(total);
            at += usize::from(count > 1); // one segment, perhaps cut in parts
        }
    }
    let mut chosen = Chosen::with_room(total);
    let mut free = chosen.room();
    let mut pieces = Vec::with_capacity(tasks.len());
    for of_task in &counts {
        let n = of_task.iter().sum();
        let (left, more_left) = free.left.split_at_mut(n);
        let (right, more_right) = free.right.split_at_mut(n);
        let (coords, more_coords) = free.coords.split_at_mut(n);
        pieces.push(Selection { left, right, coords });
        free = Selection { left: more_left, right: more_right, coords: more_coords };
    }
    parallel::for_each(pieces, &|t, mut piece| {
        let mut done = 0;
        let mut merge = |l, r| done += both.merge(l, r, &mut rest(&mut piece, done));
        match &tasks[t] {
            Task::Part(l, r) => merge(l.clone(), r.clone()),
            Task::Parents(parents) => parents.clone().map(segment).for_each(|(l, r)| merge(l, r)),
        }
    });
    (chosen, ends)
}

/// Coordinates of kept tuples, from whichever side has them.
fn choose<I: Index>(left: &[I], right: &[I], selection: &Chosen<I>) -> Places<I> {
    let mut out = Places::room(selection.left.len());
    for (coord, (&l, &r)) in out.iter_mut().zip(selection.left.iter().zip(&*selection.right)) {
        *coord = if l == I::NONE { right[r.get()] } else { left[l.get()] };
    }
    out
}

/// Cuts the work at segments (or inside one large segment at equal tuples) into pieces of similar size; `None` where
/// one pass on one thread is best.
fn tasks<I: Index>(both: &Both<'_, I>, count: usize, segment: SegmentOf<'_>) -> Option<Vec<Task>> {
    let Both { left, right, .. } = both;
    if left.len() + right.len() + count < 2 * parallel::GRAIN || parallel::threads() == 1 {
        return None; // how the work is cut changes no result
    }
    if count == 1 {
        let (l, r) = segment(0);
        let long = l.len() + r.len() > 2 * parallel::GRAIN && !left.columns.is_empty();
        return long.then(|| parts(left, right, l, r));
    }
    let (mut out, mut start, mut work) = (Vec::new(), 0, 0);
    for i in 0..count {
        let (l, r) = segment(i);
        work += l.len() + r.len() + 1;
        if work >= 2 * parallel::GRAIN {
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
