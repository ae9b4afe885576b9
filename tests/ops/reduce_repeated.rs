//! Reductions of arrays that repeat their elements: what a sparse tensor of that fill gives, whatever the size.

use openwork::{Axes, DType, ErrorKind, Fill, Layout, ReduceOp, Scalar, Tensor, c128, keep};

const OPS: [ReduceOp; 8] = [
    ReduceOp::Sum,
    ReduceOp::Prod,
    ReduceOp::Min,
    ReduceOp::Max,
    ReduceOp::Any,
    ReduceOp::All,
    ReduceOp::CountNonzero,
    ReduceOp::Mean,
];

const DTYPES: [DType; 6] = [DType::Bool, DType::U8, DType::I64, DType::F32, DType::F64, DType::Complex128];

fn elements(x: &Tensor) -> Vec<Scalar> {
    let flat = x.to_dense().unwrap().reshape([x.size() as usize]).unwrap();
    (0..flat.shape()[0]).map(|i| flat.get([i]).unwrap().unwrap()).collect()
}

/// The array, and a sparse tensor that stores nothing over the same fill.
fn both(x: &Tensor, shape: &[usize]) -> [Tensor; 2] {
    let array = x.broadcast_to(shape).unwrap();
    let nothing = vec![Vec::<u64>::new(); shape.len()];
    let values = Tensor::from_vec([0], Vec::<f64>::new()).unwrap().cast(x.dtype()).unwrap();
    let sparse = Tensor::coo(shape, nothing, &values, Fill::array(array.clone())).unwrap();
    [array, sparse]
}

#[test]
fn the_same_bits_as_of_a_fill() {
    let odd = Tensor::from_vec([3, 1], vec![0.1, -0.0, 3.3]).unwrap();
    for dtype in DTYPES {
        for (x, shape) in [(odd.narrow(0..1, 0).unwrap(), [3, 1000]), (odd.clone(), [3, 1000])] {
            let x = x.cast(dtype).unwrap();
            let [array, sparse] = both(&x, &shape);
            for op in OPS {
                for axes in [Axes::from(..), Axes::from(0), Axes::from(1), keep(1)] {
                    let what = format!("{} of {dtype} over {axes:?}", op.name());
                    let Ok(got) = array.reduce(op, axes.clone()) else {
                        assert!(sparse.reduce(op, axes).is_err(), "{what}");
                        continue;
                    };
                    let expected = sparse.reduce(op, axes.clone()).unwrap();
                    assert_eq!((got.shape(), got.dtype()), (expected.shape(), expected.dtype()), "{what}");
                    assert!(got.is_strided() && got.to_contiguous().unwrap().nbytes() == got.nbytes(), "{what}");
                    let pairs = elements(&got).into_iter().zip(elements(&expected));
                    // Products over a fill that varies are made of all elements in turn.
                    let varies = op == ReduceOp::Prod && dtype.is_inexact() && x.shape()[0] > 1;
                    assert!(varies || pairs.into_iter().all(|(a, b)| a.same(b)), "{what}: {got:?}, not {expected:?}");
                }
            }
        }
    }
}

#[test]
fn copies_without_end() {
    let n = 1usize << 40;
    let x = Tensor::full([], 1.5, Layout::Strided).unwrap().broadcast_to([n]).unwrap();
    assert_eq!(x.sum(..).unwrap().item_as::<f64>().unwrap(), 1.5 * n as f64);
    assert_eq!(x.mean(..).unwrap().item_as::<f64>().unwrap(), 1.5);
    assert_eq!(x.prod(..).unwrap().item_as::<f64>().unwrap(), f64::INFINITY);
    assert_eq!(x.max(..).unwrap().item_as::<f64>().unwrap(), 1.5);
    assert_eq!(x.count_nonzero(..).unwrap().item_as::<i64>().unwrap(), n as i64);
    assert!(x.all(..).unwrap().item_as::<bool>().unwrap());
    let row = Tensor::from_vec([3], vec![0.1, f64::NAN, -2.0]).unwrap().broadcast_to([n, 3]).unwrap();
    assert_eq!(row.narrow(0..1, 1).unwrap().sum(0).unwrap().to_vec::<f64>().unwrap(), [0.1 * n as f64]);
    assert!(row.max(..).unwrap().item_as::<f64>().unwrap().is_nan());
    let finite = Tensor::from_vec([3], vec![1e30, 0.25, -1e30]).unwrap().broadcast_to([n, 3]).unwrap();
    assert_eq!(finite.sum(..).unwrap().item_as::<f64>().unwrap(), 0.25 * n as f64);
    let z = Tensor::from_vec([2], vec![c128::new(1.0, 2.0), c128::new(0.5, -2.0)]).unwrap();
    let z = z.broadcast_to([n, 2]).unwrap().sum(..).unwrap();
    assert_eq!(z.item_as::<c128>().unwrap(), c128::new(1.5 * n as f64, 0.0));
    let integers = Tensor::from_vec([2], vec![3i64, 1 << 30]).unwrap().broadcast_to([n, 2]).unwrap();
    assert_eq!(integers.sum(0).unwrap().to_vec::<i64>().unwrap(), [3 << 40, 0]); // 2^70 wraps
}

#[test]
fn a_count_that_does_not_fit_is_an_error() {
    let x = Tensor::full([], 1i64, Layout::Strided).unwrap().broadcast_to([1 << 40, 1 << 40]).unwrap();
    assert!(matches!(x.count_nonzero(..).unwrap_err().kind(), ErrorKind::Invalid { .. }));
    assert_eq!(x.max(..).unwrap().item_as::<i64>().unwrap(), 1);
}
