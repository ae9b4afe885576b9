//! Moments and norms.

use openwork_ops::{BinaryOp, DType, Scalar, UnaryOp};

use super::gradient::Gradient;
use super::reduce::Slices;
use crate::base::axes::Axes;
use crate::base::error::{self, Result};
use crate::tensor::{Tensor, trace};

/// The gradient by the operand of [`Tensor::var`]: `2 (x − mean) / (n − correction)` times the cotangent, NaN where the
/// variance is.
///
/// ```
/// use openwork::{tensor, vjp};
/// let by = vjp::var(&tensor![1.0, 3.0, 5.0], 1.0, .., &tensor![1.0].sum(..)?)?;
/// assert_eq!(by.stored.values::<f64>()?, [-2.0, 0.0, 2.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::var`]; as [`reduce`](super::reduce()).
pub fn var(x: &Tensor, correction: f64, axes: impl Into<Axes>, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::var", &[x, cotangent]);
    call.end(spread(x, correction, &axes.into(), cotangent, false))
}

/// The gradient by the operand of [`Tensor::std`]: `(x − mean) / (std (n − correction))` times the cotangent, 0 where all
/// elements of a slice are equal.
///
/// # Errors
/// As [`var`].
pub fn std(x: &Tensor, correction: f64, axes: impl Into<Axes>, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::std", &[x, cotangent]);
    call.end(spread(x, correction, &axes.into(), cotangent, true))
}

fn spread(x: &Tensor, correction: f64, axes: &Axes, given: &Tensor, root: bool) -> Result<Gradient> {
    let s = Slices::new(x, axes, x.dtype().real(), given)?;
    let x = &s.wrt.x;
    let real = s.g.dtype();
    let deviation = x.std(correction, s.keep())?; // which also checks the correction
    let mean = x.mean(s.keep())?;
    let above = s.count()?.sub(correction)?;
    let factor = above.gt(0.0)?.where_(above.binary_from(BinaryOp::Div, if root { 1.0 } else { 2.0 })?, f64::NAN)?;
    let factor = if root { deviation.eq(0.0)?.where_(0.0, factor.div(&deviation)?)? } else { factor };
    let factor = factor.cast(real)?;
    s.wrt.of_each(&s.g, &[&mean, &factor], &|x, g, slices| x.sub(&slices[0])?.mul(g.mul(&slices[1])?))
}

/// The gradient by the operand of [`Tensor::vector_norm`]: `x |x|^(ord − 2) / norm^(ord − 1)` times the cotangent, and 0 at
/// elements that are 0 and for order 0. Elements whose modulus is the norm of infinite order share the cotangent evenly.
///
/// ```
/// use openwork::{Layout, tensor, vjp};
/// let x = tensor![[3.0, 0.0, -4.0]; Layout::Csr, 0.0]?;
/// let by = vjp::vector_norm(&x, 2.0, 1, &tensor![10.0])?;
/// assert_eq!(by.stored.values::<f64>()?, [6.0, -8.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::vector_norm`]; as [`reduce`](super::reduce()).
pub fn vector_norm(x: &Tensor, ord: f64, axes: impl Into<Axes>, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::vector_norm", &[x, cotangent]);
    call.end(of_norm(x, ord, &axes.into(), cotangent))
}

fn of_norm(x: &Tensor, ord: f64, axes: &Axes, given: &Tensor) -> Result<Gradient> {
    if ord.is_nan() {
        return Err(error::invalid("ord", "is NaN"));
    }
    let s = Slices::new(x, axes, x.dtype().real(), given)?;
    let (x, real) = (&s.wrt.x, s.g.dtype());
    let sign = |x: &Tensor| x.unary(UnaryOp::Sign);
    if ord == 0.0 {
        return s.wrt.zero();
    }
    if ord.is_infinite() {
        let size = x.abs()?;
        let norm = if ord > 0.0 { size.max(s.keep())? } else { size.min(s.keep())? };
        return s.of_matches(&norm, &|x, slices| x.abs()?.eq(&slices[0]), &sign);
    }
    if ord == 1.0 {
        return s.wrt.of_each(&s.g, &[], &|x, g, _| sign(x)?.mul(g));
    }
    let norm = x.vector_norm(ord, s.keep())?;
    // In float64: powers leave the range of float32 early.
    let norm = norm.cast(DType::F64)?;
    let zero = Scalar::zero(real);
    s.wrt.of_each(&s.g, &[&norm], &|x, g, slices| {
        let share = x.abs()?.div(&slices[0])?.pow(ord - 1.0)?;
        let here = sign(x)?.mul(share)?.mul(g)?;
        x.eq(0.0)?.where_(zero, here)
    })
}
