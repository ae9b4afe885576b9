"""Files of one tensor and of many."""

import io

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from conftest import dense, same, tensor

import openwork as ow


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz", "a.npz", "a.tns", "a.safetensors", "a.h5", "a.zarr", "a.zarr.zip"])
def test_round_trips(tmp_path, name):
    a = dense()
    x = tensor(a, "csr")
    path = tmp_path / name
    ow.save(path, x)
    y = ow.load(path, shape=(4, 6)) if name.endswith("tns") else ow.load(str(path))
    same(y, a)
    if name not in ("a.mtx", "a.mtx.gz", "a.tns"):
        assert y.same_meaning(x) and y.layout == "csr"
        (info,) = ow.info(path)
        assert info["shape"] == [4, 6]


def test_files_of_scipy(tmp_path):
    s = sp.random_array((20, 30), density=0.2, rng=np.random.default_rng(0))
    scipy.io.mmwrite(tmp_path / "a.mtx", s)
    same(ow.read(tmp_path / "a.mtx"), s.toarray())
    ow.save(tmp_path / "b.mtx", ow.asarray(s))
    np.testing.assert_allclose(scipy.io.mmread(tmp_path / "b.mtx").toarray(), s.toarray())


def test_fills_are_kept(tmp_path):
    x = tensor(dense(), "csr")
    for fill in (None, 2.0, np.arange(6.0)):
        y = x.replace_fill(fill)
        ow.save(tmp_path / "a.npz", y)
        z = ow.load(tmp_path / "a.npz")
        assert z.same_meaning(y) and z.fill_kind == y.fill_kind
    with pytest.raises(ValueError):
        ow.save(tmp_path / "b.npz", x.replace_fill(None), extensions=False)
    assert not (tmp_path / "b.npz").exists()


def test_state_dicts(tmp_path):
    weights = {"w": tensor(dense(), "csr"), "b": ow.asarray([1.0, 2.0]), "n": np.arange(3)}
    for name in ("m.safetensors", "m.h5"):
        path = tmp_path / name
        ow.save_state_dict(path, weights, {"made by": "a test"})
        archive = ow.open_state_dict(path)
        assert list(archive) == ["w", "b", "n"] and len(archive) == 3 and "w" in archive and "v" not in archive
        assert archive.metadata["made by"] == "a test"
        assert archive["w"].same_meaning(weights["w"])
        same(archive.rows("w", 1, 3), dense()[1:3])
        with pytest.raises(KeyError):
            archive["v"]
        assert set(ow.load_state_dict(path)) == set(weights)


def test_errors(tmp_path):
    with pytest.raises(FileNotFoundError):
        ow.load(tmp_path / "none.npz")
    with pytest.raises(ValueError):
        ow.save(tmp_path / "a.unknown", ow.zeros(3))
    (tmp_path / "bad.npz").write_bytes(b"no zip")
    with pytest.raises(ValueError):
        ow.load(tmp_path / "bad.npz")
    (tmp_path / "bad.mtx").write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n")
    with pytest.raises(ValueError, match="3"):
        ow.load(tmp_path / "bad.mtx")
    with pytest.raises(OSError, match="directory"):
        ow.load(tmp_path)
    with pytest.raises(OSError):
        ow.save(tmp_path / "no" / "folder" / "a.npz", ow.zeros(3))


TEXTS = ["a.mtx", "a.mtx.gz", "a.tns"]
OTHERS = ["a.npz", "a.safetensors", "a.h5"]


@pytest.mark.parametrize("name", TEXTS + OTHERS)
def test_progress(tmp_path, name):
    x = ow.random((300, 300), 0.5, seed=1)
    written, seen = [], []
    ow.save(tmp_path / name, x, progress=lambda done, total: written.append((done, total)))
    ow.load(tmp_path / name, progress=lambda done, total: seen.append((done, total)))
    size = (tmp_path / name).stat().st_size
    for told, total in ((written, x.nse), (seen, size)):
        if name in OTHERS:  # Bytes of arrays: all that such a file has but for what describes them.
            total = told[-1][1]
            assert len(told) > 2 and size // 2 < total <= size
        assert told[-1] == (total, total)
        assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert ow.load(tmp_path / name, progress=None).nse == x.nse


@pytest.mark.parametrize("name", TEXTS + OTHERS)
def test_bars_of_tqdm(tmp_path, name):
    tqdm = pytest.importorskip("tqdm")
    x = ow.random((300, 300), 0.5, seed=1)
    with tqdm.tqdm(file=io.StringIO()) as bar:
        ow.save(tmp_path / name, x, progress=bar)
        assert bar.n == bar.total > 0
    with tqdm.tqdm(file=io.StringIO()) as bar:
        ow.load(tmp_path / name, progress=bar)
        assert bar.n == bar.total
        assert name in OTHERS or bar.n == (tmp_path / name).stat().st_size


class Enough(Exception):
    pass


@pytest.mark.parametrize("threads", [None, 1, 2])
@pytest.mark.parametrize("name", TEXTS + OTHERS)
def test_what_a_progress_function_raises(tmp_path, name, threads):
    n = 750 if name in TEXTS else 100  # Texts long enough that something is told before they are done.
    x = ow.random((n, n), 0.5, seed=1)
    path = tmp_path / name
    calls = []

    def stop(done, total):
        calls.append(done)
        raise Enough(done)

    with ow.config(threads=threads):
        ow.save(path, x)
        before = path.read_bytes()
        with pytest.raises(Enough):
            ow.load(path, progress=stop)
        with pytest.raises(Enough):
            ow.save(path, x * 2, progress=stop)
        assert len(calls) == 2
        assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
        assert ow.load(path, shape=(n, n) if name == "a.tns" else None).same_meaning(x)
    with pytest.raises(TypeError):
        ow.load(path, progress=7)


def test_progress_of_many_tensors(tmp_path):
    path = tmp_path / "m.safetensors"
    ow.save_state_dict(path, {name: ow.zeros(3) for name in "abc"})
    seen = []
    assert set(ow.load_state_dict(path, progress=lambda *told: seen.append(told))) == set("abc")
    assert seen == [(1, 3), (2, 3), (3, 3)]
    with pytest.raises(Enough):
        ow.load_state_dict(path, progress=lambda *_: (_ for _ in ()).throw(Enough()))
