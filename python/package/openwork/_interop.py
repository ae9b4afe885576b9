"""Tensors of the arrays of SciPy, pydata/sparse, PyTorch and pandas, and these of tensors. No library is imported that the
caller has not imported."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from . import _core
from ._core import Tensor, op


def of_library(obj: Any, copy: bool | None) -> Tensor | None:
    """The tensor of another library's sparse array; `None` if it is none of those known."""
    home = type(obj).__module__.partition(".")[0]
    scipy_sparse = sys.modules.get("scipy.sparse")
    if scipy_sparse is not None and scipy_sparse.issparse(obj):
        return _copied(obj, copy, lambda a: _in_order(_of_scipy(a)))
    if home == "sparse":
        return _copied(obj, copy, lambda a: _in_order(_of_pydata(a)))
    if home == "torch" and hasattr(obj, "layout"):
        return _of_torch(obj, copy)
    if home == "pandas":
        return _copied(obj, copy, _of_pandas)
    return None


def _copied(obj: Any, copy: bool | None, convert: Any, clone: str = "copy") -> Tensor:
    if copy is False:
        raise ValueError(
            f"asarray: copy=False, and the indices of a {type(obj).__name__} have to be copied: who owns them could write them"
        )
    if copy is True:
        obj = getattr(obj, clone)()
    return convert(obj)


def _in_order(x: Tensor | None) -> Tensor | None:
    """The same with its elements in order and each once: SciPy's products and lists of edges come otherwise, and every op would sort
    them again."""
    return x if x is None or x.is_coalesced else x.coalesce()


def _of_scipy(a: Any) -> Tensor:
    if a.format in ("dok", "lil", "dia") or (a.format == "csr" and a.ndim == 1):
        a = a.tocoo()
    zero = np.zeros((), dtype=a.dtype)
    if a.format in ("csr", "csc"):
        is_canonical = bool(a.has_canonical_format)
        return _core.compressed(a.format, a.shape, a.indptr, a.indices, a.data, zero, not is_canonical)
    if a.format == "bsr":
        if not a.has_sorted_indices:
            a = a.copy()
            a.sort_indices()
        return _core.compressed("bsr", a.shape, a.indptr, a.indices, a.data, zero, False)
    coordinates = a.coords if hasattr(a, "coords") else (a.row, a.col)
    return _core.coo(a.shape, list(coordinates), a.data, zero)


def _of_pydata(a: Any) -> Tensor | None:
    kind = type(a).__name__
    if kind == "DOK":
        a = a.to_coo()
    elif kind == "GCXS" and a.ndim == 2:
        name = "csr" if tuple(a.compressed_axes) == (0,) else "csc"
        fill = np.asarray(a.fill_value, dtype=a.dtype)
        return _core.compressed(name, a.shape, a.indptr, a.indices, a.data, fill, True)
    elif kind == "GCXS":
        a = a.tocoo()
    if not hasattr(a, "coords"):
        return None
    return _core.coo(a.shape, list(a.coords), a.data, np.asarray(a.fill_value, dtype=a.dtype))


_TORCH_LAYOUTS = ["torch.strided", *(f"torch.sparse_{kind}" for kind in ("coo", "csr", "csc", "bsr", "bsc"))]


def _of_torch(a: Any, copy: bool | None) -> Tensor:
    torch = sys.modules["torch"]
    if a.device.type != "cpu":
        raise BufferError(f"asarray: the tensor is on {a.device}; move it to the CPU: x.cpu()")
    if a.requires_grad:
        raise BufferError("asarray: requires_grad is set, and gradients end here; x.detach() says that they may")
    if a.is_nested or a.is_quantized or str(a.layout) not in _TORCH_LAYOUTS:
        what = "nested" if a.is_nested else "quantised" if a.is_quantized else str(a.layout)
        raise TypeError(f"asarray: {what} tensors of PyTorch are not read; take one of its strided or sparse ones")
    if a.layout != torch.strided:
        return _copied(a, copy, _of_torch_sparse, "clone")
    if copy is False and (a.dtype == torch.bool or a.is_conj() or a.is_neg()):
        what = "truth values are copied" if a.dtype == torch.bool else "it is a conjugate that is not computed"
        raise ValueError(f"asarray: copy=False, and the tensor has to be copied: {what}")
    a = a.resolve_conj().resolve_neg()
    return _core.from_dlpack(a.clone() if copy else a)


