//! One value: [`Scalar`] has a dtype, [`Number`] is a Rust number that takes the dtype of what it meets.

use std::fmt;

use half::{bf16, f16};
use num_traits::ToPrimitive;

use crate::dtype::{DType, DTypeKind, Element, c64, c128};
use crate::with_dtype;

/// One value of a [`DType`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)] // one variant per dtype, named like it
#[non_exhaustive]
pub enum Scalar {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F16(f16),
    BF16(bf16),
    F32(f32),
    F64(f64),
    Complex64(c64),
    Complex128(c128),
}

/// A value in the widest type of its kind, on its way from one dtype to another. Casting through it
/// rounds once, because every element type fits one of the variants exactly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wide {
    /// Signed integers.
    Signed(i64),
    /// Unsigned integers and bool.
    Unsigned(u64),
    /// Real floats.
    Float(f64),
    /// Complex floats.
    Complex(f64, f64),
}

/// The cast between element types: total, as the registry's closures are. Integers wrap, float to
/// integer truncates and saturates with NaN to 0, complex to real drops the imaginary part, anything to
/// bool is `!= 0` (so NaN is true).
pub trait Cast: Element {
    /// Widens without loss.
    fn widen(self) -> Wide;
    /// Narrows to this type.
    fn narrow(wide: Wide) -> Self;
}

impl Cast for bool {
    #[inline(always)]
    fn widen(self) -> Wide {
        Wide::Unsigned(u64::from(self))
    }
    #[inline(always)]
    fn narrow(wide: Wide) -> bool {
        match wide {
            Wide::Signed(v) => v != 0,
            Wide::Unsigned(v) => v != 0,
            Wide::Float(v) => v != 0.0,
            Wide::Complex(re, im) => re != 0.0 || im != 0.0,
        }
    }
}

macro_rules! cast_primitive {
    ($($ty:ty => $wide:ident($via:ty)),* $(,)?) => {$(
        impl Cast for $ty {
            #[inline(always)]
            fn widen(self) -> Wide {
                Wide::$wide(self as $via)
            }
            #[inline(always)]
            fn narrow(wide: Wide) -> $ty {
                match wide {
                    Wide::Signed(v) => v as $ty,
                    Wide::Unsigned(v) => v as $ty,
                    Wide::Float(v) | Wide::Complex(v, _) => v as $ty,
                }
            }
        }
    )*};
}

cast_primitive! {
    i8 => Signed(i64), i16 => Signed(i64), i32 => Signed(i64), i64 => Signed(i64),
    u8 => Unsigned(u64), u16 => Unsigned(u64), u32 => Unsigned(u64), u64 => Unsigned(u64),
    f32 => Float(f64), f64 => Float(f64),
}

macro_rules! cast_half {
    ($($ty:ty),*) => {$(
        impl Cast for $ty {
            #[inline(always)]
            fn widen(self) -> Wide {
                Wide::Float(f64::from(self.to_f32()))
            }
            #[inline(always)]
            fn narrow(wide: Wide) -> $ty {
                match wide {
                    Wide::Signed(v) => <$ty>::from_f32(odd_f32(odd_f64(v as f64, v.unsigned_abs()))),
                    Wide::Unsigned(v) => <$ty>::from_f32(odd_f32(odd_f64(v as f64, v))),
                    Wide::Float(v) | Wide::Complex(v, _) => <$ty>::from_f32(odd_f32(v)),
                }
            }
        }
    )*};
}

/// `v` as an `f32` rounded to odd: where inexact, the neighbour with an odd mantissa. Rounding that once
/// more to 11 or fewer bits gives the correctly rounded result of the whole way (Boldo and Melquiond,
/// "When double rounding is odd", 2004). The `half` crate's own `from_f64` does not.
#[inline(always)]
pub(crate) fn odd_f32(v: f64) -> f32 {
    let near = v as f32;
    let back = f64::from(near);
    // Of the two that `v` lies between, the one nearer to 0 or the next, whichever is odd.
    let less = near.to_bits().wrapping_sub(u32::from(back.abs() > v.abs()));
    if back == v || v.is_nan() { near } else { f32::from_bits(less | 1) }
}

