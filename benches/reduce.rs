//! Reductions, each fast road beside the one that it replaces.
#![allow(clippy::expect_used, missing_docs)] // a bench that cannot set up has nothing to measure

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use openwork::parallel::with_threads;
use openwork::{DType, Layout, Tensor};
use openwork_ops::reduce::Exact;

const ROWS: usize = 1 << 16;
const COLS: usize = 1 << 16;
const NSE: usize = 1 << 20;

fn matrix(layout: Layout) -> Tensor {
    let density = NSE as f64 / (ROWS * COLS) as f64;
    Tensor::random([ROWS, COLS], density, 0.0, layout, 1).expect("a valid matrix")
}

fn near(a: &Tensor, b: &Tensor) -> bool {
    a.allclose(b, 1e-12, 0.0).expect("of one shape")
}

/// Along the rows of CSR the result is as long as the pointers, and strided; COO has to find its rows.
fn along_rows(c: &mut Criterion) {
    let mut group = c.benchmark_group("along_rows");
    group.throughput(Throughput::Elements(NSE as u64));
    for layout in [Layout::Csr, Layout::Coo] {
        let x = matrix(layout);
        group.bench_function(BenchmarkId::new("sum", layout), |b| b.iter(|| black_box(&x).sum(1)));
        group.bench_function(BenchmarkId::new("max", layout), |b| b.iter(|| black_box(&x).max(1)));
    }
    // Beside a plain loop over each row.
    let x = matrix(Layout::Csr);
    let lengths = x.count_nonzero(1).and_then(|lengths| lengths.to_vec::<i64>()).expect("counts");
    let rows = || {
        let mut rest = x.values::<f64>()?;
        let greatest = lengths.iter().map(|&length| {
            let (row, others) = rest.split_at(length as usize);
            rest = others;
            row.iter().copied().fold(f64::NEG_INFINITY, f64::max).max(if row.len() < COLS {
                0.0
            } else {
                f64::NEG_INFINITY
            })
        });
        Tensor::from_vec([ROWS], greatest.collect())
    };
    assert!(near(&x.max(1).expect("rows"), &rows().expect("rows")));
    group.bench_function("max/loop", |b| b.iter(|| black_box(rows())));
    group.finish();
}

/// Into a table of columns, or after sorting by them.
fn along_columns(c: &mut Criterion) {
    let mut group = c.benchmark_group("along_columns");
    group.throughput(Throughput::Elements(NSE as u64));
    let x = matrix(Layout::Csr);
    group.bench_function("sum/table", |b| b.iter(|| black_box(&x).sum(0)));
    group.bench_function("max/table", |b| b.iter(|| black_box(&x).max(0)));
    let sorted = |x: &Tensor| x.to_layout(Layout::Csc)?.sum(0);
    group.bench_function("sum/sorted", |b| b.iter(|| sorted(black_box(&x))));
    let ones = x.replace_fill(1.0).expect("a number of the dtype");
    group.bench_function("sum/table_with_counts", |b| b.iter(|| black_box(&ones).sum(0)));
    // Columns that follow the rows: threads share them by where they are.
    let n = 1_000_000;
    let band = Tensor::rand([3, n], 3).and_then(|numbers| Tensor::from_diagonals([n, n], &numbers, &[-1, 0, 1], 0.0));
    let band = band.and_then(|x| x.to_layout(Layout::Csr)).expect("a band");
    group.bench_function("sum/band", |b| b.iter(|| black_box(&band).sum(0)));
    group.bench_function("sum/band on one thread", |b| b.iter(|| with_threads(1, || black_box(&band).sum(0))));
    group.finish();
}

/// Columns of CSR as stretches of its rows, beside picking coordinates one by one.
fn windows(c: &mut Criterion) {
    let mut group = c.benchmark_group("windows");
    group.throughput(Throughput::Elements(NSE as u64));
    for layout in [Layout::Csr, Layout::Coo] {
        let x = matrix(layout);
        let middle = COLS / 4..COLS / 2;
        group.bench_function(BenchmarkId::new("columns", layout), |b| {
            b.iter(|| black_box(&x).narrow(middle.clone(), 1))
        });
        let middle = ROWS / 4..ROWS / 2;
        group.bench_function(BenchmarkId::new("rows", layout), |b| b.iter(|| black_box(&x).narrow(middle.clone(), 0)));
    }
    group.finish();
}

