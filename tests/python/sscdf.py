"""Reads files of sscdf 1.0 with netCDF4 and says what is in them, a line of JSON per object: sscdf.py FOLDER."""

import json
import sys
from pathlib import Path

import netCDF4
import numpy as np


def decoded(group):
    """The elements that an object stores, as [place, value] pairs, from its definition alone."""
    def of(name):
        variable = group.variables[name]
        variable.set_auto_mask(False)
        if variable.dimensions:
            assert variable.dimensions == (name,), variable.dimensions
            # Of no elements netCDF knows only unlimited dimensions.
            assert variable.size == 0 or not group.dimensions[name].isunlimited(), name
            assert len(group.dimensions[name]) == variable.size
        return variable[...]

    form = group.format
    shape = [int(of(name)) for name in ("nrows", "ncols", "size") if name in group.variables]
    if form == "scalar_empty":
        return shape, []
    values = of("value" if form == "scalar" else "values")
    if form.startswith("bitmap"):
        bits = of("bitmap")
        places = np.nonzero(bits)[0]
        places = [divmod(int(p), shape[0] if form == "bitmapc" else shape[-1]) for p in places]
        if form == "bitmapc":
            places = [(r, c) for c, r in places]
        if len(shape) == 1:
            places = [(c,) for _, c in places]
        kept = values[np.nonzero(bits)[0]] if values.ndim else values
    elif form == "scalar":
        places, kept = [()], values
    elif form == "full":
        places, kept = [(i,) for i in range(shape[0])], values
    elif form in ("fullr", "fullc"):
        places = [(r, c) for r in range(shape[0]) for c in range(shape[1])]
        order = "C" if form == "fullr" else "F"
        kept = values.reshape(shape, order=order).ravel() if values.ndim else values
    elif form == "sparse":
        places, kept = [(int(i),) for i in of("indices")], values
    elif form in ("coor", "cooc"):
        places, kept = list(zip(of("rows").tolist(), of("cols").tolist())), values
    else:
        by_rows = form.endswith("csr")
        pointers, inner = of("indptr").tolist(), of("col_indices" if by_rows else "row_indices").tolist()
        outer = of("rows" if by_rows else "cols").tolist() if form.startswith("hyper") else range(len(pointers) - 1)
        places = [(o, i) for at, o in enumerate(outer) for i in inner[pointers[at]:pointers[at + 1]]]
        places = places if by_rows else [(r, c) for c, r in places]
        kept = values
    kept = np.broadcast_to(np.asarray(kept), (len(places),))
    names = {"fp32": "float32", "fp64": "float64", "bool": "int8"}
    assert str(kept.dtype) == names.get(group.datatype, group.datatype), (kept.dtype, group.datatype)
    return shape, [[list(place), value] for place, value in zip(places, kept.tolist())]


for path in sorted(Path(sys.argv[1]).glob("*.sscdf")):
    with netCDF4.Dataset(path) as file:
        assert file.version == "1.0" and file.data_model == "NETCDF4"
        for name, group in [("", file), *file.groups.items()]:
            shape, elements = decoded(group)
            said = {"file": path.stem, "name": name, "format": group.format, "datatype": group.datatype}
            said |= {"comment": getattr(group, "comment", None), "shape": shape, "elements": elements}
            said["variables"] = {name: list(v.shape) for name, v in group.variables.items()}
            print(json.dumps(said))
