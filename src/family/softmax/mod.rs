//! Softmax and its kin: ops that set every element against its slice, the elements that share its coordinates along the
//! axes that are not named.

mod beside;
mod rows;
mod unit;

use std::sync::Arc;

use openwork_ops::{BinaryOp, DType, ReduceOp, Scalar, UnaryOp};

use self::beside::beside;
use crate::base::axes::{Axes, keep};
use crate::base::context;
use crate::base::error::{self, Result};
use crate::base::parallel;
use crate::base::strided::Strided;
use crate::engine::blocks::{self, Source};
use crate::engine::convert;
use crate::engine::slices;
use crate::engine::unblock::{in_blocks, unblocked};
use crate::levels::pattern::Pattern;
use crate::tensor::fill::{Fill, fill_of};
use crate::tensor::trace;
use crate::tensor::{Sparse, Storage, Tensor};

/// What [`Tensor::normalize`] divides by at least, if the caller does not say.
const EPS: f64 = 1e-12;

/// # Softmax, normalising, standardising
impl Tensor {
    /// `exp(x) / sum(exp(x))` over each slice along some axes, computed as `exp(x - m) / sum(exp(x - m))`
    /// with the slice's maximum `m`, so that nothing overflows.
    ///
    /// Shape as `self`; the dtype too if it is a float, else [the float](DType::to_inexact) for it. `float16` and
    /// `bfloat16` are computed in `float32`, integers and bool as their `float64` values.
    ///
    /// Fill: an unstored element takes part with its value, as often as it occurs, and the result keeps the pattern with a
    /// fill that is constant in each slice: a scalar where all slices agree, else an array over the other axes. A fill of
    /// −∞ gives 0, and NaN in slices with nothing stored, in which no element is finite. An undefined fill stays undefined: absent
    /// elements take no part (`x.stored().softmax(axes)` is the softmax of what is stored).
    ///
    /// A slice with NaN or +∞ in it is NaN.
    ///
    /// Cost: O(nse + slices that store something), plus sorting the coordinates along the other axes where these are not
    /// first in storage order and their slices are many.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[2f64.ln(), 0.0, 0.0], [0.0, 0.0, 0.0]; Layout::Csr, 0.0]?;
    /// let p = x.softmax(1)?; // sparse: the fill is one value per row
    /// assert_eq!(p.nse(), 1);
    /// assert!(p.allclose(&tensor![[0.5, 0.25, 0.25], [1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]], 1e-12, 0.0)?);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or given twice, the dtype is complex, or the fill of the result is an array with an
    /// element for each of more slices than a strided reduction would have ([`Tensor::reduce`]; rows of CSR are free), and
    /// exceeds the densify budget. A fill that varies along a named axis makes the result dense, within the budget.
    pub fn softmax(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        self.softmax_along(&axes.into())
    }

    fn softmax_along(&self, axes: &Axes) -> Result<Tensor> {
        let call = trace::call("softmax", &[self]);
        let Some(x) = SliceWise::new(self, axes.unkept()?)? else { return call.end(empty(self)) };
        if let Some(out) = x.in_rows(false)? {
            return call.end(x.finish(out));
        }
        let e = x.shifted()?.unary(UnaryOp::Exp)?;
        let sum = x.reduced(&e, ReduceOp::Sum)?;
        call.end(x.finish(x.beside(BinaryOp::Div, &e, &sum)?))
    }

    /// `x - logsumexp(x)` over each slice along some axes: the logarithm of [`Tensor::softmax`], accurate
    /// where that is tiny.
    ///
    /// Shape, dtype, fill, cost and errors as [`Tensor::softmax`]; a fill of −∞ stays one.
    ///
    /// # Errors
    /// As [`Tensor::softmax`].
    pub fn log_softmax(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        self.log_softmax_along(&axes.into())
    }

    fn log_softmax_along(&self, axes: &Axes) -> Result<Tensor> {
        let call = trace::call("log_softmax", &[self]);
        let Some(x) = SliceWise::new(self, axes.unkept()?)? else { return call.end(empty(self)) };
        if let Some(out) = x.in_rows(true)? {
            return call.end(x.finish(out));
        }
        let shifted = x.shifted()?;
        let sum = x.reduced(&shifted.unary(UnaryOp::Exp)?, ReduceOp::Sum)?.unary(UnaryOp::Log)?;
        call.end(x.finish(x.beside(BinaryOp::Sub, &shifted, &sum)?))
    }

