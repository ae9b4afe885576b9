//! Elements of tensors of one, three and four axes, chosen, moved, joined and combined along each: beside the same of dense arrays, on one,
//! two and three threads.

use crate::common::on_threads;
use openwork::parallel::with_threads;
use openwork::{BinaryOp, DType, Fill, Index, Layout, ReduceOp, Result, Scalar, Span, Tensor};

const ALL: Index = Index::Range(Span { start: 0, end: None }, 1);

/// A tensor of which about `density` of 1000 elements are whole numbers, and the others a fill.
fn tensor(shape: &[usize], density: usize, seed: usize, fill: f64) -> Tensor {
    let mix = |i: usize| (i + seed).wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_mul(0xBF58_476D) >> 20;
    let number = |i: usize| if mix(i) % 1000 < density { ((i * 7919 + seed) % 23) as f64 + 1.0 } else { fill };
    Tensor::from_vec(shape, (0..shape.iter().product()).map(number).collect::<Vec<f64>>()).unwrap()
}

fn list(n: usize, of: impl Fn(usize) -> usize) -> Tensor {
    Tensor::from_vec([n], (0..n).map(|i| of(i) as i64).collect::<Vec<i64>>()).unwrap()
}

/// The op of both gives what it gives of the dense ones, the same on any number of threads, in the layout of the first.
fn check(
    what: &str,
    [a, b]: [&Tensor; 2],
    dense: [&Tensor; 2],
    op: &(dyn Fn(&Tensor, &Tensor) -> Result<Tensor> + Sync),
) {
    let what = format!("{what} of {} {:?}", a.layout(), a.shape());
    let wanted = op(dense[0], dense[1]).and_then(|t| t.to_dense()).unwrap();
    let first = on_threads(&what, &|| op(a, b));
    assert!(first.to_dense().unwrap().equal(&wanted).unwrap(), "{what}");
    assert_eq!(first.layout(), a.layout(), "{what}");
    assert!(first.is_coalesced(), "{what}");
}

#[test]
fn they_are_those_of_dense_arrays() {
    let shapes: [(&[usize], usize); 7] = [
        (&[20, 30, 200], 200),
        (&[3000, 7, 5], 100),
        (&[2, 3, 20_000], 300),
        (&[4, 5, 6, 700], 600),
        (&[40_000], 500),
        (&[1, 9000, 4], 400),
        (&[5, 4, 3, 2], 1),
    ];
    for (shape, density) in shapes {
        for fill in [0.0, 2.0] {
            let dense = [tensor(shape, density, 1, fill), tensor(shape, density / 3, 99, fill)];
            for layout in [Layout::Coo, Layout::Csf, Layout::Csr, Layout::Csc] {
                if layout != Layout::Coo && shape.len() == 1 {
                    continue;
                }
                let sparse = [&dense[0], &dense[1]].map(|t| t.to_sparse(layout, Scalar::F64(fill)).unwrap());
                let both = [&sparse[0], &sparse[1]];
                let dense = [&dense[0], &dense[1]];
                moved(both, dense);
                for op in [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Maximum, BinaryOp::Gt, BinaryOp::Sub] {
                    check(op.name(), both, dense, &|a, b| a.binary(op, b));
                }
                let narrow = sparse[1].cast(DType::I16).unwrap();
                let narrow_dense = dense[1].cast(DType::I16).unwrap();
                check("add i16", [&sparse[0], &narrow], [dense[0], &narrow_dense], &|a, b| a.binary(BinaryOp::Add, b));
            }
        }
    }
}

