#!/usr/bin/env python3
"""Writes the random operands of the standard cases:

    python vectors.py [--data DIR] OPERATION:WORKLOAD:DTYPE ...
    python vectors.py $(cargo run --release --example standard -- --list)

Cases without such an operand, and workloads that are not in the data folder (default: the environment's
SPB_DATA), are skipped. `x99_<n>_<dtype>.npy` is the vector of the sparse matrix-vector products and of the
broadcasts, `x98_<rows>x<columns>_<dtype>.npy` the dense matrix of the sparse-dense products;
`<workload>.mtx` the file that `mtx_read` reads (in SPB_SCRATCH if that is set), `<workload>/chosen_rows.npy` and
`chosen_columns.npy` what `fancyrow` and `fancycol` select, `kron/a` and `kron/b` the factors of `kron`. What exists is kept.
"""
import argparse
import os
import re

import numpy as np

DTYPES = {"f32": np.float32, "f64": np.float64}


def operands(op, rows, columns, *others):
    """The shapes of the case's random operands."""
    if op == "nd_ttv":
        return [others]
    if op.startswith(("nd_ttm", "nd_mttkrp")):
        return [(n, 16) for n in (rows, columns, *others)]
    if op in ("spmv", "bcast_row"):
        return [(columns,)]
    if op in ("spmv_t", "bcast_col"):
        return [(rows,)]
    sampled = re.fullmatch(r"sddmm(\d+)", op)
    if sampled:
        return [(rows, int(sampled[1])), (columns, int(sampled[1]))]
    product = re.fullmatch(r"(d?)spmm(\d+)", op)
    if product:
        k = int(product[2])
        return [(k, rows) if product[1] else (columns, k)]
    return []


def write_array(data, shape, dtype):
    size = "x".join(map(str, shape))
    path = os.path.join(data, f"x{99 if len(shape) == 1 else 98}_{size}_{dtype}.npy")
    if not os.path.exists(path):
        values = np.random.default_rng(99 if len(shape) == 1 else 98).standard_normal(shape)
        np.save(path, values.astype(DTYPES[dtype]))
        print(path)


def write_chosen(data, workload, rows, columns):
    rng = np.random.default_rng(21)
    some_rows = rng.integers(0, rows, 50_000).astype(np.int64)
    some_columns = np.sort(rng.choice(columns, 20_000, replace=False)).astype(np.int64)
    for name, chosen in {"rows": some_rows, "columns": some_columns}.items():
        path = os.path.join(data, workload, f"chosen_{name}.npy")
        if not os.path.exists(path):
            np.save(path, chosen)
            print(path)


def write_factors(data):
    import scipy.sparse

    rng = np.random.default_rng(31)
    for name, size, density in (("a", 1000, 0.01), ("b", 100, 0.1)):
        folder = os.path.join(data, "kron", name)
        factor = scipy.sparse.random_array((size, size), density=density, rng=rng, format="csr")
        if not os.path.isdir(folder):
            os.makedirs(folder)
            arrays = {"indptr": factor.indptr.astype(np.int32), "indices": factor.indices.astype(np.int32)}
            arrays |= {"data": factor.data, "shape": np.array(factor.shape)}
            for array, values in arrays.items():
                np.save(os.path.join(folder, array + ".npy"), values)
            print(folder)


def write_matrix_market(data, workload):
    path = os.path.join(os.environ.get("SPB_SCRATCH", data), workload + ".mtx")
    if not os.path.exists(path):
        import scipy.io
        import scipy.sparse

        array = {k: np.load(os.path.join(data, workload, k + ".npy")) for k in ("shape", "indptr", "indices", "data")}
        csr = scipy.sparse.csr_array((array["data"], array["indices"], array["indptr"]), shape=tuple(array["shape"]))
        scipy.io.mmwrite(path, csr.tocoo(), symmetry="general")
        print(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("SPB_DATA"))
    parser.add_argument("cases", nargs="+")
    arguments = parser.parse_args()
    if not arguments.data:
        parser.error("name the data folder with --data or SPB_DATA")
    for case in arguments.cases:
        op, workload, dtype = case.split(":")
        if op == "kron":
            write_factors(arguments.data)
            continue
        folder = os.path.join(arguments.data, workload)
        if not os.path.isdir(folder):
            print(f"{case}: skipped, no folder {folder}")
            continue
        if op == "mtx_read":
            write_matrix_market(arguments.data, workload)
            continue
        sizes = list(map(int, np.load(os.path.join(folder, "shape.npy"))))
        if op in ("fancyrow", "fancycol"):
            write_chosen(arguments.data, workload, *sizes)
            continue
        for shape in operands(op, *sizes):
            write_array(arguments.data, shape, dtype)


if __name__ == "__main__":
    main()
