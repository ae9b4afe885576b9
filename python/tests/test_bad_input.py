"""What is not right is an error of Python, and never the end of the process."""

import os
import threading

import numpy as np
import pytest
from conftest import dense, tensor

import openwork as ow


@pytest.mark.parametrize(
    "wrong",
    [
        np.array([1, "a", None], dtype=object), np.array(["a"]), np.array([b"a"]), np.array(["2020-01-01"], "M8[D]"),
        np.zeros(3, dtype=[("a", "f8")]), "text", b"bytes", {1: 2}, {1, 2}, None, object(), (v for v in range(3)), open,
        [1, "a"], np.longdouble(1.5), bytearray(b"12"), np.array([1, 2], dtype=object), np.rec.array([(1, 2.0)]),
        np.array(["a", "b"], dtype=np.dtypes.StringDType()), np.ma.masked_array([1.0, 2.0], [True, False]), [None], lambda: 1,
    ],
    ids=lambda v: type(v).__name__,
)  # fmt: skip
def test_no_arrays(wrong):
    with pytest.raises(TypeError):
        ow.asarray(wrong)
    with pytest.raises(TypeError):
        ow.sum(wrong)


@pytest.mark.parametrize("wrong", [[[1, 2], [3]], [[1], 2], [1, [2]]])
def test_ragged_lists(wrong):
    with pytest.raises(ValueError):
        ow.asarray(wrong)


def test_other_byte_order_is_copied():
    a = np.arange(3, dtype=">f8" if np.little_endian else "<f8")
    assert ow.asarray(a).tolist() == [0.0, 1.0, 2.0]
    with pytest.raises(ValueError, match="byte order"):
        ow.asarray(a, copy=False)
    with pytest.raises(TypeError, match="byte order"):
        ow.zeros(3, dtype=a.dtype)


def test_unaligned_and_odd_strides_are_copied():
    raw = np.zeros(25, dtype="u1")
    odd = raw[1:].view("f8")
    assert not odd.flags.aligned
    assert ow.asarray(odd).tolist() == [0.0] * 3
    records = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])
    records["a"] = [1, 2, 3]
    assert ow.asarray(records["a"]).tolist() == [1.0, 2.0, 3.0]
    for array in (odd, records["a"]):
        with pytest.raises(ValueError, match="copy=False"):
            ow.asarray(array, copy=False)


@pytest.mark.parametrize("dtype", ["float128", "str", "O", "no such", 7, "M8[s]", None])
def test_no_dtypes(dtype):
    with pytest.raises((TypeError, AttributeError)):
        ow.asarray([1]).astype(dtype)


@pytest.mark.parametrize("dtype", [float, "f4", np.float32, np.dtype("int8"), bool, complex, "uint16", ow.bfloat16])
def test_dtypes_by_other_names(dtype):
    x = ow.zeros(2, dtype=dtype)
    assert x.dtype == (np.dtype(dtype) if dtype is not ow.bfloat16 else ow.bfloat16)


def test_axes():
    x = ow.zeros((2, 3))
    for axis in (2, -3, (0, 0), (0, 5)):
        with pytest.raises(np.exceptions.AxisError):
            x.sum(axis=axis)
    for axis in ("a", 1.0, [0.5]):
        with pytest.raises(TypeError):
            x.sum(axis=axis)
    with pytest.raises(IndexError):
        x.sort(axis=2)


def test_shapes_and_sizes():
    with pytest.raises(ValueError, match="0 or more"):
        ow.zeros((-1, 2))
    with pytest.raises(MemoryError):
        ow.asarray([1.0]).broadcast_to((10**6, 10**6)).to_sparse("coo", fill_value=0)
    with pytest.raises(MemoryError):
        ow.zeros((10**9, 10**9), layout="coo").to_numpy()
    with pytest.raises(ow.DensifyError):
        np.asarray(ow.zeros((10**9, 10**9), layout="coo"))
    with pytest.raises(ValueError):
        ow.zeros((2, 3)).reshape((4, -1))
    with pytest.raises(ValueError):
        ow.zeros((2, 3)).reshape((-1, -1))
    for shape in [(2.5, 3), (2, 3.0), [2.0, 3], (2, "3")]:
        with pytest.raises(TypeError):
            ow.zeros((2, 3)).reshape(shape)
    with pytest.raises(ValueError):
        ow.zeros((2, 3)) + ow.zeros((3, 2))
    with pytest.raises(ValueError, match="csr2"):
        ow.zeros((2, 3)).to_layout("csr2")
    huge = ow.zeros((2**40, 2**40), layout="coo")
    assert huge.size == 2**80 and repr(huge)


