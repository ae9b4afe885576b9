"""Ctrl-C in long ops: it ends them soon, and leaves all as it was."""

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="SIGINT is sent to a process")

SET_UP = """
    import signal, sys, time
    import openwork as ow
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rows = ow.random((20_000, 20_000), density=5e-4, fill_value=0.0, layout="csr", seed=1)
    other = ow.random((20_000, 20_000), density=5e-4, fill_value=0.0, layout="csr", seed=2)
    d = ow.rand((600, 600), seed=3)
    many = ow.rand((400, 2000), seed=4)
    before = float(ow.sum(rows))
    print("ready", flush=True)
"""

# Each takes minutes if nothing ends it.
LONG = {
    "sparse product": "[rows @ rows for _ in range(100_000)]",
    "dense product": "[d @ d for _ in range(100_000)]",
    "elementwise": "[ow.lgamma(many) for _ in range(100_000)]",
    "merge": "[rows + other for _ in range(100_000)]",
    "reduction": "[ow.sum(many, axis=0) for _ in range(1_000_000)]",
    "sort": "[ow.sort(many) for _ in range(100_000)]",
    "conversion": "[ow.to_layout(ow.to_layout(rows, 'coo'), 'csc') for _ in range(100_000)]",
}


# Calls of half a second and more, with what is made before; those that a fast machine ends sooner are called again.
SINGLE = {
    "sparse product": ("x = ow.random((60_000, 60_000), 6e-4, layout='csr', seed=1)", "[x @ x for _ in range(1000)]"),
    "products of dense rows": ("d = ow.rand((5000, 5000), seed=1)", "[d @ d for _ in range(1000)]"),
    "einsum": ("x = ow.random((1500, 1500, 1500), 3e-3, seed=1); d = ow.rand((1500, 48), seed=2)",
               "[ow.einsum('ijk,jr,kr->ir', x, d, d) for _ in range(1000)]"),
    "elementwise": ("d = ow.rand((30_000_000,), seed=1)", "[ow.lgamma(d) for _ in range(1000)]"),
    "sort of many rows": ("d = ow.rand((20_000, 1000), seed=1)", "[ow.sort(d, axis=0) for _ in range(1000)]"),
    "median": ("d = ow.rand((6000, 6000), seed=1)", "[ow.median(d, axis=0) for _ in range(1000)]"),
    "random": ("", "[ow.random((10**6, 10**6), 1e-4, seed=1) for _ in range(1000)]"),
    "a text written": ("x = ow.random((10**6, 10**6), 3e-5, seed=1)", "ow.save(folder + '/a.mtx', x)"),
    "a file packed": ("x = ow.random((10**6, 10**6), 4e-6, layout='csr', seed=1)", "ow.save(folder + '/a.npz', x, compress=True)"),
    "a model packed": ("x = ow.random((10**6, 10**6), 4e-6, layout='csr', seed=1)", "ow.save(folder + '/a.h5', x, compress=True)"),
    "iterations": ("x = ow.random((100_000, 100_000), 5e-5, layout='csr', seed=1)", "ow.linalg.svds(x, 20, max_iterations=10**5)"),
}


def interrupted(code, threads):
    """Runs the code after the set-up, sends SIGINT after a while, and gives its output and how long it went on."""
    return run_and_interrupt(textwrap.dedent(SET_UP) + textwrap.dedent(code), threads, 0.7)


def run_and_interrupt(body, threads, after):
    environment = dict(os.environ, RAYON_NUM_THREADS=str(threads))
    process = subprocess.Popen([sys.executable, "-c", body], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment)
    try:
        assert process.stdout.readline() == "ready\n", process.communicate()
        time.sleep(after)
        process.send_signal(signal.SIGINT)
        start = time.monotonic()
        out, err = process.communicate(timeout=120)
        return out, err, time.monotonic() - start
    finally:
        process.kill()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_ends_long_ops(name, threads):
    out, err, took = interrupted(f"""
        try:
            {LONG[name]}
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted", float(ow.sum(rows)) == before, float(ow.sum(rows + rows)) == 2 * before)
    """, threads)
    assert out == "interrupted True True\n", err
    assert took < 3, took  # 0.2 s, on a machine with nothing else to do


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SINGLE)
def test_ctrl_c_ends_single_calls(name, threads, tmp_path):
    before, call = SINGLE[name]
    body = f"""
        import os, signal, sys, time
        import openwork as ow
        signal.signal(signal.SIGINT, signal.default_int_handler)
        folder = {str(tmp_path)!r}
        {before}
        print("ready", flush=True)
        try:
            {call}
            print("not interrupted")
        except KeyboardInterrupt:
            print("interrupted", os.listdir(folder))
    """
    out, err, took = run_and_interrupt(textwrap.dedent(body), threads, 0.3)
    assert out == "interrupted []\n", err
    assert took < 3, took  # 0.3 s, on a machine with nothing else to do


def test_ctrl_c_in_a_progress_function(tmp_path):
    out, err, took = interrupted(f"""
        path = {str(tmp_path)!r} + "/a.mtx"
        def show(done, total):
            time.sleep(0.02)
        try:
            while True:
                ow.save(path, rows, progress=show)
                ow.load(path, progress=show)
        except KeyboardInterrupt:
            print("interrupted")
    """, 2)
    assert out == "interrupted\n", err
    assert took < 3, took


def test_the_interpreter_ends_as_ever():
    out, err, _ = interrupted("while True: rows @ rows", 2)
    assert out == "" and err.rstrip().endswith("KeyboardInterrupt"), err


def test_a_handler_that_goes_on_lets_the_op_go_on():
    out, err, _ = interrupted("""
        heard = []
        signal.signal(signal.SIGINT, lambda *_: heard.append(time.monotonic()))
        n = 0
        while not heard or time.monotonic() < heard[0] + 0.5:
            ow.sum(ow.sin(many))
            n += 1
        print("heard", len(heard), n > 1)
    """, 2)
    assert out == "heard 1 True\n", err


def test_other_exceptions_of_handlers_are_raised():
    out, err, took = interrupted("""
        def stop(*_):
            raise TimeoutError("enough")
        signal.signal(signal.SIGINT, stop)
        with ow.config(threads=2):
            try:
                while True:
                    rows @ rows
            except TimeoutError as e:
                print(e)
    """, 2)
    assert out == "enough\n", err


def test_ops_in_other_threads_go_on():
    out, err, _ = interrupted("""
        import threading
        sums = []
        worker = threading.Thread(target=lambda: sums.extend(float(ow.sum(many)) for _ in range(30)))
        worker.start()
        try:
            while True:
                rows @ rows
        except KeyboardInterrupt:
            worker.join()
            print("interrupted", len(sums), len(set(sums)))
    """, 2)
    assert out == "interrupted 30 1\n", err
