//! A few eigenvalues and singular values, beside all of them, which dense factorisations give.

use std::ops::ControlFlow;

use openwork::linalg::{self, Operator, Options, Stop, Which};
use openwork::{DType, ErrorKind, Layout, Tensor, keep, s, tensor};

use crate::linalg::{LAYOUTS, dominant, laplacian, right};

fn numbers(x: &Tensor) -> Vec<f64> {
    x.cast(DType::F64).unwrap().to_vec().unwrap()
}

fn conjugate(x: &Tensor) -> Tensor {
    let t = x.matrix_transpose().unwrap();
    if x.dtype().is_complex() { t.conj().unwrap() } else { t }
}

/// The sine of the greatest angle between the spaces of two sets of orthonormal columns.
fn angle(x: &Tensor, y: &Tensor) -> f64 {
    let across = conjugate(x).matmul(y).unwrap();
    let rest = (y - x.matmul(&across).unwrap()).unwrap();
    *numbers(&linalg::svd(&rest).unwrap().s).first().unwrap()
}

/// The eigenvalues that are wanted among all of them, rising.
fn chosen(all: &[f64], k: usize, which: Which) -> Vec<f64> {
    let mut all = all.to_vec();
    match which {
        Which::Largest => all.sort_by(|a, b| b.total_cmp(a)),
        Which::Smallest => all.sort_by(f64::total_cmp),
        _ => all.sort_by(|a, b| b.abs().total_cmp(&a.abs())),
    }
    all.truncate(k);
    all.sort_by(f64::total_cmp);
    all
}

fn near(got: &[f64], wanted: &[f64], off: f64) {
    assert_eq!(got.len(), wanted.len());
    for (g, w) in got.iter().zip(wanted) {
        assert!((g - w).abs() <= off, "{got:?}, not {wanted:?}");
    }
}

#[test]
fn eigenvalues_of_every_dtype_and_end() {
    for (dtype, off) in [(DType::F64, 1e-9), (DType::Complex128, 1e-9), (DType::F32, 1e-4), (DType::Complex64, 1e-4)] {
        let shift = Tensor::eye(60, dtype, Layout::Csr).unwrap();
        let a = (dominant(60, dtype, true, 41) - (shift * 2.0).unwrap()).unwrap();
        let all = linalg::eigh(&a.to_dense().unwrap()).unwrap();
        let values = numbers(&all.values);
        for which in [Which::Largest, Which::Smallest, Which::LargestMagnitude] {
            for k in [1, 4, 59, 60] {
                let found = linalg::eigsh(&a, k, which, Options::default()).unwrap();
                assert!(found.report.is_converged(), "{dtype} {which:?} {k}: {}", found.report);
                assert_eq!((found.values.dtype(), found.vectors.dtype()), (dtype.real(), dtype));
                near(&numbers(&found.values), &chosen(&values, k, which), off);
                let gram = conjugate(&found.vectors).matmul(&found.vectors).unwrap();
                let one = Tensor::eye(k, dtype, Layout::Strided).unwrap();
                assert!(numbers(&(gram - one).unwrap().abs().unwrap()).iter().all(|&v| v < off));
            }
        }
        for which in [Which::Largest, Which::Smallest] {
            let options = Options::default().tolerance(if off < 1e-6 { 1e-10 } else { 1e-5 });
            let found = linalg::lobpcg(&a, 4, which, options).unwrap();
            assert!(found.report.is_converged(), "{dtype} {which:?}: {}", found.report);
            near(&numbers(&found.values), &chosen(&values, 4, which), off);
        }
    }
}

#[test]
fn every_layout_has_the_same_spectrum() {
    let wanted = numbers(&linalg::eigh(&laplacian(6, Layout::Strided)).unwrap().values);
    for layout in LAYOUTS {
        let a = laplacian(6, layout);
        let found = linalg::eigsh(&a, 3, Which::Largest, Options::default()).unwrap().converged().unwrap();
        near(&numbers(&found.0), &wanted[33..], 1e-9);
        let found = linalg::svds(&a, 3, Options::default()).unwrap().converged().unwrap();
        near(&numbers(&found.1.flip(0).unwrap()), &wanted[33..], 1e-9);
    }
}

