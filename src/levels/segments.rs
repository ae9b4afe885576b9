//! The tuples of a level as one segment per parent: the view in which two levels are walked side by side.

use std::cmp::Ordering;
use std::ops::Range;

use openwork_ops::structure::Index;

use crate::base::few::Few;

/// Where the segment of each parent lies.
#[derive(Clone, Copy)]
pub(super) enum Bounds<'a, I> {
    /// One parent, which has all.
    Whole(usize),
    /// One entry per parent.
    One,
    /// From each pointer to the next, less the first.
    Pointers(&'a [I]),
}

/// One side's segments under its parents.
pub(super) struct Segments<'a, I> {
    pub(super) bounds: Bounds<'a, I>,
    /// One array of coordinates per dimension.
    pub(super) columns: Columns<'a, I>,
}

/// Arrays of coordinates.
pub(super) type Columns<'a, I> = Few<&'a [I], 4>;

impl<I: Index> Segments<'_, I> {
    #[inline]
    pub(super) fn of(&self, parent: usize) -> Range<usize> {
        match self.bounds {
            Bounds::Pointers(p) => p[parent].get() - p[0].get()..p[parent + 1].get() - p[0].get(),
            Bounds::Whole(n) => 0..n,
            Bounds::One => parent..parent + 1,
        }
    }

    #[inline]
    pub(super) fn of_listed(&self, parent: I) -> Range<usize> {
        if parent == I::NONE { 0..0 } else { self.of(parent.get()) }
    }

    /// Entries under all parents.
    pub(super) fn len(&self) -> usize {
        match self.bounds {
            Bounds::Pointers(p) => p[p.len() - 1].get() - p[0].get(),
            Bounds::Whole(n) => n,
            Bounds::One => self.columns.first().map_or(0, |c| c.len()),
        }
    }

    /// Whether there may be more parents than one.
    pub(super) fn has_parents(&self) -> bool {
        !matches!(self.bounds, Bounds::Whole(_))
    }

    /// The first tuple that is below the one before it in its segment or, where `repeats`, equal to it, in words.
    pub(super) fn first_fault(&self, parents: usize, repeats: bool) -> Option<String> {
        let wrong = if repeats { Ordering::Equal } else { Ordering::Less };
        let tuple = |at: usize| self.columns.iter().map(move |c| c[at]);
        let text = |at: usize| match &self.columns[..] {
            [] => String::new(),
            [only] => format!(" is {}", only[at].get()),
            columns => format!(" makes {:?}", columns.iter().map(|c| c[at].get()).collect::<Vec<_>>()),
        };
        for parent in 0..parents {
            if let Some(at) = self.of(parent).skip(1).find(|&at| tuple(at).cmp(tuple(at - 1)) == wrong) {
                return Some(format!(
                    "entry {}{}, and entry {at}{}, both in segment {parent}: ",
                    at - 1,
                    text(at - 1),
                    text(at)
                ));
            }
        }
        None
    }
}
