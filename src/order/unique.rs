//! Distinct elements, how often and where.

use openwork_ops::DType;

use super::{all, done, int64, map_keys, whole};
use crate::context::Path;
use crate::error::Result;
use crate::pointwise::record;
use crate::slices::{Ranked, Rest, Slice, values_of};
use crate::strided::Strided;
use crate::tensor::Tensor;

/// What [`Tensor::unique_all`] gives; see there.
#[derive(Clone)]
pub struct Unique {
    /// The distinct elements, rising.
    pub values: Tensor,
    /// Where each comes first in C order.
    pub indices: Tensor,
    /// For each element of the operand, which of the distinct ones it is.
    pub inverse: Tensor,
    /// How often each occurs.
    pub counts: Tensor,
}

/// What [`Tensor::unique_counts`] gives.
#[derive(Clone)]
pub struct UniqueCounts {
    /// The distinct elements, rising.
    pub values: Tensor,
    /// How often each occurs.
    pub counts: Tensor,
}

/// What [`Tensor::unique_inverse`] gives.
#[derive(Clone)]
pub struct UniqueInverse {
    /// The distinct elements, rising.
    pub values: Tensor,
    /// For each element of the operand, which of the distinct ones it is.
    pub inverse: Tensor,
}

impl Tensor {
    /// The distinct elements in rising order, as a strided vector.
    ///
    /// The fill is one of them if some element is unstored, however many; absent elements are none. NaN is one value,
    /// above all numbers (the array API counts each NaN for itself: a NaN fill would stand for as many values as there
    /// are unstored elements); −0 is 0.
    ///
    /// Cost: O(nse log nse + size of the fill).
    ///
    /// # Errors
    /// If the dtype is complex, or there are 2^128 elements or more.
    pub fn unique_values(&self) -> Result<Tensor> {
        let slices = all("unique_values", self)?;
        let ranked = Ranked::of(&slices)?;
        let found = whole(&ranked).map_or_else(Vec::new, |s| distinct(&s));
        Ok(done("unique_values", self, vector(self.dtype(), &found)))
    }

    /// The distinct elements, as [`Tensor::unique_values`] gives them, and how often each occurs, exactly, as `int64`.
    ///
    /// # Errors
    /// As [`Tensor::unique_values`]; if a count does not fit `int64`.
    pub fn unique_counts(&self) -> Result<UniqueCounts> {
        let slices = all("unique_counts", self)?;
        let ranked = Ranked::of(&slices)?;
        let found = whole(&ranked).map_or_else(Vec::new, |s| distinct(&s));
        let counts = counts("unique_counts", &found)?;
        Ok(UniqueCounts { values: done("unique_counts", self, vector(self.dtype(), &found)), counts })
    }

    /// The distinct elements, as [`Tensor::unique_values`] gives them, and which of them each element is: `int64`, of the
    /// operand's shape and pattern; its fill is the number of the fill.
    ///
    /// # Errors
    /// As [`Tensor::unique_values`].
    pub fn unique_inverse(&self) -> Result<UniqueInverse> {
        let slices = all("unique_inverse", self)?;
        let ranked = Ranked::of(&slices)?;
        let found = whole(&ranked).map_or_else(Vec::new, |s| distinct(&s));
        let inverse = inverse("unique_inverse", self, &found)?;
        Ok(UniqueInverse { values: done("unique_inverse", self, vector(self.dtype(), &found)), inverse })
    }

    /// All that the other three give, and where each distinct element comes first in C order, stored or not: `int64`.
    ///
    /// # Errors
    /// As [`Tensor::unique_counts`]; if an index does not fit `int64`.
    pub fn unique_all(&self) -> Result<Unique> {
        const OP: &str = "unique_all";
        let slices = all(OP, self)?;
        let ranked = Ranked::of(&slices)?;
        let slice = whole(&ranked);
        let found = slice.as_ref().map_or_else(Vec::new, distinct);
        let first = |key: u64| int64(OP, "index", slice.as_ref().and_then(|s| s.first(key)).unwrap_or_default());
        let indices = found.iter().map(|&(key, _)| first(key)).collect::<Result<Vec<i64>>>()?;
        let out = Unique {
            values: vector(self.dtype(), &found),
            indices: Tensor::from_strided(Strided::from_vec(indices, vec![found.len()])),
            inverse: inverse(OP, self, &found)?,
            counts: counts(OP, &found)?,
        };
        record(OP, if self.is_strided() { Path::Strided } else { Path::Engine }, &[self], &out.values);
        Ok(out)
    }
}

/// The distinct keys of a slice, rising, and how often each occurs.
pub(super) fn distinct(slice: &Slice<'_>) -> Vec<(u64, u128)> {
    let sorted = slice.sorted();
    let mut keys: Vec<u64> = sorted.stored.chunk_by(|a, b| a == b).map(|run| run[0]).collect();
    match slice.rest {
        Rest::None => {}
        Rest::Constant { key } => keys.push(key),
        Rest::Varying(order) => keys.extend(order.sorted.chunk_by(|a, b| a.0 == b.0).map(|run| run[0].0)),
    }
    keys.sort_unstable();
    keys.dedup();
    let mut below = 0;
    let mut out = Vec::with_capacity(keys.len());
    for key in keys {
        let rank = sorted.rank(key);
        if rank > below {
            out.push((key, rank - below));
        }
        below = rank;
    }
    out
}

fn vector(dtype: DType, found: &[(u64, u128)]) -> Tensor {
    let keys = Strided::from_vec(found.iter().map(|f| f.0).collect(), vec![found.len()]);
    Tensor::from_strided(values_of(dtype, &keys))
}

fn counts(op: &'static str, found: &[(u64, u128)]) -> Result<Tensor> {
    let counts = found.iter().map(|f| int64(op, "count", f.1)).collect::<Result<Vec<i64>>>()?;
    Ok(Tensor::from_strided(Strided::from_vec(counts, vec![found.len()])))
}

fn inverse(op: &'static str, x: &Tensor, found: &[(u64, u128)]) -> Result<Tensor> {
    map_keys(op, x, x.dtype(), &|key| Ok(found.partition_point(|f| f.0 < key) as i64))
}
