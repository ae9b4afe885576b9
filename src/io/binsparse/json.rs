//! JSON in which no key repeats. `serde_json` bounds the depth, keeps integers exact, and refuses NaN, trailing
//! commas and trailing text; what it lets pass, and a reader must not, is a key given twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::base::mapped::Mapped;
use crate::io::fault::{Res, bad};

/// Descriptors larger than this are refused before they are parsed.
pub(crate) const MAX_BYTES: u64 = 16 << 20;

/// Parses one JSON object.
pub(crate) fn object(text: &str) -> Res<Map<String, Value>> {
    if text.len() as u64 > MAX_BYTES {
        return bad(format_args!("the descriptor has {} bytes, {MAX_BYTES} are allowed", text.len()));
    }
    if text.starts_with('\u{feff}') {
        return bad("the descriptor is not JSON: it begins with a byte order mark");
    }
    match serde_json::from_str::<Strict>(text) {
        Ok(Strict(Value::Object(map))) => Ok(map),
        Ok(_) => bad("the descriptor is not a JSON object"),
        Err(e) => bad(format_args!("the descriptor is not JSON: {e}")),
    }
}

/// A list of strings, if it is one.
pub(crate) fn strings(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.try_mapped(|item| item.as_str().map(str::to_owned).ok_or(())).ok()
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Strict, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without repeated keys")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, v: bool) -> Result<Value, E> {
        Ok(Value::Bool(v))
    }

    fn visit_u64<E: Error>(self, v: u64) -> Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_i64<E: Error>(self, v: i64) -> Result<Value, E> {
        Ok(Value::Number(v.into()))
    }

    fn visit_f64<E: Error>(self, v: f64) -> Result<Value, E> {
        Number::from_f64(v).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E: Error>(self, v: &str) -> Result<Value, E> {
        Ok(Value::String(v.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut out = Vec::new();
        while let Some(Strict(item)) = seq.next_element()? {
            out.push(item);
        }
        Ok(Value::Array(out))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut out = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if out.contains_key(&key) {
                return Err(A::Error::custom(format_args!("the key {key:?} is given twice")));
            }
            let Strict(item) = map.next_value()?;
            out.insert(key, item);
        }
        Ok(Value::Object(out))
    }
}

#[cfg(test)]
#[path = "tests/json.rs"]
mod tests;
