//! Two runs of axes that change places in storage order behind others that stay: for each index of these a matrix is transposed, of
//! which one run is the rows and the other the columns, and nothing is sorted by keys. Where none stays, a sort takes as long.

use std::sync::Arc;

use super::recompress::{is_compressed, regrouped};
use super::transpose::{COMPRESSED, swap_compressed};
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::shape;
use crate::levels::build;
use crate::levels::fibres::{ranks, spread};
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Part, Pattern};
use crate::tensor::Sparse;

/// Rows and columns for each stored element, at most: each has a pointer.
const PER_ELEMENT: usize = 4;

/// Positions whose places are computed at a time.
const PIECE: usize = 1 << 12;

/// Dimensions in storage order as they are, and as they come to be: `first`, then `rows`, then `columns`; the last two change places.
struct Runs<'a> {
    first: &'a [Dim],
    rows: &'a [Dim],
    columns: &'a [Dim],
}

impl<'a> Runs<'a> {
    fn of(own: &'a [Dim], wanted: &[Dim]) -> Option<Runs<'a>> {
        let alike = own.iter().zip(wanted).take_while(|(a, b)| a == b).count();
        let (first, rest) = own.split_at(alike);
        let at = rest.iter().position(|d| Some(d) == wanted.get(alike))?;
        let (rows, columns) = rest.split_at(at);
        let is_swapped = wanted[alike..].iter().eq(columns.iter().chain(rows));
        (is_swapped && alike > 0).then_some(Runs { first, rows, columns })
    }
}

/// How many indices some dimensions have together.
fn size(dims: &[Dim]) -> u64 {
    shape::elements(&dims.mapped(|d| d.size))
}

/// A canonical tensor in levels of other kinds, over dimensions of which two runs behind the first ones have changed places. `None` of any
/// other order, of blocks and rows of values, and where rows or columns are many beside what is stored.
///
/// Cost: O(nse + rows + columns).
pub(super) fn across(s: &Sparse, kinds: &[LevelKind], dims: &[Dim]) -> Option<Sparse> {
    let from = &*s.pattern;
    let n = from.dims.len();
    let is_plain = from.level_dims == n && dims.len() == n && from.dims.iter().all(|d| d.part == Part::Whole);
    if !is_plain || kinds.iter().map(|kind| kind.rank()).sum::<usize>() != n {
        return None;
    }
    let runs = Runs::of(&from.dims, dims)?;
    let by_pointers = is_compressed(kinds);
    if by_pointers && runs.rows.len() > 1 || !by_pointers && ranks(kinds.iter().copied()).is_none() {
        return None;
    }
    let most = from.positions.saturating_mul(PER_ELEMENT);
    let few = |runs: [&[Dim]; 2]| {
        let count = runs.iter().fold(1u64, |count, run| count.saturating_mul(size(run)));
        usize::try_from(count).ok().filter(|&count| count <= most)
    };
    let (rows, columns) = (few([runs.first, runs.rows])?, few([runs.first, runs.columns])?);
    if needs_64_bits(from.positions, [rows, columns]) || from.dims.iter().any(|d| d.size == 0) {
        return None;
    }
    // As one matrix, the columns of each index of the first run behind those of the one before it.
    let weights = |counted: [&[Dim]; 2]| {
        let (mut weights, mut step) = (vec![0; s.ndim()], 1);
        for d in counted.iter().flat_map(|run| run.iter()).rev() {
            weights[d.axis] = step;
            step *= d.size as u64;
        }
        from.level_weights(&weights)
    };
    let row = from.linearized(&weights([runs.first, runs.rows]));
    let pointers = build::pointers(from.positions, |i| row[i], rows, false)?;
    drop(row);
    let column = linear(from, &weights([runs.first, runs.columns]));
    let of_rows = |indices, pointers| Level::Sparse { pointers, indices, ordered: true, unique: true };
    let [row_dim, column_dim] = [Dim::whole(0, rows), Dim::whole(1, columns)];
    let pattern = Pattern {
        levels: vec![Level::Dense, of_rows(vec![column], Some(pointers))],
        dims: vec![row_dim, column_dim],
        level_dims: 2,
        positions: from.positions,
    };
    let matrix = Sparse { shape: [rows, columns][..].into(), pattern: Arc::new(pattern), ..s.clone() };
    let turned = swap_compressed(&matrix, &COMPRESSED, &[column_dim, row_dim])?;
    drop(matrix);
    let Some(Level::Sparse { pointers: Some(ends), indices, .. }) = turned.pattern.levels.last() else { return None };
    let (ends, found) = (ends.typed::<u32>(), indices.first()?.typed::<u32>());
    let below = along(found, runs.rows);
    let levels = if by_pointers {
        let last = of_rows(below, Some(indices_of(ends)));
        vec![Level::Dense; n - 1].into_iter().chain([last]).collect()
    } else {
        let mut above = Vec::with_capacity(n);
        let mut step = 1;
        for d in runs.first.iter().chain(runs.columns).rev() {
            above.push(spread(ends, from.positions, &|row| (row / step % d.size) as u32));
            step *= d.size;
        }
        above.reverse();
        above.extend(below);
        vec![of_rows(above, None)]
    };
    let pattern = Pattern { levels, dims: dims.to_vec(), level_dims: n, positions: from.positions };
    let out =
        Sparse { shape: s.shape.clone(), pattern: Arc::new(pattern), values: turned.values, fill: s.fill.clone() };
    if by_pointers || kinds.len() == 1 { Some(out) } else { regrouped(&out, kinds, dims) }
}

/// A linear form of the coordinates of every position, which fits 32 bits.
fn linear(pattern: &Pattern, weights: &[u64]) -> Indices {
    let mut out = Scratch::<u32>::any(pattern.positions);
    parallel::for_chunks_mut(&mut out, 1, GRAIN, &|start, out| {
        let mut room = [0; PIECE];
        for (first, out) in (start..).step_by(PIECE).zip(out.chunks_mut(PIECE)) {
            let own = &mut room[..out.len()];
            pattern.linearize(weights, first..first + own.len(), own);
            out.iter_mut().zip(own).for_each(|(out, place)| *out = *place as u32);
        }
    });
    out.into()
}

/// Coordinates along some dimensions, which places in C order of others before them and of these tell.
fn along(places: &[u32], dims: &[Dim]) -> Vec<Indices> {
    // Of numbers of 32 bits this is exact, and vector code, which there is none of for integers.
    let quotient = |a: u32, b: u32| (f64::from(a) / f64::from(b)) as u32;
    let mut step = 1;
    let columns = dims.iter().rev().map(|d| {
        let (below, size) = (step, d.size as u32);
        step *= size;
        let mut out = Scratch::<u32>::any(places.len());
        parallel::for_chunks_mut(&mut out, 1, GRAIN, &|first, out| {
            out.copy_from_slice(&places[first..first + out.len()]);
            if below > 1 {
                out.iter_mut().for_each(|place| *place = quotient(*place, below));
            }
            out.iter_mut().for_each(|place| *place -= quotient(*place, size) * size);
        });
        Indices::from(out)
    });
    let mut columns: Vec<Indices> = columns.collect();
    columns.reverse();
    columns
}

fn indices_of(entries: &[u32]) -> Indices {
    let mut out = Scratch::<u32>::any(entries.len());
    out.copy_from_slice(entries);
    out.into()
}
