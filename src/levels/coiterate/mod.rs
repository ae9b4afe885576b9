//! Co-iteration: the pattern of an elementwise result from the patterns of two operands with the same
//! level structure, and where each of its positions comes from.

mod tasks;
mod valued;

use std::ops::{Deref, DerefMut};

use openwork_ops::structure::Index;
use openwork_ops::structure::merge::{Keep, Selection};

use self::tasks::{Both, by_tasks, one_pass, tasks};
pub(crate) use self::valued::{Elsewhere, Operand, merge_values};
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::trace::{Work, raise};
use crate::levels::folded::Folded;
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
    fn wide<I: Index>(a: &Pattern, b: &Pattern, keep: Keep) -> Merged {
        let mut chosen = Chosen::<I>::none();
        let pattern = merge_typed(a, b, keep, &mut chosen);
        Merged { pattern, left: chosen.left.give(), right: chosen.right.give() }
    }
    raise(Work::Engine);
    if is_narrow(a, b)
        && let Some((folded, [p, q])) = Folded::both(a, b)
    {
        let merged = wide::<u32>(&p, &q, keep);
        if let Some(pattern) = folded.unfold(&merged.pattern) {
            return Merged { pattern, ..merged };
        }
    }
    if is_narrow(a, b) {
        wide::<u32>(a, b, keep)
    } else {
        wide::<u64>(&a.clone().of_one_width(true), &b.clone().of_one_width(true), keep)
    }
}

/// The same where no array is wide: the pattern, and in `chosen` the positions, which take no memory of their own if they
/// are few.
pub(crate) fn merge_narrow(a: &Pattern, b: &Pattern, keep: Keep, chosen: &mut Chosen<u32>) -> Option<Pattern> {
    raise(Work::Engine);
    is_narrow(a, b).then(|| merge_typed(a, b, keep, chosen))
}

fn is_narrow(a: &Pattern, b: &Pattern) -> bool {
    !(a.is_wide() || b.is_wide() || needs_64_bits(a.positions + b.positions, []))
}

/// The parents whose children are merged next.
enum Pairs<'a, I> {
    /// Parents `0..n` of both sides, each with its equal.
    Same(usize),
    /// Positions on either side.
    List(&'a [I], &'a [I]),
}

/// How many positions are few.
pub(crate) const PLACES: usize = 32;

/// Positions, without memory of their own if they are few. They are written where they stay: to hand them on costs more
/// than to merge a few.
pub(crate) struct Places<I> {
    few: [I; PLACES],
    /// How many they are, where they are few.
    len: usize,
    many: Option<Scratch<I>>,
}

impl<I: Index> Places<I> {
    fn none() -> Places<I> {
        Places { few: [I::default(); PLACES], len: 0, many: None }
    }

    /// Room for so many.
    fn of(n: usize) -> Places<I> {
        let mut places = Places::none();
        places.make_room(n);
        places
    }

    /// Room for so many: what a merge does not write may be anything.
    fn make_room(&mut self, n: usize) {
        (self.len, self.many) = if n <= PLACES { (n, None) } else { (0, Some(Scratch::any(n))) };
    }

    fn truncate(&mut self, n: usize) {
        match &mut self.many {
            Some(many) => many.truncate(n),
            None => self.len = n.min(self.len),
        }
    }

    /// All of them, to be shared.
    fn give(&mut self) -> Indices {
        match self.many.take() {
            Some(many) => many.into(),
            None => Indices::of_few(self),
        }
    }
}

impl<I: Index> Deref for Places<I> {
    type Target = [I];

    #[inline]
    fn deref(&self) -> &[I] {
        match &self.many {
            Some(many) => many,
            None => self.few.get(..self.len).unwrap_or_default(),
        }
    }
}

impl<I: Index> DerefMut for Places<I> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [I] {
        match &mut self.many {
            Some(many) => many,
            None => self.few.get_mut(..self.len).unwrap_or_default(),
        }
    }
}

