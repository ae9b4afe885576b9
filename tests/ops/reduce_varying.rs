//! Sums over an axis along which the fill varies: exact until they are rounded, however large the fill is that stored
//! elements stand over.

use crate::common::rng::Rng;
use openwork::{DType, Fill, Layout, ReduceOp, Scalar, Tensor, bf16, c64, c128, f16, keep, parallel::with_threads};

/// Every element in C order.
fn elements(x: &Tensor) -> Vec<Scalar> {
    let (dense, n) = (x.to_dense().unwrap(), x.size() as usize);
    let flat = dense.reshape([n]).unwrap();
    (0..n).map(|i| flat.get([i]).unwrap().unwrap()).collect()
}

#[track_caller]
fn same(x: &Tensor, expected: &[Scalar]) {
    let got = elements(x);
    let all = got.len() == expected.len() && got.iter().zip(expected).all(|(a, b)| a.same(*b));
    assert!(all, "{got:?}, not {expected:?}");
}

fn scalars<T: Copy + Into<Scalar>>(values: &[T]) -> Vec<Scalar> {
    values.iter().map(|&v| v.into()).collect()
}

/// A COO matrix [4, 3] with row 2 stored, over a fill that varies along axis 0 alone.
fn row_over<T: openwork::Element>(fill: [T; 4], row: [T; 3]) -> Tensor {
    let fill = Fill::array(Tensor::from_vec([4, 1], fill.to_vec()).unwrap());
    let values = Tensor::from_vec([3], row.to_vec()).unwrap();
    Tensor::coo([4, 3], vec![vec![2u32, 2, 2], vec![0, 1, 2]], &values, fill).unwrap()
}

#[test]
fn what_is_stored_over_leaves_no_trace() {
    let x = row_over([1.0, 1.0, 1e30, 1.0], [1.0, 2.0, 0.5]);
    let columns = scalars(&[4.0, 5.0, 3.5]);
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::HybridCoo { dense_dims: 1 }] {
        let x = x.to_layout(layout).unwrap();
        same(&x.sum(0).unwrap(), &columns);
        same(&x.sum(..).unwrap(), &scalars(&[12.5]));
        same(&x.mean(keep(..)).unwrap(), &scalars(&[12.5 / 12.0]));
        let kept = x.sum(keep(-2)).unwrap();
        assert_eq!(kept.shape(), [1, 3]);
        same(&kept, &columns);
    }
    let max = row_over([f64::MAX, f64::MAX, f64::MAX, 1.0], [-f64::MAX, 0.0, -0.0]);
    same(&max.sum(0).unwrap(), &scalars(&[f64::MAX, f64::INFINITY, f64::INFINITY]));
}

#[test]
fn integers() {
    let x = row_over([1i64, 0, i64::MIN, 0], [0, 3, -1]);
    same(&x.mean(0).unwrap(), &scalars(&[0.25, 1.0, 0.0]));
    same(&x.sum(0).unwrap(), &scalars(&[1i64, 4, 0]));
    same(&x.count_nonzero(0).unwrap(), &scalars(&[1i64, 2, 2]));
    let y = row_over([1u64, 0, u64::MAX, 0], [0, 3, 7]);
    same(&y.mean(0).unwrap(), &scalars(&[0.25, 1.0, 2.0]));
    let truth = row_over([true, false, true, false], [false, true, true]);
    same(&truth.sum(0).unwrap(), &scalars(&[1i64, 2, 2]));
}

