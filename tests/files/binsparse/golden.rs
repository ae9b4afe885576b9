//! Files of other writers, compared with their published decoding.

use std::collections::BTreeMap;
use std::path::Path;

use openwork::io;
use openwork::io::ReadOptions;
use openwork::io::binsparse;
use openwork::{Fill, Tensor};
use serde_json::Value;

use crate::spelled;

fn numbers_agree(ours: &Value, theirs: &Value) -> bool {
    ours == theirs || (ours.is_number() && ours.as_f64() == theirs.as_f64())
}

/// Compares with the published decoding, which has of a structured matrix the stored triangle alone.
pub fn compare(tensor: &Tensor, golden: &Value) {
    let shape: Vec<usize> = serde_json::from_value(golden["shape"].clone()).unwrap();
    assert_eq!(tensor.shape(), shape);
    let triangle = golden["structure"].as_str().unwrap_or_default();
    let inside = |i: &[usize]| match triangle {
        t if t.ends_with("lower") => i[0] >= i[1],
        t if t.ends_with("upper") => i[0] <= i[1],
        _ => true,
    };
    let stored = tensor.iter_stored().filter(|(i, _)| inside(i));
    let mut ours: Vec<(Vec<usize>, Value)> = stored.map(|(i, v)| (i, spelled(v))).collect();
    let entries = golden["entries"].as_array().unwrap();
    let mut theirs: Vec<(Vec<usize>, Value)> =
        entries.iter().map(|e| (serde_json::from_value(e[0].clone()).unwrap(), e[1].clone())).collect();
    ours.sort_by(|a, b| a.0.cmp(&b.0));
    theirs.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(ours.len(), theirs.len());
    for (a, b) in ours.iter().zip(&theirs) {
        assert!(a.0 == b.0 && numbers_agree(&a.1, &b.1), "{a:?} and {b:?}");
    }
    if let (Some(Fill::Scalar(fill)), false) = (tensor.fill(), golden["fill"].is_null()) {
        assert!(numbers_agree(&spelled(*fill), &golden["fill"]));
    }
}

pub fn goldens(root: &Path) -> BTreeMap<String, Value> {
    let text = std::fs::read_to_string(root.join("GOLDEN.jsonl")).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|v| (v["file"].as_str().unwrap().to_owned(), v)).collect()
}

/// Reads what the Python reference wrote, of one ending, and compares it; gives how many files there were, and of how many strictly.
pub fn read_all(root: &Path, ending: &str) -> (usize, usize) {
    let goldens = goldens(root);
    let folder = "generated/py-binsparse-0.1.4";
    let (mut read, mut strict) = (0, 0);
    for entry in std::fs::read_dir(root.join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != ending) {
            continue;
        }
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let golden = &goldens[&format!("{folder}/{stem}.h5")];
        let options = ReadOptions { lenient: true, ..ReadOptions::default() };
        let reading = binsparse::read_with(&path, &options).unwrap_or_else(|error| panic!("{error}"));
        compare(&reading.tensor, golden);
        assert_eq!(binsparse::info(&path).unwrap(), reading.descriptor);
        let info = &io::info(&path).unwrap()[0];
        assert_eq!(info.nse, reading.descriptor.number_of_stored_values);
        assert!(info.file_bytes.unwrap() > 250 && !info.arrays.is_empty());
        // The writer gives fills of other types than the values, which strict reading refuses.
        match binsparse::read(&path) {
            Ok(tensor) => {
                assert!(reading.warnings.is_empty(), "{stem}: {:?}", reading.warnings);
                compare(&tensor, golden);
                strict += 1;
            }
            Err(error) => assert!(error.to_string().contains("fill_value"), "{stem}: {error}"),
        }
        read += 1;
    }
    (read, strict)
}

#[test]
fn npz_files_of_the_python_reference_decode_as_published() {
    let Some(root) = super::folder("npz_files_of_the_python_reference_decode_as_published", "formats") else { return };
    assert_eq!(read_all(&root, "npz"), (25, 23));
}

#[test]
fn broken_npz_files_get_their_published_verdict() {
    let Some(root) = super::folder("broken_npz_files_get_their_published_verdict", "formats/malformed") else { return };
    let text = std::fs::read_to_string(root.join("EXPECTED.tsv")).unwrap();
    let lenient = ReadOptions { lenient: true, ..ReadOptions::default() };
    let mut seen = 0;
    for line in text.lines().filter(|l| l.contains(".npz")) {
        let [file, verdict, _] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let path = root.join(file);
        let before: Vec<_> = std::fs::read_dir(&root).unwrap().map(|e| e.unwrap().path()).collect();
        let (strict, lenient) = (binsparse::read(&path), binsparse::read_with(&path, &lenient));
        match verdict {
            "reject" => assert!(strict.is_err() && lenient.is_err(), "{line}"),
            "lenient accept" | "py .item() accepts; strict reject" => {
                assert!(strict.is_err(), "{line}");
                assert_eq!(lenient.unwrap().warnings.len(), 1, "{line}");
            }
            _ => {
                assert!(verdict.starts_with("accept"), "{line}");
                assert_eq!(strict.unwrap().values::<f64>().unwrap().len(), 4, "{line}");
            }
        }
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), before.len(), "{line}: a file was made");
        seen += 1;
    }
    assert_eq!(seen, 8);
}
