//! Safetensors files, and the descriptors in their metadata.
#![no_main]

mod checks;

use checks::{same, sound};
use libfuzzer_sys::fuzz_target;
use openwork::io::state_dict::StateDict;

fuzz_target!(|data: &[u8]| {
    let Ok(model) = StateDict::from_safetensors(data) else { return };
    for (_, x) in model.iter() {
        sound(x, data.len(), 8);
    }
    // A name or key that the file may have and ours may not is refused.
    if let Ok(bytes) = model.to_safetensors() {
        let again = StateDict::from_safetensors(&bytes).expect("our own file");
        assert!(model.names().eq(again.names()));
        for ((_, a), (_, b)) in model.iter().zip(again.iter()) {
            same(a, b);
        }
    }
});
