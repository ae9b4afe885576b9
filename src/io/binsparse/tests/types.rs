use super::*;

#[test]
fn types_are_read_and_written() {
    for name in ["uint8", "int64", "float32", "bint8", "iso[bint8]", "iso[complex[float64]]", "complex[float32]"] {
        assert_eq!(DataType::parse(name, false).map(|t| t.to_string()).as_deref(), Some(name));
    }
    for name in
        ["", "bool", "iso[iso[int8]]", "iso[int8", "int8]", "complex[int32]", "complex[iso[float32]]", "float16"]
    {
        assert_eq!(DataType::parse(name, false), None, "{name}");
    }
    assert!(DataType::parse("iso[bfloat16]", true).is_some());
}

#[test]
fn versions_are_told_apart() {
    for good in ["0.1", "0.1.0", "0.1.0+build.5", "0.1+x"] {
        assert!(is_supported_version(good), "{good}");
    }
    for other in ["", "0.2.0", "1.0.0", "0.1.7", "0.1.0-alpha", "v0.1.0", "0.01.0", "0.5", "0.1.0+", "0.1.0+a..b"] {
        assert!(!is_supported_version(other), "{other}");
    }
    for near in ["0.1.7", "0.1.0-alpha", "0.1.12+x"] {
        assert!(is_near_version(near), "{near}");
    }
    for far in ["", "0.2.0", "v0.1.0", "0.1.07", "0.1.", "0.1.0.0", "0.10"] {
        assert!(!is_near_version(far), "{far}");
    }
}
