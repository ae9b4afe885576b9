//! Sorted coordinates and listed rows to compressed rows of all, and back: what is said of rows alone is made anew, the rest is
//! shared.

use std::sync::Arc;

use openwork_ops::structure::Index;
use openwork_ops::with_index;

use crate::engine::transpose::{COMPRESSED, swap_compressed};
use crate::levels::build;
use crate::levels::fibres::{self, spread};
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::layout::LevelSpec;
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::Sparse;

/// The levels of compressed rows over the dimensions of a matrix that is stored by sorted coordinates or listed rows, unless rows are
/// many beside so many positions: what is quick by rows is then best done with them.
pub(crate) fn by_rows(s: &Sparse, positions: usize) -> Option<LevelSpec> {
    let p = &s.pattern;
    let is_listed = match &p.levels[..] {
        [Level::Sparse { pointers: None, indices, .. }] => indices.len() == 2,
        [Level::Sparse { pointers: None, indices, .. }, Level::Sparse { pointers: Some(_), indices: columns, .. }] => {
            indices.len() == 1 && columns.len() == 1
        }
        _ => false,
    };
    let is_quick = is_listed && p.is_canonical() && p.dims[0].size / 4 <= positions;
    let is_whole = || p.dims.iter().all(|d| d.part == Part::Whole);
    (is_quick && is_whole()).then(|| LevelSpec { levels: COMPRESSED.to_vec(), dims: p.spec().dims })
}

/// The same matrix in compressed rows over its dimensions in the other order: those of its columns.
pub(super) fn recompressed_and_swapped(s: &Sparse, kinds: &[LevelKind], dims: &[Dim]) -> Option<Sparse> {
    let own = &s.pattern.dims;
    if kinds != COMPRESSED || own.len() != 2 || dims.len() != 2 || dims != [own[1], own[0]] {
        return None;
    }
    by_rows(s, s.pattern.positions)?;
    swap_compressed(&recompressed(s, kinds, own)?, kinds, dims)
}

/// Whether these levels are compressed rows: coordinates one by one, below dense levels if any.
pub(super) fn is_compressed(kinds: &[LevelKind]) -> bool {
    kinds.split_last().is_some_and(|(last, above)| {
        *last == LevelKind::Sparse { rank: 1 } && above.iter().all(|&kind| kind == LevelKind::Dense)
    })
}

/// A canonical tensor with a pointer for each row, where its levels are over the same dimensions in that order; `None` for anything
/// else, and where rows are many beside what is stored.
///
/// Cost: O(rows + coordinates of rows).
pub(super) fn recompressed(s: &Sparse, kinds: &[LevelKind], dims: &[Dim]) -> Option<Sparse> {
    let (from, Some((_, above))) = (&*s.pattern, kinds.split_last()) else { return None };
    if !is_compressed(kinds) || above.is_empty() || from.dims != dims || from.level_dims != kinds.len() {
        return None;
    }
    let rows = dims[..above.len()].iter().try_fold(1usize, |n, d| n.checked_mul(d.size))?;
    if rows / 4 > from.positions {
        return None;
    }
    let wide = needs_64_bits(from.positions, dims.iter().map(|d| d.size));
    let of_width = |array: &Indices| if wide { Some(array.widened(true)) } else { array.narrowed() };
    let (pointers, columns) = match &from.levels[..] {
        [Level::Sparse { pointers: None, indices, .. }] => {
            let (columns, leading) = indices.split_last()?;
            let pointers = match leading {
                [rows_of] => with_index!(rows_of.as_slice(), all => {
                    build::pointers(all.len(), |i| all[i].get() as u64, rows, wide)
                }),
                [matrix, row] => with_index!(matrix.as_slice(), matrix => with_index!(row.as_slice(), row => {
                    let number = |i: usize| matrix[i].get() as u64 * dims[1].size as u64 + row[i].get() as u64;
                    build::pointers(matrix.len(), number, rows, wide)
                })),
                _ => {
                    let number = |i: usize| {
                        leading.iter().zip(dims).fold(0, |n, (array, d)| n * d.size as u64 + array.get(i) as u64)
                    };
                    build::pointers(from.positions, number, rows, wide)
                }
            };
            (pointers?, columns)
        }
        [Level::Sparse { pointers: None, indices: listed, .. }, Level::Sparse { pointers: Some(own), indices, .. }]
            if listed.len() == 1 =>
        {
            let ([listed], [columns]) = (&listed[..], &indices[..]) else { return None };
            // Before each row: how many are listed, and what these have.
            let before = with_index!(listed.as_slice(), all => {
                build::pointers(all.len(), |i| all[i].get() as u64, rows, wide)
            })?;
            let own = of_width(own)?;
            let pointers = with_index!(own.as_slice(), own => with_index!(before.as_slice(), before => {
                Index::vec(before.iter().map(|b| own[b.get()]).collect())
            }));
            (pointers.into(), columns)
        }
        _ => {
            let coordinates = [LevelKind::Sparse { rank: from.level_dims }];
            return recompressed(&regrouped(s, &coordinates, dims)?, kinds, dims);
        }
    };
    let level =
        Level::Sparse { pointers: Some(pointers), indices: vec![of_width(columns)?], ordered: true, unique: true };
    let mut levels = vec![Level::Dense; above.len()];
    levels.push(level);
    let pattern = Pattern { levels, ..from.clone() };
    Some(Sparse { pattern: Arc::new(pattern), ..s.clone() })
}

