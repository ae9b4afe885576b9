//! Folds over the rows of matrices whose columns follow their rows: on one, two and three threads.

use std::collections::BTreeMap;

use openwork::parallel::with_threads;
use openwork::{DType, Layout, Tensor};

use crate::common::rng::Rng;

/// Matrices whose columns follow their rows, as those of grids do, so that threads share the rows by where their columns are: alone, with
/// some elements anywhere, and shifted, beside sums one by one.
#[test]
fn columns_of_bands_beside_a_loop() {
    const N: usize = 200_000;
    // The last two: all in one column, the first and another.
    for (far, shift, wide) in [
        (usize::MAX, 0, N),
        (5_000, 0, N),
        (40, 0, N),
        (usize::MAX, N / 2, N),
        (usize::MAX, 0, 1),
        (usize::MAX, 300, 1),
    ] {
        let mut random = Rng::new(far as u64);
        let places: Vec<[usize; 2]> = (0..4 * N)
            .map(|i| {
                let (row, beside) = (i / 4, [0, 1, 3, 90][i % 4]);
                [row, if i % far == 7 { random.below(N) } else { ((row + beside) % wide + shift) % N }]
            })
            .collect();
        let numbers: Vec<i64> = (0..places.len()).map(|i| (i % 23) as i64 - 7).collect();
        let (mut sums, mut stored) = (vec![0i64; N], BTreeMap::new());
        for (&[row, column], v) in places.iter().zip(&numbers) {
            sums[column] += v;
            *stored.entry((row, column)).or_insert(0) += v;
        }
        let mut most = vec![0i64; N];
        stored.iter().for_each(|((_, column), &v)| most[*column] = most[*column].max(v));
        let axis = |axis: usize| places.iter().map(|place| place[axis] as u64).collect::<Vec<_>>();
        let values = Tensor::from_vec([numbers.len()], numbers).unwrap();
        let x = Tensor::coo([N, N], vec![axis(0), axis(1)], &values, 0).unwrap().to_layout(Layout::Csr).unwrap();
        for dtype in [DType::I64, DType::F64, DType::F32, DType::I16] {
            let x = x.cast(dtype).unwrap();
            for threads in 1..=3 {
                let of = |f: &(dyn Fn() -> openwork::Result<Tensor> + Sync)| {
                    let found = with_threads(threads, f).unwrap().unwrap();
                    found.cast(DType::I64).unwrap().to_vec::<i64>().unwrap()
                };
                let what = format!("{dtype} {far} {shift} on {threads}");
                assert_eq!(of(&|| x.sum(0)), sums, "{what}");
                assert_eq!(of(&|| x.max(0)), most, "{what}");
                // Beside ones: how many are stored matters.
                let ones = |x: &Tensor| x.replace_fill(1).and_then(|x| x.sum(0));
                let counts = of(&|| ones(&x.mul(0)?));
                assert!(
                    counts.iter().zip(&stored_of(&stored, N)).all(|(ones, own)| *ones as usize == N - own),
                    "{what}"
                );
            }
        }
    }
}

/// How many elements each of `n` columns stores.
fn stored_of(stored: &BTreeMap<(usize, usize), i64>, n: usize) -> Vec<usize> {
    let mut counts = vec![0; n];
    stored.keys().for_each(|&(_, column)| counts[column] += 1);
    counts
}
