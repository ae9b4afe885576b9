//! Products by the names that other libraries give them.

use openwork_ops::matmul::{Plus, Semiring};
use openwork_ops::{BinaryOp, DType, Number, ReduceOp};

use super::chain;
use super::contract::{self, Joined};
use super::dot;
use super::semiring::Product;
use crate::base::axes::{Axes, Axis};
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::family::pointwise::Operand;
use crate::levels::layout::Layout;
use crate::tensor::fill::Fill;
use crate::tensor::{Tensor, trace};

/// The axes over which [`Tensor::tensordot`] sums.
///
/// ```
/// use openwork::{Contracted, Tensor};
/// let (a, b) = (Tensor::rand([2, 3, 4], 1)?, Tensor::rand([3, 4, 5], 2)?);
/// let last = a.tensordot(&b, 2)?; // the last two of `a`, the first two of `b`
/// let named = a.tensordot(&b, ([1, 2], [0, 1]))?; // the same by name
/// assert!(last.equal(&named)?);
/// assert_eq!(a.tensordot(&b, Contracted::from((2, 1)))?.shape(), [2, 3, 3, 5]);
/// # Ok::<(), openwork::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Contracted {
    /// So many of the last axes of the left operand with as many of the first of the right one.
    Count(usize),
    /// Axes of the left operand, each with the one at its place among those of the right one.
    Pairs(Axes, Axes),
}

macro_rules! counts {
    ($($ty:ty),*) => {$(
        impl From<$ty> for Contracted {
            fn from(count: $ty) -> Contracted {
                // A negative number is larger than that of any tensor's axes, too.
                Contracted::Count(usize::try_from(count).unwrap_or(usize::MAX))
            }
        }
    )*};
}
counts!(i32, i64, usize);

impl<A: Into<Axes>, B: Into<Axes>> From<(A, B)> for Contracted {
    fn from((left, right): (A, B)) -> Contracted {
        Contracted::Pairs(left.into(), right.into())
    }
}

/// # Matrix products by other names
impl Tensor {
    /// The product of two matrices: [`Tensor::matmul`] of nothing else.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let a = tensor![[1, 0], [0, 2]; Layout::Csr, 0]?;
    /// assert_eq!(a.mm(&tensor![[3, 4], [5, 6]])?.to_vec::<i32>()?, [3, 4, 10, 12]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If either is not a matrix; else as [`Tensor::matmul`].
    #[doc(alias("spmm", "spgemm"))]
    pub fn mm(&self, other: &Tensor) -> Result<Tensor> {
        let call = trace::call("mm", &[self, other]);
        shaped(self, other, [2, 2])?;
        call.end(self.matmul(other))
    }

    /// The product of a matrix and a vector: [`Tensor::matmul`] of nothing else.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let a = tensor![[1, 0], [0, 2]; Layout::Csr, 0]?;
    /// assert_eq!(a.mv(&tensor![3, 4])?.to_vec::<i32>()?, [3, 8]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the left operand is not a matrix or the right one not a vector; else as [`Tensor::matmul`].
    #[doc(alias("spmv", "matvec"))]
    pub fn mv(&self, vector: &Tensor) -> Result<Tensor> {
        let call = trace::call("mv", &[self, vector]);
        shaped(self, vector, [2, 1])?;
        call.end(self.matmul(vector))
    }

    /// The products of two batches of matrices, one by one: [`Tensor::matmul`] of tensors of three axes, of which the first has
    /// one size.
    ///
    /// ```
    /// use openwork::tensor;
    /// let (a, b) = (tensor![[[1, 2]], [[3, 4]]], tensor![[[1], [1]], [[2], [0]]]);
    /// assert_eq!(a.bmm(&b)?.to_vec::<i32>()?, [3, 6]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If either has not three axes, or their first axes differ; else as [`Tensor::matmul`], which also broadcasts batches.
    pub fn bmm(&self, other: &Tensor) -> Result<Tensor> {
        let call = trace::call("bmm", &[self, other]);
        shaped(self, other, [3, 3])?;
        if self.shape()[0] != other.shape()[0] {
            let why = "the batches have different sizes; matmul broadcasts those of size 1";
            return Err(error::shape(&[self.shape(), other.shape()], why));
        }
        call.end(self.matmul(other))
    }

