//! Co-iteration: the pattern of an elementwise result from the patterns of two operands with the same
//! level structure, and where each of its positions comes from.

use std::ops::Range;

use openwork_ops::structure::merge::{Keep, Selection, merge_segment, merge_tuples};
use openwork_ops::structure::{Index, IndexVec};

use crate::level::{Indices, Level};
use crate::parallel;
use crate::pattern::Pattern;

/// A merged pattern, and the position on either side (or [`Index::NONE`]) of each of its positions.
pub(crate) struct Merged {
    pub(crate) pattern: Pattern,
    pub(crate) left: Indices,
    pub(crate) right: Indices,
}

/// Merges two canonical patterns of the same level structure, without singletons.
pub(crate) fn merge(a: &Pattern, b: &Pattern, keep: Keep) -> Merged {
    if a.is_wide() || b.is_wide() || a.positions + b.positions >= 1 << 31 {
        merge_typed::<u64>(&a.widened(), &b.widened(), keep)
    } else {
        merge_typed::<u32>(a, b, keep)
    }
}

impl Pattern {
    /// The same pattern with 64-bit arrays.
    fn widened(&self) -> Pattern {
        let wide = |i: &Indices| i.widened(true);
        let level = |l: &Level| match l {
            Level::Dense => Level::Dense,
            Level::Singleton { indices } => Level::Singleton { indices: wide(indices) },
            Level::Sparse { pointers, indices, ordered, unique } => Level::Sparse {
                pointers: pointers.as_ref().map(wide),
                indices: indices.iter().map(wide).collect(),
                ordered: *ordered,
                unique: *unique,
            },
        };
        Pattern { levels: self.levels.iter().map(level).collect(), ..self.clone() }
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
        match (la, lb) {
            (
                Level::Sparse { pointers: pa, indices: ia, .. },
                Level::Sparse { pointers: pb, indices: ib, .. },
            ) => {
                let (left, right) = (Segments::new(pa, ia, a.positions), Segments::new(pb, ib, b.positions));
                let (level, selection) = merge_level(&left, &right, &pairs, keep, pa.is_some() || pb.is_some());
                levels.push(level);
                pairs = Pairs::List(selection.left, selection.right);
            }
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

/// One side's segments under its parents.
struct Segments<'a, I> {
    pointers: Option<&'a [I]>,
    columns: Vec<&'a [I]>,
    all: usize,
}

impl<'a, I: Index> Segments<'a, I> {
    fn new(pointers: &'a Option<Indices>, indices: &'a [Indices], positions: usize) -> Segments<'a, I> {
        let columns: Vec<&[I]> = indices.iter().map(Indices::typed).collect();
        let all = columns.first().map_or(positions, |c| c.len());
        Segments { pointers: pointers.as_ref().map(Indices::typed), columns, all }
    }

    #[inline]
    fn of(&self, parent: usize) -> Range<usize> {
        match self.pointers {
            Some(p) => p[parent].get() - p[0].get()..p[parent + 1].get() - p[0].get(),
            None => 0..self.all,
        }
    }

    #[inline]
    fn of_listed(&self, parent: I) -> Range<usize> {
        if parent == I::NONE { 0..0 } else { self.of(parent.get()) }
    }
}

/// Pieces of segments to merge: several whole parents, or a part of one large segment.
enum Task {
    Parents(Range<usize>),
    Part(Range<usize>, Range<usize>),
}

fn merge_level<I: Index>(left: &Segments<'_, I>, right: &Segments<'_, I>, pairs: &Pairs<I>, keep: Keep, pointers: bool) -> (Level, Selection<I>) {
    let count = match pairs {
        Pairs::Same(n) => *n,
        Pairs::List(l, _) => l.len(),
    };
    let segment = |i: usize| match pairs {
        Pairs::Same(_) => (left.of(i), right.of(i)),
        Pairs::List(l, r) => (left.of_listed(l[i]), right.of_listed(r[i])),
    };
    let tasks = tasks(left, right, count, &segment);
    let done = parallel::map_chunks(tasks.len(), 1, &|task| {
        let merge_one = |(l, r): (Range<usize>, Range<usize>), out: &mut Selection<I>| match (&left.columns[..], &right.columns[..]) {
            ([l_only], [r_only]) => merge_segment(l_only, l, r_only, r, keep, out),
            _ => merge_tuples(&left.columns, l, &right.columns, r, keep, out),
        };
        let mut ends = Vec::new();
        let selection = match &tasks[task.start] {
            Task::Part(l, r) => {
                let mut out = Selection::with_room(l.len() + r.len());
                merge_one((l.clone(), r.clone()), &mut out);
                out
            }
            Task::Parents(parents) => {
                let room = parents.clone().map(|i| { let (l, r) = segment(i); l.len() + r.len() }).sum();
                let mut out = Selection::with_room(room);
                ends.reserve_exact(parents.len());
                for i in parents.clone() {
                    merge_one(segment(i), &mut out);
                    ends.push(I::new(out.len));
                }
                out
            }
        };
        (selection.finish(), ends)
    });
    let total = done.iter().map(|(s, _)| s.len).sum();
    let mut starts = Vec::new();
    if pointers {
        starts.reserve_exact(count + 1);
        starts.push(I::default());
        let mut base = 0;
        for (selection, ends) in &done {
            starts.extend(ends.iter().map(|e| I::new(base + e.get())));
            base += selection.len;
        }
        if starts.len() == 1 {
            starts.push(I::new(total)); // one segment, cut in parts
        }
    }
    let selection = join(done.into_iter().map(|(s, _)| s).collect(), total);
    let indices: Vec<IndexVec> = match &left.columns[..] {
        [_] => vec![I::vec(selection.coords.clone())],
        columns => columns.iter().zip(&right.columns).map(|(l, r)| I::vec(choose(l, r, &selection))).collect(),
    };
    let level = Level::Sparse {
        pointers: pointers.then(|| I::vec(starts).into()),
        indices: indices.into_iter().map(Into::into).collect(),
        ordered: true,
        unique: true,
    };
    (level, selection)
}

/// Coordinates of kept tuples, from whichever side has them.
fn choose<I: Index>(left: &[I], right: &[I], selection: &Selection<I>) -> Vec<I> {
    let pick = |(&l, &r): (&I, &I)| if l == I::NONE { right[r.get()] } else { left[l.get()] };
    selection.left.iter().zip(&selection.right).map(pick).collect()
}

fn join<I: Index>(mut parts: Vec<Selection<I>>, total: usize) -> Selection<I> {
    if parts.len() == 1 {
        return parts.swap_remove(0);
    }
    let ends: Vec<usize> = parts.iter().scan(0, |end, s| { *end += s.len; Some(*end) }).collect();
    let mut out = Selection::with_room(total);
    out.len = total;
    parallel::for_pieces_mut(&mut out.left, &ends, &|i, piece| piece.copy_from_slice(&parts[i].left));
    parallel::for_pieces_mut(&mut out.right, &ends, &|i, piece| piece.copy_from_slice(&parts[i].right));
    parallel::for_pieces_mut(&mut out.coords, &ends, &|i, piece| piece.copy_from_slice(&parts[i].coords));
    out
}

/// Cuts the work at segments (or inside one large segment at equal tuples) into pieces of similar size.
fn tasks<I: Index>(left: &Segments<'_, I>, right: &Segments<'_, I>, count: usize, segment: &dyn Fn(usize) -> (Range<usize>, Range<usize>)) -> Vec<Task> {
    if parallel::threads() == 1 {
        return vec![Task::Parents(0..count)]; // cutting changes no result, and joining costs a copy
    }
    if count == 1 {
        let (l, r) = segment(0);
        if l.len() + r.len() > 2 * parallel::GRAIN && !left.columns.is_empty() {
            return parts(left, right, l, r);
        }
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
    if start < count || count == 0 {
        out.push(Task::Parents(start..count));
    }
    out
}

/// Cuts one pair of long segments where a tuple of the left side begins.
fn parts<I: Index>(left: &Segments<'_, I>, right: &Segments<'_, I>, l: Range<usize>, r: Range<usize>) -> Vec<Task> {
    let (mut out, mut l0, mut r0) = (Vec::new(), l.start, r.start);
    let mut cut = l.start + parallel::GRAIN;
    while cut < l.end {
        let below = |j: usize| right.columns.iter().zip(&left.columns).map(|(rc, lc)| rc[j].cmp(&lc[cut])).find(|o| o.is_ne()).is_some_and(|o| o.is_lt());
        let (mut low, mut high) = (r0, r.end);
        while low < high {
            let mid = low.midpoint(high);
            if below(mid) { low = mid + 1 } else { high = mid }
        }
        out.push(Task::Part(l0..cut, r0..low));
        (l0, r0) = (cut, low);
        cut += parallel::GRAIN;
    }
    out.push(Task::Part(l0..l.end, r0..r.end));
    out
}
