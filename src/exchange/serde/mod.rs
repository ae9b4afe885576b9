//! Tensors, layouts and fills in serde's formats.
//!
//! Formats for people (JSON, YAML, RON) get a map that says everything in words; binary formats get the constituent
//! arrays as bytes. Both come back as they were: layout, order, iso values, fill and every bit of the elements. What is
//! read is checked as [`Tensor::from_parts`](crate::Tensor::from_parts) checks it, and asks for no more memory than
//! the input has.

mod binary;
mod fill;
mod readable;

use crate::base::mapped::Mapped;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::base::error::{self, Result};
use crate::base::strided::{Strided, count};
use crate::engine::convert;
use crate::levels::names::ArrayRule;
use crate::tensor::construct;
use crate::tensor::fill::Fill;
use crate::tensor::index_array::{IndexArray, LevelData};
use crate::tensor::trace;
use crate::{DType, Layout, LevelKind, LevelSpec, Part, Tensor};

/// The op that errors name.
const OP: &str = "deserialize";
/// Checks of a shape take quadratic time.
const MAX_AXES: usize = 1024;

impl Serialize for Layout {
    /// The name, as `Display` writes it.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Layout, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = Layout;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a layout")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> std::result::Result<Layout, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_str(Name)
    }
}

/// A dimension as numbers: axis, what part (0 whole, 1 quotient, 2 remainder), block.
type DimCode = (u64, u8, u64);
/// A level as numbers: 0 dense, 1 sparse, 2 singleton; rank.
type LevelCode = (u8, u64);

fn spec_codes(spec: &LevelSpec) -> (Vec<LevelCode>, Vec<DimCode>) {
    let level = |l: &LevelKind| (l.word().1, l.rank() as u64);
    let dim = |&(axis, part): &(usize, Part)| match part {
        Part::Whole => (axis as u64, 0, 1),
        Part::Div(b) => (axis as u64, 1, b as u64),
        Part::Mod(b) => (axis as u64, 2, b as u64),
    };
    (spec.levels.mapped(level), spec.dims.mapped(dim))
}

fn spec_of_codes((levels, dims): (Vec<LevelCode>, Vec<DimCode>)) -> std::result::Result<LevelSpec, String> {
    let size = |n: u64| usize::try_from(n).map_err(|_| format!("{n} does not fit this machine"));
    let level = |&(code, given): &LevelCode| {
        let rank = usize::try_from(given).ok().filter(|&rank| rank <= 2 * MAX_AXES);
        let is = |_: &str, own: u8| own == code;
        let kind = LevelKind::of_word(is, None).or_else(|| LevelKind::of_word(is, rank));
        let kind = kind.filter(|kind| Some(kind.rank()) == rank);
        kind.ok_or_else(|| format!("a level of kind {code} and rank {given}"))
    };
    let dim = |&(axis, part, block): &DimCode| match (part, size(block)?) {
        (0, 1) => Ok((size(axis)?, Part::Whole)),
        (1, b) => Ok((size(axis)?, Part::Div(b))),
        (2, b) => Ok((size(axis)?, Part::Mod(b))),
        (_, b) => Err(format!("part {part} in blocks of {b} of an axis")),
    };
    if levels.len().max(dims.len()) > 2 * MAX_AXES {
        return Err(format!("{} levels, {} dimensions: {} are allowed", levels.len(), dims.len(), 2 * MAX_AXES));
    }
    Ok(LevelSpec { levels: levels.try_mapped(level)?, dims: dims.try_mapped(dim)? })
}

impl Serialize for LevelSpec {
    /// `{"levels": ["dense", {"sparse": 1}], "dims": [0, [1, "div", 2]]}`: a whole axis is its number.
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return spec_codes(self).serialize(serializer);
        }
        let levels: Vec<readable::Level> = self.levels.mapped(|&l| readable::Level(l));
        let dims: Vec<readable::Dim> = self.dims.mapped(|&d| readable::Dim(d));
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("levels", &levels)?;
        map.serialize_entry("dims", &dims)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for LevelSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<LevelSpec, D::Error> {
        if !deserializer.is_human_readable() {
            return spec_of_codes(Deserialize::deserialize(deserializer)?).map_err(de::Error::custom);
        }
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = LevelSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of `levels` and `dims`")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<LevelSpec, A::Error> {
                let (mut levels, mut dims) = (None, None);
                while let Some(key) = map.next_key::<String>()? {
                    let fresh = match key.as_str() {
                        "levels" => levels.replace(map.next_value::<Vec<readable::Level>>()?).is_none(),
                        "dims" => dims.replace(map.next_value::<Vec<readable::Dim>>()?).is_none(),
                        _ => return Err(de::Error::unknown_field(&key, &["levels", "dims"])),
                    };
                    if !fresh {
                        return Err(de::Error::custom(format_args!("`{key}` is given twice")));
                    }
                }
                let (Some(levels), Some(dims)) = (levels, dims) else {
                    return Err(de::Error::custom("`levels` and `dims` are needed"));
                };
                let spec = LevelSpec {
                    levels: levels.into_iter().map(|l| l.0).collect(),
                    dims: dims.into_iter().map(|d| d.0).collect(),
                };
                // The same bounds as in binary.
                spec_of_codes(spec_codes(&spec)).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_map(Words)
    }
}

