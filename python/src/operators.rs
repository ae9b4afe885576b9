//! Operators of Python on tensors.

use openwork::BinaryOp;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;

use crate::arguments::number;
use crate::context::run;
use crate::results::Give;
use crate::tensor::{self, Tensor};

/// `x op other`, or with `other` on the left; `NotImplemented` where `other` is nothing that a tensor is made of.
pub fn binary(
    py: Python<'_>,
    x: &Tensor,
    other: &Bound<'_, PyAny>,
    op: BinaryOp,
    is_left: bool,
) -> PyResult<Py<PyAny>> {
    let x = x.inner();
    if let Ok(other) = other.cast::<Tensor>() {
        let other = other.get().inner();
        let out = if is_left { run(py, || other.binary(op, x)) } else { run(py, || x.binary(op, other)) };
        return out?.give(py);
    }
    if let Some(value) = number(other)? {
        let out = if is_left { run(py, || x.binary_from(op, value)) } else { run(py, || x.binary(op, value)) };
        return out?.give(py);
    }
    let Some(other) = tensor::convert_operand(other)? else { return Ok(py.NotImplemented()) };
    let other = other.get().inner();
    let out = if is_left { run(py, || other.binary(op, x)) } else { run(py, || x.binary(op, other)) };
    out?.give(py)
}

/// `x @ other`, or with `other` on the left.
pub fn matmul(py: Python<'_>, x: &Tensor, other: &Bound<'_, PyAny>, is_left: bool) -> PyResult<Py<PyAny>> {
    let Some(other) = tensor::convert_operand(other)? else { return Ok(py.NotImplemented()) };
    let (a, b) = if is_left { (other.get().inner(), x.inner()) } else { (x.inner(), other.get().inner()) };
    run(py, || a.matmul(b))?.give(py)
}

/// `x == other` and its kin.
pub fn compare(py: Python<'_>, x: &Tensor, other: &Bound<'_, PyAny>, how: CompareOp) -> PyResult<Py<PyAny>> {
    let op = match how {
        CompareOp::Eq => BinaryOp::Eq,
        CompareOp::Ne => BinaryOp::Ne,
        CompareOp::Lt => BinaryOp::Lt,
        CompareOp::Le => BinaryOp::Le,
        CompareOp::Gt => BinaryOp::Gt,
        CompareOp::Ge => BinaryOp::Ge,
    };
    binary(py, x, other, op, false)
}
