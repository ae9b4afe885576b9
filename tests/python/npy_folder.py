"""Folders of `.npy` files with a `binsparse.json`, as NumPy has them: npy_folder.py make NPZ_FOLDER FOLDER, out of NPZ files of the
Python reference; npy_folder.py read FOLDER prints the elements of the CSR matrix in each folder, by coordinates."""

import json
import sys
from pathlib import Path

import numpy as np

mode, source = sys.argv[1], Path(sys.argv[2])
if mode == "make":
    for path in sorted(source.glob("*.npz")):
        out = Path(sys.argv[3]) / f"{path.stem}.bspnpy"
        out.mkdir()
        with np.load(path) as arrays:
            (out / "binsparse.json").write_text(str(arrays["binsparse"][()]))
            for name in arrays.files:
                if name != "binsparse":
                    np.save(out / f"{name}.npy", arrays[name])
else:
    for path in sorted(source.glob("*.bspnpy")):
        said = json.loads((path / "binsparse.json").read_text())["binsparse"]
        assert said["version"] == "0.1" and said["format"] == "CSR", said
        part = {name: np.load(path / f"{name}.npy") for name in said["data_types"]}
        rows = np.repeat(np.arange(said["shape"][0]), np.diff(part["pointers_to_1"]))
        for row, column, value in zip(rows, part["indices_1"], part["values"]):
            print(row, column, float(value))
