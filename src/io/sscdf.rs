//! sscdf 1.0, the files of SuiteSparse:GraphBLAS's matrices, vectors and scalars (`.sscdf`): netCDF-4, which is HDF5.
//!
//! An object is a matrix in one of ten formats, a vector in one of three, or a scalar, which may have no value. The first
//! object of a file is primary; others, secondary ones, have names. An object may have a comment. Arrays are variables
//! of a dimension that has their name and their size, so that every program that reads netCDF-4 shows them; indices have 64
//! bits.
//!
//! | tensor | sscdf |
//! |---|---|
//! | CSR, CSC, DCSR, DCSC | `csr`, `csc`, `hypercsr`, `hypercsc` |
//! | COO of two axes, by rows or by columns | `coor`, `cooc` |
//! | strided of two axes, by rows or by columns | `fullr`, `fullc` |
//! | COO of one axis, strided of one axis | `sparse`, `full` |
//! | with [`WriteOptions::bitmap`]: any sparse of one or two axes | `bitmap`, `bitmapr`, `bitmapc` |
//! | no axes, with its element or without | `scalar`, `scalar_empty` |
//!
//! Two formats call themselves sscdf 1.0: the first one, of May 2022, which is written; and one of September 2022 with a JSON
//! descriptor, which lacks coordinates and bitmaps. [`read`](super::read) and its like read the first, from `.h5` files
//! too, and leniently ([`ReadOptions::lenient`](super::ReadOptions::lenient)) the other. What is not stored is read as 0.
//! netCDF takes a dimension of size 0, that of arrays without elements, for an unlimited one.
//!
//! sscdf has bool, integers, `float32` and `float64`, and no fill: half precision, complex numbers and fills other than 0
//! are refused, and named in the error.
//!
//! ```
//! use openwork::io::{self, sscdf};
//! use openwork::{Layout, Tensor};
//!
//! let path = std::env::temp_dir().join(format!("openwork-doc-{}.sscdf", std::process::id()));
//! let x = Tensor::random([50, 40], 0.1, 0.0, Layout::Csr, 1)?;
//! let degrees = x.count_nonzero(1)?.to_dense()?;
//! let objects = [sscdf::Object::new("", &x), sscdf::Object::new("degrees", &degrees).comment("elements of each row")];
//! sscdf::write_all(&path, &objects, &Default::default())?;
//! assert_eq!(io::read(&path)?.values::<f64>()?, x.values::<f64>()?);
//! assert_eq!(io::info(&path)?[1].stored_as, "sscdf full");
//! # std::fs::remove_file(path).ok();
//! # Ok::<(), openwork::Error>(())
//! ```

use std::path::Path;

use serde_json::Value;

use super::binsparse::export::{Export, OutArray};
use super::binsparse::hdf5::{self, Attributes, Elements, Group, Said, sscdf::FORMATS};
use super::progress::Tell;
use super::{Format, WriteOptions, atomic, losses};
use crate::DType;
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::named::Named;
use crate::tensor::Tensor;
use crate::tensor::trace;

/// An object to be written.
#[derive(Clone, Debug)]
pub struct Object<'a> {
    /// No name for the primary object, which comes first; a name without slashes for the others.
    pub name: &'a str,
    /// What it is.
    pub tensor: &'a Tensor,
    /// What to say about it.
    pub comment: Option<String>,
}

impl<'a> Object<'a> {
    /// An object without a comment.
    pub fn new(name: &'a str, tensor: &'a Tensor) -> Object<'a> {
        Object { name, tensor, comment: None }
    }

    /// The same object with a comment.
    pub fn comment(self, comment: impl Into<String>) -> Object<'a> {
        Object { comment: Some(comment.into()), ..self }
    }
}

/// Writes a tensor as the only object of a file, whole or not at all.
///
/// # Errors
/// [`Layout`](crate::ErrorKind::Layout) if sscdf cannot hold the tensor, before a byte is written;
/// [`Io`](crate::ErrorKind::Io) if the file cannot be written.
pub fn write(path: impl AsRef<Path>, tensor: &Tensor) -> Result<()> {
    write_with(path, tensor, &WriteOptions::default())
}

/// As [`write()`], with options; the `comment` among their metadata is that of the object.
///
/// # Errors
/// As [`write()`]; [`Invalid`](crate::ErrorKind::Invalid) if an option is not one of the format.
pub fn write_with(path: impl AsRef<Path>, tensor: &Tensor, options: &WriteOptions<'_>) -> Result<()> {
    let comment = options.metadata.and_then(|said| said.get("comment")).and_then(Value::as_str).map(str::to_owned);
    write_all(path, &[Object { name: "", tensor, comment }], options)
}

