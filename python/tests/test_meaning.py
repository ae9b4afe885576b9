"""Ops beside NumPy: over layouts, fills and dtypes. What an op means is tested where it is written; here, that arguments and
results are what they should be."""

import re

import numpy as np
import pytest
from conftest import LAYOUTS, dense, same, tensor

import openwork as ow

UNARY = ["neg", "abs", "sign", "square", "floor", "ceil", "trunc", "sin", "exp", "sqrt", "isnan", "logical_not"]
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.true_divide, "maximum": np.maximum,
    "minimum": np.minimum, "eq": np.equal, "lt": np.less, "ge": np.greater_equal, "logical_and": np.logical_and,
    "logical_xor": np.logical_xor, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign,
}  # fmt: skip
NUMPY = {"neg": "negative"}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("fill", [0.0, 2.0])
def test_unary(name, layout, fill):
    a = dense(fill=fill)
    a = np.abs(a) if name == "sqrt" else a
    same(getattr(ow, name)(tensor(a, layout, fill)), getattr(np, NUMPY.get(name, name))(a))
    same(getattr(tensor(a, layout, fill), name)(), getattr(np, NUMPY.get(name, name))(a))


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("fill", [0.0, 0.5])
def test_binary(name, layout, fill):
    a, b = dense(fill=fill), dense(fill=0.0, seed=1)
    with np.errstate(all="ignore"):
        expected = BINARY[name](a, b)
        same(getattr(ow, name)(tensor(a, layout, fill), tensor(b, "csr")), expected)
        same(getattr(ow, name)(tensor(a, layout, fill), b), expected)
        same(getattr(ow, name)(a, tensor(b, layout)), expected)
        same(getattr(ow, name)(tensor(a, layout, fill), 2.0), BINARY[name](a, 2.0))
        same(getattr(ow, name)(2.0, tensor(a, layout, fill)), BINARY[name](2.0, a))


def test_operators(layout):
    a, b = dense("int64"), dense("int64", seed=1) + 11
    x, y = tensor(a, layout), ow.asarray(b)
    same(x + y, a + b)
    same(x - y, a - b)
    same(x * y, a * b)
    same(x / y, a / b)
    same(x // y, a // b)
    same(x % y, a % b)
    same(x**2, a**2)
    same(2 - x, 2 - a)
    same(3 * x, 3 * a)
    same(x & 6, a & 6)
    same(x | 6, a | 6)
    same(x ^ 6, a ^ 6)
    same(x << 1, a << 1)
    same(x >> 1, a >> 1)
    same(~x, ~a)
    same(-x, -a)
    same(+x, +a)
    same(abs(x), abs(a))
    same(x @ y.T, a @ b.T)
    same(b @ x.T, b @ a.T)
    same(x == 0, a == 0)
    same(x != y, a != b)
    same(x < 1, a < 1)
    same(x <= 1, a <= 1)
    same(x > 1, a > 1)
    same(x >= 1, a >= 1)
    same(b + x, b + a)
    same(np.float64(2) * x, np.float64(2) * a)
    x += 1
    same(x, a + 1)


@pytest.mark.parametrize("name", ["sum", "prod", "min", "max", "any", "all", "mean", "std", "var", "count_nonzero"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1), ()])
@pytest.mark.parametrize("fill", [0.0, 1.5])
def test_reductions(name, axis, layout, fill):
    a = dense(fill=fill)
    numpy = getattr(np, name)
    x = tensor(a, layout, fill)
    expected = numpy(a, axis=axis)
    same(getattr(ow, name)(x, axis=axis), expected)
    same(getattr(x, name)(axis=axis, keepdims=True), numpy(a, axis=axis, keepdims=True))


def test_reductions_of_dtypes(dtype):
    a = dense(dtype)
    x = tensor(a, "csr")
    wide = {"i": "int64", "u": "uint64", "b": "int64"}.get(np.dtype(dtype).kind, dtype)
    same(x.sum(), a.sum(dtype=wide))
    same(x.sum(axis=0, dtype="float64" if wide != "complex128" else wide), a.sum(axis=0, dtype="float64" if wide != "complex128" else wide)) if np.dtype(dtype).kind != "c" else None
    if np.dtype(dtype).kind != "c":
        same(x.max(axis=1), a.max(axis=1))
        same(x.argmax(axis=1), a.argmax(axis=1))
        same(x.sort(axis=1), np.sort(a, axis=1))


