//! Integers divided, several at a time: as floats, whose quotients are put right by their remainders.

use num_traits::CheckedRem;

use super::element::FloorDiv;
use crate::dtype::Element;
use crate::groups::{Parts, each, part};
use crate::simd::{Loop, vectorised};

/// Elements that are divided at a time.
const AT_ONCE: usize = 256;

/// 64-bit integers below this magnitude, and their quotients, become floats and come back exactly by adding [`Real::SHIFT`], and
/// a quotient made by a reciprocal is less than a half away.
const BITS: u32 = 50;

/// An integer that is divided in lanes of 32 or 64 bits, which may be its own.
pub(super) trait Whole: Element + FloorDiv + CheckedRem {
    /// What quotients are computed in: of what has 16 bits at most `f32`, which holds it and twice as many lanes.
    type Real: Real;
    type Lane: Lane<Self::Real>;
    /// Elements as lanes: they themselves, or in the room for them.
    fn lanes<'a>(elements: &'a [Self], room: &'a mut [Self::Lane]) -> &'a [Self::Lane];
    /// Where lanes are to be written: where they belong, or the room for them.
    fn place<'a>(out: &'a mut [Self], room: &'a mut [Self::Lane]) -> &'a mut [Self::Lane];
    /// Takes what was written to the room.
    fn take(out: &mut [Self], room: &[Self::Lane]);
    /// A byte as 16 bits, and back.
    fn short(self) -> i16;
    fn of_short(short: i16) -> Self;
}

macro_rules! shorts {
    ($ty:ty) => {
        #[inline(always)]
        fn short(self) -> i16 {
            self as i16
        }
        #[inline(always)]
        fn of_short(short: i16) -> $ty {
            short as $ty
        }
    };
}

macro_rules! own_lanes {
    ($($ty:ty),+) => {$(
        impl Whole for $ty {
            type Real = f64;
            type Lane = $ty;
            #[inline(always)]
            fn lanes<'a>(elements: &'a [$ty], _: &'a mut [$ty]) -> &'a [$ty] {
                elements
            }
            #[inline(always)]
            fn place<'a>(out: &'a mut [$ty], _: &'a mut [$ty]) -> &'a mut [$ty] {
                out
            }
            #[inline(always)]
            fn take(_: &mut [$ty], _: &[$ty]) {}
            shorts!($ty);
        }
    )+};
}
own_lanes!(i32, i64);

macro_rules! wider_lanes {
    ($($ty:ty as $lane:ty, $real:ty: $wide:expr;)+) => {$(
        impl Whole for $ty {
            type Real = $real;
            type Lane = $lane;
            #[inline(always)]
            fn lanes<'a>(elements: &'a [$ty], room: &'a mut [$lane]) -> &'a [$lane] {
                room.iter_mut().zip(elements).for_each(|(lane, &x)| *lane = $wide(x));
                room
            }
            #[inline(always)]
            fn place<'a>(_: &'a mut [$ty], room: &'a mut [$lane]) -> &'a mut [$lane] {
                room
            }
            #[inline(always)]
            fn take(out: &mut [$ty], room: &[$lane]) {
                out.iter_mut().zip(room).for_each(|(x, &lane)| *x = lane as $ty);
            }
            shorts!($ty);
        }
    )+};
}
wider_lanes! {
    i8 as i32, f32: i32::from; i16 as i32, f32: i32::from; u8 as i32, f32: i32::from; u16 as i32, f32: i32::from;
    u32 as i64, f64: i64::from;
    // What has no place there is as large as can be: none that can be divided so.
    u64 as i64, f64: |x: u64| x.min(i64::MAX as u64) as i64;
}

/// What is wanted of a division.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// The quotient rounded down.
    Quotient,
    /// What that leaves, which has the sign of the divisor.
    Rest,
    /// What the quotient leaves once it is cut to an integer, which has the sign of the dividend.
    Cut,
}

/// The quotients rounded down.
pub(super) fn floor_divide<T: Whole>(a: &[u8], b: &[u8], out: &mut [u8]) {
    divide::<T>(a, b, out, Gives::Quotient, T::floor_div);
}

/// What these leave, which has the sign of the divisor.
pub(super) fn remainder<T: Whole>(a: &[u8], b: &[u8], out: &mut [u8]) {
    divide::<T>(a, b, out, Gives::Rest, T::floor_rem);
}

