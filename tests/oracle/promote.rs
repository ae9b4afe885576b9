//! The dtype that two dtypes are brought to.

use super::dtype::Kind;
use super::dtype::OType::{self, Complex64, Complex128, F32, F64, I16, I32, I64, U8, U16, U32};

/// The dtype of an op on two dtypes. bool gives way to any; of two integers of one signedness, or
/// two floats, or two complex the wider; signed with unsigned gives the least signed dtype that
/// holds both (with u64 there is none: `None`); integers give way to floats and complex whatever
/// the widths; f16 with bf16 gives f32; complex with f64 or complex128 gives complex128, with any
/// other complex64.
pub fn promote(a: OType, b: OType) -> Option<OType> {
    use Kind::{Complex as C, Float as F, Signed as S, Unsigned as U};
    if a == b {
        return Some(a);
    }
    let wider = |a: OType, b: OType| if a.bits() >= b.bits() { a } else { b };
    Some(match (a.kind(), b.kind()) {
        (Kind::Bool, _) => b,
        (_, Kind::Bool) => a,
        (S, S) | (U, U) => wider(a, b),
        (S, U) => match b {
            U8 => wider(a, I16),
            U16 => wider(a, I32),
            U32 => I64,
            _ => return None,
        },
        (U, S) => return promote(b, a),
        (S | U, F | C) => b,
        (F | C, S | U) => a,
        (F, F) if a == F64 || b == F64 => F64,
        (F, F) => F32,
        (C, F | C) | (F, C) if a.real() == F64 || b.real() == F64 => Complex128,
        (C, F | C) | (F, C) => Complex64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn promotion() {
        let p = |a: &str, b: &str| {
            let (a, b) = (OType::parse(a).unwrap(), OType::parse(b).unwrap());
            assert_eq!(promote(a, b), promote(b, a));
            promote(a, b).map(OType::name)
        };
        assert_eq!(p("bool", "u8"), Some("u8"));
        assert_eq!(p("i8", "u8"), Some("i16"));
        assert_eq!(p("i32", "u8"), Some("i32"));
        assert_eq!(p("i8", "u32"), Some("i64"));
        assert_eq!(p("i64", "u64"), None);
        assert_eq!(p("i64", "f16"), Some("f16"));
        assert_eq!(p("u64", "f32"), Some("f32"));
        assert_eq!(p("f16", "bf16"), Some("f32"));
        assert_eq!(p("bf16", "f64"), Some("f64"));
        assert_eq!(p("f64", "complex64"), Some("complex128"));
        assert_eq!(p("f32", "complex64"), Some("complex64"));
        assert_eq!(p("i64", "complex64"), Some("complex64"));
    }
}
