//! Zarr: a group per tensor, the descriptor as its attribute `binsparse`, an array per array, in a folder or a ZIP archive.
//!
//! Groups that AnnData saved, and plain arrays, are tensors too.

mod blosc;
mod checksum;
mod chunks;
mod codecs;
mod find;
mod node;
mod shards;
mod store;
mod write;

use std::path::Path;

use serde_json::{Map, Value};

use super::arrays::{ArrayInfo, Arrays, Container};
use super::file::{ReadSeek, in_order};
use super::foreign::{self, Foreign};
use super::sizes::raw;
use super::zip::ZipReader;
use super::{Mode, json};
use crate::base::named::Named;
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::warning::Warning;
use chunks::Stored;
use openwork_ops::DType;
use store::{Store, join};
pub(super) use write::{Tensors, each_to_folder, each_to_zip, to_folder, to_zip};
pub(in crate::io) use write::{check_name, tree_to_folder, tree_to_zip};

/// Bytes of elements that were never written, and stand for the array's fill value, that are taken for real where the
/// store has nothing that stands for them.
const UNWRITTEN: u64 = 16 << 20;

/// The attribute of a group with a descriptor.
const NAME: &str = "binsparse";

/// The attribute of the root that lists tensors in order, and holds what is said about all of them.
const LIST: &str = "openwork_tensors";

/// Files of the root that tell a store.
const ROOTS: [&str; 3] = ["zarr.json", ".zgroup", ".zarray"];

/// Whether a folder is a store.
pub(in crate::io) fn is_store(folder: &Path) -> bool {
    ROOTS.iter().any(|name| folder.join(name).is_file())
}

/// Whether an archive holds a store.
pub(super) fn is_zipped<R: std::io::Read + std::io::Seek>(archive: &ZipReader<R>) -> bool {
    ROOTS.iter().any(|name| archive.member(name).is_some())
}

/// An open store, and the node that is being read.
pub(crate) struct Zarr<'a> {
    store: Store<'a>,
    name: String,
    /// The arrays as another library saved them, if one did.
    foreign: Option<Foreign>,
    found: Named<Stored>,
}

