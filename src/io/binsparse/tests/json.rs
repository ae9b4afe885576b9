use super::*;

#[test]
fn what_json_is_refused() {
    for (text, why) in [
        ("", "not JSON"),
        ("[1]", "not a JSON object"),
        ("{} x", "trailing"),
        ("{\"a\": 1,}", "trailing comma"),
        ("{\"a\": NaN}", "not JSON"),
        ("\u{feff}{}", "not JSON"),
        ("{\"a\": 1, \"a\": 1}", "\"a\" is given twice"),
        ("{\"x\": [{\"b\": 1, \"b\": 2}]}", "\"b\" is given twice"),
    ] {
        let error = object(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    let deep = format!("{{\"u\": {}{}}}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(object(&deep).unwrap_err().to_string().contains("recursion limit"));
    let map = object("{\"n\": 18446744073709551615, \"m\": 9007199254740993, \"f\": 3.0}").unwrap();
    assert_eq!(map["n"].as_u64(), Some(u64::MAX));
    assert_eq!(map["m"].as_u64(), Some((1 << 53) + 1));
    assert_eq!(map["f"].as_u64(), None);
}
