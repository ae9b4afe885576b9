//! Powers of integers, which wrap: many at a time, all of which are squared once for each bit of the exponents.

use num_traits::{PrimInt, WrappingMul};

use crate::dtype::Element;
use crate::groups::{each, part};
use crate::simd::{Loop, vectorised};

/// Bases that are squared at a time.
const AT_ONCE: usize = 256;

/// An integer that is raised to powers.
pub(super) trait Power: Element + PrimInt + WrappingMul {
    fn power(self, exponent: Self) -> Self;
}

macro_rules! power {
    ($($ty:ty as $wide:ty: $power:ident;)+) => {$(
        impl Power for $ty {
            #[inline(always)]
            fn power(self, exponent: $ty) -> $ty {
                $power(self as $wide, exponent as $wide) as $ty // modulo 2^64, so modulo less too
            }
        }
    )+};
}
power! {
    i8 as i64: pow_signed; i16 as i64: pow_signed; i32 as i64: pow_signed; i64 as i64: pow_signed;
    u8 as u64: pow_unsigned; u16 as u64: pow_unsigned; u32 as u64: pow_unsigned; u64 as u64: pow_unsigned;
}

/// `base` to the power of `exponent`, modulo 2^64.
fn pow_unsigned(mut base: u64, mut exponent: u64) -> u64 {
    let mut power = 1u64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            power = power.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    power
}

/// `base` to the power of `exponent`, modulo 2^64; negative powers are truncated to integers, that of
/// 0 to 0.
fn pow_signed(base: i64, exponent: i64) -> i64 {
    match (base, exponent) {
        (1, _) => 1,
        (-1, _) => 1 - 2 * (exponent & 1),
        (_, ..0) => 0,
        _ => pow_unsigned(base as u64, exponent as u64) as i64,
    }
}

/// `a` to the power of `b`; one by one where an exponent is negative.
pub(super) fn powers<T: Power>(a: &[u8], b: &[u8], out: &mut [u8]) {
    let (a, b, out) = (T::from_bytes(a), T::from_bytes(b), T::from_bytes_mut(out));
    // Squares, which are asked for most, need no room.
    if let [exponent] = *b
        && exponent.to_u64() == Some(2)
    {
        return each(a, a, out, |a, b| a.wrapping_mul(&b));
    }
    for (i, out) in out.chunks_mut(AT_ONCE).enumerate() {
        let (a, b) = (part(a, i * AT_ONCE, out.len()), part(b, i * AT_ONCE, out.len()));
        if !vectorised(Squared { a, b, out: &mut *out }) {
            each(a, b, out, T::power);
        }
    }
}

struct Squared<'a, T> {
    /// As many as there are powers, or one.
    a: &'a [T],
    b: &'a [T],
    /// At most [`AT_ONCE`].
    out: &'a mut [T],
}

impl<T: Power> Loop for Squared<'_, T> {
    /// Whether no exponent is negative: else nothing is written.
    type Output = bool;

    #[inline(always)]
    fn run(self) -> bool {
        let (n, one) = (self.out.len(), T::one());
        // Bits that some exponent has.
        let all = self.b.iter().fold(T::zero(), |all, &exponent| all | exponent);
        let Some(mut all) = all.to_u64() else { return false };
        let [mut bases, mut exponents] = [[one; AT_ONCE]; 2];
        filled(&mut bases[..n], self.a);
        let alike = self.b.len() == 1;
        if !alike {
            filled(&mut exponents[..n], self.b);
        }
        let (bases, exponents) = (&mut bases[..n], &mut exponents[..n]);
        let mut is_first = true;
        while all > 0 {
            let powers = self.out.iter_mut().zip(&*bases);
            match (all & 1 == 1, is_first) {
                (false, _) => {}
                (true, true) if alike => powers.for_each(|(power, &base)| *power = base),
                (true, false) if alike => powers.for_each(|(power, base)| *power = power.wrapping_mul(base)),
                (true, _) => powers.zip(&*exponents).for_each(|((power, &base), &exponent)| {
                    let before = if is_first { one } else { *power };
                    *power = before.wrapping_mul(&if exponent & one == one { base } else { one });
                }),
            }
            is_first &= all & 1 == 0;
            all >>= 1;
            if all > 0 {
                bases.iter_mut().for_each(|base| *base = base.wrapping_mul(base));
                if !alike {
                    exponents.iter_mut().for_each(|exponent| *exponent = *exponent >> 1);
                }
            }
        }
        if is_first {
            self.out.fill(one);
        }
        true
    }
}

/// Writes the elements of an operand, or the one that it is over and over.
#[inline(always)]
fn filled<T: Copy>(to: &mut [T], operand: &[T]) {
    match operand {
        &[one] => to.fill(one),
        all => to.copy_from_slice(all),
    }
}

#[cfg(test)]
mod tests {
    use bytemuck::{cast_slice, cast_slice_mut};

    use super::*;
    use crate::simd::{Level, set_level};

    fn agree<T: Power + bytemuck::Pod + std::fmt::Debug>(bases: &[T], exponents: &[T]) {
        let each = |b: &[T]| -> Vec<T> { bases.iter().zip(b.iter().cycle()).map(|(&a, &b)| a.power(b)).collect() };
        let pairs: Vec<T> = exponents.iter().copied().cycle().take(bases.len()).collect();
        let mut out = vec![T::zero(); bases.len()];
        for level in Level::ALL {
            set_level(Some(level));
            powers::<T>(cast_slice(bases), cast_slice(&pairs), cast_slice_mut(&mut out));
            assert_eq!(out, each(&pairs), "exponents {exponents:?} at {level:?}");
            for &exponent in exponents {
                powers::<T>(cast_slice(bases), cast_slice(&[exponent]), cast_slice_mut(&mut out));
                assert_eq!(out, each(&[exponent]), "to the power of {exponent:?} at {level:?}");
                let base = bases[bases.len() / 2];
                powers::<T>(cast_slice(&[base]), cast_slice(&pairs), cast_slice_mut(&mut out));
                let wanted: Vec<T> = pairs.iter().map(|&b| base.power(b)).collect();
                assert_eq!(out, wanted, "powers of {base:?} at {level:?}");
            }
        }
        set_level(None);
    }

    #[test]
    fn many_at_a_time_are_those_of_one_after_the_other() {
        agree(&(0..=255).cycle().take(700).collect::<Vec<u8>>(), &[0, 1, 2, 3, 7, 8, 200, 255]);
        agree(&(-128..=127).cycle().take(700).collect::<Vec<i8>>(), &[0, 1, 2, 3, 5, 127]);
        agree(&(-128..=127).cycle().take(700).collect::<Vec<i8>>(), &[3, -1, -2, 0, -128]);
        agree(&(0..600i32).map(|i| i.wrapping_mul(7_158_279)).collect::<Vec<i32>>(), &[0, 2, 3, 4, 31, 1 << 30]);
        agree(&(0..600).map(|i| i * 7 - 300).collect::<Vec<i16>>(), &[0, 2, 6, 9]);
        agree(&(0..600).map(|i| i * 0x9e37_79b9_7f4a).collect::<Vec<u64>>(), &[0, 2, 3, 1 << 63, u64::MAX]);
        agree(&(0..600).map(|i| i * 0x009e_3779_b97f - 2500).collect::<Vec<i64>>(), &[0, 2, 3, 10, i64::MAX, -1]);
    }
}
