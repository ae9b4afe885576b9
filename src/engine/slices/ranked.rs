//! Slices whose elements have an order: ranks, selection, and where an element comes first.

use openwork_ops::{DType, Element, Scalar, order};

use super::{Positions, Slices, VaryingFill};
use crate::base::buffer::zeroed_vec;
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::mapped::Mapped;
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, dense_len};

/// Slices with a key for each element: see [`openwork_ops::order`].
pub(crate) struct Ranked<'s> {
    slices: &'s Slices,
    /// Of the stored elements.
    keys: Vec<u64>,
    positions: Positions<'s>,
    rests: Rests,
    /// The kept axes as far as the fill varies along them: of size 1 where not.
    core: Vec<usize>,
}

/// What slices do not store.
enum Rests {
    /// Nothing: the tensor is strided, or its fill undefined.
    None,
    /// One key per slice; and one per element of the core over the kept axes.
    Constant { at: Vec<u64>, core: Vec<u64> },
    /// One order per element of the core; of each slice, which; of each stored element, the number of the fill's element
    /// beneath.
    Varying { orders: Vec<FillOrder>, at: Vec<u64>, beneath: Vec<u64> },
}

/// The fill of one slice, sorted once.
pub(crate) struct FillOrder {
    /// Keys with the numbers of their elements, sorted.
    pub(crate) sorted: Vec<(u64, u64)>,
    /// The distinct keys, rising, and how many elements have none above each.
    distinct: Vec<u64>,
    until: Vec<u64>,
    /// Keys by number.
    keys: Vec<u64>,
    /// How often each occurs: along reduced axes on which the fill is constant.
    pub(crate) times: u128,
    /// Size and step of each reduced axis, and whether the fill varies along it.
    axes: Vec<(u128, u128, bool)>,
}

impl FillOrder {
    /// How many elements of the whole fill have one of the first `n` keys.
    fn count(&self, n: usize) -> u128 {
        n.checked_sub(1).map_or(0, |last| u128::from(self.until[last]) * self.times)
    }

    /// Where the `t`-th occurrence of element `number` is, in C order.
    fn position(&self, number: u64, t: u128) -> u128 {
        let (mut number, mut t, mut at) = (u128::from(number), t, 0);
        for &(size, step, varies) in self.axes.iter().rev() {
            let rest = if varies { &mut number } else { &mut t };
            at += (*rest % size) * step;
            *rest /= size;
        }
        at
    }
}

/// Refuses dtypes without an order.
pub(crate) fn ordered(dtype: DType) -> Result<()> {
    if order::is_ordered(dtype) {
        return Ok(());
    }
    Err(error::dtype(&[dtype], "complex numbers have no order; take abs(), real() or imag() first"))
}

/// Keys of an array's elements in C order.
pub(crate) fn keys_of(x: &Strided) -> Result<Vec<u64>> {
    dense_len(&x.shape, DType::U64)?;
    Ok(keys_between(x.dtype, &x.dense_bytes()?, 0..x.len()))
}

/// Keys of a range of elements.
fn keys_between(dtype: DType, elements: &[u8], range: std::ops::Range<usize>) -> Vec<u64> {
    let size = dtype.size();
    let elements = &elements[range.start * size..range.end * size];
    let mut out = zeroed_vec(range.len());
    parallel::for_chunks_mut(&mut out, 1, GRAIN, &|start, out| {
        order::keys(dtype, &elements[start * size..(start + out.len()) * size], out);
    });
    out
}

