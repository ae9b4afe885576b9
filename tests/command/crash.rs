//! A writer that is killed, or that meets a full disk: the old file or the new one, whole, and no other.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::temporary;
use openwork::{Layout, Tensor, io};

/// Files, and two kinds of folders.
fn endings() -> Vec<&'static str> {
    let files = ["mtx", "mtx.gz", "tns", "npz", "h5", "safetensors", "sscdf", "h5ad", "zarr.zip"];
    [&files[..], &["zarr", "bspnpy"]].concat()
}

/// The bytes of a file, or of all files of a folder by name.
type Content = Vec<(String, Vec<u8>)>;

fn content(path: &Path) -> Content {
    fn walk(at: &Path, name: &str, out: &mut Content) {
        if !at.is_dir() {
            return out.push((name.to_owned(), std::fs::read(at).unwrap()));
        }
        for entry in std::fs::read_dir(at).unwrap() {
            let below = entry.unwrap().file_name().into_string().unwrap();
            walk(&at.join(&below), &format!("{name}/{below}"), out);
        }
    }
    let mut out = Vec::new();
    walk(path, "", &mut out);
    out.sort();
    out
}

/// Puts it there again.
fn put(path: &Path, content: &Content) {
    gone(path);
    for (name, bytes) in content {
        let at = path.with_file_name(format!("{}{name}", path.file_name().unwrap().to_str().unwrap()));
        std::fs::create_dir_all(at.parent().unwrap()).unwrap();
        std::fs::write(at, bytes).unwrap();
    }
}

fn gone(path: &Path) {
    let _ = std::fs::remove_file(path).or_else(|_| std::fs::remove_dir_all(path));
}

fn convert(from: &Path, to: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_openwork"));
    command.arg("convert").arg(from).arg(to).stdin(Stdio::null()).stdout(Stdio::null());
    command
}

/// Names of a folder that are no file that was asked for.
fn leftovers(folder: &Path, wanted: &[&str]) -> Vec<String> {
    let names = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.filter(|name| !wanted.contains(&name.as_str())).collect()
}

/// Kills writers at times spread over their life. Each kill leaves at most the one file it was writing, under a name
/// that starts with a dot and ends in `.tmp`.
#[test]
fn a_killed_writer_leaves_the_old_file_or_the_new_one() {
    let folder = temporary("crash-kill");
    let (a, b) = (folder.join("a.npz"), folder.join("b.npz"));
    io::write(&a, &Tensor::random([400, 300], 0.3, 0.0, Layout::Csr, 1).unwrap()).unwrap();
    io::write(&b, &Tensor::random([400, 300], 0.35, 0.0, Layout::Csr, 2).unwrap()).unwrap();
    for ending in endings() {
        let target = folder.join(format!("target.{ending}"));
        let name = format!("target.{ending}");
        // The shortest life: one that something else held up would let most writers end before they are killed.
        let (mut whole, mut life) = (Vec::new(), Duration::MAX);
        for source in [&a, &b, &b, &a] {
            let start = Instant::now();
            assert!(convert(source, &target).status().unwrap().success());
            life = life.min(start.elapsed());
            whole.push(content(&target));
        }
        whole.drain(..2);
        let ([new, old], rounds) = (&whole[..], 20_u32) else { panic!("two files") };
        let (mut killed, mut replaced) = (0, 0);
        for round in 0..rounds {
            put(&target, old);
            let mut child = convert(&b, &target).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(life * round / rounds);
            child.kill().unwrap();
            killed += u32::from(!child.wait().unwrap().success());
            let found = content(&target);
            assert!(found == *old || found == *new, "{ending}, round {round}: {} files", found.len());
            replaced += u32::from(found == *new);
            let left = leftovers(&folder, &["a.npz", "b.npz", &name]);
            let temporary = |left: &String| left.starts_with(&format!(".{name}.")) && left.ends_with(".tmp");
            assert!(left.len() <= 1 && left.iter().all(temporary), "{ending}: {left:?}");
            left.iter().for_each(|left| gone(&folder.join(left)));
        }
        assert!(killed > rounds / 4, "{ending}: only {killed} of {rounds} were killed in time");
        eprintln!("{ending}: {killed} of {rounds} killed, {replaced} had replaced the file");
        gone(&target);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A limit on the size of files fails writes as a full disk does, at any byte.
#[test]
fn a_full_disk_leaves_the_old_file_and_says_so() {
    let folder = temporary("crash-full");
    let source = folder.join("source.npz");
    io::write(&source, &Tensor::random([400, 300], 0.3, 0.0, Layout::Csr, 1).unwrap()).unwrap();
    let small = folder.join("small.npz");
    io::write(&small, &Tensor::eye(3, openwork::DType::F64, Layout::Csr).unwrap()).unwrap();
    for ending in endings() {
        let name = format!("target.{ending}");
        let target = folder.join(&name);
        assert!(convert(&small, &target).status().unwrap().success());
        let old = content(&target);
        for blocks in [0, 1, 64] {
            let output = Command::new("sh")
                .args(["-c", "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\""])
                .arg(blocks.to_string())
                .args([env!("CARGO_BIN_EXE_openwork"), "convert", source.to_str().unwrap(), target.to_str().unwrap()])
                .output()
                .unwrap();
            let told = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(2), "{ending}, {blocks} blocks: {told}");
            assert!(told.contains(&name) && told.lines().count() == 1, "{ending}, {blocks} blocks: {told}");
            assert_eq!(content(&target), old, "{ending}, {blocks} blocks");
            assert_eq!(leftovers(&folder, &["source.npz", "small.npz", &name]), Vec::<String>::new(), "{ending}");
        }
        gone(&target);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Six writers of one file at once, a reader beside them: what is there is one of the seven, whole, at any time, every
/// writer succeeds, and nothing else is left.
#[test]
fn six_writers_at_once_leave_one_of_their_files() {
    let folder = temporary("crash-six");
    let sources: Vec<_> = (0..6).map(|i| folder.join(format!("source{i}.npz"))).collect();
    for (seed, source) in sources.iter().enumerate() {
        io::write(source, &Tensor::random([300, 200], 0.3, 0.0, Layout::Csr, seed as u64).unwrap()).unwrap();
    }
    let old = folder.join("old.npz");
    io::write(&old, &Tensor::random([300, 200], 0.2, 0.0, Layout::Csr, 9).unwrap()).unwrap();
    for ending in endings() {
        let name = format!("target.{ending}");
        let target = folder.join(&name);
        let mut known: Vec<Content> = Vec::new();
        for source in sources.iter().chain([&old]) {
            assert!(convert(source, &target).status().unwrap().success());
            known.push(content(&target));
        }
        for round in 0..3 {
            let mut writers: Vec<_> =
                sources.iter().map(|s| convert(s, &target).stderr(Stdio::piped()).spawn().unwrap()).collect();
            // A folder may change places while its files are read one by one; a file may not.
            while writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
                assert!(target.exists(), "{ending}, round {round}");
                if !target.is_dir() {
                    let found = content(&target);
                    assert!(known.contains(&found), "{ending}, round {round}: {} bytes", found[0].1.len());
                }
            }
            for writer in writers {
                let output = writer.wait_with_output().unwrap();
                assert!(output.status.success(), "{ending}: {}", String::from_utf8_lossy(&output.stderr));
            }
            let found = content(&target);
            assert!(known[..6].contains(&found), "{ending}, round {round}");
            let left = leftovers(&folder, &[&name]);
            assert!(left.iter().all(|left| left.ends_with(".npz")) && left.len() == 7, "{ending}: {left:?}");
        }
        gone(&target);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
