//! Datasets: in one place, or along one axis in chunks, packed or not.

use std::io;

use flate2::{Compress, Compression, FlushCompress, Status};

use super::group::{self, Message};
use super::out::{NOWHERE, Out, Record};
use super::tree::{self, TreeOf};
use crate::base::mapped::Mapped;
use crate::base::parallel;
use crate::io::WriteOptions;
use openwork_ops::DType;

/// Smaller arrays are stored as they are: packing them would save nothing, for each chunk costs an entry in an index.
const MIN_PACKED: usize = 64 << 10;
/// Bytes of a chunk where none are asked for: those that the chunk cache of libhdf5 holds.
const CHUNK_BYTES: usize = 1 << 20;
/// Bytes of elements that are packed at a time.
const BATCH: usize = 16 << 20;

const SHUFFLE: u16 = 2;
const DEFLATE: u16 = 1;

/// The elements of a dataset.
#[derive(Clone, Copy)]
pub(crate) struct Elements<'a> {
    pub(crate) dtype: DType,
    /// No axes: one element. As many elements as the bytes have.
    pub(crate) shape: &'a [u64],
    pub(crate) bytes: &'a [u8],
}

/// How elements become chunks.
struct Packing {
    /// Elements of a chunk, and bytes of an element.
    each: usize,
    item: usize,
    shuffle: bool,
    /// How hard to pack, if at all.
    level: Option<u8>,
}

impl Packing {
    /// `None` if all elements are in one place.
    fn of(elements: &Elements<'_>, options: &WriteOptions<'_>) -> Option<Packing> {
        let item = elements.dtype.size();
        let len = elements.bytes.len() / item;
        let packed = options.compress && elements.bytes.len() >= MIN_PACKED;
        let chunked = packed || (options.chunk.is_some() && !options.compress);
        (len > 0 && chunked && elements.shape.len() == 1).then(|| Packing {
            // A chunk may not reach 4 GiB.
            each: options.chunk.unwrap_or(CHUNK_BYTES / item).clamp(1, len).min(u32::MAX as usize / 16),
            item,
            shuffle: packed && options.shuffle && item > 1,
            level: packed.then(|| options.level.unwrap_or(4).min(9)),
        })
    }

    fn bytes(&self) -> usize {
        self.each * self.item
    }

    /// The message that lists the filters.
    fn filters(&self) -> Option<Message> {
        let level = self.level?;
        let count = 1 + u8::from(self.shuffle);
        // Per filter: its number, no name, that it may be left out, how many values, the values up to a multiple of eight.
        let one = |record: Record, id, value| record.u16(id).u16(0).u16(1).u16(1).u32(value).u32(0);
        let head = Record::default().u8(1).u8(count).pad();
        let head = if self.shuffle { one(head, SHUFFLE, self.item as u32) } else { head };
        Some((0x0b, one(head, DEFLATE, u32::from(level))))
    }
}

/// Writes a dataset with its attributes, and gives the address of its object header.
pub(super) fn write(
    out: &mut Out<'_>,
    elements: &Elements<'_>,
    options: &WriteOptions<'_>,
    attributes: Vec<Message>,
) -> io::Result<u64> {
    let bytes = elements.bytes;
    let packing = Packing::of(elements, options);
    let layout = match &packing {
        None => {
            let at = if bytes.is_empty() { NOWHERE } else { out.elements(bytes)? };
            Record::default().u8(3).u8(1).u64(at).u64(bytes.len() as u64)
        }
        Some(packing) => {
            let root = chunks(out, bytes, packing)?;
            // The axis of the elements, and that of the bytes of one.
            Record::default().u8(3).u8(2).u8(2).u64(root).u32(packing.each as u32).u32(packing.item as u32)
        }
    };
    described(out, elements, layout, packing, attributes)
}

/// Leaves room for the elements of an array of one axis, and writes all else of it. Gives the address of the elements, and that
/// of the object header.
pub(super) fn reserve(out: &mut Out<'_>, dtype: DType, len: u64) -> io::Result<(u64, u64)> {
    let bytes = len * dtype.size() as u64;
    let at = if bytes == 0 { NOWHERE } else { out.reserve(bytes)? };
    let layout = Record::default().u8(3).u8(1).u64(at).u64(bytes);
    let header = described(out, &Elements { dtype, shape: &[len], bytes: &[] }, layout, None, Vec::new())?;
    Ok((at, header))
}

