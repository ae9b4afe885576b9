//! Dot products of sparse rows with a vector, in sixteen lanes: lane `i` sums terms `i`, `i + 16`, …, and lanes are added in pairs a
//! half apart. Those of `f32` are summed in `f32` for 192 terms, whose sum is then added in `f64`; a sum that is not finite is made
//! again in `f64` throughout. And the sums of sparse rows times a number each. The same bits come out with gather and
//! scatter instructions and without.
#![allow(unsafe_code)] // gathers and scatters touch what indices point at, once these were compared with the length

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::{Add, Range};

use super::columns::Columns;
use super::eights::{LANES, Lanes};
use super::stencils::{Sides, Stencil};
use super::typed::Typed;
#[cfg(target_arch = "x86_64")]
use super::{alike, loads, stencils};
use crate::simd::Later;
#[cfg(target_arch = "x86_64")]
use crate::simd::{Level, gathers_are_slow, is_far, level, prefetch_stream};

/// Rows for each element beside which most rows are empty.
const MOSTLY: usize = 4;

/// The dot products of rows of which most are empty: of several beside each other that all are, one look says so.
fn dots_of_few<T: Lanes>(left: &Typed<'_, T, u32>, rows: Range<usize>, b: &[T], out: &mut [T]) {
    const BLOCK: usize = 16;
    for (out, first) in out.chunks_mut(BLOCK).zip(rows.step_by(BLOCK)) {
        let ends = &left.pointers[first..=first + out.len()];
        if ends[0] == ends[out.len()] {
            out.fill(T::round(0.0));
            continue;
        }
        for ((out, ends), r) in out.iter_mut().zip(ends.windows(2)).zip(first..) {
            *out = T::round(0.0);
            if ends[0] < ends[1] {
                let (indices, values) = left.row(r);
                *out = T::round(dot(indices, values, b));
            }
        }
    }
}

/// Bytes of a vector that is neither near nor far, and elements of rows that meet such a one: where a gather takes longer than loads
/// one by one, it has more on their way at once, and long rows come sooner by it.
#[cfg(target_arch = "x86_64")]
const BETWEEN: usize = 1 << 19;
#[cfg(target_arch = "x86_64")]
const LONG: usize = 32;

/// The dot product of each of some rows with a vector.
pub(super) fn dots<T: Sides>(
    left: &Typed<'_, T, u32>,
    stencils: &[Stencil],
    rows: Range<usize>,
    b: &[T],
    out: &mut [T],
) {
    let stored = left.start(rows.end) - left.start(rows.start);
    if MOSTLY * stored < rows.len() {
        return dots_of_few(left, rows, b, out);
    }
    #[cfg(target_arch = "x86_64")]
    // Gathers take indices as signed.
    if b.len() <= i32::MAX as usize {
        if !stencils.is_empty() && level() >= Level::Avx2 {
            // SAFETY: the level in use is at most that of the CPU.
            let others = |rows, out: &mut [T]| unsafe { dots256(left, rows, b, out, |_| {}) };
            // SAFETY: as above.
            return unsafe { stencils::dots(left, stencils, rows, b, out, others) };
        }
        let (later, are_slow) = (left.later(&rows, b), gathers_are_slow());
        let is_between = size_of_val(b) > BETWEEN && !is_far(b) && stored > LONG * rows.len();
        // SAFETY: the level in use is at most that of the CPU.
        if are_slow
            && later.is_idle()
            && level() >= Level::Avx2
            && unsafe { alike::dots(left, rows.clone(), b, out, |rows, out| dots256(left, rows, b, out, |_| {})) }
        {
            return;
        }
        match (level(), later.is_idle()) {
            // SAFETY: the level in use is at most that of the CPU.
            (Level::Avx512, true) if !are_slow || is_between => {
                return unsafe { dots512(left, rows, b, out, |_| {}) };
            }
            // SAFETY: as above.
            (Level::Avx512, false) if !are_slow => return unsafe { dots512(left, rows, b, out, asking(later, b)) },
            // SAFETY: as above.
            (Level::Avx2 | Level::Avx512, true) => return unsafe { dots256(left, rows, b, out, |_| {}) },
            // SAFETY: as above.
            (Level::Avx2 | Level::Avx512, false) => return unsafe { dots256(left, rows, b, out, asking(later, b)) },
            (Level::Baseline, _) => {}
        }
    }
    let (mut later, first) = (left.later(&rows, b), left.start(rows.start));
    for (out, r) in out.iter_mut().zip(rows) {
        let (indices, values) = left.row(r);
        later.reach_row(left.start(r) - first, indices.len(), b);
        *out = T::round(dot(indices, values, b));
    }
}

