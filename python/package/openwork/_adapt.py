"""What the functions of `_ops.py` need to fold flags and forms of arguments; types of arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional, Union

import numpy as np

from ._core import Tensor, op

Axes = Optional[Union[int, Sequence[int]]]
DTypeLike = Any
Fill = Any


class TopK(NamedTuple):
    """The elements and where they are."""

    values: Tensor
    indices: Tensor


class UniqueAll(NamedTuple):
    """Distinct elements, where each comes first, which of them each element is, how often each occurs."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Distinct elements, and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Distinct elements, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


def as_tensor(x: Any) -> Tensor:
    """The tensor that an object is, or that is made of it."""
    if isinstance(x, Tensor):
        return x
    from ._make import asarray

    return asarray(x)


def _side(side: str, left: Any, right: Any) -> Any:
    if side not in ("left", "right"):
        raise ValueError(f"side is 'left' or 'right', not {side!r}")
    return left if side == "left" else right


def _on(device: str | None, x: Any) -> Any:
    """`x`, if the device is the one there is."""
    if device not in (None, "cpu"):
        raise ValueError(f"device: {device!r} is unknown; tensors are on 'cpu'")
    return x


def _sizes(x: Any, shape: int | Sequence[int], *more: int) -> tuple[int, ...]:
    """A shape, whole or size by size, with the size that -1 stands for."""
    if type(shape) is tuple and not more and -1 not in shape:
        return shape  # as most are
    given = (shape, *more) if isinstance(shape, (int, np.integer)) else shape
    if more and given is shape:
        raise TypeError("reshape: a shape is one sequence, or sizes alone")
    sizes = tuple(map(operator.index, given))
    unknown = [i for i, n in enumerate(sizes) if n == -1]
    if not unknown:
        return sizes
    if len(unknown) > 1:
        raise ValueError(f"reshape: -1 stands for one size, {sizes} has several")
    known = 1
    for n in sizes:
        known *= 1 if n == -1 else n
    total = as_tensor(x).size
    if known == 0 or total % known:
        raise ValueError(f"reshape: {total} elements do not divide into {sizes}")
    return tuple(total // known if n == -1 else n for n in sizes)


def _axes(axes: Any, *more: int) -> Any:
    """An order of axes, whole or axis by axis."""
    return (axes, *more) if isinstance(axes, (int, np.integer)) else axes


def _rounded(x: Any, decimals: int) -> Tensor:
    """Multiples of a power of ten, as NumPy computes them."""
    x, whole = as_tensor(x), op("round")
    if decimals == 0 or (x.dtype.kind in "biu" and decimals > 0):
        return whole(x)
    scale = 10.0 ** abs(decimals)
    out = whole(x * scale) / scale if decimals > 0 else whole(x / scale) * scale
    return op("cast")(out, x.dtype) if x.dtype.kind in "biu" else out


def _in_layout(x: Any, layout: str, fill_value: Fill) -> Tensor:
    """Sparse over a fill: over its own, or of a strided tensor over 0, where none is given."""
    x = as_tensor(x)
    if fill_value is not ...:
        return op("to_sparse")(x, layout, fill_value)
    if not x.is_strided:
        return op("to_layout")(x, layout)
    return op("to_sparse")(x, layout, False if x.dtype == np.bool_ else 0)


def _integers(values: Any) -> Any:
    """An integer, or a list of them."""
    if isinstance(values, Tensor):
        values = values.to_numpy()
    return values.tolist() if isinstance(values, np.ndarray) else values


def _pair(axes: Any) -> Any:
    """How many axes, or those of one operand and those of the other."""
    return tuple(axes) if isinstance(axes, list) else axes


def _shifts(shift: Any, axis: Any) -> Any:
    """A shift for each axis: one is for all of them."""
    shift = _integers(shift)
    return [shift] * len(axis) if isinstance(shift, int) and isinstance(axis, (list, tuple)) else shift


def _joined(prepend: Any, x: Any, append: Any, axis: int) -> Any:
    if prepend is None and append is None:
        return x
    return op("concat")([a for a in (prepend, x, append) if a is not None], axis)


def _running(
    x: Any, axis: int | None, dtype: Any, include_initial: bool, plain: Any, typed: Any, initial: Any
) -> Any:
    x = as_tensor(x)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"axis is needed: the tensor has {x.ndim} axes, and without it one is allowed")
        axis = 0
    if include_initial:
        return initial(x if dtype is None else op("cast")(x, dtype), axis)
    return plain(x, axis) if dtype is None else typed(x, dtype, axis)


def _widths(x: Any, widths: Any) -> list[tuple[int, int]]:
    """A pair for each axis, of any form that `numpy.pad` takes."""
    ndim = as_tensor(x).ndim
    pairs = np.broadcast_to(np.asarray(widths, dtype=np.int64), (ndim, 2))
    if (pairs < 0).any():
        raise ValueError(f"widths are 0 or more, not {widths}")
    return [(int(before), int(after)) for before, after in pairs]


def _border(mode: str, value: Any) -> Any:
    if mode != "constant":
        if value is not None:
            raise ValueError(f"value is for mode 'constant', not for {mode!r}")
        return mode
    return value


def vectorised(f: Callable[[Any], Any], values: Tensor) -> Tensor:
    """What a function of NumPy arrays makes of a strided tensor."""
    given = values.to_numpy(copy=True)
    made = np.asarray(f(given))
    if made.shape != given.shape:
        raise ValueError(f"the function made shape {made.shape} of {given.shape}: it has to work element by element")
    return as_tensor(made)
