//! Keys in order, and the first few of many: see [`crate::order`].

use crate::order::least_rank;

/// Up to so many keys are put where they belong one after the other; and up to so many where vectors could sort them.
const SHORT: usize = 20;
const SHORTER: usize = 4;

/// Sorts keys.
pub fn sort(keys: &mut [u64]) {
    sort_numbered(keys, &mut []);
}

/// Sorts keys and, if there are any, as many numbers with them: those of equal keys rise.
///
/// By vectors where the CPU has AVX-512.
pub fn sort_numbered(keys: &mut [u64], numbers: &mut [u64]) {
    debug_assert!(numbers.is_empty() || numbers.len() == keys.len());
    #[cfg(target_arch = "x86_64")]
    if keys.len() > SHORTER && crate::simd::quicksort::sort(keys, numbers) {
        return;
    }
    if keys.len() <= SHORT && !numbers.is_empty() {
        return insert(keys, numbers);
    }
    if numbers.is_empty() {
        return keys.sort_unstable();
    }
    let mut pairs: Vec<(u64, u64)> = keys.iter().copied().zip(numbers.iter().copied()).collect();
    pairs.sort_unstable();
    for ((key, number), pair) in keys.iter_mut().zip(numbers).zip(pairs) {
        (*key, *number) = pair;
    }
}

fn insert(keys: &mut [u64], numbers: &mut [u64]) {
    for i in 1..keys.len().min(numbers.len()) {
        let own = (keys[i], numbers[i]);
        let mut at = i;
        while at > 0 && (keys[at - 1], numbers[at - 1]) > own {
            (keys[at], numbers[at]) = (keys[at - 1], numbers[at - 1]);
            at -= 1;
        }
        (keys[at], numbers[at]) = own;
    }
}

/// One step of a sort, after which three parts can be sorted for themselves: keys before the first place given are less
/// than those between both, which are equal and whose numbers alone have no order yet, and those are less than what is from
/// the second place on. `None` where there are few keys, or a CPU without AVX-512.
pub fn divide(keys: &mut [u64], numbers: &mut [u64]) -> Option<(usize, usize)> {
    #[cfg(target_arch = "x86_64")]
    return crate::simd::quicksort::divide(keys, numbers);
    #[cfg(not(target_arch = "x86_64"))]
    None
}

/// The key that `k` others are not greater than and come before, in rising order; the keys are left in another order.
///
/// Cost: O(keys): parts that cannot hold it are left alone (Hoare's quickselect), by vectors where the CPU has AVX-512.
///
/// # Panics
/// If there are not more than `k` keys.
pub fn nth(mut keys: &mut [u64], mut k: usize) -> u64 {
    // Keys that are made to be divided badly end in the way that no order of theirs slows down.
    for _ in 0..2 * (usize::BITS - keys.len().leading_zeros()) {
        let Some((below, above)) = divide(keys, &mut []) else { break };
        if k < below {
            keys = &mut keys[..below];
        } else if k < above {
            return keys[k];
        } else {
            (keys, k) = (&mut keys[above..], k - above);
        }
    }
    *keys.select_nth_unstable(k).1
}

/// Keys that are looked at together: candidates are those below the last of the best so far.
const STRETCH: usize = 64;

/// Which keys are the first `limit` in rising order of their ranks, and these ranks, in that order: of equal ones those that come
/// first. The rank of a key is the key with the bits of `flip` changed. `found` is where they are put, whatever was there.
///
/// Cost: O(keys) for a few, whatever their order; O(keys + limit log limit) for many.
pub fn first_few(keys: &[u64], flip: u64, limit: usize, found: &mut Vec<(u64, usize)>) {
    found.clear();
    let Some(last) = limit.checked_sub(1) else { return };
    if limit <= SHORT {
        return fewest(keys, flip, limit, found);
    }
    let mut bar = None;
    let prune = |found: &mut Vec<(u64, usize)>| {
        if found.len() <= limit {
            return None;
        }
        let bar = found.select_nth_unstable(last).1.0;
        found.truncate(limit);
        Some(bar)
    };
    for (i, keys) in keys.chunks(STRETCH).enumerate() {
        if bar.is_some_and(|bar| least_rank(keys, flip) >= bar) {
            continue;
        }
        for (j, &key) in keys.iter().enumerate() {
            let rank = key ^ flip;
            // What equals the last one comes behind it.
            if bar.is_none_or(|bar| rank < bar) {
                found.push((rank, i * STRETCH + j));
            }
        }
        if found.len() >= limit.saturating_mul(2).max(limit.saturating_add(STRETCH)) {
            bar = prune(found);
        }
    }
    prune(found);
    found.sort_unstable();
}