/// Asks for what comes soon after each entry that it is given.
#[cfg(target_arch = "x86_64")]
fn asking<T>(mut later: Later<'_, u32>, b: &[T]) -> impl FnMut(usize) {
    move |at| later.reach(at, b)
}

/// `look` is told how many entries were met, before more are.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn dots512<T: Lanes>(
    left: &Typed<'_, T, u32>,
    rows: Range<usize>,
    b: &[T],
    out: &mut [T],
    mut look: impl FnMut(usize),
) {
    let mut start = left.start(rows.start);
    let first = start;
    for (out, &end) in out.iter_mut().zip(&left.pointers[rows.start + 1..=rows.end]) {
        let end = end as usize - left.base;
        let (indices, values) = (&left.indices[start..end], &left.values[start..end]);
        let met = start - first;
        start = end;
        // An index beyond the vector: the safe loop says so as any slice does.
        *out = T::round(dot512(indices, values, b, |e| look(met + e)).unwrap_or_else(|| dot(indices, values, b)));
    }
}

/// `look` is told how many entries were met, before more are.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn dots256<T: Lanes>(
    left: &Typed<'_, T, u32>,
    rows: Range<usize>,
    b: &[T],
    out: &mut [T],
    mut look: impl FnMut(usize),
) {
    if gathers_are_slow() {
        return loads::dots(left, rows, b, out, look);
    }
    let mut start = left.start(rows.start);
    let first = start;
    for (out, &end) in out.iter_mut().zip(&left.pointers[rows.start + 1..=rows.end]) {
        let end = end as usize - left.base;
        let (indices, values) = (&left.indices[start..end], &left.values[start..end]);
        let met = start - first;
        start = end;
        *out = T::round(dot256(indices, values, b, |e| look(met + e)).unwrap_or_else(|| dot(indices, values, b)));
    }
}

/// Eight of these from place `8 - n` on are a mask of the first `n` of eight lanes.
#[cfg(target_arch = "x86_64")]
static FIRST: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

/// A mask of the first `n` of eight lanes.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn first8(n: usize) -> __m256i {
    // SAFETY: eight of the masks.
    unsafe { _mm256_loadu_si256(FIRST[8 - n.min(8)..][..8].as_ptr().cast()) }
}

/// A mask of the first `n` of four lanes.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) fn first(n: usize) -> __m128i {
    let masks: &[i32; 4] = FIRST[8 - n.min(4)..].first_chunk().unwrap_or(&[0; 4]);
    bytemuck::cast(*masks)
}

/// `None` if an index is not below the length of `b`, or the sum is to be made in `f64`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn dot256<T: Lanes>(indices: &[u32], values: &[T], b: &[T], mut look: impl FnMut(usize)) -> Option<f64> {
    // Lanes without an element have place 0, which an empty vector has not.
    if b.is_empty() {
        return indices.is_empty().then_some(0.0);
    }
    let n = indices.len().min(values.len());
    let last = _mm256_set1_epi32((b.len() - 1) as u32 as i32);
    let is_beyond = |at| _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(at, last), last)) != -1;
    let (mut total, mut start) = (0.0, 0usize);
    loop {
        let end = n.min(start.saturating_add(T::PIECE));
        // SAFETY: here and below, the CPU has AVX2.
        let mut sums = unsafe { [T::none8(), T::none8()] };
        let mut e = start;
        while end - e >= LANES {
            look(e);
            for sums in &mut sums {
                let (k, x) = (indices.as_ptr().wrapping_add(e), values.as_ptr().wrapping_add(e));
                prefetch_stream(k);
                prefetch_stream(x);
                // SAFETY: eight elements from `e` on, below `n`.
                let at = unsafe { _mm256_loadu_si256(k.cast()) };
                if is_beyond(at) {
                    return None;
                }
                // SAFETY: as above; all places are below the length of `b`.
                unsafe { *sums = T::sums8(*sums, T::products8(T::load8(x), T::gather8(at, b))) };
                e += 8;
            }
        }
        look(e);
        for sums in &mut sums {
            let left = (end - e).min(8);
            if left == 0 {
                break;
            }
            let (k, x) = (indices.as_ptr().wrapping_add(e), values.as_ptr().wrapping_add(e));
            let mask = first8(left);
            // SAFETY: lanes in the mask are elements from `e` on, below `n`; others are not read.
            let at = unsafe { _mm256_maskload_epi32(k.cast(), mask) };
            if is_beyond(at) {
                return None;
            }
            // SAFETY: as above; all places in the mask are below the length of `b`.
            unsafe {
                let products = T::products8(T::load_some8(mask, x), T::gather_some8(mask, at, b));
                *sums = T::sums8(*sums, products);
            }
            e += left;
        }
        // SAFETY: as above.
        total += unsafe { T::in_halves8(T::sums8(sums[0], sums[1])) };
        start = end;
        if start == n {
            return is_done::<T>(total).then_some(total);
        }
    }
}