#[test]
fn narrow_and_complex_elements() {
    let half = f16::from_f32;
    let x = row_over([half(1.0), half(0.5), f16::MAX, half(0.25)], [half(1.0), half(6e-8), half(-1.75)]);
    same(&x.sum(0).unwrap(), &scalars(&[half(2.75), half(1.75), half(0.0)]));
    let b = bf16::from_f32;
    let x = row_over([b(1.0), b(1e-30), bf16::MAX, b(-1.0)], [b(0.0), b(1.0), b(-1e-30)]);
    same(&x.sum(0).unwrap(), &scalars(&[b(1e-30), b(1.0), b(0.0)]));
    let x = row_over([1.0, 1e-20, f32::MAX, -1.0], [0.0, 1e-20, -1e-20]);
    same(&x.sum(0).unwrap(), &scalars(&[1e-20f32, 2e-20, 0.0]));
    let x = row_over(
        [c64::new(1.0, 2.0), c64::new(0.0, 1e-20), c64::new(f32::MAX, 1e30), c64::new(0.0, -2.0)],
        [c64::new(1.0, 0.0), c64::new(0.0, 1.0), c64::new(f32::INFINITY, 0.0)],
    );
    let sums = [c64::new(2.0, 1e-20), c64::new(1.0, 1.0), c64::new(f32::INFINITY, 1e-20)];
    same(&x.sum(0).unwrap(), &scalars(&sums));
    let x = row_over(
        [c128::new(1.0, 2.0), c128::new(0.0, 3.0), c128::new(1e300, -1e300), c128::new(2.0, 0.0)],
        [c128::new(1.0, 0.0), c128::new(0.0, f64::NAN), c128::new(1e-300, 1e16)],
    );
    let sums = [c128::new(4.0, 5.0), c128::new(3.0, f64::NAN), c128::new(3.0, 1e16 + 5.0)];
    let got = elements(&x.sum(0).unwrap());
    for (got, expected) in got.iter().zip(sums) {
        let Scalar::Complex128(got) = *got else { panic!("{got:?}") };
        let part = |a: f64, b: f64| a == b || a.is_nan() && b.is_nan();
        assert!(part(got.re, expected.re) && part(got.im, expected.im), "{got}, not {expected}");
    }
}

#[test]
fn stored_elements_that_are_not_finite() {
    let inf = f64::INFINITY;
    let x = row_over([1.0, 2.0, 1e308, 1e308], [inf, -inf, f64::NAN]);
    same(&x.sum(0).unwrap(), &scalars(&[inf, -inf, f64::NAN]));
    same(&x.sum(..).unwrap(), &scalars(&[f64::NAN]));
    let y = row_over([1.0, 2.0, 1e308, 1e308], [inf, inf, 0.0]);
    same(&y.sum(..).unwrap(), &scalars(&[inf]));
}

/// A fill that varies along one reduced axis and is constant along another counts as often as that is long.
#[test]
fn a_fill_that_repeats() {
    let n = 1usize << 40;
    let fill = Fill::array(Tensor::from_vec([3, 1], vec![1e-3, 1e22, -1e22]).unwrap());
    let values = Tensor::from_vec([2], vec![1.0, 2.0]).unwrap();
    let x = Tensor::coo([3, n], vec![vec![1u64, 2], vec![7, 7]], &values, fill).unwrap();
    // 2^40 · 0.001 rounds once; the two large fills taken away at column 7 cancel as well.
    let total = 1e-3 * n as f64 + 3.0;
    same(&x.sum(..).unwrap(), &scalars(&[total]));
    let columns = x.sum(0).unwrap();
    assert!(columns.get([7]).unwrap().unwrap().same((3.0 + 1e-3).into()));
    assert!(columns.get([8]).unwrap().unwrap().same(1e-3.into()));
    let many = Fill::array(Tensor::from_vec([2, 1, 1], vec![1i64, 1]).unwrap());
    let counted = Tensor::empty([2, 1 << 62, 4], DType::I64, Layout::Coo, many).unwrap();
    assert!(counted.count_nonzero(..).is_err());
    same(&counted.sum(..).unwrap(), &scalars(&[0i64])); // 2^65, wrapped
}

/// A multiple of 2^-20 that every float dtype has exactly: below 2^15, or far larger where `wide`.
fn value(random: &mut Rng, wide: bool) -> f64 {
    let integer = random.below(255) as f64 - 127.0;
    integer * 2f64.powi(random.below(if wide { 100 } else { 28 }) as i32 - 20)
}

