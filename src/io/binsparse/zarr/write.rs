//! Stores of Zarr version 3, written into an empty folder or an archive: tensors as binsparse has them, or any tree of groups.
//!
//! Arrays are in chunks of 16 MiB along their first axis; they are packed by gzip where that is asked for, which every reader of Zarr
//! knows.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use super::LIST;
use super::store::join;
use crate::base::mapped::Mapped;
use crate::base::named::Named;
use crate::base::parallel;
use crate::io::WriteOptions;
use crate::io::binsparse::export::Export;
use crate::io::binsparse::hdf5::{Attributes, Elements, Group, Node, Said};
use crate::io::binsparse::zip::ZipWriter;
use crate::io::progress::Tell;
use crate::io::steps;
use openwork_ops::DType;

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
    /// Writes a file. `tell` counts its bytes.
    fn put(&mut self, path: &str, parts: &[&[u8]], tell: &Tell<'_>) -> io::Result<()>;
}

struct Folder<'a>(&'a Path);

impl Sink for Folder<'_> {
    fn put(&mut self, path: &str, parts: &[&[u8]], tell: &Tell<'_>) -> io::Result<()> {
        let path = self.0.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut file = File::create_new(path)?;
        parts.iter().try_for_each(|part| steps::write_all(&mut file, part, tell))?;
        file.sync_all()
    }
}

impl<W: Write> Sink for ZipWriter<W> {
    fn put(&mut self, path: &str, parts: &[&[u8]], tell: &Tell<'_>) -> io::Result<()> {
        self.add(path, parts, None, tell)
    }
}

/// How arrays are written, and who is told.
struct Way<'a> {
    options: &'a WriteOptions<'a>,
    tell: Tell<'a>,
}

impl<'a> Way<'a> {
    fn new(options: &'a WriteOptions<'a>, bytes: u64) -> Way<'a> {
        Way { options, tell: Tell::new(options.progress, bytes) }
    }

    /// Tensors that are asked for one by one are counted by whoever asks.
    fn silent(options: &'a WriteOptions<'a>) -> Way<'a> {
        Way { options, tell: Tell::nobody() }
    }
}

