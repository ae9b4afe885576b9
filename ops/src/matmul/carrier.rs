//! In what products are computed.

use std::marker::PhantomData;

use bytemuck::Pod;

use super::blocks::Blocks;
use super::double::{ComplexExact, Double, Exact, difference};
use super::floats::Floats;
use super::fused::Fused;
use super::kernels::Loops;
use super::semiring::Semiring;
use super::term::Truth;
use super::{Grid, Kernels};
use crate::cast::cast_block;
use crate::dtype::{DType, DTypeKind, c64, c128};
use crate::scalar::Scalar;
use crate::simd::{Loop, vectorised};

/// A carrier for products of one dtype: the types of terms and of accumulators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
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
    /// Terms and sums of another semiring.
    Blocks(Blocks),
}

/// What [`Carrier::differences`] tells exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// What is added to elements of which too much would be rounded away.
    Hard,
    /// What is left when that is not added.
    Easy,
    /// The difference of every element.
    All,
}

impl Carrier {
    /// The carrier for results of `dtype`; `fills` says whether a fill other than zero takes part.
    pub const fn new(dtype: DType, fills: bool) -> Carrier {
        match (dtype, fills) {
            (DType::Bool, false) => Carrier::Bool,
            // With fills, terms are counted and those of fills taken away again.
            (DType::Bool | DType::I64 | DType::U64, _) => Carrier::Bits64,
            (DType::I8 | DType::U8, _) => Carrier::Bits8,
            (DType::I16 | DType::U16, _) => Carrier::Bits16,
            (DType::I32 | DType::U32, _) => Carrier::Bits32,
            (DType::F16 | DType::BF16 | DType::F32, false) => Carrier::Single,
            (DType::F64, _) | (DType::F16 | DType::BF16 | DType::F32, true) => Carrier::Float,
            (DType::Complex64, false) => Carrier::ComplexSingle,
            (DType::Complex128, _) | (DType::Complex64, true) => Carrier::Complex,
        }
    }

    /// The carrier of a semiring for operands of `dtype` without a fill that takes part; `None` if one of its ops is not
    /// defined there.
    pub fn of_semiring(semiring: Semiring, dtype: DType) -> Option<Carrier> {
        if semiring == Semiring::PLUS_TIMES {
            return Some(Carrier::new(dtype, false));
        }
        Blocks::new(semiring, dtype).map(Carrier::Blocks)
    }

    /// The dtype of products of operands of `dtype`.
    pub const fn output(self, dtype: DType) -> DType {
        match self {
            Carrier::Blocks(blocks) => blocks.output(),
            _ => dtype,
        }
    }

    /// Whether products depend on the terms of the left operand, and on those of the right one.
    pub const fn reads(self) -> (bool, bool) {
        match self {
            Carrier::Blocks(blocks) => blocks.reads(),
            _ => (true, true),
        }
    }

    /// The sum of nothing, in the dtype of products of operands of `dtype`.
    pub fn zero(self, dtype: DType) -> Scalar {
        match self {
            Carrier::Blocks(blocks) => blocks.zero(),
            _ => Scalar::zero(dtype),
        }
    }

    /// Makes every accumulator the sum of nothing.
    pub fn clear(self, acc: &mut [u8]) {
        match self {
            Carrier::Blocks(blocks) => blocks.clear(acc),
            _ => acc.fill(0),
        }
    }

    /// The carrier of products of the operands in the other order: of `b · a`, where this one is that of `a · b`.
    #[must_use]
    pub const fn swapped(self) -> Carrier {
        match self {
            Carrier::Blocks(blocks) => Carrier::Blocks(blocks.swapped()),
            other => other,
        }
    }

    /// The carrier with the same terms that loses nothing where they cancel: sums of two `f64` for floats. Others lose
    /// nothing as they are.
    pub const fn doubled(self) -> Carrier {
        match self {
            Carrier::Single | Carrier::Float => Carrier::Double,
            Carrier::ComplexSingle | Carrier::Complex => Carrier::ComplexDouble,
            other => other,
        }
    }

    /// The dtype that elements of `dtype` are cast to before they become terms, which its elements are.
    pub const fn input(self, dtype: DType) -> DType {
        match self {
            Carrier::Single => DType::F32,
            Carrier::Float | Carrier::Double => DType::F64,
            Carrier::Complex | Carrier::ComplexDouble => DType::Complex128,
            Carrier::Bits64 if matches!(dtype.kind(), DTypeKind::Bool) => DType::U64,
            Carrier::Blocks(blocks) => blocks.input(),
            _ => dtype,
        }
    }

