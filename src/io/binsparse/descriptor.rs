//! What a descriptor says, whatever container it came in.

use crate::base::mapped::Mapped;
use crate::base::named::Named;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::types::{self, DataType, Symmetry};
use super::{Mode, dialect, extension, facts, json};
use crate::io::fault::{Res, bad};
use crate::io::warning::Warning;
use crate::{DType, LevelKind, LevelSpec, MatrixFacts, Part};

/// The descriptor of a binsparse file: all that is said about a tensor before its arrays are read.
#[derive(Clone, Debug, PartialEq)]
pub struct Descriptor {
    /// The version, as the file spells it.
    pub version: String,
    /// The predefined format (`CSR`, `COOR`, …), `custom`, or `openwork` for a file of this library's extension.
    pub format: String,
    /// Size of each axis.
    pub shape: Vec<u64>,
    /// Levels, and the axis that each dimension holds. Without levels the tensor is strided, its elements in the
    /// order of the dimensions.
    pub levels: LevelSpec,
    /// Stored elements; of a matrix of which one triangle is stored, those of the triangle. Only a lenient reader accepts a file without.
    pub number_of_stored_values: Option<u64>,
    /// Element types by array. Only a lenient reader accepts a file that leaves some out.
    pub data_types: BTreeMap<String, DataType>,
    /// What is said about unstored elements.
    pub fill: FillKind,
    /// The symmetry by which one triangle stands for both.
    pub symmetry: Option<Symmetry>,
    /// Whether coordinates may repeat or be out of order.
    pub unordered: bool,
    /// What is said about the structure of a matrix beside the descriptor. Reading checks it: where it is false, a
    /// strict reader fails and a lenient one warns.
    pub facts: MatrixFacts,
    /// Keys beside the descriptor's own: the writer's metadata.
    pub metadata: Map<String, Value>,
    /// Names of arrays in the file, where they differ from today's.
    pub(crate) stored_names: Named<String>,
    /// Values are one for all, whatever their type says (older drafts).
    pub(crate) iso: bool,
}

/// What a descriptor says about unstored elements.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FillKind {
    /// Nothing: read as 0.
    Unspecified,
    /// They have the one value of the array `fill_value`.
    Value,
    /// They are absent (extension).
    Undefined,
    /// They have the values of the array `fill_value`, of this shape (extension).
    Array(Vec<u64>),
}

/// The part of the files's name space that is known, for error messages.
const KEYS: [&str; 10] = [
    "version",
    "format",
    "shape",
    "number_of_stored_values",
    "data_types",
    "fill",
    "structure",
    "custom",
    "attrs",
    "attributes",
];

impl Descriptor {
    /// Whether the file uses this library's extension, which no other reader takes for binsparse.
    pub fn is_extension(&self) -> bool {
        self.format == extension::NAMESPACE
    }

    /// The element type of the values, if the file says.
    pub fn dtype(&self) -> Option<DType> {
        self.data_types.get("values").map(|t| t.dtype)
    }

    /// The element types as a file spells them.
    pub(crate) fn type_names(&self) -> Map<String, Value> {
        let mut names = Map::new();
        for (array, t) in &self.data_types {
            names.insert(array.clone(), t.to_string().into());
        }
        names
    }

    /// Parses a descriptor.
    pub(crate) fn parse(text: &str, mode: Mode, warnings: &mut Vec<Warning>) -> Res<Descriptor> {
        let mut root = json::object(text)?;
        let facts = facts::take(&mut root, mode, warnings)?;
        if let Some(inner) = root.remove(extension::NAMESPACE) {
            if root.contains_key("binsparse") {
                return bad("the descriptor has both `openwork` and `binsparse`");
            }
            return Ok(Descriptor { facts, ..extension::parse(object("openwork", inner)?, root)? });
        }
        let hints =
            if mode == Mode::Lenient { dialect::normalise(&mut root, warnings)? } else { dialect::Hints::default() };
        let Some(inner) = root.remove("binsparse") else {
            return bad("the descriptor has no key `binsparse`");
        };
        let map = object("binsparse", inner)?;
        if let Some(key) = map.keys().find(|k| !KEYS.contains(&k.as_str())) {
            return bad(format_args!("unknown key {key:?} in `binsparse`: it may change what the arrays mean"));
        }
        let mut d = namespace(&map, mode, warnings)?;
        d.facts = facts;
        d.metadata = root;
        d.stored_names = hints.stored_names;
        d.iso = hints.iso;
        d.unordered |= hints.unordered;
        Ok(d)
    }
}

