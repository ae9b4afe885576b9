//! Elementwise ops: derivatives are what the registry says, expressions over registered ops.

use std::cell::OnceCell;

use openwork_ops::derivative::{Derivative, Expr};
use openwork_ops::{BinaryOp, DType, Scalar, UnaryOp, c128, promote};

use super::gradient::{Gradient, Gradients};
use super::wrt::{Wrt, cotangent, filled, is_undefined, summed_to, wide};
use crate::base::error::{self, Result};
use crate::base::faults::{self, Fault};
use crate::base::shape::broadcast_shapes;
use crate::base::strided::Strided;
use crate::family::pointwise::Operand;
use crate::tensor::{Tensor, trace};

/// What an expression is evaluated on.
struct Scope<'a> {
    left: &'a Tensor,
    right: Option<&'a Tensor>,
    cotangent: &'a Tensor,
    dtype: DType,
    out: &'a dyn Fn() -> Result<Tensor>,
    known: OnceCell<Tensor>,
}

impl Scope<'_> {
    fn number(&self, value: impl Into<Scalar>) -> Tensor {
        Tensor::from_strided(Strided::constant(value.into().cast(self.dtype), &[]))
    }

    fn eval(&self, e: &Expr) -> Result<Tensor> {
        match e {
            Expr::Left => Ok(self.left.clone()),
            Expr::Right => Ok(self.right.unwrap_or(self.left).clone()),
            Expr::Out => match self.known.get() {
                Some(out) => Ok(out.clone()),
                None => {
                    let out = (self.out)()?;
                    Ok(self.known.get_or_init(|| out).clone())
                }
            },
            Expr::Cotangent => Ok(self.cotangent.clone()),
            Expr::Number(n) => Ok(self.number(*n)),
            Expr::ImaginaryUnit => Ok(self.number(c128::new(0.0, 1.0))),
            Expr::Unary(op, x) => self.eval(x)?.unary(*op),
            Expr::Binary(op, x, y) => self.eval(x)?.binary(*op, self.eval(y)?),
            Expr::Where(c, x, y) => self.eval(c)?.where_(self.eval(x)?, self.eval(y)?),
            Expr::Trigamma(x) => self.eval(x)?.polygamma(1),
        }
    }

    /// The gradient by the operand of which this is the derivative.
    fn pull(&self, derivative: Derivative) -> Result<Tensor> {
        match derivative {
            Derivative::Partial(e) => {
                let slope = self.eval(e)?;
                let conjugated = slope.dtype().is_complex() && !faults::is(Fault::SlopeUnconjugated);
                let slope = if conjugated { slope.unary(UnaryOp::Conj)? } else { slope };
                self.cotangent.mul(slope)
            }
            Derivative::Pullback(e) | Derivative::OfComplex(e) => self.eval(e),
            Derivative::Zero | Derivative::None => self.cotangent.mul(self.number(0.0)),
        }
    }
}

/// What stands for the derivative of an op in the dtype that it computes in; `None` if it is 0.
fn settled(op: &str, derivative: Derivative, compute: DType) -> Result<Option<Derivative>> {
    match derivative {
        Derivative::None => {
            let why =
                format!("{op} has no derivative by this operand: its result jumps, or is no number that can vary");
            Err(error::invalid("op", why))
        }
        Derivative::Zero => Ok(None),
        Derivative::OfComplex(_) if !compute.is_complex() => Ok(None),
        derivative => Ok(Some(derivative)),
    }
}

/// The gradient by the operand of a registered op: `cotangent * conj(f'(x))`.
///
/// Cost: O(nse of the operand and of the cotangent).
///
/// ```
/// use openwork::{Layout, UnaryOp, tensor, vjp};
/// let x = tensor![[-1.0, 0.0, 2.0]; Layout::Csr, 0.0]?;
/// let by = vjp::unary(UnaryOp::Relu, &x, &tensor![[10.0, 20.0, 30.0]])?;
/// assert_eq!(by.stored.values::<f64>()?, [0.0, 30.0]);
/// let none = vjp::unary(UnaryOp::Isnan, &x, &tensor![[false, false, false]]);
/// assert!(none.unwrap_err().to_string().contains("isnan has no derivative"));
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the op has no derivative or is not defined for the dtype, the operand is of integers or bools, or the cotangent has not
/// the shape and the dtype of the op's result.
pub fn unary(op: UnaryOp, x: &Tensor, cotangent: &Tensor) -> Result<Gradient> {
    let call = trace::call("vjp::unary", &[x, cotangent]);
    call.end(of_unary(op, x, cotangent))
}

