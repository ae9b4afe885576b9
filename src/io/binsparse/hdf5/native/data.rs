//! Datasets: how their elements are stored, and reading them.

use crate::base::mapped::Mapped;
use std::sync::Mutex;

use super::super::store::{DataLayout, Facts};
use super::bytes::{Block, Disk};
use super::chunks::{self, Chunk, Grid};
use super::filters::{self, Filter};
use super::header::{self, ObjectHeader};
use super::types::{self, Space, Type};
use crate::base::{interrupt, parallel};
use crate::io::binsparse::place::{self, Window};
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;
use crate::io::steps::STEP;

/// Packed bytes that are in memory at a time, beside one chunk.
const BATCH: u64 = 16 << 20;

/// A dataset.
pub(super) struct Data {
    pub(super) ty: Type,
    pub(super) facts: Facts,
    place: Stored,
    filters: Vec<Filter>,
    /// One element, where nothing is stored; empty for zeros.
    fill: Vec<u8>,
}

enum Stored {
    Compact(Vec<u8>),
    Contiguous(u64),
    /// By their numbers, rising.
    Chunked(Grid, Vec<Chunk>),
    /// The same, one behind the other as they are.
    Row(Grid, u64),
    /// Nowhere: all elements are the fill.
    Unwritten,
    /// In other datasets, which are not opened.
    Elsewhere,
}

/// Reads what a header says of a dataset, and where its chunks are.
pub(super) fn open(disk: &mut Disk<'_>, header: &ObjectHeader, name: &str) -> Res<Data> {
    let (Some(ty), Some(space)) = (header.find_shared(disk, header::TYPE)?, header.find_shared(disk, header::SPACE)?)
    else {
        return bad(format_args!("`{name}` is not a dataset"));
    };
    let ty = types::of(&mut disk.block(&ty, "an element type"))?;
    let space = types::space(&mut disk.block(&space, "a shape"))?;
    let Some(body) = header.find(header::LAYOUT)? else { return bad(format_args!("`{name}` is stored in no way")) };
    let mut stored = 0;
    let (layout, place) = layout(disk, &mut disk.block(body, "a layout"), &ty, space.as_ref(), &mut stored)?;
    let filters = match header.find_shared(disk, header::FILTERS)? {
        Some(body) => filters::pipeline(&mut disk.block(&body, "a list of filters"))?,
        None => Vec::new(),
    };
    let facts = Facts {
        kind: ty.kind,
        item: ty.size,
        shape: space.map(|space| space.shape),
        layout,
        external: header.has(header::EXTERNAL),
        filters: filters.mapped(|f| i64::from(f.id)),
        stored,
    };
    Ok(Data { ty, facts, place, filters, fill: fill(disk, header, &ty)? })
}

fn layout(
    disk: &mut Disk<'_>,
    block: &mut Block<'_>,
    ty: &Type,
    space: Option<&Space>,
    stored: &mut u64,
) -> Res<(DataLayout, Stored)> {
    let version = block.u8()?;
    let (axes, class) = match version {
        1 | 2 => (Some(block.u8()?), block.u8()?),
        3..=5 => (None, block.u8()?),
        _ => return bad(format_args!("a layout has version {version}")),
    };
    if axes.is_some() {
        block.take(5)?;
    }
    match class {
        0 => {
            let size = match axes {
                Some(axes) => {
                    block.take(4 * usize::from(axes))?;
                    block.u32()?
                }
                None => u32::from(block.u16()?),
            };
            let bytes = block.take(size as usize)?.to_vec();
            *stored = bytes.len() as u64;
            Ok((DataLayout::Compact, Stored::Compact(bytes)))
        }
        1 => {
            let at = block.address()?;
            // The older versions say where, and leave the size to type and shape.
            let size = if axes.is_some() { disk.end.saturating_sub(at.unwrap_or(disk.end)) } else { block.length()? };
            let absolute = at.map(|at| at.saturating_add(disk.base));
            *stored = if at.is_some() { size } else { 0 };
            Ok((DataLayout::Contiguous(absolute), at.map_or(Stored::Unwritten, Stored::Contiguous)))
        }
        2 => {
            let chunks = match version {
                ..4 => chunks::older(disk, block, axes, ty.size, space)?,
                _ => chunks::newer(disk, block, version, ty.size, space)?,
            };
            *stored = chunks.stored;
            let whole = chunks.grid.whole;
            let place = match chunks.in_a_row {
                Some(at) if chunks.grid.chunk.len() == 1 => Stored::Contiguous(at),
                Some(at) => Stored::Row(chunks.grid, at),
                None => Stored::Chunked(chunks.grid, chunks.found),
            };
            Ok((DataLayout::Chunked(whole), place))
        }
        3 if version >= 4 => Ok((DataLayout::Virtual, Stored::Elsewhere)),
        _ => bad(format_args!("a layout is of the unknown class {class}")),
    }
}