fn namespace(map: &Map<String, Value>, mode: Mode, warnings: &mut Vec<Warning>) -> Res<Descriptor> {
    let lenient = mode == Mode::Lenient;
    let mut missing = |key: &'static str| -> Res<()> {
        if !lenient {
            return bad(format_args!("the key `{key}` is missing"));
        }
        warnings.push(Warning::MissingKey(key));
        Ok(())
    };
    let version = match map.get("version") {
        Some(Value::String(v)) => v.clone(),
        Some(other) => return bad(format_args!("`version` is {other}, not a string")),
        None => {
            missing("version")?;
            "0.1".into()
        }
    };
    let shape = match map.get("shape") {
        Some(shape) => integers("shape", shape)?,
        None => return bad("the key `shape` is missing"),
    };
    let number_of_stored_values = match map.get("number_of_stored_values") {
        Some(n) => Some(integer("number_of_stored_values", n)?),
        None => {
            missing("number_of_stored_values")?;
            None
        }
    };
    let mut data_types = BTreeMap::new();
    match map.get("data_types") {
        Some(types) => {
            for (array, name) in as_object("data_types", types)? {
                let Some(parsed) = name.as_str().and_then(|n| DataType::parse(n, false)) else {
                    return bad(format_args!(
                        "`data_types` gives {array:?} the type {name}, which binsparse 0.1 does not have"
                    ));
                };
                data_types.insert(array.clone(), parsed);
            }
        }
        None => missing("data_types")?,
    }
    let fill = match map.get("fill") {
        None | Some(Value::Bool(false)) => FillKind::Unspecified,
        Some(Value::Bool(true)) => FillKind::Value,
        Some(other) => return bad(format_args!("`fill` is {other}, not true or false")),
    };
    let custom = map.get("custom").map(|c| custom(c, shape.len())).transpose()?;
    let format = match map.get("format") {
        Some(Value::String(f)) => Some(f.as_str()),
        Some(other) => return bad(format_args!("`format` is {other}, not a string")),
        None => {
            missing("format")?;
            None
        }
    };
    let (format, levels) = match (format, custom) {
        (None | Some("custom"), Some(c)) => ("custom", c),
        (None | Some("custom"), None) => return bad("there is neither a predefined `format` nor `custom`"),
        (Some(f), c) => {
            let named = predefined(f, shape.len())?;
            if c.is_some_and(|c| c != named) {
                return bad(format_args!("`custom` describes other levels than `format`, {f}"));
            }
            (f, named)
        }
    };
    let symmetry = match map.get("structure") {
        None => None,
        Some(Value::Null) if lenient => None,
        Some(s) => match s.as_str().and_then(Symmetry::parse) {
            Some(s) => Some(s),
            None => return bad(format_args!("unknown `structure` {s}")),
        },
    };
    if symmetry.is_some() && (shape.len() != 2 || shape[0] != shape[1]) {
        return bad(format_args!("`structure` is for square matrices, the shape is {shape:?}"));
    }
    if !types::is_supported_version(&version) {
        if !(lenient && types::is_near_version(&version)) {
            return bad(format_args!("version {version:?} is unknown; known are \"0.1\" and \"0.1.0\""));
        }
        warnings.push(Warning::Version(version.clone()));
    }
    Ok(Descriptor {
        version,
        format: format.to_owned(),
        shape,
        levels,
        number_of_stored_values,
        data_types,
        fill,
        symmetry,
        unordered: false,
        facts: MatrixFacts::default(),
        metadata: Map::new(),
        stored_names: Named::new(),
        iso: false,
    })
}

/// The levels of a predefined format.
pub(crate) fn predefined(name: &str, ndim: usize) -> Res<LevelSpec> {
    const ONE: LevelKind = LevelKind::Sparse { rank: 1 };
    let (levels, dims): (Vec<LevelKind>, &[usize]) = match name {
        "DVEC" => (vec![], &[0]),
        "DMAT" | "DMATR" => (vec![], &[0, 1]),
        "DMATC" => (vec![], &[1, 0]),
        "CVEC" => (vec![ONE], &[0]),
        "CSR" => (vec![LevelKind::Dense, ONE], &[0, 1]),
        "CSC" => (vec![LevelKind::Dense, ONE], &[1, 0]),
        "DCSR" => (vec![ONE, ONE], &[0, 1]),
        "DCSC" => (vec![ONE, ONE], &[1, 0]),
        "COO" | "COOR" => (vec![LevelKind::Sparse { rank: 2 }], &[0, 1]),
        "COOC" => (vec![LevelKind::Sparse { rank: 2 }], &[1, 0]),
        _ => return bad(format_args!("unknown `format` {name:?}")),
    };
    if dims.len() != ndim {
        return bad(format_args!("{name} has {} axes, `shape` has {ndim}", dims.len()));
    }
    Ok(LevelSpec { levels, dims: dims.mapped(|&a| (a, Part::Whole)) })
}

