//! One tensor as arrays of a safetensors file, and back.

use crate::base::mapped::Mapped;
use crate::base::shape::fitting;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use serde_json::Map;

use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::io::binsparse::Version;
use crate::io::binsparse::arrays::{ArrayInfo, Arrays};
use crate::io::binsparse::descriptor::{Descriptor, FillKind, alias};
use crate::io::binsparse::export::Export;
use crate::io::binsparse::map::{self, TensorReader};
use crate::io::binsparse::rows::Cut;
use crate::io::binsparse::sizes::{product, raw};
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::safetensors::{ArrayEntry, DataPart, EntryType, OutEntry};
use crate::io::{ReadOptions, WriteOptions};
use crate::{DType, LevelSpec, MatrixFacts, Part, Scalar, Tensor};

/// Adds the arrays of a tensor to those of the file, and gives the descriptor that makes a tensor of them. A strided
/// tensor is one array and needs none.
pub(super) fn items(name: &str, tensor: &Tensor, out: &mut Vec<OutEntry>) -> Result<Option<String>> {
    if let Some(values) = tensor.strided() {
        out.push(OutEntry { name: name.to_string(), values: values.clone() });
        return Ok(None);
    }
    let options = WriteOptions { extensions: true, version: Some(Version::V0_1), ..WriteOptions::default() };
    let export = Export::new(tensor, &options, &Map::new())?;
    for array in &export.arrays {
        if let Some(values) = array.tensor()?.strided() {
            out.push(OutEntry { name: format!("{name}.{}", array.name), values: values.clone() });
        }
    }
    Ok(Some(export.json))
}

/// The entries of a file by name.
pub(super) type Entries = HashMap<String, ArrayEntry>;

/// The tensor of a descriptor, or a part of it.
pub(super) fn described(
    name: &str,
    descriptor: &Descriptor,
    entries: &Entries,
    source: &DataPart,
    options: &ReadOptions<'_>,
    cut: Option<Cut>,
) -> Res<Tensor> {
    let mut warnings = Vec::new();
    let mut arrays = Named { name, entries, source };
    let make: map::Make = Tensor::from_parts;
    // What we describe in a model is read strictly: there are no older ones.
    let options = &ReadOptions { lenient: false, ..*options };
    TensorReader { descriptor, arrays: &mut arrays, options, warnings: &mut warnings, make }.tensor(cut)
}

/// The one value of unstored elements, where the descriptor says that there is one.
pub(super) fn fill_value(
    name: &str,
    descriptor: &Descriptor,
    entries: &Entries,
    source: &DataPart,
) -> Res<Option<Scalar>> {
    let mut arrays = Named { name, entries, source };
    let (options, make): (_, map::Make) = (ReadOptions::default(), Tensor::from_parts);
    TensorReader { descriptor, arrays: &mut arrays, options: &options, warnings: &mut Vec::new(), make }.fill_value()
}

/// The strided tensor of an entry, or a range of its rows; `complex`: its last axis holds real and imaginary parts.
pub(super) fn plain(
    entry: &ArrayEntry,
    complex: bool,
    source: &DataPart,
    range: Option<Range<usize>>,
    tell: &Tell<'_>,
) -> Res<Tensor> {
    let (shape, dtype) = plain_type(entry, complex)?;
    let Some(mut shape) = fitting(&shape) else {
        return bad(format_args!("the shape {shape:?} does not fit this machine"));
    };
    product(&shape)?;
    let (mut start, mut len) = (entry.start, if complex { entry.len() / 2 } else { entry.len() });
    if let Some(range) = range {
        let Some((rows, row)) = shape.split_first_mut() else { return bad("a tensor without axes has no ranges") };
        if range.start > range.end || range.end > *rows {
            let Range { start, end } = range;
            return bad(format_args!("the range {start}..{end} does not lie in axis 0, which has size {rows}"));
        }
        let row = row.iter().product::<usize>() as u64; // the whole product was checked
        start += range.start as u64 * row * dtype.size() as u64;
        *rows = range.len();
        len = *rows as u64 * row;
    }
    let values = source.elements(start, len, dtype, tell)?;
    match values.strided() {
        Some(values) => Ok(Tensor::from_strided(values.reshape(&shape)?)),
        None => bad("values that are not strided"),
    }
}

