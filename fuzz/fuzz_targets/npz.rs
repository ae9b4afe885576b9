//! Binsparse in NPZ, whole files.
#![no_main]

mod checks;

use checks::{LARGEST, same, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::{ReadOptions, WriteOptions};
use openwork::io::binsparse;

fuzz_target!(|data: &[u8]| {
    for lenient in [false, true] {
        let options = ReadOptions { lenient, max_bytes: Some(LARGEST), ..Default::default() };
        let Ok(reading) = binsparse::read_bytes(data, &options) else { continue };
        let x = reading.tensor;
        sound(&x, LARGEST as usize, 8);
        let extensions = WriteOptions { extensions: true, ..Default::default() };
        let bytes = binsparse::to_bytes(&x, &extensions).expect("the extension holds every tensor");
        same(&binsparse::read_bytes(&bytes, &ReadOptions::default()).expect("our own file").tensor, &x);
    }
});