/// The predefined format with these levels.
pub(crate) fn alias(levels: &LevelSpec) -> Option<&'static str> {
    let names = ["DVEC", "DMATR", "DMATC", "CVEC", "CSR", "CSC", "DCSR", "DCSC", "COOR", "COOC"];
    names.into_iter().find(|name| predefined(name, levels.dims.len()).is_ok_and(|l| l == *levels))
}

fn custom(value: &Value, ndim: usize) -> Res<LevelSpec> {
    let map = as_object("custom", value)?;
    if let Some(key) = map.keys().find(|k| !["level", "transpose"].contains(&k.as_str())) {
        return bad(format_args!("unknown key {key:?} in `custom`"));
    }
    let order: Vec<usize> = match map.get("transpose") {
        None => (0..ndim).collect(),
        Some(t) => {
            let given = integers("transpose", t)?;
            let order: Vec<usize> = given.iter().filter_map(|&a| usize::try_from(a).ok()).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            if given.len() != ndim || !sorted.into_iter().eq(0..ndim) {
                return bad(format_args!("`transpose` {given:?} does not permute {ndim} axes"));
            }
            order
        }
    };
    let mut levels = Vec::new();
    let mut taken = 0;
    let mut next = map.get("level");
    loop {
        let Some(level) = next else { return bad("a level has no child: the innermost must be an element") };
        let level = as_object("level", level)?;
        let kind = level.get("level_desc").and_then(Value::as_str);
        let allowed: &[&str] = if kind == Some("element") { &["level_desc"] } else { &["level_desc", "rank", "level"] };
        if let Some(key) = level.keys().find(|k| !allowed.contains(&k.as_str())) {
            return bad(format_args!("the key {key:?} has no place in a level of kind {:?}", kind.unwrap_or_default()));
        }
        let rank = match (kind, level.get("rank")) {
            (Some("element"), _) => break,
            (Some("dense" | "sparse"), Some(rank)) => integer("rank", rank)?,
            (Some("dense" | "sparse"), None) => return bad("a level has no `rank`"),
            _ => {
                let given = level.get("level_desc").map_or_else(|| "none".to_owned(), Value::to_string);
                return bad(format_args!(
                    "unknown `level_desc` {given}; known are \"dense\", \"sparse\" and \"element\""
                ));
            }
        };
        let rank = usize::try_from(rank).ok().filter(|&r| r > 0 && r <= ndim - taken);
        let Some(rank) = rank else {
            return bad(format_args!("the levels do not take the {ndim} axes of `shape`"));
        };
        taken += rank;
        if kind == Some("dense") {
            levels.extend(vec![LevelKind::Dense; rank]);
        } else {
            levels.push(LevelKind::Sparse { rank });
        }
        next = level.get("level");
    }
    if taken != ndim {
        return bad(format_args!("the levels take {taken} axes, `shape` has {ndim}"));
    }
    while levels.last() == Some(&LevelKind::Dense) {
        levels.pop(); // trailing dense levels are value axes
    }
    Ok(LevelSpec { levels, dims: order.into_iter().map(|a| (a, Part::Whole)).collect() })
}

pub(crate) fn integer(key: &str, value: &Value) -> Res<u64> {
    value.as_u64().map_or_else(|| bad(format_args!("`{key}` has {value}, not an integer of 0 to 2^64 - 1")), Ok)
}

pub(crate) fn integers(key: &str, value: &Value) -> Res<Vec<u64>> {
    match value {
        Value::Array(items) => items.try_mapped(|v| integer(key, v)),
        _ => bad(format_args!("`{key}` is not a list")),
    }
}

pub(crate) fn as_object<'a>(key: &str, value: &'a Value) -> Res<&'a Map<String, Value>> {
    value.as_object().map_or_else(|| bad(format_args!("`{key}` is not an object")), Ok)
}

fn object(key: &str, value: Value) -> Res<Map<String, Value>> {
    if let Value::Object(map) = value { Ok(map) } else { bad(format_args!("`{key}` is not an object")) }
}
