"""What arrays of pydata/sparse call otherwise than tensors do: given to the class for the time of its tests."""

import numpy as np

import openwork as ow

from ._formats import COO, CSC, CSR, DOK, GCXS, name_of

_BY_NAME = {f.format_name: f for f in (COO, GCXS, CSR, CSC, DOK)}


def coords(x):
    x = x.to_layout("coo").coalesce()
    made = np.ascontiguousarray(x.indices().to_numpy().T) if x.ndim else np.zeros((0, x.nse), np.int64)
    made.flags.writeable = False
    return made


def asformat(x, format, **options):
    wanted = format if isinstance(format, str) else name_of(format)
    return x.to_numpy() if wanted == "dense" else _BY_NAME[wanted].of(x, **options)


def format_of(x):
    return {"csr": "csr", "csc": "csc", "csf": "dok"}.get(x.layout, "coo")


def to_scipy_sparse(x, accept_fv=None):
    accepted = [0] if accept_fv is None else np.atleast_1d(accept_fv).tolist()
    if not any(np.array_equal(x.fill_value, v, equal_nan=True) for v in accepted):
        raise ValueError(f"fill_value={x.fill_value} but should be in {accepted}.")
    return x.replace_fill(0).to_scipy()


def transpose(x, axes=None, copy=False):
    return np.transpose(x, axes)


def dot(x, other):
    return np.dot(x, other)


def mean(x, axis=None, keepdims=False, dtype=None):
    return ow.mean(x, axis=axis, keepdims=keepdims, dtype=dtype)


def rounded(x, decimals=0, out=None):
    return np.round(x, decimals, **({} if out is None else {"out": out}))


def flatten(x, order="C"):
    if order not in ("C", "F", None):
        raise NotImplementedError(f"order {order!r}")
    return ow.flatten(ow.permute_dims(x, tuple(range(x.ndim))[::-1]) if order == "F" else x)


def reshape(x, shape, order="C"):
    if order != "C":
        raise NotImplementedError(f"order {order!r}")
    return ow.reshape(x, shape)


def astype(x, dtype, casting="unsafe", copy=True):
    if not np.can_cast(x.dtype, dtype, casting=casting):
        raise TypeError(f"{x.dtype} to {dtype} is not {casting}")
    return ow.astype(x, dtype, copy=copy)


def clip(x, min=None, max=None, out=None):
    if out is not None:
        raise TypeError("tensors do not change, so none can be an `out`")
    return ow.clip(x, min, max)


def install():
    properties = {
        "nnz": lambda x: x.nse, "coords": coords, "data": lambda x: x.stored_values().to_numpy(), "format": format_of,
        "density": lambda x: x.nse / x.size, "real": ow.real, "imag": ow.imag,
    }  # fmt: skip
    methods = {
        "asformat": asformat, "to_scipy_sparse": to_scipy_sparse, "transpose": transpose, "dot": dot, "reshape": reshape,
        "todense": lambda x: x.to_numpy(copy=True), "tocsr": lambda x: x.to_scipy("csr"), "tocsc": lambda x: x.to_scipy("csc"), "tocoo": lambda x: COO.of(x),
        "to_coo": lambda x: COO.of(x), "round": rounded, "flatten": flatten, "astype": astype, "clip": clip,
    }  # fmt: skip
    for name, get in properties.items():
        setattr(ow.Tensor, name, property(get))
    for name, method in methods.items():
        setattr(ow.Tensor, name, method)
    # Called by SciPy, for what it returns.
    ow.Tensor.from_scipy_sparse = staticmethod(ow.asarray)
