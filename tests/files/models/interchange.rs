//! Descriptors and arrays handed from one library to another.

use openwork::exchange::binsparse::{Binsparse, Constituents};
use openwork::io::ReadOptions;
use openwork::io::binsparse::Warning;
use openwork::{DType, Fill, Layout, Tensor};
use serde_json::{Value, json};

use super::{all_tensors, same};

#[test]
fn every_storage_fill_and_dtype() {
    let (mut standard, mut shared) = (0, 0);
    for (cell, x) in all_tensors(8) {
        let parts = x.to_binsparse_extended().unwrap();
        let space = if parts.descriptor.get("openwork").is_some() { "openwork" } else { "binsparse" };
        let mut declared: Vec<&String> = parts.descriptor[space]["data_types"].as_object().unwrap().keys().collect();
        let mut given: Vec<&String> = parts.arrays.iter().map(|(name, _)| name).collect();
        declared.sort();
        given.sort();
        assert_eq!(declared, given, "{cell}");
        assert!(parts.arrays.iter().all(|(_, a)| a.is_strided() && a.ndim() == 1));
        let back = Tensor::from_binsparse(&parts).unwrap_or_else(|e| panic!("{cell}: {e}"));
        // The order of a doubly compressed tensor's rows aside, everything is as it was.
        same(&x, &back).unwrap_or_else(|e| panic!("{cell}: {e}"));
        match x.binsparse_descriptor() {
            Ok(d) => {
                standard += 1;
                assert_eq!((d["binsparse"]["version"].as_str(), space), (Some("0.1"), "binsparse"));
                same(&x, &Tensor::from_binsparse(&x).unwrap()).unwrap();
            }
            Err(e) => {
                assert!(space == "openwork" && e.to_string().contains("binsparse 0.1 cannot hold"), "{cell}: {e}")
            }
        }
        if x.dtype() == DType::F32 && x.nse() > 0 && x.values::<f32>().is_ok() {
            let at = |t: &Tensor| t.values::<f32>().map(<[f32]>::as_ptr).ok();
            let same_memory = at(&back) == at(&x);
            shared += usize::from(same_memory);
        }
    }
    assert!(standard > 1000 && shared > 50, "{standard} {shared}");
}

#[test]
fn indices_of_our_own_are_shared() {
    let x = Tensor::random([50, 40], 0.2, 0.0, Layout::Csr, 4).unwrap();
    let y = Tensor::from_binsparse(&x.to_binsparse().unwrap()).unwrap();
    let at = |t: &Tensor| match t.levels().unwrap().pop().unwrap() {
        openwork::LevelData::Sparse { indices, .. } => {
            indices[0].to_tensor().unwrap().values::<u32>().unwrap().as_ptr()
        }
        _ => panic!("CSR ends with a sparse level"),
    };
    assert_eq!(at(&x), at(&y));
    // One pattern: a sum looks at values alone and keeps it.
    assert_eq!(at(&x.add(&y).unwrap()), at(&x));
}

fn vector<T: openwork::Element>(v: Vec<T>) -> Tensor {
    Tensor::from_vec([v.len()], v).unwrap()
}

fn foreign(descriptor: Value, arrays: Vec<(&str, Tensor)>) -> Constituents {
    let arrays = arrays.into_iter().map(|(name, a)| (name.to_string(), a)).collect();
    Constituents { descriptor: json!({ "binsparse": descriptor, "original_source": "other" }), arrays }
}

