//! Rows over a fill times dense matrices, against the same sums term by term and the background by hand.

use super::double::Double;
use super::tests::at_each_level;
use super::*;

/// Compressed rows, some empty and some longer than many registers, of elements of which every eleventh is hard over fills near 1.
struct Matrix {
    pointers: Vec<u32>,
    indices: Vec<u32>,
    values: Vec<f64>,
}

const ROWS: usize = 45;
const COLUMNS: usize = 150;
const LIMIT: f64 = 6.0;

impl Matrix {
    fn new() -> Matrix {
        let (mut pointers, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for r in 0..ROWS {
            let step = [1, 3, 7, 40, 200][r % 5];
            indices.extend((r % 4..COLUMNS).step_by(step).filter(|_| r % 9 != 4).map(|k| k as u32));
            pointers.push(indices.len() as u32);
        }
        for e in 0..indices.len() {
            let sign = if e % 3 == 0 { -1.0 } else { 1.0 };
            values.push(sign * if e % 11 == 5 { 1e-3 } else { 1.0 + (e * 7 % 13) as f64 / 8.0 });
        }
        Matrix { pointers, indices, values }
    }

    fn view(&self) -> Rows<'_> {
        Rows {
            pointers: IndexSlice::U32(&self.pointers),
            base: 0,
            indices: IndexSlice::U32(&self.indices),
            values: bytemuck::cast_slice(&self.values),
            stencils: &[],
        }
    }

    fn row(&self, r: usize) -> impl Iterator<Item = (usize, usize, f64)> {
        let range = self.pointers[r] as usize..self.pointers[r + 1] as usize;
        range.map(|e| (e, self.indices[e] as usize, self.values[e]))
    }
}

fn dense(rows: usize, columns: usize) -> Vec<f64> {
    (0..rows * columns).map(|i| ((i * 37 % 101) as f64 - 50.0) / 16.0).collect()
}

/// As many fills as that asks for; zero is among them.
fn fills(along: Along) -> Vec<f64> {
    let n = match along {
        Along::Rows => ROWS,
        Along::Columns => COLUMNS,
        Along::Nothing => 1,
    };
    (0..n).map(|i| if i % 8 == 3 { 0.0 } else { 0.75 + (i % 5) as f64 / 4.0 }).collect()
}

fn beneath(along: Along, fills: &[f64], r: usize, k: usize) -> f64 {
    match along {
        Along::Rows => fills[r],
        Along::Columns => fills[k],
        Along::Nothing => fills[0],
    }
}

fn is_hard(v: f64, fill: f64) -> bool {
    fill.abs() > LIMIT * v.abs()
}

const ALL: [Along; 3] = [Along::Rows, Along::Columns, Along::Nothing];

#[test]
fn rows_are_multiplied_and_the_background_joins_them() {
    let x = Matrix::new();
    assert!(x.row(0).any(|(_, _, v)| is_hard(v, 0.75)));
    for (along, n) in ALL.into_iter().flat_map(|along| (1..42).chain([63, 64, 65, 96, 100]).map(move |n| (along, n))) {
        let (own, b) = (fills(along), dense(COLUMNS, n));
        // The background's row: what its fills make of the dense matrix, times the row's own where these vary by rows.
        let mut background = vec![Double { hi: 0.0, lo: 0.0 }; n];
        for k in 0..COLUMNS {
            let fill = if along == Along::Rows { 1.0 } else { beneath(along, &own, 0, k) };
            for j in 0..n {
                background[j] = background[j].mul_add(fill, b[k * n + j]);
            }
        }
        let over = OverFill::new(&own, along, LIMIT, bytemuck::cast_slice(&background));
        assert_eq!(over.along(), along);
        let right = Grid { values: bytemuck::cast_slice(&b), row: n, col: 1 };
        let out = at_each_level(&|| {
            let mut out = vec![f64::NAN; ROWS * n];
            let (first, rest) = out.split_at_mut(17 * n);
            over.multiply(x.view(), 0..17, right, bytemuck::cast_slice_mut(first));
            over.multiply(x.view(), 17..ROWS, right, bytemuck::cast_slice_mut(rest));
            bytemuck::cast_slice(&out).to_vec()
        });
        for (r, out) in out.as_chunks().0.chunks_exact(n).enumerate() {
            for (j, out) in out.iter().enumerate() {
                // Every element of the row, in sums of two floats.
                let mut want = Double { hi: 0.0, lo: 0.0 };
                let mut size = 0.0;
                let mut row = vec![None; COLUMNS];
                x.row(r).for_each(|(_, k, v)| row[k] = Some(v));
                for (k, v) in row.into_iter().enumerate() {
                    let v = v.unwrap_or(beneath(along, &own, r, k));
                    want = want.mul_add(v, b[k * n + j]);
                    size += (v * b[k * n + j]).abs();
                }
                let off = (f64::from_ne_bytes(*out) - want.round()).abs();
                // What is easy loses as much as its fill is larger.
                assert!(off <= (2.0 + LIMIT) * 8.0 * f64::EPSILON * size, "{along:?} {n}: {r}, {j}: {off}");
            }
        }
    }
}

