//! Blosc, which packs in blocks after bytes were ordered by significance: the codec that Zarr version 2 takes where none is
//! asked for.
//!
//! The format: F. Alted, <https://github.com/Blosc/c-blosc>, `README_CHUNK_FORMAT.rst`; LZ4: Y. Collet,
//! <https://github.com/lz4/lz4>, `doc/lz4_Block_format.md`.

use super::codecs::read;
use crate::io::fault::{Res, bad};

const SHUFFLED: u8 = 1;
const STORED: u8 = 2;
const BITS_SHUFFLED: u8 = 4;
/// The streams of a block are not split by significance.
const WHOLE: u8 = 16;

fn u32_at(bytes: &[u8], at: usize) -> Option<usize> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk::<4>()?) as usize)
}

/// Unpacks a chunk of Blosc into no more than `most` bytes.
pub(super) fn unpack(packed: &[u8], most: u64) -> Res<Vec<u8>> {
    let cut = || bad("a chunk (blosc) is cut short");
    let (Some(&[version, _, flags, item]), Some(size), Some(block), Some(all)) =
        (packed.first_chunk::<4>(), u32_at(packed, 4), u32_at(packed, 8), u32_at(packed, 12))
    else {
        return cut();
    };
    if version != 2 || all != packed.len() || size as u64 > most {
        return bad(format_args!(
            "a chunk (blosc) of version {version} that has {all} bytes and unpacks to {size}, where {} are stored and \
             {most} are the most",
            packed.len()
        ));
    }
    if flags & STORED != 0 {
        let bytes = packed.get(16..16 + size).map(<[u8]>::to_vec);
        return bytes.map_or_else(cut, Ok);
    }
    if size == 0 {
        return Ok(Vec::new());
    }
    let item = usize::from(item.max(1));
    // The starts of as many blocks lie in the chunk.
    let count = size.div_ceil(block.max(1));
    if block == 0 || packed.len() < 16 + 4 * count.min(packed.len()) {
        return cut();
    }
    let mut out = Vec::new();
    for number in 0..count {
        let Some(start) = u32_at(packed, 16 + 4 * number) else { return cut() };
        let whole = block.min(size - number * block);
        // A last block that is shorter is in one stream, and so are items that are too many or blocks that are too small.
        let is_split = flags & WHOLE == 0 && whole == block && (2..=16).contains(&item) && block / item >= 128;
        let streams = if is_split { item } else { 1 };
        let Some(rest) = packed.get(start..) else { return cut() };
        let bytes = unblock(rest, flags >> 5, whole, streams)?;
        out.extend(match flags & (SHUFFLED | BITS_SHUFFLED) {
            0 => bytes,
            SHUFFLED if item > 1 => unshuffled(&bytes, item),
            SHUFFLED => bytes,
            BITS_SHUFFLED => bits_unshuffled(bytes, item),
            _ => return bad("a chunk (blosc) whose bytes and bits are shuffled"),
        });
    }
    Ok(out)
}

/// Unpacks the streams of a block, each of as many bytes.
fn unblock(packed: &[u8], kind: u8, whole: usize, streams: usize) -> Res<Vec<u8>> {
    let mut out = Vec::new();
    let mut rest = packed;
    let each = whole / streams;
    for _ in 0..streams {
        let Some((stream, after)) = u32_at(rest, 0).and_then(|bytes| rest.get(4..)?.split_at_checked(bytes)) else {
            return bad("a chunk (blosc) is cut short");
        };
        rest = after;
        if stream.len() == each {
            out.extend_from_slice(stream);
            continue;
        }
        let bytes = match kind {
            1 => unlz4(stream, each)?,
            3 => read(flate2::read::ZlibDecoder::new(stream), each as u64)?,
            4 => super::codecs::zstd(stream, each as u64)?,
            0 => unblosclz(stream, each)?,
            other => {
                return bad(format_args!(
                    "a chunk (blosc) that is packed by codec {other}; blosclz, lz4, zlib and zstd are read"
                ));
            }
        };
        if bytes.len() != each {
            return bad(format_args!("a chunk (blosc) has a stream of {} bytes, {each} are needed", bytes.len()));
        }
        out.extend(bytes);
    }
    Ok(out)
}

