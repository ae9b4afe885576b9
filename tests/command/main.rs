//! The command `openwork`, run as a user runs it.

#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used)]

#[path = "../common/mod.rs"]
mod common;

mod compliance;
#[cfg(unix)]
mod crash;
mod book;
mod diff;
mod golden;
mod large;
mod look;
mod models;
mod packed;
#[cfg(unix)]
mod permissions;
mod refused;
mod spy;
mod streams;
mod tried;
mod violations;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::{folder, temporary};
use openwork::io;
use openwork::{DType, Layout, Tensor};

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_openwork"));
    command.args(arguments).stdin(Stdio::null());
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

/// Runs it, with success and nothing on standard error; what it printed.
#[track_caller]
fn good(arguments: &[&str]) -> String {
    let output = run(arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && told.is_empty(), "{arguments:?}: {told}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs it, with failure of this status and one line on standard error, which is returned.
#[track_caller]
fn fails(arguments: &[&str], status: i32) -> String {
    let output = run(arguments);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(status), "{arguments:?}: {told}");
    assert!(told.starts_with("openwork: ") && told.ends_with('\n'), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    told
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The endings of all formats that are written.
fn endings() -> Vec<&'static str> {
    vec!["mtx", "mtx.gz", "tns", "tns.gz", "ttx", "ttx.gz", "npz", "h5", "hdf5", "zarr", "bspnpy", "safetensors"]
}

#[test]
fn any_format_to_any_other() {
    let folder = temporary("command-convert");
    let x = Tensor::random([13, 17], 0.2, 0.0, Layout::Coo, 3).unwrap();
    let first = folder.join("first.mtx");
    io::write(&first, &x).unwrap();
    let dumped = good(&["dump", text(&first)]);
    assert_eq!(dumped.lines().count(), x.nse());
    let mut previous = first;
    for (i, ending) in endings().into_iter().chain(endings().into_iter().rev()).enumerate() {
        let next = folder.join(format!("{i}.{ending}"));
        assert_eq!(good(&["convert", text(&previous), text(&next)]), "");
        assert_eq!(good(&["dump", text(&next)]), dumped, "{ending}");
        assert_eq!(good(&["validate", text(&next)]), format!("{}: valid\n", next.display()));
        let read = io::read(&next).unwrap();
        assert_eq!((read.shape(), read.dtype()), (x.shape(), x.dtype()), "{ending}");
        previous = next;
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn conversion_takes_layout_dtype_and_fill() {
    let folder = temporary("command-options");
    let (x, y) = (folder.join("x.mtx"), folder.join("y.npz"));
    std::fs::write(&x, "%%MatrixMarket matrix coordinate real general\n4 6 3\n1 1 2.5\n3 2 -1\n4 6 3\n").unwrap();
    for layout in [Layout::Csr, Layout::Dcsc, Layout::Coo, Layout::Strided] {
        good(&["convert", text(&x), text(&y), "--layout", &layout.to_string(), "--compress"]);
        assert_eq!(io::read(&y).unwrap().layout(), layout);
    }
    good(&["convert", text(&x), text(&y), "--layout", "bsr2x3", "--extensions"]);
    assert_eq!(io::read(&y).unwrap().layout(), Layout::Bsr { block: [2, 3] });
    good(&["convert", text(&x), text(&y), "--dtype", "int8"]);
    let cast = io::read(&y).unwrap();
    assert_eq!((cast.dtype(), cast.values::<i8>().unwrap()), (DType::I8, &[2, -1, 3][..]));
    // The fill of a file with the same elements, and that of a file with others.
    good(&["convert", text(&x), text(&y), "--fill", "-1"]);
    let same = io::read(&y).unwrap();
    assert_eq!((same.fill().unwrap().to_string(), same.get([0, 1]).unwrap()), ("-1".into(), Some(0.0.into())));
    good(&["convert", text(&x), text(&y), "--replace-fill", "-inf"]);
    let other = io::read(&y).unwrap();
    assert_eq!((other.nse(), other.get([0, 1]).unwrap()), (3, Some(f64::NEG_INFINITY.into())));
    good(&["convert", text(&x), text(&y), "--replace-fill", "undefined", "--extensions"]);
    assert!(io::read(&y).unwrap().fill().unwrap().is_undefined());
    // What the format cannot hold is refused with the way out, and the old file stays.
    let before = std::fs::read(&x).unwrap();
    let told = fails(&["convert", text(&y), text(&x)], 1);
    assert!(told.contains("undefined") && told.contains("--replace-fill"), "{told}");
    assert_eq!(std::fs::read(&x).unwrap(), before);
    let told = fails(&["convert", text(&x), text(&y), "--replace-fill", "undefined"], 1);
    assert!(told.contains("undefined") && told.contains("--extensions"), "{told}");
    let told = fails(&["convert", text(&x), text(&folder.join("x.tns")), "--compress"], 1);
    assert!(told.contains(".gz"), "{told}");
    let told = fails(&["convert", text(&x), text(&y), "--layout", "bsr3x3"], 1);
    assert!(told.contains("blocks of 3"), "{told}");
    let told = fails(&["convert", text(&x), text(&y), "--dtype", "int8", "--fill", "1000"], 1);
    assert!(told.contains("1000"), "{told}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn info_reads_no_arrays() {
    let folder = temporary("command-info");
    let x = Tensor::random([50, 40], 0.25, 0.0, Layout::Csr, 1).unwrap();
    for ending in endings() {
        let path = folder.join(format!("x.{ending}"));
        io::write(&path, &x).unwrap();
        let told = good(&["info", "--json", text(&path)]);
        let json: serde_json::Value = serde_json::from_str(&told).unwrap();
        let info = &io::info(&path).unwrap()[0];
        assert_eq!(json, info.to_json(), "{ending}");
        assert_eq!((json["dtype"].as_str(), json["ndim"].as_u64()), (Some("float64"), Some(2)), "{ending}");
        if !ending.starts_with("tns") {
            assert_eq!((json["shape"].clone(), json["nse"].clone()), (serde_json::json!([50, 40]), 500.into()));
            assert_eq!(json["density"], serde_json::json!(0.25), "{ending}");
        }
        let plain = good(&["info", text(&path)]);
        assert!(plain.contains("float64") && plain.contains(&info.format.to_string()), "{plain}");
    }
    // The levels by name, and what is said about the structure.
    let path = folder.join("facts.npz");
    let diagonal = Tensor::eye(4, DType::F64, Layout::Dcsr).unwrap();
    io::binsparse::write_with(&path, &diagonal, &io::WriteOptions { facts: true, ..Default::default() }).unwrap();
    let told = good(&["info", text(&path)]);
    assert!(told.contains("levels     ") && told.contains(&diagonal.level_spec().unwrap().to_string()), "{told}");
    assert!(told.contains("facts      is_symmetric = true, is_structure_symmetric = true"), "{told}");
    let json: serde_json::Value = serde_json::from_str(&good(&["info", "--json", text(&path)])).unwrap();
    assert_eq!(json["facts"]["ndiag"], 4);
    // Damage below the header is not seen.
    let path = folder.join("cut.mtx");
    std::fs::write(&path, "%%MatrixMarket matrix coordinate complex hermitian\n9 9 100\n1 1 nonsense\n").unwrap();
    let told = good(&["info", text(&path)]);
    assert!(told.contains("[9, 9]") && told.contains("complex128") && told.contains("hermitian_lower"), "{told}");
    assert!(fails(&["dump", text(&path)], 1).contains("line 3"));
    let path = folder.join("cut.npz");
    let mut bytes = io::binsparse::to_bytes(&x, &Default::default()).unwrap();
    let values = bytes.windows(8).position(|w| w == x.values::<f64>().unwrap()[7].to_ne_bytes()).unwrap();
    bytes[values] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    assert!(good(&["info", text(&path)]).contains("csr"));
    assert!(fails(&["dump", text(&path)], 1).contains("validate"));
    // A header that asks for more than there is costs nothing.
    let path = folder.join("huge.mtx");
    std::fs::write(&path, format!("%%MatrixMarket matrix coordinate real general\n{0} {0} {0}\n", u64::MAX)).unwrap();
    assert!(good(&["info", text(&path)]).contains(&u64::MAX.to_string()));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn failures_take_one_line_and_tell_by_status() {
    let folder = temporary("command-failures");
    let none = folder.join("none.mtx");
    for arguments in [&["info"][..], &["dump"], &["validate"]] {
        let told = fails(&[arguments[0], text(&none)], 2);
        assert!(told.contains("none.mtx") && told.contains("check the path"), "{told}");
    }
    let odd = folder.join("odd.xyz");
    std::fs::write(&odd, "something").unwrap();
    for arguments in [&["info"][..], &["dump"], &["validate"]] {
        assert!(fails(&[arguments[0], text(&odd)], 2).contains(".mtx, .tns"));
    }
    let x = folder.join("x.mtx");
    std::fs::write(&x, "%%MatrixMarket matrix coordinate real general\n1 1 0\n").unwrap();
    assert!(fails(&["convert", text(&x), text(&odd)], 2).contains("odd.xyz"));
    assert!(fails(&["convert", text(&x), text(&folder.join("no/x.npz"))], 2).contains("folder has to exist"));
    assert_eq!(std::fs::read(&odd).unwrap(), b"something");
    assert!(fails(&["dump", text(&folder)], 2).contains("directory"));
    // Usage has clap's own text, on more than one line.
    for wrong in
        [&["convert", "a"][..], &["convert", "a", "b", "--layout", "round"], &["convert", "a", "b", "--fill", "x"]]
    {
        assert_eq!(run(wrong).status.code(), Some(2), "{wrong:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let folder = temporary("command-pipe");
    let path = folder.join("x.npz");
    io::write(&path, &Tensor::random([1000, 1000], 0.1, 0.0, Layout::Csr, 1).unwrap()).unwrap();
    let mut child = command(&["dump", text(&path)]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn tns_files_say_little_and_options_the_rest() {
    let folder = temporary("command-tns");
    let path = folder.join("x.tns");
    std::fs::write(&path, "0 0 1.5\n2 1 2\n").unwrap();
    assert!(fails(&["dump", text(&path)], 1).contains("--zero-based"));
    assert_eq!(good(&["dump", "--zero-based", text(&path)]), "[[0, 0], 1.5]\n[[2, 1], 2.0]\n");
    let out = folder.join("x.npz");
    good(&["convert", "--zero-based", "--shape", "5,6", text(&path), text(&out)]);
    assert_eq!(io::read(&out).unwrap().shape(), [5, 6]);
    assert!(fails(&["convert", "--zero-based", "--shape", "5", text(&path), text(&out)], 1).contains("2 indices"));
    std::fs::write(&path, "2\n3 4\n1 1 1\n3 4 7e-9\n").unwrap();
    assert_eq!(good(&["dump", "--header", text(&path)]), "[[0, 0], 1.0]\n[[2, 3], 7e-09]\n");
    assert!(fails(&["dump", "--header", "--max-bytes", "10", text(&path)], 1).contains("10 bytes"));
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A file of several tensors: all are listed and validated, one is read by its name.
#[test]
fn tensors_by_name() {
    let folder = temporary("command-names");
    let (a, b) = (Tensor::eye(3, DType::F32, Layout::Csr).unwrap(), Tensor::ones([2], DType::I8, Layout::Strided));
    let b = b.unwrap();
    let mut files = vec![folder.join("x.safetensors")];
    let mut model = io::state_dict::StateDict::new();
    model.insert("a/weight", a.clone()).unwrap();
    model.insert("b", b.clone()).unwrap();
    model.save(&files[0]).unwrap();
    let entries = [io::binsparse::Entry::new("a/weight", &a), io::binsparse::Entry::new("b", &b)];
    files.push(folder.join("x.h5"));
    io::binsparse::write_all(&files[1], &entries, &Default::default()).unwrap();
    for path in &files {
        let told = good(&["info", "--json", text(path)]);
        let names: Vec<_> =
            told.lines().map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["name"].clone()).collect();
        assert_eq!(names, ["a/weight", "b"]);
        assert!(good(&["info", "--name", "b", text(path)]).contains("int8"));
        assert_eq!(good(&["dump", "--name", "b", text(path)]), "[[0], 1]\n[[1], 1]\n");
        let told = fails(&["dump", text(path)], 1);
        assert!(told.contains("a/weight"), "{told}");
        let told = fails(&["dump", "--name", "c", text(path)], 1);
        assert!(told.contains("\"c\""), "{told}");
        assert!(good(&["validate", text(path)]).ends_with("valid\n"));
        let out = folder.join("a.mtx");
        good(&["convert", "--name", "a/weight", text(path), text(&out)]);
        assert_eq!(io::read(&out).unwrap().nse(), 3);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
