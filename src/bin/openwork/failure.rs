//! What stops the command: one line, with what to do about it.

use std::{fmt, io};

use openwork::{Error, ErrorKind};

pub(crate) enum Failure {
    /// The library's error, and what the command offers against it.
    Library(Error, &'static str),
    /// Standard output does not take more.
    Output(io::Error),
}

impl Failure {
    /// Failed to read.
    pub(crate) fn of_reading(error: Error) -> Failure {
        let hint = match error.kind() {
            ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => "check the path",
            ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "check the permissions of the file"
            }
            ErrorKind::Format { format: "binsparse", .. } => {
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
            ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => "the folder has to exist",
            ErrorKind::Layout { .. } | ErrorKind::Absent { .. } => {
                "--fill, --replace-fill, --layout and --dtype change the tensor; --extensions allows binsparse files to hold it"
            }
            ErrorKind::Densify { .. } => "--layout names a sparse layout",
            _ => "",
        };
        Failure::Library(error, hint)
    }

    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Failure::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// 2 where nothing could be read or written, 1 where what was read is at fault.
    pub(crate) fn status(&self) -> u8 {
        match self {
            Failure::Output(_) => 2,
            Failure::Library(error, _) => match error.kind() {
                ErrorKind::Io { .. } => 2,
                ErrorKind::Invalid { argument, .. } if argument == "path" => 2,
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
            Failure::Library(error, hint) => (error.to_string(), *hint),
            Failure::Output(error) => (format!("standard output: {error}"), ""),
        };
        f.write_str(&text.replace(['\n', '\r'], " "))?;
        if hint.is_empty() { Ok(()) } else { write!(f, " ({hint})") }
    }
}
