//! Matrix products against a triple loop, over layouts, fills and dtypes.

use crate::common::rng::Rng;
use openwork::parallel::with_threads;
use openwork::{
    DType, ErrorKind, Fill, Layout, NanPolicy, Scalar, Semiring, Tensor, c128, explain, f16, promote, s, trace,
    with_densify_budget, with_nan_policy,
};

/// Small numbers, many of them 0 and some 2.
struct Numbers(Rng);

impl Numbers {
    fn next(&mut self) -> i64 {
        [0, 0, 0, 0, 2, 2, 1, 3, -1, -2][self.0.below(10)]
    }

    fn strided(&mut self, shape: &[usize], dtype: DType) -> Tensor {
        let sign = if dtype.is_unsigned() { i64::abs } else { std::convert::identity };
        let data = (0..shape.iter().product()).map(|_| sign(self.next())).collect();
        Tensor::from_vec::<i64>(shape, data).unwrap().cast(dtype).unwrap()
    }
}

/// The value, which is an integer; modulo 2^64.
fn number(value: Scalar) -> i64 {
    value.to::<i64>()
}

fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut out = vec![vec![]];
    for &n in shape {
        out = out.iter().flat_map(|i| (0..n).map(move |j| [&i[..], &[j]].concat())).collect();
    }
    out
}

/// Broadcasting reads: an index into the product's axes, where the tensor may have fewer or of size 1.
fn read(x: &Tensor, index: &[usize]) -> Option<i64> {
    let shape = x.shape();
    let own = &index[index.len() - shape.len()..];
    let own: Vec<usize> = own.iter().zip(shape).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect();
    x.get(&own).unwrap().map(number)
}

/// Checks every element against the sum of the terms that exist.
fn check(a: &Tensor, b: &Tensor) -> Tensor {
    let out = a.matmul(b).unwrap_or_else(|e| panic!("{a:?} {b:?}: {e}"));
    let dtype = promote(a.dtype(), b.dtype()).unwrap();
    assert_eq!(out.dtype(), dtype);
    let wide = |x: &Tensor, axis| if x.ndim() == 1 { x.expand_dims(axis).unwrap() } else { x.clone() };
    let (left, right) = (wide(a, 0), wide(b, 1));
    let k = left.shape()[left.ndim() - 1];
    let undefined = [a, b].iter().any(|t| t.fill().is_some_and(Fill::is_undefined));
    let mut full = out.shape().to_vec();
    if a.ndim() == 1 {
        full.insert(full.len() - usize::from(b.ndim() > 1), 1);
    }
    if b.ndim() == 1 {
        full.push(1);
    }
    for index in indices(&full) {
        let (batch, at) = index.split_at(index.len() - 2);
        let terms: Vec<i64> = (0..k)
            .filter_map(|k| {
                let x = read(&left, &[batch, &[at[0], k]].concat())?;
                Some(x.wrapping_mul(read(&right, &[batch, &[k, at[1]]].concat())?))
            })
            .collect();
        let sum = terms.iter().fold(0, |sum: i64, &term| sum.wrapping_add(term));
        let expected = number(Scalar::I64(sum).cast(dtype));
        let mut own = batch.to_vec();
        own.extend((a.ndim() > 1).then_some(at[0]));
        own.extend((b.ndim() > 1).then_some(at[1]));
        let got = out.get(&own).unwrap().map(number);
        let expected = (!terms.is_empty() || !undefined).then_some(expected);
        assert_eq!(got, expected, "at {index:?} of {a:?} times {b:?} = {out:?}");
    }
    out
}

const LAYOUTS: [Layout; 9] = [
    Layout::Strided,
    Layout::Coo,
    Layout::HybridCoo { dense_dims: 1 },
    Layout::Csr,
    Layout::Csc,
    Layout::Csf,
    Layout::Dcsc,
    Layout::Bsr { block: [2, 2] },
    Layout::Bsc { block: [1, 2] },
];

/// The tensor in a layout; fill `None` is undefined.
fn stored(x: &Tensor, layout: Layout, fill: Option<i64>) -> Tensor {
    if layout == Layout::Strided {
        return x.clone();
    }
    let value = Scalar::I64(fill.unwrap_or(0)).cast(x.dtype());
    let sparse = x.to_sparse(layout, value).unwrap();
    if fill.is_none() { sparse.stored() } else { sparse }
}

