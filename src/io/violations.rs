//! All that is wrong with a file, not only what stops a reader.

use std::fmt;
use std::path::Path;

use super::any::{Format, Identified, ReadOptions, identify};
use super::state_dict::Archive;
use super::text::error::ParseError;
use super::{binsparse, frostt, matrix_market};
use crate::base::error::{Error, ErrorKind, Result};

/// A rule that a file breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where: `line 3`, or the name of an array or tensor; empty for the file as a whole.
    pub place: String,
    /// What is found there, and what is allowed.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.is_empty() { f.write_str(&self.what) } else { write!(f, "{}: {}", self.place, self.what) }
    }
}

impl From<ParseError> for Violation {
    fn from(error: ParseError) -> Violation {
        Violation { place: format!("line {}", error.line), what: error.message }
    }
}

/// Reads a whole file and tells each rule that it breaks, with its place; a valid file is told nothing of.
///
/// Of text every line at fault is told. Of binsparse every tensor is read: what lenient reading would let pass is told
/// unless [`ReadOptions::lenient`] allows it, then every pointer and index that cannot be, or what else stops the
/// reader.
///
/// A file of one tensor is valid exactly if [`read_with`](super::read_with) reads it with the same options.
///
/// # Errors
/// If the file cannot be read, or its format is not known. That it breaks its format's rules is told, not an error.
pub fn validate(path: impl AsRef<Path>, options: &ReadOptions<'_>, tell: &mut dyn FnMut(Violation)) -> Result<()> {
    let path = path.as_ref();
    let Identified { format, file, signature } = identify(path)?;
    match format {
        Format::MatrixMarket => {
            let mut told = |error: ParseError| tell(error.into());
            let checked = matrix_market::violations(path, options.matrix_market(), &mut told);
            Ok(checked.map_err(|error| error.of_format("Matrix Market"))?)
        }
        Format::Frostt | Format::TensorMarket => {
            frostt::violations(path, options.frostt(), &mut |error| tell(error.into()))
        }
        Format::Npz | Format::Hdf5 => {
            let mut told = |tensor: &str, array: String, what: String| {
                let separator = if tensor.is_empty() || array.is_empty() { "" } else { ": " };
                tell(Violation { place: format!("{tensor}{separator}{array}"), what });
            };
            binsparse::violations(file, path, signature, &options.binsparse(), &mut told)
        }
        Format::Safetensors => of_safetensors(path, options, tell),
    }
}

/// The rules of the file as a whole, and those of each tensor.
fn of_safetensors(path: &Path, options: &ReadOptions<'_>, tell: &mut dyn FnMut(Violation)) -> Result<()> {
    let mut told = |place: &str, error: Error| match error.kind() {
        ErrorKind::Io { .. } => Err(error),
        ErrorKind::Format { source, .. } => {
            tell(Violation { place: place.to_owned(), what: source.to_string() });
            Ok(())
        }
        _ => {
            tell(Violation { place: place.to_owned(), what: error.to_string() });
            Ok(())
        }
    };
    let archive = match Archive::open(path) {
        Ok(archive) => archive,
        Err(error) => return told("", error),
    };
    for name in archive.names().filter(|&name| options.name.is_none_or(|wanted| wanted == name)) {
        if let Err(error) = archive.tensor(name) {
            told(name, error)?;
        }
    }
    match options.name.filter(|&wanted| archive.names().all(|name| name != wanted)) {
        Some(name) => archive.descriptor(name).map(drop).or_else(|error| told(name, error)),
        None => Ok(()),
    }
}