fn moved(both: [&Tensor; 2], dense: [&Tensor; 2]) {
    let shape = both[0].shape().to_vec();
    for (axis, &n) in shape.iter().enumerate() {
        let with = |index: Index| -> Vec<Index> { std::iter::repeat_n(ALL, axis).chain([index]).collect() };
        let of = |what: &str, op: &(dyn Fn(&Tensor, &Tensor) -> Result<Tensor> + Sync)| {
            check(&format!("{what} {axis}"), both, dense, op);
        };
        let some = list(n / 2 + 3, |i| (i * 7919) % n);
        let rising = list(n.div_ceil(3), |i| 3 * i);
        let twice = list(2 * n, |i| i / 2);
        let mask = Tensor::from_vec([n], (0..n).map(|i| i % 5 != 1).collect::<Vec<bool>>()).unwrap();
        let backwards = Index::Range(Span { start: 0, end: None }, -2);
        of("reversed", &|t, _| t.flip(axis));
        of("rolled", &|t, _| t.roll(3, axis));
        of("repeated", &|t, _| t.repeat(3, axis));
        of("some", &|t, _| t.index_select(some.clone(), axis));
        of("some that rise", &|t, _| t.index_select(rising.clone(), axis));
        of("all twice", &|t, _| t.index_select(twice.clone(), axis));
        of("marked", &|t, _| t.index(with(Index::Mask(mask.clone()))));
        of("every second", &|t, _| t.slice(with(Index::Range(Span { start: 1, end: None }, 2))));
        of("every second, backwards", &|t, _| t.slice(with(backwards.clone())));
        of("a window", &|t, _| t.narrow(n / 3..n - n / 4, axis));
        of("the beginning", &|t, _| t.narrow(0..n.div_ceil(2), axis));
        of("no window", &|t, _| t.narrow(n / 2..n / 2, axis));
        for parts in [3, 9] {
            let ends: Vec<usize> = (1..parts).map(|i| i * n / parts).collect();
            for part in [0, 1, parts - 1] {
                of("split", &|t, _| Ok(t.tensor_split(&ends, axis)?.swap_remove(part)));
            }
        }
        of("joined", &|a, b| Tensor::concat(&[a, b, a], axis));
        of("many joined", &|a, b| Tensor::concat(&[a, b, a, b, b, b, a, a, b, a], axis));
        of("joined with nothing", &|a, b| {
            Tensor::concat(&[&a.narrow(0..0, axis)?, b, &b.narrow(0..n.min(1), axis)?], axis)
        });
    }
}

#[test]
fn rows_of_values_are_those_of_dense_arrays() {
    for (shape, sparse) in [(&[900, 40][..], 1), (&[400, 5, 7], 1), (&[30, 20, 9], 2)] {
        let n = shape.len();
        for fill in [0.0, 2.0] {
            let dense = tensor(shape, 300, 5, fill);
            // A fill for each index of the last axis, which is one of values, and one for each of the first.
            let of = |axis: usize| {
                let mut own = vec![1; n];
                own[axis] = shape[axis];
                Tensor::from_vec(&own[..], (0..shape[axis]).map(|i| (i % 4) as f64).collect::<Vec<_>>()).unwrap()
            };
            for x in [
                hybrid(&dense, sparse, fill.into()),
                hybrid(&dense, sparse, of(n - 1).into()),
                hybrid(&dense, sparse, of(0).into()),
            ] {
                let whole = x.to_dense().unwrap();
                let on = |what: &str, op: &(dyn Fn(&Tensor) -> Result<Tensor> + Sync)| {
                    let wanted = op(&whole).and_then(|t| t.to_dense()).unwrap();
                    for threads in 1..=3 {
                        let found = with_threads(threads, || op(&x)).unwrap().unwrap().to_dense().unwrap();
                        assert!(
                            found.equal(&wanted).unwrap(),
                            "{what} of {shape:?}, {sparse} sparse, {threads} threads"
                        );
                    }
                };
                for axis in 0..n {
                    on("sort", &|t| t.sort(axis));
                    on("sort_descending", &|t| t.sort_descending(axis));
                    on("argsort", &|t| t.argsort(axis));
                    on("topk", &|t| Ok(t.topk(3, axis)?.0));
                    on("places of topk", &|t| Ok(t.topk(3, axis)?.1));
                    on("cumulative_sum", &|t| t.cumulative_sum(axis));
                    on("cumulative_sum_with_initial", &|t| t.cumulative_sum_with_initial(axis));
                    on("cummax", &|t| t.cummax(axis));
                    on("median", &|t| t.median(axis));
                    on("quantile", &|t| t.quantile(0.3, axis));
                    on("mode", &|t| t.mode(axis));
                    on("flip", &|t| t.flip(axis));
                    on("roll", &|t| t.roll(3, axis));
                    for op in [ReduceOp::Sum, ReduceOp::Max, ReduceOp::Mean, ReduceOp::CountNonzero, ReduceOp::Any] {
                        on(op.name(), &|t| t.reduce(op, axis));
                        let others: Vec<usize> = (0..n).filter(|&a| a != axis).collect();
                        on(op.name(), &|t| t.reduce(op, &others[..]));
                    }
                    on("times a number for each", &|t| t.mul(of(axis)));
                    on("and a number for each", &|t| t.add(of(axis)));
                }
                let split: Vec<usize> = shape[..n - 1].iter().copied().chain([1, shape[n - 1], 1]).collect();
                on("reshape", &|t| t.reshape(&split));
                on("flatten", &|t| t.flatten());
                if n == 2 {
                    let m = tensor(&[shape[1], 5], 800, 9, 0.0);
                    on("matmul", &|t| t.matmul(&m));
                    on("matmul f32", &|t| t.cast(DType::F32)?.matmul(&m.cast(DType::F32)?));
                }
            }
        }
    }
    let x = hybrid(&tensor(&[50, 12], 300, 5, 0.0), 1, 0.0.into());
    let stays = |t: Tensor| assert!(matches!(t.layout(), Layout::HybridCoo { .. }), "{} {:?}", t.layout(), t.shape());
    [x.sort(1), x.argsort(1), x.cumulative_sum(1), x.reshape([50, 3, 4]), x.reshape([5, 10, 12])]
        .into_iter()
        .for_each(|t| stays(t.unwrap()));
    stays(x.topk(2, 1).unwrap().1);
}

