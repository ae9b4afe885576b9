//! Sparse matrices, ours and those of sprs and faer: the same arrays, one thread, in one run.
//!
//! Before anything is timed, every peer's result is compared with ours.
#![allow(clippy::panic, clippy::unwrap_used, missing_docs)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use faer::sparse::SparseRowMat;
use faer::{Accum, Mat, Par};
use openwork::parallel::with_threads;
use openwork::{Layout, Tensor};
use sprs::{CsMatI, TriMatI};

const N: usize = 100_000;
const PER_ROW: f64 = 16.0;

/// One matrix in the form of each library.
struct Case {
    ours: Tensor,
    sprs: CsMatI<f64, u32>,
    faer: SparseRowMat<u32, f64>,
}

fn case(seed: u64) -> Case {
    let ours = Tensor::random(&[N, N], PER_ROW / N as f64, 0.0, Layout::Csr, seed).unwrap();
    let [(_, rows), (_, columns)] = &ours.coordinates()[..] else { panic!("a matrix has two axes") };
    let values = ours.values::<f64>().unwrap();
    let mut sprs = TriMatI::<f64, u32>::with_capacity((N, N), values.len());
    let mut triplets = Vec::with_capacity(values.len());
    for ((&i, &j), &v) in rows.iter().zip(columns).zip(values) {
        sprs.add_triplet(i as usize, j as usize, v);
        triplets.push(faer::sparse::Triplet::new(i as u32, j as u32, v));
    }
    let faer = SparseRowMat::try_new_from_triplets(N, N, &triplets).unwrap();
    Case { sprs: sprs.to_csr(), faer, ours }
}

fn vector() -> Vec<f64> {
    (0..N).map(|i| (i % 17) as f64 - 8.0).collect()
}

/// Greatest difference, relative to the greatest element.
fn differ(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let largest = a.iter().fold(1e-300, |m: f64, x| m.max(x.abs()));
    a.iter().zip(b).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max) / largest
}

fn on_one_thread(times: u64, op: &(dyn Fn() -> openwork::Result<Tensor> + Sync)) -> Duration {
    let run = || {
        let start = Instant::now();
        (0..times).for_each(|_| drop(black_box(op())));
        start.elapsed()
    };
    with_threads(1, run).unwrap()
}

fn matrices(c: &mut Criterion) {
    let (a, b) = (case(1), case(2));
    let x = vector();
    let ours_x = Tensor::from_vec(&[N], x.clone()).unwrap();
    let sprs_x = ndarray::Array1::from_vec(x.clone());
    let faer_x = Mat::from_fn(N, 1, |i, _| x[i]);
    let times = |y: &mut Mat<f64>| {
        faer::sparse::linalg::matmul::sparse_dense_matmul(
            y.as_mut(),
            Accum::Replace,
            a.faer.as_ref(),
            faer_x.as_ref(),
            1.0,
            Par::Seq,
        );
    };
    let mut y = Mat::<f64>::zeros(N, 1);
    times(&mut y);
    let product = a.ours.matmul(&ours_x).unwrap();
    let product = product.values::<f64>().unwrap();
    assert!(differ(product, (&a.sprs * &sprs_x).as_slice().unwrap()) < 1e-12);
    assert!(differ(product, &(0..N).map(|i| y[(i, 0)]).collect::<Vec<_>>()) < 1e-12);
    let sum = (&a.ours + &b.ours).unwrap();
    assert!(differ(sum.values::<f64>().unwrap(), (&a.sprs + &b.sprs).data()) == 0.0);

    let mut group = c.benchmark_group("matrices");
    group.sample_size(20).throughput(Throughput::Elements(a.ours.nse() as u64));
    let id = |op: &str, who: &str| BenchmarkId::new(op, who);
    let coo = a.ours.to_layout(Layout::Coo).unwrap();
    let ours: [(&str, &(dyn Fn() -> openwork::Result<Tensor> + Sync)); 5] = [
        ("matvec", &|| a.ours.matmul(&ours_x)),
        ("add", &|| &a.ours + &b.ours),
        ("csr_to_csc", &|| a.ours.to_layout(Layout::Csc)),
        ("coo_to_csr", &|| coo.to_layout(Layout::Csr)),
        ("matmul", &|| a.ours.matmul(&b.ours)),
    ];
    for (name, op) in ours {
        group.bench_function(id(name, "openwork"), |m| m.iter_custom(|n| on_one_thread(n, op)));
    }
    group.bench_function(id("matvec", "sprs"), |m| m.iter(|| black_box(&a.sprs) * &sprs_x));
    group.bench_function(id("matvec", "faer"), |m| m.iter(|| times(&mut y)));
    group.bench_function(id("add", "sprs"), |m| m.iter(|| black_box(&a.sprs) + &b.sprs));
    group.bench_function(id("csr_to_csc", "sprs"), |m| m.iter(|| black_box(&a.sprs).to_csc()));
    group.bench_function(id("csr_to_csc", "faer"), |m| m.iter(|| black_box(&a.faer).to_col_major()));
    group.bench_function(id("matmul", "sprs"), |m| m.iter(|| black_box(&a.sprs) * &b.sprs));
    group.finish();
}

criterion_group!(benches, matrices);
criterion_main!(benches);