/// `near`, the rounded value of an integer of the given magnitude, rounded to odd instead.
#[inline(always)]
fn odd_f64(near: f64, magnitude: u64) -> f64 {
    let back = near.abs() as u128;
    let exact = u128::from(magnitude);
    if back == exact || near.to_bits() & 1 == 1 {
        return near;
    }
    let bits = near.to_bits();
    f64::from_bits(if back < exact { bits + 1 } else { bits - 1 })
}

cast_half!(f16, bf16);

macro_rules! cast_complex {
    ($($ty:ident of $part:ty),*) => {$(
        impl Cast for $ty {
            #[inline(always)]
            fn widen(self) -> Wide {
                Wide::Complex(f64::from(self.re), f64::from(self.im))
            }
            #[inline(always)]
            fn narrow(wide: Wide) -> $ty {
                match wide {
                    Wide::Signed(v) => $ty::new(v as $part, 0.0),
                    Wide::Unsigned(v) => $ty::new(v as $part, 0.0),
                    Wide::Float(v) => $ty::new(v as $part, 0.0),
                    Wide::Complex(re, im) => $ty::new(re as $part, im as $part),
                }
            }
        }
    )*};
}

cast_complex!(c64 of f32, c128 of f64);

macro_rules! each_scalar {
    ($scalar:expr, $v:ident => $body:expr) => {
        match $scalar {
            Scalar::Bool($v) => $body,
            Scalar::I8($v) => $body,
            Scalar::I16($v) => $body,
            Scalar::I32($v) => $body,
            Scalar::I64($v) => $body,
            Scalar::U8($v) => $body,
            Scalar::U16($v) => $body,
            Scalar::U32($v) => $body,
            Scalar::U64($v) => $body,
            Scalar::F16($v) => $body,
            Scalar::BF16($v) => $body,
            Scalar::F32($v) => $body,
            Scalar::F64($v) => $body,
            Scalar::Complex64($v) => $body,
            Scalar::Complex128($v) => $body,
        }
    };
}

impl Scalar {
    /// The dtype.
    pub const fn dtype(&self) -> DType {
        match self {
            Scalar::Bool(_) => DType::Bool,
            Scalar::I8(_) => DType::I8,
            Scalar::I16(_) => DType::I16,
            Scalar::I32(_) => DType::I32,
            Scalar::I64(_) => DType::I64,
            Scalar::U8(_) => DType::U8,
            Scalar::U16(_) => DType::U16,
            Scalar::U32(_) => DType::U32,
            Scalar::U64(_) => DType::U64,
            Scalar::F16(_) => DType::F16,
            Scalar::BF16(_) => DType::BF16,
            Scalar::F32(_) => DType::F32,
            Scalar::F64(_) => DType::F64,
            Scalar::Complex64(_) => DType::Complex64,
            Scalar::Complex128(_) => DType::Complex128,
        }
    }

    /// Zero (false) of a dtype.
    pub fn zero(dtype: DType) -> Scalar {
        with_dtype!(dtype, T => T::default().to_scalar())
    }

    /// One (true) of a dtype.
    pub fn one(dtype: DType) -> Scalar {
        Scalar::U8(1).cast(dtype)
    }

    /// The value in the widest type of its kind.
    pub fn widen(self) -> Wide {
        each_scalar!(self, v => v.widen())
    }

    /// This value cast to `dtype` (see [`Cast`]: total, never an error).
    pub fn cast(self, dtype: DType) -> Scalar {
        if self.dtype() == dtype {
            return self;
        }
        with_dtype!(dtype, T => T::narrow(self.widen()).to_scalar())
    }

    /// This value as `T`, cast.
    pub fn to<T: Cast>(self) -> T {
        T::narrow(self.widen())
    }

