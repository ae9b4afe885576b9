//! What a sparse tensor stores put in order where it lies: elements change places within their slices, of which each is a run in
//! storage, and one column of indices is new. Keys alone are sorted, and elements are made of them again.

use std::ops::Range;
use std::sync::Arc;

use openwork_ops::structure::Index;
use openwork_ops::words::{self, Word};
use openwork_ops::{DType, Scalar, narrow, order, with_index};

use super::sort::{Order, SHORT};
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::engine::slices::{last_runs, ordered};
use crate::levels::indices::Indices;
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor};

/// The keys of elements: see [`order`] and [`narrow`].
trait Keys: Word {
    /// How many bits those of a dtype have.
    fn bits(dtype: DType) -> u32;
    fn of(dtype: DType, elements: &[u8], out: &mut [Self]);
    fn elements(dtype: DType, keys: &[Self], out: &mut [u8]);
    /// Sorts keys that several threads may share.
    fn sort_many(dtype: DType, keys: &mut [Self]);
}

impl Keys for u64 {
    fn bits(_: DType) -> u32 {
        u64::BITS
    }
    fn of(dtype: DType, elements: &[u8], out: &mut [u64]) {
        order::keys(dtype, elements, out);
    }
    fn elements(dtype: DType, keys: &[u64], out: &mut [u8]) {
        order::values(dtype, keys, out);
    }
    fn sort_many(_: DType, keys: &mut [u64]) {
        parallel::sort(keys);
    }
}

impl Keys for u32 {
    fn bits(dtype: DType) -> u32 {
        narrow::bits(dtype).unwrap_or(u32::BITS)
    }
    fn of(dtype: DType, elements: &[u8], out: &mut [u32]) {
        narrow::keys(dtype, elements, 0, out);
    }
    fn elements(dtype: DType, keys: &[u32], out: &mut [u8]) {
        narrow::values(dtype, keys, 0, out);
    }
    fn sort_many(dtype: DType, keys: &mut [u32]) {
        let mut room = Scratch::<u32>::any(keys.len());
        parallel::sort_words(keys, &mut room, 0..Self::bits(dtype));
    }
}

/// A piece of storage: slices, what they store, and where that goes.
struct Piece<'a, I> {
    /// Where slices begin, and the end of the last.
    ends: &'a [usize],
    source: &'a [u8],
    values: &'a mut [u8],
    places: &'a mut [I],
}

impl Order {
    /// All elements in order, of a tensor that stores each slice along the axis as one run; `None` of any other, and where the fill is
    /// an array.
    pub(super) fn where_they_lie(&self, x: &Tensor) -> Result<Option<Tensor>> {
        let Some(s) = x.sparse() else { return Ok(None) };
        let fill = match &s.fill {
            Fill::Array(_) => return Ok(None),
            Fill::Undefined => None,
            Fill::Scalar(fill) => Some(fill),
        };
        let whole = Dim::whole(self.axis, s.shape[self.axis]);
        let is_last = s.pattern.value_dims().is_empty() && s.pattern.level_dims().last() == Some(&whole);
        let Some(ends) = (is_last && self.limit >= whole.size).then(|| last_runs(&s.pattern)).flatten() else {
            return Ok(None);
        };
        ordered(s.dtype())?;
        let Some((last, above)) = s.pattern.levels.split_last() else { return Ok(None) };
        let Level::Sparse { pointers, indices, .. } = last else { return Ok(None) };
        let Some((own, others)) = indices.split_last() else { return Ok(None) };
        // What was in front may go to places that indices of 32 bits do not reach.
        if !own.is_wide() && whole.size > u32::MAX as usize {
            return Ok(None);
        }
        let is_narrow = narrow::bits(s.dtype()).is_some();
        let (values, own) = with_index!(own.as_slice(), own => match is_narrow {
            true => self.runs::<u32, _>(s, fill, &ends, own)?,
            false => self.runs::<u64, _>(s, fill, &ends, own)?,
        });
        let indices = others.iter().cloned().chain([own.known_below(whole.size as u64)]).collect();
        let last = Level::Sparse { pointers: pointers.clone(), indices, ordered: true, unique: true };
        let levels = above.iter().cloned().chain([last]).collect();
        let pattern = Arc::new(Pattern { levels, ..(*s.pattern).clone() });
        let values = Strided::new(values, s.dtype(), s.values.shape.clone());
        Ok(Some(Sparse { shape: s.shape.clone(), pattern, values, fill: s.fill.clone() }.into()))
    }

