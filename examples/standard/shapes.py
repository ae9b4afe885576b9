"""Ops on matrices of many shapes beside SciPy: which op is slow on which shape, on one thread and on two.

    RAYON_NUM_THREADS=1 python shapes.py ours > one; RAYON_NUM_THREADS=2 python shapes.py ours > two
    OMP_NUM_THREADS=1 python shapes.py scipy > scipy; python shapes.py table one two scipy

With the package `openwork`, NumPy and SciPy. Each line is the best time of a few calls, in milliseconds. The table has a row for each op: our
time over SciPy's, geometric means over the shapes, and the shape on which we come off worst on two threads.
"""

import json
import math
import sys
import time

import numpy as np
import scipy.sparse as sp

RNG = np.random.default_rng(0)
SECONDS = 0.12


def anywhere(rows, columns, in_row):
    """So many elements a row at most, anywhere."""
    n = rows * in_row
    at = (np.repeat(np.arange(rows), in_row), RNG.integers(0, columns, n))
    return canonical(sp.coo_array((RNG.standard_normal(n), at), (rows, columns)))


def band(n, width):
    return canonical(sp.dia_array((RNG.standard_normal((2 * width + 1, n)), range(-width, width + 1)), shape=(n, n)))


def skewed(rows, columns, n):
    """Some rows and columns with most of the elements."""
    at = ((RNG.random(n) ** 3 * rows).astype(np.int32), (RNG.random(n) ** 4 * columns).astype(np.int32))
    return canonical(sp.coo_array((RNG.standard_normal(n), at), (rows, columns)))


def canonical(x):
    x = x.tocsr()
    x.sum_duplicates()
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    return x


SHAPES = {
    "1M x 100, 5 a row": lambda: anywhere(1_000_000, 100, 5),
    "300k x 2k, 10": lambda: anywhere(300_000, 2_000, 10),
    "100k x 10k, 20": lambda: anywhere(100_000, 10_000, 20),
    "30k x 300, 100": lambda: anywhere(30_000, 300, 100),
    "1k x 1M, 2000": lambda: anywhere(1_000, 1_000_000, 2_000),
    "20 x 100k, 50k": lambda: anywhere(20, 100_000, 50_000),
    "1M x 1M, 3": lambda: anywhere(1_000_000, 1_000_000, 3),
    "band of 3, 1M": lambda: band(1_000_000, 1),
    "band of 101, 20k": lambda: band(20_000, 50),
    "100k x 50k, skewed": lambda: skewed(100_000, 50_000, 3_000_000),
    "2k x 2k, 500": lambda: anywhere(2_000, 2_000, 500),
    "5M x 10, mostly empty": lambda: skewed(5_000_000, 10, 200_000),
}

FEW, SMALL = 2_000, 30_000_000


def stacked(module, axis):
    join = {0: sp.vstack, 1: sp.hstack}[axis]
    return (lambda o: join([o.x, o.x]).tocsr()) if module is None else (lambda o: module.concat([o.x, o.x], axis=axis))


