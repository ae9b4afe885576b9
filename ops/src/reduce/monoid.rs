//! The monoids of the folds: an accumulator type, its neutral element, how two combine, and how an
//! element enters.

use std::marker::PhantomData;
use std::ops::{Add, AddAssign};

#[cfg(target_arch = "x86_64")]
use super::rows::Lanes;
use crate::dtype::{DType, Element, c128};
use crate::groups::Store;
use crate::scalar::{Cast, Scalar};
use crate::{bf16, f16};

/// An associative combination, commutative but for float rounding, with a neutral element.
pub(super) trait Monoid: 'static {
    type Acc: Store;
    const IDENTITY: Self::Acc;
    /// What leaves every accumulator as it is, bit for bit.
    const PADDING: Self::Acc = Self::IDENTITY;
    /// Whether loops are compiled for each level of vector instructions: they gain where the baseline has no instruction, or
    /// where memory waits for them.
    const WIDE: bool = false;
    /// Whether any order of combining comes to the same, bit for bit: of whole numbers and truth values. Their loops say nothing of
    /// lanes, of which the compiler makes vectors where it fails to of loops that do.
    const EXACT: bool = false;
    /// What nothing that is combined with it changes: whoever has it need not look further.
    const ABSORBING: Option<Self::Acc> = None;
    /// Whether one of two is picked: without rounding, and by several instructions one after the other, so that more
    /// accumulators are to be on their way.
    const PICKS: bool = false;
    /// Whether it is by a choice, and not by an instruction that computes it, that an accumulator may stay as it is.
    const STAYS: bool = false;
    /// What eight lanes of `f64` do at a time, if accumulators that are `f64` or `f32` are found so.
    #[cfg(target_arch = "x86_64")]
    const LANES: Option<Lanes> = None;
    fn combine(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// `n` copies of `a` combined, for `n > 0`.
    fn power(a: Self::Acc, n: u128) -> Self::Acc;
}

/// A fold of elements of type `E`.
pub(super) trait Fold<E: Element>: Monoid {
    /// An element as an accumulator.
    fn lift(element: E) -> Self::Acc;
    /// The fold of some elements where a shorter loop than that of [`Monoid::combine`] comes to the same.
    #[inline(always)]
    fn shortly(_: &[E]) -> Option<Self::Acc> {
        None
    }
    /// Whether elements are all the same, where that is seen at once.
    #[inline(always)]
    fn are_alike(_: &[E]) -> bool {
        false
    }
    /// [`Fold::lift`] for a scalar of the fold's input dtype, which is not `E` where blocks are converted.
    fn lift_scalar(scalar: Scalar) -> Self::Acc;
}

pub(super) struct Sum<A>(PhantomData<A>);
pub(super) struct Prod<A>(PhantomData<A>);
pub(super) struct Min<A>(PhantomData<A>);
pub(super) struct Max<A>(PhantomData<A>);
pub(super) struct Any;
pub(super) struct All;
pub(super) struct Count;

/// `a` combined with itself `n > 0` times, by squaring.
fn repeat<A: Copy>(mut a: A, mut n: u128, combine: impl Fn(A, A) -> A) -> A {
    while n & 1 == 0 {
        a = combine(a, a);
        n >>= 1;
    }
    let mut power = a;
    while n > 1 {
        a = combine(a, a);
        n >>= 1;
        if n & 1 == 1 {
            power = combine(power, a);
        }
    }
    power
}