fn of_unary(op: UnaryOp, x: &Tensor, given: &Tensor) -> Result<Gradient> {
    let derivative = settled(op.name(), op.derivative(), x.dtype())?;
    let wrt = Wrt::new(x)?;
    let typing = op.typing(x.dtype());
    let typing = typing.ok_or_else(|| error::dtype(&[x.dtype()], "the op is not defined for this dtype"))?;
    let g = cotangent(given, x.shape(), typing.out)?;
    let Some(derivative) = derivative else { return wrt.zero() };
    let pull = |x: &Tensor, g: &Tensor| {
        let out = || x.unary(op);
        let scope = Scope {
            left: x,
            right: None,
            cotangent: g,
            dtype: wide(typing.compute),
            out: &out,
            known: OnceCell::new(),
        };
        scope.pull(derivative)
    };
    let here = if wrt.is_strided() { filled(&g)? } else { wrt.at(&g)? };
    let stored = pull(&wrt.stored(), &here)?;
    // All elements that share a fill have one derivative: the cotangents are summed first.
    let fill = match (wrt.fill(), wrt.unstored(&g)?) {
        (Some(fill), Some(sum)) => {
            let by = pull(&fill, &sum)?;
            if by.isfinite()?.all(..)?.item()?.to::<bool>() {
                Some(by)
            } else {
                // An infinite derivative is none where nothing is unstored.
                let one = Tensor::from_strided(Strided::constant(Scalar::F64(1.0), &[]));
                wrt.unstored(&one)?.map(|n| n.gt(0.0)?.where_(&by, 0.0)).transpose()?
            }
        }
        _ => None,
    };
    wrt.done(&stored, fill)
}

/// The gradients by both operands of a registered op, which broadcast. A number on the right takes the dtype that it takes in
/// the op, and has a gradient too.
///
/// Cost: O(nse of the operands and of the cotangent), and where the operand repeats O(its nse times how often); the gradient
/// by a fill takes the size of a strided operand or cotangent.
///
/// ```
/// use openwork::{BinaryOp, Layout, tensor, vjp};
/// let x = tensor![[1.0, 0.0], [0.0, 2.0]; Layout::Csr, 0.0]?;
/// let row = tensor![10.0, 20.0];
/// let by = vjp::binary(BinaryOp::Mul, &x, &row, &tensor![[1.0, 1.0], [1.0, 1.0]])?;
/// assert_eq!(by.left()?.stored.values::<f64>()?, [10.0, 20.0]);
/// assert_eq!(by.left()?.fill, Some(30.0.into()));
/// assert_eq!(by.right()?.stored.to_vec::<f64>()?, [1.0, 2.0]); // summed over the rows
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the op is not defined for the operands, or the cotangent has not the shape and the dtype of its result. Asking for a
/// gradient fails where the op has no derivative, or the operand is of integers or bools.
pub fn binary<'a>(op: BinaryOp, a: &Tensor, b: impl Into<Operand<'a>>, cotangent: &Tensor) -> Result<Gradients> {
    of_binary(op, a, b.into(), cotangent)
}

