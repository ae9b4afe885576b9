"""Writes arrays that h5py packs by the filter scaleoffset, each beside what h5py itself reads of it, which
`tests/files/binsparse/scaleoffset.rs` compares with what we read.

usage: h5py_scaleoffset.py FOLDER

The array `a name` of a file is packed, `a name, read` is not; the names stand in a file beside it.
"""

import ctypes
import glob
import pathlib
import sys

import h5py
import numpy as np

(LIBRARY,) = glob.glob(str(pathlib.Path(h5py.__file__).parent.parent / "h5py.libs" / "libhdf5-*.so*"))
RAW = ctypes.CDLL(LIBRARY)
RAW.H5Pset_fill_value.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]
INTEGER, DECIMAL = h5py.h5z.SO_INT, h5py.h5z.SO_FLOAT_DSCALE
RANDOM = np.random.default_rng(5)
EACH = 10


def packed(file, name, data, factor, fill=None, filters=(), written=None, chunk=None):
    """`fill` is `None` for one that is undefined; `filters` follow scaleoffset, "first:" one stands before."""
    data = np.asarray(data)
    kind = INTEGER if data.dtype.kind in "iu" else DECIMAL
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk(chunk or (EACH,))
    if fill is None:
        assert RAW.H5Pset_fill_value(plist.id, -1, None) >= 0
    elif fill != "default":
        plist.set_fill_value(np.array(fill, dtype=data.dtype))
    if "first:shuffle" in filters:
        plist.set_shuffle()
    if factor >= 0:
        plist.set_scaleoffset(kind, factor)
    else:
        # The call for it refuses what the format and its readers have.
        plist.set_filter(h5py.h5z.FILTER_SCALEOFFSET, h5py.h5z.FLAG_OPTIONAL, (kind, factor & 0xFFFFFFFF))
    if "shuffle" in filters:
        plist.set_shuffle()
    if "deflate" in filters:
        plist.set_deflate(6)
    if "lzf" in filters:
        plist.set_filter(h5py.h5z.FILTER_LZF, h5py.h5z.FLAG_OPTIONAL, (0, 0, 0))
    if "fletcher32" in filters:
        plist.set_fletcher32()
    space = h5py.h5s.create_simple(data.shape)
    made = h5py.h5d.create(file.id, name.encode(), h5py.h5t.py_create(data.dtype), space, plist)
    made = h5py.Dataset(made)
    for part in [slice(None)] if written is None else written:
        made[part] = data[part]
    assert any(made.id.get_create_plist().get_filter(i)[0] == h5py.h5z.FILTER_SCALEOFFSET for i in range(len(filters) + 1))


def integers(dtype):
    """A narrow chunk, a constant one, one of all that the type can hold, one of the fill and two other numbers."""
    info = np.iinfo(dtype)
    low = int(info.min) + 3
    narrow = low + RANDOM.integers(0, 90, EACH)
    wide = RANDOM.integers(info.min, info.max, EACH, dtype=dtype.newbyteorder("="), endpoint=True)
    wide[:2] = info.min, info.max
    few = np.array([0, 7, 5] * EACH)[:EACH]
    out = np.concatenate([narrow.astype(dtype), np.full(EACH, 9, dtype), wide.astype(dtype), few.astype(dtype),
                          np.full(EACH, 7, dtype), np.zeros(EACH - 3, dtype)])
    return out.astype(dtype)


def floats(dtype):
    """Numbers of two digits behind the point, one that is constant, such as no scale is good for, the fill among others."""
    narrow = np.round(RANDOM.normal(size=EACH) * 20, 2)
    wide = RANDOM.normal(size=EACH) * 10.0 ** np.linspace(-20, 20, EACH)
    few = np.array([0.0, 7.25, -1.5, 1e-4] * EACH)[:EACH]
    fine = RANDOM.normal(size=EACH) / 100 + 1e3
    return np.concatenate([narrow, np.full(EACH, 1 / 3), wide, few, np.full(EACH, 7.25), fine, -narrow[:4]]).astype(dtype)


