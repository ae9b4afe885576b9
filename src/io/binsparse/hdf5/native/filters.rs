//! Filters: what elements went through on their way into chunks, and back.

use flate2::{Decompress, FlushDecompress, Status};

use super::bytes::Block;
use super::checksum::fletcher32;
use super::scaleoffset;
use super::types::Type;
use crate::base::mapped::Mapped;
use crate::io::fault::{Res, bad};

const DEFLATE: u16 = 1;
const SHUFFLE: u16 = 2;
const FLETCHER32: u16 = 3;
const SCALEOFFSET: u16 = 6;
const LZF: u16 = 32000;

/// One filter, and what it was told.
#[derive(Clone, Debug)]
pub(super) struct Filter {
    pub(super) id: u16,
    values: Vec<u32>,
}

/// Reads a list of filters.
pub(super) fn pipeline(block: &mut Block<'_>) -> Res<Vec<Filter>> {
    let (version, n) = (block.u8()?, block.u8()?);
    if !matches!(version, 1 | 2) || n > 32 {
        return bad(format_args!("a list of {n} filters has version {version}"));
    }
    block.take(if version == 1 { 6 } else { 0 })?;
    let mut out = Vec::new();
    for _ in 0..n {
        let id = block.u16()?;
        let name = if version == 1 || id >= 256 { usize::from(block.u16()?) } else { 0 };
        block.u16()?; // whether the filter may be left out
        let values = usize::from(block.u16()?);
        block.take(if version == 1 { name.next_multiple_of(8) } else { name })?;
        let list = (0..values).try_mapped(|_| block.u32())?;
        block.take(if version == 1 && values % 2 == 1 { 4.min(block.left()) } else { 0 })?;
        out.push(Filter { id, values: list });
    }
    Ok(out)
}

/// Undoes filters, the last one first, for a chunk of elements of a type that has `whole` bytes. No more than these, and
/// per filter what it puts beside them, are ever unpacked.
pub(super) fn undo(
    filters: &[Filter],
    skipped: u32,
    packed: Vec<u8>,
    ty: &Type,
    whole: u64,
) -> Result<Vec<u8>, String> {
    let most = whole as usize + scaleoffset::MORE * filters.len();
    let mut bytes = packed;
    for (i, filter) in filters.iter().enumerate().rev() {
        if skipped & (1 << i) != 0 {
            continue;
        }
        match filter.id {
            DEFLATE => bytes = inflate(&bytes, most)?,
            LZF => bytes = unlzf(&bytes, most)?,
            SHUFFLE => bytes = unshuffle(&bytes, filter.values.first().copied().unwrap_or(1) as usize),
            SCALEOFFSET => bytes = scaleoffset::undo(&filter.values, ty, bytes, whole)?,
            FLETCHER32 => {
                let Some(at) = bytes.len().checked_sub(4) else { return Err("there is no checksum".into()) };
                let sum = fletcher32(&bytes[..at]);
                // Until 1.6.2 of libhdf5 the bytes of each half were the other way round.
                let older = (sum & 0x00ff_00ff) << 8 | (sum >> 8) & 0x00ff_00ff;
                if bytes[at..] != sum.to_le_bytes() && bytes[at..] != older.to_le_bytes() {
                    return Err("the elements do not have their checksum (fletcher32)".into());
                }
                bytes.truncate(at);
            }
            other => return Err(format!("filter {other} is not known")),
        }
    }
    if bytes.len() as u64 != whole {
        return Err(format!("{} bytes were unpacked, {whole} are needed", bytes.len()));
    }
    Ok(bytes)
}

fn inflate(packed: &[u8], most: usize) -> Result<Vec<u8>, String> {
    // One byte more, so that what is too long is seen.
    let mut out = Vec::with_capacity(most + 1);
    let status = Decompress::new(true).decompress_vec(packed, &mut out, FlushDecompress::Finish);
    match status {
        Ok(Status::StreamEnd) => Ok(out),
        Ok(_) if out.len() > most => Err(format!("more than {most} bytes are packed")),
        Ok(_) => Err("the packed bytes are cut short".into()),
        Err(e) => Err(format!("deflate: {e}")),
    }
}

/// Unpacks LZF: runs of up to 32 bytes as they are, and copies of 3 to 264 bytes from up to 8192 bytes back. The
/// format: M. A. Lehmann, LibLZF, <http://oldhome.schmorp.de/marc/liblzf.html>.
fn unlzf(packed: &[u8], most: usize) -> Result<Vec<u8>, String> {
    let short = || "the packed bytes (lzf) are cut short".to_owned();
    let mut out = Vec::with_capacity(most);
    let mut rest = packed;
    while let Some((&control, after)) = rest.split_first() {
        rest = after;
        let control = usize::from(control);
        let len = if control < 32 { control + 1 } else { control >> 5 };
        if control < 32 {
            let (run, after) = rest.split_at_checked(len).ok_or_else(short)?;
            out.extend_from_slice(run);
            rest = after;
        } else {
            let mut byte = || {
                let (&byte, after) = rest.split_first().ok_or_else(short)?;
                rest = after;
                Ok::<usize, String>(byte.into())
            };
            let len = 2 + if len == 7 { 7 + byte()? } else { len };
            let back = (control & 31) << 8 | byte()?;
            let from = out.len().checked_sub(back + 1).ok_or("a copy (lzf) from before the beginning")?;
            // A copy may run into what it has just made.
            for at in from..from + len {
                out.push(out[at]);
            }
        }
        if out.len() > most {
            return Err(format!("more than {most} bytes are packed"));
        }
    }
    Ok(out)
}

fn unshuffle(bytes: &[u8], item: usize) -> Vec<u8> {
    if item < 2 || bytes.len() < item {
        return bytes.to_vec();
    }
    let n = bytes.len() / item;
    let mut out = bytes.to_vec(); // what is left over behind the last element stays where it is
    macro_rules! fixed {
        ($($size:literal)*) => {
            match item {
                $($size => {
                    let planes: [&[u8]; $size] = std::array::from_fn(|k| &bytes[k * n..(k + 1) * n]);
                    for (i, element) in out.chunks_exact_mut($size).enumerate() {
                        for (byte, plane) in element.iter_mut().zip(planes) {
                            *byte = plane[i];
                        }
                    }
                })*
                _ => {
                    for (k, plane) in bytes.chunks_exact(n).take(item).enumerate() {
                        plane.iter().enumerate().for_each(|(i, &byte)| out[i * item + k] = byte);
                    }
                }
            }
        };
    }
    fixed!(2 4 8);
    out
}
