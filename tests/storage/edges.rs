//! Input that is unusual, each with its right answer. Known stumbling blocks are in `tests/edge_cases.rs`.

use super::*;

fn coo(shape: &[usize], places: &[&[i64]], data: &[f64], fill: impl Into<Fill>) -> Tensor {
    let columns: Vec<Vec<i64>> = (0..shape.len()).map(|a| places.iter().map(|p| p[a]).collect()).collect();
    Tensor::coo(shape, columns, &values(data), fill).unwrap()
}

fn item(x: Result<Tensor>) -> Scalar {
    x.unwrap().item().unwrap()
}

/// Centring, the standard case for a fill that varies: per column, then with duplicates and a wide shape.
#[test]
fn centring_keeps_the_pattern() {
    let x = coo(&[2, 3], &[&[0, 0], &[1, 2]], &[4.0, 6.0], 0.0);
    let centred = x.sub(x.mean(Some(&[0]), true).unwrap()).unwrap();
    assert_eq!(elements(&centred), [2.0, 0.0, -3.0, -2.0, 0.0, 3.0]);
    assert_eq!((centred.nse(), centred.fill().unwrap().to_string()), (2, "array[1, 3]".to_string()));
    assert_eq!(elements(&centred.sum(Some(&[0]), false).unwrap()), [0.0; 3]);
    let back = centred.with_fill(0.0).unwrap();
    assert_eq!(elements(&back), elements(&centred));
}

/// Operators take tensors, numbers and results on either side.
#[test]
fn operators_are_their_methods() {
    let x = coo(&[2], &[&[0]], &[3.0], 1.0);
    let y = &x * 2.0;
    assert_eq!(elements(&(1.0f64 - &x).unwrap()), [-2.0, 0.0]);
    assert_eq!(elements(&(&x + &x).unwrap()), [6.0, 2.0]);
    assert_eq!(elements(&(x.clone() - y).unwrap()), [-3.0, -1.0]);
    assert_eq!(elements(&(&x / 2.0).unwrap()), [1.5, 0.5]);
    assert_eq!(elements(&(&x % 2.0).unwrap()), [1.0, 1.0]);
    assert_eq!(elements(&(-&x).unwrap()), [-3.0, -1.0]);
    let flags = x.gt(2.0).unwrap();
    assert_eq!((!&flags).unwrap().get(&[1]).unwrap(), Some(true.into()));
    assert_eq!((&flags & true).unwrap().get(&[0]).unwrap(), Some(true.into()));
    assert!((&x & 1).is_err());
}

/// A sum under a fill that varies takes away the fill beneath what is stored: nothing of it may be left.
#[test]
fn a_large_fill_beneath_stored_elements_leaves_no_trace() {
    let rows = |data: &[f64]| Fill::array(Tensor::from_vec(&[data.len(), 1], data.to_vec()).unwrap());
    let x = coo(&[3, 2], &[&[0, 0], &[0, 1]], &[1.0, 2.0], rows(&[1e30, 0.5, 0.25]));
    assert_eq!(elements(&x.sum(Some(&[0]), false).unwrap()), [1.75, 2.75]);
    assert_eq!(item(x.sum(None, false)), 4.5.into());
    let largest = coo(&[3, 2], &[&[0, 0], &[0, 1]], &[1.0, 2.0], rows(&[f64::MAX, 0.5, 0.25]));
    assert_eq!(elements(&largest.sum(Some(&[0]), false).unwrap()), [1.75, 2.75]);
    let fill = Tensor::from_vec(&[3, 1], vec![i64::MAX, 2, 4]).unwrap();
    let stored = Tensor::from_vec(&[2], vec![3i64, 6]).unwrap();
    let x = Tensor::coo(&[3, 2], vec![vec![0i64, 0], vec![0, 1]], &stored, Fill::array(fill)).unwrap();
    let mean = x.mean(Some(&[0]), false).unwrap();
    assert_eq!((mean.get(&[0]).unwrap(), mean.get(&[1]).unwrap()), (Some(3.0f32.into()), Some(4.0f32.into())));
}

#[test]
fn a_shape_without_elements_may_be_as_long_as_it_likes() {
    let x = Tensor::zeros(&[0, 1 << 40, 1 << 40], DType::F64, Layout::Strided).unwrap();
    assert_eq!(x.nse(), 0);
    let y = Tensor::zeros(&[1 << 40, 0, 1 << 40], DType::F64, Layout::Coo).unwrap();
    assert_eq!(y.to_dense().unwrap().nse(), 0);
    assert_eq!((&y + 1.0).unwrap().sum(None, false).unwrap().item().unwrap(), 0.0.into());
}
