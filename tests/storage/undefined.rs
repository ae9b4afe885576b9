//! Undefined fill, op by op: the absent absorb in elementwise ops, and are skipped by reductions, products and softmax.
use openwork::{BinaryOp, DType, ErrorKind, Fill, Layout, ReduceOp, Scalar, Tensor, UnaryOp, with_densify_budget};

const LAYOUTS: [Layout; 5] = [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Csf];

/// Elements that are there, and nothing else.
fn graph(shape: &[usize], places: &[[u64; 2]], data: &[f64], layout: Layout) -> Tensor {
    let columns = (0..2).map(|a| places.iter().map(|p| p[a]).collect::<Vec<u64>>()).collect();
    let values = Tensor::from_vec([data.len()], data.to_vec()).unwrap();
    Tensor::coo(shape, columns, &values, Fill::Undefined).unwrap().to_layout(layout).unwrap()
}

/// Row 0 stores [5, 2, -], row 1 nothing, row 2 [-, -, 3].
fn x(layout: Layout) -> Tensor {
    graph(&[3, 3], &[[0, 0], [0, 1], [2, 2]], &[5.0, 2.0, 3.0], layout)
}

/// Row 0 stores [-, 3, 4], row 1 [1, -, -], row 2 nothing.
fn y(layout: Layout) -> Tensor {
    graph(&[3, 3], &[[0, 1], [0, 2], [1, 0]], &[3.0, 4.0, 1.0], layout)
}

