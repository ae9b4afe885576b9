//! A file of tensors that are read when asked for.

use crate::base::mapped::Mapped;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value};

use super::bitmask::{self, Masked};
use super::entries::{self, Entries};
use super::{DESCRIPTOR, ModelFormat, OWN_KEY, StateDict};
use crate::Scalar;
use crate::base::buffer::Buffer;
use crate::base::error::{self, Error, ErrorKind, Result};
use crate::base::named::Named;
use crate::io::ReadOptions;
use crate::io::any::Format;
use crate::io::binsparse::descriptor::Descriptor;
use crate::io::binsparse::rows::Cut;
use crate::io::binsparse::{self, Mode, json};
use crate::io::checkpoint::{self, Checkpoint, Item};
use crate::io::fault::{Fault, Res, bad};
use crate::io::info::StoredArray;
use crate::io::input::Input;
use crate::io::progress::Tell;
use crate::io::safetensors::{ArrayEntry, DataPart, Directory, EntryType};
use crate::tensor::Tensor;
use crate::tensor::trace;

/// An open file of named tensors. Names, metadata and descriptors are known; the arrays of a tensor are read when it
/// is asked for.
#[derive(Debug)]
pub struct Archive {
    path: Option<PathBuf>,
    store: Store,
    tensors: Vec<(String, Stored)>,
    /// Where a name is in `tensors`.
    places: HashMap<String, usize>,
    metadata: Map<String, Value>,
}

/// The open file.
#[derive(Debug)]
enum Store {
    Safetensors {
        source: DataPart,
        entries: Entries,
    },
    /// A container of arrays; reading moves from tensor to tensor.
    Groups(Mutex<binsparse::File>),
    /// PyTorch's own format.
    Checkpoint(Checkpoint),
}

/// How a tensor is stored.
#[derive(Debug)]
enum Stored {
    /// One array; `complex`: real and imaginary parts along a last axis.
    Plain { entry: ArrayEntry, complex: bool },
    /// Constituent arrays.
    Described(Box<Descriptor>),
    /// Values and a bit per element.
    Masked(Box<Masked>),
    /// A group of that name.
    Group,
    /// A tensor of a checkpoint.
    Item(Box<Item>),
}

impl Archive {
    /// Opens a file that holds tensors by name: safetensors, PyTorch's (`.pt`, `.pth`), and every container of arrays, HDF5 and Zarr
    /// in any of their forms (binsparse, AnnData, 10x Genomics, sscdf), NPZ of NumPy. What it begins with tells the format, else
    /// its name. Arrays are read from it when a tensor is asked for, so the file must stay as it is until then. A file of one
    /// tensor without a name has the name `""`.
    ///
    /// # Errors
    /// If the file cannot be read or breaks a rule: arrays that overlap, leave gaps, reach beyond the end or do not
    /// have the bytes that type and shape need, names given twice, descriptors that are not binsparse or name arrays
    /// that are not there; if the format is not known, or is one of text; for HDF5, if only libhdf5 reads what the file uses; for PyTorch's files, if the pickle asks for anything but the functions that make tensors, or the file is of
    /// PyTorch before 1.6. No more memory is asked for than the file has bytes.
    pub fn open(path: impl AsRef<Path>) -> Result<Archive> {
        Archive::open_with(path, &ReadOptions::default())
    }

