"""One N-dimensional tensor for dense and sparse data: any storage layout, any fill value, one meaning.

>>> import openwork as ow
>>> x = ow.sparse_coo_tensor([[0, 1, 2], [0, 1, 1]], [3.0, 2.0, 4.0], (3, 3), fill_value=0.0)
>>> y = x - x.mean(axis=0, keepdims=True)
>>> y.nse, y.fill_kind
(3, 'array')

Functions are those of the array API (`sum`, `matmul`, `concat`, …) and of the library's catalogue; each that takes a
tensor first is a method of `Tensor` too. An unstored element is the *fill*: a number, an array, or, with
`fill_value=None`, absent.
"""

import os as _os
from typing import Any as _Any

import numpy as _np

from . import _context, _core, _dtypes, _elsewhere, _info, _interop, _make, _numpy, _ops, _protocol, _show, linalg, vjp
from ._adapt import as_tensor as _as_tensor, vectorised as _vectorised
from ._context import DensifyError, Step, config, densify_budget, explain
from ._core import Tensor
from ._dtypes import (
    bfloat16, bool, can_cast, complex64, complex128, finfo, float16, float32, float64, iinfo, int8, int16, int32, int64,
    isdtype, result_type, uint8, uint16, uint32, uint64,
)  # fmt: skip
from ._elsewhere import of_module as __getattr__
from ._files import (
    Archive, info, load, load_state_dict, open_state_dict, read, save, save_state_dict, torch_state_dict,
)  # fmt: skip
from ._info import array_namespace_info as __array_namespace_info__
from ._make import (
    arange, asarray, broadcast_arrays, broadcast_shapes, empty, empty_like, eye, from_dlpack, full, full_like, isin, linspace,
    meshgrid, ones, ones_like, rand, randn, random, zeros, zeros_like,
)  # fmt: skip
from ._ops import *  # noqa: F403
from ._protocol import from_binsparse
from ._show import spy
from ._sparse import sparse_coo_tensor, sparse_csc_tensor, sparse_csr_tensor

__version__ = "0.1.0"
__array_api_version__ = "2025.12"

e = _np.e
pi = _np.pi
inf = _np.inf
nan = _np.nan
newaxis = None


def einsum_path(equation: str, /, *operands: _Any) -> str:
    """How `einsum` would carry out an equation on these operands, without doing it: a line for each product, with its kernel
    and about how many terms and elements it has."""
    return _core.einsum_path(equation, operands)


def _operand(other: object) -> "Tensor | None":
    """What an operator makes of what stands beside a tensor: `None` for what is no array."""
    if isinstance(other, (list, tuple, str, bytes, set)) or not (
        hasattr(other, "shape") or hasattr(other, "__array__") or hasattr(other, "__dlpack__")
    ):
        return None
    return asarray(other)


def _operand_or_number(other: object) -> _Any:
    return other if isinstance(other, (int, float, Tensor)) else _operand(other)


