"""Four programs beside the NumPy or SciPy way, with the memory that each takes.

    python benches/programs.py [--repeats 5] [--threads 2] [NAME...]

Attention under a local mask, triangles of a graph, a recommender, CP-ALS: each in its natural form here and as one writes it
with NumPy and SciPy, on the same data from a seed. Each runs in a process of its own; the time is the best of the repeats,
the memory is what the process held at most beyond what it held before, in megabytes, without pages of the libraries' own files,
which come in as they run; each round begins without what the last one gave.
Answers are held to each other.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np
import scipy.sparse as sp


def attention(length, heads=8, width=64, block=32):
    """Each query sees the keys of its own block and of the one before."""
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((heads, length, width), dtype=np.float32) for _ in range(3))
    of = np.arange(length) // block
    seen = (of[:, None] == of[None, :]) | (of[:, None] == of[None, :] + 1)
    return {"q": q, "k": k, "v": v, "seen": seen, "mask": sp.csr_array(seen)}


def attention_openwork(d, ow):
    q, k, v, mask = (ow.asarray(d[name]) for name in ("q", "k", "v", "mask"))

    def run():
        weights = (q / np.float32(q.shape[-1] ** 0.5)).matmul_with(k.mT, mask=mask).softmax(-1)
        return weights.replace_fill(0.0) @ v

    return run


def attention_peer(d):
    def run():
        scores = (d["q"] / np.float32(d["q"].shape[-1] ** 0.5)) @ d["k"].transpose(0, 2, 1)
        scores[:, ~d["seen"]] = -np.inf
        scores -= scores.max(axis=-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=-1, keepdims=True)
        return scores @ d["v"]

    return run


def rmat(scale, degree):
    """Graph500's: Chakrabarti, Zhan and Faloutsos, 2004. Edges both ways, no loops, weight 1."""
    rng = np.random.default_rng(1)
    n, m = 1 << scale, degree << scale
    row, column = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for _ in range(scale):
        u = rng.random(m)
        row = 2 * row + (u >= 0.76)
        column = 2 * column + (((u >= 0.57) & (u < 0.76)) | (u >= 0.95))
    keep = row != column
    one = sp.coo_array((np.ones(keep.sum()), (row[keep], column[keep])), (n, n)).tocsr()
    both = (one + one.T).tocsr()
    both.data[:] = 1.0
    both.sort_indices()
    return both


def triangles():
    return {"edges": rmat(17, 8)}


def triangles_openwork(d, ow):
    edges = ow.asarray(d["edges"]).stored()

    def run():
        below = edges.tril(k=-1)
        return below.matmul_with(below, "plus_pair", mask=below.is_stored()).sum().item()

    return run


def triangles_peer(d):
    def run():
        below = sp.tril(d["edges"], -1).tocsr()
        return (below @ below).multiply(below).sum()

    return run


