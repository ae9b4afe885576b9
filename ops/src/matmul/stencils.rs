//! Rows that have one stencil: the columns of the first say all. Those of grids and of bands have the columns of the row before, each
//! plus one; those of blocks, and of several unknowns at each node, the same columns. Where such rows are known, a product with a vector
//! reads half as much of `f32`, and two thirds of `f64`, and multiplies a few rows side by side. Lanes and the order in which they are added are those of [`lanes`](super::lanes), and so are
//! the bits.
#![allow(unsafe_code)] // the vector is read unchecked once the greatest column of all rows was compared with its length

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::ops::Range;

#[cfg(target_arch = "x86_64")]
use super::eights::Lanes;
#[cfg(target_arch = "x86_64")]
use super::typed::Typed;
#[cfg(target_arch = "x86_64")]
use super::{
    eights::LANES,
    lanes::{first, first8, in_f64, is_done},
};
use crate::simd::{Level, level};
#[cfg(target_arch = "x86_64")]
use crate::simd::{prefetch, prefetch_stream};

/// A stretch of rows that have one stencil: they are as long as each other, and the columns of each are those of the row before, each plus
/// one, or the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stencil {
    /// The first row.
    row: usize,
    /// Where its entries begin.
    entry: u32,
    /// How many rows there are.
    count: u32,
    /// Entries of a row.
    length: u32,
    /// How much greater than in the row before each column is: 0 or 1.
    step: u32,
}

/// Rows that are worth a note, by their step.
const LEAST: [u32; 2] = [2, 8];
/// Entries of such a row at most, if columns move: of longer ones a gather costs less than it costs to put values side by side.
const LONGEST: usize = 32;
/// Entries of such a row at least, if they do not: of shorter ones it costs as much to read the columns again.
const SHORTEST: usize = 9;
/// Rows that are looked at, one after the other, and in how many places, to learn whether all are to be looked at.
const SAMPLE: usize = 64;
const SAMPLES: usize = 16;

impl Stencil {
    /// Whether it pays to look for such rows on this CPU.
    pub fn is_of_use() -> bool {
        cfg!(target_arch = "x86_64") && level() >= Level::Avx2
    }

    /// All such rows of compressed ones; none where they hold less than two thirds of what is stored.
    ///
    /// Cost: a pass over the columns, or a look at some of them.
    pub fn all(pointers: &[u32], indices: &[u32]) -> Vec<Stencil> {
        let rows = Columns { pointers, base: pointers.first().map_or(0, |&first| first as usize), indices };
        let n = pointers.len().saturating_sub(1);
        let step = (n / SAMPLES).max(SAMPLE);
        let some = |start: usize| start..(start + SAMPLE).min(n);
        let (mut of_some, mut all_of_some) = (0, 0);
        for start in (0..n).step_by(step) {
            found(rows, some(start), |s| of_some += s.entries());
            all_of_some += rows.start(some(start).end) - rows.start(start);
        }
        let mut all = Vec::new();
        if 3 * of_some >= 2 * all_of_some {
            found(rows, 0..n, |s| all.push(s));
        }
        let held: usize = all.iter().map(|s| s.entries()).sum();
        if 3 * held < 2 * indices.len() {
            all.clear();
        }
        all.shrink_to_fit();
        all
    }

    fn entries(&self) -> usize {
        self.count as usize * self.length as usize
    }
}

/// The columns of compressed rows.
#[derive(Clone, Copy)]
struct Columns<'a> {
    pointers: &'a [u32],
    base: usize,
    indices: &'a [u32],
}

impl Columns<'_> {
    fn start(&self, r: usize) -> usize {
        self.pointers[r] as usize - self.base
    }
}

