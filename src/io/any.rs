//! Any file: which format it has, and the reader or writer for it.

use std::fmt;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use serde_json::{Map, Value};

use super::input::{Input, Spool};
use super::state_dict::{Archive, StateDict};
use super::warning::Warning;
use super::{ReadOptions, WriteOptions, anndata, binsparse, frostt, matrix_market, numpy, pydata, scipy, sscdf};
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
    /// Binsparse in Zarr: a folder `.zarr`, or an archive of one, `.zarr.zip`. Matrices of AnnData and plain arrays in Zarr
    /// are read.
    Zarr,
    /// Binsparse in a folder of `.npy` files, as Finch has it: `.bspnpy`.
    NpyFolder,
    /// sscdf 1.0, which is netCDF-4: `.sscdf`.
    Sscdf,
    /// Matrices of AnnData in HDF5: `.h5ad`; written where it is asked for also in Zarr (`.zarr`).
    AnnData,
    /// One array of NumPy: `.npy`.
    Npy,
    /// Arrays of NumPy by name: `.npz`.
    NumpyNpz,
    /// What `scipy.sparse.save_npz` saves: `.npz`.
    ScipyNpz,
    /// What pydata/sparse's `save_npz` saves: `.npz`.
    PydataNpz,
    /// Named tensors in safetensors: `.safetensors`.
    Safetensors,
    /// Named tensors that PyTorch saved: `.pt`, `.pth`. Read, not written.
    Checkpoint,
}

const KNOWN: &str = ".mtx, .tns, .ttx (each also with .gz), .npz, .npy, .h5, .hdf5, .zarr, .zarr.zip, .bspnpy, .h5ad, .sscdf, .safetensors; to read also .pt and .pth, and .bz2 or .zst behind those of text";

/// What is written.
const WRITTEN: &str = ".mtx, .tns, .ttx (each also with .gz), .npz, .npy, .h5, .hdf5, .zarr, .zarr.zip, .bspnpy, .h5ad, .sscdf, .safetensors";

impl Format {
    /// The format that a file's name stands for; `None` if it stands for none.
    pub fn of_name(path: impl AsRef<Path>) -> Option<Format> {
        let name = path.as_ref().file_name()?.to_str()?.to_ascii_lowercase();
        let packed = [".gz", ".bz2", ".zst"].into_iter().find_map(|end| name.strip_suffix(end));
        let (name, packed) = packed.map_or((&*name, false), |name| (name, true));
        let format = match name.rsplit_once('.')?.1 {
            "mtx" => Format::MatrixMarket,
            "tns" => Format::Frostt,
            "ttx" => Format::TensorMarket,
            "npz" => Format::Npz,
            "h5" | "hdf5" => Format::Hdf5,
            "zarr" => Format::Zarr,
            "bspnpy" => Format::NpyFolder,
            "zip" if name.ends_with(".zarr.zip") => Format::Zarr,
            "h5ad" => Format::AnnData,
            "npy" => Format::Npy,
            "sscdf" => Format::Sscdf,
            "safetensors" => Format::Safetensors,
            "pt" | "pth" => Format::Checkpoint,
            _ => return None,
        };
        (!packed || format.is_text()).then_some(format)
    }

    /// The format that [`write()`] gives a file of this name.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the name stands for no format.
    pub fn of_name_to_write(path: impl AsRef<Path>) -> Result<Format> {
        let _call = trace::call("io::write", &[]);
        let path = path.as_ref();
        let format = Format::of_name(path).ok_or_else(|| unknown(path, ""))?;
        let ending = path.extension().and_then(|end| end.to_str()).unwrap_or_default().to_ascii_lowercase();
        if format == Format::Checkpoint || ending == "bz2" || ending == "zst" {
            let why = format!("files that end in .{ending} are read, not written; known to write are {WRITTEN}");
            return Err(error::invalid("path", why));
        }
        Ok(format)
    }

