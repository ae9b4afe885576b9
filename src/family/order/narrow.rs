//! Arrays of elements of up to four bytes in order: by keys of 32 bits, of which a vector holds twice as many as of 64, and a radix sort
//! needs few passes. Where elements were is found with them, by words that hold the number of each below its key.

use openwork_ops::words::{self, Word};
use openwork_ops::{DType, narrow};

use super::sort::{Order, SHORT, STRETCH};
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, dense_len};
use crate::tensor::Tensor;

/// The shortest rows of single bytes that are counted: of shorter ones, 256 counters are too many.
const COUNTED: usize = 512;

/// The shortest rows of which it pays to number keys of 32 bits.
const NUMBERED: usize = 64;

/// A dtype with narrow keys, and of how many bits these are.
#[derive(Clone, Copy)]
pub(super) struct Narrow {
    dtype: DType,
    bits: u32,
}

impl Narrow {
    /// Of a dtype that has narrow keys, and rows of `n` elements.
    pub(super) fn of(dtype: DType, n: usize) -> Option<Narrow> {
        // Of two ranks nothing is gained where they are not counted.
        let is_counted = dtype != DType::Bool || n > SHORT;
        narrow::bits(dtype).filter(|_| is_counted && n < u32::MAX as usize).map(|bits| Narrow { dtype, bits })
    }

    /// Of a dtype whose elements have fewer places in order than they are, or as [`Narrow::of`].
    pub(super) fn of_places(dtype: DType, n: usize) -> Option<Narrow> {
        narrow::bits(dtype)
            .filter(|&bits| bits == 8)
            .map(|bits| Narrow { dtype, bits })
            .or_else(|| Narrow::of(dtype, n))
            .filter(|_| n >= NUMBERED)
    }

    /// The bits of keys that are changed to make ranks of them.
    fn flip(self, order: &Order) -> u32 {
        if order.descending { u32::MAX >> (32 - self.bits) } else { 0 }
    }

    fn ranks(self, flip: u32, source: &[u8], first: usize, out: &mut [u32]) {
        narrow::keys(self.dtype, &source[first * self.dtype.size()..][..out.len() * self.dtype.size()], flip, out);
    }

    /// The elements of one slice in order.
    pub(super) fn one(self, order: &Order, source: &[u8], out: &mut [u8]) {
        let (flip, size) = (self.flip(order), self.dtype.size());
        let ranks = self.sorted(flip, source);
        parallel::for_chunks_mut(out, size, GRAIN, &|start, out| {
            narrow::values(self.dtype, &ranks[start..][..out.len() / size], flip, out);
        });
        order.as_they_were(self.dtype, source, out);
    }

    fn sorted(self, flip: u32, source: &[u8]) -> Scratch<u32> {
        let n = source.len() / self.dtype.size();
        let mut ranks = Scratch::<u32>::any(n);
        if let Some(tables) = self.tables(flip, source, |count: &mut u32| *count += 1) {
            // Of each rank there are as many as there were.
            let counts =
                (0..tables[0].len()).map(|rank| tables.iter().map(|table| table[rank] as usize).sum::<usize>());
            let ends: Vec<usize> = counts.scan(0, |end, count| (*end += count, Some(*end)).1).collect();
            parallel::for_chunks_mut(&mut ranks, 1, GRAIN, &|start, ranks| {
                let (mut rank, mut at) = (ends.partition_point(|&end| end <= start), 0);
                while at < ranks.len() {
                    let end = (ends[rank] - start).min(ranks.len());
                    ranks[at..end].fill(rank as u32);
                    (rank, at) = (rank + 1, end);
                }
            });
            return ranks;
        }
        let mut room = Scratch::<u32>::any(n);
        parallel::for_chunks_mut(&mut ranks, 1, GRAIN, &|start, ranks| self.ranks(flip, source, start, ranks));
        parallel::sort_words(&mut ranks, &mut room, 0..self.bits);
        ranks
    }

    /// What `meet` makes of an entry for each rank that occurs, as often as it does, in several tables, between which the elements are
    /// shared out; `None` where there are not far fewer ranks than elements.
    fn tables<T: Copy + Default + Send>(
        self,
        flip: u32,
        source: &[u8],
        meet: impl Fn(&mut T) + Sync,
    ) -> Option<Vec<Vec<T>>> {
        let n = source.len() / self.dtype.size();
        let all = 1usize.checked_shl(self.bits).filter(|&all| all <= n / 4 && self.bits <= 16)?;
        let tables = parallel::map_chunks(n, n.div_ceil(parallel::threads()).max(GRAIN), &|own| {
            // Of few ranks one often follows itself, and would wait for itself in one table.
            let several = if self.bits == 8 { 4 } else { 1 };
            let (mut tables, mut ranks) = (vec![vec![T::default(); all]; several], [0; STRETCH]);
            for first in own.clone().step_by(STRETCH) {
                let ranks = &mut ranks[..STRETCH.min(own.end - first)];
                self.ranks(flip, source, first, ranks);
                if let [a, b, c, d] = &mut tables[..] {
                    let (fours, rest) = ranks.as_chunks::<4>();
                    for ranks in fours {
                        let [i, j, k, l] = ranks.map(|rank| rank as usize);
                        meet(&mut a[i]);
                        meet(&mut b[j]);
                        meet(&mut c[k]);
                        meet(&mut d[l]);
                    }
                    rest.iter().for_each(|&rank| meet(&mut a[rank as usize]));
                } else {
                    tables.iter_mut().for_each(|all| ranks.iter().for_each(|&rank| meet(&mut all[rank as usize])));
                }
            }
            tables
        });
        Some(tables.concat())
    }

