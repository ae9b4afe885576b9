//! Where the chunks of a dataset are: in a tree of version 1, or in one of the five ways that libhdf5 has since 1.10.

use super::arrays;
use super::bytes::{Block, Budget, Disk};
use super::tree;
use crate::base::mapped::Mapped;
use crate::io::fault::{Res, bad};

/// One chunk.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    /// Its first element; where there are more axes than one, whatever tells it from others.
    pub(super) start: u64,
    pub(super) at: u64,
    pub(super) bytes: u64,
    /// Filters that were left out.
    pub(super) skipped: u32,
}

/// The chunks of a dataset.
pub(super) struct Chunks {
    /// Bytes of a chunk once it is unpacked.
    pub(super) whole: u64,
    /// Elements of a chunk, if there is one axis.
    pub(super) each: Option<u64>,
    /// By their first elements, rising, if there is one axis.
    pub(super) found: Vec<Chunk>,
    /// Bytes that the file has of them.
    pub(super) stored: u64,
    /// Where the first is, if all stand one behind the other as they are.
    pub(super) in_a_row: Option<u64>,
}

/// What the size of a chunk says.
pub(super) struct Grid {
    pub(super) whole: u64,
    /// Chunks along one axis.
    each: Option<u64>,
    /// Axes of the dataset.
    axes: usize,
    /// Chunks that the shape has room for.
    pub(super) count: u64,
    /// The chunk that is only partly inside the shape, if there is one axis and one such chunk.
    partial: Option<u64>,
}

impl Grid {
    /// Of the sizes of a chunk, of which the last is the bytes of an element.
    fn of(sizes: &[u64], item: u64, shape: Option<&[u64]>, most: u64) -> Res<Grid> {
        let Some((&bytes, sizes)) = sizes.split_last() else { return bad("a chunk has no axes") };
        if bytes != item || sizes.is_empty() || sizes.contains(&0) {
            return bad(format!("a chunk has the shape {sizes:?} of {bytes} bytes, elements have {item}"));
        }
        let whole = sizes.iter().try_fold(item, |n, &c| n.checked_mul(c)).filter(|&n| n < most);
        let Some(whole) = whole else { return bad(format!("a chunk has {most} bytes or more")) };
        let shape = shape.filter(|shape| shape.len() == sizes.len()).unwrap_or_default();
        let along = shape.iter().zip(sizes).map(|(n, each)| n.div_ceil(*each));
        let count = if shape.is_empty() { 0 } else { along.fold(1, u64::saturating_mul) };
        let each = if let [each] = *sizes { Some(each) } else { None };
        let partial = match (each, shape) {
            (Some(each), &[len]) if len % each != 0 => Some(len / each),
            _ => None,
        };
        Ok(Grid { whole, each, axes: sizes.len(), count, partial })
    }
}

/// Chunks as they are found, one by one.
pub(super) struct Finding<'a> {
    pub(super) grid: &'a Grid,
    /// Whether a chunk that is only partly inside the shape went through no filter.
    plain_edge: bool,
    found: Vec<Chunk>,
}

impl Finding<'_> {
    /// Adds the chunk of a number, in C order. One outside of a shape of one axis is passed over.
    pub(super) fn add(&mut self, disk: &Disk<'_>, number: u64, at: u64, bytes: u64, skipped: u32) -> Res<()> {
        let start = match self.grid.each {
            Some(each) => number.checked_mul(each).filter(|_| number < self.grid.count),
            None => Some(number),
        };
        let Some(start) = start else { return Ok(()) };
        disk.check(at, bytes, "a chunk")?;
        let is_plain = self.plain_edge && self.grid.partial == Some(number);
        self.found.push(Chunk { start, at, bytes, skipped: if is_plain { u32::MAX } else { skipped } });
        Ok(())
    }
}

/// The index that older layouts have, whose kind of class and version are read.
pub(super) fn older(disk: &mut Disk<'_>, block: &mut Block<'_>, axes: Option<u8>, item: u64) -> Res<Chunks> {
    let (axes, tree) = match axes {
        Some(axes) => (axes, block.address()?),
        None => (block.u8()?, block.address()?),
    };
    let sizes = (0..usize::from(axes)).try_mapped(|_| block.u32().map(u64::from))?;
    let grid = Grid::of(&sizes, item, None, 1 << 32)?;
    let mut found = Vec::new();
    if let Some(tree) = tree {
        let mut budget = Budget::of(disk);
        node(disk, tree, None, sizes.len(), &mut budget, &mut found)?;
    }
    Ok(chunks(&grid, found))
}

fn chunks(grid: &Grid, found: Vec<Chunk>) -> Chunks {
    let stored = found.iter().fold(0, |n: u64, c| n.saturating_add(c.bytes));
    Chunks { whole: grid.whole, each: grid.each, found, stored, in_a_row: None }
}

