//! Solves and decompositions, beside Gaussian elimination in `float64` and by their residuals.

use std::cell::Cell;
use std::ops::ControlFlow;

use openwork::linalg::{self, Operator, Options, Solution, Stop, Triangular};
use openwork::{DType, ErrorKind, Fill, Layout, Result, Tensor, c128, tensor};

use crate::common::rng::Rng;

/// Solves a system by elimination with pivots: the oracle.
pub fn eliminate(a: &Tensor, b: &Tensor) -> Vec<c128> {
    let n = a.shape()[0];
    let k = if b.ndim() == 1 { 1 } else { b.shape()[1] };
    let of = |x: &Tensor| x.to_dense().unwrap().cast(DType::Complex128).unwrap().to_vec::<c128>().unwrap();
    let (mut m, mut x) = (of(a), of(b));
    for c in 0..n {
        let pivot = (c..n).max_by(|&i, &j| m[i * n + c].norm().total_cmp(&m[j * n + c].norm())).unwrap();
        for j in 0..n {
            m.swap(c * n + j, pivot * n + j);
        }
        for j in 0..k {
            x.swap(c * k + j, pivot * k + j);
        }
        for i in (0..n).filter(|&i| i != c) {
            let f = m[i * n + c] / m[c * n + c];
            for j in c..n {
                let v = m[c * n + j];
                m[i * n + j] -= f * v;
            }
            for j in 0..k {
                let v = x[c * k + j];
                x[i * k + j] -= f * v;
            }
        }
    }
    (0..n * k).map(|e| x[e] / m[(e / k) * n + e / k]).collect()
}

pub fn close(x: &Tensor, wanted: &[c128], tolerance: f64) {
    let got = x.cast(DType::Complex128).unwrap().to_vec::<c128>().unwrap();
    let scale = wanted.iter().fold(0f64, |m, v| m.max(v.norm()));
    assert_eq!(got.len(), wanted.len());
    for (i, (g, w)) in got.iter().zip(wanted).enumerate() {
        assert!((g - w).norm() <= tolerance * scale, "element {i}: {g}, not {w}");
    }
}

/// -Δ on a square of m × m points, in a layout.
pub fn laplacian(m: usize, layout: Layout) -> Tensor {
    let (mut rows, mut columns, mut values) = (vec![], vec![], vec![]);
    for p in 0..m * m {
        let (i, j) = (p / m, p % m);
        let mut put = |q: usize, v: f64| {
            rows.push(p as u64);
            columns.push(q as u64);
            values.push(v);
        };
        put(p, 4.0);
        if i > 0 {
            put(p - m, -1.0);
        }
        if i + 1 < m {
            put(p + m, -1.0);
        }
        if j > 0 {
            put(p - 1, -1.0);
        }
        if j + 1 < m {
            put(p + 1, -1.0);
        }
    }
    let a = Tensor::from_triplets([m * m, m * m], rows, columns, values, 0.0).unwrap();
    if layout == Layout::Strided { a.to_dense().unwrap() } else { a.to_layout(layout).unwrap() }
}

pub const LAYOUTS: [Layout; 6] =
    [Layout::Strided, Layout::Coo, Layout::Csr, Layout::Csc, Layout::Dcsr, Layout::Bsr { block: [2, 2] }];

/// A sparse matrix whose diagonal outweighs its rows, of any dtype; Hermitian or not.
pub fn dominant(n: usize, dtype: DType, hermitian: bool, seed: u64) -> Tensor {
    let mut rng = Rng::new(seed);
    let mut m = vec![c128::new(0.0, 0.0); n * n];
    for _ in 0..4 * n {
        let (i, j) = (rng.below(n), rng.below(n));
        let im = if dtype.is_complex() { unit(&mut rng) - 0.5 } else { 0.0 };
        let v = c128::new(unit(&mut rng) - 0.5, im);
        if i != j {
            m[i * n + j] = v;
            if hermitian {
                m[j * n + i] = v.conj();
            }
        }
    }
    for i in 0..n {
        let sum: f64 = (0..n).map(|j| m[i * n + j].norm()).sum();
        m[i * n + i] = c128::new(sum * 1.1 + 0.5, 0.0);
    }
    let dense = Tensor::from_vec([n, n], m).unwrap();
    let dense = if dtype.is_complex() { dense.cast(dtype) } else { dense.real().unwrap().cast(dtype) };
    dense.unwrap().to_sparse(Layout::Csr, 0.0).unwrap()
}

