//! Statistics, scans and order on a matrix of 100,000 x 20,000 with two million stored elements; searches; columns that are
//! chosen and cut.
#![allow(clippy::unwrap_used, missing_docs)] // a bench that cannot set up has nothing to measure

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use openwork::{DType, Index, Layout, Tensor, keep, s, with_densify_budget};

fn order(c: &mut Criterion) {
    let x = Tensor::random([100_000, 20_000], 1e-3, 0.0, Layout::Csr, 1).unwrap();
    let columns = x.sub(x.mean(keep(0)).unwrap()).unwrap(); // a fill per column
    let mut group = c.benchmark_group("order");
    group.sample_size(10);
    for axis in [0, 1] {
        group.bench_function(format!("argmax{axis}"), |b| b.iter(|| x.argmax(axis).unwrap()));
        group.bench_function(format!("var{axis}"), |b| b.iter(|| x.var(1.0, axis).unwrap()));
        group.bench_function(format!("median{axis}"), |b| b.iter(|| x.median(axis).unwrap()));
        group.bench_function(format!("sort{axis}"), |b| b.iter(|| x.sort(axis).unwrap()));
        group.bench_function(format!("topk{axis}"), |b| {
            b.iter(|| with_densify_budget(u64::MAX, || x.topk(4, axis).unwrap()))
        });
    }
    group.bench_function("unique_counts", |b| b.iter(|| x.unique_counts().unwrap()));
    group.bench_function("histogram", |b| b.iter(|| x.histogram(100, None).unwrap()));
    group.bench_function("min1 over a fill per column", |b| b.iter(|| columns.min(1).unwrap()));
    group.bench_function("quantile1 over a fill per column", |b| b.iter(|| columns.quantile(0.9, 1).unwrap()));
    // Elements are numbered and gathered where the fill is an array; where it is one value they are sorted where they lie.
    let rows = x.sub(x.mean(keep(1)).unwrap()).unwrap();
    group.bench_function("sort1 over a fill per row", |b| b.iter(|| rows.sort(1).unwrap()));
    let narrow = Tensor::random([100_000, 100], 0.01, 0.0, Layout::Csr, 2).unwrap();
    group.bench_function("cumulative_sum1 of 100,000 x 100", |b| {
        b.iter(|| with_densify_budget(u64::MAX, || narrow.cumulative_sum(1).unwrap()))
    });
    group.finish();
}

fn searches(c: &mut Criterion) {
    let n = 3_000_000;
    let (x, y) = (Tensor::rand([n], 1).unwrap(), Tensor::rand([n], 2).unwrap());
    let sorted = x.sort(0).unwrap();
    let complex = Tensor::stack(&[&x, &y], 1).unwrap().view_as_complex().unwrap();
    let mut group = c.benchmark_group("searches");
    group.sample_size(10);
    group.bench_function("searchsorted", |b| b.iter(|| sorted.searchsorted(&y).unwrap()));
    let all = y.to_vec::<f64>().unwrap();
    // Of these 25 are elements, all over the others.
    let among: Vec<f64> = (0..50).map(|i| if i % 2 == 0 { all[i * n / 50] } else { 1.0 + i as f64 }).collect();
    let few = Tensor::from_vec([50], among.clone()).unwrap();
    let one_by_one = || all.iter().map(|v| among.contains(v)).collect::<Vec<_>>();
    let found = one_by_one();
    assert!(found.iter().filter(|&&is| is).count() >= 25);
    assert!(y.isin(&few).unwrap().to_vec::<bool>().unwrap() == found);
    group.bench_function("isin", |b| b.iter(|| y.isin(&few).unwrap()));
    group.bench_function("isin, one by one", |b| b.iter(one_by_one));
    group.bench_function("unique_values", |b| b.iter(|| x.unique_values().unwrap()));
    group.bench_function("unique_values of complex128", |b| b.iter(|| complex.unique_values().unwrap()));
    group.bench_function("unique_inverse", |b| b.iter(|| x.unique_inverse().unwrap()));
    group.finish();
}