    /// Whether accumulators are sums of two `f64`.
    pub const fn is_wide(self) -> bool {
        matches!(self, Carrier::Double | Carrier::ComplexDouble)
    }

    /// Whether sums of sums are the same, to the last bit, in whatever parts terms are added one after the other.
    pub const fn is_associative(self) -> bool {
        match self {
            Carrier::Bool | Carrier::Bits8 | Carrier::Bits16 | Carrier::Bits32 | Carrier::Bits64 => true,
            Carrier::Blocks(blocks) => blocks.is_associative(),
            _ => false,
        }
    }

    /// Bytes of a term.
    pub const fn term_size(self) -> usize {
        match self {
            Carrier::Bool | Carrier::Bits8 => 1,
            Carrier::Bits16 => 2,
            Carrier::Bits32 | Carrier::Single => 4,
            Carrier::Bits64 | Carrier::Float | Carrier::ComplexSingle | Carrier::Double => 8,
            Carrier::Complex | Carrier::ComplexDouble => 16,
            Carrier::Blocks(blocks) => blocks.input().size(),
        }
    }

    /// Bytes of an accumulator.
    pub const fn acc_size(self) -> usize {
        match self {
            Carrier::Single => 8,
            Carrier::ComplexSingle | Carrier::Double => 16,
            Carrier::ComplexDouble => 32,
            Carrier::Blocks(blocks) => blocks.accumulator().size(),
            other => other.term_size(),
        }
    }

    /// Adds accumulators of the carrier of which this one is the [`Carrier::doubled`] to accumulators of this one.
    pub fn add_plain(self, plain: &[u8], acc: &mut [u8]) {
        if self.is_wide() {
            // Complex accumulators are two sums each, as complex elements are two floats.
            let (plain, acc): (&[f64], &mut [Double]) = (bytemuck::cast_slice(plain), bytemuck::cast_slice_mut(acc));
            vectorised(Plus(acc, plain));
        } else {
            self.kernels().add(Grid { values: plain, row: 0, col: 1 }, plain.len() / self.acc_size(), acc);
        }
    }

    /// Adds a row of accumulators of this carrier, which is [`Carrier::Double`], to each of some rows of `f64`, and rounds once:
    /// what [`Carrier::add_plain`] and [`Carrier::finish`] do, where the rows lie.
    pub fn add_row(row: &[u8], plain: &mut [u8]) {
        vectorised(AddRow(bytemuck::cast_slice(row), bytemuck::cast_slice_mut(plain)));
    }

    /// Floats less the fills beneath them, as terms. Those whose fill is larger than the element by more than the
    /// factor `limit` are hard: too much of them would be rounded away. They stay as they are, and what is to be added to them
    /// exactly, the fill with its sign changed, is told, with the number of the element. Or else what is told is the
    /// difference of every element exactly, or what easy ones and those that stay as they are stand for: as one term or two,
    /// none if it is zero.
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
            Carrier::Complex | Carrier::ComplexDouble => differences::<c128>((values, fills), limit, told, terms, tell),
            _ => differences::<f64>((values, fills), limit, told, terms, tell),
        }
    }

    /// Rounds accumulators, once, to elements of `dtype`.
    pub fn finish(self, acc: &[u8], dtype: DType, out: &mut [u8]) {
        const BLOCK: usize = 512;
        let from = match self {
            Carrier::Single | Carrier::Float | Carrier::Double => DType::F64,
            Carrier::ComplexSingle | Carrier::Complex | Carrier::ComplexDouble => DType::Complex128,
            Carrier::Bits64 if matches!(dtype, DType::Bool) => DType::U64,
            Carrier::Blocks(blocks) => return blocks.finish(acc, dtype, out),
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
    #[inline(never)] // rustc inlines so small a function into other crates, which then compile every kernel again
    pub fn kernels(&self) -> &dyn Kernels {
        macro_rules! loops {
            ($ty:ty) => {
                &const { Loops::<$ty>(PhantomData) }
            };
        }
        match self {
            Carrier::Bool => loops!(Truth),
            Carrier::Bits8 => loops!(u8),
            Carrier::Bits16 => loops!(u16),
            Carrier::Bits32 => loops!(u32),
            Carrier::Bits64 => loops!(u64),
            Carrier::Single => &const { Floats(Loops::<f32>(PhantomData)) },
            Carrier::Float => &const { Floats(Loops::<f64>(PhantomData)) },
            Carrier::ComplexSingle => loops!(c64),
            Carrier::Complex => loops!(c128),
            Carrier::Double => &const { Fused(Loops::<Exact>(PhantomData)) },
            Carrier::ComplexDouble => &const { Fused(Loops::<ComplexExact>(PhantomData)) },
            Carrier::Blocks(blocks) => blocks,
        }
    }
}

/// Sums of two floats to which floats are added.
struct Plus<'a>(&'a mut [Double], &'a [f64]);

impl Loop for Plus<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        self.0.iter_mut().zip(self.1).for_each(|(sum, &plain)| *sum = sum.plus(plain));
    }
}