/// Slices that lie one after the other are cut by pointers: no element gets a key. Beside the same elements of two axes together, which
/// get one.
fn slices(c: &mut Criterion) {
    let mut group = c.benchmark_group("slices");
    group.throughput(Throughput::Elements(NSE as u64));
    let x = matrix(Layout::Csr);
    let places = x.argmax(1).and_then(|p| p.to_vec::<i64>()).expect("an order");
    assert!(places.iter().any(|&at| at > 0) && places.iter().all(|&at| (at as usize) < COLS));
    for layout in [Layout::Csr, Layout::Coo, Layout::Csc] {
        let x = matrix(layout);
        assert_eq!(x.argmax(1).and_then(|p| p.to_vec::<i64>()).expect("an order"), places);
        group.bench_function(BenchmarkId::new("argmax", layout), |b| b.iter(|| black_box(&x).argmax(1)));
        group.bench_function(BenchmarkId::new("norm", layout), |b| b.iter(|| black_box(&x).vector_norm(2.0, 1)));
        group.bench_function(BenchmarkId::new("median", layout), |b| b.iter(|| black_box(&x).median(1)));
        group.bench_function(BenchmarkId::new("topk", layout), |b| b.iter(|| black_box(&x).topk(3, 1)));
        group.bench_function(BenchmarkId::new("places", layout), |b| b.iter(|| black_box(&x).argwhere()));
        group.bench_function(BenchmarkId::new("stack", layout), |b| b.iter(|| Tensor::stack(&[black_box(&x), &x], 0)));
    }
    group.finish();
}

/// Whole numbers and truth values beside floats of as many elements.
fn whole_numbers(c: &mut Criterion) {
    let mut group = c.benchmark_group("whole_numbers");
    const N: usize = 4_000_000;
    group.throughput(Throughput::Elements(N as u64));
    let numbers = Tensor::arange(0.0, N as f64, 1.0).and_then(|x| x.remainder(100.0)).expect("numbers");
    let total = (N / 100 * 4950) as f64;
    for dtype in [DType::Bool, DType::I8, DType::I32, DType::I64, DType::F32, DType::F64] {
        let x = numbers.cast(dtype).expect("a real dtype");
        let sum = x.sum(..).and_then(|s| s.item()).expect("a sum").to::<f64>();
        assert_eq!(sum, if dtype == DType::Bool { (N / 100 * 99) as f64 } else { total });
        group.bench_function(BenchmarkId::new("sum", dtype), |b| b.iter(|| black_box(&x).sum(..)));
        if dtype.size() < 4 {
            // In counters of 64 bits, which fewer go into a vector of.
            let wide = |x: &Tensor| x.cast(DType::I32)?.sum(..);
            group.bench_function(BenchmarkId::new("sum by int32", dtype), |b| b.iter(|| wide(black_box(&x))));
        }
        group.bench_function(BenchmarkId::new("max", dtype), |b| b.iter(|| black_box(&x).max(..)));
        group.bench_function(BenchmarkId::new("count", dtype), |b| b.iter(|| black_box(&x).count_nonzero(..)));
        group.bench_function(BenchmarkId::new("add", dtype), |b| b.iter(|| black_box(&x).add(&x)));
        group.bench_function(BenchmarkId::new("to int8", dtype), |b| b.iter(|| black_box(&x).cast(DType::I8)));
        group.bench_function(BenchmarkId::new("to float32", dtype), |b| b.iter(|| black_box(&x).cast(DType::F32)));
    }
    let norm = numbers.vector_norm(2.0, ..).and_then(|n| n.item()).expect("a norm").to::<f64>();
    assert!((norm - (N as f64 / 100.0 * 328_350.0).sqrt()).abs() < 1e-9 * norm);
    group.bench_function("norm", |b| b.iter(|| black_box(&numbers).vector_norm(2.0, ..)));
    group.bench_function("variance", |b| b.iter(|| black_box(&numbers).var(0.0, ..)));
    group.bench_function("clip", |b| b.iter(|| black_box(&numbers).clip(10.0, 90.0)));
    group.finish();
}

