//! CRC-32C: the remainder by the polynomial of G. Castagnoli and others, "Optimization of cyclic redundancy-check codes",
//! 1993, bits in reverse.

use std::borrow::Cow;

use crate::io::fault::{Res, bad};

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut rest, mut bit) = (byte as u32, 0);
        while bit < 8 {
            rest = if rest & 1 == 1 { rest >> 1 ^ 0x82f6_3b78 } else { rest >> 1 };
            bit += 1;
        }
        table[byte] = rest;
        byte += 1;
    }
    table
};

fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, &byte| TABLE[usize::from(sum as u8 ^ byte)] ^ sum >> 8)
}

/// The bytes before their checksum, which must agree.
pub(super) fn checked(mut bytes: Cow<'_, [u8]>) -> Res<Cow<'_, [u8]>> {
    let Some((inner, sum)) = bytes.split_last_chunk::<4>() else { return bad("a chunk without its checksum") };
    if u32::from_le_bytes(*sum) != crc32c(inner) {
        return bad("a chunk is damaged: its checksum (crc32c) differs");
    }
    let inner = inner.len();
    match &mut bytes {
        Cow::Borrowed(all) => *all = all.get(..inner).unwrap_or_default(),
        Cow::Owned(all) => all.truncate(inner),
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_sum_that_is_published() {
        // RFC 3720, appendix B.4.
        assert_eq!(super::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(super::crc32c(&[0; 32]), 0x8a91_36aa);
    }
}
