//! Dot products of a row with several others at once, in sixteen lanes: term `i` goes to lane `i % 16`, and lanes are added in pairs
//! a half apart. The same bits at every level of vector code, and however many rows there are.
#![allow(unsafe_code)] // vector instructions, called once the CPU was asked; what they read are slices of one length

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::eights::{LANES, Lanes};
use super::lanes::{added_in_halves, in_f64};
#[cfg(target_arch = "x86_64")]
use super::tiles::{Narrow, Registers, Wide};
use super::vector::RUN;
use crate::simd::Level;

/// As many registers of doubles as there are at most for sixteen lanes; those beyond are not used.
#[cfg(target_arch = "x86_64")]
const MOST: usize = 4;

/// A float of which there are dot products.
pub(super) trait Dots: Lanes {
    /// Adds to each lane the products of its terms: those of `f32` in `f32` for [`RUN`] terms, whose sum is then added in
    /// `f64` (RFC 2).
    fn add_products(xs: &[[Self; LANES]], ys: &[[Self; LANES]], lanes: &mut [f64; LANES]);

    /// The lanes of `N` rows, in as many registers of each four as they need.
    ///
    /// # Safety
    /// The CPU must have what `V` says, and rows must be as long as `x`.
    #[cfg(target_arch = "x86_64")]
    unsafe fn lanes<V: Registers, const N: usize>(x: &[Self], rows: [&[Self]; N]) -> [[V::Doubles; MOST]; N];
}

/// The dot products of `x` with `N` rows of its length. `level` is at most that of the CPU.
#[inline(always)]
pub(super) fn dots<T: Dots, const N: usize>(level: Level, x: &[T], rows: [&[T]; N]) -> [f64; N] {
    let mut cut = [&x[..0]; N];
    for n in 0..N {
        cut[n] = &rows[n][..x.len()];
    }
    let mut sums = [0.0; N];
    match level {
        // SAFETY: the level is at most that of the CPU; rows were cut to the length of `x`.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { wide(x, cut, &mut sums) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { narrow(x, cut, &mut sums) },
        _ => {
            for n in 0..N {
                sums[n] = added_in_halves(plain(x, cut[n]));
            }
        }
    }
    for n in 0..N {
        // Beyond the range of f32 on the way: once more in f64.
        if !sums[n].is_finite() {
            sums[n] = in_f64(x.iter().copied().zip(cut[n].iter().copied()));
        }
    }
    sums
}

/// A dot product by the loops without vector code.
#[cfg(test)]
pub(super) fn plainly<T: Dots>(x: &[T], row: &[T]) -> f64 {
    let [sum] = dots(Level::Baseline, x, [row]);
    sum
}

/// # Safety
/// The CPU must have AVX-512 F and DQ, and rows must be as long as `x`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx512f,avx512dq")]
unsafe fn wide<T: Dots, const N: usize>(x: &[T], rows: [&[T]; N], sums: &mut [f64; N]) {
    // SAFETY: the caller's promise.
    unsafe { *sums = added::<Wide, N>(T::lanes::<Wide, N>(x, rows)) }
}

/// # Safety
/// The CPU must have AVX2, and rows must be as long as `x`.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn narrow<T: Dots, const N: usize>(x: &[T], rows: [&[T]; N], sums: &mut [f64; N]) {
    // SAFETY: the caller's promise.
    unsafe { *sums = added::<Narrow, N>(T::lanes::<Narrow, N>(x, rows)) }
}

/// The sums of the lanes of each row, as [`added_in_halves`] adds them.
///
/// # Safety
/// The CPU must have what `V` says.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn added<V: Registers, const N: usize>(lanes: [[V::Doubles; MOST]; N]) -> [f64; N] {
    let mut sums = [0.0; N];
    // SAFETY: the caller's promise, which is AVX2 at least; four sums are stored where there are four.
    unsafe {
        let ((fours, rest), (of_fours, of_rest)) = (sums.as_chunks_mut::<4>(), lanes.as_chunks::<4>());
        for (sums, &[a, b, c, d]) in fours.iter_mut().zip(of_fours) {
            *sums = in_pairs_of_four([V::quarter(a), V::quarter(b), V::quarter(c), V::quarter(d)]);
        }
        for (sum, &lanes) in rest.iter_mut().zip(of_rest) {
            [*sum, ..] = in_pairs_of_four([V::quarter(lanes); 4]);
        }
    }
    sums
}

/// `(x[0] + x[2]) + (x[1] + x[3])` of each.
///
/// # Safety
/// The CPU must have AVX2.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn in_pairs_of_four([a, b, c, d]: [__m256d; 4]) -> [f64; 4] {
    let two = |x, y| _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(x, y), _mm256_permute2f128_pd::<0x31>(x, y));
    // Of `b` after `a`: pairs of one are side by side.
    let sums = _mm256_hadd_pd(two(a, b), two(c, d));
    let mut out = [0.0; 4];
    // SAFETY: four elements.
    unsafe { _mm256_storeu_pd(out.as_mut_ptr(), _mm256_permute4x64_pd::<0b11_01_10_00>(sums)) };
    out
}