#[test]
fn every_pair_of_layouts_and_fills() {
    let dtypes =
        [DType::F64, DType::I8, DType::Bool, DType::F16, DType::Complex64, DType::U64, DType::F32, DType::BF16];
    let mut numbers = Numbers(Rng::new(1));
    let mut round = 0;
    for left in LAYOUTS {
        for right in LAYOUTS {
            for fills in [
                [Some(0), Some(0)],
                [Some(2), Some(0)],
                [Some(0), Some(2)],
                [Some(2), Some(2)],
                [None, None],
                [None, Some(0)],
                [Some(2), None],
            ] {
                round += 1;
                let dtype = dtypes[round % dtypes.len()];
                let (a, b) = (numbers.strided(&[4, 6], dtype), numbers.strided(&[6, 2], dtype));
                check(&stored(&a, left, fills[0]), &stored(&b, right, fills[1]));
            }
        }
    }
}

#[test]
fn dtypes_promote_and_integers_wrap() {
    let mut numbers = Numbers(Rng::new(2));
    for a in DType::ALL {
        for b in DType::ALL {
            let (x, y) = (numbers.strided(&[3, 4], a), numbers.strided(&[4, 3], b));
            if promote(a, b).is_none() {
                assert!(matches!(x.matmul(&y).unwrap_err().kind(), ErrorKind::DType { op: "matmul", .. }));
                continue;
            }
            check(&x, &y);
            check(&stored(&x, Layout::Csr, Some(0)), &y);
            check(&stored(&x, Layout::Csr, Some(0)), &stored(&y, Layout::Csr, Some(0)));
        }
    }
    let x = Tensor::from_vec([2], vec![100i8, 100]).unwrap();
    assert_eq!(x.matmul(&x).unwrap().item().unwrap(), Scalar::I8(32));
    let x = Tensor::from_vec([2], vec![f16::from_f32(300.0); 2]).unwrap();
    assert_eq!(x.matmul(&x).unwrap().item().unwrap(), Scalar::F16(f16::INFINITY));
}

#[test]
fn vectors_batches_and_nothing() {
    let mut numbers = Numbers(Rng::new(3));
    let shapes: [[&[usize]; 2]; 12] = [
        [&[5], &[5]],
        [&[3, 5], &[5]],
        [&[5], &[5, 3]],
        [&[2, 3, 5], &[5, 4]],
        [&[3, 5], &[2, 5, 4]],
        [&[2, 1, 3, 5], &[3, 5, 4]],
        [&[5], &[2, 5, 4]],
        [&[2, 3, 5], &[5]],
        [&[3, 0], &[0, 4]],
        [&[0], &[0]],
        [&[0, 5], &[5, 4]],
        [&[0, 3, 5], &[5, 4]],
    ];
    for [left, right] in shapes {
        for [x, y] in [
            [None, None],
            [Some(0), None],
            [None, Some(0)],
            [Some(0), Some(0)],
            [Some(2), Some(0)],
            [Some(2), Some(2)],
            [Some(9), Some(0)],
            [Some(0), Some(9)],
        ] {
            let of = |t: Tensor, fill| match fill {
                None => t,
                Some(9) => t.to_sparse(Layout::Coo, 0i64).unwrap().stored(),
                Some(fill) if t.ndim() > 1 => t.to_sparse(Layout::Csr, fill).unwrap(),
                Some(fill) => t.to_sparse(Layout::Coo, fill).unwrap(),
            };
            let a = of(numbers.strided(left, DType::I64), x);
            let b = of(numbers.strided(right, DType::I64), y);
            check(&a, &b);
        }
    }
}

/// Few rows and many columns, many rows, and matrices by the hundred: the ways dense products are cut.
#[test]
fn dense_products_in_pieces() {
    let mut numbers = Numbers(Rng::new(7));
    for (left, right) in
        [(&[2, 3][..], &[3, 2500][..]), (&[600, 3], &[3, 2]), (&[300, 2, 3], &[300, 3, 2]), (&[1, 40], &[40, 3000])]
    {
        let (a, b) = (numbers.strided(left, DType::F64), numbers.strided(right, DType::F32));
        check(&a, &b);
        check(&b.permute_dims(reversed(&b)).unwrap(), &a.permute_dims(reversed(&a)).unwrap());
    }
}

