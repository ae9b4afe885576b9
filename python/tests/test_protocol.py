"""The binsparse protocol: our own objects, and small producers that imitate the proposals; pickles."""

import copy
import pickle

import numpy as np
import pytest
from conftest import LAYOUTS, dense, same, tensor

import openwork as ow


class Producer:
    """What another library gives: a descriptor and arrays."""

    def __init__(self, format, shape, arrays, **more):
        types = {name: str(np.asarray(a).dtype) for name, a in arrays.items()}
        stored = len(arrays["values"])
        said = {"version": "0.1", "format": format, "shape": list(shape), "number_of_stored_values": stored}
        self.said = {"binsparse": {**said, "data_types": types, **more}, "original_source": "a test"}
        self.arrays = {name: np.array(a) for name, a in arrays.items()}

    def __binsparse_descriptor__(self):
        return self.said

    def __binsparse__(self, *, descriptor=None):
        return self.arrays


POINTERS, INDICES, VALUES = np.array([0, 2, 3]), np.array([0, 2, 1]), np.array([1.0, 2.0, 3.0])
DENSE = np.array([[1.0, 0, 2], [0, 3, 0]])
CSR = {"pointers_to_1": POINTERS, "indices_1": INDICES, "values": VALUES}
COOR = {"indices_0": np.array([0, 0, 1]), "indices_1": INDICES, "values": VALUES}


@pytest.mark.parametrize("layout", LAYOUTS[1:])
@pytest.mark.parametrize("fill", [0, 2, None, "array"])
def test_our_own(layout, fill):
    a = dense()
    x = tensor(a, layout)
    x = x.replace_fill(np.arange(6.0)) if fill == "array" else x.replace_fill(fill)
    descriptor, arrays = x.__binsparse_descriptor__(), x.__binsparse__()
    # What binsparse 0.1 cannot say is in a name space of ours.
    (said,) = descriptor.values()
    assert said["data_types"].keys() == arrays.keys()
    for array in arrays.values():
        assert np.from_dlpack(array).flags.writeable is False
    y = ow.from_binsparse(Producer2(descriptor, arrays))
    assert y.same_meaning(x) and y.layout == x.layout and y.fill_kind == x.fill_kind


class Producer2:
    def __init__(self, said, arrays):
        self.said, self.arrays = said, arrays

    def __binsparse_descriptor__(self):
        return self.said

    def __binsparse__(self, *, descriptor=None):
        return self.arrays


def test_words_of_the_standard():
    x = tensor(DENSE, "csr")
    said = x.__binsparse_descriptor__()["binsparse"]
    assert (said["format"], said["shape"], said["version"]) == ("CSR", [2, 3], "0.1")
    assert tensor(DENSE, "csc").__binsparse_descriptor__()["binsparse"]["format"] == "CSC"
    assert tensor(DENSE, "coo").__binsparse_descriptor__()["binsparse"]["format"] in ("COO", "COOR")
    assert tensor(DENSE[0], "coo").__binsparse_descriptor__()["binsparse"]["format"] == "CVEC"
    filled = tensor(DENSE, "csr", 2.0).__binsparse_descriptor__()["binsparse"]
    assert filled["fill"] is True
    with pytest.raises(TypeError, match="__dlpack__"):
        ow.asarray(DENSE).__binsparse_descriptor__()


@pytest.mark.parametrize("format, arrays", [("CSR", CSR), ("COOR", COOR), ("COO", COOR)])
def test_producers(format, arrays):
    producer = Producer(format, (2, 3), arrays)
    before = copy.deepcopy(producer.said)
    x = ow.from_binsparse(producer)
    same(x, DENSE)
    same(ow.asarray(producer), DENSE)
    assert producer.said == before
    assert np.shares_memory(x.stored_values().to_numpy(), producer.arrays["values"])
    for array in producer.arrays.values():
        if array.dtype.kind == "i":
            array[:] = 99
    same(x, DENSE)


def test_csc_is_not_transposed():
    arrays = {"pointers_to_1": np.array([0, 1, 2, 3]), "indices_1": np.array([0, 1, 0]), "values": np.array([1.0, 3.0, 2.0])}
    x = ow.from_binsparse(Producer("CSC", (2, 3), arrays))
    same(x, DENSE)
    assert x.layout == "csc"


