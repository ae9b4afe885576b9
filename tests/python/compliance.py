"""Drives the three converters as the compliance suite of binsparse does, beside the reference of the package binsparse: compliance.py
COMMAND FOLDER. What is compared is what the suite calls the meaning: elements, which of them are stored, and the fill."""

import contextlib
import itertools
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
from reference_cli import converters as reference

command, folder = sys.argv[1], Path(sys.argv[2])
rng = random.Random(4)
numbers = np.random.default_rng(4)
TYPES = {"bint8": "bool", "int8": "int8", "int64": "int64", "uint16": "uint16", "float32": "float32", "float64": "float64",
         "complex[float32]": "complex64", "complex[float64]": "complex128"}
SHAPES = {1: ["DVEC", "CVEC"], 2: ["DMAT", "DMATR", "DMATC", "CSR", "CSC", "DCSR", "DCSC", "COO", "COOR", "COOC"]}


def ours(name, *paths):
    done = subprocess.run([command, name, *map(str, paths)], capture_output=True, text=True)
    assert done.returncode == 0, (name, paths, done.stderr)


def theirs(name, *paths):
    with contextlib.redirect_stderr(sys.stdout):
        assert getattr(reference, f"{name}_main")(list(map(str, paths))) == 0, (name, paths)


def tree(axes):
    """A tree of levels at random."""
    if axes == 0:
        return {"level_desc": "element"}
    rank = rng.randint(1, axes)
    return {"level_desc": rng.choice(["dense", "sparse"]), "rank": rank, "level": tree(axes - rank)}


def stored(level, pattern):
    """The pattern, grown to one that the levels can have: what lies below dense levels is stored whole."""
    if level["level_desc"] == "element":
        return np.ones_like(pattern)
    rank, out = level["rank"], np.zeros_like(pattern)
    for place in itertools.product(*map(range, pattern.shape[:rank])):
        if level["level_desc"] == "dense" or pattern[place].any():
            out[place] = stored(level["level"], np.asarray(pattern[place]))
    return out


def same(mine, reference, what):
    for label in ("tensor", "pattern", "fill"):
        a, b = np.load(f"{mine}_{label}.npy"), np.load(f"{reference}_{label}.npy")
        assert a.shape == b.shape and a.dtype == b.dtype, (what, label, a.dtype, b.dtype, a.shape, b.shape)
        assert np.array_equal(a, b), (what, label, a, b)


def three(name):
    return [folder / f"{name}_{label}.npy" for label in ("tensor", "pattern", "fill")]


def case(header, shape, ty, container):
    dense = numbers.integers(0, 3, shape).astype(TYPES[ty])
    custom, transpose = reference._format_from_header(header)
    order = list(transpose or range(len(shape)))
    grown = stored(custom, (numbers.random(shape) < 0.4).transpose(order))
    pattern = np.ascontiguousarray(grown.transpose(np.argsort(order))) if order else grown
    fill = np.asarray(numbers.integers(0, 3)).astype(TYPES[ty])
    dense = np.where(pattern, dense, fill).astype(TYPES[ty])
    what = (header, shape, ty, container)
    given = three("in")
    for path, array in zip(given, (dense, pattern, fill)):
        np.save(path, array)
    (folder / "header.json").write_text(json.dumps(header))
    wanted, made, again = (folder / f"{name}{container}" for name in ("wanted", "made", "again"))
    theirs("npy_to_binsparse", *given, folder / "header.json", wanted)
    ours("npy_to_binsparse", *given, folder / "header.json", made)
    theirs("binsparse_to_npy", wanted, *three("wanted"))
    theirs("binsparse_to_npy", made, *three("made"))
    same(folder / "made", folder / "wanted", ("npy_to_binsparse", *what))
    ours("binsparse_to_npy", wanted, *three("ours"))
    same(folder / "ours", folder / "wanted", ("binsparse_to_npy", *what))
    ours("binsparse_to_binsparse", wanted, again)
    theirs("binsparse_to_npy", again, *three("again"))
    same(folder / "again", folder / "wanted", ("binsparse_to_binsparse", *what))
    return 1


done = 0
for ty, container in itertools.product(TYPES, [".npz", ".h5", ".zarr"]):
    for axes, names in SHAPES.items():
        for name in names:
            shape = tuple(rng.randint(0, 4) for _ in range(axes))
            done += case({"format": name, "data_types": {"values": ty}}, shape, ty, container)
    for axes in [1, 2, 3, 3, 4]:
        level, shape = tree(axes), tuple(rng.randint(0, 4) for _ in range(axes))
        header = {"format": "custom", "custom": {"level": level}, "data_types": {"values": ty}}
        if rng.random() < 0.5:
            header["custom"]["transpose"] = rng.sample(range(axes), axes)
        done += case(header, shape, ty, container)
print(done)
