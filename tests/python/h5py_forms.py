"""Writes CSR matrices as binsparse with h5py, in forms of HDF5 that `tests/files/python.rs` names.

usage: h5py_forms.py FOLDER
"""

import json
import pathlib
import sys

import h5py
import numpy as np


def write(path, rows, libver="earliest", values=None, **options):
    """Five elements a row, i + k in column 7 k + i % 100 of row i. `values` makes that dataset in a way of its own."""
    k = np.arange(5)
    arrays = {
        "pointers_to_1": np.arange(0, 5 * rows + 1, 5, dtype="uint64"),
        "indices_1": (7 * k + np.arange(rows)[:, None] % 100).reshape(-1).astype("uint64"),
        "values": (np.arange(rows)[:, None] + k).reshape(-1).astype("float64"),
    }
    descriptor = {
        "version": "0.1",
        "format": "CSR",
        "shape": [rows, 1000],
        "number_of_stored_values": 5 * rows,
        "data_types": {name: str(array.dtype) for name, array in arrays.items()},
    }
    with h5py.File(path, "w", libver=libver) as file:
        file.attrs["binsparse"] = json.dumps({"binsparse": descriptor})
        for name, array in arrays.items():
            if name == "values" and values is not None:
                values(file, array)
            else:
                file.create_dataset(name, data=array, **options)


def twice(file, array):
    """Two deflates, one after the other, which only the low-level calls make."""
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_chunk((100,))
    plist.set_deflate(4)
    plist.set_filter(h5py.h5z.FILTER_DEFLATE, 0, (9,))
    space = h5py.h5s.create_simple(array.shape)
    data = h5py.h5d.create(file.id, b"values", h5py.h5t.IEEE_F64LE, space, plist)
    assert data.get_create_plist().get_nfilters() == 2
    data.write(h5py.h5s.ALL, h5py.h5s.ALL, array)


if __name__ == "__main__":
    folder = pathlib.Path(sys.argv[1])
    for libver in ("earliest", "v108", "latest"):
        write(folder / f"{libver}.h5", 200_000, libver)
    packed = dict(compression="gzip", shuffle=True, fletcher32=True, chunks=(4096,))
    write(folder / "packed.h5", 200_000, **packed)
    # Arrays of chunks with pages: fixed ones, and such as can grow, whose blocks of blocks have pages too.
    write(folder / "latest_packed.h5", 200_000, "latest", **(packed | dict(chunks=(400,))))
    grows = dict(maxshape=(None,), chunks=(4,))
    write(folder / "latest_grows.h5", 200_000, "latest",
          values=lambda file, array: file.create_dataset("values", data=array, **grows))
    write(folder / "v110_grows.h5", 50_000, "v110",
          values=lambda file, array: file.create_dataset("values", data=array, compression="gzip", **grows))
    write(folder / "twice.h5", 100, values=twice)
    write(folder / "lzf.h5", 100, values=lambda file, array: file.create_dataset("values", data=array, compression="lzf"))
    write(folder / "lzf_shuffled.h5", 200_000, compression="lzf", shuffle=True, chunks=(4096,))

    def partly(file, array):
        """Ten of 500 elements are written, in one chunk of five."""
        data = file.create_dataset("values", shape=array.shape, dtype=array.dtype, chunks=(100,), fillvalue=7.0)
        data[:10] = np.arange(10)

    write(folder / "partly.h5", 100, values=partly)
    never = lambda file, array: file.create_dataset(
        "values", shape=array.shape, dtype=array.dtype, chunks=(100,), fillvalue=7.0)
    write(folder / "never.h5", 100, values=never)
    write(folder / "flat.h5", 100, values=lambda file, array: file.create_dataset(
        "values", shape=array.shape, dtype=array.dtype))
    scaled = lambda file, array: file.create_dataset("values", data=array, scaleoffset=2)
    write(folder / "scaled.h5", 100, values=scaled)
