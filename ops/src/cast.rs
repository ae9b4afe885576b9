//! Casts of whole blocks between dtypes.

use crate::dtype::{DType, Element};
use crate::groups::Store;
use crate::scalar::{Cast, Wide, odd_f32};
use crate::simd::{Half, Level, Loop, level, vectorised};
use crate::{bf16, c64, c128, f16, with_dtype};

/// Elements that are on their way at a time: their words stay in the first-level cache.
const CHUNK: usize = 256;

/// Casts every element of `input` (of dtype `from`) into `output` (of dtype `to`), which has the same
/// number of elements. Total: see [`Cast`].
///
/// Pairs of dtypes between which much is cast have a loop of their own. Of the others, elements go through the widest type
/// of their kind, as they do by [`Cast`]: a loop from each dtype to words and a few back, in place of one for every pair.
pub fn cast_block(from: DType, input: &[u8], to: DType, output: &mut [u8]) {
    debug_assert_eq!(input.len() / from.size(), output.len() / to.size());
    if from == to {
        return output.copy_from_slice(input);
    }
    if input.is_empty() {
        return; // such a slice may lie anywhere, unaligned too
    }
    if let Some(cast) = direct(from, to) {
        return cast(input, output);
    }
    let way = Way::of(from, to);
    let (widen, narrow) = (way.from(from), way.to(to));
    let mut words = [0u64; 2 * CHUNK];
    for (input, output) in input.chunks(CHUNK * from.size()).zip(output.chunks_mut(CHUNK * to.size())) {
        let words = &mut words[..input.len() / from.size() * way.words()];
        widen(input, words);
        narrow(words, output);
    }
}

/// The loop of a pair of dtypes.
fn direct(from: DType, to: DType) -> Option<fn(&[u8], &mut [u8])> {
    macro_rules! pairs {
        ($($pair:ident $from:ident: $a:ty => $($to:ident: $b:ty),+;)+) => {
            match (from, to) {
                $($((DType::$from, DType::$to) => Some($pair::<$a, $b>),)+)+
                (DType::F16, DType::F32) => Some(half_to_single::<f16>),
                (DType::BF16, DType::F32) => Some(half_to_single::<bf16>),
                (DType::F16, DType::F64) => Some(half_to_double::<f16>),
                (DType::BF16, DType::F64) => Some(half_to_double::<bf16>),
                (DType::F32, DType::F16) => Some(single_to_half::<f16>),
                (DType::F32, DType::BF16) => Some(single_to_half::<bf16>),
                (DType::F64, DType::F16) => Some(double_to_half::<f16>),
                (DType::F64, DType::BF16) => Some(double_to_half::<bf16>),
                _ => of_bits(from, to),
            }
        };
    }
    pairs! {
        pair Bool: bool => F32: f32, F64: f64;
        pair I8: i8 => F32: f32, F64: f64;
        pair U8: u8 => F32: f32, F64: f64;
        pair I16: i16 => F32: f32, F64: f64;
        pair U16: u16 => F32: f32, F64: f64;
        pair I32: i32 => F32: f32, F64: f64;
        pair I64: i64 => F32: f32, F64: f64;
        pair F32: f32 => F64: f64;
        pair F64: f64 => F32: f32;
        to_long F32: f32 => I64: i64;
        to_long F64: f64 => I64: i64;
        to_short F32: f32 => I8: i8, U8: u8, I16: i16, U16: u16;
        to_int F32: f32 => I32: i32;
        to_whole F32: f32 => U32: u32;
        to_whole F64: f64 => I8: i8, U8: u8, I16: i16, U16: u16, I32: i32, U32: u32;
    }
}

/// Singles times doubles, as many or one for all, rounded once: as casts there and back, without a pass for each.
pub fn scale_singles(values: &[f32], factors: &[f64], out: &mut [f32]) {
    struct Scale<'a>(&'a [f32], &'a [f64], &'a mut [f32]);
    impl Loop for Scale<'_> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            let Scale(values, factors, out) = self;
            let scaled = |value: f32, factor: f64| (f64::from(value) * factor) as f32;
            match *factors {
                [factor] => out.iter_mut().zip(values).for_each(|(out, &value)| *out = scaled(value, factor)),
                _ => out.iter_mut().zip(values).zip(factors).for_each(|((out, &value), &by)| *out = scaled(value, by)),
            }
        }
    }
    vectorised(Scale(values, factors, out));
}

