//! Ranges of numbers.

use openwork_ops::{DType, Number, Wide};

use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::strided::Strided;
use crate::tensor::Tensor;
use crate::tensor::trace;

/// # Making tensors: ranges of numbers
impl Tensor {
    /// The numbers `start, start + step, …` before `stop`, strided: integers (`int64`) if all three are, else `float64`.
    /// Element `i` of a float range is `start + i · step`, rounded once per operation.
    ///
    /// ```
    /// use openwork::Tensor;
    /// assert_eq!(Tensor::arange(0.0, 1.0, 0.25)?.to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.75]);
    /// assert_eq!(Tensor::arange(5, 0, -2)?.to_vec::<i64>()?, [5, 3, 1]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the step is zero, a number is complex or not finite, or there are too many.
    #[doc(alias("range"))]
    pub fn arange(start: impl Into<Number>, stop: impl Into<Number>, step: impl Into<Number>) -> Result<Tensor> {
        let call = trace::call("arange", &[]);
        call.gives(arange(start.into(), stop.into(), step.into()))
    }

    /// `n` numbers at equal distances from `start` to `stop`, both included (`n` of 1: `start`), strided `float64`.
    /// Number `i` is `start + i · step`, rounded once per operation, as NumPy has it; the last one is `stop`.
    ///
    /// ```
    /// use openwork::Tensor;
    /// assert_eq!(Tensor::linspace(0.0, 1.0, 5)?.to_vec::<f64>()?, [0.0, 0.25, 0.5, 0.75, 1.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If a bound is not finite or there are too many numbers.
    pub fn linspace(start: f64, stop: f64, n: usize) -> Result<Tensor> {
        let call = trace::call("linspace", &[]);
        if !start.is_finite() || !stop.is_finite() {
            return Err(error::invalid("stop", format_args!("{start} to {stop}: both must be finite")));
        }
        crate::engine::convert::dense_len(&[n], DType::F64)?;
        Ok(call.given(Tensor::from_strided(Strided::from_vec(spaced(start, stop, n), vec![n]))))
    }
}

/// `n` numbers at equal distances from `start` to `stop`, both of which are finite, and exact. Where a product of the
/// step is `-start` the number is 0, and not nearly 0.
pub(crate) fn spaced(start: f64, stop: f64, n: usize) -> Vec<f64> {
    let last = n.saturating_sub(1).max(1) as f64;
    let distance = stop - start;
    let step = distance / last;
    let at = |i: usize| {
        if i > 0 && i + 1 == n {
            stop
        } else if !distance.is_finite() {
            // Their distance is more than any number.
            let t = i as f64 / last;
            start * (1.0 - t) + stop * t
        } else if step == 0.0 {
            i as f64 / last * distance + start // less than any number
        } else {
            i as f64 * step + start
        }
    };
    (0..n).map(at).collect()
}

fn arange(start: Number, stop: Number, step: Number) -> Result<Tensor> {
    let wide = |n: Number| n.scalar().widen();
    let (start, stop, step) = (wide(start), wide(stop), wide(step));
    if let (Some(a), Some(b), Some(d)) = (integer(start), integer(stop), integer(step)) {
        if d == 0 {
            return Err(error::invalid("step", "0 never reaches the end"));
        }
        let n = if (b - a).signum() == d.signum() {
            (b - a).abs().div_euclid(d.abs()) + i128::from((b - a) % d != 0)
        } else {
            0
        };
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        crate::engine::convert::dense_len(&[n], DType::I64)?;
        let values = (0..n).try_mapped(|i| i64::try_from(a + i as i128 * d));
        let values = values.map_err(|_| error::invalid("stop", "the numbers do not fit int64"))?;
        return Ok(Tensor::from_strided(Strided::from_vec(values, vec![n])));
    }
    let (Some(a), Some(b), Some(d)) = (real(start), real(stop), real(step)) else {
        return Err(error::invalid("start", "the numbers must be real and finite"));
    };
    if d == 0.0 {
        return Err(error::invalid("step", "0 never reaches the end"));
    }
    let n = ((b - a) / d).ceil().max(0.0);
    let n = if n < 1e18 { n as usize } else { usize::MAX };
    crate::engine::convert::dense_len(&[n], DType::F64)?;
    Ok(Tensor::from_strided(Strided::from_vec((0..n).map(|i| a + i as f64 * d).collect::<Vec<f64>>(), vec![n])))
}

fn integer(value: Wide) -> Option<i128> {
    match value {
        Wide::Signed(v) => Some(v.into()),
        Wide::Unsigned(v) => Some(v.into()),
        _ => None,
    }
}

fn real(value: Wide) -> Option<f64> {
    let value = match value {
        Wide::Signed(v) => v as f64,
        Wide::Unsigned(v) => v as f64,
        Wide::Float(v) => v,
        Wide::Complex(..) => return None,
    };
    value.is_finite().then_some(value)
}

/// # Iso tensors: one value for all that is stored
impl Tensor {
    /// Whether one value stands for all that is stored (a stride of 0), as in the pattern of a graph.
    pub fn is_iso(&self) -> bool {
        let values = match &self.storage {
            crate::tensor::Storage::Strided(s) => s,
            crate::tensor::Storage::Sparse(s) => &s.values,
        };
        values.unbroadcast().len() <= 1
    }
}

#[cfg(test)]
#[path = "tests/ranges.rs"]
mod tests;
