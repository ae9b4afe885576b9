//! Ops on two tensors of one layout, large enough to be merged in pieces: beside those on dense arrays, on one, two and three threads.

use openwork::parallel::with_threads;
use openwork::{BinaryOp, DType, Layout, Scalar, Tensor};

/// A tensor of small whole numbers over a fill. `run` numbers beside each other are stored or not, of 100 such runs `density`.
fn tensor(shape: &[usize], layout: Layout, dtype: DType, fill: f64, [density, run, seed]: [usize; 3]) -> Tensor {
    let n: usize = shape.iter().product();
    let is_stored = |i: usize| ((i / run).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ seed).wrapping_mul(0xBF58_476D) >> 20;
    let number = |i: usize| if is_stored(i) % 100 < density { ((i * 7919 + seed) % 17) as f64 + 3.0 } else { fill };
    let dense = Tensor::from_vec(shape, (0..n).map(number).collect::<Vec<f64>>()).unwrap().cast(dtype).unwrap();
    dense.to_sparse(layout, Scalar::F64(fill).cast(dtype)).unwrap()
}

/// The op's result on every number of threads, which is that of dense arrays.
fn check(op: BinaryOp, a: &Tensor, b: &Tensor) -> Tensor {
    let dense = a.to_dense().unwrap().binary(op, b.to_dense().unwrap()).unwrap();
    let on = |threads| with_threads(threads, || a.binary(op, b)).unwrap().unwrap();
    let first = on(1);
    let what = || format!("{op:?} of {} {} {:?}", a.layout(), a.dtype(), a.shape());
    assert!(first.to_dense().unwrap().equal(&dense).unwrap(), "{}", what());
    assert_eq!(first.layout(), a.layout());
    for threads in 2..=3 {
        let other = on(threads);
        assert!(other.equal(&first).unwrap(), "{} on {threads} threads", what());
        assert_eq!(other.coordinates(), first.coordinates(), "{} on {threads} threads", what());
    }
    first
}

#[test]
fn results_are_those_of_dense_arrays() {
    let shapes: [(&[usize], &[Layout]); 5] = [
        (&[700, 400], &[Layout::Csr, Layout::Csc, Layout::Coo]),
        (&[40, 70, 100], &[Layout::Csr]),
        (&[30_000, 9], &[Layout::Csr, Layout::Csc, Layout::Coo]),
        (&[2, 140_000], &[Layout::Csr, Layout::Coo]),
        (&[280_000], &[Layout::Coo]),
    ];
    let kinds =
        [([60, 1, 1], [40, 1, 2]), ([50, 60, 1], [3, 1, 2]), ([80, 200, 1], [70, 300, 2]), ([100, 1, 1], [0, 1, 2])];
    for (shape, layouts) in shapes {
        for &layout in layouts {
            for (i, (x, y)) in kinds.into_iter().enumerate() {
                let dtype = [DType::F64, DType::F32, DType::I32, DType::I64][(i + shape.len() + shape[0]) % 4];
                let of = |kind, fill| tensor(shape, layout, dtype, fill, kind);
                for (op, fills) in
                    [(BinaryOp::Add, [0.0, 2.0]), (BinaryOp::Sub, [1.0, 2.0]), (BinaryOp::Mul, [0.0, 0.0])]
                {
                    check(op, &of(x, fills[0]), &of(y, fills[1]));
                }
            }
        }
    }
}

#[test]
fn ops_of_any_dtypes() {
    let shape = [300, 500];
    let cases = [
        (BinaryOp::Maximum, [DType::F64, DType::F64], [0.0, 0.0]),
        (BinaryOp::Minimum, [DType::I16, DType::I16], [0.0, 2.0]),
        (BinaryOp::Gt, [DType::F64, DType::F64], [0.0, 0.0]),
        (BinaryOp::Ne, [DType::I32, DType::F32], [0.0, 0.0]),
        (BinaryOp::Add, [DType::F32, DType::F64], [1.0, 0.0]),
        (BinaryOp::Add, [DType::Complex128, DType::Complex128], [0.0, 0.0]),
        (BinaryOp::Mul, [DType::Complex64, DType::F32], [0.0, 0.0]),
        (BinaryOp::Mul, [DType::U8, DType::I64], [0.0, 0.0]),
        (BinaryOp::Add, [DType::F16, DType::BF16], [0.0, 1.0]),
        (BinaryOp::Div, [DType::F64, DType::F64], [0.0, 1.0]),
        (BinaryOp::LogicalAnd, [DType::Bool, DType::Bool], [0.0, 0.0]),
        (BinaryOp::LogicalOr, [DType::Bool, DType::Bool], [0.0, 0.0]),
    ];
    for layout in [Layout::Csr, Layout::Csc, Layout::Coo] {
        for (op, [of_a, of_b], fills) in cases {
            for (x, y) in [([60, 1, 1], [40, 1, 2]), ([50, 60, 1], [3, 1, 2])] {
                let (a, b) = (tensor(&shape, layout, of_a, fills[0], x), tensor(&shape, layout, of_b, fills[1], y));
                check(op, &a, &b);
            }
        }
    }
}

#[test]
fn identities_and_values_in_another_order() {
    for layout in [Layout::Csr, Layout::Csc, Layout::Coo] {
        let x = tensor(&[500, 500], layout, DType::F64, 0.0, [30, 1, 1]);
        let one = Tensor::eye(500, DType::F64, layout).unwrap();
        let sum = check(BinaryOp::Add, &x, &one);
        assert!(sum.nse() > x.nse());
        check(BinaryOp::Sub, &one, &x);
        check(BinaryOp::Mul, &one, &x);
        check(BinaryOp::Add, &one, &x.matrix_transpose().unwrap().to_layout(layout).unwrap());
    }
}

#[test]
fn many_empty_rows_and_sides() {
    let shape = [1_000_000, 3];
    let (rows, columns) = ((0..50_000).map(|i| i * 20).collect::<Vec<u32>>(), vec![1u32; 50_000]);
    let few =
        Tensor::coo(shape, vec![rows, columns], &Tensor::from_vec([50_000], vec![2.0; 50_000]).unwrap(), 0.0).unwrap();
    let none = Tensor::zeros(shape, DType::F64, Layout::Coo).unwrap();
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc] {
        let (few, none) = (few.to_layout(layout).unwrap(), none.to_layout(layout).unwrap());
        let sum = check(BinaryOp::Add, &few, &none);
        assert_eq!(sum.nse(), 50_000);
        assert!(sum.equal(&few).unwrap());
        assert_eq!(check(BinaryOp::Mul, &none, &few).nse(), 0);
    }
}
