//! Patterns from sorted coordinate keys.

use std::ops::Deref;

use crate::base::mapped::{Chosen, Mapped, partition_point};
use openwork_ops::structure::Index;
use openwork_ops::structure::keys::{self, Field, KeyLayout};

use super::fibres;
use super::indices::{Indices, needs_64_bits};
use super::level::LevelKind;
use super::pattern::{Dim, Pattern};
use super::sort;
use crate::base::error::{self, Error, Result};
use crate::base::faults::{self, Fault};
use crate::base::memory;
use crate::base::pages::Scratch;
use crate::base::parallel;

/// Sorted keys of coordinate tuples over the level dimensions of a pattern to be.
pub(crate) struct SortedKeys<'a> {
    layout: &'a KeyLayout,
    words: Vec<&'a [u64]>,
}

impl<'a> SortedKeys<'a> {
    /// Keys of which none repeats, as one array for each word.
    pub(crate) fn new<W: Deref<Target = [u64]>>(layout: &'a KeyLayout, words: &'a [W]) -> SortedKeys<'a> {
        SortedKeys { layout, words: words.mapped(|w| &w[..]) }
    }

    pub(super) fn len(&self) -> usize {
        self.words.first().map_or(0, |w| w.len())
    }

    fn field(&self, dim: usize) -> (Field, &[u64]) {
        let field = self.layout.fields[dim];
        (field, self.words[field.word])
    }

    /// Where the tuples of the first `dims` dimensions change.
    pub(crate) fn heads(&self, dims: usize) -> Vec<usize> {
        let masks: Vec<u64> = (0..self.words.len())
            .map(|w| self.layout.fields[..dims].iter().filter(|f| f.word == w).fold(0, |m, f| m | mask(*f)))
            .collect();
        (0..self.len()).chosen(|&i| i == 0 || self.words.iter().zip(&masks).any(|(w, m)| (w[i] ^ w[i - 1]) & m != 0))
    }
}

fn mask(field: Field) -> u64 {
    if field.bits == 0 { 0 } else { (u64::MAX >> (64 - field.bits)) << field.shift }
}

/// The parent position of each key, or of each node above it.
enum Parents {
    Root,
    /// A coordinate of the key itself: one dense level at the root.
    Field(usize),
    List(Vec<u64>),
}

/// A pattern in the making: what the levels so far leave for the next one.
pub(super) struct Builder<'a> {
    pub(super) keys: &'a SortedKeys<'a>,
    dims: &'a [Dim],
    wide: bool,
    /// Number of the next level, and its first dimension.
    pub(super) level: usize,
    pub(super) dim: usize,
    pub(super) is_last: bool,
    /// Positions of the levels so far.
    pub(super) count: usize,
    parents: Parents,
    /// The keys that stand for the nodes of `parents`; `None`: every key has its own entry.
    nodes: Option<Vec<usize>>,
}

/// Builds the arrays of a pattern with these levels. Dimensions have been resolved against the spec.
///
/// # Errors
/// If a dense level would need more pointers than memory, or a singleton level does not have exactly one
/// coordinate per parent.
pub(crate) fn build(kinds: &[LevelKind], dims: Vec<Dim>, keys: &SortedKeys<'_>) -> Result<Pattern> {
    let level_dims = kinds.iter().map(|k| k.rank()).sum();
    let wide = needs_64_bits(keys.len(), dims[..level_dims].iter().map(|d| d.size));
    let mut builder = Builder {
        keys,
        dims: &dims,
        wide,
        level: 0,
        dim: 0,
        is_last: false,
        count: 1,
        parents: Parents::Root,
        nodes: None,
    };
    if kinds.len() > 1
        && let Some(ranks) = fibres::ranks(kinds.iter().copied())
    {
        let columns = (0..level_dims).mapped(|d| builder.column(d, None));
        let grouped = if wide { fibres::grouped::<u64> } else { fibres::grouped::<u32> };
        let levels = grouped(&columns, keys.len(), &ranks);
        return Ok(Pattern { levels, dims, level_dims, positions: keys.len() });
    }
    let mut levels = Vec::with_capacity(kinds.len());
    for (l, &kind) in kinds.iter().enumerate() {
        (builder.level, builder.is_last) = (l, l + 1 == kinds.len());
        levels.push(kind.append(&mut builder)?);
        builder.dim += kind.rank();
    }
    let positions = builder.count;
    Ok(Pattern { levels, dims, level_dims, positions })
}