fn pair<A: Cast, B: Cast + Store>(input: &[u8], output: &mut [u8]) {
    Pair::<A, B>(A::from_bytes(input), bytemuck::cast_slice_mut(output)).run();
}

/// In the sum of this with an integer below 2^51 the last bits are those of the integer.
const SHIFT: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// Whole numbers of at most 32 bits.
trait Whole: Cast + Store {
    const LEAST: f64;
    const GREATEST: f64;
    /// The number that ends in these bits.
    fn ending(bits: u32) -> Self;
}

macro_rules! whole {
    ($($ty:ty),+) => {$(
        impl Whole for $ty {
            const LEAST: f64 = <$ty>::MIN as f64;
            const GREATEST: f64 = <$ty>::MAX as f64;
            #[inline(always)]
            fn ending(bits: u32) -> $ty {
                bits as $ty
            }
        }
    )+};
}
whole!(i8, u8, i16, u16, i32, u32);

/// Floats to whole numbers, by arithmetic that every level of vector instructions has: loops over casts that saturate take several
/// times as long. The baseline has no instruction that cuts off digits.
fn to_whole<A: Cast + Into<f64>, B: Whole>(input: &[u8], output: &mut [u8]) {
    struct ToWhole<'a, A, B: Store>(&'a [A], &'a mut [B::Raw]);
    impl<A: Cast + Into<f64>, B: Whole> Loop for ToWhole<'_, A, B> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            for (o, &x) in self.1.iter_mut().zip(self.0) {
                let x: f64 = x.into();
                let number = if x.is_nan() { 0.0 } else { x.trunc().clamp(B::LEAST, B::GREATEST) };
                *o = B::ending((number + SHIFT).to_bits() as u32).store();
            }
        }
    }
    if level() == Level::Baseline {
        return pair::<A, B>(input, output);
    }
    vectorised(ToWhole::<A, B>(A::from_bytes(input), bytemuck::cast_slice_mut(output)));
}

/// The sum of this with an integer of a magnitude below 2²² ends in the bits of the integer.
const SHIFT_SINGLE: f32 = 12_582_912.0; // 1.5 * 2^23

/// Singles to whole numbers of at most 16 bits, likewise: twice as many lanes.
fn to_short<A: Cast + Into<f32>, B: Whole>(input: &[u8], output: &mut [u8]) {
    struct ToShort<'a, A, B: Store>(&'a [A], &'a mut [B::Raw]);
    impl<A: Cast + Into<f32>, B: Whole> Loop for ToShort<'_, A, B> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            for (o, &x) in self.1.iter_mut().zip(self.0) {
                let x: f32 = x.into();
                let number = if x.is_nan() { 0.0 } else { x.trunc().clamp(B::LEAST as f32, B::GREATEST as f32) };
                *o = B::ending((number + SHIFT_SINGLE).to_bits()).store();
            }
        }
    }
    if level() == Level::Baseline {
        return pair::<A, B>(input, output);
    }
    vectorised(ToShort::<A, B>(A::from_bytes(input), bytemuck::cast_slice_mut(output)));
}

/// Singles to 32 bits, in chunks: one with a number of more than 22 bits goes by doubles.
fn to_int<A: Cast + Into<f32> + Into<f64>, B: Whole + Store<Raw = i32>>(input: &[u8], output: &mut [u8]) {
    struct ToInt<'a, A>(&'a [A], &'a mut [i32]);
    impl<A: Cast + Into<f32>> Loop for ToInt<'_, A> {
        /// Whether all are short.
        type Output = bool;
        #[inline(always)]
        fn run(self) -> bool {
            let mut is_short = true;
            for (o, &x) in self.1.iter_mut().zip(self.0) {
                let x: f32 = x.into();
                is_short &= x.abs() < (1 << 22) as f32; // no NaN is
                *o = (x.trunc() + SHIFT_SINGLE).to_bits().wrapping_sub(SHIFT_SINGLE.to_bits()) as i32;
            }
            is_short
        }
    }
    if level() == Level::Baseline {
        return pair::<A, B>(input, output);
    }
    for (input, output) in input.chunks(CHUNK * size_of::<A>()).zip(output.chunks_mut(CHUNK * size_of::<i32>())) {
        if !vectorised(ToInt::<A>(A::from_bytes(input), bytemuck::cast_slice_mut(output))) {
            to_whole::<A, B>(input, output);
        }
    }
}

