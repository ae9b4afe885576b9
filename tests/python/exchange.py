"""Reads files that openwork wrote with the packages that own their formats, and writes files for it to read.

    exchange.py read FOLDER     every file in FOLDER holds what the .json beside it says
    exchange.py write FOLDER    makes files, each with such a .json

The .json: {"shape": [..], "dtype": "float64", "fill": value or null, "entries": [[[i, j], value], ..]}, complex values
as {"re": .., "im": ..}, others that JSON lacks as strings.
"""

import itertools
import json
import pathlib
import sys

import binsparse
import fast_matrix_market
import h5py
import numpy as np
import safetensors
import safetensors.numpy
import scipy.io
import scipy.sparse
import zarr


def number(value):
    """A value of the .json."""
    if isinstance(value, dict):
        return complex(number(value["re"]), number(value["im"]))
    return float(value) if isinstance(value, str) else value


def spelled(value):
    """The other way."""
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, complex):
        return {"re": spelled(value.real), "im": spelled(value.imag)}
    if isinstance(value, float) and not np.isfinite(value):
        return "NaN" if np.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


def same(a, b):
    """Equal as numbers, NaN like NaN."""
    parts = lambda v: (v.real, v.imag) if isinstance(v, complex) else (v,)
    a, b = parts(a), parts(b)
    return len(a) == len(b) and all(x == y or (x != x and y != y) for x, y in zip(a, b))


def compare(found, expected, place):
    """Two maps from index to value."""
    assert found.keys() == expected.keys(), f"{place}: {sorted(found.keys() ^ expected.keys())[:5]}"
    for index, value in expected.items():
        assert same(found[index], value), f"{place}: {index}: {found[index]!r}, expected {value!r}"


def entries_of(tensor):
    """Index to value of a tensor of the binsparse package, level by level."""
    order = tensor.transpose or range(len(tensor.shape))
    sizes = [tensor.shape[axis] for axis in order]
    # Per position of the levels so far, its coordinates.
    level, positions, dim = tensor.level, [()], 0
    while not isinstance(level, binsparse.ElementLevel):
        rank = level.rank
        if isinstance(level, binsparse.DenseLevel):
            inner = list(itertools.product(*(range(n) for n in sizes[dim : dim + rank])))
            positions = [position + i for position in positions for i in inner]
        else:
            columns = [np.asarray(column).tolist() for column in level.indices]
            tuples = list(zip(*columns))
            pointers = [0, len(tuples)] if level.pointers_to_next is None else np.asarray(level.pointers_to_next).tolist()
            assert len(pointers) == len(positions) + 1 and pointers[0] == 0 and pointers[-1] == len(tuples)
            segments = zip(positions, pointers, pointers[1:])
            positions = [position + i for position, start, end in segments for i in tuples[start:end]]
        level, dim = level.level, dim + rank
    values = np.asarray(level.values).reshape(-1)
    if len(values) == 1 and len(positions) > 1:
        values = np.repeat(values, len(positions))  # iso
    assert len(values) == len(positions) == tensor.number_of_stored_values, (len(values), len(positions))
    found = {}
    for position, value in zip(positions, values):
        index = [0] * len(position)
        for axis, i in zip(order, position):
            index[axis] = i
        found[tuple(index)] = value.item()
    return found, values.dtype


def read_binsparse(path, facts, expected):
    """By the binsparse package, by its levels and, where it can, by what it makes of them."""
    found, dtype = entries_of(binsparse.load_binsparse(path, alias=False))
    compare(found, expected, path)
    assert str(dtype) == facts["dtype"], f"{path}: {dtype}"
    tensor = binsparse.load_binsparse(path)
    assert list(tensor.shape) == facts["shape"], path
    fill = facts["fill"]
    if tensor.fill:
        assert same(np.asarray(tensor.fill_value).reshape(-1)[0].item(), number(fill)), path
    else:
        assert fill is None or number(fill) == 0, path