fn unit(rng: &mut Rng) -> f64 {
    (rng.next() >> 11) as f64 / (1u64 << 53) as f64
}

pub fn right(shape: &[usize], dtype: DType, seed: u64) -> Tensor {
    let mut rng = Rng::new(seed);
    let n: usize = shape.iter().product();
    let complex = dtype.is_complex();
    let v = (0..n).map(|_| c128::new(unit(&mut rng) - 0.5, if complex { unit(&mut rng) - 0.5 } else { 0.0 })).collect();
    let b = Tensor::from_vec(shape, v).unwrap();
    if complex { b.cast(dtype).unwrap() } else { b.real().unwrap().cast(dtype).unwrap() }
}

type Method = fn(&dyn Operator, &Tensor, Options<'_>) -> Result<Solution>;
const METHODS: [(&str, Method); 3] = [("cg", linalg::cg), ("bicgstab", linalg::bicgstab), ("gmres", linalg::gmres)];

#[test]
fn every_layout_is_solved_with() {
    let b = right(&[36], DType::F64, 1);
    let wanted = eliminate(&laplacian(6, Layout::Csr), &b);
    for layout in LAYOUTS {
        let a = laplacian(6, layout);
        for (name, method) in METHODS {
            let solution = method(&a, &b, Options::default().tolerance(1e-12)).unwrap();
            assert!(solution.report.is_converged(), "{name} {layout}: {}", solution.report);
            assert!(solution.report.residuals[0] <= 1e-12);
            close(&solution.x, &wanted, 1e-10);
        }
    }
}

#[test]
fn dtypes_and_several_right_sides() {
    for (dtype, tolerance, off) in [
        (DType::F64, 1e-12, 1e-10),
        (DType::F32, 1e-6, 1e-4),
        (DType::Complex128, 1e-12, 1e-10),
        (DType::Complex64, 1e-6, 1e-4),
        (DType::I32, 1e-12, 1e-10),
        (DType::F16, 1e-6, 1e-4),
    ] {
        for shape in [vec![40], vec![40, 1], vec![40, 5]] {
            for (name, method) in METHODS {
                let given = if dtype == DType::I32 { DType::F64 } else { dtype };
                let a = dominant(40, given, name == "cg", 7);
                let a = if dtype == DType::I32 { (a * 100.0).unwrap().cast(dtype).unwrap() } else { a };
                let b = right(&shape, given, 2);
                let options = Options::default().tolerance(tolerance);
                let solution = method(&a, &b, options).unwrap();
                assert_eq!(solution.x.shape(), b.shape());
                let expected = if dtype == DType::F16 { DType::F32 } else { given };
                assert_eq!(solution.x.dtype(), expected);
                assert!(solution.report.is_converged(), "{name} {dtype} {shape:?}: {}", solution.report);
                close(&solution.x, &eliminate(&a, &b), off);
            }
        }
    }
}

#[test]
fn columns_finish_when_they_are_done() {
    // The first column is solved at once, the second is zero, the third takes its time.
    let a = laplacian(5, Layout::Csr);
    let x =
        Tensor::concat(&[&Tensor::full([25, 1], 0.0, Layout::Strided).unwrap(), &right(&[25, 1], DType::F64, 3)], 1);
    let b = a.matmul(&x.unwrap()).unwrap();
    for (name, method) in METHODS {
        let solution = method(&a, &b, Options::default()).unwrap();
        assert!(solution.report.is_converged(), "{name}: {}", solution.report);
        assert_eq!(solution.report.residuals[0], 0.0, "{name}");
        assert_eq!(solution.x.narrow(0..1, 1).unwrap().count_nonzero(..).unwrap().item_as::<u64>().unwrap(), 0);
    }
}

#[test]
fn a_preconditioner_saves_iterations() {
    // Badly scaled rows and columns.
    let n = 100;
    let s: Tensor = (0..n).map(|i| 10f64.powf(i as f64 / 25.0)).collect();
    let a = (laplacian(10, Layout::Csr) * &s).unwrap();
    let a = (a * s.expand_dims(1).unwrap()).unwrap();
    let b = right(&[n], DType::F64, 4);
    let p = linalg::jacobi(&a).unwrap();
    for (name, method) in METHODS {
        let limit = || Options::default().tolerance(1e-9).max_iterations(3000);
        let plain = method(&a, &b, limit()).unwrap();
        let fast = method(&a, &b, limit().preconditioner(&p)).unwrap();
        assert!(fast.report.is_converged(), "{name}: {}", fast.report);
        assert!(2 * fast.report.iterations < plain.report.iterations, "{name}: {} and {}", fast.report, plain.report);
        close(&fast.x, &eliminate(&a, &b), 1e-4);
    }
}

#[test]
fn reports_say_why() {
    let a = laplacian(8, Layout::Csr);
    let b = right(&[64], DType::F64, 5);
    for (name, method) in METHODS {
        let few = method(&a, &b, Options::default().max_iterations(3)).unwrap();
        assert_eq!(
            (few.report.stop, few.report.iterations, few.report.history.len()),
            (Stop::MaxIterations, 3, 3),
            "{name}"
        );
        assert!(few.report.residuals[0] > 1e-10);
        let e = few.clone().converged().unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::NotConverged { .. }), "{e}");
        assert!(e.to_string().starts_with(&format!("{name}: reached the limit of iterations after 3")), "{e}");
        // It goes on from there.
        let rest = method(&a, &b, Options::default().start(&few.x)).unwrap();
        assert!(rest.report.is_converged(), "{name}: {}", rest.report);
        let none = method(&a, &b, Options::default().max_iterations(0)).unwrap();
        assert_eq!((none.report.stop, none.report.residuals[0]), (Stop::MaxIterations, 1.0));
        let at_once = method(&a, &b, Options::default().start(&rest.x)).unwrap();
        assert_eq!((at_once.report.stop, at_once.report.iterations), (Stop::Converged, 0), "{name}");

        let mut calls = 0;
        let stopped = method(
            &a,
            &b,
            Options::default().callback(|step| {
                calls += 1;
                assert_eq!(step.iteration, calls);
                if calls == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }),
        );
        assert_eq!(stopped.unwrap().report.stop, Stop::Callback, "{name}");
        assert_eq!(calls, 2);

        let nan = method(&a, &b.mul(f64::NAN).unwrap(), Options::default()).unwrap();
        assert_eq!(nan.report.stop, Stop::NanResidual, "{name}");
        let spoiled = linalg::from_fn([64, 64], DType::F64, |x| a.matmul(x)?.mul(f64::NAN));
        assert_eq!(method(&spoiled, &b, Options::default()).unwrap().report.stop, Stop::NanResidual, "{name}");

        // float32 cannot reach this.
        let single =
            method(&a.cast(DType::F32).unwrap(), &b.cast(DType::F32).unwrap(), Options::default().tolerance(1e-14));
        let report = single.unwrap().report;
        assert!(matches!(report.stop, Stop::Stagnation | Stop::MaxIterations | Stop::Breakdown), "{name}: {report}");
        assert!(report.residuals[0] < 1e-5 && report.iterations <= 640, "{name}: {report}");

        let zero = method(&a, &b.mul(0.0).unwrap(), Options::default()).unwrap();
        assert!(zero.report.is_converged() && zero.report.iterations == 0);
        let empty = Tensor::full([0, 0], 0.0, Layout::Csr).unwrap();
        let nothing = method(&empty, &Tensor::from_vec([0], Vec::<f64>::new()).unwrap(), Options::default()).unwrap();
        assert!(nothing.report.is_converged() && nothing.x.shape() == [0]);
    }
}

