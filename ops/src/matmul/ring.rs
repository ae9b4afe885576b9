//! In what products are computed.

use bytemuck::{Pod, Zeroable};

use super::double::{ComplexDouble, ComplexExact, Double, Exact, difference};
use super::{Grid, Kernels};
use super::{fused, kernels};
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
    /// `f64` terms, multiplied exactly and accumulated in sums of two `f64`.
    Double,
    /// `c128` terms, accumulated in complex numbers of these.
    ComplexDouble,
}

/// Of which elements [`Ring::differences`] tells the exact difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Those that would lose too much if it were rounded.
    Hard,
    /// The others.
    Easy,
    /// Every one.
    All,
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
    /// The product of two accumulators.
    fn product(a: Self::Acc, b: Self::Acc) -> Self::Acc;
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
            #[inline(always)]
            fn product(a: c128, b: c128) -> c128 {
                c128::new(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re)
            }
        }
    )*};
}
complex!(c64, c128);

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
    fn times(x: Exact, y: Exact, k: usize) -> Double {
        Double::ZERO.mul_add(x.0, y.0).mul(Double::new(k as f64))
    }
    #[inline(always)]
    fn product(a: Double, b: Double) -> Double {
        a.mul(b)
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
            (DType::F64, _) | (DType::F16 | DType::BF16 | DType::F32, true) => Ring::Float,
            (DType::Complex64, false) => Ring::ComplexSingle,
            (DType::Complex128, _) | (DType::Complex64, true) => Ring::Complex,
        }
    }

    /// The ring with the same terms that loses nothing where they cancel: sums of two `f64` for floats. Others lose
    /// nothing as they are.
    pub const fn doubled(self) -> Ring {
        match self {
            Ring::Single | Ring::Float => Ring::Double,
            Ring::ComplexSingle | Ring::Complex => Ring::ComplexDouble,
            other => other,
        }
    }

    /// The dtype that elements of `dtype` are cast to before they become terms, which its elements are.
    pub const fn input(self, dtype: DType) -> DType {
        match self {
            Ring::Single => DType::F32,
            Ring::Float | Ring::Double => DType::F64,
            Ring::Complex | Ring::ComplexDouble => DType::Complex128,
            Ring::Bits64 if matches!(dtype.kind(), DTypeKind::Bool) => DType::U64,
            _ => dtype,
        }
    }

    /// Whether accumulators are sums of two `f64`.
    pub const fn is_wide(self) -> bool {
        matches!(self, Ring::Double | Ring::ComplexDouble)
    }

    /// Bytes of a term.
    pub const fn term_size(self) -> usize {
        match self {
            Ring::Bool | Ring::Bits8 => 1,
            Ring::Bits16 => 2,
            Ring::Bits32 | Ring::Single => 4,
            Ring::Bits64 | Ring::Float | Ring::ComplexSingle | Ring::Double => 8,
            Ring::Complex | Ring::ComplexDouble => 16,
        }
    }

    /// Bytes of an accumulator.
    pub const fn acc_size(self) -> usize {
        match self {
            Ring::Single => 8,
            Ring::ComplexSingle | Ring::Double => 16,
            Ring::ComplexDouble => 32,
            other => other.term_size(),
        }
    }

    /// Adds accumulators of the ring of which this one is the [`Ring::doubled`] to accumulators of this one.
    pub fn add_plain(self, plain: &[u8], acc: &mut [u8]) {
        if self.is_wide() {
            // Complex accumulators are two sums each, as complex elements are two floats.
            let (plain, acc): (&[f64], &mut [Double]) = (bytemuck::cast_slice(plain), bytemuck::cast_slice_mut(acc));
            acc.iter_mut().zip(plain).for_each(|(a, &p)| *a = a.plus(p));
        } else {
            (self.kernels().add)(Grid { values: plain, row: 0, col: 1 }, plain.len() / self.acc_size(), acc);
        }
    }

    /// Floats less the fills beneath them, as terms. Those whose fill is larger than the element by more than the
    /// factor `limit` are hard: too much of them would be rounded away. They become zero. Of the elements that are
    /// `told`, the exact difference is told too: as one term or two, none if it is zero, each with the number of its
    /// element.
    pub fn differences(
        self,
        values: &[u8],
        fills: &[u8],
        limit: f64,
        told: Told,
        terms: &mut [u8],
        tell: &mut dyn FnMut(usize, &[u8]),
    ) {
        match self {
            Ring::Complex | Ring::ComplexDouble => differences::<c128>((values, fills), limit, told, terms, tell),
            _ => differences::<f64>((values, fills), limit, told, terms, tell),
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
            Ring::Double => fused::of::<Exact>(),
            Ring::ComplexDouble => fused::of::<ComplexExact>(),
        }
    }
}

/// A float, or a complex number, that is taken off another.
trait Difference: Pod + PartialEq {
    const ZERO: Self;
    /// `v - f`, rounded, and what the rounding left.
    fn of(v: Self, f: Self) -> (Self, Self);
    /// The magnitude; of a complex number that of both parts together.
    fn size(self) -> f64;
}

impl Difference for f64 {
    const ZERO: f64 = 0.0;
    #[inline(always)]
    fn of(v: f64, f: f64) -> (f64, f64) {
        difference(v, f)
    }
    #[inline(always)]
    fn size(self) -> f64 {
        self.abs()
    }
}

impl Difference for c128 {
    const ZERO: c128 = c128::new(0.0, 0.0);
    #[inline(always)]
    fn of(v: c128, f: c128) -> (c128, c128) {
        let (re, im) = (difference(v.re, f.re), difference(v.im, f.im));
        (c128::new(re.0, im.0), c128::new(re.1, im.1))
    }
    #[inline(always)]
    fn size(self) -> f64 {
        self.re.abs() + self.im.abs()
    }
}

/// Elements less the fills beneath them, one after the other.
fn differences<T: Difference>(
    (values, fills): (&[u8], &[u8]),
    limit: f64,
    told: Told,
    terms: &mut [u8],
    tell: &mut dyn FnMut(usize, &[u8]),
) {
    let (values, fills): (&[T], &[T]) = (bytemuck::cast_slice(values), bytemuck::cast_slice(fills));
    let terms: &mut [T] = bytemuck::cast_slice_mut(terms);
    // Two loops: the first has no branches, and few pieces need the second.
    const PIECE: usize = 16;
    let pieces = terms.chunks_mut(PIECE).zip(values.chunks(PIECE)).zip(fills.chunks(PIECE));
    for (i, ((terms, values), fills)) in pieces.enumerate() {
        let is_easy = |v: T, f: T| f.size() <= limit * v.size();
        let mut hard = 0;
        for ((term, &v), &f) in terms.iter_mut().zip(values).zip(fills) {
            let easy = is_easy(v, f);
            hard += usize::from(!easy);
            *term = if easy { T::of(v, f).0 } else { T::ZERO };
        }
        let any = match told {
            Told::Hard => hard > 0,
            Told::Easy => hard < values.len(),
            Told::All => true,
        };
        if !any {
            continue;
        }
        for (e, (&v, &f)) in values.iter().zip(fills).enumerate() {
            if told == Told::All || is_easy(v, f) == (told == Told::Easy) {
                let (rounded, rest) = T::of(v, f);
                for part in [rounded, rest] {
                    if part != T::ZERO {
                        tell(i * PIECE + e, bytemuck::bytes_of(&part));
                    }
                }
            }
        }
    }
}