/// The same to 64 bits, in chunks: one with a larger number saturates element by element.
fn to_long<A: Cast + Into<f64>, B: Cast + Store<Raw = i64>>(input: &[u8], output: &mut [u8]) {
    struct ToLong<'a, A>(&'a [A], &'a mut [i64]);
    impl<A: Cast + Into<f64>> Loop for ToLong<'_, A> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            for (out, input) in self.1.chunks_mut(CHUNK).zip(self.0.chunks(CHUNK)) {
                let mut is_short = true;
                for (o, &x) in out.iter_mut().zip(input) {
                    let x: f64 = x.into();
                    is_short &= x.abs() < (1u64 << 51) as f64; // no NaN is
                    *o = (x.trunc() + SHIFT).to_bits().wrapping_sub(SHIFT.to_bits()) as i64;
                }
                if !is_short {
                    out.iter_mut().zip(input).for_each(|(o, &x)| *o = x.into() as i64);
                }
            }
        }
    }
    if level() == Level::Baseline {
        return pair::<A, B>(input, output);
    }
    vectorised(ToLong::<A>(A::from_bytes(input), bytemuck::cast_slice_mut(output)));
}

struct Pair<'a, A, B: Store>(&'a [A], &'a mut [B::Raw]);

impl<A: Cast, B: Cast + Store> Loop for Pair<'_, A, B> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for (o, &x) in self.1.iter_mut().zip(self.0) {
            *o = B::narrow(x.widen()).store();
        }
    }
}

/// The loop from whole numbers or truth values to whole numbers, of which those that are too large lose bits: it depends on their
/// sizes, and where they grow on the sign.
fn of_bits(from: DType, to: DType) -> Option<fn(&[u8], &mut [u8])> {
    macro_rules! sizes {
        ($($a:ty => $($b:ty),+;)+) => {
            match (from.size(), to.size(), from.is_int() && !from.is_unsigned()) {
                $($((from, to, sign) if (from, to) == (size_of::<$a>(), size_of::<$b>()) && (from > to || sign == (<$a>::MIN != 0)) => {
                    Some(|input, output| {
                        let (input, output) = (bytemuck::cast_slice::<u8, $a>(input), bytemuck::cast_slice_mut::<u8, $b>(output));
                        output.iter_mut().zip(input).for_each(|(o, &x)| *o = x as $b);
                    })
                })+)+
                (from, to, _) if from == to => Some(|input, output| output.copy_from_slice(input)),
                _ => None,
            }
        };
    }
    let is_whole = |dtype: DType| dtype.is_int() || dtype == DType::Bool;
    if !is_whole(from) || !to.is_int() {
        return None;
    }
    sizes! {
        i8 => i16, i32, i64;
        u8 => u16, u32, u64;
        i16 => i32, i64;
        u16 => u8, u32, u64;
        i32 => i64;
        u32 => u8, u16, u64;
        u64 => u8, u16, u32;
    }
}

fn half_to_single<H: Half>(input: &[u8], output: &mut [u8]) {
    H::widen_all(H::from_bytes(input), f32::from_bytes_mut(output));
}

fn half_to_double<H: Half>(input: &[u8], output: &mut [u8]) {
    let mut single = [0f32; CHUNK];
    for (input, output) in H::from_bytes(input).chunks(CHUNK).zip(f64::from_bytes_mut(output).chunks_mut(CHUNK)) {
        let single = &mut single[..input.len()];
        H::widen_all(input, single);
        output.iter_mut().zip(single).for_each(|(o, x)| *o = f64::from(*x));
    }
}

fn single_to_half<H: Half>(input: &[u8], output: &mut [u8]) {
    H::round_all(f32::from_bytes(input), H::from_bytes_mut(output));
}

