//! Older drafts, each with its warning.

use openwork::io::binsparse::Warning;
use serde_json::{Value, json};

use crate::common::npz::{Draft, f64s, u64s};

fn old(found: &str, meaning: &str) -> Warning {
    Warning::OldSpelling { found: found.into(), meaning: meaning.into() }
}

/// The file means the same as the control, and reading it gives these warnings.
fn read_as_control(draft: &Draft, warnings: &[Warning]) {
    assert!(draft.strict().is_err(), "{}", draft.json);
    let reading = draft.lenient().unwrap();
    let control = Draft::csr().strict().unwrap().tensor;
    assert_eq!(reading.tensor.to_string(), control.to_string());
    for w in warnings {
        assert!(reading.warnings.contains(w), "{w} is not in {:?}", reading.warnings);
        assert!(!w.to_string().is_empty());
    }
    assert_eq!(reading.warnings.len(), warnings.len(), "{:?}", reading.warnings);
}

#[test]
fn the_prototype_of_2022_and_flat_descriptors() {
    let flat = Draft::csr().text("{\"format\": \"CSR\", \"shape\": [3, 4], \"nnz\": 4}");
    let missing = [Warning::MissingKey("version"), Warning::MissingKey("data_types")];
    let more = [Warning::FlatDescriptor, old("nnz", "number_of_stored_values")];
    read_as_control(&flat, &[&missing[..], &more].concat());
}

#[test]
fn names_of_2023() {
    let types = json!({"pointers_0": "uint64->uint64", "indices_1_type": "uint64", "values_type": "float64"});
    let draft = Draft::csr().key("data_types", types).key("attrs", json!({})).without("pointers_to_1");
    let draft = draft.array("pointers_0", u64s(&[0, 2, 3, 4]));
    let warnings = [
        old("pointers_0", "pointers_to_1"),
        old("uint64->uint64", "uint64"),
        old("indices_1_type", "indices_1"),
        old("values_type", "values"),
    ];
    read_as_control(&draft, &warnings);
    let vector = Draft::csr().key("format", json!("VEC")).key("shape", json!([9])).without("pointers_to_1");
    let types = json!({"indices_0": "uint64", "values": "iso[float64]"});
    let vector = vector.key("data_types", types).array("indices_0", u64s(&[1, 2, 5, 8])).array("values", f64s(&[7.0]));
    let reading = vector.lenient().unwrap();
    assert_eq!(reading.warnings, [old("VEC", "CVEC")]);
    assert_eq!(reading.tensor.get([5]).unwrap(), Some(7.0.into()));
    let iso = Draft::csr().key("format", json!("iso[CSR]")).array("values", f64s(&[7.0])).lenient().unwrap();
    assert_eq!(iso.tensor.get([2, 2]).unwrap(), Some(7.0.into()));
    assert_eq!(iso.warnings, [old("iso[CSR]", "CSR")]);
}

#[test]
fn levels_of_2023_and_2024() {
    let kinds = |kind: &str, child: &str| {
        let leaf = json!({kind: "sparse", "rank": 1, child: {kind: "element"}});
        json!({kind: "dense", "rank": 1, child: leaf})
    };
    let tree = kinds("level", "subformat");
    let as_format = Draft::csr().key("format", tree.clone());
    let names = [old("level", "level_desc"), old("subformat", "level")];
    let thrice = [names[0].clone(), names[1].clone(), names[0].clone(), names[1].clone(), names[0].clone()];
    read_as_control(&as_format, &[&thrice[..], &[old("format: {…}", "custom")]].concat());
    let swizzled = Draft::csr().key("format", json!({"subformat": tree, "swizzle": [1, 2]}));
    let more = [old("format: {…}", "custom"), old("subformat", "level"), Warning::Swizzle];
    read_as_control(&swizzled, &[&thrice[..], &more].concat());
    let tensor = Draft::csr().key("tensor", json!({"level": kinds("level_kind", "level"), "transpose": [0, 1]}));
    let kind = old("level_kind", "level_desc");
    read_as_control(&tensor, &[kind.clone(), kind.clone(), kind, old("tensor", "custom")]);
    let zero = Draft::csr().key("format", json!({"subformat": kinds("level", "subformat"), "swizzle": [0, 1]}));
    assert!(zero.lenient().unwrap_err().to_string().contains("from 1"));
}

#[test]
fn a_level_may_say_that_it_is_not_sorted() {
    let leaf = json!({"level_desc": "sparse", "rank": 1, "sorted": false, "level": {"level_desc": "element"}});
    let custom = json!({"level": {"level_desc": "dense", "rank": 1, "level": leaf}});
    let draft = Draft::csr().key("format", json!("custom")).key("custom", custom);
    let draft = draft.array("indices_1", u64s(&[3, 1, 0, 2])).array("values", f64s(&[2.0, 1.0, 3.0, 4.0]));
    assert!(draft.strict().unwrap_err().to_string().contains("\"sorted\""));
    let reading = draft.lenient().unwrap();
    assert_eq!(reading.warnings, [Warning::UnsortedLevel]);
    assert_eq!(reading.tensor.get([0, 3]).unwrap(), Some(2.0.into()));
}

#[test]
fn repeated_coordinates_mean_their_sum() {
    let reading = Draft::csr().array("indices_1", u64s(&[1, 1, 0, 2])).lenient().unwrap();
    assert_eq!(reading.warnings, [Warning::Unordered]);
    assert_eq!(reading.tensor.get([0, 1]).unwrap(), Some(3.0.into()));
}

#[test]
fn what_even_lenient_reading_cannot_understand() {
    assert!(Draft::csr().key("nnz", json!(4)).lenient().is_err(), "two counts");
    assert!(Draft::csr().key("swizzle", json!([1, 2])).lenient().is_err(), "a permutation of nothing");
    assert!(Draft::csr().key("format", Value::Null).lenient().is_err(), "no levels");
}
