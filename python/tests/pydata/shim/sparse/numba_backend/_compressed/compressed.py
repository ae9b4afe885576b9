from ..._formats import CSC, CSR, GCXS

__all__ = ["CSC", "CSR", "GCXS"]
