//! What depends on the order of elements, one slice at a time.

use std::cmp::Ordering;

use super::OValue::{self, Bool, Complex, Float, Int};
use super::shape::check_axes;
use super::{Expected, OType, Oracle, Refused, indices, ravel};

/// NaN above every number, −0 equal to 0.
pub fn cmp(a: OValue, b: OValue) -> Ordering {
    match (a, b) {
        (Bool(a), Bool(b)) => a.cmp(&b),
        (Int(a), Int(b)) => a.cmp(&b),
        (Float(a), Float(b)) if a.is_nan() || b.is_nan() => a.is_nan().cmp(&b.is_nan()),
        (Float(a), Float(b)) if a < b => Ordering::Less,
        (Float(a), Float(b)) if a > b => Ordering::Greater,
        (Float(_), Float(_)) => Ordering::Equal,
        other => panic!("order of {other:?}"),
    }
}

/// One slice: each element that is present, and where it is in C order of the reduced axes.
pub type Slice = Vec<(usize, OValue)>;

/// One result per slice, of `dtype`. `f` gets slices with at least one element present; where there is none, the result
/// is absent in an undefined tensor, and `empty` in a defined one.
pub fn per_slice(
    x: &Oracle,
    axes: &[usize],
    keepdims: bool,
    dtype: OType,
    empty: Result<OValue, Refused>,
    f: impl Fn(&Slice) -> (OValue, f64),
) -> Result<Expected, Refused> {
    check_axes(axes, x.ndim())?;
    let reduced = |axis: usize| axes.contains(&axis);
    let kept_shape: Vec<usize> = (0..x.ndim()).map(|k| if reduced(k) { 1 } else { x.shape[k] }).collect();
    let reduced_shape: Vec<usize> = (0..x.ndim()).map(|k| if reduced(k) { x.shape[k] } else { 1 }).collect();
    let mut slices = vec![Slice::new(); kept_shape.iter().product()];
    for index in indices(&x.shape) {
        let part =
            |of: bool| -> Vec<usize> { (0..x.ndim()).map(|k| if reduced(k) == of { index[k] } else { 0 }).collect() };
        let at = ravel(&part(true), &reduced_shape);
        slices[ravel(&part(false), &kept_shape)].extend(x.at(&index).map(|v| (at, v)));
    }
    let value = Oracle { shape: kept_shape, dtype, data: Vec::new(), undefined: x.undefined };
    let mut out = Expected::from(value);
    for slice in &slices {
        let (value, slack) = match (slice.is_empty(), x.undefined) {
            (false, _) => {
                let (value, slack) = f(slice);
                (Some(value), slack)
            }
            (true, true) => (None, 0.0),
            (true, false) => (Some(empty.clone()?), 0.0),
        };
        out.value.data.push(value);
        out.slack.push(slack);
    }
    if !keepdims {
        out.value = out.value.squeeze(axes)?;
    }
    Ok(out)
}

fn ordered(x: &Oracle) -> Result<(), Refused> {
    if x.dtype.is_complex() { Err(Refused::Dtype) } else { Ok(()) }
}

/// The first index of the least or greatest element; NaN wins.
pub fn arg(x: &Oracle, axes: &[usize], keepdims: bool, greatest: bool) -> Result<Expected, Refused> {
    ordered(x)?;
    per_slice(x, axes, keepdims, OType::I64, Err(Refused::Empty), |slice| {
        let mut best = slice[0];
        for &(at, v) in slice {
            let better = match (v.is_nan(), best.1.is_nan()) {
                (_, true) => false,
                (true, false) => true,
                _ if greatest => cmp(v, best.1) == Ordering::Greater,
                _ => cmp(v, best.1) == Ordering::Less,
            };
            if better {
                best = (at, v);
            }
        }
        (Int(best.0 as i128), 0.0)
    })
}

fn sorted(slice: &Slice) -> Vec<OValue> {
    let mut values: Vec<OValue> = slice.iter().map(|e| e.1).collect();
    values.sort_by(|a, b| cmp(*a, *b));
    values
}

