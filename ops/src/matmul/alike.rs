//! Dot products of rows that are as short as their neighbours, as those of grids are, for CPUs on which a gather takes longer than
//! loads one by one: how long rows are, and whether their indices are places of the vector, is asked once for eight of them. Lanes
//! and the order in which they are added are those of [`lanes`](super::lanes), and so are the bits.
#![allow(unsafe_code)] // the vector is read unchecked once the greatest index of eight rows was compared with its length

use std::ops::Range;

use super::eights::Lanes;
use super::lanes::{FEW, in_f64, is_done};
use super::typed::Typed;
use crate::simd::prefetch_stream;

/// Rows that are looked at together.
const ROWS: usize = 8;

/// How many groups of rows are looked at to learn whether rows are alike.
const SAMPLES: usize = 16;

/// The dot product of each of some rows with a vector, if two thirds of them are as long as their neighbours; says whether that
/// is so. Where fewer are, it costs more to foresee which than they gain. Rows that differ are left to `others`.
#[target_feature(enable = "avx2")]
pub(super) fn dots<T: Lanes>(
    left: &Typed<'_, T, u32>,
    rows: Range<usize>,
    b: &[T],
    out: &mut [T],
    others: impl Fn(Range<usize>, &mut [T]),
) -> bool {
    let pointers = &left.pointers[rows.start..=rows.end];
    let groups = || pointers.windows(ROWS + 1).step_by(ROWS).filter_map(|ends| ends.first_chunk());
    let step = (rows.len() / ROWS / SAMPLES).max(1);
    let (mut looked, mut alike) = (0, 0);
    for ends in groups().step_by(step) {
        looked += 1;
        alike += usize::from(length(ends).is_some());
    }
    if alike == 0 || 3 * alike < 2 * looked {
        return false;
    }
    let (of_groups, of_rest) = out.as_chunks_mut::<ROWS>();
    let mut row = rows.start;
    for (ends, out) in groups().zip(of_groups) {
        let is_done = length(ends).is_some_and(|n| {
            let (start, end) = (ends[0] as usize - left.base, ends[ROWS] as usize - left.base);
            let (indices, values) = (&left.indices[start..end], &left.values[start..end]);
            match n {
                1 => group::<T, 1>(indices, values, b, out),
                2 => group::<T, 2>(indices, values, b, out),
                3 => group::<T, 3>(indices, values, b, out),
                4 => group::<T, 4>(indices, values, b, out),
                5 => group::<T, 5>(indices, values, b, out),
                6 => group::<T, 6>(indices, values, b, out),
                7 => group::<T, 7>(indices, values, b, out),
                _ => group::<T, FEW>(indices, values, b, out),
            }
        });
        if !is_done {
            others(row..row + ROWS, out);
        }
        row += ROWS;
    }
    others(row..rows.end, of_rest);
    true
}

/// How long rows are that end where the next begins, if all are equally long and short.
#[inline(always)]
fn length(ends: &[u32; ROWS + 1]) -> Option<u32> {
    let n = ends[1].wrapping_sub(ends[0]);
    let differ = (0..ROWS).fold(0, |differ, r| differ | (ends[r + 1].wrapping_sub(ends[r]) ^ n));
    (differ == 0 && (1..=FEW as u32).contains(&n)).then_some(n)
}

