//! The fifteen dtypes: names, ranges, wrapping, rounding and promotion.

/// An element type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    BF16,
    F32,
    F64,
    Complex64,
    Complex128,
}

use OType::*;

/// What sort of number a dtype holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Signed,
    Unsigned,
    Float,
    Complex,
}

/// Every dtype with its name.
const NAMES: [(OType, &str); 15] = [
    (Bool, "bool"),
    (I8, "i8"),
    (I16, "i16"),
    (I32, "i32"),
    (I64, "i64"),
    (U8, "u8"),
    (U16, "u16"),
    (U32, "u32"),
    (U64, "u64"),
    (F16, "f16"),
    (BF16, "bf16"),
    (F32, "f32"),
    (F64, "f64"),
    (Complex64, "complex64"),
    (Complex128, "complex128"),
];

impl OType {
    /// Every dtype.
    pub const ALL: [OType; 15] =
        [Bool, I8, I16, I32, I64, U8, U16, U32, U64, F16, BF16, F32, F64, Complex64, Complex128];

    /// The dtype of that name; a name that is none of the fifteen is `None`.
    pub fn parse(name: &str) -> Option<OType> {
        NAMES.iter().find(|(_, n)| *n == name).map(|(t, _)| *t)
    }

    /// The name that `parse` reads.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(t, _)| *t == self).expect("all dtypes are listed").1
    }

    pub fn kind(self) -> Kind {
        match self {
            Bool => Kind::Bool,
            I8 | I16 | I32 | I64 => Kind::Signed,
            U8 | U16 | U32 | U64 => Kind::Unsigned,
            F16 | BF16 | F32 | F64 => Kind::Float,
            Complex64 | Complex128 => Kind::Complex,
        }
    }

    pub fn is_bool(self) -> bool {
        self.kind() == Kind::Bool
    }

    /// Signed or unsigned integer; bool is not one.
    pub fn is_int(self) -> bool {
        matches!(self.kind(), Kind::Signed | Kind::Unsigned)
    }

    pub fn is_float(self) -> bool {
        self.kind() == Kind::Float
    }

    pub fn is_complex(self) -> bool {
        self.kind() == Kind::Complex
    }

    /// The dtype of the parts of a complex dtype; any other dtype is its own real dtype.
    pub fn real(self) -> OType {
        match self {
            Complex64 => F32,
            Complex128 => F64,
            other => other,
        }
    }

    /// The dtype that float functions use: integers of 32 bits and more become f64, smaller ones and bool f32.
    pub fn floating(self) -> OType {
        match self.kind() {
            Kind::Float | Kind::Complex => self,
            Kind::Bool => F32,
            Kind::Signed | Kind::Unsigned if self.bits() < 32 => F32,
            Kind::Signed | Kind::Unsigned => F64,
        }
    }

    /// The real dtype that pointwise float arithmetic is done in: f16 and bf16 use f32.
    pub fn compute(self) -> OType {
        match self.real() {
            F16 | BF16 => F32,
            other => other,
        }
    }

    /// Width of an integer dtype in bits.
    pub fn bits(self) -> u32 {
        match self {
            I8 | U8 => 8,
            I16 | U16 => 16,
            I32 | U32 => 32,
            I64 | U64 => 64,
            other => panic!("{} is not an integer dtype", other.name()),
        }
    }

    /// Smallest value of an integer dtype.
    pub fn int_min(self) -> i128 {
        if self.kind() == Kind::Signed { -(1 << (self.bits() - 1)) } else { 0 }
    }

    /// Largest value of an integer dtype.
    pub fn int_max(self) -> i128 {
        let unsigned_max = (1i128 << self.bits()) - 1;
        if self.kind() == Kind::Signed { unsigned_max >> 1 } else { unsigned_max }
    }

    /// The value of this integer dtype that is congruent to `v` modulo 2^bits.
    pub fn wrap(self, v: i128) -> i128 {
        let low = v.rem_euclid(1i128 << self.bits());
        if low > self.int_max() { low - (1i128 << self.bits()) } else { low }
    }

    /// Toward zero, then to the nearest end of the range; NaN gives 0.
    pub fn saturate(self, x: f64) -> i128 {
        if x.is_nan() { 0 } else { (x.trunc() as i128).clamp(self.int_min(), self.int_max()) }
    }

    /// Significant bits of a float dtype (of its parts, if complex), the hidden one included.
    pub fn precision(self) -> u32 {
        match self.real() {
            F16 => 11,
            BF16 => 8,
            F32 => 24,
            F64 => 53,
            other => panic!("{} is not a float dtype", other.name()),
        }
    }

    /// Exponent of the smallest positive (subnormal) value.
    fn least_exponent(self) -> i32 {
        match self.real() {
            F16 => -24,
            BF16 => -133,
            F32 => -149,
            F64 => -1074,
            other => panic!("{} is not a float dtype", other.name()),
        }
    }

    /// Largest finite value.
    pub fn float_max(self) -> f64 {
        match self.real() {
            F16 => 65504.0,
            BF16 => 255.0 * power_of_two(120),
            F32 => f32::MAX as f64,
            F64 => f64::MAX,
            other => panic!("{} is not a float dtype", other.name()),
        }
    }

    /// Smallest positive value that is not subnormal.
    pub fn float_min(self) -> f64 {
        power_of_two(self.least_exponent() + self.precision() as i32 - 1)
    }

    /// The gap between 1 and the next value.
    pub fn eps(self) -> f64 {
        power_of_two(1 - self.precision() as i32)
    }

    /// The gap between |x| and the next larger value, as if the exponent had no upper end.
    /// For NaN and infinity: the gap below the largest finite value.
    pub fn ulp(self, x: f64) -> f64 {
        let x = if x.is_finite() { x } else { self.float_max() };
        let exponent = exponent(x) + 1 - self.precision() as i32;
        power_of_two(exponent.max(self.least_exponent()))
    }

    /// To nearest, ties to even, once; past the largest finite value lies infinity.
    pub fn round(self, x: f64) -> f64 {
        if self.real() == F64 || !x.is_finite() {
            return x;
        }
        // Dividing and multiplying by a power of two is exact here.
        let gap = self.ulp(x);
        self.overflow((x / gap).round_ties_even() * gap)
    }

    /// An integer to nearest, ties to even, once.
    pub fn round_int(self, v: i128) -> f64 {
        let magnitude = v.unsigned_abs();
        let length = 128 - magnitude.leading_zeros();
        let shift = length.saturating_sub(self.precision());
        let mut kept = magnitude >> shift;
        let dropped = magnitude - (kept << shift);
        if shift > 0 {
            let half = 1u128 << (shift - 1);
            if dropped > half || (dropped == half && kept % 2 == 1) {
                kept += 1;
            }
        }
        let sign = if v < 0 { -1.0 } else { 1.0 };
        self.overflow(sign * kept as f64 * power_of_two(shift as i32))
    }

    fn overflow(self, x: f64) -> f64 {
        if x.abs() > self.float_max() { f64::INFINITY.copysign(x) } else { x }
    }
}

