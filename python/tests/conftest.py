"""Tensors of every layout and fill beside the arrays of NumPy that they mean."""

import numpy as np
import pytest

import openwork as ow

LAYOUTS = ["strided", "coo", "csr", "csc", "dcsr", "dcsc", "csf", "bsr2x3", "bsc2x3", "coo+1dense"]
DTYPES = [d for d in ow._dtypes.DTYPES if d != "bfloat16"]


def dense(dtype="float64", shape=(4, 6), fill=0, seed=0, density=0.4):
    """An array in which most elements are the fill."""
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        values = rng.random(shape) < 0.5
    elif dtype.kind in "iu":
        values = rng.integers(0 if dtype.kind == "u" else -9, 10, shape)
    else:
        values = rng.integers(-8, 9, shape) / 4
        if dtype.kind == "c":
            values = values + 1j * rng.integers(-8, 9, shape) / 4
    return np.where(rng.random(shape) < density, values, fill).astype(dtype)


def tensor(array, layout="coo", fill=0):
    """The tensor of an array in a layout, with a fill."""
    x = ow.asarray(np.array(array))
    return x if layout == "strided" else x.to_sparse(layout, fill_value=np.array(fill, dtype=array.dtype))


def same(x, expected, rtol=1e-6):
    """That a tensor means an array."""
    expected = np.asarray(expected)
    assert isinstance(x, ow.Tensor), type(x)
    assert x.shape == expected.shape
    assert x.dtype == expected.dtype, f"{x.dtype} is not {expected.dtype}"
    got = x.to_numpy()
    if expected.dtype.kind in "fc":
        np.testing.assert_allclose(got, expected, rtol=rtol if expected.dtype.itemsize > 2 else 2e-2, atol=1e-6)
    else:
        np.testing.assert_array_equal(got, expected)


@pytest.fixture(params=LAYOUTS)
def layout(request):
    return request.param


@pytest.fixture(params=DTYPES)
def dtype(request):
    return request.param
