//! Places among sorted elements, and counts of elements in bins.

use openwork_ops::cast::cast_block;
use openwork_ops::structure::bins::Bins;
use openwork_ops::structure::keys::KeyLayout;
use openwork_ops::structure::tally::tally;
use openwork_ops::{DType, ReduceOp, Scalar, order, promote};

use super::{all, all_in_any_order, int64, map_keys, whole};
use crate::base::buffer::Buffer;
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::pages::Scratch;
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::convert;
use crate::engine::fold::Fold;
use crate::engine::slices::{Need, Ranked, Slices, keys_of, number_of, ordered, table};
use crate::family::make::ranges::spaced;
use crate::levels::layout::Layout;
use crate::levels::level::Level;
use crate::levels::pattern::{Dim, Pattern};
use crate::levels::sort;
use crate::tensor::fill::Fill;
use crate::tensor::index_array::IndexArray;
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// Elements that are searched for at a time: their keys and places lie close by meanwhile.
const SEARCHED: usize = 1 << 10;

/// # Counting, searching, histograms
impl Tensor {
    /// For each element of `values`, the index at which inserting it keeps this vector sorted: before
    /// those equal to it. `int64`, of the shape, pattern and kind of fill of `values`.
    ///
    /// That is the number of elements less than it. The fill is treated as one block; its elements are never visited one by
    /// one. NaN is greater than every number; absent elements of the vector do not count.
    ///
    /// Cost: O((nse + nse of the values) log nse).
    ///
    /// ```
    /// use openwork::tensor;
    /// let edges = tensor![0.0, 10.0, 20.0];
    /// assert_eq!(edges.searchsorted(&tensor![5.0, 10.0, 25.0])?.to_vec::<i64>()?, [1, 1, 3]);
    /// assert_eq!(edges.searchsorted_right(&tensor![5.0, 10.0, 25.0])?.to_vec::<i64>()?, [1, 2, 3]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If this is not a vector, the dtypes have no common one, or it is complex.
    #[doc(alias("bucketize"))]
    pub fn searchsorted(&self, values: &Tensor) -> Result<Tensor> {
        let call = trace::call("searchsorted", &[self, values]);
        call.end(self.search(values, false))
    }

    /// For each element of `values`, the index after the elements equal to it at which inserting it keeps this vector
    /// sorted: the number of elements not greater. Else as [`Tensor::searchsorted`].
    ///
    /// # Errors
    /// As [`Tensor::searchsorted`].
    pub fn searchsorted_right(&self, values: &Tensor) -> Result<Tensor> {
        let call = trace::call("searchsorted_right", &[self, values]);
        call.end(self.search(values, true))
    }

    fn search(&self, values: &Tensor, right: bool) -> Result<Tensor> {
        if self.ndim() != 1 {
            return Err(error::shape(&[self.shape()], "the sorted elements must be a vector, of one axis"));
        }
        let dtypes = [self.dtype(), values.dtype()];
        let dtype = promote(dtypes[0], dtypes[1])
            .ok_or_else(|| error::dtype(&dtypes, "no dtype holds the values of both; cast one side"))?;
        let sorted = self.cast(dtype)?;
        let slices = all(&sorted)?;
        let ranked = Ranked::of(&slices)?;
        let slice = whole(&ranked);
        let sorted = slice.as_ref().map(|s| s.sorted());
        let places = |keys: &mut [u64]| -> Result<()> {
            for keys in keys.chunks_mut(SEARCHED) {
                let before = |&key: &u64| if right { Some(key) } else { key.checked_sub(1) };
                let up_to: Vec<u64> = keys.iter().map(|key| before(key).unwrap_or_default()).collect();
                match &sorted {
                    None => keys.fill(0),
                    Some(sorted) => {
                        for (key, n) in keys.iter_mut().zip(sorted.ranks(&up_to)) {
                            *key = if before(key).is_some() { int64("place", n)? as u64 } else { 0 };
                        }
                    }
                }
            }
            Ok(())
        };
        map_keys(values, &|x| keys_of(&x.cast(dtype)), &places)
    }