/// A hard element is not rounded away: beside it alone a background of 2^53 is exact.
#[test]
fn hard_elements_are_exact() {
    let (b, large) = ([1.0, -1.0, 1.0], 9_007_199_254_740_992.0);
    // (large, 1, large) times (1, -1, 1) less what is there: the middle element is 1.
    let mut background = Double { hi: 0.0, lo: 0.0 };
    for y in b {
        background = background.mul_add(large, y);
    }
    let over = OverFill::new(&[large], Along::Nothing, LIMIT, bytemuck::cast_slice(&[background]));
    let (pointers, indices, values) = ([0u32, 2], [0u32, 2], [3.0, 0.5]);
    let left = Rows {
        pointers: IndexSlice::U32(&pointers),
        base: 0,
        indices: IndexSlice::U32(&indices),
        values: bytemuck::cast_slice(&values),
        stencils: &[],
    };
    let right = Grid { values: bytemuck::cast_slice(&b), row: 1, col: 1 };
    let out = at_each_level(&|| {
        let mut out = [0.0];
        over.multiply(left, 0..1, right, bytemuck::cast_slice_mut(&mut out));
        bytemuck::cast_slice(&out).to_vec()
    });
    assert_eq!(bytemuck::cast_slice::<u8, f64>(&out), [3.5 - large]);
}

#[test]
fn columns_are_added_and_what_lies_beneath_hard_elements_apart() {
    let x = Matrix::new();
    for (along, width) in ALL.into_iter().flat_map(|along| WIDTHS.map(|width| (along, width))) {
        for (stride, is_spare) in [(width, false), (width + 3, false), (width, width > 1), (width + 3, width > 1)] {
            let (own, y) = (fills(along), dense(ROWS, stride));
            let over = OverFill::new(&own, along, LIMIT, &[]);
            let (mut want, mut hard) = (vec![0.0; COLUMNS * width], Vec::new());
            let mut beneath_hard = vec![Double::ZERO; COLUMNS * width];
            for r in 0..ROWS {
                for (_, i, v) in x.row(r) {
                    let fill = beneath(along, &own, r, i);
                    let term = if is_hard(v, fill) { v } else { v - fill };
                    if is_hard(v, fill) {
                        hard.push(Met { row: i as u32, with: r as u32 });
                    }
                    for j in 0..width - usize::from(is_spare) {
                        let (at, y) = (i * width + j, y[r * stride + j]);
                        want[at] += term * y;
                        if is_hard(v, fill) {
                            beneath_hard[at] = beneath_hard[at].mul_add(-fill, y);
                        }
                    }
                }
            }
            let out = at_each_level(&|| {
                let mut acc = vec![0.0; COLUMNS * width];
                let mut met = Vec::new();
                let columns = Columns { values: &y, stride, width };
                over.add_columns(x.view(), 0..20, (columns, is_spare), &mut acc, Some(&mut met));
                over.add_columns(x.view(), 20..ROWS, (columns, is_spare), &mut acc, Some(&mut met));
                assert_eq!(met, hard);
                if is_spare {
                    // What becomes of the last column is nobody's business.
                    acc.chunks_exact_mut(width).for_each(|row| row[width - 1] = 0.0);
                }
                bytemuck::cast_slice(&acc).to_vec()
            });
            assert_eq!(bytemuck::cast_slice::<u8, f64>(&out), want, "{along:?} {width} {is_spare}");
            // What lies beneath hard elements, for each row of the product, in a row of accumulators that has room on both sides.
            let (mut sorted, mut ends) = (Vec::new(), vec![0]);
            for i in 0..COLUMNS {
                sorted.extend(hard.iter().copied().filter(|met| met.row as usize == i));
                ends.push(sorted.len());
            }
            let (n, first) = (width + 5, 3);
            let out = at_each_level(&|| {
                let mut sums = vec![Double { hi: 7.0, lo: 0.0 }; COLUMNS * n];
                let columns = Columns { values: &y, stride, width };
                over.beneath(&sorted, &ends, columns, (n, first), bytemuck::cast_slice_mut(&mut sums));
                bytemuck::cast_slice(&sums).to_vec()
            });
            for (sums, want) in bytemuck::cast_slice::<u8, Double>(&out).chunks(n).zip(beneath_hard.chunks(width)) {
                let written = width - usize::from(is_spare);
                assert_eq!(sums[first..first + written], want[..written], "{along:?} {width} {is_spare}");
                assert!(sums[..first].iter().chain(&sums[first + width..]).all(|sum| sum.hi == 7.0));
            }
        }
    }
}

/// Indices that reach beyond what they point at are an error of the caller, which nothing is read or written after.
#[test]
fn nothing_is_read_beyond_fills_and_rows() {
    let (pointers, indices, values) = ([0u32, 1], [7u32], [1.0]);
    let left = Rows {
        pointers: IndexSlice::U32(&pointers),
        base: 0,
        indices: IndexSlice::U32(&indices),
        values: bytemuck::cast_slice(&values),
        stencils: &[],
    };
    for (fills, rows) in [(5, 8), (8, 5)] {
        let (own, b) = (vec![1.0; fills], vec![1.0; rows]);
        let background = [Double { hi: 0.0, lo: 0.0 }];
        let over = OverFill::new(&own, Along::Columns, LIMIT, bytemuck::cast_slice(&background));
        let right = Grid { values: bytemuck::cast_slice(&b), row: 1, col: 1 };
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut out = [0.0];
            over.multiply(left, 0..1, right, bytemuck::cast_slice_mut(&mut out));
        }));
        assert!(caught.is_err(), "{fills} fills, {rows} rows");
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut acc = vec![0.0; rows];
            let panel = (Columns { values: &b, stride: 1, width: 1 }, false);
            over.add_columns(left, 0..1, panel, &mut acc, None);
        }));
        assert!(caught.is_err(), "{fills} fills, {rows} rows");
    }
}