/// What published producers give.
#[test]
fn other_producers_are_understood() {
    // Coordinates as one matrix, declared with types that are no names of binsparse.
    let coords = Tensor::from_vec([2, 3], vec![0i64, 1, 1, 2, 0, 1]).unwrap();
    let pointers = || vector(vec![0u64, 3]);
    let values = || vector(vec![true, true, true]);
    let types = json!({"pointers_to_1": "uint64", "indices_1": "int64", "values": "bool"});
    let base =
        json!({"version": "0.1", "format": "COOR", "shape": [2, 3], "number_of_stored_values": 3, "data_types": types});
    let source =
        foreign(base.clone(), vec![("pointers_to_1", pointers()), ("indices_1", coords.clone()), ("values", values())]);
    let reading = Tensor::from_binsparse_with(&source, &ReadOptions::default()).unwrap();
    assert_eq!((reading.tensor.layout(), reading.tensor.dtype(), reading.tensor.nse()), (Layout::Coo, DType::Bool, 3));
    assert_eq!(reading.tensor.get([0, 2]).unwrap(), Some(true.into()));
    assert!(reading.warnings.iter().any(|w| matches!(w, Warning::StoredType { declared, .. } if declared == "bool")));
    assert_eq!(reading.descriptor.metadata["original_source"], "other");

    // `format` as an object, of three axes.
    let level = json!({"level_desc": "sparse", "rank": 3, "level": {"level_desc": "element"}});
    let mut d = base.clone();
    d["shape"] = json!([2, 2, 2]);
    d["number_of_stored_values"] = json!(2);
    d["format"] = json!({"custom": {"level": level}});
    let coords3 = Tensor::from_vec([3, 2], vec![0i64, 1, 1, 0, 1, 1]).unwrap();
    let arrays =
        vec![("pointers_to_1", vector(vec![0u64, 2])), ("indices_1", coords3), ("values", vector(vec![1.5f64, 2.5]))];
    let x = Tensor::from_binsparse(&foreign(d, arrays)).unwrap();
    assert_eq!(x.get([1, 0, 1]).unwrap(), Some(2.5.into()));

    // Declared types swapped; the arrays are believed. CSC is not transposed.
    let d = json!({"version": "0.1.0", "format": "CSC", "shape": [2, 3], "number_of_stored_values": 2,
        "data_types": {"pointers_to_1": "int64", "indices_1": "int32", "values": "float64", "fill_value": "float64"}, "fill": true});
    let arrays = vec![
        ("pointers_to_1", vector(vec![0i32, 1, 1, 2])),
        ("indices_1", vector(vec![1i64, 0])),
        ("values", vector(vec![3f32, 4.0])),
        ("fill_value", vector(vec![7f32])),
    ];
    let x = Tensor::from_binsparse(&foreign(d, arrays)).unwrap();
    assert_eq!((x.layout(), x.shape(), x.dtype()), (Layout::Csc, &[2, 3][..], DType::F32));
    assert_eq!((x.get([1, 0]).unwrap(), x.get([0, 0]).unwrap()), (Some(3f32.into()), Some(7f32.into())));
}

#[test]
fn what_is_wrong_is_refused() {
    let d = json!({"version": "0.1", "format": "CSR", "shape": [2, 3], "number_of_stored_values": 2,
        "data_types": {"pointers_to_1": "uint32", "indices_1": "uint32", "values": "float64"}});
    let arrays = || {
        vec![
            ("pointers_to_1", vector(vec![0u32, 2, 2])),
            ("indices_1", vector(vec![0u32, 2])),
            ("values", vector(vec![1.0, 2.0])),
        ]
    };
    let why = |d: &Value, arrays: Vec<(&str, Tensor)>| {
        Tensor::from_binsparse(&foreign(d.clone(), arrays)).unwrap_err().to_string()
    };
    assert!(Tensor::from_binsparse(&foreign(d.clone(), arrays())).is_ok());
    let with = |at: usize, a: Tensor| {
        let mut all = arrays();
        all[at].1 = a;
        all
    };
    for (error, wanted) in [
        (why(&d, arrays()[..2].to_vec()), "`data_types` names `values`, which is not among the arrays"),
        (why(&d, [arrays(), arrays()].concat()), "the array `pointers_to_1` is given twice"),
        (
            why(&d, [arrays(), vec![("more", vector(vec![1u8]))]].concat()),
            "`data_types` names \"more\", which the format",
        ),
        (why(&d, with(0, vector(vec![0u32, 2]))), "`pointers_to_1` has 2 entries, 3 are needed"),
        (why(&d, with(0, vector(vec![0u32, 3, 2]))), "pointers must not fall"),
        (why(&d, with(1, vector(vec![2u32, 0]))), "have to rise"),
        (why(&d, with(1, vector(vec![0i64, -2]))), "entry 1 is -2, out of range"),
        (why(&d, with(1, vector(vec![0u32, 3]))), "out of range for an axis of size 3"),
        (why(&d, with(1, vector(vec![0.0, 2.0]))), "`indices_1` holds float64, not integers"),
        (why(&d, with(2, Tensor::eye(2, DType::F64, Layout::Coo).unwrap())), "the array `values` is coo, not strided"),
        (why(&d, with(2, vector(vec![1.0]))), "`values` has 1 entries, 2 are needed"),
        (why(&json!({"version": "2"}), arrays()), "`shape` is missing"),
    ] {
        assert!(error.contains(wanted) && error.starts_with("binsparse interchange: "), "{error}");
    }
    let lenient = ReadOptions { lenient: true, ..ReadOptions::default() };
    let unsorted = foreign(d, with(1, vector(vec![2u32, 0])));
    let reading = Tensor::from_binsparse_with(&unsorted, &lenient).unwrap();
    assert!(reading.warnings.contains(&Warning::Unordered) && !reading.tensor.is_coalesced());
    let graph = Tensor::eye(2, DType::F64, Layout::Csr).unwrap().replace_fill(Fill::Undefined).unwrap();
    assert!(graph.to_binsparse().unwrap_err().to_string().contains("undefined fill"));
}
