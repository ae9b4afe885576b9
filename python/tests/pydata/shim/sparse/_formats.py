"""Its classes of arrays and the functions that make them."""

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import scipy.sparse

import openwork as ow

GENERATOR = np.random.default_rng(20_260_101)

# What a tensor of a format is here. Of fewer than two axes there is no CSR: a list of levels stands for it.
_LAYOUTS = {"coo": "coo", "gcxs": "csr", "csr": "csr", "csc": "csc", "dok": "csf"}


def layout_of(format, ndim, compressed_axes=None):
    name = name_of(format)
    if name == "gcxs" and compressed_axes is not None and tuple(compressed_axes) == (1,) and ndim == 2:
        return "csc"
    if ndim < 2 and name != "coo":
        return "csf" if ndim else "coo"
    return _LAYOUTS[name]


def name_of(format):
    name = format if isinstance(format, str) else getattr(format, "format_name", None)
    if name not in _LAYOUTS:
        raise ValueError(f"{format!r} is no format")
    return name


def fill_of(dtype, fill_value):
    return np.zeros((), dtype) if fill_value is None else np.asarray(fill_value).astype(dtype)


class _Format(type):
    """A class whose instances are tensors, of whatever layout."""

    def __instancecheck__(cls, x):
        return isinstance(x, ow.Tensor)

    def __call__(cls, arg=None, *args, **kwargs):
        return cls.make(arg, *args, **kwargs)


class SparseArray(metaclass=_Format):
    format_name = "coo"

    @classmethod
    def of(cls, x, compressed_axes=None):
        """A tensor in this format; dense ones are made sparse beside zeros."""
        layout = layout_of(cls, x.ndim, compressed_axes)
        return x.to_sparse(layout, fill_value=np.zeros((), x.dtype)) if x.is_strided else x.to_layout(layout)

    @classmethod
    def make(cls, arg, data=None, shape=None, has_duplicates=True, sorted=False, prune=False, cache=False, fill_value=None,
             idx_dtype=None, compressed_axes=None, coords=None):
        del has_duplicates, sorted, cache, idx_dtype
        arg = coords if arg is None else arg
        if data is None and not _is_pairs(arg):
            if shape is not None and hasattr(arg, "shape") and tuple(np.atleast_1d(shape)) != arg.shape:
                raise ValueError(f"the shape is {arg.shape}, not {shape}")
            return cls.from_any(arg, fill_value, compressed_axes)
        if data is None:
            return cls.from_iter(arg, shape, fill_value)
        made = of_places(arg, data, shape, fill_value)
        return cls.of(made.prune() if prune else made, compressed_axes)

    @staticmethod
    def to_coo(x):
        return COO.of(x)

    @classmethod
    def from_any(cls, x, fill_value=None, compressed_axes=None):
        if isinstance(x, ow.Tensor):
            if fill_value is not None and not np.array_equal(fill_value, x.fill_value, equal_nan=True):
                raise ValueError("fill_value: that of the array is another")
            return cls.of(x, compressed_axes)
        if scipy.sparse.issparse(x):
            return cls.of(ow.asarray(x), compressed_axes)
        return cls.from_numpy(x, fill_value, compressed_axes=compressed_axes)

    @classmethod
    def from_numpy(cls, x, fill_value=None, idx_dtype=None, compressed_axes=None):
        del idx_dtype
        x = np.asarray(x)
        return ow.asarray(np.array(x)).to_sparse(layout_of(cls, x.ndim, compressed_axes), fill_value=fill_of(x.dtype, fill_value))

    @classmethod
    def from_coo(cls, x, compressed_axes=None, idx_dtype=None):
        del idx_dtype
        return cls.of(x, compressed_axes)

    @classmethod
    def from_scipy_sparse(cls, x, fill_value=None):
        made = ow.asarray(x)
        return cls.of(made.replace_fill(fill_of(made.dtype, fill_value)))

    @classmethod
    def from_iter(cls, x, shape, fill_value=None, dtype=None):
        if isinstance(x, tuple) and len(x) == 2 and not (isinstance(x[0], tuple) and len(x[0]) == 2):
            values, places = x
        else:
            pairs = list(x.items() if isinstance(x, Mapping) else x)
            if not all(isinstance(p, tuple) and len(p) == 2 for p in pairs):
                raise ValueError("pairs of a place and a value are wanted")
            values, places = [v for _, v in pairs], np.array([np.atleast_1d(i) for i, _ in pairs]).T
        values = np.asarray(values, dtype=dtype)
        return cls.of(of_places(places, values, shape, fill_value))