    /// How often each integer from 0 occurs: a vector, `int64`, of length `max + 1`, or at least
    /// `minlength`. With weights, of the operand's shape: the sum of the weights where it occurs.
    ///
    /// Of a sparse operand the result is sparse, with fill 0: it stores as many elements as there are distinct ones. Absent
    /// elements, and absent weights, do not count. Cost: O(nse log nse).
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![1, 3, 1];
    /// assert_eq!(x.bincount(None, 0)?.to_vec::<i64>()?, [0, 2, 0, 1]);
    /// assert_eq!(x.bincount(Some(&tensor![0.5, 2.0, 0.25]), 0)?.to_vec::<f64>()?, [0.0, 0.75, 0.0, 2.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the dtype is no integer, an element is negative, the weights have another shape or are bool, or a count does not
    /// fit `int64`. With weights, if a fill varies and the densify budget is exceeded.
    pub fn bincount(&self, weights: Option<&Tensor>, minlength: usize) -> Result<Tensor> {
        let call = trace::call("bincount", &[self]);
        if !self.dtype().is_int() {
            return Err(error::dtype(&[self.dtype()], "only integers have bins; cast first"));
        }
        let tallied = if weights.is_none() { tallied(self, minlength)? } else { None };
        let out = match (weights, tallied) {
            (Some(weights), _) => weighted(self, weights, minlength)?,
            (None, Some(out)) => out,
            (None, None) => {
                let slices = all_in_any_order(self)?;
                let (mut bins, mut counts) = (Vec::new(), Vec::new());
                if let Some(sorted) = Ranked::of(&slices)?.sort_whole() {
                    sorted.each_distinct(&mut |key, n| {
                        bins.push(bin(self.dtype(), key)?);
                        counts.push(int64("count", n)?);
                        Ok(())
                    })?;
                }
                let n = counts.len();
                binned(self, bins, Strided::from_vec(counts, vec![n]), minlength)?
            }
        };
        Ok(call.done(out))
    }

    /// How many elements fall into each of `bins` equal parts of a range (`None`: from the least to the greatest element):
    /// the counts, `int64`, and the `bins + 1` edges, `float64`.
    ///
    /// The edges are those of [`Tensor::linspace`]. Each bin holds its lower edge, the last both. Elements outside the range do not count, nor NaN, nor what is absent.
    /// A range of one point reaches half a unit to both sides; that of no elements is 0 to 1, as NumPy has it. Elements are
    /// compared as `float64`. Cost: O(nse + bins); O(nse log nse + bins log nse) over a fill that varies, and of fewer elements than bins.
    ///
    /// ```
    /// use openwork::tensor;
    /// let (counts, edges) = tensor![0.0, 1.0, 1.5, 4.0].histogram(2, None)?;
    /// assert_eq!((counts.to_vec::<i64>()?, edges.to_vec::<f64>()?), (vec![3, 1], vec![0.0, 2.0, 4.0]));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `bins` is 0, the range is not finite or falls, the dtype is complex, or a count does not fit `int64`.
    #[doc(alias("histc"))]
    pub fn histogram(&self, bins: usize, range: Option<(f64, f64)>) -> Result<(Tensor, Tensor)> {
        let call = trace::call("histogram", &[self]);
        if bins == 0 {
            return Err(error::invalid("bins", "0 is given, allowed is 1 and more"));
        }
        convert::dense_len(&[bins.saturating_add(1)], DType::F64)?;
        ordered(self.dtype())?;
        if let Some((counts, edges)) = in_bins(self, bins, range)? {
            let [counts, edges] = [Strided::from_vec(counts, vec![bins]), Strided::from_vec(edges, vec![bins + 1])];
            return Ok(call.done((Tensor::from_strided(counts), Tensor::from_strided(edges))));
        }
        let x = self.cast(DType::F64)?;
        let slices = all_in_any_order(&x)?;
        let mut ranked = Ranked::of(&slices)?;
        let sorted = ranked.sort_whole().filter(|s| s.present() > 0);
        let (low, high) = match (range, &sorted) {
            (Some(range), _) => range,
            (None, None) => (0.0, 1.0),
            (None, Some(s)) => {
                let at = |k| number_of(DType::F64, s.select(k));
                (at(0), at(s.present() - 1))
            }
        };
        let (low, high) = widened(low, high, range.is_some())?;
        let edges = spaced(low, high, bins + 1);
        let rank = |key: u64| sorted.as_ref().map_or(0, |s| s.rank(key));
        // No key is 0, which only a NaN with its sign would have.
        let below =
            |i: usize| if i == bins { rank(order::of_float(high)) } else { rank(order::of_float(edges[i]) - 1) };
        let mut last = below(0);
        let mut counts = Vec::with_capacity(bins);
        for i in 1..=bins {
            let next = below(i);
            counts.push(int64("count", next.saturating_sub(last))?);
            last = next.max(last);
        }
        let vector = |x: Strided| Tensor::from_strided(x);
        let counts = vector(Strided::from_vec(counts, vec![bins]));
        Ok(call.done((counts, vector(Strided::from_vec(edges, vec![bins + 1])))))
    }
}

