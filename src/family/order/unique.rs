//! Distinct elements, how often and where.

use openwork_ops::{DType, Element, c128, order};

use super::{all, int64, map_keys, whole};
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::engine::slices::{Ranked, Rest, Slice, Slices, keys_of, values_of};
use crate::tensor::Tensor;
use crate::tensor::trace::{self, Outcome};

/// What [`Tensor::unique_all`] gives; see there.
#[derive(Clone)]
#[non_exhaustive]
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
#[non_exhaustive]
pub struct UniqueCounts {
    /// The distinct elements, rising.
    pub values: Tensor,
    /// How often each occurs.
    pub counts: Tensor,
}

/// What [`Tensor::unique_inverse`] gives.
#[derive(Clone)]
#[non_exhaustive]
pub struct UniqueInverse {
    /// The distinct elements, rising.
    pub values: Tensor,
    /// For each element of the operand, which of the distinct ones it is.
    pub inverse: Tensor,
}

macro_rules! outcome {
    ($($ty:ident: $($field:ident)*),*) => {$(
        impl Outcome for $ty {
            fn is_dense(&self) -> bool {
                $(self.$field.is_strided())&&*
            }

            fn in_words(&self) -> String {
                [$(self.$field.in_words()),*].join("; ")
            }
        }
    )*};
}
outcome!(Unique: values indices inverse counts, UniqueCounts: values counts, UniqueInverse: values inverse);