/// Gives each stretch of such rows among some.
fn found(rows: Columns<'_>, some: Range<usize>, mut each: impl FnMut(Stencil)) {
    let columns = |r: usize| &rows.indices[rows.start(r)..rows.start(r + 1)];
    let (mut first, mut step) = (some.start, None);
    for r in some.start + 1..=some.end {
        let own = columns(first);
        let next = if r < some.end { step_between(columns(r - 1), columns(r)) } else { None };
        if next.is_some() && (step.is_none() || step == next) {
            step = next;
            continue;
        }
        let count = (r - first) as u32;
        if let Some(step) = step.take()
            && count >= LEAST[step as usize]
        {
            each(Stencil { row: first, entry: rows.start(first) as u32, count, length: own.len() as u32, step });
        }
        first = r;
    }
}

/// How much greater than in a row before columns are, if that is the same of all, and 0 or 1.
fn step_between(before: &[u32], now: &[u32]) -> Option<u32> {
    let step = now.first()?.wrapping_sub(*before.first()?);
    let may_be = match step {
        0 => before.len() >= SHORTEST,
        1 => before.len() <= LONGEST,
        _ => false,
    };
    let is_same = |all, (&b, &n): (&u32, &u32)| all & (b.wrapping_add(step) == n);
    (may_be && before.len() == now.len() && before.iter().zip(now).fold(true, is_same)).then_some(step)
}

/// The dot product of each of some rows with a vector: of rows that are known to have one stencil, and by `others` of all others.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
pub(super) fn dots<T: Sides>(
    left: &Typed<'_, T, u32>,
    stencils: &[Stencil],
    rows: Range<usize>,
    b: &[T],
    out: &mut [T],
    others: impl Fn(Range<usize>, &mut [T]),
) {
    let known = stencils.partition_point(|s| s.row + s.count as usize <= rows.start);
    let (mut row, mut out, mut met) = (rows.start, out, Vec::new());
    for (i, s) in stencils.iter().enumerate().skip(known) {
        if let Some(next) = stencils.get(i + AHEAD) {
            prefetch::<u32, { BEFORE + LONGEST }>(left.indices, (next.entry as usize).saturating_sub(BEFORE));
        }
        let own = s.row.max(row)..(s.row + s.count as usize).min(rows.end);
        if own.start >= rows.end {
            break;
        }
        if own.len() < LEAST[s.step as usize].min(T::ROWS as u32) as usize
            || !is_as_known(left, s, own.clone(), b.len())
        {
            continue;
        }
        let (before, rest) = std::mem::take(&mut out).split_at_mut(own.start - row);
        if !before.is_empty() {
            others(row..own.start, before);
        }
        let (part, rest) = rest.split_at_mut(own.len());
        let (indices, values) =
            (&left.indices[s.entry as usize..][..s.length as usize], &left.values[left.start(own.start)..]);
        let shift = own.start - s.row;
        match indices.len() {
            _ if s.step == 0 => same_columns(indices, values, b, &mut met, part),
            1 => stretch::<T, 1>(indices, shift, values, b, part),
            2 => stretch::<T, 2>(indices, shift, values, b, part),
            3 => stretch::<T, 3>(indices, shift, values, b, part),
            4 => stretch::<T, 4>(indices, shift, values, b, part),
            5 => stretch::<T, 5>(indices, shift, values, b, part),
            6 => stretch::<T, 6>(indices, shift, values, b, part),
            7 => stretch::<T, 7>(indices, shift, values, b, part),
            8 => stretch::<T, 8>(indices, shift, values, b, part),
            9 => stretch::<T, 9>(indices, shift, values, b, part),
            _ => stretch::<T, ANY>(indices, shift, values, b, part),
        }
        (row, out) = (own.end, rest);
    }
    others(row..rows.end, out);
}

/// Whether these rows are where they were when they were found, and all of what they meet is below `len`.
#[cfg(target_arch = "x86_64")]
fn is_as_known<T: Lanes>(left: &Typed<'_, T, u32>, s: &Stencil, own: Range<usize>, len: usize) -> bool {
    let pointers = &left.pointers[own.start..=own.end];
    let lengths = pointers[1..].iter().zip(pointers).map(|(end, start)| end.wrapping_sub(*start));
    let is_even = lengths.fold(0, |differ, length| differ | (length ^ s.length)) == 0;
    let is_there = left.start(own.start) == s.entry as usize + (own.start - s.row) * s.length as usize;
    let greatest = left.indices[s.entry as usize..][..s.length as usize].iter().fold(0, |most, &k| most.max(k));
    is_even && is_there && greatest as usize + (own.end - s.row - 1) * (s.step as usize) < len
}

