//! The one validator of patterns: nothing that passes can later read out of bounds.

use std::ops::Range;

use openwork_ops::structure::Index;
use openwork_ops::structure::keys::Order;
use openwork_ops::with_index;

use crate::base::buffer::Buffer;
use crate::base::error::{self, Result};
use crate::base::parallel;
use crate::levels::level::{Indices, Level};
use crate::levels::pattern::Pattern;

/// Checks index ranges, pointers and lengths of every level, then the claimed order and uniqueness, and
/// fills in `positions`. What is not claimed is found out: flags are only ever raised to what holds.
///
/// Cost: O(bytes of the arrays).
pub(crate) fn pattern(mut p: Pattern) -> Result<Pattern> {
    let claimed: Vec<(bool, bool)> = p.levels.iter().map(|l| (l.is_ordered(), l.is_unique())).collect();
    let mut parents = 1usize;
    let mut dim = 0;
    for (l, level) in p.levels.iter().enumerate() {
        let rank = level.kind().rank();
        let sizes: Vec<usize> = p.dims[dim..dim + rank].iter().map(|d| d.size).collect();
        match level {
            Level::Dense => {
                parents = parents
                    .checked_mul(sizes[0])
                    .ok_or_else(|| error::layout(format!("level {l}: dense levels exceed 2^64 positions")))?;
            }
            Level::Singleton { indices } => {
                length(&format!("indices_{dim}"), indices, parents, "one per parent")?;
                in_range(&format!("indices_{dim}"), indices, sizes[0])?;
            }
            Level::Sparse { pointers, indices, .. } => {
                let count = match pointers {
                    Some(ptr) => {
                        let count = check_pointers(dim, ptr, parents)?;
                        // No array has as many entries: pointers alone could claim any number.
                        let keys = count.checked_mul(8).filter(|&bytes| rank > 0 || Buffer::is_possible(bytes));
                        keys.map(|_| count).ok_or_else(|| {
                            let why = format!("claim {count} positions, more than fit in memory");
                            error::invalid(format!("pointers_to_{dim}"), why)
                        })?
                    }
                    None if parents != 1 || l > 0 => {
                        return Err(error::invalid(
                            format!("pointers_to_{dim}"),
                            format!("missing: level {l} has {parents} parents"),
                        ));
                    }
                    None => match indices.first() {
                        Some(first) => first.len(),
                        None => {
                            return Err(error::invalid(
                                format!("pointers_to_{dim}"),
                                "a level of rank 0 needs pointers",
                            ));
                        }
                    },
                };
                for (i, array) in indices.iter().enumerate() {
                    let name = format!("indices_{}", dim + i);
                    length(&name, array, count, "as many as the pointers say, and as every array of the level has")?;
                    in_range(&name, array, sizes[i])?;
                }
                parents = count;
            }
        }
        dim += rank;
    }
    p.positions = parents;
    for (l, (ordered, unique)) in claimed.into_iter().enumerate() {
        let order = order_to(&p, l);
        let is_unique = match order {
            Order::Strict => true,
            Order::Repeats => false,
            // Not claimed: duplicates are assumed, which costs less than looking.
            Order::Unsorted => unique && distinct(&p, l),
        };
        if let Level::Sparse { ordered: o, unique: u, .. } = &mut p.levels[l] {
            let place = |what: &str| {
                error::invalid(
                    "levels",
                    format!("level {l}: coordinates {what}; sort and sum them first, or give them as unordered COO"),
                )
            };
            if ordered && order == Order::Unsorted {
                return Err(place("are claimed to rise within each segment, but do not"));
            }
            *o = order != Order::Unsorted;
            *u = is_unique;
            let last = l + 1 == p.levels.len();
            let place = |what: &str| error::invalid("levels", format!("level {l}: coordinates {what}"));
            if unique && !is_unique {
                return Err(place("repeat within a segment"));
            }
            if !is_unique && !last {
                return Err(place("repeat, which only the last level's may"));
            }
        }
    }
    Ok(p)
}

