//! Numbers written and read back.

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

/// The digits of a number, without a sign, a point, zeros around them, and an exponent.
fn digits(text: &str) -> String {
    let number = text.trim_start_matches('-').split('e').next().unwrap().replace('.', "");
    number.trim_matches('0').to_owned()
}

#[test]
fn floats_have_the_fewest_digits() {
    for (value, wanted) in [
        (1e16, "1e16"),
        (-1.5e22, "-1.5e22"),
        (1e13, "10000000000000.0"),
        (1.5e-7, "1.5e-7"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e308"),
        (0.0, "0.0"),
        (-3.0, "-3.0"),
    ] {
        assert_eq!(text(value), wanted);
    }
    assert_eq!(
        (text(1e13_f32), text(-2.5e20_f32), text(1e9_f32)),
        ("1e13".into(), "-2.5e20".into(), "1000000000.0".into())
    );
    let mut bits = 1_u64;
    for _ in 0..100_000 {
        bits = bits.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        for value in [f64::from_bits(bits), (bits >> 11) as f64 / (1_u64 << 53) as f64] {
            if value.is_finite() {
                let text = text(value);
                assert_eq!(text.parse::<f64>().unwrap().to_bits(), value.to_bits(), "{text}");
                assert_eq!(digits(&text).len(), digits(&format!("{value:e}")).len(), "{text}");
            }
        }
    }
}