/// Rows of some leading axes, of which every third is left out: there is the fill.
fn hybrid(dense: &Tensor, sparse: usize, fill: Fill) -> Tensor {
    let shape = dense.shape();
    let rows: usize = shape[..sparse].iter().product();
    let kept: Vec<usize> = (0..rows).filter(|i| i % 3 != 1).collect();
    let list = list(kept.len(), |i| kept[i]);
    let of_rows: Vec<usize> = [rows].into_iter().chain(shape[sparse..].iter().copied()).collect();
    let values = dense.reshape(&of_rows).unwrap().index_select(list, 0).unwrap();
    let mut indices: Vec<Vec<u64>> = Vec::new();
    let mut below = rows;
    for &size in &shape[..sparse] {
        below /= size;
        indices.push(kept.iter().map(|&i| (i / below % size) as u64).collect());
    }
    Tensor::coo(shape, indices, &values, fill).unwrap()
}

/// Two operands of which each is in another layout, joined and met element by element: the result is in the layout of the first.
#[test]
fn operands_in_two_layouts() {
    let of_matrix = [Layout::Csr, Layout::Coo, Layout::Csc, Layout::Dcsr, Layout::Dcsc];
    let of_more = [Layout::Coo, Layout::Csf, Layout::Csr, Layout::Csc];
    let shapes: [(&[usize], usize, &[Layout]); 4] = [
        (&[300, 400], 60, &of_matrix),
        (&[30_000, 9], 20, &of_matrix), // most rows store nothing
        (&[3, 5], 400, &of_matrix),
        (&[20, 30, 50], 100, &of_more),
    ];
    for (shape, density, layouts) in shapes {
        let fill = |fill: Option<f64>| fill.map_or(Fill::Undefined, |fill| Fill::Scalar(Scalar::F64(fill)));
        for fills in [[Some(0.0), Some(0.0)], [Some(2.0), Some(0.0)], [None, None], [Some(0.0), None]] {
            let whole = [0, 1].map(|i| tensor(shape, density, 7 + 92 * i, fills[i].unwrap_or(-1.0)));
            let listed = [0, 1].map(|i| {
                let x = whole[i].to_sparse(Layout::Coo, Scalar::F64(fills[i].unwrap_or(-1.0))).unwrap();
                x.replace_fill(fill(fills[i])).unwrap()
            });
            for of_a in layouts {
                for of_b in layouts {
                    let (a, b) = (listed[0].to_layout(*of_a).unwrap(), listed[1].to_layout(*of_b).unwrap());
                    for op in [BinaryOp::Add, BinaryOp::Mul, BinaryOp::Maximum, BinaryOp::Ne] {
                        let what = format!("{} of {of_a} and {of_b} {shape:?} over {fills:?}", op.name());
                        let found = on_threads(&what, &|| a.binary(op, &b));
                        assert!(found.layout() == *of_a && found.is_coalesced(), "{what}: {}", found.layout());
                        // What both store in coordinates alone, which have one way.
                        let wanted = listed[0].binary(op, &listed[1]).unwrap();
                        assert_eq!(found.nse(), wanted.nse(), "{what}");
                        let found = found.to_layout(Layout::Coo).unwrap();
                        assert!(found.coordinates() == wanted.coordinates(), "{what}");
                        assert!(found.stored_values().equal(&wanted.stored_values()).unwrap(), "{what}");
                        if fills.iter().all(Option::is_some) {
                            let dense = whole[0].binary(op, &whole[1]).unwrap();
                            assert!(found.to_dense().unwrap().equal(&dense).unwrap(), "{what}");
                        }
                    }
                    if fills[0] == fills[1] {
                        for axis in 0..shape.len() {
                            let what = format!("{of_a} beside {of_b} {shape:?} along {axis}");
                            let found = on_threads(&what, &|| Tensor::concat(&[&a, &b, &a], axis));
                            assert!(found.layout() == *of_a && found.is_coalesced(), "{what}: {}", found.layout());
                            let wanted = Tensor::concat(&[&listed[0], &listed[1], &listed[0]], axis).unwrap();
                            assert!(found.same_meaning(&wanted).unwrap() && found.nse() == wanted.nse(), "{what}");
                        }
                    }
                }
            }
        }
    }
}

