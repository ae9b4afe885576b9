//! Groups: object headers, links, texts and attributes.

use std::io;

use super::Said;
use super::dataset::element_type;
use super::out::{NOWHERE, Out, Record};
use super::tree::{self, TreeOf};
use crate::base::named::Named;
use openwork_ops::DType;

/// Links of a table, of which a group has as many as it needs.
const LINKS: usize = 8;
/// Bytes of a heap of texts that is as small as may be, and those at which another one is begun.
const HEAP: (usize, usize) = (4096, 64 << 10);

/// A message of an object header: its number and body.
pub(super) type Message = (u16, Record);

/// Writes an object header of version 1, and gives its address.
pub(super) fn header(out: &mut Out<'_>, messages: Vec<Message>) -> io::Result<u64> {
    let count = messages.len() as u16;
    let mut all = Record::default();
    for (number, body) in messages {
        let body = body.pad();
        all = all.u16(number).u16(body.len() as u16).u32(0).bytes(body.as_bytes());
    }
    // Version, the number of messages, one link to it, bytes of the messages.
    let head = Record::default().u8(1).u8(0).u16(count).u32(1).u32(all.len() as u32).pad();
    out.put(head.bytes(all.as_bytes()).as_bytes())
}

/// Where the links of a group are: the tree of their tables, and the heap of their names.
pub(super) type Links = [u64; 2];

/// The message that says where links are.
pub(super) fn symbols([tree, heap]: Links) -> Message {
    (0x11, Record::default().u64(tree).u64(heap))
}

/// Writes the links of a group, by name the addresses of object headers.
pub(super) fn links(out: &mut Out<'_>, links: &Named<u64>) -> io::Result<Links> {
    // The first name is that of no link.
    let mut names = Record::default().u64(0);
    let mut places = Vec::with_capacity(links.len());
    for (name, &object) in links.iter() {
        places.push((names.len() as u64, object));
        names = names.bytes(name.as_bytes()).u8(0).pad();
    }
    let mut tables = Vec::with_capacity(places.len().div_ceil(LINKS));
    let mut before = 0;
    for table in places.chunks(LINKS) {
        let head = Record::default().bytes(b"SNOD").u8(1).u8(0).u16(table.len() as u16);
        let record = table.iter().fold(head, |record, &(name, object)| {
            record.u64(name).u64(object).bytes(&[0; 24]) // nothing of the object is kept here
        });
        tables.push(([before, 0, 0], out.put(record.up_to(8 + 40 * LINKS).as_bytes())?));
        before = table.last().map_or(before, |(name, _)| *name);
    }
    let root = tree::write(out, TreeOf::Links, tables, [before, 0, 0])?;
    let at = out.align()?;
    // Version, bytes of the names, no free space (1), where the names are.
    let head = Record::default().bytes(b"HEAP").u32(0).u64(names.len() as u64).u64(1).u64(at + 32);
    let heap = out.put(head.bytes(names.as_bytes()).as_bytes())?;
    Ok([root, heap])
}

/// Where a text is: its length, the address of a heap, its number in that.
#[derive(Clone, Copy)]
pub(super) struct Text(u32, u64, u32);

/// Writes texts to heaps.
pub(super) fn texts(out: &mut Out<'_>, texts: &[&str]) -> io::Result<Vec<Text>> {
    let mut found = Vec::with_capacity(texts.len());
    let mut first = 0;
    while first < texts.len() {
        let mut objects = Record::default();
        let mut held = 0;
        let at = out.align()?;
        for text in &texts[first..] {
            if held > 0 && (objects.len() + text.len() > HEAP.1 || held == u16::MAX) {
                break;
            }
            let Ok(len) = u32::try_from(text.len()) else {
                let why = format!("a descriptor has {} bytes, HDF5 holds texts of less than 4 GiB", text.len());
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            };
            held += 1;
            objects = objects.u16(held).u16(1).u32(0).u64(u64::from(len)).bytes(text.as_bytes()).pad();
            found.push(Text(len, at, u32::from(held)));
        }
        first += usize::from(held);
        let size = (16 + objects.len()).max(HEAP.0);
        let head = Record::default().bytes(b"GCOL").u32(1).u64(size as u64).bytes(objects.as_bytes());
        let free = size - head.len();
        // What is free has a head too, if that fits.
        let whole = if free < 16 { head } else { head.u64(0).u64(free as u64) };
        out.put(whole.up_to(size).as_bytes())?;
    }
    Ok(found)
}