/// By way of singles that are rounded to odd.
fn double_to_half<H: Half>(input: &[u8], output: &mut [u8]) {
    struct Odd<'a>(&'a [f64], &'a mut [f32]);
    impl Loop for Odd<'_> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            self.1.iter_mut().zip(self.0).for_each(|(single, x)| *single = odd_f32(*x));
        }
    }
    let mut single = [0f32; CHUNK];
    for (input, output) in f64::from_bytes(input).chunks(CHUNK).zip(H::from_bytes_mut(output).chunks_mut(CHUNK)) {
        let single = &mut single[..input.len()];
        vectorised(Odd(input, single));
        H::round_all(single, output);
    }
}

/// What the words of elements on their way are: bits of a variant of [`Wide`].
#[derive(Clone, Copy)]
enum Way {
    Signed,
    Unsigned,
    Float,
    /// Two words for each element, as in [`Way::Float`].
    Complex,
}

impl Way {
    fn of(from: DType, to: DType) -> Way {
        match from {
            d if d.is_complex() && (to.is_complex() || to == DType::Bool) => Way::Complex,
            d if d.is_inexact() => Way::Float, // of a complex number the real part
            d if d.is_int() && !d.is_unsigned() => Way::Signed,
            _ => Way::Unsigned,
        }
    }

    const fn words(self) -> usize {
        if matches!(self, Way::Complex) { 2 } else { 1 }
    }

    fn from(self, dtype: DType) -> fn(&[u8], &mut [u64]) {
        match (self, dtype) {
            (Way::Complex, DType::Complex64) => widen::<f32>,
            (Way::Complex, _) => widen::<f64>,
            _ => with_dtype!(dtype, A => widen::<A>),
        }
    }

    fn to(self, dtype: DType) -> fn(&[u64], &mut [u8]) {
        fn signed<B: Cast + Store>(words: &[u64], output: &mut [u8]) {
            narrow::<B>(words, output, |w| Wide::Signed(w as i64));
        }
        fn unsigned<B: Cast + Store>(words: &[u64], output: &mut [u8]) {
            narrow::<B>(words, output, Wide::Unsigned);
        }
        fn float<B: Cast + Store>(words: &[u64], output: &mut [u8]) {
            narrow::<B>(words, output, |w| Wide::Float(f64::from_bits(w)));
        }
        match (self, dtype) {
            (Way::Complex, DType::Complex64) => float::<f32>,
            (Way::Complex, DType::Complex128) => float::<f64>,
            (Way::Complex, _) => is_not_zero,
            (Way::Float, _) => with_dtype!(dtype, B => float::<B>),
            (Way::Unsigned, DType::F16) => unsigned::<f16>,
            (Way::Unsigned, DType::BF16) => unsigned::<bf16>,
            (Way::Unsigned, DType::F32) => unsigned::<f32>,
            (Way::Unsigned, DType::F64) => unsigned::<f64>,
            (Way::Unsigned, DType::Complex64) => unsigned::<c64>,
            (Way::Unsigned, DType::Complex128) => unsigned::<c128>,
            // To an integer, and to bool, it is a matter of bits.
            _ => with_dtype!(dtype, B => signed::<B>),
        }
    }
}

fn widen<A: Cast>(input: &[u8], words: &mut [u64]) {
    for (w, &x) in words.iter_mut().zip(A::from_bytes(input)) {
        *w = match x.widen() {
            Wide::Signed(v) => v as u64,
            Wide::Unsigned(v) => v,
            Wide::Float(v) | Wide::Complex(v, _) => v.to_bits(),
        };
    }
}

fn narrow<B: Cast + Store>(words: &[u64], output: &mut [u8], wide: impl Fn(u64) -> Wide) {
    for (o, &w) in bytemuck::cast_slice_mut::<u8, B::Raw>(output).iter_mut().zip(words) {
        *o = B::narrow(wide(w)).store();
    }
}

