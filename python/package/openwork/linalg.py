"""Linear algebra: products, norms, triangular and iterative solvers; what SciPy's solvers take."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from . import _core
from ._adapt import as_tensor
from ._core import Tensor, op
from ._ops import (
    addmm, bmm, diagonal as _diagonal, dot, khatri_rao, kron, matmul, matrix_power, matrix_transpose, multi_dot,
    outer as _outer, tensordot, vdot, vecdot, vector_norm,
)  # fmt: skip

__all__ = [
    "Solution", "addmm", "aslinearoperator", "bicgstab", "bmm", "cg", "diagonal", "dot", "gmres", "khatri_rao", "kron",
    "matmul", "matrix_norm", "matrix_power", "matrix_transpose", "multi_dot", "outer", "solve_triangular", "tensordot",
    "trace", "vdot", "vecdot", "vector_norm",
]  # fmt: skip


def diagonal(x: Any, /, *, offset: int = 0) -> Tensor:
    """The diagonals of the matrices in the last two axes."""
    return _diagonal(as_tensor(x), offset, -2, -1)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Tensor:
    """The sums of the diagonals of the matrices in the last two axes."""
    return diagonal(x, offset=offset).sum(-1, dtype=dtype)


def outer(x1: Any, x2: Any, /) -> Tensor:
    """The outer product of two vectors."""
    x1, x2 = as_tensor(x1), as_tensor(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer: vectors are needed, these have {x1.ndim} and {x2.ndim} axes")
    return _outer(x1, x2)


def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Tensor:
    """The norms of the matrices in the last two axes: Frobenius, 1 and infinity (greatest sum of a column, of a row)."""
    x = as_tensor(x)
    if x.ndim < 2:
        raise ValueError(f"matrix_norm: matrices are needed, this has {x.ndim} axes")
    if ord == "fro":
        return op("vector_norm")(x, 2.0, (-2, -1), keepdims)
    if ord not in (1, -1, math.inf, -math.inf):
        raise NotImplementedError(f"matrix_norm: ord={ord!r} needs singular values; known are 'fro', 1, -1, inf, -inf")
    along, across = (-2, -1) if abs(ord) == 1 else (-1, -2)
    sums = op("sum")(op("abs")(x), along, True)
    return op("max" if ord > 0 else "min")(sums, (-2, -1), keepdims)


def solve_triangular(
    a: Any, b: Any, /, *, upper: bool = False, unit_diagonal: bool = False, transpose: str = "N"
) -> Tensor:
    """Solves `a x = b` where `a` is a triangle of a matrix (`transpose`: `"T"` and `"C"` solve with its transposes)."""
    return _core.solve_triangular(a, b, upper, unit_diagonal, transpose)


class Solution(NamedTuple):
    """What an iterative method found, and how good it is."""

    x: Tensor
    is_converged: bool
    iterations: int
    residuals: list[float]
    report: str


def cg(a: Any, b: Any, /, *, tolerance: float | None = None, max_iterations: int | None = None, x0: Any = None) -> Solution:
    """Solves `a x = b` for a symmetric positive definite `a` by conjugate gradients."""
    return Solution(*_core.solve_iteratively("cg", a, b, tolerance, max_iterations, x0))


def bicgstab(
    a: Any, b: Any, /, *, tolerance: float | None = None, max_iterations: int | None = None, x0: Any = None
) -> Solution:
    """Solves `a x = b` by stabilised biconjugate gradients."""
    return Solution(*_core.solve_iteratively("bicgstab", a, b, tolerance, max_iterations, x0))


def gmres(
    a: Any, b: Any, /, *, tolerance: float | None = None, max_iterations: int | None = None, x0: Any = None
) -> Solution:
    """Solves `a x = b` by generalised minimal residuals."""
    return Solution(*_core.solve_iteratively("gmres", a, b, tolerance, max_iterations, x0))


def aslinearoperator(a: Tensor) -> Any:
    """A `scipy.sparse.linalg.LinearOperator` of a matrix with any fill: centred tensors go into SciPy's solvers as they
    are, and into what scikit-learn builds on them."""
    from scipy.sparse.linalg import LinearOperator

    if a.ndim != 2:
        raise ValueError(f"aslinearoperator: a matrix is needed, this has {a.ndim} axes")
    adjoint = op("conj")(a).mT if a.dtype.kind == "c" else a.mT
    return LinearOperator(
        a.shape,
        matvec=lambda v: (a @ v.reshape(-1)).to_numpy(),
        rmatvec=lambda v: (adjoint @ v.reshape(-1)).to_numpy(),
        matmat=lambda v: (a @ v).to_numpy(),
        rmatmat=lambda v: (adjoint @ v).to_numpy(),
        dtype=a.dtype,
    )


def __dir__() -> list[str]:
    return __all__