/// # Distinct elements
impl Tensor {
    /// The distinct elements in rising order, as a strided vector; complex numbers by real, then imaginary parts.
    ///
    /// The fill is one of them if some element is unstored, however many; absent elements are none. NaN is one value,
    /// above all numbers (the array API counts each NaN for itself: a NaN fill would stand for as many values as there
    /// are unstored elements); −0 is 0.
    ///
    /// Cost: O(nse log nse + size of the fill).
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[3, 0, 0], [0, 7, 3]; Layout::Csr, 0]?;
    /// assert_eq!(x.unique_values()?.to_vec::<i32>()?, [0, 3, 7]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are 2^128 elements or more, or complex ones have 2^32 different parts or more.
    #[doc(alias("unique"))]
    pub fn unique_values(&self) -> Result<Tensor> {
        let call = trace::call("unique_values", &[self]);
        let slices = all(self)?;
        let keys = Keys::of(&slices)?;
        let ranked = keys.ranked(&slices)?;
        let found = whole(&ranked).map_or_else(Vec::new, |s| distinct(&s));
        Ok(call.done(keys.vector(&found)))
    }

    /// The distinct elements, as [`Tensor::unique_values`] gives them, and how often each occurs, exactly, as `int64`.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[3, 0, 0], [0, 7, 3]; Layout::Csr, 0]?;
    /// let found = x.unique_counts()?;
    /// assert_eq!(found.values.to_vec::<i32>()?, [0, 3, 7]);
    /// assert_eq!(found.counts.to_vec::<i64>()?, [3, 2, 1]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::unique_values`]; if a count does not fit `int64`.
    pub fn unique_counts(&self) -> Result<UniqueCounts> {
        let call = trace::call("unique_counts", &[self]);
        let slices = all(self)?;
        let keys = Keys::of(&slices)?;
        let ranked = keys.ranked(&slices)?;
        let found = whole(&ranked).map_or_else(Vec::new, |s| distinct(&s));
        let counts = counts(&found)?;
        Ok(call.done(UniqueCounts { values: keys.vector(&found), counts }))
    }

    /// The distinct elements, as [`Tensor::unique_values`] gives them, and which of them each element is: `int64`, of the
    /// operand's shape and pattern; its fill is the number of the fill.
    ///
    /// # Errors
    /// As [`Tensor::unique_values`].
    pub fn unique_inverse(&self) -> Result<UniqueInverse> {
        let call = trace::call("unique_inverse", &[self]);
        let slices = all(self)?;
        let keys = Keys::of(&slices)?;
        let ranked = keys.ranked(&slices)?;
        let found = whole(&ranked).map_or_else(Vec::new, |s| distinct(&s));
        let inverse = keys.inverse(self, &found)?;
        Ok(call.done(UniqueInverse { values: keys.vector(&found), inverse }))
    }

    /// All that the other three give, and where each distinct element comes first in C order, stored or not: `int64`.
    ///
    /// # Errors
    /// As [`Tensor::unique_counts`]; if an index does not fit `int64`.
    pub fn unique_all(&self) -> Result<Unique> {
        let call = trace::call("unique_all", &[self]);
        let slices = all(self)?;
        let keys = Keys::of(&slices)?;
        let ranked = keys.ranked(&slices)?;
        let slice = whole(&ranked);
        let found = slice.as_ref().map_or_else(Vec::new, distinct);
        let firsts = slice.as_ref().map_or_else(Vec::new, |s| s.firsts(found.iter().map(|f| f.0)));
        let indices = firsts.into_iter().map(|at| int64("index", at)).collect::<Result<Vec<i64>>>()?;
        let out = Unique {
            values: keys.vector(&found),
            indices: Tensor::from_strided(Strided::from_vec(indices, vec![found.len()])),
            inverse: keys.inverse(self, &found)?,
            counts: counts(&found)?,
        };
        Ok(call.done(out))
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

fn counts(found: &[(u64, u128)]) -> Result<Tensor> {
    let counts = found.iter().map(|f| int64("count", f.1)).collect::<Result<Vec<i64>>>()?;
    Ok(Tensor::from_strided(Strided::from_vec(counts, vec![found.len()])))
}

/// How elements become keys: real ones by their order, complex ones by the numbers of their parts.
struct Keys {
    dtype: DType,
    /// Of complex elements: every part, rising.
    parts: Vec<f64>,
}

impl Keys {
    fn of(slices: &Slices) -> Result<Keys> {
        let dtype = slices.values.dtype;
        let mut parts = Vec::new();
        if dtype.is_complex() {
            let fill = slices.fill().filter(|f| !f.shape.contains(&0)).map(Strided::unbroadcast);
            for x in [Some(&slices.values), fill.as_ref()].into_iter().flatten() {
                let x = x.cast(DType::Complex128);
                // Adding +0 makes +0 of −0.
                parts.extend(f64::from_bytes(&x.dense_bytes()?).iter().filter(|p| !p.is_nan()).map(|p| p + 0.0));
            }
            parts.sort_unstable_by(f64::total_cmp);
            parts.dedup();
            if parts.len() >= u32::MAX as usize {
                return Err(error::invalid("self", format!("{} different parts, allowed are 2^32 − 2", parts.len())));
            }
        }
        Ok(Keys { dtype, parts })
    }

    fn ranked<'s>(&self, slices: &'s Slices) -> Result<Ranked<'s>> {
        Ranked::by(slices, &|x| self.keys(x))
    }

    fn keys(&self, x: &Strided) -> Result<Vec<u64>> {
        if !self.dtype.is_complex() {
            return keys_of(x);
        }
        let number = |part: f64| self.parts.partition_point(|&p| p < part) as u64;
        let x = x.cast(DType::Complex128);
        let elements = x.dense_bytes()?;
        let key = |z: &[f64]| match z[0].is_nan() || z[1].is_nan() {
            true => order::NAN,
            false => number(z[0]) << 32 | number(z[1]),
        };
        Ok(f64::from_bytes(&elements).chunks_exact(2).map(key).collect())
    }

    /// The elements that have these keys.
    fn vector(&self, found: &[(u64, u128)]) -> Tensor {
        let n = found.len();
        if !self.dtype.is_complex() {
            let keys = Strided::from_vec(found.iter().map(|f| f.0).collect(), vec![n]);
            return Tensor::from_strided(values_of(self.dtype, &keys));
        }
        let part = |i: u64| self.parts.get(i as usize).copied().unwrap_or(f64::NAN);
        let element = |key: u64| match key {
            order::NAN => c128::new(f64::NAN, f64::NAN),
            _ => c128::new(part(key >> 32), part(key & u64::from(u32::MAX))),
        };
        let values = Strided::from_vec(found.iter().map(|f| element(f.0)).collect(), vec![n]);
        Tensor::from_strided(values.cast(self.dtype))
    }

    /// For each element, which of the distinct ones it is.
    fn inverse(&self, x: &Tensor, found: &[(u64, u128)]) -> Result<Tensor> {
        map_keys(x, &|x| self.keys(x), &|key| Ok(found.partition_point(|f| f.0 < key) as i64))
    }
}