/// What quotients cut to integers leave, which has the sign of the dividend; 0 where the divisor is 0.
pub(super) fn cut_remainder<T: Whole>(a: &[u8], b: &[u8], out: &mut [u8]) {
    divide::<T>(a, b, out, Gives::Cut, |a, b| a.checked_rem(&b).unwrap_or_default());
}

/// One by one where an element is large, or a divisor is 0.
fn divide<T: Whole>(a: &[u8], b: &[u8], out: &mut [u8], gives: Gives, one: fn(T, T) -> T) {
    let (a, b, out) = (T::from_bytes(a), T::from_bytes(b), T::from_bytes_mut(out));
    if let [by] = *b
        && const { size_of::<T>() == 1 }
        && by.short().unsigned_abs() > 1
        && a.len() == out.len()
    {
        return vectorised(Bytes { a, by: by.short(), gives, out });
    }
    let [mut room_of_a, mut room_of_b, mut room] = [[T::Lane::default(); AT_ONCE]; 3];
    let all = Parts::<T, AT_ONCE>::of(a);
    for (i, out) in out.chunks_mut(AT_ONCE).enumerate() {
        let n = out.len();
        let (a, b) = (all.part(i * AT_ONCE, n), part(b, i * AT_ONCE, n));
        let rooms = [&mut room_of_a[..n], &mut room_of_b[..b.len()], &mut room[..n]];
        if !vectorised(Floor { a, b, gives, out: &mut *out, rooms }) {
            each(a, b, out, one);
        }
    }
}

/// Bytes divided by one divisor of a magnitude of 2 or more: by multiplying with its reciprocal in 2¹⁶ths, rounded up (Granlund and
/// Montgomery, "Division by Invariant Integers using Multiplication", 1994). That is too large by less than 2⁻¹⁶ times the
/// divisor, which dividends below 400 by 128, or below 256 by 255, do not make a whole.
struct Bytes<'a, T> {
    a: &'a [T],
    by: i16,
    gives: Gives,
    out: &'a mut [T],
}

impl<T: Whole> Loop for Bytes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Bytes { a, by, gives, out } = self;
        let divisor = by.unsigned_abs();
        let reciprocal = (1u32 << 16).div_ceil(u32::from(divisor));
        // Multiples of the divisor that make dividends positive, where they have a sign.
        let multiples = if T::of_short(-1).short() < 0 { 128u16.div_ceil(divisor) } else { 0 };
        let floor = |a: i16| {
            let dividend = (if by < 0 { -a } else { a } + (multiples * divisor) as i16) as u16;
            ((u32::from(dividend) * reciprocal) >> 16) as i16 - multiples as i16
        };
        let rest = |a: i16| a - floor(a) * by;
        let pairs = out.iter_mut().zip(a);
        match gives {
            Gives::Quotient => pairs.for_each(|(out, a)| *out = T::of_short(floor(a.short()))),
            Gives::Rest => pairs.for_each(|(out, a)| *out = T::of_short(rest(a.short()))),
            Gives::Cut => pairs.for_each(|(out, a)| {
                let (a, rest) = (a.short(), rest(a.short()));
                *out = T::of_short(if (rest != 0) & ((a ^ by) < 0) { rest - by } else { rest });
            }),
        }
    }
}

/// A float that counts integers.
pub(super) trait Real: num_traits::Float {
    /// One and a half times the number beside which the lowest bit counts ones.
    const SHIFT: Self;
}
impl Real for f32 {
    const SHIFT: f32 = (3u32 << 22) as f32;
}
impl Real for f64 {
    const SHIFT: f64 = (3u64 << 51) as f64;
}

/// What lanes are of, and the float that they become.
pub(super) trait Lane<R>: Copy + Default + Eq {
    /// Exactly, if it is not large.
    fn real(self) -> R;
    /// The integer that a float counts beside [`Real::SHIFT`].
    fn counted(shifted: R) -> Self;
    /// The quotient and the remainder that belong to the nearest integer, or to the one beside it, as those of the quotient rounded
    /// down.
    fn settled(self, by: Self, nearest: Self) -> (Self, Self);
    /// The remainder of the quotient cut to an integer, made of that of the quotient rounded down.
    fn cut(self, by: Self, rest: Self) -> Self;
    /// Bits that tell whether one of two is too large for floats.
    fn extent(self, other: Self) -> u64;
}

