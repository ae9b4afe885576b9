//! The binary form: a tuple of numbers and bytes, every field in its place.

use crate::base::mapped::Mapped;
use crate::base::shape::fitting;
use openwork_ops::serialize::{Bytes, from_little_endian, little_endian};
use serde::de::{Deserialize, Deserializer, Error};
use serde::ser::{Serialize, Serializer};

use super::{DimCode, LevelCode, Parts, core, flags, levels, spec_codes, spec_of_codes};
use crate::base::strided::Strided;
use crate::levels::names::ArrayRule;
use crate::tensor::fill::Fill;
use crate::tensor::index_array::IndexArray;
use crate::{DType, LevelSpec, Scalar, Tensor};

const VERSION: u8 = 1;

/// Fill: 0 none (strided), 1 a scalar, 2 an array, 3 undefined; its shape; its elements.
type FillCode = (u8, Vec<u64>, Bytes);
/// Version, dtype, shape; levels and dims; per level, whether ordered and unique; index arrays (bytes of an entry: 4 or
/// 8, or 0 for pointers that are left out); fill; whether values repeat, their stored shape, their elements.
type Code = (
    u8,
    DType,
    Vec<u64>,
    (Vec<LevelCode>, Vec<DimCode>),
    Vec<(bool, bool)>,
    Vec<(u8, Bytes)>,
    FillCode,
    (Option<Vec<u64>>, Bytes),
);

pub(super) fn serialize<S: Serializer>(x: &Tensor, serializer: S) -> Result<S::Ok, S::Error> {
    encode(x).serialize(serializer)
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tensor, D::Error> {
    decode(Code::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn encode(x: &Tensor) -> Code {
    let sizes = |shape: &[usize]| shape.mapped(|&s| s as u64);
    let elements =
        |values: &Strided| Bytes(little_endian(values.dtype, values.core().contiguous_bytes().unwrap_or_default()));
    let spec = x.level_spec().unwrap_or(LevelSpec { levels: Vec::new(), dims: Vec::new() });
    let data = x.levels().unwrap_or_default();
    let mut arrays = Vec::new();
    let mut dim = 0;
    for (l, level) in data.iter().enumerate() {
        let given: Vec<_> = level.named_arrays(dim).collect();
        for rule in level.kind().array_rules(dim, l == 0) {
            let own = given.iter().find(|(name, _)| *name == rule.name);
            arrays.push(own.map_or((0, Bytes::default()), |(_, a)| array(a)));
        }
        dim += level.kind().rank();
    }
    let fill = match x.fill() {
        None => (0, Vec::new(), Bytes::default()),
        Some(Fill::Scalar(value)) => (1, Vec::new(), elements(&Strided::constant(*value, &[]))),
        Some(Fill::Array(values)) => (2, sizes(values.shape()), values.strided().map(elements).unwrap_or_default()),
        Some(Fill::Undefined) => (3, Vec::new(), Bytes::default()),
    };
    let (shape, bytes) = match x.stored_values().strided() {
        Some(values) => {
            let (shape, core) = core(values);
            (shape.map(|s| sizes(&s)), elements(&core))
        }
        None => (None, Bytes::default()),
    };
    (VERSION, x.dtype(), sizes(x.shape()), spec_codes(&spec), flags(&data), arrays, fill, (shape, bytes))
}

fn array(a: &IndexArray) -> (u8, Bytes) {
    match (a.as_u32(), a.as_u64()) {
        (Some(v), _) => (4, Bytes(little_endian(DType::U32, bytemuck::cast_slice(v)))),
        (_, Some(v)) => (8, Bytes(little_endian(DType::U64, bytemuck::cast_slice(v)))),
        _ => (4, Bytes::default()),
    }
}

fn decode((version, dtype, shape, spec, flags, arrays, fill, (stored, values)): Code) -> Result<Tensor, String> {
    if version != VERSION {
        return Err(format!("version {version} of serialised tensors is unknown; known is {VERSION}"));
    }
    let sizes = |shape: Vec<u64>| -> Result<Vec<usize>, String> {
        fitting(&shape).ok_or_else(|| format!("the shape {shape:?} does not fit this machine"))
    };
    let spec = spec_of_codes(spec)?;
    let mut arrays = arrays.into_iter();
    let mut next = |ArrayRule { name, optional, .. }: ArrayRule| match arrays.next() {
        Some((0, _)) if optional => Ok(None),
        Some((width @ (4 | 8), Bytes(bytes))) => {
            let dtype = if width == 4 { DType::U32 } else { DType::U64 };
            let bytes = from_little_endian(dtype, bytes).map_err(|why| format!("`{name}`: {why}"))?;
            Ok(Some(match width {
                4 => bytemuck::pod_collect_to_vec::<u8, u32>(&bytes).into(),
                _ => bytemuck::pod_collect_to_vec::<u8, u64>(&bytes).into(),
            }))
        }
        Some((width, _)) => Err(format!("`{name}` has entries of {width} bytes")),
        None => Err(format!("`{name}` is missing")),
    };
    let elements = |bytes: Bytes| from_little_endian(dtype, bytes.0);
    let sparse = match fill.0 {
        0 if spec.levels.is_empty() => None,
        0 => return Err("a sparse tensor without a fill".into()),
        kind => {
            let data = levels(&spec, &flags, &mut next)?;
            let fill = match (kind, elements(fill.2)?, sizes(fill.1)?) {
                (1, bytes, shape) if bytes.len() == dtype.size() && shape.is_empty() => {
                    Fill::Scalar(Scalar::from_bytes(dtype, &bytes))
                }
                (2, bytes, shape) => Fill::array(super::place(&bytes, dtype, None, &shape).map_err(|e| e.to_string())?),
                (3, bytes, _) if bytes.is_empty() => Fill::Undefined,
                (kind, bytes, _) => return Err(format!("a fill of kind {kind} with {} bytes", bytes.len())),
            };
            Some((spec, data, fill))
        }
    };
    if arrays.next().is_some() {
        return Err("more index arrays than the levels have".into());
    }
    let stored_shape = stored.map(sizes).transpose()?;
    let parts = Parts { shape: sizes(shape)?, dtype, sparse, stored_shape, values: elements(values)? };
    parts.tensor().map_err(|e| e.to_string())
}