    /// `log(sum(exp(x)))` of each slice along some axes, which are dropped or kept with size 1. Computed as
    /// `m + log(sum(exp(x - m)))` with the slice's maximum `m`, so that nothing overflows.
    ///
    /// A slice of no elements gives −∞, the logarithm of 0; one in which every element is −∞ too. Dtype as
    /// [`Tensor::softmax`]. Fill, layout, absent elements and cost as [`Tensor::reduce`].
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![1000.0, 1000.0 + 3f64.ln()];
    /// let l: f64 = x.logsumexp(..)?.item_as()?;
    /// assert!((l - (1000.0 + 4f64.ln())).abs() < 1e-9);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::softmax`], but the result is a reduction and needs no array for its fill.
    pub fn logsumexp(&self, axes: impl Into<Axes>) -> Result<Tensor> {
        self.logsumexp_along(&axes.into())
    }

    fn logsumexp_along(&self, axes: &Axes) -> Result<Tensor> {
        let call = trace::call("logsumexp", &[self]);
        let out = match SliceWise::new(self, axes)? {
            None => {
                let (dtype, out) = dtypes(self.dtype())?;
                self.cast(dtype)?.reduce(ReduceOp::Sum, axes)?.unary(UnaryOp::Log)?.cast(out)?
            }
            Some(x) => {
                let out = x.logsumexp()?.cast(x.out)?;
                if axes.keeps() { out } else { out.squeeze(&x.axes)? }
            }
        };
        Ok(call.done(out))
    }

    /// Divides each slice along some axes by its `p`-norm `sum(|x|^p)^(1/p)`, or by 1e-12 where the norm is less.
    ///
    /// `p` may be infinite (the greatest magnitude; the least for −∞) or 0 (the number of elements that are not 0). Shape as
    /// `self`, dtype too where it is inexact, else [the float](DType::to_inexact); norms are computed in `float64`. Fill as
    /// [`Tensor::softmax`]: a fill of 0 stays 0. Absent elements take no part.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[3.0, 0.0, 4.0], [0.0, 0.0, 2.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.normalize(2.0, 1)?.to_vec::<f64>()?, [0.6, 0.0, 0.8, 0.0, 0.0, 1.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or given twice, `p` is NaN, or the fill of the result needs
    /// more than the densify budget (as in [`Tensor::softmax`]).
    #[doc(alias("l2_normalize"))]
    pub fn normalize(&self, p: f64, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("normalize", &[self]);
        call.end(self.normalized(p, EPS, &axes.into()))
    }

    /// As [`Tensor::normalize`], dividing by `eps` where the norm is less.
    ///
    /// # Errors
    /// As [`Tensor::normalize`], or if `eps` is NaN or negative.
    pub fn normalize_with(&self, p: f64, eps: f64, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("normalize_with", &[self]);
        call.end(self.normalized(p, eps, &axes.into()))
    }

    fn normalized(&self, p: f64, eps: f64, axes: &Axes) -> Result<Tensor> {
        if p.is_nan() {
            return Err(error::invalid("p", "NaN is not the order of a norm; allowed is every other number"));
        }
        if eps.is_nan() || eps < 0.0 {
            return Err(error::invalid("eps", format_args!("{eps} is not at least 0")));
        }
        let axes = axes.unkept()?;
        if p == 2.0
            && let Some(x) = self.strided().filter(|x| x.len() > 0)
            && let Some(found) = unit::vectors(x, eps, &axes.of(x.ndim())?)?
        {
            return Ok(Tensor::from_strided(found));
        }
        let Some(x) = SliceWise::wide(self, axes)? else { return empty(self) };
        let norm = x.norm(p)?.binary(BinaryOp::Maximum, eps)?;
        x.finish(x.beside(BinaryOp::Div, &x.tensor, &norm)?)
    }