macro_rules! lane {
    ($ty:ty, $real:ty: $of:expr, $counted:expr, $extent:expr) => {
        impl Lane<$real> for $ty {
            #[inline(always)]
            fn real(self) -> $real {
                $of(self)
            }
            #[inline(always)]
            fn counted(shifted: $real) -> $ty {
                $counted(shifted.to_bits())
            }
            #[inline(always)]
            fn settled(self, by: $ty, nearest: $ty) -> ($ty, $ty) {
                let left = self.wrapping_sub(nearest.wrapping_mul(by));
                let above = -<$ty>::from((left != 0) & ((left ^ by) < 0));
                (nearest.wrapping_add(above), left.wrapping_add(above & by))
            }
            #[inline(always)]
            fn cut(self, by: $ty, rest: $ty) -> $ty {
                let differ = -<$ty>::from((rest != 0) & ((self ^ by) < 0));
                rest.wrapping_sub(differ & by)
            }
            #[inline(always)]
            fn extent(self, other: $ty) -> u64 {
                $extent(self, other)
            }
        }
    };
}
// What comes from 16 bits at most: nearest integers of quotients are below 2¹⁷, and wrong by 2⁻⁶ before they are rounded.
lane!(i32, f32: |x| x as f32, |bits: u32| bits.wrapping_sub(f32::SHIFT.to_bits()) as i32, |_, _| 0);
lane!(i32, f64: f64::from, |bits| bits as i32, |_, _| 0);
lane! {
    i64, f64: |x: i64| f64::from_bits(f64::SHIFT.to_bits().wrapping_add(x as u64)) - f64::SHIFT,
    |bits: u64| bits.wrapping_sub(f64::SHIFT.to_bits()) as i64,
    |a: i64, b: i64| (((a ^ (a >> 63)) | (b ^ (b >> 63))) >> BITS) as u64
}

struct Floor<'a, T: Whole> {
    a: &'a [T],
    /// As many, or one.
    b: &'a [T],
    gives: Gives,
    out: &'a mut [T],
    /// For lanes of each.
    rooms: [&'a mut [T::Lane]; 3],
}

impl<T: Whole> Loop for Floor<'_, T> {
    /// Whether all elements were such as can be divided so: else what was written does not count.
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let Floor { a, b, gives, out, rooms: [of_a, of_b, room] } = self;
        let (dividends, divisors) = (T::lanes(a, of_a), T::lanes(b, of_b));
        let is_done = divide_lanes::<T::Real, _>(dividends, divisors, gives, T::place(out, room));
        T::take(out, room);
        is_done
    }
}

#[inline(always)]
fn divide_lanes<R: Real, L: Lane<R>>(dividends: &[L], divisors: &[L], gives: Gives, found: &mut [L]) -> bool {
    let Some(&first) = divisors.first() else { return true };
    let mut differ = false;
    divisors.iter().for_each(|&by| differ |= by != first);
    let reciprocal = R::one() / first.real();
    let divisors = if differ { divisors } else { &[first] };
    // Each a loop of its own.
    match (differ, gives) {
        (true, Gives::Quotient) => divided(dividends, divisors, found, |a, b| a / b, |_, _, quotient, _| quotient),
        (true, Gives::Rest) => divided(dividends, divisors, found, |a, b| a / b, |_, _, _, rest| rest),
        (true, Gives::Cut) => divided(dividends, divisors, found, |a, b| a / b, |a, b, _, rest| a.cut(b, rest)),
        (false, Gives::Quotient) => {
            divided(dividends, divisors, found, |a, _| a * reciprocal, |_, _, quotient, _| quotient)
        }
        (false, Gives::Rest) => divided(dividends, divisors, found, |a, _| a * reciprocal, |_, _, _, rest| rest),
        (false, Gives::Cut) => {
            divided(dividends, divisors, found, |a, _| a * reciprocal, |a, b, _, rest| a.cut(b, rest))
        }
    }
}

#[inline(always)]
fn divided<R: Real, L: Lane<R>>(
    dividends: &[L],
    divisors: &[L],
    found: &mut [L],
    quotient: impl Fn(R, R) -> R,
    of: impl Fn(L, L, L, L) -> L,
) -> bool {
    let (mut large, mut zeros) = (0, false);
    each(dividends, divisors, found, |a, b| {
        large |= a.extent(b);
        zeros |= b == L::default();
        // What is left by the nearest integer, or by the one beside it, is less than the divisor.
        let nearest = L::counted(quotient(a.real(), b.real()) + R::SHIFT);
        let (quotient, rest) = a.settled(b, nearest);
        of(a, b, quotient, rest)
    });
    large == 0 && !zeros
}

