//! Windows of the rows of CSR: they share memory, and their pointers start above 0.

use std::ops::Range;

use openwork::trace::Path;
use openwork::{BinaryOp, DType, Fill, Layout, ReduceOp, Result, Tensor, UnaryOp, explain, keep};

use super::elements;

/// CSR, 8 x 5: rows 0, 3 and 7 store nothing.
fn matrix(fill: impl Into<Fill>) -> Tensor {
    let pointers = vec![0u32, 0, 2, 5, 5, 6, 10, 12, 12];
    let columns = vec![1u32, 4, 0, 2, 3, 2, 0, 1, 3, 4, 0, 4];
    let values: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.75 - 3.0).collect();
    Tensor::csr([8, 5], pointers, columns, &Tensor::from_vec([12], values).unwrap(), fill).unwrap()
}

/// The same rows of a whole matrix made from nothing: pointers start at 0 and no memory is shared.
fn afresh(whole: &Tensor, rows: Range<usize>) -> Tensor {
    let stored: Vec<(Vec<usize>, f64)> = whole.iter_stored().map(|(i, v)| (i, v.to::<f64>())).collect();
    let inside: Vec<_> = stored.into_iter().filter(|(i, _)| rows.contains(&i[0])).collect();
    let shape = [rows.len(), whole.shape()[1]];
    let mut pointers = vec![0u64; rows.len() + 1];
    inside.iter().for_each(|(i, _)| pointers[i[0] - rows.start + 1] += 1);
    (0..rows.len()).for_each(|r| pointers[r + 1] += pointers[r]);
    let columns: Vec<u64> = inside.iter().map(|(i, _)| i[1] as u64).collect();
    let values: Vec<f64> = inside.iter().map(|(_, v)| *v).collect();
    let fill = match whole.fill().unwrap() {
        Fill::Array(_) if rows.is_empty() => 0.0.into(), // of no element
        Fill::Array(values) => {
            let all = elements(values).into_iter().map(Option::unwrap);
            let (n, cut) = if values.shape()[0] == 1 {
                (1, all.collect())
            } else {
                (rows.len(), all.collect::<Vec<_>>()[rows].to_vec())
            };
            Fill::array(Tensor::from_vec([n, cut.len() / n], cut).unwrap())
        }
        other => other.clone(),
    };
    Tensor::csr(shape, pointers, columns, &Tensor::from_vec([values.len()], values).unwrap(), fill).unwrap()
}

fn fills() -> [Fill; 5] {
    let array = |shape: &[usize], from: f64| {
        let n = shape.iter().product::<usize>();
        Fill::array(Tensor::from_vec(shape, (0..n).map(|i| from + i as f64).collect()).unwrap())
    };
    [0.0.into(), 2.5.into(), array(&[8, 1], 1.0), array(&[1, 5], -2.0), Fill::Undefined]
}

/// The same layout, fill and elements, or the same error.
fn assert_same(what: &str, got: Result<Tensor>, expected: Result<Tensor>) {
    match (got, expected) {
        (Ok(got), Ok(expected)) => {
            assert_eq!(got.to_string(), expected.to_string(), "{what}");
            assert_eq!((got.layout(), got.nse()), (expected.layout(), expected.nse()), "{what}");
            assert_eq!(got.fill().map(Fill::to_string), expected.fill().map(Fill::to_string), "{what}");
            let bits = |x: &Tensor| elements(x).into_iter().map(|v| v.map(f64::to_bits)).collect::<Vec<_>>();
            assert_eq!(bits(&got), bits(&expected), "{what}");
        }
        (Err(got), Err(expected)) => assert_eq!(got.to_string(), expected.to_string(), "{what}"),
        (got, expected) => panic!("{what}: {got:?}, expected {expected:?}"),
    }
}

/// Equal up to the order of summation.
fn assert_close(got: &Tensor, expected: &Tensor) {
    assert_eq!(got.shape(), expected.shape());
    let pairs = elements(got).into_iter().zip(elements(expected));
    pairs.for_each(|(g, e)| approx::assert_abs_diff_eq!(g.unwrap(), e.unwrap(), epsilon = 1e-12));
}

/// The same memory; of no elements nothing is said.
#[track_caller]
fn assert_shared(got: &[f64], expected: &[f64]) {
    assert_eq!(got.len(), expected.len());
    assert!(got.is_empty() || got.as_ptr() == expected.as_ptr(), "copied");
}

/// Runs a check on every window of rows and the same tensor made afresh.
fn each(check: impl Fn(&str, &Tensor, &Tensor)) {
    for fill in fills() {
        let x = matrix(fill);
        for range in super::ranges(8) {
            let window = x.narrow(range.clone(), 0).unwrap();
            check(&format!("rows {range:?} of {x:?}"), &window, &afresh(&x, range));
        }
    }
}

