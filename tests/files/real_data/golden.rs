//! Files of other writers, against what another reader of Matrix Market found in them.
//!
//! `formats/GOLDEN_MTX.jsonl` has one JSON object per file: its header and its entries as listed, symmetry not
//! expanded, or an error. Where this library's reader means to differ, the lists below say so and why.

use std::path::{Path, PathBuf};

use openwork::io::ReadOptions;
use openwork::io::matrix_market;
use openwork::{DType, Layout, Scalar, Tensor, c128};
use serde_json::Value;

/// The other reader accepts these, ours refuses: file, a word of the message. Besides, ours refuses every `vector`.
const REFUSED: [(&str, &str); 5] = [
    // One percent sign does not make a banner.
    ("matrixmarket/fmm-tests/permissive/permissive_banner_one_percent_eye3.mtx", "%%MatrixMarket"),
    // Hermitian means complex: the format has no other.
    ("matrixmarket/fmm-tests/symmetry/coordinate_hermitian_real_row.mtx", "hermitian"),
    ("matrixmarket/sprs/complex/hermitian-int.mtx", "hermitian"),
    // A diagonal that is its own negative is zero, this one is not.
    ("matrixmarket/fmm-python-tests/matrix_coordinate_real_skew-symmetric.mtx", "diagonal"),
    // A symmetric file lists the lower triangle, this one the upper.
    ("matrixmarket/lagraph/ldbc-undirected-example-bool.mtx", "diagonal"),
];

/// The other reader refuses these, ours accepts.
const ACCEPTED: [&str; 4] = [
    // Blank lines between comments and size.
    "matrixmarket/lagraph/west0067_jumbled.mtx",
    // A type hint says what an `integer` file holds.
    "matrixmarket/lagraph/matrix_uint64.mtx",
    "matrixmarket/lagraph/matrix_fp32.mtx",
    "matrixmarket/lagraph/matrix_fp64.mtx",
];

#[test]
fn every_file_reads_as_expected() {
    let Some(formats) = super::folder("every_file_reads_as_expected", "formats") else { return };
    let lines = std::fs::read_to_string(formats.join("GOLDEN_MTX.jsonl")).unwrap();
    let (mut read, mut refused, mut failures) = (0, 0, Vec::new());
    for golden in lines.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()) {
        let file = golden["file"].as_str().unwrap();
        // A vector, which the other reader takes to be a matrix of one column.
        let is_vector = golden["object"] == "vector";
        let result = matrix_market::read(formats.join(file));
        let result = result.and_then(|x| if is_vector { x.expand_dims(1) } else { Ok(x) });
        let word = REFUSED.iter().find(|(name, _)| *name == file).map(|(_, word)| *word);
        let bytes = std::fs::read(formats.join(file)).unwrap();
        let fails_there = golden.get("error").is_some() && !ACCEPTED.contains(&file);
        let outcome = match (&result, word) {
            (Err(e), Some(word)) if e.to_string().contains(word) => Ok(()),
            (_, Some(word)) => Err(format!("not refused for {word}: {result:?}")),
            (Err(_), None) if fails_there => Ok(()),
            (Ok(_), None) if fails_there => Err(format!("accepted, expected {}", golden["error"])),
            (Err(e), None) => Err(e.to_string()),
            (Ok(_), None) if ACCEPTED.contains(&file) => Ok(()),
            (Ok(x), None) => compare(x, &golden, &bytes),
        };
        *if result.is_ok() { &mut read } else { &mut refused } += 1;
        failures.extend(outcome.err().map(|why| format!("{file}: {why}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert_eq!((read, refused), (175, 18));
}

/// What the four files hold that the other reader refuses.
#[test]
fn files_that_only_this_reader_accepts() {
    let Some(formats) = super::folder("files_that_only_this_reader_accepts", "formats") else { return };
    let read = |name: &str| matrix_market::read(formats.join("matrixmarket/lagraph").join(name)).unwrap();
    let jumbled = read("west0067_jumbled.mtx").to_layout(Layout::Csr).unwrap();
    let plain = read("west0067.mtx").to_layout(Layout::Csr).unwrap();
    assert_eq!(jumbled.nse(), 294);
    assert_eq!(super::triplets::stored(&jumbled), super::triplets::stored(&plain));
    for (name, dtype) in [("uint64", DType::U64), ("fp32", DType::F32), ("fp64", DType::F64)] {
        let x = read(&format!("matrix_{name}.mtx"));
        assert_eq!((x.dtype(), x.shape(), x.nse()), (dtype, &[7, 7][..], 12), "{name}");
    }
    assert!(read("matrix_uint64.mtx").iter_stored().any(|(_, v)| v == Scalar::U64(u64::MAX)));
}

/// Compressed as not.
#[test]
fn gzip() {
    let Some(formats) = super::folder("gzip", "formats") else { return };
    let file = formats.join("matrixmarket/fmm-python-tests/matrix_coordinate_real_general.mtx");
    let (plain, packed) = (matrix_market::read(&file).unwrap(), matrix_market::read(file.with_extension("mtx.gz")));
    assert_eq!(plain.to_string(), packed.unwrap().to_string());
}

/// Every file there is, and every file cut short anywhere, is read or refused: nothing panics.
#[test]
fn files_cut_short_do_no_harm() {
    let Some(formats) = super::folder("files_cut_short_do_no_harm", "formats") else { return };
    let mut files = Vec::new();
    walk(&formats, &mut files);
    let of_interest = |p: &&PathBuf| [".mtx", ".gz", ".ttx"].iter().any(|e| p.to_string_lossy().ends_with(e));
    let files: Vec<_> = files.iter().filter(of_interest).collect();
    assert!(files.len() > 200, "{} files", files.len());
    for file in files {
        let bytes = std::fs::read(file).unwrap();
        let _ = matrix_market::read_bytes(&bytes, &ReadOptions::default());
        let step = bytes.len() / 500 + 1;
        for end in (0..bytes.len()).step_by(step) {
            let _ = matrix_market::read_bytes(&bytes[..end], &ReadOptions::default());
        }
    }
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, files) } else { files.push(path) }
    }
}