/// Runs of bytes as they are, and copies of 4 and more from up to 65535 bytes back.
fn unlz4(packed: &[u8], most: usize) -> Res<Vec<u8>> {
    const CUT: &str = "a chunk (lz4) is cut short";
    let mut out = Vec::new();
    let mut rest = packed;
    // A length goes on in further bytes as long as these are full.
    fn length(rest: &mut &[u8], first: u8) -> Option<usize> {
        let mut sum = usize::from(first);
        let mut goes_on = first == 15;
        while goes_on {
            let (&byte, after) = rest.split_first()?;
            *rest = after;
            sum += usize::from(byte);
            goes_on = byte == 255;
        }
        Some(sum)
    }
    while let Some((&token, after)) = rest.split_first() {
        rest = after;
        let Some((run, after)) = length(&mut rest, token >> 4).and_then(|n| rest.split_at_checked(n)) else {
            return bad(CUT);
        };
        out.extend_from_slice(run);
        rest = after;
        if rest.is_empty() {
            break;
        }
        let Some((back, after)) = rest.split_first_chunk::<2>() else { return bad(CUT) };
        rest = after;
        let back = usize::from(u16::from_le_bytes(*back));
        let Some(len) = length(&mut rest, token & 15).map(|len| len + 4) else { return bad(CUT) };
        let Some(from) = out.len().checked_sub(back).filter(|_| back > 0) else {
            return bad("a chunk (lz4) with a copy from before its beginning");
        };
        if out.len() + len > most {
            return bad(format_args!("a chunk (lz4) unpacks to more than {most} bytes"));
        }
        // A copy may run into what it has just made.
        while out.len() < from + back + len {
            let have = out.len() - from;
            let part = have.min(from + back + len - out.len());
            out.extend_from_within(from..from + part);
        }
    }
    if out.len() > most {
        return bad(format_args!("a chunk (lz4) unpacks to more than {most} bytes"));
    }
    Ok(out)
}

/// Runs of up to 32 bytes as they are, and copies of 3 and more from up to 73727 bytes back. The format, that of FastLZ with longer
/// distances: <https://github.com/Blosc/c-blosc>, `blosc/blosclz.c`.
fn unblosclz(packed: &[u8], most: usize) -> Res<Vec<u8>> {
    const CUT: &str = "a chunk (blosclz) is cut short";
    let mut out = Vec::new();
    let mut rest = packed;
    let byte = |rest: &mut &[u8]| -> Res<usize> {
        let Some((&byte, after)) = rest.split_first() else { return bad(CUT) };
        *rest = after;
        Ok(byte.into())
    };
    // The first is a run: nothing is there to be copied.
    let mut mask = 31;
    while !rest.is_empty() {
        let control = byte(&mut rest)? & mask;
        mask = 255;
        if control < 32 {
            let Some((run, after)) = rest.split_at_checked(control + 1) else { return bad(CUT) };
            out.extend_from_slice(run);
            rest = after;
        } else {
            let (mut len, far) = (control >> 5, (control & 31) << 8);
            if len == 7 {
                loop {
                    let more = byte(&mut rest)?;
                    len += more;
                    if more < 255 {
                        break;
                    }
                }
            }
            let near = byte(&mut rest)?;
            let mut back = far + near + 1;
            // The longest of these stands for one that is given in two bytes more.
            if near == 255 && far == 31 << 8 {
                back = (byte(&mut rest)? << 8) + byte(&mut rest)? + 8192;
            }
            let Some(from) = out.len().checked_sub(back) else {
                return bad("a chunk (blosclz) with a copy from before its beginning");
            };
            let len = len + 2;
            if out.len() + len > most {
                return bad(format_args!("a chunk (blosclz) unpacks to more than {most} bytes"));
            }
            // A copy may run into what it has just made.
            while out.len() < from + back + len {
                let part = (out.len() - from).min(from + back + len - out.len());
                out.extend_from_within(from..from + part);
            }
        }
        if out.len() > most {
            return bad(format_args!("a chunk (blosclz) unpacks to more than {most} bytes"));
        }
    }
    Ok(out)
}

/// Items whose first bytes come first, then their second ones; what is left over behind the last item stays there.
fn unshuffled(bytes: &[u8], item: usize) -> Vec<u8> {
    let count = bytes.len() / item;
    let mut out = bytes.to_vec();
    if count > 0 {
        for (which, plane) in bytes.chunks_exact(count).take(item).enumerate() {
            plane.iter().zip(out.iter_mut().skip(which).step_by(item)).for_each(|(&byte, slot)| *slot = byte);
        }
    }
    out
}

/// Items whose first bits come first, then their second ones; where their number is no multiple of eight nothing was moved, and
/// what is left over behind the last item stays there.
fn bits_unshuffled(bytes: Vec<u8>, item: usize) -> Vec<u8> {
    let count = bytes.len() / item;
    if count == 0 || !count.is_multiple_of(8) {
        return bytes;
    }
    let mut out = bytes.clone();
    out.iter_mut().take(count * item).for_each(|byte| *byte = 0);
    for (which, plane) in bytes.chunks_exact(count / 8).take(8 * item).enumerate() {
        let (place, bit) = (which / 8, which % 8);
        for (eight, &bits) in plane.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            for at in (0..8).filter(|at| bits & 1 << at != 0) {
                if let Some(slot) = out.get_mut((8 * eight + at) * item + place) {
                    *slot |= 1 << bit;
                }
            }
        }
    }
    out
}

#[cfg(test)]
#[path = "tests/blosc.rs"]
mod tests;
