//! All that is wrong with a file, not only what stops a reader.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::ReadOptions;
use super::any::Format;
use super::input::Input;
use super::progress::Tell;
use super::state_dict::Archive;
use super::text::error::ParseError;
use super::{binsparse, frostt, matrix_market};
use crate::base::error::{Error, ErrorKind, Result};

/// A rule that a file breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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

/// Reads a whole file and calls `report` for each rule that it breaks, with its place; it is not called for a valid file.
///
/// In text, every line at fault is reported. In binsparse, every tensor is read: what lenient reading would let pass is
/// reported unless [`ReadOptions::lenient`] allows it, then every pointer and index that cannot be, or what else stops
/// the reader.
///
/// A file of one tensor is valid exactly if [`read_with`](super::read_with) reads it with the same options.
///
/// # Errors
/// If the file cannot be read, or its format is not known. A broken rule is reported and is no error.
pub fn validate(path: impl AsRef<Path>, options: &ReadOptions<'_>, report: &mut dyn FnMut(Violation)) -> Result<()> {
    checked(Input::of_path(path.as_ref(), options)?, options, report)
}

/// As [`validate`], of what a stream brings; see [`read_from`](super::read_from).
///
/// # Errors
/// As [`validate`]; if neither the options nor the first bytes tell the format.
pub fn validate_from<'a>(
    stream: impl Read + 'a,
    options: &ReadOptions<'a>,
    report: &mut dyn FnMut(Violation),
) -> Result<()> {
    checked(Input::of_stream(Box::new(stream), None, options)?, options, report)
}

fn checked<'a>(input: Input<'a>, options: &ReadOptions<'a>, report: &mut dyn FnMut(Violation)) -> Result<()> {
    let format = input.format;
    let path = input.path.clone();
    match format {
        Format::MatrixMarket => {
            let (source, path) = input.text(options);
            let mut reported = |error: ParseError| report(error.into());
            matrix_market::violations_of(source, options.lenient, &mut reported, path.as_deref())
        }
        Format::Frostt | Format::TensorMarket => {
            let (source, path) = input.text(options);
            frostt::violations_of(source, options, &mut |error| report(error.into()), path.as_deref())
        }
        format if format.is_container() => {
            let placed = input.placed(options)?;
            let mut reported = |tensor: &str, array: String, what: String| {
                let separator = if tensor.is_empty() || array.is_empty() { "" } else { ": " };
                report(Violation { place: format!("{tensor}{separator}{array}"), what });
            };
            binsparse::violations(placed, path.as_deref(), options, &mut reported)
        }
        _ => {
            let (file, _spool) = input.placed(options)?.one_file()?;
            of_model(file, format, path.as_deref(), options, report)
        }
    }
}

/// The rules of the file as a whole, and those of each tensor.
fn of_model(
    file: File,
    format: Format,
    path: Option<&Path>,
    options: &ReadOptions<'_>,
    report: &mut dyn FnMut(Violation),
) -> Result<()> {
    let mut reported = |place: &str, error: Error| match error.kind() {
        ErrorKind::Io { .. } => Err(error),
        ErrorKind::Format { source, .. } => {
            report(Violation { place: place.to_owned(), what: source.to_string() });
            Ok(())
        }
        _ => {
            report(Violation { place: place.to_owned(), what: error.to_string() });
            Ok(())
        }
    };
    let archive = match Archive::of_file(file, format, path) {
        Ok(archive) => archive,
        Err(error) => return reported("", error),
    };
    let wanted: Vec<&str> = archive.names().filter(|&name| options.name.is_none_or(|wanted| wanted == name)).collect();
    // Of several, tensors are counted.
    let one = wanted.len() == 1;
    let tell = Tell::new(options.progress.filter(|_| !one), wanted.len() as u64);
    let each = ReadOptions { progress: options.progress.filter(|_| one), ..*options };
    for name in wanted {
        if let Err(error) = archive.tensor_with(name, &each) {
            reported(name, error)?;
        }
        tell.more(1);
    }
    tell.end();
    match options.name.filter(|&wanted| archive.names().all(|name| name != wanted)) {
        Some(name) => archive.descriptor(name).map(drop).or_else(|error| reported(name, error)),
        None => Ok(()),
    }
}