/// Writes objects, the primary one first, whole or not at all.
///
/// # Errors
/// As [`write()`]; [`Invalid`](crate::ErrorKind::Invalid) if the first object has a name, another one has none, one that
/// is there already or a slash in it, or an option is not one of the format.
pub fn write_all(path: impl AsRef<Path>, objects: &[Object<'_>], options: &WriteOptions<'_>) -> Result<()> {
    let _call = trace::call("sscdf::write", &[]);
    options.check(Format::Sscdf)?;
    let parts = objects.iter().map(|object| Parts::of(object.tensor, options)).collect::<Result<Vec<Parts>>>()?;
    check_names(objects, &parts)?;
    let sizes = parts.mapped(Parts::sizes);
    let mut root = Group::default();
    let mut dimensions = 0;
    for ((object, parts), sizes) in objects.iter().zip(&parts).zip(&sizes) {
        let Some(group) = root.at(object.name) else { return Err(error::invalid("name", "is that of an array")) };
        parts.put(group, sizes, &mut dimensions);
        let is_primary = object.name.is_empty();
        group.attributes.extend(is_primary.then(|| ("version", Said::Ascii("1.0".into()))));
        group.attributes.extend(object.comment.as_ref().map(|text| ("comment", spoken(text))));
    }
    atomic::write(path.as_ref(), |file| hdf5::write_packed(file, &root, options))?;
    Tell::new(options.progress, root.bytes()).end();
    Ok(())
}

/// A text: netCDF has characters of one byte, and texts of any length for all others.
fn spoken(text: &str) -> Said {
    if text.is_ascii() && text.len() < 1 << 15 { Said::Ascii(text.into()) } else { Said::Text(text.into()) }
}

fn check_names(objects: &[Object<'_>], parts: &[Parts]) -> Result<()> {
    let mut names = Named::new();
    if let Some(parts) = parts.first() {
        for name in parts.names() {
            names.insert(name, ());
        }
    }
    for (place, Object { name, .. }) in objects.iter().enumerate() {
        let why = match name.is_empty() {
            true if place > 0 => "only the first object, the primary one, has no name",
            false if place == 0 => "the first object, the primary one, has no name",
            false if name.contains(['/', '\0']) || matches!(*name, "." | "..") => "objects do not lie in one another",
            false if names.insert(*name, ()).is_some() => "the name is given twice, or is that of an array",
            _ => continue,
        };
        return Err(error::invalid("name", format_args!("{name:?}: {why}")));
    }
    if objects.is_empty() {
        Err(error::invalid("objects", "there is none; a file has a primary object"))
    } else {
        Ok(())
    }
}

/// An object as it is stored.
struct Parts {
    format: &'static str,
    datatype: &'static str,
    shape: Vec<u64>,
    arrays: Vec<Stored>,
}

/// An array, with a dimension of its size or as one element.
struct Stored {
    name: &'static str,
    dtype: DType,
    is_one: bool,
    data: Data,
}

enum Data {
    Index(Vec<u64>),
    Values(OutArray),
}

impl Stored {
    fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Index(indices) => bytemuck::cast_slice(indices),
            Data::Values(values) => values.bytes(),
        }
    }

    /// Values; truth values are signed bytes.
    fn values(name: &'static str, values: OutArray, dtype: DType, is_one: bool) -> Stored {
        let dtype = if dtype == DType::Bool { DType::I8 } else { dtype };
        Stored { name, dtype, is_one, data: Data::Values(values) }
    }
}

/// What sscdf calls a dtype.
fn datatype(dtype: DType) -> Option<&'static str> {
    Some(match dtype {
        DType::F32 => "fp32",
        DType::F64 => "fp64",
        other if other.is_int() || other == DType::Bool => other.name(),
        _ => return None,
    })
}

#[cold]
fn refused<T>(what: String) -> Result<T> {
    Err(losses::refused("sscdf 1.0", &what))
}