/// Rows of `N` elements; false if an index is not below the length of `b`.
#[inline]
#[target_feature(enable = "avx2")]
fn group<T: Lanes, const N: usize>(indices: &[u32], values: &[T], b: &[T], out: &mut [T; ROWS]) -> bool {
    let (rows, _) = indices.as_chunks::<N>();
    let (of_rows, _) = values.as_chunks::<N>();
    let (Some(rows), Some(of_rows)) = (rows.first_chunk::<ROWS>(), of_rows.first_chunk::<ROWS>()) else { return false };
    let (all, of_all) = (rows.as_flattened(), of_rows.as_flattened());
    (0..size_of_val(all)).step_by(64).for_each(|at| prefetch_stream(all.as_ptr().wrapping_byte_add(at)));
    (0..size_of_val(of_all)).step_by(64).for_each(|at| prefetch_stream(of_all.as_ptr().wrapping_byte_add(at)));
    if all.iter().fold(0, |most, &k| most.max(k)) as usize >= b.len() {
        return false;
    }
    for (out, (at, row)) in out.iter_mut().zip(rows.iter().zip(of_rows)) {
        // Volatile, or else the compiler makes of these loads the gather that is to be avoided.
        // SAFETY: the greatest index is below the length of `b`.
        let element =
            |i: usize| if i < N { unsafe { b.as_ptr().add(at[i] as usize).read_volatile() } } else { T::default() };
        let met = [0, 1, 2, 3, 4, 5, 6, 7].map(element);
        // SAFETY: the CPU has AVX2; the row has `N` elements.
        let sum = unsafe { T::dot_few::<N>(row.as_ptr(), met) };
        *out = T::round(if is_done::<T>(sum) { sum } else { in_f64(row.iter().copied().zip(met)) });
    }
    true
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::matmul::lanes;

    /// Rows of these lengths, whose indices come everywhere below `n`, and some values.
    pub(in crate::matmul) fn rows<T: Lanes>(
        lengths: &[u32],
        n: u32,
        value: impl Fn(u32) -> T,
    ) -> (Vec<u32>, Vec<u32>, Vec<T>) {
        let mut pointers = vec![0];
        lengths.iter().for_each(|length| pointers.push(pointers[pointers.len() - 1] + length));
        let stored = 0..pointers[lengths.len()];
        (pointers, stored.clone().map(|e| e.wrapping_mul(0x9e37_79b1) % n).collect(), stored.map(value).collect())
    }

    /// The products by this loop, with what it left to others in turn, if it takes such rows; and by the plain one.
    fn both<T: Lanes>(lengths: &[u32], b: &[T], value: impl Fn(u32) -> T) -> (Option<Vec<T>>, Vec<T>) {
        let (pointers, indices, values) = rows(lengths, b.len() as u32, value);
        let left = Typed { pointers: &pointers, base: 0, indices: &indices, values: &values };
        let plain = |rows: Range<usize>, out: &mut [T]| {
            for (out, r) in out.iter_mut().zip(rows) {
                let (indices, values) = left.row(r);
                *out = T::round(lanes::dot(indices, values, b));
            }
        };
        let mut wanted = vec![T::zeroed(); lengths.len()];
        plain(0..lengths.len(), &mut wanted);
        let mut out = vec![T::zeroed(); lengths.len()];
        // SAFETY: the caller has asked.
        let is_done = unsafe { dots(&left, 0..lengths.len(), b, &mut out, plain) };
        (is_done.then_some(out), wanted)
    }

    pub(in crate::matmul) fn has_avx2() -> bool {
        crate::simd::Level::of_cpu() >= crate::simd::Level::Avx2
    }

    pub(in crate::matmul) fn bits<T: Lanes>(of: &[T]) -> Vec<u64> {
        of.iter().map(|x| x.wide().to_bits()).collect()
    }

    fn same_for<T: Lanes>(of: impl Fn(f64) -> T) {
        let spread = |e: u32| f64::from(e.wrapping_mul(0x85eb_ca6b) as i32) / 1e7;
        let b: Vec<T> = (0..50).map(|k| of(spread(k + 7))).collect();
        let great = |e: u32| [3e38, -3e38, 1e30][e as usize % 3];
        for n in 1..=FEW as u32 {
            // Of eighty rows some are longer or shorter, and three are left over.
            let mut lengths = vec![n; 83];
            (lengths[20], lengths[21]) = (n + 1, n - 1);
            lengths[50] = 40;
            for value in
                [&spread as &dyn Fn(u32) -> f64, &|_| -0.0, &|e| if e % 9 == 0 { f64::INFINITY } else { 1.0 }, &great]
            {
                let (found, wanted) = both(&lengths, &b, |e| of(value(e)));
                assert_eq!(bits(&found.unwrap()), bits(&wanted), "{n}");
            }
        }
        for lengths in [vec![0; 80], vec![9; 80], (0..80).map(|r| r % 5).collect(), vec![3; 7], vec![]] {
            assert!(both(&lengths, &b, |e| of(spread(e))).0.is_none(), "{lengths:?}");
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
    fn an_index_outside_is_left_to_the_others() {
        if !has_avx2() {
            return;
        }
        let (pointers, mut indices, values) = rows(&[7; 64], 50, f64::from);
        indices[100] = 50;
        let left = Typed { pointers: &pointers, base: 0, indices: &indices, values: &values };
        let asked = std::cell::RefCell::new(Vec::new());
        // SAFETY: the CPU has AVX2.
        let is_done =
            unsafe { dots(&left, 0..64, &[1.0; 50], &mut [0.0; 64], |rows, _| asked.borrow_mut().push(rows)) };
        assert!(is_done);
        assert_eq!(asked.into_inner(), [8..16, 64..64]);
    }
}
