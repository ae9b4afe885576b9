//! Elementwise ops, beside what the values alone would cost: `loop/*` runs the same function over a plain slice of as
//! many elements. The ratio of the two is the price of the layout.
#![allow(clippy::expect_used, missing_docs)] // a bench that cannot set up has nothing to measure

use std::hint::black_box;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use openwork::{BinaryOp, DType, Index, Layout, Tensor, UnaryOp, c128, f16};

const ROWS: usize = 1 << 16;
const COLS: usize = 1 << 16;
const NSE: usize = 1 << 20;

fn matrix(layout: Layout, seed: u64) -> Tensor {
    let density = NSE as f64 / (ROWS * COLS) as f64;
    Tensor::random([ROWS, COLS], density, 0.0, layout, seed).expect("a valid matrix")
}

fn unary(c: &mut Criterion) {
    let mut group = c.benchmark_group("unary");
    let x = matrix(Layout::Csr, 1);
    let values = x.values::<f64>().expect("values of a fresh matrix are contiguous").to_vec();
    group.throughput(Throughput::Elements(values.len() as u64));
    group.bench_function("loop/sin", |b| b.iter(|| values.iter().map(|v| v.sin()).collect::<Vec<f64>>()));
    group.bench_function("loop/relu", |b| b.iter(|| values.iter().map(|v| v.max(0.0)).collect::<Vec<f64>>()));
    for layout in [Layout::Csr, Layout::Coo] {
        let x = x.to_layout(layout).expect("any matrix has this layout");
        group.bench_function(BenchmarkId::new("sin", layout), |b| b.iter(|| black_box(&x).sin()));
        group.bench_function(BenchmarkId::new("relu", layout), |b| b.iter(|| black_box(&x).relu()));
        group.bench_function(BenchmarkId::new("cos_fill_1", layout), |b| b.iter(|| black_box(&x).cos()));
    }
    // Values of 128 MB: most of the time goes to memory that is new.
    let large = Tensor::random([1 << 12, 1 << 12], 1.0, 0.0, Layout::Strided, 1).expect("a valid matrix");
    group.throughput(Throughput::Elements(1 << 24));
    group.sample_size(20);
    for op in [UnaryOp::Sin, UnaryOp::Relu] {
        group.bench_function(BenchmarkId::new("large", op.name()), |b| b.iter(|| black_box(&large).unary(op)));
        let mut out = large.unary(op).expect("defined for floats");
        group.bench_function(BenchmarkId::new("large_into", op.name()), |b| {
            b.iter(|| black_box(&large).unary_into(op, &mut out));
        });
    }
    group.finish();
}

