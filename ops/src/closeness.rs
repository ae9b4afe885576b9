//! Which elements are within a tolerance of others.

use crate::dtype::DType;
use crate::scalar::{Cast, Wide};
use crate::with_dtype;

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
    fn holds(self, a: Wide, b: Wide) -> bool {
        let (distance, size) = match (a, b) {
            (Wide::Float(x), Wide::Float(y)) => {
                if x == y {
                    return true; // infinities too
                }
                if x.is_nan() || y.is_nan() {
                    return self.equal_nan && x.is_nan() && y.is_nan();
                }
                ((x - y).abs(), y.abs())
            }
            (Wide::Complex(a, b), Wide::Complex(c, d)) => {
                let (x_nan, y_nan) = (a.is_nan() || b.is_nan(), c.is_nan() || d.is_nan());
                if x_nan || y_nan {
                    return self.equal_nan && x_nan && y_nan;
                }
                if a == c && b == d {
                    return true;
                }
                ((a - c).hypot(b - d), c.hypot(d))
            }
            _ => {
                let (x, y) = (integer(a), integer(b));
                if x == y {
                    return true;
                }
                ((x - y).unsigned_abs() as f64, y.unsigned_abs() as f64)
            }
        };
        size.is_finite() && distance <= self.atol + self.rtol * size
    }
}

fn integer(v: Wide) -> i128 {
    match v {
        Wide::Signed(v) => v.into(),
        Wide::Unsigned(v) => v.into(),
        Wide::Float(x) | Wide::Complex(x, _) => x as i128,
    }
}

/// Says of each pair of elements of a dtype whether they are close (output: bool). Integers are compared exactly before
/// the tolerance, floats in `f64`, complex numbers by the modulus of their difference; infinities are close to
/// themselves alone.
pub fn close(dtype: DType, a: &[u8], b: &[u8], out: &mut [u8], tolerance: Tolerance) {
    fn run<T: Cast>(a: &[u8], b: &[u8], out: &mut [u8], tolerance: Tolerance) {
        for ((o, &x), &y) in out.iter_mut().zip(T::from_bytes(a)).zip(T::from_bytes(b)) {
            *o = u8::from(tolerance.holds(x.widen(), y.widen()));
        }
    }
    with_dtype!(dtype, T => run::<T>(a, b, out, tolerance));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances() {
        let t = Tolerance { rtol: 0.1, atol: 0.0, equal_nan: false };
        let f = Wide::Float;
        assert!(t.holds(f(1.0625), f(1.0)) && !t.holds(f(1.125), f(1.0)));
        assert!(t.holds(f(f64::INFINITY), f(f64::INFINITY)));
        assert!(!t.holds(f(1.0), f(f64::INFINITY)) && !t.holds(f(f64::INFINITY), f(1.0)));
        assert!(!t.holds(f(f64::NAN), f(f64::NAN)));
        assert!(Tolerance { equal_nan: true, ..t }.holds(f(f64::NAN), f(f64::NAN)));
        let exact = Tolerance { rtol: 0.0, ..t };
        assert!(!exact.holds(Wide::Signed(i64::MAX), Wide::Signed(i64::MAX - 1)));
        assert!(exact.holds(f(0.0), f(-0.0)));
        assert!(t.holds(Wide::Unsigned(u64::MAX), Wide::Unsigned(u64::MAX - 7)));
        assert!(t.holds(Wide::Complex(0.0, 1.05), Wide::Complex(0.0, 1.0)));
        assert!(!exact.holds(Wide::Complex(0.0, f64::INFINITY), Wide::Complex(1.0, f64::INFINITY)));
    }
}
