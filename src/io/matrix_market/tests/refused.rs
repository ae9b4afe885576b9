//! What is refused, where, and in which words.

use super::*;

/// Asserts that a text is refused on a line, in words that contain all of `parts`.
#[track_caller]
pub(super) fn refused(text: impl AsRef<[u8]>, line: u64, parts: &[&str]) {
    let error = parse(text.as_ref()).unwrap_err();
    assert_eq!(error.line, line, "{error}");
    for part in parts {
        assert!(error.message.contains(part), "`{part}` is not in: {error}");
    }
}

#[test]
fn what_is_no_number_is_refused() {
    for literal in [
        "abc", "1e", "1e+", ".", "-", "+", "+-1", "1_0", "0x10", "1d5", "1,5", "nan(1)", "infin", "1.0.0", "\u{b9}",
        "\0",
    ] {
        refused(format!("{REAL}1 1 1\n1 1 {literal}\n"), 3, &["is not a number", "`ROW COLUMN VALUE`"]);
    }
    for literal in ["1.0", "1e3", "inf", "-", "+", "--1", "1-"] {
        refused(format!("{INTEGER}1 1 1\n1 1 {literal}\n"), 3, &["is not a number", "a whole number from -2^63"]);
    }
    refused(format!("{UNSIGNED}1 1 1\n1 1 -1\n"), 3, &["'-1'", "from 0 to 2^64-1"]);
    refused(format!("{COMPLEX}1 1 1\n1 1 1x 2\n"), 3, &["'1x'"]);
    let long = "x".repeat(1_000_000);
    let error = parse(format!("{REAL}1 1 1\n1 1 {long}\n").as_bytes()).unwrap_err();
    assert!(error.message.contains(&format!("'{}…'", "x".repeat(39))), "{error}");
    assert!(error.message.len() < 250);
}

#[test]
fn integers_have_to_fit() {
    let ends = format!("{INTEGER}1 2 2\n1 1 9223372036854775807\n1 2 -9223372036854775808\n");
    assert_eq!(good(ends).values, Values::Integer(vec![i64::MAX, i64::MIN]));
    let zeros = "0".repeat(50);
    assert_eq!(good(format!("{INTEGER}1 1 1\n1 {zeros}1 -{zeros}12\n")).values, Values::Integer(vec![-12]));
    for literal in ["9223372036854775808", "-9223372036854775809", "18446744073709551616", "99999999999999999999999"] {
        refused(format!("{INTEGER}1 1 1\n1 1 {literal}\n"), 3, &[literal, "does not fit"]);
    }
    refused(format!("{UNSIGNED}1 1 1\n1 1 18446744073709551616\n"), 3, &["does not fit"]);
    let skew = "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 -9223372036854775808\n";
    refused(skew, 3, &["-2^63"]);
    refused("%%MatrixMarket matrix array integer skew-symmetric\n2 2\n-9223372036854775808\n", 3, &["-2^63"]);
}

#[test]
fn indices_have_to_be_in_range() {
    for (entry, parts) in [
        ("0 1 1", ["row '0' is out of range", "1 to 2 is allowed"]),
        ("1 0 1", ["column '0' is out of range", "1 to 3 is allowed"]),
        ("3 1 1", ["row '3' is out of range", "1 to 2 is allowed"]),
        ("1 4 1", ["column '4' is out of range", "1 to 3 is allowed"]),
        ("-1 1 1", ["row '-1' is not a whole number", "1 to 2 is allowed"]),
        ("1 -1 1", ["column '-1' is not a whole number", "1 to 3 is allowed"]),
        ("+1 1 1", ["row '+1' is not a whole number", "1 to 2 is allowed"]),
        ("1.0 1 1", ["row '1.0' is not a whole number", "1 to 2 is allowed"]),
        ("1 9x 1", ["column '9x' is not a whole number", "1 to 3 is allowed"]),
        ("1 1x 1", ["column '1x' is not a whole number", "1 to 3 is allowed"]),
        ("18446744073709551617 1 1", ["row '18446744073709551617' is out of range", "1 to 2"]),
        ("x 1 1", ["row 'x' is not a whole number", "1 to 2 is allowed"]),
    ] {
        refused(format!("{REAL}2 3 2\n1 1 1\n{entry}\n"), 4, &parts);
    }
    refused(format!("{PATTERN}2 2 1\n1 1x\n"), 3, &["column '1x' is not a whole number"]);
    refused(format!("{REAL}0 3 1\n1 1 1\n"), 3, &["row '1' is out of range", "none is allowed"]);
}

