//! Products of matrices in small dense blocks with strided ones, beside those of the same elements in compressed rows.

use openwork::parallel::with_threads;
use openwork::{DType, ErrorKind, Layout, Tensor, explain};

const SHAPES: [[usize; 2]; 5] = [[4, 4], [2, 3], [3, 2], [1, 6], [12, 8]];

fn close(x: &Tensor, y: &Tensor) -> bool {
    let tolerance = if x.dtype() == DType::F32 { 1e-5 } else { 1e-13 };
    x.dtype() == y.dtype() && x.shape() == y.shape() && x.allclose(y, tolerance, tolerance * 10.0).unwrap()
}

/// Both orders of blocks, both sides, operands turned and cut, few columns and many; the same bits on any number of threads.
#[test]
fn blocks_on_either_side_give_what_rows_give() {
    let (m, k) = (240, 360);
    for dtype in [DType::F64, DType::F32] {
        let x = Tensor::random([m, k], 0.05, 0.0, Layout::Csr, 3).unwrap().cast(dtype).unwrap();
        for block in SHAPES {
            for layout in [Layout::Bsr { block }, Layout::Bsc { block }] {
                let blocks = x.to_layout(layout).unwrap();
                for n in [1, 3, 8, 16, 37] {
                    let right = Tensor::rand([k, n], 5).unwrap().cast(dtype).unwrap();
                    let left = Tensor::rand([n, m], 6).unwrap().cast(dtype).unwrap();
                    // Rows that are not side by side.
                    let turned = Tensor::rand([n, k], 5).unwrap().cast(dtype).unwrap().t().unwrap();
                    let pairs: [(&Tensor, &Tensor, Tensor); 5] = [
                        (&blocks, &right, x.matmul(&right).unwrap()),
                        (&left, &blocks, left.matmul(&x).unwrap()),
                        (&blocks, &turned, x.matmul(&turned).unwrap()),
                        (&blocks.t().unwrap(), &left.t().unwrap(), left.matmul(&x).unwrap().t().unwrap()),
                        (&right.t().unwrap(), &blocks.t().unwrap(), x.matmul(&right).unwrap().t().unwrap()),
                    ];
                    for (i, (a, b, want)) in pairs.iter().enumerate() {
                        let on = |threads| with_threads(threads, || a.matmul(b).unwrap()).unwrap();
                        let (got, again) = (on(1), on(3));
                        assert!(close(&got, want), "{layout} {dtype} {n} {i}");
                        assert!(got.equal(&again).unwrap(), "{layout} {dtype} {n} {i}");
                    }
                }
                let v = Tensor::rand([k], 7).unwrap().cast(dtype).unwrap();
                assert!(close(&blocks.matmul(&v).unwrap(), &x.matmul(&v).unwrap()), "{layout}");
                let w = Tensor::rand([m], 8).unwrap().cast(dtype).unwrap();
                assert!(close(&w.matmul(&blocks).unwrap(), &w.matmul(&x).unwrap()), "{layout}");
            }
        }
    }
}

/// As many rows as take several pieces and slices, of which most store nothing; and nothing at all.
#[test]
fn many_rows_of_blocks() {
    let block = [4, 4];
    for (m, k, density) in [(40_000, 400, 1e-3), (400, 40_000, 1e-3), (4_000, 4_000, 0.0), (2_000, 2_000, 0.05)] {
        let x = Tensor::random([m, k], density, 0.0, Layout::Csr, 9).unwrap();
        for layout in [Layout::Bsr { block }, Layout::Bsc { block }] {
            let blocks = x.to_layout(layout).unwrap();
            for n in [1, 4, 16] {
                let right = Tensor::rand([k, n], 5).unwrap();
                let on = |threads| with_threads(threads, || blocks.matmul(&right).unwrap()).unwrap();
                let (got, again) = (on(1), on(4));
                assert!(close(&got, &x.matmul(&right).unwrap()), "{layout} {m} {n}");
                assert!(got.equal(&again).unwrap(), "{layout} {m} {n}");
            }
        }
    }
}

