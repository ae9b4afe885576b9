//! Solvers on public matrices, beside what SciPy 1.17 does with the same matrix, right side (ones) and tolerance (10⁻⁸), and
//! what LAPACK gives for their spectra.

use openwork::io::matrix_market;
use openwork::linalg::{self, Options};
use openwork::{DType, Layout, Tensor};

fn matrix(test: &str, name: &str) -> Option<Tensor> {
    let file = crate::common::folder(test, "matrices")?.join(name);
    let a = matrix_market::read(&file).unwrap().to_layout(Layout::Csr).unwrap();
    Some(a.cast(DType::F64).unwrap())
}

fn ones(n: usize) -> Tensor {
    Tensor::full([n], 1.0, Layout::Strided).unwrap()
}

#[test]
fn stiffness_by_conjugate_gradients() {
    // SciPy's takes 10 and 1508 iterations with Jacobi's preconditioner.
    for (name, most) in [("LFAT5.mtx", 14), ("bcsstk13.mtx", 1700)] {
        let Some(a) = matrix("stiffness_by_conjugate_gradients", name) else { return };
        let p = linalg::jacobi(&a).unwrap();
        let b = ones(a.shape()[0]);
        let solution = linalg::cg(&a, &b, Options::default().tolerance(1e-8).preconditioner(&p)).unwrap();
        assert!(solution.report.is_converged() && solution.report.iterations <= most, "{name}: {}", solution.report);
        let rest = (&b - a.matmul(&solution.x).unwrap()).unwrap();
        let rest: f64 = rest.vector_norm(2.0, ..).unwrap().item_as().unwrap();
        assert!(rest <= 1.01e-8 * (a.shape()[0] as f64).sqrt(), "{name}: {rest}");
    }
}

/// None of SciPy's three methods solves these within 2000 iterations: ours must say so, too, and end.
#[test]
fn what_does_not_converge_is_said() {
    for name in ["cryg2500.mtx", "jagmesh7.mtx", "olm1000.mtx"] {
        let Some(a) = matrix("what_does_not_converge_is_said", name) else { return };
        let p = linalg::jacobi(&a).unwrap();
        let b = ones(a.shape()[0]);
        let options = || Options::default().tolerance(1e-8).max_iterations(300).preconditioner(&p);
        for method in [linalg::cg, linalg::bicgstab, linalg::gmres] {
            let report = method(&a, &b, options()).unwrap().report;
            assert!(!report.is_converged() && report.iterations <= 300, "{name}: {report}");
            assert!(report.residuals[0] > 1e-8, "{name}: {report}");
        }
    }
}

#[cfg(feature = "faer")]
mod factored {
    use super::{matrix, ones};
    use openwork::linalg::{self, Options, Which};
    use openwork::{Tensor, keep};

    fn near(got: &Tensor, wanted: &[f64], off: f64) {
        let got = got.to_vec::<f64>().unwrap();
        assert!(got.len() == wanted.len() && got.iter().zip(wanted).all(|(g, w)| (g - w).abs() <= off), "{got:?}");
    }

    #[test]
    fn public_matrices_are_factored() {
        for name in ["LFAT5.mtx", "bcsstk13.mtx", "cryg2500.mtx", "jagmesh7.mtx", "olm1000.mtx", "west0067.mtx"] {
            let Some(a) = matrix("public_matrices_are_factored", name) else { return };
            let b = ones(a.shape()[0]);
            let x = linalg::solve(&a, &b).unwrap();
            // Small beside what rounding of the solution alone makes of it.
            let rest: f64 = (&b - a.matmul(&x).unwrap()).unwrap().abs().unwrap().max(..).unwrap().item_as().unwrap();
            let terms: f64 = a.abs().unwrap().matmul(&x.abs().unwrap()).unwrap().max(..).unwrap().item_as().unwrap();
            assert!(rest <= 1e-11 * terms.max(1.0), "{name}: {rest} of {terms}");
        }
        let Some(a) = matrix("public_matrices_are_factored", "bcsstk13.mtx") else { return };
        let b = ones(2003);
        let x = linalg::cholesky(&a).unwrap().solve(&b).unwrap();
        let rest: f64 = (&b - a.matmul(&x).unwrap()).unwrap().vector_norm(2.0, ..).unwrap().item_as().unwrap();
        assert!(rest < 1e-6, "{rest}");
    }

    #[test]
    fn spectra_are_those_of_lapack() {
        let Some(cells) = matrix("spectra_are_those_of_lapack", "single_cell_counts.mtx.gz") else { return };
        let centred = (&cells - cells.mean(keep(0)).unwrap()).unwrap();
        assert!(!centred.is_strided());
        let (_, s, _) = linalg::svds(&centred, 5, Options::default()).unwrap().converged().unwrap();
        let wanted = [303.8023060857828, 108.30104501413057, 60.22766542704495, 57.29422491485101, 54.27563863960454];
        near(&s, &wanted, 1e-8 * 54.0);

        let Some(mesh) = matrix("spectra_are_those_of_lapack", "jagmesh7.mtx") else { return };
        let (top, _) = linalg::eigsh(&mesh, 3, Which::Largest, Options::default()).unwrap().converged().unwrap();
        near(&top, &[6.8239173961873805, 6.834873915106259, 6.844462001778369], 1e-9);
        let (low, _) = linalg::eigsh(&mesh, 2, Which::Smallest, Options::default()).unwrap().converged().unwrap();
        near(&low, &[-1.9280781957782254, -1.9209286860674655], 1e-9);

        // The least of a stiffness matrix, whose greatest is 10¹⁰ times as large, by its inverse.
        let Some(beam) = matrix("spectra_are_those_of_lapack", "bcsstk13.mtx") else { return };
        let inverse = linalg::cholesky(&beam).unwrap();
        let (inverted, _) =
            linalg::eigsh(&inverse, 3, Which::Largest, Options::default()).unwrap().converged().unwrap();
        let least = inverted.reciprocal().unwrap().flip(0).unwrap();
        near(&least, &[284.33281265453473, 406.10084601605115, 419.4460517043807], 1e-3);
    }
}
