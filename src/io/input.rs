//! Where the bytes of a file come from: the file, which can be read at any place, or a stream, which comes once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::ReadOptions;
use super::any::{Format, unknown};
use super::atomic::Temporary;
use super::binsparse;
use super::signature::{self, Signature};
use super::text::source::{Opened, TextSource};
use crate::base::error::{self, ErrorKind, Result};

/// Bytes of a stream that are looked at to find out what it is.
const START: u64 = 512;

/// What is to be read, and the format that it has.
pub(super) struct Input<'a> {
    pub(super) format: Format,
    /// What errors call it; a stream may have no name.
    pub(super) path: Option<PathBuf>,
    bytes: Bytes<'a>,
}

enum Bytes<'a> {
    File {
        file: File,
        signature: Option<Signature>,
    },
    /// All of a stream: what was looked at comes again.
    Stream(Box<dyn Read + 'a>),
    Folder,
}

/// A file that can be read at any place, or a folder.
pub(super) struct Placed {
    /// None of a folder.
    pub(super) file: Option<File>,
    /// Where it is.
    pub(super) path: PathBuf,
    pub(super) signature: Option<Signature>,
    /// The file holds what a stream brought, and goes with this.
    pub(super) spool: Option<Spool>,
}

impl<'a> Input<'a> {
    /// Opens a file and finds out its format: what it begins with decides, and its name where that is not enough. A
    /// pipe is opened once, and nothing of it is lost.
    ///
    /// # Errors
    /// As [`Format::of_file`].
    pub(super) fn of_path(path: &Path, options: &ReadOptions<'_>) -> Result<Input<'a>> {
        let failed = |source| ErrorKind::Io { path: path.to_owned(), source };
        if fs::metadata(path).map_err(failed)?.is_dir() {
            return Input::of_folder(path, options);
        }
        let file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Input::of_stream(Box::new(file), Some(path), options);
        }
        let (mut file, signature, known) = looked_at(file).map_err(failed)?;
        // A checkpoint is a ZIP file as NPZ is; sscdf and AnnData are in HDF5.
        let named = Format::of_name(path);
        let known = match (known, named) {
            (_, Some(Format::Checkpoint))
            | (Some(Format::Npz), Some(Format::Zarr))
            | (Some(Format::Hdf5), Some(Format::Sscdf | Format::AnnData)) => None,
            (known, _) => known,
        };
        let Some(format) = options.format.or(known).or(named) else {
            let (_, start) = signature::find(&mut file).map_err(failed)?;
            return Err(match (start.is_empty(), signature::foreign(&start)) {
                (true, _) => unknown(path, ", and the file is empty"),
                (_, Some(kind)) => unreadable(path, kind),
                _ => unknown(path, ", and the file begins like none of the known formats"),
            });
        };
        Ok(Input { format, path: Some(path.to_owned()), bytes: Bytes::File { file, signature } })
    }

    /// A folder, which is a store of Zarr or binsparse in `.npy` files if it is anything.
    fn of_folder(path: &Path, options: &ReadOptions<'_>) -> Result<Input<'a>> {
        let known = match (binsparse::npy_folder::is_one(path), binsparse::zarr::is_store(path)) {
            (true, _) => Some(Format::NpyFolder),
            (false, true) => Some(Format::Zarr),
            (false, false) => None,
        };
        let Some(format) = known.filter(|known| options.format.is_none_or(|format| format == *known)) else {
            // What may not be looked into may be anything.
            fs::read_dir(path).map_err(|source| ErrorKind::Io { path: path.to_owned(), source })?;
            let why = "this is a directory, and no Zarr store, which has a zarr.json, nor has it a binsparse.json";
            let source = io::Error::new(io::ErrorKind::IsADirectory, why);
            return Err(ErrorKind::Io { path: path.to_owned(), source }.into());
        };
        Ok(Input { format, path: Some(path.to_owned()), bytes: Bytes::Folder })
    }

    /// Finds out the format of a stream by what it begins with, else by a name.
    ///
    /// # Errors
    /// As [`Format::of_file`].
    pub(super) fn of_stream(
        mut stream: Box<dyn Read + 'a>,
        path: Option<&Path>,
        options: &ReadOptions<'_>,
    ) -> Result<Input<'a>> {
        let mut start = Vec::new();
        let looked = stream.by_ref().take(START).read_to_end(&mut start);
        looked.map_err(|source| ErrorKind::Io { path: named(path), source })?;
        let named = || path.and_then(Format::of_name);
        let Some(format) = options.format.or_else(|| begins(&start)).or_else(named) else {
            return Err(match (start.is_empty(), signature::foreign(&start)) {
                (true, _) => error::invalid("format", "the stream is empty; say which format it has"),
                (_, Some(kind)) => error::invalid("path", format_args!("the stream begins like {kind}")),
                _ => {
                    let why = "the stream begins like none of the known formats; say which one it has";
                    error::invalid("format", why)
                }
            });
        };
        let all = Box::new(Cursor::new(start).chain(stream));
        Ok(Input { format, path: path.map(Path::to_owned), bytes: Bytes::Stream(all) })
    }

