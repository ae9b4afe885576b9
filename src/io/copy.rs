//! A tensor from one file to another, as it is.

use std::path::Path;

use super::any::{Format, loaded, write_with};
use super::binsparse;
use super::input::Input;
use super::pieces::PIECE;
use super::{ReadOptions, WriteOptions};
use crate::base::error::Result;
use crate::tensor::trace;

/// Reads a tensor from one file and writes it to another in the layout that it has, in as little memory as the two formats
/// allow.
///
/// From binsparse in NPZ, HDF5 or Zarr to binsparse in NPZ or HDF5 it goes in pieces of about a million elements, so that files
/// larger than memory are copied: matrices and batches that begin with a dense level (CSR, CSC, strided, BSR without `extensions`
/// excepted), and lists of coordinates. Each piece is checked as [`read_with`](super::read_with) checks the whole. Read
/// whole are others: a first level of segments (DCSR, CSF), one triangle that stands for both, arrays that are packed or
/// are to be, lenient reading, a bound on bytes, other formats.
///
/// The metadata are those of the options. `to` may be the file itself.
///
/// ```
/// use openwork::{Layout, Tensor, io};
/// let folder = std::env::temp_dir();
/// let [from, to] = ["npz", "h5"].map(|ending| folder.join(format!("openwork-copy-{}.{ending}", std::process::id())));
/// let x = Tensor::random([50, 40], 0.1, 0.0, Layout::Csr, 1)?;
/// io::write(&from, &x)?;
/// io::copy(&from, &to, &Default::default(), &Default::default())?;
/// assert!(io::read(&to)?.equal(&x)?);
/// # std::fs::remove_file(&from).ok();
/// # std::fs::remove_file(&to).ok();
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`read_with`](super::read_with) and [`write_with`]; the old file is then as it was.
pub fn copy(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    reading: &ReadOptions<'_>,
    writing: &WriteOptions<'_>,
) -> Result<()> {
    copy_in(from.as_ref(), to.as_ref(), reading, writing, PIECE).map(drop)
}

/// Copies in pieces of about `most` elements where that can be; gives whether it was.
fn copy_in(from: &Path, to: &Path, reading: &ReadOptions<'_>, writing: &WriteOptions<'_>, most: u64) -> Result<bool> {
    let _call = trace::call("io::copy", &[]);
    let format = writing.format.map_or_else(|| Format::of_name_to_write(to), Ok)?;
    let input = Input::of_path(from, reading)?;
    let from_pieces = input.format.is_container() && !reading.lenient && reading.max_bytes.is_none();
    if from_pieces && matches!(format, Format::Npz | Format::Hdf5) && (input.is_file() || from.is_dir()) {
        let (file, _spool) = binsparse::File::of_placed(input.placed(reading)?, Some(from.to_owned()))?;
        let mut file = file.allow_libhdf5(reading.allow_libhdf5);
        if binsparse::copy::in_pieces(&mut file, reading.name, to, writing, most)? {
            return Ok(true);
        }
        drop(file);
        let read = loaded(Input::of_path(from, reading)?, reading)?;
        return write_with(to, &read.tensor, writing).map(|()| false);
    }
    let read = loaded(input, reading)?;
    write_with(to, &read.tensor, writing).map(|()| false)
}

#[cfg(test)]
#[path = "tests/copy.rs"]
mod tests;
