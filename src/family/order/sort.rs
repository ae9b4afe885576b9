//! Sorting along an axis: the fill moves as one block.

use std::borrow::Cow;

use openwork_ops::structure::Index;
use openwork_ops::{DType, Element, order, ranking, short_rows};

use super::few;
use super::narrow::Narrow;
use crate::base::axes::Axis;
use crate::base::buffer::{Buffer, zeroed_vec};
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, zeros};
use crate::base::trace::{Work, raise};
use crate::engine::convert;
use crate::engine::slices::{Ranked, Rest, Slice, Slices, ordered};
use crate::engine::value_rows::{along_values, with_rows};
use crate::family::shape::along::map_fill;
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::{Sparse, Tensor, trace};

/// The longest slice that is sorted as several are, not in parts by threads.
pub(super) const SHORT: usize = 1 << 12;
/// Elements of which keys are made, or which are made of keys, at a time.
pub(super) const STRETCH: usize = 1024;

/// # Sorting, the greatest elements
impl Tensor {
    /// The elements along an axis in rising order. NaN is greater than every number, so it comes last; absent elements
    /// come after it.
    ///
    /// Stored elements below the fill move to the front, those above it to the back, and the fill stays one block between
    /// them: as many elements are stored as before. A fill that varies along the axis is sorted densely, within the budget.
    /// The layout stays, but for value axes, unless one of these is the axis: then it becomes COO. Cost: O(nse log nse).
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[3.0, 0.0, -1.0, 0.0]; Layout::Csr, 0.0]?;
    /// let y = x.sort(1)?;
    /// assert_eq!((y.nse(), y.to_vec::<f64>()?), (2, vec![-1.0, 0.0, 0.0, 3.0]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis is out of range, the dtype is complex, or the densify budget is exceeded.
    pub fn sort(&self, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("sort", &[self]);
        call.end(sorted(self, axis.into(), false))
    }

    /// The elements along an axis in falling order, NaN first, absent elements last: else as [`Tensor::sort`].
    ///
    /// # Errors
    /// As [`Tensor::sort`].
    pub fn sort_descending(&self, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("sort_descending", &[self]);
        call.end(sorted(self, axis.into(), true))
    }

    /// The places along an axis from which [`Tensor::sort`] takes its elements, as `int64`. Equal elements keep their
    /// order, stored or not.
    ///
    /// The axis becomes dense in slices that store something, and the fill is the numbers along the axis. With an undefined
    /// fill, the places of the stored elements; absent last. Cost: O(nse log nse) and the elements that the result stores.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![30, 10, 20];
    /// let order = x.argsort(0)?;
    /// assert_eq!(order.to_vec::<i64>()?, [1, 2, 0]);
    /// assert_eq!(x.take_along_axis(&order, 0)?.to_vec::<i32>()?, [10, 20, 30]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::sort`]; if the axis is made dense and exceeds the densify budget.
    pub fn argsort(&self, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("argsort", &[self]);
        call.end(places(self, axis.into(), false))
    }

    /// The places along an axis from which [`Tensor::sort_descending`] takes its elements: else as [`Tensor::argsort`].
    /// Equal elements keep their order here too.
    ///
    /// # Errors
    /// As [`Tensor::argsort`].
    pub fn argsort_descending(&self, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("argsort_descending", &[self]);
        call.end(places(self, axis.into(), true))
    }

    /// The `k` greatest elements along an axis, in order, and where they are: `(values, indices)`. NaN is
    /// greater than every number; of equal elements the first come first; absent ones come last.
    ///
    /// The values are sparse, with the operand's fill; the fill is not sorted, it is one block. The indices are dense
    /// along the axis in slices that store something, as with [`Tensor::argsort`]. Cost: O(nse) for small `k`.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[3, 9, 1, 7], [2, 4, 8, 6]];
    /// let (values, indices) = x.topk(2, 1)?;
    /// assert_eq!(values.to_vec::<i32>()?, [9, 7, 8, 6]);
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 3, 2, 3]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::argsort`]; if `k` is larger than the axis.
    #[doc(alias("argpartition"))]
    pub fn topk(&self, k: usize, axis: impl Into<Axis>) -> Result<(Tensor, Tensor)> {
        let call = trace::call("topk", &[self]);
        call.end(top(self, k, axis.into(), true))
    }

    /// The `k` least elements along an axis, in order, and where they are: else as [`Tensor::topk`].
    ///
    /// # Errors
    /// As [`Tensor::topk`].
    pub fn topk_smallest(&self, k: usize, axis: impl Into<Axis>) -> Result<(Tensor, Tensor)> {
        let call = trace::call("topk_smallest", &[self]);
        call.end(top(self, k, axis.into(), false))
    }
}

fn sorted(x: &Tensor, axis: Axis, descending: bool) -> Result<Tensor> {
    Order { axis: axis.of(x.ndim())?, descending, limit: usize::MAX }.values(x)
}

fn places(x: &Tensor, axis: Axis, descending: bool) -> Result<Tensor> {
    Order { axis: axis.of(x.ndim())?, descending, limit: usize::MAX }.places(x)
}

fn top(x: &Tensor, k: usize, axis: Axis, largest: bool) -> Result<(Tensor, Tensor)> {
    let axis = axis.of(x.ndim())?;
    let size = x.shape()[axis];
    if k > size {
        return Err(error::invalid("k", format_args!("{k} is given, allowed is 0 to the size {size} of axis {axis}")));
    }
    let order = Order { axis, descending: largest, limit: k };
    if let Some(s) = x.strided().filter(|s| s.len() > 0 && (1..size).contains(&k)) {
        return order.few_of(s);
    }
    if (1..size).contains(&k)
        && let Some((s, place)) = order.in_rows(x)?
    {
        let (values, places) = Order { axis: place, ..order }.few_of(&s.values)?;
        let fill = if s.fill.is_undefined() { Fill::Undefined } else { order.numbers(x, k) };
        return Ok((order.of_rows(&s, &values, order.shortened(&s)?), order.of_rows(&s, &places, fill)));
    }
    let shortened = few::shortened(x, axis, k, largest)?;
    let x = shortened.as_ref().unwrap_or(x);
    match order.both(x)? {
        Some(both) => Ok(both),
        None => Ok((order.values(x)?, order.places(x)?)),
    }
}

pub(super) struct Order {
    pub(super) axis: usize,
    pub(super) descending: bool,
    /// How many elements of each slice are wanted.
    pub(super) limit: usize,
}

/// What one slice after the other is sorted in.
#[derive(Default)]
struct Room {
    few: Vec<(u64, usize)>,
    ranks: Vec<u64>,
    numbers: Vec<u64>,
    stored: Vec<usize>,
}

impl Order {
    /// A key by which what comes first is least.
    pub(super) fn rank(&self, key: u64) -> u64 {
        if self.descending { !key } else { key }
    }

    /// The operand's size along the axis, at most the limit.
    fn length(&self, slices: &Slices) -> usize {
        self.limit.min(slices.length as usize)
    }

    /// The stored elements of a slice in order, as far as they can be among those that are wanted.
    fn stored<'r>(&self, slice: &Slice<'_>, room: &'r mut Room) -> &'r [usize] {
        let Room { few, ranks, numbers, stored } = room;
        stored.clear();
        // The block of the fill comes between: behind it there is something to look for only if it is short.
        let is_long = !matches!(slice.rest, Rest::Constant { .. }) || slice.unstored() >= self.limit as u128;
        if self.limit < slice.keys.len() && is_long {
            ranking::first_few(slice.keys, self.rank(0), self.limit, few);
            stored.extend(few.iter().map(|&(_, i)| i));
            return stored;
        }
        ranks.clear();
        ranks.extend(slice.keys.iter().map(|&key| self.rank(key)));
        numbers.clear();
        numbers.extend(0..ranks.len() as u64);
        parallel::sort_numbered(ranks, numbers);
        stored.extend(numbers.iter().map(|&i| i as usize));
        stored
    }

    /// How many of the stored elements in order come before the fill, and how many before all that are not above it.
    fn before_fill(&self, slice: &Slice<'_>, stored: &[usize]) -> (usize, usize) {
        let Rest::Constant { key } = slice.rest else { return (stored.len(), stored.len()) };
        let fill = self.rank(key);
        let below = stored.partition_point(|&i| self.rank(slice.keys[i]) < fill);
        let equal = stored.partition_point(|&i| self.rank(slice.keys[i]) <= fill);
        (below, equal)
    }

    /// A dense copy, within the budget, of a tensor whose fill varies along the axis.
    fn dense(&self, x: &Tensor) -> Result<Option<Tensor>> {
        ordered(x.dtype())?;
        let Some(s) = x.sparse() else { return Ok(None) };
        let Some(fill) = s.fill_values() else { return Ok(None) };
        if fill.strides[self.axis] == 0 || fill.shape[self.axis] <= 1 {
            return Ok(None);
        }
        context::may_densify(&s.shape, s.dtype().size(), || {
            format!("the fill varies along axis {}, so sorting along it needs a dense copy", self.axis)
        })?;
        Ok(Some(Tensor::from_strided(convert::to_strided(s, &fill)?)))
    }

    /// A copy of a compressed matrix in whose last level the axis is, if it is in the one above.
    fn turned(&self, x: &Tensor) -> Result<Option<Tensor>> {
        match x.sparse() {
            Some(s) => Ok(convert::turned(s, self.axis)?.map(Tensor::from)),
            None => Ok(None),
        }
    }

    /// A tensor of which rows of values hold the axis, and where: each of its rows is put in order by itself.
    fn in_rows<'x>(&self, x: &'x Tensor) -> Result<Option<(Cow<'x, Sparse>, usize)>> {
        let is_one = |fill: &Strided| fill.strides[self.axis] == 0 || fill.shape[self.axis] <= 1;
        let has_elements = |s: &Sparse| s.values.len() > 0 && s.fill_values().as_ref().is_none_or(is_one);
        Ok(along_values(x, self.axis)?.filter(|(s, _)| has_elements(s)))
    }

    /// The fill, which is one element along the axis, as far as that goes.
    fn shortened(&self, s: &Sparse) -> Result<Fill> {
        let mut shape = s.shape.clone();
        shape[self.axis] = self.limit.min(shape[self.axis]);
        map_fill(s, &shape, |fill| Ok(fill.narrow(self.axis, 0..shape[self.axis])))
    }

    fn of_rows(&self, s: &Sparse, rows: &Tensor, fill: Fill) -> Tensor {
        let values = rows.strided().cloned().unwrap_or_else(|| s.values.clone());
        with_rows(s, values, fill).into()
    }

    /// The elements in order.
    fn values(&self, x: &Tensor) -> Result<Tensor> {
        if let Some(dense) = self.dense(x)? {
            return self.values(&dense);
        }
        if let Some((s, place)) = self.in_rows(x)? {
            let rows = Order { axis: place, ..*self }.values(&Tensor::from_strided(s.values.clone()))?;
            return Ok(self.of_rows(&s, &rows, self.shortened(&s)?));
        }
        if let Some(s) = x.strided().filter(|s| s.len() == 0) {
            return Ok(Tensor::from_strided(s.narrow(self.axis, 0..self.limit.min(s.shape[self.axis]))));
        }
        if let Some(s) = x.strided().filter(|s| self.limit > 0 && s.shape[self.axis] == 1) {
            ordered(s.dtype)?;
            return Ok(x.clone());
        }
        if let Some(s) = x.strided().filter(|s| self.limit >= s.shape[self.axis]) {
            return self.all_of(s);
        }
        if let Some(turned) = self.turned(x)? {
            return like(&self.sorted_values(&turned)?, x);
        }
        self.sorted_values(x)
    }

    /// Elements in order and where they were, of a sparse tensor over a fill that is constant along the axis: each slice is put in
    /// order once. `None` of any other.
    fn both(&self, x: &Tensor) -> Result<Option<(Tensor, Tensor)>> {
        let Some(s) = x.sparse().filter(|s| !s.fill.is_undefined()) else { return Ok(None) };
        ordered(x.dtype())?;
        let turned = convert::turned(s, self.axis)?.map(Tensor::from);
        let slices = Slices::of(turned.as_ref().unwrap_or(x), &[self.axis])?;
        if slices.fill_varies() {
            return Ok(None);
        }
        let (values, places) = match self.is_narrow(&slices) {
            true => self.both_by::<u32>(slices, x)?,
            false => self.both_by::<u64>(slices, x)?,
        };
        let values = if turned.is_some() { like(&values, x)? } else { values };
        Ok(Some((values, places)))
    }

    fn both_by<I: Index>(&self, slices: Slices, x: &Tensor) -> Result<(Tensor, Tensor)> {
        let length = self.length(&slices);
        slices.may_fill(length, i64::DTYPE)?;
        convert::dense_len(&[length], i64::DTYPE)?;
        let (moved, places): (Vec<_>, Vec<_>) = {
            let ranked = Ranked::of(&slices)?;
            let place = |g: usize, room: &mut Room, out: &mut (Vec<[I; 2]>, Vec<u64>)| {
                let slice = ranked.slice(g);
                let stored = self.stored(&slice, room);
                self.around_fill(&slice, (slices.ends[g], length), stored, &mut out.0);
                self.with_fill(&slice, length, stored, &mut out.1);
            };
            self.each(&slices, &place).into_iter().unzip()
        };
        let rows = Strided::from_vec(bytemuck::cast_vec::<u64, i64>(places.concat()), vec![slices.len(), length]);
        let places = slices.along(rows, self.numbers(x, length))?;
        Ok((self.put(slices, moved.concat(), length)?, places))
    }

    /// All elements of an array in order: by their keys alone, from which the elements are made again.
    fn all_of(&self, s: &Strided) -> Result<Tensor> {
        let n = s.shape[self.axis];
        let narrow = Narrow::of(s.dtype, n);
        self.rows(s, s.dtype, &|source, out| match (narrow, source.len() / s.dtype.size()) {
            (Some(narrow), _) => narrow.several(self, n, source, out),
            (None, one) if one == n && n > SHORT => self.one(s.dtype, source, out),
            _ => self.several(s.dtype, n, source, out),
        })
    }

    /// Where all elements of an array in order were: keys are sorted, and numbers with them.
    fn all_places(&self, s: &Strided) -> Result<Tensor> {
        let n = s.shape[self.axis];
        let narrow = Narrow::of_places(s.dtype, n);
        self.rows(s, DType::I64, &|source, out| {
            let numbers = bytemuck::cast_slice_mut::<u8, u64>(out);
            if let Some(narrow) = narrow {
                return narrow.places(self, n, source, numbers);
            }
            let mut keys = zeroed_vec(source.len() / s.dtype.size());
            self.ranks(s.dtype, source, &mut keys);
            let first = u64::from(faults::is(Fault::PlacesUncounted));
            if keys.len() > n {
                for (keys, numbers) in keys.chunks_exact_mut(n).zip(numbers.chunks_exact_mut(n)) {
                    numbers.iter_mut().zip(first..).for_each(|(number, i)| *number = i);
                    ranking::sort_numbered(keys, numbers);
                }
                return;
            }
            parallel::for_chunks_mut(numbers, 1, GRAIN, &|start, numbers| {
                let start = if first > 0 { first } else { start as u64 };
                numbers.iter_mut().zip(start..).for_each(|(number, i)| *number = i);
            });
            parallel::sort_numbered(&mut keys, numbers);
        })
    }

    /// What `f` writes for one or several slices of an array, of which it gets the elements.
    fn rows(&self, s: &Strided, dtype: DType, f: &(dyn Fn(&[u8], &mut [u8]) + Sync)) -> Result<Tensor> {
        ordered(s.dtype)?;
        raise(Work::Specialised);
        let turned = s.axis_last(self.axis);
        let (source, n) = (turned.dense_bytes()?, s.shape[self.axis]);
        let (from, to) = (n * s.dtype.size(), n * dtype.size());
        convert::dense_len(&s.shape, DType::U64)?;
        let buffer = Buffer::filled(s.len() * dtype.size(), dtype.size(), |out| {
            // One slice is all there is: threads share it.
            if out.len() == to {
                return f(&source, out);
            }
            // Keys of several short ones stay in the second-level cache.
            let grain = (GRAIN / 2 / n.max(1)).max(1);
            parallel::for_chunks_mut(out, to, grain, &|first, out| {
                f(&source[first * from..][..out.len() / to * from], out);
            });
        })?;
        self.axis_back(&Strided::new(buffer, dtype, turned.shape.clone()))
    }

    /// An array that has the axis last, with the axis where it belongs.
    fn axis_back(&self, turned: &Strided) -> Result<Tensor> {
        Ok(Tensor::from_strided(turned.axis_back(self.axis).to_contiguous()?.into_owned()))
    }

    /// The elements of each of several slices in order.
    fn several(&self, dtype: DType, n: usize, source: &[u8], out: &mut [u8]) {
        let size = dtype.size();
        let mut keys = zeroed_vec::<u64>(source.len() / size);
        order::keys(dtype, source, &mut keys);
        // Whether every element is the one that its key stands for: all but zeros with a sign, and other NaN.
        order::values(dtype, &keys, out);
        let is_plain = out == source;
        self.reverse(&mut keys);
        short_rows::sort(&mut keys, n);
        self.reverse(&mut keys);
        order::values(dtype, &keys, out);
        if !is_plain {
            self.rows_as_they_were(dtype, n, source, out);
        }
    }

    /// The first few elements of each slice of an array, in order, and where they were.
    fn few_of(&self, s: &Strided) -> Result<(Tensor, Tensor)> {
        ordered(s.dtype)?;
        raise(Work::Specialised);
        let turned = s.axis_last(self.axis);
        let (source, n, limit, size) = (turned.dense_bytes()?, s.shape[self.axis], self.limit, s.dtype.size());
        convert::dense_len(&s.shape, DType::U64)?;
        let found = s.len() / n * limit;
        let first = u64::from(faults::is(Fault::PlacesUncounted));
        let mut places = Scratch::<u64>::any(found);
        let values = Buffer::filled(found * size, size, |out| {
            let grain = (GRAIN / 2 / n).max(1);
            let pieces = out.chunks_mut(grain * limit * size).zip(places.chunks_mut(grain * limit)).collect();
            parallel::for_each(pieces, &|piece, (out, places): (&mut [u8], &mut [u64])| {
                let rows = piece * grain..piece * grain + places.len() / limit;
                let source = &source[rows.start * n * size..rows.end * n * size];
                let (mut keys, mut few) = (zeroed_vec::<u64>(rows.len() * n), Vec::new());
                order::keys(s.dtype, source, &mut keys);
                let slices = keys.chunks_exact(n).zip(source.chunks_exact(n * size));
                for ((keys, source), (out, places)) in
                    slices.zip(out.chunks_exact_mut(limit * size).zip(places.chunks_exact_mut(limit)))
                {
                    ranking::first_few(keys, self.rank(0), limit, &mut few);
                    for ((&(_, at), out), place) in few.iter().zip(out.chunks_exact_mut(size)).zip(places) {
                        out.copy_from_slice(&source[at * size..(at + 1) * size]);
                        *place = at as u64 + first;
                    }
                }
            });
        })?;
        let mut shape = turned.shape.clone();
        shape[s.ndim() - 1] = limit;
        let places = Strided::new(Buffer::from_block(places.into_block()), DType::I64, shape.clone());
        Ok((self.axis_back(&Strided::new(values, s.dtype, shape))?, self.axis_back(&places)?))
    }

    /// The ranks of elements.
    fn ranks(&self, dtype: DType, source: &[u8], out: &mut [u64]) {
        parallel::for_chunks_mut(out, 1, GRAIN, &|start, out| {
            order::keys(dtype, &source[start * dtype.size()..(start + out.len()) * dtype.size()], out);
            self.reverse(out);
        });
    }

    /// Makes ranks of keys, and keys of ranks.
    fn reverse(&self, keys: &mut [u64]) {
        if self.descending {
            keys.iter_mut().for_each(|key| *key = !*key);
        }
    }

    /// The elements of one slice in order.
    fn one(&self, dtype: DType, source: &[u8], out: &mut [u8]) {
        let size = dtype.size();
        // Ranks of which the elements are made a stretch at a time; where they have the same size, in the same place.
        if let (8, Ok(ranks)) = (size, bytemuck::try_cast_slice_mut::<u8, u64>(out)) {
            self.ranks(dtype, source, ranks);
            parallel::sort_then(ranks, &|ranks| {
                let mut own = [0; STRETCH];
                for ranks in ranks.chunks_mut(STRETCH) {
                    let own = &mut own[..ranks.len()];
                    own.copy_from_slice(ranks);
                    self.reverse(own);
                    order::values(dtype, own, bytemuck::cast_slice_mut(ranks));
                }
            });
        } else {
            let mut keys = zeroed_vec(source.len() / size);
            self.ranks(dtype, source, &mut keys);
            parallel::sort(&mut keys);
            parallel::for_chunks_mut(&mut keys, 1, GRAIN, &|_, keys| self.reverse(keys));
            let keys = &keys[..];
            parallel::for_chunks_mut(out, size, GRAIN, &|start, out| {
                order::values(dtype, &keys[start..start + out.len() / size], out);
            });
        }
        self.as_they_were(dtype, source, out);
    }

    fn sorted_values(&self, x: &Tensor) -> Result<Tensor> {
        if let Some(done) = self.where_they_lie(x)? {
            return Ok(done);
        }
        let slices = Slices::of(x, &[self.axis])?;
        if self.is_narrow(&slices) { self.values_by::<u32>(slices) } else { self.values_by::<u64>(slices) }
    }

    fn values_by<I: Index>(&self, slices: Slices) -> Result<Tensor> {
        let length = self.length(&slices);
        let moved = {
            let ranked = Ranked::of(&slices)?;
            let place = |g: usize, room: &mut Room, out: &mut Vec<[I; 2]>| {
                let slice = ranked.slice(g);
                let stored = self.stored(&slice, room);
                self.around_fill(&slice, (slices.ends[g], length), stored, out);
            };
            self.each(&slices, &place).concat()
        };
        self.put(slices, moved, length)
    }

    /// Which elements of a slice, the first of which has a number, come to which of the first `length` places.
    fn around_fill<I: Index>(
        &self,
        slice: &Slice<'_>,
        (first, length): (usize, usize),
        stored: &[usize],
        out: &mut Vec<[I; 2]>,
    ) {
        let (_, front) = self.before_fill(slice, stored);
        let behind = slice.unstored() as usize;
        for (i, &e) in stored.iter().enumerate() {
            let at = if i < front { i } else { i + behind };
            if at < length {
                out.push([I::new(first + e), I::new(at)]);
            }
        }
    }

    /// Elements of all slices at places along the axis.
    fn put<I: Index>(&self, slices: Slices, moved: Vec<[I; 2]>, length: usize) -> Result<Tensor> {
        let values = convert::gather_values(&slices.values, &I::vec(moved.iter().map(|m| m[0]).collect()))?;
        let fill = slices.fill_along(length);
        slices.rearranged(moved, length, values, fill)
    }

    /// Where the elements in order were.
    fn places(&self, x: &Tensor) -> Result<Tensor> {
        if x.strided().is_some_and(|s| s.len() == 0) {
            return self.values(x)?.cast(DType::I64);
        }
        if let Some(dense) = self.dense(x)? {
            return self.places(&dense);
        }
        if let Some((s, place)) = self.in_rows(x)? {
            let rows = Order { axis: place, ..*self }.places(&Tensor::from_strided(s.values.clone()))?;
            let fill = if s.fill.is_undefined() {
                Fill::Undefined
            } else {
                self.numbers(x, self.limit.min(x.shape()[self.axis]))
            };
            return Ok(self.of_rows(&s, &rows, fill));
        }
        if let Some(s) = x.strided().filter(|s| self.limit > 0 && s.shape[self.axis] == 1) {
            ordered(s.dtype)?;
            return Ok(Tensor::from_strided(zeros(&s.shape)?));
        }
        if let Some(s) = x.strided().filter(|s| self.limit >= s.shape[self.axis]) {
            return self.all_places(s);
        }
        if let Some(turned) = self.turned(x)? {
            let out = self.sorted_places(&turned)?;
            // With a defined fill, the layout is that of the slices.
            return if x.fill().is_some_and(Fill::is_undefined) { like(&out, x) } else { Ok(out) };
        }
        self.sorted_places(x)
    }

    fn sorted_places(&self, x: &Tensor) -> Result<Tensor> {
        let slices = Slices::of(x, &[self.axis])?;
        let length = self.length(&slices);
        if slices.is_sparse() && !slices.is_undefined() {
            slices.may_fill(length, i64::DTYPE)?;
            convert::dense_len(&[length], i64::DTYPE)?;
            let places = {
                let ranked = Ranked::of(&slices)?;
                let place = |g: usize, room: &mut Room, out: &mut Vec<u64>| {
                    let slice = ranked.slice(g);
                    self.with_fill(&slice, length, self.stored(&slice, room), out);
                };
                self.each(&slices, &place).concat()
            };
            let rows = Strided::from_vec(bytemuck::cast_vec::<u64, i64>(places), vec![slices.len(), length]);
            return slices.along(rows, self.numbers(x, length));
        }
        if self.is_narrow(&slices) { self.places_by::<u32>(slices) } else { self.places_by::<u64>(slices) }
    }

    fn places_by<I: Index>(&self, slices: Slices) -> Result<Tensor> {
        let length = self.length(&slices);
        let moved = {
            let ranked = Ranked::of(&slices)?;
            let place = |g: usize, room: &mut Room, out: &mut Vec<[I; 2]>| {
                let stored = self.stored(&ranked.slice(g), room);
                let own = stored.iter().zip(0..length);
                out.extend(own.map(|(&e, i)| [I::new(slices.ends[g] + e), I::new(i)]));
            };
            self.each(&slices, &place).concat()
        };
        let from: Vec<i64> = {
            let positions = slices.positions();
            moved.iter().map(|m| positions.of(m[0].get()) as i64).collect()
        };
        let values = Strided::from_vec(from, vec![moved.len()]);
        slices.rearranged(moved, length, values, Fill::Undefined)
    }

    /// Whether numbers of elements, and places, fit 32 bits.
    fn is_narrow(&self, slices: &Slices) -> bool {
        slices.values.len().max(self.length(slices)) < 1 << 31
    }

    /// The numbers along the axis, as a fill.
    fn numbers(&self, x: &Tensor, length: usize) -> Fill {
        let mut shape = vec![1; x.ndim()];
        shape[self.axis] = length;
        match length {
            0 => Fill::Scalar(0i64.to_scalar()),
            _ => fill_of(&Strided::from_vec((0..length as i64).collect(), shape)),
        }
    }

    /// The places of a slice's elements in order, stored or not, up to `length`.
    fn with_fill(&self, slice: &Slice<'_>, length: usize, stored: &[usize], out: &mut Vec<u64>) {
        let end = out.len() + length;
        let (below, equal) = self.before_fill(slice, stored);
        let at = |i: &usize| slice.position(*i) as u64;
        out.extend(stored[..below].iter().take(length).map(at));
        // What equals the fill stands among it, each at its place.
        let mut same = stored[below..equal].iter().map(at).peekable();
        let mut gap = 0;
        while out.len() < end && (gap < slice.unstored() || same.peek().is_some()) {
            let unstored = (gap < slice.unstored()).then(|| slice.gap(gap) as u64);
            match (unstored, same.peek()) {
                (Some(free), Some(&own)) if own < free => out.extend(same.next()),
                (Some(free), _) => {
                    out.push(free);
                    gap += 1;
                }
                (None, _) => out.extend(same.next()),
            }
        }
        let left = end - out.len();
        out.extend(stored[equal..].iter().take(left).map(at));
    }

    /// Runs `place` on every slice that stores something: the lists of pieces of slices, in their order.
    fn each<T: Default + Send>(&self, slices: &Slices, place: &(dyn Fn(usize, &mut Room, &mut T) + Sync)) -> Vec<T> {
        let n = slices.len();
        let grain = (GRAIN * n / slices.values.len().max(1)).clamp(1, GRAIN);
        parallel::map_chunks(n, grain, &|range| {
            // Slices are often short: what each needs is there once.
            let (mut room, mut out) = (Room::default(), T::default());
            range.for_each(|g| place(g, &mut room, &mut out));
            out
        })
    }
}

/// A matrix in the layout of another.
fn like(x: &Tensor, other: &Tensor) -> Result<Tensor> {
    match (x.sparse(), other.sparse()) {
        (Some(s), Some(other)) => Ok(convert::convert(s, &other.pattern.spec())?.into()),
        _ => Ok(x.clone()),
    }
}