    /// As [`Archive::open`], with the format and the permission to use libhdf5 that the options give.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn open_with(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Archive> {
        let _call = trace::call("Archive::open", &[]);
        let path = path.as_ref();
        let format = match Input::of_path(path, options).map(|input| input.format) {
            // A model is called by its ending where nothing else tells.
            Err(error) if matches!(error.kind(), ErrorKind::Invalid { .. }) => {
                ModelFormat::of(path).map(|_| Format::Safetensors)?
            }
            found => found?,
        };
        match format {
            Format::Checkpoint => Archive::checkpoint(checkpoint::open(path), Some(path)),
            format if format.is_container() => Archive::groups(path, options),
            format if format.is_text() => {
                let why = format!("{format} holds one tensor without a name; io::read reads it");
                Err(error::invalid("path", why))
            }
            _ => Archive::new(DataPart::open(path), Some(path)),
        }
    }

    /// An open file of the safetensors format or of PyTorch's, and what errors call it.
    pub(in crate::io) fn of_file(file: std::fs::File, format: Format, path: Option<&Path>) -> Result<Archive> {
        let _call = trace::call("Archive::open", &[]);
        match format {
            Format::Checkpoint => Archive::checkpoint(checkpoint::open_file(file), path),
            _ => Archive::new(DataPart::file(file), path),
        }
    }

    /// The shape of a tensor that is one array, whatever its elements are.
    pub(in crate::io) fn shape(&self, name: &str) -> Option<Vec<u64>> {
        match self.find(name).ok()? {
            Stored::Plain { entry, .. } => Some(entry.shape.clone()),
            Stored::Masked(masked) => Some(masked.shape()),
            _ => None,
        }
    }

    /// What is stored of a tensor: the arrays of the file.
    pub(in crate::io) fn arrays(&self, name: &str) -> Vec<StoredArray> {
        let stored = |array: &str, entry: &ArrayEntry| StoredArray {
            name: array.to_owned(),
            dtype: match entry.kind {
                EntryType::Known(dtype) => dtype.to_string(),
                EntryType::Other(name, _) => name.to_owned(),
            },
            entries: entry.len(),
            bytes: entry.bytes(),
            packed: None,
        };
        match (self.find(name).ok(), &self.store) {
            (Some(Stored::Plain { entry, .. }), _) => vec![stored("values", entry)],
            (Some(Stored::Masked(masked)), _) => masked.arrays().mapped(|(array, entry)| stored(array, entry)),
            (Some(Stored::Described(descriptor)), Store::Safetensors { entries, .. }) => {
                let names = binsparse::map::array_names(descriptor);
                let entry = |array: String| entries.get(&format!("{name}.{array}")).map(|entry| stored(&array, entry));
                names.into_iter().filter_map(entry).collect()
            }
            (Some(Stored::Item(item)), _) => match item.strided() {
                Ok(Some((shape, dtype))) => {
                    let entries = shape.iter().fold(1_u64, |n, &size| n.saturating_mul(size));
                    let bytes = entries.saturating_mul(dtype.size() as u64);
                    let (name, dtype) = ("values".to_owned(), dtype.to_string());
                    vec![StoredArray { name, dtype, entries, bytes, packed: None }]
                }
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// Refuses a tensor whose arrays take more bytes than allowed. Groups are left to their own reader.
    pub(in crate::io) fn within_limit(&self, name: &str, limit: Option<u64>) -> Result<()> {
        let Some(limit) = limit else { return Ok(()) };
        let bytes = match self.find(name)? {
            Stored::Plain { entry, .. } => entry.bytes(),
            Stored::Described(descriptor) => {
                let arrays = descriptor.data_types.keys();
                let entry = |array| match &self.store {
                    Store::Safetensors { entries, .. } => entries.get(&format!("{name}.{array}")),
                    _ => None,
                };
                arrays.filter_map(entry).map(ArrayEntry::bytes).sum()
            }
            Stored::Item(_) | Stored::Masked(_) => self.arrays(name).iter().map(|array| array.bytes).sum(),
            Stored::Group => 0,
        };
        if bytes > limit {
            let fault = Fault::Large(format!("the arrays take {bytes} bytes, {limit} are allowed"));
            return Err(self.within(name, fault));
        }
        Ok(())
    }

    /// A file of PyTorch's (`.pt`) in memory.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn from_checkpoint(bytes: Vec<u8>) -> Result<Archive> {
        let _call = trace::call("Archive::from_checkpoint", &[]);
        Archive::checkpoint(checkpoint::open_bytes(bytes), None)
    }

    fn checkpoint(opened: Res<checkpoint::Opened>, path: Option<&Path>) -> Result<Archive> {
        let named = |opened: checkpoint::Opened| {
            let tensors: Vec<(String, Stored)> =
                opened.tensors.into_iter().map(|(name, item)| (name, Stored::Item(Box::new(item)))).collect();
            let places = places(&tensors);
            if places.len() < tensors.len() {
                return bad("two tensors of one name: the keys on the way to them, joined by dots, are the same");
            }
            Ok((tensors, places, opened.metadata, opened.checkpoint))
        };
        let (tensors, places, metadata, checkpoint) = opened.and_then(named).map_err(|e| e.of(CHECKPOINT, path))?;
        let store = Store::Checkpoint(checkpoint);
        Ok(Archive { path: path.map(Path::to_owned), store, tensors, places, metadata })
    }

    fn groups(path: &Path, options: &ReadOptions<'_>) -> Result<Archive> {
        let mut file = binsparse::File::open(path)?.allow_libhdf5(options.allow_libhdf5);
        let tensors: Vec<(String, Stored)> = file.names()?.into_iter().map(|name| (name, Stored::Group)).collect();
        let metadata = file.metadata()?;
        let places = places(&tensors);
        Ok(Archive { path: Some(path.to_owned()), store: Store::Groups(Mutex::new(file)), tensors, places, metadata })
    }

    /// A file of the safetensors format in memory. Tensors share one copy of the bytes.
    ///
    /// # Errors
    /// As [`Archive::open`].
    pub fn from_safetensors(bytes: &[u8]) -> Result<Archive> {
        let _call = trace::call("Archive::map", &[]);
        let copy = Buffer::build(bytes.len(), |out| out.copy_from_slice(bytes))?;
        Archive::new(DataPart::memory(copy), None)
    }

    /// Maps a safetensors file into memory: its tensors, values and indices, are the file's pages, read by the system
    /// when they are touched, and shared with every process that maps it. Indices are checked once, when a tensor is
    /// asked for. Arrays that are not aligned in the file, which ours are, are copied.
    ///
    /// The map lives as long as a tensor of it. [`Archive::open`] is the safe way, and copies.
    ///
    /// # Errors
    /// As [`Archive::open`].
    ///
    /// # Safety
    /// Nobody may write to the file or cut it while the archive, or a tensor of it, lives. Saving over it is no such
    /// write: [`StateDict::save`] puts a new file in its place.
    #[allow(unsafe_code)] // maps a file; the block says why it is sound
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Archive> {
        let path = path.as_ref();
        if ModelFormat::of(path)? != ModelFormat::Safetensors {
            let why = "only .safetensors files lie in a map as tensors need them; use Archive::open";
            return Err(error::invalid("path", why));
        }
        let map = || -> std::io::Result<memmap2::Mmap> {
            let file = std::fs::File::open(path)?;
            // SAFETY: the caller promises that the file does not change.
            unsafe { memmap2::Mmap::map(&file) }
        };
        let map = match map() {
            Ok(map) => map,
            Err(e) => return Err(Fault::from(e).of("safetensors", Some(path))),
        };
        let (at, len) = (map.as_ptr(), map.len());
        // SAFETY: the pages stay where they are until the map is dropped, and the caller promises that nobody writes
        // them.
        let bytes = unsafe { Buffer::foreign(at, len, Box::new(map), false) };
        Archive::new(DataPart::memory(bytes), Some(path))
    }

    fn new(opened: Res<(DataPart, Directory)>, path: Option<&Path>) -> Result<Archive> {
        let archive = opened.and_then(|(source, header)| Archive::of(source, header));
        let mut archive = archive.map_err(|e| e.of("safetensors", path))?;
        archive.path = path.map(Path::to_owned);
        Ok(archive)
    }

    /// Finds out which arrays make which tensor.
    fn of(source: DataPart, mut header: Directory) -> Res<Archive> {
        let own = header.metadata.remove(OWN_KEY);
        let own = own.map_or_else(|| Ok(Own::default()), |text| Own::parse(&text))?;
        let order: Vec<String> = header.entries.mapped(|(name, _)| name.clone());
        let entries: Entries = header.entries.into_iter().collect();
        let mut described = Named::new();
        let mut parts = HashSet::new();
        let mut metadata = Map::new();
        for (key, text) in header.metadata.into_iter() {
            let Some(name) = key.strip_suffix(DESCRIPTOR) else {
                metadata.insert(key, Value::String(text));
                continue;
            };
            let within = |e: Fault| Fault::Bad(format!("the tensor {name:?}: {e}"));
            let descriptor = Descriptor::parse(&text, Mode::Strict, &mut Vec::new()).map_err(within)?;
            for array in descriptor.data_types.keys() {
                let part = format!("{name}.{array}");
                if !entries.contains_key(&part) {
                    return bad(format_args!("the tensor {name:?}: the array {part:?} is missing"));
                }
                parts.insert(part);
            }
            if entries.contains_key(name) {
                return bad(format_args!("{name:?} is both an array and a tensor made of several"));
            }
            described.insert(name, descriptor);
        }
        // A file that lists its tensors says itself what they are.
        let mut masked = Named::new();
        let weights = if own.order.is_empty() { bitmask::found(&entries) } else { Vec::new() };
        for (name, prefix) in weights {
            if entries.contains_key(&name) {
                return bad(format_args!("{name:?} is both an array and a weight with a bitmask"));
            }
            let within = |e: Fault| Fault::Bad(format!("the tensor {name:?}: {e}"));
            masked.insert(name.clone(), Masked::of(&prefix, &entries, &source).map_err(within)?);
            parts.extend(bitmask::PARTS.map(|part| format!("{prefix}.{part}")));
        }
        for key in own.json {
            let Some(Value::String(text)) = metadata.get(&key) else {
                return bad(format_args!("`{OWN_KEY}` says that the metadata {key:?} are JSON, which are not there"));
            };
            match serde_json::from_str(text) {
                Ok(value) => metadata.insert(key, value),
                Err(e) => return bad(format_args!("the metadata {key:?} are not JSON: {e}")),
            };
        }
        let mut tensors = Vec::new();
        let mut taken = HashSet::new();
        let rest: Vec<String> = order.into_iter().filter(|name| !parts.contains(name)).collect();
        let left = described.names().chain(masked.names()).map(str::to_owned).collect::<Vec<_>>();
        for (listed, name) in
            own.order.into_iter().map(|n| (true, n)).chain(rest.into_iter().chain(left).map(|n| (false, n)))
        {
            if taken.contains(&name) {
                if listed {
                    return bad(format_args!("`{OWN_KEY}` lists the tensor {name:?} twice"));
                }
                continue;
            }
            let stored = match described.remove(&name) {
                Some(descriptor) => Stored::Described(Box::new(descriptor)),
                None if masked.contains(&name) => match masked.remove(&name) {
                    Some(masked) => Stored::Masked(Box::new(masked)),
                    None => continue,
                },
                None => match entries.get(&name) {
                    Some(entry) => Stored::Plain { entry: entry.clone(), complex: own.complex.contains(&name) },
                    None => return bad(format_args!("`{OWN_KEY}` lists the tensor {name:?}, which is not there")),
                },
            };
            taken.insert(name.clone());
            tensors.push((name, stored));
        }
        if let Some(name) = own.complex.iter().find(|name| !taken.contains(*name)) {
            return bad(format_args!("`{OWN_KEY}` says that {name:?} is complex, which is not there"));
        }
        let places = places(&tensors);
        Ok(Archive { path: None, store: Store::Safetensors { source, entries }, tensors, places, metadata })
    }

    /// The names of the tensors, in the order in which they were saved; of files that do not say, in the order of
    /// their header.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tensors.iter().map(|(name, _)| name.as_str())
    }

    /// Number of tensors.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Whether there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// What is said about the whole.
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.metadata
    }

    /// What is known of a tensor before its arrays are read: shape, levels, dtype, fill.
    ///
    /// # Errors
    /// If there is no tensor of this name, or its element type is one that tensors do not have (`F8_E4M3` and its like).
    pub fn descriptor(&self, name: &str) -> Result<Descriptor> {
        let _call = trace::call("Archive::descriptor", &[]);
        match self.find(name)? {
            Stored::Described(descriptor) => Ok(Descriptor::clone(descriptor)),
            Stored::Plain { entry, complex } => {
                entries::plain_descriptor(entry, *complex).map_err(|e| self.within(name, e))
            }
            Stored::Masked(masked) => masked.descriptor().map_err(|e| self.within(name, e)),
            Stored::Group => match &self.store {
                Store::Groups(file) => lock(file).descriptor(name),
                _ => Err(missing(name, self.names())),
            },
            Stored::Item(item) => match item.strided().map_err(|e| self.within(name, e))? {
                Some((shape, dtype)) => Ok(entries::strided_descriptor(shape, dtype)),
                None => {
                    let text = self.tensor(name)?.to_binsparse_extended()?.descriptor.to_string();
                    Descriptor::parse(&text, Mode::Strict, &mut Vec::new()).map_err(|e| self.within(name, e))
                }
            },
        }
    }

    /// The one value of a tensor's unstored elements, if it is known that they have one.
    pub(in crate::io) fn fill(&self, name: &str) -> Result<Option<Scalar>> {
        match (self.find(name)?, &self.store) {
            (Stored::Described(descriptor), Store::Safetensors { source, entries }) => {
                entries::fill_value(name, descriptor, entries, source).map_err(|e| self.within(name, e))
            }
            (Stored::Group, Store::Groups(file)) => lock(file).fill(name),
            _ => Ok(None),
        }
    }

    /// Reads a tensor.
    ///
    /// # Errors
    /// If there is no tensor of this name, it has an element type that tensors do not have, or its arrays do not make
    /// a tensor: everything that [`Tensor::from_parts`] checks, and truth values other than 0 and 1.
    pub fn tensor(&self, name: &str) -> Result<Tensor> {
        self.tensor_with(name, &ReadOptions::default())
    }

    /// As [`Archive::tensor`], with options; [`ReadOptions::name`] is not looked at.
    ///
    /// # Errors
    /// As [`Archive::tensor`]; if the arrays take more than [`ReadOptions::max_bytes`].
    pub fn tensor_with(&self, name: &str, options: &ReadOptions<'_>) -> Result<Tensor> {
        let _call = trace::call("Archive::tensor", &[]);
        self.within_limit(name, options.max_bytes)?;
        self.read(name, self.find(name)?, options, None)
    }

    /// Reads a range of the outermost axis in memory, and nothing of the rest: rows of CSR and of strided tensors,
    /// columns of CSC, batches; blocks of BSR, which the range must not split. See
    /// [`read_rows`](binsparse::read_rows).
    ///
    /// Cost: the pointers, indices and values of the range.
    ///
    /// # Errors
    /// As [`Archive::tensor`], of what is read. If the first level is sparse (COO, DCSR, CSF), since nothing says where a
    /// row begins; if the range is out of range or splits a block.
    ///
    /// ```
    /// use openwork::io::state_dict::{Archive, StateDict};
    /// use openwork::{Layout, Tensor};
    ///
    /// let x = Tensor::random([1000, 40], 0.1, 0.0, Layout::Csr, 1)?;
    /// let mut model = StateDict::new();
    /// model.insert("embedding", x.clone())?;
    /// let archive = Archive::from_safetensors(&model.to_safetensors()?)?;
    /// let rows = archive.rows("embedding", 200..210)?;
    /// assert_eq!(rows.to_string(), x.narrow(200..210, 0)?.to_string());
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn rows(&self, name: &str, range: Range<usize>) -> Result<Tensor> {
        let _call = trace::call("Archive::rows", &[]);
        self.read(name, self.find(name)?, &ReadOptions::default(), Some(Cut::Rows(range)))
    }

    /// A part of a tensor.
    pub(in crate::io) fn part(&self, name: &str, cut: Cut) -> Result<Tensor> {
        self.read(name, self.find(name)?, &ReadOptions::default(), Some(cut))
    }

    /// A tensor, or a part of one.
    fn read(&self, name: &str, stored: &Stored, options: &ReadOptions<'_>, cut: Option<Cut>) -> Result<Tensor> {
        let _call = trace::call("Archive::tensor", &[]);
        let bytes = match stored {
            Stored::Plain { entry, .. } => entry.bytes(),
            Stored::Masked(masked) => masked.arrays().iter().map(|(_, entry)| entry.bytes()).sum(),
            Stored::Item(item) => item.bytes(),
            // Their reader tells by itself.
            Stored::Described(_) | Stored::Group => 0,
        };
        let tell = Tell::new(options.progress.filter(|_| bytes > 0), bytes);
        let (source, entries) = match &self.store {
            Store::Groups(file) => {
                let mut file = lock(file);
                return file.load(Some(name), options, cut, Tensor::from_parts).map(|loaded| loaded.tensor);
            }
            Store::Checkpoint(checkpoint) => {
                let Stored::Item(item) = stored else { return Err(missing(name, self.names())) };
                let range = rows(cut).map_err(|e| self.within(name, e))?;
                let read = checkpoint.read(item, range, &tell).map_err(|e| self.within(name, e))?;
                tell.end();
                return Ok(read);
            }
            Store::Safetensors { source, entries } => (source, entries),
        };
        let tensor = match stored {
            Stored::Described(descriptor) => entries::described(name, descriptor, entries, source, options, cut),
            Stored::Plain { entry, complex } => {
                rows(cut).and_then(|range| entries::plain(entry, *complex, source, range, &tell))
            }
            Stored::Masked(masked) => masked.read(source, cut, &tell),
            Stored::Group | Stored::Item(_) => return Err(missing(name, self.names())),
        };
        let tensor = tensor.map_err(|e| self.within(name, e))?;
        tell.end();
        Ok(tensor)
    }

    /// Reads all tensors.
    ///
    /// # Errors
    /// As [`Archive::tensor`].
    pub fn load(&self) -> Result<StateDict> {
        self.load_with(&ReadOptions::default())
    }

    /// As [`Archive::load`], with options, of which the progress counts tensors; [`ReadOptions::name`] is not looked at.
    ///
    /// # Errors
    /// As [`Archive::tensor_with`].
    pub fn load_with(&self, options: &ReadOptions<'_>) -> Result<StateDict> {
        let tell = Tell::new(options.progress, self.len() as u64);
        let options = &ReadOptions { progress: None, ..*options };
        let mut out = StateDict { metadata: self.metadata.clone(), ..StateDict::default() };
        for (name, stored) in &self.tensors {
            self.within_limit(name, options.max_bytes)?;
            out.insert(name.as_str(), self.read(name, stored, options, None)?)?;
            tell.more(1);
        }
        tell.end();
        Ok(out)
    }

    fn find(&self, name: &str) -> Result<&Stored> {
        let stored = self.places.get(name).and_then(|&at| self.tensors.get(at));
        stored.map(|(_, stored)| stored).ok_or_else(|| missing(name, self.names()))
    }

    fn within(&self, name: &str, fault: Fault) -> Error {
        let fault = match fault {
            Fault::Bad(why) | Fault::Large(why) => Fault::Bad(format!("the tensor {name:?}: {why}")),
            io => io,
        };
        let format = if matches!(self.store, Store::Checkpoint(_)) { CHECKPOINT } else { "safetensors" };
        fault.of(format, self.path.as_deref())
    }
}

