use crate::parallel::with_threads;
use crate::tensor::Tensor;

/// The first numbers of SplitMix64 with seed 1234567, as its authors' program gives them.
#[test]
fn numbers_of_the_generator() {
    let want = [6457827717110365317u64, 3203168211198807973, 9817491932198370423];
    let got = Tensor::rand([3], 1234567).unwrap();
    for (got, want) in got.values::<f64>().unwrap().iter().zip(want) {
        assert_eq!(*got, (want >> 11) as f64 / (1u64 << 53) as f64);
    }
}

#[test]
fn moments_and_threads() {
    let x = Tensor::randn([300, 1000], 7).unwrap();
    let moment = |k: f64| x.pow(k).unwrap().mean(..).unwrap().item_as::<f64>().unwrap();
    let want = [(1.0, 0.0), (2.0, 1.0), (3.0, 0.0), (4.0, 3.0)];
    assert!(want.iter().all(|&(k, m)| (moment(k) - m).abs() < 0.05));
    let u = Tensor::rand([300_000], 7).unwrap();
    assert!((u.mean(..).unwrap().item_as::<f64>().unwrap() - 0.5).abs() < 0.005);
    assert!(u.lt(1.0).unwrap().all(..).unwrap().item_as::<bool>().unwrap());
    let again = with_threads(3, || Tensor::randn([300, 1000], 7)).unwrap().unwrap();
    assert!(again.equal(&x).unwrap());
    assert!(!Tensor::randn([300, 1000], 8).unwrap().equal(&x).unwrap());
    assert!(Tensor::rand([1 << 40, 1 << 20], 1).is_err());
    assert_eq!(Tensor::rand([0, 3], 1).unwrap().shape(), [0, 3]);
}