/// Rows of floats to each of which a row of sums of two is added.
struct AddRow<'a>(&'a [Double], &'a mut [f64]);

impl Loop for AddRow<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let AddRow(row, plain) = self;
        for plain in plain.chunks_exact_mut(row.len().max(1)) {
            plain.iter_mut().zip(row).for_each(|(plain, sum)| *plain = sum.plus(*plain).round());
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

    /// Writes the differences of easy elements, the others as they are, and tells which pieces of [`PIECE`] elements hold
    /// such.
    fn easy(values: &[Self], fills: &[Self], limit: f64, terms: &mut [Self], hard: &mut dyn FnMut(usize)) {
        let pieces = terms.chunks_mut(PIECE).zip(values.chunks(PIECE)).zip(fills.chunks(PIECE));
        for (i, ((terms, values), fills)) in pieces.enumerate() {
            if Self::easy_piece(values, fills, limit, terms) {
                hard(i);
            }
        }
    }

    #[inline(always)]
    fn easy_piece(values: &[Self], fills: &[Self], limit: f64, terms: &mut [Self]) -> bool {
        // Counted in as many bits as a float has, or the loop would not be vector code.
        let mut hard = 0u64;
        for ((term, &v), &f) in terms.iter_mut().zip(values).zip(fills) {
            let easy = f.size() <= limit * v.size();
            hard += u64::from(!easy);
            *term = if easy { Self::of(v, f).0 } else { v };
        }
        hard > 0
    }
}

/// Elements that are looked at once more if one of them is hard.
const PIECE: usize = 16;

/// [`Difference::easy`] of `f64` for the level in use.
struct Easy<'a>(&'a [f64], &'a [f64], f64, &'a mut [f64], &'a mut dyn FnMut(usize));

impl Loop for Easy<'_> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Easy(values, fills, limit, terms, hard) = self;
        let ((values, rest_values), (fills, rest_fills)) = (values.as_chunks::<PIECE>(), fills.as_chunks::<PIECE>());
        let (terms, rest) = terms.as_chunks_mut::<PIECE>();
        let whole = terms.len();
        for (i, ((terms, values), fills)) in terms.iter_mut().zip(values).zip(fills).enumerate() {
            if f64::easy_piece(values, fills, limit, terms) {
                hard(i);
            }
        }
        if f64::easy_piece(rest_values, rest_fills, limit, rest) {
            hard(whole);
        }
    }
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
    fn easy(values: &[f64], fills: &[f64], limit: f64, terms: &mut [f64], hard: &mut dyn FnMut(usize)) {
        vectorised(Easy(values, fills, limit, terms, hard));
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
    let mut tell_piece = |piece: usize| {
        let all = piece * PIECE..values.len().min((piece + 1) * PIECE);
        for (e, (&v, &f)) in all.clone().zip(values[all.clone()].iter().zip(&fills[all])) {
            let parts = match f.size() <= limit * v.size() {
                true if told == Told::Hard => continue,
                true => T::of(v, f),
                false => match told {
                    Told::Hard => (T::of(T::ZERO, f).0, T::ZERO),
                    Told::Easy => (v, T::ZERO),
                    Told::All => T::of(v, f),
                },
            };
            for part in [parts.0, parts.1] {
                if part != T::ZERO {
                    tell(e, bytemuck::bytes_of(&part));
                }
            }
        }
    };
    // Two loops: the first has no branches, and few pieces need the second.
    if told == Told::Hard {
        T::easy(values, fills, limit, terms, &mut tell_piece);
    } else {
        T::easy(values, fills, limit, terms, &mut |_| {});
        (0..values.len().div_ceil(PIECE)).for_each(tell_piece);
    }
}
