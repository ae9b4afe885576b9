//! Matrix Market text, plain and gzip.
#![no_main]

mod checks;

use checks::{LARGEST, same, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::ReadOptions;
use openwork::io::matrix_market;

fuzz_target!(|data: &[u8]| {
    let options = ReadOptions { max_bytes: Some(LARGEST), ..Default::default() };
    let Ok(x) = matrix_market::read_bytes(data, &options) else { return };
    // Gzip holds a thousand times its size.
    let gzip = data.starts_with(&[0x1f, 0x8b]);
    sound(&x, data.len(), if gzip { 64 * 1100 } else { 64 });
    if let Ok(text) = matrix_market::to_bytes(&x, &Default::default()) {
        let x = if x.is_strided() { x } else { x.coalesce().expect("duplicates have a sum") };
        same(&matrix_market::read_bytes(&text, &ReadOptions::default()).expect("our own text"), &x);
    }
});