/// The same of so few that each is put where it belongs.
fn fewest(keys: &[u64], flip: u64, limit: usize, found: &mut Vec<(u64, usize)>) {
    for (i, keys) in keys.chunks(STRETCH).enumerate() {
        let is_behind = |last: &(u64, usize)| least_rank(keys, flip) >= last.0;
        if keys.len() == STRETCH && found.len() == limit && found.last().is_some_and(is_behind) {
            continue;
        }
        for (j, &key) in keys.iter().enumerate() {
            let own = (key ^ flip, i * STRETCH + j);
            let is_full = found.len() == limit;
            match found.last_mut() {
                Some(last) if is_full && own.0 >= last.0 => continue,
                Some(last) if is_full => *last = own,
                _ => found.push(own),
            }
            let mut at = found.len() - 1;
            while at > 0 && found[at - 1].0 > own.0 {
                found.swap(at - 1, at);
                at -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys of several kinds, by number: spread, few different ones, rising, falling, all equal, with the greatest of all.
    fn kinds(n: u64) -> [Vec<u64>; 6] {
        let spread = |k: u64| (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (k << 7);
        [
            (0..n).map(spread).collect(),
            (0..n).map(|k| spread(k) % 3).collect(),
            (0..n).collect(),
            (0..n).rev().collect(),
            vec![7; n as usize],
            (0..n).map(|k| if k % 5 < 2 { u64::MAX } else { spread(k) % 50 }).collect(),
        ]
    }

    #[test]
    fn the_nth_is_where_a_sort_has_it() {
        for n in [1, 2, 21, 300, 5000] {
            for keys in kinds(n) {
                let mut sorted = keys.clone();
                sorted.sort_unstable();
                for k in [0, n as usize / 3, n as usize / 2, n as usize - 1] {
                    assert_eq!(nth(&mut keys.clone(), k), sorted[k], "{k} of {n}");
                }
            }
        }
    }

    #[test]
    fn sorts_beside_that_of_the_standard_library() {
        for n in (0..70).chain([127, 128, 129, 130, 191, 255, 256, 257, 300, 1000, 1023, 1024, 1025, 5000, 40_000]) {
            for (kind, keys) in kinds(n).into_iter().enumerate() {
                let mut wanted: Vec<(u64, u64)> = keys.iter().copied().zip(0..).collect();
                wanted.sort_unstable();
                let mut own = keys.clone();
                sort(&mut own);
                assert!(own.iter().eq(wanted.iter().map(|w| &w.0)), "{n} {kind}");
                let (mut own, mut numbers) = (keys.clone(), (0..n).collect::<Vec<u64>>());
                sort_numbered(&mut own, &mut numbers);
                assert!(own.into_iter().zip(numbers).eq(wanted), "{n} {kind}");
                let (mut own, mut numbers) = (keys.clone(), (0..n).collect::<Vec<u64>>());
                if let Some((below, above)) = divide(&mut own, &mut numbers) {
                    assert!(above > below || (below > 0 && below < own.len()), "{n} {kind}");
                    assert!(numbers.iter().zip(&own).all(|(&i, k)| keys[i as usize] == *k), "{n} {kind}");
                    for (before, after) in [(&own[..below], &own[below..]), (&own[..above], &own[above..])] {
                        let (last, first) = (before.iter().max(), after.iter().min());
                        assert!(last.is_none() || first.is_none() || last < first, "{n} {kind}");
                    }
                    assert!(own[below..above].windows(2).all(|w| w[0] == w[1]), "{n} {kind}");
                }
            }
        }
    }

    /// Where samples are the least keys of all, again and again.
    #[test]
    fn keys_that_mislead_samples() {
        for n in [1_000u64, 20_000] {
            let mut keys: Vec<u64> = (0..n).map(|k| k + n).collect();
            for step in [9, 63] {
                let step = n as usize / step;
                (0..n as usize).filter(|i| i % step == step / 2).for_each(|i| keys[i] = i as u64 / 7);
            }
            let mut wanted = keys.clone();
            wanted.sort_unstable();
            sort(&mut keys);
            assert_eq!(keys, wanted);
        }
    }

    #[test]
    fn the_first_few_beside_a_sort() {
        let mut found = vec![(1, 1)];
        for n in [0u64, 1, 63, 64, 65, 1000, 5000] {
            for (i, spread) in [1u64, 3, 50, u64::MAX].into_iter().enumerate() {
                let mut keys: Vec<u64> = (0..n).map(|k| (k + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) % spread).collect();
                for order in 0..3 {
                    match order {
                        1 => keys.sort_unstable(),
                        2 => keys.reverse(),
                        _ => {}
                    }
                    for flip in [0, u64::MAX] {
                        for limit in [0, 1, 10, 20, 64, 700, 6000] {
                            let mut wanted: Vec<(u64, usize)> = keys.iter().map(|k| k ^ flip).zip(0..).collect();
                            wanted.sort_unstable();
                            wanted.truncate(limit);
                            first_few(&keys, flip, limit, &mut found);
                            assert_eq!(found, wanted, "{n} {i} {order} {flip} {limit}");
                        }
                    }
                }
            }
        }
    }
}