/// Tensors by name, and what is said about all of them.
pub(in crate::io::binsparse) type Tensors<'a> = (&'a [(&'a str, Export)], Option<&'a Value>);

/// Writes tensors into an empty folder.
pub(in crate::io::binsparse) fn to_folder(
    folder: &Path,
    tensors: Tensors<'_>,
    options: &WriteOptions<'_>,
) -> io::Result<()> {
    all(&mut Folder(folder), tensors, options)
}

/// Writes tensors into an archive.
pub(in crate::io::binsparse) fn to_zip(
    sink: impl Write,
    tensors: Tensors<'_>,
    options: &WriteOptions<'_>,
) -> io::Result<()> {
    let mut archive = ZipWriter::new(sink);
    all(&mut archive, tensors, options)?;
    archive.finish()?.flush()
}

/// What is wrong with a part of a name that Zarr keeps for itself, or some file systems do.
pub(in crate::io) fn check_name(name: &str) -> Option<String> {
    let wrong = |part: &&str| *part == "zarr.json" || part.starts_with("__") || part.contains(['\\', ':']);
    let part = name.split('/').find(wrong)?;
    Some(format!(
        "{part:?} is no name of a group in Zarr: \"zarr.json\", names in \"__\" and those with \\ or : are not"
    ))
}

/// Writes a tree of groups, arrays and texts into an empty folder.
pub(in crate::io) fn tree_to_folder(folder: &Path, root: &Group<'_>, options: &WriteOptions<'_>) -> io::Result<()> {
    tree(&mut Folder(folder), "", root, &Way::new(options, root.bytes()))
}

/// Writes a tree of groups, arrays and texts into an archive.
pub(in crate::io) fn tree_to_zip(sink: impl Write, root: &Group<'_>, options: &WriteOptions<'_>) -> io::Result<()> {
    let mut archive = ZipWriter::new(sink);
    tree(&mut archive, "", root, &Way::new(options, root.bytes()))?;
    archive.finish()?.flush()
}

fn tree(sink: &mut dyn Sink, path: &str, group: &Group<'_>, way: &Way<'_>) -> io::Result<()> {
    put_group(sink, path, said(&group.attributes))?;
    for (name, node) in group.inner.iter() {
        let path = join(path, name);
        match node {
            Node::Group(inner) => tree(sink, &path, inner, way)?,
            Node::Dataset(elements, attributes) => put_array(sink, &path, elements, said(attributes), way)?,
            Node::Texts(texts, attributes) => put_texts(sink, &path, texts, said(attributes), way)?,
        }
    }
    Ok(())
}

/// Attributes as JSON has them.
fn said(attributes: &Attributes) -> Map<String, Value> {
    let value = |said: &Said| match said {
        Said::Text(text) | Said::Ascii(text) => json!(text),
        Said::Int32(number) => json!(number),
        Said::Int32s(numbers) => json!(numbers),
        Said::Int64s(numbers) => json!(numbers),
        Said::NoTexts => json!([]),
    };
    let mut out = Map::new();
    for (name, said) in attributes {
        out.insert((*name).to_owned(), value(said));
    }
    out
}

/// Gives the tensor of a name to a function.
type Give<'a> = &'a mut dyn FnMut(&str, &mut dyn FnMut(&Export) -> io::Result<()>) -> io::Result<()>;

/// Writes tensors into an empty folder, each asked for when it is its turn.
pub(in crate::io::binsparse) fn each_to_folder(
    folder: &Path,
    names: &[&str],
    list: &Value,
    options: &WriteOptions<'_>,
    give: &mut dyn FnMut(&str) -> io::Result<Export>,
) -> io::Result<()> {
    groups(&mut Folder(folder), names, Some(list), &Way::silent(options), &mut |name, put| put(&give(name)?))
}

/// The same into an archive.
pub(in crate::io::binsparse) fn each_to_zip(
    sink: impl Write,
    names: &[&str],
    list: &Value,
    options: &WriteOptions<'_>,
    give: &mut dyn FnMut(&str) -> io::Result<Export>,
) -> io::Result<()> {
    let mut archive = ZipWriter::new(sink);
    groups(&mut archive, names, Some(list), &Way::silent(options), &mut |name, put| put(&give(name)?))?;
    archive.finish()?.flush()
}

fn all(sink: &mut dyn Sink, (tensors, list): Tensors<'_>, options: &WriteOptions<'_>) -> io::Result<()> {
    let names: Vec<&str> = tensors.mapped(|(name, _)| *name);
    let bytes = tensors.iter().map(|(_, export)| export.bytes()).sum();
    groups(sink, &names, list, &Way::new(options, bytes), &mut |name, put| {
        tensors.iter().filter(|(known, _)| *known == name).try_for_each(|(_, export)| put(export))
    })
}

/// Writes the group of each tensor, and every group on the way to one.
fn groups(sink: &mut dyn Sink, names: &[&str], list: Option<&Value>, way: &Way<'_>, give: Give<'_>) -> io::Result<()> {
    let mut groups = Named::new();
    groups.insert("", false);
    for name in names {
        for (at, _) in name.match_indices('/') {
            groups.or_default(&name[..at]);
        }
        groups.insert(*name, true);
    }
    for (name, &is_tensor) in groups.iter() {
        let mut attributes = Map::new();
        if let Some(list) = list.filter(|_| name.is_empty()) {
            attributes.insert(LIST.to_owned(), list.clone());
        }
        if !is_tensor {
            put_group(sink, name, attributes)?;
            continue;
        }
        give(name, &mut |export| {
            let mut attributes = attributes.clone();
            attributes.insert(super::NAME.to_owned(), serde_json::from_str(&export.json)?);
            put_group(sink, name, attributes)?;
            for array in &export.arrays {
                let shape = [array.len() as u64];
                let elements = Elements { dtype: array.dtype, shape: &shape, bytes: array.bytes() };
                put_array(sink, &join(name, &array.name), &elements, Map::new(), way)?;
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn metadata(sink: &mut dyn Sink, path: &str, said: &Value) -> io::Result<()> {
    sink.put(&join(path, "zarr.json"), &[serde_json::to_string_pretty(said)?.as_bytes()], &Tell::nobody())
}

fn put_group(sink: &mut dyn Sink, path: &str, attributes: Map<String, Value>) -> io::Result<()> {
    metadata(sink, path, &json!({ "zarr_format": 3, "node_type": "group", "attributes": attributes }))
}

/// What is said of an array.
fn array_json(
    shape: &[u64],
    kind: &str,
    chunk: &[u64],
    fill: Value,
    codecs: Vec<Value>,
    attributes: Map<String, Value>,
) -> Value {
    json!({
        "zarr_format": 3,
        "node_type": "array",
        "shape": shape,
        "data_type": kind,
        "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunk } },
        "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
        "fill_value": fill,
        "codecs": codecs,
        "attributes": attributes,
        "storage_transformers": [],
    })
}

/// How hard to pack, if at all.
fn level_of(bytes: usize, options: &WriteOptions<'_>) -> Option<u32> {
    (options.compress && bytes >= MIN_PACKED).then(|| u32::from(options.level.unwrap_or(6).min(9)))
}

fn gzip(level: u32, parts: &[&[u8]]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(level));
    parts.iter().try_for_each(|part| encoder.write_all(part))?;
    encoder.finish()
}

fn gzip_json(level: u32) -> Value {
    json!({ "name": "gzip", "configuration": { "level": level } })
}

/// Texts along one axis, in one chunk: how many there are, and of each its bytes behind their number.
fn put_texts(
    sink: &mut dyn Sink,
    path: &str,
    texts: &[String],
    attributes: Map<String, Value>,
    way: &Way<'_>,
) -> io::Result<()> {
    let number = |n: usize| u32::try_from(n).map(u32::to_le_bytes).map_err(io::Error::other);
    let mut bytes = number(texts.len())?.to_vec();
    for text in texts {
        bytes.extend(number(text.len())?);
        bytes.extend_from_slice(text.as_bytes());
    }
    let level = level_of(bytes.len(), way.options);
    let mut codecs = vec![json!({ "name": "vlen-utf8", "configuration": {} })];
    codecs.extend(level.map(gzip_json));
    let count = texts.len() as u64;
    metadata(sink, path, &array_json(&[count], "string", &[count.max(1)], json!(""), codecs, attributes))?;
    if texts.is_empty() {
        return Ok(());
    }
    let packed = level.map(|level| gzip(level, &[&bytes])).transpose()?;
    sink.put(&format!("{path}/c/0"), &[packed.as_deref().unwrap_or(&bytes)], &Tell::nobody())
}

fn put_array(
    sink: &mut dyn Sink,
    path: &str,
    elements: &Elements<'_>,
    attributes: Map<String, Value>,
    way: &Way<'_>,
) -> io::Result<()> {
    let Elements { dtype, shape, bytes } = *elements;
    // Chunks are of whole lines: all elements at one place of the first axis.
    let line: usize = shape.iter().skip(1).product::<u64>() as usize * dtype.size();
    let len = bytes.len() / line.max(1);
    let level = level_of(bytes.len(), way.options);
    let most = if level.is_some() { PACKED_BYTES } else { CHUNK_BYTES };
    let each = way.options.chunk.unwrap_or(most / line.max(1)).clamp(1, len.max(1));
    let order = if cfg!(target_endian = "big") { "big" } else { "little" };
    let mut codecs = vec![match dtype.size() {
        1 => json!({ "name": "bytes" }),
        _ => json!({ "name": "bytes", "configuration": { "endian": order } }),
    }];
    codecs.extend(level.map(gzip_json));
    let fill = match dtype {
        DType::Bool => json!(false),
        dtype if dtype.is_float() => json!(0.0),
        dtype if dtype.is_complex() => json!([0.0, 0.0]),
        _ => json!(0),
    };
    let chunk: Vec<u64> = [each as u64].into_iter().chain(shape.iter().skip(1).map(|&size| size.max(1))).collect();
    metadata(sink, path, &array_json(shape, dtype.name(), &chunk, fill, codecs, attributes))?;
    let name = |which: usize| format!("{path}/c/{which}{}", "/0".repeat(shape.len().saturating_sub(1)));
    if bytes.is_empty() {
        return Ok(());
    }
    let whole = each * line;
    let count = bytes.len().div_ceil(whole);
    // A chunk is stored whole, beyond the end of the array too.
    let part = |which: usize| bytes.get(which * whole..bytes.len().min((which + 1) * whole)).unwrap_or_default();
    let padding = vec![0; (count * whole - bytes.len()).min(whole)];
    let rest = |which: usize| if which + 1 == count { &padding[..] } else { &[] };
    let Some(level) = level else {
        return (0..count).try_for_each(|which| sink.put(&name(which), &[part(which), rest(which)], &way.tell));
    };
    let (grain, batch) = ((PACKED_BYTES / whole).max(1), (BATCH / whole).max(1));
    for first in (0..count).step_by(batch) {
        let packed = parallel::map_chunks(batch.min(count - first), grain, &|range| {
            range.try_mapped(|which| gzip(level, &[part(first + which), rest(first + which)]))
        });
        let mut which = first;
        for chunks in packed {
            for chunk in chunks? {
                sink.put(&name(which), &[&chunk], &Tell::nobody())?;
                way.tell.more(whole);
                which += 1;
            }
        }
    }
    Ok(())
}
