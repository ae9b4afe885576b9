//! Results written into the memory of a tensor that is no longer needed.

use openwork_ops::{BinaryOp, UnaryOp};

use crate::base::error::Result;
use crate::base::strided::Strided;
use crate::family::pointwise::Operand;
use crate::tensor::{Storage, Tensor};

/// Memory of a large result comes from the kernel page by page, which takes longer than to write it again. In a loop,
/// results can go where those of the round before were:
///
/// ```
/// use openwork::{BinaryOp, Layout, Tensor, UnaryOp};
/// let x = Tensor::random(&[1000, 1000], 0.01, 0.0, Layout::Csr, 7)?;
/// let (mut scaled, mut out) = (x.mul(0.5)?, x.sin()?);
/// for step in 1..4 {
///     x.binary_into(BinaryOp::Mul, f64::from(step), &mut scaled)?;
///     scaled.unary_into(UnaryOp::Sin, &mut out)?;
/// }
/// assert_eq!(out.layout(), Layout::Csr);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// The result is the same as that of the method without `_into`, and replaces `out`, whatever `out` was. The values of
/// `out` are overwritten in place if no other tensor shares them, this library allocated them, elements are wider than a
/// byte, and the result has as many bytes of values; else memory is allocated as usual.
impl Tensor {
    /// [`Tensor::unary`], with the result in `out`.
    ///
    /// # Errors
    /// As [`Tensor::unary`]; then `out` is as it was.
    pub fn unary_into(&self, op: UnaryOp, out: &mut Tensor) -> Result<()> {
        into(out, || self.unary(op))
    }

    /// [`Tensor::binary`], with the result in `out`.
    ///
    /// # Errors
    /// As [`Tensor::binary`]; then `out` is as it was, or empty if it had been written to already.
    pub fn binary_into<'a>(&self, op: BinaryOp, other: impl Into<Operand<'a>>, out: &mut Tensor) -> Result<()> {
        into(out, || self.binary(op, other))
    }

    /// [`Tensor::matmul`], with the result in `out`: for dense results, whose rows are written in place.
    ///
    /// # Errors
    /// As [`Tensor::matmul`]; then `out` is as it was, or empty if it had been written to already.
    pub fn matmul_into(&self, other: &Tensor, out: &mut Tensor) -> Result<()> {
        into(out, || self.matmul(other))
    }
}

fn into(out: &mut Tensor, f: impl FnOnce() -> Result<Tensor>) -> Result<()> {
    let values = match &mut out.storage {
        Storage::Strided(s) => Some(s),
        Storage::Sparse(s) => std::sync::Arc::get_mut(s).map(|s| &mut s.values),
    };
    let (result, is_taken) = match values {
        Some(values) => values.buffer.lent(f),
        None => (f(), false),
    };
    if is_taken {
        let dtype = out.dtype();
        *out = Tensor::from_strided(Strided::from_bytes(&[], dtype, &[0]));
    }
    *out = result?;
    Ok(())
}