/// Many short rows, beside each of them sorted by the standard library on one thread.
fn rows(c: &mut Criterion) {
    let mut group = c.benchmark_group("rows");
    group.sample_size(10);
    for n in [10, 100] {
        let x = Tensor::rand([1_000_000 / n, n], 1).unwrap();
        let own = x.to_vec::<f64>().unwrap();
        let each = || {
            let mut rows = own.clone();
            rows.chunks_exact_mut(n).for_each(|row| row.sort_unstable_by(f64::total_cmp));
            rows
        };
        assert_eq!(x.sort(1).unwrap().to_vec::<f64>().unwrap(), each());
        group.bench_function(format!("sort of {n}"), |b| b.iter(|| x.sort(1).unwrap()));
        group.bench_function(format!("argsort of {n}"), |b| b.iter(|| x.argsort(1).unwrap()));
        let middle = || -> Vec<f64> {
            own.chunks_exact(n).map(|row| *row.to_vec().select_nth_unstable_by((n - 1) / 2, f64::total_cmp).1).collect()
        };
        assert_eq!(x.median(1).unwrap().to_vec::<f64>().unwrap(), middle());
        group.bench_function(format!("median of {n}"), |b| b.iter(|| x.median(1).unwrap()));
        group.bench_function(format!("median of each of {n}"), |b| b.iter(middle));
        group.bench_function(format!("each of {n}"), |b| b.iter(each));
    }
    group.finish();
}

/// Elements of up to four bytes in order, in one row and in many, beside the standard library's sorts on one thread.
///
///     RAYON_NUM_THREADS=1 cargo bench --bench order -- narrow
fn narrow(c: &mut Criterion) {
    let mut group = c.benchmark_group("narrow");
    group.sample_size(10);
    for [rows, n] in [[1, 1_000_000], [200, 5000], [1000, 1000], [10_000, 100]] {
        let x = Tensor::rand([rows, n], 1).unwrap().cast(DType::F32).unwrap();
        let bytes = x.mul(256.0).unwrap().cast(DType::U8).unwrap();
        let (own, own_bytes) = (x.to_vec::<f32>().unwrap(), bytes.to_vec::<u8>().unwrap());
        let each = || {
            let mut rows = own.clone();
            rows.chunks_exact_mut(n).for_each(|row| row.sort_unstable_by(f32::total_cmp));
            rows
        };
        let each_place = || -> Vec<i64> {
            let places = |row: &[u8]| {
                let mut places: Vec<i64> = (0..n as i64).collect();
                places.sort_by_key(|&at| row[at as usize]);
                places
            };
            own_bytes.chunks_exact(n).flat_map(places).collect()
        };
        assert_eq!(x.sort(1).unwrap().to_vec::<f32>().unwrap(), each());
        assert_eq!(bytes.argsort(1).unwrap().to_vec::<i64>().unwrap(), each_place());
        group.bench_function(format!("sort of {n}"), |b| b.iter(|| x.sort(1).unwrap()));
        group.bench_function(format!("sort of {n} by the standard library"), |b| b.iter(each));
        group.bench_function(format!("argsort of {n} bytes"), |b| b.iter(|| bytes.argsort(1).unwrap()));
        group.bench_function(format!("argsort of {n} bytes by the standard library"), |b| b.iter(each_place));
        group.bench_function(format!("argsort of {n}"), |b| b.iter(|| x.argsort(1).unwrap()));
        if rows == 1 {
            let distinct = || {
                let mut all = each();
                all.dedup();
                all
            };
            assert_eq!(x.unique_values().unwrap().to_vec::<f32>().unwrap(), distinct());
            group.bench_function("unique_values", |b| b.iter(|| x.unique_values().unwrap()));
            group.bench_function("unique_values by the standard library", |b| b.iter(distinct));
        }
    }
    group.finish();
}

