use super::*;

#[test]
fn values_of_the_command_line() {
    for (text, value) in [
        ("true", Scalar::Bool(true)),
        ("-3", Scalar::I64(-3)),
        ("18446744073709551615", Scalar::U64(u64::MAX)),
        ("1e-3", Scalar::F64(0.001)),
        ("-inf", Scalar::F64(f64::NEG_INFINITY)),
        ("1e-3-2.5i", Scalar::Complex128(c128::new(0.001, -2.5))),
        ("-2j", Scalar::Complex128(c128::new(0.0, -2.0))),
    ] {
        assert!(fill(text).unwrap().same(value), "{text}");
    }
    for wrong in ["", "i", "one", "1+", "1+2", "++i"] {
        assert!(fill(wrong).is_err(), "{wrong}");
    }
    assert!(matches!(any_fill("undefined"), Ok(AnyFill::Undefined)));
}

#[test]
fn floats_as_python_writes_them() {
    for (value, text) in [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1.0, "1.0"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1.5e-10, "1.5e-10"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e+16"),
        (-1.25e300, "-1.25e+300"),
        (f64::NAN, "\"NaN\""),
        (f64::NEG_INFINITY, "\"-Infinity\""),
    ] {
        let mut out = String::new();
        push_float(&mut out, value);
        assert_eq!(out, text);
    }
}
