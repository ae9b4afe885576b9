//! Sums in double the precision, for `float64` elements that arrive in an order that cannot be paired.
//!
//! Elements that lie together are added pairwise ([`super::ReduceKernels::fold`]); those that are scattered over many
//! accumulators come one by one, and an error of n roundings would show. Each accumulator therefore has a second word
//! that collects what the additions round away (Knuth's two-sum; the scheme is Kahan and Babuška's). Narrower
//! floats need none of this: their `float64` accumulators have bits to spare.

use super::ReduceOp;
use crate::dtype::{DType, Element};

/// Kernels over accumulators and their corrections.
#[derive(Clone, Copy, Debug)]
pub struct Compensated {
    /// Adds `values[i]` to entry `keys[i]` of a table, for each `i` in turn.
    pub scatter: fn(values: &[u8], keys: &[u32], table: &mut Table),
    /// Adds `values[i]` to `acc[i]`, with the correction in `low[i]`; both are of the accumulator's dtype.
    pub accumulate: fn(values: &[u8], acc: &mut [u8], low: &mut [u8]),
    /// Parts of an element: 1 for reals, 2 for complex numbers.
    pub parts: usize,
}

/// Sums of elements that come in any order. A few terms of each are added plainly; what they come to is added with its
/// correction. So most entries are one number, read and written, and no sum has more than a few plain roundings.
#[derive(Debug)]
pub struct Table {
    /// Sums of the last few terms, for each part of an entry.
    pub recent: Vec<f64>,
    /// How many terms these have, for each entry.
    pub terms: Vec<u8>,
    /// Sums of all terms before, each with its correction beside it.
    pub pairs: Vec<f64>,
    /// How many terms are a few.
    pub few: u8,
}

impl Table {
    /// How many plain additions a sum of at least `n` terms can bear, `log2(n)` being given: the rounding errors of
    /// `few - 1` additions and two more stay below `2 log2(n + 1)` units of the precision times the sum of magnitudes.
    pub fn few(log2: f64) -> u8 {
        (4.0 * log2 - 8.0).clamp(12.0, 128.0) as u8
    }

    /// The sums, after the last term.
    pub fn finish(&self, acc: &mut [u8]) {
        let pairs = self.pairs.as_chunks::<2>().0;
        for ((a, &recent), &[mut sum, mut low]) in f64::from_bytes_mut(acc).iter_mut().zip(&self.recent).zip(pairs) {
            *a = if sum == 0.0 && low == 0.0 {
                recent
            } else {
                add(&mut sum, &mut low, recent);
                corrected(sum, low)
            };
        }
    }
}

impl Compensated {
    /// The kernels for a sum of elements of `input`, if it needs them.
    pub fn of(op: ReduceOp, input: DType) -> Option<Compensated> {
        match (op, input) {
            (ReduceOp::Sum | ReduceOp::Mean, DType::F64) => {
                Some(Compensated { scatter: scatter::<1>, accumulate, parts: 1 })
            }
            (ReduceOp::Sum | ReduceOp::Mean, DType::Complex128) => {
                Some(Compensated { scatter: scatter::<2>, accumulate, parts: 2 })
            }
            _ => None,
        }
    }

    /// Adds the corrections to the accumulators, once. A sum that is not finite has none.
    pub fn finish(acc: &mut [u8], low: &[u8]) {
        for (a, &l) in f64::from_bytes_mut(acc).iter_mut().zip(f64::from_bytes(low)) {
            *a = corrected(*a, l);
        }
    }
}

fn corrected(sum: f64, low: f64) -> f64 {
    // A correction of 0 would make 0 of −0.
    if low != 0.0 && sum.is_finite() { sum + low } else { sum }
}

/// `acc + value`, and what that rounds away.
#[inline(always)]
fn add(acc: &mut f64, low: &mut f64, value: f64) {
    let sum = *acc + value;
    let of_value = sum - *acc;
    *low += (*acc - (sum - of_value)) + (value - of_value);
    *acc = sum;
}

/// Elements of `P` parts each.
fn scatter<const P: usize>(values: &[u8], keys: &[u32], table: &mut Table) {
    let few = table.few;
    let (recent, terms) = (table.recent.as_chunks_mut::<P>().0, &mut table.terms[..]);
    for (value, &key) in f64::from_bytes(values).as_chunks::<P>().0.iter().zip(keys) {
        let at = key as usize;
        for (sum, v) in recent[at].iter_mut().zip(value) {
            *sum += v;
        }
        terms[at] += 1;
        if terms[at] >= few {
            terms[at] = 0;
            settle(&mut recent[at], &mut table.pairs[2 * P * at..]);
        }
    }
}

/// Moves sums to where they have corrections.
#[cold]
#[inline(never)]
fn settle(recent: &mut [f64], pairs: &mut [f64]) {
    for (sum, [high, low]) in recent.iter_mut().zip(pairs.as_chunks_mut::<2>().0) {
        add(high, low, std::mem::replace(sum, -0.0));
    }
}

fn accumulate(values: &[u8], acc: &mut [u8], low: &mut [u8]) {
    let rows = f64::from_bytes_mut(acc).iter_mut().zip(f64::from_bytes_mut(low));
    for ((a, l), &v) in rows.zip(f64::from_bytes(values)) {
        add(a, l, v);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_terms_survive_a_large_one() {
        let values: Vec<f64> = std::iter::once(1e16).chain(std::iter::repeat_n(1.0, 1001)).chain([-1e16]).collect();
        let kernels = Compensated::of(ReduceOp::Sum, DType::F64).unwrap();
        let mut acc = [1.0; 2];
        let mut table = Table { recent: vec![-0.0; 2], terms: vec![0; 2], pairs: vec![0.0; 4], few: 1 };
        let keys = vec![1u32; values.len()];
        (kernels.scatter)(f64::as_bytes(&values), &keys, &mut table);
        table.finish(bytemuck::cast_slice_mut(&mut acc));
        assert_eq!(acc, [0.0, 1001.0]);
    }

    #[test]
    fn a_few_plain_additions_at_a_time() {
        // Plainly added to 2^53, ones would be lost.
        let n = 1u32 << 16;
        let values: Vec<f64> = std::iter::once(9007199254740992.0).chain((0..n).map(|_| 1.0)).collect();
        let kernels = Compensated::of(ReduceOp::Sum, DType::F64).unwrap();
        let few = Table::few(16.0);
        let mut table = Table { recent: vec![-0.0], terms: vec![0], pairs: vec![0.0; 2], few };
        (kernels.scatter)(f64::as_bytes(&values), &vec![0; values.len()], &mut table);
        let mut acc = [0.0];
        table.finish(bytemuck::cast_slice_mut(&mut acc));
        let off = (acc[0] - 9007199254740992.0 - f64::from(n)).abs();
        assert!(off <= f64::from(few), "{off}");
    }

    #[test]
    fn infinity_stays() {
        let kernels = Compensated::of(ReduceOp::Sum, DType::Complex128).unwrap();
        let (mut acc, mut low) = ([0.0; 2], [0.0; 2]);
        let (a, l): (&mut [u8], &mut [u8]) = (bytemuck::cast_slice_mut(&mut acc), bytemuck::cast_slice_mut(&mut low));
        for value in [[f64::INFINITY, 1.0], [2.0, 2.0]] {
            (kernels.accumulate)(f64::as_bytes(&value), a, l);
        }
        Compensated::finish(a, l);
        assert_eq!(acc, [f64::INFINITY, 3.0]);
    }
}
