//! Solvers that need no factorisation.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use openwork::ErrorKind;
use openwork::linalg::{self, Operator, Options, Triangular};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::tensor;
use crate::context::run;
use crate::factors::Factored;
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

/// What is near the inverse of a matrix and cheap: a matrix, factors that are solved with, or a function of a tensor.
enum Near<'a> {
    Matrix(Cow<'a, openwork::Tensor>),
    Factors(linalg::Factored),
    Function(&'a Py<PyAny>),
}

impl<'a> Near<'a> {
    fn of(object: &'a Bound<'_, PyAny>) -> PyResult<Near<'a>> {
        match object.cast::<Factored>() {
            Ok(factors) => Ok(Near::Factors(factors.get().inner().clone())),
            Err(_) if object.is_callable() => Ok(Near::Function(object.as_unbound())),
            Err(_) => tensor(object).map(Near::Matrix),
        }
    }
}

/// Keeps what Python raised for when the method has ended, which the library is told to do.
fn ended(raised: &Mutex<Option<PyErr>>, error: PyErr) -> openwork::Error {
    raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    ErrorKind::Interrupted { op: "solve" }.into()
}

/// Solves `a x = b` by `cg`, `bicgstab` or `gmres`; gives the solution, whether it converged, iterations, residuals, a line.
#[pyfunction]
#[pyo3(signature = (method, a, b, tolerance, max_iterations, start, preconditioner, callback))]
#[allow(clippy::too_many_arguments)]
pub fn solve_iteratively(
    py: Python<'_>,
    method: &str,
    a: &Bound<'_, PyAny>,
    b: &Bound<'_, PyAny>,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
    start: Option<Bound<'_, PyAny>>,
    preconditioner: Option<Bound<'_, PyAny>>,
    callback: Option<Py<PyAny>>,
) -> PyResult<(Tensor, bool, usize, Vec<f64>, String)> {
    let (a, b) = (tensor(a)?, tensor(b)?);
    let start = match &start {
        Some(x) => Some(tensor(x)?),
        None => None,
    };
    let near = preconditioner.as_ref().map(Near::of).transpose()?;
    let solve = match method {
        "cg" => linalg::cg,
        "bicgstab" => linalg::bicgstab,
        "gmres" => linalg::gmres,
        other => return Err(PyValueError::new_err(format!("no method is called {other:?}"))),
    };
    let raised = Mutex::new(None);
    let solution = run(py, || {
        let called = |x: &openwork::Tensor, f: &Py<PyAny>| {
            Python::attach(|py| {
                let y = f.bind(py).call1((Tensor::from(x.clone()),))?;
                tensor(&y).map(Cow::into_owned)
            })
            .map_err(|e| ended(&raised, e))
        };
        let multiplies: Option<Box<dyn Operator + '_>> = match &near {
            None => None,
            Some(Near::Matrix(x)) => Some(Box::new(x.as_ref())),
            Some(Near::Factors(factors)) => Some(Box::new(factors)),
            Some(Near::Function(f)) => {
                Some(Box::new(linalg::from_fn(Operator::shape(a.as_ref()), a.dtype(), |x| called(x, f))))
            }
        };
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
        if let Some(near) = &multiplies {
            options = options.preconditioner(near.as_ref());
        }
        if let Some(callback) = &callback {
            options = options.callback(|step| {
                let asked = Python::attach(|py| {
                    callback.bind(py).call1((step.iteration, step.residuals.to_vec()))?.is_truthy()
                });
                match asked.map_err(|e| ended(&raised, e)) {
                    Ok(false) => ControlFlow::Continue(()),
                    Ok(true) | Err(_) => ControlFlow::Break(()),
                }
            });
        }
        solve(a.as_ref(), b.as_ref(), options)
    });
    if let Some(error) = raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let linalg::Solution { x, report, .. } = solution?;
    let line = report.to_string();
    Ok((x.into(), report.is_converged(), report.iterations, report.residuals, line))
}
