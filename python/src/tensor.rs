//! The class `Tensor`.

use openwork::{BinaryOp, Fill, UnaryOp};
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};

use crate::context::run;
use crate::errors::checked;
use crate::results::Give;
use crate::{capsule, dtypes, index, operators};

static CONVERT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
static OPERAND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Tells the functions of the package that make tensors of other objects: one that fails with `TypeError`, and one that
/// gives `None` for what is no array.
#[pyfunction]
pub fn set_converters(py: Python<'_>, convert: Py<PyAny>, operand: Py<PyAny>) {
    let _ = CONVERT.set(py, convert);
    let _ = OPERAND.set(py, operand);
}

/// The tensor made of an object that is none.
pub fn convert<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, Tensor>> {
    let py = object.py();
    let Some(convert) = CONVERT.get(py) else {
        return Err(PyTypeError::new_err("import openwork, not openwork._core"));
    };
    Ok(convert.bind(py).call1((object,))?.cast_into::<Tensor>()?)
}

/// A tensor, or the one made of an array of another library; `None` for what is no array.
pub fn convert_operand<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, Tensor>>> {
    let py = object.py();
    if let Ok(x) = object.cast::<Tensor>() {
        return Ok(Some(x.clone()));
    }
    let Some(convert) = OPERAND.get(py) else { return Ok(None) };
    let made = convert.bind(py).call1((object,))?;
    if made.is_none() { Ok(None) } else { Ok(Some(made.cast_into::<Tensor>()?)) }
}

/// An N-dimensional tensor whose storage layout, element type and fill value are data. Tensors never change: what looks
/// like a change gives another tensor.
#[pyclass(frozen, module = "openwork")]
pub struct Tensor {
    inner: openwork::Tensor,
}

impl From<openwork::Tensor> for Tensor {
    fn from(inner: openwork::Tensor) -> Tensor {
        Tensor { inner }
    }
}

impl Tensor {
    /// The library's tensor.
    pub fn inner(&self) -> &openwork::Tensor {
        &self.inner
    }
}

#[pymethods]
impl Tensor {
    /// A tensor of numbers, nested lists or an array of another library: `openwork.asarray`.
    #[new]
    #[pyo3(signature = (obj, /))]
    fn new(obj: &Bound<'_, PyAny>) -> PyResult<Tensor> {
        match obj.cast::<Tensor>() {
            Ok(x) => Ok(x.get().inner.clone().into()),
            Err(_) => Ok(convert(obj)?.get().inner.clone().into()),
        }
    }

