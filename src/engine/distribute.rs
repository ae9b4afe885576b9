//! Elements in no order, sorted and merged: distributed over buckets of keys that stand together, each of which is sorted,
//! merged and put in its place while it is in the cache.
//!
//! Least-significant-digit radix sort in each of the buckets of a most-significant-digit partition, the usual hybrid; keys are
//! read twice from the index arrays instead of being written down.

use std::ops::Range;

use openwork_ops::ReduceOp;
use openwork_ops::cast::cast_block;
use openwork_ops::structure::buckets::{self, KeyBuckets, Repeated};
use openwork_ops::structure::gather::gather_rows;
use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::sort::{Packing, sort_bucket};
use openwork_ops::structure::{Index, IndexSlice};

use crate::base::buffer::Buffer;
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::pages::Scratch;
use crate::base::strided::Strided;
use crate::base::trace::{Work, raise};
use crate::base::turns::{cut, in_turns, put};
use crate::base::{interrupt, parallel};
use crate::engine::fold::Fold;
use crate::levels::pattern::{Dim, Pattern};

/// Fewer elements than this are in the cache anyway.
const FEW: usize = 1 << 15;

/// Positions whose keys are read at a time: they stay in the first-level cache.
const PIECE: usize = 1 << 11;

/// Positions from the first on, and others all over, among which one is below the one before, or the elements are taken to be in order.
const LOOKED_AT: usize = 1 << 13;
const ALL_OVER: usize = 1 << 6;

/// Elements of the buckets that are put in their places together, about.
const TOGETHER: usize = 1 << 15;

/// Keys in ascending order, none twice, and their elements.
pub(super) struct Merged {
    pub(super) keys: Scratch<u64>,
    pub(super) values: Strided,
}

/// What is distributed.
struct Elements<'a> {
    pattern: &'a Pattern,
    /// Of the pattern's level dimensions in a key.
    weights: &'a [u64],
    bytes: &'a [u8],
    buckets: KeyBuckets,
}

/// The elements of a pattern by their keys over `dims`; equal ones are folded. `None` where another way is taken: few elements,
/// rows of several elements, elements that seem to be in order, or keys that are not sums over the pattern's coordinates.
///
/// Cost: O(n) for each ten bits of a key that its bucket does not tell.
pub(super) fn merged(
    pattern: &Pattern,
    layout: &KeyLayout,
    dims: &[Dim],
    values: &Strided,
    op: ReduceOp,
) -> Result<Option<Merged>> {
    let n = pattern.positions;
    // One element folded is that element.
    let is_plain = matches!(op, ReduceOp::Sum | ReduceOp::Prod | ReduceOp::Min | ReduceOp::Max);
    let is_column = values.len() == n && values.strides.first() != Some(&0);
    if n < FEW || u32::try_from(n).is_err() || layout.word_bits.len() != 1 || !is_plain || !is_column {
        return Ok(None);
    }
    let mut weights = vec![0; pattern.level_dims];
    for (dim, field) in dims.iter().zip(&layout.fields) {
        let Some(own) = pattern.level_dims().iter().position(|d| d == dim) else { return Ok(None) };
        weights[own] = field.weight();
    }
    let mut first = vec![0; LOOKED_AT.min(n)];
    pattern.linearize(&weights, 0..first.len(), &mut first);
    let mut all_over = [0; ALL_OVER];
    for (i, key) in all_over.iter_mut().enumerate() {
        let at = i * (n / ALL_OVER);
        pattern.linearize(&weights, at..at + 1, std::slice::from_mut(key));
    }
    if first.is_sorted() && all_over.is_sorted() {
        return Ok(None);
    }
    let fold = Fold::new(op, values.dtype)?.starting_at_minus_zero();
    raise(Work::Engine);
    let bytes = values.dense_bytes()?;
    let buckets = KeyBuckets::new(n, layout.word_bits[0]);
    let elements = Elements { pattern, weights: &weights, bytes: &bytes, buckets };
    let merged = if buckets.low_bits <= 32 {
        elements.distributed::<u32>(values, &fold)
    } else {
        elements.distributed::<u64>(values, &fold)
    };
    Ok(Some(merged))
}

/// A part of the elements after it was distributed: bucket `b` is `starts[b]..starts[b + 1]`.
struct Part<'a, I> {
    starts: &'a [usize],
    lows: &'a [I],
    rows: &'a [u8],
}