/// The ends of a range that bins divide: of one point half a unit to both sides.
///
/// # Errors
/// If it is not finite, or falls.
fn widened(low: f64, high: f64, is_given: bool) -> Result<(f64, f64)> {
    if !(low.is_finite() && high.is_finite() && low <= high) {
        let what = if is_given { "is given" } else { "is that of the elements" };
        return Err(error::invalid("range", format_args!("{low} to {high} {what}, allowed are finite ones that rise")));
    }
    Ok(if low == high { (low - 0.5, high + 0.5) } else { (low, high) })
}

/// The histogram of more stored elements than there are bins: each is put into the bin that its distance from the least edge
/// says, or, where rounding says otherwise, into one beside it; the fill goes into its own as often as it is there. `None` elsewhere,
/// over a fill that varies, where edges are all but the same, and where the range is asked of elements of which one is NaN.
fn in_bins(x: &Tensor, bins: usize, range: Option<(f64, f64)>) -> Result<Option<(Vec<i64>, Vec<f64>)>> {
    const PIECE: usize = 1 << 9;
    let (s, fill) = match &x.storage {
        Storage::Strided(s) => (s.clone(), None),
        Storage::Sparse(s) => {
            let s = convert::coalesce(s, ReduceOp::Sum)?;
            let fill = match &s.fill {
                Fill::Scalar(value) => Some((value.to::<f64>(), x.size() - s.nse() as u128)),
                Fill::Undefined => None,
                Fill::Array(_) => return Ok(None),
            };
            (s.values, fill)
        }
    };
    if s.len() <= bins || s.len() <= PIECE {
        return Ok(None);
    }
    let (low, high) = match range {
        Some(range) => range,
        None => {
            let end = |op| x.reduce(op, ..)?.cast(DType::F64)?.item_as::<f64>();
            (end(ReduceOp::Min)?, end(ReduceOp::Max)?)
        }
    };
    if range.is_none() && low.is_nan() {
        return Ok(None);
    }
    let (low, high) = widened(low, high, range.is_some())?;
    // Edges so near each other that several may be the same number.
    if (high - low) / bins as f64 <= 1e-12 * low.abs().max(high.abs()) {
        return Ok(None);
    }
    let edges = spaced(low, high, bins + 1);
    let Some(found) = Bins::new(&edges) else { return Ok(None) };
    let (bytes, size) = (s.dense_bytes()?, s.dtype.size());
    let count = |share: std::ops::Range<usize>| {
        found.counts(share.len(), &|start, numbers| {
            let first = (share.start + start) * size;
            cast_block(s.dtype, &bytes[first..][..numbers.len() * size], DType::F64, bytemuck::cast_slice_mut(numbers));
        })
    };
    // A table for each of a few shares, added up.
    let shares = parallel::threads().min(s.len() / bins.max(parallel::GRAIN)).clamp(1, 16);
    let mut tables = parallel::map_chunks(s.len(), s.len().div_ceil(shares), &count).into_iter();
    let mut counts = tables.next().unwrap_or_default();
    for table in tables {
        counts.iter_mut().zip(table).for_each(|(all, own)| *all += own);
    }
    if let Some((value, times)) = fill.filter(|&(_, times)| times > 0)
        && let Some(at) = found.of(value)
    {
        counts[at] = int64("count", counts[at] as u128 + times)?;
    }
    Ok(Some((counts, edges)))
}

