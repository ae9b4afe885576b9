//! Reductions over a set of axes.

use super::OValue::{self, Bool, Complex, Float, Int};
use super::complex;
use super::shape::check_axes;
use super::total::{Total, usable};
use super::{Expected, Kind, OType, Oracle, Refused, indices, ravel};

/// Every reduction by name.
pub const REDUCE: [&str; 8] = ["sum", "prod", "min", "max", "any", "all", "count_nonzero", "mean"];

/// The c in the tolerances of sums, `c log2(n + 1) eps (sum of |terms|)`, and of products,
/// `c n eps |result|`.
pub const TOLERANCE: f64 = 2.0;

/// The dtype of the result; `None` where the op is not defined. Sums and products of bool and signed
/// integers are i64, of unsigned u64; the mean of any of them is a float.
pub fn reduce_dtype(op: &str, dtype: OType) -> Option<OType> {
    match op {
        "sum" | "prod" => Some(match dtype.kind() {
            Kind::Bool | Kind::Signed => OType::I64,
            Kind::Unsigned => OType::U64,
            Kind::Float | Kind::Complex => dtype,
        }),
        "min" | "max" => (!dtype.is_complex()).then_some(dtype),
        "any" | "all" => Some(OType::Bool),
        "count_nonzero" => Some(OType::I64),
        "mean" => Some(dtype.floating()),
        _ => panic!("no reduction is called {op}"),
    }
}

/// The op over the named axes (all of them: `0..ndim`; none: every slice is one element). The absent
/// are skipped. With `keepdims` reduced axes stay with length 1.
pub fn reduce(op: &str, x: &Oracle, axes: &[usize], keepdims: bool) -> Result<Expected, Refused> {
    check_axes(axes, x.ndim())?;
    let dtype = reduce_dtype(op, x.dtype).ok_or(Refused::Dtype)?;
    let reduced = |axis: usize| axes.contains(&axis);
    let kept_shape: Vec<usize> = (0..x.ndim()).map(|k| if reduced(k) { 1 } else { x.shape[k] }).collect();

    let mut slices = vec![Vec::new(); kept_shape.iter().product()];
    for index in indices(&x.shape) {
        let kept: Vec<usize> = (0..x.ndim()).map(|k| if reduced(k) { 0 } else { index[k] }).collect();
        slices[ravel(&kept, &kept_shape)].extend(x.at(&index));
    }

    let value = Oracle { shape: kept_shape, dtype, data: Vec::new(), undefined: x.undefined };
    let mut result = Expected::from(value);
    for slice in &slices {
        let folded = if !slice.is_empty() {
            Some(fold(op, dtype, slice))
        } else if op == "count_nonzero" || !x.undefined {
            Some(Folded::exact(empty(op, dtype)?))
        } else {
            None
        };
        result.value.data.push(folded.map(|f| f.value));
        result.slack.push(folded.map_or(0.0, |f| f.slack));
        result.terms.push(slice.len());
        if matches!(op, "sum" | "mean") && (dtype.is_float() || dtype.is_complex()) {
            result.abs_sum.push(folded.map_or(0.0, |f| f.abs_sum));
        }
    }
    if op == "count_nonzero" {
        result.value.undefined = false;
    }
    if !keepdims {
        result.value = result.value.squeeze(axes)?;
    }
    Ok(result)
}

#[derive(Clone, Copy)]
struct Folded {
    value: OValue,
    slack: f64,
    abs_sum: f64,
}

impl Folded {
    fn exact(value: OValue) -> Folded {
        Folded { value, slack: 0.0, abs_sum: 0.0 }
    }
}

