//! Ops as callable objects, by the names of the catalogue.

use openwork::catalogue::{self as library, Entry};
use openwork::{BinaryOp, ReduceOp, UnaryOp};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::arguments::{Args, Other, Reduced, Side, Tensors, number, objects};
use crate::context::run;
use crate::results::Give;
use crate::table::{FUNCTIONS, METHODS, Method};

/// What an op runs.
#[derive(Clone, Copy)]
enum Run {
    Unary(UnaryOp),
    Binary(BinaryOp),
    Reduce(ReduceOp),
    Method(&'static Method),
}

/// An op of the library's catalogue: called with all of its arguments by position.
#[pyclass(frozen, module = "openwork._core")]
pub struct Op {
    name: &'static str,
    run: Run,
}

#[pymethods]
impl Op {
    #[pyo3(signature = (*args))]
    fn __call__(&self, py: Python<'_>, args: &Bound<'_, PyTuple>) -> PyResult<Py<PyAny>> {
        let all = objects(args);
        let mut args = Args::new(&all);
        match self.run {
            Run::Method(method) => (method.call)(py, &mut args),
            Run::Unary(op) => {
                let x = Other::take(&mut args)?;
                args.end()?;
                run(py, || x.pass().unary(op))?.give(py)
            }
            Run::Binary(op) => {
                let (left, right) = (args.next()?, args.next()?);
                args.end()?;
                if let Some(number) = number(left)? {
                    let right = crate::arguments::tensor(right)?;
                    return run(py, || right.binary_from(op, number))?.give(py);
                }
                let (left, right) = (crate::arguments::tensor(left)?, Side::of(right)?);
                run(py, || left.binary(op, right.pass()))?.give(py)
            }
            Run::Reduce(op) => {
                let (x, axes) = (Other::take(&mut args)?, Reduced::take(&mut args)?);
                args.end()?;
                run(py, || x.pass().reduce(op, axes.pass()))?.give(py)
            }
        }
    }

    #[getter]
    fn __name__(&self) -> &'static str {
        self.name
    }

    /// The parameters that the binding reads, after the tensor itself.
    #[getter]
    fn parameters(&self) -> Vec<&'static str> {
        match self.run {
            Run::Unary(_) => vec![],
            Run::Binary(_) => vec!["other"],
            Run::Reduce(_) => vec!["axes"],
            Run::Method(method) => method.parameters.to_vec(),
        }
    }

    fn __repr__(&self) -> String {
        format!("<op {}>", self.name)
    }
}

/// What runs an entry of the catalogue; `None` if it is only for Rust.
fn find(entry: &Entry) -> Option<Run> {
    let name = entry.name;
    let method = || METHODS.iter().chain(FUNCTIONS).find(|m| m.name == name).map(Run::Method);
    let unary = || UnaryOp::ALL.iter().find(|op| op.name() == name).map(|&op| Run::Unary(op));
    let binary = || BinaryOp::ALL.iter().find(|op| op.name() == name).map(|&op| Run::Binary(op));
    let fold = || ReduceOp::ALL.iter().find(|op| op.name() == name).map(|&op| Run::Reduce(op));
    method().or_else(unary).or_else(binary).or_else(fold)
}

/// The op of that name.
#[pyfunction]
pub fn op(name: &str) -> PyResult<Op> {
    let entry = library::find(name);
    let found = entry.and_then(|entry| Some(Op { name: entry.name, run: find(entry)? }));
    found.ok_or_else(|| PyValueError::new_err(format!("{name:?} is no op that Python can call")))
}

/// How `einsum` would carry out an equation, in words.
#[pyfunction]
pub fn einsum_path(py: Python<'_>, equation: &str, operands: &Bound<'_, PyAny>) -> PyResult<String> {
    let all = [operands.clone()];
    let operands = Tensors::take(&mut Args::new(&all))?;
    run(py, || openwork::einsum_path(equation, &operands.pass()).map(|path| path.to_string()))
}

/// An entry as Python sees it: name, family, whether it is called on a tensor, parameters with their Rust types, the Rust
/// type of the result, documentation, whether Python can call it.
type Told = (&'static str, &'static str, bool, Vec<(&'static str, &'static str)>, &'static str, &'static str, bool);

/// Every entry of the library's catalogue.
#[pyfunction]
pub fn catalogue() -> Vec<Told> {
    let told = |e: &'static Entry| {
        let parameters = e.parameters.iter().map(|p| (p.name, p.kind)).collect();
        (e.name, e.family, e.takes_self, parameters, e.result, e.doc, find(e).is_some())
    };
    library::all().map(told).collect()
}