fn compare(x: &Tensor, golden: &Value, bytes: &[u8]) -> Result<(), String> {
    let shape: Vec<u64> = golden["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    let dtype = expected_dtype(golden["field"].as_str().unwrap(), bytes);
    if x.shape().iter().map(|&n| n as u64).ne(shape.iter().copied()) || x.dtype() != dtype {
        return Err(format!("shape {:?} {}, expected {shape:?} {dtype}", x.shape(), x.dtype()));
    }
    let dense = golden["format"] == "array";
    let symmetry = golden["symmetry"].as_str().unwrap();
    let mut entries: Vec<(Vec<usize>, Scalar)> = Vec::new();
    for entry in golden["entries"].as_array().unwrap() {
        let index: Vec<usize> = [0, 1].map(|i| entry[i].as_u64().unwrap() as usize).to_vec();
        // Of an array with a symmetry the other reader gives what the file does not list as more zeros at (0, 0).
        if !dense || symmetry == "general" || entries.iter().all(|e| e.0 != index) {
            entries.push((index, number(&entry[2])));
        }
    }
    let listed = entries.clone().into_iter().filter(|(index, _)| symmetry != "general" && index[0] != index[1]);
    entries.extend(listed.map(|(index, value)| (vec![index[1], index[0]], mirrored(value, symmetry))));
    if dense && symmetry == "skew-symmetric" {
        entries.extend((1..shape[0] as usize).map(|i| (vec![i, i], Scalar::F64(0.0))));
    }
    let mut expected: Vec<_> = entries.into_iter().map(|(index, value)| (index, value.cast(dtype))).collect();
    if x.is_strided() != dense {
        return Err(format!("layout {}", x.layout()));
    }
    if dense {
        expected.sort_by(|a, b| a.0.cmp(&b.0));
    }
    let found: Vec<_> = x.iter_stored().collect();
    let same = |(a, b): (&(Vec<usize>, Scalar), &(Vec<usize>, Scalar))| a.0 == b.0 && a.1.same(b.1);
    if found.len() != expected.len() || !found.iter().zip(&expected).all(same) {
        return Err(format!("found {found:?}, expected {expected:?}"));
    }
    Ok(())
}

/// The dtype of the field, or the one that a comment `%%GraphBLAS type T` names.
fn expected_dtype(field: &str, bytes: &[u8]) -> DType {
    let text = String::from_utf8_lossy(bytes);
    match text.lines().find_map(|l| l.strip_prefix("%%GraphBLAS type ")).map(str::trim) {
        Some("bool") => DType::Bool,
        Some("int8_t") => DType::I8,
        Some("int16_t") => DType::I16,
        Some("int32_t") => DType::I32,
        Some("int64_t") => DType::I64,
        Some("uint8_t") => DType::U8,
        Some("uint16_t") => DType::U16,
        Some("uint32_t") => DType::U32,
        Some("uint64_t") => DType::U64,
        Some("float") => DType::F32,
        Some("double") => DType::F64,
        Some("float complex") => DType::Complex64,
        Some("double complex") => DType::Complex128,
        Some(other) => panic!("type {other}"),
        None => match field {
            "pattern" => DType::Bool,
            "integer" => DType::I64,
            "real" => DType::F64,
            "complex" => DType::Complex128,
            other => panic!("field {other}"),
        },
    }
}

fn number(value: &Value) -> Scalar {
    let float = |value: &Value| match value.as_str() {
        Some("Infinity") => f64::INFINITY,
        Some("-Infinity") => f64::NEG_INFINITY,
        Some("NaN") => f64::NAN,
        _ => value.as_f64().unwrap(),
    };
    match value {
        Value::Object(parts) => c128::new(float(&parts["re"]), float(&parts["im"])).into(),
        value => value.as_i64().map_or_else(|| float(value).into(), Scalar::from),
    }
}

fn mirrored(value: Scalar, symmetry: &str) -> Scalar {
    match (value, symmetry) {
        (Scalar::Complex128(v), "hermitian") => v.conj().into(),
        (Scalar::Complex128(v), "skew-symmetric") => (-v).into(),
        (Scalar::F64(v), "skew-symmetric") => (-v).into(),
        (Scalar::I64(v), "skew-symmetric") => (-v).into(),
        (value, "symmetric") => value,
        (value, other) => panic!("{value} in a {other} file"),
    }
}