#[test]
fn what_is_not_definite_or_is_singular_breaks_down() {
    let indefinite = tensor![[1.0, 0.0], [0.0, -1.0]; Layout::Csr, 0.0].unwrap();
    let report = linalg::cg(&indefinite, &tensor![1.0, 1.0], Options::default()).unwrap().report;
    assert_eq!(report.stop, Stop::Breakdown);
    // No solution: the second row is zero.
    let singular = tensor![[1.0, 0.0], [0.0, 0.0]; Layout::Csr, 0.0].unwrap();
    for (name, method) in METHODS {
        let report = method(&singular, &tensor![1.0, 1.0], Options::default()).unwrap().report;
        assert!(!report.is_converged() && report.residuals[0] > 0.5 && report.iterations <= 20, "{name}: {report}");
    }
    // A solution all the same.
    let report = linalg::gmres(&singular, &tensor![2.0, 0.0], Options::default()).unwrap();
    assert_eq!(report.converged().unwrap().to_vec::<f64>().unwrap(), [2.0, 0.0]);
}

#[test]
fn gmres_starts_anew() {
    let a = dominant(60, DType::F64, false, 9);
    let b = right(&[60, 2], DType::F64, 6);
    let short = linalg::gmres(&a, &b, Options::default().restart(4).tolerance(1e-11)).unwrap();
    assert!(short.report.is_converged(), "{}", short.report);
    assert!(short.report.iterations > 4);
    close(&short.x, &eliminate(&a, &b), 1e-9);
}