    /// `beta * self + alpha * (a @ b)`, of matrices. A factor of 1 costs nothing; with a `beta` of 0 nothing but the shape and
    /// the dtype of `self` counts.
    ///
    /// Fill and layout: those of the product, scaled, and of the sum.
    ///
    /// ```
    /// use openwork::{Layout, Tensor, tensor};
    /// let a = tensor![[1.0, 0.0], [0.0, 2.0]; Layout::Csr, 0.0]?;
    /// let out = tensor![10.0, 20.0].addmm(&a, &a, 0.5, 2.0)?; // it broadcasts
    /// assert_eq!(out.to_vec::<f64>()?, [7.0, 10.0, 5.0, 18.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `a` or `b` is not a matrix, or `self` does not broadcast to their product; else as [`Tensor::matmul`],
    /// [`Tensor::mul`] and [`Tensor::add`].
    pub fn addmm(&self, a: &Tensor, b: &Tensor, beta: impl Into<Number>, alpha: impl Into<Number>) -> Result<Tensor> {
        let call = trace::call("addmm", &[self, a, b]);
        shaped(a, b, [2, 2])?;
        let product = a.matmul(b)?;
        fits(self, product.shape())?;
        call.end(combined(self, beta.into(), product, alpha.into()))
    }

    /// `beta * self + alpha * (a @ b)` where `self`, which is sparse, stores something; elsewhere its fill. Only those elements
    /// of the product are computed.
    ///
    /// So it is, by the meaning, a sum over `self.stored()`, whose fill is put back: neither fills of the product nor `beta` and
    /// `alpha` touch what is not stored.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let s = tensor![[1.0, 0.0], [0.0, 1.0]; Layout::Csr, 0.0]?;
    /// let (a, b) = (tensor![[1.0], [2.0]], tensor![[10.0, 20.0]]);
    /// assert_eq!(s.sampled_addmm(&a, &b, 1.0, 1.0)?.to_vec::<f64>()?, [11.0, 0.0, 0.0, 41.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// **Cost:** that of [`Tensor::matmul_with`] with a mask: O(k) for each stored element where an operand is strided.
    ///
    /// # Errors
    /// If `self` is strided or its shape is not that of the product; else as [`Tensor::matmul_with`], or if the fill does not fit
    /// the dtype of the result.
    #[doc(alias("sddmm", "masked_matmul"))]
    pub fn sampled_addmm(
        &self,
        a: &Tensor,
        b: &Tensor,
        beta: impl Into<Number>,
        alpha: impl Into<Number>,
    ) -> Result<Tensor> {
        let call = trace::call("sampled_addmm", &[self, a, b]);
        let Some(fill) = self.fill() else {
            return Err(error::layout(
                "the tensor is strided, and stores every element: addmm is that product and sum",
            ));
        };
        let mask = self.is_stored()?;
        let product = a.matmul_with(b, Product::default().mask(&mask))?;
        if product.shape() != self.shape() {
            return Err(error::shape(&[self.shape(), product.shape()], "the product has another shape"));
        }
        let out = combined(&self.stored(), beta.into(), product, alpha.into())?;
        let fill = match fill {
            Fill::Scalar(value) => Fill::Scalar(value.cast(out.dtype())),
            Fill::Array(values) => Fill::array(values.cast(out.dtype())?),
            Fill::Undefined => Fill::Undefined,
        };
        call.end(out.replace_fill(fill))
    }

    /// The inner products of vectors along an axis, those of `self` conjugated (the array API's `vecdot`): the other axes
    /// broadcast.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let a = tensor![[1, 0, 2], [0, 3, 0]; Layout::Csr, 0]?;
    /// assert_eq!(a.vecdot(&tensor![[1, 1, 1], [2, 2, 2]], -1)?.to_vec::<i32>()?, [3, 6]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the axis, a negative one counted in both operands and any other in what they broadcast to, is not there in both or
    /// its sizes differ; if the other axes do not broadcast; else as [`Tensor::matmul`].
    pub fn vecdot(&self, other: &Tensor, axis: impl Into<Axis>) -> Result<Tensor> {
        let call = trace::call("vecdot", &[self, other]);
        let n = self.ndim().max(other.ndim());
        let at = axis.into().of(n)?;
        let shapes = [self.shape(), other.shape()];
        let (x, y) = (self.atleast_nd(n)?, other.atleast_nd(n)?);
        if at < n - self.ndim().min(other.ndim()) {
            return Err(error::shape(&shapes, "one operand does not have the axis; negative axes count from the last"));
        }
        if x.shape()[at] != y.shape()[at] {
            return Err(error::shape(&shapes, "the sizes along the axis differ, and it does not broadcast"));
        }
        let last = |t: &Tensor| t.moveaxis(at, -1);
        let product = dot::of_conjugate(&last(&x)?.expand_dims(-2)?, &last(&y)?.expand_dims(-1)?)?;
        call.end(product.squeeze([-2, -1]))
    }

