//! Element types: the run-time [`DType`], the compile-time [`Element`], and promotion between them.

use std::fmt;
use std::str::FromStr;

use bytemuck::{Pod, Zeroable};
use half::{bf16, f16};
use num_complex::Complex;

use crate::scalar::Scalar;
use crate::truth;

/// Complex number of two `f32`.
#[allow(non_camel_case_types)]
pub type c64 = Complex<f32>;
/// Complex number of two `f64`.
#[allow(non_camel_case_types)]
pub type c128 = Complex<f64>;

/// The type of a tensor's elements, as run-time data.
///
/// The order of the variants is the order of [`DType::ALL`] and is part of no file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum DType {
    /// `bool`, one byte, 0 or 1.
    Bool,
    /// `i8`.
    I8,
    /// `i16`.
    I16,
    /// `i32`.
    I32,
    /// `i64`.
    I64,
    /// `u8`.
    U8,
    /// `u16`.
    U16,
    /// `u32`.
    U32,
    /// `u64`.
    U64,
    /// IEEE 754 half precision; arithmetic is done in `f32` and rounded once.
    F16,
    /// Brain float (8 exponent bits); arithmetic is done in `f32` and rounded once.
    BF16,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// Complex number of two `f32`.
    Complex64,
    /// Complex number of two `f64`.
    Complex128,
}

/// The kinds of the array API's promotion hierarchy, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DTypeKind {
    /// Truth values.
    Bool,
    /// Integers, signed or not.
    Int,
    /// Real floating point.
    Float,
    /// Complex floating point.
    Complex,
}

impl DType {
    /// Every dtype.
    pub const ALL: [DType; 15] = [
        DType::Bool,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::Complex64,
        DType::Complex128,
    ];

    /// The name, as the array API spells it (`bfloat16` as PyTorch does).
    pub const fn name(self) -> &'static str {
        match self {
            DType::Bool => "bool",
            DType::I8 => "int8",
            DType::I16 => "int16",
            DType::I32 => "int32",
            DType::I64 => "int64",
            DType::U8 => "uint8",
            DType::U16 => "uint16",
            DType::U32 => "uint32",
            DType::U64 => "uint64",
            DType::F16 => "float16",
            DType::BF16 => "bfloat16",
            DType::F32 => "float32",
            DType::F64 => "float64",
            DType::Complex64 => "complex64",
            DType::Complex128 => "complex128",
        }
    }

    /// Bytes of one element.
    pub const fn size(self) -> usize {
        match self {
            DType::Bool | DType::I8 | DType::U8 => 1,
            DType::I16 | DType::U16 | DType::F16 | DType::BF16 => 2,
            DType::I32 | DType::U32 | DType::F32 => 4,
            DType::I64 | DType::U64 | DType::F64 | DType::Complex64 => 8,
            DType::Complex128 => 16,
        }
    }

    /// The kind: bool, int, float or complex.
    pub const fn kind(self) -> DTypeKind {
        match self {
            DType::Bool => DTypeKind::Bool,
            DType::F16 | DType::BF16 | DType::F32 | DType::F64 => DTypeKind::Float,
            DType::Complex64 | DType::Complex128 => DTypeKind::Complex,
            _ => DTypeKind::Int,
        }
    }

    /// Whether this is a signed or unsigned integer (bool is not).
    pub const fn is_int(self) -> bool {
        matches!(self.kind(), DTypeKind::Int)
    }

    /// Whether this is an unsigned integer.
    pub const fn is_unsigned(self) -> bool {
        matches!(self, DType::U8 | DType::U16 | DType::U32 | DType::U64)
    }

    /// Whether this is a real floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self.kind(), DTypeKind::Float)
    }

    /// Whether this is a complex type.
    pub const fn is_complex(self) -> bool {
        matches!(self.kind(), DTypeKind::Complex)
    }

    /// Whether values may be inexact, NaN or infinite: real or complex floating point.
    pub const fn is_inexact(self) -> bool {
        matches!(self.kind(), DTypeKind::Float | DTypeKind::Complex)
    }

    /// The dtype of the real part: itself unless complex.
    pub const fn real(self) -> DType {
        match self {
            DType::Complex64 => DType::F32,
            DType::Complex128 => DType::F64,
            other => other,
        }
    }

    /// The floating-point dtype in which functions such as `sin` take this dtype: itself where it is
    /// inexact, `float64` for integers of 32 bits and more, whose values `float32` would round, and
    /// `float32` for smaller ones and bool.
    pub const fn to_inexact(self) -> DType {
        match self {
            d if d.is_inexact() => d,
            DType::I32 | DType::I64 | DType::U32 | DType::U64 => DType::F64,
            _ => DType::F32,
        }
    }

    /// The unit roundoff spacing at 1 (machine epsilon) of the real part; 0 for exact dtypes.
    pub const fn epsilon(self) -> f64 {
        match self {
            DType::F16 => 0.000_976_562_5,
            DType::BF16 => 0.007_812_5,
            DType::F32 | DType::Complex64 => f32::EPSILON as f64,
            DType::F64 | DType::Complex128 => f64::EPSILON,
            _ => 0.0,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text did not name a dtype.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDType(pub String);

impl fmt::Display for UnknownDType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown dtype {:?}; known are", self.0)?;
        DType::ALL.iter().try_for_each(|d| write!(f, " {d}"))
    }
}