/// The result for a slice of length 0: sum 0, prod 1, any false, all true, count 0, mean NaN; min
/// and max have none.
fn empty(op: &str, dtype: OType) -> Result<OValue, Refused> {
    match op {
        "sum" | "count_nonzero" | "any" => Ok(Int(0).cast(dtype)),
        "prod" | "all" => Ok(Int(1).cast(dtype)),
        "mean" if dtype.is_complex() => Ok(Complex(f64::NAN, f64::NAN)),
        "mean" => Ok(Float(f64::NAN)),
        _ => Err(Refused::Empty),
    }
}

/// The op on at least one value, giving the dtype `out`.
fn fold(op: &str, out: OType, slice: &[OValue]) -> Folded {
    match op {
        "sum" => sum(out, slice),
        "prod" => prod(out, slice),
        "mean" => mean(out, slice),
        "any" => Folded::exact(Bool(slice.iter().any(|v| v.truth()))),
        "all" => Folded::exact(Bool(slice.iter().all(|v| v.truth()))),
        "count_nonzero" => Folded::exact(Int(slice.iter().filter(|v| v.truth()).count() as i128)),
        "min" => Folded::exact(extreme(slice, |a, b| a < b, |a, b| a < b)),
        "max" => Folded::exact(extreme(slice, |a, b| a > b, |a, b| a > b)),
        _ => panic!("no reduction is called {op}"),
    }
}

/// The value that beats all others; NaN beats any. bool counts as 0 and 1.
fn extreme(slice: &[OValue], int_beats: fn(i128, i128) -> bool, float_beats: fn(f64, f64) -> bool) -> OValue {
    let mut best = slice[0];
    for &v in slice {
        let better = match (v, best) {
            (Bool(v), Bool(best)) => int_beats(v as i128, best as i128),
            (Int(v), Int(best)) => int_beats(v, best),
            (Float(v), Float(best)) => !best.is_nan() && (v.is_nan() || float_beats(v, best)),
            _ => panic!("order of {v:?} and {best:?}"),
        };
        if better {
            best = v;
        }
    }
    best
}

/// Integers wrap in i64 or u64; floats are added in better than f64 and rounded once.
fn sum(out: OType, slice: &[OValue]) -> Folded {
    if out.is_int() {
        return Folded::exact(Int(out.wrap(int_sum(slice))));
    }
    let (re, im) = totals(slice);
    let abs_sum = re.abs() + im.abs();
    Folded { value: rounded(out, re.value(), im.value()), slack: sum_slack(out, slice.len(), abs_sum), abs_sum }
}

/// The sum of some elements in their own dtype, and its tolerance; of truth values whether one is true.
pub(super) fn sum_of(dtype: OType, terms: &[OValue]) -> (OValue, f64) {
    if dtype.is_bool() {
        return (fold("any", dtype, terms).value, 0.0);
    }
    let sum = sum(dtype, terms);
    (sum.value, if terms.len() > 1 { sum.slack } else { 0.0 })
}

/// The sum divided by the number of values in f64, rounded once; integers are summed exactly.
fn mean(out: OType, slice: &[OValue]) -> Folded {
    let n = slice.len() as f64;
    let (re, im) = totals(slice);
    let abs_sum = re.abs() + im.abs();
    let re = match slice[0] {
        Bool(_) | Int(_) => int_sum(slice) as f64,
        Float(_) | Complex(..) => re.value(),
    };
    let slack = sum_slack(out, slice.len(), abs_sum / n);
    Folded { value: rounded(out, re / n, im.value() / n), slack, abs_sum }
}

/// Integers wrap in i64 or u64; floats are multiplied in f64 and rounded once.
fn prod(out: OType, slice: &[OValue]) -> Folded {
    if out.is_int() {
        let product = slice.iter().fold(1, |p: i128, v| out.wrap(p.wrapping_mul(v.int())));
        return Folded::exact(Int(product));
    }
    let (value, size) = if out.is_complex() {
        let (re, im) = slice.iter().fold((1.0, 0.0), |p, v| complex::mul(p, v.parts()));
        (rounded(out, re, im), complex::modulus((re, im)))
    } else {
        let product: f64 = slice.iter().map(|v| v.parts().0).product();
        (rounded(out, product, 0.0), product.abs())
    };
    let slack = usable(TOLERANCE * slice.len() as f64 * out.eps() * size + out.ulp(0.0));
    Folded { value, slack, abs_sum: 0.0 }
}

