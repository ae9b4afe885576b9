//! Writing a file: the header once all names are known, then one array after the other.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::header::MAX_HEADER;
use super::{EntryType, swap};
use crate::DType;
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::io::progress::Tell;
use crate::io::steps;

/// Data start at a multiple of this, so that a mapped file's arrays are aligned.
const ALIGN: usize = 64;
/// Elements are put into order and written in blocks of about this many bytes.
const BLOCK: usize = 1 << 20;

/// One array to write: its elements in C order, complex numbers as pairs along a last axis.
#[derive(Debug)]
pub(crate) struct OutEntry {
    pub(crate) name: String,
    pub(crate) values: Strided,
}

impl OutEntry {
    fn bytes(&self) -> u64 {
        self.values.len() as u64 * self.values.dtype.size() as u64
    }

    /// Writes the elements.
    pub(crate) fn write(&self, sink: &mut dyn Write, tell: &Tell<'_>) -> io::Result<()> {
        match self.values.contiguous_bytes() {
            Some(bytes) if cfg!(target_endian = "little") => steps::write_all(sink, bytes, tell),
            _ => blocks(&self.values, sink, tell),
        }
    }
}

/// An array of which the place is known before its elements are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Planned {
    pub(crate) name: String,
    dtype: DType,
    shape: Vec<usize>,
    bytes: u64,
}

impl Planned {
    pub(crate) fn of(item: &OutEntry) -> Planned {
        let Strided { dtype, .. } = item.values;
        Planned { name: item.name.clone(), dtype, shape: item.values.shape.to_vec(), bytes: item.bytes() }
    }
}

/// Lays out a file: arrays of larger elements first, so that all are aligned. Gives its header, and where each array begins in
/// the file, in the order in which they stand there.
///
/// # Errors
/// If two arrays have one name, or the header is longer than readers take.
pub(crate) fn layout(mut items: Vec<Planned>, metadata: Map<String, Value>) -> Result<(Vec<u8>, Vec<(Planned, u64)>)> {
    let mut names = HashSet::from(["__metadata__"]);
    for item in &items {
        if !names.insert(&item.name) {
            let why = format!("two arrays of the file would be named {:?}; rename a tensor", item.name);
            return Err(error::invalid("names", why));
        }
    }
    items.sort_by_key(|item| Reverse(item.dtype.real().size()));
    let mut root = Map::new();
    if !metadata.is_empty() {
        root.insert("__metadata__".into(), Value::Object(metadata));
    }
    let (mut start, mut places) = (0, Vec::with_capacity(items.len()));
    for item in items {
        let mut shape = item.shape.clone();
        if item.dtype.is_complex() {
            shape.push(2);
        }
        let Some(name) = EntryType::name(item.dtype.real()) else {
            return Err(error::dtype(&[item.dtype], "safetensors has no such element type"));
        };
        let end = start + item.bytes;
        let entry = json!({ "dtype": name, "shape": shape, "data_offsets": [start, end] });
        root.insert(item.name.clone(), entry);
        places.push((item, start));
        start = end;
    }
    let mut text = Value::Object(root).to_string().into_bytes();
    text.resize((8 + text.len()).next_multiple_of(ALIGN) - 8, b' ');
    if text.len() as u64 > MAX_HEADER {
        let why = format!("the header would take {} bytes, readers take {MAX_HEADER}", text.len());
        return Err(error::invalid("metadata", why));
    }
    let mut header = (text.len() as u64).to_le_bytes().to_vec();
    header.append(&mut text);
    places.iter_mut().for_each(|(_, start)| *start += header.len() as u64);
    Ok((header, places))
}

/// A file that is ready to be written.
#[derive(Debug)]
pub(crate) struct SafetensorsWriter {
    header: Vec<u8>,
    items: Vec<OutEntry>,
}

impl SafetensorsWriter {
    /// Lays out a file of arrays that are there.
    ///
    /// # Errors
    /// As [`layout`].
    pub(crate) fn new(mut items: Vec<OutEntry>, metadata: Map<String, Value>) -> Result<SafetensorsWriter> {
        let (header, _) = layout(items.iter().map(Planned::of).collect(), metadata)?;
        // As the layout has them.
        items.sort_by_key(|item| Reverse(item.values.dtype.real().size()));
        Ok(SafetensorsWriter { header, items })
    }

    /// Bytes of the whole file.
    pub(crate) fn len(&self) -> u64 {
        self.header.len() as u64 + self.items.iter().map(OutEntry::bytes).sum::<u64>()
    }

    pub(crate) fn write(&self, sink: &mut dyn Write, tell: &Tell<'_>) -> io::Result<()> {
        sink.write_all(&self.header)?;
        self.items.iter().try_for_each(|item| item.write(sink, tell))?;
        sink.flush()
    }
}

/// Writes elements that do not lie as the file has them.
fn blocks(values: &Strided, sink: &mut dyn Write, tell: &Tell<'_>) -> io::Result<()> {
    let size = values.dtype.size();
    let step = BLOCK / size;
    let mut block = vec![0; step.min(values.len()) * size];
    let mut done = 0;
    while done < values.len() {
        let n = step.min(values.len() - done);
        let part = &mut block[..n * size];
        values.read(done, part);
        swap(values.dtype, part);
        sink.write_all(part)?;
        tell.more(part.len());
        done += n;
    }
    Ok(())
}
