//! Levels: what kinds there are, and what each can do. Each kind is a file beside this one, which says how it works;
//! here stands which kinds there are, so that the compiler names what a new one lacks.

use std::fmt;
use std::ops::Range;

use openwork_ops::structure::Index;
use openwork_ops::structure::keys::Order;

use super::build::Builder;
pub(crate) use super::indices::Indices;
use super::names::{ArrayName, ArrayRule};
use super::pattern::Dim;
use super::segments::Segments;
use super::validate::Check;
use super::{dense, singleton, sparse};
use crate::base::error::Result;

/// One level with its arrays. Positions of a level number its coordinates in storage order; the root has one.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum LevelOf<A> {
    /// Every coordinate of one axis under every parent.
    Dense,
    /// Segments of tuples: one index array per axis it covers. Under parent `p` lie the tuples
    /// `indices[..][pointers[p] - pointers[0]..pointers[p + 1] - pointers[0]]`.
    Sparse {
        /// One more entry than there are parents; not needed at the root unless the rank is 0.
        pointers: Option<A>,
        /// One array per axis, of equal length.
        indices: Vec<A>,
        /// Tuples rise within each segment.
        ordered: bool,
        /// No tuple repeats within a segment. Only the last level may repeat.
        unique: bool,
    },
    /// Exactly one coordinate per parent.
    Singleton {
        /// As many entries as there are parents.
        indices: A,
    },
}

/// A level of a pattern.
pub(crate) type Level = LevelOf<Indices>;

/// The kind of a level, without its arrays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LevelKind {
    /// Every coordinate of one axis is present.
    Dense,
    /// Segments of tuples over `rank` axes. Rank 0 repeats its parent: no axis, several values.
    Sparse {
        /// Number of axes.
        rank: usize,
    },
    /// Exactly one coordinate per parent.
    Singleton,
}

/// Linear forms of the levels above, for a range of parents.
pub(super) type Above<'a> = &'a mut dyn FnMut(Range<usize>, &mut [u64]);

/// What a level can do with its arrays. `dims` are the level's own dimensions.
pub(super) trait Kind<'a> {
    /// The level under a range of parents alone, sharing memory, and its positions there.
    fn under(&self, parents: Range<usize>, dims: &[Dim]) -> (Level, Range<usize>);

    /// The positions of a tuple under any of `parents`, in order.
    fn locate(&self, parents: Vec<usize>, tuple: &[usize], dims: &[Dim]) -> Vec<usize>;

    /// `out[p - range.start] = above(parent of p) + Σ weight · coordinate(p)`, wrapping, for the positions in `range`,
    /// which is not empty. Without `above` that part is 0.
    fn linearize(&self, weights: &[u64], dims: &[Dim], above: Option<Above<'_>>, range: Range<usize>, out: &mut [u64]);

    /// The tuples under each parent, one segment each, for walking them; `None` if every coordinate is there.
    fn segments<I: Index>(&self) -> Option<Segments<'a, I>>;

    /// Checks lengths and ranges of the arrays under so many parents, and gives the number of positions.
    ///
    /// # Errors
    /// Which array, which entry, and what is allowed.
    fn check(&self, check: &Check) -> Result<usize>;

    /// How tuples are ordered within their segments, if the level can tell without the tuples above.
    fn order(&self) -> Option<Order>;
}

/// Runs `$body` with `$l` bound to what the level can do.
macro_rules! with_kind {
    ($level:expr, $l:ident => $body:expr) => {
        match $level {
            Level::Dense => {
                let $l = dense::Dense;
                $body
            }
            Level::Sparse { pointers, indices, ordered, unique } => {
                let $l = sparse::Sparse { pointers: pointers.as_ref(), indices, ordered: *ordered, unique: *unique };
                $body
            }
            Level::Singleton { indices } => {
                let $l = singleton::Singleton { indices };
                $body
            }
        }
    };
}

impl LevelKind {
    /// How many axes the level covers.
    pub const fn rank(self) -> usize {
        match self {
            LevelKind::Dense | LevelKind::Singleton => 1,
            LevelKind::Sparse { rank } => rank,
        }
    }

    /// The word for it in files, and the number; the rank, where the word does not say it.
    pub(crate) fn word(self) -> (&'static str, u8, Option<usize>) {
        match self {
            LevelKind::Dense => ("dense", 0, None),
            LevelKind::Sparse { rank } => ("sparse", 1, Some(rank)),
            LevelKind::Singleton => ("singleton", 2, None),
        }
    }

    /// The kind of such a word or number, whichever `is` holds for; `None` if there is none, or it has no such rank.
    pub(crate) fn of_word(is: impl Fn(&str, u8) -> bool, rank: Option<usize>) -> Option<LevelKind> {
        let all = [LevelKind::Dense, LevelKind::Sparse { rank: rank.unwrap_or(0) }, LevelKind::Singleton];
        all.into_iter().find(|kind| {
            let (word, code, own) = kind.word();
            is(word, code) && own == rank
        })
    }

