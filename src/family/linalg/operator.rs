//! What can be multiplied: tensors, functions, and products and sums of either.

use openwork_ops::{DType, UnaryOp, promote};

use super::split;
use crate::base::error::{self, Error, Result};
use crate::family::matmul::prepare::{Prepared, PreparedForm, prepare};
use crate::tensor::{Tensor, trace};

/// Anything that multiplies vectors: what the iterative methods ask of a matrix.
///
/// A [`Tensor`] of two axes is one, with any layout and any defined fill: a centred sparse matrix, whose fill is one value
/// per column, is multiplied without ever being dense. So are references and boxes, functions ([`from_fn`]), and products
/// and sums of operators ([`product`], [`sum`], [`adjoint`], [`shifted`]).
///
/// ```
/// use openwork::linalg::{self, Operator};
/// use openwork::{DType, Layout, tensor};
///
/// let a = tensor![[2.0, 0.0], [0.0, 4.0]; Layout::Csr, 0.0]?;
/// let double = linalg::from_fn([2, 2], DType::F64, |x| x.mul(2.0));
/// let both = linalg::product(double, &a)?;
/// assert_eq!(both.apply(&tensor![1.0, 1.0])?.to_vec::<f64>()?, [4.0, 8.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
pub trait Operator {
    /// Rows and columns: the lengths of what is given and of what is taken.
    fn shape(&self) -> [usize; 2];

    /// The dtype of the elements. Methods compute in the promotion of this and of the right sides, as a float.
    fn dtype(&self) -> DType;

    /// The operator times `x`, of shape `(columns)` or `(columns, any)`: a matrix is several vectors side by side.
    ///
    /// # Errors
    /// Those of what it computes; they end the method that asked.
    fn apply(&self, x: &Tensor) -> Result<Tensor>;

    /// The conjugate transpose times `x`, of shape `(rows)` or `(rows, any)`.
    ///
    /// # Errors
    /// As [`Operator::apply`]. By default, that this operator cannot.
    fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
        let _ = x;
        Err(no_adjoint("implement `apply_adjoint`"))
    }

    /// The same operator in a form that takes a pass to make and is quicker to apply, if there is one: methods that apply it
    /// often ask for it once. By default there is none.
    ///
    /// # Errors
    /// As [`Operator::apply`].
    fn ready(&self) -> Result<Option<Box<dyn Operator>>> {
        Ok(None)
    }
}

fn no_adjoint(instead: &str) -> Error {
    let why = format!("the product with the conjugate transpose is needed, and this operator has none: {instead}");
    error::invalid("a", why)
}

impl Operator for Tensor {
    /// Of a tensor that is no matrix, no rows and no columns.
    fn shape(&self) -> [usize; 2] {
        if let &[m, n] = Tensor::shape(self) { [m, n] } else { [0, 0] }
    }

    fn dtype(&self) -> DType {
        Tensor::dtype(self)
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        is_matrix(self)?.matmul(x)
    }

    fn ready(&self) -> Result<Option<Box<dyn Operator>>> {
        if let Some(split) = split::of(self)? {
            return Ok(Some(split));
        }
        let prepared = prepare(is_matrix(self)?)?;
        Ok((prepared.form() != PreparedForm::AsStored).then(|| Box::new(prepared) as Box<dyn Operator>))
    }

    fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
        let t = is_matrix(self)?.matrix_transpose()?;
        if !Tensor::dtype(self).is_complex() {
            return t.matmul(x);
        }
        t.matmul(&x.unary(UnaryOp::Conj)?)?.unary(UnaryOp::Conj)
    }
}

impl Operator for Prepared {
    fn shape(&self) -> [usize; 2] {
        Operator::shape(self.tensor())
    }

    fn dtype(&self) -> DType {
        self.tensor().dtype()
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.matmul(x)
    }

    fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
        self.tensor().apply_adjoint(x)
    }
}

fn is_matrix(a: &Tensor) -> Result<&Tensor> {
    if a.ndim() == 2 { Ok(a) } else { Err(error::shape(&[a.shape()], "a matrix is needed, with two axes")) }
}

macro_rules! through {
    ($($ty:ty),*) => {$(
        impl<A: Operator + ?Sized> Operator for $ty {
            fn shape(&self) -> [usize; 2] {
                (**self).shape()
            }
            fn dtype(&self) -> DType {
                (**self).dtype()
            }
            fn apply(&self, x: &Tensor) -> Result<Tensor> {
                (**self).apply(x)
            }
            fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
                (**self).apply_adjoint(x)
            }
            fn ready(&self) -> Result<Option<Box<dyn Operator>>> {
                (**self).ready()
            }
        }
    )*};
}
through!(&A, Box<A>);

type Apply<'a> = Box<dyn Fn(&Tensor) -> Result<Tensor> + 'a>;

/// A function as an operator: what [`from_fn`] gives.
pub struct FromFn<'a> {
    shape: [usize; 2],
    dtype: DType,
    apply: Apply<'a>,
    adjoint: Option<Apply<'a>>,
}

