//! Reductions, each fast road beside the one that it replaces.
#![allow(clippy::expect_used, missing_docs)] // a bench that cannot set up has nothing to measure

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use openwork::{Layout, Tensor};

const ROWS: usize = 1 << 16;
const COLS: usize = 1 << 16;
const NSE: usize = 1 << 20;

fn matrix(layout: Layout) -> Tensor {
    let density = NSE as f64 / (ROWS * COLS) as f64;
    Tensor::random([ROWS, COLS], density, 0.0, layout, 1).expect("a valid matrix")
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

criterion_group!(benches, along_rows, along_columns, windows);
criterion_main!(benches);
