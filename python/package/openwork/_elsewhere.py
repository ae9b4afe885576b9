"""What other libraries call it: hints for names that are not ours."""

MODULE = {
    "array": "asarray", "tensor": "asarray", "as_tensor": "asarray", "concatenate": "concat", "cat": "concat",
    "hstack": "concat", "vstack": "concat", "transpose": "permute_dims", "cumsum": "cumulative_sum",
    "cumprod": "cumulative_prod", "unique": "unique_values", "norm": "linalg.vector_norm", "svd": "linalg.svd",
    "coo_matrix": "sparse_coo_tensor", "coo_array": "sparse_coo_tensor", "csr_matrix": "sparse_csr_tensor",
    "csr_array": "sparse_csr_tensor", "csc_array": "sparse_csc_tensor", "COO": "sparse_coo_tensor",
}  # fmt: skip

TENSOR = {
    # SciPy's and pydata's
    "toarray": "todense()", "to_coo": 'to_layout("coo")', "to_csc": 'to_layout("csc")', "to_csr": 'to_layout("csr")',
    "tobsr": 'to_layout("bsr")', "tocoo": 'to_layout("coo")', "tocsc": 'to_layout("csc")', "tocsr": 'to_layout("csr")',
    "asformat": "to_layout(layout)", "format": "layout", "nnz": "nse", "getnnz": "nse", "data": "stored_values()",
    "indptr": "arrays()", "row": "arrays()", "col": "arrays()", "coords": "arrays()", "eliminate_zeros": "prune()",
    "sum_duplicates": "coalesce()", "power": "pow(exponent)", "trace": "diagonal().sum()",
    "setdiag": "index_put(items, values)",
    "getrow": "x[i]", "getcol": "x[:, j]",
    # NumPy's and PyTorch's
    "numpy": "to_numpy()", "ravel": "flatten()", "transpose": "permute_dims(axes), or T of a matrix",
    "permute": "permute_dims(axes)", "cumsum": "cumulative_sum(axis)", "cumprod": "cumulative_prod(axis)",
    "norm": "vector_norm()", "unsqueeze": "expand_dims(axis)", "view": "reshape(shape)", "expand": "broadcast_to(shape)",
    "numel": "size", "dim": "ndim", "unique": "unique_values()", "values": "stored_values()",
    "to": "astype(dtype), or to_layout(layout)",
    "float": 'astype("float32")', "double": 'astype("float64")', "int": 'astype("int32")', "long": 'astype("int64")',
    "to_sparse_csr": 'to_sparse("csr", fill_value=0)', "requires_grad": "openwork.vjp", "backward": "openwork.vjp",
}  # fmt: skip


def of_module(name: str) -> object:
    hint = f"; here it is openwork.{MODULE[name]}" if name in MODULE else ""
    raise AttributeError(f"module 'openwork' has no attribute {name!r}{hint}")


class OfTensor:
    """An attribute that is not there, with a hint. A `__getattr__` of the class would make every call of a method a tenth slower."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, x: object, owner: "type | None" = None) -> object:
        hint = f"; here it is {TENSOR[self.name]}"
        raise AttributeError(f"'openwork.Tensor' object has no attribute {self.name!r}{hint}", name=self.name, obj=x)


def names(self: object) -> "list[str]":
    """What `dir` lists: only what is there."""
    return sorted(set(object.__dir__(self)) - TENSOR.keys())