/// Bytes of values that are asked for beyond what is soon read: rows go by faster here than elsewhere.
#[cfg(target_arch = "x86_64")]
const SOON: usize = 1 << 11;
/// Stretches whose first columns are asked for ahead: they lie far from each other.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 2;
/// Columns before them that are asked for as well: those of a few rows at the ends of lines, which are read one by one.
#[cfg(target_arch = "x86_64")]
const BEFORE: usize = 16;
/// Stands for any number of entries.
#[cfg(target_arch = "x86_64")]
const ANY: usize = 0;

/// [`Sides::ROWS`] rows or more of `N` entries, whose columns are `indices`, each plus `shift` in the first row.
///
/// The greatest column of the last row must be below the length of `b`: [`is_as_known`] says so.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn stretch<T: Sides, const N: usize>(indices: &[u32], shift: usize, values: &[T], b: &[T], out: &mut [T]) {
    let n = if N == ANY { indices.len() } else { N };
    let (indices, values) = (&indices[..n], &values[..out.len() * n]);
    let last = out.len() - T::ROWS;
    let mut row = 0;
    loop {
        let of_rows = &values[row * n..(row + T::ROWS) * n];
        (0..size_of_val(of_rows))
            .step_by(64)
            .for_each(|at| prefetch_stream(of_rows.as_ptr().wrapping_byte_add(at + SOON)));
        // The sums of four lanes, those of all rows side by side: they hold what a row alone holds in these lanes. Written out, as
        // what is called four times would not be compiled for each number of entries.
        macro_rules! lanes {
            ($first:literal) => {{
                // SAFETY: here and below, the CPU has AVX2.
                let mut sums = unsafe { [T::no_side(); 4] };
                let mut k = $first;
                while k < n {
                    let here = (n - k).min(4);
                    // SAFETY: each row has as many elements from `k` on.
                    let sides = unsafe { T::columns(of_rows.as_ptr().add(k), n, here) };
                    for i in 0..here {
                        let at = indices[k + i] as usize + shift + row;
                        // SAFETY: the greatest column of the last row is below the length of `b`, and so are these.
                        sums[i] = unsafe { T::add_products(sums[i], sides[i], b.as_ptr().add(at)) };
                    }
                    k += LANES;
                }
                sums
            }};
        }
        // Lanes without an element are 0, which no sum of others is changed by.
        let mut sums = lanes!(0);
        if n > 8 {
            sums = added::<T>(sums, lanes!(8));
        }
        if n > 4 {
            let mut other = lanes!(4);
            if n > 12 {
                other = added::<T>(other, lanes!(12));
            }
            sums = added::<T>(sums, other);
        }
        let part = &mut out[row..row + T::ROWS];
        // SAFETY: there is room for as many.
        let are_done = unsafe {
            let two = [T::add_sides(sums[0], sums[2]), T::add_sides(sums[1], sums[3])];
            T::store(T::add_sides(two[0], two[1]), part.as_mut_ptr())
        };
        if !are_done {
            for (r, (out, values)) in part.iter_mut().zip(of_rows.chunks_exact(n)).enumerate() {
                if !is_done::<T>(out.wide()) {
                    let met = indices.iter().map(|&k| b[k as usize + shift + row + r]);
                    *out = T::round(in_f64(values.iter().copied().zip(met)));
                }
            }
        }
        if row == last {
            break;
        }
        // The last rows may be among those before, and come out the same.
        row = (row + T::ROWS).min(last);
    }
}

/// Rows that all have the columns `indices`, which are below the length of `b`: [`is_as_known`] says so. What they meet in the
/// vector is put side by side once, in `met`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn same_columns<T: Lanes>(indices: &[u32], values: &[T], b: &[T], met: &mut Vec<T>, out: &mut [T]) {
    met.clear();
    met.extend(indices.iter().map(|&k| b[k as usize]));
    // One row after the other, and nothing asked for: one stream the CPU foresees best by itself.
    for (out, values) in out.iter_mut().zip(values.chunks_exact(met.len())) {
        *out = row_of_same(met, values);
    }
}

