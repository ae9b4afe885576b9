//! An open file and the tensors in it.

use std::fmt;
use std::fs;
use std::io::{BufReader, Cursor, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::arrays::Container;
use super::descriptor::Descriptor;
use super::export::Export;
use super::hdf5::{Hdf5, MAX_DEPTH};
use super::npy_file::NpyFile;
use super::npy_folder::{self, NpyFolder};
use super::rows::Cut;
use super::zarr::{self, Zarr};
use super::zip::ZipReader;
use super::{Loaded, Mode, copy, facts, map, npz};
use crate::Scalar;
use crate::base::error::{self, Result};
use crate::base::named::Named;
use crate::io::ReadOptions;
use crate::io::fault::{Res, bad};
use crate::io::info::StoredArray;
use crate::io::input::{Placed, Spool};
use crate::io::signature::{self, Signature};
use crate::tensor::Tensor;
use crate::tensor::trace;

/// A tensor to be written under a name.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Names of groups, one inside the other, between slashes: `"layers/0"`. No name is the root.
    pub name: &'a str,
    /// The tensor.
    pub tensor: &'a Tensor,
    /// Keys to put beside its descriptor.
    pub metadata: Map<String, Value>,
}

impl<'a> Entry<'a> {
    /// A tensor and its name, without metadata.
    pub fn new(name: &'a str, tensor: &'a Tensor) -> Entry<'a> {
        Entry { name, tensor, metadata: Map::new() }
    }
}

/// An open binsparse file. Tensors are read when they are asked for; each call reads what it gives and no more.
///
/// ```
/// use openwork::io::binsparse::{self, Entry, File};
/// use openwork::{DType, Layout, Tensor};
///
/// let path = std::env::temp_dir().join(format!("openwork-file-{}.h5", std::process::id()));
/// let (weight, bias) = (Tensor::eye(4, DType::F32, Layout::Csr)?, Tensor::zeros([4], DType::F32, Layout::Strided)?);
/// let entries = [Entry::new("layer/weight", &weight), Entry::new("layer/bias", &bias)];
/// binsparse::write_all(&path, &entries, &Default::default())?;
///
/// let mut file = File::open(&path)?;
/// assert_eq!(file.names()?, ["layer/weight", "layer/bias"]);
/// assert_eq!(file.descriptor("layer/weight")?.format, "CSR");
/// assert_eq!(file.tensor("layer/bias")?.shape(), [4]);
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), openwork::Error>(())
/// ```
pub struct File {
    /// What errors call the file.
    path: Option<PathBuf>,
    opened: OpenContainer<'static>,
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("File").field("path", &self.path).finish_non_exhaustive()
    }
}

impl File {
    /// Opens a file, whatever its extension; its first bytes decide the container.
    ///
    /// # Errors
    /// If the file cannot be read or is no known container.
    pub fn open(path: impl AsRef<Path>) -> Result<File> {
        let path = path.as_ref();
        OpenContainer::of_path(path)
            .map_err(|fault| fault.at(Some(path)))
            .map(|opened| File { path: Some(path.to_owned()), opened })
    }

    /// Lets libhdf5 read what our own reader of HDF5 does not know, or not: for a file that was just opened, not. See
    /// [`ReadOptions::allow_libhdf5`].
    pub fn allow_libhdf5(mut self, allowed: bool) -> File {
        self.opened.allow_libhdf5(allowed);
        self
    }

    /// What a reader was given, and what errors call it. What comes beside it must be kept as long.
    pub(in crate::io) fn of_placed(placed: Placed, path: Option<PathBuf>) -> Result<(File, Option<Spool>)> {
        match OpenContainer::of_placed(placed) {
            Ok((opened, spool)) => Ok((File { path, opened }, spool)),
            Err(fault) => Err(fault.at(path.as_deref())),
        }
    }

    /// Bytes of the file, or of all files of a folder.
    pub(in crate::io) fn bytes(&mut self) -> Option<u64> {
        self.opened.bytes()
    }

    /// The names of the tensors: as their writer ordered them, then those it does not list by name. The root's is empty.
    ///
    /// # Errors
    /// If the file's groups cannot be read.
    pub fn names(&mut self) -> Result<Vec<String>> {
        self.opened.names().map_err(|e| e.at(self.path.as_deref()))
    }

