//! HDF5 read without libhdf5, in the forms that nearly all writers use: what this reader takes is checked against
//! the file byte by byte, so no file, however damaged, leads it astray. Groups and attributes in fractal heaps,
//! chunks in the indexes of version 1.10, and messages that objects share are left to libhdf5.
//!
//! The format: "HDF5 File Format Specification Version 3.0", The HDF Group, 2018.

mod attributes;
mod bytes;
mod checksum;
mod data;
mod dense;
mod filters;
mod groups;
mod header;
mod heaps;
mod types;

use super::store::{Attribute, Facts, Kind, Link, Links, Object, Store, unpadded};
use crate::io::fault::{Fault, Res, bad};
pub(super) use bytes::Source;
use bytes::{Disk, Widths};
use checksum::is_whole;
use data::Data;
use groups::{Target, Targets};
use header::Header;
use types::Text;

const SIGNATURE: &[u8; 8] = b"\x89HDF\r\n\x1a\n";

/// An open file, and the group that was entered last.
pub(super) struct Ours<'a> {
    disk: Disk<'a>,
    root: Opened,
    /// The groups on the way to the one that was entered last, and it.
    path: Vec<(String, Opened)>,
    /// The dataset that was asked for last: facts are asked for, then elements.
    last: Option<(String, Data)>,
}

impl<'a> Ours<'a> {
    /// Opens a file and goes to its root.
    pub(super) fn open(source: Source<'a>) -> Res<Ours<'a>> {
        let bytes = source.len()?;
        let (mut disk, root) = superblock(source, bytes)?;
        let root = Opened::at(&mut disk, root)?;
        Ok(Ours { disk, root, path: Vec::new(), last: None })
    }

    /// The group that was entered last.
    fn group(&self) -> &Opened {
        self.path.last().map_or(&self.root, |(_, opened)| opened)
    }

    fn child(&self, name: &str) -> Res<u64> {
        match self.group().targets()?.get(name) {
            Some(&Target::Object(at)) => Ok(at),
            _ => bad(format!("there is no object {name:?}")),
        }
    }

    fn data(&mut self, name: &str) -> Res<&Data> {
        let kept = self.last.take().filter(|(last, _)| last == name);
        let opened = match kept {
            Some(kept) => kept,
            None => {
                let at = self.child(name)?;
                let header = header::read(&mut self.disk, at)?;
                (name.to_owned(), data::open(&mut self.disk, &header, name)?)
            }
        };
        Ok(&self.last.insert(opened).1)
    }

    /// Elements as they are stored.
    fn raw(&mut self, name: &str, start: u64, out: &mut [u8]) -> Res<()> {
        self.data(name)?;
        match &self.last {
            Some((_, data)) => data.read(&mut self.disk, start, out, name),
            None => Ok(()),
        }
    }
}

/// Reads the superblock: the file, and where the header of the root group is.
fn superblock<'a>(source: Source<'a>, bytes: u64) -> Res<(Disk<'a>, u64)> {
    const WHAT: &str = "the superblock";
    let widths = Widths { address: 8, length: 8 };
    let mut disk = Disk { source, base: 0, end: bytes, widths, may_share: false };
    while disk.read(0, 8, WHAT)? != SIGNATURE {
        disk.base = if disk.base == 0 { 512 } else { disk.base * 2 };
        disk.end = bytes.saturating_sub(disk.base);
    }
    // The longest one, with addresses of eight bytes.
    let found = disk.read(0, 100.min(disk.end), WHAT)?;
    let mut block = disk.block(&found, WHAT);
    block.take(8)?;
    let version = block.u8()?;
    let older = match version {
        0 | 1 => true,
        2 | 3 => false,
        _ => return bad(format!("{WHAT} has version {version}")),
    };
    if older {
        let versions = block.take(4)?;
        if [versions[0], versions[1], versions[3]] != [0; 3] {
            return bad(format!("{WHAT} says that parts of the file have unknown versions"));
        }
    }
    let (address, length) = (usize::from(block.u8()?), usize::from(block.u8()?));
    if !matches!((address, length), (2 | 4 | 8, 2 | 4 | 8)) {
        return bad(format!("{WHAT} says that addresses have {address} bytes, and lengths {length}"));
    }
    disk.widths = Widths { address, length };
    block.widths = disk.widths;
    let (base, eof, root);
    let mut extension = None;
    if older {
        block.take(if version == 0 { 9 } else { 13 })?;
        base = block.address()?;
        block.address()?; // free space
        eof = block.address()?;
        if block.address()?.is_some() {
            return bad("the file is one of several that belong together (it names a driver)");
        }
        block.address()?; // the name of the root, which is none
        root = block.address()?;
    } else {
        let flags = block.u8()?;
        if version == 3 && flags & 5 != 0 {
            return bad("the file was not closed by its writer, or is still being written");
        }
        base = block.address()?;
        extension = block.address()?;
        eof = block.address()?;
        root = block.address()?;
        let used = found.len() - block.left();
        if !is_whole(&found[..used], block.take(4)?) {
            return bad(format!("{WHAT} does not have its checksum"));
        }
    }
    let (Some(base), Some(eof), Some(root)) = (base, eof, root) else {
        return bad(format!("{WHAT} does not say where the file begins and ends"));
    };
    // Where the superblock was when it was written, which need not be where it is.
    let needed = eof.saturating_sub(base);
    if needed > disk.end {
        return bad(format!("the file is truncated: it has {} bytes of {needed}", disk.end));
    }
    if let Some(at) = extension {
        let header = header::read(&mut disk, at)?;
        if header.has(header::DRIVER) || header.has(header::CACHE_IMAGE) {
            return bad("the file is one of several that belong together, or holds an image of a cache");
        }
        disk.may_share = header.has(header::SHARES);
    }
    Ok((disk, root))
}