/// Where rows of a matrix begin, the columns of what they store, and its values.
fn rows_of(x: &Tensor) -> (Vec<usize>, Vec<usize>, Vec<f64>) {
    let at = x.indices().unwrap().to_vec::<i64>().unwrap();
    let mut pointers = vec![0; x.shape()[0] + 1];
    at.chunks(2).for_each(|at| pointers[at[0] as usize + 1] += 1);
    (1..pointers.len()).for_each(|row| pointers[row] += pointers[row - 1]);
    (pointers, at.chunks(2).map(|at| at[1] as usize).collect(), x.stored_values().to_vec().unwrap())
}

/// Columns by a list, in rising order, in another, and with repeats, of rows of 200 and of 20 elements, beside the textbook's loop on one
/// thread: where each column goes is looked up, and each row is sorted.
///
///     RAYON_NUM_THREADS=1 cargo bench --bench order -- columns
fn columns(c: &mut Criterion) {
    let mut group = c.benchmark_group("columns");
    group.sample_size(10);
    for (rows, n, each) in [(20_000, 2000, 200), (100_000, 20_000, 20)] {
        let x = Tensor::random([rows, n], each as f64 / n as f64, 0.0, Layout::Csr, 1).unwrap();
        let (pointers, indices, values) = rows_of(&x);
        let by_a_loop = |list: &[usize]| {
            let mut places = vec![Vec::new(); n];
            list.iter().enumerate().for_each(|(place, &column)| places[column].push(place));
            let (mut at, mut out, mut row) = (Vec::new(), Vec::new(), Vec::new());
            for ends in pointers.windows(2) {
                row.clear();
                for i in ends[0]..ends[1] {
                    row.extend(places[indices[i]].iter().map(|&place| (place, values[i])));
                }
                row.sort_unstable_by_key(|&(place, _)| place);
                at.extend(row.iter().map(|&(place, _)| place as i64));
                out.extend(row.iter().map(|&(_, value)| value));
            }
            (at, out)
        };
        let some: Vec<usize> = (0..n).filter(|i| i * 7919 % 13 < 6).collect();
        let turned: Vec<usize> = (0..n).map(|i| i * 7 % n).collect();
        let anywhere: Vec<usize> = (0..n / 3).map(|i| i.wrapping_mul(0x9e37_79b9) / 64 % n).collect();
        for (name, list) in [("some", some), ("all in another order", turned), ("anywhere", anywhere)] {
            let chosen = x.index_select(list.clone(), 1).unwrap();
            let found = chosen.indices().unwrap().slice(s![.., 1]).unwrap().to_vec::<i64>().unwrap();
            assert_eq!((found, chosen.stored_values().to_vec::<f64>().unwrap()), by_a_loop(&list));
            let name = format!("{name} of rows of {each}");
            group.bench_function(&name, |b| b.iter(|| x.index_select(list.clone(), 1).unwrap()));
            group.bench_function(format!("{name} by a loop"), |b| b.iter(|| by_a_loop(black_box(&list))));
        }
        group.bench_function(format!("split into 500 of rows of {each}"), |b| {
            b.iter(|| x.split(vec![n / 500; 500], 1).unwrap());
        });
    }
    group.finish();
}