fn reversed(x: &Tensor) -> Vec<isize> {
    let n = x.ndim() as isize;
    (0..n - 2).chain([n - 1, n - 2]).collect()
}

#[test]
fn duplicates_views_and_iso_values() {
    let values = Tensor::from_vec([4], vec![1.0, 2.0, 4.0, 8.0]).unwrap();
    let a = Tensor::coo([3, 4], vec![vec![2i64, 0, 2, 2], vec![3, 1, 0, 3]], &values, 0.0).unwrap();
    assert!(!a.is_coalesced());
    let eye = Tensor::eye(4, DType::F64, Layout::Csr).unwrap();
    let dense = Numbers(Rng::new(4)).strided(&[4, 6], DType::F64);
    let (odd, back) =
        (dense.matrix_transpose().unwrap(), dense.to_sparse(Layout::Csr, 0.0).unwrap().matrix_transpose().unwrap());
    for b in [&dense, &eye, &dense.to_sparse(Layout::Dcsr, 0.0).unwrap()] {
        check(&a, b);
        check(&a.replace_fill(3.0).unwrap(), b);
    }
    for x in [&odd, &back] {
        check(x, &eye);
        check(x, &dense);
        check(x, &a.matrix_transpose().unwrap());
    }
    assert_eq!(check(&eye, &eye).nse(), 4);
}

#[test]
fn fills_that_vary_along_one_output_axis_stay_sparse() {
    let mut numbers = Numbers(Rng::new(5));
    let fill = |shape: &[usize]| {
        Fill::array(Tensor::from_vec(shape, (1..=shape.iter().product::<usize>() as i64).collect()).unwrap())
    };
    let sparse = |x: Tensor, fill: Fill| x.to_sparse(Layout::Csr, 0i64).unwrap().replace_fill(fill).unwrap();
    let (a, b) = (numbers.strided(&[4, 5], DType::I64), numbers.strided(&[5, 3], DType::I64));
    let zero = || Fill::from(0i64);
    let shape_of = |t: &Tensor| match t.fill() {
        Some(Fill::Array(values)) => values.shape().to_vec(),
        Some(_) => vec![],
        None => panic!("strided"),
    };
    for left in [Fill::from(2i64), fill(&[1, 5])] {
        let out = check(&sparse(a.clone(), left), &sparse(b.clone(), zero()));
        assert_eq!((out.layout(), shape_of(&out)), (Layout::Csr, vec![1, 3]));
    }
    for right in [Fill::from(2i64), fill(&[5, 1])] {
        let out = check(&sparse(a.clone(), zero()), &sparse(b.clone(), right));
        assert_eq!((out.layout(), shape_of(&out)), (Layout::Csr, vec![4, 1]));
    }
    // Nothing stored: the background is constant.
    let full = |shape: &[usize]| Tensor::full(shape, 3i64, Layout::Coo).unwrap();
    let out = check(&full(&[4, 5]), &full(&[5, 2]));
    assert!(matches!(out.fill(), Some(Fill::Scalar(Scalar::I64(45)))));
    // Backgrounds that vary along both axes are dense, within the budget.
    for (left, right) in [
        (fill(&[4, 1]), zero()),
        (fill(&[4, 1]), fill(&[1, 3])),
        (2i64.into(), 2i64.into()),
        (fill(&[4, 5]), fill(&[5, 3])),
    ] {
        let (x, y) = (sparse(a.clone(), left), sparse(b.clone(), right));
        let ((), steps) = explain(|| assert!(check(&x, &y).is_strided()));
        let step = steps.iter().find(|s| s.op == "matmul").unwrap();
        assert_eq!(step.path, trace::Path::Densified);
        let error = with_densify_budget(0, || x.matmul(&y)).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Densify { op: "matmul", bytes: 96, .. }), "{error}");
    }
}

