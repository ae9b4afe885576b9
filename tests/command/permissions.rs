//! Files and folders that may not be read or written. Mode bits do not hold for root, so that tests run by root run the command
//! as another user.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use crate::common::temporary;
use crate::text;

/// The user who owns nothing.
const NOBODY: u32 = 65534;

/// A folder, the command that is run in it, and the user who runs it and owns the folder.
struct Place {
    folder: PathBuf,
    command: PathBuf,
    user: Option<u32>,
}

impl Place {
    fn new(name: &str) -> Place {
        let folder = temporary(name);
        let is_root = fs::metadata(&folder).unwrap().uid() == 0;
        let mut place =
            Place { folder, command: env!("CARGO_BIN_EXE_openwork").into(), user: is_root.then_some(NOBODY) };
        if is_root {
            chown(&place.folder, Some(NOBODY), Some(NOBODY)).unwrap();
            // What was built may lie where only root goes.
            if place.command(&["--version"]).output().is_err() {
                let copy = place.folder.with_extension("command");
                fs::copy(&place.command, &copy).unwrap();
                place.command = copy;
            }
        }
        let known = place.run(&["--version"]);
        assert!(known.status.success(), "the user {NOBODY} cannot run {}: {known:?}", place.command.display());
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.command);
        command.args(arguments).stdin(Stdio::null()).current_dir(&self.folder);
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    #[track_caller]
    fn good(&self, arguments: &[&str]) {
        let output = self.run(arguments);
        assert!(output.status.success() && output.stderr.is_empty(), "{arguments:?}: {output:?}");
    }

    /// Runs it, with status 2 and one line that says all of these, and nothing on standard output.
    #[track_caller]
    fn fails(&self, arguments: &[&str], words: &[&str]) {
        let output = self.run(arguments);
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{arguments:?}: {told}");
        assert!(told.starts_with("openwork: ") && told.lines().count() == 1, "{told}");
        for word in words {
            assert!(told.contains(word), "{arguments:?}: {told}");
        }
    }

    fn matrix(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 2 3\n").unwrap();
        self.own(&path);
        path
    }

    fn directory(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir(&path).unwrap();
        self.own(&path);
        path
    }

    fn own(&self, path: &Path) {
        if self.user.is_some() {
            chown(path, self.user, self.user).unwrap();
        }
    }

