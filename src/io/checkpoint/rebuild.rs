//! What a pickle may call: the functions that PyTorch's own files need, and nothing else. None of them is run; each is
//! read as what it would make.

use super::pickle::{Described, Machine, Object, Storage, Value, View};
use crate::io::fault::{Res, bad};

/// A name that a pickle may mention.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Global {
    /// `collections.OrderedDict`.
    Dict,
    /// `set`, `torch.device` and others that hold no tensor.
    Other,
    /// `torch.Size`.
    Size,
    /// `torch.FloatStorage` and its like, `torch.storage.UntypedStorage`.
    Storage(String),
    /// `torch.float32` and its like.
    DType(String),
    Layout,
    Tensor,
    TensorOfType,
    Parameter,
    Sparse,
    Unreadable(&'static str),
}

/// The meaning of a name.
///
/// # Errors
/// If it is not on the list.
pub(super) fn global(module: &str, name: &str) -> Res<Global> {
    let is_storage = name.strip_suffix("Storage").is_some_and(|kind| kind.bytes().all(|b| b.is_ascii_alphanumeric()));
    Ok(match (module, name) {
        ("collections", "OrderedDict") => Global::Dict,
        ("builtins" | "__builtin__", "set" | "frozenset") | ("torch", "device") => Global::Other,
        ("torch", "Size") => Global::Size,
        ("torch", _) if is_storage => Global::Storage(name.to_owned()),
        ("torch.storage", "UntypedStorage" | "TypedStorage") => Global::Storage(name.to_owned()),
        ("torch", _) if DTYPES.contains(&name) => Global::DType(name.to_owned()),
        ("torch.serialization", "_get_layout") => Global::Layout,
        ("torch._utils", "_rebuild_tensor" | "_rebuild_tensor_v2") => Global::Tensor,
        ("torch._utils", "_rebuild_tensor_v3") => Global::TensorOfType,
        ("torch._utils", "_rebuild_parameter" | "_rebuild_parameter_with_state") => Global::Parameter,
        ("torch._utils", "_rebuild_sparse_tensor" | "_rebuild_sparse_csr_tensor") => Global::Sparse,
        ("torch._utils", "_rebuild_qtensor") => Global::Unreadable("it is quantised"),
        ("torch._utils", "_rebuild_nested_tensor") => Global::Unreadable("it is nested"),
        ("torch._utils", "_rebuild_meta_tensor_no_storage") => Global::Unreadable("it has no elements (device meta)"),
        _ => {
            return bad(format_args!(
                "the pickle asks for {module}.{name}, which is not among the functions that make tensors; nothing of a \
                 file is run. A file of `torch.save(model.state_dict(), path)` needs none but those"
            ));
        }
    })
}

/// Names of element types in `torch`.
const DTYPES: [&str; 22] = [
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "complex128",
    "complex64",
    "complex32",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
    "float8_e4m3fn",
    "float8_e5m2",
    "float8_e4m3fnuz",
    "float8_e5m2fnuz",
    "qint8",
    "quint8",
];

/// The storage that a persistent id names: `("storage", type, key, device, number of elements)`.
pub(super) fn storage(machine: &Machine<'_>, id: Value) -> Res<Storage> {
    let odd = || bad("an id of the pickle that names no storage");
    let Some(&[word, kind, key, _, len, ..]) = machine.as_items(id) else { return odd() };
    let (Some("storage"), Some(Object::Global(Global::Storage(kind))), Some(key), Some(len)) =
        (machine.as_text(word), machine.object(kind), machine.as_text(key), count(len))
    else {
        return odd();
    };
    if key.is_empty() || key.contains(['/', '\\']) || key == ".." {
        return bad(format_args!("the storage {key:?} is no member of the archive"));
    }
    Ok(Storage { kind: kind.clone(), key: key.to_owned(), len })
}

/// The most arguments of a call, and axes of a tensor.
const MAX_ITEMS: usize = 64;