/// The bin of an integer, given by its key.
fn bin(dtype: DType, key: u64) -> Result<u64> {
    let mut word = [0u64];
    let bytes = &mut bytemuck::cast_slice_mut(&mut word)[..dtype.size()];
    order::values(dtype, &[key], bytes);
    let value = Scalar::from_bytes(dtype, bytes).as_integer().unwrap_or_default();
    u64::try_from(value)
        .map_err(|_| error::invalid("self", format_args!("there is an element {value}, allowed is 0 and more")))
}

/// Elements for each bin of a share: each has a table of its own.
const TERMS: usize = 1;

/// The counts of the integers of an array, where these are less than there are elements; `None` elsewhere.
fn tallied(x: &Tensor, minlength: usize) -> Result<Option<Tensor>> {
    let Some(s) = x.strided().filter(|s| s.len() > 0) else { return Ok(None) };
    let (dtype, bytes) = (s.dtype, s.dense_bytes()?);
    let size = dtype.size();
    let values = |range: std::ops::Range<usize>| &bytes[range.start * size..range.end * size];
    // A piece of keys at a time, which stays in the first-level cache.
    const PIECE: usize = 1 << 9;
    let each = |range: std::ops::Range<usize>, f: &mut dyn FnMut(&[u64])| {
        let mut keys = [0; PIECE];
        for start in range.clone().step_by(PIECE) {
            let piece = start..(start + PIECE).min(range.end);
            let keys = &mut keys[..piece.len()];
            order::keys(dtype, values(piece), keys);
            f(keys);
        }
    };
    let ends = |range| {
        let mut ends = (u64::MAX, 0u64);
        each(range, &mut |keys| {
            let (least, greatest) = order::least_and_greatest(keys);
            ends = (least.min(ends.0), greatest.max(ends.1));
        });
        ends
    };
    let of_pieces = parallel::map_chunks(s.len(), parallel::GRAIN, &ends);
    let least = of_pieces.iter().map(|e| e.0).min().unwrap_or(0);
    let greatest = of_pieces.iter().map(|e| e.1).max().unwrap_or(0);
    bin(dtype, least)?;
    let zero = if dtype.is_unsigned() { 0 } else { 1 << 63 };
    let bins = usize::try_from(greatest - zero).unwrap_or(usize::MAX);
    if bins >= s.len().min(1 << 31) {
        return Ok(None);
    }
    let shape = [(bins + 1).max(minlength)];
    convert::dense_len(&shape, DType::I64)?;
    // A table for each of a few shares, added up; fewer where it is large beside them.
    let shares = parallel::threads().min(s.len() / (TERMS * (bins + 1))).clamp(1, 16);
    let all = shape[0];
    let mut tables = parallel::map_chunks(s.len(), s.len().div_ceil(shares), &|share| {
        // Of the first the result is made.
        let mut counts = Scratch::<i64>::any(if share.start == 0 { all } else { bins + 1 });
        counts.fill(0);
        tally(dtype, values(share), &mut counts);
        counts
    });
    let mut counts = tables.swap_remove(0);
    parallel::for_chunks_mut(&mut counts, 1, parallel::GRAIN, &|first, counts| {
        for table in &tables {
            let own = &table[first.min(table.len())..];
            counts.iter_mut().zip(own).for_each(|(all, own)| *all += own);
        }
    });
    Ok(Some(Tensor::from_strided(Strided::new(Buffer::from_block(counts.into_block()), DType::I64, &shape[..]))))
}