def test_huge_numbers():
    x = ow.zeros(3, dtype="int64")
    with pytest.raises(OverflowError):
        x + 2**70
    with pytest.raises(ValueError):
        x.replace_fill(1.5) if not x.is_strided else x.to_sparse("coo", fill_value=1.5)
    with pytest.raises((ValueError, OverflowError)):
        ow.asarray([300], dtype="int8")


COO = ([[0, 1], [1, 0]], [1.0, 2.0], (2, 2))


@pytest.mark.parametrize(
    "arguments, options, error",
    [
        (([[0, 2], [1, 0]], [1.0, 2.0], (2, 2)), {}, ValueError),
        (([[0, -1], [1, 0]], [1.0, 2.0], (2, 2)), {}, ValueError),
        (([[0, 1], [1, 0]], [1.0], (2, 2)), {}, ValueError),
        (([[0.0, 1.0], [1.0, 0.0]], [1.0, 2.0], (2, 2)), {}, TypeError),
        (([0, 1], [1.0, 2.0], (2,)), {}, ValueError),
        (([[0, 1], [1, 0]], [1.0, 2.0], (2, 2, 2)), {}, ValueError),
        (COO, {"device": "cuda"}, ValueError),
        (COO, {"requires_grad": True}, ValueError),
        (COO, {"fill_value": np.float32(0)}, TypeError),
        (COO, {"fill_value": 0j}, TypeError),
        (COO, {"fill_value": False}, TypeError),
        (COO, {"fill_value": "a"}, TypeError),
        (([[0], [0]], [1], (2, 2)), {"fill_value": 0.5}, TypeError),
    ],
)
def test_sparse_coo_tensor(arguments, options, error):
    with pytest.raises(error):
        ow.sparse_coo_tensor(*arguments, **options)


def test_fill_of_constructors():
    assert ow.sparse_coo_tensor(*COO).fill_kind == "undefined"
    assert ow.sparse_coo_tensor(*COO, fill_value=0.0).fill_value == 0.0
    assert ow.sparse_coo_tensor(*COO, fill_value=0).dtype == "float64"
    assert ow.sparse_coo_tensor(*COO, fill_value=np.float32(1), dtype="float32").fill_value == 1.0
    # Without values the fill says the dtype.
    empty = ow.sparse_coo_tensor([[], []], [], (2, 2), fill_value=np.int8(3))
    assert empty.dtype == "int8" and empty[1, 1].item() == 3
    assert ow.sparse_coo_tensor([[0, 3], [1, 0]], [1.0, 2.0]).shape == (4, 2)
    hybrid = ow.sparse_coo_tensor([[0, 2]], [[1.0, 2.0], [3.0, 4.0]], (3, 2), 0)
    assert hybrid.layout == "coo+1dense"


@pytest.mark.parametrize(
    "pointers, indices, values, size",
    [
        ([0, 1, 3], [0, 1], [1.0, 2.0], (2, 2)), ([0, 2, 1], [0, 1], [1.0, 2.0], (2, 2)),
        ([0, 1, 2], [0, 5], [1.0, 2.0], (2, 2)), ([0, 2, 2], [1, 0], [1.0, 2.0], (2, 2)),
        ([0, 1], [0, 1], [1.0, 2.0], (2, 2)), ([1, 1, 2], [0, 1], [1.0, 2.0], (2, 2)),
        ([0, 1, 2], [0, -1], [1.0, 2.0], (2, 2)), ([0, 1, 2], [0, 1], [1.0], (2, 2)),
    ],
)  # fmt: skip
def test_compressed(pointers, indices, values, size):
    for make in (ow.sparse_csr_tensor, ow.sparse_csc_tensor):
        with pytest.raises(ValueError):
            make(pointers, indices, values, size, 0)
    good = ow.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2), 0)
    np.testing.assert_array_equal(good.to_numpy(), [[0, 1], [2, 0]])
    good = ow.sparse_csc_tensor([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2), 0)
    np.testing.assert_array_equal(good.to_numpy(), [[0, 2], [1, 0]])


def test_owners_of_indices_may_write_them_afterwards():
    rows, columns = np.array([0, 1]), np.array([1, 0])
    x = ow.sparse_coo_tensor(np.stack([rows, columns]), np.array([1.0, 2.0]), (2, 2), 0)
    pointers, indices = np.array([0, 1, 2]), np.array([1, 0])
    y = ow.sparse_csr_tensor(pointers, indices, np.array([1.0, 2.0]), (2, 2), 0)
    for a in (rows, columns, pointers, indices):
        a[:] = 10**9
    assert x.sum().item() == y.sum().item() == 3.0 and y[1, 0].item() == 2.0


