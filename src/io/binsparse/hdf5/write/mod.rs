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
use crate::base::mapped::Mapped;
use crate::base::named::Named;
use crate::io::WriteOptions;
use crate::io::binsparse::copy::Region;
use crate::io::binsparse::export::Export;
use crate::io::progress::Tell;
pub(crate) use dataset::Elements;
use group::{Links, Message, Text};
use out::{NOWHERE, Out, Record};

/// Bytes of a superblock of version 0.
const SUPERBLOCK: usize = 96;

/// What an attribute says.
#[derive(Clone, Debug)]
pub(crate) enum Said {
    /// A text in UTF-8, of any length.
    Text(String),
    /// A text in ASCII with a zero at its end, of just that size: what netCDF asks for.
    Ascii(String),
    Int32(i32),
    /// Integers along one axis.
    Int32s(Vec<i32>),
    Int64s(Vec<i64>),
    /// No texts at all, along one axis.
    NoTexts,
}

pub(crate) type Attributes = Vec<(&'static str, Said)>;

/// A group: what it says, and what is in it.
#[derive(Default)]
pub(crate) struct Group<'a> {
    pub(crate) attributes: Attributes,
    pub(crate) inner: Named<Node<'a>>,
    /// Where datasets are that are in the file already.
    written: Named<u64>,
}

/// Something in a group.
pub(crate) enum Node<'a> {
    Group(Group<'a>),
    Dataset(Elements<'a>, Attributes),
    /// Texts along one axis.
    Texts(Vec<String>, Attributes),
}

impl Default for Node<'_> {
    fn default() -> Self {
        Node::Group(Group::default())
    }
}

impl<'a> Group<'a> {
    /// The group of a path of names, made if there is none; itself for no name. `None` if a dataset is in the way.
    pub(crate) fn at(&mut self, path: &str) -> Option<&mut Group<'a>> {
        path.split('/').filter(|part| !part.is_empty()).try_fold(self, |group, part| {
            match group.inner.or_default(part) {
                Node::Group(inner) => Some(inner),
                Node::Dataset(..) | Node::Texts(..) => None,
            }
        })
    }

    pub(crate) fn dataset(&mut self, name: &str, elements: Elements<'a>, attributes: Attributes) {
        self.inner.insert(name, Node::Dataset(elements, attributes));
    }

    /// Texts along one axis.
    pub(crate) fn texts_dataset(&mut self, name: &str, texts: Vec<String>, attributes: Attributes) {
        self.inner.insert(name, Node::Texts(texts, attributes));
    }
}

/// Writes a new file with a group per tensor; a name of no parts is the root. `list` goes to the root. The caller knows
/// that all names are different, and none is that of an array.
pub(crate) fn write(
    file: &mut File,
    tensors: &[(&str, Export)],
    list: Option<&str>,
    options: &WriteOptions<'_>,
) -> io::Result<()> {
    let mut root = Group::default();
    let lengths = tensors.mapped(|(_, export)| export.arrays.mapped(|array| [array.len() as u64]));
    for ((name, export), lengths) in tensors.iter().zip(&lengths) {
        let Some(group) = root.at(name) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} lies in an array")));
        };
        group.attributes.push((NAME, Said::Text(export.json.clone())));
        for (array, shape) in export.arrays.iter().zip(lengths) {
            let elements = Elements { dtype: array.dtype, shape, bytes: array.bytes() };
            group.dataset(&array.name, elements, Vec::new());
        }
    }
    root.attributes.extend(list.map(|list| (LIST, Said::Text(list.to_owned()))));
    let tell = Tell::new(options.progress, root.bytes());
    write_tree(Out::new(file, SUPERBLOCK, &tell)?, &root, options)
}

/// As [`write`], with each tensor asked for when it is its turn, and let go before the next.
pub(crate) fn write_each(
    file: &mut File,
    names: &[&str],
    list: &str,
    options: &WriteOptions<'_>,
    give: &mut dyn FnMut(&str) -> io::Result<Export>,
) -> io::Result<()> {
    let tell = Tell::nobody();
    let mut out = Out::new(file, SUPERBLOCK, &tell)?;
    let mut root = Group::default();
    for name in names {
        let export = give(name)?;
        let Some(group) = root.at(name) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} lies in an array")));
        };
        for array in &export.arrays {
            let elements = Elements { dtype: array.dtype, shape: &[array.len() as u64], bytes: array.bytes() };
            let at = dataset::write(&mut out, &elements, options, Vec::new())?;
            group.written.insert(array.name.clone(), at);
        }
        group.attributes.push((NAME, Said::Text(export.json)));
    }
    root.attributes.push((LIST, Said::Text(list.to_owned())));
    write_tree(out, &root, options)
}

