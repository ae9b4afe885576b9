//! Where the chunks of a dataset are: in a tree of version 1, or in one of the five ways that libhdf5 has since 1.10.

use super::arrays;
use super::bytes::{Block, Budget, Disk};
use super::tree;
use super::types::Space;
use crate::base::mapped::Mapped;
use crate::io::fault::{Fault, Res, bad};

/// One chunk.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    /// Which one, of those that the shape has room for, in C order.
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) bytes: u64,
    /// Filters that were left out.
    pub(super) skipped: u32,
}

/// The chunks of a dataset.
pub(super) struct Chunks {
    pub(super) grid: Grid,
    /// By their numbers, rising.
    pub(super) found: Vec<Chunk>,
    /// Bytes that the file has of them.
    pub(super) stored: u64,
    /// Where the first is, if all stand one behind the other as they are.
    pub(super) in_a_row: Option<u64>,
}

/// How a shape is cut into chunks.
pub(super) struct Grid {
    /// Bytes of a chunk once it is unpacked.
    pub(super) whole: u64,
    /// Elements of a chunk along each axis of the dataset.
    pub(super) chunk: Vec<u64>,
    /// Chunks along each axis.
    pub(super) along: Vec<u64>,
    /// Chunks that the shape has room for.
    pub(super) count: u64,
    /// How many there would be if the dataset grew as far as it can; an axis without an end has none of them.
    most: Vec<Option<u64>>,
    shape: Vec<u64>,
}

impl Grid {
    /// Of the sizes of a chunk, of which the last is the bytes of an element.
    fn of(sizes: &[u64], item: u64, space: Option<&Space>, most: u64) -> Res<Grid> {
        let Some((&bytes, sizes)) = sizes.split_last() else { return bad("a chunk has no axes") };
        if bytes != item || sizes.is_empty() || sizes.contains(&0) {
            return bad(format_args!("a chunk has the shape {sizes:?} of {bytes} bytes, elements have {item}"));
        }
        let whole = sizes.iter().try_fold(item, |n, &c| n.checked_mul(c)).filter(|&n| n < most);
        let Some(whole) = whole else { return bad(format_args!("a chunk has {most} bytes or more")) };
        // Without elements there is no chunk.
        let Some(space) = space else {
            let none = sizes.mapped(|_| 0);
            let (most, along) = (none.mapped(|&n| Some(n)), none.clone());
            return Ok(Grid { whole, chunk: sizes.to_vec(), along, count: 0, most, shape: none });
        };
        if space.shape.len() != sizes.len() {
            return bad(format_args!("chunks of the shape {sizes:?} of a dataset of the shape {:?}", space.shape));
        }
        let each = |list: &[u64]| -> Vec<u64> { list.iter().zip(sizes).map(|(n, each)| n.div_ceil(*each)).collect() };
        let along = each(&space.shape);
        let most = each(&space.most).into_iter().zip(&space.most);
        let most = most.map(|(n, &size)| (size != u64::MAX).then_some(n)).collect();
        let count = along.iter().fold(1, |n: u64, &c| n.saturating_mul(c));
        Ok(Grid { whole, chunk: sizes.to_vec(), along, count, most, shape: space.shape.clone() })
    }

    /// The number of the chunk at a place, if it has a part of the dataset.
    fn number(&self, place: &[u64]) -> Option<u64> {
        let inside = place.len() == self.along.len() && place.iter().zip(&self.along).all(|(at, n)| at < n);
        if !inside {
            return None;
        }
        place.iter().zip(&self.along).try_fold(0_u64, |n, (at, size)| n.checked_mul(*size)?.checked_add(*at))
    }

    /// Where the chunk of a number is.
    pub(super) fn place(&self, number: u64) -> Vec<u64> {
        places(number, &self.along)
    }

    /// Where the entry of an index is that has room for all that the dataset can grow to; the axis that it grows along
    /// without an end is the slowest.
    fn place_in_index(&self, entry: u64) -> Res<Option<Vec<u64>>> {
        let mut order: Vec<usize> = (0..self.most.len()).collect();
        let endless = order.iter().position(|&axis| self.most.get(axis) == Some(&None));
        if let Some(at) = endless {
            let axis = order.remove(at);
            order.insert(0, axis);
        }
        let mut sizes = Vec::with_capacity(order.len());
        for (place, &axis) in order.iter().enumerate() {
            match self.most.get(axis) {
                Some(&Some(n)) => sizes.push(n),
                _ if place == 0 => sizes.push(u64::MAX),
                _ => return bad("an array of chunks of a dataset that grows along two axes"),
            }
        }
        if sizes.contains(&0) {
            return Ok(None);
        }
        let mut out = vec![0; order.len()];
        for (&axis, at) in order.iter().zip(places(entry, &sizes)) {
            if let Some(slot) = out.get_mut(axis) {
                *slot = at;
            }
        }
        Ok(Some(out))
    }

