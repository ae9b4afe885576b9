//! Stable sorting of packed keys: a most-significant-digit partition into buckets that fit the cache,
//! then a least-significant-digit radix sort in each bucket. The permutation rides in the low bits of
//! the key, so that one word moves per element.
//!
//! The partition is serial; buckets are independent, and the caller may sort them in parallel.

/// The bucket size aimed at: a bucket and its scratch stay in a level-2 cache.
const BUCKET: usize = 1 << 14;

/// At most this many buckets: more write streams than that thrash the translation buffer.
const MAX_PARTITION_BITS: u32 = 11;

/// How keys are cut into buckets and packed with their indices.
#[derive(Clone, Copy, Debug)]
pub struct Packing {
    /// Bits of the index in each packed word.
    pub index_bits: u32,
    /// Bits of the key left in each packed word: all but the leading ones, which the bucket tells.
    pub key_bits: u32,
    /// Number of buckets.
    pub buckets: usize,
}

impl Packing {
    /// A packing for `n` keys below `2^bits`, or `None` where the rest of a key and its index do not fit 64 bits
    /// together (then use [`sort_pairs`]).
    pub fn new(n: usize, bits: u32) -> Option<Packing> {
        let index_bits = (usize::BITS - n.leading_zeros()).max(1);
        let wanted = (n / BUCKET).max(1).ilog2() + 1;
        let must = (bits + index_bits).saturating_sub(64);
        let lead = wanted.max(must).min(MAX_PARTITION_BITS).min(bits);
        let key_bits = bits - lead;
        // An index takes at least a bit, so that the key's part never takes all 64.
        (key_bits + index_bits <= 64).then_some(Packing { index_bits, key_bits, buckets: 1 << lead })
    }

    fn low_mask(self) -> u64 {
        if self.key_bits == 0 { 0 } else { u64::MAX >> (64 - self.key_bits) }
    }

    #[inline(always)]
    fn bucket(self, key: u64) -> usize {
        key.checked_shr(self.key_bits).unwrap_or(0) as usize
    }
}

/// Writes `(low bits of the key) << index_bits | index` for every key, bucket by bucket; gives where the buckets begin and
/// end: bucket `b` is `packed[offsets[b]..offsets[b + 1]]`.
pub fn partition(keys: &[u64], packing: Packing, packed: &mut [u64]) -> Vec<usize> {
    let offsets = bucket_offsets(keys, packing);
    let mut next = offsets.clone();
    let low = packing.low_mask();
    for (i, &key) in keys.iter().enumerate() {
        let slot = &mut next[packing.bucket(key)];
        packed[*slot] = ((key & low) << (packing.index_bits % 64)) | i as u64;
        *slot += 1;
    }
    offsets
}

/// As [`partition`], moving rows of `W` bytes along: row `i` goes where key `i` goes, and the packed words hold that new
/// place for an index. Gathering the sorted rows then stays inside a bucket, that is, inside the cache.
pub fn partition_rows<const W: usize>(
    keys: &[u64],
    rows: &[u8],
    packing: Packing,
    packed: &mut [u64],
    moved: &mut [u8],
) -> Vec<usize> {
    let (rows, _) = rows.as_chunks::<W>();
    let (moved, _) = moved.as_chunks_mut::<W>();
    let offsets = bucket_offsets(keys, packing);
    let mut next = offsets.clone();
    let low = packing.low_mask();
    for (&key, row) in keys.iter().zip(rows) {
        let slot = &mut next[packing.bucket(key)];
        packed[*slot] = ((key & low) << (packing.index_bits % 64)) | *slot as u64;
        moved[*slot] = *row;
        *slot += 1;
    }
    offsets
}

fn bucket_offsets(keys: &[u64], packing: Packing) -> Vec<usize> {
    let mut offsets = vec![0usize; packing.buckets + 1];
    for &key in keys {
        offsets[packing.bucket(key) + 1] += 1;
    }
    for b in 0..packing.buckets {
        offsets[b + 1] += offsets[b];
    }
    offsets
}

