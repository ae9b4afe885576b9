"""Writes the files beside it as `torch.save` writes them: protocol 2, a member for each storage, stored as it is.

PyTorch itself is not needed: Python's own `pickle` writes the names of functions and the storages, for which what stands in
here has the names that PyTorch's have (torch/serialization.py, torch/_utils.py and torch/_tensor.py of 2.x).

    python3 tests/files/models/checkpoints/write.py
"""

import collections
import io
import pathlib
import pickle
import struct
import sys
import types
import zipfile


def module(name):
    sys.modules[name] = types.ModuleType(name)
    return sys.modules[name]


torch, utils, serialization, storage = map(module, ["torch", "torch._utils", "torch.serialization", "torch.storage"])


def stand_in(of, name):
    def function(*_):
        raise RuntimeError("never called")

    function.__module__, function.__name__, function.__qualname__ = of.__name__, name, name
    setattr(of, name, function)
    return function


rebuild = stand_in(utils, "_rebuild_tensor_v2")
rebuild_v3 = stand_in(utils, "_rebuild_tensor_v3")
parameter = stand_in(utils, "_rebuild_parameter")
rebuild_sparse = stand_in(utils, "_rebuild_sparse_tensor")
quantised = stand_in(utils, "_rebuild_qtensor")
get_layout = stand_in(serialization, "_get_layout")
untyped = stand_in(storage, "UntypedStorage")
size_type = stand_in(torch, "Size")
uint16 = stand_in(torch, "uint16")
TYPES = {
    kind: (stand_in(torch, kind + "Storage"), code)
    for kind, code in [
        ("Bool", "?"), ("Byte", "B"), ("Char", "b"), ("Short", "h"), ("Int", "i"), ("Long", "q"), ("Half", "e"),
        ("Float", "f"), ("Double", "d"), ("ComplexFloat", "ff"), ("ComplexDouble", "dd"), ("BFloat16", "H"),
    ]
}


class Storage:
    def __init__(self, kind, values):
        self.type, code = TYPES[kind] if kind in TYPES else (untyped, "H")
        flat = [part for v in values for part in (v if isinstance(v, tuple) else (v,))]
        self.bytes = struct.pack("<" + code[0] * len(flat), *flat)
        self.len = len(values) if kind in TYPES else len(self.bytes)


class Call:
    """What pickles as a call."""

    def __init__(self, function, *arguments):
        self.reduced = function, arguments

    def __reduce__(self):
        return self.reduced


class Size(Call):
    def __init__(self, *sizes):
        super().__init__(size_type, tuple(sizes))


def c_strides(shape):
    out, step = [], 1
    for n in reversed(shape):
        out.insert(0, step)
        step *= max(n, 1)
    return tuple(out)


def tensor(kind, shape, values, offset=0, strides=None):
    kept = values if isinstance(values, Storage) else Storage(kind, values)
    return Call(rebuild, kept, offset, shape, strides or c_strides(shape), False, collections.OrderedDict())


def layout(name):
    return Call(get_layout, "torch.sparse_" + name)


def save(name, value):
    storages = []

    class Pickler(pickle.Pickler):
        def persistent_id(self, x):
            if not isinstance(x, Storage):
                return None
            if x not in storages:
                storages.append(x)
            return "storage", x.type, str(storages.index(x)), "cpu", x.len

    buffer = io.BytesIO()
    Pickler(buffer, protocol=2).dump(value)
    with zipfile.ZipFile(pathlib.Path(__file__).parent / name, "w", zipfile.ZIP_STORED) as out:
        put = lambda member, data: out.writestr(zipfile.ZipInfo("archive/" + member), data)
        put("data.pkl", buffer.getvalue())
        put("byteorder", "little")
        for i, kept in enumerate(storages):
            put(f"data/{i}", kept.bytes)
        put("version", "3\n")


