//! What is wrong with a file, before its name is known.

use std::path::Path;
use std::{fmt, io};

use crate::base::error::{Error, ErrorKind};

/// A broken rule or a failed read.
#[derive(Debug)]
pub(crate) enum Fault {
    Bad(String),
    /// More bytes than the reader may take.
    Large(String),
    Io(io::Error),
    /// A form of HDF5 that the native reader leaves to libhdf5.
    Unknown(&'static str),
}

pub(crate) type Res<T> = Result<T, Fault>;

/// The rule that is broken.
#[inline]
pub(crate) fn bad<T>(why: impl fmt::Display) -> Res<T> {
    Err(broken(why))
}

/// Apart from [`bad`], which is one function for each kind of result.
#[cold]
#[inline(never)]
fn broken(why: impl fmt::Display) -> Fault {
    Fault::Bad(why.to_string())
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Bad(why) | Fault::Large(why) => f.write_str(why),
            Fault::Io(source) => source.fmt(f),
            Fault::Unknown(what) => write!(f, "{what} cannot be read"),
        }
    }
}

impl std::error::Error for Fault {}

impl From<io::Error> for Fault {
    fn from(source: io::Error) -> Fault {
        Fault::Io(source)
    }
}

impl From<Error> for Fault {
    fn from(source: Error) -> Fault {
        // Which function found it is of no use to who reads a file.
        match source.kind() {
            ErrorKind::Invalid { argument, why, .. } => Fault::Bad(format!("`{argument}`: {why}")),
            _ => Fault::Bad(source.to_string()),
        }
    }
}

impl Fault {
    /// What is wrong with what a file holds; the fault itself where it cannot be read.
    pub(crate) fn told(self) -> Res<String> {
        match self {
            Fault::Bad(why) | Fault::Large(why) => Ok(why),
            other => Err(other),
        }
    }

    /// The same, with where in the file it is.
    pub(crate) fn within(self, place: &str) -> Fault {
        match self {
            fault if place.is_empty() => fault,
            Fault::Bad(why) => Fault::Bad(format!("{place:?}: {why}")),
            Fault::Large(why) => Fault::Large(format!("{place:?}: {why}")),
            other => other,
        }
    }

    /// The error for a caller, naming the file.
    pub(crate) fn at(self, path: Option<&Path>) -> Error {
        self.of("binsparse", path)
    }

    /// The same for a file of another format.
    pub(crate) fn of(self, format: &'static str, path: Option<&Path>) -> Error {
        let path = path.map(Path::to_owned);
        match (self, path) {
            (Fault::Io(source), Some(path)) => ErrorKind::Io { path, source }.into(),
            (fault, path) => ErrorKind::Format { path, format, source: Box::new(fault) }.into(),
        }
    }
}
