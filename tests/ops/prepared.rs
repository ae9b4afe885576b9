//! Matrices made ready for many products.

use openwork::linalg::{self, Operator, Options};
use openwork::parallel::with_threads;
use openwork::{
    DType, ErrorKind, Layout, NanPolicy, PreparedForm, Tensor, prepare, tensor, with_densify_budget, with_nan_policy,
};
use openwork_ops::simd::set_slow_gathers;

use crate::common::rng::Rng;

/// The five-point Laplacian of a square grid, `side * side` rows.
fn laplacian(side: usize, dtype: DType) -> Tensor {
    let n = (side * side) as i64;
    let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for r in 0..n {
        let at = r % side as i64;
        for (c, value, is_there) in [
            (r - side as i64, -1.0, true),
            (r - 1, -1.0, at > 0),
            (r, 4.0, true),
            (r + 1, -1.0, at + 1 < side as i64),
            (r + side as i64, -1.0, true),
        ] {
            if is_there && (0..n).contains(&c) {
                rows.push(r);
                columns.push(c);
                values.push(value);
            }
        }
    }
    let shape = [n as usize; 2];
    let x = Tensor::from_triplets(shape, rows, columns, values, 0.0).unwrap();
    x.cast(dtype).unwrap().to_layout(Layout::Csr).unwrap()
}

fn whole_numbers(n: usize, dtype: DType) -> Tensor {
    Tensor::from_vec([n], (0..n).map(|i| (i * 7 % 23) as f64 - 11.0).collect::<Vec<_>>()).unwrap().cast(dtype).unwrap()
}

#[test]
fn diagonals_give_what_rows_give_on_any_number_of_threads() {
    for dtype in [DType::F64, DType::F32] {
        let a = laplacian(210, dtype);
        let ready = prepare(&a).unwrap();
        assert_eq!(ready.form(), PreparedForm::Diagonals);
        assert_eq!(ready.tensor().nse(), a.nse());
        let (held, elements) = (ready.nbytes(), 5 * 210 * 210 * dtype.size());
        assert!(held <= elements && held > elements * 9 / 10, "{held} bytes beside {elements}");
        let x = whole_numbers(210 * 210, dtype);
        let want = a.matmul(&x).unwrap();
        // Sums of five products of small integers are exact in any order.
        assert!(want.cast(DType::F64).unwrap().to_vec::<f64>().unwrap().iter().any(|&v| v != 0.0));
        for threads in 1..=3 {
            let got = with_threads(threads, || ready.matmul(&x)).unwrap().unwrap();
            assert!(got.allclose(&want, 0.0, 0.0).unwrap(), "{dtype}, {threads} threads");
        }
        let column = ready.matmul(&x.reshape([210 * 210, 1]).unwrap()).unwrap();
        assert_eq!(column.shape(), [210 * 210, 1]);
        assert!(column.reshape([210 * 210]).unwrap().allclose(&want, 0.0, 0.0).unwrap());
        // Views that are not one run of elements, and operands that no form is for.
        let backwards = x.flip(0).unwrap();
        assert!(ready.matmul(&backwards).unwrap().allclose(&a.matmul(&backwards).unwrap(), 0.0, 0.0).unwrap());
        let several = Tensor::stack(&[&x, &backwards], 1).unwrap();
        assert_eq!(ready.matmul(&several).unwrap().shape(), [210 * 210, 2]);
        assert!(ready.matmul(&a).unwrap().allclose(&a.matmul(&a).unwrap(), 0.0, 0.0).unwrap());
    }
}

