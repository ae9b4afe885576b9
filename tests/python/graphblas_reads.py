"""Reads files with python-graphblas and says what is in them, a line of JSON each: graphblas_reads.py FOLDER.

It has readers of Matrix Market, and of what SciPy and pydata/sparse load; the arrays of sscdf are those that SuiteSparse:GraphBLAS
imports under the same names. Prints nothing but `none` and why where it is not installed.
"""

import json
import sys
from pathlib import Path

try:
    import graphblas as gb
except ImportError as error:
    print(f"none {error}")
    sys.exit()
import netCDF4
import scipy.sparse as sp
import sparse


def imported(path):
    """The object of an sscdf file, handed to SuiteSparse as it is."""
    with netCDF4.Dataset(path) as file:
        def of(name):
            variable = file.variables[name]
            variable.set_auto_mask(False)
            array = variable[...]
            # Truth values are bytes there.
            return array.astype(bool) if file.datatype == "bool" and name == "values" else array

        form = file.format
        if form == "scalar":
            value = file.variables["value"][...].item()
            return gb.Scalar.from_value(bool(value) if file.datatype == "bool" else value)
        if form == "scalar_empty":
            return gb.Scalar(gb.dtypes.FP64)
        sizes = {name: int(of(name)) for name in ("nrows", "ncols", "size") if name in file.variables}
        arrays = {name: of(name) for name in file.variables if name not in sizes}
        arrays = {name: a.astype("uint64") if name not in ("values", "bitmap") else a for name, a in arrays.items()}
        # Its matrices by full columns and rows have two axes.
        if form in ("fullr", "fullc", "bitmapr", "bitmapc"):
            for name in arrays:
                arrays[name] = arrays[name].reshape(sizes["nrows"], sizes["ncols"], order="C" if form.endswith("r") else "F")
        if form in ("hypercsr", "hypercsc", "csr", "csc"):
            of_sorted = {"sorted_cols" if form.endswith("csr") else "sorted_rows": True}
        elif form in ("coor", "cooc"):
            # `import_coor` of 2025.2.0 takes the last row for all of them.
            return gb.Matrix.from_coo(arrays["rows"], arrays["cols"], arrays["values"], **sizes)
        else:
            of_sorted = {}
        if form == "bitmap" or form.startswith("bitmap"):
            of_sorted["nvals"] = int(arrays["bitmap"].sum())
        if form == "sparse":
            of_sorted["sorted_index"] = True
        kind = gb.Vector if "size" in sizes else gb.Matrix
        full = form in ("fullr", "fullc", "full", "bitmapr", "bitmapc")
        return getattr(kind.ss, f"import_{form}")(**arrays, **({} if full and kind is gb.Matrix else sizes), **of_sorted)


def opened(path):
    if path.suffix == ".sscdf":
        return imported(path)
    if path.suffix == ".npz":
        if path.name.startswith("pydata"):
            return gb.io.from_pydata_sparse(sparse.load_npz(path))
        return gb.io.from_scipy_sparse(sp.load_npz(path))
    return gb.io.mmread(str(path), engine="scipy")


for path in sorted(Path(sys.argv[1]).iterdir()):
    x = opened(path)
    if isinstance(x, gb.Scalar):
        shape, elements = [], [] if x.is_empty else [[[], x.value]]
    else:
        *places, values = x.to_coo()
        shape = list(x.shape)
        elements = [[list(map(int, place)), value] for *place, value in zip(*places, values.tolist())]
    elements = [[place, str(value) if isinstance(value, complex) else value] for place, value in elements]
    print(json.dumps({"file": path.name, "dtype": x.dtype.name, "shape": shape, "elements": elements}))