    /// The format that a file has: what it begins with decides, and its name where that is not enough. Of a pipe this
    /// takes the beginning away: [`read`] and its like find out by themselves what a pipe brings.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the file cannot be read; [`ErrorKind::Invalid`] if neither content nor name is known.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Format> {
        let _call = trace::call("io::read", &[]);
        Input::of_path(path.as_ref(), &ReadOptions::default()).map(|input| input.format)
    }

    /// Whether the file is text, one line per element.
    pub fn is_text(self) -> bool {
        matches!(self, Format::MatrixMarket | Format::Frostt | Format::TensorMarket)
    }

    /// Whether it is arrays in a container, which the reader of binsparse reads.
    pub(super) fn is_container(self) -> bool {
        !self.is_text() && !matches!(self, Format::Safetensors | Format::Checkpoint)
    }

    /// The format by what a file of this one says it is.
    pub(super) fn told_by(self, stored_as: &str) -> Format {
        match (self, stored_as.split([' ', '/']).next()) {
            (Format::Npz, Some("NumPy")) => Format::NumpyNpz,
            (Format::Npz, Some("SciPy")) => Format::ScipyNpz,
            (Format::Npz, Some("pydata")) => Format::PydataNpz,
            (Format::Hdf5, Some("sscdf")) => Format::Sscdf,
            (Format::Hdf5, Some("AnnData")) => Format::AnnData,
            _ => self,
        }
    }
}

impl FromStr for Format {
    type Err = error::Error;

    /// Reads the ending of file names, in any case: `mtx`, `tns`, `ttx`, `npz`, `npy`, `h5`, `hdf5`, `zarr`, `bspnpy`, `h5ad`, `sscdf`, `safetensors`.
    /// Of what others have in `.npz` files and in Zarr, their names: `numpy`, `scipy`, `pydata`, `anndata`.
    ///
    /// # Errors
    /// If the text is no such ending; the error lists them.
    fn from_str(text: &str) -> Result<Format> {
        let known = match text.to_ascii_lowercase().as_str() {
            "numpy" => Some(Format::NumpyNpz),
            "scipy" => Some(Format::ScipyNpz),
            "pydata" => Some(Format::PydataNpz),
            "anndata" => Some(Format::AnnData),
            _ => Format::of_name(format!("x.{text}")).filter(|_| !text.contains(['.', '/'])),
        };
        known.ok_or_else(|| {
            let _call = trace::call("Format::from_str", &[]);
            error::invalid("text", format_args!("{text:?} names no format; known are {KNOWN}"))
        })
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
            Format::Zarr => "Zarr",
            Format::NpyFolder => "binsparse NPY folder",
            Format::Sscdf => "sscdf",
            Format::AnnData => "AnnData",
            Format::Npy => "NumPy array",
            Format::NumpyNpz => "NumPy NPZ",
            Format::ScipyNpz => "SciPy NPZ",
            Format::PydataNpz => "pydata/sparse NPZ",
            Format::Safetensors => "safetensors",
            Format::Checkpoint => "PyTorch checkpoint",
        })
    }
}

#[cold]
pub(super) fn unknown(path: &Path, more: &str) -> error::Error {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    error::invalid("path", format_args!("the name {name:?} ends in no known extension{more}; known are {KNOWN}"))
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
    pub warnings: Vec<Warning>,
    /// What the file says beside the tensor: keys beside a binsparse descriptor, metadata of a safetensors file.
    pub metadata: Map<String, Value>,
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
    loaded(Input::of_path(path.as_ref(), options)?, options)
}

/// Reads a tensor from a stream: standard input, a socket, bytes in memory. What it begins with decides its format,
/// unless the options name one. Text is read as it comes; other formats, of which a reader needs one part before
/// another, are copied to a temporary file.
///
/// ```
/// use openwork::io::{self, Format, ReadOptions};
/// let text = b"1 1 0.5\n2 3 -4\n";
/// let options = ReadOptions { format: Some(Format::Frostt), ..Default::default() };
/// let x = io::read_from(&text[..], &options)?.tensor;
/// assert_eq!((x.shape(), x.nse()), (&[2, 3][..], 2));
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`read`]; if neither the options nor the first bytes tell the format.
pub fn read_from<'a>(stream: impl Read + 'a, options: &ReadOptions<'a>) -> Result<Loaded> {
    loaded(Input::of_stream(Box::new(stream), None, options)?, options)
}