/// `c log2(n + 1) eps (sum of |terms|)`, and a subnormal for results that underflow.
pub(super) fn sum_slack(out: OType, terms: usize, abs_sum: f64) -> f64 {
    usable(TOLERANCE * ((terms + 1) as f64).log2() * out.eps() * abs_sum + out.ulp(0.0))
}

pub(super) fn rounded(out: OType, re: f64, im: f64) -> OValue {
    if out.is_complex() { Complex(out.round(re), out.round(im)) } else { Float(out.round(re)) }
}

fn totals(slice: &[OValue]) -> (Total, Total) {
    let (mut re, mut im) = (Total::default(), Total::default());
    for &v in slice {
        re.add(v.parts().0);
        im.add(v.parts().1);
    }
    (re, im)
}

/// No slice is long enough to overflow i128.
fn int_sum(slice: &[OValue]) -> i128 {
    slice.iter().map(|v| v.int()).sum()
}

#[cfg(test)]
mod tests {
    use super::OType::{Complex64, F16, F32, F64, I8, I64, U8, U64};
    use super::*;

    fn all(op: &str, x: &Oracle) -> Result<Option<OValue>, Refused> {
        reduce(op, x, &(0..x.ndim()).collect::<Vec<_>>(), false).map(|e| e.value.data[0])
    }

