//! Factorisations and spectra, by the library's feature `faer`.

use openwork::linalg::{self, Options, Which};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::arguments::tensor;
use crate::context::run;
use crate::tensor::Tensor;

/// A matrix in factors, to solve with.
#[pyclass(frozen, module = "openwork._core")]
pub struct Factored {
    inner: linalg::Factored,
}

impl Factored {
    /// The library's.
    pub fn inner(&self) -> &linalg::Factored {
        &self.inner
    }
}

#[pymethods]
impl Factored {
    fn solve(&self, py: Python<'_>, b: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let b = tensor(b)?;
        Ok(run(py, || self.inner.solve(&b))?.into())
    }

    fn solve_adjoint(&self, py: Python<'_>, b: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        let b = tensor(b)?;
        Ok(run(py, || self.inner.solve_adjoint(&b))?.into())
    }

    fn __repr__(&self) -> String {
        format!("{:?}", self.inner)
    }
}

/// Factors of a matrix: `cholesky`, `lu` or `least_squares`.
#[pyfunction]
pub fn factorize(py: Python<'_>, a: &Bound<'_, PyAny>, method: &str) -> PyResult<Factored> {
    let a = tensor(a)?;
    let make = match method {
        "cholesky" => linalg::cholesky,
        "lu" => linalg::lu,
        "least_squares" => linalg::least_squares,
        other => return Err(PyValueError::new_err(format!("no factorisation is called {other:?}"))),
    };
    Ok(Factored { inner: run(py, || make(&a))? })
}

/// `x` of `a x = b`, also of stacks of matrices.
#[pyfunction]
pub fn solve(py: Python<'_>, a: &Bound<'_, PyAny>, b: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let (a, b) = (tensor(a)?, tensor(b)?);
    Ok(run(py, || linalg::solve(&a, &b))?.into())
}

/// Orthonormal columns and an upper triangle.
#[pyfunction]
pub fn qr(py: Python<'_>, a: &Bound<'_, PyAny>) -> PyResult<(Tensor, Tensor)> {
    let a = tensor(a)?;
    let out = run(py, || linalg::qr(&a))?;
    Ok((out.q.into(), out.r.into()))
}

/// Eigenvalues and eigenvectors of Hermitian matrices.
#[pyfunction]
pub fn eigh(py: Python<'_>, a: &Bound<'_, PyAny>) -> PyResult<(Tensor, Tensor)> {
    let a = tensor(a)?;
    let out = run(py, || linalg::eigh(&a))?;
    Ok((out.values.into(), out.vectors.into()))
}

/// Singular vectors and values: `u`, `s`, `vh`.
#[pyfunction]
pub fn svd(py: Python<'_>, a: &Bound<'_, PyAny>) -> PyResult<(Tensor, Tensor, Tensor)> {
    let a = tensor(a)?;
    let out = run(py, || linalg::svd(&a))?;
    Ok((out.u.into(), out.s.into(), out.vh.into()))
}

fn options<'a>(tolerance: Option<f64>, max_iterations: Option<usize>) -> Options<'a> {
    let mut options = Options::default();
    if let Some(tolerance) = tolerance {
        options = options.tolerance(tolerance);
    }
    if let Some(most) = max_iterations {
        options = options.max_iterations(most);
    }
    options
}

/// `k` eigenvalues and eigenvectors of a Hermitian matrix.
#[pyfunction]
pub fn eigsh(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    k: usize,
    which: &str,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
) -> PyResult<(Tensor, Tensor)> {
    let a = tensor(a)?;
    let which = match which {
        "LA" => Which::Largest,
        "SA" => Which::Smallest,
        "LM" => Which::LargestMagnitude,
        other => return Err(PyValueError::new_err(format!("which is LM, LA or SA, not {other:?}"))),
    };
    let found = run(py, || linalg::eigsh(a.as_ref(), k, which, options(tolerance, max_iterations))?.converged())?;
    Ok((found.0.into(), found.1.into()))
}

/// The `k` greatest singular values and their vectors: `u`, `s`, `vh`.
#[pyfunction]
pub fn svds(
    py: Python<'_>,
    a: &Bound<'_, PyAny>,
    k: usize,
    tolerance: Option<f64>,
    max_iterations: Option<usize>,
) -> PyResult<(Tensor, Tensor, Tensor)> {
    let a = tensor(a)?;
    let (u, s, vh) = run(py, || linalg::svds(a.as_ref(), k, options(tolerance, max_iterations))?.converged())?;
    Ok((u.into(), s.into(), vh.into()))
}
