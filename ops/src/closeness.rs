//! Which elements are within a tolerance of others.

use crate::dtype::{DType, Element};
use crate::simd::{Loop, vectorised};
use crate::unary::special::hypot;
use crate::{bf16, c64, c128, f16, with_dtype};

/// How far apart `a` and `b` may be: `|a - b| <= atol + rtol * |b|`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative to the right operand.
    pub rtol: f64,
    /// Absolute.
    pub atol: f64,
    /// Whether NaN is close to NaN.
    pub equal_nan: bool,
}

impl Tolerance {
    /// Without a branch, so that loops over it become vector code.
    #[inline(always)]
    fn holds<T: Near>(self, a: T, b: T) -> bool {
        let (a_nan, b_nan) = (a.has_nan(), b.has_nan());
        let size = b.size();
        let is_near = (size < f64::INFINITY) & (a.distance(b) <= self.atol + self.rtol * size);
        // What is the same is near, infinities too.
        let holds = (a == b) | (is_near & !a_nan & !b_nan);
        holds | (self.equal_nan & a_nan & b_nan)
    }
}

/// Elements that may be close to each other.
trait Near: Element + PartialEq {
    fn distance(self, other: Self) -> f64;
    /// How far from zero.
    fn size(self) -> f64;
    /// Whether it, or a part of it, is NaN.
    #[inline(always)]
    fn has_nan(self) -> bool {
        false
    }
}

macro_rules! near_exactly {
    ($($ty:ty: $size:ident;)+) => {$(
        impl Near for $ty {
            #[inline(always)]
            fn distance(self, other: $ty) -> f64 {
                self.abs_diff(other) as f64
            }
            #[inline(always)]
            fn size(self) -> f64 {
                self.$size() as f64
            }
        }
    )+};
}
near_exactly! {
    i8: unsigned_abs; i16: unsigned_abs; i32: unsigned_abs; i64: unsigned_abs;
    u8: clone; u16: clone; u32: clone; u64: clone;
}

impl Near for bool {
    #[inline(always)]
    fn distance(self, other: bool) -> f64 {
        f64::from(self ^ other)
    }
    #[inline(always)]
    fn size(self) -> f64 {
        f64::from(self)
    }
}

macro_rules! near {
    ($($ty:ty),+) => {$(
        impl Near for $ty {
            #[inline(always)]
            fn distance(self, other: $ty) -> f64 {
                (f64::from(self) - f64::from(other)).abs()
            }
            #[inline(always)]
            fn size(self) -> f64 {
                f64::from(self).abs()
            }
            #[inline(always)]
            fn has_nan(self) -> bool {
                self.is_nan()
            }
        }
    )+};
}
near!(f16, bf16, f32, f64);

macro_rules! near_in_parts {
    ($($ty:ty),+) => {$(
        impl Near for $ty {
            #[inline(always)]
            fn distance(self, other: $ty) -> f64 {
                let between = |a, b| f64::from(a) - f64::from(b);
                hypot(between(self.re, other.re), between(self.im, other.im))
            }
            #[inline(always)]
            fn size(self) -> f64 {
                hypot(f64::from(self.re), f64::from(self.im))
            }
            #[inline(always)]
            fn has_nan(self) -> bool {
                self.re.is_nan() | self.im.is_nan()
            }
        }
    )+};
}
near_in_parts!(c64, c128);

struct Close<'a, T> {
    a: &'a [T],
    b: &'a [T],
    out: &'a mut [u8],
    tolerance: Tolerance,
}

impl<T: Near> Loop for Close<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        for ((o, &x), &y) in self.out.iter_mut().zip(self.a).zip(self.b) {
            *o = u8::from(self.tolerance.holds(x, y));
        }
    }
}

