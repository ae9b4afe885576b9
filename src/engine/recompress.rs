//! Sorted coordinates and listed rows to compressed rows of all: pointers alone are made, the rest is shared.

use std::sync::Arc;

use openwork_ops::structure::Index;
use openwork_ops::with_index;

use crate::levels::build;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::{Level, LevelKind};
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::Sparse;

/// A canonical tensor with a pointer for each row, where its levels are over the same dimensions in that order; `None` for anything
/// else, and where rows are many beside what is stored.
///
/// Cost: O(rows + coordinates of rows).
pub(super) fn recompressed(s: &Sparse, kinds: &[LevelKind], dims: &[Dim]) -> Option<Sparse> {
    let (from, Some((last, above))) = (&*s.pattern, kinds.split_last()) else { return None };
    let is_compressed = *last == LevelKind::Sparse { rank: 1 } && above.iter().all(|&kind| kind == LevelKind::Dense);
    if !is_compressed || above.is_empty() || from.dims != dims || from.level_dims != kinds.len() {
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
        [Level::Sparse { pointers: None, indices: listed, .. }, Level::Sparse { pointers: Some(own), indices, .. }] => {
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
        _ => return None,
    };
    let level =
        Level::Sparse { pointers: Some(pointers), indices: vec![of_width(columns)?], ordered: true, unique: true };
    let mut levels = vec![Level::Dense; above.len()];
    levels.push(level);
    let pattern = Pattern { levels, ..from.clone() };
    Some(Sparse { pattern: Arc::new(pattern), ..s.clone() })
}
