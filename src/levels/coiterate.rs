//! Co-iteration: the pattern of an elementwise result from the patterns of two operands with the same
//! level structure, and where each of its positions comes from.

use std::ops::Range;

use openwork_ops::structure::merge::{self, Keep, Selection};
use openwork_ops::structure::{Index, IndexVec};

use crate::base::buffer::zeroed_vec;
use crate::base::faults::{self, Fault};
use crate::base::parallel;
use crate::base::trace::{Work, raise};
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::Level;
use crate::levels::pattern::Pattern;
use crate::levels::segments::Segments;

/// A merged pattern, and the position on either side (or [`Index::NONE`]) of each of its positions.
pub(crate) struct Merged {
    pub(crate) pattern: Pattern,
    pub(crate) left: Indices,
    pub(crate) right: Indices,
}

/// Merges two canonical patterns over the same dimensions: dense levels where the other has them, and else of the same
/// ranks.
pub(crate) fn merge(a: &Pattern, b: &Pattern, keep: Keep) -> Merged {
    raise(Work::Engine);
    if a.is_wide() || b.is_wide() || needs_64_bits(a.positions + b.positions, []) {
        merge_typed::<u64>(&a.clone().of_one_width(true), &b.clone().of_one_width(true), keep)
    } else {
        merge_typed::<u32>(a, b, keep)
    }
}

/// The parents whose children are merged next.
enum Pairs<I> {
    /// Parents `0..n` of both sides, each with its equal.
    Same(usize),
    /// Positions on either side.
    List(Vec<I>, Vec<I>),
}

fn merge_typed<I: Index>(a: &Pattern, b: &Pattern, keep: Keep) -> Merged {
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
        Pairs::Same(n) => ((0..n).map(I::new).collect(), (0..n).map(I::new).collect()),
    };
    let pattern = Pattern { levels, dims: a.dims.clone(), level_dims: a.level_dims, positions: left.len() };
    Merged { pattern, left: I::vec(left).into(), right: I::vec(right).into() }
}

fn dense_children<I: Index>(pairs: Pairs<I>, size: usize) -> Pairs<I> {
    let children = |parents: Vec<I>| {
        let child = |p: I, i: usize| if p == I::NONE { p } else { I::new(p.get() * size + i) };
        parents.into_iter().flat_map(|p| (0..size).map(move |i| child(p, i))).collect()
    };
    match pairs {
        Pairs::Same(n) => Pairs::Same(n * size),
        Pairs::List(left, right) => Pairs::List(children(left), children(right)),
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

impl<I: Index> Both<'_, I> {
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
    left: Vec<I>,
    right: Vec<I>,
    coords: Vec<I>,
}

impl<I: Index> Chosen<I> {
    fn with_room(n: usize) -> Chosen<I> {
        Chosen { left: zeroed_vec(n), right: zeroed_vec(n), coords: zeroed_vec(n) }
    }

    /// The part from `start` on, to write to.
    fn from(&mut self, start: usize) -> Selection<'_, I> {
        Selection { left: &mut self.left[start..], right: &mut self.right[start..], coords: &mut self.coords[start..] }
    }
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
    let segment = |i: usize| match pairs {
        Pairs::Same(_) => (left.of(i), right.of(i)),
        Pairs::List(l, r) => (left.of_listed(l[i]), right.of_listed(r[i])),
    };
    let both = Both { left, right, keep };
    let (mut chosen, ends) = match tasks(left, right, count, &segment) {
        None => one_pass(&both, count, &segment),
        Some(tasks) => two_passes(&both, &tasks, count, &segment),
    };
    let indices: Vec<IndexVec> = match &left.columns[..] {
        [_] => vec![I::vec(std::mem::take(&mut chosen.coords))],
        columns => columns.iter().zip(&right.columns).map(|(l, r)| I::vec(choose(l, r, &chosen))).collect(),
    };
    let level = Level::Sparse {
        pointers: pointers.then(|| I::vec(ends).into()),
        indices: indices.into_iter().map(Into::into).collect(),
        ordered: true,
        unique: true,
    };
    (level, chosen)
}

type SegmentOf<'a> = &'a (dyn Fn(usize) -> (Range<usize>, Range<usize>) + Sync);

/// On one thread: into room for all of both sides, then cut to what was kept.
fn one_pass<I: Index>(both: &Both<'_, I>, count: usize, segment: SegmentOf<'_>) -> (Chosen<I>, Vec<I>) {
    let most = (0..count).map(segment).map(|(l, r)| l.len() + r.len()).sum();
    let mut chosen = Chosen::with_room(most);
    let mut ends = Vec::with_capacity(count + 1);
    ends.push(I::default());
    let mut done = 0;
    for i in 0..count {
        let (l, r) = segment(i);
        done += both.merge(l, r, &mut chosen.from(done));
        ends.push(I::new(done));
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
) -> (Chosen<I>, Vec<I>) {
    let counts = parallel::map_chunks(tasks.len(), 1, &|t| match &tasks[t.start] {
        Task::Part(l, r) => vec![both.count(l.clone(), r.clone())],
        Task::Parents(parents) => parents.clone().map(segment).map(|(l, r)| both.count(l, r)).collect(),
    });
    let mut ends = Vec::with_capacity(count + 1);
    ends.push(I::default());
    let mut total = 0;
    for of_task in &counts {
        for n in of_task {
            total += n;
            ends.push(I::new(total));
        }
    }
    if count == 1 {
        ends = vec![I::default(), I::new(total)]; // one segment, perhaps cut in parts
    }
    let mut chosen = Chosen::with_room(total);
    let mut rest = chosen.from(0);
    let mut pieces = Vec::with_capacity(tasks.len());
    for of_task in &counts {
        let n = of_task.iter().sum();
        let (left, more_left) = rest.left.split_at_mut(n);
        let (right, more_right) = rest.right.split_at_mut(n);
        let (coords, more_coords) = rest.coords.split_at_mut(n);
        pieces.push(Selection { left, right, coords });
        rest = Selection { left: more_left, right: more_right, coords: more_coords };
    }
    parallel::for_each(pieces, &|t, piece| {
        let mut done = 0;
        let mut merge = |l, r| {
            let mut out = Selection {
                left: &mut piece.left[done..],
                right: &mut piece.right[done..],
                coords: &mut piece.coords[done..],
            };
            done += both.merge(l, r, &mut out);
        };
        match &tasks[t] {
            Task::Part(l, r) => merge(l.clone(), r.clone()),
            Task::Parents(parents) => parents.clone().map(segment).for_each(|(l, r)| merge(l, r)),
        }
    });
    (chosen, ends)
}

/// Coordinates of kept tuples, from whichever side has them.
fn choose<I: Index>(left: &[I], right: &[I], selection: &Chosen<I>) -> Vec<I> {
    let pick = |(&l, &r): (&I, &I)| if l == I::NONE { right[r.get()] } else { left[l.get()] };
    selection.left.iter().zip(&selection.right).map(pick).collect()
}

/// Cuts the work at segments (or inside one large segment at equal tuples) into pieces of similar size; `None` where
/// one pass on one thread is best.
fn tasks<I: Index>(
    left: &Segments<'_, I>,
    right: &Segments<'_, I>,
    count: usize,
    segment: SegmentOf<'_>,
) -> Option<Vec<Task>> {
    if parallel::threads() == 1 {
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
                .zip(&left.columns)
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
