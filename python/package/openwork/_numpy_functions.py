"""NumPy's functions whose parameters, or whose meaning, are not those of our function of that name: each has NumPy's
signature here and calls ours. Other functions of NumPy are called as they are (`_numpy.py`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _adapt, _make, _ops
from ._core import Tensor, op
from ._numpy_products import PRODUCTS

_tensor = _adapt.as_tensor


def transpose(a: Any, axes: Any = None) -> Tensor:
    a = _tensor(a)
    return _ops.permute_dims(a, tuple(range(a.ndim))[::-1] if axes is None else axes)


def pad(array: Any, pad_width: Any, mode: str = "constant", *, constant_values: Any = None) -> Tensor:
    array = _tensor(array)
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(axis, pad_width.get(axis - array.ndim, 0)) for axis in range(array.ndim)]
        pad_width = [(w, w) if isinstance(w, int) else w for w in pad_width]
    values = np.unique(np.asarray(0 if constant_values is None else constant_values))
    if values.size > 1:
        raise ValueError(f"pad: one value goes around a tensor, not {constant_values}: call pad for each axis")
    if mode != "constant" and constant_values is None:
        return _ops.pad(array, pad_width, mode)
    return _ops.pad(array, pad_width, mode, value=values[0].item())


def repeat(a: Any, repeats: Any, axis: int | None = None) -> Tensor:
    return _ops.repeat(a, repeats, axis=axis)


def tile(A: Any, reps: Any) -> Tensor:
    return _ops.tile(A, reps)


def roll(a: Any, shift: Any, axis: Any = None) -> Tensor:
    return _ops.roll(a, shift, axis=axis)


def fliplr(m: Any) -> Tensor:
    return _ops.flip(m, axis=1)


def flipud(m: Any) -> Tensor:
    return _ops.flip(m, axis=0)


def ravel(a: Any, order: str = "C") -> Tensor:
    return reshape(a, -1, order)


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Tensor:
    if order == "F":
        a = _tensor(a)
        sizes = _adapt._sizes(a, shape)
        return transpose(_ops.reshape(transpose(a), sizes[::-1], copy=copy))
    if order not in ("C", "A", "K"):
        raise ValueError(f"order is 'C', 'F', 'A' or 'K', not {order!r}")
    return _ops.reshape(a, shape, copy=copy)


def around(a: Any, decimals: int = 0) -> Tensor:
    return _ops.round(_tensor(a), decimals)


def fix(x: Any) -> Tensor:
    return _ops.trunc(x)


def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    del copy  # Tensors do not change.
    x = _tensor(x)
    if x.dtype.kind not in "fc" or nan == 0 and posinf is None and neginf is None:
        return _ops.nan_to_num(x)
    if x.dtype.kind == "c":
        raise TypeError("nan_to_num: of complex numbers NaN becomes 0 and nothing else is known")
    made = _ops.where(_ops.isnan(x), nan, x)
    made = made if posinf is None else _ops.where(_ops.isposinf(made), posinf, made)
    made = made if neginf is None else _ops.where(_ops.isneginf(made), neginf, made)
    return _ops.nan_to_num(made)


def isreal(x: Any) -> Tensor:
    x = _tensor(x)
    return _ops.eq(_ops.imag(x), 0) if x.dtype.kind == "c" else _make.full_like(x, True, dtype="bool")


def iscomplex(x: Any) -> Tensor:
    return _ops.logical_not(isreal(x))


def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Tensor:
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    return _ops.clip(a, low, high)


def where(condition: Any, *choices: Any) -> Any:
    if not choices:
        return _ops.nonzero(condition)
    return _ops.where(condition, *choices)


def interp(x: Any, xp: Any, fp: Any) -> Tensor:
    fp = _tensor(fp)
    if fp.dtype.kind != "c":
        return _ops.interp(x, _tensor(xp), fp)
    return _ops.interp(x, _tensor(xp), _ops.real(fp)) + _ops.interp(x, _tensor(xp), _ops.imag(fp)) * 1j


def atleast_1d(*arys: Any) -> Any:
    return _with_axes(1, arys)


def atleast_2d(*arys: Any) -> Any:
    return _with_axes(2, arys)


def _with_axes(least: int, arrays: tuple[Any, ...]) -> Any:
    tensors = [_tensor(x) for x in arrays]
    made = tuple(_ops.reshape(x, (1,) * (least - x.ndim) + x.shape) if x.ndim < least else x for x in tensors)
    return made[0] if len(made) == 1 else made


# Reductions. NumPy's median and quantiles are between the two middle elements; `openwork.median` is the lower of them.


def quantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    return _each(_ops.quantile, a, q, axis=axis, method=method, keepdims=keepdims)


def nanquantile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    return _each(_ops.nanquantile, a, q, axis=axis, method=method, keepdims=keepdims)


def percentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    return quantile(a, np.asarray(q) / 100, axis, method=method, keepdims=keepdims)


def nanpercentile(a: Any, q: Any, axis: Any = None, *, method: str = "linear", keepdims: bool = False) -> Tensor:
    return nanquantile(a, np.asarray(q) / 100, axis, method=method, keepdims=keepdims)


def median(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return quantile(a, 0.5, axis, keepdims=keepdims)


def nanmedian(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
    return nanquantile(a, 0.5, axis, keepdims=keepdims)


def _each(f: Any, a: Any, q: Any, **options: Any) -> Tensor:
    """For one `q`, or stacked for each of several."""
    several = np.asarray(q)
    if several.ndim == 0:
        return f(a, float(several), **options)
    if several.ndim > 1:
        raise ValueError(f"q is a number or a list of them, not of shape {several.shape}")
    return _ops.stack([f(a, float(one), **options) for one in several])


def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Tensor:
    if weights is None:
        return _ops.mean(a, axis=axis, keepdims=keepdims)
    a, weights = _tensor(a), _tensor(weights)
    if weights.shape != a.shape:
        if not isinstance(axis, int) or weights.shape != (a.shape[axis],):
            raise ValueError(f"average: weights have shape {weights.shape}; that of the tensor, {a.shape}, or of one axis is needed")
        weights = _ops.reshape(weights, tuple(n if i == axis % a.ndim else 1 for i, n in enumerate(a.shape)))
    total = _ops.sum(_ops.broadcast_to(weights, a.shape), axis=axis, keepdims=keepdims)
    return _ops.sum(a * weights, axis=axis, keepdims=keepdims) / total


def nansum(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    return _ops.nansum(a if dtype is None else op("cast")(_tensor(a), dtype), axis=axis, keepdims=keepdims)


def nanprod(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Tensor:
    return _ops.nanprod(a if dtype is None else op("cast")(_tensor(a), dtype), axis=axis, keepdims=keepdims)


def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Tensor:
    low, high = _ops.aminmax(a, axis, keepdims=keepdims)
    return high - low


def cumsum(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    a, axis = _along(a, axis)
    return _ops.cumulative_sum(a, axis=axis, dtype=dtype)


def cumprod(a: Any, axis: int | None = None, dtype: Any = None) -> Tensor:
    a, axis = _along(a, axis)
    return _ops.cumulative_prod(a, axis=axis, dtype=dtype)


def _along(a: Any, axis: int | None) -> tuple[Tensor, int]:
    """Without an axis NumPy takes all elements in their order."""
    return (_ops.flatten(_tensor(a)), 0) if axis is None else (_tensor(a), axis)


# Order and parts. All our sorts keep the order of equal elements, whatever `kind` asks for.


def sort(a: Any, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None) -> Tensor:
    a, axis = _along(a, axis)
    return _ops.sort(a, axis=axis)


def argsort(a: Any, axis: int | None = -1, kind: str | None = None, *, stable: bool | None = None) -> Tensor:
    a, axis = _along(a, axis)
    return _ops.argsort(a, axis=axis)


def searchsorted(a: Any, v: Any, side: str = "left") -> Tensor:
    return _ops.searchsorted(a, v, side=side)


def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Tensor:
    arr, axis = _along(arr, axis)
    return _ops.take_along_axis(arr, indices, axis=axis)


def flatnonzero(a: Any) -> Tensor:
    return _ops.nonzero(_ops.flatten(_tensor(a)))[0]


def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False) -> Tensor:
    return _make.isin(element, _tensor(test_elements), assume_unique=assume_unique, invert=invert)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Tensor:
    a = _tensor(a)

    def edge(given: Any) -> Any:
        """Numbers stand for a slice of them."""
        if given is None or _tensor(given).ndim:
            return given
        sizes = list(a.shape)
        sizes[axis] = 1
        return _ops.broadcast_to(_tensor(given), tuple(sizes))

    return _ops.diff(a, axis=axis, n=n, prepend=edge(prepend), append=edge(append))


def unique(
    ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, *, equal_nan: bool = True
) -> Any:
    if not equal_nan:
        raise ValueError("unique: NaN occurs once; equal_nan=False is not known")
    if not (return_index or return_inverse or return_counts):
        return _ops.unique_values(ar)
    made = _ops.unique_all(ar)
    asked = zip((True, return_index, return_inverse, return_counts), made)
    return tuple(part for wanted, part in asked if wanted)


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    ary = _tensor(ary)
    if isinstance(indices_or_sections, (int, np.integer)) and ary.shape[axis] % indices_or_sections:
        raise ValueError(f"split: {ary.shape[axis]} elements do not divide into {indices_or_sections} equal parts")
    return array_split(ary, indices_or_sections, axis)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
    if isinstance(indices_or_sections, (int, np.integer)):
        # So many parts, the first ones longer by one where they are not equal.
        size, parts = _tensor(ary).shape[axis], int(indices_or_sections)
        if parts < 1:
            raise ValueError(f"array_split: {parts} parts; at least 1 is needed")
        indices_or_sections = [(size // parts) * i + min(i, size % parts) for i in range(1, parts)]
    return _ops.tensor_split(ary, [int(i) for i in indices_or_sections], axis)


def hsplit(ary: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    return split(ary, indices_or_sections, 0 if _tensor(ary).ndim == 1 else 1)


def vsplit(ary: Any, indices_or_sections: Any) -> tuple[Tensor, ...]:
    return split(ary, indices_or_sections, 0)


def append(arr: Any, values: Any, axis: int | None = None) -> Tensor:
    parts = [_along(x, axis)[0] for x in (arr, values)]
    return _ops.concat(parts, axis=0 if axis is None else axis)


def vstack(tup: Sequence[Any]) -> Tensor:
    tensors = [_tensor(x) for x in tup]
    return _ops.concat([_ops.reshape(x, (1, x.size)) if x.ndim < 2 else x for x in tensors], axis=0)


def hstack(tup: Sequence[Any]) -> Tensor:
    tensors = [_tensor(x) for x in tup]
    tensors = [_ops.reshape(x, (1,)) if x.ndim == 0 else x for x in tensors]
    return _ops.concat(tensors, axis=0 if tensors and tensors[0].ndim == 1 else 1)


def column_stack(tup: Sequence[Any]) -> Tensor:
    tensors = [_tensor(x) for x in tup]
    return _ops.concat([_ops.reshape(x, (x.size, 1)) if x.ndim < 2 else x for x in tensors], axis=1)


def _like(value: Any) -> Any:
    def make(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None) -> Tensor:
        del order, subok  # There is one order of elements, and one class.
        return full_like(a, value, dtype, shape=shape, device=device)

    return make


zeros_like, ones_like, empty_like = _like(0), _like(1), _like(0)


def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Tensor:
    del order, subok
    a = _tensor(a)
    if shape is None:
        return _make.full_like(a, fill_value, dtype=dtype, device=device)
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    layout = "strided" if a.is_strided else a.layout if len(sizes) == a.ndim else "coo"
    return _make.full(sizes, fill_value, dtype=a.dtype if dtype is None else dtype, device=device, layout=layout)


def result_type(*arrays_and_dtypes: Any) -> Any:
    from . import _dtypes

    return _dtypes.result_type(*arrays_and_dtypes)


def iscomplexobj(x: Any) -> bool:
    return getattr(x.dtype, "kind", "f") == "c"


def isrealobj(x: Any) -> bool:
    return not iscomplexobj(x)


def shape(a: Any) -> tuple[int, ...]:
    return _tensor(a).shape


def ndim(a: Any) -> int:
    return _tensor(a).ndim


def size(a: Any, axis: Any = None) -> int:
    a = _tensor(a)
    if axis is None:
        return a.size
    return math.prod(a.shape[i] for i in ((axis,) if isinstance(axis, int) else axis))


FUNCTIONS = {name: f for name, f in globals().items() if callable(f) and not name.startswith("_") and name[0].islower()}
FUNCTIONS["round"] = around
FUNCTIONS.update(PRODUCTS)
del FUNCTIONS["op"]
