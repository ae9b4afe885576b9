//! Facts about a matrix, stored beside its descriptor: they add to what is said and change nothing, so that other
//! readers may pass over them.

use serde_json::{Map, Value};

use super::Mode;
use crate::io::fault::{Res, bad};
use crate::io::warning::Warning;
use crate::{MatrixFacts, Tensor};

/// The key beside `binsparse`.
pub(crate) const KEY: &str = "openwork_facts";

const NAMES: [&str; 5] =
    ["is_symmetric", "is_structure_symmetric", "is_upper_triangular", "is_lower_triangular", "ndiag"];

impl MatrixFacts {
    /// What is said, as a JSON object. A count of 2^64 or more is left out.
    pub(crate) fn to_json(self) -> Value {
        write(&self)
    }
}

/// The JSON of facts; a count of 2^64 or more is left out.
pub(crate) fn write(facts: &MatrixFacts) -> Value {
    let mut out = Map::new();
    let said = [facts.is_symmetric, facts.is_structure_symmetric, facts.is_upper_triangular, facts.is_lower_triangular];
    for (name, fact) in NAMES.iter().zip(said) {
        if let Some(fact) = fact {
            out.insert((*name).into(), fact.into());
        }
    }
    if let Some(n) = facts.ndiag.and_then(|n| u64::try_from(n).ok()) {
        out.insert(NAMES[4].into(), n.into());
    }
    Value::Object(out)
}

/// Takes the facts out of what stands beside the descriptor.
pub(crate) fn take(root: &mut Map<String, Value>, mode: Mode, warnings: &mut Vec<Warning>) -> Res<MatrixFacts> {
    let Some(value) = root.remove(KEY) else { return Ok(MatrixFacts::default()) };
    match parse(&value) {
        Ok(facts) => Ok(facts),
        Err(why) if mode == Mode::Lenient => {
            warnings.push(Warning::Facts(why));
            Ok(MatrixFacts::default())
        }
        Err(why) => bad(why),
    }
}

fn parse(value: &Value) -> Result<MatrixFacts, String> {
    let Some(map) = value.as_object() else { return Err(format!("`{KEY}` is not an object")) };
    if let Some(key) = map.keys().find(|k| !NAMES.contains(&k.as_str())) {
        return Err(format!("`{KEY}` has the unknown key {key:?}; known are {}", NAMES.join(", ")));
    }
    let is = |name: &str| match map.get(name) {
        None => Ok(None),
        Some(Value::Bool(b)) => Ok(Some(*b)),
        Some(other) => Err(format!("`{name}` is {other}, not true or false")),
    };
    let ndiag = match map.get(NAMES[4]) {
        None => None,
        Some(n) => Some(n.as_u64().ok_or_else(|| format!("`ndiag` is {n}, not a count"))?.into()),
    };
    Ok(MatrixFacts {
        is_symmetric: is(NAMES[0])?,
        is_structure_symmetric: is(NAMES[1])?,
        is_upper_triangular: is(NAMES[2])?,
        is_lower_triangular: is(NAMES[3])?,
        ndiag,
    })
}

/// Compares what is said with the tensor that was read.
pub(crate) fn verify(facts: &MatrixFacts, x: &Tensor, mode: Mode, warnings: &mut Vec<Warning>) -> Res<()> {
    match facts.check(x) {
        Ok(()) => Ok(()),
        Err(e) if mode == Mode::Lenient => {
            warnings.push(Warning::Facts(e.to_string()));
            Ok(())
        }
        Err(e) => bad(format_args!("`{KEY}` does not hold: {e}")),
    }
}