/// Functions that have vector code, beside a loop over those of the standard library.
fn functions(c: &mut Criterion) {
    let mut group = c.benchmark_group("functions");
    let x = Tensor::rand([1 << 16], 5).and_then(|x| x.mul(0.98)?.add(0.01)).expect("a valid shape");
    let values = x.to_vec::<f64>().expect("floats");
    group.throughput(Throughput::Elements(values.len() as u64));
    type Plain = fn(f64) -> f64;
    let all: [(UnaryOp, Plain); 13] = [
        (UnaryOp::Exp2, f64::exp2),
        (UnaryOp::Log2, f64::log2),
        (UnaryOp::Log10, f64::log10),
        (UnaryOp::Tan, f64::tan),
        (UnaryOp::Sinh, f64::sinh),
        (UnaryOp::Cosh, f64::cosh),
        (UnaryOp::Asin, f64::asin),
        (UnaryOp::Acos, f64::acos),
        (UnaryOp::Asinh, f64::asinh),
        (UnaryOp::Atanh, f64::atanh),
        (UnaryOp::Softplus, |x| x.exp().ln_1p()),
        (UnaryOp::Silu, |x| x / (1.0 + (-x).exp())),
        (UnaryOp::Logit, |x| (x / (1.0 - x)).ln()),
    ];
    for (op, plain) in all {
        let expected = Tensor::from_vec([values.len()], values.iter().map(|&x| plain(x)).collect()).expect("as many");
        let found = x.unary(op).expect("defined for floats");
        assert!(found.allclose(&expected, 1e-14, 1e-15).expect("floats"), "{}", op.name());
        group.bench_function(BenchmarkId::new("loop", op.name()), |b| {
            b.iter(|| black_box(&values).iter().map(|&x| plain(x)).collect::<Vec<f64>>());
        });
        group.bench_function(BenchmarkId::new("op", op.name()), |b| b.iter(|| black_box(&x).unary(op)));
    }
    // Of singles, as many are computed at once again: beside the same function of doubles, to and fro.
    let single = x.cast(DType::F32).expect("floats");
    for op in [
        UnaryOp::Exp,
        UnaryOp::Exp2,
        UnaryOp::Log,
        UnaryOp::Sin,
        UnaryOp::Tan,
        UnaryOp::Tanh,
        UnaryOp::Erfinv,
        UnaryOp::Gelu,
    ] {
        let by_doubles = |x: &Tensor| x.cast(DType::F64)?.unary(op)?.cast(DType::F32);
        let expected = by_doubles(&single).expect("defined for floats");
        let found = single.unary(op).expect("defined for floats");
        assert!(found.allclose(&expected, 1e-6, 1e-7).expect("floats"), "{}", op.name());
        group.bench_function(BenchmarkId::new("by doubles", op.name()), |b| b.iter(|| by_doubles(black_box(&single))));
        group.bench_function(BenchmarkId::new("op of singles", op.name()), |b| b.iter(|| black_box(&single).unary(op)));
    }
    // By the recurrence and Stirling's series alone.
    let plain = |x: f64| {
        let product: f64 = (0..10).map(|i| x + f64::from(i)).product();
        let x = x + 10.0;
        let series = 1.0 / 12.0 - (1.0 / 360.0 - (1.0 / 1260.0 - 1.0 / 1680.0 / x / x) / x / x) / x / x;
        (x - 0.5) * x.ln() - x + 0.5 * std::f64::consts::TAU.ln() + series / x - product.ln()
    };
    let found = x.unary(UnaryOp::Lgamma).and_then(|x| x.to_vec::<f64>()).expect("floats");
    assert!(found.iter().zip(&values).all(|(found, &x)| (found - plain(x)).abs() < 1e-11) && found[0] > 0.0);
    group.bench_function("loop/lgamma", |b| {
        b.iter(|| black_box(&values).iter().map(|&x| plain(x)).collect::<Vec<f64>>());
    });
    group.bench_function("op/lgamma", |b| b.iter(|| black_box(&x).unary(UnaryOp::Lgamma)));
    let half = single.cast(DType::F16).expect("floats");
    group.bench_function("op/exp of halves", |b| b.iter(|| black_box(&half).unary(UnaryOp::Exp)));
    let cubes = x.pow(3.0).and_then(|x| x.to_vec::<f64>()).expect("floats");
    assert!(cubes.iter().zip(&values).all(|(cube, x)| *cube == x * x * x));
    group.bench_function("op/cube", |b| b.iter(|| black_box(&x).pow(3.0)));
    group.bench_function("op/power of 3.1", |b| b.iter(|| black_box(&x).pow(3.1)));
    let rounded = |x: &f64| f16::from_f64(*x);
    group.bench_function("loop/halves", |b| b.iter(|| black_box(&values).iter().map(rounded).collect::<Vec<f16>>()));
    assert!(half.cast(DType::F64).and_then(|half| half.allclose(&x, 1e-3, 1e-6)).expect("floats"));
    group.bench_function("op/halves", |b| b.iter(|| black_box(&x).cast(DType::F16)));
    let rows = single.reshape([1 << 8, 1 << 8]).expect("as many");
    // An axis between others is left to ops on the whole array.
    let between = rows.expand_dims(2).expect("a new axis");
    let expected = between.normalize(2.0, 1).and_then(|found| found.squeeze(2)).expect("floats");
    assert!(rows.normalize(2.0, 1).and_then(|found| found.allclose(&expected, 1e-6, 0.0)).expect("floats"));
    group.bench_function("by ops/normalize", |b| b.iter(|| black_box(&between).normalize(2.0, 1)));
    group.bench_function("op/normalize", |b| b.iter(|| black_box(&rows).normalize(2.0, 1)));
    // The standard library has none of these.
    for op in [UnaryOp::Erf, UnaryOp::Erfc, UnaryOp::Erfinv, UnaryOp::Gelu] {
        group.bench_function(BenchmarkId::new("op", op.name()), |b| b.iter(|| black_box(&x).unary(op)));
    }
    let y = x.flip(0).expect("one axis");
    let pairs: Vec<(f64, f64)> = values.iter().copied().zip(values.iter().rev().copied()).collect();
    let all: [(BinaryOp, fn(f64, f64) -> f64); 3] = [
        (BinaryOp::Atan2, f64::atan2),
        (BinaryOp::Logaddexp, |a, b| a.max(b) + (-(a - b).abs()).exp().ln_1p()),
        (BinaryOp::Xlogy, |a, b| a * b.ln()),
    ];
    for (op, plain) in all {
        let expected =
            Tensor::from_vec([pairs.len()], pairs.iter().map(|&(a, b)| plain(a, b)).collect()).expect("as many");
        assert!(x.binary(op, &y).and_then(|found| found.allclose(&expected, 1e-14, 1e-15)).expect("floats"));
        group.bench_function(BenchmarkId::new("loop", op.name()), |b| {
            b.iter(|| black_box(&pairs).iter().map(|&(a, b)| plain(a, b)).collect::<Vec<f64>>());
        });
        group.bench_function(BenchmarkId::new("op", op.name()), |b| b.iter(|| black_box(&x).binary(op, &y)));
    }
    let plain = |&(a, b): &(f64, f64)| a == b || (b.is_finite() && (a - b).abs() <= 0.1 * b.abs());
    let found = x.isclose(&y, 0.1, 0.0).and_then(|found| found.to_vec::<bool>()).expect("floats");
    assert!(found.iter().eq(pairs.iter().map(plain).collect::<Vec<bool>>().iter()) && found.contains(&true));
    group.bench_function("loop/isclose", |b| b.iter(|| black_box(&pairs).iter().map(plain).collect::<Vec<bool>>()));
    group.bench_function("op/isclose", |b| b.iter(|| black_box(&x).isclose(&y, 0.1, 0.0)));
    let complex: Vec<c128> = pairs.iter().map(|&(a, b)| c128::new(a - 0.5, b)).collect();
    let z = Tensor::from_vec([complex.len()], complex.clone()).expect("as many");
    let all: [(UnaryOp, fn(c128) -> c128); 8] = [
        (UnaryOp::Angle, |z| z.im.atan2(z.re).into()),
        (UnaryOp::Sign, |z| z / z.re.hypot(z.im)),
        (UnaryOp::Sqrt, |z| z.sqrt()),
        (UnaryOp::Reciprocal, |z| z.inv()), // overflows past 1e154, as ours does not
        (UnaryOp::Exp, |z| z.exp()),
        (UnaryOp::Log, |z| z.ln()),
        (UnaryOp::Sin, |z| z.sin()),
        (UnaryOp::Asin, |z| z.asin()),
    ];
    for (op, plain) in all {
        let expected = Tensor::from_vec([complex.len()], complex.iter().map(|&z| plain(z)).collect()).expect("as many");
        assert!(z.unary(op).and_then(|found| found.allclose(&expected, 1e-13, 0.0)).expect("floats"), "{}", op.name());
        group.bench_function(BenchmarkId::new("loop of complex", op.name()), |b| {
            b.iter(|| black_box(&complex).iter().map(|&z| plain(z)).collect::<Vec<c128>>());
        });
        group.bench_function(BenchmarkId::new("op of complex", op.name()), |b| b.iter(|| black_box(&z).unary(op)));
    }
    let other = z.flip(0).expect("one axis");
    let pairs: Vec<(c128, c128)> = complex.iter().copied().zip(complex.iter().rev().copied()).collect();
    let all: [(BinaryOp, fn(c128, c128) -> c128); 2] =
        [(BinaryOp::Div, |a, b| a / b), (BinaryOp::Pow, |a, b| a.powc(b))];
    for (op, plain) in all {
        let expected =
            Tensor::from_vec([pairs.len()], pairs.iter().map(|&(a, b)| plain(a, b)).collect()).expect("as many");
        assert!(z.binary(op, &other).and_then(|found| found.allclose(&expected, 1e-13, 0.0)).expect("floats"));
        group.bench_function(BenchmarkId::new("loop of complex", op.name()), |b| {
            b.iter(|| black_box(&pairs).iter().map(|&(a, b)| plain(a, b)).collect::<Vec<c128>>());
        });
        group.bench_function(BenchmarkId::new("op of complex", op.name()), |b| {
            b.iter(|| black_box(&z).binary(op, &other));
        });
    }
    group.finish();
}

