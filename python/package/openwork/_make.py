"""Tensors made of what Python has: numbers, lists, arrays of other libraries, coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _core, _dtypes, _interop
from ._adapt import _on
from ._core import Tensor, op

_broadcast_to, _cast, _reshape = op("broadcast_to"), op("cast"), op("reshape")


def asarray(obj: Any, /, *, dtype: Any = None, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor of an object: numbers and nested lists become strided tensors; arrays of NumPy and of other libraries are
    shared where they can be (`copy=False` is an error where they cannot, `copy=True` always copies); sparse ones of
    SciPy, pydata/sparse, PyTorch and pandas keep their layout and fill.

    Who writes to a shared array changes the tensor: copy what will change.
    """
    if device is not None:
        _on(device, None)
    x = obj if isinstance(obj, Tensor) else _of(obj, dtype, copy)
    if dtype is not None and x.dtype != _dtypes.DTYPES[_dtypes.parse(dtype)]:
        if copy is False:
            raise ValueError(f"asarray: copy=False, and {x.dtype} becomes {dtype}, which needs a copy")
        return _cast(x, dtype)
    # A tensor never changes, so a copy of one is the tensor itself.
    return x


def _of(obj: Any, dtype: Any, copy: bool | None) -> Tensor:
    if isinstance(obj, np.ndarray):
        return _of_numpy(obj, copy)
    if isinstance(obj, np.generic):
        return _of_numpy(np.asarray(obj), copy)
    if isinstance(obj, (bool, int, float, complex, list, tuple)):
        if copy is False:
            raise ValueError("asarray: copy=False, and Python's numbers and lists have to be copied")
        return _of_numbers(obj, dtype)
    made = _interop.of_library(obj, copy)
    if made is not None:
        return made
    if hasattr(obj, "__binsparse_descriptor__"):
        from ._protocol import from_binsparse

        return from_binsparse(obj, copy=copy)
    if hasattr(obj, "__dlpack__"):
        return from_dlpack(obj, copy=copy)
    if hasattr(obj, "__array__"):
        return _of_numpy(np.asarray(obj), copy)
    if isinstance(obj, range):
        return arange(obj.start, obj.stop, obj.step)
    if not isinstance(obj, (bytes, bytearray)):
        try:
            memory = memoryview(obj)
        except TypeError:
            pass  # What has no memory to show is told below what it is not.
        else:
            return _of_numpy(np.asarray(memory), copy)
    raise TypeError(f"a {type(obj).__name__} is no array, number or list")


def _of_numbers(obj: Any, dtype: Any) -> Tensor:
    if isinstance(obj, (list, tuple)) and any(isinstance(v, Tensor) for v in obj):
        return op("stack")(list(obj), 0)
    wanted = None if dtype is None else _dtypes.parse(dtype)
    try:
        # Integers of 64 bits go straight to their dtype: through float64 they would be rounded.
        array = np.asarray(obj, dtype=wanted if wanted and wanted != "bfloat16" else None)
    except OverflowError as e:
        raise OverflowError(f"asarray: {e}") from None
    except ValueError as e:
        raise ValueError(f"asarray: {e}") from None
    return _of_numpy(array, None)