impl std::error::Error for UnknownDType {}

impl FromStr for DType {
    type Err = UnknownDType;
    /// Accepts the array-API name (`float32`) and Rust's (`f32`).
    fn from_str(text: &str) -> Result<DType, UnknownDType> {
        let long = match text {
            "i8" => "int8",
            "i16" => "int16",
            "i32" => "int32",
            "i64" => "int64",
            "u8" => "uint8",
            "u16" => "uint16",
            "u32" => "uint32",
            "u64" => "uint64",
            "f16" => "float16",
            "bf16" => "bfloat16",
            "f32" => "float32",
            "f64" => "float64",
            "c64" => "complex64",
            "c128" => "complex128",
            other => other,
        };
        let found = DType::ALL.into_iter().find(|d| d.name() == long);
        found.ok_or_else(|| UnknownDType(text.to_string()))
    }
}

/// The dtype in which elements of `a` and `b` meet; `None` where no dtype holds both kinds of value.
///
/// The array API's table. Where it leaves the answer open, as PyTorch does: an int with a float takes
/// the float's dtype, `float16` with `bfloat16` is `float32`. `uint64` with a signed integer has no
/// answer in either and is `None`: cast one side explicitly.
pub const fn promote(a: DType, b: DType) -> Option<DType> {
    if a as u8 == b as u8 {
        return Some(a);
    }
    let (low, high) = if (a.kind() as u8) <= (b.kind() as u8) { (a, b) } else { (b, a) };
    match (low.kind(), high.kind()) {
        (DTypeKind::Int, DTypeKind::Int) => promote_ints(low, high),
        (DTypeKind::Float, DTypeKind::Float) => Some(promote_floats(low, high)),
        (DTypeKind::Float | DTypeKind::Complex, DTypeKind::Complex) => {
            let wide = matches!(low.real(), DType::F64) || matches!(high, DType::Complex128);
            Some(if wide { DType::Complex128 } else { DType::Complex64 })
        }
        _ => Some(high),
    }
}

const fn promote_ints(a: DType, b: DType) -> Option<DType> {
    if a.is_unsigned() == b.is_unsigned() {
        return Some(if a.size() >= b.size() { a } else { b });
    }
    let (signed, unsigned) = if a.is_unsigned() { (b, a) } else { (a, b) };
    if signed.size() > unsigned.size() {
        return Some(signed);
    }
    match unsigned {
        DType::U8 => Some(DType::I16),
        DType::U16 => Some(DType::I32),
        DType::U32 => Some(DType::I64),
        _ => None,
    }
}

const fn promote_floats(a: DType, b: DType) -> DType {
    if a.size() == b.size() && (a as u8) != (b as u8) {
        return DType::F32; // float16 with bfloat16
    }
    if a.size() >= b.size() { a } else { b }
}

mod private {
    pub trait Sealed {}
}

/// A Rust type that is the element of some [`DType`]. Sealed: exactly one type per dtype.
pub trait Element: Copy + Send + Sync + PartialEq + fmt::Debug + Default + private::Sealed + 'static {
    /// The dtype of this type.
    const DTYPE: DType;
    /// Views bytes as elements. The bytes must be aligned for `Self` and a whole number of elements;
    /// for `bool`, each must be 0 or 1 (which is checked: another byte is a bug and panics).
    fn from_bytes(bytes: &[u8]) -> &[Self];
    /// Views bytes as mutable elements, as [`Element::from_bytes`] does.
    fn from_bytes_mut(bytes: &mut [u8]) -> &mut [Self];
    /// Views elements as bytes.
    fn as_bytes(elements: &[Self]) -> &[u8];
    /// Reads one element from the front of bytes of any alignment.
    fn read(bytes: &[u8]) -> Self;
    /// This value as a [`Scalar`].
    fn to_scalar(self) -> Scalar;
    /// The value of a scalar of this dtype; `None` if its dtype is another.
    fn from_scalar(scalar: Scalar) -> Option<Self>;
}

