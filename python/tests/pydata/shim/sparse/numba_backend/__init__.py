"""Its modules, as far as tests take something from them that is no internal."""

from . import _compressed, _settings, _umath, _utils
from .._formats import SparseArray

__all__ = ["SparseArray", "_compressed", "_settings", "_umath", "_utils"]
