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

/// Positions whose keys are read at a time: they stay in the second-level cache. Of fewer, each array is left before the memory ahead
/// of it is on its way.
const PIECE: usize = 1 << 14;

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

/// Keys of elements, some at a time.
pub(crate) trait Keys: Sync {
    type Key: Copy + Into<u64>;
    type Room: Default;

    fn of<'a>(&'a self, range: Range<usize>, room: &'a mut Self::Room) -> &'a [Self::Key];
}

/// Sums over a pattern's coordinates with these weights.
struct Linear<'a>(&'a Pattern, &'a [u64]);

impl Keys for Linear<'_> {
    type Key = u64;
    type Room = Vec<u64>;

    fn of<'a>(&'a self, range: Range<usize>, room: &'a mut Vec<u64>) -> &'a [u64] {
        room.resize(range.len(), 0);
        self.0.linearize(self.1, range, room);
        room
    }
}

/// What is distributed.
pub(crate) struct Elements<'a, K> {
    pub(crate) keys: &'a K,
    pub(crate) bytes: &'a [u8],
    /// Bytes of an element.
    pub(crate) width: usize,
    pub(crate) buckets: KeyBuckets,
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
    let keys = &Linear(pattern, &weights);
    let elements = Elements { keys, bytes: &bytes, width: values.dtype.size(), buckets };
    let merged = if buckets.low_bits <= 32 {
        elements.distributed::<u32>(values, layout.settled, &fold)
    } else {
        elements.distributed::<u64>(values, layout.settled, &fold)
    };
    Ok(Some(merged))
}

/// A part of the elements after it was distributed: bucket `b` is `starts[b]..starts[b + 1]`.
pub(crate) struct Part<'a, I> {
    starts: Vec<usize>,
    lows: &'a [I],
    rows: &'a [u8],
    width: usize,
}

impl<I> Part<'_, I> {
    /// The low bits of keys of a bucket, and the elements.
    pub(crate) fn of_bucket(&self, b: usize) -> (&[I], &[u8]) {
        let own = self.starts[b]..self.starts[b + 1];
        (&self.lows[own.clone()], &self.rows[own.start * self.width..own.end * self.width])
    }
}

impl<K: Keys> Elements<'_, K> {
    fn keys(&self, range: Range<usize>, mut each: impl FnMut(Range<usize>, &[K::Key])) {
        let mut room = K::Room::default();
        for start in range.clone().step_by(PIECE) {
            let piece = start..(start + PIECE).min(range.end);
            interrupt::check();
            each(piece.clone(), self.keys.of(piece, &mut room));
        }
    }

    /// Distributes some of the elements, which come to lie in `lows` and `rows`, and gives where each bucket begins and ends.
    fn distribute<I: Index>(&self, range: Range<usize>, lows: &mut [I], rows: &mut [u8]) -> Vec<usize> {
        let (buckets, width) = (self.buckets, self.width);
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
                1 => buckets.distribute::<1, _, I>(keys, from, next, lows, rows),
                2 => buckets.distribute::<2, _, I>(keys, from, next, lows, rows),
                4 => buckets.distribute::<4, _, I>(keys, from, next, lows, rows),
                8 => buckets.distribute::<8, _, I>(keys, from, next, lows, rows),
                _ => buckets.distribute::<16, _, I>(keys, from, next, lows, rows),
            }
        });
        starts
    }

    /// Distributes all elements, in a part for each thread. Their elements stand behind each other in every bucket, so that it does not
    /// show.
    pub(crate) fn parts<'r, I: Index>(&self, lows: &'r mut [I], rows: &'r mut [u8]) -> Vec<Part<'r, I>> {
        let (n, width) = (lows.len(), self.width);
        let each = n.div_ceil(parallel::threads()).max(1);
        let mut starts = vec![Vec::new(); n.div_ceil(each)];
        let parts = lows.chunks_mut(each).zip(rows.chunks_mut(each * width)).zip(&mut starts).collect();
        parallel::for_each(parts, &|i, ((lows, rows), starts)| {
            *starts = self.distribute(i * each..i * each + lows.len(), lows, rows);
        });
        let parts = lows.chunks(each).zip(rows.chunks(each * width)).zip(starts);
        parts.map(|((lows, rows), starts)| Part { starts, lows, rows, width }).collect()
    }

    fn distributed<I: Index>(&self, values: &Strided, settled: u32, fold: &Fold) -> Merged {
        let (n, width) = (values.len(), self.width);
        let (mut lows, mut rows) = (Scratch::<I>::any(n), Scratch::<u8>::any(n * width));
        let parts = self.parts(&mut lows, &mut rows);
        let sorter = Sorter { parts, buckets: self.buckets, width, settled, fold };
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
    /// Low bits of keys that need no sort.
    settled: u32,
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
            n += self.parts.iter().map(|part| part.of_bucket(b).0.len()).sum::<usize>();
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
        let n: usize = self.parts.iter().map(|part| part.of_bucket(b).0.len()).sum();
        let index_bits = (usize::BITS - n.leading_zeros()).max(1);
        words.resize(n, 0);
        own.clear();
        let mut at = 0;
        for part in &self.parts {
            let (lows, rows) = part.of_bucket(b);
            buckets::number(lows, at, index_bits, &mut words[at..at + lows.len()]);
            if self.parts.len() > 1 {
                own.extend_from_slice(rows);
            }
            at += lows.len();
        }
        let from = match &self.parts[..] {
            [only] => only.of_bucket(b).1,
            _ => &own[..],
        };
        let start = keys.len();
        keys.resize(start + n, 0);
        numbers.resize(n, 0);
        let of_bucket = &mut keys[start..];
        let lead = self.buckets.lead(if faults::is(Fault::LeadLost) { b & !1 } else { b });
        if self.buckets.low_bits + index_bits <= 64 {
            let packing = Packing { index_bits, key_bits: self.buckets.low_bits, buckets: 1 };
            sort_bucket(words, packing, self.settled, scratch);
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
            let (lows, _) = part.of_bucket(b);
            match lows.get(i) {
                Some(low) => return low.get() as u64,
                None => i -= lows.len(),
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
