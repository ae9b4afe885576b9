//! Matrix products. `loop/spmv` is the textbook CSR loop on one thread, over the same arrays.
#![allow(clippy::expect_used, missing_docs)] // a bench that cannot set up has nothing to measure

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use openwork::{DType, Index, Layout, Tensor, einsum, s};

const N: usize = 1 << 16;
const PER_ROW: usize = 16;

fn matrix(seed: u64) -> Tensor {
    Tensor::random([N, N], PER_ROW as f64 / N as f64, 0.0, Layout::Csr, seed).expect("a valid matrix")
}

fn dense(cols: usize) -> Tensor {
    let n = N * cols;
    Tensor::from_vec([N, cols], (0..n).map(|i| (i % 17) as f64 - 8.0).collect()).expect("as many as the shape has")
}

fn products(c: &mut Criterion) {
    let mut group = c.benchmark_group("matmul");
    let a = matrix(1);
    let x = dense(1).reshape([N]).expect("a vector");
    group.throughput(Throughput::Elements(a.nse() as u64));

    let columns = a.coordinates().remove(1).1;
    let values = a.values::<f64>().expect("values of a fresh matrix are contiguous");
    let rows = a.coordinates().remove(0).1;
    let xs = x.values::<f64>().expect("a contiguous vector");
    let by_loop = || {
        let mut y = vec![0.0; N];
        for ((&i, &j), v) in rows.iter().zip(&columns).zip(values) {
            y[i as usize] += v * xs[j as usize];
        }
        y
    };
    // What is timed is right, and not all the same.
    let close = |x: &Tensor, y: &Tensor| x.allclose(y, 1e-9, 1e-9).expect("two of one shape");
    let product = a.matmul(&x).expect("shapes that fit");
    let looped = Tensor::from_vec([N], by_loop()).expect("as many as the shape has");
    assert!(close(&product, &looped) && !close(&looped, &looped.mul(2.0).expect("floats")));
    let squared = a.matmul(&a).and_then(|aa| aa.matmul(&x)).expect("shapes that fit");
    assert!(close(&squared, &a.matmul(&product).expect("shapes that fit")));
    group.bench_function("loop/spmv", |b| b.iter(by_loop));
    group.bench_function("spmv", |b| b.iter(|| black_box(&a).matmul(&x)));
    let b32 = dense(32);
    group.sample_size(20);
    group.bench_function("spmm_32", |b| b.iter(|| black_box(&a).matmul(&b32)));
    group.bench_function("spgemm", |b| b.iter(|| black_box(&a).matmul(&a)));
    let square = Tensor::random([512, 512], 1.0, 0.0, Layout::Strided, 3).expect("a valid matrix");
    group.bench_function("dense_512", |b| b.iter(|| black_box(&square).matmul(&square)));
    group.finish();
}

/// Short rows: of a grid, where neighbours are as long as each other, and of the same grid with a fifth of its elements left out.
///
///     cargo bench --bench matmul -- grid
fn grid(c: &mut Criterion) {
    const SIDE: usize = 32;
    let mut group = c.benchmark_group("grid");
    let n = SIDE.pow(3);
    let offsets = [SIDE * SIDE, SIDE, 1, 0, 1, SIDE, SIDE * SIDE];
    // Points beyond the edge of a line or a plane are those of the next.
    let columns = |r: usize| {
        let before = offsets[..3].iter().filter_map(move |d| r.checked_sub(*d));
        before.chain(offsets[3..].iter().map(move |d| r + d)).filter(move |&c| c < n)
    };
    let x = Tensor::rand([n], 3).expect("numbers");
    for (name, leave_out) in [("alike", usize::MAX), ("uneven", 5)] {
        let (mut ends, mut indices) = (vec![0i64], vec![]);
        for r in 0..n {
            let kept = columns(r).filter(|c| (r ^ c).wrapping_mul(0x9e37_79b9) / 64 % leave_out != 1 || *c == r);
            indices.extend(kept.map(|c| c as i64));
            ends.push(indices.len() as i64);
        }
        group.throughput(Throughput::Elements(indices.len() as u64));
        let values = Tensor::rand([indices.len()], 2).expect("numbers");
        for dtype in [DType::F32, DType::F64] {
            let (values, x) = (values.cast(dtype).expect("floats"), x.cast(dtype).expect("floats"));
            let a = Tensor::csr([n, n], ends.clone(), indices.clone(), &values, 0.0).expect("a valid matrix");
            let (product, wanted) = (a.matmul(&x), a.mul(&x).and_then(|t| t.sum(1)).expect("one shape"));
            assert!(product.and_then(|y| y.allclose(&wanted, 1e-5, 1e-5)).expect("two of one shape"));
            group.bench_function(format!("{dtype}, {name}"), |b| b.iter(|| black_box(&a).matmul(&x)));
        }
    }
    group.finish();
}

