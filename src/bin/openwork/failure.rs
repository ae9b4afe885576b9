//! What stops the command: one line, with what to do about it.

use std::fs::{self, OpenOptions};
use std::path::Path;
use std::{fmt, io};

use openwork::{Error, ErrorKind};

use crate::arguments::Reading;
use crate::convert::shown;

pub(crate) enum Failure {
    /// The library's error, and what the command offers against it.
    Library(Error, &'static str),
    /// The same, about the tensor of that name.
    Tensor(String, Error, &'static str),
    /// Standard output does not take more.
    Output(io::Error),
    /// A file of the command's own, of this name, could not be read or written, and what to do.
    File(String, io::Error, &'static str),
    /// The command does not say enough, or contradicts itself.
    Usage(String),
    /// What was asked for would lose something.
    Refused(String),
}

/// A text of a file's or a user's, on one line and without what a terminal obeys.
pub(crate) fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

/// What to do about a file that was not read.
fn unread(path: &Path, source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied => match fs::metadata(path) {
            Ok(met) if met.is_dir() => "check the permissions of the folder and of what is in it",
            Ok(_) => "check the permissions of the file",
            Err(_) => "check the permissions of the folders on the way to it",
        },
        io::ErrorKind::IsADirectory => "a folder holds no tensor, but for Zarr and .bspnpy: name a file in it",
        io::ErrorKind::NotADirectory => NO_FOLDER,
        _ => "",
    }
}

/// What to do about a file that was not written.
fn unwritten(path: &Path, source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "the folder has to exist",
        io::ErrorKind::PermissionDenied => match fs::metadata(path) {
            Ok(met) if met.is_file() && OpenOptions::new().write(true).open(path).is_err() => {
                "the file that is there may not be written to, so it stays: allow that, or name another"
            }
            Ok(met) if met.is_dir() => {
                "check the permissions of the folder that is there, of those in it, and of the one that it is in"
            }
            _ => "check the permissions of the folder",
        },
        io::ErrorKind::IsADirectory => "name a file in it",
        io::ErrorKind::NotADirectory => NO_FOLDER,
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            "make room; what was there before is as it was"
        }
        _ => "",
    }
}

const NO_FOLDER: &str = "what stands before a / has to be a folder";

impl Failure {
    /// Failed to read.
    pub(crate) fn of_reading(error: Error, reading: &Reading) -> Failure {
        let hint = match error.kind() {
            ErrorKind::Io { path, source } => unread(path, source),
            ErrorKind::Invalid { argument, .. } if argument == "format" => "--from names it",
            ErrorKind::Format { format: "binsparse" | "sscdf" | "Matrix Market", .. } if !reading.lenient => {
                "`openwork validate` lists all that is wrong; --lenient reads older drafts and common deviations"
            }
            ErrorKind::Format { format: "FROSTT", .. } => {
                "`openwork validate` lists all that is wrong; --shape, --zero-based and --header say what .tns files do not"
            }
            ErrorKind::Format { .. } => "`openwork validate` lists all that is wrong",
            _ => "",
        };
        Failure::Library(error, hint)
    }

    /// Failed to convert or write.
    pub(crate) fn of_writing(error: Error) -> Failure {
        let hint = match error.kind() {
            ErrorKind::Io { path, source } => unwritten(path, source),
            ErrorKind::Layout { why, .. } if in_options(why) != *why => "",
            ErrorKind::Layout { .. } | ErrorKind::Absent { .. } => {
                "--fill, --replace-fill, --layout and --dtype change the tensor; --extensions allows binsparse files to hold it"
            }
            ErrorKind::Densify { .. } => "--layout names a sparse layout",
            _ => "",
        };
        Failure::Library(error, hint)
    }

    /// Failed to read a file that holds no tensor.
    pub(crate) fn of_file_read(path: &Path, source: io::Error) -> Failure {
        let hint = unread(path, &source);
        Failure::File(shown(path), source, hint)
    }

    /// Failed to write a file that holds no tensor.
    pub(crate) fn of_file_written(path: &Path, source: io::Error) -> Failure {
        let hint = unwritten(path, &source);
        Failure::File(shown(path), source, hint)
    }