#[test]
fn operators_are_put_together() {
    let a = dominant(30, DType::Complex128, false, 10);
    let b = right(&[30], DType::Complex128, 7);
    let normal = linalg::product(linalg::adjoint(&a), &a).unwrap();
    let right_side = Operator::apply_adjoint(&a, &b).unwrap();
    let x = linalg::cg(&normal, &right_side, Options::default().tolerance(1e-13)).unwrap().converged().unwrap();
    close(&x, &eliminate(&a, &b), 1e-9);

    // A fill that varies: ones taken off every row, beside a function.
    let mean = tensor![[0.5, 0.25, 0.125]];
    let s = tensor![[4.0, 0.0, 1.0], [0.0, 5.0, 0.0], [1.0, 0.0, 6.0]; Layout::Csr, 0.0].unwrap();
    let centred = (&s - &mean).unwrap();
    assert!(!centred.is_strided());
    let calls = Cell::new(0);
    let plus = linalg::from_fn([3, 3], DType::F64, |x| {
        calls.set(calls.get() + 1);
        x.mul(1.0)
    });
    let all = linalg::sum(&centred, &plus).unwrap();
    let solution = linalg::gmres(&all, &tensor![1.0, 2.0, 3.0], Options::default()).unwrap();
    assert_eq!(solution.report.products, calls.get());
    let dense = (centred.to_dense().unwrap() + Tensor::eye(3, DType::F64, Layout::Strided).unwrap()).unwrap();
    close(&solution.converged().unwrap(), &eliminate(&dense, &tensor![1.0, 2.0, 3.0]), 1e-10);
    let same = linalg::shifted(&centred, 1.0).unwrap();
    let x = linalg::bicgstab(&same, &tensor![1.0, 2.0, 3.0], Options::default()).unwrap().converged().unwrap();
    close(&x, &eliminate(&dense, &tensor![1.0, 2.0, 3.0]), 1e-8);
}

/// Matrices whose fill is a number, a row or a column are made ready: the same operator, in two parts.
#[test]
fn fills_are_taken_apart() {
    for (dtype, off) in [(DType::F64, 1e-13), (DType::F32, 1e-5), (DType::Complex128, 1e-13), (DType::Complex64, 1e-5)]
    {
        let a = dominant(30, dtype, false, 51);
        let (row, column) = (right(&[1, 30], dtype, 52), right(&[30, 1], dtype, 53));
        let filled = [(&a + 0.25).unwrap(), (&a + &row).unwrap(), (&a - &column).unwrap()];
        for x in [right(&[30], dtype, 54), right(&[30, 3], dtype, 55)] {
            for f in &filled {
                let ready = f.ready().unwrap().expect("made ready");
                let t = f.matrix_transpose().unwrap().to_dense().unwrap();
                let adjoint = if dtype.is_complex() { t.conj().unwrap() } else { t };
                for (got, wanted) in [
                    (ready.apply(&x).unwrap(), f.to_dense().unwrap().matmul(&x).unwrap()),
                    (ready.apply_adjoint(&x).unwrap(), adjoint.matmul(&x).unwrap()),
                ] {
                    assert_eq!((got.dtype(), got.shape()), (dtype, wanted.shape()));
                    close(&got, &wanted.cast(DType::Complex128).unwrap().to_vec::<c128>().unwrap(), off);
                }
                let b = f.matmul(&x).unwrap();
                let solution = linalg::gmres(f, &b, Options::default()).unwrap().converged().unwrap();
                close(&solution, &x.cast(DType::Complex128).unwrap().to_vec::<c128>().unwrap(), off * 1e5);
            }
        }
        assert!(a.ready().unwrap().is_none() && a.to_dense().unwrap().ready().unwrap().is_none());
        assert!((&filled[1] + &column).unwrap().ready().unwrap().is_none(), "varies along both axes");
        assert!((&a + f64::INFINITY).unwrap().ready().unwrap().is_none());
    }
}

