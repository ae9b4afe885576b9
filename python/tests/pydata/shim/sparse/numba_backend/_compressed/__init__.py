from ..._formats import CSC, CSR, GCXS
from . import compressed

__all__ = ["CSC", "CSR", "GCXS", "compressed"]
