//! Matrices of far more rows than columns, and of far more columns than rows: their transposes, products and Gram matrices go other ways
//! than those of square ones, and other ways again on several threads. Elements are small integers, so that all sums are exact.

use openwork::parallel::with_threads;
use openwork::{DType, Layout, Tensor, c128};

/// A matrix by its elements, row by row.
struct Matrix {
    rows: usize,
    columns: usize,
    entries: Vec<Vec<(usize, f64)>>,
}

/// What follows a number in a sequence without order.
fn mixed(i: u64) -> u64 {
    let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ (z >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
}

impl Matrix {
    /// `each` elements a row at most, anywhere (`band`: no further than that from the diagonal).
    fn new(rows: usize, columns: usize, each: usize, band: Option<usize>) -> Matrix {
        let row = |r: usize| {
            let place = |i: usize| {
                let far = mixed((r * each + i) as u64) as usize;
                match band {
                    Some(band) => (r * columns / rows + far % (2 * band + 1)).saturating_sub(band).min(columns - 1),
                    None => far % columns,
                }
            };
            let mut places: Vec<usize> = (0..each).map(place).collect();
            places.sort_unstable();
            places.dedup();
            places.into_iter().map(|j| (j, (1 + (r + 3 * j) % 5) as f64)).collect()
        };
        Matrix { rows, columns, entries: (0..rows).map(row).collect() }
    }

    fn tensor(&self, dtype: DType) -> Tensor {
        let mut pointers = vec![0u32];
        self.entries.iter().for_each(|row| pointers.push(pointers[pointers.len() - 1] + row.len() as u32));
        let all = || self.entries.iter().flatten();
        let indices: Vec<u32> = all().map(|&(j, _)| j as u32).collect();
        let values = Tensor::from_vec([indices.len()], all().map(|&(_, v)| v).collect::<Vec<_>>()).unwrap();
        Tensor::csr([self.rows, self.columns], pointers, indices, &values.cast(dtype).unwrap(), 0.0).unwrap()
    }

    fn turned(&self) -> Matrix {
        let mut entries = vec![Vec::new(); self.columns];
        for (r, row) in self.entries.iter().enumerate() {
            row.iter().for_each(|&(j, v)| entries[j].push((r, v)));
        }
        Matrix { rows: self.columns, columns: self.rows, entries }
    }

    /// The transpose times a dense matrix of `n` columns.
    fn turned_times(&self, dense: &[f64], n: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.columns * n];
        for (r, row) in self.entries.iter().enumerate() {
            for &(j, v) in row {
                (0..n).for_each(|c| out[j * n + c] += v * dense[r * n + c]);
            }
        }
        out
    }
}

/// Shapes, elements a row and bands: results of few columns, that a cache holds, that none holds, that are local; long rows.
const SHAPES: [(usize, usize, usize, Option<usize>); 9] = [
    (400_000, 3, 2, None),
    (300_000, 400, 8, None),
    (100_000, 2_000, 10, None),
    (250_000, 9_000, 9, None),
    (300_000, 300_000, 4, None),
    (500_000, 500_000, 3, Some(2)),
    (40, 120_000, 9_000, None),
    (2_000, 1_000, 400, None),
    (700_000, 600, 0, None),
];

fn on_each_number_of_threads(f: impl Fn() + Sync + Send) {
    (1..=3).for_each(|threads| with_threads(threads, &f).unwrap());
}

#[test]
fn the_other_order_has_the_same_elements_in_theirs() {
    for (rows, columns, each, band) in SHAPES {
        let matrix = Matrix::new(rows, columns, each, band);
        for dtype in [DType::F64, DType::I8] {
            let (x, turned) = (matrix.tensor(dtype), matrix.turned().tensor(dtype));
            on_each_number_of_threads(|| {
                let found = x.to_layout(Layout::Csc).unwrap().matrix_transpose().unwrap();
                assert_eq!(found.layout(), Layout::Csr);
                let parts = |x: &Tensor| [x.indices().unwrap(), x.stored_values()];
                for (found, want) in parts(&found).iter().zip(parts(&turned)) {
                    assert!(found.allclose(&want, 0.0, 0.0).unwrap(), "{rows} x {columns} of {dtype}");
                }
            });
        }
    }
}

