//! FROSTT text; the first byte chooses base and header.
#![no_main]

mod checks;

use checks::{LARGEST, same, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::ReadOptions;
use openwork::io::frostt::{self, Base};

fuzz_target!(|data: &[u8]| {
    let Some((&first, text)) = data.split_first() else { return };
    let base = if first & 1 == 0 { Base::One } else { Base::Zero };
    let options = ReadOptions { base, header: first & 2 != 0, max_bytes: Some(LARGEST), ..Default::default() };
    let Ok(x) = frostt::read_bytes(text, &options) else { return };
    let gzip = text.starts_with(&[0x1f, 0x8b]);
    sound(&x, data.len(), if gzip { 64 * 1100 } else { 64 });
    if let Ok(text) = frostt::to_bytes(&x, &Default::default()) {
        let x = x.coalesce().expect("duplicates have a sum");
        let shape = Some(x.shape());
        same(&frostt::read_bytes(&text, &ReadOptions { shape, ..Default::default() }).expect("our own text"), &x);
    }
});
