//! Sums without rounding: a fixed-point number that is wide enough for every `float64`.
//!
//! Each finite `float64` is an integer times 2^−1074, so that their sum is too: it is kept whole and rounded once. The
//! idea of such a long accumulator is Kulisch's (*Computer Arithmetic and Validity*, 2008); that of limbs with spare
//! bits, whose carries wait, is as in Neal, "Fast exact summation using small and large superaccumulators" (2015). Being
//! exact, it does not depend on the order of the terms, and what is taken away again leaves no trace.

mod quick;
#[cfg(test)]
mod tests;

pub use self::quick::Quick;

/// Bits of a limb's place; the rest of its 64 bits takes carries that wait.
const BITS: usize = 32;

/// 2098 bits of the largest `float64`, 64 for the number of terms, 128 for a factor, and the sign.
const LIMBS: usize = 74;

/// Limbs that the bits of one term can fall on.
const SPAN: usize = 3;

/// How many terms may be added before carries must move: each adds less than 2^32 to a limb.
const WAITING: u32 = 1 << 30;

const FRACTION: u32 = 52;
const EXPONENTS: u64 = 0x7FF;

/// An exact sum of `float64` terms, of up to 2^64 of them.
///
/// Terms that are not finite are added aside, by the rules of IEEE 754, and decide the result.
#[derive(Clone, Debug)]
pub struct Exact {
    /// `Σ limbs[i] · 2^(32·i − 1074)`.
    limbs: [i64; LIMBS],
    /// Limbs outside `low..high` are 0.
    low: usize,
    high: usize,
    /// Terms since carries moved.
    waiting: u32,
    /// The sum of the terms that are not finite; 0 where there are none.
    special: f64,
}

/// An exact sum at rest: as many digits as it needs.
#[derive(Clone, Debug)]
pub struct Compact {
    /// Place of the first digit.
    first: usize,
    /// Base 2^32, from −2^31 to 2^31 − 1, the least first: without a sign, and short also where it is negative.
    digits: Box<[i32]>,
    special: f64,
}

impl Default for Exact {
    fn default() -> Exact {
        Exact::new()
    }
}

impl Exact {
    /// The sum of nothing.
    pub const fn new() -> Exact {
        Exact { limbs: [0; LIMBS], low: LIMBS, high: 0, waiting: 0, special: 0.0 }
    }

    /// Adds a term.
    #[inline]
    pub fn add(&mut self, term: f64) {
        let bits = term.to_bits();
        let exponent = bits >> FRACTION & EXPONENTS;
        if exponent == EXPONENTS {
            self.special += term;
        } else if term != 0.0 {
            let integer = bits & ((1 << FRACTION) - 1) | u64::from(exponent != 0) << FRACTION;
            let shift = exponent.saturating_sub(1) as usize;
            let (at, wide) = (shift / BITS, u128::from(integer) << (shift % BITS));
            let sign = if term < 0.0 { -1 } else { 1 };
            for (i, limb) in self.limbs[at..at + SPAN].iter_mut().enumerate() {
                *limb += sign * i64::from((wide >> (BITS * i)) as u32);
            }
            self.touched(at, at + SPAN);
        }
    }

    /// Takes a term away.
    #[inline]
    pub fn sub(&mut self, term: f64) {
        self.add(-term);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Compact) {
        self.special += other.special;
        let end = other.first + other.digits.len();
        for (limb, &digit) in self.limbs[other.first..end].iter_mut().zip(&other.digits) {
            *limb += i64::from(digit);
        }
        self.touched(other.first, end);
    }

    /// Makes it the sum of so many times its terms. A sum beyond all that 2^64 terms and one factor can give
    /// becomes infinite.
    pub fn scale(&mut self, times: u128) {
        if times == 0 {
            *self = Exact::new();
            return;
        }
        let Compact { first, digits, special } = self.compact();
        *self = Exact { special, ..Exact::new() };
        let end = first + digits.len() + (128 - times.leading_zeros() as usize).div_ceil(BITS);
        let Some(&top) = digits.last() else { return };
        if end > LIMBS {
            self.special += f64::INFINITY.copysign(top.into());
            return;
        }
        for (i, &digit) in digits.iter().enumerate() {
            for (j, at) in (first + i..end - 1).enumerate().take(128 / BITS) {
                // At most 2^63 in magnitude; a limb takes eight such halves.
                let product = i64::from(digit) * i64::from((times >> (BITS * j)) as u32);
                self.limbs[at] += i64::from(product as u32);
                self.limbs[at + 1] += product >> BITS;
            }
        }
        self.touched(first, end);
    }

