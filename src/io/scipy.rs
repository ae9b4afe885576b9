//! Files of `scipy.sparse.save_npz` (`.npz`): a sparse array in CSR, CSC, BSR or COO form.
//!
//! | tensor | SciPy |
//! |---|---|
//! | CSR, CSC, BSR of two axes | `csr_array`, `csc_array`, `bsr_array` |
//! | COO of any number of axes, its levels in any order | `coo_array` |
//!
//! Coordinates may come in any order and repeat, as SciPy allows. It has bool, integers, floats of 32 and 64 bits and complex
//! numbers, and no fill: half precision and fills other than 0 are refused, and named in the error. What SciPy saved is
//! read by [`read`](super::read) and its like: these forms, CSR of one axis too.
//!
//! ```
//! use openwork::io::{self, Format, scipy};
//! use openwork::{Layout, Tensor};
//!
//! let path = std::env::temp_dir().join(format!("openwork-scipy-{}.npz", std::process::id()));
//! let x = Tensor::random([50, 40], 0.1, 0.0, Layout::Csr, 1)?;
//! scipy::write(&path, &x)?; // scipy.sparse.load_npz(path)
//! assert_eq!(io::read(&path)?.values::<f64>()?, x.values::<f64>()?);
//! assert_eq!(io::info(&path)?[0].format, Format::ScipyNpz);
//! # std::fs::remove_file(path).ok();
//! # Ok::<(), openwork::Error>(())
//! ```

use std::path::Path;

use super::losses::{fill_other_than_zero, half_precision, refused};
use super::numpy::{self, Array};
use super::{Format, WriteOptions};
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::tensor::Tensor;
use crate::tensor::index_array::{IndexArray, LevelData};
use crate::tensor::trace;
use crate::{Layout, LevelKind, Part};

/// Writes a tensor as `scipy.sparse.save_npz` does, whole or not at all; packed, as it does itself, with
/// [`WriteOptions::compress`].
///
/// # Errors
/// [`Layout`](crate::ErrorKind::Layout) if SciPy has no such array, before a byte is written;
/// [`Io`](crate::ErrorKind::Io) if the file cannot be written.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_with(path, tensor, &WriteOptions::default())
}

/// As [`write()`], with options.
///
/// # Errors
/// As [`write()`]; [`Invalid`](crate::ErrorKind::Invalid) if an option is not one of the format.
pub fn write_with(path: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions<'_>) -> Result<()> {
    let _call = trace::call("scipy::write", &[]);
    options.check(Format::ScipyNpz)?;
    numpy::write_arrays(path.as_ref(), &arrays(tensor)?, options)
}

/// The bytes of such a file.
///
/// # Errors
/// As [`write_with`].
pub fn to_bytes(tensor: &Tensor, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    let _call = trace::call("scipy::to_bytes", &[]);
    options.check(Format::ScipyNpz)?;
    numpy::arrays_to_bytes(&arrays(tensor)?, options)
}

fn arrays(x: &Tensor) -> Result<Vec<Array>> {
    let lost = half_precision(x, &[]).or_else(|| fill_other_than_zero(x));
    if let Some(what) = lost {
        return Err(refused("SciPy", &what));
    }
    let (mut out, format) = stored(x)?;
    // A word of bytes, as SciPy has it.
    out.push(Array::of_bytes("format", &format!("|S{}", format.len()), &[], format.as_bytes().to_vec()));
    out.push(Array::of_numbers("shape", &x.shape().mapped(|&size| size as i64)));
    out.push(match x.layout() {
        Layout::Bsr { .. } => Array::of_tensor("data", &x.stored_values())?,
        _ => Array::of_tensor("data", &x.stored_values().reshape([x.positions()])?)?,
    });
    out.push(Array::of_bytes("_is_array", "|b1", &[], vec![1]));
    Ok(out)
}

/// The arrays of indices, and the form that they are in.
fn stored(x: &Tensor) -> Result<(Vec<Array>, &'static str)> {
    if let Some(places) = coordinates(x) {
        let each = |name: &str, array: &IndexArray| Array::of_tensor(name, &array.to_signed_tensor()?);
        return match &places[..] {
            [rows, cols] => Ok((vec![each("row", rows)?, each("col", cols)?], "coo")),
            _ => Ok((vec![stacked("coords", &places, x.positions())?], "coo")),
        };
    }
    let format = match (x.ndim(), x.layout()) {
        (2, Layout::Csr) => "csr",
        (2, Layout::Csc) => "csc",
        (2, Layout::Bsr { .. }) => "bsr",
        (_, layout) => {
            let what = format!("the layout {layout} of {} axes (to_layout converts to CSR, CSC, BSR or COO)", x.ndim());
            return Err(refused("SciPy", &what));
        }
    };
    Ok((compressed(x)?, format))
}

/// The pointers and indices of a compressed matrix.
pub(super) fn compressed(x: &Tensor) -> Result<Vec<Array>> {
    match x.levels().and_then(|mut levels| levels.pop()) {
        Some(LevelData::Sparse { pointers: Some(pointers), indices, .. }) if indices.len() == 1 => {
            let mut out = Vec::with_capacity(4);
            for indices in &indices {
                out.push(Array::of_tensor("indices", &indices.to_signed_tensor()?)?);
            }
            out.push(Array::of_tensor("indptr", &pointers.to_signed_tensor()?)?);
            Ok(out)
        }
        _ => Err(refused("SciPy", "these levels")),
    }
}

/// The coordinates along each axis, if that is how the tensor is stored and there is an axis.
pub(super) fn coordinates(x: &Tensor) -> Option<Vec<IndexArray>> {
    let spec = x.level_spec()?;
    let is_coo = spec.levels == [LevelKind::Sparse { rank: x.ndim() }]
        && spec.dims.len() == x.ndim()
        && spec.dims.iter().all(|dim| dim.1 == Part::Whole);
    let Some(LevelData::Sparse { pointers: None, indices, .. }) = x.levels()?.pop() else { return None };
    if !is_coo || indices.is_empty() {
        return None;
    }
    // In the order of the axes, not of the levels.
    let mut of_axis: Vec<(usize, IndexArray)> = spec.dims.iter().map(|dim| dim.0).zip(indices).collect();
    of_axis.sort_by_key(|(axis, _)| *axis);
    Some(of_axis.into_iter().map(|(_, indices)| indices).collect())
}

/// Coordinates as one array with a row per axis.
pub(super) fn stacked(name: &str, places: &[IndexArray], count: usize) -> Result<Array> {
    let mut bytes = Vec::new();
    for array in places {
        let wide: Vec<u64> = match (array.as_u32(), array.as_u64()) {
            (Some(narrow), _) => narrow.mapped(|&index| u64::from(index)),
            (_, wide) => wide.unwrap_or_default().to_vec(),
        };
        // Indices of a tensor are less than 2^63.
        bytes.extend_from_slice(bytemuck::cast_slice(&wide));
    }
    let descr = super::binsparse::npy::descr(crate::DType::I64).unwrap_or_default();
    Ok(Array::of_bytes(name, &descr, &[places.len() as u64, count as u64], bytes))
}