/// What repeats its elements, many and few beside what is stored, and one element in all blocks.
#[test]
fn views_that_repeat() {
    let block = [4, 4];
    let x = Tensor::random([240, 360], 0.05, 0.0, Layout::Csr, 3).unwrap();
    let column = Tensor::rand([360, 1], 5).unwrap().broadcast_to([360, 7]).unwrap();
    let row = Tensor::rand([1, 7], 6).unwrap().broadcast_to([360, 7]).unwrap();
    for layout in [Layout::Bsr { block }, Layout::Bsc { block }] {
        let blocks = x.to_layout(layout).unwrap();
        let ones = Tensor::ones([360, 700], DType::F64, Layout::Strided).unwrap();
        for right in [&column, &row, &ones] {
            assert!(close(&blocks.matmul(right).unwrap(), &x.matmul(right).unwrap()), "{layout}");
        }
        // All stored elements are one number in memory.
        let twos = Tensor::scalar(2.0).broadcast_to(blocks.stored_values().shape()).unwrap();
        let one = blocks.with_stored_values(&twos, 0.0).unwrap();
        let right = Tensor::rand([360, 7], 7).unwrap();
        let rows = one.to_dense().unwrap();
        assert!(close(&one.matmul(&right).unwrap(), &rows.matmul(&right).unwrap()), "{layout}");
        for to in [Layout::Csr, Layout::Csc, Layout::Coo] {
            assert!(one.to_layout(to).unwrap().equal(&rows).unwrap(), "{layout} {to}");
            assert!(blocks.to_layout(to).unwrap().equal(&x).unwrap(), "{layout} {to}");
        }
    }
}

/// NaN and infinity meet what blocks store, zeros too, and nothing else; other dtypes and fills go another way to the same result.
#[test]
fn what_is_not_finite_and_what_is_no_float() {
    let block = [2, 2];
    let x = Tensor::random([8, 12], 0.2, 0.0, Layout::Csr, 4).unwrap();
    let blocks = x.to_layout(Layout::Bsr { block }).unwrap();
    let v = Tensor::from_vec([12], (0..12).map(|i| if i == 3 { f64::INFINITY } else { 1.0 }).collect()).unwrap();
    let got = blocks.matmul(&v).unwrap();
    let same = blocks.to_layout(Layout::Csr).unwrap().matmul(&v).unwrap();
    assert!(got.to_vec::<f64>().unwrap().iter().any(|v| !v.is_finite()));
    let kinds = |t: &Tensor| t.to_vec::<f64>().unwrap().iter().map(|v| (v.is_nan(), v.is_finite())).collect::<Vec<_>>();
    assert_eq!(kinds(&got), kinds(&same));
    for dtype in [DType::I32, DType::Complex128, DType::F16, DType::Bool] {
        let (blocks, x) = (blocks.cast(dtype).unwrap(), x.cast(dtype).unwrap());
        let q = Tensor::ones([12, 3], dtype, Layout::Strided).unwrap();
        assert!(blocks.matmul(&q).unwrap().equal(&x.matmul(&q).unwrap()).unwrap(), "{dtype}");
    }
    let (over, rows) = ((&blocks + 2.0).unwrap(), (&x + 2.0).unwrap());
    let q = Tensor::rand([12, 3], 2).unwrap();
    assert!(close(&over.matmul(&q).unwrap(), &rows.matmul(&q).unwrap()));
    let wrong = blocks.matmul(&Tensor::rand([8, 3], 2).unwrap()).unwrap_err();
    assert!(matches!(wrong.kind(), ErrorKind::Shape { .. }), "{wrong}");
}

