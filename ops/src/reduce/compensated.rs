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
    /// Adds `values[i]` to `pairs[keys[i]]`, for each `i` in turn: an accumulator with its correction beside it, for each
    /// part of an element, so that one line of the cache holds both.
    pub scatter: fn(values: &[u8], keys: &[u32], pairs: &mut [f64]),
    /// Adds `values[i]` to `acc[i]`, with the correction in `low[i]`; both are of the accumulator's dtype.
    pub accumulate: fn(values: &[u8], acc: &mut [u8], low: &mut [u8]),
    /// Parts of an element: 1 for reals, 2 for complex numbers.
    pub parts: usize,
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

    /// The sums of pairs, as [`Compensated::scatter`] leaves them.
    pub fn finish_pairs(pairs: &[f64], acc: &mut [u8]) {
        for (a, &[sum, low]) in f64::from_bytes_mut(acc).iter_mut().zip(pairs.as_chunks::<2>().0) {
            *a = corrected(sum, low);
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
fn scatter<const P: usize>(values: &[u8], keys: &[u32], pairs: &mut [f64]) {
    let pairs = pairs.as_chunks_mut::<2>().0;
    for (value, &key) in f64::from_bytes(values).as_chunks::<P>().0.iter().zip(keys) {
        for (part, &v) in value.iter().enumerate() {
            let [acc, low] = &mut pairs[key as usize * P + part];
            add(acc, low, v);
        }
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
        let (mut acc, mut pairs) = ([0.0; 2], [0.0; 4]);
        let keys = vec![1u32; values.len()];
        (kernels.scatter)(f64::as_bytes(&values), &keys, &mut pairs);
        Compensated::finish_pairs(&pairs, bytemuck::cast_slice_mut(&mut acc));
        assert_eq!(acc, [0.0, 1001.0]);
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
