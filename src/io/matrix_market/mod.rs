//! Matrix Market text files (`.mtx`, `.mtx.gz`): a strict parser, and a writer.
//!
//! The grammar is the one of the NIST format description, plus the extensions that real files carry:
//!
//! ```text
//! file     = banner { comment | blank } size { entry | comment | blank }
//! banner   = "%%MatrixMarket" ( "matrix" | "vector" ) format field symmetry
//! format   = "coordinate" | "array"
//! field    = "real" | "double" | "integer" | "unsigned-integer" | "complex" | "pattern"
//! symmetry = "general" | "symmetric" | "skew-symmetric" | "hermitian"
//! size     = rows columns entries      (coordinate; a vector has no columns)
//!          | rows columns              (array; a vector has no columns)
//! entry    = row column [ value ]      (coordinate, one per line, counted from 1; a vector has no columns)
//!          | value                     (array, one per line, down the columns)
//! value    = number                    (two of them, real and imaginary, if complex)
//! comment  = "%" anything, on a line of its own
//! ```
//!
//! **Accepted**: keywords in any case; lines ended by `\n` or `\r\n`, the last one by nothing; blank lines, leading and
//! trailing blanks, tabs; comments anywhere after the banner, in any encoding; explicit zeros and repeated
//! coordinates, which stay as the file has them; `inf`, `infinity` and `nan` in any case and with a sign in real
//! and complex files. A real literal too large for an `f64`, such as `1e400`, is read as infinity, one too small as
//! zero; every other one is rounded correctly.
//!
//! **Refused**, with the line, the token and what is allowed: anything left over on a line; an index of 0, below it or
//! beyond the size; more or fewer entries than declared; an integer that does not fit; a field and symmetry that do
//! not go together (`pattern` with `array`, `skew-symmetric` or `hermitian`; `hermitian` with anything but `complex`, which lenient reading takes for `symmetric`;
//! `unsigned-integer` with `skew-symmetric`); a symmetry on a matrix that is not square; an entry above the diagonal
//! of a file with a symmetry (lenient reading mirrors it); a skew-symmetric diagonal that is not zero (lenient reading
//! keeps it); a vector with a symmetry; the object `tensor`, which [`frostt`](super::frostt) reads; `%MatrixMarket` with one
//! percent sign (lenient reading takes it).
//!
//! A comment `%%GraphBLAS type T` before the size line is handed on as [`ParsedMatrix::type_hint`]. Some GraphBLAS files
//! declare the field `integer` for values that go beyond it, so `T` widens what an integer file may hold: `uint64_t`
//! up to 2^64-1 (values are then unsigned; not in skew-symmetric files), `float` and `double` any real number (values
//! are then real).
//!
//! A value that does not fit `T` is refused, which lenient reading does not mind.
//!
//! Types that GraphBLAS has no name for are named by `%%openwork type T` in the same place.
//!
//! Memory stays in proportion to the input: the count on the size line reserves no more entries than the bytes that
//! follow could hold, and files are read block by block. Compressed input can still be much larger than it looks; [`ReadOptions::max_bytes`] bounds it.

mod explain;
mod header;
mod parse;
mod parsed;
mod symmetry;
mod tensor;
mod write;

#[cfg(test)]
mod tests;

use std::path::Path;

pub use super::text::entries::{Indices, Symmetry, Values};
pub use super::text::error::ParseError;
pub use header::Header;
pub(in crate::io) use header::{Banner, banner, comments, end_line, error, number};
pub(in crate::io) use parse::{stored_field, whole_range};
pub use parsed::{Field, Listing, ParsedMatrix};
pub(in crate::io) use tensor::{hinted, pieces_of, tensor_of, values_of};
pub use tensor::{read, read_bytes, read_with};
pub(in crate::io) use write::{Declared, Written, banner_of, comment_lines, written};
pub use write::{to_bytes, write, write_with};

use super::ReadOptions;
use super::text::source::{Failure, Opened, TextSource, text_reported};
use crate::base::error::Result;

/// What errors call the format.
const FORMAT: &str = "Matrix Market";