/// What a call would make.
pub(super) fn call(machine: &mut Machine<'_>, function: Value, arguments: Value) -> Res<Value> {
    let Some(Object::Global(global)) = machine.object(function).cloned() else {
        return bad("the pickle calls what is no function");
    };
    // A list may be referred to any number of times: none is copied that is longer than a call or a shape needs.
    let Some(arguments) = machine.as_items(arguments).filter(|a| a.len() <= MAX_ITEMS).map(<[Value]>::to_vec) else {
        return bad("the pickle calls a function without a tuple of arguments");
    };
    let first = arguments.first().copied();
    let object = match global {
        Global::Dict if arguments.is_empty() => Object::Dict(Vec::new()),
        Global::Dict => return bad("a dictionary made of a list"),
        Global::Other => Object::Other,
        Global::Size => match first.and_then(|sizes| machine.as_items(sizes)) {
            Some(sizes) if sizes.len() <= MAX_ITEMS => Object::Tuple(sizes.to_vec()),
            _ => return bad("a shape that is no short list"),
        },
        Global::Layout => match first.and_then(|name| machine.as_text(name)) {
            Some(name) => Object::Layout(name.to_owned()),
            None => return bad("a layout without a name"),
        },
        Global::Tensor => Object::Tensor(Box::new(Described::Strided(view(machine, &arguments, None)?))),
        Global::TensorOfType => {
            let dtype = arguments.get(6).and_then(|&dtype| machine.object(dtype));
            let Some(Object::Global(Global::DType(dtype))) = dtype else {
                return bad("a tensor without an element type");
            };
            let dtype = Some(dtype.clone());
            Object::Tensor(Box::new(Described::Strided(view(machine, &arguments, dtype)?)))
        }
        Global::Parameter => match first.and_then(|of| machine.object(of)) {
            Some(Object::Tensor(_)) => return Ok(arguments[0]),
            _ => return bad("a parameter that is no tensor"),
        },
        Global::Sparse => Object::Tensor(Box::new(sparse(machine, &arguments)?)),
        Global::Unreadable(why) => Object::Tensor(Box::new(Described::Unreadable(why.to_owned()))),
        Global::Storage(_) | Global::DType(_) => return bad("the pickle calls a type, which makes no tensor"),
    };
    Ok(machine.made(object))
}

fn count(value: Value) -> Option<u64> {
    if let Value::Int(n) = value { u64::try_from(n).ok() } else { None }
}

fn counts(machine: &Machine<'_>, value: Value) -> Option<Vec<u64>> {
    machine.as_items(value).filter(|items| items.len() <= MAX_ITEMS)?.iter().map(|&n| count(n)).collect()
}

/// `(storage, offset, size, stride, …)`.
fn view(machine: &Machine<'_>, arguments: &[Value], dtype: Option<String>) -> Res<View> {
    let odd = || bad("a tensor whose storage, offset, size and strides are not given as such");
    let &[storage, offset, size, strides, ..] = arguments else { return odd() };
    let Some(Object::Storage(storage)) = machine.object(storage) else { return odd() };
    let (Some(offset), Some(shape), Some(strides)) = (count(offset), counts(machine, size), counts(machine, strides))
    else {
        return odd();
    };
    if shape.len() != strides.len() {
        return odd();
    }
    Ok(View { storage: storage.clone(), dtype, offset, shape, strides })
}

/// `(layout, (indices, values, size, …))` or `(layout, (pointers, indices, values, size))`.
fn sparse(machine: &Machine<'_>, arguments: &[Value]) -> Res<Described> {
    const ODD: &str = "a sparse tensor whose layout and arrays are not given as such";
    let &[layout, data, ..] = arguments else { return bad(ODD) };
    let (Some(Object::Layout(layout)), Some(data)) = (machine.object(layout), machine.as_items(data)) else {
        return bad(ODD);
    };
    let strided = |value: Value| match machine.object(value) {
        Some(Object::Tensor(tensor)) => match &**tensor {
            Described::Strided(view) => Ok(view.clone()),
            _ => bad(ODD),
        },
        _ => bad(ODD),
    };
    let by_rows = match layout.as_str() {
        "torch.sparse_coo" => {
            let &[indices, values, size, ..] = data else { return bad(ODD) };
            let Some(shape) = counts(machine, size) else { return bad(ODD) };
            return Ok(Described::Coordinates { indices: strided(indices)?, values: strided(values)?, shape });
        }
        "torch.sparse_csr" | "torch.sparse_bsr" => true,
        "torch.sparse_csc" | "torch.sparse_bsc" => false,
        other => return Ok(Described::Unreadable(format!("its layout is {other}"))),
    };
    let &[pointers, indices, values, size, ..] = data else { return bad(ODD) };
    let Some(shape) = counts(machine, size) else { return bad(ODD) };
    let arrays = Box::new([strided(pointers)?, strided(indices)?, strided(values)?]);
    Ok(Described::Compressed { by_rows, arrays, shape })
}