#[test]
fn fills_do_not_cost_accuracy() {
    // Row 0 stores everything, all of it far below the fill.
    let tiny = Tensor::from_vec([3], vec![1e-12, 3e-12, 1.0]).unwrap();
    let a = Tensor::csr([2, 2], vec![0i64, 2, 3], vec![0i64, 1, 0], &tiny, 1e3).unwrap();
    let b = Tensor::from_vec([2, 1], vec![1.0 / 3.0, 1.0 / 7.0]).unwrap();
    let expected = [1e-12 / 3.0 + 3e-12 / 7.0, 1.0 / 3.0 + 1e3 / 7.0];
    for b in [b.clone(), b.to_sparse(Layout::Coo, 0.0).unwrap()] {
        let out = a.matmul(&b).unwrap().to_dense().unwrap();
        for (got, want) in out.values::<f64>().unwrap().iter().zip(expected) {
            approx::assert_relative_eq!(*got, want, max_relative = 2.0 * f64::EPSILON);
        }
    }
    // Too far below it to be taken apart: dense, or an error that says so.
    let a = a.replace_fill(1e30).unwrap();
    assert_eq!(a.matmul(&b).unwrap().values::<f64>().unwrap()[0], expected[0]);
    assert!(with_densify_budget(0, || a.matmul(&b)).unwrap_err().to_string().contains("too large"));
}

#[test]
fn layouts_of_results() {
    let dense = Numbers(Rng::new(6)).strided(&[4, 4], DType::F64);
    let of = |layout| dense.to_sparse(layout, 0.0).unwrap();
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Dcsc] {
        assert_eq!(check(&of(layout), &of(layout)).layout(), layout);
        assert_eq!(check(&of(layout), &of(Layout::Csr)).layout(), layout);
        assert_eq!(check(&of(layout), &dense).layout(), Layout::Strided);
        assert_eq!(check(&dense, &of(layout)).layout(), Layout::Strided);
    }
    assert_eq!(check(&of(Layout::Bsr { block: [2, 2] }), &of(Layout::Csc)).layout(), Layout::Csr);
}

/// Rows, columns and matrices by the billion, a handful of elements.
#[test]
fn shapes_beyond_memory() {
    let big = 1usize << 40;
    let coo = |shape: &[usize], at: Vec<Vec<u64>>, fill: f64| {
        let values = Tensor::from_vec([at[0].len()], (1..=at[0].len()).map(|v| v as f64).collect()).unwrap();
        Tensor::coo(shape, at, &values, fill).unwrap()
    };
    let far = (big - 1) as u64;
    let a = coo(&[big, big], vec![vec![0, 5, far], vec![7, far, 7]], 0.0);
    let b = coo(&[big, big], vec![vec![7, 7, 9, far], vec![3, far, 0, 1]], 0.0);
    let out = a.matmul(&b).unwrap();
    let mut elements: Vec<_> = out.iter_stored().map(|(i, v)| (i[0], i[1], number(v))).collect();
    elements.sort_by_key(|e| (e.0, e.1));
    assert_eq!(elements, [(0, 3, 1), (0, big - 1, 2), (5, 1, 8), (big - 1, 3, 3), (big - 1, big - 1, 6)]);
    // A strided operand: whole rows, still without the others.
    let x = Tensor::from_vec([2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let tall = coo(&[big, 2], vec![vec![4, far], vec![0, 1]], 0.0);
    let out = tall.matmul(&x).unwrap();
    assert_eq!((out.shape(), out.nse()), (&[big, 2][..], 4));
    assert_eq!(out.get([big - 1, 1]).unwrap(), Some(Scalar::F64(8.0)));
    assert_eq!(out.get([5, 1]).unwrap(), Some(Scalar::F64(0.0)));
    // Columns of which neither operand has pointers: none are made for the result.
    let columns = coo(&[big, 2], vec![vec![4, far], vec![0, 1]], 0.0).to_layout(Layout::Csc).unwrap();
    let rows = coo(&[2, big], vec![vec![0, 1], vec![7, far]], 0.0);
    for rows in [rows.to_layout(Layout::Csr).unwrap(), rows, columns.matrix_transpose().unwrap()] {
        let out = columns.matmul(&rows).unwrap();
        assert_eq!((out.shape(), out.layout(), out.nse()), (&[big, big][..], Layout::Coo, 2));
        assert_eq!(out.get([big - 1, big - 1]).unwrap(), Some(Scalar::F64(4.0)));
        let same = columns.matmul_with(&rows, Semiring::PLUS_TIMES).unwrap();
        assert_eq!((same.layout(), same.nse()), (Layout::Coo, 2));
    }
    let few = coo(&[2, 200_000], vec![vec![0, 1], vec![7, 9]], 0.0);
    assert_eq!(columns.matmul(&few.to_layout(Layout::Csc).unwrap()).unwrap().layout(), Layout::Csc);
    assert_eq!(columns.matmul(&few).unwrap().layout(), Layout::Coo);
    let full = Tensor::full([2, 200_000], 1.0, Layout::Strided).unwrap().to_sparse(Layout::Coo, 0.0).unwrap();
    assert_eq!(columns.matmul(&full).unwrap().layout(), Layout::Csc);
    // Batches by the billion meet one matrix.
    let many = coo(&[big, 3, 4], vec![vec![1, far], vec![2, 0], vec![3, 1]], 0.0);
    let one = coo(&[4, 2], vec![vec![3, 1], vec![0, 1]], 0.0);
    let out = many.matmul(&one).unwrap();
    assert_eq!(out.get([1, 2, 0]).unwrap(), Some(Scalar::F64(1.0)));
    assert_eq!(out.get([big - 1, 0, 1]).unwrap(), Some(Scalar::F64(4.0)));
    assert_eq!(out.nse(), 2);
    // A fill along the contracted axis counts 2^40 times.
    let wide = coo(&[2, big], vec![vec![0], vec![far]], 1.0);
    let out = wide.matmul(&Tensor::full([big, 2], 1.0, Layout::Coo).unwrap()).unwrap();
    assert_eq!(out.get([1, 0]).unwrap(), Some(Scalar::F64(big as f64)));
    // Inner products of vectors that long.
    let v = coo(&[big], vec![vec![3, far]], 0.0);
    assert_eq!(v.matmul(&v).unwrap().item().unwrap(), Scalar::F64(5.0));
    // The dense result of an undefined fill beside a defined one is rows of 2^40.
    let error = a.stored().matmul(&b).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Densify { .. }), "{error}");
}

