//! `validate`: every rule that is broken, with its place, and the same verdict as the library's readers.

use std::path::PathBuf;

use openwork::io::{self, ReadOptions};
use serde_json::json;

use super::{folder, good, run, temporary, text};
use crate::common::npz::{Draft, u64s};

/// What `validate` prints, less the name of the file, and its exit status.
fn validated(arguments: &[&str], name: &str) -> (Vec<String>, i32) {
    let output = run(&[&["validate", name], arguments].concat());
    let printed = String::from_utf8(output.stdout).unwrap();
    let lines = printed.lines().map(|line| line.strip_prefix(name).unwrap().strip_prefix(": ").unwrap().to_owned());
    (lines.collect(), output.status.code().unwrap())
}

#[test]
fn every_faulty_line_is_told() {
    let folder = temporary("violations-lines");
    let path = folder.join("x.mtx");
    let mut lines = vec!["%%MatrixMarket matrix coordinate real general".to_owned(), "100 100 30000".to_owned()];
    let at = |i: usize| (i % 100 + 1, i / 100 % 100 + 1);
    lines.extend((0..30_000).map(|i| format!("{} {} {i}.5", at(i).0, at(i).1)));
    lines[2] = "0 1 1".into();
    lines[500] = "1 101 1".into();
    lines[20_000] = "1 1 x".into();
    lines[29_999] = "1 1 1 1".into();
    std::fs::write(&path, lines.join("\n")).unwrap();
    let (told, status) = validated(&[], text(&path));
    assert_eq!((told.len(), status), (5, 1), "{told:?}");
    for (line, words) in
        told.iter().zip(["line 3: row '0'", "line 501: column '101'", "line 20001: 'x'", "line 30000: '1'"])
    {
        assert!(line.starts_with(words), "{line} {words}");
    }
    assert_eq!(told[4], "invalid, 4 violations");
    assert_eq!(validated(&["--limit", "2"], text(&path)).0.len(), 3);
    // Lines at fault are entries too; one more than promised is told behind them.
    lines.push("1 1 1".into());
    std::fs::write(&path, lines.join("\n")).unwrap();
    let (told, _) = validated(&[], text(&path));
    assert!(told[4].contains("30001 entries where the size line promises 30000"), "{told:?}");
    std::fs::write(&path, lines[..100].join("\n")).unwrap();
    let (told, _) = validated(&[], text(&path));
    assert!(told.len() == 3 && told[1].contains("98 of"), "{told:?}");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n").unwrap();
    let (told, status) = validated(&[], text(&path));
    assert!(told[0].contains("size line") && status == 1, "{told:?}");
    let path = folder.join("x.tns");
    std::fs::write(&path, "1 1 1\n1 1\nx 1 1\n# fine\n1 2 3 4\n1 2 3\n").unwrap();
    let (told, status) = validated(&[], text(&path));
    let places: Vec<&str> = told.iter().map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!((places, status), (vec!["line 2", "line 3", "line 5", "invalid, 3 violations"], 1));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// All files of a folder, and of those in it.
pub(super) fn files(root: PathBuf) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![root];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

/// On every file there is, in both modes.
#[test]
fn the_verdict_is_that_of_the_reader() {
    let Some(root) = folder("the_verdict_is_that_of_the_reader", "formats") else { return };
    let (mut valid, mut invalid, mut unreadable) = (0, 0, 0);
    for path in files(root) {
        let format = io::Format::of_name(&path);
        if format.is_none() {
            continue;
        }
        let several = io::info(&path).is_ok_and(|tensors| tensors.len() > 1);
        for mode in [&[][..], &["--lenient"]] {
            let options = ReadOptions { lenient: !mode.is_empty(), ..Default::default() };
            let read = io::read_with(&path, &options);
            let (told, status) = validated(mode, text(&path));
            match (&read, status) {
                _ if several => assert!(status < 2, "{}", path.display()),
                (Ok(_), 0) => {
                    assert_eq!(told, ["valid"], "{}", path.display());
                    valid += 1;
                }
                (Err(_), 1) => {
                    assert!(told.len() >= 2, "{}: {told:?}", path.display());
                    invalid += 1;
                }
                (Err(_), 2) => unreadable += 1,
                _ => panic!("{}: {status} {told:?} {read:?}", path.display()),
            }
        }
    }
    assert!(valid > 300 && invalid > 60 && unreadable == 0, "{valid} {invalid} {unreadable}");
}

#[test]
fn an_empty_file_of_a_known_name_is_invalid() {
    let folder = temporary("violations-empty");
    for (name, words) in [("x.mtx", "empty"), ("x.tns", "no entry"), ("x.npz", "empty")] {
        let path = folder.join(name);
        std::fs::write(&path, "").unwrap();
        let (told, status) = validated(&[], text(&path));
        assert!(status == 1 && told[0].contains(words), "{name}: {told:?}");
    }
    std::fs::write(folder.join("good.tns"), "1 1 1\n").unwrap();
    assert!(good(&["validate", text(&folder.join("good.tns"))]).ends_with("valid\n"));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Every entry that cannot be is told, with its array and number, and so is all that lenient reading lets pass.
#[test]
fn every_faulty_entry_of_an_array_is_told() {
    let folder = temporary("violations-entries");
    let path = folder.join("x.npz");
    let told = |draft: Draft| {
        std::fs::write(&path, draft.bytes()).unwrap();
        let (mut told, status) = validated(&[], text(&path));
        assert_eq!(status, 1, "{told:?}");
        assert!(told.pop().unwrap().starts_with("invalid, "));
        told
    };
    let indices = told(Draft::csr().array("indices_1", u64s(&[9, 3, 0, 7])));
    assert_eq!(indices.len(), 3, "{indices:?}");
    assert!(indices[0].starts_with("indices_1[0]: index 9 is out of range; 0 to 3"), "{indices:?}");
    assert!(indices[1].starts_with("indices_1[3]: index 7"), "{indices:?}");
    assert!(indices[2].starts_with("indices_1[1]: [3] follows [9]"), "{indices:?}");
    let pointers = told(Draft::csr().array("pointers_to_1", u64s(&[1, 3, 2, 9])));
    assert!(pointers[0].starts_with("pointers_to_1[0]: the first pointer is 1"), "{pointers:?}");
    assert!(pointers[1].starts_with("pointers_to_1[3]: the last pointer is 9; it has to be 4"), "{pointers:?}");
    assert!(pointers[2].starts_with("pointers_to_1[2]: pointer 2 is below 3"), "{pointers:?}");
    // Two things that lenient reading lets pass, each told.
    let passed = told(Draft::csr().array("indices_1", u64s(&[1, 1, 0, 2])).key("version", json!("0.1.7")));
    assert!(passed.len() == 2 && passed[0].contains("0.1.7"), "{passed:?}");
    assert_eq!(validated(&["--lenient"], text(&path)).1, 0);
    let missing = told(Draft::csr().without("values"));
    assert!(missing.len() == 1 && missing[0].contains("values"), "{missing:?}");
    let json = told(Draft::csr().text("{"));
    assert!(json.len() == 1 && json[0].contains("JSON"), "{json:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}
