//! Rows with keys, distributed over buckets of keys that stand together: what is done bucket by bucket afterwards stays in the
//! cache. A bucket tells the leading bits of its keys, so that only the others move.

use super::index::Index;
use crate::simd;

/// The size aimed at: a bucket, its like while it is sorted and its rows stay in a second-level cache.
const BUCKET: usize = 1 << 14;

/// At most this many bits lead: more streams that are written to at once thrash the translation buffer.
const MOST: u32 = 11;

/// How keys are cut into buckets.
#[derive(Clone, Copy, Debug)]
pub struct KeyBuckets {
    /// Bits of a key that its bucket does not tell.
    pub low_bits: u32,
    /// Number of buckets.
    pub count: usize,
}

impl KeyBuckets {
    /// For `n` keys below `2^bits`.
    pub fn new(n: usize, bits: u32) -> KeyBuckets {
        let lead = ((n / BUCKET).max(1).ilog2() + 1).min(MOST).min(bits);
        KeyBuckets { low_bits: bits - lead, count: 1 << lead }
    }

    #[inline(always)]
    fn of(self, key: u64) -> usize {
        key.checked_shr(self.low_bits).unwrap_or(0) as usize
    }

    /// The leading bits of the keys of a bucket.
    pub fn lead(self, bucket: usize) -> u64 {
        (bucket as u64).checked_shl(self.low_bits).unwrap_or(0)
    }

    /// Adds to `counts` how many of the keys are in each bucket.
    pub fn count<K: Copy + Into<u64>>(self, keys: &[K], counts: &mut [usize]) {
        for &key in keys {
            counts[self.of(key.into())] += 1;
        }
    }

    /// Puts the low bits of each key, and the row of `W` bytes with it, at the next place of its bucket.
    pub fn distribute<const W: usize, K: Copy + Into<u64>, I: Index>(
        self,
        keys: &[K],
        rows: &[u8],
        next: &mut [usize],
        lows: &mut [I],
        moved: &mut [u8],
    ) {
        let (rows, moved) = (rows.as_chunks::<W>().0, moved.as_chunks_mut::<W>().0);
        let mask = u64::MAX.checked_shr(64 - self.low_bits).unwrap_or(0);
        for (&key, row) in keys.iter().zip(rows) {
            let key = key.into();
            let place = &mut next[self.of(key)];
            lows[*place] = I::new((key & mask) as usize);
            moved[*place] = *row;
            // The lines after these, which the streams of this bucket come to.
            simd::prefetch::<I, 1>(lows, *place + 64 / size_of::<I>());
            simd::prefetch::<[u8; W], 1>(moved, *place + 64 / W);
            *place += 1;
        }
    }
}

/// Numbers the low bits of a bucket's keys from `first` on: `low << bits | number`.
pub fn number<I: Index>(lows: &[I], first: usize, bits: u32, out: &mut [u64]) {
    for ((number, low), out) in (first..).zip(lows).zip(out) {
        *out = (low.get() as u64).checked_shl(bits).unwrap_or(0) | number as u64;
    }
}

/// What sorted words hold: the keys, with what leads them, and the numbers that rode along.
pub fn split(words: &[u64], lead: u64, bits: u32, keys: &mut [u64], numbers: &mut [u32]) {
    let mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
    for ((&word, key), number) in words.iter().zip(keys).zip(numbers) {
        *key = lead | word.checked_shr(bits).unwrap_or(0);
        *number = (word & mask) as u32;
    }
}

/// Runs of more than one key.
#[derive(Clone, Debug, Default)]
pub struct Repeated {
    /// Which runs, of all.
    pub runs: Vec<u32>,
    /// Where the keys of each end, and the next one's begin: one entry more.
    pub ends: Vec<usize>,
    /// The numbers of these keys.
    pub numbers: Vec<u32>,
}