#[test]
fn zero_annihilates_unless_told() {
    let a = Tensor::from_triplets([2, 2], vec![0i64], vec![0], vec![1.0], 0.0).unwrap();
    let x = Tensor::from_vec([2], vec![1.0, f64::NAN]).unwrap();
    assert_eq!(a.matmul(&x).unwrap().values::<f64>().unwrap(), [1.0, 0.0]);
    let exact = with_nan_policy(NanPolicy::Exact, || a.matmul(&x)).unwrap();
    assert!(exact.values::<f64>().unwrap().iter().all(|v| v.is_nan()));
    let refused = with_nan_policy(NanPolicy::Exact, || with_densify_budget(0, || a.matmul(&x)));
    assert!(matches!(refused.unwrap_err().kind(), ErrorKind::Densify { .. }));
    // A fill that is infinite is not annihilated, and a stored infinity beside another fill is itself.
    let infinite = Tensor::full([2], f64::INFINITY, Layout::Coo).unwrap();
    assert!(a.matmul(&infinite).unwrap().get([1]).unwrap().unwrap().is_nan());
    let b = Tensor::from_triplets([2, 2], vec![1i64], vec![1], vec![f64::INFINITY], 2.0).unwrap();
    assert_eq!(
        b.matmul(&Tensor::from_vec([2], vec![1.0, 1.0]).unwrap()).unwrap().values::<f64>().unwrap(),
        [4.0, f64::INFINITY]
    );
    let z = Tensor::from_vec([1, 1], vec![c128::new(0.0, 1.0)]).unwrap();
    assert_eq!(z.matmul(&z).unwrap().item().unwrap(), Scalar::Complex128(c128::new(-1.0, 0.0)));
}

#[test]
fn errors_say_what_is_wrong() {
    let of = |shape: &[usize]| Tensor::zeros(shape, DType::F64, Layout::Strided).unwrap();
    let text = |a: &[usize], b: &[usize]| of(a).matmul(&of(b)).unwrap_err().to_string();
    let mismatch = text(&[2, 3], &[4, 2]);
    assert!(
        mismatch.contains("matmul") && mismatch.contains("[2, 3], [4, 2]") && mismatch.contains("3 elements"),
        "{mismatch}"
    );
    assert!(text(&[], &[2, 2]).contains("0-d"));
    assert!(text(&[2, 3, 4], &[5, 4, 3]).contains("broadcast"));
}