#[test]
fn what_is_not_finite_reaches_only_the_rows_that_store_something_there() {
    let a = laplacian(64, DType::F64);
    let ready = prepare(&a).unwrap();
    let mut x = vec![1.0; 64 * 64];
    // At the end of a line of the grid: its neighbour in the next line is on the diagonal, and not stored.
    (x[63], x[2000], x[64 * 64 - 1]) = (f64::INFINITY, f64::NAN, f64::NEG_INFINITY);
    let x = Tensor::from_vec([64 * 64], x).unwrap();
    let got = ready.matmul(&x).unwrap().to_vec::<f64>().unwrap();
    let want = a.matmul(&x).unwrap().to_vec::<f64>().unwrap();
    assert!(got[64].is_finite() && !got[62].is_finite() && got[2000].is_nan());
    assert!(got.iter().zip(&want).all(|(g, w)| g == w || g.is_nan() && w.is_nan()));
    let exact = || with_nan_policy(NanPolicy::Exact, || ready.matmul(&x));
    assert!(matches!(exact().unwrap_err().kind(), ErrorKind::Densify { .. }), "16 million zeros take part");
    let exact = with_densify_budget(1 << 28, exact).unwrap().to_vec::<f64>().unwrap();
    assert!(exact.iter().all(|v| v.is_nan()), "zero times infinity, where that counts");
}

#[test]
fn frequent_columns_are_packed_and_bits_stay() {
    let mut random = Rng::new(5);
    for (dtype, n, nse) in [(DType::F64, 300_000, 1_600_000), (DType::F32, 540_000, 3_000_000)] {
        let m = 40_000;
        let mut places: Vec<u64> = (0..nse)
            .map(|_| {
                let column = if random.one_in(4) { random.below(n) } else { n - 1 - 3 * random.below(n / 40) };
                (random.below(m) * n + column) as u64
            })
            .collect();
        places.sort_unstable();
        places.dedup();
        let of = |f: &dyn Fn(u64) -> u64| places.iter().map(|&p| f(p) as i64).collect::<Vec<_>>();
        let values: Vec<f64> = (0..places.len()).map(|i| 1.0 / (1 + i % 1013) as f64).collect();
        let a = Tensor::from_triplets([m, n], of(&|p| p / n as u64), of(&|p| p % n as u64), values, 0.0).unwrap();
        let a = a.cast(dtype).unwrap().to_layout(Layout::Csr).unwrap();
        // For the whole process, of which no other result is another by it.
        set_slow_gathers(Some(true));
        assert_eq!(prepare(&a).unwrap().form(), PreparedForm::AsStored);
        set_slow_gathers(Some(false));
        let ready = prepare(&a).unwrap();
        set_slow_gathers(None);
        assert_eq!(ready.form(), PreparedForm::PackedColumns);
        assert_eq!(ready.nbytes(), 4 * (a.nse() + n));
        let x = Tensor::from_vec([n], (0..n).map(|i| 1.0 / (1 + i % 997) as f64).collect::<Vec<_>>()).unwrap();
        let x = x.cast(dtype).unwrap();
        let want = a.matmul(&x).unwrap();
        for threads in 1..=3 {
            let got = with_threads(threads, || ready.matmul(&x)).unwrap().unwrap();
            let [got, want] = [&got, &want].map(|t| t.cast(DType::F64).unwrap().to_vec::<f64>().unwrap());
            assert!(got == want, "{dtype}, {threads} threads");
            assert!(got.iter().any(|&v| v != got[0]));
        }
    }
}

