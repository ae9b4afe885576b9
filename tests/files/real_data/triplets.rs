//! Matrix Market files read a second time and simply, and plain loops over their triplets.

use std::io::Read;
use std::path::Path;

use openwork::{DType, Tensor};

/// A coordinate file: what its header says, and its entries with the mirrored ones behind.
pub struct Triplets {
    pub field: String,
    pub symmetric: bool,
    pub rows: usize,
    pub cols: usize,
    pub listed: usize,
    pub entries: Vec<(usize, usize, f64)>,
}

impl Triplets {
    pub fn read(path: &Path) -> Triplets {
        let bytes = std::fs::read(path).unwrap();
        let mut text = String::new();
        if bytes.starts_with(&[0x1f, 0x8b]) {
            flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
        } else {
            text = String::from_utf8(bytes).unwrap();
        }
        let banner: Vec<&str> = text.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(banner[..3], ["%%MatrixMarket", "matrix", "coordinate"]);
        let (field, symmetric) = (banner[3].to_string(), banner[4] == "symmetric");
        assert!(symmetric || banner[4] == "general");
        let mut lines = text.lines().filter(|l| !l.starts_with('%') && !l.trim().is_empty());
        let size: Vec<usize> = lines.next().unwrap().split_whitespace().map(|t| t.parse().unwrap()).collect();
        let mut entries: Vec<(usize, usize, f64)> = lines
            .map(|line| {
                let t: Vec<&str> = line.split_whitespace().collect();
                let index = |i: usize| t[i].parse::<usize>().unwrap() - 1;
                (index(0), index(1), t.get(2).map_or(1.0, |v| v.parse().unwrap()))
            })
            .collect();
        assert_eq!(entries.len(), size[2]);
        if symmetric {
            let mirrored: Vec<_> = entries.iter().filter(|e| e.0 != e.1).map(|&(r, c, v)| (c, r, v)).collect();
            entries.extend(mirrored);
        }
        Triplets { field, symmetric, rows: size[0], cols: size[1], listed: size[2], entries }
    }

    pub fn sorted(&self) -> Vec<(usize, usize, f64)> {
        let mut sorted = self.entries.clone();
        sorted.sort_by_key(|e| (e.0, e.1));
        sorted
    }

    /// The sum of `f(value)` over rows, columns, or all, by `to`.
    pub fn fold(&self, n: usize, to: impl Fn(usize, usize) -> usize, f: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut out = vec![0.0; n];
        self.entries.iter().for_each(|&(r, c, v)| out[to(r, c)] += f(v));
        out
    }

    /// The product with a vector.
    pub fn times(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows];
        self.entries.iter().for_each(|&(r, c, v)| out[r] += v * x[c]);
        out
    }

    /// The product of the magnitudes: what rounding errors are measured by.
    pub fn magnitude(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.rows];
        self.entries.iter().for_each(|&(r, c, v)| out[r] += (v * x[c]).abs());
        out
    }
}

/// What a matrix stores, in row order.
pub fn stored(x: &Tensor) -> Vec<(usize, usize, f64)> {
    let values = x.stored_values().cast(DType::F64).unwrap().to_contiguous().unwrap();
    let mut columns = x.coordinates();
    columns.sort_by_key(|c| c.0);
    let (rows, cols) = (&columns[0].1, &columns[1].1);
    let values = values.values::<f64>().unwrap();
    let mut out: Vec<_> = (0..values.len()).map(|i| (rows[i] as usize, cols[i] as usize, values[i])).collect();
    out.sort_by_key(|e| (e.0, e.1));
    out
}

/// All elements, as `f64` in C order.
pub fn dense(x: &Tensor) -> Vec<f64> {
    x.to_dense().unwrap().cast(DType::F64).unwrap().to_contiguous().unwrap().values::<f64>().unwrap().to_vec()
}

/// Equal up to rounding, each element measured by its magnitude.
#[track_caller]
pub fn assert_close(what: &str, got: &[f64], expected: &[f64], magnitude: &[f64]) {
    assert_eq!(got.len(), expected.len(), "{what}");
    for i in 0..got.len() {
        let (g, e, m) = (got[i], expected[i], magnitude[i]);
        assert!((g - e).abs() <= 1e-13 * m, "{what}: element {i} is {g}, expected {e}");
    }
}

/// A vector of numbers without a pattern, between -1 and 1.
pub fn vector(n: usize) -> Vec<f64> {
    (0..n as u64).map(|i| (i.wrapping_mul(2_654_435_761) % 2001) as f64 / 1000.0 - 1.0).collect()
}
