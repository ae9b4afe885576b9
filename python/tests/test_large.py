"""Ops on shapes that are large along some axis and small along others, beside NumPy: what cuts work into pieces and keeps tables of
results decides by such sizes."""

import itertools

import numpy as np
import pytest
from conftest import dense, same, tensor

import openwork as ow

SHAPES = [
    (3, 20_000), (20_000, 3), (300, 2000), (2000, 300), (1, 60_000), (60_000, 1), (40, 500), (2, 3, 10_000), (1000, 2, 30),
]  # fmt: skip
FLAT = ["strided", "coo", "csr", "csc", "dcsr", "dcsc", "bsr", "bsc", "coo+1dense"]
DEEP = ["strided", "coo", "csf", "coo+1dense"]
FILLS = ["zero", "two", "along the first axis", "along the last axis"]
DENSITIES = [0.001, 0.02, 0.3]


def cases():
    """Every shape in every layout, with fills, dtypes and densities in turn."""
    turns = zip(itertools.cycle(FILLS), itertools.cycle(["float64", "int32", "float64", "float32", "int64"]))
    densities = itertools.cycle(DENSITIES)
    for shape in SHAPES:
        for layout in FLAT if len(shape) == 2 else DEEP:
            fill, dtype = next(turns)
            yield pytest.param((shape, layout, fill, dtype, next(densities)), id=f"{shape}-{layout}-{fill}-{dtype}")


def made(shape, layout, fill, dtype, density, seed):
    """A tensor and the array that it means."""
    if layout in ("bsr", "bsc"):
        rows, columns = (next(k for k in (4, 3, 2, 1) if n % k == 0) for n in shape)
        layout = f"{layout}{rows}x{columns}"
    a = dense(dtype, shape, 0, seed, density)
    x = tensor(a, layout)
    if fill == "zero" or layout == "strided":
        return x, a
    stored = x.is_stored().to_numpy()
    if fill == "two":
        return x.replace_fill(2), np.where(stored, a, np.array(2, a.dtype))
    axis = 0 if fill == "along the first axis" else -1
    fills = np.random.default_rng(seed).integers(-2, 4, np.take(shape, axis)).astype(a.dtype)
    fills = fills.reshape([-1 if d == axis % len(shape) else 1 for d in range(len(shape))])
    return x.replace_fill(fills), np.where(stored, a, fills)


@pytest.fixture(params=cases())
def pair(request):
    """A tensor, its array, another of the same shape in another layout, and a source of random numbers."""
    shape, layout, fill, dtype, density = request.param
    layouts = FLAT if len(shape) == 2 else DEEP
    other = layouts[(layouts.index(layout) + 3) % len(layouts)]
    with ow.config(budget=1 << 31):
        x, a = made(shape, layout, fill, dtype, density, 1)
        y, b = made(shape, other, fill, dtype, density, 2)
        yield x, a, y, b, np.random.default_rng(3)


def test_elementwise(pair):
    x, a, y, b, rng = pair
    for op in ("add", "multiply", "maximum", "subtract", "equal"):
        same(getattr(ow, op)(x, y), getattr(np, op)(a, b))
        same(getattr(ow, op)(x, x.copy()), getattr(np, op)(a, a))
    row = rng.integers(-3, 4, a.shape[-1]).astype(a.dtype)
    same(x + row, a + row)
    same(x * row, a * row)
    same(ow.where(ow.not_equal(x, 0), x, y), np.where(a != 0, a, b))
    same(ow.clip(x, 0, 1), np.clip(a, 0, 1))


def test_reductions(pair):
    x, a, *_ = pair
    wide = a.astype("float64")
    for axis in (*range(a.ndim), None):
        for op in ("max", "min", "any", "all", "argmax", "argmin"):
            same(getattr(ow, op)(x, axis=axis), getattr(np, op)(a, axis=axis))
        np.testing.assert_allclose(ow.sum(x, axis=axis).to_numpy(), wide.sum(axis=axis), rtol=1e-5, atol=1e-3)
        np.testing.assert_allclose(ow.mean(x, axis=axis).to_numpy(), wide.mean(axis=axis), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(ow.var(x, axis=axis).to_numpy(), wide.var(axis=axis), rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(ow.count_nonzero(x, axis=axis).to_numpy(), np.count_nonzero(a, axis=axis))


def test_slices(pair):
    x, a, *_ = pair
    for axis in range(a.ndim):
        same(ow.sort(x, axis=axis), np.sort(a, axis=axis))
        np.testing.assert_allclose(ow.cumulative_sum(x, axis=axis).to_numpy(), a.cumsum(axis=axis), rtol=1e-4, atol=1e-2)
        middle = np.quantile(a.astype("float64"), 0.5, axis=axis)
        np.testing.assert_allclose(ow.quantile(x, 0.5, axis=axis).to_numpy(), middle, rtol=1e-6)
        if a.dtype.kind == "f":
            e = np.exp(a - a.max(axis=axis, keepdims=True))
            np.testing.assert_allclose(
                ow.softmax(x, axis=axis).to_numpy(), e / e.sum(axis=axis, keepdims=True), rtol=1e-4, atol=1e-7
            )
            norm = np.linalg.norm(a, axis=axis, keepdims=True)
            np.testing.assert_allclose(
                ow.normalize(x, 2, axis=axis).to_numpy(), a / np.maximum(norm, 1e-12), rtol=1e-4, atol=1e-7
            )
    np.testing.assert_array_equal(ow.unique_values(x).to_numpy(), np.unique(a))


def test_structure(pair):
    x, a, y, b, rng = pair
    same(x.permute_dims(tuple(range(a.ndim))[::-1]).to_layout("coo"), a.T)
    same(ow.reshape(x, (-1,)), a.reshape(-1))
    for axis in range(a.ndim):
        n = a.shape[axis]
        same(ow.flip(x, axis=axis), np.flip(a, axis))
        same(ow.roll(x, n // 3, axis=axis), np.roll(a, n // 3, axis))
        same(ow.concat([x, y], axis=axis), np.concatenate([a, b], axis=axis))
        chosen = rng.integers(0, n, min(n, 500))
        same(ow.take(x, chosen, axis=axis), np.take(a, chosen, axis))
        kept = rng.random(n) < 0.3
        for key in (slice(n // 4, n, 3), kept):
            key = (slice(None),) * axis + (key,)
            same(x[key], a[key])
    points = tuple(rng.integers(0, n, 300) for n in a.shape)
    same(x[points], a[points])
    put = a.copy()
    put[points] = 1
    same(x.index_put(points, 1), put)


def test_products(pair):
    x, a, *_, rng = pair
    m, n = a.shape[-2:]
    for k in (1, 7, 5000):
        if k * max(m, n) * (a.size // (m * n)) > 1e7 or k * a.size > 1e9:
            continue
        right, left = (rng.integers(-4, 5, s).astype(a.dtype) for s in ((n, k), (k, m)))
        products = [(x @ right, a, right), (left @ x, left, a)]
        if a.ndim == 2:
            turned = np.ascontiguousarray(left.T)
            products.append((x.T @ turned, a.T, turned))
        for product, first, second in products:
            wide = first.astype("float64") @ second.astype("float64")
            np.testing.assert_allclose(product.to_numpy(), wide, rtol=1e-4, atol=1e-2)
