//! Links and attributes that are too many for a header: objects of a fractal heap, listed by a tree of version 2.

use std::collections::BTreeMap;

use super::bytes::{Budget, Disk};
use super::checksum::is_whole;
use crate::io::fault::{Fault, Res, bad};

/// Bytes that a number up to `most` takes.
fn width(most: u64) -> usize {
    (64 - most.max(1).leading_zeros() as usize).div_ceil(8)
}

/// All objects of a heap that a tree lists. A record of the tree has the object's name in the heap at `place`.
pub(super) fn objects(disk: &mut Disk<'_>, heap: u64, tree: Option<u64>, place: usize) -> Res<Vec<Vec<u8>>> {
    if disk.may_share {
        return Err(Fault::Unknown("messages that objects share"));
    }
    let mut heap = Heap::open(disk, heap)?;
    let Some(tree) = tree else { return bad("a heap of links or attributes has no tree") };
    let mut out = Vec::new();
    for record in records(disk, tree)? {
        match record.get(place..place + heap.id) {
            Some(id) => out.push(heap.object(disk, id)?),
            None => return bad("a tree of links or attributes has records that are too short"),
        }
    }
    Ok(out)
}

const TREE: &str = "a tree of links or attributes";

/// A tree of version 2.
struct Tree {
    kind: u8,
    node: u64,
    record: usize,
    /// Per depth the bytes of the numbers of records: those in a child, and those below it.
    widths: Vec<(usize, usize)>,
}

/// All records of a tree.
fn records(disk: &mut Disk<'_>, at: u64) -> Res<Vec<Vec<u8>>> {
    let size = 22 + (disk.widths.length + disk.widths.address) as u64;
    let bytes = disk.summed(at, size, b"BTHD", TREE)?;
    let mut block = disk.block(&bytes, TREE);
    let (version, kind, node, record) = (block.u8()?, block.u8()?, u64::from(block.u32()?), block.u16()?);
    let depth = block.u16()?;
    block.take(2)?;
    let (root, n) = (block.address()?, block.u16()?);
    let record = usize::from(record);
    if version != 0 || record == 0 || node < 64 || depth > 16 {
        return bad(format!("{TREE} has version {version}, nodes of {node} bytes and {depth} levels"));
    }
    let mut out = Vec::new();
    let Some(root) = root.filter(|_| n > 0) else { return Ok(out) };
    // How many records fit, from the leaves up, decides how wide numbers of records are.
    let leaf = (node - 10) / record as u64;
    let (one, mut below, mut widths) = (width(leaf), leaf, vec![(0, 0)]);
    for level in 1..=depth {
        let all = if level == 1 { 0 } else { width(below) };
        widths.push((one, all));
        let pointer = (disk.widths.address + one + all) as u64;
        let fit = node.saturating_sub(10 + pointer) / (record as u64 + pointer);
        below = (fit + 1).saturating_mul(below).saturating_add(fit);
    }
    let tree = Tree { kind, node, record, widths };
    let mut budget = Budget::of(disk);
    tree.node(disk, root, usize::from(n), usize::from(depth), &mut budget, &mut out)?;
    Ok(out)
}

impl Tree {
    fn node(
        &self,
        disk: &mut Disk<'_>,
        at: u64,
        n: usize,
        depth: usize,
        budget: &mut Budget,
        out: &mut Vec<Vec<u8>>,
    ) -> Res<()> {
        let (one, all) = self.widths.get(depth).copied().unwrap_or_default();
        if n as u64 > self.node {
            return bad(format!("{TREE} has a node of {n} records"));
        }
        let pointers = if depth == 0 { 0 } else { (n + 1) * (disk.widths.address + one + all) };
        let size = (10 + n * self.record + pointers) as u64;
        if size > self.node {
            return bad(format!("{TREE} has a node of {size} bytes, {} is the most", self.node));
        }
        budget.spend(size, TREE)?;
        let bytes = disk.summed(at, size, if depth == 0 { b"BTLF" } else { b"BTIN" }, TREE)?;
        let mut block = disk.block(&bytes, TREE);
        if (block.u8()?, block.u8()?) != (0, self.kind) {
            return bad(format!("{TREE} has a node of another kind at byte {at}"));
        }
        for _ in 0..n {
            out.push(block.take(self.record)?.to_vec());
        }
        for _ in 0..pointers.checked_div(disk.widths.address + one + all).unwrap_or(0) {
            let (child, n) = (block.address()?, block.number(one)?);
            block.take(all)?;
            let Some(child) = child else { return bad(format!("{TREE} leads nowhere")) };
            self.node(disk, child, n as usize, depth - 1, budget, out)?;
        }
        Ok(())
    }
}

