//! `head`, `dump` in rows and as CSV, `validate --json`.

use openwork::{Layout, Tensor, io, tensor};
use serde_json::{Value, json};

use super::{fails, good, run, text};
use crate::common::temporary;

#[test]
fn rows_are_printed_as_the_whole_is() {
    let folder = temporary("look-rows");
    // More than a piece of a file.
    let x = Tensor::random([3000, 2000], 0.19, 0.0, Layout::Csr, 1).unwrap();
    let wanted: Vec<String> = (1499..1501)
        .flat_map(|row| (0..2000).map(move |col| (row, col)))
        .filter_map(|(row, col)| {
            let value = x.narrow(row..row + 1, 0).unwrap().get([0, col]).unwrap().unwrap();
            (!value.is_zero()).then(|| format!("[[{row}, {col}], {value:?}]"))
        })
        .collect();
    for (ending, layout) in [
        ("npz", Layout::Csr),
        ("h5", Layout::Coo),
        ("h5", Layout::Csc),
        ("safetensors", Layout::Csr),
        ("npz", Layout::Dcsr),
        ("npz", Layout::Strided),
        ("mtx", Layout::Coo),
        ("tns", Layout::Coo),
    ] {
        let path = folder.join(format!("x.{ending}"));
        io::write(&path, &x.to_layout(layout).unwrap()).unwrap();
        let mut lines: Vec<String> =
            good(&["dump", text(&path), "--rows", "1499..1501"]).lines().map(str::to_owned).collect();
        lines.retain(|line| !line.ends_with(", 0.0]"));
        let index = |line: &str| {
            serde_json::from_str::<Value>(line).unwrap()[0]
                .as_array()
                .unwrap()
                .iter()
                .map(|n| n.as_u64().unwrap())
                .collect::<Vec<_>>()
        };
        lines.sort_by_key(|line| index(line));
        assert_eq!(lines.len(), wanted.len(), "{ending} {layout}");
        let indices: Vec<Vec<u64>> = lines.iter().map(|line| index(line)).collect();
        assert!(
            indices
                .iter()
                .zip(&wanted)
                .all(|(index, wanted)| wanted.starts_with(&format!("[[{}, {}]", index[0], index[1])))
        );
        let told = fails(&["dump", text(&path), "--rows", "2999..3001"], 1);
        assert!(told.contains("2999..3001") && told.contains("3000"), "{told}");
        assert_eq!(good(&["dump", text(&path), "--rows", "5..5"]), "", "{ending}");
        // All of it, in pieces, is what the library stores.
        if layout == Layout::Csr {
            assert_eq!(good(&["dump", text(&path)]).lines().count(), x.nse());
        }
        let head = good(&["head", "-n", "3", text(&path)]);
        assert_eq!(head.lines().count(), 3, "{head}");
        // Columns come one after another where they are stored so.
        let by_columns = layout == Layout::Csc;
        assert!(
            by_columns || good(&["dump", text(&path), "--rows", "0..1"]).starts_with(head.lines().next().unwrap()),
            "{ending} {layout}"
        );
    }
    let wrong = run(&["dump", "x.npz", "--rows", "5"]);
    assert!(wrong.status.code() == Some(2) && String::from_utf8(wrong.stderr).unwrap().contains("10..20"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn csv_has_a_column_for_each_axis() {
    let folder = temporary("look-csv");
    let path = folder.join("x.npz");
    io::write(&path, &tensor![[0.0, f64::NAN], [f64::NEG_INFINITY, 1e-7]; Layout::Csr, 0.0].unwrap()).unwrap();
    let csv = good(&["dump", "--csv", text(&path)]);
    assert_eq!(csv, "axis_0,axis_1,value\n0,1,nan\n1,0,-inf\n1,1,1e-07\n");
    assert_eq!(good(&["head", "--csv", "-n", "1", text(&path)]), "axis_0,axis_1,value\n0,1,nan\n");
    io::write(&path, &Tensor::from_vec([1], vec![openwork::c64::new(1.0, -2.5)]).unwrap()).unwrap();
    assert_eq!(good(&["dump", "--csv", text(&path)]), "axis_0,real,imaginary\n0,1.0,-2.5\n");
    io::write(&path, &Tensor::zeros([2, 2, 2], openwork::DType::I8, Layout::Coo).unwrap()).unwrap();
    assert_eq!(good(&["dump", "--csv", text(&path)]), "axis_0,axis_1,axis_2,value\n");
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Of a file of which the end is damaged the beginning is shown.
#[test]
fn head_reads_no_more_than_it_prints() {
    let folder = temporary("look-head");
    let path = folder.join("x.tns");
    let mut lines: String = "#openwork shape 1000000\n".to_owned();
    lines.extend((1..=1_000_000).map(|i| format!("{i} {i}.5\n")));
    lines.push_str("no entry\n");
    std::fs::write(&path, &lines).unwrap();
    assert_eq!(good(&["head", "-n", "2", text(&path)]), "[[0], 1.5]\n[[1], 2.5]\n");
    let output = run(&["dump", text(&path)]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("line 1000002"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn verdicts_are_json_too() {
    let folder = temporary("look-verdicts");
    let (valid, invalid) = (folder.join("good.mtx"), folder.join("bad.mtx"));
    std::fs::write(&valid, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n").unwrap();
    std::fs::write(&invalid, "%%MatrixMarket matrix coordinate real general\n2 2 2\n3 1 1\n1 1 x\n").unwrap();
    let output = run(&["validate", "--json", text(&valid), text(&invalid), text(&folder.join("none.mtx"))]);
    let lines = String::from_utf8(output.stdout).unwrap();
    let verdicts: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        (&verdicts[0]["valid"], &verdicts[0]["count"], &verdicts[0]["violations"]),
        (&json!(true), &json!(0), &json!([]))
    );
    assert_eq!((&verdicts[1]["valid"], &verdicts[1]["count"]), (&json!(false), &json!(2)));
    assert_eq!(verdicts[1]["violations"][0]["place"], "line 3");
    assert!(verdicts[2]["error"].as_str().unwrap().contains("check the path") && verdicts[2]["valid"] == json!(false));
    let limited: Value =
        serde_json::from_slice(&run(&["validate", "--json", "--limit", "1", text(&invalid)]).stdout).unwrap();
    assert_eq!((limited["violations"].as_array().unwrap().len(), &limited["count"]), (1, &json!(2)));
    std::fs::remove_dir_all(&folder).unwrap();
}
