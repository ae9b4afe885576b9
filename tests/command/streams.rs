//! Standard input and output, pipes, several files: nothing of a stream is lost.

use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};

use super::{command, fails, good, run, text};
use crate::common::temporary;
use openwork::{Layout, Tensor, io};

/// Runs it with these bytes on standard input.
fn fed(arguments: &[&str], bytes: &[u8]) -> Output {
    let mut child = command(arguments);
    let mut child = child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // The other end may be closed before all is taken.
    let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[track_caller]
fn fed_well(arguments: &[&str], bytes: &[u8]) -> Vec<u8> {
    let output = fed(arguments, bytes);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn every_format_comes_and_goes_through_a_pipe() {
    let folder = temporary("command-streams");
    let x = Tensor::random([300, 200], 0.1, 0.0, Layout::Csr, 1).unwrap();
    for (ending, to) in [
        ("mtx", "mtx"),
        ("mtx.gz", "mtx"),
        ("tns", "tns"),
        ("ttx", "ttx"),
        ("npz", "npz"),
        ("h5", "h5"),
        ("safetensors", "safetensors"),
    ] {
        let path = folder.join(format!("x.{ending}"));
        io::write(&path, &x).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let from = ["--from", to];
        let wanted = good(&["dump", text(&path)]);
        let dumped = fed_well(&[&["dump", "-"][..], &from[..if to == "tns" { 2 } else { 0 }]].concat(), &bytes);
        assert_eq!(String::from_utf8(dumped).unwrap(), wanted, "{ending}");
        let judged = fed_well(&["validate", "-", "--from", to], &bytes);
        assert_eq!(String::from_utf8(judged).unwrap(), "standard input: valid\n", "{ending}");
        let told: serde_json::Value =
            serde_json::from_slice(&fed_well(&["info", "--json", "-", "--from", to], &bytes)).unwrap();
        assert_eq!((told["dtype"].as_str(), told["file_bytes"].is_null()), (Some("float64"), true), "{ending}");
        // There and back again.
        let out = fed_well(&["convert", "-", "-", "--from", to, "--to", "npz"], &bytes);
        let back = fed_well(&["convert", "-", "-", "--to", to], &out);
        assert_eq!(fed_well(&["dump", "-", "--from", to], &back), wanted.as_bytes(), "{ending}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A file of many blocks through a pipe that brings a few bytes at a time: detection takes none of them away.
#[cfg(unix)]
#[test]
fn a_fifo_is_read_once_and_whole() {
    let folder = temporary("command-fifo");
    let fifo = folder.join("x.tns");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let lines: String = (1..=100_000).map(|i| format!("{i} {} {}\n", i % 77 + 1, i % 10)).collect();
    let writer = {
        let (fifo, lines) = (fifo.clone(), lines.clone());
        std::thread::spawn(move || {
            let mut file = std::fs::OpenOptions::new().write(true).open(fifo).unwrap();
            lines.as_bytes().chunks(1000).for_each(|part| file.write_all(part).unwrap());
        })
    };
    let dumped = good(&["dump", text(&fifo)]);
    writer.join().unwrap();
    assert_eq!(dumped.lines().count(), 100_000);
    assert!(dumped.starts_with("[[0, 1], 1.0]\n") && dumped.ends_with("[[99999, 54], 0.0]\n"), "{}", &dumped[..40]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_stream_that_does_not_tell_its_format_is_refused_with_the_way_out() {
    let told = String::from_utf8(fed(&["dump", "-"], b"1 1 1.5\n").stderr).unwrap();
    assert!(told.contains("--from names it") && told.lines().count() == 1, "{told}");
    let told = String::from_utf8(fed(&["convert", "-", "-", "--from", "tns"], b"1 1 1.5\n").stderr).unwrap();
    assert!(told.contains("--to names it"), "{told}");
    let output = fed(&["dump", "-", "--from", "npz", "--max-bytes", "100"], &[b'P'; 1000]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("--max-bytes") && told.contains("100 bytes"), "{told}");
}

#[test]
fn several_files_are_told_of_and_judged_one_by_one() {
    let folder = temporary("command-several");
    let (good_file, bad_file) = (folder.join("good.mtx"), folder.join("bad.mtx"));
    std::fs::write(&good_file, "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n").unwrap();
    std::fs::write(&bad_file, "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n").unwrap();
    let output = run(&["validate", text(&good_file), text(&bad_file), "no.mtx", text(&good_file)]);
    let told = String::from_utf8(output.stdout).unwrap();
    assert_eq!((told.matches(": valid").count(), told.matches("1 violation").count()), (2, 1), "{told}");
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert_eq!(run(&["validate", text(&good_file), text(&bad_file)]).status.code(), Some(1));
    assert_eq!(good(&["info", text(&good_file), text(&bad_file)]).matches("[2, 2]").count(), 2);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// Peak memory of a command, in kB.
#[cfg(target_os = "linux")]
pub fn peak(arguments: &[&str]) -> (u64, Output) {
    let script = "ulimit -v 1500000; exec \"$@\"";
    let mut child = std::process::Command::new("sh")
        .args(["-c", script, "sh", env!("CARGO_BIN_EXE_openwork")])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = told.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(peak.unwrap_or(0));
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    (most, child.wait_with_output().unwrap())
}

/// A megabyte that unpacks to a gigabyte of blank lines, of one comment, of one number.
#[cfg(target_os = "linux")]
#[test]
fn small_files_that_unpack_to_very_much_take_little_memory() {
    let folder = temporary("command-bombs");
    let banner = b"%%MatrixMarket matrix coordinate real general\n";
    for (name, head, filling) in [
        ("blank.mtx.gz", &banner[..], b'\n'),
        ("comment.mtx.gz", b"%%MatrixMarket matrix coordinate real general\n%", b'x'),
        ("line.tns.gz", b"1 1 ", b'7'),
    ] {
        let path = folder.join(name);
        std::fs::write(&path, gzip_of(head, filling, 300 << 20)).unwrap();
        for verb in ["info", "validate", "dump"] {
            let (kilobytes, output) = peak(&[verb, text(&path)]);
            let told = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
            assert!(kilobytes < 80_000, "{name}, {verb}: {kilobytes} kB, {told}");
            assert!(told.contains("16777216 bytes"), "{name}, {verb}: {told}");
            assert_eq!(output.status.code(), Some(1), "{name}, {verb}: {told}");
        }
    }
    // A count of entries that the shape has no place for, with arrays that unpack to it.
    if let Some(root) = crate::common::folder("small_files_that_unpack_to_very_much_take_little_memory", "tried") {
        for verb in ["validate", "dump"] {
            let (kilobytes, output) = peak(&[verb, text(&root.join("bad_idx.npz"))]);
            let told = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap()).concat();
            assert!(kilobytes < 80_000, "{verb}: {kilobytes} kB, {told}");
            assert!(told.contains("134217728 stored values in a tensor of 16 elements"), "{verb}: {told}");
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

/// A gzip stream of a text and one byte many times.
#[cfg(target_os = "linux")]
fn gzip_of(head: &[u8], byte: u8, times: usize) -> Vec<u8> {
    let mut child = std::process::Command::new("gzip");
    let mut child = child.arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let head = head.to_vec();
    let writer = std::thread::spawn(move || {
        input.write_all(&head).unwrap();
        let block = vec![byte; 1 << 20];
        (0..times >> 20).for_each(|_| input.write_all(&block).unwrap());
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output.stdout
}

/// What `--max-bytes` bounds in each format.
#[test]
fn the_bound_on_bytes_holds_for_every_format() {
    let folder = temporary("command-bound");
    let x = Tensor::random([100, 100], 0.1, 0.0, Layout::Csr, 1).unwrap();
    for ending in ["mtx", "tns", "ttx", "npz", "h5", "safetensors"] {
        let path = folder.join(format!("x.{ending}"));
        io::write(&path, &x).unwrap();
        let told = fails(&["dump", text(&path), "--max-bytes", "1000"], 1);
        assert!(told.contains("1000"), "{ending}: {told}");
        let judged = run(&["validate", text(&path), "--max-bytes", "1000"]);
        assert_eq!(judged.status.code(), Some(1), "{ending}");
        good(&["dump", text(&path), "--max-bytes", "1000000"]);
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

fn assert_readable(path: &Path) {
    assert!(io::read(path).is_ok(), "{}", path.display());
}

/// What is written is read by nobody else while it is written, if the old file was so, and an interrupt leaves nothing.
#[cfg(unix)]
#[test]
fn interrupts_leave_nothing_and_abandoned_files_go_with_the_next_write() {
    use std::os::unix::fs::PermissionsExt;
    let folder = temporary("command-interrupt");
    let (source, target) = (folder.join("source.npz"), folder.join("target.mtx"));
    io::write(&source, &Tensor::random([2000, 2000], 0.2, 0.0, Layout::Csr, 1).unwrap()).unwrap();
    std::fs::write(&target, "%%MatrixMarket matrix coordinate real general\n1 1 0\n").unwrap();
    std::fs::set_permissions(&target, std::fs::Permissions::from_mode(0o600)).unwrap();
    let temporary_files = || -> Vec<std::path::PathBuf> {
        let entries = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.extension().is_some_and(|end| end == "tmp")).collect()
    };
    for signal in ["-INT", "-TERM"] {
        let mut child = command(&["convert", text(&source), text(&target)]).spawn().unwrap();
        let start = std::time::Instant::now();
        while temporary_files().is_empty() && start.elapsed().as_secs() < 60 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        for path in temporary_files() {
            if let Ok(metadata) = std::fs::metadata(&path) {
                assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
            }
        }
        let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        let status = child.wait().unwrap();
        assert!(sent.success() && status.code() == Some(130), "{signal}: {status}");
        assert_eq!(temporary_files(), Vec::<std::path::PathBuf>::new(), "{signal}");
        assert_readable(&target);
    }
    // What a pipe brought so far goes too.
    let spools = folder.join("spools");
    std::fs::create_dir(&spools).unwrap();
    let mut child = command(&["dump", "-"]).env("TMPDIR", &spools).stdin(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(&std::fs::read(&source).unwrap()[..100_000]).unwrap();
    let spooled = || std::fs::read_dir(&spools).unwrap().count();
    let start = std::time::Instant::now();
    while spooled() == 0 && start.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    assert_eq!(spooled(), 1);
    assert!(std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!((child.wait().unwrap().code(), spooled()), (Some(130), 0));
    drop(input);
    // A writer that was killed leaves its file; the next one removes it, and not that of a writer at work.
    let dead = folder.join(".target.mtx.999999999-0.tmp");
    std::fs::write(&dead, "half").unwrap();
    let alive = folder.join(".target.mtx.999999998-0.tmp");
    let held = std::fs::File::create(&alive).unwrap();
    held.try_lock().unwrap();
    let other = folder.join(".target.mtx.notes.tmp");
    std::fs::write(&other, "a user's").unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2100));
    good(&["convert", text(&source), text(&target)]);
    assert!(!dead.exists() && alive.exists() && other.exists());
    assert_eq!(std::fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_dir_all(&folder).unwrap();
}
