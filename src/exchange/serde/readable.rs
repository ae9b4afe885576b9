//! The form for people: a map that says everything in words.

use std::fmt;

use openwork_ops::serialize::{Column, ColumnSeed, Elements, Loose, Plain};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeTuple, Serializer};

use super::{MAX_AXES, Parts, core, flags, levels};
use crate::base::named::Named;
use crate::levels::names::{ArrayName, ArrayRule};
use crate::tensor::fill::Fill;
use crate::tensor::index_array::IndexArray;
use crate::tensor::trace;
use crate::{DType, Layout, LevelKind, LevelSpec, Part, Tensor};

/// The op that a layout's error names.
const OP: &str = super::OP;

pub(super) struct Level(pub(super) LevelKind);

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (word, _, rank) = self.0.word();
        let Some(rank) = rank else { return serializer.serialize_str(word) };
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry(word, &rank)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Level, D::Error> {
        deserializer.deserialize_any(LevelVisitor)
    }
}

struct LevelVisitor;

impl<'de> Visitor<'de> for LevelVisitor {
    type Value = Level;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a level: \"dense\", \"singleton\" or {\"sparse\": rank}")
    }
    fn visit_str<E: Error>(self, text: &str) -> Result<Level, E> {
        let kind = LevelKind::of_word(|word, _| word == text, None);
        kind.map(Level).ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(text), &self))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Level, A::Error> {
        let kind = match (map.next_entry::<String, usize>()?, map.next_key::<IgnoredAny>()?.is_some()) {
            (Some((key, rank)), false) => LevelKind::of_word(|word, _| word == key, Some(rank)).map(Level),
            _ => None,
        };
        kind.ok_or_else(|| A::Error::invalid_value(serde::de::Unexpected::Map, &self))
    }
}

pub(super) struct Dim(pub(super) (usize, Part));

impl Serialize for Dim {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (axis, word, block) = match self.0 {
            (axis, Part::Whole) => return axis.serialize(serializer),
            (axis, Part::Div(b)) => (axis, "div", b),
            (axis, Part::Mod(b)) => (axis, "mod", b),
        };
        let mut tuple = serializer.serialize_tuple(3)?;
        tuple.serialize_element(&axis)?;
        tuple.serialize_element(word)?;
        tuple.serialize_element(&block)?;
        tuple.end()
    }
}

impl<'de> Deserialize<'de> for Dim {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Dim, D::Error> {
        deserializer.deserialize_any(DimVisitor)
    }
}

struct DimVisitor;

impl<'de> Visitor<'de> for DimVisitor {
    type Value = Dim;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a dimension: an axis, or [axis, \"div\" or \"mod\", block]")
    }
    fn visit_u64<E: Error>(self, axis: u64) -> Result<Dim, E> {
        usize::try_from(axis).map(|a| Dim((a, Part::Whole))).map_err(E::custom)
    }
    fn visit_i64<E: Error>(self, axis: i64) -> Result<Dim, E> {
        usize::try_from(axis).map(|a| Dim((a, Part::Whole))).map_err(E::custom)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Dim, A::Error> {
        let (axis, word, block) = (seq.next_element()?, seq.next_element::<String>()?, seq.next_element()?);
        match (axis, word.as_deref(), block, seq.next_element::<IgnoredAny>()?) {
            (Some(axis), Some("div"), Some(b), None) => Ok(Dim((axis, Part::Div(b)))),
            (Some(axis), Some("mod"), Some(b), None) => Ok(Dim((axis, Part::Mod(b)))),
            _ => Err(A::Error::invalid_value(serde::de::Unexpected::Seq, &self)),
        }
    }
}

/// An index array as a list of numbers.
struct Numbers<'a>(&'a IndexArray);

impl Serialize for Numbers<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0.as_u32(), self.0.as_u64()) {
            (Some(v), _) => serializer.collect_seq(v),
            (_, Some(v)) => serializer.collect_seq(v),
            _ => Err(serde::ser::Error::custom("an index array with an entry out of range")),
        }
    }
}

/// A fill inside a tensor, whose dtype is known.
struct FillWords<'a>(&'a Fill);

impl Serialize for FillWords<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Fill::Scalar(value) => Plain(*value).serialize(serializer),
            Fill::Undefined => serializer.serialize_str("undefined"),
            Fill::Array(values) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("shape", values.shape())?;
                let bytes =
                    values.strided().and_then(|s| Some(s.core().contiguous_bytes()?.to_vec())).unwrap_or_default();
                map.serialize_entry("values", &Elements { dtype: values.dtype(), bytes: &bytes })?;
                map.end()
            }
        }
    }
}

