//! The sparse level: under every parent a segment of coordinate tuples. Pointers say where segments begin and end; the
//! root, which is one parent, needs none. Rank 0 has pointers alone: its parent repeated.

use crate::base::mapped::Mapped;
use std::ops::Range;

use openwork_ops::structure::Index;
use openwork_ops::structure::keys::{self, Order};
use openwork_ops::with_index;

use super::build::Builder;
use super::indices::Indices;
use super::level::{Above, Kind, Level, LevelOf};
use super::names::{ArrayLen, ArrayName, ArrayRule};
use super::pattern::Dim;
use super::segments::{Bounds, Columns, Segments};
use super::validate::Check;
use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::parallel;

/// A sparse level over its arrays.
pub(super) struct Sparse<'a> {
    pub(super) pointers: Option<&'a Indices>,
    pub(super) indices: &'a [Indices],
    pub(super) ordered: bool,
    pub(super) unique: bool,
}

/// Values without coordinates have nothing below them.
pub(super) fn may_stand(rank: usize, is_last: bool) -> std::result::Result<(), &'static str> {
    if rank == 0 && !is_last { Err("is sparse of rank 0, which only the last level may be") } else { Ok(()) }
}

pub(super) fn array_rules(rank: usize, first: usize, is_root: bool) -> Vec<ArrayRule> {
    let optional = is_root && rank > 0;
    let pointers = ArrayRule { name: ArrayName::Pointers(first), len: ArrayLen::ParentsAndOne, optional };
    let indices = |d| ArrayRule { name: ArrayName::Indices(d), len: ArrayLen::Positions, optional: false };
    std::iter::once(pointers).chain((first..first + rank).map(indices)).collect()
}

pub(super) fn of_arrays<A>(rank: usize, [ordered, unique]: [bool; 2], mut arrays: Vec<A>) -> Option<LevelOf<A>> {
    let before = arrays.len().checked_sub(rank).filter(|&n| n <= 1)?;
    let indices = arrays.split_off(before);
    Some(LevelOf::Sparse { pointers: arrays.pop(), indices, ordered, unique })
}

/// The level of sorted keys: one tuple per change of coordinates, or one per key at the last level.
///
/// # Errors
/// If there are more parents than memory has room for pointers.
pub(super) fn append(builder: &mut Builder<'_>, rank: usize) -> Result<Level> {
    let heads = builder.heads(rank);
    let pointers = if builder.is_root() && rank > 0 { None } else { Some(builder.pointers(heads.as_deref())?) };
    let indices = (builder.dim..builder.dim + rank).mapped(|d| builder.column(d, heads.as_deref()));
    let positions = heads.as_ref().map_or(builder.keys.len(), Vec::len);
    builder.enter(positions, heads);
    Ok(Level::Sparse { pointers, indices, ordered: true, unique: true })
}

impl Sparse<'_> {
    fn segment(&self, parent: usize) -> Range<usize> {
        match self.pointers {
            Some(p) => p.get(parent) - p.get(0)..p.get(parent + 1) - p.get(0),
            None => 0..self.indices.first().map_or(0, Indices::len),
        }
    }

    /// The parent of every position in `range`, as the linear form that `above` gives it.
    fn parents(&self, above: Above<'_>, range: &Range<usize>, out: &mut [u64]) {
        let Some(pointers) = self.pointers.map(Indices::as_slice) else { return out.fill(0) };
        let base = pointers.get(0);
        let parents = pointers.upper_bound(base + range.start) - 1..pointers.lower_bound(base + range.end);
        let mut values = vec![0; parents.len()];
        above(parents.clone(), &mut values);
        with_index!(pointers, p => {
            for (ends, &value) in p[parents.start..=parents.end].windows(2).zip(&values) {
                let start = (ends[0].get() - base).max(range.start) - range.start;
                let end = (ends[1].get() - base).min(range.end) - range.start;
                out[start..end].fill(value);
            }
        });
    }
}