/// A sparse tensor beside another that has more axes, where only what that one stores can be stored: the same as beside the one repeated.
#[test]
fn fewer_axes_beside_more() {
    let shape = [20, 30, 50];
    for of_x in [Some(0.0), None] {
        let value = of_x.unwrap_or(0.0);
        let whole = tensor(&shape, 150, 3, value);
        let listed = whole.to_sparse(Layout::Coo, Scalar::F64(value)).unwrap();
        let fill = of_x.map_or(Fill::Undefined, |fill| Fill::Scalar(Scalar::F64(fill)));
        let listed = listed.replace_fill(fill).unwrap();
        for layout in [Layout::Coo, Layout::Csf, Layout::Csr, Layout::Csc] {
            let x = listed.to_layout(layout).unwrap();
            for (of_v, size) in [(0.0, &[30, 50][..]), (0.0, &[20, 1, 50]), (2.0, &[20, 30, 1]), (0.0, &[1, 30, 50])] {
                for density in [5, 300] {
                    let dense = tensor(size, density, 31, of_v);
                    let v = dense.to_sparse(Layout::Coo, Scalar::F64(of_v)).unwrap();
                    let wide = v.broadcast_to(shape).unwrap();
                    let ops: &[BinaryOp] = match of_x {
                        Some(_) => &[BinaryOp::Mul],
                        None => &[BinaryOp::Mul, BinaryOp::Add, BinaryOp::Sub, BinaryOp::Maximum, BinaryOp::Gt],
                    };
                    for op in ops {
                        let what = format!("{} of {layout} over {of_x:?} and {size:?} over {of_v}", op.name());
                        for is_turned in [false, true] {
                            let both = |v: &Tensor| if is_turned { v.binary(*op, &x) } else { x.binary(*op, v) };
                            let (found, wanted) = (on_threads(&what, &|| both(&v)), both(&wide).unwrap());
                            assert!(found.same_meaning(&wanted).unwrap(), "{what}");
                            assert!(found.nse() <= x.nse() && found.is_coalesced(), "{what}: {}", found.nse());
                            if of_x.is_some() && of_v == 0.0 {
                                assert_eq!(found.nse(), wanted.nse(), "{what}");
                            }
                        }
                    }
                }
            }
        }
    }
    // No table of so many cells: what is looked up is searched for.
    let n = 5000u64;
    let (rows, columns) = (3u64, 1u64 << 40);
    let place = |i: u64| [i % rows, i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 24, i / rows];
    let of = |keep: &dyn Fn(u64) -> bool, axes: &[usize]| {
        let kept: Vec<u64> = (0..n * rows).filter(|&i| keep(i)).collect();
        let indices: Vec<Vec<u64>> = axes.iter().map(|&a| kept.iter().map(|&i| place(i)[a]).collect()).collect();
        let values = Tensor::from_vec([kept.len()], kept.iter().map(|&i| i as f64).collect::<Vec<f64>>()).unwrap();
        let shape: Vec<usize> = axes.iter().map(|&a| [rows, columns, n][a] as usize).collect();
        Tensor::coo(&shape[..], indices, &values, 0.0).unwrap().coalesce().unwrap()
    };
    let (x, v) = (of(&|i| i % 5 != 0, &[0, 1, 2]), of(&|i| i % 7 < 3, &[1, 2]));
    let found = on_threads("searched", &|| x.mul(&v));
    let wanted: f64 = (0..n * rows).filter(|i| i % 5 != 0 && i % 7 < 3).map(|i| (i * i) as f64).sum();
    let met = (0..n * rows).filter(|i| i % 5 != 0 && i % 7 < 3).count();
    assert_eq!((found.nse(), found.sum(..).unwrap().item().unwrap()), (met, Scalar::F64(wanted)));
}