impl<'a> Zarr<'a> {
    pub(super) fn of_folder(path: &Path) -> Res<Zarr<'a>> {
        if !is_store(path) {
            return bad("the folder is no Zarr store: it has no zarr.json");
        }
        Ok(Zarr::of(Store::Folder(path.to_owned())))
    }

    pub(super) fn of_zip(archive: ZipReader<Box<dyn ReadSeek + 'a>>) -> Zarr<'a> {
        Zarr::of(Store::Zip(archive))
    }

    fn of(store: Store<'a>) -> Zarr<'a> {
        Zarr { store, name: String::new(), foreign: None, found: Named::new() }
    }

    /// Bytes of all files.
    pub(super) fn bytes(&mut self) -> Res<u64> {
        self.store.bytes()
    }

    /// Goes to a tensor. Without a name that is the root, or else the only tensor of the store.
    pub(super) fn select(&mut self, name: Option<&str>) -> Res<()> {
        let name = match name {
            Some(name) => name.to_owned(),
            None if find::is_tensor(&mut self.store, "")? => String::new(),
            None => {
                let mut names = self.names()?;
                match names.len() {
                    0 => {
                        return bad(
                            "it holds no tensor: no group has an attribute `binsparse` with a descriptor nor is one a sparse \
                             matrix of AnnData, and there is no array of numbers",
                        );
                    }
                    1 => names.remove(0),
                    n => {
                        names.truncate(8);
                        return bad(format_args!("the store has {n} tensors, one must be named: {}", names.join(", ")));
                    }
                }
            }
        };
        if name != self.name {
            self.found.clear();
        }
        self.name = name;
        self.foreign = None;
        Ok(())
    }

    /// The tensors of the store, as listed by its writer, then by name. The root is called by no name.
    pub(super) fn names(&mut self) -> Res<Vec<String>> {
        let found = find::tensors(&mut self.store)?;
        let (listed, _) = self.list()?;
        Ok(in_order(listed, found))
    }

    /// What the writer says about all tensors: their order, and metadata.
    pub(super) fn list(&mut self) -> Res<(Vec<String>, Map<String, Value>)> {
        let said = node::read(&mut self.store, "")?.and_then(|mut node| node.attributes.remove(LIST));
        let Some(said) = said else { return Ok(Default::default()) };
        let Some(names) = said.get("tensors").and_then(json::strings) else {
            return bad(format_args!("`{LIST}` does not list names"));
        };
        match said.get("metadata") {
            None => Ok((names, Map::new())),
            Some(Value::Object(metadata)) => Ok((names, metadata.clone())),
            Some(other) => bad(format_args!("`{LIST}` has the metadata {other}, not an object")),
        }
    }

    /// Compares checksums of what is read in parts.
    pub(super) fn verify(&mut self) -> Res<()> {
        self.store.verify()
    }

    /// An array of the tensor, by what the store calls it; it is asked for once.
    fn array(&mut self, stored: &str) -> Res<Option<&Stored>> {
        if !self.found.contains(stored) {
            let path = if stored.is_empty() { self.name.clone() } else { join(&self.name, stored) };
            let Some(node) = node::read(&mut self.store, &path)? else { return Ok(None) };
            let Some(said) = node.array else { return bad(format_args!("{path:?} is a group, not an array")) };
            let found = said.understood().and_then(|array| Stored::of(&mut self.store, &path, array));
            self.found.insert(stored, found.map_err(|fault| fault.within(&path))?);
        }
        Ok(self.found.get(stored))
    }

    /// What the store calls an array, and whether another library did.
    fn stored_name(&self, name: &str) -> (String, bool) {
        match self.foreign.as_ref().and_then(|foreign| foreign.arrays.get(name)) {
            Some(place) => (place.stored.clone(), true),
            None => (name.to_owned(), false),
        }
    }
}

impl Container for Zarr<'_> {
    fn foreign(&self) -> Option<String> {
        self.foreign.as_ref().map(|foreign| foreign.kind.clone())
    }

    fn descriptor(&mut self, mode: Mode, warnings: &mut Vec<Warning>) -> Res<String> {
        self.foreign = None;
        let Some(node) = node::read(&mut self.store, &self.name)? else {
            return bad(format_args!("there is no group and no array {:?}", self.name));
        };
        match node.attributes.get(NAME).filter(|_| node.array.is_none()) {
            Some(Value::String(text)) if mode == Mode::Lenient => {
                warnings.push(Warning::DescriptorForm("text"));
                return Ok(text.clone());
            }
            Some(said @ Value::Object(_)) => return Ok(said.to_string()),
            Some(_) => return bad("the attribute `binsparse` is not a JSON object"),
            None => {}
        }
        let found = find::foreign(self, &node)?;
        Ok(self.foreign.insert(found).text.clone())
    }
}

impl Arrays for Zarr<'_> {
    fn packed(&mut self, name: &str) -> Option<u64> {
        let (stored, _) = self.stored_name(name);
        let found = self.array(&stored).ok()??;
        found.array.codecs.packs().then_some(found.bytes)
    }

    fn info(&mut self, name: &str) -> Res<Option<ArrayInfo>> {
        let (stored, is_foreign) = self.stored_name(name);
        let Some(found) = self.array(&stored)? else { return Ok(None) };
        let (dtype, len) = (found.array.dtype, found.array.len()?);
        if is_foreign {
            // Half precision of 16 bits is binsparse's `uint16`.
            let dtype = if dtype == DType::BF16 { raw(dtype) } else { dtype };
            return Ok(Some(foreign::info(dtype, len)));
        }
        match &found.array.shape[..] {
            [_] => Ok(Some(ArrayInfo { dtype, len })),
            shape => bad(format_args!("`{name}` has shape {shape:?}, not one axis")),
        }
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        let (stored, is_foreign) = self.stored_name(name);
        if self.array(&stored)?.is_none() {
            return bad(format_args!("the array `{stored}` is missing"));
        }
        let Zarr { store, found, .. } = self;
        let Some(found) = found.get(&stored) else { return bad(format_args!("the array `{stored}` is missing")) };
        let dtype = found.array.dtype;
        // Complex numbers come as pairs.
        let number = if is_foreign { raw(dtype).size() } else { dtype.size() };
        let Some(from) = start.checked_mul(number as u64) else { return bad("a part of an array lies outside it") };
        found.read(store, from, out, tell)
    }
}