impl Parts {
    fn of(x: &Tensor, options: &WriteOptions<'_>) -> Result<Parts> {
        let Some(datatype) = datatype(x.dtype()) else {
            return refused(format!("the dtype {} (cast to float32 or float64)", x.dtype()));
        };
        if let Some(what) = losses::fill_other_than_zero(x) {
            return refused(what);
        }
        if x.ndim() > 2 {
            return refused(format!("a tensor of {} axes; it has scalars, vectors and matrices", x.ndim()));
        }
        let parts = |format, arrays| {
            let shape = x.shape().mapped(|&size| size as u64);
            Ok(Parts { format, datatype, shape, arrays })
        };
        if x.ndim() == 0 {
            return match x.nse() {
                0 if !x.is_strided() => parts("scalar_empty", Vec::new()),
                1 => {
                    let one = x.stored_values().reshape([1])?;
                    let value = OutArray::of_tensor("values", &one)?;
                    parts("scalar", vec![Stored::values("value", value, x.dtype(), true)])
                }
                n => refused(format!("a scalar with {n} values (coalesce adds them)")),
            };
        }
        if let Some(what) = losses::unordered(x) {
            return refused(what);
        }
        if options.bitmap && !x.is_strided() {
            return Parts::bitmap(x).and_then(|(format, arrays)| parts(format, arrays));
        }
        let export = Export::new(x, &WriteOptions { extensions: true, ..Default::default() }, &Default::default())?;
        let known = FORMATS.iter().find(|format| Some(format.alias) == export.alias && !format.is_bitmap());
        let Some(format) = known else {
            return refused(format!("the layout {} (to_layout converts to CSR, CSC, DCSR, DCSC or COO)", x.layout()));
        };
        let mut arrays = Vec::new();
        for array in export.arrays {
            if array.name == "values" {
                arrays.push(Stored::values("values", array, x.dtype(), export.iso));
            } else if let Some((_, name)) = format.arrays.iter().find(|(ours, _)| array.name == *ours) {
                arrays.push(Stored { name, dtype: DType::U64, is_one: false, data: Data::Index(array.wide()) });
            }
        }
        parts(format.name, arrays)
    }

    /// All elements, and which of them are stored; by columns if the levels are.
    fn bitmap(x: &Tensor) -> Result<(&'static str, Vec<Stored>)> {
        let by_columns =
            x.ndim() == 2 && x.level_spec().is_some_and(|spec| spec.dims.first().is_some_and(|dim| dim.0 == 1));
        let y = if by_columns { x.permute_dims([1, 0])? } else { x.clone() };
        let size = [y.shape().iter().product::<usize>()];
        let bits = OutArray::of_tensor("bitmap", &y.is_stored()?.to_dense()?.reshape(size)?)?;
        let values = OutArray::of_tensor("values", &y.to_dense()?.reshape(size)?)?;
        let format = match (x.ndim(), by_columns) {
            (1, _) => "bitmap",
            (_, false) => "bitmapr",
            (_, true) => "bitmapc",
        };
        let bits = Stored::values("bitmap", bits, DType::Bool, false);
        Ok((format, vec![bits, Stored::values("values", values, x.dtype(), false)]))
    }

    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.arrays.iter().map(|array| array.name).chain(self.axes().iter().copied())
    }

    /// What the sizes are called.
    fn axes(&self) -> &'static [&'static str] {
        match self.shape.len() {
            0 => &[],
            1 => &["size"],
            _ => &["nrows", "ncols"],
        }
    }

    /// The shapes of the arrays.
    fn sizes(&self) -> Vec<Vec<u64>> {
        self.arrays.mapped(|array| match array.is_one {
            true => Vec::new(),
            false => vec![(array.bytes().len() / array.dtype.size()) as u64],
        })
    }

    /// Puts the object into a group. Dimensions are counted over the whole file.
    fn put<'a>(&'a self, group: &mut Group<'a>, sizes: &'a [Vec<u64>], dimensions: &mut i32) {
        for (name, size) in self.axes().iter().zip(&self.shape) {
            let bytes = bytemuck::bytes_of(size);
            group.dataset(name, Elements { dtype: DType::U64, shape: &[], bytes }, Vec::new());
        }
        for (array, shape) in self.arrays.iter().zip(sizes) {
            let elements = Elements { dtype: array.dtype, shape, bytes: array.bytes() };
            let attributes = if array.is_one { Vec::new() } else { scale(array.name, dimensions) };
            group.dataset(array.name, elements, attributes);
        }
        group.attributes.push(("format", Said::Ascii(self.format.into())));
        group.attributes.push(("datatype", Said::Ascii(self.datatype.into())));
    }
}

/// What makes a dataset of one axis a variable of netCDF-4 that is its own dimension: a dimension scale of HDF5 with the
/// number of the dimension. ("NetCDF-4 and HDF5 file format", NetCDF Users Guide, appendix C.)
fn scale(name: &str, dimensions: &mut i32) -> Attributes {
    let number = *dimensions;
    *dimensions += 1;
    vec![
        ("CLASS", Said::Ascii("DIMENSION_SCALE".into())),
        ("NAME", Said::Ascii(name.into())),
        ("_Netcdf4Coordinates", Said::Int32s(vec![number])),
        ("_Netcdf4Dimid", Said::Int32(number)),
    ]
}
