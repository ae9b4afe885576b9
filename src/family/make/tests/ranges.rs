use super::*;

#[test]
fn ranges() {
    let ints = |a: i64, b: i64, d: i64| Tensor::arange(a, b, d).unwrap().values::<i64>().unwrap().to_vec();
    assert_eq!(ints(0, 5, 2), [0, 2, 4]);
    assert_eq!(ints(0, 6, 2), [0, 2, 4]);
    assert_eq!(ints(5, 0, -2), [5, 3, 1]);
    assert_eq!(ints(5, 0, 2), [0i64; 0]);
    assert_eq!(ints(i64::MAX - 1, i64::MAX, 1), [i64::MAX - 1]);
    assert_eq!(Tensor::arange(0, 1, 0.25).unwrap().values::<f64>().unwrap(), [0.0, 0.25, 0.5, 0.75]);
    assert_eq!(Tensor::linspace(0.0, 1.0, 3).unwrap().values::<f64>().unwrap(), [0.0, 0.5, 1.0]);
    assert_eq!(Tensor::linspace(2.0, 9.0, 1).unwrap().values::<f64>().unwrap(), [2.0]);
    assert_eq!(Tensor::linspace(2.0, 9.0, 0).unwrap().nse(), 0);
    // The same bits as NumPy's.
    let spaced = |a, b, n| Tensor::linspace(a, b, n).unwrap().values::<f64>().unwrap().to_vec();
    assert_eq!(spaced(-2.0, 3.0, 11)[4], 0.0);
    assert_eq!(spaced(0.0, 1.0, 11)[3], 0.30000000000000004);
    assert_eq!(spaced(0.1, 0.7, 7), [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7]);
    assert_eq!(spaced(-f64::MAX, f64::MAX, 3), [-f64::MAX, 0.0, f64::MAX]);
    assert_eq!(spaced(0.0, 5e-324, 3), [0.0, 0.0, 5e-324]);
    for refused in [Tensor::arange(0, 5, 0), Tensor::arange(0.0, 5.0, 0.0), Tensor::arange(0.0, f64::NAN, 1.0)] {
        assert!(refused.unwrap_err().to_string().starts_with("arange: argument"));
    }
    assert!(Tensor::arange(0, i64::MAX, 1).is_err() && Tensor::arange(0.0, 1e300, 1.0).is_err());
    assert!(Tensor::linspace(0.0, f64::INFINITY, 3).is_err());
}