/// Rows of twelve to thirty elements, as long as chance made them, times a vector that the second cache holds. Where gathers are slow they
/// are made of loads one by one:
///
///     OPENWORK_SIMD=avx2 OPENWORK_GATHERS=slow cargo bench --bench matmul -- lengths
///     OPENWORK_SIMD=avx2 OPENWORK_GATHERS=fast cargo bench --bench matmul -- lengths
fn lengths(c: &mut Criterion) {
    let mut group = c.benchmark_group("lengths");
    let (rows, columns) = (100_000, 20_000);
    let mix = |i: usize| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40;
    let (mut ends, mut indices) = (vec![0i64], vec![]);
    for r in 0..rows {
        let n = 12 + mix(r) % 19;
        let apart = columns / n;
        indices.extend((0..n).map(|i| (i * apart + mix(r * 32 + i) % apart) as i64));
        ends.push(indices.len() as i64);
    }
    group.throughput(Throughput::Elements(indices.len() as u64));
    let (values, x) =
        (Tensor::rand([indices.len()], 2).expect("numbers"), Tensor::rand([columns], 3).expect("numbers"));
    for dtype in [DType::F32, DType::F64] {
        let (values, x) = (values.cast(dtype).expect("floats"), x.cast(dtype).expect("floats"));
        let a = Tensor::csr([rows, columns], ends.clone(), indices.clone(), &values, 0.0).expect("a valid matrix");
        let (product, wanted) = (a.matmul(&x), a.mul(&x).and_then(|t| t.sum(1)).expect("one shape"));
        assert!(product.and_then(|y| y.allclose(&wanted, 1e-5, 1e-5)).expect("two of one shape"));
        group.bench_function(format!("{dtype}"), |b| b.iter(|| black_box(&a).matmul(&x)));
    }
    group.finish();
}

/// A tenth of a matrix times a dense one that no cache holds: all rows, which go through its columns by panels, and
/// eight rows at a time, which go through all of it.
///
///     cargo bench --bench matmul -- panels
fn panels(c: &mut Criterion) {
    const SIDE: usize = 2048;
    let mut group = c.benchmark_group("panels");
    group.sample_size(10);
    let a = Tensor::random([SIDE, SIDE], 0.1, 0.0, Layout::Csr, 1).expect("a small matrix");
    let wide = Tensor::rand([SIDE, SIDE], 2).expect("numbers");
    group.throughput(Throughput::Elements((a.nse() * SIDE) as u64));
    for dtype in [DType::F32, DType::F64] {
        let (a, wide) = (a.cast(dtype).expect("floats"), wide.cast(dtype).expect("floats"));
        let parts: Vec<Tensor> =
            (0..SIDE).step_by(8).map(|r| a.narrow(r..r + 8, 0).expect("rows of the matrix")).collect();
        let (last, all) =
            (parts[parts.len() - 1].matmul(&wide), a.matmul(&wide).and_then(|y| y.narrow(SIDE - 8..SIDE, 0)));
        assert!(all.and_then(|all| all.allclose(&last?, 0.0, 0.0)).expect("one shape"));
        group.bench_function(format!("{dtype}, all rows"), |b| b.iter(|| black_box(&a).matmul(&wide)));
        group.bench_function(format!("{dtype}, eight rows at a time"), |b| {
            b.iter(|| parts.iter().try_for_each(|part| black_box(part).matmul(&wide).map(drop)));
        });
    }
    group.finish();
}

