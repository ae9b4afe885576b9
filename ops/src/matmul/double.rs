//! Sums of two `f64`: about 106 bits (Dekker, "A floating-point technique for extending the available
//! precision", 1971).

use bytemuck::{Pod, Zeroable};

/// `hi + lo` with `|lo|` at most half a unit in the last place of `hi`.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Double {
    pub(super) hi: f64,
    pub(super) lo: f64,
}

/// A complex number of two [`Double`]s.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub(super) struct ComplexDouble {
    pub(super) re: Double,
    pub(super) im: Double,
}

/// `a + b` and its rounding error, exactly.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// As [`two_sum`] where `|a| >= |b|`.
#[inline(always)]
fn quick_two_sum(a: f64, b: f64) -> Double {
    let hi = a + b;
    Double { hi, lo: b - (hi - a) }
}

impl Double {
    pub(super) const ZERO: Double = Double { hi: 0.0, lo: 0.0 };

    pub(super) fn new(value: f64) -> Double {
        Double { hi: value, lo: 0.0 }
    }

    /// `a - b`, exactly.
    pub(super) fn difference(a: f64, b: f64) -> Double {
        let (hi, lo) = two_sum(a, -b);
        Double { hi, lo }
    }

    #[inline(always)]
    pub(super) fn add(self, other: Double) -> Double {
        let (s, e) = two_sum(self.hi, other.hi);
        let (t, f) = two_sum(self.lo, other.lo);
        let v = quick_two_sum(s, e + t);
        quick_two_sum(v.hi, v.lo + f)
    }

    #[inline(always)]
    pub(super) fn mul(self, other: Double) -> Double {
        let p = self.hi * other.hi;
        let e = self.hi.mul_add(other.hi, -p);
        quick_two_sum(p, e + (self.hi * other.lo + self.lo * other.hi))
    }

    pub(super) fn negated(self) -> Double {
        Double { hi: -self.hi, lo: -self.lo }
    }

    pub(super) fn round(self) -> f64 {
        self.hi + self.lo
    }
}

impl ComplexDouble {
    pub(super) const ZERO: ComplexDouble = ComplexDouble { re: Double::ZERO, im: Double::ZERO };

    #[inline(always)]
    pub(super) fn add(self, other: ComplexDouble) -> ComplexDouble {
        ComplexDouble { re: self.re.add(other.re), im: self.im.add(other.im) }
    }

    #[inline(always)]
    pub(super) fn mul(self, other: ComplexDouble) -> ComplexDouble {
        let re = self.re.mul(other.re).add(self.im.mul(other.im).negated());
        let im = self.re.mul(other.im).add(self.im.mul(other.re));
        ComplexDouble { re, im }
    }
}
