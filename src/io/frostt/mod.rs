//! Coordinate text files of tensors: FROSTT (`.tns`) and TensorMarket (`.ttx`), plain or gzip.
//!
//! ```text
//! tns    = { entry | comment | blank }
//! entry  = index … index value         (one per line, counted from 1 unless the options say 0)
//! comment= "#" anything, on a line of its own
//!
//! ttx    = "%%MatrixMarket tensor coordinate" field "general" { comment | blank } size { entry | comment | blank }
//! size   = d1 … dN entries
//! entry  = as above; no value for the field pattern, two for complex
//! comment= "%" anything, on a line of its own
//! ```
//!
//! The object `vector` in place of `tensor` is a tensor of one axis.
//!
//! The two are told apart by the banner, whatever the file's name. Numbers, blanks and line ends are those of
//! [`matrix_market`](super::matrix_market), and so are the fields of `.ttx` and its `%%GraphBLAS type T`.
//!
//! A `.tns` file does not say its shape: its order is that of the first entry, each axis reaches to the largest index.
//! [`ReadOptions::shape`] gives it another; so do the two lines that HiParTI writes on top (the order, then the sizes), if
//! [`ReadOptions::header`] announces them, and the comment `#openwork shape d1 … dN` above the first entry. Values are
//! `float64`, unless a comment `#openwork dtype T` there names another dtype that they fit.
//!
//! **Refused**, with the line, the token and what is allowed: a line with more or fewer parts than the first; an index
//! that is no whole number, below the base, beyond the shape or from 2^63 on; a value that is no number; a file without
//! entries whose shape is given nowhere; more than 64 axes, or none.

mod explain;
mod head;
mod parse;
mod write;

use std::ops::ControlFlow;
use std::path::Path;

pub use super::text::error::ParseError;
pub use write::{to_bytes, write, write_with};

pub use head::Header;

use super::ReadOptions;
use super::text::source::{Opened, TextSource, text_reported};
use super::warning::Warning;
use crate::base::error::Result;
use crate::tensor::Tensor;

/// What errors call the format.
const FORMAT: &str = "FROSTT";
/// The most axes of a tensor in a file.
const MAX_ORDER: usize = 64;

/// What the first index of an axis is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Base {
    /// 1, which is what the format says.
    #[default]
    One,
    /// 0, as some programs have it. Not for `.ttx`.
    Zero,
}

/// Which of the two formats a file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Dialect {
    /// FROSTT, `.tns`: entries alone.
    #[default]
    Tns,
    /// TensorMarket, `.ttx`: a banner and a size line above them.
    Ttx,
}

/// Reads a FROSTT or TensorMarket file, plain or gzip, into COO with fill 0.
///
/// Entries stay in file order, so the tensor is not coalesced in general; duplicates mean their sum.
///
/// # Errors
/// If the file cannot be read ([`ErrorKind::Io`](crate::ErrorKind::Io)) or is not one that the [module](self) accepts
/// ([`ErrorKind::Format`](crate::ErrorKind::Format), with the line).
///
/// # Cost
/// One pass, block by block on all threads of the pool; the result does not depend on their number. Gzip is
/// decompressed by one thread.
pub fn read(path: impl AsRef<Path>) -> Result<Tensor> {
    read_with(path, &ReadOptions::default())
}

