//! Products beside fills against exact sums: elements far smaller than the fill beneath them, sums that cancel, every
//! shape of fill.

use crate::common::rng::Rng;
use openwork::parallel::with_threads;
use openwork::{DType, Fill, Layout, Scalar, Tensor, c128, keep, with_densify_budget};

/// Units of a value: multiples of 2^-40 below 2^12, so that `f64` holds each and sums of products fit an `i128`.
const UNIT: f64 = 1.0 / (1u64 << 40) as f64;

/// What a tensor of floats or of pairs of them means, in units.
#[derive(Clone)]
struct Exact {
    rows: usize,
    cols: usize,
    /// Real and imaginary parts in C order.
    units: Vec<[i128; 2]>,
}

impl Exact {
    fn new(rows: usize, cols: usize, mut f: impl FnMut(usize, usize) -> [i128; 2]) -> Exact {
        let mut units = Vec::new();
        for i in 0..rows {
            for j in 0..cols {
                units.push(f(i, j));
            }
        }
        Exact { rows, cols, units }
    }

    fn at(&self, i: usize, j: usize) -> [i128; 2] {
        self.units[i * self.cols + j]
    }

    fn transposed(&self) -> Exact {
        Exact::new(self.cols, self.rows, |i, j| self.at(j, i))
    }

    fn strided(&self, dtype: DType) -> Tensor {
        tensor(&[self.rows, self.cols], &self.units, dtype)
    }
}

fn tensor(shape: &[usize], units: &[[i128; 2]], dtype: DType) -> Tensor {
    if dtype == DType::I64 {
        return Tensor::from_vec(shape, units.iter().map(|u| u[0] as i64).collect()).unwrap();
    }
    if !dtype.is_complex() {
        return Tensor::from_vec(shape, units.iter().map(|u| u[0] as f64 * UNIT).collect())
            .unwrap()
            .cast(dtype)
            .unwrap();
    }
    let of = |u: &[i128; 2]| c128::new(u[0] as f64 * UNIT, u[1] as f64 * UNIT);
    Tensor::from_vec(shape, units.iter().map(of).collect()).unwrap().cast(dtype).unwrap()
}

/// A value below 2^`high` units, at least half of that.
fn units(rng: &mut Rng, dtype: DType, high: u32) -> i128 {
    let bits = if matches!(dtype, DType::F32 | DType::Complex64) { 22 } else { 50 }.min(high);
    let value = i128::from((rng.next() | 1 << 63) >> (64 - bits)) << (high - bits);
    if rng.one_in(2) { -value } else { value }
}

fn pair(rng: &mut Rng, dtype: DType, high: u32) -> [i128; 2] {
    let re = units(rng, dtype, high);
    [re, if dtype.is_complex() { units(rng, dtype, high) } else { 0 }]
}

#[derive(Clone, Copy, Debug)]
enum Shape {
    Scalar,
    PerRow,
    PerColumn,
    Both,
}

/// A sparse matrix and what it means. Some rows are stored whole, far below the fill; some elements are zero.
fn matrix(rng: &mut Rng, rows: usize, cols: usize, dtype: DType, layout: Layout, shape: Shape) -> (Tensor, Exact) {
    let (fr, fc) = match shape {
        Shape::Scalar => (1, 1),
        Shape::PerRow => (rows, 1),
        Shape::PerColumn => (1, cols),
        Shape::Both => (rows, cols),
    };
    let fill = Exact::new(fr, fc, |_, _| pair(rng, dtype, 40));
    let tiny = if matches!(dtype, DType::F32 | DType::Complex64) { 12 } else { 22 };
    let mut stored = vec![false; rows * cols];
    let exact = Exact::new(rows, cols, |i, j| {
        let whole = i % 5 == 0;
        stored[i * cols + j] = whole || rng.one_in(4);
        match (stored[i * cols + j], rng.below(4)) {
            (false, _) => fill.at(i.min(fr - 1), j.min(fc - 1)),
            (true, 0) if !whole => [0, 0],
            (true, 1) if !whole => pair(rng, dtype, 40),
            (true, 2) if !whole => pair(rng, dtype, 38),
            (true, _) => pair(rng, dtype, tiny),
        }
    });
    let at: Vec<usize> = (0..rows * cols).filter(|&e| stored[e]).collect();
    let values: Vec<[i128; 2]> = at.iter().map(|&e| exact.units[e]).collect();
    let values = tensor(&[at.len()], &values, dtype);
    let at: [Vec<i64>; 2] =
        [at.iter().map(|e| (e / cols) as i64).collect(), at.iter().map(|e| (e % cols) as i64).collect()];
    let coo = Tensor::coo([rows, cols], at.to_vec(), &values, Scalar::zero(dtype)).unwrap();
    let out = coo.replace_fill(Fill::array(fill.strided(dtype))).unwrap().to_layout(layout).unwrap();
    (out, exact)
}