    /// The arrays that a level of this kind has, in their order, if its first dimension is `first`.
    pub(crate) fn array_rules(self, first: usize, is_root: bool) -> Vec<ArrayRule> {
        match self {
            LevelKind::Dense => Vec::new(),
            LevelKind::Sparse { rank } => sparse::array_rules(rank, first, is_root),
            LevelKind::Singleton => singleton::array_rules(first),
        }
    }

    /// Whether such a level may stand below `above` (`None`: at the root), and `is_last` or not.
    ///
    /// # Errors
    /// Why not.
    pub(crate) fn may_stand(self, above: Option<LevelKind>, is_last: bool) -> std::result::Result<(), &'static str> {
        match self {
            LevelKind::Dense => dense::may_stand(is_last),
            LevelKind::Sparse { rank } => sparse::may_stand(rank, is_last),
            LevelKind::Singleton => singleton::may_stand(above),
        }
    }

    /// The kind of a level `above` and this one, if this is one coordinate more of its tuples.
    pub(crate) fn joined(self, above: LevelKind) -> Option<LevelKind> {
        match self {
            LevelKind::Dense | LevelKind::Sparse { .. } => None,
            LevelKind::Singleton => singleton::joined(above),
        }
    }

    /// The kind that holds any number of coordinates per parent where this one has to have exactly one.
    pub(crate) fn freed(self) -> LevelKind {
        match self {
            LevelKind::Dense | LevelKind::Sparse { .. } => self,
            LevelKind::Singleton => LevelKind::Sparse { rank: 1 },
        }
    }

    /// Makes the next level of a pattern from sorted keys.
    pub(super) fn append(self, builder: &mut Builder<'_>) -> Result<Level> {
        match self {
            LevelKind::Dense => dense::append(builder),
            LevelKind::Sparse { rank } => sparse::append(builder, rank),
            LevelKind::Singleton => singleton::append(builder),
        }
    }
}

/// Kinds that may have any number of coordinates per parent where they have exactly one.
pub(crate) fn freed(kinds: Vec<LevelKind>) -> Vec<LevelKind> {
    kinds.into_iter().map(LevelKind::freed).collect()
}

impl fmt::Display for LevelKind {
    /// `Dense`, `Sparse(2)`, `Singleton`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LevelKind::Dense => f.pad("Dense"),
            LevelKind::Sparse { rank } => f.pad(&format!("Sparse({rank})")),
            LevelKind::Singleton => f.pad("Singleton"),
        }
    }
}

impl<A> LevelOf<A> {
    /// The kind.
    pub fn kind(&self) -> LevelKind {
        match self {
            LevelOf::Dense => LevelKind::Dense,
            LevelOf::Sparse { indices, .. } => LevelKind::Sparse { rank: indices.len() },
            LevelOf::Singleton { .. } => LevelKind::Singleton,
        }
    }

    /// Whether tuples rise within each segment.
    pub(crate) fn is_ordered(&self) -> bool {
        if let LevelOf::Sparse { ordered, .. } = self { *ordered } else { true }
    }

    /// Whether no tuple repeats within a segment.
    pub(crate) fn is_unique(&self) -> bool {
        if let LevelOf::Sparse { unique, .. } = self { *unique } else { true }
    }

    /// What is claimed of the order of tuples, where a kind can claim it: rising, and without repetition.
    pub(crate) fn claims_mut(&mut self) -> Option<[&mut bool; 2]> {
        if let LevelOf::Sparse { ordered, unique, .. } = self { Some([ordered, unique]) } else { None }
    }

    /// Pointers, and one array of coordinates per dimension.
    fn parts(&self) -> (Option<&A>, &[A]) {
        match self {
            LevelOf::Dense => (None, &[]),
            LevelOf::Sparse { pointers, indices, .. } => (pointers.as_ref(), indices),
            LevelOf::Singleton { indices } => (None, std::slice::from_ref(indices)),
        }
    }

    /// Pointers, and one array of coordinates per dimension.
    pub(crate) fn into_parts(self) -> (Option<A>, Vec<A>) {
        match self {
            LevelOf::Dense => (None, Vec::new()),
            LevelOf::Sparse { pointers, indices, .. } => (pointers, indices),
            LevelOf::Singleton { indices } => (None, vec![indices]),
        }
    }

    /// Every array of the level, pointers first.
    pub(crate) fn arrays(&self) -> impl Iterator<Item = &A> {
        let (pointers, indices) = self.parts();
        pointers.into_iter().chain(indices)
    }