macro_rules! arithmetic {
    ($ty:ty, $zero:expr, $padding:expr, $one:expr, $wide:expr, $add:expr, $mul:expr, $times:expr, $power:expr) => {
        impl Monoid for Sum<$ty> {
            type Acc = $ty;
            const IDENTITY: $ty = $zero;
            const PADDING: $ty = $padding;
            const WIDE: bool = $wide;
            const EXACT: bool = <$ty as Element>::DTYPE.is_int();
            #[cfg(target_arch = "x86_64")]
            const LANES: Option<Lanes> = if matches!(<$ty as Element>::DTYPE, DType::F64) { Some(Lanes::Sum) } else { None };
            #[inline(always)]
            fn combine(a: $ty, b: $ty) -> $ty {
                let add: fn($ty, $ty) -> $ty = $add;
                add(a, b)
            }
            fn power(a: $ty, n: u128) -> $ty {
                let times: fn($ty, u128) -> $ty = $times;
                times(a, n)
            }
        }
        impl Monoid for Prod<$ty> {
            type Acc = $ty;
            const IDENTITY: $ty = $one;
            const WIDE: bool = <$ty as Element>::DTYPE.is_inexact();
            #[inline(always)]
            fn combine(a: $ty, b: $ty) -> $ty {
                let mul: fn($ty, $ty) -> $ty = $mul;
                mul(a, b)
            }
            fn power(a: $ty, n: u128) -> $ty {
                let power: fn($ty, u128) -> $ty = $power;
                power(a, n)
            }
        }
        arithmetic!(@ Sum<$ty>, $ty, |elements| if const { <$ty as Element>::DTYPE.is_int() } {
            sum_of_narrow(elements).map(|sum| <$ty>::narrow(sum.widen()))
        } else {
            None
        });
        arithmetic!(@ Prod<$ty>, $ty, |_elements| None);
    };
    (@ $monoid:ty, $ty:ty, |$elements:ident| $shortly:expr) => {
        impl<E: Cast> Fold<E> for $monoid {
            #[inline(always)]
            fn lift(element: E) -> $ty {
                <$ty>::narrow(element.widen())
            }
            #[inline(always)]
            fn shortly($elements: &[E]) -> Option<$ty> {
                $shortly
            }
            fn lift_scalar(scalar: Scalar) -> $ty {
                scalar.to()
            }
        }
    };
}

arithmetic!(i64, 0, 0, 1, true, i64::wrapping_add, i64::wrapping_mul, |a, n| a.wrapping_mul(n as i64), |a, n| repeat(
    a,
    n,
    i64::wrapping_mul
));
arithmetic!(u64, 0, 0, 1, true, u64::wrapping_add, u64::wrapping_mul, |a, n| a.wrapping_mul(n as u64), |a, n| repeat(
    a,
    n,
    u64::wrapping_mul
));
arithmetic!(
    f64,
    0.0,
    -0.0,
    1.0,
    true,
    |a, b| a + b,
    |a, b| a * b,
    |a, n| a * n as f64,
    // One rounding, where squaring would double the relative error in each step.
    |a, n| if a < 0.0 && n & 1 == 1 { -(-a).powf(n as f64) } else { a.abs().powf(n as f64) }
);
arithmetic!(
    c128,
    c128::new(0.0, 0.0),
    c128::new(-0.0, -0.0),
    c128::new(1.0, 0.0),
    true,
    |a, b| a + b,
    |a, b| a * b,
    |a, n| c128::new(a.re * n as f64, a.im * n as f64),
    |a, n| repeat(a, n, |a, b| a * b)
);

/// Of floats that are all numbers the one that no other is `better` than. Every sum with a NaN is one, and few others are.
#[inline(always)]
fn best_of_numbers<T: Copy + Add<Output = T> + PartialEq, const N: usize>(
    values: &[T],
    identity: T,
    better: impl Fn(T, T) -> bool,
) -> Option<T> {
    let (mut best, mut sums) = ([identity; N], [identity; N]);
    let (chunks, rest) = values.as_chunks::<N>();
    for chunk in chunks {
        for i in 0..N {
            best[i] = if better(best[i], chunk[i]) { best[i] } else { chunk[i] };
            sums[i] = sums[i] + chunk[i];
        }
    }
    for (i, &value) in rest.iter().enumerate() {
        best[i] = if better(best[i], value) { best[i] } else { value };
        sums[i] = sums[i] + value;
    }
    #[allow(clippy::eq_op)] // what is not equal to itself is no number
    if sums.iter().any(|sum| sum != sum) {
        return None;
    }
    let mut width = N;
    while width > 1 {
        width /= 2;
        for i in 0..width {
            best[i] = if better(best[i], best[i + width]) { best[i] } else { best[i + width] };
        }
    }
    Some(best[0])
}

