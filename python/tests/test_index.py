"""Indexing beside NumPy."""

import numpy as np
import pytest
from conftest import dense, same, tensor

import openwork as ow

KEYS = [
    0, -1, slice(None), slice(1, 3), slice(None, None, -1), slice(3, None, -2), slice(-100, 100), slice(2, 2),
    slice(5, 1, -1), slice(None, None, 3), Ellipsis, None, (0, 1), (slice(None), 0), (Ellipsis, 0), (0, Ellipsis),
    (None, 0), (slice(None), None, slice(1, 4)), (Ellipsis, None), (slice(None, None, -1), slice(4, 0, -2)),
    [0, 2], [2, 2, -1], [], (slice(None), [1, 0]), ([0, 1], [1, 0]), ([[0], [1]], [1, 2]), np.array([1, 0]),
    np.int64(1), (np.int8(1), slice(None)), np.array([True, False, True, False]), (slice(None), np.arange(6) % 2 == 0),
    (Ellipsis, np.array([1, 5])), ([0, 3], slice(1, 3)), (slice(0, 2), [1, 2], None), ((0, 1),), np.array([[0, 1], [2, 3]]),
]  # fmt: skip


@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_index(key, layout):
    a = dense()
    same(tensor(a, layout)[key], a[key])


def test_masks_of_all_axes(layout):
    a = dense()
    x = tensor(a, layout)
    same(x[a > 0], a[a > 0])
    same(x[x > 0], a[a > 0])
    same(x[ow.asarray(a > 0)], a[a > 0])


def test_tensors_are_indices():
    a = dense()
    x = tensor(a, "csr")
    same(x[ow.asarray([2, 0])], a[[2, 0]])
    same(x[ow.asarray(1)], a[1])
    same(x[tensor(np.array([0, 2, 0, 1]), "coo")], a[[0, 2, 0, 1]])


@pytest.mark.parametrize(
    "key", [4, -5, (0, 6), (0, 0, 0), "a", 1.5, [0, 9], np.array([True, False]), (Ellipsis, Ellipsis), [1.5]], ids=repr
)
def test_wrong_indices(key, layout):
    with pytest.raises((IndexError, TypeError)):
        tensor(dense(), layout)[key]


def test_tensors_do_not_change():
    x = tensor(dense(), "csr")
    with pytest.raises(TypeError, match="index_put"):
        x[0, 0] = 1.0
    y = ow.index_put(x, (0, slice(1, 3)), 7.0)
    assert y[0, 1].item() == 7.0 and x[0, 1].item() != 7.0
    a = dense().copy()
    a[a > 0] = -1
    same(ow.index_put(x, x > 0, -1.0), a)
    with pytest.raises(TypeError):
        hash(x)