def _of_numpy(array: np.ndarray[Any, Any], copy: bool | None) -> Tensor:
    if isinstance(array, np.ma.MaskedArray) and np.ma.is_masked(array):
        raise TypeError(
            "asarray: elements are masked; openwork.to_sparse_where(a.data, ~a.mask, fill_value=None) keeps them absent, "
            "a.filled(value) gives them a value"
        )
    if copy is None:
        try:
            return _core.from_dlpack(array)
        except BufferError:
            pass  # What cannot be shared is looked at below.
    dtype = array.dtype
    if dtype.kind not in "biufc" or dtype.newbyteorder("=").name not in _dtypes.DTYPES:
        raise TypeError(f"asarray: tensors have no dtype {dtype}; known are {', '.join(_dtypes.DTYPES)}")
    needed = None
    if not dtype.isnative:
        needed = f"{dtype!r} has the other byte order"
    elif any(stride % dtype.itemsize for stride in array.strides):
        needed = "its strides are no multiples of its elements"
    elif dtype.kind == "b" and copy is False:
        needed = "truth values are copied, for what is shared could become neither true nor false"
    elif not array.flags.aligned:
        needed = "its elements are not aligned"
    if needed and copy is False:
        raise ValueError(f"asarray: copy=False, and the array has to be copied: {needed}")
    if needed or copy:
        array = array.astype(dtype.newbyteorder("="), order="C", copy=True)
    return _core.from_dlpack(array)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A strided tensor over an array that has `__dlpack__`, sharing its memory unless `copy=True`."""
    _on(device if not isinstance(device, tuple) else ("cpu" if device == (1, 0) else str(device)), None)
    if isinstance(x, Tensor) and not x.is_strided:
        raise BufferError(f"from_dlpack: the layout is {x.layout}; only strided tensors are one array")
    where = x.__dlpack_device__() if hasattr(x, "__dlpack_device__") else (1, 0)
    if where[0] != 1:
        raise BufferError(f"from_dlpack: the array is on device {where}, tensors are on (1, 0), the CPU: move it there")
    made = _core.from_dlpack(x)
    return _of_numpy(np.from_dlpack(made), True) if copy else made


def _dtype(dtype: Any, default: Any = _dtypes.float64) -> Any:
    return default if dtype is None else dtype


def full(
    shape: int | Sequence[int], fill_value: Any, *, dtype: Any = None, device: str | None = None, layout: str = "strided"
) -> Tensor:
    """One value everywhere: one element of memory in any layout."""
    _on(device, None)
    return _core.full(shape, fill_value, dtype, layout)


def zeros(
    shape: int | Sequence[int], *, dtype: Any = None, device: str | None = None, layout: str = "strided"
) -> Tensor:
    """Zeros; sparse, a fill with nothing stored."""
    _on(device, None)
    return _core.full(shape, 0, _dtype(dtype), layout)


def ones(
    shape: int | Sequence[int], *, dtype: Any = None, device: str | None = None, layout: str = "strided"
) -> Tensor:
    """Ones; sparse, a fill with nothing stored."""
    _on(device, None)
    return _core.full(shape, 1, _dtype(dtype), layout)


def empty(
    shape: int | Sequence[int],
    *,
    dtype: Any = None,
    device: str | None = None,
    layout: str = "strided",
    fill_value: Any = 0,
) -> Tensor:
    """A tensor that stores nothing (`fill_value=None`: nothing is there at all); strided, zeros."""
    _on(device, None)
    if layout == "strided":
        return _core.full(shape, fill_value, _dtype(dtype), layout)
    return _core.empty(shape, _dtype(dtype), layout, fill_value)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """One value everywhere, with the shape and dtype of `x`; sparse where `x` is."""
    x = asarray(x)
    _on(device, None)
    return _core.full(x.shape, fill_value, x.dtype if dtype is None else dtype, "strided" if x.is_strided else x.layout)


def zeros_like(x: Any, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros with the shape and dtype of `x`; sparse where `x` is."""
    return full_like(x, 0, dtype=dtype, device=device)