/// Merges level by level; what is chosen of the last one stays in `chosen`.
fn merge_typed<I: Index>(a: &Pattern, b: &Pattern, keep: Keep, chosen: &mut Chosen<I>) -> Pattern {
    let mut levels = Vec::with_capacity(a.levels.len());
    // Parents `0..n` of both sides, until a level has chosen among them.
    let mut all = Some(1);
    let mut dim = 0;
    for (la, lb) in a.levels.iter().zip(&b.levels) {
        match (la.segments(), lb.segments()) {
            (Some(left), Some(right)) => levels.push(match all.take() {
                Some(n) => merge_level(&left, &right, &Pairs::Same(n), keep, chosen),
                None => {
                    let above = std::mem::replace(chosen, Chosen::none());
                    merge_level(&left, &right, &Pairs::List(&above.left, &above.right), keep, chosen)
                }
            }),
            // Neither has segments: both have every coordinate.
            _ => {
                let size = a.dims[dim].size;
                match &mut all {
                    Some(n) => *n *= size,
                    None => {
                        [&mut chosen.left, &mut chosen.right].into_iter().for_each(|p| *p = dense_children(p, size))
                    }
                }
                levels.push(Level::Dense);
            }
        }
        dim += la.kind().rank();
    }
    if let Some(n) = all {
        for places in [&mut chosen.left, &mut chosen.right] {
            places.make_room(n);
            places.iter_mut().enumerate().for_each(|(i, p)| *p = I::new(i));
        }
    }
    Pattern { levels, dims: a.dims.clone(), level_dims: a.level_dims, positions: chosen.left.len() }
}

fn dense_children<I: Index>(parents: &[I], size: usize) -> Places<I> {
    let mut out = Places::of(parents.len() * size);
    for (children, &p) in out.chunks_mut(size.max(1)).zip(parents) {
        for (i, child) in children.iter_mut().enumerate() {
            *child = if p == I::NONE { p } else { I::new(p.get() * size + i) };
        }
    }
    out
}

/// The arrays that a merge of one level gives.
pub(crate) struct Chosen<I> {
    /// Positions on the left, or [`Index::NONE`].
    pub(crate) left: Places<I>,
    /// Positions on the right, likewise.
    pub(crate) right: Places<I>,
    coords: Places<I>,
}

impl<I: Index> Chosen<I> {
    /// Nothing, to begin with.
    pub(crate) fn none() -> Chosen<I> {
        Chosen { left: Places::none(), right: Places::none(), coords: Places::none() }
    }

    fn make_room(&mut self, n: usize) {
        self.left.make_room(n);
        self.right.make_room(n);
        self.coords.make_room(n);
    }

    /// Only the first so many.
    fn truncate(&mut self, n: usize) {
        [&mut self.left, &mut self.right, &mut self.coords].into_iter().for_each(|places| places.truncate(n));
    }

    /// All of it, to write to.
    fn room(&mut self) -> Selection<'_, I> {
        Selection { left: &mut self.left, right: &mut self.right, coords: &mut self.coords }
    }
}

fn merge_level<I: Index>(
    left: &Segments<'_, I>,
    right: &Segments<'_, I>,
    pairs: &Pairs<'_, I>,
    keep: Keep,
    chosen: &mut Chosen<I>,
) -> Level {
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
    let in_order = both.in_order().filter(|_| matches!(pairs, Pairs::Same(_)));
    let mut ends = Places::of(count + 1);
    ends[0] = I::default();
    match tasks(&both, in_order, count, &segment) {
        None => one_pass(&both, in_order, count, &segment, chosen, &mut ends),
        Some(tasks) => by_tasks(&both, in_order, &tasks, &segment, chosen, &mut ends),
    }
    let indices = match &left.columns[..] {
        [_] => vec![chosen.coords.give()],
        columns => columns.iter().zip(&*right.columns).map(|(l, r)| choose(l, r, chosen).give()).collect(),
    };
    Level::Sparse { pointers: pointers.then(|| ends.give()), indices, ordered: true, unique: true }
}

/// Coordinates of kept tuples, from whichever side has them.
fn choose<I: Index>(left: &[I], right: &[I], selection: &Chosen<I>) -> Places<I> {
    let mut out = Places::of(selection.left.len());
    let (of_left, of_right) = (&*selection.left, &*selection.right);
    parallel::for_chunks_mut(&mut out, 1, parallel::GRAIN, &|start, out| {
        let chosen = of_left[start..].iter().zip(&of_right[start..]);
        let (Some(last_left), Some(last_right)) = (left.len().checked_sub(1), right.len().checked_sub(1)) else {
            let own = |(&l, &r): (&I, &I)| if l == I::NONE { right[r.get()] } else { left[l.get()] };
            return out.iter_mut().zip(chosen).for_each(|(coord, of)| *coord = own(of));
        };
        for (coord, (&l, &r)) in out.iter_mut().zip(chosen) {
            // Both are read, where one is not there the last: which side it is would be a guess.
            let (x, y) = (left[l.get().min(last_left)], right[r.get().min(last_right)]);
            *coord = if l == I::NONE { y } else { x };
        }
    });
    out
}