/// The product of a row with what its columns meet.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn row_of_same<T: Lanes>(met: &[T], values: &[T]) -> T {
    let mut total = 0.0;
    for (met, values) in met.chunks(T::PIECE).zip(values.chunks(T::PIECE)) {
        // SAFETY: here and below, the CPU has AVX2.
        let mut sums = unsafe { [T::none8(), T::none8()] };
        let (whole, rest) = met.as_chunks::<LANES>();
        let (of_whole, of_rest) = values.as_chunks::<LANES>();
        for (x, v) in whole.iter().zip(of_whole) {
            for (lanes, sum) in sums.iter_mut().enumerate() {
                let (x, v) = (x[8 * lanes..].as_ptr(), v[8 * lanes..].as_ptr());
                // SAFETY: there are sixteen elements in both.
                unsafe { *sum = T::sums8(*sum, T::products8(T::load8(v), T::load8(x))) };
            }
        }
        // Lanes without an element are 0, which no sum of others is changed by.
        for ((sum, v), x) in sums.iter_mut().zip(of_rest.chunks(8)).zip(rest.chunks(8)) {
            let mask = first8(v.len());
            // SAFETY: there are as many elements as in the mask.
            unsafe {
                *sum = T::sums8(*sum, T::products8(T::load_some8(mask, v.as_ptr()), T::load_some8(mask, x.as_ptr())));
            }
        }
        // SAFETY: as above.
        total += unsafe { T::in_halves8(T::sums8(sums[0], sums[1])) };
    }
    T::round(if is_done::<T>(total) { total } else { in_f64(values.iter().copied().zip(met.iter().copied())) })
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn added<T: Sides>(a: [T::Side; 4], b: [T::Side; 4]) -> [T::Side; 4] {
    // SAFETY: the CPU has AVX2.
    unsafe { [T::add_sides(a[0], b[0]), T::add_sides(a[1], b[1]), T::add_sides(a[2], b[2]), T::add_sides(a[3], b[3])] }
}

/// A float of which columns of several rows lie side by side in a register.
pub(super) trait Sides: Lanes {
    /// Rows that are multiplied side by side, and a number of each.
    #[cfg(target_arch = "x86_64")]
    const ROWS: usize;
    #[cfg(target_arch = "x86_64")]
    type Side: Copy;

    /// Zeros.
    ///
    /// # Safety
    /// This and all below: the CPU must have AVX2.
    #[cfg(target_arch = "x86_64")]
    unsafe fn no_side() -> Self::Side;
    #[cfg(target_arch = "x86_64")]
    unsafe fn add_sides(a: Self::Side, b: Self::Side) -> Self::Side;
    /// `sums` with the products of a side and of elements that lie beside each other.
    ///
    /// # Safety
    /// They must be readable.
    #[cfg(target_arch = "x86_64")]
    unsafe fn add_products(sums: Self::Side, side: Self::Side, from: *const Self) -> Self::Side;
    /// The first `n` elements, of up to four, of rows that are `apart` from each other.
    ///
    /// # Safety
    /// They must be readable.
    #[cfg(target_arch = "x86_64")]
    unsafe fn columns(rows: *const Self, apart: usize, n: usize) -> [Self::Side; 4];
    /// Writes sums; says whether they are what they are to be, as [`is_done`].
    ///
    /// # Safety
    /// There must be room.
    #[cfg(target_arch = "x86_64")]
    unsafe fn store(sums: Self::Side, to: *mut Self) -> bool;
}