#[inline(always)]
fn plain<T: Dots>(x: &[T], row: &[T]) -> [f64; LANES] {
    let mut lanes = [0.0; LANES];
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), row.as_chunks::<LANES>());
    let (whole, last) = (xs.len() / RUN * RUN, xs.len() % RUN);
    T::add_products(&xs[..whole], &ys[..whole], &mut lanes);
    // Beside zeros: a term of zeros changes no sum.
    let (mut x, mut y) = ([[T::zeroed(); LANES]; RUN], [[T::zeroed(); LANES]; RUN]);
    x[..last].copy_from_slice(&xs[whole..]);
    y[..last].copy_from_slice(&ys[whole..]);
    x[last][..x_rest.len()].copy_from_slice(x_rest);
    y[last][..y_rest.len()].copy_from_slice(y_rest);
    T::add_products(&x[..last + 1], &y[..last + 1], &mut lanes);
    lanes
}

impl Dots for f64 {
    #[inline(always)]
    fn add_products(xs: &[[f64; LANES]], ys: &[[f64; LANES]], lanes: &mut [f64; LANES]) {
        for (x, y) in xs.iter().zip(ys) {
            for i in 0..LANES {
                lanes[i] += x[i] * y[i];
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn lanes<V: Registers, const N: usize>(x: &[f64], rows: [&[f64]; N]) -> [[V::Doubles; MOST]; N] {
        let registers = LANES / V::DOUBLES;
        // SAFETY: the caller's promise; elements that are read are those from `at` on, at most as many as there are.
        unsafe {
            let mut sums = [[V::no_doubles(); MOST]; N];
            let whole = x.len() / LANES * LANES;
            for at in (0..whole).step_by(LANES) {
                for c in 0..registers {
                    let at = at + V::DOUBLES * c;
                    let x = V::load_doubles(x.as_ptr().add(at), V::DOUBLES);
                    for (sums, row) in sums.iter_mut().zip(rows) {
                        let y = V::load_doubles(row.as_ptr().add(at), V::DOUBLES);
                        sums[c] = V::add_double_products(sums[c], x, y);
                    }
                }
            }
            for c in 0..registers {
                let at = whole + V::DOUBLES * c;
                if at < x.len() {
                    let n = (x.len() - at).min(V::DOUBLES);
                    let x = V::load_doubles(x.as_ptr().add(at), n);
                    for (sums, row) in sums.iter_mut().zip(rows) {
                        let y = V::load_doubles(row.as_ptr().add(at), n);
                        sums[c] = V::add_double_products(sums[c], x, y);
                    }
                }
            }
            sums
        }
    }
}

impl Dots for f32 {
    #[inline(always)]
    fn add_products(xs: &[[f32; LANES]], ys: &[[f32; LANES]], lanes: &mut [f64; LANES]) {
        for (xs, ys) in xs.chunks(RUN).zip(ys.chunks(RUN)) {
            let mut run = [0.0f32; LANES];
            for (x, y) in xs.iter().zip(ys) {
                for i in 0..LANES {
                    run[i] += x[i] * y[i];
                }
            }
            for i in 0..LANES {
                lanes[i] += f64::from(run[i]);
            }
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    unsafe fn lanes<V: Registers, const N: usize>(x: &[f32], rows: [&[f32]; N]) -> [[V::Doubles; MOST]; N] {
        let registers = LANES / V::SINGLES;
        // SAFETY: the caller's promise; elements that are read are those from `at` on, at most as many as there are.
        unsafe {
            let mut totals = [[[V::no_doubles(); 2]; MOST / 2]; N];
            let mut start = 0;
            while start < x.len() {
                let end = x.len().min(start + RUN * LANES);
                let mut sums = [[V::no_singles(); MOST / 2]; N];
                let whole = start + (end - start) / LANES * LANES;
                for at in (start..whole).step_by(LANES) {
                    for c in 0..registers {
                        let at = at + V::SINGLES * c;
                        let x = V::load_singles(x.as_ptr().add(at), V::SINGLES);
                        for (sums, row) in sums.iter_mut().zip(rows) {
                            let y = V::load_singles(row.as_ptr().add(at), V::SINGLES);
                            sums[c] = V::add_products(sums[c], x, y);
                        }
                    }
                }
                for c in 0..registers {
                    let at = whole + V::SINGLES * c;
                    if at < end {
                        let n = (end - at).min(V::SINGLES);
                        let x = V::load_singles(x.as_ptr().add(at), n);
                        for (sums, row) in sums.iter_mut().zip(rows) {
                            let y = V::load_singles(row.as_ptr().add(at), n);
                            sums[c] = V::add_products(sums[c], x, y);
                        }
                    }
                }
                for (totals, sums) in totals.iter_mut().zip(sums) {
                    for c in 0..registers {
                        V::widen(&mut totals[c], sums[c]);
                    }
                }
                start = end;
            }
            totals.map(|[[a, b], [c, d]]| [a, b, c, d])
        }
    }
}