def test_shapes(layout):
    a = dense()
    x = tensor(a, layout)
    same(x.reshape((3, 8)), a.reshape(3, 8))
    same(x.reshape((3, -1)), a.reshape(3, -1))
    same(x.reshape(-1), a.reshape(-1))
    same(ow.permute_dims(x, (1, 0)), a.T)
    same(x.T, a.T)
    same(x.mT, a.T)
    same(ow.expand_dims(x, axis=1), a[:, None])
    same(ow.squeeze(ow.expand_dims(x, axis=0), axis=0), a)
    same(ow.flip(x), np.flip(a))
    same(ow.flip(x, axis=1), np.flip(a, axis=1))
    same(ow.roll(x, 2, axis=1), np.roll(a, 2, axis=1))
    same(ow.roll(x, (1, 2), axis=(0, 1)), np.roll(a, (1, 2), axis=(0, 1)))
    same(ow.roll(x, 5), np.roll(a, 5))
    same(ow.concat([x, x], axis=1), np.concatenate([a, a], axis=1))
    same(ow.concat([x, x], axis=None), np.concatenate([a, a], axis=None))
    same(ow.stack([x, x], axis=-1), np.stack([a, a], axis=-1))
    same(ow.broadcast_to(x, (2, 4, 6)), np.broadcast_to(a, (2, 4, 6)))
    same(ow.tile(x, (2, 1)), np.tile(a, (2, 1)))
    same(ow.repeat(x, 2, axis=1), np.repeat(a, 2, axis=1))
    same(ow.repeat(x, np.array([1, 2, 0, 1]), axis=0), np.repeat(a, [1, 2, 0, 1], axis=0))
    same(ow.pad(x, 1), np.pad(a, 1))
    same(ow.pad(x, ((0, 1), (2, 0)), value=3), np.pad(a, ((0, 1), (2, 0)), constant_values=3))
    same(ow.pad(x, 1, "reflect"), np.pad(a, 1, "reflect"))
    same(ow.tril(x, k=-1), np.tril(a, -1))
    same(ow.triu(x), np.triu(a))
    same(ow.moveaxis(x, 0, 1), np.moveaxis(a, 0, 1))
    same(ow.diagonal(x), np.diagonal(a))
    same(ow.kron(x, x), np.kron(a, a))
    same(ow.diff(x, axis=1), np.diff(a, axis=1))
    same(ow.diff(x, axis=1, prepend=x[:, :1]), np.diff(a, axis=1, prepend=a[:, :1]))
    for got, expected in zip(ow.unstack(x, axis=1), a.T, strict=True):
        same(got, expected)
    for got, expected in zip(x, a, strict=True):
        same(got, expected)
    for got, expected in zip(ow.split(x, [2, 4], axis=1), np.split(a, [2], axis=1), strict=True):
        same(got, expected)


def test_order_and_search(layout):
    a = dense()
    x = tensor(a, layout)
    same(x.sort(), np.sort(a))
    same(x.sort(axis=0, descending=True), -np.sort(-a, axis=0))
    same(ow.take_along_axis(x, x.argsort(), axis=-1), np.sort(a))
    values, counts = np.unique(a, return_counts=True)
    found = ow.unique_counts(x)
    same(found.values, values)
    same(found.counts, counts)
    everything = ow.unique_all(x)
    same(everything.values[everything.inverse_indices], a)
    same(ow.cumulative_sum(x, axis=1), np.cumsum(a, axis=1))
    same(ow.cumulative_sum(x, axis=1, include_initial=True), np.pad(np.cumsum(a, axis=1), ((0, 0), (1, 0))))
    same(ow.searchsorted(ow.asarray([1.0, 2.0, 3.0]), ow.asarray([2.0, 2.5]), side="right"), np.array([2, 2]))
    top = ow.topk(x, 2, axis=1)
    same(top.values, -np.sort(-a, axis=1)[:, :2])
    for got, expected in zip(ow.nonzero(x), np.nonzero(a), strict=True):
        same(got, expected)
    same(ow.argwhere(x), np.argwhere(a))
    same(ow.where(x > 0, x, -1.0), np.where(a > 0, a, -1.0))
    same(ow.clip(x, -1.0, 1.0), np.clip(a, -1.0, 1.0))
    same(ow.clip(x, max=0.5), np.clip(a, None, 0.5))
    same(ow.quantile(x, 0.3, axis=1), np.quantile(a, 0.3, axis=1))
    same(ow.take(x, ow.asarray([2, 0]), axis=1), np.take(a, [2, 0], axis=1))