def ones_like(x: Any, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Ones with the shape and dtype of `x`; sparse where `x` is."""
    return full_like(x, 1, dtype=dtype, device=device)


def empty_like(x: Any, /, *, dtype: Any = None, device: str | None = None) -> Tensor:
    """Zeros with the shape and dtype of `x`; sparse where `x` is."""
    return full_like(x, 0, dtype=dtype, device=device)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: str | None = None
) -> Tensor:
    """`start, start + step, …` before `stop`."""
    _on(device, None)
    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: the step is 0")
    if (stop - start) * step <= 0:
        default = _dtypes.int64 if all(isinstance(v, int) for v in (start, stop, step)) else _dtypes.float64
        return zeros((0,), dtype=_dtype(dtype, default))
    made = _core.arange(start, stop, step)
    return made if dtype is None else _cast(made, dtype)


def linspace(
    start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: str | None = None, endpoint: bool = True
) -> Tensor:
    """`num` numbers at equal distances from `start` to `stop`, which is among them unless `endpoint=False`."""
    _on(device, None)
    if isinstance(start, complex) or isinstance(stop, complex):
        start, stop = complex(start), complex(stop)
        real = linspace(start.real, stop.real, num, endpoint=endpoint)
        made = real + 1j * linspace(start.imag, stop.imag, num, endpoint=endpoint)
    elif endpoint:
        made = _core.linspace(start, stop, num)
    else:
        made = _core.linspace(start, stop, num + 1)[:-1]
    return made if dtype is None else _cast(made, dtype)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: str | None = None,
    layout: str = "strided",
) -> Tensor:
    """Ones on a diagonal, `k` above the main one, zeros elsewhere."""
    _on(device, None)
    n_cols = n_rows if n_cols is None else n_cols
    if n_rows == n_cols and k == 0:
        return _core.eye(n_rows, _dtype(dtype), layout)
    first, last = max(0, -k), min(n_rows, n_cols - k)
    # Before the arithmetic of arrays: a diagonal far outside has places that no integer of theirs holds.
    rows = np.arange(first, last) if first < last else np.zeros(0, dtype=np.int64)
    k = k if first < last else 0
    values = full(rows.size, 1, dtype=_dtype(dtype))
    return op("to_layout")(_core.coo((n_rows, n_cols), [rows, rows + k], values, 0), layout)


def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    """Tensors broadcast against each other to one shape."""
    all_ = [asarray(a) for a in arrays]
    shape = broadcast_shapes(*(a.shape for a in all_))
    return tuple(_broadcast_to(a, shape) for a in all_)


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which shapes broadcast together."""
    return tuple(int(n) for n in np.broadcast_shapes(*shapes))


def meshgrid(*arrays: Any, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Coordinates of a grid, one tensor for each vector."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is 'xy' or 'ij', not {indexing!r}")
    all_ = [asarray(a) for a in arrays]
    if any(a.ndim != 1 for a in all_):
        raise ValueError("meshgrid: vectors are needed")
    if len({a.dtype for a in all_}) > 1:
        raise ValueError("meshgrid: all vectors have to have one dtype")
    n = len(all_)
    place = list(range(n))
    if indexing == "xy" and n > 1:
        place[0], place[1] = 1, 0
    sizes = [0] * n
    for i, a in enumerate(all_):
        sizes[place[i]] = a.shape[0]
    return tuple(
        _broadcast_to(_reshape(a, tuple(a.shape[0] if d == place[i] else 1 for d in range(n))), tuple(sizes))
        for i, a in enumerate(all_)
    )


def isin(x1: Any, x2: Any, /, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element of `x1` is among those of `x2`: of the shape and layout of `x1`; NaN is among none."""
    del assume_unique
    a = asarray(x1 if hasattr(x1, "dtype") or not hasattr(x2, "dtype") else full((), x1, dtype=x2.dtype))
    b = asarray(x2 if hasattr(x2, "dtype") else full((), x2, dtype=a.dtype))
    found = op("isin")(a, b)
    return op("logical_not")(found) if invert else found


def rand(shape: int | Sequence[int], seed: int) -> Tensor:
    """Numbers uniform in [0, 1), the same for the same seed."""
    return _core.rand(shape, seed)


def randn(shape: int | Sequence[int], seed: int) -> Tensor:
    """Numbers of the normal distribution with mean 0 and variance 1, the same for the same seed."""
    return _core.randn(shape, seed)


def random(
    shape: int | Sequence[int], density: float, *, fill_value: Any = 0, layout: str = "coo", seed: int
) -> Tensor:
    """About `density · size` numbers uniform in [0, 1) at distinct random places; the rest is the fill."""
    return _core.random(shape, density, fill_value, layout, seed)