/// Elements below which sixteen lanes find the best of them.
const FEW: usize = 192;

/// The least or greatest element. `$better(a, b)` says whether `a` replaces `b`.
macro_rules! order {
    ($($ty:ty: $least:expr, $greatest:expr, |$a:ident| $wins:expr, $shortly:ident;)+) => {$(
        order!(@ Min, Least, $ty, $greatest, |$a| $wins, <, $shortly);
        order!(@ Max, Greatest, $ty, $least, |$a| $wins, >, $shortly);
    )+};
    (@ $monoid:ident, $lanes:ident, $ty:ty, $identity:expr, |$a:ident| $wins:expr, $better:tt, $shortly:ident) => {
        impl Monoid for $monoid<$ty> {
            type Acc = $ty;
            const IDENTITY: $ty = $identity;
            const WIDE: bool = size_of::<$ty>() >= 4;
            const EXACT: bool = <$ty as Element>::DTYPE.is_int();
            const PICKS: bool = matches!(<$ty as Element>::DTYPE, crate::DType::F64 | crate::DType::F32);
            const STAYS: bool = Self::PICKS | matches!(<$ty as Element>::DTYPE, crate::DType::I64 | crate::DType::U64);
            #[cfg(target_arch = "x86_64")]
            const LANES: Option<Lanes> = if Self::PICKS { Some(Lanes::$lanes) } else { None };
            #[inline(always)]
            fn combine($a: $ty, b: $ty) -> $ty {
                // Without a branch that nobody can predict.
                if ($a $better b) | $wins { $a } else { b }
            }
            fn power(a: $ty, _: u128) -> $ty {
                a
            }
        }
        impl Fold<$ty> for $monoid<$ty> {
            #[inline(always)]
            fn lift(element: $ty) -> $ty {
                element
            }
            fn lift_scalar(scalar: Scalar) -> $ty {
                scalar.to()
            }
            order!(@ $shortly, $ty, $identity, $better);
        }
    };
    (@ plainly, $ty:ty, $identity:expr, $better:tt) => {};
    (@ shortly, $ty:ty, $identity:expr, $better:tt) => {
        #[inline(always)]
        fn shortly(values: &[$ty]) -> Option<$ty> {
            // Few have no use for many lanes, which are combined in the end.
            if values.len() < FEW {
                return best_of_numbers::<$ty, 16>(values, $identity, |a, b| a $better b);
            }
            best_of_numbers::<$ty, { 256 / size_of::<$ty>() }>(values, $identity, |a, b| a $better b)
        }
    };
}

order! {
    i8: i8::MIN, i8::MAX, |a| false, plainly;
    i16: i16::MIN, i16::MAX, |a| false, plainly;
    i32: i32::MIN, i32::MAX, |a| false, plainly;
    i64: i64::MIN, i64::MAX, |a| false, plainly;
    u8: u8::MIN, u8::MAX, |a| false, plainly;
    u16: u16::MIN, u16::MAX, |a| false, plainly;
    u32: u32::MIN, u32::MAX, |a| false, plainly;
    u64: u64::MIN, u64::MAX, |a| false, plainly;
    f16: f16::NEG_INFINITY, f16::INFINITY, |a| a.is_nan(), plainly;
    bf16: bf16::NEG_INFINITY, bf16::INFINITY, |a| a.is_nan(), plainly;
    f32: f32::NEG_INFINITY, f32::INFINITY, |a| a.is_nan(), shortly;
    f64: f64::NEG_INFINITY, f64::INFINITY, |a| a.is_nan(), shortly;
}

