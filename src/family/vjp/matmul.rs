//! Matrix products. The gradient by a sparse operand is a product of which only the elements at its pattern are computed.

use openwork_ops::{DType, Number, Scalar, UnaryOp, promote};

use super::gradient::{Gradient, Gradients};
use super::wrt::{Wrt, cotangent, filled, is_undefined, wide};
use crate::base::axes::keep;
use crate::base::error::{self, Result};
use crate::base::mapped::{Chosen, Mapped};
use crate::base::shape::broadcast_shapes;
use crate::engine::sides::all_finite;
use crate::family::matmul::semiring::Product;
use crate::family::pointwise::Operand;
use crate::tensor::{Tensor, trace};

/// The gradients by both operands of [`Tensor::matmul`] (and of `mm`, `mv` and `bmm`): `g @ bᴴ` and `aᴴ @ g`, at the elements
/// that each stores.
///
/// Cost: for a sparse operand O(nse · k) with `k` the length of the sums if one of the other two is strided, else O(pairs of
/// stored elements that meet); for a strided one that of the product. The gradient by a fill takes the sums of the cotangent
/// and of the other operand; it is the total less what falls on stored elements, and rounded as such. Where that is NaN or
/// infinite it takes the whole product, within the densify budget. Batches over which an operand is repeated are part of the sums.
///
/// ```
/// use openwork::{Layout, Tensor, explain, vjp};
/// let w = Tensor::random([300, 200], 0.05, 0.0, Layout::Csr, 1)?;
/// let x = Tensor::rand([64, 300], 2)?;
/// let g = Tensor::rand([64, 200], 3)?; // the gradient by x @ w
/// let by = vjp::matmul(&x, &w, &g)?;
/// let dw = by.right()?;
/// assert_eq!((dw.stored.nse(), dw.stored.layout()), (w.nse(), w.layout()));
/// assert_eq!(by.left()?.stored.shape(), [64, 300]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::matmul`]; if the cotangent has not the shape and the dtype of the product. Asking for a gradient fails if the
/// operand is of integers or bools.
pub fn matmul(a: &Tensor, b: &Tensor, cotangent: &Tensor) -> Result<Gradients> {
    let call = trace::call("vjp::matmul", &[a, b, cotangent]);
    let (shape, dtype) = result(a, b)?;
    let g = super::wrt::cotangent(cotangent, &shape, dtype)?;
    let (a, b) = (a.clone(), b.clone());
    let by = move |i: usize| by_factor(&a, &b, i, &g);
    Ok(call.given(Gradients { op: "vjp::matmul", count: 2, by: Box::new(by) }))
}

/// The shape and the dtype of a product.
fn result(a: &Tensor, b: &Tensor) -> Result<(Vec<usize>, DType)> {
    let dtypes = [a.dtype(), b.dtype()];
    let why = "no dtype holds the values of both; cast one side";
    let dtype = promote(dtypes[0], dtypes[1]).ok_or_else(|| error::dtype(&dtypes, why))?;
    let (x, y) = (a.shape(), b.shape());
    if x.is_empty() || y.is_empty() {
        return Err(error::shape(&[x, y], "a 0-d tensor has no matrix product; multiply elementwise"));
    }
    let inner = y[y.len().saturating_sub(2)];
    if x[x.len() - 1] != inner {
        return Err(error::shape(&[x, y], "the lengths of the sums differ"));
    }
    let batch = |s: &[usize]| s[..s.len().saturating_sub(2)].to_vec();
    let mut shape = broadcast_shapes(&batch(x), &batch(y))?.to_vec();
    if x.len() > 1 {
        shape.push(x[x.len() - 2]);
    }
    if y.len() > 1 {
        shape.push(y[y.len() - 1]);
    }
    Ok((shape, dtype))
}

/// `conj(x)` with its last two axes swapped.
fn adjoint(x: &Tensor) -> Result<Tensor> {
    let x = if x.dtype().is_complex() { x.unary(UnaryOp::Conj)? } else { x.clone() };
    x.matrix_transpose()
}

/// The gradient by one factor: `g` has the shape of the product.
fn by_factor(a: &Tensor, b: &Tensor, i: usize, g: &Tensor) -> Result<Gradient> {
    let wrt = Wrt::new(if i == 0 { a } else { b })?;
    // All as matrices: a vector on the left is a row, on the right a column.
    let row = |x: &Tensor| if x.ndim() == 1 { x.expand_dims(0) } else { Ok(x.clone()) };
    let column = |x: &Tensor| if x.ndim() == 1 { x.expand_dims(1) } else { Ok(x.clone()) };
    let g = if a.ndim() == 1 { g.expand_dims(if b.ndim() == 1 { -1 } else { -2 })? } else { g.clone() };
    let g = filled(&if b.ndim() == 1 { g.expand_dims(-1)? } else { g })?;
    let dtype = wide(g.dtype());
    let other = filled(&(if i == 0 { b } else { a }).coalesce()?.cast(dtype)?)?;
    let (own, left, right) = if i == 0 {
        (row(&wrt.x)?, g, adjoint(&column(&other)?)?)
    } else {
        (column(&wrt.x)?, adjoint(&row(&other)?)?, g)
    };
    Inner::new(&own, left, right)?.gradient(&wrt)
}