    /// Whether only a part of a chunk lies in the shape.
    fn is_cut(&self, place: &[u64]) -> bool {
        let ends = place.iter().zip(&self.chunk).map(|(at, each)| (at + 1).saturating_mul(*each));
        ends.zip(&self.shape).any(|(end, &size)| end > size)
    }
}

/// A place by its number in C order; what is beyond the last one is along the first axis.
fn places(number: u64, sizes: &[u64]) -> Vec<u64> {
    let mut out = vec![0; sizes.len()];
    let mut rest = number;
    for (axis, (slot, &size)) in out.iter_mut().zip(sizes).enumerate().rev() {
        (*slot, rest) = if axis == 0 { (rest, 0) } else { (rest % size.max(1), rest / size.max(1)) };
    }
    out
}

/// Chunks as they are found, one by one.
pub(super) struct Finding<'a> {
    pub(super) grid: &'a Grid,
    /// Whether a chunk that is only partly inside the shape went through no filter.
    plain_edge: bool,
    found: Vec<Chunk>,
    stored: u64,
    /// The place of the last one, in an index that has them in order.
    last: Option<Vec<u64>>,
}

impl<'a> Finding<'a> {
    fn new(grid: &'a Grid, plain_edge: bool) -> Finding<'a> {
        Finding { grid, plain_edge, found: Vec::new(), stored: 0, last: None }
    }

    /// Adds the chunk of an entry of an index, in C order.
    pub(super) fn add(&mut self, disk: &Disk<'_>, entry: u64, at: u64, bytes: u64, skipped: u32) -> Res<()> {
        match self.grid.place_in_index(entry)? {
            Some(place) => self.put(disk, &place, at, bytes, skipped),
            None => Ok(()),
        }
    }

    /// Adds the chunk of a place. One outside of the shape is passed over.
    fn put(&mut self, disk: &Disk<'_>, place: &[u64], at: u64, bytes: u64, skipped: u32) -> Res<()> {
        let Some(number) = self.grid.number(place) else { return Ok(()) };
        disk.check(at, bytes, "a chunk")?;
        self.stored = self.stored.saturating_add(bytes);
        let is_plain = self.plain_edge && self.grid.is_cut(place);
        self.found.push(Chunk { number, at, bytes, skipped: if is_plain { u32::MAX } else { skipped } });
        Ok(())
    }
}

/// The index that older layouts have, whose kind of class and version are read.
pub(super) fn older(
    disk: &mut Disk<'_>,
    block: &mut Block<'_>,
    axes: Option<u8>,
    item: u64,
    space: Option<&Space>,
) -> Res<Chunks> {
    let (axes, tree) = match axes {
        Some(axes) => (axes, block.address()?),
        None => (block.u8()?, block.address()?),
    };
    let sizes = (0..usize::from(axes)).try_mapped(|_| block.u32().map(u64::from))?;
    let grid = Grid::of(&sizes, item, space, 1 << 32)?;
    let mut finding = Finding::new(&grid, false);
    if let Some(tree) = tree {
        let mut budget = Budget::of(disk);
        node(disk, tree, None, &mut budget, &mut finding)?;
    }
    let (found, stored) = (finding.found, finding.stored);
    sorted(grid, found, stored)
}

/// The chunks that were found, by their numbers.
fn sorted(grid: Grid, mut found: Vec<Chunk>, stored: u64) -> Res<Chunks> {
    found.sort_unstable_by_key(|chunk| chunk.number);
    if let Some(twice) = found.windows(2).find(|pair| pair[0].number == pair[1].number) {
        let first: Vec<u64> = grid.place(twice[0].number).iter().zip(&grid.chunk).map(|(at, n)| at * n).collect();
        return bad(format_args!("the chunk of element {first:?} is there twice"));
    }
    Ok(Chunks { grid, found, stored, in_a_row: None })
}

/// A node of the tree of chunks, which is one level below its parent.
fn node(disk: &mut Disk<'_>, at: u64, parent: Option<u8>, budget: &mut Budget, out: &mut Finding<'_>) -> Res<()> {
    const WHAT: &str = "a tree of chunks";
    let address = disk.widths.address as u64;
    let head = disk.signed(at, 8 + 2 * address, b"TREE", WHAT)?;
    let mut block = disk.block(&head, WHAT);
    block.take(4)?;
    let (kind, level, n) = (block.u8()?, block.u8()?, u64::from(block.u16()?));
    if kind != 1 || parent.is_some_and(|parent| Some(level) != parent.checked_sub(1)) {
        return bad(format_args!("{WHAT} has a node of kind {kind} and level {level} at byte {at}"));
    }
    let axes = out.grid.chunk.len();
    let len = 8 + 2 * address + n * (16 + 8 * axes as u64 + address);
    budget.spend(len, WHAT)?;
    let bytes = disk.read(at, len, WHAT)?;
    let mut block = disk.block(&bytes, WHAT);
    block.take(head.len())?;
    for _ in 0..n {
        let (size, skipped) = (u64::from(block.u32()?), block.u32()?);
        let first = (0..axes).try_mapped(|_| block.u64())?;
        block.u64()?; // into an element
        let Some(child) = block.address()? else { return bad(format_args!("{WHAT} leads nowhere")) };
        if level > 0 {
            node(disk, child, Some(level), budget, out)?;
            continue;
        }
        let sizes = &out.grid.chunk;
        if first.iter().zip(sizes).any(|(at, each)| at % each != 0) {
            return bad(format_args!("{WHAT} has a chunk of element {first:?}, with which none of {sizes:?} begins"));
        }
        let place: Vec<u64> = first.iter().zip(sizes).map(|(at, each)| at / each).collect();
        if out.last.as_ref().is_some_and(|last| *last >= place) {
            return bad(format_args!("{WHAT} has the chunk of element {first:?} out of order"));
        }
        out.put(disk, &place, child, size, skipped)?;
        out.last = Some(place);
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
    space: Option<&Space>,
) -> Res<Chunks> {
    let (flags, axes, width) = (block.u8()?, usize::from(block.u8()?), usize::from(block.u8()?));
    if flags & !(PLAIN_EDGE | PACKED) != 0 || !(1..=8).contains(&width) {
        return bad(format_args!("a layout of chunks has flags {flags}, and sizes of {width} bytes"));
    }
    let sizes = (0..axes).try_mapped(|_| block.number(width))?;
    let grid = Grid::of(&sizes, item, space, if version == 4 { 1 << 32 } else { 1 << 48 })?;
    let mut finding = Finding::new(&grid, flags & PLAIN_EDGE != 0);
    match block.u8()? {
        1 => {
            let (bytes, skipped) = match flags & PACKED {
                0 => (grid.whole, 0),
                _ => (block.length()?, block.u32()?),
            };
            if let Some(at) = block.address()? {
                finding.put(disk, &grid.chunk.mapped(|_| 0), at, bytes, skipped)?;
            }
        }
        2 => {
            // All chunks in a row: what is there follows from the shape.
            let Some(at) = block.address()? else { return sorted(grid, Vec::new(), 0) };
            let Some(stored) = grid.count.checked_mul(grid.whole) else { return bad("chunks of more than 2^64 bytes") };
            disk.check(at, stored, "chunks in a row")?;
            let grown = grid.most.iter().zip(&grid.along).skip(1).any(|(most, n)| *most != Some(*n));
            if grown {
                return Err(Fault::Unknown("chunks in a row of a dataset that can grow"));
            }
            return Ok(Chunks { grid, found: Vec::new(), stored, in_a_row: Some(at) });
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
        other => return bad(format_args!("chunks are in an index of the unknown kind {other}")),
    }
    let (found, stored) = (finding.found, finding.stored);
    sorted(grid, found, stored)
}

/// Chunks in a tree of version 2: per record an address, what is stored if filters were there, and a place per axis.
fn records(disk: &mut Disk<'_>, at: u64, out: &mut Finding<'_>) -> Res<()> {
    const WHAT: &str = "a tree of chunks";
    let records = tree::records(disk, at, WHAT)?;
    let axes = out.grid.chunk.len();
    let sized = match (records.kind, records.each.checked_sub(disk.widths.address + 8 * axes)) {
        (10, Some(0)) => None,
        (11, Some(more @ 5..=12)) => Some(more - 4),
        (kind, _) => return bad(format_args!("{WHAT} has records of kind {kind} and {} bytes", records.each)),
    };
    for record in records.iter() {
        let mut block = disk.block(record, WHAT);
        let Some(at) = block.address()? else { continue };
        let (bytes, skipped) = match sized {
            Some(width) => (block.number(width)?, block.u32()?),
            None => (out.grid.whole, 0),
        };
        let place = (0..axes).try_mapped(|_| block.u64())?;
        out.put(disk, &place, at, bytes, skipped)?;
    }
    Ok(())
}
