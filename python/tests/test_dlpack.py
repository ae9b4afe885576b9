"""DLPack: sharing strided arrays both ways."""

import gc
import weakref

import numpy as np
import pytest

import openwork as ow


def address(a):
    return a.__array_interface__["data"][0]


def test_export_shares_and_is_read_only(dtype):
    x = ow.asarray(np.arange(6).reshape(2, 3).astype(dtype))
    a, b = np.from_dlpack(x), np.from_dlpack(x)
    assert address(a) == address(b) and not a.flags.writeable
    assert a.dtype == dtype
    del x
    gc.collect()
    np.testing.assert_array_equal(a, np.arange(6).reshape(2, 3).astype(dtype))


def test_import_shares(dtype):
    a = np.arange(6).reshape(2, 3).astype(dtype)
    x = ow.asarray(a)
    if dtype != "bool":
        assert address(x.to_numpy()) == address(a)
    view = weakref.ref(a)
    kept = a.copy()
    del a
    gc.collect()
    np.testing.assert_array_equal(x.to_numpy(), kept)
    assert dtype == "bool" or view() is not None
    del x
    gc.collect()
    assert view() is None


@pytest.mark.parametrize("view", [np.s_[::-1], np.s_[:, ::-2], np.s_[1:, ::2], np.s_[..., None], np.s_[0:0], np.s_[1]])
def test_strides(view):
    a = np.arange(24.0).reshape(4, 6)[view]
    x = ow.asarray(a)
    np.testing.assert_array_equal(x.to_numpy(), a)
    if a.size:
        assert address(x.to_numpy()) == address(a)
    np.testing.assert_array_equal(ow.from_dlpack(x).to_numpy(), a)


def test_broadcast_and_read_only_arrays_are_taken():
    a = np.broadcast_to(np.arange(3.0), (2, 3))
    np.testing.assert_array_equal(ow.asarray(a).to_numpy(), a)
    b = np.arange(3.0)
    b.flags.writeable = False
    np.testing.assert_array_equal((ow.asarray(b) + 1).to_numpy(), b + 1)


def test_what_is_shared_needs_no_memory():
    x = ow.asarray(np.broadcast_to(np.float64(2), (10**6, 10**6)))
    assert x.shape == (10**6, 10**6) and x.nbytes == 8 and x[5, 7].item() == 2.0


def test_a_consumer_without_versions_gets_a_copy():
    x = ow.asarray(np.arange(3.0))
    capsule = x.__dlpack__()
    assert '"dltensor"' in repr(capsule)

    class Old:
        def __dlpack__(self, stream=None):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    y = ow.from_dlpack(Old())
    assert y.tolist() == [0.0, 1.0, 2.0] and address(y.to_numpy()) != address(x.to_numpy())
    with pytest.raises(ValueError, match="used before"):
        ow.from_dlpack(Old())


def test_capsules_are_used_once_and_dropped_unused():
    x = ow.asarray(np.arange(3.0))
    for version in (None, (1, 0)):
        assert x.__dlpack__(max_version=version) is not None

    capsule = x.__dlpack__(max_version=(1, 0))

    class Once:
        def __dlpack__(self, **_):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    assert ow.from_dlpack(Once()).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="used before"):
        ow.from_dlpack(Once())


def test_refusals():
    x = ow.asarray(np.arange(3.0))
    with pytest.raises(BufferError, match="dl_device"):
        x.__dlpack__(dl_device=(2, 0), max_version=(1, 0))
    with pytest.raises(ValueError, match="stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="layout is coo"):
        x.to_sparse("coo", fill_value=0).__dlpack__()
    with pytest.raises(BufferError, match="copy=False"):
        x.__dlpack__(copy=False)

    class Elsewhere:
        def __dlpack__(self, **_):
            raise AssertionError("is not asked")

        def __dlpack_device__(self):
            return (2, 0)

    class Wrong:
        def __dlpack__(self, **_):
            return 7

    with pytest.raises(BufferError, match="CPU"):
        ow.asarray(Elsewhere())
    with pytest.raises(TypeError, match="no capsule"):
        ow.from_dlpack(Wrong())


def test_copies():
    a = np.arange(3.0)
    x = ow.asarray(a, copy=True)
    shared = ow.asarray(a, copy=False)
    a[0] = 9
    assert x[0].item() == 0.0 and shared[0].item() == 9.0
    b = np.from_dlpack(x, copy=True)
    b[0] = 5
    assert x[0].item() == 0.0
    assert ow.from_dlpack(a, copy=True).tolist() == a.tolist()


def test_constituent_arrays_share_memory():
    x = ow.random((50, 40), 0.1, layout="csr", seed=1)
    first, second = x.arrays(), x.arrays()
    assert sorted(first) == ["indices_1", "pointers_to_1", "values"]
    for name, array in first.items():
        assert address(array) == address(second[name]) and not array.flags.writeable
    assert address(x.stored_values().to_numpy()) == address(first["values"])
