//! Binsparse files: a JSON descriptor and named arrays, in HDF5 (`.h5`, `.hdf5`), NPZ (`.npz`) or Zarr (`.zarr`, a folder, and
//! `.zarr.zip`).
//!
//! Versions 0.1 and 0.1.0 of the text are read and written: every predefined format (`DVEC`, `DMATR`, `DMATC`,
//! `CVEC`, `CSR`, `CSC`, `DCSR`, `DCSC`, `COOR`, `COOC`) and custom levels, iso values, complex numbers, `bint8`, a
//! fill value, and symmetric matrices of which one triangle is stored; the other is added. A file that does not say what
//! unstored elements are is read with fill 0, as everyone reads it, and a fill of 0 is not written.
//!
//! **Strict** reading refuses what the text forbids. **Lenient** reading also takes older drafts and common
//! deviations, each with a [`Warning`]. Both check every index before a tensor is made of it, and ask for no more
//! memory than the file's bytes can stand for.
//!
//! Some tensors have no binsparse form: those with an undefined or array fill, half-precision dtypes, blocks,
//! unordered or repeated coordinates. Writing one is an error that names what would be lost; with
//! [`WriteOptions::extensions`] it is written in a name space of its own, which other readers refuse.
//!
//! Arrays that SciPy or pydata/sparse saved in an `.npz` file, sparse groups of AnnData (`.h5ad`, `.zarr`) and of 10x Genomics
//! (`.h5`) are read too: CSR, CSC, BSR, COO with any number of axes; entries may come in any order. So are plain arrays of
//! NumPy (`.npy`, `.npz`) and of Zarr, and objects of [sscdf](crate::io::sscdf).
//!
//! An HDF5 file or a Zarr store may hold many tensors, each in a group: [`write_all`], and [`File`] to read them one by one. [`info`]
//! reads descriptors alone, [`read_rows`] a range of rows.
//!
//! ```
//! use openwork::io::binsparse;
//! use openwork::{Layout, Tensor};
//!
//! let path = std::env::temp_dir().join(format!("openwork-doc-{}.npz", std::process::id()));
//! let x = Tensor::random([50, 40], 0.1, 0.0, Layout::Csr, 1)?;
//! binsparse::write(&path, &x)?;
//! let (y, descriptor) = (binsparse::read(&path)?, binsparse::info(&path)?);
//! assert_eq!((descriptor.format.as_str(), y.layout()), ("CSR", Layout::Csr));
//! assert_eq!(y.values::<f64>()?, x.values::<f64>()?);
//! # std::fs::remove_file(path).ok();
//! # Ok::<(), openwork::Error>(())
//! ```

pub(crate) mod arrays;
mod bundle;
mod check;
pub(in crate::io) mod copy;
pub(crate) mod descriptor;
mod dialect;
mod each;
pub(crate) mod export;
pub(crate) mod extension;
mod facts;
mod file;
mod foreign;
pub(in crate::io) mod hdf5;
pub(crate) mod json;
mod made;
pub(crate) mod map;
pub(in crate::io) mod npy;
mod npy_file;
pub(in crate::io) mod npy_folder;
mod npz;
mod place;
pub(crate) mod rows;
pub(crate) mod sizes;
mod symmetry;
mod trusted;
mod types;
pub(in crate::io) mod zarr;
pub(in crate::io) mod zip;

use crate::base::mapped::Mapped;
use std::io::BufWriter;
use std::ops::Range;
use std::path::Path;

use crate::base::error::{self, Result};
use crate::io::progress::Tell;
pub use crate::io::warning::Warning;
use crate::io::{Format, ReadOptions, WriteOptions, atomic};
use crate::tensor::Tensor;
use crate::tensor::trace;
pub use bundle::{read_bundle, write_bundle};
pub(in crate::io) use check::violations;
pub use descriptor::{Descriptor, FillKind};
pub use each::write_each;
use export::Export;
pub use file::{Entry, File};
use rows::Cut;
pub use trusted::read_trusted;
pub use types::{DataType, Symmetry, Triangle, Version};

/// How much a reader lets pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// What the text of binsparse 0.1 allows.
    #[default]
    Strict,
    /// Older drafts and common deviations too, each with a [`Warning`].
    Lenient,
}

/// What a file held.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The tensor.
    pub tensor: Tensor,
    /// What the file said about it.
    pub descriptor: Descriptor,
    /// What was let pass. Empty after strict reading.
    pub warnings: Vec<Warning>,
}

/// Reads a tensor, strictly.
///
/// # Errors
/// If the file cannot be read or breaks a rule of binsparse 0.1; see [`read_with`].
pub fn read(path: impl AsRef<Path>) -> Result<Tensor> {
    read_with(path, &ReadOptions::default()).map(|r| r.tensor)
}

/// Reads a tensor, and gives what else the file says.
///
/// Repeated coordinates, which strict reading refuses, mean their sum.
///
/// # Errors
/// If the file cannot be read, is no known container, or breaks a rule that the mode does not let pass.
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Loaded> {
    File::open(path)?.reading(options)
}

