//! Trees of version 2: records of one size, in no order that matters here.

use super::bytes::{Budget, Disk};
use crate::io::fault::{Res, bad};

/// Bytes that a number up to `most` takes.
pub(super) fn width(most: u64) -> usize {
    (64 - most.max(1).leading_zeros() as usize).div_ceil(8)
}

/// The records of a tree.
pub(super) struct Records {
    /// What they are records of, as a number of the format.
    pub(super) kind: u8,
    /// Bytes of one, never none.
    pub(super) each: usize,
    bytes: Vec<u8>,
}

impl Records {
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.each)
    }
}

/// All records of a tree, which errors call `what`.
pub(super) fn records(disk: &mut Disk<'_>, at: u64, what: &'static str) -> Res<Records> {
    let size = 22 + (disk.widths.length + disk.widths.address) as u64;
    let bytes = disk.summed(at, size, b"BTHD", what)?;
    let mut block = disk.block(&bytes, what);
    let (version, kind, node, record) = (block.u8()?, block.u8()?, u64::from(block.u32()?), block.u16()?);
    let depth = block.u16()?;
    block.take(2)?;
    let (root, n) = (block.address()?, block.u16()?);
    let each = usize::from(record);
    if version != 0 || each == 0 || node < 64 || depth > 16 {
        return bad(format_args!("{what} has version {version}, nodes of {node} bytes and {depth} levels"));
    }
    let mut out = Records { kind, each, bytes: Vec::new() };
    let Some(root) = root.filter(|_| n > 0) else { return Ok(out) };
    // How many records fit, from the leaves up, decides how wide numbers of records are.
    let leaf = (node - 10) / each as u64;
    let (one, mut below, mut widths) = (width(leaf), leaf, vec![(0, 0)]);
    for level in 1..=depth {
        let all = if level == 1 { 0 } else { width(below) };
        widths.push((one, all));
        let pointer = (disk.widths.address + one + all) as u64;
        let fit = node.saturating_sub(10 + pointer) / (each as u64 + pointer);
        below = (fit + 1).saturating_mul(below).saturating_add(fit);
    }
    let tree = Tree { what, node, widths, budget: Budget::of(disk) };
    tree.read(disk, root, usize::from(n), usize::from(depth), &mut out)?;
    Ok(out)
}

/// A tree whose nodes are being read.
struct Tree {
    what: &'static str,
    /// Bytes that a node has room for.
    node: u64,
    /// Per depth the bytes of the numbers of records: those in a child, and those below it.
    widths: Vec<(usize, usize)>,
    budget: Budget,
}

impl Tree {
    fn read(mut self, disk: &mut Disk<'_>, root: u64, n: usize, depth: usize, out: &mut Records) -> Res<()> {
        self.node(disk, root, n, depth, out)
    }

    fn node(&mut self, disk: &mut Disk<'_>, at: u64, n: usize, depth: usize, out: &mut Records) -> Res<()> {
        let what = self.what;
        let (one, all) = self.widths.get(depth).copied().unwrap_or_default();
        if n as u64 > self.node {
            return bad(format_args!("{what} has a node of {n} records"));
        }
        let pointer = disk.widths.address + one + all;
        let pointers = if depth == 0 { 0 } else { n + 1 };
        let size = (10 + n * out.each + pointers * pointer) as u64;
        if size > self.node {
            return bad(format_args!("{what} has a node of {size} bytes, {} is the most", self.node));
        }
        self.budget.spend(size, what)?;
        let bytes = disk.summed(at, size, if depth == 0 { b"BTLF" } else { b"BTIN" }, what)?;
        let mut block = disk.block(&bytes, what);
        if (block.u8()?, block.u8()?) != (0, out.kind) {
            return bad(format_args!("{what} has a node of another kind at byte {at}"));
        }
        out.bytes.extend_from_slice(block.take(n * out.each)?);
        for _ in 0..pointers {
            let (child, n) = (block.address()?, block.number(one)?);
            block.take(all)?;
            let Some(child) = child else { return bad(format_args!("{what} leads nowhere")) };
            self.node(disk, child, n as usize, depth - 1, out)?;
        }
        Ok(())
    }
}