/// Checks a product within the law's bound, `2 log2(k + 1) eps` of the sum of the terms' magnitudes.
fn check(got: &Tensor, a: &Exact, b: &Exact, dtype: DType, what: &str) {
    let got = with_densify_budget(u64::MAX, || got.to_dense()).unwrap();
    let slack = 2.0 * (a.cols as f64 + 1.0).log2() * dtype.epsilon();
    let integers = if dtype == DType::I64 { got.to_vec::<i64>().unwrap() } else { Vec::new() };
    let numbers =
        if dtype == DType::I64 { Vec::new() } else { got.cast(DType::Complex128).unwrap().to_vec::<c128>().unwrap() };
    for i in 0..a.rows {
        for j in 0..b.cols {
            let (mut sum, mut magnitude) = ([0i128; 2], 0i128);
            for k in 0..a.cols {
                let ([p, q], [r, s]) = (a.at(i, k), b.at(k, j));
                sum = [sum[0] + p * r - q * s, sum[1] + p * s + q * r];
                magnitude += (p.abs() + q.abs()) * (r.abs() + s.abs());
            }
            let at = i * b.cols + j;
            if dtype == DType::I64 {
                assert_eq!(integers[at], sum[0] as i64, "{what} at {i}, {j}");
                continue;
            }
            let allowed = slack * magnitude as f64 * UNIT * UNIT;
            for (got, want) in [numbers[at].re, numbers[at].im].into_iter().zip(sum) {
                let want = want as f64 * UNIT * UNIT;
                assert!((got - want).abs() <= allowed, "{what} at {i}, {j}: {got:e} for {want:e}, within {allowed:e}");
            }
        }
    }
}

/// One, or columns of which each cancels: `b` beside `-b`.
fn others(rng: &mut Rng, k: usize, n: usize, dtype: DType) -> Vec<Exact> {
    let one = 1i128 << 40;
    let identity = Exact::new(k, k, |i, j| [if i == j { one } else { 0 }, 0]);
    let mut last = vec![[0; 2]; n];
    let cancelling = Exact::new(k, n, |i, j| {
        last[j] = if i % 2 == 0 { pair(rng, dtype, 40) } else { last[j].map(|u| -u) };
        last[j]
    });
    vec![identity, cancelling]
}

const SHAPES: [Shape; 4] = [Shape::Scalar, Shape::PerRow, Shape::PerColumn, Shape::Both];
const LAYOUTS: [Layout; 4] = [Layout::Csr, Layout::Csc, Layout::Coo, Layout::Csf];
const DTYPES: [DType; 5] = [DType::F64, DType::F32, DType::Complex128, DType::Complex64, DType::I64];

#[test]
fn strided_operands_beside_fills() {
    let mut rng = Rng::new(1);
    for (i, shape) in SHAPES.into_iter().cycle().take(2 * DTYPES.len() * SHAPES.len()).enumerate() {
        let (dtype, layout) =
            (DTYPES[i / SHAPES.len() % DTYPES.len()], LAYOUTS[(i + i / SHAPES.len()) % LAYOUTS.len()]);
        let (a, exact) = matrix(&mut rng, 23, 40, dtype, layout, shape);
        for n in [1, 3, 17] {
            for b in others(&mut rng, 40, n, dtype) {
                let what = format!("{dtype} {layout} {shape:?} with {} columns", b.cols);
                check(&a.matmul(&b.strided(dtype)).unwrap(), &exact, &b, dtype, &what);
                let (left, at) = (b.transposed().strided(dtype), a.matrix_transpose().unwrap());
                check(
                    &left.matmul(&at).unwrap(),
                    &b.transposed(),
                    &exact.transposed(),
                    dtype,
                    &format!("{what}, mirrored"),
                );
            }
        }
    }
}