def read_h5py(path, facts):
    """The arrays as h5py sees them, against the descriptor."""
    with h5py.File(path) as file:
        text = file.attrs["binsparse"]
        assert isinstance(text, str), path
        header = json.loads(text)["binsparse"]
        for name, kind in header["data_types"].items():
            array = file[name]
            kind = kind.removeprefix("iso[").removesuffix("]") if kind.startswith("iso[") else kind
            stored = kind.removeprefix("complex[").removesuffix("]").replace("bint8", "uint8")
            assert array.ndim == 1 and str(array.dtype) == stored, f"{path}: {name}: {array.dtype}"
        assert header["shape"] == facts["shape"], path


def read_npz(path, facts):
    with np.load(path, allow_pickle=False) as file:
        header = json.loads(str(file["binsparse"]))["binsparse"]
        assert set(header["data_types"]) | {"binsparse"} == set(file.files), path
        assert header["shape"] == facts["shape"], path


def read_zarr(path, facts):
    """The arrays as zarr sees them, against the descriptor."""
    group = zarr.open_group(path, mode="r")
    header = group.attrs["binsparse"]["binsparse"]
    for name, kind in header["data_types"].items():
        array = group[name]
        kind = kind.removeprefix("iso[").removesuffix("]") if kind.startswith("iso[") else kind
        stored = kind.removeprefix("complex[").removesuffix("]").replace("bint8", "uint8")
        assert array.ndim == 1 and str(array.dtype) == stored, f"{path}: {name}: {array.dtype}"
    assert set(group.array_keys()) == set(header["data_types"]), path
    assert header["shape"] == facts["shape"], path


def read_zarr_zip(path, facts, expected):
    """An archive of a store, which the binsparse package does not open by its name."""
    group = zarr.open_group(zarr.storage.ZipStore(path, mode="r"), mode="r")
    header = group.attrs["binsparse"]["binsparse"]
    arrays = [np.asarray(group[name][:]) for name in header["data_types"]]
    container = binsparse.InMemoryBinsparseContainer({**header}, arrays)
    found, dtype = entries_of(binsparse.BinsparseTensor.parse(container, alias=False))
    compare(found, expected, path)
    assert str(dtype) == facts["dtype"], path


def read_matrix_market(path, facts, expected):
    for reader in (scipy.io.mmread, fast_matrix_market.mmread):
        found = reader(path)
        assert list(found.shape) == facts["shape"], path
        if scipy.sparse.issparse(found):
            found = found.tocoo()
            found = {(int(i), int(j)): v.item() for i, j, v in zip(found.row, found.col, found.data)}
        else:
            found = {tuple(map(int, index)): found[index].item() for index in np.ndindex(found.shape)}
        # The shortest text of a 32-bit number is that of another one in 64 bits.
        if facts["dtype"] in ("float32", "complex64"):
            found = {index: np.dtype(facts["dtype"]).type(value).item() for index, value in found.items()}
        compare(found, expected, f"{path} by {reader.__module__}")


def read_safetensors(path, facts, expected):
    with safetensors.safe_open(path, framework="numpy") as file:
        metadata, names = file.metadata() or {}, list(file.keys())
        descriptor = metadata.get("tensor.binsparse")
        if descriptor is None:
            found = file.get_tensor("tensor")
            assert list(found.shape) == facts["shape"] and str(found.dtype) == facts["dtype"], path
            compare({index: found[index].item() for index in np.ndindex(found.shape)}, expected, path)
            return
        header = json.loads(descriptor)["binsparse"]
        # The package asks for the other name of this version.
        header["version"] = "0.1.0"
        arrays = [file.get_tensor(f"tensor.{name}").reshape(-1) for name in header["data_types"]]
        assert {f"tensor.{name}" for name in header["data_types"]} == set(names), path
    container = binsparse.InMemoryBinsparseContainer({**header}, arrays)
    found, dtype = entries_of(binsparse.BinsparseTensor.parse(container, alias=False))
    compare(found, expected, path)
    assert str(dtype) == facts["dtype"], path


def read(folder):
    count = 0
    for path in sorted(folder.iterdir()):
        if path.suffix == ".json":
            continue
        facts = json.loads(path.with_name(path.name + ".json").read_text())
        expected = {tuple(index): number(value) for index, value in facts["entries"]}
        name = str(path)
        try:
            if path.suffix in (".h5", ".npz", ".zarr"):
                read_binsparse(name, facts, expected)
                {".h5": read_h5py, ".npz": read_npz, ".zarr": read_zarr}[path.suffix](name, facts)
            elif path.suffix == ".zip":
                read_zarr_zip(name, facts, expected)
            elif path.suffix == ".safetensors":
                read_safetensors(name, facts, expected)
            else:
                read_matrix_market(name, facts, expected)
        except Exception as error:
            raise SystemExit(f"{name}: {type(error).__name__}: {error}")
        count += 1
    print(f"{count} files read")