#[test]
fn share_memory() {
    let x = matrix(0.0);
    let whole = x.values::<f64>().unwrap();
    let starts = [0, 0, 2, 5, 5, 6, 10, 12, 12];
    for range in super::ranges(8) {
        let (window, steps) = explain(|| x.narrow(range.clone(), 0).unwrap());
        assert_eq!((steps[0].op, steps[0].path), ("narrow", Path::Values));
        let (first, last) = (starts[range.start], starts[range.end]);
        let values = window.values::<f64>().unwrap();
        assert_eq!((window.layout(), window.nse(), values.len()), (Layout::Csr, last - first, last - first));
        assert_shared(values, &whole[first..last]);
        // A window of the window, and the window turned round.
        for inner in super::ranges(range.len()) {
            let twice = window.narrow(inner.clone(), 0).unwrap();
            let (a, b) = (starts[range.start + inner.start], starts[range.start + inner.end]);
            assert_shared(twice.values().unwrap(), &whole[a..b]);
        }
        let turned = window.matrix_transpose().unwrap();
        assert_shared(turned.values().unwrap(), values);
    }
    // Columns of CSC and rows of COO and DCSR likewise; columns of CSR are copied.
    let csc = x.matrix_transpose().unwrap();
    let window = csc.narrow(2..6, 1).unwrap();
    assert_shared(window.values().unwrap(), &whole[2..10]);
    for layout in [Layout::Coo, Layout::Dcsr] {
        let listed = x.to_layout(layout).unwrap();
        let (window, steps) = explain(|| listed.narrow(2..6, 0).unwrap());
        assert_eq!((steps[0].path, window.layout()), (Path::Values, layout));
        assert_shared(window.values().unwrap(), &listed.values::<f64>().unwrap()[2..10]);
        assert_eq!(elements(&window), elements(&x.narrow(2..6, 0).unwrap()));
    }
    let (copied, steps) = explain(|| x.narrow(1..3, 1).unwrap());
    assert_eq!(steps[0].path, Path::Specialised);
    assert!(!x.values::<f64>().unwrap().as_ptr_range().contains(&copied.values::<f64>().unwrap().as_ptr()));
}

#[test]
fn batches_share_memory() {
    let x = Tensor::random([4, 5, 6], 0.4, 0.0, Layout::Csr, 3).unwrap();
    let whole = x.values::<f64>().unwrap().as_ptr_range();
    let counts: Vec<usize> = (0..4).map(|b| x.iter_stored().filter(|(index, _)| index[0] == b).count()).collect();
    for range in super::ranges(4) {
        let window = x.narrow(range.clone(), 0).unwrap();
        let n = counts[range.clone()].iter().sum::<usize>();
        let values = window.values::<f64>().unwrap();
        assert_eq!((window.nse(), values.len(), window.layout()), (n, n, Layout::Csr));
        assert!(n == 0 || whole.contains(&values.as_ptr()));
        let dense = x.to_dense().unwrap().narrow(range, 0).unwrap();
        assert_close(&window.sum(1).unwrap(), &dense.sum(1).unwrap());
        assert_eq!(elements(&window.to_layout(Layout::Csf).unwrap()), elements(&dense));
        let vector = Tensor::from_vec([6], vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0]).unwrap();
        assert_close(&window.matmul(&vector).unwrap(), &dense.matmul(&vector).unwrap());
    }
}

#[test]
fn look_ups() {
    each(|what, window, fresh| {
        assert_eq!(elements(window), elements(fresh), "{what}");
        assert!(window.iter_stored().eq(fresh.iter_stored()), "{what}");
        assert_eq!(window.coordinates(), fresh.coordinates(), "{what}");
        assert_eq!(window.to_string(), fresh.to_string(), "{what}");
        assert_eq!((window.nse(), window.positions()), (fresh.nse(), fresh.positions()), "{what}");
        assert_eq!((window.density(), window.is_coalesced()), (fresh.density(), true), "{what}");
        let lengths = |x: &Tensor| x.buffers().into_iter().map(|b| (b.name, b.len)).collect::<Vec<_>>();
        assert_eq!(lengths(window), lengths(fresh), "{what}");
    });
}