def _install() -> None:
    """Gives the compiled half what it calls, and the class its methods."""
    _core.set_dtypes(_dtypes.DTYPES, _dtypes.parse)
    _core.set_exceptions(_np.exceptions.AxisError, _np.linalg.LinAlgError, DensifyError)
    _core.set_converters(_as_tensor, _operand)
    for name in _ops.METHODS:
        setattr(Tensor, name, getattr(_ops, name))
    _numpy.install()

    def to_device(self: Tensor, device: str, /, *, stream: object = None) -> Tensor:
        """The tensor itself: there is one device."""
        if stream is not None:
            raise ValueError("stream: main memory has none, give None")
        if device != "cpu":
            raise ValueError(f"device: {device!r} is unknown; tensors are on 'cpu'")
        return self

    def todense(self: Tensor, *, absent: object = None) -> object:
        """The tensor as an array of NumPy."""
        return self.to_numpy(absent=absent)

    def tolist(self: Tensor) -> object:
        """The elements as nested lists."""
        return self.to_numpy().tolist()

    def arrays(self: Tensor) -> "dict[str, object]":
        """The arrays that are stored, by the names of binsparse (`pointers_to_1`, `indices_1`, `values`), as read-only
        arrays over the same memory."""
        if self.is_strided:
            return {"values": self.to_numpy()}
        return dict(_interop.parts(self))

    def apply_stored(self: Tensor, f: _Any) -> Tensor:
        """`f` of the stored values, all at once as an array of NumPy; the fill stays what it is."""
        if self.is_strided:
            return _vectorised(f, self)
        values = _vectorised(f, self.stored_values())
        return self.with_stored_values(values, fill_value=_fill(self))

    def map(self: Tensor, f: _Any) -> Tensor:
        """`f` of every element: called with the stored values as an array of NumPy, and with the fill."""
        if self.is_strided:
            return _vectorised(f, self)
        values = _vectorised(f, self.stored_values())
        fill = None if self.fill_kind == "undefined" else _vectorised(f, _as_tensor(self.fill_value).astype(self.dtype))
        return self.with_stored_values(values, fill_value=fill)

    def divmod_(self: Tensor, other: _Any) -> _Any:
        made = _operand_or_number(other)
        return NotImplemented if made is None else (self // made, self % made)

    def rdivmod(self: Tensor, other: _Any) -> _Any:
        made = _operand_or_number(other)
        return NotImplemented if made is None else (made // self, made % self)

    def sizeof(self: Tensor) -> int:
        """With the memory that the tensor holds, shared with others or not."""
        return object.__sizeof__(self) + self.nbytes

    def copy(self: Tensor) -> Tensor:
        """The tensor itself, for it never changes."""
        return self

    members = {
        "__array_namespace__": _info.array_namespace,
        "__binsparse_descriptor__": _protocol.binsparse_descriptor,
        "__binsparse__": _protocol.binsparse,
        "__reduce_ex__": _protocol.reduce_ex,
        "__copy__": copy,
        "__divmod__": divmod_,
        "__dir__": _elsewhere.names,
        "__rdivmod__": rdivmod,
        "__sizeof__": sizeof,
        "__deepcopy__": lambda self, memo: self,
        "_repr_html_": _show.repr_html,
        "to_device": to_device,
        "to_scipy": _interop.to_scipy,
        "to_pydata": _interop.to_pydata,
        "to_torch": _interop.to_torch,
        "todense": todense,
        "tolist": tolist,
        "arrays": arrays,
        "apply_stored": apply_stored,
        "map": map,
        "copy": copy,
        "__array_priority__": 1000,  # before arrays of NumPy and SciPy, where they ask
    }
    for name, member in members.items():
        setattr(Tensor, name, member)
    for name in _elsewhere.TENSOR:
        setattr(Tensor, name, _elsewhere.OfTensor(name))
    if hasattr(_os, "register_at_fork"):
        # Threads of the parent are not in a child: ops there start their own.
        _os.register_at_fork(after_in_child=_core.after_fork)


def _fill(x: Tensor) -> object:
    """The fill as an argument, with its dtype."""
    if x.fill_kind == "undefined":
        return None
    return _as_tensor(x.fill_value).astype(x.dtype)


_install()

__all__ = [
    "Archive", "DensifyError", "Step", "Tensor", "__array_api_version__", "__array_namespace_info__", "__version__", "arange",
    "asarray", "bfloat16", "bool", "broadcast_arrays", "broadcast_shapes", "can_cast", "complex64", "complex128", "config",
    "densify_budget", "e", "einsum_path", "empty", "empty_like", "explain", "eye", "finfo", "float16", "float32", "float64",
    "from_binsparse", "from_dlpack", "full", "full_like", "iinfo", "inf", "info", "int8", "int16", "int32", "int64",
    "isdtype", "isin", "linalg", "linspace", "load", "load_state_dict", "meshgrid", "nan", "newaxis", "ones", "ones_like",
    "open_state_dict", "pi", "rand", "randn", "random", "read", "result_type", "save", "save_state_dict",
    "sparse_coo_tensor", "sparse_csc_tensor", "sparse_csr_tensor", "spy", "torch_state_dict", "uint8", "uint16", "uint32",
    "uint64", "zeros", "zeros_like",
]  # fmt: skip
__all__ += _ops.__all__
