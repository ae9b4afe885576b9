//! Sums of columns that are so many that their accumulators leave the cache: a few terms are added plainly, and when that is done is
//! kept beside the indices.

use openwork::parallel::with_threads;
use openwork::{DType, Layout, ReduceOp, Tensor, c128};

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

/// A few terms for each of so many columns, by rows long and short and by coordinates, beside a loop: exact sums, extremes with and without
/// columns that no zero is in, and counts.
#[test]
fn folds_of_rows_into_more_columns_than_a_cache_holds() {
    // More than a nearer cache holds, and more than any.
    for (rows, in_row, columns) in [(400, 1000, 150_001), (40_000, 7, 150_001), (40_000, 27, 4_200_001)] {
        // The last column is in each row, with no zero beside its elements, all of which are below it.
        let column = |row: usize, i: usize| match i + 1 == in_row {
            true => columns - 1,
            false => i * (columns / in_row) + row * 7919 % (columns / in_row),
        };
        let value = |row: usize, i: usize| match i + 1 == in_row {
            true => -1.0 - (row % 5) as f64,
            false => ((row * 31 + i * 17) % 41) as f64 - 20.0,
        };
        let (mut sums, mut greatest, mut counts) = (vec![0.0; columns], vec![0.0f64; columns], vec![0i64; columns]);
        greatest[columns - 1] = f64::NEG_INFINITY;
        let (mut coordinates, mut values) = (vec![Vec::new(), Vec::new()], Vec::new());
        for (row, i) in (0..rows).flat_map(|row| (0..in_row).map(move |i| (row, i))) {
            let (c, v) = (column(row, i), value(row, i));
            sums[c] += v;
            greatest[c] = greatest[c].max(v);
            counts[c] += i64::from(v != 0.0);
            coordinates[0].push(row as i64);
            coordinates[1].push(c as i64);
            values.push(v);
        }
        let values = Tensor::from_vec([rows * in_row], values).unwrap();
        let coo = Tensor::coo([rows, columns], coordinates, &values, 0.0).unwrap();
        let csr = coo.to_layout(Layout::Csr).unwrap();
        // Places that are no index array's own: of the two kept axes of three.
        let three = coo.reshape([rows, 1, columns]).unwrap();
        for x in [&csr, &coo, &three] {
            let dtypes = [DType::F64, DType::I64, DType::F32, DType::Complex128];
            for &dtype in &dtypes[..if columns > 1_000_000 { 2 } else { 4 }] {
                let x = x.cast(dtype).unwrap();
                for threads in 1..=3 {
                    let run = |op: ReduceOp| with_threads(threads, || x.reduce(op, 0)).unwrap().unwrap();
                    let real = |t: Tensor| t.real().unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap();
                    assert!(real(run(ReduceOp::Sum)) == sums, "{dtype} {threads} {rows}");
                    let nonzero = run(ReduceOp::CountNonzero).to_vec::<i64>().unwrap();
                    assert!(nonzero == counts, "{dtype} {threads} {rows}");
                    if dtype != DType::Complex128 {
                        assert!(real(run(ReduceOp::Max)) == greatest, "{dtype} {threads} {rows}");
                    }
                }
            }
        }
    }
}