    /// The sums of the products of elements over some axes of both: the other axes of `self`, then those of `other`.
    ///
    /// `axes` is a number, of the last axes of `self` and the first of `other`; or two lists of as many axes (see
    /// [`Contracted`]). A matrix product over merged axes: [`Tensor::matmul`] says what becomes of fills. Where the rows that are
    /// left of a sparse operand are made of several axes and the other operand is strided, the result stores those rows that the
    /// sparse operand does; merged axes of other sparse tensors give COO.
    ///
    /// ```
    /// use openwork::{Layout, Tensor, tensor};
    /// let x = Tensor::random([4, 5, 6], 0.2, 0.0, Layout::Csf, 1)?;
    /// let (v, m) = (Tensor::rand([6], 2)?, Tensor::rand([5, 3], 3)?);
    /// assert_eq!(x.tensordot(&v, 1)?.shape(), [4, 5]); // tensor times vector
    /// assert_eq!(x.tensordot(&m, (1, 0))?.shape(), [4, 6, 3]); // tensor times matrix
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or named twice, the numbers or the sizes of axes differ, merged axes have more elements than an
    /// axis can; else as [`Tensor::matmul`].
    #[doc(alias("ttm", "ttv"))]
    pub fn tensordot(&self, other: &Tensor, axes: impl Into<Contracted>) -> Result<Tensor> {
        let call = trace::call("tensordot", &[self, other]);
        let (left, right) = match axes.into() {
            Contracted::Count(n) => {
                if n > self.ndim().min(other.ndim()) {
                    let shapes = [self.shape(), other.shape()];
                    return Err(error::shape(
                        &shapes,
                        "the number of axes to sum over is negative, or larger than an operand has",
                    ));
                }
                ((self.ndim() - n..self.ndim()).collect(), (0..n).collect())
            }
            Contracted::Pairs(left, right) => {
                (left.unkept()?.ordered(self.ndim())?, right.unkept()?.ordered(other.ndim())?)
            }
        };
        if left.len() != right.len() {
            let why = format!("{} axes of the left operand and {} of the right one are named", left.len(), right.len());
            return Err(error::invalid("axes", why));
        }
        let inner = (0..left.len()).mapped(|i| [left[i], right[i]]);
        if let Some([a, b]) = inner.iter().find(|&&[a, b]| self.shape()[a] != other.shape()[b]) {
            let why = format!(
                "axis {a} of the left operand has {} elements, axis {b} of the right one {}",
                self.shape()[*a],
                other.shape()[*b]
            );
            return Err(error::shape(&[self.shape(), other.shape()], why));
        }
        let joined = Joined { inner, ..Joined::default() };
        call.end(contract::contract(self, other, &joined, Semiring::PLUS_TIMES, None))
    }

    /// A square matrix times itself, `n` times; the identity for 0. Leading axes are batches. About `2 log2(n)` products.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let a = tensor![[1, 1], [1, 0]; Layout::Csr, 0]?;
    /// assert_eq!(a.matrix_power(10)?.to_vec::<i32>()?, [89, 55, 55, 34]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// The power 0 has what [`Tensor::matmul`] would give of fills: 0 beside the diagonal, and absent elements for an undefined
    /// one.
    ///
    /// # Errors
    /// If the last two axes have different sizes, `n` is negative; else as [`Tensor::matmul`].
    pub fn matrix_power(&self, n: i64) -> Result<Tensor> {
        let call = trace::call("matrix_power", &[self]);
        let [.., rows, columns] = *self.shape() else {
            return Err(error::shape(&[self.shape()], "a matrix is needed"));
        };
        if rows != columns {
            return Err(error::shape(&[self.shape()], "the last two axes need the same size"));
        }
        let Ok(mut rest) = u64::try_from(n) else {
            let why = format!("is {n}; a negative power is one of the inverse, which is not sparse: solve instead");
            return Err(error::invalid("n", why));
        };
        let mut square = self.clone();
        let mut power: Option<Tensor> = None;
        while rest > 0 {
            if rest & 1 == 1 {
                power = Some(match power {
                    None => square.clone(),
                    Some(power) => power.matmul(&square)?,
                });
            }
            rest >>= 1;
            if rest > 0 {
                square = square.matmul(&square)?;
            }
        }
        match power {
            Some(power) => Ok(call.done(power)),
            None => call.end(identity(self, rows)),
        }
    }