/// Moves the first of each run of equal keys, and its number, to the front, and gives how many runs there are. The numbers of
/// all keys of longer runs come to stand in `repeated`.
pub fn heads(keys: &mut [u64], numbers: &mut [u32], repeated: &mut Repeated) -> usize {
    repeated.runs.clear();
    repeated.numbers.clear();
    repeated.ends.clear();
    repeated.ends.push(0);
    let n = keys.len();
    let any = keys.iter().zip(keys.iter().skip(1)).fold(false, |any, (a, b)| any | (a == b));
    if !any {
        return n;
    }
    let (mut i, mut count) = (0, 0);
    while i < n {
        let (key, number) = (keys[i], numbers[i]);
        let mut end = i + 1;
        while end < n && keys[end] == key {
            end += 1;
        }
        if end - i > 1 {
            repeated.runs.push(count as u32);
            repeated.numbers.extend_from_slice(&numbers[i..end]);
            repeated.ends.push(repeated.numbers.len());
        }
        (keys[count], numbers[count]) = (key, number);
        count += 1;
        i = end;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::sort::{Packing, sort_bucket};

    /// Keys and numbers that went through buckets, against a stable sort.
    #[test]
    fn buckets_in_turn_are_sorted() {
        let mut state = 3u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.rotate_left(17)
        };
        for (n, bits) in [(0, 3), (1, 0), (900, 4), (70_000, 9), (70_000, 20), (50_000, 33), (40_000, 64)] {
            let mask = u64::MAX.checked_shr(64 - bits).unwrap_or(0);
            let keys: Vec<u64> = (0..n).map(|_| next() & mask).collect();
            let rows: Vec<u8> = (0..n as u32).flat_map(u32::to_le_bytes).collect();
            let buckets = KeyBuckets::new(n, bits);
            let mut counts = vec![0; buckets.count];
            buckets.count(&keys, &mut counts);
            let mut places = Vec::new();
            counts.iter().fold(0, |end, c| {
                places.push(end);
                end + c
            });
            let (mut lows, mut moved) = (vec![0u64; n], vec![0; 4 * n]);
            let starts = places.clone();
            buckets.distribute::<4, u64, u64>(&keys, &rows, &mut places, &mut lows, &mut moved);
            let moved: Vec<u32> = bytemuck::pod_collect_to_vec(&moved);
            let mut found = Vec::new();
            for b in 0..buckets.count {
                let own = starts[b]..places[b];
                let index_bits = (usize::BITS - own.len().leading_zeros()).max(1);
                if buckets.low_bits + index_bits > 64 {
                    let mut order: Vec<usize> = own.collect();
                    order.sort_by_key(|&i| lows[i]);
                    found.extend(order.iter().map(|&i| (buckets.lead(b) | lows[i], moved[i])));
                    continue;
                }
                let mut words = vec![0; own.len()];
                number(&lows[own.clone()], 0, index_bits, &mut words);
                let packing = Packing { index_bits, key_bits: buckets.low_bits, buckets: 1 };
                sort_bucket(&mut words, packing, 0, &mut Vec::new());
                let (mut keys, mut numbers) = (vec![0; own.len()], vec![0; own.len()]);
                split(&words, buckets.lead(b), index_bits, &mut keys, &mut numbers);
                found.extend(keys.iter().zip(&numbers).map(|(&k, &i)| (k, moved[own.start + i as usize])));
            }
            let mut want: Vec<(u64, u32)> = keys.iter().copied().zip(0..).collect();
            want.sort_by_key(|pair| pair.0);
            assert!(found == want, "{n} keys of {bits} bits");
        }
    }

    #[test]
    fn runs_have_their_first_and_their_members() {
        let (mut keys, mut numbers) = ([1, 1, 1, 2, 3, 4, 4, 9], [7, 3, 5, 0, 1, 6, 2, 4]);
        let mut repeated = Repeated::default();
        let n = heads(&mut keys, &mut numbers, &mut repeated);
        assert_eq!((&keys[..n], &numbers[..n]), (&[1, 2, 3, 4, 9][..], &[7, 0, 1, 6, 4][..]));
        assert_eq!((repeated.runs, repeated.ends), (vec![0, 3], vec![0, 3, 5]));
        assert_eq!(repeated.numbers, [7, 3, 5, 6, 2]);
        let mut repeated = Repeated::default();
        assert_eq!(heads(&mut [1, 2, 5], &mut [0, 1, 2], &mut repeated), 3);
        assert!(repeated.runs.is_empty() && repeated.ends == [0]);
    }
}