impl<'s> Ranked<'s> {
    /// Slices by their elements; complex numbers have no order.
    pub(crate) fn of(slices: &'s Slices) -> Result<Ranked<'s>> {
        ordered(slices.values.dtype)?;
        Ranked::by(slices, &keys_of)
    }

    /// Slices by keys that `key` gives the elements of an array, in C order.
    pub(crate) fn by(slices: &'s Slices, key: &dyn Fn(&Strided) -> Result<Vec<u64>>) -> Result<Ranked<'s>> {
        Ok(Ranked { keys: key(&slices.values)?, ..Ranked::without_keys(slices, key)? })
    }

    fn without_keys(slices: &'s Slices, key: &dyn Fn(&Strided) -> Result<Vec<u64>>) -> Result<Ranked<'s>> {
        let (rests, core) = match (slices.fill(), slices.fill_over_kept()) {
            (None, _) => (Rests::None, vec![1; slices.kept.len()]),
            (_, Some(fill)) => {
                let core = fill.unbroadcast();
                (Rests::Constant { at: key(&slices.at_slices(&fill)?)?, core: key(&core)? }, core.shape.to_vec())
            }
            (Some(fill), None) => varying(slices, fill, key)?,
        };
        Ok(Ranked { slices, keys: Vec::new(), positions: slices.positions(), rests, core })
    }

    /// How many slices store anything.
    pub(crate) fn len(&self) -> usize {
        self.slices.len()
    }

    /// A slice that stores something.
    pub(crate) fn slice(&self, g: usize) -> Slice<'_> {
        self.slice_of(g, &self.keys[self.slices.ends[g]..self.slices.ends[g + 1]])
    }

    fn slice_of<'a>(&'a self, g: usize, keys: &'a [u64]) -> Slice<'a> {
        let own = self.slices.ends[g]..self.slices.ends[g + 1];
        let (rest, beneath) = match &self.rests {
            Rests::None => (Rest::None, &[][..]),
            Rests::Constant { at, .. } => (Rest::Constant { key: at[g] }, &[][..]),
            Rests::Varying { orders, at, beneath } => (Rest::Varying(&orders[at[g] as usize]), &beneath[own.clone()]),
        };
        let (length, first, stored) = (self.slices.length, own.start, own.len());
        Slice { keys, first, stored, rest, beneath, length, positions: &self.positions }
    }

    /// All elements in order, if they are one slice: the keys are sorted where they are, and used up. `None` if there is
    /// no slice.
    pub(crate) fn sort_whole(&mut self) -> Option<Sorted<'_>> {
        let keys = std::mem::take(&mut self.keys);
        let slice = if self.len() > 0 { self.slice_of(0, &[]) } else { self.empty().into_iter().next()? };
        Some(slice.sorted_as(keys))
    }

    /// Slices that store nothing: one for each element of the fill's core over the kept axes. None if the fill is
    /// undefined, and of a strided tensor.
    pub(crate) fn empty(&self) -> Vec<Slice<'_>> {
        let rests: Vec<Rest<'_>> = match &self.rests {
            Rests::None => Vec::new(),
            Rests::Constant { core, .. } => core.iter().map(|&key| Rest::Constant { key }).collect(),
            Rests::Varying { orders, .. } => orders.iter().map(Rest::Varying).collect(),
        };
        let (length, positions) = (self.slices.length, &self.positions);
        let slice = |rest| Slice { keys: &[], first: 0, stored: 0, rest, beneath: &[], length, positions };
        rests.into_iter().map(slice).collect()
    }

    /// What `f` makes of each slice that stores something, and of those that do not, over the kept axes. There are keys only
    /// of the few slices that are looked at.
    ///
    /// `f` gets slices with at least one element.
    pub(crate) fn fold<T: Element + Send>(
        slices: &'s Slices,
        f: &(dyn Fn(&Slice<'_>) -> Result<T> + Sync),
    ) -> Result<(Vec<T>, Option<Strided>)> {
        Ranked::fold_by(slices, true, &|slice, _| f(slice))
    }

    /// As [`Ranked::fold`], but `f` gets the stored elements of each slice too, and, if it is not to have keys, none of them
    /// where the fill does not vary.
    pub(crate) fn fold_by<T: Element + Send>(
        slices: &'s Slices,
        keyed: bool,
        f: &(dyn Fn(&Slice<'_>, &[u8]) -> Result<T> + Sync),
    ) -> Result<(Vec<T>, Option<Strided>)> {
        ordered(slices.values.dtype)?;
        let ranked = Ranked::without_keys(slices, &keys_of)?;
        let (n, ends, bytes) = (slices.len(), &slices.ends, slices.values.dense_bytes()?);
        let grain = (GRAIN * n / slices.values.len().max(1)).clamp(1, GRAIN);
        let (dtype, keyed) = (slices.values.dtype, keyed || matches!(ranked.rests, Rests::Varying { .. }));
        let chunk = |range: std::ops::Range<usize>| {
            let first = ends[range.start];
            let keys = if keyed { keys_between(dtype, &bytes, first..ends[range.end]) } else { Vec::new() };
            range.try_mapped(|g| {
                let own = if keyed { ends[g] - first..ends[g + 1] - first } else { 0..0 };
                f(&ranked.slice_of(g, &keys[own]), &bytes[ends[g] * dtype.size()..ends[g + 1] * dtype.size()])
            })
        };
        let mut stored = Vec::with_capacity(n);
        for part in parallel::map_chunks(n, grain, &chunk) {
            stored.extend(part?);
        }
        let empty = match &ranked.rests {
            Rests::None => None,
            _ => {
                let values = ranked.empty().try_mapped(|slice| f(slice, &[]))?;
                Some(Strided::from_vec(values, ranked.core.clone()).broadcast(&slices.kept_shape()))
            }
        };
        Ok((stored, empty))
    }
}

/// Elements of a dtype from their keys, which lie in C order.
pub(crate) fn values_of(dtype: DType, keys: &Strided) -> Strided {
    let core = keys.unbroadcast();
    let bytes = core.contiguous_bytes().unwrap_or_default();
    let buffer = crate::base::buffer::Buffer::of_held(core.len() * dtype.size(), |out| {
        order::values(dtype, u64::from_bytes(bytes), out);
    });
    Strided::new(buffer, dtype, core.shape.clone()).broadcast(&keys.shape)
}

/// The number that a key stands for.
pub(crate) fn number_of(dtype: DType, key: u64) -> f64 {
    let mut word = [0u64];
    let bytes = &mut bytemuck::cast_slice_mut(&mut word)[..dtype.size()];
    order::values(dtype, &[key], bytes);
    Scalar::from_bytes(dtype, bytes).to()
}

fn varying(slices: &Slices, fill: &Strided, key: &dyn Fn(&Strided) -> Result<Vec<u64>>) -> Result<(Rests, Vec<usize>)> {
    let VaryingFill { core, over_kept, terms, times, axes, at, beneath } = slices.varying_fill(fill)?;
    let order = |keys: &[u64]| {
        let mut sorted: Vec<(u64, u64)> = keys.iter().copied().zip(0..).collect();
        sorted.sort_unstable();
        let (mut distinct, mut until, mut n) = (Vec::new(), Vec::new(), 0);
        for run in sorted.chunk_by(|a, b| a.0 == b.0) {
            n += run.len() as u64;
            distinct.push(run[0].0);
            until.push(n);
        }
        FillOrder { sorted, distinct, until, keys: keys.to_vec(), times, axes: axes.clone() }
    };
    let orders: Vec<FillOrder> = key(&core)?.chunks_exact(terms.max(1)).map(order).collect();
    Ok((Rests::Varying { orders, at, beneath }, over_kept))
}

/// What a slice does not store.
#[derive(Clone, Copy)]
pub(crate) enum Rest<'a> {
    None,
    /// One value.
    Constant {
        key: u64,
    },
    /// All of a fill, but where elements are stored.
    Varying(&'a FillOrder),
}

/// One slice.
pub(crate) struct Slice<'a> {
    /// Of the stored elements, in C order.
    pub(crate) keys: &'a [u64],
    /// The number of the first of them among those of all slices.
    first: usize,
    /// How many there are, if there are no keys of them too.
    stored: usize,
    pub(crate) rest: Rest<'a>,
    /// Which of the fill's elements each stored one stands over.
    beneath: &'a [u64],
    length: u128,
    positions: &'a Positions<'a>,
}

impl<'a> Slice<'a> {
    /// How many elements are not stored and yet present.
    pub(crate) fn unstored(&self) -> u128 {
        if let Rest::None = self.rest { 0 } else { self.length - self.stored as u128 }
    }

    /// Where the `i`-th stored element is.
    pub(crate) fn position(&self, i: usize) -> u128 {
        self.positions.of(self.first + i)
    }

    /// The `n`-th position at which nothing is stored.
    pub(crate) fn gap(&self, n: u128) -> u128 {
        // The first stored element with more than `n` gaps before it.
        let (mut low, mut high) = (0, self.stored);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.position(middle) - middle as u128 > n {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        n + low as u128 + u128::from(faults::is(Fault::GapMissed))
    }

    fn is_stored(&self, position: u128) -> bool {
        let (mut low, mut high) = (0, self.stored);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.position(middle).cmp(&position) {
                std::cmp::Ordering::Equal => return true,
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        false
    }

    /// The least or the greatest key of the elements of a fill that are not stored over; `None` where all are.
    ///
    /// Cost: O(stored) where most of the fill is not stored over, else O(stored · log stored).
    pub(crate) fn outermost_unstored(&self, order: &FillOrder, greatest: bool) -> Option<u64> {
        /// Keys of the fill that are looked for among all that lies beneath.
        const LOOKED_FOR: usize = 8;
        if self.unstored() == 0 {
            return None;
        }
        let beneath = || self.beneath.iter().map(|&n| order.keys[n as usize]);
        let (n, mut removed) = (order.distinct.len(), Vec::new());
        for i in 0..n {
            let at = if greatest { n - 1 - i } else { i };
            let key = order.distinct[at];
            if i == LOOKED_FOR {
                removed = beneath().collect();
                removed.sort_unstable();
            }
            let gone = match i {
                ..LOOKED_FOR => beneath().filter(|&beneath| beneath == key).count(),
                _ => removed.partition_point(|&k| k <= key) - removed.partition_point(|&k| k < key),
            };
            if order.count(at + 1) - order.count(at) > gone as u128 {
                return Some(key);
            }
        }
        None
    }

    /// The elements in order.
    pub(crate) fn sorted(&self) -> Sorted<'a> {
        // In huge pages where they are many: they will be searched.
        let mut stored = zeroed_vec(self.keys.len());
        stored.copy_from_slice(self.keys);
        self.sorted_as(stored)
    }

    /// The elements in order, of which these are the keys of the stored ones.
    fn sorted_as(&self, mut stored: Vec<u64>) -> Sorted<'a> {
        parallel::sort(&mut stored);
        let mut removed = Vec::new();
        if let Rest::Varying(order) = self.rest {
            removed = self.beneath.iter().map(|&n| order.keys[n as usize]).collect();
            parallel::sort(&mut removed);
        }
        let unstored = if let Rest::None = self.rest { 0 } else { self.length - stored.len() as u128 };
        Sorted { stored, removed, rest: self.rest, unstored }
    }

    /// Where an element with this key comes first, in C order.
    pub(crate) fn first(&self, key: u64) -> Option<u128> {
        let stored = self.keys.iter().position(|&k| k == key).map(|i| self.position(i));
        stored.into_iter().chain(self.first_unstored(key)).min()
    }

    /// Where elements with these keys, which rise, come first: one for each key that there is.
    ///
    /// Cost: O(stored · log stored), however many keys are asked for.
    pub(crate) fn firsts(&self, keys: impl Iterator<Item = u64>) -> Vec<u128> {
        let mut stored: Vec<(u64, usize)> = self.keys.iter().copied().zip(0..).collect();
        stored.sort_unstable();
        let mut next = 0;
        let first = |key: u64| {
            while stored.get(next).is_some_and(|s| s.0 < key) {
                next += 1;
            }
            let own = stored.get(next).filter(|s| s.0 == key).map(|s| self.position(s.1));
            own.into_iter().chain(self.first_unstored(key)).min()
        };
        keys.filter_map(first).collect()
    }

    /// Where an element with this key comes first among those that are not stored.
    fn first_unstored(&self, key: u64) -> Option<u128> {
        match self.rest {
            Rest::Constant { key: fill } if fill == key && self.unstored() > 0 => Some(self.gap(0)),
            Rest::Varying(order) => {
                let from = order.sorted.partition_point(|e| e.0 < key);
                let same = order.sorted[from..].iter().take_while(|e| e.0 == key);
                // At most as many occurrences are passed as elements are stored.
                let first = |&(_, number): &(u64, u64)| {
                    let mut t = 0;
                    while t < order.times {
                        let at = order.position(number, t);
                        if !self.is_stored(at) {
                            return Some(at);
                        }
                        t += 1;
                    }
                    None
                };
                same.filter_map(first).min()
            }
            _ => None,
        }
    }
}

fn not_above(sorted: &[u64], key: u64) -> u128 {
    /// Keys that are counted faster than they are searched.
    const FEW: usize = 16;
    match sorted.len() {
        ..=FEW => sorted.iter().map(|&k| u128::from(k <= key)).sum(),
        _ => sorted.partition_point(|&k| k <= key) as u128,
    }
}

/// The elements of a slice in order: stored ones, and the fill's without those that are stored over.
pub(crate) struct Sorted<'a> {
    pub(crate) stored: Vec<u64>,
    removed: Vec<u64>,
    rest: Rest<'a>,
    unstored: u128,
}

impl Sorted<'_> {
    /// How many elements are not above `key`.
    pub(crate) fn rank(&self, key: u64) -> u128 {
        not_above(&self.stored, key) + self.rest_rank(key)
    }

    /// As [`Sorted::rank`], of several keys.
    pub(crate) fn ranks(&self, keys: &[u64]) -> impl Iterator<Item = u128> {
        let mut stored = vec![0; keys.len()];
        order::not_above(&self.stored, keys, &mut stored);
        stored.into_iter().zip(keys).map(move |(n, &key)| u128::from(n) + self.rest_rank(key))
    }

    fn rest_rank(&self, key: u64) -> u128 {
        match self.rest {
            Rest::None => 0,
            Rest::Constant { .. } if faults::is(Fault::FillUnranked) => 0,
            Rest::Constant { key: fill } if fill <= key => self.unstored,
            Rest::Constant { .. } => 0,
            Rest::Varying(order) => {
                order.count(not_above(&order.distinct, key) as usize) - not_above(&self.removed, key)
            }
        }
    }

    /// Gives `f` the distinct keys, rising, and how often each occurs, until it fails.
    ///
    /// Cost: O(stored and fill).
    ///
    /// # Errors
    /// The first of `f`.
    pub(crate) fn each_distinct(&self, f: &mut dyn FnMut(u64, u128) -> Result<()>) -> Result<()> {
        let mut rest = self.distinct_rest().into_iter().peekable();
        for run in self.stored.chunk_by(|a, b| a == b) {
            let (key, mut n) = (run[0], run.len() as u128);
            while let Some(other) = rest.next_if(|other| other.0 <= key) {
                if other.0 == key { n += other.1 } else { f(other.0, other.1)? }
            }
            f(key, n)?;
        }
        rest.try_for_each(|(key, n)| f(key, n))
    }

    /// The distinct keys, rising, in the memory of the stored ones.
    pub(crate) fn into_distinct(mut self) -> Vec<u64> {
        let rest = self.distinct_rest();
        let mut keys = std::mem::take(&mut self.stored);
        keys.dedup();
        if let [(key, _)] = rest[..] {
            if let Err(at) = keys.binary_search(&key) {
                keys.reserve_exact(1);
                keys.insert(at, key);
            }
        } else if !rest.is_empty() {
            keys.extend(rest.iter().map(|r| r.0));
            parallel::sort(&mut keys);
            keys.dedup();
        }
        keys
    }

    /// The distinct keys of what is not stored, and how often each occurs.
    fn distinct_rest(&self) -> Vec<(u64, u128)> {
        match self.rest {
            Rest::None => Vec::new(),
            Rest::Constant { .. } if faults::is(Fault::FillUnranked) => Vec::new(),
            Rest::Constant { key } => Some((key, self.unstored)).filter(|f| f.1 > 0).into_iter().collect(),
            Rest::Varying(order) => {
                let mut removed = self.removed.chunk_by(|a, b| a == b).peekable();
                let left = |run: &[(u64, u64)]| {
                    let gone = removed.next_if(|gone| gone[0] == run[0].0).map_or(0, |gone| gone.len() as u128);
                    Some((run[0].0, run.len() as u128 * order.times - gone)).filter(|f| f.1 > 0)
                };
                order.sorted.chunk_by(|a, b| a.0 == b.0).filter_map(left).collect()
            }
        }
    }

    /// How many elements there are.
    pub(crate) fn present(&self) -> u128 {
        self.stored.len() as u128 + self.unstored
    }

    /// The `k`-th element of those there are, in rising order: the least key that more than `k` do not exceed.
    ///
    /// Cost: O(log stored · log of the fill's elements).
    pub(crate) fn select(&self, k: u128) -> u64 {
        let unstored = |n: usize, key: u64| match self.rest {
            Rest::Varying(order) => order.count(n) - not_above(&self.removed, key),
            _ => n as u128 * self.rest_rank(key),
        };
        let one;
        let fill: &[u64] = match self.rest {
            Rest::None => &[],
            Rest::Constant { key } => {
                one = [key];
                &one
            }
            Rest::Varying(order) => &order.distinct,
        };
        // The first key of the fill that more than `k` do not exceed. One that is stored over everywhere has the rank of the one before it.
        let (mut low, mut high) = (0, fill.len());
        while low < high {
            let middle = low.midpoint(high);
            let key = fill[middle];
            if unstored(middle + 1, key) + not_above(&self.stored, key) <= k { low = middle + 1 } else { high = middle }
        }
        let before = low.checked_sub(1).map_or(0, |last| unstored(low, fill[last]));
        let stored = k.checked_sub(before).and_then(|at| self.stored.get(usize::try_from(at).ok()?));
        stored.into_iter().chain(fill.get(low)).min().copied().unwrap_or(u64::MAX)
    }
}