    /// `(x - mean) / std` over each slice along some axes, with `std = sqrt(sum(|x - mean|²) / (n -
    /// correction))`: 0 divides by the number of elements, 1 by one less. A slice whose elements are all equal, or which
    /// has no more elements than `correction`, gives NaN.
    ///
    /// Shape as `self`, dtype too where it is inexact, else [the float](DType::to_inexact); computed in `float64`, in two passes. Fill as
    /// [`Tensor::softmax`]. Absent elements take no part.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[3.0, 0.0], [1.0, 4.0]; Layout::Csr, 0.0]?;
    /// let z = x.standardize(0.0, 0)?; // column means 2 and 2, standard deviations 1 and 2
    /// assert_eq!(z.to_vec::<f64>()?, [1.0, -1.0, -1.0, 1.0]);
    /// assert_eq!(z.nse(), 3); // the unstored element is in the fill
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or given twice, `correction` is not finite, or the fill of the result needs more than the
    /// densify budget (as in [`Tensor::softmax`]).
    #[doc(alias("StandardScaler", "zscore"))]
    pub fn standardize(&self, correction: f64, axes: impl Into<Axes>) -> Result<Tensor> {
        self.standardized(correction, &axes.into())
    }

    fn standardized(&self, correction: f64, axes: &Axes) -> Result<Tensor> {
        let call = trace::call("standardize", &[self]);
        if !correction.is_finite() {
            return Err(error::invalid("correction", format_args!("{correction} is not a finite number")));
        }
        let Some(x) = SliceWise::wide(self, axes.unkept()?)? else { return call.end(empty(self)) };
        let mean = x.reduced(&x.tensor, ReduceOp::Mean)?;
        let d = x.beside(BinaryOp::Sub, &x.tensor, &mean)?;
        drop(mean);
        let freedom = map(&x.counts()?, |n| (n - correction).max(0.0))?;
        let square = d.unary(UnaryOp::Abs)?.unary(UnaryOp::Square)?;
        let variance = x.reduced(&square, ReduceOp::Sum)?.binary(BinaryOp::Div, &freedom)?;
        drop(square);
        call.end(x.finish(x.beside(BinaryOp::Div, &d, &variance.unary(UnaryOp::Sqrt)?)?))
    }
}

/// The dtype in which a float op without complex numbers computes, and the one it gives.
fn dtypes(dtype: DType) -> Result<(DType, DType)> {
    match dtype {
        DType::F64 => Ok((dtype, dtype)),
        d if d.is_float() => Ok((DType::F32, d)),
        d if d.is_complex() => {
            Err(error::dtype(&[d], "complex numbers have no order and so no maximum; take abs() or real() first"))
        }
        d => Ok((DType::F64, d.to_inexact())),
    }
}

/// The result for a tensor without elements.
fn empty(x: &Tensor) -> Result<Tensor> {
    let out = x.cast(x.dtype().to_inexact())?;
    Ok(out)
}

/// A tensor seen as slices along some axes.
struct SliceWise {
    axes: Vec<usize>,
    /// Coalesced, in the dtype of computation, with a fill that is constant along the axes: else strided.
    tensor: Tensor,
    out: DType,
    /// The pattern of a matrix of blocks, which is taken element by element: reductions of it are, and what is beside them has to be.
    blocks: Option<Arc<Pattern>>,
}

impl SliceWise {
    /// Of a dtype that has an order. `None` if there are no elements.
    fn new(x: &Tensor, axes: &Axes) -> Result<Option<SliceWise>> {
        let (compute, out) = dtypes(x.dtype())?;
        SliceWise::of(x, axes, compute, out)
    }

    /// Of any dtype, in double precision.
    fn wide(x: &Tensor, axes: &Axes) -> Result<Option<SliceWise>> {
        let compute = if x.dtype().is_complex() { DType::Complex128 } else { DType::F64 };
        SliceWise::of(x, axes, compute, x.dtype().to_inexact())
    }