/// The pattern cut after level `l`, for looking at its order.
fn prefix(p: &Pattern, l: usize) -> Pattern {
    let levels = p.levels[..=l].to_vec();
    let level_dims = levels.iter().map(|l| l.kind().rank()).sum();
    let positions = if l + 1 == p.levels.len() { p.positions } else { level_positions(&levels, &p.dims) };
    Pattern { dims: p.dims[..level_dims].to_vec(), levels, level_dims, positions }
}

fn level_positions(levels: &[Level], dims: &[crate::levels::pattern::Dim]) -> usize {
    let (mut n, mut dim) = (1, 0);
    for level in levels {
        match level {
            Level::Dense => n *= dims[dim].size,
            Level::Singleton { .. } => {}
            Level::Sparse { pointers: Some(p), .. } => {
                n = p.len().checked_sub(1).map_or(0, |last| p.get(last) - p.get(0))
            }
            Level::Sparse { indices, .. } => n = indices.first().map_or(0, Indices::len),
        }
        dim += level.kind().rank();
    }
    n
}

/// How tuples down to level `l` are ordered within their segments (upper levels have been checked).
fn order_to(p: &Pattern, l: usize) -> Order {
    match &p.levels[l] {
        Level::Sparse { pointers, indices, .. } if indices.len() == 1 => {
            order_of_segments(pointers.as_ref(), &indices[0])
        }
        Level::Sparse { pointers: Some(pointers), indices, .. } if indices.is_empty() => {
            let repeats = with_index!(pointers.as_slice(), p => p.windows(2).any(|w| w[1].get() - w[0].get() > 1));
            if repeats { Order::Repeats } else { Order::Strict }
        }
        Level::Sparse { .. } => {
            let p = prefix(p, l);
            if p.levels[..l].iter().all(Level::is_ordered) { p.order() } else { Order::Unsorted }
        }
        _ => Order::Strict,
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

/// Whether unsorted tuples are distinct: by sorting.
fn distinct(p: &Pattern, l: usize) -> bool {
    let (layout, words) = prefix(p, l).own_keys();
    let sorted = crate::levels::sort::sort_keys(&layout, words);
    openwork_ops::structure::keys::order_of(&sorted.words) == Order::Strict
}

fn length(name: &str, array: &Indices, wanted: usize, why: &str) -> Result<()> {
    if array.len() == wanted {
        return Ok(());
    }
    Err(error::invalid(name, format!("has {} entries, {wanted} are needed ({why})", array.len())))
}

fn in_range(name: &str, array: &Indices, size: usize) -> Result<()> {
    if array.limit() <= size as u64 {
        return Ok(());
    }
    let bad = with_index!(array.as_slice(), s => {
        // One pass without branches; the place is looked for only if there is one.
        let most = parallel::map_chunks(s.len(), 1 << 18, &|r| s[r].iter().copied().max()).into_iter().flatten().max();
        if most.is_none_or(|m| (m as usize) < size) { None } else { s.iter().position(|&i| i as usize >= size).map(|at| (at, s[at].get())) }
    });
    match bad {
        None => Ok(()),
        Some((at, value)) => {
            Err(error::invalid(name, format!("entry {at} is {value}, out of range for an axis of size {size}")))
        }
    }
}

/// Checks pointers and gives the number of entries they span.
fn check_pointers(dim: usize, pointers: &Indices, parents: usize) -> Result<usize> {
    let name = format!("pointers_to_{dim}");
    let wanted = parents.checked_add(1).ok_or_else(|| error::invalid(&*name, "too many parents"))?;
    length(&name, pointers, wanted, "one more than there are parents")?;
    let falls = with_index!(pointers.as_slice(), p => p.windows(2).position(|w| w[0] > w[1]).map(|i| (i, p[i].get(), p[i + 1].get())));
    if let Some((i, a, b)) = falls {
        return Err(error::invalid(name, format!("entries {i} and {} are {a} and {b}: pointers must not fall", i + 1)));
    }
    Ok(pointers.get(parents) - pointers.get(0))
}
