//! AnnData: matrices of observations by variables, and what is beside them, in HDF5 (`.h5ad`) or Zarr (`.zarr`, `.zarr.zip`).
//!
//! Strided matrices and sparse ones in CSR and CSC form are written: `X`, `layers/NAME` (observations by variables), `obsp/NAME` and
//! `varp/NAME` (each by itself), `obsm/NAME` and `varm/NAME` (each by something else), under names of the observations
//! and variables. The rest of such a file, tables of what is known of observations and variables, is left empty: it is
//! filled in by `anndata`. Files are in the versions that AnnData 0.8 and later write: <https://anndata.readthedocs.io>, "On-disk format".
//!
//! AnnData has bool, integers, `float32` and `float64`, and no fill: other dtypes and fills other than 0 are refused,
//! and named in the error. [`read`](super::read) and its like read the matrices of any `.h5ad` file by name, sparse ones and dense ones,
//! and other arrays of numbers.
//!
//! ```
//! use openwork::io::{self, ReadOptions, WriteOptions, anndata};
//! use openwork::{Layout, Tensor};
//!
//! let path = std::env::temp_dir().join(format!("openwork-doc-{}.h5ad", std::process::id()));
//! let counts = Tensor::random([50, 40], 0.1, 0.0, Layout::Csr, 1)?;
//! let matrices = [("X", &counts.log1p()?), ("layers/counts", &counts)];
//! let genes: Vec<String> = (0..40).map(|i| format!("gene {i}")).collect();
//! let options = WriteOptions { var_names: Some(&genes), ..Default::default() };
//! anndata::write_all(&path, &matrices, &options)?; // anndata.read_h5ad(path)
//! let options = ReadOptions { name: Some("layers/counts"), ..Default::default() };
//! assert_eq!(io::read_with(&path, &options)?.tensor.values::<f64>()?, counts.values::<f64>()?);
//! # std::fs::remove_file(path).ok();
//! # Ok::<(), openwork::Error>(())
//! ```

use std::io::BufWriter;
use std::path::Path;

use super::any::Format;
use super::binsparse::export::OutArray;
use super::binsparse::hdf5::{self, Elements, Group, Said};
use super::binsparse::zarr;
use super::losses::{fill_other_than_zero, refused};
use super::progress::Tell;
use super::{WriteOptions, atomic};
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::named::Named;
use crate::tensor::Tensor;
use crate::tensor::index_array::LevelData;
use crate::tensor::trace;
use crate::{DType, Layout};

/// Every observation and variable has a name of its own: more than these are not written.
const MOST: usize = 1 << 27;

/// Writes a matrix as the `X` of a new file, whole or not at all; observations and variables are numbered. A name that ends in
/// `.zarr` or `.zarr.zip` is that of a store of Zarr (version 3), any other that of an HDF5 file.
///
/// # Errors
/// [`Layout`](crate::ErrorKind::Layout) if it is no strided matrix and none in CSR or CSC form, or AnnData cannot hold its dtype or fill,
/// before a byte is written; [`Io`](crate::ErrorKind::Io) if the file cannot be written.
pub fn write(path: impl AsRef<Path>, x: &Tensor) -> Result<()> {
    write_with(path, x, &WriteOptions::default())
}

/// As [`write()`], with options.
///
/// # Errors
/// As [`write_all`].
pub fn write_with(path: impl AsRef<Path>, x: &Tensor, options: &WriteOptions<'_>) -> Result<()> {
    write_all(path, &[(options.name.unwrap_or("X"), x)], &WriteOptions { name: None, ..*options })
}