    /// Whether it can be opened again.
    pub(super) fn is_file(&self) -> bool {
        matches!(self.bytes, Bytes::File { .. })
    }

    /// Bytes of the file; `None` for streams.
    pub(super) fn len(&self) -> Option<u64> {
        match &self.bytes {
            Bytes::File { file, .. } => file.metadata().ok().map(|metadata| metadata.len()),
            Bytes::Stream(_) | Bytes::Folder => None,
        }
    }

    /// The text that it is, block by block, and its name.
    pub(super) fn text(self, options: &ReadOptions<'a>) -> (Opened<'a>, Option<PathBuf>) {
        let ReadOptions { max_bytes, progress, .. } = *options;
        let source = match self.bytes {
            Bytes::File { file, .. } => TextSource::file(file, max_bytes, progress),
            Bytes::Stream(stream) => TextSource::stream(stream, max_bytes, progress),
            // Nobody asks for a folder's text: its format is none of text.
            Bytes::Folder => TextSource::stream(Box::new(io::empty()), max_bytes, progress),
        };
        (source, self.path)
    }

    /// A file that can be read at any place: a stream is copied to a temporary one.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the stream cannot be read or the copy not be written; [`ErrorKind::Invalid`] if it has more
    /// bytes than the options allow.
    pub(super) fn placed(self, options: &ReadOptions<'_>) -> Result<Placed> {
        match self.bytes {
            Bytes::File { file, signature } => {
                let path = self.path.unwrap_or_default();
                Ok(Placed { file: Some(file), path, signature, spool: None })
            }
            Bytes::Folder => {
                Ok(Placed { file: None, path: self.path.unwrap_or_default(), signature: None, spool: None })
            }
            Bytes::Stream(stream) => {
                let failed = |source| ErrorKind::Io { path: named(self.path.as_deref()), source };
                let (spool, file) = Spool::of(stream, options.max_bytes).map_err(failed)?;
                let Some(file) = file else {
                    let limit = options.max_bytes.unwrap_or_default();
                    let why = format!("the stream brings more than the {limit} bytes that are allowed");
                    return Err(error::invalid("max_bytes", why));
                };
                let (file, signature, _) = looked_at(file).map_err(failed)?;
                Ok(Placed { file: Some(file), path: spool.path.clone(), signature, spool: Some(spool) })
            }
        }
    }
}

impl Placed {
    /// The file that it is.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if it is a folder.
    pub(super) fn one_file(self) -> Result<(File, Option<Spool>)> {
        match self.file {
            Some(file) => Ok((file, self.spool)),
            None => Err(error::invalid("path", format_args!("{} is a folder", self.path.display()))),
        }
    }
}

/// The error for a file of a kind that is known and not read.
#[cold]
fn unreadable(path: &Path, kind: &str) -> error::Error {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    error::invalid("path", format_args!("{name:?} begins like {kind}"))
}

/// What errors call a stream.
fn named(path: Option<&Path>) -> PathBuf {
    path.map_or_else(|| PathBuf::from("the stream"), Path::to_owned)
}

