//! Strided storage: a buffer with shape, strides and offset. Views are free.

use std::borrow::Cow;
use std::ops::{Deref, Range};

use openwork_ops::structure::gather;
use openwork_ops::{DType, Element, Scalar};

use crate::base::buffer::{BYTES, Buffer};
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::few::Few;
pub(crate) use crate::base::memory::dense_len;
use crate::base::parallel;

/// A dense array over a shared buffer. Strides and offset count elements; a stride may be 0 or negative.
#[derive(Clone, Debug)]
pub(crate) struct Strided {
    pub(crate) buffer: Buffer,
    pub(crate) dtype: DType,
    pub(crate) shape: Shape,
    pub(crate) strides: Strides,
    pub(crate) offset: usize,
}

/// Sizes of axes.
pub(crate) type Shape = Few<usize, 4>;
/// Steps along axes, in elements.
pub(crate) type Strides = Few<isize, 4>;

/// C-order strides of a shape, in elements.
pub(crate) fn c_strides(shape: &[usize]) -> Vec<isize> {
    c_order(shape).to_vec()
}

/// The same for an array.
pub(crate) fn c_order(shape: &[usize]) -> Strides {
    let mut strides = Strides::repeat(1, shape.len());
    for d in (1..shape.len()).rev() {
        strides[d - 1] = strides[d].wrapping_mul(shape[d].max(1) as isize); // may wrap only where there is no element
    }
    strides
}

/// Elements as bytes in C order: where they lie, or a copy.
pub(crate) enum DenseBytes<'a> {
    Borrowed(&'a [u8]),
    Owned(Buffer),
}

impl Deref for DenseBytes<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            DenseBytes::Borrowed(bytes) => bytes,
            DenseBytes::Owned(buffer) => buffer.bytes(),
        }
    }
}

/// The number of elements of a shape. Of what is stored it is exact; a view that is broadcast may have more than `usize`
/// counts, and gives the greatest.
pub(crate) fn count(shape: &[usize]) -> usize {
    let mut count = 1usize;
    for &size in shape {
        if size == 0 {
            return 0; // also where what came before has grown too large
        }
        count = count.saturating_mul(size);
    }
    count
}

/// Rows that are copied together from a matrix that lies by columns.
const ROWS: usize = 8;

impl Strided {
    /// C-order storage of a buffer that has exactly the shape's elements.
    pub(crate) fn new(buffer: Buffer, dtype: DType, shape: impl Into<Shape>) -> Strided {
        let shape = shape.into();
        debug_assert_eq!(buffer.len(), count(&shape) * dtype.size());
        Strided { strides: c_order(&shape), buffer, dtype, shape, offset: 0 }
    }

    pub(crate) fn from_vec<T: Element>(data: Vec<T>, shape: impl Into<Shape>) -> Strided {
        Strided::new(Buffer::from_vec(data), T::DTYPE, shape)
    }

    /// A copy of elements in C order.
    pub(crate) fn from_bytes(bytes: &[u8], dtype: DType, shape: &[usize]) -> Result<Strided> {
        let buffer = Buffer::filled(bytes.len(), dtype.size(), |out| out.copy_from_slice(bytes))?;
        Ok(Strided::new(buffer, dtype, shape))
    }

    /// A view of one element, broadcast: every stride is 0.
    pub(crate) fn constant(value: Scalar, shape: &[usize]) -> Strided {
        let (bytes, size) = value.to_bytes();
        let buffer = Buffer::of_few(&bytes[..size]);
        Strided {
            buffer,
            dtype: value.dtype(),
            shape: shape.into(),
            strides: Strides::repeat(0, shape.len()),
            offset: 0,
        }
    }

    pub(crate) fn ndim(&self) -> usize {
        self.shape.len()
    }

    pub(crate) fn len(&self) -> usize {
        count(&self.shape)
    }

    /// The bytes of the elements in C order, if they lie so.
    pub(crate) fn contiguous_bytes(&self) -> Option<&[u8]> {
        match self.contiguous_len()? {
            0 => Some(&[]),
            len => {
                let size = self.dtype.size();
                Some(&self.buffer.bytes()[self.offset * size..(self.offset + len) * size])
            }
        }
    }

