//! Stores of Zarr version 3, written into an empty folder or an archive.
//!
//! Arrays have one axis, in chunks of 16 MiB; they are packed by gzip where that is asked for, which every reader of Zarr
//! knows.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use super::LIST;
use super::store::join;
use crate::base::mapped::Mapped;
use crate::base::named::Named;
use crate::base::parallel;
use crate::io::binsparse::WriteOptions;
use crate::io::binsparse::export::{Export, OutArray};
use crate::io::binsparse::zip::ZipWriter;

/// Bytes of a chunk where none are asked for.
const CHUNK_BYTES: usize = 16 << 20;
/// Bytes of a chunk that is packed: each is packed by one thread.
const PACKED_BYTES: usize = 1 << 20;
/// Smaller arrays are stored as they are.
const MIN_PACKED: usize = 64 << 10;
/// Bytes of elements that are packed at a time.
const BATCH: usize = 16 << 20;

/// Where files go.
trait Sink {
    fn put(&mut self, path: &str, parts: &[&[u8]]) -> io::Result<()>;
}

struct Folder<'a>(&'a Path);

impl Sink for Folder<'_> {
    fn put(&mut self, path: &str, parts: &[&[u8]]) -> io::Result<()> {
        let path = self.0.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::create_new(path)?;
        parts.iter().try_for_each(|part| file.write_all(part))?;
        file.sync_all()
    }
}

impl<W: Write> Sink for ZipWriter<W> {
    fn put(&mut self, path: &str, parts: &[&[u8]]) -> io::Result<()> {
        self.add(path, parts, None)
    }
}

/// Tensors by name, and what is said about all of them.
pub(in crate::io::binsparse) type Tensors<'a> = (&'a [(&'a str, Export)], Option<&'a Value>);

/// Writes tensors into an empty folder.
pub(in crate::io::binsparse) fn to_folder(
    folder: &Path,
    tensors: Tensors<'_>,
    options: &WriteOptions,
) -> io::Result<()> {
    all(&mut Folder(folder), tensors, options)
}

/// Writes tensors into an archive.
pub(in crate::io::binsparse) fn to_zip(
    sink: impl Write,
    tensors: Tensors<'_>,
    options: &WriteOptions,
) -> io::Result<()> {
    let mut archive = ZipWriter::new(sink);
    all(&mut archive, tensors, options)?;
    archive.finish()?.flush()
}

/// What is wrong with a part of a name that Zarr keeps for itself, or some file systems do.
pub(in crate::io::binsparse) fn check_name(name: &str) -> Option<String> {
    let wrong = |part: &&str| *part == "zarr.json" || part.starts_with("__") || part.contains(['\\', ':']);
    let part = name.split('/').find(wrong)?;
    Some(format!(
        "{part:?} is no name of a group in Zarr: \"zarr.json\", names in \"__\" and those with \\ or : are not"
    ))
}

fn all(sink: &mut dyn Sink, (tensors, list): Tensors<'_>, options: &WriteOptions) -> io::Result<()> {
    // Every group on the way to a tensor is one by itself.
    let mut groups = Named::new();
    groups.insert("", None);
    for (which, (name, _)) in tensors.iter().enumerate() {
        for (at, _) in name.match_indices('/') {
            groups.or_default(&name[..at]);
        }
        groups.insert(*name, Some(which));
    }
    for (name, which) in groups.iter() {
        let export = which.and_then(|which| tensors.get(which)).map(|(_, export)| export);
        let mut attributes = serde_json::Map::new();
        if let Some(export) = export {
            attributes.insert(super::NAME.to_owned(), serde_json::from_str(&export.json)?);
        }
        if let Some(list) = list.filter(|_| name.is_empty()) {
            attributes.insert(LIST.to_owned(), list.clone());
        }
        let said = json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes });
        metadata(sink, name, &said)?;
        for array in export.map(|export| &export.arrays[..]).unwrap_or_default() {
            put_array(sink, &join(name, &array.name), array, options)?;
        }
    }
    Ok(())
}

fn metadata(sink: &mut dyn Sink, path: &str, said: &Value) -> io::Result<()> {
    sink.put(&join(path, "zarr.json"), &[serde_json::to_string_pretty(said)?.as_bytes()])
}

fn put_array(sink: &mut dyn Sink, path: &str, array: &OutArray, options: &WriteOptions) -> io::Result<()> {
    let bytes = array.bytes();
    let item = array.dtype.size();
    let len = bytes.len() / item;
    let level = (options.compress && bytes.len() >= MIN_PACKED).then(|| u32::from(options.level.unwrap_or(6).min(9)));
    let most = if level.is_some() { PACKED_BYTES } else { CHUNK_BYTES };
    let each = options.chunk.unwrap_or(most / item).clamp(1, len.max(1));
    let order = if cfg!(target_endian = "big") { "big" } else { "little" };
    let mut codecs = vec![match item {
        1 => json!({ "name": "bytes" }),
        _ => json!({ "name": "bytes", "configuration": { "endian": order } }),
    }];
    if let Some(level) = level {
        codecs.push(json!({ "name": "gzip", "configuration": { "level": level } }));
    }
    let fill = if array.dtype.is_float() { json!(0.0) } else { json!(0) };
    let said = json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": [len],
        "data_type": array.dtype.name(),
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": [each] } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "fill_value": fill,
        "codecs": codecs,
        "attributes": {},
        "storage_transformers": [],
    });
    metadata(sink, path, &said)?;
    let whole = each * item;
    let count = bytes.len().div_ceil(whole);
    // A chunk is stored whole, beyond the end of the array too.
    let part = |which: usize| bytes.get(which * whole..bytes.len().min((which + 1) * whole)).unwrap_or_default();
    let padding = vec![0; (count * whole - bytes.len()).min(whole)];
    let rest = |which: usize| if which + 1 == count { &padding[..] } else { &[] };
    let Some(level) = level else {
        return (0..count).try_for_each(|which| sink.put(&format!("{path}/c/{which}"), &[part(which), rest(which)]));
    };
    let (grain, batch) = ((PACKED_BYTES / whole).max(1), (BATCH / whole).max(1));
    for first in (0..count).step_by(batch) {
        let packed = parallel::map_chunks(batch.min(count - first), grain, &|range| {
            range.try_mapped(|which| {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
                encoder.write_all(part(first + which))?;
                encoder.write_all(rest(first + which))?;
                encoder.finish()
            })
        });
        let mut which = first;
        for chunks in packed {
            for chunk in chunks? {
                sink.put(&format!("{path}/c/{which}"), &[&chunk])?;
                which += 1;
            }
        }
    }
    Ok(())
}