impl<'a> Kind<'a> for Sparse<'a> {
    fn under(&self, parents: Range<usize>, _: &[Dim]) -> (Level, Range<usize>) {
        let positions = match self.pointers {
            Some(p) => p.get(parents.start) - p.get(0)..p.get(parents.end) - p.get(0),
            None if parents.is_empty() => 0..0,
            None => self.segment(parents.start),
        };
        let level = Level::Sparse {
            pointers: self.pointers.map(|p| p.slice(parents.start..parents.end + 1)),
            indices: self.indices.mapped(|i| i.slice(positions.clone())),
            ordered: self.ordered,
            unique: self.unique,
        };
        (level, positions)
    }

    fn locate(&self, parents: Vec<usize>, tuple: &[usize], _: &[Dim]) -> Vec<usize> {
        let mut found = Vec::new();
        for mut range in parents.into_iter().map(|p| self.segment(p)) {
            if !self.ordered {
                found.extend(range.filter(|&p| self.indices.iter().zip(tuple).all(|(a, &w)| a.get(p) == w)));
                continue;
            }
            // Tuples rise: narrow the range by one coordinate after the other.
            for (array, &w) in self.indices.iter().zip(tuple) {
                let part = array.slice(range.clone());
                let (low, high) = with_index!(part.as_slice(), s => (
                    s.partition_point(|&v| (v as usize) < w),
                    s.partition_point(|&v| v as usize <= w),
                ));
                range = range.start + low..range.start + high;
            }
            found.extend(range);
        }
        found
    }

    fn linearize(&self, weights: &[u64], _: &[Dim], above: Option<Above<'_>>, range: Range<usize>, out: &mut [u64]) {
        match above {
            Some(above) => self.parents(above, &range, out),
            None => out.fill(0),
        }
        for (index, &weight) in self.indices.iter().zip(weights) {
            add_scaled(&index.slice(range.clone()), weight, out);
        }
    }

    fn segments<I: Index>(&self) -> Option<Segments<'a, I>> {
        let columns: Columns<'_, I> = match self.indices {
            [only] => Columns::from(&[only.typed()][..]),
            all => all.iter().map(Indices::typed).collect(),
        };
        let bounds = match self.pointers {
            Some(p) => Bounds::Pointers(p.typed()),
            None => Bounds::Whole(columns.first().map_or(0, |c| c.len())),
        };
        Some(Segments { bounds, columns })
    }

    fn check(&self, check: &Check) -> Result<usize> {
        let name = ArrayName::Pointers(check.first);
        let positions = match (self.pointers, self.indices.first()) {
            (Some(pointers), _) => {
                let count = check.pointers(name, pointers)?;
                // No array has as many entries: pointers alone could claim any number.
                let bytes = count.checked_mul(8).filter(|&b| !self.indices.is_empty() || Buffer::is_possible(b));
                if bytes.is_none() {
                    let why = format!("claim {count} positions, more than fit in memory");
                    return Err(check.invalid(name, why));
                }
                count
            }
            (None, _) if check.level > 0 || check.parents != 1 => {
                let why = format!("missing: level {} has {} parents", check.level, check.parents);
                return Err(check.invalid(name, why));
            }
            (None, None) => return Err(check.invalid(name, "missing: a level of rank 0 needs pointers")),
            (None, Some(first)) => first.len(),
        };
        let why = match self.pointers {
            Some(_) => format!("as many as {} say", check.name(name)),
            None => {
                format!("as many as {} has: one coordinate per position", check.name(ArrayName::Indices(check.first)))
            }
        };
        for (i, array) in self.indices.iter().enumerate() {
            let name = ArrayName::Indices(check.first + i);
            check.length(name, array, positions, &why)?;
            check.in_range(name, array)?;
        }
        Ok(positions)
    }

    fn order(&self) -> Option<Order> {
        match (self.pointers, self.indices) {
            (pointers, [only]) => Some(order_of_segments(pointers, only)),
            (Some(pointers), []) => {
                let repeats = with_index!(pointers.as_slice(), p => p.windows(2).any(|w| w[1].get() - w[0].get() > 1));
                Some(if repeats { Order::Repeats } else { Order::Strict })
            }
            (None, columns) => order_of_tuples(columns),
            _ => None,
        }
    }
}