    /// This value as an element of `dtype`, if it fits: exactly for bool and integers, without overflow
    /// for floats (rounding is fine, NaN and infinities pass, a complex value needs imaginary part 0).
    pub fn fit(self, dtype: DType) -> Result<Scalar, DoesNotFit> {
        let out = self.cast(dtype);
        let misfit = Err(DoesNotFit { value: self, dtype });
        let fits = match (self.widen(), dtype.kind()) {
            (Wide::Complex(_, im), kind) if kind != DTypeKind::Complex && im != 0.0 => return misfit,
            (Wide::Float(v) | Wide::Complex(v, _), DTypeKind::Bool | DTypeKind::Int) => {
                // Going back must give the same number; i64::MAX as f64 rounds up, so compare exactly too.
                v.fract() == 0.0 && v.abs() < 18_446_744_073_709_551_616.0 && float_of(out) == v && !out.is_saturated(v)
            }
            (Wide::Signed(v), DTypeKind::Bool | DTypeKind::Int) => out.as_integer() == Some(i128::from(v)),
            (Wide::Unsigned(v), DTypeKind::Bool | DTypeKind::Int) => out.as_integer() == Some(i128::from(v)),
            (wide, DTypeKind::Float | DTypeKind::Complex) => finite(out.widen()) || !finite(wide),
        };
        if fits { Ok(out) } else { misfit }
    }

    fn is_saturated(self, from: f64) -> bool {
        // Only the ends of the 64-bit ranges are not exact in f64.
        matches!(self, Scalar::I64(i64::MAX) | Scalar::U64(u64::MAX)) && from > 0.0
    }

    /// The value as an integer, if it is a bool or an integer.
    pub fn as_integer(self) -> Option<i128> {
        match self.widen() {
            Wide::Signed(v) => Some(i128::from(v)),
            Wide::Unsigned(v) => Some(i128::from(v)),
            _ => None,
        }
    }

    /// Whether the value, or a part of it, is NaN.
    pub fn is_nan(self) -> bool {
        match self.widen() {
            Wide::Float(v) => v.is_nan(),
            Wide::Complex(re, im) => re.is_nan() || im.is_nan(),
            _ => false,
        }
    }

    /// Whether the value is neither NaN nor infinite.
    pub fn is_finite(self) -> bool {
        finite(self.widen())
    }

    /// Whether the value equals zero (−0 does; false does).
    pub fn is_zero(self) -> bool {
        match self.widen() {
            Wide::Signed(v) => v == 0,
            Wide::Unsigned(v) => v == 0,
            Wide::Float(v) => v == 0.0,
            Wide::Complex(re, im) => re == 0.0 && im == 0.0,
        }
    }

    /// The law's equality: same dtype, and equal or both NaN (−0 equals 0).
    pub fn same(self, other: Scalar) -> bool {
        let eq = |a: f64, b: f64| a == b || (a.is_nan() && b.is_nan());
        self.dtype() == other.dtype()
            && match (self.widen(), other.widen()) {
                (Wide::Float(a), Wide::Float(b)) => eq(a, b),
                (Wide::Complex(a, c), Wide::Complex(b, d)) => eq(a, b) && eq(c, d),
                (a, b) => a == b,
            }
    }

    /// The bytes of the element, native endian; the first `dtype().size()` of the array count.
    pub fn to_bytes(self) -> ([u8; 16], usize) {
        let mut out = [0u8; 16];
        each_scalar!(self, v => {
            let array = [v];
            let bytes = Element::as_bytes(&array);
            out[..bytes.len()].copy_from_slice(bytes);
            (out, bytes.len())
        })
    }

    /// Reads the first element of `bytes` as `dtype`. The bytes may be unaligned but not too few.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Scalar {
        with_dtype!(dtype, T => T::read(bytes).to_scalar())
    }
}

fn finite(wide: Wide) -> bool {
    match wide {
        Wide::Float(v) => v.is_finite(),
        Wide::Complex(re, im) => re.is_finite() && im.is_finite(),
        _ => true,
    }
}

