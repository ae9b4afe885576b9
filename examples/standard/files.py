#!/usr/bin/env python3
"""Times `openwork` on large files beside copies of their arrays with h5py and NumPy: files.py FOLDER [GB...].

Makes a CSR matrix of each size in HDF5 and NPZ (`float64` values, `int32` indices, `int64` pointers), converts it from HDF5 to HDF5
and from NPZ to NPZ, and copies its arrays with h5py and with NumPy. Each in a process of its own, in turn, three rounds; the best
wall and processor seconds, the most memory. With `sync` a copy ends when the disk has it, as every file that openwork writes.
"""

import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import h5py
import numpy as np

OPENWORK = os.environ.get("OPENWORK", "target/release/openwork")
ARRAYS = ["pointers_to_1", "indices_1", "values"]


def make(folder, gigabytes):
    """The same matrix in both containers; rows of about 55 elements."""
    nse = int(gigabytes * 1e9 / 12.15)
    rows = nse // 55
    pointers = np.linspace(0, nse, rows + 1).astype(np.int64)
    start = np.repeat(pointers[:-1], np.diff(pointers))
    indices = (np.arange(nse, dtype=np.int64) - start).astype(np.int32) * 900
    indices += (start % 449).astype(np.int32)
    del start
    values = np.random.default_rng(1).random(nse)
    arrays = dict(zip(ARRAYS, [pointers, indices, values]))
    words = '{"binsparse": {"version": "0.1.0", "format": "CSR", "shape": [%d, 50000], "number_of_stored_values": %d, "data_types": ' \
        '{"pointers_to_1": "int64", "indices_1": "int32", "values": "float64"}}}' % (rows, nse)
    with h5py.File(folder / "in.h5", "w") as file:
        file.attrs["binsparse"] = words
        for name, array in arrays.items():
            file[name] = array
    np.savez(folder / "in.npz", binsparse=np.array(words), **arrays)


def copy(container, sync, folder):
    """Array by array, as a short script would."""
    out = folder / f"out.{container}"
    if container == "h5":
        with h5py.File(folder / "in.h5") as source, h5py.File(out, "w") as target:
            target.attrs["binsparse"] = source.attrs["binsparse"]
            for name in ARRAYS:
                target[name] = source[name][...]
    else:
        with np.load(folder / "in.npz") as source, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED, allowZip64=True) as target:
            for name in ["binsparse", *ARRAYS]:
                with target.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, source[name])
    if sync:
        with open(out, "rb+") as file:
            os.fsync(file.fileno())


def timed(command):
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    assert status == 0, command
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e3


def main(folder, sizes):
    for gigabytes in sizes:
        # Not here: what a process takes counts as taken by those that it starts.
        subprocess.run([sys.executable, __file__, "make", str(folder), str(gigabytes)], check=True)
        size = os.path.getsize(folder / "in.h5") / 1e6
        for container in ["h5", "npz"]:
            source, out = folder / f"in.{container}", folder / f"out.{container}"
            own = [sys.executable, __file__, "copy", container]
            programs = {
                "openwork convert": [OPENWORK, "convert", "-q", str(source), str(out)],
                "copy": [*own, "plain", str(folder)],
                "copy, sync": [*own, "sync", str(folder)],
                "openwork info": [OPENWORK, "info", str(source)],
            }
            best = {}
            for _ in range(3):
                for name, command in programs.items():
                    out.unlink(missing_ok=True)
                    os.sync()
                    best.setdefault(name, []).append(timed(command))
            for name, rounds in best.items():
                wall, cpu, memory = (min(column) for column in zip(*rounds))
                print(f"{size:.0f} MB {container}, {name}: {wall:.2f} s, {cpu:.2f} s of processors, {memory:.0f} MB", flush=True)
        for name in ["in.h5", "in.npz", "out.h5", "out.npz"]:
            (folder / name).unlink(missing_ok=True)


if sys.argv[1] == "copy":
    copy(sys.argv[2], sys.argv[3] == "sync", Path(sys.argv[4]))
elif sys.argv[1] == "make":
    make(Path(sys.argv[2]), float(sys.argv[3]))
else:
    main(Path(sys.argv[1]), [float(size) for size in sys.argv[2:]] or [1.34])
