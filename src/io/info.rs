//! What files say about the tensors they hold, without these being read.

use crate::base::mapped::Mapped;
use crate::base::shape::fitting;
use std::fmt;
use std::io::Read;
use std::path::Path;

use openwork_ops::{DType, Scalar};
use serde_json::{Value, json};

use super::ReadOptions;
use super::any::Format;
use super::binsparse::{self, FillKind};
use super::input::Input;
use super::state_dict::Archive;
use super::{frostt, matrix_market};
use crate::base::error::{Error, ErrorKind, Result};
use crate::levels::layout::Layout;
use crate::{LevelKind, LevelSpec, MatrixFacts, Part};

/// What a file says about a tensor. What it does not say, and only its arrays or lines would show, is `None`.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// The tensor's name in a file of several; empty where there is one without a name.
    pub name: String,
    /// The file's format.
    pub format: Format,
    /// What the format calls the way it is stored: `CSR`, `coordinate real symmetric`; of one tensor of several that cannot
    /// be read (it has no dtype then), why.
    pub stored_as: String,
    /// Size of each axis.
    pub shape: Option<Vec<u64>>,
    /// The number of axes, which is known in any case.
    pub ndim: usize,
    /// The element type.
    pub dtype: Option<DType>,
    /// The layout that the tensor is read in.
    pub layout: Layout,
    /// The levels of that layout; none of a strided tensor.
    pub levels: LevelSpec,
    /// What an unstored element is, if there are any.
    pub fill: Option<FillInfo>,
    /// How many elements the file lists; those that a structure implies are not counted.
    pub nse: Option<u64>,
    /// The structure that is stored as part of itself: `symmetric_lower`; `None` if all that is stored is listed.
    pub structure: Option<String>,
    /// What is said about the structure of a matrix beside that. Reading the tensor checks it.
    pub facts: MatrixFacts,
    /// The version of the format that the file claims, where it claims one: of binsparse.
    pub version: Option<String>,
    /// The arrays that it is stored as, in binsparse files and models.
    pub arrays: Vec<StoredArray>,
    /// Bytes of the whole file; of a stream they are not known.
    pub file_bytes: Option<u64>,
}

/// An array of a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredArray {
    /// What it holds: `pointers_to_1`, `indices_1`, `values`, `fill_value`.
    pub name: String,
    /// The element type as it is stored.
    pub dtype: String,
    /// Number of elements.
    pub entries: u64,
    /// Bytes of the elements, unpacked.
    pub bytes: u64,
    /// Bytes that they take in the file where they are packed and the file says so.
    pub packed: Option<u64>,
}

/// What a file says about unstored elements.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FillInfo {
    /// They are 0, which the file need not say.
    Zero,
    /// They have one value; `None` if it cannot be read.
    Value(Option<Scalar>),
    /// They have the values of an array of this shape.
    Array(Vec<u64>),
    /// They are absent.
    Undefined,
}

impl fmt::Display for FillInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FillInfo::Zero => f.write_str("0"),
            FillInfo::Value(Some(value)) => value.fmt(f),
            FillInfo::Value(None) => f.write_str("a value"),
            FillInfo::Array(shape) => write!(f, "array{shape:?}"),
            FillInfo::Undefined => f.write_str("undefined"),
        }
    }
}

impl StoredArray {
    fn to_json(&self) -> Value {
        let StoredArray { name, dtype, entries, bytes, packed } = self;
        json!({ "name": name, "dtype": dtype, "entries": entries, "bytes": bytes, "packed": packed })
    }
}

impl Info {
    /// How many elements the tensor has; `None` if its shape is not known.
    ///
    /// Saturates at 2^128 - 1.
    pub fn size(&self) -> Option<u128> {
        let shape = self.shape.as_ref()?;
        if shape.contains(&0) {
            return Some(0);
        }
        Some(shape.iter().fold(1_u128, |size, &n| size.saturating_mul(n.into())))
    }