pub(super) fn loaded<'a>(input: Input<'a>, options: &ReadOptions<'a>) -> Result<Loaded> {
    let mut format = input.format;
    let path = input.path.clone();
    let mut metadata = Map::new();
    let (tensor, warnings) = match format {
        Format::MatrixMarket => {
            let (source, path) = input.text(options);
            matrix_market::tensor_of(source, options.lenient, path.as_deref())?
        }
        Format::Frostt | Format::TensorMarket => {
            let (source, path) = input.text(options);
            frostt::tensor_of(source, options, path.as_deref())?
        }
        kind if kind.is_container() => {
            let (mut file, _spool) = binsparse::File::of_placed(input.placed(options)?, path)?;
            let reading = file.reading(options)?;
            format = format.told_by(&reading.descriptor.format);
            metadata = reading.descriptor.metadata;
            (reading.tensor, reading.warnings)
        }
        _ => {
            let (file, _spool) = input.placed(options)?.one_file()?;
            let archive = Archive::of_file(file, format, path.as_deref())?;
            let name = named(&archive, options.name)?;
            metadata = archive.metadata().clone();
            (archive.tensor_with(name, options)?, Vec::new())
        }
    };
    Ok(Loaded { tensor, format, warnings, metadata })
}

/// The name of the tensor to read: the one that is asked for, else the only one.
pub(super) fn named<'a>(archive: &'a Archive, name: Option<&'a str>) -> Result<&'a str> {
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

/// What NumPy calls an array without a name.
const ONLY: &str = "arr_0";

/// The name of a tensor that is alone in a file whose tensors have names.
const ALONE: &str = "tensor";

/// Writes a tensor to a file whose name gives the format (of Zarr, a folder), whole or not at all. In safetensors, which gives tensors
/// names, it is called `tensor`; in AnnData it is `X`.
///
/// # Errors
/// If the name stands for no format, or the format cannot hold the tensor: both before a byte is written. Then
/// [`ErrorKind::Io`] if the file cannot be written; the old file is then as it was. A file that the process may not write to is
/// not replaced, although that would take no more than the right to write to its folder.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_with(path, tensor, &WriteOptions::default())
}

/// Writes a tensor to a stream, in a format: standard output, a socket, a vector of bytes. The bytes are made in memory
/// first. Zarr, which is a folder, goes there as an archive of one.
///
/// ```
/// use openwork::io::{self, Format};
/// use openwork::{DType, Layout, Tensor};
/// let mut text = Vec::new();
/// io::write_to(&mut text, Format::Frostt, &Tensor::eye(2, DType::F64, Layout::Csr)?, &Default::default())?;
/// assert!(text.ends_with(b"1 1 1.0\n2 2 1.0\n"));
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the format cannot hold the tensor or does not have an option, before a byte is written; then [`ErrorKind::Io`]. Text is
/// not compressed.
pub fn write_to(
    mut stream: impl std::io::Write,
    format: Format,
    tensor: &Tensor,
    options: &WriteOptions<'_>,
) -> Result<()> {
    let _call = trace::call("io::write_to", &[]);
    options.check(format)?;
    if format.is_text() && options.compress {
        return Err(error::invalid("compress", format_args!("{format} text is not compressed on its way to a stream")));
    }
    let bytes = match format {
        Format::MatrixMarket => matrix_market::to_bytes(tensor, options)?,
        Format::Frostt | Format::TensorMarket => {
            frostt::to_bytes(tensor, &WriteOptions { format: Some(format), ..*options })?
        }
        Format::Npz => binsparse::to_bytes(tensor, options)?,
        Format::Hdf5 | Format::Zarr => {
            let write = |path: &Path| binsparse::write_with(path, tensor, options);
            let ending = if format == Format::Hdf5 { "h5" } else { "zarr.zip" };
            return by_way_of_a_file(&mut stream, ending, &write);
        }
        Format::Sscdf => {
            let write = |path: &Path| sscdf::write_with(path, tensor, options);
            return by_way_of_a_file(&mut stream, "sscdf", &write);
        }
        Format::AnnData => {
            let write = |path: &Path| anndata::write_with(path, tensor, options);
            return by_way_of_a_file(&mut stream, "h5ad", &write);
        }
        Format::Npy => numpy::to_bytes(tensor, options)?,
        Format::NumpyNpz => numpy::arrays_to_bytes(&numpy::named(&[(options.name.unwrap_or(ONLY), tensor)])?, options)?,
        Format::ScipyNpz => scipy::to_bytes(tensor, options)?,
        Format::PydataNpz => pydata::to_bytes(tensor, options)?,
        Format::Safetensors => alone(tensor, options)?.to_safetensors_with(options)?,
        Format::NpyFolder => {
            let why = "is a folder, which no stream holds; .npz has the same arrays in one file";
            return Err(error::invalid("format", format_args!("{format} {why}")));
        }
        Format::Checkpoint => {
            return Err(error::invalid(
                "format",
                format_args!("{format}s are read, not written; known to write are {WRITTEN}"),
            ));
        }
    };
    let written = stream.write_all(&bytes).and_then(|()| stream.flush());
    written.map_err(|source| ErrorKind::Io { path: "the stream".into(), source }.into())
}