/// A function as an operator, or as a preconditioner. It is given vectors of shape `(columns)`, or `(columns, any)` where
/// several right sides are solved for at once, and gives as many of length `rows`.
///
/// ```
/// use openwork::linalg::{self, Options};
/// use openwork::{DType, Layout, tensor};
///
/// let a = tensor![[4.0, 1.0], [1.0, 3.0]; Layout::Csr, 0.0]?;
/// let shifted = linalg::from_fn([2, 2], DType::F64, |x| a.matmul(x)? + x); // a + 1, never formed
/// let x = linalg::cg(&shifted, &tensor![7.0, 9.0], Options::default())?.converged()?;
/// assert!(x.allclose(&tensor![19.0 / 19.0, 2.0], 1e-9, 0.0)?);
/// # Ok::<(), openwork::Error>(())
/// ```
pub fn from_fn<'a>(shape: [usize; 2], dtype: DType, apply: impl Fn(&Tensor) -> Result<Tensor> + 'a) -> FromFn<'a> {
    FromFn { shape, dtype, apply: Box::new(apply), adjoint: None }
}

impl<'a> FromFn<'a> {
    /// With the function that multiplies by the conjugate transpose, which truncated singular values need.
    ///
    /// ```
    /// use openwork::linalg::{self, Operator};
    /// use openwork::{DType, Layout, tensor};
    /// let a = tensor![[2.0, 0.0], [0.0, 5.0], [1.0, 0.0]; Layout::Csr, 0.0]?;
    /// let at = a.t()?;
    /// let doubled = linalg::from_fn([3, 2], DType::F64, |x| a.matmul(x)?.mul(2.0)).with_adjoint(|y| at.matmul(y)?.mul(2.0));
    /// assert_eq!(doubled.apply_adjoint(&tensor![1.0, 1.0, 1.0])?.to_vec::<f64>()?, [6.0, 10.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    #[must_use]
    pub fn with_adjoint(self, adjoint: impl Fn(&Tensor) -> Result<Tensor> + 'a) -> FromFn<'a> {
        FromFn { adjoint: Some(Box::new(adjoint)), ..self }
    }
}

impl Operator for FromFn<'_> {
    fn shape(&self) -> [usize; 2] {
        self.shape
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        (self.apply)(x)
    }

    fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
        match &self.adjoint {
            Some(adjoint) => adjoint(x),
            None => Err(no_adjoint("give it with `with_adjoint`")),
        }
    }
}

/// The dtype of what two operators give together.
fn dtype_of(a: &dyn Operator, b: &dyn Operator) -> Result<DType> {
    let dtypes = [a.dtype(), b.dtype()];
    let why = "no dtype holds the values of both; cast one of them";
    promote(dtypes[0], dtypes[1]).ok_or_else(|| error::dtype(&dtypes, why))
}

/// The product of two operators, which is never formed: a vector is multiplied by `b`, then by `a`.
///
/// ```
/// use openwork::linalg::{self, Operator};
/// use openwork::{Layout, tensor};
///
/// let a = tensor![[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]; Layout::Csr, 0.0]?;
/// let gram = linalg::product(linalg::adjoint(&a), &a)?; // aᵀ a
/// assert_eq!(gram.apply(&tensor![1.0, 1.0])?.to_vec::<f64>()?, [12.0, 7.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If `a` has not as many columns as `b` has rows, or dtypes do not promote.
pub fn product<'a>(a: impl Operator + 'a, b: impl Operator + 'a) -> Result<impl Operator + 'a> {
    let call = trace::call("product", &[]);
    if a.shape()[1] != b.shape()[0] {
        let why = "the left operator must have as many columns as the right one has rows";
        return Err(error::shape(&[&a.shape(), &b.shape()], why));
    }
    let dtype = dtype_of(&a, &b)?;
    Ok(call.given(Pair { shape: [a.shape()[0], b.shape()[1]], dtype, is_sum: false, a, b }))
}

/// The sum of two operators of one shape, which is never formed.
///
/// ```
/// use openwork::linalg::{self, Operator};
/// use openwork::{Layout, Tensor, tensor};
///
/// let a = tensor![[1.0, 0.0], [0.0, 1.0]; Layout::Csr, 0.0]?;
/// let ones = Tensor::full([2, 2], 1.0, Layout::Coo)?;
/// assert_eq!(linalg::sum(&a, &ones)?.apply(&tensor![1.0, 2.0])?.to_vec::<f64>()?, [4.0, 5.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If their shapes differ or dtypes do not promote.
pub fn sum<'a>(a: impl Operator + 'a, b: impl Operator + 'a) -> Result<impl Operator + 'a> {
    let call = trace::call("sum", &[]);
    if a.shape() != b.shape() {
        return Err(error::shape(&[&a.shape(), &b.shape()], "operators that are added need one shape"));
    }
    let dtype = dtype_of(&a, &b)?;
    Ok(call.given(Pair { shape: a.shape(), dtype, is_sum: true, a, b }))
}

struct Pair<A, B> {
    shape: [usize; 2],
    dtype: DType,
    is_sum: bool,
    a: A,
    b: B,
}