/// A grid whose lines end, and blocks of 16 × 16 in rows, times a vector: for the first time, and again, when it is known which rows have
/// the columns of the row before, each plus one, or the same. Results are the same to the bit.
///
///     RAYON_NUM_THREADS=1 cargo bench --bench matmul -- stencils
fn stencils(c: &mut Criterion) {
    const SIDE: usize = 80;
    let mut group = c.benchmark_group("stencils");
    group.sample_size(20);
    let (n, steps) = (SIDE.pow(3), [SIDE * SIDE, SIDE, 1]);
    let (mut ends, mut indices) = (vec![0i64], vec![]);
    for r in 0..n {
        let is_beyond = |step: usize, edge: usize| r / step % SIDE == edge;
        indices.extend(steps.iter().filter(|&&d| !is_beyond(d, 0)).map(|d| (r - d) as i64));
        indices.push(r as i64);
        indices.extend(steps.iter().rev().filter(|&&d| !is_beyond(d, SIDE - 1)).map(|d| (r + d) as i64));
        ends.push(indices.len() as i64);
    }
    again(&mut group, "", n, (ends, indices));
    const BLOCK: usize = 16;
    const BLOCKS: usize = 1 << 10;
    let (mut ends, mut indices) = (vec![0i64], vec![]);
    for r in 0..BLOCK * BLOCKS {
        let blocks = (0..BLOCKS).filter(|b| ((r / BLOCK) ^ b).wrapping_mul(0x9e37_79b9) / 64 % 50 == 1);
        indices.extend(blocks.flat_map(|b| (0..BLOCK).map(move |c| (b * BLOCK + c) as i64)));
        ends.push(indices.len() as i64);
    }
    again(&mut group, "blocks, ", BLOCK * BLOCKS, (ends, indices));
    group.finish();
}

/// A square matrix with these pointers and columns times a vector, for the first time and again.
fn again(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, n: usize, (ends, indices): (Vec<i64>, Vec<i64>)) {
    group.throughput(Throughput::Elements(indices.len() as u64));
    let (values, x) = (Tensor::rand([indices.len()], 2).expect("numbers"), Tensor::rand([n], 3).expect("numbers"));
    for dtype in [DType::F32, DType::F64] {
        let (values, x) = (values.cast(dtype).expect("floats"), x.cast(dtype).expect("floats"));
        let made = || Tensor::csr([n, n], ends.clone(), indices.clone(), &values, 0.0).expect("a valid matrix");
        let a = made();
        let [first, second, third] =
            [(); 3].map(|()| a.matmul(&x).and_then(|y| y.cast(DType::F64)?.to_vec::<f64>()).expect("floats"));
        assert!(first == second && first == third && first.iter().any(|y| *y != first[0]));
        let times = |a: &Tensor| a.matmul(&x);
        group.bench_function(format!("{name}{dtype}, again"), |b| b.iter(|| times(black_box(&a))));
        group.bench_function(format!("{name}{dtype}, first"), |b| {
            b.iter_batched_ref(made, |a| times(a), BatchSize::LargeInput)
        });
    }
}