    // What it is.

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.inner.shape())
    }

    #[getter]
    fn ndim(&self) -> usize {
        self.inner.ndim()
    }

    #[getter]
    fn size(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.inner.size().give(py)
    }

    #[getter]
    fn dtype<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        dtypes::object(py, self.inner.dtype())
    }

    #[getter]
    fn layout(&self) -> String {
        self.inner.layout().to_string()
    }

    #[getter]
    fn device(&self) -> &'static str {
        "cpu"
    }

    /// What an unstored element is: a number, a tensor that broadcasts to the shape, or `None` where it is absent or where
    /// nothing is unstored.
    #[getter]
    fn fill_value(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.inner.fill() {
            None | Some(Fill::Undefined) => Ok(py.None()),
            Some(fill) => match fill.as_scalar() {
                Some(value) => value.give(py),
                None => fill.as_array().cloned().map_or_else(|| Ok(py.None()), |x| x.give(py)),
            },
        }
    }

    /// What kind of fill there is: `"none"` (strided: every element is stored), `"scalar"`, `"array"` or `"undefined"`.
    #[getter]
    fn fill_kind(&self) -> &'static str {
        match self.inner.fill() {
            None => "none",
            Some(Fill::Undefined) => "undefined",
            Some(fill) if fill.as_scalar().is_some() => "scalar",
            Some(_) => "array",
        }
    }

    #[getter]
    fn nse(&self) -> usize {
        self.inner.nse()
    }

    #[getter]
    fn nbytes(&self) -> usize {
        self.inner.nbytes()
    }

    #[getter]
    fn density(&self) -> f64 {
        self.inner.density()
    }

    #[getter]
    fn is_strided(&self) -> bool {
        self.inner.is_strided()
    }

    #[getter]
    fn is_coalesced(&self) -> bool {
        self.inner.is_coalesced()
    }

    /// The same pattern with undefined fill: where nothing is stored, nothing is.
    fn stored(&self) -> Tensor {
        self.inner.stored().into()
    }

    /// The values of what is stored, strided: one row for each position.
    fn stored_values(&self) -> Tensor {
        self.inner.stored_values().into()
    }

    /// Whether both have the very same pattern, so that no index need be read to combine them.
    fn shares_pattern(&self, other: &Tensor) -> bool {
        self.inner.shares_pattern(&other.inner)
    }

    #[getter(T)]
    fn transposed(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        run(py, || self.inner.t())?.give(py)
    }

    #[getter(mT)]
    fn matrix_transposed(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        run(py, || self.inner.mt())?.give(py)
    }

    fn __repr__(&self) -> String {
        self.inner.to_string()
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.inner.shape().first() {
            Some(&n) => Ok(n),
            None => Err(PyTypeError::new_err("a tensor of no axes has no length")),
        }
    }

    // Elements.

    /// The one element as a Python number.
    fn item(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        checked(py, self.inner.item())?.give(py)
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(checked(py, self.inner.item())?.cast(openwork::DType::Bool) == openwork::Scalar::Bool(true))
    }

    fn __float__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.only(py, &["b", "i", "f"])?;
        py.get_type::<pyo3::types::PyFloat>().call1((self.item(py)?,))
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.only(py, &["b", "i", "f"])?;
        py.get_type::<pyo3::types::PyInt>().call1((self.item(py)?,))
    }

    fn __complex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<pyo3::types::PyComplex>().call1((self.item(py)?,))
    }

    fn __index__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.inner.ndim() > 0 {
            return Err(PyTypeError::new_err("only a tensor of no axes is an index"));
        }
        self.only(py, &["i"])?;
        self.item(py)
    }

    fn __getitem__(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let items = index::items(key, self.inner.shape())?;
        let out = match index::is_basic(&items) {
            true => run(py, || self.inner.slice(&items)),
            false => run(py, || self.inner.index(&items)),
        };
        // What is wrong with an index is an IndexError, whatever it is called elsewhere.
        let out = out.map_err(|e| match e.is_instance_of::<PyValueError>(py) {
            true => pyo3::exceptions::PyIndexError::new_err(e.value(py).to_string()),
            false => e,
        });
        out?.give(py)
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let _ = (key, value);
        Err(PyTypeError::new_err("tensors do not change: x = x.index_put(key, values) gives one with other elements"))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.inner.ndim() == 0 {
            return Err(PyTypeError::new_err("a tensor of no axes cannot be iterated over"));
        }
        let all = run(py, || self.inner.unstack(0))?.give(py)?;
        Ok(all.into_bound(py).try_iter()?.into_any())
    }

    // Operators.

    fn __add__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::Add, false)
    }
    fn __radd__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::Add, true)
    }
    fn __sub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::Sub, false)
    }
    fn __rsub__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::Sub, true)
    }
    fn __mul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::Mul, false)
    }
    fn __rmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::Mul, true)
    }
    fn __truediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::Div, false)
    }
    fn __rtruediv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::Div, true)
    }
    fn __floordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::FloorDivide, false)
    }
    fn __rfloordiv__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::FloorDivide, true)
    }
    fn __mod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::Remainder, false)
    }
    fn __rmod__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::Remainder, true)
    }
    fn __pow__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Ok(py.NotImplemented());
        }
        operators::binary(py, self, other, BinaryOp::Pow, false)
    }
    fn __rpow__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, modulo: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        if !modulo.is_none() {
            return Ok(py.NotImplemented());
        }
        operators::binary(py, self, other, BinaryOp::Pow, true)
    }
    fn __and__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::BitwiseAnd, false)
    }
    fn __rand__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::BitwiseAnd, true)
    }
    fn __or__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::BitwiseOr, false)
    }
    fn __ror__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::BitwiseOr, true)
    }
    fn __xor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::BitwiseXor, false)
    }
    fn __rxor__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::BitwiseXor, true)
    }
    fn __lshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::BitwiseLeftShift, false)
    }
    fn __rlshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::BitwiseLeftShift, true)
    }
    fn __rshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::BitwiseRightShift, false)
    }
    fn __rrshift__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::binary(py, self, other, BinaryOp::BitwiseRightShift, true)
    }
    fn __matmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::matmul(py, self, other, false)
    }
    fn __rmatmul__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        operators::matmul(py, self, other, true)
    }
    fn __neg__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        run(py, || self.inner.unary(UnaryOp::Neg))?.give(py)
    }
    fn __pos__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        run(py, || self.inner.positive())?.give(py)
    }
    fn __abs__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        run(py, || self.inner.unary(UnaryOp::Abs))?.give(py)
    }
    fn __invert__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        run(py, || self.inner.unary(UnaryOp::BitwiseNot))?.give(py)
    }
    fn __richcmp__(&self, py: Python<'_>, other: &Bound<'_, PyAny>, how: CompareOp) -> PyResult<Py<PyAny>> {
        operators::compare(py, self, other, how)
    }

    // Exchange.

    fn __dlpack_device__(&self) -> (i32, i32) {
        (openwork::exchange::dlpack::CPU, 0)
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some() {
            return Err(PyValueError::new_err("stream: main memory has none, give None"));
        }
        if let Some(device) = dl_device
            && device != self.__dlpack_device__()
        {
            return Err(PyBufferError::new_err(format!("dl_device: {device:?}, the memory is on (1, 0), the CPU")));
        }
        if !self.inner.is_strided() {
            let why = "only strided tensors are one array; take to_dense(), or the arrays of __binsparse__()";
            return Err(PyBufferError::new_err(format!("__dlpack__: the layout is {}: {why}", self.inner.layout())));
        }
        let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
        if !is_versioned && copy == Some(false) {
            return Err(PyBufferError::new_err(
                "copy=False needs max_version=(1, 0): without one, read-only has no word",
            ));
        }
        capsule::give(py, &self.inner, is_versioned, copy == Some(true))
    }

    /// The descriptor and the arrays by name; what binsparse 0.1 cannot hold is in the name space `openwork` if `extended`.
    #[pyo3(signature = (extended=false))]
    fn _constituents<'py>(&self, py: Python<'py>, extended: bool) -> PyResult<(String, Bound<'py, PyDict>)> {
        let parts = match extended {
            true => run(py, || self.inner.to_binsparse_extended()),
            false => run(py, || self.inner.to_binsparse()),
        }?;
        let arrays = PyDict::new(py);
        for (name, array) in parts.arrays {
            arrays.set_item(name, Tensor::from(array).into_pyobject(py)?)?;
        }
        Ok((parts.descriptor.to_string(), arrays))
    }
}

impl Tensor {
    /// That elements are of one of these kinds.
    fn only(&self, py: Python<'_>, kinds: &[&str]) -> PyResult<()> {
        let dtype = self.inner.dtype();
        let kind = match dtype {
            openwork::DType::Bool => "b",
            d if d.is_int() => "i",
            d if d.is_float() => "f",
            _ => "c",
        };
        let _ = py;
        if kinds.contains(&kind) {
            Ok(())
        } else {
            Err(PyTypeError::new_err(format!("a {dtype} tensor is no such number")))
        }
    }
}
