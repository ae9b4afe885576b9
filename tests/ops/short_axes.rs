//! Strided tensors beside plain loops: elements named along an axis, folds over axes between others and of short slices, norms of these,
//! products with vectors.

use openwork::{DType, Layout, ReduceOp, Tensor, c128, tensor};

use crate::arrays::on_threads;

/// Whole numbers, some of them less than zero.
fn number(i: usize) -> i64 {
    (i.wrapping_mul(0x9e37_79b1) >> 9) as i64 % 23 - 11
}

fn whole(shape: &[usize]) -> Tensor {
    Tensor::from_vec(shape, (0..shape.iter().product()).map(number).collect()).unwrap()
}

fn numbers(x: &Tensor) -> Vec<i64> {
    let x = if x.dtype().is_complex() { x.real().unwrap() } else { x.clone() };
    x.cast(DType::I64).unwrap().to_vec::<i64>().unwrap()
}

/// The same elements in other orders of memory, behind others and among others.
fn views(x: &Tensor) -> Vec<Tensor> {
    let reversed: Vec<usize> = (0..x.ndim()).rev().collect();
    let turned = x.permute_dims(&reversed[..]).unwrap().to_contiguous().unwrap().permute_dims(&reversed[..]).unwrap();
    let wide = Tensor::concat(&[x, x, x], x.ndim() as i64 - 1).unwrap();
    let n = x.shape()[x.ndim() - 1];
    vec![x.clone(), turned, wide.narrow(n..2 * n, x.ndim() as i64 - 1).unwrap()]
}

/// The index of element `i` in C order, and the place of an index.
fn index_of(mut i: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (at, &n) in index.iter_mut().zip(shape).rev() {
        (*at, i) = (i % n, i / n);
    }
    index
}

fn place_of(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |at, (i, n)| at * n + i)
}

#[test]
fn elements_along_an_axis() {
    // Elements in a second cache and beyond it, short rows and long ones.
    let shapes: [&[usize]; 7] = [&[9], &[5, 3], &[4, 1, 7], &[200_000, 3], &[3, 70_000], &[40, 50, 90], &[300_000]];
    for shape in shapes {
        for axis in 0..shape.len() {
            // Fewer are named than there are, along all axes; of a large array one more along this axis.
            let mut of_index: Vec<usize> = shape.iter().map(|&n| if n > 100 { n - 1 } else { n }).collect();
            of_index[axis] = shape[axis] + 1;
            let size = shape[axis] as i64;
            let count: usize = of_index.iter().product();
            let named: Vec<i64> = (0..count).map(|i| (number(i) + 11) * 7919 % (2 * size) - size).collect();
            let index = Tensor::from_vec(&of_index[..], named.clone()).unwrap();
            let x = whole(shape);
            let of_x = numbers(&x);
            let target = |i: usize| {
                let mut at = index_of(i, &of_index);
                at[axis] = (named[i] + if named[i] < 0 { size } else { 0 }) as usize;
                place_of(&at, shape)
            };
            let wanted: Vec<i64> = (0..count).map(|i| of_x[target(i)]).collect();
            let src = Tensor::from_vec(&of_index[..], (0..count as i64).collect()).unwrap();
            let mut written = of_x.clone();
            (0..count).for_each(|i| written[target(i)] = i as i64);
            for x in views(&x) {
                assert_eq!(on_threads(|| numbers(&x.gather(&index, axis as i64).unwrap())), wanted, "{shape:?} {axis}");
                assert_eq!(
                    on_threads(|| numbers(&x.scatter(&index, &src, axis as i64).unwrap())),
                    written,
                    "{shape:?}"
                );
                // What is stored otherwise gives the same.
                if count < 100_000 {
                    let coo = x.to_sparse(Layout::Coo, 0).unwrap();
                    assert_eq!(numbers(&coo.gather(&index, axis as i64).unwrap()), wanted);
                    assert_eq!(numbers(&coo.scatter(&index, &src, axis as i64).unwrap()), written);
                }
            }
            for dtype in [DType::I8, DType::I16, DType::F32, DType::Complex128] {
                let x = x.cast(dtype).unwrap();
                let found = x.gather(&index, axis as i64).unwrap();
                assert_eq!(numbers(&found), wanted, "{dtype:?}");
            }
        }
    }
    // Axes of both that are repeated.
    let x = tensor![[10, 20, 30]];
    let taken = x.take_along_axis(&tensor![[2], [0], [-2]], 1).unwrap();
    assert_eq!((taken.shape(), numbers(&taken)), (&[3, 1][..], vec![30, 10, 20]));
    let taken = tensor![[1], [2]].take_along_axis(&tensor![[1, 0, 1]], 0).unwrap();
    assert_eq!((taken.shape(), numbers(&taken)), (&[1, 3][..], vec![2, 1, 2]));
}

