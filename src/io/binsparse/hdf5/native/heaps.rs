//! Heaps: names of the links of older groups, and elements of variable length.

use super::bytes::Disk;
use crate::io::fault::{Res, bad};

/// The bytes of a heap of names.
pub(super) fn names(disk: &mut Disk<'_>, at: u64) -> Res<Vec<u8>> {
    const WHAT: &str = "a heap of names";
    let head = 8 + 2 * disk.widths.length + disk.widths.address;
    let bytes = disk.signed(at, head as u64, b"HEAP", WHAT)?;
    let mut block = disk.block(&bytes, WHAT);
    block.take(4)?;
    let version = block.u8()?;
    if version != 0 {
        return bad(format_args!("{WHAT} has version {version}"));
    }
    block.take(3)?;
    let size = block.length()?;
    block.length()?; // the first free piece: free space is not looked at
    let Some(data) = block.address()? else { return bad(format_args!("{WHAT} has no data")) };
    disk.read(data, size, WHAT)
}

/// An object of a collection of objects of any length.
pub(super) fn object(disk: &mut Disk<'_>, at: u64, wanted: u32) -> Res<Vec<u8>> {
    const WHAT: &str = "a heap of texts";
    let head = 8 + disk.widths.length;
    let bytes = disk.signed(at, head as u64, b"GCOL", WHAT)?;
    let mut block = disk.block(&bytes, WHAT);
    block.take(4)?;
    let version = block.u8()?;
    if version != 1 {
        return bad(format_args!("{WHAT} has version {version}"));
    }
    block.take(3)?;
    let size = block.length()?;
    let bytes = disk.read(at, size, WHAT)?;
    let mut block = disk.block(&bytes, WHAT);
    block.take(head)?;
    // Every step takes the head of an object at least, so the walk ends.
    while block.left() >= head {
        let mut object = block.clone();
        let (index, _uses, _) = (object.u16()?, object.u16()?, object.u32()?);
        let size = object.length()?;
        if index == 0 {
            // Free space, its head included, is the rest in files of most writers.
            match usize::try_from(size) {
                Ok(size) if size >= head => drop(block.take(size)?),
                _ => return bad(format_args!("{WHAT} at byte {at} has free space of {size} bytes")),
            }
            continue;
        }
        let Ok(len) = usize::try_from(size) else { return bad(format_args!("{WHAT} has an object of {size} bytes")) };
        let text = object.take(len)?;
        if u32::from(index) == wanted {
            return Ok(text.to_vec());
        }
        block.take(head + len.checked_next_multiple_of(8).unwrap_or(len))?;
    }
    bad(format_args!("{WHAT} at byte {at} has no object {wanted}"))
}
