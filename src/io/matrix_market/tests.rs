//! What is accepted, and what it means; [`refused`] has the rest.

mod refused;

use std::io::Write;

use super::*;
use crate::base::error::ErrorKind;
use refused::refused;

const REAL: &str = "%%MatrixMarket matrix coordinate real general\n";
const INTEGER: &str = "%%MatrixMarket matrix coordinate integer general\n";
const UNSIGNED: &str = "%%MatrixMarket matrix coordinate unsigned-integer general\n";
const PATTERN: &str = "%%MatrixMarket matrix coordinate pattern general\n";
const COMPLEX: &str = "%%MatrixMarket matrix coordinate complex general\n";

/// As the public functions, with the bare error.
fn parse(bytes: &[u8]) -> std::result::Result<ParsedMatrix, ParseError> {
    parse_with(bytes, &ReadOptions::default())
}

fn parse_with(bytes: &[u8], options: &ReadOptions<'_>) -> std::result::Result<ParsedMatrix, ParseError> {
    of_bytes(bytes, options).map_err(Failure::in_text)
}

fn good(text: impl AsRef<[u8]>) -> ParsedMatrix {
    parse(text.as_ref()).unwrap()
}

fn u32s(indices: &[u32]) -> Indices {
    Indices::U32(indices.to_vec())
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn coordinates_come_in_file_order() {
    let parsed = good(format!("{REAL}% a comment\n3 4 4\n3 1 1.5\n1 4 -2e-3\n3 1 0\n2 2 .25\n"));
    assert_eq!((parsed.rows, parsed.cols), (3, 4));
    assert_eq!((parsed.format, parsed.field, parsed.symmetry), (Listing::Coordinate, Field::Real, Symmetry::General));
    assert_eq!(parsed.type_hint, None);
    assert_eq!(parsed.row_indices, u32s(&[2, 0, 2, 1]));
    assert_eq!(parsed.col_indices, u32s(&[0, 3, 0, 1]));
    assert_eq!(parsed.values, Values::Real(vec![1.5, -2e-3, 0.0, 0.25]));
    assert_eq!(parsed.clone().expand_symmetry(), parsed);
}

#[test]
fn every_field_is_read() {
    assert_eq!(good(format!("{INTEGER}1 1 1\n1 1 -7\n")).values, Values::Integer(vec![-7]));
    let unsigned = good(format!("{UNSIGNED}1 1 1\n1 1 18446744073709551615\n"));
    assert_eq!((unsigned.field, unsigned.values), (Field::UnsignedInteger, Values::Unsigned(vec![u64::MAX])));
    assert_eq!(good(format!("{PATTERN}2 2 2\n1 1\n2 1\n")).values, Values::Pattern(2));
    assert_eq!(good(format!("{COMPLEX}1 1 1\n1 1 1.5 -inf\n")).values, Values::Complex(vec![[1.5, f64::NEG_INFINITY]]));
    let double = good("%%matrixmarket MATRIX Coordinate DOUBLE General\n1 1 1\n1 1 2\n");
    assert_eq!((double.field, double.values), (Field::Real, Values::Real(vec![2.0])));
}

#[test]
fn loose_layout_is_accepted() {
    let expected = good(format!("{REAL}2 2 2\n1 1 1\n2 2 2\n"));
    for text in [
        "%%MatrixMarket matrix coordinate real general\r\n2 2 2\r\n1 1 1\r\n2 2 2\r\n",
        "%%MatrixMarket matrix coordinate real general\r\n\r\n%\r\n2 2 2\r\n\r\n1 1 1\r\n2 2 2\r",
        "\n  %%MatrixMarket\tmatrix  coordinate real general \n\n \t\n2 2 2\n1 1 1\n2 2 2",
        "%%MatrixMarket matrix coordinate real general\n  2\t2  2 \n\t1 \t 1\t+1.0 \n% in between\n\n  2 2 2.\t\n %\n\n",
        "%%MatrixMarket matrix coordinate real general\n%\n\n%a\n2 2 2\n%b\n1 1 1e0\n%c\n0002 2 20E-1\n%d",
    ] {
        assert_eq!(good(text), expected, "{text:?}");
    }
    let mut latin1 = REAL.as_bytes().to_vec();
    latin1.extend_from_slice(b"% caf\xe9 \xff\x00\n2 2 2\n1 1 1\n% \xe9\n2 2 2\n");
    assert_eq!(good(latin1), expected);
}

#[test]
fn reals_are_rounded_correctly() {
    let literals = [
        "0.1",
        "1e400",
        "-1e400",
        "1e-400",
        "4.9406564584124654e-324",
        "2.2250738585072011e-308",
        "9007199254740993",
        "1.7976931348623157e308",
        "0.30000000000000004",
        "123456789012345678901234567890",
        "-0",
        "5e-1",
        "+3.25",
        "1.00000000000000011102230246251565404236316680908203125",
        "8.5445170418170911e-01",
        "-9.0360358396317193e-17",
    ];
    for literal in literals {
        let Values::Real(values) = good(format!("{REAL}1 1 1\n1 1 {literal}")).values else { unreachable!() };
        let expected: f64 = literal.parse().unwrap();
        assert_eq!(values[0].to_bits(), expected.to_bits(), "{literal}");
    }
    for (literal, expected) in [
        ("inf", f64::INFINITY),
        ("-INF", f64::NEG_INFINITY),
        ("+Infinity", f64::INFINITY),
        ("nan", f64::NAN),
        ("-NaN", f64::NAN),
    ] {
        let Values::Real(values) = good(format!("{REAL}1 1 1\n1 1 {literal}\n")).values else { unreachable!() };
        assert!(values[0] == expected || values[0].is_nan() && expected.is_nan(), "{literal}");
    }
    let mut random = Random(7);
    for _ in 0..20_000 {
        let value = f64::from_bits(random.next());
        if value.is_finite() {
            let parsed = good(format!("{REAL}1 1 1\n1 1 {value:.16e}\n"));
            assert_eq!(parsed.values, Values::Real(vec![value]));
        }
    }
}

#[test]
fn type_hints_widen_integers() {
    let hinted = |hint: &str, value: &str| format!("{INTEGER}%%GraphBLAS type {hint}\n% more\n1 1 1\n1 1 {value}\n");
    let parsed = good(hinted("uint64_t", "18446744073709551615"));
    assert_eq!((parsed.field, parsed.values), (Field::Integer, Values::Unsigned(vec![u64::MAX])));
    assert_eq!(good(hinted("float", "-inf")).values, Values::Real(vec![f64::NEG_INFINITY]));
    assert_eq!(good(hinted("int8_t", "5")).values, Values::Integer(vec![5]));
    refused(hinted("int64_t", "inf"), 5, &["'inf'"]);
    assert_eq!(good(hinted("  double \t complex ", "5")).type_hint.as_deref(), Some("double complex"));
    assert_eq!(
        good(format!("{PATTERN}%%GraphBLAS comment\n%%graphblas TYPE bool\r\n1 1 0\n")).type_hint.as_deref(),
        Some("bool")
    );
    assert_eq!(good(format!("{PATTERN}%%GraphBLAS type\n1 1 0\n%%GraphBLAS type bool\n")).type_hint, None);
}

#[test]
fn symmetry_is_expanded_on_request() {
    let text = |field: &str, symmetry: &str, entries: &str| {
        good(format!("%%MatrixMarket matrix coordinate {field} {symmetry}\n3 3 3\n{entries}")).expand_symmetry()
    };
    let parsed = text("real", "symmetric", "2 1 5\n3 3 6\n3 2 7\n");
    assert_eq!(parsed.symmetry, Symmetry::General);
    assert_eq!(parsed.row_indices, u32s(&[1, 2, 2, 0, 1]));
    assert_eq!(parsed.col_indices, u32s(&[0, 2, 1, 1, 2]));
    assert_eq!(parsed.values, Values::Real(vec![5.0, 6.0, 7.0, 5.0, 7.0]));
    let parsed = text("integer", "skew-symmetric", "2 1 5\n3 1 6\n3 2 -7\n");
    assert_eq!(parsed.row_indices, u32s(&[1, 2, 2, 0, 0, 1]));
    assert_eq!(parsed.values, Values::Integer(vec![5, 6, -7, -5, -6, 7]));
    let parsed = text("complex", "hermitian", "1 1 5 0\n3 1 6 2\n3 2 7 -1\n");
    assert_eq!(parsed.values, Values::Complex(vec![[5.0, 0.0], [6.0, 2.0], [7.0, -1.0], [6.0, -2.0], [7.0, 1.0]]));
    let parsed = text("pattern", "symmetric", "1 1\n2 2\n3 2\n");
    assert_eq!((parsed.values, parsed.col_indices), (Values::Pattern(4), u32s(&[0, 1, 1, 2])));
    let wide = good("%%MatrixMarket matrix coordinate pattern symmetric\n2147483648 2147483648 1\n2147483648 1\n");
    let parsed = wide.expand_symmetry();
    assert_eq!(parsed.row_indices, Indices::U64(vec![2_147_483_647, 0]));
    assert_eq!((parsed.col_indices.get(1), parsed.col_indices.get(2)), (Some(2_147_483_647), None));
}

#[test]
fn arrays_hold_every_position() {
    let array = |banner: &str, rest: &str| good(format!("%%MatrixMarket matrix array {banner}\n{rest}"));
    let parsed = array("integer general", "2 3\n1\n\n2\n% c\n3\n4\n5\n-6");
    assert_eq!((parsed.rows, parsed.cols, parsed.row_indices.is_empty()), (2, 3, true));
    assert_eq!(parsed.values, Values::Integer(vec![1, 2, 3, 4, 5, -6]));
    let parsed = array("real symmetric", "3 3\n1\n.2\n3\n4\n-inf\n6\n");
    let inf = f64::NEG_INFINITY;
    assert_eq!(parsed.symmetry, Symmetry::Symmetric);
    assert_eq!(parsed.values, Values::Real(vec![1.0, 0.2, 3.0, 0.2, 4.0, inf, 3.0, inf, 6.0]));
    let general = ParsedMatrix { symmetry: Symmetry::General, ..parsed.clone() };
    assert_eq!(parsed.expand_symmetry(), general);
    let skew = array("integer skew-symmetric", "3 3\n1\n2\n3\n");
    assert_eq!(skew.values, Values::Integer(vec![0, 1, 2, -1, 0, 3, -2, -3, 0]));
    let hermitian = array("complex hermitian", "2 2\n1 0\n2 3\n4 0\n");
    assert_eq!(hermitian.values, Values::Complex(vec![[1.0, 0.0], [2.0, 3.0], [2.0, -3.0], [4.0, 0.0]]));
    assert_eq!(array("real skew-symmetric", "1 1\n").values, Values::Real(vec![0.0]));
    assert_eq!(array("real skew-symmetric", "0 0\n").values, Values::Real(vec![]));
}

#[test]
fn gzip_is_recognised_by_its_bytes() {
    let text = format!("{REAL}2 2 2\n1 1 1\n2 2 2\n");
    let packed = gzip(text.as_bytes());
    assert_eq!(good(&packed), good(&text));
    let (first, second) = text.as_bytes().split_at(60);
    assert_eq!(good([gzip(first), gzip(second)].concat()), good(&text));
    for cut in 2..packed.len() {
        let error = parse(&packed[..cut]).unwrap_err();
        assert!(error.message.contains("gzip stream is cut off or damaged"), "{error}");
    }
    refused([0x1f, 0x8b], 1, &["gzip"]);
    let last = packed.len() - 1;
    let mut damaged = packed.clone();
    damaged[last] ^= 1;
    refused(damaged, 5, &["damaged"]);
    refused(gzip(format!("{REAL}2 2 1\n1 x 1\n").as_bytes()), 3, &["'x'"]);
}

#[test]
fn the_caller_can_bound_the_size() {
    let bomb = gzip(&vec![b'\n'; 20_000_000]);
    let bounded =
        |bytes: &[u8], limit: u64| parse_with(bytes, &ReadOptions { max_bytes: Some(limit), ..ReadOptions::default() });
    let error = bounded(&bomb, 1_000_000).unwrap_err();
    assert!(error.message.contains("larger than the 1000000 bytes"), "{error}");
    assert_eq!(error.line, 1_000_001);
    let text = format!("{REAL}1 1 1\n1 1 1\n");
    let length = text.len() as u64;
    assert!(bounded(text.as_bytes(), length).is_ok());
    assert_eq!(bounded(text.as_bytes(), length - 1).unwrap_err().line, 3);
    assert!(bounded(text.as_bytes(), u64::MAX).is_ok());
}

#[test]
fn files_are_read_and_named_in_errors() {
    let path = std::env::temp_dir().join(format!("openwork-matrix-market-{}.txt", std::process::id()));
    std::fs::write(&path, gzip(format!("{REAL}1 1 1\n1 1 1\n").as_bytes())).unwrap();
    assert_eq!(parse_file(&path, &ReadOptions::default()).unwrap().values, Values::Real(vec![1.0]));
    assert!(matches!(
        parse_file(&path, &ReadOptions { max_bytes: Some(9), ..ReadOptions::default() }),
        Err(e) if matches!(e.kind(), ErrorKind::Format { .. })
    ));
    std::fs::write(&path, format!("{REAL}1 1 1\n1 1 x\n")).unwrap();
    let error = parse_file(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}: Matrix Market: line 3: 'x'", path.display())), "{error}");
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(parse_file(&path, &ReadOptions::default()), Err(e) if matches!(e.kind(), ErrorKind::Io { .. })));
}

