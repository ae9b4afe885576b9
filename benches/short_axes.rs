//! Strided tensors: elements named along an axis, folds over axes between others, of short slices and without NaN, products with vectors
//! of matrices that are narrow; scans down columns, histograms, what few long rows come to. Each beside a way round it that has the same
//! result.

#![allow(clippy::expect_used)] // a failed check ends the bench

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use openwork::{Result, Tensor, tensor};

/// Points of three coordinates, and pictures of rows by columns. All numbers are positive, so that no sum is small beside its terms.
const POINTS: usize = 300_000;
const PICTURES: [usize; 3] = [100, 100, 100];

fn near(a: Result<Tensor>, b: Result<Tensor>) -> bool {
    a.and_then(|a| a.allclose(&b?, 1e-12, 1e-300)).expect("of one shape")
}

/// What is measured, and the way round.
type Pair<'a> = (&'a str, &'a dyn Fn() -> Result<Tensor>, &'a dyn Fn() -> Result<Tensor>);

fn measure(group: &mut BenchmarkGroup<'_, WallTime>, pairs: &[Pair<'_>]) {
    for (name, ours, round) in pairs {
        assert!(near(ours(), round()), "{name}");
        group.bench_function(*name, |b| b.iter(|| black_box(ours())));
        group.bench_function(format!("{name}/round it"), |b| b.iter(|| black_box(round())));
    }
}

/// Running sums of rows of `n`, one after the other, as exact as ours.
fn running(x: &Tensor, n: usize) -> Result<Tensor> {
    let mut out = x.to_vec::<f64>()?;
    for row in out.chunks_mut(n) {
        let (mut sum, mut low) = (0.0, 0.0);
        for x in row {
            let next = sum + *x;
            let of_x = next - sum;
            low += (sum - (next - of_x)) + (*x - of_x);
            (sum, *x) = (next, next + low);
        }
    }
    Tensor::from_vec(x.shape(), out)
}

/// Arrays whose axes are not short.
fn long_axes(c: &mut Criterion) {
    let mut group = c.benchmark_group("long_axes");
    let square = Tensor::rand([1000, 1000], 7).expect("a valid shape");
    let wide = Tensor::rand([3, 300_000], 8).expect("a valid shape");
    let turned = |x: &Tensor| x.permute_dims([1, 0])?.to_contiguous();
    let parts = [wide.narrow(0..1, 0), wide.narrow(1..2, 0)].map(|x| x.and_then(|x| x.flatten()).expect("a row"));
    let twice = tensor![0, 0, 1, 1, 2, 2];
    let points = turned(&wide).expect("a small array");
    let column = square.narrow(0..1, 1).and_then(|column| column.to_contiguous()).expect("a column");
    let complex =
        Tensor::stack(&[&square, &square.sqrt().expect("of floats")], -1).and_then(|pairs| pairs.view_as_complex());
    let complex = complex.expect("pairs");
    let tens = Tensor::rand([100_000, 10], 9).and_then(|x| x.cast(openwork::DType::F32)).expect("a valid shape");
    let pairs: [Pair<'_>; 11] = [
        ("max of ten", &|| tens.max(1), &|| turned(&tens)?.max(0)),
        ("sum of ten", &|| tens.sum(1), &|| turned(&tens)?.sum(0)),
        ("sums along", &|| square.cumulative_sum(1), &|| running(&square, 1000)),
        ("a number for each row", &|| square.sub(&column), &|| {
            square.sub(column.broadcast_to([1000, 1000])?.to_contiguous()?)
        }),
        ("var of complex", &|| complex.var(0.0, 0), &|| complex.real()?.var(0.0, 0)?.add(complex.imag()?.var(0.0, 0)?)),
        ("sums down", &|| square.cumulative_sum(0), &|| turned(&turned(&square)?.cumulative_sum(1)?)),
        ("var of three", &|| wide.var(0.0, 0), &|| wide.sub(&wide.mean(0)?)?.square()?.mean(0)),
        ("norm of rows", &|| square.vector_norm(2.0, 1), &|| square.square()?.sum(1)?.sqrt()),
        ("histogram", &|| Ok(square.histogram(50, Some((0.0, 1.0)))?.0), &|| {
            let ends = square.flatten()?.sort(0)?.searchsorted(&Tensor::linspace(0.0, 1.0, 51)?)?;
            ends.diff(1, 0)
        }),
        ("two columns", &|| Tensor::stack(&parts, -1), &|| turned(&Tensor::stack(&parts, 0)?)),
        ("each twice", &|| points.repeat(2, 1), &|| points.take(&twice, 1)),
    ];
    measure(&mut group, &pairs);
    group.finish();
}