#[test]
fn transposes_times_matrices_of_any_width() {
    for (rows, columns, each, band) in SHAPES {
        let matrix = Matrix::new(rows, columns, each, band);
        let x = matrix.tensor(DType::F64);
        for n in [1, 3, 8, 13].into_iter().filter(|n| rows.max(columns) * n < 4_000_000) {
            let dense: Vec<f64> = (0..rows * n).map(|i| (i % 7) as f64 - 3.0).collect();
            let want = matrix.turned_times(&dense, n);
            let dense = Tensor::from_vec([rows, n], dense).unwrap();
            on_each_number_of_threads(|| {
                let found = x.matrix_transpose().unwrap().matmul(&dense).unwrap();
                assert!(found.to_vec::<f64>().unwrap() == want, "{rows} x {columns}, {n} columns");
                let mirrored = dense.matrix_transpose().unwrap().matmul(&x).unwrap();
                let found = mirrored.matrix_transpose().unwrap();
                assert!(found.to_vec::<f64>().unwrap() == want, "{n} rows by {rows} x {columns}");
            });
        }
    }
}

#[test]
fn gram_matrices() {
    for (rows, columns, each) in [(50_000, 3, 2), (20_000, 60, 9), (3_000, 300, 70), (1_500, 700, 250), (2_000, 900, 4)]
    {
        let matrix = Matrix::new(rows, columns, each, None);
        let (mut want, mut is_stored) = (vec![0.0; columns * columns], vec![false; columns * columns]);
        for row in &matrix.entries {
            for &(i, v) in row {
                for &(j, w) in row {
                    want[i * columns + j] += v * w;
                    is_stored[i * columns + j] = true;
                }
            }
        }
        let stored = is_stored.iter().filter(|&&is| is).count();
        for dtype in [DType::F64, DType::F32, DType::I64] {
            let x = matrix.tensor(dtype);
            on_each_number_of_threads(|| {
                let turned = x.matrix_transpose().unwrap();
                let by_rows = turned.to_layout(Layout::Csr).unwrap();
                for (left, layout) in [(&turned, Layout::Csc), (&by_rows, Layout::Csr)] {
                    let found = left.matmul(&x).unwrap();
                    assert_eq!((found.layout(), found.nse(), found.dtype()), (layout, stored, dtype));
                    let found = found.cast(DType::F64).unwrap().to_dense().unwrap();
                    assert!(found.to_vec::<f64>().unwrap() == want, "{rows} x {columns} of {dtype}, {layout}");
                }
            });
        }
    }
}

/// Columns that nothing meets are not stored, and what is stored may be zero.
#[test]
fn gram_matrices_store_what_terms_meet() {
    let rows = 2_000;
    let values: Vec<f64> = (0..3 * rows).map(|i| [1.0, if i / 3 % 2 == 0 { 1.0 } else { -1.0 }, 0.5][i % 3]).collect();
    let indices: Vec<u32> = (0..3 * rows).map(|i| [0, 2, 5][i % 3]).collect();
    let pointers: Vec<u32> = (0..=rows as u32).map(|r| 3 * r).collect();
    let x = Tensor::csr([rows, 7], pointers, indices, &Tensor::from_vec([3 * rows], values).unwrap(), 0.0).unwrap();
    on_each_number_of_threads(|| {
        let found = x.matrix_transpose().unwrap().matmul(&x).unwrap();
        assert_eq!(found.nse(), 9);
        let n = rows as f64;
        let (mut want, at) = (vec![0.0; 49], |i: usize, j: usize| 7 * i + j);
        for (i, j, v) in [(0, 0, n), (2, 2, n), (5, 5, n / 4.0), (0, 5, n / 2.0), (5, 0, n / 2.0)] {
            want[at(i, j)] = v; // between columns 2 and 0, and 2 and 5, signs cancel
        }
        assert_eq!(found.to_dense().unwrap().to_vec::<f64>().unwrap(), want);
    });
}

#[test]
fn reshaped_flipped_and_diagonal() {
    for (rows, columns, each, band) in SHAPES {
        let matrix = Matrix::new(rows, columns, each, band);
        let x = matrix.tensor(DType::F64);
        let flat: Vec<(usize, f64)> = matrix
            .entries
            .iter()
            .enumerate()
            .flat_map(|(r, row)| row.iter().map(move |&(j, v)| (r * columns + j, v)))
            .collect();
        on_each_number_of_threads(|| {
            for shape in
                [vec![columns, rows], vec![rows * columns], vec![rows, 1, columns], vec![rows / 10, 10, columns]]
            {
                let found = x.reshape(&shape).unwrap();
                let at = found.indices().unwrap().to_vec::<i64>().unwrap();
                let places = (0..found.nse()).map(|e| {
                    let digits = at[e * shape.len()..][..shape.len()].iter().map(|&digit| digit as usize);
                    digits.zip(&shape).fold(0, |place, (digit, size)| place * size + digit)
                });
                let found: Vec<(usize, f64)> = places.zip(found.stored_values().to_vec::<f64>().unwrap()).collect();
                assert!(found == flat, "{rows} x {columns} as {shape:?}");
            }
            let flipped = x.flip(1).unwrap();
            let want = matrix.entries.iter().flat_map(|row| row.iter().rev().map(|&(_, v)| v));
            assert!(flipped.stored_values().to_vec::<f64>().unwrap().into_iter().eq(want));
            assert!(x.flip(1).unwrap().flip(1).unwrap().allclose(&x, 0.0, 0.0).unwrap());
            for offset in [-2isize, 0, 1] {
                let found = x.diagonal(offset, 0, 1).unwrap().to_dense().unwrap().to_vec::<f64>().unwrap();
                let [first, at] = if offset < 0 { [offset.unsigned_abs(), 0] } else { [0, offset as usize] };
                let want = (0..found.len()).map(|i| {
                    let own = matrix.entries[first + i].iter().find(|(j, _)| *j == at + i);
                    own.map_or(0.0, |(_, v)| *v)
                });
                assert!(found.iter().copied().eq(want), "{rows} x {columns}, diagonal {offset}");
            }
        });
    }
}