/// A small generator, good enough to choose bytes.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }
}

#[test]
fn mutated_files_never_panic() {
    let seeds = [
        format!("{REAL}% c\n3 3 3\n1 1 1.25e-3\n2 3 -inf\n3 1 9007199254740993\n").into_bytes(),
        b"%%MatrixMarket matrix coordinate complex hermitian\r\n2 2 2\r\n1 1 1 0\r\n2 1 2 -3\r\n".to_vec(),
        b"%%MatrixMarket matrix array integer skew-symmetric\n3 3\n1\n-2\n9223372036854775807\n".to_vec(),
        b"%%MatrixMarket matrix coordinate pattern symmetric\n%%GraphBLAS type bool\n4 4 2\n2 1\n4 4\n".to_vec(),
        gzip(format!("{INTEGER}2 2 2\n1 1 1\n2 2 -2\n").as_bytes()),
    ];
    const TELLING: &[u8] = b"0123456789 \t\r\n%+-.eEinfa\x00\x1f\x8b\xff";
    let options = ReadOptions { max_bytes: Some(1 << 20), ..ReadOptions::default() };
    let mut random = Random(1);
    for round in 0..20_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=random.below(4) {
            let place = random.below(bytes.len());
            let byte = TELLING[random.below(TELLING.len())];
            match random.below(5) {
                0 => bytes[place] = random.next() as u8,
                1 => bytes[place] = byte,
                2 => bytes.insert(place, byte),
                3 if bytes.len() > 1 => drop(bytes.remove(place)),
                _ => bytes.truncate(place + 1),
            }
        }
        match parse_with(&bytes, &options) {
            Ok(parsed) => {
                let entries = parsed.row_indices.len();
                assert!(parsed.format == Listing::Array || entries == parsed.values.len());
                let expanded = parsed.expand_symmetry();
                assert_eq!(expanded.row_indices.len(), expanded.col_indices.len());
                assert!(expanded.values.len() >= entries);
            }
            Err(error) => assert!(error.line >= 1 && !error.message.is_empty()),
        }
    }
}