/// Columns of arrays in blocks as their rows go by, beside the rows of a transposed copy.
fn columns_of_arrays(c: &mut Criterion) {
    let mut group = c.benchmark_group("columns_of_arrays");
    group.throughput(Throughput::Elements(1_000_000));
    let x = Tensor::rand([1000, 1000], 3).expect("a valid shape");
    let turned = |x: &Tensor| Tensor::from_vec([1000, 1000], x.permute_dims([1, 0])?.to_vec::<f64>()?);
    let rows = turned(&x).expect("as many elements");
    assert!(near(&x.var(1.0, 0).expect("floats"), &rows.var(1.0, 1).expect("floats")));
    assert!(near(&x.vector_norm(2.0, 0).expect("floats"), &rows.vector_norm(2.0, 1).expect("floats")));
    // Four rows in one pass (one at a time: RFC 25).
    let large = Tensor::rand([4000, 1000], 5).expect("a valid shape");
    let summed = large.permute_dims([1, 0]).and_then(|t| t.to_contiguous()).and_then(|t| t.sum(1)).expect("floats");
    assert!(near(&large.sum(0).expect("floats"), &summed));
    group.bench_function("sum/4000 rows", |b| b.iter(|| black_box(&large).sum(0)));
    // Narrow rows beside each other, in shares of the rows.
    let narrow = Tensor::rand([60_000, 50], 5).expect("a valid shape");
    let numbers = narrow.to_vec::<f64>().expect("floats");
    let down = || numbers.chunks_exact(50).fold([0.0; 50], |sums, row| std::array::from_fn(|j| sums[j] + row[j]));
    assert!(near(&narrow.sum(0).expect("floats"), &Tensor::from_vec([50], down().to_vec()).expect("as many")));
    group.bench_function("sum/60000 narrow rows", |b| b.iter(|| black_box(&narrow).sum(0)));
    group.bench_function("sum/60000 narrow rows/loop", |b| b.iter(|| black_box(down())));
    group.bench_function("max/60000 narrow rows", |b| b.iter(|| black_box(&narrow).max(0)));
    // Four rows in one pass over the greatest, and a row at a time.
    let numbers = x.to_vec::<f64>().expect("floats");
    let greatest = || {
        numbers.chunks_exact(1000).fold(vec![f64::NEG_INFINITY; 1000], |mut most, row| {
            most.iter_mut().zip(row).for_each(|(most, &v)| *most = if *most > v || most.is_nan() { *most } else { v });
            most
        })
    };
    assert_eq!(x.max(0).and_then(|most| most.to_vec::<f64>()).expect("floats"), greatest());
    group.bench_function("max/rows", |b| b.iter(|| black_box(&x).max(0)));
    group.bench_function("max/rows/loop", |b| b.iter(|| black_box(greatest())));
    // Where it is: as rows go by, beside each column by itself.
    let places = |x: &Tensor, axis: isize| x.argmax(axis).and_then(|at| at.to_vec::<i64>()).expect("an order");
    assert_eq!(places(&x, 0), places(&rows, 1));
    group.bench_function("argmax/rows", |b| b.iter(|| black_box(&x).argmax(0)));
    group.bench_function("argmax/transposed", |b| b.iter(|| turned(black_box(&x))?.argmax(1)));
    group.bench_function("var/blocks", |b| b.iter(|| black_box(&x).var(1.0, 0)));
    group.bench_function("var/transposed", |b| b.iter(|| turned(black_box(&x))?.var(1.0, 1)));
    group.bench_function("norm/blocks", |b| b.iter(|| black_box(&x).vector_norm(2.0, 0)));
    group.bench_function("norm/transposed", |b| b.iter(|| turned(black_box(&x))?.vector_norm(2.0, 1)));
    group.finish();
}

/// Coordinates of three axes: along the last, whose runs are cut where columns change, beside a level for each axis; along the middle
/// one, into a table of which each thread fills a part.
fn coordinates(c: &mut Criterion) {
    let mut group = c.benchmark_group("coordinates");
    group.throughput(Throughput::Elements(NSE as u64));
    let x = Tensor::random([1000, 1000, 1000], NSE as f64 / 1e9, 0.0, Layout::Coo, 5).expect("a valid tensor");
    let fibers = x.to_layout(Layout::Csf).expect("three axes");
    let total = |x: &Tensor| x.sum(..).expect("floats").item().expect("one").to::<f64>();
    for axis in 0..3 {
        let found = x.sum(axis).expect("floats");
        assert!((total(&found) / total(&x) - 1.0).abs() < 1e-12);
        group.bench_function(format!("sum{axis}/coo"), |b| b.iter(|| black_box(&x).sum(axis)));
        group.bench_function(format!("sum{axis}/csf"), |b| b.iter(|| black_box(&fibers).sum(axis)));
    }
    group.finish();
}

