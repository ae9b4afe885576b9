//! Gradients: the library's `vjp` functions by their names.

use std::borrow::Cow;

use openwork::{BinaryOp, DType, Fill, ReduceOp, UnaryOp, vjp};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{
    Args, Float, Items, One, Other, Places, Reduced, Several, Side, Tensors, Value, number, objects,
};
use crate::context::run;
use crate::results::Give;
use crate::tensor::Tensor;

/// The gradient of a number by one operand of an op: by each stored element, and by the fill.
#[pyclass(frozen, module = "openwork.vjp")]
pub struct Gradient {
    inner: vjp::Gradient,
}

#[pymethods]
impl Gradient {
    /// The gradient by each stored element: the operand's pattern, layout and dtype. What is not stored is 0, or absent where
    /// the operand's is.
    #[getter]
    fn stored(&self) -> Tensor {
        self.inner.stored.clone().into()
    }

    /// The gradient by the fill: that by all unstored elements together, a number or an array of the fill's shape. `None` where
    /// there is no fill, or an undefined one.
    #[getter]
    fn fill(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.inner.fill {
            None | Some(Fill::Undefined) => Ok(py.None()),
            Some(fill) => match fill.as_scalar() {
                Some(value) => value.give(py),
                None => fill.as_array().cloned().map_or_else(|| Ok(py.None()), |x| x.give(py)),
            },
        }
    }

    /// Both in one tensor, for a step of stored elements and fill: `x - rate * gradient.with_fill()`.
    fn with_fill(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        run(py, || self.inner.with_fill())?.give(py)
    }

    /// The gradient as a cotangent for the op of which the operand was the result: that by the fill is spread evenly over the
    /// unstored elements that share it.
    fn cotangent(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        run(py, || self.inner.cotangent())?.give(py)
    }

    /// The sum of two gradients by one operand, which occurs twice in a computation.
    fn __add__(&self, py: Python<'_>, other: PyRef<'_, Gradient>) -> PyResult<Gradient> {
        let other = &*other;
        Ok(Gradient { inner: run(py, || self.inner.plus(&other.inner))? })
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let stored = &self.inner.stored;
        let fill = self.fill(py)?;
        let fill = fill.bind(py).repr()?;
        Ok(format!("<Gradient {:?} {} {}, fill={fill}>", stored.shape(), stored.dtype().name(), stored.layout()))
    }
}

impl Give for vjp::Gradient {
    fn give(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Ok(Py::new(py, Gradient { inner: self })?.into_any())
    }
}

fn is_differentiable(dtype: DType) -> bool {
    dtype.is_float() || dtype.is_complex()
}

/// Gradients by the operands of an op: by one of them where that is asked for, else by each that is differentiable.
fn each(
    py: Python<'_>,
    operands: &[bool],
    wrt: Option<usize>,
    op: impl FnOnce() -> openwork::Result<vjp::Gradients> + Send,
) -> PyResult<Py<PyAny>> {
    if let Some(wrt) = wrt {
        return run(py, || op()?.by(wrt))?.give(py);
    }
    let all = run(py, || {
        let gradients = op()?;
        let by = |(i, wanted): (usize, &bool)| wanted.then(|| gradients.by(i)).transpose();
        operands.iter().enumerate().map(by).collect::<openwork::Result<Vec<_>>>()
    })?;
    let mut given = Vec::with_capacity(all.len());
    for gradient in all {
        given.push(gradient.map_or_else(|| Ok(py.None()), |g| g.give(py))?);
    }
    Ok(PyTuple::new(py, given)?.into_any().unbind())
}