/// What is there, in C order.
fn there(t: &Tensor) -> Vec<(Vec<usize>, Scalar)> {
    assert!(t.fill().is_some_and(Fill::is_undefined), "{t}");
    let mut all: Vec<_> = t.iter_stored().collect();
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

fn places(t: &Tensor) -> Vec<Vec<usize>> {
    there(t).into_iter().map(|(at, _)| at).collect()
}

/// A dtype that every op takes which takes any.
fn for_op(t: &Tensor, takes: impl Fn(DType) -> bool) -> Tensor {
    let dtype = [DType::F64, DType::I64, DType::Bool].into_iter().find(|&d| takes(d)).expect("a dtype");
    t.cast(dtype).unwrap()
}

#[test]
fn unary_ops_exist_where_the_operand_does() {
    for layout in LAYOUTS {
        for &op in UnaryOp::ALL {
            let x = for_op(&x(layout), |d| op.typing(d).is_some());
            let got = with_densify_budget(0, || x.unary(op)).unwrap();
            assert_eq!(got.layout(), x.layout());
            let want = x.stored_values().unary(op).unwrap().to_contiguous().unwrap();
            let want: Vec<_> = (0..3).map(|i| want.get([i]).unwrap().unwrap()).collect();
            let got: Vec<_> = got.iter_stored().map(|(_, v)| v).collect();
            assert_eq!(got.len(), want.len(), "{} {layout}", op.name());
            assert!(got.iter().zip(&want).all(|(a, b)| a.same(*b)), "{} {layout}: {got:?} {want:?}", op.name());
        }
    }
}

#[test]
fn binary_ops_exist_where_both_do() {
    for layout in LAYOUTS {
        for &op in BinaryOp::ALL {
            let takes = |d: DType| op.typing(d).is_some();
            let (x, y) = (for_op(&x(layout), takes), for_op(&y(Layout::Coo), takes));
            with_densify_budget(0, || {
                assert_eq!(places(&x.binary(op, &y).unwrap()), [[0, 1]], "{} {layout}", op.name());
                // Whatever the fill of the other: an annihilator beside what is absent is absent.
                for fill in [0, 1] {
                    let defined = y.replace_fill(Scalar::I32(fill).cast(y.dtype())).unwrap();
                    let name = op.name();
                    assert_eq!(places(&x.binary(op, &defined).unwrap()), [[0, 0], [0, 1], [2, 2]], "{name} {layout}");
                    assert_eq!(places(&defined.binary(op, &x).unwrap()), [[0, 0], [0, 1], [2, 2]], "{name} {layout}");
                }
                assert_eq!(places(&x.binary(op, &x).unwrap()), places(&x), "{} {layout}", op.name());
            });
        }
    }
}

#[test]
fn reductions_skip_and_a_slice_of_nothing_is_absent() {
    for layout in LAYOUTS {
        for &op in ReduceOp::ALL {
            let x = for_op(&x(layout), |d| op.typing(d).is_some());
            let (rows, name) = (x.reduce(op, 1).unwrap(), op.name());
            let one = |data: &[Scalar]| {
                let strided = Tensor::from_vec([data.len()], data.iter().map(|v| v.to::<f64>()).collect()).unwrap();
                strided.cast(x.dtype()).unwrap().reduce(op, ..).unwrap().item().unwrap()
            };
            let element = |i: usize, j: usize| x.get([i, j]).unwrap().unwrap();
            assert!(rows.get([0]).unwrap().unwrap().same(one(&[element(0, 0), element(0, 1)])), "{name} {layout}");
            assert!(rows.get([2]).unwrap().unwrap().same(one(&[element(2, 2)])), "{name} {layout}");
            match op {
                ReduceOp::CountNonzero => assert_eq!(rows.get([1]).unwrap(), Some(0i64.into()), "{layout}"),
                _ => assert_eq!(rows.get([1]).unwrap(), None, "{name} {layout}"),
            }
            // Of nothing at all.
            let empty = x.select_values(|_: f64| false).or_else(|_| x.select_values(|_: i64| false));
            let nothing = empty.or_else(|_| x.select_values(|_: bool| false)).unwrap().reduce(op, ..).unwrap();
            match op {
                ReduceOp::CountNonzero => assert_eq!(nothing.item().unwrap(), 0i64.into()),
                _ => {
                    let error = nothing.item().unwrap_err();
                    assert!(matches!(error.kind(), ErrorKind::Absent { .. }), "{name} {layout}: {error}");
                }
            }
        }
    }
}

#[test]
fn products_skip() {
    for layout in LAYOUTS {
        // Row 0: 5·absent + 2·absent; row 2: 3·absent. Only (0, 0) of x·y: x[0, 1]·y[1, 0].
        let product = x(layout).matmul(&y(layout)).unwrap();
        let want = [(vec![0, 0], 2.0.into()), (vec![0, 1], 15.0.into()), (vec![0, 2], 20.0.into())];
        assert_eq!(there(&product), want, "{layout}");
        let strided = Tensor::from_vec([3, 1], vec![1.0, 1.0, f64::NAN]).unwrap();
        let product = x(layout).matmul(&strided).unwrap();
        assert_eq!(product.get([0, 0]).unwrap(), Some(7.0.into()), "{layout}");
        assert_eq!(product.get([1, 0]).unwrap(), None, "{layout}");
    }
}

#[test]
fn softmax_ignores_the_absent() {
    for layout in LAYOUTS {
        let s = x(layout).softmax(1).unwrap();
        assert_eq!(places(&s), places(&x(layout)));
        let near = |at: &[usize], want: f64| {
            let got = s.get(at).unwrap().unwrap().to::<f64>();
            assert!((got - want).abs() < 1e-15, "{layout} {at:?}: {got}, not {want}");
        };
        let e = 3f64.exp();
        near(&[0, 0], e / (1.0 + e));
        near(&[0, 1], 1.0 / (1.0 + e));
        near(&[2, 2], 1.0);
    }
}

#[test]
fn choices_are_absent_where_the_condition_or_the_chosen_is() {
    let (x, y) = (x(Layout::Csr), y(Layout::Csr));
    let c = Tensor::from_vec([3, 3], vec![true, false, true, true, false, true, false, true, true]).unwrap();
    with_densify_budget(0, || {
        assert_eq!(places(&c.where_(&x, &y).unwrap()), [[0, 0], [0, 1], [2, 2]]);
        assert_eq!(places(&c.where_(&x, 7.0).unwrap()), [[0, 0], [0, 1], [1, 1], [2, 0], [2, 2]]);
        assert_eq!(places(&x.gt(0.0).unwrap().where_(1.0, 0.0).unwrap()), places(&x));
        assert_eq!(places(&x.gt(2.5).unwrap().where_(&y, 0.0).unwrap()), [[0, 1]]);
        assert_eq!(places(&x.mask(&c).unwrap()), [[0, 0], [2, 2]]);
        assert_eq!(places(&x.mask_complement(&c).unwrap()), [[0, 1]]);
    });
}

#[test]
fn unions_fill_gaps_with_defaults() {
    let u = x(Layout::Csr).union(BinaryOp::Sub, &y(Layout::Coo), 100, 1000).unwrap();
    let want = [([0, 0], -995.0), ([0, 1], -1.0), ([0, 2], 96.0), ([1, 0], 99.0), ([2, 2], -997.0)];
    assert_eq!(there(&u), want.map(|(at, v)| (at.to_vec(), v.into())));
    // An annihilator drops nothing.
    let zero = x(Layout::Csr).union(BinaryOp::Mul, &y(Layout::Csr), 0, 0).unwrap();
    assert_eq!(zero.nse(), 5);
    // One side without gaps: the result has none.
    let half = x(Layout::Csr).union(BinaryOp::Add, &y(Layout::Csr).replace_fill(0.5).unwrap(), 10, 0).unwrap();
    assert_eq!((half.get([1, 1]).unwrap(), half.get([0, 1]).unwrap()), (Some(10.5.into()), Some(5.0.into())));
}

#[test]
fn the_door_to_storage() {
    for layout in LAYOUTS {
        let zero = x(layout).replace_fill(0.0).unwrap();
        assert!(zero.stored().same_meaning(&x(layout)).unwrap());
        assert_eq!(zero.stored().mean(..).unwrap().item().unwrap(), (10.0 / 3.0).into());
        assert_eq!(zero.mean(..).unwrap().item().unwrap(), (10.0 / 9.0).into());
        let flags = zero.is_stored().unwrap();
        assert_eq!((flags.dtype(), flags.nse(), flags.get([1, 1]).unwrap()), (DType::Bool, 3, Some(false.into())));
        let mapped = zero.apply_stored(|v: f64| v + 1.0).unwrap();
        let by_hand = zero.stored().map(|v: f64| v + 1.0).unwrap().replace_fill(0.0).unwrap();
        assert!(mapped.same_meaning(&by_hand).unwrap());
        assert_eq!(mapped.get([1, 1]).unwrap(), Some(0.0.into()));
    }
}

#[test]
fn absent_elements_have_no_value() {
    let x = x(Layout::Csr);
    assert_eq!(x.get([1, 1]).unwrap(), None);
    let error = x.to_dense().unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Absent { .. }) && error.to_string().contains("to_dense_with"));
    assert_eq!(x.to_dense_with(-1.0).unwrap().get([1, 1]).unwrap(), Some((-1.0).into()));
    assert!(matches!(x.fill_value().unwrap_err().kind(), ErrorKind::Absent { .. }));
    assert!(matches!(x.with_fill(0.0).unwrap_err().kind(), ErrorKind::Absent { .. }));
    let one = Tensor::empty([], DType::F64, Layout::Coo, Fill::Undefined).unwrap();
    assert!(matches!(one.item().unwrap_err().kind(), ErrorKind::Absent { .. }));
    // Shape ops move what is there.
    assert_eq!(places(&x.matrix_transpose().unwrap()), [[0, 0], [1, 0], [2, 2]]);
    assert_eq!(places(&x.cast(DType::I32).unwrap()), places(&x));
    assert_eq!(places(&x.reshape([9]).unwrap()), [[0], [1], [8]]);
}