/// A canonical tensor of compressed rows by sorted coordinates, whichever levels hold these, or of a matrix with those rows listed that
/// store something; `None` of anything else.
///
/// Cost: O(rows), and for each axis of rows a coordinate for each element of sorted ones.
pub(super) fn listed(s: &Sparse, kinds: &[LevelKind], dims: &[Dim]) -> Option<Sparse> {
    let from = &*s.pattern;
    let (last, above) = from.levels.split_last()?;
    let Level::Sparse { pointers: Some(pointers), indices, .. } = last else { return None };
    let [columns] = &indices[..] else { return None };
    let is_compressed = above.iter().all(|level| matches!(level, Level::Dense));
    if from.dims != dims || from.level_dims != from.levels.len() || !is_compressed {
        return None;
    }
    let wide = needs_64_bits(from.positions, dims.iter().map(|d| d.size));
    let of_width = |array: &Indices| if wide { Some(array.widened(true)) } else { array.narrowed() };
    let (pointers, columns) = (of_width(pointers)?, of_width(columns)?);
    let of_rows = |indices, pointers| Level::Sparse { pointers, indices, ordered: true, unique: true };
    let levels = match kinds {
        [LevelKind::Sparse { rank }] if *rank == from.level_dims => {
            let mut indices = vec![columns];
            // How many rows there are for one step along an axis.
            let mut step = 1;
            for dim in dims[..above.len()].iter().rev() {
                let along = with_index!(pointers.as_slice(), ends => {
                    spread(ends, from.positions, &|row| Index::new(row / step % dim.size))
                });
                indices.push(along);
                step *= dim.size;
            }
            indices.reverse();
            vec![of_rows(indices, None)]
        }
        [LevelKind::Sparse { rank: 1 }, LevelKind::Sparse { rank: 1 }] if above.len() == 1 => {
            let (rows, ends) = with_index!(pointers.as_slice(), ends => not_empty(ends));
            vec![of_rows(vec![rows], None), of_rows(vec![columns], Some(ends))]
        }
        [LevelKind::Sparse { rank }, ..] if *rank < from.level_dims => {
            let coordinates = [LevelKind::Sparse { rank: from.level_dims }];
            return regrouped(&listed(s, &coordinates, dims)?, kinds, dims);
        }
        _ => return None,
    };
    Some(Sparse { pattern: Arc::new(Pattern { levels, ..from.clone() }), ..s.clone() })
}

/// The same of a matrix that is stored over its dimensions in the other order.
pub(super) fn listed_across(s: &Sparse, kinds: &[LevelKind], dims: &[Dim]) -> Option<Sparse> {
    let is_listed = matches!(
        kinds,
        [LevelKind::Sparse { rank: 2 }] | [LevelKind::Sparse { rank: 1 }, LevelKind::Sparse { rank: 1 }]
    );
    if !is_listed || dims.len() != 2 || dims[0].size / 4 > s.pattern.positions {
        return None;
    }
    let rows = swap_compressed(s, &COMPRESSED, dims).or_else(|| recompressed_and_swapped(s, &COMPRESSED, dims))?;
    listed(&rows, kinds, dims)
}

/// A canonical tensor with its coordinates in levels of these kinds, all sparse with a coordinate at least; `None` of anything that is
/// not stored so itself, and over other dimensions.
///
/// Cost: O(nse) for each level, and a copy of the coordinates but for those of the last.
pub(super) fn regrouped(s: &Sparse, kinds: &[LevelKind], dims: &[Dim]) -> Option<Sparse> {
    let from = &*s.pattern;
    fibres::ranks(from.levels.iter().map(Level::kind))?;
    let ranks = fibres::ranks(kinds.iter().copied())?;
    if from.dims != dims || from.level_dims != ranks.iter().sum::<usize>() {
        return None;
    }
    let is_wide = from.is_wide();
    if from.levels.iter().flat_map(Level::arrays).any(|array| array.is_wide() != is_wide) {
        return None;
    }
    let regroup = if is_wide { in_levels::<u64> } else { in_levels::<u32> };
    let levels = regroup(from, &ranks);
    Some(Sparse { pattern: Arc::new(Pattern { levels, ..from.clone() }), ..s.clone() })
}

fn in_levels<I: Index>(from: &Pattern, ranks: &[usize]) -> Vec<Level> {
    fibres::grouped::<I>(&fibres::coordinates::<I>(from), from.positions, ranks)
}

/// The rows that store something, and where these end.
fn not_empty<I: Index>(pointers: &[I]) -> (Indices, Indices) {
    let (mut rows, mut ends) = (Vec::new(), vec![pointers[0]]);
    for (row, ends_of) in pointers.windows(2).enumerate().filter(|(_, ends)| ends[0] < ends[1]) {
        rows.push(I::new(row));
        ends.push(ends_of[1]);
    }
    (I::vec(rows).into(), I::vec(ends).into())
}
