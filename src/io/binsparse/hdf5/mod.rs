//! HDF5: a group per tensor, the descriptor as its attribute `binsparse`, a dataset per array.

mod dataset;
mod descriptor;
mod fallback;
#[cfg(feature = "hdf5")]
mod libhdf5;
mod native;
pub(in crate::io) mod sscdf;
mod store;
#[cfg(all(test, feature = "hdf5"))]
mod tests;
mod write;

use std::fs::File;
use std::path::Path;

use openwork_ops::DType;
use serde_json::{Map, Value};

use super::arrays::{ArrayInfo, Arrays, Container};
use super::file::in_order;
use super::{Mode, foreign, json};
use crate::base::named::Named;
use crate::io::fault::{Fault, Res, bad};
use crate::io::progress::Tell;
use crate::io::warning::Warning;
use dataset::Axes;
use descriptor::Located;
use fallback::Fallback;
use native::{Bytes, Native};
use sscdf::{Bitmap, Given};
use store::{Link, Object, Store};
pub(crate) use write::{Attributes, Elements, Group, Node, Said, write, write_each, write_packed, write_reserved};

/// Groups deeper than this are not looked into, nor written.
pub(super) const MAX_DEPTH: usize = 64;

/// The attribute of the root that lists tensors in order, and holds what is said about all of them.
const LIST: &str = "openwork_tensors";

/// An open file, and the group that is being read.
pub(crate) struct Hdf5<'a> {
    native: Native<'a>,
    fallback: Fallback<'a>,
    /// What keeps the native reader out of the group, if anything does.
    unknown: Option<&'static str>,
    /// Bytes of the file as they are on the disk.
    bytes: u64,
    /// The name of the group.
    name: String,
    /// The dataset of the group that is a tensor by itself, if one is read.
    plain: Option<String>,
    /// Names of arrays in files of other formats, by binsparse's.
    aliases: Named<String>,
    /// How many axes arrays may have.
    axes: Axes,
    /// Arrays that the file implies.
    given: Named<Given>,
    bitmap: Option<Bitmap>,
    /// Whether values that are stored as signed bytes are truth values.
    truths: bool,
    /// What the arrays call themselves if another library saved them in a way of its own.
    foreign: Option<String>,
    /// Arrays that were found.
    found: Named<Found>,
}

/// An array that was found.
#[derive(Clone, Debug)]
struct Found {
    /// What the file calls it.
    stored: String,
    /// What it holds.
    info: ArrayInfo,
    /// Entries that an element of the file is: complex numbers of other libraries are pairs.
    each: u64,
    /// Bytes that it takes in the file, if it went through filters.
    packed: Option<u64>,
}

