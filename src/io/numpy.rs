//! NumPy's own files: one array (`.npy`), or arrays by name (`.npz`).
//!
//! They hold strided tensors of every dtype but `bfloat16`, for which NumPy has no word. [`read`](super::read) and its like
//! read them: elements in C or Fortran order, in either byte order, packed or not. An `.npz` file of several arrays
//! is read by name ([`ReadOptions::name`](super::ReadOptions::name)); one with a descriptor of binsparse, or with the
//! arrays that SciPy or pydata/sparse save, is the one tensor that they describe.
//!
//! ```
//! use openwork::Tensor;
//! use openwork::io::{self, ReadOptions, numpy};
//!
//! let folder = std::env::temp_dir();
//! let (one, many) = (format!("openwork-{}.npy", std::process::id()), format!("openwork-{}.npz", std::process::id()));
//! let x = Tensor::from_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! numpy::write(folder.join(&one), &x)?;
//! assert!(io::read(folder.join(&one))?.equal(&x)?);
//!
//! numpy::write_all(folder.join(&many), &[("weight", &x), ("bias", &x.sum(0)?)], &Default::default())?;
//! let options = ReadOptions { name: Some("bias"), ..Default::default() };
//! assert_eq!(io::read_with(folder.join(&many), &options)?.tensor.values::<f64>()?, [5.0, 7.0, 9.0]);
//! # std::fs::remove_file(folder.join(&one)).ok();
//! # std::fs::remove_file(folder.join(&many)).ok();
//! # Ok::<(), openwork::Error>(())
//! ```

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use super::atomic;
use super::binsparse::{npy, zip::ZipWriter};
use super::fault::Fault;
use super::losses::refused;
use super::progress::Tell;
use super::steps;
use super::{Format, WriteOptions};
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::named::Named;
use crate::base::strided::Strided;
use crate::tensor::Tensor;
use crate::tensor::trace;

/// An array with its header, as it stands in a file.
pub(super) struct Array {
    name: String,
    header: Vec<u8>,
    data: Data,
}

enum Data {
    /// In order without gaps.
    Strided(Strided),
    Bytes(Vec<u8>),
}

impl Array {
    /// The elements of a strided tensor, in Fortran order if they lie in that.
    pub(super) fn of_tensor(name: &str, x: &Tensor) -> Result<Array> {
        let Some(s) = x.strided() else {
            return Err(refused("a NumPy array", "a tensor that is not strided (to_dense has all elements)"));
        };
        let Some(descr) = npy::descr(s.dtype) else {
            return Err(refused("a NumPy array", &format!("the dtype {} (cast to float32)", s.dtype)));
        };
        let reversed: Vec<usize> = (0..s.ndim()).rev().collect();
        let transposed = s.permute(&reversed);
        let fortran = s.ndim() > 1 && !s.is_contiguous() && transposed.is_contiguous();
        let data = if fortran { transposed } else { s.to_contiguous()?.into_owned() };
        let shape = s.shape.mapped(|&size| size as u64);
        Ok(Array { name: name.to_owned(), header: npy::write(&descr, fortran, &shape), data: Data::Strided(data) })
    }

    /// Bytes of elements in C order.
    pub(super) fn of_bytes(name: &str, descr: &str, shape: &[u64], bytes: Vec<u8>) -> Array {
        Array { name: name.to_owned(), header: npy::write(descr, false, shape), data: Data::Bytes(bytes) }
    }

    /// A list of signed integers.
    pub(super) fn of_numbers(name: &str, numbers: &[i64]) -> Array {
        let bytes = bytemuck::cast_slice(numbers).to_vec();
        let shape = [numbers.len() as u64];
        Array::of_bytes(name, &npy::descr(crate::DType::I64).unwrap_or_default(), &shape, bytes)
    }

    fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Strided(data) => data.contiguous_bytes().unwrap_or_default(),
            Data::Bytes(bytes) => bytes,
        }
    }
}

