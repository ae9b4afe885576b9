"""Arrays, indices and processes that are not what one thinks of first."""

import array
import ctypes
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import openwork as ow


def test_masked_arrays():
    a = np.ma.masked_array([1.0, 2.0, 3.0], [True, False, False])
    with pytest.raises(TypeError, match="to_sparse_where"):
        ow.asarray(a)
    x = ow.to_sparse_where(a.data, ~a.mask, fill_value=None)
    assert x.sum().item() == 5.0 and x.nse == 2 and x.fill_kind == "undefined"
    assert ow.asarray(a.filled(7.0)).tolist() == [7.0, 2.0, 3.0]
    assert ow.asarray(np.ma.masked_array([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_memory_that_objects_show():
    a = np.arange(6.0).reshape(2, 3)
    assert ow.asarray(memoryview(a)).tolist() == a.tolist() == ow.asarray(memoryview(a)[::-1])[::-1].tolist()
    assert ow.asarray(array.array("d", [1, 2])).tolist() == [1.0, 2.0]
    assert ow.asarray((ctypes.c_int32 * 3)(1, 2, 3)).dtype == "int32"
    assert ow.asarray(range(2, 8, 3)).tolist() == [2, 5] and ow.asarray(range(0)).dtype == "int64"
    shared = ow.asarray(memoryview(a), copy=False)
    a[0, 0] = 9.0
    assert shared[0, 0].item() == 9.0


@pytest.mark.parametrize("view", [np.s_[::-1], np.s_[:, ::-1], np.s_[::-1, ::-2], np.s_[1:0:-1]], ids=str)
def test_negative_strides(view):
    a = np.arange(12.0).reshape(3, 4)
    x = ow.asarray(a[view], copy=False)
    assert x.tolist() == a[view].tolist() and x.sum().item() == a[view].sum()
    assert (x.T @ x).tolist() == (a[view].T @ a[view]).tolist()
    assert x.to_sparse("csr", fill_value=0).to_numpy().tolist() == a[view].tolist()


def test_buffers_that_may_not_be_written():
    a = np.arange(12.0).reshape(3, 4)
    a.flags.writeable = False
    x = ow.asarray(a, copy=False)
    assert (x + 1).tolist() == (a + 1).tolist() and np.shares_memory(x.to_numpy(), a)
    assert ow.asarray(np.frombuffer(b"\0\0\0\0\0\0\xf0\x3f")).tolist() == [1.0]
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(x)[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        x.to_sparse("csr", fill_value=0).arrays()["values"][0] = 1.0


def test_capsules_used_twice():
    capsule = np.arange(3.0).__dlpack__()

    class Twice:
        def __dlpack__(self, **_):
            return capsule

        def __dlpack_device__(self):
            return (1, 0)

    twice = Twice()
    x = ow.from_dlpack(twice)
    with pytest.raises((BufferError, ValueError, TypeError)):
        ow.from_dlpack(twice)
    assert x.tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("raised", [RuntimeError, KeyError, ZeroDivisionError, RecursionError])
def test_what_objects_raise_themselves(raised):
    def fail(*_, **__):
        raise raised("of its own")

    kind = {"shape": (3,), "dtype": np.dtype("f8"), "__array__": fail}
    with pytest.raises(raised, match="of its own"):
        ow.asarray(type("Array", (), kind)())
    with pytest.raises(raised, match="of its own"):
        ow.zeros(3) + type("Array", (), kind)()
    lends = {"__dlpack__": fail, "__dlpack_device__": lambda self: (1, 0)}
    with pytest.raises(raised, match="of its own"):
        ow.from_dlpack(type("Lends", (), lends)())
    with pytest.raises(raised, match="of its own"):
        ow.zeros((type("Integer", (), {"__index__": fail})(),))
    with pytest.raises(raised, match="of its own"):
        ow.sparse_coo_tensor([[0]], [1.0], (3,), 0.0).map(fail)


@pytest.mark.parametrize("first", ["int8", "uint8", "int16", "uint32", "int64", "uint64", ">i4"])
@pytest.mark.parametrize("second", ["int8", "uint16", "int32", "int64", "uint64", ">u8"])
def test_indices_of_mixed_dtypes(first, second):
    rows, columns = np.array([0, 1], first), np.array([1, 0], second)
    expected = [[0.0, 1.0], [2.0, 0.0]]
    for indices in ([rows, columns], (rows[::-1][::-1], columns), [rows, [1, 0]], [rows, ow.asarray([1, 0])]):
        assert ow.sparse_coo_tensor(indices, [1.0, 2.0], (2, 2), 0.0).to_numpy().tolist() == expected
    assert ow.sparse_coo_tensor([rows, columns], [1.0, 2.0], None, 0.0).shape == (2, 2)
    pointers = np.array([0, 1, 2], first)
    assert ow.sparse_csr_tensor(pointers, columns, [1.0, 2.0], (2, 2), 0.0).to_numpy().tolist() == expected
    x = ow.asarray([[1.0, 2.0], [3.0, 4.0]])
    assert x[rows, columns].tolist() == [2.0, 3.0]


def test_indices_that_are_none():
    for indices in ([np.array([0, 1]), np.array([0])], [np.array([[0]]), np.array([[0]])], [[0, 1], [0]]):
        with pytest.raises(ValueError):
            ow.sparse_coo_tensor(indices, [1.0, 2.0], (2, 2), 0.0)
    for row in (np.array([0.0, 1.0]), np.array([True, False]), np.array([0, 1], object), np.array(["a", "b"])):
        with pytest.raises(TypeError, match="integers"):
            ow.sparse_coo_tensor([row, np.array([0, 1])], [1.0, 2.0], (2, 2), 0.0)
    with pytest.raises(TypeError, match="integers"):
        ow.sparse_coo_tensor((i for i in [[0, 1]]), [1.0, 2.0], (2,), 0.0)
    with pytest.raises(ValueError, match="18446744073709551615"):
        ow.sparse_coo_tensor(np.array([[2**64 - 1]], np.uint64), [1.0], (2**40,), 0.0)


def test_generators():
    assert ow.concat(ow.ones(2) for _ in range(2)).tolist() == [1.0] * 4
    for call in (
        lambda: ow.zeros(n for n in (2, 3)),
        lambda: ow.zeros((2, 3)).sum(axis=(i for i in (0, 1))),
        lambda: ow.asarray(i for i in range(3)),
        lambda: ow.zeros((2, 3)) + (i for i in range(3)),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("key", ["a", {}, object(), np.array([0, 1], object), (i for i in (0, 1)), b"a", 1.5, ("a", 0)], ids=repr)
def test_what_is_no_index(key):
    with pytest.raises(IndexError, match="indices are integers"):
        ow.zeros((2, 3))[key]


FORKED = """
    import os, signal, sys, threading
    import numpy as np
    import openwork as ow

    x, d = ow.random((3000, 3000), 0.01, layout="csr", seed=1), ow.rand((400, 500), seed=2)
    work = {
        "product": lambda: (x @ x).sum().item(),
        "dense product": lambda: (d @ d.T).sum().item(),
        "sort": lambda: ow.sort(d, axis=0)[0].sum().item(),
        "elementwise": lambda: ow.lgamma(d + 1).sum().item(),
        "in a pool": lambda: configured(),
        "interruptible": lambda: (x + x).sum().item(),
    }

    def configured():
        with ow.config(threads=2):
            return (x @ x.T).sum().item()

    expected = {name: f() for name, f in work.items()}      # starts the threads
    stop = threading.Event()
    def busy():
        while not stop.is_set():
            x @ x
    threads = [threading.Thread(target=busy) for _ in range(BUSY)]
    for t in threads:
        t.start()
    failed = []
    for name, f in work.items():
        child = os.fork()
        if child == 0:
            signal.alarm(60)                                # who hangs is ended, and seen below
            os._exit(0 if f() == expected[name] and f() == expected[name] else 3)
        _, status = os.waitpid(child, 0)
        if status:
            failed.append((name, status))
    stop.set()
    for t in threads:
        t.join()
    assert not failed, failed
    assert all(f() == expected[name] for name, f in work.items())
    print("as before")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("busy", [0, 2])
def test_forks_beside_threads(busy):
    """A child that hangs or ends itself is told apart by how it ended."""
    code = textwrap.dedent(FORKED).replace("BUSY", str(busy))
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=500)
    assert run.stdout == "as before\n", run.stderr
