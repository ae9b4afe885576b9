"""Opens files of formats that other libraries own with these libraries, and writes theirs: others.py read|write FOLDER.

`read` says what is in every file, a line of JSON each; `write` saves arrays with their dense twins as complex128 in
NAME.dense.npy.
"""

import json
import sys
import warnings
from pathlib import Path

import anndata
import zarr
import numpy as np
import scipy.sparse as sp
import sparse

warnings.simplefilter("ignore")
mode, folder = sys.argv[1], Path(sys.argv[2])


def said(name, kind, a, fill=0):
    a = np.asarray(a)
    elements = np.ascontiguousarray(a).ravel().astype(np.complex128)
    pairs = [[str(v.real), str(v.imag)] for v in elements]
    print(json.dumps({"file": name, "kind": kind, "shape": a.shape, "dtype": str(a.dtype), "elements": pairs,
                      "fill": str(fill)}))


if mode == "read":
    for path in sorted(folder.iterdir()):
        family = path.name.split("-")[0]
        if family == "scipy":
            x = sp.load_npz(path)
            x.check_format() if hasattr(x, "check_format") else None
            assert isinstance(x, sp.sparray)
            said(path.stem, x.format, x.todense())
        elif family == "pydata":
            x = sparse.load_npz(path)
            said(path.stem, x.format, x.todense(), x.fill_value)
        elif family == "numpy":
            x = np.load(path)
            if path.suffix == ".npy":
                said(path.stem, "F" if x.flags.f_contiguous and not x.flags.c_contiguous else "C", x)
            else:
                for name in x:
                    said(f"{path.stem}:{name}", "C", x[name])
        elif family == "anndata":
            if path.suffix == ".h5ad":
                x = anndata.read_h5ad(path)
            else:
                x = anndata.read_zarr(zarr.storage.ZipStore(path, mode="r") if path.suffix == ".zip" else path)
            places = [("X", x.X)] if x.X is not None else []
            for kind in ["layers", "obsm", "varm", "obsp", "varp"]:
                places += [(f"{kind}/{name}", matrix) for name, matrix in getattr(x, kind).items()]
            for name, matrix in places:
                is_sparse = sp.issparse(matrix)
                said(f"{path.name}:{name}", matrix.format if is_sparse else "dense", matrix.toarray() if is_sparse else matrix)
            print(json.dumps({"file": path.name, "obs": list(x.obs_names), "var": list(x.var_names)}))
            # What it takes, it also gives.
            x.obs["kind"] = "a"
            if path.suffix == ".h5ad":
                x.write_h5ad(folder / f"again-{path.name}")
            else:
                x.write_zarr(folder / f"again-{path.name}{'.zarr' if path.suffix == '.zip' else ''}")
else:
    rng = np.random.default_rng(3)

    def dense(shape, dtype, fill=0):
        a = (rng.random(shape) * 200 - 100).astype(dtype)
        a[rng.random(shape) < 0.6] = fill
        return a

    def keep(name, a):
        np.save(folder / f"{name}.dense.npy", np.asarray(a).astype(np.complex128, order="C"))

    for dtype in ["bool", "int16", "float32", "float64", "complex128"]:
        a = dense((7,), dtype)
        for form in [sp.csr_array, sp.coo_array]:
            x = form(a)
            sp.save_npz(folder / f"scipy-{x.format}-1-{dtype}.npz", x)
            keep(f"scipy-{x.format}-1-{dtype}", a)
        a = dense((3, 4, 5), dtype)
        sp.save_npz(folder / f"scipy-coo-3-{dtype}.npz", sp.coo_array(a))
        keep(f"scipy-coo-3-{dtype}", a)
        for shape in [(7,), (6, 5), (3, 4, 5)]:
            a = dense(shape, dtype, 1)
            x = sparse.COO.from_numpy(a, fill_value=a.dtype.type(1))
            sparse.save_npz(folder / f"pydata-coo-{len(shape)}-{dtype}.npz", x)
            keep(f"pydata-coo-{len(shape)}-{dtype}", a)
            if len(shape) < 3:
                sparse.save_npz(folder / f"pydata-gcxs-{len(shape)}-{dtype}.npz", sparse.GCXS.from_coo(x))
                keep(f"pydata-gcxs-{len(shape)}-{dtype}", a)
        for shape in [(), (7,), (6, 5), (3, 4, 5)]:
            for order in "CF":
                a = np.asarray(rng.random(shape) * 200 - 100).astype(dtype)
                name = f"numpy-{len(shape)}-{order}-{dtype}"
                np.save(folder / f"{name}.npy", np.asarray(a, order=order))
                np.save(folder / f"{name}-swapped.npy", np.asarray(a, order=order).astype(a.dtype.newbyteorder(">")))
                keep(name, a)
                keep(f"{name}-swapped", a)
    arrays = {"weight": dense((6, 5), "float32"), "bias": np.asfortranarray(dense((4, 3), "int64"))}
    np.savez(folder / "many.npz", labels=np.array(["a", "b"]), **arrays)
    np.savez_compressed(folder / "packed.npz", **arrays)
    for name, a in arrays.items():
        keep(f"many.{name}", a)
    np.save(folder / "objects.npy", np.array([{}, []], dtype=object))
