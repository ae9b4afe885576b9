//! Numbers in decimal: the shortest text that reads back as the same value.

use openwork_ops::{Cast, Element, Wide, bf16, c64, c128, f16};

/// Appends a whole number.
pub(in crate::io) fn push_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends a float that is finite: the fewest digits that read back as the same value of its type, and among those the nearest.
fn push_finite(out: &mut Vec<u8>, value: impl zmij::Float + Into<f64> + Copy) {
    /// What has an exponent is from here on, of either type.
    const GREAT: f64 = 1e12;
    let mut digits = zmij::Buffer::new();
    let text = digits.format_finite(value);
    // Exponents have a sign only where it says something.
    let exponent = if value.into().abs() < GREAT { None } else { text.split_once('+') };
    let (text, exponent) = exponent.unwrap_or((text, ""));
    out.extend_from_slice(text.as_bytes());
    out.extend_from_slice(exponent.as_bytes());
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
            push_finite(out, self);
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
        push_finite(out, self);
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
#[path = "tests/number.rs"]
mod tests;
