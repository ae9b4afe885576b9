//! The header: names, element types, shapes and places of the arrays. Nothing that breaks a rule passes.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};

use super::EntryType;
use crate::base::named::Named;
use crate::io::fault::{Res, bad};

/// Longer headers are refused, as by every reader of the format.
pub(crate) const MAX_HEADER: u64 = 100_000_000;
/// Shapes of more axes are refused.
const MAX_AXES: usize = 1024;

/// One array of a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ArrayEntry {
    pub(crate) kind: EntryType,
    pub(crate) shape: Vec<u64>,
    /// Bytes of the data part, from the end of the header on.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl ArrayEntry {
    pub(crate) fn bytes(&self) -> u64 {
        self.end - self.start
    }

    /// Number of elements. No overflow: they are known to lie in the file.
    pub(crate) fn len(&self) -> u64 {
        self.bytes() * 8 / self.kind.bits()
    }
}

/// All that a file says before its data.
#[derive(Debug, Default)]
pub(crate) struct Directory {
    pub(crate) metadata: Named<String>,
    /// In the order of the header.
    pub(crate) entries: Vec<(String, ArrayEntry)>,
}

impl Directory {
    /// Parses a header and checks it against the bytes that follow it: arrays cover them from first to last, none
    /// overlaps another, and each has the bytes that its type and shape need.
    pub(crate) fn parse(text: &[u8], data: u64) -> Res<Directory> {
        if text.first() != Some(&b'{') {
            return bad("the header does not start with `{`");
        }
        let header: Directory = match serde_json::from_slice(text) {
            Ok(header) => header,
            Err(e) => return bad(format_args!("the header: {e}")),
        };
        let mut places: Vec<&(String, ArrayEntry)> = header.entries.iter().collect();
        places.sort_by_key(|(_, e)| (e.start, e.end));
        let mut covered = 0;
        for (name, entry) in places {
            let (start, end) = (entry.start, entry.end);
            if start != covered {
                let what = if start < covered { "overlaps the array before it" } else { "leaves a gap before it" };
                return bad(format_args!("{name:?} at bytes {start}..{end} {what}, which ends at {covered}"));
            }
            if end < start || end > data {
                return bad(format_args!("{name:?} at bytes {start}..{end}: the file has data of {data} bytes"));
            }
            // An empty array has no bytes, however long its other axes.
            let empty = entry.shape.contains(&0);
            let count = entry.shape.iter().try_fold(1u64, |n, &s| n.checked_mul(s));
            let bits = if empty { Some(0) } else { count.and_then(|n| n.checked_mul(entry.kind.bits())) };
            if bits.is_none_or(|b| b % 8 != 0 || b / 8 != end - start) {
                let (shape, kind) = (&entry.shape, entry.kind);
                return bad(format_args!(
                    "{name:?} has {} bytes, not those of shape {shape:?} of {kind:?}",
                    end - start
                ));
            }
            covered = end;
        }
        if covered != data {
            return bad(format_args!("the arrays end at byte {covered} of the data, which has {data}"));
        }
        Ok(header)
    }
}

impl<'de> Deserialize<'de> for Directory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Directory, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = Directory;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of arrays")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Directory, A::Error> {
        let mut header = Directory::default();
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if !seen.insert(name.clone()) {
                return Err(A::Error::custom(format_args!("{name:?} is given twice")));
            }
            if name == "__metadata__" {
                header.metadata = map.next_value::<Metadata>()?.0;
            } else {
                header.entries.push((name, map.next_value()?));
            }
        }
        Ok(header)
    }
}

struct Metadata(Named<String>);

impl<'de> Deserialize<'de> for Metadata {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Metadata, D::Error> {
        deserializer.deserialize_map(MetadataVisitor)
    }
}

struct MetadataVisitor;

impl<'de> Visitor<'de> for MetadataVisitor {
    type Value = Metadata;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`__metadata__`, an object of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Metadata, A::Error> {
        let mut out = Named::new();
        while let Some((key, value)) = map.next_entry::<String, String>()? {
            if out.contains(&key) {
                return Err(A::Error::custom(format_args!("`__metadata__` has the key {key:?} twice")));
            }
            out.insert(key, value);
        }
        Ok(Metadata(out))
    }
}

impl<'de> Deserialize<'de> for ArrayEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ArrayEntry, D::Error> {
        deserializer.deserialize_map(EntryVisitor)
    }
}

struct EntryVisitor;

impl<'de> Visitor<'de> for EntryVisitor {
    type Value = ArrayEntry;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array's `dtype`, `shape` and `data_offsets`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ArrayEntry, A::Error> {
        let (mut kind, mut shape, mut place) = (None, None, None);
        while let Some(key) = map.next_key::<String>()? {
            let fresh = match key.as_str() {
                "dtype" => {
                    let name: String = map.next_value()?;
                    let known = EntryType::parse(&name);
                    let known = known.ok_or_else(|| A::Error::custom(format_args!("unknown dtype {name:?}")))?;
                    kind.replace(known).is_none()
                }
                "shape" => {
                    let given: Vec<u64> = map.next_value()?;
                    if given.len() > MAX_AXES {
                        let why = format_args!("{} axes, {MAX_AXES} are allowed", given.len());
                        return Err(A::Error::custom(why));
                    }
                    shape.replace(given).is_none()
                }
                "data_offsets" => place.replace(map.next_value::<[u64; 2]>()?).is_none(),
                _ => {
                    let why = format_args!("unknown key {key:?}, which may change what the bytes mean");
                    return Err(A::Error::custom(why));
                }
            };
            if !fresh {
                return Err(A::Error::custom(format_args!("the key {key:?} is given twice")));
            }
        }
        match (kind, shape, place) {
            (Some(kind), Some(shape), Some([start, end])) => Ok(ArrayEntry { kind, shape, start, end }),
            _ => Err(A::Error::custom("an array needs `dtype`, `shape` and `data_offsets`")),
        }
    }
}

#[cfg(test)]
#[path = "tests/header.rs"]
mod tests;