#[test]
fn forms_are_chosen_by_what_is_stored() {
    let a = laplacian(30, DType::F64);
    let form = |a: &Tensor| prepare(a).unwrap().form();
    for layout in [Layout::Coo, Layout::Csc, Layout::Csf] {
        let other = a.to_layout(layout).unwrap();
        assert_eq!(form(&other), PreparedForm::Diagonals, "{layout}");
        let whole = other.cast(DType::I32).unwrap();
        assert_eq!(form(&whole), PreparedForm::Rows, "{layout}");
        let x = whole_numbers(900, DType::I32);
        let product = prepare(&whole).unwrap().matmul(&x).unwrap().to_vec::<i32>().unwrap();
        assert_eq!(product, a.cast(DType::I32).unwrap().matmul(&x).unwrap().to_vec::<i32>().unwrap());
    }
    // Zeros in blocks are stored, on diagonals that are half empty.
    assert_eq!(form(&a.to_layout(Layout::Bsr { block: [2, 2] }).unwrap()), PreparedForm::Rows);
    assert_eq!(form(&a.cast(DType::I32).unwrap()), PreparedForm::AsStored);
    assert_eq!(form(&a.to_dense().unwrap()), PreparedForm::AsStored);
    assert_eq!(form(&a.add(1.0).unwrap()), PreparedForm::AsStored, "a fill takes part");
    assert_eq!(form(&a.stored()), PreparedForm::AsStored, "what is absent is no zero");
    // Nothing stored, on axes of any size; a matrix of one row; diagonals that are nearly empty.
    for shape in [[0, 0], [5, 0], [0, 5], [1 << 40, 1 << 40], [3, 1 << 30]] {
        let empty = Tensor::empty(shape, DType::F64, Layout::Coo, 0.0).unwrap();
        let ready = prepare(&empty).unwrap();
        assert!(ready.nbytes() < 1 << 20, "{shape:?}: {}", ready.nbytes());
    }
    assert_eq!(form(&tensor![[1.0, 0.0, 2.0]; Layout::Csr, 0.0].unwrap()), PreparedForm::AsStored);
    // By columns, the sums of few rows stay in the cache, where a vector does not.
    let wide = Tensor::random([100, 300_000], 0.001, 0.0, Layout::Csc, 3).unwrap();
    assert_eq!(form(&wide), PreparedForm::AsStored);
    assert_eq!(form(&wide.narrow(0..200_000, 1).unwrap().to_layout(Layout::Csc).unwrap()), PreparedForm::Rows);
    let corner = Tensor::from_triplets([500, 500], vec![0i64, 3], vec![0, 400], vec![1.0, 2.0], 0.0).unwrap();
    assert_eq!(form(&corner.to_layout(Layout::Csr).unwrap()), PreparedForm::AsStored);
}

#[test]
fn a_vector_is_refused() {
    let refused = prepare(&tensor![1.0, 2.0]).unwrap_err();
    assert!(matches!(refused.kind(), ErrorKind::Shape { .. }), "{refused}");
    assert!(refused.to_string().contains("two axes"), "{refused}");
    let ready = prepare(&laplacian(8, DType::F64)).unwrap();
    assert!(ready.matmul(&tensor![1.0, 2.0]).is_err());
}

#[test]
fn solvers_take_what_is_prepared() {
    let a = laplacian(40, DType::F64);
    let b = whole_numbers(1600, DType::F64);
    let ready = prepare(&a).unwrap();
    assert_eq!((Operator::shape(&ready), Operator::dtype(&ready)), ([1600, 1600], DType::F64));
    let [x, y] = [
        linalg::cg(&a, &b, Options::default()).unwrap().converged().unwrap(),
        linalg::cg(&ready, &b, Options::default()).unwrap().converged().unwrap(),
    ];
    assert!(a.matmul(&x).unwrap().allclose(&b, 1e-3, 1e-3).unwrap());
    assert!(x.allclose(&y, 1e-9, 1e-9).unwrap());
    let turned = ready.apply_adjoint(&b).unwrap();
    assert!(turned.allclose(&a.matmul(&b).unwrap(), 0.0, 0.0).unwrap(), "the matrix is symmetric");
}

#[test]
fn the_gain_is_measured() {
    let ready = prepare(&laplacian(100, DType::F64)).unwrap();
    let gain = ready.gain().unwrap();
    assert!(!gain.preparing.is_zero() && !gain.before.is_zero() && !gain.after.is_zero());
    match gain.break_even() {
        Some(products) => assert!(gain.before > gain.after && products > 0.0),
        None => assert!(gain.before <= gain.after),
    }
}