/// 2^n for any n from -1074 to 1023.
pub fn power_of_two(n: i32) -> f64 {
    if n >= -1022 { f64::from_bits(((n + 1023) as u64) << 52) } else { f64::from_bits(1 << (n + 1074)) }
}

/// The e with 2^e <= |x| < 2^(e+1); for zero and subnormals -1023.
fn exponent(x: f64) -> i32 {
    ((x.to_bits() >> 52) & 0x7ff) as i32 - 1023
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for t in OType::ALL {
            assert_eq!(OType::parse(t.name()), Some(t));
        }
        assert_eq!(OType::parse("int8"), None);
    }

    #[test]
    fn integers_wrap_and_saturate() {
        assert_eq!(I8.wrap(128), -128);
        assert_eq!(I8.wrap(-129), 127);
        assert_eq!(U8.wrap(-1), 255);
        assert_eq!(U64.wrap(1 << 64), 0);
        assert_eq!(I64.wrap(i64::MAX as i128 + 1), i64::MIN as i128);
        assert_eq!(I8.saturate(300.0), 127);
        assert_eq!(U8.saturate(-0.9), 0);
        assert_eq!(U8.saturate(-5.0), 0);
        assert_eq!(I32.saturate(f64::NAN), 0);
        assert_eq!(I64.saturate(f64::INFINITY), i64::MAX as i128);
        assert_eq!(U64.saturate(1e30), u64::MAX as i128);
        assert_eq!(I16.saturate(-2.7), -2);
    }

    #[test]
    fn rounding_to_f32_is_that_of_the_machine() {
        let mut state = 1u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let x = f64::from_bits(state ^ (state >> 29));
            let squeezed = f64::from_bits((x.to_bits() & !(0x7ff << 52)) | ((800 + (state % 400)) << 52));
            for x in [x, squeezed] {
                let (got, want) = (F32.round(x), (x as f32) as f64);
                assert!(got == want || (got.is_nan() && want.is_nan()), "{x:e}: {got:e} {want:e}");
            }
            let v = state as i64 as i128;
            assert_eq!(F32.round_int(v), (v as f32) as f64);
            assert_eq!(F64.round_int(v), v as f64);
        }
    }

    #[test]
    fn rounding_to_half_precision() {
        assert_eq!(F16.round(65519.9), 65504.0);
        assert_eq!(F16.round(65520.0), f64::INFINITY);
        assert_eq!(F16.round(1.0 + power_of_two(-11)), 1.0);
        assert_eq!(F16.round(1.0 + power_of_two(-11) + power_of_two(-50)), 1.0 + power_of_two(-10));
        assert_eq!(F16.round(1.0 + 3.0 * power_of_two(-11)), 1.0 + power_of_two(-9));
        assert_eq!(F16.round(power_of_two(-25)), 0.0);
        assert_eq!(F16.round(1.5 * power_of_two(-25)), power_of_two(-24));
        assert_eq!(BF16.round(1.0 + power_of_two(-8)), 1.0);
        assert_eq!(BF16.round(-f64::MAX), f64::NEG_INFINITY);
        assert_eq!(BF16.round(f32::MAX as f64), f64::INFINITY);
        assert_eq!(F16.round_int(2049), 2048.0);
        assert_eq!(F16.round_int(-2051), -2052.0);
        // Through f64 this would be a tie and go down.
        assert_eq!(BF16.round_int((1 << 60) + (1 << 52) + 1), power_of_two(60) + power_of_two(53));
    }

    #[test]
    fn gaps() {
        assert_eq!(F32.ulp(1.0), f32::EPSILON as f64);
        assert_eq!(F64.eps(), f64::EPSILON);
        assert_eq!(F64.ulp(0.0), f64::from_bits(1));
        assert_eq!(F16.ulp(0.0), power_of_two(-24));
        assert_eq!(F32.ulp(f64::INFINITY), power_of_two(104));
    }
}
