//! Metadata of groups and arrays, of Zarr versions 3 and 2.
//!
//! Version 3: <https://zarr-specs.readthedocs.io>, "Zarr core specification"; version 2: the same place, "Zarr storage
//! specification version 2".

use serde_json::{Map, Value};

use super::codecs::{Codecs, Step};
use super::store::{Store, join, sizes};
use crate::base::mapped::Mapped;
use crate::io::binsparse::json;
use crate::io::fault::{Fault, Res, bad};
use openwork_ops::{DType, Scalar};

/// NumPy has no more.
const MAX_AXES: usize = 64;

/// A group or an array, as its metadata have it.
pub(super) struct Node {
    /// What an array's metadata say; a group has none.
    pub(super) array: Option<Said>,
    pub(super) attributes: Map<String, Value>,
}

/// The metadata of an array before they are understood.
pub(super) struct Said {
    is_older: bool,
    json: Map<String, Value>,
}

/// Where chunks are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys {
    /// Whether their names begin with `c`.
    pub(super) is_default: bool,
    pub(super) separator: char,
}

/// An array: what it holds and how it is stored.
pub(super) struct Array {
    pub(super) shape: Vec<u64>,
    pub(super) dtype: DType,
    pub(super) chunk: Vec<u64>,
    pub(super) keys: Keys,
    /// The bytes of an element that was never written.
    pub(super) fill: Vec<u8>,
    pub(super) codecs: Codecs,
}

const MEMBERS: [&str; 12] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "storage_transformers",
    "dimension_names",
    "consolidated_metadata",
];

/// A JSON object in a file, if that is there.
fn object(store: &mut Store<'_>, path: &str) -> Res<Option<Map<String, Value>>> {
    let Some(bytes) = store.read(path, json::MAX_BYTES)? else { return Ok(None) };
    let Ok(text) = String::from_utf8(bytes) else { return bad(format_args!("{path:?} is not UTF-8")) };
    json::object(&text).map(Some).map_err(|fault| match fault {
        Fault::Bad(why) => Fault::Bad(why.replacen("the descriptor", &format!("{path:?}"), 1)),
        other => other,
    })
}

/// The node of that name, if there is one.
pub(super) fn read(store: &mut Store<'_>, path: &str) -> Res<Option<Node>> {
    let file = join(path, "zarr.json");
    if let Some(mut json) = object(store, &file)? {
        if json.get("zarr_format").and_then(Value::as_u64) != Some(3) {
            return bad(format_args!("{file:?} is not of Zarr version 3"));
        }
        let attributes = match json.remove("attributes") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(attributes)) => attributes,
            Some(_) => return bad(format_args!("{file:?} has attributes that are no object")),
        };
        let is_array = match json.get("node_type").and_then(Value::as_str) {
            Some("array") => true,
            Some("group") => false,
            _ => return bad(format_args!("{file:?} is neither of a group nor of an array")),
        };
        // What a reader may leave alone says so.
        let optional = |value: &Value| value.get("must_understand") == Some(&Value::Bool(false));
        if let Some((key, _)) = json.iter().find(|(key, value)| !MEMBERS.contains(&key.as_str()) && !optional(value)) {
            return bad(format_args!("{file:?} has the key {key:?}, which is not known"));
        }
        return Ok(Some(Node { array: is_array.then_some(Said { is_older: false, json }), attributes }));
    }
    let (array, group) = (object(store, &join(path, ".zarray"))?, object(store, &join(path, ".zgroup"))?);
    let array = match (array, group) {
        (Some(json), None) => Some(json),
        (None, Some(_)) => None,
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => return bad(format_args!("{path:?} is both a group and an array")),
    };
    let attributes = object(store, &join(path, ".zattrs"))?.unwrap_or_default();
    Ok(Some(Node { array: array.map(|json| Said { is_older: true, json }), attributes }))
}

/// Element types as Zarr calls them, and those of NumPy in version 2.
fn dtype_of(name: &str, is_older: bool) -> Option<(DType, bool)> {
    if !is_older {
        return name.parse().ok().filter(|dtype: &DType| dtype.name() == name).map(|dtype| (dtype, false));
    }
    let (order, kind) = name.split_at_checked(1)?;
    let dtype = match kind {
        "b1" => DType::Bool,
        "i1" => DType::I8,
        "i2" => DType::I16,
        "i4" => DType::I32,
        "i8" => DType::I64,
        "u1" => DType::U8,
        "u2" => DType::U16,
        "u4" => DType::U32,
        "u8" => DType::U64,
        "f2" => DType::F16,
        "f4" => DType::F32,
        "f8" => DType::F64,
        "c8" => DType::Complex64,
        "c16" => DType::Complex128,
        _ => return None,
    };
    matches!(order, "<" | ">" | "|").then_some((dtype, order == ">"))
}

impl Said {
    /// The element type, if tensors have it, and whether its bytes go from the most to the least significant (version 2).
    fn dtype(&self) -> Option<(DType, bool)> {
        let key = if self.is_older { "dtype" } else { "data_type" };
        dtype_of(self.json.get(key)?.as_str()?, self.is_older)
    }

