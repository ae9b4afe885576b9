//! Any file: which format it has, and the reader or writer for it.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::signature::{self, Signature};
use super::state_dict::{Archive, StateDict};
use super::{Progress, binsparse, frostt, matrix_market};
use crate::base::error::{self, ErrorKind, Result};
use crate::tensor::Tensor;
use crate::tensor::trace;

/// A file format that tensors are read from and written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Matrix Market: `.mtx`, `.mtx.gz`.
    MatrixMarket,
    /// FROSTT: `.tns`, `.tns.gz`.
    Frostt,
    /// TensorMarket: `.ttx`, `.ttx.gz`.
    TensorMarket,
    /// Binsparse in NPZ: `.npz`.
    Npz,
    /// Binsparse in HDF5: `.h5`, `.hdf5`.
    Hdf5,
    /// Named tensors in safetensors: `.safetensors`.
    Safetensors,
}

const KNOWN: &str = ".mtx, .tns, .ttx (each also with .gz), .npz, .h5, .hdf5, .safetensors";

impl Format {
    /// The format that a file's name stands for; `None` if it stands for none.
    pub fn of_name(path: impl AsRef<Path>) -> Option<Format> {
        let name = path.as_ref().file_name()?.to_str()?.to_ascii_lowercase();
        let (name, gzip) = name.strip_suffix(".gz").map_or((&*name, false), |name| (name, true));
        let format = match name.rsplit_once('.')?.1 {
            "mtx" => Format::MatrixMarket,
            "tns" => Format::Frostt,
            "ttx" => Format::TensorMarket,
            "npz" => Format::Npz,
            "h5" | "hdf5" => Format::Hdf5,
            "safetensors" => Format::Safetensors,
            _ => return None,
        };
        (!gzip || format.is_text()).then_some(format)
    }

    /// The format that [`write()`] gives a file of this name.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the name stands for no format.
    pub fn of_name_to_write(path: impl AsRef<Path>) -> Result<Format> {
        let _call = trace::call("io::write", &[]);
        let path = path.as_ref();
        Format::of_name(path).ok_or_else(|| unknown(path, ""))
    }

    /// The format that a file has: what it begins with decides, and its name where that is not enough.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the file cannot be read; [`ErrorKind::Invalid`] if neither content nor name is known.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Format> {
        let _call = trace::call("io::read", &[]);
        identify(path.as_ref()).map(|identified| identified.format)
    }

    /// Whether the file is text, one line per element.
    pub fn is_text(self) -> bool {
        matches!(self, Format::MatrixMarket | Format::Frostt | Format::TensorMarket)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Format::MatrixMarket => "Matrix Market",
            Format::Frostt => "FROSTT",
            Format::TensorMarket => "TensorMarket",
            Format::Npz => "binsparse NPZ",
            Format::Hdf5 => "binsparse HDF5",
            Format::Safetensors => "safetensors",
        })
    }
}

#[cold]
fn unknown(path: &Path, more: &str) -> error::Error {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    error::invalid("path", format!("the name {name:?} ends in no known extension{more}; known are {KNOWN}"))
}

/// An open file, and what was found at its beginning.
pub(super) struct Identified {
    pub(super) format: Format,
    pub(super) file: File,
    pub(super) signature: Option<Signature>,
}

/// Opens a file and finds out its format: what it begins with decides, and its name where that is not enough.
///
/// # Errors
/// As [`Format::of_file`].
pub(super) fn identify(path: &Path) -> Result<Identified> {
    let (file, signature, known) = opened(path).map_err(|source| ErrorKind::Io { path: path.to_owned(), source })?;
    let why = ", and the file begins like none of the known formats";
    match known.or_else(|| Format::of_name(path)) {
        Some(format) => Ok(Identified { format, file, signature }),
        None => Err(unknown(path, why)),
    }
}

fn opened(path: &Path) -> io::Result<(File, Option<Signature>, Option<Format>)> {
    let mut file = File::open(path)?;
    let (signature, mut start) = signature::find(&mut file)?;
    let format = match signature {
        Some(Signature::Zip) => Some(Format::Npz),
        Some(Signature::Hdf5(_)) => Some(Format::Hdf5),
        Some(Signature::Gzip) => {
            file.seek(SeekFrom::Start(0))?;
            start.clear();
            // Of a stream that is cut off or damaged the reader says so.
            let _ = MultiGzDecoder::new(&mut file).take(512).read_to_end(&mut start);
            banner(&start)
        }
        None => banner(&start),
    };
    Ok((file, signature, format))
}

/// The format of a text with a banner.
fn banner(start: &[u8]) -> Option<Format> {
    let mut words = start.trim_ascii_start().split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    if !words.next()?.eq_ignore_ascii_case(b"%%MatrixMarket") {
        return None;
    }
    let tensor = words.next().is_some_and(|object| object.eq_ignore_ascii_case(b"tensor"));
    Some(if tensor { Format::TensorMarket } else { Format::MatrixMarket })
}

/// How any file is read; each format takes what it knows of.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadOptions<'a> {
    /// Binsparse: accept older drafts and common deviations, each with a warning.
    pub lenient: bool,
    /// HDF5 and safetensors: the name of the tensor, as in `layers/0`. Without, a reader takes the one that has no name,
    /// or the only one; [`validate`](super::validate) takes all.
    pub name: Option<&'a str>,
    /// The shape of a `.tns` file, where the largest indices do not give it.
    pub shape: Option<&'a [usize]>,
    /// What the first index of an axis is written as in a `.tns` file.
    pub base: frostt::Base,
    /// Whether a `.tns` file starts with a line that holds the order and one that holds the shape.
    pub header: bool,
    /// The most bytes to accept: of text before and after decompression, of arrays together.
    pub max_bytes: Option<u64>,
    /// Progress callback; readers of binsparse and safetensors do not call it.
    pub progress: Option<Progress<'a>>,
}