    /// Whether the elements lie in C order without gaps.
    pub(crate) fn is_contiguous(&self) -> bool {
        self.contiguous_len().is_some()
    }

    /// The number of elements, if they lie in C order without gaps.
    fn contiguous_len(&self) -> Option<usize> {
        let (shape, strides) = (&self.shape[..], &self.strides[..]);
        let mut len = 1usize;
        for (&n, &s) in shape.iter().zip(strides).rev() {
            if n != 1 && s != len as isize {
                return (self.len() == 0).then_some(0);
            }
            len = len.wrapping_mul(n); // may wrap only where there is no element
        }
        Some(len)
    }

    /// The same elements in C order without gaps.
    ///
    /// # Errors
    /// If memory cannot hold them, of which broadcasting may have made any number.
    pub(crate) fn to_contiguous(&self) -> Result<Cow<'_, Strided>> {
        if self.is_contiguous() {
            return Ok(Cow::Borrowed(self));
        }
        let size = self.dtype.size();
        let n = dense_len(&self.shape, self.dtype)?;
        let buffer = Buffer::filled(n * size, size.max(BYTES), |out| self.write(out))?;
        Ok(Cow::Owned(Strided::new(buffer, self.dtype, self.shape.clone())))
    }

    /// Writes all elements in C order.
    fn write(&self, out: &mut [u8]) {
        let size = self.dtype.size();
        match self.shape[..] {
            [.., rows, columns] if !out.is_empty() && self.is_by_columns() => {
                let grain = (parallel::GRAIN / columns / ROWS).max(1) * ROWS;
                parallel::for_chunks_mut(out, columns * size, grain, &|first, out| {
                    self.read_by_columns(first, rows, columns, out);
                });
            }
            _ => parallel::for_chunks_mut(out, size, parallel::GRAIN, &|start, out| self.read(start, out)),
        }
    }

    /// Whether matrices over the last two axes lie by columns, and are larger than what a cache line makes no difference to.
    fn is_by_columns(&self) -> bool {
        let Some(outer) = self.ndim().checked_sub(2) else { return false };
        let least = [ROWS, ROWS];
        self.strides[outer..] != [1, 1]
            && self.strides[outer] == 1
            && self.shape[outer..].iter().zip(least).all(|(&n, least)| n >= least)
    }

    /// Reads rows of such matrices, from row `first` of all of them on.
    fn read_by_columns(&self, first: usize, rows: usize, columns: usize, mut out: &mut [u8]) {
        let (size, step) = (self.dtype.size(), self.strides[self.ndim() - 1]);
        let mut row = first;
        while !out.is_empty() {
            // Up to the last row of the same matrix.
            let count = (rows - row % rows).min(out.len() / (columns * size));
            let part;
            (part, out) = std::mem::take(&mut out).split_at_mut(count * columns * size);
            let at = Walk::new(self, row * columns).at as usize;
            gather::rows_of_columns(self.buffer.bytes(), at, step, columns, size, part);
            row += count;
        }
    }

    /// The elements as bytes in C order, copied only if they lie otherwise.
    ///
    /// # Errors
    /// As [`Strided::to_contiguous`].
    pub(crate) fn dense_bytes(&self) -> Result<DenseBytes<'_>> {
        match self.contiguous_bytes() {
            Some(bytes) => Ok(DenseBytes::Borrowed(bytes)),
            None => Ok(DenseBytes::Owned(self.to_contiguous()?.buffer.clone())),
        }
    }

    /// Reads elements `start..` in C order, as many as fit `out`.
    pub(crate) fn read(&self, start: usize, out: &mut [u8]) {
        let size = self.dtype.size();
        let source = self.buffer.bytes();
        if let Some(bytes) = self.contiguous_bytes() {
            out.copy_from_slice(&bytes[start * size..start * size + out.len()]);
            return;
        }
        self.rows_from(start, out.len() / size, &mut |at, steps, columns, part| {
            let part = &mut out[part.start * size..part.end * size];
            gather::rows(source, at, steps, columns, size, part);
        });
    }

    /// Reads what lies `step` times `places[i]` elements beyond each of the elements `start..` in C order, as many as fit `out`.
    pub(crate) fn read_beyond(&self, start: usize, step: isize, places: &[u64], out: &mut [u8]) {
        let (size, source) = (self.dtype.size(), self.buffer.bytes());
        self.rows_from(start, places.len(), &mut |at, steps, columns, part| {
            let (places, part) = (&places[part.clone()], &mut out[part.start * size..part.end * size]);
            gather::rows_beyond(source, at, steps, columns, (step, places), size, part);
        });
    }

    /// Where all is that [`Strided::read_beyond`] reads.
    pub(crate) fn offsets_beyond(&self, start: usize, step: isize, places: &[u64], out: &mut [u64]) {
        self.rows_from(start, out.len(), &mut |at, steps, columns, part| {
            let rows = out[part.clone()].chunks_exact_mut(columns).zip(places[part].chunks_exact(columns));
            for (r, (out, places)) in rows.enumerate() {
                let at = at.wrapping_add_signed(r as isize * steps[0]);
                for (c, (out, &place)) in out.iter_mut().zip(places).enumerate() {
                    *out = at.wrapping_add_signed(c as isize * steps[1] + place as isize * step) as u64;
                }
            }
        });
    }

    /// Gives rows from element `start` on, `total` elements in all: where the first of some is, the steps between rows and in them, the
    /// length of each, and which of the elements they are.
    fn rows_from(&self, start: usize, total: usize, each: &mut dyn FnMut(usize, [isize; 2], usize, Range<usize>)) {
        let mut walk = Walk::new(self, start);
        let mut done = 0;
        while done < total {
            let (short, run) = (walk.short_rows(total - done), walk.run().min(total - done));
            let (rows, steps, columns) = short.unwrap_or((1, [0, walk.inner_stride()], run));
            // Rows of one element are a column, which is read as a row.
            let (steps, length) = if columns == 1 { ([0, steps[0]], rows) } else { (steps, columns) };
            each(walk.at as usize, steps, length, done..done + rows * columns);
            done += rows * columns;
            if short.is_some() { walk.advance(1, rows) } else { walk.advance(0, run) }
        }
    }

    /// The element at an index that is in range.
    pub(crate) fn get(&self, index: &[usize]) -> Scalar {
        let at = index.iter().zip(&self.strides).map(|(&i, &s)| i as isize * s).sum::<isize>() + self.offset as isize;
        self.at_offset(at as usize)
    }

    /// The element at an offset from the start of the buffer.
    pub(crate) fn at_offset(&self, at: usize) -> Scalar {
        let size = self.dtype.size();
        Scalar::from_bytes(self.dtype, &self.buffer.bytes()[at * size..(at + 1) * size])
    }

    pub(crate) fn permute(&self, axes: &[usize]) -> Strided {
        let (shape, strides) = (self.shape.at(axes), self.strides.at(axes));
        Strided { buffer: self.buffer.clone(), dtype: self.dtype, shape, strides, offset: self.offset }
    }

    /// Broadcasts to a shape that is known to be compatible (trailing axes aligned).
    /// With one axis behind the others.
    pub(crate) fn axis_last(&self, axis: usize) -> Strided {
        self.permute(&(0..self.ndim()).filter(|&a| a != axis).chain([axis]).collect::<Shape>())
    }

    /// With the last axis where [`Strided::axis_last`] took it from.
    pub(crate) fn axis_back(&self, axis: usize) -> Strided {
        let mut order: Shape = (0..self.ndim() - 1).collect();
        order.insert(axis, self.ndim() - 1);
        self.permute(&order)
    }

    pub(crate) fn broadcast(&self, shape: &[usize]) -> Strided {
        let lead = shape.len() - self.ndim();
        let mut strides: Strides = (0..shape.len())
            .map(|d| if d < lead || (self.shape[d - lead] == 1 && shape[d] != 1) { 0 } else { self.strides[d - lead] })
            .collect();
        strides.rotate_left(usize::from(faults::is(Fault::BroadcastRotated) && !shape.is_empty()));
        Strided { shape: shape.into(), strides, ..self.clone() }
    }

    /// `start..end` of one axis.
    pub(crate) fn narrow(&self, axis: usize, range: Range<usize>) -> Strided {
        let mut out = self.clone();
        out.shape[axis] = range.len();
        if !range.is_empty() {
            out.offset = (out.offset as isize + range.start as isize * out.strides[axis]) as usize;
        }
        out
    }

    /// Another shape of as many elements: a view where strides allow it, else a copy.
    ///
    /// # Errors
    /// As [`Strided::to_contiguous`], if it is a copy.
    pub(crate) fn reshape(&self, shape: &[usize]) -> Result<Strided> {
        if let Some(strides) = self.view_strides(shape) {
            return Ok(Strided { shape: shape.into(), strides: strides.into(), ..self.clone() });
        }
        let dense = self.to_contiguous()?.into_owned();
        Ok(Strided { shape: shape.into(), strides: c_order(shape), ..dense })
    }

    /// Strides that make the same buffer another shape, if there are any.
    fn view_strides(&self, shape: &[usize]) -> Option<Vec<isize>> {
        if self.is_contiguous() {
            return Some(c_strides(shape));
        }
        let old: Vec<(usize, isize)> =
            self.shape.iter().copied().zip(self.strides.iter().copied()).filter(|&(n, _)| n != 1).collect();
        let mut strides = vec![0isize; shape.len()];
        let (mut i, mut j) = (0, 0);
        while i < old.len() {
            let (mut from, mut to) = (old[i].0, 1);
            let (i0, j0) = (i, j);
            i += 1;
            while from != to || shape.get(j) == Some(&1) {
                if to < from || shape.get(j) == Some(&1) {
                    to *= shape.get(j)?;
                    j += 1;
                } else {
                    from *= old.get(i)?.0;
                    i += 1;
                }
            }
            if old[i0..i].windows(2).any(|w| w[0].1 != w[1].1 * w[1].0 as isize) {
                return None;
            }
            let mut stride = old[i - 1].1;
            for d in (j0..j).rev() {
                strides[d] = stride;
                stride *= shape[d] as isize;
            }
        }
        Some(strides)
    }

    /// The typed elements, if they lie in C order and have this dtype.
    pub(crate) fn typed<T: Element>(&self) -> Option<&[T]> {
        (self.dtype == T::DTYPE).then_some(())?;
        self.contiguous_bytes().map(T::from_bytes)
    }

    /// The same elements as another dtype.
    pub(crate) fn cast(&self, dtype: DType) -> Strided {
        if self.dtype == dtype {
            return self.clone();
        }
        // Broadcast axes stay broadcast: cast what is stored once.
        let core = self.unbroadcast();
        let (from, to) = (self.dtype.size(), dtype.size());
        let bytes = core.contiguous_bytes();
        let buffer = Buffer::filled_of_held(core.len() * to, to.max(BYTES), |out| {
            parallel::for_chunks_mut(out, to, parallel::GRAIN, &|start, out| {
                let n = out.len() / to;
                match bytes {
                    Some(bytes) => {
                        openwork_ops::cast::cast_block(
                            self.dtype,
                            &bytes[start * from..(start + n) * from],
                            dtype,
                            out,
                        );
                    }
                    None => {
                        let mut read = vec![0u128; (n * from).div_ceil(16)];
                        let read = &mut bytemuck::cast_slice_mut(&mut read)[..n * from];
                        core.read(start, read);
                        openwork_ops::cast::cast_block(self.dtype, read, dtype, out);
                    }
                }
            });
        });
        Strided::new(buffer, dtype, core.shape.clone()).broadcast(&self.shape)
    }

    /// Elements without repetition: axes of stride 0 count once.
    pub(crate) fn core_len(&self) -> usize {
        if self.shape.contains(&0) {
            return 0;
        }
        self.shape.iter().zip(&self.strides).map(|(&n, &s)| if s == 0 { 1 } else { n }).product()
    }

    /// The one element that the array is, or repeats.
    pub(crate) fn constant_value(&self) -> Option<Scalar> {
        let repeats = |(&n, &s): (&usize, &isize)| n == 1 || (s == 0 && n > 1);
        self.shape.iter().zip(&self.strides).all(repeats).then(|| self.at_offset(self.offset))
    }

    /// What is stored, in C order: the same without repetition.
    pub(crate) fn core(&self) -> Strided {
        let core = self.unbroadcast();
        if core.is_contiguous() {
            return core;
        }
        let size = core.dtype.size();
        let buffer = Buffer::filled_of_held(core.len() * size, size.max(BYTES), |out| core.write(out));
        Strided::new(buffer, core.dtype, core.shape)
    }

    /// The same elements, the axes with the farthest of them first.
    pub(crate) fn in_order_of_memory(&self) -> Strided {
        self.permute(&self.axes_by_stride())
    }

    /// The axes, those with the farthest elements first.
    pub(crate) fn axes_by_stride(&self) -> Shape {
        let mut axes: Shape = (0..self.ndim()).collect();
        axes.sort_by_key(|&axis| std::cmp::Reverse(self.strides[axis].unsigned_abs()));
        axes
    }

    /// The same without repetition: axes of stride 0 become size 1 (unless they are empty).
    pub(crate) fn unbroadcast(&self) -> Strided {
        let mut out = self.clone();
        for (n, &s) in out.shape.iter_mut().zip(&self.strides) {
            if s == 0 && *n > 1 {
                *n = 1;
            }
        }
        out
    }
}

