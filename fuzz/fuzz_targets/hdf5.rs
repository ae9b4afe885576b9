//! Binsparse in HDF5, whole files. Few of them get as far as libhdf5, which is not built for fuzzing; a crash inside
//! it is its own.
#![no_main]

mod checks;

use std::path::PathBuf;

use checks::{LARGEST, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::ReadOptions;
use openwork::io::binsparse;

fuzz_target!(|data: &[u8]| {
    let memory = PathBuf::from("/dev/shm");
    let folder = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let path = folder.join(format!("openwork-fuzz-{}.h5", std::process::id()));
    std::fs::write(&path, data).expect("a small file");
    for lenient in [false, true] {
        let options = ReadOptions { lenient, max_bytes: Some(LARGEST), allow_libhdf5: true, ..Default::default() };
        if let Ok(reading) = binsparse::read_with(&path, &options) {
            sound(&reading.tensor, LARGEST as usize, 8);
        }
    }
    std::fs::remove_file(&path).expect("just written");
});
