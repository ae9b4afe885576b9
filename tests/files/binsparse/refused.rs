//! What a strict reader refuses, in the groups of the published list of broken files.

use serde_json::{Value, json};

use crate::common::npz::{Draft, f32s, f64s, i64s, npy, u8s, u64s};

/// Both modes refuse, and say why.
fn refused(draft: &Draft, why: &str) {
    for error in [draft.strict().unwrap_err(), draft.lenient().unwrap_err()] {
        let error = error.to_string();
        assert!(error.contains(why), "{}\n{error}", draft.json);
    }
}

/// Strict reading refuses and says why, lenient reading warns.
fn strictly_refused(draft: &Draft, why: &str) {
    let error = draft.strict().unwrap_err().to_string();
    assert!(error.contains(why), "{}\n{error}", draft.json);
    assert!(!draft.lenient().unwrap().warnings.is_empty(), "{}", draft.json);
}

#[test]
fn the_control_is_accepted() {
    let reading = Draft::csr().strict().unwrap();
    assert_eq!(reading.tensor.get([0, 3]).unwrap(), Some(2.0.into()));
    assert_eq!(reading.tensor.get([2, 1]).unwrap(), Some(0.0.into()));
    assert_eq!(reading.descriptor.metadata["note"]["by"], "hand");
    assert_eq!(Draft::lower("symmetric_lower").strict().unwrap().tensor.nse(), 5);
}

#[test]
fn group_1_pointers() {
    let with = |p: Vec<u8>| Draft::csr().array("pointers_to_1", p);
    refused(&with(u64s(&[0, 3, 2, 4])), "must not fall");
    refused(&with(u64s(&[1, 2, 3, 5])), "starts with");
    refused(&with(u64s(&[0, 2, 3, 3])), "indices_1");
    refused(&with(u64s(&[0, 2, 3, 400])), "indices_1");
    refused(&with(u64s(&[0, 2, 4])), "3 entries, 4 are needed");
    refused(&with(u64s(&[0, 1, 2, 3, 4])), "5 entries, 4 are needed");
    refused(&with(i64s(&[0, -1, 3, 4])).typed("pointers_to_1", json!("int64")), "out of range");
    refused(&with(u64s(&[0, 2, u64::MAX, 4])), "out of range");
    refused(&with(f64s(&[0.0, 2.0, 3.0, 4.0])), "not integers");
    refused(&with(u64s(&[])), "0 entries");
    refused(&with(u8s(&[0, 255, 44, 4])).typed("pointers_to_1", json!("uint8")), "must not fall");
    let doubly = Draft::csr()
        .key("format", json!("DCSR"))
        .typed("indices_0", json!("uint64"))
        .array("indices_0", u64s(&[0, 1, 2]))
        .array("pointers_to_1", u64s(&[0, 2, 2, 4]))
        .array("indices_1", u64s(&[1, 3, 0, 2]));
    strictly_refused(&doubly, "repeats an entry");
    refused(&doubly.clone().array("indices_0", u64s(&[0, 0, 2])), "repeat");
    refused(&doubly.array("pointers_to_1", u64s(&[0, 2, 4])), "3 entries, 4 are needed");
}

#[test]
fn group_2_indices() {
    let with = |p: Vec<u8>| Draft::csr().array("indices_1", p);
    refused(&with(u64s(&[1, 4, 0, 2])), "out of range");
    refused(&with(u64s(&[1, u32::MAX.into(), 0, 2])), "out of range");
    refused(&with(i64s(&[1, -3, 0, 2])).typed("indices_1", json!("int64")), "out of range");
    refused(&with(npy("|i1", "(4,)", &[1, 3, 255, 2])).typed("indices_1", json!("int8")), "negative");
    strictly_refused(&with(u64s(&[3, 1, 0, 2])), "have to rise");
    strictly_refused(&with(u64s(&[1, 1, 0, 2])), "repeat");
    refused(&with(u64s(&[1, 3, 0])), "number_of_stored_values");
    refused(&with(npy("<u8", "(2, 2)", &[0; 32])), "not one axis");
    refused(&with(f64s(&[1.0, 3.0, 0.0, 2.0])), "not integers");
    refused(&with(npy("<i4", "(4,)", bytemuck::cast_slice(&[1i32, -1, 0, 2]))), "indices_1");
    let cooc = |rows: &[u64], cols: &[u64]| {
        Draft::lower("x")
            .key("structure", Value::Null)
            .key("format", json!("COOC"))
            .key("shape", json!([4, 3]))
            .array("indices_0", u64s(cols))
            .array("indices_1", u64s(rows))
    };
    assert!(cooc(&[3, 0, 1], &[0, 1, 2]).strict().is_ok());
    refused(&cooc(&[0, 1, 2], &[0, 1, 3]), "out of range");
    strictly_refused(&cooc(&[3, 3, 1], &[0, 0, 2]), "repeat");
    strictly_refused(&cooc(&[3, 3, 1], &[2, 1, 0]), "have to rise");
}

