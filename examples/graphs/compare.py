#!/usr/bin/env python3
"""Times the answers of examples/graphs.rs beside SciPy's and SuiteSparse:GraphBLAS's on one graph, and holds them to each other.

    cargo build --release --example graphs
    python examples/graphs/compare.py [--scale 16] [--degree 16] [--rounds 5]

Needs numpy, scipy and python-graphblas. The graph is R-MAT's (Chakrabarti, Zhan and Faloutsos, 2004) with the parameters of
Graph500, from a seed: 2^scale nodes, edges both ways without loops, weights 1 to 255. SciPy has no PageRank (here its products
in the same loop) and no betweenness. What SciPy's breadth-first search gives is an order, ours and GraphBLAS's is levels. The
functions for GraphBLAS are those of LAGraph, written with python-graphblas. Times are the best of some rounds.
"""

import argparse
import os
import pathlib
import subprocess
import tempfile
import time

import graphblas as gb
import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.csgraph as cs

ROOT = pathlib.Path(__file__).parents[2]
QUESTIONS = {  # our words for them
    "PageRank": "the node with the greatest rank",
    "BFS": "steps to the farthest node",
    "shortest paths": "the greatest distance",
    "components": "components",
    "triangles": "triangles",
    "betweenness, 16 sources": "the node most paths lead through",
}


def rmat(scale, degree, seed=1, a=0.57, b=0.19, c=0.19):
    rng = np.random.default_rng(seed)
    n, m = 1 << scale, degree << scale
    row, column = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for _ in range(scale):
        u = rng.random(m)
        row = 2 * row + (u >= a + b)
        column = 2 * column + (((u >= a) & (u < a + b)) | (u >= a + b + c))
    label = rng.permutation(n)
    row, column = label[row], label[column]
    keep = row != column
    once = sp.coo_array((np.ones(keep.sum()), (row[keep], column[keep])), (n, n)).tocsr()
    upper = sp.triu(once + once.T, 1).tocoo()
    upper.data = rng.integers(1, 256, upper.nnz).astype(float)
    both = (upper + upper.T).tocsr()
    both.sort_indices()
    return both


def best(rounds, f):
    """Milliseconds of the best round, and the answer; no more rounds than begin within five seconds."""
    least, first = np.inf, time.perf_counter()
    for _ in range(rounds):
        if time.perf_counter() - first > 5:
            break
        start = time.perf_counter()
        answer = f()
        least = min(least, time.perf_counter() - start)
    return 1e3 * least, answer


def openwork(program, graph, rounds, threads):
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "graph.mtx"
        scipy.io.mmwrite(file, graph.tocoo(), field="integer", symmetry="general")
        environment = dict(os.environ, RAYON_NUM_THREADS=str(threads))
        told = subprocess.run([program, file, str(rounds)], env=environment, check=True, capture_output=True, text=True).stdout
    out = {}
    for name, words in QUESTIONS.items():
        line = next(line for line in told.splitlines() if line.startswith(words + " "))
        answer, milliseconds = line[len(words):].split()[:2]
        out[name] = (float(milliseconds), float(answer))
    return out


def scipy_answers(graph, rounds):
    n = graph.shape[0]

    def pagerank(damping=0.85):
        leaving = graph.sum(axis=1)
        follow = sp.csr_array(graph.multiply(1 / np.where(leaving > 0, leaving, 1)[:, None])).T.tocsr()
        stuck, rank = leaving == 0, np.full(n, 1 / n)
        for _ in range(1000):
            new = damping * (follow @ rank) + (1 - damping + damping * rank[stuck].sum()) / n
            moved, rank = np.abs(new - rank).sum(), new
            if moved < 1e-14:
                break
        return rank.argmax()

    def triangles():
        below = sp.tril(graph, -1).tocsr()
        below.data[:] = 1
        return (below @ below).multiply(below).sum()

    def farthest():
        far = cs.dijkstra(graph, indices=0)
        return far[np.isfinite(far)].max()

    out = {
        "PageRank": best(rounds, pagerank),
        "BFS": (best(rounds, lambda: cs.breadth_first_order(graph, 0))[0], None),
        "shortest paths": best(rounds, farthest),
        "components": best(rounds, lambda: cs.connected_components(graph, directed=False)[0]),
        "triangles": best(rounds, triangles),
    }
    return out