fn binary(c: &mut Criterion) {
    let mut group = c.benchmark_group("binary");
    let (x, y) = (matrix(Layout::Csr, 1), matrix(Layout::Csr, 2));
    let values = x.values::<f64>().expect("values of a fresh matrix are contiguous").to_vec();
    group.throughput(Throughput::Elements(x.nse() as u64));
    group.bench_function("loop/add", |b| {
        b.iter(|| values.iter().zip(&values).map(|(a, b)| a + b).collect::<Vec<f64>>());
    });
    group.bench_function("add_same_pattern", |b| b.iter(|| black_box(&x).add(&x)));
    // Arithmetic for vectors, and the standard library's, number by number.
    let by_number = || values.iter().map(|v| v.hypot(*v)).collect::<Vec<f64>>();
    let expected = Tensor::from_vec([values.len()], by_number()).expect("as many");
    let numbers = Tensor::from_vec([values.len()], values.clone()).expect("as many");
    assert!(numbers.hypot(&numbers).and_then(|found| found.allclose(&expected, 3e-16, 0.0)).expect("floats"));
    group.bench_function("hypot", |b| b.iter(|| black_box(&numbers).hypot(&numbers)));
    group.bench_function("hypot/loop", |b| b.iter(|| black_box(by_number())));
    let elsewhere = matrix(Layout::Csr, 1);
    assert!(elsewhere.add(&x).and_then(|sum| sum.equal(&x.mul(2.0)?)).expect("two of one shape"));
    group.bench_function("add_same_places", |b| b.iter(|| black_box(&x).add(&elsewhere)));
    // A condition goes where the operand goes whose pattern it has, or is merged by itself.
    let (own, other) = (x.gt(0.5).expect("numbers"), elsewhere.gt(0.5).expect("numbers"));
    let chosen = |condition: &Tensor| condition.where_(&x, &y);
    let same = chosen(&own).and_then(|found| found.equal(&chosen(&other)?)).expect("two of one shape");
    assert!(same && chosen(&own).and_then(|found| found.equal(&y)).is_ok_and(|is_y| !is_y));
    group.bench_function("where", |b| b.iter(|| chosen(black_box(&own))));
    group.bench_function("where/another pattern", |b| b.iter(|| chosen(black_box(&other))));
    group.bench_function("mask", |b| b.iter(|| black_box(&x).mask(&own)));
    group.bench_function("add_number", |b| b.iter(|| black_box(&x).add(1.5)));
    let row = Tensor::random([1, COLS], 1.0, 0.0, Layout::Csr, 3).and_then(|r| r.to_dense()).expect("a row");
    group.bench_function("add_dense_row", |b| b.iter(|| black_box(&x).add(&row)));
    for layout in [Layout::Csr, Layout::Coo] {
        let (x, y) = (x.to_layout(layout).expect("a layout"), y.to_layout(layout).expect("a layout"));
        group.bench_function(BenchmarkId::new("add", layout), |b| b.iter(|| black_box(&x).add(&y)));
        group.bench_function(BenchmarkId::new("mul", layout), |b| b.iter(|| black_box(&x).mul(&y)));
    }
    group.finish();
}

