//! TensorMarket text: what follows the first words of the banner.
#![no_main]

mod checks;

use checks::{LARGEST, same, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::{Format, ReadOptions, WriteOptions};
use openwork::io::frostt;

fuzz_target!(|data: &[u8]| {
    let text = [b"%%MatrixMarket tensor ", data].concat();
    let Ok(x) = frostt::read_bytes(&text, &ReadOptions { max_bytes: Some(LARGEST), ..Default::default() }) else { return };
    sound(&x, data.len(), 64);
    let options = WriteOptions { format: Some(Format::TensorMarket), ..Default::default() };
    if let Ok(text) = frostt::to_bytes(&x, &options) {
        let x = x.coalesce().expect("duplicates have a sum");
        same(&frostt::read_bytes(&text, &ReadOptions::default()).expect("our own text"), &x);
    }
});
