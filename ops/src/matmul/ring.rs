//! In what products are computed.

use bytemuck::{Pod, Zeroable};

use super::Kernels;
use super::double::{ComplexDouble, Double};
use super::kernels;
use crate::cast::cast_block;
use crate::dtype::{DType, DTypeKind, c64, c128};

/// A ring for products of one dtype: the types of terms and of accumulators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// Or of ands.
    Bool,
    /// Integers of 8 bits, wrapping: signed ones are the same bits.
    Bits8,
    /// Integers of 16 bits.
    Bits16,
    /// Integers of 32 bits.
    Bits32,
    /// Integers of 64 bits.
    Bits64,
    /// `f32` terms, accumulated in `f64`; half-precision terms too.
    Single,
    /// `f64`.
    Float,
    /// `c64` terms, accumulated in `c128`.
    ComplexSingle,
    /// `c128`.
    Complex,
    /// Sums of two `f64`.
    Double,
    /// Complex numbers of these.
    ComplexDouble,
}

/// What kernels need of a term.
pub(super) trait Term: Pod {
    type Acc: Pod;
    const ZERO: Self::Acc;
    /// `acc + x * y`.
    fn mul_add(acc: Self::Acc, x: Self, y: Self) -> Self::Acc;
    fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// `k` times `x * y`.
    fn times(x: Self, y: Self, k: usize) -> Self::Acc;
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
        }
    )*};
}
real!(f32, f64);

macro_rules! complex {
    ($($ty:ty),*) => {$(
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
            fn times(x: $ty, y: $ty, k: usize) -> c128 {
                let one = <$ty as Term>::mul_add(<$ty as Term>::ZERO, x, y);
                c128::new(one.re * k as f64, one.im * k as f64)
            }
        }
    )*};
}
complex!(c64, c128);

impl Term for Double {
    type Acc = Double;
    const ZERO: Double = Double::ZERO;
    #[inline(always)]
    fn mul_add(acc: Double, x: Double, y: Double) -> Double {
        acc.add(x.mul(y))
    }
    #[inline(always)]
    fn add(a: Double, b: Double) -> Double {
        a.add(b)
    }
    fn times(x: Double, y: Double, k: usize) -> Double {
        x.mul(y).mul(Double::new(k as f64))
    }
}

impl Term for ComplexDouble {
    type Acc = ComplexDouble;
    const ZERO: ComplexDouble = ComplexDouble::ZERO;
    #[inline(always)]
    fn mul_add(acc: ComplexDouble, x: ComplexDouble, y: ComplexDouble) -> ComplexDouble {
        acc.add(x.mul(y))
    }
    #[inline(always)]
    fn add(a: ComplexDouble, b: ComplexDouble) -> ComplexDouble {
        a.add(b)
    }
    fn times(x: ComplexDouble, y: ComplexDouble, k: usize) -> ComplexDouble {
        let k = Double::new(k as f64);
        let one = x.mul(y);
        ComplexDouble { re: one.re.mul(k), im: one.im.mul(k) }
    }
}

impl Ring {
    /// The ring for results of `dtype`; `fills` says whether a fill other than zero takes part.
    pub const fn new(dtype: DType, fills: bool) -> Ring {
        match (dtype, fills) {
            (DType::Bool, false) => Ring::Bool,
            // With fills, terms are counted and those of fills taken away again.
            (DType::Bool | DType::I64 | DType::U64, _) => Ring::Bits64,
            (DType::I8 | DType::U8, _) => Ring::Bits8,
            (DType::I16 | DType::U16, _) => Ring::Bits16,
            (DType::I32 | DType::U32, _) => Ring::Bits32,
            (DType::F16 | DType::BF16 | DType::F32, false) => Ring::Single,
            (DType::F64, false) => Ring::Float,
            (DType::Complex64, false) => Ring::ComplexSingle,
            (DType::Complex128, false) => Ring::Complex,
            (DType::F16 | DType::BF16 | DType::F32 | DType::F64, true) => Ring::Double,
            (DType::Complex64 | DType::Complex128, true) => Ring::ComplexDouble,
        }
    }