/// Reads a range of the outermost axis in memory, and nothing of the rest: rows of CSR and DMATR, columns of CSC and
/// DMATC, batches; blocks of BSR, which the range must not split. The descriptor that comes with it is the file's.
///
/// Cost: the pointers, indices and values of the range. In HDF5 chunks are unpacked whole.
///
/// # Errors
/// As [`read_with`], of what is read. If the first level is sparse (COO, DCSR, CSF), since nothing says where a row
/// begins; if a `structure` stands for the other triangle; if the range is out of range or splits a block; if an NPZ
/// file is compressed.
///
/// ```
/// use openwork::io::{ReadOptions, binsparse};
/// use openwork::{Layout, Tensor};
///
/// let path = std::env::temp_dir().join(format!("openwork-rows-{}.npz", std::process::id()));
/// let x = Tensor::random([1000, 40], 0.1, 0.0, Layout::Csr, 1)?;
/// binsparse::write(&path, &x)?;
/// let rows = binsparse::read_rows(&path, 200..210, &ReadOptions::default())?.tensor;
/// assert_eq!(rows.to_string(), x.narrow(200..210, 0)?.to_string());
/// # std::fs::remove_file(path).ok();
/// # Ok::<(), openwork::Error>(())
/// ```
pub fn read_rows(path: impl AsRef<Path>, range: Range<usize>, options: &ReadOptions<'_>) -> Result<Loaded> {
    File::open(path)?.load(options.name, options, Some(Cut::Rows(range)), Tensor::from_parts)
}

/// Reads a tensor from the bytes of a file.
///
/// # Errors
/// As [`read_with`].
pub fn read_bytes(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Loaded> {
    file::OpenContainer::of_bytes(bytes)
        .and_then(|mut opened| {
            opened.allow_libhdf5(options.allow_libhdf5);
            file::load(opened.select(options.name)?, options, None, Tensor::from_parts)
        })
        .map_err(|e| e.at(None))
}

/// Reads the descriptor alone, leniently. No array is read.
///
/// # Errors
/// If the file cannot be read, is no known container, or its descriptor cannot be understood.
pub fn info(path: impl AsRef<Path>) -> Result<Descriptor> {
    File::open(path)?.described(None)
}

/// Writes a tensor as binsparse; the extension of the path names the container: `.npz`, `.h5` or `.hdf5`, `.zarr` (a folder),
/// `.zarr.zip`, or `.bspnpy` (a folder too, of version 0.1 where none is asked for, for Finch reads no other).
///
/// The file appears whole or not at all: it is written beside its place and moved there. A folder takes the place of a Zarr
/// store alone. On Linux the two change places at once; elsewhere there is none for the moment between two moves.
///
/// # Errors
/// If binsparse 0.1 cannot hold the tensor (nothing is written then), or writing fails.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_with(path, tensor, &WriteOptions::default())
}

/// As [`write()`], with options.
///
/// # Errors
/// As [`write()`]; if an option is not one of the container.
pub fn write_with(path: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions<'_>) -> Result<()> {
    let path = path.as_ref();
    let kind = ContainerKind::of_path(path)?;
    kind.check(options)?;
    let export = Export::new(tensor, &kind.told(options), &options.said())?;
    let tell = Tell::new(options.progress, export.bytes());
    let written = match kind {
        ContainerKind::NpyFolder => {
            atomic::write_folder(path, &npy_folder::is_one, &mut |folder| npy_folder::write(folder, &export, &tell))
        }
        ContainerKind::Npz => atomic::write_about(path, export.bytes(), |file| {
            npz::write(BufWriter::new(file), &export, options.packed(), &tell)
        }),
        ContainerKind::Hdf5 => {
            let group = options.name.unwrap_or_default();
            file::check_name(group)?;
            write_hdf5(path, &[(group, export)], None, options)
        }
        ContainerKind::Zarr | ContainerKind::ZarrZip => {
            let group = options.name.unwrap_or_default();
            file::check_name(group)?;
            write_zarr(path, kind, (&[(group, export)], None), options)
        }
    };
    written.map(|()| tell.end())
}

/// Writes several tensors into one new HDF5 file or Zarr store, each in the group of its name, in an order that [`File::names`]
/// gives back. [`WriteOptions::metadata`] is what is said about all of them ([`File::metadata`]).
///
/// The file appears whole or not at all.
///
/// # Errors
/// If a name is given twice, is no path of names, or would lie inside a tensor; as [`write_with`].
pub fn write_all(path: impl AsRef<Path>, tensors: &[Entry], options: &WriteOptions<'_>) -> Result<()> {
    let _call = trace::call("binsparse::write_all", &[]);
    let path = path.as_ref();
    let kind = ContainerKind::of_path_of_several(path, options)?;
    let mut exports = Vec::with_capacity(tensors.len());
    for entry in tensors {
        file::check_name(entry.name)?;
        exports.push((entry.name, Export::new(entry.tensor, options, &entry.metadata)?));
    }
    let groups = file::Groups::of(exports.iter().map(|(name, _)| *name))?;
    exports.iter().try_for_each(|(name, export)| groups.check(name, export))?;
    let names: Vec<&str> = tensors.mapped(|e| e.name);
    let tell = Tell::new(options.progress, bytes(&exports));
    let list = serde_json::json!({ "tensors": names, "metadata": options.said() });
    let written = match kind {
        ContainerKind::Hdf5 => write_hdf5(path, &exports, Some(&list.to_string()), options),
        _ => write_zarr(path, kind, (&exports, Some(&list)), options),
    };
    written.map(|()| tell.end())
}