fn float_of(scalar: Scalar) -> f64 {
    match scalar.widen() {
        Wide::Signed(v) => v as f64,
        Wide::Unsigned(v) => v as f64,
        Wide::Float(v) | Wide::Complex(v, _) => v,
    }
}

impl fmt::Display for Scalar {
    /// The shortest text that reads back as the same number (a half-precision one as a `float32`), with an exponent where
    /// that is shorter; complex as `re±imj`. Width, alignment, fill, `+` and `0` mean what they do for Rust's numbers, and
    /// a precision the number of decimal places: of both parts of a complex number, of no integer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Bool(v) => f.pad_integral(true, "", if *v { "true" } else { "false" }),
            Scalar::F16(v) => float(f32::from(*v), f),
            Scalar::BF16(v) => float(f32::from(*v), f),
            Scalar::F32(v) => float(*v, f),
            Scalar::F64(v) => float(*v, f),
            Scalar::Complex64(v) => complex(v.re, v.im, f),
            Scalar::Complex128(v) => complex(v.re, v.im, f),
            other => each_scalar!(*other, v => fmt::Display::fmt(&v, f)),
        }
    }
}

/// `f32` or `f64`, to be printed.
trait Printed: Copy + Into<f64> + fmt::Display + fmt::LowerExp {
    /// Whether the text without an exponent is the shorter one.
    fn is_plain(self) -> bool {
        let size: f64 = self.into();
        size == 0.0 || !size.is_finite() || (1e-5..1e16).contains(&size.abs())
    }
}

impl Printed for f32 {}
impl Printed for f64 {}

/// A float as the formatter asks for it.
fn float(value: impl Printed, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if value.is_plain() || f.precision().is_some() {
        fmt::Display::fmt(&value, f)
    } else {
        fmt::LowerExp::fmt(&value, f)
    }
}

/// A complex number: both parts to the precision of the formatter, the whole to its width.
fn complex<T: Printed>(re: T, im: T, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let part = |value: T| match f.precision() {
        Some(places) => format!("{value:.places$}"),
        None if value.is_plain() => value.to_string(),
        None => format!("{value:e}"),
    };
    let (re, im) = (part(re), part(im));
    let plus = if im.starts_with('-') { "" } else { "+" };
    let text = format!("{re}{plus}{im}j");
    match text.strip_prefix('-') {
        Some(magnitude) => f.pad_integral(false, "", magnitude),
        None => f.pad_integral(true, "", &text),
    }
}

/// Numbers out of a scalar, by the rules of `num-traits`: `None` where the value does not fit, floats truncated towards
/// zero for integers; a complex value counts as its real part if the imaginary part is 0.
impl ToPrimitive for Scalar {
    fn to_i64(&self) -> Option<i64> {
        self.number(|v| v.to_i64(), |v| v.to_i64(), |v| v.to_i64())
    }
    fn to_u64(&self) -> Option<u64> {
        self.number(|v| v.to_u64(), |v| v.to_u64(), |v| v.to_u64())
    }
    fn to_i128(&self) -> Option<i128> {
        self.number(|v| v.to_i128(), |v| v.to_i128(), |v| v.to_i128())
    }
    fn to_u128(&self) -> Option<u128> {
        self.number(|v| v.to_u128(), |v| v.to_u128(), |v| v.to_u128())
    }
    fn to_f64(&self) -> Option<f64> {
        self.number(|v| v.to_f64(), |v| v.to_f64(), Some)
    }
}

impl Scalar {
    fn number<R>(
        self,
        signed: impl Fn(i64) -> Option<R>,
        unsigned: impl Fn(u64) -> Option<R>,
        float: impl Fn(f64) -> Option<R>,
    ) -> Option<R> {
        match self.widen() {
            Wide::Signed(v) => signed(v),
            Wide::Unsigned(v) => unsigned(v),
            Wide::Float(v) => float(v),
            Wide::Complex(re, im) => float(re).filter(|_| im == 0.0),
        }
    }
}

