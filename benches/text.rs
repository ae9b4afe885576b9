//! Matrix Market text, read and written: about 50 MB of each field, on one thread and on all.
//!
//! `OPENWORK_TEXT` names a folder to leave the files in, for comparisons with other readers on the same bytes.
#![allow(clippy::expect_used, missing_docs)] // a bench that cannot set up has nothing to measure

use std::hint::black_box;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use openwork::io::matrix_market;
use openwork::parallel::with_threads;
use openwork::{DType, Layout, Tensor};

const ROWS: usize = 1 << 20;

/// A matrix of so many random elements, its name and the dtype of its values.
fn matrices() -> Vec<(&'static str, Tensor)> {
    let random = |n: usize| {
        Tensor::random([ROWS, ROWS], n as f64 / (ROWS * ROWS) as f64, 0.0, Layout::Coo, 7).expect("a valid matrix")
    };
    let integers = |n: usize| {
        let x = random(n).stored().mul(1e6).and_then(|x| x.cast(DType::I64)).expect("in range");
        x.replace_fill(0).expect("0 is an integer")
    };
    let pattern = random(3_600_000).is_stored().expect("any tensor has a pattern");
    vec![("real17", random(1_520_000)), ("integer", integers(2_450_000)), ("pattern", pattern)]
}

/// How long `n` runs of some work take on the threads that `on` gives it.
fn timed<R>(n: u64, on: &dyn Fn(&mut (dyn FnMut() + Send)), work: &(dyn Fn() -> R + Sync)) -> Duration {
    let mut taken = Duration::ZERO;
    on(&mut || {
        let start = Instant::now();
        (0..n).for_each(|_| drop(black_box(work())));
        taken = start.elapsed();
    });
    taken
}

fn text(c: &mut Criterion) {
    let (folder, keep) = match std::env::var_os("OPENWORK_TEXT") {
        Some(folder) => (PathBuf::from(folder), true),
        None => (std::env::temp_dir().join(format!("openwork-text-{}", std::process::id())), false),
    };
    std::fs::create_dir_all(&folder).expect("a folder to write to");
    let mut group = c.benchmark_group("text");
    group.sample_size(10);
    for (name, x) in matrices() {
        let path = folder.join(format!("{name}.mtx"));
        matrix_market::write(&path, &x).expect("fill 0 and two axes");
        let bytes = std::fs::metadata(&path).expect("just written").len();
        group.throughput(Throughput::Bytes(bytes));
        for threads in [1, 2] {
            let on = |work: &mut (dyn FnMut() + Send)| with_threads(threads, work).expect("a pool of threads");
            group.bench_function(format!("read_{name}/{threads}"), |b| {
                let read = || matrix_market::read(black_box(&path)).expect("just written");
                b.iter_custom(|n| timed(n, &on, &read));
            });
            group.bench_function(format!("write_{name}/{threads}"), |b| {
                let write = || matrix_market::to_bytes(black_box(&x), &Default::default()).expect("as before");
                b.iter_custom(|n| timed(n, &on, &write));
            });
        }
        if !keep {
            std::fs::remove_file(&path).expect("just written");
        }
    }
    group.finish();
    if !keep {
        std::fs::remove_dir_all(&folder).expect("just made");
    }
}

criterion_group!(benches, text);
criterion_main!(benches);
