//! Constructors.

use openwork::exchange::binsparse::Constituents;
use openwork::{IndexArray, Number};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::arguments::{self, Args, Sizes, fill, layout, tensor};
use crate::context::run;
use crate::results::Give;
use crate::{capsule, dtypes};

type Object<'py> = Bound<'py, PyAny>;

fn sizes(object: &Object<'_>) -> PyResult<Vec<usize>> {
    let one = [object.clone()];
    Ok(Sizes::take(&mut Args::new(&one))?.pass())
}

/// Any layout, of one value.
#[pyfunction]
pub fn full(
    py: Python<'_>,
    shape: &Object<'_>,
    value: &Object<'_>,
    dtype: &Object<'_>,
    layout: &Object<'_>,
) -> PyResult<Py<PyAny>> {
    let (shape, layout) = (sizes(shape)?, arguments::layout(layout)?);
    let value = arguments::scalar(value)?;
    let value = match dtype.is_none() {
        true => value,
        false => {
            let dtype = dtypes::dtype(dtype)?;
            value.fit(dtype).map_err(|e| PyValueError::new_err(format!("full: {e}")))?
        }
    };
    run(py, || openwork::Tensor::full(&shape, value, layout))?.give(py)
}

/// A sparse tensor that stores nothing.
#[pyfunction]
pub fn empty(
    py: Python<'_>,
    shape: &Object<'_>,
    dtype: &Object<'_>,
    layout: &Object<'_>,
    fill: &Object<'_>,
) -> PyResult<Py<PyAny>> {
    let (shape, dtype, layout) = (sizes(shape)?, dtypes::dtype(dtype)?, arguments::layout(layout)?);
    let fill = arguments::fill(fill)?;
    run(py, || openwork::Tensor::empty(&shape, dtype, layout, fill))?.give(py)
}

/// A tensor of no axes; without a dtype a Python number has that of NumPy.
#[pyfunction]
pub fn scalar(py: Python<'_>, value: &Object<'_>, dtype: &Object<'_>) -> PyResult<Py<PyAny>> {
    let value = arguments::scalar(value)?;
    let value = match dtype.is_none() {
        true => value,
        false => value.fit(dtypes::dtype(dtype)?).map_err(|e| PyValueError::new_err(e.to_string()))?,
    };
    openwork::Tensor::scalar(value).give(py)
}

/// COO from an index array for each sparse axis, and values.
#[pyfunction]
pub fn coo(
    py: Python<'_>,
    shape: &Object<'_>,
    indices: Vec<Object<'_>>,
    values: &Object<'_>,
    fill_value: &Object<'_>,
) -> PyResult<Py<PyAny>> {
    let (shape, values, fill) = (sizes(shape)?, tensor(values)?, fill(fill_value)?);
    let indices = indices.iter().map(|i| index_array(i)).collect::<PyResult<Vec<_>>>()?;
    run(py, || openwork::Tensor::coo(&shape, indices, &values, fill))?.give(py)
}

fn index_array(object: &Object<'_>) -> PyResult<IndexArray> {
    let x = tensor(object)?;
    if !x.dtype().is_int() {
        return Err(PyTypeError::new_err(format!("indices are integers, not {}", x.dtype())));
    }
    Ok(IndexArray::from(x.as_ref()))
}

/// CSR, CSC, BSR or BSC from pointers, indices and values; the indices of a segment in any order if `is_unordered`.
#[pyfunction]
#[pyo3(signature = (kind, shape, pointers, indices, values, fill_value, is_unordered))]
#[allow(clippy::too_many_arguments)] // the arrays of a layout
pub fn compressed(
    py: Python<'_>,
    kind: &str,
    shape: &Object<'_>,
    pointers: &Object<'_>,
    indices: &Object<'_>,
    values: &Object<'_>,
    fill_value: &Object<'_>,
    is_unordered: bool,
) -> PyResult<Py<PyAny>> {
    use openwork::Tensor;
    let (shape, values, fill) = (sizes(shape)?, tensor(values)?, fill(fill_value)?);
    let (pointers, indices) = (index_array(pointers)?, index_array(indices)?);
    let out = run(py, || match (kind, is_unordered) {
        ("csr", false) => Tensor::csr(&shape, pointers, indices, &values, fill),
        ("csr", true) => Tensor::csr_unordered(&shape, pointers, indices, &values, fill),
        ("csc", false) => Tensor::csc(&shape, pointers, indices, &values, fill),
        ("csc", true) => Tensor::csc_unordered(&shape, pointers, indices, &values, fill),
        ("bsr", _) => Tensor::bsr(&shape, pointers, indices, &values, fill),
        _ => Tensor::bsc(&shape, pointers, indices, &values, fill),
    });
    out?.give(py)
}

