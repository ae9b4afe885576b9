//! From a tensor to a descriptor and arrays.

use crate::base::mapped::Mapped;
use crate::base::named::Named;
use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::descriptor::{Descriptor, FillKind, alias};
use super::sizes::raw;
use super::types::{DataType, Version};
use super::{extension, facts};
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::io::WriteOptions;
use crate::tensor::fill::Fill;
use crate::tensor::index_array::{IndexArray, LevelData};
use crate::tensor::trace;
use crate::{DType, Layout, LevelKind, LevelSpec, MatrixFacts, Part, Scalar, Tensor};

/// A tensor as it will be written.
pub(crate) struct Export {
    pub(crate) json: String,
    /// The predefined format of these levels, if it has one.
    pub(crate) alias: Option<&'static str>,
    /// Whether one value stands for all.
    pub(crate) iso: bool,
    pub(crate) arrays: Vec<OutArray>,
}

pub(crate) struct OutArray {
    pub(crate) name: String,
    /// As stored.
    pub(crate) dtype: DType,
    data: Data,
}

enum Data {
    Index(IndexArray),
    /// In order without gaps.
    Values(Strided),
}

impl Export {
    /// Bytes of all arrays.
    pub(crate) fn bytes(&self) -> u64 {
        self.arrays.iter().map(|array| array.bytes().len() as u64).sum()
    }
}