/// The values in order that count, or `None` if the result is NaN.
fn counted(slice: &Slice, skip_nan: bool) -> Option<Vec<OValue>> {
    let mut values = sorted(slice);
    if skip_nan {
        values.retain(|v| !v.is_nan());
    }
    (!values.is_empty() && !values.iter().any(|v| v.is_nan())).then_some(values)
}

/// The lower middle one.
pub fn median(x: &Oracle, axes: &[usize], keepdims: bool, skip_nan: bool) -> Result<Expected, Refused> {
    ordered(x)?;
    per_slice(x, axes, keepdims, x.dtype, Err(Refused::Empty), |slice| {
        let middle = counted(slice, skip_nan).map(|values| values[(values.len() - 1) / 2]);
        (middle.unwrap_or(Float(f64::NAN)), 0.0)
    })
}

/// At place `q (n − 1)`; `how` is one of the five names of PyTorch and NumPy.
pub fn quantile(
    x: &Oracle,
    q: f64,
    axes: &[usize],
    keepdims: bool,
    how: &str,
    skip_nan: bool,
) -> Result<Expected, Refused> {
    ordered(x)?;
    let out = x.dtype.floating();
    per_slice(x, axes, keepdims, out, Err(Refused::Empty), |slice| {
        let Some(values) = counted(slice, skip_nan) else { return (Float(f64::NAN), 0.0) };
        let number = |i: usize| values[i].parts().0;
        let place = q * (values.len() - 1) as f64;
        let (low, high) = (place.floor() as usize, place.ceil() as usize);
        let share = place - place.floor();
        let (a, b) = (number(low), number(high));
        let value = match how {
            "lower" => a,
            "higher" => b,
            "nearest" if share == 0.5 => number(if low % 2 == 0 { low } else { high }),
            "nearest" => number(if share < 0.5 { low } else { high }),
            _ if low == high || a == b => a,
            "midpoint" => a * 0.5 + b * 0.5,
            _ => a * (1.0 - share) + b * share,
        };
        let slack = if value.is_finite() { 4.0 * out.eps() * a.abs().max(b.abs()) } else { 0.0 };
        (Float(out.round(value)), slack)
    })
}

/// The most frequent, of several the least.
pub fn mode(x: &Oracle, axes: &[usize], keepdims: bool) -> Result<Expected, Refused> {
    ordered(x)?;
    per_slice(x, axes, keepdims, x.dtype, Err(Refused::Empty), |slice| {
        let values = sorted(slice);
        let count = |v: OValue| values.iter().filter(|w| cmp(v, **w) == Ordering::Equal).count();
        let mut best = values[0];
        for &v in &values {
            if count(v) > count(best) {
                best = v;
            }
        }
        (best, 0.0)
    })
}

/// The elements of each line along an axis in order, with where they were; the absent are left out.
fn lines(x: &Oracle, axis: usize, descending: bool) -> Vec<(Vec<usize>, Slice)> {
    let mut out = Vec::new();
    for index in indices(&x.shape).into_iter().filter(|i| i[axis] == 0) {
        let mut line = Slice::new();
        for i in 0..x.shape[axis] {
            let mut at = index.clone();
            at[axis] = i;
            line.extend(x.at(&at).map(|v| (i, v)));
        }
        // Stable either way.
        line.sort_by(|a, b| if descending { cmp(b.1, a.1) } else { cmp(a.1, b.1) });
        out.push((index, line));
    }
    out
}

/// The first `k` elements along an axis in order, and where they were; absent ones last. `k` is at most the axis.
pub fn sorted_along(x: &Oracle, axis: usize, descending: bool, k: usize) -> Result<(Oracle, Oracle), Refused> {
    check_axes(&[axis], x.ndim())?;
    ordered(x)?;
    if k > x.shape[axis] {
        return Err(Refused::Shape);
    }
    let mut shape = x.shape.clone();
    shape[axis] = k;
    let empty = |dtype| Oracle {
        shape: shape.clone(),
        dtype,
        data: vec![None; shape.iter().product()],
        undefined: x.undefined,
    };
    let (mut values, mut places) = (empty(x.dtype), empty(OType::I64));
    for (mut index, line) in lines(x, axis, descending) {
        for (i, (from, v)) in line.into_iter().take(k).enumerate() {
            index[axis] = i;
            let at = ravel(&index, &shape);
            values.data[at] = Some(v);
            places.data[at] = Some(Int(from as i128));
        }
    }
    Ok((values, places))
}

