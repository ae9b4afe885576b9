"""Writes the HDF5 files beside it, of dense vectors in all the forms that chunks have since libhdf5 1.10, and of what
objects share. `tests/files/binsparse/forms_h5.rs` says what must be read from them. All but `latest.h5` are in the forms
of libhdf5 1.10, so that every libhdf5 since then can be asked what it reads.

usage: python write.py        (h5py 3.16 with HDF5 2.0)

The element i of every vector is i + 1, where it was written; elsewhere it is the fill, 0 or 7.
"""

import ctypes
import glob
import json
import pathlib
import struct

import h5py
import numpy as np

HERE = pathlib.Path(__file__).parent
(LIBRARY,) = glob.glob(str(pathlib.Path(h5py.__file__).parent.parent / "h5py.libs" / "libhdf5-*.so*"))
RAW = ctypes.CDLL(LIBRARY)
for name in ("H5Pset_chunk_opts", "H5Pset_deflate", "H5Pset_shared_mesg_nindexes", "H5Pset_shared_mesg_index",
             "H5Pset_shared_mesg_phase_change"):
    getattr(RAW, name).argtypes = [ctypes.c_int64] + [ctypes.c_uint] * 3
RAW.H5Pset_fill_value.argtypes = [ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p]


def describe(group, n, dtype="float64"):
    inner = {"version": "0.1", "format": "DVEC", "shape": [n], "number_of_stored_values": n,
             "data_types": {"values": np.dtype(dtype).name}}
    group.attrs["binsparse"] = json.dumps({"binsparse": inner})


def vector(file, name, n, chunk, most=None, written=None, dtype="float64", early=False, plain_edge=False, **options):
    """A vector of `n` elements in chunks; `most` is the length that it may grow to, `written` which elements are."""
    group = file.create_group(name)
    describe(group, n, dtype)
    space = h5py.h5s.create_simple((n,), (h5py.h5s.UNLIMITED if most == "any" else (most or n),))
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((chunk,))
    if early:
        plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    if "scale" in options:
        kind = h5py.h5z.SO_INT if np.dtype(dtype).kind in "iu" else h5py.h5z.SO_FLOAT_DSCALE
        plist.set_scaleoffset(kind, options["scale"])
    if options.get("shuffle"):
        plist.set_shuffle()
    if options.get("deflate"):
        plist.set_deflate(options["deflate"])
    if options.get("fletcher32"):
        plist.set_fletcher32()
    if options.get("fill", 0) is None:
        assert RAW.H5Pset_fill_value(plist.id, -1, None) >= 0
    elif "fill" in options:
        plist.set_fill_value(np.array(options["fill"], dtype=dtype))
    if plain_edge:
        assert RAW.H5Pset_chunk_opts(plist.id, 2, 0, 0) >= 0
    data = h5py.Dataset(h5py.h5d.create(group.id, b"values", h5py.h5t.py_create(np.dtype(dtype)), space, plist))
    for part in [slice(0, n)] if written is None else written:
        data[part] = np.arange(n, dtype="int64")[part] + 1
    return data


packed = dict(deflate=6, shuffle=True)


def latest():
    """As the newest library has them: layouts of version 5, types of later versions."""
    with h5py.File(HERE / "latest.h5", "w", libver="latest") as file:
        vector(file, "single_packed", 100, 100, **packed)
        vector(file, "implicit", 10, 4, early=True)
        vector(file, "fixed_packed", 250, 100, **packed)
        vector(file, "fixed_plain_edge", 250, 100, plain_edge=True, **packed)
        vector(file, "extensible_packed", 250, 100, most="any", **packed)
        for name, dtype in (("pairs", "complex128"), ("truths", "bool")):
            group = file.create_group(name)
            describe(group, 3, "complex[float64]" if name == "pairs" else "bint8")
            group["values"] = np.array([1, 0, 1], dtype=dtype)
        tree = file.create_dataset("tree_packed", shape=(24, 24), maxshape=(None, None), chunks=(2, 2), dtype="int32",
                                   compression="gzip")
        tree[:] = np.arange(576).reshape(24, 24)