def samples():
    """Matrices of every dtype, and what they hold."""
    random = np.random.default_rng(7)
    kinds = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
    for kind in kinds:
        dense = random.integers(0, 2 if kind == "bool" else 100, (5, 7)).astype(kind)
        if kind.startswith("complex"):
            dense = dense + 1j * random.standard_normal((5, 7)).astype(dense.real.dtype)
            dense = dense.astype(kind)
        elif kind.startswith("float"):
            dense[1, 2], dense[4, 4] = np.inf, np.finfo(kind).tiny
        elif kind != "bool":
            dense[0, 0] = np.iinfo(kind).max
        yield kind, np.where(random.random((5, 7)) < 0.4, dense, np.zeros((), kind)).astype(kind)


def shortest(value):
    """What the text of a value means in 64 bits: of a 32-bit number the shortest that tells it apart is written."""
    if isinstance(value, np.complex64):
        return complex(shortest(value.real), shortest(value.imag))
    return float(str(value)) if isinstance(value, np.float32) else value


def expectation(path, shape, kind, entries):
    facts = {"shape": list(shape), "dtype": kind, "fill": None, "entries": [[list(i), spelled(v)] for i, v in entries]}
    path.with_name(path.name + ".json").write_text(json.dumps(facts))


def write(folder):
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for kind, dense in samples():
        whole = [((int(i), int(j)), dense[i, j]) for i, j in np.ndindex(dense.shape)]
        rows, cols = np.nonzero(dense)
        stored = [((int(i), int(j)), dense[i, j]) for i, j in zip(rows, cols)]
        for suffix in ("h5", "npz", "zarr"):
            common = {"shape": dense.shape, "number_of_stored_values": len(stored)}
            sparse = scipy.sparse.csr_array((dense[rows, cols], (rows, cols)), shape=dense.shape)
            csc = sparse.tocsc()
            tensors = {
                "coor": binsparse.COORMatrix(**common, indices_0=rows, indices_1=cols, values=dense[rows, cols]),
                "csr": binsparse.CSRMatrix(
                    **common, pointers_to_1=sparse.indptr, indices_1=sparse.indices, values=sparse.data
                ),
                "csc": binsparse.CSCMatrix(**common, pointers_to_1=csc.indptr, indices_1=csc.indices, values=csc.data),
                "dmatr": binsparse.DMATRMatrix(
                    shape=dense.shape, number_of_stored_values=dense.size, values=dense.reshape(-1)
                ),
            }
            for name, tensor in tensors.items():
                path = folder / f"{kind}-{name}.{suffix}"
                binsparse.save_binsparse(tensor, str(path))
                files.append((path, dense.shape, kind, whole if name == "dmatr" else stored))
        sparse = scipy.sparse.coo_array((dense[rows, cols], (rows, cols)), shape=dense.shape)
        if kind != "bool":
            wide = {"integer": "int64", "unsigned-integer": "uint64", "real": "float64", "complex": "complex128"}
            for writer in (scipy.io.mmwrite, fast_matrix_market.mmwrite):
                for name, array, entries in (("coo", sparse, stored), ("array", dense, whole)):
                    path = folder / f"{kind}-{name}-{writer.__module__.split('.')[0]}.mtx"
                    writer(str(path), array)
                    field = path.read_text().split()[3]
                    files.append((path, dense.shape, wide[field], [(index, shortest(v)) for index, v in entries]))
        if not kind.startswith("complex"):
            path = folder / f"{kind}.safetensors"
            safetensors.numpy.save_file({"x": dense}, str(path))
            files.append((path, dense.shape, kind, whole))
    for facts in files:
        expectation(*facts)
    print(f"{len(files)} files written")


if __name__ == "__main__":
    {"read": read, "write": write}[sys.argv[1]](pathlib.Path(sys.argv[2]))
