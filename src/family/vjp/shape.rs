//! Ops that move, repeat, choose, join or cast elements.

use openwork_ops::{DType, Scalar};

use super::gradient::{Gradient, Gradients};
use super::wrt::{Wrt, cotangent, filled, summed_to};
use crate::base::axes::{Axes, Axis};
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::base::shape::{broadcast_shapes, elements};
use crate::family::index::Index;
use crate::levels::layout::Layout;
use crate::tensor::{Tensor, trace};

/// The gradient by the operand of [`Tensor::permute_dims`]: the cotangent with its axes where they were.
///
/// # Errors
/// As [`Tensor::permute_dims`]; if the operand is of integers or bools, or the cotangent has not the shape and the dtype of
/// the op's result.
pub fn permute_dims(x: &Tensor, axes: impl Into<Axes>, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::permute_dims", &[x, cotangent]);
    call.end(permuted(x, &axes.into(), cotangent))
}

fn permuted(x: &Tensor, axes: &Axes, given: &Tensor) -> Result<Gradient> {
    let wrt = Wrt::new(x)?;
    let axes = axes.unkept()?.ordered(x.ndim())?;
    if axes.len() != x.ndim() {
        let why = format!("{} axes are given for a tensor with {}", axes.len(), x.ndim());
        return Err(error::invalid("axes", why));
    }
    let g = cotangent(given, &axes.mapped(|&a| x.shape()[a]), x.dtype())?;
    let mut back = vec![0; axes.len()];
    axes.iter().enumerate().for_each(|(to, &from)| back[from] = to);
    wrt.of_whole(&g.permute_dims(&back)?)
}

/// The gradient by the operand of [`Tensor::reshape`] (and of `flatten`, `squeeze`, `expand_dims`): the cotangent, of any
/// shape with as many elements, in the operand's shape.
///
/// # Errors
/// If the cotangent has another number of elements or another dtype, or the operand is of integers or bools.
pub fn reshape(x: &Tensor, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::reshape", &[x, cotangent]);
    call.end(reshaped(x, cotangent))
}

fn reshaped(x: &Tensor, given: &Tensor) -> Result<Gradient> {
    let wrt = Wrt::new(x)?;
    if elements(x.shape()) != elements(given.shape()) {
        return Err(error::shape(&[x.shape(), given.shape()], "the cotangent has another number of elements"));
    }
    let g = cotangent(given, given.shape(), x.dtype())?;
    wrt.of_whole(&g.reshape(x.shape())?)
}

/// The gradient by the operand of [`Tensor::broadcast_to`]: the cotangent, of the shape that was broadcast to, summed over
/// what was repeated.
///
/// ```
/// use openwork::{tensor, vjp};
/// let by = vjp::broadcast_to(&tensor![1.0, 2.0], &tensor![[1.0, 2.0], [3.0, 4.0]])?;
/// assert_eq!(by.stored.values::<f64>()?, [4.0, 6.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the operand does not broadcast to the shape of the cotangent or has another dtype, or is of integers or bools.
pub fn broadcast_to(x: &Tensor, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::broadcast_to", &[x, cotangent]);
    call.end(broadcast(x, cotangent))
}

fn broadcast(x: &Tensor, given: &Tensor) -> Result<Gradient> {
    let wrt = Wrt::new(x)?;
    if broadcast_shapes(x.shape(), given.shape()).ok().as_deref() != Some(given.shape()) {
        return Err(error::shape(&[x.shape(), given.shape()], "the operand does not broadcast to the cotangent"));
    }
    wrt.of_whole(&summed_to(&cotangent(given, given.shape(), x.dtype())?, x.shape())?)
}

/// The gradient by the operand of [`Tensor::cast`] to a float or complex dtype: the cotangent in the operand's dtype.
///
/// # Errors
/// If the operand is of integers or bools, or the cotangent has another shape or no float dtype.
pub fn cast(x: &Tensor, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::cast", &[x, cotangent]);
    let of = |x: &Tensor| Wrt::new(x)?.of_whole(&super::wrt::cotangent(cotangent, x.shape(), cotangent.dtype())?);
    call.end(of(x))
}