    /// What was said about all tensors together ([`super::write_all`]). What was said about one is in its descriptor.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn metadata(&mut self) -> Result<Map<String, Value>> {
        let metadata: Res<Map<String, Value>> = match &mut self.opened {
            OpenContainer::Npz(_) | OpenContainer::Npy(_) | OpenContainer::NpyFolder(_) => Ok(Map::new()),
            OpenContainer::Hdf5(file) => file.list().map(|(_, metadata)| metadata),
            OpenContainer::Zarr(store) => store.list().map(|(_, metadata)| metadata),
        };
        metadata.map_err(|e| e.at(self.path.as_deref()))
    }

    /// The descriptor of a tensor, read leniently. No array is read.
    ///
    /// # Errors
    /// If there is no tensor of that name, or its descriptor cannot be understood.
    pub fn descriptor(&mut self, name: &str) -> Result<Descriptor> {
        self.described(Some(name))
    }

    /// The one value of a tensor's unstored elements, if its descriptor says that they have one; a format that stores all elements
    /// may have one too.
    ///
    /// # Errors
    /// As [`File::descriptor`]; if the array `fill_value` cannot be read.
    pub fn fill(&mut self, name: &str) -> Result<Option<Scalar>> {
        let descriptor = self.descriptor(name)?;
        let selected = self.opened.select(Some(name));
        selected.and_then(|container| fill_value(container, &descriptor)).map_err(|e| e.at(self.path.as_deref()))
    }

    /// How long each array of a tensor is; `None` where one is missing or packed.
    pub(in crate::io) fn lengths(&mut self, name: Option<&str>, d: &Descriptor) -> Result<Option<Vec<(String, u64)>>> {
        let found = self.opened.select(name).and_then(|container| {
            // A container finds arrays by the names of the descriptor that it gave last.
            container.descriptor(Mode::Lenient, &mut Vec::new())?;
            copy::lengths(container, d)
        });
        found.map_err(|e| e.at(self.path.as_deref()))
    }

    /// What errors call the file.
    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Compares the checksums of whole arrays, in a container that has them.
    pub(in crate::io) fn verify(&mut self) -> Result<()> {
        match &mut self.opened {
            OpenContainer::Npz(npz) => npz.verify().map_err(|e| e.at(self.path.as_deref())),
            OpenContainer::Zarr(store) => store.verify().map_err(|e| e.at(self.path.as_deref())),
            OpenContainer::Hdf5(_) | OpenContainer::Npy(_) | OpenContainer::NpyFolder(_) => Ok(()),
        }
    }

    /// The arrays of a tensor as they are stored, as far as the file tells without being read.
    pub(in crate::io) fn arrays(&mut self, name: &str, descriptor: &Descriptor) -> Vec<StoredArray> {
        let found = self.opened.select(Some(name)).and_then(|container| {
            // A container finds arrays by the names of the descriptor that it gave last.
            container.descriptor(Mode::Lenient, &mut Vec::new())?;
            let mut out = Vec::new();
            for name in map::array_names(descriptor) {
                let stored = descriptor.stored_names.get(&name).unwrap_or(&name).clone();
                let Some(info) = container.info(&stored)? else { continue };
                let bytes = u64::try_from(info.bytes()).unwrap_or(u64::MAX);
                let (dtype, packed) = (info.dtype.to_string(), container.packed(&stored));
                out.push(StoredArray { name, dtype, entries: info.len, bytes, packed });
            }
            Ok(out)
        });
        found.unwrap_or_default()
    }

    /// A tensor, read strictly.
    ///
    /// # Errors
    /// If there is no tensor of that name, or it breaks a rule of binsparse 0.1.
    pub fn tensor(&mut self, name: &str) -> Result<Tensor> {
        self.tensor_with(name, &ReadOptions::default()).map(|r| r.tensor)
    }

    /// A tensor and what the file says about it. [`ReadOptions::name`] is not looked at.
    ///
    /// # Errors
    /// As [`super::read_with`].
    pub fn tensor_with(&mut self, name: &str, options: &ReadOptions<'_>) -> Result<Loaded> {
        self.load(Some(name), options, None, Tensor::from_parts)
    }

    /// A range of rows of a tensor, or whatever its outermost axis in memory is.
    ///
    /// # Errors
    /// As [`super::read_rows`].
    pub fn rows(&mut self, name: &str, range: Range<usize>, options: &ReadOptions<'_>) -> Result<Loaded> {
        self.load(Some(name), options, Some(Cut::Rows(range)), Tensor::from_parts)
    }

    /// The tensor that the options name, or the only one.
    pub(in crate::io) fn reading(&mut self, options: &ReadOptions<'_>) -> Result<Loaded> {
        self.load(options.name, options, None, Tensor::from_parts)
    }

    pub(in crate::io) fn load(
        &mut self,
        name: Option<&str>,
        options: &ReadOptions<'_>,
        cut: Option<Cut>,
        make: map::Make,
    ) -> Result<Loaded> {
        if options.allow_libhdf5 {
            self.opened.allow_libhdf5(true);
        }
        let selected = self.opened.select(name);
        let loaded = selected.and_then(|container| load(container, options, cut, make));
        loaded.map_err(|e| e.of(self.opened.label(), self.path.as_deref()))
    }

    pub(in crate::io) fn described(&mut self, name: Option<&str>) -> Result<Descriptor> {
        let mut warnings = Vec::new();
        let found = self.opened.select(name).and_then(|container| {
            let text = container.descriptor(Mode::Lenient, &mut warnings)?;
            let descriptor = Descriptor::parse(&text, Mode::Lenient, &mut warnings)?;
            Ok(told(container, descriptor))
        });
        found.map_err(|e| e.of(self.opened.label(), self.path.as_deref()))
    }
}

