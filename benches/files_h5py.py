"""HDF5 files of openwork and of h5py, turn by turn, on the same arrays.

usage: files_h5py.py FILES_BENCH FOLDER [ROUNDS], FILES_BENCH the executable of benches/files.rs, built with the
feature hdf5. h5py writes with fsync, as openwork does, and without. ONLY="read;read, h5py" runs some of the
tasks.
"""

import os
import subprocess
import sys
import time

import h5py
import numpy as np

bench, folder = sys.argv[1:3]
rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
names = ["pointers_to_1", "indices_1", "values"]
ours = {kind: os.path.join(folder, f"ours-{kind}.h5") for kind in ["plain", "gzip"]}
theirs = {kind: os.path.join(folder, f"h5py-{kind}.h5") for kind in ["plain", "gzip"]}


def openwork(what, path):
    return float(subprocess.run([bench, what, path, "3"], check=True, capture_output=True, text=True).stdout.split()[0])


def best(f):
    times = []
    for _ in range(3):
        start = time.perf_counter()
        f()
        times.append(time.perf_counter() - start)
    return min(times)


def write(kind, sync):
    more = dict(compression="gzip", compression_opts=4, shuffle=True, chunks=(1 << 17,)) if kind == "gzip" else {}
    path = theirs[kind]
    if os.path.exists(path):
        os.remove(path)
    with h5py.File(path, "w") as file:
        for name in names:
            file.create_dataset(name, data=arrays[name], **more)
    if sync:
        descriptor = os.open(path, os.O_RDWR)
        os.fsync(descriptor)
        os.close(descriptor)


def read(path):
    with h5py.File(path, "r") as file:
        return {name: file[name][:] for name in names}


only = [task for task in os.environ.get("ONLY", "").split(";") if task]
openwork("write", ours["plain"])
arrays = read(ours["plain"])
if not only or any("gzip" in task for task in only):
    openwork("write-gzip", ours["gzip"])
    assert all(np.array_equal(arrays[n], a) for n, a in read(ours["gzip"]).items())
size = sum(a.nbytes for a in arrays.values())
tasks = {
    "write": lambda: openwork("write", ours["plain"]),
    "write, h5py and fsync": lambda: best(lambda: write("plain", True)),
    "write, h5py": lambda: best(lambda: write("plain", False)),
    "read": lambda: openwork("read", ours["plain"]),
    "read trusted": lambda: openwork("read-trusted", ours["plain"]),
    "read, h5py": lambda: best(lambda: read(ours["plain"])),
    "write gzip 4, shuffle": lambda: openwork("write-gzip", ours["gzip"]),
    "write gzip 4, shuffle, h5py": lambda: best(lambda: write("gzip", True)),
    "read gzip": lambda: openwork("read", ours["gzip"]),
    "read gzip, h5py": lambda: best(lambda: read(ours["gzip"])),
}
chosen = only or list(tasks)
times = {task: [] for task in chosen}
for _ in range(rounds):
    for task in chosen:
        times[task].append(tasks[task]())
for task, t in times.items():
    t.sort()
    print(f"{task:30} best {t[0]:.3f} s, median {t[len(t) // 2]:.3f} s, {size / t[0] / 1e6:6.0f} MB/s")