/// Sums and products whose rows are merged, beside the textbook's loop on one thread: elements anywhere, where no CPU foresees which
/// side is next, and runs of them, where it does.
///
///     cargo bench --bench pointwise -- merged
fn merged(c: &mut Criterion) {
    let mut group = c.benchmark_group("merged");
    group.sample_size(20);
    let n = 20_000;
    let anywhere = |seed| Tensor::random([n, n], 0.005, 0.0, Layout::Csr, seed).expect("a matrix");
    let offsets: Vec<isize> = (-50..=50).collect();
    let numbers = Tensor::rand([offsets.len(), n], 3).expect("a valid shape");
    let band = Tensor::from_diagonals([n, n], &numbers, &offsets, 0.0).and_then(|x| x.to_layout(Layout::Csr));
    let band = band.expect("a band");
    let one = Tensor::eye(n, DType::F64, Layout::Csr).expect("a valid shape");
    for (name, x, y) in
        [("anywhere", anywhere(1), anywhere(2)), ("runs", band.clone(), anywhere(2)), ("identity", band, one)]
    {
        let [a, b] = [&x, &y].map(Rows::of);
        let (at, values) = a.plus(&b);
        let sum = x.add(&y).expect("of one shape");
        assert_eq!(sum.stored_values().to_vec::<f64>().expect("floats"), values);
        assert_eq!(sum.nse(), at.len());
        group.throughput(Throughput::Elements((x.nse() + y.nse()) as u64));
        group.bench_function(format!("add/{name}"), |b| b.iter(|| black_box(&x).add(&y)));
        group.bench_function(format!("add by a loop/{name}"), |r| r.iter(|| black_box(&a).plus(&b)));
        group.bench_function(format!("maximum/{name}"), |b| b.iter(|| black_box(&x).maximum(&y)));
        group.bench_function(format!("mul/{name}"), |b| b.iter(|| black_box(&x).mul(&y)));
        // Over one value for each column: what is not stored is looked up.
        let fill = Tensor::rand([1, n], 4).expect("a valid shape");
        let over = |x: &Tensor| x.replace_fill(&fill).expect("a fill that fits");
        let (p, q) = (over(&x), over(&y));
        let numbers = fill.to_vec::<f64>().expect("floats");
        let sum = p.add(&q).expect("of one shape").stored_values().to_vec::<f64>().expect("floats");
        assert_eq!(sum, a.plus_over(&b, &numbers).1);
        group.bench_function(format!("add over fills/{name}"), |b| b.iter(|| black_box(&p).add(&q)));
        group.bench_function(format!("add over fills by a loop/{name}"), |r| {
            r.iter(|| black_box(&a).plus_over(&b, &numbers));
        });
        let [x, y] = [&x, &y].map(|x| x.to_layout(Layout::Coo).expect("a layout"));
        group.bench_function(format!("add of coordinates/{name}"), |b| b.iter(|| black_box(&x).add(&y)));
    }
    group.finish();
}