/// Elements that lie all over a vector, a table of sums and rows of an array, none of which a second-level cache holds, beside plain loops
/// over the same arrays on one thread.
///
///     RAYON_NUM_THREADS=1 cargo bench --bench matmul -- scattered
fn scattered(c: &mut Criterion) {
    const ROWS: usize = 200_000;
    const COLUMNS: usize = 1 << 20;
    const FEW: usize = 32;
    let mut group = c.benchmark_group("scattered");
    group.sample_size(20);
    let a = Tensor::random([ROWS, COLUMNS], 16.0 / COLUMNS as f64, 0.0, Layout::Csr, 1).expect("a matrix");
    let (x, y) = (Tensor::rand([COLUMNS], 2).expect("numbers"), Tensor::rand([ROWS], 3).expect("numbers"));
    let rows = Tensor::rand([COLUMNS / 4, FEW], 4).expect("numbers");
    let transposed = a.matrix_transpose().expect("a matrix");
    group.throughput(Throughput::Elements(a.nse() as u64));

    let [i, j]: [Vec<usize>; 2] =
        [0, 1].map(|axis| a.coordinates().swap_remove(axis).1.iter().map(|&k| k as usize).collect());
    let values = a.values::<f64>().expect("values of a fresh matrix are contiguous").to_vec();
    let numbers = |t: &Tensor| t.to_vec::<f64>().expect("floats");
    let (xs, ys, all) = (numbers(&x), numbers(&y), numbers(&rows));
    let entries = || i.iter().zip(&j).zip(&values);
    let times = || {
        let mut out = vec![0.0; ROWS];
        entries().for_each(|((&i, &j), v)| out[i] += v * xs[j]);
        out
    };
    let transposed_times = || {
        let mut out = vec![0.0; COLUMNS];
        entries().for_each(|((&i, &j), v)| out[j] += v * ys[i]);
        out
    };
    let sums = || {
        let mut out = vec![0.0; COLUMNS];
        entries().for_each(|((_, &j), v)| out[j] += v);
        out
    };
    let taken: Vec<usize> = j.iter().step_by(8).map(|j| j / 4).collect();
    let list = Tensor::from_vec([taken.len()], taken.iter().map(|&k| k as i64).collect()).expect("a list");
    let copies = || {
        let mut out = vec![0.0; taken.len() * FEW];
        out.chunks_exact_mut(FEW).zip(&taken).for_each(|(o, &k)| o.copy_from_slice(&all[k * FEW..][..FEW]));
        out
    };
    type Way<'a> = (&'a str, &'a dyn Fn() -> openwork::Result<Tensor>, &'a dyn Fn() -> Vec<f64>);
    let ways: [Way<'_>; 4] = [
        ("times a vector", &|| a.matmul(&x), &times),
        ("transposed times a vector", &|| transposed.matmul(&y), &transposed_times),
        ("sums of columns", &|| a.sum(0), &sums),
        ("rows of 32", &|| rows.take(&list, 0), &copies),
    ];
    for (name, op, plainly) in ways {
        let (found, wanted) = (numbers(&op().expect("shapes that fit")), plainly());
        assert_eq!(found.len(), wanted.len());
        assert!(found.iter().zip(&wanted).all(|(a, b)| (a - b).abs() <= 1e-9) && wanted.iter().any(|x| *x != 0.0));
        group.bench_function(name, |b| b.iter(op));
        group.bench_function(format!("loop/{name}"), |b| b.iter(plainly));
    }
    group.finish();
}

/// Transposes of tall matrices of dtypes that are no floats times eight columns, beside the same with rows formed first.
///
///     cargo bench --bench matmul -- any_columns
fn any_columns(c: &mut Criterion) {
    let mut group = c.benchmark_group("any_columns");
    group.sample_size(10);
    let x = Tensor::random([200_000, 100], 0.05, 0.0, Layout::Csr, 1).expect("a matrix").mul(9.0).expect("floats");
    let few = Tensor::rand([200_000, 8], 2).expect("numbers").mul(9.0).expect("floats");
    for dtype in [DType::I8, DType::I64, DType::Complex128] {
        let (x, few) = (x.cast(dtype).expect("numbers"), few.cast(dtype).expect("numbers"));
        let t = x.matrix_transpose().expect("a matrix");
        let by_rows = || t.to_layout(Layout::Csr)?.matmul(&few);
        let (found, wanted) = (t.matmul(&few).expect("shapes fit"), by_rows().expect("shapes fit"));
        assert!(found.allclose(&wanted, 1e-9, 1e-9).expect("two of one shape"));
        let whole = wanted.abs().and_then(|t| t.cast(DType::F64)?.to_vec::<f64>()).expect("numbers");
        assert!(whole.iter().filter(|&&x| x != 0.0).count() > 700);
        group.bench_function(format!("columns/{dtype}"), |b| b.iter(|| black_box(&t).matmul(&few)));
        group.bench_function(format!("rows/{dtype}"), |b| b.iter(by_rows));
    }
    group.finish();
}

