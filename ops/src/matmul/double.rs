//! Sums of two `f64`: about 106 bits (Dekker, "A floating-point technique for extending the available
//! precision", 1971), of products of `f64` whose rounding errors a fused multiply-add gives exactly.

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

/// An `f64` as a term of sums of two.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(transparent)]
pub(super) struct Exact(pub(super) f64);

/// A complex number of two [`Exact`] floats.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct ComplexExact {
    pub(super) re: Exact,
    pub(super) im: Exact,
}

impl Double {
    pub(super) const ZERO: Double = Double { hi: 0.0, lo: 0.0 };

    pub(super) fn new(value: f64) -> Double {
        Double { hi: value, lo: 0.0 }
    }

    /// `self + a`.
    #[inline(always)]
    pub(super) fn plus(self, a: f64) -> Double {
        let (s, e) = two_sum(self.hi, a);
        quick_two_sum(s, self.lo + e)
    }

    /// `self + x * y`.
    #[inline(always)]
    pub(super) fn mul_add(self, x: f64, y: f64) -> Double {
        let p = x * y;
        let (s, e) = two_sum(self.hi, p);
        quick_two_sum(s, self.lo + (e + x.mul_add(y, -p)))
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

    #[inline(always)]
    fn negated(self) -> Double {
        Double { hi: -self.hi, lo: -self.lo }
    }

    pub(super) fn round(self) -> f64 {
        self.hi + self.lo
    }
}

impl ComplexDouble {
    pub(super) const ZERO: ComplexDouble = ComplexDouble { re: Double::ZERO, im: Double::ZERO };

    /// `self + x * y`.
    #[inline(always)]
    pub(super) fn mul_add(self, x: ComplexExact, y: ComplexExact) -> ComplexDouble {
        let (a, b, c, d) = (x.re.0, x.im.0, y.re.0, y.im.0);
        ComplexDouble { re: self.re.mul_add(a, c).mul_add(-b, d), im: self.im.mul_add(a, d).mul_add(b, c) }
    }

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

/// `v - f`, rounded, and what the rounding left.
#[inline(always)]
pub(super) fn difference(v: f64, f: f64) -> (f64, f64) {
    two_sum(v, -f)
}
