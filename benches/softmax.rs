//! Softmax over rows in one pass, beside the same as a composition of elementwise ops and reductions.
#![allow(clippy::expect_used, missing_docs)] // a bench that cannot set up has nothing to measure

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use openwork::{DType, Layout, Result, Tensor, keep};

const ROWS: usize = 1 << 16;
const COLS: usize = 1 << 16;
const NSE: usize = 1 << 20;

/// What the pass over rows replaces.
fn composed(x: &Tensor) -> Result<Tensor> {
    let e = (x - &x.max(keep(1))?)?.exp()?;
    &e / &e.sum(keep(1))?
}

fn softmax(c: &mut Criterion) {
    let mut group = c.benchmark_group("softmax");
    let density = NSE as f64 / (ROWS * COLS) as f64;
    let x = Tensor::random([ROWS, COLS], density, 0.0, Layout::Csr, 1).expect("a valid matrix");
    group.throughput(Throughput::Elements(x.nse() as u64));
    // One pass and the composition agree where there is something to agree on.
    let (one, other) = (x.softmax(1).expect("floats"), composed(&x).expect("floats"));
    assert!(one.allclose(&other, 1e-12, 0.0).expect("two of one shape"));
    assert!(!one.allclose(&one.mul(2.0).expect("floats"), 1e-12, 0.0).expect("two of one shape"));
    group.bench_function("exp_alone", |b| b.iter(|| black_box(&x).exp()));
    group.bench_function("rows/composed", |b| b.iter(|| composed(black_box(&x))));
    group.bench_function("rows/csr", |b| b.iter(|| black_box(&x).softmax(1)));
    group.bench_function("rows/csr_log", |b| b.iter(|| black_box(&x).log_softmax(1)));
    let rows = Tensor::rand([1000, 1000], 2).and_then(|x| x.cast(DType::F32)).expect("a valid shape");
    let plain = |x: &Tensor| x.sub(&x.logsumexp(keep(1))?);
    let (one, other) = (rows.log_softmax(1).expect("floats"), plain(&rows).expect("floats"));
    assert!(one.allclose(&other, 1e-6, 1e-6).expect("two of one shape"));
    group.bench_function("rows/array", |b| b.iter(|| black_box(&rows).softmax(1)));
    group.bench_function("rows/array_composed", |b| b.iter(|| composed(black_box(&rows))));
    group.bench_function("rows/array_log", |b| b.iter(|| black_box(&rows).log_softmax(1)));
    group.bench_function("rows/array_log_composed", |b| b.iter(|| plain(black_box(&rows))));
    // Few rows, which threads share.
    let long = rows.reshape([2, 500_000]).expect("as many elements");
    let (one, other) = (long.softmax(1).expect("floats"), composed(&long).expect("floats"));
    assert!(one.allclose(&other, 1e-6, 0.0).expect("two of one shape"));
    group.bench_function("long_rows/array", |b| b.iter(|| black_box(&long).softmax(1)));
    group.bench_function("long_rows/array_composed", |b| b.iter(|| composed(black_box(&long))));
    let stored = x.stored();
    group.bench_function("rows/csr_stored", |b| b.iter(|| black_box(&stored).softmax(1)));
    group.bench_function("columns/csr", |b| b.iter(|| black_box(&x).softmax(0)));
    group.bench_function("normalize/csr", |b| b.iter(|| black_box(&x).normalize(2.0, 1)));
    group.bench_function("standardize/csr", |b| b.iter(|| black_box(&x).standardize(0.0, 0)));
    group.finish();
}

criterion_group!(benches, softmax);
criterion_main!(benches);
