//! Links and attributes that are too many for a header: objects of a fractal heap, listed by a tree of version 2.

use std::collections::BTreeMap;

use super::bytes::{Block, Budget, Disk};
use super::checksum::is_whole;
use super::tree;
use super::{header, shares};
use crate::io::fault::{Fault, Res, bad};

const TREE: &str = "a tree of links or attributes";

/// Where the flags of a message stand in a record, of those that have any.
const FLAGS: usize = 8;

/// The bodies of all links of a group: a record of the tree is a hash of the name, then where the link is in the heap.
pub(super) fn links(disk: &mut Disk<'_>, heap: u64, tree: Option<u64>) -> Res<Vec<Vec<u8>>> {
    objects(disk, heap, tree, 4, None)
}

/// The bodies of all attributes of an object: a record begins with where the attribute is in the heap, or in that which
/// objects share.
pub(super) fn attributes(disk: &mut Disk<'_>, heap: u64, tree: Option<u64>) -> Res<Vec<Vec<u8>>> {
    objects(disk, heap, tree, 0, Some(FLAGS))
}

/// All objects of a heap that a tree lists. A record of the tree has the object's name in the heap at `place`.
fn objects(disk: &mut Disk<'_>, heap: u64, tree: Option<u64>, place: usize, flags: Option<usize>) -> Res<Vec<Vec<u8>>> {
    let mut heap = Heap::open(disk, heap)?;
    let Some(tree) = tree else { return bad("a heap of links or attributes has no tree") };
    let mut out = Vec::new();
    // Many records may lead to one object, whose bytes are then there many times.
    let mut budget = Budget::of(disk);
    for record in tree::records(disk, tree, TREE)?.iter() {
        let is_shared = flags.and_then(|at| record.get(at)).is_some_and(|flags| flags & header::SHARED != 0);
        let object = match record.get(place..place + heap.id) {
            Some(id) if is_shared => shares::object(disk, header::ATTRIBUTE, id)?,
            Some(id) => heap.object(disk, id)?,
            None => return bad("a tree of links or attributes has records that are too short"),
        };
        budget.spend(object.len() as u64, TREE)?;
        out.push(object);
    }
    Ok(out)
}

const HEAP: &str = "a heap of links or attributes";

/// A fractal heap: blocks that double in size row by row, and blocks of their addresses.
pub(super) struct Heap {
    /// Bytes of an object's name.
    id: usize,
    /// Bytes of a place in the heap, and of a length.
    offset: usize,
    length: usize,
    /// Blocks in a row.
    width: u64,
    /// Bytes of a block in the first two rows, and the most bytes of a block that holds objects.
    start: u64,
    most: u64,
    root: Option<u64>,
    /// Rows of the root; none if it is a block of objects.
    rows: u64,
    /// Whether blocks of objects have a checksum.
    summed: bool,
    /// Blocks that were read, by their addresses.
    blocks: BTreeMap<u64, Vec<u8>>,
    /// The tree of objects that are larger than any block.
    larger: Option<u64>,
    /// These, by their numbers, once one was asked for: where each is, and its bytes.
    listed: Option<BTreeMap<u64, (u64, u64)>>,
    budget: Budget,
}

impl Heap {
    pub(super) fn open(disk: &mut Disk<'_>, at: u64) -> Res<Heap> {
        let size = 26 + 12 * disk.widths.length + 3 * disk.widths.address;
        if disk.signed(at, 9, b"FRHP", HEAP)?[7..9] != [0; 2] {
            return Err(Fault::Unknown("a heap that went through filters"));
        }
        let bytes = disk.summed(at, size as u64, b"FRHP", HEAP)?;
        let mut block = disk.block(&bytes, HEAP);
        let (version, id) = (block.u8()?, usize::from(block.u16()?));
        block.u16()?; // filters
        let flags = block.u8()?;
        let largest = u64::from(block.u32()?);
        block.length()?; // the next number of a larger object
        let larger = block.address()?;
        block.take(9 * disk.widths.length + disk.widths.address)?; // what is stored, and free space
        let (width, start, most) = (u64::from(block.u16()?), block.length()?, block.length()?);
        let (bits, _, root, rows) = (block.u16()?, block.u16()?, block.address()?, u64::from(block.u16()?));
        let sizes = [width, start, most].iter().all(|n| n.is_power_of_two()) && start <= most && most <= 1 << 32;
        if version != 0 || !sizes || !(1..=64).contains(&bits) || rows > 64 {
            return bad(format_args!(
                "{HEAP} has version {version}, and blocks of {start} to {most} bytes, {width} in a row"
            ));
        }
        if id == 0 {
            return bad(format_args!("{HEAP} gives its objects no names"));
        }
        let length = tree::width(most).min(tree::width(largest));
        let (summed, blocks, budget) = (flags & 2 != 0, BTreeMap::new(), Budget::of(disk));
        let offset = usize::from(bits).div_ceil(8);
        let listed = None;
        Ok(Heap { id, offset, length, width, start, most, root, rows, summed, blocks, larger, listed, budget })
    }

