//! A few elements of a slice by their places in rising order, without a sort.
//!
//! Of many elements, a sample says between which two keys the one that is asked for must be; one pass counts those before and writes
//! down those between, among which it is selected (Floyd and Rivest, 1975: "Expected time bounds for selection").

use openwork_ops::order::{self, Counted};
use openwork_ops::{DType, ranking};

use super::ranked::{Rest, Slice};
use crate::base::faults::{self, Fault};
use crate::base::pages::Scratch;
use crate::base::parallel::{self, GRAIN};

/// From so many elements on, a sample says where to look.
const MANY: usize = 1 << 16;

/// Elements of a sample.
const SAMPLE: usize = 1 << 13;

/// The least key and the greatest.
const ALL: (u64, u64) = (0, u64::MAX);

/// By how many standard deviations the place of an element in a sample may differ from that among all.
const DEVIATIONS: f64 = 4.0;

/// Elements of a slice whose fill is one value, or that has none.
pub(crate) struct Selected<'a> {
    dtype: DType,
    /// Those that are stored.
    elements: &'a [u8],
    /// How many stored ones are NaN.
    nans: usize,
    /// The key of all others, how many they are, and how many stored ones are less.
    fill: Option<(u64, u128, usize)>,
    /// Keys of stored elements in any order, and how many less ones are left out: none less is kept, and none between.
    keys: Scratch<u64>,
    before: usize,
}

impl<'a> Selected<'a> {
    /// A slice whose stored elements are these, and of which the one at about the share `near` will be asked for: others take longer.
    /// `None` where the fill varies.
    pub(crate) fn of(slice: &Slice<'a>, elements: &'a [u8], dtype: DType, near: f64) -> Option<Selected<'a>> {
        let fill = match slice.rest {
            Rest::None => None,
            Rest::Constant { .. } if faults::is(Fault::FillUnranked) => None,
            Rest::Constant { key } => Some((key, slice.unstored(), 0)).filter(|fill| fill.1 > 0),
            Rest::Varying(_) => return None,
        };
        let (low, high) = match fill {
            _ if elements.len() < MANY * dtype.size() => ALL,
            // Only how many are less: the fill itself may be asked for.
            Some((fill, ..)) => (fill, 0),
            None => between(dtype, elements, near),
        };
        let (keys, counted) = look(dtype, elements, low, high);
        let fill = fill.map(|(fill, unstored, _)| {
            let less = || keys.iter().filter(|&&key| key < fill).count();
            (fill, unstored, if (low, high) == ALL { less() } else { counted.below })
        });
        Some(Selected { dtype, elements, nans: counted.nans, fill, keys, before: counted.below })
    }

    /// How many elements there are, and how many of these are NaN.
    pub(crate) fn present(&self) -> (u128, u128) {
        let is_nan = |key: u64| order::has_nan(self.dtype) && key == order::NAN;
        let (unstored, nans) = self.fill.map_or((0, 0), |(key, n, _)| (n, if is_nan(key) { n } else { 0 }));
        ((self.elements.len() / self.dtype.size()) as u128 + unstored, self.nans as u128 + nans)
    }

    /// The `k`-th element in rising order, of more than `k`. Cost: O(stored).
    pub(crate) fn select(&mut self, k: u128) -> u64 {
        match self.fill {
            Some((key, n, below)) if k >= below as u128 => match k.checked_sub(below as u128 + n) {
                Some(above) => self.stored(below + above as usize),
                None => key,
            },
            _ => self.stored(k as usize),
        }
    }

    /// The `k`-th stored element in rising order.
    fn stored(&mut self, k: usize) -> u64 {
        match k.checked_sub(self.before).filter(|&k| k < self.keys.len()) {
            Some(k) => ranking::nth(&mut self.keys, k),
            None => {
                (self.keys, self.before) = (look(self.dtype, self.elements, ALL.0, ALL.1).0, 0);
                ranking::nth(&mut self.keys, k)
            }
        }
    }
}

/// Two keys between which the element at a share of all is, most likely.
fn between(dtype: DType, elements: &[u8], near: f64) -> (u64, u64) {
    let (size, n) = (dtype.size(), elements.len() / dtype.size());
    let mut chosen = Vec::with_capacity(SAMPLE * size);
    for i in 0..SAMPLE as u64 {
        // In places that have nothing to do with each other, so that no period of the elements meets them.
        let place = ((u128::from(mixed(i)) * n as u128) >> 64) as usize;
        chosen.extend_from_slice(&elements[place * size..(place + 1) * size]);
    }
    let mut keys = vec![0; SAMPLE];
    order::keys(dtype, &chosen, &mut keys);
    ranking::sort(&mut keys);
    let nans = if order::has_nan(dtype) { order::count_of(&keys, order::NAN) } else { 0 };
    let middle = near * (SAMPLE - nans) as f64;
    let spread = DEVIATIONS * (middle * (1.0 - near)).sqrt() + 8.0;
    let (low, high) = ((middle - spread).max(0.0) as usize, (middle + spread).ceil() as usize);
    let at = |place: usize| keys.get(place).copied().unwrap_or(ALL.1);
    (if low == 0 { ALL.0 } else { at(low) }, at(high))
}

/// The keys from `low` to `high`, and what is counted beside them.
fn look(dtype: DType, elements: &[u8], low: u64, high: u64) -> (Scratch<u64>, Counted) {
    let size = dtype.size();
    let n = elements.len() / size;
    if (low, high) == ALL {
        let mut keys = Scratch::any(n);
        parallel::for_chunks_mut(&mut keys, 1, GRAIN, &|start, keys| {
            order::keys(dtype, &elements[start * size..(start + keys.len()) * size], keys);
        });
        let nans = if order::has_nan(dtype) { order::count_of(&keys, order::NAN) } else { 0 };
        return (keys, Counted { below: 0, nans });
    }
    let parts = parallel::map_chunks(n, GRAIN, &|range| {
        let mut found = Vec::new();
        let counted = order::among(dtype, &elements[range.start * size..range.end * size], low, high, &mut found);
        (found, counted)
    });
    let mut all = Counted::default();
    let mut keys = Scratch::any(parts.iter().map(|part| part.0.len()).sum());
    let mut end = 0;
    for (found, counted) in parts {
        keys[end..end + found.len()].copy_from_slice(&found);
        end += found.len();
        all.below += counted.below;
        all.nans += counted.nans;
    }
    (keys, all)
}

/// A number that looks random (SplitMix64).
fn mixed(i: u64) -> u64 {
    let mut x = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
