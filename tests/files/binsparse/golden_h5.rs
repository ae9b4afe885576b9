//! HDF5 files of other writers, compared with their published decoding and verdicts.

use std::collections::BTreeMap;

use openwork::io::ReadOptions;
use openwork::io::binsparse::{self, File, Loaded, Warning};
use openwork::{Fill, Result};
use serde_json::Value;

use super::golden::compare;

fn lenient() -> ReadOptions<'static> {
    ReadOptions { lenient: true, ..ReadOptions::default() }
}

/// Whether the published decoding has entries outside of the shape: writers of 2023 gave shapes of zeros, and swapped
/// rows and columns. Swapped entries inside the shape are read as the file has them.
fn known_bad(golden: &Value) -> bool {
    let shape: Vec<u64> = serde_json::from_value(golden["shape"].clone()).unwrap();
    let outside = |entry: &Value| {
        let index: Vec<u64> = serde_json::from_value(entry[0].clone()).unwrap();
        index.iter().zip(&shape).any(|(i, n)| i >= n)
    };
    golden["entries"].as_array().unwrap().iter().any(outside)
}

#[test]
fn hdf5_files_decode_as_published() {
    let Some(root) = super::folder("hdf5_files_decode_as_published", "formats") else { return };
    let text = std::fs::read_to_string(root.join("GOLDEN.jsonl")).unwrap();
    let mut counts: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for line in text.lines() {
        let golden: Value = serde_json::from_str(line).unwrap();
        let file = golden["file"].as_str().unwrap();
        let group = golden["group"].as_str().unwrap().trim_matches('/');
        let producer = file.split('/').nth(1).unwrap().split('-').next().unwrap();
        let count = counts.entry(producer.to_owned()).or_default();
        let mut opened = File::open(root.join(file)).unwrap();
        match opened.tensor_with(group, &lenient()) {
            Ok(reading) => {
                compare(&reading.tensor, &golden);
                assert_eq!(opened.descriptor(group).unwrap(), reading.descriptor, "{file}");
                assert!(opened.names().unwrap().iter().any(|n| n == group), "{file}");
                count[0] += 1;
                // Strict reading refuses what lenient reading warns of, and takes the rest.
                match opened.tensor(group) {
                    Ok(tensor) => {
                        assert!(reading.warnings.is_empty(), "{file}: {:?}", reading.warnings);
                        compare(&tensor, &golden);
                        count[1] += 1;
                    }
                    Err(_) => assert!(!reading.warnings.is_empty(), "{file}"),
                }
            }
            Err(error) => {
                assert!(known_bad(&golden) && error.to_string().contains("out of range"), "{error}");
                count[2] += 1;
            }
        }
    }
    let counts: Vec<(&str, [usize; 3])> = counts.iter().map(|(p, c)| (p.as_str(), *c)).collect();
    // Read, read strictly, refused as known to be bad.
    let expected = [
        ("c", [44, 36, 0]),
        ("cpp", [17, 2, 0]),
        ("finch", [100, 0, 53]),
        ("py", [32, 23, 0]),
        ("spec", [72, 0, 18]),
        ("sscdf", [39, 22, 0]),
    ];
    assert_eq!(counts, expected);
}

#[test]
fn a_missing_scalar_is_one_without_an_element() {
    let Some(root) = super::folder("a_missing_scalar_is_one_without_an_element", "formats/generated") else { return };
    let x = binsparse::read_with(root.join("sscdf-seed-14167c8/scalar_empty.sscdf"), &lenient()).unwrap().tensor;
    assert_eq!((x.ndim(), x.nse()), (0, 0));
    assert!(matches!(x.fill(), Some(Fill::Scalar(_))));
}

/// What lenient reading takes of the files that strict reading must refuse, with how many warnings.
const TOLERATED: [(&str, usize); 17] = [
    ("16_idx_duplicate", 1),
    ("23_iso_len_n", 1),
    ("31_type_mismatch", 1),
    ("33_bint8_2", 1),
    ("35_val_compound", 1),
    ("36_val_bool_enum", 1),
    ("42_missing_dtype", 1),
    ("45_missing_version", 1),
    ("48_missing_number_of_stored_values", 1),
    ("49_missing_data_types", 1),
    ("71_json_nnz_gt_size", 1),
    ("83_format_case", 1),
    ("100_fill_type", 1),
    ("106_structure_skew_diag", 1),
    ("109_coor_dup", 1),
    ("116_cvec_unsorted", 1),
    ("120_old_names", 1),
];

