//! `diff`: the same meaning or not, whatever the layout, and where not.

use openwork::io::state_dict::StateDict;
use openwork::{Fill, Layout, Tensor, io, tensor};
use serde_json::{Value, json};

use super::{good, run, text};
use crate::common::temporary;

/// What it prints, and its exit status.
#[track_caller]
fn told(arguments: &[&str]) -> (String, i32) {
    let output = run(&[&["diff"], arguments].concat());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) || stderr.is_empty(), "{stderr}");
    (String::from_utf8(output.stdout).unwrap() + &stderr, output.status.code().unwrap())
}

#[test]
fn the_same_elements_in_any_form_are_the_same() {
    let folder = temporary("diff-same");
    let x = Tensor::random([40, 30], 0.2, 0.0, Layout::Coo, 1).unwrap();
    let first = folder.join("first.mtx");
    io::write(&first, &x).unwrap();
    let forms = [
        x.to_layout(Layout::Csc).unwrap(),
        x.to_dense().unwrap(),
        x.with_fill(1.0).unwrap(),
        x.to_layout(Layout::Bsr { block: [4, 5] }).unwrap(),
    ];
    for (i, form) in forms.iter().enumerate() {
        let path = folder.join(format!("{i}.npz"));
        io::write_with(&path, form, &io::WriteOptions { extensions: true, ..Default::default() }).unwrap();
        assert_eq!(told(&[text(&first), text(&path)]), (String::new(), 0), "{}", form.layout());
        assert_eq!(
            good(&["diff", "--json", text(&first), text(&path)]),
            "{\"same\":true,\"tensors\":[{\"fate\":\"same\",\"name\":\"\"}]}\n"
        );
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn what_differs_is_told_with_its_place() {
    let folder = temporary("diff-places");
    let (a, b) = (folder.join("a.npz"), folder.join("b.npz"));
    let x = tensor![[1.0, 0.0, 2.0], [0.0, f64::NAN, 3.0]; Layout::Csr, 0.0].unwrap();
    io::write(&a, &x).unwrap();
    io::write(&b, &tensor![[1.0, 0.5, 2.0], [0.0, f64::NAN, 3.25]; Layout::Csc, 0.0].unwrap()).unwrap();
    let expected = "elements: 3 of 6 differ, by at most 0.5\n  [0, 1]: 0.0 | 0.5\n  [1, 1]: \"NaN\" | \"NaN\"\n  [1, 2]: 3.0 | 3.25\n";
    assert_eq!(told(&[text(&a), text(&b)]), (expected.to_owned(), 1));
    let (close, status) = told(&[text(&a), text(&b), "--equal-nan", "--atol", "0.3", "-n", "1"]);
    assert_eq!((close.as_str(), status), ("elements: 1 of 6 differ, by at most 0.5\n  [0, 1]: 0.0 | 0.5\n", 1));
    assert_eq!(told(&[text(&a), text(&b), "--equal-nan", "--atol", "0.5"]).1, 0);
    let (short, _) = told(&[text(&a), text(&b), "-n", "1"]);
    assert!(short.ends_with("0.5\n  ...\n"), "{short}");
    let json: Value = serde_json::from_str(&told(&["--json", text(&a), text(&b)]).0).unwrap();
    let elements = &json["tensors"][0]["elements"];
    assert_eq!((&elements["different"], &elements["of"], &elements["largest"]), (&json!(3), &json!(6), &json!(0.5)));
    assert_eq!(elements["first"][0], json!([[0, 1], 0.0, 0.5]));
    // Shape and dtype.
    io::write(&b, &x.cast(openwork::DType::F32).unwrap()).unwrap();
    assert_eq!(told(&[text(&a), text(&b), "--equal-nan"]), ("dtype: float64 | float32\n".into(), 1));
    io::write(&b, &x.reshape([3, 2]).unwrap()).unwrap();
    assert_eq!(told(&[text(&a), text(&b)]), ("shape: [2, 3] | [3, 2]\n".into(), 1));
    let (trouble, status) = told(&[text(&a), text(&folder.join("none.npz"))]);
    assert!(status == 2 && trouble.contains("none.npz"), "{trouble}");
    std::fs::write(&b, "no tensor").unwrap();
    assert_eq!(told(&[text(&a), text(&b)]).1, 2, "an invalid file is trouble too");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Elements that are not stored differ as others do, and nothing becomes dense for it.
#[test]
fn fills_are_elements() {
    let folder = temporary("diff-fills");
    let (a, b) = (folder.join("a.npz"), folder.join("b.npz"));
    let huge = [1 << 20, 1 << 20];
    let x = Tensor::coo(huge, vec![vec![0_u64, 7], vec![1, 9]], &tensor![1.0, 2.0], 0.0).unwrap();
    let options = io::WriteOptions { extensions: true, ..Default::default() };
    io::write(&a, &x).unwrap();
    io::write(&b, &x.replace_fill(3.0).unwrap()).unwrap();
    let (different, status) = told(&[text(&a), text(&b), "-n", "2"]);
    let expected = format!(
        "fill: 0 | 3\nelements: {} of {} differ, by at most 3.0\n  [0, 0]: 0.0 | 3.0\n  [0, 2]: 0.0 | 3.0\n  ...\n",
        (1_u64 << 40) - 2,
        1_u64 << 40
    );
    assert_eq!((different.as_str(), status), (expected.as_str(), 1));
    io::write_with(&b, &x.replace_fill(Fill::Undefined).unwrap(), &options).unwrap();
    let (different, _) = told(&[text(&a), text(&b), "-n", "1"]);
    assert!(different.contains("fill: 0 | undefined") && different.contains("[0, 0]: 0.0 | absent"), "{different}");
    assert_eq!(told(&[text(&b), text(&b)]).1, 0);
    let fewer = Tensor::coo(huge, vec![vec![0_u64], vec![1]], &tensor![1.0], Fill::Undefined).unwrap();
    io::write_with(&a, &fewer, &options).unwrap();
    let (different, _) = told(&[text(&a), text(&b)]);
    assert!(different.starts_with("elements: 1 of") && different.contains("[7, 9]: absent | 2.0"), "{different}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn files_of_many_tensors_are_compared_by_name() {
    let folder = temporary("diff-names");
    let (a, b) = (folder.join("a.safetensors"), folder.join("b.h5"));
    let weight = Tensor::random([8, 9], 0.3, 0.0, Layout::Csr, 1).unwrap();
    let save = |path: &std::path::Path, tensors: &[(&str, Tensor)]| {
        let mut model = StateDict::new();
        for (name, tensor) in tensors {
            model.insert(*name, tensor.clone()).unwrap();
        }
        model.save(path).unwrap();
    };
    let bias = tensor![1.0, 2.0];
    save(&a, &[("weight", weight.clone()), ("bias", bias.clone()), ("old", bias.clone())]);
    save(&b, &[("weight", weight.to_layout(Layout::Coo).unwrap()), ("bias", tensor![1.0, 4.0]), ("new", bias)]);
    let expected = "~ bias\n  elements: 1 of 2 differ, by at most 2.0\n    [1]: 2.0 | 4.0\n- old\n+ new\n";
    assert_eq!(told(&[text(&a), text(&b)]), (expected.to_owned(), 1));
    assert_eq!(told(&["--names", text(&a), text(&b)]).0, "~ bias\n- old\n+ new\n");
    assert_eq!(told(&["--name", "weight", text(&a), text(&b)]).1, 0);
    let json: Value = serde_json::from_str(&told(&["--json", text(&a), text(&b)]).0).unwrap();
    let fates: Vec<&str> = json["tensors"].as_array().unwrap().iter().map(|t| t["fate"].as_str().unwrap()).collect();
    assert_eq!(fates, ["same", "changed", "removed", "added"]);
    std::fs::remove_dir_all(&folder).unwrap();
}
