//! Scans and differences along one axis.

use super::OValue::{self, Bool, Complex, Float, Int};
use super::order::cmp;
use super::reduce::{TOLERANCE, reduce_dtype, rounded};
use super::shape::check_axes;
use super::total::{Total, usable};
use super::{Expected, OType, Oracle, Refused, binary, complex, indices};

/// `op` is sum, prod, max or min. Each element becomes the fold of all that are present up to it, and stays absent where
/// it is. The initial element is 0 or 1.
pub fn scan(op: &str, x: &Oracle, axis: usize, dtype: Option<OType>, initial: bool) -> Result<Expected, Refused> {
    check_axes(&[axis], x.ndim())?;
    let x = &dtype.map_or(x.clone(), |d| x.cast(d));
    let out = reduce_dtype(op, x.dtype).ok_or(Refused::Dtype)?;
    if initial && x.undefined {
        return Err(Refused::Dtype);
    }
    let mut shape = x.shape.clone();
    shape[axis] += usize::from(initial);
    let value = Oracle { shape: shape.clone(), dtype: out, data: Vec::new(), undefined: x.undefined };
    let mut result = Expected::from(value);
    for index in indices(&shape) {
        let up_to = index[axis] + usize::from(!initial);
        let at = |i: usize| {
            let mut from = index.clone();
            from[axis] = i;
            x.at(&from)
        };
        let here = initial || at(index[axis]).is_some();
        let values: Vec<OValue> = (0..up_to).filter_map(at).collect();
        let folded = here.then(|| fold(op, out, &values));
        result.value.data.push(folded.map(|f| f.0));
        result.slack.push(folded.map_or(0.0, |f| f.1));
    }
    if let Some(dtype) = dtype {
        result.value = result.value.cast(dtype);
    }
    Ok(result)
}

fn fold(op: &str, out: OType, values: &[OValue]) -> (OValue, f64) {
    match op {
        "sum" if out.is_int() => (Int(out.wrap(values.iter().map(|v| v.int()).sum())), 0.0),
        "prod" if out.is_int() => (Int(values.iter().fold(1, |p: i128, v| out.wrap(p.wrapping_mul(v.int())))), 0.0),
        "sum" => {
            let (mut re, mut im) = (Total::default(), Total::default());
            values.iter().for_each(|v| {
                re.add(v.parts().0);
                im.add(v.parts().1);
            });
            let slack = TOLERANCE * ((values.len() + 1) as f64).log2() * out.eps() * (re.abs() + im.abs());
            (rounded(out, re.value(), im.value()), usable(slack + out.ulp(0.0)))
        }
        "prod" => {
            let (re, im) = values.iter().fold((1.0, 0.0), |p, v| complex::mul(p, v.parts()));
            let real: f64 = values.iter().map(|v| v.parts().0).product();
            let doubtful = |v: &OValue| match *v {
                Float(x) => x.abs() > 1000.0,
                Complex(re, im) => !re.is_finite() || !im.is_finite() || re.abs() > 1000.0 || im.abs() > 1000.0,
                Bool(_) | Int(_) => false,
            };
            if values.iter().any(doubtful) {
                // The order of the factors decides about overflow.
                return (rounded(out, re, im), f64::INFINITY);
            }
            let value = if out.is_complex() { rounded(out, re, im) } else { Float(out.round(real)) };
            let slack = TOLERANCE * (values.len() + 1) as f64 * out.eps() * complex::modulus(value.parts());
            (value, usable(slack + out.ulp(0.0)))
        }
        _ => {
            let mut best = values[0];
            for &v in values {
                let order = if op == "max" { cmp(v, best) } else { cmp(best, v) };
                if !best.is_nan() && (v.is_nan() || order.is_gt()) {
                    best = v;
                }
            }
            (best, 0.0)
        }
    }
}

/// The difference of neighbours, `n` times.
pub fn diff(x: &Oracle, n: usize, axis: usize) -> Result<Expected, Refused> {
    check_axes(&[axis], x.ndim())?;
    if x.dtype == OType::Bool {
        return Err(Refused::Dtype);
    }
    let mut out = Expected::from(x.clone());
    for _ in 0..n.min(x.shape[axis]) {
        let size = out.value.shape[axis];
        let (later, earlier) = (out.value.narrow(axis, 1..size)?, out.value.narrow(axis, 0..size - 1)?);
        out = binary("sub", &later, &earlier)?;
    }
    Ok(out)
}