#[test]
fn sparse_operands_beside_fills() {
    let mut rng = Rng::new(2);
    for (i, dtype) in DTYPES.into_iter().enumerate() {
        for (j, left) in SHAPES.into_iter().enumerate() {
            for (k, right) in SHAPES.into_iter().enumerate() {
                let (x, y) = (LAYOUTS[(i + j) % LAYOUTS.len()], LAYOUTS[(i + k + j / 2) % LAYOUTS.len()]);
                let (a, of_a) = matrix(&mut rng, 12, 20, dtype, x, left);
                let (b, of_b) = matrix(&mut rng, 20, 9, dtype, y, right);
                let what = format!("{dtype} {x} {left:?} with {y} {right:?}");
                check(&a.matmul(&b).unwrap(), &of_a, &of_b, dtype, &what);
                for other in others(&mut rng, 20, 7, dtype) {
                    let zero = Scalar::zero(dtype);
                    let sparse = other.strided(dtype).to_sparse(y, zero).unwrap();
                    check(&a.matmul(&sparse).unwrap(), &of_a, &other, dtype, &format!("{what}, fill 0 on the right"));
                    let mirrored = sparse.matrix_transpose().unwrap().matmul(&a.matrix_transpose().unwrap()).unwrap();
                    let what = format!("{what}, fill 0 on the left");
                    check(&mirrored, &other.transposed(), &of_a.transposed(), dtype, &what);
                    check(
                        &b.matrix_transpose().unwrap().matmul(&sparse).unwrap(),
                        &of_b.transposed(),
                        &other,
                        dtype,
                        &what,
                    );
                }
            }
        }
    }
}

#[test]
fn the_identity_gives_back_what_is_stored() {
    let mut rng = Rng::new(3);
    let eye = Tensor::eye(40, DType::F64, Layout::Csr).unwrap();
    for shape in SHAPES {
        let (a, _) = matrix(&mut rng, 23, 40, DType::F64, Layout::Csr, shape);
        for one in [&eye, &eye.to_dense().unwrap()] {
            let back = with_densify_budget(u64::MAX, || a.matmul(one)).unwrap().to_vec::<f64>().unwrap();
            for (got, want) in back.iter().zip(a.to_vec::<f64>().unwrap()) {
                assert!((got - want).abs() <= 11.0 * f64::EPSILON * want.abs(), "{got} for {want}");
            }
        }
    }
}

#[test]
fn batches_beside_fills() {
    let mut rng = Rng::new(4);
    for shape in SHAPES {
        let (one, of_one) = matrix(&mut rng, 7, 12, DType::F64, Layout::Coo, shape);
        let (two, of_two) = matrix(&mut rng, 7, 12, DType::F64, Layout::Coo, shape);
        let both = Tensor::stack(&[&one, &two], 0).unwrap();
        let other = others(&mut rng, 12, 5, DType::F64).remove(1);
        for b in [other.strided(DType::F64), other.strided(DType::F64).to_sparse(Layout::Csc, 0.0).unwrap()] {
            let out = with_densify_budget(u64::MAX, || both.matmul(&b)).unwrap();
            for (i, of) in [&of_one, &of_two].into_iter().enumerate() {
                let matrix = out.narrow(i..i + 1, 0).unwrap().squeeze(0).unwrap();
                check(&matrix, of, &other, DType::F64, &format!("{shape:?}, matrix {i}"));
            }
        }
    }
}

#[test]
fn threads_change_no_bit_beside_fills() {
    let x = Tensor::random([700, 900], 0.3, 0.0, Layout::Csr, 1).unwrap();
    let q = Tensor::random([700, 33], 1.0, 0.0, Layout::Strided, 2).unwrap().sub(0.5).unwrap();
    let w = Tensor::random([900, 40], 0.1, 0.0, Layout::Csr, 3).unwrap();
    let all = || {
        let z = x.sub(x.mean(keep(0)).unwrap()).unwrap();
        let zt = z.matrix_transpose().unwrap();
        let products = [
            zt.matmul(&q),
            q.matrix_transpose().unwrap().matmul(&z),
            z.matmul(&w),
            z.matmul(&w.replace_fill(0.3).unwrap()),
        ];
        products.map(|p| p.unwrap().stored_values().to_contiguous().unwrap().values::<f64>().unwrap().to_vec())
    };
    let one = with_threads(1, all).unwrap();
    for threads in [2, 5] {
        assert_eq!(one, with_threads(threads, all).unwrap());
    }
}

/// Small integers, of which every sum is exact: a sparse matrix over a row of fills, a strided matrix, and their product.
struct Whole {
    sparse: Tensor,
    dense: Tensor,
    product: Vec<f64>,
}

