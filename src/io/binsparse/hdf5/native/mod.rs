//! HDF5 read without libhdf5, in the forms that nearly all writers use: what this reader takes is checked against
//! the file byte by byte, so no file, however damaged, leads it astray. Links and attributes that went through filters
//! are left to libhdf5.
//!
//! The format: "HDF5 File Format Specification Version 3.0", The HDF Group, 2018.

mod arrays;
mod attributes;
mod bytes;
mod checksum;
mod chunks;
mod data;
mod dense;
mod filters;
mod header;
mod heaps;
mod links;
mod scaleoffset;
mod shares;
mod tree;
mod types;

use std::collections::BTreeMap;

use super::store::{Attribute, ElementKind, Facts, Link, Links, Object, Store, unpadded};
use crate::io::fault::{Fault, Res, bad};
use crate::io::progress::Tell;
pub(super) use bytes::Bytes;
use bytes::{Disk, Widths};
use checksum::is_whole;
use data::Data;
use header::ObjectHeader;
use links::{Target, Targets};
use types::Text;

/// The most names on the way that a soft link leads.
const MAX_STEPS: usize = 64;

/// An open file, and the group that was entered last.
pub(super) struct Native<'a> {
    disk: Disk<'a>,
    root: Group,
    /// The groups on the way to the one that was entered last, and it.
    path: Vec<(String, Group)>,
    /// The header that was asked for last, by its address: what kind of object it is, is asked first.
    last: Option<(u64, ObjectHeader)>,
    /// Datasets by their addresses, for what they say of themselves is asked first, then elements. All are forgotten
    /// where they would take more memory than the file has bytes.
    datasets: BTreeMap<u64, Data>,
    held: u64,
}