    #[test]
    fn every_op_on_every_dtype_gives_its_dtype_or_refuses() {
        for op in REDUCE {
            for dtype in OType::ALL {
                let x = Oracle::from_f64(&[2, 3], dtype, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
                match (reduce_dtype(op, dtype), reduce(op, &x, &[0], false)) {
                    (None, Err(Refused::Dtype)) => {}
                    (Some(out), Ok(e)) => {
                        Oracle::new(&[3], out, e.value.data);
                        assert_eq!(e.terms, [2, 2, 2]);
                    }
                    other => panic!("{op} {dtype:?} {other:?}"),
                }
            }
        }
    }

    #[test]
    fn axes() {
        let x = Oracle::from_f64(&[2, 3], I8, &[1., 2., 3., 4., 5., 6.]);
        let ints = |v: &[i128]| v.iter().map(|&v| Some(Int(v))).collect::<Vec<_>>();
        assert_eq!(reduce("sum", &x, &[0], false).unwrap().value.data, ints(&[5, 7, 9]));
        let rows = reduce("sum", &x, &[1], true).unwrap().value;
        assert_eq!((rows.shape, rows.data), (vec![2, 1], ints(&[6, 15])));
        assert_eq!(reduce("prod", &x, &[1, 0], false).unwrap().value, Oracle::scalar(I64, Some(Int(720))));
        assert_eq!(reduce("max", &x, &[], false).unwrap().value, x);
        assert_eq!(reduce("max", &x, &[2], false).unwrap_err(), Refused::Axis);
        assert_eq!(reduce("max", &x, &[0, 0], false).unwrap_err(), Refused::Axis);
    }

    #[test]
    fn values() {
        let f = |data: &[f64]| Oracle::from_f64(&[data.len()], F32, data);
        assert_eq!(all("sum", &f(&[1e30, 1.0, -1e30])), Ok(Some(Float(1.0))));
        assert_eq!(all("mean", &f(&[1.0, 2.0])), Ok(Some(Float(1.5))));
        assert!(all("min", &f(&[1.0, f64::NAN, -1.0])).unwrap().unwrap().is_nan());
        assert!(all("max", &f(&[f64::NAN, 1.0])).unwrap().unwrap().is_nan());
        assert_eq!(all("max", &f(&[-1.0, 1.0])), Ok(Some(Float(1.0))));
        assert_eq!(all("count_nonzero", &f(&[0.0, f64::NAN, -0.0])), Ok(Some(Int(1))));
        assert_eq!(all("all", &f(&[1.0, f64::NAN])), Ok(Some(Bool(true))));
        let u = Oracle::full(&[2], U64, Some(Int(u64::MAX as i128)));
        assert_eq!(all("sum", &u), Ok(Some(Int(u64::MAX as i128 - 1))));
        assert_eq!(all("prod", &u), Ok(Some(Int(1))));
        assert_eq!(all("mean", &Oracle::from_f64(&[2], U8, &[255.0, 254.0])), Ok(Some(Float(254.5))));
        let large = Oracle::from_f64(&[2], I64, &[123_456_789.0, 123_456_790.0]);
        assert_eq!(all("mean", &large), Ok(Some(Float(123_456_789.5))));
        assert_eq!(all("sum", &Oracle::full(&[4], F16, Some(Float(65504.0)))), Ok(Some(Float(f64::INFINITY))));
        let z = Oracle::new(&[2], Complex64, vec![Some(Complex(1.0, 2.0)), Some(Complex(3.0, 4.0))]);
        assert_eq!(all("prod", &z), Ok(Some(Complex(-5.0, 10.0))));
        assert_eq!(all("sum", &z), Ok(Some(Complex(4.0, 6.0))));
        assert_eq!(all("min", &z), Err(Refused::Dtype));
        let b = Oracle::from_f64(&[3], OType::Bool, &[0.0, 1.0, 1.0]);
        assert_eq!(all("sum", &b), Ok(Some(Int(2))));
        assert_eq!(all("min", &b), Ok(Some(Bool(false))));
    }

    #[test]
    fn nothing_there() {
        let defined = Oracle::full(&[0, 2], F64, None);
        assert_eq!(reduce("sum", &defined, &[0], false).unwrap().value.data, [Some(Float(0.0)); 2]);
        assert_eq!(reduce("prod", &defined, &[0], false).unwrap().value.data, [Some(Float(1.0)); 2]);
        assert!(reduce("mean", &defined, &[0], false).unwrap().value.data[1].unwrap().is_nan());
        assert_eq!(reduce("min", &defined, &[0], false).unwrap_err(), Refused::Empty);
        assert_eq!(reduce("min", &defined, &[1], false).unwrap().value.shape, [0]);
        assert_eq!(all("any", &defined), Ok(Some(Bool(false))));
        assert_eq!(all("all", &defined), Ok(Some(Bool(true))));
        let undefined = defined.with_undefined(true);
        for op in ["sum", "prod", "mean", "min", "any"] {
            assert_eq!(reduce(op, &undefined, &[0], false).unwrap().value.data, [None, None]);
        }
        let holes = Oracle::new(&[2, 2], F64, vec![None, Some(Float(3.0)), None, None]);
        assert_eq!(reduce("sum", &holes, &[0], false).unwrap().value.data, [None, Some(Float(3.0))]);
        assert_eq!(reduce("mean", &holes, &[1], false).unwrap().value.data, [Some(Float(3.0)), None]);
        let counts = reduce("count_nonzero", &holes, &[1], false).unwrap();
        assert_eq!(counts.value.data, [Some(Int(1)), Some(Int(0))]);
        assert_eq!(counts.terms, [1, 0]);
    }

    #[test]
    fn tolerance_grows_with_the_terms() {
        let x = Oracle::from_f64(&[3], F32, &[1e6, -1e6, 1.0]);
        let e = reduce("sum", &x, &[0], false).unwrap();
        assert_eq!(e.abs_sum, [2_000_001.0]);
        assert_eq!(e.slack[0], 2.0 * 2.0 * F32.eps() * 2_000_001.0 + F32.ulp(0.0));
    }
}
