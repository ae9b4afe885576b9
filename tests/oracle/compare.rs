//! Whether a result is the expected one.

use super::shape::unravel;
use super::{Expected, OType, OValue, Oracle};

/// Shape, dtype and every element; the message names the first difference.
pub fn compare(expected: &Expected, got: &Oracle) -> Result<(), String> {
    let want = &expected.value;
    if want.shape != got.shape {
        return Err(format!("shape: expected {:?}, got {:?}", want.shape, got.shape));
    }
    if want.dtype != got.dtype {
        return Err(format!("dtype: expected {}, got {}", want.dtype.name(), got.dtype.name()));
    }
    compare_data(expected, &got.data)
}

/// Every element, in C order: absent equals absent, NaN equals NaN, -0 equals 0, and the rest is
/// equal or within the tolerance.
pub fn compare_data(expected: &Expected, got: &[Option<OValue>]) -> Result<(), String> {
    let want = &expected.value;
    if want.data.len() != got.len() {
        return Err(format!("length: expected {}, got {}", want.data.len(), got.len()));
    }
    let differs = |i: &usize| !matches(want.dtype, want.data[*i], got[*i], expected.slack[*i]);
    let bad: Vec<usize> = (0..got.len()).filter(differs).collect();
    let Some(&first) = bad.first() else {
        return Ok(());
    };
    Err(format!(
        "at {:?}: expected {}, got {} (tolerance {:e}; {} of {} elements differ, dtype {}, shape {:?})",
        unravel(first, &want.shape),
        show(want.data[first]),
        show(got[first]),
        expected.slack[first],
        bad.len(),
        got.len(),
        want.dtype.name(),
        want.shape
    ))
}

fn matches(dtype: OType, want: Option<OValue>, got: Option<OValue>, slack: f64) -> bool {
    let (want, got) = match (want, got) {
        (None, None) => return true,
        (Some(want), Some(got)) => (want, got),
        _ => return false,
    };
    if want.same(got) || slack == f64::INFINITY {
        return true;
    }
    match (want, got) {
        (OValue::Float(a), OValue::Float(b)) => near(dtype, a, b, slack),
        // Formulas for complex functions disagree on which part becomes NaN or infinite.
        (OValue::Complex(..), OValue::Complex(..)) if slack > 0.0 && !want.is_finite() => !got.is_finite(),
        (OValue::Complex(a, b), OValue::Complex(c, d)) => {
            (a == c || near(dtype, a, c, slack)) && (b == d || near(dtype, b, d, slack))
        }
        _ => false,
    }
}

/// |a - b| <= slack, where with a tolerance infinity counts as the largest finite value: a result at
/// the end of the range may round either way. NaN is near nothing.
fn near(dtype: OType, a: f64, b: f64, slack: f64) -> bool {
    let max = dtype.float_max();
    slack > 0.0 && (a.clamp(-max, max) - b.clamp(-max, max)).abs() <= slack
}

fn show(value: Option<OValue>) -> String {
    match value {
        None => "absent".to_string(),
        Some(OValue::Bool(b)) => b.to_string(),
        Some(OValue::Int(v)) => v.to_string(),
        Some(OValue::Float(x)) => format!("{x:?}"),
        Some(OValue::Complex(re, im)) => format!("({re:?}, {im:?})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expect(dtype: OType, value: OValue, slack: f64) -> Expected {
        let mut e = Expected::from(Oracle::scalar(dtype, Some(value)));
        e.slack[0] = slack;
        e
    }

    #[test]
    fn tolerances() {
        use OValue::*;
        let f = |want: f64, got: f64, slack: f64| {
            compare_data(&expect(OType::F32, Float(want), slack), &[Some(Float(got))]).is_ok()
        };
        assert!(f(f64::NAN, f64::NAN, 0.0));
        assert!(f(0.0, -0.0, 0.0));
        assert!(!f(1.0, 1.0 + 1e-7, 0.0));
        assert!(f(1.0, 1.25, 0.25));
        assert!(!f(1.0, 1.26, 0.25));
        assert!(!f(1.0, f64::NAN, 0.25));
        assert!(!f(f64::NAN, 1.0, 0.25));
        assert!(!f(f64::INFINITY, f64::NEG_INFINITY, 1.0));
        assert!(!f(f64::INFINITY, f32::MAX as f64, 0.0));
        assert!(f(f64::INFINITY, f32::MAX as f64, 1.0));
        assert!(!f(f64::INFINITY, 1.0, 1.0));
        let c = expect(OType::Complex64, Complex(f64::INFINITY, f64::NAN), 1.0);
        assert!(compare_data(&c, &[Some(Complex(0.0, f64::NAN))]).is_ok());
        assert!(compare_data(&c, &[Some(Complex(0.0, 0.0))]).is_err());
        assert!(compare_data(&c, &[None]).is_err());
    }

    #[test]
    fn messages_name_the_place() {
        let want = Expected::from(Oracle::from_f64(&[2, 3], OType::I8, &[1., 2., 3., 4., 5., 6.]));
        let mut got = want.value.clone();
        assert_eq!(compare(&want, &got), Ok(()));
        got.data[4] = None;
        let message = compare(&want, &got).unwrap_err();
        assert!(message.starts_with("at [1, 1]: expected 5, got absent"), "{message}");
        got.shape = vec![3, 2];
        assert!(compare(&want, &got).unwrap_err().starts_with("shape"));
    }
}