weights = Storage("Float", [float(i) for i in range(12)])
strided = collections.OrderedDict(
    [
        ("matrix", Call(parameter, tensor("Float", (3, 4), weights), True, collections.OrderedDict())),
        ("transposed", tensor("Float", (4, 3), weights, 0, (1, 4))),
        ("tied", tensor("Float", (2, 2), weights, 5, (4, 1))),
        ("repeated", tensor("Float", (3, 2), weights, 7, (0, 1))),
        ("scalar", tensor("Long", (), [-7])),
        ("empty", tensor("Double", (0, 3), [])),
        ("bool", tensor("Bool", (3,), [True, False, True])),
        ("uint8", tensor("Byte", (2,), [0, 255])),
        ("int8", tensor("Char", (2,), [-128, 127])),
        ("int16", tensor("Short", (2,), [-2, 3])),
        ("int32", tensor("Int", (2,), [-2, 1 << 30])),
        ("int64", tensor("Long", (2,), [-2, 1 << 60])),
        ("float16", tensor("Half", (2,), [0.5, -2.0])),
        ("bfloat16", tensor("BFloat16", (2,), [0x3F80, 0xC000])),  # 1 and -2
        ("float64", tensor("Double", (2,), [0.1, -1e300])),
        ("complex64", tensor("ComplexFloat", (2,), [(1.0, -2.0), (0.0, 0.5)])),
        ("complex128", tensor("ComplexDouble", (1,), [(1.0, -2.0)])),
        ("uint16", Call(rebuild_v3, Storage("uint16", [1, 65535]), 0, (2,), (1,), False, collections.OrderedDict(), uint16)),
        ("quantised", Call(quantised, Storage("Byte", [1, 2]), 0, (2,), (1,), (), False, collections.OrderedDict())),
    ]
)
save("strided.pt", strided)

moments = lambda: tensor("Float", (2,), [0.25, 0.75])
save(
    "training.pt",
    {
        "epoch": 12,
        "loss": 0.03125,
        "done": False,
        "note": "from a stand-in",
        "nothing": None,
        "model": collections.OrderedDict([("fc.weight", tensor("Float", (2, 2), [1.0, 2.0, 3.0, 4.0]))]),
        "optimizer": {
            "state": {0: {"step": 3, "exp_avg": moments()}, 1: {"step": 3, "exp_avg": moments()}},
            "param_groups": [{"lr": 0.001, "params": [0, 1], "betas": (0.9, 0.999)}],
        },
        "big": 1 << 80,
        "seen": {1, 2},
    },
)

longs = lambda shape, values: tensor("Long", shape, values)
floats = lambda shape, values: tensor("Float", shape, values)
save(
    "sparse.pt",
    {
        # [[0, 0, 1], [2, 3, 0]] each, the last ones in batches or blocks.
        "coo": Call(rebuild_sparse, layout("coo"), (longs((2, 3), [0, 1, 1, 2, 0, 1]), floats((3,), [1.0, 2.0, 3.0]), Size(2, 3), True)),
        "repeated": Call(rebuild_sparse, layout("coo"), (longs((2, 3), [1, 1, 0, 0, 0, 2]), floats((3,), [0.5, 1.5, 1.0]), Size(2, 3), False)),
        "hybrid": Call(rebuild_sparse, layout("coo"), (longs((1, 1), [1]), floats((1, 3), [2.0, 3.0, 0.0]), Size(2, 3))),
        "csr": Call(rebuild_sparse, layout("csr"), (longs((3,), [0, 1, 3]), longs((3,), [2, 0, 1]), floats((3,), [1.0, 2.0, 3.0]), Size(2, 3))),
        "csc": Call(rebuild_sparse, layout("csc"), (longs((4,), [0, 1, 2, 3]), longs((3,), [1, 1, 0]), floats((3,), [2.0, 3.0, 1.0]), Size(2, 3))),
        "bsr": Call(rebuild_sparse, layout("bsr"), (longs((2,), [0, 1]), longs((1,), [0]), floats((1, 2, 3), [0.0, 0.0, 1.0, 2.0, 3.0, 0.0]), Size(2, 3))),
        "bsc": Call(rebuild_sparse, layout("bsc"), (longs((2,), [0, 1]), longs((1,), [0]), floats((1, 2, 3), [0.0, 0.0, 1.0, 2.0, 3.0, 0.0]), Size(2, 3))),
        "batches": Call(
            rebuild_sparse,
            layout("csr"),
            (longs((2, 3), [0, 1, 2, 0, 0, 2]), longs((2, 2), [2, 0, 0, 1]), floats((2, 2), [1.0, 2.0, 3.0, 4.0]), Size(2, 2, 3)),
        ),
        "outside": Call(rebuild_sparse, layout("coo"), (longs((2, 1), [0, 9]), floats((1,), [1.0]), Size(2, 3))),
    },
)
