//! Indexes of chunks that are arrays: fixed ones, of datasets that cannot grow, and extensible ones, of those that grow
//! along one axis. An entry is where a chunk is, and of a packed one its bytes and the filters that were left out.
//!
//! What is read is what the arrays have, never what a shape has room for.

use super::bytes::{Block, Budget, Disk};
use super::chunks::Finding;
use crate::io::fault::{Res, bad};

/// The form of entries.
#[derive(Clone, Copy)]
struct Entries {
    /// Bytes of one.
    each: u64,
    /// Bytes of the size of a packed chunk.
    sized: Option<usize>,
}

impl Entries {
    fn of(disk: &Disk<'_>, kind: u8, each: u8, what: &str) -> Res<Entries> {
        let more = usize::from(each).checked_sub(disk.widths.address);
        let sized = match (kind, more) {
            (0, Some(0)) => None,
            (1, Some(more @ 5..=12)) => Some(more - 4),
            _ => return bad(format_args!("{what} has entries of kind {kind} and {each} bytes")),
        };
        Ok(Entries { each: each.into(), sized })
    }

    /// Reads the entries of a block up to its end; `first` is the number of the first.
    fn read(self, disk: &Disk<'_>, mut block: Block<'_>, first: u64, out: &mut Finding<'_>) -> Res<()> {
        let mut number = first;
        while block.left() >= self.each as usize {
            let at = block.address()?;
            let (bytes, skipped) = match self.sized {
                Some(width) => (block.number(width)?, block.u32()?),
                None => (out.grid.whole, 0),
            };
            if let Some(at) = at {
                out.add(disk, number, at, bytes, skipped)?;
            }
            number = number.saturating_add(1);
        }
        Ok(())
    }
}

/// A multiple of a size, for what the file says; what is too large for a number is too large for any file.
fn times(n: u64, each: u64) -> u64 {
    n.saturating_mul(each)
}

/// Pages of entries, each with a checksum.
#[derive(Clone, Copy)]
struct Pages {
    entries: Entries,
    /// Entries of a page.
    each: u64,
}

impl Pages {
    fn of(entries: Entries, bits: u8, what: &str) -> Res<Pages> {
        match 1_u64.checked_shl(bits.into()) {
            Some(each) => Ok(Pages { entries, each }),
            None => bad(format_args!("{what} has pages of 2^{bits} entries")),
        }
    }

    /// How many pages entries have, if they have any.
    fn count(self, n: u64) -> Option<u64> {
        (n > self.each).then(|| n.div_ceil(self.each))
    }

    /// Reads the pages of `n` entries, one behind the other from `at` on, of those that a bit map says are there.
    #[expect(clippy::too_many_arguments, reason = "where to read, what of it, what that is called, and where it goes")]
    fn read(
        self,
        disk: &mut Disk<'_>,
        at: u64,
        (first, n): (u64, u64),
        is_there: &dyn Fn(u64) -> bool,
        budget: &mut Budget,
        what: &'static str,
        out: &mut Finding<'_>,
    ) -> Res<()> {
        for page in (0..n.div_ceil(self.each)).filter(|&page| is_there(page)) {
            let from = page * self.each;
            let size = times(self.each.min(n - from), self.entries.each).saturating_add(4);
            budget.spend(size, what)?;
            let place = times(page, times(self.each, self.entries.each).saturating_add(4)).saturating_add(at);
            let bytes = disk.page(place, size, what)?;
            self.entries.read(disk, disk.block(&bytes, what), first.saturating_add(from), out)?;
        }
        Ok(())
    }
}

/// The bit of a map, whose first bit is the highest one of its first byte.
fn bit(map: &[u8], at: u64) -> bool {
    let byte = usize::try_from(at / 8).ok().and_then(|at| map.get(at));
    byte.is_some_and(|byte| byte & (0x80 >> (at % 8)) != 0)
}

/// Passes the head of a block, which belongs to the array at `array`.
fn head(block: &mut Block<'_>, array: u64, what: &str) -> Res<()> {
    let (version, _kind, owner) = (block.u8()?, block.u8()?, block.address()?);
    if version != 0 || owner != Some(array) {
        return bad(format_args!("{what} has a block of version {version}, or of another array"));
    }
    Ok(())
}