/// The element that stands for what is not stored.
fn fill(disk: &mut Disk<'_>, header: &ObjectHeader, ty: &Type) -> Res<Vec<u8>> {
    const WHAT: &str = "a fill value";
    let bytes = if let Some(body) = header.find_shared(disk, header::FILL)? {
        let mut block = disk.block(&body, WHAT);
        let version = block.u8()?;
        let is_given = match version {
            1 | 2 => {
                block.take(2)?;
                block.u8()? != 0 || version == 1
            }
            3 => block.u8()? & 0x20 != 0,
            _ => return bad(format_args!("{WHAT} has version {version}")),
        };
        let size = if is_given { block.u32()? } else { 0 };
        block.take(size as usize)?.to_vec()
    } else if let Some(body) = header.find_shared(disk, header::OLD_FILL)? {
        let mut block = disk.block(&body, WHAT);
        let size = block.u32()?;
        block.take(size as usize)?.to_vec()
    } else {
        Vec::new()
    };
    if !bytes.is_empty() && bytes.len() as u64 != ty.size {
        return bad(format_args!("{WHAT} has {} bytes, elements have {}", bytes.len(), ty.size));
    }
    Ok(bytes)
}

impl Data {
    /// About the bytes of memory that it takes.
    pub(super) fn weight(&self) -> u64 {
        let stored = match &self.place {
            Stored::Compact(bytes) => bytes.len(),
            Stored::Chunked(_, chunks) => size_of_val(chunks.as_slice()),
            Stored::Contiguous(_) | Stored::Row(..) | Stored::Unwritten | Stored::Elsewhere => 0,
        };
        (size_of::<Data>() + stored + self.fill.len()) as u64
    }

