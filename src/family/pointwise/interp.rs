//! Piecewise linear interpolation.

use openwork_ops::DType;

use crate::base::error::{self, Result};
use crate::tensor::Tensor;
use crate::tensor::trace;

/// # Computing: interpolation
impl Tensor {
    /// The piecewise linear function through the points `(xp[i], fp[i])` at every element: `fp[0]` before the first point,
    /// the last `fp` behind the last one, NaN at NaN. `float64`.
    ///
    /// An elementwise op: the fill is interpolated as any element, and the pattern is kept. Cost: O((nse + size of the
    /// fill) · log points).
    ///
    /// ```
    /// use openwork::{Fill, Layout, Tensor};
    /// let x = Tensor::random([9, 9], 0.2, 0.0, Layout::Csr, 1)?;
    /// let y = x.interp(&[-1.0, 1.0], &[10.0, 20.0])?;
    /// assert_eq!(y.fill(), Some(&Fill::from(15.0)));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there is no point, `fp` has another length than `xp`, `xp` does not rise or holds NaN, or the dtype is complex.
    pub fn interp(&self, xp: &[f64], fp: &[f64]) -> Result<Tensor> {
        let call = trace::call("interp", &[self]);
        if self.dtype().is_complex() {
            return Err(error::dtype(&[self.dtype()], "complex numbers are in no order"));
        }
        let (Some(&first), Some(&last)) = (fp.first(), fp.last()) else {
            return Err(error::invalid("fp", "no point is given, at least one is needed"));
        };
        if xp.len() != fp.len() {
            return Err(error::invalid("fp", format_args!("{} values for {} points", fp.len(), xp.len())));
        }
        if let Some(i) = (0..xp.len()).find(|&i| xp[i].is_nan() || (i > 0 && xp[i] <= xp[i - 1])) {
            return Err(error::invalid("xp", format_args!("point {i} is {}: points must rise", xp[i])));
        }
        let at = |x: f64| {
            if x.is_nan() {
                return f64::NAN;
            }
            match xp.partition_point(|&p| p <= x) {
                0 => first,
                i if i == xp.len() => last,
                i if x == xp[i - 1] => fp[i - 1],
                i => {
                    let t = (x - xp[i - 1]) / (xp[i] - xp[i - 1]);
                    fp[i - 1] + t * (fp[i] - fp[i - 1])
                }
            }
        };
        let out = self.cast(DType::F64)?.map(at)?;
        Ok(call.done(out))
    }
}