    /// The dtype that elements of `dtype` are cast to before they become terms. Its elements are the terms
    /// themselves, but for the rings of doubles (see [`Ring::widen`]).
    pub const fn input(self, dtype: DType) -> DType {
        match self {
            Ring::Single => DType::F32,
            Ring::Double => DType::F64,
            Ring::ComplexDouble => DType::Complex128,
            Ring::Bits64 if matches!(dtype.kind(), DTypeKind::Bool) => DType::U64,
            _ => dtype,
        }
    }

    /// Whether terms are made by [`Ring::widen`].
    pub const fn is_wide(self) -> bool {
        matches!(self, Ring::Double | Ring::ComplexDouble)
    }

    /// Bytes of a term.
    pub const fn term_size(self) -> usize {
        match self {
            Ring::Bool | Ring::Bits8 => 1,
            Ring::Bits16 => 2,
            Ring::Bits32 | Ring::Single => 4,
            Ring::Bits64 | Ring::Float | Ring::ComplexSingle => 8,
            Ring::Complex | Ring::Double => 16,
            Ring::ComplexDouble => 32,
        }
    }

    /// Bytes of an accumulator.
    pub const fn acc_size(self) -> usize {
        match self {
            Ring::Single => 8,
            Ring::ComplexSingle => 16,
            other => other.term_size(),
        }
    }

    /// The terms of a wide ring: elements of its input dtype less the fills beneath them, exactly.
    pub fn widen(self, values: &[u8], fills: Option<&[u8]>, terms: &mut [u8]) {
        // Complex terms are two doubles each, as complex elements are two floats.
        let (values, terms) = (floats(values), doubles_mut(terms));
        match fills {
            None => terms.iter_mut().zip(values).for_each(|(t, &v)| *t = Double::new(v)),
            Some(fills) => {
                for ((t, &v), &f) in terms.iter_mut().zip(values).zip(floats(fills)) {
                    *t = Double::difference(v, f);
                }
            }
        }
    }

    /// Rounds accumulators, once, to elements of `dtype`.
    pub fn finish(self, acc: &[u8], dtype: DType, out: &mut [u8]) {
        const BLOCK: usize = 512;
        let from = match self {
            Ring::Single | Ring::Float | Ring::Double => DType::F64,
            Ring::ComplexSingle | Ring::Complex | Ring::ComplexDouble => DType::Complex128,
            Ring::Bits64 if matches!(dtype, DType::Bool) => DType::U64,
            _ => dtype,
        };
        if !self.is_wide() {
            return cast_block(from, acc, dtype, out);
        }
        // Complex or not, an accumulator is twice as wide as the dtype it rounds to.
        let size = dtype.size();
        let per_block = BLOCK * 8 / from.size();
        let mut floats = [0f64; BLOCK];
        for (acc, out) in acc.chunks(per_block * self.acc_size()).zip(out.chunks_mut(per_block * size)) {
            let doubles: &[Double] = bytemuck::cast_slice(acc);
            for (f, d) in floats.iter_mut().zip(doubles) {
                *f = d.round();
            }
            cast_block(from, bytemuck::cast_slice(&floats[..doubles.len()]), dtype, out);
        }
    }

    /// The kernels.
    pub fn kernels(self) -> Kernels {
        match self {
            Ring::Bool => kernels::of::<Truth>(),
            Ring::Bits8 => kernels::of::<u8>(),
            Ring::Bits16 => kernels::of::<u16>(),
            Ring::Bits32 => kernels::of::<u32>(),
            Ring::Bits64 => kernels::of::<u64>(),
            Ring::Single => kernels::of_floats::<f32>(),
            Ring::Float => kernels::of_floats::<f64>(),
            Ring::ComplexSingle => kernels::of::<c64>(),
            Ring::Complex => kernels::of::<c128>(),
            Ring::Double => kernels::of::<Double>(),
            Ring::ComplexDouble => kernels::of::<ComplexDouble>(),
        }
    }
}

fn floats(bytes: &[u8]) -> &[f64] {
    if bytes.is_empty() { &[] } else { bytemuck::cast_slice(bytes) }
}

fn doubles_mut(bytes: &mut [u8]) -> &mut [Double] {
    if bytes.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(bytes) }
}
