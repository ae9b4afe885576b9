//! Rows of a strided tensor that one list names: places are looked at as they are used, a piece at a time, and no list of them is
//! made.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use openwork_ops::structure::gather::{gather_inside, scatter_inside};
use openwork_ops::{DType, cast};

use crate::base::buffer::{BYTES, Buffer};
use crate::base::error::Result;
use crate::base::parallel;
use crate::base::strided::{Strided, count, dense_len};
use crate::tensor::Tensor;

/// Places that are looked at together: they stay in the first-level cache.
const PIECE: usize = 1 << 10;

/// A list of places along the first axis of an array without gaps.
pub(super) struct Listed<'a> {
    x: &'a Strided,
    bytes: &'a [u8],
    list: &'a Strided,
    /// Bytes of a row.
    row: usize,
}

impl<'a> Listed<'a> {
    /// `None` where the array lies otherwise, and where there is nothing to be looked at.
    pub(super) fn new(x: &'a Strided, list: &'a Tensor) -> Option<Listed<'a>> {
        let (list, bytes) = (list.strided()?, x.contiguous_bytes()?);
        // What 64 bits do not hold is told where all is told about a list.
        let is_listed = list.dtype.is_int() && list.dtype != DType::U64 && list.len() > 0;
        let (&size, rest) = x.shape.split_first()?;
        let row = count(rest) * x.dtype.size();
        (is_listed && size > 1 && row > 0).then_some(Listed { x, bytes, list, row })
    }

    /// The shape of what is named.
    pub(super) fn shape(&self) -> Vec<usize> {
        [&self.list.shape, &self.x.shape[1..]].concat()
    }

    /// The rows in the order of the list; `None` if a place is out of bounds.
    ///
    /// # Errors
    /// If memory cannot hold them.
    pub(super) fn read(&self) -> Result<Option<Strided>> {
        let (shape, size, row) = (self.shape(), self.x.dtype.size(), self.row);
        let n = dense_len(&shape, self.x.dtype)?;
        let outside = AtomicBool::new(false);
        let buffer = Buffer::filled(n * size, size.max(BYTES), |out| {
            let grain = (parallel::GRAIN * size / row).max(1);
            parallel::for_chunks_mut(out, row, grain, &|first, out| {
                let inside = self.pieces(first, out.len() / row, &mut |range, places| {
                    gather_inside(self.bytes, row, places, &mut out[range.start * row..range.end * row])
                });
                outside.fetch_or(!inside, Ordering::Relaxed);
            });
        })?;
        Ok((!outside.into_inner()).then(|| Strided::new(buffer, self.x.dtype, shape)))
    }

    /// Writes rows that lie one after the other to their places in a copy of the array; whether all of them are inside.
    pub(super) fn write(&self, rows: &[u8], out: &mut [u8]) -> bool {
        let row = self.row;
        self.pieces(0, rows.len() / row, &mut |range, places| {
            scatter_inside(&rows[range.start * row..range.end * row], row, places, out)
        })
    }

    /// Gives `n` places from the `first` on to `each`, which says whether they are inside, with where they stand among these.
    fn pieces(&self, first: usize, n: usize, each: &mut dyn FnMut(Range<usize>, &[i64]) -> bool) -> bool {
        if let Some(places) = self.list.typed::<i64>() {
            return each(0..n, &places[first..first + n]);
        }
        let (dtype, mut inside) = (self.list.dtype, true);
        let [mut raw, mut places] = [[0i64; PIECE]; 2];
        for start in (0..n).step_by(PIECE) {
            let range = start..n.min(start + PIECE);
            let places = &mut places[..range.len()];
            let raw = &mut bytemuck::cast_slice_mut(&mut raw)[..range.len() * dtype.size()];
            self.list.read(first + start, raw);
            cast::cast_block(dtype, raw, DType::I64, bytemuck::cast_slice_mut(places));
            inside &= each(range, places);
        }
        inside
    }
}