    /// The product of several matrices, in the order of products that is cheapest. The first may be a vector, which is a row,
    /// and the last one, which is a column.
    ///
    /// What a product costs is estimated from what its operands store: a strided one stores everything, and stored elements of
    /// products are taken to be spread evenly. Each product is that of [`Tensor::matmul`], in the promoted dtype of all operands.
    ///
    /// ```
    /// use openwork::{Tensor, tensor};
    /// let (a, b, v) = (tensor![[1, 2], [3, 4]], tensor![[0, 1], [1, 0]], tensor![1, 10]);
    /// assert_eq!(Tensor::multi_dot(&[&a, &b, &v])?.to_vec::<i32>()?, [12, 34]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If there are no operands, one is no matrix (nor a vector at an end), or inner sizes differ; else as [`Tensor::matmul`].
    #[doc(alias("chain_matmul"))]
    pub fn multi_dot(operands: &[&Tensor]) -> Result<Tensor> {
        let call = trace::call("multi_dot", operands);
        call.end(chain::product(operands))
    }

    /// The products of elements of rows and columns, `self[i, k] * other[k, j]`, folded over `k` by another op than the sum: mean,
    /// least or greatest, as graph networks gather from neighbours.
    ///
    /// A fold is that of all terms, unstored zeros included: neighbours alone are
    /// `a.stored().matmul_reduce(&x, op)?.replace_fill(0.0)`, where rows without any are absent first. `sum`, `prod`, `min`, `max`, `any` and
    /// `all` are those of [`Tensor::matmul_with`], with `*` as ⊗; the mean is the sum divided by the number of terms that are there.
    ///
    /// ```
    /// use openwork::{Fill, ReduceOp, Tensor, tensor};
    /// // Node 0 hears from 1 and 2, node 1 from 2, node 2 from nobody.
    /// let ways = Tensor::coo([3, 3], vec![vec![0, 0, 1], vec![1, 2, 2]], &tensor![1.0, 1.0, 1.0], Fill::Undefined)?;
    /// let x = tensor![[1.0, 5.0], [2.0, 6.0], [4.0, 3.0]];
    /// let near = ways.matmul_reduce(&x, ReduceOp::Mean)?.replace_fill(0.0)?;
    /// assert_eq!(near.to_vec::<f64>()?, [3.0, 4.5, 4.0, 3.0, 0.0, 0.0]);
    /// let most = ways.matmul_reduce(&x, ReduceOp::Max)?.replace_fill(0.0)?;
    /// assert_eq!(most.to_vec::<f64>()?, [4.0, 6.0, 4.0, 3.0, 0.0, 0.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::matmul_with`]; if the op has no identity to fold from, as `count_nonzero`.
    #[doc(alias("spmm_reduce"))]
    pub fn matmul_reduce(&self, other: &Tensor, op: ReduceOp) -> Result<Tensor> {
        let call = trace::call("matmul_reduce", &[self, other]);
        let plus = match op {
            ReduceOp::Sum | ReduceOp::Mean => Plus::Sum,
            ReduceOp::Prod => Plus::Prod,
            ReduceOp::Min => Plus::Min,
            ReduceOp::Max => Plus::Max,
            ReduceOp::Any => Plus::Or,
            ReduceOp::All => Plus::And,
            other => {
                let why = format!(
                    "{} does not fold products; allowed are sum, mean, prod, min, max, any and all",
                    other.name()
                );
                return Err(error::invalid("op", why));
            }
        };
        let semiring = Semiring::new(plus, BinaryOp::Mul);
        if op != ReduceOp::Mean {
            return call.end(self.matmul_with(other, semiring));
        }
        let both = openwork_ops::promote(self.dtype(), other.dtype());
        let Some(typing) = both.and_then(|dtype| op.typing(dtype)) else {
            return call.end(self.matmul_with(other, semiring));
        };
        // The sum of integers could wrap; half precision holds neither every sum of which it holds the mean nor every count.
        let via = if matches!(typing.out, DType::F16 | DType::BF16) { DType::F32 } else { typing.out };
        let wide = |x: &Tensor| x.cast(typing.out)?.cast(via);
        let (left, right) = (wide(self)?, wide(other)?);
        let folded = left.matmul_with(&right, semiring)?;
        let is_absent = |t: &Tensor| t.fill().is_some_and(Fill::is_undefined);
        let terms = if is_absent(self) || is_absent(other) {
            left.matmul_with(&right, Semiring::PLUS_PAIR)?
        } else {
            Tensor::scalar(self.shape().last().copied().unwrap_or_default() as u64)
        };
        call.end(folded.div(&terms.cast(via)?)?.cast(typing.out))
    }

