//! Results written into the memory of a tensor that is no longer needed, another one's or the operand's own.

use std::sync::Arc;

use openwork_ops::registry::BinaryKernel;
use openwork_ops::{BinaryOp, UnaryOp, promote};

use crate::base::error::Result;
use crate::base::shape::broadcast_shapes;
use crate::base::strided::Strided;
use crate::base::{interrupt, parallel};
use crate::family::pointwise::Operand;
use crate::levels::layout::Layout;
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// # Computing in place
///
/// Updates in place, as `+=` would be: the operator cannot return a [`Result`].
///
/// The result is that of the method without `_assign`, in dtype and shape too, and replaces the tensor. It is written over
/// the tensor's values, without allocating, where no other tensor shares them, the dtype stays, and either the other
/// operand is a number, or both are strided and the other broadcasts to the tensor, or both have the same pattern
/// ([`Tensor::shares_pattern`]).
///
/// ```
/// use openwork::tensor;
/// let mut x = tensor![1.0, 2.0, 3.0];
/// let step = tensor![0.5, 0.5, 1.0];
/// x.add_assign(&step)?;
/// x.mul_assign(2.0)?;
/// assert_eq!(x.values::<f64>()?, [3.0, 5.0, 8.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
impl Tensor {
    /// `x += other`: [`Tensor::add`], with the result in place of the tensor.
    ///
    /// # Errors
    /// As [`Tensor::binary`]; then the tensor is as it was.
    pub fn add_assign<'a>(&mut self, other: impl Into<Operand<'a>>) -> Result<()> {
        assign("add_assign", self, BinaryOp::Add, other.into())
    }

    /// `x -= other`: [`Tensor::sub`], with the result in place of the tensor.
    ///
    /// # Errors
    /// As [`Tensor::binary`]; then the tensor is as it was.
    pub fn sub_assign<'a>(&mut self, other: impl Into<Operand<'a>>) -> Result<()> {
        assign("sub_assign", self, BinaryOp::Sub, other.into())
    }

    /// `x *= other`: [`Tensor::mul`], with the result in place of the tensor.
    ///
    /// # Errors
    /// As [`Tensor::binary`]; then the tensor is as it was.
    pub fn mul_assign<'a>(&mut self, other: impl Into<Operand<'a>>) -> Result<()> {
        assign("mul_assign", self, BinaryOp::Mul, other.into())
    }

    /// `x /= other`: [`Tensor::div`], with the result in place of the tensor. Integers become floats.
    ///
    /// # Errors
    /// As [`Tensor::binary`]; then the tensor is as it was.
    pub fn div_assign<'a>(&mut self, other: impl Into<Operand<'a>>) -> Result<()> {
        assign("div_assign", self, BinaryOp::Div, other.into())
    }

    /// Any registered op of two operands, with the result in place of the tensor.
    ///
    /// # Errors
    /// As [`Tensor::binary`]; then the tensor is as it was.
    pub fn binary_assign<'a>(&mut self, op: BinaryOp, other: impl Into<Operand<'a>>) -> Result<()> {
        assign("binary_assign", self, op, other.into())
    }

    /// Any registered op of one operand, with the result in place of the tensor. PyTorch's `relu_` is
    /// `x.unary_assign(UnaryOp::Relu)`.
    ///
    /// ```
    /// use openwork::{Layout, UnaryOp, tensor};
    /// let mut x = tensor![[1.0, -2.0], [0.0, -3.0]; Layout::Csr, -1.0]?;
    /// x.unary_assign(UnaryOp::Abs)?;
    /// assert_eq!(x.values::<f64>()?, [1.0, 2.0, 0.0, 3.0]);
    /// assert_eq!(x.fill(), Some(&1.0.into()));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::unary`]; then the tensor is as it was.
    pub fn unary_assign(&mut self, op: UnaryOp) -> Result<()> {
        let call = trace::call("unary_assign", &[self]);
        if !unary_in_place(self, op)? {
            *self = self.unary(op)?;
        }
        call.done(());
        Ok(())
    }
}

/// # Computing: results written over values no longer needed
///
/// Memory of a large result comes from the kernel page by page, which takes longer than to write it again. In a loop,
/// results can go where those of the round before were:
///
/// ```
/// use openwork::{BinaryOp, Layout, Tensor, UnaryOp};
/// let x = Tensor::random([1000, 1000], 0.01, 0.0, Layout::Csr, 7)?;
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
        Storage::Sparse(s) => Arc::get_mut(s).map(|s| &mut s.values),
    };
    let (result, is_taken) = match values {
        Some(values) => interrupt::hold(|| values.buffer.lent(f)),
        None => (f(), false),
    };
    if is_taken {
        let dtype = out.dtype();
        *out = Tensor::from_strided(Strided::from_bytes(&[], dtype, &[0])?);
    }
    *out = result?;
    Ok(())
}

fn assign(name: &'static str, x: &mut Tensor, op: BinaryOp, other: Operand<'_>) -> Result<()> {
    let call = match &other {
        Operand::Tensor(other) => trace::call(name, &[x, other]),
        Operand::Number(_) => trace::call(name, &[x]),
    };
    if !in_place(x, op, &other)? {
        *x = x.binary(op, other)?;
    }
    call.done(());
    Ok(())
}

