//! Sums of columns that are so many that their accumulators leave the cache: a few terms are added plainly, and when that is done is
//! kept beside the indices.

use openwork::parallel::with_threads;
use openwork::{DType, Tensor, c128};

const ROWS: usize = 1800;
const COLUMNS: usize = 140_000;
const IN_ROW: usize = 1000;

/// The first column has an element in each row, others have one in a few.
fn column(row: usize, i: usize) -> usize {
    if i == 0 { 0 } else { 1 + (i - 1) * 140 + row * 37 % 139 }
}

fn value(row: usize, i: usize) -> f64 {
    match (i, row) {
        (0, 0) => 9_007_199_254_740_992.0, // 2^53: ones are lost beside it
        (0, _) => 1.0,
        _ => ((row + i) % 7) as f64 - 3.0,
    }
}

#[test]
fn sums_of_very_many_columns_are_corrected_each_time() {
    let pointers: Vec<u64> = (0..=ROWS).map(|r| (r * IN_ROW) as u64).collect();
    let places = || (0..ROWS).flat_map(|r| (0..IN_ROW).map(move |i| (r, i)));
    let indices: Vec<u64> = places().map(|(r, i)| column(r, i) as u64).collect();
    let values = Tensor::from_vec([ROWS * IN_ROW], places().map(|(r, i)| value(r, i)).collect::<Vec<_>>()).unwrap();
    let x = Tensor::csr([ROWS, COLUMNS], pointers, indices, &values, 0.0).unwrap();
    let wanted = |rows: std::ops::Range<usize>| {
        let mut sums = vec![0.0; COLUMNS];
        places().filter(|(r, i)| rows.contains(r) && *i > 0).for_each(|(r, i)| sums[column(r, i)] += value(r, i));
        sums
    };
    let within = 2.0 * (ROWS as f64).log2() * f64::EPSILON * value(0, 0);
    let check = |x: &Tensor, rows: std::ops::Range<usize>| {
        let wanted = wanted(rows.clone());
        let run = |threads| with_threads(threads, || x.sum(0)).unwrap().unwrap();
        let found = |sums: &Tensor| match sums.dtype() {
            DType::F64 => sums.to_vec::<f64>().unwrap(),
            _ => sums.to_vec::<c128>().unwrap().iter().map(|v| v.re - v.im).collect(),
        };
        let first = found(&run(1));
        assert!(first[1..] == wanted[1..]);
        // Less the large element, which a plain sum would not leave.
        let rest = first[0] - if rows.contains(&0) { value(0, 0) } else { 0.0 };
        let ones = rows.len() - usize::from(rows.contains(&0));
        assert!((rest - ones as f64).abs() <= within, "{rest} of {ones}");
        // What was found the first time gives the same bits again, on any number of threads.
        (1..4).for_each(|threads| assert!(found(&run(threads)) == first));
    };
    check(&x, 0..ROWS);
    // Other parts of the same indices, and other elements.
    check(&x.narrow(5..ROWS, 0).unwrap(), 5..ROWS);
    check(&x.cast(DType::Complex128).unwrap(), 0..ROWS);
    let x = x.narrow(0..1795, 0).unwrap();
    check(&x, 0..1795);
    check(&x, 0..1795);
}