class Operands:
    """A matrix, another with its shape and vectors, as SciPy and NumPy have them or as ours."""

    def __init__(self, x, ow):
        rng = np.random.default_rng(1)
        rows, columns = x.shape
        own = (lambda a: a) if ow is None else ow.asarray
        self.rows, self.columns, self.nse = rows, columns, x.nnz
        self.v, self.u = own(rng.standard_normal(columns)), own(rng.standard_normal(rows))
        self.v8, self.u8 = own(rng.standard_normal((columns, 8))), own(rng.standard_normal((rows, 8)))
        self.column = own(rng.standard_normal((rows, 1)))
        self.some_rows, self.some_columns = rng.integers(0, rows, rows // 3), rng.integers(0, columns, max(1, columns // 3))
        self.row_mask, self.column_mask = rng.random(rows) < 0.5, rng.random(columns) < 0.5
        self.middle = slice(columns // 4, 3 * columns // 4)
        other = x.copy()
        shift = np.repeat(np.arange(rows), np.diff(x.indptr)) * 7919
        other.indices = ((x.indices.astype(np.int64) * 1_664_525 + shift) % columns).astype(np.int32)
        other.has_sorted_indices = other.has_canonical_format = False
        other.sort_indices()
        other.sum_duplicates()
        self.other = own(other)
        listed, order = x.tocoo(), rng.permutation(x.nnz)
        at, values = (listed.row[order], listed.col[order]), listed.data[order]
        if ow is None:
            self.unordered = sp.coo_array((values, at), x.shape)
        else:
            self.unordered = ow.sparse_coo_tensor(np.stack(at).astype(np.int64), values, list(x.shape))
        self.dense = own(x.toarray()) if rows * columns <= SMALL else None
        self.x = own(x)


def where(condition, f):
    return lambda o: f(o) if condition(o) else None


def is_small(o):
    return o.dense is not None


def ops(ow):
    """By name what SciPy does, or what we do; `None` where a shape is left out."""
    both = {
        "sum(0)": lambda o: o.x.sum(0),
        "sum(1)": lambda o: o.x.sum(1),
        "sum": lambda o: o.x.sum(),
        "max(0)": lambda o: o.x.max(0),
        "max(1)": lambda o: o.x.max(1),
        "mean(0)": lambda o: o.x.mean(0),
        "count_nonzero(0)": lambda o: o.x.count_nonzero(0),
        "x @ v": lambda o: o.x @ o.v,
        "x.T @ u": lambda o: o.x.T @ o.u,
        "x @ 8 columns": lambda o: o.x @ o.v8,
        "x.T @ 8 columns": lambda o: o.x.T @ o.u8,
        "x.T @ x": where(lambda o: o.columns <= FEW, lambda o: o.x.T @ o.x),
        "x + y": lambda o: o.x + o.other,
        "x * 2": lambda o: o.x * 2.0,
        "abs": lambda o: abs(o.x),
        "x > 0": lambda o: o.x > 0,
        "x[list]": lambda o: o.x[o.some_rows],
        "x[:, list]": lambda o: o.x[:, o.some_columns],
        "x[mask]": lambda o: o.x[o.row_mask],
        "x[:, mask]": lambda o: o.x[:, o.column_mask],
        "x[:, a:b]": lambda o: o.x[:, o.middle],
        "x[::-1]": lambda o: o.x[::-1],
        "x[:, ::-1]": lambda o: o.x[:, ::-1],
        "diagonal": lambda o: o.x.diagonal(),
        "vstack": stacked(ow, 0),
        "hstack": stacked(ow, 1),
    }
    can_reshape = lambda o: o.rows * o.columns < 2**31
    if ow is None:
        return both | {
            "to CSC": lambda o: o.x.tocsc(),
            "to COO": lambda o: o.x.tocoo(),
            "COO to CSR": lambda o: o.unordered.tocsr(),
            "to dense": where(is_small, lambda o: o.x.toarray()),
            "dense to CSR": where(is_small, lambda o: sp.csr_array(o.dense)),
            "norm(1)": lambda o: np.sqrt(o.x.multiply(o.x).sum(1)),
            "x * y": lambda o: o.x.multiply(o.other),
            "x * row": lambda o: o.x.multiply(o.v[None]).tocsr(),
            "x * column": lambda o: o.x.multiply(o.column).tocsr(),
            "tril": lambda o: sp.tril(o.x, format="csr"),
            "reshape": where(can_reshape, lambda o: o.x.reshape((1, -1))),
        }
    return both | {
        "to CSC": lambda o: o.x.to_layout("csc"),
        "to COO": lambda o: o.x.to_layout("coo"),
        "COO to CSR": lambda o: o.unordered.to_layout("csr"),
        "to dense": where(is_small, lambda o: o.x.to_dense()),
        "dense to CSR": where(is_small, lambda o: o.dense.to_layout("csr")),
        "norm(1)": lambda o: o.x.vector_norm(axis=1),
        "x * y": lambda o: o.x * o.other,
        "x * row": lambda o: o.x * o.v,
        "x * column": lambda o: o.x * o.column,
        "tril": lambda o: o.x.tril(),
        "reshape": where(can_reshape, lambda o: o.x.reshape([1, o.rows * o.columns])),
    }


def best(f):
    """The best time of a few calls, in milliseconds."""
    least, begin, calls = math.inf, time.perf_counter(), 0
    while calls < 2 or (time.perf_counter() - begin < SECONDS and calls < 30):
        start = time.perf_counter()
        result = f()
        least = min(least, time.perf_counter() - start)
        calls += 1
        del result
    return least * 1e3


def measure(ow):
    for shape, make in SHAPES.items():
        operands = Operands(make(), ow)
        for op, f in ops(ow).items():
            if f(operands) is not None:
                print(json.dumps({"shape": shape, "op": op, "ms": best(lambda f=f: f(operands))}), flush=True)


def table(one, two, peer):
    def times(path):
        with open(path) as lines:
            return {(t["op"], t["shape"]): t["ms"] for t in map(json.loads, lines)}

    def mean(ratios):
        return math.exp(sum(map(math.log, ratios)) / len(ratios))

    one, two, peer = times(one), times(two), times(peer)
    # What takes no time at all, such as a view, says nothing.
    cases = [case for case in peer if case in one and case in two and peer[case] > 0.05 and one[case] > 0.001]
    print("| op | shapes | 1 thread ÷ SciPy | 2 threads ÷ SciPy | worst on 2 threads |")
    print("|---|--:|--:|--:|---|")
    for op in dict.fromkeys(op for op, _ in cases):
        own = [case for case in cases if case[0] == op]
        worst = max(own, key=lambda case: two[case] / peer[case])
        means = " | ".join(f"{mean([ours[case] / peer[case] for case in own]):.2f}" for ours in (one, two))
        print(f"| `{op}` | {len(own)} | {means} | {two[worst] / peer[worst]:.2f}, {worst[1]} |")
    for name, ours in (("one thread", one), ("two threads", two)):
        ratios = [ours[case] / peer[case] for case in cases]
        print(f"\n{name}: geometric mean {mean(ratios):.2f}, ahead in {sum(r <= 1 for r in ratios)} of {len(ratios)}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["table"] and len(sys.argv) == 5:
        table(*sys.argv[2:])
    elif sys.argv[1:] == ["ours"]:
        import openwork

        measure(openwork)
    elif sys.argv[1:] == ["scipy"]:
        measure(None)
    else:
        sys.exit(__doc__)
