//! What a vector-Jacobian product gives.

use std::fmt;

use openwork_ops::DType;

use super::wrt::Wrt;
use crate::base::error::{self, Result};
use crate::base::mapped::Mapped;
use crate::tensor::Tensor;
use crate::tensor::fill::Fill;
use crate::tensor::trace::{self, Outcome};

/// The gradient of a number by one operand.
///
/// ```
/// use openwork::{Layout, UnaryOp, tensor, vjp};
/// let x = tensor![[3.0, 1.0, 1.0]; Layout::Csr, 1.0]?; // one element is stored
/// let by = vjp::unary(UnaryOp::Square, &x, &tensor![[10.0, 20.0, 30.0]])?;
/// assert_eq!(by.stored.values::<f64>()?, [60.0]); // 2 x times the cotangent
/// assert_eq!(by.fill, Some(100.0.into())); // 2 times 20 and 30
/// # Ok::<(), openwork::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Gradient {
    /// The gradient by each stored element: the operand's pattern, in order and without duplicates, and its dtype. Its
    /// unstored elements are 0, or absent where the operand's are: a step `x - rate * stored` leaves pattern and fill as
    /// they are. Of a strided operand, strided.
    pub stored: Tensor,
    /// The gradient by the fill: a scalar, or an array of the fill's shape. `None` where there is no fill, or an undefined one.
    pub fill: Option<Fill>,
}

impl Gradient {
    /// Both in one tensor: the gradient by the fill is the fill. `x - rate * that` is a step of stored elements and fill.
    ///
    /// It is not to be read element by element: its fill is the gradient by all unstored elements together.
    ///
    /// # Errors
    /// No argument makes it fail; it returns `Result` as every op does.
    pub fn with_fill(&self) -> Result<Tensor> {
        let call = trace::call("vjp::with_fill", &[&self.stored]);
        match &self.fill {
            Some(fill) => call.end(self.stored.replace_fill(fill.clone())),
            None => Ok(call.done(self.stored.clone())),
        }
    }

    /// The gradient as a cotangent for the op of which the operand was the result: that by the fill is spread evenly over the
    /// unstored elements that share it. This is right where the op before treats these alike, as elementwise ops of one operand and
    /// numbers do. To hold the fill constant give `stored` instead, which costs less.
    ///
    /// ```
    /// use openwork::{Layout, UnaryOp, tensor, vjp};
    /// let x = tensor![[3.0, 0.0, 0.0]; Layout::Csr, 0.0]?;
    /// let y = x.cos()?; // fill 1
    /// let by_y = vjp::sum(&y.square()?, .., &tensor![1.0].reshape([0usize; 0])?)?.cotangent()?;
    /// let by_x = vjp::cos(&x, &vjp::square(&y, &by_y)?.cotangent()?)?;
    /// assert_eq!(by_x.fill, Some(0.0.into()));
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// No argument makes it fail; it returns `Result` as every op does.
    pub fn cotangent(&self) -> Result<Tensor> {
        let call = trace::call("vjp::cotangent", &[&self.stored]);
        let Some(fill) = &self.fill else { return Ok(call.done(self.stored.clone())) };
        let whole = self.stored.replace_fill(fill.clone())?;
        let wrt = Wrt::new(&whole)?;
        let by = match fill {
            Fill::Array(values) => (**values).clone(),
            Fill::Scalar(value) => Tensor::scalar(*value),
            Fill::Undefined => return Ok(call.done(self.stored.clone())),
        };
        let Some(unstored) = wrt.unstored_to(&Tensor::scalar(1.0), by.shape())? else {
            return Ok(call.done(self.stored.clone()));
        };
        // Where nothing is unstored, nothing has this fill.
        let each = unstored.gt(0.0)?.where_(by.div(&unstored)?, 0.0)?.cast(self.stored.dtype())?;
        let each = if each.ndim() == 0 { Fill::Scalar(each.item()?) } else { Fill::array(each) };
        call.end(self.stored.replace_fill(each))
    }

    /// The sum of two gradients by one operand, which occurs twice in a computation.
    ///
    /// # Errors
    /// If they are not of operands of one shape, with fills of one shape.
    pub fn plus(&self, other: &Gradient) -> Result<Gradient> {
        let call = trace::call("vjp::plus", &[&self.stored, &other.stored]);
        let stored = self.stored.add(&other.stored)?;
        let fill = match (&self.fill, &other.fill) {
            (None, None) => None,
            (Some(Fill::Scalar(a)), Some(Fill::Scalar(b))) => {
                let sum = Tensor::scalar(*a).add(Tensor::scalar(*b))?;
                Some(Fill::Scalar(sum.item()?))
            }
            (Some(Fill::Array(a)), Some(Fill::Array(b))) if a.shape() == b.shape() => Some(Fill::array(a.add(&**b)?)),
            _ => {
                let why = "these are gradients by operands with fills of different shapes";
                return Err(error::shape(&[self.stored.shape(), other.stored.shape()], why));
            }
        };
        Ok(call.done(Gradient { stored, fill }))
    }

    /// The dtype: that of the operand.
    pub fn dtype(&self) -> DType {
        self.stored.dtype()
    }
}

impl Outcome for Gradient {
    fn is_dense(&self) -> bool {
        self.stored.is_dense()
    }

    fn elements(&self) -> u64 {
        self.stored.elements()
    }

    fn in_words(&self) -> String {
        self.stored.in_words()
    }
}

/// The gradients by the operands of one op, each computed when it is asked for. It shares the operands' memory.
///
/// ```
/// use openwork::{Layout, tensor, vjp};
/// let (a, b) = (tensor![[1.0, 0.0]; Layout::Csr, 0.0]?, tensor![[5.0, 6.0]]);
/// let by = vjp::mul(&a, &b, &tensor![[1.0, 1.0]])?;
/// assert_eq!(by.left()?.stored.values::<f64>()?, [5.0]);
/// assert_eq!(by.right()?.stored.to_vec::<f64>()?, [1.0, 0.0]);
/// # Ok::<(), openwork::Error>(())
/// ```
pub struct Gradients {
    pub(super) op: &'static str,
    pub(super) count: usize,
    pub(super) by: Box<dyn Fn(usize) -> Result<Gradient>>,
}

impl Gradients {
    /// The gradient by operand number `operand`, in the order of the op's arguments.
    ///
    /// # Errors
    /// If there is no such operand, it has an integer dtype, or the op has no derivative by it.
    pub fn by(&self, operand: usize) -> Result<Gradient> {
        let call = trace::call(self.op, &[]);
        if operand >= self.count {
            let why = format!("is {operand}, and the op has {} operands, counted from 0", self.count);
            return Err(error::invalid("operand", why));
        }
        call.end((self.by)(operand))
    }

    /// The gradient by the first operand.
    ///
    /// # Errors
    /// As [`Gradients::by`].
    pub fn left(&self) -> Result<Gradient> {
        self.by(0)
    }

    /// The gradient by the second operand.
    ///
    /// # Errors
    /// As [`Gradients::by`].
    pub fn right(&self) -> Result<Gradient> {
        self.by(1)
    }

    /// The gradients by all operands, in order.
    ///
    /// # Errors
    /// As [`Gradients::by`].
    pub fn all(&self) -> Result<Vec<Gradient>> {
        let operands: Vec<usize> = (0..self.count).collect();
        operands.try_mapped(|&i| self.by(i))
    }
}

impl fmt::Debug for Gradients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "gradients by {} operands of {}", self.count, self.op)
    }
}
