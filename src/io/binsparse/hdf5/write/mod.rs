//! Writing HDF5: in the forms of the oldest libraries, which every library reads. That is a superblock of version 0,
//! object headers of version 1, links in tables and trees, arrays in one place or in chunks listed by a tree, texts in
//! heaps. What stands in memory beside the tensors is what describes them, and the chunks that are being packed.
//!
//! The format: "HDF5 File Format Specification Version 3.0", The HDF Group, 2018.

mod dataset;
mod group;
mod out;
mod tree;

use std::fs::File;
use std::io;

use super::LIST;
use super::descriptor::NAME;
use crate::base::named::Named;
use crate::io::binsparse::WriteOptions;
use crate::io::binsparse::export::Export;
use group::{Links, Text};
use out::{NOWHERE, Out, Record};

/// Bytes of a superblock of version 0.
const SUPERBLOCK: usize = 96;

/// A group, whose name its parent knows.
#[derive(Default)]
struct Group<'a> {
    inner: Named<Group<'a>>,
    /// The tensor in it, and the text that describes that.
    tensor: Option<(&'a Export, Text)>,
    list: Option<Text>,
}

/// Writes a new file with a group per tensor; a name of no parts is the root. `list` goes to the root. The caller knows
/// that all names are different, and none is that of an array.
pub(crate) fn write(
    file: &mut File,
    tensors: &[(&str, Export)],
    list: Option<&str>,
    options: &WriteOptions,
) -> io::Result<()> {
    let mut out = Out::new(file, SUPERBLOCK)?;
    let texts: Vec<&str> = tensors.iter().map(|(_, export)| export.json.as_str()).chain(list).collect();
    let mut texts = group::texts(&mut out, &texts)?.into_iter();
    let mut root = Group::default();
    for ((name, export), text) in tensors.iter().zip(texts.by_ref()) {
        let parts = name.split('/').filter(|part| !part.is_empty());
        let group = parts.fold(&mut root, |group, part| group.inner.or_default(part));
        group.tensor = Some((export, text));
    }
    root.list = texts.next();
    let (header, [tree, heap]) = root.write(&mut out, options)?;
    let end = out.align()?;
    // The versions of four parts are 0; addresses and lengths have 8 bytes; half the room in tables and nodes of links.
    let head = Record::default().bytes(b"\x89HDF\r\n\x1a\n").bytes(&[0; 5]).u8(8).u8(8).u8(0).u16(4).u16(16).u32(0);
    let places = head.u64(0).u64(NOWHERE).u64(end).u64(NOWHERE);
    // The root as an entry of a table, where its links are kept (1).
    let whole = places.u64(0).u64(header).u32(1).u32(0).u64(tree).u64(heap);
    out.finish(whole.as_bytes())
}

impl Group<'_> {
    /// Writes what is in the group, then the group. Gives the address of its header, and where its links are.
    fn write(&self, out: &mut Out<'_>, options: &WriteOptions) -> io::Result<(u64, Links)> {
        let mut links = Named::new();
        for (name, group) in self.inner.iter() {
            links.insert(name, group.write(out, options)?.0);
        }
        let arrays = self.tensor.map_or(&[][..], |(export, _)| &export.arrays);
        for array in arrays {
            links.insert(&array.name, dataset::write(out, array, options)?);
        }
        let links = group::links(out, &links)?;
        let mut messages = vec![group::symbols(links)];
        messages.extend(self.tensor.map(|(_, text)| group::attribute(NAME, text)));
        messages.extend(self.list.map(|text| group::attribute(LIST, text)));
        Ok((group::header(out, messages)?, links))
    }
}
