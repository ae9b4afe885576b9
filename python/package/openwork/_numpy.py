"""NumPy's protocols: its functions on tensors stay in this library."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from . import _core, _interop
from ._core import Tensor, op
from ._numpy_functions import FUNCTIONS
from ._numpy_products import LINALG

# Ufuncs whose name is another one here.
_UFUNCS = {
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "power": "pow",
    "float_power": "pow", "negative": "neg", "absolute": "abs", "fabs": "abs", "arctan2": "atan2", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh", "conjugate": "conj",
    "invert": "bitwise_not", "bitwise_invert": "bitwise_not", "left_shift": "bitwise_left_shift",
    "right_shift": "bitwise_right_shift", "equal": "eq", "not_equal": "ne", "less": "lt", "less_equal": "le",
    "greater": "gt", "greater_equal": "ge", "mod": "remainder", "radians": "deg2rad", "degrees": "rad2deg", "rint": "round",
    "fmod": "fmod",
}  # fmt: skip
_FOLDS = {
    "add": "sum", "multiply": "prod", "minimum": "min", "maximum": "max", "logical_and": "all", "logical_or": "any",
}  # fmt: skip
_RUNNING = {"add": "cumulative_sum", "multiply": "cumulative_prod", "maximum": "cummax", "minimum": "cummin"}
# Functions of NumPy whose name is another one here.
_FUNCTIONS = {
    "concatenate": "concat", "amin": "min", "amax": "max", "swapaxes": "swapaxes",
    "absolute": "abs",
}  # fmt: skip


@cache
def _called(name: str) -> _core.Op | None:
    """The op that a ufunc calls, if there is one."""
    called = _UFUNCS.get(name, name)
    try:
        return op(called) if called else None
    except ValueError:
        return None


def array(self: Tensor, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """For `numpy.asarray`: a sparse tensor becomes dense within the densify budget."""
    if not self.is_strided:
        need, budget = self.size * max(self.dtype.itemsize, 1), _core.densify_budget()
        if need > budget:
            from ._context import DensifyError

            raise DensifyError(
                f"__array__: the dense array takes {need} bytes, the budget is {budget}: call to_numpy(), or allow it with "
                f"openwork.config(budget={need})"
            )
        if copy is False:
            raise ValueError("__array__: copy=False, and a sparse tensor has to be made dense")
    values = to_numpy(self)
    if dtype is not None and values.dtype != dtype:
        if copy is False:
            raise ValueError(f"__array__: copy=False, and {values.dtype} becomes {dtype}")
        return values.astype(dtype)
    return values.copy() if copy else values


def to_numpy(self: Tensor, *, absent: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
    """The tensor as an array of NumPy. A strided one is shared and read-only unless `copy=True`; a sparse one is made dense,
    whatever the budget, for it is asked for. `absent` is the value where nothing is, if the fill is undefined."""
    is_shared = self.is_strided
    if not is_shared:
        if copy is False:
            raise ValueError("to_numpy: copy=False, and a sparse tensor has to be made dense")
        x = op("to_dense")(self) if absent is None else op("to_dense_with")(self, absent)
    else:
        x = self
    values = _interop.numpy_of(x)
    return values.copy() if copy else values


def array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """For NumPy's ufuncs."""
    del self
    name = ufunc.__name__
    if kwargs.pop("out", None) is not None:
        raise TypeError(f"np.{name}: tensors do not change, so none can be an `out`; nor is one written into an array")
    where = kwargs.pop("where", True)
    if where is not True:
        raise TypeError(f"np.{name}: `where` is not known; use openwork.where")
    if method == "reduce" and name in _FOLDS:
        axis, keepdims, dtype = kwargs.pop("axis", 0), kwargs.pop("keepdims", False), kwargs.pop("dtype", None)
        if kwargs.pop("initial", None) is not None or kwargs:
            return NotImplemented
        import openwork

        more = {} if dtype is None else {"dtype": dtype}
        return getattr(openwork, _FOLDS[name])(*inputs, axis=axis, keepdims=keepdims, **more)
    if method == "accumulate" and name in _RUNNING:
        import openwork

        return getattr(openwork, _RUNNING[name])(inputs[0], axis=kwargs.get("axis", 0))
    if method == "outer":
        import openwork

        a, b = (openwork.asarray(v) for v in inputs)
        return array_ufunc(a, ufunc, "__call__", a.reshape((*a.shape, *(1,) * b.ndim)), b, **kwargs)
    if method != "__call__":
        return NotImplemented
    dtype = kwargs.pop("dtype", None)
    kwargs.pop("casting", None), kwargs.pop("order", None), kwargs.pop("subok", None)
    if kwargs:
        return NotImplemented
    if name in ("matmul", "matvec"):
        made = op("matmul")(*inputs)
    elif name == "vecdot":
        made = op("vecdot")(*inputs, -1)
    elif name == "divmod":
        return op("floor_divide")(*inputs), op("remainder")(*inputs)
    elif name == "clip":
        made = op("clip")(*inputs)
    else:
        function = _called(name)
        if function is None:
            # Of elements one by one, so what it makes of the values stored and of the fill is all.
            return _mapped(ufunc, inputs[0], dtype) if ufunc.nin == 1 and ufunc.signature is None else NotImplemented
        made = function(*inputs)
    return made if dtype is None else op("cast")(made, dtype)


def _mapped(ufunc: np.ufunc, x: Any, dtype: Any) -> Any:
    options = {} if dtype is None else {"dtype": dtype}
    if ufunc.nout == 1:
        return x.map(lambda values: ufunc(values, **options))
    return tuple(x.map(lambda values, i=i: ufunc(values, **options)[i]) for i in range(ufunc.nout))


def array_function(self: Tensor, func: Any, types: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """For NumPy's other functions: those that this library has, with the parameters that it knows."""
    del self, types
    import openwork

    name = func.__name__
    if kwargs.pop("out", None) is not None:
        raise TypeError(f"np.{name}: tensors do not change, so none can be an `out`")
    if func.__module__ != "numpy.linalg" and name in FUNCTIONS:
        return FUNCTIONS[name](*args, **kwargs)
    called = _FUNCTIONS.get(name, name)
    home: Any = openwork
    if func.__module__ == "numpy.linalg":
        if name in LINALG:
            return LINALG[name](*args, **kwargs)
        home = openwork.linalg
    function = getattr(home, called, None) if called else None
    if function is None or not callable(function):
        return NotImplemented
    if "ddof" in kwargs:
        kwargs["correction"] = kwargs.pop("ddof")
    # What NumPy takes by position and the array API by name.
    positions = {
        "concat": ("axis",), "stack": ("axis",), "take": ("indices", "axis"), "tensordot": ("b", "axes"), "flip": ("axis",),
        "tril": ("k",), "triu": ("k",), "expand_dims": ("axis",), "count_nonzero": ("axis",),
    }.get(called, ())  # fmt: skip
    first, rest = list(args[:1]), list(args[1:])
    for parameter, value in zip(positions, rest):
        if parameter in ("indices", "b"):
            first.append(value)
        else:
            kwargs[parameter] = value
    if positions:
        args = (*first, *rest[len(positions) :])
    return function(*args, **kwargs)


def install() -> None:
    """Gives the class its methods of NumPy."""
    members: dict[str, Any] = {
        "__array__": array, "__array_ufunc__": array_ufunc, "__array_function__": array_function, "to_numpy": to_numpy,
    }  # fmt: skip
    for name, member in members.items():
        setattr(Tensor, name, member)
