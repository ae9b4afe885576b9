"""DLPack between NumPy and structures of another library, which come and go as bytes.

usage: dlpack.py give    prints, as a JSON line per array, the bytes of the structure that NumPy makes of it
       dlpack.py take FOLDER    reads such lines from FOLDER/given.json and compares what numpy.from_dlpack makes of them

Nothing is known here of the other library: the fields are those of dlpack.h, version 1.
"""

import ctypes
import json
import pathlib
import sys

import numpy as np


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DLTensor),
    ]


class Legacy(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


FORMS = {"versioned": (Versioned, b"dltensor_versioned"), "legacy": (Legacy, b"dltensor")}

new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def arrays():
    for dtype in "? b h i q B H I Q e f d F D".split():
        array = (np.arange(24) % 7).astype(dtype).reshape(2, 3, 4)
        yield array
        yield array.transpose(2, 0, 1)
        yield array[:, ::2, ::-1]
        yield array[1, 2, 3:].reshape(())
        yield array[:0]


def give():
    for array in arrays():
        for form, (structure, name) in FORMS.items():
            capsule = array.__dlpack__(**({"max_version": (1, 1)} if form == "versioned" else {}))
            at = pointer(capsule, name)
            found = structure.from_address(at)
            ndim = found.tensor.ndim
            strides = [n // array.itemsize for n in array.strides]
            line = {
                "form": form,
                "bytes": list(ctypes.string_at(at, ctypes.sizeof(structure))),
                "dtype": str(array.dtype),
                "shape": [found.tensor.shape[i] for i in range(ndim)],
                "strides": [found.tensor.strides[i] for i in range(ndim)] if found.tensor.strides else None,
                "values": list(np.ascontiguousarray(array).tobytes()),
                "memory": list(array.base.tobytes() if array.base is not None else array.tobytes()),
                "first": found.tensor.data - (array if array.base is None else array.base).ctypes.data if array.size else 0,
            }
            assert line["shape"] == list(array.shape) and line["strides"] in (None, strides)
            print(json.dumps(line))


class Given:
    def __init__(self, capsule):
        self.capsule = capsule

    def __dlpack__(self, **_):
        return self.capsule

    def __dlpack_device__(self):
        return (1, 0)


def take(folder):
    kept = []
    for line in (folder / "given.json").read_text().splitlines():
        line = json.loads(line)
        structure, name = FORMS[line["form"]]
        assert len(line["bytes"]) == ctypes.sizeof(structure), (line["form"], len(line["bytes"]))
        found = structure.from_buffer_copy(bytes(line["bytes"]))
        # The pointers are those of another process; everything else is read as it came.
        memory = ctypes.create_string_buffer(bytes(line["memory"]), len(line["memory"]) + 1)
        n = len(line["shape"])
        shape, strides = (ctypes.c_int64 * n)(*line["shape"]), (ctypes.c_int64 * n)(*(line["strides"] or [0] * n))
        assert bool(found.deleter) and bool(found.manager)
        assert bool(found.tensor.strides) == (line["strides"] is not None)
        found.tensor.data = ctypes.addressof(memory) + line["first"]
        found.tensor.shape = shape
        found.tensor.strides = strides if line["strides"] is not None else None
        found.deleter = None
        array = np.from_dlpack(Given(new(ctypes.addressof(found), name, None)))
        assert str(array.dtype) == line["dtype"] and list(array.shape) == line["shape"], (array.dtype, line["dtype"])
        assert np.ascontiguousarray(array).tobytes() == bytes(line["values"]), line["dtype"]
        if line["form"] == "versioned":
            assert array.flags.writeable == (found.flags & 1 == 0)
        # NumPy looks at the structure once more when the array goes.
        kept.append((found, memory, shape, strides))
        del array
    print(len(kept))


if __name__ == "__main__":
    give() if sys.argv[1] == "give" else take(pathlib.Path(sys.argv[2]))