/// The names of the tensors that were found, those that the writer lists first.
pub(super) fn in_order(mut listed: Vec<String>, found: Vec<String>) -> Vec<String> {
    let mut left = Named::new();
    for name in &found {
        left.insert(name.clone(), ());
    }
    listed.retain(|name| left.remove(name).is_some());
    listed.extend(found.into_iter().filter(|name| left.contains(name)));
    listed
}

/// The one value of unstored elements, read leniently.
fn fill_value(container: &mut dyn Container, descriptor: &Descriptor) -> Res<Option<Scalar>> {
    let options = ReadOptions { lenient: true, ..Default::default() };
    let warnings = &mut Vec::new();
    // A container finds arrays by the names of the descriptor that it gave last.
    container.descriptor(Mode::Lenient, warnings)?;
    let make: map::Make = Tensor::from_parts;
    map::TensorReader { descriptor, arrays: container, options: &options, warnings, make }.fill_value()
}

/// Reads a tensor, or a part of one.
pub(super) fn load(
    container: &mut dyn Container,
    options: &ReadOptions<'_>,
    cut: Option<Cut>,
    make: map::Make,
) -> Res<Loaded> {
    let mut warnings = Vec::new();
    let text = container.descriptor(options.mode(), &mut warnings)?;
    let descriptor = Descriptor::parse(&text, options.mode(), &mut warnings)?;
    let reader =
        map::TensorReader { descriptor: &descriptor, arrays: container, options, warnings: &mut warnings, make };
    let is_whole = cut.is_none();
    let tensor = reader.tensor(cut)?;
    if is_whole {
        facts::verify(&descriptor.facts, &tensor, options.mode(), &mut warnings)?;
    }
    Ok(Loaded { tensor, descriptor: told(container, descriptor), warnings })
}

/// The descriptor as callers see it: one that was made for arrays of others has a version that no file claims.
fn told(container: &dyn Container, descriptor: Descriptor) -> Descriptor {
    match container.foreign() {
        Some(format) => Descriptor { format, version: String::new(), ..descriptor },
        None => descriptor,
    }
}

/// What to say of a file that begins like no container.
fn unknown<T>(start: &[u8]) -> Res<T> {
    const NONE: &str = "neither ZIP (.npz) nor HDF5 nor any other known container";
    match (start.is_empty(), signature::foreign(start)) {
        (true, _) => bad("the file is empty"),
        (_, Some(kind)) => bad(format_args!("{NONE}: it begins like {kind}")),
        _ => bad(NONE),
    }
}