/// Writes the result over the tensor's values, if it can stand there.
fn in_place(x: &mut Tensor, op: BinaryOp, other: &Operand<'_>) -> Result<bool> {
    let dtype = x.dtype();
    let common = match other {
        Operand::Tensor(other) => promote(dtype, other.dtype()),
        Operand::Number(number) => Some(number.meets(dtype)),
    };
    let Some(typing) = common.filter(|c| *c == dtype).and_then(|c| op.typing(c)) else { return Ok(false) };
    let Some(kernel) = op.kernel(typing.compute).filter(|_| typing.compute == dtype && typing.out == dtype) else {
        return Ok(false);
    };
    let number = match other {
        Operand::Number(number) => number.scalar().fit(dtype).ok().map(|v| Strided::constant(v, &[])),
        Operand::Tensor(_) => None,
    };
    let strided = match other {
        Operand::Tensor(other) => other.strided().map(|s| s.cast(dtype)),
        Operand::Number(_) => number.clone(),
    };
    match &mut x.storage {
        Storage::Strided(values) => {
            let Some(other) =
                strided.filter(|o| broadcast_shapes(&o.shape, &values.shape).is_ok_and(|s| s == values.shape))
            else {
                return Ok(false);
            };
            let other = other.broadcast(&values.shape);
            Ok(over_with(values, &other, kernel))
        }
        Storage::Sparse(s) => {
            let Some(own) = Arc::get_mut(s).filter(|s| s.pattern.is_unique()) else { return Ok(false) };
            let beside = match other {
                Operand::Number(_) => number.map(|n| n.broadcast(&own.values.shape)),
                Operand::Tensor(other) => {
                    let same = |t: &&Sparse| t.shape == own.shape && own.pattern.is_same(&t.pattern);
                    other.sparse().filter(same).map(|t| t.values.cast(dtype))
                }
            };
            let Some(beside) = beside else { return Ok(false) };
            // The fill is that of the op where nothing is stored.
            let bare = |s: &Sparse| Tensor::empty(&s.shape, s.dtype(), Layout::Coo, s.fill.clone());
            let of_fills = match other {
                Operand::Number(number) => bare(own).and_then(|x| x.binary(op, number.scalar())),
                Operand::Tensor(other) => match other.sparse() {
                    Some(other) => bare(own).and_then(|x| x.binary(op, bare(other)?)),
                    None => return Ok(false),
                },
            };
            // Two fills that collide make the result dense, or an error: not here.
            let Some(fill) = of_fills.ok().and_then(|x| x.sparse().map(|s| s.fill.clone())) else { return Ok(false) };
            let done = over_with(&mut own.values, &beside, kernel);
            if done {
                own.fill = fill;
            }
            Ok(done)
        }
    }
}

/// Writes the op's result over the tensor's values, if it can stand there.
fn unary_in_place(x: &mut Tensor, op: UnaryOp) -> Result<bool> {
    let dtype = x.dtype();
    let Some(typing) = op.typing(dtype).filter(|t| t.compute == dtype && t.out == dtype) else { return Ok(false) };
    let Some(kernel) = op.kernel(typing.compute) else { return Ok(false) };
    let apply = |values: &mut Strided| over(values, &|_, own, _, out| kernel(own, out));
    match &mut x.storage {
        Storage::Strided(values) => Ok(apply(values)),
        Storage::Sparse(s) => {
            let Some(own) = Arc::get_mut(s).filter(|s| s.pattern.is_unique()) else { return Ok(false) };
            // The fill is that of the op where nothing is stored.
            let of_fill = Tensor::empty(&own.shape, dtype, Layout::Coo, own.fill.clone())?.unary(op)?;
            let Some(fill) = of_fill.sparse().map(|s| s.fill.clone()) else { return Ok(false) };
            let done = apply(&mut own.values);
            if done {
                own.fill = fill;
            }
            Ok(done)
        }
    }
}

/// `values = kernel(values, other)`: see [`over`].
fn over_with(values: &mut Strided, other: &Strided, kernel: BinaryKernel) -> bool {
    over(values, &|first, own, beside, out| {
        other.read(first, beside);
        kernel(own, beside, out);
    })
}

/// Makes values anew, block by block, if nobody else shares the memory and the values lie in it in order. What does so is given
/// the place of the first, what they were, as much memory for anything, and where they go.
type Anew<'a> = dyn Fn(usize, &[u8], &mut [u8], &mut [u8]) + Sync + 'a;

fn over(values: &mut Strided, anew: &Anew<'_>) -> bool {
    const BLOCK: usize = 1 << 10;
    let size = values.dtype.size();
    let own = values.offset * size..(values.offset + values.len()) * size;
    let Some(bytes) = Some(values.is_contiguous()).filter(|c| *c).and_then(|_| values.buffer.unique_mut()) else {
        return false;
    };
    let Some(bytes) = bytes.get_mut(own) else { return false };
    let chunk = |first: usize, out: &mut [u8]| {
        let mut words = vec![0u128; 2 * (BLOCK * size).div_ceil(16)];
        let (left, right) = words.split_at_mut((BLOCK * size).div_ceil(16));
        let (left, right) = (bytemuck::cast_slice_mut::<u128, u8>(left), bytemuck::cast_slice_mut::<u128, u8>(right));
        for (i, block) in out.chunks_mut(BLOCK * size).enumerate() {
            let (left, right) = (&mut left[..block.len()], &mut right[..block.len()]);
            left.copy_from_slice(block);
            anew(first + i * BLOCK, left, right, block);
        }
    };
    interrupt::hold(|| parallel::for_chunks_mut(bytes, size, parallel::GRAIN, &chunk));
    true
}
