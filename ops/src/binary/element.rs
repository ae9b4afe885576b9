//! Element functions of the binary ops that take more than an expression.

use std::marker::PhantomData;

use crate::dtype::{Element, c64, c128};
use crate::groups::{Store, zip};
use crate::simd::{Loop, vectorised};

/// Whether a value counts as true: it is not zero. NaN is true.
pub(crate) trait Truthy: Copy {
    fn truthy(self) -> bool;
}

macro_rules! truthy {
    ($zero:expr => $($ty:ty),+) => {$(
        impl Truthy for $ty {
            #[inline(always)]
            fn truthy(self) -> bool {
                self != $zero
            }
        }
    )+};
}
truthy!(0 => u8, u16, u32, u64);
truthy!(0.0 => f32, f64);

macro_rules! truthy_parts {
    ($($ty:ty),+) => {$(
        impl Truthy for $ty {
            #[inline(always)]
            fn truthy(self) -> bool {
                self.re != 0.0 || self.im != 0.0
            }
        }
    )+};
}
truthy_parts!(c64, c128);

/// Division that rounds down, with its remainder.
pub(crate) trait FloorDiv: Copy {
    fn floor_div(self, by: Self) -> Self;
    fn floor_rem(self, by: Self) -> Self;
}

macro_rules! floor_div_signed {
    ($($ty:ty),+) => {$(
        impl FloorDiv for $ty {
            #[inline(always)]
            fn floor_div(self, by: $ty) -> $ty {
                if by == 0 {
                    return 0;
                }
                let (quotient, rest) = (self.wrapping_div(by), self.wrapping_rem(by));
                if rest != 0 && (rest < 0) != (by < 0) { quotient - 1 } else { quotient }
            }
            #[inline(always)]
            fn floor_rem(self, by: $ty) -> $ty {
                if by == 0 {
                    return 0;
                }
                let rest = self.wrapping_rem(by);
                if rest != 0 && (rest < 0) != (by < 0) { rest + by } else { rest }
            }
        }
    )+};
}
floor_div_signed!(i8, i16, i32, i64);

macro_rules! floor_div_unsigned {
    ($($ty:ty),+) => {$(
        impl FloorDiv for $ty {
            #[inline(always)]
            fn floor_div(self, by: $ty) -> $ty {
                self.checked_div(by).unwrap_or(0)
            }
            #[inline(always)]
            fn floor_rem(self, by: $ty) -> $ty {
                self.checked_rem(by).unwrap_or(0)
            }
        }
    )+};
}
floor_div_unsigned!(u8, u16, u32, u64);

macro_rules! floor_div_float {
    ($($ty:ty),+) => {$(
        impl FloorDiv for $ty {
            /// As Python's `//`, and `a / b` where `b` is 0.
            #[inline]
            fn floor_div(self, by: $ty) -> $ty {
                if by == 0.0 {
                    return self / by;
                }
                // `self - rest` is a multiple of `by`, so the quotient is an integer but for its rounding.
                let rest = self % by;
                let mut quotient = (self - rest) / by;
                if rest != 0.0 && (rest < 0.0) != (by < 0.0) {
                    quotient -= 1.0;
                }
                if quotient == 0.0 { (0.0 as $ty).copysign(self / by) } else { quotient.round() }
            }
            #[inline]
            fn floor_rem(self, by: $ty) -> $ty {
                let rest = self % by;
                if rest == 0.0 {
                    rest.copysign(by)
                } else if (rest < 0.0) != (by < 0.0) {
                    rest + by
                } else {
                    rest
                }
            }
        }
    )+};
}
floor_div_float!(f32, f64);

/// The greatest common divisor and the least common multiple. They are not negative, but for wrapping.
pub(crate) trait Divisors: Copy {
    fn gcd(self, other: Self) -> Self;
    fn lcm(self, other: Self) -> Self;
}

macro_rules! divisors {
    ($($ty:ty: $magnitude:expr;)+) => {$(
        impl Divisors for $ty {
            #[inline(always)]
            fn gcd(self, other: $ty) -> $ty {
                gcd($magnitude(self), $magnitude(other)) as $ty
            }
            #[inline(always)]
            fn lcm(self, other: $ty) -> $ty {
                lcm($magnitude(self), $magnitude(other)) as $ty // modulo 2^64, so modulo less too
            }
        }
    )+};
}
divisors! {
    i8: |x: i8| x.unsigned_abs().into(); i16: |x: i16| x.unsigned_abs().into();
    i32: |x: i32| x.unsigned_abs().into(); i64: i64::unsigned_abs;
    u8: u64::from; u16: u64::from; u32: u64::from; u64: u64::from;
}

/// Euclid's algorithm; `gcd(x, 0) = x`.
fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Modulo 2^64; `lcm(x, 0) = 0`.
fn lcm(a: u64, b: u64) -> u64 {
    a.checked_div(gcd(a, b)).unwrap_or(0).wrapping_mul(b)
}

/// Steps along the floats of a dtype.
pub(crate) trait Neighbour: Copy {
    fn next_after(self, to: Self) -> Self;
}