    /// The part of the elements that is listed; `None` if it is not known or there is no element.
    pub fn density(&self) -> Option<f64> {
        let size = self.size().filter(|&size| size > 0)?;
        Some(self.nse? as f64 / size as f64)
    }

    /// How many positions each level has, the outermost first; `None` for those that the file does not tell. The last level
    /// has as many as there are values, which are rows of elements where there are value axes.
    ///
    /// ```
    /// use openwork::{Layout, Tensor, io};
    /// let path = std::env::temp_dir().join(format!("openwork-counts-{}.npz", std::process::id()));
    /// io::write(&path, &Tensor::eye(4, openwork::DType::F64, Layout::Csr)?)?;
    /// assert_eq!(io::info(&path)?[0].level_counts(), [Some(4), Some(4)]); // rows, and elements in them
    /// # std::fs::remove_file(&path).ok();
    /// # Ok::<(), openwork::Error>(())
    /// ```
    pub fn level_counts(&self) -> Vec<Option<u64>> {
        let entries = |name: String| self.arrays.iter().find(|array| array.name == name).map(|array| array.entries);
        let size = |dim: usize| {
            let &(axis, part) = self.levels.dims.get(dim)?;
            let size = *self.shape.as_ref()?.get(axis)?;
            Some(match part {
                Part::Whole => size,
                Part::Div(block) => size.div_ceil(block as u64),
                Part::Mod(block) => block as u64,
            })
        };
        let (mut before, mut dim) = (Some(1_u64), 0);
        let last = self.levels.levels.len().saturating_sub(1);
        let mut out = Vec::with_capacity(self.levels.levels.len());
        for (at, level) in self.levels.levels.iter().enumerate() {
            let (count, axes) = match *level {
                LevelKind::Dense => (before.zip(size(dim)).and_then(|(n, size)| n.checked_mul(size)), 1),
                LevelKind::Sparse { rank: 0 } => (None, 0),
                LevelKind::Sparse { rank } => (entries(format!("indices_{dim}")), rank),
                LevelKind::Singleton => (before, 1),
            };
            dim += axes;
            // All elements are values where there are no value axes.
            let all = self.nse.filter(|_| at == last && dim == self.levels.dims.len());
            before = count.or(all);
            out.push(before);
        }
        out
    }

    /// All of it as a JSON object, `null` where the file does not say.
    pub fn to_json(&self) -> Value {
        json!({
            "name": self.name,
            "format": self.format.to_string(),
            "stored_as": self.stored_as,
            "shape": self.shape,
            "ndim": self.ndim,
            "dtype": self.dtype.map(|dtype| dtype.name()),
            "layout": self.layout.to_string(),
            "levels": (!self.levels.levels.is_empty()).then(|| self.levels.to_string()),
            "level_counts": (!self.levels.levels.is_empty()).then(|| self.level_counts()),
            "fill": self.fill.as_ref().map(ToString::to_string),
            "nse": self.nse,
            "density": self.density(),
            "structure": self.structure,
            "facts": self.facts.to_json(),
            "version": self.version,
            "arrays": self.arrays.iter().map(StoredArray::to_json).collect::<Vec<_>>(),
            "file_bytes": self.file_bytes,
        })
    }
}

/// What a file says about each tensor that it holds. No array is read but a fill of one value, and of text the lines above the entries alone
/// (of a `.tns` file also the first entry).
///
/// ```
/// use openwork::{Layout, Tensor, io};
/// let path = std::env::temp_dir().join(format!("openwork-info-{}.mtx", std::process::id()));
/// io::write(&path, &Tensor::random([20, 30], 0.1, 0.0, Layout::Csr, 1)?)?;
/// let info = &io::info(&path)?[0];
/// assert_eq!((info.shape.as_deref(), info.layout), (Some(&[20, 30][..]), Layout::Coo));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the file cannot be read, has no known format, or what is read of it breaks the format's rules.
pub fn info(path: impl AsRef<Path>) -> Result<Vec<Info>> {
    info_with(path, &ReadOptions::default())
}

