"""Tensors as chunks of a `dask.array`: import this module where dask is used, on every worker too (unpickling a tensor does
not need it).

>>> import openwork as ow, openwork.dask
>>> x = ow.random((1000, 50), 0.1, layout="csr", seed=1)
>>> d = ow.dask.from_tensor(x, chunks=(250, 50))
>>> d.sum(axis=0).compute().shape
(50,)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import dask.array as da
from dask.array.dispatch import concatenate_lookup, einsum_lookup, numel_lookup, tensordot_lookup
from dask.base import normalize_token
from dask.sizeof import sizeof

from ._core import Tensor, op
from ._interop import numpy_of
from ._ops import concat, einsum


@concatenate_lookup.register(Tensor)
def _concatenate(arrays: Sequence[Tensor], axis: int = 0, **_: Any) -> Tensor:
    return concat(list(arrays), axis=axis)


@tensordot_lookup.register(Tensor)
def _tensordot(a: Any, b: Any, axes: Any = 2) -> Tensor:
    return op("tensordot")(a, b, axes)


@einsum_lookup.register(Tensor)
def _einsum(equation: str, *operands: Any, **_: Any) -> Tensor:
    return einsum(equation, *operands)


@numel_lookup.register(Tensor)
def _numel(x: Tensor, axis: Any = None, keepdims: bool = False, dtype: Any = "float64", **_: Any) -> Any:
    """How many elements a mean divides by: all, stored or not."""
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    reduced = {a % x.ndim for a in axes}
    count = 1
    for a in reduced:
        count *= x.shape[a]
    shape = [1 if a in reduced else n for a, n in enumerate(x.shape) if keepdims or a not in reduced]
    from ._make import full

    return full(tuple(shape), count, dtype=dtype)


@sizeof.register(Tensor)
def _sizeof(x: Tensor) -> int:
    return x.nbytes


@normalize_token.register(Tensor)
def _token(x: Tensor) -> Any:
    if x.is_strided:
        return "openwork.Tensor", normalize_token(numpy_of(x)), str(x.dtype)
    text, arrays = x._constituents(True)
    return "openwork.Tensor", text, [normalize_token(numpy_of(a)) for a in arrays.values()], str(x.dtype)


def from_tensor(x: Tensor, chunks: Any = "auto", name: str | None = None) -> Any:
    """A dask array of windows of a tensor, which keep its layout and fill."""
    return da.from_array(x, chunks=chunks, asarray=False, name=name)


def from_blocks(load: Callable[[int], Tensor], sizes: Sequence[int], like: Tensor) -> Any:
    """A dask array whose block of rows number `i`, of `sizes[i]` rows, is `load(i)`, called where the block is needed: the
    array need never be whole anywhere. `like` is a tensor with the blocks' dtype and other sizes."""
    from dask import delayed

    meta = like[(slice(0, 0), *(slice(None),) * (like.ndim - 1))]
    blocks = [
        da.from_delayed(delayed(load)(i), shape=(n, *like.shape[1:]), dtype=like.dtype, meta=meta)
        for i, n in enumerate(sizes)
    ]
    return da.concatenate(blocks, axis=0)