/// Writes matrices by name: `X`, `layers/NAME`, `obsm/NAME`, `varm/NAME`, `obsp/NAME`, `varp/NAME`.
///
/// # Errors
/// As [`write()`]; [`Invalid`](crate::ErrorKind::Invalid) if a name is none of these or given twice, if the sizes of
/// matrices or the numbers of names do not go together, or an option is not one of the format.
pub fn write_all(path: impl AsRef<Path>, matrices: &[(&str, &Tensor)], options: &WriteOptions<'_>) -> Result<()> {
    let _call = trace::call("anndata::write", &[]);
    options.check(Format::AnnData)?;
    let stored = matrices.iter().map(|(_, x)| Matrix::of(x)).collect::<Result<Vec<Matrix>>>()?;
    let [rows, columns] = sizes(matrices, options)?;
    let mut root = Group::default();
    root.attributes.extend(encoding("anndata", "0.1.0"));
    for name in FOLDERS {
        if let Some(group) = root.at(name) {
            group.attributes.extend(encoding("dict", "0.1.0"));
        }
    }
    let numbered = |names: Option<&[String]>, count: usize| match names {
        Some(names) => names.to_vec(),
        None => (0..count).mapped(|number| number.to_string()),
    };
    for (name, names) in [("obs", numbered(options.obs_names, rows)), ("var", numbered(options.var_names, columns))] {
        if let Some(group) = root.at(name) {
            group.attributes.extend(encoding("dataframe", "0.2.0"));
            group.attributes.push(("_index", Said::Text("_index".into())));
            group.attributes.push(("column-order", Said::NoTexts));
            group.texts_dataset("_index", names, encoding("string-array", "0.2.0").into());
        }
    }
    for ((name, _), matrix) in matrices.iter().zip(&stored) {
        if !matrix.put(name, &mut root) {
            return Err(error::invalid("name", "lies in an array"));
        }
    }
    let path = path.as_ref();
    let is_zarr = Format::of_name(path) == Some(Format::Zarr);
    if let Some(why) = matrices.iter().find_map(|(name, _)| zarr::check_name(name)).filter(|_| is_zarr) {
        return Err(error::invalid("name", why));
    }
    if !is_zarr {
        atomic::write(path, |file| hdf5::write_packed(file, &root, options))?;
    } else if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("zip")) {
        atomic::write(path, |file| zarr::tree_to_zip(BufWriter::new(file), &root, options))?;
    } else {
        atomic::write_folder(path, &zarr::is_store, &mut |folder| zarr::tree_to_folder(folder, &root, options))?;
    }
    Tell::new(options.progress, root.bytes()).end();
    Ok(())
}

/// The groups of matrices and what else has names.
const FOLDERS: [&str; 6] = ["layers", "obsm", "varm", "obsp", "varp", "uns"];