#[test]
fn lines_hold_one_entry() {
    refused(format!("{REAL}2 2 1\n1 1 1 7\n"), 3, &["'7' is too much", "`ROW COLUMN VALUE`"]);
    refused(format!("{REAL}2 2 1\n1 1 1 % no\n"), 3, &["'%'", "a comment needs a line of its own"]);
    refused(format!("{PATTERN}2 2 1\n1 1 1\n"), 3, &["'1' is too much", "`ROW COLUMN`"]);
    refused(format!("{COMPLEX}2 2 1\n1 1 1 2 3\n"), 3, &["'3' is too much", "`ROW COLUMN REAL IMAGINARY`"]);
    refused("%%MatrixMarket matrix array real general\n2 1\n1 2\n", 3, &["'2' is too much", "`VALUE`"]);
    refused(format!("{REAL}2 2 1\n1\n1 1\n"), 3, &["the line ends where column should be"]);
    refused(format!("{REAL}2 2 1\n1 1 \t\r\n1"), 3, &["the line ends where a value should be"]);
    refused(format!("{REAL}2 2 1\n1 1"), 3, &["the line ends where a value should be"]);
    refused(format!("{COMPLEX}2 2 1\n1 1 5 \n"), 3, &["the line ends where an imaginary part should be"]);
    refused(format!("{REAL}2 2 2\n1 1 1\r2 2 2\n"), 3, &["carriage return"]);
    refused(format!("{REAL}2 2 2\n1\r1 1\n"), 3, &["the line ends where column"]);
    let many = "1 ".repeat(1_000_000);
    refused(format!("{REAL}2 2 1\n{many}\n"), 3, &["is too much"]);
}

#[test]
fn the_count_has_to_be_right() {
    refused(format!("{REAL}2 2 3\n1 1 1\n2 2 2\n"), 4, &["after 2 of the 3 entries"]);
    refused(format!("{REAL}2 2 3\n1 1 1\n2 2 2"), 4, &["after 2 of the 3 entries"]);
    refused(format!("{REAL}2 2 1\n1 1 1\n\n% c\n2 2 2\n"), 6, &["more entries than the 1"]);
    refused(format!("{REAL}2 2 0\n1 1 1\n"), 3, &["more entries than the 0"]);
    refused("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", 5, &["after 3 of the 4 entries"]);
    refused("%%MatrixMarket matrix array real general\n2 1\n1\n2\n3\n", 5, &["more entries than the 2"]);
    let huge = 1_u64 << 62;
    refused(format!("{REAL}9 9 {huge}\n1 1 1\n"), 3, &["after 1 of the 4611686018427387904 entries"]);
    refused(
        format!("%%MatrixMarket matrix array complex general\n{huge} 3\n1 1\n"),
        3,
        &["after 1 of the 13835058055282163712"],
    );
    let side = u32::MAX;
    refused(format!("%%MatrixMarket matrix array real symmetric\n{side} {side}\n1\n"), 3, &["after 1 of the"]);
}

#[test]
fn the_size_line_is_checked() {
    refused(REAL, 1, &["ends before the size line", "`ROWS COLUMNS ENTRIES`"]);
    refused(format!("{REAL}% only\n\n"), 3, &["ends before the size line"]);
    refused(format!("{REAL}2 2\n"), 2, &["the line ends where the number of entries should be"]);
    refused(format!("{REAL}2 2 2 2\n"), 2, &["'2' is too much on the size line"]);
    refused("%%MatrixMarket matrix array real general\n2 2 4\n", 2, &["'4' is too much", "`ROWS COLUMNS`"]);
    for bad in ["-2", "2.0", "x", "+2", "18446744073709551616"] {
        refused(format!("{REAL}%\n2 {bad} 2\n"), 3, &[&format!("the number of columns is '{bad}'"), "0 to 2^64-1"]);
    }
    refused(format!("%%MatrixMarket matrix array real general\n{0} {0}\n", u64::MAX), 2, &["beyond 2^64-1 values"]);
    assert_eq!(good(format!("{REAL}0 4 0\n")).rows, 0);
    assert_eq!(good("%%MatrixMarket matrix array real general\n0 4\n").values, Values::Real(vec![]));
}