/// A product of two stacks of matrices, of which the elements at an operand are wanted.
struct Inner {
    /// The operand, with an axis for each batch that it does not repeat over, and two.
    own: Tensor,
    left: Tensor,
    right: Tensor,
    /// The operand's own shape: as a matrix, or a stack of them.
    shape: Vec<usize>,
    folded: Vec<usize>,
}

impl Inner {
    /// Batches over which the operand is repeated become part of the sums.
    fn new(own: &Tensor, left: Tensor, right: Tensor) -> Result<Inner> {
        let ndim = left.ndim().max(right.ndim()).max(own.ndim());
        let (left, right, padded) = (left.atleast_nd(ndim)?, right.atleast_nd(ndim)?, own.atleast_nd(ndim)?);
        let batches = ndim - 2;
        let size = |d: usize| left.shape()[d].max(right.shape()[d]);
        let is_empty = |d: usize| left.shape()[d] == 0 || right.shape()[d] == 0;
        let folded: Vec<usize> = (0..batches).chosen(|&d| padded.shape()[d] == 1 && (size(d) != 1 || is_empty(d)));
        let shape = own.shape().to_vec();
        if folded.is_empty() {
            return Ok(Inner { own: padded, left, right, shape, folded });
        }
        let kept: Vec<usize> = (0..batches).chosen(|d| !folded.contains(d));
        let times = folded.iter().try_fold(1usize, |n, &d| n.checked_mul(if is_empty(d) { 0 } else { size(d) }));
        let merge = |x: &Tensor, last: bool| -> Result<Tensor> {
            // All batches are there in what is folded: one of the two may repeat.
            let whole = (0..ndim).mapped(|d| match folded.contains(&d) {
                true if is_empty(d) => 0,
                true => size(d),
                false => x.shape()[d],
            });
            let x = x.broadcast_to(&whole)?;
            let (rows, columns) = (x.shape()[ndim - 2], x.shape()[ndim - 1]);
            let mut order = kept.clone();
            if last {
                order.push(ndim - 2);
            }
            order.extend(&folded);
            order.extend(if last { ndim - 1..ndim } else { ndim - 2..ndim });
            let mut shape = kept.mapped(|&d| x.shape()[d]);
            let length = |n: usize| {
                times.and_then(|t| t.checked_mul(n)).ok_or_else(|| {
                    error::shape(&[x.shape()], "the batches and the sums together are longer than an axis can be")
                })
            };
            shape.extend(if last { [rows, length(columns)?] } else { [length(rows)?, columns] });
            x.permute_dims(&order)?.reshape(shape)
        };
        let (left, right) = (merge(&left, true)?, merge(&right, false)?);
        Ok(Inner { own: padded.squeeze(&folded)?, left, right, shape, folded })
    }

    /// A tensor over the axes of `own`, over those that the operand has.
    fn back(&self, x: &Tensor) -> Result<Tensor> {
        let x = if self.folded.is_empty() { x.clone() } else { x.expand_dims(&self.folded)? };
        let lead: Vec<usize> = (0..x.ndim() - self.shape.len()).collect();
        if lead.is_empty() { Ok(x) } else { x.squeeze(&lead) }
    }

    fn gradient(&self, wrt: &Wrt) -> Result<Gradient> {
        let as_given = |x: &Tensor| x.reshape(wrt.x.shape());
        if wrt.is_strided() {
            let whole = self.left.matmul(&self.right)?;
            return wrt.done(&as_given(&self.back(&filled(&whole)?)?)?, None);
        }
        let mask = self.own.is_stored()?;
        let here = self.left.matmul_with(&self.right, Product::default().mask(&mask))?;
        let stored = wrt.at(&as_given(&self.back(&here)?)?)?;
        let fill = match wrt.fill() {
            Some(fill) => Some(self.of_unstored(wrt, &stored, fill.shape())?),
            None => None,
        };
        wrt.done(&stored, fill)
    }

