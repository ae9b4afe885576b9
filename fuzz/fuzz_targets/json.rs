//! Tensors in JSON.
#![no_main]

mod checks;

use checks::{same, sound};
use libfuzzer_sys::fuzz_target;
use openwork::Tensor;

fuzz_target!(|data: &[u8]| {
    let Ok(x) = serde_json::from_slice::<Tensor>(data) else { return };
    sound(&x, data.len(), 64);
    let text = serde_json::to_string(&x).expect("JSON holds every tensor");
    same(&serde_json::from_str(&text).expect("our own JSON"), &x);
});
