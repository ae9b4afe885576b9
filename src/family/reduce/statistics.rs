//! Moments and norms: reductions that look at a slice as `float64` numbers, and more than once.

use crate::base::mapped::Mapped;
use openwork_ops::reduce::pairwise;
use openwork_ops::{DType, UnaryOp};

use super::{columns, moments};
use crate::base::axes::Axes;
use crate::base::error::{self, Result};
use crate::base::parallel::{self, GRAIN};
use crate::base::strided::Strided;
use crate::engine::slices::Slices;
use crate::tensor::fill::{Background, Fill};
use crate::tensor::{Sparse, Tensor, trace};

/// # Reducing: moments and norms
impl Tensor {
    /// The variance over some axes: the sum of `|x − mean|²` divided by `n − correction`. A correction of 0 is that
    /// of a whole population, of 1 that of a sample; NaN where `n` is not above it.
    ///
    /// Computed in `float64` in two passes, the second corrected by the sum of the differences (Chan, Golub, LeVeque,
    /// "Algorithms for computing the sample variance", 1983), strided tensors block by block, merged by the same authors' formula. Integers
    /// and bool give floats, complex numbers their real dtype. Unstored elements count as the fill; absent ones do not, and where there are no others the result is absent.
    ///
    /// The result has one element per slice, in the layout of [`Tensor::reduce`]. Cost: O(nse), plus
    /// a sort where storage order is not that of the slices. Where the fill varies along the axes, its own variance is
    /// corrected by what is stored over it; slices in which that leaves little of much are looked at whole.
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1.0, 3.0], [2.0, 8.0]];
    /// assert_eq!(x.var(0.0, 1)?.to_vec::<f64>()?, [1.0, 9.0]); // divided by n
    /// assert_eq!(x.var(1.0, 1)?.to_vec::<f64>()?, [2.0, 18.0]); // by n - 1
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If an axis is out of range or given twice, or the correction is negative or not finite.
    pub fn var(&self, correction: f64, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("var", &[self]);
        call.end(variance(self, correction, &axes.into(), false, real_of(self)))
    }

    /// The square root of the variance: [`Tensor::var`].
    ///
    /// ```
    /// use openwork::tensor;
    /// let x = tensor![[1.0, 3.0], [2.0, 8.0]];
    /// assert_eq!(x.std(0.0, 1)?.to_vec::<f64>()?, [1.0, 3.0]);
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Tensor::var`].
    pub fn std(&self, correction: f64, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("std", &[self]);
        call.end(deviation(self, correction, &axes.into(), false))
    }

    /// The variance of the elements that are not NaN: [`Tensor::var`].
    ///
    /// # Errors
    /// As [`Tensor::var`].
    pub fn nanvar(&self, correction: f64, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("nanvar", &[self]);
        call.end(variance(self, correction, &axes.into(), true, real_of(self)))
    }

    /// The standard deviation of the elements that are not NaN: [`Tensor::std`].
    ///
    /// # Errors
    /// As [`Tensor::var`].
    pub fn nanstd(&self, correction: f64, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("nanstd", &[self]);
        call.end(deviation(self, correction, &axes.into(), true))
    }

    /// The vector norm of order `ord` over some axes: `(Σ |x|^ord)^(1/ord)`; of order 0 the number of
    /// elements that are not 0, of infinite order the greatest modulus (−∞: the least).
    ///
    /// Computed in `float64`, scaled where squares would leave its range. Integers and bool give floats, complex
    /// numbers their real dtype. Fill and cost as [`Tensor::var`]; where the fill varies along the axes, moduli are raised
    /// to the power first and summed.
    ///
    /// ```
    /// use openwork::{Layout, tensor};
    /// let x = tensor![[3.0, 0.0, -4.0], [0.0, 2.0, 0.0]; Layout::Csr, 0.0]?;
    /// assert_eq!(x.vector_norm(2.0, 1)?.to_vec::<f64>()?, [5.0, 2.0]);
    /// assert_eq!(x.vector_norm(1.0, ..)?.item()?, 9.0.into());
    /// # Ok::<(), openwork::Error>(())
    /// ```
    ///
    /// # Errors
    /// If `ord` is NaN, an axis is out of range or given twice, or (infinite order) the slices have no elements.
    #[doc(alias = "norm")]
    pub fn vector_norm(&self, ord: f64, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("vector_norm", &[self]);
        call.end(norm(self, ord, &axes.into()))
    }

    /// The sum of the elements as `dtype`, which is the dtype of the result: [`Tensor::sum`].
    ///
    /// # Errors
    /// As [`Tensor::reduce`].
    pub fn sum_as(&self, dtype: DType, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("sum_as", &[self]);
        call.end(self.cast(dtype)?.sum(axes)?.cast(dtype))
    }

    /// The product of the elements as `dtype`, which is the dtype of the result: [`Tensor::prod`].
    ///
    /// # Errors
    /// As [`Tensor::reduce`].
    pub fn prod_as(&self, dtype: DType, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("prod_as", &[self]);
        call.end(self.cast(dtype)?.prod(axes)?.cast(dtype))
    }

    /// The mean of the elements as `dtype`, which is the dtype of the result: [`Tensor::mean`].
    ///
    /// # Errors
    /// As [`Tensor::reduce`]; if the dtype is bool or an integer, which hold no mean.
    pub fn mean_as(&self, dtype: DType, axes: impl Into<Axes>) -> Result<Tensor> {
        let call = trace::call("mean_as", &[self]);
        if !dtype.is_inexact() {
            return Err(error::dtype(&[dtype], "a mean is real or complex: name a floating-point dtype"));
        }
        call.end(self.cast(dtype)?.mean(axes))
    }
}