/// What errors call PyTorch's format.
const CHECKPOINT: &str = "PyTorch checkpoint";

/// The range of rows that a part is; coordinates are listed by descriptors alone.
fn rows(cut: Option<Cut>) -> Res<Option<Range<usize>>> {
    match cut {
        None => Ok(None),
        Some(Cut::Rows(range)) => Ok(Some(range)),
        Some(Cut::Entries(_)) => bad("a strided tensor lists no coordinates"),
    }
}

/// Where each name is.
fn places(tensors: &[(String, Stored)]) -> HashMap<String, usize> {
    tensors.iter().enumerate().map(|(i, (name, _))| (name.clone(), i)).collect()
}

/// A thread that panicked while it read left the file in some group, nothing worse.
fn lock(file: &Mutex<binsparse::File>) -> MutexGuard<'_, binsparse::File> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The error for a name that is not there. It shows the first of those that are.
pub(super) fn missing<'a>(name: &str, names: impl ExactSizeIterator<Item = &'a str>) -> Error {
    let n = names.len();
    let first: Vec<String> = names.take(5).map(|n| format!("{n:?}")).collect();
    let more = if n > first.len() { format!(" and {} more", n - first.len()) } else { String::new() };
    let known = if n == 0 { "there are no tensors".into() } else { format!("known are {}{more}", first.join(", ")) };
    error::invalid("name", format_args!("{name:?} is not there; {known}"))
}

/// What the format has no words for.
#[derive(Default)]
struct Own {
    order: Vec<String>,
    json: Vec<String>,
    complex: HashSet<String>,
}

impl Own {
    fn parse(text: &str) -> Res<Own> {
        let map = json::object(text)?;
        let strings = |key: &str| -> Res<Vec<String>> {
            let Some(value) = map.get(key) else { return Ok(Vec::new()) };
            match json::strings(value) {
                Some(strings) => Ok(strings),
                None => bad(format_args!("`{OWN_KEY}` has `{key}`, which is not a list of strings")),
            }
        };
        if map.get("version").and_then(Value::as_str) != Some("1") {
            return bad(format_args!("`{OWN_KEY}` is of version {:?}; known is \"1\"", map.get("version")));
        }
        if let Some(key) = map.keys().find(|k| !["version", "order", "json", "complex"].contains(&k.as_str())) {
            return bad(format_args!("unknown key {key:?} in `{OWN_KEY}`"));
        }
        Ok(Own { order: strings("order")?, json: strings("json")?, complex: strings("complex")?.into_iter().collect() })
    }
}
