//! Where the least or the greatest of all elements of a sparse tensor comes first in C order, in whatever order they are stored.

use openwork_ops::order;

use super::order::{Outward, first_stored};
use super::outermost::key_of;
use crate::base::error::Result;
use crate::base::faults::{self, Fault};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::c_strides;
use crate::engine::slices::ordered;
use crate::tensor::fill::Fill;
use crate::tensor::{Sparse, Tensor};

/// Elements whose keys are compared at a time.
const AT_ONCE: usize = 512;

/// First elements that are looked up to find one that is not stored.
const TRIES: u64 = 256;

/// The place in C order of all. `None` where another way is to be taken: of arrays, of duplicates, of fills that vary, where places do
/// not fit 64 bits, and where the first elements are stored and what is not matters.
///
/// The greatest stored element is found first, in storage order; only what equals it is asked for its place.
///
/// # Errors
/// If the dtype has no order.
pub(super) fn place(x: &Tensor, greatest: bool) -> Result<Option<u64>> {
    let Some(s) = x.sparse() else { return Ok(None) };
    let size = s.shape.iter().try_fold(1u64, |n, &size| n.checked_mul(size as u64));
    let fill = match &s.fill {
        Fill::Scalar(value) => Some(*value),
        Fill::Undefined => None,
        Fill::Array(_) => return Ok(None),
    };
    let (true, Some(size), true) = (s.pattern.is_unique(), size, s.nse() > 0) else { return Ok(None) };
    ordered(s.dtype())?;
    let bytes = s.values.dense_bytes()?;
    let outward = Outward { dtype: s.dtype(), greatest };
    let Some((first, key)) = first_stored(&bytes, outward) else { return Ok(None) };
    let is_whole = s.nse() as u64 == size || faults::is(Fault::OutermostStored);
    let fill = fill.filter(|_| !is_whole).map(key_of);
    let rank = |key| outward.rank(key);
    Ok(match fill {
        Some(fill) if rank(fill) > rank(key) => gap(s, size),
        Some(fill) if fill == key => gap(s, size).map(|gap| gap.min(first_place(s, &bytes, first, key))),
        _ => Some(first_place(s, &bytes, first, key)),
    })
}

/// The least place of the stored elements that have a key, of which `first` is stored first.
fn first_place(s: &Sparse, bytes: &[u8], first: usize, key: u64) -> u64 {
    let strides: Vec<u64> = c_strides(&s.shape).iter().map(|&stride| stride as u64).collect();
    let (weights, row) = (s.pattern.level_weights(&strides), s.pattern.row_form(&strides));
    let mut places = [0; AT_ONCE];
    if s.pattern.is_in_c_order() {
        s.pattern.linearize_elements(&weights, &row, first, &mut places[..1]);
        return places[0];
    }
    let (dtype, width) = (s.dtype(), s.dtype().size());
    let least = |range: std::ops::Range<usize>| {
        let (mut keys, mut places, mut least) = ([0; AT_ONCE], [0; AT_ONCE], u64::MAX);
        for start in range.clone().step_by(AT_ONCE) {
            let n = AT_ONCE.min(range.end - start);
            order::keys(dtype, &bytes[start * width..(start + n) * width], &mut keys[..n]);
            if keys[..n].contains(&key) {
                s.pattern.linearize_elements(&weights, &row, start, &mut places[..n]);
                let equal = keys[..n].iter().zip(&places).filter(|(own, _)| **own == key);
                least = equal.map(|(_, &place)| place).fold(least, u64::min);
            }
        }
        least
    };
    let n = s.nse() - first;
    parallel::map_chunks(n, GRAIN, &|range| least(first + range.start..first + range.end))
        .into_iter()
        .fold(u64::MAX, u64::min)
}

/// The first place at which nothing is stored, if it is one of the first few.
fn gap(s: &Sparse, size: u64) -> Option<u64> {
    if !s.pattern.is_canonical() {
        return None;
    }
    let is_stored = |place: u64| {
        let (mut index, mut rest) = (vec![0; s.ndim()], place as usize);
        for (at, &n) in index.iter_mut().zip(&s.shape[..]).rev() {
            (*at, rest) = (rest % n, rest / n);
        }
        let tuple: Vec<usize> = s.pattern.level_dims().iter().map(|d| d.coordinate(&index)).collect();
        !s.pattern.locate(&tuple).is_empty()
    };
    (0..size.min(TRIES)).find(|&place| !is_stored(place))
}
