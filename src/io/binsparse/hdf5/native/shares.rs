//! Messages that objects of the file share: they stand in heaps of their own, one or more, each for some kinds.

use super::bytes::Disk;
use super::dense::Heap;
use crate::base::mapped::Mapped;
use crate::io::fault::{Res, bad};

const WHAT: &str = "the table of shared messages";

/// The most heaps that there may be.
const MAX_HEAPS: u8 = 8;

/// A heap of shared messages.
pub(super) struct Shares {
    /// A bit for each kind of message.
    kinds: u16,
    at: Option<u64>,
    /// The heap, once it is open. What it has read is kept: many messages lead to one block.
    opened: Option<Heap>,
}

/// Reads where shared messages are, by the message of the superblock that says so.
pub(super) fn table(disk: &mut Disk<'_>, message: &[u8]) -> Res<Vec<Shares>> {
    let mut block = disk.block(message, WHAT);
    let (version, at, n) = (block.u8()?, block.address()?, block.u8()?);
    if version != 0 || n > MAX_HEAPS {
        return bad(format_args!("{WHAT} has version {version} and {n} heaps"));
    }
    let Some(at) = at else { return Ok(Vec::new()) };
    // Version, kind of index, kinds of messages, least bytes of a message, limits, number, index, heap.
    let each = 14 + 2 * disk.widths.address as u64;
    let bytes = disk.summed(at, 8 + u64::from(n) * each, b"SMTB", WHAT)?;
    let mut block = disk.block(&bytes, WHAT);
    (0..usize::from(n)).try_mapped(|_| {
        let (version, _list, kinds) = (block.u8()?, block.u8()?, block.u16()?);
        if version != 0 {
            return bad(format_args!("{WHAT} lists a heap of version {version}"));
        }
        block.take(10)?;
        block.address()?; // the index, by which a writer finds what is there already
        Ok(Shares { kinds, at: block.address()?, opened: None })
    })
}

/// A shared message of a kind, by its name in its heap.
pub(super) fn object(disk: &mut Disk<'_>, kind: u16, id: &[u8]) -> Res<Vec<u8>> {
    let bit = 1_u16.checked_shl(kind.into()).unwrap_or(0);
    let Some(place) = disk.shares.iter().position(|heap| heap.kinds & bit != 0) else {
        return bad(format_args!("a message {kind} claims to be shared, and {WHAT} has none of these"));
    };
    let (at, opened) = (disk.shares[place].at, disk.shares[place].opened.take());
    let mut heap = match (opened, at) {
        (Some(heap), _) => heap,
        (None, Some(at)) => Heap::open(disk, at)?,
        (None, None) => return bad(format_args!("{WHAT} says of no heap where it is")),
    };
    let found = heap.object(disk, id);
    disk.shares[place].opened = Some(heap);
    found
}
