//! Softmax and its kin: every element against its slice.

use super::OValue::{self, Bool, Complex, Float, Int};
use super::reduce::rounded;
use super::shape::check_axes;
use super::total::{Total, usable};
use super::{Expected, OType, Oracle, Refused, complex, indices, ravel};

/// Which op, with its arguments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kin {
    Softmax,
    LogSoftmax,
    /// A reduction.
    LogSumExp,
    /// Order of the norm, and the least divisor.
    Normalize(f64, f64),
    /// Taken off the number of elements.
    Standardize(f64),
}

use Kin::*;

/// Floats and complex numbers keep their dtype, all else is a float; what needs an order refuses complex numbers.
pub fn kin_dtype(kin: Kin, dtype: OType) -> Option<OType> {
    let ordered = matches!(kin, Softmax | LogSoftmax | LogSumExp);
    if ordered && dtype.is_complex() { None } else { Some(dtype.floating()) }
}

/// The op over the named axes. The absent are skipped; where the operand is absent, the result is.
pub fn softmax_kin(kin: Kin, x: &Oracle, axes: &[usize], keepdims: bool) -> Result<Expected, Refused> {
    check_axes(axes, x.ndim())?;
    let dtype = kin_dtype(kin, x.dtype).ok_or(Refused::Dtype)?;
    let reduced = |axis: usize| axes.contains(&axis);
    let kept_shape: Vec<usize> = (0..x.ndim()).map(|k| if reduced(k) { 1 } else { x.shape[k] }).collect();
    let slice_of = |index: &[usize]| {
        let kept: Vec<usize> = (0..x.ndim()).map(|k| if reduced(k) { 0 } else { index[k] }).collect();
        ravel(&kept, &kept_shape)
    };
    let mut slices = vec![Vec::new(); kept_shape.iter().product()];
    for index in indices(&x.shape) {
        slices[slice_of(&index)].extend(x.at(&index));
    }
    // The dtype in which a library may compute: differences, exponents and sums are rounded in it.
    let eps = if matches!(kin, Normalize(..) | Standardize(_)) { OType::F64.eps() } else { dtype.eps() };
    let mut out = if kin == LogSumExp {
        let data = slices.iter().map(|s| if s.is_empty() && x.undefined { None } else { Some(logsumexp(s)) });
        collect(dtype, eps, kept_shape.clone(), x.undefined, data.collect())
    } else {
        let data = indices(&x.shape).into_iter();
        let data = data.map(|i| x.at(&i).map(|v| element(kin, v, &slices[slice_of(&i)])));
        collect(dtype, eps, x.shape.clone(), x.undefined, data.collect())
    };
    if kin == LogSumExp && !keepdims {
        out.value = out.value.squeeze(axes)?;
    }
    Ok(out)
}

/// A result before it is rounded, and how far from it a library may be, in units of the eps of its computation.
struct Near {
    parts: (f64, f64),
    units: f64,
}

fn collect(dtype: OType, eps: f64, shape: Vec<usize>, undefined: bool, data: Vec<Option<Near>>) -> Expected {
    let near = |n: &Near| {
        let size = if dtype.is_complex() { complex::modulus(n.parts) } else { n.parts.0.abs() };
        // Anything may come of a slice that is all rounding errors.
        if n.units.is_infinite() { n.units } else { usable(eps * n.units + 2.0 * dtype.ulp(size)) }
    };
    let slack = data.iter().map(|v| v.as_ref().map_or(0.0, near)).collect();
    let data = data.into_iter().map(|v| v.map(|n| rounded(dtype, n.parts.0, n.parts.1))).collect();
    Expected { value: Oracle { shape, dtype, data, undefined }, slack, abs_sum: Vec::new(), terms: Vec::new() }
}

fn element(kin: Kin, v: OValue, slice: &[OValue]) -> Near {
    match kin {
        Softmax | LogSoftmax => {
            let (d, z) = (real(v) - greatest(slice), total(slice));
            if kin == Softmax {
                let y = d.exp() / z;
                Near { parts: (y, 0.0), units: y * (d.abs() + steps(slice)) }
            } else {
                Near { parts: (d - z.ln(), 0.0), units: d.abs() + z.ln().abs() + steps(slice) }
            }
        }
        Normalize(p, eps) => {
            let norm = norm(p, slice);
            let norm = if norm.is_nan() || norm >= eps { norm } else { eps };
            let parts = (v.parts().0 / norm, v.parts().1 / norm);
            Near { parts, units: complex::modulus(parts) * (steps(slice) + 8.0 * p.abs().min(64.0)) }
        }
        Standardize(correction) => standardized(correction, v, slice),
        LogSumExp => unreachable!("a reduction"),
    }
}

/// Roundings of a sum of exponentials, and of the few steps around it.
fn steps(slice: &[OValue]) -> f64 {
    16.0 + 2.0 * ((slice.len() + 1) as f64).log2()
}

fn real(v: OValue) -> f64 {
    v.parts().0
}

/// NaN if there is one.
fn greatest(slice: &[OValue]) -> f64 {
    slice
        .iter()
        .map(|&v| real(v))
        .fold(f64::NEG_INFINITY, |m, v| if m.is_nan() || v.is_nan() { f64::NAN } else { m.max(v) })
}

/// The sum of exponentials less the greatest.
fn total(slice: &[OValue]) -> f64 {
    let m = greatest(slice);
    let mut z = Total::default();
    slice.iter().for_each(|&v| z.add((real(v) - m).exp()));
    z.value()
}