def indexes():
    with h5py.File(HERE / "indexes.h5", "w", libver="v110") as file:
        vector(file, "single", 10, 10)
        vector(file, "single_packed", 100, 100, **packed)
        vector(file, "single_never", 10, 10, written=[], fill=7)
        vector(file, "implicit", 10, 4, early=True)
        vector(file, "implicit_room", 10, 4, most=30, early=True)
        vector(file, "fixed", 10, 4)
        vector(file, "fixed_packed", 250, 100, **packed)
        vector(file, "fixed_partly", 50, 4, written=[slice(8, 12), slice(30, 33)], fill=7)
        vector(file, "fixed_room", 10, 4, most=30)
        vector(file, "fixed_plain_edge", 250, 100, plain_edge=True, **packed)
        vector(file, "fixed_summed", 50, 16, fletcher32=True)
        vector(file, "extensible", 10, 4, most="any")
        vector(file, "extensible_packed", 250, 100, most="any", **packed)
        vector(file, "extensible_partly", 500, 5, most="any", written=[slice(100, 103), slice(490, 500)], fill=7)
        vector(file, "extensible_plain_edge", 250, 100, most="any", plain_edge=True, **packed)
        grown = vector(file, "grown", 10, 4, most="any")
        grown.resize((30,))
        grown[10:] = np.arange(10, 30) + 1
        describe(grown.parent, 30)
        shrunk = vector(file, "shrunk", 50, 4, most="any", **packed)
        shrunk.resize((13,))
        describe(shrunk.parent, 13)
        # A tree, of which datasets with one axis have no need: its index says how much is stored.
        tree = file.create_dataset("tree", shape=(20, 30), maxshape=(None, None), chunks=(4, 5), dtype="int32")
        tree[:13, :7] = 1
        deep = file.create_dataset("tree_packed", shape=(24, 24), maxshape=(None, None), chunks=(2, 2), dtype="int32",
                                   compression="gzip")
        deep[:] = np.arange(576).reshape(24, 24)


def paged():
    """Arrays that have pages and blocks of blocks. Chunks are small, so that there are many."""
    with h5py.File(HERE / "paged.h5", "w", libver="v110") as file:
        vector(file, "fixed", 2500, 1, dtype="uint8", written=[slice(1000, 1100), slice(2400, 2500)], fill=7)
        vector(file, "extensible", 700, 1, most="any", dtype="uint8", written=[slice(0, 20), slice(600, 640)], fill=7)
        vector(file, "packed", 300, 1, most="any", dtype="uint8", written=[slice(200, 300)], fletcher32=True, fill=7)


def shared():
    """Types, shapes, fills, filters and attributes that stand once in the file, and a type that has a name."""
    plist = h5py.h5p.create(h5py.h5p.FILE_CREATE)
    assert RAW.H5Pset_shared_mesg_nindexes(plist.id, 2, 0, 0) >= 0
    # Attributes in one heap, everything else that can be shared in the other, however small it is.
    attributes, others = 1 << 12, 1 << 1 | 1 << 3 | 1 << 5 | 1 << 11
    assert RAW.H5Pset_shared_mesg_index(plist.id, 0, attributes, 1) >= 0
    assert RAW.H5Pset_shared_mesg_index(plist.id, 1, others, 1) >= 0
    access = h5py.h5p.create(h5py.h5p.FILE_ACCESS)
    access.set_libver_bounds(h5py.h5f.LIBVER_V110, h5py.h5f.LIBVER_V110)
    access.set_fclose_degree(h5py.h5f.CLOSE_STRONG)
    with h5py.File(h5py.h5f.create(bytes(HERE / "shared.h5"), h5py.h5f.ACC_TRUNC, plist, access)) as file:
        for i in range(3):
            vector(file, f"vector{i}", 20, 8, most="any", deflate=6, fill=7, written=[slice(0, 16)])
        # More attributes than a header has room for, and one that is larger than any block of a heap.
        many = vector(file, "many", 20, 8).parent
        for i in range(12):
            many.attrs[f"note {i}"] = "x" * 30
        many.attrs.create("long", "y" * 6000, dtype=h5py.string_dtype("utf-8", 6000))
        file["a type"] = np.dtype("float64")
        named = file.create_group("named")
        describe(named, 5)
        named.create_dataset("values", data=np.arange(1, 6), dtype=file["a type"])


def filtered_links():
    """Links that went through a filter, in forms that libhdf5 1.10 reads."""
    with h5py.File(HERE / "filtered_links.h5", "w", libver="v110") as file:
        vector(file, "plain", 10, 4)
        plist = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
        assert RAW.H5Pset_deflate(plist.id, 6, 0, 0) >= 0
        group = h5py.Group(h5py.h5g.create(file.id, b"packed", gcpl=plist))
        describe(group, 3)
        group.create_dataset("values", data=np.arange(1.0, 4.0))
        for i in range(12):
            group[f"other {i}"] = i


def scaled():
    """Numbers that went through scaleoffset, in the forms of the oldest libraries, whose metadata have no checksums."""
    with h5py.File(HERE / "scaled.h5", "w", libver="earliest") as file:
        vector(file, "integers", 50, 16, dtype="int64", scale=0)
        vector(file, "partly", 50, 16, dtype=">i2", scale=0, fill=7, written=[slice(16, 32), slice(33, 40)])
        vector(file, "bytes", 50, 16, dtype="uint8", scale=6, fill=None)
        vector(file, "as_they_were", 20, 8, dtype="uint32", scale=32)
        vector(file, "packed", 250, 100, dtype="int32", scale=0, **packed)
        vector(file, "floats", 50, 16, scale=1)
        vector(file, "floats_packed", 50, 16, dtype=">f4", scale=2, fill=7, written=[slice(0, 20)], **packed)
        # All of a chunk alike, and no fill: no bits for an element.
        vector(file, "alike", 3, 1, dtype="int16", scale=0, fill=None)
    # The same where only libhdf5 leads to it.
    with h5py.File(HERE / "scaled_links.h5", "w", libver="v110") as file:
        plist = h5py.h5p.create(h5py.h5p.GROUP_CREATE)
        assert RAW.H5Pset_deflate(plist.id, 6, 0, 0) >= 0
        group = h5py.Group(h5py.h5g.create(file.id, b"packed", gcpl=plist))
        describe(group, 3, "int64")
        group.create_dataset("values", data=np.arange(3), chunks=(3,), scaleoffset=True)
        for i in range(12):
            group[f"other {i}"] = i