impl<'a> Native<'a> {
    /// Opens a file whose signature is at `base`, and goes to its root.
    pub(super) fn open(source: Bytes<'a>, base: u64) -> Res<Native<'a>> {
        let (mut disk, root) = superblock(source, base)?;
        let header = header::read(&mut disk, root)?;
        let root = Group::of(&mut disk, root, header)?;
        Ok(Native { disk, root, path: Vec::new(), last: None, datasets: BTreeMap::new(), held: 0 })
    }

    /// The group that was entered last.
    fn group(&self) -> &Group {
        self.path.last().map_or(&self.root, |(_, opened)| opened)
    }

    /// Where the header of an object of the group is, along links that stay in the file.
    fn child(&mut self, name: &str) -> Res<u64> {
        match self.group().targets()?.get(name) {
            Some(&Target::Object(at)) => Ok(at),
            Some(Target::Soft(path)) => {
                let path = path.clone();
                self.followed(path)
            }
            _ => bad(format_args!("there is no object {name:?}")),
        }
    }

    /// Where a path from the group leads.
    fn followed(&mut self, path: String) -> Res<u64> {
        let mut at = if path.starts_with('/') { self.root.at } else { self.group().at };
        let mut left: Vec<String> = path.rsplit('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
        let mut steps = 0;
        while let Some(part) = left.pop() {
            steps += 1;
            if steps > MAX_STEPS {
                return bad(format_args!("the soft link to {path:?} leads in a circle, or very far"));
            }
            if part == "." {
                continue;
            }
            let header = header::read(&mut self.disk, at)?;
            match links::of(&mut self.disk, &header)?.get(&part) {
                Some(&Target::Object(next)) => at = next,
                Some(Target::Soft(next)) => {
                    if next.starts_with('/') {
                        at = self.root.at;
                    }
                    left.extend(next.rsplit('/').filter(|part| !part.is_empty()).map(str::to_owned));
                }
                Some(Target::External) | None => {
                    return bad(format_args!("the soft link to {path:?} leads to nothing in this file"));
                }
            }
        }
        Ok(at)
    }

    /// The header at an address, read once if it is asked for twice in a row.
    fn header(&mut self, at: u64) -> Res<&ObjectHeader> {
        let header = match self.last.take() {
            Some((last, header)) if last == at => header,
            _ => header::read(&mut self.disk, at)?,
        };
        Ok(&self.last.insert((at, header)).1)
    }

    /// A dataset of the group, and the file that it is in.
    fn dataset(&mut self, name: &str) -> Res<(&Data, &mut Disk<'a>)> {
        let at = self.child(name)?;
        if !self.datasets.contains_key(&at) {
            self.header(at)?;
            let Some((_, header)) = &self.last else { return bad(format_args!("`{name}` has no header")) };
            let data = data::open(&mut self.disk, header, name)?;
            let weight = data.weight();
            if self.held.saturating_add(weight) > self.disk.end {
                self.datasets.clear();
                self.held = 0;
            }
            self.held = self.held.saturating_add(weight);
            self.datasets.insert(at, data);
        }
        match self.datasets.get(&at) {
            Some(data) => Ok((data, &mut self.disk)),
            None => bad(format_args!("`{name}` is not a dataset")),
        }
    }
}

/// Reads the superblock: the file, and where the header of the root group is.
fn superblock<'a>(source: Bytes<'a>, base: u64) -> Res<(Disk<'a>, u64)> {
    const WHAT: &str = "the superblock";
    let widths = Widths { address: 8, length: 8 };
    let end = source.len()?.saturating_sub(base);
    let mut disk = Disk { source, base, end, widths, shares: Vec::new() };
    // The longest one, with addresses of eight bytes.
    let found = disk.read(0, 100.min(disk.end), WHAT)?;
    let mut block = disk.block(&found, WHAT);
    block.take(8)?;
    let version = block.u8()?;
    let older = match version {
        0 | 1 => true,
        2 | 3 => false,
        _ => return bad(format_args!("{WHAT} has version {version}")),
    };
    if older {
        let versions = block.take(4)?;
        if [versions[0], versions[1], versions[3]] != [0; 3] {
            return bad(format_args!("{WHAT} says that parts of the file have unknown versions"));
        }
    }
    let (address, length) = (usize::from(block.u8()?), usize::from(block.u8()?));
    if !matches!((address, length), (2 | 4 | 8, 2 | 4 | 8)) {
        return bad(format_args!("{WHAT} says that addresses have {address} bytes, and lengths {length}"));
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
            return bad(format_args!("{WHAT} does not have its checksum"));
        }
    }
    let (Some(base), Some(eof), Some(root)) = (base, eof, root) else {
        return bad(format_args!("{WHAT} does not say where the file begins and ends"));
    };
    // Where the superblock was when it was written, which need not be where it is.
    let needed = eof.saturating_sub(base);
    if needed > disk.end {
        return bad(format_args!("the file is truncated: it has {} bytes of {needed}", disk.end));
    }
    if let Some(at) = extension {
        let header = header::read(&mut disk, at)?;
        if header.has(header::DRIVER) || header.has(header::CACHE_IMAGE) {
            return bad("the file is one of several that belong together, or holds an image of a cache");
        }
        if let Some(message) = header.find(header::SHARES)? {
            disk.shares = shares::table(&mut disk, message)?;
        }
    }
    Ok((disk, root))
}

/// A group.
struct Group {
    at: u64,
    header: ObjectHeader,
    /// Its links, or why they are left to libhdf5.
    targets: Result<Targets, &'static str>,
}

impl Group {
    fn of(disk: &mut Disk<'_>, at: u64, header: ObjectHeader) -> Res<Group> {
        let targets = match links::of(disk, &header) {
            Err(Fault::Unknown(what)) => Err(what),
            targets => Ok(targets?),
        };
        Ok(Group { at, header, targets })
    }

    fn targets(&self) -> Res<&Targets> {
        self.targets.as_ref().map_err(|what| Fault::Unknown(what))
    }
}

fn link(target: &Target) -> Link {
    match target {
        Target::Object(_) => Link::Hard,
        Target::Soft(_) => Link::Soft,
        Target::External => Link::External,
    }
}

fn object(header: &ObjectHeader) -> Object {
    if header.has(header::SYMBOLS) || header.has(header::LINK_INFO) {
        Object::Group
    } else if header.has(header::TYPE) && header.has(header::SPACE) {
        Object::Dataset
    } else {
        Object::Other
    }
}

