//! Moments, norms, and reductions without NaN.

use super::OValue::{Complex, Float, Int};
use super::order::{Slice, per_slice};
use super::reduce::{reduce, reduce_dtype};
use super::total::Total;
use super::{Expected, OType, OValue, Oracle, Refused, complex};

fn total(terms: impl Iterator<Item = f64>) -> f64 {
    let mut total = Total::default();
    terms.for_each(|x| total.add(x));
    total.value()
}

/// `Σ |x − mean|² / (n − correction)`, or its root; NaN unless n is above the correction.
pub fn variance(
    x: &Oracle,
    axes: &[usize],
    correction: f64,
    keepdims: bool,
    root: bool,
    skip_nan: bool,
) -> Result<Expected, Refused> {
    let out = x.dtype.floating().real();
    per_slice(x, axes, keepdims, out, Ok(Float(f64::NAN)), |slice| {
        let values: Vec<(f64, f64)> =
            slice.iter().filter(|e| !skip_nan || !e.1.is_nan()).map(|e| e.1.parts()).collect();
        let n = values.len() as f64;
        if n <= correction || values.is_empty() {
            return (Float(f64::NAN), 0.0);
        }
        let mean = (total(values.iter().map(|v| v.0)) / n, total(values.iter().map(|v| v.1)) / n);
        let squares = |v: &(f64, f64)| (v.0 - mean.0).powi(2) + (v.1 - mean.1).powi(2);
        let freedom = n - correction;
        let variance = total(values.iter().map(squares)) / freedom;
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.0.abs()).max(v.1.abs()));
        let away = values.iter().map(|v| (v.0 - mean.0).abs() + (v.1 - mean.1).abs()).sum::<f64>();
        let eps = f64::EPSILON;
        let inner = 16.0 * eps * (variance + largest * away / freedom) + 16.0 * (eps * largest).powi(2) * n / freedom;
        if !root {
            return (Float(out.round(variance)), 2.0 * out.eps() * variance + inner + out.ulp(0.0));
        }
        // The root of a variance that is off by `inner`.
        let root = variance.sqrt();
        (Float(out.round(root)), 2.0 * out.eps() * root + inner.sqrt().min(inner / root) + out.ulp(0.0))
    })
}

/// `(Σ |x|^ord)^(1/ord)`, the count of what is not 0 (ord 0), the greatest or least modulus.
pub fn norm(x: &Oracle, ord: f64, axes: &[usize], keepdims: bool) -> Result<Expected, Refused> {
    let out = x.dtype.floating().real();
    let modulus = |v: OValue| complex::modulus(v.parts());
    if ord == 0.0 {
        let mut counts = reduce("count_nonzero", x, axes, keepdims)?;
        counts.value = counts.value.cast(out);
        return Ok(counts);
    }
    let empty = if ord.is_infinite() { Err(Refused::Empty) } else { Ok(Float(0f64.powf(1.0 / ord))) };
    per_slice(x, axes, keepdims, out, empty, |slice: &Slice| {
        let moduli: Vec<f64> = slice.iter().map(|e| modulus(e.1)).collect();
        let value = if moduli.iter().any(|m| m.is_nan()) {
            f64::NAN
        } else if ord == f64::INFINITY {
            moduli.iter().copied().fold(0.0, f64::max)
        } else if ord == f64::NEG_INFINITY {
            moduli.iter().copied().fold(f64::INFINITY, f64::min)
        } else {
            total(moduli.iter().map(|m| m.powf(ord))).powf(1.0 / ord)
        };
        let slack = (16.0 * f64::EPSILON * (1.0 + moduli.len() as f64 / ord.abs()) + 2.0 * out.eps()) * value.abs();
        (Float(out.round(value)), if slack.is_finite() { slack + out.ulp(0.0) } else { 0.0 })
    })
}

/// A reduction (`sum`, `prod`, `min`, `max`, `mean`) of what is not NaN.
pub fn without_nan(op: &str, x: &Oracle, axes: &[usize], keepdims: bool) -> Result<Expected, Refused> {
    let kept = x.data.iter().map(|v| v.filter(|v| !v.is_nan())).collect();
    let holes = Oracle { data: kept, undefined: true, ..x.clone() };
    let mut out = reduce(op, &holes, axes, keepdims)?;
    // Whether a slice has any element at all.
    let there = Oracle { data: x.data.iter().map(|v| v.map(|_| Int(1))).collect(), dtype: OType::I64, ..x.clone() };
    let there = reduce("count_nonzero", &there, axes, keepdims)?;
    let nothing = match op {
        "sum" => Int(0).cast(out.value.dtype),
        "prod" => Int(1).cast(out.value.dtype),
        _ if out.value.dtype.is_complex() => Complex(f64::NAN, f64::NAN),
        _ => Float(f64::NAN),
    };
    out.value.undefined = x.undefined;
    for (value, there) in out.value.data.iter_mut().zip(&there.value.data) {
        let there = there.is_some_and(|n| n.truth());
        if value.is_none() && (there || !x.undefined) {
            if !there && matches!(op, "min" | "max") {
                return Err(Refused::Empty);
            }
            *value = Some(nothing);
        }
    }
    Ok(out)
}

/// A reduction of the elements cast to a dtype, cast to it.
pub fn reduce_as(op: &str, x: &Oracle, dtype: OType, axes: &[usize], keepdims: bool) -> Result<Expected, Refused> {
    if op == "mean" && reduce_dtype(op, dtype) != Some(dtype) {
        return Err(Refused::Dtype);
    }
    let mut out = reduce(op, &x.cast(dtype), axes, keepdims)?;
    out.value = out.value.cast(dtype);
    Ok(out)
}
