//! Single-cell RNA counts through the usual first steps, against plain loops.

use openwork::io::matrix_market;
use openwork::{DType, Layout, Tensor, keep};

use super::triplets::{Triplets, assert_close, dense};

const GENES: usize = 507;
const CELLS: usize = 1107;

fn counts(test: &str) -> Option<(Tensor, Triplets)> {
    let file = super::folder(test, "matrices")?.join("single_cell_counts.mtx.gz");
    Some((matrix_market::read(&file).unwrap(), Triplets::read(&file)))
}

#[test]
fn totals_are_exact() {
    let Some((x, plain)) = counts("totals_are_exact") else { return };
    assert_eq!((x.dtype(), x.shape(), x.nse()), (DType::I64, &[GENES, CELLS][..], 23866));
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Strided] {
        let x = x.to_layout(layout).unwrap();
        let per_cell = x.sum(0).unwrap();
        let per_gene = x.sum(1).unwrap();
        assert_eq!((per_cell.dtype(), per_gene.dtype()), (DType::I64, DType::I64));
        assert_eq!(dense(&per_cell), plain.fold(CELLS, |_, c| c, |v| v), "{layout}");
        assert_eq!(dense(&per_gene), plain.fold(GENES, |r, _| r, |v| v), "{layout}");
        let all = plain.fold(1, |_, _| 0, |v| v)[0] as i64;
        assert_eq!(x.sum(..).unwrap().item().unwrap(), all.into(), "{layout}");
        // A product of integers is exact as well.
        let weights: Vec<i64> = (0..CELLS as i64).map(|i| i % 7 - 3).collect();
        let product = x.matmul(&Tensor::from_vec([CELLS], weights.clone()).unwrap()).unwrap();
        let expected = plain.times(&weights.iter().map(|&w| w as f64).collect::<Vec<_>>());
        assert_eq!((product.dtype(), dense(&product)), (DType::I64, expected), "{layout}");
    }
}

/// Counts per ten thousand of the cell, the logarithm of that and one, less the mean of the gene: the elements stored
/// stay the same all the way, and the fill says what became of the zeros.
#[test]
fn normalised_and_centred() {
    let Some((x, plain)) = counts("normalised_and_centred") else { return };
    let totals = plain.fold(CELLS, |_, c| c, |v| v);
    let logs = |c: usize, v: f64| (v / totals[c].max(1.0) * 1e4).ln_1p();
    let mut expected = vec![0.0; GENES * CELLS];
    plain.entries.iter().for_each(|&(r, c, v)| expected[r * CELLS + c] = logs(c, v));
    for layout in [Layout::Coo, Layout::Csr, Layout::Csc] {
        let x = x.cast(DType::F64).unwrap().to_layout(layout).unwrap();
        let per_cell = x.sum(keep(0)).unwrap().maximum(1.0).unwrap();
        let share = (&x / &per_cell).unwrap();
        assert_eq!((share.nse(), share.layout()), (23866, layout));
        let logged = share.mul(1e4).unwrap().log1p().unwrap();
        assert_eq!((logged.nse(), logged.layout()), (23866, layout));
        let magnitude = vec![100.0; GENES * CELLS];
        assert_close(&layout.to_string(), &dense(&logged), &expected, &magnitude);
        let means = logged.mean(keep(1)).unwrap();
        let centred = (&logged - &means).unwrap();
        assert_eq!((centred.nse(), centred.layout()), (23866, layout));
        let mean_of = |r: usize| expected[r * CELLS..(r + 1) * CELLS].iter().sum::<f64>() / CELLS as f64;
        let less: Vec<f64> = (0..GENES)
            .flat_map(|r| {
                let mean = mean_of(r);
                expected[r * CELLS..(r + 1) * CELLS].iter().map(move |v| v - mean)
            })
            .collect();
        assert_close(&layout.to_string(), &dense(&centred), &less, &magnitude);
        // Centred means are zero: the fill is counted in.
        let rest = dense(&centred.mean(1).unwrap());
        assert_close(&layout.to_string(), &rest, &vec![0.0; GENES], &vec![100.0; GENES]);
    }
}
