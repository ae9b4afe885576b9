//! A tensor from one container to another, in pieces and as it is stored.
//!
//! How long each array will be is known from the start, so each has its place in the new file before anything of it is
//! written, and all grow side by side. What is read is checked as any reader checks it.

use std::collections::BTreeMap;
use std::fs::File as Sink;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;

use flate2::Crc;
use serde_json::Map;

use super::descriptor::{Descriptor, FillKind};
use super::export::{self, Export, OutArray};
use super::file::File;
use super::rows::Cut;
use super::sizes::raw;
use super::types::{DataType, Version};
use super::{ContainerKind, hdf5, map, npz};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::mapped::Mapped;
use crate::io::fault::{Fault, Res, bad};
use crate::io::progress::Tell;
use crate::io::{ReadOptions, WriteOptions, atomic, steps};
use crate::tensor::Tensor;
use crate::{DType, LevelKind, MatrixFacts, Scalar};

/// An array of the new file.
pub(crate) struct Region {
    pub(crate) name: String,
    /// As stored.
    pub(crate) dtype: DType,
    /// How many elements it will have.
    pub(crate) len: u64,
    /// Where the first of them is in the file.
    pub(crate) at: u64,
    /// Of the bytes that are written so far.
    pub(crate) checksum: Crc,
    done: u64,
    /// The last of the pointers that are written.
    last: u64,
}

/// What is written.
struct Outline {
    descriptor: Descriptor,
    regions: Vec<Region>,
    /// How many arrays list coordinates, whose order is seen from piece to piece.
    listed: usize,
}

/// Copies the tensor of a file that was just opened, in pieces of about `most` elements. `false` if it has no pieces or would be
/// stored otherwise; nothing is written then.
pub(in crate::io) fn in_pieces(
    file: &mut File,
    name: Option<&str>,
    to: &Path,
    options: &WriteOptions<'_>,
    most: u64,
) -> Result<bool> {
    let kind = ContainerKind::of_path(to)?;
    kind.check(options)?;
    let as_it_is = !options.compress
        && options.chunk.is_none()
        && options.name.is_none()
        && !options.facts
        && options.fill.is_none();
    if !matches!(kind, ContainerKind::Npz | ContainerKind::Hdf5) || !as_it_is {
        return Ok(false);
    }
    let Some(mut outline) = outline(file, name, options)? else { return Ok(false) };
    let Some(cuts) = Cut::parts(&outline.descriptor, most) else { return Ok(false) };
    let mut cuts = cuts.fuse();
    let mut verified = false;
    let mut pieces = std::iter::from_fn(|| match cuts.next() {
        Some(cut) => {
            Some(file.load(name, &ReadOptions::default(), Some(cut), Tensor::from_parts).map(|loaded| loaded.tensor))
        }
        // Parts of an array are no match for its checksum: that is compared when all of it has been seen.
        None if !std::mem::replace(&mut verified, true) => file.verify().err().map(Err),
        None => None,
    });
    // What has no parts is told by the first of them.
    let first = match pieces.next() {
        Some(Ok(first)) => first,
        Some(Err(error)) if matches!(error.kind(), ErrorKind::Format { .. }) => return Ok(false),
        Some(Err(error)) => return Err(error),
        None => return Ok(false),
    };
    let json = export::text(&outline.descriptor)?;
    let mut pieces = std::iter::once(Ok(first)).chain(pieces);
    let mut failed = None;
    let tell = Tell::new(options.progress, outline.regions.iter().map(Region::bytes).sum());
    let mut fill = |sink: &Sink, regions: &mut [Region]| {
        let moved = filled(sink, regions, &outline.descriptor, outline.listed, &mut pieces, &tell);
        moved.map_err(|fault| {
            failed = Some(fault);
            io::Error::other("a piece was not to be had")
        })
    };
    let regions = &mut outline.regions;
    let written = atomic::write(to, |sink| match kind {
        ContainerKind::Hdf5 => {
            hdf5::write_reserved(sink, &json, regions)?;
            fill(sink, regions)
        }
        _ => npz::write_reserved(sink, &json, regions, &mut fill),
    });
    drop(pieces);
    match failed {
        None => written?,
        Some(Moved::Read(error)) => return Err(error),
        Some(Moved::Told(fault)) => return Err(fault.at(file.path())),
        // The writer's own error has the path of the new file.
        Some(Moved::Write(source)) => return Err(ErrorKind::Io { path: to.to_owned(), source }.into()),
    }
    tell.end();
    Ok(true)
}