/// The message of a shape; no axes are one element.
pub(super) fn space(shape: &[u64]) -> Record {
    let head = Record::default().u8(1).u8(shape.len() as u8).pad();
    shape.iter().fold(head, |record, &size| record.u64(size))
}

/// The type of texts in UTF-8 of variable length, whose parent type is one byte.
fn text_type() -> Record {
    let byte = Record::default().u8(0x10).bytes(&[0; 3]).u32(1).u16(0).u16(8);
    Record::default().u8(0x19).bytes(&[1, 1, 0]).u32(16).bytes(byte.as_bytes())
}

fn place(record: Record, text: &Text) -> Record {
    record.u32(text.0).u64(text.1).u32(text.2)
}

/// An attribute of a name in ASCII. `text` is where it was written if it is a text of variable length.
pub(super) fn attribute(name: &str, said: &Said, text: Option<Text>) -> io::Result<Message> {
    let (ty, space, data) = match said {
        Said::Text(_) => {
            let none = || io::Error::other("a text that was not written");
            (text_type(), space(&[]), place(Record::default(), &text.ok_or_else(none)?))
        }
        Said::Ascii(text) => {
            let size = text.len() as u32 + 1;
            let ty = Record::default().u8(0x13).bytes(&[0; 3]).u32(size);
            (ty, space(&[]), Record::default().bytes(text.as_bytes()).u8(0))
        }
        Said::Int32(number) => (element_type(DType::I32), space(&[]), Record::default().bytes(&number.to_ne_bytes())),
        Said::Int32s(list) => {
            let data = list.iter().fold(Record::default(), |record, number| record.bytes(&number.to_ne_bytes()));
            (element_type(DType::I32), space(&[list.len() as u64]), data)
        }
        Said::Int64s(list) => {
            let data = list.iter().fold(Record::default(), |record, number| record.bytes(&number.to_ne_bytes()));
            (element_type(DType::I64), space(&[list.len() as u64]), data)
        }
        Said::NoTexts => (text_type(), space(&[0]), Record::default()),
    };
    let head = Record::default().u8(1).u8(0).u16(name.len() as u16 + 1).u16(ty.len() as u16).u16(space.len() as u16);
    let named = head.bytes(name.as_bytes()).u8(0).pad().bytes(ty.as_bytes()).pad().bytes(space.as_bytes());
    let whole = named.bytes(data.as_bytes());
    if whole.len() > MAX_MESSAGE {
        let why = format!("the attribute `{name}` has {} bytes, {MAX_MESSAGE} is the most", whole.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok((0x0c, whole))
}

/// The most bytes of a message in an object header, of which there is a multiple of eight.
const MAX_MESSAGE: usize = 65528;

/// Writes a dataset of texts along one axis, and gives the address of its object header.
pub(super) fn text_dataset(out: &mut Out<'_>, texts: &[Text], attributes: Vec<Message>) -> io::Result<u64> {
    let elements = texts.iter().fold(Record::default(), place);
    let at = if texts.is_empty() { NOWHERE } else { out.put(elements.as_bytes())? };
    let mut messages = vec![
        (0x01, space(&[texts.len() as u64])),
        (0x03, text_type()),
        // Room is made when elements are written, and never filled.
        (0x05, Record::default().u8(2).u8(2).u8(1).u8(1).u32(0)),
        (0x08, Record::default().u8(3).u8(1).u64(at).u64(elements.len() as u64)),
    ];
    messages.extend(attributes);
    header(out, messages)
}