def test_what_published_producers_do_otherwise():
    matrix = {"pointers_to_1": np.array([0, 3]), "indices_1": np.stack([[0, 0, 1], INDICES]), "values": VALUES}
    same(ow.from_binsparse(Producer("COOR", (2, 3), matrix)), DENSE)
    swapped = Producer("CSR", (2, 3), CSR)
    types = swapped.said["binsparse"]["data_types"]
    types["pointers_to_1"], types["indices_1"] = "uint8", "int32"
    same(ow.from_binsparse(swapped), DENSE)
    truth = {**CSR, "values": VALUES > 1}
    same(ow.from_binsparse(Producer("CSR", (2, 3), truth)), DENSE > 1)


@pytest.mark.parametrize(
    "change",
    [
        {"pointers_to_1": np.array([0, 2, 9])}, {"pointers_to_1": np.array([0, 3, 2])}, {"indices_1": np.array([0, 9, 1])},
        {"indices_1": np.array([2, 0, 1])}, {"values": VALUES[:2]}, {"indices_1": np.array([0.0, 2.0, 1.0])},
        {"indices_1": np.array([0, -1, 1])},
    ],
)  # fmt: skip
def test_wrong_arrays(change):
    with pytest.raises((ValueError, TypeError)):
        ow.from_binsparse(Producer("CSR", (2, 3), {**CSR, **change}))


@pytest.mark.parametrize(
    "change",
    [{"format": "NOPE"}, {"version": "7.0"}, {"shape": [2]}, {"shape": [-2, 3]}, {"shape": "x"}, {"number_of_stored_values": 9}],
)
def test_wrong_descriptors(change):
    with pytest.raises((ValueError, TypeError)):
        ow.from_binsparse(Producer("CSR", (2, 3), CSR, **change))


def test_refusals():
    with pytest.raises(AttributeError):
        ow.from_binsparse(object())
    with pytest.raises(ValueError, match="copy=False"):
        ow.from_binsparse(Producer("CSR", (2, 3), CSR), copy=False)
    with pytest.raises(ValueError, match="device"):
        ow.from_binsparse(Producer("CSR", (2, 3), CSR), device="cuda")
    for missing in CSR:
        with pytest.raises((ValueError, KeyError)):
            arrays = {k: v for k, v in CSR.items() if k != missing}
            ow.from_binsparse(Producer2(Producer("CSR", (2, 3), CSR).said, arrays))
    with pytest.raises(ValueError):
        ow.from_binsparse(Producer2([1], {}))
    x = tensor(DENSE, "csr")
    assert ow.from_binsparse(x, copy=False) is x


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_pickles(protocol, layout, dtype):
    x = tensor(dense(dtype), layout)
    y = pickle.loads(pickle.dumps(x, protocol))
    assert y.same_meaning(x) and y.layout == x.layout and y.dtype == x.dtype


@pytest.mark.parametrize("fill", [None, 3.0, "array"])
def test_pickles_of_fills(fill):
    x = tensor(dense(), "csr").replace_fill(np.arange(6.0) if fill == "array" else fill)
    y = pickle.loads(pickle.dumps(x))
    assert y.same_meaning(x) and y.fill_kind == x.fill_kind
    z = x.astype(ow.bfloat16)
    assert pickle.loads(pickle.dumps(z)).same_meaning(z)
    assert pickle.loads(pickle.dumps(ow.bfloat16)) == ow.bfloat16


def test_pickles_hand_on_memory():
    x = ow.random((1000, 1000), 0.05, layout="csr", seed=1)
    buffers = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(data) < 2000 and sum(b.raw().nbytes for b in buffers) >= x.stored_values().nbytes
    assert np.shares_memory(np.frombuffer(buffers[-1].raw()), x.stored_values().to_numpy()) or len(buffers) == 3
    assert pickle.loads(data, buffers=buffers).same_meaning(x)


def test_copies_are_the_tensor():
    x = tensor(DENSE, "csr")
    assert copy.copy(x) is x and copy.deepcopy(x) is x and x.copy() is x
