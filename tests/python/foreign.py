"""Writes sparse arrays as other libraries save them, each with its dense twin: foreign.py FOLDER."""

import sys
from pathlib import Path

import h5py
import numpy as np
import scipy.sparse as sp
import sparse

folder = Path(sys.argv[1])
rng = np.random.default_rng(7)


def dense(shape, dtype, fill=0):
    a = (rng.random(shape) * 200 - 100).astype(dtype)
    a[rng.random(shape) < 0.6] = fill
    return a


def keep(name, a):
    np.save(folder / f"{name}.npy", np.ascontiguousarray(a).ravel().astype(np.complex128))
    (folder / f"{name}.shape").write_text(" ".join(map(str, a.shape)) + " " + str(a.dtype))


for dtype in ["bool", "int8", "int64", "uint16", "float32", "float64", "complex64", "complex128"]:
    a = dense((6, 8), dtype)
    for form in ["csr", "csc", "coo", "bsr", "dia"]:
        for packed in [True, False]:
            name = f"scipy-{form}-{dtype}-{packed}"
            x = sp.coo_array(a).asformat(form) if form != "bsr" else sp.bsr_array(sp.csr_array(a), blocksize=(2, 4))
            sp.save_npz(folder / f"{name}.npz", x, compressed=packed)
            keep(name, a)

# Entries out of order and twice, as SciPy allows.
x = sp.csr_array((np.array([1.0, 2, 4, 8]), np.array([3, 0, 0, 2]), np.array([0, 3, 4])), shape=(2, 5))
assert not x.has_sorted_indices
sp.save_npz(folder / "scipy-unordered.npz", x)
keep("scipy-unordered", x.toarray())

# The arrays that pydata/sparse saves: https://sparse.pydata.org, `save_npz`.
for dtype, fill in [("float64", np.inf), ("float32", 1.5), ("int64", -3), ("float64", 0)]:
    for packed in [True, False]:
        save = np.savez_compressed if packed else np.savez
        a = dense((3, 4, 5), dtype, fill)
        coords = np.array(np.nonzero(a != fill))
        values = a[tuple(coords)]
        name = f"pydata-coo-{dtype}-{fill}-{packed}"
        save(folder / f"{name}.npz", data=values, coords=coords, shape=np.array(a.shape), fill_value=np.array(fill, dtype))
        keep(name, a)
        a = dense((5, 7), dtype, fill)
        for axis in [0, 1]:
            b = a if axis == 0 else a.T
            rows, cols = np.nonzero(b != fill)
            indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=b.shape[0]))])
            name = f"pydata-gcxs-{axis}-{dtype}-{fill}-{packed}"
            save(folder / f"{name}.npz", data=b[rows, cols], indices=cols, indptr=indptr,
                 compressed_axes=np.array([axis]), shape=np.array(a.shape), fill_value=np.array(fill, dtype))
            keep(name, a)

# Diagonals that begin and end beyond the matrix, and lines shorter than it is wide.
for name, shape, offsets, width in [("wide", (5, 9), [0, -2, 7, 3], 9), ("tall", (9, 5), [-8, 4, 0], 5), ("short", (6, 8), [1, -1], 4)]:
    x = sp.dia_array((np.arange(1.0, len(offsets) * width + 1).reshape(len(offsets), width), offsets), shape=shape)
    sp.save_npz(folder / f"scipy-dia-{name}.npz", x)
    keep(f"scipy-dia-{name}", x.toarray())

# GCXS of more axes than two, as the library itself saves it.
for shape, axes in [((3, 4, 5), [0]), ((3, 4, 5), [1, 2]), ((3, 4, 5), [0, 2]), ((2, 3, 4, 5), [1, 3]), ((2, 3, 4, 5), [0, 1, 2])]:
    a = dense(shape, "float64", 2)
    x = sparse.GCXS.from_numpy(a, compressed_axes=axes, fill_value=2.0)
    name = f"pydata-many-{len(shape)}-{''.join(map(str, axes))}"
    sparse.save_npz(folder / f"{name}.npz", x)
    keep(name, a)

# What is no sparse array at all.
np.savez(folder / "other.npz", weights=np.zeros(3), bias=np.ones(2))

# AnnData (https://anndata.readthedocs.io, "on-disk format") and 10x Genomics (feature-barcode matrices in HDF5).
a, b, c = dense((9, 7), "float32"), dense((9, 7), "int64"), dense((9, 7), "bool")
with h5py.File(folder / "cells.h5ad", "w") as f:
    f.attrs["encoding-type"] = "anndata"
    for name, form, m in [("X", "csr", sp.csr_matrix(a)), ("layers/counts", "csc", sp.csc_matrix(b)),
                          ("layers/seen", "csr", sp.csr_matrix(c))]:
        g = f.create_group(name)
        g.attrs["encoding-type"] = f"{form}_matrix"
        g.attrs["encoding-version"] = "0.1.0"
        g.attrs["shape"] = np.array(m.shape)
        g.create_dataset("data", data=m.data, compression="gzip")
        g.create_dataset("indices", data=m.indices)
        g.create_dataset("indptr", data=m.indptr.astype("int64"))
    f.create_group("obs").attrs["encoding-type"] = "dataframe"
keep("cells.X", a)
keep("cells.layers.counts", b)
keep("cells.layers.seen", c)
m = sp.csc_matrix(dense((30, 11), "int32"))
with h5py.File(folder / "filtered.h5", "w") as f:
    g = f.create_group("matrix")
    for name, array in [("data", m.data), ("indices", m.indices.astype("int64")), ("indptr", m.indptr.astype("int64")),
                        ("shape", np.array(m.shape, "int32"))]:
        g.create_dataset(name, data=array, chunks=True, compression="gzip")
    g.create_dataset("barcodes", data=np.array([b"AAAC-1"] * 11))
    g.create_group("features").create_dataset("id", data=np.array([b"G"] * 30))
keep("filtered.matrix", m.toarray())