/// The vector that has `values` at rising `bins`, and 0 elsewhere.
fn binned(x: &Tensor, bins: Vec<u64>, values: Strided, minlength: usize) -> Result<Tensor> {
    let length = bins.last().map_or(Some(0), |&b| usize::try_from(b).ok().and_then(|b| b.checked_add(1)));
    let length = length.ok_or_else(|| {
        error::invalid("self", "there is an element 2^64 − 1, whose vector would be too long for an index")
    })?;
    let shape = [length.max(minlength)];
    let dtype = values.dtype;
    let out = Tensor::coo(shape, vec![bins], &Tensor::from_strided(values), Fill::Scalar(Scalar::zero(dtype)))?;
    if !x.is_strided() {
        return Ok(out);
    }
    convert::dense_len(&shape, dtype)?;
    out.to_layout(Layout::Strided)
}

/// Zeros with the pattern and the kind of fill of a tensor.
fn zeros_like(x: &Tensor, dtype: DType) -> Result<Tensor> {
    let zero = Scalar::zero(dtype);
    Ok(match &x.storage {
        Storage::Strided(s) => Tensor::from_strided(Strided::constant(zero, &s.shape)),
        Storage::Sparse(s) => {
            let s = convert::coalesce(s, ReduceOp::Sum)?;
            let fill = if s.fill.is_undefined() { Fill::Undefined } else { Fill::Scalar(zero) };
            Sparse { values: Strided::constant(zero, &s.values.shape), fill, ..s }.into()
        }
    })
}

/// A tensor as dense as it must be for its fill to be one value, or none.
fn with_one_fill(x: &Tensor) -> Result<Tensor> {
    let Some(s) = x.sparse() else { return Ok(x.clone()) };
    let Some(fill) = s.fill_values() else { return Ok(x.clone()) };
    if fill.unbroadcast().len() <= 1 {
        return Ok(x.clone());
    }
    context::may_densify(&s.shape, s.dtype().size(), || {
        "with weights, a fill that varies is looked through element by element".to_string()
    })?;
    Ok(Tensor::from_strided(convert::to_strided(s, &fill)?))
}