#[test]
fn threads_change_no_bit() {
    let a = Tensor::random([700, 900], 0.05, 0.0, Layout::Csr, 1).unwrap();
    let b = Tensor::random([900, 800], 0.05, 0.0, Layout::Coo, 2).unwrap();
    let (x, y) = (b.to_dense().unwrap(), a.to_dense().unwrap());
    let all = || {
        let products = [
            a.matmul(&b),
            a.matmul(&x),
            y.matmul(&b),
            y.matmul(&x),
            a.replace_fill(0.5).unwrap().matmul(&b),
            a.stored().matmul(&x),
        ];
        products.map(|p| p.unwrap().stored_values().to_contiguous().unwrap().values::<f64>().unwrap().to_vec())
    };
    let one = with_threads(1, all).unwrap();
    for threads in [2, 5] {
        assert_eq!(one, with_threads(threads, all).unwrap());
    }
}

/// Rows enough for several pieces beside each other: the same bits on any number of threads, and the columns that a product
/// with a few columns gives.
#[test]
fn sparse_products_in_pieces() {
    let x = Tensor::random([1200, 1300], 0.05, 0.0, Layout::Csr, 3).unwrap();
    let y = Tensor::random([1300, 1100], 0.05, 0.0, Layout::Csr, 4).unwrap();
    for dtype in [DType::F64, DType::F32] {
        let (x, y) = (x.cast(dtype).unwrap(), y.cast(dtype).unwrap());
        let product = |threads| with_threads(threads, || x.matmul(&y)).unwrap().unwrap();
        let one = product(1);
        for threads in [2, 3] {
            let other = product(threads);
            assert!(other.stored_values().equal(&one.stored_values()).unwrap());
            assert!(other.indices().unwrap().equal(&one.indices().unwrap()).unwrap());
        }
        let few = y.narrow(40..45, 1).unwrap().to_dense().unwrap();
        let want = x.matmul(&few).unwrap();
        let got = one.narrow(40..45, 1).unwrap().to_dense().unwrap();
        assert!(want.count_nonzero(..).unwrap().item_as::<i64>().unwrap() > 1000);
        assert!(got.allclose(&want, if dtype == DType::F64 { 1e-13 } else { 1e-5 }, 0.0).unwrap());
    }
}

/// A matrix stored by columns times a strided one, and a strided one times rows: the same as from rows, in panels of every
/// width, in slices, and where rows are formed after all; on any number of threads.
#[test]
fn products_against_the_storage() {
    for (rows, columns, dtype) in
        [(700, 900, DType::F64), (700, 900, DType::F32), (60, 900, DType::F64), (900, 60, DType::F64)]
    {
        let x = Tensor::random([rows, columns], 0.08, 0.0, Layout::Csr, 5).unwrap().cast(dtype).unwrap();
        let by_columns = x.to_layout(Layout::Csc).unwrap();
        let near = if dtype == DType::F64 { 1e-12 } else { 1e-5 };
        for n in [1, 2, 5, 8, 30, 33, 70] {
            let w = Tensor::randn([columns, n], 6).unwrap().cast(dtype).unwrap();
            let want = x.matmul(&w).unwrap();
            let v = Tensor::randn([n, rows], 7).unwrap().cast(dtype).unwrap();
            let turned = x.t().unwrap().to_layout(Layout::Csr).unwrap();
            let mirrored = turned.matmul(&v.t().unwrap()).unwrap().t().unwrap();
            let run = |threads| {
                let both = || Ok::<_, openwork::Error>((by_columns.matmul(&w)?, v.matmul(&x)?));
                with_threads(threads, both).unwrap().unwrap()
            };
            let (a, b) = run(1);
            let on = format!("{rows} × {columns}, {dtype}, {n}");
            assert!(a.allclose(&want, near, near).unwrap(), "{on}");
            assert!(b.allclose(&mirrored, near, near).unwrap(), "{on}");
            for threads in [2, 3] {
                let (c, d) = run(threads);
                assert!(c.equal(&a).unwrap(), "{on} on {threads}");
                assert!(d.equal(&b).unwrap(), "{on} on {threads}");
            }
        }
    }
}