/// Folds of whether elements are not zero: blocks enter as bool.
macro_rules! truth {
    ($monoid:ty, $acc:ty, $identity:expr, $absorbing:expr, |$all:ident| $shortly:expr, |$a:ident, $b:ident| $combine:expr, |$n:ident| $power:expr) => {
        impl Monoid for $monoid {
            type Acc = $acc;
            const IDENTITY: $acc = $identity;
            const WIDE: bool = size_of::<$acc>() > 1;
            const EXACT: bool = true;
            const ABSORBING: Option<$acc> = $absorbing;
            #[inline(always)]
            fn combine($a: $acc, $b: $acc) -> $acc {
                $combine
            }
            fn power($a: $acc, $n: u128) -> $acc {
                $power
            }
        }
        impl Fold<bool> for $monoid {
            #[inline(always)]
            fn lift(element: bool) -> $acc {
                element.into()
            }
            #[inline(always)]
            fn shortly($all: &[bool]) -> Option<$acc> {
                $shortly
            }
            fn are_alike(elements: &[bool]) -> bool {
                // Compared as bytes, many at a time.
                elements.get(1..).is_none_or(|rest| rest == &elements[..rest.len()])
            }
            fn lift_scalar(scalar: Scalar) -> $acc {
                (!scalar.is_zero()).into()
            }
        }
    };
}

truth!(Any, bool, false, Some(true), |_all| None, |a, b| a | b, |_n| a);
truth!(All, bool, true, Some(false), |_all| None, |a, b| a & b, |_n| a);
truth!(Count, u64, 0, None, |all| sum_of_narrow(all), |a, b| a.wrapping_add(b), |n| a.wrapping_mul(n as u64));

/// Integers are counted as they are, by counters as wide as they are.
macro_rules! count_of_integers {
    ($($ty:ty, $turns:literal;)+) => {$(
        impl Fold<$ty> for Count {
            #[inline(always)]
            fn lift(element: $ty) -> u64 {
                (element != 0).into()
            }
            #[inline(always)]
            fn shortly(elements: &[$ty]) -> Option<u64> {
                by_counters::<$ty, $ty, $turns>(elements, |element| (element != 0).into())
            }
            fn lift_scalar(scalar: Scalar) -> u64 {
                (!scalar.is_zero()).into()
            }
        }
    )+};
}
count_of_integers! {
    u8, 255;
    u16, 65_535;
    u32, 65_535;
}

/// The sum of what is made of each element, in narrow counters: as many turns as they have room for, then they are read, which takes
/// as long as some hundred elements otherwise do. Of fewer nothing.
#[inline(always)]
fn by_counters<E: Copy, C: Copy + Default + AddAssign, const TURNS: usize>(
    elements: &[E],
    each: impl Fn(E) -> C,
) -> Option<u64>
where
    i64: From<C>,
{
    const COUNTERS: usize = 64;
    if elements.len() < 8 * COUNTERS {
        return None;
    }
    let mut total = 0;
    for elements in elements.chunks(COUNTERS * TURNS) {
        let (blocks, rest) = elements.as_chunks::<COUNTERS>();
        let mut counters = [C::default(); COUNTERS];
        for block in blocks {
            for i in 0..COUNTERS {
                counters[i] += each(block[i]);
            }
        }
        total += counters.iter().map(|&n| i64::from(n)).sum::<i64>();
        total += rest.iter().map(|&element| i64::from(each(element))).sum::<i64>();
    }
    Some(total as u64)
}

/// The sum of integers of one or two bytes, or of truth values, as 64 bits.
#[inline(always)]
fn sum_of_narrow<E: Element>(elements: &[E]) -> Option<u64> {
    let bytes = E::as_bytes(elements);
    match const { E::DTYPE } {
        DType::Bool => by_counters::<u8, u8, 255>(bytes, |element| element),
        DType::U8 => by_counters::<u8, u16, 256>(bytes, u16::from),
        DType::I8 => by_counters::<i8, i16, 255>(i8::from_bytes(bytes), i16::from),
        DType::U16 => by_counters::<u16, u32, 65_536>(u16::from_bytes(bytes), u32::from),
        DType::I16 => by_counters::<i16, i32, 65_535>(i16::from_bytes(bytes), i32::from),
        _ => None,
    }
}