impl Sides for f64 {
    #[cfg(target_arch = "x86_64")]
    const ROWS: usize = 4;
    #[cfg(target_arch = "x86_64")]
    type Side = __m256d;

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn no_side() -> __m256d {
        _mm256_setzero_pd()
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add_sides(a: __m256d, b: __m256d) -> __m256d {
        _mm256_add_pd(a, b)
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add_products(sums: __m256d, side: __m256d, from: *const f64) -> __m256d {
        // SAFETY: the caller's promise.
        _mm256_add_pd(sums, _mm256_mul_pd(side, unsafe { _mm256_loadu_pd(from) }))
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn columns(rows: *const f64, apart: usize, n: usize) -> [__m256d; 4] {
        let mask = _mm256_cvtepi32_epi64(first(n));
        // SAFETY: the caller's promise.
        let of = |r: usize| unsafe { _mm256_maskload_pd(rows.add(r * apart), mask) };
        transposed([of(0), of(1), of(2), of(3)])
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store(sums: __m256d, to: *mut f64) -> bool {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_pd(to, sums) };
        true
    }
}

impl Sides for f32 {
    #[cfg(target_arch = "x86_64")]
    const ROWS: usize = 8;
    #[cfg(target_arch = "x86_64")]
    type Side = __m256;

    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn no_side() -> __m256 {
        _mm256_setzero_ps()
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add_sides(a: __m256, b: __m256) -> __m256 {
        _mm256_add_ps(a, b)
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn add_products(sums: __m256, side: __m256, from: *const f32) -> __m256 {
        // SAFETY: the caller's promise.
        _mm256_add_ps(sums, _mm256_mul_ps(side, unsafe { _mm256_loadu_ps(from) }))
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn columns(rows: *const f32, apart: usize, n: usize) -> [__m256; 4] {
        let mask = first(n);
        // SAFETY: the caller's promise.
        let of = |r: usize| unsafe {
            if n == 4 { _mm_loadu_ps(rows.add(r * apart)) } else { _mm_maskload_ps(rows.add(r * apart), mask) }
        };
        // Four rows in the low half, four in the high one.
        let two = |r: usize| _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(of(r)), of(r + 4));
        let rows = [two(0), two(1), two(2), two(3)];
        let low = [_mm256_unpacklo_ps(rows[0], rows[1]), _mm256_unpacklo_ps(rows[2], rows[3])];
        let high = [_mm256_unpackhi_ps(rows[0], rows[1]), _mm256_unpackhi_ps(rows[2], rows[3])];
        [
            _mm256_shuffle_ps::<0b01_00_01_00>(low[0], low[1]),
            _mm256_shuffle_ps::<0b11_10_11_10>(low[0], low[1]),
            _mm256_shuffle_ps::<0b01_00_01_00>(high[0], high[1]),
            _mm256_shuffle_ps::<0b11_10_11_10>(high[0], high[1]),
        ]
    }
    #[cfg(target_arch = "x86_64")]
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn store(sums: __m256, to: *mut f32) -> bool {
        // SAFETY: the caller's promise.
        unsafe { _mm256_storeu_ps(to, sums) };
        // What is not finite less itself is not a number.
        let rest = _mm256_sub_ps(sums, sums);
        _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(rest, rest)) == 0
    }
}

/// The elements of four rows, those of a column side by side.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn transposed(rows: [__m256d; 4]) -> [__m256d; 4] {
    let low = [_mm256_unpacklo_pd(rows[0], rows[1]), _mm256_unpacklo_pd(rows[2], rows[3])];
    let high = [_mm256_unpackhi_pd(rows[0], rows[1]), _mm256_unpackhi_pd(rows[2], rows[3])];
    [
        _mm256_permute2f128_pd::<0x20>(low[0], low[1]),
        _mm256_permute2f128_pd::<0x20>(high[0], high[1]),
        _mm256_permute2f128_pd::<0x31>(low[0], low[1]),
        _mm256_permute2f128_pd::<0x31>(high[0], high[1]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of these first columns, then of each plus one, as often as is said.
    fn rows(stretches: &[(&[u32], u32)]) -> (Vec<u32>, Vec<u32>) {
        let (mut pointers, mut indices) = (vec![5], Vec::new());
        for (first, count) in stretches {
            for row in 0..*count {
                indices.extend(first.iter().map(|k| k + row));
                pointers.push(5 + indices.len() as u32);
            }
        }
        (pointers, indices)
    }

    #[test]
    fn stretches_of_rows_are_found() {
        let of = |row, entry, count, length| Stencil { row, entry, count, length, step: 1 };
        let (pointers, indices) =
            rows(&[(&[3, 4, 9], 20), (&[0], 7), (&[], 9), (&[0, 1], 30), (&[31, 32], 2), (&[2], 8)]);
        assert_eq!(Stencil::all(&pointers, &indices), [of(0, 0, 20, 3), of(36, 67, 30, 2), of(68, 131, 8, 1)]);
        let long: Vec<u32> = (0..=LONGEST as u32).collect();
        let (pointers, indices) = rows(&[(&long, 100), (&long[1..], 7)]);
        assert_eq!(Stencil::all(&pointers, &indices), []);
        let (pointers, indices) = rows(&[(&long[1..], 100)]);
        assert_eq!(Stencil::all(&pointers, &indices), [of(0, 0, 100, LONGEST as u32)]);
        // Too few of many, wherever one looks, and elsewhere than where one looks.
        let mixed: Vec<(&[u32], u32)> =
            (0..500).flat_map(|_| [(&[1, 5][..], 8), (&[7, 9][..], 1), (&[3, 9][..], 5)]).collect();
        let (pointers, indices) = rows(&mixed);
        assert_eq!(Stencil::all(&pointers, &indices), []);
        let (pointers, indices) = rows(&[(&[1, 5], 64), (&[7, 9], 1), (&[7, 9], 1), (&[0, 9], 1)]);
        assert_eq!(Stencil::all(&pointers, &indices), [of(0, 0, 64, 2)]);
        // Rows of the same columns: two or more, unless they are short.
        let repeated = |stretches: &[(&[u32], u32)]| {
            let (mut pointers, mut indices) = (vec![5], Vec::new());
            for (columns, count) in stretches {
                for _ in 0..*count {
                    indices.extend_from_slice(columns);
                    pointers.push(5 + indices.len() as u32);
                }
            }
            Stencil::all(&pointers, &indices)
        };
        let same = |row, entry, count, length| Stencil { step: 0, ..of(row, entry, count, length) };
        let other: Vec<u32> = (3..13).collect();
        let (long, other) = (&long[..], &other[..]);
        let n = LONGEST as u32 + 1;
        assert_eq!(
            repeated(&[(long, 2), (other, 1), (long, 3), (&[1, 2], 9), (other, 4)]),
            [same(0, 0, 2, n), same(3, 2 * n + 10, 3, n), same(15, 5 * n + 28, 4, 10)]
        );
        assert_eq!(repeated(&[(&[1, 2, 3], 100)]), []);
        assert_eq!(repeated(&[(long, 2), (other, 1), (&other[1..], 1), (other, 1), (&long[1..], 1)]), []);
        assert_eq!(Stencil::all(&[], &[]), []);
        assert_eq!(Stencil::all(&[0, 0, 0], &[]), []);
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod products {
    use std::cell::RefCell;

    use super::super::lanes;
    use super::*;

    fn bits<T: Lanes>(of: &[T]) -> Vec<u64> {
        of.iter().map(|x| x.wide().to_bits()).collect()
    }

    /// Products of stretches of rows of `length` entries, whose columns move by `step`, cut anywhere, beside those of each row.
    fn same<T: Sides>(step: u32, length: u32, value: impl Fn(u32) -> T) {
        let first: Vec<u32> = (0..length).map(|k| k * k % 97 + 3 * k).collect();
        let (mut pointers, mut indices) = (vec![2], Vec::new());
        for row in 0..300 {
            // A row of another length, and one whose columns jump, end a stretch.
            let shift = step * row + if row >= 201 { 17 } else { 0 };
            let n = if row == 90 { first.len() - 1 } else { first.len() };
            indices.extend(first[..n].iter().map(|k| k + shift));
            pointers.push(2 + indices.len() as u32);
        }
        let values: Vec<T> = (0..indices.len() as u32).map(&value).collect();
        let most = indices.iter().max().map_or(0, |&k| k as usize + 1);
        let b: Vec<T> = (0..most as u32).map(|i| value(i.wrapping_mul(77) + 1)).collect();
        let left = Typed { pointers: &pointers, base: 2, indices: &indices, values: &values };
        let plain = |rows: Range<usize>, out: &mut [T]| {
            for (out, r) in out.iter_mut().zip(rows) {
                let (indices, values) = left.row(r);
                *out = T::round(lanes::dot(indices, values, &b));
            }
        };
        let mut wanted = vec![T::zeroed(); 300];
        plain(0..300, &mut wanted);
        assert!(bits(&wanted).iter().filter(|&&b| b != 0).count() > 150);
        let found = Stencil::all(&pointers, &indices);
        assert_eq!(found.iter().map(|s| s.count).collect::<Vec<_>>(), [90, 110, 99], "{length}");
        for rows in [0..300, 1..300, 5..8, 3..96, 88..95, 89..91, 90..91, 150..150, 199..299] {
            let others = RefCell::new(0);
            let mut out = vec![value(9); rows.len()];
            let by_others = |rows: Range<usize>, out: &mut [T]| {
                *others.borrow_mut() += rows.len();
                plain(rows, out);
            };
            // SAFETY: the caller has asked.
            unsafe { dots(&left, &found, rows.clone(), &b, &mut out, by_others) };
            assert_eq!(bits(&out), bits(&wanted[rows.clone()]), "{step} {length} {rows:?}");
            assert!(rows.len() < 100 || others.take() <= 4, "{step} {length} {rows:?}");
        }
    }

    #[test]
    fn bits_are_those_of_each_row() {
        if Level::of_cpu() < Level::Avx2 {
            return;
        }
        let spread = |e: u32| f64::from(e.wrapping_mul(0x85eb_ca6b) as i32) / 1e7;
        let lengths = [(1, 2..=LONGEST as u32), (0, SHORTEST as u32 + 1..=70), (0, 190..=194)];
        for (step, length) in lengths.into_iter().flat_map(|(step, all)| all.map(move |length| (step, length))) {
            same::<f64>(step, length, spread);
            same::<f32>(step, length, |e| spread(e) as f32);
            same::<f32>(step, length, |e| [3e38, -3e38, 2.0, 0.5, -1.5, 1e30][e as usize % 6]);
            same::<f32>(step, length, |e| [0.0, -0.0, 1.0, -1.0, f32::INFINITY][e as usize % 5]);
            same::<f64>(step, length, |e| [0.0, -0.0, 1.0, -1.0, f64::INFINITY][e as usize % 5]);
        }
    }

    #[test]
    fn rows_that_are_elsewhere_by_now_are_left_to_others() {
        if Level::of_cpu() < Level::Avx2 {
            return;
        }
        let indices: Vec<u32> = (0..100).flat_map(|row| [row, row + 2]).collect();
        let pointers: Vec<u32> = (0..=100).map(|row| 2 * row).collect();
        let found = Stencil::all(&pointers, &indices);
        assert_eq!(found, [Stencil { row: 0, entry: 0, count: 100, length: 2, step: 1 }]);
        let mut moved = pointers.clone();
        moved[50] += 1;
        let values = vec![1.0; 200];
        let asked = |pointers: &[u32], b: &[f64]| {
            let left = Typed { pointers, base: 0, indices: &indices, values: &values };
            let asked = RefCell::new(Vec::new());
            let by_others = |rows: Range<usize>, _: &mut [f64]| asked.borrow_mut().push((rows.start, rows.end));
            // SAFETY: the caller has asked.
            unsafe { dots(&left, &found, 0..100, b, &mut [0.0; 100], by_others) };
            asked.take()
        };
        assert_eq!(asked(&pointers, &[1.0; 102]), [(100, 100)]);
        assert_eq!(asked(&moved, &[1.0; 102]), [(0, 100)]);
        // A vector without all that is met: whoever reads element by element says so.
        assert_eq!(asked(&pointers, &[1.0; 101]), [(0, 100)]);
    }
}
