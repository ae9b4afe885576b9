//! PyTorch's own files: a ZIP of a pickle, which is not run, and of storages. They come by way of a temporary file.
#![no_main]

mod checks;

use checks::{LARGEST, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::{self, Format, ReadOptions};

fuzz_target!(|data: &[u8]| {
    let all = ReadOptions { format: Some(Format::Checkpoint), max_bytes: Some(LARGEST), ..Default::default() };
    let Ok(infos) = io::info_from(data, &all) else { return };
    // Many names may lead to one storage.
    for info in infos.iter().take(16) {
        let one = ReadOptions { name: Some(&info.name), ..all };
        let Ok(loaded) = io::read_from(data, &one) else { continue };
        assert_eq!(Some(loaded.tensor.dtype()), info.dtype);
        sound(&loaded.tensor, LARGEST as usize, 8);
    }
});