/// In double precision, if it is of less.
fn accurate(x: &Tensor) -> Result<Tensor> {
    x.cast(if x.dtype().is_complex() { DType::Complex128 } else { DType::F64 })
}

/// The dtype of variances and deviations.
fn real_of(x: &Tensor) -> DType {
    x.dtype().to_inexact().real()
}

/// The root of the variance, which is not rounded before.
fn deviation(x: &Tensor, correction: f64, axes: &Axes, skip_nan: bool) -> Result<Tensor> {
    variance(x, correction, axes, skip_nan, DType::F64)?.sqrt()?.cast(real_of(x))
}

/// The elements of a slice: stored ones, and another one so many times.
struct Numbers<'a> {
    stored: &'a [f64],
    fill: f64,
    unstored: u128,
}

/// Adds the terms that `f` makes of each number, pairwise. Many are shared among threads, always in the same parts.
fn sums<const N: usize>(of: &[f64], f: &(impl Fn(f64) -> [f64; N] + Sync)) -> [f64; N] {
    fn in_pairs<const N: usize>(parts: &[[f64; N]]) -> [f64; N] {
        match parts {
            [] => [0.0; N],
            [one] => *one,
            _ => {
                let (a, b) = parts.split_at(parts.len() / 2);
                pairwise::added(in_pairs(a), in_pairs(b))
            }
        }
    }
    match of.len() {
        n if n > 2 * GRAIN => in_pairs(&parallel::map_chunks(n, GRAIN, &|range| pairwise::sums(&of[range], f))),
        _ => pairwise::sums(of, f),
    }
}