#[cfg(test)]
mod tests {
    use bytemuck::{cast_slice, cast_slice_mut};

    use super::*;
    use crate::simd::{Level, set_level};

    fn agree<T: Whole + bytemuck::Pod + PartialEq + std::fmt::Debug>(values: &[T]) {
        let (a, b): (Vec<T>, Vec<T>) = values.iter().flat_map(|&a| values.iter().map(move |&b| (a, b))).unzip();
        let mut out = vec![T::default(); a.len()];
        type Kernel = fn(&[u8], &[u8], &mut [u8]);
        let kinds: [(Kernel, fn(T, T) -> T); 3] = [
            (floor_divide::<T>, T::floor_div),
            (remainder::<T>, T::floor_rem),
            (cut_remainder::<T>, |a, b| a.checked_rem(&b).unwrap_or_default()),
        ];
        for level in Level::ALL {
            set_level(Some(level));
            for part in [1, 7, AT_ONCE, a.len()] {
                for (kind, one) in kinds {
                    let blocks = a.chunks(part).zip(b.chunks(part)).zip(out.chunks_mut(part));
                    blocks.for_each(|((a, b), out)| kind(cast_slice(a), cast_slice(b), cast_slice_mut(out)));
                    for ((&a, &b), &found) in a.iter().zip(&b).zip(&out) {
                        assert_eq!(found, one(a, b), "{a:?}, {b:?} in blocks of {part} at {level:?}");
                    }
                }
            }
        }
        set_level(None);
    }

    #[test]
    fn all_bytes_by_each_divisor() {
        fn agree<T: Whole + bytemuck::Pod + PartialEq + std::fmt::Debug>(all: &[T]) {
            let mut out = vec![T::default(); all.len()];
            for &by in all {
                let divisor = [by];
                let (a, b) = (cast_slice(all), cast_slice(&divisor));
                let each = |one: fn(T, T) -> T| all.iter().map(|&a| one(a, by)).collect::<Vec<T>>();
                floor_divide::<T>(a, b, cast_slice_mut(&mut out));
                assert_eq!(out, each(T::floor_div), "quotients by {by:?}");
                remainder::<T>(a, b, cast_slice_mut(&mut out));
                assert_eq!(out, each(T::floor_rem), "remainders by {by:?}");
                cut_remainder::<T>(a, b, cast_slice_mut(&mut out));
                assert_eq!(out, each(|a, b| a.checked_rem(&b).unwrap_or_default()), "cut remainders by {by:?}");
            }
        }
        for level in Level::ALL {
            set_level(Some(level));
            agree(&(0..=u8::MAX).collect::<Vec<_>>());
            agree(&(i8::MIN..=i8::MAX).collect::<Vec<_>>());
        }
        set_level(None);
    }

    /// Numbers beside which rounding could go wrong: powers of two, and what is next to them and to their multiples.
    fn numbers(bits: u32) -> impl Iterator<Item = i128> {
        let near = |x: i128| [x - 1, x, x + 1];
        (0..bits)
            .flat_map(move |k| near(1 << k))
            .chain((0..bits.min(40)).flat_map(move |k| near(7 << k)))
            .chain([10, 1_000_003])
    }

    #[test]
    fn quotients_are_those_of_one_division_after_the_other() {
        let signed = |bits: u32| numbers(bits).flat_map(|x| [x, -x]);
        agree(&signed(7).filter_map(|x| i8::try_from(x).ok()).collect::<Vec<_>>());
        agree(&signed(15).filter_map(|x| i16::try_from(x).ok()).collect::<Vec<_>>());
        agree(&signed(31).filter_map(|x| i32::try_from(x).ok()).collect::<Vec<_>>());
        agree(&signed(63).filter_map(|x| i64::try_from(x).ok()).collect::<Vec<_>>());
        agree(&signed(50).filter_map(|x| i64::try_from(x).ok()).filter(|&x| x != 0).collect::<Vec<_>>());
        agree(&numbers(8).filter_map(|x| u8::try_from(x).ok()).collect::<Vec<_>>());
        agree(&numbers(32).filter_map(|x| u32::try_from(x).ok()).collect::<Vec<_>>());
        agree(&numbers(64).filter_map(|x| u64::try_from(x).ok()).collect::<Vec<_>>());
    }
}