fn of_binary(op: BinaryOp, a: &Tensor, b: Operand<'_>, given: &Tensor) -> Result<Gradients> {
    let b = match b {
        Operand::Tensor(b) => b.into_owned(),
        Operand::Number(n) => {
            let value = n.scalar().fit(n.meets(a.dtype())).map_err(error::does_not_fit)?;
            Tensor::from_strided(Strided::constant(value, &[]))
        }
    };
    let call = trace::call("vjp::binary", &[a, &b, given]);
    let dtypes = [a.dtype(), b.dtype()];
    let typing = promote(dtypes[0], dtypes[1]).and_then(|common| op.typing(common));
    let typing = typing.ok_or_else(|| error::dtype(&dtypes, format_args!("{} is not defined for these", op.name())))?;
    let shape = broadcast_shapes(a.shape(), b.shape())?;
    if op.derivatives() == [Derivative::None; 2] {
        settled(op.name(), Derivative::None, typing.compute)?;
    }
    let mut g = cotangent(given, &shape, typing.out)?;
    for x in [a, &b] {
        if is_undefined(x) {
            g = g.mask(&x.is_stored()?)?; // where the result is absent, its cotangent does not matter
        }
    }
    let compute = wide(typing.compute);
    let a = a.clone();
    let by = move |i: usize| by_side(op, &a, &b, i, &g, compute);
    Ok(call.given(Gradients { op: "vjp::binary", count: 2, by: Box::new(by) }))
}

fn by_side(op: BinaryOp, a: &Tensor, b: &Tensor, i: usize, g: &Tensor, compute: DType) -> Result<Gradient> {
    let (own, other) = if i == 0 { (a, b) } else { (b, a) };
    let derivative = settled(op.name(), op.derivatives()[i], compute)?;
    let wrt = Wrt::new(own)?;
    let Some(derivative) = derivative else { return wrt.zero() };
    let other = other.coalesce()?.cast(compute)?;
    let pull = |own: &Tensor, other: &Tensor, g: &Tensor| {
        let own = own.cast(compute)?;
        let (left, right) = if i == 0 { (&own, other) } else { (other, &own) };
        let out = || left.binary(op, right);
        Scope { left, right: Some(right), cotangent: g, dtype: compute, out: &out, known: OnceCell::new() }
            .pull(derivative)
    };
    let repeats = wrt.x.shape() != g.shape();
    let stored = if repeats || wrt.is_strided() {
        summed_to(&pull(&wrt.stored(), &other, g)?, wrt.x.shape())?
    } else {
        let beside = if is_undefined(&other) { other.clone() } else { wrt.at(&other)? };
        pull(&wrt.stored(), &beside, &wrt.at(g)?)?
    };
    let fill = match wrt.fill() {
        Some(fill) => wrt.unstored(&summed_to(&pull(&fill, &other, g)?, wrt.x.shape())?)?,
        None => None,
    };
    wrt.done(&stored, fill)
}

/// The gradients by `x` (the first) and `y` of [`condition.where_(x, y)`](Tensor::where_): the cotangent where each was
/// chosen.
///
/// ```
/// use openwork::{Layout, tensor, vjp};
/// let x = tensor![[1.0, 0.0, 3.0]; Layout::Csr, 0.0]?;
/// let chosen = tensor![[true, false, false]];
/// let by = vjp::where_(&chosen, &x, &tensor![[7.0]], &tensor![[10.0, 20.0, 30.0]])?;
/// assert_eq!(by.left()?.stored.values::<f64>()?, [10.0, 0.0]);
/// assert_eq!(by.right()?.stored.values::<f64>()?, [50.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
///
/// # Errors
/// If the operands are none of `where_`, or the cotangent has not the shape and the dtype of its result.
pub fn where_(condition: &Tensor, x: &Tensor, y: &Tensor, cotangent: &Tensor) -> Result<Gradients> {
    let call = trace::call("vjp::where_", &[condition, x, y, cotangent]);
    let shape = broadcast_shapes(condition.shape(), &broadcast_shapes(x.shape(), y.shape())?)?;
    let why = "no dtype holds the values of both; cast one side";
    let dtype = promote(x.dtype(), y.dtype()).ok_or_else(|| error::dtype(&[x.dtype(), y.dtype()], why))?;
    let g = filled(&super::wrt::cotangent(cotangent, &shape, dtype)?)?;
    let (condition, arms) = (condition.clone(), [x.clone(), y.clone()]);
    let by = move |i: usize| {
        let wrt = Wrt::new(&arms[i])?;
        let here = if i == 0 { condition.where_(&g, 0.0)? } else { condition.where_(0.0, &g)? };
        wrt.of_whole(&summed_to(&here, wrt.x.shape())?)
    };
    Ok(call.given(Gradients { op: "vjp::where_", count: 2, by: Box::new(by) }))
}