/// A group.
struct Opened {
    at: u64,
    header: Header,
    /// Its links, or why they are left to libhdf5.
    targets: Result<Targets, &'static str>,
}

impl Opened {
    fn at(disk: &mut Disk<'_>, at: u64) -> Res<Opened> {
        let header = header::read(disk, at)?;
        let targets = match groups::links(disk, &header) {
            Err(Fault::Unknown(what)) => Err(what),
            targets => Ok(targets?),
        };
        Ok(Opened { at, header, targets })
    }

    fn targets(&self) -> Res<&Targets> {
        self.targets.as_ref().map_err(|what| Fault::Unknown(what))
    }
}

fn link(target: &Target) -> Link {
    match target {
        Target::Object(_) => Link::Hard,
        Target::Soft => Link::Soft,
        Target::External => Link::External,
    }
}

fn object(header: &Header) -> Object {
    if header.has(header::SYMBOLS) || header.has(header::LINK_INFO) {
        Object::Group
    } else if header.has(header::TYPE) && header.has(header::SPACE) {
        Object::Dataset
    } else {
        Object::Other
    }
}

impl Store for Ours<'_> {
    fn enter(&mut self, name: &str) -> Res<()> {
        let parts: Vec<&str> = name.split('/').filter(|p| !p.is_empty()).collect();
        // What was opened on the way to the last group is not opened again.
        let kept = self.path.iter().zip(&parts).take_while(|((a, _), b)| a == *b).count();
        let mut opened: Vec<(String, Opened)> = Vec::new();
        for part in &parts[kept..] {
            let before = self.path[..kept].last().map_or(&self.root, |(_, opened)| opened);
            let at = match opened.last().map_or(before, |(_, opened)| opened).targets()?.get(*part) {
                Some(&Target::Object(at)) => at,
                Some(_) => return bad(format!("{part:?} in the name {name:?} is a link that is not followed")),
                None => return bad(format!("there is no group {name:?}")),
            };
            if object(&header::read(&mut self.disk, at)?) != Object::Group {
                return bad(format!("{part:?} in the name {name:?} is not a group"));
            }
            opened.push(((*part).to_owned(), Opened::at(&mut self.disk, at)?));
        }
        self.path.truncate(kept);
        self.path.append(&mut opened);
        self.last = None;
        Ok(())
    }

    fn identity(&self) -> Res<String> {
        Ok(self.group().at.to_string())
    }

    fn links(&self) -> Res<Links> {
        Ok(self.group().targets()?.iter().map(|(name, target)| (name.clone(), link(target))).collect())
    }

    fn link(&self, name: &str) -> Res<Option<Link>> {
        Ok(self.group().targets()?.get(name).map(link))
    }

    fn object(&mut self, name: &str) -> Res<Object> {
        let at = self.child(name)?;
        Ok(object(&header::read(&mut self.disk, at)?))
    }

    fn attributes(&mut self) -> Res<Vec<String>> {
        let group = self.path.last().map_or(&self.root, |(_, opened)| opened);
        attributes::names(&mut self.disk, &group.header)
    }

    fn attribute(&mut self, name: &str, most: usize) -> Res<Option<Attribute>> {
        let group = self.path.last().map_or(&self.root, |(_, opened)| opened);
        attributes::find(&mut self.disk, &group.header, name, most)
    }

    fn facts(&mut self, name: &str) -> Res<Facts> {
        Ok(self.data(name)?.facts.clone())
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8]) -> Res<()> {
        self.raw(name, start, out)?;
        let swapped = self.data(name)?.ty.swapped;
        if swapped > 1 {
            out.chunks_exact_mut(swapped).for_each(<[u8]>::reverse);
        }
        Ok(())
    }

    fn text(&mut self, name: &str, most: usize) -> Res<Option<Vec<u8>>> {
        let ty = self.data(name)?.ty;
        if ty.kind != Kind::Text {
            return bad(format!("`{name}` is not text"));
        }
        if ty.size > most as u64 {
            return Ok(None);
        }
        let mut element = vec![0; ty.size as usize];
        self.raw(name, 0, &mut element)?;
        text(&mut self.disk, ty.text, element, most)
    }
}

/// The text that an element of a text type means.
fn text(disk: &mut Disk<'_>, form: Text, element: Vec<u8>, most: usize) -> Res<Option<Vec<u8>>> {
    match form {
        Text::Padded(padding) => Ok(Some(unpadded(element, padding))),
        Text::Variable => {
            let mut block = disk.block(&element, "a text");
            let (len, heap, index) = (block.u32()? as usize, block.address()?, block.u32()?);
            let Some(heap) = heap.filter(|&at| at != 0 && len > 0) else { return Ok(Some(Vec::new())) };
            let object = heaps::object(disk, heap, index)?;
            let Some(text) = object.get(..len) else {
                return bad(format!("a text has {len} bytes, its heap holds {}", object.len()));
            };
            let text = text.split(|&b| b == 0).next().unwrap_or_default();
            Ok((text.len() <= most).then(|| text.to_vec()))
        }
    }
}
