"""The names of pydata/sparse over openwork, so that its tests run on our tensors.

Each of its formats is a layout here, not a class: `COO`, `GCXS`, `DOK` make tensors of a layout, and `isinstance` with any of
them asks for a tensor. What its arrays call otherwise (`nnz`, `coords`, `data`, …) is given to the class in `_members.py`.
"""

import sys

import openwork

from . import _functions, _members, numba_backend
from ._formats import COO, CSC, CSR, DOK, GCXS, SparseArray, as_coo, asCOO, asarray, random  # noqa: F401
from ._functions import *  # noqa: F403

_members.install()
# Its products multiply zeros that are not stored as well.
_exact = openwork.config(nan="exact")
_exact.__enter__()

__version__ = "0.19.3"

# Its modules by the two paths under which tests import them.
_common = _coo = _dok = _io = _slicing = _sparse_array = numba_backend
_settings, _utils, _compressed, _umath = (
    numba_backend._settings, numba_backend._utils, numba_backend._compressed, numba_backend._umath,
)
for _name in ("_settings", "_utils", "_compressed", "_umath"):
    sys.modules[f"sparse.{_name}"] = getattr(numba_backend, _name)


class _BackendType:
    Numba, Finch, MLIR = "Numba", "Finch", "MLIR"


_BACKEND = _BackendType.Numba
