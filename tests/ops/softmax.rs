//! Softmax and its kin: fills, paths, huge shapes and wrong input.

use openwork::explain;
use openwork::trace::Path;
use openwork::{DType, ErrorKind, Fill, Layout, Result, Tensor, c64, keep, s, tensor, with_densify_budget};

/// 3 × 4 with rows of two, none and one stored element.
fn csr(fill: impl Into<Fill>) -> Tensor {
    let values = Tensor::from_vec([3], vec![1.0, 2.0, -1.0]).unwrap();
    Tensor::csr([3, 4], vec![0, 2, 2, 3], vec![1, 3, 0], &values, fill).unwrap()
}

fn near(x: &Tensor, index: &[usize], want: f64) {
    let got: f64 = x.get(index).unwrap().unwrap().to();
    assert!((got - want).abs() <= 1e-14 * want.abs() || (got.is_nan() && want.is_nan()), "{got} is not {want}");
}

#[test]
fn a_defined_fill_takes_part() {
    let y = csr(0.0).softmax(1).unwrap();
    assert_eq!((y.layout(), y.nse()), (Layout::Csr, 3));
    let z = 2.0 + 1f64.exp() + 2f64.exp();
    near(&y, &[0, 1], 1f64.exp() / z);
    near(&y, &[0, 0], 1.0 / z);
    near(&y, &[1, 2], 0.25);
    let Some(Fill::Array(fill)) = y.fill() else { panic!("a fill per row") };
    assert_eq!(fill.shape(), [3, 1]);
}

#[test]
fn a_fill_of_minus_infinity_gives_zero_and_nan_where_nothing_is_stored() {
    let y = csr(f64::NEG_INFINITY).softmax(1).unwrap();
    near(&y, &[0, 0], 0.0);
    near(&y, &[2, 0], 1.0);
    near(&y, &[1, 0], f64::NAN);
    let full = csr(f64::NEG_INFINITY).narrow(2..3, 0).unwrap().softmax(1).unwrap();
    assert_eq!(full.fill().unwrap().to_string(), "0");
    let log = csr(f64::NEG_INFINITY).narrow(2..3, 0).unwrap().log_softmax(1).unwrap();
    assert_eq!(log.fill().unwrap().to_string(), "-inf");
}

#[test]
fn an_undefined_fill_leaves_the_absent_out() {
    let y = csr(0.0).stored().softmax(1).unwrap();
    assert!(y.fill().unwrap().is_undefined());
    near(&y, &[0, 1], 1.0 / (1.0 + 1f64.exp()));
    near(&y, &[2, 0], 1.0);
    assert!(y.get([0, 0]).unwrap().is_none());
    let sums = csr(0.0).stored().logsumexp(1).unwrap();
    near(&sums, &[2], -1.0);
    assert!(sums.get([1]).unwrap().is_none());
}

#[test]
fn normalising_keeps_zeros() {
    let y = csr(0.0).normalize(2.0, 1).unwrap();
    assert_eq!((y.layout(), y.nse(), y.fill().unwrap().to_string()), (Layout::Csr, 3, "0".to_string()));
    near(&y, &[0, 3], 2.0 / 5f64.sqrt());
    near(&y, &[1, 1], 0.0);
    // Squares of these would overflow or vanish.
    let far = Tensor::from_vec([2, 2], vec![3e200, 4e200, 3e-200, 4e-200]).unwrap();
    let y = far.normalize_with(2.0, 0.0, 1).unwrap();
    near(&y, &[0, 0], 0.6);
    near(&y, &[1, 1], 0.8);
}