def everything(file):
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"):
        for order in "<>" if kind[1] != "1" else "|":
            dtype = np.dtype(order + kind)
            data, bits = integers(dtype), 8 * dtype.itemsize
            partly = [slice(0, 3), slice(2 * EACH, 3 * EACH), slice(4 * EACH + 5, None)]
            for name, fill in (("undefined", None), ("default", "default"), ("seven", 7), ("extreme", np.iinfo(dtype).max)):
                packed(file, f"{order}{kind} {name}", data, 0, fill)
                if fill is not None:
                    packed(file, f"{order}{kind} {name} partly", data, 0, fill, written=partly)
                # Few bits lose what is too large for them, or all of it stays as it is.
                for factor in (-1, 3, bits - 1, bits):
                    packed(file, f"{order}{kind} {name} in {factor}", data, factor, fill)
            packed(file, f"{order}{kind} filters", data, 0, 7, ("shuffle", "deflate", "fletcher32"))
    for kind in ("f4", "f8"):
        for order in "<>":
            data = floats(np.dtype(order + kind))
            partly = [slice(0, 3), slice(2 * EACH, 3 * EACH), slice(4 * EACH + 5, None)]
            for name, fill in (("undefined", None), ("default", "default"), ("some", 7.25), ("nan", np.nan)):
                for factor in (0, 1, 2, 5, 12, -1, -3):
                    packed(file, f"{order}{kind} {name} {factor}", data, factor, fill)
                # Of elements that are NaN libhdf5 makes chunks that it cannot read.
                if name in ("default", "some"):
                    packed(file, f"{order}{kind} {name} partly", data, 2, fill, written=partly)
            packed(file, f"{order}{kind} filters", data, 2, 7.25, ("shuffle", "deflate", "fletcher32"))
    for order in "<>":
        data = integers(np.dtype(order + "i4"))
        for i, filters in enumerate([("shuffle",), ("deflate",), ("fletcher32",), ("lzf",), ("shuffle", "lzf"),
                                     ("first:shuffle",), ("first:shuffle", "deflate")]):
            packed(file, f"{order}i4 {' '.join(filters)}", data, 0, 7, filters)
        # Two axes, chunks cut off at both edges.
        cube = RANDOM.integers(-500, 500, (13, 11)).astype(order + "i8")
        packed(file, f"{order}i8 axes", cube, 0, 7, ("deflate",), chunk=(5, 4))
    large = RANDOM.integers(0, 1 << 20, 100_000)
    packed(file, "large", large, 0, "default", ("shuffle", "deflate"), chunk=(4096,))
    packed(file, "large floats", np.round(RANDOM.normal(size=100_000), 3), 3, 0.0, chunk=(50_000,))
    # As h5py's own calls make them.
    file.create_dataset("own integers", data=np.arange(1000), chunks=(100,), scaleoffset=True, compression="gzip")
    file.create_dataset("own floats", data=np.arange(1000) / 8, chunks=(100,), scaleoffset=3, shuffle=True)


if __name__ == "__main__":
    for version in ("earliest", "latest"):
        path = f"{sys.argv[1]}/{version}.h5"
        with h5py.File(path, "w", libver=version) as file:
            everything(file)
        # Read by a program that did not write it, so that all comes through the filter.
        with h5py.File(path, "r+", libver=version) as file:
            names = list(file)
            pathlib.Path(f"{sys.argv[1]}/{version}.names").write_text("\n".join(names))
            for name in names:
                file.create_dataset(f"{name}, read", data=file[name][()])
    # A chunk of as many elements as one likes, in 22 bytes.
    with h5py.File(f"{sys.argv[1]}/endless.h5", "w") as file:
        packed(file, "values", np.ones(1 << 18, "int64"), 0, None, chunk=(1 << 18,))