/// An infinite maximum counts as the result.
fn logsumexp(slice: &[OValue]) -> Near {
    let m = greatest(slice);
    let y = if m.is_infinite() { m } else { m + total(slice).ln() };
    Near { parts: (y, 0.0), units: m.abs() + (y - m).abs() + steps(slice) }
}

/// Magnitudes are divided by the greatest (the least for p < 0) first, so that powers stay in range.
fn norm(p: f64, slice: &[OValue]) -> f64 {
    let sizes: Vec<f64> = slice.iter().map(|&v| complex::modulus(v.parts())).collect();
    let nan = sizes.iter().any(|s| s.is_nan());
    let most = sizes.iter().fold(0.0, |m: f64, &s| m.max(s));
    let least = sizes.iter().fold(f64::INFINITY, |m: f64, &s| m.min(s));
    if p == 0.0 {
        return sizes.iter().filter(|&&s| s != 0.0).count() as f64;
    }
    if nan {
        return f64::NAN;
    }
    if p.is_infinite() {
        return if p > 0.0 { most } else { least };
    }
    let scale = if p > 0.0 { most } else { least };
    let scale = if scale > 0.0 && scale.is_finite() { scale } else { 1.0 };
    scale * sizes.iter().map(|s| (s / scale).powf(p)).sum::<f64>().powf(1.0 / p)
}

fn standardized(correction: f64, v: OValue, slice: &[OValue]) -> Near {
    let n = slice.len() as f64;
    let (mut re, mut im, mut scale) = (Total::default(), Total::default(), 0.0f64);
    for v in slice {
        let (a, b) = v.parts();
        re.add(a);
        im.add(b);
        scale = scale.max(a.abs()).max(b.abs());
    }
    let mean = (re.value() / n, im.value() / n);
    let off = |v: OValue| (v.parts().0 - mean.0, v.parts().1 - mean.1);
    let square: f64 = slice.iter().map(|&v| complex::modulus(off(v)).powi(2)).sum();
    let deviation = (square / (n - correction).max(0.0)).sqrt();
    let d = off(v);
    let parts = (d.0 / deviation, d.1 / deviation);
    // The mean is off by roundings of terms of this size.
    let noise = scale * steps(slice);
    let exact = deviation == 0.0 && slice.iter().all(|s| *s == slice[0]) && is_short(slice);
    let units = if exact || !deviation.is_finite() {
        0.0
    } else if deviation < 1e3 * OType::F64.eps() * noise {
        f64::INFINITY
    } else {
        (1.0 + complex::modulus(parts)) * noise / deviation + complex::modulus(parts) * steps(slice)
    };
    Near { parts, units }
}

/// Values of few bits, whose sums and means are exact.
fn is_short(slice: &[OValue]) -> bool {
    slice.iter().all(|v| [v.parts().0, v.parts().1].iter().all(|x| x.abs() < 1e6 && (x * 64.0).fract() == 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(e: &Expected) -> Vec<f64> {
        e.value.data.iter().map(|v| v.unwrap().parts().0).collect()
    }

    #[test]
    fn known_values() {
        let x = Oracle::from_f64(&[3], OType::F64, &[0.0, 3.0f64.ln(), f64::NEG_INFINITY]);
        let y = softmax_kin(Softmax, &x, &[0], false).unwrap();
        assert!(values(&y).iter().zip([0.25, 0.75, 0.0]).all(|(a, b)| (a - b).abs() < 1e-15));
        let y = softmax_kin(LogSoftmax, &x, &[0], false).unwrap();
        assert!((values(&y)[0] - 0.25f64.ln()).abs() < 1e-15);
        assert_eq!(values(&y)[2], f64::NEG_INFINITY);
        let y = softmax_kin(LogSumExp, &x, &[0], false).unwrap();
        assert!((values(&y)[0] - 4f64.ln()).abs() < 1e-15 && y.value.shape.is_empty());
        let x = Oracle::from_f64(&[2], OType::I8, &[3.0, -4.0]);
        let y = softmax_kin(Normalize(2.0, 0.0), &x, &[0], false).unwrap();
        assert_eq!((values(&y), y.value.dtype), (vec![0.6f32 as f64, -0.8f32 as f64], OType::F32));
        let y = softmax_kin(Standardize(0.0), &x, &[0], false).unwrap();
        assert_eq!(values(&y), [1.0, -1.0]);
    }

    #[test]
    fn slices_with_infinities() {
        let x = Oracle::full(&[2], OType::F32, Some(Float(f64::NEG_INFINITY)));
        assert!(values(&softmax_kin(Softmax, &x, &[0], false).unwrap())[0].is_nan());
        assert_eq!(values(&softmax_kin(LogSumExp, &x, &[0], false).unwrap()), [f64::NEG_INFINITY]);
        let z = Oracle::new(&[1], OType::Complex64, vec![Some(Complex(1.0, 2.0))]);
        assert_eq!(softmax_kin(Softmax, &z, &[0], false).unwrap_err(), Refused::Dtype);
        let none = Oracle::new(&[2], OType::I32, vec![Some(Int(1)), None]);
        assert_eq!(softmax_kin(Softmax, &none, &[0], false).unwrap().value.data, [Some(Float(1.0)), None]);
        assert_eq!(
            softmax_kin(Softmax, &Oracle::scalar(OType::Bool, Some(Bool(true))), &[], false).unwrap().value.data,
            [Some(Float(1.0))]
        );
    }
}