def test_conversions_to_python():
    with pytest.raises(ValueError):
        bool(ow.zeros(3))
    with pytest.raises(ValueError):
        float(ow.zeros(3))
    with pytest.raises(TypeError):
        float(ow.asarray(1j))
    with pytest.raises(TypeError):
        range(3)[ow.asarray(1.0)]
    assert range(3)[ow.asarray(1)] == 1 and [5, 6][ow.asarray(1)] == 6
    assert (int(ow.asarray(2.7)), float(ow.asarray(2)), complex(ow.asarray(1j)), bool(ow.asarray(0))) == (2, 2.0, 1j, False)
    with pytest.raises(TypeError):
        len(ow.asarray(1))
    with pytest.raises(TypeError):
        iter(ow.asarray(1))
    with pytest.raises(TypeError):
        ow.zeros(3) + "a"
    with pytest.raises(TypeError):
        ow.zeros(3) @ None


def test_wrong_calls():
    x = ow.zeros(3)
    with pytest.raises(TypeError):
        x.sum(0, 1, 2)
    with pytest.raises(TypeError):
        x.sum(axes=0)
    with pytest.raises(TypeError):
        ow._core.op("sum")(x)
    with pytest.raises(TypeError):
        ow._core.op("sum")(x, None, False, 1)
    with pytest.raises(ValueError):
        ow._core.op("no such op")
    with pytest.raises(ValueError, match="known are"):
        ow.reduce(x, "no such op")
    with pytest.raises(ValueError, match="known are"):
        ow.matmul_with(ow.zeros((2, 2)), ow.zeros((2, 2)), "no_such")
    with pytest.raises(ValueError, match="csr2"):
        ow.matmul_with(ow.zeros((2, 2)), ow.zeros((2, 2)), layout="csr2")
    with pytest.raises(ValueError, match="absent"):
        some = ow.asarray([[True, False], [False, False]])
        ow.matmul_with(ow.ones((2, 2)), ow.ones((2, 2)), mask=some, layout="strided")
    with pytest.raises(ValueError):
        ow.searchsorted(x, x, side="middle")
    with pytest.raises(AttributeError):
        x.no_such_method()
    with pytest.raises(AttributeError, match="openwork.concat"):
        ow.concatenate([x, x])
    assert ow.Tensor([1, 2]).tolist() == [1, 2]
    with pytest.raises(TypeError):
        ow.Tensor("text")
    with pytest.raises((TypeError, AttributeError)):
        x.shape = (1, 3)


def test_threads_of_python_work_at_once():
    x, results = tensor(dense(shape=(200, 200)), "csr"), []

    def work():
        for _ in range(20):
            results.append((x @ x).sum().item())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(set(results)) == 1 and len(results) == 80


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_fork_after_threads_have_started():
    x = ow.random((2000, 2000), 0.05, layout="csr", seed=1)
    expected = (x @ x).nse  # starts the threads
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            got = (x @ x).nse
            os.write(write, str(got).encode())
        finally:
            os._exit(0)
    os.close(write)
    _, status = os.waitpid(child, 0)
    assert status == 0 and int(os.read(read, 100)) == expected
    assert ow._core.forked_threads() == 0


def test_config():
    x = ow.random((100, 100), 0.1, layout="csr", seed=1)
    row, column = ow.arange(100.0).reshape((1, 100)), ow.arange(100.0).reshape((100, 1))
    with ow.config(budget=0):
        assert ow.densify_budget() == 0
        with pytest.raises(ow.DensifyError):
            x + row + column
        with ow.config(budget=10**9):
            assert (x + row + column).shape == (100, 100)
        with pytest.raises(ow.DensifyError):
            np.asarray(x)
    assert ow.densify_budget() == 16 << 20
    with ow.config(threads=1):
        assert (x + 1).nse == x.nse
    nan = ow.asarray(np.array([np.nan]))
    zero = ow.zeros(1, layout="coo")
    assert (nan * zero).to_numpy()[0] == 0
    with ow.config(nan="exact"):
        assert np.isnan((nan * zero).to_numpy()[0])
    with pytest.raises(ValueError):
        ow.config(threads=0)
    with pytest.raises(ValueError):
        ow.config(nan="maybe")


def test_explain(capsys):
    x = ow.random((20, 20), 0.2, layout="csr", seed=1)
    with ow.explain() as told:
        (x + 1).sum(axis=0)
        with ow.explain(None) as inner:
            x @ x
    assert [s.op for s in told.steps] == ["add", "sum", "matmul"] and [s.op for s in inner.steps] == ["matmul"]
    assert told.steps[0].path == "values" and "csr" in told.steps[0].result
    assert capsys.readouterr().out.count("\n") >= 3
    with ow.explain(None) as told:
        pass
    x + 1
    assert told.steps == []