impl Elements<'_> {
    fn keys(&self, range: Range<usize>, mut each: impl FnMut(Range<usize>, &[u64])) {
        let mut room = [0; PIECE];
        for start in range.clone().step_by(PIECE) {
            let piece = start..(start + PIECE).min(range.end);
            let keys = &mut room[..piece.len()];
            interrupt::check();
            self.pattern.linearize(self.weights, piece.clone(), keys);
            each(piece, keys);
        }
    }

    /// Distributes some of the elements, which come to lie in `lows` and `rows`, and gives where each bucket begins and ends.
    fn distribute<I: Index>(&self, range: Range<usize>, width: usize, lows: &mut [I], rows: &mut [u8]) -> Vec<usize> {
        let buckets = self.buckets;
        let mut starts = vec![0; buckets.count + 1];
        self.keys(range.clone(), |_, keys| buckets.count(keys, &mut starts[1..]));
        let mut end = 0;
        for start in &mut starts {
            end += *start;
            *start = end;
        }
        let mut next = starts.clone();
        self.keys(range, |piece, keys| {
            let from = &self.bytes[piece.start * width..piece.end * width];
            let next = &mut next[..];
            match width {
                1 => buckets.distribute::<1, I>(keys, from, next, lows, rows),
                2 => buckets.distribute::<2, I>(keys, from, next, lows, rows),
                4 => buckets.distribute::<4, I>(keys, from, next, lows, rows),
                8 => buckets.distribute::<8, I>(keys, from, next, lows, rows),
                _ => buckets.distribute::<16, I>(keys, from, next, lows, rows),
            }
        });
        starts
    }

    fn distributed<I: Index>(&self, values: &Strided, fold: &Fold) -> Merged {
        let (n, width) = (self.pattern.positions, values.dtype.size());
        let (mut lows, mut rows) = (Scratch::<I>::any(n), Scratch::<u8>::any(n * width));
        // A part for each thread. Their elements stand behind each other in every bucket, so that it does not show.
        let each = n.div_ceil(parallel::threads());
        let mut starts = vec![Vec::new(); n.div_ceil(each)];
        let parts = lows.chunks_mut(each).zip(rows.chunks_mut(each * width)).zip(&mut starts).collect();
        parallel::for_each(parts, &|i, ((lows, rows), starts)| {
            *starts = self.distribute(i * each..i * each + lows.len(), width, lows, rows);
        });
        let parts = lows.chunks(each).zip(rows.chunks(each * width)).zip(&starts);
        let parts = parts.map(|((lows, rows), starts)| Part { starts, lows, rows }).collect();
        let sorter = Sorter { parts, buckets: self.buckets, width, fold };
        let (mut keys, mut sorted) = (Scratch::<u64>::any(n), Scratch::<u8>::any(n * width));
        let groups = sorter.groups();
        let make = |g: usize, stage: &mut Stage| sorter.make(groups[g].clone(), stage);
        fn place<'r>(room: &mut (&'r mut [u64], &'r mut [u8]), stage: &Stage) -> (&'r mut [u64], &'r mut [u8]) {
            (cut(&mut room.0, stage.keys.len()), cut(&mut room.1, stage.rows.len()))
        }
        let past_caches = [keys.is_streamed(), sorted.is_streamed()];
        let copy = |stage: &Stage, (keys, rows): (&mut [u64], &mut [u8])| {
            put(&stage.keys, keys, past_caches[0]);
            put(&stage.rows, rows, past_caches[1]);
        };
        let rest = in_turns(groups.len(), (&mut keys[..], &mut sorted[..]), &make, &place, &copy).0.len();
        keys.truncate(n - rest);
        sorted.truncate((n - rest) * width);
        let mut shape = values.shape.clone();
        shape[0] = n - rest;
        Merged { keys, values: Strided::new(Buffer::from_block(sorted.into_block()), values.dtype, shape) }
    }
}

/// Sorts buckets and merges what has the same key.
struct Sorter<'a, I> {
    parts: Vec<Part<'a, I>>,
    buckets: KeyBuckets,
    /// Bytes of an element.
    width: usize,
    fold: &'a Fold,
}

/// What a group of buckets comes to, and room to make it in.
#[derive(Default)]
struct Stage {
    keys: Vec<u64>,
    rows: Vec<u8>,
    words: Vec<u64>,
    scratch: Vec<u64>,
    numbers: Vec<u32>,
    own: Vec<u8>,
    repeated: Repeated,
}