    /// Every array of the level with its name, if the level's first dimension is `first`.
    pub(crate) fn named_arrays(&self, first: usize) -> impl Iterator<Item = (ArrayName, &A)> {
        let (pointers, indices) = self.parts();
        let indices = indices.iter().enumerate().map(move |(i, a)| (ArrayName::Indices(first + i), a));
        pointers.map(|p| (ArrayName::Pointers(first), p)).into_iter().chain(indices)
    }

    /// The same level with other arrays, each made of the one before it.
    ///
    /// # Errors
    /// The first of `f`.
    pub(crate) fn try_map<B, E>(
        &self,
        first: usize,
        f: &mut dyn FnMut(ArrayName, &A) -> std::result::Result<B, E>,
    ) -> std::result::Result<LevelOf<B>, E> {
        let mut arrays = Vec::new();
        for (name, a) in self.named_arrays(first) {
            arrays.push(f(name, a)?);
        }
        let claims = [self.is_ordered(), self.is_unique()];
        // As many arrays as there were.
        Ok(LevelOf::of_arrays(self.kind(), claims, arrays).unwrap_or(LevelOf::Dense))
    }

    /// The same level with other arrays.
    pub(crate) fn map<B>(&self, f: &mut dyn FnMut(ArrayName, &A) -> B) -> LevelOf<B> {
        let same: std::result::Result<LevelOf<B>, std::convert::Infallible> =
            self.try_map(0, &mut |name, a| Ok(f(name, a)));
        let Ok(level) = same;
        level
    }

    /// A level of a kind of its arrays, in the order of [`Level::arrays`]; `None` if there are too few or too many.
    pub(crate) fn of_arrays(kind: LevelKind, [ordered, unique]: [bool; 2], arrays: Vec<A>) -> Option<LevelOf<A>> {
        match kind {
            LevelKind::Dense => dense::of_arrays(arrays),
            LevelKind::Sparse { rank } => sparse::of_arrays(rank, [ordered, unique], arrays),
            LevelKind::Singleton => singleton::of_arrays(arrays),
        }
    }
}

impl Level {
    /// Whether an array is 64 bits wide.
    pub(super) fn is_wide(&self) -> bool {
        let (pointers, indices) = self.parts();
        pointers.is_some_and(Indices::is_wide) || indices.iter().any(Indices::is_wide)
    }

    /// Whether both are of one kind, and their arrays the same memory.
    pub(super) fn shares_arrays_of(&self, other: &Level) -> bool {
        let ((pointers, indices), (other_pointers, other_indices)) = (self.parts(), other.parts());
        let is_same = |a: Option<&Indices>, b: Option<&Indices>| match (a, b) {
            (Some(a), Some(b)) => a.is_same(b),
            (a, b) => a.is_none() && b.is_none(),
        };
        indices.len() == other_indices.len()
            && indices.iter().zip(other_indices).all(|(a, b)| a.is_same(b))
            && is_same(pointers, other_pointers)
            && self.kind() == other.kind()
    }

    /// The level under a range of parents alone, sharing memory, and its positions there.
    pub(crate) fn under(&self, parents: Range<usize>, dims: &[Dim]) -> (Level, Range<usize>) {
        with_kind!(self, l => l.under(parents, dims))
    }

    /// The positions of a tuple under any of `parents`, in order.
    pub(crate) fn locate(&self, parents: Vec<usize>, tuple: &[usize], dims: &[Dim]) -> Vec<usize> {
        with_kind!(self, l => l.locate(parents, tuple, dims))
    }

    /// See [`Kind::linearize`].
    pub(super) fn linearize(
        &self,
        weights: &[u64],
        dims: &[Dim],
        above: Option<Above<'_>>,
        range: Range<usize>,
        out: &mut [u64],
    ) {
        with_kind!(self, l => l.linearize(weights, dims, above, range, out));
    }

    /// The tuples under each parent; `None` if every coordinate is there.
    pub(super) fn segments<I: Index>(&self) -> Option<Segments<'_, I>> {
        with_kind!(self, l => l.segments())
    }

    pub(super) fn check(&self, check: &Check) -> Result<usize> {
        with_kind!(self, l => l.check(check))
    }

    pub(super) fn order(&self) -> Option<Order> {
        with_kind!(self, l => l.order())
    }

    /// Where tuples first fall within a segment, or where `repeats` are given twice, in words.
    pub(super) fn first_fault(&self, parents: usize, repeats: bool) -> Option<String> {
        fn first<I: Index>(level: &Level, parents: usize, repeats: bool) -> Option<String> {
            level.segments::<I>()?.first_fault(parents, repeats)
        }
        let wide = self.arrays().any(Indices::is_wide);
        if wide { first::<u64>(self, parents, repeats) } else { first::<u32>(self, parents, repeats) }
    }
}