/// At most this many bits in one radix pass: the counters and as many write positions fit the first-level cache.
const MAX_DIGIT: u32 = 10;

/// Sorts one bucket of packed words by key, stably (the index bits already rise in it, and so many `settled` ones of the key among
/// words that are alike in the others). `scratch` is reused between calls.
pub fn sort_bucket(bucket: &mut [u64], packing: Packing, settled: u32, scratch: &mut Vec<u64>) {
    if bucket.len() < 64 || bucket.len() > u32::MAX as usize {
        bucket.sort_unstable(); // indices are distinct and rise: the same as stable by key
        return;
    }
    if scratch.len() < bucket.len() {
        scratch.resize(bucket.len(), 0);
    }
    let scratch = &mut scratch[..bucket.len()];
    let bits = packing.key_bits.saturating_sub(settled);
    let passes = bits.div_ceil(MAX_DIGIT);
    let digit = bits.div_ceil(passes.max(1));
    let mut in_scratch = false;
    for pass in 0..passes {
        let shift = packing.index_bits + settled + pass * digit;
        let (from, to) = if in_scratch { (&*scratch, &mut *bucket) } else { (&*bucket, &mut *scratch) };
        if radix_pass::<u64, { 1 << MAX_DIGIT }>(from, to, shift, digit) {
            in_scratch = !in_scratch;
        }
    }
    if in_scratch {
        bucket.copy_from_slice(scratch);
    }
}

/// Words of which some bits are taken as a digit.
pub trait Digits: Copy {
    /// The bits from `shift` on, and more.
    fn shifted(self, shift: u32) -> usize;
}

impl Digits for u32 {
    #[inline(always)]
    fn shifted(self, shift: u32) -> usize {
        (self >> shift) as usize
    }
}

impl Digits for u64 {
    #[inline(always)]
    fn shifted(self, shift: u32) -> usize {
        (self >> shift) as usize
    }
}

/// One counting pass on some bits, which count to `COUNTERS` at most; `false` (nothing moved) where all words share them.
pub(crate) fn radix_pass<T: Digits, const COUNTERS: usize>(from: &[T], to: &mut [T], shift: u32, bits: u32) -> bool {
    let mask = (1usize << bits) - 1;
    let digit = |v: T| v.shifted(shift) & mask & (COUNTERS - 1);
    let mut counts = [0u32; COUNTERS];
    for &v in from {
        counts[digit(v)] += 1;
    }
    if from.first().is_none_or(|&v| counts[digit(v)] as usize == from.len()) {
        return false;
    }
    let mut sum = 0;
    for c in &mut counts[..1 << bits] {
        sum += std::mem::replace(c, sum);
    }
    for &v in from {
        let slot = &mut counts[digit(v)];
        to[*slot as usize] = v;
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

    fn sorted(keys: &[u64], bits: u32, settled: u32) -> Vec<u64> {
        match Packing::new(keys.len(), bits) {
            None => sort_pairs(keys),
            Some(packing) => {
                let mut packed = vec![0; keys.len()];
                let offsets = partition(keys, packing, &mut packed);
                for b in 0..packing.buckets {
                    sort_bucket(&mut packed[offsets[b]..offsets[b + 1]], packing, settled, &mut Vec::new());
                }
                let mask = (1u64 << packing.index_bits) - 1;
                packed.iter().map(|v| v & mask).collect()
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
            assert_eq!(sorted(&keys, bits, 0), sort_pairs(&keys), "{n} keys of {bits} bits");
            for settled in [0, 1, 3, bits / 2, bits].into_iter().filter(|&settled| settled <= bits.min(63)) {
                let mut keys = keys.clone();
                keys.sort_unstable_by_key(|key| key & ((1 << settled) - 1));
                assert_eq!(sorted(&keys, bits, settled), sort_pairs(&keys), "{settled} of {bits} bits settled");
            }
        }
    }
}
