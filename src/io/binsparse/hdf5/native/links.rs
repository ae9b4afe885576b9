//! The links of a group: a tree of symbol tables, or messages.

use super::bytes::{Block, Budget, Disk};
use super::header::{LINK, LINK_INFO, ObjectHeader, SYMBOLS};
use super::{dense, heaps};
use crate::base::named::Named;
use crate::io::fault::{Res, bad};

/// What a name leads to.
#[derive(Clone, Debug)]
pub(super) enum Target {
    Object(u64),
    /// A path from the group, or from the root if it begins with a slash.
    Soft(String),
    External,
}

pub(super) type Targets = Named<Target>;

/// All links of a group.
pub(super) fn of(disk: &mut Disk<'_>, header: &ObjectHeader) -> Res<Targets> {
    let mut out = Targets::new();
    if let Some(body) = header.find(SYMBOLS)? {
        let mut block = disk.block(body, "a symbol table");
        let (Some(tree), Some(heap)) = (block.address()?, block.address()?) else {
            return bad("a group has no symbol table");
        };
        let names = heaps::names(disk, heap)?;
        let mut budget = Budget::of(disk);
        symbols(disk, tree, None, &names, &mut budget, &mut out)?;
        return Ok(out);
    }
    let Some(body) = header.find(LINK_INFO)? else { return bad("the object is not a group") };
    let mut block = disk.block(body, "what is said about links");
    let (version, flags) = (block.u8()?, block.u8()?);
    if version != 0 {
        return bad(format_args!("what is said about links has version {version}"));
    }
    block.take(if flags & 1 == 0 { 0 } else { 8 })?;
    let (heap, tree) = (block.address()?, block.address()?);
    let many = match heap {
        Some(heap) => dense::links(disk, heap, tree)?,
        None => Vec::new(),
    };
    let few = header.messages.iter().filter(|m| m.kind == LINK).map(|m| &m.body);
    for body in few.chain(&many) {
        let (name, target) = link(disk.block(body, "a link"))?;
        add(&mut out, name, target)?;
    }
    Ok(out)
}

fn add(out: &mut Targets, name: &[u8], target: Target) -> Res<()> {
    let name = String::from_utf8_lossy(name).into_owned();
    match out.insert(name, target) {
        None => Ok(()),
        Some(_) => bad("a group has two links of one name"),
    }
}

fn link<'a>(mut block: Block<'a>) -> Res<(&'a [u8], Target)> {
    let (version, flags) = (block.u8()?, block.u8()?);
    if version != 1 || flags & 0xe0 != 0 {
        return bad(format_args!("a link has version {version} and flags {flags}"));
    }
    let kind = if flags & 8 == 0 { 0 } else { block.u8()? };
    block.take(if flags & 4 == 0 { 0 } else { 8 })?; // the order of creation
    block.take(if flags & 16 == 0 { 0 } else { 1 })?; // the character set
    let len = block.sized(flags)?;
    let name = block.take(usize::try_from(len).unwrap_or(usize::MAX))?;
    if name.is_empty() {
        return bad("a link has no name");
    }
    match kind {
        0 => match block.address()? {
            Some(at) => Ok((name, Target::Object(at))),
            None => bad("a link leads nowhere"),
        },
        1 => {
            let len = block.u16()?;
            let path = block.take(usize::from(len))?;
            Ok((name, Target::Soft(String::from_utf8_lossy(path).into_owned())))
        }
        64.. => Ok((name, Target::External)),
        _ => bad(format_args!("a link is of kind {kind}")),
    }
}

/// A node of the tree, which is one level below its parent.
fn symbols(
    disk: &mut Disk<'_>,
    at: u64,
    parent: Option<u8>,
    names: &[u8],
    budget: &mut Budget,
    out: &mut Targets,
) -> Res<()> {
    const WHAT: &str = "a tree of links";
    let (address, length) = (disk.widths.address as u64, disk.widths.length as u64);
    let head = disk.signed(at, 8 + 2 * address, b"TREE", WHAT)?;
    let mut block = disk.block(&head, WHAT);
    block.take(4)?;
    let (kind, level, n) = (block.u8()?, block.u8()?, u64::from(block.u16()?));
    if kind != 0 || parent.is_some_and(|parent| Some(level) != parent.checked_sub(1)) {
        return bad(format_args!("{WHAT} has a node of kind {kind} and level {level} at byte {at}"));
    }
    let len = 8 + 2 * address + n * (address + length);
    budget.spend(len, WHAT)?;
    let bytes = disk.read(at, len, WHAT)?;
    let mut block = disk.block(&bytes, WHAT);
    block.take(head.len())?;
    for _ in 0..n {
        block.length()?; // a name by which to search
        let Some(child) = block.address()? else { return bad(format_args!("{WHAT} leads nowhere")) };
        if level > 0 {
            symbols(disk, child, Some(level), names, budget, out)?;
        } else {
            table(disk, child, names, budget, out)?;
        }
    }
    Ok(())
}

fn table(disk: &mut Disk<'_>, at: u64, names: &[u8], budget: &mut Budget, out: &mut Targets) -> Res<()> {
    const WHAT: &str = "a table of links";
    let head = disk.signed(at, 8, b"SNOD", WHAT)?;
    let mut block = disk.block(&head, WHAT);
    block.take(4)?;
    let (version, _, n) = (block.u8()?, block.u8()?, u64::from(block.u16()?));
    if version != 1 {
        return bad(format_args!("{WHAT} has version {version}"));
    }
    let len = 8 + n * (2 * disk.widths.address as u64 + 24);
    budget.spend(len, WHAT)?;
    let bytes = disk.read(at, len, WHAT)?;
    let mut block = disk.block(&bytes, WHAT);
    block.take(8)?;
    for _ in 0..n {
        let (name, object) = (block.address()?, block.address()?);
        let cached = block.u32()?;
        block.u32()?;
        let path = u64::from(block.u32()?);
        block.take(12)?;
        let text = |at: Option<u64>| {
            let text = at.and_then(|at| names.get(usize::try_from(at).ok()?..)).unwrap_or_default();
            match text.iter().position(|&b| b == 0) {
                Some(end) => Ok(&text[..end]),
                None => bad(format_args!("{WHAT} has a name outside of its heap")),
            }
        };
        let target = match (cached, object) {
            (2, _) => Target::Soft(String::from_utf8_lossy(text(Some(path))?).into_owned()),
            (0 | 1, Some(at)) => Target::Object(at),
            _ => return bad(format_args!("{WHAT} leads nowhere")),
        };
        add(out, text(name)?, target)?;
    }
    Ok(())
}
