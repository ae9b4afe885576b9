//! HDF5: a group per tensor, the descriptor as its attribute `binsparse`, a dataset per array.

mod dataset;
mod descriptor;
mod raw;
mod sscdf;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ::hdf5::{File, Group, IndexType, IterationOrder, LinkType, LocationType};
use serde_json::{Map, Value};

use super::arrays::{Arrays, Container, Info};
use super::fault::{Fault, Res, bad};
use super::warning::Warning;
use super::{Mode, json};
use descriptor::Found;
use sscdf::{Bitmap, Given};
pub(crate) use write::write;

/// Groups deeper than this are not looked into.
const MAX_DEPTH: usize = 64;

/// The attribute of the root that lists tensors in order, and holds what is said about all of them.
const LIST: &str = "openwork_tensors";

/// The names in a group, and what kind of link each is.
type Links = BTreeMap<String, LinkType>;

/// What libhdf5 says is wrong.
fn of<T>(result: ::hdf5::Result<T>) -> Res<T> {
    result.map_err(|e| Fault::Bad(format!("libhdf5: {e}")))
}

/// An open file, and the group that is being read.
pub(crate) struct H5 {
    file: File,
    /// Bytes of the file as they are on the disk.
    bytes: u64,
    group: Group,
    links: Links,
    /// Names of arrays in files of other formats, by binsparse's.
    aliases: BTreeMap<String, String>,
    /// Whether one element without an axis is an array.
    scalars: bool,
    /// Arrays that the file implies.
    given: BTreeMap<String, Given>,
    bitmap: Option<Bitmap>,
}

impl H5 {
    pub(crate) fn open(path: &Path) -> Res<H5> {
        let bytes = std::fs::metadata(path)?.len();
        H5::of_file(of(File::open(path))?, bytes)
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Res<H5> {
        H5::of_file(of(raw::open_bytes(bytes))?, bytes.len() as u64)
    }

    fn of_file(file: File, bytes: u64) -> Res<H5> {
        let group = of(file.group("/"))?;
        let links = links(&group)?;
        let (aliases, given) = Default::default();
        Ok(H5 { file, bytes, group, links, aliases, scalars: false, given, bitmap: None })
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
                    0 => return bad("no group has an attribute `binsparse` with a descriptor"),
                    1 => found = names.remove(0),
                    n => {
                        names.truncate(8);
                        return bad(format!("the file has {n} tensors, one must be named: {}", names.join(", ")));
                    }
                }
                &found
            }
        };
        self.enter(name)
    }

    fn enter(&mut self, name: &str) -> Res<()> {
        let mut group = of(self.file.group("/"))?;
        let mut links = links(&group)?;
        for part in name.split('/').filter(|p| !p.is_empty()) {
            match links.get(part) {
                Some(LinkType::Hard) if of(group.loc_type_by_name(part))? == LocationType::Group => {}
                Some(LinkType::Hard) => return bad(format!("{part:?} in the name {name:?} is not a group")),
                Some(_) => return bad(format!("{part:?} in the name {name:?} is a link that is not followed")),
                None => return bad(format!("there is no group {name:?}")),
            }
            group = of(group.group(part))?;
            links = self::links(&group)?;
        }
        (self.group, self.links) = (group, links);
        self.describe(Default::default());
        Ok(())
    }

    /// The tensors of the file, as listed by its writer, then by name. The root is called by no name.
    pub(crate) fn names(&mut self) -> Res<Vec<String>> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        self.look_into("", 0, &mut seen, &mut found)?;
        let (listed, _) = self.list()?;
        let rank: BTreeMap<&str, usize> = listed.iter().enumerate().map(|(i, n)| (n.as_str(), i)).collect();
        found.sort_by_key(|n| rank.get(n.as_str()).copied().unwrap_or(usize::MAX));
        Ok(found)
    }

    fn look_into(&mut self, path: &str, depth: usize, seen: &mut BTreeSet<String>, out: &mut Vec<String>) -> Res<()> {
        self.enter(path)?;
        // Groups may hold each other.
        if !seen.insert(format!("{:?}", of(self.group.loc_info())?.token)) {
            return Ok(());
        }
        if self.has_descriptor()? {
            out.push(path.to_owned());
        }
        let mut inner = Vec::new();
        for (name, link) in &self.links {
            // What cannot be opened is no group that holds a tensor.
            let is_group = *link == LinkType::Hard
                && self.group.loc_type_by_name(name).is_ok_and(|kind| kind == LocationType::Group);
            if is_group {
                inner.push(if path.is_empty() { name.clone() } else { format!("{path}/{name}") });
            }
        }
        if depth == MAX_DEPTH && !inner.is_empty() {
            return bad(format!("groups lie deeper than {MAX_DEPTH} in one another"));
        }
        for name in inner {
            self.look_into(&name, depth + 1, seen, out)?;
        }
        Ok(())
    }

    /// What the writer says about all tensors: their order, and metadata.
    pub(crate) fn list(&mut self) -> Res<(Vec<String>, Map<String, Value>)> {
        self.enter("")?;
        let Some(text) = descriptor::attribute(&self.group, LIST, &mut None)? else { return Ok(Default::default()) };
        let mut root = json::object(&text)?;
        let names = root.remove("tensors").and_then(|v| match v {
            Value::Array(names) => names.iter().map(|n| n.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>(),
            _ => None,
        });
        let Some(names) = names else { return bad(format!("`{LIST}` does not list names")) };
        match root.remove("metadata") {
            None => Ok((names, Map::new())),
            Some(Value::Object(metadata)) => Ok((names, metadata)),
            Some(other) => bad(format!("`{LIST}` has the metadata {other}, not an object")),
        }
    }

    fn describe(&mut self, found: Found) -> String {
        (self.aliases, self.scalars, self.given, self.bitmap) =
            (found.aliases, found.scalars, found.given, found.bitmap);
        found.text
    }

    fn has_descriptor(&self) -> Res<bool> {
        descriptor::is_there(&self.group, &self.links)
    }
}

