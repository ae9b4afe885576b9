//! Facts about a matrix beside its descriptor: stored on request, checked when read.

use openwork::io::binsparse::{self, Warning};
use openwork::io::{ReadOptions, WriteOptions};
use openwork::{Fill, Layout, MatrixFacts, Tensor, io};
use serde_json::{Value, json};

use crate::common::npz::Draft;

fn with(options: &WriteOptions<'_>, x: &Tensor) -> binsparse::Loaded {
    let bytes = binsparse::to_bytes(x, options).unwrap();
    binsparse::read_bytes(&bytes, &ReadOptions::default()).unwrap()
}

#[test]
fn stored_on_request() {
    let square = Tensor::random([6, 6], 0.3, 0.0, Layout::Csr, 1).unwrap();
    let symmetric = (&square + &square.matrix_transpose().unwrap()).unwrap();
    let options = WriteOptions { facts: true, ..WriteOptions::default() };
    for x in [&square, &symmetric, &symmetric.to_dense().unwrap(), &symmetric.to_layout(Layout::Dcsc).unwrap()] {
        let reading = with(&options, x);
        assert_eq!(reading.descriptor.facts, MatrixFacts::of(x).unwrap());
        assert!(reading.descriptor.facts.ndiag.is_some() && reading.descriptor.metadata.is_empty());
        assert_eq!(with(&WriteOptions::default(), x).descriptor.facts, MatrixFacts::default());
    }
    // Beside a descriptor of the extension too, and not of vectors.
    let options = WriteOptions { extensions: true, ..options };
    let undefined = symmetric.replace_fill(Fill::Undefined).unwrap();
    assert_eq!(with(&options, &undefined).descriptor.facts.is_symmetric, Some(true));
    let vector = Tensor::random([9], 0.3, 0.0, Layout::Coo, 1).unwrap();
    assert_eq!(with(&options, &vector).descriptor.facts, MatrixFacts::default());
}

/// The hand-made CSR file with something said about it.
fn claiming(facts: Value) -> Draft {
    let draft = Draft::csr();
    let mut json: Value = serde_json::from_str(&draft.json).unwrap();
    json["openwork_facts"] = facts;
    draft.text(&json.to_string())
}

#[test]
fn claims_are_checked() {
    let x = Draft::csr().strict().unwrap().tensor;
    let facts = MatrixFacts::of(&x).unwrap();
    let truth = json!({
        "is_symmetric": facts.is_symmetric,
        "is_structure_symmetric": facts.is_structure_symmetric,
        "is_upper_triangular": facts.is_upper_triangular,
        "is_lower_triangular": facts.is_lower_triangular,
        "ndiag": facts.ndiag.unwrap() as u64,
    });
    assert_eq!(claiming(truth.clone()).strict().unwrap().descriptor.facts, facts);
    for (name, fact) in truth.as_object().unwrap() {
        let mut wrong = truth.clone();
        wrong[name] = fact.as_bool().map_or_else(|| json!(fact.as_u64().unwrap() + 1), |b| json!(!b));
        let error = claiming(wrong.clone()).strict().unwrap_err().to_string();
        let says = format!("`openwork_facts` does not hold: MatrixFacts::check: argument `{name}`");
        assert!(error.contains(&says), "{error}");
        let warnings = claiming(wrong).lenient().unwrap().warnings;
        assert!(matches!(&warnings[..], [Warning::Facts(why)] if why.contains(name)), "{warnings:?}");
    }
    for (facts, says) in [
        (json!([]), "`openwork_facts` is not an object"),
        (json!({ "is_diagonal": true }), "unknown key \"is_diagonal\""),
        (json!({ "is_symmetric": 1 }), "`is_symmetric` is 1, not true or false"),
        (json!({ "ndiag": -1 }), "`ndiag` is -1, not a count"),
    ] {
        let error = claiming(facts.clone()).strict().unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
        assert!(matches!(&claiming(facts).lenient().unwrap().warnings[..], [Warning::Facts(_)]));
    }
    let metadata = json!({ "openwork_facts": {} }).as_object().unwrap().clone();
    let error = binsparse::to_bytes(&x, &WriteOptions { metadata: Some(&metadata), ..WriteOptions::default() })
        .unwrap_err()
        .to_string();
    assert!(error.contains("argument `metadata`: the key \"openwork_facts\""), "{error}");
}

/// A false claim is one violation among the others.
#[test]
fn false_claims_are_violations() {
    let path = std::env::temp_dir().join(format!("openwork-facts-{}.npz", std::process::id()));
    let told = |draft: &Draft, lenient: bool| {
        std::fs::write(&path, draft.bytes()).unwrap();
        let mut told = Vec::new();
        let options = ReadOptions { lenient, ..ReadOptions::default() };
        io::validate(&path, &options, &mut |v| told.push(v.to_string())).unwrap();
        told
    };
    let wrong = claiming(json!({ "is_symmetric": true }));
    let one = told(&wrong, false);
    assert!(one.len() == 1 && one[0].contains("argument `is_symmetric`: true is said, false is true"), "{one:?}");
    let two = told(&wrong.key("version", json!("0.1.7")), false);
    assert!(two.len() == 2 && two.iter().any(|v| v.contains("is_symmetric")), "{two:?}");
    assert!(told(&claiming(json!({ "is_symmetric": true })), true).is_empty());
    std::fs::remove_file(path).ok();
}