/// As [`info`], with options.
///
/// # Errors
/// As [`info`].
pub fn info_with(path: impl AsRef<Path>, options: &ReadOptions<'_>) -> Result<Vec<Info>> {
    infos(Input::of_path(path.as_ref(), options)?, options)
}

/// As [`info`], of what a stream brings; see [`read_from`](super::read_from). Of text no more is read than the lines above
/// the entries.
///
/// # Errors
/// As [`info`]; if neither the options nor the first bytes tell the format.
pub fn info_from<'a>(stream: impl Read + 'a, options: &ReadOptions<'a>) -> Result<Vec<Info>> {
    infos(Input::of_stream(Box::new(stream), None, options)?, options)
}

fn infos<'a>(input: Input<'a>, options: &ReadOptions<'a>) -> Result<Vec<Info>> {
    let (format, path, file_bytes) = (input.format, input.path.clone(), input.len());
    match format {
        Format::MatrixMarket => {
            let (source, path) = input.text(options);
            let header = matrix_market::header_of(source, true, path.as_deref())?;
            Ok(vec![of_matrix_market(&header, file_bytes)])
        }
        Format::Frostt | Format::TensorMarket => {
            let (source, path) = input.text(options);
            Ok(vec![of_frostt(&frostt::header_of(source, options, path.as_deref())?, file_bytes)])
        }
        format if format.is_container() => {
            let (file, _spool) = binsparse::File::of_placed(input.placed(options)?, path)?;
            let mut file = file.allow_libhdf5(options.allow_libhdf5);
            let file_bytes = file_bytes.or_else(|| file.bytes());
            let names = match options.name {
                Some(name) => vec![name.to_owned()],
                None => file.names()?,
            };
            let described = |name: String| {
                let descriptor = file.descriptor(&name)?;
                let value = file.fill(&name).ok().flatten();
                let arrays = file.arrays(&name, &descriptor);
                let format = format.told_by(&descriptor.format);
                Ok(Info { arrays, ..of_binsparse(name, format, &descriptor, value, file_bytes) })
            };
            names.into_iter().map(described).collect()
        }
        _ => {
            let (file, _spool) = input.placed(options)?.one_file()?;
            let archive = Archive::of_file(file, format, path.as_deref())?;
            let names: Vec<&str> = options.name.map_or_else(|| archive.names().collect(), |name| vec![name]);
            let described = |name: &str| {
                let descriptor = match archive.descriptor(name) {
                    Ok(descriptor) => descriptor,
                    // The others are told of, and of this one what is known.
                    Err(error) if options.name.is_none() && matches!(error.kind(), ErrorKind::Format { .. }) => {
                        return Ok(unreadable(name, format, &archive, &error, file_bytes));
                    }
                    Err(error) => return Err(error),
                };
                let value = archive.fill(name).ok().flatten();
                let info = of_binsparse(name.to_owned(), format, &descriptor, value, file_bytes);
                // A strided tensor has no descriptor in the file, whose version could be told.
                let version =
                    info.version.clone().filter(|version| !info.levels.levels.is_empty() && !version.is_empty());
                Ok(Info { arrays: archive.arrays(name), version, ..info })
            };
            names.into_iter().map(described).collect()
        }
    }
}

/// A tensor that cannot be read, because its elements are of a type that tensors do not have or its parts make none.
fn unreadable(name: &str, format: Format, archive: &Archive, error: &Error, file_bytes: Option<u64>) -> Info {
    let (shape, arrays) = (archive.shape(name), archive.arrays(name));
    let ndim = shape.as_ref().map_or(0, Vec::len);
    let stored_as = match error.kind() {
        ErrorKind::Format { source, .. } => source.to_string(),
        _ => error.to_string(),
    };
    Info {
        name: name.to_owned(),
        format,
        stored_as,
        shape,
        ndim,
        dtype: None,
        layout: Layout::Strided,
        levels: strided(ndim),
        fill: None,
        nse: None,
        structure: None,
        facts: MatrixFacts::default(),
        version: None,
        arrays,
        file_bytes,
    }
}