#[test]
fn group_3_values() {
    let with = |p: Vec<u8>, name: &str| Draft::csr().array("values", p).typed("values", json!(name));
    refused(&with(f64s(&[1.0; 3]), "float64"), "3 entries, 4 are needed");
    refused(&with(f64s(&[1.0; 5]), "float64"), "5 entries, 4 are needed");
    strictly_refused(&with(f64s(&[1.0; 4]), "iso[float64]"), "4 entries, not 1");
    refused(&with(f64s(&[]), "iso[float64]"), "0 entries");
    refused(&with(f64s(&[1.0; 7]), "complex[float64]"), "7 entries, 8 are needed");
    refused(&with(f64s(&[1.0; 4]), "complex[float64]"), "4 entries, 8 are needed");
    for name in ["complex[int32]", "iso[iso[float64]]", "iso[float64", "float64]", "float128", "float16", "bool1", ""] {
        refused(&with(f64s(&[1.0; 4]), name), "does not have");
    }
    strictly_refused(&with(f32s(&[1.0; 4]), "float64"), "declared float64 and stored as float32");
    refused(&with(f64s(&[0.1; 4]), "float32"), "values");
    strictly_refused(&with(u8s(&[0, 1, 2, 1]), "bint8"), "truth values");
    strictly_refused(&with(npy("|b1", "(4,)", &[0, 1, 1, 0]), "bint8"), "stored as bool");
    strictly_refused(&with(npy("|i1", "(4,)", &[0, 1, 1, 0]), "bint8"), "stored as int8");
    strictly_refused(&with(npy("<c16", "(4,)", &[0; 64]), "complex[float64]"), "stored as complex128");
    refused(&with(npy("<U2", "(4,)", &[0; 32]), "float64"), "text of 8 bytes");
    refused(&with(npy("|O", "(4,)", &[0; 32]), "float64"), "Python objects");
    refused(&with(npy("<f8", "()", &[0; 8]), "float64"), "not one axis");
    refused(&with(npy("|V16", "(4,)", &[0; 64]), "complex[float64]"), "elements of 16 bytes");
}

#[test]
fn group_4_missing_things() {
    for name in ["pointers_to_1", "indices_1", "values"] {
        refused(&Draft::csr().without(name), "is missing");
        let mut types = json!({"pointers_to_1": "uint64", "indices_1": "uint64", "values": "float64"});
        types.as_object_mut().unwrap().remove(name);
        let error = Draft::csr().key("data_types", types).strict().unwrap_err().to_string();
        assert!(error.contains("does not name"), "{error}");
    }
    refused(&Draft::csr().text("{}"), "no key `binsparse`");
    refused(&Draft::csr().text("{\"binsparse\": []}"), "not an object");
    for key in ["version", "number_of_stored_values", "data_types"] {
        strictly_refused(&Draft::csr().key(key, Value::Null), "is missing");
    }
    refused(&Draft::csr().key("shape", Value::Null), "is missing");
    let error = Draft::csr().key("format", Value::Null).strict().unwrap_err();
    assert!(error.to_string().contains("`format` is missing"));
}

#[test]
fn group_5_json() {
    let good = Draft::csr().json;
    let twice = good.replace("\"format\":\"CSR\"", "\"format\":\"CSR\",\"format\":\"CSR\"");
    refused(&Draft::csr().text(&twice), "given twice");
    refused(&Draft::csr().text(&format!("{good} x")), "trailing");
    refused(&Draft::csr().text(&good.replace("[3,4]", "[3,4,]")), "trailing comma");
    refused(&Draft::csr().text(&good.replace("\"hand\"", "NaN")), "not JSON");
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    refused(&Draft::csr().text(&good.replace("\"hand\"", &deep)), "recursion");
    refused(&Draft::csr().text("[1]"), "not a JSON object");
    refused(&Draft::csr().text(&format!("\u{feff}{good}")), "not JSON");
    refused(&Draft::csr().text(""), "not JSON");
}

