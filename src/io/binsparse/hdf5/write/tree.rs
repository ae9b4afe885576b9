//! Trees of version 1: of the links of a group, and of the chunks of a dataset.

use std::io;

use super::out::{NOWHERE, Out, Record};

/// What a tree is of.
#[derive(Clone, Copy)]
pub(super) enum TreeOf {
    /// Tables of links; a key is the place of a name in the heap of the group.
    Links,
    /// Chunks along one axis; a key is size and skipped filters, first element, and a zero.
    Chunks,
}

impl TreeOf {
    /// Its number, how many children a node has room for, and how many numbers of 64 bits are a key.
    fn parts(self) -> (u8, usize, usize) {
        match self {
            TreeOf::Links => (0, 32, 1),
            TreeOf::Chunks => (1, 64, 3),
        }
    }
}

pub(super) type Key = [u64; 3];

/// Writes a tree of children, each with its lower key, and gives the address of its root. `end` is the upper key of the
/// last child.
pub(super) fn write(out: &mut Out<'_>, kind: TreeOf, mut children: Vec<(Key, u64)>, end: Key) -> io::Result<u64> {
    let (number, most, words) = kind.parts();
    let size = 24 + 8 * most + 8 * words * (most + 1);
    let key = |record: Record, key: &Key| key[..words].iter().fold(record, |record, &word| record.u64(word));
    let mut level = 0;
    loop {
        let nodes = children.len().div_ceil(most).max(1);
        let start = out.align()?;
        let place = |node: usize| start + (node * size) as u64;
        let mut above = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let held = children.get(node * most..).unwrap_or_default();
            let (held, rest) = held.split_at(most.min(held.len()));
            let left = if node == 0 { NOWHERE } else { place(node - 1) };
            let right = if rest.is_empty() { NOWHERE } else { place(node + 1) };
            let head =
                Record::default().bytes(b"TREE").u8(number).u8(level).u16(held.len() as u16).u64(left).u64(right);
            let record = held.iter().fold(head, |record, (lower, child)| key(record, lower).u64(*child));
            let upper = rest.first().map_or(end, |(lower, _)| *lower);
            out.put(key(record, &upper).up_to(size).as_bytes())?;
            above.push((held.first().map_or(end, |(lower, _)| *lower), place(node)));
        }
        match above[..] {
            [(_, root)] => return Ok(root),
            _ => (children, level) = (above, level + 1),
        }
    }
}