/// Sparse matrices times sparse ones and times a few columns, of whole numbers of every kind: the same as of `float64`, beside which they are;
/// and columns at once, beside one after the other.
///
///     cargo bench --bench matmul -- kinds
fn kinds(c: &mut Criterion) {
    const ROWS: usize = 5000;
    let mut group = c.benchmark_group("kinds");
    group.sample_size(20);
    let whole = |x: Tensor| x.mul(9.0).and_then(|x| x.floor()).expect("floats");
    let some =
        |seed| whole(Tensor::random([ROWS, ROWS], 20.0 / ROWS as f64, 0.0, Layout::Csr, seed).expect("a valid matrix"));
    let (a, b) = (some(1), some(2));
    let x = whole(Tensor::rand([ROWS, 8], 3).expect("a valid matrix"));
    let (product, of_columns) = (a.matmul(&b).expect("shapes that fit"), a.matmul(&x).expect("shapes that fit"));
    assert!(
        product.nse() > 300 * ROWS && product.max(..).expect("reals").to_vec::<f64>().expect("one number")[0] > 64.0
    );
    for dtype in [DType::F64, DType::F32, DType::I32, DType::I64, DType::Complex64, DType::Complex128] {
        let cast = |x: &Tensor| x.cast(dtype).expect("whole numbers");
        let (a, b) = (cast(&a), cast(&b));
        assert!(a.matmul(&b).expect("shapes that fit").equal(&cast(&product)).expect("of one shape"));
        group.bench_function(format!("{dtype}, one another"), |r| r.iter(|| black_box(&a).matmul(&b)));
        for n in [2, 3, 8] {
            let own =
                |x: &Tensor| cast(x).slice(s![.., ..n]).and_then(|x| x.to_contiguous()).expect("columns of a matrix");
            let few = own(&x);
            assert!(a.matmul(&few).expect("shapes that fit").equal(&own(&of_columns)).expect("of one shape"));
            let each: Vec<Tensor> =
                (0..n).map(|j| few.slice(s![.., j]).and_then(|x| x.to_contiguous()).expect("a column")).collect();
            group.bench_function(format!("{dtype}, {n} columns"), |r| r.iter(|| black_box(&a).matmul(&few)));
            let apart = || each.iter().map(|x| a.matmul(x)).collect::<Result<Vec<Tensor>, _>>();
            group.bench_function(format!("{dtype}, {n} columns/apart"), |r| r.iter(|| black_box(apart())));
        }
    }
    group.finish();
}

/// Arrays of whole numbers times a column, and one another, beside plain loops in the same order.
///
///     cargo bench --bench matmul -- whole_numbers
fn whole_numbers(c: &mut Criterion) {
    const N: usize = 1000;
    let mut group = c.benchmark_group("whole_numbers");
    let numbers: Vec<i32> = (0..N * N).map(|i| (i * 7919 % 201) as i32 - 100).collect();
    let x = Tensor::from_vec([N, N], numbers.clone()).expect("as many elements");
    let column = Tensor::from_vec([N], numbers[..N].to_vec()).expect("as many elements");
    let dots = || -> Vec<i32> {
        let dot =
            |row: &[i32]| row.iter().zip(&numbers[..N]).fold(0i32, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)));
        numbers.chunks_exact(N).map(dot).collect()
    };
    assert_eq!(x.matmul(&column).and_then(|x| x.to_vec::<i32>()).expect("integers"), dots());
    group.bench_function("times a column", |b| b.iter(|| black_box(&x).matmul(&column)));
    group.bench_function("times a column/loop", |b| b.iter(|| black_box(dots())));
    let some = x.index([Index::from(..200)]).expect("rows");
    let product = || {
        let mut out = vec![0i32; 200 * N];
        for (out, row) in out.chunks_exact_mut(N).zip(numbers.chunks_exact(N)) {
            for (&a, other) in row.iter().zip(numbers.chunks_exact(N)) {
                out.iter_mut().zip(other).for_each(|(out, b)| *out = out.wrapping_add(a.wrapping_mul(*b)));
            }
        }
        out
    };
    assert_eq!(some.matmul(&x).and_then(|x| x.to_vec::<i32>()).expect("integers"), product());
    group.bench_function("times one another", |b| b.iter(|| black_box(&some).matmul(&x)));
    group.bench_function("times one another/loop", |b| b.iter(|| black_box(product())));
    group.finish();
}