    fn of(x: &Tensor, axes: &Axes, compute: DType, out: DType) -> Result<Option<SliceWise>> {
        let axes = axes.of(x.ndim())?;
        if x.size() == 0 {
            return Ok(None);
        }
        let mut blocks = None;
        let tensor = match &x.storage {
            Storage::Strided(_) => x.clone(),
            Storage::Sparse(s) => {
                let mut s = convert::coalesce(s, ReduceOp::Sum)?;
                if let Some(single) = unblocked(&s) {
                    blocks = Some(s.pattern.clone());
                    s = single;
                }
                match s.fill_values() {
                    Some(fill) if axes.iter().any(|&a| fill.strides[a] != 0 && fill.shape[a] > 1) => {
                        context::may_densify(&s.shape, s.dtype().size(), || {
                            "the fill varies along a named axis, so every element of the result differs".to_string()
                        })?;
                        Tensor::from_strided(convert::to_strided(&s, &fill)?)
                    }
                    _ => s.into(),
                }
            }
        };
        Ok(Some(SliceWise { axes, tensor: tensor.cast(compute)?, out, blocks }))
    }

    /// Over the axes, which are kept with size 1.
    fn reduced(&self, x: &Tensor, op: ReduceOp) -> Result<Tensor> {
        x.reduce(op, keep(&self.axes))
    }

    /// `x op r`, with `r` repeated along the axes.
    fn beside(&self, op: BinaryOp, x: &Tensor, r: &Tensor) -> Result<Tensor> {
        beside(op, x, r, &self.axes)
    }

    /// `x - max(x)`.
    fn shifted(&self) -> Result<Tensor> {
        self.beside(BinaryOp::Sub, &self.tensor, &self.reduced(&self.tensor, ReduceOp::Max)?)
    }

    /// How many elements each slice has: of `float64`, absent where there are none of an undefined fill.
    fn counts(&self) -> Result<Tensor> {
        let Some(s) = self.tensor.sparse().filter(|s| s.fill.is_undefined()) else {
            let n: f64 = self.axes.iter().map(|&a| self.tensor.shape()[a] as f64).product();
            let shape: Vec<usize> = vec![1; self.tensor.ndim()];
            return Ok(Tensor::from_strided(Strided::constant(Scalar::F64(n), &shape)));
        };
        self.stored_counts(s)
    }

    /// How many elements each slice stores, where it stores any.
    fn stored_counts(&self, s: &Sparse) -> Result<Tensor> {
        let values = Strided::constant(Scalar::F64(1.0), &s.values.shape);
        self.reduced(&Sparse { values, fill: Fill::Undefined, ..s.clone() }.into(), ReduceOp::Sum)
    }

    /// The `p`-norms, of `float64`.
    fn norm(&self, p: f64) -> Result<Tensor> {
        // Of narrower numbers no square overflows or vanishes in double precision.
        if p == 2.0 && self.out != DType::F64 && !self.out.is_complex() {
            let mut norm = self.reduced(&self.tensor.unary(UnaryOp::Square)?, ReduceOp::Sum)?;
            norm.unary_assign(UnaryOp::Sqrt)?;
            return Ok(norm);
        }
        let x = self.tensor.unary(UnaryOp::Abs)?;
        match p {
            f64::INFINITY => return self.reduced(&x, ReduceOp::Max),
            f64::NEG_INFINITY => return self.reduced(&x, ReduceOp::Min),
            0.0 => return self.reduced(&x, ReduceOp::CountNonzero)?.cast(DType::F64),
            1.0 => return self.reduced(&x, ReduceOp::Sum),
            _ => {}
        }
        // Powers of magnitudes near one neither overflow nor vanish.
        let scale = map(&self.reduced(&x, if p > 0.0 { ReduceOp::Max } else { ReduceOp::Min })?, |v| {
            if v.is_normal() { v } else { 1.0 }
        })?;
        // Magnitudes are as large as the tensor, and so are the powers, which take the place of their bases. In a square of what is
        // real the sign vanishes.
        let x = if p == 2.0 && !self.tensor.dtype().is_complex() {
            drop(x);
            self.tensor.clone()
        } else {
            x
        };
        let mut powers = self.beside(BinaryOp::Div, &x, &scale)?;
        drop(x);
        if p == 2.0 {
            powers.unary_assign(UnaryOp::Square)?
        } else {
            powers.binary_assign(BinaryOp::Pow, p)?
        }
        let mut norm = self.reduced(&powers, ReduceOp::Sum)?;
        if p == 2.0 {
            norm.unary_assign(UnaryOp::Sqrt)?
        } else {
            norm.binary_assign(BinaryOp::Pow, 1.0 / p)?
        }
        norm.binary(BinaryOp::Mul, &scale)
    }

