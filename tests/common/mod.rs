//! What several test programs need: small tensors, the path of an op, files made by hand, folders, the data, and a Python
//! with the packages that read our files.

#![allow(dead_code)] // each test program uses some of it

pub mod npz;
pub mod rng;
pub mod tensors;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use openwork::{Result, Tensor, explain};

/// The path of the last step of a computation, which is the op asked for.
#[track_caller]
pub fn path<T>(op: &str, f: impl FnOnce() -> Result<T>) -> openwork::trace::Path {
    let (result, steps) = explain(f);
    if let Err(error) = result {
        panic!("{error}");
    }
    let step = steps.last().expect("no step");
    assert_eq!(step.op, op);
    step.path
}

/// A folder that no other test of any program uses, if `name` is used once in its program.
pub fn temporary(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("openwork-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A folder of the data, or `None` after saying that the test is skipped.
///
/// The data lie in the folder that `OPENWORK_DATA` names, by default `../shared/data` seen from this package. Where a
/// folder is not there, `SKIPPED <test>: <folder> not found` goes straight to standard error, which the test harness
/// does not capture: `.ci/run` searches the output for the word and fails where the data folder exists.
pub fn folder(test: &str, name: &str) -> Option<PathBuf> {
    let default = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data");
    let path = std::env::var_os("OPENWORK_DATA").map_or_else(default, PathBuf::from).join(name);
    if path.is_dir() {
        return Some(path);
    }
    skipped(&format!("{test}: {} not found", path.display()));
    None
}

/// What a script of `tests/python` prints, run with the interpreter that `tests/python/setup.sh` made or
/// `OPENWORK_PYTHON` names; `None` after saying that the test is skipped.
pub fn python(test: &str, script: &str, arguments: &[&str]) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = root.join("target/python/bin/python");
    let interpreter = std::env::var_os("OPENWORK_PYTHON").map_or(made, PathBuf::from);
    if !interpreter.is_file() {
        skipped(&format!("{test}: {} not found; tests/python/setup.sh makes it", interpreter.display()));
        return None;
    }
    let script = root.join("tests/python").join(script);
    let output = Command::new(interpreter).arg(script).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {told}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// What `ncdump` prints; `None` after saying that it is not there, for which it takes Debian's netcdf-bin.
#[allow(dead_code)] // programs share this
pub fn ncdump(test: &str, arguments: &[&str]) -> Option<String> {
    let output = match Command::new("ncdump").args(arguments).output() {
        Ok(output) => output,
        Err(error) => {
            skipped(&format!("{test}: ncdump: {error}; tests/python/setup.sh installs it"));
            return None;
        }
    };
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && told.is_empty(), "{arguments:?}: {told}");
    Some(String::from_utf8(output.stdout).unwrap())
}

fn skipped(why: &str) {
    std::io::stderr().write_all(format!("SKIPPED {why}\n").as_bytes()).unwrap();
}

/// What an op gives, which is the same on one, two and three threads: the elements, and where they are stored.
pub fn on_threads(what: &str, op: &(dyn Fn() -> Result<Tensor> + Sync)) -> Tensor {
    let on = |threads| openwork::parallel::with_threads(threads, op).unwrap().unwrap();
    let first = on(1);
    for threads in 2..=3 {
        let other = on(threads);
        assert_eq!(other.nse(), first.nse(), "{what} on {threads} threads");
        assert_eq!(other.coordinates(), first.coordinates(), "{what} on {threads} threads");
        assert!(other.equal_nan(&first).unwrap(), "{what} on {threads} threads");
    }
    first
}