/// `None` if an index is not below the length of `b`, or the sum is to be made in `f64`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn dot512<T: Lanes>(indices: &[u32], values: &[T], b: &[T], mut look: impl FnMut(usize)) -> Option<f64> {
    let n = indices.len().min(values.len());
    if n <= T::PIECE {
        let total = piece512(indices, values, b, &mut look)?;
        return is_done::<T>(total).then_some(total);
    }
    let (mut total, mut start) = (0.0, 0);
    while start < n {
        let own = start..n.min(start + T::PIECE);
        total += piece512(&indices[own.clone()], &values[own.clone()], b, &mut |e| look(start + e))?;
        start = own.end;
    }
    is_done::<T>(total).then_some(total)
}

/// The product of up to [`Lanes::PIECE`] elements; `None` if an index is not below the length of `b`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512vl")]
fn piece512<T: Lanes>(indices: &[u32], values: &[T], b: &[T], look: &mut impl FnMut(usize)) -> Option<f64> {
    let n = indices.len().min(values.len());
    let len = _mm256_set1_epi32(b.len() as u32 as i32);
    // SAFETY: here and below, the CPU has AVX-512 F and VL.
    let mut sums = unsafe { [T::none_wide(), T::none_wide()] };
    let mut e = 0;
    while e < n {
        look(e);
        for sum in &mut sums {
            let mask = if n - e >= 8 { !0 } else { ((1u32 << (n - e)) - 1) as __mmask8 };
            let (k, x) = (indices.as_ptr().wrapping_add(e), values.as_ptr().wrapping_add(e));
            prefetch_stream(k);
            prefetch_stream(x);
            // SAFETY: lanes in the mask are elements from `e` on, below `n`; others are not read.
            let at = unsafe { _mm256_maskz_loadu_epi32(mask, k.cast()) };
            if _mm256_mask_cmpge_epu32_mask(mask, at, len) != 0 {
                return None;
            }
            // SAFETY: as above; all places in the mask are below the length of `b`.
            *sum = unsafe { T::add_some_wide(*sum, mask, x, at, b) };
            e += 8;
            if e >= n {
                break;
            }
        }
    }
    // SAFETY: as above.
    Some(unsafe { T::in_halves_wide(sums) })
}

/// Whether a sum is what it is to be: else it went beyond the range of `f32` on the way, or is not finite in `f64` either.
#[inline(always)]
pub(super) fn is_done<T: Lanes>(total: f64) -> bool {
    T::PIECE == usize::MAX || total.is_finite()
}

/// The same without gathers.
#[inline(always)]
pub(super) fn dot<T: Lanes>(indices: &[u32], values: &[T], b: &[T]) -> f64 {
    let mut total = 0.0;
    if indices.len() <= FEW {
        total += dot_few(indices, values, b).wide();
    } else {
        for (indices, values) in indices.chunks(T::PIECE).zip(values.chunks(T::PIECE)) {
            total += dot_piece(indices, values, b).wide();
        }
    }
    if is_done::<T>(total) {
        return total;
    }
    in_f64(indices.iter().zip(values).map(|(&k, &x)| (x, b[k as usize])))
}

#[inline(always)]
fn dot_piece<T: Lanes>(indices: &[u32], values: &[T], b: &[T]) -> T {
    let mut sums = [T::default(); LANES];
    let ((ks, k_rest), (xs, x_rest)) = (indices.as_chunks::<LANES>(), values.as_chunks::<LANES>());
    for (k, x) in ks.iter().zip(xs) {
        for i in 0..LANES {
            sums[i] = sums[i] + x[i] * b[k[i] as usize];
        }
    }
    for ((sum, &k), &x) in sums.iter_mut().zip(k_rest).zip(x_rest) {
        *sum = *sum + x * b[k as usize];
    }
    added_in_halves(sums)
}

#[inline(always)]
pub(super) fn added_in_halves<S: Copy + Add<Output = S>, const N: usize>(mut lanes: [S; N]) -> S {
    let mut half = N / 2;
    while half > 0 {
        for i in 0..half {
            lanes[i] = lanes[i] + lanes[i + half];
        }
        half /= 2;
    }
    lanes[0]
}

