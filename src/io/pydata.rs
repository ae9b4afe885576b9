//! Files of pydata/sparse's `save_npz` (`.npz`): an array in COO or GCXS form, with its fill value.
//!
//! COO tensors of any number of axes are written as `COO`, CSR and CSC as `GCXS`; bool, integers, floats of 16 bits and more
//! and complex numbers, with any fill of one value. What has no such form is refused, and named in the error. What pydata/sparse saved is
//! read by [`read`](super::read) and its like: `COO`, and `GCXS`, which is CSR or CSC where it has two axes and COO where it has more.
//!
//! ```
//! use openwork::io::{self, Format, pydata};
//! use openwork::{Layout, Tensor};
//!
//! let path = std::env::temp_dir().join(format!("openwork-pydata-{}.npz", std::process::id()));
//! let x = Tensor::random([9, 8, 7], 0.1, 0.0, Layout::Coo, 1)?.replace_fill(f64::INFINITY)?;
//! pydata::write(&path, &x)?; // sparse.load_npz(path)
//! let y = io::read(&path)?;
//! assert!(y.equal(&x)? && y.fill() == x.fill());
//! assert_eq!(io::info(&path)?[0].format, Format::PydataNpz);
//! # std::fs::remove_file(path).ok();
//! # Ok::<(), openwork::Error>(())
//! ```

use std::path::Path;

use super::losses::{fill_of_many, half_precision, refused, unordered};
use super::numpy::{self, Array};
use super::scipy;
use super::{Format, WriteOptions};
use crate::base::error::Result;
use crate::base::mapped::Mapped;
use crate::base::strided::Strided;
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;
use crate::tensor::trace;
use crate::{DType, Layout, Scalar};

/// Writes a tensor as pydata/sparse's `save_npz` does, whole or not at all; packed, as it does itself, with
/// [`WriteOptions::compress`].
///
/// # Errors
/// [`Layout`](crate::ErrorKind::Layout) if pydata/sparse has no such array, before a byte is written;
/// [`Io`](crate::ErrorKind::Io) if the file cannot be written.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_with(path, tensor, &WriteOptions::default())
}

/// As [`write()`], with options.
///
/// # Errors
/// As [`write()`]; [`Invalid`](crate::ErrorKind::Invalid) if an option is not one of the format.
pub fn write_with(path: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions<'_>) -> Result<()> {
    let _call = trace::call("pydata::write", &[]);
    options.check(Format::PydataNpz)?;
    numpy::write_arrays(path.as_ref(), &arrays(tensor)?, options)
}

/// The bytes of such a file.
///
/// # Errors
/// As [`write_with`].
pub fn to_bytes(tensor: &Tensor, options: &WriteOptions<'_>) -> Result<Vec<u8>> {
    let _call = trace::call("pydata::to_bytes", &[]);
    options.check(Format::PydataNpz)?;
    numpy::arrays_to_bytes(&arrays(tensor)?, options)
}

fn arrays(x: &Tensor) -> Result<Vec<Array>> {
    let lost = half_precision(x, &[DType::F16]).or_else(|| fill_of_many(x)).or_else(|| unordered(x));
    if let Some(what) = lost {
        return Err(refused("pydata/sparse", &what));
    }
    let fill = match x.fill() {
        Some(Fill::Scalar(fill)) => *fill,
        _ => Scalar::zero(x.dtype()),
    };
    let (places, format, axis) = match (x.ndim(), x.layout()) {
        (_, Layout::Coo) => match scipy::coordinates(x) {
            Some(places) => (vec![scipy::stacked("coords", &places, x.positions())?], "coo", None),
            None => return Err(refused("pydata/sparse", "a sparse tensor without axes (to_dense)")),
        },
        (2, Layout::Csr) => (scipy::compressed(x)?, "gcxs", Some(0)),
        (2, Layout::Csc) => (scipy::compressed(x)?, "gcxs", Some(1)),
        (_, layout) => {
            let what = format!("the layout {layout} of {} axes (to_layout converts to COO)", x.ndim());
            return Err(refused("pydata/sparse", &what));
        }
    };
    let letters: Vec<u8> = format.chars().flat_map(|letter| u32::from(letter).to_le_bytes()).collect();
    let mut out = vec![
        Array::of_bytes("format", &format!("<U{}", format.len()), &[], letters),
        Array::of_numbers("shape", &x.shape().mapped(|&size| size as i64)),
        Array::of_tensor("data", &x.stored_values().reshape([x.positions()])?)?,
    ];
    out.extend(places);
    out.extend(axis.map(|axis| Array::of_numbers("compressed_axes", &[axis])));
    out.push(Array::of_tensor("fill_value", &Tensor::from_strided(Strided::constant(fill, &[])))?);
    Ok(out)
}