/// Reads a fixed array.
pub(super) fn fixed(disk: &mut Disk<'_>, array: u64, out: &mut Finding<'_>) -> Res<()> {
    const WHAT: &str = "a fixed array of chunks";
    let (address, length) = (disk.widths.address as u64, disk.widths.length as u64);
    let bytes = disk.summed(array, 12 + length + address, b"FAHD", WHAT)?;
    let mut block = disk.block(&bytes, WHAT);
    let (version, kind, each, bits) = (block.u8()?, block.u8()?, block.u8()?, block.u8()?);
    if version != 0 {
        return bad(format_args!("{WHAT} has version {version}"));
    }
    let entries = Entries::of(disk, kind, each, WHAT)?;
    let pages = Pages::of(entries, bits, WHAT)?;
    let n = block.length()?;
    let Some(at) = block.address()? else { return Ok(()) };
    let start = 6 + address;
    match pages.count(n) {
        None => {
            let size = times(n, entries.each).saturating_add(start + 4);
            let bytes = disk.summed(at, size, b"FADB", WHAT)?;
            let mut block = disk.block(&bytes, WHAT);
            head(&mut block, array, WHAT)?;
            entries.read(disk, block, 0, out)
        }
        Some(count) => {
            let size = count.div_ceil(8).saturating_add(start + 4);
            let bytes = disk.summed(at, size, b"FADB", WHAT)?;
            let mut block = disk.block(&bytes, WHAT);
            head(&mut block, array, WHAT)?;
            let map = block.rest();
            let mut budget = Budget::of(disk);
            let is_there = |page| bit(map, page);
            pages.read(disk, at.saturating_add(size), (0, n), &is_there, &mut budget, WHAT, out)
        }
    }
}

const EXTENSIBLE: &str = "an extensible array of chunks";

/// An extensible array: the first entries stand in its index block, the others in blocks of data that double in size
/// every other step. The first of these are listed by the index block, the others by further blocks.
struct Extensible {
    at: u64,
    pages: Pages,
    /// Bytes of a place in the array.
    place: u64,
    /// Entries of the index block, and of the smallest block of data.
    inner: u64,
    least: u64,
}

/// The blocks of data of one step: how many, of how many entries, and which entry is the first.
struct Step {
    blocks: u64,
    each: u64,
    first: u64,
}

impl Extensible {
    fn step(&self, number: u32) -> Step {
        let (blocks, each) = (1 << (number / 2).min(63), times(1 << number.div_ceil(2).min(63), self.least));
        let before = u128::from(self.least) * ((1_u128 << number.min(64)) - 1) + u128::from(self.inner);
        Step { blocks, each, first: u64::try_from(before).unwrap_or(u64::MAX) }
    }

    /// Reads a block of data, of which a map of pages says what is there.
    fn data(
        &self,
        disk: &mut Disk<'_>,
        at: u64,
        (first, n): (u64, u64),
        is_there: &dyn Fn(u64) -> bool,
        budget: &mut Budget,
        out: &mut Finding<'_>,
    ) -> Res<()> {
        let start = 6 + disk.widths.address as u64 + self.place;
        let is_paged = self.pages.count(n).is_some();
        let held = if is_paged { 0 } else { times(n, self.pages.entries.each) };
        let size = held.saturating_add(start + 4);
        budget.spend(size, EXTENSIBLE)?;
        let bytes = disk.summed(at, size, b"EADB", EXTENSIBLE)?;
        let mut block = disk.block(&bytes, EXTENSIBLE);
        head(&mut block, self.at, EXTENSIBLE)?;
        block.take(self.place as usize)?;
        if is_paged {
            return self.pages.read(disk, at.saturating_add(size), (first, n), is_there, budget, EXTENSIBLE, out);
        }
        self.pages.entries.read(disk, block, first, out)
    }

