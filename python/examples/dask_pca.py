"""Centred principal components of a sparse matrix that is never whole in memory, on a cluster of dask.

    python examples/dask_pca.py                          # a cluster on this machine, over loopback
    python examples/dask_pca.py --scheduler tcp://HOST:8786   # a cluster that runs elsewhere: its workers need openwork

Each worker makes (in real life: reads, by `openwork.load`) its blocks of rows, and multiplies them; what travels are
matrices of as many columns as there are components. A block less its column means stays sparse: the means are its fill.
"""

import argparse

import numpy as np

import openwork as ow


def block(i, rows, columns, density):
    """Block number `i` of the matrix."""
    return ow.random((rows, columns), density, layout="csr", seed=i)


def multiply(i, rows, columns, density, means, v):
    """Of block `i`, centred: its transpose times itself times `v`."""
    centred = block(i, rows, columns, density) - ow.asarray(means)
    return (centred.T @ (centred @ v)).to_numpy()


def sums(i, rows, columns, density):
    """The sums of the columns of block `i`."""
    return block(i, rows, columns, density).sum(axis=0).to_numpy()


def components(blocks, rows, columns, density, k, run, iterations=30):
    """The `k` greatest eigenvalues of the covariance by subspace iteration; `run` maps a function over blocks and adds up."""
    size = (rows, columns, density)
    n = blocks * rows
    means = run(sums, *size)[None, :] / n
    v = np.linalg.qr(np.random.default_rng(0).standard_normal((columns, k + 5)))[0]
    for _ in range(iterations):
        w = run(multiply, *size, means, v)
        v, _ = np.linalg.qr(w)
    w = run(multiply, *size, means, v)
    return np.linalg.eigvalsh(v.T @ w)[::-1][:k] / (n - 1)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--scheduler", help="the address of a cluster; without it one is started here")
    arguments.add_argument("--blocks", type=int, default=16)
    arguments.add_argument("--rows", type=int, default=20_000, help="rows of a block")
    arguments.add_argument("--columns", type=int, default=500)
    arguments.add_argument("--density", type=float, default=0.01)
    arguments.add_argument("--components", type=int, default=5)
    args = arguments.parse_args()
    size = (args.blocks, args.rows, args.columns, args.density, args.components)

    from dask.distributed import Client, LocalCluster

    def over_cluster(client):
        def run(f, *rest):
            tasks = [client.submit(f, i, *rest, pure=False) for i in range(args.blocks)]
            return client.submit(sum, tasks, pure=False).result()

        return run

    def in_one_process(f, *rest):
        return sum(f(i, *rest) for i in range(args.blocks))

    if args.scheduler:
        with Client(args.scheduler) as client:
            found = components(*size, over_cluster(client))
    else:
        with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
            found = components(*size, over_cluster(client))
    expected = components(*size, in_one_process)
    print("variances  ", " ".join(f"{v:.6g}" for v in found))
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    print("the same in one process")


if __name__ == "__main__":
    main()