impl private::Sealed for bool {}
impl Element for bool {
    const DTYPE: DType = DType::Bool;
    fn from_bytes(bytes: &[u8]) -> &[bool] {
        truth::of_bytes(bytes)
    }
    fn from_bytes_mut(bytes: &mut [u8]) -> &mut [bool] {
        truth::of_bytes_mut(bytes)
    }
    fn as_bytes(elements: &[bool]) -> &[u8] {
        bytemuck::cast_slice(elements)
    }
    fn read(bytes: &[u8]) -> bool {
        bytes[0] != 0
    }
    fn to_scalar(self) -> Scalar {
        Scalar::Bool(self)
    }
    fn from_scalar(scalar: Scalar) -> Option<bool> {
        if let Scalar::Bool(v) = scalar { Some(v) } else { None }
    }
}

macro_rules! element {
    ($($ty:ty => $variant:ident),* $(,)?) => {$(
        impl private::Sealed for $ty {}
        impl Element for $ty {
            const DTYPE: DType = DType::$variant;
            fn from_bytes(bytes: &[u8]) -> &[$ty] {
                // An empty slice may lie anywhere, which the cast would refuse.
                if bytes.is_empty() { &[] } else { bytemuck::cast_slice(bytes) }
            }
            fn from_bytes_mut(bytes: &mut [u8]) -> &mut [$ty] {
                if bytes.is_empty() { &mut [] } else { bytemuck::cast_slice_mut(bytes) }
            }
            fn as_bytes(elements: &[$ty]) -> &[u8] {
                bytemuck::cast_slice(elements)
            }
            fn read(bytes: &[u8]) -> $ty {
                bytemuck::pod_read_unaligned(&bytes[..size_of::<$ty>()])
            }
            fn to_scalar(self) -> Scalar {
                Scalar::$variant(self)
            }
            fn from_scalar(scalar: Scalar) -> Option<$ty> {
                if let Scalar::$variant(v) = scalar { Some(v) } else { None }
            }
        }
    )*};
}

element! {
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64,
    c64 => Complex64, c128 => Complex128,
}

const _: () = {
    const fn pod<T: Pod + Zeroable>() {}
    pod::<c64>();
    pod::<f16>();
};

/// Runs `$body` with `$T` bound to the element type of a [`DType`] value: the one place where a
/// run-time dtype becomes a compile-time type.
///
/// ```
/// use openwork_ops::{DType, Element, with_dtype};
/// let size = with_dtype!(DType::F32, T => std::mem::size_of::<T>());
/// assert_eq!(size, 4);
/// ```
#[macro_export]
macro_rules! with_dtype {
    ($dtype:expr, $T:ident => $body:expr) => {
        match $dtype {
            $crate::DType::Bool => {
                type $T = bool;
                $body
            }
            $crate::DType::I8 => {
                type $T = i8;
                $body
            }
            $crate::DType::I16 => {
                type $T = i16;
                $body
            }
            $crate::DType::I32 => {
                type $T = i32;
                $body
            }
            $crate::DType::I64 => {
                type $T = i64;
                $body
            }
            $crate::DType::U8 => {
                type $T = u8;
                $body
            }
            $crate::DType::U16 => {
                type $T = u16;
                $body
            }
            $crate::DType::U32 => {
                type $T = u32;
                $body
            }
            $crate::DType::U64 => {
                type $T = u64;
                $body
            }
            $crate::DType::F16 => {
                type $T = $crate::f16;
                $body
            }
            $crate::DType::BF16 => {
                type $T = $crate::bf16;
                $body
            }
            $crate::DType::F32 => {
                type $T = f32;
                $body
            }
            $crate::DType::F64 => {
                type $T = f64;
                $body
            }
            $crate::DType::Complex64 => {
                type $T = $crate::c64;
                $body
            }
            // `Complex128`, the last: outside this crate there may be more, of which `DType::ALL` tells a test.
            _ => {
                type $T = $crate::c128;
                $body
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_dtype_has_its_type() {
        for dtype in DType::ALL {
            assert_eq!(with_dtype!(dtype, T => T::DTYPE), dtype);
        }
    }
}
