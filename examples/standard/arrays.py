"""Ops on arrays of many shapes beside NumPy: which op is slow on which shape, on one thread and on two.

    RAYON_NUM_THREADS=1 python arrays.py ours > one; RAYON_NUM_THREADS=2 python arrays.py ours > two
    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python arrays.py numpy > numpy; python arrays.py table one two numpy

With the package `openwork` and NumPy. Each line is the best time of a few calls, in milliseconds. The table has a row for each op: our
time over NumPy's, geometric means over the shapes, and the shape on which we come off worst on two threads.

After `ours` or `numpy` dtypes may be named, `float32 uint8 ...`, of which all arrays then are; without them `float64`, and an op named
with a dtype has its own. What a library refuses for a dtype is left out, and named on standard error.
"""

import json
import math
import sys
import time

import numpy as np

SECONDS = 0.06

SHAPES = [
    (1_000_000, 1),
    (1, 1_000_000),
    (1_000_000, 3),
    (300_000, 10),
    (60_000, 50),
    (1000, 1000),
    (10, 300_000),
    (3, 1_000_000),
    (100, 100, 100),
    (1000, 3, 333),
]


class Data:
    """Operands of one shape; of ours if they are wrapped."""

    def __init__(self, shape, dtype, wrap):
        rng = np.random.default_rng(1)
        x, x_dtype = rng.standard_normal(shape), np.dtype(dtype)
        self.dtype, self.shape = x_dtype.name, shape
        self.last, self.columns = len(shape) - 1, shape[-1]
        rows = shape[0]
        self.all_but_last = (slice(None),) * self.last
        as_asked = lambda x: (x * {"b": 1.5, "u": 100, "i": 100}.get(x_dtype.kind, 1)).astype(x_dtype)
        with np.errstate(invalid="ignore"):
            typed = as_asked(x)
        arrays = {
            "x": typed,
            "y": as_asked(np.abs(rng.standard_normal(shape))),
            "row": as_asked(np.abs(x[(0,) * self.last]) + 0.5),
            "column": as_asked(np.abs(x[..., :1]) + 0.5),
            "mask": x > 0.3,
            "whole": (x * 100).astype(np.int32),
            "single": x.astype(np.float32),
            "along_rows": rng.integers(0, rows, shape),
            "along_columns": rng.integers(0, self.columns, shape),
            "few": typed.reshape(-1)[:50].copy(),
            "sorted": np.sort(typed.reshape(-1)[:100_000]),
            "bins": rng.integers(0, 1000, x.size),
            "some_rows": rng.random(rows) < 0.5,
            "some_columns": rng.random(self.columns) < 0.5,
            "row_list": rng.integers(0, rows, max(rows // 2, 1)),
            "column_list": rng.integers(0, self.columns, max(self.columns // 2, 1)),
        }
        for name, array in arrays.items():
            setattr(self, name, wrap(array))


def last_of(k):
    return lambda d: np.argpartition(d.x, d.columns - k, axis=d.last)[..., d.columns - k :]


def both(f):
    return f, f


def inexact(d):
    if d.dtype[:3] not in ("flo", "com"):
        raise TypeError("of floating point alone")
    return d


def ops(ow):
    """Of each op, what we do and what NumPy does, given the operands."""
    flat = lambda x: ow.reshape(x, (-1,))
    both_named = lambda name, f: (lambda d: f(getattr(ow, name), d), lambda d: f(getattr(np, name), d))
    return {
        "sum(0)": both(lambda d: d.x.sum(axis=0)),
        "sum(-1)": both(lambda d: d.x.sum(axis=d.last)),
        "sum": both(lambda d: d.x.sum()),
        "sum(-1), float32": both(lambda d: d.single.sum(axis=d.last)),
        "sum(-1), int32": both(lambda d: d.whole.sum(axis=d.last)),
        "mean(-1)": both(lambda d: d.x.mean(axis=d.last)),
        "max(0)": both(lambda d: d.x.max(axis=0)),
        "max(-1)": both(lambda d: d.x.max(axis=d.last)),
        "prod(-1)": both(lambda d: d.x.prod(axis=d.last)),
        "any(-1)": both(lambda d: d.mask.any(axis=d.last)),
        "all(0)": both(lambda d: d.mask.all(axis=0)),
        "count_nonzero(-1)": (
            lambda d: ow.count_nonzero(d.x, axis=d.last),
            lambda d: np.count_nonzero(d.x, axis=d.last),
        ),
        "var(0)": both(lambda d: d.x.var(axis=0)),
        "var(-1)": both(lambda d: d.x.var(axis=d.last)),
        "std": both(lambda d: d.x.std()),
        "norm(-1)": (lambda d: ow.vector_norm(d.x, axis=d.last), lambda d: np.linalg.norm(d.x, axis=d.last)),
        "argmax(0)": both(lambda d: d.x.argmax(axis=0)),
        "argmax(-1)": both(lambda d: d.x.argmax(axis=d.last)),
        "median(0)": (lambda d: d.x.median(axis=0), lambda d: np.median(d.x, axis=0)),
        "median(-1)": (lambda d: d.x.median(axis=d.last), lambda d: np.median(d.x, axis=d.last)),
        "quantile(-1)": (lambda d: d.x.quantile(0.3, axis=d.last), lambda d: np.quantile(d.x, 0.3, axis=d.last)),
        "sort(0)": (lambda d: d.x.sort(axis=0), lambda d: np.sort(d.x, axis=0)),
        "sort(-1)": (lambda d: d.x.sort(axis=d.last), lambda d: np.sort(d.x, axis=d.last)),
        "argsort(-1)": (lambda d: d.x.argsort(axis=d.last), lambda d: np.argsort(d.x, axis=d.last, kind="stable")),
        "topk(1)": (lambda d: d.x.topk(1, axis=d.last), last_of(1)),
        "cumulative_sum(0)": (lambda d: d.x.cumulative_sum(axis=0), lambda d: d.x.cumsum(axis=0)),
        "cumulative_sum(-1)": (lambda d: d.x.cumulative_sum(axis=d.last), lambda d: d.x.cumsum(axis=d.last)),
        "diff(0)": (lambda d: d.x.diff(axis=0), lambda d: np.diff(d.x, axis=0)),
        "diff(-1)": (lambda d: d.x.diff(axis=d.last), lambda d: np.diff(d.x, axis=d.last)),
        "x + y": both(lambda d: d.x + d.y),
        "x + row": both(lambda d: d.x + d.row),
        "x * column": both(lambda d: d.x * d.column),
        "x + 2.5": both(lambda d: d.x + 2.5),
        "x > 0.1": both(lambda d: d.x > 0.1),
        "int32 + int32": both(lambda d: d.whole + d.whole),
        "int32 // 7": both(lambda d: d.whole // 7),
        "maximum": (lambda d: ow.maximum(d.x, d.y), lambda d: np.maximum(d.x, d.y)),
        "where": (lambda d: ow.where(d.mask, d.x, d.y), lambda d: np.where(d.mask, d.x, d.y)),
        "clip": both(lambda d: d.x.clip(-0.5, 0.5)),
        "exp": (lambda d: d.x.exp(), lambda d: np.exp(d.x)),
        "to float32": (lambda d: d.x.astype(ow.float32), lambda d: d.x.astype(np.float32)),
        "turned": (lambda d: flat(ow.swapaxes(d.x, 0, d.last)), lambda d: np.swapaxes(d.x, 0, d.last).copy()),
        "flip(0)": (lambda d: flat(d.x.flip(axis=0)), lambda d: np.flip(d.x, axis=0).copy()),
        "flip(-1)": (lambda d: flat(d.x.flip(axis=d.last)), lambda d: np.flip(d.x, axis=d.last).copy()),
        "take(0)": (lambda d: ow.take(d.x, d.row_list, axis=0), lambda d: np.take(d.x, d.row_list, axis=0)),
        "take(-1)": (lambda d: ow.take(d.x, d.column_list, axis=d.last), lambda d: np.take(d.x, d.column_list, axis=d.last)),
        "x[rows]": both(lambda d: d.x[d.some_rows]),
        "x[:, columns]": both(lambda d: d.x[(*d.all_but_last, d.some_columns)]),
        "x[mask]": both(lambda d: d.x[d.mask]),
        "nonzero": both(lambda d: d.mask.nonzero()),
        "repeat(0)": (lambda d: ow.repeat(d.x, 2, axis=0), lambda d: np.repeat(d.x, 2, axis=0)),
        "repeat(-1)": (lambda d: ow.repeat(d.x, 2, axis=d.last), lambda d: np.repeat(d.x, 2, axis=d.last)),
        "tile(-1)": (lambda d: ow.tile(d.x, (1,) * d.last + (2,)), lambda d: np.tile(d.x, (1,) * d.last + (2,))),
        "roll(-1)": (lambda d: ow.roll(d.x, 1, axis=d.last), lambda d: np.roll(d.x, 1, axis=d.last)),
        "concat(0)": (lambda d: ow.concat([d.x, d.y], axis=0), lambda d: np.concatenate([d.x, d.y], axis=0)),
        "concat(-1)": (lambda d: ow.concat([d.x, d.y], axis=d.last), lambda d: np.concatenate([d.x, d.y], axis=d.last)),
        "stack(-1)": (lambda d: ow.stack([d.x, d.y], axis=-1), lambda d: np.stack([d.x, d.y], axis=-1)),
        "pad": (lambda d: ow.pad(d.x, [(1, 1)] * (d.last + 1)), lambda d: np.pad(d.x, [(1, 1)] * (d.last + 1))),
        "tril": (lambda d: ow.tril(d.x), lambda d: np.tril(d.x)),
        "x @ row": both(lambda d: d.x @ d.row),
        "sum(1)": both(lambda d: d.x.sum(axis=1)),
        "mean(0)": both(lambda d: d.x.mean(axis=0)),
        "max(1)": both(lambda d: d.x.max(axis=1)),
        "max": both(lambda d: d.x.max()),
        "any": both(lambda d: d.mask.any()),
        "nansum(-1)": both_named("nansum", lambda f, d: f(inexact(d).x, axis=d.last)),
        "nanmax(0)": both_named("nanmax", lambda f, d: f(inexact(d).x, axis=0)),
        "nanmean": both_named("nanmean", lambda f, d: f(inexact(d).x)),
        "take_along_axis(0)": both_named("take_along_axis", lambda f, d: f(d.x, d.along_rows, axis=0)),
        "take_along_axis(-1)": both_named("take_along_axis", lambda f, d: f(d.x, d.along_columns, axis=d.last)),
        "nonzero of x": both(lambda d: d.x.nonzero()),
        "unique": (lambda d: ow.unique_values(d.x), lambda d: np.unique(d.x)),
        "isin": (lambda d: ow.isin(d.x, d.few), lambda d: np.isin(d.x, d.few)),
        "searchsorted": both_named("searchsorted", lambda f, d: f(d.sorted, flat(d.x) if ow else d.x.reshape(-1))),
        "bincount": both_named("bincount", lambda f, d: f(d.bins)),
        "bincount, weights": both_named("bincount", lambda f, d: f(d.bins, weights=flat(d.x) if ow else d.x.reshape(-1))),
        "histogram": both_named("histogram", lambda f, d: f(d.x, bins=50)),
        "cumulative_prod(-1)": (lambda d: ow.cumulative_prod(d.x, axis=d.last), lambda d: np.cumprod(d.x, axis=d.last)),
        "abs": both(lambda d: abs(d.x)),
        "-x": both(lambda d: -d.x),
        "x * y": both(lambda d: d.x * d.y),
        "x == y": both(lambda d: d.x == d.y),
        "sqrt": both_named("sqrt", lambda f, d: f(inexact(d).y)),
        "log1p": both_named("log1p", lambda f, d: f(inexact(d).y)),
        "x ** 2": both(lambda d: d.x**2),
        "x ** y": both(lambda d: inexact(d).y ** d.y),
        "x / y": both(lambda d: inexact(d).x / d.y),
        "isnan": both_named("isnan", lambda f, d: f(inexact(d).x)),
        "sign": both_named("sign", lambda f, d: f(d.x)),
        "x[:, 1:]": both(lambda d: d.x[:, 1:] + d.x[:, :-1]),
        "x[::2]": both(lambda d: d.x[::2] + d.x[::2]),
        "from float32": (lambda d: d.single.astype(getattr(ow, d.dtype)), lambda d: d.single.astype(d.dtype)),
    }


def measure(which, dtypes):
    ow = None
    if which == "ours":
        import openwork as ow
    for dtype in dtypes or ["float64"]:
        # The ops that have a dtype of their own once.
        names = [(name, fs) for name, fs in ops(ow).items() if not dtypes or "32" not in name]
        for shape in SHAPES:
            data = Data(shape, dtype, ow.asarray if ow else np.asarray)
            of = "" if not dtypes else f", {dtype}"
            for name, (ours, numpys) in names:
                try:
                    ms = best_of(ours if ow else numpys, data)
                except (TypeError, ValueError, np.exceptions.AxisError, getattr(ow, "OpenworkError", TypeError)) as refused:
                    print(f"{name}, {dtype}, {shape}: {refused}", file=sys.stderr)
                    continue
                print(json.dumps([" x ".join(map(str, shape)), name + of, ms]), flush=True)


def best_of(f, data):
    best, begun, calls = math.inf, time.perf_counter(), 0
    while calls < 3 or (time.perf_counter() - begun < SECONDS and calls < 200):
        start = time.perf_counter()
        f(data)
        best, calls = min(best, time.perf_counter() - start), calls + 1
    return best * 1e3


def read(path):
    with open(path) as lines:
        return {(shape, op): ms for shape, op, ms in map(json.loads, lines)}


def table(one, two, numpy):
    one, two, numpy = map(read, (one, two, numpy))
    # What takes NumPy less than this is a matter of calls, not of elements.
    cases = [case for case in one if numpy.get(case, 0) > 0.05]
    ratios = lambda times, cases: [times[case] / numpy[case] for case in cases]
    mean = lambda found: math.exp(sum(map(math.log, found)) / len(found))
    print("| op | shapes | 1 thread ÷ NumPy | 2 threads ÷ NumPy | worst on 2 threads |\n|---|--:|--:|--:|---|")
    for op in dict.fromkeys(op for _, op in cases):
        own = [case for case in cases if case[1] == op]
        worst = max(own, key=lambda case: two[case] / numpy[case])
        print(f"| `{op}` | {len(own)} | {mean(ratios(one, own)):.2f} | {mean(ratios(two, own)):.2f} | {two[worst] / numpy[worst]:.2f}, {worst[0]} |")
    for name, times in (("1 thread", one), ("2 threads", two)):
        found = ratios(times, cases)
        print(f"\n{name}: geometric mean {mean(found):.2f}, ahead in {sum(r <= 1 for r in found)} of {len(found)}")


if __name__ == "__main__":
    table(*sys.argv[2:]) if sys.argv[1] == "table" else measure(sys.argv[1], sys.argv[2:])
