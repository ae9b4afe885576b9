//! Names for the tensors of a checkpoint: the keys on the way to them, joined by dots.

use serde_json::{Map, Value as Json};

use super::pickle::{Described, Object, Pickle, Value};
use crate::io::fault::{Res, bad};

/// How deep dictionaries and lists may be nested, and how many values they may have together: a pickle of a few bytes can
/// refer to one list any number of times.
const MAX_DEPTH: usize = 64;
const MAX_VALUES: usize = 1 << 20;
const MAX_NAME: usize = 4096;

/// Tensors by name in the order of the file, and what else it says.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) tensors: Vec<(String, Described)>,
    pub(super) metadata: Map<String, Json>,
    seen: usize,
}

/// The name of a tensor that is saved alone.
const ALONE: &str = "tensor";

impl Contents {
    pub(super) fn of(pickle: &Pickle) -> Res<Contents> {
        let mut contents = Contents::default();
        contents.walk(pickle, pickle.top, String::new(), 0)?;
        Ok(contents)
    }

    fn walk(&mut self, pickle: &Pickle, value: Value, path: String, depth: usize) -> Res<()> {
        self.seen += 1;
        if depth > MAX_DEPTH || self.seen > MAX_VALUES {
            return bad(format_args!("the pickle nests deeper than {MAX_DEPTH}, or has more than {MAX_VALUES} values"));
        }
        let Value::Object(at) = value else {
            let json = match value {
                Value::Bool(v) => Json::from(v),
                Value::Int(v) => Json::from(v),
                Value::Float(v) => Json::from(v), // null where it is not finite
                _ => Json::Null,
            };
            self.note(path, json);
            return Ok(());
        };
        match pickle.objects.get(at) {
            Some(Object::Tensor(tensor)) => {
                let name = if path.is_empty() { ALONE.to_owned() } else { path };
                self.tensors.push((name, Described::clone(tensor)));
            }
            Some(Object::Dict(pairs)) => {
                for &(key, value) in pairs {
                    let key = match key {
                        Value::Int(n) => n.to_string(),
                        Value::Bool(b) => b.to_string(),
                        Value::Object(at) => match pickle.objects.get(at) {
                            Some(Object::Text(text)) if text.len() > MAX_NAME => return bad("a name is too long"),
                            Some(Object::Text(text)) => text.clone(),
                            _ => continue, // nothing that names a tensor
                        },
                        _ => continue,
                    };
                    if path.len() + key.len() > MAX_NAME {
                        return bad(format_args!("a name of more than {MAX_NAME} bytes"));
                    }
                    self.walk(pickle, value, joined(&path, &key), depth + 1)?;
                }
            }
            Some(Object::List(items) | Object::Tuple(items)) => {
                for (i, &item) in items.iter().enumerate() {
                    self.walk(pickle, item, joined(&path, &i.to_string()), depth + 1)?;
                }
            }
            Some(Object::Text(text)) => self.note(path, Json::from(text.as_str())),
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, path: String, json: Json) {
        if !path.is_empty() {
            self.metadata.insert(path, json);
        }
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