/// Of dtypes that are no floats, times many numbers of columns: panels and slices of each kind, and columns beyond the last.
#[test]
fn transposes_of_every_dtype_times_columns() {
    let shapes = [(60_000, 3, 2), (20_000, 300, 20), (3_000, 7_000, 30), (9, 40_000, 900), (5_000, 20, 0)];
    for (rows, columns, each) in shapes {
        let x = Matrix::new(rows, columns, each, None);
        for dtype in [DType::I64, DType::I16, DType::U8, DType::Bool, DType::Complex64, DType::Complex128] {
            let is_complex = dtype.is_complex();
            // A complex number that is a whole one, times what turns it.
            let turn = |re: f64, im: f64| if is_complex { c128::new(re, im) } else { c128::new(1.0, 0.0) };
            let with = |t: Tensor, by: c128| if is_complex { t.mul(by).unwrap() } else { t };
            let (of_x, of_dense) = (turn(1.0, 2.0), turn(3.0, -1.0));
            let a = with(x.tensor(dtype), of_x).cast(dtype).unwrap();
            assert_eq!(a.dtype(), dtype);
            for n in [1, 2, 3, 5, 8, 11, 17, 33] {
                let dense: Vec<f64> = (0..rows * n).map(|i| (mixed(i as u64) % 4) as f64).collect();
                let b = Tensor::from_vec([rows, n], dense.clone()).unwrap().cast(dtype).unwrap();
                let b = with(b, of_dense).cast(dtype).unwrap();
                let wanted: Vec<c128> = x
                    .turned_times(&dense, n)
                    .iter()
                    .map(|&sum| match dtype {
                        // Or of ands.
                        DType::Bool => c128::new(f64::from(sum != 0.0), 0.0),
                        DType::U8 => c128::new(sum % 256.0, 0.0),
                        DType::I16 => c128::new(f64::from(sum as i64 as i16), 0.0),
                        _ => of_x * of_dense * sum,
                    })
                    .collect();
                assert!(each == 0 || wanted.iter().any(|y| y.re != 0.0));
                let as_complex = |t: &Tensor| t.cast(DType::Complex128).and_then(|t| t.to_vec::<c128>()).unwrap();
                for threads in 1..=3 {
                    let what = format!("{rows} x {columns} {dtype}, {n} columns on {threads}");
                    let run =
                        |f: &(dyn Fn() -> openwork::Result<Tensor> + Sync)| with_threads(threads, f).unwrap().unwrap();
                    let found = run(&|| a.matrix_transpose()?.matmul(&b));
                    assert_eq!((found.dtype(), found.shape()), (dtype, &[columns, n][..]), "{what}");
                    assert!(as_complex(&found) == wanted, "{what}");
                    let mirrored = run(&|| b.matrix_transpose()?.matmul(&a));
                    assert!(as_complex(&mirrored.matrix_transpose().unwrap()) == wanted, "{what}, mirrored");
                }
            }
            // A row over and over, and columns that run backwards.
            let ones = Tensor::ones([1, 3], dtype, Layout::Strided).unwrap().broadcast_to([rows, 3]).unwrap();
            let falling = Tensor::arange(0.0, 3.0 * rows as f64, 1.0)
                .and_then(|t| t.reshape([rows, 3])?.remainder(5.0)?.cast(dtype));
            let falling = falling.and_then(|t| t.flip(1)).unwrap();
            for b in [ones, falling] {
                let t = a.matrix_transpose().unwrap();
                let found = t.matmul(&b).unwrap();
                let by_rows = t.to_layout(Layout::Csr).and_then(|t| t.matmul(&b)).unwrap();
                assert!(found.equal(&by_rows).unwrap(), "{rows} x {columns} {dtype}");
            }
        }
    }
}
