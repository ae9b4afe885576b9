use super::*;
use crate::tensor;

#[test]
fn columns_are_apart() {
    let x = Block::of(&tensor![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], 3, 2, false).unwrap();
    assert_eq!(x.dots(&x), [c128::new(35.0, 0.0), c128::new(56.0, 0.0)]);
    let mut y = x.clone();
    y.add_scaled(&[c128::new(1.0, 0.0), c128::new(-1.0, 0.0)], &x);
    assert_eq!(y.read(), [2.0, 0.0, 6.0, 0.0, 10.0, 0.0]);
    assert_eq!(x.read()[0], 1.0, "a clone is apart");
    y.scale_and_add(&[c128::new(0.5, 0.0), c128::new(7.0, 0.0)], &x);
    assert_eq!(y.read(), [2.0, 2.0, 6.0, 4.0, 10.0, 6.0]);
}

#[test]
fn complex_numbers_are_pairs() {
    let z = tensor![c128::new(0.0, 1.0), c128::new(2.0, 0.0)];
    let x = Block::of(&z, 2, 1, true).unwrap();
    assert_eq!(x.dots(&x), [c128::new(5.0, 0.0)]);
    let mut y = x.clone();
    y.scale(&[c128::new(0.0, 1.0)]);
    assert_eq!(y.read(), [-1.0, 0.0, 0.0, 2.0]);
    assert_eq!(x.dots(&y), [c128::new(0.0, 5.0)]);
    y.add_scaled(&[c128::new(0.0, -1.0)], &x);
    assert_eq!(y.read(), [0.0; 4]);
}

#[test]
fn norms_do_not_overflow() {
    let x = Block::of(&tensor![[3e200, 3e-200, 0.0], [4e200, 4e-200, 0.0]], 2, 3, false).unwrap();
    let norms = x.norms();
    assert!((norms[0] / 5e200 - 1.0).abs() < 1e-15 && (norms[1] / 5e-200 - 1.0).abs() < 1e-15, "{norms:?}");
    assert_eq!(norms[2], 0.0);
}