/// A value was given for a dtype that cannot hold it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DoesNotFit {
    /// The value given.
    pub value: Scalar,
    /// The dtype that it had to fit.
    pub dtype: DType,
}

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {} value {} does not fit {}", self.value.dtype(), self.value, self.dtype)
    }
}

impl std::error::Error for DoesNotFit {}

/// A Rust number in an expression with a tensor: it takes the tensor's dtype if its kind (bool < int <
/// float < complex) is not above the tensor's, else one of its kind that suits it ([`Number::meets`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(Scalar);

impl Number {
    /// The value, in the Rust type it was written in.
    pub const fn scalar(self) -> Scalar {
        self.0
    }

    /// The dtype in which the number meets elements of `dtype`: that where it holds numbers of this kind;
    /// else `int64` for an integer, the [floating-point dtype](DType::to_inexact) of `dtype` for a float, and
    /// the complex one with such parts for a complex number.
    pub const fn meets(self, dtype: DType) -> DType {
        let kind = self.0.dtype().kind();
        if kind as u8 <= dtype.kind() as u8 {
            return dtype;
        }
        match kind {
            DTypeKind::Bool => DType::Bool,
            DTypeKind::Int => DType::I64,
            DTypeKind::Float => dtype.to_inexact(),
            DTypeKind::Complex if matches!(dtype.to_inexact(), DType::F64) => DType::Complex128,
            DTypeKind::Complex => DType::Complex64,
        }
    }
}

macro_rules! scalar_from {
    ($($ty:ty => $variant:ident),* $(,)?) => {$(
        impl From<$ty> for Scalar {
            fn from(value: $ty) -> Scalar {
                Scalar::$variant(value)
            }
        }
        impl From<$ty> for Number {
            fn from(value: $ty) -> Number {
                Number(Scalar::$variant(value))
            }
        }
    )*};
}

scalar_from! {
    bool => Bool, i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64, c64 => Complex64, c128 => Complex128,
}

