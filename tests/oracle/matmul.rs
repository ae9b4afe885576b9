//! Matrix products over plus-times (bool: or-and).

use super::OValue::{self, Bool, Int};
use super::reduce::{rounded, sum_slack};
use super::total::Total;
use super::{Expected, OType, Oracle, Refused, broadcast_shapes, promote, ravel};

/// The shape of the product. A vector on the left is a row and on the right a column, and its axis is
/// left out of the result; axes before the last two are broadcast; scalars have no product.
pub fn matmul_shape(a: &[usize], b: &[usize]) -> Result<Vec<usize>, Refused> {
    let p = Plan::new(a, b)?;
    let mut shape = p.batch;
    shape.extend((a.len() > 1).then_some(p.rows));
    shape.extend((b.len() > 1).then_some(p.columns));
    Ok(shape)
}

struct Plan {
    batch: Vec<usize>,
    rows: usize,
    inner: usize,
    columns: usize,
}

impl Plan {
    fn new(a: &[usize], b: &[usize]) -> Result<Plan, Refused> {
        let (a_batch, rows, inner) = match a {
            [] => return Err(Refused::Shape),
            [k] => (&a[..0], 1, *k),
            [batch @ .., m, k] => (batch, *m, *k),
        };
        let (b_batch, b_inner, columns) = match b {
            [] => return Err(Refused::Shape),
            [k] => (&b[..0], *k, 1),
            [batch @ .., k, n] => (batch, *k, *n),
        };
        if inner != b_inner {
            return Err(Refused::Shape);
        }
        Ok(Plan { batch: broadcast_shapes(a_batch, b_batch)?, rows, inner, columns })
    }
}

/// Operands are promoted first and the result has that dtype: integers wrap in it, floats are added
/// in better than f64 and rounded once. A term with an absent factor is skipped; an element without
/// terms is absent, or 0 if both operands are defined (the contracted length is 0).
pub fn matmul(a: &Oracle, b: &Oracle) -> Result<Expected, Refused> {
    let dtype = promote(a.dtype, b.dtype).ok_or(Refused::Promotion)?;
    let Plan { batch, rows, inner, columns } = Plan::new(&a.shape, &b.shape)?;
    let with = |m: usize, n: usize| [batch.as_slice(), &[m, n]].concat();
    let a_matrix = if a.ndim() == 1 { a.expand_dims(0)? } else { a.clone() };
    let b_matrix = if b.ndim() == 1 { b.expand_dims(1)? } else { b.clone() };
    let wide_a = a_matrix.cast(dtype).broadcast_to(&with(rows, inner))?;
    let wide_b = b_matrix.cast(dtype).broadcast_to(&with(inner, columns))?;

    let undefined = a.undefined || b.undefined;
    let shape = matmul_shape(&a.shape, &b.shape)?;
    let mut result = Expected::from(Oracle { shape, dtype, data: Vec::new(), undefined });
    for index in super::indices(&with(rows, columns)) {
        let (outer, last) = index.split_at(batch.len());
        let mut terms = Vec::new();
        for k in 0..inner {
            let left = wide_a.data[ravel(&[outer, &[last[0], k]].concat(), &wide_a.shape)];
            let right = wide_b.data[ravel(&[outer, &[k, last[1]]].concat(), &wide_b.shape)];
            terms.extend(left.zip(right));
        }
        let absent = terms.is_empty() && undefined;
        let (value, abs_sum) = inner_product(dtype, &terms);
        let is_rounded = dtype.is_float() || dtype.is_complex();
        let slack = if absent || !is_rounded { 0.0 } else { sum_slack(dtype, terms.len(), abs_sum) };
        result.value.data.push((!absent).then_some(value));
        result.slack.push(slack);
        result.abs_sum.push(abs_sum);
        result.terms.push(terms.len());
    }
    if !(dtype.is_float() || dtype.is_complex()) {
        result.abs_sum.clear();
    }
    Ok(result)
}

/// The sum of the products and the sum of their sizes; for complex the size of a product is
/// `(|re a| + |im a|) (|re b| + |im b|)`.
fn inner_product(dtype: OType, terms: &[(OValue, OValue)]) -> (OValue, f64) {
    if dtype.is_bool() {
        return (Bool(terms.iter().any(|(a, b)| a.truth() && b.truth())), 0.0);
    }
    let mut int = 0;
    let (mut re, mut im) = (Total::default(), Total::default());
    for &(a, b) in terms {
        if let (Int(a), Int(b)) = (a, b) {
            int = dtype.wrap(a.wrapping_mul(b).wrapping_add(int));
            continue;
        }
        let ((a_re, a_im), (b_re, b_im)) = (a.parts(), b.parts());
        re.add_product(a_re, b_re);
        if dtype.is_complex() {
            re.add_product(-a_im, b_im);
            im.add_product(a_re, b_im);
            im.add_product(a_im, b_re);
        }
    }
    if dtype.is_int() {
        return (Int(int), 0.0);
    }
    (rounded(dtype, re.value(), im.value()), re.abs() + im.abs())
}

