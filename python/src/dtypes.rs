//! Element types: NumPy's objects for all but `bfloat16`, which NumPy has not.

use openwork::DType;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;

static OBJECTS: PyOnceLock<Vec<Py<PyAny>>> = PyOnceLock::new();
static PARSE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Tells the object for each dtype by name, and the function that gives the name of whatever else stands for one.
#[pyfunction]
pub fn set_dtypes(py: Python<'_>, objects: &Bound<'_, PyDict>, parse: Py<PyAny>) -> PyResult<()> {
    let mut all = Vec::new();
    for dtype in DType::ALL {
        let object = objects.get_item(dtype.name())?;
        all.push(object.ok_or_else(|| PyTypeError::new_err(format!("{dtype} has no object")))?.unbind());
    }
    let _ = OBJECTS.set(py, all);
    let _ = PARSE.set(py, parse);
    Ok(())
}

/// The Python object of a dtype.
pub fn object<'py>(py: Python<'py>, dtype: DType) -> PyResult<Bound<'py, PyAny>> {
    let object = OBJECTS.get(py).and_then(|all| all.get(dtype as usize));
    object.map(|o| o.bind(py).clone()).ok_or_else(|| PyTypeError::new_err("import openwork, not openwork._core"))
}

/// The dtype that an object stands for: one of ours, a name, NumPy's dtype or scalar class, Python's `float`, …
pub fn dtype(object: &Bound<'_, PyAny>) -> PyResult<DType> {
    let py = object.py();
    if let Some(all) = OBJECTS.get(py)
        && let Some(at) = all.iter().position(|o| o.is(object))
    {
        return Ok(DType::ALL[at]);
    }
    let Some(parse) = PARSE.get(py) else { return Err(PyTypeError::new_err("import openwork, not openwork._core")) };
    let name: String = parse.bind(py).call1((object,))?.extract()?;
    name.parse().map_err(|e: <DType as std::str::FromStr>::Err| PyTypeError::new_err(e.to_string()))
}

/// The dtype to which two are promoted.
#[pyfunction]
pub fn promote<'py>(a: &Bound<'py, PyAny>, b: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (a, b, py) = (dtype(a)?, dtype(b)?, a.py());
    let none = || PyTypeError::new_err(format!("no dtype holds both {a} and {b}: cast one of them"));
    object(py, openwork::promote(a, b).ok_or_else(none)?)
}