/// Writes the object header of a dataset whose elements are where the layout says.
fn described(
    out: &mut Out<'_>,
    elements: &Elements<'_>,
    layout: Record,
    packing: Option<Packing>,
    attributes: Vec<Message>,
) -> io::Result<u64> {
    // Room is made when elements are written (2), piece by piece for chunks (3); they are filled (2) with zeros.
    let room = if packing.is_some() { 3 } else { 2 };
    let mut messages = vec![
        (0x01, group::space(elements.shape)),
        (0x03, element_type(elements.dtype)),
        (0x05, Record::default().u8(2).u8(room).u8(2).u8(1).u32(0)),
        (0x08, layout),
    ];
    messages.extend(packing.and_then(|packing| packing.filters()));
    messages.extend(attributes);
    group::header(out, messages)
}

/// Integers, IEEE floats and truth values as this machine has them.
pub(super) fn element_type(dtype: DType) -> Record {
    let size = dtype.size() as u32;
    let order = u8::from(cfg!(target_endian = "big"));
    if dtype == DType::Bool {
        // As h5py has them: an enumeration (8) of two members that are signed bytes.
        let byte = element_type(DType::I8);
        let head = Record::default().u8(0x18).u16(2).u8(0).u32(size).bytes(byte.as_bytes());
        return head.bytes(b"FALSE\0\0\0TRUE\0\0\0\0").bytes(&[0, 1]);
    }
    if dtype.is_int() {
        let signed = if dtype.is_unsigned() { 0 } else { 8 };
        return Record::default().u8(0x10).u8(order | signed).u16(0).u32(size).u16(0).u16(8 * size as u16);
    }
    // The first digit of the mantissa is implied (0x20); then where the sign is.
    let (exponent, mantissa) = match size {
        2 => (5, 10),
        4 => (8, 23),
        _ => (11, 52),
    };
    let head =
        Record::default().u8(0x11).u8(order | 0x20).u8(8 * size as u8 - 1).u8(0).u32(size).u16(0).u16(8 * size as u16);
    head.u8(mantissa).u8(exponent).u8(0).u8(mantissa).u32((1 << (exponent - 1)) - 1)
}

/// Writes elements in chunks, and gives the address of the tree of these.
fn chunks(out: &mut Out<'_>, bytes: &[u8], packing: &Packing) -> io::Result<u64> {
    let whole = packing.bytes();
    let count = bytes.len().div_ceil(whole);
    // Chunks that one thread packs in a row, and all of them.
    let (grain, batch) = ((CHUNK_BYTES / whole).max(1), (BATCH / whole).max(1));
    let mut entries = Vec::with_capacity(count);
    for first in (0..count).step_by(batch) {
        let packed = parallel::map_chunks(batch.min(count - first), grain, &|range| {
            let mut deflate = packing.level.map(|level| Compress::new(Compression::new(u32::from(level)), true));
            let chunk = |i: usize| {
                let from = (first + i) * whole;
                bytes.get(from..bytes.len().min(from + whole)).unwrap_or_default()
            };
            range.try_mapped(|i| pack(chunk(i), packing, deflate.as_mut()))
        });
        for part in packed {
            for (skipped, chunk) in part? {
                let at = out.put(&chunk)?;
                let start = (entries.len() * packing.each) as u64;
                entries.push(([chunk.len() as u64 | u64::from(skipped) << 32, start, 0], at));
            }
        }
        out.tell.more(batch * whole);
    }
    let end = [0, (count * packing.each) as u64, packing.item as u64];
    tree::write(out, TreeOf::Chunks, entries, end)
}

/// The bytes of a chunk as they are stored, and which filters were left out.
fn pack(elements: &[u8], packing: &Packing, deflate: Option<&mut Compress>) -> io::Result<(u32, Vec<u8>)> {
    let whole = packing.bytes();
    let mut chunk = vec![0; whole];
    if packing.shuffle {
        let planes = chunk.chunks_exact_mut(packing.each);
        for (byte, plane) in planes.enumerate() {
            let of_elements = elements.iter().skip(byte).step_by(packing.item);
            plane.iter_mut().zip(of_elements).for_each(|(to, &from)| *to = from);
        }
    } else if let Some(part) = chunk.get_mut(..elements.len()) {
        part.copy_from_slice(elements);
    }
    let Some(deflate) = deflate else { return Ok((0, chunk)) };
    deflate.reset();
    let mut packed = Vec::with_capacity(whole);
    match deflate.compress_vec(&chunk, &mut packed, FlushCompress::Finish) {
        Ok(Status::StreamEnd) => Ok((0, packed)),
        // More bytes than before: left out.
        Ok(_) => Ok((1 << u32::from(packing.shuffle), chunk)),
        Err(error) => Err(io::Error::other(error)),
    }
}