fn strided(ndim: usize) -> LevelSpec {
    LevelSpec { levels: Vec::new(), dims: (0..ndim).mapped(|axis| (axis, Part::Whole)) }
}

fn coordinates(ndim: usize) -> LevelSpec {
    LevelSpec { levels: vec![LevelKind::Sparse { rank: ndim }], ..strided(ndim) }
}

fn of_matrix_market(header: &matrix_market::Header, file_bytes: Option<u64>) -> Info {
    use matrix_market::{Listing, Symmetry};
    let array = header.format == Listing::Array;
    let structure = match header.symmetry {
        Symmetry::General => None,
        Symmetry::Symmetric => Some("symmetric_lower"),
        Symmetry::SkewSymmetric => Some("skew_symmetric_lower"),
        Symmetry::Hermitian => Some("hermitian_lower"),
    };
    let shape = if header.vector { vec![header.rows] } else { vec![header.rows, header.cols] };
    let ndim = shape.len();
    Info {
        name: String::new(),
        format: Format::MatrixMarket,
        stored_as: header.words(),
        shape: Some(shape),
        ndim,
        dtype: Some(header.dtype()),
        layout: if array { Layout::Strided } else { Layout::Coo },
        levels: if array { strided(ndim) } else { coordinates(ndim) },
        fill: (!array).then_some(FillInfo::Zero),
        nse: Some(header.listed),
        structure: structure.map(str::to_owned),
        facts: MatrixFacts::default(),
        version: None,
        arrays: Vec::new(),
        file_bytes,
    }
}

fn of_frostt(header: &frostt::Header, file_bytes: Option<u64>) -> Info {
    let plain = header.dialect == frostt::Dialect::Tns;
    Info {
        name: String::new(),
        format: if plain { Format::Frostt } else { Format::TensorMarket },
        stored_as: if plain { "entries".to_owned() } else { format!("coordinate {}", header.field.word()) },
        shape: header.shape.clone(),
        ndim: header.order,
        dtype: Some(header.value_dtype()),
        layout: Layout::Coo,
        levels: coordinates(header.order),
        fill: Some(FillInfo::Zero),
        nse: header.listed,
        structure: None,
        facts: MatrixFacts::default(),
        version: None,
        arrays: Vec::new(),
        file_bytes,
    }
}

fn of_binsparse(
    name: String,
    format: Format,
    d: &binsparse::Descriptor,
    value: Option<Scalar>,
    file_bytes: Option<u64>,
) -> Info {
    let fits = fitting(&d.shape);
    let fill = match &d.fill {
        FillKind::Unspecified => FillInfo::Zero,
        FillKind::Value => FillInfo::Value(value),
        FillKind::Undefined => FillInfo::Undefined,
        FillKind::Array(shape) => FillInfo::Array(shape.clone()),
    };
    Info {
        name,
        format,
        stored_as: d.format.clone(),
        shape: Some(d.shape.clone()),
        ndim: d.shape.len(),
        dtype: d.dtype(),
        layout: fits.map_or(Layout::Levels, |shape| d.levels.layout(&shape)),
        levels: d.levels.clone(),
        fill: (!d.levels.levels.is_empty()).then_some(fill),
        nse: d.number_of_stored_values,
        structure: d.symmetry.map(|symmetry| symmetry.to_string()),
        facts: d.facts,
        version: Some(d.version.clone()).filter(|version| !version.is_empty()),
        arrays: Vec::new(),
        file_bytes,
    }
}