    /// The logarithm of the sum of exponentials, with the axes kept.
    fn logsumexp(&self) -> Result<Tensor> {
        let stored = match &self.tensor.storage {
            Storage::Sparse(s) => Sparse { fill: Fill::Undefined, ..(**s).clone() }.into(),
            Storage::Strided(_) => self.tensor.clone(),
        };
        // An infinite maximum would make NaN of its own slice; nothing finite is lost without it.
        let finite = |v: f64| if v.is_finite() { v } else { 0.0 };
        let m = map(&self.reduced(&stored, ReduceOp::Max)?, finite)?;
        let e = self.beside(BinaryOp::Sub, &stored, &m)?.unary(UnaryOp::Exp)?;
        let of_stored = self.reduced(&e, ReduceOp::Sum)?.unary(UnaryOp::Log)?.binary(BinaryOp::Add, &m)?;
        match (&self.tensor.storage, &of_stored.storage) {
            (Storage::Sparse(s), Storage::Sparse(t)) => match s.fill_values() {
                Some(fill) => self.with_unstored(s, &fill, t),
                None => Ok(of_stored),
            },
            _ => Ok(of_stored),
        }
    }

    /// What unstored elements add to the logarithms `t` of sums over what is stored.
    fn with_unstored(&self, s: &Sparse, fill: &Strided, t: &Sparse) -> Result<Tensor> {
        let all: f64 = self.axes.iter().map(|&a| s.shape[a] as f64).product();
        let of_slices = Strided { shape: t.shape.clone(), ..fill.clone() };
        let fills = blocks::collect(t.nse(), Source::at(&of_slices, &t.pattern), DType::F64)?;
        let counts = self.stored_counts(s)?.stored_values().to_contiguous()?;
        let times = |f: f64, n: f64| if n > 0.0 { f + n.ln() } else { f64::NEG_INFINITY };
        let pairs = fills.typed::<f64>().unwrap_or_default().iter().zip(counts.values::<f64>()?);
        let added = Strided::from_vec(pairs.map(|(&f, n)| times(f, all - n)).collect(), t.values.shape.clone());
        let added = Tensor::from_strided(added.cast(t.dtype()));
        let sums = Tensor::from_strided(t.values.clone()).binary(BinaryOp::Logaddexp, &added)?;
        let Storage::Strided(values) = sums.storage else {
            return Err(error::layout("values are strided"));
        };
        let alone = map(&Tensor::from_strided(of_slices), |f| times(f, all))?;
        let Storage::Strided(alone) = alone.storage else { return Err(error::layout("a fill is strided")) };
        let out = Sparse { values, fill: fill_of(&alone), ..t.clone() };
        slices::reduced(out, s.nse())
    }

    fn finish(&self, out: Tensor) -> Result<Tensor> {
        let out = out.cast(self.out)?;
        let (Some(blocks), Some(s)) = (&self.blocks, out.sparse()) else { return Ok(out) };
        Ok(in_blocks(s, blocks)?.map_or(out, Tensor::from))
    }
}

/// A function of every element of a tensor of real numbers, taken as `float64`: of what is stored, and of the fill.
fn map(x: &Tensor, f: impl Fn(f64) -> f64 + Sync) -> Result<Tensor> {
    let apply = |x: &Strided| -> Result<Strided> {
        let (core, dtype) = (x.core(), x.dtype);
        let mut numbers = core.cast(DType::F64).typed::<f64>().unwrap_or_default().to_vec();
        parallel::for_chunks_mut(&mut numbers, 1, parallel::GRAIN, &|_, numbers| {
            numbers.iter_mut().for_each(|x| *x = f(*x));
        });
        Ok(Strided::from_vec(numbers, core.shape).cast(dtype).broadcast(&x.shape))
    };
    Ok(match &x.storage {
        Storage::Strided(s) => Tensor::from_strided(apply(s)?),
        Storage::Sparse(s) => {
            let fill = match s.fill_values() {
                Some(fill) => fill_of(&apply(&fill)?),
                None => Fill::Undefined,
            };
            Sparse { values: apply(&s.values)?, fill, ..(**s).clone() }.into()
        }
    })
}