/// How a group or an array is to be read.
fn encoding(kind: &str, version: &str) -> [(&'static str, Said); 2] {
    [("encoding-type", Said::Text(kind.into())), ("encoding-version", Said::Text(version.into()))]
}

/// What the axes of a matrix are, by its name: 0 for observations, 1 for variables, 2 for anything.
fn axes(name: &str) -> Option<[usize; 2]> {
    if name == "X" {
        return Some([0, 1]);
    }
    let (folder, name) = name.split_once('/')?;
    if name.is_empty() || matches!(name, "." | "..") || name.contains(['/', '\0']) {
        return None;
    }
    match folder {
        "layers" => Some([0, 1]),
        "obsm" => Some([0, 2]),
        "varm" => Some([1, 2]),
        "obsp" => Some([0, 0]),
        "varp" => Some([1, 1]),
        _ => None,
    }
}

/// The numbers of observations and variables; matrices must agree on them.
fn sizes(matrices: &[(&str, &Tensor)], options: &WriteOptions<'_>) -> Result<[usize; 2]> {
    let mut known: [Option<(usize, &str)>; 2] = [
        options.obs_names.as_ref().map(|names| (names.len(), "options.obs_names")),
        options.var_names.as_ref().map(|names| (names.len(), "options.var_names")),
    ];
    let mut names = Named::new();
    for (name, x) in matrices {
        let Some(axes) = axes(name) else {
            let why = format!(
                "{name:?} is no place for a matrix; known are X, and a name in layers, obsm, varm, obsp, varp as in \"layers/counts\""
            );
            return Err(error::invalid("name", why));
        };
        if names.insert(*name, ()).is_some() {
            return Err(error::invalid("name", format_args!("{name:?} is given twice")));
        }
        for (axis, (&size, what)) in x.shape().iter().zip(axes).enumerate() {
            let Some(slot) = known.get_mut(what) else { continue };
            let &mut (count, of) = slot.get_or_insert((size, name));
            if count != size {
                let words = ["observations", "variables"].get(what).copied().unwrap_or_default();
                let why = format!("{name:?} has {size} {words} along axis {axis}, and {of} has {count}");
                return Err(error::invalid("matrices", why));
            }
        }
    }
    let sizes = known.map(|known| known.map_or(0, |(count, _)| count));
    match sizes.iter().max() {
        Some(&most) if most > MOST => {
            let what = format!("{most} observations or variables, each of which has a name; {MOST} are the most");
            Err(refused("AnnData", &what))
        }
        _ => Ok(sizes),
    }
}

/// A matrix as it is stored.
struct Matrix {
    /// What AnnData calls it, and the version of that.
    encoding: [&'static str; 2],
    shape: Vec<u64>,
    /// One array of a dense matrix, which has no name.
    arrays: Vec<(OutArray, DType, [u64; 1])>,
}

impl Matrix {
    fn of(x: &Tensor) -> Result<Matrix> {
        let dtype = x.dtype();
        if matches!(dtype, DType::F16 | DType::BF16) || dtype.is_complex() {
            let what = format!("the dtype {dtype} of matrices (cast converts to another)");
            return Err(refused("AnnData", &what));
        }
        if let Some(what) = fill_other_than_zero(x) {
            return Err(refused("AnnData", &what));
        }
        let encoding = match (x.ndim(), x.layout()) {
            (2, Layout::Csr) => ["csr_matrix", "0.1.0"],
            (2, Layout::Csc) => ["csc_matrix", "0.1.0"],
            (2, Layout::Strided) => ["array", "0.2.0"],
            (_, layout) => {
                let what =
                    format!("the layout {layout} of {} axes (to_layout converts to CSR, CSC or strided)", x.ndim());
                return Err(refused("AnnData", &what));
            }
        };
        let mut arrays = Vec::with_capacity(3);
        let mut array = |name: &str, x: &Tensor| -> Result<()> {
            let len = x.shape().iter().product::<usize>() as u64;
            arrays.push((OutArray::of_tensor(name, x)?, x.dtype(), [len]));
            Ok(())
        };
        if x.is_strided() {
            array("", x)?;
        } else {
            let Some(LevelData::Sparse { pointers: Some(pointers), indices, .. }) =
                x.levels().and_then(|mut levels| levels.pop())
            else {
                return Err(refused("AnnData", "these levels"));
            };
            array("data", &x.stored_values().reshape([x.positions()])?)?;
            for indices in &indices {
                array("indices", &indices.to_signed_tensor()?)?;
            }
            array("indptr", &pointers.to_signed_tensor()?)?;
        }
        Ok(Matrix { encoding, shape: x.shape().mapped(|&size| size as u64), arrays })
    }

    /// Puts it into a tree under a name; false if there is no place.
    fn put<'a>(&'a self, name: &str, root: &mut Group<'a>) -> bool {
        let [kind, version] = self.encoding;
        if kind == "array" {
            let (folder, last) = name.rsplit_once('/').unwrap_or(("", name));
            let (Some(group), [(array, dtype, _)]) = (root.at(folder), &self.arrays[..]) else { return false };
            let elements = Elements { dtype: *dtype, shape: &self.shape, bytes: array.bytes() };
            group.dataset(last, elements, encoding(kind, version).into());
            return true;
        }
        let Some(group) = root.at(name) else { return false };
        group.attributes.extend(encoding(kind, version));
        group.attributes.push(("shape", Said::Int64s(self.shape.mapped(|&size| size as i64))));
        for (array, dtype, shape) in &self.arrays {
            let elements = Elements { dtype: *dtype, shape, bytes: array.bytes() };
            group.dataset(&array.name, elements, Vec::new());
        }
        true
    }
}
