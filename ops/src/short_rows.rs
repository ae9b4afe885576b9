//! Many short rows of keys, each put in order: eight side by side, a lane each, by one network of exchanges for all of them.
//!
//! Which places are compared does not depend on the keys: nothing is guessed, and the compiler makes vectors of each exchange.

use crate::simd::{Level, Loop, level, vectorised};

/// Rows side by side.
const LANES: usize = 8;

/// The longest rows that a network takes, as exchanges grow faster than what a row by itself takes; and where that is sorted by vectors.
const LONGEST: usize = 16;
const LONGEST_BESIDE_VECTORS: usize = 12;

/// Sorts each of the rows of `n` keys.
pub fn sort(keys: &mut [u64], n: usize) {
    let longest = if level() == Level::Avx512 { LONGEST_BESIDE_VECTORS } else { LONGEST };
    if n > longest {
        return keys.chunks_exact_mut(n).for_each(crate::ranking::sort);
    }
    vectorised(Rows { keys, n });
}

/// The places that are compared one after the other, the lesser key going to the first: merge exchange (Batcher, 1968; Knuth, The Art
/// of Computer Programming 3, Algorithm 5.2.2M).
fn exchanges(n: usize) -> Vec<[u8; 2]> {
    let mut found = Vec::new();
    let top = if n < 2 { 0 } else { n.next_power_of_two() / 2 };
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            found.extend((0..n - d).filter(|i| i & p == r).map(|i| [i as u8, (i + d) as u8]));
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
    found
}

struct Rows<'a> {
    keys: &'a mut [u64],
    n: usize,
}

impl Loop for Rows<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Rows { keys, n } = self;
        if n < 2 {
            return;
        }
        let exchanges = exchanges(n);
        let mut lanes = [[0u64; LANES]; LONGEST];
        for keys in keys.chunks_mut(LANES * n) {
            // Of a last block that is not full, lanes hold what was there before.
            turn_in(keys, n, &mut lanes);
            for &[i, j] in &exchanges {
                // Places are below the longest row: the remainder says so to the compiler.
                let [i, j] = [i, j].map(|place| usize::from(place) % LONGEST);
                let (a, b) = (lanes[i], lanes[j]);
                for l in 0..LANES {
                    lanes[i][l] = a[l].min(b[l]);
                    lanes[j][l] = a[l].max(b[l]);
                }
            }
            turn_out(&lanes, n, keys);
        }
    }
}

/// Rows of `n` into a lane each.
#[inline(always)]
fn turn_in(rows: &[u64], n: usize, lanes: &mut [[u64; LANES]; LONGEST]) {
    for (l, row) in rows.chunks_exact(n).enumerate().take(LANES) {
        row.iter().zip(lanes.iter_mut()).for_each(|(&key, lanes)| lanes[l] = key);
    }
}

#[inline(always)]
fn turn_out(lanes: &[[u64; LANES]; LONGEST], n: usize, rows: &mut [u64]) {
    for (l, row) in rows.chunks_exact_mut(n).enumerate().take(LANES) {
        row.iter_mut().zip(lanes).for_each(|(key, lanes)| *key = lanes[l]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::set_level;

    #[test]
    fn rows_of_any_length_are_sorted_at_every_level() {
        for level in Level::ALL {
            set_level(Some(level));
            for n in (1..=LONGEST + 1).chain([70]) {
                for rows in [1, 7, 8, 9, 25] {
                    // Few values, so that many are equal; some are the greatest there is.
                    let keys: Vec<u64> = (0..(n * rows) as u64)
                        .map(|i| match i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60 {
                            15 => u64::MAX,
                            few => few / 2,
                        })
                        .collect();
                    let mut want = keys.clone();
                    want.chunks_mut(n).for_each(|row| row.sort_unstable());
                    let mut found = keys;
                    sort(&mut found, n);
                    assert_eq!(found, want, "{rows} rows of {n}");
                }
            }
        }
        set_level(None);
    }

    /// By the principle of zeros and ones: a network that sorts these sorts all.
    #[test]
    fn exchanges_sort_zeros_and_ones() {
        for n in 0..=14 {
            let exchanges = exchanges(n);
            for bits in 0..1u32 << n {
                let sorted = exchanges.iter().fold(bits, |bits, &[i, j]| {
                    let falls = bits >> i & 1 > bits >> j & 1;
                    if falls { bits ^ (1 << i | 1 << j) } else { bits }
                });
                assert_eq!(sorted, (1 << n) - (1 << (n as u32 - bits.count_ones())), "{bits:b} of {n}");
            }
        }
    }
}
