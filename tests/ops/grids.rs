//! Matrices of grids times vectors, again and again: once a pattern is known, columns are not read, and results are the same to the bit.
//! Beside plain loops, on one, two and three threads. All numbers are small and whole, so that every sum is exact.

use crate::common::on_threads;
use openwork::{DType, Layout, Tensor, s};

/// Points of a grid in rows of `side`, `n` of them, beside those at some distances, in both directions.
struct Grid {
    n: usize,
    ends: Vec<i64>,
    columns: Vec<i64>,
}

impl Grid {
    /// Where `is_whole`, points beyond the end of a line are those of the next.
    fn new(n: usize, side: usize, distances: &[usize], is_whole: bool) -> Grid {
        let (mut ends, mut columns) = (vec![0], Vec::new());
        for r in 0..n {
            let before = distances.iter().rev().filter_map(|d| r.checked_sub(*d));
            let all = before.chain([r]).chain(distances.iter().map(|d| r + d)).filter(|&c| c < n);
            columns
                .extend(all.filter(|c| is_whole || r.abs_diff(*c) >= side || r / side == c / side).map(|c| c as i64));
            ends.push(columns.len() as i64);
        }
        Grid { n, ends, columns }
    }

    fn values(&self, seed: usize) -> Vec<i64> {
        (0..self.columns.len()).map(|e| ((e + seed) * 7919 % 11) as i64 - 4).collect()
    }

    fn times(&self, values: &[i64], x: &[i64]) -> Vec<i64> {
        let row =
            |ends: &[i64]| (ends[0] as usize..ends[1] as usize).map(|e| values[e] * x[self.columns[e] as usize]).sum();
        self.ends.windows(2).map(row).collect()
    }
}

fn tensor(shape: &[usize], of: &[i64], dtype: DType) -> Tensor {
    Tensor::from_vec(shape, of.to_vec()).and_then(|t| t.cast(dtype)).unwrap()
}

fn numbers(t: &Tensor) -> Vec<i64> {
    t.cast(DType::I64).and_then(|t| t.to_vec()).unwrap()
}

fn vector(n: usize, seed: usize) -> Vec<i64> {
    (0..n).map(|i| ((i + seed) * 6007 % 9) as i64 - 3).collect()
}

fn grids() -> [Grid; 4] {
    let wide: Vec<usize> = (1..=9).collect();
    [
        Grid::new(20_000, 100, &[1, 100], false),
        Grid::new(27_000, 30, &[1, 30, 900], false),
        Grid::new(40_000, 40_000, &[1], true),
        Grid::new(12_000, 120, &wide, false),
    ]
}

#[test]
fn products_are_the_same_each_time() {
    for grid in grids() {
        let (n, values) = (grid.n, grid.values(1));
        for dtype in [DType::F64, DType::F32, DType::F16, DType::I32] {
            let stored = tensor(&[values.len()], &values, dtype);
            let a = Tensor::csr([n, n], grid.ends.clone(), grid.columns.clone(), &stored, 0).unwrap();
            let coo = a.to_layout(Layout::Coo).unwrap();
            for time in 0..4 {
                let x = vector(n, time);
                let wanted = grid.times(&values, &x);
                assert!(wanted.iter().filter(|&&y| y != 0).count() > n / 2);
                let x = tensor(&[n], &x, dtype);
                let what = format!("{n} {dtype}, time {time}");
                assert!(numbers(&on_threads(&what, &|| a.matmul(&x))) == wanted, "{what}");
                assert!(numbers(&on_threads(&what, &|| coo.matmul(&x))) == wanted, "{what}, coordinates");
                let column = x.expand_dims(1).unwrap();
                assert!(numbers(&on_threads(&what, &|| a.matmul(&column))) == wanted, "{what}, a column");
            }
            // Other values in the same places, and some of the rows, which are elsewhere among them.
            let other = a.mul(3).unwrap();
            let x = vector(n, 5);
            let wanted: Vec<i64> = grid.times(&values, &x).iter().map(|y| 3 * y).collect();
            let x = tensor(&[n], &x, dtype);
            for time in 0..3 {
                assert!(numbers(&on_threads("other values", &|| other.matmul(&x))) == wanted, "{time}");
                for rows in [7..n, 7..n / 2, n / 3..n - 1] {
                    let some = other.slice(s![rows.clone(), ..]).unwrap();
                    assert!(numbers(&on_threads("some rows", &|| some.matmul(&x))) == wanted[rows], "{time}");
                }
            }
        }
    }
}

#[test]
fn several_matrices_meet_a_vector_each() {
    let grids = [Grid::new(10_000, 100, &[1, 100], false), Grid::new(10_000, 100, &[1, 3], false)];
    let n = grids[0].n;
    let [first, second] = [0, 1].map(|g| grids[g].values(g));
    let (mut ends, mut columns) = (grids[0].ends.clone(), grids[0].columns.clone());
    ends.extend(grids[1].ends[1..].iter().map(|end| end + grids[0].columns.len() as i64));
    columns.extend(&grids[1].columns);
    let all: Vec<i64> = first.iter().chain(&second).copied().collect();
    let matrix = ends.windows(2).enumerate().flat_map(|(r, e)| vec![r; (e[1] - e[0]) as usize]);
    let [b, i]: [Vec<i64>; 2] =
        [matrix.clone().map(|r| (r / n) as i64).collect(), matrix.map(|r| (r % n) as i64).collect()];
    for dtype in [DType::F64, DType::F32] {
        let values = tensor(&[all.len()], &all, dtype);
        let coo = Tensor::coo([2, n, n], vec![b.clone(), i.clone(), columns.clone()], &values, 0).unwrap();
        let a = coo.to_layout(Layout::Csr).unwrap();
        let x = [vector(n, 1), vector(n, 2)];
        let wanted = [grids[0].times(&first, &x[0]), grids[1].times(&second, &x[1])].concat();
        let x = tensor(&[2, n, 1], &x.concat(), dtype);
        for time in 0..3 {
            assert!(numbers(&on_threads("two matrices", &|| a.matmul(&x))) == wanted, "{dtype}, time {time}");
        }
    }
}
