//! Rows and columns of tall, of wide and of mostly empty matrices, chosen, turned, joined and folded: beside the same of dense arrays, on
//! one, two and three threads.

use crate::common::on_threads;
use openwork::{DType, Index, Layout, ReduceOp, Result, Scalar, Span, Tensor};

const ALL: Index = Index::Range(Span { start: 0, end: None }, 1);

/// A matrix of which so many of 1000 elements, in runs of `run`, are whole numbers, and the others a fill. Rows of which the number divided
/// by 1000 is odd are empty.
fn matrix([rows, columns]: [usize; 2], density: usize, run: usize, fill: f64) -> Tensor {
    let mix = |i: usize| (i / run).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D) >> 20;
    let number = |i: usize| {
        let is_stored = (i / columns / 1000).is_multiple_of(2) && mix(i) % 1000 < density;
        if is_stored { (i % 23) as f64 + 1.0 } else { fill }
    };
    Tensor::from_vec([rows, columns], (0..rows * columns).map(number).collect::<Vec<f64>>()).unwrap()
}

fn list(n: usize, of: impl Fn(usize) -> usize) -> Tensor {
    Tensor::from_vec([n], (0..n).map(|i| of(i) as i64).collect::<Vec<i64>>()).unwrap()
}

fn mask(n: usize, is_chosen: impl Fn(usize) -> bool) -> Index {
    Index::Mask(Tensor::from_vec([n], (0..n).map(is_chosen).collect::<Vec<bool>>()).unwrap())
}

/// The op on a matrix of a layout gives what it gives of the dense one, the same on any number of threads.
fn check(what: &str, dense: &Tensor, sparse: &Tensor, op: impl Fn(&Tensor) -> Result<Tensor> + Sync) {
    let what = format!("{what} of {} {:?}", sparse.layout(), sparse.shape());
    let wanted = op(dense).and_then(|t| t.to_dense()).unwrap();
    let first = on_threads(&what, &|| op(sparse));
    assert!(first.to_dense().unwrap().equal(&wanted).unwrap(), "{what}");
}

#[test]
fn they_are_those_of_dense_arrays() {
    let cases = [
        ([150_000, 6], 20, 1, 0.0),
        ([90_000, 4], 700, 3, 0.0),
        ([3, 150_000], 600, 1, 0.0),
        ([1500, 300], 300, 40, 2.0),
        ([200_000, 2], 1, 1, 0.0),
    ];
    for (shape, density, run, fill) in cases {
        let dense = matrix(shape, density, run, fill);
        let [rows, columns] = shape;
        for layout in [Layout::Csr, Layout::Csc, Layout::Coo] {
            let x = dense.to_sparse(layout, Scalar::F64(fill)).unwrap();
            let some_rows = list(rows / 2 + 5, |i| (i * 7919) % rows);
            let some_columns = list(columns, |i| (i * 31 + 1) % columns);
            let twice = list(2 * columns, |i| i / 2);
            let half_of_rows = mask(rows, |i| !(i / 7).is_multiple_of(3));
            let half_of_columns = mask(columns, |i| (i % 5) < 2);
            check("rows reversed", &dense, &x, |t| t.flip(0));
            check("columns reversed", &dense, &x, |t| t.flip(1));
            check("some rows", &dense, &x, |t| t.index_select(some_rows.clone(), 0));
            check("some columns", &dense, &x, |t| t.index_select(some_columns.clone(), 1));
            check("columns twice", &dense, &x, |t| t.index_select(twice.clone(), 1));
            check("marked rows", &dense, &x, |t| t.index([half_of_rows.clone()]));
            check("marked columns", &dense, &x, |t| t.index([ALL, half_of_columns.clone()]));
            check("every third row", &dense, &x, |t| t.slice([Index::Range(Span { start: 1, end: None }, 3)]));
            check("a window of columns", &dense, &x, |t| t.narrow(1..columns, 1));
            check("side by side", &dense, &x, |t| Tensor::concat(&[t, t, t], 1));
            check("a triangle", &dense, &x, |t| t.tril(-(rows as isize) / 2));
            check("elements above a number", &dense, &x, |t| t.index([Index::Mask(t.gt(4.0)?)]));
            check("elements but for some", &dense, &x, |t| t.index([Index::Mask(t.ne(fill)?)]));
            for op in [ReduceOp::Sum, ReduceOp::Max, ReduceOp::CountNonzero] {
                check(op.name(), &dense, &x, |t| t.reduce(op, 1));
            }
            let v = Tensor::from_vec([columns], (0..columns).map(|i| (i % 7) as f64).collect::<Vec<_>>()).unwrap();
            check("times a vector", &dense, &x, |t| t.matmul(&v));
            if columns < 10 {
                check("itself, transposed", &dense, &x, |t| t.matrix_transpose()?.matmul(t));
            }
        }
    }
}

#[test]
fn what_holds_nothing_is_empty_at_once() {
    let x = Tensor::zeros([3_000_000, 5], DType::F32, Layout::Csr).unwrap();
    let chosen = [x.flip(0), x.flip(1), x.index_select(list(3, |i| i * 2), 1), x.tril(0), x.narrow(1..3, 1)];
    for out in chosen {
        let out = out.unwrap();
        assert_eq!((out.nse(), out.shape()[0]), (0, 3_000_000));
    }
    assert_eq!(Tensor::concat(&[&x, &x], 1).unwrap().nse(), 0);
    assert_eq!(x.reduce(ReduceOp::Sum, 1).unwrap().nse(), 0);
}