impl Store for Native<'_> {
    fn enter(&mut self, name: &str) -> Res<()> {
        let parts: Vec<&str> = name.split('/').filter(|p| !p.is_empty()).collect();
        // What was opened on the way to the last group is not opened again.
        let kept = self.path.iter().zip(&parts).take_while(|((a, _), b)| a == *b).count();
        let mut opened: Vec<(String, Group)> = Vec::new();
        for part in &parts[kept..] {
            let before = self.path[..kept].last().map_or(&self.root, |(_, opened)| opened);
            let at = match opened.last().map_or(before, |(_, opened)| opened).targets()?.get(part) {
                Some(&Target::Object(at)) => at,
                Some(_) => return bad(format_args!("{part:?} in the name {name:?} is a link that is not followed")),
                None => return bad(format_args!("there is no group {name:?}")),
            };
            let header = header::read(&mut self.disk, at)?;
            if object(&header) != Object::Group {
                return bad(format_args!("{part:?} in the name {name:?} is not a group"));
            }
            opened.push(((*part).to_owned(), Group::of(&mut self.disk, at, header)?));
        }
        self.path.truncate(kept);
        self.path.append(&mut opened);
        Ok(())
    }

    fn identity(&self) -> Res<String> {
        Ok(self.group().at.to_string())
    }

    fn links(&self) -> Res<Links> {
        let mut links = Links::new();
        for (name, target) in self.group().targets()?.iter() {
            links.insert(name, link(target));
        }
        Ok(links)
    }

    fn link(&mut self, name: &str) -> Res<Option<Link>> {
        let found = self.group().targets()?.get(name).map(link);
        // Where it leads to, and that it ends, is known: it is as good as a hard one.
        match found {
            Some(Link::Soft) => self.child(name).map(|_| Some(Link::Hard)),
            found => Ok(found),
        }
    }

    fn object(&mut self, name: &str) -> Res<Object> {
        let at = self.child(name)?;
        Ok(object(self.header(at)?))
    }

    fn attributes(&mut self) -> Res<Vec<String>> {
        let group = self.path.last().map_or(&self.root, |(_, opened)| opened);
        attributes::names(&mut self.disk, &group.header)
    }

    fn attribute(&mut self, name: &str, most: usize) -> Res<Option<Attribute>> {
        let group = self.path.last().map_or(&self.root, |(_, opened)| opened);
        attributes::find(&mut self.disk, &group.header, name, most)
    }

    fn attribute_of(&mut self, object: &str, name: &str, most: usize) -> Res<Option<Attribute>> {
        let at = self.child(object)?;
        self.header(at)?;
        let Some((_, header)) = &self.last else { return Ok(None) };
        attributes::find(&mut self.disk, header, name, most)
    }

    fn facts(&mut self, name: &str) -> Res<Facts> {
        Ok(self.dataset(name)?.0.facts.clone())
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        let (data, disk) = self.dataset(name)?;
        data.read(disk, start, out, (name, tell))?;
        let swapped = data.ty.swapped;
        if swapped > 1 {
            out.chunks_exact_mut(swapped).for_each(<[u8]>::reverse);
        }
        Ok(())
    }

    fn text(&mut self, name: &str, most: usize) -> Res<Option<Vec<u8>>> {
        let (data, disk) = self.dataset(name)?;
        let ty = data.ty;
        if ty.kind != ElementKind::Text {
            return bad(format_args!("`{name}` is not text"));
        }
        if ty.size > most as u64 {
            return Ok(None);
        }
        let mut element = vec![0; ty.size as usize];
        data.read(disk, 0, &mut element, (name, &Tell::nobody()))?;
        text(disk, ty.text, element, most)
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
                return bad(format_args!("a text has {len} bytes, its heap holds {}", object.len()));
            };
            let text = text.split(|&b| b == 0).next().unwrap_or_default();
            Ok((text.len() <= most).then(|| text.to_vec()))
        }
    }
}
