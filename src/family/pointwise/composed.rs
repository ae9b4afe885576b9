//! Elementwise functions that take more than operands of one kind: limits, weights, tolerances, orders.

use openwork_ops::binary::clamp;
use openwork_ops::closeness::close;
use openwork_ops::unary::special;
use openwork_ops::{BinaryOp, DType, Element, Number, bf16, f16};

use super::{Operand, of_kernel};
use crate::base::error::{self, Result};
use crate::base::strided::Strided;
use crate::family::compare;
use crate::tensor::Tensor;
use crate::tensor::trace;

/// A limit of [`Tensor::clamp`]: a number, a tensor, or `None`.
pub struct Limit<'a>(Option<Operand<'a>>);

impl<'a, T: Into<Operand<'a>>> From<T> for Limit<'a> {
    fn from(operand: T) -> Limit<'a> {
        Limit(Some(operand.into()))
    }
}

impl<'a> From<Option<Operand<'a>>> for Limit<'a> {
    fn from(operand: Option<Operand<'a>>) -> Limit<'a> {
        Limit(operand)
    }
}

/// # Computing: elementwise ops made of others
impl Tensor {
    /// `min(max(x, low), high)`: PyTorch's `clamp`, the array API's `clip`. Limits are numbers or tensors that
    /// broadcast; `None` is none. Where `low` is above `high` the result is `high`; NaN, also of a limit, stays NaN.
    ///
    /// Fill, cost and errors: those of [`Tensor::maximum`] and [`Tensor::minimum`].
    ///
    /// ```
    /// let x = openwork::Tensor::from_vec([3], vec![-2.0, 0.5, 9.0])?;
    /// assert_eq!(x.clamp(-1.0, None)?.clamp(None, 1.0)?.values::<f64>()?, [-1.0, 0.5, 1.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If both limits are `None`, or as [`Tensor::binary`].
    pub fn clamp<'a>(&self, low: impl Into<Limit<'a>>, high: impl Into<Limit<'a>>) -> Result<Tensor> {
        let call = trace::call("clamp", &[self]);
        let out = match (low.into().0, high.into().0) {
            (None, None) => Err(error::invalid("low, high", "both are None; at least one limit is needed")),
            (Some(low), None) => self.maximum(low),
            (None, Some(high)) => self.minimum(high),
            (Some(low), Some(high)) => match self.between(&low, &high)? {
                Some(out) => Ok(out),
                None => self.maximum(low)?.minimum(high),
            },
        };
        call.end(out)
    }

    /// [`Tensor::clamp`] by two numbers, in one pass; `None` of other limits. Elements meet both in the dtype that they have at last:
    /// casts to it keep their order.
    fn between(&self, low: &Operand<'_>, high: &Operand<'_>) -> Result<Option<Tensor>> {
        let (Operand::Number(low), Operand::Number(high)) = (low, high) else { return Ok(None) };
        let with_low = low.meets(self.dtype());
        let dtype = high.meets(with_low);
        let (Ok(low), Ok(high), false) = (low.scalar().fit(with_low), high.scalar().fit(dtype), dtype.is_complex())
        else {
            return Ok(None);
        };
        let low = low.cast(dtype);
        let kernel = |x: &[&[u8]], out: &mut [u8]| clamp(dtype, x[0], [low, high], out);
        of_kernel(&[dtype], dtype, &kernel, &[self]).map(Some)
    }

    /// The array API's name of [`Tensor::clamp`].
    ///
    /// # Errors
    /// As [`Tensor::clamp`].
    pub fn clip<'a>(&self, low: impl Into<Limit<'a>>, high: impl Into<Limit<'a>>) -> Result<Tensor> {
        let call = trace::call("clip", &[self]);
        call.end(self.clamp(low, high))
    }

    /// `x + weight * (end - x)`, and the same from the other end, `end - (end - x) * (1 - weight)`, for weights of at
    /// least a half: so that weight 1 gives `end` itself. Integers give floats.
    ///
    /// Fill, cost and errors: those of the ops in the formula.
    ///
    /// ```
    /// use openwork::tensor;
    /// assert_eq!(tensor![0.0, 10.0].lerp(&tensor![4.0, 20.0], 0.25)?.to_vec::<f64>()?, [1.0, 12.5]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::binary`]; complex weights, which have no order, are refused.
    pub fn lerp<'a>(&self, end: impl Into<Operand<'a>>, weight: impl Into<Operand<'a>>) -> Result<Tensor> {
        let call = trace::call("lerp", &[self]);
        let end = end.into();
        let distance = self.binary_from_operand(BinaryOp::Sub, end.clone())?;
        let from_start = |weight: Operand<'_>| -> Result<Tensor> { self.add(distance.mul(weight)?) };
        let from_end = |rest: Operand<'_>| -> Result<Tensor> {
            distance.mul(rest)?.binary_from_operand(BinaryOp::Sub, end.clone())
        };
        let out = match weight.into() {
            Operand::Number(n) => match n.scalar().cast(DType::F64) {
                _ if n.scalar().dtype().is_complex() => {
                    Err(error::dtype(&[self.dtype(), n.scalar().dtype()], "a weight must be real"))
                }
                openwork_ops::Scalar::F64(w) if w >= 0.5 => from_end(Operand::Number((1.0 - w).into())),
                _ => from_start(Operand::Number(n)),
            },
            Operand::Tensor(w) => {
                let near_start = w.lt(0.5)?;
                let rest = w.binary_from(BinaryOp::Sub, 1)?;
                near_start.where_(from_start(Operand::Tensor(w))?, from_end(rest.into())?)
            }
        };
        call.end(out)
    }

    /// `other op self`.
    fn binary_from_operand(&self, op: BinaryOp, other: Operand<'_>) -> Result<Tensor> {
        match other {
            Operand::Number(n) => self.binary_from(op, n),
            Operand::Tensor(t) => t.binary(op, self),
        }
    }

    /// `x + value * (a * b)`.
    ///
    /// Fill, cost and errors: those of the ops in the formula; where `a` or `b` is a zero, the product stays sparse.
    /// [`Tensor::zip_with3`] makes no intermediate, but knows nothing of zeros.
    ///
    /// # Errors
    /// As [`Tensor::binary`].
    pub fn addcmul<'a, 'b>(
        &self,
        a: impl Into<Operand<'a>>,
        b: impl Into<Operand<'b>>,
        value: impl Into<Number>,
    ) -> Result<Tensor> {
        let call = trace::call("addcmul", &[self]);
        call.end(self.add_combined(BinaryOp::Mul, a.into(), b.into(), value.into()))
    }

    /// `x + value * (a / b)`. Integers give floats.
    ///
    /// Fill, cost and errors: those of the ops in the formula.
    ///
    /// # Errors
    /// As [`Tensor::binary`].
    pub fn addcdiv<'a, 'b>(
        &self,
        a: impl Into<Operand<'a>>,
        b: impl Into<Operand<'b>>,
        value: impl Into<Number>,
    ) -> Result<Tensor> {
        let call = trace::call("addcdiv", &[self]);
        call.end(self.add_combined(BinaryOp::Div, a.into(), b.into(), value.into()))
    }

    fn add_combined(&self, op: BinaryOp, a: Operand<'_>, b: Operand<'_>, value: Number) -> Result<Tensor> {
        let combined = match (a, b) {
            (Operand::Tensor(a), b) => a.binary(op, b)?,
            (Operand::Number(n), Operand::Tensor(b)) => b.binary_from(op, n)?,
            (Operand::Number(n), b) => {
                let a = n.scalar().fit(n.meets(self.dtype())).map_err(error::does_not_fit)?;
                Tensor::from_strided(Strided::constant(a, &[])).binary(op, b)?
            }
        };
        let scaled = if value.scalar() == openwork_ops::Scalar::one(value.scalar().dtype()) {
            combined // the product by 1 changes nothing
        } else {
            combined.mul(Operand::Number(value))?
        };
        self.add(scaled)
    }

    /// Whether elements are close: `|a - b| <= atol + rtol * |b|`; infinities are close to themselves alone, NaN to
    /// nothing. PyTorch's defaults are `rtol` 1e-5, `atol` 1e-8. Floats are compared in `float64`, integers
    /// exactly before the tolerance. Shapes broadcast.
    ///
    /// Fill: that of the fills. Cost: O(nse of both + size of the result's fill).
    ///
    /// ```
    /// use openwork::tensor;
    /// let (x, y) = (tensor![1.0, 2.0], tensor![1.0 + 1e-9, 2.1]);
    /// assert_eq!(x.isclose(&y, 1e-6, 0.0)?.to_vec::<bool>()?, [true, false]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If shapes do not broadcast, dtypes do not promote, a tolerance is negative or NaN, or the result is not sparse
    /// and exceeds the densify budget.
    pub fn isclose<'a>(&self, other: impl Into<Operand<'a>>, rtol: f64, atol: f64) -> Result<Tensor> {
        let call = trace::call("isclose", &[self]);
        call.end(self.closeness(other.into(), rtol, atol, false))
    }

    /// As [`Tensor::isclose`], but NaN is close to NaN.
    ///
    /// # Errors
    /// As [`Tensor::isclose`].
    pub fn isclose_nan<'a>(&self, other: impl Into<Operand<'a>>, rtol: f64, atol: f64) -> Result<Tensor> {
        let call = trace::call("isclose_nan", &[self]);
        call.end(self.closeness(other.into(), rtol, atol, true))
    }

    fn closeness(&self, other: Operand<'_>, rtol: f64, atol: f64, equal_nan: bool) -> Result<Tensor> {
        let tolerance = compare::tolerance(rtol, atol, equal_nan)?;
        let other = match other {
            Operand::Tensor(t) => t.into_owned(),
            Operand::Number(n) => {
                let value = n.scalar().fit(n.meets(self.dtype())).map_err(error::does_not_fit)?;
                Tensor::from_strided(Strided::constant(value, &[]))
            }
        };
        let common = compare::common(self, &other)?;
        let kernel = |x: &[&[u8]], out: &mut [u8]| close(common, x[0], x[1], out, tolerance);
        of_kernel(&[common; 2], DType::Bool, &kernel, &[self, &other])
    }

    /// The derivative of order `order` of [`Tensor::digamma`], which order 0 is. At the poles, 0 and the negative integers,
    /// it is ∞ for odd orders and NaN for even ones. Real dtypes; integers give floats.
    ///
    /// Fill: that of the fill. Cost: O(nse + size of the fill).
    ///
    /// # Errors
    /// If the dtype is complex, or the order above 170, whose factorial is infinite.
    pub fn polygamma(&self, order: u32) -> Result<Tensor> {
        let call = trace::call("polygamma", &[self]);
        const MOST: u32 = 170;
        if order > MOST {
            return Err(error::invalid("order", format_args!("{order} given; allowed are 0..={MOST}")));
        }
        call.end(self.real_function(&|x| special::polygamma(order, x)))
    }

    /// The logarithm of the multivariate gamma function of dimension `p`; NaN where `x` is at most `(p - 1) / 2`. Real
    /// dtypes; integers give floats.
    ///
    /// Fill: that of the fill. Cost: O(p · nse + size of the fill).
    ///
    /// # Errors
    /// If the dtype is complex, or `p` is 0.
    pub fn mvlgamma(&self, p: u32) -> Result<Tensor> {
        let call = trace::call("mvlgamma", &[self]);
        if p == 0 {
            return Err(error::invalid("p", "0 given; a dimension is at least 1"));
        }
        call.end(self.real_function(&|x| special::mvlgamma(p, x)))
    }

    /// A function of real numbers: computed in `f64` and rounded, as every special function.
    fn real_function(&self, f: &(dyn Fn(f64) -> f64 + Sync)) -> Result<Tensor> {
        let dtype = self.dtype().to_inexact();
        if dtype.is_complex() {
            return Err(error::dtype(&[self.dtype()], "the op is not defined for complex numbers"));
        }
        let kernel = |x: &[&[u8]], out: &mut [u8]| match dtype {
            DType::F64 => each(x[0], out, f),
            DType::F32 => each(x[0], out, |v: f32| f(v.into()) as f32),
            DType::F16 => each(x[0], out, |v: f16| f16::from_f32(f(v.to_f64()) as f32)),
            _ => each(x[0], out, |v: bf16| bf16::from_f32(f(v.to_f64()) as f32)),
        };
        of_kernel(&[dtype], dtype, &kernel, &[self])
    }

    /// The tensor itself, of a numeric dtype: the array API's `+x`.
    ///
    /// # Errors
    /// If the dtype is bool.
    pub fn positive(&self) -> Result<Tensor> {
        let call = trace::call("positive", &[self]);
        if self.dtype() == DType::Bool {
            return Err(error::dtype(&[DType::Bool], "the op is not defined for this dtype; cast first"));
        }
        Ok(call.done(self.clone()))
    }
}

fn each<T: Element>(x: &[u8], out: &mut [u8], f: impl Fn(T) -> T) {
    T::from_bytes_mut(out).iter_mut().zip(T::from_bytes(x)).for_each(|(o, &v)| *o = f(v));
}