def lookup3(data):
    """The checksum of metadata: Bob Jenkins' lookup3, with start value 0."""
    mask, turn = 0xFFFFFFFF, lambda x, k: (x << k | x >> (32 - k)) & 0xFFFFFFFF
    a = b = c = (0xDEADBEEF + len(data)) & mask
    at = 0
    while len(data) - at > 12:
        x, y, z = struct.unpack_from("<III", data, at)
        a, b, c, at = (a + x) & mask, (b + y) & mask, (c + z) & mask, at + 12
        a = (a - c) & mask ^ turn(c, 4); c = (c + b) & mask
        b = (b - a) & mask ^ turn(a, 6); a = (a + c) & mask
        c = (c - b) & mask ^ turn(b, 8); b = (b + a) & mask
        a = (a - c) & mask ^ turn(c, 16); c = (c + b) & mask
        b = (b - a) & mask ^ turn(a, 19); a = (a + c) & mask
        c = (c - b) & mask ^ turn(b, 4); b = (b + a) & mask
    x, y, z = struct.unpack("<III", data[at:].ljust(12, b"\0"))
    a, b, c = (a + x) & mask, (b + y) & mask, (c + z) & mask
    c = ((c ^ b) - turn(b, 14)) & mask
    a = ((a ^ c) - turn(c, 11)) & mask
    b = ((b ^ a) - turn(a, 25)) & mask
    c = ((c ^ b) - turn(b, 16)) & mask
    a = ((a ^ c) - turn(c, 4)) & mask
    b = ((b ^ a) - turn(a, 14)) & mask
    return ((c ^ b) - turn(b, 24)) & mask


def summed(data):
    return data + struct.pack("<I", lookup3(data))


def tree():
    """A tree of version 2 under a dataset of one axis, which libhdf5 never makes: put in place of its array."""
    path = HERE / "tree.h5"
    with h5py.File(path, "w", libver="v110") as file:
        describe(file, 250)
        file.create_dataset("values", shape=(250,), maxshape=(None,), chunks=(300,), dtype="float64")
    data = bytearray(path.read_bytes())
    # Layout 4 of chunks: no flags, two axes in numbers of two bytes, 300 elements of 8 bytes, an extensible array.
    old = bytes([4, 2, 0, 2, 2]) + struct.pack("<HHB", 300, 8, 4)
    at = data.index(old)
    # Three chunks of 100 elements, the second unwritten; the tree has two leaves below a root of one record.
    chunks = [np.arange(1, 101, dtype="<f8"), np.r_[np.arange(201, 251, dtype="<f8"), np.zeros(50)]]
    places = []
    for chunk in chunks:
        places.append(len(data))
        data += chunk.tobytes()
    record = lambda place, number: struct.pack("<QQ", place, number)
    leaf = len(data)
    data += summed(b"BTLF" + bytes([0, 10]) + record(places[0], 0))
    empty = len(data)
    data += summed(b"BTLF" + bytes([0, 10]))
    root = len(data)
    data += summed(b"BTIN" + bytes([0, 10]) + record(places[1], 2) + struct.pack("<QBQB", leaf, 1, empty, 0))
    head = len(data)
    data += summed(b"BTHD" + struct.pack("<BBIHHBBQHQ", 0, 10, 512, 16, 1, 100, 40, root, 1, 2))
    new = bytes([4, 2, 0, 2, 1, 100, 8, 5]) + struct.pack("<IBBQ", 512, 100, 40, head)
    length = len(old) + 5 + 8
    assert len(new) <= length
    data[at : at + length] = new.ljust(length, b"\0")
    # The header of the object begins before, and has its checksum at its end.
    start = data.rindex(b"OHDR", 0, at)
    flags = data[start + 5]
    size_at = start + 6 + (16 if flags & 0x20 else 0) + (4 if flags & 0x10 else 0)
    width = 1 << (flags & 3)
    size = int.from_bytes(data[size_at : size_at + width], "little")
    end = size_at + width + size
    data[end : end + 4] = struct.pack("<I", lookup3(bytes(data[start:end])))
    # The superblock says where the file ends.
    data[28:36] = struct.pack("<Q", len(data))
    data[44:48] = struct.pack("<I", lookup3(bytes(data[:44])))
    path.write_bytes(data)


if __name__ == "__main__":
    for make in (latest, indexes, paged, shared, filtered_links, scaled, tree):
        make()