    /// Reads a block that lists the blocks of data of one step.
    fn list(&self, disk: &mut Disk<'_>, at: u64, step: &Step, budget: &mut Budget, out: &mut Finding<'_>) -> Res<()> {
        let address = disk.widths.address as u64;
        let count = self.pages.count(step.each);
        let map = count.map_or(0, |pages| times(step.blocks, pages.div_ceil(8)));
        let head_bytes = 6 + address + self.place;
        let size = times(step.blocks, address).saturating_add(map).saturating_add(head_bytes + 4);
        budget.spend(size, EXTENSIBLE)?;
        let bytes = disk.summed(at, size, b"EASB", EXTENSIBLE)?;
        let mut block = disk.block(&bytes, EXTENSIBLE);
        head(&mut block, self.at, EXTENSIBLE)?;
        block.take(self.place as usize)?;
        let map = block.take(map as usize)?;
        for number in 0..step.blocks {
            let Some(at) = block.address()? else { continue };
            let first = times(number, step.each).saturating_add(step.first);
            let is_there = |page| bit(map, times(number, count.unwrap_or(0)).saturating_add(page));
            self.data(disk, at, (first, step.each), &is_there, budget, out)?;
        }
        Ok(())
    }
}

/// Reads an extensible array.
pub(super) fn extensible(disk: &mut Disk<'_>, array: u64, out: &mut Finding<'_>) -> Res<()> {
    let (address, length) = (disk.widths.address as u64, disk.widths.length as u64);
    let bytes = disk.summed(array, 16 + 6 * length + address, b"EAHD", EXTENSIBLE)?;
    let mut block = disk.block(&bytes, EXTENSIBLE);
    let (version, kind, each, bits) = (block.u8()?, block.u8()?, block.u8()?, block.u8()?);
    let (inner, least, lists, page_bits) = (block.u8()?, block.u8()?, block.u8()?, block.u8()?);
    let entries = Entries::of(disk, kind, each, EXTENSIBLE)?;
    let powers = least.is_power_of_two() && lists.is_power_of_two();
    if version != 0 || !powers || lists < 2 || bits > 64 || u32::from(bits) < least.ilog2() {
        return bad(format_args!(
            "{EXTENSIBLE} has version {version}, 2^{bits} entries and blocks of {least} of these"
        ));
    }
    block.take(6 * length as usize)?; // how many blocks there are, of what size
    let Some(at) = block.address()? else { return Ok(()) };
    let pages = Pages::of(entries, page_bits, EXTENSIBLE)?;
    let place = u64::from(bits).div_ceil(8);
    let extensible = Extensible { at: array, pages, place, inner: inner.into(), least: least.into() };
    // The blocks of data of the first steps are listed by the index block.
    let steps = 1 + u32::from(bits) - least.ilog2();
    let (listed, blocks) = (2 * lists.ilog2(), 2 * (u64::from(lists) - 1));
    let further = u64::from(steps.saturating_sub(listed));
    let size = 6 + address + times(inner.into(), entries.each) + (blocks + further) * address + 4;
    let mut budget = Budget::of(disk);
    budget.spend(size, EXTENSIBLE)?;
    let bytes = disk.summed(at, size, b"EAIB", EXTENSIBLE)?;
    let mut block = disk.block(&bytes, EXTENSIBLE);
    head(&mut block, array, EXTENSIBLE)?;
    let own = block.part(usize::from(inner) * entries.each as usize, EXTENSIBLE)?;
    entries.read(disk, own, 0, out)?;
    for step in (0..listed).map(|number| extensible.step(number)) {
        for number in 0..step.blocks {
            let Some(at) = block.address()? else { continue };
            if pages.count(step.each).is_some() {
                return bad(format_args!("{EXTENSIBLE} has pages in its first blocks"));
            }
            let first = times(number, step.each).saturating_add(step.first);
            extensible.data(disk, at, (first, step.each), &|_| true, &mut budget, out)?;
        }
    }
    for step in (listed..steps).map(|number| extensible.step(number)) {
        if let Some(at) = block.address()? {
            extensible.list(disk, at, &step, &mut budget, out)?;
        }
    }
    Ok(())
}
