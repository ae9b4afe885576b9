//! Coordinates in order, cut where the first of their columns change: columns are read as they lie, and no keys are made of them.

use openwork_ops::structure::Index;
use openwork_ops::with_index;

use super::cut::Split;
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::levels::indices::{Indices, needs_64_bits};
use crate::levels::level::Level;

/// Positions of a task.
const TASK: usize = 1 << 16;
/// Positions that are looked at column by column: what is found of them stays in the first-level cache.
const PIECE: usize = 1 << 12;

/// Runs of positions that have the same first coordinates.
pub(super) struct Leading {
    /// Where each run begins, and the end of the last.
    pub(super) ends: Scratch<usize>,
    /// The coordinates of each.
    pub(super) columns: Vec<Indices>,
}

/// Of coordinates that are in order, all of the same width, by those that are kept; `None` of others.
pub(super) fn leading(split: &Split<'_>) -> Option<Leading> {
    let ([Level::Sparse { pointers: None, indices, .. }], true) = (&split.pattern.levels[..], split.in_order()) else {
        return None;
    };
    let (positions, kept) = (split.pattern.positions, indices.get(..split.dims.len())?);
    let is_wide = kept.first().filter(|_| positions > 0)?.is_wide();
    if kept.iter().any(|column| column.is_wide() != is_wide) {
        return None;
    }
    // As wide as arrays are that are made of these.
    let wide = needs_64_bits(positions, split.dims.iter().map(|d| d.size));
    with_index!(kept[0].as_slice(), first => {
        let columns = kept.mapped(|column| of_width(first, column));
        Some(if wide { cut::<_, u64>(&columns, positions) } else { cut::<_, u32>(&columns, positions) })
    })
}

/// A column of the width that another has.
fn of_width<'a, I: Index>(_: &[I], column: &'a Indices) -> &'a [I] {
    column.typed()
}

fn cut<I: Index, O: Index>(columns: &[&[I]], positions: usize) -> Leading {
    let counts = parallel::map_chunks(positions, TASK, &|range| {
        let mut count = 0;
        each_piece(columns, range, &mut |_, begins| {
            count += begins.iter().map(|&b| u32::from(b)).sum::<u32>() as usize
        });
        count
    });
    let runs: usize = counts.iter().sum();
    let mut ends = Scratch::<usize>::any(runs + 1);
    ends[runs] = positions;
    let mut out: Vec<Scratch<O>> = columns.mapped(|_| Scratch::any(runs));
    let mut parts = Vec::with_capacity(counts.len());
    let (mut rest, mut rests) = (&mut ends[..runs], out.iter_mut().map(|column| &mut column[..]).collect::<Vec<_>>());
    for &count in &counts {
        let own;
        (own, rest) = std::mem::take(&mut rest).split_at_mut(count);
        let own_columns = rests.iter_mut().map(|column| {
            let own;
            (own, *column) = std::mem::take(column).split_at_mut(count);
            own
        });
        parts.push((own, own_columns.collect::<Vec<_>>()));
    }
    parallel::for_each(parts, &|task, (ends, mut out)| {
        let (mut places, mut done) = ([0u32; PIECE + 1], 0);
        each_piece(columns, task * TASK..positions.min((task + 1) * TASK), &mut |start, begins| {
            let mut n = 0;
            for (i, &begins) in begins.iter().enumerate() {
                // Each is written, and the next one over it if no run begins there: a branch would be a guess.
                places[n] = i as u32;
                n += usize::from(begins);
            }
            let places = &places[..n];
            ends[done..done + n].iter_mut().zip(places).for_each(|(end, &i)| *end = start + i as usize);
            for (out, column) in out.iter_mut().zip(columns) {
                let own = &column[start..start + begins.len()];
                out[done..done + n].iter_mut().zip(places).for_each(|(o, &i)| *o = O::new(own[i as usize].get()));
            }
            done += n;
        });
    });
    Leading { ends, columns: out.into_iter().map(Indices::from).collect() }
}

/// Of some positions, a piece at a time: where it starts, and whether a run begins at each.
fn each_piece<I: Index>(columns: &[&[I]], range: std::ops::Range<usize>, each: &mut dyn FnMut(usize, &[u8])) {
    let mut begins = [0u8; PIECE];
    for start in range.clone().step_by(PIECE) {
        let end = range.end.min(start + PIECE);
        let begins = &mut begins[..end - start];
        // The first of all has none before it.
        let skip = usize::from(start == 0);
        begins.fill(0);
        begins[..skip].fill(1);
        let looked = if faults::is(Fault::RunsOfFirst) { &columns[..1] } else { columns };
        for column in looked {
            let pairs = column[start + skip..end].iter().zip(&column[start + skip - 1..end - 1]);
            begins[skip..].iter_mut().zip(pairs).for_each(|(begins, (a, before))| *begins |= u8::from(a != before));
        }
        each(start, begins);
    }
}
