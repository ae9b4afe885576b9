//! What stops the command: one line, with what to do about it.

use std::{fmt, io};

use openwork::{Error, ErrorKind};

use crate::arguments::Reading;

pub(crate) enum Failure {
    /// The library's error, and what the command offers against it.
    Library(Error, &'static str),
    /// The same, about the tensor of that name.
    Tensor(String, Error, &'static str),
    /// Standard output does not take more.
    Output(io::Error),
    /// A picture could not be written to the file of this name.
    Picture(String, io::Error),
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

impl Failure {
    /// Failed to read.
    pub(crate) fn of_reading(error: Error, reading: &Reading) -> Failure {
        let hint = match error.kind() {
            ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => "check the path",
            ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "check the permissions of the file"
            }
            ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::IsADirectory => {
                "a folder holds no tensor, but for Zarr and .bspnpy: name a file in it"
            }
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
            ErrorKind::Io { source, .. } => match source.kind() {
                io::ErrorKind::NotFound => "the folder has to exist",
                io::ErrorKind::PermissionDenied => "check the permissions of the folder",
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                    "make room; what was there before is as it was"
                }
                _ => "",
            },
            ErrorKind::Layout { why, .. } if in_options(why) != *why => "",
            ErrorKind::Layout { .. } | ErrorKind::Absent { .. } => {
                "--fill, --replace-fill, --layout and --dtype change the tensor; --extensions allows binsparse files to hold it"
            }
            ErrorKind::Densify { .. } => "--layout names a sparse layout",
            _ => "",
        };
        Failure::Library(error, hint)
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
            Failure::Tensor(..) | Failure::Picture(..) | Failure::Usage(_) | Failure::Refused(_) => false,
        }
    }

    pub(crate) fn is_of_output(&self) -> bool {
        matches!(self, Failure::Output(_))
    }

    /// 2 where nothing could be read or written or the command is wrong, 1 where what was read is at fault.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Failure::Output(_) | Failure::Picture(..) | Failure::Usage(_) => 2,
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
            Failure::Picture(name, error) if error.kind() == io::ErrorKind::NotFound => {
                (format!("{name}: {error}"), "the folder has to exist")
            }
            Failure::Picture(name, error) => (format!("{name}: {error}"), ""),
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
