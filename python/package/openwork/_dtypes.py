"""Dtypes: NumPy's objects, and `bfloat16`, which NumPy has not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _core
from ._core import Tensor


class BFloat16:
    """The dtype `bfloat16`: 8 bits of exponent, 7 of mantissa. NumPy has none; arrays of it become `float32` there."""

    name = "bfloat16"
    kind = "V"
    itemsize = 2
    isnative = True

    def __repr__(self) -> str:
        return "openwork.bfloat16"

    __str__ = __repr__

    def __eq__(self, other: object) -> Any:
        return getattr(other, "name", other) == "bfloat16"

    def __hash__(self) -> int:
        return hash("bfloat16")

    def __reduce__(self) -> str:
        return "bfloat16"


bool = np.dtype("bool")
int8 = np.dtype("int8")
int16 = np.dtype("int16")
int32 = np.dtype("int32")
int64 = np.dtype("int64")
uint8 = np.dtype("uint8")
uint16 = np.dtype("uint16")
uint32 = np.dtype("uint32")
uint64 = np.dtype("uint64")
float16 = np.dtype("float16")
bfloat16 = BFloat16()
float32 = np.dtype("float32")
float64 = np.dtype("float64")
complex64 = np.dtype("complex64")
complex128 = np.dtype("complex128")

DTYPES: dict[str, Any] = {
    "bool": bool, "int8": int8, "int16": int16, "int32": int32, "int64": int64, "uint8": uint8, "uint16": uint16,
    "uint32": uint32, "uint64": uint64, "float16": float16, "bfloat16": bfloat16, "float32": float32,
    "float64": float64, "complex64": complex64, "complex128": complex128,
}  # fmt: skip


def parse(dtype: Any) -> str:
    """The name of the dtype that an object stands for; an error if tensors have no such dtype."""
    if isinstance(dtype, BFloat16) or getattr(dtype, "name", None) == "bfloat16" or str(dtype) == "torch.bfloat16":
        return "bfloat16"
    if isinstance(dtype, str) and dtype in DTYPES:
        return dtype
    if type(dtype).__module__ == "torch":
        dtype = str(dtype).removeprefix("torch.")
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"{dtype!r} is no dtype of tensors; known are {', '.join(DTYPES)}") from None
    if dtype is None or found.name not in DTYPES:
        raise TypeError(f"{dtype!r} is no dtype of tensors; known are {', '.join(DTYPES)}")
    if not found.isnative:
        raise TypeError(f"{dtype!r} has the other byte order: take {found.newbyteorder('=')!r}")
    return str(found.name)


KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("bool",),
    "signed integer": ("int8", "int16", "int32", "int64"),
    "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
    "real floating": ("float16", "bfloat16", "float32", "float64"),
    "complex floating": ("complex64", "complex128"),
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


def isdtype(dtype: Any, kind: Any) -> Any:
    """Whether a dtype is of a kind of the array API, is another dtype, or either of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in KINDS:
        return parse(dtype) in KINDS[kind]
    if isinstance(kind, str):
        raise ValueError(f"{kind!r} is no kind of dtypes; known are {', '.join(KINDS)}")
    return parse(dtype) == parse(kind)


def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype to which tensors, dtypes and Python numbers are promoted together."""
    numbers = [x for x in arrays_and_dtypes if type(x) in (type(True), int, float, complex)]
    typed = [x for x in arrays_and_dtypes if type(x) not in (type(True), int, float, complex)]
    if not typed:
        raise ValueError("result_type: at least one array or dtype is needed")
    found = None
    for x in typed:
        dtype = x.dtype if hasattr(x, "dtype") and hasattr(x, "shape") and not isinstance(x, (np.dtype, type)) else x
        found = DTYPES[parse(dtype)] if found is None else _core.promote(found, dtype)
    for number in numbers:
        # What the library makes of a number beside a tensor.
        found = _core.op("add")(_core.full((), 0, found, "strided"), type(number)(0)).dtype
    return found


def can_cast(from_: Any, to: Any, /) -> Any:
    """Whether a dtype, or that of a tensor, is promoted to another by being beside it."""
    dtype = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return _core.promote(dtype, to) == DTYPES[parse(to)]
    except TypeError as e:
        if "no dtype holds" in str(e):
            return False
        raise


class finfo_object(NamedTuple):
    """Limits of a floating-point dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


class iinfo_object(NamedTuple):
    """Limits of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: Any


def finfo(type: Any, /) -> finfo_object:
    """Limits of a floating-point dtype, of a complex one those of its parts."""
    name = parse(type.dtype if isinstance(type, Tensor) else type)
    if name == "bfloat16":
        most = (2 - 2**-7) * 2.0**127
        return finfo_object(16, 2.0**-7, most, -most, 2.0**-126, bfloat16)
    if not isdtype(name, ("real floating", "complex floating")):
        raise TypeError(f"finfo is for floating-point dtypes, not {name}")
    limits = np.finfo(DTYPES[name])
    numbers = (float(v) for v in (limits.eps, limits.max, limits.min, limits.smallest_normal))
    eps, most, least, normal = numbers
    return finfo_object(int(limits.bits), eps, most, least, normal, limits.dtype)


def iinfo(type: Any, /) -> iinfo_object:
    """Limits of an integer dtype."""
    name = parse(type.dtype if isinstance(type, Tensor) else type)
    if not isdtype(name, "integral"):
        raise TypeError(f"iinfo is for integer dtypes, not {name}")
    limits = np.iinfo(DTYPES[name])
    return iinfo_object(limits.bits, int(limits.max), int(limits.min), DTYPES[name])
