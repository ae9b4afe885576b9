//! Writing a file: the header once all names are known, then one array after the other.

use std::collections::HashSet;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use super::header::MAX_HEADER;
use super::{EntryType, swap};
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
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
}

/// A file that is ready to be written.
#[derive(Debug)]
pub(crate) struct SafetensorsWriter {
    header: Vec<u8>,
    items: Vec<OutEntry>,
}

impl SafetensorsWriter {
    /// Lays out a file: arrays of larger elements first, so that all are aligned.
    ///
    /// # Errors
    /// If two arrays have one name, or the header is longer than readers take.
    pub(crate) fn new(mut items: Vec<OutEntry>, metadata: Map<String, Value>) -> Result<SafetensorsWriter> {
        let mut names = HashSet::from(["__metadata__"]);
        for item in &items {
            if !names.insert(&item.name) {
                let why = format!("two arrays of the file would be named {:?}; rename a tensor", item.name);
                return Err(error::invalid("names", why));
            }
        }
        items.sort_by_key(|i| std::cmp::Reverse(i.values.dtype.real().size()));
        let mut root = Map::new();
        if !metadata.is_empty() {
            root.insert("__metadata__".into(), Value::Object(metadata));
        }
        let mut start = 0;
        for item in &items {
            let dtype = item.values.dtype;
            let mut shape = item.values.shape.to_vec();
            if dtype.is_complex() {
                shape.push(2);
            }
            let Some(name) = EntryType::name(dtype.real()) else {
                return Err(error::dtype(&[dtype], "safetensors has no such element type"));
            };
            let end = start + item.bytes();
            let entry = json!({ "dtype": name, "shape": shape, "data_offsets": [start, end] });
            root.insert(item.name.clone(), entry);
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
        Ok(SafetensorsWriter { header, items })
    }

    /// Bytes of the whole file.
    pub(crate) fn len(&self) -> u64 {
        self.header.len() as u64 + self.items.iter().map(OutEntry::bytes).sum::<u64>()
    }

    pub(crate) fn write(&self, sink: &mut dyn Write) -> io::Result<()> {
        sink.write_all(&self.header)?;
        for item in &self.items {
            match item.values.contiguous_bytes() {
                Some(bytes) if cfg!(target_endian = "little") => steps::write_all(sink, bytes)?,
                _ => blocks(&item.values, sink)?,
            }
        }
        sink.flush()
    }
}

/// Writes elements that do not lie as the file has them.
fn blocks(values: &Strided, sink: &mut dyn Write) -> io::Result<()> {
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
        done += n;
    }
    Ok(())
}
