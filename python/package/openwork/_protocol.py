"""The in-memory binsparse protocol, and pickles, which are made of it."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core
from ._adapt import _on
from ._core import Tensor, op


def binsparse_descriptor(self: Tensor) -> dict[str, Any]:
    """What the arrays of `__binsparse__` mean: in the words of binsparse 0.1 where these suffice, else with the name space
    `openwork`, which this library alone reads (undefined and array fills, blocks, half precision)."""
    return _taken_apart(self)[0]


def binsparse(self: Tensor, *, descriptor: Any = None) -> dict[str, Tensor]:
    """The arrays by name: strided tensors, which share memory and have `__dlpack__`."""
    if descriptor is not None and descriptor != binsparse_descriptor(self):
        raise ValueError("__binsparse__: tensors give their own descriptor alone; to_layout makes others")
    return _taken_apart(self)[1]


def _taken_apart(x: Tensor) -> tuple[dict[str, Any], dict[str, Tensor]]:
    if x.is_strided:
        raise TypeError("__binsparse__: a strided tensor is one array, which __dlpack__ gives; to_sparse makes a sparse one")
    try:
        text, arrays = x._constituents(False)
    except ValueError:
        text, arrays = x._constituents(True)
    return json.loads(text), arrays


def from_binsparse(x: Any, /, *, descriptor: Any = None, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor of an object that has `__binsparse_descriptor__` and `__binsparse__`. Values are shared; indices are copied,
    for their owner could write them, which `copy=False` makes an error. Everything is checked."""
    _on(device, None)
    if isinstance(x, Tensor):
        return x
    if not (hasattr(x, "__binsparse_descriptor__") and hasattr(x, "__binsparse__")):
        raise AttributeError(f"a {type(x).__name__} has no __binsparse_descriptor__ and __binsparse__")
    said = x.__binsparse_descriptor__() if descriptor is None else descriptor
    if not isinstance(said, dict):
        raise ValueError(f"__binsparse_descriptor__ gave a {type(said).__name__}, a dict is needed")
    arrays = x.__binsparse__() if descriptor is None else x.__binsparse__(descriptor=descriptor)
    if copy is False:
        raise ValueError("from_binsparse: copy=False, and indices have to be copied: who owns them could write them")
    from ._make import asarray

    taken = [(str(name), asarray(a, copy=copy)) for name, a in dict(arrays).items()]
    return _core.from_constituents(json.dumps(said), taken)


def reduce_ex(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """For pickle: arrays are NumPy's, whose memory protocol 5 hands on out of band."""
    from ._interop import numpy_of

    narrow = self.dtype if self.dtype == "bfloat16" else None
    x = op("cast")(self, "float32") if narrow is not None else self
    if self.is_strided:
        return _strided, (numpy_of(x), narrow)
    text, arrays = x._constituents(True)
    return _sparse, (text, {name: numpy_of(a) for name, a in arrays.items()}, narrow)


def _strided(values: np.ndarray[Any, Any], narrow: Any) -> Tensor:
    from ._make import asarray

    x = asarray(values)
    return x if narrow is None else op("cast")(x, narrow)


def _sparse(text: str, arrays: dict[str, Any], narrow: Any) -> Tensor:
    x = _core.from_constituents(text, list(arrays.items()))
    return x if narrow is None else op("cast")(x, narrow)