impl<I: Index> Sorter<'_, I> {
    /// Consecutive buckets that are made together.
    fn groups(&self) -> Vec<Range<usize>> {
        let (mut groups, mut start, mut n) = (Vec::new(), 0, 0);
        for b in 0..self.buckets.count {
            n += self.parts.iter().map(|part| part.starts[b + 1] - part.starts[b]).sum::<usize>();
            if n >= TOGETHER || b + 1 == self.buckets.count {
                groups.push(start..b + 1);
                (start, n) = (b + 1, 0);
            }
        }
        groups
    }

    fn make(&self, buckets: Range<usize>, stage: &mut Stage) {
        stage.keys.clear();
        stage.rows.clear();
        for b in buckets {
            self.sort(b, stage);
        }
    }

    fn sort(&self, b: usize, stage: &mut Stage) {
        let width = self.width;
        let Stage { keys, rows, words, scratch, numbers, own, repeated } = stage;
        let n: usize = self.parts.iter().map(|part| part.starts[b + 1] - part.starts[b]).sum();
        let index_bits = (usize::BITS - n.leading_zeros()).max(1);
        words.resize(n, 0);
        own.clear();
        let mut at = 0;
        for part in &self.parts {
            let of_part = part.starts[b]..part.starts[b + 1];
            let lows = &part.lows[of_part.clone()];
            buckets::number(lows, at, index_bits, &mut words[at..at + lows.len()]);
            if self.parts.len() > 1 {
                own.extend_from_slice(&part.rows[of_part.start * width..of_part.end * width]);
            }
            at += lows.len();
        }
        let from = match &self.parts[..] {
            [only] => &only.rows[only.starts[b] * width..only.starts[b + 1] * width],
            _ => &own[..],
        };
        let start = keys.len();
        keys.resize(start + n, 0);
        numbers.resize(n, 0);
        let of_bucket = &mut keys[start..];
        let lead = self.buckets.lead(if faults::is(Fault::LeadLost) { b & !1 } else { b });
        if self.buckets.low_bits + index_bits <= 64 {
            sort_bucket(words, Packing { index_bits, key_bits: self.buckets.low_bits, buckets: 1 }, scratch);
            buckets::split(words, lead, index_bits, of_bucket, numbers);
        } else {
            // Keys too long for a number beside them.
            let low = |i: u32| self.low(b, i as usize);
            numbers.iter_mut().zip(0..).for_each(|(number, i)| *number = i);
            numbers.sort_by_key(|&i| low(i));
            of_bucket.iter_mut().zip(&*numbers).for_each(|(key, &i)| *key = lead | low(i));
        }
        let n = buckets::heads(of_bucket, numbers, repeated);
        keys.truncate(start + n);
        let first = rows.len();
        rows.resize(first + n * width, 0);
        gather_rows(from, width, IndexSlice::U32(&numbers[..n]), &mut rows[first..]);
        if !repeated.runs.is_empty() && !faults::is(Fault::KeysUnfolded) {
            self.fold_runs(from, repeated, &mut rows[first..]);
        }
    }

    /// The low bits of the key of a bucket's element.
    fn low(&self, b: usize, mut i: usize) -> u64 {
        for part in &self.parts {
            let own = &part.lows[part.starts[b]..part.starts[b + 1]];
            match own.get(i) {
                Some(low) => return low.get() as u64,
                None => i -= own.len(),
            }
        }
        0 // no bucket has fewer elements than it counts
    }

    /// Folds the elements of each run of several.
    fn fold_runs(&self, from: &[u8], repeated: &Repeated, out: &mut [u8]) {
        let (typing, width, n) = (self.fold.typing, self.width, repeated.runs.len());
        let mut members = vec![0u128; (repeated.numbers.len() * width).div_ceil(16)];
        let members = &mut bytemuck::cast_slice_mut(&mut members)[..repeated.numbers.len() * width];
        gather_rows(from, width, IndexSlice::U32(&repeated.numbers), members);
        let to = typing.acc.size();
        let (mut acc, mut folded) = (vec![0u128; (n * to).div_ceil(16)], vec![0u128; (n * width).div_ceil(16)]);
        let acc = &mut bytemuck::cast_slice_mut(&mut acc)[..n * to];
        self.fold.fill_identity(acc);
        self.fold.kernels.segments(members, &repeated.ends, acc);
        let folded = &mut bytemuck::cast_slice_mut(&mut folded)[..n * width];
        cast_block(typing.acc, acc, typing.input, folded);
        for (&run, folded) in repeated.runs.iter().zip(folded.chunks_exact(width)) {
            out[run as usize * width..][..width].copy_from_slice(folded);
        }
    }
}
