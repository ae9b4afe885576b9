//! Binsparse in HDF5, whole files. A crash inside libhdf5, which is not built for fuzzing, is libhdf5's.
#![no_main]

mod checks;

use std::path::PathBuf;

use checks::{LARGEST, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::binsparse::{self, Mode, Options};

/// Whether libhdf5 would never return: in a heap of strings, free space of size 0, from which it does not move on.
fn hangs(data: &[u8]) -> bool {
    let number = |at: usize, len: usize| {
        let bytes = data.get(at..at + len)?;
        Some(bytes.iter().rev().fold(0_u64, |number, &byte| number << 8 | u64::from(byte)))
    };
    let heaps = data.windows(4).enumerate().filter(|(_, word)| word == b"GCOL").map(|(at, _)| at);
    heaps.into_iter().any(|heap| {
        let mut at = heap + 16;
        while let (Some(index), Some(size)) = (number(at, 2), number(at + 8, 8)) {
            let step = if index == 0 { size } else { size.saturating_add(23) & !7 };
            if step == 0 {
                return true;
            }
            match usize::try_from(step).ok().and_then(|step| at.checked_add(step)) {
                Some(next) if next < data.len() => at = next,
                _ => return false,
            }
        }
        false
    })
}

fuzz_target!(|data: &[u8]| {
    if hangs(data) {
        return;
    }
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let path = folder.join(format!("openwork-fuzz-{}.h5", std::process::id()));
    std::fs::write(&path, data).expect("a small file");
    for mode in [Mode::Strict, Mode::Lenient] {
        let options = Options { mode, max_bytes: Some(LARGEST), ..Default::default() };
        if let Ok(reading) = binsparse::read_with(&path, &options) {
            sound(&reading.tensor, LARGEST as usize, 8);
        }
    }
    std::fs::remove_file(&path).expect("just written");
});