    /// The keys that occur, rising, where there are far fewer than elements.
    fn met(self, source: &[u8]) -> Option<Vec<u32>> {
        let tables = self.tables(0, source, |is_met: &mut bool| *is_met = true)?;
        let all = 0..1 << self.bits;
        Some(all.filter(|&key: &usize| tables.iter().any(|table| table[key])).map(|key| key as u32).collect())
    }

    /// The elements of each of several slices of `n` in order.
    pub(super) fn several(self, order: &Order, n: usize, source: &[u8], out: &mut [u8]) {
        if n > SHORT {
            let row = n * self.dtype.size();
            let rows = source.chunks_exact(row).zip(out.chunks_exact_mut(row));
            return rows.for_each(|(source, out)| self.one(order, source, out));
        }
        let flip = self.flip(order);
        let mut ranks = zeroed_vec(source.len() / self.dtype.size());
        self.ranks(flip, source, 0, &mut ranks);
        let is_plain = !self.dtype.is_float() || {
            narrow::values(self.dtype, &ranks, flip, out);
            out == source
        };
        words::sort_rows(&mut ranks, n, 0..self.bits, &mut Vec::new());
        narrow::values(self.dtype, &ranks, flip, out);
        if !is_plain {
            order.rows_as_they_were(self.dtype, n, source, out);
        }
    }

    /// Where the elements of each of several slices of `n`, or of one, are in order.
    pub(super) fn places(self, order: &Order, n: usize, source: &[u8], out: &mut [u64]) {
        if self.bits == 8 && n >= COUNTED {
            let sign = if self.dtype == DType::I8 { 1 << 7 } else { 0 };
            let flip = self.flip(order) as u8 ^ sign;
            let first = u64::from(faults::is(Fault::PlacesUncounted));
            let rows = source.chunks_exact(n).zip(out.chunks_exact_mut(n));
            return rows.for_each(|(source, out)| words::places_of_bytes(source, flip, first, out));
        }
        match self.bits {
            ..=16 if n <= 1 << 16 => self.numbered::<u32>(order, n, source, out),
            _ => self.numbered::<u64>(order, n, source, out),
        }
    }

    /// The same by words of which the lower half are numbers.
    fn numbered<T: Word>(self, order: &Order, n: usize, source: &[u8], out: &mut [u64]) {
        let (flip, half) = (self.flip(order), 4 * size_of::<T>() as u32);
        let bits = half..half + self.bits;
        let mut numbered = Scratch::<T>::any(out.len());
        parallel::for_chunks_mut(&mut numbered, n, (GRAIN / n).max(1), &|row, rows| {
            for (row, words) in (row..).zip(rows.chunks_exact_mut(n)) {
                self.number(flip, half, (source, row * n), words);
            }
        });
        match out.len() == n {
            true => parallel::sort_words(&mut numbered, &mut Scratch::<T>::any(n), bits),
            false => words::sort_rows(&mut numbered, n, bits, &mut Vec::new()),
        }
        let first = u64::from(faults::is(Fault::PlacesUncounted));
        let numbered = &numbered[..];
        parallel::for_chunks_mut(out, 1, GRAIN, &|start, out| {
            for (out, word) in out.iter_mut().zip(&numbered[start..]) {
                *out = (word.get() & ((1 << half) - 1)) + first;
            }
        });
    }

    /// Ranks of the elements of a slice, the first of which has a place in `source`, above their numbers.
    fn number<T: Word>(self, flip: u32, half: u32, (source, first): (&[u8], usize), out: &mut [T]) {
        let mut ranks = [0; STRETCH];
        for (i, out) in out.chunks_mut(STRETCH).enumerate() {
            let ranks = &mut ranks[..out.len()];
            self.ranks(flip, source, first + i * STRETCH, ranks);
            for ((out, &rank), number) in out.iter_mut().zip(&*ranks).zip((i * STRETCH) as u64..) {
                *out = T::new(u64::from(rank) << half | number);
            }
        }
    }
}

/// The distinct elements of an array that has narrow keys, rising.
pub(super) fn distinct(x: &Tensor) -> Result<Option<Strided>> {
    let Some(s) = x.strided() else { return Ok(None) };
    let Some(narrow) = Narrow::of(s.dtype, s.len()).filter(|_| s.len() > 0) else {
        return Ok(None);
    };
    dense_len(&s.shape, DType::U64)?;
    let (size, bytes) = (s.dtype.size(), s.dense_bytes()?);
    if let Some(keys) = narrow.met(&bytes) {
        let n = keys.len();
        let values = Buffer::filled(n * size, size, |out| narrow::values(s.dtype, &keys, 0, out))?;
        return Ok(Some(Strided::new(values, s.dtype, vec![n])));
    }
    let keys = &narrow.sorted(0, &bytes)[..];
    let before = |start: usize| start.checked_sub(1).map(|last| keys[last]);
    let counts = parallel::map_chunks(keys.len(), GRAIN, &|own| words::distinct(&keys[own.clone()], before(own.start)));
    let n = counts.iter().sum::<usize>();
    let ends: Vec<usize> = counts
        .iter()
        .scan(0, |end, &own| {
            *end += own * size;
            Some(*end)
        })
        .collect();
    let values = Buffer::filled(n * size, size, |out| {
        parallel::for_pieces_mut(out, &ends, &|i, out| {
            let start = i * GRAIN;
            let mut own = keys[start..keys.len().min(start + GRAIN)].to_vec();
            let n = words::keep_distinct(&mut own, before(start));
            narrow::values(s.dtype, &own[..n], 0, out);
        });
    })?;
    Ok(Some(Strided::new(values, s.dtype, vec![n])))
}