impl<'a> Hdf5<'a> {
    /// A file whose signature is at `base`. libhdf5 opens it a second time, by its path, if it is needed.
    pub(crate) fn of_file(file: File, path: &Path, base: u64) -> Res<Hdf5<'a>> {
        let bytes = file.metadata()?.len();
        Ok(Hdf5::new(Native::open(Bytes::File(file), base)?, Fallback::of_path(path), bytes))
    }

    /// The bytes of a file whose signature is at `base`.
    pub(crate) fn of_bytes(bytes: &'a [u8], base: u64) -> Res<Hdf5<'a>> {
        let native = Native::open(Bytes::Memory(bytes), base)?;
        Ok(Hdf5::new(native, Fallback::of_bytes(bytes), bytes.len() as u64))
    }

    fn new(native: Native<'a>, fallback: Fallback<'a>, bytes: u64) -> Hdf5<'a> {
        let (name, plain, aliases, given, found) = Default::default();
        let (unknown, axes, bitmap, truths, foreign) = Default::default();
        Hdf5 { native, fallback, unknown, bytes, name, plain, aliases, axes, given, bitmap, truths, foreign, found }
    }

    /// Whether libhdf5 may read what the native reader leaves to it.
    pub(crate) fn allow_libhdf5(&mut self, allowed: bool) {
        self.fallback.allow(allowed);
    }

    /// Asks the native reader, and libhdf5 what that leaves to it.
    fn ask<T>(&mut self, mut question: impl FnMut(&mut dyn Store) -> Res<T>) -> Res<T> {
        let unknown = match self.unknown {
            Some(what) => what,
            None => match question(&mut self.native) {
                Err(Fault::Unknown(what)) => what,
                answer => return answer,
            },
        };
        question(self.fallback.enter(&self.name, unknown)?)
    }

    /// Goes to the group of a tensor. Without a name that is the root, or else the only tensor of the file.
    pub(crate) fn select(&mut self, name: Option<&str>) -> Res<()> {
        let found;
        let name = match name {
            Some(name) => name,
            None => {
                self.enter("")?;
                if self.has_descriptor()? {
                    return Ok(());
                }
                let mut names = self.names()?;
                match names.len() {
                    0 => {
                        return bad(
                            "it holds no tensor: no group has an attribute `binsparse` with a descriptor, nor is one a sparse matrix of AnnData or \
                             10x Genomics, and no dataset is an array of AnnData; any other dataset of numbers is read by its name",
                        );
                    }
                    1 => found = names.remove(0),
                    n => {
                        names.truncate(8);
                        return bad(format_args!("the file has {n} tensors, one must be named: {}", names.join(", ")));
                    }
                }
                &found
            }
        };
        // A dataset is a tensor of the group that it is in.
        let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
        if !last.is_empty()
            && self.enter(folder).is_ok()
            && self.ask(|store| store.link(last)).is_ok_and(|link| link == Some(Link::Hard))
            && self.ask(|store| store.object(last)).is_ok_and(|object| object == Object::Dataset)
        {
            self.plain = Some(last.to_owned());
            return Ok(());
        }
        self.enter(name)
    }

    fn enter(&mut self, name: &str) -> Res<()> {
        self.unknown = match self.native.enter(name) {
            Err(Fault::Unknown(what)) => Some(what),
            entered => entered.map(|()| None)?,
        };
        self.name = name.to_owned();
        self.plain = None;
        self.describe(Default::default());
        // libhdf5 goes where the native reader does not.
        if self.unknown.is_none() { Ok(()) } else { self.ask(|_| Ok(())) }
    }

    /// The tensors of the file, as listed by its writer, then by name. The root is called by no name.
    pub(crate) fn names(&mut self) -> Res<Vec<String>> {
        let mut found = Vec::new();
        self.look_into("", 0, &mut Named::new(), &mut found)?;
        let (listed, _) = self.list()?;
        Ok(in_order(listed, found))
    }

    fn look_into(&mut self, path: &str, depth: usize, seen: &mut Named<()>, out: &mut Vec<String>) -> Res<()> {
        self.enter(path)?;
        // Groups may hold each other.
        if seen.insert(self.ask(|store| store.identity())?, ()).is_some() {
            return Ok(());
        }
        if self.has_descriptor()? {
            out.push(path.to_owned());
        }
        let has_arrays = descriptor::is_folder(self)?;
        let links = self.ask(|store| store.links())?;
        let mut inner = Vec::new();
        for (name, _) in links.into_iter().filter(|(_, link)| *link == Link::Hard) {
            // What cannot be opened is no group that holds a tensor.
            let object = self.ask(|store| store.object(&name));
            let full = || if path.is_empty() { name.clone() } else { format!("{path}/{name}") };
            match object {
                Ok(Object::Group) => inner.push((full(), true)),
                Ok(Object::Dataset) if has_arrays && descriptor::is_array(self, &name) => inner.push((full(), false)),
                _ => {}
            }
        }
        for (name, is_group) in inner {
            if !is_group {
                out.push(name);
            } else if depth == MAX_DEPTH {
                return bad(format_args!("groups lie deeper than {MAX_DEPTH} in one another"));
            } else {
                self.look_into(&name, depth + 1, seen, out)?;
            }
        }
        Ok(())
    }

    /// What the writer says about all tensors: their order, and metadata.
    pub(crate) fn list(&mut self) -> Res<(Vec<String>, Map<String, Value>)> {
        self.enter("")?;
        let Some(text) = descriptor::attribute(self, LIST, &mut None)? else { return Ok(Default::default()) };
        let mut root = json::object(&text)?;
        let Some(names) = root.remove("tensors").as_ref().and_then(json::strings) else {
            return bad(format_args!("`{LIST}` does not list names"));
        };
        match root.remove("metadata") {
            None => Ok((names, Map::new())),
            Some(Value::Object(metadata)) => Ok((names, metadata)),
            Some(other) => bad(format_args!("`{LIST}` has the metadata {other}, not an object")),
        }
    }

    fn describe(&mut self, found: Located) -> String {
        (self.aliases, self.axes, self.given, self.bitmap) = (found.aliases, found.axes, found.given, found.bitmap);
        (self.truths, self.foreign) = (found.truths, found.foreign);
        self.found.clear();
        found.text
    }

    fn has_descriptor(&mut self) -> Res<bool> {
        descriptor::is_there(self)
    }

    /// What a dataset of the group says of itself, if there is one. It is asked once.
    fn array(&mut self, name: &str) -> Res<Option<Found>> {
        if let Some(found) = self.found.get(name) {
            return Ok(Some(found.clone()));
        }
        let stored = self.aliases.get(name).map_or(name, String::as_str).to_owned();
        let Some(facts) = dataset::open(self, &stored)? else { return Ok(None) };
        let told = dataset::info(&facts, &stored, self.bytes, self.axes)?;
        let mut info = told;
        // As binsparse has truth values, and complex numbers.
        if self.foreign.is_some() {
            info = foreign::info(info.dtype, info.len);
        }
        if self.truths && name == "values" && info.dtype == DType::I8 {
            info.dtype = DType::U8;
        }
        let each = (told.dtype.size() / info.dtype.size()).max(1) as u64;
        let packed = (!facts.filters.is_empty()).then_some(facts.stored);
        let found = Found { stored, info, each, packed };
        self.found.insert(name, found.clone());
        Ok(Some(found))
    }
}