/// The sum of the products of pairs, in `f64` throughout.
#[cold]
#[inline(never)]
pub(super) fn in_f64<T: Lanes>(pairs: impl Iterator<Item = (T, T)>) -> f64 {
    let mut sums = [0.0; LANES];
    for (i, (x, y)) in pairs.enumerate() {
        sums[i % LANES] += x.wide() * y.wide();
    }
    added_in_halves(sums)
}

/// Terms of a row that are written out, a loop for each number of them.
pub(super) const FEW: usize = 8;

/// The same of up to [`FEW`] elements, each loaded by itself: no lane waits in memory for others to be added to it.
#[inline(always)]
fn dot_few<T: Lanes>(indices: &[u32], values: &[T], b: &[T]) -> T {
    match indices.len() {
        0 => T::default(),
        1 => dot_of::<T, 1>(indices, values, b),
        2 => dot_of::<T, 2>(indices, values, b),
        3 => dot_of::<T, 3>(indices, values, b),
        4 => dot_of::<T, 4>(indices, values, b),
        5 => dot_of::<T, 5>(indices, values, b),
        6 => dot_of::<T, 6>(indices, values, b),
        7 => dot_of::<T, 7>(indices, values, b),
        _ => dot_of::<T, FEW>(indices, values, b),
    }
}

#[inline(always)]
fn dot_of<T: Lanes, const N: usize>(indices: &[u32], values: &[T], b: &[T]) -> T {
    // Adding -0.0 changes nothing, which the compiler knows, so lanes without a term cost nothing. A sum that began with 0.0 is never -0.0.
    let mut lanes = [T::round(-0.0); FEW];
    for i in 0..N {
        lanes[i] = values[i] * b[indices[i] as usize];
    }
    added_in_halves(lanes) + T::default()
}

/// Adds row `r` times the first element of row `r` of `factors` to `acc`, for each of some rows: entry `i` of the row to `acc[i]`.
pub(super) fn add_rows<T: Lanes>(left: &Typed<'_, T, u32>, rows: Range<usize>, factors: Columns<'_>, acc: &mut [f64]) {
    #[cfg(target_arch = "x86_64")]
    // Scatters take indices as signed.
    if level() == Level::Avx512 && !gathers_are_slow() && acc.len() <= i32::MAX as usize {
        // SAFETY: the level in use is at most that of the CPU.
        return unsafe { add_rows512(left, rows, factors, acc) };
    }
    let (mut later, first) = (left.later(&rows, acc), left.start(rows.start));
    for r in rows {
        let (indices, values) = left.row(r);
        let factor = factors.values[r * factors.stride];
        if later.is_idle() {
            add_row(indices, values, factor, (acc, 0), |_, _| {});
        } else {
            let met = left.start(r) - first;
            add_row(indices, values, factor, (acc, 0), |e, acc| later.reach(met + e, acc));
        }
    }
}

/// Adds a row to sums, the first of which is that of column `first`. What comes next of the row is asked for: scattered stores keep the
/// CPU from seeing the streams. `look` is told how many entries were met, before more are.
#[inline(always)]
pub(super) fn add_row<T: Lanes>(
    indices: &[u32],
    values: &[T],
    factor: f64,
    (acc, first): (&mut [f64], usize),
    mut look: impl FnMut(usize, &[f64]),
) {
    let ((blocks, indices), (of_blocks, values)) = (indices.as_chunks::<8>(), values.as_chunks::<8>());
    for (e, (indices, values)) in blocks.iter().zip(of_blocks).enumerate() {
        look(8 * e, acc);
        prefetch_stream(indices.as_ptr());
        prefetch_stream(values.as_ptr());
        indices.iter().zip(values).for_each(|(&i, x)| acc[i as usize - first] += x.wide() * factor);
    }
    look(8 * blocks.len(), acc);
    indices.iter().zip(values).for_each(|(&i, x)| acc[i as usize - first] += x.wide() * factor);
}

