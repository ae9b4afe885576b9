"""Sparse tensors from their arrays, with the signatures of PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, _dtypes
from ._adapt import _on
from ._core import Tensor
from ._make import asarray


def sparse_coo_tensor(
    indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    fill_value: Any = None,
    dtype: Any = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A COO tensor of coordinates `indices`, of shape (axes, number stored), and `values`. What is stored several times
    means the sum.

    `fill_value=None` is *undefined*: what is not stored is absent, not zero. Give `fill_value=0` for a matrix of linear
    algebra. A fill with a dtype has to have that of the values, unless there are no values; a Python number takes it.
    Further axes of `values` are the last axes of the tensor, stored densely. Without a `size` it is the least that holds
    the coordinates.
    """
    values, fill_value = _parts(values, fill_value, dtype, device, requires_grad)
    rows = _rows(indices)
    if size is None:
        size = [*(int(row.max()) + 1 if row.size else 0 for row in rows), *values.shape[1:]]
    return _core.coo(size, rows, values, fill_value)


def _rows(indices: Any) -> list[np.ndarray[Any, Any]]:
    """The coordinates by axis, each of a dtype of its own: together in an array, some would be rounded to floats."""
    if isinstance(indices, (list, tuple)) and any(hasattr(row, "dtype") for row in indices):
        rows = [_integers("indices", row) for row in indices]
        if any(row.ndim != 1 or row.shape != rows[0].shape for row in rows):
            raise ValueError(f"indices are vectors of one length, not of shapes {', '.join(str(row.shape) for row in rows)}")
        return rows
    coordinates = _integers("indices", indices)
    if coordinates.ndim != 2:
        raise ValueError(f"indices have shape (axes, number stored), not {coordinates.shape}")
    return list(coordinates)


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    fill_value: Any = None,
    dtype: Any = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A CSR tensor: `crow_indices` say where each row begins, `col_indices` in which column each value is, rising within a
    row. `fill_value=None` is *undefined*: what is not stored is absent, not zero. Else as `sparse_coo_tensor`.
    """
    return _compressed("csr", crow_indices, col_indices, values, size, fill_value, dtype, device, requires_grad)


def sparse_csc_tensor(
    ccol_indices: Any,
    row_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    fill_value: Any = None,
    dtype: Any = None,
    device: str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A CSC tensor: as `sparse_csr_tensor` with rows and columns exchanged."""
    return _compressed("csc", ccol_indices, row_indices, values, size, fill_value, dtype, device, requires_grad)


def _compressed(
    kind: str, pointers: Any, indices: Any, values: Any, size: Any, fill_value: Any, dtype: Any, device: Any, grad: bool
) -> Tensor:
    values, fill_value = _parts(values, fill_value, dtype, device, grad)
    pointers, indices = _integers("pointers", pointers), _integers("indices", indices)
    if pointers.ndim != 1 or indices.ndim != 1:
        raise ValueError("pointers and indices are vectors; batches come one after the other, see to_layout")
    if size is None:
        lines, across = len(pointers) - 1, int(indices.max()) + 1 if indices.size else 0
        size = (lines, across) if kind == "csr" else (across, lines)
    return _core.compressed(kind, size, pointers, indices, values, fill_value, False)


def _integers(name: str, given: Any) -> np.ndarray[Any, Any]:
    array = given.to_numpy() if isinstance(given, Tensor) else np.asarray(given)
    if array.size == 0 and array.dtype.kind == "f" and isinstance(given, (list, tuple)):
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} are integers, not {array.dtype}")
    return array


# Which dtypes a Python number may stand for, as where it meets a tensor.
_NUMBERS: tuple[tuple[type, str | tuple[str, ...]], ...] = (
    (bool, "bool"),
    (int, ("integral", "real floating", "complex floating")),
    (float, ("real floating", "complex floating")),
    (complex, "complex floating"),
)


def _parts(values: Any, fill: Any, dtype: Any, device: Any, requires_grad: bool) -> tuple[Tensor, Any]:
    """Values and fill, of one dtype."""
    _on(None if str(device) == "cpu" else device, None)
    if requires_grad:
        raise ValueError("requires_grad: tensors have no gradients")
    if isinstance(values, (list, tuple)) and not values and dtype is None:
        # Nothing says the dtype but the fill.
        dtype = asarray(fill).dtype if fill is not None else None
    values = asarray(values, dtype=dtype)
    if values.ndim == 0:
        values = values.reshape(1)
    if fill is None:
        return values, None
    for kind, allowed in _NUMBERS:
        if type(fill) is kind:
            if not _dtypes.isdtype(values.dtype, allowed):
                raise TypeError(f"fill_value: {fill!r} is no {values.dtype}, the dtype of the values")
            return values, fill
    fill = asarray(fill)
    if fill.dtype != values.dtype:
        if values.size == 0 and dtype is None:
            return values.astype(fill.dtype), fill
        raise TypeError(f"fill_value: its dtype is {fill.dtype}, that of the values {values.dtype}")
    return values, fill
