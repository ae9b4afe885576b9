//! Files of other writers: what `dump` prints is what their published decoding says, text for text.

use std::collections::HashMap;
use std::path::Path;

use openwork::io::{self, ReadOptions};
use serde_json::Value;

use super::{fails, folder, run, text};

/// The entries of a line of `GOLDEN.jsonl`, as they are spelled there.
fn spelled(line: &str) -> Vec<String> {
    let (_, entries) = line.split_once("\"entries\": [").unwrap();
    let entries = entries.strip_suffix("]}").unwrap();
    if entries.is_empty() {
        return Vec::new();
    }
    let mut all: Vec<String> = entries.split(", [[").map(|entry| format!("[[{entry}")).collect();
    all[0].drain(..2);
    all
}

/// The same of `GOLDEN_MTX.jsonl`, whose entries are `[row, col, value]`.
fn spelled_flat(line: &str) -> Vec<String> {
    let (_, entries) = line.split_once("\"entries\": [").unwrap();
    let entries = entries.strip_suffix("]}").unwrap();
    if entries.is_empty() {
        return Vec::new();
    }
    let inner = entries.strip_prefix('[').unwrap().strip_suffix(']').unwrap();
    let entry = |entry: &str| {
        let [row, col, value] = entry.splitn(3, ", ").collect::<Vec<_>>()[..] else { panic!("{entry}") };
        format!("[[{row}, {col}], {value}]")
    };
    inner.split("], [").map(entry).collect()
}

/// Whether two entries are the same element, however the value is spelled; of a `float32` file to its precision.
fn same_number(a: &str, b: &str) -> bool {
    let parse = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let number = |value: &Value| value.as_f64().or_else(|| value.as_bool().map(|b| f64::from(u8::from(b))));
    let (a, b) = (parse(a), parse(b));
    let (x, y) = (number(&a[1]), number(&b[1]));
    a[0] == b[0] && x.zip(y).is_some_and(|(x, y)| x as f32 == y as f32)
}

/// What is dumped, sorted by its text; `None` if the command fails, in one line.
fn dumped(path: &Path, options: &[&str]) -> Option<Vec<String>> {
    let arguments = [&["dump", text(path)], options].concat();
    let output = run(&arguments);
    if !output.status.success() {
        fails(&arguments, 1);
        return None;
    }
    let mut lines: Vec<String> = String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    Some(lines)
}

#[test]
fn matrix_market_files_are_dumped_as_published() {
    let Some(root) = folder("matrix_market_files_are_dumped_as_published", "formats") else { return };
    let goldens = std::fs::read_to_string(root.join("GOLDEN_MTX.jsonl")).unwrap();
    let (mut compared, mut exact) = (0, 0);
    for line in goldens.lines() {
        let golden: Value = serde_json::from_str(line).unwrap();
        let path = root.join(golden["file"].as_str().unwrap());
        let ours = dumped(&path, &[]);
        assert_eq!(ours.is_some(), io::read(&path).is_ok(), "{}", path.display());
        let (Some(ours), None) = (ours, golden.get("error")) else { continue };
        if golden["format"] != "coordinate" {
            continue;
        }
        // Listed entries are among those of the whole matrix; without a symmetry they are all.
        let mut theirs = spelled_flat(line);
        let vector = std::fs::read_to_string(&path).is_ok_and(|text| text.starts_with("%%MatrixMarket vector"));
        if vector {
            // A vector, which others take to be a matrix of one column.
            theirs.iter_mut().for_each(|line| *line = line.replacen(", 0], ", "], ", 1));
        }
        theirs.sort();
        let general = golden["symmetry"] == "general";
        assert!(!general || ours.len() == theirs.len(), "{}", path.display());
        let plain =
            golden["field"] != "pattern" && !std::fs::read_to_string(&path).unwrap_or_default().contains("%%GraphBLAS");
        if plain && general {
            assert_eq!(ours, theirs, "{}", path.display());
            exact += 1;
        } else {
            let index = |line: &str| line.split("],").next().unwrap_or_default().to_owned();
            let by_index: HashMap<String, &String> = ours.iter().map(|line| (index(line), line)).collect();
            let found =
                |entry: &String| ours.binary_search(entry).is_ok() || same_number(by_index[&index(entry)], entry);
            assert!(theirs.iter().all(found), "{}", path.display());
        }
        compared += 1;
    }
    assert!(compared > 120 && exact > 50, "{compared} files compared, {exact} text for text");
}

/// Every binsparse file of another writer, in the lenient mode; of those that the command does not read, the library
/// does not either.
#[test]
fn binsparse_files_are_dumped_as_published() {
    let Some(root) = folder("binsparse_files_are_dumped_as_published", "formats") else { return };
    let goldens = std::fs::read_to_string(root.join("GOLDEN.jsonl")).unwrap();
    let (mut compared, mut exact, mut refused) = (0, 0, 0);
    for line in goldens.lines() {
        let golden: Value = serde_json::from_str(line).unwrap();
        let file = golden["file"].as_str().unwrap();
        let name = golden["group"].as_str().unwrap().trim_matches('/');
        let path = root.join(file);
        let mut named = vec!["--lenient"];
        if !name.is_empty() {
            named.extend(["--name", name]);
        }
        let options = ReadOptions { lenient: true, name: Some(name).filter(|n| !n.is_empty()), ..Default::default() };
        let tensor = io::read_with(&path, &options);
        let ours = dumped(&path, &named);
        assert_eq!(ours.is_some(), tensor.is_ok(), "{}: {tensor:?}", path.display());
        let (Some(ours), Ok(loaded)) = (ours, tensor) else {
            refused += 1;
            continue;
        };
        // The command prints what the library reads; a structure is published as its triangle and read as both.
        assert_eq!(ours.len(), loaded.tensor.nse(), "{}", path.display());
        let mut theirs = spelled(line);
        theirs.sort();
        exact += usize::from(ours == theirs);
        compared += 1;
    }
    assert!(exact >= 180, "{compared} files read, {exact} text for text as published, {refused} refused");
}
