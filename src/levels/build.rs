//! Patterns from sorted coordinate keys.

use openwork_ops::structure::keys::{self, Field, KeyLayout};
use openwork_ops::structure::{Index, IndexVec};

use crate::base::buffer::zeroed_vec;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::parallel;
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Pattern};
use crate::levels::sort;

/// Sorted keys of coordinate tuples over the level dimensions of a pattern to be.
pub(crate) struct SortedKeys<'a> {
    pub(crate) layout: &'a KeyLayout,
    pub(crate) words: &'a [Vec<u64>],
    /// Whether no key repeats.
    pub(crate) unique: bool,
}

impl SortedKeys<'_> {
    fn len(&self) -> usize {
        self.words.first().map_or(0, Vec::len)
    }

    fn field(&self, dim: usize) -> (Field, &[u64]) {
        let field = self.layout.fields[dim];
        (field, &self.words[field.word])
    }

    /// Where the tuples of the first `dims` dimensions change.
    pub(crate) fn heads(&self, dims: usize) -> Vec<usize> {
        let masks: Vec<u64> = (0..self.words.len())
            .map(|w| self.layout.fields[..dims].iter().filter(|f| f.word == w).fold(0, |m, f| m | mask(*f)))
            .collect();
        (0..self.len())
            .filter(|&i| i == 0 || self.words.iter().zip(&masks).any(|(w, m)| (w[i] ^ w[i - 1]) & m != 0))
            .collect()
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

/// Builds the arrays of a pattern with these levels. Dimensions have been resolved against the spec.
///
/// # Errors
/// If a dense level would need more pointers than memory, or a singleton level does not have exactly one
/// coordinate per parent.
pub(crate) fn build(kinds: &[LevelKind], dims: Vec<Dim>, keys: &SortedKeys<'_>) -> Result<Pattern> {
    let n = keys.len();
    let level_dims = kinds.iter().map(|k| k.rank()).sum();
    let wide = n >= 1 << 31 || dims[..level_dims].iter().any(|d| d.size > 1 << 31);
    let mut levels = Vec::with_capacity(kinds.len());
    let (mut parents, mut count, mut dim) = (Parents::Root, 1usize, 0);
    // The keys that stand for the nodes of the current level: all of them only at the last.
    let mut nodes: Option<Vec<usize>> = None;
    for (l, &kind) in kinds.iter().enumerate() {
        let last = l + 1 == kinds.len();
        match kind {
            LevelKind::Dense => {
                let size = dims[dim].size;
                count = count.checked_mul(size).ok_or_else(|| too_many(&dims[..=dim]))?;
                parents = dense_parents(keys, parents, nodes.as_deref(), dim, size);
                nodes = None; // the list is per key now
                levels.push(Level::Dense);
            }
            LevelKind::Sparse { rank } => {
                let heads = if last { None } else { Some(keys.heads(dim + rank)) };
                let pointers = match &parents {
                    Parents::Root if rank > 0 => None,
                    Parents::Field(d) => {
                        let (field, words) = keys.field(*d);
                        let parent = |i: usize| field.of(words[heads.as_ref().map_or(i, |h| h[i])]);
                        Some(pointers(heads.as_ref().map_or(n, Vec::len), parent, count, wide, &dims[..dim])?)
                    }
                    p => {
                        let parents = parents_at(keys, p, nodes.as_deref(), heads.as_deref());
                        Some(pointers(parents.len(), |i| parents[i], count, wide, &dims[..dim])?)
                    }
                };
                let indices = (dim..dim + rank)
                    .map(|d| {
                        let (field, words) = keys.field(d);
                        match &heads {
                            None => decode(words, field, wide).into(),
                            Some(heads) => decode(&sort::pick(words, heads), field, wide).into(),
                        }
                    })
                    .collect();
                count = heads.as_ref().map_or(n, Vec::len);
                levels.push(Level::Sparse {
                    pointers: pointers.map(Into::into),
                    indices,
                    ordered: true,
                    unique: !last || keys.unique,
                });
                if let Some(heads) = heads {
                    parents = Parents::List((0..heads.len() as u64).collect());
                    nodes = Some(heads);
                }
            }
            LevelKind::Singleton => {
                let heads = if last { (0..n).collect() } else { keys.heads(dim + 1) };
                let at = parents_at(keys, &parents, nodes.as_deref(), Some(&heads));
                if at.len() != count || at.iter().enumerate().any(|(i, &p)| p != i as u64) {
                    return Err(error::layout(format!(
                        "level {l} is a singleton, but not every parent has exactly one coordinate"
                    )));
                }
                let (field, words) = keys.field(dim);
                levels.push(Level::Singleton { indices: decode(&sort::pick(words, &heads), field, wide).into() });
                parents = Parents::List((0..heads.len() as u64).collect());
                nodes = Some(heads);
            }
        }
        dim += kind.rank();
    }
    Ok(Pattern { levels, dims, level_dims, positions: count })
}

fn too_many(dims: &[Dim]) -> crate::Error {
    let sizes: Vec<_> = dims.iter().map(|d| d.size.to_string()).collect();
    error::layout(format!(
        "dense levels over {} coordinates do not fit in memory: choose coo, dcsr or csf",
        sizes.join(" x ")
    ))
}

/// Parents of the key nodes (or of `heads`, a coarser choice of keys) under the levels so far.
fn parents_at(keys: &SortedKeys<'_>, parents: &Parents, nodes: Option<&[usize]>, heads: Option<&[usize]>) -> Vec<u64> {
    let n = heads.map_or(keys.len(), <[usize]>::len);
    let key = |i: usize| heads.map_or(i, |h| h[i]);
    match (parents, nodes) {
        (Parents::Root, _) => vec![0; n],
        (Parents::Field(d), _) => {
            let (field, words) = keys.field(*d);
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

/// A dense level multiplies: parent · size + coordinate, for every key.
fn dense_parents(keys: &SortedKeys<'_>, parents: Parents, nodes: Option<&[usize]>, dim: usize, size: usize) -> Parents {
    if matches!(parents, Parents::Root) {
        return Parents::Field(dim);
    }
    let (field, words) = keys.field(dim);
    let above = parents_at(keys, &parents, nodes, None);
    let list = above.iter().zip(words).map(|(p, &w)| p * size as u64 + field.of(w)).collect();
    Parents::List(list)
}

/// Reads one coordinate out of every key.
fn decode(words: &[u64], field: Field, wide: bool) -> IndexVec {
    fn typed<I: Index>(words: &[u64], field: Field) -> IndexVec {
        let mut out = zeroed_vec::<I>(words.len());
        parallel::for_chunks_mut(&mut out, 1, parallel::GRAIN, &|start, out| keys::decode(&words[start..], field, out));
        I::vec(out)
    }
    if wide { typed::<u64>(words, field) } else { typed::<u32>(words, field) }
}

/// Pointers from the rising parents of a level's `n` nodes.
fn pointers(n: usize, parent: impl Fn(usize) -> u64, count: usize, wide: bool, dims: &[Dim]) -> Result<IndexVec> {
    fn typed<I: Index>(n: usize, parent: impl Fn(usize) -> u64, count: usize) -> Option<IndexVec> {
        let mut out: Vec<I> = Vec::new();
        out.try_reserve_exact(count.checked_add(1)?).ok()?;
        out.push(I::default());
        // Rising parents: each parent's end is where the next one starts.
        for i in 0..n {
            let p = parent(i) as usize;
            while out.len() <= p {
                out.push(I::new(i + usize::from(faults::is(Fault::PointersOffByOne))));
            }
        }
        out.resize(count + 1, I::new(n));
        Some(I::vec(out))
    }
    let out = if wide { typed::<u64>(n, parent, count) } else { typed::<u32>(n, parent, count) };
    out.ok_or_else(|| too_many(dims))
}