#[test]
fn group_6_numbers() {
    for shape in ["[3.0,4.0]", "[3.5,4]", "[-3,4]", "[\"3\",\"4\"]", "[true,4]", "[3,18446744073709551616]", "3"] {
        let draft = Draft::csr();
        let json = draft.json.replace("[3,4]", shape);
        refused(&draft.text(&json), "`shape`");
    }
    refused(&Draft::csr().key("shape", json!([3])), "CSR has 2 axes");
    refused(&Draft::csr().key("shape", json!([3, 4, 5])), "CSR has 2 axes");
    let wide = Draft::csr().key("shape", json!([3, (1u64 << 53) + 1])).strict().unwrap();
    assert_eq!(wide.tensor.shape(), [3, (1 << 53) + 1]);
    let dense = Draft::csr().key("format", json!("DMATR")).key("shape", json!([1u64 << 33, 1u64 << 33]));
    refused(&dense, "exceeds 2^63");
    refused(&Draft::csr().key("number_of_stored_values", json!(1u64 << 62)), "the arrays hold 4");
    refused(&Draft::csr().key("number_of_stored_values", json!(3)), "the arrays hold 4");
    refused(&Draft::csr().key("number_of_stored_values", json!(-1)), "`number_of_stored_values`");
    let small = Draft::csr().key("shape", json!([3, 1]));
    assert!(small.strict().unwrap_err().to_string().contains("4 stored values in a tensor of 3"));
    refused(&Draft::csr().key("shape", json!([1u64 << 62, 4])), "entries");
    // Empty, but with strides beyond every machine.
    let element = json!({"level_desc": "element"});
    let cube = Draft::csr().key("format", json!("custom")).key("shape", json!([0, 1u64 << 40, 1u64 << 40]));
    let cube = cube.key("custom", json!({"level": level("dense", 3, element)})).array("values", f64s(&[]));
    let cube = cube.key("data_types", json!({"values": "float64"})).key("number_of_stored_values", json!(0));
    refused(&cube, "exceeds 2^63");
    let text = r#"{"openwork": {"version": "1", "shape": [4], "levels": [{"sparse": 1}], "dims": [[0]],
        "number_of_stored_values": 4, "data_types": {"indices_0": "uint64", "values": "float64"}, "fill": FILL}}"#;
    let extension = Draft::csr().array("indices_0", u64s(&[0, 1, 2, 3])).array("fill_value", f64s(&[]));
    for (fill, why) in
        [("[0, 1099511627776, 1099511627776]", "exceeds 2^63"), ("[0]", "axis of an array fill"), ("1", "list")]
    {
        refused(&extension.clone().text(&text.replace("FILL", fill)), why);
    }
    assert!(extension.text(&text.replace("FILL", "\"undefined\"")).strict().is_ok());
}

#[test]
fn group_7_versions() {
    for version in ["0.2.0", "1.0.0", "v0.1.0", "0.01.0", "", "0.5", "0.1.07"] {
        refused(&Draft::csr().key("version", json!(version)), "version");
    }
    refused(&Draft::csr().key("version", json!(0.1)), "not a string");
    for version in ["0.1", "0.1.0", "0.1.0+a.b"] {
        assert!(Draft::csr().key("version", json!(version)).strict().is_ok(), "{version}");
    }
    for version in ["0.1.7", "0.1.0-alpha"] {
        strictly_refused(&Draft::csr().key("version", json!(version)), "is unknown");
    }
}

fn level(desc: &str, rank: u64, child: Value) -> Value {
    json!({"level_desc": desc, "rank": rank, "level": child})
}

#[test]
fn group_8_formats_and_custom_levels() {
    let element = || json!({"level_desc": "element"});
    let csr = || level("dense", 1, level("sparse", 1, element()));
    let custom = |tree: Value| Draft::csr().key("format", json!("custom")).key("custom", json!({ "level": tree }));
    assert_eq!(custom(csr()).strict().unwrap().tensor.layout(), openwork::Layout::Csr);
    refused(&Draft::csr().key("format", json!("BSR")), "unknown `format`");
    strictly_refused(&Draft::csr().key("format", json!("csr")), "unknown `format`");
    strictly_refused(&custom(csr()).key("format", Value::Null), "`format` is missing");
    assert!(custom(csr()).key("format", json!("CSR")).strict().is_ok());
    refused(&custom(csr()).key("format", json!("CSC")), "other levels");
    refused(&Draft::csr().key("format", json!("custom")), "neither");
    refused(&custom(level("dense", 1, level("sparse", 2, element()))), "do not take");
    refused(&custom(level("dense", 1, element())), "take 1 axes");
    refused(&custom(level("dense", 0, level("sparse", 2, element()))), "do not take");
    refused(&custom(level("dense", 1 << 60, element())), "do not take");
    refused(&custom(json!({"level_desc": "dense", "level": element()})), "no `rank`");
    refused(&custom(json!({"level_desc": "sparse", "rank": 2})), "no child");
    refused(&custom(level("dense", 1, level("sparse", 1, json!({"level_desc": "element", "level": {}})))), "key");
    refused(&custom(level("rle", 1, level("sparse", 1, element()))), "unknown `level_desc`");
    for transpose in [json!([0, 0]), json!([0, 2]), json!([0]), json!([0, 1, 2]), json!([0, -1]), json!("01")] {
        let draft = custom(csr()).key("custom", json!({"level": csr(), "transpose": transpose}));
        refused(&draft, "transpose");
    }
    let deep = (0..3000).fold(element(), |tree, _| json!({"level_desc": "dense", "rank": 1, "level": tree}));
    refused(&Draft::csr().text(&format!("{{\"binsparse\": {deep}}}")), "recursion");
}