/// Writes a file of one tensor around arrays that are written to their places later.
pub(crate) fn write_reserved(file: &mut File, json: &str, regions: &mut [Region]) -> io::Result<()> {
    let tell = Tell::nobody();
    let mut out = Out::new(file, SUPERBLOCK, &tell)?;
    let mut root = Group::default();
    for region in regions {
        let (at, header) = dataset::reserve(&mut out, region.dtype, region.len)?;
        region.at = at;
        root.written.insert(region.name.clone(), header);
    }
    root.attributes.push((NAME, Said::Text(json.to_owned())));
    write_tree(out, &root, &WriteOptions::default())
}

/// Writes a new file; packed, bytes are ordered by significance first.
pub(crate) fn write_packed(file: &mut File, root: &Group<'_>, options: &WriteOptions<'_>) -> io::Result<()> {
    let tell = Tell::new(options.progress, root.bytes());
    let options = WriteOptions { shuffle: options.compress, ..*options };
    write_tree(Out::new(file, SUPERBLOCK, &tell)?, root, &options)
}

/// Writes what is left of a new file.
fn write_tree(mut out: Out<'_>, root: &Group<'_>, options: &WriteOptions<'_>) -> io::Result<()> {
    // All texts stand together: few heaps, and full ones.
    let mut texts = Vec::new();
    root.texts(&mut texts);
    let mut texts = group::texts(&mut out, &texts)?.into_iter();
    let (header, [tree, heap]) = root.write(&mut out, options, &mut texts)?;
    let end = out.align()?;
    // The versions of four parts are 0; addresses and lengths have 8 bytes; half the room in tables and nodes of links.
    let head = Record::default().bytes(b"\x89HDF\r\n\x1a\n").bytes(&[0; 5]).u8(8).u8(8).u8(0).u16(4).u16(16).u32(0);
    let places = head.u64(0).u64(NOWHERE).u64(end).u64(NOWHERE);
    // The root as an entry of a table, where its links are kept (1).
    let whole = places.u64(0).u64(header).u32(1).u32(0).u64(tree).u64(heap);
    out.finish(whole.as_bytes())
}

/// Texts that were written, in the order in which they are asked for.
type Texts = std::vec::IntoIter<Text>;

fn said<'t>(attributes: &'t Attributes, out: &mut Vec<&'t str>) {
    out.extend(attributes.iter().filter_map(|(_, said)| match said {
        Said::Text(text) => Some(&text[..]),
        _ => None,
    }));
}

fn messages(attributes: &Attributes, texts: &mut Texts) -> io::Result<Vec<Message>> {
    let mut out = Vec::with_capacity(attributes.len());
    for (name, said) in attributes {
        let text = if matches!(said, Said::Text(_)) { texts.next() } else { None };
        out.push(group::attribute(name, said, text)?);
    }
    Ok(out)
}

impl Group<'_> {
    /// Bytes of the elements in it.
    pub(crate) fn bytes(&self) -> u64 {
        let of = |node: &Node<'_>| match node {
            Node::Group(group) => group.bytes(),
            Node::Dataset(elements, _) => elements.bytes.len() as u64,
            Node::Texts(..) => 0,
        };
        self.inner.iter().map(|(_, node)| of(node)).sum()
    }

    /// The texts in it, in the order in which they are written.
    fn texts<'t>(&'t self, out: &mut Vec<&'t str>) {
        for (_, node) in self.inner.iter() {
            match node {
                Node::Group(group) => group.texts(out),
                Node::Dataset(_, attributes) => said(attributes, out),
                Node::Texts(texts, attributes) => {
                    out.extend(texts.iter().map(|text| &text[..]));
                    said(attributes, out);
                }
            }
        }
        said(&self.attributes, out);
    }

    /// Writes what is in the group, then the group. Gives the address of its header, and where its links are.
    fn write(&self, out: &mut Out<'_>, options: &WriteOptions<'_>, texts: &mut Texts) -> io::Result<(u64, Links)> {
        let mut links = self.written.clone();
        for (name, node) in self.inner.iter() {
            let at = match node {
                Node::Group(group) => group.write(out, options, texts)?.0,
                Node::Dataset(elements, attributes) => {
                    let attributes = messages(attributes, texts)?;
                    dataset::write(out, elements, options, attributes)?
                }
                Node::Texts(list, attributes) => {
                    let places: Vec<Text> = texts.by_ref().take(list.len()).collect();
                    let attributes = messages(attributes, texts)?;
                    group::text_dataset(out, &places, attributes)?
                }
            };
            links.insert(name, at);
        }
        let links = group::links(out, &links)?;
        let mut all = vec![group::symbols(links)];
        all.extend(messages(&self.attributes, texts)?);
        Ok((group::header(out, all)?, links))
    }
}