/// Folds over axes that lie between others, beside those of a copy in which they are last.
#[test]
fn folds_between_axes() {
    let shapes: [(&[usize], &[usize]); 8] = [
        (&[7, 5, 16], &[1]),
        (&[3, 40, 100], &[1]),
        (&[2, 3000, 100], &[1]),
        (&[2, 3, 70_000], &[1]),
        (&[600, 3, 17], &[1]),
        (&[5, 4, 3, 20], &[1, 2]),
        (&[5, 4, 3, 20], &[2]),
        (&[1, 9, 33], &[1]),
    ];
    let ops = [
        ReduceOp::Sum,
        ReduceOp::Prod,
        ReduceOp::Max,
        ReduceOp::Min,
        ReduceOp::Mean,
        ReduceOp::Any,
        ReduceOp::All,
        ReduceOp::CountNonzero,
    ];
    for (shape, axes) in shapes {
        let x = whole(shape);
        let kept: Vec<usize> = (0..shape.len()).filter(|a| !axes.contains(a)).collect();
        let last: Vec<usize> = kept.iter().chain(axes).copied().collect();
        for dtype in [DType::I64, DType::F64, DType::F32, DType::I8, DType::Bool, DType::Complex128] {
            let x = x.cast(dtype).unwrap();
            let copy = x.permute_dims(&last[..]).unwrap().to_contiguous().unwrap();
            for op in ops {
                let own = axes.iter().map(|&a| a as i64).collect::<Vec<_>>();
                let behind = (kept.len() as i64..shape.len() as i64).collect::<Vec<_>>();
                let Ok(wanted) = copy.reduce(op, &behind) else { continue };
                let found = on_threads(|| {
                    let found = x.reduce(op, &own).unwrap();
                    assert_eq!(found.shape(), wanted.shape());
                    found.cast(DType::Complex128).unwrap().to_vec::<c128>().unwrap()
                });
                let wanted = wanted.cast(DType::Complex128).unwrap().to_vec::<c128>().unwrap();
                // Products of floats are rounded in another order.
                let near = |a: &c128, b: &c128| a == b || (op == ReduceOp::Prod && (a - b).norm() <= 1e-12 * b.norm());
                assert!(found.iter().zip(&wanted).all(|(a, b)| near(a, b)), "{op:?} {dtype:?} {shape:?}");
            }
        }
    }
    let spread =
        Tensor::from_vec([2, 3, 20], (0..120).map(|i| if i == 47 { f64::NAN } else { 1.0 }).collect()).unwrap();
    let greatest = spread.max(1).unwrap().to_vec::<f64>().unwrap();
    assert!(greatest.iter().enumerate().all(|(i, x)| x.is_nan() == (i == 7)), "{greatest:?}");
}

/// Slices of two to five elements and more, with zeros of both signs, infinities and NaN.
#[test]
fn folds_of_short_rows() {
    let odd = |i: usize| match i * 7919 % 61 {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 | 4 => -0.0,
        5 => 0.0,
        k => (k % 7) as f64 - 3.0,
    };
    for k in 1..=40 {
        let all: Vec<f64> = (0..3000 * k).map(odd).collect();
        let x = Tensor::from_vec([3000, k], all.clone()).unwrap();
        for x in [x.clone(), x.cast(DType::F32).unwrap()] {
            let fold = |op| {
                on_threads(|| {
                    let found = x.reduce(op, 1).unwrap().cast(DType::F64).unwrap();
                    found.to_vec::<f64>().unwrap().into_iter().map(f64::to_bits).collect::<Vec<u64>>()
                })
            };
            let place = |greatest: bool| {
                let find = || if greatest { x.argmax(1).unwrap() } else { x.argmin(1).unwrap() };
                on_threads(|| numbers(&find()))
            };
            let (sums, most, least) = (fold(ReduceOp::Sum), fold(ReduceOp::Max), fold(ReduceOp::Min));
            let (first_most, first_least) = (place(true), place(false));
            for (r, row) in all.chunks_exact(k).enumerate() {
                let same =
                    |bits: u64, x: f64| f64::from_bits(bits) == x || (f64::from_bits(bits).is_nan() && x.is_nan());
                assert!(same(sums[r], row.iter().sum()), "{row:?}");
                let outermost = |better: fn(&f64, &f64) -> bool| {
                    let mut best = 0;
                    for (i, x) in row.iter().enumerate() {
                        if !row[best].is_nan() && (x.is_nan() || better(x, &row[best])) {
                            best = i;
                        }
                    }
                    best
                };
                let (high, low) = (outermost(f64::gt), outermost(f64::lt));
                assert!(same(most[r], row[high]) && same(least[r], row[low]), "{row:?}");
                assert_eq!((first_most[r], first_least[r]), (high as i64, low as i64), "{row:?}");
            }
        }
    }
    // Axes of one element behind those of the rows.
    let column = tensor![[1, 4, 2], [9, 0, 9]].reshape([2, 3, 1]).unwrap();
    let found = column.argmax(1).unwrap();
    assert_eq!((found.shape(), numbers(&found)), (&[2, 1][..], vec![1, 0]));
    assert_eq!(column.argmin(openwork::keep(1)).unwrap().shape(), [2, 1, 1]);
    let bytes = whole(&[1000, 3]).cast(DType::I8).unwrap();
    let first = |row: &[i64]| (0..3).rev().max_by_key(|&i| row[i]).unwrap() as i64;
    assert_eq!(numbers(&bytes.argmax(1).unwrap()), numbers(&bytes).chunks_exact(3).map(first).collect::<Vec<_>>());
}