impl Container for Hdf5<'_> {
    fn descriptor(&mut self, mode: Mode, warnings: &mut Vec<Warning>) -> Res<String> {
        let found = descriptor::find(self, mode, warnings)?;
        Ok(self.describe(found))
    }

    fn foreign(&self) -> Option<String> {
        self.foreign.clone()
    }
}

impl Arrays for Hdf5<'_> {
    fn packed(&mut self, name: &str) -> Option<u64> {
        if self.given.contains(name) {
            return None;
        }
        self.array(name).ok()??.packed
    }

    fn info(&mut self, name: &str) -> Res<Option<ArrayInfo>> {
        if let Some(bitmap) = self.bitmap.take() {
            self.given = bitmap.arrays(self)?;
        }
        if let Some(given) = self.given.get(name) {
            return Ok(Some(given.info()));
        }
        Ok(self.array(name)?.map(|found| found.info))
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        if let Some(given) = self.given.get(name) {
            let from = start as usize * given.dtype.size();
            let Some(part) = given.bytes.get(from..).and_then(|b| b.get(..out.len())) else {
                return bad(format_args!("`{name}` has fewer entries than are read"));
            };
            out.copy_from_slice(part);
            return Ok(());
        }
        let Some(Found { stored, info, each, .. }) = self.array(name)? else {
            return bad(format_args!("the array `{name}` is missing"));
        };
        if u128::from(start) * info.dtype.size() as u128 + out.len() as u128 > info.bytes() {
            return bad(format_args!("`{stored}` has {} entries: fewer than are read", info.len));
        }
        if !start.is_multiple_of(each) {
            return bad(format_args!("`{stored}` is read from the middle of an element"));
        }
        self.ask(|store| store.read(&stored, start / each, out, tell))
    }
}