/// What of these the list leaves open: strict reading refuses, lenient reading takes it.
const OPEN: [&str; 4] =
    ["75_version_0_1_7", "76_version_0_1_0-alpha", "85_custom_ok_no_format_key", "119_sorted_false"];

/// Reads the files whose numbers are in a range in both modes, and compares with the published verdicts.
fn verdicts(test: &str, range: std::ops::RangeInclusive<u32>) {
    let Some(root) = super::folder(test, "formats/malformed") else { return };
    let text = std::fs::read_to_string(root.join("EXPECTED.tsv")).unwrap();
    let mut seen = 0;
    for line in text.lines().filter(|l| l.contains(".h5\t")) {
        let [file, verdict, _] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let stem = file.split('.').next().unwrap();
        if !range.contains(&stem.split('_').next().unwrap().parse().unwrap()) {
            continue;
        }
        seen += 1;
        let path = root.join(file);
        let strict: Result<Loaded> = binsparse::read_with(&path, &ReadOptions::default());
        let lenient = binsparse::read_with(&path, &lenient());
        let accepted = verdict.starts_with("accept") && !OPEN.contains(&stem) && stem != "96_custom_deep";
        if accepted || verdict == "ignore array" {
            assert!(strict.unwrap().warnings.is_empty() && lenient.unwrap().warnings.is_empty(), "{line}");
            continue;
        }
        let error = strict.expect_err(line).to_string();
        assert!(error.contains(file) && error.contains("binsparse"), "{line}: {error}");
        match TOLERATED.iter().find(|(name, _)| *name == stem) {
            Some((_, n)) => assert_eq!(lenient.unwrap().warnings.len(), *n, "{line}"),
            None if OPEN.contains(&stem) => assert_eq!(lenient.unwrap().warnings.len(), 1, "{line}"),
            None => assert!(lenient.is_err(), "{line}"),
        }
    }
    assert!(seen > 0);
}

macro_rules! groups {
    ($($name:ident $range:expr;)*) => { $(#[test] fn $name() { verdicts(stringify!($name), $range); })* };
}

groups! {
    the_control 0..=0;
    group_1_pointers 1..=11;
    group_2_indices 12..=20;
    group_3_values 21..=39;
    group_4_missing_things 40..=49;
    group_5_json 50..=57;
    group_6_numbers 58..=71;
    group_7_versions 72..=81;
    group_8_formats_and_custom_levels 82..=96;
    group_9_fill_and_structure 97..=107;
    group_10_order_sizes_and_draft_keys 108..=120;
    group_11_the_container 121..=132;
}

#[test]
fn every_encoding_of_one_matrix() {
    let Some(root) = super::folder("every_encoding_of_one_matrix", "formats/hdf5-variants") else { return };
    let index = std::fs::read_to_string(root.join("INDEX.tsv")).unwrap();
    let control = binsparse::read(root.join("earliest.bsp.h5")).unwrap().to_string();
    let mut read = 0;
    for line in index.lines().skip(1) {
        let file = line.split('\t').next().unwrap();
        let (strict, lenient) = (binsparse::read(root.join(file)), binsparse::read_with(root.join(file), &lenient()));
        let form = |text| vec![Warning::DescriptorForm(text)];
        let warnings = match file {
            "attr_1elem_array.bsp.h5" => form("a list of one text"),
            "attr_uint8_array.bsp.h5" => form("bytes"),
            _ => Vec::new(),
        };
        assert_eq!(strict.is_ok(), warnings.is_empty(), "{file}");
        let reading = lenient.unwrap();
        assert_eq!((reading.tensor.to_string(), reading.warnings), (control.clone(), warnings), "{file}");
        read += 1;
    }
    assert_eq!(read, 26);
}