/// Arrays whose slices are rows or columns take a way of their own: beside lists of the same elements, which do not.
#[test]
fn rows_and_columns_of_arrays_are_divided_by_their_norms() {
    for (shape, axes) in [
        (vec![40, 1100], vec![1]),
        (vec![1100, 3], vec![1]),
        (vec![1100, 3], vec![0]),
        (vec![3, 1100], vec![0]),
        (vec![5, 7, 600], vec![1, 2]),
        (vec![5, 7, 600], vec![0, 1]),
        (vec![5, 7, 60], vec![1]),
        (vec![70_000], vec![0]),
        (vec![2, 70_000], vec![0, 1]),
    ] {
        for dtype in [DType::F64, DType::F32, DType::F16, DType::BF16, DType::I32, DType::I8, DType::Complex64] {
            // Some slices are all zeros, or nearly so.
            let x = Tensor::randn(shape.clone(), 3).unwrap().mul(5.0).unwrap();
            let rows = Tensor::arange(0.0, shape[0] as f64, 1.0).unwrap().remainder(7.0).unwrap();
            let mut column = vec![1; shape.len()];
            column[0] = shape[0];
            let x = x.mul(rows.reshape(column).unwrap());
            let x = x.unwrap().cast(dtype).unwrap();
            let bound = if dtype.to_inexact().size() == 2 { 1e-2 } else { 1e-6 };
            for eps in [1e-12, 30.0] {
                let wanted = x.to_layout(Layout::Coo).unwrap().normalize_with(2.0, eps, axes.clone()).unwrap();
                let found = x.normalize_with(2.0, eps, axes.clone()).unwrap();
                assert_eq!((found.dtype(), found.shape()), (wanted.dtype(), wanted.shape()));
                assert!(
                    found.allclose(&wanted.to_dense().unwrap(), bound, bound).unwrap(),
                    "{shape:?} {axes:?} {dtype}"
                );
                let turned = x.permute_dims((0..shape.len()).rev().collect::<Vec<_>>()).unwrap();
                let back: Vec<usize> = axes.iter().map(|a| shape.len() - 1 - a).collect();
                let turned = turned.normalize_with(2.0, eps, back).unwrap();
                let turned = turned.permute_dims((0..shape.len()).rev().collect::<Vec<_>>()).unwrap();
                assert!(turned.allclose(&found, bound, bound).unwrap(), "{shape:?} {axes:?} {dtype}");
            }
        }
    }
    // A norm of 0 is less than any `eps`, also one whose inverse is infinite; beside one of 0 nothing is defined.
    let zeros = Tensor::zeros([2, 100], DType::F32, Layout::Strided).unwrap();
    let of_zeros = |eps: f64| zeros.normalize_with(2.0, eps, 1).unwrap().to_vec::<f32>().unwrap();
    assert_eq!((of_zeros(5e-324), of_zeros(1e-12)), (vec![0.0; 200], vec![0.0; 200]));
    assert!(of_zeros(0.0).iter().all(|x| x.is_nan()));
    // Infinite and missing numbers are those of their own slices.
    let x = tensor![[f64::INFINITY, 1.0, 1.0], [f64::NAN, 2.0, 2.0], [3.0, 0.0, 4.0]];
    let y = x.cast(DType::F32).unwrap().normalize(2.0, 1).unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
    assert!(y[0].is_nan() && y[3..6].iter().all(|y| y.is_nan()));
    assert_eq!(
        (&y[1..3], y[6..].iter().map(|y| (y * 1e6).round()).collect::<Vec<_>>()),
        (&[0.0, 0.0][..], vec![6e5, 0.0, 8e5])
    );
}

#[test]
fn large_values_do_not_overflow() {
    for dtype in [DType::F64, DType::F32, DType::F16] {
        let x = Tensor::from_vec([3], vec![60000.0, 60000.0, -60000.0]).unwrap().cast(dtype).unwrap();
        assert_eq!(x.softmax(..).unwrap().cast(DType::F64).unwrap().values::<f64>().unwrap(), [0.5, 0.5, 0.0]);
    }
    near(&Tensor::from_vec([2], vec![1e4, 1e4]).unwrap().logsumexp(..).unwrap(), &[], 1e4 + 2f64.ln());
}

#[test]
fn integers_become_floats() {
    let wide = Tensor::from_vec([2], vec![3i32, 4]).unwrap();
    assert_eq!(wide.log_softmax(..).unwrap().dtype(), DType::F64);
    assert_eq!(wide.normalize(2.0, ..).unwrap().values::<f64>().unwrap(), [0.6, 0.8]);
    assert_eq!(wide.standardize(0.0, ..).unwrap().dtype(), DType::F64);
    assert_eq!(wide.slice(s![0..0]).unwrap().softmax(..).unwrap().dtype(), DType::F64);
    let x = Tensor::from_vec([2], vec![3i8, 4]).unwrap();
    assert_eq!(x.softmax(..).unwrap().dtype(), DType::F32);
    assert_eq!(x.normalize(2.0, ..).unwrap().values::<f32>().unwrap(), [0.6, 0.8]);
    assert_eq!(x.standardize(0.0, ..).unwrap().values::<f32>().unwrap(), [-1.0, 1.0]);
}