/// How tuples are ordered whose entries stand in columns of one width; `None` where these differ, and where there is none.
fn order_of_tuples(columns: &[Indices]) -> Option<Order> {
    const GRAIN: usize = 1 << 18;
    // Pairs that are looked at column by column, while what was found of them is in the first-level cache.
    const PIECE: usize = 1 << 12;
    fn typed<I: Index>(columns: &[&[I]]) -> Order {
        let pairs = columns.iter().map(|c| c.len()).min().unwrap_or(0).saturating_sub(1);
        let parts = parallel::map_chunks(pairs, GRAIN, &|range| {
            let (mut alike, mut repeats) = ([0u8; PIECE], 0u8);
            for start in range.clone().step_by(PIECE) {
                let end = range.end.min(start + PIECE);
                let alike = &mut alike[..end - start];
                alike.fill(1);
                let mut falls = 0u8;
                for column in columns {
                    let pairs = column[start..end].iter().zip(&column[start + 1..=end]);
                    for (alike, (a, b)) in alike.iter_mut().zip(pairs) {
                        falls |= *alike & u8::from(a > b);
                        *alike &= u8::from(a == b);
                    }
                }
                if falls != 0 {
                    return Order::Unsorted;
                }
                repeats |= alike.iter().fold(0, |any, one| any | one);
            }
            if repeats != 0 { Order::Repeats } else { Order::Strict }
        });
        let any = |order: Order| parts.contains(&order);
        match (any(Order::Unsorted), any(Order::Repeats)) {
            (true, _) => Order::Unsorted,
            (_, true) => Order::Repeats,
            _ => Order::Strict,
        }
    }
    let is_wide = columns.first()?.is_wide();
    if columns.iter().any(|column| column.is_wide() != is_wide) {
        return None;
    }
    Some(match is_wide {
        true => typed::<u64>(&columns.mapped(Indices::typed)),
        false => typed::<u32>(&columns.mapped(Indices::typed)),
    })
}

/// Adds a multiple of each index.
pub(super) fn add_scaled(index: &Indices, weight: u64, out: &mut [u64]) {
    if weight != 0 {
        with_index!(index.as_slice(), s => keys::add_scaled(s, weight, out));
    }
}

/// How the coordinates of each segment are ordered.
///
/// Falls and repeats from each entry to the next are counted without branches, as if all were one segment; those from one
/// segment to the next are taken off again while the entries are in the cache.
fn order_of_segments(pointers: Option<&Indices>, indices: &Indices) -> Order {
    const GRAIN: usize = 1 << 18;
    let pairs = indices.len().saturating_sub(1);
    let parts = with_index!(indices.as_slice(), s => match pointers {
        None => parallel::map_chunks(pairs, GRAIN, &|r| steps(s, r)),
        Some(pointers) => with_index!(pointers.as_slice(), p => {
            parallel::map_chunks(pairs, GRAIN, &|r| {
                let [all, between] = [steps(s, r.clone()), steps_between(s, p, r)];
                [all[0] - between[0], all[1] - between[1]]
            })
        }),
    });
    let [falls, repeats] = parts.into_iter().fold([0, 0], |[f, r], [g, s]| [f + g, r + s]);
    match (falls, repeats) {
        (0, 0) => Order::Strict,
        (0, _) => Order::Repeats,
        _ => Order::Unsorted,
    }
}

/// How many of the entries at `pairs` are greater than the next, and how many are equal to it.
fn steps<I: Index>(s: &[I], pairs: Range<usize>) -> [u64; 2] {
    let (mut falls, mut repeats) = (0, 0);
    // Sums of a few thousand fit the narrow lanes that compare at full speed.
    for start in pairs.clone().step_by(1 << 12) {
        let end = (start + (1 << 12)).min(pairs.end);
        let (mut f, mut r) = (0u32, 0u32);
        for (a, b) in s[start..end].iter().zip(&s[start + 1..=end]) {
            f += u32::from(a > b);
            r += u32::from(a == b);
        }
        (falls, repeats) = (falls + u64::from(f), repeats + u64::from(r));
    }
    [falls, repeats]
}

/// The same where the next entry begins another segment.
fn steps_between<I: Index, P: Index>(s: &[I], pointers: &[P], pairs: Range<usize>) -> [u64; 2] {
    let base = pointers[0].get();
    let start = |p: &P| p.get() - base;
    let first = pointers.partition_point(|p| start(p) <= pairs.start);
    let (mut falls, mut repeats) = (0, 0);
    for w in pointers[first..].windows(2) {
        let at = start(&w[0]);
        if at > pairs.end {
            break;
        }
        let begins = w[0] < w[1]; // and is not empty
        falls += u64::from(begins & (s[at - 1] > s[at]));
        repeats += u64::from(begins & (s[at - 1] == s[at]));
    }
    [falls, repeats]
}
