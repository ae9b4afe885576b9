//! The extension: what binsparse 0.1 has no words for, in a name space of its own. A reader that does not know it
//! finds no `binsparse` key and fails, as it must: the arrays would not mean what it thinks.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::descriptor::{Descriptor, FillKind, as_object, integer, integers};
use super::types::DataType;
use crate::base::mapped::Mapped;
use crate::base::named::Named;
use crate::io::fault::{Res, bad};
use crate::{LevelKind, LevelSpec, MatrixFacts, Part};

pub(crate) const NAMESPACE: &str = "openwork";
const VERSION: &str = "1";
const KEYS: [&str; 8] =
    ["version", "shape", "levels", "dims", "number_of_stored_values", "data_types", "fill", "unordered"];

pub(crate) fn parse(map: Map<String, Value>, metadata: Map<String, Value>) -> Res<Descriptor> {
    if let Some(key) = map.keys().find(|k| !KEYS.contains(&k.as_str())) {
        return bad(format_args!("unknown key {key:?} in `{NAMESPACE}`"));
    }
    let get = |key: &'static str| map.get(key).map_or_else(|| bad(format_args!("the key `{key}` is missing")), Ok);
    let version = get("version")?;
    if version.as_str() != Some(VERSION) {
        return bad(format_args!(
            "version {version} of the extension `{NAMESPACE}` is unknown; known is \"{VERSION}\""
        ));
    }
    let shape = integers("shape", get("shape")?)?;
    let levels = list("levels", get("levels")?)?.try_mapped(level)?;
    let dims = list("dims", get("dims")?)?.try_mapped(dim)?;
    let mut data_types = BTreeMap::new();
    for (array, name) in as_object("data_types", get("data_types")?)? {
        let Some(parsed) = name.as_str().and_then(|n| DataType::parse(n, true)) else {
            return bad(format_args!("`data_types` gives {array:?} the unknown type {name}"));
        };
        data_types.insert(array.clone(), parsed);
    }
    let fill = match map.get("fill") {
        None => FillKind::Unspecified,
        Some(Value::String(word)) if word == "undefined" => FillKind::Undefined,
        Some(shape) => FillKind::Array(integers("fill", shape)?),
    };
    let unordered = match map.get("unordered") {
        None => false,
        Some(Value::Bool(b)) => *b,
        Some(other) => return bad(format_args!("`unordered` is {other}, not true or false")),
    };
    Ok(Descriptor {
        version: VERSION.into(),
        format: NAMESPACE.into(),
        shape,
        levels: LevelSpec { levels, dims },
        // Only a bitmap of another format leaves open how many elements it has.
        number_of_stored_values: match get("number_of_stored_values")? {
            Value::Null => None,
            count => Some(integer("number_of_stored_values", count)?),
        },
        data_types,
        fill,
        symmetry: None,
        unordered,
        facts: MatrixFacts::default(),
        metadata,
        stored_names: Named::new(),
        iso: false,
    })
}

fn list<'a>(key: &str, value: &'a Value) -> Res<&'a [Value]> {
    value.as_array().map_or_else(|| bad(format_args!("`{key}` is not a list")), |v| Ok(v.as_slice()))
}

fn level(value: &Value) -> Res<LevelKind> {
    let kind = match (value.as_str(), value.as_object().and_then(|map| map.iter().next())) {
        (Some(text), _) => LevelKind::of_word(|word, _| word == text, None),
        (None, Some((key, rank))) if value.as_object().is_some_and(|map| map.len() == 1) => {
            let rank = rank.as_u64().and_then(|r| usize::try_from(r).ok()).filter(|&r| r <= 1 << 16);
            rank.and_then(|rank| LevelKind::of_word(|word, _| word == key, Some(rank)))
        }
        _ => None,
    };
    kind.map_or_else(|| bad(format_args!("unknown level {value}")), Ok)
}

fn dim(value: &Value) -> Res<(usize, Part)> {
    let size = |v: &Value| v.as_u64().and_then(|n| usize::try_from(n).ok());
    let parsed = match value.as_array().map(Vec::as_slice) {
        Some([axis]) => size(axis).map(|a| (a, Part::Whole)),
        Some([axis, part, block]) => match (size(axis), part.as_str(), size(block)) {
            (Some(a), Some("div"), Some(b)) => Some((a, Part::Div(b))),
            (Some(a), Some("mod"), Some(b)) => Some((a, Part::Mod(b))),
            _ => None,
        },
        _ => None,
    };
    parsed.map_or_else(|| bad(format_args!("unknown dimension {value}")), Ok)
}

/// The JSON of a descriptor of this name space.
pub(crate) fn write(d: &Descriptor) -> Value {
    let levels = d.levels.levels.iter().map(|kind| match kind.word() {
        (word, _, None) => json!(word),
        (word, _, Some(rank)) => json!({ word: rank }),
    });
    let dims = d.levels.dims.iter().map(|&(axis, part)| match part {
        Part::Whole => json!([axis]),
        Part::Div(b) => json!([axis, "div", b]),
        Part::Mod(b) => json!([axis, "mod", b]),
    });
    let mut out = json!({
        "version": VERSION,
        "shape": d.shape,
        "levels": levels.collect::<Vec<_>>(),
        "dims": dims.collect::<Vec<_>>(),
        "number_of_stored_values": d.number_of_stored_values,
        "data_types": d.type_names(),
    });
    match &d.fill {
        FillKind::Unspecified => {}
        FillKind::Undefined => out["fill"] = json!("undefined"),
        FillKind::Value => out["fill"] = json!([]),
        FillKind::Array(shape) => out["fill"] = json!(shape),
    }
    if d.unordered {
        out["unordered"] = json!(true);
    }
    out
}
