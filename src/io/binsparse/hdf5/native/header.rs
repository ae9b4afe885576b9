//! Object headers: the messages that say what a group or a dataset is.

use std::borrow::Cow;

use super::bytes::{Block, Budget, Disk};
use super::checksum::is_whole;
use super::shares;
use crate::io::fault::{Res, bad};

pub(super) const SPACE: u16 = 0x01;
pub(super) const LINK_INFO: u16 = 0x02;
pub(super) const TYPE: u16 = 0x03;
pub(super) const OLD_FILL: u16 = 0x04;
pub(super) const FILL: u16 = 0x05;
pub(super) const LINK: u16 = 0x06;
pub(super) const EXTERNAL: u16 = 0x07;
pub(super) const LAYOUT: u16 = 0x08;
pub(super) const FILTERS: u16 = 0x0b;
pub(super) const ATTRIBUTE: u16 = 0x0c;
const CONTINUED: u16 = 0x10;
pub(super) const SYMBOLS: u16 = 0x11;
pub(super) const SHARES: u16 = 0x0f;
pub(super) const DRIVER: u16 = 0x14;
pub(super) const ATTRIBUTE_INFO: u16 = 0x15;
pub(super) const CACHE_IMAGE: u16 = 0x18;

/// The message is elsewhere, and here is where.
pub(super) const SHARED: u8 = 2;
/// Who does not know the message must not open the object.
const MUST_KNOW: u8 = 0x80;

const WHAT: &str = "an object header";

/// One message.
pub(super) struct Message {
    pub(super) kind: u16,
    flags: u8,
    pub(super) body: Vec<u8>,
}

/// The messages of an object.
#[derive(Default)]
pub(super) struct ObjectHeader {
    pub(super) messages: Vec<Message>,
}

impl ObjectHeader {
    pub(super) fn has(&self, kind: u16) -> bool {
        self.messages.iter().any(|m| m.kind == kind)
    }

    /// The body of the first message of a kind, which is here and nowhere else.
    pub(super) fn find(&self, kind: u16) -> Res<Option<&[u8]>> {
        match self.messages.iter().find(|m| m.kind == kind) {
            Some(message) if message.flags & SHARED != 0 => bad(format_args!("a message {kind} claims to be shared")),
            found => Ok(found.map(|m| &m.body[..])),
        }
    }