/// Shape and dtype of the strided tensor of an entry.
pub(super) fn plain_type(entry: &ArrayEntry, complex: bool) -> Res<(Vec<u64>, DType)> {
    let dtype = match entry.kind {
        EntryType::Known(dtype) => dtype,
        EntryType::Other(name, _) => return bad(format_args!("its element type is {name}, which tensors do not have")),
    };
    if !complex {
        return Ok((entry.shape.clone(), dtype));
    }
    match (dtype, entry.shape.split_last()) {
        (DType::F32, Some((2, shape))) => Ok((shape.to_vec(), DType::Complex64)),
        (DType::F64, Some((2, shape))) => Ok((shape.to_vec(), DType::Complex128)),
        _ => bad(format_args!("complex numbers need pairs of floats, this is {dtype} of shape {:?}", entry.shape)),
    }
}

/// What a descriptor would say about a strided tensor.
pub(super) fn plain_descriptor(entry: &ArrayEntry, complex: bool) -> Res<Descriptor> {
    let (shape, dtype) = plain_type(entry, complex)?;
    Ok(strided_descriptor(shape, dtype))
}

/// The same of a shape and an element type.
pub(super) fn strided_descriptor(shape: Vec<u64>, dtype: DType) -> Descriptor {
    let levels = LevelSpec { levels: Vec::new(), dims: (0..shape.len()).mapped(|a| (a, Part::Whole)) };
    let mut data_types = BTreeMap::new();
    data_types.insert("values".to_string(), dtype.into());
    Descriptor {
        version: Version::V0_1.text().into(),
        format: alias(&levels).unwrap_or("custom").into(),
        number_of_stored_values: Some(shape.iter().fold(1, |n: u64, &size| n.saturating_mul(size))),
        shape,
        levels,
        data_types,
        fill: FillKind::Unspecified,
        symmetry: None,
        unordered: false,
        facts: MatrixFacts::default(),
        metadata: Map::new(),
        stored_names: Default::default(),
        iso: false,
    }
}

/// The arrays of one tensor, as a container of binsparse has them: one-dimensional, complex numbers as pairs, truth
/// values and `bfloat16` as integers.
struct Named<'a> {
    name: &'a str,
    entries: &'a Entries,
    source: &'a DataPart,
}

impl Named<'_> {
    fn entry(&self, name: &str) -> Option<&ArrayEntry> {
        self.entries.get(&format!("{}.{name}", self.name))
    }
}

impl Arrays for Named<'_> {
    fn info(&mut self, name: &str) -> Res<Option<ArrayInfo>> {
        let Some(entry) = self.entry(name) else { return Ok(None) };
        match entry.kind {
            EntryType::Known(dtype) if dtype.is_complex() => {
                Ok(Some(ArrayInfo { dtype: dtype.real(), len: entry.len() * 2 }))
            }
            EntryType::Known(dtype) => Ok(Some(ArrayInfo { dtype: raw(dtype), len: entry.len() })),
            EntryType::Other(kind, _) => bad(format_args!("`{name}` holds {kind}, which tensors do not have")),
        }
    }

    fn read(&mut self, name: &str, start: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        match (self.info(name)?, self.entry(name)) {
            (Some(info), Some(entry)) => {
                self.source.read_elements(entry.start + start * info.dtype.size() as u64, info.dtype, out, tell)
            }
            _ => bad(format_args!("the array `{name}` is missing")),
        }
    }

    fn share(&mut self, name: &str) -> Option<Strided> {
        let info = self.info(name).ok()??;
        let len = usize::try_from(info.len).ok()?;
        self.source.share(self.entry(name)?.start, len, info.dtype)
    }
}