/// Four paths and nine lone nodes: the eigenvalue 0 is there thirteen times.
#[test]
fn eigenvalues_that_are_there_several_times() {
    let path = laplacian_of_paths(&[12, 12, 7, 9, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    let found = linalg::eigsh(&path, 14, Which::Smallest, Options::default()).unwrap();
    assert!(found.report.is_converged(), "{}", found.report);
    let values = numbers(&found.values);
    near(&values[..13], &[0.0; 13], 1e-9);
    assert!((values[13] - 4.0 * (std::f64::consts::PI / 24.0).sin().powi(2)).abs() < 1e-9, "{values:?}");
    // On the square, most are there twice.
    let a = laplacian(12, Layout::Csr);
    let all = numbers(&linalg::eigh(&a.to_dense().unwrap()).unwrap().values);
    for which in [Which::Smallest, Which::Largest] {
        let found = linalg::eigsh(&a, 7, which, Options::default()).unwrap().converged().unwrap();
        near(&numbers(&found.0), &chosen(&all, 7, which), 1e-9);
    }
}

fn laplacian_of_paths(lengths: &[usize]) -> Tensor {
    let n: usize = lengths.iter().sum();
    let (mut rows, mut columns) = (vec![], vec![]);
    let mut first = 0u64;
    for &length in lengths {
        for i in first..first + length as u64 - 1 {
            rows.extend([i, i + 1]);
            columns.extend([i + 1, i]);
        }
        first += length as u64;
    }
    let ones = vec![1.0; rows.len()];
    let edges = Tensor::from_triplets([n, n], rows, columns, ones, 0.0).unwrap().to_layout(Layout::Csr).unwrap();
    let degrees = edges.sum(1).unwrap().to_vec::<f64>().unwrap();
    let places: Vec<u64> = (0..n as u64).collect();
    let diagonal = Tensor::from_triplets([n, n], places.clone(), places, degrees, 0.0).unwrap();
    (diagonal.to_layout(Layout::Csr).unwrap() - edges).unwrap()
}

#[test]
fn singular_values_of_every_shape_and_dtype() {
    for (dtype, off) in [(DType::F64, 1e-9), (DType::Complex128, 1e-9), (DType::F32, 1e-4), (DType::Complex64, 1e-4)] {
        let square = dominant(40, dtype, false, 42);
        let tall = Tensor::concat(&[&square, &dominant(40, dtype, false, 43)], 0).unwrap();
        let wide = tall.matrix_transpose().unwrap();
        let centred = (&tall - tall.mean(keep(0)).unwrap()).unwrap();
        assert!(!centred.is_strided());
        for a in [&square, &tall, &wide, &centred] {
            let all = linalg::svd(&a.to_dense().unwrap()).unwrap();
            for k in [1, 5, 40] {
                let found = linalg::svds(a, k, Options::default()).unwrap();
                // The least singular value of what is centred is near zero in 40 columns, not in one.
                assert!(found.report.is_converged(), "{dtype} {:?} {k}: {}", a.shape(), found.report);
                near(&numbers(&found.s), &numbers(&all.s)[..k], off);
                let us = (&found.u * found.s.cast(dtype).unwrap()).unwrap();
                let [m, n] = Operator::shape(a);
                assert_eq!((found.u.shape(), found.vh.shape()), (&[m, k][..], &[k, n][..]));
                let av = a.matmul(&conjugate(&found.vh)).unwrap();
                assert!(numbers(&(av - us).unwrap().abs().unwrap()).iter().all(|&v| v < off));
                if k == 5 && off < 1e-6 {
                    assert!(angle(&found.u, &all.u.slice(s![.., ..5]).unwrap()) < 1e-6);
                    assert!(angle(&conjugate(&found.vh), &conjugate(&all.vh.slice(s![..5, ..]).unwrap())) < 1e-6);
                }
            }
        }
    }
}

#[test]
fn singular_values_that_are_zero() {
    // Of rank 2.
    let a = right(&[30, 2], DType::F64, 44).matmul(&right(&[2, 20], DType::F64, 45)).unwrap();
    let all = numbers(&linalg::svd(&a).unwrap().s);
    let found = linalg::svds(&a, 5, Options::default()).unwrap();
    assert!(found.report.is_converged(), "{}", found.report);
    near(&numbers(&found.s), &all[..5], 1e-12);
    let gram = conjugate(&found.u).matmul(&found.u).unwrap();
    assert!(gram.allclose(&Tensor::eye(5, DType::F64, Layout::Strided).unwrap(), 0.0, 1e-12).unwrap());
    let zero = Tensor::full([7, 4], 0.0, Layout::Csr).unwrap();
    let found = linalg::svds(&zero, 2, Options::default()).unwrap();
    assert!(found.report.is_converged() && numbers(&found.s) == [0.0, 0.0], "{}", found.report);
    let found = linalg::eigsh(&Tensor::full([4, 4], 0.0, Layout::Csr).unwrap(), 2, Which::Largest, Options::default());
    assert_eq!(numbers(&found.unwrap().converged().unwrap().0), [0.0, 0.0]);
}

#[test]
fn eigenvalues_inside_by_the_inverse() {
    let a = laplacian(9, Layout::Csr);
    let all = numbers(&linalg::eigh(&a.to_dense().unwrap()).unwrap().values);
    let shift = 3.3;
    let inverse =
        linalg::lu(&(&a - (Tensor::eye(81, DType::F64, Layout::Csr).unwrap() * shift).unwrap()).unwrap()).unwrap();
    let found = linalg::eigsh(&inverse, 3, Which::LargestMagnitude, Options::default()).unwrap().converged().unwrap();
    let mut got: Vec<f64> = numbers(&found.0).iter().map(|v| 1.0 / v + shift).collect();
    got.sort_by(f64::total_cmp);
    let mut nearest = all;
    nearest.sort_by(|a, b| (a - shift).abs().total_cmp(&(b - shift).abs()));
    nearest.truncate(3);
    nearest.sort_by(f64::total_cmp);
    near(&got, &nearest, 1e-8);
}

#[test]
fn a_preconditioner_saves_steps() {
    let a = laplacian(20, Layout::Csr);
    let b = Tensor::eye(400, DType::F64, Layout::Csr).unwrap();
    let inverse = linalg::cholesky(&(&a + (&b * 0.001).unwrap()).unwrap()).unwrap();
    let plain = linalg::lobpcg(&a, 3, Which::Smallest, Options::default()).unwrap();
    let fast = linalg::lobpcg(&a, 3, Which::Smallest, Options::default().preconditioner(&inverse)).unwrap();
    assert!(plain.report.is_converged() && fast.report.is_converged(), "{}; {}", plain.report, fast.report);
    assert!(3 * fast.report.iterations < plain.report.iterations, "{}; {}", plain.report, fast.report);
    near(&numbers(&fast.values), &numbers(&plain.values), 1e-10);
    let again = linalg::lobpcg(&a, 3, Which::Smallest, Options::default().start(&fast.vectors)).unwrap();
    assert!(again.report.iterations <= 2, "{}", again.report);
}

#[test]
fn reports_say_why() {
    let a = laplacian(20, Layout::Csr);
    let few = linalg::eigsh(&a, 5, Which::Smallest, Options::default().max_iterations(30)).unwrap();
    assert_eq!(few.report.stop, Stop::MaxIterations);
    assert!(few.report.residuals.iter().any(|&r| r > 1e-10) && few.report.iterations <= 60, "{}", few.report);
    assert!(matches!(few.converged().unwrap_err().kind(), ErrorKind::NotConverged { .. }));
    let mut calls = 0;
    let stop = Options::default().callback(|_| {
        calls += 1;
        ControlFlow::Break(())
    });
    let stopped = linalg::svds(&a, 5, stop).unwrap();
    assert_eq!((stopped.report.stop, calls), (Stop::Callback, 1));
    let spoiled = linalg::from_fn([9, 9], DType::F64, |x| x.mul(f64::NAN)).with_adjoint(|x| Ok(x.clone()));
    for report in [
        linalg::eigsh(&spoiled, 2, Which::Largest, Options::default()).unwrap().report,
        linalg::lobpcg(&spoiled, 2, Which::Largest, Options::default()).unwrap().report,
        linalg::svds(&spoiled, 2, Options::default()).unwrap().report,
    ] {
        assert_eq!(report.stop, Stop::NanResidual, "{report}");
    }
    let single = linalg::eigsh(&a.cast(DType::F32).unwrap(), 2, Which::Largest, Options::default().tolerance(1e-14));
    let report = single.unwrap().report;
    assert!(!report.is_converged() && report.residuals.iter().all(|&r| r < 1e-5), "{report}");
}

#[test]
fn wrong_arguments_are_named() {
    let a = laplacian(3, Layout::Csr);
    let says = |e: openwork::Error, words: &[&str]| {
        let text = e.to_string();
        assert!(words.iter().all(|w| text.contains(w)), "{text}");
    };
    fn eigsh(a: &dyn Operator, k: usize, options: Options<'_>) -> openwork::Error {
        linalg::eigsh(a, k, Which::Largest, options).unwrap_err()
    }
    says(eigsh(&a, 0, Options::default()), &["eigsh: ", "`k`", "1 to 9"]);
    says(eigsh(&a, 10, Options::default()), &["eigsh: ", "`k`"]);
    says(eigsh(&a, 4, Options::default().restart(4)), &["eigsh: ", "restart"]);
    says(eigsh(&a, 4, Options::default().start(&tensor![1.0])), &["eigsh: ", "start", "[1]"]);
    says(eigsh(&a, 4, Options::default().preconditioner(&a)), &["eigsh: ", "preconditioner"]);
    says(eigsh(&a.narrow(0..3, 0).unwrap(), 2, Options::default()), &["eigsh: ", "square"]);
    says(eigsh(&a.stored().unset(s![0]).unwrap(), 2, Options::default()), &["eigsh: ", "undefined"]);
    let skew = tensor![[1.0, 2.0, 0.0], [-2.0, 1.0, 3.0], [0.5, -3.0, 1.0]; Layout::Csr, 0.0].unwrap();
    says(eigsh(&skew, 1, Options::default()), &["eigsh: ", "Hermitian"]);
    says(linalg::lobpcg(&a, 4, Which::Largest, Options::default()).unwrap_err(), &["lobpcg: ", "1 to 3"]);
    says(linalg::lobpcg(&a, 2, Which::LargestMagnitude, Options::default()).unwrap_err(), &["lobpcg: ", "which"]);
    let function = linalg::from_fn([9, 9], DType::F64, |x| a.matmul(x));
    says(linalg::svds(&function, 2, Options::default()).unwrap_err(), &["svds: ", "with_adjoint"]);
}

#[test]
fn bits_do_not_depend_on_threads() {
    let a = laplacian(190, Layout::Csr);
    let run = || {
        let options = || Options::default().max_iterations(30);
        let e = linalg::eigsh(&a, 3, Which::Largest, options()).unwrap();
        let f = linalg::svds(&a, 2, options()).unwrap();
        let g = linalg::lobpcg(&a, 2, Which::Smallest, Options::default().max_iterations(5)).unwrap();
        [numbers(&e.vectors), numbers(&f.u), numbers(&f.vh), numbers(&g.vectors)].concat()
    };
    let one = openwork::parallel::with_threads(1, run).unwrap();
    let three = openwork::parallel::with_threads(3, run).unwrap();
    assert!(one.iter().map(|v| v.to_bits()).eq(three.iter().map(|v| v.to_bits())));
}