def test_products(layout):
    a, b = dense(), dense(seed=1)
    x, y = tensor(a, layout), tensor(b, "csr")
    same(x @ y.T, a @ b.T)
    same(ow.matmul(x, y.T), a @ b.T)
    same(ow.tensordot(x, y, axes=((0, 1), (0, 1))), np.tensordot(a, b, axes=((0, 1), (0, 1))))
    same(ow.tensordot(x, y.T, axes=1), a @ b.T)
    same(ow.vecdot(x, y), (a * b).sum(-1))
    same(ow.einsum("ij,kj->ik", x, y), a @ b.T)
    same(ow.einsum("ij,kj->ik", x, y, semiring="max_plus"), (a[:, None] + b[None]).max(-1))
    same(ow.einsum("ij,kj->ik", x, y, semiring="max_min"), np.minimum(a[:, None], b[None]).max(-1))
    same(ow.einsum("ij,kj->ik", x, y, semiring="plus_hypot"), np.hypot(a[:, None], b[None]).sum(-1))
    same(ow.einsum("ij,kj->ik", x, y, semiring="times_min"), np.minimum(a[:, None], b[None]).prod(-1))
    assert ow.einsum_path("ij,kj,kl->il", x, y, y).count("\n") == 3  # a head and two products
    with pytest.raises(ValueError, match="no semiring; known are plus_times"):
        ow.einsum("ij,kj->ik", x, y, semiring="max_pluss")
    with pytest.raises(ValueError, match="at character 9"):
        ow.einsum_path("ij,kj->iz", x, y)
    same(ow.linalg.matrix_power(x @ y.T, 2), np.linalg.matrix_power(a @ b.T, 2))
    same(ow.linalg.outer(x[0], y[1]), np.outer(a[0], b[1]))
    same(ow.linalg.trace(x), np.trace(a))
    same(ow.linalg.vector_norm(x), np.linalg.norm(a))
    for order in ("fro", 1, np.inf, -1):
        same(ow.linalg.matrix_norm(x, ord=order), np.linalg.norm(a, ord=order))
    assert ow.vdot(x, y) == pytest.approx((a * b).sum())


def test_undefined_fill():
    x = ow.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], [4.0, 2.0, 5.0], (2, 3))
    assert x.fill_kind == "undefined" and x.fill_value is None
    assert x.mean(axis=1).tolist() == [3.0, 5.0]
    assert x.get((0, 1)) is None and x.get((0, 2)) == 2.0
    with pytest.raises(ValueError, match="absent"):
        x.to_numpy()
    np.testing.assert_array_equal(x.to_numpy(absent=-1), [[4, -1, 2], [-1, 5, -1]])
    assert (x + 1).fill_kind == "undefined"


def test_layouts_keep_meaning(layout, dtype):
    a = dense(dtype)
    for other in LAYOUTS:
        x = tensor(a, layout)
        x = x.to_layout(other) if layout != "strided" else x.to_sparse(other, fill_value=0) if other != "strided" else x
        assert x.layout == other or (x.layout, other) == ("dcsr", "csf")
        same(x, a)
        assert x.dtype == dtype


def test_map_and_apply_stored():
    a = dense()
    x = tensor(a, "csr")
    same(x.map(lambda v: v**2 + 1), a**2 + 1)
    y = x.apply_stored(lambda v: v + 1)
    same(y, np.where(x.is_stored().to_numpy(), a + 1, 0))
    with pytest.raises(ValueError, match="element by element"):
        x.map(lambda v: v[:1])


def test_centred_stays_sparse():
    a = dense(shape=(50, 20), density=0.1)
    x = tensor(a, "csr")
    centred = x - x.mean(axis=0, keepdims=True)
    assert centred.nse == x.nse and centred.fill_kind == "array"
    same(centred, a - a.mean(axis=0))
    same(ow.softmax(x, axis=1), np.exp(a) / np.exp(a).sum(1, keepdims=True))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_in_a_layout_of_choice(layout):
    a, b = tensor(dense(), layout), tensor(dense(seed=1), layout).mT
    for chosen in ("strided", "coo", "csr"):
        product = a.matmul_with(b, layout=chosen)
        assert product.layout == chosen
        same(product, dense() @ dense(seed=1).T)
    least = a.matmul_with(b, "min_plus", layout="strided")
    same(least, (dense()[:, None, :] + dense(seed=1)[None, :, :]).min(axis=-1))