impl OutArray {
    pub(crate) fn bytes(&self) -> &[u8] {
        match &self.data {
            Data::Index(a) => match (a.as_u32(), a.as_u64()) {
                (Some(v), _) => bytemuck::cast_slice(v),
                (_, Some(v)) => bytemuck::cast_slice(v),
                _ => &[],
            },
            Data::Values(values) => values.contiguous_bytes().unwrap_or_default(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes().len() / self.dtype.size()
    }

    fn index(name: String, array: IndexArray) -> OutArray {
        let dtype = if array.as_u32().is_some() { DType::U32 } else { DType::U64 };
        OutArray { name, dtype, data: Data::Index(array) }
    }

    fn values(name: &str, values: &Strided) -> Result<OutArray> {
        let data = Data::Values(values.to_contiguous()?.into_owned());
        Ok(OutArray { name: name.into(), dtype: raw(values.dtype), data })
    }

    /// The elements of a strided tensor, in order.
    pub(crate) fn of_tensor(name: &str, x: &Tensor) -> Result<OutArray> {
        match x.strided() {
            Some(strided) => OutArray::values(name, strided),
            None => Err(error::layout("a tensor that is not strided")),
        }
    }

    /// Indices in 64 bits.
    pub(crate) fn wide(self) -> Vec<u64> {
        match &self.data {
            Data::Index(indices) => match (indices.as_u32(), indices.as_u64()) {
                (Some(narrow), _) => narrow.mapped(|&index| u64::from(index)),
                (_, Some(wide)) => wide.to_vec(),
                _ => Vec::new(),
            },
            Data::Values(_) => Vec::new(),
        }
    }

    /// The indices from one on, each with so much added.
    pub(super) fn shifted(&self, skip: usize, base: u64) -> Vec<u64> {
        let Data::Index(indices) = &self.data else { return Vec::new() };
        match (indices.as_u32(), indices.as_u64()) {
            (Some(narrow), _) => narrow.get(skip..).unwrap_or_default().mapped(|&index| base + u64::from(index)),
            (_, Some(wide)) => wide.get(skip..).unwrap_or_default().mapped(|&index| base + index),
            _ => Vec::new(),
        }
    }

    /// One of the indices.
    pub(super) fn index_at(&self, at: usize) -> Option<u64> {
        let Data::Index(indices) = &self.data else { return None };
        let narrow = indices.as_u32().and_then(|narrow| narrow.get(at).map(|&index| u64::from(index)));
        narrow.or_else(|| indices.as_u64().and_then(|wide| wide.get(at).copied()))
    }

    /// The array as a one-dimensional tensor of its own element type, sharing memory.
    pub(crate) fn tensor(&self) -> Result<Tensor> {
        match &self.data {
            Data::Index(array) => array.to_tensor(),
            Data::Values(values) => Ok(Tensor::from_strided(values.reshape(&[values.len()])?)),
        }
    }
}

/// What binsparse 0.1 cannot say about a tensor.
fn losses(x: &Tensor) -> Vec<String> {
    let mut out = Vec::new();
    if matches!(x.dtype(), DType::F16 | DType::BF16) {
        out.push(format!("the dtype {} (cast to float32)", x.dtype()));
    }
    match x.fill() {
        Some(Fill::Undefined) => out.push("the undefined fill (replace_fill gives absent elements a value)".into()),
        Some(Fill::Array(values)) => {
            out.push(format!("the fill, an array of shape {:?} (with_fill stores what it stands for)", values.shape()));
        }
        Some(Fill::Scalar(_)) | None => {}
    }
    if let Some(spec) = x.level_spec() {
        if spec.dims.iter().any(|d| d.1 != Part::Whole) {
            out.push(format!("the blocks of layout {} (to_layout converts to another)", x.layout()));
        }
        let other = |kind: &&LevelKind| !matches!(kind, LevelKind::Dense | LevelKind::Sparse { .. });
        if let Some(kind) = spec.levels.iter().find(other) {
            out.push(format!("a {} level (to_layout converts to another layout)", kind.word().0));
        }
        if spec.levels.contains(&LevelKind::Sparse { rank: 0 }) {
            out.push("a sparse level without axes (to_dense)".into());
        }
    }
    if !x.is_coalesced() {
        out.push("repeated or unordered coordinates (coalesce)".into());
    }
    out
}

impl Export {
    /// Prepares a tensor, or says what would be lost.
    pub(crate) fn new(x: &Tensor, options: &WriteOptions<'_>, metadata: &Map<String, Value>) -> Result<Export> {
        let _call = trace::call("binsparse::write", &[]);
        let losses = losses(x);
        if !losses.is_empty() && !options.extensions {
            let why = format!(
                "binsparse 0.1 cannot hold {}; `WriteOptions::extensions` writes it in a form that openwork alone reads",
                losses.join(", nor ")
            );
            return Err(error::layout(why));
        }
        let extended = !losses.is_empty();
        // Rows without elements are no part of a doubly compressed format.
        if !extended && matches!(x.layout(), Layout::Dcsr | Layout::Dcsc) && has_empty_segments(x) {
            let compact = x.to_layout(Layout::Coo)?.to_layout(x.layout())?;
            return Export::whole(&compact, options, metadata, extended);
        }
        Export::whole(x, options, metadata, extended)
    }

    fn whole(x: &Tensor, options: &WriteOptions<'_>, metadata: &Map<String, Value>, extended: bool) -> Result<Export> {
        let _call = trace::call("binsparse::write", &[]);
        let shape: Vec<u64> = x.shape().mapped(|&s| s as u64);
        let mut arrays = Vec::new();
        let mut types = BTreeMap::new();
        let (spec, values) = match (x.strided(), x.level_spec(), x.levels()) {
            (Some(s), _, _) => strided(s),
            (None, Some(spec), Some(levels)) => {
                index_arrays(&levels, &mut arrays);
                (spec, x.stored_values())
            }
            _ => return Err(error::layout("a tensor of unknown storage")),
        };
        let Some(values) = values.strided() else {
            return Err(error::layout("values that are not strided"));
        };
        let core = values.unbroadcast();
        let iso = values.len() > 1 && core.len() == 1;
        arrays.push(OutArray::values("values", if iso { &core } else { values })?);
        for a in &arrays {
            types.insert(a.name.clone(), a.dtype.into());
        }
        types.insert("values".into(), DataType { iso, dtype: x.dtype() });
        let fill = match x.fill() {
            _ if options.fill.is_some() => {
                arrays.push(OutArray::values("fill_value", &Strided::constant(asked(x, options)?, &[1]))?);
                FillKind::Value
            }
            None => FillKind::Unspecified,
            Some(Fill::Undefined) => FillKind::Undefined,
            // Bit for bit: -0 is another fill.
            Some(Fill::Scalar(value)) if value.to_bytes() == Scalar::zero(x.dtype()).to_bytes() => {
                FillKind::Unspecified
            }
            Some(Fill::Scalar(value)) => {
                arrays.push(OutArray::values("fill_value", &Strided::constant(*value, &[1]))?);
                FillKind::Value
            }
            Some(Fill::Array(array)) => {
                if let Some(array) = array.strided() {
                    arrays.push(OutArray::values("fill_value", array)?);
                }
                FillKind::Array(array.shape().mapped(|&s| s as u64))
            }
        };
        if matches!(fill, FillKind::Value | FillKind::Array(_)) {
            types.insert("fill_value".into(), x.dtype().into());
        }
        let alias = alias(&spec);
        let name = if extended { extension::NAMESPACE } else { alias.unwrap_or("custom") };
        let descriptor = Descriptor {
            version: options.version.unwrap_or(Version::V0_1_0).text().into(),
            format: name.into(),
            shape,
            levels: spec,
            number_of_stored_values: Some(x.nse() as u64),
            data_types: types,
            fill,
            symmetry: None,
            unordered: !x.is_coalesced(),
            facts: if options.facts && x.ndim() >= 2 { MatrixFacts::of(x)? } else { MatrixFacts::default() },
            metadata: metadata.clone(),
            stored_names: Named::new(),
            iso: false,
        };
        Ok(Export { json: text(&descriptor)?, alias, iso, arrays })
    }
}

/// The fill that is asked for, if it can be that of the tensor.
fn asked(x: &Tensor, options: &WriteOptions<'_>) -> Result<Scalar> {
    let wanted = options.fill.unwrap_or_else(|| Scalar::zero(x.dtype()));
    let fits = match x.fill() {
        None => wanted.dtype() == x.dtype(),
        Some(Fill::Scalar(value)) => wanted.dtype() == x.dtype() && value.to_bytes() == wanted.to_bytes(),
        Some(_) => false,
    };
    if fits {
        return Ok(wanted);
    }
    let fill =
        x.fill().map_or_else(|| format!("no fill and the dtype {}", x.dtype()), |fill| format!("the fill {fill}"));
    Err(error::invalid("options.fill", format_args!("is {wanted} of {}, and the tensor has {fill}", wanted.dtype())))
}

/// The levels and values of a strided tensor: its dimensions in the order in which they lie in memory.
fn strided(s: &Strided) -> (LevelSpec, Tensor) {
    let n = s.ndim();
    let reversed: Vec<usize> = (0..n).rev().collect();
    let (dims, values) = if n > 1 && !s.is_contiguous() && s.permute(&reversed).is_contiguous() {
        (reversed.clone(), s.permute(&reversed))
    } else {
        ((0..n).collect(), s.clone())
    };
    let dims = dims.into_iter().map(|a| (a, Part::Whole)).collect();
    (LevelSpec { levels: Vec::new(), dims }, Tensor::from_strided(values))
}

/// The arrays of levels; those that may be left out are.
fn index_arrays(levels: &[LevelData], out: &mut Vec<OutArray>) {
    let mut dim = 0;
    for (l, level) in levels.iter().enumerate() {
        let rules = level.kind().array_rules(dim, l == 0);
        let arrays = level.named_arrays(dim).filter(|(name, _)| rules.iter().any(|r| r.name == *name && !r.optional));
        out.extend(arrays.map(|(name, array)| OutArray::index(name.to_string(), array.clone())));
        dim += level.kind().rank();
    }
}

fn has_empty_segments(x: &Tensor) -> bool {
    x.levels().unwrap_or_default().iter().any(|level| match level {
        LevelData::Sparse { pointers: Some(p), .. } => match (p.as_u32(), p.as_u64()) {
            (Some(p), _) => p.windows(2).any(|w| w[0] == w[1]),
            (_, Some(p)) => p.windows(2).any(|w| w[0] == w[1]),
            _ => false,
        },
        _ => false,
    })
}

/// The JSON of a descriptor.
pub(super) fn text(d: &Descriptor) -> Result<String> {
    let _call = trace::call("binsparse::write", &[]);
    let mut root = Map::new();
    for (key, value) in &d.metadata {
        if key == "binsparse" || key == extension::NAMESPACE || key == facts::KEY {
            return Err(error::invalid("metadata", format_args!("the key {key:?} is the descriptor's")));
        }
        root.insert(key.clone(), value.clone());
    }
    if d.facts != MatrixFacts::default() {
        root.insert(facts::KEY.into(), facts::write(&d.facts));
    }
    if d.is_extension() {
        root.insert(extension::NAMESPACE.into(), extension::write(d));
    } else {
        root.insert("binsparse".into(), standard(d));
    }
    Ok(Value::Object(root).to_string())
}

fn standard(d: &Descriptor) -> Value {
    let mut out = json!({
        "version": d.version,
        "format": d.format,
        "shape": d.shape,
        "number_of_stored_values": d.number_of_stored_values,
        "data_types": d.type_names(),
    });
    if d.fill == FillKind::Value {
        out["fill"] = json!(true);
    }
    if d.format == "custom" {
        let value_axes = d.levels.dims.len() - d.levels.levels.iter().map(|l| l.rank()).sum::<usize>();
        let kinds = d.levels.levels.iter().copied().chain(vec![LevelKind::Dense; value_axes]);
        let mut level = json!({ "level_desc": "element" });
        for kind in kinds.collect::<Vec<_>>().into_iter().rev() {
            let name = if kind == LevelKind::Dense { "dense" } else { "sparse" };
            level = json!({ "level_desc": name, "rank": kind.rank(), "level": level });
        }
        let transpose: Vec<usize> = d.levels.dims.mapped(|d| d.0);
        out["custom"] = json!({ "transpose": transpose, "level": level });
    }
    out
}