    /// Whether it holds numbers or truth values.
    pub(super) fn is_numeric(&self) -> bool {
        self.dtype().is_some()
    }

    fn sizes(&self, key: &str) -> Res<Vec<u64>> {
        match self.json.get(key).and_then(sizes) {
            Some(sizes) if sizes.len() <= MAX_AXES => Ok(sizes),
            Some(sizes) => bad(format_args!("an array of {} axes; {MAX_AXES} are the most", sizes.len())),
            None => bad(format_args!("`{key}` is not a list of sizes")),
        }
    }

    /// What the metadata mean.
    pub(super) fn understood(&self) -> Res<Array> {
        let shape = self.sizes("shape")?;
        let key = if self.is_older { "dtype" } else { "data_type" };
        let Some((dtype, big)) = self.dtype() else {
            let found = self.json.get(key).unwrap_or(&Value::Null);
            return bad(format_args!("an array of elements of the type {found}, which tensors do not have"));
        };
        let fill = self.json.get("fill_value").unwrap_or(&Value::Null);
        let Some(fill) = element(fill, dtype, self.is_older) else {
            return bad(format_args!("the fill value {fill} is no {dtype}"));
        };
        let (bytes, size) = fill.to_bytes();
        let fill = bytes.get(..size).unwrap_or_default().to_vec();
        let (chunk, keys, codecs) = if self.is_older { self.older(big)? } else { self.newer(&shape, dtype)? };
        if chunk.len() != shape.len() || chunk.contains(&0) {
            return bad(format_args!("chunks of the shape {chunk:?} of an array of the shape {shape:?}"));
        }
        Ok(Array { shape, dtype, chunk, keys, fill, codecs })
    }

    fn newer(&self, shape: &[u64], dtype: DType) -> Res<(Vec<u64>, Keys, Codecs)> {
        match self.json.get("storage_transformers") {
            None | Some(Value::Null) => {}
            Some(Value::Array(list)) if list.is_empty() => {}
            Some(other) => return bad(format_args!("the storage transformers {other}, of which none is known")),
        }
        let (grid, settings) = named(self.json.get("chunk_grid"))?;
        if grid != "regular" {
            return bad(format_args!("a chunk grid of the kind {grid:?}; regular ones are known"));
        }
        let Some(chunk) = settings.and_then(|s| s.get("chunk_shape")).and_then(sizes) else {
            return bad("a regular chunk grid without the shape of a chunk");
        };
        let (kind, settings) = named(self.json.get("chunk_key_encoding"))?;
        let is_default = match kind {
            "default" => true,
            "v2" => false,
            other => return bad(format_args!("chunk keys of the kind {other:?}; default and v2 are known")),
        };
        let said = settings.and_then(|s| s.get("separator")).and_then(Value::as_str);
        let keys = Keys { is_default, separator: separator(said.unwrap_or(if is_default { "/" } else { "." }))? };
        if chunk.len() != shape.len() || chunk.contains(&0) {
            return bad(format_args!("chunks of the shape {chunk:?} of an array of the shape {shape:?}"));
        }
        let Some(Value::Array(list)) = self.json.get("codecs") else { return bad("`codecs` is not a list") };
        Ok((chunk.clone(), keys, Codecs::parse(list, &chunk, dtype)?))
    }

    fn older(&self, big_endian: bool) -> Res<(Vec<u64>, Keys, Codecs)> {
        let chunk = self.sizes("chunks")?;
        let said = self.json.get("dimension_separator").and_then(Value::as_str);
        let keys = Keys { is_default: false, separator: separator(said.unwrap_or("."))? };
        let mut order: Vec<usize> = (0..chunk.len()).collect();
        match self.json.get("order").and_then(Value::as_str) {
            Some("C") => {}
            Some("F") => order.reverse(),
            _ => return bad("`order` is neither \"C\" nor \"F\""),
        }
        match self.json.get("filters") {
            None | Some(Value::Null) => {}
            Some(Value::Array(list)) if list.is_empty() => {}
            Some(other) => return bad(format_args!("the filters {other}, of which none is known")),
        }
        let steps = match self.json.get("compressor") {
            None | Some(Value::Null) => Vec::new(),
            Some(said) => {
                let id = said.get("id").and_then(Value::as_str).unwrap_or_default();
                vec![Step::of(id)?]
            }
        };
        Ok((chunk, keys, Codecs { order, big_endian, shards: None, steps }))
    }
}

/// The name and the configuration of what is given as an object, or as its name alone.
pub(super) fn named(value: Option<&Value>) -> Res<(&str, Option<&Map<String, Value>>)> {
    match value {
        Some(Value::String(name)) => Ok((name, None)),
        Some(Value::Object(said)) => {
            let Some(name) = said.get("name").and_then(Value::as_str) else { return bad("something without a name") };
            match said.get("configuration") {
                None => Ok((name, None)),
                Some(Value::Object(settings)) => Ok((name, Some(settings))),
                Some(_) => bad(format_args!("{name:?} has a configuration that is no object")),
            }
        }
        _ => bad("metadata that lack a chunk grid, chunk keys or codecs"),
    }
}

