//! Zarr: the metadata of an array, a zero byte, and the bytes of its chunks, in version 3 and in version 2.
#![no_main]

#[path = "../../tests/common/npz.rs"]
#[allow(dead_code)]
mod build;
mod checks;

use build::zip;
use checks::{LARGEST, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::ReadOptions;
use openwork::io::binsparse;

fuzz_target!(|data: &[u8]| {
    let at = data.iter().position(|&byte| byte == 0).unwrap_or(data.len());
    let (text, chunk) = (&data[..at], &data[(at + 1).min(data.len())..]);
    for (name, chunks) in [("zarr.json", ["c/0", "c/1", "c/0/0"]), (".zarray", ["0", "1", "0.0"])] {
        let files = [name].into_iter().chain(chunks);
        let members: Vec<(String, Vec<u8>)> =
            files.map(|file| (file.to_owned(), if file == name { text.to_vec() } else { chunk.to_vec() })).collect();
        let options = ReadOptions { max_bytes: Some(LARGEST), ..Default::default() };
        let Ok(reading) = binsparse::read_bytes(&zip(&members), &options) else { continue };
        sound(&reading.tensor, LARGEST as usize, 8);
    }
});