#[test]
fn norms_of_short_slices() {
    let rows = [[3e200, 4e200], [3e-200, 4e-200], [0.0, -0.0], [f64::INFINITY, 1.0], [3.0, -4.0]];
    let wanted = [5e200, 5e-200, 0.0, f64::INFINITY, 5.0];
    let near = |a: f64, b: f64| a == b || (a - b).abs() <= 1e-15 * b;
    let check = |x: &Tensor, axis: i64, wanted: &[f64]| {
        let found = on_threads(|| x.vector_norm(2.0, axis).unwrap().to_vec::<f64>().unwrap());
        assert!(found.iter().zip(wanted).all(|(&a, &b)| near(a, b)), "{found:?} {wanted:?}");
    };
    let x = Tensor::from_vec([5, 2], rows.as_flattened().to_vec()).unwrap();
    check(&x, 1, &wanted);
    check(&x.t().unwrap(), 0, &wanted);
    check(&x.t().unwrap().to_contiguous().unwrap(), 0, &wanted);
    check(&x.narrow(4..5, 0).unwrap(), 1, &[5.0]);
    let nan = Tensor::from_vec([2, 2], vec![f64::NAN, 1.0, 3.0, 4.0]).unwrap();
    let found = nan.vector_norm(2.0, 1).unwrap().to_vec::<f64>().unwrap();
    assert!(found[0].is_nan() && found[1] == 5.0);
    // Squares of single precision neither overflow nor vanish in double precision.
    let narrow = tensor![[3e38f32, 0.0], [1e-45, 0.0], [f32::INFINITY, 1.0], [3e-30, 4e-30]];
    let found = narrow.vector_norm(2.0, 1).unwrap();
    assert_eq!(found.dtype(), DType::F32);
    assert_eq!(found.to_vec::<f32>().unwrap(), [3e38, 1e-45, f32::INFINITY, 5e-30]);
    let whole = tensor![[3, 4], [i64::MIN, 0]].vector_norm(2.0, 1).unwrap();
    assert_eq!(whole.to_vec::<f64>().unwrap(), [5.0, 2f64.powi(63)]);
    // Slices of a norm of 0 stay as they are.
    let unit = tensor![[3e30f32, 4e30], [0.0, 0.0], [0.0, -2e-20]].normalize(2.0, 1).unwrap();
    assert_eq!(unit.dtype(), DType::F32);
    let unit = unit.to_vec::<f32>().unwrap();
    let wanted = [0.6, 0.8, 0.0, 0.0, 0.0, -2e-8]; // less than 1e-12 counts as that
    assert!(unit.iter().zip(wanted).all(|(&a, b)| (a - b).abs() <= 1e-7 * b.abs()), "{unit:?}");
}

