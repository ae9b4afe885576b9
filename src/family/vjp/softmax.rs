//! Softmax and its kin.

use openwork_ops::UnaryOp;

use super::gradient::Gradient;
use super::reduce::Slices;
use super::wrt::{Wrt, cotangent, filled};
use crate::base::axes::{Axes, keep};
use crate::base::error::Result;
use crate::tensor::fill::Fill;
use crate::tensor::{Tensor, trace};

/// The gradient by the operand of [`Tensor::softmax`], `y`: `y (g − Σ y g)` with the sum over each slice and `g` the cotangent.
/// Absent elements are none of a slice: with an undefined fill this is the softmax of PyTorch's sparse tensors.
///
/// Cost: O(nse of the operand and of the cotangent).
///
/// ```
/// use openwork::{Layout, tensor, vjp};
/// let x = tensor![[1.0, 0.0, 1.0]; Layout::Csr, 0.0]?.stored();
/// let by = vjp::softmax(&x, 1, &tensor![[4.0, 100.0, 0.0]])?;
/// assert_eq!(by.stored.values::<f64>()?, [1.0, -1.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::softmax`]; if the operand is of integers or bools, or the cotangent has not the shape and the dtype of the
/// result.
pub fn softmax(x: &Tensor, axes: impl Into<Axes>, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::softmax", &[x, cotangent]);
    call.end(of_softmax(x, &axes.into(), cotangent, false))
}

/// The gradient by the operand of [`Tensor::log_softmax`]: `g − softmax(x) Σ g`; else as [`softmax`].
///
/// ```
/// use openwork::{tensor, vjp};
/// let x = tensor![[0.0, 0.0]];
/// // The mean loss of a classifier: minus the logarithm of the right class's probability.
/// let by = vjp::log_softmax(&x, 1, &tensor![[-1.0, 0.0]])?;
/// assert_eq!(by.stored.values::<f64>()?, [-0.5, 0.5]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`softmax`].
pub fn log_softmax(x: &Tensor, axes: impl Into<Axes>, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::log_softmax", &[x, cotangent]);
    call.end(of_softmax(x, &axes.into(), cotangent, true))
}

fn of_softmax(x: &Tensor, axes: &Axes, given: &Tensor, logarithm: bool) -> Result<Gradient> {
    let wrt = Wrt::new(x)?;
    let g = cotangent(given, x.shape(), x.dtype())?;
    // Where the result is absent, its cotangent does not matter.
    let g = if wrt.is_undefined() { wrt.at(&g)? } else { g };
    let shares = wrt.x.softmax(axes.clone())?;
    let axes = axes.of(x.ndim())?;
    let sum = |x: &Tensor| filled(&x.sum(keep(&axes))?);
    // The gradient is `a g − y s`, with `a` 1 or `y`, and `s` constant along slices.
    let s = sum(&if logarithm { g.clone() } else { g.mul(&shares)? })?;
    let own = |g: &Tensor, shares: &Tensor, s: &Tensor| {
        if logarithm { g.sub(shares.mul(s)?) } else { shares.mul(g.sub(s)?) }
    };
    let beside = wrt.beside_all(&[&s])?;
    let stored = own(&wrt.at(&g)?, &wrt.at(&shares)?, &beside[0])?;
    let fill = match shares.fill() {
        _ if wrt.fill().is_none() => None,
        Some(Fill::Scalar(_) | Fill::Array(_)) => {
            let share = match shares.fill() {
                Some(Fill::Array(values)) => (**values).clone(),
                Some(Fill::Scalar(value)) => Tensor::scalar(*value),
                _ => shares.clone(),
            };
            let first = wrt.unstored(&if logarithm { g.clone() } else { g.mul(&share)? })?;
            let second = wrt.unstored(&share.mul(&s)?)?;
            match (first, second) {
                (Some(first), Some(second)) => Some(first.sub(&second)?),
                _ => None,
            }
        }
        // A fill that varies along the slices: the op has made all dense.
        _ => wrt.unstored(&own(&filled(&g)?, &shares, &s)?)?,
    };
    wrt.done(&stored, fill)
}

/// The gradient by the operand of [`Tensor::logsumexp`]: the softmax times the cotangent.
///
/// # Errors
/// As [`Tensor::logsumexp`]; as [`reduce`](super::reduce()).
pub fn logsumexp(x: &Tensor, axes: impl Into<Axes>, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::logsumexp", &[x, cotangent]);
    call.end(of_logsumexp(x, &axes.into(), cotangent))
}

fn of_logsumexp(x: &Tensor, axes: &Axes, given: &Tensor) -> Result<Gradient> {
    let s = Slices::new(x, axes, x.dtype(), given)?;
    let whole = s.wrt.x.logsumexp(s.keep())?;
    s.wrt.of_each(&s.g, &[&whole], &|x, g, slices| x.sub(&slices[0])?.unary(UnaryOp::Exp)?.mul(g))
}
