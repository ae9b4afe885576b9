//! Numbers counted in bins between edges that lie evenly.

use crate::simd::{Loop, vectorised};

/// Numbers whose bins are guessed at a time.
const AT_ONCE: usize = 512;

/// Bins so few that each has several counts, lest a number waits for the one before it.
const FEW: usize = 256;
const WAYS: usize = 4;

/// The sum of this and a number from 0 to 2^31 has the number, rounded, in its low bits.
const ROUNDS: f64 = (1u64 << 52) as f64;

/// Bins between edges that rise in about even steps. Each holds its lower edge, the last both.
pub struct Bins {
    low: f64,
    high: f64,
    scale: f64,
    /// What each bin's numbers are not below, and what they are below; NaN where there is no such limit, and of what is in no bin.
    ends: Vec<[f64; 2]>,
}

impl Bins {
    /// The bins between these edges; `None` of fewer than two edges, of 2^31 bins or more, and where the steps are not normal numbers.
    pub fn new(edges: &[f64]) -> Option<Bins> {
        let (&[low, ..], &[.., high]) = (edges, edges) else { return None };
        let bins = edges.len() - 1;
        let scale = bins as f64 / (high - low);
        if bins == 0 || bins >= 1 << 31 || !scale.is_normal() {
            return None;
        }
        let mut ends: Vec<[f64; 2]> = edges.windows(2).map(|ends| [ends[0], ends[1]]).collect();
        ends[0][0] = f64::NAN;
        ends[bins - 1][1] = f64::NAN;
        ends.push([f64::NAN; 2]);
        Some(Bins { low, high, scale, ends })
    }

    /// How many there are.
    fn count(&self) -> usize {
        self.ends.len() - 1
    }

    /// The bin of a number, as nearly as its distance from the least edge says it; their number of what is in none.
    #[inline(always)]
    fn guess(&self, x: f64) -> u32 {
        let (last, all) = ((self.count() - 1) as f64, self.count() as f64);
        let far = (x - self.low) * self.scale;
        let far = if far < last { far } else { last };
        let rounded = (far + ROUNDS) - ROUNDS;
        let down = if rounded > far { rounded - 1.0 } else { rounded };
        let is_in = (x >= self.low) & (x <= self.high);
        ((if is_in { down } else { all }) + ROUNDS).to_bits() as u32
    }

    /// The bin of a number; `None` of NaN and of what is outside.
    pub fn of(&self, x: f64) -> Option<usize> {
        let guess = self.guess(x) as usize;
        (guess < self.count()).then(|| self.near(guess, x))
    }

    /// The bin of a number near that one.
    #[cold]
    fn near(&self, mut at: usize, x: f64) -> usize {
        while x < self.ends[at][0] {
            at -= 1;
        }
        while x >= self.ends[at][1] {
            at += 1;
        }
        at
    }

    /// How many of the numbers that `pieces` writes, some at a time, are in each bin: it is given the first one's place and room.
    pub fn counts(&self, n: usize, piece: &dyn Fn(usize, &mut [f64])) -> Vec<i64> {
        let ways = if self.count() <= FEW { WAYS } else { 1 };
        let (mut numbers, mut places) = ([0.0; AT_ONCE], [0; AT_ONCE]);
        let mut counts = vec![0i64; ways * self.ends.len()];
        for start in (0..n).step_by(AT_ONCE) {
            let few = AT_ONCE.min(n - start);
            let (numbers, places) = (&mut numbers[..few], &mut places[..few]);
            piece(start, numbers);
            vectorised(Guesses(self, numbers, places));
            for (i, (&x, &place)) in numbers.iter().zip(&*places).enumerate() {
                let mut at = place as usize;
                let [low, high] = self.ends[at];
                if (x < low) | (x >= high) {
                    at = self.near(at, x);
                }
                counts[i % ways * self.ends.len() + at] += 1;
            }
        }
        let (all, others) = counts.split_at_mut(self.ends.len());
        for way in others.chunks_exact(self.ends.len()) {
            all.iter_mut().zip(way).for_each(|(all, own)| *all += own);
        }
        counts.truncate(self.count());
        counts
    }
}

struct Guesses<'a>(&'a Bins, &'a [f64], &'a mut [u32]);

impl Loop for Guesses<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        for (place, &x) in self.2.iter_mut().zip(self.1) {
            *place = self.0.guess(x);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_the_bins_that_their_edges_say() {
        for bins in [1usize, 2, 3, 7, 10, 256, 257, 5000] {
            for (low, high) in [(0.0, 1.0), (-3.0, 0.7), (1e9, 1e9 + 7.0), (-1e300, 1e300), (0.0, 1e-300)] {
                let step = |i: usize| low + (high - low) * (i as f64 / bins as f64);
                let edges: Vec<f64> = (0..bins).map(step).chain([high]).collect();
                let found = Bins::new(&edges).unwrap();
                let near = |x: f64| [x.next_down(), x, x.next_up()];
                let mut numbers: Vec<f64> = edges.iter().flat_map(|&x| near(x)).collect();
                numbers.extend((0..999).map(|i| low + (high - low) * (i as f64 * 0.618).fract()));
                numbers.extend([f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, -0.0]);
                let of = |x: f64| match x {
                    _ if x == high => Some(bins - 1),
                    _ if x >= low && x < high => Some(edges.partition_point(|&edge| edge <= x) - 1),
                    _ => None,
                };
                let mut wanted = vec![0; bins];
                for &x in &numbers {
                    assert_eq!(found.of(x), of(x), "{x} in {bins} of {low} to {high}");
                    of(x).into_iter().for_each(|at| wanted[at] += 1);
                }
                let piece = |start: usize, out: &mut [f64]| out.copy_from_slice(&numbers[start..start + out.len()]);
                assert_eq!(found.counts(numbers.len(), &piece), wanted);
            }
        }
        assert!(Bins::new(&[1.0]).is_none() && Bins::new(&[1.0, 1.0]).is_none() && Bins::new(&[]).is_none());
    }
}
