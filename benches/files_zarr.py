"""Zarr stores of openwork and of the package zarr, turn by turn, on the same arrays.

usage: files_zarr.py FILES_BENCH FOLDER [ROUNDS], FILES_BENCH the executable of benches/files.rs, built with the feature codecs.
The package writes the chunks that openwork writes, in the same codecs; and in its own default, zstd, which openwork reads.
"""

import os
import shutil
import subprocess
import sys
import time

import numpy as np
import zarr
from zarr.codecs import GzipCodec, ZstdCodec

bench, folder = sys.argv[1:3]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
names = ["pointers_to_1", "indices_1", "values"]
kinds = ["plain", "gzip"]
ours = {kind: os.path.join(folder, f"ours-{kind}.zarr") for kind in kinds}
theirs = {kind: os.path.join(folder, f"zarr-{kind}.zarr") for kind in [*kinds, "zstd"]}


def openwork(what, path):
    return float(subprocess.run([bench, what, path, "3"], check=True, capture_output=True, text=True).stdout.split()[0])


def best(f):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def write(kind, sync=False):
    path = theirs[kind]
    shutil.rmtree(path, ignore_errors=True)
    packing = {"plain": None, "gzip": GzipCodec(level=4), "zstd": ZstdCodec(level=0)}[kind]
    size = 16 << 20 if kind == "plain" else 1 << 20
    group = zarr.open_group(path, mode="w", attributes={"binsparse": described})
    for name in names:
        a = arrays[name]
        group.create_array(name, data=a, chunks=min(size // a.itemsize, a.size), compressors=packing)
    if sync:
        for where, _, files in os.walk(path):
            for file in files:
                descriptor = os.open(os.path.join(where, file), os.O_RDWR)
                os.fsync(descriptor)
                os.close(descriptor)


def read(path):
    group = zarr.open_group(path, mode="r")
    return {name: group[name][:] for name in names}


openwork("write", ours["plain"])
openwork("write-gzip", ours["gzip"])
arrays = read(ours["plain"])
described = dict(zarr.open_group(ours["plain"], mode="r").attrs)["binsparse"]
assert all(np.array_equal(arrays[n], a) for n, a in read(ours["gzip"]).items())
for kind in theirs:
    write(kind)
size = sum(a.nbytes for a in arrays.values())
tasks = {
    "write": lambda: openwork("write", ours["plain"]),
    "write, zarr and fsync": lambda: best(lambda: write("plain", True)),
    "write, zarr": lambda: best(lambda: write("plain")),
    "read": lambda: openwork("read", ours["plain"]),
    "read, zarr": lambda: best(lambda: read(ours["plain"])),
    "write gzip 4": lambda: openwork("write-gzip", ours["gzip"]),
    "write gzip 4, zarr": lambda: best(lambda: write("gzip")),
    "read gzip": lambda: openwork("read", ours["gzip"]),
    "read gzip, zarr": lambda: best(lambda: read(ours["gzip"])),
    "read zstd": lambda: openwork("read", theirs["zstd"]),
    "read zstd, zarr": lambda: best(lambda: read(theirs["zstd"])),
}
only = [task for task in os.environ.get("ONLY", "").split(";") if task] or list(tasks)
times = {task: [] for task in only}
for _ in range(rounds):
    for task in only:
        times[task].append(tasks[task]())
for task, t in times.items():
    t.sort()
    print(f"{task:24} best {t[0]:.3f} s, median {t[len(t) // 2]:.3f} s, {size / t[0] / 1e6:6.0f} MB/s")