/// The sum over `k` of the elements of a matrix times those of a vector.
#[test]
fn products_of_arrays_with_vectors() {
    for (m, k) in [(1, 70_000), (70_000, 1), (70_000, 3), (3, 70_000), (300, 900), (40, 5000), (5000, 40), (7, 9)] {
        let (x, v, u) = (whole(&[m, k]), whole(&[k + 1]).narrow(1..k + 1, 0).unwrap(), whole(&[m]));
        let (of_x, of_v, of_u) = (numbers(&x), numbers(&v), numbers(&u));
        let rows: Vec<i64> = of_x.chunks_exact(k).map(|row| row.iter().zip(&of_v).map(|(a, b)| a * b).sum()).collect();
        let mut columns = vec![0; k];
        for (row, u) in of_x.chunks_exact(k).zip(&of_u) {
            columns.iter_mut().zip(row).for_each(|(sum, a)| *sum += u * a);
        }
        for dtype in [DType::F64, DType::F32, DType::Complex128, DType::Complex64, DType::F16] {
            // What f16 holds of sums is not whole.
            if dtype == DType::F16 && m.max(k) > 10 {
                continue;
            }
            let [v, u] = [&v, &u].map(|x| x.cast(dtype).unwrap());
            let found = |x: Tensor| numbers(&x);
            for x in views(&x.cast(dtype).unwrap()) {
                assert_eq!(on_threads(|| found(x.matmul(&v).unwrap())), rows, "{m} {k} {dtype:?}");
                assert_eq!(on_threads(|| found(u.matmul(&x).unwrap())), columns, "{m} {k} {dtype:?}");
                let turned = x.t().unwrap();
                assert_eq!(on_threads(|| found(turned.matmul(&u).unwrap())), columns, "{m} {k} {dtype:?}");
                // Behind each other, and as matrices of a column and of a row.
                let column = x.matmul(&v.reshape([k, 1]).unwrap()).unwrap();
                assert_eq!((column.shape(), found(column.clone())), (&[m, 1][..], rows.clone()));
            }
        }
    }
    let z = tensor![[c128::new(0.0, 1.0), c128::new(2.0, 0.0)]];
    let product = z.matmul(&tensor![c128::new(0.0, 1.0), c128::new(1.0, 1.0)]).unwrap();
    assert_eq!(product.to_vec::<c128>().unwrap(), [c128::new(1.0, 2.0)]);
}

/// Truth values of many elements, of which one decides.
#[test]
fn truth_of_many() {
    let n = 1_000_000;
    for at in [0, 16_383, 16_384, 40_000, n - 1] {
        for decides in [true, false] {
            let all: Vec<bool> = (0..n).map(|i| (i == at) == decides).collect();
            let x = Tensor::from_vec([n], all).unwrap();
            for x in [x.clone(), x.cast(DType::F64).unwrap()] {
                let found = |op| on_threads(|| x.reduce(op, ..).unwrap().to_vec::<bool>().unwrap());
                assert_eq!((found(ReduceOp::Any), found(ReduceOp::All)), (vec![true], vec![false]));
            }
        }
    }
    for value in [true, false] {
        let x = Tensor::from_vec([n], vec![value; n]).unwrap();
        assert_eq!(x.any(..).unwrap().to_vec::<bool>().unwrap(), [value]);
        assert_eq!(x.all(..).unwrap().to_vec::<bool>().unwrap(), [value]);
    }
}

/// Where nothing is NaN the plain fold is the answer; where something is, that of the others.
#[test]
fn folds_without_nan() {
    let of = |x: &Tensor| {
        let found = [x.nansum(1), x.nanprod(1), x.nanmin(1), x.nanmax(1), x.nanmean(1)];
        found.map(|x| x.unwrap().to_vec::<f64>().unwrap())
    };
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let plain = Tensor::from_vec([2, 3], vec![1.0, 2.0, 3.0, 4.0, -5.0, 7.0]).unwrap();
    let some = Tensor::from_vec([3, 3], vec![1.0, nan, 3.0, nan, nan, nan, inf, -inf, 2.0]).unwrap();
    for layout in [Layout::Strided, Layout::Csr, Layout::Coo] {
        let stored = |x: &Tensor| if layout == Layout::Strided { x.clone() } else { x.to_sparse(layout, 2.0).unwrap() };
        let [sum, prod, min, max, mean] = of(&stored(&plain));
        assert_eq!([sum, prod, min, max, mean], [[6.0, 6.0], [6.0, -140.0], [1.0, -5.0], [3.0, 7.0], [2.0, 2.0]]);
        let [sum, prod, min, max, mean] = of(&stored(&some));
        assert_eq!((&sum[..2], &prod[..2], sum[2].is_nan(), prod[2]), (&[4.0, 0.0][..], &[3.0, 1.0][..], true, -inf));
        assert_eq!((min[0], min[1].is_nan(), min[2]), (1.0, true, -inf));
        assert_eq!((max[0], max[1].is_nan(), max[2]), (3.0, true, inf));
        assert_eq!((mean[0], mean[1].is_nan(), mean[2].is_nan()), (2.0, true, true));
    }
    let absent = plain.to_sparse(Layout::Coo, 1.0).unwrap().stored();
    assert_eq!(absent.nansum(1).unwrap().stored_values().to_vec::<f64>().unwrap(), [5.0, 6.0]);
}
