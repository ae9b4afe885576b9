//! Headers that are and are not those of such files.

use super::*;

#[test]
fn broken_headers_are_refused() {
    let good = r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    assert_eq!(Directory::parse(good.as_bytes(), 8).unwrap().entries[0].1.len(), 2);
    assert!(Directory::parse(b"{}", 0).unwrap().entries.is_empty());
    let one = |rest: &str| format!(r#"{{"a":{{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}{rest}}}"#);
    for (text, data, why) in [
        (good.to_string(), 9, "end at byte 8"),
        (good.to_string(), 7, "data of 7 bytes"),
        (format!(" {good}"), 8, "start with"),
        (format!("{good}x"), 8, "trailing"),
        (good.replace("[2]", "[3]"), 8, "not those of shape"),
        (good.replace("F32", "F64"), 8, "not those of shape"),
        (good.replace("F32", "X32"), 8, "unknown dtype"),
        (good.replace("[2]", "[-2]"), 8, "invalid value"),
        (good.replace("[2]", "[2.0]"), 8, "floating point"),
        (good.replace("[2]", "[4294967296,4294967296,4294967296]"), 8, "not those of shape"),
        (good.replace("[0,8]", "[8,0]"), 8, "gap"),
        (good.replace("[0,8]", "[0,8,8]"), 8, "trailing characters"),
        (good.replace("[0,8]", "[0,18446744073709551616]"), 8, "invalid type"),
        (good.replace("\"shape\":[2],", ""), 8, "an array needs"),
        (good.replace("\"shape\":[2]", "\"shape\":[2],\"shape\":[2]"), 8, "twice"),
        (good.replace("\"shape\"", "\"stride\":1,\"shape\""), 8, "unknown key"),
        (one(r#","a":{"dtype":"F32","shape":[0],"data_offsets":[8,8]}"#), 8, "twice"),
        (one(r#","b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}"#), 8, "overlaps"),
        (one(r#","b":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}"#), 16, "gap"),
        (one(r#","b":{"dtype":"F4","shape":[3],"data_offsets":[8,9]}"#), 9, "not those of shape"),
        (one(r#","__metadata__":{"x":1}"#), 8, "expected a string"),
        (one(r#","__metadata__":{"x":"1","x":"2"}"#), 8, "twice"),
        (one(r#","__metadata__":[]"#), 8, "expected `__metadata__`"),
    ] {
        let error = Directory::parse(text.as_bytes(), data).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let empty = good.replace("[2]", "[0,4294967296,4294967296]").replace("[0,8]", "[0,0]");
    assert_eq!(Directory::parse(empty.as_bytes(), 0).unwrap().entries[0].1.len(), 0);
}