impl<'a> ReadOptions<'a> {
    pub(super) fn matrix_market(&self) -> matrix_market::ReadOptions<'a> {
        matrix_market::ReadOptions { max_bytes: self.max_bytes, progress: self.progress }
    }

    pub(super) fn frostt(&self) -> frostt::ReadOptions<'a> {
        let ReadOptions { shape, base, header, max_bytes, progress, .. } = *self;
        frostt::ReadOptions { shape, base, header, max_bytes, progress }
    }

    pub(super) fn binsparse(&self) -> binsparse::ReadOptions {
        let mode = if self.lenient { binsparse::Mode::Lenient } else { binsparse::Mode::Strict };
        let group = self.name.map(str::to_owned);
        binsparse::ReadOptions { mode, group, max_bytes: self.max_bytes }
    }
}

/// What [`read_with`] found in a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The tensor.
    pub tensor: Tensor,
    /// The file's format.
    pub format: Format,
    /// What lenient reading let pass.
    pub warnings: Vec<binsparse::Warning>,
}

/// Reads a tensor from a file of any known format; what the file starts with decides which, else its name.
///
/// ```
/// use openwork::{Layout, Tensor, io};
/// let folder = std::env::temp_dir();
/// let x = Tensor::random([20, 30], 0.1, 0.0, Layout::Csr, 1)?;
/// for name in ["mtx", "mtx.gz", "ttx", "npz"] {
///     let path = folder.join(format!("openwork-any-{}.{name}", std::process::id()));
///     io::write(&path, &x)?;
///     assert_eq!(io::read(&path)?.to_layout(Layout::Csr)?.values::<f64>()?, x.values::<f64>()?);
/// #   std::fs::remove_file(&path).ok();
/// }
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read, has no known format, or breaks the rules of the one it has.
pub fn read(path: impl AsRef<Path>) -> Result<Tensor> {
    read_with(path, &ReadOptions::default()).map(|loaded| loaded.tensor)
}

/// As [`read`], with options.
///
/// # Errors
/// As [`read`].
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Loaded> {
    let path = path.as_ref();
    let Identified { format, file, signature } = identify(path)?;
    let mut warnings = Vec::new();
    let tensor = match format {
        Format::MatrixMarket => matrix_market::read_with(path, &options.matrix_market())?,
        Format::Frostt | Format::TensorMarket => frostt::read_with(path, &options.frostt())?,
        Format::Npz | Format::Hdf5 => {
            let reading = binsparse::File::of_file(file, path, signature)?.reading(&options.binsparse())?;
            warnings = reading.warnings;
            reading.tensor
        }
        Format::Safetensors => {
            let archive = Archive::open(path)?;
            archive.tensor(named(&archive, options.name)?)?
        }
    };
    Ok(Loaded { tensor, format, warnings })
}

/// The name of the tensor to read: the one that is asked for, else the only one.
fn named<'a>(archive: &'a Archive, name: Option<&'a str>) -> Result<&'a str> {
    let _call = trace::call("io::read", &[]);
    let mut names = archive.names();
    match (name, archive.len(), names.next()) {
        (Some(name), _, _) => Ok(name),
        (None, 1, Some(only)) => Ok(only),
        (None, count, _) => {
            let first: Vec<String> = archive.names().take(5).map(|name| format!("{name:?}")).collect();
            let why = format!("the file holds {count} tensors, name one of them: {}", first.join(", "));
            Err(error::invalid("name", why))
        }
    }
}

/// The name of a tensor that is alone in a file whose tensors have names.
const ALONE: &str = "tensor";

/// How any file is written; each format takes what it knows of.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteOptions<'a> {
    /// Binsparse: compress the arrays. Text is compressed if its name ends in `.gz`.
    pub compress: bool,
    /// Binsparse: allow what its text cannot say, in a form that other readers refuse.
    pub extensions: bool,
    /// Progress callback; writers of binsparse and safetensors do not call it.
    pub progress: Option<Progress<'a>>,
}

/// Writes a tensor to a file whose name gives the format, whole or not at all. In safetensors, which gives tensors
/// names, it is called `tensor`.
///
/// # Errors
/// If the name stands for no format, or the format cannot hold the tensor: both before a byte is written. Then
/// [`ErrorKind::Io`] if the file cannot be written; the old file is then as it was.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_with(path, tensor, &WriteOptions::default())
}

/// As [`write()`], with options.
///
/// # Errors
/// As [`write()`]; also if text is to be compressed and its name does not end in `.gz`.
pub fn write_with(path: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions<'_>) -> Result<()> {
    let _call = trace::call("io::write", &[]);
    let path = path.as_ref();
    let format = Format::of_name_to_write(path)?;
    if format.is_text() && options.compress && !super::text::sink::is_gzip(path) {
        let why = format!("{format} text is compressed if its name ends in .gz, which {} does not", path.display());
        return Err(error::invalid("compress", why));
    }
    let progress = options.progress;
    match format {
        Format::MatrixMarket => {
            matrix_market::write_with(path, tensor, &matrix_market::WriteOptions { progress, ..Default::default() })
        }
        Format::Frostt | Format::TensorMarket => {
            frostt::write_with(path, tensor, &frostt::WriteOptions { progress, ..Default::default() })
        }
        Format::Npz | Format::Hdf5 => {
            let WriteOptions { compress, extensions, .. } = *options;
            binsparse::write_with(path, tensor, &binsparse::WriteOptions { compress, extensions, ..Default::default() })
        }
        Format::Safetensors => {
            let mut model = StateDict::new();
            model.insert(ALONE, tensor.clone())?;
            model.save(path)
        }
    }
}