fn links(group: &Group) -> Res<Links> {
    Ok(of(group.links(IndexType::Name, IterationOrder::Native))?.into_iter().map(|(n, i)| (n, i.link_type)).collect())
}

impl Container for H5 {
    fn descriptor(&mut self, mode: Mode, warnings: &mut Vec<Warning>) -> Res<String> {
        let found = descriptor::find(&self.group, &self.links, self.bytes, mode, warnings)?;
        Ok(self.describe(found))
    }
}

impl Arrays for H5 {
    fn info(&mut self, name: &str) -> Res<Option<Info>> {
        if let Some(bitmap) = self.bitmap.take() {
            self.given = bitmap.arrays(&self.group, &self.links, self.bytes)?;
        }
        if let Some(given) = self.given.get(name) {
            return Ok(Some(given.info()));
        }
        let stored = self.aliases.get(name).map_or(name, String::as_str);
        let Some(data) = dataset::open(&self.group, &self.links, stored)? else { return Ok(None) };
        Ok(Some(dataset::info(&data, stored, self.bytes, self.scalars)?.1))
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8]) -> Res<()> {
        if let Some(given) = self.given.get(name) {
            let from = start as usize * given.dtype.size();
            let Some(part) = given.bytes.get(from..).and_then(|b| b.get(..out.len())) else {
                return bad(format!("`{name}` has fewer entries than are read"));
            };
            out.copy_from_slice(part);
            return Ok(());
        }
        let stored = self.aliases.get(name).map_or(name, String::as_str);
        let Some(data) = dataset::open(&self.group, &self.links, stored)? else {
            return bad(format!("the array `{stored}` is missing"));
        };
        let (kind, info) = dataset::info(&data, stored, self.bytes, self.scalars)?;
        if u128::from(start) * info.dtype.size() as u128 + out.len() as u128 > info.bytes() {
            return bad(format!("`{stored}` has {} entries: fewer than are read", info.len));
        }
        of(raw::read(&data, kind, start, out))
    }
}
