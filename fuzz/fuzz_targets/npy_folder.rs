//! Binsparse in a folder of `.npy` files: the descriptor, then arrays, each from the bytes that a `.npy` file begins with. They
//! are those that the descriptor has types for, in the order of the alphabet.
#![no_main]

mod checks;

use std::path::PathBuf;
use std::sync::LazyLock;

use checks::{LARGEST, same, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::{ReadOptions, WriteOptions};
use openwork::io::binsparse;
use serde_json::Value;

const MAGIC: &[u8] = b"\x93NUMPY";

/// A folder of this process, in memory where there is such a place.
static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let shared = PathBuf::from("/dev/shm");
    let root = if shared.is_dir() { shared } else { std::env::temp_dir() };
    root.join(format!("openwork-fuzz-{}", std::process::id()))
});

/// The descriptor and the arrays.
fn cut(data: &[u8]) -> (&[u8], Vec<&[u8]>) {
    let starts: Vec<usize> = (0..data.len()).filter(|&at| data[at..].starts_with(MAGIC)).collect();
    let ends = starts.iter().skip(1).copied().chain([data.len()]);
    let arrays = starts.iter().zip(ends).map(|(&from, to)| &data[from..to]).collect();
    (&data[..starts.first().copied().unwrap_or(data.len())], arrays)
}

fuzz_target!(|data: &[u8]| {
    let (text, arrays) = cut(data);
    let said: Value = serde_json::from_slice(text).unwrap_or_default();
    let names: Vec<String> = match said["binsparse"]["data_types"].as_object() {
        Some(types) => types.keys().filter(|name| !name.contains(['/', '\0']) && name.len() < 100).cloned().collect(),
        None => Vec::new(),
    };
    let folder = &*FOLDER;
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).expect("a folder");
    std::fs::write(folder.join("binsparse.json"), text).expect("a file");
    for (name, array) in names.iter().zip(arrays) {
        std::fs::write(folder.join(format!("{name}.npy")), array).expect("a file");
    }
    for lenient in [false, true] {
        let options = ReadOptions { lenient, max_bytes: Some(LARGEST), ..Default::default() };
        let Ok(reading) = binsparse::read_with(folder, &options) else { continue };
        sound(&reading.tensor, LARGEST as usize, 8);
        let extensions = WriteOptions { extensions: true, ..Default::default() };
        let bytes = binsparse::to_bytes(&reading.tensor, &extensions).expect("the extension holds every tensor");
        same(&binsparse::read_bytes(&bytes, &ReadOptions::default()).expect("our own file").tensor, &reading.tensor);
    }
});