/// Compressed rows, as the textbook has them.
struct Rows {
    ends: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Rows {
    fn of(x: &Tensor) -> Rows {
        let at = x.indices().and_then(|at| at.to_vec::<i64>()).expect("places");
        let mut ends = vec![0; x.shape()[0] + 1];
        at.chunks(2).for_each(|at| ends[at[0] as usize + 1] += 1);
        (1..ends.len()).for_each(|row| ends[row] += ends[row - 1]);
        let values = x.stored_values().to_vec().expect("floats");
        Rows { ends, columns: at.chunks(2).map(|at| at[1] as u32).collect(), values }
    }

    fn plus(&self, other: &Rows) -> (Vec<u32>, Vec<f64>) {
        self.merged(other, |_| 0.0)
    }

    /// Where what is not stored is a number for each column.
    fn plus_over(&self, other: &Rows, fill: &[f64]) -> (Vec<u32>, Vec<f64>) {
        self.merged(other, |column| fill[column as usize])
    }

    fn merged(&self, other: &Rows, elsewhere: impl Fn(u32) -> f64) -> (Vec<u32>, Vec<f64>) {
        let most = self.columns.len() + other.columns.len();
        let (mut columns, mut values) = (Vec::with_capacity(most), Vec::with_capacity(most));
        for (mine, theirs) in self.ends.windows(2).zip(other.ends.windows(2)) {
            let (mut i, mut j) = (mine[0], theirs[0]);
            while i < mine[1] || j < theirs[1] {
                let a = if i < mine[1] { self.columns[i] } else { u32::MAX };
                let b = if j < theirs[1] { other.columns[j] } else { u32::MAX };
                let column = a.min(b);
                let x = if a <= b { self.values[i] } else { elsewhere(column) };
                let y = if b <= a { other.values[j] } else { elsewhere(column) };
                columns.push(column);
                values.push(x + y);
                (i, j) = (i + usize::from(a <= b), j + usize::from(b <= a));
            }
        }
        (columns, values)
    }
}

/// Ten elements: nothing but the price of a call.
///
///     cargo bench --bench pointwise -- small
fn small(c: &mut Criterion) {
    let mut group = c.benchmark_group("small");
    let of = |seed| Tensor::random([10, 10], 0.1, 0.0, Layout::Csr, seed).expect("a valid matrix");
    let (a, b) = (of(1), of(2));
    let row = Tensor::from_vec([10], vec![1.5; 10]).expect("ten elements");
    let (x, y) = (a.to_dense().expect("fill 0"), b.to_dense().expect("fill 0"));
    group.bench_function("add", |r| r.iter(|| black_box(&a) + black_box(&b)));
    group.bench_function("add_same_pattern", |r| r.iter(|| black_box(&a) + black_box(&a)));
    group.bench_function("mul", |r| r.iter(|| black_box(&a) * black_box(&b)));
    group.bench_function("mul_number", |r| r.iter(|| black_box(&a) * 2.0));
    group.bench_function("add_row", |r| r.iter(|| black_box(&a) + black_box(&row)));
    group.bench_function("mul_row", |r| r.iter(|| black_box(&a) * black_box(&row)));
    group.bench_function("relu", |r| r.iter(|| black_box(&a).relu()));
    group.bench_function("cos", |r| r.iter(|| black_box(&a).cos()));
    group.bench_function("map", |r| r.iter(|| black_box(&a).map(|v: f64| v + 1.0)));
    group.bench_function("zip_with", |r| r.iter(|| black_box(&a).zip_with(&b, |x: f64, y: f64| x + y)));
    let condition = a.gt(0.5).expect("floats compare");
    group.bench_function("where", |r| r.iter(|| black_box(&condition).where_(&a, &b)));
    group.bench_function("clone", |r| r.iter(|| black_box(&a).clone()));
    group.bench_function("strided/add", |r| r.iter(|| black_box(&x) + black_box(&y)));
    group.bench_function("strided/relu", |r| r.iter(|| black_box(&x).relu()));
    // Operands that repeat: a number, a row, an arm of one element.
    let above = x.gt(0.5).expect("floats compare");
    group.bench_function("strided/mul_number", |r| r.iter(|| black_box(&x) * 2.0));
    group.bench_function("strided/add_row", |r| r.iter(|| black_box(&x) + black_box(&row)));
    group.bench_function("strided/where", |r| r.iter(|| black_box(&above).where_(&x, 0.0)));
    group.finish();
}

fn convert(c: &mut Criterion) {
    let mut group = c.benchmark_group("convert");
    let (csr, coo) = (matrix(Layout::Csr, 1), matrix(Layout::Coo, 1));
    group.throughput(Throughput::Elements(csr.nse() as u64));
    group.bench_function("coo_to_csr", |b| b.iter(|| black_box(&coo).to_layout(Layout::Csr)));
    group.bench_function("csr_to_csc", |b| b.iter(|| black_box(&csr).to_layout(Layout::Csc)));
    arrays_to_rows(&mut group);
    // Rows so short that how long one is cannot be foreseen, beside the loop that fills in the number of each.
    let short = Tensor::random([1_000_000, 3], 0.3, 0.0, Layout::Csr, 1).expect("a matrix");
    let rows = short.coordinates().swap_remove(0).1;
    let mut ends = vec![0; 1_000_001];
    rows.iter().for_each(|&row| ends[row as usize + 1] += 1);
    (0..1_000_000).for_each(|row| ends[row + 1] += ends[row]);
    let filled = |ends: &[usize]| {
        let mut out = vec![0u32; rows.len()];
        ends.windows(2).zip(0u32..).for_each(|(own, row)| out[own[0]..own[1]].fill(row));
        out
    };
    assert!(filled(&ends).into_iter().map(u64::from).eq(rows.iter().copied()));
    group.throughput(Throughput::Elements(rows.len() as u64));
    group.bench_function("short rows to coo", |b| b.iter(|| black_box(&short).to_layout(Layout::Coo)));
    group.bench_function("short rows to coo/loop", |b| b.iter(|| filled(black_box(&ends))));
    group.finish();
}

/// Arrays in compressed rows, beside the loop that one writes first: it appends what is not zero.
fn arrays_to_rows(group: &mut BenchmarkGroup<'_, WallTime>) {
    const N: usize = 2000;
    for density in [0.01, 0.1, 0.5] {
        let x = Tensor::random([N, N], density, 0.0, Layout::Csr, 1).and_then(|x| x.to_dense()).expect("an array");
        let elements = x.to_vec::<f64>().expect("floats");
        let appended = |elements: &[f64]| {
            let (mut ends, mut columns, mut values) = (vec![0u32], Vec::new(), Vec::new());
            for row in elements.chunks_exact(N) {
                for (column, &v) in (0u32..).zip(row) {
                    if v.to_bits() != 0 {
                        columns.push(column);
                        values.push(v);
                    }
                }
                ends.push(values.len() as u32);
            }
            (ends, columns, values)
        };
        let csr = x.to_sparse(Layout::Csr, 0.0).expect("a matrix");
        let (_, columns, values) = appended(&elements);
        assert_eq!(csr.stored_values().to_vec::<f64>().expect("floats"), values);
        assert!(csr.coordinates()[1].1.iter().copied().eq(columns.into_iter().map(u64::from)));
        group.throughput(Throughput::Elements((N * N) as u64));
        let name = format!("{density} of {N} x {N}");
        group.bench_function(format!("array_to_csr/{name}"), |b| b.iter(|| black_box(&x).to_sparse(Layout::Csr, 0.0)));
        group.bench_function(format!("array_to_csr/loop/{name}"), |b| b.iter(|| appended(black_box(&elements))));
        group.bench_function(format!("array_to_coo/{name}"), |b| b.iter(|| black_box(&x).to_sparse(Layout::Coo, 0.0)));
        group.bench_function(format!("array_to_csc/{name}"), |b| b.iter(|| black_box(&x).to_sparse(Layout::Csc, 0.0)));
    }
}

/// Columns by rows and shapes, beside the textbook's counting sort of the same elements on one thread.
fn shapes(c: &mut Criterion) {
    let mut group = c.benchmark_group("shapes");
    group.sample_size(10);
    for (rows, columns, in_row) in [(30_000, 300, 100), (100_000, 4_000, 10), (1_000_000, 8_000, 10)] {
        let x = Tensor::random([rows, columns], in_row as f64 / columns as f64, 0.0, Layout::Csr, 1).expect("a matrix");
        let at = x.indices().and_then(|at| at.to_vec::<i64>()).expect("places");
        let values = x.stored_values().to_vec::<f64>().expect("floats");
        let counted = || {
            let mut next = vec![0usize; columns + 1];
            at.chunks(2).for_each(|at| next[at[1] as usize + 1] += 1);
            (0..columns).for_each(|j| next[j + 1] += next[j]);
            let (mut to, mut moved) = (vec![0u32; values.len()], vec![0.0; values.len()]);
            for (at, v) in at.chunks(2).zip(&values) {
                let place = &mut next[at[1] as usize];
                (to[*place], moved[*place]) = (at[0] as u32, *v);
                *place += 1;
            }
            (to, moved)
        };
        let turned = x.to_layout(Layout::Csc).expect("a layout");
        assert_eq!(turned.stored_values().to_vec::<f64>().expect("floats"), counted().1);
        group.throughput(Throughput::Elements(x.nse() as u64));
        let name = format!("{rows} x {columns}");
        group.bench_function(format!("csr_to_csc/{name}"), |b| b.iter(|| black_box(&x).to_layout(Layout::Csc)));
        group.bench_function(format!("counted/{name}"), |b| b.iter(counted));
        group
            .bench_function(format!("reshape/{name}"), |b| b.iter(|| black_box(&x).reshape([rows / 10, 10 * columns])));
        group.bench_function(format!("flip/{name}"), |b| b.iter(|| black_box(&x).flip(1)));
    }
    group.finish();
}

/// A tall matrix most of whose rows are empty, beside a loop over all of them.
///
///     cargo bench --bench pointwise -- rows
fn empty_rows(c: &mut Criterion) {
    const ROWS: usize = 2_000_000;
    let mut group = c.benchmark_group("empty rows");
    group.sample_size(20);
    group.throughput(Throughput::Elements(ROWS as u64));
    let x = Tensor::random([ROWS, 10], 0.004, 0.0, Layout::Csr, 1).expect("a matrix");
    let (rows, v) = (Rows::of(&x), Tensor::rand([10], 2).expect("numbers"));
    let numbers = v.to_vec::<f64>().expect("floats");
    let segments = || rows.ends.windows(2).map(|ends| ends[0]..ends[1]);
    let product = || -> Vec<f64> {
        segments().map(|own| own.map(|e| rows.values[e] * numbers[rows.columns[e] as usize]).sum()).collect()
    };
    let turned = || {
        let (mut ends, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for own in segments().rev() {
            columns.extend_from_slice(&rows.columns[own.clone()]);
            values.extend_from_slice(&rows.values[own]);
            ends.push(columns.len());
        }
        (ends, columns, values)
    };
    let wanted = Tensor::from_vec([ROWS], product()).expect("as many elements");
    assert!(x.matmul(&v).and_then(|y| y.allclose(&wanted, 1e-14, 0.0)).expect("of one shape"));
    assert_eq!(x.flip(0).and_then(|y| y.stored_values().to_vec::<f64>()).expect("floats"), turned().2);
    assert_eq!(x.sum(1).expect("a sum").nse(), segments().filter(|own| !own.is_empty()).count());
    group.bench_function("times a vector", |b| b.iter(|| black_box(&x).matmul(&v)));
    group.bench_function("times a vector/loop", |b| b.iter(product));
    group.bench_function("reversed", |b| b.iter(|| black_box(&x).flip(0)));
    group.bench_function("reversed/loop", |b| b.iter(turned));
    group.bench_function("some columns", |b| b.iter(|| black_box(&x).narrow(2..7, 1)));
    group.bench_function("sums", |b| b.iter(|| black_box(&x).sum(1)));
    group.finish();
}

/// Tensors of three axes by coordinates and by levels of fibres, and rows of values: beside what sorts the coordinates, and beside arrays.
///
///     cargo bench --bench pointwise -- axes
fn many_axes(c: &mut Criterion) {
    const SHAPE: [usize; 3] = [2000, 50, 20];
    let mut group = c.benchmark_group("many axes");
    group.sample_size(20);
    let x = Tensor::random(SHAPE, 0.1, 0.0, Layout::Coo, 1).expect("a tensor");
    let y = Tensor::random(SHAPE, 0.1, 0.0, Layout::Coo, 2).expect("a tensor");
    let [fibres, others] = [&x, &y].map(|t| t.to_layout(Layout::Csf).expect("three levels"));
    group.throughput(Throughput::Elements(x.nse() as u64));
    let at: Vec<Vec<u64>> = x.coordinates().into_iter().map(|(_, own)| own).collect();
    let values = x.stored_values();
    let sorted = |axis: usize, place: &dyn Fn(u64) -> u64| {
        let mut at = at.clone();
        at[axis].iter_mut().for_each(|c| *c = place(*c));
        Tensor::coo(SHAPE, at, &values, 0.0).and_then(|t| t.coalesce())
    };
    let mirrored = |c: u64| SHAPE[1] as u64 - 1 - c;
    assert!(x.flip(1).and_then(|t| t.equal(&sorted(1, &mirrored)?)).expect("of one shape"));
    assert!(x.add(&y).and_then(|t| t.equal(&fibres.add(&others)?)).expect("of one shape"));
    group.bench_function("reversed", |b| b.iter(|| black_box(&x).flip(1)));
    group.bench_function("reversed/sorted", |b| b.iter(|| sorted(1, &mirrored)));
    group.bench_function("joined", |b| b.iter(|| Tensor::concat(&[&x, &y], 2)));
    group.bench_function("sums", |b| b.iter(|| black_box(&x).add(&y)));
    group.bench_function("sums, fibres", |b| b.iter(|| black_box(&fibres).add(&others)));
    let rows = Tensor::rand([20_000, 16], 3).expect("numbers");
    let list: Vec<i64> = (0..20_000).map(|i| 2 * i).collect();
    let hybrid = Tensor::coo([40_000, 16], vec![list], &rows, 0.0).expect("rows of values");
    assert!(hybrid.sort(1).and_then(|t| t.stored_values().equal(&rows.sort(1)?)).expect("of one shape"));
    group.bench_function("rows in order", |b| b.iter(|| black_box(&hybrid).sort(1)));
    group.bench_function("rows in order/array", |b| b.iter(|| black_box(&rows).sort(1)));
    group.bench_function("rows summed", |b| b.iter(|| black_box(&hybrid).sum(0)));
    group.bench_function("rows summed/array", |b| b.iter(|| black_box(&rows).sum(0)));
    group.finish();
}

/// Ways that arrays take, beside a plain loop over the same elements.
/// Arguments for which the common way of a function does not hold, a third of all: beside the standard library's functions, and what was chosen or
/// divided one by one.
fn ends(c: &mut Criterion) {
    const N: usize = 1 << 16;
    let mut group = c.benchmark_group("ends");
    group.throughput(Throughput::Elements(N as u64));
    let scattered = |i: usize| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as f64 / (1 << 24) as f64;
    let with = |end: f64| (0..N).map(|i| if scattered(i) < 0.3 { end } else { scattered(i + N) }).collect::<Vec<f64>>();
    type Plain = fn(f64) -> f64;
    let all: [(UnaryOp, f64, Plain); 4] = [
        (UnaryOp::Exp, f64::NAN, f64::exp),
        (UnaryOp::Log, 0.0, f64::ln),
        (UnaryOp::Sigmoid, 1e4, |x| 1.0 / (1.0 + (-x).exp())),
        (UnaryOp::Tanh, f64::NAN, f64::tanh),
    ];
    for (op, end, plain) in all {
        let values = with(end);
        let x = Tensor::from_vec([N], values.clone()).expect("as many");
        let expected = Tensor::from_vec([N], values.iter().map(|&x| plain(x)).collect()).expect("as many");
        let found = x.unary(op).expect("defined for floats");
        assert!(found.allclose_nan(&expected, 1e-14, 1e-15).expect("floats"), "{}", op.name());
        group.bench_function(BenchmarkId::new("loop", op.name()), |b| {
            b.iter(|| black_box(&values).iter().map(|&x| plain(x)).collect::<Vec<f64>>());
        });
        group.bench_function(BenchmarkId::new("op", op.name()), |b| b.iter(|| black_box(&x).unary(op)));
    }
    let (a, b) = (with(1e3), with(0.25));
    let (x, y) = (a.clone(), b.iter().map(|b| b + 0.1).collect::<Vec<f64>>());
    let [of_x, of_y] = [&x, &y].map(|x| Tensor::from_vec([N], x.clone()).expect("as many"));
    let one_by_one = || x.iter().zip(&y).map(|(x, y)| black_box(*x) % y).collect::<Vec<f64>>();
    assert_eq!(of_x.fmod(&of_y).and_then(|found| found.to_vec::<f64>()).expect("floats"), one_by_one());
    group.bench_function("loop/fmod", |b| b.iter(one_by_one));
    group.bench_function("op/fmod", |b| b.iter(|| black_box(&of_x).fmod(&of_y)));
    let condition = of_x.gt(0.5).expect("floats");
    let chosen = condition.to_vec::<bool>().expect("bool");
    let [of_x, of_y] = [&of_x, &of_y].map(|x| x.cast(DType::F16).expect("floats"));
    let [x, y] = [&of_x, &of_y].map(|x| x.to_vec::<f16>().expect("halves"));
    let one_by_one =
        || (0..N).map(|i| if black_box(&chosen)[i] { x[i].to_bits() } else { y[i].to_bits() }).collect::<Vec<u16>>();
    let found = condition.where_(&of_x, &of_y).and_then(|found| found.to_vec::<f16>()).expect("halves");
    assert!(found.iter().map(|x| x.to_bits()).eq(one_by_one()));
    group.bench_function("loop/where of halves", |b| b.iter(one_by_one));
    group.bench_function("op/where of halves", |b| b.iter(|| black_box(&condition).where_(&of_x, &of_y)));
    group.finish();
}

fn arrays(c: &mut Criterion) {
    const N: usize = 1_000_000;
    let mut group = c.benchmark_group("arrays");
    group.throughput(Throughput::Elements(N as u64));
    let scattered = |i: usize| ((i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize % N;
    let list: Vec<i64> = (0..N).map(|i| scattered(i) as i64).collect();
    let whole = Tensor::from_vec([N], list.clone()).expect("as many elements");
    let x = Tensor::rand([N], 3).expect("a valid shape");
    let numbers = x.to_vec::<f64>().expect("floats");
    let same = |a: Tensor, b: Tensor| assert!(a.equal(&b).expect("of one shape"));

    let divided = |x: &Tensor| x.map(|i: i64| i.div_euclid(7));
    same(whole.floor_divide(7).expect("integers"), divided(&whole).expect("integers"));
    group.bench_function("floor_divide", |b| b.iter(|| black_box(&whole).floor_divide(7)));
    group.bench_function("floor_divide/loop", |b| b.iter(|| divided(black_box(&whole))));
    let bytes = whole.cast(DType::U8).expect("a cast");
    let divided = |x: &Tensor, by: &Tensor| {
        let by = by.to_vec::<u8>()?[0];
        x.map(|i: u8| i / by)
    };
    let seven = Tensor::from_vec([1], vec![7u8]).expect("one element");
    same(bytes.floor_divide(&seven).expect("integers"), divided(&bytes, &seven).expect("integers"));
    group.bench_function("floor_divide, bytes", |b| b.iter(|| black_box(&bytes).floor_divide(&seven)));
    group.bench_function("floor_divide, bytes/loop", |b| b.iter(|| divided(black_box(&bytes), black_box(&seven))));
    let left = |x: &Tensor| x.map(|i: i64| i.rem_euclid(7));
    same(whole.remainder(7).expect("integers"), left(&whole).expect("integers"));
    group.bench_function("remainder", |b| b.iter(|| black_box(&whole).remainder(7)));
    group.bench_function("remainder/loop", |b| b.iter(|| left(black_box(&whole))));

    let singles = x.mul(200.0).and_then(|x| x.cast(DType::F32)).expect("floats");
    let to_bytes = |x: &Tensor| x.map(|x: f32| x as u8);
    same(singles.cast(DType::U8).expect("a cast"), to_bytes(&singles).expect("floats"));
    group.bench_function("cast to bytes", |b| b.iter(|| black_box(&singles).cast(DType::U8)));
    group.bench_function("cast to bytes/loop", |b| b.iter(|| to_bytes(black_box(&singles))));
    let to_int = |x: &Tensor| x.map(|x: f32| x as i32);
    same(singles.cast(DType::I32).expect("a cast"), to_int(&singles).expect("floats"));
    group.bench_function("cast to int32", |b| b.iter(|| black_box(&singles).cast(DType::I32)));
    group.bench_function("cast to int32/loop", |b| b.iter(|| to_int(black_box(&singles))));
    let cut = |x: &Tensor| x.map(|i: i64| i % 7);
    same(whole.fmod(7).expect("integers"), cut(&whole).expect("integers"));
    group.bench_function("fmod", |b| b.iter(|| black_box(&whole).fmod(7)));
    group.bench_function("fmod/loop", |b| b.iter(|| cut(black_box(&whole))));
    let narrow = whole.cast(DType::I32).expect("a cast");
    let three = Tensor::from_vec([1], vec![3i32]).expect("one element");
    let powers = |x: &Tensor, y: &Tensor| {
        let by = y.to_vec::<i32>()?[0] as u32;
        x.map(|i: i32| i.wrapping_pow(by))
    };
    same(narrow.pow(&three).expect("integers"), powers(&narrow, &three).expect("integers"));
    group.bench_function("pow, int32", |b| b.iter(|| black_box(&narrow).pow(&three)));
    group.bench_function("pow, int32/loop", |b| b.iter(|| powers(black_box(&narrow), black_box(&three))));
    let some: Vec<i64> = (0..64).step_by(3).collect();
    let known = Tensor::from_vec([some.len()], some.clone()).expect("as many");
    let found = |x: &Tensor| x.map(|i: i64| some.contains(&i));
    same(whole.isin(&known).expect("integers"), found(&whole).expect("integers"));
    group.bench_function("isin", |b| b.iter(|| black_box(&whole).isin(&known)));
    group.bench_function("isin/loop", |b| b.iter(|| found(black_box(&whole))));

    let chosen = |list: &Tensor| list.map(|i: i64| numbers[i as usize]);
    same(x.index([Index::from(&whole)]).expect("places"), chosen(&whole).expect("places"));
    group.bench_function("index by a list", |b| b.iter(|| black_box(&x).index([Index::from(&whole)])));
    group.bench_function("index by a list/loop", |b| b.iter(|| chosen(black_box(&whole))));

    // Beside each other, in a frame, on one side of the diagonal, and rows that do not follow each other.
    let tall = x.reshape([N / 4, 4]).expect("as many elements");
    let beside = || numbers.chunks_exact(4).flat_map(|row| [row, row].concat()).collect::<Vec<f64>>();
    let joined = Tensor::concat(&[&tall, &tall], 1).expect("as many rows");
    assert_eq!(joined.to_vec::<f64>().expect("floats"), beside());
    group.bench_function("concat of rows", |b| b.iter(|| Tensor::concat(&[black_box(&tall), &tall], 1)));
    group.bench_function("concat of rows/loop", |b| b.iter(|| black_box(beside())));
    group.bench_function("pad", |b| b.iter(|| black_box(&tall).pad(&[(1, 1), (1, 1)], 0.0)));
    let pairs = Tensor::from_vec([2], vec![2i64, 0]).expect("two");
    let two = |row: &[f64], list: &[i64]| -> Vec<f64> { list.iter().map(|&c| row[c as usize]).collect() };
    let picked = |list: &[i64]| numbers.chunks_exact(4).flat_map(|row| two(row, list)).collect::<Vec<f64>>();
    let columns = |x: &Tensor| x.index([Index::from(..), Index::from(&pairs)]);
    assert_eq!(columns(&tall).and_then(|x| x.to_vec::<f64>()).expect("columns"), picked(&[2, 0]));
    group.bench_function("index, two columns", |b| b.iter(|| columns(black_box(&tall))));
    group.bench_function("index, two columns/loop", |b| b.iter(|| picked(black_box(&[2, 0]))));
    let square = x.reshape([1000, 1000]).expect("as many elements");
    group.bench_function("tril", |b| b.iter(|| black_box(&square).tril(0)));
    let long = x.reshape([2, N / 2]).expect("as many elements");
    let steps =
        || numbers.chunks_exact(N / 2).flat_map(|row| row.windows(2).map(|w| w[1] - w[0])).collect::<Vec<f64>>();
    assert_eq!(long.diff(1, 1).and_then(|d| d.to_vec::<f64>()).expect("floats"), steps());
    group.bench_function("diff of long rows", |b| b.iter(|| black_box(&long).diff(1, 1)));
    group.bench_function("diff of long rows/loop", |b| b.iter(|| black_box(steps())));

    // A number beside an array, which is read once, and as an array of its own.
    let half = Tensor::from_vec([N], vec![0.5; N]).expect("as many elements");
    same(x.gt(0.5).expect("floats"), x.gt(&half).expect("floats"));
    group.bench_function("gt a number", |b| b.iter(|| black_box(&x).gt(0.5)));
    group.bench_function("gt an array", |b| b.iter(|| black_box(&x).gt(&half)));

    let between = |x: &Tensor| x.maximum(0.25)?.minimum(0.75);
    same(x.clamp(0.25, 0.75).expect("floats"), between(&x).expect("floats"));
    group.bench_function("clamp", |b| b.iter(|| black_box(&x).clamp(0.25, 0.75)));
    group.bench_function("clamp/two ops", |b| b.iter(|| between(black_box(&x))));
    let hundredths = x.mul(100.0).and_then(|x| x.cast(DType::I32)).expect("floats");
    let between = |x: &Tensor| x.maximum(24.5)?.minimum(74.5);
    same(hundredths.clamp(24.5, 74.5).expect("floats"), between(&hundredths).expect("floats"));
    group.bench_function("clamp of integers", |b| b.iter(|| black_box(&hundredths).clamp(24.5, 74.5)));
    group.bench_function("clamp of integers/two ops", |b| b.iter(|| between(black_box(&hundredths))));

    let counted = |list: &[i64]| {
        let mut counts = vec![0i64; N];
        list.iter().for_each(|&i| counts[i as usize] += 1);
        Tensor::from_vec([N], counts)
    };
    same(whole.bincount(None, N).expect("integers"), counted(&list).expect("as many elements"));
    group.bench_function("bincount", |b| b.iter(|| black_box(&whole).bincount(None, N)));
    group.bench_function("bincount/loop", |b| b.iter(|| counted(black_box(&list))));
    group.finish();
}

criterion_group!(
    benches, unary, functions, binary, merged, small, convert, shapes, empty_rows, many_axes, ends, arrays
);
criterion_main!(benches);