impl<A: Operator, B: Operator> Operator for Pair<A, B> {
    fn shape(&self) -> [usize; 2] {
        self.shape
    }

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        if self.is_sum { self.a.apply(x)? + self.b.apply(x)? } else { self.a.apply(&self.b.apply(x)?) }
    }

    fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
        if self.is_sum {
            self.a.apply_adjoint(x)? + self.b.apply_adjoint(x)?
        } else {
            self.b.apply_adjoint(&self.a.apply_adjoint(x)?)
        }
    }
}

/// The conjugate transpose of an operator, which is never formed.
///
/// ```
/// use openwork::linalg::{self, Operator};
/// use openwork::{Layout, tensor};
///
/// let a = tensor![[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]; Layout::Csr, 0.0]?;
/// assert_eq!(linalg::adjoint(&a).apply(&tensor![1.0, 1.0, 1.0])?.to_vec::<f64>()?, [4.0, 3.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
pub fn adjoint<'a>(a: impl Operator + 'a) -> impl Operator + 'a {
    Adjoint(a)
}

struct Adjoint<A>(A);

impl<A: Operator> Operator for Adjoint<A> {
    fn shape(&self) -> [usize; 2] {
        let [m, n] = self.0.shape();
        [n, m]
    }

    fn dtype(&self) -> DType {
        self.0.dtype()
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.0.apply_adjoint(x)
    }

    fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
        self.0.apply(x)
    }
}

/// A square operator plus a real multiple of the identity, `a + shift · I`, which is never formed.
///
/// ```
/// use openwork::linalg::{self, Operator};
/// use openwork::{Layout, tensor};
///
/// let a = tensor![[0.0, 1.0], [1.0, 0.0]; Layout::Csr, 0.0]?;
/// assert_eq!(linalg::shifted(&a, 3.0)?.apply(&tensor![1.0, 2.0])?.to_vec::<f64>()?, [5.0, 7.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the operator is not square.
pub fn shifted<'a>(a: impl Operator + 'a, shift: f64) -> Result<impl Operator + 'a> {
    let call = trace::call("shifted", &[]);
    let [m, n] = a.shape();
    if m != n {
        return Err(error::shape(&[&[m, n]], "only a square operator can be shifted"));
    }
    Ok(call.given(Shifted { a, shift }))
}

struct Shifted<A> {
    a: A,
    shift: f64,
}

impl<A: Operator> Operator for Shifted<A> {
    fn shape(&self) -> [usize; 2] {
        self.a.shape()
    }

    fn dtype(&self) -> DType {
        self.a.dtype()
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        self.a.apply(x)? + x.mul(self.shift)?
    }

    fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
        self.a.apply_adjoint(x)? + x.mul(self.shift)?
    }
}

/// The inverse of a matrix's diagonal as an operator: Jacobi's preconditioner.
///
/// ```
/// use openwork::linalg::{self, Options};
/// use openwork::{Layout, tensor};
///
/// let a = tensor![[100.0, 1.0], [1.0, 2.0]; Layout::Csr, 0.0]?;
/// let p = linalg::jacobi(&a)?;
/// let solution = linalg::cg(&a, &tensor![101.0, 3.0], Options::default().preconditioner(&p))?;
/// assert!(solution.converged()?.allclose(&tensor![1.0, 1.0], 1e-9, 0.0)?);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If `a` is not a square matrix, an element of the diagonal is absent, or one is zero or not finite.
pub fn jacobi(a: &Tensor) -> Result<impl Operator + use<>> {
    let call = trace::call("jacobi", &[a]);
    let &[m, n] = is_matrix(a)?.shape() else { return Err(error::shape(&[a.shape()], "a matrix is needed")) };
    if m != n {
        return Err(error::shape(&[a.shape()], "a square matrix is needed"));
    }
    let dtype = a.dtype().to_inexact();
    let diagonal = a.diagonal(0, 0, 1)?.to_dense()?.cast(dtype)?;
    let Some(values) = diagonal.strided() else { return Err(error::layout("a dense tensor is not strided")) };
    let bad = |i: usize| Some(values.get(&[i])).filter(|v| v.is_zero() || !v.is_finite());
    if let Some((i, v)) = (0..n).find_map(|i| Some((i, bad(i)?))) {
        return Err(error::invalid("a", format_args!("element {i} of the diagonal is {v}, which has no inverse")));
    }
    let inverse = diagonal.unary(UnaryOp::Reciprocal)?;
    Ok(call.given(Diagonal { column: inverse.expand_dims(1)?, inverse }))
}

struct Diagonal {
    inverse: Tensor,
    /// The same as a matrix of one column.
    column: Tensor,
}

impl Diagonal {
    fn beside(&self, x: &Tensor) -> &Tensor {
        if x.ndim() == 1 { &self.inverse } else { &self.column }
    }
}

impl Operator for Diagonal {
    fn shape(&self) -> [usize; 2] {
        [self.inverse.size() as usize; 2]
    }

    fn dtype(&self) -> DType {
        self.inverse.dtype()
    }

    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(self.beside(x))
    }

    fn apply_adjoint(&self, x: &Tensor) -> Result<Tensor> {
        x.mul(&self.beside(x).unary(UnaryOp::Conj)?)
    }
}