macro_rules! neighbour {
    ($($ty:ty),+) => {$(
        impl Neighbour for $ty {
            /// Floats of one sign are ordered as their bits are.
            #[inline]
            fn next_after(self, to: $ty) -> $ty {
                let zero = <$ty>::default();
                if self.is_nan() {
                    self
                } else if to.is_nan() || self == to {
                    to
                } else if self == zero {
                    <$ty>::from_bits(1).copysign(to)
                } else if (self < to) == (self > zero) {
                    <$ty>::from_bits(self.to_bits() + 1)
                } else {
                    <$ty>::from_bits(self.to_bits() - 1)
                }
            }
        }
    )+};
}
neighbour!(half::f16, half::bf16, f32, f64);

/// And, for bool.
pub(super) fn and(a: &[u8], b: &[u8], out: &mut [u8]) {
    zip::<u8, _>(a, b, out, |a, b| a & b);
}

/// Or, for bool.
pub(super) fn or(a: &[u8], b: &[u8], out: &mut [u8]) {
    zip::<u8, _>(a, b, out, |a, b| a | b);
}

/// Exclusive or, for bool.
pub(super) fn xor(a: &[u8], b: &[u8], out: &mut [u8]) {
    zip::<u8, _>(a, b, out, |a, b| a ^ b);
}

pub(super) fn equal<T: Element + PartialEq>(a: &[u8], b: &[u8], out: &mut [u8]) {
    at_level::<T, _>(a, b, out, |a, b| a == b);
}

pub(super) fn unequal<T: Element + PartialEq>(a: &[u8], b: &[u8], out: &mut [u8]) {
    at_level::<T, _>(a, b, out, |a, b| a != b);
}

pub(super) fn both<T: Element + Truthy>(a: &[u8], b: &[u8], out: &mut [u8]) {
    at_level::<T, _>(a, b, out, |a, b| a.truthy() & b.truthy());
}

pub(super) fn either<T: Element + Truthy>(a: &[u8], b: &[u8], out: &mut [u8]) {
    at_level::<T, _>(a, b, out, |a, b| a.truthy() | b.truthy());
}

pub(super) fn one<T: Element + Truthy>(a: &[u8], b: &[u8], out: &mut [u8]) {
    at_level::<T, _>(a, b, out, |a, b| a.truthy() ^ b.truthy());
}

pub(super) fn product<T: Store + std::ops::Mul<Output = T>>(a: &[u8], b: &[u8], out: &mut [u8]) {
    at_level::<T, _>(a, b, out, |a, b| a * b);
}

pub(super) fn quotient<T: Store + std::ops::Div<Output = T>>(a: &[u8], b: &[u8], out: &mut [u8]) {
    at_level::<T, _>(a, b, out, |a, b| a / b);
}

#[inline(never)] // `above` is the same loop
pub(super) fn below<T: Element + PartialOrd>(a: &[u8], b: &[u8], out: &mut [u8]) {
    at_level::<T, _>(a, b, out, |a, b| a < b);
}

#[inline(never)] // `not_below` is the same loop
pub(super) fn not_above<T: Element + PartialOrd>(a: &[u8], b: &[u8], out: &mut [u8]) {
    at_level::<T, _>(a, b, out, |a, b| a <= b);
}

/// The greater of two floats; NaN if one is.
pub(super) fn greater<T: Store + PartialOrd>(a: &[u8], b: &[u8], out: &mut [u8]) {
    #[allow(clippy::eq_op)] // what is not equal to itself is no number
    at_level::<T, _>(a, b, out, |a, b| if (a > b) | (a != a) { a } else { b });
}

/// The lesser of two floats; NaN if one is.
pub(super) fn lesser<T: Store + PartialOrd>(a: &[u8], b: &[u8], out: &mut [u8]) {
    #[allow(clippy::eq_op)] // as above
    at_level::<T, _>(a, b, out, |a, b| if (a < b) | (a != a) { a } else { b });
}

/// [`zip`] at the level of vector instructions in use: for loops that take several instructions of the baseline for each element, of
/// four bytes and more.
fn at_level<T: Element, B: Store>(a: &[u8], b: &[u8], out: &mut [u8], f: impl Fn(T, T) -> B) {
    struct Zip<'a, F, T, B>(&'a [u8], &'a [u8], &'a mut [u8], F, PhantomData<fn(T) -> B>);
    impl<T: Element, B: Store, F: Fn(T, T) -> B> Loop for Zip<'_, F, T, B> {
        type Output = ();
        #[inline(always)]
        fn run(self) {
            zip::<T, B>(self.0, self.1, self.2, self.3);
        }
    }
    if const { size_of::<T>() >= 4 } {
        vectorised(Zip(a, b, out, f, PhantomData));
    } else {
        zip::<T, B>(a, b, out, f);
    }
}

pub(super) fn above<T: Element + PartialOrd>(a: &[u8], b: &[u8], out: &mut [u8]) {
    below::<T>(b, a, out);
}

pub(super) fn not_below<T: Element + PartialOrd>(a: &[u8], b: &[u8], out: &mut [u8]) {
    not_above::<T>(b, a, out);
}
