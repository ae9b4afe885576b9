"""Ten ops beside SciPy and pydata/sparse, and what a call costs.

    python benches/peers.py [--stored 1000000] [--repeats 5] [--peers scipy,pydata]

Each library has the same matrix in its own form; times are the best of the repeats, on as many threads as each takes by
itself. A dash: the library has no such op on sparse arrays.
"""

import argparse
import timeit

import numpy as np
import scipy.sparse as sp

import openwork as ow


def best(f, repeats):
    try:
        f()
    except Exception as e:  # What a peer cannot do is a dash.
        return None, type(e).__name__
    return min(timeit.repeat(f, number=1, repeat=repeats)), ""


def table(stored, repeats, peers):
    import sparse

    modules = {"openwork": ow, "pydata": sparse}
    rows, columns = stored // 50, stored // 100
    rng = np.random.default_rng(0)
    s = sp.random_array((rows, columns), density=stored / rows / columns, format="csr", rng=rng)
    s.sort_indices()
    t = sp.random_array((rows, columns), density=stored / rows / columns, format="csr", rng=rng)
    v, m = rng.random(columns), rng.random((columns, 16))
    narrow = s[: rows // 20]
    forms = {
        "openwork": tuple(ow.asarray(a) for a in (s, t, narrow)),
        "scipy": (s, t, narrow),
        "pydata": tuple(sparse.GCXS.from_scipy_sparse(a) for a in (s, t, narrow)),
    }
    ops = {
        "x + y": lambda x, y, n, lib: x + y,
        "x * y": lambda x, y, n, lib: x * y,
        "x * 2": lambda x, y, n, lib: x * 2,
        "sin(x)": lambda x, y, n, lib: np.sin(x),
        "x.sum(axis=0)": lambda x, y, n, lib: x.sum(axis=0),
        "x.max(axis=1)": lambda x, y, n, lib: x.max(axis=1),
        "x @ v": lambda x, y, n, lib: x @ v,
        "x @ m (16 columns)": lambda x, y, n, lib: x @ m,
        "n @ n.T (a 20th of the rows)": lambda x, y, n, lib: n @ n.T,
        "tensordot(n, n, axes=([1], [1]))": lambda x, y, n, lib: modules[lib].tensordot(n, n, axes=([1], [1])),
        "transposed, to CSR": lambda x, y, n, lib: to_csr(x.T, lib),
        "x[::2]": lambda x, y, n, lib: x[::2],
        "x - x.mean(axis=0)": lambda x, y, n, lib: x - x.mean(axis=0),
    }
    print(f"{rows} x {columns}, {s.nnz} stored, milliseconds")
    columns_of = {"openwork": forms["openwork"], "scipy": forms["scipy"], "pydata GCXS": forms["pydata"]}
    columns_of["pydata COO"] = tuple(sparse.COO.from_scipy_sparse(a) for a in (s, t, narrow))
    chosen = {name: given for name, given in columns_of.items() if name.split()[0] in ("openwork", *peers)}
    print(f"| {'op':30} | {' | '.join(chosen)} |\n|{'-' * 32}|{'--:|' * len(chosen)}")
    for name, f in ops.items():
        cells = []
        for column, given in chosen.items():
            lib = column.split()[0]
            if lib not in modules and name.startswith("tensordot"):
                cells.append("–")  # SciPy has none.
                continue
            if lib != "openwork" and name.startswith("x - x.mean"):
                cells.append("–")  # It becomes dense there, or sums coordinates of all elements.
                continue
            time, error = best(lambda: f(*given, lib), repeats)
            cells.append(f"{time * 1e3:.2f}" if time is not None else f"– ({error})")
        print(f"| {name:30} | " + " | ".join(cells) + " |", flush=True)


def to_csr(x, lib):
    if lib == "openwork":
        return x.to_layout("csr")
    if lib == "scipy":
        return x.tocsr()
    return x.change_compressed_axes((0,)) if hasattr(x, "change_compressed_axes") else x.asformat("gcxs")


def calls():
    x, a = ow.asarray([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
    y = ow.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,), fill_value=0.0)
    big = ow.random((10_000, 10_000), 0.01, layout="csr", seed=1)
    large = np.zeros(10_000_000)
    names = {"x": x, "y": y, "a": a, "ow": ow, "np": np, "big": big, "large": large}
    print("\n| call | nanoseconds |\n|---|--:|")
    for text in (
        "x.nse", "x + x", "y + y", "x + 1.0", "x.sin()", "ow.sin(x)", "np.sin(x)", "x.sum(axis=0)", "x[1]", "x[1:3]",
        "ow.asarray(a)", "ow.asarray(large)", "x.to_numpy()", "big.stored_values().to_numpy()", "big.stored()", "a + a",
    ):  # fmt: skip
        number = 20_000
        time = min(timeit.repeat(text, globals=names, number=number, repeat=5)) / number
        print(f"| `{text}` | {time * 1e9:.0f} |")


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--stored", type=int, default=1_000_000)
    arguments.add_argument("--repeats", type=int, default=5)
    arguments.add_argument("--peers", default="scipy,pydata", help="beside which libraries")
    args = arguments.parse_args()
    table(args.stored, args.repeats, args.peers.split(","))
    calls()


if __name__ == "__main__":
    main()