/// No operand is converted: that would be said.
#[test]
fn blocks_are_multiplied_as_they_are() {
    let block = [4, 4];
    let x = Tensor::random([80, 120], 0.1, 0.0, Layout::Csr, 4).unwrap();
    let q = Tensor::rand([120, 3], 2).unwrap();
    for layout in [Layout::Bsr { block }, Layout::Bsc { block }] {
        let blocks = x.to_layout(layout).unwrap();
        let (_, steps) = explain(|| blocks.matmul(&q).unwrap());
        let told: Vec<String> = steps.iter().map(|step| step.to_string()).collect();
        assert!(told.iter().any(|step| step.contains("matmul [Specialised]")), "{told:?}");
    }
}

/// Windows of whole blocks stay blocks; what cuts blocks comes as coordinates.
#[test]
fn windows_of_blocks() {
    let block = [4, 3];
    let x = Tensor::random([240, 360], 0.05, 0.0, Layout::Csr, 4).unwrap();
    for layout in [Layout::Bsr { block }, Layout::Bsc { block }] {
        let blocks = (&x.to_layout(layout).unwrap() + 1.0).unwrap();
        let want = (&x.to_dense().unwrap() + 1.0).unwrap();
        for (axis, range) in [(0, 8..120), (0, 0..0), (0, 236..240), (1, 3..9), (1, 0..360), (1, 300..300)] {
            let part = blocks.narrow(range.clone(), axis).unwrap();
            assert_eq!(part.layout(), layout, "{axis} {range:?}");
            assert!(part.equal(&want.narrow(range.clone(), axis).unwrap()).unwrap(), "{layout} {axis} {range:?}");
        }
        for (axis, range) in [(0, 7..120), (0, 5..6), (0, 1..240), (1, 2..9), (1, 359..360), (1, 10..10)] {
            let part = blocks.narrow(range.clone(), axis).unwrap();
            assert_eq!(part.layout(), Layout::Coo, "{axis} {range:?}");
            assert!(part.equal(&want.narrow(range.clone(), axis).unwrap()).unwrap(), "{layout} {axis} {range:?}");
        }
        for (axis, sizes) in [(0, [40, 120, 80]), (1, [120, 120, 120]), (0, [41, 100, 99]), (1, [1, 358, 1])] {
            let parts = blocks.split(sizes, axis).unwrap();
            let back = Tensor::concat(&parts.iter().collect::<Vec<_>>(), axis).unwrap();
            assert!(back.equal(&want).unwrap(), "{layout} {axis} {sizes:?}");
        }
    }
}

/// Ops that look at slices, and folds: what rows give, on one thread and on three.
#[test]
fn slices_of_blocks() {
    type Op = (&'static str, fn(&Tensor, isize) -> openwork::Result<Tensor>);
    let ops: [Op; 8] = [
        ("argmax", |x, axis| x.argmax(axis)),
        ("norm", |x, axis| x.vector_norm(2.0, axis)),
        ("var", |x, axis| x.var(0.0, axis)),
        ("median", |x, axis| x.median(axis)),
        ("count", |x, axis| x.count_nonzero(axis)),
        ("any", |x, axis| x.any(axis)),
        ("sum", |x, axis| x.sum(axis)),
        ("min", |x, axis| x.min(axis)),
    ];
    let x = Tensor::random([400, 600], 0.02, 0.0, Layout::Csr, 4).unwrap();
    for block in [[4, 3], [1, 6]] {
        for layout in [Layout::Bsr { block }, Layout::Bsc { block }] {
            let blocks = x.to_layout(layout).unwrap();
            for (name, op) in &ops {
                for axis in [0, 1] {
                    let on = |threads| with_threads(threads, || op(&blocks, axis).unwrap()).unwrap();
                    let (one, three) = (on(1), on(3));
                    assert!(close(&one, &op(&x, axis).unwrap()), "{layout} {name} {axis}");
                    assert!(one.equal(&three).unwrap(), "{layout} {name} {axis}");
                }
            }
        }
    }
}
