//! Binsparse files: a JSON descriptor and named arrays, in an NPZ container (`.npz`).
//!
//! Versions 0.1 and 0.1.0 of the text are read and written: every predefined format (`DVEC`, `DMATR`, `DMATC`,
//! `CVEC`, `CSR`, `CSC`, `DCSR`, `DCSC`, `COOR`, `COOC`) and custom levels, iso values, complex numbers, `bint8`, a
//! fill value, and structured matrices, whose other triangle is added. A file that does not say what unstored elements
//! are is read with fill 0, as everyone reads it, and a fill of 0 is not written.
//!
//! **Strict** reading refuses what the text forbids. **Lenient** reading also takes older drafts and common
//! deviations, each with a [`Warning`]. Both check every index before a tensor is made of it, and ask for no more
//! memory than the file's bytes can stand for.
//!
//! Some tensors have no binsparse form: those with an undefined or array fill, half-precision dtypes, blocks,
//! unordered or repeated coordinates. Writing one is an error that names what would be lost; with
//! [`Options::extensions`] it is written in a name space of its own, which other readers refuse.
//!
//! ```
//! use openwork::io::binsparse;
//! use openwork::{Layout, Tensor};
//!
//! let path = std::env::temp_dir().join(format!("openwork-doc-{}.npz", std::process::id()));
//! let x = Tensor::random(&[50, 40], 0.1, 0.0, Layout::Csr, 1)?;
//! binsparse::write(&path, &x)?;
//! let (y, descriptor) = (binsparse::read(&path)?, binsparse::info(&path)?);
//! assert_eq!((descriptor.format.as_str(), y.layout()), ("CSR", Layout::Csr));
//! assert_eq!(y.values::<f64>()?, x.values::<f64>()?);
//! # std::fs::remove_file(path).ok();
//! # Ok::<(), openwork::Error>(())
//! ```

mod arrays;
mod descriptor;
mod dialect;
mod export;
mod extension;
mod fault;
mod json;
mod map;
mod npy;
mod npz;
mod sizes;
mod structure;
mod types;
mod warning;
mod zip;

use std::fs::File;
use std::io::{BufReader, BufWriter, Cursor, Read, Seek};
use std::path::Path;

use crate::Tensor;
use crate::error::{self, Result};
use crate::io::atomic;
pub use descriptor::{Descriptor, FillKind};
use export::Export;
use fault::{Res, bad};
pub use types::{DataType, Structure, Triangle, Version};
pub use warning::Warning;

/// How much a reader lets pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// What the text of binsparse 0.1 allows.
    #[default]
    Strict,
    /// Older drafts and common deviations too, each with a [`Warning`].
    Lenient,
}

/// How to read or write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// Reading: how much to let pass.
    pub mode: Mode,
    /// Reading: most bytes that the arrays may take together; `None` (the default) sets no bound.
    pub max_bytes: Option<u64>,
    /// Writing: the version to claim; `None` (the default) is the one that readers of the container ask for (`0.1.0`
    /// for NPZ).
    pub version: Option<Version>,
    /// Writing: pack the arrays with deflate.
    pub compress: bool,
    /// Writing: allow what binsparse 0.1 cannot say, in a form that other readers refuse.
    pub extensions: bool,
    /// Writing: keys to put beside the descriptor.
    pub metadata: serde_json::Map<String, serde_json::Value>,
}

/// What a file held.
#[derive(Clone, Debug)]
pub struct Reading {
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
    read_with(path, &Options::default()).map(|r| r.tensor)
}

/// Reads a tensor, and gives what else the file says.
///
/// Repeated coordinates, which strict reading refuses, mean their sum.
///
/// # Errors
/// If the file cannot be read, is no known container, or breaks a rule that the mode does not let pass.
pub fn read_with(path: impl AsRef<Path>, options: &Options) -> Result<Reading> {
    let path = path.as_ref();
    open(path).and_then(|file| read_from(file, options)).map_err(|e| e.at(Some(path)))
}

/// Reads a tensor from the bytes of a file.
///
/// # Errors
/// As [`read_with`].
pub fn read_bytes(bytes: &[u8], options: &Options) -> Result<Reading> {
    read_from(Cursor::new(bytes), options).map_err(|e| e.at(None))
}

/// Reads the descriptor alone, leniently.
///
/// # Errors
/// If the file cannot be read, is no known container, or its descriptor cannot be understood.
pub fn info(path: impl AsRef<Path>) -> Result<Descriptor> {
    let path = path.as_ref();
    let descriptor = || {
        let mut warnings = Vec::new();
        let text = container(open(path)?)?.descriptor(Mode::Lenient, &mut warnings)?;
        Descriptor::parse(&text, Mode::Lenient, &mut warnings)
    };
    descriptor().map_err(|e: fault::Fault| e.at(Some(path)))
}

/// Writes a tensor as binsparse; the extension of the path names the container (`.npz`).
///
/// The file appears whole or not at all: it is written beside its place and moved there.
///
/// # Errors
/// If binsparse 0.1 cannot hold the tensor (nothing is written then), or writing fails.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_with(path, tensor, &Options::default())
}

/// As [`write()`], with options.
///
/// # Errors
/// As [`write()`].
pub fn write_with(path: impl AsRef<Path>, tensor: &Tensor, options: &Options) -> Result<()> {
    let path = path.as_ref();
    known_container(path)?;
    let export = Export::new(tensor, options, options.version.unwrap_or(Version::V0_1_0))?;
    atomic::write(path, |file| npz::write(BufWriter::new(file), &export, options.compress))
}

/// The bytes of an NPZ file that holds a tensor.
///
/// # Errors
/// If binsparse 0.1 cannot hold the tensor.
pub fn to_bytes(tensor: &Tensor, options: &Options) -> Result<Vec<u8>> {
    let export = Export::new(tensor, options, options.version.unwrap_or(Version::V0_1_0))?;
    let mut out = Vec::new();
    let written = npz::write(&mut out, &export, options.compress);
    written.map_err(|e| fault::Fault::from(e).at(None))?;
    Ok(out)
}

/// Refuses a path whose extension names no container.
fn known_container(path: &Path) -> Result<()> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    if extension == "npz" {
        return Ok(());
    }
    let why = format!("the extension {extension:?} names no container; known is .npz");
    Err(error::invalid("binsparse::write", "path", why))
}

fn open(path: &Path) -> Res<BufReader<File>> {
    Ok(BufReader::new(File::open(path)?))
}

/// Chooses the container by its first bytes.
fn container<R: Read + Seek>(mut source: R) -> Res<npz::Npz<R>> {
    let mut magic = [0; 4];
    let mut n = 0;
    while let more @ 1.. = source.read(&mut magic[n..])? {
        n += more;
    }
    match &magic {
        b"PK\x03\x04" | b"PK\x05\x06" => npz::Npz::open(source),
        b"\x89HDF" => bad("an HDF5 file, which this build does not read"),
        _ => bad("neither ZIP (.npz) nor any other known container"),
    }
}

fn read_from<R: Read + Seek>(source: R, options: &Options) -> Res<Reading> {
    let mut container = container(source)?;
    let mut warnings = Vec::new();
    let text = container.descriptor(options.mode, &mut warnings)?;
    let descriptor = Descriptor::parse(&text, options.mode, &mut warnings)?;
    let reader = map::Reader { descriptor: &descriptor, arrays: &mut container, options, warnings: &mut warnings };
    let tensor = reader.tensor()?;
    Ok(Reading { tensor, descriptor, warnings })
}
