//! Numbers in decimal: the shortest text that reads back as the same value.

use std::io::Write;

use openwork_ops::{Cast, Element, Wide, bf16, c64, c128, f16};

/// Appends a whole number.
pub(in crate::io) fn push_u64(out: &mut Vec<u8>, value: u64) {
    let mut digits = [0_u8; 20];
    let mut rest = value;
    let mut used = 0;
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + (rest % 10) as u8;
        rest /= 10;
        used += 1;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(digits.get(digits.len() - used..).unwrap_or_default());
}

/// An element that can be written.
pub(in crate::io) trait Text: Element {
    /// Appends the value: `true` as 1; a complex number as its two parts with a blank between.
    fn push(self, out: &mut Vec<u8>);
}

impl Text for bool {
    fn push(self, out: &mut Vec<u8>) {
        out.push(b'0' + u8::from(self));
    }
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Text for $ty {
            fn push(self, out: &mut Vec<u8>) {
                #[allow(unused_comparisons)]
                if self < 0 {
                    out.push(b'-');
                }
                push_u64(out, self.abs_diff(0).into());
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Text for f64 {
    fn push(self, out: &mut Vec<u8>) {
        if self.is_finite() {
            // Writing to a vector does not fail.
            let _ = write!(out, "{self:?}");
        } else {
            let name: &[u8] = if self.is_nan() { b"nan" } else { b"inf" };
            if self == f64::NEG_INFINITY {
                out.push(b'-');
            }
            out.extend_from_slice(name);
        }
    }
}

impl Text for f32 {
    fn push(self, out: &mut Vec<u8>) {
        if !self.is_finite() {
            return f64::from(self).push(out);
        }
        let start = out.len();
        let _ = write!(out, "{self:?}");
        // Readers go through f64, and a few texts (7.038531e-26) then round to a neighbour.
        let text = out.get(start..).unwrap_or_default();
        if fast_float2::parse::<f64, _>(text).ok().map(|wide| wide as f32) != Some(self) {
            out.truncate(start);
            f64::from(self).push(out);
        }
    }
}

macro_rules! halves {
    ($($ty:ty),*) => {$(
        impl Text for $ty {
            fn push(self, out: &mut Vec<u8>) {
                let wide = f64::from(self.to_f32());
                // The fewest digits that come back; five are always enough.
                let short = (0..5).find_map(|digits| {
                    let short: f64 = format!("{wide:.digits$e}").parse().ok()?;
                    (<$ty>::narrow(Wide::Float(short)) == self).then_some(short)
                });
                short.unwrap_or(wide).push(out);
            }
        }
    )*};
}
halves!(f16, bf16);

macro_rules! complex {
    ($($ty:ty),*) => {$(
        impl Text for $ty {
            fn push(self, out: &mut Vec<u8>) {
                self.re.push(out);
                out.push(b' ');
                self.im.push(out);
            }
        }
    )*};
}
complex!(c64, c128);

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: impl Text) -> String {
        let mut out = Vec::new();
        value.push(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn whole_numbers() {
        for value in [0, 9, 10, 4_294_967_296, u64::MAX] {
            assert_eq!(text(value), value.to_string());
        }
        assert_eq!((text(i64::MIN), text(i8::MIN), text(true)), (i64::MIN.to_string(), "-128".into(), "1".into()));
    }

    #[test]
    fn every_half_comes_back_short() {
        for bits in 0..=u16::MAX {
            let (a, b) = (f16::from_bits(bits), bf16::from_bits(bits));
            let (x, y): (f64, f64) = (text(a).parse().unwrap(), text(b).parse().unwrap());
            assert!(f16::narrow(Wide::Float(x)) == a || a.is_nan() && x.is_nan());
            assert!(bf16::narrow(Wide::Float(y)) == b || b.is_nan() && y.is_nan());
            assert_eq!(a.is_sign_negative() && !a.is_nan(), text(a).starts_with('-'));
        }
        assert_eq!((text(f16::from_f32(0.1)), text(bf16::from_f32(1.0))), ("0.1".into(), "1.0".into()));
    }

    #[test]
    fn floats_come_back_through_f64() {
        assert_eq!(text(7.038531e-26_f32).parse::<f64>().unwrap() as f32, 7.038531e-26_f32);
        assert_ne!(text(7.038531e-26_f32), "7.038531e-26");
        assert_eq!((text(0.1_f32), text(-0.0_f64), text(1e300)), ("0.1".into(), "-0.0".into(), "1e300".into()));
        assert_eq!(text(c128::new(f64::NAN, f64::NEG_INFINITY)), "nan -inf");
        let mut bits = 1_u32;
        for _ in 0..100_000 {
            bits = bits.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            let value = f32::from_bits(bits);
            assert!(text(value).parse::<f64>().unwrap() as f32 == value || value.is_nan());
        }
    }
}