def _is_pairs(arg):
    if isinstance(arg, (Mapping, Iterator)):
        return True
    if isinstance(arg, (list, tuple)) and len(arg) and all(isinstance(p, tuple) and len(p) == 2 for p in arg):
        return True
    return isinstance(arg, tuple) and len(arg) == 2 and isinstance(arg[1], tuple)


def of_places(places, values, shape, fill_value):
    values = np.asarray(values)
    values = values.reshape(1) if values.ndim == 0 else values
    shape = None if shape is None else tuple(int(n) for n in np.atleast_1d(shape))
    places = np.asarray(places)
    if shape == ():
        places = np.zeros((0, len(values)), np.int64)
    elif places.ndim < 2:
        places = places.reshape(len(shape) if shape and places.size == 0 else 1, -1)
    if places.size == 0 and places.dtype.kind == "f":
        places = places.astype(np.int64)
    if places.dtype.kind not in "iu":
        raise ValueError("places are integers")
    made = ow.sparse_coo_tensor(places, values, shape, fill_of(values.dtype, fill_value))
    return made.coalesce()


class COO(SparseArray):
    format_name = "coo"


class GCXS(SparseArray):
    format_name = "gcxs"

    @classmethod
    def make(cls, arg, shape=None, compressed_axes=None, prune=False, fill_value=None, idx_dtype=None):
        if isinstance(arg, tuple) and len(arg) == 3:
            values, indices, pointers = arg
            build = ow.sparse_csc_tensor if tuple(compressed_axes or ()) == (1,) else ow.sparse_csr_tensor
            return build(pointers, indices, values, shape, fill_of(np.asarray(values).dtype, fill_value))
        return super().make(arg, shape=shape, prune=prune, fill_value=fill_value, compressed_axes=compressed_axes)


class CSR(SparseArray):
    format_name = "csr"


class CSC(SparseArray):
    format_name = "csc"


class DOK(SparseArray):
    format_name = "dok"

    @classmethod
    def make(cls, shape, data=None, dtype=None, fill_value=None):
        if hasattr(shape, "shape"):
            return cls.from_any(shape, fill_value)
        shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
        given = list((data or {}).items())
        dtype = dtype or (np.result_type(*(np.asarray(v).dtype for _, v in given)) if given else np.float64)
        made = ow.empty(shape, dtype=dtype, layout=layout_of(cls, len(shape)), fill_value=fill_of(dtype, fill_value))
        for place, value in given:
            made = made.index_put(place, np.asarray(value).astype(dtype))
        return made


def as_coo(x, shape=None, fill_value=None, idx_dtype=None):
    if (shape is not None or fill_value is not None) and not isinstance(x, Iterable):
        raise ValueError("shape and fill_value are those of the array")
    if isinstance(x, ow.Tensor) and fill_value is not None:
        raise ValueError("fill_value is that of the array")
    return COO(x, shape=shape, fill_value=fill_value)


asCOO = as_coo


def asarray(obj, /, *, dtype=None, format="coo", copy=False, device=None):
    made = ow.asarray(obj, dtype=dtype, device=device)
    return {f.format_name: f for f in (COO, GCXS, CSR, CSC, DOK)}[name_of(format)].of(made)


def random(shape, density=None, nnz=None, random_state=None, data_rvs=None, format="coo", fill_value=None, idx_dtype=None,
           **options):
    del idx_dtype
    if density is not None and nnz is not None:
        raise ValueError("density or nnz, not both")
    shape = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
    density = 0.01 if density is None and nnz is None else density
    if density is not None and not 0 <= density <= 1:
        raise ValueError(f"density is {density}, not between 0 and 1")
    size = int(np.prod(shape))
    count = int(size * density) if nnz is None else nnz
    if not 0 <= count <= size:
        raise ValueError(f"{count} of {size} elements")
    generator = random_state if hasattr(random_state, "choice") else GENERATOR
    if isinstance(random_state, (int, np.integer)):
        generator = np.random.default_rng(random_state)
    flat = np.sort(generator.choice(size, count, replace=False)) if size else np.zeros(0, np.int64)
    values = np.asarray(generator.random(count) if data_rvs is None else data_rvs(count))
    places = np.array(np.unravel_index(flat, shape)) if shape else np.zeros((0, count), np.int64)
    made = of_places(places.reshape(len(shape), count), values, shape, fill_value)
    return made.to_layout(layout_of(format, len(shape), **options))
