//! Where each position goes in a table.

use std::ops::Range;

use openwork_ops::structure::IndexSlice;

use crate::engine::distribute;
use crate::levels::indices::Indices;
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};

/// Terms of a row, on average, of which those of a part are looked for: they lie together.
const LONG_ROW: usize = 32;

/// Where each position goes in the table.
pub(super) enum Keys<'a> {
    /// As an index array has it.
    Own(&'a Indices),
    /// A linear form over the coordinates.
    Form(&'a Pattern, Vec<u64>),
}

#[derive(Default)]
pub(super) struct Room {
    wide: Vec<u64>,
    narrow: Vec<u32>,
}

impl distribute::Keys for Keys<'_> {
    type Key = u32;
    type Room = Room;

    fn of<'a>(&'a self, range: Range<usize>, room: &'a mut Room) -> &'a [u32] {
        self.read(range, 0, room)
    }
}

impl<'a> Keys<'a> {
    pub(super) fn new(pattern: &'a Pattern, kept: &[Dim]) -> Keys<'a> {
        let of_last: &[Indices] = match pattern.levels.last() {
            Some(Level::Sparse { indices, .. }) => indices,
            Some(Level::Singleton { indices }) => std::slice::from_ref(indices),
            _ => &[],
        };
        if let ([dim], indices) = (kept, of_last)
            && let of_last = &pattern.level_dims()[pattern.level_dims - indices.len()..]
            && let Some(own) = of_last.iter().position(|d| d == dim)
            && !indices[own].is_wide()
        {
            return Keys::Own(&indices[own]);
        }
        let mut weights = vec![0u64; pattern.level_dims];
        let mut step = 1u64;
        for (d, w) in pattern.level_dims().iter().zip(&mut weights).rev() {
            if kept.contains(d) {
                *w = step;
                step = step.wrapping_mul(d.size as u64);
            }
        }
        Keys::Form(pattern, weights)
    }

    /// Those of some positions, less `base`, which is 0 for an array's own.
    pub(super) fn read<'s>(&'s self, range: Range<usize>, base: u32, scratch: &'s mut Room) -> &'s [u32] {
        match self {
            Keys::Own(indices) => match indices.as_slice() {
                IndexSlice::U32(own) => &own[range],
                IndexSlice::U64(_) => &[], // not taken
            },
            Keys::Form(pattern, weights) => {
                let narrow = &mut scratch.narrow;
                narrow.clear();
                narrow.resize(range.len(), base.wrapping_neg());
                if let [Level::Sparse { pointers: None, indices, .. }] = &pattern.levels[..]
                    && indices.iter().all(|column| !column.is_wide())
                {
                    // A key fits, so what is beyond 32 bits on the way does not matter.
                    for (column, &weight) in indices.iter().zip(weights).filter(|(_, weight)| **weight != 0) {
                        let own = &column.typed::<u32>()[range.clone()];
                        narrow.iter_mut().zip(own).for_each(|(key, &i)| {
                            *key = key.wrapping_add(i.wrapping_mul(weight as u32));
                        });
                    }
                    return narrow;
                }
                scratch.wide.resize(range.len(), 0);
                pattern.linearize(weights, range, &mut scratch.wide);
                narrow.iter_mut().zip(&scratch.wide).for_each(|(key, &o)| *key = key.wrapping_add(o as u32));
                narrow
            }
        }
    }

    /// The first column of coordinates that are in its order, and what a step along it adds to a key.
    pub(super) fn leading(&self) -> Option<(&Indices, usize)> {
        let Keys::Form(pattern, weights) = self else { return None };
        let ([Level::Sparse { pointers: None, indices, .. }], true) = (&pattern.levels[..], pattern.is_canonical())
        else {
            return None;
        };
        let (first, &step) = (indices.first()?, weights.first()?);
        (step > 0).then_some((first, step as usize))
    }
}

/// The rows that a table is filled from, if terms lie in rows long enough to look in each for those of a part.
pub(super) fn long_rows<'a>(pattern: &'a Pattern, keys: &Keys<'_>) -> Option<&'a Indices> {
    let Some(Level::Sparse { pointers: Some(pointers), indices, ordered: true, .. }) = pattern.levels.last() else {
        return None;
    };
    let is_long = pattern.positions / LONG_ROW >= pointers.len();
    (indices.len() == 1 && is_long && matches!(keys, Keys::Own(_))).then_some(pointers)
}

/// The least and the greatest key.
pub(super) fn extent(keys: &[u32]) -> [u32; 2] {
    keys.iter().fold([u32::MAX, 0], |[least, greatest], &key| [least.min(key), greatest.max(key)])
}