#[test]
fn ops_of_one_tensor() {
    type Op = (&'static str, fn(&Tensor) -> Result<Tensor>);
    let ops: [Op; 28] = [
        ("sin", |x| x.sin()),
        ("neg", |x| -x),
        ("isfinite", |x| x.unary(UnaryOp::Isfinite)),
        ("+ 1", |x| x + 1.0),
        ("2 -", |x| 2.0 - x),
        ("< 0", |x| x.binary(BinaryOp::Lt, 0.0)),
        ("square", |x| x * x),
        ("sum", |x| x.sum(..)),
        ("sum over rows", |x| x.sum(0)),
        ("sum over columns", |x| x.sum(keep(1))),
        ("mean", |x| x.mean(0)),
        ("max", |x| x.max(1)),
        ("min", |x| x.min(0)),
        ("prod", |x| x.prod(1)),
        ("count_nonzero", |x| x.count_nonzero(1)),
        ("any", |x| x.any(0)),
        ("cast", |x| x.cast(DType::F32)),
        ("coalesce", |x| x.coalesce()),
        ("coalesce with max", |x| x.coalesce_with(ReduceOp::Max)),
        ("prune", |x| x.prune()),
        ("with_fill", |x| x.with_fill(7.0)),
        ("replace_fill", |x| x.replace_fill(7.0)),
        ("is_stored", |x| x.is_stored()),
        ("stored", |x| x.stored().sum(1)),
        ("to_dense_with", |x| x.to_dense_with(9.0)),
        ("reshape", |x| x.reshape([x.shape()[0] * 5])),
        ("expand_dims", |x| x.expand_dims(1)?.squeeze(1)),
        ("broadcast", |x| x.broadcast_to([2, x.shape()[0], 5])),
    ];
    each(|what, window, fresh| {
        for (name, op) in ops {
            assert_same(&format!("{name} of {what}"), op(window), op(fresh));
        }
    });
}

#[test]
fn conversions() {
    let layouts = [
        Layout::Coo,
        Layout::HybridCoo { dense_dims: 1 },
        Layout::Csr,
        Layout::Csc,
        Layout::Dcsr,
        Layout::Dcsc,
        Layout::Csf,
        Layout::Bsr { block: [1, 5] },
        Layout::Bsc { block: [1, 1] },
        Layout::Strided,
    ];
    each(|what, window, fresh| {
        for layout in layouts {
            assert_same(&format!("{what} to {layout}"), window.to_layout(layout), fresh.to_layout(layout));
            let turned = |x: &Tensor| x.matrix_transpose()?.to_layout(layout);
            assert_same(&format!("{what} turned and to {layout}"), turned(window), turned(fresh));
        }
        for range in [1..4, 0..5, 2..2] {
            assert_same(what, window.narrow(range.clone(), 1), fresh.narrow(range, 1));
        }
    });
}

#[test]
fn ops_of_two_tensors() {
    let row = Tensor::from_vec([5], vec![1.0, -2.0, 0.5, 3.0, 0.0]).unwrap();
    let others = [matrix(0.0), matrix(0.0).cos().unwrap(), matrix(1.0)];
    for x in fills().map(matrix) {
        for other in &others {
            for (a, b) in [(0..4, 4..8), (2..6, 2..6), (1..3, 5..7), (4..8, 1..5), (3..4, 0..1), (2..2, 5..5)] {
                let what = format!("{a:?} of {x:?} and {b:?} of {other:?}");
                let (fx, fy) = (afresh(&x, a.clone()), afresh(other, b.clone()));
                let (x, y) = (x.narrow(a, 0).unwrap(), other.narrow(b, 0).unwrap());
                for op in [BinaryOp::Add, BinaryOp::Sub, BinaryOp::Mul, BinaryOp::Maximum, BinaryOp::Lt] {
                    let what = format!("{} of {what}", op.name());
                    assert_same(&what, x.binary(op, &y), fx.binary(op, &fy));
                    assert_same(&what, y.binary(op, &fx), fy.binary(op, &x));
                    let csc = |t: &Tensor| t.to_layout(Layout::Csc).unwrap();
                    assert_same(&what, x.binary(op, csc(&y)), fx.binary(op, csc(&fy)));
                    assert_same(&what, x.binary(op, &row), fx.binary(op, &row));
                    let first = other.narrow(1..2, 0).unwrap();
                    assert_same(&what, x.binary(op, &first), fx.binary(op, afresh(other, 1..2)));
                }
            }
        }
    }
}

#[test]
fn products() {
    let dense = Tensor::from_vec([5, 3], (0..15).map(|i| f64::from(i) - 6.0).collect()).unwrap();
    let vector = Tensor::from_vec([5], vec![1.0, -2.0, 0.5, 3.0, 4.0]).unwrap();
    let square = matrix(0.0).narrow(2..7, 0).unwrap();
    let fresh_square = afresh(&matrix(0.0), 2..7);
    each(|what, window, fresh| {
        assert_same(&format!("{what} @ dense"), window.matmul(&dense), fresh.matmul(&dense));
        assert_same(&format!("{what} @ vector"), window.matmul(&vector), fresh.matmul(&vector));
        assert_same(&format!("{what} @ window"), window.matmul(&square), fresh.matmul(&fresh_square));
        let turned = |x: &Tensor| x.matrix_transpose().unwrap();
        assert_same(
            &format!("dense @ {what}"),
            turned(&dense).matmul(&turned(window)),
            turned(&dense).matmul(&turned(fresh)),
        );
        assert_same(&format!("{what} turned @ itself"), turned(window).matmul(window), turned(fresh).matmul(fresh));
    });
}
