//! How large and how small floats are, in one pass.

use crate::simd::{Loop, vectorised};

/// Of floats, or of the parts of complex numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Whether none of them is NaN or infinite. If not, the largest magnitude says nothing.
    pub is_finite: bool,
    /// The smallest magnitude other than zero; infinite if there is none.
    pub low: f64,
    /// The largest magnitude.
    pub high: f64,
}

impl Extent {
    /// Of no floats.
    pub const NOTHING: Extent = Extent { is_finite: true, low: f64::INFINITY, high: 0.0 };

    /// Of floats of 64 bits.
    pub fn of_f64(values: &[f64]) -> Extent {
        vectorised(Look(values))
    }

    /// Of floats of 32 bits.
    pub fn of_f32(values: &[f32]) -> Extent {
        vectorised(Look(values))
    }

    /// Of all of both.
    #[must_use]
    pub fn and(self, other: Extent) -> Extent {
        Extent {
            is_finite: self.is_finite && other.is_finite,
            low: self.low.min(other.low),
            high: self.high.max(other.high),
        }
    }
}

/// A float whose magnitudes are in order as integers are.
trait Magnitude: Copy {
    type Bits: Copy + Ord;
    const ZERO: Self::Bits;
    const MOST: Self::Bits;

    fn magnitude(self) -> Self::Bits;
    fn float(bits: Self::Bits) -> f64;
}

macro_rules! magnitude {
    ($float:ty, $signed:ty) => {
        impl Magnitude for $float {
            type Bits = $signed;
            const ZERO: $signed = 0;
            const MOST: $signed = <$signed>::MAX;

            #[inline(always)]
            fn magnitude(self) -> $signed {
                self.to_bits() as $signed & <$signed>::MAX
            }
            #[inline(always)]
            fn float(bits: $signed) -> f64 {
                <$float>::from_bits(bits as _).into()
            }
        }
    };
}
magnitude!(f64, i64);
magnitude!(f32, i32);

struct Look<'a, T>(&'a [T]);

impl<T: Magnitude> Loop for Look<'_, T> {
    type Output = Extent;

    /// Lanes, each with its own least and greatest, so that the loop becomes vector code.
    #[inline(always)]
    fn run(self) -> Extent {
        const LANES: usize = 16;
        let (mut low, mut high) = ([T::MOST; LANES], [T::ZERO; LANES]);
        let mut look = |i: usize, v: T| {
            let v = v.magnitude();
            let above = if v == T::ZERO { T::MOST } else { v };
            low[i] = if above < low[i] { above } else { low[i] };
            high[i] = if v > high[i] { v } else { high[i] };
        };
        let (chunks, rest) = self.0.as_chunks::<LANES>();
        for chunk in chunks {
            for (i, &v) in chunk.iter().enumerate() {
                look(i, v);
            }
        }
        for (i, &v) in rest.iter().enumerate() {
            look(i, v);
        }
        let low = low.iter().fold(T::MOST, |low, &v| low.min(v));
        let high = T::float(high.iter().fold(T::ZERO, |high, &v| high.max(v)));
        let low = if low == T::MOST { f64::INFINITY } else { T::float(low) };
        Extent { is_finite: high.is_finite(), low, high }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents() {
        let of = |v: &[f64]| {
            let single = Extent::of_f32(&v.iter().map(|&v| v as f32).collect::<Vec<_>>());
            let double = Extent::of_f64(v);
            assert!(single == double || !double.is_finite && !single.is_finite);
            double
        };
        let mut values = vec![0.0; 35];
        assert_eq!(of(&[]), Extent::NOTHING);
        assert_eq!(of(&values), Extent::NOTHING);
        (values[7], values[34], values[9]) = (-3.0, 0.5, -0.0);
        assert_eq!(of(&values), Extent { is_finite: true, low: 0.5, high: 3.0 });
        for bad in [f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            for at in [0, 17, 33] {
                let mut values = values.clone();
                values[at] = bad;
                assert!(!of(&values).is_finite, "{bad} at {at}");
            }
        }
        let tiny = f64::from_bits(1);
        assert_eq!(Extent::of_f64(&[0.0, -tiny, 1.0]).low, tiny);
    }
}