/// The gradient by the operand of [`Tensor::index`] (and of [`Tensor::slice`]): each element gets the cotangents of the places to which it
/// went, summed.
///
/// Cost: O(nse of the operand and of the cotangent + length of the lists).
///
/// ```
/// use openwork::{Layout, s, tensor, vjp};
/// let x = tensor![[1.0, 0.0], [0.0, 2.0]; Layout::Csr, 0.0]?;
/// let by = vjp::index(&x, s![[1, 1, 0]], &tensor![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])?;
/// assert_eq!(by.stored.values::<f64>()?, [5.0, 6.0]);
/// assert_eq!(by.fill, Some(10.0.into()));
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::index`]; if the operand is of integers or bools, or the cotangent has not the shape and the dtype of the op's
/// result.
pub fn index(x: &Tensor, items: impl AsRef<[Index]>, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::index", &[x, cotangent]);
    call.end(chosen(x, items.as_ref(), cotangent))
}

fn chosen(x: &Tensor, items: &[Index], given: &Tensor) -> Result<Gradient> {
    let wrt = Wrt::new(x)?;
    // Of a tensor that takes no memory: the shape of what was chosen.
    let shape = Tensor::empty(x.shape(), DType::Bool, Layout::Coo, false)?.index(items)?.shape().to_vec();
    let g = cotangent(given, &shape, x.dtype())?;
    let zeros = blank(x, g.dtype())?;
    // Ranges name no element twice.
    let lists = items.iter().any(|i| matches!(i, Index::List(_) | Index::Mask(_)));
    wrt.of_whole(&if lists { zeros.index_add(items, &g)? } else { zeros.index_put(items, &filled(&g)?)? })
}

/// Zeros of the shape of an operand, strided if it is.
fn blank(x: &Tensor, dtype: DType) -> Result<Tensor> {
    let zero = Scalar::zero(dtype);
    if x.is_strided() {
        Tensor::full(x.shape(), zero, Layout::Strided)
    } else {
        Tensor::empty(x.shape(), dtype, Layout::Coo, zero)
    }
}

/// The gradient by the operand of [`Tensor::index_select`]: as [`index`].
///
/// # Errors
/// As [`index`].
pub fn index_select(
    x: &Tensor,
    indices: impl Into<Index>,
    axis: impl Into<Axis>,
    cotangent: &Tensor,
) -> Result<Gradient> {
    let call = trace::call("vjp::index_select", &[x, cotangent]);
    let (indices, axis) = (indices.into(), axis.into());
    let of = || {
        let at = axis.of(x.ndim())?;
        let mut items = vec![Index::from(..); at];
        items.push(indices);
        chosen(x, &items, cotangent)
    };
    call.end(of())
}

/// The gradients by the operands of [`Tensor::concat`]: each gets its part of the cotangent.
///
/// ```
/// use openwork::{Layout, tensor, vjp};
/// let (a, b) = (tensor![1.0, 0.0; Layout::Coo, 0.0]?, tensor![5.0]);
/// let by = vjp::concat(&[&a, &b], 0, &tensor![1.0, 2.0, 3.0])?;
/// assert_eq!(by.left()?.fill, Some(2.0.into()));
/// assert_eq!(by.right()?.stored.values::<f64>()?, [3.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::concat`]; if the cotangent has not the shape and the dtype of the op's result. Asking for a gradient fails if
/// the operand is of integers or bools.
pub fn concat(tensors: &[&Tensor], axis: impl Into<Axis>, cotangent: &Tensor) -> Result<Gradients> {
    joined(tensors, axis.into(), cotangent)
}

fn joined(tensors: &[&Tensor], axis: Axis, given: &Tensor) -> Result<Gradients> {
    let call = trace::call("vjp::concat", tensors);
    let Some(first) = tensors.first() else { return Err(error::invalid("tensors", "there are none")) };
    let axis = axis.of(first.ndim())?;
    let (mut shape, mut dtype, mut ends) = (first.shape().to_vec(), first.dtype(), vec![0]);
    for x in tensors {
        let fits = |d: usize| d == axis || x.shape()[d] == shape[d];
        if x.ndim() != shape.len() || !(0..shape.len()).all(fits) {
            return Err(error::shape(&[first.shape(), x.shape()], "the tensors differ along another axis"));
        }
        let why = "no dtype holds the values of both; cast one side";
        dtype = openwork_ops::promote(dtype, x.dtype()).ok_or_else(|| error::dtype(&[dtype, x.dtype()], why))?;
        let end = ends[ends.len() - 1] + x.shape()[axis];
        ends.push(end);
    }
    shape[axis] = ends[ends.len() - 1];
    let g = cotangent(given, &shape, dtype)?;
    let count = tensors.len();
    let tensors = tensors.mapped(|&x| x.clone());
    let by = move |i: usize| {
        let wrt = Wrt::new(&tensors[i])?;
        wrt.of_whole(&g.narrow(ends[i]..ends[i + 1], axis)?)
    };
    Ok(call.given(Gradients { op: "vjp::concat", count, by: Box::new(by) }))
}