/// Arrays of an `.npz` file, packed at a level if there is one.
fn zipped(sink: impl Write, arrays: &[Array], level: Option<u8>, tell: &Tell<'_>) -> io::Result<()> {
    let mut zip = ZipWriter::new(sink);
    for array in arrays {
        zip.add(&format!("{}.npy", array.name), &[&array.header, array.bytes()], level, tell)?;
    }
    zip.finish()?.flush()
}

/// Writes an `.npz` file, whole or not at all.
pub(super) fn write_arrays(path: &Path, arrays: &[Array], options: &WriteOptions<'_>) -> Result<()> {
    let tell = counted(arrays, options);
    let level = options.packed();
    atomic::write(path, |file: &mut File| zipped(BufWriter::new(file), arrays, level, &tell))?;
    tell.end();
    Ok(())
}

/// The bytes of an `.npz` file.
pub(super) fn arrays_to_bytes(arrays: &[Array], options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    let tell = counted(arrays, options);
    let mut out = Vec::new();
    zipped(&mut out, arrays, options.packed(), &tell).map_err(|fault| Fault::from(fault).of("NPZ", None))?;
    tell.end();
    Ok(out)
}

/// Who is told of the bytes of arrays.
fn counted<'a>(arrays: &[Array], options: &WriteOptions<'a>) -> Tell<'a> {
    Tell::new(options.progress, arrays.iter().map(|array| (array.header.len() + array.bytes().len()) as u64).sum())
}

/// Writes a strided tensor as an `.npy` file, whole or not at all: in Fortran order if its elements lie in that, else in C
/// order.
///
/// # Errors
/// [`Layout`](crate::ErrorKind::Layout) if the tensor is sparse or has the dtype `bfloat16`, before a byte is written;
/// [`Io`](crate::ErrorKind::Io) if the file cannot be written.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_with(path, tensor, &WriteOptions::default())
}

/// As [`write()`], with options.
///
/// # Errors
/// As [`write()`]; [`Invalid`](crate::ErrorKind::Invalid) if an option is not one of the format.
pub fn write_with(path: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions<'_>) -> Result<()> {
    let _call = trace::call("numpy::write", &[]);
    options.check(Format::Npy)?;
    let array = Array::of_tensor("", tensor)?;
    let tell = Tell::new(options.progress, array.bytes().len() as u64);
    atomic::write(path.as_ref(), |file| {
        file.write_all(&array.header)?;
        steps::write_all(file, array.bytes(), &tell)
    })?;
    tell.end();
    Ok(())
}

/// The bytes of an `.npy` file that holds a strided tensor.
///
/// # Errors
/// As [`write_with`].
pub fn to_bytes(tensor: &Tensor, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    let _call = trace::call("numpy::to_bytes", &[]);
    options.check(Format::Npy)?;
    let array = Array::of_tensor("", tensor)?;
    Ok([&array.header, array.bytes()].concat())
}

/// Writes strided tensors by name as an `.npz` file, as `numpy.savez` does, whole or not at all; with
/// [`WriteOptions::compress`] as `numpy.savez_compressed` does.
///
/// # Errors
/// As [`write()`]; [`Invalid`](crate::ErrorKind::Invalid) if a name is empty or given twice, or an option is not one of the
/// format.
pub fn write_all(path: impl AsRef<Path>, arrays: &[(&str, &Tensor)], options: &WriteOptions<'_>) -> Result<()> {
    let _call = trace::call("numpy::write_all", &[]);
    options.check(Format::NumpyNpz)?;
    write_arrays(path.as_ref(), &named(arrays)?, options)
}

/// Arrays by name.
pub(super) fn named(arrays: &[(&str, &Tensor)]) -> Result<Vec<Array>> {
    let mut names = Named::new();
    for (name, _) in arrays {
        let why = match *name {
            "" => "an array has a name",
            name if name.len() > 1 << 12 || name.contains('\0') => "that is no name of a file in a ZIP file",
            name if names.insert(name, ()).is_some() => "the name is given twice",
            _ => continue,
        };
        return Err(error::invalid("name", format_args!("{name:?}: {why}")));
    }
    arrays.iter().map(|(name, tensor)| Array::of_tensor(name, tensor)).collect()
}
