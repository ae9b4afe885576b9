//! Terms of the loops that are compiled per type, and how they are multiplied and added.

use bytemuck::{Pod, Zeroable};

use super::double::{ComplexDouble, ComplexExact, Double, Exact};
use crate::dtype::{c64, c128};

/// What kernels need of a term.
pub(super) trait Term: Pod + Sync + std::fmt::Debug {
    type Acc: Pod;
    const ZERO: Self::Acc;
    /// `acc + x * y`.
    fn mul_add(acc: Self::Acc, x: Self, y: Self) -> Self::Acc;
    fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// Adds factors times rows, each of `N` elements.
    #[inline(always)]
    fn add_rows<'a, const N: usize>(
        factors_and_rows: impl Iterator<Item = (Self, &'a [Self])>,
        sums: &mut [Self::Acc; N],
    ) {
        let mut acc = *sums;
        for (x, row) in factors_and_rows {
            for i in 0..N {
                acc[i] = Self::mul_add(acc[i], x, row[i]);
            }
        }
        *sums = acc;
    }
    /// Adds `x` times a row.
    #[inline(always)]
    fn add_row<const N: usize>(sums: &mut [Self::Acc; N], x: Self, row: &[Self; N]) {
        for i in 0..N {
            sums[i] = Self::mul_add(sums[i], x, row[i]);
        }
    }
    /// `k` times `x * y`.
    fn times(x: Self, y: Self, k: usize) -> Self::Acc;
    /// The product of two accumulators.
    fn product(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// The term that is nearest to a sum.
    fn round(sum: Self::Acc) -> Self;
}

/// A bool as a byte, 0 or 1.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Truth(u8);

impl Term for Truth {
    type Acc = u8;
    const ZERO: u8 = 0;
    #[inline(always)]
    fn mul_add(acc: u8, x: Truth, y: Truth) -> u8 {
        acc | (x.0 & y.0)
    }
    #[inline(always)]
    fn add(a: u8, b: u8) -> u8 {
        a | b
    }
    fn times(x: Truth, y: Truth, k: usize) -> u8 {
        u8::from(k > 0) & x.0 & y.0
    }
    fn product(a: u8, b: u8) -> u8 {
        a & b
    }
    #[inline(always)]
    fn round(sum: u8) -> Truth {
        Truth(sum)
    }
}

macro_rules! integer {
    ($($ty:ty),*) => {$(
        impl Term for $ty {
            type Acc = $ty;
            const ZERO: $ty = 0;
            #[inline(always)]
            fn mul_add(acc: $ty, x: $ty, y: $ty) -> $ty {
                acc.wrapping_add(x.wrapping_mul(y))
            }
            #[inline(always)]
            fn add(a: $ty, b: $ty) -> $ty {
                a.wrapping_add(b)
            }
            fn times(x: $ty, y: $ty, k: usize) -> $ty {
                x.wrapping_mul(y).wrapping_mul(k as $ty)
            }
            #[inline(always)]
            fn product(a: $ty, b: $ty) -> $ty {
                a.wrapping_mul(b)
            }
            #[inline(always)]
            fn round(sum: $ty) -> $ty {
                sum
            }
        }
    )*};
}
integer!(u8, u16, u32, u64);

macro_rules! real {
    ($($ty:ty),*) => {$(
        impl Term for $ty {
            type Acc = f64;
            const ZERO: f64 = 0.0;
            #[inline(always)]
            fn mul_add(acc: f64, x: $ty, y: $ty) -> f64 {
                acc + f64::from(x) * f64::from(y)
            }
            #[inline(always)]
            fn add(a: f64, b: f64) -> f64 {
                a + b
            }
            fn times(x: $ty, y: $ty, k: usize) -> f64 {
                f64::from(x) * f64::from(y) * k as f64
            }
            #[inline(always)]
            fn product(a: f64, b: f64) -> f64 {
                a * b
            }
            #[inline(always)]
            fn round(sum: f64) -> $ty {
                sum as $ty
            }
        }
    )*};
}
real!(f32, f64);

macro_rules! complex {
    ($($ty:ty: $part:ty, $add_rows:item)*) => {$(
        impl Term for $ty {
            type Acc = c128;
            const ZERO: c128 = c128::new(0.0, 0.0);
            #[inline(always)]
            fn mul_add(acc: c128, x: $ty, y: $ty) -> c128 {
                let (a, b, c, d) = (f64::from(x.re), f64::from(x.im), f64::from(y.re), f64::from(y.im));
                c128::new(acc.re + (a * c - b * d), acc.im + (a * d + b * c))
            }
            #[inline(always)]
            fn add(a: c128, b: c128) -> c128 {
                a + b
            }
            $add_rows
            /// Both parts by the same operations, for the sake of vectors.
            #[inline(always)]
            fn add_row<const N: usize>(sums: &mut [c128; N], x: $ty, row: &[$ty; N]) {
                let (re, im) = (f64::from(x.re), f64::from(x.im));
                let turned = [-im, im];
                for (sum, y) in sums.iter_mut().zip(row) {
                    let y = [f64::from(y.re), f64::from(y.im)];
                    let own = [re * y[0], re * y[1]];
                    let other = [turned[0] * y[1], turned[1] * y[0]];
                    let both = [own[0] + other[0], own[1] + other[1]];
                    *sum = c128::new(sum.re + both[0], sum.im + both[1]);
                }
            }
            fn times(x: $ty, y: $ty, k: usize) -> c128 {
                let one = <$ty as Term>::mul_add(<$ty as Term>::ZERO, x, y);
                c128::new(one.re * k as f64, one.im * k as f64)
            }
            #[inline(always)]
            fn product(a: c128, b: c128) -> c128 {
                c128::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
            }
            #[inline(always)]
            fn round(sum: c128) -> $ty {
                <$ty>::new(sum.re as $part, sum.im as $part)
            }
        }
    )*};
}
complex! {
    c64: f32,
    /// What a factor's real part comes to in sums of their own, and what its imaginary one does: no part of an element is turned. Products of
    /// `f32` are exact in `f64`, and no sum of them is too large for it.
    #[inline(always)]
    fn add_rows<'a, const N: usize>(factors_and_rows: impl Iterator<Item = (c64, &'a [c64])>, sums: &mut [c128; N]) {
        let (mut own, mut turned) = ([[0.0f64; 2]; N], [[0.0f64; 2]; N]);
        for (x, row) in factors_and_rows {
            let Some(row) = row.first_chunk::<N>() else { continue };
            let (re, im) = (f64::from(x.re), f64::from(x.im));
            let parts: &[f32] = bytemuck::cast_slice(row);
            let (own, turned) = (own.as_flattened_mut(), turned.as_flattened_mut());
            for ((own, turned), &y) in own.iter_mut().zip(turned).zip(parts) {
                let y = f64::from(y);
                *own += re * y;
                *turned += im * y;
            }
        }
        for i in 0..N {
            sums[i].re += own[i][0] - turned[i][1];
            sums[i].im += own[i][1] + turned[i][0];
        }
    }
    c128: f64,
    #[inline(always)]
    fn add_rows<'a, const N: usize>(factors_and_rows: impl Iterator<Item = (c128, &'a [c128])>, sums: &mut [c128; N]) {
        let mut acc = *sums;
        for (x, row) in factors_and_rows {
            let Some(row) = row.first_chunk() else { continue };
            c128::add_row(&mut acc, x, row);
        }
        *sums = acc;
    }
}