/// Rows so long and few that threads share each of them: beside the same elements one by one, with a NaN, an infinity or nothing but
/// −∞ in a row, and as what is stored of a sparse tensor.
#[test]
fn few_long_rows() {
    const N: usize = 40_000;
    for dtype in [DType::F64, DType::F32] {
        let numbers: Vec<f64> = (0..4 * N).map(|i| ((i * 7919) % 1013) as f64 / 100.0 - 3.0).collect();
        let x = Tensor::from_vec([4, N], numbers).unwrap().cast(dtype).unwrap();
        let x = x.index_put(s![1, 39_999], f64::NAN).and_then(|x| x.index_put(s![2, 17_000], f64::INFINITY)).unwrap();
        let x = x.index_put(s![3], f64::NEG_INFINITY).unwrap().index_put(s![0, 5], f64::NEG_INFINITY).unwrap();
        let sparse = x.to_sparse(Layout::Csr, openwork::Scalar::from(0.123).cast(dtype)).unwrap().stored();
        let wide = x.cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
        let exponentials: Vec<f64> = wide[..N].iter().map(|v| (v - 7.12).exp()).collect();
        let sum: f64 = exponentials.iter().sum();
        let close = if dtype == DType::F64 { 1e-12 } else { 1e-5 };
        for x in [x.clone(), sparse] {
            let of =
                |y: Result<Tensor>| y.unwrap().to_dense().unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
            let (soft, log) = (of(x.softmax(1)), of(x.log_softmax(1)));
            assert!(soft[N..].iter().chain(&log[N..]).all(|v| v.is_nan()), "{dtype}");
            assert_eq!((soft[5], log[5]), (0.0, f64::NEG_INFINITY));
            for i in (0..N).filter(|&i| i != 5) {
                let wanted = exponentials[i] / sum;
                assert!((soft[i] - wanted).abs() <= close * wanted, "{dtype} {i}: {} is not {wanted}", soft[i]);
                assert!((log[i] - wanted.ln()).abs() <= close * 20.0, "{dtype} {i}: {} is not {}", log[i], wanted.ln());
            }
        }
    }
}

#[test]
fn shapes_past_the_address_space() {
    let n = 1usize << 40;
    let values = Tensor::from_vec([3], vec![1.0, 2.0, 3.0]).unwrap();
    let axes = || vec![vec![5u64, 5, 1 << 39], vec![7u64, 7, 0], vec![0u64, 2, 1]];
    let x = Tensor::coo([n, n, 3], axes(), &values, 0.0).unwrap();
    let y = x.normalize(1.0, 2).unwrap();
    assert_eq!((y.nse(), y.fill().unwrap().to_string()), (3, "0".to_string()));
    near(&y, &[5, 7, 2], 2.0 / 3.0);
    let y = x.stored().softmax(-1).unwrap();
    near(&y, &[5, 7, 0], 1.0 / (1.0 + 1f64.exp()));
    near(&y, &[n / 2, 0, 1], 1.0);
    let size = 3.0 * 2f64.powi(80);
    near(&x.logsumexp(..).unwrap(), &[], size.ln());
    near(&x.softmax(..).unwrap(), &[0, 0, 0], 1.0 / size);
    let sums = x.logsumexp(keep(2)).unwrap();
    assert_eq!(sums.shape(), [n, n, 1]);
    near(&sums, &[0, 0, 0], 3f64.ln());
    // Each of 2^80 slices would have a fill of its own.
    let e = x.softmax(2).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Densify { op: "softmax", .. }) && e.to_string().contains("stored()"), "{e}");
}

#[test]
fn nothing_becomes_dense_unasked() {
    let coo = csr(0.0).to_layout(Layout::Coo).unwrap();
    let columns = Fill::array(Tensor::from_vec([1, 4], vec![1.0, 2.0, 3.0, 4.0]).unwrap());
    let varying = csr(0.0).replace_fill(columns).unwrap();
    let poor = |f: &dyn Fn() -> Result<Tensor>| with_densify_budget(0, f);
    let e = poor(&|| varying.softmax(1)).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Densify { op: "softmax", bytes: 96, budget: 0, .. }), "{e}");
    assert!(varying.softmax(1).unwrap().is_strided());
    assert_eq!(poor(&|| coo.softmax(1)).unwrap().layout(), Layout::Coo);
}

