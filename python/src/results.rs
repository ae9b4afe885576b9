//! What ops give, as Python objects.

use openwork::{Scalar, Unique, UniqueCounts, UniqueInverse};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyComplex, PyTuple};

use crate::tensor::Tensor;

/// The result of an op.
pub trait Give {
    /// As a Python object.
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>>;
}

impl Give for openwork::Tensor {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Tensor::from(self))?.into_any())
    }
}

impl Give for bool {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.into_py_any(py)
    }
}

impl Give for u128 {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        // The stable interface of Python before 3.14 has no conversion of 128 bits.
        match u64::try_from(self) {
            Ok(small) => small.into_py_any(py),
            Err(_) => Ok(py.get_type::<pyo3::types::PyInt>().call1((self.to_string(),))?.unbind()),
        }
    }
}

impl Give for Scalar {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self {
            Scalar::Bool(v) => v.into_py_any(py),
            Scalar::Complex64(v) => PyComplex::from_doubles(py, v.re.into(), v.im.into()).into_py_any(py),
            Scalar::Complex128(v) => PyComplex::from_doubles(py, v.re, v.im).into_py_any(py),
            v if v.dtype().is_float() => v.to::<f64>().into_py_any(py),
            v if v.dtype().is_unsigned() => v.to::<u64>().into_py_any(py),
            v => v.to::<i64>().into_py_any(py),
        }
    }
}

impl Give for Option<Scalar> {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.map_or_else(|| Ok(py.None()), |v| v.give(py))
    }
}

impl Give for Vec<openwork::Tensor> {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let all = self.into_iter().map(|x| x.give(py)).collect::<PyResult<Vec<_>>>()?;
        Ok(PyTuple::new(py, all)?.into_any().unbind())
    }
}

impl Give for (openwork::Tensor, openwork::Tensor) {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        vec![self.0, self.1].give(py)
    }
}

impl Give for (openwork::Tensor, Vec<isize>) {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        (self.0.give(py)?, self.1).into_py_any(py)
    }
}

impl Give for Unique {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        vec![self.values, self.indices, self.inverse, self.counts].give(py)
    }
}

impl Give for UniqueCounts {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        vec![self.values, self.counts].give(py)
    }
}

impl Give for UniqueInverse {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        vec![self.values, self.inverse].give(py)
    }
}
