//! Damaged HDF5 files. Damage to descriptor and arrays is tried here. Damage anywhere may make a file one of those that
//! libhdf5 reads, and bring that library down, so it is tried in a process of its own, and the two are told apart: a
//! panic is ours, a signal libhdf5's.

use std::io::Write;
use std::ops::Range;
use std::process::Command;
use std::time::{Duration, Instant};

use ::hdf5::File as Raw;
use openwork::io::WriteOptions;
use openwork::io::binsparse;
use openwork::{Layout, Tensor};

use super::h5::{Gone, path};
use super::mutants::read;
use crate::common::rng::Rng;

/// Files in several forms.
fn files() -> Vec<Gone> {
    let mut out = Vec::new();
    for (i, layout) in [Layout::Csr, Layout::Csf, Layout::Bsr { block: [1, 2] }, Layout::Dcsr].into_iter().enumerate() {
        let path = Gone(path(&format!("mutant{i}")));
        let x = Tensor::random([4, 6], 0.4, 1.0, layout, 5).unwrap();
        let options = WriteOptions { extensions: true, chunk: (i == 1).then_some(3), ..WriteOptions::default() };
        binsparse::write_with(&path, &x, &options).unwrap();
        out.push(path);
    }
    let path = Gone(path("mutant-packed"));
    let x = Tensor::eye(20_000, openwork::DType::I64, Layout::Csr).unwrap();
    binsparse::write_with(&path, &x, &WriteOptions { compress: true, shuffle: true, ..WriteOptions::default() })
        .unwrap();
    out.push(path);
    out
}

/// Where descriptor and arrays lie in a file.
fn ours(path: &Gone, bytes: &[u8]) -> Vec<Range<usize>> {
    let file = Raw::open(path).unwrap();
    let mut out: Vec<Range<usize>> = Vec::new();
    for data in file.datasets().unwrap() {
        if let Some(at) = data.offset() {
            out.push(at as usize..at as usize + data.storage_size() as usize);
        }
    }
    let json = bytes.windows(2).position(|w| w == b"{\"").unwrap();
    let end = bytes[json..].iter().position(|&b| b == 0).unwrap();
    out.push(json..json + end);
    out
}

#[test]
fn damaged_descriptors_and_arrays_never_panic() {
    const TELLING: &[u8] = b"\x00\x01\x7f\x80\xff0189-[]{}\",:";
    let files = files();
    let mut random = Rng::new(23);
    let mut accepted = 0;
    for path in &files {
        let good = std::fs::read(path).unwrap();
        let places = ours(path, &good);
        for _ in 0..1500 {
            let mut bytes = good.clone();
            for _ in 0..=random.below(3) {
                let place = places[random.below(places.len())].clone();
                let at = place.start + random.below(place.len().max(1));
                bytes[at] = match random.below(3) {
                    0 => TELLING[random.below(TELLING.len())],
                    1 => bytes[at] ^ (1 << random.below(8)),
                    _ => random.next() as u8,
                };
            }
            accepted += read(&bytes);
        }
    }
    assert!(accepted > 500, "{accepted}: the mutants are too damaged to test anything");
}

/// What the other process reads: one file, damaged by one seed.
fn damaged(good: &[u8], seed: u64) -> Vec<u8> {
    let mut random = Rng::new(seed.wrapping_mul(0x9e37_79b9));
    let mut bytes = good.to_vec();
    if random.below(8) == 0 {
        bytes.truncate(random.below(good.len()));
    }
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len().min(8192));
        bytes[at] = match random.below(3) {
            0 => [0, 1, 0x7f, 0x80, 0xff][random.below(5)],
            1 => bytes[at] ^ (1 << random.below(8)),
            _ => random.next() as u8,
        };
    }
    bytes
}

const FROM: &str = "OPENWORK_TEST_MUTANTS_FROM";
const COUNT: u64 = 3000;

#[test]
fn damage_anywhere_is_an_error() {
    let progress = std::env::temp_dir().join(format!("openwork-h5-mutants-{}", std::process::id()));
    let (mut from, mut crashes, mut hangs) = (0, Vec::new(), Vec::new());
    while from < COUNT {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "binsparse::mutants_h5::reads_damaged_files", "--ignored", "--test-threads=1"])
            .env(FROM, format!("{from} {}", progress.display()))
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if started.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        let last: u64 = std::fs::read_to_string(&progress).unwrap().trim().parse().unwrap();
        match status.map(|s| s.code()) {
            Some(Some(0)) => break,
            Some(Some(code)) => panic!("mutant {last}: exit status {code}, a panic or memory out of proportion"),
            Some(None) => crashes.push(last),
            None => hangs.push(last),
        }
        from = last + 1;
    }
    let _ = std::fs::remove_file(&progress);
    let line = format!("libhdf5 crashed on mutants {crashes:?} and hung on {hangs:?} of {COUNT}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    // Little gets as far as libhdf5.
    assert!(crashes.len() + hangs.len() <= 1, "{line}");
}

/// Not a test of its own: what the other process runs.
#[test]
#[ignore = "run by damage_anywhere_is_an_error"]
fn reads_damaged_files() {
    let Ok(text) = std::env::var(FROM) else { return };
    let (from, progress) = text.split_once(' ').unwrap();
    let goods: Vec<Vec<u8>> = files().iter().map(|f| std::fs::read(f).unwrap()).collect();
    for seed in from.parse().unwrap()..COUNT {
        std::fs::write(progress, seed.to_string()).unwrap();
        read(&damaged(&goods[seed as usize % goods.len()], seed));
    }
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(peak < 300 << 10, "{peak} kB");
    }
}