/// An `int64` array of zeros.
///
/// # Errors
/// If memory cannot hold it.
pub(crate) fn zeros(shape: &[usize]) -> Result<Strided> {
    let n = dense_len(shape, DType::I64)?;
    Ok(Strided::new(Buffer::build(n * DType::I64.size(), |_| {})?, DType::I64, shape))
}

impl<'a> From<&'a Strided> for Cow<'a, Strided> {
    fn from(array: &'a Strided) -> Cow<'a, Strided> {
        Cow::Borrowed(array)
    }
}

impl From<Strided> for Cow<'_, Strided> {
    fn from(array: Strided) -> Self {
        Cow::Owned(array)
    }
}

/// An odometer over the rows of a strided array.
struct Walk<'a> {
    array: &'a Strided,
    index: Vec<usize>,
    at: isize,
}

impl<'a> Walk<'a> {
    fn new(array: &'a Strided, start: usize) -> Walk<'a> {
        let mut index = vec![0; array.ndim()];
        let mut rest = start;
        let mut at = array.offset as isize;
        for d in (0..array.ndim()).rev() {
            let n = array.shape[d].max(1);
            index[d] = rest % n;
            rest /= n;
            at += index[d] as isize * array.strides[d];
        }
        Walk { array, index, at }
    }

    /// Elements left in the innermost row.
    fn run(&self) -> usize {
        match self.index.last() {
            Some(&i) => self.array.shape[self.array.ndim() - 1] - i,
            None => 1,
        }
    }

    fn inner_stride(&self) -> isize {
        self.array.strides.last().copied().unwrap_or(1)
    }

    /// Whole rows from here on, of at most `n` elements together, with the steps between rows and in them and the length of each:
    /// where rows are short, so that to go row by row would cost more than to read them.
    fn short_rows(&self, n: usize) -> Option<(usize, [isize; 2], usize)> {
        const SHORT: usize = 256;
        let [.., rows, columns] = self.array.shape[..] else { return None };
        let ([.., step, inner], [.., row, 0]) = (&self.array.strides[..], &self.index[..]) else { return None };
        let count = (rows - row).min(n.checked_div(columns)?);
        (count > 1 && columns <= SHORT).then_some((count, [*step, *inner], columns))
    }

    /// Goes forward by `n` along the innermost axis but `outer`, at most to its end.
    fn advance(&mut self, outer: usize, n: usize) {
        let Some(last) = self.index.len().checked_sub(1 + outer) else { return };
        self.index[last] += n;
        self.at += n as isize * self.array.strides[last];
        let mut d = last;
        while d > 0 && self.index[d] == self.array.shape[d] {
            self.at -= self.index[d] as isize * self.array.strides[d];
            self.index[d] = 0;
            d -= 1;
            self.index[d] += 1;
            self.at += self.array.strides[d];
        }
    }
}

#[cfg(test)]
#[path = "tests/strided.rs"]
mod tests;