/// What can go wrong on the way.
enum Moved {
    Read(Error),
    /// The pieces do not make a tensor.
    Told(Fault),
    Write(io::Error),
}

impl From<Error> for Moved {
    fn from(error: Error) -> Moved {
        Moved::Read(error)
    }
}

impl From<Fault> for Moved {
    fn from(fault: Fault) -> Moved {
        Moved::Told(fault)
    }
}

impl From<io::Error> for Moved {
    fn from(error: io::Error) -> Moved {
        Moved::Write(error)
    }
}

/// The arrays of the new file, if they are those of the old one.
fn outline(file: &mut File, name: Option<&str>, options: &WriteOptions<'_>) -> Result<Option<Outline>> {
    let d = file.described(name)?;
    let plain = !d.version.is_empty()
        && !d.is_extension()
        && d.symmetry.is_none()
        && !d.unordered
        && !d.iso
        && d.stored_names.len() == 0
        && d.facts == MatrixFacts::default()
        && matches!(d.fill, FillKind::Unspecified | FillKind::Value);
    let Some(dtype) = d.dtype().filter(|_| plain) else { return Ok(None) };
    let zero = Scalar::zero(dtype).to_bytes();
    let fill = if d.fill == FillKind::Value { file.fill(name.unwrap_or_default())? } else { None };
    let filled = fill.is_some_and(|fill| fill.to_bytes() != zero);
    let Some(lengths) = file.lengths(name, &d)? else { return Ok(None) };
    let mut regions = Vec::new();
    for (name, len) in &lengths {
        let stored = match &**name {
            "values" => raw(dtype),
            "fill_value" if !filled => continue,
            "fill_value" => raw(dtype),
            index => index_type(index, &d, &lengths),
        };
        let (name, checksum) = (name.clone(), Crc::new());
        regions.push(Region { name, dtype: stored, len: *len, at: 0, checksum, done: 0, last: 0 });
    }
    let iso = d.data_types.get("values").is_some_and(|ty| ty.iso);
    let mut data_types = BTreeMap::new();
    for region in &regions {
        data_types.insert(region.name.clone(), DataType::from(region.dtype));
    }
    data_types.insert("values".to_owned(), DataType { iso, dtype });
    if filled {
        data_types.insert("fill_value".to_owned(), dtype.into());
    }
    let listed = match d.levels.levels.first() {
        Some(LevelKind::Sparse { rank }) => *rank,
        _ => 0,
    };
    let descriptor = Descriptor {
        version: options.version.unwrap_or(Version::V0_1_0).text().into(),
        format: super::descriptor::alias(&d.levels).unwrap_or("custom").into(),
        data_types,
        fill: if filled { FillKind::Value } else { FillKind::Unspecified },
        metadata: options.said(),
        ..d
    };
    Ok(Some(Outline { descriptor, regions, listed }))
}

/// 32 bits where all that the array may hold fits.
fn index_type(name: &str, d: &Descriptor, lengths: &[(String, u64)]) -> DType {
    let most = match name.rsplit_once('_') {
        // They point into the indices of the same level.
        Some(("pointers_to", dim)) => {
            let indices = format!("indices_{dim}");
            lengths.iter().find(|(name, _)| *name == indices).map(|(_, len)| *len)
        }
        Some(("indices", dim)) => {
            let place = dim.parse().ok().and_then(|dim: usize| d.levels.dims.get(dim));
            place.and_then(|&(axis, _)| d.shape.get(axis)).copied()
        }
        _ => None,
    };
    if most.is_some_and(|most| most <= 1 << 31) { DType::U32 } else { DType::U64 }
}

