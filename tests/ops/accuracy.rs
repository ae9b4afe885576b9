//! How far products are from the exact sum, in units of the dtype: the table of PERFORMANCE.md, and the bound of RFC 2.
//!
//!     cargo test --release --test ops accuracy -- --nocapture

use openwork::{DType, Layout, PreparedForm, Product, Tensor, prepare};

use crate::common::rng::Rng;

/// A sum without error, as numbers that do not overlap (Shewchuk, "Adaptive precision floating-point arithmetic and fast
/// robust geometric predicates", 1997).
#[derive(Default)]
struct ExactSum(Vec<f64>);

impl ExactSum {
    fn add(&mut self, mut x: f64) {
        let mut left = Vec::with_capacity(self.0.len() + 1);
        for &part in &self.0 {
            let (large, small) = if x.abs() > part.abs() { (x, part) } else { (part, x) };
            let sum = large + small;
            let lost = small - (sum - large);
            if lost != 0.0 {
                left.push(lost);
            }
            x = sum;
        }
        left.push(x);
        self.0 = left;
    }

    fn add_product(&mut self, x: f64, y: f64) {
        let product = x * y;
        self.add(x.mul_add(y, -product));
        self.add(product);
    }

    fn less(mut self, x: f64) -> f64 {
        self.add(-x);
        self.0.iter().sum()
    }
}

/// Terms of a row, so that sums are hard in one way or another.
const KINDS: [&str; 4] = ["like magnitudes", "all but cancelled", "magnitudes far apart", "many terms"];

fn row(kind: usize, k: usize, random: &mut Rng) -> Vec<f64> {
    let mut unit = || random.below(1 << 52) as f64 / 2f64.powi(51) - 1.0;
    match kind {
        1 => {
            let half: Vec<f64> = (0..k / 2).map(|_| unit()).collect();
            half.iter().copied().chain(half.iter().rev().map(|v| -v * (1.0 + 1.0 / 512.0))).collect()
        }
        2 => (0..k).map(|i| unit() * 2f64.powi(i as i32 * 7 % 17 - 8)).collect(),
        _ => (0..k).map(|_| unit()).collect(),
    }
}

fn values(t: &Tensor) -> Vec<f64> {
    t.to_dense().unwrap().cast(DType::F64).unwrap().to_vec::<f64>().unwrap()
}

/// The greatest error of a product's elements, in units (`eps` times the sum of the terms' magnitudes).
fn worst(a: &Tensor, b: &Tensor, got: &Tensor, eps: f64) -> f64 {
    let (m, k) = (a.shape()[0], a.shape()[1]);
    let n = if b.ndim() == 1 { 1 } else { b.shape()[1] };
    let (a, b, got) = (values(a), values(b), values(got));
    let mut most: f64 = 0.0;
    for r in 0..m {
        for j in 0..n {
            let (mut sum, mut magnitudes) = (ExactSum::default(), 0.0);
            for i in 0..k {
                let (x, y) = (a[r * k + i], b[i * n + j]);
                sum.add_product(x, y);
                magnitudes += (x * y).abs();
            }
            let error = sum.less(got[r * n + j]).abs();
            if error > 0.0 {
                most = most.max(error / (eps * magnitudes));
            }
        }
    }
    most
}

const DTYPES: [DType; 4] = [DType::BF16, DType::F16, DType::F32, DType::F64];

#[test]
fn products_are_near_the_exact_sum() {
    println!("| product | {} |", DTYPES.map(|d| d.to_string()).join(" | "));
    let mut told = std::collections::BTreeMap::<&str, [f64; 4]>::new();
    let mut random = Rng::new(3);
    for (kind, name) in KINDS.iter().enumerate() {
        let (m, k) = if kind == 3 { (2, 30_000) } else { (6, 400) };
        for (d, dtype) in DTYPES.into_iter().enumerate() {
            let eps = dtype.epsilon();
            let a: Vec<f64> = (0..m).flat_map(|_| row(kind, k, &mut random)).collect();
            let dense = Tensor::from_vec([m, k], a).unwrap().cast(dtype).unwrap();
            let a = dense.to_sparse(Layout::Csr, 0.0).unwrap();
            let wide: Vec<f64> = (0..k * 20).map(|i| 1.0 + 1.0 / (3 + i % 7) as f64).collect();
            let b = Tensor::from_vec([k, 20], wide).unwrap().cast(dtype).unwrap();
            let x = b.narrow(0..1, 1).unwrap().reshape([k]).unwrap();
            let fill = Tensor::from_vec([1, k], (0..k).map(|i| 0.7 + (i % 3) as f64).collect::<Vec<_>>()).unwrap();
            let centred = a.sub(fill.cast(dtype).unwrap()).unwrap();
            let csc = a.to_layout(Layout::Csc).unwrap();
            let sparse_b = b.to_sparse(Layout::Csr, 0.0).unwrap();
            let everywhere =
                Tensor::full([m, 20], true, Layout::Strided).unwrap().to_sparse(Layout::Csr, false).unwrap();
            let products = [
                ("rows @ vector", &a, &x, a.matmul(&x)),
                ("rows @ 20 columns", &a, &b, a.matmul(&b)),
                ("columns @ vector", &a, &x, csc.matmul(&x)),
                ("strided @ rows", &a, &b, dense.matmul(&sparse_b)),
                ("rows @ rows", &a, &b, a.matmul(&sparse_b)),
                ("rows less a fill @ 20 columns", &centred, &b, centred.matmul(&b)),
                ("strided @ strided", &a, &b, dense.matmul(&b)),
                (
                    "strided @ strided, where a mask says",
                    &a,
                    &b,
                    dense.matmul_with(&b, Product::default().mask(&everywhere)),
                ),
            ];
            for (product, left, right, got) in products {
                let units = worst(left, right, &got.unwrap(), eps);
                let bound = 2.0 * (k as f64 + 1.0).log2();
                assert!(units <= bound, "{product}, {dtype}, {name}: {units} units, {bound} are allowed");
                let of = &mut told.entry(product).or_default()[d];
                *of = of.max(units);
            }
        }
    }
    let bands = Tensor::randn([31, 2000], 8).unwrap();
    let offsets: Vec<isize> = (-15..16).collect();
    for (d, dtype) in DTYPES.into_iter().enumerate().skip(2) {
        let a = Tensor::from_diagonals([2000, 2000], &bands, &offsets, 0.0).unwrap().cast(dtype).unwrap();
        let ready = prepare(&a.to_layout(Layout::Csr).unwrap()).unwrap();
        assert_eq!(ready.form(), PreparedForm::Diagonals);
        let x = Tensor::randn([2000], 9).unwrap().cast(dtype).unwrap();
        let units = worst(&a, &x, &ready.matmul(&x).unwrap(), dtype.epsilon());
        assert!(units > 0.0 && units <= 2.0 * 32f64.log2(), "{dtype}: {units} units");
        told.entry("31 diagonals @ vector").or_default()[d] = units;
    }
    for (product, units) in &told {
        println!("| {product} | {} |", units.map(|u| if u > 0.0 { format!("{u:.2}") } else { "–".into() }).join(" | "));
    }
    // Something is lost in each, or nothing was measured.
    assert!(told.values().all(|units| units[2] > 0.0 && units[3] > 0.0), "{told:?}");
}