impl Term for Exact {
    type Acc = Double;
    const ZERO: Double = Double::ZERO;
    #[inline(always)]
    fn mul_add(acc: Double, x: Exact, y: Exact) -> Double {
        acc.mul_add(x.0, y.0)
    }
    #[inline(always)]
    fn add(a: Double, b: Double) -> Double {
        a.add(b)
    }
    /// The parts of sums in arrays of their own, for the sake of vectors.
    #[inline(always)]
    fn add_rows<'a, const N: usize>(
        factors_and_rows: impl Iterator<Item = (Exact, &'a [Exact])>,
        sums: &mut [Double; N],
    ) {
        let (mut hi, mut lo) = (sums.map(|sum| sum.hi), sums.map(|sum| sum.lo));
        for (x, row) in factors_and_rows {
            for i in 0..N {
                let sum = Double { hi: hi[i], lo: lo[i] }.mul_add(x.0, row[i].0);
                (hi[i], lo[i]) = (sum.hi, sum.lo);
            }
        }
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = Double { hi: hi[i], lo: lo[i] };
        }
    }
    fn times(x: Exact, y: Exact, k: usize) -> Double {
        Double::ZERO.mul_add(x.0, y.0).mul(Double::new(k as f64))
    }
    #[inline(always)]
    fn product(a: Double, b: Double) -> Double {
        a.mul(b)
    }
    #[inline(always)]
    fn round(sum: Double) -> Exact {
        Exact(sum.round())
    }
}

impl Term for ComplexExact {
    type Acc = ComplexDouble;
    const ZERO: ComplexDouble = ComplexDouble::ZERO;
    #[inline(always)]
    fn mul_add(acc: ComplexDouble, x: ComplexExact, y: ComplexExact) -> ComplexDouble {
        acc.mul_add(x, y)
    }
    #[inline(always)]
    fn add(a: ComplexDouble, b: ComplexDouble) -> ComplexDouble {
        a.add(b)
    }
    fn times(x: ComplexExact, y: ComplexExact, k: usize) -> ComplexDouble {
        let (k, one) = (Double::new(k as f64), ComplexDouble::ZERO.mul_add(x, y));
        ComplexDouble { re: one.re.mul(k), im: one.im.mul(k) }
    }
    #[inline(always)]
    fn product(a: ComplexDouble, b: ComplexDouble) -> ComplexDouble {
        a.mul(b)
    }
    #[inline(always)]
    fn round(sum: ComplexDouble) -> ComplexExact {
        ComplexExact { re: Exact(sum.re.round()), im: Exact(sum.im.round()) }
    }
}