pub(super) fn serialize<S: Serializer>(x: &Tensor, serializer: S) -> Result<S::Ok, S::Error> {
    let _call = trace::call(OP, &[]);
    let mut map = serializer.serialize_map(None)?;
    map.serialize_entry("shape", x.shape())?;
    map.serialize_entry("dtype", &x.dtype())?;
    map.serialize_entry("layout", &x.layout())?;
    if let (Some(spec), Some(levels), Some(fill)) = (x.level_spec(), x.levels(), x.fill()) {
        if LevelSpec::of_layout(x.layout(), x.shape()).ok().as_ref() != Some(&spec) {
            map.serialize_entry("levels", &spec)?;
        }
        let (ordered, unique): (Vec<bool>, Vec<bool>) = flags(&levels).into_iter().unzip();
        if ordered.contains(&false) {
            map.serialize_entry("ordered", &ordered)?;
        }
        if unique.contains(&false) {
            map.serialize_entry("unique", &unique)?;
        }
        map.serialize_entry("fill", &FillWords(fill))?;
        let mut dim = 0;
        for level in &levels {
            for (name, array) in level.named_arrays(dim) {
                map.serialize_entry(&name.to_string(), &Numbers(array))?;
            }
            dim += level.kind().rank();
        }
    }
    if let Some(values) = x.stored_values().strided() {
        let (shape, core) = core(values);
        if let Some(shape) = shape {
            map.serialize_entry("stored_shape", &shape)?;
        }
        let bytes = core.contiguous_bytes().unwrap_or_default();
        map.serialize_entry("values", &Elements { dtype: core.dtype, bytes })?;
    }
    map.end()
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Tensor, D::Error> {
    deserializer.deserialize_map(TensorVisitor)
}

/// What was read of a tensor.
#[derive(Default)]
struct Read {
    shape: Option<Vec<usize>>,
    dtype: Option<DType>,
    layout: Option<Layout>,
    levels: Option<LevelSpec>,
    ordered: Option<Vec<bool>>,
    unique: Option<Vec<bool>>,
    fill: Option<ReadFill>,
    stored_shape: Option<Vec<usize>>,
    values: Option<Column>,
    arrays: Named<Vec<u64>>,
}

enum ReadFill {
    Scalar(Loose),
    Array(Vec<usize>, Column),
}

struct TensorVisitor;

impl<'de> Visitor<'de> for TensorVisitor {
    type Value = Tensor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a tensor: a map of `shape`, `dtype`, `layout`, `fill`, index arrays and `values`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tensor, A::Error> {
        let mut r = Read::default();
        while let Some(key) = map.next_key::<String>()? {
            let fresh = match key.as_str() {
                "shape" => r.shape.replace(map.next_value()?).is_none(),
                "dtype" => r.dtype.replace(map.next_value()?).is_none(),
                "layout" => r.layout.replace(map.next_value()?).is_none(),
                "levels" => r.levels.replace(map.next_value()?).is_none(),
                "ordered" => r.ordered.replace(map.next_value()?).is_none(),
                "unique" => r.unique.replace(map.next_value()?).is_none(),
                "fill" => r.fill.replace(map.next_value_seed(FillSeed(r.dtype))?).is_none(),
                "stored_shape" => r.stored_shape.replace(map.next_value()?).is_none(),
                "values" => r.values.replace(map.next_value_seed(ColumnSeed(r.dtype))?).is_none(),
                name if is_array(name) => r.arrays.insert(key.clone(), map.next_value()?).is_none(),
                _ => return Err(A::Error::custom(format_args!("unknown key `{key}` of a tensor"))),
            };
            if !fresh {
                return Err(A::Error::custom(format_args!("`{key}` is given twice")));
            }
        }
        r.tensor().map_err(A::Error::custom)
    }
}

/// Whether a key names an index array: `indices_3`, `pointers_to_3`.
fn is_array(key: &str) -> bool {
    ArrayName::parse(key).is_some_and(|name| name.dim() < 2 * MAX_AXES)
}

impl Read {
    fn tensor(mut self) -> Result<Tensor, String> {
        let _call = trace::call(OP, &[]);
        let missing = |key: &str| format!("`{key}` is missing");
        let shape = self.shape.ok_or_else(|| missing("shape"))?;
        let dtype = self.dtype.ok_or_else(|| missing("dtype"))?;
        let layout = self.layout.ok_or_else(|| missing("layout"))?;
        let values = self.values.ok_or_else(|| missing("values"))?;
        if shape.len() > MAX_AXES {
            return Err(format!("{} axes, {MAX_AXES} are allowed", shape.len()));
        }
        let sparse = if layout == Layout::Strided {
            let extra = [("fill", self.fill.is_some()), ("levels", self.levels.is_some())];
            if let Some((key, _)) = extra.into_iter().find(|(_, given)| *given) {
                return Err(format!("a strided tensor has no `{key}`"));
            }
            None
        } else {
            let spec = match self.levels {
                Some(spec) => spec,
                None => LevelSpec::of_layout(layout, &shape).map_err(|e| e.to_string())?,
            };
            let fill = match self.fill.ok_or_else(|| missing("fill"))? {
                ReadFill::Scalar(Loose::Text(word)) if *word == *"undefined" => Fill::Undefined,
                ReadFill::Scalar(value) => Fill::Scalar(value.element(dtype).map_err(|why| format!("`fill`: {why}"))?),
                ReadFill::Array(shape, column) => {
                    let bytes = column.bytes(dtype).map_err(|why| format!("`fill`: {why}"))?;
                    Fill::array(super::place(&bytes, dtype, None, &shape).map_err(|e| format!("`fill`: {e}"))?)
                }
            };
            let all = vec![true; spec.levels.len()];
            let (ordered, unique) = (self.ordered.unwrap_or_else(|| all.clone()), self.unique.unwrap_or(all));
            if ordered.len() != unique.len() {
                return Err("`ordered` and `unique` are of different lengths".into());
            }
            let flags: Vec<(bool, bool)> = ordered.into_iter().zip(unique).collect();
            let mut next = |rule: ArrayRule| match self.arrays.remove(&rule.name.to_string()) {
                Some(numbers) => Ok(Some(IndexArray::from(numbers))),
                None if rule.optional => Ok(None),
                None => Err(missing(&rule.name.to_string())),
            };
            let data = levels(&spec, &flags, &mut next)?;
            Some((spec, data, fill))
        };
        if let Some(name) = self.arrays.names().next() {
            return Err(format!("the layout has no `{name}`"));
        }
        let values = values.bytes(dtype).map_err(|why| format!("`values`: {why}"))?;
        let tensor = Parts { shape, dtype, sparse, stored_shape: self.stored_shape, values }.tensor();
        let tensor = tensor.map_err(|e| e.to_string())?;
        if tensor.layout() != layout {
            return Err(format!("`layout` is {layout}, the levels are {}", tensor.layout()));
        }
        Ok(tensor)
    }
}

struct FillSeed(Option<DType>);

impl<'de> DeserializeSeed<'de> for FillSeed {
    type Value = ReadFill;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<ReadFill, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for FillSeed {
    type Value = ReadFill;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a fill: an element, \"undefined\", or a map of `shape` and `values`")
    }
    fn visit_bool<E>(self, v: bool) -> Result<ReadFill, E> {
        Ok(ReadFill::Scalar(Loose::Bool(v)))
    }
    fn visit_u64<E>(self, v: u64) -> Result<ReadFill, E> {
        Ok(ReadFill::Scalar(Loose::Unsigned(v)))
    }
    fn visit_i64<E>(self, v: i64) -> Result<ReadFill, E> {
        Ok(ReadFill::Scalar(u64::try_from(v).map_or(Loose::Signed(v), Loose::Unsigned)))
    }
    fn visit_f64<E>(self, v: f64) -> Result<ReadFill, E> {
        Ok(ReadFill::Scalar(Loose::Float(v)))
    }
    fn visit_str<E: Error>(self, v: &str) -> Result<ReadFill, E> {
        Ok(ReadFill::Scalar(Loose::Text(v.into())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ReadFill, A::Error> {
        match (seq.next_element::<Loose>()?, seq.next_element::<Loose>()?, seq.next_element::<IgnoredAny>()?) {
            (Some(re), Some(im), None) => Ok(ReadFill::Scalar(Loose::Pair(Box::new([re, im])))),
            _ => Err(A::Error::custom("a complex fill is a pair [re, im]")),
        }
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ReadFill, A::Error> {
        let (mut shape, mut values) = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            let fresh = match key.as_str() {
                "shape" => shape.replace(map.next_value()?).is_none(),
                "values" => values.replace(map.next_value_seed(ColumnSeed(self.0))?).is_none(),
                _ => return Err(A::Error::unknown_field(&key, &["shape", "values"])),
            };
            if !fresh {
                return Err(A::Error::custom(format_args!("`{key}` of the fill is given twice")));
            }
        }
        match (shape, values) {
            (Some(shape), Some(values)) => Ok(ReadFill::Array(shape, values)),
            _ => Err(A::Error::custom("an array fill needs `shape` and `values`")),
        }
    }
}