    /// An object, by its name.
    pub(super) fn object(&mut self, disk: &mut Disk<'_>, id: &[u8]) -> Res<Vec<u8>> {
        let mut block = disk.block(id, "the name of an object in a heap");
        let first = block.u8()?;
        match first & 0xf0 {
            0 => {}
            0x10 => return self.larger(disk, block),
            0x20 => {
                // It is in its name; long names have lengths of twelve bits.
                let more = if self.id > 17 { u16::from(block.u8()?) } else { 0 };
                let len = if self.id > 17 { u16::from(first & 15) << 8 | more } else { u16::from(first & 15) };
                return Ok(block.take(usize::from(len) + 1)?.to_vec());
            }
            other => return bad(format_args!("{HEAP} has an object of kind {other}")),
        }
        let (offset, length) = (block.number(self.offset)?, block.number(self.length)?);
        let Some(root) = self.root else { return bad(format_args!("{HEAP} is empty")) };
        let (mut at, mut from, mut size, mut rows) = (root, 0, self.start, self.rows);
        while rows > 0 {
            (at, from, size, rows) = self.down(disk, at, rows, from, offset)?;
        }
        let read = match self.blocks.remove(&at) {
            Some(read) => read,
            None => self.read(disk, at, size)?,
        };
        let part = usize::try_from(offset - from).ok().and_then(|from| read.get(from..)?.get(..length as usize));
        let object = part.map(<[u8]>::to_vec);
        self.blocks.insert(at, read);
        match object {
            Some(object) => Ok(object),
            None => bad(format_args!("{HEAP} has an object outside of its block")),
        }
    }

    /// An object that is larger than any block: its name says where it is, or has its number in a tree.
    fn larger(&mut self, disk: &mut Disk<'_>, mut name: Block<'_>) -> Res<Vec<u8>> {
        let (address, length) = (disk.widths.address, disk.widths.length);
        let (at, size) = if self.id > address + length {
            let Some(at) = name.address()? else { return bad(format_args!("{HEAP} has an object that is nowhere")) };
            (at, name.length()?)
        } else {
            let number = name.number((self.id - 1).min(8))?;
            if self.listed.is_none() {
                self.listed = Some(self.list(disk)?);
            }
            match self.listed.as_ref().and_then(|listed| listed.get(&number)) {
                Some(&found) => found,
                None => return bad(format_args!("{HEAP} has no object {number}")),
            }
        };
        if let Some(read) = self.blocks.get(&at).filter(|read| read.len() as u64 == size) {
            return Ok(read.clone());
        }
        self.budget.spend(size, HEAP)?;
        let read = disk.read(at, size, HEAP)?;
        self.blocks.insert(at, read.clone());
        Ok(read)
    }

    fn list(&self, disk: &mut Disk<'_>) -> Res<BTreeMap<u64, (u64, u64)>> {
        let mut out = BTreeMap::new();
        let Some(tree) = self.larger else { return Ok(out) };
        let records = tree::records(disk, tree, HEAP)?;
        // Where an object is, its bytes, its number; others went through filters, or have no number.
        if records.kind != 1 || records.each != disk.widths.address + 2 * disk.widths.length {
            return bad(format_args!("{HEAP} lists objects as records of kind {}", records.kind));
        }
        for record in records.iter() {
            let mut block = disk.block(record, HEAP);
            if let (Some(at), size, number) = (block.address()?, block.length()?, block.length()?) {
                out.insert(number, (at, size));
            }
        }
        Ok(out)
    }

    /// Reads a block of objects.
    fn read(&mut self, disk: &mut Disk<'_>, at: u64, size: u64) -> Res<Vec<u8>> {
        self.budget.spend(size, HEAP)?;
        let read = disk.signed(at, size, b"FHDB", HEAP)?;
        // The checksum stands in the head of the block, and is of the block with zeros there.
        let place = 5 + disk.widths.address + self.offset;
        if let (true, Some(sum)) = (self.summed, read.get(place..place + 4)) {
            let mut zeroed = read.clone();
            zeroed[place..place + 4].fill(0);
            if !is_whole(&zeroed, sum) {
                return bad(format_args!("{HEAP} does not have its checksum"));
            }
        }
        Ok(read)
    }

    /// The block inside a block of addresses that has an offset: where it is, its first offset, its size and rows.
    fn down(&mut self, disk: &mut Disk<'_>, at: u64, rows: u64, from: u64, offset: u64) -> Res<(u64, u64, u64, u64)> {
        let (mut first, mut size) = (from, self.start);
        for row in 0..rows {
            let Some(end) = size.checked_mul(self.width).and_then(|n| n.checked_add(first)) else { break };
            if offset < end {
                let column = (offset - first) / size;
                let address = disk.widths.address as u64;
                let head = 5 + address + self.offset as u64;
                let entries = rows * self.width * address;
                let bytes = match self.blocks.remove(&at) {
                    Some(bytes) => bytes,
                    None => {
                        self.budget.spend(head + entries + 4, HEAP)?;
                        disk.summed(at, head + entries + 4, b"FHIB", HEAP)?
                    }
                };
                let mut block = disk.block(&bytes, HEAP);
                block.take((head - 4 + (row * self.width + column) * address) as usize)?;
                let child = block.address()?;
                self.blocks.insert(at, bytes);
                let Some(child) = child else { return bad(format_args!("{HEAP} has no block there")) };
                // Larger blocks hold addresses again, of blocks from the smallest on.
                let inner = match (size / (self.start * self.width)).checked_ilog2() {
                    _ if size <= self.most => 0,
                    Some(more) if u64::from(more) + 1 < rows => u64::from(more) + 1,
                    _ => return bad(format_args!("{HEAP} runs in circles")),
                };
                return Ok((child, first + column * size, size, inner));
            }
            first = end;
            size = if row == 0 { size } else { size.saturating_mul(2) };
        }
        bad(format_args!("{HEAP} has no object at {offset}"))
    }
}