/// The distinct values, the first place of each, which of them each element is, and how often each occurs.
///
/// Complex numbers by real, then imaginary parts; all with a NaN in them are one.
pub fn unique(x: &Oracle) -> Result<[Oracle; 4], Refused> {
    let cmp = |a: OValue, b: OValue| match (a, b) {
        (Complex(a, b), Complex(c, d)) => cmp(Float(a), Float(c)).then(cmp(Float(b), Float(d))),
        _ => cmp(a, b),
    };
    let nan = |v: OValue| if v.is_nan() && x.dtype.is_complex() { Complex(f64::NAN, f64::NAN) } else { v };
    let x = &Oracle { data: x.data.iter().map(|v| v.map(nan)).collect(), ..x.clone() };
    let mut values: Vec<OValue> = x.data.iter().flatten().copied().collect();
    values.sort_by(|a, b| cmp(*a, *b));
    values.dedup_by(|a, b| cmp(*a, *b).is_eq());
    let is = |v: OValue, w: &Option<OValue>| w.is_some_and(|w| cmp(v, w).is_eq());
    let vector = |dtype, data: Vec<OValue>| Oracle::new(&[data.len()], dtype, data.into_iter().map(Some).collect());
    let number = |n: usize| Int(n as i128);
    let first = values.iter().map(|&v| number(x.data.iter().position(|w| is(v, w)).unwrap())).collect();
    let counts = values.iter().map(|&v| number(x.data.iter().filter(|w| is(v, w)).count())).collect();
    let inverse = x.data.iter().map(|w| values.iter().position(|&v| is(v, w)).map(number)).collect();
    let inverse = Oracle { data: inverse, dtype: OType::I64, ..x.clone() };
    Ok([vector(x.dtype, values), vector(OType::I64, first), inverse, vector(OType::I64, counts)])
}

/// How many elements of a vector are less than each value, or not greater. Both of one dtype.
pub fn searchsorted(vector: &Oracle, x: &Oracle, right: bool) -> Result<Oracle, Refused> {
    if vector.ndim() != 1 {
        return Err(Refused::Shape);
    }
    let dtype = super::promote(vector.dtype, x.dtype).ok_or(Refused::Promotion)?;
    let (vector, cast) = (vector.cast(dtype), x.cast(dtype));
    ordered(&cast)?;
    let place = |v: OValue| {
        let before = |w: &&OValue| cmp(**w, v).is_lt() || (right && cmp(**w, v).is_eq());
        Int(vector.data.iter().flatten().filter(before).count() as i128)
    };
    Ok(Oracle { dtype: OType::I64, data: cast.data.iter().map(|v| v.map(place)).collect(), ..x.clone() })
}

/// Whether each element is one of others; NaN is none.
pub fn isin(x: &Oracle, others: &Oracle) -> Result<Oracle, Refused> {
    let dtype = super::promote(x.dtype, others.dtype).ok_or(Refused::Promotion)?;
    let (x, others) = (x.cast(dtype), others.cast(dtype));
    let is = |v: OValue| Bool(!v.is_nan() && others.data.iter().flatten().any(|w| *w == v));
    Ok(Oracle { dtype: OType::Bool, data: x.data.iter().map(|v| v.map(is)).collect(), ..x })
}