/// Small tensors of all layouts, dtypes and axes against sums of integers.
#[test]
fn random_tensors_against_integers() {
    let mut random = Rng::new(5);
    let shapes: [&[usize]; 4] = [&[6], &[4, 6], &[2, 4, 6], &[4, 1, 2, 2]];
    for round in 0..400 {
        let shape = shapes[round % 4];
        let (n, ndim) = (shape.iter().product::<usize>(), shape.len());
        let dtype = [DType::F64, DType::F32, DType::F16, DType::BF16, DType::Complex128][random.below(5)];
        let wide = !matches!(dtype, DType::F16);
        let of = |v: &[f64], shape: &[usize]| Tensor::from_vec(shape, v.to_vec()).unwrap().cast(dtype).unwrap();
        // A fill that varies along some axes, at least one.
        let varies: Vec<bool> = shape.iter().map(|_| random.below(2) == 0).collect();
        let core: Vec<usize> = shape.iter().zip(&varies).map(|(&n, &v)| if v { n } else { 1 }).collect();
        let fills: Vec<f64> = (0..core.iter().product()).map(|_| value(&mut random, wide)).collect();
        let index = |mut at: usize| {
            let mut index = vec![0; ndim];
            for d in (0..ndim).rev() {
                (index[d], at) = (at % shape[d], at / shape[d]);
            }
            index
        };
        let flat = |index: &[usize], shape: &[usize]| {
            index.iter().zip(shape).fold(0, |at, (&i, &n)| at * n + if n == 1 { 0 } else { i })
        };
        let mut dense: Vec<f64> = (0..n).map(|at| fills[flat(&index(at), &core)]).collect();
        let mut places: Vec<usize> = (0..n).filter(|_| random.below(3) == 0).collect();
        if random.below(2) == 0 {
            places.reverse();
        }
        places.iter().for_each(|&p| dense[p] = value(&mut random, wide));
        let columns = (0..ndim).map(|d| places.iter().map(|&p| index(p)[d] as u64).collect::<Vec<_>>()).collect();
        let values = of(&places.iter().map(|&p| dense[p]).collect::<Vec<_>>(), &[places.len()]);
        let x = Tensor::coo(shape, columns, &values, Fill::array(of(&fills, &core))).unwrap();
        let layouts = [
            Layout::Coo,
            Layout::Csf,
            Layout::HybridCoo { dense_dims: 1 },
            Layout::HybridCoo { dense_dims: ndim },
            Layout::Csr,
            Layout::Csc,
            Layout::Bsr { block: [2, 2] },
        ];
        for layout in layouts {
            let Ok(x) = x.to_layout(layout) else { continue };
            // Axes of which the fill varies along one: other sums are not exact.
            let varying = |set: usize| (0..ndim).any(|d| set >> d & 1 == 1 && core[d] > 1);
            for set in (1..1usize << ndim).filter(|&set| varying(set)) {
                let axes: Vec<isize> = (0..ndim as isize).filter(|a| set >> a & 1 == 1).collect();
                let kept: Vec<usize> = (0..ndim).map(|d| if set >> d & 1 == 1 { 1 } else { shape[d] }).collect();
                let mut sums = vec![0i128; kept.iter().product()];
                for (at, value) in dense.iter().enumerate() {
                    sums[flat(&index(at), &kept)] += (value * 2f64.powi(20)) as i128;
                }
                let count = (n / sums.len()) as f64;
                let result = |op: ReduceOp| -> Vec<Scalar> {
                    let sums = sums.iter().map(|&s| s as f64 * 2f64.powi(-20));
                    let divisor = if op == ReduceOp::Mean { count } else { 1.0 };
                    sums.map(|s| Scalar::F64(s / divisor).cast(dtype)).collect()
                };
                for (op, axes) in [(ReduceOp::Sum, keep(&axes)), (ReduceOp::Mean, (&axes).into())] {
                    let got = elements(&x.reduce(op, &axes).unwrap());
                    let expected = result(op);
                    assert_eq!(got.len(), expected.len(), "{} of {x} over {axes:?}", op.name());
                    let all = got.iter().zip(&expected).all(|(a, b)| a.same(*b) || a.is_zero() && b.is_zero());
                    assert!(all, "{} of {x} over {axes:?}: {got:?}, not {expected:?}", op.name());
                }
            }
        }
    }
}

/// Long slices are summed in pieces, by as many threads as there are.
#[test]
fn long_slices() {
    let n = 200_000usize;
    let mut random = Rng::new(9);
    let fills: Vec<f64> = (0..n).map(|_| value(&mut random, true)).collect();
    let places: Vec<u64> = (0..n as u64).filter(|_| random.below(2) == 0).collect();
    let values: Vec<f64> = places.iter().map(|_| value(&mut random, true)).collect();
    let mut dense = fills.clone();
    places.iter().zip(&values).for_each(|(&p, &v)| dense[p as usize] = v);
    let exact = dense.iter().map(|v| (v * 2f64.powi(20)) as i128).sum::<i128>() as f64 * 2f64.powi(-20);
    let values = Tensor::from_vec([values.len()], values).unwrap();
    let fill = Fill::array(Tensor::from_vec([n], fills).unwrap());
    let x = Tensor::coo([n], vec![places], &values, fill).unwrap();
    for threads in [1, 2, 5] {
        let sum = with_threads(threads, || x.sum(..)).unwrap().unwrap();
        same(&sum, &scalars(&[exact]));
    }
}