impl From<Scalar> for Number {
    fn from(value: Scalar) -> Number {
        Number(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_where_they_fit() {
        assert_eq!(Scalar::F32(2.75).to_i64(), Some(2));
        assert_eq!(Scalar::I8(-1).to_u64(), None);
        assert_eq!(Scalar::U64(u64::MAX).to_i64(), None);
        assert_eq!(Scalar::U64(u64::MAX).to_u128(), Some(u128::from(u64::MAX)));
        assert_eq!(Scalar::F64(f64::NAN).to_i128(), None);
        assert_eq!(Scalar::Complex64(c64::new(1.5, 0.0)).to_f64(), Some(1.5));
        assert_eq!(Scalar::Complex64(c64::new(1.5, 1.0)).to_f64(), None);
        assert_eq!(Scalar::Bool(true).to_f32(), Some(1.0));
    }

    #[test]
    fn what_fits_a_dtype() {
        let fits = |v: Scalar, d: DType| v.fit(d).is_ok();
        assert!(fits(Scalar::I32(255), DType::U8) && !fits(Scalar::I32(256), DType::U8));
        assert!(fits(Scalar::F64(3.0), DType::I8) && !fits(Scalar::F64(3.5), DType::I8));
        assert!(!fits(Scalar::F64(f64::NAN), DType::I64) && fits(Scalar::F64(f64::NAN), DType::F16));
        assert!(fits(Scalar::F64(f64::INFINITY), DType::F32) && !fits(Scalar::F64(1e300), DType::F32));
        assert!(!fits(Scalar::F64(9_223_372_036_854_775_808.0), DType::I64));
        assert!(fits(Scalar::F64(9_223_372_036_854_775_808.0), DType::U64));
        assert!(!fits(Scalar::I32(2), DType::Bool) && fits(Scalar::I32(1), DType::Bool));
        assert!(!fits(Scalar::Complex64(c64::new(1.0, 1.0)), DType::F32));
    }

    #[test]
    fn numbers_meet_tensors() {
        use DType::{BF16, Bool, Complex64, Complex128, F32, F64, I16, I32, I64, U8, U32};
        let meets = |n: Number, dtypes: &[DType]| dtypes.iter().map(|&d| n.meets(d)).collect::<Vec<_>>();
        assert_eq!(meets(0.5.into(), &[Bool, U8, I16, I32, U32, I64, BF16]), [F32, F32, F32, F64, F64, F64, BF16]);
        assert_eq!(meets(2.into(), &[Bool, U8, I64, F32, Complex64]), [I64, U8, I64, F32, Complex64]);
        let i = Number::from(c64::new(0.0, 1.0));
        assert_eq!(
            meets(i, &[U8, F32, I32, F64, Complex64]),
            [Complex64, Complex64, Complex128, Complex128, Complex64]
        );
    }

    #[test]
    fn text_of_scalars() {
        let text = |v: Scalar| v.to_string();
        assert_eq!(text(Scalar::F64(0.1)), "0.1");
        assert_eq!(text(Scalar::F64(-1.5e300)), "-1.5e300");
        assert_eq!(text(Scalar::F32(1e-6)), "1e-6");
        assert_eq!(text(Scalar::BF16(bf16::from_f32(2f32.powi(100)))), "1.2676506e30");
        assert_eq!(text(Scalar::F16(f16::from_f32(1.5))), "1.5");
        assert_eq!(text(Scalar::Complex128(c128::new(-0.0, -1e20))), "-0-1e20j");
        assert_eq!(text(Scalar::Complex64(c64::new(f32::NAN, f32::INFINITY))), "NaN+infj");
        assert_eq!(text(Scalar::Bool(true)), "true");
        assert_eq!(text(Scalar::I64(i64::MIN)), "-9223372036854775808");
    }

    #[test]
    fn formats_of_scalars_are_those_of_numbers() {
        let v = Scalar::F64(1234.5);
        assert_eq!(format!("{v:.2}"), "1234.50");
        assert_eq!(format!("{v:+012.3}"), format!("{:+012.3}", 1234.5));
        assert_eq!(format!("{v:10.1}|{v:<10.1}|{v:*^10}"), "    1234.5|1234.5    |**1234.5**");
        assert_eq!(format!("{:.6}", Scalar::F64(0.999_999_999_999_999_8)), "1.000000");
        assert_eq!(format!("{:.2}", Scalar::F64(1e-7)), "0.00");
        assert_eq!(format!("{:9}|", Scalar::F64(1e-7)), "     1e-7|");
        assert_eq!(format!("{:.1}", Scalar::F16(f16::from_f32(0.25))), "0.2");
        assert_eq!(format!("{:.3}", Scalar::F64(f64::NAN)), "NaN");
        assert_eq!(format!("{:.2}|{0:6}|{0:<6}|{0:06}", Scalar::I16(-123)), "-123|  -123|-123  |-00123");
        assert_eq!(format!("{:.2}|{0:6}", Scalar::Bool(true)), "true|  true");
        let z = Scalar::Complex128(c128::new(-1.25, 1234.567));
        assert_eq!(format!("{z:.1}|{z:18.2}|{z:<18.2}|"), "-1.2+1234.6j|    -1.25+1234.57j|-1.25+1234.57j    |");
        assert_eq!(format!("{:+}", Scalar::Complex64(c64::new(1.0, -0.5))), "+1-0.5j");
    }

    #[test]
    fn halves_round_once() {
        let v = 1.0 + 2f64.powi(-11) + 2f64.powi(-40);
        assert_eq!(Scalar::F64(v).cast(DType::F16), Scalar::F16(f16::from_f32(1.000_976_6)));
        let big = (1i64 << 60) + (1 << 52) + 1;
        assert_eq!(Scalar::I64(big).to::<bf16>().to_f64(), 2f64.powi(60) + 2f64.powi(53));
    }
}
