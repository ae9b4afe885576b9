//! Dot products of sparse rows with a vector for CPUs on which a gather takes longer than loads one by one. Rows go by in blocks of
//! eight, of which the last is made whole by what lies behind the row and counts for nothing: the length of a row decides one branch
//! alone, and a few elements are loaded in vain. Lanes and the order in
//! which they are added are those of [`lanes`](super::lanes), and so are the bits.
#![allow(unsafe_code)] // blocks are read past the ends of rows, and the vector unchecked once eight indices were compared with its length

use std::arch::x86_64::*;
use std::mem::swap;
use std::ops::Range;

use super::eights::Lanes;
use super::lanes::{self, first8, is_done};
use super::typed::Typed;
use crate::simd::prefetch_stream;

/// Elements in a block.
const BLOCK: usize = 8;

/// The dot product of each of some rows with a vector. `look` is told how many entries were met, before more are.
#[target_feature(enable = "avx2")]
pub(super) fn dots<T: Lanes>(
    left: &Typed<'_, T, u32>,
    rows: Range<usize>,
    b: &[T],
    out: &mut [T],
    mut look: impl FnMut(usize),
) {
    let stored = left.indices.len().min(left.values.len());
    let mut start = left.start(rows.start);
    let first = start;
    for (out, &end) in out.iter_mut().zip(&left.pointers[rows.start + 1..=rows.end]) {
        let row = start..end as usize - left.base;
        start = row.end;
        let (n, met) = (row.len(), row.start.wrapping_sub(first));
        let is_stored = row.start <= row.end && row.end <= stored;
        let dot = if is_stored && row.start + n.max(1).next_multiple_of(BLOCK) <= stored {
            let (indices, values) = (&left.indices[row.start..stored], &left.values[row.start..stored]);
            // SAFETY: blocks of as many elements as the row has, and of one at least, end within both.
            unsafe { dot(indices, values, n, b, |e| look(met + e)) }
        } else {
            None
        };
        *out = T::round(dot.unwrap_or_else(|| plain(left, row, b)));
    }
}

/// The last rows, and those with an index beyond the vector: the safe loop says so as any slice does.
#[cold]
#[inline(never)]
fn plain<T: Lanes>(left: &Typed<'_, T, u32>, row: Range<usize>, b: &[T]) -> f64 {
    lanes::dot(&left.indices[row.clone()], &left.values[row], b)
}

/// The product of the first `n` elements; `None` if an index is not below the length of `b`, or the sum is to be made in `f64`.
///
/// # Safety
/// The CPU must have AVX2. Of indices and values there must be blocks that hold `n` elements, and one at least.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn dot<T: Lanes>(indices: &[u32], values: &[T], n: usize, b: &[T], mut look: impl FnMut(usize)) -> Option<f64> {
    let last = _mm256_set1_epi32(b.len().checked_sub(1)? as u32 as i32);
    let (mut total, mut e) = (0.0, 0usize);
    loop {
        let end = n.min(e.saturating_add(T::PIECE));
        // SAFETY: here and below, the CPU has AVX2.
        let (mut sums, mut others) = unsafe { (T::none8(), T::none8()) };
        loop {
            look(e);
            let (k, x) = (indices.as_ptr().wrapping_add(e), values.as_ptr().wrapping_add(e));
            prefetch_stream(k);
            prefetch_stream(x);
            // SAFETY: the caller's promise.
            let at = unsafe { _mm256_loadu_si256(k.cast()) };
            if _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(at, last), last)) != -1 {
                return None;
            }
            // Volatile, or else the compiler makes of these loads the gather that is to be avoided.
            // SAFETY: eight indices that are below the length of `b`.
            let element = |i: usize| unsafe { b.as_ptr().add(*k.add(i) as usize).read_volatile() };
            // SAFETY: as above.
            unsafe {
                let products = T::products8(T::load8(x), T::eight([0, 1, 2, 3, 4, 5, 6, 7].map(element)));
                if e + BLOCK >= end {
                    sums = T::sums8(sums, T::only8(first8(end - e), products));
                    break;
                }
                sums = T::sums8(sums, products);
            }
            swap(&mut sums, &mut others);
            e += BLOCK;
        }
        // Sixteen lanes, each with that eight further; which of the two comes first makes no difference.
        // SAFETY: as above.
        total += unsafe { T::in_halves8(T::sums8(sums, others)) };
        if end == n {
            return is_done::<T>(total).then_some(total);
        }
        e = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matmul::alike::tests::{bits, has_avx2, rows};

    fn same_for<T: Lanes>(of: impl Fn(f64) -> T) {
        let spread = |e: u32| f64::from(e.wrapping_mul(0x85eb_ca6b) as i32) / 1e7;
        let b: Vec<T> = (0..50).map(|k| of(spread(k + 7))).collect();
        let lengths: Vec<u32> = (0..200)
            .map(|r: u32| r.wrapping_mul(0x9e37_79b1) % 41)
            .chain(0..40)
            .chain([191, 192, 193, 400, 577])
            .collect();
        // What lies behind a row must not reach its sum, whatever it is.
        let odd = |e: u32| if e.is_multiple_of(37) { f64::NAN } else { spread(e) };
        let great = |e: u32| [3e38, -3e38, 1e30][e as usize % 3];
        for value in [&spread as &dyn Fn(u32) -> f64, &odd, &great, &|_| -0.0] {
            let (pointers, indices, values) = rows(&lengths, 50, |e| of(value(e)));
            let left = Typed { pointers: &pointers, base: 0, indices: &indices, values: &values };
            let plain = (0..lengths.len()).map(|r| {
                let (indices, values) = left.row(r);
                T::round(lanes::dot(indices, values, &b))
            });
            let (wanted, mut out) = (plain.collect::<Vec<T>>(), vec![T::zeroed(); lengths.len()]);
            let mut met = vec![];
            // SAFETY: the caller has asked.
            unsafe { dots(&left, 0..lengths.len(), &b, &mut out, |e| met.push(e)) };
            assert_eq!(bits(&out), bits(&wanted));
            assert!(met.is_sorted() && met.len() > 500);
            assert!(out.iter().any(|x| x.wide().is_finite()));
        }
    }

    #[test]
    fn as_the_plain_loop() {
        if has_avx2() {
            same_for(|x| x);
            same_for(|x| x as f32);
        }
    }

    #[test]
    fn an_index_outside_is_left_to_the_plain_loop() {
        if !has_avx2() {
            return;
        }
        let mut indices = [3; 24];
        indices[20] = 50;
        let of = |n: usize, len: usize| {
            // SAFETY: three blocks, of which the row has one or more.
            unsafe { dot(&indices, &[1.0; 24], n, &vec![2.0; len], |_| {}) }
        };
        assert_eq!([of(16, 50), of(17, 50), of(24, 50), of(24, 51)], [Some(32.0), None, None, Some(48.0)]);
        assert_eq!(of(0, 0), None);
        // The next row has it: this one is right nevertheless.
        let left = Typed { pointers: &[0, 17, 24], base: 0, indices: &indices, values: &[1.0; 24] };
        let mut out = [0.0];
        // SAFETY: as above.
        unsafe { dots(&left, 0..1, &[2.0; 50], &mut out, |_| {}) };
        assert_eq!(out, [34.0]);
    }
}