    /// The elements of each slice in order, and where along the axis they are then, in indices as wide as those that were.
    fn runs<K: Keys, I: Index>(
        &self,
        s: &Sparse,
        fill: Option<&Scalar>,
        ends: &[usize],
        _: &[I],
    ) -> Result<(Buffer, Indices)> {
        let fill = fill.map(|fill| {
            let (mut rank, (bytes, size)) = ([K::zeroed()], fill.to_bytes());
            K::of(s.dtype(), &bytes[..size], &mut rank);
            self.turn(s.dtype(), &mut rank);
            rank[0].get()
        });
        let (source, size, stored) = (s.values.dense_bytes()?, s.dtype().size(), s.nse());
        let slices = ends.len() - 1;
        let grain = (GRAIN * slices / stored.max(1)).clamp(1, GRAIN);
        let mut places = Scratch::<I>::any(stored);
        let values = Buffer::filled(stored * size, size, |values| {
            let (mut values, mut places, mut pieces) = (values, &mut places[..], Vec::new());
            for first in (0..slices).step_by(grain) {
                let ends = &ends[first..=slices.min(first + grain)];
                let Range { start, end } = ends[0]..ends[ends.len() - 1];
                let (own, own_places);
                (own, values) = std::mem::take(&mut values).split_at_mut((end - start) * size);
                (own_places, places) = std::mem::take(&mut places).split_at_mut(end - start);
                let source = &source[start * size..end * size];
                pieces.push(Piece { ends, source, values: own, places: own_places });
            }
            parallel::for_each(pieces, &|_, piece| self.piece::<K, I>(s, fill, piece));
        })?;
        Ok((values, places.into()))
    }

    fn piece<K: Keys, I: Index>(&self, s: &Sparse, fill: Option<u64>, piece: Piece<'_, I>) {
        let Piece { ends, source, values, places } = piece;
        let (dtype, size, length, first) = (s.dtype(), s.dtype().size(), s.shape[self.axis], ends[0]);
        let mut keys = zeroed_vec::<K>(places.len());
        parallel::for_chunks_mut(&mut keys, 1, GRAIN, &|start, keys| {
            K::of(dtype, &source[start * size..][..keys.len() * size], keys);
        });
        let write = |keys: &[K], values: &mut [u8]| {
            parallel::for_chunks_mut(values, size, GRAIN, &|start, values| {
                K::elements(dtype, &keys[start..][..values.len() / size], values);
            });
        };
        // Whether every element is the one that its key stands for: all but zeros with a sign, and other NaN.
        let is_plain = !dtype.is_float() || {
            write(&keys, values);
            values == source
        };
        self.turn::<K>(dtype, &mut keys);
        let mut room = Vec::new();
        for run in ends.windows(2).map(|run| run[0] - first..run[1] - first) {
            let (keys, places) = (&mut keys[run.clone()], &mut places[run]);
            match keys.len() > SHORT {
                true => K::sort_many(dtype, keys),
                false => words::sort_row(keys, 0..K::bits(dtype), &mut room),
            }
            // What is not above the fill comes before it, the rest behind the elements that are not stored.
            let front = fill.map_or(keys.len(), |fill| keys.partition_point(|key| key.get() <= fill));
            let behind = if faults::is(Fault::RunsUnmoved) { 0 } else { length - keys.len() };
            places[..front].iter_mut().zip(0..).for_each(|(place, i)| *place = I::new(i));
            places[front..].iter_mut().zip(front + behind..).for_each(|(place, i)| *place = I::new(i));
        }
        self.turn::<K>(dtype, &mut keys);
        write(&keys, values);
        if !is_plain {
            for run in ends.windows(2).map(|run| (run[0] - first) * size..(run[1] - first) * size) {
                self.as_they_were(dtype, &source[run.clone()], &mut values[run]);
            }
        }
    }

    /// Makes ranks of keys, and keys of ranks.
    fn turn<K: Keys>(&self, dtype: DType, keys: &mut [K]) {
        if self.descending {
            keys.iter_mut().for_each(|key| *key = K::new(key.get() ^ u64::MAX >> (u64::BITS - K::bits(dtype))));
        }
    }
}
