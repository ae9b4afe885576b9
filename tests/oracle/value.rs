//! One value, and casts between dtypes.

use super::dtype::{Kind, OType};

/// A value that is already rounded or wrapped to the dtype it belongs to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OValue {
    Bool(bool),
    Int(i128),
    Float(f64),
    Complex(f64, f64),
}

use OValue::*;

impl OValue {
    /// Cast to a dtype: to bool is `!= 0` (NaN is true); integer to integer wraps; float to integer
    /// goes toward zero and saturates, NaN to 0; to a float rounds once, to nearest even; complex to
    /// real takes the real part; bool counts as 0 or 1.
    pub fn cast(self, to: OType) -> OValue {
        match to.kind() {
            Kind::Bool => Bool(self.truth()),
            Kind::Signed | Kind::Unsigned => Int(match self {
                Bool(b) => b as i128,
                Int(v) => to.wrap(v),
                Float(x) | Complex(x, _) => to.saturate(x),
            }),
            Kind::Float => Float(self.real_part_in(to)),
            Kind::Complex => match self {
                Complex(re, im) => Complex(to.round(re), to.round(im)),
                real => Complex(real.real_part_in(to), 0.0),
            },
        }
    }

    fn real_part_in(self, to: OType) -> f64 {
        match self {
            Bool(b) => b as u8 as f64,
            Int(v) => to.round_int(v),
            Float(x) | Complex(x, _) => to.round(x),
        }
    }

    /// Not zero; NaN is true.
    pub fn truth(self) -> bool {
        match self {
            Bool(b) => b,
            Int(v) => v != 0,
            Float(x) => x != 0.0,
            Complex(re, im) => re != 0.0 || im != 0.0,
        }
    }

    /// Some part is NaN.
    pub fn is_nan(self) -> bool {
        match self {
            Bool(_) | Int(_) => false,
            Float(x) => x.is_nan(),
            Complex(re, im) => re.is_nan() || im.is_nan(),
        }
    }

    /// Some part is infinite.
    pub fn is_infinite(self) -> bool {
        match self {
            Bool(_) | Int(_) => false,
            Float(x) => x.is_infinite(),
            Complex(re, im) => re.is_infinite() || im.is_infinite(),
        }
    }

    /// No part is NaN or infinite.
    pub fn is_finite(self) -> bool {
        !self.is_nan() && !self.is_infinite()
    }

    /// Equal, where NaN equals NaN and -0 equals 0; complex part by part. Values of different
    /// kinds are never equal.
    pub fn same(self, other: OValue) -> bool {
        let same = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
        match (self, other) {
            (Bool(a), Bool(b)) => a == b,
            (Int(a), Int(b)) => a == b,
            (Float(a), Float(b)) => same(a, b),
            (Complex(a, b), Complex(c, d)) => same(a, c) && same(b, d),
            _ => false,
        }
    }

    /// As an integer; bool counts as 0 or 1. A float is a mistake of the oracle.
    pub(super) fn int(self) -> i128 {
        match self {
            Bool(b) => b as i128,
            Int(v) => v,
            _ => panic!("{self:?} is no integer"),
        }
    }

    /// Real and imaginary part in f64.
    pub(super) fn parts(self) -> (f64, f64) {
        match self {
            Bool(b) => (b as u8 as f64, 0.0),
            Int(v) => (v as f64, 0.0),
            Float(x) => (x, 0.0),
            Complex(re, im) => (re, im),
        }
    }

    /// Whether the value can stand in that dtype: of its kind and left as it is by a cast to it.
    pub fn belongs_to(self, dtype: OType) -> bool {
        self.same(self.cast(dtype))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn casts() {
        assert_eq!(Float(f64::NAN).cast(OType::Bool), Bool(true));
        assert_eq!(Float(-0.0).cast(OType::Bool), Bool(false));
        assert_eq!(Complex(0.0, 1.0).cast(OType::Bool), Bool(true));
        assert_eq!(Int(300).cast(OType::U8), Int(44));
        assert_eq!(Int(200).cast(OType::I8), Int(-56));
        assert_eq!(Float(1e9).cast(OType::I8), Int(127));
        assert_eq!(Complex(-3.7, 9.0).cast(OType::I32), Int(-3));
        assert_eq!(Complex(2.5, 9.0).cast(OType::F16), Float(2.5));
        assert_eq!(Bool(true).cast(OType::Complex64), Complex(1.0, 0.0));
        assert_eq!(Int(16_777_217).cast(OType::F32), Float(16_777_216.0));
        assert_eq!(Int(70_000).cast(OType::F16), Float(f64::INFINITY));
        assert_eq!(Float(1e300).cast(OType::F32), Float(f64::INFINITY));
        assert_eq!(Complex(1e300, 0.1).cast(OType::Complex64), Complex(f64::INFINITY, 0.1f32 as f64));
    }

    #[test]
    fn sameness() {
        assert!(Float(f64::NAN).same(Float(f64::NAN)));
        assert!(Float(0.0).same(Float(-0.0)));
        assert!(!Int(1).same(Float(1.0)));
        assert!(Float(0.1f32 as f64).belongs_to(OType::F32));
        assert!(!Float(0.1).belongs_to(OType::F32));
        assert!(!Int(128).belongs_to(OType::I8));
    }
}
