//! Numbers of twice the precision of f64: sums of two f64, for functions that f64 is too coarse to check.

use std::ops::{Add, Div, Mul, Neg, Sub};

use super::dtype::power_of_two;

/// high + low, where low is at most half an ulp of high.
#[derive(Clone, Copy, Debug)]
pub struct Double {
    high: f64,
    low: f64,
}

pub const PI: Double = Double { high: std::f64::consts::PI, low: 1.224_646_799_147_353_2e-16 };
pub const LN_2: Double = Double { high: std::f64::consts::LN_2, low: 2.319_046_813_846_299_6e-17 };

pub const fn double(x: f64) -> Double {
    Double { high: x, low: 0.0 }
}

/// a + b and what is lost of it.
fn sum(a: f64, b: f64) -> Double {
    let high = a + b;
    let of_b = high - a;
    Double { high, low: (a - (high - of_b)) + (b - of_b) }
}

impl Double {
    pub fn value(self) -> f64 {
        self.high + self.low
    }

    pub fn recip(self) -> Double {
        double(1.0) / self
    }

    /// Newton's step from the root in f64.
    pub fn sqrt(self) -> Double {
        if self.high <= 0.0 {
            return double(self.high.sqrt());
        }
        let root = double(self.high.sqrt());
        (root + self / root) * double(0.5)
    }

    /// 2^n times the Taylor series within ln(2) / 2 of 0. Past the range of f64 what f64 has.
    pub fn exp(self) -> Double {
        if self.high.is_nan() || self.high.abs() >= 700.0 {
            // In two halves down to the least number.
            let half = if self.high.abs() < 760.0 { (self * double(0.5)).exp().value() } else { self.high.exp() };
            return double(half * half);
        }
        let n = (self.high / LN_2.high).round();
        let rest = self - LN_2 * double(n);
        let (mut term, mut total) = (double(1.0), double(1.0));
        for k in 1..32 {
            term = term * rest / double(k as f64);
            total = total + term;
        }
        total * double(power_of_two(n as i32))
    }

    /// Halley's step from the logarithm in f64; at the ends of the range that of f64.
    pub fn ln(self) -> Double {
        let first = double(self.high.ln());
        if !(1e-280..1e280).contains(&self.high) {
            return first;
        }
        let back = first.exp();
        first + double(2.0) * (self - back) / (self + back)
    }

    /// log(1 + self), for self above -1.
    pub fn ln_1p(self) -> Double {
        if self.high.abs() < 1e-10 {
            return self - self * self * (double(0.5) - self / double(3.0));
        }
        (self + double(1.0)).ln()
    }

    /// The sine and the cosine of π self, by their Taylor series, for self within 1/2 of 0.
    pub fn sin_cos_pi(self) -> (Double, Double) {
        let x = PI * self;
        let (mut sin, mut cos, mut term) = (double(0.0), double(0.0), double(1.0));
        for k in 0..40 {
            let signed = if k % 4 < 2 { term } else { -term };
            if k % 2 == 0 {
                cos = cos + signed;
            } else {
                sin = sin + signed;
            }
            term = term * x / double((k + 1) as f64);
        }
        (sin, cos)
    }
}

impl Add for Double {
    type Output = Double;
    fn add(self, other: Double) -> Double {
        let high = sum(self.high, other.high);
        let low = sum(self.low, other.low);
        let first = sum(high.high, high.low + low.high);
        sum(first.high, first.low + low.low)
    }
}

impl Neg for Double {
    type Output = Double;
    fn neg(self) -> Double {
        Double { high: -self.high, low: -self.low }
    }
}

impl Sub for Double {
    type Output = Double;
    fn sub(self, other: Double) -> Double {
        self + -other
    }
}

impl Mul for Double {
    type Output = Double;
    fn mul(self, other: Double) -> Double {
        let high = self.high * other.high;
        let low = self.high.mul_add(other.high, -high) + (self.high * other.low + self.low * other.high);
        sum(high, low)
    }
}

impl Div for Double {
    type Output = Double;
    fn div(self, other: Double) -> Double {
        let first = self.high / other.high;
        let rest = self - other * double(first);
        let second = rest.high / other.high;
        let rest = rest - other * double(second);
        sum(first, second) + double(rest.high / other.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: Double, b: Double) {
        let difference = (a - b).value().abs();
        assert!(difference <= 1e-29 * b.value().abs(), "{a:?} {b:?}");
    }

    #[test]
    fn identities() {
        for x in [1e-3, 0.7, 1.0, 2.5, 39.0, 1e5] {
            let x = double(x) / double(3.0);
            near(x * double(3.0) / x, double(3.0));
            near(x.sqrt() * x.sqrt(), x);
            near(x.ln().exp(), x);
            near((x + double(1.0)).ln(), x.ln_1p());
        }
        near(double(1.0).exp() * double(-1.0).exp(), double(1.0));
        near((LN_2 * double(5.0)).exp(), double(32.0));
        let (sin, cos) = (double(1.0) / double(6.0)).sin_cos_pi();
        near(sin, double(0.5));
        near(cos * cos, double(0.75));
    }
}
