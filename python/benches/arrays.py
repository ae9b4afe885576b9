"""Order, choice and counting beside NumPy and SciPy: what programs do around products, each with the answer compared.

    python benches/arrays.py [--threads 1] [--repeats 5] [--size 10000000]

Strided arrays beside NumPy's, compressed rows beside SciPy's; times are the best of the repeats, in milliseconds, and NumPy
and SciPy run on one thread, which is what they have.
"""

import argparse
import os
import timeit


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--size", type=int, default=10_000_000)
    return parser.parse_args()


OPTIONS = options()
os.environ.update(RAYON_NUM_THREADS=str(OPTIONS.threads))

import numpy as np  # noqa: E402
import scipy.sparse as sp  # noqa: E402

import openwork as ow  # noqa: E402


def topk_of_rows(s, k):
    """The greatest of each row: the usual loop."""
    out = np.zeros((s.shape[0], k))
    for i in range(s.shape[0]):
        row = s.data[s.indptr[i] : s.indptr[i + 1]]
        out[i] = -np.sort(-row[np.argpartition(-row, k)[:k]])
    return out


def cases(n):
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    mask = rng.random(n) < 0.3
    integers = rng.integers(0, n // 10, n)
    edges = np.sort(rng.normal(size=n))
    few = n // 10
    c = np.round(rng.normal(size=few), 3) + 1j * np.round(rng.normal(size=few), 3)
    rows = a.reshape(-1, 1000)
    wide = sp.random_array((100, 200_000), density=0.05, format="csr", rng=rng)
    s = sp.random_array((n // 50, n // 100), density=100 / n * 5, format="csr", rng=rng)
    for m in (wide, s):
        m.sort_indices()
    columns = rng.random(s.shape[1]) < 0.5
    places = rng.permutation(n)[:few]
    points = rng.normal(size=few)
    p = np.column_stack([rng.integers(0, s.shape[0], few), rng.integers(0, s.shape[1], few)])
    rest = np.unique(p[:, 0] * s.shape[1] + p[:, 1])
    p = np.column_stack([rest // s.shape[1], rest % s.shape[1]])
    values = rng.normal(size=len(p))
    oa, om, oi, oe, oc, orows = (ow.asarray(x) for x in (a, mask, integers, edges, c, rows))
    owide, os_, ocolumns = ow.asarray(wide), ow.asarray(s), ow.asarray(columns)
    oplaces, opoints, ovalues = ow.asarray(places), ow.asarray(points), ow.asarray(values)
    orow, ocol = ow.asarray(p[:, 0]), ow.asarray(p[:, 1])
    dense = wide.toarray()
    odense = ow.asarray(dense)

    def put():
        out = a.copy()
        out[places] = points
        return out

    def coo_put():
        """What those do who know SciPy: entries that are named go, and the new ones come."""
        kept = s.tocoo()
        gone = np.isin(kept.coords[0] * s.shape[1] + kept.coords[1], rest)
        data = np.concatenate([kept.data[~gone], values])
        r = np.concatenate([kept.coords[0][~gone], p[:, 0]])
        k = np.concatenate([kept.coords[1][~gone], p[:, 1]])
        return sp.csr_array((data, (r, k)), shape=s.shape)

    yield "x[mask]", lambda: oa[om], lambda: a[mask]
    yield "x[mask], x[~mask]", lambda: (oa[om], oa[~om])[0], lambda: (a[mask], a[~mask])[0]
    yield "log1p", lambda: ow.log1p(ow.abs(oa)), lambda: np.log1p(np.abs(a))
    yield "x[places] = points, a tenth", lambda: ow.index_put(oa, (oplaces,), opoints), put
    yield "sort", lambda: ow.sort(oa), lambda: np.sort(a)
    yield "argsort", lambda: ow.take(oa, ow.argsort(oa)), lambda: a[np.argsort(a)]
    yield "sort of rows of 1000", lambda: ow.sort(orows), lambda: np.sort(rows, axis=1)
    yield "argmax of rows of 1000", lambda: ow.argmax(orows, axis=1), lambda: rows.argmax(axis=1)
    yield "searchsorted", lambda: ow.searchsorted(oe, oa), lambda: np.searchsorted(edges, a)
    yield "bincount", lambda: ow.bincount(oi), lambda: np.bincount(integers)
    yield "unique_values, float64", lambda: ow.unique_values(oa), lambda: np.unique(a)
    yield "unique_values, int64", lambda: ow.unique_values(oi), lambda: np.unique(integers)
    yield "unique_values, complex128, a tenth", lambda: ow.unique_values(oc), lambda: np.unique(c)
    yield "median", lambda: ow.median(oa), lambda: np.partition(a, (n - 1) // 2)[(n - 1) // 2]
    yield "topk(10) of 100 strided rows", lambda: ow.topk(odense, 10)[0], lambda: -np.sort(-np.partition(dense, -10)[:, -10:])
    yield "topk(10) of 100 CSR rows", lambda: ow.topk(owide, 10)[0], lambda: topk_of_rows(wide, 10)
    yield "CSR, half of the columns", lambda: os_[:, ocolumns], lambda: s[:, columns]
    yield "CSR, var(axis=0)", lambda: os_.var(axis=0), lambda: s.multiply(s).mean(axis=0) - np.square(s.mean(axis=0))
    yield "CSR, sort along axis 0", lambda: ow.sort(os_, axis=0), None
    yield "CSR, x[i, j] = values, a tenth", lambda: ow.index_put(os_, (orow, ocol), ovalues), coo_put


def plain(x):
    x = x.to_dense().to_numpy() if isinstance(x, ow.Tensor) and x.size < 10**8 else x
    return x


def same(got, want):
    if want is None:
        return True
    if sp.issparse(want):
        got = got.to_scipy().tocsr()
        return abs(got - want.tocsr()).max() <= 1e-12
    return np.allclose(np.asarray(plain(got)), np.asarray(want), equal_nan=True)


def best(f):
    return min(timeit.repeat(f, number=1, repeat=OPTIONS.repeats)) * 1e3


def main():
    print(f"| {OPTIONS.size} elements, {OPTIONS.threads} threads, ms | openwork | NumPy, SciPy | ratio |\n|---|--:|--:|--:|")
    for name, ours, theirs in cases(OPTIONS.size):
        if theirs is not None and not same(ours(), theirs()):
            raise SystemExit(f"{name}: another answer")
        a = best(ours)
        if theirs is None:
            print(f"| {name} | {a:.1f} | – | – |", flush=True)
            continue
        b = best(theirs)
        print(f"| {name} | {a:.1f} | {b:.1f} | {a / b:.2f} |", flush=True)


main()
