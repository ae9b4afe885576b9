//! Stable sorting of packed keys: a most-significant-digit partition into buckets that fit the cache,
//! then a least-significant-digit radix sort in each bucket. The permutation rides in the low bits of
//! the key, so that one word moves per element.
//!
//! The partition is serial; buckets are independent, and the caller may sort them in parallel.

/// The bucket size aimed at: a bucket and its scratch stay in a level-2 cache.
const BUCKET: usize = 1 << 14;

/// At most this many buckets: more write streams than that thrash the translation buffer.
const MAX_PARTITION_BITS: u32 = 11;

/// Keys after the partition: `(low bits of the key) << index_bits | index`, bucket by bucket.
#[derive(Debug)]
pub struct Partitioned {
    /// The packed words.
    pub packed: Vec<u64>,
    /// Bucket `b` is `packed[offsets[b]..offsets[b + 1]]`.
    pub offsets: Vec<usize>,
    /// Bits of the index in each packed word.
    pub index_bits: u32,
    /// Bits of the key left in each packed word.
    pub key_bits: u32,
}

/// Partitions keys (all below `2^bits`) by their leading bits, or `None` where the rest of a key and
/// its index do not fit 64 bits together (then use [`sort_pairs`]).
pub fn partition(keys: &[u64], bits: u32) -> Option<Partitioned> {
    let index_bits = (usize::BITS - keys.len().leading_zeros()).max(1);
    let wanted = (keys.len() / BUCKET).max(1).ilog2() + 1;
    let must = (bits + index_bits).saturating_sub(64);
    let lead = wanted.max(must).min(MAX_PARTITION_BITS).min(bits);
    let key_bits = bits - lead;
    if key_bits + index_bits > 64 {
        return None;
    }
    let buckets = 1usize << lead;
    let bucket = |key: u64| if lead == 0 { 0 } else { (key >> key_bits) as usize };
    let mut offsets = vec![0usize; buckets + 1];
    for &key in keys {
        offsets[bucket(key) + 1] += 1;
    }
    for b in 0..buckets {
        offsets[b + 1] += offsets[b];
    }
    let mut next = offsets.clone();
    let mut packed = vec![0u64; keys.len()];
    let low = if key_bits == 0 { 0 } else { u64::MAX >> (64 - key_bits) };
    for (i, &key) in keys.iter().enumerate() {
        let slot = &mut next[bucket(key)];
        packed[*slot] = ((key & low) << (index_bits % 64)) | i as u64;
        *slot += 1;
    }
    Some(Partitioned { packed, offsets, index_bits, key_bits })
}

/// Sorts one bucket of packed words by key, stably (the index bits already rise in it).
pub fn sort_bucket(bucket: &mut [u64], index_bits: u32, key_bits: u32) {
    const DIGIT: u32 = 8;
    if bucket.len() < 64 {
        bucket.sort_unstable(); // indices are distinct and rise: the same as stable by key
        return;
    }
    let mut scratch = vec![0u64; bucket.len()];
    let mut in_scratch = false;
    for pass in 0..key_bits.div_ceil(DIGIT) {
        let shift = index_bits + pass * DIGIT;
        let (from, to) = if in_scratch { (&scratch[..], &mut *bucket) } else { (&*bucket, &mut scratch[..]) };
        if radix_pass(from, to, shift) {
            in_scratch = !in_scratch;
        }
    }
    if in_scratch {
        bucket.copy_from_slice(&scratch);
    }
}

/// One counting pass on eight bits; `false` (nothing moved) where all share one digit.
fn radix_pass(from: &[u64], to: &mut [u64], shift: u32) -> bool {
    let digit = |v: u64| ((v >> shift) & 0xff) as usize;
    let mut counts = [0usize; 256];
    for &v in from {
        counts[digit(v)] += 1;
    }
    if from.first().is_none_or(|&v| counts[digit(v)] == from.len()) {
        return false;
    }
    let mut sum = 0;
    for c in &mut counts {
        sum += std::mem::replace(c, sum);
    }
    for &v in from {
        let slot = &mut counts[digit(v)];
        to[*slot] = v;
        *slot += 1;
    }
    true
}

/// The slow road for keys too wide to carry their index: a stable comparison sort.
pub fn sort_pairs(keys: &[u64]) -> Vec<u64> {
    let mut order: Vec<u64> = (0..keys.len() as u64).collect();
    order.sort_by_key(|&i| keys[i as usize]);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(keys: &[u64], bits: u32) -> Vec<u64> {
        match partition(keys, bits) {
            None => sort_pairs(keys),
            Some(mut p) => {
                for b in 0..p.offsets.len() - 1 {
                    sort_bucket(&mut p.packed[p.offsets[b]..p.offsets[b + 1]], p.index_bits, p.key_bits);
                }
                let mask = (1u64 << p.index_bits) - 1;
                p.packed.iter().map(|v| v & mask).collect()
            }
        }
    }

    #[test]
    fn agrees_with_a_stable_comparison_sort() {
        let mut state = 7u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 11
        };
        for (n, bits) in [(0, 5), (1, 0), (50, 3), (1000, 10), (5000, 53), (40_000, 20), (100_000, 6), (300, 64)] {
            let mask = if bits == 64 { u64::MAX } else { (1u64 << bits) - 1 };
            let keys: Vec<u64> = (0..n).map(|_| next().rotate_left(9) & mask).collect();
            assert_eq!(sorted(&keys, bits), sort_pairs(&keys), "{n} keys of {bits} bits");
        }
    }
}