/// Says of each pair of elements of a dtype whether they are close (output: bool). Integers are compared exactly before
/// the tolerance, floats in `f64`, complex numbers by the modulus of their difference; infinities are close to
/// themselves alone.
pub fn close(dtype: DType, a: &[u8], b: &[u8], out: &mut [u8], tolerance: Tolerance) {
    with_dtype!(dtype, T => vectorised(Close { a: T::from_bytes(a), b: T::from_bytes(b), out, tolerance }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::{Level, set_level};

    #[test]
    fn tolerances() {
        let t = Tolerance { rtol: 0.1, atol: 0.0, equal_nan: false };
        assert!(t.holds(1.0625, 1.0) && !t.holds(1.125, 1.0));
        assert!(t.holds(f64::INFINITY, f64::INFINITY));
        assert!(!t.holds(1.0, f64::INFINITY) && !t.holds(f64::INFINITY, 1.0));
        let equal_nan = Tolerance { equal_nan: true, ..t };
        assert!(!t.holds(f64::NAN, f64::NAN) && equal_nan.holds(f64::NAN, f64::NAN));
        assert!(!equal_nan.holds(f64::NAN, 1.0) && !equal_nan.holds(1.0, f64::NAN));
        let exact = Tolerance { rtol: 0.0, ..t };
        assert!(!exact.holds(i64::MAX, i64::MAX - 1) && exact.holds(i64::MIN, i64::MIN));
        assert!(exact.holds(0.0, -0.0));
        assert!(t.holds(u64::MAX, u64::MAX - 7) && !t.holds(i64::MIN, i64::MAX));
        assert!(t.holds(true, true) && !t.holds(false, true));
        assert!(t.holds(f16::from_f32(1.0625), f16::ONE) && !t.holds(bf16::from_f32(1.125), bf16::ONE));
        // Integers without a sign lie on both sides.
        assert!(t.holds(9u8, 10) && t.holds(10u8, 10) && !t.holds(8u8, 10) && !t.holds(12u8, 10));
        let c = c128::new;
        assert!(t.holds(c(0.0, 1.05), c(0.0, 1.0)) && !t.holds(c(0.0, 1.05), c(0.0, -1.0)));
        assert!(!exact.holds(c(0.0, f64::INFINITY), c(1.0, f64::INFINITY)));
        // Whatever the other part is, and however large what is allowed.
        let all = Tolerance { atol: f64::INFINITY, ..t };
        let nan = c(f64::NAN, f64::INFINITY);
        assert!(all.holds(c(1.0, 0.0), c(5.0, 0.0)) && !all.holds(nan, c(5.0, 0.0)) && !all.holds(c(5.0, 0.0), nan));
        assert!(equal_nan.holds(nan, c(1.0, f64::NAN)) && !t.holds(nan, nan));
        // Past the range of their squares.
        assert!(t.holds(c(1.05e200, 1e200), c(1e200, 1e200)) && !t.holds(c(1.5e200, 1e200), c(1e200, 1e200)));
        assert!(t.holds(c64::new(1.05e30, 0.0), c64::new(1e30, 0.0)));
    }

    #[test]
    fn blocks_at_each_level() {
        let numbers = [0.0, 1.0, 1.05, -1.0, f64::NAN, f64::INFINITY, 1e300];
        let (a, b): (Vec<f64>, Vec<f64>) = numbers.iter().flat_map(|&x| numbers.map(|y| (x, y))).unzip();
        let tolerance = Tolerance { rtol: 0.1, atol: 0.0, equal_nan: true };
        let expected: Vec<u8> = a.iter().zip(&b).map(|(&x, &y)| tolerance.holds(x, y).into()).collect();
        assert_eq!(expected.iter().filter(|&&is| is == 1).count(), 9, "each to itself, and 1 and 1.05 to each other");
        for level in Level::ALL {
            set_level(Some(level));
            let mut out = vec![7; a.len()];
            close(DType::F64, f64::as_bytes(&a), f64::as_bytes(&b), &mut out, tolerance);
            assert_eq!(out, expected, "{level:?}");
        }
        set_level(None);
    }
}