    /// All that is in the folder, at any depth, with its bytes.
    fn held(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn walk(folder: &Path, out: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    walk(&path, out);
                    out.push((path, Vec::new()));
                } else {
                    let bytes = fs::read(&path).unwrap_or_default();
                    out.push((path, bytes));
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.folder, &mut out);
        out.sort();
        out
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        fn open(path: &Path) {
            if path.is_dir() {
                let _ = fs::set_permissions(path, Permissions::from_mode(0o700));
                fs::read_dir(path).into_iter().flatten().flatten().for_each(|entry| open(&entry.path()));
            }
        }
        open(&self.folder);
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_file(self.folder.with_extension("command"));
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

#[test]
fn what_may_not_be_read_is_told() {
    let place = Place::new("permissions-read");
    let x = place.matrix("x.mtx");
    for name in ["x.npz", "x.h5", "x.zarr", "x.bspnpy"] {
        place.good(&["convert", text(&x), name]);
    }
    // A file, a folder that is a store, a file in a store, and a file behind a folder.
    let shut = place.directory("shut");
    fs::copy(&x, shut.join("in.mtx")).unwrap();
    place.good(&["convert", text(&x), "part.zarr"]);
    for name in ["x.mtx", "x.npz", "x.h5", "x.zarr", "x.bspnpy", "part.zarr/values", "shut"] {
        mode(&place.path(name), 0);
    }
    let y = place.matrix("y.mtx");
    let cases = [
        ("x.mtx", "check the permissions of the file"),
        ("x.npz", "check the permissions of the file"),
        ("x.h5", "check the permissions of the file"),
        ("x.zarr", "check the permissions of the folder"),
        ("x.bspnpy", "check the permissions of the folder"),
        ("part.zarr", "check the permissions of the folder and of what is in it"),
        ("shut", "check the permissions of the folder"),
        ("shut/in.mtx", "check the permissions of the folders on the way to it"),
    ];
    let before = place.held();
    for (name, hint) in cases {
        for command in ["info", "dump", "head", "validate", "spy"] {
            place.fails(&[command, name], &[name, "ermission denied", hint]);
        }
        place.fails(&["diff", text(&y), name], &[name, "ermission denied", hint]);
        place.fails(&["convert", name, "out.npz"], &[name, "ermission denied", hint]);
    }
    // Of several files the others are told of.
    let output = place.run(&["validate", "x.mtx", "y.mtx"]);
    assert_eq!((output.status.code(), output.stdout), (Some(2), b"y.mtx: valid\n".to_vec()));
    assert_eq!(place.held(), before);
}

#[test]
fn what_may_not_be_written_stays() {
    let place = Place::new("permissions-write");
    let x = place.matrix("x.mtx");
    let endings =
        ["mtx", "mtx.gz", "tns", "npz", "npy", "h5", "zarr", "zarr.zip", "bspnpy", "h5ad", "sscdf", "safetensors"];
    let strided = |ending: &str| if ending == "npy" { vec!["--layout", "strided"] } else { Vec::new() };
    let shut = place.directory("shut");
    for ending in endings {
        for name in [format!("old.{ending}"), format!("shut/old.{ending}")] {
            place.good(&[&["convert", "-q", text(&x), &name][..], &strided(ending)].concat());
        }
        mode(
            &place.path(&format!("old.{ending}")),
            if place.path(&format!("old.{ending}")).is_dir() { 0o500 } else { 0o400 },
        );
    }
    place.good(&["convert", text(&x), "deep.zarr"]);
    mode(&place.path("deep.zarr/values"), 0o500);
    mode(&shut, 0o500);
    let before = place.held();
    for ending in endings {
        let convert = |name: &str, hint: &str| {
            let arguments = [&["convert", "-q", text(&x), name][..], &strided(ending)].concat();
            place.fails(&arguments, &[name, "ermission denied", hint]);
        };
        // A folder that takes no new file, one that takes no other, and a file that may not be written to.
        let is_folder = place.path(&format!("old.{ending}")).is_dir();
        convert(&format!("shut/new.{ending}"), "(check the permissions of the folder)");
        convert(&format!("shut/old.{ending}"), "check the permissions of the folder");
        let there = if is_folder { "the folder that is there" } else { "may not be written to, so it stays" };
        convert(&format!("old.{ending}"), there);
        assert_eq!(place.held(), before, "{ending}");
    }
    place.fails(&["convert", text(&x), "deep.zarr"], &["deep.zarr", "ermission denied", "of those in it"]);
    place.fails(&["spy", text(&x), "-o", "shut/x.png"], &["shut/x.png", "(check the permissions of the folder)"]);
    assert_eq!(place.held(), before);
    // What the user allows goes.
    mode(&place.path("old.npz"), 0o600);
    place.good(&["convert", text(&x), "old.npz", "--dtype", "int8"]);
    mode(&place.path("deep.zarr/values"), 0o700);
    place.good(&["convert", text(&x), "deep.zarr", "--dtype", "int8"]);
    let names = |held: &[(PathBuf, Vec<u8>)]| held.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>();
    let after = place.held();
    assert!(names(&after) == names(&before) && after != before);
}

/// A picture that may not be written to stays, as does one whose name is a folder's.
#[test]
fn pictures_that_may_not_be_written_stay() {
    let place = Place::new("permissions-picture");
    place.matrix("x.mtx");
    place.good(&["spy", "x.mtx", "-o", "x.png"]);
    mode(&place.path("x.png"), 0o400);
    place.directory("y.svg");
    let before = place.held();
    place.fails(&["spy", "x.mtx", "-o", "x.png"], &["x.png", "may not be written to, so it stays"]);
    place.fails(&["spy", "x.mtx", "-o", "y.svg"], &["y.svg", "directory", "name a file in it"]);
    assert_eq!(place.held(), before);
}

#[test]
fn folders_that_stand_where_files_should_are_told() {
    let place = Place::new("permissions-folders");
    let x = place.matrix("x.mtx");
    for name in ["plain", "plain.npz", "plain.mtx", "plain.h5"] {
        place.directory(name);
        fs::write(place.path(name).join("one"), "of many").unwrap();
    }
    let before = place.held();
    place.fails(&["convert", text(&x), "plain"], &["plain is a folder: name a file in it"]);
    for name in ["plain.npz", "plain.mtx", "plain.h5"] {
        place.fails(&["convert", text(&x), name], &[name, "this is a folder", "name a file in it"]);
    }
    for name in ["plain", "plain.npz", "plain.mtx", "plain.h5"] {
        for command in ["info", "dump", "validate", "spy"] {
            place.fails(&[command, name], &[name, "this is a directory", "name a file in it"]);
        }
    }
    // A file on the way.
    place.fails(&["info", "x.mtx/y.mtx"], &["x.mtx/y.mtx", "has to be a folder"]);
    place.fails(&["convert", text(&x), "x.mtx/y.npz"], &["x.mtx/y.npz", "has to be a folder"]);
    place.fails(&["convert", text(&x), "y.npz/"], &["y.npz/", "has to be a folder"]);
    assert_eq!(place.held(), before);
}
