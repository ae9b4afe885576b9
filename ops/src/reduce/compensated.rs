//! Sums in double the precision, for `float64` elements that arrive in an order that cannot be paired.
//!
//! Elements that lie together are added pairwise ([`super::ReduceKernels::fold`]); those that are scattered over many
//! accumulators come one by one, and an error of n roundings would show. Each accumulator therefore has a second word
//! that collects what the additions round away (Knuth's two-sum; the scheme is Kahan and Babuška's). Narrower
//! floats need none of this: their `float64` accumulators have bits to spare.

use super::ReduceOp;
use crate::dtype::{DType, Element};

/// Kernels over accumulators `acc` and their corrections `low`, both elements of the accumulator's dtype.
#[derive(Clone, Copy, Debug)]
pub struct Compensated {
    /// Adds `values[i]` to `acc[keys[i]]`, for each `i` in turn.
    pub scatter: fn(values: &[u8], keys: &[u32], acc: &mut [u8], low: &mut [u8]),
    /// Adds `values[i]` to `acc[i]`.
    pub accumulate: fn(values: &[u8], acc: &mut [u8], low: &mut [u8]),
}

impl Compensated {
    /// The kernels for a sum of elements of `input`, if it needs them.
    pub fn of(op: ReduceOp, input: DType) -> Option<Compensated> {
        match (op, input) {
            (ReduceOp::Sum | ReduceOp::Mean, DType::F64) => Some(Compensated { scatter: scatter::<1>, accumulate }),
            (ReduceOp::Sum | ReduceOp::Mean, DType::Complex128) => {
                Some(Compensated { scatter: scatter::<2>, accumulate })
            }
            _ => None,
        }
    }

    /// Adds the corrections to the accumulators, once. A sum that is not finite has none.
    pub fn finish(acc: &mut [u8], low: &[u8]) {
        for (a, &l) in f64::from_bytes_mut(acc).iter_mut().zip(f64::from_bytes(low)) {
            // A correction of 0 would make 0 of −0.
            if l != 0.0 && a.is_finite() {
                *a += l;
            }
        }
    }
}

/// `acc + value`, and what that rounds away.
#[inline(always)]
fn add(acc: &mut f64, low: &mut f64, value: f64) {
    let sum = *acc + value;
    let of_value = sum - *acc;
    *low += (*acc - (sum - of_value)) + (value - of_value);
    *acc = sum;
}

/// Elements of `P` parts each: 1 for reals, 2 for complex numbers.
fn scatter<const P: usize>(values: &[u8], keys: &[u32], acc: &mut [u8], low: &mut [u8]) {
    let (acc, low) = (f64::from_bytes_mut(acc), f64::from_bytes_mut(low));
    for (value, &key) in f64::from_bytes(values).chunks_exact(P).zip(keys) {
        for (part, &v) in value.iter().enumerate() {
            let at = key as usize * P + part;
            add(&mut acc[at], &mut low[at], v);
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
        let (mut acc, mut low) = ([0.0; 2], [0.0; 2]);
        let keys = vec![1u32; values.len()];
        let bytes = bytemuck::cast_slice_mut;
        (kernels.scatter)(f64::as_bytes(&values), &keys, bytes(&mut acc), bytes(&mut low));
        Compensated::finish(bytemuck::cast_slice_mut(&mut acc), bytemuck::cast_slice(&low));
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