/// A node of the tree of chunks, which is one level below its parent.
fn node(
    disk: &mut Disk<'_>,
    at: u64,
    parent: Option<u8>,
    axes: usize,
    budget: &mut Budget,
    out: &mut Vec<Chunk>,
) -> Res<()> {
    const WHAT: &str = "a tree of chunks";
    let address = disk.widths.address as u64;
    let head = disk.signed(at, 8 + 2 * address, b"TREE", WHAT)?;
    let mut block = disk.block(&head, WHAT);
    block.take(4)?;
    let (kind, level, n) = (block.u8()?, block.u8()?, u64::from(block.u16()?));
    if kind != 1 || parent.is_some_and(|parent| Some(level) != parent.checked_sub(1)) {
        return bad(format!("{WHAT} has a node of kind {kind} and level {level} at byte {at}"));
    }
    let len = 8 + 2 * address + n * (8 + 8 * axes as u64 + address);
    budget.spend(len, WHAT)?;
    let bytes = disk.read(at, len, WHAT)?;
    let mut block = disk.block(&bytes, WHAT);
    block.take(head.len())?;
    for _ in 0..n {
        let (size, skipped, start) = (u64::from(block.u32()?), block.u32()?, block.u64()?);
        block.take(8 * (axes - 1))?;
        let Some(child) = block.address()? else { return bad(format!("{WHAT} leads nowhere")) };
        if level > 0 {
            node(disk, child, Some(level), axes, budget, out)?;
            continue;
        }
        disk.check(child, size, "a chunk")?;
        // Where there are more axes, nothing is read: the order of the first says nothing.
        if axes == 2 && out.last().is_some_and(|last| last.start >= start) {
            return bad(format!("{WHAT} has chunk {start} out of order"));
        }
        out.push(Chunk { start, at: child, bytes: size, skipped });
    }
    Ok(())
}

/// A chunk that is only partly inside the shape went through no filter.
const PLAIN_EDGE: u8 = 1;
/// The index is one chunk, and that went through filters.
const PACKED: u8 = 2;

/// The index that layouts have since version 4. Version 5, of libhdf5 2.0, has larger chunks.
pub(super) fn newer(
    disk: &mut Disk<'_>,
    block: &mut Block<'_>,
    version: u8,
    item: u64,
    shape: Option<&[u64]>,
) -> Res<Chunks> {
    let (flags, axes, width) = (block.u8()?, usize::from(block.u8()?), usize::from(block.u8()?));
    if flags & !(PLAIN_EDGE | PACKED) != 0 || !(1..=8).contains(&width) {
        return bad(format!("a layout of chunks has flags {flags}, and sizes of {width} bytes"));
    }
    let sizes = (0..axes).try_mapped(|_| block.number(width))?;
    let grid = Grid::of(&sizes, item, shape, if version == 4 { 1 << 32 } else { 1 << 48 })?;
    let mut finding = Finding { grid: &grid, plain_edge: flags & PLAIN_EDGE != 0, found: Vec::new() };
    match block.u8()? {
        1 => {
            let (bytes, skipped) = match flags & PACKED {
                0 => (grid.whole, 0),
                _ => (block.length()?, block.u32()?),
            };
            if let Some(at) = block.address()? {
                finding.add(disk, 0, at, bytes, skipped)?;
            }
        }
        2 => {
            // All chunks in a row: what is there follows from the shape.
            let Some(at) = block.address()? else { return Ok(chunks(&grid, Vec::new())) };
            let Some(stored) = grid.count.checked_mul(grid.whole) else { return bad("chunks of more than 2^64 bytes") };
            disk.check(at, stored, "chunks in a row")?;
            return Ok(Chunks { stored, in_a_row: Some(at), ..chunks(&grid, Vec::new()) });
        }
        3 => {
            block.u8()?; // what the index itself says too
            if let Some(at) = block.address()? {
                arrays::fixed(disk, at, &mut finding)?;
            }
        }
        4 => {
            block.take(5)?;
            if let Some(at) = block.address()? {
                arrays::extensible(disk, at, &mut finding)?;
            }
        }
        5 => {
            block.take(6)?;
            if let Some(at) = block.address()? {
                records(disk, at, &mut finding)?;
            }
        }
        other => return bad(format!("chunks are in an index of the unknown kind {other}")),
    }
    let mut found = finding.found;
    found.sort_unstable_by_key(|chunk| chunk.start);
    match found.windows(2).find(|pair| pair[0].start == pair[1].start) {
        Some(twice) if grid.each.is_some() => bad(format!("the chunk of element {} is there twice", twice[0].start)),
        _ => Ok(chunks(&grid, found)),
    }
}

/// Chunks in a tree of version 2: per record an address, what is stored if filters were there, and a place per axis.
fn records(disk: &mut Disk<'_>, at: u64, out: &mut Finding<'_>) -> Res<()> {
    const WHAT: &str = "a tree of chunks";
    let records = tree::records(disk, at, WHAT)?;
    let bare = disk.widths.address + 8 * out.grid.axes;
    let sized = match (records.kind, records.each.checked_sub(bare)) {
        (10, Some(0)) => None,
        (11, Some(more @ 5..=12)) => Some(more - 4),
        (kind, _) => return bad(format!("{WHAT} has records of kind {kind} and {} bytes", records.each)),
    };
    for record in records.iter() {
        let mut block = disk.block(record, WHAT);
        let Some(at) = block.address()? else { continue };
        let (bytes, skipped) = match sized {
            Some(width) => (block.number(width)?, block.u32()?),
            None => (out.grid.whole, 0),
        };
        // With more axes than one, where a chunk stands is not looked at.
        let number = if out.grid.axes == 1 { block.u64()? } else { 0 };
        out.add(disk, number, at, bytes, skipped)?;
    }
    Ok(())
}