/// Writes all pieces, each array to its place.
fn filled(
    sink: &Sink,
    regions: &mut [Region],
    d: &Descriptor,
    listed: usize,
    pieces: &mut dyn Iterator<Item = Result<Tensor>>,
    tell: &Tell<'_>,
) -> std::result::Result<(), Moved> {
    let all = d.number_of_stored_values.unwrap_or(0);
    let (mut seen, mut before) = (0_u64, Vec::new());
    for piece in pieces {
        let piece = piece?;
        let export = Export::new(&piece, &WriteOptions::default(), &Map::new())?;
        if listed > 0 {
            rising(&export.arrays, listed, &mut before)?;
        }
        for array in &export.arrays {
            if let Some(region) = regions.iter_mut().find(|region| region.name == array.name) {
                region.append(sink, array, tell)?;
            }
        }
        seen += piece.nse() as u64;
    }
    if seen != all {
        return Err(Fault::Bad(format!("`number_of_stored_values` is {all}, and {seen} elements are stored")).into());
    }
    match regions.iter().find(|region| region.done != region.len) {
        Some(Region { name, len, done, .. }) => {
            Err(Fault::Bad(format!("`{name}` has {len} entries, of which {done} belong to the tensor")).into())
        }
        None => Ok(()),
    }
}

/// That coordinates rise from one piece to the next; within a piece they do.
fn rising(arrays: &[OutArray], listed: usize, before: &mut Vec<u64>) -> Res<()> {
    let end = |last: bool| -> Option<Vec<u64>> {
        let mut out = Vec::with_capacity(listed);
        for array in arrays.iter().take(listed) {
            out.push(array.index_at(if last { array.len().checked_sub(1)? } else { 0 })?);
        }
        Some(out)
    };
    if let Some(first) = end(false)
        && !before.is_empty()
        && first <= *before
    {
        return bad(format_args!("the coordinates {first:?} stand behind {before:?}: they repeat or are out of order"));
    }
    if let Some(last) = end(true) {
        *before = last;
    }
    Ok(())
}

impl Region {
    fn bytes(&self) -> u64 {
        self.len * self.dtype.size() as u64
    }

    /// Writes the part of the array that a piece has behind those before.
    fn append(&mut self, sink: &Sink, array: &OutArray, tell: &Tell<'_>) -> std::result::Result<(), Moved> {
        let once = self.len == 1 && (self.name == "values" || self.name == "fill_value");
        if once && self.done == 1 {
            // One value for all is that of each piece.
            return Ok(());
        }
        if self.name.starts_with("pointers_to_") {
            let (skip, base) = (usize::from(self.done > 0), self.last);
            let pointers = array.shifted(skip, base);
            self.last = pointers.last().copied().unwrap_or(self.last);
            return self.indices(sink, &pointers, tell);
        }
        if array.dtype == self.dtype {
            return self.put(sink, array.bytes(), tell);
        }
        self.indices(sink, &array.shifted(0, 0), tell)
    }

    /// Indices in the width that the new file has.
    fn indices(&mut self, sink: &Sink, indices: &[u64], tell: &Tell<'_>) -> std::result::Result<(), Moved> {
        match self.dtype {
            DType::U32 => {
                let narrow = indices.mapped(|&index| index as u32);
                self.put(sink, bytemuck::cast_slice(&narrow), tell)
            }
            _ => self.put(sink, bytemuck::cast_slice(indices), tell),
        }
    }

    fn put(&mut self, mut sink: &Sink, bytes: &[u8], tell: &Tell<'_>) -> std::result::Result<(), Moved> {
        let item = self.dtype.size() as u64;
        let count = bytes.len() as u64 / item;
        if count > self.len - self.done {
            let Region { name, len, .. } = self;
            return Err(Fault::Bad(format!("the pieces have more entries of `{name}` than the {len} there are")).into());
        }
        sink.seek(SeekFrom::Start(self.at + self.done * item))?;
        steps::write_all(&mut sink, bytes, tell)?;
        self.checksum.update(bytes);
        self.done += count;
        Ok(())
    }
}

/// How long each array of a tensor is; `None` where one is missing, or packed: what a piece ends in would be unpacked again.
pub(super) fn lengths(arrays: &mut dyn super::arrays::Arrays, d: &Descriptor) -> Res<Option<Vec<(String, u64)>>> {
    let mut out = Vec::new();
    for name in map::array_names(d) {
        let Some(info) = arrays.info(&name)? else { return Ok(None) };
        if arrays.packed(&name).is_some() {
            return Ok(None);
        }
        out.push((name, info.len));
    }
    Ok(Some(out))
}