    /// The Kronecker products of columns of one number (Khatri and Rao): of matrices with `r` columns each, a matrix with `r`
    /// columns and a row for each pair of rows, those of `other` running faster.
    ///
    /// Of two sparse matrices with fill 0, or both with an undefined one, O(pairs of stored elements in one column); others as
    /// elementwise products that broadcast, and a [`Tensor::reshape`]. Sums over its rows are best left to [`Tensor::einsum`],
    /// which does not make them.
    ///
    /// ```
    /// use openwork::tensor;
    /// let out = tensor![[1, 2], [3, 4]].khatri_rao(&tensor![[10, 100], [20, 200]])?;
    /// assert_eq!(out.to_vec::<i32>()?, [10, 200, 20, 400, 30, 400, 60, 800]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If either is not a matrix, the numbers of columns differ, or the rows are more than an axis can have; else as
    /// [`Tensor::mul`].
    pub fn khatri_rao(&self, other: &Tensor) -> Result<Tensor> {
        let call = trace::call("khatri_rao", &[self, other]);
        let ([m, r], [n, also]) = (self.shape(), other.shape()) else {
            return Err(error::shape(&[self.shape(), other.shape()], "two matrices are needed"));
        };
        if r != also {
            return Err(error::shape(&[self.shape(), other.shape()], "the numbers of columns differ"));
        }
        let Some(rows) = m.checked_mul(*n) else {
            return Err(error::shape(&[self.shape(), other.shape()], "the rows are more than an axis can have"));
        };
        let joined = Joined { batch: vec![[1, 1]], ..Joined::default() };
        let blank =
            |t: &Tensor| t.fill().is_some_and(|f| f.is_undefined() || f.as_scalar().is_some_and(|f| f.is_zero()));
        let out = if blank(self) && blank(other) {
            contract::contract(self, other, &joined, Semiring::PLUS_TIMES, None)?.permute_dims([1, 2, 0])?
        } else {
            self.expand_dims(1)?.mul(other.expand_dims(0)?)?
        };
        call.end(out.reshape([rows, *r]))
    }
}

fn shaped(a: &Tensor, b: &Tensor, [left, right]: [usize; 2]) -> Result<()> {
    if a.ndim() == left && b.ndim() == right {
        return Ok(());
    }
    let why = format!("the operands need {left} and {right} axes; matmul takes vectors, matrices and batches of them");
    Err(error::shape(&[a.shape(), b.shape()], why))
}

fn fits(x: &Tensor, shape: &[usize]) -> Result<()> {
    match crate::base::shape::broadcast_shapes(x.shape(), shape) {
        Ok(both) if both[..] == *shape => Ok(()),
        _ => Err(error::shape(&[x.shape(), shape], "the tensor does not broadcast to the product")),
    }
}

/// `beta * x + alpha * product`. The product is nobody else's: it is multiplied where it is.
fn combined(x: &Tensor, beta: Number, mut product: Tensor, alpha: Number) -> Result<Tensor> {
    let is = |n: Number, value: f64| n.scalar().to::<f64>() == value && !n.scalar().dtype().is_complex();
    if !is(alpha, 1.0) {
        product.mul_assign(Operand::Number(alpha))?;
    }
    if is(beta, 0.0) {
        let of = openwork_ops::promote(x.dtype(), product.dtype());
        return of.map_or(Ok(product.clone()), |dtype| product.cast(dtype));
    }
    if is(beta, 1.0) { x.add(&product) } else { x.mul(Operand::Number(beta))?.add(&product) }
}

/// The identity, of each matrix of a batch.
fn identity(x: &Tensor, n: usize) -> Result<Tensor> {
    let layout = if x.is_strided() { Layout::Strided } else { Layout::Csr };
    let one = Tensor::eye(n, x.dtype(), layout)?;
    let one = if x.fill().is_some_and(Fill::is_undefined) { one.stored() } else { one };
    one.broadcast_to(x.shape())
}
