//! Bytes as truth values.
#![allow(unsafe_code)] // bytes are seen as `bool` once each was found to be 0 or 1

/// Bytes as the truth values that they are.
///
/// # Panics
/// If one is neither 0 nor 1, which is a bug of whoever wrote it.
pub(crate) fn of_bytes(bytes: &[u8]) -> &[bool] {
    check(bytes);
    // SAFETY: a `bool` is one byte, and each of these is 0 or 1.
    unsafe { &*(std::ptr::from_ref(bytes) as *const [bool]) }
}

/// The same, to be written.
///
/// # Panics
/// As [`of_bytes`].
pub(crate) fn of_bytes_mut(bytes: &mut [u8]) -> &mut [bool] {
    check(bytes);
    // SAFETY: as above; who writes through it writes truth values.
    unsafe { &mut *(std::ptr::from_mut(bytes) as *mut [bool]) }
}

fn check(bytes: &[u8]) {
    assert!(are_truth_values(bytes), "a truth value is 0 or 1");
}

/// Without a way out on the first that is not: the compiler makes vectors of it, and there is none.
fn are_truth_values(bytes: &[u8]) -> bool {
    bytes.iter().fold(0, |all, byte| all | byte) <= 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zeros_and_ones_are_truth_values() {
        for n in [0, 1, 15, 16, 100] {
            let mut bytes = vec![1; n];
            bytes.iter_mut().step_by(3).for_each(|b| *b = 0);
            assert!(of_bytes(&bytes).iter().zip(&bytes).all(|(&t, &b)| t == (b == 1)));
            of_bytes_mut(&mut bytes).fill(true);
            assert!(bytes.iter().all(|&b| b == 1));
            for at in 0..n {
                for other in [2, 3, 128, 255] {
                    let mut bytes = bytes.clone();
                    bytes[at] = other;
                    assert!(!are_truth_values(&bytes), "{other} at {at} of {n}");
                }
            }
        }
    }
}
