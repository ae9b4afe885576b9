//! Checksums of metadata and of elements.

/// Bob Jenkins' `hashlittle` of lookup3 (2006, public domain) with start value 0: the checksum of newer metadata.
pub(super) fn lookup3(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |part: &[u8], i: usize| {
        part.iter().skip(4 * i).take(4).rev().fold(0_u32, |word, &byte| word << 8 | u32::from(byte))
    };
    let blocks = bytes.len().saturating_sub(1) / 12;
    let (whole, last) = bytes.split_at(12 * blocks);
    for part in whole.chunks_exact(12) {
        a = a.wrapping_add(word(part, 0));
        b = b.wrapping_add(word(part, 1));
        c = c.wrapping_add(word(part, 2));
        a = a.wrapping_sub(c) ^ c.rotate_left(4);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(6);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(8);
        b = b.wrapping_add(a);
        a = a.wrapping_sub(c) ^ c.rotate_left(16);
        c = c.wrapping_add(b);
        b = b.wrapping_sub(a) ^ a.rotate_left(19);
        a = a.wrapping_add(c);
        c = c.wrapping_sub(b) ^ b.rotate_left(4);
        b = b.wrapping_add(a);
    }
    if last.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(last, 0));
    b = b.wrapping_add(word(last, 1));
    c = c.wrapping_add(word(last, 2));
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    (c ^ b).wrapping_sub(b.rotate_left(24))
}

/// Whether metadata have their checksum. A fuzzer cannot guess one, so to it all are right: whoever damages a file on
/// purpose writes the right one too.
pub(super) fn is_whole(bytes: &[u8], sum: &[u8]) -> bool {
    cfg!(fuzzing) || lookup3(bytes).to_le_bytes() == sum
}

/// The checksum of the filter fletcher32: two sums of big-endian words of 16 bits, modulo 65535.
pub(super) fn fletcher32(bytes: &[u8]) -> u32 {
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let (mut first, mut second) = (0_u32, 0_u32);
    // 360 words are the most that 32 bits hold the sums of.
    for part in bytes.chunks(720) {
        for word in part.chunks(2) {
            first += u32::from(word[0]) << 8 | word.get(1).map_or(0, |&b| u32::from(b));
            second += first;
        }
        (first, second) = (fold(first), fold(second));
    }
    fold(second) << 16 | fold(first)
}

#[cfg(test)]
mod tests {
    use super::lookup3;

    #[test]
    fn published_values() {
        // From the driver of lookup3.c.
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }
}
