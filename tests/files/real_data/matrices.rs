//! Matrices of public collections: what their headers say, conversions, products, sums and transposes.

use openwork::io::matrix_market;
use openwork::{DType, Layout, Tensor, keep};

use super::triplets::{Triplets, assert_close, dense, stored, vector};

/// Name, rows, columns, entries listed, elements stored once symmetry is expanded, elements that are not zero.
type Facts = (&'static str, usize, usize, usize, usize, usize);

/// The last two as the SuiteSparse collection publishes them for those that are from there.
const GENERAL: [Facts; 5] = [
    ("cryg2500.mtx", 2500, 2500, 12349, 12349, 12349),
    ("lp_afiro.mtx", 27, 51, 102, 102, 102),
    ("olm1000.mtx", 1000, 1000, 3996, 3996, 3996),
    ("single_cell_counts.mtx.gz", 507, 1107, 23866, 23866, 23866),
    ("west0067.mtx", 67, 67, 294, 294, 294),
];
const SYMMETRIC: [Facts; 6] = [
    ("LFAT5.mtx", 14, 14, 30, 46, 46),
    ("bcsstk13.mtx", 2003, 2003, 42943, 83883, 83883),
    ("jagmesh7.mtx", 1138, 1138, 4294, 7450, 7450),
    ("karate.mtx", 34, 34, 78, 156, 156),
    ("pushpull.mtx", 4000, 4000, 99208, 196305, 196305),
    ("zenios.mtx", 2873, 2873, 15032, 27191, 1314),
];
/// From file order to each of them in turn.
const ROUND: [Layout; 7] =
    [Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Csf, Layout::Dcsc, Layout::Coo, Layout::Csr];
const LAYOUTS: [Layout; 6] = [Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Dcsc, Layout::Csf];

/// Runs a check on every matrix, read by the library and read simply.
fn each(test: &str, check: impl Fn(&str, &Tensor, &Triplets)) {
    let Some(folder) = super::folder(test, "matrices") else { return };
    for (name, ..) in GENERAL.iter().chain(&SYMMETRIC) {
        check(name, &matrix_market::read(folder.join(name)).unwrap(), &Triplets::read(&folder.join(name)));
    }
}

/// As matrices of floats in every layout.
fn each_layout(test: &str, check: impl Fn(&str, &Tensor, &Triplets)) {
    each(test, |name, x, plain| {
        let x = x.cast(DType::F64).unwrap();
        for layout in LAYOUTS {
            let x = x.to_layout(layout).unwrap();
            check(&format!("{name} as {layout}"), &x, plain);
        }
    });
}

#[test]
fn facts_of_the_headers() {
    each("facts_of_the_headers", |name, x, plain| {
        let is_symmetric = SYMMETRIC.iter().any(|f| f.0 == name);
        let facts = GENERAL.iter().chain(&SYMMETRIC).find(|f| f.0 == name).unwrap();
        let (_, rows, cols, listed, all, nonzero) = *facts;
        assert_eq!((plain.rows, plain.cols, plain.listed, plain.symmetric), (rows, cols, listed, is_symmetric));
        assert_eq!(x.shape(), [rows, cols], "{name}");
        assert_eq!((x.nse(), x.layout()), (all, Layout::Coo), "{name}");
        assert_eq!(x.fill_value().unwrap().count_nonzero(..).unwrap().item().unwrap(), 0i64.into(), "{name}");
        let dtype = match plain.field.as_str() {
            "real" => DType::F64,
            "integer" => DType::I64,
            _ => DType::Bool,
        };
        assert_eq!(x.dtype(), dtype, "{name}");
        assert_eq!(x.fill().unwrap().to_string(), if dtype == DType::Bool { "false" } else { "0" }, "{name}");
        assert_eq!(x.prune().unwrap().nse(), nonzero, "{name}");
        assert_eq!(x.count_nonzero(..).unwrap().item().unwrap(), (nonzero as i64).into(), "{name}");
        // As the file has them, the mirrored ones behind.
        let order: Vec<_> = x.iter_stored().map(|(i, v)| (i[0], i[1], v.to::<f64>())).collect();
        assert_eq!(order, plain.entries, "{name}");
        // A pattern takes one value for all.
        let values = x.buffers().into_iter().find(|b| b.name == "values").unwrap().len;
        assert_eq!(values, if dtype == DType::Bool { 1 } else { all }, "{name}");
    });
}

#[test]
fn conversions_come_back() {
    each("conversions_come_back", |name, x, plain| {
        let sorted = plain.sorted();
        let first = x.to_layout(Layout::Csr).unwrap();
        let mut now = x.clone();
        for layout in ROUND {
            now = now.to_layout(layout).unwrap();
            // Compressed fibres of a matrix are doubly compressed rows.
            let named = if layout == Layout::Csf { Layout::Dcsr } else { layout };
            assert_eq!((now.layout(), now.is_coalesced()), (named, true), "{name} to {layout}");
            assert_eq!(stored(&now), sorted, "{name} to {layout}");
        }
        // A pattern takes one value for all, also after conversions.
        assert_eq!(now.buffers(), first.buffers(), "{name}");
        assert!(now.iter_stored().eq(first.iter_stored()), "{name}");
        if plain.rows * plain.cols < 1 << 20 {
            let strided = x.to_dense().unwrap();
            assert_eq!(stored(&strided.to_layout(Layout::Csr).unwrap()), stored(&x.prune().unwrap()), "{name}");
        }
    });
}

/// Blocks of 2 × 2 where they divide the shape.
#[test]
fn blocks_come_back() {
    each("blocks_come_back", |name, x, plain| {
        if plain.rows % 2 != 0 || plain.cols % 2 != 0 {
            return;
        }
        for layout in [Layout::Bsr { block: [2, 2] }, Layout::Bsc { block: [2, 2] }] {
            let blocked = x.to_layout(layout).unwrap();
            assert_eq!(blocked.layout(), layout, "{name}");
            let back = blocked.to_layout(Layout::Csr).unwrap().prune().unwrap();
            assert_eq!(stored(&back), stored(&x.prune().unwrap()), "{name} as {layout}");
            let v = Tensor::from_vec([plain.cols], vector(plain.cols)).unwrap();
            let product = blocked.cast(DType::F64).unwrap().matmul(&v).unwrap();
            let (expected, size) = (plain.times(&vector(plain.cols)), plain.magnitude(&vector(plain.cols)));
            assert_close(&format!("{name} as {layout} times a vector"), &dense(&product), &expected, &size);
        }
    });
}

#[test]
fn products_with_vectors() {
    each_layout("products_with_vectors", |name, x, plain| {
        let v = vector(plain.cols);
        let right = Tensor::from_vec([plain.cols], v.clone()).unwrap();
        let (expected, size) = (plain.times(&v), plain.magnitude(&v));
        assert_close(name, &dense(&x.matmul(&right).unwrap()), &expected, &size);
        // A matrix of one column, and the transposed product of a row.
        let column = right.expand_dims(1).unwrap();
        assert_close(name, &dense(&x.matmul(&column).unwrap()), &expected, &size);
        let row = right.expand_dims(0).unwrap();
        assert_close(name, &dense(&row.matmul(&x.matrix_transpose().unwrap()).unwrap()), &expected, &size);
    });
}

/// (A·Aᵀ)·v = A·(Aᵀ·v), up to rounding.
#[test]
fn products_with_themselves() {
    each("products_with_themselves", |name, x, plain| {
        let x = x.cast(DType::F64).unwrap().to_layout(Layout::Csr).unwrap();
        let xt = x.matrix_transpose().unwrap();
        let v = Tensor::from_vec([plain.rows], vector(plain.rows)).unwrap();
        let square = x.matmul(&xt).unwrap();
        assert_eq!(square.layout(), Layout::Csr, "{name}");
        let once = square.matmul(&v).unwrap();
        let twice = x.matmul(&xt.matmul(&v).unwrap()).unwrap();
        let of_magnitudes = x.abs().unwrap().matmul(&xt.abs().unwrap().matmul(&v.abs().unwrap()).unwrap()).unwrap();
        assert_close(name, &dense(&once), &dense(&twice), &dense(&of_magnitudes));
    });
}

#[test]
fn sums_over_axes() {
    each_layout("sums_over_axes", |name, x, plain| {
        for (axes, n) in [(&[0isize, 1][..], 1), (&[0], plain.cols), (&[1], plain.rows), (&[-1], plain.rows)] {
            let to = |r, c| match axes {
                [0, 1] => 0,
                [0] => c,
                _ => r,
            };
            let (sums, size) = (plain.fold(n, to, |v| v), plain.fold(n, to, f64::abs));
            let what = format!("{name} over {axes:?}");
            assert_close(&what, &dense(&x.sum(axes).unwrap()), &sums, &size);
            assert_close(&what, &dense(&x.sum(keep(axes)).unwrap()), &sums, &size);
            let count = (plain.rows * plain.cols / n) as f64;
            let means: Vec<f64> = sums.iter().map(|s| s / count).collect();
            assert_close(&what, &dense(&x.mean(axes).unwrap()), &means, &size);
            let counts = plain.fold(n, to, |v| f64::from(v != 0.0));
            assert_eq!(dense(&x.count_nonzero(axes).unwrap()), counts, "{what}");
            // Zeros that are not stored count: no line of these is full.
            let mut most = vec![0.0f64; n];
            plain.entries.iter().for_each(|&(r, c, v)| most[to(r, c)] = most[to(r, c)].max(v));
            let stored = plain.fold(n, to, |_| 1.0);
            assert!(stored.iter().all(|&s| s < count), "{what}");
            assert_eq!(dense(&x.max(axes).unwrap()), most, "{what}");
        }
    });
}

#[test]
fn transposes() {
    each_layout("transposes", |name, x, plain| {
        let t = x.matrix_transpose().unwrap();
        assert_eq!(t.shape(), [plain.cols, plain.rows], "{name}");
        let mut expected: Vec<_> = plain.entries.iter().map(|&(r, c, v)| (c, r, v)).collect();
        expected.sort_by_key(|e| (e.0, e.1));
        assert_eq!(stored(&t), expected, "{name}");
        let turned = match x.layout() {
            Layout::Csr => Layout::Csc,
            Layout::Csc => Layout::Csr,
            Layout::Dcsr => Layout::Dcsc,
            Layout::Dcsc => Layout::Dcsr,
            other => other,
        };
        assert_eq!(t.layout(), turned, "{name}");
        assert_eq!(stored(&t.matrix_transpose().unwrap()), plain.sorted(), "{name}");
        if plain.rows == plain.cols {
            let difference = x.sub(&t).unwrap();
            assert!(!difference.is_strided(), "{name}");
            assert_eq!(difference.prune().unwrap().nse() == 0, plain.symmetric, "{name}");
            let largest = difference.abs().unwrap().max(..).unwrap().item().unwrap();
            assert_eq!(largest == 0.0.into(), plain.symmetric, "{name}");
        }
    });
}
