"""Gradients against differences, by what is stored and by the fill."""

import numpy as np
import pytest

import openwork as ow
from openwork import vjp

STEP = 1e-6
LAYOUTS = ["strided", "csr", "coo", "csc"]
# Where an op of one operand is not defined, or bends, between 0.1 and 0.9.
DOMAINS = {"acosh": (1.1, 1.9), "nan_to_num": (0.1, 0.9), "sign": (0.1, 0.9), "angle": (0.1, 0.9)}


def operand(layout, seed, low=0.1, high=0.9, shape=(3, 4)):
    """Half of its elements stored, and a fill of the domain too."""
    rng = np.random.default_rng(seed)
    values = rng.uniform(low, high, size=shape)
    if layout == "strided":
        return ow.asarray(values)
    mask = rng.random(shape) < 0.5
    at = np.nonzero(mask)
    return ow.sparse_coo_tensor(np.stack(at), values[at], shape, fill_value=low + 0.3 * (high - low)).to_layout(layout)


def check(gradient, x, loss):
    """`loss` takes an array of the operand's shape."""
    dense = x.to_dense().to_numpy()
    by_each = np.zeros_like(dense)
    for at in np.ndindex(*dense.shape):
        up, down = dense.copy(), dense.copy()
        up[at] += STEP
        down[at] -= STEP
        by_each[at] = (loss(up) - loss(down)) / (2 * STEP)
    assert gradient.stored.shape == x.shape and gradient.stored.layout == x.layout
    if x.layout == "strided":
        np.testing.assert_allclose(gradient.stored.to_numpy(), by_each, rtol=1e-5, atol=1e-7)
        assert gradient.fill is None
        return
    stored = ow.is_stored(x).to_dense().to_numpy()
    found = gradient.stored.to_dense().to_numpy()
    np.testing.assert_allclose(found[stored], by_each[stored], rtol=1e-5, atol=1e-7)
    assert (found[~stored] == 0).all() and gradient.stored.nse == x.nse
    np.testing.assert_allclose(gradient.fill, by_each[~stored].sum(), rtol=1e-5, atol=1e-6)


def weights(shape, seed=9):
    return np.random.default_rng(seed).normal(size=shape)


def total(result, w):
    return float((result.to_dense().to_numpy() * w).sum())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [n for n in vjp._UNARY if n not in ("conj", "imag")])
def test_elementwise_of_one(name, layout):
    x = operand(layout, 1, *DOMAINS.get(name, (0.1, 0.9)))
    w, op = weights(x.shape), getattr(ow, name)
    by_x = getattr(vjp, name)(x, ow.asarray(w))
    check(by_x, x, lambda v: total(op(ow.asarray(v)), w))
    again = vjp.unary(x, name, ow.asarray(w))
    assert ow.array_equal(again.stored, by_x.stored) and again.fill == by_x.fill


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", vjp._BINARY)
def test_elementwise_of_two(name, layout):
    a, b = operand(layout, 1), operand(layout, 2, 1.1, 1.9)
    w, op = weights(a.shape), getattr(ow, name)
    function = getattr(vjp, name)
    by_a, by_b = function(a, b, ow.asarray(w))
    dense = a.to_dense(), b.to_dense()
    check(by_a, a, lambda v: total(op(ow.asarray(v), dense[1]), w))
    check(by_b, b, lambda v: total(op(dense[0], ow.asarray(v)), w))
    assert ow.array_equal(function(a, b, ow.asarray(w), wrt=1).stored, by_b.stored)
    # Beside numbers and integers.
    by_a, none = function(a, 1.5, ow.asarray(w))
    assert none is None
    check(by_a, a, lambda v: total(op(ow.asarray(v), 1.5), w))
    none, by_b = function(0.5, b, ow.asarray(w))
    assert none is None
    check(by_b, b, lambda v: total(op(0.5, ow.asarray(v)), w))
    none = function(a, ow.full(a.shape, 2, dtype="int8"), ow.asarray(w))[1]
    assert none is None


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(layout, axis, keepdims):
    x = operand(layout, 3)
    for name in [*vjp._REDUCTIONS, "logsumexp", "var", "std"]:
        if layout != "strided" and name in ("max", "min"):
            continue  # equal fills share it, which differences do not
        op = getattr(ow, name)
        w = weights(op(x, axis=axis, keepdims=keepdims).shape)
        by_x = getattr(vjp, name)(x, ow.asarray(w), axis=axis, keepdims=keepdims)
        check(by_x, x, lambda v: total(op(ow.asarray(v), axis=axis, keepdims=keepdims), w))
    w = weights(ow.vector_norm(x, axis=axis, ord=3.0).shape)
    by_x = vjp.vector_norm(x, ow.asarray(w), axis=axis, ord=3.0)
    check(by_x, x, lambda v: total(ow.vector_norm(ow.asarray(v), axis=axis, ord=3.0), w))


def test_equal_greatest_elements_share():
    x = ow.sparse_coo_tensor([[0, 1], [0, 1]], [1.0, 2.0], (2, 3), fill_value=2.0)
    by_x = vjp.max(x, ow.asarray(5.0))
    assert by_x.stored.stored_values().tolist() == [0.0, 1.0] and by_x.fill == 4.0