/// Parses the bytes of a Matrix Market file, plain or compressed by gzip (told apart by their first two bytes).
///
/// Entries come back in file order; [`ParsedMatrix::expand_symmetry`] adds the mirrored ones. Lines in errors are counted in
/// the decompressed text.
///
/// # Errors
///
/// [`ErrorKind::Format`](crate::ErrorKind::Format) with a [`ParseError`] if the bytes are not a file that the
/// [module](self) accepts, or if memory runs out.
///
/// # Cost
///
/// One pass over the bytes, on all threads of the pool; the result does not depend on their number. Per entry 4 or 8
/// bytes for each index and 8 or 16 for the value; some 10 MB beside, more if a line is longer than that. Gzip is
/// decompressed by one thread.
pub fn parse(bytes: &[u8]) -> Result<ParsedMatrix> {
    parse_with(bytes, &ReadOptions::default())
}

/// Like [`parse`], within the bounds that `options` sets.
///
/// # Errors
///
/// As [`parse`]; also if the input, compressed or not, is larger than [`ReadOptions::max_bytes`].
pub fn parse_with(bytes: &[u8], options: &ReadOptions<'_>) -> Result<ParsedMatrix> {
    of_bytes(bytes, options).map_err(|failure| failure.of(FORMAT, None))
}

fn of_bytes(bytes: &[u8], options: &ReadOptions<'_>) -> std::result::Result<ParsedMatrix, Failure> {
    parse::matrix(&mut TextSource::bytes(bytes, options.max_bytes, options.progress)?, options.lenient)
}

/// Reads and parses the Matrix Market file at `path`, plain or compressed by gzip whatever its name.
///
/// The file is read block by block: neither its bytes nor its text are in memory as a whole.
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be read, [`ErrorKind::Format`](crate::ErrorKind::Format) if
/// [`parse_with`] refuses what it holds.
pub fn parse_file(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<ParsedMatrix> {
    let path = path.as_ref();
    parsed(TextSource::open(path, options.max_bytes, options.progress), options.lenient, Some(path))
}

/// What any source holds.
fn parsed(source: Opened<'_>, lenient: bool, path: Option<&Path>) -> Result<ParsedMatrix> {
    source.and_then(|mut source| parse::matrix(&mut source, lenient)).map_err(|failure| failure.of(FORMAT, path))
}

/// Reads what stands above the entries, and nothing below it.
///
/// # Errors
///
/// As [`parse_file`], for the banner, the comments and the size line alone.
pub fn header(path: impl AsRef<Path>) -> Result<Header> {
    let path = path.as_ref();
    header_of(TextSource::open(path, None, None), false, Some(path))
}

/// As [`header`], of any source.
pub(in crate::io) fn header_of(source: Opened<'_>, lenient: bool, path: Option<&Path>) -> Result<Header> {
    let read = source.and_then(|mut source| source.header(|cursor, _| header::read(cursor, lenient)));
    read.map_err(|failure| failure.of(FORMAT, path))
}

/// Reads the whole file and reports every line at fault, where [`parse_file`] stops at the first; nothing is kept.
///
/// A fault above the entries is the only one reported, for what follows cannot be understood without it. The number of
/// entries is judged last, with the faulty ones counted in.
///
/// # Errors
///
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be read. What is wrong with its text is reported, not returned.
///
/// # Cost
///
/// As [`parse_file`], and one line at a time in blocks of lines that hold a fault.
pub fn violations(path: impl AsRef<Path>, options: &ReadOptions<'_>, report: &mut dyn FnMut(ParseError)) -> Result<()> {
    let path = path.as_ref();
    violations_of(TextSource::open(path, options.max_bytes, options.progress), options.lenient, report, Some(path))
}

/// As [`violations`], of any source.
pub(in crate::io) fn violations_of(
    source: Opened<'_>,
    lenient: bool,
    report: &mut dyn FnMut(ParseError),
    path: Option<&Path>,
) -> Result<()> {
    let checked = source.and_then(|mut source| parse::violations(&mut source, lenient, report));
    text_reported(checked, report).map_err(|failure| failure.of(FORMAT, path))
}
