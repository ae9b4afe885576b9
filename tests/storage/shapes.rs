//! Shapes that are too large, empty, of rank 0, or do not fit each other.

use crate::common::tensors::{says, tells, vector as values};
use openwork::{DType, ErrorKind, Layout, Scalar, Tensor};

const HUGE: [usize; 3] = [1 << 40, 1 << 40, 1 << 40];

#[test]
fn beyond_memory() {
    let x = Tensor::zeros(HUGE, DType::F64, Layout::Coo).unwrap();
    assert_eq!(x.size(), 1 << 120);
    for e in [x.to_dense().unwrap_err(), Tensor::zeros(HUGE, DType::F64, Layout::Strided).unwrap_err()] {
        assert!(matches!(e.kind(), ErrorKind::Memory { .. }), "{e}");
        tells(&e, &["memory"]);
    }
    let long = Tensor::zeros([1 << 45], DType::F64, Layout::Coo).unwrap();
    says(long.to_dense(), &["memory"]);
    let tall = Tensor::zeros([1 << 60, 2], DType::F64, Layout::Coo).unwrap();
    says(tall.to_layout(Layout::Csr), &["memory", "coo"]);
}

#[test]
fn of_more_than_2_to_the_64_elements_work_sparse() {
    let last: Vec<Vec<u64>> = HUGE.iter().map(|&n| vec![0, n as u64 - 1]).collect();
    let x = Tensor::coo(HUGE, last, &values(&[1.0, 2.0]), 0.5).unwrap();
    let y = x.add(&x).unwrap();
    assert_eq!(y.get(HUGE.map(|n| n - 1)).unwrap(), Some(4.0.into()));
    assert_eq!(y.get([0, 1, 0]).unwrap(), Some(1.0.into()));
    assert_eq!(y.nse(), 2);
    // Another pattern, in wide and in narrow indices.
    let near = Tensor::coo(HUGE, vec![vec![1u32]; 3], &values(&[3.0]), 0.0).unwrap();
    let sum = near.add(&x).unwrap();
    assert_eq!((sum.nse(), sum.get([1, 1, 1]).unwrap()), (3, Some(3.5.into())));
    assert_eq!(sum.get(HUGE.map(|n| n - 1)).unwrap(), Some(2.0.into()));
    let z = x.permute_dims([2, 0, 1]).unwrap().coalesce().unwrap();
    assert_eq!(z.nse(), 2);
    let max = x.max(..).unwrap();
    assert_eq!(max.item().unwrap(), 2.0.into());
}

#[test]
fn counts_that_no_dtype_holds_are_an_error() {
    let ones = Tensor::ones(HUGE, DType::F64, Layout::Coo).unwrap();
    says(ones.count_nonzero(..), &["count_nonzero", "int64"]);
    let zeros = Tensor::zeros(HUGE, DType::F64, Layout::Coo).unwrap();
    assert_eq!(zeros.count_nonzero(..).unwrap().item().unwrap(), 0i64.into());
}

#[test]
fn that_do_not_broadcast() {
    let x = Tensor::zeros([2, 3], DType::F64, Layout::Coo).unwrap();
    let e = x.add(Tensor::zeros([2], DType::F64, Layout::Coo).unwrap()).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Shape { .. }), "{e}");
    tells(&e, &["add", "[2, 3]", "[2]", "broadcast"]);
    assert!(x.broadcast_to([3]).is_err() && x.reshape([4]).is_err());
    let axis = x.sum(2).unwrap_err();
    assert!(matches!(axis.kind(), ErrorKind::Axis { .. }), "{axis}");
    tells(&axis, &["sum", "axis 2", "2 axes"]);
    says(x.sum([0, -2]), &["twice"]);
}

#[test]
fn with_an_axis_of_size_zero() {
    for shape in [&[0usize][..], &[0, 3], &[3, 0], &[0, 0]] {
        for layout in [Layout::Strided, Layout::Coo, Layout::Csf] {
            let x = Tensor::zeros(shape, DType::F64, layout).unwrap();
            assert_eq!((x.size(), x.nse()), (0, 0));
            assert_eq!(x.sum(..).unwrap().item().unwrap(), 0.0.into());
            assert_eq!(x.prod(..).unwrap().item().unwrap(), 1.0.into());
            assert!(matches!(x.mean(..).unwrap().item().unwrap(), Scalar::F64(m) if m.is_nan()));
            says(x.max(..), &["max", "no elements"]);
            assert_eq!(x.add(1.0).unwrap().exp().unwrap().shape(), shape);
            assert_eq!(x.to_layout(Layout::Coo).unwrap().nse(), 0);
        }
    }
    let x = Tensor::zeros([0, 3], DType::F64, Layout::Csr).unwrap();
    assert_eq!(x.max(1).unwrap().shape(), [0]);
    assert_eq!(x.matrix_transpose().unwrap().to_layout(Layout::Csr).unwrap().shape(), [3, 0]);
}

#[test]
fn of_rank_zero() {
    for layout in [Layout::Strided, Layout::Coo] {
        let x = Tensor::full([], 2.0, layout).unwrap();
        assert_eq!(x.item().unwrap(), 2.0.into());
        assert_eq!(x.add(&x).unwrap().item().unwrap(), 4.0.into());
        assert_eq!(x.sum(..).unwrap().item().unwrap(), 2.0.into());
        assert_eq!(x.expand_dims(0).unwrap().shape(), [1]);
        assert_eq!(x.reshape([1, 1]).unwrap().item().unwrap(), 2.0.into());
    }
    let stored = Tensor::coo::<Vec<i64>>(&[], vec![], &values(&[3.0, 4.0]), 1.0).unwrap();
    assert_eq!(stored.item().unwrap(), 7.0.into());
}