/// What a file begins with, and the format that this tells.
fn looked_at(mut file: File) -> io::Result<(File, Option<Signature>, Option<Format>)> {
    let (signature, mut start) = signature::find(&mut file)?;
    let format = match signature {
        Some(Signature::Zip) => Some(zipped(&start)),
        Some(Signature::Npy) => Some(Format::Npy),
        Some(Signature::Hdf5(_)) => Some(Format::Hdf5),
        Some(Signature::Packed(packing)) => {
            file.seek(SeekFrom::Start(0))?;
            start.clear();
            // Of a stream that is cut off or damaged the reader says so.
            let _ = packing.unpacked(&mut file).take(START).read_to_end(&mut start);
            banner(&start)
        }
        None => banner(&start),
    };
    file.seek(SeekFrom::Start(0))?;
    Ok((file, signature, format))
}

/// The format that the first bytes tell.
fn begins(start: &[u8]) -> Option<Format> {
    let (signature, _) = signature::find(&mut Cursor::new(start)).ok()?;
    match signature {
        Some(Signature::Zip) => Some(zipped(start)),
        Some(Signature::Npy) => Some(Format::Npy),
        Some(Signature::Hdf5(_)) => Some(Format::Hdf5),
        Some(Signature::Packed(packing)) => {
            let mut text = Vec::new();
            let _ = packing.unpacked(start).take(START).read_to_end(&mut text);
            banner(&text)
        }
        None if start.get(8) == Some(&b'{') && start.get(5..8) == Some(&[0; 3]) => Some(Format::Safetensors),
        None => banner(start),
    }
}

/// The format of an archive, by the name of its first member.
fn zipped(start: &[u8]) -> Format {
    let len = start.get(26..28).map_or(0, |len| usize::from(u16::from_le_bytes([len[0], len[1]])));
    let name = start.get(30..30 + len).unwrap_or_default();
    let is_metadata =
        [&b"zarr.json"[..], b".zgroup", b".zarray", b".zattrs", b".zmetadata"].iter().any(|end| name.ends_with(end));
    if is_metadata { Format::Zarr } else { Format::Npz }
}

/// The format of a text with a banner.
fn banner(start: &[u8]) -> Option<Format> {
    let mut words = start.trim_ascii_start().split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let first = words.next()?;
    // One percent sign instead of two is a mistake that the reader tells of.
    if ![&b"%%MatrixMarket"[..], b"%MatrixMarket"].iter().any(|banner| first.eq_ignore_ascii_case(banner)) {
        return None;
    }
    let tensor = words.next().unwrap_or_default().eq_ignore_ascii_case(b"tensor");
    Some(if tensor { Format::TensorMarket } else { Format::MatrixMarket })
}

/// A temporary file with what a stream brought; it is removed in the end.
pub(super) struct Spool {
    pub(super) path: PathBuf,
    /// It is removed too where the program is interrupted.
    _listed: Temporary,
}

impl Spool {
    /// An empty file that nobody else reads, with an ending to its name.
    pub(super) fn new(ending: &str) -> io::Result<(Spool, File)> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir().join(format!(".openwork-{}-{number}.{ending}", std::process::id()));
            let mut options = OpenOptions::new();
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.read(true).write(true).create_new(true).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => {
                    let file = opened?;
                    return Ok((Spool { _listed: Temporary::new(path.clone()), path }, file));
                }
            }
        }
    }

    /// Copies a stream; no file if it brings more bytes than allowed.
    fn of(stream: Box<dyn Read + '_>, max_bytes: Option<u64>) -> io::Result<(Spool, Option<File>)> {
        let (spool, mut file) = Spool::new("tmp")?;
        let limit = max_bytes.map_or(u64::MAX, |limit| limit.saturating_add(1));
        let copied = io::copy(&mut stream.take(limit), &mut file)?;
        file.flush()?;
        let allowed = max_bytes.is_none_or(|most| copied <= most);
        Ok((spool, allowed.then_some(file)))
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // Nobody is left to be told.
        let _ = fs::remove_file(&self.path);
    }
}