fn write_zarr(path: &Path, kind: ContainerKind, tensors: zarr::Tensors<'_>, options: &WriteOptions<'_>) -> Result<()> {
    check_zarr_names(tensors.0.iter().map(|(name, _)| *name))?;
    match kind {
        ContainerKind::ZarrZip => {
            atomic::write_about(path, bytes(tensors.0), |file| zarr::to_zip(BufWriter::new(file), tensors, options))
        }
        _ => atomic::write_folder(path, &zarr::is_store, &mut |folder| zarr::to_folder(folder, tensors, options)),
    }
}

fn check_zarr_names<'a>(mut names: impl Iterator<Item = &'a str>) -> Result<()> {
    let Some(why) = names.find_map(zarr::check_name) else { return Ok(()) };
    let _call = trace::call("binsparse::write", &[]);
    Err(error::invalid("name", why))
}

fn write_hdf5(path: &Path, tensors: &[(&str, Export)], list: Option<&str>, options: &WriteOptions<'_>) -> Result<()> {
    atomic::write_about(path, bytes(tensors), |file| hdf5::write(file, tensors, list, options))
}

fn bytes(tensors: &[(&str, Export)]) -> u64 {
    tensors.iter().map(|(_, export)| export.bytes()).sum()
}

/// The bytes of an NPZ file that holds a tensor.
///
/// # Errors
/// If binsparse 0.1 cannot hold the tensor; if an option is not one of NPZ.
pub fn to_bytes(tensor: &Tensor, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    ContainerKind::Npz.check(options)?;
    let export = Export::new(tensor, options, &options.said())?;
    let mut out = Vec::new();
    let tell = Tell::new(options.progress, export.bytes());
    let written = npz::write(&mut out, &export, options.packed(), &tell);
    written.map_err(|e| super::fault::Fault::from(e).at(None))?;
    tell.end();
    Ok(out)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContainerKind {
    Npz,
    Hdf5,
    Zarr,
    ZarrZip,
    NpyFolder,
}

impl ContainerKind {
    /// That of a file of several tensors.
    fn of_path_of_several(path: &Path, options: &WriteOptions<'_>) -> Result<ContainerKind> {
        let kind = ContainerKind::of_path(path)?;
        if matches!(kind, ContainerKind::Npz | ContainerKind::NpyFolder) {
            let why = format!(
                "{} holds one tensor; known containers of several are .h5, .hdf5, .zarr and .zarr.zip",
                kind.word()
            );
            return Err(error::invalid("path", why));
        }
        kind.check(options)?;
        if options.name.is_some() {
            let why = "every tensor has a name of its own; None is allowed";
            return Err(error::invalid("options.name", why));
        }
        Ok(kind)
    }

    /// The container that the extension of a path names.
    fn of_path(path: &Path) -> Result<ContainerKind> {
        let _call = trace::call("binsparse::write", &[]);
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "npz" => Ok(ContainerKind::Npz),
            "h5" | "hdf5" => Ok(ContainerKind::Hdf5),
            "zarr" => Ok(ContainerKind::Zarr),
            "bspnpy" => Ok(ContainerKind::NpyFolder),
            "zip" if Format::of_name(path) == Some(Format::Zarr) => Ok(ContainerKind::ZarrZip),
            _ => {
                let why = format!(
                    "the extension {extension:?} names no container; known are .npz, .h5, .hdf5, .zarr, .zarr.zip and .bspnpy"
                );
                Err(error::invalid("path", why))
            }
        }
    }

    /// What errors call a container of one tensor.
    fn word(self) -> &'static str {
        if self == ContainerKind::Npz { "NPZ" } else { "a folder of .npy files" }
    }

    /// The options, with the version that readers of the container ask for.
    fn told<'a>(self, options: &WriteOptions<'a>) -> WriteOptions<'a> {
        let version = options.version.or((self == ContainerKind::NpyFolder).then_some(Version::V0_1));
        WriteOptions { version, ..*options }
    }

    /// Refuses options that the container does not have.
    fn check(self, options: &WriteOptions<'_>) -> Result<()> {
        let _call = trace::call("binsparse::write", &[]);
        options.check(match self {
            ContainerKind::Npz => Format::Npz,
            ContainerKind::Hdf5 => Format::Hdf5,
            ContainerKind::Zarr | ContainerKind::ZarrZip => Format::Zarr,
            ContainerKind::NpyFolder => Format::NpyFolder,
        })
    }
}
