//! Older drafts of binsparse, rewritten into the words of 0.1 before the strict parser sees them.

use serde_json::{Map, Value, json};

use crate::base::named::Named;
use crate::io::fault::{Res, bad};
use crate::io::warning::Warning;
use crate::levels::names::ArrayName;

/// What a rewritten descriptor needs beside itself.
#[derive(Default)]
pub(crate) struct Hints {
    /// Today's names of arrays, and those in the file.
    pub(crate) stored_names: Named<String>,
    /// The format was `iso[…]`.
    pub(crate) iso: bool,
    /// A level says `sorted: false`.
    pub(crate) unordered: bool,
}

fn old(warnings: &mut Vec<Warning>, found: impl Into<String>, meaning: impl Into<String>) {
    warnings.push(Warning::OldSpelling { found: found.into(), meaning: meaning.into() });
}

/// Rewrites `root` so that it has a `binsparse` object in today's words.
pub(crate) fn normalise(root: &mut Map<String, Value>, warnings: &mut Vec<Warning>) -> Res<Hints> {
    let mut hints = Hints::default();
    if !root.contains_key("binsparse") {
        if !(root.contains_key("format") && root.contains_key("shape")) {
            return Ok(hints); // not a descriptor at all: the parser says so
        }
        const OWN: [&str; 13] = [
            "version",
            "format",
            "shape",
            "number_of_stored_values",
            "nnz",
            "data_types",
            "fill",
            "structure",
            "custom",
            "attrs",
            "attributes",
            "swizzle",
            "tensor",
        ];
        let mut inner = Map::new();
        for key in OWN {
            if let Some(value) = root.remove(key) {
                inner.insert(key.into(), value);
            }
        }
        root.insert("binsparse".into(), Value::Object(inner));
        warnings.push(Warning::FlatDescriptor);
    }
    let Some(Value::Object(map)) = root.get_mut("binsparse") else { return Ok(hints) };
    rename(map, "nnz", "number_of_stored_values", warnings)?;
    rename(map, "tensor", "custom", warnings)?;
    if map.get("structure").is_some_and(|s| s == "general") {
        map.remove("structure");
        old(warnings, "structure: general", "no structure");
    }
    format(map, &mut hints, warnings)?;
    let mut swizzle = map.remove("swizzle");
    if let Some(Value::Object(custom)) = map.get_mut("custom") {
        swizzle = custom.remove("swizzle").or(swizzle);
        if let Some(level) = custom.get_mut("level") {
            levels(level, &mut hints, warnings)?;
        } else if let Some(mut level) = custom.remove("subformat") {
            levels(&mut level, &mut hints, warnings)?;
            custom.insert("level".into(), level);
            old(warnings, "subformat", "level");
        }
        if let Some(swizzle) = swizzle.take() {
            let axes =
                swizzle.as_array().map(|a| a.iter().map(|v| v.as_u64()?.checked_sub(1)).collect::<Option<Vec<_>>>());
            let Some(Some(axes)) = axes else {
                return bad(format_args!("`swizzle` {swizzle} does not count axes from 1"));
            };
            custom.insert("transpose".into(), json!(axes));
            warnings.push(Warning::Swizzle);
        }
    }
    if let Some(swizzle) = swizzle {
        return bad(format_args!("`swizzle` {swizzle} without `custom`"));
    }
    types(map, &mut hints, warnings)?;
    Ok(hints)
}

fn rename(map: &mut Map<String, Value>, from: &str, to: &str, warnings: &mut Vec<Warning>) -> Res<()> {
    if let Some(value) = map.remove(from) {
        if map.insert(to.into(), value).is_some() {
            return bad(format_args!("both `{from}` and `{to}` are given"));
        }
        old(warnings, from, to);
    }
    Ok(())
}

fn format(map: &mut Map<String, Value>, hints: &mut Hints, warnings: &mut Vec<Warning>) -> Res<()> {
    match map.get("format") {
        Some(Value::Object(tree)) => {
            // Levels inside `format`, as {"custom": …} or directly.
            let custom = match tree.get("custom") {
                Some(custom) => custom.clone(),
                None if tree.get("level").is_some_and(Value::is_string) => json!({ "level": tree }),
                None => Value::Object(tree.clone()),
            };
            if map.insert("custom".into(), custom).is_some() {
                return bad("both `custom` and a `format` with levels are given");
            }
            map.insert("format".into(), json!("custom"));
            old(warnings, "format: {…}", "custom");
        }
        Some(Value::String(text)) => {
            let found = text.clone();
            let mut name = found.as_str();
            if let Some(inner) = name.strip_prefix("iso[").and_then(|n| n.strip_suffix(']')) {
                hints.iso = true;
                name = inner;
            }
            let upper = name.to_ascii_uppercase();
            let name = match upper.as_str() {
                "VEC" => "CVEC",
                "CUSTOM" => "custom",
                other => other,
            };
            if name != found {
                old(warnings, found, name);
                map.insert("format".into(), json!(name));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Renames the keys of a level and its children.
fn levels(level: &mut Value, hints: &mut Hints, warnings: &mut Vec<Warning>) -> Res<()> {
    let Value::Object(map) = level else { return Ok(()) };
    rename(map, "level_kind", "level_desc", warnings)?;
    if map.get("level").is_some_and(Value::is_string) {
        rename(map, "level", "level_desc", warnings)?;
    }
    rename(map, "subformat", "level", warnings)?;
    match map.remove("sorted") {
        None | Some(Value::Bool(true)) => {}
        Some(Value::Bool(false)) => {
            hints.unordered = true;
            warnings.push(Warning::UnsortedLevel);
        }
        Some(other) => return bad(format_args!("`sorted` is {other}, not true or false")),
    }
    match map.get_mut("level") {
        Some(child) => levels(child, hints, warnings), // as deep as JSON may be
        None => Ok(()),
    }
}

fn types(map: &mut Map<String, Value>, hints: &mut Hints, warnings: &mut Vec<Warning>) -> Res<()> {
    let Some(Value::Object(types)) = map.get_mut("data_types") else { return Ok(()) };
    let mut out = Map::new();
    let given: Vec<String> = types.keys().cloned().collect();
    for (key, value) in std::mem::take(types) {
        let mut name = key.strip_suffix("_type").unwrap_or(&key).to_owned();
        if let Some(k) = name.strip_prefix("pointers_").and_then(|k| k.parse::<usize>().ok()) {
            let today = ArrayName::Pointers(k.saturating_add(1)).to_string();
            hints.stored_names.insert(today.clone(), name);
            name = today;
        }
        if name != key {
            old(warnings, &key, &name);
        }
        let value = match value.as_str() {
            Some(text) => {
                let today = data_type(text);
                if today != text {
                    old(warnings, text, &today);
                }
                Value::String(today)
            }
            None => value,
        };
        if out.insert(name.clone(), value.clone()).is_some_and(|other| other != value) {
            return bad(format_args!("`data_types` gives {name:?} two types: {given:?}"));
        }
    }
    *types = out;
    Ok(())
}

/// Today's name of an element type.
fn data_type(text: &str) -> String {
    if let Some(inner) = text.strip_prefix("iso[").and_then(|t| t.strip_suffix(']')) {
        return format!("iso[{}]", data_type(inner));
    }
    let text = match text.split_once("->") {
        Some((_, "bool")) => "bint8",
        Some((stored, memory)) if stored == memory => memory,
        _ => text,
    };
    match text {
        "bool" => "bint8",
        "complex[int64]" => "complex[float64]",
        other => other,
    }
    .to_owned()
}