/// The identity matrix.
#[pyfunction]
pub fn eye(py: Python<'_>, n: usize, dtype: &Object<'_>, layout: &Object<'_>) -> PyResult<Py<PyAny>> {
    let (dtype, layout) = (dtypes::dtype(dtype)?, arguments::layout(layout)?);
    run(py, || openwork::Tensor::eye(n, dtype, layout))?.give(py)
}

/// A matrix with the given diagonals.
#[pyfunction]
pub fn from_diagonals(
    py: Python<'_>,
    shape: [usize; 2],
    diagonals: &Object<'_>,
    offsets: Vec<isize>,
    fill_value: &Object<'_>,
) -> PyResult<Py<PyAny>> {
    let (diagonals, fill) = (tensor(diagonals)?, fill(fill_value)?);
    run(py, || openwork::Tensor::from_diagonals(shape, &diagonals, &offsets, fill))?.give(py)
}

/// `start, start + step, …` before `stop`.
#[pyfunction]
pub fn arange(py: Python<'_>, start: &Object<'_>, stop: &Object<'_>, step: &Object<'_>) -> PyResult<Py<PyAny>> {
    let read = |v: &Object<'_>| arguments::scalar(v).map(Number::from);
    let (start, stop, step) = (read(start)?, read(stop)?, read(step)?);
    run(py, || openwork::Tensor::arange(start, stop, step))?.give(py)
}

/// `n` numbers from `start` to `stop`.
#[pyfunction]
pub fn linspace(py: Python<'_>, start: f64, stop: f64, n: usize) -> PyResult<Py<PyAny>> {
    run(py, || openwork::Tensor::linspace(start, stop, n))?.give(py)
}

/// Numbers uniform in [0, 1).
#[pyfunction]
pub fn rand(py: Python<'_>, shape: &Object<'_>, seed: u64) -> PyResult<Py<PyAny>> {
    let shape = sizes(shape)?;
    run(py, || openwork::Tensor::rand(&shape, seed))?.give(py)
}

/// Numbers of the normal distribution.
#[pyfunction]
pub fn randn(py: Python<'_>, shape: &Object<'_>, seed: u64) -> PyResult<Py<PyAny>> {
    let shape = sizes(shape)?;
    run(py, || openwork::Tensor::randn(&shape, seed))?.give(py)
}

/// Numbers at random places.
#[pyfunction]
pub fn random(
    py: Python<'_>,
    shape: &Object<'_>,
    density: f64,
    fill_value: &Object<'_>,
    layout_name: &Object<'_>,
    seed: u64,
) -> PyResult<Py<PyAny>> {
    let (shape, fill, layout) = (sizes(shape)?, fill(fill_value)?, layout(layout_name)?);
    run(py, || openwork::Tensor::random(&shape, density, fill, layout, seed))?.give(py)
}

/// The strided tensor over an array that has `__dlpack__`, sharing its memory.
#[pyfunction]
pub fn from_dlpack(py: Python<'_>, object: &Object<'_>) -> PyResult<Py<PyAny>> {
    capsule::take(object)?.give(py)
}

/// A tensor of a binsparse descriptor, as JSON, and arrays by name.
#[pyfunction]
pub fn from_constituents(py: Python<'_>, descriptor: &str, arrays: Vec<(String, Object<'_>)>) -> PyResult<Py<PyAny>> {
    let descriptor = serde_json::from_str(descriptor).map_err(|e| PyValueError::new_err(e.to_string()))?;
    let mut named = Vec::with_capacity(arrays.len());
    for (name, array) in &arrays {
        named.push((name.clone(), tensor(array)?.into_owned()));
    }
    let parts = Constituents { descriptor, arrays: named };
    run(py, || openwork::Tensor::from_binsparse(&parts))?.give(py)
}
