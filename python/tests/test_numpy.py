"""NumPy's functions on tensors."""

import numpy as np
import pytest
from conftest import dense, same, tensor

import openwork as ow


@pytest.mark.parametrize(
    "ufunc",
    [np.sin, np.exp, np.abs, np.negative, np.sqrt, np.isnan, np.floor, np.arcsin, np.arctan, np.sign, np.square, np.rint,
     np.conjugate, np.deg2rad, np.radians, np.log1p, np.expm1, np.logical_not, np.tanh],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_unary_ufuncs(ufunc, layout):
    a = np.abs(dense()) / 4
    x = ufunc(tensor(a, layout))
    same(x, ufunc(a))
    assert x.is_strided == (layout == "strided")


@pytest.mark.parametrize(
    "ufunc",
    [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.power, np.arctan2, np.equal, np.less, np.hypot,
     np.floor_divide, np.remainder, np.logical_and, np.copysign],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_binary_ufuncs(ufunc, layout):
    a, b = np.abs(dense()), np.abs(dense(seed=1)) + 1
    x = tensor(a, layout)
    same(ufunc(x, b), ufunc(a, b))
    same(ufunc(b, x + 1), ufunc(b, a + 1))
    same(ufunc(x, 2.0), ufunc(a, 2.0))
    same(ufunc(x, ow.asarray(b)), ufunc(a, b))


def test_methods_of_ufuncs():
    a = dense()
    x = tensor(a, "csr")
    same(np.add.reduce(x, axis=1), np.add.reduce(a, axis=1))
    same(np.add.reduce(x), np.add.reduce(a))
    same(np.maximum.reduce(x, axis=None), np.maximum.reduce(a, axis=None))
    same(np.add.accumulate(x, axis=1), np.add.accumulate(a, axis=1))
    same(np.multiply.outer(x[0], x[1]), np.multiply.outer(a[0], a[1]))
    quotient, rest = np.divmod(x, 2.0)
    same(quotient, a // 2.0)
    same(rest, a % 2.0)
    same(np.add(x, 1, dtype="float32"), np.add(a, 1, dtype="float32"))
    same(np.matmul(x, x.T), a @ a.T)


def test_functions(layout):
    a = dense()
    x = tensor(a, layout)
    for name in ("sum", "prod", "mean", "std", "var", "min", "max", "amax", "argmax", "any", "all", "cumsum", "median"):
        f = getattr(np, name)
        same(f(x, axis=1), f(a, axis=1))
        same(f(x, 0), f(a, 0))
    same(np.std(x, axis=0, ddof=1), np.std(a, axis=0, ddof=1))
    same(np.sum(x, axis=1, keepdims=True), np.sum(a, axis=1, keepdims=True))
    same(np.concatenate([x, x], axis=1), np.concatenate([a, a], axis=1))
    same(np.stack([x, x]), np.stack([a, a]))
    same(np.transpose(x), a.T)
    same(np.reshape(x, (6, 4)), a.reshape(6, 4))
    same(np.where(x > 0, x, 0.5), np.where(a > 0, a, 0.5))
    same(np.tensordot(x, x, axes=((0, 1), (0, 1))), np.tensordot(a, a, axes=((0, 1), (0, 1))))
    same(np.einsum("ij,kj->ik", x, x), a @ a.T)
    same(np.sort(x, axis=0), np.sort(a, axis=0))
    same(np.clip(x, 0, 1), np.clip(a, 0, 1))
    same(np.expand_dims(x, 0), a[None])
    same(np.squeeze(x[None]), a)
    same(np.roll(x, 1, axis=0), np.roll(a, 1, axis=0))
    same(np.tril(x, -1), np.tril(a, -1))
    same(np.take(x, [1, 0], axis=0), np.take(a, [1, 0], axis=0))
    same(np.diff(x), np.diff(a))
    same(np.broadcast_to(x, (2, 4, 6)), np.broadcast_to(a, (2, 4, 6)))
    same(np.swapaxes(x, 0, 1), a.T)
    same(np.moveaxis(x, 0, 1), a.T)
    same(np.pad(x, 1), np.pad(a, 1))
    same(np.linalg.norm(x), np.linalg.norm(a))
    same(np.kron(x, x), np.kron(a, a))
    same(np.dot(x, x.T), a @ a.T)
    assert np.shape(x) == (4, 6) and np.ndim(x) == 2 and np.size(x) == 24
    assert np.allclose(x, x) and np.array_equal(x, x)
    same(np.zeros_like(x), np.zeros_like(a))


def test_what_stays_with_numpy():
    x = tensor(dense(), "csr")
    with pytest.raises(TypeError):
        np.add(x, 1, out=np.zeros((4, 6)))
    with pytest.raises(TypeError):
        np.fft.fft(x)
    with pytest.raises(TypeError):
        np.add(x, 1, where=np.ones((4, 6), bool))


def test_arrays():
    a = dense()
    x = tensor(a, "csr")
    np.testing.assert_array_equal(np.asarray(x), a)
    assert np.asarray(x, dtype="float32").dtype == "float32"
    assert np.array(x).flags.writeable or np.array(x, copy=True).flags.writeable
    s = ow.asarray(a)
    assert np.shares_memory(np.asarray(s), a)
    with ow.config(budget=100), pytest.raises(ow.DensifyError, match="192 bytes"):
        np.asarray(x)
    np.testing.assert_array_equal(x.todense(), a)
    assert x.tolist() == a.tolist()
    y = x.astype(ow.bfloat16)
    assert y.dtype == ow.bfloat16 and y.to_numpy().dtype == "float32"
