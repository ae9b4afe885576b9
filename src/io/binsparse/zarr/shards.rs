//! Shards: many chunks in one file, with an index of where each is.

use serde_json::{Map, Value};

use super::UNWRITTEN;
use super::codecs::Codecs;
use super::node::count;
use super::store::sizes;
use crate::base::mapped::Mapped;
use crate::io::binsparse::place::{Window, copy, next};
use crate::io::fault::{Res, bad};
use openwork_ops::DType;

/// The codec `sharding_indexed`.
pub(super) struct Shards {
    shard: Vec<u64>,
    chunk: Vec<u64>,
    pub(super) codecs: Codecs,
    index: Codecs,
    /// Whether the index stands before the chunks.
    at_start: bool,
}

/// A place in the index: where a chunk begins and how many bytes it has.
type Entry = [u64; 2];

/// What the index has for a chunk that was never written.
const NOWHERE: Entry = [u64::MAX; 2];

impl Shards {
    pub(super) fn parse(settings: Option<&Map<String, Value>>, shard: &[u64], dtype: DType) -> Res<Shards> {
        let said = |key: &str| settings.and_then(|settings| settings.get(key));
        let Some(chunk) = said("chunk_shape").and_then(sizes) else {
            return bad("shards without the shape of a chunk");
        };
        let fits = |(&shard, &chunk): (&u64, &u64)| chunk > 0 && shard % chunk == 0;
        if chunk.len() != shard.len() || !shard.iter().zip(&chunk).all(fits) {
            return bad(format_args!("chunks of the shape {chunk:?} in shards of the shape {shard:?}"));
        }
        let list = |key: &str| match said(key) {
            Some(Value::Array(list)) => Ok(list),
            _ => bad(format_args!("shards without the list {key:?}")),
        };
        let codecs = Codecs::parse(list("codecs")?, &chunk, dtype)?;
        let index = Codecs::parse(list("index_codecs")?, &[], DType::U64)?;
        if index.shards.is_some() || index.packs() {
            return bad("shards with a packed index, which are not read");
        }
        let at_start = match said("index_location").and_then(Value::as_str) {
            None | Some("end") => false,
            Some("start") => true,
            Some(other) => return bad(format_args!("shards with their index at {other:?}; start and end are known")),
        };
        Ok(Shards { shard: shard.to_vec(), chunk, codecs, index, at_start })
    }

    /// The elements of a shard, which have `whole` bytes, in C order.
    pub(super) fn undo(&self, stored: &[u8], whole: u64, dtype: DType, fill: &[u8]) -> Res<Vec<u8>> {
        let held = (stored.len() as u64).saturating_mul(self.codecs.ratio()).saturating_add(UNWRITTEN);
        if whole > held {
            return bad(format_args!("a shard of {} bytes claims to hold {whole}", stored.len()));
        }
        let mut out = filled(whole as usize, fill);
        let grid: Vec<u64> = self.shard.iter().zip(&self.chunk).map(|(shard, chunk)| shard / chunk).collect();
        let entries = self.entries(stored, count(&grid)?)?;
        let each = count(&self.chunk)?.saturating_mul(dtype.size() as u64);
        let mut used = 0_u64;
        let mut at = grid.mapped(|_| 0_u64);
        for entry in entries {
            if entry != NOWHERE {
                let [start, bytes] = entry.map(|number| usize::try_from(number).unwrap_or(usize::MAX));
                let part = start.checked_add(bytes).and_then(|end| stored.get(start..end));
                // Each byte belongs to one chunk: or few bytes would be unpacked over and over.
                used = used.saturating_add(bytes as u64);
                let Some(part) = part.filter(|_| used <= stored.len() as u64) else {
                    return bad("a shard with an index that leads out of it");
                };
                let elements = self.codecs.undo(part, each, dtype, fill)?;
                let first: Vec<u64> = at.iter().zip(&self.chunk).map(|(at, size)| at * size).collect();
                let window =
                    Window { shape: &self.shard, first: &first, chunk: &self.chunk, order: &self.codecs.order };
                copy(&window, &elements, dtype.size() as u64, 0, &mut out);
            }
            next(&mut at, &grid);
        }
        Ok(out)
    }

    fn entries(&self, stored: &[u8], count: u64) -> Res<Vec<Entry>> {
        let cut = || bad(format_args!("a shard of {} bytes without an index of {count} chunks", stored.len()));
        let Some(bytes) = count.checked_mul(16) else { return cut() };
        let sums = 4 * self.index.steps.len() as u64;
        let Some(size) = bytes.checked_add(sums).filter(|&size| size <= stored.len() as u64) else { return cut() };
        let size = size as usize;
        let part = if self.at_start { stored.get(..size) } else { stored.get(stored.len() - size..) };
        let index = self.index.undo(part.unwrap_or_default(), bytes, DType::U64, &[])?;
        let number = |part: &[u8]| part.first_chunk::<8>().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        Ok(index.chunks_exact(16).map(|pair| [number(pair), number(pair.get(8..).unwrap_or_default())]).collect())
    }
}

/// Bytes of elements that all have one value.
pub(super) fn filled(bytes: usize, fill: &[u8]) -> Vec<u8> {
    let mut out = crate::base::buffer::zeroed_vec(bytes);
    if fill.iter().any(|&byte| byte != 0) {
        out.chunks_exact_mut(fill.len()).for_each(|element: &mut [u8]| element.copy_from_slice(fill));
    }
    out
}
