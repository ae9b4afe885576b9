"""Its functions: ours of the same name, called as it calls them."""

import numpy as np
import scipy.sparse

import openwork as ow

from ._formats import DOK, SparseArray, asarray, fill_of, layout_of

_SAME = """
abs acos acosh add all any argmax argmin argwhere asin asinh astype atan atan2 atanh bitwise_and bitwise_left_shift
bitwise_not bitwise_or bitwise_right_shift bitwise_xor broadcast_arrays broadcast_shapes broadcast_to ceil clip complex128
complex64 conj copysign cos cosh divide e equal exp expand_dims expm1 finfo flip float32 float64 floor
floor_divide greater greater_equal hypot iinfo imag inf int16 int32 int64 int8 isfinite isinf isnan isneginf isposinf kron
less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or logical_xor matrix_transpose max maximum
mean min minimum moveaxis multiply nan nanmax nanmean nanmin negative newaxis nextafter nonzero
not_equal permute_dims pi positive pow prod real reciprocal remainder reshape 
sign signbit sin sinh sort sqrt square squeeze stack std subtract sum take tan tanh tile trunc uint16 uint32
uint64 uint8 var vecdot isdtype float16 bool bitwise_invert
""".split()
globals().update({name: getattr(ow, name) for name in _SAME})


def concatenate(arrays, axis=0):
    return ow.concat(arrays, axis=axis)


def concat(arrays, axis=0):
    return ow.concat(arrays, axis=axis)


def stack(arrays, axis=0):
    return ow.stack(arrays, axis=axis)


def result_type(*arrays):
    return ow.result_type(*arrays)


def can_cast(from_, to, /, *, casting="safe"):
    return np.can_cast(from_.dtype if isinstance(from_, ow.Tensor) else from_, to, casting=casting)


def roll(x, shift, axis=None):
    return ow.roll(x, shift, axis=axis)


def repeat(a, repeats, axis=None):
    return np.repeat(_sparse(a), repeats, axis=axis)


def outer(a, b):
    return np.outer(a, b)


def round(x, decimals=0):
    return np.round(x, decimals)


def nansum(x, axis=None, keepdims=False, dtype=None):
    return np.nansum(x, axis=axis, keepdims=keepdims, dtype=dtype)


def nanprod(x, axis=None, keepdims=False, dtype=None):
    return np.nanprod(x, axis=axis, keepdims=keepdims, dtype=dtype)


def unstack(x, axis=0):
    return ow.unstack(_sparse(x), axis=axis)


def diff(x, axis=-1, n=1, prepend=None, append=None):
    return ow.diff(_sparse(x), axis=axis, n=n, prepend=prepend, append=append)


def unique_counts(x):
    return ow.unique_counts(_sparse(x, ValueError))


def unique_values(x):
    return ow.unique_values(_sparse(x, ValueError))


def _sparse(x, error=TypeError):
    """Its functions take sparse arrays alone; ours take any."""
    if not isinstance(x, ow.Tensor):
        raise error("`a` must be a SparseArray. Input must be an instance of SparseArray.")
    return x


def where(condition, x=None, y=None):
    if x is None and y is None:
        if not isinstance(condition, ow.Tensor):
            raise ValueError("one argument is a sparse array")
        return ow.nonzero(condition)
    if x is None or y is None:
        raise ValueError("one argument or three")
    return ow.where(condition, x, y)


def tril(x, k=0):
    return ow.tril(x, k=k)


def triu(x, k=0):
    return ow.triu(x, k=k)


def diagonal(x, offset=0, axis1=0, axis2=1):
    return ow.diagonal(x, offset, axis1, axis2)


def diagonalize(x, axis=0):
    x = asarray(x)
    n = x.shape[axis]
    ones = ow.eye(n, dtype=x.dtype, layout="coo").reshape(tuple(n if i == axis else 1 for i in range(x.ndim)) + (n,))
    return x.reshape((*x.shape, 1)) * ones


def pad(x, pad_width, mode="constant", **options):
    return np.pad(x, pad_width, mode, **options)


def interp(x, xp, fp, **options):
    return np.interp(x, xp, fp, **options)


def elemwise(f, *args, **options):
    """`f` of tensors: there is nothing to it."""
    if not [a for a in args if isinstance(a, ow.Tensor) or scipy.sparse.issparse(a)]:
        raise ValueError(f"None of the args is sparse: {args}")
    return f(*args, **options)


def nanreduce(x, method, identity=None, axis=None, keepdims=False, **options):
    return getattr(ow, {"add": "nansum", "multiply": "nanprod", "maximum": "nanmax", "minimum": "nanmin"}[method.__name__])(
        x, axis=axis, keepdims=keepdims, **options
    )


def _typed(x, return_type):
    if return_type is None:
        return x
    return x.to_numpy() if return_type is np.ndarray else return_type.of(x)


def tensordot(a, b, axes=2, *, return_type=None):
    return _typed(ow.tensordot(a, b, axes=axes), return_type)


def matmul(a, b):
    return ow.matmul(a, b)


def dot(a, b):
    return np.dot(a, b)


def einsum(*operands, **options):
    return np.einsum(*operands, **options)


def asnumpy(x, dtype=None, order=None):
    made = x.to_numpy() if isinstance(x, ow.Tensor) else x
    return made if dtype is None else np.asarray(made, dtype=dtype, order=order)


def full(shape, fill_value, dtype=None, format="coo", order="C", device=None, **options):
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    dtype = np.asarray(fill_value).dtype if dtype is None else np.dtype(dtype)
    layout = layout_of(format, len(shape), **options)
    return ow.full(shape, fill_of(dtype, fill_value), dtype=dtype, layout=layout, device=device)


def full_like(a, fill_value, dtype=None, shape=None, format=None, *, device=None, **options):
    format = format or getattr(a, "format", "coo")
    return full(a.shape if shape is None else shape, fill_value, dtype or a.dtype, format, device=device, **options)


def zeros(shape, dtype=float, format="coo", *, device=None, **options):
    return full(shape, 0, np.dtype(dtype), format, device=device, **options)


def ones(shape, dtype=float, format="coo", *, device=None, **options):
    return full(shape, 1, np.dtype(dtype), format, device=device, **options)


def zeros_like(a, dtype=None, shape=None, format=None, *, device=None, **options):
    return full_like(a, 0, dtype, shape, format, device=device, **options)


def ones_like(a, dtype=None, shape=None, format=None, *, device=None, **options):
    return full_like(a, 1, dtype, shape, format, device=device, **options)


empty, empty_like = zeros, zeros_like


def eye(N, M=None, k=0, dtype=float, format="coo", *, device=None, **options):
    M = N if M is None else M
    return ow.eye(N, M, k=k, dtype=dtype, layout="coo", device=device).to_layout(layout_of(format, 2, **options))


def save_npz(filename, matrix, compressed=True):
    ow.save(filename, matrix, compress=compressed)


def load_npz(filename):
    return ow.load(filename)


del DOK, SparseArray
__all__ = [name for name in globals() if not name.startswith("_") and name not in ("np", "ow", "scipy")]