fn separator(said: &str) -> Res<char> {
    match said {
        "/" => Ok('/'),
        "." => Ok('.'),
        other => bad(format_args!("chunk keys with the separator {other:?}; \"/\" and \".\" are known")),
    }
}

/// A fill value. Version 2 has `null` where there is none, which leaves such elements open: they are 0 here.
fn element(value: &Value, dtype: DType, is_older: bool) -> Option<Scalar> {
    if value.is_null() && is_older {
        return Some(Scalar::zero(dtype));
    }
    match value {
        Value::Bool(truth) if dtype == DType::Bool => Some(Scalar::Bool(*truth)),
        Value::Number(number) if dtype == DType::Bool && is_older => Some(Scalar::Bool(number.as_u64()? != 0)),
        Value::Array(parts) if dtype.is_complex() => {
            let [re, im] = &parts[..] else { return None };
            match (element(re, dtype.real(), is_older)?, element(im, dtype.real(), is_older)?) {
                (Scalar::F32(re), Scalar::F32(im)) => Some(Scalar::Complex64(openwork_ops::c64::new(re, im))),
                (Scalar::F64(re), Scalar::F64(im)) => Some(Scalar::Complex128(openwork_ops::c128::new(re, im))),
                _ => None,
            }
        }
        Value::Number(number) if dtype.is_int() => {
            let wide = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
            // Version 2 writes integers as floats at times.
            let wide = wide.or_else(|| number.as_f64().filter(|v| v.fract() == 0.0 && is_older).map(|v| v as i128))?;
            integer(wide, dtype)
        }
        Value::Number(number) if dtype.is_float() => Some(float(number.as_f64()?, dtype)),
        Value::Number(number) if dtype.is_complex() && is_older => {
            let re = number.as_f64()?;
            Some(match dtype {
                DType::Complex64 => Scalar::Complex64(openwork_ops::c64::new(re as f32, 0.0)),
                _ => Scalar::Complex128(openwork_ops::c128::new(re, 0.0)),
            })
        }
        Value::String(word) if dtype.is_float() => match word.as_str() {
            "NaN" => Some(float(f64::NAN, dtype)),
            "Infinity" => Some(float(f64::INFINITY, dtype)),
            "-Infinity" => Some(float(f64::NEG_INFINITY, dtype)),
            // The digits of the bytes, the most significant first.
            word => {
                let digits = word.strip_prefix("0x").filter(|digits| digits.len() == 2 * dtype.size())?;
                let bits = u64::from_str_radix(digits, 16).ok()?;
                let bytes = bits.to_le_bytes();
                let mut bytes = bytes.get(..dtype.size())?.to_vec();
                if cfg!(target_endian = "big") {
                    bytes.reverse();
                }
                Some(Scalar::from_bytes(dtype, &bytes))
            }
        },
        _ => None,
    }
}

/// An integer of a type that holds it.
fn integer(value: i128, dtype: DType) -> Option<Scalar> {
    let bits = 8 * dtype.size() as u32;
    let fits = if dtype.is_unsigned() {
        (0..1 << bits).contains(&value)
    } else {
        (-(1 << (bits - 1))..1 << (bits - 1)).contains(&value)
    };
    let bytes = if cfg!(target_endian = "big") { value.to_be_bytes() } else { value.to_le_bytes() };
    let from = if cfg!(target_endian = "big") { bytes.len() - dtype.size() } else { 0 };
    fits.then(|| Scalar::from_bytes(dtype, bytes.get(from..).unwrap_or(&bytes)))
}

fn float(value: f64, dtype: DType) -> Scalar {
    Scalar::F64(value).cast(dtype)
}

impl Array {
    /// Elements, if they can be counted.
    pub(super) fn len(&self) -> Res<u64> {
        count(&self.shape)
    }

    /// Bytes of a chunk.
    pub(super) fn chunk_bytes(&self) -> Res<u64> {
        let bytes = count(&self.chunk)?.checked_mul(self.dtype.size() as u64).filter(|&bytes| bytes <= i64::MAX as u64);
        bytes.map_or_else(|| bad(format_args!("chunks of the shape {:?}", self.chunk)), Ok)
    }

    /// How many bytes the axes are apart, in C order.
    pub(super) fn strides(&self, sizes: &[u64]) -> Vec<u64> {
        let mut stride = self.dtype.size() as u64;
        let mut out = sizes.mapped(|_| 0);
        for (slot, &size) in out.iter_mut().zip(sizes).rev() {
            *slot = stride;
            stride = stride.saturating_mul(size);
        }
        out
    }
}

/// The number of elements of a shape.
pub(super) fn count(shape: &[u64]) -> Res<u64> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let count = shape.iter().try_fold(1_u64, |n, &size| n.checked_mul(size)).filter(|&n| n <= i64::MAX as u64 / 16);
    count.map_or_else(|| bad(format_args!("an array of the shape {shape:?}")), Ok)
}