/// Takes the gradient by the result of an op back to its operands: the arguments of the op, then the cotangent.
#[pyfunction]
#[pyo3(signature = (name, wrt, *args))]
pub fn vjp_of(py: Python<'_>, name: &str, wrt: Option<usize>, args: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
    let all = objects(args);
    let mut args = Args::new(&all);
    let args = &mut args;
    macro_rules! take {
        ($($name:ident: $kind:ident),+) => {
            $(let $name = $kind::take(args)?;)+
            args.end()?;
            $(let $name = $name.pass();)+
        };
    }
    if let Some(&op) = BinaryOp::ALL.iter().find(|op| op.name() == name) {
        let (left, right) = (args.next()?, args.next()?);
        let g = Other::take(args)?;
        args.end()?;
        // A number takes the dtype of the tensor beside it.
        let (x, y) = match (number(left)?, number(right)?) {
            (Some(value), None) => {
                let y = crate::arguments::tensor(right)?;
                let x = run(py, || openwork::Tensor::scalar(value).cast(y.dtype()))?;
                (Cow::Owned(x), Side::of(right)?)
            }
            _ => (crate::arguments::tensor(left)?, Side::of(right)?),
        };
        let mut wanted = [false; 2];
        for (wanted, object) in wanted.iter_mut().zip([left, right]) {
            *wanted = number(object)?.is_none() && is_differentiable(crate::arguments::tensor(object)?.dtype());
        }
        return each(py, &wanted, wrt, || vjp::binary(op, &x, y.pass(), g.pass()));
    }
    match name {
        "where" => {
            take!(condition: Other, x: Other, y: Other, g: Other);
            let wanted = [x, y].map(|x| is_differentiable(x.dtype()));
            return each(py, &wanted, wrt, || vjp::where_(condition, x, y, g));
        }
        "matmul" => {
            take!(a: Other, b: Other, g: Other);
            let wanted = [a, b].map(|x| is_differentiable(x.dtype()));
            return each(py, &wanted, wrt, || vjp::matmul(a, b, g));
        }
        "sampled_addmm" => {
            take!(c: Other, a: Other, b: Other, beta: Value, alpha: Value, g: Other);
            let wanted = [c, a, b].map(|x| is_differentiable(x.dtype()));
            return each(py, &wanted, wrt, || vjp::sampled_addmm(c, a, b, beta, alpha, g));
        }
        "concat" => {
            take!(tensors: Tensors, axis: One, g: Other);
            let wanted: Vec<bool> = tensors.iter().map(|x| is_differentiable(x.dtype())).collect();
            return each(py, &wanted, wrt, || vjp::concat(&tensors, axis, g));
        }
        _ => {}
    }
    if wrt.is_some_and(|wrt| wrt != 0) {
        return Err(PyValueError::new_err(format!("vjp.{name}: there is one operand, number 0")));
    }
    if let Some(&op) = UnaryOp::ALL.iter().find(|op| op.name() == name) {
        take!(x: Other, g: Other);
        return run(py, || vjp::unary(op, x, g))?.give(py);
    }
    if let Some(&op) = ReduceOp::ALL.iter().find(|op| op.name() == name) {
        take!(x: Other, axes: Reduced, g: Other);
        return run(py, || vjp::reduce(op, x, axes, g))?.give(py);
    }
    match name {
        "softmax" | "log_softmax" => {
            let softmax = name == "softmax";
            take!(x: Other, axes: Several, g: Other);
            run(py, || if softmax { vjp::softmax(x, axes, g) } else { vjp::log_softmax(x, axes, g) })?.give(py)
        }
        "logsumexp" => {
            take!(x: Other, axes: Reduced, g: Other);
            run(py, || vjp::logsumexp(x, axes, g))?.give(py)
        }
        "var" | "std" | "vector_norm" => {
            take!(x: Other, n: Float, axes: Reduced, g: Other);
            run(py, || match name {
                "var" => vjp::var(x, n, axes, g),
                "std" => vjp::std(x, n, axes, g),
                _ => vjp::vector_norm(x, n, axes, g),
            })?
            .give(py)
        }
        "permute_dims" => {
            take!(x: Other, axes: Several, g: Other);
            run(py, || vjp::permute_dims(x, axes, g))?.give(py)
        }
        "reshape" | "broadcast_to" | "astype" => {
            take!(x: Other, g: Other);
            run(py, || match name {
                "reshape" => vjp::reshape(x, g),
                "broadcast_to" => vjp::broadcast_to(x, g),
                _ => vjp::cast(x, g),
            })?
            .give(py)
        }
        "getitem" => {
            take!(x: Other, items: Items, g: Other);
            run(py, || vjp::index(x, items, g))?.give(py)
        }
        "index_select" => {
            take!(x: Other, indices: Places, axis: One, g: Other);
            run(py, || vjp::index_select(x, indices, axis, g))?.give(py)
        }
        _ => Err(PyValueError::new_err(format!("no gradient is known for an op {name:?}"))),
    }
}