impl Numbers<'_> {
    fn len(&self) -> f64 {
        (self.stored.len() as u128 + self.unstored) as f64
    }

    /// `Σ f(x)`, of several functions.
    fn sums<const N: usize>(&self, f: impl Fn(f64) -> [f64; N] + Sync) -> [f64; N] {
        let stored = if self.stored.is_empty() { [0.0; N] } else { sums(self.stored, &f) };
        if self.unstored == 0 {
            return stored;
        }
        let of_fill = f(self.fill);
        std::array::from_fn(|i| stored[i] + self.unstored as f64 * of_fill[i])
    }

    fn variance(&self, correction: f64) -> f64 {
        let n = self.len();
        // A constant near all elements: their differences are what the rounding errors are relative to.
        let shift = self.stored.first().copied().unwrap_or(self.fill);
        let [away] = self.sums(|x| [x - shift]);
        let mean = shift + away / n;
        let [squares, rest] = self.sums(|x| [(x - mean) * (x - mean), x - mean]);
        if n > correction { ((squares - rest * rest / n) / (n - correction)).max_or_nan(0.0) } else { f64::NAN }
    }

    /// Of the moduli.
    fn norm(&self, ord: f64) -> f64 {
        // Where no square overflows, and none that vanishes counts, numbers need not be looked at before.
        if ord == 2.0 {
            let [squares] = self.sums(|x| [x * x]);
            if (1e-250..1e250).contains(&squares) {
                return squares.sqrt();
            }
        }
        let all = || self.stored.iter().copied().chain((self.unstored > 0).then_some(self.fill)).map(f64::abs);
        let outermost = if ord > 0.0 { all().fold(0.0, f64::max) } else { all().fold(f64::INFINITY, f64::min) };
        let scale = scale_of(outermost, ord);
        let [sum] = match ord {
            1.0 => self.sums(|x| [x.abs() * scale]),
            2.0 => self.sums(|x| [(x * scale) * (x * scale)]),
            _ => self.sums(|x| [(x.abs() * scale).powf(ord)]),
        };
        (if ord == 2.0 { sum.sqrt() } else { sum.powf(1.0 / ord) }) / scale
    }
}

/// A power of two that leaves the term that counts most near 1, where powers would overflow or vanish.
fn scale_of(outermost: f64, ord: f64) -> f64 {
    let exponent = (outermost.to_bits() >> 52 & 0x7ff) as f64 - 1023.0;
    if (exponent.abs() + 1.0) * ord.abs() <= 900.0 {
        return 1.0;
    }
    match outermost.log2() {
        e if e.is_finite() && (e * ord).abs() > 900.0 => (-e.round().clamp(-1000.0, 1000.0)).exp2(),
        _ => 1.0,
    }
}

trait MaxOrNan {
    fn max_or_nan(self, other: Self) -> Self;
}

impl MaxOrNan for f64 {
    /// The greater; NaN stays.
    fn max_or_nan(self, other: f64) -> f64 {
        if self < other { other } else { self }
    }
}

