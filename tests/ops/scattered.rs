//! Vectors, dense matrices, tables of sums and arrays that no second-level cache holds, met all over: products, folds, gathers, scatters
//! and counts beside plain loops, on one, two and three threads. All numbers are small and whole, so that every sum is exact.

use crate::common::on_threads;
use openwork::{DType, Index, Tensor};

const ROWS: usize = 3000;
const COLUMNS: usize = 1 << 18;

fn spread(i: usize) -> usize {
    (i + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20
}

fn whole(n: usize, seed: usize) -> Vec<i64> {
    (0..n).map(|i| (spread(i + seed) % 7) as i64 - 3).collect()
}

fn numbers(t: &Tensor) -> Vec<i64> {
    t.cast(DType::I64).and_then(|t| t.to_vec()).unwrap()
}

/// Rows of these lengths, whose columns lie all over, and what they store.
struct Rows {
    ends: Vec<i64>,
    columns: Vec<i64>,
    values: Vec<i64>,
}

impl Rows {
    fn new(length: impl Fn(usize) -> usize) -> Rows {
        let (mut ends, mut columns) = (vec![0], Vec::new());
        for r in 0..ROWS {
            let mut row: Vec<i64> = (0..length(r)).map(|e| (spread(r * 10_007 + e) % COLUMNS) as i64).collect();
            row.sort_unstable();
            row.dedup();
            columns.extend(row);
            ends.push(columns.len() as i64);
        }
        let values = whole(columns.len(), 5);
        Rows { ends, columns, values }
    }

    fn tensor(&self, dtype: DType) -> Tensor {
        let values = Tensor::from_vec([self.values.len()], self.values.clone()).and_then(|t| t.cast(dtype)).unwrap();
        Tensor::csr([ROWS, COLUMNS], self.ends.clone(), self.columns.clone(), &values, 0).unwrap()
    }

    fn each(&self, mut f: impl FnMut(usize, usize, i64)) {
        for (r, ends) in self.ends.windows(2).enumerate() {
            (ends[0] as usize..ends[1] as usize).for_each(|e| f(r, self.columns[e] as usize, self.values[e]));
        }
    }
}

/// Rows of any length, one of them long; and as many in each row, as of nearest neighbours.
fn matrices() -> [Rows; 2] {
    [Rows::new(|r| if r == 100 { 6000 } else { spread(r) % 40 }), Rows::new(|_| 5)]
}

#[test]
fn products_and_folds_are_those_of_plain_loops() {
    for rows in matrices() {
        for dtype in [DType::F64, DType::F32, DType::F16, DType::I64, DType::U8] {
            let a = rows.tensor(dtype);
            let dense = |shape: &[usize], seed| {
                let all = whole(shape.iter().product(), seed);
                (Tensor::from_vec(shape, all.clone()).and_then(|t| t.cast(dtype)).unwrap(), all)
            };
            // What a byte wraps to, and the others do not.
            let kept = |all: Vec<i64>| {
                all.into_iter().map(|x| if dtype == DType::U8 { x & 255 } else { x }).collect::<Vec<i64>>()
            };
            let widest = if dtype == DType::F64 || dtype == DType::F32 { 33 } else { 8 };
            for n in [1, 3, widest] {
                let (b, ours) = dense(&[COLUMNS, n], n);
                let mut wanted = vec![0; ROWS * n];
                rows.each(|r, c, x| (0..n).for_each(|j| wanted[r * n + j] += x * ours[c * n + j]));
                let found = on_threads("times columns", &|| a.matmul(&b));
                assert!(numbers(&found) == kept(wanted), "{dtype}, {n} columns");
            }
            for n in [1, 4] {
                let (b, ours) = dense(&[n, ROWS], n + 9);
                let mut wanted = vec![0; n * COLUMNS];
                rows.each(|r, c, x| (0..n).for_each(|i| wanted[i * COLUMNS + c] += x * ours[i * ROWS + r]));
                let found = on_threads("rows times", &|| b.matmul(&a));
                assert!(numbers(&found) == kept(wanted), "{dtype}, {n} rows");
            }
            let mut greatest = vec![0; COLUMNS];
            rows.each(|_, c, x| greatest[c] = greatest[c].max(kept(vec![x])[0]));
            assert!(numbers(&on_threads("max", &|| a.max(0))) == greatest, "{dtype}");
        }
        let a = rows.tensor(DType::F64);
        let mut wanted = vec![0; COLUMNS];
        rows.each(|_, c, x| wanted[c] += x);
        assert!(numbers(&on_threads("sum", &|| a.sum(0))) == wanted);
    }
}

#[test]
fn what_a_list_names_is_moved_and_counted() {
    let n = 100_003;
    for width in [1, 3, 40] {
        let rows = COLUMNS / width + 5;
        let all = whole(rows * width, 3);
        let places: Vec<usize> = (0..n).map(|i| spread(i) % rows).collect();
        // Every third counts from the end.
        let from_end = |(i, &at): (usize, &usize)| if i % 3 == 0 { at as i64 - rows as i64 } else { at as i64 };
        let list = Tensor::from_vec([n], places.iter().enumerate().map(from_end).collect()).unwrap();
        let x = Tensor::from_vec([rows, width], all.clone()).unwrap();
        let wanted: Vec<i64> = places.iter().flat_map(|&at| all[at * width..][..width].to_vec()).collect();
        assert!(numbers(&on_threads("take", &|| x.take(&list, 0))) == wanted, "{width}");
        let new = whole(n * width, 8);
        let mut wanted = all.clone();
        places.iter().enumerate().for_each(|(i, &at)| {
            wanted[at * width..][..width].copy_from_slice(&new[i * width..][..width]);
        });
        let new = Tensor::from_vec([n, width], new).unwrap();
        let found = on_threads("index_put", &|| x.index_put(&[Index::from(list.clone())], &new));
        assert!(numbers(&found) == wanted, "{width}");
        for outside in [rows as i64, -1 - rows as i64] {
            let mut list: Vec<i64> = places.iter().map(|&at| at as i64).collect();
            list[n - 2] = outside;
            let list = Tensor::from_vec([n], list).unwrap();
            assert!(x.take(&list, 0).is_err() && x.index_put(&[Index::from(list.clone())], &new).is_err(), "{width}");
        }
    }
    let numbers_of = |n: usize| (0..n).map(|i| (spread(i) % COLUMNS) as i64).collect::<Vec<i64>>();
    let bins = numbers_of(400_000);
    let mut wanted = vec![0; COLUMNS];
    bins.iter().for_each(|&bin| wanted[bin as usize] += 1);
    let x = Tensor::from_vec([bins.len()], bins).unwrap();
    assert!(numbers(&on_threads("bincount", &|| x.bincount(None, COLUMNS))) == wanted);
}
