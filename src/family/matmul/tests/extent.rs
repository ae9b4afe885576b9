use super::*;

#[test]
fn of_half_precision_and_of_what_changes() {
    let half = Strided::from_vec(vec![0.25f64, -4.0], vec![2]).cast(DType::F16);
    assert_eq!(of(&half), Extent { is_finite: true, low: 0.25, high: 4.0 });
    // Found once, and again after the memory was written to.
    let n = 1 << 16;
    let mut x = Strided::from_vec(vec![2.0f64; n], vec![n]);
    assert_eq!(of(&x), Extent { is_finite: true, low: 2.0, high: 2.0 });
    assert_eq!(of(&x).high, 2.0);
    let Some(bytes) = x.buffer.unique_mut() else { panic!("nobody else has it") };
    bytes[..8].copy_from_slice(&f64::NAN.to_ne_bytes());
    assert!(!of(&x).is_finite);
    // Another part of the same memory is not what was looked at.
    let part = Strided { offset: 1, shape: [n - 1].as_slice().into(), ..x.clone() };
    assert!(of(&part).is_finite);
}
