//! Damage to files.

use crate::common::rng::Rng;

/// Changes, adds or takes away up to three bytes, and now and then all behind one. Half of the new bytes are `telling`.
pub fn mutate(bytes: &mut Vec<u8>, telling: &[u8], random: &mut Rng) {
    for _ in 0..=random.below(3) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let byte = telling[random.below(telling.len())];
        match random.below(7) {
            0 => bytes[at] = random.next() as u8,
            1 => bytes[at] = byte,
            2 => bytes[at] ^= 1 << random.below(8),
            3 => bytes.insert(at, byte),
            4 => drop(bytes.remove(at)),
            5 => {
                // A digit, of which sizes are made.
                let digit = (at..bytes.len()).find(|&at| bytes[at].is_ascii_digit());
                digit.into_iter().for_each(|at| bytes[at] = b'0' + random.below(10) as u8);
            }
            _ if random.below(8) == 0 => bytes.truncate(at),
            _ => {}
        }
    }
}
