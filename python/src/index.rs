//! What stands between the brackets of `x[…]`.

use openwork::{Index, Span};
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PyList, PySlice, PyTuple};

use crate::arguments::tensor;

/// One item before it is known which axis it is for.
enum Item<'py> {
    Ready(Index),
    Slice(Bound<'py, PySlice>),
}

impl Item<'_> {
    /// How many axes of the tensor it stands for.
    fn axes(&self) -> usize {
        match self {
            Item::Slice(_) | Item::Ready(Index::At(_) | Index::Range(..) | Index::List(_)) => 1,
            Item::Ready(Index::Mask(mask)) => mask.ndim(),
            Item::Ready(_) => 0,
        }
    }
}

fn item<'py>(object: &Bound<'py, PyAny>) -> PyResult<Item<'py>> {
    if let Ok(slice) = object.cast::<PySlice>() {
        return Ok(Item::Slice(slice.clone()));
    }
    if let Ok(at) = object.cast_exact::<PyInt>() {
        // An integer that fits no index is out of range of any axis.
        let at = at.extract::<isize>().map_err(|_| PyIndexError::new_err(format!("index {at} is out of range")))?;
        return Ok(Item::Ready(Index::At(at)));
    }
    if object.is_none() {
        return Ok(Item::Ready(Index::NewAxis));
    }
    if object.is_instance_of::<PyEllipsis>() {
        return Ok(Item::Ready(Index::Ellipsis));
    }
    if !object.is_instance_of::<PyBool>()
        && !object.is_instance_of::<PyList>()
        && let Ok(at) = object.extract::<isize>()
        && is_integer(object)?
    {
        return Ok(Item::Ready(Index::At(at)));
    }
    match list(object) {
        // What is no array is no index.
        Err(e) if e.is_instance_of::<PyTypeError>(object.py()) => {
            let kind = object.get_type().name()?;
            let why = format!("indices are integers, slices, None, ..., integer or bool arrays, not {kind}");
            Err(PyIndexError::new_err(why))
        }
        made => made.map(Item::Ready),
    }
}

/// Whether an object that turns into an integer is one: an array of several axes with one element is a list.
fn is_integer(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    match object.getattr_opt("ndim")? {
        Some(ndim) => {
            Ok(ndim.extract::<usize>()? == 0 && object.getattr("dtype")?.getattr("kind")?.extract::<String>()? != "b")
        }
        None => Ok(true),
    }
}

/// A list of places along one axis, or a mask.
pub fn list(object: &Bound<'_, PyAny>) -> PyResult<Index> {
    let x = tensor(object)?.into_owned();
    let dtype = x.dtype();
    // An empty list has the dtype of floats.
    let x = if x.size() == 0 && !dtype.is_int() && dtype != openwork::DType::Bool && object.is_instance_of::<PyList>() {
        x.cast(openwork::DType::I64).map_err(|e| PyIndexError::new_err(e.to_string()))?
    } else {
        x
    };
    if !x.dtype().is_int() && x.dtype() != openwork::DType::Bool {
        let why = format!("indices are integers, slices, None, ..., integer or bool arrays, not {}", x.dtype());
        return Err(PyIndexError::new_err(why));
    }
    if !x.is_strided() && x.dtype().is_int() {
        return x.to_dense().map(Index::from).map_err(|e| PyIndexError::new_err(e.to_string()));
    }
    Ok(x.into())
}

/// The items of an index of a tensor of that shape. Slices are cut to the axis, as everywhere in Python.
pub fn items(key: &Bound<'_, PyAny>, shape: &[usize]) -> PyResult<Vec<Index>> {
    let parsed = match key.cast::<PyTuple>() {
        Ok(several) => several.iter().map(|o| item(&o)).collect::<PyResult<Vec<_>>>()?,
        Err(_) => vec![item(key)?],
    };
    let named: usize = parsed.iter().map(Item::axes).sum();
    if named > shape.len() {
        return Err(PyIndexError::new_err(format!("{named} axes are indexed, the tensor has {}", shape.len())));
    }
    let mut axis = 0;
    let mut out = Vec::with_capacity(parsed.len());
    for item in parsed {
        let axes = item.axes();
        out.push(match item {
            Item::Slice(slice) => cut(&slice, shape[axis])?,
            Item::Ready(index) => {
                if matches!(index, Index::Ellipsis) {
                    axis += shape.len() - named;
                }
                index
            }
        });
        axis += axes;
    }
    Ok(out)
}

/// A slice of an axis of `n` elements.
fn cut(slice: &Bound<'_, PySlice>, n: usize) -> PyResult<Index> {
    let n = isize::try_from(n).map_err(|_| PyTypeError::new_err("the axis is too long for a slice"))?;
    let cut = slice.indices(n)?;
    let (start, stop, step) = (cut.start, cut.stop, cut.step);
    if cut.slicelength == 0 {
        return Ok(Index::Range(Span { start: 0, end: Some(0) }, 1));
    }
    // Backwards, a range of the library is left at its end.
    let span = if step > 0 { Span { start, end: Some(stop) } } else { Span { start: stop + 1, end: Some(start + 1) } };
    Ok(Index::Range(span, step))
}

/// Whether only integers and slices are among the items, so that no element is looked up.
pub fn is_basic(items: &[Index]) -> bool {
    !items.iter().any(|i| matches!(i, Index::List(_) | Index::Mask(_)))
}
