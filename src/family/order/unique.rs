//! Distinct elements, how often and where.

use openwork_ops::{DType, Element, c128, order};

use super::{all, all_in_any_order, int64, map_keys, narrow, whole};
use crate::base::buffer::zeroed_vec;
use crate::base::error::{self, Result};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::{Strided, dense_len};
use crate::engine::slices::{Ranked, Slice, Slices, Sorted, keys_of, values_of};
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
        Ok(call.done(Tensor::from_strided(distinct(self)?)))
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
        let slices = all_in_any_order(self)?;
        let keys = Keys::of(&slices)?;
        let (found, counts) = counted(keys.ranked(&slices)?.sort_whole())?;
        Ok(call.done(UniqueCounts { values: keys.tensor(found), counts }))
    }

    /// The distinct elements, as [`Tensor::unique_values`] gives them, and which of them each element is: `int64`, of the
    /// operand's shape and pattern; its fill is the number of the fill.
    ///
    /// # Errors
    /// As [`Tensor::unique_values`].
    pub fn unique_inverse(&self) -> Result<UniqueInverse> {
        let call = trace::call("unique_inverse", &[self]);
        let slices = all_in_any_order(self)?;
        let keys = Keys::of(&slices)?;
        let found = keys.ranked(&slices)?.sort_whole().map_or_else(Vec::new, Sorted::into_distinct);
        let inverse = keys.inverse(self, &found)?;
        Ok(call.done(UniqueInverse { values: keys.tensor(found), inverse }))
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
        let (found, counts) = counted(slice.as_ref().map(Slice::sorted))?;
        let firsts = slice.as_ref().map_or_else(Vec::new, |s| s.firsts(found.iter().copied()));
        let indices = firsts.into_iter().map(|at| int64("index", at)).collect::<Result<Vec<i64>>>()?;
        let out = Unique {
            indices: Tensor::from_strided(Strided::from_vec(indices, vec![found.len()])),
            inverse: keys.inverse(self, &found)?,
            values: keys.tensor(found),
            counts,
        };
        Ok(call.done(out))
    }
}

/// The distinct keys, and how often each occurs.
fn counted(sorted: Option<Sorted<'_>>) -> Result<(Vec<u64>, Tensor)> {
    let (mut found, mut counts) = (Vec::new(), Vec::new());
    if let Some(sorted) = sorted {
        sorted.each_distinct(&mut |key, n| {
            found.push(key);
            counts.push(int64("count", n)?);
            Ok(())
        })?;
    }
    let n = found.len();
    Ok((found, Tensor::from_strided(Strided::from_vec(counts, vec![n]))))
}

/// The distinct elements, rising.
pub(super) fn distinct(x: &Tensor) -> Result<Strided> {
    if let Some(found) = narrow::distinct(x)? {
        return Ok(found);
    }
    let slices = all_in_any_order(x)?;
    let keys = Keys::of(&slices)?;
    Ok(keys.vector(keys.ranked(&slices)?.sort_whole().map_or_else(Vec::new, Sorted::into_distinct)))
}

/// How elements become keys: real ones by their order, complex ones by the numbers of their parts.
struct Keys {
    dtype: DType,
    /// Of complex elements: the key of every part, rising.
    parts: Vec<u64>,
}

impl Keys {
    fn of(slices: &Slices) -> Result<Keys> {
        let dtype = slices.values.dtype;
        let mut parts = Vec::new();
        if dtype.is_complex() {
            let fill = slices.fill().filter(|f| !f.shape.contains(&0)).map(Strided::unbroadcast);
            let all = [Some(&slices.values), fill.as_ref()];
            parts = zeroed_vec(2 * all.iter().flatten().map(|x| x.len()).sum::<usize>());
            let mut n = 0;
            for x in all.into_iter().flatten() {
                let x = x.cast(DType::Complex128);
                for &part in f64::from_bytes(&x.dense_bytes()?).iter().filter(|p| !p.is_nan()) {
                    parts[n] = order::of_float(part);
                    n += 1;
                }
            }
            parts.truncate(n);
            parallel::sort(&mut parts);
            parts.dedup();
            if parts.len() >= u32::MAX as usize {
                return Err(error::invalid(
                    "self",
                    format_args!("{} different parts, allowed are 2^32 − 2", parts.len()),
                ));
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
        dense_len(&x.shape, DType::Complex128)?;
        let x = x.cast(DType::Complex128);
        let elements = x.dense_bytes()?;
        let (elements, _) = f64::from_bytes(&elements).as_chunks::<2>();
        let mut out = zeroed_vec(elements.len());
        parallel::for_chunks_mut(&mut out, 1, GRAIN / 8, &|start, out| {
            let keys: Vec<u64> =
                elements[start..].iter().take(out.len()).flatten().map(|&p| order::of_float(p)).collect();
            let mut numbers = zeroed_vec(keys.len());
            order::not_above(&self.parts, &keys, &mut numbers);
            let (keys, numbers) = (keys.as_chunks::<2>().0, numbers.as_chunks::<2>().0);
            for (out, (keys, numbers)) in out.iter_mut().zip(keys.iter().zip(numbers)) {
                // Every number is among the parts, and so has one at least that is not above it; but a fill of no element.
                let number = |n: u64| n.saturating_sub(1);
                *out = match keys.contains(&order::NAN) {
                    true => order::NAN,
                    false => number(numbers[0]) << 32 | number(numbers[1]),
                };
            }
        });
        Ok(out)
    }

    /// The elements that have these keys.
    fn vector(&self, found: Vec<u64>) -> Strided {
        let n = found.len();
        if !self.dtype.is_complex() {
            return values_of(self.dtype, &Strided::from_vec(found, vec![n]));
        }
        let part = |i: u64| self.parts.get(i as usize).map_or(f64::NAN, |&key| order::to_float(key));
        let element = |key: u64| match key {
            order::NAN => c128::new(f64::NAN, f64::NAN),
            _ => c128::new(part(key >> 32), part(key & u64::from(u32::MAX))),
        };
        Strided::from_vec(found.into_iter().map(element).collect(), vec![n]).cast(self.dtype)
    }

    fn tensor(&self, found: Vec<u64>) -> Tensor {
        Tensor::from_strided(self.vector(found))
    }

    /// For each element, which of the distinct ones it is.
    fn inverse(&self, x: &Tensor, rising: &[u64]) -> Result<Tensor> {
        let number = |keys: &mut [u64]| -> Result<()> {
            let mut numbers = zeroed_vec(keys.len());
            order::not_above(rising, keys, &mut numbers);
            for (key, n) in keys.iter_mut().zip(numbers) {
                // So many are less. The key of a fill that no element has may be none of them.
                let is_found = n.checked_sub(1).is_some_and(|last| rising[last as usize] == *key);
                *key = n - u64::from(is_found);
            }
            Ok(())
        };
        map_keys(x, &|x| self.keys(x), &number)
    }
}