#[cfg(test)]
mod tests {
    use super::OType::{Complex64, F16, F32, F64, I8, I64, U8, U64};
    use super::OValue::{Complex, Float};
    use super::*;

    #[test]
    fn shapes() {
        assert_eq!(matmul_shape(&[3], &[3]), Ok(vec![]));
        assert_eq!(matmul_shape(&[2, 3], &[3]), Ok(vec![2]));
        assert_eq!(matmul_shape(&[3], &[3, 4]), Ok(vec![4]));
        assert_eq!(matmul_shape(&[2, 3], &[3, 4]), Ok(vec![2, 4]));
        assert_eq!(matmul_shape(&[5, 1, 2, 3], &[6, 3, 4]), Ok(vec![5, 6, 2, 4]));
        assert_eq!(matmul_shape(&[3], &[5, 3, 4]), Ok(vec![5, 4]));
        assert_eq!(matmul_shape(&[5, 2, 3], &[3]), Ok(vec![5, 2]));
        assert_eq!(matmul_shape(&[], &[3]), Err(Refused::Shape));
        assert_eq!(matmul_shape(&[2, 3], &[2, 3]), Err(Refused::Shape));
        assert_eq!(matmul_shape(&[2, 2, 3], &[3, 3, 3]), Err(Refused::Shape));
    }

    #[test]
    fn values() {
        let a = Oracle::from_f64(&[2, 3], F32, &[1., 2., 3., 4., 5., 6.]);
        let b = Oracle::from_f64(&[3, 2], F64, &[1., 0., 0., 1., 1., 1.]);
        let e = matmul(&a, &b).unwrap();
        assert_eq!(e.value, Oracle::from_f64(&[2, 2], F64, &[4., 5., 10., 11.]));
        assert_eq!(e.abs_sum, [4., 5., 10., 11.]);
        let batched = a.reshape(&[2, 1, 3]).unwrap();
        assert_eq!(matmul(&batched, &b).unwrap().value.data, e.value.data);
        let row = Oracle::from_f64(&[3], F64, &[1., 2., 3.]);
        assert_eq!(matmul(&row, &b).unwrap().value, Oracle::from_f64(&[2], F64, &[4., 5.]));
        assert_eq!(matmul(&row, &row).unwrap().value, Oracle::from_f64(&[], F64, &[14.]));
        let i = Oracle::from_f64(&[2], I8, &[100., 100.]);
        assert_eq!(matmul(&i, &i).unwrap().value.data, [Some(Int(32))]);
        let u = Oracle::full(&[2], U64, Some(Int(u64::MAX as i128)));
        assert_eq!(matmul(&u, &u).unwrap().value.data, [Some(Int(2))]);
        assert_eq!(matmul(&u, &i).unwrap_err(), Refused::Promotion);
        let t = Oracle::from_f64(&[2], OType::Bool, &[0., 1.]);
        assert_eq!(matmul(&t, &t).unwrap().value.data, [Some(Bool(true))]);
        let z = Oracle::full(&[2], Complex64, Some(Complex(1.0, 1.0)));
        assert_eq!(matmul(&z, &z).unwrap().value.data, [Some(Complex(0.0, 4.0))]);
        let h = Oracle::from_f64(&[2], F16, &[300., 300.]);
        assert_eq!(matmul(&h, &h).unwrap().value.data, [Some(Float(f64::INFINITY))]);
    }

    #[test]
    fn absence_and_nothing() {
        let a = Oracle::new(&[2, 2], U8, vec![None, Some(Int(2)), None, None]);
        let b = Oracle::from_f64(&[2], I64, &[5., 7.]);
        let e = matmul(&a, &b).unwrap();
        assert_eq!(e.value.data, [Some(Int(14)), None]);
        assert_eq!(e.terms, [1, 0]);
        let none = Oracle::full(&[2, 0], F64, None);
        let other = Oracle::full(&[0, 1], F64, None);
        assert_eq!(matmul(&none, &other).unwrap().value.data, [Some(Float(0.0)); 2]);
        let undefined = other.with_undefined(true);
        assert_eq!(matmul(&none, &undefined).unwrap().value.data, [None, None]);
    }
}