/// HDF5, whose writer goes back and forth, and others that files alone are made of, by way of a temporary file.
fn by_way_of_a_file(stream: &mut dyn std::io::Write, ending: &str, write: &dyn Fn(&Path) -> Result<()>) -> Result<()> {
    let failed = |source| ErrorKind::Io { path: "the stream".into(), source };
    let (spool, file) = Spool::new(ending).map_err(failed)?;
    drop(file);
    write(&spool.path)?;
    let copied = std::fs::File::open(&spool.path).and_then(|mut file| std::io::copy(&mut file, stream));
    copied.and_then(|_| stream.flush()).map_err(|source| failed(source).into())
}

/// As [`write()`], with options.
///
/// # Errors
/// As [`write()`]; if the format does not have an option; if text is to be compressed and its name does not end in `.gz`.
pub fn write_with(path: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions<'_>) -> Result<()> {
    let _call = trace::call("io::write", &[]);
    let path = path.as_ref();
    let format = options.format.map_or_else(|| Format::of_name_to_write(path), Ok)?;
    if format.is_text() && options.compress && !super::text::sink::is_gzip(path) {
        let why = format!("{format} text is compressed if its name ends in .gz, which {} does not", path.display());
        return Err(error::invalid("compress", why));
    }
    options.check(format)?;
    match format {
        Format::MatrixMarket => matrix_market::write_with(path, tensor, options),
        Format::Frostt | Format::TensorMarket => {
            frostt::write_with(path, tensor, &WriteOptions { format: Some(format), ..*options })
        }
        Format::Npz | Format::Hdf5 | Format::Zarr | Format::NpyFolder => binsparse::write_with(path, tensor, options),
        Format::Sscdf => sscdf::write_with(path, tensor, options),
        Format::AnnData => anndata::write_with(path, tensor, options),
        Format::Npy => numpy::write_with(path, tensor, options),
        Format::NumpyNpz => numpy::write_all(path, &[(options.name.unwrap_or(ONLY), tensor)], options),
        Format::ScipyNpz => scipy::write_with(path, tensor, options),
        Format::PydataNpz => pydata::write_with(path, tensor, options),
        Format::Safetensors | Format::Checkpoint => alone(tensor, options)?.save_with(path, options),
    }
}

/// A model of one tensor.
fn alone(tensor: &Tensor, options: &WriteOptions<'_>) -> Result<StateDict> {
    let mut model = StateDict::new();
    model.insert(options.name.unwrap_or(ALONE), tensor.clone())?;
    Ok(model)
}