const HEAP: &str = "a heap of links or attributes";

/// A fractal heap: blocks that double in size row by row, and blocks of their addresses.
struct Heap {
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
    root: u64,
    /// Rows of the root; none if it is a block of objects.
    rows: u64,
    /// Whether blocks of objects have a checksum.
    summed: bool,
    /// Blocks of objects that were read, by their addresses.
    blocks: BTreeMap<u64, Vec<u8>>,
    budget: Budget,
}

impl Heap {
    fn open(disk: &mut Disk<'_>, at: u64) -> Res<Heap> {
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
        block.take(10 * disk.widths.length + 2 * disk.widths.address)?; // what is stored, and free space
        let (width, start, most) = (u64::from(block.u16()?), block.length()?, block.length()?);
        let (bits, _, root, rows) = (block.u16()?, block.u16()?, block.address()?, u64::from(block.u16()?));
        let sizes = [width, start, most].iter().all(|n| n.is_power_of_two()) && start <= most && most <= 1 << 32;
        if version != 0 || !sizes || !(1..=64).contains(&bits) || rows > 64 {
            return bad(format!(
                "{HEAP} has version {version}, and blocks of {start} to {most} bytes, {width} in a row"
            ));
        }
        let Some(root) = root else { return bad(format!("{HEAP} is empty")) };
        let length = self::width(most).min(self::width(largest));
        let (summed, blocks, budget) = (flags & 2 != 0, BTreeMap::new(), Budget::of(disk));
        let offset = usize::from(bits).div_ceil(8);
        Ok(Heap { id, offset, length, width, start, most, root, rows, summed, blocks, budget })
    }

    /// An object, by its name.
    fn object(&mut self, disk: &mut Disk<'_>, id: &[u8]) -> Res<Vec<u8>> {
        let mut block = disk.block(id, "the name of an object in a heap");
        match block.u8()? & 0xf0 {
            0 => {}
            0x10 => return Err(Fault::Unknown("a large object in a heap")),
            0x20 => return Err(Fault::Unknown("a tiny object in a heap")),
            other => return bad(format!("{HEAP} has an object of kind {other}")),
        }
        let (offset, length) = (block.number(self.offset)?, block.number(self.length)?);
        let (mut at, mut from, mut size, mut rows) = (self.root, 0, self.start, self.rows);
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
            None => bad(format!("{HEAP} has an object outside of its block")),
        }
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
                return bad(format!("{HEAP} does not have its checksum"));
            }
        }
        Ok(read)
    }

    /// The block inside a block of addresses that has an offset: where it is, its first offset, its size and rows.
    fn down(&self, disk: &mut Disk<'_>, at: u64, rows: u64, from: u64, offset: u64) -> Res<(u64, u64, u64, u64)> {
        let (mut first, mut size) = (from, self.start);
        for row in 0..rows {
            let Some(end) = size.checked_mul(self.width).and_then(|n| n.checked_add(first)) else { break };
            if offset < end {
                let column = (offset - first) / size;
                let address = disk.widths.address as u64;
                let head = 5 + address + self.offset as u64;
                let entries = rows * self.width * address;
                let bytes = disk.summed(at, head + entries + 4, b"FHIB", HEAP)?;
                let mut block = disk.block(&bytes, HEAP);
                block.take((head - 4 + (row * self.width + column) * address) as usize)?;
                let Some(child) = block.address()? else { return bad(format!("{HEAP} has no block there")) };
                // Larger blocks hold addresses again, of blocks from the smallest on.
                let inner = match (size / (self.start * self.width)).checked_ilog2() {
                    _ if size <= self.most => 0,
                    Some(more) if u64::from(more) + 1 < rows => u64::from(more) + 1,
                    _ => return bad(format!("{HEAP} runs in circles")),
                };
                return Ok((child, first + column * size, size, inner));
            }
            first = end;
            size = if row == 0 { size } else { size.saturating_mul(2) };
        }
        bad(format!("{HEAP} has no object at {offset}"))
    }
}