impl Serialize for Tensor {
    /// For people a map: `shape`, `dtype`, `layout`, `fill`, the arrays of the levels, `values` in C order. What goes
    /// without saying is left out: `levels` where the layout's name says them, `ordered` and `unique` where all levels
    /// are, `stored_shape` where values do not repeat along an axis (iso tensors, broadcast views).
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            readable::serialize(self, serializer)
        } else {
            binary::serialize(self, serializer)
        }
    }
}

impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Tensor, D::Error> {
        if deserializer.is_human_readable() {
            readable::deserialize(deserializer)
        } else {
            binary::deserialize(deserializer)
        }
    }
}

/// All that makes a tensor.
struct Parts {
    shape: Vec<usize>,
    dtype: DType,
    /// `None`: strided.
    sparse: Option<(LevelSpec, Vec<LevelData>, Fill)>,
    /// Along axes of size 1 of this shape values repeat.
    stored_shape: Option<Vec<usize>>,
    values: Vec<u8>,
}

impl Parts {
    fn tensor(self) -> Result<Tensor> {
        let _call = trace::call(OP, &[]);
        let Parts { shape, dtype, sparse, stored_shape, values } = self;
        if shape.len() > MAX_AXES {
            return Err(error::shape(&[], format_args!("{} axes, {MAX_AXES} are allowed", shape.len())));
        }
        let mut make = |wanted: &[usize]| place(&values, dtype, stored_shape.as_deref(), wanted);
        match sparse {
            None => make(&shape),
            Some((spec, levels, fill)) => construct::parts_with(&shape, levels, &spec, fill, &mut make),
        }
    }
}

/// Strided values of a shape, from what is stored of them.
fn place(values: &[u8], dtype: DType, stored: Option<&[usize]>, wanted: &[usize]) -> Result<Tensor> {
    let _call = trace::call(OP, &[]);
    let stored = stored.unwrap_or(wanted);
    convert::dense_len(wanted, dtype)?;
    let fits = stored.len() == wanted.len() && stored.iter().zip(wanted).all(|(&s, &w)| s == w || (s == 1 && w > 0));
    if !fits {
        let why = "each axis of the stored values must have the tensor's size, or 1 where they repeat";
        return Err(error::shape(&[stored, wanted], why));
    }
    let (n, given) = (count(stored), values.len() / dtype.size());
    if n != given {
        return Err(error::invalid("values", format_args!("{given} elements for shape {stored:?}, which has {n}")));
    }
    let buffer = crate::base::buffer::Buffer::build(values.len(), |out| out.copy_from_slice(values))?;
    Ok(Tensor::from_strided(Strided::new(buffer, dtype, stored.to_vec()).broadcast(wanted)))
}

/// What is stored of strided values: their shape without repetition, if it is another, and the elements in C order.
fn core(values: &Strided) -> (Option<Vec<usize>>, Strided) {
    let core = values.core();
    ((core.shape != values.shape).then(|| core.shape.to_vec()), core)
}

/// Order and uniqueness of each level.
fn flags(levels: &[LevelData]) -> Vec<(bool, bool)> {
    levels.mapped(|level| (level.is_ordered(), level.is_unique()))
}

/// The levels of a specification, their arrays handed out by `next`: `None` only where an array may be left out.
fn levels(
    spec: &LevelSpec,
    flags: &[(bool, bool)],
    next: &mut dyn FnMut(ArrayRule) -> std::result::Result<Option<IndexArray>, String>,
) -> std::result::Result<Vec<LevelData>, String> {
    if flags.len() != spec.levels.len() {
        return Err(format!("order is given for {} levels, there are {}", flags.len(), spec.levels.len()));
    }
    let mut out = Vec::with_capacity(spec.levels.len());
    let mut dim = 0;
    for (l, (&kind, &(ordered, unique))) in spec.levels.iter().zip(flags).enumerate() {
        let mut arrays = Vec::new();
        for rule in kind.array_rules(dim, l == 0) {
            arrays.extend(next(rule)?);
        }
        let level = LevelData::of_arrays(kind, [ordered, unique], arrays);
        out.push(level.ok_or_else(|| format!("the arrays of level {l}, {kind}, are not all there"))?);
        dim += kind.rank();
    }
    Ok(out)
}