/// Rows over a fill for each column, beside loops over what is stored: sums of every term without rounding, of which twice the
/// precision is enough; and for an extreme and a median all of a row in order, of which the fill is sorted once.
///
///     cargo bench --bench reduce -- fills
fn fills(c: &mut Criterion) {
    let (rows, columns) = (20_000, 1_000);
    let mut group = c.benchmark_group("fills");
    group.sample_size(10);
    let x = Tensor::random([rows, columns], 0.01, 0.0, Layout::Csr, 6).expect("a matrix");
    let fill = Tensor::rand([1, columns], 7).expect("a valid shape");
    let x = x.replace_fill(&fill).expect("a fill that fits");
    group.throughput(Throughput::Elements(x.nse() as u64));
    let numbers = fill.to_vec::<f64>().expect("floats");
    let at = x.indices().and_then(|at| at.to_vec::<i64>()).expect("places");
    let values = x.stored_values().to_vec::<f64>().expect("floats");
    let exactly = || {
        let mut sums = vec![Exact::new(); rows];
        for (at, value) in at.chunks(2).zip(&values) {
            sums[at[0] as usize].add(*value);
            sums[at[0] as usize].sub(numbers[at[1] as usize]);
        }
        let mut all = Exact::new();
        numbers.iter().for_each(|&v| all.add(v));
        let all = all.compact();
        let rounded = |sum: &mut Exact| {
            sum.merge(&all);
            sum.round()
        };
        sums.iter_mut().map(rounded).collect::<Vec<f64>>()
    };
    let sorted = || {
        let mut entries = at.chunks(2).zip(&values).peekable();
        let row = |row: usize| {
            let mut all = numbers.clone();
            while let Some((at, value)) = entries.next_if(|(at, _)| at[0] as usize == row) {
                all[at[1] as usize] = *value;
            }
            all.sort_unstable_by(f64::total_cmp);
            (all[(columns - 1) / 2], all[columns - 1])
        };
        (0..rows).map(row).unzip::<f64, f64, Vec<f64>, Vec<f64>>()
    };
    let of = |x: openwork::Result<Tensor>| x.and_then(|x| x.to_vec::<f64>()).expect("floats");
    assert_eq!(of(x.sum(1)), exactly());
    assert_eq!((of(x.median(1)), of(x.max(1))), sorted());
    group.bench_function("sum", |b| b.iter(|| black_box(&x).sum(1)));
    group.bench_function("sum by a loop", |b| b.iter(exactly));
    group.bench_function("max", |b| b.iter(|| black_box(&x).max(1)));
    group.bench_function("median", |b| b.iter(|| black_box(&x).median(1)));
    group.bench_function("max and median by a loop", |b| b.iter(sorted));
    group.finish();
}

/// All elements of compressed columns, whose order does not matter, beside rows made of them first.
///
///     cargo bench --bench reduce -- any_order
fn any_order(c: &mut Criterion) {
    let mut group = c.benchmark_group("any_order");
    group.throughput(Throughput::Elements(NSE as u64));
    let x = matrix(Layout::Csc);
    let rows = |x: &Tensor| x.to_layout(Layout::Csr);
    let one = |x: openwork::Result<Tensor>| x.and_then(|x| x.item_as::<f64>()).expect("a number");
    assert_eq!(one(x.median(..)), one(rows(&x).and_then(|x| x.median(..))));
    group.bench_function("variance", |b| b.iter(|| black_box(&x).var(0.0, ..)));
    group.bench_function("variance/rows", |b| b.iter(|| rows(black_box(&x))?.var(0.0, ..)));
    group.bench_function("median", |b| b.iter(|| black_box(&x).median(..)));
    group.bench_function("median/rows", |b| b.iter(|| rows(black_box(&x))?.median(..)));
    group.finish();
}

criterion_group!(
    benches,
    along_rows,
    along_columns,
    windows,
    slices,
    whole_numbers,
    columns_of_arrays,
    coordinates,
    fills,
    any_order
);
criterion_main!(benches);