fn weighted(x: &Tensor, weights: &Tensor, minlength: usize) -> Result<Tensor> {
    if weights.shape() != x.shape() {
        return Err(error::shape(&[x.shape(), weights.shape()], "the weights must have the shape of the elements"));
    }
    let fold = Fold::new(ReduceOp::Sum, weights.dtype())?;
    if let Some(out) = sums_of_columns(&fold, x, weights, minlength)? {
        return Ok(out);
    }
    // Both on the pattern where either stores something: adding zeros changes nothing else.
    let (x, w) = (with_one_fill(x)?, with_one_fill(weights)?);
    let both = if x.is_strided() && w.is_strided() {
        [x.clone(), w]
    } else {
        // The elements are on the left in both, so that both get one pattern.
        let both = [x.add(&zeros_like(&w, x.dtype())?)?, zeros_like(&x, w.dtype())?.add(&w)?];
        [with_one_fill(&both[0])?, with_one_fill(&both[1])?]
    };
    // A fill that varied is now dense; then the other has to be.
    let dense = both.iter().any(Tensor::is_strided) && !both.iter().all(Tensor::is_strided);
    let both = if dense { [densified(&both[0])?, densified(&both[1])?] } else { both };
    let [slices, of_weights]: [Slices; 2] = [all(&both[0])?, all(&both[1])?];
    let (mut keys, fill) = {
        let ranked = Ranked::of(&slices)?;
        whole(&ranked).map_or((Vec::new(), None), |s| {
            let fill = match s.rest {
                crate::engine::slices::Rest::Constant { key } if s.unstored() > 0 => Some((key, s.unstored())),
                _ => None,
            };
            (s.keys.to_vec(), fill)
        })
    };
    // From the least on, so that the keys have few bits and their places beside them.
    let least = keys.iter().copied().min().unwrap_or_default();
    keys.iter_mut().for_each(|key| *key -= least);
    let bins = keys.iter().copied().max().unwrap_or_default().saturating_add(1) as usize;
    let sorted = sort::sort_keys(&KeyLayout::new(&[bins]), vec![keys]);
    let mut ends = sort::runs(&sorted.words);
    let keys = sorted.words.into_iter().next().unwrap_or_default();
    let mut distinct: Vec<u64> = ends[..ends.len() - 1].iter().map(|&e| keys[e] + least).collect();
    drop(keys);
    let terms = convert::gather_values(&of_weights.values, &sorted.order)?.cast(fold.typing.input);
    // The fill's bin: its own segment, empty if no stored element falls into it.
    let at = fill.map(|(key, _)| distinct.partition_point(|&k| k < key));
    if let (Some(at), Some((key, _))) = (at, fill)
        && distinct.get(at) != Some(&key)
    {
        distinct.insert(at, key);
        ends.insert(at, ends[at]);
    }
    let mut sums = fold.segments(&terms.dense_bytes()?, &ends)?;
    if let (Some(at), Some((_, unstored)), Some(weight)) = (at, fill, of_weights.fill())
        && let Some(bytes) = sums.unique_mut()
    {
        let value = weight.at_offset(weight.offset).cast(fold.typing.input);
        let (more, size) = (fold.kernels.nfold)(value, unstored).to_bytes();
        let mut word = [0u128];
        let aligned = &mut bytemuck::cast_slice_mut::<u128, u8>(&mut word)[..size];
        aligned.copy_from_slice(&more[..size]);
        (fold.kernels.merge)(&mut bytes[at * size..(at + 1) * size], aligned);
    }
    let n = distinct.len();
    let sums = Strided::new(sums, fold.typing.acc, vec![n]).cast(fold.typing.out);
    let bins = distinct.try_mapped(|&key| bin(x.dtype(), key))?;
    binned(&both[0], bins, sums, minlength)
}

/// The sums of the weights of an array's integers, where these are less than there are elements; `None` elsewhere, and where one is
/// negative: those of the columns of a matrix in whose rows each weight stands where its integer says.
fn sums_of_columns(fold: &Fold, x: &Tensor, weights: &Tensor, minlength: usize) -> Result<Option<Tensor>> {
    let (Some(x), Some(weights)) = (x.strided(), weights.strided()) else { return Ok(None) };
    let n = x.len();
    let columns = IndexArray::from(&Tensor::from_strided(x.reshape(&[n])?));
    let Some(columns) = columns.as_indices().filter(|columns| !columns.is_wide()) else { return Ok(None) };
    let bins = (columns.limit() as usize).max(minlength);
    if bins >= n {
        return Ok(None);
    }
    let pattern = Pattern {
        levels: vec![Level::Dense, Level::Singleton { indices: columns.clone() }],
        dims: vec![Dim::whole(0, n), Dim::whole(1, bins)],
        level_dims: 2,
        positions: n,
    };
    let values = weights.reshape(&[n])?;
    let matrix = Sparse { shape: [n, bins][..].into(), pattern: pattern.into(), values, fill: Fill::Undefined };
    let Some(mut table) = table(fold, &matrix, &[1], Need::Folds)? else { return Ok(None) };
    table.put_empty(Scalar::zero(fold.typing.acc));
    Ok(Some(Tensor::from_strided(table.acc.cast(fold.typing.out))))
}

/// The strided form, within the budget; absent elements stay absent.
fn densified(x: &Tensor) -> Result<Tensor> {
    let Some(s) = x.sparse() else { return Ok(x.clone()) };
    let Some(fill) = s.fill_values() else { return Ok(x.clone()) };
    context::may_densify(&s.shape, s.dtype().size(), || "with dense weights".to_string())?;
    Ok(Tensor::from_strided(convert::to_strided(s, &fill)?))
}
