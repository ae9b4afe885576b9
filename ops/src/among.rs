//! Which keys are among some others: see [`crate::order`].

use std::collections::HashSet;

use crate::order::not_above;
use crate::simd::{Loop, vectorised};

/// Keys that others are looked up among.
#[derive(Clone, Debug)]
pub struct Known(Lookup);

#[derive(Clone, Debug)]
enum Lookup {
    /// Each is compared with all of these.
    Few(Vec<u64>),
    /// A bit for each key from the first on, and none for all that follow.
    Table {
        first: u64,
        bits: Vec<u64>,
    },
    /// They rise.
    Many(Vec<u64>),
    Pairs(HashSet<[u64; 2]>),
}

/// Keys that each other key is compared with: among more, a search takes less time.
const FEW: usize = 12;
/// Words that a table may have for each of its keys, and for how many it may have them in any case.
const SPARSE: usize = 16;
const LEAST: usize = 32;
/// Keys that are looked up side by side.
const TOGETHER: usize = 32;

impl Known {
    /// Of keys that rise.
    pub fn of(keys: Vec<u64>) -> Known {
        let (Some(&first), Some(&last)) = (keys.first(), keys.last()) else { return Known(Lookup::Few(keys)) };
        let words = (last - first) / 64 + 1;
        Known(if words <= (SPARSE * keys.len().max(LEAST)) as u64 {
            let mut bits = vec![0; words as usize + 1];
            for key in keys {
                let place = key - first;
                bits[(place / 64) as usize] |= 1 << (place % 64);
            }
            Lookup::Table { first, bits }
        } else if keys.len() <= FEW {
            Lookup::Few(keys)
        } else {
            Lookup::Many(keys)
        })
    }

    /// Of pairs of keys.
    pub fn of_pairs<'a>(pairs: impl Iterator<Item = &'a [u64; 2]>) -> Known {
        Known(Lookup::Pairs(pairs.copied().collect()))
    }

    /// Writes of each key, or of each pair of keys, whether it is one of these. There are as many as places to write to.
    pub fn look_up(&self, keys: &[u64], found: &mut [bool]) {
        match &self.0 {
            Lookup::Pairs(known) => {
                found.iter_mut().zip(keys.as_chunks().0).for_each(|(found, pair)| *found = known.contains(pair));
            }
            Lookup::Few(known) => vectorised(Compared { known, keys, found }),
            Lookup::Table { first, bits } if bits.len() == 2 => {
                vectorised(OneWord { first: *first, bits: bits[0], keys, found });
            }
            Lookup::Table { first, bits } => {
                let last = bits.len() - 1;
                for (found, key) in found.iter_mut().zip(keys) {
                    let place = key.wrapping_sub(*first);
                    // No branch, which many keys would take now and then.
                    *found = bits[last.min((place / 64) as usize)] >> (place % 64) & 1 == 1;
                }
            }
            Lookup::Many(known) => {
                let mut ends = [0; TOGETHER];
                for (keys, found) in keys.chunks(TOGETHER).zip(found.chunks_mut(TOGETHER)) {
                    let ends = &mut ends[..keys.len()];
                    not_above(known, keys, ends);
                    for ((found, key), &end) in found.iter_mut().zip(keys).zip(&*ends) {
                        *found = end > 0 && known[end as usize - 1] == *key;
                    }
                }
            }
        }
    }
}

/// A table of one word.
struct OneWord<'a> {
    first: u64,
    bits: u64,
    keys: &'a [u64],
    found: &'a mut [bool],
}

impl Loop for OneWord<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (found, key) in self.found.iter_mut().zip(self.keys) {
            let place = key.wrapping_sub(self.first);
            *found = (place < 64) & (self.bits >> (place % 64) & 1 == 1);
        }
    }
}

/// Keys that are compared with all of some.
struct Compared<'a> {
    known: &'a [u64],
    keys: &'a [u64],
    found: &'a mut [bool],
}

impl Loop for Compared<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (keys, found) in self.keys.chunks(TOGETHER).zip(self.found.chunks_mut(TOGETHER)) {
            let mut some = [0; TOGETHER];
            some[..keys.len()].copy_from_slice(keys);
            // The difference to the one that is nearest in bits: no branch, and words of the width of keys.
            let mut least = [u64::MAX; TOGETHER];
            for &known in self.known {
                for i in 0..TOGETHER {
                    least[i] = least[i].min(some[i] ^ known);
                }
            }
            found.iter_mut().zip(least).for_each(|(found, least)| *found = least == 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_finds_what_is_there_and_nothing_else() {
        let mixed = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let beside = |known: &[u64]| {
            let near = known.iter().flat_map(|&k| [k, k.wrapping_sub(1), k.wrapping_add(1), k.wrapping_add(64)]);
            near.chain([0, 63, 64, 1 << 40, u64::MAX - 1, u64::MAX]).chain((0..500).map(mixed)).collect::<Vec<_>>()
        };
        let ways: [(&str, Vec<u64>); 8] = [
            ("few", vec![]),
            ("table", vec![7]),
            ("table", (100..200).step_by(3).collect()),
            ("table", vec![u64::MAX - 200, u64::MAX]),
            ("few", (0..FEW as u64).map(mixed).collect()),
            ("few", vec![0, u64::MAX]),
            ("many", (0..=FEW as u64).map(mixed).collect()),
            ("many", (0..1000).map(mixed).collect()),
        ];
        for (way, mut known) in ways {
            known.sort_unstable();
            let all = Known::of(known.clone());
            let own = match all.0 {
                Lookup::Few(_) => "few",
                Lookup::Table { .. } => "table",
                Lookup::Many(_) => "many",
                Lookup::Pairs(_) => "pairs",
            };
            assert_eq!(own, way, "{known:?}");
            let keys = beside(&known);
            let wanted: Vec<bool> = keys.iter().map(|key| known.contains(key)).collect();
            for n in [0, 1, TOGETHER - 1, TOGETHER + 1, keys.len()] {
                let mut found = vec![true; n.min(keys.len())];
                all.look_up(&keys[..found.len()], &mut found);
                assert_eq!(found, wanted[..found.len()], "{way}, {n}");
            }
        }
        let pairs = Known::of_pairs([[1, 2], [3, 4]].iter());
        let mut found = [true; 4];
        pairs.look_up(&[3, 4, 1, 2, 2, 3, 1, 4], &mut found);
        assert_eq!(found, [true, true, false, false]);
    }
}