/// Folds the numbers of each slice; the fill does not vary along the reduced axes.
fn fold(slices: &Slices, f: &(dyn Fn(&Numbers<'_>) -> f64 + Sync)) -> Result<(Strided, Option<Strided>)> {
    let values = slices.values.cast(DType::F64);
    let values = values.typed::<f64>().unwrap_or_default();
    let fill = slices.fill_over_kept().map(|f| f.cast(DType::F64));
    let at = fill.as_ref().map(|f| slices.at_slices(f)).transpose()?;
    let at = at.as_ref().and_then(|f| f.typed::<f64>());
    let one = |g: usize| {
        let stored = &values[slices.ends[g]..slices.ends[g + 1]];
        let (fill, unstored) = at.map_or((0.0, 0), |at| (at[g], slices.length - stored.len() as u128));
        f(&Numbers { stored, fill, unstored })
    };
    let n = slices.len();
    let grain = (GRAIN * n / values.len().max(1)).clamp(1, GRAIN);
    let parts = parallel::map_chunks(n, grain, &|range| range.map(one).collect::<Vec<_>>());
    let found = Strided::from_vec(parts.concat(), vec![n]);
    let empty = fill.map(|fill| {
        let core = fill.core();
        let values = core.typed::<f64>().unwrap_or_default();
        let of = |&fill: &f64| f(&Numbers { stored: &[], fill, unstored: slices.length });
        Strided::from_vec(values.iter().map(of).collect(), core.shape.clone()).broadcast(&fill.shape)
    });
    Ok((found, empty))
}

/// The same with the numbers that are NaN left out.
fn fold_present(
    slices: &Slices,
    skip_nan: bool,
    f: &(dyn Fn(&Numbers<'_>) -> f64 + Sync),
) -> Result<(Strided, Option<Strided>)> {
    fold(slices, &|all| {
        let nan = |x: f64| x.is_nan();
        if !skip_nan || !(nan(all.fill) || all.stored.iter().copied().any(nan)) {
            return f(all);
        }
        let stored: Vec<f64> = all.stored.iter().copied().filter(|x| !nan(*x)).collect();
        f(&Numbers { stored: &stored, fill: all.fill, unstored: if nan(all.fill) { 0 } else { all.unstored } })
    })
}

/// The variance, computed in `float64`, as `out`.
fn variance(x: &Tensor, correction: f64, axes: &Axes, skip_nan: bool, out: DType) -> Result<Tensor> {
    if !(correction.is_finite() && correction >= 0.0) {
        let why = format!("{correction} is given, allowed are finite numbers from 0");
        return Err(error::invalid("correction", why));
    }
    let of = axes.of(x.ndim())?;
    let found = match (skip_nan, x.strided()) {
        (true, _) => None,
        (false, Some(x)) => moments::variances(x, correction, &of).map(Tensor::from_strided),
        (false, None) if x.dtype().is_complex() => None,
        (false, None) => columns::variances(x, correction, &of)?,
    };
    if let Some(found) = found {
        let found = found.cast(out)?;
        return if axes.keeps() { found.expand_dims(&of) } else { Ok(found) };
    }
    if x.dtype().is_complex() {
        // |z − mean|² is the sum over both parts; a number with a NaN in one has it in both.
        let x = if skip_nan { super::nan::spread(x)? } else { x.clone() };
        let part = |part: Tensor| variance(&part, correction, axes, skip_nan, DType::F64);
        return part(accurate(&x.real()?)?)?.add(&part(accurate(&x.imag()?)?)?)?.cast(out);
    }
    let slices = Slices::in_any_order(x, &of)?;
    let (found, empty) = match slices.fill().filter(|_| slices.fill_varies()) {
        Some(fill) => {
            let (found, empty) = over_a_fill(&slices, fill, correction, skip_nan)?;
            (found, Some(empty))
        }
        None => fold_present(&slices, skip_nan, &|x| x.variance(correction))?,
    };
    let result = slices.folded(found.cast(out), empty.map(|e| e.cast(out)), axes.keeps())?;
    Ok(result)
}

/// The fill of one slice, where it varies: its elements, each so many times.
struct Spread<'a> {
    terms: &'a [f64],
    times: u128,
    mean: f64,
    /// `Σ (x − mean)²` of all of it.
    squares: f64,
}

impl<'a> Spread<'a> {
    fn new(terms: &'a [f64], times: u128) -> Spread<'a> {
        let n = terms.len() as f64;
        let [away] = sums(terms, &|x| [x - terms[0]]);
        let mean = terms[0] + away / n;
        let [squares] = sums(terms, &|x| [(x - mean) * (x - mean)]);
        Spread { terms, times, mean, squares: times as f64 * squares }
    }

    fn len(&self) -> f64 {
        self.terms.len() as f64 * self.times as f64
    }

    /// The variance with elements stored over it: of all the fill, less what lies beneath, with what is stored. `None`
    /// where little is left of much, or there are NaN and infinities.
    fn quickly(&self, stored: &[f64], beneath: &[u64], correction: f64) -> Option<f64> {
        let (n, over) = (self.len(), |i: &u64| self.terms[*i as usize]);
        let moved: f64 = stored.iter().zip(beneath).map(|(v, i)| v - over(i)).sum();
        let shift = moved / n;
        let mean = self.mean + shift;
        let square = |x: f64| (x - mean) * (x - mean);
        let all = self.squares + n * shift * shift;
        let [more] = sums(stored, &|x| [square(x)]);
        let (more, less) = (more, beneath.iter().map(|i| square(over(i))).sum::<f64>());
        let squares = all + more - less;
        // Of NaN nothing is greater.
        (n > correction && squares > (all + more + less) / 4.0).then(|| squares / (n - correction))
    }

    /// The same, looking at every element of the fill.
    fn slowly(&self, stored: &[f64], beneath: &[u64], correction: f64, skip_nan: bool) -> f64 {
        let mut counts = vec![self.times; self.terms.len()];
        beneath.iter().for_each(|&i| counts[i as usize] -= 1);
        let there = |x: f64| !(skip_nan && x.is_nan());
        let mut all: Vec<(f64, f64)> = self.terms.iter().zip(&counts).map(|(&x, &n)| (x, n as f64)).collect();
        all.extend(stored.iter().map(|&x| (x, 1.0)));
        all.retain(|&(x, n)| n > 0.0 && there(x));
        let n: f64 = all.iter().map(|e| e.1).sum();
        let Some(&(shift, _)) = all.first().filter(|_| n > correction) else { return f64::NAN };
        let mean = shift + all.iter().map(|(x, k)| k * (x - shift)).sum::<f64>() / n;
        all.iter().map(|(x, k)| k * (x - mean) * (x - mean)).sum::<f64>() / (n - correction)
    }
}

/// The variance over a fill that varies along the axes.
fn over_a_fill(slices: &Slices, fill: &Strided, correction: f64, skip_nan: bool) -> Result<(Strided, Strided)> {
    let varying = slices.varying_fill(fill)?;
    let floats = |x: &Strided| -> Result<Strided> { Ok(x.cast(DType::F64).to_contiguous()?.into_owned()) };
    let (core, values) = (floats(&varying.core)?, floats(&slices.values)?);
    let (core, values) = (core.typed::<f64>().unwrap_or_default(), values.typed::<f64>().unwrap_or_default());
    let spreads: Vec<Spread<'_>> =
        core.chunks_exact(varying.terms.max(1)).map(|terms| Spread::new(terms, varying.times)).collect();
    let one = |g: usize| {
        let (own, spread) = (slices.ends[g]..slices.ends[g + 1], &spreads[varying.at[g] as usize]);
        let (stored, beneath) = (&values[own.clone()], &varying.beneath[own]);
        let quickly = spread.quickly(stored, beneath, correction);
        quickly.unwrap_or_else(|| spread.slowly(stored, beneath, correction, skip_nan))
    };
    let n = slices.len();
    let grain = (GRAIN * n / values.len().max(1)).clamp(1, GRAIN);
    let parts = parallel::map_chunks(n, grain, &|range| range.map(one).collect::<Vec<_>>());
    let empty = spreads.mapped(|s| s.slowly(&[], &[], correction, skip_nan));
    let empty = Strided::from_vec(empty, varying.over_kept).broadcast(&slices.kept_shape());
    Ok((Strided::from_vec(parts.concat(), vec![n]), empty))
}

/// Whether unstored elements differ along an axis.
fn fill_varies(x: &Tensor, axis: usize) -> bool {
    x.sparse().is_some_and(|s| Background::of(&s.fill, &s.shape).varies(axis))
}

/// Euclidean norms of slices that are not stored one after the other, as roots of sums over squares: sums need no slices. `None` of
/// others, and where a square may overflow or vanish.
fn by_sums(numbers: &Tensor, axes: &Axes, of: &[usize]) -> Result<Option<Tensor>> {
    let Some(s) = numbers.sparse() else { return Ok(None) };
    let kept = numbers.ndim() - of.len();
    let are_apart = s.pattern.dims.iter().take(kept).any(|d| of.contains(&d.axis));
    let is_sure = |x: f64| (x == 0.0) | ((x.abs() >= 1e-125) & (x.abs() <= 1e125));
    let are_all = |x: &[f64]| x.iter().fold(true, |all, &x| all & is_sure(x));
    let are_sure = |x: &Strided| {
        let numbers = x.typed::<f64>().unwrap_or_default();
        parallel::map_chunks(numbers.len(), GRAIN, &|range| are_all(&numbers[range])).into_iter().all(|sure| sure)
    };
    let fill = s.fill_values().map(|fill| fill.unbroadcast().core());
    if !are_apart || !s.pattern.is_unique() || !are_sure(&s.values.core()) || !fill.is_none_or(|fill| are_sure(&fill)) {
        return Ok(None);
    }
    numbers.unary(UnaryOp::Square)?.sum(axes)?.sqrt().map(Some)
}

/// Norms of moduli over a fill that varies along the axes: roots of sums of powers, scaled by a power of two as the fill asks. Slices whose
/// sums leave the range then are scaled as what is stored asks, if the fill has powers so.
fn over_varying(moduli: &Tensor, ord: f64, axes: &Axes) -> Result<Tensor> {
    let outermost = |x: Option<Strided>| {
        let Some(x) = x.filter(|x| x.len() > 0).map(Tensor::from_strided) else { return Ok(1.0) };
        (if ord > 0.0 { x.max(..) } else { x.min(..) })?.item_as::<f64>()
    };
    let stored = outermost(moduli.sparse().map(|s| s.values.core()))?;
    let fill = outermost(moduli.sparse().and_then(Sparse::fill_values).map(|fill| fill.unbroadcast()))?;
    let sums =
        |scale: f64| if scale == 1.0 { moduli.pow(ord)?.sum(axes) } else { moduli.mul(scale)?.pow(ord)?.sum(axes) };
    let roots = |sums: &Tensor, scale: f64| sums.pow(1.0 / ord)?.mul(1.0 / scale);
    let [by_fill, by_stored] = [fill, stored].map(|outermost| scale_of(outermost, ord));
    let first = sums(by_fill)?;
    let found = roots(&first, by_fill)?;
    if by_stored == by_fill || !(fill * by_stored).powf(ord).is_finite() {
        return Ok(found);
    }
    let second = sums(by_stored)?;
    let is_sure = |sums: &Tensor| sums.ge(1e-250)?.logical_and(&sums.le(1e250)?);
    let is_better = is_sure(&first)?.logical_not()?.logical_and(&is_sure(&second)?)?;
    is_better.where_(&roots(&second, by_stored)?, &found)
}

fn norm(x: &Tensor, ord: f64, axes: &Axes) -> Result<Tensor> {
    if ord.is_nan() {
        return Err(error::invalid("ord", "NaN is given, allowed are numbers and infinities"));
    }
    let of = axes.of(x.ndim())?;
    let out = x.dtype().to_inexact().real();
    if ord == 2.0
        && let Some(s) = x.strided()
        && let Some(found) = moments::norms(s, &of)?
    {
        let found = Tensor::from_strided(found).cast(out)?;
        return if axes.keeps() { found.expand_dims(&of) } else { Ok(found) };
    }
    let result = if ord == 0.0 {
        x.count_nonzero(axes)?.cast(out)?
    } else {
        // In double precision: the modulus of the least integer is not an integer of its dtype.
        let numbers = accurate(x)?;
        let numbers = if numbers.dtype().is_complex() { numbers.abs()? } else { numbers };
        if ord.is_infinite() {
            let is_empty = |axis: &usize| x.shape()[*axis] == 0;
            let has_results = (0..x.ndim()).filter(|axis| !of.contains(axis)).all(|axis| !is_empty(&axis));
            if of.iter().any(is_empty) && has_results && !x.fill().is_some_and(Fill::is_undefined) {
                let why = "of infinite order and of no elements is undefined: an axis has size 0";
                return Err(error::shape(&[x.shape()], why));
            }
            let moduli = numbers.abs()?;
            let result = if ord > 0.0 { moduli.max(axes)? } else { moduli.min(axes)? };
            result.cast(out)?
        } else if ord == 2.0
            && let Some(found) = by_sums(&numbers, axes, &of)?
        {
            found.cast(out)?
        } else if of.iter().any(|&axis| fill_varies(x, axis)) {
            over_varying(&numbers.abs()?, ord, axes)?.cast(out)?
        } else {
            let slices = Slices::in_any_order(&numbers, &of)?;
            let (found, empty) = fold(&slices, &|x| x.norm(ord))?;
            slices.folded(found.cast(out), empty.map(|e| e.cast(out)), axes.keeps())?
        }
    };
    Ok(result)
}
