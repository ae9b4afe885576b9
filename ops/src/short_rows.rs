//! Many short rows of words, each put in order: several side by side, a lane each, by one network of exchanges for all of them.
//!
//! Which places are compared does not depend on the keys: nothing is guessed, and the compiler makes vectors of each exchange.

use crate::simd::{Level, Loop, level, vectorised};
use crate::words::Word;

/// The longest rows of whose keys of 64 bits a network is quicker than what sorts each by itself; and where that is by vectors.
const LONGEST: usize = 16;
const LONGEST_BESIDE_VECTORS: usize = 12;

/// Sorts each of the rows of `n` keys.
pub fn sort(keys: &mut [u64], n: usize) {
    let longest = if level() == Level::Avx512 { LONGEST_BESIDE_VECTORS } else { LONGEST };
    if n > longest {
        return keys.chunks_exact_mut(n).for_each(crate::ranking::sort);
    }
    u64::sort_rows(keys, n);
}

/// Sorts each of the rows of `n` words, `LANES` side by side.
pub(crate) fn network<T: Word, const LANES: usize>(rows: &mut [T], n: usize) {
    vectorised(Rows::<T, LANES> { rows, n });
}

struct Rows<'a, T, const LANES: usize> {
    rows: &'a mut [T],
    n: usize,
}

impl<T: Word, const LANES: usize> Loop for Rows<'_, T, LANES> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Rows { rows, n } = self;
        if n < 2 {
            return;
        }
        // Of a last block that is not full, lanes hold what was there before.
        let mut lanes = vec![[T::zeroed(); LANES]; n];
        for rows in rows.chunks_mut(LANES * n) {
            turn_in(rows, n, &mut lanes);
            exchange(&mut lanes);
            turn_out(&lanes, n, rows);
        }
    }
}

/// Puts each lane in order: merge exchange (Batcher, 1968; Knuth, The Art of Computer Programming 3, Algorithm 5.2.2M).
#[inline(always)]
fn exchange<T: Word, const LANES: usize>(lanes: &mut [[T; LANES]]) {
    let n = lanes.len();
    let top = if n < 2 { 0 } else { n.next_power_of_two() / 2 };
    let mut p = top;
    while p > 0 {
        let (mut q, mut r, mut d) = (top, 0, p);
        loop {
            // Each place that has `r` in bit `p`, with the one `d` behind it: the lesser goes to the first.
            let mut i = r;
            while i + d < n {
                let run = p.min(n - d - i);
                let (first, second) = lanes.split_at_mut(i + d);
                for (a, b) in first[i..][..run].iter_mut().zip(&mut second[..run]) {
                    for l in 0..LANES {
                        (a[l], b[l]) = (a[l].min(b[l]), a[l].max(b[l]));
                    }
                }
                i += 2 * p;
            }
            if q == p {
                break;
            }
            (d, q, r) = (q - p, q / 2, p);
        }
        p /= 2;
    }
}

/// Rows of `n` into a lane each.
#[inline(always)]
fn turn_in<T: Word, const LANES: usize>(rows: &[T], n: usize, lanes: &mut [[T; LANES]]) {
    for (l, row) in rows.chunks_exact(n).enumerate().take(LANES) {
        row.iter().zip(&mut *lanes).for_each(|(&word, lanes)| lanes[l] = word);
    }
}

#[inline(always)]
fn turn_out<T: Word, const LANES: usize>(lanes: &[[T; LANES]], n: usize, rows: &mut [T]) {
    for (l, row) in rows.chunks_exact_mut(n).enumerate().take(LANES) {
        row.iter_mut().zip(lanes).for_each(|(word, lanes)| *word = lanes[l]);
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
            for bits in 0..1u32 << n {
                let mut lanes: Vec<[u32; 1]> = (0..n).map(|i| [bits >> i & 1]).collect();
                exchange(&mut lanes);
                assert!(
                    lanes.is_sorted() && lanes.iter().map(|l| l[0]).sum::<u32>() == bits.count_ones(),
                    "{bits:b} of {n}"
                );
            }
        }
    }
}