def graphblas_answers(graph, rounds, threads):
    gb.ss.config["nthreads"] = threads
    n = graph.shape[0]
    edges = gb.io.from_scipy_sparse(graph)
    FP64, INT64, BOOL = gb.dtypes.FP64, gb.dtypes.INT64, gb.dtypes.BOOL

    def pagerank(damping=0.85):
        leaving = edges.reduce_rowwise("plus").new()
        rank = gb.Vector.from_scalar(1 / n, n, dtype=FP64)
        stuck = gb.Vector.from_scalar(1.0, n)
        stuck(leaving.S, replace=False) << 0.0
        follow = gb.semiring.plus_times(leaving.apply("minv").new().diag() @ edges).new().T.new()
        for _ in range(1000):
            anew = (1 - damping + damping * gb.semiring.plus_times(rank @ stuck).new().value) / n
            new = gb.Vector.from_scalar(anew, n, dtype=FP64)
            new(gb.binary.plus) << gb.semiring.plus_times(follow @ rank).new().apply("times", right=damping)
            moved, rank = new.ewise_mult(rank, "minus").new().apply("abs").reduce("plus").new().value, new
            if moved < 1e-14:
                break
        return rank.to_dense().argmax()

    def levels():
        level = gb.Vector(INT64, n)
        frontier = gb.Vector(BOOL, n)
        frontier[0] = True
        depth = 0
        while frontier.nvals:
            level(frontier.S) << depth
            frontier(~level.S, replace=True) << gb.semiring.any_pair[BOOL](frontier @ edges)
            depth += 1
        return level.reduce("max").new().value

    def farthest():
        distance = gb.Vector(FP64, n)
        distance[0] = 0.0
        nearer = distance.dup()
        while nearer.nvals:
            reached = gb.semiring.min_plus(nearer @ edges).new()
            known = reached.ewise_mult(distance, "lt").new()
            is_new = gb.Vector(BOOL, n)
            is_new(reached.S) << True
            is_new(known.S) << known
            nearer = gb.Vector(FP64, n)
            nearer(is_new.V) << reached
            distance(gb.binary.min) << nearer
        return distance.reduce("max").new().value

    def components():
        least = gb.Vector.from_coo(np.arange(n), np.arange(n), dtype=INT64)
        while True:
            new = least.dup()
            new(gb.binary.min) << gb.semiring.min_second[INT64](edges @ least)
            _, at = new.to_coo()
            new = gb.Vector.from_coo(np.arange(n), at[at])
            if new.isequal(least):
                return len(np.unique(at))
            least = new

    def triangles():
        below = edges.select("tril", -1).new()
        pairs = gb.Matrix(INT64, n, n)
        pairs(below.S) << gb.semiring.plus_pair[INT64](below @ below)
        return pairs.reduce_scalar("plus").new().value

    ones = edges.apply("one").new(FP64)

    def betweenness(sources=16):
        frontier = gb.Matrix.from_coo(range(sources), range(sources), 1.0, nrows=sources, ncols=n)
        paths, levels = frontier.dup(), []
        while frontier.nvals:
            levels.append(frontier.dup(BOOL))
            new = gb.Matrix(FP64, sources, n)
            new(~paths.S) << gb.semiring.plus_first(frontier @ ones)
            paths(gb.binary.plus) << new
            frontier = new
        through = gb.Matrix.from_scalar(1.0, sources, n)
        for depth in range(len(levels) - 1, 0, -1):
            share = gb.Matrix(FP64, sources, n)
            share(levels[depth].S) << through.ewise_mult(paths, "truediv")
            back = gb.Matrix(FP64, sources, n)
            back(levels[depth - 1].S) << gb.semiring.plus_first(share @ ones.T)
            through(gb.binary.plus) << back.ewise_mult(paths, "times")
        sums = through.reduce_columnwise("plus").new().to_dense() - sources
        own = np.array([through[i, i].new().value - 1 for i in range(sources)])
        sums[:sources] -= own
        return sums.argmax()

    functions = [pagerank, levels, farthest, components, triangles, betweenness]
    return {name: best(rounds, f) for name, f in zip(QUESTIONS, functions)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=16)
    parser.add_argument("--degree", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "target/release/examples/graphs")
    given = parser.parse_args()
    graph = rmat(given.scale, given.degree)
    columns = {}
    for threads in (1, 2):
        columns[f"openwork, {threads}"] = openwork(given.program, graph, given.rounds, threads)
    columns["SciPy, 1"] = scipy_answers(graph, given.rounds)
    for threads in (1, 2):
        columns[f"GraphBLAS, {threads}"] = graphblas_answers(graph, given.rounds, threads)
    print(f"R-MAT, scale {given.scale}: {graph.shape[0]} nodes, {graph.nnz // 2} edges; ms, best of {given.rounds}; threads after the comma\n")
    print("| | " + " | ".join(columns) + " |\n|---|" + "--:|" * len(columns))
    for name in QUESTIONS:
        cells = [column.get(name) for column in columns.values()]
        print(f"| {name} | " + " | ".join("" if cell is None else f"{cell[0]:.1f}" for cell in cells) + " |")
        answers = {float(cell[1]) for cell in cells if cell is not None and cell[1] is not None}
        if len(answers) > 1:
            print(f"{name}: DIFFERENT ANSWERS {answers}")


if __name__ == "__main__":
    main()