def test_axes_are_taken_by_their_place():
    a = np.array([[3.0, 0, 1], [0, 2, 0]])
    x = ow.sparse_csr_tensor([0, 2, 3], [0, 2, 1], [3.0, 1, 2], (2, 3), fill_value=0.0)
    same = lambda found, wanted: np.testing.assert_array_equal(np.asarray(found), wanted)  # noqa: E731
    same(x.flip(0), np.flip(a, 0))
    same(ow.roll(x, 1, 0), np.roll(a, 1, 0))
    same(x.sort(0), np.sort(a, 0))
    same(x.argsort(1), np.argsort(a, 1, kind="stable"))
    same(ow.take(x, [1, 0], 1), np.take(a, [1, 0], 1))
    same(x.tril(-1), np.tril(a, -1))
    same(ow.triu(x, 1), np.triu(a, 1))
    same(ow.concat([x, x], 1), np.concatenate([a, a], 1))
    same(ow.stack([x, x], 1), np.stack([a, a], 1))
    same(x.cumulative_sum(1), np.cumsum(a, 1))
    same(x.tensordot(x.T, 1), a @ a.T)
    same(x.topk(1, 0).values, a.max(0)[None])
    same(x.reshape(3, 2), a.reshape(3, 2))
    same(x.reshape(3, -1), a.reshape(3, 2))
    same(x.reshape(np.int64(6)), a.reshape(6))
    same(ow.reshape(x, shape=(3, 2)), a.reshape(3, 2))
    with pytest.raises(TypeError, match="one sequence"):
        x.reshape((3, 2), 1)
    same(x.permute_dims(1, 0), a.T)
    same(ow.permute_dims(x, axes=(1, 0)), a.T)
    assert len(x.unstack(1)) == 3
    # Of PyTorch's the second number repeats another axis, of NumPy's it is the axis.
    with pytest.raises(TypeError, match="positional"):
        x.repeat(2, 1)


def test_fills_and_decimals_that_are_not_given():
    a = np.array([[0.0, 1.256, 0], [2.5, 0, -0.125]])
    x = ow.asarray(a).to_sparse("csr")
    assert (x.layout, x.nse, x.fill_value) == ("csr", 3, 0.0)
    ones = ow.asarray(a).to_sparse(fill_value=1.0)
    assert ones.to_sparse("csr").fill_value == 1.0 and ow.to_sparse(a > 0).nse == 2
    assert ow.asarray(a).to_sparse(fill_value=None).nse == 6
    for decimals in (0, 1, 2, -1):
        np.testing.assert_array_equal(np.asarray(x.round(decimals)), np.round(a, decimals))
        np.testing.assert_array_equal(np.asarray(ow.round(ow.asarray([15, 25, -7]), decimals)), np.round([15, 25, -7], decimals))


def test_names_of_other_libraries_are_explained():
    x = ow.eye(3, layout="csr")
    hints = {"toarray": "todense()", "tocsr": 'to_layout("csr")', "nnz": "nse", "numpy": "to_numpy()", "view": "reshape(shape)"}
    for name, hint in hints.items():
        assert not hasattr(x, name) and name not in dir(x)
        with pytest.raises(AttributeError, match="here it is " + re.escape(hint)):
            getattr(x, name)
    with pytest.raises(AttributeError, match="'openwork.Tensor' object has no attribute 'nothing'$"):
        x.nothing
    with pytest.raises(AttributeError, match="here it is openwork.concat"):
        ow.hstack
    # Each hint names what there is.
    from openwork import _elsewhere

    for hint in _elsewhere.TENSOR.values():
        first = re.match(r"(?:x\[|(openwork\.)?(\w+))", hint)
        assert hint.startswith("x[") or hasattr(ow if first.group(1) else x, first.group(2)), hint
    for hint in _elsewhere.MODULE.values():
        assert hasattr(ow, hint.split(".")[0]), hint