    /// Failed to convert or write a tensor of several.
    pub(crate) fn of_tensor(name: &str, error: Error) -> Failure {
        match Failure::of_writing(error) {
            Failure::Library(error, hint) => Failure::Tensor(name.to_owned(), error, hint),
            other => other,
        }
    }

    /// Failed to compare.
    pub(crate) fn of_comparing(error: Error) -> Failure {
        let hint = match error.kind() {
            ErrorKind::Densify { .. } => {
                "where the two differ would take that much memory; `openwork convert --fill` brings one to the fill of the other"
            }
            _ => "",
        };
        Failure::Library(error, hint)
    }

    pub(crate) fn is_closed_pipe(&self) -> bool {
        let closed = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        match self {
            Failure::Output(error) => closed(error),
            Failure::Library(error, _) => matches!(error.kind(), ErrorKind::Io { source, .. } if closed(source)),
            Failure::Tensor(..) | Failure::File(..) | Failure::Usage(_) | Failure::Refused(_) => false,
        }
    }

    pub(crate) fn is_of_output(&self) -> bool {
        matches!(self, Failure::Output(_))
    }

    /// 2 where nothing could be read or written or the command is wrong, 1 where what was read is at fault.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Failure::Output(_) | Failure::File(..) | Failure::Usage(_) => 2,
            Failure::Refused(_) => 1,
            Failure::Library(error, _) | Failure::Tensor(_, error, _) => match error.kind() {
                ErrorKind::Io { .. } => 2,
                ErrorKind::Invalid { argument, .. } if argument == "path" || argument == "format" => 2,
                _ => 1,
            },
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Output(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, hint) = match self {
            Failure::Library(error, hint) => (told(error), *hint),
            Failure::Tensor(name, error, hint) => (format!("the tensor {name:?}: {}", told(error)), *hint),
            Failure::Output(error) => (format!("standard output: {error}"), ""),
            Failure::File(name, error, hint) => (format!("{name}: {error}"), *hint),
            Failure::Usage(text) | Failure::Refused(text) => (text.clone(), ""),
        };
        f.write_str(&plain(&text.replace('\n', " ")))?;
        if hint.is_empty() { Ok(()) } else { write!(f, " ({hint})") }
    }
}

/// What the library advises, by the options of the command.
fn in_options(why: &str) -> String {
    const WORDS: [(&str, &str); 6] = [
        ("`WriteOptions::extensions` writes it", "--extensions writes it"),
        ("to_dense()", "--layout strided"),
        ("to_dense has", "--layout strided has"),
        ("with_fill(0)", "--fill 0"),
        ("cast to float32 or float64", "--dtype float32 or float64"),
        ("cast to float32", "--dtype float32"),
    ];
    WORDS.iter().fold(why.to_owned(), |why, (call, option)| why.replace(call, option))
}

/// An error of the library in the words of the command.
fn told(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Invalid { argument, why, .. } => match argument.strip_prefix("options.").unwrap_or(argument) {
            "rows" => format!("--rows: {why}"),
            "level" => format!("--compression: {why}"),
            "version" => format!("--binsparse-version: {why}"),
            "path" | "format" | "binsparse" => why.clone(),
            argument @ ("name" | "max_bytes" | "shape" | "compress") => {
                format!("--{}: {why}", argument.replace('_', "-"))
            }
            _ => error.to_string(),
        },
        ErrorKind::Layout { why, .. } | ErrorKind::Absent { why, .. } => in_options(why),
        // Which call it was is of no use to who typed a command.
        ErrorKind::DType { dtypes, why, .. } => {
            let names: Vec<&str> = dtypes.iter().map(|dtype| dtype.name()).collect();
            format!("{}: {why}", names.join(", "))
        }
        ErrorKind::Shape { why, .. } => why.clone(),
        ErrorKind::Densify { bytes, why, .. } => format!("{why}; the dense result would take {bytes} bytes"),
        _ => error.to_string(),
    }
}