/// Products over each axis, and over two, of tensors in any layout and arrays: those of dense ones, and what is stored is what is stored
/// where the summed axes come last.
#[test]
fn products_over_each_axis() {
    for (shape, density) in [(&[20, 30, 50][..], 100), (&[9, 8, 7, 40], 200), (&[3, 400, 2], 30), (&[1, 60, 70], 300)] {
        let n = shape.len();
        for of_fill in [Some(0.0), None] {
            let whole = tensor(shape, density, 17, 0.0);
            let listed = whole.to_sparse(Layout::Coo, Scalar::F64(0.0)).unwrap();
            let fill = of_fill.map_or(Fill::Undefined, |fill| Fill::Scalar(Scalar::F64(fill)));
            let listed = listed.replace_fill(fill).unwrap();
            for layout in [Layout::Coo, Layout::Csf, Layout::Csr, Layout::Csc] {
                let x = listed.to_layout(layout).unwrap();
                for first in 0..n {
                    for axes in [vec![first as isize], vec![first as isize, ((first + 1) % n) as isize]] {
                        let inner: Vec<usize> = axes.iter().map(|&a| shape[a as usize]).collect();
                        for columns in [None, Some(1), Some(5)] {
                            let sizes: Vec<usize> = inner.iter().copied().chain(columns).collect();
                            let m = tensor(&sizes, 900, 23, 0.0);
                            let to: Vec<isize> = (0..axes.len() as isize).collect();
                            let what = format!("{layout} {shape:?} over {of_fill:?} times {sizes:?} along {axes:?}");
                            let found = on_threads(&what, &|| x.tensordot(&m, (&axes[..], &to[..])));
                            let wanted = whole.tensordot(&m, (&axes[..], &to[..])).unwrap();
                            let with_zeros =
                                if found.is_strided() { found.clone() } else { found.replace_fill(0.0).unwrap() };
                            assert!(with_zeros.to_dense().unwrap().equal(&wanted).unwrap(), "{what}");
                            // The same with the summed axes last, where rows are stored as they are.
                            let rest = (0..n as isize).filter(|a| !axes.contains(a));
                            let order: Vec<isize> = rest.chain(axes.iter().copied()).collect();
                            let last = x.permute_dims(&order[..]).unwrap().to_layout(Layout::Coo).unwrap();
                            let ends: Vec<isize> = ((n - axes.len()) as isize..n as isize).collect();
                            let plain = last.tensordot(&m, (&ends[..], &to[..])).unwrap();
                            assert!(plain.same_meaning(&found).unwrap() && plain.nse() == found.nse(), "{what}");
                        }
                    }
                }
            }
        }
    }
}

/// Axes in every order, to every layout, of more elements than are sorted at once: what storage order settles is not sorted again.
#[test]
fn orders_of_axes() {
    for (shape, fill) in [(&[40usize, 50, 60][..], 0.0), (&[7, 1, 90, 200], 1.5), (&[9, 11, 2, 13, 37], 0.0)] {
        let x = Tensor::random(shape, 0.7, fill, Layout::Coo, 11).unwrap();
        assert!(x.nse() > 1 << 16);
        let mut orders = vec![vec![0usize]];
        for axis in 1..shape.len() {
            let with = |order: &Vec<usize>, at: usize| [&order[..at], &[axis], &order[at..]].concat();
            orders = orders
                .iter()
                .flat_map(|order| (0..=order.len()).map(|at| with(order, at)).collect::<Vec<_>>())
                .collect();
        }
        for order in orders.iter().step_by([1, 5, 11][shape.len() - 3]) {
            let axes: Vec<isize> = order.iter().map(|&axis| axis as isize).collect();
            let want = x.to_dense().unwrap().permute_dims(&axes[..]).unwrap();
            let turned = x.permute_dims(&axes[..]).unwrap();
            for layout in [Layout::Coo, Layout::Csf, Layout::Csr, Layout::Csc] {
                let found = on_threads("permuted", &|| turned.to_layout(layout));
                assert_eq!((found.layout(), found.nse()), (layout, x.nse()));
                assert!(found.is_coalesced() && found.equal(&want).unwrap(), "{layout}, {order:?} of {shape:?}");
                let back = order.iter().enumerate().fold(vec![0; axes.len()], |mut back, (i, &axis)| {
                    back[axis] = i as isize;
                    back
                });
                let back = found.permute_dims(&back[..]).unwrap().to_layout(Layout::Coo).unwrap();
                assert!(
                    back.coordinates() == x.coordinates()
                        && back.values::<f64>().unwrap() == x.values::<f64>().unwrap()
                );
            }
            // Slices along each axis, which are brought together by keys as well.
            let near = |a: Result<Tensor>, b: Result<Tensor>| a.unwrap().allclose(&b.unwrap(), 1e-12, 1e-12).unwrap();
            for axis in 0..shape.len() {
                assert!(near(turned.var(0.0, axis), want.var(0.0, axis)), "var along {axis}, {order:?} of {shape:?}");
                assert!(turned.argmax(axis).unwrap().equal(&want.argmax(axis).unwrap()).unwrap());
                assert!(turned.sort(axis).unwrap().equal(&want.sort(axis).unwrap()).unwrap());
            }
        }
    }
}
