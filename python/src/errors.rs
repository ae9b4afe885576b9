//! The library's errors as Python's, with the same words.

use std::cell::RefCell;

use openwork::{Error, ErrorKind};
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

static AXIS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static LINALG: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static DENSIFY: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// Tells the classes that are defined in Python: an axis out of range, matrices that cannot be solved with, a result over
/// the densify budget.
#[pyfunction]
pub fn set_exceptions(py: Python<'_>, axis: Py<PyType>, linalg: Py<PyType>, densify: Py<PyType>) {
    let _ = AXIS.set(py, axis);
    let _ = LINALG.set(py, linalg);
    let _ = DENSIFY.set(py, densify);
}

fn of(py: Python<'_>, class: &PyOnceLock<Py<PyType>>, text: String) -> PyErr {
    match class.get(py) {
        Some(class) => PyErr::from_type(class.bind(py).clone(), text),
        None => PyValueError::new_err(text),
    }
}

thread_local! {
    /// What a handler of signals raised while an op ran.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps what a handler of signals raised, until the op that it ends has ended.
pub fn raised(error: PyErr) {
    RAISED.set(Some(error));
}

/// The Python error for an error of the library.
pub fn error(py: Python<'_>, error: &Error) -> PyErr {
    let text = error.to_string();
    match error.kind() {
        ErrorKind::Interrupted { .. } => RAISED.take().unwrap_or_else(|| PyKeyboardInterrupt::new_err(text)),
        ErrorKind::DType { .. } => PyTypeError::new_err(text),
        ErrorKind::Axis { .. } => of(py, &AXIS, text),
        ErrorKind::Densify { .. } => of(py, &DENSIFY, text),
        ErrorKind::Memory { .. } => PyMemoryError::new_err(text),
        ErrorKind::Singular { .. } | ErrorKind::NotConverged { .. } => of(py, &LINALG, text),
        ErrorKind::Io { source, path } => match source.raw_os_error() {
            // Two arguments, so that Python picks FileNotFoundError and its like.
            Some(number) => {
                let words = source.to_string();
                let words = words.split(" (os error").next().unwrap_or_default().to_string();
                PyOSError::new_err((number, words, path.display().to_string()))
            }
            None => PyOSError::new_err(text),
        },
        _ => PyValueError::new_err(text),
    }
}

/// Unwraps a result of the library.
pub fn checked<R>(py: Python<'_>, result: openwork::Result<R>) -> PyResult<R> {
    result.map_err(|e| error(py, &e))
}