/// Gram matrices of rows with few features, beside the same product of rows of the transpose, which is at hand; and a transpose times
/// eight columns.
///
///     cargo bench --bench matmul -- gram
fn gram(c: &mut Criterion) {
    let mut group = c.benchmark_group("gram");
    group.sample_size(10);
    for (rows, columns, in_row) in [(300_000, 100, 5), (10_000, 300, 100), (1_000, 2_000, 400)] {
        let x = Tensor::random([rows, columns], in_row as f64 / columns as f64, 0.0, Layout::Csr, 1).expect("a matrix");
        let turned = x.matrix_transpose().expect("a matrix");
        let by_rows = turned.to_layout(Layout::Csr).expect("a layout");
        let (found, wanted) = (turned.matmul(&x).expect("shapes fit"), by_rows.matmul(&x).expect("shapes fit"));
        assert!(found.allclose(&wanted, 1e-9, 1e-9).expect("two of one shape"));
        let name = format!("{rows} x {columns}");
        group.bench_function(format!("columns/{name}"), |b| b.iter(|| black_box(&turned).matmul(&x)));
        group.bench_function(format!("rows/{name}"), |b| b.iter(|| black_box(&by_rows).matmul(&x)));
        let few = Tensor::rand([rows, 8], 2).expect("numbers");
        group.bench_function(format!("eight columns/{name}"), |b| b.iter(|| black_box(&turned).matmul(&few)));
    }
    group.finish();
}

/// The same matrix as others store it, beside what CSR takes; what stores little; a batch beside one matrix of as many rows.
///
///     cargo bench --bench matmul -- orders
fn orders(c: &mut Criterion) {
    let mut group = c.benchmark_group("orders");
    group.sample_size(20);
    let a = matrix(1);
    let x = dense(1).reshape([N]).expect("a vector");
    let wanted = a.matmul(&x).expect("shapes that fit");
    assert!(wanted.abs().and_then(|x| x.max(..)?.item_as::<f64>()).expect("floats") > 0.0);
    for layout in [Layout::Csr, Layout::Dcsr, Layout::Coo] {
        let a = a.to_layout(layout).expect("a layout of two axes");
        let t = a.t().expect("two axes");
        let product = a.matmul(&x).expect("shapes that fit");
        assert!(product.allclose(&wanted, 1e-9, 1e-9).expect("two of one shape"));
        group.bench_function(format!("{layout}"), |b| b.iter(|| black_box(&a).matmul(&x)));
        group.bench_function(format!("{layout} transposed"), |b| b.iter(|| black_box(&t).matmul(&x)));
    }
    let few = Tensor::random([N], 1e-3, 0.0, Layout::Coo, 3).expect("a valid vector");
    let product = a.matmul(&few).and_then(|y| y.to_dense()).expect("shapes that fit");
    let strided = few.to_dense().and_then(|few| a.matmul(&few)).expect("shapes that fit");
    assert!(few.nse() > 10 && product.allclose(&strided, 1e-9, 1e-9).expect("two of one shape"));
    group.bench_function("csr, vector that stores 65", |b| b.iter(|| black_box(&a).matmul(&few)));
    let batch = Tensor::random([64, 256, 256], 0.05, 0.0, Layout::Csr, 4).expect("valid matrices");
    let flat = Tensor::random([64 * 256, 256], 0.05, 0.0, Layout::Csr, 4).expect("a valid matrix");
    let one = Tensor::random([256, 256], 0.05, 0.0, Layout::Csr, 5).expect("a valid matrix");
    let (all, third) = (batch.matmul(&batch), batch.index(s![3]));
    let (all, third) = (all.and_then(|all| all.index(s![3])).expect("shapes that fit"), third.expect("one of 64"));
    assert!(all.nse() > 1000 && all.equal(&third.matmul(&third).expect("a square")).expect("two of one shape"));
    group.bench_function("64 sparse products of 256", |b| b.iter(|| black_box(&batch).matmul(&batch)));
    group.bench_function("one of as many rows", |b| b.iter(|| black_box(&flat).matmul(&one)));
    group.finish();
}