/// As [`read`], with the shape, the base and the bounds that `options` set.
///
/// # Errors
/// As [`read`]; also if the file is larger than the bound.
pub fn read_with(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Tensor> {
    let path = path.as_ref();
    tensor_of(TextSource::open(path, options.max_bytes, options.progress), options, Some(path))
        .map(|(tensor, _)| tensor)
}

/// As [`read_with`], of any source, and what lenient reading let pass.
pub(in crate::io) fn tensor_of(
    source: Opened<'_>,
    options: &ReadOptions<'_>,
    path: Option<&Path>,
) -> Result<(Tensor, Vec<Warning>)> {
    let parsed = source.and_then(|mut source| parse::tensor(&mut source, options));
    let parsed = parsed.map_err(|failure| failure.of(FORMAT, path))?;
    let named = parsed.named();
    let tensor = parsed.into_tensor()?;
    let passed_over = named.filter(|&dtype| dtype != tensor.dtype());
    Ok((tensor, passed_over.map(|dtype| Warning::TypeComment(dtype.to_string())).into_iter().collect()))
}

/// The entries of each block of text as a tensor of the whole shape, until `give` has seen enough.
pub(in crate::io) fn pieces_of(
    source: Opened<'_>,
    options: &ReadOptions<'_>,
    path: Option<&Path>,
    give: &mut dyn FnMut(Tensor) -> ControlFlow<()>,
) -> Result<Vec<Warning>> {
    let (mut failed, mut passed_over) = (None, None);
    let read = source.and_then(|mut source| {
        parse::blocks(&mut source, options, &mut |block| {
            let named = block.named();
            match block.into_tensor() {
                Ok(tensor) => {
                    passed_over = named.filter(|&dtype| dtype != tensor.dtype());
                    give(tensor)
                }
                Err(error) => {
                    failed = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    });
    read.map_err(|failure| failure.of(FORMAT, path))?;
    match failed {
        Some(error) => Err(error),
        None => Ok(passed_over.map(|dtype| Warning::TypeComment(dtype.to_string())).into_iter().collect()),
    }
}

/// The size of each axis; all of the text is parsed for it where nothing above the entries says it.
pub(in crate::io) fn shape_of(source: Opened<'_>, options: &ReadOptions<'_>, path: Option<&Path>) -> Result<Vec<u64>> {
    let read = source.and_then(|mut source| parse::shape(&mut source, options));
    read.map_err(|failure| failure.of(FORMAT, path))
}

/// Reads the bytes of a FROSTT or TensorMarket file; see [`read`].
///
/// ```
/// use openwork::io::frostt;
/// let x = frostt::read_bytes(b"# three axes\n1 1 1 0.5\n2 3 1 -4\n", &Default::default())?;
/// assert_eq!((x.shape(), x.nse()), (&[2, 3, 1][..], 2));
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`read_with`].
pub fn read_bytes(bytes: &[u8], options: &ReadOptions<'_>) -> Result<Tensor> {
    tensor_of(TextSource::bytes(bytes, options.max_bytes, options.progress), options, None).map(|(tensor, _)| tensor)
}

/// Reads what stands above the entries, and of these the first line.
///
/// # Errors
/// As [`read_with`], for those lines alone.
pub fn header(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Header> {
    let path = path.as_ref();
    header_of(TextSource::open(path, options.max_bytes, None), options, Some(path))
}

/// As [`header`], of any source.
pub(in crate::io) fn header_of(source: Opened<'_>, options: &ReadOptions<'_>, path: Option<&Path>) -> Result<Header> {
    let read = source.and_then(|mut source| source.header(|cursor, last| head::read(cursor, last, options)));
    read.map_err(|failure| failure.of(FORMAT, path))
}

/// Reads the whole file and reports every line at fault, where [`read_with`] stops at the first; nothing is kept.
///
/// A fault above the entries is the only one reported, for what follows cannot be understood without it. The number of
/// entries, where the file promises one, is judged last, with the faulty ones counted in.
///
/// # Errors
/// [`ErrorKind::Io`](crate::ErrorKind::Io) if the file cannot be read. What is wrong with its text is reported, not returned.
///
/// # Cost
/// As [`read`], and one line at a time in blocks of lines that hold a fault.
pub fn violations(path: impl AsRef<Path>, options: &ReadOptions<'_>, report: &mut dyn FnMut(ParseError)) -> Result<()> {
    let path = path.as_ref();
    violations_of(TextSource::open(path, options.max_bytes, options.progress), options, report, Some(path))
}

/// As [`violations`], of any source.
pub(in crate::io) fn violations_of(
    source: Opened<'_>,
    options: &ReadOptions<'_>,
    report: &mut dyn FnMut(ParseError),
    path: Option<&Path>,
) -> Result<()> {
    let checked = source.and_then(|mut source| parse::violations(&mut source, options, report));
    text_reported(checked, report).map_err(|failure| failure.of(FORMAT, path))
}