    /// The sums over the unstored elements that share an element of the fill: all, less those over the stored ones. What a
    /// sum of products sums over is summed first.
    fn of_unstored(&self, wrt: &Wrt, stored: &Tensor, fill: &[usize]) -> Result<Tensor> {
        let n = self.shape.len();
        let given = wrt.x.shape();
        // The fill over the axes of a matrix: a vector is a row or a column of it.
        let mut own = vec![1; given.len() - fill.len()];
        own.extend_from_slice(fill);
        if given.len() == 1 {
            own.insert(if self.shape[0] == given[0] && n == 2 && self.shape[1] == 1 { 1 } else { 0 }, 1);
        }
        let (rows, columns) = (own[n - 2], own[n - 1]);
        let left = if rows == 1 { self.left.sum(keep(-2))? } else { self.left.clone() };
        let right = if columns == 1 { self.right.sum(keep(-1))? } else { self.right.clone() };
        let total = self.back(&left.matmul(&right)?)?;
        let alone: Vec<usize> = (0..n).chosen(|&d| own[d] == 1 && total.shape()[d] != 1);
        let total = if alone.is_empty() { total } else { total.sum(keep(&alone))? };
        let alone: Vec<usize> =
            (0..given.len()).chosen(|&d| d + fill.len() < given.len() || fill[d + fill.len() - given.len()] == 1);
        let stored = filled(stored)?;
        let there = if alone.is_empty() { stored } else { stored.sum(keep(&alone))? };
        let rest = total.to_dense()?.reshape(fill)?.sub(there.to_dense()?.reshape(fill)?)?;
        // Where nothing is unstored no rounding is left.
        let one = Tensor::scalar(1.0);
        let rest = match wrt.unstored_to(&one, fill)? {
            Some(n) => n.gt(0.0)?.where_(&rest, Scalar::zero(rest.dtype()))?.to_dense()?,
            None => rest,
        };
        if rest.strided().is_none_or(all_finite) {
            return Ok(rest);
        }
        // What is NaN or infinite in the total does not go away by being subtracted.
        let whole = filled(&self.left.matmul(&self.right)?)?;
        match wrt.unstored_to(&self.back(&whole)?.reshape(given)?, fill)? {
            Some(sums) => sums.to_dense(),
            None => Ok(rest),
        }
    }
}

/// The gradients by `c`, `a` and `b` of [`c.sampled_addmm(a, b, beta, alpha)`](Tensor::sampled_addmm), which is
/// `beta * c + alpha * (a @ b)` at what `c` stores. `c`'s fill passes as it is.
///
/// Cost: O(nse of `c` · columns of `a`).
///
/// ```
/// use openwork::{Layout, tensor, vjp};
/// let c = tensor![[1.0, 0.0], [0.0, 1.0]; Layout::Csr, 0.0]?;
/// let (a, b) = (tensor![[1.0], [2.0]], tensor![[3.0, 4.0]]);
/// let by = vjp::sampled_addmm(&c, &a, &b, 1.0, 1.0, &tensor![[1.0, 1.0], [1.0, 1.0]])?;
/// assert_eq!(by.by(0)?.stored.values::<f64>()?, [1.0, 1.0]);
/// assert_eq!(by.by(1)?.stored.to_vec::<f64>()?, [3.0, 4.0]); // by a
/// assert_eq!(by.by(2)?.stored.to_vec::<f64>()?, [1.0, 2.0]); // by b
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// As [`Tensor::sampled_addmm`]; if an operand other than `c` has an undefined fill, or the cotangent has not the shape and the
/// dtype of the result. Asking for a gradient fails if the operand is of integers or bools.
pub fn sampled_addmm(
    c: &Tensor,
    a: &Tensor,
    b: &Tensor,
    beta: impl Into<Number>,
    alpha: impl Into<Number>,
    cotangent: &Tensor,
) -> Result<Gradients> {
    of_sampled([c, a, b], [beta.into(), alpha.into()], cotangent)
}

fn of_sampled([c, a, b]: [&Tensor; 3], [beta, alpha]: [Number; 2], given: &Tensor) -> Result<Gradients> {
    let call = trace::call("vjp::sampled_addmm", &[c, a, b, given]);
    if c.is_strided() {
        return Err(error::layout("the first operand is strided, and stores every element"));
    }
    if is_undefined(a) || is_undefined(b) {
        let why = "a factor has an undefined fill, so that elements of the product may be absent; give it a fill with replace_fill";
        return Err(error::absent(why));
    }
    let (shape, product) = result(a, b)?;
    if shape != c.shape() {
        return Err(error::shape(&[c.shape(), &shape], "the product has another shape"));
    }
    let scaled = alpha.meets(product);
    let why = "no dtype holds the values of both; cast one side";
    let dtype = promote(c.dtype(), scaled).ok_or_else(|| error::dtype(&[c.dtype(), scaled], why))?;
    let g = cotangent(given, c.shape(), promote(beta.meets(c.dtype()), dtype).unwrap_or(dtype))?;
    let conj =
        |n: Number| -> Result<Tensor> { Tensor::scalar(n.scalar()).cast(n.meets(g.dtype()))?.unary(UnaryOp::Conj) };
    let (beta, alpha) = (conj(beta)?, conj(alpha)?);
    let (c, a, b) = (c.clone(), a.clone(), b.clone());
    let by = move |i: usize| {
        // The pattern alone: the dtype of c need have no gradient.
        let at = Wrt::new(&c.cast(wide(dtype))?)?;
        let here = at.at(&g)?;
        if i == 0 {
            let wrt = Wrt::new(&c)?;
            return wrt.done(&here.mul(Operand::from(&beta))?, wrt.unstored(&g)?);
        }
        let here = here.mul(Operand::from(&alpha))?.replace_fill(Scalar::zero(g.dtype()))?;
        by_factor(&a, &b, i - 1, &here)
    };
    Ok(call.given(Gradients { op: "vjp::sampled_addmm", count: 3, by: Box::new(by) }))
}
