//! Solvers that need no factorisation.

use openwork::linalg::{self, Options, Triangular};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::tensor;
use crate::context::run;
use crate::tensor::Tensor;

/// Solves `a x = b` where `a` is a triangle.
#[pyfunction]
pub fn solve_triangular(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    upper: bool,
    unit_diagonal: bool,
    transpose: &str,
) -> PyResult<Tensor> {
    let (a, b) = (tensor(a)?, tensor(b)?);
    let triangle = if upper { Triangular::upper() } else { Triangular::lower() };
    let triangle = if unit_diagonal { triangle.unit_diagonal() } else { triangle };
    let triangle = match transpose {
        "N" => triangle,
        "T" => triangle.transpose(),
        "C" => triangle.adjoint(),
        other => return Err(PyValueError::new_err(format!("transpose is N, T or C, not {other:?}"))),
    };
    Ok(run(py, || linalg::solve_triangular(&a, &b, triangle))?.into())
}

/// Solves `a x = b` by `cg`, `bicgstab` or `gmres`; gives the solution, whether it converged, iterations, residuals, a line.
#[pyfunction]
#[pyo3(signature = (method, a, b, tolerance, max_iterations, start))]
pub fn solve_iteratively(
    py: Python<'_>,
    method: &str,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
    start: Option<Bound<'_, PyAny>>,
) -> PyResult<(Tensor, bool, usize, Vec<f64>, String)> {
    let (a, b) = (tensor(a)?, tensor(b)?);
    let start = match &start {
        Some(x) => Some(tensor(x)?),
        None => None,
    };
    let solve = match method {
        "cg" => linalg::cg,
        "bicgstab" => linalg::bicgstab,
        "gmres" => linalg::gmres,
        other => return Err(PyValueError::new_err(format!("no method is called {other:?}"))),
    };
    let solution = run(py, || {
        let mut options = Options::default();
        if let Some(tolerance) = tolerance {
            options = options.tolerance(tolerance);
        }
        if let Some(most) = max_iterations {
            options = options.max_iterations(most);
        }
        if let Some(start) = &start {
            options = options.start(start);
        }
        solve(a.as_ref(), b.as_ref(), options)
    })?;
    let report = solution.report;
    let line = report.to_string();
    Ok((solution.x.into(), report.is_converged(), report.iterations, report.residuals, line))
}