def recommender(users=20_000, films=3_000, stored=1_000_000, rank=16):
    rng = np.random.default_rng(2)
    key = np.unique(rng.integers(0, users * films, stored))
    r = sp.csr_array((rng.integers(1, 11, len(key)) / 2.0, (key // films, key % films)), (users, films))
    r.sort_indices()
    return {"ratings": r, "u": rng.standard_normal((users, rank)), "w": rng.standard_normal((films, rank))}


def recommender_openwork(d, ow):
    """Films that the same users rate alike, and how far a model of low rank is from the ratings."""
    ratings, u, w = ow.asarray(d["ratings"]).stored(), ow.asarray(d["u"]), ow.asarray(d["w"])

    def run():
        missed = ratings.sampled_addmm(u, w.mT, alpha=-1).square().sum().item()
        x = (ratings - ratings.mean(axis=1, keepdims=True)).replace_fill(0.0).normalize(2.0, 0)
        alike = x.mT.matmul_with(x, layout="strided")
        return np.asarray([alike.sum().item(), missed])

    return run


def recommender_peer(d):
    def run():
        r = d["ratings"]
        rows = np.repeat(np.arange(r.shape[0]), np.diff(r.indptr))
        residual = r.data - (d["u"][rows] * d["w"][r.indices]).sum(axis=1)
        missed = (residual * residual).sum()
        x = r.copy()
        x.data -= np.repeat(r.sum(axis=1) / np.diff(r.indptr), np.diff(r.indptr))
        x.data /= np.sqrt(np.bincount(x.indices, x.data**2, r.shape[1]))[x.indices]
        alike = (x.T @ x).toarray()
        return np.asarray([alike.sum(), missed])

    return run


def cp_als(shape=(1000, 800, 600), stored=100_000, rank=16):
    rng = np.random.default_rng(3)
    key = np.unique(rng.integers(0, shape[0] * shape[1] * shape[2], stored))
    at = np.unravel_index(key, shape)
    return {"at": at, "values": rng.random(len(key)), "factors": [rng.random((n, rank)) for n in shape], "shape": shape}


def cp_als_openwork(d, ow):
    """One sweep over the three axes."""
    x = ow.sparse_coo_tensor(np.stack(d["at"]), d["values"], d["shape"], fill_value=0.0).to_layout("csf")

    def run():
        f = [ow.asarray(factor) for factor in d["factors"]]
        for mode, text in enumerate(["ijk,jr,kr->ir", "ijk,ir,kr->jr", "ijk,ir,jr->kr"]):
            a, b = (f[i] for i in range(3) if i != mode)
            gram = (a.mT @ a) * (b.mT @ b)
            f[mode] = ow.asarray(np.linalg.solve(np.asarray(gram), np.asarray(ow.einsum(text, x, a, b)).T).T)
        return np.asarray(f[2])

    return run


def cp_als_peer(d):
    """The sums over elements are products with a matrix that has a one for each, made beforehand."""
    n = len(d["values"])
    onto = [sp.csr_array((np.ones(n), (at, np.arange(n))), (size, n)) for at, size in zip(d["at"], d["shape"], strict=True)]

    def run():
        f = list(d["factors"])
        for mode in range(3):
            a, b = (i for i in range(3) if i != mode)
            gram = (f[a].T @ f[a]) * (f[b].T @ f[b])
            terms = d["values"][:, None] * f[a][d["at"][a]] * f[b][d["at"][b]]
            f[mode] = np.linalg.solve(gram, (onto[mode] @ terms).T).T
        return f[2]

    return run


PROGRAMS = {
    "attention, 1024": (lambda: attention(1024), attention_openwork, attention_peer),
    "attention, 4096": (lambda: attention(4096), attention_openwork, attention_peer),
    "triangles": (triangles, triangles_openwork, triangles_peer),
    "recommender": (recommender, recommender_openwork, recommender_peer),
    "CP-ALS": (cp_als, cp_als_openwork, cp_als_peer),
}


def megabytes(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field + ":")) / 1024


def measure(name, library, repeats):
    """In this process."""
    make, ours, theirs = PROGRAMS[name]
    data = make()
    if library == "openwork":
        import openwork as ow

        run = ours(data, ow)
    else:
        run = theirs(data)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # The most that was held begins anew.
    before, files, least, answer = megabytes("VmRSS"), megabytes("RssFile"), np.inf, None
    for _ in range(repeats):
        del answer
        start = time.perf_counter()
        answer = run()
        least = min(least, time.perf_counter() - start)
    most = megabytes("VmHWM") - before - (megabytes("RssFile") - files)
    answer = np.asarray(answer, dtype=np.float64)
    print(json.dumps({"ms": least * 1e3, "mb": most, "answer": [answer.sum(), np.abs(answer).sum()]}))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--of", choices=["openwork", "peer"], help="measure one library in this process")
    arguments.add_argument("names", nargs="*", default=list(PROGRAMS))
    args = arguments.parse_args()
    if args.of:
        return measure(args.names[0], args.of, args.repeats)
    counts = {name: str(args.threads) for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
    print("| program | openwork, ms | peer, ms | ratio | openwork, MB | peer, MB |\n|---|--:|--:|--:|--:|--:|")
    for name in args.names:
        got = []
        for library in ("openwork", "peer"):
            command = [sys.executable, __file__, "--of", library, "--repeats", str(args.repeats), name]
            told = subprocess.run(command, env=dict(os.environ, **counts), check=True, stdout=subprocess.PIPE, text=True)
            got.append(json.loads(told.stdout))
        ours, theirs = got
        np.testing.assert_allclose(ours["answer"], theirs["answer"], rtol=1e-4)
        ratio = ours["ms"] / theirs["ms"]
        print(f"| {name} | {ours['ms']:.1f} | {theirs['ms']:.1f} | {ratio:.2f} | {ours['mb']:.0f} | {theirs['mb']:.0f} |", flush=True)


if __name__ == "__main__":
    main()