#[test]
fn group_9_fill_and_structure() {
    let filled = |fill: Vec<u8>| Draft::csr().key("fill", json!(true)).array("fill_value", fill);
    let reading = filled(f64s(&[7.0])).strict().unwrap();
    assert_eq!(reading.tensor.get([2, 1]).unwrap(), Some(7.0.into()));
    refused(&Draft::csr().key("fill", json!(0)), "`fill`");
    refused(&Draft::csr().key("fill", json!(true)), "`fill_value` is missing");
    refused(&filled(f64s(&[1.0, 2.0])), "2 entries");
    refused(&filled(f64s(&[1.0, 2.0])).typed("fill_value", json!("complex[float64]")), "fill_value");
    refused(&filled(f64s(&[])), "0 entries");
    strictly_refused(&filled(i64s(&[7])), "stored as int64");
    strictly_refused(&filled(i64s(&[7])).typed("fill_value", json!("int64")), "stored as int64");
    refused(&filled(i64s(&[(1 << 53) + 1])), "fill_value");
    refused(&filled(i64s(&[i64::MAX])), "fill_value");
    let ignored = Draft::csr().array("fill_value", f64s(&[7.0])).strict().unwrap();
    assert_eq!(ignored.tensor.get([2, 1]).unwrap(), Some(0.0.into()));

    refused(&Draft::lower("triangular"), "unknown `structure`");
    refused(&Draft::lower("symmetric_upper"), "outside the triangle");
    refused(&Draft::lower("symmetric_lower").key("shape", json!([3, 4])), "square");
    refused(&Draft::lower("hermitian_lower"), "values are float64");
    strictly_refused(&Draft::lower("skew_symmetric_lower").array("values", f64s(&[1.0, 2.0, 3.0])), "not zero");
    let unsigned = Draft::lower("skew_symmetric_lower").typed("values", json!("uint64"));
    refused(&unsigned.array("values", u64s(&[0, 1, 2])), "values are uint64");
    let least = Draft::lower("skew_symmetric_lower").typed("values", json!("int64"));
    refused(&least.array("values", i64s(&[0, i64::MIN, 2])), "no negative");
    let fill = Draft::lower("skew_symmetric_lower").key("fill", json!(true)).array("fill_value", f64s(&[1.0]));
    refused(&fill, "the fill 1");
    let vector = Draft::csr().key("format", json!("DVEC")).key("shape", json!([4]));
    refused(&vector.key("structure", json!("symmetric_lower")), "square");
}

#[test]
fn group_10_dense_sizes_and_draft_keys() {
    let dense = |format: &str, n: usize| {
        let shape = if format == "DVEC" { json!([4]) } else { json!([2, 3]) };
        let types = json!({"values": "float64"});
        let draft = Draft::csr().key("format", json!(format)).key("shape", shape).key("data_types", types);
        draft.key("number_of_stored_values", json!(n)).array("values", f64s(&vec![1.0; n]))
    };
    assert!(dense("DMATC", 6).strict().is_ok() && dense("DVEC", 4).strict().is_ok());
    refused(&dense("DMATR", 5), "the arrays hold 6");
    refused(&dense("DVEC", 5), "the arrays hold 4");
    refused(&Draft::csr().key("index_base", json!(1)), "\"index_base\"");
    refused(&Draft::csr().key("slice", json!([])), "\"slice\"");
    let unused = Draft::csr().typed("indices_0", json!("uint8"));
    strictly_refused(&unused, "which the format does not have");
}

#[test]
fn structures_are_expanded() {
    let skew = Draft::lower("skew_symmetric_lower").strict().unwrap().tensor;
    assert_eq!(skew.to_dense().unwrap().values::<f64>().unwrap(), [0.0, -2.0, 0.0, 2.0, 0.0, -3.0, 0.0, 3.0, 0.0]);
    let complex = f64s(&[5.0, 0.0, 1.0, 2.0, 3.0, -4.0]);
    let hermitian =
        |v: Vec<u8>| Draft::lower("hermitian_lower").typed("values", json!("complex[float64]")).array("values", v);
    let x = hermitian(complex).strict().unwrap().tensor;
    assert_eq!(x.get([0, 1]).unwrap(), Some(openwork::c128::new(1.0, -2.0).into()));
    assert_eq!(x.get([1, 2]).unwrap(), Some(openwork::c128::new(3.0, 4.0).into()));
    refused(&hermitian(f64s(&[5.0, 1.0, 1.0, 2.0, 3.0, -4.0])), "not real");
}
