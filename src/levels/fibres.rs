//! Sorted coordinates and levels compressed one under the other, over the same dimensions in the same order: a node opens where a
//! tuple differs from the one before it, and holds what follows up to the next.

use openwork_ops::structure::{Index, agree};

use super::indices::Indices;
use super::level::{Level, LevelKind};
use super::pattern::Pattern;
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};

/// In how many of the leading coordinates each tuple agrees with the one before it.
pub(crate) fn agreeing<I: Index>(columns: &[&[I]], n: usize) -> Scratch<u8> {
    let mut out = Scratch::<u8>::any(n);
    parallel::for_chunks_mut(&mut out, 1, GRAIN, &|first, out| agree::agreeing(columns, first, out));
    out
}

/// How many coordinates each level holds, if all are sparse, hold some, and there are few enough together for [`agreeing`].
pub(crate) fn ranks(kinds: impl Iterator<Item = LevelKind>) -> Option<Vec<usize>> {
    let rank = |kind: LevelKind| if let LevelKind::Sparse { rank: 1.. } = kind { Some(kind.rank()) } else { None };
    let ranks = kinds.map(rank).collect::<Option<Vec<_>>>()?;
    (ranks.iter().sum::<usize>() < usize::from(u8::MAX)).then_some(ranks)
}

/// The coordinates of all elements, from levels of which all are sparse.
pub(crate) fn coordinates<I: Index>(from: &Pattern) -> Vec<Indices> {
    let n = from.positions;
    let (mut out, mut ends): (Vec<Indices>, Option<Scratch<I>>) = (Vec::new(), None);
    for level in from.levels.iter().rev() {
        let Level::Sparse { pointers, indices, .. } = level else { continue };
        for array in indices.iter().rev() {
            out.push(match &ends {
                None => array.clone(),
                Some(ends) => {
                    let own = array.typed::<I>();
                    spread(&ends[..], n, &|node| own[node])
                }
            });
        }
        let Some(pointers) = pointers.as_ref().map(Indices::typed::<I>) else { continue };
        // Where what is under each node above begins among all elements.
        let mut above = Scratch::<I>::any(pointers.len());
        let base = pointers[0].get();
        parallel::for_chunks_mut(&mut above, 1, GRAIN, &|first, out| {
            for (out, pointer) in out.iter_mut().zip(&pointers[first..]) {
                let node = pointer.get() - base;
                *out = ends.as_ref().map_or(I::new(node), |ends| ends[node]);
            }
        });
        ends = Some(above);
    }
    out.reverse();
    out
}

/// Levels of these ranks, of the coordinates of all elements.
pub(crate) fn grouped<I: Index>(columns: &[Indices], n: usize, ranks: &[usize]) -> Vec<Level> {
    if ranks.len() == 1 {
        return vec![Level::Sparse { pointers: None, indices: columns.to_vec(), ordered: true, unique: true }];
    }
    let agreeing = agreeing(&columns.mapped(|c| c.typed::<I>()), n);
    // With how many coordinates a tuple is one of each level's nodes; the last level has all tuples.
    let mut sum = 0;
    let under: Vec<u8> = ranks.mapped(|rank| {
        sum += rank;
        sum as u8
    });
    let last = ranks.len() - 1;
    let chunks = parallel::map_chunks(n, GRAIN, &|chunk| {
        under[..last].mapped(|&columns| agree::opened(&agreeing[chunk.clone()], columns))
    });
    // How many nodes of each level begin before each chunk, and in all.
    let mut begins = vec![vec![0; last]];
    for own in &chunks {
        let before = &begins[begins.len() - 1];
        begins.push(before.iter().zip(own).map(|(before, own)| before + own).collect());
    }
    let nodes = |chunk: usize, l: usize| if l == last { n.min(chunk * GRAIN) } else { begins[chunk][l] };
    let chunk = |i: usize| &agreeing[i * GRAIN..n.min((i + 1) * GRAIN)];
    let mut levels = Vec::with_capacity(ranks.len());
    let (mut pointers, mut first) = (None, 0);
    for (l, &rank) in ranks.iter().enumerate() {
        let own = &columns[first..first + rank];
        first += rank;
        if l == last {
            let indices = own.to_vec();
            levels.push(Level::Sparse { pointers: pointers.take(), indices, ordered: true, unique: true });
            break;
        }
        let ends: Vec<usize> = (1..begins.len()).map(|chunk| nodes(chunk, l)).collect();
        let count = nodes(chunks.len(), l);
        let of = if faults::is(Fault::NodesOfFirst) { 0 } else { l };
        let indices = own.mapped(|column| {
            let (source, mut out) = (column.typed::<I>(), Scratch::<I>::any(count));
            parallel::for_pieces_mut(&mut out, &ends, &|i, out| {
                agree::entries(chunk(i), under[of], &source[i * GRAIN..], out);
            });
            out.into()
        });
        let mut below = Scratch::<I>::any(count + 1);
        below[count] = I::new(nodes(chunks.len(), l + 1));
        parallel::for_pieces_mut(&mut below[..count], &ends, &|i, out| {
            agree::counts(chunk(i), under[l], under[l + 1], nodes(i, l + 1), out);
        });
        levels.push(Level::Sparse { pointers: pointers.take(), indices, ordered: true, unique: true });
        pointers = Some(below.into());
    }
    levels
}

/// For each of `n` elements what there is `of` the row that it is in, of rows that end where pointers say.
pub(crate) fn spread<I: Index>(pointers: &[I], n: usize, of: &(dyn Fn(usize) -> I + Sync)) -> Indices {
    let mut out = Scratch::<I>::any(n);
    // Where most rows are empty, that one is can be foreseen.
    let write = if pointers.len() / 2 > n { spread_from::<I, true> } else { spread_from::<I, false> };
    parallel::for_chunks_mut(&mut out, 1, GRAIN, &|start, out| write(pointers, start, of, out));
    out.into()
}

/// The same of the elements from `start` on.
fn spread_from<I: Index, const ASK_IF_EMPTY: bool>(
    pointers: &[I],
    start: usize,
    of: &(dyn Fn(usize) -> I + Sync),
    out: &mut [I],
) {
    /// For a short row as many are written, and the next row's over what is too many: how long it is would be a guess.
    const SHORT: usize = 8;
    let (first, end) = (pointers[0].get(), start + out.len());
    let mut at = start;
    let mut row = pointers.partition_point(|p| p.get() - first <= start) - 1;
    while at < end {
        let until = (pointers[row + 1].get() - first).min(end);
        if !ASK_IF_EMPTY || until > at {
            let rest = &mut out[at - start..];
            match rest.first_chunk_mut::<SHORT>() {
                Some(short) if until - at <= SHORT => short.fill(of(row)),
                _ => rest[..until - at].fill(of(row)),
            }
        }
        (at, row) = (until, row + 1);
    }
}
