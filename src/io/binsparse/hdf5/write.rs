//! Writing HDF5: in the forms of the oldest libraries, which every library reads.

use std::io;
use std::path::Path;

use ::hdf5::types::VarLenUnicode;
use ::hdf5::{File, Group};

use super::LIST;
use super::descriptor::NAME;
use super::libhdf5::raw;
use crate::io::binsparse::Options;
use crate::io::binsparse::export::{Export, OutArray};

/// Smaller arrays are stored as they are: packing them would save nothing, for each chunk costs an entry in an index.
const MIN_PACKED: usize = 64 << 10;
/// Bytes of a chunk where none are asked for: those that the chunk cache holds.
const CHUNK_BYTES: usize = 1 << 20;

/// Writes a new file with a group per tensor; a name of no parts is the root. `list` goes to the root.
pub(crate) fn write(path: &Path, tensors: &[(&str, Export)], list: Option<&str>, options: &Options) -> io::Result<()> {
    whole(path, tensors, list, options).map_err(|e| io::Error::other(format!("libhdf5: {e}")))
}

fn whole(path: &Path, tensors: &[(&str, Export)], list: Option<&str>, options: &Options) -> ::hdf5::Result<()> {
    let file = File::with_options().with_fapl(|p| p.libver_earliest()).create(path)?;
    for (name, export) in tensors {
        let mut group = file.group("/")?;
        for part in name.split('/').filter(|p| !p.is_empty()) {
            group = if group.link_exists(part) { group.group(part)? } else { group.create_group(part)? };
        }
        for array in &export.arrays {
            add(&group, array, options)?;
        }
        text(&group, NAME, &export.json)?;
    }
    if let Some(list) = list {
        text(&file, LIST, list)?;
    }
    // Closing alone would not say that the disk is full.
    file.flush()?;
    file.close()
}

fn add(group: &Group, array: &OutArray, options: &Options) -> ::hdf5::Result<()> {
    let bytes = array.bytes();
    let packed = options.compress && bytes.len() >= MIN_PACKED;
    let level = options.level.unwrap_or(4).min(9);
    let len = array.len();
    let mut builder = group.new_dataset_builder().obj_track_times(false);
    if len > 0 && (packed || (options.chunk.is_some() && !options.compress)) {
        let chunk = options.chunk.unwrap_or(CHUNK_BYTES / array.dtype.size());
        // A chunk may not reach 4 GiB.
        builder = builder.chunk(chunk.clamp(1, len).min((u32::MAX as usize) / 16));
    }
    if packed && options.shuffle && array.dtype.size() > 1 {
        builder = builder.shuffle();
    }
    if packed {
        builder = builder.deflate(level);
    }
    let data = builder.empty_as(raw::memory(array.dtype)?).shape(len).create(array.name.as_str())?;
    raw::write(&data, array.dtype, bytes)
}

/// A scalar text of variable length, in UTF-8.
fn text(group: &Group, name: &str, value: &str) -> ::hdf5::Result<()> {
    let value: VarLenUnicode = value.parse().map_err(|e| format!("{name}: {e}"))?;
    group.new_attr::<VarLenUnicode>().create(name)?.write_scalar(&value)
}