    /// The sum as few digits.
    pub fn compact(&mut self) -> Compact {
        self.carry();
        let limbs = &self.limbs[self.low.min(self.high)..self.high];
        let zeros = limbs.iter().take_while(|&&l| l == 0).count();
        let end = limbs.iter().rposition(|&l| l != 0).map_or(zeros, |last| last + 1);
        // After carries have moved, limbs are digits.
        let digits = limbs[zeros..end].iter().map(|&l| l as i32).collect();
        Compact { first: self.high - limbs.len() + zeros, digits, special: self.special }
    }

    /// The nearest `float64` to the sum, of two the even one; the sum of nothing, and any that is 0, is +0.
    pub fn round(&mut self) -> f64 {
        let Compact { first, digits, special } = self.compact();
        let Some(top) = digits.last().filter(|_| special == 0.0) else { return special };
        // The magnitude, in digits from 0 to 2^32 − 1: the leading one tells the sign.
        let (sign, mut carry) = (i64::from(top.signum()), 0);
        let mut magnitude = [0u32; LIMBS];
        for (m, &digit) in magnitude[first..].iter_mut().zip(&digits) {
            carry += sign * i64::from(digit);
            *m = carry as u32;
            carry >>= BITS;
        }
        let magnitude = rounded(&magnitude[..first + digits.len()]);
        if sign < 0 { -magnitude } else { magnitude }
    }

    fn touched(&mut self, low: usize, high: usize) {
        (self.low, self.high) = (self.low.min(low), self.high.max(high));
        self.waiting += 1;
        if self.waiting == WAITING {
            self.carry();
        }
    }

    /// Moves carries, so that limbs are digits from −2^31 to 2^31 − 1.
    fn carry(&mut self) {
        let (mut i, mut carry) = (self.low, 0);
        while i < LIMBS && (i < self.high || carry != 0) {
            let limb = self.limbs[i] + carry;
            carry = (limb + (1 << (BITS - 1))) >> BITS;
            self.limbs[i] = limb - (carry << BITS);
            i += 1;
            self.high = self.high.max(i);
        }
        debug_assert_eq!(carry, 0, "more terms than there is room for");
        self.waiting = 0;
    }
}

/// The nearest `float64` to `Σ digits[i] · 2^(32·i − 1074)`, ties to even, infinity where it is too large.
fn rounded(digits: &[u32]) -> f64 {
    let length = digits.iter().rposition(|&d| d != 0).map_or(0, |top| top + 1);
    let (below, top) = digits[..length].split_at(length.saturating_sub(SPAN));
    let top = top.iter().rev().fold(0u128, |t, &d| t << BITS | u128::from(d));
    // Of the bits of `top`, those below `cut` do not fit; the last that does is worth 2^(exponent − 1074).
    let bits = below.len() * BITS + (128 - top.leading_zeros() as usize);
    let exponent = bits.saturating_sub(FRACTION as usize + 1);
    let cut = exponent - below.len() * BITS;
    let integer = (top >> cut) as u64;
    let (rest, unit) = (top & ((1 << cut) - 1), 1u128 << cut);
    let up = match (2 * rest).cmp(&unit) {
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => integer & 1 == 1 || below.iter().any(|&d| d != 0),
        std::cmp::Ordering::Greater => true,
    };
    // The leading bit of the integer counts the exponent up by one, and so does a carry out of rounding; a subnormal
    // has no such bit, and exponent 0.
    let encoded = ((exponent as u64) << FRACTION) + integer + u64::from(up);
    f64::from_bits(encoded.min(EXPONENTS << FRACTION))
}