/// `k` by `m` of which `is_stored` says what is stored, transposed, times `k` by `n`.
fn whole(k: usize, [m, n]: [usize; 2], is_stored: impl Fn(usize, usize) -> bool) -> Whole {
    let (fill, value) = (|j: usize| (j % 7) as f64 - 2.0, |i: usize, j: usize| ((i * 31 + j * 17) % 29) as f64 / 8.0);
    let right = |i: usize, c: usize| ((i * 13 + c * 5) % 11) as f64 - 5.0;
    let (mut pointers, mut indices, mut values) = (vec![0u64], Vec::new(), Vec::new());
    let mut product = vec![0.0; m * n];
    for i in 0..k {
        for j in 0..m {
            let is_stored = is_stored(i, j);
            let x = if is_stored { value(i, j) } else { fill(j) };
            if is_stored {
                indices.push(j as u64);
                values.push(x);
            }
            (0..n).for_each(|c| product[j * n + c] += x * right(i, c));
        }
        pointers.push(indices.len() as u64);
    }
    let fills = Tensor::from_vec([1, m], (0..m).map(fill).collect::<Vec<_>>()).unwrap();
    let values = Tensor::from_vec([values.len()], values).unwrap();
    let sparse = Tensor::csr([k, m], pointers, indices, &values, 0.0).unwrap();
    let sparse = sparse.replace_fill(Fill::array(fills.broadcast_to([k, m]).unwrap())).unwrap();
    let dense = (0..k * n).map(|at| right(at / n, at % n)).collect();
    Whole { sparse, dense: Tensor::from_vec([k, n], dense).unwrap(), product }
}

/// So much is stored that it is cut into slices, and the axis summed over so long that sums of the dense matrix are too.
#[test]
fn long_axes_are_summed_in_parts() {
    for n in [1, 3, 20, 40] {
        let Whole { sparse, dense, product } = whole(90_000, [24, n], |i, j| (i * 7 + j * 3) % 4 == 0);
        let (turned, other) = (sparse.t().unwrap(), dense.t().unwrap());
        for threads in [1, 2, 3] {
            let [zq, qz] =
                with_threads(threads, || [turned.matmul(&dense).unwrap(), other.matmul(&sparse).unwrap().t().unwrap()])
                    .unwrap();
            assert!(zq.to_vec::<f64>().unwrap() == product, "{n} columns, {threads} threads");
            assert!(qz.to_vec::<f64>().unwrap() == product, "{n} rows, {threads} threads");
        }
        // Elements that lie by columns, and backwards.
        let by_columns = dense.t().unwrap().to_contiguous().unwrap().t().unwrap();
        assert!(turned.matmul(&by_columns).unwrap().to_vec::<f64>().unwrap() == product);
        let backwards = dense.flip([0]).unwrap().to_contiguous().unwrap().flip([0]).unwrap();
        assert!(turned.matmul(&backwards).unwrap().to_vec::<f64>().unwrap() == product);
    }
}

/// Rows of more elements than a kernel makes room for beside them.
#[test]
fn very_long_rows_over_fills() {
    for n in [1, 2] {
        let Whole { sparse, dense, product } = whole(1_100_000, [2, n], |i, j| j == 0 || i % 5 == 0);
        let turned = sparse.t().unwrap().to_layout(Layout::Csr).unwrap();
        assert!(turned.matmul(&dense).unwrap().to_vec::<f64>().unwrap() == product);
        let by_columns = sparse.to_layout(Layout::Csc).unwrap();
        let rows = by_columns.t().unwrap();
        assert_eq!(rows.layout(), Layout::Csr);
        assert!(rows.matmul(&dense).unwrap().to_vec::<f64>().unwrap() == product);
        let other = dense.t().unwrap();
        assert!(other.matmul(&by_columns).unwrap().t().unwrap().to_vec::<f64>().unwrap() == product);
    }
}

/// Wider than the kernel keeps sums of rows for, and than what is hard is shared out by.
#[test]
fn very_wide_results_over_fills() {
    for n in [4096, 4097, 16_384, 16_385, 20_000] {
        let Whole { sparse, dense, product } = whole(40, [3, n], |i, j| (i + j) % 3 == 0);
        let rows = sparse.t().unwrap().to_layout(Layout::Csr).unwrap();
        assert!(rows.matmul(&dense).unwrap().to_vec::<f64>().unwrap() == product, "{n}");
        assert!(sparse.t().unwrap().matmul(&dense).unwrap().to_vec::<f64>().unwrap() == product, "{n}");
    }
}