/// Bytes that can be read from any place.
pub(super) trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

/// An open container.
pub(super) enum OpenContainer<'a> {
    Npz(npz::Npz<Box<dyn ReadSeek + 'a>>),
    Npy(NpyFile<Box<dyn ReadSeek + 'a>>),
    Hdf5(Box<Hdf5<'a>>),
    Zarr(Box<Zarr<'a>>),
    NpyFolder(Box<NpyFolder>),
}

impl<'a> OpenContainer<'a> {
    /// An open file, by what it begins with.
    pub(super) fn of_file(
        mut file: fs::File,
        path: &Path,
        signature: Option<Signature>,
    ) -> Res<OpenContainer<'static>> {
        match signature {
            Some(Signature::Zip) => {
                file.seek(SeekFrom::Start(0))?;
                OpenContainer::zipped(Box::new(BufReader::new(file)))
            }
            Some(Signature::Npy) => OpenContainer::npy(Box::new(BufReader::new(file))),
            Some(Signature::Hdf5(base)) => Ok(OpenContainer::Hdf5(Box::new(Hdf5::of_file(file, path, base)?))),
            Some(Signature::Packed(_)) | None => unknown(&signature::find(&mut file)?.1),
        }
    }

    pub(super) fn of_path(path: &Path) -> Res<OpenContainer<'static>> {
        if path.is_dir() {
            return OpenContainer::of_folder(path);
        }
        let mut file = fs::File::open(path)?;
        let (signature, _) = signature::find(&mut file)?;
        OpenContainer::of_file(file, path, signature)
    }

    pub(super) fn of_bytes(bytes: &'a [u8]) -> Res<OpenContainer<'a>> {
        match signature::find(&mut Cursor::new(bytes))?.0 {
            Some(Signature::Zip) => OpenContainer::zipped(Box::new(Cursor::new(bytes))),
            Some(Signature::Npy) => OpenContainer::npy(Box::new(Cursor::new(bytes))),
            Some(Signature::Hdf5(base)) => Ok(OpenContainer::Hdf5(Box::new(Hdf5::of_bytes(bytes, base)?))),
            Some(Signature::Packed(_)) | None => unknown(bytes),
        }
    }

    /// What errors call what is in it: the library whose way of storing tensors it is.
    fn label(&self) -> &'static str {
        let foreign = match self {
            OpenContainer::Npy(_) => return "NumPy",
            OpenContainer::Npz(npz) => return npz.library().unwrap_or("binsparse"),
            OpenContainer::NpyFolder(_) => None,
            OpenContainer::Hdf5(file) => file.foreign(),
            OpenContainer::Zarr(store) => store.foreign(),
        };
        match foreign.as_deref().and_then(|word| word.split(' ').next()) {
            Some("AnnData") => "AnnData",
            Some("10x") => "10x Genomics",
            Some("sscdf") => "sscdf",
            Some("HDF5") => "HDF5",
            Some("Zarr") => "Zarr",
            _ => "binsparse",
        }
    }

    pub(super) fn allow_libhdf5(&mut self, allowed: bool) {
        if let OpenContainer::Hdf5(file) = self {
            file.allow_libhdf5(allowed);
        }
    }

    fn npy(source: Box<dyn ReadSeek + 'a>) -> Res<OpenContainer<'a>> {
        Ok(OpenContainer::Npy(NpyFile::open(source)?))
    }

    /// A store of Zarr, else arrays of NumPy.
    fn zipped(source: Box<dyn ReadSeek + 'a>) -> Res<OpenContainer<'a>> {
        let archive = ZipReader::open(source)?;
        Ok(match zarr::is_zipped(&archive) {
            true => OpenContainer::Zarr(Box::new(Zarr::of_zip(archive))),
            false => OpenContainer::Npz(npz::Npz::of(archive)),
        })
    }

    pub(super) fn of_folder(path: &Path) -> Res<OpenContainer<'static>> {
        if npy_folder::is_one(path) {
            return Ok(OpenContainer::NpyFolder(Box::new(NpyFolder::open(path))));
        }
        Ok(OpenContainer::Zarr(Box::new(Zarr::of_folder(path)?)))
    }

    /// What a reader was given: a file, or a folder.
    pub(super) fn of_placed(placed: Placed) -> Res<(OpenContainer<'static>, Option<Spool>)> {
        let Placed { file, path, signature, spool } = placed;
        let opened = match file {
            Some(file) => OpenContainer::of_file(file, &path, signature)?,
            None => OpenContainer::of_folder(&path)?,
        };
        Ok((opened, spool))
    }

    /// Bytes of all files of a folder.
    pub(super) fn bytes(&mut self) -> Option<u64> {
        match self {
            OpenContainer::Zarr(store) => store.bytes().ok(),
            OpenContainer::NpyFolder(folder) => folder.bytes().ok(),
            _ => None,
        }
    }

    /// The tensors in it.
    pub(super) fn names(&mut self) -> Res<Vec<String>> {
        match self {
            OpenContainer::Npz(npz) => Ok(npz.names()),
            OpenContainer::Npy(_) | OpenContainer::NpyFolder(_) => Ok(vec![String::new()]),
            OpenContainer::Hdf5(file) => file.names(),
            OpenContainer::Zarr(store) => store.names(),
        }
    }

    /// Goes to a tensor: the one of that name, or the only one.
    pub(super) fn select(&mut self, name: Option<&str>) -> Res<&mut dyn Container> {
        match self {
            OpenContainer::Npy(_) if !name.unwrap_or_default().is_empty() => bad(format_args!(
                "there is no array {:?}: the file holds one, without a name",
                name.unwrap_or_default()
            )),
            OpenContainer::NpyFolder(_) if !name.unwrap_or_default().is_empty() => bad(format_args!(
                "there is no tensor {:?}: the folder holds one, without a name",
                name.unwrap_or_default()
            )),
            OpenContainer::Npy(npy) => Ok(npy),
            OpenContainer::NpyFolder(folder) => Ok(&mut **folder),
            OpenContainer::Npz(npz) => {
                npz.select(name)?;
                Ok(npz)
            }
            OpenContainer::Hdf5(file) => {
                file.select(name)?;
                Ok(&mut **file)
            }
            OpenContainer::Zarr(store) => {
                store.select(name)?;
                Ok(&mut **store)
            }
        }
    }
}

fn refused<T>(why: String) -> Result<T> {
    let _call = trace::call("binsparse::write", &[]);
    Err(error::invalid("name", why))
}

/// Refuses what is no path of names. No name is the root.
pub(super) fn check_name(name: &str) -> Result<()> {
    let wrong = |part: &str| part.is_empty() || part == "." || part == ".." || part.contains('\0');
    if !name.is_empty() && name.split('/').any(wrong) {
        return refused(format!("{name:?} is not names between slashes, as \"a/b\""));
    }
    let depth = name.split('/').count();
    if depth > MAX_DEPTH {
        return refused(format!("{depth} names lie in one another; at most {MAX_DEPTH} are allowed"));
    }
    Ok(())
}

/// The groups that names lead to, and through.
pub(super) struct Groups<'a>(Named<&'a str>);

impl<'a> Groups<'a> {
    /// Refuses names given twice.
    pub(super) fn of(names: impl Iterator<Item = &'a str>) -> Result<Groups<'a>> {
        let mut seen = Named::new();
        let mut groups = Named::new();
        for name in names {
            if seen.insert(name, ()).is_some() {
                return refused(format!("{name:?} is given twice"));
            }
            for (at, _) in name.match_indices('/') {
                groups.insert(&name[..at], name);
            }
            groups.insert(name, name);
        }
        Ok(Groups(groups))
    }

    /// Refuses a tensor whose arrays would lie where another has its group.
    pub(super) fn check(&self, name: &str, export: &Export) -> Result<()> {
        for array in &export.arrays {
            let path = if name.is_empty() { array.name.clone() } else { format!("{name}/{}", array.name) };
            if self.0.contains(&path) {
                return refused(format!("{path:?} is an array of {name:?}, and cannot be a tensor too"));
            }
        }
        Ok(())
    }
}