/// Of complex numbers.
fn is_not_zero(words: &[u64], output: &mut [u8]) {
    for (o, parts) in output.iter_mut().zip(words.chunks_exact(2)) {
        *o = u8::from(parts.iter().any(|&w| f64::from_bits(w) != 0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::set_level;
    use crate::testing::{Block, special};
    use crate::{Scalar, c128};

    /// Doubles at the middle between two halves go to the even one, and those next to it, of which a single would be that middle, to the nearer.
    #[test]
    fn doubles_are_rounded_once_to_halves() {
        fn check<H: Half>(of_bits: fn(u16) -> H, bits_of: fn(H) -> u16, ends: [(f64, u16); 3]) {
            let wide = |bits: u16| f64::from(of_bits(bits).widened());
            let mut cases = ends.to_vec();
            for bits in 0..u16::MAX {
                let (less, more) = (wide(bits), wide(bits + 1));
                if less.is_finite() && more.is_finite() && (less < 0.0) == (more < 0.0) {
                    let middle = 0.5 * (less + more);
                    let (to_less, to_more) = if less < more {
                        (middle.next_down(), middle.next_up())
                    } else {
                        (middle.next_up(), middle.next_down())
                    };
                    cases.extend([(middle, bits + (bits & 1)), (to_less, bits), (to_more, bits + 1), (less, bits)]);
                }
            }
            let x: Vec<f64> = cases.iter().map(|case| case.0).collect();
            let mut out = vec![H::default(); x.len()];
            for level in Level::ALL {
                set_level(Some(level));
                double_to_half::<H>(f64::as_bytes(&x), bytemuck::cast_slice_mut(&mut out));
                for (&(x, wanted), &found) in cases.iter().zip(&out) {
                    assert_eq!(bits_of(found), wanted, "{x:e} at {level:?}");
                }
            }
            set_level(None);
        }
        let ends = [(65_519.999_999, 0x7bff), (65_520.0, 0x7c00), (f64::MIN, 0xfc00)];
        check::<f16>(f16::from_bits, f16::to_bits, ends);
        let last = 1.996_093_75 * 2f64.powi(127); // the middle between the greatest and what would follow
        check::<bf16>(bf16::from_bits, bf16::to_bits, [(last.next_down(), 0x7f7f), (last, 0x7f80), (f64::MIN, 0xff80)]);
    }

    /// Every pair, bit for bit what a cast of each element is: special values, and bits of all kinds.
    #[test]
    fn blocks_are_cast_as_elements_are() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state ^ (state >> 29)
        };
        for from in DType::ALL {
            let mut values = special(from);
            while values.len() < 3 * CHUNK + 7 {
                let [a, b] = [random(), random()];
                // As an integer shifted by some bits, and as the bits of a float: long and short numbers in any dtype.
                let number = match values.len() % 3 {
                    0 => Scalar::I64(a as i64 >> (b % 64)),
                    1 => Scalar::Complex128(c128::new(f64::from_bits(a), f64::from_bits(b))),
                    _ => Scalar::Complex128(c128::new((a as i64 >> (b % 64)) as f64 / 1024.0, 0.0)),
                };
                values.push(number.cast(from));
            }
            // Short numbers alone, and shorter ones: whole chunks of them go another way.
            for (end, most) in [(6 * CHUNK, 40), (9 * CHUNK, 35), (12 * CHUNK, 32)] {
                while values.len() < end {
                    let [a, b] = [random(), random()];
                    let short = (a as i64 >> (64 - most + b % most)) as f64 / 1024.0;
                    values.push(Scalar::Complex128(c128::new(short, 0.0)).cast(from));
                }
            }
            let input = Block::of(&values, from);
            let mut unaligned = [0u8; 17];
            for to in DType::ALL {
                cast_block(from, &[], to, &mut unaligned[1..1]);
            }
            for to in DType::ALL {
                let mut output = Block::zeroed(values.len() * to.size());
                output.bytes_mut().fill(0xA5); // what is there before does not matter
                cast_block(from, input.bytes(), to, output.bytes_mut());
                for (i, got) in output.scalars(to).into_iter().enumerate() {
                    let want = values[i].cast(to);
                    let exact = got.is_nan() || got.to_bytes() == want.to_bytes();
                    assert!(got.same(want) && exact, "{} from {from} to {to}: {got}, not {want}", values[i]);
                }
            }
        }
    }
}
