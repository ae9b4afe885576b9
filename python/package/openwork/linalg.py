"""Linear algebra: products, norms, triangular and iterative solvers; what SciPy's solvers take."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from . import _core
from ._adapt import as_tensor
from ._core import Factored, Tensor, op
from ._dtypes import finfo
from ._ops import (
    addmm, bmm, diagonal as _diagonal, dot, khatri_rao, kron, matmul, matrix_power, matrix_transpose, multi_dot,
    outer as _outer, tensordot, vdot, vecdot, vector_norm,
)  # fmt: skip

__all__ = [
    "Eigh", "Factored", "Qr", "Solution", "Svd", "addmm", "aslinearoperator", "bicgstab", "bmm", "cg", "diagonal", "dot",
    "eigh", "eigsh", "eigvalsh", "factorize", "gmres", "inv", "khatri_rao", "kron", "lstsq", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "multi_dot", "outer", "pinv", "qr", "solve", "solve_triangular",
    "svd", "svds", "svdvals", "tensordot", "trace", "vdot", "vecdot", "vector_norm",
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
    if ord in (2, -2, "nuc"):
        kept = svdvals(x)
        made = op("sum" if ord == "nuc" else "max" if ord == 2 else "min")(kept, -1, False)
        return op("expand_dims")(made, (-2, -1)) if keepdims else made
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(f"matrix_norm: ord={ord!r} is unknown; known are 'fro', 'nuc', 1, -1, 2, -2, inf, -inf")
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


def cg(
    a: Any, b: Any, /, *, tolerance: float | None = None, max_iterations: int | None = None, x0: Any = None,
    preconditioner: Any = None, callback: Callable[[int, list[float]], Any] | None = None,
) -> Solution:  # fmt: skip
    """Solves `a x = b` for a symmetric positive definite `a` by conjugate gradients.

    `preconditioner` is near the inverse of `a`: a matrix, what `factorize` gives, or a function of a tensor. `callback` is
    called after each iteration with its number and the residual of each column, and ends the method by a true answer."""
    return Solution(*_core.solve_iteratively("cg", a, b, tolerance, max_iterations, x0, preconditioner, callback))


def bicgstab(
    a: Any, b: Any, /, *, tolerance: float | None = None, max_iterations: int | None = None, x0: Any = None,
    preconditioner: Any = None, callback: Callable[[int, list[float]], Any] | None = None,
) -> Solution:  # fmt: skip
    """Solves `a x = b` by stabilised biconjugate gradients; `preconditioner` and `callback` as for `cg`."""
    return Solution(*_core.solve_iteratively("bicgstab", a, b, tolerance, max_iterations, x0, preconditioner, callback))


def gmres(
    a: Any, b: Any, /, *, tolerance: float | None = None, max_iterations: int | None = None, x0: Any = None,
    preconditioner: Any = None, callback: Callable[[int, list[float]], Any] | None = None,
) -> Solution:  # fmt: skip
    """Solves `a x = b` by generalised minimal residuals; `preconditioner` and `callback` as for `cg`."""
    return Solution(*_core.solve_iteratively("gmres", a, b, tolerance, max_iterations, x0, preconditioner, callback))


class Qr(NamedTuple):
    """Orthonormal columns and an upper triangle."""

    Q: Tensor
    R: Tensor


class Eigh(NamedTuple):
    """Eigenvalues, rising, and eigenvectors in columns."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class Svd(NamedTuple):
    """Singular vectors and values, falling."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def factorize(a: Any, /, method: str = "lu") -> Factored:
    """A matrix in factors, dense or sparse: `method` is `"cholesky"`, `"lu"` or `"least_squares"` (QR). Its `solve(b)` and
    `solve_adjoint(b)` take as many right sides as one has."""
    return _core.factorize(a, method)


def solve(x1: Any, x2: Any, /) -> Tensor:
    """The solution of `x1 x = x2`, of sparse matrices and of stacks."""
    return _core.solve(x1, x2)


def lstsq(a: Any, b: Any, /) -> Tensor:
    """The `x` for which `a x` is nearest to `b`, of a matrix with at least as many rows as columns."""
    return factorize(a, "least_squares").solve(b)


def inv(x: Any, /) -> Tensor:
    """The inverses of the matrices in the last two axes."""
    x = as_tensor(x)
    return solve(x, op("broadcast_to")(_core.eye(x.shape[-1], x.dtype, "strided"), x.shape))


def qr(x: Any, /, *, mode: str = "reduced") -> Qr:
    """Orthonormal columns times an upper triangle; only the reduced form."""
    if mode != "reduced":
        raise NotImplementedError(f"qr: mode={mode!r}; the reduced form is there")
    return Qr(*_core.qr(x))


def eigh(x: Any, /) -> Eigh:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    return Eigh(*_core.eigh(x))


def eigvalsh(x: Any, /) -> Tensor:
    """Eigenvalues of Hermitian matrices."""
    return eigh(x).eigenvalues


def svd(x: Any, /, *, full_matrices: bool = True) -> Svd:
    """Singular vectors and values. `full_matrices` has no meaning for square matrices, and has to be False for others."""
    x = as_tensor(x)
    if full_matrices and x.ndim >= 2 and x.shape[-1] != x.shape[-2]:
        raise NotImplementedError("svd: full_matrices=True of matrices that are not square; give full_matrices=False")
    return Svd(*_core.svd(x))


def svdvals(x: Any, /) -> Tensor:
    """Singular values, falling."""
    return svd(x, full_matrices=False).S


def _least(x: Tensor, rtol: Any, s: Tensor) -> Tensor:
    """The singular value beneath which others count as zero."""
    if rtol is None:
        rtol = finfo(x.dtype).eps * max(x.shape[-2:])
    rtol = as_tensor(rtol).astype(s.dtype)
    return op("expand_dims")(rtol, -1) * op("max")(s, -1, True) if rtol.ndim else op("max")(s, -1, True) * rtol


def matrix_rank(x: Any, /, *, rtol: Any = None) -> Tensor:
    """How many singular values are greater than `rtol` times the greatest."""
    x = as_tensor(x)
    s = svdvals(x)
    return op("count_nonzero")(s > _least(x, rtol, s), -1, False)


def pinv(x: Any, /, *, rtol: Any = None) -> Tensor:
    """The pseudo-inverses of the matrices in the last two axes (Moore and Penrose)."""
    x = as_tensor(x)
    u, s, vh = svd(x, full_matrices=False)
    is_large = s > _least(x, rtol, s)
    inverse = op("where_")(is_large, 1.0 / op("where_")(is_large, s, 1.0), 0.0)
    conj = op("conj")
    return (conj(vh).mT * op("expand_dims")(inverse, -2)) @ conj(u).mT


def eigsh(
    a: Any, /, k: int = 6, *, which: str = "LM", tolerance: float | None = None, max_iterations: int | None = None
) -> Eigh:
    """`k` eigenvalues of a large sparse Hermitian matrix and their vectors: the greatest (`"LA"`), the least (`"SA"`) or those
    farthest from zero (`"LM"`)."""
    return Eigh(*_core.eigsh(a, k, which, tolerance, max_iterations))


def svds(a: Any, /, k: int = 6, *, tolerance: float | None = None, max_iterations: int | None = None) -> Svd:
    """The `k` greatest singular values of a large sparse matrix, with any fill (centred, say), and their vectors."""
    return Svd(*_core.svds(a, k, tolerance, max_iterations))


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
