//! The chunks of an array that are there, and elements out of them.

use super::UNWRITTEN;
use super::node::Array;
use super::store::{Store, join};
use crate::base::mapped::Mapped;
use crate::base::parallel;
use crate::io::binsparse::place::{Window, copy};
use crate::io::fault::{Res, bad};
use crate::io::progress::Tell;

/// Bytes of chunks that are unpacked at a time.
const BATCH: u64 = 64 << 20;

/// An array and its chunks.
pub(super) struct Stored {
    pub(super) array: Array,
    /// Those that were written, in C order.
    chunks: Vec<Chunk>,
    /// Bytes that the store has of them.
    pub(super) bytes: u64,
}

struct Chunk {
    /// Which one, along each axis.
    at: Vec<u64>,
    /// The name of its file.
    path: String,
    bytes: u64,
}

impl Stored {
    /// Finds the chunks of an array, and refuses an array for which they are too few.
    pub(super) fn of(store: &mut Store<'_>, path: &str, array: Array) -> Res<Stored> {
        let mut chunks = Vec::new();
        let mut bytes = 0_u64;
        for file in store.below(path, array.shape.len() + 1)? {
            // Other files are no matter.
            let Some(at) = place(&array, &file.name) else { continue };
            bytes = bytes.saturating_add(file.bytes);
            chunks.push(Chunk { at, path: join(path, &file.name), bytes: file.bytes });
        }
        chunks.sort_unstable_by(|a, b| a.at.cmp(&b.at));
        if let Some(pair) = chunks.windows(2).find(|pair| pair[0].at == pair[1].at) {
            return bad(format_args!("{:?} and {:?} are the same chunk", pair[0].path, pair[1].path));
        }
        let claimed = array.len()?.saturating_mul(array.dtype.size() as u64);
        let held = bytes.saturating_mul(array.codecs.ratio()).saturating_add(UNWRITTEN);
        if claimed > held {
            return bad(format_args!("{path:?} claims to hold {claimed} bytes and has {bytes} in the store"));
        }
        array.chunk_bytes()?;
        Ok(Stored { array, chunks, bytes })
    }

    /// Reads bytes of elements, from a byte on.
    pub(super) fn read(&self, store: &mut Store<'_>, from: u64, out: &mut [u8], tell: &Tell<'_>) -> Res<()> {
        let array = &self.array;
        let item = array.dtype.size() as u64;
        let end = from.saturating_add(out.len() as u64);
        if end > array.len()?.saturating_mul(item) {
            return bad("a part of an array lies outside it");
        }
        if out.is_empty() {
            return Ok(());
        }
        let whole = array.chunk_bytes()?;
        // Chunks that have a part of it, by the first axis.
        let (low, high) = match (array.strides(&array.shape).first(), array.chunk.first()) {
            (Some(&stride), Some(&size)) => (from / stride / size, (end - 1) / stride / size),
            _ => (0, 0),
        };
        let first = |chunk: &Chunk| chunk.at.first().copied().unwrap_or(0);
        let begin = self.chunks.partition_point(|chunk| first(chunk) < low);
        let stop = self.chunks.partition_point(|chunk| first(chunk) <= high);
        let chunks = self.chunks.get(begin..stop).unwrap_or_default();
        let all = array.shape.iter().zip(&array.chunk).map(|(size, each)| size.div_ceil(*each));
        if (chunks.len() as u64) < all.skip(1).fold(high - low + 1, u64::saturating_mul) {
            if array.fill.iter().any(|&byte| byte != 0) {
                // Parts of a complex number start anywhere.
                for (at, byte) in out.iter_mut().enumerate() {
                    *byte = array.fill[((from + at as u64) % item) as usize];
                }
            } else {
                out.fill(0);
            }
        }
        if array.shape.len() <= 1 && array.codecs.is_plain() {
            return chunks.iter().try_for_each(|chunk| self.straight(store, chunk, (from, whole), out, tell));
        }
        let mut left = chunks;
        while !left.is_empty() {
            let (mut count, mut bytes) = (0, 0_u64);
            while let Some(chunk) = left.get(count).filter(|_| count == 0 || bytes < BATCH) {
                bytes = bytes.saturating_add(whole).saturating_add(chunk.bytes);
                count += 1;
            }
            let (now, after) = left.split_at(count);
            left = after;
            self.batch(store, now, (from, whole), out)?;
            tell.more((whole as usize).saturating_mul(count));
        }
        Ok(())
    }

    /// A chunk of an array of one axis, as it is in the file.
    fn straight(
        &self,
        store: &mut Store<'_>,
        chunk: &Chunk,
        (from, whole): (u64, u64),
        out: &mut [u8],
        tell: &Tell<'_>,
    ) -> Res<()> {
        let first = chunk.at.first().copied().unwrap_or(0) * whole;
        let all = self.array.len()? * self.array.dtype.size() as u64;
        let (begin, stop) = (first.max(from), (first + whole).min(all).min(from + out.len() as u64));
        if begin >= stop {
            return Ok(());
        }
        match out.get_mut((begin - from) as usize..(stop - from) as usize) {
            Some(part) => store.read_part(&chunk.path, whole, begin - first, part, tell),
            None => Ok(()),
        }
    }

    /// Chunks that are unpacked by all threads.
    fn batch(&self, store: &mut Store<'_>, chunks: &[Chunk], (from, whole): (u64, u64), out: &mut [u8]) -> Res<()> {
        let array = &self.array;
        let mut stored = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            match store.read(&chunk.path, u64::MAX)? {
                Some(bytes) => stored.push(bytes),
                None => return bad(format_args!("{:?} is gone", chunk.path)),
            }
        }
        let undone = parallel::map_chunks(chunks.len(), 1, &|range| {
            range.try_mapped(|which| {
                let bytes = stored.get(which).map(Vec::as_slice).unwrap_or_default();
                let undone = array.codecs.undo(bytes, whole, array.dtype, &array.fill);
                undone.map_err(|fault| fault.within(chunks.get(which).map_or("", |chunk| &chunk.path)))
            })
        });
        let mut which = chunks.iter();
        for part in undone {
            for (elements, chunk) in part?.into_iter().zip(&mut which) {
                let first: Vec<u64> = chunk.at.iter().zip(&array.chunk).map(|(at, size)| at * size).collect();
                let window =
                    Window { shape: &array.shape, first: &first, chunk: &array.chunk, order: &array.codecs.order };
                copy(&window, &elements, array.dtype.size() as u64, from, out);
            }
        }
        Ok(())
    }
}

/// Which chunk a file is, if it is one of the array.
fn place(array: &Array, name: &str) -> Option<Vec<u64>> {
    let keys = array.keys;
    let axes = array.shape.len();
    let mut rest = name;
    if keys.is_default {
        rest = rest.strip_prefix('c')?;
        rest = if axes == 0 { rest } else { rest.strip_prefix(keys.separator)? };
    } else if axes == 0 {
        rest = rest.strip_prefix('0')?;
    }
    if axes == 0 {
        return rest.is_empty().then(Vec::new);
    }
    let mut at = Vec::with_capacity(axes);
    for part in rest.split(keys.separator) {
        let digits = part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
        let number: u64 = part.parse().ok().filter(|_| digits)?;
        let (&size, &each) = (array.shape.get(at.len())?, array.chunk.get(at.len())?);
        if number >= size.div_ceil(each) {
            return None;
        }
        at.push(number);
    }
    (at.len() == axes).then_some(at)
}