#[test]
fn the_banner_is_checked() {
    refused("", 1, &["the file is empty"]);
    refused("\n \n", 2, &["the file is empty"]);
    refused("1 2 3\n", 1, &["has to start with `%%MatrixMarket`", "'1'"]);
    refused("%MatrixMarket matrix coordinate real general\n", 1, &["`%%MatrixMarket`"]);
    refused("%%MatrixMarket tensor coordinate real general\n", 1, &["`matrix` or `vector`", "'tensor'"]);
    refused("%%MatrixMarket vector coordinate real symmetric\n3 1\n1 1\n", 1, &["a vector has the symmetry `general`"]);
    refused("%%MatrixMarket vector coordinate real general\n3 3 1\n1 1\n", 2, &["'1' is too much", "`SIZE ENTRIES`"]);
    refused("%%MatrixMarket vector array real general\n3 1\n", 2, &["'1' is too much", "`SIZE`"]);
    refused("%%MatrixMarket vector array real general\n2\n1\n", 3, &["after 1 of the 2 entries"]);
    refused("%%MatrixMarket vector coordinate real general\n3 1\n4 1\n", 3, &["row '4' is out of range; 1 to 3"]);
    refused(
        "%%MatrixMarket vector coordinate real general\n3 1\n1 1 7\n",
        3,
        &["'7' is too much; an entry is `INDEX VALUE`"],
    );
    refused(
        "%%MatrixMarket vector coordinate pattern general\n3 1\n1 1\n",
        3,
        &["'1' is too much; an entry is `INDEX`"],
    );
    refused("%%MatrixMarket matrix sparse real general\n", 1, &["`coordinate` or `array`", "'sparse'"]);
    refused("%%MatrixMarket matrix coordinate float general\n", 1, &["`double`", "'float'"]);
    refused("%%MatrixMarket matrix coordinate real lower\n", 1, &["`skew-symmetric`", "'lower'"]);
    refused("%%MatrixMarket matrix coordinate real\n1 1 0\n", 1, &["symmetry", "the line ends there"]);
    refused("%%MatrixMarket matrix coordinate real general extra\n", 1, &["'extra' is too much"]);
    refused("%%MatrixMarket matrix coordinate real general\r1 1 0\r", 1, &["carriage return"]);
    refused([0xff, 0xfe, 0x00, 0x80], 1, &[r"'\xff\xfe\x00\x80'"]);
    refused([0x80; 5000], 1, &["…'"]);
}

#[test]
fn field_and_symmetry_have_to_go_together() {
    for (banner, part) in [
        ("array pattern general", "`pattern`"),
        ("coordinate pattern skew-symmetric", "`pattern`"),
        ("coordinate pattern hermitian", "`pattern`"),
        ("coordinate real hermitian", "`complex` only"),
        ("array integer hermitian", "`complex` only"),
        ("coordinate unsigned-integer hermitian", "`complex` only"),
        ("coordinate unsigned-integer skew-symmetric", "`unsigned-integer`"),
    ] {
        refused(format!("%%MatrixMarket matrix {banner}\n1 1 0\n"), 1, &[part]);
    }
    refused("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n", 2, &["2 × 3", "square"]);
    refused("%%MatrixMarket matrix array complex hermitian\n2 3\n", 2, &["2 × 3", "square"]);
}

#[test]
fn a_symmetric_file_lists_one_triangle() {
    let head = |symmetry: &str| format!("%%MatrixMarket matrix coordinate complex {symmetry}\n3 3 2\n2 1 1 1\n");
    for symmetry in ["symmetric", "hermitian"] {
        refused(head(symmetry) + "1 3 1 1\n", 4, &["above the diagonal", "on it and below"]);
        assert_eq!(good(head(symmetry) + "2 2 1 1\n").values.len(), 2);
    }
    refused(head("skew-symmetric") + "1 3 1 1\n", 4, &["above the diagonal"]);
    refused(head("skew-symmetric") + "2 2 0 1\n", 4, &["on the diagonal and not zero"]);
    assert_eq!(good(head("skew-symmetric") + "2 2 0 -0\n").expand_symmetry().values.len(), 3);
}