fn short_axes(c: &mut Criterion) {
    let mut group = c.benchmark_group("short_axes");
    group.throughput(Throughput::Elements(3 * POINTS as u64));
    let points = Tensor::rand([POINTS, 3], 3).expect("a valid shape");
    let pictures = Tensor::rand(PICTURES, 4).expect("a valid shape");
    let order = points.argsort(1).expect("an order");
    // The same in COO, whose elements are looked up by their coordinates.
    let listed = points.flatten().expect("a valid shape");
    let at = Tensor::arange(0.0, (3 * POINTS) as f64, 3.0).and_then(|x| x.cast(openwork::DType::I64)).expect("numbers");
    let at = at.reshape([POINTS, 1]).and_then(|first| first.add(&order)).expect("of one shape");
    let column = |j: usize| points.narrow(j..j + 1, 1)?.reshape([POINTS]);
    let weights = Tensor::rand([3], 5).expect("a valid shape");
    let factors = weights.to_vec::<f64>().expect("floats");
    let of_points = Tensor::rand([POINTS], 6).expect("a valid shape");
    let turned = || pictures.permute_dims([0, 2, 1])?.to_contiguous();
    let pairs: [Pair<'_>; 9] = [
        ("take_along_axis", &|| points.take_along_axis(&order, 1), &|| listed.take(&at, 0)?.reshape([POINTS, 3])),
        ("scatter", &|| points.scatter(&order, &points, 1), &|| points.take_along_axis(&order.argsort(1)?, 1)),
        ("sum between", &|| pictures.sum(1), &|| turned()?.sum(2)),
        ("max between", &|| pictures.max(1), &|| turned()?.max(2)),
        ("max of three", &|| points.max(1), &|| column(0)?.maximum(&column(1)?)?.maximum(&column(2)?)),
        ("norm of three", &|| points.vector_norm(2.0, 1), &|| column(0)?.hypot(&column(1)?)?.hypot(&column(2)?)),
        ("argmax of three", &|| points.argmax(1), &|| points.argsort_descending(1)?.narrow(0..1, 1)?.reshape([POINTS])),
        ("points @ vector", &|| points.matmul(&weights), &|| {
            let sum = column(0)?.mul(factors[0])?.add(&column(1)?.mul(factors[1])?)?;
            sum.add(&column(2)?.mul(factors[2])?)
        }),
        ("vector @ points", &|| of_points.matmul(&points), &|| of_points.reshape([POINTS, 1])?.mul(&points)?.sum(0)),
    ];
    measure(&mut group, &pairs);
    // NaN of which there is none, and looked for.
    assert!(near(pictures.nanmax(..), pictures.max(..)) && near(pictures.nansum(2), pictures.sum(2)));
    let without = || pictures.isnan()?.logical_not()?.where_(&pictures, f64::NEG_INFINITY)?.max(..);
    group.bench_function("nanmax", |b| b.iter(|| black_box(&pictures).nanmax(..)));
    group.bench_function("nanmax/round it", |b| b.iter(|| black_box(without())));
    group.finish();
}

criterion_group!(benches, short_axes, long_axes);
criterion_main!(benches);
