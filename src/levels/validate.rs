//! The one validator of patterns: nothing that passes can later read out of bounds.

use crate::base::mapped::Mapped;
use openwork_ops::structure::Index;
use openwork_ops::structure::keys::{self, Order};
use openwork_ops::with_index;

use super::indices::Indices;
use super::level::Level;
use super::names::ArrayName;
use super::pattern::Pattern;
use super::sort;
use crate::base::error::{self, Error, Result};
use crate::base::parallel;

/// How errors speak of what a caller gave: arrays under the names that the caller wrote.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) name: fn(ArrayName) -> String,
    /// What to do with coordinates that are not in order, or repeat.
    pub(crate) unordered: &'static str,
}

/// Arrays as `Tensor::from_parts` and files have them.
pub(crate) const LEVELS: Given = Given {
    name: |name| name.to_string(),
    unordered: "a last level with `ordered: false` and `unique: false` takes any order, and coalesce() sorts and sums",
};

/// One level to check, with what is known from the levels above it.
pub(super) struct Check {
    given: Given,
    /// Number of the level, and of its first dimension.
    pub(super) level: usize,
    pub(super) first: usize,
    pub(super) parents: usize,
    pub(super) sizes: Vec<usize>,
}

impl Check {
    /// The name of an array in prose.
    pub(super) fn name(&self, name: ArrayName) -> String {
        format!("`{}`", (self.given.name)(name))
    }

    pub(super) fn invalid(&self, name: ArrayName, why: impl std::fmt::Display) -> Error {
        error::invalid((self.given.name)(name), why)
    }

    pub(super) fn length(&self, name: ArrayName, array: &Indices, wanted: usize, why: &str) -> Result<()> {
        if array.len() == wanted {
            return Ok(());
        }
        Err(self.invalid(name, format_args!("has {} entries, {wanted} are needed ({why})", array.len())))
    }

    /// Checks coordinates of the dimension in the name.
    pub(super) fn in_range(&self, name: ArrayName, array: &Indices) -> Result<()> {
        let size = self.sizes[name.dim() - self.first];
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
                let why = format!("entry {at} is {value}, out of range for an axis of size {size}");
                Err(self.invalid(name, why))
            }
        }
    }

    /// The error that tuples fall within a segment or, where `repeats`, are there twice: the first place.
    fn disordered(&self, level: &Level, repeats: bool) -> Error {
        let rank = level.kind().rank();
        let name = if rank == 0 { ArrayName::Pointers(self.first) } else { ArrayName::Indices(self.first + rank - 1) };
        let rule = if repeats {
            "coordinates may not repeat within a segment"
        } else {
            "coordinates have to rise within each segment"
        };
        let place = level.first_fault(self.parents, repeats).unwrap_or_default();
        self.invalid(name, format_args!("{place}{rule}; {}", self.given.unordered))
    }

    /// Checks pointers and gives the number of entries they span.
    pub(super) fn pointers(&self, name: ArrayName, pointers: &Indices) -> Result<usize> {
        let wanted = self.parents.checked_add(1).ok_or_else(|| self.invalid(name, "too many parents"))?;
        self.length(name, pointers, wanted, "one more than there are parents")?;
        let falls = with_index!(pointers.as_slice(), p => p.windows(2).position(|w| w[0] > w[1]).map(|i| (i, p[i].get(), p[i + 1].get())));
        if let Some((i, a, b)) = falls {
            let why = format!("entries {i} and {} are {a} and {b}: pointers must not fall", i + 1);
            return Err(self.invalid(name, why));
        }
        Ok(pointers.get(self.parents) - pointers.get(0))
    }
}

/// Checks index ranges, pointers and lengths of every level, then the claimed order and uniqueness, and
/// fills in `positions`. What is not claimed is found out: flags are only ever raised to what holds.
///
/// Cost: O(bytes of the arrays).
pub(crate) fn pattern(given: Given, mut p: Pattern) -> Result<Pattern> {
    let firsts = p.first_dims();
    let check = |p: &Pattern, level: usize, parents: usize| Check {
        given,
        level,
        first: firsts[level],
        parents,
        sizes: p.dims[firsts[level]..firsts[level] + p.levels[level].kind().rank()].mapped(|d| d.size),
    };
    let mut counts = vec![1];
    for (l, level) in p.levels.iter().enumerate() {
        counts.push(level.check(&check(&p, l, counts[l]))?);
    }
    for l in 0..p.levels.len() {
        let claims = claims(&check(&p, l, counts[l]), &p, counts[l + 1])?;
        for (claim, holds) in p.levels[l].claims_mut().into_iter().flatten().zip(claims) {
            *claim = holds;
        }
    }
    Ok(Pattern { positions: counts[p.levels.len()], ..p })
}

/// Whether tuples down to a level are ordered, and unique, where the levels above are known to be.
fn claims(check: &Check, p: &Pattern, positions: usize) -> Result<[bool; 2]> {
    let level = &p.levels[check.level];
    let order = match level.order() {
        Some(order) => order,
        None if p.levels[..check.level].iter().all(Level::is_ordered) => prefix(p, check.level, positions).order(),
        None => Order::Unsorted,
    };
    let is_unique = match order {
        Order::Strict => true,
        Order::Repeats => false,
        // Not claimed: duplicates are assumed, which costs less than looking.
        Order::Unsorted => level.is_unique() && distinct(&prefix(p, check.level, positions)),
    };
    if level.is_ordered() && order == Order::Unsorted {
        return Err(check.disordered(level, false));
    }
    let is_last = check.level + 1 == p.levels.len();
    if !is_unique && (level.is_unique() || !is_last) {
        return Err(check.disordered(level, true));
    }
    Ok([order != Order::Unsorted, is_unique])
}

/// The pattern cut after a level, for looking at its order.
fn prefix(p: &Pattern, level: usize, positions: usize) -> Pattern {
    let levels = p.levels[..=level].to_vec();
    let level_dims = levels.iter().map(|l| l.kind().rank()).sum();
    Pattern { dims: p.dims[..level_dims].to_vec(), levels, level_dims, positions }
}

/// Whether unsorted tuples are distinct: by sorting.
fn distinct(p: &Pattern) -> bool {
    let (layout, words) = p.own_keys();
    keys::order_of(&sort::sort_keys(&layout, words).words) == Order::Strict
}