def _of_torch_sparse(a: Any) -> Tensor:
    kind = str(a.layout).rpartition("_")[2]
    if kind == "coo":
        return _core.coo(tuple(a.shape), list(_of_torch(a._indices(), None)), _of_torch(a._values(), None), 0)
    by_row = kind in ("csr", "bsr")
    pointers, indices = (a.crow_indices(), a.col_indices()) if by_row else (a.ccol_indices(), a.row_indices())
    values = a.values()
    if pointers.ndim == 1 and values.ndim == (1 if kind in ("csr", "csc") else 3):
        pointers, indices, values = (_of_torch(part, None) for part in (pointers, indices, values))
        return _core.compressed(kind, tuple(a.shape), pointers, indices, values, 0, False)
    if kind in ("bsr", "bsc"):
        raise NotImplementedError(f"asarray: batches of {kind.upper()} and dense axes below it are not read; take to_dense()")
    # Batches, or elements that are arrays: PyTorch's batches store equally many, so that their parts are arrays.
    lines, batches = pointers.shape[-1] - 1, tuple(pointers.shape[:-1])
    stored = indices.shape[-1]
    counts = pointers.diff(dim=-1).reshape(-1).numpy()
    line = np.tile(np.arange(lines), max(counts.size // max(lines, 1), 0)).repeat(counts)
    across = indices.reshape(-1).numpy()
    batch = [index.reshape(-1).repeat(stored) for index in np.indices(batches)]
    places = [*batch, line, across] if by_row else [*batch, across, line]
    below = values.shape[len(batches) + 1 :]
    return _core.coo(tuple(a.shape), places, _of_torch(values.reshape(-1, *below), None), 0)


def _of_pandas(a: Any) -> Tensor | None:
    from ._make import asarray

    pandas = sys.modules["pandas"]
    if isinstance(a, pandas.DataFrame):
        if all(isinstance(dtype, pandas.SparseDtype) and dtype.fill_value == 0 for dtype in a.dtypes) and len(a.columns):
            return _of_scipy(a.sparse.to_coo())
        return asarray(a.to_numpy())
    if isinstance(a, pandas.Series):
        a = a.array
    if isinstance(a, pandas.arrays.SparseArray):
        values = np.asarray(a.sp_values)
        places = a.sp_index.to_int_index().indices
        return _core.coo((len(a),), [places], values, np.asarray(a.fill_value).astype(values.dtype))
    return asarray(np.asarray(a))


# From tensors.


def numpy_of(x: Tensor) -> np.ndarray[Any, Any]:
    """A strided tensor as a read-only array over the same memory; `bfloat16` becomes `float32`."""
    if x.dtype == "bfloat16":
        x = op("cast")(x, "float32")
    return np.from_dlpack(x)


def parts(x: Tensor) -> dict[str, np.ndarray[Any, Any]]:
    """The arrays by name, read-only and shared."""
    return {name: numpy_of(a) for name, a in x._constituents(True)[1].items()}


def _signed(indices: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    # Entries are below 2^31 or 2^63, so that the bytes are the same signed.
    return indices.view(f"i{indices.itemsize}") if indices.dtype.kind == "u" and indices.itemsize >= 4 else indices


def _values(x: Tensor) -> np.ndarray[Any, Any]:
    values = numpy_of(x.stored_values())
    return values if values.flags.c_contiguous else np.ascontiguousarray(values)


def _zero_fill(x: Tensor, what: str) -> None:
    fill = x.fill_value
    if x.fill_kind != "scalar" or fill != 0:
        said = {"undefined": "undefined", "array": "an array", "scalar": repr(fill), "none": "none"}[x.fill_kind]
        raise ValueError(f"{what}: a fill of 0 is needed, this one is {said}: with_fill(0) or replace_fill(0) give one")


def to_scipy(x: Tensor, format: str | None = None) -> Any:
    """A `scipy.sparse` array over the same memory: of the tensor's own format if SciPy has it, else CSR for matrices and COO
    for others. The fill has to be 0. Arrays are read-only; strided tensors are made sparse first."""
    import scipy.sparse as sp

    if x.is_strided:
        x = op("to_sparse")(x, format if format in ("csr", "csc", "coo") else "coo" if x.ndim != 2 else "csr", 0)
    _zero_fill(x, "to_scipy")
    x = op("coalesce")(x)
    own = x.layout[:3]
    wanted = format or (own if own in ("csr", "csc", "coo", "bsr") else "csr" if x.ndim == 2 else "coo")
    if wanted not in ("csr", "csc", "coo", "bsr"):
        return to_scipy(x, "coo").asformat(wanted)
    if wanted != own or x.ndim != 2 and wanted != "coo" or x.layout.startswith("coo+"):
        if wanted == "bsr":
            return to_scipy(x, "csr").tobsr()
        x = op("to_layout")(x, wanted)
    values = _values(x)
    arrays = parts(x)
    if wanted == "coo":
        coordinates = tuple(_signed(arrays[f"indices_{axis}"]) for axis in range(x.ndim))
        made = sp.coo_array((values, coordinates), shape=x.shape)
        made.has_canonical_format = True
        return made
    make = {"csr": sp.csr_array, "csc": sp.csc_array, "bsr": sp.bsr_array}[wanted]
    triple = (values, _signed(arrays["indices_1"]), _signed(arrays["pointers_to_1"]))
    made = make(triple, shape=x.shape)
    made.has_canonical_format = True
    return made


def to_pydata(x: Tensor, format: str | None = None) -> Any:
    """An array of pydata/sparse with the same fill: `COO`, or `GCXS` if `format="gcxs"`."""
    import sparse

    if x.is_strided:
        x = op("to_sparse")(x, "coo", 0)
    if x.fill_kind != "scalar":
        raise ValueError(f"to_pydata: a fill of one value is needed, this one is {x.fill_kind}")
    x = op("to_layout")(x, "coo")
    values = _values(x)
    if x.ndim == 0:
        coordinates = np.zeros((0, len(values)), dtype=np.int64)
    else:
        coordinates = np.ascontiguousarray(numpy_of(op("indices")(x)).T)
    fill = values.dtype.type(x.fill_value)
    made = sparse.COO(coordinates, values, shape=x.shape, fill_value=fill, has_duplicates=False, sorted=True)
    return made if format in (None, "coo") else made.asformat(format)


def to_torch(x: Tensor) -> Any:
    """A PyTorch tensor: strided, COO, CSR, CSC, BSR or BSC as this is, else COO. The fill has to be 0. Values are copied,
    for PyTorch's tensors may be written."""
    import torch

    def strided(a: Any) -> Any:
        return torch.from_numpy(np.array(a, order="C"))

    def valued(values: Tensor) -> Any:
        # NumPy has no bfloat16: it crosses as float32, which has all its numbers.
        made = strided(numpy_of(values))
        return made.to(torch.bfloat16) if values.dtype == "bfloat16" else made

    if x.is_strided:
        return valued(x)
    _zero_fill(x, "to_torch")
    x = op("coalesce")(x)
    kind = x.layout[:3]
    if kind not in ("csr", "csc", "bsr", "bsc") or x.ndim != 2:
        x = op("to_layout")(x, "coo")
        places = strided(numpy_of(op("indices")(x)).T)
        values = valued(x.stored_values())
        return torch.sparse_coo_tensor(places, values, x.shape, is_coalesced=True, check_invariants=False)
    arrays = parts(x)
    make = getattr(torch, f"sparse_{kind}_tensor")
    pointers, indices = (_signed(arrays[name]).astype(np.int64) for name in ("pointers_to_1", "indices_1"))
    return make(strided(pointers), strided(indices), valued(x.stored_values()), x.shape, check_invariants=False)