    /// Reads elements as they are stored, from `start` on until `out` is full. Whoever calls knows that they are there.
    pub(super) fn read(
        &self,
        disk: &mut Disk<'_>,
        start: u64,
        out: &mut [u8],
        (name, tell): (&str, &Tell<'_>),
    ) -> Res<()> {
        let item = self.ty.size;
        let Some(from) = start.checked_mul(item) else { return bad(format_args!("`{name}` has no element {start}")) };
        match &self.place {
            Stored::Compact(bytes) => {
                let part = usize::try_from(from).ok().and_then(|from| bytes.get(from..)?.get(..out.len()));
                let Some(part) = part else { return bad(format_args!("`{name}` has fewer elements than are read")) };
                out.copy_from_slice(part);
                Ok(())
            }
            Stored::Contiguous(at) => match at.checked_add(from) {
                Some(at) => straight(disk, at, out, (name, tell)),
                None => bad(format_args!("`{name}` lies beyond the end of the file")),
            },
            Stored::Chunked(grid, chunks) if grid.chunk.len() == 1 => {
                self.read_chunks(disk, grid, chunks, from, out, (name, tell))
            }
            Stored::Chunked(grid, chunks) => {
                let numbered = |number| chunks.binary_search_by_key(&number, |c: &Chunk| c.number).ok();
                let find = |number| numbered(number).and_then(|at| chunks.get(at)).copied();
                self.read_grid(disk, grid, &find, from, out, (name, tell))
            }
            Stored::Row(grid, at) => {
                let find = |number: u64| {
                    let at = number.saturating_mul(grid.whole).saturating_add(*at);
                    Some(Chunk { number, at, bytes: grid.whole, skipped: 0 })
                };
                self.read_grid(disk, grid, &find, from, out, (name, tell))
            }
            Stored::Unwritten => {
                self.unwritten(out);
                Ok(())
            }
            Stored::Elsewhere if out.is_empty() => Ok(()),
            Stored::Elsewhere => {
                bad(format_args!("`{name}` is put together from other datasets, which are not opened"))
            }
        }
    }

    /// Elements that were never written.
    fn unwritten(&self, out: &mut [u8]) {
        match self.fill.len() {
            0 => out.fill(0),
            size => out.chunks_mut(size).for_each(|element| element.copy_from_slice(&self.fill[..element.len()])),
        }
    }

    /// Elements of a dataset of one axis.
    fn read_chunks(
        &self,
        disk: &mut Disk<'_>,
        grid: &Grid,
        chunks: &[Chunk],
        from: u64,
        mut out: &mut [u8],
        (name, tell): (&str, &Tell<'_>),
    ) -> Res<()> {
        let whole = grid.whole;
        let mut next = from;
        let mut batch: Vec<(Vec<u8>, Chunk, u64, &mut [u8])> = Vec::new();
        let mut held = 0;
        while !out.is_empty() {
            let (number, skip) = (next / whole, next % whole);
            let len = (whole - skip).min(out.len() as u64);
            let (part, rest) = out.split_at_mut(len as usize);
            (out, next) = (rest, next + len);
            match chunks.binary_search_by_key(&number, |c| c.number).ok().and_then(|i| chunks.get(i)) {
                None => self.unwritten(part),
                Some(chunk) if self.filters.is_empty() => {
                    is_whole(chunk, whole, name)?;
                    straight(disk, chunk.at + skip, part, (name, tell))?;
                }
                Some(chunk) => {
                    held += chunk.bytes + whole;
                    batch.push((disk.read(chunk.at, chunk.bytes, "a chunk")?, *chunk, skip, part));
                }
            }
            if held > BATCH {
                let bytes = batch.iter().map(|(_, _, _, part)| part.len()).sum();
                self.unpack(std::mem::take(&mut batch), grid, name)?;
                tell.more(bytes);
                held = 0;
            }
        }
        self.unpack(batch, grid, name)
    }

    /// Unpacks chunks, each into its part of the elements.
    fn unpack(&self, batch: Vec<(Vec<u8>, Chunk, u64, &mut [u8])>, grid: &Grid, name: &str) -> Res<()> {
        let faults = Mutex::new(Vec::new());
        parallel::for_each(batch, &|_, (packed, chunk, skip, part)| match filters::undo(
            &self.filters,
            chunk.skipped,
            packed,
            &self.ty,
            grid.whole,
        ) {
            Ok(bytes) => part.copy_from_slice(&bytes[skip as usize..][..part.len()]),
            Err(why) => parallel::lock(&faults).push((chunk.number, why)),
        });
        // The first one, whichever was found first.
        let first = parallel::lock(&faults).drain(..).min();
        match first {
            None => Ok(()),
            Some((number, why)) => bad(format_args!("`{name}`, the chunk of element {}: {why}", begin(grid, number))),
        }
    }

    /// Elements of a dataset of several axes, of which chunks have parts that do not lie beside each other.
    fn read_grid(
        &self,
        disk: &mut Disk<'_>,
        grid: &Grid,
        find: &dyn Fn(u64) -> Option<Chunk>,
        from: u64,
        out: &mut [u8],
        (name, tell): (&str, &Tell<'_>),
    ) -> Res<()> {
        if out.is_empty() {
            return Ok(());
        }
        let (shape, item) = (self.facts.shape.as_deref().unwrap_or_default(), self.ty.size);
        // Chunks that have a part of it, by the first axis.
        let (stride, each) = (shape.iter().skip(1).product::<u64>() * item, grid.chunk.first().copied().unwrap_or(1));
        let (low, high) = (from / stride / each, (from + out.len() as u64 - 1) / stride / each);
        let row: u64 = grid.along.iter().skip(1).product();
        let numbers = low * row..(high + 1) * row;
        if numbers.clone().any(|number| find(number).is_none()) {
            self.unwritten(out);
        }
        let order: Vec<usize> = (0..shape.len()).collect();
        let mut chunks = numbers.filter_map(find).peekable();
        while chunks.peek().is_some() {
            let (mut batch, mut held) = (Vec::new(), 0);
            while let Some(chunk) = chunks.next_if(|_| held <= BATCH) {
                if self.filters.is_empty() {
                    is_whole(&chunk, grid.whole, name)?;
                }
                held += chunk.bytes + grid.whole;
                batch.push((chunk, disk.read(chunk.at, chunk.bytes, "a chunk")?, None));
            }
            parallel::for_each(batch.iter_mut().collect(), &|_, (chunk, bytes, fault)| match filters::undo(
                &self.filters,
                chunk.skipped,
                std::mem::take(bytes),
                &self.ty,
                grid.whole,
            ) {
                Ok(elements) => *bytes = elements,
                Err(why) => *fault = Some(why),
            });
            for (chunk, elements, fault) in batch {
                if let Some(why) = fault {
                    return bad(format_args!("`{name}`, the chunk of element {}: {why}", begin(grid, chunk.number)));
                }
                let first = first(grid, chunk.number);
                let window = Window { shape, first: &first, chunk: &grid.chunk, order: &order };
                place::copy(&window, &elements, item, from, out);
                tell.more(elements.len());
            }
        }
        Ok(())
    }
}

/// Bytes as they are in the file.
fn straight(disk: &mut Disk<'_>, at: u64, out: &mut [u8], (name, tell): (&str, &Tell<'_>)) -> Res<()> {
    let mut at = at;
    for part in out.chunks_mut(STEP) {
        interrupt::check();
        disk.read_into(at, part, name)?;
        tell.more(part.len());
        at = at.saturating_add(part.len() as u64);
    }
    Ok(())
}

/// The first element of a chunk.
fn first(grid: &Grid, number: u64) -> Vec<u64> {
    grid.place(number).iter().zip(&grid.chunk).map(|(at, each)| at.saturating_mul(*each)).collect()
}

/// The same in words.
fn begin(grid: &Grid, number: u64) -> String {
    match first(grid, number)[..] {
        [at] => at.to_string(),
        ref place => format!("{place:?}"),
    }
}

/// A chunk that went through no filter has all of its bytes.
fn is_whole(chunk: &Chunk, whole: u64, name: &str) -> Res<()> {
    if chunk.bytes != whole {
        return bad(format_args!("`{name}` has a chunk of {} bytes, not {whole}", chunk.bytes));
    }
    Ok(())
}