impl Builder<'_> {
    pub(super) fn is_root(&self) -> bool {
        matches!(self.parents, Parents::Root)
    }

    /// The keys at which the tuples down to the next level, of this rank, change; `None` at the last level, where every
    /// key is one of its positions.
    pub(super) fn heads(&self, rank: usize) -> Option<Vec<usize>> {
        if self.is_last { None } else { Some(self.keys.heads(self.dim + rank)) }
    }

    /// The parents of those keys, or of all.
    pub(super) fn parents_of(&self, heads: Option<&[usize]>) -> Vec<u64> {
        let n = heads.map_or(self.keys.len(), <[usize]>::len);
        let key = |i: usize| heads.map_or(i, |h| h[i]);
        match (&self.parents, self.nodes.as_deref()) {
            (Parents::Root, _) => vec![0; n],
            (Parents::Field(d), _) => {
                let (field, words) = self.keys.field(*d);
                (0..n).map(|i| field.of(words[key(i)])).collect()
            }
            // The list is per node of the level above: walk both in key order.
            (Parents::List(list), Some(nodes)) => {
                let mut node = 0;
                let step = |i: usize| {
                    while node + 1 < nodes.len() && nodes[node + 1] <= key(i) {
                        node += 1;
                    }
                    list[node]
                };
                (0..n).map(step).collect()
            }
            (Parents::List(list), None) => (0..n).map(|i| list[key(i)]).collect(),
        }
    }

    /// Pointers from every parent to its own of those keys.
    ///
    /// # Errors
    /// If there are more parents than memory has room for.
    pub(super) fn pointers(&self, heads: Option<&[usize]>) -> Result<Indices> {
        let n = heads.map_or(self.keys.len(), <[usize]>::len);
        let out = match &self.parents {
            Parents::Field(d) => {
                let (field, words) = self.keys.field(*d);
                let parent = |i: usize| field.of(words[heads.map_or(i, |h| h[i])]);
                pointers(n, parent, self.count, self.wide)
            }
            _ => {
                let parents = self.parents_of(heads);
                pointers(n, |i| parents[i], self.count, self.wide)
            }
        };
        out.ok_or_else(|| self.too_many(self.dim))
    }

    /// The coordinates of those keys, or of all, along one dimension.
    pub(super) fn column(&self, dim: usize, heads: Option<&[usize]>) -> Indices {
        let (field, words) = self.keys.field(dim);
        match heads {
            None => decode(words, field, self.wide),
            Some(heads) => decode(&sort::pick(words, heads), field, self.wide),
        }
    }

    /// Goes on below a level of so many positions, which those keys stand for.
    pub(super) fn enter(&mut self, positions: usize, heads: Option<Vec<usize>>) {
        self.count = positions;
        if let Some(heads) = heads {
            self.parents = Parents::List((0..positions as u64).collect());
            self.nodes = Some(heads);
        }
    }

    /// Goes on below a dense level: parent · size + coordinate, for every key.
    pub(super) fn multiply(&mut self) -> Result<()> {
        let size = self.dims[self.dim].size;
        self.count = self.count.checked_mul(size).ok_or_else(|| self.too_many(self.dim + 1))?;
        self.parents = if self.is_root() {
            Parents::Field(self.dim)
        } else {
            let (field, words) = self.keys.field(self.dim);
            let above = self.parents_of(None);
            Parents::List(above.iter().zip(words).map(|(p, &w)| p * size as u64 + field.of(w)).collect())
        };
        self.nodes = None;
        Ok(())
    }

    /// The error that memory has no room for a pointer per position of the dense levels over the first dimensions.
    fn too_many(&self, dims: usize) -> Error {
        let sizes: Vec<_> = self.dims[..dims].mapped(|d| d.size.to_string());
        let sizes = sizes.join(" x ");
        let count = self.dims[..dims].iter().fold(1u128, |n, d| n.saturating_mul(d.size as u128));
        let bytes = count.saturating_mul(if self.wide { 8 } else { 4 });
        let why = format!(
            "pointers for dense levels over {sizes} coordinates take {bytes} bytes and do not fit in memory: choose coo, \
             dcsr or csf"
        );
        error::layout(why)
    }
}

/// Reads one coordinate out of every key.
fn decode(words: &[u64], field: Field, wide: bool) -> Indices {
    fn typed<I: Index>(words: &[u64], field: Field) -> Indices {
        let mut out = Scratch::<I>::any(words.len());
        parallel::for_chunks_mut(&mut out, 1, parallel::GRAIN, &|start, out| keys::decode(&words[start..], field, out));
        out.into()
    }
    if wide { typed::<u64>(words, field) } else { typed::<u32>(words, field) }
}

/// Pointers from the rising parents of a level's `n` nodes; `None` if memory has no room for them.
pub(crate) fn pointers(n: usize, parent: impl Fn(usize) -> u64 + Sync, count: usize, wide: bool) -> Option<Indices> {
    fn typed<I: Index>(n: usize, parent: impl Fn(usize) -> u64 + Sync, count: usize) -> Option<Indices> {
        let entries = count.checked_add(1).filter(|&n| memory::has_room(n, size_of::<I>()))?;
        let mut out = Scratch::<I>::any(entries);
        let off = usize::from(faults::is(Fault::PointersOffByOne));
        // As many parents as have about one task's nodes.
        let grain = (parallel::GRAIN as u128 * count as u128 / n.max(1) as u128).clamp(1, parallel::GRAIN as u128);
        parallel::for_chunks_mut(&mut out, 1, grain as usize, &|first, out| {
            // Before a parent's nodes are those of the parents below it.
            let mut i = partition_point(n, |i| parent(i) < first as u64);
            for (p, out) in (first as u64..).zip(out) {
                while i < n && parent(i) < p {
                    i += 1;
                }
                *out = I::new(if p > 0 && i < n { i + off } else { i });
            }
        });
        Some(out.into())
    }
    if wide { typed::<u64>(n, parent, count) } else { typed::<u32>(n, parent, count) }
}
