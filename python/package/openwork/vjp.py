"""Gradients: for each op a function that takes the gradient of a number by the op's result back to its operands, a
vector-Jacobian product.

>>> import openwork as ow
>>> w = ow.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], (2, 2), fill_value=0.0)
>>> x = ow.asarray([[1.0, 2.0], [3.0, 4.0]])
>>> _, by_w = ow.vjp.matmul(x, w, ow.ones((2, 2)))  # of the sum of x @ w
>>> by_w.stored.layout, by_w.stored.stored_values().tolist(), by_w.fill
('csr', [4.0, 6.0], 10.0)

Each function takes the op's operands, then the *cotangent*, which is the gradient by the op's result, in any layout and with any
fill, then what else the op takes. A function of one operand gives a `Gradient`, one of several a tuple with `None` for what has
no gradient (numbers, integers, bools); `wrt=1` asks for that of operand 1 alone, which costs no more than that.

A `Gradient` has `stored`, the gradient by each stored element in the operand's own pattern, and `fill`, that by the fill: by all
unstored elements together. A step `x - rate * by_x.stored` keeps pattern and fill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._core import Gradient, Tensor, vjp_of as _of

_UNARY = (
    "neg abs square sqrt rsqrt reciprocal exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh asin acos atan "
    "asinh acosh atanh deg2rad rad2deg sigmoid hardsigmoid softsign logit softplus silu gelu relu leaky_relu elu erf erfc "
    "erfinv lgamma digamma nan_to_num conj real imag sign angle"
).split()
_BINARY = (
    "add sub mul div pow remainder fmod maximum minimum fmax fmin atan2 hypot copysign logaddexp xlogy heaviside"
).split()
_REDUCTIONS = "sum mean prod max min".split()

# By the array API's names too.
_ALIASES = {"negative": "neg", "subtract": "sub", "multiply": "mul", "divide": "div"}

__all__ = [
    "Gradient", "astype", "binary", "broadcast_to", "concat", "getitem", "index_select", "log_softmax", "logsumexp", "matmul",
    "permute_dims", "reduce", "reshape", "sampled_addmm", "softmax", "std", "unary", "var", "vector_norm", "where",
    *_UNARY, *_BINARY, *_REDUCTIONS, *_ALIASES,
]  # fmt: skip

Gradients = tuple[Gradient | None, ...] | Gradient


def unary(x: Any, op: str, cotangent: Any, /) -> Gradient:
    """Of any elementwise op of one operand, by name: an op that is constant between jumps gives 0."""
    return _of(op, None, x, cotangent)


def binary(x1: Any, op: str, x2: Any, cotangent: Any, /, *, wrt: int | None = None) -> Gradients:
    """Of any elementwise op of two operands, by name."""
    return _of(op, wrt, x1, x2, cotangent)


def reduce(x: Any, op: str, cotangent: Any, /, axis: Any = None, *, keepdims: bool = False) -> Gradient:
    """Of a reduction, by name. Equal greatest (least) elements share the gradient evenly."""
    return _of(op, None, x, axis, keepdims, cotangent)


def var(x: Any, cotangent: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Gradient:
    """Of the variance."""
    return _of("var", None, x, correction, axis, keepdims, cotangent)


def std(x: Any, cotangent: Any, /, axis: Any = None, *, correction: float = 0.0, keepdims: bool = False) -> Gradient:
    """Of the standard deviation."""
    return _of("std", None, x, correction, axis, keepdims, cotangent)


def vector_norm(x: Any, cotangent: Any, /, *, axis: Any = None, ord: float = 2.0, keepdims: bool = False) -> Gradient:
    """Of the norm."""
    return _of("vector_norm", None, x, ord, axis, keepdims, cotangent)


def softmax(x: Any, cotangent: Any, /, axis: Any = -1) -> Gradient:
    """Of softmax: the fill takes part, and an undefined one does not."""
    return _of("softmax", None, x, axis, cotangent)


def log_softmax(x: Any, cotangent: Any, /, axis: Any = -1) -> Gradient:
    """Of the logarithm of softmax."""
    return _of("log_softmax", None, x, axis, cotangent)


def logsumexp(x: Any, cotangent: Any, /, axis: Any = None, *, keepdims: bool = False) -> Gradient:
    """Of the logarithm of the sum of exponentials."""
    return _of("logsumexp", None, x, axis, keepdims, cotangent)


def where(condition: Any, x1: Any, x2: Any, cotangent: Any, /, *, wrt: int | None = None) -> Gradients:
    """By `x1` and `x2`, in this order."""
    return _of("where", wrt, condition, x1, x2, cotangent)


def matmul(x1: Any, x2: Any, cotangent: Any, /, *, wrt: int | None = None) -> Gradients:
    """Of the product: by a sparse factor, a product sampled at what it stores. Nothing becomes dense."""
    return _of("matmul", wrt, x1, x2, cotangent)


def sampled_addmm(
    x: Any, a: Any, b: Any, cotangent: Any, /, *, beta: Any = 1, alpha: Any = 1, wrt: int | None = None
) -> Gradients:
    """Of `beta x + alpha a b` where `x` stores something: by `x`, `a` and `b`."""
    return _of("sampled_addmm", wrt, x, a, b, beta, alpha, cotangent)


def permute_dims(x: Any, cotangent: Any, /, axes: Sequence[int]) -> Gradient:
    """Of a permutation of axes."""
    return _of("permute_dims", None, x, axes, cotangent)


def reshape(x: Any, cotangent: Any, /) -> Gradient:
    """Of `x` in the shape of the cotangent."""
    return _of("reshape", None, x, cotangent)


def broadcast_to(x: Any, cotangent: Any, /) -> Gradient:
    """Of `x` repeated to the shape of the cotangent."""
    return _of("broadcast_to", None, x, cotangent)


def astype(x: Any, cotangent: Any, /) -> Gradient:
    """Of `x` in another dtype."""
    return _of("astype", None, x, cotangent)


def getitem(x: Any, cotangent: Any, /, items: Any) -> Gradient:
    """Of `x[items]`. What is chosen twice gets the sum of both."""
    return _of("getitem", None, x, items, cotangent)


def index_select(x: Any, cotangent: Any, /, indices: Any, axis: int) -> Gradient:
    """Of the entries along an axis that `indices` names."""
    return _of("index_select", None, x, indices, axis, cotangent)


def concat(arrays: Sequence[Any], cotangent: Any, /, *, axis: int = 0, wrt: int | None = None) -> Gradients:
    """Of arrays joined along an axis: by each."""
    return _of("concat", wrt, list(arrays), axis, cotangent)


def _unary(op: str) -> Callable[..., Gradient]:
    def function(x: Any, cotangent: Any, /) -> Gradient:
        return _of(op, None, x, cotangent)

    return _named(function, op)


def _binary(op: str) -> Callable[..., Gradients]:
    def function(x1: Any, x2: Any, cotangent: Any, /, *, wrt: int | None = None) -> Gradients:
        return _of(op, wrt, x1, x2, cotangent)

    return _named(function, op)


def _reduction(op: str) -> Callable[..., Gradient]:
    def function(x: Any, cotangent: Any, /, axis: Any = None, *, keepdims: bool = False) -> Gradient:
        return _of(op, None, x, axis, keepdims, cotangent)

    return _named(function, op)


def _named(function: Any, op: str) -> Any:
    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"Of `openwork.{op}`."
    return function


for _make, _names in ((_unary, _UNARY), (_binary, _BINARY), (_reduction, _REDUCTIONS)):
    for _name in _names:
        globals()[_name] = _make(_name)
for _name, _own in _ALIASES.items():
    globals()[_name] = globals()[_own]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Callable[..., Any]:
    raise AttributeError(f"module 'openwork.vjp' has no attribute {name!r}; unary, binary and reduce take ops by name")
