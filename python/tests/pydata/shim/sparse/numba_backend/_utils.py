"""What its tests compare with, written for tensors and arrays alike."""

import numpy as np

import openwork as ow

from .._formats import GENERATOR as default_rng
from .._formats import name_of as convert_format

__all__ = ["assert_eq", "check_zero_fill_value", "convert_format", "default_rng", "equivalent", "random_value_array"]


def dense(x):
    if isinstance(x, ow.Tensor):
        return x.to_numpy()
    return x.toarray() if hasattr(x, "toarray") else np.asarray(x)


def assert_eq(x, y, check_nnz=True, compare_dtype=True, **tolerance):
    """The same shape, dtype and elements. What is stored is not compared: an element may be stored and equal the fill."""
    del check_nnz
    assert x.shape == y.shape, f"shapes {x.shape} and {y.shape}"
    if compare_dtype:
        assert x.dtype == y.dtype, f"dtypes {x.dtype} and {y.dtype}"
    a, b = dense(x), dense(y)
    if a.dtype.kind in "biu" and b.dtype.kind in "biu":
        np.testing.assert_array_equal(a, b)
    else:
        np.testing.assert_allclose(a, b, **{"rtol": 1e-5, "atol": 1e-8, **tolerance})


def equivalent(x, y):
    return x == y or (x is not None and y is not None and x != x and y != y)


def random_value_array(value, fraction):
    def values(n):
        return np.where(default_rng.random(n) < fraction, value, default_rng.random(n))

    return values


def check_zero_fill_value(*arrays):
    if any(np.any(a.fill_value != 0) for a in arrays):
        raise ValueError("This operation requires zero fill values")


def html_table(x):
    return x._repr_html_()


def assert_gcxs_slicing(s, x):
    """A row of a slice, as the dense array has it."""
    row = default_rng.integers(s.shape[-2])
    assert_eq(s[0][row], x[0][row])
