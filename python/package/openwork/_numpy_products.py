"""NumPy's products and norms with NumPy's signatures, as `_numpy_functions.py` has its other functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _adapt, _ops
from ._core import Tensor, op

_tensor = _adapt.as_tensor


def dot(a: Any, b: Any) -> Tensor:
    a, b = _tensor(a), _tensor(b)
    if a.ndim == 0 or b.ndim == 0:
        return _ops.mul(a, b)
    if a.ndim <= 2 and b.ndim <= 2 or b.ndim == 1:
        return _ops.matmul(a, b)
    return _ops.tensordot(a, b, axes=((a.ndim - 1,), (max(b.ndim - 2, 0),)))


def inner(a: Any, b: Any) -> Tensor:
    a, b = _tensor(a), _tensor(b)
    return _ops.mul(a, b) if a.ndim == 0 or b.ndim == 0 else _ops.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,)))


def outer(a: Any, b: Any) -> Tensor:
    return _ops.outer(_ops.flatten(_tensor(a)), _ops.flatten(_tensor(b)))


def vdot(a: Any, b: Any) -> Any:
    return _ops.vdot(_ops.flatten(_tensor(a)), _ops.flatten(_tensor(b)))


def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Tensor:
    return _ops.sum(_ops.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


def einsum(*operands: Any, dtype: Any = None, optimize: Any = None) -> Tensor:
    del optimize  # The order follows what is stored.
    if not operands:
        raise ValueError("einsum: an equation is needed")
    if not isinstance(operands[0], str):
        operands = _lettered(operands)
    equation, *tensors = operands
    if dtype is not None:
        tensors = [op("cast")(_tensor(x), dtype) for x in tensors]
    return _ops.einsum(equation, *tensors)


def _lettered(operands: Sequence[Any]) -> tuple[Any, ...]:
    """Operands and lists of numbers in turn, as an equation with its operands."""
    pairs = list(zip(operands[0::2], operands[1::2]))
    if not pairs or not all(isinstance(axes, (list, tuple)) for _, axes in pairs):
        raise TypeError("einsum: an equation is text, or each tensor is followed by a list of numbers for its axes")
    results = [operands[-1]] if len(operands) % 2 else []
    used = {axis for axes in [*(axes for _, axes in pairs), *results] for axis in axes if axis is not Ellipsis}
    if not all(isinstance(axis, (int, np.integer)) for axis in used):
        raise TypeError("einsum: axes are numbers or Ellipsis")
    if len(used) > 52:
        raise ValueError(f"einsum: {len(used)} different axes; there are letters for 52")
    # Results without a list are in the order of their names, so letters follow the order of the numbers.
    letters = dict(zip(sorted(used), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"))

    def term(axes: Sequence[Any]) -> str:
        return "".join("..." if axis is Ellipsis else letters[axis] for axis in axes)

    equation = ",".join(term(axes) for _, axes in pairs) + "".join("->" + term(axes) for axes in results)
    return (equation, *(x for x, _ in pairs))


PRODUCTS = {f.__name__: f for f in (dot, inner, outer, vdot, trace, einsum)}

# Of `numpy.linalg`.


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Tensor:
    x = _tensor(x)
    axes = (axis,) if isinstance(axis, int) else tuple(range(x.ndim)) if axis is None else tuple(axis)
    if ord is None or ord == "fro" and len(axes) == 2:
        return _ops.vector_norm(x, axis=axes, keepdims=keepdims)
    if len(axes) == 1:
        if isinstance(ord, str):
            raise ValueError(f"norm: {ord!r} is a norm of matrices")
        return _ops.vector_norm(x, axis=axes, ord=ord, keepdims=keepdims)
    if len(axes) != 2:
        raise ValueError(f"norm: {len(axes)} axes; a norm that is named is of one or two")
    from . import linalg

    if ord not in (1, -1, np.inf, -np.inf):
        moved = _ops.moveaxis(x, list(axes), [-2, -1])
        made = linalg.matrix_norm(moved, ord=ord)
        return _ops.expand_dims(made, sorted(i % x.ndim for i in axes)) if keepdims else made
    added, kept = axes if abs(ord) == 1 else axes[::-1]
    sums = _ops.sum(_ops.abs(x), axis=added, keepdims=True)
    made = (_ops.max if ord > 0 else _ops.min)(sums, axis=kept, keepdims=True)
    return made if keepdims else _ops.squeeze(made, axes)


def _lstsq(a: Any, b: Any, rcond: float | None = None) -> Tensor:
    raise TypeError("np.linalg.lstsq: it gives four things, of which we have the solution: openwork.linalg.lstsq")


LINALG: dict[str, Any] = {"norm": _norm, "lstsq": _lstsq}