#[test]
fn the_path_is_said() {
    let path = |x: &Tensor| explain(|| x.softmax(1).unwrap()).1.last().map(|s| (s.op, s.path)).unwrap();
    assert_eq!(path(&csr(0.0).to_dense().unwrap()), ("softmax", Path::Strided));
    let columns = Fill::array(Tensor::from_vec([1, 4], vec![1.0, 2.0, 3.0, 4.0]).unwrap());
    assert_eq!(path(&csr(0.0).replace_fill(columns).unwrap()), ("softmax", Path::Densified));
    assert_eq!(path(&csr(0.0)), ("softmax", Path::Specialised));
    assert_eq!(path(&csr(0.0).to_layout(Layout::Coo).unwrap()), ("softmax", Path::Engine));
}

#[test]
fn wrong_input_is_named() {
    let x = csr(0.0);
    let says = |r: Result<Tensor>, parts: &[&str]| {
        let e = r.unwrap_err().to_string();
        parts.iter().for_each(|p| assert!(e.contains(p), "'{e}' lacks '{p}'"));
    };
    says(x.softmax(2), &["softmax", "axis 2", "-2..=1"]);
    says(x.log_softmax([0, -2]), &["log_softmax", "-2", "twice"]);
    says(x.logsumexp(-3), &["logsumexp", "-3", "-2..=1"]);
    says(x.normalize(f64::NAN, ..), &["normalize", "p", "NaN"]);
    says(x.normalize_with(2.0, -1.0, ..), &["normalize", "eps", "-1", "0"]);
    says(x.normalize(2.0, 7), &["normalize", "axis 7"]);
    says(x.standardize(f64::INFINITY, ..), &["standardize", "correction", "inf", "finite"]);
    let z = Tensor::from_vec([1], vec![c64::new(1.0, 2.0)]).unwrap();
    says(z.softmax(..), &["softmax", "complex64", "order"]);
    says(z.logsumexp(..), &["logsumexp", "complex64"]);
}

#[test]
fn tensors_without_elements() {
    let x = Tensor::zeros([2, 0], DType::I32, Layout::Csr).unwrap();
    let y = x.softmax(1).unwrap();
    assert_eq!((y.shape(), y.dtype()), (&[2, 0][..], DType::F64));
    let sums = x.logsumexp(1).unwrap().to_dense().unwrap();
    assert_eq!(sums.values::<f64>().unwrap(), [f64::NEG_INFINITY; 2]);
}

/// Blocks of few rows among many: reductions take them apart, and what is beside these has to.
#[test]
fn few_blocks_among_many_rows() {
    type Op = fn(&Tensor, usize) -> Result<Tensor>;
    let ops: [(&str, Op); 5] = [
        ("softmax", |x, axis| x.softmax(axis)),
        ("log_softmax", |x, axis| x.log_softmax(axis)),
        ("normalize", |x, axis| x.normalize(2.0, axis)),
        ("standardize", |x, axis| x.standardize(0.0, axis)),
        ("logsumexp", |x, axis| x.logsumexp(axis)),
    ];
    for (shape, block) in [([100_000, 1], [4, 1]), ([100_000, 4], [4, 2]), ([1, 100_000], [1, 4]), ([900, 800], [3, 2])]
    {
        for fill in [0.0, 2.0] {
            for layout in [Layout::Bsr { block }, Layout::Bsc { block }] {
                let x = Tensor::random(shape, 1e-3, fill, Layout::Coo, 4).unwrap();
                let x = x.to_layout(layout).unwrap();
                let dense = x.to_dense().unwrap();
                for (name, op) in ops {
                    for axis in [0, 1] {
                        // A constant slice has no deviation.
                        let (y, wanted) = (op(&x, axis).unwrap(), op(&dense, axis).unwrap());
                        let is_close = y.allclose_nan(&wanted, 1e-12, 1e-12).unwrap();
                        assert!(is_close, "{name} {shape:?} {layout} {axis} {fill}");
                        let keeps = name == "logsumexp" || (y.layout() == layout && y.nse() == x.nse());
                        assert!(keeps, "{name} {layout}: {}", y.layout());
                    }
                }
            }
        }
    }
}