#[test]
fn wrong_arguments_are_named() {
    let a = laplacian(3, Layout::Csr);
    let b = right(&[9], DType::F64, 8);
    let says = |e: openwork::Error, words: &[&str]| {
        let text = e.to_string();
        assert!(words.iter().all(|w| text.contains(w)), "{text}");
    };
    let solve = |a: &dyn Operator, b: &Tensor| linalg::cg(a, b, Options::default()).unwrap_err();
    says(solve(&a.narrow(0..4, 0).unwrap(), &b), &["cg: ", "[4, 9]", "square"]);
    says(solve(&a, &b.narrow(0..4, 0).unwrap()), &["cg: ", "[4]", "(9)"]);
    says(solve(&tensor![1.0, 2.0], &b), &["cg: "]);
    let lacking = tensor![[1.0, 0.0], [0.0, 0.0]; Layout::Csr, 0.0].unwrap().prune().unwrap().stored();
    says(solve(&lacking, &tensor![1.0, 2.0]), &["cg: ", "undefined", "replace_fill"]);
    says(solve(&a, &b.to_sparse(Layout::Coo, Fill::Undefined).unwrap().slice_first_absent()), &["cg: "]);
    let short = linalg::from_fn([9, 9], DType::F64, |x| x.narrow(0..3, 0));
    says(solve(&short, &b), &["cg: ", "[3]", "[9]"]);
    let complex = linalg::from_fn([9, 9], DType::F64, |x| x.cast(DType::Complex128));
    says(solve(&complex, &b), &["complex128", "says that its dtype is float64"]);
    let with = |options: Options<'_>| linalg::cg(&a, &b, options).unwrap_err();
    says(with(Options::default().tolerance(-1.0)), &["tolerance", "-1"]);
    says(with(Options::default().absolute_tolerance(f64::NAN)), &["absolute_tolerance", "NaN"]);
    says(with(Options::default().restart(5)), &["restart"]);
    says(with(Options::default().start(&tensor![1.0])), &["start", "[1]"]);
    says(with(Options::default().preconditioner(&tensor![[1.0]])), &["preconditioner", "[1, 1]"]);
    says(linalg::gmres(&a, &b, Options::default().restart(0)).unwrap_err(), &["gmres: ", "restart"]);
    says(linalg::product(&a, tensor![[1.0]]).err().unwrap(), &["product: ", "[9, 9]", "[1, 1]"]);
    says(linalg::sum(&a, tensor![[1.0]]).err().unwrap(), &["sum: "]);
    says(linalg::jacobi(&tensor![[1.0, 2.0], [3.0, 0.0]]).err().unwrap(), &["jacobi: ", "element 1", "0"]);
    let function = linalg::from_fn([9, 9], DType::F64, |x| Ok(x.clone()));
    says(function.apply_adjoint(&b).unwrap_err(), &["with_adjoint"]);
}

trait Lacking {
    fn slice_first_absent(&self) -> Tensor;
}

impl Lacking for Tensor {
    /// The same without its first element.
    fn slice_first_absent(&self) -> Tensor {
        self.unset(openwork::s![0]).unwrap()
    }
}

#[test]
fn bits_do_not_depend_on_threads() {
    let a = laplacian(190, Layout::Csr);
    let b = right(&[190 * 190, 2], DType::F64, 9);
    let triangle = a.tril(0).unwrap();
    let many = right(&[190 * 190, 20], DType::F64, 10);
    let run = || {
        let mut out: Vec<Vec<f64>> = METHODS
            .iter()
            .map(|(_, method)| method(&a, &b, Options::default().max_iterations(12)).unwrap().x.to_vec().unwrap())
            .collect();
        out.push(linalg::solve_triangular(&triangle, &many, Triangular::lower()).unwrap().to_vec().unwrap());
        out
    };
    let one = openwork::parallel::with_threads(1, run).unwrap();
    for threads in [2, 5] {
        let more = openwork::parallel::with_threads(threads, run).unwrap();
        assert!(one.iter().flatten().map(|v| v.to_bits()).eq(more.iter().flatten().map(|v| v.to_bits())), "{threads}");
    }
}