/// Rows and columns of arrays, each times its own, beside all products, which are added afterwards.
///
///     cargo bench --bench matmul -- each
fn own(c: &mut Criterion) {
    let mut group = c.benchmark_group("each with its own");
    group.throughput(Throughput::Elements(1 << 20));
    for shape in [[1 << 18, 4], [1 << 15, 32], [1 << 10, 1 << 10], [4, 1 << 18]] {
        let [x, y] = [1, 2].map(|seed| Tensor::rand(shape, seed).expect("a valid shape"));
        for (axis, equation) in [(1, "ij,ij->i"), (0, "ij,ij->j")] {
            let apart = || x.mul(&y)?.sum(axis);
            let found = einsum(equation, &[&x, &y]).expect("of one shape");
            assert!(found.allclose(&apart().expect("of one shape"), 1e-12, 0.0).expect("floats"), "{equation}");
            let name = format!("{equation} of {} x {}", shape[0], shape[1]);
            group.bench_function(&name, |b| b.iter(|| einsum(equation, &[black_box(&x), &y])));
            group.bench_function(format!("{name}/apart"), |b| b.iter(apart));
        }
    }
    // A single row, beside the dot product of ndarray.
    const TERMS: usize = 10_000;
    group.throughput(Throughput::Elements(TERMS as u64));
    let [x, y] = [1, 2].map(|seed| Tensor::rand([TERMS], seed).expect("a valid shape"));
    let [own, other] = [&x, &y].map(|x| ndarray::Array1::from(x.to_vec::<f64>().expect("floats")));
    let found = x.matmul(&y).and_then(|found| found.item_as::<f64>()).expect("a number");
    assert!((found / own.dot(&other) - 1.0).abs() < 1e-12);
    group.bench_function("a single row", |b| b.iter(|| black_box(&x).matmul(&y)));
    group.bench_function("a single row/ndarray", |b| b.iter(|| black_box(&own).dot(&other)));
    group.finish();
}

/// What a call takes before there is anything to compute: operands of ten elements.
///
///     cargo bench --bench matmul -- small
fn small(c: &mut Criterion) {
    let mut group = c.benchmark_group("small");
    let of = |seed| Tensor::random([10, 10], 0.1, 0.0, Layout::Csr, seed).expect("a valid matrix");
    let (a, b) = (of(1), of(2));
    let x = Tensor::from_vec([10], (0..10).map(f64::from).collect()).expect("as many as the shape has");
    let dense = b.to_dense().expect("a small matrix");
    let square = a.to_dense().expect("a small matrix");
    // What is timed stores something, and is what the strided product gives.
    let product = a.matmul(&b).expect("shapes that fit");
    let strided = square.matmul(&dense).expect("shapes that fit");
    assert!(product.nse() > 0 && product.allclose(&strided, 1e-12, 0.0).expect("two of one shape"));
    group.bench_function("csr_csr", |r| r.iter(|| black_box(&a).matmul(&b)));
    group.bench_function("csr_vector", |r| r.iter(|| black_box(&a).matmul(&x)));
    group.bench_function("csr_strided", |r| r.iter(|| black_box(&a).matmul(&dense)));
    group.bench_function("strided_strided", |r| r.iter(|| black_box(&square).matmul(&dense)));
    group.finish();
}

/// A matrix of blocks of 4 × 4, as it is stored and as compressed rows.
///
///     cargo bench --bench matmul -- blocks
fn blocks(c: &mut Criterion) {
    let mut group = c.benchmark_group("blocks");
    group.sample_size(20);
    let places = Tensor::random([N / 4, N / 4], 16.0 / N as f64 * 4.0, 0.0, Layout::Csr, 5).expect("a valid matrix");
    let rows = places.kron(&Tensor::rand([4, 4], 6).expect("numbers")).expect("two matrices");
    let rows = rows.to_layout(Layout::Csr).expect("a layout of two axes");
    group.throughput(Throughput::Elements(rows.nse() as u64));
    let (x, b16) = (Tensor::rand([N], 7).expect("numbers"), Tensor::rand([N, 16], 8).expect("numbers"));
    let by_columns = Layout::Bsc { block: [4, 4] };
    for layout in [Layout::Csr, Layout::Bsr { block: [4, 4] }, by_columns] {
        let a = rows.to_layout(layout).expect("blocks that divide the axes");
        for (name, right) in [("vector", &x), ("16 columns", &b16)] {
            let (product, wanted) = (a.matmul(right), rows.matmul(right).expect("shapes that fit"));
            assert!(product.and_then(|y| y.allclose(&wanted, 1e-9, 1e-9)).expect("two of one shape"));
            group.bench_function(format!("{layout}, {name}"), |b| b.iter(|| black_box(&a).matmul(right)));
        }
    }
    group.finish();
}

criterion_group!(
    benches,
    products,
    kinds,
    grid,
    lengths,
    panels,
    stencils,
    scattered,
    any_columns,
    whole_numbers,
    gram,
    orders,
    blocks,
    small,
    own
);
criterion_main!(benches);
