"""dask, scikit-learn, SciPy's solvers; pictures; solvers of ours."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
from conftest import dense, same, tensor

import openwork as ow

HERE = Path(__file__).parent.parent


def test_dask():
    import dask
    import dask.array as da

    import openwork.dask

    a = dense(shape=(40, 12))
    x = tensor(a, "csr")
    d = openwork.dask.from_tensor(x, chunks=(10, 6))
    assert isinstance(d._meta, ow.Tensor)
    with dask.config.set(scheduler="threads"):
        same(d.compute(), a)
        same((d + 1).sum(axis=0).compute(), (a + 1).sum(axis=0))
        np.testing.assert_allclose(np.asarray(d.mean(axis=0).compute()), a.mean(axis=0))
        same(da.tensordot(d, d.T, axes=1).compute(), a @ a.T)
        same((d @ d.T).compute(), a @ a.T)
        same(da.einsum("ij,kj->ik", d, d).compute(), a @ a.T)
        same(d[5:20, ::2].compute(), a[5:20, ::2])
        same(np.sin(d).compute(), np.sin(a))
        same(da.concatenate([d, d], axis=1).compute(), np.concatenate([a, a], axis=1))
    assert openwork.dask.sizeof(x) == x.nbytes
    tokens = [dask.base.tokenize(v) for v in (x, tensor(a, "csr"), x + 1, tensor(a, "csc"))]
    assert tokens[0] == tokens[1] and len(set(tokens)) == 3
    blocks = openwork.dask.from_blocks(lambda i: x[10 * i : 10 * i + 10], [10] * 4, x)
    same(blocks.sum(axis=0).compute(), a.sum(axis=0))


def test_pca_on_a_cluster():
    run = subprocess.run(
        [sys.executable, HERE / "examples" / "dask_pca.py", "--blocks", "4", "--rows", "500", "--columns", "40",
         "--density", "0.1", "--components", "2"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "the same in one process" in run.stdout


def test_linear_operators():
    x = ow.random((300, 60), 0.1, layout="csr", seed=1)
    centred = x - x.mean(axis=0, keepdims=True)
    operator = ow.linalg.aslinearoperator(centred)
    a = centred.to_numpy()
    v, w = np.random.default_rng(0).random(60), np.random.default_rng(1).random((300, 3))
    np.testing.assert_allclose(operator @ v, a @ v)
    np.testing.assert_allclose(operator.T @ w, a.T @ w)
    _, s, _ = scipy.sparse.linalg.svds(operator, k=3, random_state=0)
    np.testing.assert_allclose(np.sort(s), np.sort(np.linalg.svd(a, compute_uv=False))[-3:])


def test_scikit_learn():
    from sklearn.decomposition import TruncatedSVD
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import NearestNeighbors

    x = ow.random((200, 30), 0.3, layout="csr", seed=1)
    s, a = x.to_scipy(), x.to_numpy()
    y = a[:, 0] > 0.2
    np.testing.assert_allclose(
        TruncatedSVD(3, random_state=0).fit(s).singular_values_, TruncatedSVD(3, random_state=0).fit(a).singular_values_
    )
    assert (LogisticRegression().fit(s, y).predict(s) == LogisticRegression().fit(a, y).predict(a)).all()
    np.testing.assert_allclose(NearestNeighbors().fit(s).kneighbors(s)[0], NearestNeighbors().fit(a).kneighbors(a)[0], atol=1e-6)


def test_solvers():
    rng = np.random.default_rng(0)
    m = rng.random((20, 20)) * (rng.random((20, 20)) < 0.2)
    a = m @ m.T + 5 * np.eye(20)
    b = rng.random((20, 2))
    x = tensor(a, "csr")
    for name in ("cg", "bicgstab", "gmres"):
        found = getattr(ow.linalg, name)(x, b, tolerance=1e-12)
        assert found.is_converged and "residual" in found.report
        np.testing.assert_allclose(found.x.to_numpy(), np.linalg.solve(a, b), rtol=1e-8)
        assert not getattr(ow.linalg, name)(x, b, tolerance=1e-14, max_iterations=1).is_converged
        # Near the inverse: a matrix, factors, a function; with the inverse itself one step or two are enough.
        inverse = np.linalg.inv(a)
        factors = ow.linalg.factorize(x, "cholesky")
        for near in (inverse, factors, factors.solve, lambda r: inverse @ r.to_numpy()):
            found = getattr(ow.linalg, name)(x, b, preconditioner=near)
            assert found.is_converged and found.iterations <= 2
            np.testing.assert_allclose(found.x.to_numpy(), np.linalg.solve(a, b), rtol=1e-8)
        with pytest.raises(ZeroDivisionError):
            getattr(ow.linalg, name)(x, b, preconditioner=lambda r: 1 / 0)
        with pytest.raises(ValueError, match="shape"):
            getattr(ow.linalg, name)(x, b, preconditioner=lambda r: r[:3])
        told = []
        found = getattr(ow.linalg, name)(x, b, callback=lambda i, residuals: told.append((i, len(residuals))) or i == 2)
        assert told == [(1, 2), (2, 2)] and not found.is_converged and "callback" in found.report
        with pytest.raises(KeyError):
            getattr(ow.linalg, name)(x, b, callback=lambda i, residuals: {}[i])
    for upper in (False, True):
        triangle = np.triu(a) if upper else np.tril(a)
        for how, turned in (("N", triangle), ("T", triangle.T)):
            got = ow.linalg.solve_triangular(x, b, upper=upper, transpose=how)
            np.testing.assert_allclose(got.to_numpy(), np.linalg.solve(turned, b))
    with pytest.raises(np.linalg.LinAlgError):
        ow.linalg.solve_triangular(ow.zeros((2, 2)), ow.ones(2))
    with pytest.raises(ValueError):
        ow.linalg.solve_triangular(x, b, transpose="X")


@pytest.mark.parametrize("fill", [0.0, None, np.arange(6.0)])
def test_pictures(fill, layout):
    x = tensor(dense(), layout)
    x = x if layout == "strided" else x.replace_fill(fill)
    html = x._repr_html_()
    assert html.startswith("<table>") and "4 × 6" in html and ("<svg" in html) == (layout != "strided")
    assert repr(x).startswith("tensor(")
    for shape in ((), (5,), (2, 3, 4), (0, 3)):
        assert "<table>" in ow.zeros(shape, layout="coo")._repr_html_()


def test_spy(tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    x = tensor(dense(), "csr")
    ax = ow.spy(x)
    shown = np.asarray(ax.images[0].get_array())
    np.testing.assert_array_equal(shown, dense() != 0)
    assert ax.get_title() == f"csr, {x.nse} of {x.size}"
    ax.figure.savefig(tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000
    # On an axis that is there; a large matrix in as many points as the picture has; of more axes the last two.
    large = ow.random((100_000, 50_000), 1e-5, layout="csr", seed=1)
    assert ow.spy(large, ax) is ax and ax.images[1].get_array().shape == (512, 512)
    assert ow.spy(ow.stack([x, x])).images[0].get_array().shape == x.shape
    assert ow.spy(ow.zeros((0, 3), layout="coo")).get_title() == "coo, 0 of 0"


def programs():
    """Each program of the texts, by text and number."""
    for path in (HERE / "README.md", HERE.parent / "README.md", HERE / "docs" / "recipes.md"):
        for number, program in enumerate(path.read_text().split("```python\n")[1:]):
            yield pytest.param(program.split("```")[0], id=f"{path.parent.name}/{path.name} {number}")


@pytest.mark.parametrize("program", list(programs()))
def test_programs_of_the_texts(program):
    exec(program, {})


def test_documentation_of_the_package():
    import doctest

    import openwork.dask

    for module in (ow, openwork.dask):
        result = doctest.testmod(module)
        assert result.failed == 0 and result.attempted > 0


def test_factorisations():
    rng = np.random.default_rng(0)
    m = rng.random((8, 8)) * (rng.random((8, 8)) < 0.5) + 4 * np.eye(8)
    h, b, tall = m + m.T, rng.random((8, 2)), rng.random((9, 4))
    for layout in ("strided", "csr"):
        x, y, t = tensor(m, layout), tensor(h, layout), tensor(tall, layout)
        same(ow.linalg.solve(x, b), np.linalg.solve(m, b))
        same(ow.linalg.inv(x), np.linalg.inv(m))
        same(ow.linalg.factorize(x).solve(b), np.linalg.solve(m, b))
        same(ow.linalg.factorize(x).solve_adjoint(b), np.linalg.solve(m.T, b))
        same(ow.linalg.factorize(y @ y, "cholesky").solve(b), np.linalg.solve(h @ h, b))
        same(ow.linalg.lstsq(t, tall @ b[:4]), b[:4])
        same(ow.linalg.eigvalsh(y), np.linalg.eigvalsh(h))
        values, vectors = ow.linalg.eigh(y)
        np.testing.assert_allclose((vectors * values @ vectors.mT).to_numpy(), h, atol=1e-9)
        q, r = ow.linalg.qr(t)
        np.testing.assert_allclose((q @ r).to_numpy(), tall)
        u, s, vh = ow.linalg.svd(t, full_matrices=False)
        np.testing.assert_allclose((u * s @ vh).to_numpy(), tall)
        same(ow.linalg.svdvals(t), np.linalg.svd(tall, compute_uv=False))
        same(ow.linalg.pinv(t), np.linalg.pinv(tall))
        assert ow.linalg.matrix_rank(t).item() == 4
        for order in (2, -2, "nuc"):
            same(ow.linalg.matrix_norm(t, ord=order), np.linalg.norm(tall, ord=order))
    stack = np.stack([m, h])
    same(ow.linalg.solve(stack, stack), np.linalg.solve(stack, stack))
    same(ow.linalg.inv(stack), np.linalg.inv(stack))
    with pytest.raises(NotImplementedError):
        ow.linalg.svd(tall)
    with pytest.raises(np.linalg.LinAlgError):
        ow.linalg.solve(np.zeros((2, 2)), np.ones(2))
    with pytest.raises(ValueError):
        ow.linalg.factorize(m, "no such")


def test_spectra():
    x = ow.random((200, 60), 0.1, layout="csr", seed=1)
    centred = x - x.mean(axis=0, keepdims=True)
    a = centred.to_numpy()
    np.testing.assert_allclose(ow.linalg.svds(centred, 3).S.to_numpy(), np.linalg.svd(a, compute_uv=False)[:3])
    h = x.T @ x
    values, _ = ow.linalg.eigsh(h, 3, which="LA")
    np.testing.assert_allclose(values.to_numpy(), np.linalg.eigvalsh(h.to_numpy())[-3:])
    with pytest.raises(ValueError):
        ow.linalg.eigsh(h, 3, which="XX")