/// Of a dense operand that is one element in memory, nothing is written out: 48 GB in products of four rows.
#[test]
fn repeated_dense_operands_stay_repeated() {
    let long = 2_000_000;
    let columns = vec![vec![0u64, 3, 3], vec![0, 1, long as u64 - 1]];
    let values = Tensor::from_vec([3], vec![2.0, 3.0, 5.0]).unwrap();
    let x = Tensor::coo([4, long], columns, &values, 0.0).unwrap().to_layout(Layout::Csc).unwrap();
    let ones = Tensor::scalar(1.0).broadcast_to([long, 3000]).unwrap();
    let by_columns = x.matmul(&ones).unwrap();
    assert_eq!(by_columns.narrow(0..1, 1).unwrap().to_vec::<f64>().unwrap(), [2.0, 0.0, 0.0, 8.0]);
    let mirrored = ones.t().unwrap().matmul(&x.t().unwrap().to_layout(Layout::Csr).unwrap()).unwrap();
    assert_eq!(mirrored.narrow(2999..3000, 0).unwrap().to_vec::<f64>().unwrap(), [2.0, 0.0, 0.0, 8.0]);
}

/// Matrices times a vector or a matrix that stores a few of many rows: by each layout as by compressed rows and a strided operand.
#[test]
fn few_rows_of_many_are_looked_up() {
    // Rows that are listed, and such as have a pointer each.
    for (k, columns, density, stored) in [
        (120_000, 1, 1e-3, Layout::Coo),
        (120_000, 3, 4e-4, Layout::Coo),
        (20_000, 1, 1e-2, Layout::Coo),
        (20_000, 2, 1e-2, Layout::Csr),
    ] {
        let a = Tensor::random([700, k], 2e-3, 0.0, Layout::Csr, 1).unwrap();
        let few = Tensor::random([k, columns], density, 0.0, stored, 2).unwrap();
        assert!(few.nse() > 40 && few.nse() < 1000);
        let wanted = a.matmul(&few.to_dense().unwrap()).unwrap();
        for layout in [Layout::Csr, Layout::Csc, Layout::Coo, Layout::Dcsr, Layout::Dcsc] {
            let a = a.to_layout(layout).unwrap();
            for threads in 1..=3 {
                let found = with_threads(threads, || a.matmul(&few)).unwrap().unwrap();
                assert!(!found.is_strided() && found.nse() > 10, "{layout}");
                assert!(found.to_dense().unwrap().allclose(&wanted, 1e-13, 1e-13).unwrap(), "{layout} {threads}");
            }
        }
    }
}

/// Sorted coordinates and listed rows, as they are and transposed, with few columns and many.
#[test]
fn products_of_every_order_are_those_of_compressed_rows() {
    let a = Tensor::random([3000, 2000], 5e-3, 0.0, Layout::Csr, 1).unwrap();
    for n in [1, 3, 40] {
        let (x, y) = (Tensor::randn([2000, n], 2).unwrap(), Tensor::randn([3000, n], 3).unwrap());
        let wanted = [a.matmul(&x).unwrap(), a.to_dense().unwrap().t().unwrap().matmul(&y).unwrap()];
        let turned = [&x, &y].map(|x| x.t().unwrap().to_contiguous().unwrap());
        for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Dcsc, Layout::Csf] {
            let a = a.to_layout(layout).unwrap();
            let t = a.t().unwrap();
            let found = [a.matmul(&x).unwrap(), t.matmul(&y).unwrap()];
            let from_left = [turned[0].matmul(&t).unwrap().t().unwrap(), turned[1].matmul(&a).unwrap().t().unwrap()];
            for found in [found, from_left] {
                for (found, wanted) in found.iter().zip(&wanted) {
                    assert!(found.allclose(wanted, 1e-12, 1e-12).unwrap(), "{layout} {n}");
                }
            }
        }
    }
}

/// Batches of sparse matrices have the bits of each product alone, on any number of threads; a matrix may meet all of a batch.
#[test]
fn sparse_batches_are_products_of_each() {
    let a = Tensor::random([40, 50, 60], 0.2, 0.0, Layout::Csr, 1).unwrap();
    let each = Tensor::random([40, 60, 70], 0.2, 0.0, Layout::Csr, 2).unwrap();
    for b in [&each, &each.index(s![3]).unwrap(), &each.index(s![4..5]).unwrap()] {
        for threads in 1..=3 {
            let found = with_threads(threads, || a.matmul(b)).unwrap().unwrap();
            assert_eq!(found.shape(), [40, 50, 70]);
            for i in [0, 1, 17, 39] {
                let of = if b.shape().len() == 3 && b.shape()[0] > 1 {
                    b.index(s![i]).unwrap()
                } else {
                    b.reshape([60, 70]).unwrap()
                };
                let wanted = a.index(s![i]).unwrap().matmul(&of).unwrap();
                assert!(wanted.nse() > 1000);
                assert!(found.index(s![i]).unwrap().equal(&wanted).unwrap(), "{i} on {threads}");
            }
        }
    }
}