/// Eight sums are on their way from memory at once, where the plain loop waits for what it stored before.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512vl")]
fn add_rows512<T: Lanes>(left: &Typed<'_, T, u32>, rows: Range<usize>, factors: Columns<'_>, acc: &mut [f64]) {
    let len = _mm256_set1_epi32(acc.len() as u32 as i32);
    for r in rows {
        let (indices, values) = left.row(r);
        let single = factors.values[r * factors.stride];
        let factor = _mm512_set1_pd(single);
        let mut e = 0;
        while e < indices.len() {
            let n = (indices.len() - e).min(8);
            let mask = ((1u32 << n) - 1) as __mmask8;
            prefetch_stream(indices.as_ptr().wrapping_add(e));
            prefetch_stream(values.as_ptr().wrapping_add(e));
            // SAFETY: lanes in the mask are `n` elements from `e` on; others are not read.
            let (at, x) = unsafe {
                let at = _mm256_maskz_loadu_epi32(mask, indices.as_ptr().add(e).cast());
                (at, T::doubles(mask, values[e..e + n].as_ptr()))
            };
            // Lane by lane the index before it, 0 before the first: rising ones differ from each other.
            let before = _mm256_alignr_epi32::<7>(at, _mm256_setzero_si256());
            let falls = _mm256_mask_cmple_epu32_mask(mask & !1, at, before);
            if _mm256_mask_cmpge_epu32_mask(mask, at, len) | falls != 0 {
                add_row(&indices[e..e + n], &values[e..e + n], single, (&mut *acc, 0), |_, _| {});
            } else {
                // SAFETY: all places in the mask are below the length of `acc`, and each is there once.
                unsafe {
                    let sums = _mm512_mask_i32gather_pd::<8>(_mm512_setzero_pd(), mask, at, acc.as_ptr());
                    let sums = _mm512_add_pd(sums, _mm512_mul_pd(x, factor));
                    _mm512_mask_i32scatter_pd::<8>(acc.as_mut_ptr(), mask, at, sums);
                }
            }
            e += n;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::term::Term;
    use super::*;
    use crate::simd::{Level, set_level, set_slow_gathers};

    /// Values whose products and sums round, and others, in rows of 0 to 700; a stretch of a vector.
    fn rows<T: Lanes>(of: impl Fn(u32) -> f64, n: u32) -> (Vec<u32>, Vec<T>, Vec<T>) {
        let b = (0..999).map(|k: u32| T::round(1.0 / f64::from(k.wrapping_mul(0x9e37_79b1) | 1)));
        let indices = (0..n).map(|e| e.wrapping_mul(0x85eb_ca6b) % 999);
        (indices.collect(), (0..n).map(|e| T::round(of(e))).collect(), b.collect())
    }

    #[test]
    fn bits_are_the_same_at_each_level() {
        fn check<T: Sides>(of: impl Fn(u32) -> f64) {
            for n in (0..70).chain([191, 192, 193, 207, 209, 384, 385, 700]) {
                let (indices, values, b) = rows::<T>(&of, n);
                let left = Typed { pointers: &[0, n], base: 0, indices: &indices, values: &values };
                let wanted = T::round(dot(&indices, &values, &b)).wide();
                for level in Level::ALL {
                    for slow in [false, true] {
                        set_level(Some(level));
                        set_slow_gathers(Some(slow));
                        let mut out = [T::round(7.0)];
                        dots(&left, &[], 0..1, &b, &mut out);
                        let found = out[0].wide();
                        let same = found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
                        assert!(same, "{n} at {level:?}: {found}, not {wanted}");
                    }
                }
                set_level(None);
                set_slow_gathers(None);
            }
        }
        let spread = |e: u32| f64::from(e.wrapping_mul(0x85eb_ca6b) as i32) / 1e7;
        check::<f32>(spread);
        check::<f64>(spread);
        check::<f32>(|e| [3e38, -3e38, 7.0][e as usize % 3]);
        check::<f32>(|e| [f64::INFINITY, 1.0, 2.0][e as usize % 3]);
        check::<f64>(|e| if e == 60 { f64::NAN } else { -0.0 });
    }

    /// As near as the law asks, whatever the length; and what is beyond `f32` on the way does no harm.
    #[test]
    fn singles_are_as_near_as_the_law_asks() {
        for n in 1..700 {
            let (indices, values, b) = rows::<f32>(|e| f64::from(e.wrapping_mul(0x85eb_ca6b) as i32) / 1e7, n);
            let terms = indices.iter().zip(&values).map(|(&k, &x)| f64::from(x) * f64::from(b[k as usize]));
            let (exact, magnitudes) = terms.fold((0.0, 0.0), |(sum, all), term| (sum + term, all + term.abs()));
            let off = (f64::from(<f32 as Term>::round(dot(&indices, &values, &b))) - exact).abs();
            let allowed = 2.0 * f64::from(n + 1).log2() * f64::from(f32::EPSILON) / 2.0 * magnitudes;
            assert!(off <= allowed, "{n}: {off}, where {allowed} is allowed");
        }
        let ones = [1.0f32; 64];
        let great: Vec<f32> = (0..64).map(|e| if e < 32 { 3e38 } else { -3e38 }).collect();
        let indices: Vec<u32> = (0..64).collect();
        assert_eq!(dot(&indices, &great, &ones), 0.0);
        assert_eq!(dot(&indices[..2], &great[..2], &ones), 2.0 * f64::from(3e38f32));
    }
}