/// How often each integer occurs.
pub fn bincount(x: &Oracle, minlength: usize) -> Result<Oracle, Refused> {
    if !x.dtype.is_int() {
        return Err(Refused::Dtype);
    }
    let values: Vec<i128> = x.data.iter().flatten().map(|v| v.int()).collect();
    if values.iter().any(|&v| v < 0) {
        return Err(Refused::Shape);
    }
    let n = values.iter().max().map_or(0, |&m| m as usize + 1).max(minlength);
    let count = |i: usize| Some(Int(values.iter().filter(|&&v| v == i as i128).count() as i128));
    Ok(Oracle::new(&[n], OType::I64, (0..n).map(count).collect()))
}

/// The sum of the weights where each integer occurs; where either is absent, nothing does.
pub fn weighted(x: &Oracle, weights: &Oracle, minlength: usize) -> Result<Expected, Refused> {
    if !x.dtype.is_int() {
        return Err(Refused::Dtype);
    }
    if weights.shape != x.shape {
        return Err(Refused::Shape);
    }
    let both: Vec<bool> = x.data.iter().zip(&weights.data).map(|(a, b)| a.is_some() && b.is_some()).collect();
    let only = |data: &[Option<OValue>]| -> Vec<Option<OValue>> {
        data.iter().zip(&both).map(|(v, &there)| v.filter(|_| there)).collect()
    };
    let x = Oracle { data: only(&x.data), undefined: true, ..x.clone() };
    let counts = bincount(&x, minlength)?;
    let n = counts.shape[0];
    let mut out: Option<Expected> = None;
    for i in 0..n {
        let here = |(v, w): (&Option<OValue>, &Option<OValue>)| w.filter(|_| v.is_some_and(|v| v.int() == i as i128));
        let data: Vec<Option<OValue>> = x.data.iter().zip(&only(&weights.data)).map(here).collect();
        let terms: Vec<Option<OValue>> = data.into_iter().filter(|v| v.is_some()).collect();
        let sum = super::reduce("sum", &Oracle::new(&[terms.len()], weights.dtype, terms), &[0], true)?;
        match &mut out {
            None => out = Some(sum),
            Some(out) => {
                out.value.data.extend(sum.value.data);
                out.slack.extend(sum.slack);
            }
        }
    }
    let dtype = super::reduce_dtype("sum", weights.dtype).ok_or(Refused::Dtype)?;
    let mut out = out.unwrap_or_else(|| Expected::from(Oracle::new(&[0], dtype, Vec::new())));
    out.value.shape = vec![n];
    Ok(out)
}

/// Counts of elements in equal parts of a range, and the edges of these.
pub fn histogram(x: &Oracle, bins: usize, range: Option<(f64, f64)>) -> Result<(Oracle, Expected), Refused> {
    ordered(x)?;
    let values: Vec<f64> = x.data.iter().flatten().map(|v| v.parts().0).collect();
    let outermost = || {
        let nan = values.iter().any(|v| v.is_nan());
        let (low, high) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), &v| (a.min(v), b.max(v)));
        if values.is_empty() { (0.0, 1.0) } else { (low, if nan { f64::NAN } else { high }) }
    };
    let (low, high) = range.unwrap_or_else(outermost);
    if bins == 0 || !low.is_finite() || !high.is_finite() || low > high {
        return Err(Refused::Shape);
    }
    let (low, high) = if low == high { (low - 0.5, high + 0.5) } else { (low, high) };
    // As NumPy's linspace has them.
    let distance = high - low;
    let edge = |i: usize| {
        let share = i as f64 / bins as f64;
        match distance / bins as f64 {
            _ if i == bins => high,
            _ if !distance.is_finite() => low * (1.0 - share) + high * share,
            0.0 => low + share * distance,
            step => low + i as f64 * step,
        }
    };
    let count = |i: usize| {
        let inside = |v: &&f64| **v >= edge(i) && (**v < edge(i + 1) || (i + 1 == bins && **v == high));
        Some(Int(values.iter().filter(inside).count() as i128))
    };
    let counts = Oracle::new(&[bins], OType::I64, (0..bins).map(count).collect());
    let edges = Oracle::new(&[bins + 1], OType::F64, (0..=bins).map(|i| Some(Float(edge(i)))).collect());
    Ok((counts, edges.into()))
}
