"""Writes AnnData files with dense arrays, and datasets of several axes in every form, each with its dense twin: cells.py FOLDER."""

import sys
import warnings
from pathlib import Path

import anndata
import h5py
import numpy as np
import scipy.sparse as sp

warnings.simplefilter("ignore")
folder = Path(sys.argv[1])
rng = np.random.default_rng(7)


def keep(name, a):
    a = np.asarray(a)
    np.save(folder / f"{name}.npy", np.ascontiguousarray(a).ravel().astype(np.complex128))
    (folder / f"{name}.shape").write_text(" ".join(map(str, a.shape)) + " " + a.dtype.name)


def sample(*shape, kind="float32"):
    return (rng.random(shape) * 100).astype(kind)


for file, packing in [("plain", None), ("packed", "gzip"), ("lzf", "lzf")]:
    a = anndata.AnnData(
        sample(40, 300),
        layers={"counts": sample(40, 300, kind="int64"), "by_columns": np.asfortranarray(sample(40, 300, kind="float64")),
                "sparse": sp.random(40, 300, 0.1, format="csr", random_state=1)},
        obsm={"pca": sample(40, 7, kind="float64"), "spatial": sample(40, 2, kind="int32")},
        varm={"load": sample(300, 7)},
        obsp={"near": sample(40, 40) > 50},
        uns={"cube": sample(5, 6, 7), "text": "told", "n": 3})
    a.raw = a.copy()
    a.obs["age"] = np.arange(40.0)
    a.obs["kind"] = ["one", "two"] * 20
    a.write_h5ad(folder / f"{file}.h5ad", compression=packing)
    keep(f"{file}.X", a.X)
    keep(f"{file}.raw.X", a.raw.X)
    keep(f"{file}.raw.varm.load", a.raw.varm["load"])
    for part in ("layers", "obsm", "varm", "obsp"):
        for name, x in getattr(a, part).items():
            keep(f"{file}.{part}.{name}", x.toarray() if sp.issparse(x) else x)
    keep(f"{file}.uns.cube", a.uns["cube"])

names = []
with h5py.File(folder / "grids.h5", "w", libver="latest") as new, h5py.File(folder / "grids-old.h5", "w") as old:
    for version, f in [("new", new), ("old", old)]:
        for shape, chunk in [((9, 7), (4, 3)), ((5, 6, 7), (2, 6, 3)), ((8, 6), (8, 6)), ((30, 40), (1, 1)), ((40,), (7,))]:
            x = sample(*shape, kind="int16")
            for most, grown in [("fixed", shape), ("room", tuple(2 * n + 5 for n in shape)), ("first", (None, *shape[1:])),
                                ("last", (*shape[:-1], None)), ("wide", (*(n + 50 for n in shape[:-1]), None)),
                                ("all", (None,) * len(shape))]:
                for filters in ({}, {"compression": "gzip", "shuffle": True}, {"fletcher32": True}):
                    name = f"{version}-{'x'.join(map(str, shape))}-{most}-{len(filters)}{'f' if 'fletcher32' in filters else ''}"
                    f.create_dataset(name, data=x, chunks=chunk, maxshape=grown, **filters)
                    keep(f"grids.{name}", x)
                    names.append(name)
            # Chunks that were never written.
            d = f.create_dataset(f"{version}-partly-{'x'.join(map(str, shape))}", shape, "float64", chunks=chunk, fillvalue=2.5)
            d[1:3] = 7
            keep(f"grids.{d.name[1:]}", d[...])
            names.append(d.name[1:])
        f.create_dataset(f"{version}-whole", data=sample(4, 5, kind=">f8"))
        keep(f"grids.{version}-whole", f[f"{version}-whole"][...].astype("float64"))
        f.create_dataset(f"{version}-complex", data=sample(4, 5, kind="complex64"), chunks=(3, 2))
        keep(f"grids.{version}-complex", f[f"{version}-complex"][...])
        names += [f"{version}-whole", f"{version}-complex"]
        # Chunks in a row: of early allocation, without filters.
        for shape, grown in [((9, 7), (9, 7)), ((9, 7), (20, 7))]:
            space = h5py.h5s.create_simple(shape, grown)
            made = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
            made.set_chunk((4, 3))
            made.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            name = f"{version}-row-{grown[0]}"
            d = h5py.Dataset(h5py.h5d.create(f.id, name.encode(), h5py.h5t.NATIVE_INT32, space, made))
            d[...] = sample(*shape, kind="int32")
            keep(f"grids.{name}", d[...])
            names.append(name)
for file, begin in [("grids.txt", "new"), ("grids-old.txt", "old")]:
    (folder / file).write_text("\n".join(name for name in names if name.startswith(begin)))
print("written")
