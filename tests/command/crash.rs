//! A writer that is killed, or that meets a full disk: the old file or the new one, whole, and no other.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::temporary;
use openwork::{Layout, Tensor, io};

fn endings() -> Vec<&'static str> {
    vec!["mtx", "mtx.gz", "tns", "npz", "h5", "safetensors"]
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
        let (mut whole, mut life) = (Vec::new(), Duration::ZERO);
        for source in [&b, &a] {
            let start = Instant::now();
            assert!(convert(source, &target).status().unwrap().success());
            life = life.max(start.elapsed());
            whole.push(std::fs::read(&target).unwrap());
        }
        let ([new, old], rounds) = (&whole[..], 20_u32) else { panic!("two files") };
        let (mut killed, mut replaced) = (0, 0);
        for round in 0..rounds {
            std::fs::write(&target, old).unwrap();
            let mut child = convert(&b, &target).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(life * round / rounds);
            child.kill().unwrap();
            killed += u32::from(!child.wait().unwrap().success());
            let found = std::fs::read(&target).unwrap();
            assert!(found == *old || found == *new, "{ending}, round {round}: {} bytes", found.len());
            replaced += u32::from(found == *new);
            let left = leftovers(&folder, &["a.npz", "b.npz", &name]);
            let temporary = |left: &String| left.starts_with(&format!(".{name}.")) && left.ends_with(".tmp");
            assert!(left.len() <= 1 && left.iter().all(temporary), "{ending}: {left:?}");
            left.iter().for_each(|left| std::fs::remove_file(folder.join(left)).unwrap());
        }
        assert!(killed > rounds / 4, "{ending}: only {killed} of {rounds} were killed in time");
        eprintln!("{ending}: {killed} of {rounds} killed, {replaced} had replaced the file");
        std::fs::remove_file(&target).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A limit on the size of files fails writes as a full disk does, at any byte.
#[test]
fn a_full_disk_leaves_the_old_file_and_says_so() {
    let folder = temporary("crash-full");
    let source = folder.join("source.npz");
    io::write(&source, &Tensor::random([400, 300], 0.3, 0.0, Layout::Csr, 1).unwrap()).unwrap();
    for ending in endings() {
        let name = format!("target.{ending}");
        let target = folder.join(&name);
        std::fs::write(&target, "old").unwrap();
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
            assert_eq!(std::fs::read(&target).unwrap(), b"old", "{ending}, {blocks} blocks");
            assert_eq!(leftovers(&folder, &["source.npz", &name]), Vec::<String>::new(), "{ending}");
        }
        std::fs::remove_file(&target).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