/// A few places of four million, which are looked up, beside a copy of all; and as many that they are merged with what is stored. Elements
/// read at listed places, of a sparse matrix and of rows of an array, and weights in a thousand bins, each beside a plain loop.
///
///     RAYON_NUM_THREADS=1 cargo bench --bench order -- places
fn places(c: &mut Criterion) {
    let n = 200_000;
    let x = Tensor::random([n, n], 1e-4, 0.0, Layout::Csr, 3).unwrap();
    let mut group = c.benchmark_group("places");
    group.sample_size(10);
    group.bench_function("copy", |b| b.iter(|| x.mul(2.0).unwrap()));
    for count in [1, 1000, x.nse() / 40, x.nse() / 25] {
        let at = |seed: usize| (0..count).map(move |i| i.wrapping_mul(0x9e37_79b9) / seed % n).collect::<Vec<_>>();
        let items = [Index::from(at(1)), Index::from(at(64))];
        let put = x.index_put(&items, 2.0).unwrap();
        assert!(put.index(&items).unwrap().eq(2.0).and_then(|same| same.all(..)?.item()).unwrap() == true.into());
        group.bench_function(format!("{count} assigned"), |b| b.iter(|| x.index_put(&items, 2.0).unwrap()));
    }
    let lists: [Vec<usize>; 2] =
        [1, 64].map(|seed| (0..100_000usize).map(|i| i.wrapping_mul(0x9e37_79b9) / seed % n).collect());
    let items = [Index::from(lists[0].clone()), Index::from(lists[1].clone())];
    let (pointers, indices, values) = rows_of(&x);
    let read = |lists: &[Vec<usize>; 2]| {
        let mut found = Vec::new();
        for (place, (&i, &j)) in lists[0].iter().zip(&lists[1]).enumerate() {
            let row = pointers[i]..pointers[i + 1];
            if let Ok(at) = indices[row.clone()].binary_search(&j) {
                found.push((place, values[row.start + at]));
            }
        }
        found
    };
    let found = x.index(&items).unwrap();
    assert_eq!(found.stored_values().to_vec::<f64>().unwrap(), read(&lists).iter().map(|f| f.1).collect::<Vec<_>>());
    group.bench_function("100000 read", |b| b.iter(|| x.index(&items).unwrap()));
    group.bench_function("100000 read/loop", |b| b.iter(|| black_box(read(&lists))));
    let array = Tensor::rand([50, 60, 70], 5).unwrap();
    let (of_array, lists) = (array.to_vec::<f64>().unwrap(), lists.map(|list| list.iter().map(|i| i % 50).collect()));
    let items: [Index; 2] = lists.clone().map(Index::from);
    let read = |lists: &[Vec<usize>; 2]| {
        let mut out = Vec::with_capacity(70 * lists[0].len());
        lists[0].iter().zip(&lists[1]).for_each(|(i, j)| out.extend_from_slice(&of_array[(i * 60 + j) * 70..][..70]));
        out
    };
    assert_eq!(array.index(&items).unwrap().to_vec::<f64>().unwrap(), read(&lists));
    group.bench_function("rows of an array", |b| b.iter(|| array.index(&items).unwrap()));
    group.bench_function("rows of an array/loop", |b| b.iter(|| black_box(read(&lists))));
    let rows = Tensor::random([10, n], 1e-4, 0.0, Layout::Csr, 4).unwrap();
    group.bench_function("ten rows assigned", |b| b.iter(|| x.index_put(s![50..60], &rows).unwrap()));
    let numbers: Vec<i64> = (0..1 << 20).map(|i: i64| i.wrapping_mul(0x9e37_79b9) / 64 % 1000).collect();
    let weights: Vec<f64> = numbers.iter().map(|&i| i as f64 / 4.0).collect();
    let sums = |numbers: &[i64], weights: &[f64]| {
        let mut sums = vec![0.0; 1000];
        numbers.iter().zip(weights).for_each(|(&i, w)| sums[i as usize] += w);
        sums
    };
    let labels = Tensor::from_vec([numbers.len()], numbers.clone()).unwrap();
    let weighed = Tensor::from_vec([weights.len()], weights.clone()).unwrap();
    let found = labels.bincount(Some(&weighed), 0).unwrap().to_vec::<f64>().unwrap();
    assert_eq!(found, sums(&numbers, &weights));
    group.bench_function("weights in bins", |b| b.iter(|| labels.bincount(Some(&weighed), 0).unwrap()));
    group.bench_function("weights in bins/loop", |b| b.iter(|| black_box(sums(&numbers, &weights))));
    group.bench_function("labels as rows", |b| b.iter(|| labels.one_hot(1000).unwrap()));
    group.finish();
}

criterion_group!(benches, order, searches, rows, narrow, columns, places);
criterion_main!(benches);