    /// The same, for a message that may be that of another object, or of many.
    pub(super) fn find_shared(&self, disk: &mut Disk<'_>, kind: u16) -> Res<Option<Cow<'_, [u8]>>> {
        self.messages.iter().find(|m| m.kind == kind).map(|message| resolved(disk, message)).transpose()
    }
}

/// The body of a message, wherever it is.
pub(super) fn resolved<'a>(disk: &mut Disk<'_>, message: &'a Message) -> Res<Cow<'a, [u8]>> {
    if message.flags & SHARED == 0 {
        return Ok(Cow::Borrowed(&message.body));
    }
    let mut block = disk.block(&message.body, "a shared message");
    shared(disk, &mut block, message.kind).map(Cow::Owned)
}

/// The message that a reference means: to another object, or to a heap of messages.
pub(super) fn shared(disk: &mut Disk<'_>, block: &mut Block<'_>, kind: u16) -> Res<Vec<u8>> {
    /// Bytes of the name of a message in its heap.
    const NAME: usize = 8;
    let (version, form) = (block.u8()?, block.u8()?);
    match (version, form) {
        (1, _) => drop(block.take(6 + disk.widths.length)?),
        (2, _) | (3, 2) => {}
        (3, 1) => return shares::object(disk, kind, block.take(NAME)?),
        _ => return bad(format_args!("a shared message has version {version} and form {form}")),
    }
    let Some(at) = block.address()? else { return bad("a shared message is nowhere") };
    let header = read(disk, at)?;
    let Some(message) = header.messages.iter().find(|m| m.kind == kind) else {
        return bad(format_args!("the object at byte {at} has no message {kind}, which another object shares"));
    };
    // What an object shares is its own, or in a heap: one step is all.
    let mut block = disk.block(&message.body, "a shared message");
    match (message.flags & SHARED == 0, &message.body[..]) {
        (true, body) => Ok(body.to_vec()),
        (false, [3, 1, ..]) => shares::object(disk, kind, block.take(2 + NAME)?.get(2..).unwrap_or_default()),
        _ => bad(format_args!("a message {kind} claims to be shared, and so does that which it leads to")),
    }
}

/// Reads the header at an address.
pub(super) fn read(disk: &mut Disk<'_>, at: u64) -> Res<ObjectHeader> {
    let mut budget = Budget::of(disk);
    let start = disk.read(at, 4, WHAT)?;
    if start == *b"OHDR" { newer(disk, at, &mut budget) } else { older(disk, at, &mut budget) }
}

/// Where the rest of a header lies: address and bytes.
type Extents = Vec<(u64, u64)>;

fn push(disk: &Disk<'_>, out: &mut ObjectHeader, parts: &mut Extents, kind: u16, flags: u8, body: &[u8]) -> Res<()> {
    if kind == CONTINUED {
        let mut block = disk.block(body, "a continued object header");
        let Some(at) = block.address()? else { return bad("an object header goes on nowhere") };
        parts.push((at, block.length()?));
    } else if kind > CACHE_IMAGE && flags & MUST_KNOW != 0 {
        return bad(format_args!("an object has a message {kind}, without which it cannot be read"));
    } else if kind != 0 {
        out.messages.push(Message { kind, flags, body: body.to_vec() });
    }
    Ok(())
}

fn older(disk: &mut Disk<'_>, at: u64, budget: &mut Budget) -> Res<ObjectHeader> {
    let prefix = disk.read(at, 16, WHAT)?;
    let mut block = disk.block(&prefix, WHAT);
    let version = block.u8()?;
    if version != 1 {
        return bad(format_args!("the object header at byte {at} has version {version}"));
    }
    block.take(7)?;
    let size = u64::from(block.u32()?);
    let mut out = ObjectHeader::default();
    let mut parts = vec![(at + 16, size)];
    while let Some((at, len)) = parts.pop() {
        budget.spend(len.max(1), WHAT)?;
        let bytes = disk.read(at, len, WHAT)?;
        let mut block = disk.block(&bytes, WHAT);
        while block.left() >= 8 {
            let (kind, size, flags) = (block.u16()?, block.u16()?, block.u8()?);
            block.take(3)?;
            push(disk, &mut out, &mut parts, kind, flags, block.take(usize::from(size))?)?;
        }
    }
    Ok(out)
}

fn newer(disk: &mut Disk<'_>, at: u64, budget: &mut Budget) -> Res<ObjectHeader> {
    // Version, flags, times, numbers of attributes, size: no more than this.
    let most = 34.min(disk.end.saturating_sub(at));
    let prefix = disk.read(at, most, WHAT)?;
    let mut block = disk.block(&prefix, WHAT);
    block.take(4)?;
    let (version, flags) = (block.u8()?, block.u8()?);
    if version != 2 || flags & 0xc0 != 0 {
        return bad(format_args!("the object header at byte {at} has version {version} and flags {flags}"));
    }
    block.take(if flags & 0x20 == 0 { 0 } else { 16 })?;
    block.take(if flags & 0x10 == 0 { 0 } else { 4 })?;
    let size = block.sized(flags)?;
    let head = (prefix.len() - block.left()) as u64;
    let mut out = ObjectHeader::default();
    let Some(whole) = size.checked_add(head + 4) else { return bad("an object header has more than 2^64 bytes") };
    // The first part has a head of its own, the others four letters.
    let mut parts = vec![(at, whole)];
    let mut head = head as usize;
    while let Some((at, len)) = parts.pop() {
        budget.spend(len.max(1), WHAT)?;
        let bytes = disk.signed(at, len, if head == 4 { b"OCHK" } else { b"OHDR" }, WHAT)?;
        let (bytes, sum) = bytes.split_at(bytes.len().saturating_sub(4));
        if !is_whole(bytes, sum) {
            return bad(format_args!("the object header at byte {at} does not have its checksum"));
        }
        let mut block = disk.block(bytes, WHAT);
        block.take(head)?;
        head = 4;
        let each = if flags & 4 == 0 { 4 } else { 6 };
        while block.left() >= each {
            let (kind, size, told) = (u16::from(block.u8()?), block.u16()?, block.u8()?);
            block.take(each - 4)?;
            push(disk, &mut out, &mut parts, kind, told, block.take(usize::from(size))?)?;
        }
    }
    Ok(out)
}
