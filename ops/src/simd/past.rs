//! Copies past the caches.
#![allow(unsafe_code)] // streaming stores

/// Copies as many bytes without reading the lines of the cache that they replace, which a store does. Worth it where they are many,
/// nobody reads them soon, and their pages were used before.
pub fn copy_past_caches(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};
        const LINE: usize = 64;
        let before = to.as_ptr().align_offset(LINE).min(to.len());
        let (first, to) = to.split_at_mut(before);
        let (from_first, from) = from.split_at(before);
        first.copy_from_slice(from_first);
        let (from, from_rest) = from.as_chunks::<LINE>();
        let (to, rest) = to.as_chunks_mut::<LINE>();
        for (from, to) in from.iter().zip(to) {
            let (from, to) = (from.as_ptr().cast::<__m128i>(), to.as_mut_ptr().cast::<__m128i>());
            // SAFETY: both are lines of 64 bytes, four times sixteen, and `to` begins where a line of the cache does.
            unsafe {
                let four: [__m128i; 4] = std::array::from_fn(|i| _mm_loadu_si128(from.add(i)));
                four.into_iter().enumerate().for_each(|(i, part)| _mm_stream_si128(to.add(i), part));
            }
        }
        rest.copy_from_slice(from_rest);
        // SAFETY: every CPU of the architecture has the instruction, which touches no memory of ours.
        unsafe { _mm_sfence() };
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_goes_to_its_place_and_no_other() {
        let from: Vec<u8> = (0..700).map(|i| (i % 251 + 1) as u8).collect();
        for (start, len) in (0..70).flat_map(|start| [0, 1, 63, 64, 65, 130, 500].map(|len| (start, len))) {
            let mut to = vec![0; 700];
            copy_past_caches(&from[start / 2..][..len], &mut to[start..start + len]);
            let (before, rest) = to.split_at(start);
            let (copied, after) = rest.split_at(len);
            assert_eq!(copied, &from[start / 2..][..len], "{start}, {len}");
            assert!(before.iter().chain(after).all(|&byte| byte == 0), "{start}, {len}");
        }
    }
}