@pytest.mark.parametrize("layout", LAYOUTS)
def test_products_softmax_and_shape(layout):
    x, y = operand(layout, 4), ow.asarray(weights((4, 5)))
    w = weights((3, 5))
    by_x, by_y = vjp.matmul(x, y, ow.asarray(w))
    check(by_x, x, lambda v: total(ow.asarray(v) @ y, w))
    check(by_y, y, lambda v: total(x.to_dense() @ ow.asarray(v), w))
    w = weights((3, 4))
    g = ow.asarray(w)
    for name in ("softmax", "log_softmax"):
        check(getattr(vjp, name)(x, g, axis=1), x, lambda v: total(getattr(ow, name)(ow.asarray(v), axis=1), w))
    check(vjp.permute_dims(x, g.T, (1, 0)), x, lambda v: total(ow.asarray(v), w))
    check(vjp.reshape(x, g.reshape((2, 6))), x, lambda v: total(ow.asarray(v), w))
    wide = weights((2, 3, 4))
    check(vjp.broadcast_to(x, ow.asarray(wide)), x, lambda v: float((v * wide).sum()))
    check(vjp.getitem(x, ow.asarray(w[1:, 0]), (slice(1, None), 0)), x, lambda v: float((v[1:, 0] * w[1:, 0]).sum()))
    check(vjp.getitem(x, ow.asarray(w[0]), 1), x, lambda v: float((v[1] * w[0]).sum()))
    twice = weights((3, 3))
    check(vjp.index_select(x, ow.asarray(twice), [2, 0, 2], axis=1), x, lambda v: float((v[:, [2, 0, 2]] * twice).sum()))
    check(vjp.astype(x, g.astype("float32")), x, lambda v: float((v * w.astype("f4")).sum()))
    z = operand(layout, 5)
    by_x, by_z = vjp.concat([x, z], ow.asarray(weights((6, 4))))
    check(by_x, x, lambda v: float((v * weights((6, 4))[:3]).sum()))
    check(by_z, z, lambda v: float((v * weights((6, 4))[3:]).sum()))
    condition = ow.asarray(weights((3, 4), 1) > 0)
    by_x, by_z = vjp.where(condition, x, z, g)
    check(by_x, x, lambda v: total(ow.where(condition, ow.asarray(v), z.to_dense()), w))
    check(by_z, z, lambda v: total(ow.where(condition, x.to_dense(), ow.asarray(v)), w))


def test_sampled_products():
    a, b = ow.asarray(weights((3, 2))), ow.asarray(weights((2, 4), 1))
    x = operand("csr", 6).replace_fill(0.0)
    w = weights((3, 4), 2)
    by_x, by_a, by_b = vjp.sampled_addmm(x, a, b, ow.asarray(w), beta=0.5, alpha=2.0)
    stored = ow.is_stored(x).to_dense().to_numpy()
    np.testing.assert_allclose(by_x.stored.to_dense().to_numpy(), np.where(stored, 0.5 * w, 0))
    np.testing.assert_allclose(by_a.stored.to_numpy(), 2 * np.where(stored, w, 0) @ b.to_numpy().T)
    np.testing.assert_allclose(by_b.stored.to_numpy(), 2 * a.to_numpy().T @ np.where(stored, w, 0))


def test_undefined_fills_have_no_gradient():
    x = ow.sparse_coo_tensor([[0, 1], [1, 0]], [0.5, 0.25], (2, 2))
    by_x = vjp.exp(x, ow.ones((2, 2)))
    assert by_x.fill is None and by_x.stored.fill_kind == "undefined"
    np.testing.assert_allclose(by_x.stored.stored_values().to_numpy(), np.exp([0.5, 0.25]))
    by_x = vjp.softmax(x, ow.asarray([[1.0, 2.0], [3.0, 4.0]]), axis=1)  # each row has one element
    np.testing.assert_allclose(by_x.stored.stored_values().to_numpy(), 0, atol=1e-15)


def test_fills_that_vary_have_gradients_that_do():
    x = operand("csr", 7).replace_fill(0.0)
    centred = x - x.mean(axis=0, keepdims=True)
    by = vjp.square(centred, ow.ones((3, 4)))
    assert by.fill.shape == (1, 4)
    dense, stored = centred.to_dense().to_numpy(), ow.is_stored(x).to_dense().to_numpy()
    np.testing.assert_allclose(by.fill.to_numpy()[0], np.where(stored, 0, 2 * dense).sum(0))
    assert by.with_fill().fill_kind == "array"


def test_sums_steps_and_words():
    x = operand("csr", 8)
    one = vjp.square(x, ow.ones((3, 4)))
    two = one + vjp.exp(x, ow.ones((3, 4)))
    np.testing.assert_allclose(two.stored.stored_values().to_numpy(), 2 * x.stored_values().to_numpy() + np.exp(x.stored_values().to_numpy()))
    stepped = x - 0.1 * one.with_fill()
    np.testing.assert_allclose(stepped.fill_value, x.fill_value - 0.1 * one.fill)
    assert repr(one).startswith("<Gradient [3, 4] float64 CSR") or "csr" in repr(one).lower()


def test_what_is_wrong_is_said():
    x = operand("csr", 1)
    with pytest.raises(TypeError, match="int64"):
        vjp.square(ow.asarray([1, 2]), ow.asarray([1, 2]))
    with pytest.raises(ValueError, match="shape"):
        vjp.exp(x, ow.ones((4, 3)))
    with pytest.raises(ValueError, match="no gradient"):
        vjp.unary(x, "nothing", x)
    with pytest.raises(ValueError, match="operand"):
        vjp.mul(x, x, x, wrt=2)
    with pytest.raises(AttributeError, match="floor"):
        vjp.floor
    assert (vjp.unary(x, "floor", x).stored.stored_values().to_numpy() == 0).all()
    assert "matmul" in dir(vjp)


def test_complex_gradients_are_pytorchs():
    z = ow.asarray(np.array([1 + 2j, 3 - 1j]))
    by_z = vjp.square(z, ow.asarray(np.array([1 + 0j, 1j])))
    np.testing.assert_allclose(by_z.stored.to_numpy(), np.array([1, 1j]) * np.conj(2 * z.to_numpy()))
