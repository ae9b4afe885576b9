//! Descriptors of binsparse, beside arrays that fit many of them.
#![no_main]

#[path = "../../tests/common/npz.rs"]
#[allow(dead_code)]
mod build;
mod checks;

use build::{f64s, i64s, npy, u8s, u64s, zip};
use checks::{LARGEST, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::ReadOptions;
use openwork::io::binsparse;

fuzz_target!(|text: &str| {
    let codes: Vec<u32> = text.chars().map(u32::from).collect();
    let json = npy(&format!("<U{}", codes.len()), "()", bytemuck::cast_slice(&codes));
    let arrays = [
        ("binsparse", json),
        ("pointers_to_1", u64s(&[0, 2, 2, 4])),
        ("indices_0", i64s(&[0, 0, 2, 2])),
        ("indices_1", u64s(&[1, 3, 0, 3])),
        ("indices_2", u8s(&[0, 1, 0, 1])),
        ("values", f64s(&[1.0, 2.0, 3.0, 4.0])),
        ("fill_value", f64s(&[0.5])),
    ];
    let members: Vec<(String, Vec<u8>)> = arrays.into_iter().map(|(name, data)| (format!("{name}.npy"), data)).collect();
    let bytes = zip(&members);
    for lenient in [false, true] {
        let options = ReadOptions { lenient, max_bytes: Some(LARGEST), ..Default::default() };
        if let Ok(reading) = binsparse::read_bytes(&bytes, &options) {
            sound(&reading.tensor, bytes.len(), 64);
        }
    }
});