/// Of complex arrays, which have sums of their own: of any size, also none, in any order of memory, broadcast, shared by threads.
#[test]
fn dots_with_conjugates() {
    let mut numbers = Numbers(Rng::new(77));
    for dtype in [DType::Complex64, DType::Complex128] {
        let i = Tensor::scalar(c128::new(0.0, 1.0)).cast(dtype).unwrap();
        let mut of = |shape: &[usize]| {
            let [re, im] = [(); 2].map(|()| numbers.strided(shape, dtype));
            re.add(im.mul(&i).unwrap()).unwrap()
        };
        let shapes: [([usize; 2], [usize; 3]); 8] = [
            ([3, 0], [2, 3, 0]),
            ([0, 3], [2, 0, 3]),
            ([1, 3], [0, 1, 3]),
            ([1, 1], [1, 1, 1]),
            ([5, 3], [2, 5, 3]),
            ([1, 40], [3, 30, 40]),
            ([30, 40], [1, 1, 40]),
            ([1, 70_000], [2, 2, 70_000]),
        ];
        for (left, right) in shapes {
            let (x, y) = (of(&left), of(&right));
            for axis in [-1, -2] {
                let turn = |t: &Tensor| if axis == -1 { t.clone() } else { t.matrix_transpose().unwrap() };
                let (x, y) = (turn(&x), turn(&y));
                let want = x.conj().unwrap().mul(&y).and_then(|terms| terms.sum(axis)).unwrap();
                for threads in [1, 2] {
                    let got = with_threads(threads, || x.vecdot(&y, axis)).unwrap().unwrap();
                    assert!(got.equal(&want).unwrap(), "{dtype} {left:?} {right:?} {axis}: {got:?}, not {want:?}");
                }
            }
            let (a, b) = (x.flatten().unwrap(), of(&left));
            let want = x.conj().unwrap().mul(&b).and_then(|terms| terms.sum(..)).unwrap();
            let got = [x.vdot(&b).unwrap(), a.vdot(&b.flatten().unwrap()).unwrap()];
            assert_eq!(got, [want.item().unwrap(); 2], "{dtype} {left:?}");
        }
        let (x, y) = (of(&[3, 4]), of(&[3, 5]));
        assert!(matches!(x.vecdot(&y, -1).unwrap_err().kind(), ErrorKind::Shape { .. }));
        assert!(matches!(x.vdot(&y).unwrap_err().kind(), ErrorKind::Shape { .. }));
    }
}

/// Single rows, short ones by what multiplies matrices: also of every other element, backwards, and of one that is repeated.
#[test]
fn single_rows_of_arrays() {
    let mut numbers = Numbers(Rng::new(78));
    for dtype in [DType::F32, DType::F64, DType::Complex64, DType::I32] {
        for n in [1, 2, 511, 512, 513, 5000, 140_000] {
            let [x, y] = [(); 2].map(|()| numbers.strided(&[2 * n], dtype));
            let own = |t: &Tensor, step: isize| {
                let some = if step.abs() == 2 { t.clone() } else { t.slice(s![..n]).unwrap() };
                some.slice(s![..;step]).unwrap()
            };
            let one = y.slice(s![1..2]).unwrap().broadcast_to([n]).unwrap();
            for (x, y) in
                [(own(&x, 1), own(&y, 1)), (own(&x, 2), own(&y, -1)), (own(&x, -2), own(&y, 2)), (own(&x, 1), one)]
            {
                let want = x.mul(&y).and_then(|terms| terms.sum(..)).and_then(|sum| sum.cast(dtype)).unwrap();
                for threads in [1, 2] {
                    let got = with_threads(threads, || x.matmul(&y)).unwrap().unwrap();
                    assert_eq!((got.dtype(), got.item().unwrap()), (dtype, want.item().unwrap()), "{n}");
                }
            }
        }
    }
}