#[test]
fn triangles() {
    for dtype in [DType::F64, DType::F32, DType::Complex128, DType::Complex64] {
        let a = dominant(24, dtype, false, 11);
        for shape in [vec![24], vec![24, 3], vec![24, 8], vec![24, 19]] {
            let b = right(&shape, dtype, 12);
            let off = if dtype.real() == DType::F32 { 1e-5 } else { 1e-12 };
            for layout in LAYOUTS {
                let stored = if layout == Layout::Strided { a.to_dense() } else { a.to_layout(layout) }.unwrap();
                for (options, upper) in [(Triangular::lower(), false), (Triangular::upper(), true)] {
                    let triangle = if upper { a.triu(0) } else { a.tril(0) }.unwrap();
                    let t = triangle.matrix_transpose().unwrap();
                    let adjoint = if dtype.is_complex() { t.conj().unwrap() } else { t.clone() };
                    let strict = if upper { a.triu(1) } else { a.tril(-1) }.unwrap();
                    let unit =
                        (strict.to_dense().unwrap() + Tensor::eye(24, DType::F64, Layout::Strided).unwrap()).unwrap();
                    for (options, matrix) in [
                        (options, &triangle),
                        (options.transpose(), &t),
                        (options.adjoint(), &adjoint),
                        (options.unit_diagonal(), &unit),
                    ] {
                        let x = linalg::solve_triangular(&stored, &b, options).unwrap();
                        assert_eq!((x.dtype(), x.shape()), (dtype, b.shape()));
                        close(&x, &eliminate(matrix, &b), off);
                    }
                }
            }
        }
    }
}

#[test]
fn triangles_of_other_fills_and_duplicates() {
    let b = tensor![2.0, 3.0];
    let ones = tensor![[4.0, 1.0], [1.0, 2.0]; Layout::Coo, 1.0].unwrap();
    let x = linalg::solve_triangular(&ones, &b, Triangular::lower()).unwrap();
    assert_eq!(x.to_vec::<f64>().unwrap(), [0.5, 1.25]);
    let e = openwork::with_densify_budget(0, || linalg::solve_triangular(&ones, &b, Triangular::lower())).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Densify { .. }), "{e}");
    let twice = Tensor::from_triplets([2, 2], vec![0u64, 1, 0, 1], vec![0u64, 1, 0, 0], vec![1.0, 2.0, 1.0, 1.0], 0.0);
    let x = linalg::solve_triangular(&twice.unwrap(), &b, Triangular::lower()).unwrap();
    assert_eq!(x.to_vec::<f64>().unwrap(), [1.0, 1.0]);
}

#[test]
fn a_diagonal_that_is_zero_is_named() {
    let missing = tensor![[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [1.0, 1.0, 0.0]; Layout::Csr, 0.0].unwrap();
    for n in [1, 20] {
        let b = right(&[3, n], DType::F64, 13);
        let e = linalg::solve_triangular(&missing, &b, Triangular::lower()).unwrap_err();
        assert!(matches!(e.kind(), ErrorKind::Singular { at: 2, .. }), "{e}");
        let wanted = "solve_triangular: the matrix is singular: the diagonal element of row 2 is not stored, and 0";
        assert_eq!(e.to_string(), wanted);
    }
    let b = tensor![1.0, 2.0, 3.0];
    assert!(linalg::solve_triangular(&missing, &b, Triangular::lower().unit_diagonal()).is_ok());
    let e = linalg::solve_triangular(&missing.stored(), &b, Triangular::lower()).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Absent { .. }), "{e}");
    let e = linalg::solve_triangular(&missing.narrow(0..2, 0).unwrap(), &b, Triangular::lower()).unwrap_err();
    assert!(matches!(e.kind(), ErrorKind::Shape { .. }), "{e}");
}
